//! Tests of reading and printing together.

use super::*;
use crate::diag::{Report, Span};

fn read(text: &str) -> Ast {
    parse(text, Dialect::Tracelaw, &Limits::default()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn mistakes(text: &str) -> Report {
    match parse(text, Dialect::Tracelaw, &Limits::default()) {
        Ok(ast) => panic!("`{text}` was read as `{ast}`"),
        Err(report) => report,
    }
}

/// Checks the places of all mistakes, given as the texts there (`""` for the end), and returns the messages.
fn check_mistakes(text: &str, places: &[(usize, &str)]) -> Vec<String> {
    let report = mistakes(text);
    let found: Vec<(usize, &str)> =
        report.iter().map(|d| (d.span.start, &text[d.span.start..d.span.end])).collect();
    assert_eq!(found, places, "{text}: {report}");
    report.iter().map(|d| format!("{} / {}", d.message, d.help.as_deref().unwrap_or(""))).collect()
}

/// `text` reads as `printed` prints.
fn check(text: &str, printed: &str) {
    let ast = read(text);
    assert_eq!(ast.to_string(), printed, "{text}");
    assert_eq!(read(printed), ast, "{text}");
}

#[test]
fn every_spelling_of_every_operator() {
    for text in ["!a", "~a", "¬a", "NOT a", "not a", "Not(a)"] {
        check(text, "!a");
    }
    for text in ["a & b", "a && b", "a/\\b", "a∧b", "a AND b", "a and b"] {
        check(text, "a & b");
    }
    for text in ["a | b", "a || b", "a\\/b", "a∨b", "a OR b", "a or b"] {
        check(text, "a | b");
    }
    for text in ["a -> b", "a=>b", "a→b", "a IMPLIES b", "a implies b"] {
        check(text, "a -> b");
    }
    for text in ["a <-> b", "a<=>b", "a↔b", "a IFF b"] {
        check(text, "a <-> b");
    }
    for text in ["a xor b", "a ^ b", "a XOR b"] {
        check(text, "a xor b");
    }
    for text in ["X a", "NEXT a", "○a", "X[!] a", "X(a)", "X[1]a"] {
        check(text, "X a");
    }
    for text in ["WX a", "N a", "WX[1] a", "N[1] a"] {
        check(text, "WX a");
    }
    for text in ["F a", "EVENTUALLY a", "◇a", "<>a", "F(a)"] {
        check(text, "F a");
    }
    for text in ["G a", "ALWAYS a", "always a", "□a", "[]a"] {
        check(text, "G a");
    }
    for text in ["a U b", "a UNTIL b", "a 𝒰 b", "a𝒰b"] {
        check(text, "a U b");
    }
    for text in ["a W b", "a R b", "a M b", "a S b", "a T b", "Y a", "Z a", "O a", "H a", "true", "false"] {
        check(text, text);
    }
    for text in ["True", "TRUE", "true", "(true)"] {
        check(text, "true");
    }
    check("at end a", "at end a");
    check("AT  END(a | b)", "at end (a | b)");
    check("at U end", "at U end");
    check("X[3] a & WX[0] N[4]b", "X[3] a & WX[0] WX[4] b");
    check("F[2,5] a", "F[2,5] a");
    check("F[0,5]a", "F[<=5] a");
    check("G[<= 5] (a|b)", "G[<=5](a | b)");
    check("◇[ 1 , 2 ] a", "F[1,2] a");
    check("G[2,]a", "G[2,] a");
    check("G[0,]a", "G a");
    check("a U[0,3] b U [1,2] c", "a U[0,3] b U[1,2] c");
    check("F [] a", "F G a");
    check("F[]<>a", "F G F a");
}

#[test]
fn letters_are_operators_in_upper_case_only() {
    check("a & f & x & ab & Fa & Fp & wx & n", "a & f & x & ab & Fa & Fp & wx & n");
    check("FOO U untilx", "FOO U untilx");
    check("\"F\" U \"true\"", "\"F\" U \"true\"");
    check(
        "\"a\" & \"a b\" & \"\\\"\\\\\" & \"until\" & \"1a\" & \"é\"",
        "a & \"a b\" & \"\\\"\\\\\" & \"until\" & \"1a\" & é",
    );
}

#[test]
fn spot_reads_plain_next_as_weak() {
    let read = |text| parse(text, Dialect::Spot, &Limits::default()).unwrap().to_string();
    assert_eq!(read("X a & X[!] a & WX a & N a"), "WX a & X a & WX a & WX a");
    assert_eq!(read("X[!] X[!] X X[3] a"), "X X WX WX[3] a");
    assert_eq!(read("NEXT a"), "WX a");
}

#[test]
fn binding() {
    for (text, bracketed) in [
        ("!a & b", "(!a) & b"),
        ("!a U b", "(!a) U b"),
        ("F a U b", "(F a) U b"),
        ("a U b U c", "a U (b U c)"),
        ("a U b W c R d M e S f T g", "a U (b W (c R (d M (e S (f T g)))))"),
        ("a U b & c", "(a U b) & c"),
        ("a & b U c", "a & (b U c)"),
        ("a & b | c & d", "(a & b) | (c & d)"),
        ("a | b xor c", "(a | b) xor c"),
        ("a xor b | c", "(a xor b) | c"),
        ("a xor b xor c", "(a xor b) xor c"),
        ("a -> b -> c", "a -> (b -> c)"),
        ("a | b -> c | d", "(a | b) -> (c | d)"),
        ("a -> b <-> c -> d", "(a -> b) <-> (c -> d)"),
        ("a <-> b <-> c", "(a <-> b) <-> c"),
        ("a xor b -> c & d U !e", "(a xor b) -> (c & (d U (!e)))"),
        ("at end a -> b", "(at end a) -> b"),
        ("X X[2] !a & b", "(X (X[2] (!a))) & b"),
    ] {
        assert_eq!(read(text), read(bracketed), "{text}");
    }
    for (text, other) in [
        ("a & b & c", "(a & b) & c"),
        ("a & b & c", "a & (b & c)"),
        ("a -> b -> c", "(a -> b) -> c"),
        ("a U b U c", "(a U b) U c"),
    ] {
        assert_ne!(read(text), read(other), "{text}");
    }
    assert!(matches!(read("a & b & c & d").expr, Expr::And(fs) if fs.len() == 4));
    assert!(matches!(read("a | b & c | d").expr, Expr::Or(fs) if fs.len() == 3));
}

#[test]
fn as_few_brackets_as_needed() {
    for text in [
        "(a & b) & c",
        "a & (b & c)",
        "(a | b) & c",
        "(a U b) U c",
        "(a -> b) -> c",
        "a <-> (b <-> c)",
        "a xor (b xor c)",
        "(a | b) xor c",
        "(a xor b) | c",
        "!(a & b) & X(a U b)",
        "!X !a",
        "a & F b",
        "G(a -> F b)",
        "at end (a S b)",
    ] {
        check(text, text);
    }
}

#[test]
fn spans_cover_what_they_name() {
    let text = "  G ( \"a b\" -> X[2] (c & d) ) ";
    let ast = read(text);
    let part = |ast: &Ast| text[ast.span.start..ast.span.end].to_owned();
    assert_eq!(part(&ast), "G ( \"a b\" -> X[2] (c & d) )");
    let Expr::Unary(_, inner) = &ast.expr else { panic!("{ast:?}") };
    assert_eq!(part(inner), "( \"a b\" -> X[2] (c & d) )");
    let Expr::Binary(_, left, right) = &inner.expr else { panic!("{inner:?}") };
    assert_eq!((part(left), part(right)), ("\"a b\"".to_owned(), "X[2] (c & d)".to_owned()));
}

#[test]
fn all_mistakes_with_their_places() {
    check_mistakes("", &[(0, "")]);
    check_mistakes("  ", &[(0, "  ")]);
    check_mistakes("a &", &[(3, "")]);
    check_mistakes("a & | b", &[(4, "|")]);
    check_mistakes("& a", &[(0, "&")]);
    check_mistakes("(a", &[(0, "(")]);
    check_mistakes("((a) & (b", &[(0, "("), (7, "(")]);
    check_mistakes("a)", &[(1, ")")]);
    check_mistakes(")", &[(0, ")"), (1, "")]);
    check_mistakes("()", &[(1, ")")]);
    check_mistakes("a b", &[(2, "b")]);
    check_mistakes("a b c", &[(2, "b"), (4, "c")]);
    check_mistakes("p q r", &[(2, "q"), (4, "r")]);
    check_mistakes("(p r) & t", &[(3, "r")]);
    check_mistakes("W [2] a & X [2,3] a", &[(0, "W"), (2, "[2]"), (12, "[2,3]")]);
    check_mistakes("a (b)", &[(2, "(")]);
    check_mistakes("a F b", &[(2, "F")]);
    check_mistakes("a $ b", &[(2, "$")]);
    check_mistakes("a & $$ b", &[(4, "$$")]);
    check_mistakes("a & #", &[(4, "#")]);
    check_mistakes("(a # ) & ) b", &[(3, "#"), (9, ")")]);
    check_mistakes("a != b & c = d", &[(2, "!="), (11, "=")]);
    check_mistakes("\"a", &[(0, "\"a")]);
    check_mistakes("\"\" & a", &[(0, "\"\"")]);
    check_mistakes(r#""a\nb\"" & c"#, &[(2, "\\n")]);
    check_mistakes("3 & a", &[(0, "3")]);
    check_mistakes("F[5,2] a", &[(1, "[5,2]")]);
    check_mistakes("F[99999999999999999999,2] a", &[(2, "99999999999999999999")]);
    check_mistakes("F[x,2] a & G[] b & F[3] c", &[(1, "[x,2]"), (20, "[3]")]);
    check_mistakes("F[2,3 (a)", &[(1, "[")]);
    check_mistakes("F[2:3] a & X[<=2] a", &[(1, "[2:3]"), (12, "[<=2]")]);
    check_mistakes("a[3] & b", &[(1, "[3]")]);
    check_mistakes("a U[3] b", &[(3, "[3]")]);
    check_mistakes("a W[0,3] b & O[2,3] a & a ->[2] b", &[(3, "[0,3]"), (14, "[2,3]"), (28, "[2]")]);
    check_mistakes("(a & ) | F) b", &[(5, ")"), (10, ")")]);
}

#[test]
fn the_advice_fits() {
    for (text, words) in [
        ("a = b", "`<->`"),
        ("a != b", "`xor`"),
        ("g (a)", "did you mean `G`?"),
        ("x a", "did you mean `X`?"),
        ("a u b", "did you mean `U`?"),
        ("a untill b", "did you mean `until`?"),
        ("a since b", "did you mean `S`?"),
        ("globally a", "did you mean `G`?"),
        ("alway (a)", "did you mean `always`?"),
        ("G(P -> F S)", "`\"S\"`"),
        ("G(P -> F)", "`\"F\"`"),
        ("a W[0,3] b", "`(f U[0,k] g) | G[0,k] f`"),
        ("X[s] a", "`X`"),
        ("'a' & b", "`\"`"),
        ("{a}", "`(` and `)`"),
        ("1", "`true`"),
        ("", "`true`"),
        ("(a", "`)`"),
    ] {
        let report = mistakes(text);
        let help = report.iter().next().and_then(|d| d.help.clone()).unwrap_or_default();
        assert!(help.contains(words), "{text}: {report}: {help}");
    }
    let one = ["a untill b", "a u b", "a globally b", "a = b", "F[2,3 a", "a [2] b"];
    for text in one {
        assert_eq!(mistakes(text).iter().len(), 1, "{text}: {}", mistakes(text));
    }
}

#[test]
fn limits_end_in_a_message() {
    let n = 100_000;
    for text in [
        "(".repeat(n),
        "(".repeat(n) + "a" + &")".repeat(n),
        "!".repeat(n) + "a",
        "a U ".repeat(n) + "a",
        "a -> ".repeat(n) + "a",
        "a xor ".repeat(n) + "a",
        "a <-> ".repeat(n) + "a",
        "X[2] ".repeat(n) + "a",
        "(a & ".repeat(n),
        "a & b | ".repeat(n) + &"!(".repeat(n),
        "a".repeat(10 << 20),
        "& ".repeat(5 << 20),
    ] {
        let report = mistakes(&text);
        assert!(report.iter().any(|d| d.code == "limit"), "{:.20}: {report}", text);
    }
    for text in ["$ ".repeat(n), "\"".repeat(n), "[".repeat(n), "F[".repeat(n), ")".repeat(n), "a ".repeat(n)]
    {
        let report = mistakes(&text);
        assert!(report.iter().len() <= 101, "{:.20}", text);
    }
    // A suggestion for a name of a megabyte is not worth a second.
    let started = std::time::Instant::now();
    mistakes(&("a ".to_owned() + &"b".repeat(1_000_000)));
    assert!(started.elapsed().as_secs() < 2);
    let chain = "a & ".repeat(n) + "a";
    assert!(matches!(read(&chain).expr, Expr::And(fs) if fs.len() == n + 1));
    let deepest = "!".repeat(1000) + "a";
    assert_eq!(read(&deepest).to_string(), deepest);
    let small = Limits { max_depth: 2, ..Limits::default() };
    assert!(parse("!!a", Dialect::Tracelaw, &small).is_ok());
    let report = parse("!!!a", Dialect::Tracelaw, &small).unwrap_err();
    assert_eq!(report.iter().map(|d| (d.code, d.span)).collect::<Vec<_>>(), [("limit", Span::new(2, 3))]);
}
