//! Every value of a good log replaced by one of every other type: reported, counted, or plain to see in the events,
//! and never taken for absent.

use std::collections::BTreeSet;
use std::mem::discriminant;

use serde_json::{Value, json};

use super::super::Format;
use super::super::feed::Options;
use super::{Log, read_with};

/// A log of every JSON format that has all fields that are read, one record per line.
const LOGS: &[(Format, &str)] = &[
    (
        Format::Jsonl,
        r#"{"session":"s","kind":"call","tool":"a","args":{"x":[1]},"result":"r","status":"ok","text":"t","ts":"1","props":["p"],"batch":"b","batch_size":1}
{"session":"s","tool":"c","call_id":"1","phase":"request"}
{"session":"s","call_id":"1","phase":"result","result":"r","error":null}
{"case":"s","activity":"d","timestamp":"2","attrs":{"x":1}}
"#,
    ),
    (
        Format::OpenAi,
        r#"{"session":"s","messages":[{"role":"system","content":"y"},{"role":"user","content":"x","ts":"1"},{"role":"assistant","content":[{"type":"text","text":"z"}],"created_at":"2","tool_calls":[{"id":"c","type":"function","function":{"name":"t","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","name":"t","content":"y"},{"role":"assistant","content":null,"refusal":"no"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"y"}],"response":{"choices":[{"index":0,"message":{"role":"assistant","content":"end"}}]}}
"#,
    ),
    (
        Format::OpenAi,
        r#"{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hi","tool_calls":[{"index":0,"id":"c","function":{"name":"t","arguments":"{}"}}]}}]}
{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":" "}}]}}]}
"#,
    ),
    (
        Format::OpenAi,
        r#"{"input":"hello","conversation":{"id":"conv"}}
{"id":"r","conversation":"conv","output":[{"type":"reasoning"},{"type":"function_call","call_id":"c","name":"t","arguments":"{}"},{"type":"mcp_approval_request","id":"q","name":"m","arguments":"{}"},{"type":"web_search_call","id":"w","status":"failed","action":{"query":"q"}}]}
{"previous_response_id":"r","input":[{"type":"function_call_output","call_id":"c","output":"y","status":"failed"},{"type":"mcp_approval_response","approval_request_id":"q","approve":true}]}
{"id":"r2","previous_response_id":"r","output":[{"type":"mcp_call","id":"z","approval_request_id":"q","name":"m","arguments":"{}","output":"o","status":"incomplete"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"end"}]}]}
"#,
    ),
    (
        Format::Anthropic,
        r#"{"custom_id":"s","params":{"messages":[{"role":"user","content":"x"}]},"result":{"type":"succeeded","message":{"role":"assistant","content":[{"type":"text","text":"z"},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}]}}}
{"role":"assistant","content":{"type":"tool_use","id":"d","name":"u","input":{}}}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"d","is_error":true,"content":"x"},{"type":"text","text":"y"}]}
"#,
    ),
    (
        Format::ClaudeCode,
        r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"S","timestamp":"1","isSidechain":false,"message":{"role":"user","content":"x"}}
{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"S","timestamp":"2","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"z"},{"type":"tool_use","id":"c","name":"t","input":{"a":1}}]}}
{"type":"user","uuid":"r","parentUuid":"a","sessionId":"S","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true,"content":"y"},{"type":"text","text":"w"}]}}
"#,
    ),
    (
        Format::Otlp,
        r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"session.id","value":{"stringValue":"s"}}]},"scopeSpans":[{"spans":[{"traceId":"T","spanId":"1","parentSpanId":"2","name":"execute_tool x","startTimeUnixNano":"5","endTimeUnixNano":"6","status":{"code":2,"message":"bad"},"attributes":[{"key":"gen_ai.tool.call.arguments","value":{"kvlistValue":{"values":[{"key":"b","value":{"intValue":"1"}},{"key":"c","value":{"arrayValue":{"values":[{"boolValue":false}]}}}]}}},{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}},{"key":"gen_ai.tool.name","value":{"stringValue":"x"}},{"key":"error.type","value":{"stringValue":"denied"}}]},{"traceId":"T","spanId":"2","name":"y","startTimeUnixNano":"1","endTimeUnixNano":"9"}]}]}]}
"#,
    ),
    (
        Format::Otlp,
        r#"{"data":[{"spans":[{"traceID":"T","spanID":"2","operationName":"y","startTime":1,"duration":9},{"traceID":"T","spanID":"1","operationName":"execute_tool x","startTime":2,"duration":2,"references":[{"refType":"CHILD_OF","spanID":"2"}],"tags":[{"key":"gen_ai.conversation.id","value":"s"}]}]}]}
"#,
    ),
    (
        Format::Mcp,
        r#"{"t":"1","dir":"c2s","conn":"k","headers":{"mcp-session-id":"s"},"msg":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"a":1}}}}
{"t":"2","dir":"s2c","conn":"k","headers":{"mcp-session-id":"s"},"msg":{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"y"}]}}}
{"session":"s","dir":"c2s","msg":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"u","_meta":{"sessionId":"z"}}}}
{"session":"s","dir":"s2c","msg":{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"denied"}}}
"#,
    ),
    (
        Format::Inspect,
        r#"{"eval":{"eval_id":"E","run_id":"R","task":"t"},"samples":[{"id":1,"epoch":1,"attachments":{"h":"long"},"messages":[{"role":"user","content":"attachment://h"},{"role":"assistant","content":"z","tool_calls":[{"id":"c","function":"f","arguments":{"a":1}},{"id":"d","function":"g","arguments":{}}]},{"role":"tool","tool_call_id":"c","function":"f","content":"x","error":{"type":"timeout","message":"late"}},{"role":"tool","tool_call_id":"d","function":"g","content":"x"}],"events":[{"event":"approval","decision":"reject","call":{"id":"d","function":"g","arguments":{}}}]}]}
"#,
    ),
    (
        Format::Inspect,
        r#"{"id":1,"epoch":1,"messages":[],"events":[{"event":"model","timestamp":"1","output":{"choices":[{"message":{"content":"z","tool_calls":[{"id":"c","function":"f"},{"id":"d","function":"g"}]}}]}},{"event":"tool","id":"c","function":"f","arguments":{"a":1},"result":"x","failed":true,"events":[{"event":"tool","id":"e","function":"h","arguments":{},"result":"y","pending":true}]},{"event":"approval","decision":"reject","call":{"id":"d","function":"g","arguments":{"b":1}}}]}
"#,
    ),
];

/// Values of every type that no log has.
fn mutants() -> [Value; 6] {
    [
        json!(424_242),
        json!("mutant"),
        json!(["mutant"]),
        json!({"mutant": "mutant"}),
        json!(true),
        Value::Null,
    ]
}

#[derive(Clone)]
enum At {
    Key(String),
    Index(usize),
}

/// The way to every value within `value`.
fn paths(value: &Value, to: &mut Vec<At>, found: &mut Vec<Vec<At>>) {
    found.push(to.clone());
    let inner: Vec<(At, &Value)> = match value {
        Value::Array(list) => {
            list.iter().enumerate().map(|(index, value)| (At::Index(index), value)).collect()
        }
        Value::Object(map) => map.iter().map(|(key, value)| (At::Key(key.clone()), value)).collect(),
        _ => Vec::new(),
    };
    for (at, value) in inner {
        to.push(at);
        paths(value, to, found);
        to.pop();
    }
}

fn at_mut<'v>(mut value: &'v mut Value, path: &[At]) -> &'v mut Value {
    for at in path {
        value = match at {
            At::Key(key) => &mut value[key.as_str()],
            At::Index(index) => &mut value[*index],
        };
    }
    value
}

/// The path for people, without indices: `messages.role`.
fn shown(path: &[At]) -> String {
    let keys: Vec<&str> = path
        .iter()
        .filter_map(|at| match at {
            At::Key(key) => Some(key.as_str()),
            At::Index(_) => None,
        })
        .collect();
    keys.join(".")
}

fn read_values(format: Format, records: &[Value]) -> Log {
    let text: String = records.iter().map(|record| format!("{record}\n")).collect();
    read_with("run.json", text.as_bytes(), &Options { format: Some(format), ..Options::default() })
}

/// `null` where a field may be left out is the same as nothing.
fn without(records: &[Value], record: usize, path: &[At]) -> Option<Vec<Value>> {
    let (At::Key(key), holder) = path.split_last()? else { return None };
    let mut records = records.to_vec();
    at_mut(&mut records[record], holder).as_object_mut()?.shift_remove(key);
    Some(records)
}

/// Fields that may be of more than one type, though the log above has only one.
fn may_be(path: &[At], mutant: &Value) -> bool {
    let path = shown(path);
    let last = path.rsplit('.').next().unwrap_or_default();
    match mutant {
        // `error` of plain events: a flag, or what went wrong.
        Value::String(_) | Value::Object(_) | Value::Bool(_) if path == "error" => true,
        // Identifiers come as numbers too.
        Value::Number(_) => last.ends_with("id") || last.ends_with("ID"),
        Value::Object(_) => matches!(last, "attributes" | "tags"),
        Value::String(_) => path.ends_with("attributes.value"),
        _ => false,
    }
}

fn nulls(log: &Log) -> usize {
    format!("{:?}", log.events).matches("Null").count()
}

#[test]
fn a_field_of_a_wrong_type_is_never_taken_for_absent() {
    let mut silent = BTreeSet::new();
    for (format, text) in LOGS {
        let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let good = read_values(*format, &records);
        assert_eq!(good.messages(), Vec::<&str>::new(), "{text}");
        assert!(!good.events.is_empty());
        for record in 0..records.len() {
            let mut found = Vec::new();
            paths(&records[record], &mut Vec::new(), &mut found);
            for path in found {
                for mutant in mutants() {
                    let mut changed = records.clone();
                    let place = at_mut(&mut changed[record], &path);
                    if discriminant(place) == discriminant(&mutant) || may_be(&path, &mutant) {
                        continue;
                    }
                    *place = mutant.clone();
                    let log = read_values(*format, &changed);
                    let seen = format!("{:?}", log.events);
                    let visible = ["mutant", "424242", "Bool(true)"].iter().any(|mark| seen.contains(mark))
                        || nulls(&log) > nulls(&good)
                        // A result that has lost its call is a call of its own.
                        || log.events.len() > good.events.len();
                    let said = !log.problems.is_empty() || log.summary.skipped != good.summary.skipped;
                    let absent = mutant.is_null()
                        && without(&records, record, &path)
                            .is_some_and(|records| read_values(*format, &records).events == log.events);
                    if !(visible || said || absent || log.events == good.events) {
                        silent.insert(format!("{format} {} = {mutant}", shown(&path)));
                    }
                }
            }
        }
    }
    assert_eq!(silent, BTreeSet::new());
}

/// One record of each kind that was once read as nothing, and what is said about it now.
#[test]
fn what_cannot_be_read_is_named() {
    for (format, text, message) in [
        (Format::Inspect, r#"{"eval":{},"samples":[5]}"#, "sample is a number, expected an object"),
        (
            Format::Inspect,
            r#"{"samples":[{"id":1,"messages":{}}]}"#,
            "`messages` is an object, expected an array",
        ),
        (Format::Inspect, r#"{"samples":[{"id":1}]}"#, "sample without `messages` and `events`"),
        (
            Format::ClaudeCode,
            r#"{"type":"assistant","message":{"role":"assistant","content":[["tool_use"]]}}"#,
            "a block of `content` is an array, expected an object",
        ),
        (
            Format::ClaudeCode,
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"pay"}}]}"#,
            "record without `type`, expected user, assistant or the name of another",
        ),
        (
            Format::ClaudeCode,
            r#"{"type":"user","message":{"role":"assistant","content":[]}}"#,
            "message of role `assistant`, expected that of the record's type",
        ),
        (
            Format::Otlp,
            r#"{"resourceSpans":[{"scopeSpans":[{"spans":{}}]}]}"#,
            "`spans` is an object, expected an array",
        ),
        (Format::Otlp, r#"{"data":[{"spans":[7]}]}"#, "record is a number, expected an object"),
        (
            Format::OpenAi,
            r#"{"role":"user","content":5}"#,
            "`content` is a number, expected a string or an array of blocks",
        ),
        (
            Format::OpenAi,
            r#"{"role":"user","content":{"say":"x"}}"#,
            "a block of `content` has neither `type` nor `text`",
        ),
        (
            Format::OpenAi,
            r#"{"object":"chat.completion","choices":{"message":{"role":"assistant","content":"x"}}}"#,
            "`choices` is an object, expected an array",
        ),
        (
            Format::OpenAi,
            r#"{"role":"critic","content":"x"}"#,
            "message of role `critic`, expected user, assistant, tool or system",
        ),
        (
            Format::OpenAi,
            r#"{"role":"user","content":"x","tool_calls":[{"id":"c","function":{"name":"pay"}}]}"#,
            "`tool_calls` in a message of role `user`, expected role `assistant`",
        ),
        (
            Format::OpenAi,
            r#"[{"type":"shiny_new_call","name":"pay","arguments":"{}"}]"#,
            "item of unknown type `shiny_new_call`",
        ),
        (
            Format::OpenAi,
            r#"{"role":"user","content":"x","content":"y"}"#,
            "key `content` is there twice in one object",
        ),
        (
            Format::OpenAi,
            r#"{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"pay","arguments":"{\"a\":1,\"a\":2}"}}]}"#,
            "key `a` is there twice in the arguments of a call of `pay`",
        ),
        (
            Format::Anthropic,
            r#"{"request":{"messages":[]},"response":{"content":[{"type":"tool_use","name":"pay"}]}}"#,
            "record with `content` that is no message, expected `role`, or an object with `messages`",
        ),
        (
            Format::Anthropic,
            r#"{"role":"user","content":[{"type":"tool_use","id":"c","name":"pay","input":{}}]}"#,
            "`tool_use` block in a message of role `user`, expected role `assistant`",
        ),
        (Format::Mcp, r#"{"dir":"c2s","msg":"{}"}"#, "`msg` is a string, expected a JSON-RPC message"),
        (
            Format::Csv,
            "case,activity,x,activity\n1,a,2,b\n",
            "column `activity` is there twice in the header",
        ),
        (
            Format::OpenAi,
            r#"[{"type":"mcp_approval_request","id":"q","name":"m","arguments":"{}"},{"type":"mcp_approval_response","approval_request_id":"q"}]"#,
            "`mcp_approval_response` item without `approve`, expected true or false",
        ),
        (
            Format::OpenAi,
            r#"[{"type":"mcp_approval_request","id":"q","name":"m","arguments":"{}"},{"type":"mcp_approval_response","approval_request_id":"q","approve":"no"}]"#,
            "`approve` is a string, expected true or false",
        ),
        (
            Format::OpenAi,
            r#"[{"role":"assistant","tool_calls":[{"id":1,"function":{"name":"t"}}]},{"role":"tool","tool_call_id":"1","is_error":"yes","content":"x"}]"#,
            "`is_error` is a string, expected true or false",
        ),
        (
            Format::Anthropic,
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":1,"name":"t","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":1,"is_error":1,"content":"x"}]}]"#,
            "`is_error` is a number, expected true or false",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/><date key="d" value="yesterday"/></event></trace></log>"#,
            "value `yesterday` of attribute `d` is no date",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/><container key="c"><string value="x"/></container></event></trace></log>"#,
            "`string` attribute without a `key`",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/><container key="c"><string key="x"/></container></event></trace></log>"#,
            "attribute `x` without a `value`",
        ),
        (
            Format::Xes,
            r#"<log><event><string key="concept:name" value="a"/></event></log>"#,
            "`event` element outside a trace",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/><string key="concept:name" value="b"/></event></trace></log>"#,
            "attribute `concept:name` is there twice",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/><int key="n" value="x"/></event></trace></log>"#,
            "value `x` of attribute `n` is no int",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/><container key="c"><int key="n" value="1"/><int key="n" value="2"/></container></event></trace></log>"#,
            "attribute `n` is there twice",
        ),
        (
            Format::Xes,
            r#"<log><trace><happening><string key="concept:name" value="a"/></happening></trace></log>"#,
            "unknown element `happening`, expected an event or an attribute",
        ),
        (
            Format::Xes,
            r#"<log><trace><event><string key="concept:name" value="a"/>b</event></trace></log>"#,
            "text between elements, expected elements only",
        ),
    ] {
        let options = Options { format: Some(format), ..Options::default() };
        let log = read_with("run.json", text.as_bytes(), &options);
        assert_eq!(log.messages(), [message], "{text}");
        assert_eq!(log.problems[0].place.line, Some(1), "{text}");
    }
}

/// The line of the second one, also where a document is indented and where the key is written with escapes.
#[test]
fn keys_that_are_there_twice_have_their_lines() {
    let text = "[\n {\"role\":\"user\",\n  \"content\":\"x\",\n  \"role\":\"user\"},\n {\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"y\"},\"c\":{\"k\":1,\"\\u006b\":2}}]";
    let log = read_with("run.json", text.as_bytes(), &Options::default());
    assert_eq!(
        log.messages(),
        ["key `role` is there twice in one object", "key `k` is there twice in one object"]
    );
    assert_eq!(log.problems[0].place.line, Some(4));
    assert_eq!(log.events.len(), 2);
    // A key that no text can hold hides none of the others.
    let log = read_with(
        "run.json",
        b"{\"\\ud800\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
        &Options::default(),
    );
    assert_eq!((log.events.len(), log.messages()), (1, vec![]));
}

#[test]
fn lines_may_end_by_carriage_returns() {
    for text in [
        "{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n",
        "case,activity\nx,a\nx,b\n",
        "{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":\"assistant\",\"content\":\"y\"}\n",
        "[\n{\"role\":\"user\",\"content\":\"x\"},\n{\"role\":\"user\",\"content\":5}]",
    ] {
        let usual = read_with("run.x", text.as_bytes(), &Options::default());
        let by_cr = read_with("run.x", text.replace('\n', "\r").as_bytes(), &Options::default());
        assert!(!usual.events.is_empty());
        assert_eq!(
            (by_cr.format, &by_cr.events, &by_cr.problems),
            (usual.format, &usual.events, &usual.problems)
        );
        let explicit = Options { format: usual.format, ..Options::default() };
        let named = read_with("run.x", text.replace('\n', "\r").as_bytes(), &explicit);
        assert_eq!((&named.events, &named.problems), (&usual.events, &usual.problems));
    }
    // Longer than what is looked at before reading.
    let line = format!("{{\"tool\":\"{}\"}}", "x".repeat(1000));
    let text = vec![line.as_str(); 300].join("\r");
    assert_eq!(read_with("run.jsonl", text.as_bytes(), &Options::default()).events.len(), 300);
}

#[test]
fn broken_json_says_what_was_found() {
    for (line, message) in [
        (r#"{"tool":"a","args":{x:1}}"#, "expected a key in double quotes, found `x`"),
        (r#"{"tool":"a" "args":1}"#, "expected `,` or `}`, found `\"`"),
        (r#"{"tool":"a","args":trux}"#, "expected `true`, `false` or `null`, found `trux`"),
        (r#"{"tool":None}"#, "expected a value, found `None`"),
        (r#"{"tool":"a","text":nül}"#, "expected `true`, `false` or `null`, found `nül`"),
        (r#"{"tool":"a"}}"#, "expected the end of the line or file, found `}`"),
        (r#"{"tool":"a""#, "cut short, EOF while parsing an object"),
        (
            &format!("{{\"tool\":{}}}", "x".repeat(50)),
            &format!("expected a value, found `{}…`", "x".repeat(20)),
        ),
    ] {
        let text = format!("{{\"tool\":\"first\"}}\n{line}\n");
        for format in [Format::Jsonl, Format::OpenAi] {
            let log = read_with(
                "run.jsonl",
                text.as_bytes(),
                &Options { format: Some(format), ..Options::default() },
            );
            let last = log.problems.last().unwrap();
            assert_eq!(
                (last.message.as_str(), last.place.line),
                (format!("broken JSON: {message}").as_str(), Some(2))
            );
        }
    }
}
