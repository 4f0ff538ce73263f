//! Which format a file has, from its first bytes.
//!
//! JSON is told apart by the keys near its top. They are collected by a scan that minds neither a cut-off end nor
//! a broken line, so a document of megabytes and a log with a damaged first line are recognised all the same.

use std::collections::BTreeSet;

use super::format::Format;

/// What a file seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    Format(Format),
    /// There is nothing in it.
    Empty,
    /// Text of two or four bytes a character.
    Wide,
    Unknown,
}

pub(super) fn detect(head: &[u8]) -> Guess {
    if is_wide(head) {
        return Guess::Wide;
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let text = head.trim_ascii_start();
    match text.first() {
        None => Guess::Empty,
        Some(b'<') if memchr::memmem::find(text, b"<log").is_some() => Guess::Format(Format::Xes),
        Some(b'<') => Guess::Unknown,
        Some(b'{' | b'[') => json(text),
        Some(_) if text.starts_with(b"PK\x03\x04") => Guess::Format(Format::Inspect),
        Some(_) => other(text),
    }
}

/// UTF-16 or UTF-32, by its mark, or by where its first characters have zeros: in every text that can be a log these are
/// ASCII.
fn is_wide(head: &[u8]) -> bool {
    if matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..]) {
        return true;
    }
    let Some(first) = head.first_chunk::<8>() else { return false };
    let [a, b, c, d, again @ ..] = first.map(|byte| byte != 0);
    let pattern = matches!(
        [a, b, c, d],
        [true, false, true, false]
            | [false, true, false, true]
            | [true, false, false, false]
            | [false, false, false, true]
    );
    pattern && again == [a, b, c, d]
}

/// Neither JSON nor XML at its start: a table, or JSON lines with a damaged first one.
fn other(text: &[u8]) -> Guess {
    let mut lines = text.split(|&byte| byte == b'\n');
    let header = lines.next().unwrap_or_default();
    if super::csv::is_header(&String::from_utf8_lossy(header)) {
        return Guess::Format(Format::Csv);
    }
    match lines.find(|line| line.starts_with(b"{")) {
        Some(line) => json(&text[line.as_ptr() as usize - text.as_ptr() as usize..]),
        None => Guess::Unknown,
    }
}

fn json(text: &[u8]) -> Guess {
    let shape = Shape::of(text);
    match RULES.iter().find(|(_, rule)| rule(&shape)) {
        Some((format, _)) => Guess::Format(*format),
        None => Guess::Unknown,
    }
}

type Rule = fn(&Shape) -> bool;

/// The first rule that holds decides: what can be mistaken for something else stands before it.
const RULES: &[(Format, Rule)] = &[
    (Format::Mcp, |s| s.any(&["jsonrpc", "msg.jsonrpc", "message.jsonrpc", "payload.jsonrpc"])),
    (Format::Otlp, |s| {
        s.any(&[
            "resourceSpans",
            "resource_spans",
            "batches.scopeSpans",
            "batches.instrumentationLibrarySpans",
        ]) || s.any(&["data.spans", "data.traceID", "spans.operationName", "trace.resourceSpans"])
            // Bare spans. Many logs that are none name the span they were written in: a span has a start.
            || s.any(&["spanId", "span_id", "spanID"])
                && s.any(&["startTimeUnixNano", "start_time_unix_nano", "startTime"])
    }),
    (Format::Inspect, |s| {
        s.has("eval") && s.any(&["samples", "plan", "status", "version"])
            || s.any(&["samples.messages", "samples.events", "events.event"])
            || s.has("epoch") && s.any(&["messages", "events"])
    }),
    (Format::ClaudeCode, |s| {
        s.has("loglines")
            || s.has("type")
                && s.any(&["sessionId", "parentUuid", "leafUuid", "isSidechain", "snapshot", "agentId"])
    }),
    // Plain events first: their `kind` and `session` are no keys of a message.
    (Format::Jsonl, |s| {
        !s.has("role")
            && !s.any(&["messages", "traj"])
            && (s.any(&["tool", "props", "activity", "phase"]) || s.has("kind") && s.has("text"))
    }),
    (Format::Anthropic, |s| {
        s.any_value(&["tool_use", "tool_result", "server_tool_use", "mcp_tool_use"])
            || s.any(&["params.messages", "messages.stop_reason", "stop_reason"])
    }),
    (Format::OpenAi, |s| {
        s.any(&["role", "messages", "traj", "choices", "messages.role", "traj.role"])
            || s.any(&["request.messages", "request.input"])
            || s.has("output") && s.has("object")
            || s.has("input") && s.any(&["previous_response_id", "model"])
            || s.any_value(&["function_call", "function_call_output", "mcp_call", "mcp_approval_request"])
            || s.any_value(&["custom_tool_call", "mcp_approval_response"])
    }),
    (Format::Jsonl, |s| s.any(&["session", "case", "kind"])),
];

/// The keys of a JSON text that are at most this deep, array brackets not counted.
const DEPTH: usize = 4;

/// The paths of keys near the top (`messages.role`), and the values of `type`, wherever it stands up there.
struct Shape {
    paths: BTreeSet<String>,
    types: BTreeSet<String>,
}

impl Shape {
    fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    fn any(&self, paths: &[&str]) -> bool {
        paths.iter().any(|path| self.has(path))
    }

    fn any_value(&self, types: &[&str]) -> bool {
        types.iter().any(|kind| self.types.contains(*kind))
    }

    /// Reads keys until the text ends. A line end at which a broken line's brackets are still open, and after
    /// which a new object begins, starts over at the top.
    fn of(text: &[u8]) -> Shape {
        let mut shape = Shape { paths: BTreeSet::new(), types: BTreeSet::new() };
        // For each open bracket: is it an object, and the key that led to what is in it now.
        let mut open: Vec<(bool, String)> = Vec::new();
        let mut expects_key = false;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            at += 1;
            match byte {
                b'{' | b'[' => {
                    open.push((byte == b'{', String::new()));
                    expects_key = byte == b'{';
                }
                b'}' | b']' => {
                    open.pop();
                    expects_key = false;
                }
                b',' => expects_key = open.last().is_some_and(|(object, _)| *object),
                b'\n' if text.get(at..).is_some_and(|rest| rest.starts_with(b"{\"")) && open.len() < 64 => {
                    open.clear();
                }
                b'"' => {
                    let end = string_end(text, at);
                    if text.get(end) != Some(&b'"') {
                        // The text was cut here, or the line was: go on with the next one.
                        at = end;
                        open.clear();
                        continue;
                    }
                    let string = String::from_utf8_lossy(&text[at..end]);
                    at = end + 1;
                    if expects_key {
                        expects_key = false;
                        if let Some((_, key)) = open.last_mut() {
                            *key = string.clone().into_owned();
                        }
                        let objects = open.iter().filter(|(object, _)| *object);
                        let path: Vec<&str> = objects.map(|(_, key)| key.as_str()).collect();
                        if path.len() <= DEPTH {
                            shape.paths.insert(path.join("."));
                        }
                    } else if open.last().is_some_and(|(object, key)| *object && key == "type") {
                        shape.types.insert(string.into_owned());
                    }
                }
                _ => {}
            }
        }
        shape
    }
}

/// Where the string that starts at `at` ends: at a quote, or, broken, at the end of its line or of the text.
fn string_end(text: &[u8], mut at: usize) -> usize {
    loop {
        match text.get(at) {
            None | Some(b'"' | b'\n') => return at,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}
