//! Reading of texts that nobody would write, and the documentation of the language against the language.

use tracelaw_compiler::diag::Report;
use tracelaw_compiler::syntax::{self, Ast, Dialect, Limits};
use tracelaw_compiler::template;

use crate::generate::Random;

const WORDS: &[&str] = &[
    "a",
    "b",
    "\"c d\"",
    "\"",
    "\"\"",
    "\"\\",
    "true",
    "FALSE",
    "3",
    "12a",
    "99999999999",
    "(",
    ")",
    "[",
    "]",
    "[]",
    "<>",
    "[!]",
    "[2,5]",
    "[5,2]",
    "[<=3]",
    "[2,]",
    "[x]",
    ",",
    "<=",
    "!",
    "~",
    "¬",
    "&",
    "&&",
    "|",
    "/\\",
    "\\/",
    "->",
    "=>",
    "<->",
    "↔",
    "xor",
    "^",
    "X",
    "WX",
    "N",
    "F",
    "G",
    "Y",
    "Z",
    "O",
    "H",
    "U",
    "W",
    "R",
    "M",
    "S",
    "T",
    "𝒰",
    "○",
    "◇",
    "□",
    "NOT",
    "and",
    "UNTIL",
    "at end",
    "at",
    "end",
    "until",
    "untill",
    "globally",
    "g",
    "u",
    "=",
    "!=",
    "$",
    "é",
    "€",
    "\u{301}",
    "\n",
    "\u{a0}",
    "{",
    "'",
    "response",
    "response(",
    "existence",
    "absent(p)",
    "between",
    "before",
    "after",
    "expect",
    "always",
    "sometime-after",
    "always-within",
    "a-b",
    "_",
    "-",
];

fn soup(random: &mut Random) -> String {
    let space = if random.below(3) == 0 { "" } else { " " };
    let words: Vec<&str> = (0..random.below(14)).filter_map(|_| random.pick(WORDS).copied()).collect();
    words.join(space)
}

fn check(text: &str, outcome: Result<Ast, Report>) {
    match outcome {
        Ok(ast) => {
            let printed = ast.to_string();
            let back = syntax::parse(&printed, Dialect::Tracelaw, &Limits::default());
            assert_eq!(back.as_ref().ok(), Some(&ast), "{text} was printed as {printed}");
        }
        Err(report) => {
            assert!(report.has_errors(), "{text}");
            let mut last = 0;
            for diagnostic in &report.into_iter().collect::<Vec<_>>() {
                let span = diagnostic.span;
                assert!(text.get(span.start..span.end).is_some(), "{text}: {diagnostic:?}");
                assert!(span.start >= last, "{text}: out of order");
                last = span.start;
                let message = &diagnostic.message;
                assert!(!message.is_empty() && !message.ends_with('.') && message.len() < 400, "{message}");
                assert!(!message.starts_with(char::is_uppercase), "{message}");
            }
        }
    }
}

#[test]
fn any_text_is_read_or_refused_with_reasons() {
    let mut read = 0;
    for seed in 0..20_000 {
        let text = soup(&mut Random::new(seed));
        for dialect in [Dialect::Tracelaw, Dialect::Spot] {
            let formula = syntax::parse(&text, dialect, &Limits::default());
            read += usize::from(formula.is_ok());
            check(&text, formula);
            check(&text, template::parse(&text, dialect, &Limits::default()));
        }
    }
    assert!(read > 500, "{read}");
}

#[test]
fn small_limits_are_kept() {
    for seed in 0..5_000 {
        let mut random = Random::new(seed);
        let text = random.formula(&crate::generate::names(3), 6).to_string();
        let limits = Limits { max_bytes: 200, max_depth: random.below(12) };
        match syntax::parse(&text, Dialect::Tracelaw, &limits) {
            Ok(ast) => assert!(depth(&ast) <= limits.max_depth && text.len() <= 200, "{text}"),
            Err(report) => assert!(report.iter().any(|d| d.code == "limit"), "{text}: {report}"),
        }
    }
}

fn depth(ast: &Ast) -> usize {
    use syntax::Expr;
    match &ast.expr {
        Expr::Constant(_) | Expr::Proposition(_) => 0,
        Expr::Unary(_, f) => 1 + depth(f),
        Expr::And(fs) | Expr::Or(fs) => 1 + fs.iter().map(depth).max().unwrap_or(0),
        Expr::Binary(_, f, g) => 1 + depth(f).max(depth(g)),
    }
}

#[test]
fn the_documentation_shows_every_template() {
    let documentation = include_str!("../../docs/language.md");
    let mut missing = Vec::new();
    for form in template::catalogue() {
        let formula = form.formula.replace('|', "\\|");
        let row = format!("| `{}` | `{formula}` | {} |", form.form, form.meaning);
        if !documentation.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "docs/language.md lacks\n{}", missing.join("\n"));
}

#[test]
fn the_examples_of_the_documentation_can_be_read() {
    let documentation = include_str!("../../docs/language.md");
    let mut count = 0;
    for (fence, block) in
        documentation.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
    {
        for line in block.lines() {
            // Two spaces set a remark off.
            let example = line.split("  ").next().unwrap_or(line);
            match fence {
                "formula" => check(
                    example,
                    Ok(syntax::parse(example, Dialect::Tracelaw, &Limits::default())
                        .unwrap_or_else(|e| panic!("{example}: {e}"))),
                ),
                "template" => check(
                    example,
                    Ok(template::parse(example, Dialect::Tracelaw, &Limits::default())
                        .unwrap_or_else(|e| panic!("{example}: {e}"))),
                ),
                _ => continue,
            }
            count += 1;
        }
    }
    assert_eq!(count, 14);
}
