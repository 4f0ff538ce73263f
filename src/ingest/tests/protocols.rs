//! MCP and Inspect logs.

use serde_json::{Value, json};

use super::super::feed::Options;
use super::super::{Format, Kind, Status};
use super::{Log, read, read_with};

fn mcp(lines: &[Value]) -> Log {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let log = read("run.jsonl", &text);
    assert_eq!(log.format, Some(Format::Mcp), "{text}");
    log
}

fn request(id: impl Into<Value>, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": {"name": tool, "arguments": {"a": 1}}})
}

fn response(id: impl Into<Value>, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": {"content": [{"type": "text", "text": text}]}})
}

fn results(log: &Log) -> Vec<(&str, &Value, Status)> {
    log.events.iter().map(|event| (event.tool.as_str(), &event.result, event.status)).collect()
}

#[test]
fn wrapped_messages_of_both_directions() {
    let wrap =
        |t: &str, dir: &str, conn: &str, msg: Value| json!({"t": t, "dir": dir, "conn": conn, "msg": msg});
    let log = mcp(&[
        wrap("1", "c2s", "k1", json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"})),
        wrap("2", "s2c", "k1", json!({"jsonrpc": "2.0", "id": 1, "result": {}})),
        wrap("3", "c2s", "k1", request(7, "transfer")),
        // The server asks something of its own under the same id: another request.
        wrap("4", "s2c", "k1", json!({"jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage"})),
        wrap("5", "c2s", "k2", request(7, "other")),
        wrap("6", "c2s", "k1", json!({"jsonrpc": "2.0", "id": 7, "result": {"role": "assistant"}})),
        wrap(
            "7",
            "s2c",
            "k1",
            json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32031, "message": "denied: transfer before check_auth"}}),
        ),
        wrap("8", "s2c", "k2", response(7, "fine")),
        wrap("9", "c2s", "k1", request(8, "check_auth")),
        wrap(
            "10",
            "s2c",
            "k1",
            json!({"jsonrpc": "2.0", "id": 8, "result": {"content": [{"type": "text", "text": "ok"}], "structuredContent": {"ok": true}, "isError": false}}),
        ),
    ]);
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(log.calls(), ["k1: transfer denied", "k1: check_auth ok", "k2: other ok"]);
    assert_eq!((&log.events[1].result, log.events[1].ts.as_deref()), (&json!({"ok": true}), Some("9")));
    assert_eq!(log.summary.skipped.get("`sampling/createMessage` message"), Some(&1));
}

/// Report B73: an id used again after its response pairs in order; used twice at once it is ambiguous.
#[test]
fn ids_that_are_used_twice() {
    let log = mcp(&[request(1, "a"), response(1, "ra"), request(1, "b"), response(1, "rb")]);
    assert_eq!(results(&log), [("a", &json!("ra"), Status::Ok), ("b", &json!("rb"), Status::Ok)]);
    assert_eq!(log.messages(), Vec::<&str>::new());
    for responses in [vec![response(7, "r")], vec![response(7, "r"), response(7, "s")]] {
        let mut lines = vec![request(7, "c"), request(7, "d")];
        lines.extend(responses);
        lines.extend([request(7, "e"), response(7, "re")]);
        let log = mcp(&lines);
        assert_eq!(log.messages(), ["result of id `7` is ambiguous: 2 calls in flight have it"]);
        assert_eq!(
            results(&log)[..2],
            [("c", &Value::Null, Status::Unknown), ("d", &Value::Null, Status::Unknown)]
        );
    }
    // A number and the same digits as a string are one id in no log that is known; both are read.
    assert_eq!(results(&mcp(&[request("x", "a"), response("x", "r")]))[0].2, Status::Ok);
}

#[test]
fn failures_and_calls_in_flight_together() {
    let failed = json!({"jsonrpc": "2.0", "id": 2, "result": {"isError": true, "content": [{"type": "text", "text": "boom"}]}});
    let refused = json!({"jsonrpc": "2.0", "id": 3, "error": {"code": -32602, "message": "unknown tool"}});
    let log = mcp(&[
        request(1, "a"),
        request(2, "b"),
        failed,
        response(1, "x"),
        request(3, "c"),
        refused,
        request(4, "d"),
    ]);
    assert_eq!(log.calls(), ["run: a ok", "run: b error", "run: c error", "run: d unknown"]);
    let batches: Vec<_> = log.events.iter().filter_map(|e| e.batch).map(|b| (b.id, b.size)).collect();
    assert_eq!(batches, [(0, 2), (0, 2), (1, 1), (2, 1)]);
}

#[test]
fn batches_sessions_and_broken_messages() {
    let log = mcp(&[
        json!([request(1, "a"), request(2, "b")]),
        json!({"session": "s", "msg": [request(1, "c"), 5]}),
        json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "n"}}),
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {}}),
        json!({"jsonrpc": "2.0", "id": 9}),
    ]);
    assert_eq!(log.calls(), ["run: a unknown", "run: b unknown", "run: n unknown", "s: c unknown"]);
    assert_eq!(
        log.messages(),
        [
            "message is a number, expected an object",
            "`tools/call` of `n` without an `id`: a notification gets no result",
            "`tools/call` request without `params.name`",
            "message is neither a request nor a response",
        ]
    );
}

fn inspect(log: &Value) -> Log {
    let log = read("run.json", &serde_json::to_string_pretty(log).unwrap());
    assert_eq!(log.format, Some(Format::Inspect));
    log
}

fn sample(messages: Value, events: Value) -> Value {
    json!({"version": 2, "eval": {"eval_id": "E", "task": "t"}, "samples": [
        {"id": "s1", "epoch": 2, "messages": messages, "events": events, "attachments": {"h": "the long text"}}]})
}

fn called(id: &str, tool: &str) -> Value {
    json!({"role": "assistant", "content": "", "tool_calls": [{"id": id, "function": tool, "arguments": {"a": 1}}]})
}

#[test]
fn messages_of_a_sample() {
    let log = inspect(&sample(
        json!([
            {"role": "user", "content": "attachment://h"},
            called("a", "bash"),
            {"role": "tool", "tool_call_id": "a", "function": "bash", "content": "", "error": {"type": "timeout", "message": "too slow"}},
            called("b", "bash"),
            {"role": "tool", "tool_call_id": "b", "function": "bash", "content": "Error is what the file says"},
            called("c", "rm"),
            {"role": "tool", "tool_call_id": "c", "function": "rm", "content": "no", "error": {"type": "approval", "message": "no"}},
        ]),
        json!([]),
    ));
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(log.calls(), ["e/s1/2: bash error", "e/s1/2: bash ok", "e/s1/2: rm denied"]);
    assert_eq!((log.events[0].text.as_str(), &log.events[1].result), ("the long text", &json!("too slow")));
}

#[test]
fn results_without_their_calls_are_the_calls() {
    let log = inspect(&sample(
        json!([
            {"role": "tool", "tool_call_id": "a", "function": "bash", "content": "x"},
            {"role": "tool", "tool_call_id": "b", "function": "bash", "content": "y", "error": {"type": "permission", "message": "no"}},
        ]),
        json!([{"event": "tool", "id": "a", "function": "bash", "arguments": {"cmd": "ls"}, "result": "x"}]),
    ));
    assert_eq!(
        (log.calls(), log.messages()),
        (vec!["e/s1/2: bash ok".into(), "e/s1/2: bash error".into()], vec![])
    );
    assert_eq!(log.events[0].args, json!({"cmd": "ls"}));
}

#[test]
fn approvals_in_the_events_deny_calls_of_the_messages() {
    let log = inspect(&sample(
        json!([called("a", "rm"), {"role": "tool", "tool_call_id": "a", "function": "rm", "content": "rejected"}]),
        json!([{"event": "approval", "call": {"id": "a", "function": "rm"}, "decision": "reject"}]),
    ));
    assert_eq!(log.calls(), ["e/s1/2: rm denied"]);
}

#[test]
fn calls_that_only_the_events_have_are_a_session_beside() {
    let log = inspect(&sample(
        json!([called("a", "agent"), {"role": "tool", "tool_call_id": "a", "function": "agent", "content": "x"}]),
        json!([
            {"event": "model", "output": {}},
            {"event": "tool", "id": "a", "function": "agent", "result": "x", "events": [
                {"event": "tool", "id": "inner", "function": "bash", "arguments": {}, "result": "y"}]},
        ]),
    ));
    // Where a message has no call that the events have, the events are read as well.
    assert_eq!(log.calls(), ["e/s1/2: agent ok", "e/s1/2/events: bash ok"]);
    assert_eq!(log.messages(), Vec::<&str>::new());
}

#[test]
fn timelines() {
    let log = inspect(&json!({"events": [
        {"event": "span_begin", "id": "x"},
        {"event": "model", "timestamp": "1", "output": {"choices": [{"message": {"role": "assistant", "content": "both", "tool_calls": [
            {"id": "c1", "function": "transfer", "arguments": {}}, {"id": "c2", "function": "check", "arguments": {}}]}}]}},
        {"event": "approval", "timestamp": "2", "call": {"id": "c1", "function": "transfer", "arguments": {"amount": 900}}, "decision": "reject"},
        {"event": "tool", "timestamp": "2", "id": "c1", "function": "transfer", "arguments": {"amount": 900}, "result": "", "error": {"type": "approval", "message": "limit"}},
        {"event": "approval", "call": {"id": "c2", "function": "check"}, "decision": "approve"},
        {"event": "tool", "timestamp": "3", "id": "c2", "function": "check", "arguments": {}, "result": "ok", "error": null},
        {"event": "approval", "call": {"id": "c3", "function": "drop"}, "decision": "terminate"},
        {"event": "tool", "id": "c4", "function": "slow", "pending": true},
    ]}));
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(
        log.calls(),
        ["run: transfer denied", "run: check ok", "run: drop denied", "run: slow unknown"]
    );
    assert_eq!(
        (log.events[0].kind, log.events[0].tool.as_str(), log.events[1].text.as_str()),
        (Kind::Span, "model", "both")
    );
    assert_eq!(log.events[1].batch.map(|b| b.size), Some(2));
    assert_eq!(log.events[1].result, "limit");
    assert_eq!(log.summary.skipped.get("`span_begin` event"), Some(&1));
}

#[test]
fn an_evaluation_without_samples_is_a_problem() {
    let log = inspect(&json!({"version": 2, "eval": {"task": "t"}, "status": "error"}));
    assert_eq!(log.messages(), ["evaluation log without samples"]);
}

/// A ZIP archive of these files, each stored (0) or deflated (8) or in a zstd frame (93).
fn archive(files: &[(&str, u16, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, method, content) in files {
        let data = match method {
            8 => {
                let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
                writer.write_all(content).unwrap();
                writer.finish().unwrap()
            }
            93 => ruzstd::encoding::compress_to_vec(*content, ruzstd::encoding::CompressionLevel::Fastest),
            _ => content.to_vec(),
        };
        let offset = bytes.len() as u32;
        let sizes = [(data.len() as u32).to_le_bytes(), (content.len() as u32).to_le_bytes()].concat();
        let lengths = [(name.len() as u16).to_le_bytes(), [0; 2]].concat();
        let common = [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0; 8], &sizes, &lengths].concat();
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &data].concat());
        directory.extend(
            [b"PK\x01\x02\x14\x00", &common[..], &[0; 10], &offset.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let count = (files.len() as u16).to_le_bytes();
    let (size, start) = ((directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes());
    bytes.extend([&directory[..], b"PK\x05\x06\0\0\0\0", &count, &count, &size, &start, &[0; 2]].concat());
    bytes
}

#[test]
fn archives() {
    let header = json!({"eval": {"eval_id": "E"}}).to_string();
    let one = |id: &str| json!({"id": id, "epoch": 1, "messages": [called("c", "t")]}).to_string();
    let (a, b, c) = (one("a"), one("b"), one("c"));
    let bytes = archive(&[
        ("samples/b_epoch_1.json", 8, b.as_bytes()),
        ("samples/a_epoch_1.json", 0, a.as_bytes()),
        ("samples/c_epoch_1.json", 93, c.as_bytes()),
        ("header.json", 8, header.as_bytes()),
        ("samples/d.json", 8, b"{ broken"),
        ("samples/e.json", 12, b""),
    ]);
    let log = read_with("run.eval", &bytes, &Options::default());
    assert_eq!(log.format, Some(Format::Inspect));
    assert_eq!(log.calls(), ["e/a/1: t unknown", "e/b/1: t unknown", "e/c/1: t unknown"]);
    assert_eq!(log.messages().len(), 2);
    assert!(log.messages()[1].contains("unknown compression 12"), "{:?}", log.messages());
    // (Without the length of the comment at its very end the archive still says everything.)
    for cut in 0..bytes.len() - 2 {
        let log = read_with("run.eval", &bytes[..cut], &Options::default());
        assert!(log.events.is_empty() && (cut == 0 || log.problems.len() == 1), "{cut}");
    }
}

/// To JSON-RPC `1` and `"1"` are two ids.
#[test]
fn ids_of_two_types_are_two_ids() {
    let log = mcp(&[request(1, "a"), request("1", "b"), response("1", "of b"), response(1, "of a")]);
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(results(&log), [("a", &json!("of a"), Status::Ok), ("b", &json!("of b"), Status::Ok)]);
    let log = mcp(&[request(1, "a"), response("1", "x")]);
    assert_eq!(log.messages(), ["response with id `\"1\"`, but the call in flight has id `1`"]);
    assert_eq!(results(&log), [("a", &Value::Null, Status::Unknown)]);
    // It answers another request.
    let mut list = request("1", "x");
    list["method"] = json!("tools/list");
    let log = mcp(&[request(1, "a"), list, response("1", "x")]);
    assert_eq!(log.messages(), Vec::<&str>::new());
    let mut odd = response(1, "x");
    odd["result"]["isError"] = json!("false");
    assert_eq!(mcp(&[request(1, "a"), odd]).messages(), ["`isError` is a string, expected true or false"]);
}

#[test]
fn samples_of_odd_forms_are_told() {
    // Long texts stand elsewhere, also those within arguments.
    let mut log = sample(
        json!([{"role": "user", "content": "attachment://h"}, {"role": "assistant", "content": "", "tool_calls":
            [{"id": 1, "function": "f", "arguments": {"in": ["attachment://h"], "old": "tc://h", "gone": "attachment://g"}}]},
            {"role": "tool", "tool_call_id": "1", "function": "f", "content": "attachment://h"}]),
        json!([{"event": "tool", "id": 1, "function": "f", "arguments": {}, "result": ""}]),
    );
    log["samples"][0]["attachments"] = json!({"h": "long"});
    log["samples"][0]["error"] = json!({"message": "out of memory"});
    let read = inspect(&log);
    assert_eq!(read.messages(), ["attachment `g` is not in the sample's `attachments`"]);
    assert_eq!(read.events.len(), 2);
    assert_eq!(read.events[0].text, "long");
    assert_eq!(read.events[1].args, json!({"in": ["long"], "old": "long", "gone": "attachment://g"}));
    assert_eq!(read.events[1].result, "long");
    assert_eq!(read.summary.skipped.get("error that ended a sample"), Some(&1));

    // A call that has no id may be none of the messages'.
    let read = inspect(&sample(
        json!([{"role": "user", "content": "x"}]),
        json!([{"event": "tool", "function": "f", "arguments": {}, "result": ""}]),
    ));
    assert_eq!(read.messages(), ["tool event without `id`"]);
    assert_eq!(read.calls().len(), 1);

    let empty = inspect(&json!({"version": 2, "eval": {"task": "t"}, "samples": []}));
    assert_eq!(empty.messages(), ["evaluation log without samples"]);
}

#[test]
fn archives_without_a_readable_header() {
    let one = json!({"id": "a", "epoch": 1, "messages": [called("c", "t")]}).to_string();
    let sample = ("samples/a_epoch_1.json", 0, one.as_bytes());
    for (header, message) in [
        (None, "archive without `header.json`"),
        (Some(&b"[]"[..]), "`header.json` has no `eval` that names the evaluation"),
        (Some(b"{\"eval\":5}"), "`eval` is a number, expected an object"),
        (Some(b"{\"eval\":"), "`header.json`: broken JSON: cut short, EOF while parsing a value"),
        (Some(b"\xff\xfe"), "`header.json`: broken JSON: expected a value, found `\u{fffd}\u{fffd}`"),
    ] {
        let header = header.map(|header| ("header.json", 0, header));
        let files: Vec<_> = header.into_iter().chain([sample]).collect();
        let log = read_with("run.eval", &archive(&files), &Options::default());
        assert_eq!(log.messages().first(), Some(&message));
        assert_eq!(log.calls(), ["run/a/1: t unknown"]);
    }
    let header = json!({"eval": {"eval_id": "E"}}).to_string();
    let log = read_with("run.eval", &archive(&[("header.json", 0, header.as_bytes())]), &Options::default());
    assert_eq!(log.messages(), ["evaluation log without samples"]);
}
