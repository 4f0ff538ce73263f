//! Events to letters: which propositions hold at an event.

mod expression;

pub use expression::Expression;

use std::fmt;

use crate::ingest::Event;

/// Decides, for each proposition of a policy, whether it holds at an event.
#[derive(Clone, Debug, Default)]
pub struct Labeller {}

impl Labeller {
    /// Sets bit `i` of `letter` for every proposition `i` that holds at `event`, and clears all others.
    ///
    /// # Errors
    /// When an expression met a value of the wrong type. The letter is complete all the same: such an expression
    /// counts as false.
    pub fn label(&self, _event: &Event, letter: &mut Vec<u64>) -> Result<(), LabelError> {
        letter.clear();
        Ok(())
    }
}

/// Expressions that met values of a type they do not work on, and so counted as false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelError {
    clashes: Vec<(u32, String)>,
}

impl LabelError {
    /// The propositions concerned, each with what clashed.
    pub fn clashes(&self) -> impl Iterator<Item = (u32, &str)> {
        self.clashes.iter().map(|(p, m)| (*p, m.as_str()))
    }
}

impl fmt::Display for LabelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (_, message)) in self.clashes.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            f.write_str(message)?;
        }
        Ok(())
    }
}

impl std::error::Error for LabelError {}
