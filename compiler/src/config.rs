//! What the compiler can be told besides the formulas.

/// Over which continuations a verdict speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Semantics {
    /// Every finite continuation, the empty one included: a session ends.
    #[default]
    Finite,
    /// Every infinite continuation: a session goes on for ever.
    Infinite,
}

/// How a rule goes on after an event that breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AfterViolation {
    /// As if the event had been the nearest one that does not break the rule.
    #[default]
    Repair,
    /// Afresh from the next event on.
    Restart,
    /// Not at all: the verdict stays `violated`.
    Off,
}
