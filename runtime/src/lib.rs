//! The part of tracelaw that runs beside an agent: verdicts, letters and automata tables.
//!
//! `no_std`, no dependency, no allocation: an [`Automaton`] borrows or owns its words, is validated once when it is
//! loaded, and stepping it after that is a walk through tables that cannot fail.
#![no_std]
#![forbid(unsafe_code)]

mod automaton;
mod error;
mod letter;
mod verdict;

pub use automaton::{Automaton, Layout, Step};
pub use error::LoadError;
pub use letter::Letter;
pub use verdict::Verdict;
