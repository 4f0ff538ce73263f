//! Guards are exact, what is written can be read back, traces are shortest, sentences say what they should.

use tracelaw_runtime::{Letter, Verdict};

use super::*;
use crate::syntax::{self, Dialect};
use crate::{AfterViolation, Compiled, Options, compile, semantics, template};

const FORMULAS: &[&str] = &[
    "true",
    "false",
    "a",
    "G(a -> F b)",
    "!b W a",
    "G(a -> X(b | (c & !a)))",
    "F(a & b & c)",
    "G(a xor b xor c)",
    "(a <-> b) U (b <-> c)",
    "!F(a & X F(a & X F a))",
    "G((a & b) -> WX !c)",
    "F[1,2] a & G(b -> Y c)",
    "G(X b -> a)",
];

fn parse(text: &str) -> Ast {
    syntax::parse(text, Dialect::Tracelaw, &syntax::Limits::default()).unwrap()
}

fn names(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn build(text: &str, vocabulary: &[String], options: &Options) -> Compiled {
    compile(&parse(text), vocabulary, options).unwrap()
}

/// All traces of up to that many letters over three propositions.
fn traces(longest: usize) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    let mut from = 0;
    for _ in 0..longest {
        let to = all.len();
        for i in from..to {
            for letter in 0..8 {
                let mut longer = all[i].clone();
                longer.push(letter);
                all.push(longer);
            }
        }
        from = to;
    }
    all
}

#[test]
fn guards_are_exact_disjoint_and_complete() {
    let vocabulary = names("a b c");
    for mode in [None, Some(AfterViolation::Repair), Some(AfterViolation::Restart)] {
        for text in FORMULAS {
            let compiled = build(text, &vocabulary, &Options { after_violation: mode, ..Options::default() });
            for state in 0..compiled.automaton.state_len() {
                let edges = edges(&compiled.automaton, state).unwrap();
                for letter in 0..8_u64 {
                    let letter = [letter];
                    let step = compiled.automaton.step(state, Letter(&letter));
                    for edge in &edges {
                        let is_it = (edge.target, edge.breach) == (step.state, step.breach);
                        assert_eq!(
                            edge.guard.holds(Letter(&letter)),
                            is_it,
                            "{text} {state} {letter:?} {edge:?}"
                        );
                        // The formula says the same as the guard.
                        let formula = edge.guard.formula(&vocabulary);
                        assert_eq!(semantics::accepts(&formula, &vocabulary, &letter), is_it, "{formula}");
                        let again = parse(&edge.guard.lines(&vocabulary, 5));
                        assert_eq!(again, formula);
                    }
                }
            }
        }
    }
}

#[test]
fn guards_are_short() {
    let guards = |text: &str, vocabulary: &str| -> Vec<String> {
        let vocabulary = names(vocabulary);
        let automaton = build(text, &vocabulary, &Options::default()).automaton;
        let edges = edges(&automaton, automaton.initial()).unwrap();
        edges.iter().map(|e| e.guard.formula(&vocabulary).to_string()).collect()
    };
    assert_eq!(guards("G(a -> F b)", "a b"), ["a & !b", "!a | b"]);
    assert_eq!(guards("true", "a"), ["true"]);
    assert_eq!(
        guards("G !(a & b | a & c | b & c)", "a b c"),
        ["a & b | a & c | b & c", "!a & !b | !a & !c | !b & !c"]
    );
    assert_eq!(
        guards("G(a & b & c | d & e & f)", "a b c d e f"),
        ["!(a & b & c | d & e & f)", "a & b & c | d & e & f"]
    );
}

#[test]
fn guards_of_too_many_paths_are_refused() {
    let vocabulary: Vec<String> = (0..24).map(|i| format!("p{i}")).collect();
    let parity = format!("G({})", vocabulary.join(" xor "));
    let compiled = build(&parity, &vocabulary, &Options::default());
    let error = edges(&compiled.automaton, compiled.automaton.initial()).unwrap_err();
    assert_eq!(error.state(), compiled.automaton.initial());
    assert!(error.to_string().contains("more than 1024 paths"));
    assert_eq!(dot(&compiled, &vocabulary, "t").unwrap_err(), hoa(&compiled, &vocabulary, "t").unwrap_err());
}

#[test]
fn propositions_past_the_64th_are_told_apart() {
    let vocabulary: Vec<String> = (0..130).map(|i| format!("p{i}")).collect();
    let automaton = build("G(p1 -> p65 | !p129)", &vocabulary, &Options::default()).automaton;
    let edges = edges(&automaton, automaton.initial()).unwrap();
    let text: Vec<String> = edges.iter().map(|e| e.guard.formula(&vocabulary).to_string()).collect();
    assert_eq!(text, ["p1 & !p65 & p129", "!(p1 & !p65 & p129)"]);
}

/// A reader of the part of the HOA format that is written here, made from the format's definition.
struct Hoa {
    start: usize,
    names: Vec<String>,
    /// Acceptance, and edges as label and target.
    states: Vec<(bool, Vec<(String, usize)>)>,
}

impl Hoa {
    fn read(text: &str) -> Hoa {
        let mut hoa = Hoa { start: 0, names: Vec::new(), states: Vec::new() };
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("HOA: v1"));
        let mut count = 0;
        for line in lines.by_ref().take_while(|l| *l != "--BODY--") {
            if let Some(n) = line.strip_prefix("States: ") {
                count = n.parse().unwrap();
            } else if let Some(n) = line.strip_prefix("Start: ") {
                hoa.start = n.parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("AP: ") {
                hoa.names = strings(rest);
                assert_eq!(rest.split(' ').next().unwrap().parse::<usize>().unwrap(), hoa.names.len());
            }
        }
        for line in lines.by_ref().take_while(|l| *l != "--END--") {
            if let Some(state) = line.strip_prefix("State: ") {
                assert_eq!(state.split(' ').next().unwrap().parse::<usize>().unwrap(), hoa.states.len());
                hoa.states.push((state.ends_with("{0}"), Vec::new()));
            } else {
                let (label, target) = line.strip_prefix('[').unwrap().split_once("] ").unwrap();
                hoa.states.last_mut().unwrap().1.push((label.to_owned(), target.parse().unwrap()));
            }
        }
        assert_eq!(lines.next(), None);
        assert_eq!(count, hoa.states.len());
        hoa
    }

    /// Whether the finite trace is accepted, and that exactly one edge is open at each event.
    fn accepts(&self, vocabulary: &[String], trace: &[u64]) -> bool {
        let mut state = self.start;
        for letter in trace {
            let value = |ap: usize| {
                let prop = vocabulary.iter().position(|n| *n == self.names[ap]).unwrap();
                letter >> prop & 1 != 0
            };
            let open: Vec<usize> =
                self.states[state].1.iter().filter(|(l, _)| label(l, &value)).map(|e| e.1).collect();
            assert_eq!(open.len(), 1, "deterministic and complete");
            state = open[0];
        }
        self.states[state].0
    }
}

/// The quoted strings in a header.
fn strings(text: &str) -> Vec<String> {
    let (mut out, mut open) = (Vec::new(), None::<String>);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match (c, open.as_mut()) {
            ('"', None) => open = Some(String::new()),
            ('"', Some(_)) => out.push(open.take().unwrap()),
            ('\\', Some(s)) => s.push(rest.next().unwrap()),
            (c, Some(s)) => s.push(c),
            (_, None) => {}
        }
    }
    out
}

/// `!(0&!1 | 2)`, `t`, `f`
fn label(text: &str, value: &impl Fn(usize) -> bool) -> bool {
    if let Some(inner) = text.strip_prefix("!(").and_then(|t| t.strip_suffix(')')) {
        return !label(inner, value);
    }
    let literal = |text: &str| match (text, text.strip_prefix('!')) {
        ("t", _) => true,
        ("f", _) => false,
        (_, Some(ap)) => !value(ap.parse().unwrap()),
        (ap, None) => value(ap.parse().unwrap()),
    };
    text.split(" | ").any(|cube| cube.split('&').all(literal))
}

#[test]
fn hoa_read_back_accepts_the_same_traces() {
    let vocabulary = names("a b c");
    let traces = traces(4);
    for text in FORMULAS {
        let compiled = build(text, &vocabulary, &Options::default());
        let hoa = Hoa::read(&hoa(&compiled, &vocabulary, "a \"title\" \\ with\nlines").unwrap());
        for trace in &traces {
            let state = trace.iter().fold(compiled.automaton.initial(), |state, &letter| {
                compiled.automaton.step(state, Letter(&[letter])).state
            });
            let accepts = compiled.automaton.verdict(state).accepts();
            assert_eq!(hoa.accepts(&vocabulary, trace), accepts, "{text} on {trace:?}");
        }
    }
}

#[test]
fn strange_names_survive_in_every_form() {
    let vocabulary = vec!["say \"x\\y\"".to_owned(), "F".to_owned()];
    let formula =
        Ast::new(Span::default(), Expr::And(vec![proposition(&vocabulary, 0), proposition(&vocabulary, 1)]));
    let compiled = compile(&formula, &vocabulary, &Options::default()).unwrap();
    let written = hoa(&compiled, &vocabulary, "t").unwrap();
    assert_eq!(Hoa::read(&written).names, vocabulary);
    let drawn = dot(&compiled, &vocabulary, "a \"t\"\n&lt;").unwrap();
    assert!(drawn.starts_with("digraph \"a \\\"t\\\"\\n&amp;lt;\" {"), "{drawn}");
    // Once for the formula language, once for dot.
    assert!(drawn.contains(r#"[label="\"say \\\"x\\\\y\\\"\" & \"F\""]"#), "{drawn}");
    let json = json(&compiled, &vocabulary, "t\u{1}").unwrap();
    assert!(
        json.starts_with(r#"{"name":"t\u0001","propositions":["say \"x\\y\"","F"],"initial":"#),
        "{json}"
    );
}

#[test]
fn drawings_mark_verdicts_and_breaches() {
    let vocabulary = names("a b");
    let options = Options { after_violation: Some(AfterViolation::Repair), ..Options::default() };
    let drawn = dot(&build("!b W a", &vocabulary, &options), &vocabulary, "order").unwrap();
    assert!(drawn.contains("[label=\"!a & b\", color=red, fontcolor=red];"), "{drawn}");
    assert!(drawn.contains("legend_breach") && drawn.contains("legend_satisfied"), "{drawn}");
    assert!(!drawn.contains("legend_violated"), "{drawn}");
    let plain = dot(&build("!b W a", &vocabulary, &Options::default()), &vocabulary, "order").unwrap();
    assert!(plain.contains("legend_violated") && !plain.contains("color=red"), "{plain}");
}

fn found(text: &str, vocabulary: &str, options: &Options, wanted: fn(Verdict) -> bool) -> Option<String> {
    let vocabulary = names(vocabulary);
    let compiled = build(text, &vocabulary, options);
    let trace = shortest(&compiled.automaton, Letters::new(&vocabulary, options), wanted).unwrap()?;
    Some(trace_text(&trace, &vocabulary))
}

#[test]
fn traces_are_shortest_with_least_letters() {
    let plain = Options::default();
    let violated = |v| v == Verdict::Violated;
    let one = Options { one_of_all: true, ..Options::default() };
    let exclusive = Options { exclusive: vec![vec![0, 1]], ..Options::default() };
    for (text, options, wanted, trace) in [
        ("a before b", &plain, violated as fn(Verdict) -> bool, Some("{b}")),
        ("G(a -> F b)", &plain, Verdict::accepts, Some("{}")),
        ("G(a -> F b)", &plain, violated, None),
        ("F a & F b", &plain, Verdict::accepts, Some("{a, b}")),
        ("F a & F b", &exclusive, Verdict::accepts, Some("{a} {b}")),
        ("F a & F b", &one, Verdict::accepts, Some("{a} {b}")),
        ("G !a", &one, Verdict::accepts, Some("{b}")),
        ("a & X(a & X !a)", &plain, Verdict::accepts, Some("{a} {a} {}")),
        ("G X true", &plain, Verdict::accepts, None),
        ("X X (a | b)", &one, |v| v == Verdict::Satisfied, Some("{a} {a} {a}")),
        ("G(a -> X b)", &plain, violated, Some("{a} {}")),
    ] {
        let formula = text.replace("a before b", "!(!a U b)");
        assert_eq!(found(&formula, "a b", options, wanted).as_deref(), trace, "{text}");
    }
}

#[test]
fn no_trace_is_shorter_than_the_shortest() {
    let vocabulary = names("a b c");
    let traces = traces(4);
    for text in FORMULAS {
        let formula = parse(text);
        let options = Options::default();
        let compiled = build(text, &vocabulary, &options);
        let letters = Letters::new(&vocabulary, &options);
        for wanted in [true, false] {
            let found = shortest(&compiled.automaton, letters, |v| v.accepts() == wanted).unwrap();
            let weight = |t: &Vec<u64>| t.iter().map(|l| l.count_ones()).sum::<u32>();
            let best = traces
                .iter()
                .filter(|t| !t.is_empty() && semantics::accepts(&formula, &vocabulary, t) == wanted)
                .map(|t| (t.len(), weight(t)))
                .min();
            let found =
                found.map(|t| t.iter().map(|l| l.iter().fold(0, |w, p| w | 1 << p)).collect::<Vec<u64>>());
            assert_eq!(found.as_ref().map(|t| (t.len(), weight(t))), best, "{text} {wanted}");
            assert!(found.is_none_or(|t| semantics::accepts(&formula, &vocabulary, &t) == wanted));
        }
    }
}

#[test]
fn sentences() {
    for (text, sentence) in [
        ("G(pay -> F audit)", "whenever `pay` happens, `audit` happens at the same event or later"),
        ("G !a", "`a` never happens"),
        ("!F a", "`a` never happens"),
        ("G a", "`a` happens at every event"),
        ("F a", "`a` happens at some event"),
        ("a", "`a` happens at the first event"),
        ("!b W a", "`b` does not happen before the first event with `a`, or at all if there is none"),
        ("!b U a", "`b` does not happen before the first event with `a`, and there has to be one"),
        ("!(!a U b)", "`b` happens only after `a` happens at an earlier event"),
        ("G(a -> X b)", "whenever `a` happens, `b` happens at the next event"),
        ("G(a -> X !b)", "whenever `a` happens, (there is a next event, and there `b` does not happen)"),
        ("G(a -> !X b)", "whenever `a` happens, at the next event, if there is one, `b` does not happen"),
        ("G(a -> F[<=3] b)", "whenever `a` happens, `b` happens at the same event or at most 3 events later"),
        ("G(a -> F[2,2] b)", "whenever `a` happens, `b` happens at an event exactly 2 events after that one"),
        (
            "G(X b -> a)",
            "whenever `b` happens at an event that is not the first, `a` happens at the event just before",
        ),
        ("F a & G !b", "both of these hold: (1) `a` happens at some event; (2) `b` never happens"),
        ("F(a & X F a)", "`a` happens at least 2 times"),
        ("!F(a & X F(a & X F a))", "`a` happens at most 2 times"),
        ("F a & !F(a & X F a)", "`a` happens exactly once"),
        ("F a -> F b", "if `a` happens at some event, then `b` happens at some event"),
        ("F(a & WX false)", "`a` happens at the last event"),
        ("at end (a & !b)", "at the last event, `a` happens and `b` does not happen"),
        ("G(pay -> O auth)", "whenever `pay` happens, `auth` happens at the same event or an earlier one"),
        ("G(pay -> Y auth)", "whenever `pay` happens, `auth` happens at the event just before that one"),
        ("F !a", "at some event, `a` does not happen"),
        ("F(a | b)", "`a` or `b` happens at some event"),
        ("G !(a | b)", "at every event, neither `a` nor `b` happens"),
        ("G(F b -> !a)", "at every event at which (`b` happens at this event or later), `a` does not happen"),
        ("!p W (p W (!p W (p W G !p)))", "there are at most 2 stretches of events with `p`"),
        ("G(f -> (f W G !f))", "there is at most 1 stretch of events with `f`"),
        ("F G a", "at some event, (`a` happens at this event and every later one)"),
        (
            "G(a & !b -> c | X(c & d | !e))",
            "whenever `a` happens and `b` does not happen, (`c` happens at the same event or (there is a next event, \
             and there `c` together with `d` happens or `e` does not happen))",
        ),
        (
            "G(write -> (!user S yes))",
            "whenever `write` happens, (there is an event with `yes`, that one or an earlier one, and at every event \
             after the last such event up to that one, `user` does not happen)",
        ),
    ] {
        assert_eq!(words(&parse(text)), sentence, "{text}");
    }
}

#[test]
fn different_rules_have_different_sentences() {
    let mut seen = std::collections::HashMap::new();
    let operators = [
        "X", "WX", "F", "G", "Y", "Z", "O", "H", "!", "F[1,2]", "G[1,2]", "X[2]", "WX[2]", "at end", "F[2,]",
        "G[2,]", "F[<=2]", "G[<=2]",
    ];
    let binary = ["&", "|", "->", "<->", "xor", "U", "W", "R", "M", "S", "T", "U[1,2]"];
    let mut texts: Vec<String> = Vec::new();
    for f in operators {
        texts.push(format!("{f} a"));
        texts.extend(operators.iter().map(|g| format!("{f} {g} a")));
        texts.extend(binary.iter().map(|op| format!("{f} (a {op} b)")));
    }
    for op in binary {
        texts.push(format!("a {op} b"));
        texts.extend(
            operators.iter().flat_map(|f| {
                [format!("({f} a) {op} b"), format!("a {op} {f} b"), format!("G(a {op} {f} b)")]
            }),
        );
        texts.extend(binary.iter().flat_map(|o| [format!("(a {op} b) {o} c"), format!("a {op} (b {o} c)")]));
    }
    let vocabulary = names("a b c");
    for text in texts {
        let words = words(&parse(&text));
        let bytes = build(&text, &vocabulary, &Options::default()).automaton.words().to_vec();
        let (other, same) = seen.entry(words.clone()).or_insert_with(|| (text.clone(), bytes.clone()));
        assert_eq!(*same, bytes, "`{text}` and `{other}` mean different things and both read: {words}");
    }
}

#[test]
fn every_template_has_a_sentence() {
    for row in template::catalogue() {
        let form = row.form.replace("n)", "2)").replace("(n,", "(2,").replace(" k ", " 2 ");
        let formula = template::parse(&form, Dialect::Tracelaw, &syntax::Limits::default()).unwrap();
        let words = words(&formula);
        assert!(
            !words.contains("the formula `") && !words.contains("it is not so that it is"),
            "{form}: {words}"
        );
    }
}

#[test]
fn deep_formulas_end_in_a_formula() {
    for (open, close) in
        [("G(a -> X ", ")"), ("!X[0] ", ""), ("!", ""), ("X[0] ", ""), ("!F !", ""), ("(b | X ", ")")]
    {
        let deep = parse(&format!("{}X a{}", open.repeat(190), close.repeat(190)));
        let words = words(&deep);
        assert!(words.contains("the formula `") && words.len() < 10_000, "{open}: {words}");
    }
}
