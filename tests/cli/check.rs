//! `check`: breaches, steps, what cannot be read, what cannot be.

use super::{Folder, calls, check, run, run_with_input, tools, verdicts};
use serde_json::json;

/// One rule `r` over the tools named.
fn policy(names: &str, formula: &str, more: &str) -> String {
    format!("{}[[rule]]\nid = \"r\"\nformula = \"{formula}\"\n{more}\n", tools(names))
}

/// The breaches of one rule in one session, for each way to go on after a violation.
fn breaches(names: &str, formula: &str, log: &str) -> [String; 3] {
    ["repair", "restart", "off"].map(|mode| {
        let policy = policy(names, formula, &format!("after_violation = \"{mode}\""));
        let verdicts = verdicts(&policy, &calls(log));
        assert_eq!(verdicts.len(), 1);
        verdicts[0].strip_prefix("s r violated ").unwrap_or("none").to_owned()
    })
}

#[test]
fn every_leak_after_a_read_is_a_breach() {
    assert_eq!(breaches("read send", "G(read -> G !send)", "read send send send"), ["1,2,3", "1", "1"]);
    assert_eq!(breaches("read send", "G(read -> G !send)", "send list send"), ["none", "none", "none"]);
    // After a restart the read is forgotten, and a new one counts.
    assert_eq!(
        breaches("read send", "G(read -> G !send)", "read send send read send"),
        ["1,2,4", "1,4", "1"]
    );
}

#[test]
fn every_retry_too_many_is_a_breach() {
    let formula = "!F(retry & X F(retry & X F(retry & X F retry)))";
    assert_eq!(breaches("retry", formula, "retry retry retry retry retry retry"), ["3,4,5", "3", "3"]);
    assert_eq!(breaches("retry", formula, "retry list retry list retry"), ["none", "none", "none"]);
}

#[test]
fn a_missed_answer_is_put_in_and_the_new_question_still_counts() {
    let formula = "G(take -> X examine)";
    assert_eq!(breaches("take examine", formula, "take take take examine"), ["1,2", "1", "1"]);
    assert_eq!(breaches("take examine", formula, "take examine take"), ["end", "end", "end"]);
}

#[test]
fn what_is_open_at_the_end_is_one_more_breach() {
    assert_eq!(breaches("pay audit", "G(pay -> F audit)", "pay list"), ["end", "end", "end"]);
    assert_eq!(
        breaches("pay audit list", "G(pay -> F audit) & G !list", "pay audit"),
        ["none", "none", "none"]
    );
}

#[test]
fn a_session_without_steps_is_the_empty_trace() {
    let log = "{\"session\":\"s\",\"kind\":\"user\",\"text\":\"hello\"}\n";
    for (formula, expected) in [
        ("F a", "s r violated end"),
        ("X a", "s r violated end"),
        ("a", "s r violated end"),
        ("F a & G !a", "s r violated end"),
        ("G a", "s r satisfied"),
        ("!a", "s r satisfied"),
        ("WX a", "s r satisfied"),
    ] {
        assert_eq!(verdicts(&policy("a", formula, ""), log), [expected], "{formula}");
    }
}

#[test]
fn a_session_that_goes_on_for_ever_owes_nothing_at_the_end_of_its_log() {
    let infinite =
        |formula: &str, more: &str| format!("semantics = \"infinite\"\n{}", policy("a b", formula, more));
    for (formula, log, expected) in [
        ("G(a -> F b)", "a", "s r pending"),
        ("G(a -> F b)", "a b", "s r holding"),
        ("F b", "a b", "s r satisfied"),
        ("G(a -> X b)", "a", "s r pending"),
        ("G(a -> X b)", "a a b", "s r violated 1"),
        ("G !b", "b a b", "s r violated 0,2"),
        ("F b & G(a -> G !b)", "c a b b", "s r violated 1"),
        ("at end b", "a b", "s r violated 0,1"),
    ] {
        assert_eq!(verdicts(&infinite(formula, ""), &calls(log)), [expected], "{formula}");
    }
    let restart = infinite("F b & G(a -> G !b)", "after_violation = \"restart\"");
    assert_eq!(verdicts(&restart, &calls("a a b a")), ["s r violated 0,1"]);
    let off = infinite("G !b", "after_violation = \"off\"");
    assert_eq!(verdicts(&off, &calls("b b")), ["s r violated 0"]);
    let text = check(&infinite("G(a -> F b)", ""), &calls("a"), &[]).out;
    assert!(text.contains("pending") && !text.contains("end of"), "{text}");
}

#[test]
fn the_json_form_is_exactly_as_documented() {
    let folder = Folder::new();
    let policy = format!(
        "{}[[rule]]\nid = \"no-leak\"\nformula = \"G(read -> G !send)\"\n[[rule]]\nid = \"audit\"\nformula = \"G(send -> F audit)\"\n",
        tools("read send audit")
    );
    let policy = folder.file("p.toml", &policy);
    let log = folder
        .file("l.jsonl", &format!("{{\"session\":\"t\",\"tool\":\"audit\"}}\n\n{}", calls("read send")));
    let ran = run(&["check", &policy, &log, "--json"]);
    let expected = [
        json!({"session": "t", "rule": "no-leak", "severity": "error", "verdict": "satisfied", "breaches": [], "events": 1}),
        json!({"session": "t", "rule": "audit", "severity": "error", "verdict": "satisfied", "breaches": [], "events": 1}),
        json!({"session": "s", "rule": "no-leak", "severity": "error", "verdict": "violated", "breaches": [{"event": 1, "file": log, "line": 4}], "events": 2}),
        json!({"session": "s", "rule": "audit", "severity": "error", "verdict": "violated", "breaches": [{"event": "end", "opened": 1, "file": log, "line": 4}], "events": 2}),
    ];
    let expected: String = expected.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!((ran.out.as_str(), ran.code), (expected.as_str(), 1));
}

#[test]
fn sessions_interleave_and_come_in_the_order_of_their_first_event() {
    let line = |session: &str, tool: &str| format!("{{\"session\":\"{session}\",\"tool\":\"{tool}\"}}\n");
    let log = [line("b", "read"), line("a", "send"), line("b", "send"), line("a", "read"), line("a", "send")]
        .concat();
    let verdicts = verdicts(&policy("read send", "G(read -> G !send)", ""), &log);
    assert_eq!(verdicts, ["b r violated 1", "a r violated 2"]);
}

#[test]
fn several_files_are_one_log() {
    let folder = Folder::new();
    let policy = folder.file("p.toml", &policy("read send", "G(read -> G !send)", ""));
    let (one, two) =
        (folder.file("1.jsonl", &calls("read list")), folder.file("2.jsonl", &calls("list send")));
    let ran = run(&["check", &policy, &one, &two, "--json"]);
    assert_eq!(ran.verdicts(), ["s r violated 3"]);
    let breach = &ran.lines()[0]["breaches"][0];
    assert_eq!((breach["file"].as_str(), breach["line"].as_u64()), (Some(two.as_str()), Some(2)));
}

#[test]
fn standard_input_is_a_log_too() {
    let folder = Folder::new();
    let policy = folder.file("p.toml", &policy("read send", "G(read -> G !send)", ""));
    let ran = run_with_input(&["check", &policy, "-", "--json"], &calls("read send"));
    assert_eq!((ran.verdicts(), ran.code), (vec!["s r violated 1".to_owned()], 1), "{}", ran.err);
}

#[test]
fn events_are_counted_in_the_steps_of_the_rule() {
    let log = r#"{"session":"s","kind":"user","text":"go"}
{"session":"s","tool":"a"}
{"session":"s","tool":"noise"}
{"session":"s","kind":"assistant","text":"ok"}
{"session":"s","tool":"b"}
"#;
    let rule = |id: &str, steps: &str| format!("[[rule]]\nid = \"{id}\"\nformula = \"G !b\"\n{steps}\n");
    let policy = [
        tools("a b"),
        rule("calls", ""),
        rule("all", "steps = \"all\""),
        rule("matched", "steps = \"matched\""),
        rule("where", "steps = 'tool != \"noise\"'"),
    ]
    .concat();
    let ran = check(&policy, log, &["--json"]);
    let counted: Vec<String> = ran
        .lines()
        .iter()
        .map(|l| format!("{} {} of {}", l["rule"].as_str().unwrap(), l["breaches"][0]["event"], l["events"]))
        .collect();
    assert_eq!(counted, ["calls 2 of 3", "all 4 of 5", "matched 1 of 2", "where 3 of 4"]);
}

#[test]
fn propositions_can_be_given_by_the_log() {
    let policy =
        "given = [\"on road\", \"arrived\"]\n[[rule]]\nid = \"r\"\nformula = '\"on road\" -> X arrived'\n";
    let log =
        "{\"session\":1,\"props\":[\"on road\"]}\n{\"session\":1,\"props\":[\"arrived\",\"unheard of\"]}\n";
    assert_eq!(verdicts(policy, log), ["1 r satisfied"]);
}

#[test]
fn a_denied_call_is_an_attempt_and_not_an_act() {
    let log = "{\"session\":\"s\",\"tool\":\"send\",\"status\":\"denied\"}\n{\"session\":\"s\",\"tool\":\"send\"}\n";
    let policy = "[propositions]\nsent = 'tool == \"send\"'\ntried = 'attempted && tool == \"send\"'\n\
        [[rule]]\nid = \"sent\"\nformula = \"G !sent\"\n[[rule]]\nid = \"tried\"\nformula = \"G !tried\"\n";
    assert_eq!(verdicts(policy, log), ["s sent violated 1", "s tried violated 0,1"]);
}

#[test]
fn lines_that_cannot_be_read_are_told_and_do_not_pass_for_success() {
    let log = format!("{}not json\n{{\"tool\":42}}\n{}", calls("read"), calls("list"));
    let whole = policy("read send", "G(read -> G !send)", "");
    let ran = check(&whole, &log, &["--json"]);
    assert_eq!((ran.verdicts(), ran.code), (vec!["s r satisfied".to_owned()], 2), "{ran:?}");
    assert!(ran.err.contains("log.jsonl:2: ") && ran.err.contains("log.jsonl:3: "), "{}", ran.err);
    assert!(ran.err.contains("2 places of the input could not be read"), "{}", ran.err);

    let ran = check(&whole, &format!("{log}{}", calls("send")), &["--json"]);
    assert_eq!((ran.verdicts(), ran.code), (vec!["s r violated 2".to_owned()], 1), "{ran:?}");
}

#[test]
fn strict_stops_at_the_first_line_that_cannot_be_read() {
    let log = format!("{}not json\nnor this\n{}", calls("read"), calls("send"));
    let ran = check(&policy("read send", "G(read -> G !send)", ""), &log, &["--json", "--strict"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", 2));
    assert!(ran.err.contains("line 2") || ran.err.contains("log.jsonl:2"), "{}", ran.err);
    assert!(!ran.err.contains("line 3") && !ran.err.contains("log.jsonl:3"), "{}", ran.err);
}

#[test]
fn an_event_that_contradicts_the_policy_is_no_verdict() {
    let policy = "given = [\"a\", \"b\", \"c\"]\nexclusive = [[\"a\", \"b\"]]\n\
        [[rule]]\nid = \"r\"\nformula = \"G !c\"\n";
    let log = "{\"session\":\"s\",\"props\":[\"a\",\"c\"]}\n{\"session\":\"t\",\"props\":[\"b\",\"a\"]}\n\
        {\"session\":\"t\",\"props\":[\"c\"]}\n{\"session\":\"u\",\"props\":[]}\n";
    let ran = check(policy, log, &["--json"]);
    assert_eq!(ran.verdicts(), ["s r violated 0", "u r satisfied"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.err.contains("log.jsonl:2: ") && ran.err.contains("no verdicts on session `t`"),
        "{}",
        ran.err
    );

    let ran = check(policy, log, &["--json", "--strict"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", 2));
}

#[test]
fn one_per_event_wants_exactly_one() {
    let policy =
        "given = [\"a\", \"b\"]\none_per_event = true\n[[rule]]\nid = \"r\"\nformula = \"G(a -> X b)\"\n";
    assert_eq!(
        verdicts(policy, "{\"session\":\"s\",\"props\":[\"a\"]}\n{\"session\":\"s\",\"props\":[\"b\"]}\n"),
        ["s r satisfied"]
    );
    for props in ["[]", "[\"a\",\"b\"]", "[\"c\"]"] {
        let ran = check(policy, &format!("{{\"session\":\"s\",\"props\":{props}}}\n"), &["--json"]);
        assert_eq!((ran.out.as_str(), ran.code), ("", 2), "{props}: {ran:?}");
        assert!(ran.err.contains("log.jsonl:1: "), "{}", ran.err);
    }
}

#[test]
fn events_that_no_rule_sees_cannot_contradict_the_policy() {
    let policy = "given = [\"a\"]\none_per_event = true\n[[rule]]\nid = \"r\"\nformula = \"F a\"\n";
    let log =
        "{\"session\":\"s\",\"kind\":\"user\",\"text\":\"hi\"}\n{\"session\":\"s\",\"props\":[\"a\"]}\n";
    assert_eq!(verdicts(policy, log), ["s r satisfied"]);
}

#[test]
fn the_report_for_people_quotes_the_offending_events() {
    let log = format!(
        "{}{}",
        calls("read"),
        "{\"session\":\"s\",\"tool\":\"send\",\"args\":{\"to\":\"\\u001b[31mevil\"}}\n"
    );
    let policy = policy("read send", "G(read -> G !send)", "text = \"no leaks\"\nsource = \"GDPR Art. 5\"");
    let ran = check(&policy, &log, &[]);
    assert_eq!(ran.code, 1);
    for part in [
        "no leaks",
        "GDPR Art. 5",
        "event 1",
        "log.jsonl:2",
        "send {\"to\":\"",
        "1 of 1 rule broken, 1 session judged",
    ] {
        assert!(ran.out.contains(part), "no `{part}` in\n{}", ran.out);
    }
    assert!(!ran.out.contains('\u{1b}'), "{:?}", ran.out);
}

#[test]
fn all_mistakes_of_a_policy_are_told_at_once() {
    let policy = "[propositions]\na = 'tol == \"a\"'\n[[rule]]\nid = \"r\"\nformula = \"G(a -> F b)\"\n\
        [[rule]]\nid = \"r\"\nformula = \"G(\"\n";
    let ran = check(policy, &calls("a"), &["--json"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", 2));
    for part in ["`tol`", "`b`", "policy.toml:2:", "policy.toml:5:", "policy.toml:7:", "policy.toml:8:"] {
        assert!(ran.err.contains(part), "no {part} in\n{}", ran.err);
    }
}

#[test]
fn rules_that_say_nothing_are_told() {
    let policy = format!(
        "{}[[rule]]\nid = \"idle\"\nformula = \"G(a -> F a)\"\n[[rule]]\nid = \"hopeless\"\nformula = \"F(a & !a)\"\n",
        tools("a")
    );
    let ran = check(&policy, &calls("a"), &["--json"]);
    assert_eq!(ran.code, 1);
    let about = |id: &str| ran.err.lines().filter(|l| l.contains("warning") && l.contains(id)).count();
    assert_eq!((about("`idle`"), about("`hopeless`")), (1, 1), "{}", ran.err);
}

#[test]
fn a_log_without_events_is_told() {
    let ran = check(&policy("a", "G a", ""), "", &["--json"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", 2));
    assert!(ran.err.contains("no events were read"), "{}", ran.err);
    // No table either, which would look like that of a clean log.
    for log in ["", "\n\n", "nonsense\n"] {
        let ran = check(&policy("a", "G a", ""), log, &[]);
        assert_eq!((ran.out.as_str(), ran.code), ("", 2));
        assert!(ran.err.contains("no events were read, so no session was judged"), "{}", ran.err);
        assert!(!ran.err.contains("verdicts are on the rest"), "{}", ran.err);
    }
}

#[test]
fn an_expression_for_steps_that_cannot_judge_says_so() {
    let policy = format!("steps = 'args.n > 3'\n{}", policy("pay", "G !pay", ""));
    let ran = check(&policy, "{\"session\":\"s\",\"tool\":\"pay\",\"args\":{\"n\":\"7\"}}\n", &["--json"]);
    assert!(ran.err.contains("counted as false at 1 event ("), "{}", ran.err);
}

#[test]
fn what_is_open_at_the_end_names_the_event_that_opened_it() {
    let answer = policy("ask answer", "G(ask -> F answer)", "severity = \"info\"\n");
    let ran = check(&answer, &calls("ask answer other ask ask other"), &["--json"]);
    let line = &ran.lines()[0];
    assert_eq!((line["severity"].as_str(), ran.code), (Some("info"), 1));
    let breach = &line["breaches"][0];
    assert_eq!((&breach["event"], &breach["opened"], &breach["line"]), (&"end".into(), &3.into(), &4.into()));
    let ran = check(&answer, &calls("other ask"), &[]);
    assert!(
        ran.out.contains("at the end  open since event 1") && ran.out.contains("log.jsonl:2  ask\n"),
        "{ran:?}"
    );

    let some = policy("ask", "F ask", "");
    let ran = check(&some, &calls("other"), &["--json"]);
    assert_eq!(ran.lines()[0]["breaches"], serde_json::json!([{"event": "end"}]));
    let ran = check(&some, &calls("other"), &[]);
    assert!(ran.out.contains("at the end  never fulfilled\n"), "{ran:?}");
    assert!(ran.out.contains("1 of 1 rule broken, 1 session judged"), "{ran:?}");
}

#[test]
fn a_problem_under_strict_reading_is_told_once() {
    let ran = check(&policy("a", "G a", ""), &format!("{}not json\n", calls("a")), &["--strict"]);
    assert_eq!((ran.code, ran.err.matches("broken JSON").count()), (2, 1), "{ran:?}");
}

/// A name that is misspelt in the log must not make a rule hold without a word.
#[test]
fn names_that_the_log_states_and_the_policy_does_not_know_are_told() {
    let folder = Folder::new();
    let policy =
        folder.file("p.toml", "given = [\"approved\"]\n[[rule]]\nid = \"r\"\nformula = \"G !approved\"\n");
    let log = folder.file(
        "l.jsonl",
        "{\"session\":\"s\",\"tool\":\"t\"}\n{\"session\":\"s\",\"tool\":\"t\",\"props\":[\"aproved\"]}\n",
    );
    let ran = run(&["check", "--json", &policy, &log]);
    assert_eq!((ran.code, ran.verdicts()), (0, vec!["s r satisfied".to_owned()]));
    assert!(
        ran.err.contains("the log states `aproved`, which the policy does not list under `given`: left out at 1 event (first at"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("did you mean `approved`?"), "{}", ran.err);
}

#[test]
fn keys_that_clash_are_told() {
    let folder = Folder::new();
    let policy = folder.file(
        "p.toml",
        "[propositions]\nt = 'tool == \"t\"'\n[[rule]]\nid = \"r\"\nformula = \"G !t\"\nper = \"args.id + 1\"\nkeyed = [\"t\"]\n",
    );
    let log = folder.file("l.jsonl", "{\"session\":\"s\",\"tool\":\"t\",\"args\":{\"id\":\"x\"}}\n");
    let ran = run(&["check", "--json", &policy, &log]);
    assert_eq!(ran.verdicts(), ["s r satisfied"]);
    assert!(ran.err.contains("`per` of rule `r`: `+` wants"), "{}", ran.err);
    assert!(ran.err.contains("taken for no value at 1 event (first at"), "{}", ran.err);
}
