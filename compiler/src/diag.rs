//! Spans, diagnostics and reports: how a mistake in a text is told to the person who wrote it.
//!
//! A [`Diagnostic`] points into one text by byte offsets and knows nothing of files; whoever owns the text turns
//! offsets into lines with [`locate`] and draws the picture.

use std::fmt;

/// A half-open range of byte offsets into the text a diagnostic is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The same range, `offset` bytes further on: for a text quoted inside a larger one.
    #[must_use]
    pub const fn shifted(self, offset: usize) -> Span {
        Span { start: self.start + offset, end: self.end + offset }
    }
}

/// Whether a diagnostic stops the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The text cannot be used.
    Error,
    /// The text can be used but probably does not say what was meant.
    Warning,
}

/// One mistake: what was found, what was expected, where, and a way out.
///
/// Messages are lower case without a full stop, quote the user's text in backticks and use the words of the rule
/// language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// A stable short name such as `syntax`, `unknown-name`, `limit`, by which scripts can tell kinds apart.
    pub code: &'static str,
    /// One line: what is wrong.
    pub message: String,
    /// Where.
    pub span: Span,
    /// What to do about it, if there is something useful to say.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Error, code, message: message.into(), span, help: None }
    }

    /// A warning.
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, code, message: message.into(), span, help: None }
    }

    /// The same diagnostic with advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The same diagnostic `offset` bytes further on: for a text quoted inside a larger one.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Diagnostic {
        self.span = self.span.shifted(offset);
        self
    }
}

/// All the mistakes found in one text, in the order of their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    diagnostics: Vec<Diagnostic>,
}

impl Report {
    /// An empty report.
    #[must_use]
    pub fn new() -> Report {
        Report::default()
    }

    /// Adds one diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds all diagnostics of `other`.
    pub fn extend(&mut self, other: Report) {
        self.diagnostics.extend(other.diagnostics);
    }

    /// Whether any of them is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// The diagnostics, sorted by place.
    #[must_use]
    pub fn sorted(mut self) -> Report {
        self.diagnostics.sort_by_key(|d| (d.span, d.severity));
        self
    }

    /// The diagnostics.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.diagnostics.iter()
    }

    /// `Ok(value)` if nothing is an error, else the report.
    ///
    /// # Errors
    /// The report itself, when it holds an error.
    pub fn into_result<T>(self, value: T) -> Result<T, Report> {
        if self.has_errors() { Err(self) } else { Ok(value) }
    }
}

impl From<Diagnostic> for Report {
    fn from(diagnostic: Diagnostic) -> Report {
        Report { diagnostics: vec![diagnostic] }
    }
}

impl IntoIterator for Report {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.diagnostics.into_iter()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.diagnostics.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            f.write_str(&d.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// Line and column, both from 1, of a byte offset; the column counts characters.
///
/// # Complexity
/// O(offset). Never panics: an offset past the end or inside a character is moved back.
#[must_use]
pub fn locate(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = text.get(..offset).unwrap_or("");
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
    (line, before.get(line_start..).unwrap_or("").chars().count() + 1)
}

/// Names longer than this many bytes are neither suggested nor helped.
const MAX_SUGGESTED: usize = 100;

/// Of `names`, the one most like `wanted`, if any is alike enough to be worth suggesting.
#[must_use]
pub fn suggest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(wanted, names).first().copied()
}

/// What to say of the names most like `wanted`, all that are equally near: "did you mean `a` or `b`?"
///
/// ```
/// # use tracelaw_compiler::diag::did_you_mean;
/// let names = ["response", "responds", "absence"];
/// assert_eq!(did_you_mean("respons", names).as_deref(), Some("did you mean `responds` or `response`?"));
/// assert_eq!(did_you_mean("succession", names), None);
/// ```
#[must_use]
pub fn did_you_mean<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// More would be a list to read and not a suggestion.
    const MOST: usize = 3;
    let near: Vec<String> = nearest(wanted, names).iter().take(MOST).map(|n| format!("`{n}`")).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

/// The names that are nearest to `wanted`, sorted; none if no name is alike enough.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // The distance takes time and space for both lengths multiplied.
    if wanted.len() > MAX_SUGGESTED {
        return Vec::new();
    }
    let length = wanted.chars().count();
    let allowed = |n: &str| 1 + length.max(n.chars().count()) / 4;
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        // The distance is at least the difference in length.
        .filter(|n| n.len() <= MAX_SUGGESTED && length.abs_diff(n.chars().count()) <= allowed(n))
        .map(|n| (strsim::damerau_levenshtein(&wanted.to_lowercase(), &n.to_lowercase()), n))
        .filter(|(d, n)| *d <= allowed(n))
        .collect();
    near.sort_unstable();
    near.dedup();
    let least = near.first().map(|(d, _)| *d);
    near.into_iter().take_while(|(d, _)| Some(*d) == least).map(|(_, n)| n).collect()
}
