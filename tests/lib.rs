//! All integration tests in one binary, so that it links once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod artifacts;
mod audit;
mod batch;
mod cli;
mod determinism;
mod exhaustive;
mod infinite;
mod laws;
mod limits;
mod monitors;
mod oracle;
mod plans;
mod progress;
mod random;
mod real;
mod suite;
