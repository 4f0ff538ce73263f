//! Laws of the logic: equal languages are equal words.
//!
//! A law that is valid stays valid whatever stands in the place of its propositions, and wherever it stands itself. So
//! each is compiled with plain propositions, and with random formulas in random surroundings.

use rayon::prelude::*;
use tracelaw_compiler::syntax::{Ast, Dialect, Expr, Limits};
use tracelaw_compiler::{Options, semantics, template};
use tracelaw_corpora::generate::{Random, all_traces, names};

use crate::oracle::{read, words};

/// Laws that hold for the empty trace as well. The places for any formula are `f`, `g` and `h`.
const EVERYWHERE: &[(&str, &str)] = &[
    // Boolean operators.
    ("f & g", "g & f"),
    ("f | g", "g | f"),
    ("f & (g & h)", "(f & g) & h"),
    ("f | (g | h)", "(f | g) | h"),
    ("f & f", "f"),
    ("f | f", "f"),
    ("f & (f | g)", "f"),
    ("f | (f & g)", "f"),
    ("f & (g | h)", "(f & g) | (f & h)"),
    ("f | (g & h)", "(f | g) & (f | h)"),
    ("!(f & g)", "!f | !g"),
    ("!(f | g)", "!f & !g"),
    ("!!f", "f"),
    ("f & !f", "false"),
    ("f | !f", "true"),
    ("f & true", "f"),
    ("f | false", "f"),
    ("f & false", "false"),
    ("f | true", "true"),
    ("f -> g", "!f | g"),
    ("f -> g", "!g -> !f"),
    ("f -> (g -> h)", "(f & g) -> h"),
    ("f <-> g", "(f -> g) & (g -> f)"),
    ("f <-> g", "!(f xor g)"),
    ("f xor g", "(f | g) & !(f & g)"),
    ("(f xor g) xor h", "f xor (g xor h)"),
    ("f xor f", "false"),
    // Dualities.
    ("!X f", "WX !f"),
    ("!WX f", "X !f"),
    ("!X[3] f", "WX[3] !f"),
    ("!F f", "G !f"),
    ("!G f", "F !f"),
    ("!(f U g)", "!f R !g"),
    ("!(f R g)", "!f U !g"),
    ("!(f W g)", "!f M !g"),
    ("!(f M g)", "!f W !g"),
    ("!F[1,3] f", "G[1,3] !f"),
    ("!G[2,] f", "F[2,] !f"),
    ("!Y f", "Z !f"),
    ("!Z f", "Y !f"),
    ("!O f", "H !f"),
    ("!H f", "O !f"),
    ("!(f S g)", "!f T !g"),
    ("!(f T g)", "!f S !g"),
    // Operators by others.
    ("F f", "true U f"),
    ("G f", "false R f"),
    ("O f", "true S f"),
    ("H f", "false T f"),
    ("f W g", "(f U g) | G f"),
    ("f U g", "(f W g) & F g"),
    ("f M g", "(f R g) & F f"),
    ("f R g", "(f M g) | G g"),
    ("at end f", "F(f & WX false)"),
    ("F[2,4] f", "true U[2,4] f"),
    ("WX f", "X f | !X true"),
    ("X f", "WX f & X true"),
    ("Z f", "Y f | !Y true"),
    // Idempotence and absorption.
    ("F F f", "F f"),
    ("G G f", "G f"),
    ("O O f", "O f"),
    ("H H f", "H f"),
    ("F G F f", "G F f & F true"),
    ("G F G f", "F G f | G false"),
    ("f U (f U g)", "f U g"),
    ("(f U g) U g", "f U g"),
    ("f W (f W g)", "f W g"),
    ("f R (f R g)", "f R g"),
    ("f M (f M g)", "f M g"),
    ("f S (f S g)", "f S g"),
    ("f T (f T g)", "f T g"),
    ("F (f U g)", "F g"),
    ("G (f R g)", "G g"),
    ("G f & G[1,3] f", "G f"),
    ("F f | F[1,3] f", "F f"),
    // Distribution.
    ("X(f & g)", "X f & X g"),
    ("X(f | g)", "X f | X g"),
    ("WX(f & g)", "WX f & WX g"),
    ("WX(f | g)", "WX f | WX g"),
    ("F(f | g)", "F f | F g"),
    ("G(f & g)", "G f & G g"),
    ("F[1,3](f | g)", "F[1,3] f | F[1,3] g"),
    ("G[1,3](f & g)", "G[1,3] f & G[1,3] g"),
    ("(f & g) U h", "(f U h) & (g U h)"),
    ("f U (g | h)", "(f U g) | (f U h)"),
    ("(f | g) R h", "(f R h) | (g R h)"),
    ("f R (g & h)", "(f R g) & (f R h)"),
    ("(f & g) W h", "(f W h) & (g W h)"),
    ("(f | g) M h", "(f M h) | (g M h)"),
    ("O(f | g)", "O f | O g"),
    ("H(f & g)", "H f & H g"),
    ("(f & g) S h", "(f S h) & (g S h)"),
    ("f S (g | h)", "(f S g) | (f S h)"),
    ("(f | g) T h", "(f T h) | (g T h)"),
    ("f T (g & h)", "(f T g) & (f T h)"),
    ("Y(f & g)", "Y f & Y g"),
    ("Z(f | g)", "Z f | Z g"),
    ("X F f", "F X f"),
    ("WX G f", "G WX f"),
    // Bounds.
    ("F[0,] f", "F f"),
    ("G[0,] f", "G f"),
    ("F[<=3] f", "F[0,3] f"),
    ("F[3,3] f", "X[3] f"),
    ("G[3,3] f", "WX[3] f"),
    ("X[3] f", "X X X f"),
    ("WX[3] f", "WX WX WX f"),
    ("X[0] f", "f"),
    ("WX[0] f", "f"),
    ("F[2,5] f", "X[2] f | X[3] f | X[4] f | X[5] f"),
    ("G[2,5] f", "WX[2] f & WX[3] f & WX[4] f & WX[5] f"),
    ("F[1,2] F[1,2] f", "F[2,4] f"),
    ("G[1,2] G[1,2] f", "G[2,4] f"),
    ("F[2,] f", "X[2] F f"),
    ("G[2,] f", "WX[2] G f"),
];

/// Laws that hold for every trace with at least one event. On the empty trace one side looks at what is not there.
const NONEMPTY: &[(&str, &str)] = &[
    // Expansion.
    ("F f", "f | X F f"),
    ("G f", "f & WX G f"),
    ("f U g", "g | (f & X(f U g))"),
    ("f W g", "g | (f & WX(f W g))"),
    ("f R g", "g & (f | WX(f R g))"),
    ("f M g", "g & (f | X(f M g))"),
    ("O f", "f | Y O f"),
    ("H f", "f & Z H f"),
    ("f S g", "g | (f & Y(f S g))"),
    ("f T g", "g & (f | Z(f T g))"),
    ("at end f", "(f & WX false) | X at end f"),
    // Bounds, unrolled.
    ("F[0,3] f", "f | X F[0,2] f"),
    ("G[0,3] f", "f & WX G[0,2] f"),
    ("F[<=3] f", "f | X(f | X(f | X f))"),
    ("G[<=3] f", "f & WX(f & WX(f & WX f))"),
    ("f U[0,2] g", "g | (f & X(g | (f & X g)))"),
    ("f U[1,2] g", "f & X(g | (f & X g))"),
    ("f U[1,] g", "f & X(f U g)"),
    ("f U[1,3] g", "f U[1,1] g | f U[2,2] g | f U[3,3] g"),
    ("f U[0,3] g", "f U g & F[0,3] g"),
    ("f U[0,2] (f & g)", "f U (f & g) & F[0,2] (f & g)"),
    ("f U[2,4] g", "f & X(f & X(f U[0,2] g))"),
    ("f U[2,2] g", "f & X f & X X g"),
    ("f U[0,0] g", "g"),
    ("F[0,0] f", "f"),
    ("G[0,0] f", "f"),
    // Weak and strong, by others.
    ("f R g", "g W (f & g)"),
    ("f M g", "g U (f & g)"),
    ("f W g", "g R (f | g)"),
    ("f U g", "g M (f | g)"),
    ("f T g", "(g S (f & g)) | H g"),
    ("WX f", "WX false | X f"),
    // With only one operand said.
    ("f U f", "f"),
    ("f W f", "f"),
    ("f R f", "f"),
    ("f M f", "f"),
    ("f S f", "f"),
    ("f T f", "f"),
    ("false U f", "f"),
    ("f U true", "true"),
    ("f W true", "true"),
    ("f U false", "false"),
    ("f W false", "G f"),
    ("true R f", "f"),
    ("f R false", "false"),
    ("true M f", "f"),
    ("f M true", "F f"),
    ("f R true", "true"),
    ("f M false", "false"),
    ("f S true", "true"),
    ("f T false", "false"),
    ("f S false", "false"),
    ("f T true", "true"),
    ("G f & f U g", "G f & F g"),
    ("f & F f", "f"),
    ("f | G f", "f"),
    ("g & (f U g)", "g"),
    ("g | (f U g)", "f U g"),
    ("f & O f", "f"),
    ("f | H f", "f"),
    // Past and future.
    ("X Y f", "f & X true"),
    ("WX Z f", "f | WX false"),
    ("WX Y f", "f | WX false"),
    ("X O f", "X true & (O f | X f)"),
    ("F O f", "F(f | O f)"),
    ("F O f", "F f | O f"),
    ("G H f", "G f & H f"),
    ("G O f", "O f"),
    ("F H f", "H f"),
    ("O F f", "O f | F f"),
    ("H G f", "H f & G f"),
    ("at end O f", "O f | F f"),
    ("at end H f", "H f & G f"),
    ("at end f & at end g", "at end (f & g)"),
    ("at end f | at end g", "at end (f | g)"),
    ("!at end f", "at end !f"),
    ("F G f", "at end f"),
    ("G F f", "at end f"),
    ("at end (f S g)", "F(g & (WX false | X G f)) | (f S g) & WX G f"),
];

/// Laws of the first position of a trace, which has no past.
const AT_THE_START: &[(&str, &str)] = &[
    ("Y f", "false"),
    ("Z f", "true"),
    ("O f", "f"),
    ("H f", "f"),
    ("f S g", "g"),
    ("f T g", "g"),
    ("O F f", "F f"),
    ("H G f", "G f"),
    ("at end H f", "G f"),
    ("at end O f", "F f"),
    ("at end (f S g)", "F(g & WX G f)"),
    ("at end Y f", "F(f & X WX false)"),
    ("at end Z f", "WX false | F(f & X WX false)"),
    ("at end (f T g)", "F(f & G g) | G g"),
    ("G(g -> O f)", "!g W f"),
    ("G(g -> Y O f)", "!(!f U g)"),
    ("f W g", "G(f | O g)"),
    ("f U g", "F(g & Z H f)"),
    ("f R g", "G(g | Y O f)"),
    ("f M g", "F(f & H g)"),
    ("F(g & Y f)", "F(f & X g)"),
    ("G(f -> Z g)", "WX G(f -> Y g)"),
];

/// Surroundings in which a law has to hold at other positions than the first.
const SURROUNDINGS: &[&str] = &[
    "f",
    "!(f)",
    "X X (f)",
    "WX (f)",
    "F((f) & b)",
    "G(a -> (f))",
    "at end (f)",
    "b U (f)",
    "(f) R c",
    "F(c & Y (f))",
    "G(((f) S b) -> c)",
    "at end O (f)",
    "F[1,2] (f)",
    "(f) <-> F c",
];

/// The formula with other ones in the places of some propositions.
fn put(ast: &Ast, places: &[(&str, &Ast)]) -> Ast {
    let all = |fs: &[Ast]| fs.iter().map(|f| put(f, places)).collect();
    let boxed = |f: &Ast| Box::new(put(f, places));
    let expr = match &ast.expr {
        Expr::Constant(value) => Expr::Constant(*value),
        Expr::Proposition(name) => match places.iter().find(|(place, _)| place == name) {
            Some((_, formula)) => return (*formula).clone(),
            None => Expr::Proposition(name.clone()),
        },
        Expr::And(fs) => Expr::And(all(fs)),
        Expr::Or(fs) => Expr::Or(all(fs)),
        Expr::Unary(op, f) => Expr::Unary(*op, boxed(f)),
        Expr::Binary(op, f, g) => Expr::Binary(*op, boxed(f), boxed(g)),
    };
    Ast::new(ast.span, expr)
}

fn same(left: &Ast, right: &Ast) -> Result<(), String> {
    let compiled = |ast| words(ast, &names(3), &Options::default());
    let (l, r) = (compiled(left)?, compiled(right)?);
    if l == r {
        return Ok(());
    }
    let differ =
        |t: &Vec<u64>| semantics::accepts(left, &names(3), t) != semantics::accepts(right, &names(3), t);
    let why = match all_traces(3, 3).find(differ) {
        Some(trace) => format!("no law, see {trace:?}"),
        None => format!("{} and {} states", l[2], r[2]),
    };
    Err(format!("`{left}` and `{right}`: {why}"))
}

/// Checks the laws; `guard` has a place for each side, `moved` says whether the laws hold at every position.
fn check(laws: &[(&str, &str)], guard: &str, moved: bool) {
    let guard = read(guard);
    let wrong: Vec<String> = laws
        .par_iter()
        .enumerate()
        .flat_map_iter(|(i, (left, right))| {
            let (left, right) = (read(left), read(right));
            let guard = &guard;
            let mut random = Random::new(i as u64);
            (0..60).filter_map(move |round| {
                let operands: Vec<Ast> = if round < SURROUNDINGS.len() {
                    ["a", "b", "c"].map(read).to_vec()
                } else {
                    (0..3)
                        .map(|_| {
                            let size = 1 + random.below(5);
                            random.formula_of_size(&names(3), size)
                        })
                        .collect()
                };
                let places: Vec<_> = ["f", "g", "h"].into_iter().zip(&operands).collect();
                let around = if moved { read(SURROUNDINGS[round % SURROUNDINGS.len()]) } else { read("f") };
                let side = |law: &Ast| put(guard, &[("f", &put(&around, &[("f", &put(law, &places))]))]);
                same(&side(&left), &side(&right)).err()
            })
        })
        .collect();
    let count = wrong.len();
    let mut wrong = wrong;
    wrong.sort_by_key(String::len);
    wrong.truncate(20);
    assert_eq!(count, 0, "{}", wrong.join("\n"));
}

#[test]
fn laws_of_every_trace() {
    check(EVERYWHERE, "f", true);
}

#[test]
fn laws_of_traces_with_events() {
    check(NONEMPTY, "(f) & F true", true);
}

#[test]
fn laws_of_the_first_position() {
    check(AT_THE_START, "(f) & F true", false);
}

#[test]
fn what_the_empty_trace_tells_apart_is_told_apart() {
    for (left, right) in [
        ("F !a", "!a | X F !a"),
        ("false U G a", "G a"),
        ("a W a", "a"),
        ("X[0] X a", "F X a"),
        ("f U true", "true"),
    ] {
        assert!(
            same(&put(&read(left), &[("f", &read("a"))]), &read(right)).is_err(),
            "`{left}` and `{right}`"
        );
    }
}

#[test]
fn templates_are_their_formulas() {
    let wrong: Vec<String> = [
        ("a before b", "!((!a) U b)"),
        ("after a expect b", "G(a -> F b)"),
        ("existence(a)", "F a"),
        ("existence(2, a)", "F(a & X F a)"),
        ("existence(3, a)", "F(a & X F(a & X F a))"),
        ("absence(a)", "!F a"),
        ("absence(2, a)", "!F(a & X F a)"),
        ("exactly(2, a)", "F(a & X F a) & !F(a & X F(a & X F a))"),
        ("init(a)", "a"),
        ("end(a)", "F(a & WX false)"),
        ("choice(a, b)", "F a | F b"),
        ("exclusive_choice(a, b)", "(F a | F b) & !(F a & F b)"),
        ("responded_existence(a, b)", "F a -> F b"),
        ("co_existence(a, b)", "F a <-> F b"),
        ("response(a, b)", "G(a -> F b)"),
        ("precedence(a, b)", "!b W a"),
        ("succession(a, b)", "G(a -> F b) & (!b W a)"),
        ("alternate_response(a, b)", "G(a -> X(!a U b))"),
        ("alternate_precedence(a, b)", "(!b W a) & G(b -> WX(!b W a))"),
        ("chain_response(a, b)", "G(a -> X b)"),
        ("chain_precedence(a, b)", "!b & G(X b -> a)"),
        ("alternate_succession(a, b)", "G(a -> X(!a U b)) & (!b W a) & G(b -> WX(!b W a))"),
        ("chain_succession(a, b)", "G(a -> X b) & !b & G(X b -> a)"),
        ("not_co_existence(a, b)", "!(F a & F b)"),
        ("not_responded_existence(a, b)", "F a -> !F b"),
        ("not_response(a, b)", "G(a -> !F b)"),
        ("not_succession(a, b)", "G(a -> !F b)"),
        ("not_precedence(a, b)", "G(F b -> !a)"),
        ("not_chain_response(a, b)", "G(a -> !X b)"),
        ("not_chain_succession(a, b)", "G(a -> !X b)"),
        ("not_chain_precedence(a, b)", "G(X b -> !a)"),
        ("absent(a) globally", "G !a"),
        ("existent(a) globally", "F a"),
        ("universal(a) globally", "G a"),
        ("absent(a) before c", "F c -> (!a U c)"),
        ("universal(a) after c", "G(c -> G a)"),
        ("precedes(a, b) globally", "!b W a"),
        ("responds(a, b) globally", "G(b -> F a)"),
        ("absent(a) between b and c", "G((b & !c & F c) -> (!a U c))"),
        ("absent(a) after b until c", "G((b & !c) -> (!a W c))"),
        ("always a", "G a"),
        ("sometime a", "F a"),
        ("at-most-once a", "G(a -> (a W G !a))"),
        ("sometime-after a b", "G(a -> F b)"),
        ("sometime-before a b", "(!a & !b) W (!a & b)"),
        ("at end a", "F(a & WX false)"),
        ("always-within 3 a b", "G(a -> F[<=3] b)"),
    ]
    .into_iter()
    .filter_map(|(text, formula)| {
        let found = template::parse(text, Dialect::Tracelaw, &Limits::default());
        found.map_err(|report| format!("{text}: {report}")).and_then(|ast| same(&ast, &read(formula))).err()
    })
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
