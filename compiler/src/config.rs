//! What a caller can ask of the compiler.

use std::time::Duration;

/// Which traces a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Semantics {
    /// Finite traces: a session ends, and its rules are decided then at the latest.
    #[default]
    Finite,
    /// Infinite traces: verdicts are given only when no infinite continuation can change them.
    Infinite,
}

/// How a monitor goes on after an event that breaks its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AfterViolation {
    /// As if the event had been the nearest letter that does not break the rule.
    #[default]
    Repair,
    /// Afresh from the initial state; the offending event is not read again.
    Restart,
    /// Not at all: the violation is final and reported once.
    Off,
}

/// Bounds on what one compilation may use. Reaching one is a [`crate::BuildError`] that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// States of any automaton on the way. Default 2^20.
    pub max_states: usize,
    /// Nodes of any one arena of diagrams, each about 60 bytes with its share of the tables. Default 2^23, about half a
    /// gigabyte.
    pub max_nodes: usize,
    /// Time for one formula. Default none: the same input then gives the same answer on every machine.
    pub max_time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_states: 1 << 20, max_nodes: 1 << 23, max_time: None }
    }
}

/// How to compile one formula.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Finite or infinite traces.
    pub semantics: Semantics,
    /// What follows a violation; `None` keeps the plain automaton, in which a final verdict stays and no event is
    /// marked as a breach.
    pub after_violation: Option<AfterViolation>,
    /// Sets of propositions (indices into the vocabulary; others say nothing) of which at most one is true at any event.
    pub exclusive: Vec<Vec<u32>>,
    /// Exactly one proposition of the whole vocabulary is true at every event.
    pub one_of_all: bool,
    /// What the compilation may use.
    pub limits: Limits,
}
