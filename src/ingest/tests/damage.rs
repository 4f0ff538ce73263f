//! Logs that are cut off or damaged: no panic, and nothing is lost without a word.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::feed::Options;
use super::super::{Format, Kind};
use super::read_with;
use super::reference;

/// A small log of every format.
const LOGS: &[(Format, &str, &str)] = &[
    (
        Format::Jsonl,
        "run.jsonl",
        "{\"session\":\"s\",\"tool\":\"a\",\"args\":{\"x\":[1,2]},\"batch\":1,\"props\":[\"p\"]}\n{\"session\":\"s\",\"tool\":\"b\",\"error\":null}\n",
    ),
    (
        Format::OpenAi,
        "run.json",
        r#"[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"t","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"y"}]"#,
    ),
    (
        Format::OpenAi,
        "run.json",
        r#"{"id":"r","object":"response","output":[{"type":"function_call","call_id":"c","name":"t","arguments":"{}"},{"type":"mcp_call","name":"m","output":"x"}]}"#,
    ),
    (
        Format::Anthropic,
        "run.jsonl",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"t\",\"input\":{}}]}\n{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\",\"content\":\"x\"}]}\n",
    ),
    (
        Format::ClaudeCode,
        "S.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"S\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n{\"type\":\"assistant\",\"uuid\":\"a\",\"parentUuid\":\"u\",\"sessionId\":\"S\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"t\",\"input\":{}}]}}\n",
    ),
    (
        Format::Otlp,
        "run.json",
        r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"session.id","value":{"stringValue":"s"}}]},"scopeSpans":[{"spans":[{"traceId":"T","spanId":"1","parentSpanId":"2","name":"execute_tool x","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"a","value":{"kvlistValue":{"values":[{"key":"b","value":{"intValue":"1"}}]}}}]},{"traceId":"T","spanId":"2","name":"y","startTimeUnixNano":1}]}]}]}"#,
    ),
    (
        Format::Otlp,
        "run.json",
        r#"{"data":[{"spans":[{"traceID":"T","spanID":"1","operationName":"execute_tool x","startTime":1,"duration":2,"references":[{"refType":"CHILD_OF","spanID":"1"}],"tags":[{"key":"error","value":true}]}]}]}"#,
    ),
    (
        Format::Mcp,
        "run.jsonl",
        "{\"dir\":\"c2s\",\"conn\":\"k\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}}\n{\"dir\":\"s2c\",\"conn\":\"k\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}}\n",
    ),
    (
        Format::Inspect,
        "run.json",
        r#"{"eval":{"task":"t"},"samples":[{"id":1,"epoch":1,"messages":[{"role":"tool","tool_call_id":"c","function":"f","content":"x"}],"events":[{"event":"tool","id":"d","function":"g","arguments":{}}]}]}"#,
    ),
    (
        Format::Xes,
        "run.xes",
        "<log><trace><string key=\"concept:name\" value=\"s\"/><event><string key=\"concept:name\" value=\"a&amp;b\"/><list key=\"l\"><values><int key=\"i\" value=\"1\"/></values></list></event></trace></log>",
    ),
    (Format::Csv, "run.csv", "case,activity,x\n1,a,\"q\"\n1,b,2\n"),
];

/// Bytes that mean something somewhere.
const FLIPS: &[u8] = b"\0\n\"\\{}[]<>&,:;1e-\xff";

#[test]
fn every_format_is_recognised() {
    let formats: BTreeSet<&str> = LOGS.iter().map(|(format, ..)| format.name()).collect();
    assert_eq!(formats.len(), Format::ALL.len());
    for (format, name, text) in LOGS {
        let log = read_with(name, text.as_bytes(), &Options::default());
        assert_eq!((log.format, log.messages()), (Some(*format), vec![]), "{text}");
        assert!(!log.events.is_empty(), "{text}");
    }
}

/// The same events, or a problem, or something counted, or no text at all.
fn accounted(name: &str, bytes: &[u8], options: &Options, whole: usize) {
    let log = read_with(name, bytes, options);
    let silent = log.problems.is_empty() && log.summary.skipped.is_empty() && log.events.len() < whole;
    assert!(!silent || bytes.trim_ascii().is_empty(), "{name}: {}", String::from_utf8_lossy(bytes));
}

#[test]
fn cut_at_every_byte() {
    for (format, name, text) in LOGS {
        let whole = read_with(name, text.as_bytes(), &Options::default()).events.len();
        for cut in 0..text.len() {
            let bytes = &text.as_bytes()[..cut];
            // A cut between two lines leaves a whole, shorter log; so does one after which no text is missing.
            let between =
                text[cut..].starts_with('\n') || text[..cut].ends_with('\n') || text[cut..].trim().is_empty();
            let needed = if between { 0 } else { whole };
            // A table's last row may lose the end of its last cell; nothing can show that.
            let needed = if *format == Format::Csv { 0 } else { needed };
            accounted(name, bytes, &Options::default(), needed);
            accounted(name, bytes, &Options { format: Some(*format), ..Options::default() }, needed);
        }
    }
}

#[test]
fn every_byte_changed_to_every_byte_that_means_something() {
    for (format, name, text) in LOGS {
        for at in 0..text.len() {
            for &flip in FLIPS {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = flip;
                read_with(name, &bytes, &Options::default());
                read_with(name, &bytes, &Options { format: Some(*format), ..Options::default() });
            }
        }
    }
}

#[test]
fn every_log_read_as_every_other_format() {
    for (_, name, text) in LOGS {
        for format in Format::ALL {
            let log =
                read_with(name, text.as_bytes(), &Options { format: Some(format), ..Options::default() });
            let said = log.problems.len() + log.summary.skipped.len() + log.events.len();
            assert!(said > 0, "{text} as {format}");
        }
    }
}

#[test]
fn real_logs_cut_and_damaged() {
    for source in ["taubench_airline", "claude_code", "inspect_ai", "otel_genai"] {
        for (file, raw, normalized) in reference::logs(source) {
            // A dozen cuts and flips per file, spread by a stride that is no power of two.
            for step in 1..12 {
                let at = raw.len() * step / 12;
                accounted(&file, &raw[..at], &Options::default(), normalized.len());
                let mut bytes = raw.clone();
                bytes[at] = FLIPS[step % FLIPS.len()];
                read_with(&file, &bytes, &Options::default());
            }
        }
    }
}

/// Every value of every JSON log replaced by one of each other type: a call that is then not there any more has been
/// reported, or counted among what was left out.
#[test]
fn a_value_of_a_wrong_type_loses_no_call_without_a_word() {
    let mut lost = Vec::new();
    for (format, name, text) in LOGS {
        let options = Options { format: Some(*format), ..Options::default() };
        let whole: Option<Value> = serde_json::from_str(text).ok();
        let lines = || text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>().ok();
        let Some(documents) = whole.map(|v| vec![v]).or_else(lines) else { continue };
        let expected = read_with(name, text.as_bytes(), &options);
        let calls = |log: &super::Log| log.events.iter().filter(|e| e.kind == Kind::Call).count();
        for (at, document) in documents.iter().enumerate() {
            for pointer in pointers(document) {
                for wrong in
                    [json!(7), json!("x"), json!([]), json!([3]), json!({}), json!({"x": 1}), json!(true)]
                {
                    let mut changed = documents.clone();
                    let place = changed[at].pointer_mut(&pointer).unwrap();
                    // A list may be empty, and text may stand for blocks of it.
                    let may_be = wrong == json!([]) || wrong == json!("x") && pointer.contains("/content");
                    if may_be || std::mem::discriminant(place) == std::mem::discriminant(&wrong) {
                        continue;
                    }
                    *place = wrong.clone();
                    let text: Vec<String> = changed.iter().map(Value::to_string).collect();
                    let log = read_with(name, text.join("\n").as_bytes(), &options);
                    let told = !log.problems.is_empty() || log.summary.skipped != expected.summary.skipped;
                    if !told && calls(&log) < calls(&expected) {
                        lost.push(format!("{format:?} {pointer}: {wrong}"));
                    }
                }
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// The places of all values below a value.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let below = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers(value).into_iter().map(move |rest| format!("/{key}{rest}")).collect::<Vec<_>>()
    };
    match value {
        Value::Array(list) => {
            found.extend(list.iter().enumerate().flat_map(|(i, v)| below(&i.to_string(), v)));
        }
        Value::Object(map) => found.extend(map.iter().flat_map(|(k, v)| below(k, v))),
        _ => {}
    }
    found
}

#[test]
fn roles_may_be_written_in_any_case() {
    let log = read_with(
        "a.json",
        br#"[{"role":"Assistant","tool_calls":[{"id":"c","function":{"name":"t"}}]}]"#,
        &Options { format: Some(Format::OpenAi), ..Options::default() },
    );
    assert_eq!(log.calls(), ["a: t unknown"]);
}
