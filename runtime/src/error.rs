//! Why something compiled does not load.

use core::fmt;

/// The words, bytes or snapshot given are none of this version, or are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

impl LoadError {
    /// What is wrong, in a few words, and at which word or byte.
    #[must_use]
    pub const fn new(what: &'static str, at: usize) -> LoadError {
        LoadError { what, at }
    }

    /// Index of the word (of an automaton) or byte (of an artifact, a rule set, a snapshot) at which the check failed.
    #[must_use]
    pub const fn at(&self) -> usize {
        self.at
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {})", self.what, self.at)
    }
}

impl core::error::Error for LoadError {}
