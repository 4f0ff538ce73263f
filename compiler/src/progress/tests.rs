use tracelaw_runtime::{Letter, Verdict};

use super::{Fast, ProgressError, Textbook};
use crate::{
    Semantics, semantics,
    syntax::{Ast, Dialect, Limits, parse},
};

fn read(text: &str) -> Ast {
    parse(text, Dialect::Tracelaw, &Limits::default()).unwrap()
}

fn names(ast: &Ast) -> Vec<String> {
    ast.propositions().into_iter().map(str::to_owned).collect()
}

fn textbook(text: &str) -> (Textbook, Vec<String>) {
    let ast = read(text);
    let names = names(&ast);
    (Textbook::new(&ast, &names).unwrap(), names)
}

/// What the published code of TRAC was measured to need: nodes at the start and after so many events that ask for
/// something and never get it.
#[test]
fn the_textbook_grows_as_published() {
    for (text, start, pending) in [
        ("G(p -> F q)", 6, vec![(10, 36), (100, 306), (500, 1506)]),
        // The scope opens at every event, and no event closes it.
        ("G((q & !r & F r) -> (!p U r))", 14, vec![(10, 124), (100, 1114), (500, 5514)]),
        ("G(s -> (!q U r))", 8, vec![(10, 78), (100, 708), (500, 3508)]),
    ] {
        let (mut left, names) = textbook(text);
        assert_eq!(left.size(), start, "{text}");
        // The first proposition of each is the one that asks.
        assert_eq!(names.len(), if start == 6 { 2 } else { 3 });
        let letter = [1];
        let mut events = 0;
        for (at, nodes) in pending {
            while events < at {
                left.step(Letter(&letter));
                events += 1;
            }
            assert_eq!(left.size(), nodes, "{text} after {at} events");
        }
    }
}

#[test]
fn the_textbook_folds_constants_one_level_only() {
    for (text, letters, residual) in [
        ("F X false", &[0u64, 0][..], "F X false"),
        ("F(p & !p)", &[0, 1], "F (p & !p)"),
        ("p U q", &[1], "(false | (p U q))"),
        ("F q & G q", &[1], "G q"),
        ("X X p", &[0], "X p"),
        ("!X p", &[0], "!p"),
        ("G(p -> F q)", &[1], "(F q & G (!p | F q))"),
    ] {
        let (mut left, names) = textbook(text);
        for letter in letters {
            left.step(Letter(&[*letter]));
        }
        assert_eq!(left.residual(&names), residual, "{text}");
        assert_eq!(left.decided(), None);
    }
    let (mut left, _) = textbook("G(p -> X q)");
    left.step(Letter(&[1]));
    left.step(Letter(&[0]));
    assert_eq!(left.decided(), Some(false));
    left.restart();
    assert_eq!((left.decided(), left.size()), (None, 6));
}

#[test]
fn what_cannot_be_progressed_is_said() {
    let past = read("G(a -> O b)");
    let error = Textbook::new(&past, &names(&past)).unwrap_err();
    assert_eq!(error, ProgressError::Past { operator: "O" });
    let unknown = ProgressError::Unknown { name: "b".to_owned() };
    assert_eq!(Textbook::new(&past, &["a".to_owned()]).unwrap_err(), unknown);
    assert_eq!(Fast::new(&past, &["a".to_owned()]).unwrap_err(), unknown);
    let long = read("G[<=100000000] a");
    assert!(matches!(Textbook::new(&long, &names(&long)), Err(ProgressError::Size { .. })));
    assert!(Fast::new(&long, &names(&long)).is_ok());
}

/// A hundred thousand obligations, each pending, on the smallest stack that threads have.
#[test]
fn a_hundred_thousand_obligations_do_no_harm() {
    let run = || {
        let (mut left, names) = textbook("G(p -> F q) & !F(p & X p & r)");
        let p = 1 << names.iter().position(|n| n == "p").unwrap();
        // Quadratic in all: the nodes are copied at every step.
        for _ in 0..3_000 {
            left.step(Letter(&[p]));
        }
        assert!(left.size() > 9_000);
        assert!(left.residual(&names).len() > 9_000);
        let nested = read("F[<=100000] p");
        let mut left = Textbook::new(&nested, &["p".to_owned()]).unwrap();
        for _ in 0..3 {
            left.step(Letter(&[0]));
        }
        assert!(left.size() > 100_000 && left.clone().decided().is_none());
        let ast = read("G(p -> X[100000] q)");
        let mut fast = Fast::new(&ast, &names[..]).unwrap();
        for _ in 0..300 {
            fast.step(Letter(&[p]));
        }
        assert_eq!(fast.verdict(Semantics::Finite), Verdict::Pending);
        let ast = read("G(p -> F[<=100000] q)");
        let mut fast = Fast::new(&ast, &names[..]).unwrap();
        for _ in 0..100_001 {
            fast.step(Letter(&[p]));
        }
        assert_eq!(fast.verdict(Semantics::Finite), Verdict::Violated);
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn what_is_left_is_said_in_words() {
    for (text, letters, residual) in [
        ("G(p -> F q)", &[1u64][..], "G(p -> F q) & F q"),
        ("p U (q & X r)", &[1], "p U (q & X r)"),
        ("G(p -> F[<=3] q)", &[1, 1], "G(p -> F[<=3] q) & F[<=1] q"),
        ("X[3] p", &[0], "X[2] p"),
        ("F p", &[1], "true"),
    ] {
        let ast = read(text);
        let mut fast = Fast::new(&ast, &names(&ast)).unwrap();
        for letter in letters {
            fast.step(Letter(&[*letter]));
        }
        // Equal up to the order of operands, which is that of the arena.
        let expected = read(residual);
        let (a, b) = (fast.residual(), expected);
        let props = names(&ast);
        let traces = (0..64u64).map(|t| (0..3).map(|i| t >> (2 * i) & 3).collect::<Vec<_>>());
        for trace in traces {
            let holds = |f: &Ast| semantics::accepts(f, &props, &trace);
            assert_eq!(holds(&a), holds(&b), "{text}: {a} is not {residual}");
        }
    }
}
