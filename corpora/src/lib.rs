//! Case files, policies and logs that tests, fuzzing and benches share, with their loaders and generators.
#![forbid(unsafe_code)]

pub mod case;
// `gen` is a reserved word.
#[path = "gen.rs"]
pub mod generate;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod texts;
