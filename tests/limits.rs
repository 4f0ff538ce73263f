//! Formulas that need too much end in an error that says so, soon; large ones that need little are compiled. Never a
//! crash, also on threads with small stacks.

use std::time::{Duration, Instant};

use tracelaw_compiler::diag::Span;
use tracelaw_compiler::syntax::{Ast, Binary, Bounds, Expr, Unary};
use tracelaw_compiler::{BuildError, Compiled, Limits, Options, compile};
use tracelaw_corpora::generate::{Random, names};
use tracelaw_runtime::{Letter, Verdict};

use crate::oracle::read;

fn within(text: &str, limits: Limits) -> Result<Compiled, BuildError> {
    let ast = read(text);
    let vocabulary: Vec<String> = ast.propositions().into_iter().map(String::from).collect();
    compile(&ast, &vocabulary, &Options { limits, ..Options::default() })
}

/// Runs it on a thread with the stack that threads have by default.
fn on_a_small_stack<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, run).unwrap().join().unwrap()
    })
}

/// A rule whose automaton has to remember the last `n` events.
fn remembers(n: u32) -> String {
    format!("F(a & X[{n}] b)")
}

#[test]
fn too_many_states() {
    let limits = Limits { max_states: 1_000, ..Limits::default() };
    let started = Instant::now();
    let error = within(&remembers(20), limits).unwrap_err();
    assert!(error.is_state_limit(), "{error}");
    assert!(error.to_string().contains("1000 states"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(5));
    // Just enough is enough.
    let states = within(&remembers(5), Limits::default()).unwrap().stats.states;
    assert!(states >= 32);
    assert!(within(&remembers(5), Limits { max_states: 4 * states, ..Limits::default() }).is_ok());
}

#[test]
fn too_many_nodes() {
    for max_nodes in [0, 1, 100, 10_000] {
        let started = Instant::now();
        let limits = Limits { max_nodes, ..Limits::default() };
        // Which of ten was first, which was second, and so on.
        let rule: Vec<String> =
            (0..30).map(|i| format!("(F p{i} -> (!p{i} U q{i} & F(p{i} & X[3] q{i})))")).collect();
        let error = within(&rule.join(" & "), limits).unwrap_err();
        assert!(error.is_node_limit(), "{error}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn too_long() {
    let hard = [
        remembers(40),
        (0..40).map(|i| format!("F(p{i} & X[9] q{i})")).collect::<Vec<_>>().join(" & "),
        (0..14).map(|i| format!("G(p{i} -> F[<=9] q{i})")).collect::<Vec<_>>().join(" & "),
        format!("{} F(a & X[30] b) {}", "(".repeat(10), " -> F(b & Y a))".repeat(10)),
        (0..60).map(|i| format!("(F p{i} xor G q{i})")).collect::<Vec<_>>().join(" xor "),
    ];
    for rule in hard {
        for limit in [Duration::from_millis(100), Duration::from_millis(500)] {
            let limits =
                Limits { max_time: Some(limit), max_states: usize::MAX >> 1, max_nodes: usize::MAX >> 1 };
            let started = Instant::now();
            let error = within(&rule, limits).err();
            let took = started.elapsed();
            assert!(error.as_ref().is_none_or(BuildError::is_time_limit), "{rule}: {error:?}");
            // Other tests run beside this one, so the clock is allowed some slack.
            assert!(
                took < 2 * limit + Duration::from_millis(300),
                "{rule}: {took:?} with a limit of {limit:?}"
            );
        }
    }
}

#[test]
fn huge_bounds() {
    for text in [
        "F[<=4000000000] p",
        "G[4000000000,4294967295] p",
        "X[4294967295] p",
        "WX[4294967295] X[4294967295] p",
        "p U[4000000000,] q",
        "F[0,4294967295] G[0,4294967295] p",
        "G(a -> F[<=4000000000] b)",
        "at end X[4000000000] a",
    ] {
        let started = Instant::now();
        match on_a_small_stack(|| within(text, Limits::default())) {
            Err(error) => assert!(error.is_state_limit(), "{text}: {error}"),
            Ok(compiled) => assert!(compiled.stats.states < 1 << 20, "{text}"),
        }
        assert!(started.elapsed() < Duration::from_secs(5), "{text}");
    }
}

#[test]
fn long_bounds_within_the_limits() {
    let started = Instant::now();
    let next = on_a_small_stack(|| within("X[100000] p", Limits::default())).unwrap();
    let automaton = &next.automaton;
    let mut state = automaton.initial();
    for _ in 0..100_000 {
        assert_eq!(automaton.verdict(state), Verdict::Pending);
        state = automaton.step(state, Letter(&[0])).state;
    }
    assert_eq!(automaton.verdict(automaton.step(state, Letter(&[1])).state), Verdict::Satisfied);
    assert_eq!(automaton.verdict(automaton.step(state, Letter(&[0])).state), Verdict::Violated);

    let response = on_a_small_stack(|| within("G(a -> F[<=100000] b)", Limits::default())).unwrap();
    let automaton = &response.automaton;
    let mut state = automaton.step(automaton.initial(), Letter(&[1])).state;
    for _ in 0..99_999 {
        state = automaton.step(state, Letter(&[1])).state;
        assert_eq!(automaton.verdict(state), Verdict::Pending);
    }
    assert_eq!(automaton.verdict(automaton.step(state, Letter(&[2])).state), Verdict::Holding);
    assert_eq!(automaton.verdict(automaton.step(state, Letter(&[1])).state), Verdict::Violated);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn deep_formulas() {
    // Built by hand: deeper than a text may be, and of every operator that nests.
    fn node(expr: Expr) -> Ast {
        Ast::new(Span::default(), expr)
    }
    fn leaf(name: &str) -> Ast {
        node(Expr::Proposition(name.to_owned()))
    }
    let unary = |op: Unary| move |f: Ast, _: usize| node(Expr::Unary(op, Box::new(f)));
    let left = |op: Binary| move |f: Ast, _: usize| node(Expr::Binary(op, Box::new(f), Box::new(leaf("b"))));
    let right = |op: Binary| {
        move |f: Ast, i: usize| {
            let name = if i.is_multiple_of(2) { "a" } else { "b" };
            node(Expr::Binary(op, Box::new(leaf(name)), Box::new(f)))
        }
    };
    type Nest = Box<dyn Fn(Ast, usize) -> Ast + Send + Sync>;
    let mut nests: Vec<Nest> = Vec::new();
    let unaries = [
        Unary::Not,
        Unary::Next(1),
        Unary::WeakNext(1),
        Unary::Finally(Bounds::UNBOUNDED),
        Unary::Globally(Bounds::UNBOUNDED),
        Unary::Finally(Bounds { first: 0, last: Some(2) }),
        Unary::Yesterday,
        Unary::WeakYesterday,
        Unary::Once,
        Unary::Historically,
        Unary::AtEnd,
    ];
    nests.extend(unaries.map(|op| Box::new(unary(op)) as Nest));
    let binaries = [
        Binary::Xor,
        Binary::Implies,
        Binary::Iff,
        Binary::Until(Bounds::UNBOUNDED),
        Binary::WeakUntil,
        Binary::Release,
        Binary::StrongRelease,
        Binary::Since,
        Binary::Trigger,
    ];
    nests.extend(binaries.map(|op| Box::new(left(op)) as Nest));
    nests.extend(binaries.map(|op| Box::new(right(op)) as Nest));
    nests.push(Box::new(move |f: Ast, i: usize| {
        let parts = vec![leaf(if i.is_multiple_of(3) { "a" } else { "b" }), f];
        node(if i.is_multiple_of(2) { Expr::And(parts) } else { Expr::Or(parts) })
    }));
    for (i, nest) in nests.iter().enumerate() {
        let started = Instant::now();
        let limits = Limits { max_time: Some(Duration::from_secs(1)), max_states: 5_000, max_nodes: 1 << 20 };
        let (text, result) = on_a_small_stack(|| {
            let ast = (0..2_000).fold(leaf("a"), nest);
            let result = compile(&ast, &names(2), &Options { limits, ..Options::default() });
            (ast.to_string(), result.map(|compiled| compiled.stats.states))
        });
        let took = started.elapsed();
        assert!(took < Duration::from_secs(3), "{i} {text:.40}: {took:?}, {result:?}");
    }
}

#[test]
fn thousands_of_propositions() {
    for (text, states) in [
        ((0..5_000).map(|i| format!("p{i}")).collect::<Vec<_>>().join(" | "), 3),
        ((0..5_000).map(|i| format!("p{i}")).collect::<Vec<_>>().join(" & "), 3),
        (format!("G !({})", (0..5_000).map(|i| format!("p{i}")).collect::<Vec<_>>().join(" | ")), 2),
        ((0..5_000).map(|i| format!("G !p{i}")).collect::<Vec<_>>().join(" & "), 2),
    ] {
        let started = Instant::now();
        let compiled = on_a_small_stack(|| within(&text, Limits::default())).unwrap();
        assert_eq!(compiled.stats.states, states, "{text:.40}");
        assert!(started.elapsed() < Duration::from_secs(20), "{text:.40}: {:?}", started.elapsed());
        let automaton = &compiled.automaton;
        let mut last = vec![0_u64; 79];
        last[4_999 / 64] |= 1 << (4_999 % 64);
        let state = automaton.step(automaton.initial(), Letter(&last)).state;
        let expected =
            if text.starts_with('p') && text.contains('|') { Verdict::Satisfied } else { Verdict::Violated };
        assert_eq!(automaton.verdict(state), expected, "{text:.40}");
    }
}

#[test]
fn a_proposition_that_the_vocabulary_lacks() {
    let error = compile(&read("a & F missing"), &names(1), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("`missing`"), "{error}");
}

#[test]
fn small_limits_on_anything() {
    for seed in 0..2_000 {
        let mut random = Random::new(5_000_000_000 + seed);
        let size = 1 + random.below(25);
        let ast = random.formula_of_size(&names(3), size);
        let limits = Limits { max_states: random.below(20), max_nodes: random.below(200), max_time: None };
        match compile(&ast, &names(3), &Options { limits, ..Options::default() }) {
            // Nodes are looked at now and then: a few too many may have been made.
            Ok(compiled) => {
                let sizes = compiled.stats;
                assert!(sizes.nodes <= limits.max_nodes + 4096, "{ast}: {sizes:?} {limits:?}");
                // Splitting states by acceptance may double them.
                assert!(sizes.plain_states <= 2 * limits.max_states + 3, "{ast}: {sizes:?} {limits:?}");
            }
            Err(error) => assert!(error.is_state_limit() || error.is_node_limit(), "{ast}: {error}"),
        }
    }
}
