//! Real logs against the events that others found in them.
//!
//! The collection stands beside the project, not in it, and these tests pass without a word where it is not.
//! `TRACELAW_REFERENCE` names another place for it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::super::{Event, Kind, Status};
use super::{read, read_with};

pub(super) fn folder() -> Option<PathBuf> {
    let folder = tracelaw_corpora::reference_folder()?;
    folder.join("real").is_dir().then_some(folder)
}

/// Name and bytes of the raw logs of one source, with the normalized events of each.
pub(super) fn logs(source: &str) -> Vec<(String, Vec<u8>, Vec<Value>)> {
    let Some(folder) = folder() else { return Vec::new() };
    let folder = folder.join("real").join(source);
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder.join("raw")).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let normalized = fs::read_to_string(folder.join("normalized").join(format!("{stem}.jsonl"))).unwrap();
        let normalized = normalized.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        logs.push((path.display().to_string(), fs::read(&path).unwrap(), normalized));
    }
    logs.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!logs.is_empty());
    logs
}

/// Equal, but that the collection cut long strings (`...[cut 123]`).
fn same_text(cut: &str, whole: &str) -> bool {
    match cut.rsplit_once("…[cut") {
        Some((start, end)) if end.ends_with(']') => whole.starts_with(start),
        _ => cut == whole,
    }
}

fn same_value(cut: &Value, whole: &Value) -> bool {
    match (cut, whole) {
        (Value::String(cut), Value::String(whole)) => same_text(cut, whole),
        (Value::Array(cut), Value::Array(whole)) => {
            cut.len() == whole.len() && cut.iter().zip(whole).all(|(cut, whole)| same_value(cut, whole))
        }
        (Value::Object(cut), Value::Object(whole)) => {
            cut.len() == whole.len()
                && cut.iter().all(|(key, cut)| whole.get(key).is_some_and(|whole| same_value(cut, whole)))
        }
        // The collection writes `{}` for no arguments.
        (Value::Object(cut), Value::Null) => cut.is_empty(),
        (cut, whole) => cut == whole,
    }
}

fn compare(file: &str, index: usize, want: &Value, got: &Event) {
    let at = |what: &str| format!("{file}: event {index}: {what}: {want} and {got:?}");
    let kind = match got.kind {
        Kind::Call => "call",
        Kind::User => "user",
        Kind::Assistant => "assistant",
        Kind::Span => "span",
    };
    assert_eq!(want["kind"], kind, "{}", at("kind"));
    assert_eq!(want["tool"].as_str().unwrap_or_default(), got.tool, "{}", at("tool"));
    if let Some(args) = want.get("args") {
        assert!(same_value(args, &got.args), "{}", at("args"));
    }
    if let Some(error) = want.get("error") {
        let status = match got.status {
            Status::Ok => Value::Bool(false),
            // The collection knows no denials: what was refused counts as failed.
            Status::Error | Status::Denied => Value::Bool(true),
            Status::Unknown => Value::Null,
        };
        assert_eq!(*error, status, "{}", at("status"));
    }
    if let Some(size) = want.get("batch_size") {
        // A span alone has no batch.
        assert_eq!(*size, got.batch.map_or(1, |batch| batch.size), "{}", at("batch size"));
    }
    if let Some(text) = want.get("text") {
        assert!(same_text(text.as_str().unwrap(), &got.text), "{}", at("text"));
    }
    if let Some(result) = want.get("result").filter(|result| !result.is_null()) {
        assert!(same_value(result, &got.result), "{}", at("result"));
    }
}

fn check(source: &str) {
    for (file, raw, normalized) in logs(source) {
        let log = read_with(&file, &raw, &Default::default());
        assert_eq!(log.messages(), Vec::<&str>::new(), "{file}");
        for (index, (want, got)) in normalized.iter().zip(&log.events).enumerate() {
            compare(&file, index, want, got);
        }
        assert_eq!(normalized.len(), log.events.len(), "{file}");
        let sessions: std::collections::BTreeSet<&str> =
            log.events.iter().map(|event| event.session.as_str()).collect();
        assert_eq!(sessions.len(), 1, "{file}: one run is one session");
    }
}

#[test]
fn openai_runs() {
    check("taubench_airline");
}

#[test]
fn claude_code_sessions() {
    check("claude_code");
}

#[test]
fn inspect_logs() {
    check("inspect_ai");
}

#[test]
fn otlp_traces() {
    check("otel_genai");
}

#[test]
fn normalized_events_read_as_what_they_are() {
    for source in
        ["taubench_airline", "swe_agent", "claude_code", "bfcl_multi_turn", "otel_genai", "inspect_ai"]
    {
        for (file, _, normalized) in logs(source) {
            let text: String = normalized.iter().map(|event| format!("{event}\n")).collect();
            let log = read("run.jsonl", &text);
            assert_eq!(log.messages(), Vec::<&str>::new(), "{file}");
            assert_eq!(log.events.len(), normalized.len(), "{file}");
            // Sessions named by the log interleave with those named by the file: each keeps its own order.
            for session in ["run", normalized[0]["session"].as_str().unwrap_or("run")] {
                let want = normalized.iter().filter(|e| e["session"].as_str().unwrap_or("run") == session);
                let got = log.events.iter().filter(|e| e.session == session);
                for (index, (want, got)) in want.zip(got).enumerate() {
                    compare(&file, index, want, got);
                }
            }
        }
    }
}
