//! Claude Code sessions.

use serde_json::{Value, json};

use super::super::{Format, Kind, Status};
use super::{Log, read};

/// A session under construction: each line hangs on the one before it.
struct Lines {
    lines: Vec<Value>,
    session: &'static str,
}

impl Lines {
    fn new() -> Self {
        Lines { lines: Vec::new(), session: "S" }
    }

    fn add(&mut self, kind: &str, uuid: &str, parent: Option<&str>, message: Value) -> &mut Self {
        self.lines.push(json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": self.session, "isSidechain": false,
            "timestamp": format!("2026-11-30T10:00:0{}Z", self.lines.len() % 10), "message": message,
        }));
        self
    }

    fn user(&mut self, uuid: &str, parent: Option<&str>, text: &str) -> &mut Self {
        self.add("user", uuid, parent, json!({"role": "user", "content": text}))
    }

    fn call(&mut self, uuid: &str, parent: &str, message: &str, id: &str, tool: &str) -> &mut Self {
        let block = json!({"type": "tool_use", "id": id, "name": tool, "input": {"n": id}});
        self.add(
            "assistant",
            uuid,
            Some(parent),
            json!({"role": "assistant", "id": message, "content": [block]}),
        )
    }

    fn result(&mut self, uuid: &str, parent: &str, id: &str, text: &str, is_error: bool) -> &mut Self {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error});
        self.add("user", uuid, Some(parent), json!({"role": "user", "content": [block]}))
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn log(&self) -> Log {
        let log = read("S.jsonl", &self.text());
        assert_eq!(log.format, Some(Format::ClaudeCode));
        log
    }
}

#[test]
fn blocks_of_one_message_are_one_batch() {
    let mut lines = Lines::new();
    lines.user("u1", None, "go");
    lines.add(
        "assistant",
        "t",
        Some("u1"),
        json!({"role":"assistant","id":"m1","content":[{"type":"text","text":"both"}]}),
    );
    lines.call("a1", "t", "m1", "c1", "Read").result("r1", "a1", "c1", "one", false);
    lines.call("a2", "a1", "m1", "c2", "Grep").result("r2", "a2", "c2", "two", true);
    lines.call("a3", "r2", "m2", "c3", "Bash");
    let log = lines.log();
    assert_eq!(log.messages(), Vec::<&str>::new());
    assert_eq!(log.calls(), ["s: read ok", "s: grep error", "s: bash unknown"]);
    let batches: Vec<_> =
        log.events.iter().filter_map(|e| e.batch).map(|b| (b.id, b.size, b.index)).collect();
    assert_eq!(batches, [(0, 2, 0), (0, 2, 1), (1, 1, 0)]);
    assert_eq!(log.events.iter().map(|e| e.kind).collect::<Vec<_>>()[..2], [Kind::User, Kind::Assistant]);
    assert_eq!((log.events[3].text.as_str(), log.events[4].text.as_str()), ("both", ""));
    assert_eq!(log.events[2].ts.as_deref(), Some("2026-11-30T10:00:02Z"));
}

#[test]
fn abandoned_branches_are_counted_and_left_out() {
    let mut lines = Lines::new();
    lines.user("u1", None, "go").call("a1", "u1", "m1", "c1", "First").result("r1", "a1", "c1", "x", false);
    // A way that the user went back from.
    lines
        .user("u2", Some("r1"), "wrong")
        .call("a2", "u2", "m2", "c2", "Wrong")
        .result("r2", "a2", "c2", "x", false);
    lines
        .user("u3", Some("r1"), "right")
        .call("a3", "u3", "m3", "c3", "Right")
        .result("r3", "a3", "c3", "x", false);
    let log = lines.log();
    assert_eq!(log.calls(), ["s: first ok", "s: right ok"]);
    assert_eq!(log.summary.skipped.get("record on an abandoned branch"), Some(&3));
    assert_eq!(log.messages(), Vec::<&str>::new());
}

#[test]
fn parallel_results_are_no_abandoned_branches() {
    // Results hang on their calls; the conversation goes on from one of them, whichever comes last.
    for (first, last) in [("1", "2"), ("2", "1")] {
        let mut lines = Lines::new();
        lines.user("u", None, "go").call("a1", "u", "m", "c1", "A").call("a2", "a1", "m", "c2", "B");
        for n in [first, last] {
            lines.result(&format!("r{n}"), &format!("a{n}"), &format!("c{n}"), "x", false);
        }
        lines.call("a3", &format!("r{last}"), "m2", "c3", "C");
        let log = lines.log();
        assert_eq!(log.calls(), ["s: a ok", "s: b ok", "s: c unknown"]);
        assert!(!log.summary.skipped.contains_key("record on an abandoned branch"));
    }
}

#[test]
fn a_result_that_comes_late_does_not_move_the_branch() {
    let mut lines = Lines::new();
    lines.user("u", None, "go").call("a1", "u", "m", "c1", "Slow").call("a2", "a1", "m", "c2", "Fast");
    lines.result("r2", "a2", "c2", "x", false).call("a3", "r2", "m2", "c3", "Next");
    lines.result("r1", "a1", "c1", "x", false);
    let log = lines.log();
    assert_eq!(log.calls(), ["s: slow ok", "s: fast ok", "s: next unknown"]);
    assert!(!log.summary.skipped.contains_key("record on an abandoned branch"));
}

#[test]
fn a_new_tree_abandons_nothing() {
    // After a compaction, or a lost line, the chain starts again.
    let mut lines = Lines::new();
    lines.user("u1", None, "go").call("a1", "u1", "m1", "c1", "Before");
    lines.user("u2", None, "summary").call("a2", "u2", "m2", "c2", "After");
    lines.call("a3", "lost", "m3", "c3", "Later");
    assert_eq!(lines.log().calls(), ["s: before unknown", "s: after unknown", "s: later unknown"]);
}

#[test]
fn lines_that_were_copied_count_once() {
    let mut lines = Lines::new();
    lines.user("u1", None, "go").call("a1", "u1", "m1", "c1", "A").result("r1", "a1", "c1", "x", false);
    let copy = lines.lines.clone();
    lines.lines.extend(copy);
    lines.call("a2", "r1", "m2", "c2", "B");
    let log = lines.log();
    assert_eq!((log.calls(), log.messages()), (vec!["s: a ok".into(), "s: b unknown".into()], vec![]));
    assert_eq!(log.summary.skipped.get("record that is there twice (same `uuid`)"), Some(&3));
}

#[test]
fn a_resumed_session_is_one_session() {
    let mut lines = Lines::new();
    lines.user("u1", None, "go").call("a1", "u1", "m1", "c1", "Old");
    lines.session = "T";
    lines.user("u2", Some("a1"), "more").call("a2", "u2", "m2", "c2", "New");
    assert_eq!(lines.log().calls(), ["t: old unknown", "t: new unknown"]);
}

#[test]
fn refused_and_interrupted_calls() {
    for (text, is_error, status) in [
        ("PreToolUse hook denied: no-force-push", true, Status::Denied),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            true,
            Status::Denied,
        ),
        ("Claude requested permissions to use Bash, but you haven't granted it yet.", true, Status::Denied),
        ("Permission to use Bash with command rm has been denied.", true, Status::Denied),
        ("[Request interrupted by user for tool use]", true, Status::Unknown),
        ("cat: x: Permission denied", true, Status::Error),
        ("the log says: hook denied", false, Status::Ok),
    ] {
        let mut lines = Lines::new();
        lines.user("u", None, "go").call("a", "u", "m", "c", "Bash").result("r", "a", "c", text, is_error);
        assert_eq!(lines.log().events[1].status, status, "{text}");
    }
}

/// Report B71: sub-agents' calls stay apart, in files of their own or among the session's.
#[test]
fn sub_agents_are_sessions_of_their_own() {
    let mut main = Lines::new();
    main.user("u", None, "go").call("a", "u", "m", "c1", "Task").call("b", "a", "m2", "c2", "Read");
    let mut agent = Lines::new();
    agent.user("su", None, "sub").call("sa", "su", "sm", "s1", "Bash").call("sb", "sa", "sm2", "s2", "Bash");
    for line in &mut agent.lines {
        line["isSidechain"] = json!(true);
        line["agentId"] = json!("1");
    }
    let main_calls = ["s: task unknown", "s: read unknown"];
    let agent_calls = ["s/agent-1: bash unknown", "s/agent-1: bash unknown"];
    assert_eq!(main.log().calls(), main_calls);
    assert_eq!(read("S/subagents/agent-1.jsonl", &agent.text()).calls(), agent_calls);
    // In one file, mixed.
    let mut mixed = Lines::new();
    for (main, agent) in main.lines.iter().zip(&agent.lines) {
        mixed.lines.extend([main.clone(), agent.clone()]);
    }
    assert_eq!(mixed.log().calls(), [main_calls, agent_calls].concat());
    // Nothing but the place of the file says it.
    for line in &mut agent.lines {
        *line = json!({"type": line["type"], "uuid": line["uuid"], "parentUuid": line["parentUuid"], "message": line["message"]});
    }
    assert_eq!(read("S/subagents/agent-1.jsonl", &agent.text()).calls(), agent_calls);
    // Marked, but not named.
    for line in &mut agent.lines {
        line["isSidechain"] = json!(true);
        line["sessionId"] = json!("S");
    }
    assert_eq!(agent.log().calls(), agent_calls.map(|call| call.replace("agent-1", "sidechain-1")));
}

#[test]
fn other_records_are_counted_by_name_and_one_object_is_read_as_well() {
    let mut lines = Lines::new();
    lines.user("u1", None, "go");
    lines.lines.push(json!({"type":"progress","uuid":"p","parentUuid":"u1","sessionId":"S"}));
    lines.lines.push(json!({"type":"summary","leafUuid":"u1"}));
    lines.call("a1", "p", "m1", "c1", "A");
    let log = lines.log();
    assert_eq!(log.calls(), ["s: a unknown"]);
    let skipped: Vec<_> = log.summary.skipped.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(skipped, [("`progress` record", 1), ("`summary` record", 1)]);
    let whole = serde_json::to_string_pretty(&json!({"loglines": lines.lines})).unwrap();
    let as_one = read("S.json", &whole);
    assert_eq!((as_one.format, as_one.calls()), (Some(Format::ClaudeCode), log.calls()));
}

#[test]
fn links_that_go_round_and_children_before_parents() {
    let mut lines = Lines::new();
    lines.call("a", "b", "m1", "c1", "A").call("b", "a", "m2", "c2", "B");
    let mut calls = lines.log().calls();
    calls.sort();
    assert_eq!(calls, ["s: a unknown", "s: b unknown"]);
    let mut lines = Lines::new();
    lines.user("u", None, "go").call("a2", "a1", "m2", "c2", "Second").call("a1", "u", "m1", "c1", "First");
    lines.call("a3", "a2", "m3", "c3", "Third");
    assert_eq!(lines.log().calls(), ["s: first unknown", "s: second unknown", "s: third unknown"]);
    // A chain as long as a long session costs no stack.
    let mut lines = Lines::new();
    lines.user("0", None, "go");
    for n in 1..20_000 {
        lines.call(&n.to_string(), &(n - 1).to_string(), &format!("m{n}"), &format!("c{n}"), "A");
    }
    assert_eq!(lines.log().calls().len(), 19_999);
}
