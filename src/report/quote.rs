//! Events in one short line, safe to print.

use std::io::{self, Write};

use serde_json::Value;

use crate::ingest::{Event, Kind, Status};

/// Characters of arguments or text that a quote shows.
const MAX_CHARS: usize = 120;

/// The event in one line: `transfer {"amount":100} -> error`, `user: "yes, do it"`.
///
/// Long values are cut. Characters that could move a terminal's cursor or hide text are escaped: what an agent wrote is
/// not to be trusted.
#[must_use]
pub fn quote(event: &Event) -> String {
    let mut out = String::new();
    match event.kind {
        Kind::Call if event.tool.is_empty() && !event.props.is_empty() => {
            push_clean(&mut out, &format!("[{}]", event.props.join(", ")));
        }
        Kind::Call | Kind::Span => {
            push_clean(&mut out, if event.tool.is_empty() { "(no tool)" } else { &event.tool });
            if !event.args.is_null() {
                out.push(' ');
                push_clean(&mut out, &json(&event.args));
            }
            match event.status {
                Status::Ok | Status::Unknown => {}
                Status::Error => out.push_str(" -> error"),
                Status::Denied => out.push_str(" -> denied"),
            }
        }
        Kind::User => push_text(&mut out, "user", &event.text),
        Kind::Assistant => push_text(&mut out, "assistant", &event.text),
    }
    out
}

fn push_text(out: &mut String, who: &str, text: &str) {
    out.push_str(who);
    out.push_str(": \"");
    push_clean(out, text);
    out.push('"');
}

/// Appends the beginning of `text`, with everything but plain text escaped.
fn push_clean(out: &mut String, text: &str) {
    for (i, c) in text.chars().enumerate() {
        if i == MAX_CHARS {
            out.push('…');
            return;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if is_treacherous(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
}

/// Control characters, and those that turn the direction of writing or have no width.
fn is_treacherous(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Names and other short texts of the log, safe to print.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_clean(&mut out, text);
    out
}

/// The beginning of a value's JSON; a value of many megabytes is not written out to be cut.
fn json(value: &Value) -> String {
    struct Head(Vec<u8>);
    impl Write for Head {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.extend_from_slice(bytes);
            // One character is four bytes at the most.
            if self.0.len() > 4 * (MAX_CHARS + 1) {
                Err(io::ErrorKind::WriteZero.into())
            } else {
                Ok(bytes.len())
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut head = Head(Vec::new());
    // The error is how the rest is left out.
    let _ = serde_json::to_writer(&mut head, value);
    String::from_utf8_lossy(&head.0).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_show_arguments_and_failures() {
        let mut event = Event { tool: "pay".into(), args: json!({"to": "x", "n": 3}), ..Event::default() };
        assert_eq!(quote(&event), r#"pay {"to":"x","n":3}"#);
        event.status = Status::Denied;
        assert_eq!(quote(&event), r#"pay {"to":"x","n":3} -> denied"#);
    }

    #[test]
    fn given_propositions_stand_for_an_event_without_a_tool() {
        let event = Event { props: vec!["a".into(), "b".into()], ..Event::default() };
        assert_eq!(quote(&event), "[a, b]");
    }

    #[test]
    fn long_and_treacherous_texts_are_cut_and_escaped() {
        let text = format!("\u{1b}[2Jhi\u{202e}\n{}", "é".repeat(1000));
        let event = Event { kind: Kind::User, text, ..Event::default() };
        let quoted = quote(&event);
        assert!(quoted.starts_with("user: \"\\u{1b}[2Jhi\\u{202e}\\né"), "{quoted}");
        assert!(quoted.ends_with("é…\""), "{quoted}");
        let event =
            Event { tool: "t".into(), args: json!({"text": "é".repeat(1_000_000)}), ..Event::default() };
        assert!(quote(&event).chars().count() < 200);
    }
}
