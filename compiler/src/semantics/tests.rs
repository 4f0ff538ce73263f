//! The laws of the language by brute force, and its table for the empty trace.

use super::*;
use crate::syntax::{Dialect, Limits, parse};

fn read(text: &str) -> Ast {
    parse(text, Dialect::Tracelaw, &Limits::default()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn vocabulary() -> Vec<String> {
    ["a", "b"].map(String::from).to_vec()
}

/// All traces over two propositions up to that length, the empty one first.
fn traces(longest: usize) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for _ in 0..longest {
        last = last.iter().flat_map(|t| (0..4).map(move |l| [&t[..], &[l]].concat())).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Operands that tell temporal operators apart: past and future, with and without need of a witness.
const OPERANDS: &[&str] =
    &["a", "b", "!a", "X a", "WX b", "F b", "G a", "Y a", "Z b", "a S b", "H b", "true", "false"];

/// Whether `left` and `right` say the same about every position of every trace, with all operands in the places of `f`
/// and `g`; positions past the end included if the law is one of the empty trace as well.
fn check_law(left: &str, right: &str, empty: bool) {
    let put = |law: &str, f: &str, g: &str| {
        let put: Vec<String> = law
            .split(' ')
            .map(|word| match word.trim_matches(|c| c == '(' || c == ')' || c == '!') {
                "f" => word.replace('f', &format!("({f})")),
                "g" => word.replace('g', &format!("({g})")),
                _ => word.to_owned(),
            })
            .collect();
        read(&put.join(" "))
    };
    // Laws of one operand can afford longer traces.
    let one_operand = ![left, right].iter().any(|law| law.contains('g'));
    let (traces, seconds) = if one_operand { (traces(4), &OPERANDS[..1]) } else { (traces(3), OPERANDS) };
    for f in OPERANDS {
        for g in seconds {
            let (left, right) = (put(left, f, g), put(right, f, g));
            for trace in &traces {
                for at in 0..trace.len() + usize::from(empty && trace.is_empty()) {
                    let holds = |ast| holds(ast, &vocabulary(), trace, at);
                    assert_eq!(holds(&left), holds(&right), "`{left}` and `{right}` at {at} of {trace:?}");
                }
            }
        }
    }
}

#[test]
fn dualities() {
    for (left, right) in [
        ("! X f", "WX !f"),
        ("! X[2] f", "WX[2] !f"),
        ("! F f", "G !f"),
        ("! F[1,2] f", "G[1,2] !f"),
        ("! ( f U g )", "!f R !g"),
        ("! ( f W g )", "!f M !g"),
        ("! Y f", "Z !f"),
        ("! O f", "H !f"),
        ("! ( f S g )", "!f T !g"),
        ("! ( f & g )", "!f | !g"),
        ("! ( f -> g )", "f & !g"),
        ("! ( f <-> g )", "f xor g"),
    ] {
        check_law(left, right, true);
    }
}

#[test]
fn expansion_laws() {
    for (left, right) in [
        ("F f", "f | X F f"),
        ("G f", "f & WX G f"),
        ("f U g", "g | ( f & X ( f U g ) )"),
        ("f W g", "g | ( f & WX ( f W g ) )"),
        ("f R g", "g & ( f | WX ( f R g ) )"),
        ("f M g", "g & ( f | X ( f M g ) )"),
        ("O f", "f | Y O f"),
        ("H f", "f & Z H f"),
        ("f S g", "g | ( f & Y ( f S g ) )"),
        ("f T g", "g & ( f | Z ( f T g ) )"),
        ("F[0,2] f", "f | X F[0,1] f"),
        ("F[1,3] f", "X F[0,2] f"),
        ("G[0,2] f", "f & WX G[0,1] f"),
        ("G[2,] f", "WX[2] G f"),
        ("f U[0,2] g", "g | ( f & X ( f U[0,1] g ) )"),
        ("f U[1,2] g", "f & X ( f U[0,1] g )"),
        ("f U[1,] g", "f & X ( f U g )"),
        ("X[3] f", "X X X f"),
        ("WX[3] f", "WX WX WX f"),
        ("F[2,2] f", "X[2] f"),
        ("G[2,2] f", "WX[2] f"),
    ] {
        // On the empty trace the two sides may differ: `f | X F f` looks at f there and `F f` does not.
        check_law(left, right, false);
    }
}

#[test]
fn definitions_by_other_operators() {
    for (left, right) in [
        ("F f", "true U f"),
        ("G f", "false R f"),
        ("F[1,2] f", "true U[1,2] f"),
        ("f W g", "( f U g ) | G f"),
        ("f M g", "( f R g ) & F f"),
        ("O f", "true S f"),
        ("H f", "false T f"),
        ("at end f", "F ( f & WX false )"),
    ] {
        check_law(left, right, true);
    }
    for (left, right) in [
        ("f R g", "g W ( f & g )"),
        ("f M g", "g U ( f & g )"),
        ("F F f", "F f"),
        ("G G f", "G f"),
        ("f U ( f U g )", "f U g"),
        ("X ( f & g )", "( X f ) & ( X g )"),
        ("F ( f | g )", "( F f ) | ( F g )"),
        ("X[0] f", "f"),
        ("WX[0] f", "f"),
        ("X Y f", "f & X true"),
        ("f xor g", "( f | g ) & !( f & g )"),
    ] {
        check_law(left, right, false);
    }
}

#[test]
fn the_empty_trace() {
    let none = vec![];
    for text in
        ["true", "G a", "WX a", "WX[2] a", "H a", "Z a", "a W b", "a R b", "a T b", "G[1,2] a", "!a", "!F a"]
    {
        assert!(accepts(&read(text), &vocabulary(), &none), "{text}");
        assert!(!accepts(&read(&format!("!({text})")), &vocabulary(), &none), "{text}");
    }
    for text in [
        "false",
        "a",
        "X a",
        "X[2] a",
        "F a",
        "F[0,2] a",
        "a U b",
        "a U[0,1] b",
        "a M b",
        "Y a",
        "O a",
        "a S b",
        "at end true",
    ] {
        assert!(!accepts(&read(text), &vocabulary(), &none), "{text}");
    }
    // The same past the end of a trace that has events.
    assert!(!holds(&read("O a"), &vocabulary(), &[1, 1], 2));
    assert!(holds(&read("G a"), &vocabulary(), &[0], 7));
}

#[test]
fn names_that_the_vocabulary_lacks_are_false() {
    assert!(accepts(&read("!c & a"), &vocabulary(), &[1 << 2 | 1]));
    let many: Vec<String> = (0..70).map(|i| format!("p{i}")).collect();
    assert!(accepts(&read("p63 & !p64 & !p69"), &many, &[u64::MAX]));
}

#[test]
fn verdicts_by_enumeration() {
    use Verdict::{Holding, Pending, Satisfied, Violated};
    let letters = [0, 1, 2, 3];
    for (text, prefix, expected) in [
        ("F a & G !a", &[][..], Violated),
        ("F a | G !a", &[], Satisfied),
        ("G X true", &[], Holding),
        ("G X true", &[0], Violated),
        ("G(a -> F b)", &[1], Pending),
        ("G(a -> F b)", &[1, 2], Holding),
        ("a & X b", &[1, 2], Satisfied),
    ] {
        assert_eq!(verdict(&read(text), &vocabulary(), &letters, prefix, 4), expected, "{text} {prefix:?}");
    }
    // With fewer letters verdicts come earlier.
    assert_eq!(verdict(&read("F(a & b)"), &vocabulary(), &[0, 1, 2], &[], 4), Violated);
    assert_eq!(verdict(&read("G !(a & b)"), &vocabulary(), &[0, 1, 2], &[], 4), Satisfied);
    // Nothing can come at all.
    assert_eq!(verdict(&read("F a"), &vocabulary(), &[], &[0], 4), Violated);
}

#[test]
fn deep_and_wide_formulas_stay_usable() {
    let nested = "F(a & X ".repeat(30) + "b" + &")".repeat(30);
    let started = std::time::Instant::now();
    assert!(!accepts(&read(&nested), &vocabulary(), &[1; 25]));
    let until = "((a U b) U ".repeat(20) + "b" + &")".repeat(20);
    assert!(accepts(&read(&until), &vocabulary(), &[3; 20]));
    assert!(started.elapsed().as_secs() < 5);
    let deepest = read(&("!".repeat(999) + "a"));
    assert!(!accepts(&deepest, &vocabulary(), &[1]));
}
