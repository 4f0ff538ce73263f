//! Why words are not an automaton.

use core::fmt;

/// The words given are not an automaton of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadError {
    pub(crate) what: &'static str,
    pub(crate) at: usize,
}

impl LoadError {
    /// Index of the word at which the check failed.
    #[must_use]
    pub const fn word(&self) -> usize {
        self.at
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not an automaton: {} (word {}); compile the rule again with this version",
            self.what, self.at
        )
    }
}

impl core::error::Error for LoadError {}
