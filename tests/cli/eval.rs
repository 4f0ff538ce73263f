//! `eval`: requests and answers, line by line.

use super::{Ran, run_with_input};
use serde_json::{Value, json};

fn eval(input: &str) -> Ran {
    let ran = run_with_input(&["eval"], input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran
}

/// The answer to one request.
fn answer(request: &Value) -> Value {
    let lines = eval(&format!("{request}\n")).lines();
    assert_eq!(lines.len(), 1);
    lines[0].clone()
}

#[test]
fn answers_have_the_verdict_after_each_event() {
    let out = eval(
        "{\"id\":\"x\",\"formula\":\"G(pay -> F audit)\",\"traces\":[[[\"pay\"],[],[\"audit\",\"other\"]],[[\"pay\"]],[]]}\n",
    );
    assert_eq!(
        out.out,
        "{\"id\":\"x\",\"states\":2,\"initial\":\"holding\",\"verdicts\":[[\"pending\",\"pending\",\"holding\"],[\"pending\"],[]],\"accepts\":[true,false,true]}\n"
    );
}

#[test]
fn states_include_the_initial_one_and_the_sinks() {
    for (formula, states, initial) in [
        ("true", 1, "satisfied"),
        ("false", 1, "violated"),
        ("p", 3, "pending"),
        ("G p", 2, "holding"),
        ("X true", 3, "pending"),
    ] {
        let answer = answer(&json!({"id": 1, "formula": formula, "traces": []}));
        assert_eq!((&answer["states"], &answer["initial"]), (&json!(states), &json!(initial)), "{formula}");
    }
}

#[test]
fn final_verdicts_come_early_and_stay() {
    let traces = json!([[[], ["p"]], [["p"], []]]);
    let answer_to =
        |formula: &str| answer(&json!({"formula": formula, "traces": traces}))["verdicts"].clone();
    assert_eq!(answer_to("p"), json!([["violated", "violated"], ["satisfied", "satisfied"]]));
    assert_eq!(answer_to("F p & G !p"), json!([["violated", "violated"], ["violated", "violated"]]));
    assert_eq!(answer_to("G X true"), json!([["violated", "violated"], ["violated", "violated"]]));
}

#[test]
fn infinite_semantics_decides_less_and_the_finite_reading_refines_it() {
    for (formula, initial, verdicts) in [
        ("G(p -> F q)", "holding", ["pending", "holding"]),
        ("F(p & WX false)", "violated", ["violated", "violated"]),
        ("F p | G !p", "satisfied", ["satisfied", "satisfied"]),
        ("X p", "pending", ["pending", "violated"]),
        ("F q", "pending", ["pending", "satisfied"]),
    ] {
        let request = json!({"formula": formula, "semantics": "infinite", "traces": [[["p"], ["q"]]]});
        let answer = answer(&request);
        assert_eq!(
            (&answer["initial"], &answer["verdicts"][0]),
            (&json!(initial), &json!(verdicts)),
            "{formula}"
        );
    }
    // "Exactly one" leaves no event for both.
    let request =
        json!({"formula": "F(p & q)", "semantics": "infinite", "one_per_event": true, "traces": []});
    assert_eq!(answer(&request)["initial"], "violated");
}

#[test]
fn the_dialect_decides_which_next_is_strong() {
    for (dialect, formula, accepts) in [
        ("tracelaw", "X p", false),
        ("tracelaw", "WX p", true),
        ("spot", "X p", true),
        ("spot", "X[!] p", false),
    ] {
        let answer = answer(&json!({"formula": formula, "dialect": dialect, "traces": [[[]]]}));
        assert_eq!(answer["accepts"], json!([accepts]), "{dialect} {formula}");
    }
}

#[test]
fn a_mistake_in_a_formula_is_told_with_its_place() {
    let answer = answer(&json!({"id": [1, 2], "formula": "G(a ->\n  F (b)", "traces": []}));
    assert_eq!(answer["id"], json!([1, 2]));
    let error = &answer["error"];
    assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()));
    assert!(
        error["line"].as_u64().is_some_and(|l| l >= 1) && error["column"].as_u64().is_some_and(|c| c >= 1),
        "{error}"
    );
    assert_eq!(error["within"], "formula");
}

#[test]
fn all_mistakes_of_a_formula_are_told() {
    let answer = answer(&json!({"formula": "(a & ) | (b $ c)", "traces": []}));
    let diagnostics = answer["error"]["diagnostics"].as_array().unwrap();
    assert!(diagnostics.len() >= 2, "{diagnostics:?}");
    let columns: Vec<u64> = diagnostics.iter().map(|d| d["column"].as_u64().unwrap()).collect();
    assert!(columns.contains(&6) && columns.contains(&13), "{columns:?}");
}

#[test]
fn a_broken_request_is_answered_and_the_others_are_not_affected() {
    let ran = eval(concat!(
        "{\"id\":1,\"formula\":\"p\",\"traces\":[]}\n",
        "not json\n",
        "\n",
        "{\"id\":3,\"formula\":42,\"traces\":[]}\n",
        "{\"id\":4,\"traces\":[]}\n",
        "{\"id\":5,\"formula\":\"p\",\"traces\":[[\"p\"]]}\n",
        "{\"id\":6,\"formula\":\"p\",\"tarces\":[]}\n",
        "{\"id\":7,\"formula\":\"p\",\"semantics\":\"fuzzy\",\"traces\":[]}\n",
        "{\"id\":8,\"formula\":\"p\",\"traces\":[[[\"p\"]]]}",
    ));
    let ids: Vec<Value> = ran.lines().iter().map(|l| l["id"].clone()).collect();
    assert_eq!(ids, [json!(1), Value::Null, json!(3), json!(4), json!(5), json!(6), json!(7), json!(8)]);
    let failed: Vec<bool> = ran.lines().iter().map(|l| l["error"]["message"].is_string()).collect();
    assert_eq!(failed, [false, true, true, true, true, true, true, false]);
    let places: Vec<Value> = ran.lines().iter().map(|l| l["error"]["line"].clone()).collect();
    assert_eq!(places[1..3], [json!(2), json!(4)]);
}

#[test]
fn props_say_what_there_is() {
    let with = |request: Value| answer(&request)["error"]["message"].as_str().unwrap_or("").to_owned();
    assert_eq!(with(json!({"formula": "p", "props": ["p", "q"], "traces": [[["q"]]]})), "");
    assert!(
        with(json!({"formula": "p", "props": ["p"], "traces": [[["q"]]]}))
            .contains("trace 0, event 0: unknown proposition `q`")
    );
    assert!(with(json!({"formula": "p & qq", "props": ["p", "q"], "traces": []})).contains("`qq`"));
}

#[test]
fn what_excludes_each_other_makes_verdicts_earlier() {
    let request = json!({"formula": "F(a & b)", "exclusive": [["a", "b"]], "traces": []});
    assert_eq!(answer(&request)["initial"], "violated");
    let request =
        json!({"formula": "F(a & b)", "exclusive": [["a", "b"]], "traces": [[["a"]], [[], ["b", "a"]]]});
    let message = answer(&request)["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("trace 1, event 1: "), "{message}");
    let request = json!({"formula": "G(a | b)", "props": ["a", "b"], "one_per_event": true, "traces": []});
    assert_eq!(answer(&request)["initial"], "satisfied");
}

#[test]
fn many_propositions_do_not_collide() {
    let names: Vec<String> = (0..200).map(|i| format!("p{i}")).collect();
    let formula = format!("F({})", names.join(" & "));
    let answer = answer(&json!({"formula": formula, "traces": [[names], [names[1..]]]}));
    assert_eq!(answer["accepts"], json!([true, false]));
}

#[test]
fn answers_come_at_once() {
    use std::io::{BufRead, BufReader, Write};
    let mut child = super::binary()
        .arg("eval")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for id in 0..3 {
        writeln!(stdin, "{{\"id\":{id},\"formula\":\"p\",\"traces\":[]}}").unwrap();
        stdin.flush().unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.starts_with(&format!("{{\"id\":{id},")), "{line}");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}
