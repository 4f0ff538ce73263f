//! XES and CSV process logs.

use serde_json::json;

use super::super::Format;
use super::super::feed::Options;
use super::{Log, read, read_with};

const XES: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0">
 <extension name="Concept" prefix="concept" uri="http://example.org/concept.xesext"/>
 <global scope="event"><string key="concept:name" value="__INVALID__"/></global>
 <classifier name="x" keys="concept:name"/>
 <string key="source" value="test"/>
 <trace><string key="concept:name" value="s-42"/><int key="amount" value="9"/>
  <event>
   <string key="concept:name" value="check &amp; auth"/><string key="lifecycle:transition" value="start"/>
   <date key="time:timestamp" value="2026-11-30T10:00:00.000+00:00"/></event>
  <event><string key="concept:name" value="transfer"/><string key="lifecycle:transition" value="complete"/>
   <int key="arg:amount" value="250"/><float key="rate" value="1.5"/><boolean key="big" value="true"/>
   <string key="who" value="u"><string key="role" value="r"/></string>
   <list key="items"><values><string key="i" value="a"/><string key="i" value="b"/></values></list>
   <container key="box"><int key="n" value="1"/></container></event>
 </trace>
 <trace><event><string key="concept:name" value="lonely"/><string key="lifecycle:transition" value="ate_abort"/></event></trace>
</log>
"#;

fn tools(log: &Log) -> Vec<&str> {
    log.events.iter().map(|event| event.tool.as_str()).collect()
}

#[test]
fn xes_traces_are_sessions_and_attributes_arguments() {
    let log = read("run.xes", XES);
    assert_eq!((log.format, log.messages()), (Some(Format::Xes), vec![]));
    assert_eq!(log.calls(), ["s-42: check & auth unknown", "s-42: transfer ok", "run#2: lonely error"]);
    assert_eq!(log.events[0].ts.as_deref(), Some("2026-11-30T10:00:00.000+00:00"));
    assert_eq!(
        log.events.iter().map(|event| event.place.line).collect::<Vec<_>>(),
        [Some(8), Some(11), Some(17)]
    );
    assert_eq!(
        log.events[1].args,
        json!({"lifecycle:transition": "complete", "arg:amount": 250, "rate": 1.5, "big": true,
            "who": {"value": "u", "role": "r"}, "items": ["a", "b"], "box": {"n": 1}, "case:amount": 9})
    );
}

#[test]
fn lifecycles_can_be_chosen() {
    let options = Options { lifecycle: Some(vec!["complete".into()]), ..Options::default() };
    let log = read_with("run.xes", XES.as_bytes(), &options);
    assert_eq!(tools(&log), ["transfer"]);
    assert_eq!(log.summary.skipped.get("event of lifecycle `start`"), Some(&1));
    let csv = b"case,activity,lifecycle:transition\n1,a,start\n1,a,complete\n";
    assert_eq!(tools(&read_with("run.csv", csv, &options)), ["a"]);
}

#[test]
fn broken_xes_keeps_what_comes_before() {
    let cut = XES.find("<container").unwrap();
    let log = read("run.xes", &XES[..cut]);
    assert_eq!(tools(&log), ["check & auth"]);
    assert_eq!((log.messages(), log.problems[0].place.line), (vec!["broken XML: cut short"], Some(15)));
    let log = read("run.xes", &XES.replace("</event></trace>", "</trace>"));
    assert_eq!(tools(&log), ["check & auth", "transfer"]);
    assert!(log.messages()[0].starts_with("broken XML"), "{:?}", log.messages());
    let log = read("run.xes", "<log><trace><event><string key=\"x\" value=\"y\"/></event></trace></log>");
    assert_eq!((log.events.len(), log.messages()), (1, vec!["event without `concept:name`, its activity"]));
    let deep = format!("<log><trace><event>{}", "<container key=\"x\">".repeat(100_000));
    assert!(read("run.xes", &deep).messages()[0].contains("nested more than"));
}

#[test]
fn csv_with_every_kind_of_header() {
    for (text, calls) in [
        ("case:concept:name,concept:name,time:timestamp,amount\n1,pay,2026,5\n", ["1: pay ok"]),
        ("\u{feff}Case ID;Activity;Amount\r\n1;pay;5\r\n", ["1: pay ok"]),
        ("session\ttool\n\"1\"\t\"pay\"", ["1: pay ok"]),
        ("activity,x\npay,1\n", ["run: pay ok"]),
    ] {
        let log = read("run.csv", text);
        assert_eq!((log.format, log.messages()), (Some(Format::Csv), vec![]), "{text}");
        assert_eq!(log.calls(), calls, "{text}");
    }
}

#[test]
fn csv_cells_become_what_they_look_like() {
    let log = read(
        "run.csv",
        "case,activity,ts,a,b,c,d,e,f,g,h\n1,pay,2026-01-01,5,-1.50,007,true,1e5,,\"a,\"\"b\",9223372036854775808\n",
    );
    assert_eq!(
        log.events[0].args,
        json!({"a": 5, "b": -1.5, "c": "007", "d": true, "e": "1e5", "g": "a,\"b", "h": "9223372036854775808"})
    );
    assert_eq!(log.events[0].ts.as_deref(), Some("2026-01-01"));
}

#[test]
fn csv_rows_that_do_not_fit_are_named() {
    let log = read_with(
        "run.csv",
        b"case,activity\n1,a\n1\n1,b,c\n,d\n1,\n1,\xff\n\"1\n\",e\n1,f",
        &Options::default(),
    );
    assert_eq!(tools(&log), ["a", "e", "f"]);
    assert_eq!(
        log.messages(),
        [
            "row has 1 fields, expected 2 as in the header",
            "row has 3 fields, expected 2 as in the header",
            "row without a session in column `case`",
            "row without an activity in column `activity`",
            "row is not valid UTF-8",
        ]
    );
    assert_eq!(log.problems.iter().map(|p| p.place.line).collect::<Vec<_>>(), [3, 4, 5, 6, 7].map(Some));
    assert_eq!(log.events[2].place.line, Some(10));
}

#[test]
fn csv_columns_can_be_named() {
    let text = b"who,what,when\nu,pay,now\n";
    let options = Options {
        format: Some(Format::Csv),
        csv_session: Some("who".into()),
        csv_tool: Some("WHAT".into()),
        csv_time: Some("when".into()),
        ..Options::default()
    };
    let log = read_with("run.csv", text, &options);
    assert_eq!((log.calls(), log.events[0].ts.as_deref()), (vec!["u: pay ok".into()], Some("now")));
    let wrong = Options { csv_tool: Some("tool".into()), csv_time: Some("t".into()), ..options };
    assert_eq!(read_with("run.csv", text, &wrong).messages(), ["no column `tool`, `t` in the header"]);
    let unnamed = Options { format: Some(Format::Csv), ..Options::default() };
    assert!(read_with("run.csv", text, &unnamed).messages()[0].starts_with("no column of the activity"));
}

#[test]
fn records_without_end_are_stopped() {
    let options = Options { max_bytes: 1 << 20, ..Options::default() };
    let xes = format!("<log><!--{}", " ".repeat(4 << 20));
    assert!(read_with("run.xes", xes.as_bytes(), &options).messages()[0].contains("more than 1048576 bytes"));
    let csv = format!("case,activity\n1,\"{}", "x".repeat(4 << 20));
    assert!(read_with("run.csv", csv.as_bytes(), &options).messages()[0].contains("more than 1048576 bytes"));
}

#[test]
fn rows_have_their_lines_however_these_end() {
    let text = "\n\ncase;activity;x\n1;a;\"two\nlines\"\n\n1;b;2\n\n\n1;c\n1;d;e";
    for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("{text}\n"), format!("{text}\r\n")] {
        let log = read("run.csv", &text);
        let lines: Vec<_> = log.events.iter().map(|event| event.place.line).collect();
        assert_eq!(lines, [Some(4), Some(7), Some(11)], "{text:?}");
        assert_eq!(log.problems[0].place.line, Some(10), "{text:?}");
    }
    // Lines on both sides of what is read at a time.
    let rows: String = (0..5000).map(|n| format!("1,a{n}\r\n")).collect();
    let log = read("run.csv", &format!("case,activity\r\n{rows}"));
    assert!(log.events.iter().zip(2..).all(|(event, line)| event.place.line == Some(line)));
    let latin = [&b"case,activity,caf\xe9\n1,a,b\n"[..]].concat();
    let log = read_with("run.csv", &latin, &Options::default());
    assert_eq!((log.events.len(), log.messages()), (1, vec!["header is not valid UTF-8"]));
}
