//! Rules over time about what AI agents do: policies in, logs in, verdicts out.
//!
//! The way of an audit: [`policy::Policy`] reads the rules, [`audit::Plan`] compiles them to minimal automata, [`ingest::read`]
//! turns logs of any format into events, and [`audit::Audit`] steps one monitor per rule and session over them. [`label`]
//! is in between: it decides which propositions hold at an event. What people read is made in [`report`].
//!
//! The formulas themselves live in [`tracelaw_compiler`], stepping in [`tracelaw_runtime`].
#![forbid(unsafe_code)]

pub mod artifact;
pub mod audit;
pub mod ingest;
pub mod label;
pub mod policy;
pub mod race;
pub mod report;
