//! Formula progression: what is left of a formula after an event (Bacchus & Kabanza, "Planning for temporally extended
//! goals", 1998). The method that the automata replace, kept as a baseline that is as good as it can be, as a second
//! opinion, and for saying in words what a session still owes.
//!
//! [`Textbook`] is the method of the TRAC paper, with its rules and its few simplifications. [`Fast`] is the best that
//! we could make of it. Both decide a formula when what is left is `true` or `false`: never wrongly, but at times later
//! than an automaton, which decides at the earliest event.
//!
//! After a violation a progression can stop or start afresh ([`crate::AfterViolation::Off`],
//! [`crate::AfterViolation::Restart`]).
//! Repairing has no meaning for it: which letter would have been right is a question about the successors of a state.

mod fast;
mod textbook;

#[cfg(test)]
mod tests;

pub use fast::Fast;
pub use textbook::Textbook;

use std::fmt;

/// Why a formula cannot be progressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgressError {
    /// The method has no rule for looking back.
    Past {
        /// The operator, as formulas write it.
        operator: &'static str,
    },
    /// A proposition that the vocabulary does not have.
    Unknown {
        /// Its name.
        name: String,
    },
    /// Bounds that would have to be written out to more nodes than allowed.
    Size {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for ProgressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgressError::Past { operator } => {
                write!(f, "textbook progression has no rule for `{operator}`, which looks back")
            }
            ProgressError::Unknown { name } => {
                write!(f, "unknown proposition `{name}`; declare it in the vocabulary")
            }
            ProgressError::Size { limit } => {
                write!(f, "written out, the bounds take more than {limit} nodes; use smaller ones")
            }
        }
    }
}

impl std::error::Error for ProgressError {}
