//! The race of compiled rules against progression. No test looks at how long anything took.

use super::{Folder, Ran, calls, run, tools};

fn rule(id: &str, more: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\n{more}\n")
}

fn bench(policy: &str, log: &str, args: &[&str]) -> Ran {
    let folder = Folder::new();
    let (policy, log) = (folder.file("policy.toml", policy), folder.file("log.jsonl", log));
    let seconds: &[&str] = if args.contains(&"--seconds") { &[] } else { &["--seconds", "0.2"] };
    run(&[&["bench", &policy, &log], seconds, args].concat())
}

/// Two rules for all engines, one that the textbook method lacks, two that are not raced.
fn policy() -> String {
    [
        tools("ask answer"),
        rule("response", "formula = \"G(ask -> F answer)\""),
        rule("absence", "formula = \"G !(ask & answer)\""),
        rule("precedence", "formula = \"G(answer -> O ask)\""),
        rule("keyed", "formula = \"G(ask -> F answer)\"\nper = \"args.id\"\nkeyed = [\"ask\", \"answer\"]"),
    ]
    .concat()
}

#[test]
fn every_engine_is_timed_on_what_it_can_do() {
    let ran = bench(&policy(), &calls("ask:A look answer:A ask:B"), &["--json"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines = ran.lines();
    let [race] = lines.as_slice() else { panic!("{ran:?}") };
    assert_eq!((&race["sessions"], &race["events"], &race["rules"]), (&1.into(), &4.into(), &3.into()));
    assert_eq!((&race["verdicts_agree"], &race["events_compared"]), (&true.into(), &4.into()));
    let engines = race["engines"].as_array().unwrap();
    let rules: Vec<_> =
        engines.iter().map(|e| (e["engine"].as_str().unwrap(), e["rules"].as_u64().unwrap())).collect();
    assert_eq!(
        rules,
        [
            ("compiled, together", 3),
            ("compiled, one by one", 3),
            ("progression, at its best", 3),
            ("progression, textbook", 2)
        ]
    );
    for engine in engines {
        assert_eq!((&engine["events"], &engine["whole"]), (&4.into(), &true.into()), "{engine}");
        let number = |name: &str| engine[name].as_f64().unwrap();
        let per_rule = number("ns_per_event") / number("rules");
        assert!(per_rule > 0.0 && (per_rule / number("ns_per_event_and_rule") - 1.0).abs() < 1e-9);
    }
    assert_eq!(engines[0]["ratio"], 1.0);
}

#[test]
fn rules_that_an_engine_cannot_step_are_named() {
    let log = calls("ask:A answer:A");
    let left_out = bench(&policy(), &log, &["--json"]).lines()[0]["left_out"].clone();
    let why = |rule: &str| {
        let all = left_out.as_array().unwrap();
        all.iter().find(|l| l["rule"] == rule).map(|l| l["why"].as_str().unwrap().to_owned())
    };
    assert!(why("keyed").unwrap().contains("per value"), "{left_out}");
    assert!(why("precedence").unwrap().contains("looks back"), "{left_out}");
    assert_eq!((why("response"), why("absence")), (None, None));
    let ran = bench(&policy(), &log, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("all verdicts agree") && ran.out.contains("progression, textbook"), "{ran:?}");
    assert!(ran.out.contains("`keyed`") && ran.out.contains("`precedence`"), "{ran:?}");
}

/// A short race says how far it has compared.
#[test]
fn what_was_not_compared_is_told() {
    let log = calls(&"ask:A answer:A ".repeat(50_000));
    let ran = bench(&policy(), &log, &["--seconds", "0.01"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("100000 events; all verdicts agree after the first "), "{ran:?}");
    let race = &bench(&policy(), &log, &["--seconds", "0.01", "--json"]).lines()[0];
    let compared = race["events_compared"].as_u64().unwrap();
    assert!((1..100_000).contains(&compared), "{race}");
}

/// After a breach all engines stop, also where the policy asks for a repair or a fresh start.
#[test]
fn what_follows_a_violation_is_off_for_all() {
    for after in ["repair", "restart", "off"] {
        let more = format!("formula = \"G(ask -> X answer)\"\nafter_violation = \"{after}\"");
        let policy = tools("ask answer") + &rule("next", &more);
        let ran = bench(&policy, &calls("ask ask answer look ask look"), &["--json"]);
        assert_eq!((ran.code, &ran.lines()[0]["verdicts_agree"]), (0, &true.into()), "{after}: {ran:?}");
    }
}

#[test]
fn without_anything_to_race_there_is_no_table() {
    let keyed = "formula = \"G ask\"\nper = \"args.id\"\nkeyed = [\"ask\"]";
    let plain = tools("ask") + &rule("always", "formula = \"G ask\"");
    for (policy, log, args, told) in [
        (tools("ask") + &rule("keyed", keyed), calls("ask:A"), &[][..], "no rule"),
        (plain.clone(), String::new(), &["--format", "jsonl"], "no step"),
        (plain.clone(), calls("ask") + "{\"session\": []}\n", &[], "read whole"),
        (plain, calls("ask"), &["--seconds", "0"], "number of seconds"),
    ] {
        let ran = bench(&policy, &log, args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{told}: {ran:?}");
        assert!(ran.err.contains(told), "{told}: {ran:?}");
    }
}
