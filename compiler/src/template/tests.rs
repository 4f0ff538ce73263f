use super::*;

fn read(text: &str) -> Ast {
    parse(text, Dialect::Tracelaw, &Limits::default()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The template `text` stands for exactly that formula.
fn check(text: &str, formula: &str) {
    let expected = syntax::parse(formula, Dialect::Tracelaw, &Limits::default()).unwrap();
    assert_eq!(read(text), expected, "{text}: {} is not {formula}", read(text));
}

fn check_mistakes(text: &str, expected: &[(&str, &str)]) {
    let report = parse(text, Dialect::Tracelaw, &Limits::default()).expect_err(text);
    let found: Vec<_> =
        report.iter().map(|d| (&text[d.span.start..d.span.end], d.message.as_str())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn every_formula_of_the_table_is_one() {
    for form in catalogue() {
        let formula = form.counted.map_or(form.formula.to_owned(), |f| f(3));
        let ast = syntax::parse(&formula, Dialect::Tracelaw, &Limits::default())
            .unwrap_or_else(|e| panic!("{formula}: {e}"));
        let parameters: Vec<_> = form.parameters().collect();
        for name in ast.propositions() {
            assert!(parameters.contains(&name), "{}: {name}", form.form);
        }
        assert_eq!(
            form.counted.is_some(),
            parameters.iter().any(|p| matches!(*p, "n" | "k")),
            "{}",
            form.form
        );
        // The form as shown can be used, with numbers for the letters that stand for numbers.
        let call = form.form.replace("n,", "3,").replace(", n", ", 3").replace(" k ", " 3 ");
        check(&call, &formula);
    }
}

#[test]
fn templates_are_their_formulas() {
    check("auth before transfer", "!((!auth) U transfer)");
    check("after (a | b) expect !c", "G((a | b) -> F !c)");
    check("existence(2, a)", "F(a & X F a)");
    check("existence(3, a & b)", "F((a & b) & X F((a & b) & X F(a & b)))");
    check("absence(3, a)", "!F(a & X F(a & X F a))");
    check("exactly(2, a)", "F(a & X F a) & !F(a & X F(a & X F a))");
    check("Exactly1(a)", "F a & !F(a & X F a)");
    check("absence2(a)", "!F(a & X F a)");
    check("init(\"a b\")", "\"a b\"");
    check("end(a)", "F(a & WX false)");
    check("succession(a, b)", "G(a -> F b) & (!b W a)");
    check("chain_succession(a, b)", "G(a -> X b) & !b & G(X b -> a)");
    check("bounded(p, 2)", "!p W (p W (!p W (p W G !p)))");
    check(
        "bounded(p, 2) between q and r",
        "G((q & F r) -> ((!p & !r) U (r | ((p & !r) U (r | ((!p & !r) U (r | ((p & !r) U (r | (!p U r))))))))))",
    );
    check("bounded(p, 1) after q", "F q -> (!q U (q & (!p W (p W G !p))))");
    check("absent(drop) between q and r", "G((q & !r & F r) -> (!drop U r))");
    check("absent(p) globally", "G !p");
    check("responds(s, p) after q until r", "G((q & !r) -> ((p -> (!r U (s & !r))) W r))");
    check("at-most-once f", "G(f -> (f W G !f))");
    check("sometime-before (a | b) !c", "(!(a | b) & !!c) W (!(a | b) & !c)");
    check("always-within 3 f g", "G(f -> F[<=3] g)");
    check("always-within(3, f, g & h)", "G(f -> F[<=3] (g & h))");
    check("at end (a -> b)", "at end (a -> b)");
    check("always (a -> b)", "G(a -> b)");
}

#[test]
fn spellings_do_not_matter() {
    for text in ["chain_response(a,b)", "chain response (a, b)", "ChainResponse(a,b)", "CHAIN-RESPONSE(a,b)"]
    {
        check(text, "G(a -> X b)");
    }
    for text in
        ["not_co_existence(a,b)", "NotCoExistence(a,b)", "not co-existence(a,b)", "negation coexistence(a,b)"]
    {
        check(text, "!(F a & F b)");
    }
    for text in ["sometime after f g", "sometime_after f g", "Sometime-After(f, g)"] {
        check(text, "G(f -> F g)");
    }
    check("absent(p) BETWEEN q AND r", "G((q & !r & F r) -> (!p U r))");
    check("end before response", "!((!end) U response)");
    check("(a & b) before not c", "!((!(a & b)) U !c)");
}

#[test]
fn arguments_keep_their_places() {
    let text = "response(a, \"b c\" & d)";
    let ast = read(text);
    assert_eq!(ast.span, Span::new(0, text.len()));
    let Expr::Unary(_, body) = &ast.expr else { panic!("{ast}") };
    let Expr::Binary(_, a, f) = &body.expr else { panic!("{ast}") };
    let Expr::Unary(_, b) = &f.expr else { panic!("{ast}") };
    assert_eq!((a.span, b.span), (Span::new(9, 10), Span::new(12, 21)));
}

#[test]
fn all_mistakes_with_their_places() {
    check_mistakes("respons(a, b)", &[("respons", "unknown template `respons`")]);
    check_mistakes("", &[("", "expected a template, found nothing")]);
    check_mistakes("G(a)", &[("G", "unknown template `G`")]);
    check_mistakes("response(a)", &[("response", "`response` does not take 1 argument")]);
    check_mistakes(
        "chain response(a, b, c)",
        &[("chain response", "`chain response` does not take 3 arguments")],
    );
    check_mistakes(
        "response(a, b) between q and r",
        &[("response(a, b) between q and r", "`response` takes no scope")],
    );
    check_mistakes(
        "response(F a, b & X c)",
        &[
            ("F a", "a template argument has to be free of temporal operators, found `F a`"),
            ("X c", "a template argument has to be free of temporal operators, found `X c`"),
        ],
    );
    check_mistakes(
        "response(a & , b c)",
        &[
            ("", "expected a formula after `&`, found the end of the text"),
            ("c", "expected an operator, found `c`"),
        ],
    );
    check_mistakes(
        "response(F a, b, c d)",
        &[
            ("response", "`response` does not take 3 arguments"),
            ("F a", "a template argument has to be free of temporal operators, found `F a`"),
            ("d", "expected an operator, found `d`"),
        ],
    );
    check_mistakes("response(a, b", &[("(", "`(` is never closed")]);
    check_mistakes("response(, b)", &[(",", "expected an argument, found `,`")]);
    check_mistakes("existence(x, a)", &[("x", "expected a number, found `x`")]);
    check_mistakes("existence(0, a)", &[("0", "`n` has to be at least 1, found `0`")]);
    check_mistakes("absent(p) between q or r", &[("or", "expected `and`, found `or`")]);
    check_mistakes("absent(p) during q", &[("during", "expected a scope, found `during`")]);
    check_mistakes(
        "absent(p) before",
        &[("", "expected a proposition or a formula in brackets after `before`, found the end of the text")],
    );
    check_mistakes("a before b & c", &[("&", "expected the end, found `&`")]);
    check_mistakes("a befor b", &[("befor", "expected `before`, found `befor`")]);
    check_mistakes("after a expct b", &[("expct", "expected `expect`, found `expct`")]);
    check_mistakes("always a -> b", &[("->", "expected the end, found `->`")]);
    check_mistakes(
        "existence(100000, a)",
        &[("100000", "the formula of `existence` is too large with these arguments")],
    );
}

#[test]
fn an_unknown_name_brings_the_nearest() {
    let help = |text: &str| {
        let report = parse(text, Dialect::Tracelaw, &Limits::default()).unwrap_err();
        report.iter().next().and_then(|d| d.help.clone()).unwrap_or_default()
    };
    assert!(help("repsonse(a, b)").starts_with("did you mean `response`?"));
    assert!(help("respons(a, b)").starts_with("did you mean `responds` or `response`?"));
    assert!(help("AlternatResponse(a, b)").starts_with("did you mean `alternate_response`?"));
    assert!(help("G(a -> F b)").contains("`formula`"));
    assert!(help("frobnicate(a)").contains("not_chain_succession"));
    assert_eq!(help("existence(a, b, c)"), "it is written `existence(a)` or `existence(n, a)`");
}

#[test]
fn hostile_texts_end_in_a_message() {
    let n = 100_000;
    for text in [
        "(".repeat(n),
        "absent(".repeat(n),
        "existence(4000000000, a)".to_owned(),
        "a ".repeat(n),
        "not ".repeat(n),
        "always ".repeat(n),
        ",".repeat(n),
        format!("response({}a, b)", "!".repeat(n)),
        format!("exactly(300, {}a)", "a & ".repeat(n)),
        "a".repeat(10 << 20),
    ] {
        assert!(parse(&text, Dialect::Tracelaw, &Limits::default()).is_err(), "{:.20}", text);
    }
}

#[test]
fn a_misspelt_template_is_no_formula() {
    let limits = Limits::default();
    let told = |text: &str| {
        let mistakes = syntax::parse(text, Dialect::Tracelaw, &limits).expect_err(text);
        let report = instead_of_formula(mistakes, text, Dialect::Tracelaw, &limits);
        let all: Vec<_> = report.into_iter().collect();
        (all[0].message.clone(), all[0].help.clone().unwrap_or_default(), all.len())
    };
    for (text, word, meant) in [
        ("responce(a, b)", "responce", "`response(a, b)`"),
        ("respons(a, b)", "respons", "`responds(a, b)` or `response(a, b)`"),
        ("a befor b", "befor", "`a before b`"),
        ("after a expct b", "expct", "`after a expect b`"),
        ("absnt(a) between b and c", "absnt", "`absent(a) between b and c`"),
        ("sometme-after a b", "sometme", "`sometime-after a b`"),
    ] {
        let (message, help, len) = told(text);
        assert_eq!(message, format!("expected a formula, found a template that is misspelt: `{word}`"));
        assert!(help.starts_with(&format!("did you mean {meant}? give it as `template = ..`")), "{help}");
        assert_eq!(len, 1);
    }
    // A known template that is used wrongly: its own mistakes.
    let (message, help, _) = told("response(a)");
    assert!(message.contains("`response`") && help.contains("a template is given as"), "{message} {help}");
    // Mistakes of formulas stay those of formulas.
    for text in ["G(a -> F b", "pay(x)", "always (a & ", "a && && b", "(before) (after)"] {
        let mistakes = syntax::parse(text, Dialect::Tracelaw, &limits).expect_err(text);
        let report = instead_of_formula(mistakes.clone(), text, Dialect::Tracelaw, &limits);
        assert_eq!(report.to_string(), mistakes.to_string(), "{text}");
    }
}
