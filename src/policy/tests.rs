use std::fmt::Write as _;

use tracelaw_compiler::diag::Diagnostic;
use tracelaw_compiler::syntax::{Dialect, Limits, parse};

use super::*;

/// The mistakes and warnings of a policy: code, the text they point at, message.
fn told(text: &str, hint: &str) -> Vec<(&'static str, String, String)> {
    let tell = |d: &Diagnostic| {
        let pointed = text.get(d.span.start..d.span.end).unwrap_or_else(|| panic!("{d:?}"));
        (d.code, pointed.to_owned(), d.message.clone())
    };
    match Policy::parse(text, hint) {
        Ok(policy) => policy.warnings.iter().map(tell).collect(),
        Err(report) => report.iter().map(tell).collect(),
    }
}

/// Asserts that `text` has exactly these mistakes: code, text pointed at, part of the message.
fn assert_told(text: &str, wanted: &[(&str, &str, &str)]) {
    let found = told(text, "p.toml");
    for (found, wanted) in found.iter().zip(wanted) {
        let same = found.0 == wanted.0 && found.1 == wanted.1 && found.2.contains(wanted.2);
        assert!(same, "{text}\nfound  {found:?}\nwanted {wanted:?}");
    }
    assert_eq!(found.len(), wanted.len(), "{text}\n{found:#?}");
}

const WHOLE: &str = r#"
name = "payments"
semantics = "infinite"
steps = "matched"
given = ["approved", "flagged"]
one_per_event = false
exclusive = [["pay", "refund"]]
after_violation = "restart"

[propositions]
pay = 'tool == "pay"'
refund = 'tool == "refund" && args.amount > 10'
money = "pay || refund"

[define]
quiet = "G !flagged"
careful = "quiet & (money -> O approved)"

[[rule]]
id = "A"
text = "approve first"
source = "PSD2 Art. 97(1)(b)"
severity = "warning"
formula = "G(pay -> O approved) & careful"

[[rule]]
id = "B"
template = "response(pay, refund)"
after_violation = "off"
per = "args.account"
keyed = ["pay", "refund"]
steps = 'kind != "span"'
"#;

#[test]
fn a_policy_says_all_there_is() {
    let policy = Policy::parse(WHOLE, "p.toml").unwrap_or_else(|r| panic!("{r}"));
    assert_eq!((policy.name.as_str(), policy.semantics), ("payments", Semantics::Infinite));
    assert_eq!(policy.vocabulary, ["approved", "flagged", "pay", "refund", "money"]);
    assert_eq!(
        (&policy.given[..], &policy.exclusive[..], policy.one_per_event),
        (&[0, 1][..], &[vec![2, 3]][..], false)
    );
    assert!(matches!(policy.steps, Steps::Matched) && policy.warnings.is_empty());
    let [a, b] = &policy.rules[..] else { panic!("{:?}", policy.rules) };
    let read = |text: &str| parse(text, Dialect::Tracelaw, &Limits::default()).unwrap();
    assert_eq!(a.formula, read("G(pay -> O approved) & ((G !flagged) & (money -> O approved))"));
    assert_eq!(
        (a.id.as_str(), a.text.as_str(), a.written.as_str()),
        ("A", "approve first", "G(pay -> O approved) & careful")
    );
    assert_eq!((a.source.as_deref(), a.severity), (Some("PSD2 Art. 97(1)(b)"), Severity::Warning));
    assert_eq!(
        (a.after_violation, a.per.is_none(), a.keyed.len(), a.steps.is_none()),
        (AfterViolation::Restart, true, 0, true)
    );
    assert_eq!(b.formula, read("G(pay -> F refund)"));
    assert_eq!(
        (b.written.as_str(), b.severity, b.after_violation),
        ("response(pay, refund)", Severity::Error, AfterViolation::Off)
    );
    assert_eq!((b.per.as_ref().map(Expression::text), &b.keyed[..]), (Some("args.account"), &[2, 3][..]));
    assert!(matches!(&b.steps, Some(Steps::Where(e)) if e.text() == "kind != \"span\""));
    // Places are those of the file, inside named formulas too.
    assert_eq!(&WHOLE[a.formula.span.start..a.formula.span.end], "G(pay -> O approved) & careful");
    let mut places = Vec::new();
    inline::for_each_name(&a.formula, &mut |name, span| {
        places.push((name.to_owned(), &WHOLE[span.start..span.end]))
    });
    assert!(places.len() == 5 && places.iter().all(|(name, place)| name == place), "{places:?}");
}

#[test]
fn defaults() {
    let policy =
        Policy::parse("given = ['p']\n[[rule]]\nid = '1'\nformula = 'p'", "dir/some.policy.toml").unwrap();
    assert_eq!(
        (policy.name.as_str(), policy.semantics, policy.one_per_event),
        ("some.policy", Semantics::Finite, false)
    );
    assert!(matches!(policy.steps, Steps::Calls));
    let rule = &policy.rules[0];
    assert_eq!(
        (rule.after_violation, rule.severity, rule.text.as_str()),
        (AfterViolation::Repair, Severity::Error, "")
    );
}

/// What a policy says, without places.
fn model(policy: &Policy) -> String {
    let mut out = format!("{} {:?} {:?}", policy.name, policy.semantics, policy.vocabulary);
    write!(out, "{:?} {:?} {} {:?}", policy.given, policy.exclusive, policy.one_per_event, policy.steps)
        .unwrap();
    write!(out, "{:?}", policy.labeller).unwrap();
    for r in &policy.rules {
        write!(out, "{} {} {:?} {:?} {}", r.id, r.text, r.source, r.severity, r.written).unwrap();
        write!(out, "{:?} {:?} {:?} {:?}", r.after_violation, r.per, r.keyed, r.steps).unwrap();
    }
    out
}

#[test]
fn toml_and_json_give_the_same_policy() {
    let value: serde_json::Value = toml::from_str(WHOLE).unwrap();
    // `toml` sorts tables; the order of propositions is the file's.
    let mut value = value.as_object().unwrap().clone();
    value.insert("propositions".to_owned(), serde_json::json!({
        "pay": "tool == \"pay\"", "refund": "tool == \"refund\" && args.amount > 10", "money": "pay || refund"
    }));
    let text = serde_json::to_string_pretty(&value).unwrap();
    let by_toml = Policy::parse(WHOLE, "p.toml").unwrap();
    // By ending, and by the first character.
    for hint in ["p.json", "-"] {
        let by_json = Policy::parse(&text, hint).unwrap_or_else(|r| panic!("{r}"));
        assert_eq!(model(&by_toml), model(&by_json));
        assert!(by_toml.rules.iter().zip(&by_json.rules).all(|(a, b)| a.formula == b.formula));
    }
    assert_eq!(model(&by_toml), model(&Policy::parse(WHOLE, "-").unwrap()));
}

#[test]
fn all_mistakes_at_once() {
    assert_told(
        r#"
name = 7
semantic = "finite"
steps = "cals"
given = ["a", "a", 3]
one_per_event = "yes"
exclusive = [["a", "bb", "a"], ["a"]]
dialect = "spott"
after_violation = "repeat"

[propositions]
b = "tool == "
c = 'tol == "x"'
d = 'args.x.matches("(")'
e = 'args.x.startWith("a") && status == "denid"'
f = "e || g"
g = "f && f"
h = "'x'"

[define]
c = "X b"
k = "l | a"
l = "F k"

[[rule]]
id = "r1"
txt = "x"
formula = "G(bee -> F )"

[[rule]]
id = "r1"
template = "response(a, nobody)"
severity = "high"

[[rule]]
formula = "a"
template = "absence(a)"
per = "args.x"

[[rule]]
id = "r4"
keyed = ["a", "x1"]
"#,
        &[
            ("wrong-type", "7", "`name` must be a text, not a number"),
            ("unknown-key", "semantic", "unknown key `semantic`"),
            ("unknown-name", "cals", "unknown name `cals`"),
            ("duplicate", "\"a\"", "the proposition `a` is there twice"),
            ("wrong-type", "3", "a name in `given` must be a text"),
            ("wrong-type", "\"yes\"", "`one_per_event` must be `true` or `false`"),
            ("unknown-name", "\"bb\"", "unknown proposition `bb` in `exclusive`"),
            ("duplicate", "\"a\"", "`a` is there twice in `exclusive`"),
            ("no-effect", "[\"a\"]", "one name alone excludes nothing"),
            ("unknown-value", "\"spott\"", "`dialect` cannot be `spott`"),
            ("unknown-value", "\"repeat\"", "`after_violation` cannot be `repeat`"),
            ("syntax", "", "the expression ends too early"),
            ("unknown-name", "tol", "unknown name `tol`"),
            ("pattern", "\"(\"", "not a regular expression: unclosed group"),
            ("unknown-name", "startWith", "unknown function `startWith`"),
            ("unknown-value", "\"denid\"", "`status` is never `denid`"),
            ("cycle", "f", "the proposition `f` is made of itself: `f` -> `g` -> `f`"),
            ("wrong-type", "'x'", "true or false is wanted"),
            ("duplicate", "c", "both a proposition and a named formula"),
            ("cycle", "k", "the named formula `k` is made of itself: `k` -> `l` -> `k`"),
            ("unknown-key", "txt", "unknown key `txt`"),
            ("syntax", ")", ""),
            ("duplicate", "\"r1\"", "two rules have the id `r1`"),
            ("unknown-name", "nobody", "unknown proposition `nobody`"),
            ("unknown-value", "\"high\"", "`severity` cannot be `high`"),
            ("missing-key", "[[rule]]", "has no `id`"),
            ("conflict", "template", "both a `formula` and a `template`"),
            ("missing-key", "per", "`per` without `keyed`"),
            ("missing-key", "[[rule]]", "neither a `formula` nor a `template`"),
            ("missing-key", "keyed", "`keyed` without `per`"),
            ("unknown-name", "\"x1\"", "unknown proposition `x1` in `keyed`"),
        ],
    );
}

#[test]
fn places_inside_texts_with_escapes() {
    let rule = |formula: &str| format!("given = ['aa']\n[[rule]]\nid = 'r'\nformula = {formula}\n");
    for formula in [
        "'aa & bb'",
        "\"aa & bb\"",
        "\"\\u0061a & bb\"",
        "\"aa\\t&\\x20bb\"",
        "'''\naa\n & bb'''",
        "\"\"\"\naa \\\n   \\\n  & bb\"\"\"",
        "\"\"\"aa\r\n & \\\"x y\\\" & bb\"\"\"",
        "\"\\\"\\U0001F600é\\\" & bb\"",
    ] {
        let found = told(&rule(formula), "p.toml");
        assert!(found.iter().any(|f| f.0 == "unknown-name" && f.1 == "bb"), "{formula}: {found:?}");
    }
    let json = r#"{"given": ["aa"], "rule": [{"id": "r", "formula": "\"\ud83d\uDE00\/\" \u0026 aa & bb"}]}"#;
    let found = told(json, "p.json");
    assert!(found.iter().any(|f| f.1 == "bb"), "{found:?}");
    assert!(found.iter().any(|f| f.1 == r#"\"\ud83d\uDE00\/\""#), "{found:?}");
}

#[test]
fn texts_that_are_no_policy() {
    assert_told("", &[("missing-key", "", "the policy has no rule")]);
    assert_told("rule = []", &[("missing-key", "", "the policy has no rule")]);
    assert_told(
        "[rule]\nid = 'a'",
        &[("wrong-type", "[rule]", "`rule` must be a list of tables, not a table")],
    );
    assert_told(
        "rule = [1]\nrules = 2\ngiven = 'p'\npropositions = 3\nexclusive = ['a', 'b']",
        &[
            ("missing-key", "", "no rule"),
            ("wrong-type", "1", "a rule must be a table, not a number"),
            ("unknown-key", "rules", "unknown key `rules`"),
            ("wrong-type", "'p'", "`given` must be a list of names, not a text"),
            ("wrong-type", "3", "`propositions` must be a table, not a number"),
            ("wrong-type", "['a', 'b']", "`exclusive` is a list of sets of names"),
        ],
    );
    // Mistakes of the form and of the content together.
    let found = told(
        "name = \nsemantic = 'x'\nname = 'b'\nname = 'c'\n[[rule]]\nid = 'r'\nformula = 'q'\n",
        "p.toml",
    );
    let codes: Vec<&str> = found.iter().map(|f| f.0).collect();
    for code in ["syntax", "unknown-key", "duplicate", "unknown-name"] {
        assert!(codes.contains(&code), "{code}: {found:?}");
    }
    let found = told("{\"name\": \"é\",\n \"given\": [}", "p.json");
    assert_eq!((found[0].0, found[0].1.as_str(), found.len()), ("syntax", "", 1), "{found:?}");
    let found = told(
        r#"{"name": "a", "name" : "b", "rule": [{"id": "r", "id": null, "formula": "true", "x": 1}]}"#,
        "-",
    );
    let found: Vec<_> = found.iter().map(|f| (f.0, f.1.as_str())).collect();
    assert_eq!(found, [("duplicate", "\"name\""), ("duplicate", "\"id\""), ("unknown-key", "\"x\"")]);
    assert_eq!(told("[1]", "p.json")[0].2, "the policy must be a table, not a list");
    assert_eq!(told("\"\\ud800\"", "p.json")[0].0, "syntax");
    let Err(LoadError::Read(_)) = Policy::load(Path::new("/no/such/policy.toml")) else { panic!() };
}

/// A policy with one proposition.
fn with(expression: &str) -> String {
    format!("[propositions]\np = '''{expression}'''\n[[rule]]\nid = 'r'\nformula = 'p'\n")
}

#[test]
fn mistakes_in_expressions() {
    for (expression, code, pointed, message) in [
        ("", "syntax", "", "the expression is empty"),
        ("tool ==", "syntax", "", "the expression ends too early"),
        ("tool = \"x\"", "syntax", "=", "unexpected `=`"),
        ("tool == \"é\" and true", "syntax", "and", "unexpected `and`"),
        ("tool == \"é\" & true", "syntax", "&", "unexpected `&`"),
        ("tool == \"x", "syntax", "\"x", "not closed"),
        ("tool == \"é\\q\"", "syntax", "\"é\\q\"", "bad escape"),
        ("(tool == \"x\"", "syntax", "", "ends too early"),
        ("tool == \"x\")", "syntax", ")", "unexpected `)`"),
        ("args.n > 99999999999999999999", "syntax", "99999999999999999999", "invalid int literal"),
        ("\"é\" == tol", "unknown-name", "tol", "unknown name `tol`"),
        ("pay_out", "unknown-name", "pay_out", "unknown name `pay_out`"),
        ("frob(args)", "unknown-name", "frob", "unknown function `frob`"),
        ("args.frob()", "unknown-name", "frob", "unknown function `frob`"),
        ("size(args, 1) > 0", "syntax", "size", "wrong number of arguments for `size`"),
        ("text.contains()", "syntax", "contains", "wrong number of arguments for `contains`"),
        ("has(args)", "syntax", "args", "has"),
        ("text.matches(tool)", "pattern", "tool", "not a text in quotes"),
        ("text.matches(\"a{2,1}\")", "pattern", "\"a{2,1}\"", "not a regular expression"),
        ("args.map(x, x) == []", "unknown-name", "(", "only `exists` and `all`"),
        ("{\"a\": 1}.a == 1", "syntax", "{", "objects cannot be written"),
        ("b\"x\" == text", "syntax", "b\"x\"", "byte texts"),
        ("args?.x == 1", "syntax", "?", "`?` begins a conditional"),
        ("args.?x == 1", "syntax", "?", "`?` begins a conditional"),
        ("kind == \"tool\"", "unknown-value", "\"tool\"", "`kind` is never `tool`"),
        ("status in [\"ok\", \"err\"]", "unknown-value", "\"err\"", "`status` is never `err`"),
        ("tool", "wrong-type", "tool", "true or false is wanted"),
        ("tool && true", "wrong-type", "tool", "true or false is wanted"),
        ("\"pay\"", "wrong-type", "\"pay\"", "true or false is wanted"),
        ("status == \"denied\"", "never-true", "\"denied\"", "never true"),
        (
            "args.tags.exists(tool, tool == \"x\") && args.x.exists(y, z)",
            "unknown-name",
            "z",
            "unknown name `z`",
        ),
    ] {
        assert_told(&with(expression), &[(code, pointed, message)]);
    }
    assert_told(
        "given = ['tool']\n[propositions]\np = 'tool == \"x\"'\n[[rule]]\nid = 'r'\nformula = 'p & tool'\n",
        &[("shadowed", "tool", "the event's tool, not the proposition")],
    );
    assert_told(
        "given = ['a']\n[[rule]]\nid = 'r'\nformula = 'a'\nper = 'a'\nkeyed = ['a']\nsteps = 'al'",
        &[
            ("unknown-name", "a", "`a` is a proposition, and a key is made of the event alone"),
            ("unknown-name", "al", "unknown name `al`"),
        ],
    );
}

#[test]
fn warnings_do_not_stop_a_policy() {
    let text = "given = ['a', 'b']\n[define]\nd = 'a'\ne = 'd'\n[[rule]]\nid = 'r'\nformula = 'a'\nper = 'args.x'\nkeyed = ['b']";
    assert_told(
        text,
        &[
            ("unused", "e", "no rule uses the named formula `e`"),
            ("no-effect", "'b'", "the rule does not speak of `b`"),
        ],
    );
    assert_eq!(Policy::parse(text, "p.toml").unwrap().warnings.iter().len(), 2);
}

#[test]
fn suggestions() {
    for (text, help) in [
        ("rul = 1", "did you mean `rule`?"),
        ("xyz = 1", "the keys here are `name`, `semantics`"),
        ("semantics = 'finit'", "did you mean `finite`?"),
        ("steps = 'matchd'", "did you mean `matched`?"),
        (
            "steps = 'call'",
            "did you mean `all` or `calls`? steps are `calls`, `all`, `matched` or an expression",
        ),
        ("given = ['approved']\nexclusive = [['aproved', 'approved']]", "did you mean `approved`?"),
        ("[propositions]\np = 'send_mail'", "the tool of that name is written `tool == \"send_mail\"`"),
        ("[propositions]\np = 'text.contain(\"x\")'", "did you mean `contains`?"),
        ("[propositions]\np = 'kind == \"usr\"'", "did you mean `\"user\"`?"),
        ("given = ['approved']\n[define]\nx = 'aproved'", "did you mean `approved`?"),
        ("[define]\nx = 'pay'", "list it in `given`: `given = [\"pay\"]`"),
        ("given = ['a']\n[define]\nd = 'a'\n[[rule]]\nper = 'tool'\nkeyed = ['d']", "`d` is a named formula"),
    ] {
        let report = Policy::parse(text, "p.toml").unwrap_err();
        let helps: Vec<&str> = report.iter().filter_map(|d| d.help.as_deref()).collect();
        assert!(helps.iter().any(|h| h.contains(help)), "{text}: {helps:?}");
    }
}

#[test]
fn letters_that_cannot_be() {
    let policy = |head: &str| {
        let text = format!("{head}\ngiven = ['a', 'b', 'c']\n[[rule]]\nid = 'r'\nformula = 'a'");
        Policy::parse(&text, "p.toml").unwrap()
    };
    let one = policy("one_per_event = true");
    assert_eq!(one.contradiction(&[0b010]), None);
    assert!(one.contradiction(&[0b101]).unwrap().starts_with("`a` and `c` hold at once"));
    assert!(one.contradiction(&[0]).unwrap().contains("no proposition holds"));
    assert!(one.contradiction(&[]).unwrap().contains("`exclusive`"));
    let some = policy("exclusive = [['a', 'b'], ['b', 'c']]");
    assert_eq!((some.contradiction(&[0]), some.contradiction(&[0b101])), (None, None));
    assert!(some.contradiction(&[0b110]).unwrap().starts_with("`b` and `c` hold at once"));
    assert_eq!(policy("").contradiction(&[0b111]), None);
}

#[test]
fn which_events_are_steps() {
    let steps = |text: &str| {
        let text = format!(
            "steps = '{text}'\n[propositions]\np = 'tool == \"x\"'\n[[rule]]\nid = 'r'\nformula = 'p'"
        );
        let policy = Policy::parse(&text, "p.toml").unwrap();
        let event = |kind, tool: &str| Event { kind, tool: tool.to_owned(), ..Event::default() };
        let events =
            [event(Kind::Call, "x"), event(Kind::Call, "y"), event(Kind::Span, "x"), event(Kind::User, "")];
        events.map(|event| {
            let mut letter = Vec::new();
            policy.labeller.label(&event, &mut letter).unwrap();
            policy.steps.includes(&event, &letter) == Ok(true)
        })
    };
    assert_eq!(steps("calls"), [true, true, false, false]);
    assert_eq!(steps("all"), [true; 4]);
    assert_eq!(steps("matched"), [true, false, true, false]);
    assert_eq!(steps("p || kind == \"user\""), [true, false, true, true]);
    assert_eq!(steps("args.x > 1"), [false; 4]);
}

#[test]
fn hostile_texts_end_in_messages() {
    let n = 100_000;
    let chains = [
        "(".repeat(n),
        format!("{}true{}", "(".repeat(n), ")".repeat(n)),
        format!("{}true", "!".repeat(n)),
        format!("{}true", "(".repeat(60_000)),
        format!("args{}", "[0]".repeat(n)),
        format!("args{} == 1", ".x".repeat(30_000)),
        format!("args{} == 1", "[0]".repeat(20_000)),
        format!("1{} == 1", " + 1".repeat(16_000)),
        format!("{}true", "true?true:".repeat(6_000)),
        format!("{}true{}", "[1].exists(x,".repeat(4_000), ")".repeat(4_000)),
        format!("true{}", "==true".repeat(10_000)),
        format!("text.matches(\"{}\")", "(".repeat(30_000)),
        "text.matches(\"((a{900}){900}){900}\")".to_owned(),
        "'".repeat(60_001),
        "\u{1F600}".repeat(10_000),
    ];
    for chain in &chains {
        let found = told(&with(chain), "p.toml");
        assert!(!found.is_empty() && found.len() < 5, "{} -> {found:?}", chain.get(..20).unwrap_or(""));
    }
    // Long but flat is fine.
    let tools: Vec<String> = (0..5_000).map(|i| format!("\"t{i}\"")).collect();
    assert_eq!(told(&with(&format!("tool in [{}]", tools.join(","))), "p.toml"), []);
    assert_eq!(told(&with(&vec!["args.x > 1"; 3_000].join(" || ")), "p.toml"), []);

    for text in
        ["[".repeat(n), format!("x = {}", "[".repeat(n)), format!("x = {}", "{a=".repeat(n)), "a.".repeat(n)]
    {
        assert!(!told(&text, "p.toml").is_empty());
    }
    for text in ["[".repeat(n), "{\"a\":".repeat(n), format!("{}{}", "[".repeat(n), "]".repeat(n))] {
        assert!(!told(&text, "p.json").is_empty());
    }
    let deep = format!("{{\"rule\": {}{}}}", "[".repeat(n), "]".repeat(n));
    assert!(told(&deep, "p.json").iter().any(|f| f.0 == "limit" || f.0 == "syntax"));
}

#[test]
fn a_long_circle_is_told_shortly() {
    let mut text = String::from("given = ['p']\n[define]\n");
    for i in 0..5_000 {
        writeln!(text, "d{i} = 'X d{}'", (i + 1) % 5_000).unwrap();
    }
    text.push_str("[[rule]]\nid = 'r'\nformula = 'd0'\n");
    let found = told(&text, "p.toml");
    assert_eq!((found.len(), found[0].0, found[0].1.as_str()), (1, "cycle", "d0"));
    assert!(found[0].2.ends_with("`d9` -> (4990 more) -> `d0`"), "{}", found[0].2);
}

#[test]
fn named_formulas_cannot_explode() {
    let mut text = String::from("given = ['p']\n[define]\nd0 = 'p'\n");
    for i in 1..64 {
        writeln!(text, "d{i} = 'd{} & X d{}'", i - 1, i - 1).unwrap();
    }
    text.push_str("[[rule]]\nid = 'r'\nformula = 'd63'\n");
    let found = told(&text, "p.toml");
    assert!(found.iter().all(|f| f.0 == "limit") && !found.is_empty(), "{found:?}");

    let chain = |len: usize| {
        let mut text = String::from("given = ['p']\n[define]\nd0 = 'p'\n");
        for i in 1..len {
            writeln!(text, "d{i} = 'X d{}'", i - 1).unwrap();
        }
        write!(text, "[[rule]]\nid = 'r'\nformula = 'd{}'\n", len - 1).unwrap();
        text
    };
    assert_eq!(told(&chain(500), "p.toml"), []);
    // As deep as the parser allows, to be walked on a thread's small stack.
    let deep = format!("given = ['p']\n[[rule]]\nid = 'r'\nformula = '{}p'", "X ".repeat(990));
    assert_eq!(told(&deep, "p.toml"), []);
    let found = told(&chain(50_000), "p.toml");
    assert!(found.iter().all(|f| f.0 == "limit") && !found.is_empty(), "{:?}", found.first());
}

#[test]
fn ten_megabytes_are_no_problem() {
    // One formula; many propositions in a chain; nothing but mistakes; one long name.
    let formula = format!("given = ['p']\n[[rule]]\nid = 'r'\nformula = '{}p'", "p & ".repeat(2_500_000));
    assert_eq!(told(&formula, "p.toml").iter().map(|f| f.0).collect::<Vec<_>>(), ["limit"]);
    let name = format!("{} = 1", "x".repeat(10_000_000));
    assert_eq!(told(&name, "p.toml").len(), 2);
    let mut chain = String::from("[propositions]\np0 = 'tool == \"x\"'\n");
    for i in 1..4_000 {
        writeln!(chain, "p{i} = 'p{} || tool == \"t{i}\"'", i - 1).unwrap();
    }
    chain.push_str("[[rule]]\nid = 'r'\nformula = 'p3999'\n");
    assert_eq!(told(&chain, "p.toml"), []);
    let mut wrong = String::from("[propositions]\n");
    for i in 0..4_000 {
        writeln!(wrong, "proposition_{i} = 'propositoin_{i}'").unwrap();
    }
    for i in 0..150_000 {
        writeln!(wrong, "[[rule]]\nid = 'r{i}'\nformula = 'propositoin_{}'\n", i % 4_000).unwrap();
    }
    assert_eq!(told(&wrong, "p.toml").len(), 154_000);
}

#[test]
fn the_policies_of_the_real_runs_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/policies/real");
    let mut rules = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let policy = Policy::load(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(policy.warnings.is_empty(), "{}: {}", path.display(), policy.warnings);
        assert_eq!(Some(policy.name.as_str()), path.file_stem().and_then(|s| s.to_str()));
        rules += policy.rules.len();
    }
    assert_eq!(rules, 36);
}

#[test]
fn the_policies_of_the_guide_are_read() {
    let guide = include_str!("../../docs/policies.md");
    let policies: Vec<&str> =
        guide.split("```toml\n").skip(1).filter_map(|part| part.split("```").next()).collect();
    assert_eq!(policies.len(), 2);
    for text in policies {
        assert_eq!(told(text, "p.toml"), []);
    }
}

/// One mistake per value, and what is wrong in it besides.
#[test]
fn values_without_quotes() {
    let text = "[propositions]\na = tool == \"x\" # it's x\nb = tool == 'y' && text != \"z\"\n[[rule]]\nid = r1\nformula = G(a -> F c)\n";
    let found = told(text, "p.toml");
    let expected = [
        ("syntax", "tool == \"x\"", "expected a text in quotes, found `tool == \"x\"`"),
        (
            "syntax",
            "tool == 'y' && text != \"z\"",
            "expected a text in quotes, found `tool == 'y' && text != \"z\"`",
        ),
        ("syntax", "r1", "expected a text in quotes, found `r1`"),
        ("syntax", "G(a -> F c)", "expected a text in quotes, found `G(a -> F c)`"),
        ("unknown-name", "c", "unknown proposition `c`"),
    ];
    assert_eq!(found.iter().map(|(c, p, m)| (*c, p.as_str(), m.as_str())).collect::<Vec<_>>(), expected);
    let helps: Vec<String> =
        Policy::parse(text, "p.toml").unwrap_err().into_iter().filter_map(|d| d.help).collect();
    assert_eq!(helps[0], "write `a = 'tool == \"x\"'`");
    assert_eq!(helps[1], "write `b = '''tool == 'y' && text != \"z\"'''`");
    // Constants that are misspelt are no texts.
    assert!(told("one_per_event = True\n", "p.toml").iter().all(|(_, _, m)| !m.contains("in quotes")));
}
