//! Draws a [`Report`] over the text it is about.

use std::io::IsTerminal;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use tracelaw_compiler::diag::{Diagnostic, Report, Severity, locate};

/// Longest line drawn, in bytes: beyond it only the place is told.
const MAX_LINE: usize = 2_000;
/// Most diagnostics drawn: what follows is counted.
const MAX_DRAWN: usize = 100;

/// Whether output to `stream` may be coloured: it is a terminal, and the environment does not ask for none.
#[must_use]
pub fn may_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// The diagnostics of `report`, each with its line of `text` and what to do; `name` is what the text is called, such as
/// its file. Ends with a line break unless there is nothing to say.
///
/// # Complexity
/// O(length of the text) for each diagnostic, of which the first hundred are drawn. Never panics, also for spans
/// outside the text.
#[must_use]
pub fn render(report: &Report, text: &str, name: &str, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in report.iter().take(MAX_DRAWN) {
        out.push_str(&renderer.render(&[group(diagnostic, text, name)]));
        out.push('\n');
    }
    if let Some(more @ 1..) = report.iter().len().checked_sub(MAX_DRAWN) {
        out.push_str(&format!("and {more} more\n"));
    }
    out
}

fn group<'a>(diagnostic: &'a Diagnostic, text: &'a str, name: &'a str) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let (line, column) = locate(text, diagnostic.span.start);
    let title = level.primary_title(&*diagnostic.message).id(diagnostic.code);
    let start = boundary(text, diagnostic.span.start);
    let line_start = text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
    let line_end = text.get(start..).and_then(|t| t.find('\n')).map_or(text.len(), |i| start + i);
    let shown = text.get(line_start..line_end).unwrap_or("").trim_end_matches('\r');
    let group = if shown.len() > MAX_LINE {
        title.element(Origin::path(name).line(line).char_column(column))
    } else {
        // A span over several lines is marked to the end of its first: one line says where to look.
        let end = boundary(text, diagnostic.span.end.max(start)).min(line_start + shown.len()).max(start);
        let marked = AnnotationKind::Primary.span(start - line_start..end - line_start);
        title.element(Snippet::source(shown).line_start(line).path(name).annotation(marked))
    };
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(&**help)),
        None => group,
    }
}

/// `offset`, moved back to the nearest start of a character of `text`.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use tracelaw_compiler::diag::Span;

    use super::*;

    #[test]
    fn a_diagnostic_shows_its_line_and_help() {
        let text = "name = \"é\"\nsteps = \"cals\"\n";
        let start = text.find("cals").unwrap();
        let error = Diagnostic::error("unknown-name", Span::new(start, start + 4), "unknown name `cals`")
            .with_help("did you mean `calls`?");
        let drawn = render(&error.into(), text, "p.toml", false);
        assert_eq!(
            drawn,
            "error[unknown-name]: unknown name `cals`\n \
             --> p.toml:2:10\n  |\n2 | steps = \"cals\"\n  |          ^^^^\n  |\n  \
             = help: did you mean `calls`?\n"
        );
        assert!(!drawn.contains('\u{1b}'));
    }

    #[test]
    fn colours_only_when_asked_for() {
        let report: Report = Diagnostic::warning("unused", Span::new(0, 1), "not used").into();
        assert!(render(&report, "a", "p", true).contains('\u{1b}'));
        assert!(!render(&report, "a", "p", false).contains('\u{1b}'));
    }

    #[test]
    fn odd_spans_and_texts_are_no_problem() {
        let long = "x".repeat(5_000_000);
        for (text, span) in [
            ("", Span::new(0, 0)),
            ("", Span::new(7, 3)),
            ("aé", Span::new(2, 90)),
            ("a\r\nb\r\n", Span::new(1, 2)),
            ("a\r\nb", Span::new(0, 4)),
            ("\t\u{1b}[0m\u{0}x", Span::new(1, 4)),
            (long.as_str(), Span::new(4_000_000, 4_000_001)),
        ] {
            let drawn = render(&Diagnostic::error("syntax", span, "odd").into(), text, "p", false);
            assert!(drawn.starts_with("error[syntax]: odd\n"), "{drawn:?}");
            assert!(drawn.len() < 10_000);
        }
    }

    #[test]
    fn a_flood_is_cut() {
        let mut report = Report::new();
        for _ in 0..1_000 {
            report.push(Diagnostic::error("syntax", Span::new(0, 1), "bad"));
        }
        assert!(render(&report, "a", "p", false).ends_with("\nand 900 more\n"));
    }
}
