//! OpenTelemetry spans.

use serde_json::{Value, json};

use super::super::{Format, Kind, Status};
use super::{Log, read};

/// A span: trace, id, parent, name, start, end, attributes.
type Span<'a> = (&'a str, &'a str, &'a str, &'a str, u64, u64, Value);

fn otlp_attributes(map: &Value) -> Value {
    let list = map.as_object().unwrap().iter().map(|(key, value)| {
        let value = match value {
            Value::Number(number) => json!({"intValue": number.to_string()}),
            Value::Bool(flag) => json!({"boolValue": flag}),
            Value::Object(map) => {
                let values: Vec<Value> = map
                    .iter()
                    .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
                    .collect();
                json!({"kvlistValue": {"values": values}})
            }
            other => json!({"stringValue": other}),
        };
        json!({"key": key, "value": value})
    });
    list.collect()
}

fn otlp(spans: &[Span<'_>]) -> Value {
    let spans: Vec<Value> = spans
        .iter()
        .map(|(trace, id, parent, name, start, end, attributes)| {
            json!({"traceId": trace, "spanId": id, "parentSpanId": parent, "name": name,
                "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(),
                "attributes": otlp_attributes(attributes), "status": {}})
        })
        .collect();
    json!({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "x"}, "spans": spans}]}]})
}

/// The same as Tempo and as Jaeger write it.
fn others(spans: &[Span<'_>]) -> [Value; 2] {
    let tempo = otlp(spans)["resourceSpans"][0]["scopeSpans"][0]["spans"].clone();
    let tempo = json!({"batches": [{"resource": {}, "instrumentationLibrarySpans": [{"spans": tempo}]}]});
    let jaeger: Vec<Value> = spans
        .iter()
        .map(|(trace, id, parent, name, start, end, attributes)| {
            let tags: Vec<Value> = attributes
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| json!({"key": key, "type": "string", "value": value}))
                .collect();
            json!({"traceID": trace, "spanID": id, "operationName": name, "startTime": start, "duration": end - start,
                "references": if parent.is_empty() { json!([]) } else { json!([{"refType": "CHILD_OF", "spanID": parent}]) },
                "tags": tags})
        })
        .collect();
    [tempo, json!({"data": [{"traceID": "x", "spans": jaeger}]})]
}

fn log(text: &Value) -> Log {
    let log = read("run.json", &serde_json::to_string_pretty(text).unwrap());
    assert_eq!(log.format, Some(Format::Otlp), "{text}");
    assert_eq!(log.messages(), Vec::<&str>::new(), "{text}");
    let line = read("run.jsonl", &text.to_string());
    assert_eq!(line.format, Some(Format::Otlp), "{text}");
    assert_eq!(line.calls(), log.calls());
    log
}

/// All forms of the same spans must come to the same calls.
fn calls(spans: &[Span<'_>]) -> Vec<String> {
    let calls = log(&otlp(spans)).calls();
    for other in others(spans) {
        assert_eq!(log(&other).calls(), calls, "{other}");
    }
    calls
}

fn none() -> Value {
    json!({})
}

/// Report B63: a tool's span does not carry the conversation, its ancestors do.
#[test]
fn the_conversation_is_inherited() {
    let conversation = |name: &str| json!({"gen_ai.conversation.id": name});
    assert_eq!(
        calls(&[
            ("T1", "1", "", "invoke_agent", 1, 9, conversation("conv_a")),
            ("T1", "2", "1", "execute_tool search", 2, 3, none()),
            ("T2", "9", "", "invoke_agent", 1, 9, conversation("conv_b")),
            ("T2", "8", "9", "execute_tool pay", 3, 4, none()),
        ]),
        ["conv_a: search ok", "conv_b: pay ok"]
    );
    // The nearest one counts, over any distance, and in one trace too.
    assert_eq!(
        calls(&[
            ("T", "1", "", "invoke_agent", 1, 99, conversation("outer")),
            ("T", "2", "1", "invoke_agent", 2, 50, conversation("inner")),
            ("T", "3", "2", "step", 3, 40, none()),
            ("T", "4", "3", "execute_tool deep", 4, 5, none()),
            ("T", "5", "1", "execute_tool shallow", 60, 61, none()),
        ]),
        ["outer: shallow ok", "inner: deep ok"]
    );
}

#[test]
fn sessions_without_a_conversation() {
    // The request around the only conversation of a trace belongs to it.
    let around = [
        ("T", "1", "", "POST /", 1, 9, none()),
        ("T", "2", "1", "invoke_agent", 2, 8, json!({"gen_ai.conversation.id": "c"})),
        ("T", "3", "1", "execute_tool late", 8, 9, none()),
    ];
    assert_eq!(calls(&around), ["c: late ok"]);
    assert!(log(&otlp(&around)).events.iter().all(|event| event.session == "c"));
    // With several, nobody can tell.
    let several = [
        ("T", "1", "", "POST /", 1, 9, none()),
        ("T", "2", "1", "a", 2, 3, json!({"gen_ai.conversation.id": "c"})),
        ("T", "3", "1", "b", 3, 4, json!({"gen_ai.conversation.id": "d"})),
        ("T", "4", "1", "execute_tool x", 5, 6, none()),
    ];
    assert_eq!(calls(&several), ["t: x ok"]);
    assert_eq!(calls(&[("T", "1", "", "execute_tool x", 5, 6, json!({"session.id": "s"}))]), ["s: x ok"]);
    assert_eq!(calls(&[("", "1", "", "execute_tool x", 5, 6, none())]), ["run: x ok"]);
    // A resource speaks for all its spans.
    let mut resource = otlp(&[("T", "1", "", "execute_tool x", 5, 6, none())]);
    resource["resourceSpans"][0]["resource"]["attributes"] = otlp_attributes(&json!({"session.id": "r"}));
    assert_eq!(log(&resource).calls(), ["r: x ok"]);
}

#[test]
fn spans_in_any_order_come_out_by_their_starts() {
    assert_eq!(
        calls(&[
            ("T", "3", "1", "execute_tool c", 7, 8, none()),
            ("T", "2", "1", "execute_tool b", 4, 5, none()),
            ("T", "1", "", "invoke_agent", 1, 9, none()),
            ("T", "4", "1", "execute_tool a", 2, 3, none()),
        ]),
        ["t: a ok", "t: b ok", "t: c ok"]
    );
    // What starts with its parent comes after it.
    let log =
        log(&otlp(&[("T", "2", "1", "execute_tool t", 1, 2, none()), ("T", "1", "", "agent", 1, 9, none())]));
    assert_eq!(log.events.iter().map(|e| e.text.as_str()).collect::<Vec<_>>(), ["agent", "execute_tool t"]);
    assert_eq!((log.events[0].kind, log.events[0].tool.as_str()), (Kind::Span, "agent"));
}

fn batches(spans: &[Span<'_>]) -> Vec<(String, u32, u32)> {
    log(&otlp(spans))
        .events
        .iter()
        .filter_map(|event| Some((event.tool.clone(), event.batch?)))
        .map(|(tool, batch)| (tool, batch.id, batch.size))
        .collect()
}

#[test]
fn overlapping_siblings_are_a_batch() {
    let batch = |tool: &str, id, size| (tool.to_owned(), id, size);
    assert_eq!(
        batches(&[
            ("T", "p", "", "agent", 0, 99, none()),
            ("T", "a", "p", "execute_tool a", 1, 5, none()),
            ("T", "b", "p", "execute_tool b", 4, 8, none()),
            ("T", "c", "p", "execute_tool c", 7, 9, none()),
            ("T", "d", "p", "execute_tool d", 9, 12, none()),
            ("U", "e", "", "execute_tool e", 9, 12, none()),
        ]),
        [batch("a", 0, 3), batch("b", 0, 3), batch("c", 0, 3), batch("d", 1, 1), batch("e", 0, 1)]
    );
}

/// Report B65: the second of two parallel calls was recorded as a child of the first.
#[test]
fn a_child_that_outlives_its_parent_is_its_sibling() {
    let parallel = [
        ("T", "s", "", "step", 0, 9, none()),
        ("T", "a", "s", "execute_tool x", 1, 5, none()),
        ("T", "b", "a", "execute_tool y", 1, 6, none()),
    ];
    assert_eq!(calls(&parallel), ["t: x ok", "t: y ok"]);
    assert!(batches(&parallel).iter().all(|(_, _, size)| *size == 2));
    // Three in a chain.
    let chain = [
        ("T", "a", "", "execute_tool x", 1, 5, none()),
        ("T", "b", "a", "execute_tool y", 2, 6, none()),
        ("T", "c", "b", "execute_tool z", 3, 7, none()),
    ];
    assert_eq!(batches(&chain).iter().map(|(_, id, size)| (*id, *size)).collect::<Vec<_>>(), [(0, 3); 3]);
    // A call within a call is part of it.
    let nested =
        [("T", "a", "", "execute_tool x", 1, 9, none()), ("T", "b", "a", "execute_tool y", 2, 6, none())];
    assert_eq!(
        batches(&nested).iter().map(|(_, id, size)| (*id, *size)).collect::<Vec<_>>(),
        [(0, 1), (1, 1)]
    );
}

#[test]
fn tools_by_every_convention() {
    let span = |name, attributes| ("T", "1", "", name, 1, 2, attributes);
    for (span, tool, args, result) in [
        (
            span(
                "execute_tool x",
                json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x",
                "gen_ai.tool.call.arguments": "{\"a\":1}", "gen_ai.tool.call.result": "{\"b\":2}"}),
            ),
            "x",
            json!({"a": 1}),
            json!({"b": 2}),
        ),
        (
            span("execute_tool x", json!({"gen_ai.tool.call.arguments": {"a": "1"}})),
            "x",
            json!({"a": "1"}),
            Value::Null,
        ),
        (
            span(
                "x",
                json!({"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": "plain", "output.value": "text"}),
            ),
            "search",
            json!("plain"),
            json!("text"),
        ),
        (
            span("tools/call x", json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "x"})),
            "x",
            Value::Null,
            Value::Null,
        ),
        (
            span("my.tool", json!({"traceloop.span.kind": "tool", "traceloop.entity.input": "{}"})),
            "my.tool",
            json!({}),
            Value::Null,
        ),
    ] {
        let log = log(&otlp(&[span]));
        let event = &log.events[0];
        assert_eq!(
            (event.kind, event.tool.as_str(), &event.args, &event.result),
            (Kind::Call, tool, &args, &result)
        );
    }
    for span in [
        span("chat gpt", json!({"gen_ai.operation.name": "chat"})),
        span("invoke_agent x", json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.name": "x"})),
        span("GET", none()),
        span("x", json!({"openinference.span.kind": "LLM"})),
    ] {
        assert_eq!(calls(&[span]), Vec::<String>::new());
    }
}

#[test]
fn one_call_seen_by_agent_client_and_server_is_one_call() {
    let mcp = || json!({"mcp.method.name": "tools/call", "gen_ai.tool.name": "x"});
    assert_eq!(
        calls(&[
            ("T", "1", "", "execute_tool x", 1, 9, none()),
            ("T", "2", "1", "tools/call x", 2, 8, mcp()),
            ("T", "3", "2", "tools/call x", 3, 7, mcp()),
            ("T", "4", "3", "execute_tool y", 4, 6, none()),
        ]),
        ["t: x ok", "t: y ok"]
    );
    assert_eq!(
        calls(&[("T", "2", "", "tools/call x", 2, 8, mcp()), ("T", "3", "2", "tools/call x", 3, 7, mcp())]),
        ["t: x ok"]
    );
}

#[test]
fn how_a_span_ended() {
    for (status, attributes, end, expected) in [
        (json!({}), none(), "9", Status::Ok),
        (json!({"code": 1}), none(), "9", Status::Ok),
        (json!({"code": 2}), none(), "9", Status::Error),
        (json!({"code": "STATUS_CODE_ERROR"}), none(), "9", Status::Error),
        (json!({}), json!({"error.type": "timeout"}), "9", Status::Error),
        (json!({}), json!({"error": true}), "9", Status::Error),
        (json!({}), json!({"otel.status_code": "ERROR"}), "9", Status::Error),
        (json!({}), json!({"otel.status_code": "OK"}), "9", Status::Ok),
        (json!({"code": 2}), json!({"error.type": "permission_denied"}), "9", Status::Denied),
        (json!({"code": 2, "message": "denied by policy"}), json!({"error.type": "x"}), "9", Status::Denied),
        (json!({"code": 2}), json!({"error.type": "PermissionError"}), "9", Status::Error),
        (json!({}), none(), "0", Status::Unknown),
    ] {
        let mut text = otlp(&[("T", "1", "", "execute_tool x", 1, 2, attributes.clone())]);
        let span = &mut text["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        span["status"] = status.clone();
        span["endTimeUnixNano"] = json!(end);
        assert_eq!(log(&text).events[0].status, expected, "{status} {attributes}");
    }
}

#[test]
fn times_as_numbers_and_names_with_underscores() {
    let text = json!({"resource_spans": [{"scope_spans": [{"spans": [
        {"trace_id": "T", "span_id": "b", "name": "execute_tool late", "start_time_unix_nano": 1764496800000000001u64,
         "end_time_unix_nano": 1764496800000000002u64},
        {"trace_id": "T", "span_id": "a", "name": "execute_tool early", "start_time_unix_nano": "1764496800000000000",
         "end_time_unix_nano": "1764496800000000002", "attributes": [{"key": "gen_ai.tool.name", "value": {"string_value": "soon"}}]},
    ]}]}]});
    let log = log(&text);
    assert_eq!(log.calls(), ["t: soon ok", "t: late ok"]);
    assert_eq!(log.events[0].ts.as_deref(), Some("1764496800000000000"));
}

#[test]
fn spans_that_were_sent_twice_count_once() {
    let text = otlp(&[("T", "1", "", "execute_tool a", 1, 2, none())]);
    let log = read("run.jsonl", &format!("{text}\n{text}\n"));
    assert_eq!(log.calls(), ["t: a ok"]);
    assert_eq!(log.summary.skipped.get("span that is there twice (same id)"), Some(&1));
    // One id, and something else under it: a call must not hide another one.
    let other = otlp(&[("T", "1", "", "execute_tool b", 3, 4, none())]);
    let log = read("run.jsonl", &format!("{text}\n{other}\n{text}\n"));
    assert_eq!(log.calls(), ["t: a ok", "t: b ok"]);
    assert_eq!(log.messages(), ["another span with the id `1`, which says something else"]);
    assert_eq!(log.problems[0].place.line, Some(2));
}

#[test]
fn damaged_spans() {
    // Its own ancestor, its own parent, no time, and records of other signals.
    let mut text = otlp(&[
        ("T", "1", "2", "execute_tool a", 1, 2, none()),
        ("T", "2", "1", "execute_tool b", 3, 4, none()),
        ("T", "3", "3", "execute_tool c", 5, 6, none()),
        ("T", "4", "gone", "execute_tool d", 7, 8, none()),
    ]);
    assert_eq!(log(&text).calls(), ["t: a ok", "t: b ok", "t: c ok", "t: d ok"]);
    text["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["startTimeUnixNano"] = json!("soon");
    let damaged = read("run.json", &format!("{text}\n{{\"resourceMetrics\":[]}}"));
    assert_eq!(damaged.messages(), ["time `soon` of span `execute_tool a` is no whole number"]);
    assert_eq!(damaged.calls(), ["t: b ok", "t: c ok", "t: d ok", "t: a ok"]);
    assert_eq!(damaged.summary.skipped.get("`resourceMetrics` record"), Some(&1));
    let deep = format!("{{\"resourceSpans\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read("run.json", &deep).messages(), ["records within records, too deep to be spans"]);
    // A chain of parents as long as it likes.
    let ids: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let spans: Vec<Span<'_>> = (1..ids.len() as u64)
        .map(|n| {
            ("T", ids[n as usize].as_str(), ids[n as usize - 1].as_str(), "execute_tool a", n, n + 1, none())
        })
        .collect();
    assert_eq!(read("run.json", &otlp(&spans).to_string()).calls().len(), ids.len() - 1);
}

#[test]
fn spans_of_odd_forms_are_kept_and_told() {
    let span = |change: &dyn Fn(&mut Value)| {
        let mut span = json!({"traceId": "T", "spanId": "1", "name": "execute_tool a",
            "startTimeUnixNano": "5", "endTimeUnixNano": "6", "attributes": []});
        change(&mut span);
        let text = json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string();
        let log = read("run.json", &text);
        assert_eq!(log.events.len(), 1, "{text}");
        log
    };
    let attribute = |attribute: Value| span(&|span| span["attributes"] = json!([attribute]));
    for (found, message) in [
        (json!({"key": "k"}), "attribute `k` without a `value`"),
        (
            json!({"value": {"stringValue": "x"}}),
            "an element of `attributes` without a `key` that is a string",
        ),
        (json!("k"), "an element of `attributes` without a `key` that is a string"),
        (
            json!({"key": "k", "value": {"textValue": "x"}}),
            "attribute `k`: `textValue` is a string, expected a kind of value of OTLP, such as `stringValue`",
        ),
        (
            json!({"key": "k", "value": {"stringValue": "x", "intValue": "1"}}),
            "attribute `k`: value with 2 fields, expected one such as `stringValue`",
        ),
        (
            json!({"key": "k", "value": {"intValue": "x"}}),
            "attribute `k`: `intValue` is a string, expected a whole number",
        ),
        (
            json!({"key": "k", "value": {"boolValue": "true"}}),
            "attribute `k`: `boolValue` is a string, expected true or false",
        ),
        (
            json!({"key": "k", "value": {"arrayValue": {"values": [{"doubleValue": "x"}]}}}),
            "attribute `k`: `doubleValue` is a string, expected a number",
        ),
        (
            json!({"key": "k", "value": {"kvlistValue": {"values": [{"value": {}}]}}}),
            "attribute `k`: `kvlistValue` is an object, expected an object with an array `values` of `key` and `value`",
        ),
    ] {
        assert_eq!(attribute(found).messages(), [message]);
    }
    assert_eq!(
        span(&|span| span["attributes"] = json!("x")).messages(),
        ["`attributes` is a string, expected an array or an object"]
    );
    // Values that are nothing, and numbers that JSON does not have, are OTLP's.
    assert_eq!(attribute(json!({"key": "k", "value": {}})).messages(), Vec::<&str>::new());
    assert_eq!(
        attribute(json!({"key": "k", "value": {"doubleValue": "NaN"}})).messages(),
        Vec::<&str>::new()
    );

    let log = span(&|span| span["startTimeUnixNano"] = json!(null));
    assert_eq!(log.messages(), ["span `execute_tool a` without a start time"]);
    for start in [json!("2026-11-30T10:00:00Z"), json!(1.5), json!(-1)] {
        let log = span(&|span| span["startTimeUnixNano"] = start.clone());
        assert!(log.messages()[0].ends_with("of span `execute_tool a` is no whole number"), "{start}");
    }
    // 0 is a time where the clock began with the log, else none.
    let at = |start: Value, id: &str| json!({"traceId": "T", "spanId": id, "name": id, "startTimeUnixNano": start});
    let of = |spans: Value| {
        read("run.json", &json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string())
    };
    let log = of(json!([at(json!("0"), "a"), at(json!("5"), "b")]));
    assert_eq!(log.messages(), Vec::<&str>::new());
    let log = of(json!([at(json!(0), "a"), at(json!("1764496800000000000"), "b")]));
    assert_eq!(log.messages(), ["span `a` without a start time: it is 0"]);
    assert_eq!((log.events[0].tool.as_str(), log.events[1].ts.as_deref()), ("b", None));
    for id in [json!(""), json!(null)] {
        let log = span(&|span| span["spanId"] = id.clone());
        assert_eq!(log.messages(), ["span `execute_tool a` without `spanId`"]);
    }
    let log = span(&|span| {
        span.as_object_mut().unwrap().remove("spanId");
    });
    assert_eq!(
        (log.calls(), log.messages()),
        (vec!["t: a ok".to_owned()], vec!["span `execute_tool a` without `spanId`"])
    );

    // Ids that are numbers find each other; a parent that is nowhere is counted.
    let spans = json!([
        {"traceId": 7, "spanId": 2, "parentSpanId": "1", "name": "execute_tool b", "startTimeUnixNano": 6, "endTimeUnixNano": 7},
        {"traceId": 7, "spanId": 1, "parentSpanId": "gone", "name": "agent", "startTimeUnixNano": "5", "endTimeUnixNano": "9",
            "attributes": [{"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}}]},
    ]);
    let log = read("run.json", &json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string());
    assert_eq!((log.calls(), log.messages()), (vec!["c: b ok".to_owned()], vec![]));
    assert_eq!(log.events[0].text, "agent");
    assert_eq!(log.summary.skipped.get("parent of a span (not in the file)"), Some(&1));
}
