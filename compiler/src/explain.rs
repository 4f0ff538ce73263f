//! Rules for people: guards as formulas, drawings, exchange formats, sentences and example traces.
//!
//! Nothing here changes an automaton; everything is made from what [`tracelaw_runtime::Automaton`] tells about itself.

mod automaton;
mod guard;
mod residual;
mod trace;
mod words;

#[cfg(test)]
mod tests;

use std::fmt;

pub use automaton::{dot, hoa, json};
pub use guard::{Edge, Guard, edges};
pub use residual::{MAX_RESIDUAL_STATES, residuals};
pub use trace::{Letters, shortest, trace_text};
pub use words::words;

use crate::diag::Span;
use crate::syntax::{Ast, Expr};

/// Paths of one state's diagram that are followed before giving up: a guard of so many cubes explains nothing.
pub(crate) const MAX_PATHS: usize = 1024;

/// A state tells apart so many groups of letters that its edges cannot be written as formulas of a sensible length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPaths {
    state: u32,
}

impl TooManyPaths {
    /// The state it is about.
    #[must_use]
    pub const fn state(self) -> u32 {
        self.state
    }
}

impl fmt::Display for TooManyPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "state {} has more than {MAX_PATHS} paths in its decision diagram, too many to write its edges as formulas; \
             split the rule into several rules",
            self.state
        )
    }
}

impl std::error::Error for TooManyPaths {}

/// The proposition as a formula, which quotes its name where the language asks for that. A proposition that the
/// vocabulary lacks goes by its number.
pub(crate) fn proposition(vocabulary: &[String], prop: u32) -> Ast {
    let name = vocabulary.get(prop as usize).cloned().unwrap_or_else(|| format!("#{prop}"));
    Ast::new(Span::default(), Expr::Proposition(name))
}
