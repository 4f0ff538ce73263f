//! Texts of a policy file: what they say, and where each part of that is written.

use tracelaw_compiler::diag::{Diagnostic, Span};

/// A text with the places of its characters in the file.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) value: String,
    /// From the opening quotation mark to the closing one.
    pub(super) span: Span,
    /// `(offset in the value, offset in the file)`, ascending, one where the two drift apart.
    anchors: Vec<(usize, usize)>,
}

impl Text {
    /// `value` is what the quoted text at `span` of `file` says, in TOML or JSON.
    pub(super) fn new(file: &str, span: Span, value: String) -> Text {
        let token = file.get(span.start..span.end).unwrap_or("");
        let (quotes, escapes) = match token {
            t if t.starts_with("\"\"\"") => (3, true),
            t if t.starts_with("'''") => (3, false),
            t if t.starts_with('"') => (1, true),
            t if t.starts_with('\'') => (1, false),
            // Quotes were forgotten: the text stands there as it is.
            _ => (0, false),
        };
        let mut raw = token.get(quotes..token.len().saturating_sub(quotes)).unwrap_or("");
        if quotes == 3 {
            // A line break right after the opening marks is not part of the text.
            raw = raw.strip_prefix("\r\n").or_else(|| raw.strip_prefix('\n')).unwrap_or(raw);
        }
        let start = span.end.saturating_sub(quotes).saturating_sub(raw.len());
        let anchors = anchors(raw, &value, escapes);
        Text { value, span, anchors: anchors.into_iter().map(|(v, r)| (v, r + start)).collect() }
    }

    /// Where a part of the value stands in the file.
    pub(super) fn place(&self, part: Span) -> Span {
        let at = |offset: usize| {
            let next = self.anchors.partition_point(|(v, _)| *v <= offset);
            let (value, file) =
                self.anchors.get(next.saturating_sub(1)).copied().unwrap_or((0, self.span.start));
            (file + offset.saturating_sub(value)).min(self.span.end)
        };
        let start = at(part.start);
        Span::new(start, at(part.end).max(start))
    }

    /// A diagnostic about a part of the value, as one about the file.
    pub(super) fn diagnostic(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.span = self.place(diagnostic.span);
        diagnostic
    }
}

/// Walks `raw` and what it stands for side by side.
fn anchors(raw: &str, value: &str, escapes: bool) -> Vec<(usize, usize)> {
    let mut anchors = vec![(0, 0)];
    if raw == value {
        return anchors;
    }
    let (mut r, mut v) = (0, 0);
    while let (Some(c), Some(said)) = (next_char(raw, r), next_char(value, v)) {
        if escapes && c == '\\' {
            let rest = raw.get(r..).unwrap_or("");
            match line_continuation(rest) {
                Some(skipped) => r += skipped,
                None => {
                    r += escape_len(rest);
                    v += said.len_utf8();
                }
            }
        } else if c == '\r' && said != '\r' {
            r += 1;
        } else {
            r += c.len_utf8();
            v += said.len_utf8();
            continue;
        }
        anchors.push((v, r));
    }
    anchors
}

fn next_char(text: &str, at: usize) -> Option<char> {
    text.get(at..).and_then(|rest| rest.chars().next())
}

/// Length of a backslash that ends its line, with the white space that it removes.
fn line_continuation(rest: &str) -> Option<usize> {
    let after = rest.get(1..)?;
    let line = after.trim_start_matches([' ', '\t']);
    line.starts_with(['\n', '\r']).then(|| rest.len() - after.trim_start().len())
}

/// Length of the escape that `rest` starts with.
fn escape_len(rest: &str) -> usize {
    let one = |rest: &str| match rest.as_bytes().get(1) {
        Some(b'x') => 4,
        Some(b'u') => 6,
        Some(b'U') => 10,
        _ => 2,
    };
    let len = one(rest);
    // JSON writes what lies beyond 16 bits as two escapes that belong together.
    let pair = rest.get(..3).is_some_and(|r| r.eq_ignore_ascii_case("\\ud"))
        && rest.as_bytes().get(3).is_some_and(|d| b"89abAB".contains(d))
        && rest.get(len..).is_some_and(|r| r.starts_with("\\u"));
    if pair { 12 } else { len }
}
