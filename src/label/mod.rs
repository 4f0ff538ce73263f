//! Events to letters: which propositions hold at an event.
//!
//! A policy gives each proposition an expression in the syntax of CEL. Most expressions can hold for a few tools only,
//! so the labeller looks up an event's tool first and evaluates what is left.

mod evaluate;
mod expression;
mod index;
mod letters;
mod parse;

#[cfg(test)]
mod tests;

pub use expression::Expression;
pub(crate) use expression::{Role, Source, check_all};
pub use letters::contradiction;

use std::fmt;

use ahash::AHashMap;

use crate::ingest::{Event, Status};
use evaluate::Stop;
use index::Index;

/// Decides, for each proposition of a policy, whether it holds at an event.
#[derive(Clone, Debug)]
pub struct Labeller {
    words: usize,
    /// The propositions the log itself states, by name.
    given: AHashMap<String, u32>,
    /// The others, each after those it refers to.
    entries: Vec<Entry>,
    index: Index,
}

/// A proposition with its expression.
#[derive(Clone, Debug)]
struct Entry {
    proposition: u32,
    name: String,
    expression: Expression,
    /// Whether it, or a proposition it refers to, says `attempted`.
    sees_denied: bool,
    /// Whether it holds for every event of the tools it is indexed by, so that nothing need be evaluated.
    certain: bool,
}

impl Labeller {
    /// A labeller of propositions numbered `0 .. len`: `given` names those that the log states; `expressions` has the
    /// others as (number, name, expression), each after those it refers to.
    pub(crate) fn new(
        len: usize,
        given: impl IntoIterator<Item = (String, u32)>,
        expressions: impl IntoIterator<Item = (u32, String, Expression)>,
    ) -> Labeller {
        let mut sees_denied = vec![false; len];
        let mut entries: Vec<Entry> = Vec::new();
        for (proposition, name, expression) in expressions {
            let sees = expression.attempted
                || expression.references.iter().any(|&r| sees_denied.get(r as usize) == Some(&true));
            if let Some(slot) = sees_denied.get_mut(proposition as usize) {
                *slot = sees;
            }
            entries.push(Entry { proposition, name, expression, sees_denied: sees, certain: false });
        }
        let index = Index::new(len, &mut entries);
        let mut names = map();
        names.extend(given);
        Labeller { words: len.div_ceil(64), given: names, entries, index }
    }

    /// Sets bit `i` of `letter` for every proposition `i` that holds at `event`, and clears all others.
    ///
    /// A proposition with an expression does not hold at a denied call unless the expression says `attempted`, itself
    /// or through a proposition it refers to. Given propositions are taken as the log states them.
    ///
    /// # Errors
    /// When an expression met a value of the wrong type. The letter is complete all the same: such an expression
    /// counts as false.
    ///
    /// # Complexity
    /// One look-up by tool, then the expressions that can hold for it and those that can hold for any tool. Never
    /// panics.
    pub fn label(&self, event: &Event, letter: &mut Vec<u64>) -> Result<(), LabelError> {
        self.start(event, letter);
        let mut clashes = Vec::new();
        for at in self.index.candidates(&event.tool) {
            if let Some(entry) = self.entries.get(at as usize) {
                entry.label(event, letter, &mut clashes);
            }
        }
        if clashes.is_empty() { Ok(()) } else { Err(LabelError { clashes }) }
    }

    /// The given propositions of the event, all others false.
    fn start(&self, event: &Event, letter: &mut Vec<u64>) {
        letter.clear();
        letter.resize(self.words, 0);
        for name in &event.props {
            if let Some(&p) = self.given.get(name) {
                set(letter, p);
            }
        }
    }
}

impl Entry {
    fn label(&self, event: &Event, letter: &mut [u64], clashes: &mut Vec<(u32, String)>) {
        if event.status == Status::Denied && !self.sees_denied {
            return;
        }
        if self.certain {
            return set(letter, self.proposition);
        }
        match self.expression.holds(event, letter) {
            Ok(true) => set(letter, self.proposition),
            Ok(false) | Err(Stop::Missing) => {}
            Err(Stop::Clash(what)) => {
                clashes.push((self.proposition, format!("proposition `{}`: {what}", self.name)));
            }
        }
    }
}

/// A map by name; seeds are fixed so that runs are alike.
fn map<V>() -> AHashMap<String, V> {
    AHashMap::with_hasher(ahash::RandomState::with_seeds(1, 2, 3, 4))
}

fn set(letter: &mut [u64], proposition: u32) {
    if let Some(word) = letter.get_mut(proposition as usize / 64) {
        *word |= 1 << (proposition % 64);
    }
}

impl Expression {
    /// Whether the expression is true at `event`, whose letter the labeller has found. What is missing makes it false.
    /// Denied calls are events like others here.
    ///
    /// # Errors
    /// What met a value of a type it does not work on; the expression counts as false then.
    pub fn is_true(&self, event: &Event, letter: &[u64]) -> Result<bool, String> {
        match self.holds(event, letter) {
            Ok(value) => Ok(value),
            Err(evaluate::Stop::Missing) => Ok(false),
            Err(evaluate::Stop::Clash(message)) => Err(message),
        }
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
