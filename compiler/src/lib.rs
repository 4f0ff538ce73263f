//! Rules over time to minimal automata.
#![forbid(unsafe_code)]

pub mod diag;
pub mod semantics;
pub mod syntax;
