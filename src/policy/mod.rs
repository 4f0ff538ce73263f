//! Policies: the rules of a file, with the propositions they speak about.

mod check;
mod document;
mod draft;
mod inline;
mod order;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;

use tracelaw_compiler::diag::{Report, Span};
use tracelaw_compiler::syntax::Ast;

use crate::ingest::{Event, Kind};
use crate::label::{Expression, Labeller};

pub use tracelaw_compiler::config::{AfterViolation, Semantics};

/// A policy that was read and checked.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Its name; that of its file when it gives none.
    pub name: String,
    /// Over which continuations its verdicts speak.
    pub semantics: Semantics,
    /// The propositions by number: those given by the log first, then those with an expression, in the file's order.
    pub vocabulary: Vec<String>,
    /// The propositions whose truth the log itself states.
    pub given: Vec<u32>,
    /// Sets of propositions of which at most one holds at an event.
    pub exclusive: Vec<Vec<u32>>,
    /// Whether exactly one proposition holds at each event.
    pub one_per_event: bool,
    /// Which events are steps, for the rules that do not say.
    pub steps: Steps,
    /// The rules in the order of the file.
    pub rules: Vec<Rule>,
    /// Finds the letter of an event.
    pub labeller: Labeller,
    /// What is probably not meant.
    pub warnings: Report,
}

/// One rule of a policy.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, different from that of all other rules.
    pub id: String,
    /// The rule in words; empty if the policy has none.
    pub text: String,
    /// Where it comes from, such as `PSD2 Art. 97(1)(b)`.
    pub source: Option<String>,
    /// How bad a breach is.
    pub severity: Severity,
    /// What it says: templates expanded, defined names replaced by what they stand for. Its spans point into the
    /// policy's text.
    pub formula: Ast,
    /// The formula or template as it stands in the file.
    pub written: String,
    /// How it goes on after a breach.
    pub after_violation: AfterViolation,
    /// The value of which each has a monitor of its own.
    pub per: Option<Expression>,
    /// The propositions that hold for one value only.
    pub keyed: Vec<u32>,
    /// Which events are steps, where it differs from the policy's.
    pub steps: Option<Steps>,
    /// Where it stands in the policy's text.
    pub span: Span,
}

/// How bad a breach of a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum Severity {
    /// Breaking it is a failure: the default.
    #[default]
    Error,
    /// Breaking it deserves a look.
    Warning,
    /// Breaking it is worth a note.
    Info,
}

impl Severity {
    /// Its name, as policies and reports write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// Which events are steps.
#[derive(Clone, Debug, Default)]
pub enum Steps {
    /// Calls: the default.
    #[default]
    Calls,
    /// Every event.
    All,
    /// Events at which at least one proposition of the policy holds.
    Matched,
    /// Events at which an expression is true.
    Where(Expression),
}

impl Steps {
    /// Whether `event` with its `letter` is a step.
    ///
    /// # Errors
    /// What met a value of a type it does not work on; the event is no step then.
    pub fn includes(&self, event: &Event, letter: &[u64]) -> Result<bool, String> {
        match self {
            Steps::Calls => Ok(event.kind == Kind::Call),
            Steps::All => Ok(true),
            Steps::Matched => Ok(letter.iter().any(|word| *word != 0)),
            Steps::Where(expression) => expression.is_true(event, letter),
        }
    }
}

impl Policy {
    /// Reads a policy from TOML or JSON.
    ///
    /// `name_hint` is the name of its file or the like: an ending `.toml` or `.json` says which of the two it is (else the first
    /// character does), the rest is the policy's name if it gives none.
    ///
    /// # Errors
    /// All mistakes of the text at once.
    pub fn parse(text: &str, name_hint: &str) -> Result<Policy, Report> {
        let hint = Path::new(name_hint);
        let json = match hint.extension().and_then(|e| e.to_str()) {
            Some(e) if e.eq_ignore_ascii_case("json") => true,
            Some(e) if e.eq_ignore_ascii_case("toml") => false,
            _ => text.trim_start_matches('\u{feff}').trim_start().starts_with('{'),
        };
        let mut report = Report::new();
        let root = if json { document::json(text, &mut report) } else { document::toml(text, &mut report) };
        let readable = !report.iter().any(|d| d.code == "syntax");
        let draft = draft::draft(root, readable, &mut report);
        check::check(draft, &hint.file_stem().unwrap_or_default().to_string_lossy(), report)
    }

    /// Reads a policy from a file.
    ///
    /// # Errors
    /// When the file cannot be read, or like [`Policy::parse`].
    pub fn load(path: &Path) -> Result<Policy, LoadError> {
        let text = std::fs::read_to_string(path).map_err(LoadError::Read)?;
        Policy::parse(&text, &path.to_string_lossy()).map_err(|report| LoadError::Report { text, report })
    }

    /// Why `letter` cannot be, given what the policy says about its propositions.
    #[must_use]
    pub fn contradiction(&self, letter: &[u64]) -> Option<String> {
        crate::label::contradiction(&self.vocabulary, &self.exclusive, self.one_per_event, letter)
    }
}

/// Why a policy file was not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// The file could not be read.
    Read(std::io::Error),
    /// The text has mistakes.
    Report {
        /// The text of the file, for drawing the mistakes.
        text: String,
        /// The mistakes.
        report: Report,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Read(error) => write!(f, "cannot read the policy: {error}"),
            LoadError::Report { report, .. } => write!(f, "mistakes in the policy: {report}"),
        }
    }
}

impl std::error::Error for LoadError {}
