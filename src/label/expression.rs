//! A checked label expression.

use crate::ingest::Event;

/// A checked label expression.
#[derive(Clone, Debug)]
pub struct Expression {}

impl Expression {
    /// The value of the expression at `event` as the key of a monitor; `None` when there is no value or it is null.
    #[must_use]
    pub fn key(&self, _event: &Event) -> Option<String> {
        None
    }
}
