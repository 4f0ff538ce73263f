//! The part of tracelaw that runs beside an agent: verdicts, letters and compiled rules.
//!
//! `no_std`, no dependency, no allocation: a [`RuleSet`] borrows the bytes of an artifact, is validated once when it is
//! loaded, and stepping a [`MonitorState`] after that is a walk through tables that cannot fail. An [`Automaton`] is one
//! rule on its own.
#![no_std]
// `arch` is the only place of unsafe code; without the feature `simd` there is none.
#![cfg_attr(not(feature = "simd"), forbid(unsafe_code))]
#![deny(unsafe_code)]

#[cfg_attr(feature = "simd", allow(unsafe_code))]
mod arch;
mod automaton;
pub mod batch;
mod classes;
mod error;
mod group;
pub mod layout;
mod letter;
mod monitor;
mod names;
mod ruleset;
mod snapshot;
mod verdict;
pub mod wire;

pub use automaton::{Automaton, Layout, Step};
pub use error::LoadError;
pub use letter::Letter;
pub use monitor::{Change, MonitorState, Symbol, Tell};
pub use names::Names;
pub use ruleset::RuleSet;
pub use verdict::Verdict;
