//! `compile` and `explain`: the subcommands that only look.

use super::{Folder, Ran, run, tools};

const RULES: &str = "\
[[rule]]
id = \"answer\"
text = \"every a is answered\"
source = \"Handbook 3\"
template = \"response(a, b)\"
[[rule]]
id = \"order\"
formula = \"!b W a\"
";

/// A policy with the tools a, b and c.
fn policy(folder: &Folder, head: &str, rules: &str) -> String {
    folder.file("p.toml", &format!("{head}\n{}{rules}", tools("a b c")))
}

/// The value of a line of `explain`.
fn field<'a>(ran: &'a Ran, name: &str) -> &'a str {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out.lines().find_map(|l| l.strip_prefix(name)).map_or("", str::trim)
}

#[test]
fn compile_says_how_large_automata_are() {
    let folder = Folder::new();
    let ran = run(&["compile", &policy(&folder, "", RULES)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    let rows: Vec<Vec<&str>> = ran.out.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["rule", "states", "classes", "words", "nodes", "time", "initial"]);
    assert_eq!((rows[1][..3].to_vec(), *rows[1].last().unwrap()), (vec!["answer", "2", "3"], "holding"));
    assert_eq!(rows[2][0], "order");
    assert_eq!(rows.len(), 3);
}

#[test]
fn compile_writes_json() {
    let ran = run(&["compile", "--formula", "G(a -> F b)", "--emit", "json"]);
    let line = &ran.lines()[0];
    assert_eq!(line["name"], "G(a -> F b)");
    assert_eq!(line["propositions"], serde_json::json!(["a", "b"]));
    assert_eq!(line["states"], serde_json::json!([{"verdict": "pending"}, {"verdict": "holding"}]));
    assert_eq!((&line["initial"], &line["stats"]["states"]), (&1.into(), &2.into()));
    assert_eq!(line["edges"][2], serde_json::json!({"from": 1, "to": 0, "guard": "a & !b", "breach": false}));
    assert_eq!((&line["never_violated"], &line["never_satisfied"]), (&false.into(), &false.into()));
}

#[test]
fn compile_draws_all_rules_or_the_one_asked_for() {
    let folder = Folder::new();
    let policy = policy(&folder, "", RULES);
    let all = run(&["compile", &policy, "--emit", "dot"]);
    assert_eq!((all.code, all.out.matches("digraph").count()), (0, 2), "{all:?}");
    let one = run(&["compile", &policy, "--emit", "dot", "--rule", "order"]);
    assert!(one.out.starts_with("digraph \"order\" {\n") && all.out.ends_with(&one.out), "{one:?}");
    // A policy's rules go on after a breach.
    assert!(one.out.contains("[label=\"!a & b\", color=red, fontcolor=red]"), "{one:?}");
    let none = run(&["compile", &policy, "--rule", "oder"]);
    assert!(none.code == 2 && none.out.is_empty() && none.err.contains("did you mean `order`?"), "{none:?}");
}

#[test]
fn compile_writes_hoa_of_the_formula_itself() {
    let folder = Folder::new();
    let of_policy = run(&["compile", &policy(&folder, "", RULES), "--emit", "hoa", "--rule", "order"]);
    let of_formula = run(&["compile", "--formula", "!b W a", "--emit", "hoa"]);
    assert_eq!((of_policy.code, of_formula.code), (0, 0));
    // One has the order of the policy's propositions, the other that of the formula's.
    assert!(of_policy.out.contains("AP: 2 \"a\" \"b\"\n"), "{of_policy:?}");
    assert!(of_formula.out.contains("AP: 2 \"b\" \"a\"\n"), "{of_formula:?}");
    assert!(of_policy.out.contains("State: 0 \"violated\"\n[t] 0\n"), "{of_policy:?}");
}

#[test]
fn compile_warns_of_rules_that_say_nothing_and_refuses_what_is_too_large_to_write() {
    let folder = Folder::new();
    let rules = "[[rule]]\nid = \"empty\"\nformula = \"G(a -> a)\"\n";
    let ran = run(&["compile", &policy(&folder, "", rules)]);
    assert!(ran.code == 0 && ran.err.contains("`empty` cannot be violated"), "{ran:?}");
    let parity = (0..24).map(|i| format!("p{i}")).collect::<Vec<_>>().join(" xor ");
    let ran = run(&["compile", "--formula", &format!("G({parity})"), "--emit", "dot"]);
    assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains("more than 1024 paths"), "{ran:?}");
}

#[test]
fn explain_says_what_a_rule_means() {
    let folder = Folder::new();
    let policy = policy(&folder, "", RULES);
    let ran = run(&["explain", &policy, "answer"]);
    for (name, value) in [
        ("rule", "answer"),
        ("text", "every a is answered"),
        ("source", "Handbook 3"),
        ("written", "response(a, b)"),
        ("formula", "G(a -> F b)"),
        ("in words", "whenever `a` happens, `b` happens at the same event or later"),
        ("satisfying", "{}"),
        ("violating", "{a}   (if the session ends there)"),
    ] {
        assert_eq!(field(&ran, name), value);
    }
    assert!(field(&ran, "automaton").starts_with("2 states, "));
    assert_eq!(field(&run(&["explain", &policy, "order"]), "violating"), "{b}");
    let ran = run(&["explain", &policy, "anwser"]);
    assert!(ran.code == 2 && ran.err.contains("did you mean `answer`?"), "{ran:?}");
}

#[test]
fn explain_uses_possible_letters_only() {
    let folder = Folder::new();
    let rules = "[[rule]]\nid = \"both\"\nformula = \"F a & F b\"\n";
    let apart = policy(&folder, "exclusive = [[\"a\", \"b\"]]", rules);
    assert_eq!(field(&run(&["explain", &apart, "both"]), "satisfying"), "{a} {b}");
    let one = policy(&folder, "one_per_event = true", "[[rule]]\nid = \"no\"\nformula = \"G !a\"\n");
    assert_eq!(field(&run(&["explain", &one, "no"]), "satisfying"), "{b}");
    assert_eq!(field(&run(&["explain", "--formula", "F a & F b"]), "satisfying"), "{a, b}");
}

#[test]
fn explain_tells_when_there_is_no_trace() {
    let ran = run(&["explain", "--formula", "G X true"]);
    assert_eq!(field(&ran, "satisfying"), "no trace that has an event");
    assert_eq!(field(&ran, "violating"), "{}");
    assert_eq!(field(&run(&["explain", "--formula", "true"]), "violating"), "no trace that has an event");
}

#[test]
fn explain_without_a_rule_explains_all() {
    let folder = Folder::new();
    let policy = policy(&folder, "", RULES);
    let all = run(&["explain", &policy]);
    let one = |id| run(&["explain", &policy, id]).out;
    assert_eq!((all.code, all.out), (0, format!("{}\n{}", one("answer"), one("order"))));
    let none = run(&["explain", &policy, "other"]);
    assert!(none.code == 2 && none.err.contains("its rules are `answer`, `order`"), "{none:?}");
}

#[test]
fn a_template_is_taken_as_such_and_told_from_a_formula() {
    assert_eq!(field(&run(&["explain", "--template", "response(a, b)"]), "formula"), "G(a -> F b)");
    let folder = Folder::new();
    let in_policy = policy(&folder, "", "[[rule]]\nid = \"r\"\nformula = \"response(a, b)\"\n");
    for args in [&["compile", "--formula", "response(a, b)"][..], &["compile", &in_policy]] {
        let ran = run(args);
        assert!(ran.code == 2 && ran.err.contains("expected a formula, found a template"), "{ran:?}");
        assert!(
            ran.err.contains("its formula is `G(a -> F b)`") && ran.err.contains("1 mistake in"),
            "{ran:?}"
        );
    }
    let misspelt = run(&["compile", "--formula", "a befor b"]);
    assert!(misspelt.err.contains("did you mean `a before b`?"), "{}", misspelt.err);
    assert!(!run(&["compile", "--formula", "a and and b"]).err.contains("found a template"));
}

#[test]
fn under_infinite_semantics_examples_are_traces_that_decide() {
    let ran = |formula: &str| run(&["explain", "--formula", formula, "--semantics", "infinite"]);
    let examples = |formula: &str| {
        let ran = ran(formula);
        (field(&ran, "satisfying").to_owned(), field(&ran, "violating").to_owned())
    };
    let none = "no finite trace".to_owned();
    assert_eq!(examples("G(a -> F b)"), (none.clone(), none.clone()));
    assert_eq!(examples("!b W a"), ("{a}".to_owned(), "{b}".to_owned()));
    assert_eq!(examples("G X true"), ("{}".to_owned(), none.clone()));
    assert_eq!(examples("at end a"), (none, "{}".to_owned()));
    let folder = Folder::new();
    let policy = policy(&folder, "semantics = \"infinite\"", RULES);
    for args in [&["compile", &policy][..], &["explain", &policy]] {
        assert_eq!(run(args).code, 0, "{args:?}");
    }
}
