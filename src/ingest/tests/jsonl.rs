//! Plain events.

use serde_json::json;

use super::super::feed::Options;
use super::super::{Batch, Format, Kind, Status};
use super::{read, read_with};

#[test]
fn every_field() {
    let log = read(
        "run.jsonl",
        r#"{"session":7,"tool":"pay","args":{"amount":2},"result":{"ok":1},"ts":1.5,"props":["a","b"],"text":"t","x":0}
{"kind":"user","text":"hi","session":"s"}
{"case":"c","activity":"act","timestamp":"2026","attrs":{"org":"A"}}"#,
    );
    assert_eq!(log.messages(), Vec::<&str>::new());
    let [pay, hi, act] = &log.events[..] else { panic!("{:?}", log.events) };
    assert_eq!((pay.session.as_str(), pay.tool.as_str(), pay.ts.as_deref()), ("7", "pay", Some("1.5")));
    assert_eq!((&pay.args, &pay.result, pay.status), (&json!({"amount": 2}), &json!({"ok": 1}), Status::Ok));
    assert_eq!((pay.props.as_slice(), pay.text.as_str()), (&["a".to_owned(), "b".to_owned()][..], "t"));
    assert_eq!((hi.kind, hi.text.as_str(), hi.status), (Kind::User, "hi", Status::Unknown));
    assert_eq!((act.session.as_str(), act.tool.as_str(), act.ts.as_deref()), ("c", "act", Some("2026")));
    assert_eq!((act.kind, &act.args, act.place.line), (Kind::Call, &json!({"org": "A"}), Some(3)));
}

#[test]
fn names_of_this_project_go_before_those_of_process_logs() {
    let log = read(
        "r.jsonl",
        r#"{"session":"s","case":[1],"tool":"t","activity":5,"timestamp":{},"ts":"1","attrs":2,"args":{}}"#,
    );
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(log.calls(), ["s: t unknown"]);
    let log = read("r.jsonl", r#"{"case":[1],"activity":5}"#);
    assert_eq!(
        log.messages(),
        ["`case` is an array, expected a string or a number; `activity` is a number, expected a string"]
    );
}

#[test]
fn status_from_what_the_line_says() {
    for (rest, status) in [
        ("", Status::Unknown),
        (r#","result":null"#, Status::Unknown),
        (r#","result":"x""#, Status::Ok),
        (r#","error":false"#, Status::Ok),
        (r#","error":true"#, Status::Error),
        (r#","error":null,"result":"x""#, Status::Unknown),
        (r#","error":"boom""#, Status::Error),
        (r#","status":"denied","error":true"#, Status::Denied),
        (r#","phase":"denied""#, Status::Denied),
        (r#","phase":"result""#, Status::Ok),
    ] {
        let log = read("run.jsonl", &format!(r#"{{"tool":"t"{rest}}}"#));
        assert_eq!(log.events[0].status, status, "{rest}");
    }
    assert_eq!(read("r.jsonl", r#"{"tool":"t","error":"boom"}"#).events[0].result, "boom");
}

#[test]
fn a_session_without_a_name_is_named_after_the_file() {
    assert_eq!(read("logs/run.jsonl", r#"{"tool":"t"}"#).events[0].session, "run");
    let options = Options { session: Some("mine".into()), ..Options::default() };
    assert_eq!(read_with("run.jsonl", br#"{"tool":"t"}"#, &options).events[0].session, "mine");
}

/// Report B67: a truncated line glued to the next record.
#[test]
fn glued_and_truncated_lines_are_named_and_the_rest_is_read() {
    for (text, tools, lines) in [
        (
            "{\"seq\":1,\"tool\":\"a\"}\n{\"seq\":2,\"to{\"seq\":3,\"tool\":\"c\"}\n{\"seq\":4,\"tool\":\"d\"}\n",
            vec!["a", "d"],
            vec![2],
        ),
        ("{\"tool\":\"a\"}{\"tool\":\"b\"}\n{\"tool\":\"c\"}\n", vec!["c"], vec![1]),
        ("{\"tool\":\"a\"}\n{\"tool\":\"b", vec!["a"], vec![2]),
        ("ol\":\"a\"}\n{\"tool\":\"b\"}", vec!["b"], vec![1]),
        ("{\"tool\":\"a\"}\n\u{0}\u{0}\n{\"tool\":\"b\"}", vec!["a", "b"], vec![2]),
        ("{\"tool\":\"a\"}\n<html>\n\n[]\n12\n{\"tool\":\"b\"}", vec!["a", "b"], vec![2, 4, 5]),
    ] {
        let log = read("run.jsonl", text);
        assert_eq!(log.format, Some(Format::Jsonl), "{text}");
        assert_eq!(log.events.iter().map(|e| e.tool.as_str()).collect::<Vec<_>>(), tools, "{text}");
        let got: Vec<u32> = log.problems.iter().filter_map(|problem| problem.place.line).collect();
        assert_eq!(got, lines, "{text}");
        assert_eq!(log.summary.problems as usize, lines.len());
    }
}

/// Report B69: a field of the wrong type is a rejected line that names line and field.
#[test]
fn wrong_types_name_line_and_field() {
    let text = "{\"tool\":\"a\",\"args\":{}}\n{\"tool\":\"b\",\"args\":\"not an object\"}\n{\"tool\":42,\"args\":{}}\n";
    let log = read("run.jsonl", text);
    assert_eq!(log.calls(), ["run: a unknown"]);
    assert_eq!(
        log.messages(),
        ["`args` is a string, expected an object", "`tool` is a number, expected a string"]
    );
    assert_eq!(log.problems.iter().map(|p| p.place.line).collect::<Vec<_>>(), [Some(2), Some(3)]);
    for (line, message) in [
        (
            r#"{"tool":[],"props":"p"}"#,
            "`tool` is an array, expected a string; `props` is a string, expected an array of strings",
        ),
        (r#"{"tool":"t","props":["a",1]}"#, "`props` is an array, expected an array of strings"),
        (r#"{"tool":"t","session":true}"#, "`session` is a boolean, expected a string or a number"),
        (r#"{"tool":"t","error":1}"#, "`error` is a number, expected true, false, null or what went wrong"),
        (r#"{"tool":"t","kind":"robot"}"#, "unknown kind `robot`"),
        (r#"{"tool":"t","status":"fine"}"#, "unknown status `fine`"),
        (r#"{"tool":"t","tool":"u"}"#, "`tool` is there twice: which one counts?"),
        (r#"{"tools":"t"}"#, "no field of an event in this line"),
        (r#"["tool"]"#, "line is an array, expected an object"),
    ] {
        let log = read("run.jsonl", &format!("{{\"tool\":\"first\"}}\n{line}\n"));
        assert_eq!(log.messages(), [message], "{line}");
        assert_eq!(log.events.len(), 1);
    }
}

#[test]
fn what_editors_and_systems_add_does_no_harm() {
    let log = read("run.jsonl", "\u{feff}{\"tool\":\"a\"}\r\n\r\n   \n{\"tool\":\"b\"}");
    assert_eq!(
        (log.calls(), log.messages()),
        (vec!["run: a unknown".into(), "run: b unknown".into()], vec![])
    );
    assert_eq!(log.events[1].place.line, Some(4));
}

#[test]
fn text_that_is_no_text_is_a_problem_of_its_line() {
    let log = read_with(
        "run.jsonl",
        b"{\"tool\":\"a\"}\n{\"tool\":\"\xff\"}\n{\"tool\":\"b\"}",
        &Options::default(),
    );
    assert_eq!(log.calls().len(), 2);
    assert_eq!((log.messages(), log.problems[0].place.line), (vec!["line is not valid UTF-8"], Some(2)));
}

#[test]
fn deep_nesting_and_long_lines_are_problems_at_most() {
    let deep =
        format!("{{\"tool\":\"a\",\"args\":{{\"x\":{}{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{{\"tool\":\"b\",\"text\":\"{}\"}}", "x".repeat(20 << 20));
    let log = read("run.jsonl", &format!("{{\"tool\":\"first\"}}\n{deep}\n{long}\n{{\"tool\":\"last\"}}"));
    assert_eq!(log.messages(), ["broken JSON: recursion limit exceeded"]);
    assert_eq!(log.events.iter().map(|e| e.tool.as_str()).collect::<Vec<_>>(), ["first", "b", "last"]);
    // Fields that are not read may be as deep as they like.
    let ignored = format!("{{\"tool\":\"a\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(read("run.jsonl", &ignored).calls(), ["run: a unknown"]);
}

#[test]
fn strict_reading_stops_at_the_first_problem() {
    let options = Options { strict: true, ..Options::default() };
    let log = read_with("run.jsonl", b"{\"tool\":\"a\"}\nx\n{\"tool\":\"b\"}\ny", &options);
    assert!(log.strict_stop);
    assert_eq!((log.events.len(), log.problems.len()), (1, 1));
}

fn batches(text: &str) -> Vec<(String, Option<Batch>)> {
    read("run.jsonl", text).events.into_iter().map(|event| (event.tool, event.batch)).collect()
}

#[test]
fn batches_with_and_without_their_size() {
    let batch = |id, size, index| Some(Batch { id, size, index });
    let expected = vec![
        ("a".to_owned(), batch(0, 2, 0)),
        ("b".to_owned(), batch(0, 2, 1)),
        ("c".to_owned(), batch(1, 1, 0)),
        ("d".to_owned(), None),
    ];
    let sized = r#"{"tool":"a","batch":"t1","batch_size":2}
{"tool":"b","batch":"t1","batch_size":2}
{"tool":"c","batch":5,"batch_size":1}
{"tool":"d"}"#;
    assert_eq!(batches(sized), expected);
    let unsized_ = sized.replace(r#","batch_size":2"#, "").replace(r#","batch_size":1"#, "");
    assert_eq!(batches(&unsized_), expected);
    // Equal labels of different sessions are different batches.
    let two = r#"{"session":"x","tool":"a","batch":1}
{"session":"y","tool":"b","batch":1}
{"session":"x","tool":"c","batch":1}"#;
    let got = batches(two);
    assert_eq!(got.iter().find(|(tool, _)| tool == "c").unwrap().1, batch(0, 2, 1));
    assert_eq!(got.iter().find(|(tool, _)| tool == "b").unwrap().1, batch(0, 1, 0));
}

#[test]
fn requests_take_the_outcome_of_their_results() {
    let log = read(
        "run.jsonl",
        r#"{"tool":"a","call_id":1,"phase":"request"}
{"tool":"b","call_id":2,"phase":"request"}
{"tool":"b","call_id":2,"phase":"denied"}
{"tool":"note"}
{"tool":"a","call_id":1,"phase":"result","result":"done"}
{"tool":"c","call_id":3,"phase":"request"}
{"tool":"d","call_id":4,"phase":"error"}"#,
    );
    assert_eq!(
        log.calls(),
        ["run: a ok", "run: b denied", "run: note unknown", "run: c unknown", "run: d error"]
    );
    assert_eq!(log.events[0].result, "done");
}

#[test]
fn the_order_is_that_of_the_file() {
    let log = read("run.jsonl", "{\"seq\":2,\"ts\":9,\"tool\":\"a\"}\n{\"seq\":1,\"ts\":1,\"tool\":\"b\"}");
    assert_eq!(log.calls(), ["run: a unknown", "run: b unknown"]);
}

#[test]
fn an_outcome_belongs_to_one_open_call_and_adds_what_it_says() {
    let log = read(
        "x.jsonl",
        "{\"session\":\"s\",\"tool\":\"a\",\"call_id\":\"1\",\"phase\":\"request\"}\n\
         {\"session\":\"s\",\"tool\":\"a\",\"call_id\":\"1\",\"phase\":\"result\",\"props\":[\"lab\"]}\n\
         {\"session\":\"s\",\"tool\":\"a\",\"call_id\":\"1\",\"phase\":\"result\"}\n\
         {\"session\":\"s\",\"tool\":\"b\",\"call_id\":\"2\",\"phase\":\"request\"}\n\
         {\"session\":\"s\",\"tool\":\"c\",\"call_id\":\"2\",\"phase\":\"request\"}\n\
         {\"session\":\"s\",\"tool\":\"b\",\"call_id\":\"2\",\"phase\":\"result\"}\n",
    );
    assert_eq!(log.calls(), ["s: a ok", "s: b unknown", "s: c unknown"]);
    assert_eq!(log.events[0].props, ["lab"]);
    let lines: Vec<Option<u32>> = log.problems.iter().map(|p| p.place.line).collect();
    assert_eq!(lines, [Some(3), Some(6)], "{:?}", log.problems);
}

#[test]
fn a_batch_ends_with_what_comes_between() {
    let log = read(
        "x.jsonl",
        "{\"session\":\"s\",\"tool\":\"a\",\"batch\":\"1\"}\n{\"session\":\"s\",\"kind\":\"user\",\"text\":\"hm\"}\n\
         {\"session\":\"s\",\"tool\":\"c\",\"batch\":\"1\"}\n{\"session\":\"s\",\"tool\":\"d\",\"batch\":\"1\"}\n",
    );
    let sizes: Vec<u32> = log.events.iter().filter_map(|e| e.batch).map(|b| b.size).collect();
    assert_eq!(sizes, [1, 2, 2]);
}

#[test]
fn an_outcome_before_its_request_is_a_problem() {
    let log = read(
        "run.jsonl",
        r#"{"tool":"a","call_id":1,"phase":"result"}
{"tool":"a","call_id":1,"phase":"request"}
{"tool":"b","call_id":2,"phase":"result"}"#,
    );
    assert_eq!(log.calls(), ["run: a ok", "run: a unknown", "run: b ok"]);
    assert_eq!(
        log.messages(),
        [
            "request of call `1` after its outcome: both are kept as calls",
            "outcome of call `2` without a request: kept as a call"
        ]
    );
    assert_eq!(log.problems.iter().map(|p| p.place.line).collect::<Vec<_>>(), [Some(2), Some(3)]);
    // Logs that note outcomes only.
    let log = read(
        "run.jsonl",
        "{\"tool\":\"a\",\"call_id\":1,\"phase\":\"result\"}\n{\"tool\":\"b\",\"call_id\":2,\"phase\":\"error\"}",
    );
    assert_eq!((log.calls().len(), log.messages()), (2, vec![]));
}

#[test]
fn chat_messages_among_plain_events_are_problems() {
    for line in [
        r#"{"role":"assistant","session":"s","content":null,"tool_calls":[]}"#,
        r#"{"session":"s","messages":[]}"#,
        r#"{"session":"s","text":"x","tool_calls":[{"id":"c"}]}"#,
    ] {
        let options = Options { format: Some(Format::Jsonl), ..Options::default() };
        let log = read_with("run.jsonl", format!("{{\"tool\":\"a\"}}\n{line}\n").as_bytes(), &options);
        assert_eq!(
            (log.events.len(), log.messages()),
            (1, vec!["chat message among plain events"]),
            "{line}"
        );
        assert_eq!(log.problems[0].place.line, Some(2));
    }
    // An event that says who acts is none.
    let options = Options { format: Some(Format::Jsonl), ..Options::default() };
    let log = read_with("run.jsonl", br#"{"session":"s","tool":"a","role":"clerk"}"#, &options);
    assert_eq!((log.events.len(), log.messages()), (1, vec![]));
}

#[test]
fn documents_of_events_are_read() {
    for (text, lines) in [
        ("[{\"tool\":\"a\"},{\"tool\":\"b\"}]", [1, 1]),
        ("[{\"tool\":\"a\"},\n {\"tool\":\"b\"}]", [1, 2]),
        ("[\n  {\n    \"tool\": \"a\"\n  },\n  {\n    \"tool\": \"b\"\n  }\n]\n", [2, 5]),
        ("{\n  \"tool\": \"a\"\n}\n{\n  \"tool\": \"b\"\n}\n", [1, 4]),
        ("{ \"tool\": \"a\",\n  \"args\": {}\n}\n{ \"tool\": \"b\" }\n", [1, 4]),
    ] {
        let log = read("run.json", text);
        assert_eq!(
            (log.calls(), log.messages()),
            (vec!["run: a unknown".into(), "run: b unknown".into()], vec![]),
            "{text}"
        );
        assert_eq!(log.events.iter().filter_map(|e| e.place.line).collect::<Vec<_>>(), lines, "{text}");
    }
    // What is no event in a document has its line, and the others are read.
    let log = read(
        "run.json",
        "[\n {\"tool\":\"a\"},\n 5,\n {\"tool\":7},\n {\"tool\":\"b\",\n \"tool\":\"c\"}\n]",
    );
    assert_eq!(log.events.len(), 1);
    assert_eq!(
        log.messages(),
        [
            "line is a number, expected an object",
            "`tool` is a number, expected a string",
            "`tool` is there twice: which one counts?"
        ]
    );
    assert_eq!(log.problems.iter().map(|p| p.place.line).collect::<Vec<_>>(), [Some(3), Some(4), Some(5)]);
}

/// Without a phase nothing says which line is the request, so lines that look like halves of one call are told.
#[test]
fn lines_of_one_call_need_their_phases() {
    let whole = r#"{"tool":"a","call_id":1,"result":1}
{"tool":"b","call_id":1,"result":2}
{"kind":"user","text":"x","call_id":1}
"#;
    let log = read("s.jsonl", whole);
    assert_eq!((log.events.len(), log.messages()), (3, vec![]));
    for (text, message) in [
        (
            "{\"tool\":\"a\",\"call_id\":1}\n{\"call_id\":1,\"result\":2}\n",
            "line of call `1` without a `tool` and without a `phase`: kept as a call",
        ),
        (
            "{\"tool\":\"a\",\"call_id\":1}\n{\"tool\":\"a\",\"call_id\":\"1\",\"result\":2}\n",
            "another line of call `1`, and neither has a `phase`: both are kept as calls",
        ),
        (
            "{\"tool\":\"a\",\"call_id\":1,\"phase\":\"request\"}\n{\"tool\":\"a\",\"call_id\":1,\"result\":2}\n",
            "line of call `1`, of which a request is open, without a `phase`: kept as a call",
        ),
        (
            "{\"tool\":\"a\",\"call_id\":1}\n{\"tool\":\"a\",\"call_id\":1,\"phase\":\"result\"}\n",
            "outcome of call `1` without a request: kept as a call",
        ),
        (
            "{\"tool\":\"a\",\"phase\":\"request\"}\n{\"tool\":\"a\",\"phase\":\"result\"}\n",
            "outcome without a `call_id` where there are requests: kept as a call",
        ),
    ] {
        let log = read("s.jsonl", text);
        assert_eq!((log.events.len(), log.messages()), (2, vec![message]), "{text}");
        assert_eq!(log.problems[0].place.line, Some(2));
    }
    // Numbers and strings are the same id here, and pair.
    let log = read(
        "s.jsonl",
        "{\"tool\":\"a\",\"call_id\":1,\"phase\":\"request\"}\n{\"call_id\":\"1\",\"phase\":\"result\"}\n",
    );
    assert_eq!((log.calls(), log.messages()), (vec!["s: a ok".to_owned()], vec![]));
    let log = read("s.jsonl", "{\"tool\":\"a\",\"call_id\":1,\"phase\":\"started\"}\n");
    assert_eq!(log.messages(), ["unknown phase `started`"]);
}
