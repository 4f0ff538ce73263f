//! Rules over time to minimal automata.
#![forbid(unsafe_code)]

pub mod config;
pub mod diag;
mod patterns;
pub mod semantics;
pub mod syntax;
pub mod template;
