//! OpenAI and Anthropic conversations.

use serde_json::json;

use super::super::feed::Options;
use super::super::{Format, Kind, Status};
use super::{Log, read, read_with};

fn as_format(format: Format, text: &str) -> Log {
    let log = read("run.json", text);
    assert_eq!(log.format, Some(format), "{text}");
    log
}

fn openai(text: &str) -> Log {
    as_format(Format::OpenAi, text)
}

fn anthropic(text: &str) -> Log {
    as_format(Format::Anthropic, text)
}

const CHAT: &str = r#"[{"role":"user","content":"pay invoice 9"},
 {"role":"assistant","content":"one moment","tool_calls":[
   {"id":"call_a","type":"function","function":{"name":"check_auth","arguments":"{\"user\":\"u1\"}"}},
   {"id":"call_b","type":"function","function":{"name":"pay","arguments":"{\"amount\":120}"}}]},
 {"role":"tool","tool_call_id":"call_b","content":"Error: denied by policy"},
 {"role":"tool","tool_call_id":"call_a","content":"{\"ok\":true}"},
 {"role":"assistant","content":[{"type":"text","text":"done"},{"type":"text","text":"!"}]}]"#;

#[test]
fn results_find_their_calls_in_any_order() {
    let log = openai(CHAT);
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(log.calls(), ["run: check_auth ok", "run: pay denied"]);
    let [user, auth, pay, say] = &log.events[..] else { panic!() };
    assert_eq!((user.kind, user.text.as_str()), (Kind::User, "pay invoice 9"));
    assert_eq!((&auth.args, &auth.result), (&json!({"user":"u1"}), &json!("{\"ok\":true}")));
    let batch = pay.batch.unwrap();
    assert_eq!((batch.id, batch.size, batch.index, pay.text.as_str()), (0, 2, 1, "one moment"));
    assert_eq!((say.kind, say.text.as_str()), (Kind::Assistant, "done\n!"));
    assert_eq!([user, auth, pay, say].map(|event| event.place.line), [Some(1), Some(2), Some(2), Some(7)]);
}

#[test]
fn a_conversation_in_every_container() {
    let messages = CHAT.replace('\n', "");
    let by_line: String = serde_json::from_str::<Vec<serde_json::Value>>(CHAT)
        .unwrap()
        .iter()
        .map(|m| format!("{m}\n"))
        .collect();
    let plain = openai(CHAT);
    for text in [
        messages.clone(),
        format!("{{\"messages\":{messages}}}"),
        format!("{{\n\"task_id\":1,\n\"traj\":{messages}}}"),
        format!("[{{\"traj\":{messages}}}]"),
        by_line,
    ] {
        let log = openai(&text);
        assert_eq!(log.messages(), Vec::<&str>::new());
        let strip = |log: &Log| {
            let mut events = log.events.clone();
            events.iter_mut().for_each(|event| event.place.line = None);
            events
        };
        assert_eq!(strip(&log), strip(&plain), "{text}");
    }
}

#[test]
fn one_conversation_per_line_is_one_session_per_line() {
    let line = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]}"#;
    let named = line.replacen('{', "{\"session_id\":\"mine\",", 1);
    let log = openai(&format!("{line}\n{line}\n{named}\n"));
    assert_eq!(log.calls(), ["run: t ok", "run#2: t ok", "mine: t ok"]);
    assert_eq!(log.events.iter().map(|e| e.place.line).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
}

#[test]
fn arguments_that_are_no_json_are_reported_and_kept() {
    let log = openai(
        r#"[{"role":"assistant","tool_calls":[
            {"id":"a","function":{"name":"t","arguments":"{\"x\": "}},
            {"id":"b","function":{"name":"u","arguments":{"x":1}}},
            {"id":"c","function":{"name":"v","arguments":""}}]}]"#,
    );
    assert_eq!(log.calls(), ["run: t unknown", "run: u unknown", "run: v unknown"]);
    assert_eq!(log.messages().len(), 1);
    assert!(log.messages()[0].starts_with("arguments of a call of `t` are not JSON"));
    assert_eq!([0, 1, 2].map(|i| log.events[i].args.clone()), [json!("{\"x\": "), json!({"x":1}), json!({})]);
}

#[test]
fn the_older_function_call() {
    let log = openai(
        r#"[{"role":"assistant","content":null,"function_call":{"name":"t","arguments":"{}"}},
            {"role":"function","name":"t","content":"one"},
            {"role":"assistant","content":null,"function_call":{"name":"t","arguments":"{}"}},
            {"role":"function","name":"t","content":"Error: two"}]"#,
    );
    assert_eq!((log.calls(), log.messages()), (vec!["run: t ok".into(), "run: t error".into()], vec![]));
    assert_eq!([&log.events[0].result, &log.events[1].result], [&json!("one"), &json!("Error: two")]);
}

/// Reused ids one after the other pair in order; ids used twice at once are reported and pair in order.
#[test]
fn ids_that_are_used_again() {
    let call = |tools: &[&str]| {
        let calls: Vec<_> =
            tools.iter().map(|tool| json!({"id":"c","function":{"name":tool,"arguments":"{}"}})).collect();
        json!({"role":"assistant","tool_calls":calls})
    };
    let result = |text: &str| json!({"role":"tool","tool_call_id":"c","content":text});
    let log = openai(&json!([call(&["a"]), result("ra"), call(&["b"]), result("rb")]).to_string());
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!([&log.events[0].result, &log.events[1].result], ["ra", "rb"]);
    let log = openai(&json!([call(&["a", "b"]), result("ra"), result("rb")]).to_string());
    assert_eq!(log.messages(), ["2 open calls share the id `c`"]);
    assert_eq!([&log.events[0].result, &log.events[1].result], ["ra", "rb"]);
}

#[test]
fn results_without_calls_are_reported_and_calls_without_results_are_open() {
    let log = openai(
        r#"[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"gone","content":"y"},
            {"role":"tool","tool_call_id":"gone2","name":"t","content":"z"},
            {"role":"assistant","tool_calls":[{"id":"a","function":{"name":"last","arguments":"{}"}}]}]"#,
    );
    assert_eq!(log.messages().len(), 2);
    assert_eq!(log.messages()[0], "result without a call: nothing was called under the id `gone`");
    // A result that names its tool shows that there was a call.
    assert_eq!(log.calls(), ["run: t ok", "run: last unknown"]);
}

#[test]
fn a_result_that_talks_about_denials_is_none() {
    for (result, status) in [
        ("Error: denied by policy", Status::Denied),
        ("Permission denied by hook: no-exfil", Status::Denied),
        ("Error: no such flight", Status::Error),
        ("error rates are low", Status::Ok),
        ("ok", Status::Ok),
        (&format!("{} was denied by policy", "a long report. ".repeat(20)), Status::Ok),
        ("You need permission to use sudo", Status::Ok),
    ] {
        let log = openai(
            &json!([{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"t","arguments":"{}"}}]},
                {"role":"tool","tool_call_id":"c","content":result}])
            .to_string(),
        );
        assert_eq!(log.events[0].status, status, "{result}");
    }
}

#[test]
fn denials_are_the_callers_to_name() {
    let text = r#"[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"t","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c","content":"Nope. Not today."}]"#;
    assert_eq!(openai(text).events[0].status, Status::Ok);
    let options = Options { denials: vec!["^NOPE".into()], ..Options::default() };
    assert_eq!(read_with("run.json", text.as_bytes(), &options).events[0].status, Status::Denied);
}

#[test]
fn responses_items() {
    let log = openai(
        r#"{"id":"resp_1","object":"response","created_at":1764496800,"previous_response_id":null,"output":[{"type":"reasoning","id":"r"},{"type":"function_call","id":"fc_1","call_id":"call_a","name":"check_auth","arguments":"{\"user\":\"u1\"}","status":"completed"},{"type":"mcp_approval_request","id":"mcpr_1","server_label":"bank","name":"transfer","arguments":"{\"amount\":900}"},{"type":"custom_tool_call","call_id":"x","name":"patch","input":"free text"}]}
{"input":[{"type":"function_call_output","call_id":"call_a","output":"{\"ok\":true}"},{"type":"mcp_approval_response","approval_request_id":"mcpr_1","approve":false,"reason":"too high"},{"type":"custom_tool_call_output","call_id":"x","output":"done"}]}
{"id":"resp_2","object":"response","previous_response_id":"resp_1","output":[{"type":"mcp_call","id":"m","name":"balance","arguments":"{}","output":"12","error":null},{"type":"mcp_call","id":"m2","name":"drain","arguments":"{}","error":"boom"},{"type":"web_search_call","id":"w","status":"completed","action":{"query":"q"}},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}]}"#,
    );
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(
        log.calls(),
        [
            "run: check_auth ok",
            "run: transfer denied",
            "run: patch ok",
            "run: balance ok",
            "run: drain error",
            "run: web_search ok"
        ]
    );
    let sizes: Vec<_> =
        log.events.iter().filter_map(|event| event.batch).map(|b| (b.id, b.size, b.index)).collect();
    assert_eq!(sizes, [(0, 3, 0), (0, 3, 1), (0, 3, 2), (1, 3, 0), (1, 3, 1), (1, 3, 2)]);
    assert_eq!((&log.events[1].result, &log.events[2].args), (&json!("too high"), &json!("free text")));
    assert_eq!(log.events[6].text, "done");
    assert_eq!(log.summary.skipped.get("reasoning item"), Some(&1));
}

#[test]
fn an_approved_request_and_its_call_are_one() {
    let log = openai(
        r#"[{"type":"mcp_approval_request","id":"r","name":"transfer","arguments":"{}"},
            {"type":"mcp_approval_response","approval_request_id":"r","approve":true},
            {"type":"mcp_call","id":"m","approval_request_id":"r","name":"transfer","arguments":"{}","output":"ok"}]"#,
    );
    assert_eq!((log.calls(), log.messages()), (vec!["run: transfer ok".into()], vec![]));
}

#[test]
fn responses_that_belong_to_different_chains() {
    let item = r#"[{"type":"function_call","call_id":"a","name":"t","arguments":"{}"}]"#;
    let log = openai(&format!(
        "{{\"id\":\"r1\",\"object\":\"response\",\"output\":{item}}}\n{{\"id\":\"r2\",\"object\":\"response\",\"output\":{item}}}\n{{\"id\":\"r3\",\"object\":\"response\",\"previous_response_id\":\"r1\",\"output\":{item}}}\n{{\"id\":\"r4\",\"object\":\"response\",\"conversation\":{{\"id\":\"conv\"}},\"output\":{item}}}"
    ));
    assert_eq!(log.calls(), ["run: t unknown", "run: t unknown", "run#2: t unknown", "conv: t unknown"]);
}

/// Reports B55, B57 and B59 as they stand in a file of chunks.
#[test]
fn streamed_chunks_become_calls() {
    let chunk = |id: &str, delta: serde_json::Value| {
        json!({"id":id,"object":"chat.completion.chunk","choices":[{"index":0,"delta":delta}]}).to_string()
    };
    let call = |index: u32, id: Option<&str>, arguments: &str| json!({"index":index,"id":id,"function":{"name":id.map(|_| "get"),"arguments":arguments}});
    for (deltas, expected) in [
        (
            vec![
                vec![call(0, Some("c1"), "{\"ci")],
                vec![call(1, Some("c2"), "{\"city\":")],
                vec![call(0, None, "ty\":\"X\"}")],
                vec![call(1, None, "\"Y\"}")],
            ],
            vec![json!({"city":"X"}), json!({"city":"Y"})],
        ),
        (
            vec![vec![call(0, Some("c1"), "{\"q\":\"A\"}")], vec![call(0, Some("c2"), "{\"q\":\"B\"}")]],
            vec![json!({"q":"A"}), json!({"q":"B"})],
        ),
        (
            vec![vec![call(0, Some("c1"), ""), call(0, None, "{\"a\"")], vec![call(0, None, ":1}")]],
            vec![json!({"a":1})],
        ),
    ] {
        let mut lines = vec![
            chunk("s", json!({"role":"assistant","content":"let me "})),
            chunk("s", json!({"content":"see"})),
        ];
        lines.extend(deltas.into_iter().map(|calls| chunk("s", json!({"tool_calls":calls}))));
        lines.push(json!({"role":"tool","tool_call_id":"c1","content":"fine"}).to_string());
        let log = openai(&lines.join("\n"));
        assert_eq!(log.messages(), Vec::<&str>::new());
        assert_eq!(log.events.iter().map(|event| event.args.clone()).collect::<Vec<_>>(), expected);
        assert!(log.events.iter().all(|event| event.tool == "get" && event.text == "let me see"));
        assert_eq!((log.events[0].status, &log.events[0].result), (Status::Ok, &json!("fine")));
    }
}

#[test]
fn anthropic_blocks() {
    let log = anthropic(
        r#"[{"role":"assistant","stop_reason":"tool_use","content":[{"type":"text","text":"Checking."},
   {"type":"tool_use","id":"toolu_1","name":"read_secret","input":{"name":"db_password"}},
   {"type":"tool_use","id":"toolu_2","name":"send_external","input":{"host":"example.org"}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","is_error":true,"content":"Permission denied by hook: no-exfil"},
   {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"*"},{"type":"text","text":"*"}]},
   {"type":"text","text":"go on"}]},
 {"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},
   {"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error","error_code":"x"}},
   {"type":"mcp_tool_use","id":"m","name":"lookup","server_name":"srv","input":{}},
   {"type":"mcp_tool_result","tool_use_id":"m","is_error":false,"content":"Error is only a word here"}]}]"#,
    );
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(
        log.calls(),
        ["run: read_secret ok", "run: send_external denied", "run: web_search error", "run: lookup ok"]
    );
    assert_eq!((&log.events[0].result, log.events[0].text.as_str()), (&json!("*\n*"), "Checking."));
    assert_eq!((log.events[2].kind, log.events[2].text.as_str()), (Kind::User, "go on"));
    assert_eq!(log.events[1].batch.map(|b| (b.id, b.size, b.index)), Some((0, 2, 1)));
}

#[test]
fn anthropic_requests_responses_and_batches() {
    let messages = r#"[{"role":"user","content":"go"}]"#;
    let reply = r#"{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]}"#;
    for (text, session) in [
        (format!("{{\"request\":{{\"messages\":{messages}}},\"response\":{reply}}}"), "run"),
        (
            format!(
                "{{\"custom_id\":\"job\",\"params\":{{\"messages\":{messages}}}}}\n{{\"custom_id\":\"job\",\"result\":{{\"type\":\"succeeded\",\"message\":{reply}}}}}"
            ),
            "job",
        ),
        (format!("{}\n{reply}", &messages[1..messages.len() - 1]), "run"),
    ] {
        let log = anthropic(&text);
        assert_eq!(log.messages(), Vec::<&str>::new());
        assert_eq!(log.events.len(), 2, "{text}");
        assert_eq!(log.calls(), [format!("{session}: t unknown")], "{text}");
        assert!(log.events.iter().all(|event| event.session == session));
    }
}

#[test]
fn what_is_no_message_is_named() {
    let log = openai(
        r#"[{"role":"user","content":"x"},{"role":"critic","content":"y"},5,{"content":"z"},{"role":"system","content":"s"}]"#,
    );
    assert_eq!(
        log.messages(),
        [
            "message of role `critic`, expected user, assistant, tool or system",
            "message is a number, expected an object",
            "message without `role`, expected user, assistant, tool or system"
        ]
    );
    assert_eq!(log.summary.skipped.keys().collect::<Vec<_>>(), ["system message"]);
}

#[test]
fn containers_without_end_are_problems() {
    let deep = format!("[{{\"messages\":[]}},{}{}]", "[".repeat(200_000), "]".repeat(200_000));
    assert_eq!(openai(&deep).messages(), ["records within records, too deep to be conversations"]);
    let deep = format!(
        "{{\"messages\":[{{\"role\":\"user\",\"content\":{}{}}}]}}",
        "[".repeat(9_000),
        "]".repeat(9_000)
    );
    assert_eq!(openai(&deep).messages(), ["broken JSON: recursion limit exceeded"]);
}

#[test]
fn calls_of_an_unexpected_type_are_problems_and_never_vanish() {
    let log = openai(
        r#"[{"role":"user","content":"x"},{"role":"assistant","tool_calls":{"function":{"name":"pay","arguments":"{}"}}}]"#,
    );
    assert!(log.messages()[0].contains("`tool_calls` is an object"), "{:?}", log.messages());
    let log = openai(
        r#"[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"1","type":"custom","custom":{"name":"pay","input":"all"}}]}]"#,
    );
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(
        (log.calls(), &log.events[1].args),
        (vec!["run: pay unknown".to_owned()], &json!({"input":"all"}))
    );
    let log = anthropic(
        r#"[{"role":"user","content":"x"},{"role":"assistant","content":{"type":"tool_use","id":"1","name":"pay","input":{}}}]"#,
    );
    assert_eq!(log.calls(), ["run: pay unknown"]);
}

#[test]
fn chunks_of_odd_forms_are_told() {
    let chunk = |delta: &str| {
        let text = format!(
            "{{\"id\":7,\"object\":\"chat.completion.chunk\",\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n"
        );
        openai(&text)
    };
    for (delta, message) in [
        ("[]", "`delta` is an array, expected an object"),
        ("{\"content\":5}", "`content` is a number, expected a string"),
        ("{\"tool_calls\":{}}", "`tool_calls` is an object, expected an array"),
        ("{\"tool_calls\":[5]}", "an element of `tool_calls` is a number, expected an object"),
        ("{\"tool_calls\":[{\"index\":0,\"id\":\"c\"}]}", "streamed tool call without a name"),
    ] {
        assert_eq!(chunk(delta).messages(), [message], "{delta}");
    }
    for (call, message) in [
        (
            "\"index\":\"0\",\"id\":\"c\",\"function\":{\"name\":\"t\"}",
            "`index` is a string, expected a number from 0",
        ),
        ("\"id\":[],\"function\":{\"name\":\"t\"}", "`id` is an array, expected a string or a number"),
        (
            "\"id\":1,\"function\":{\"name\":\"t\",\"arguments\":{}}",
            "`arguments` is an object, expected a string",
        ),
        ("\"id\":1,\"name\":\"t\",\"function\":[]", "`function` is an array, expected an object"),
    ] {
        let log = chunk(&format!("{{\"tool_calls\":[{{{call}}}]}}"));
        assert_eq!((log.messages(), log.calls().len()), (vec![message], 1), "{call}");
    }
}

/// An id may be a number in one place and a string in the other.
#[test]
fn ids_that_are_numbers_pair() {
    for (format, text) in [
        (
            Format::OpenAi,
            r#"[{"role":"assistant","tool_calls":[{"id":1,"function":{"name":"t"}},{"id":"2","function":{"name":"u"}}]},{"role":"tool","tool_call_id":2,"content":"x"},{"role":"tool","tool_call_id":"1","content":"Error: y"}]"#,
        ),
        (
            Format::Anthropic,
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":1,"name":"t","input":{}},{"type":"tool_use","id":"2","name":"u","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":2,"content":"x"},{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"y"}]}]"#,
        ),
        (
            Format::ClaudeCode,
            r#"{"type":"assistant","uuid":1,"sessionId":"run","message":{"id":7,"role":"assistant","content":[{"type":"tool_use","id":1,"name":"t","input":{}},{"type":"tool_use","id":"2","name":"u","input":{}}]}}
{"type":"user","uuid":2,"parentUuid":"1","sessionId":"run","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":2,"content":"x"},{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"y"}]}}"#,
        ),
    ] {
        let log = super::read_with(
            "run.json",
            text.as_bytes(),
            &Options { format: Some(format), ..Options::default() },
        );
        assert_eq!(
            (log.calls(), log.messages()),
            (vec!["run: t error".to_owned(), "run: u ok".to_owned()], vec![]),
            "{format}"
        );
    }
}
