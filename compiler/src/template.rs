//! Named rules: DECLARE, the two regulatory forms, PDDL3 constraints and, from `patterns.rs`, the specification
//! patterns. A template means its formula and nothing else; all of them are rows of one table.
//!
//! # Grammar
//! ```text
//! invocation = name "(" argument { "," argument } ")" [ scope ]
//!            | operand "before" operand
//!            | "after" operand "expect" operand
//!            | constraint { operand }
//! scope      = "globally" | "before" operand | "after" operand [ "until" operand ] | "between" operand "and" operand
//! argument   = number | propositional formula
//! operand    = number | { "!" } ( identifier | quoted text | "true" | "false" | "(" propositional formula ")" )
//! ```
//! Names are read without regard to case, and `_`, `-` and spaces inside them do not matter.

pub use instead::instead_of_formula;

use crate::diag::{Diagnostic, Report, Span, did_you_mean, suggest};
use crate::patterns::PATTERNS;
use crate::syntax::advice::clip;
use crate::syntax::lexer::{Kind, Prefix, Token, tokens};
use crate::syntax::parser::{check_length, parse_tokens};
use crate::syntax::{self, Ast, Binary, Dialect, Expr, Limits, Unary};

mod instead;
mod table;
#[cfg(test)]
mod tests;

/// One form of a template.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its usual name.
    pub name: &'static str,
    /// How it is written, with the names of its arguments: `n` and `k` are numbers, the others propositional formulas.
    pub form: &'static str,
    /// The formula it stands for. Where it depends on a number, this says how.
    pub formula: &'static str,
    /// What it asks for, in one line.
    pub meaning: &'static str,
    other_names: &'static [&'static str],
    syntax: Syntax,
    scope: Scope,
    counted: Option<fn(u32) -> String>,
}

/// How the arguments are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Syntax {
    /// `name(a, b)`
    Call,
    /// `a before b`, `after a expect b`
    Sentence,
    /// `name f g`
    Constraint,
}

/// Where in the trace a specification pattern has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Globally,
    Before,
    After,
    Between,
    AfterUntil,
}

impl Template {
    pub(crate) const fn new(
        name: &'static str,
        form: &'static str,
        formula: &'static str,
        meaning: &'static str,
    ) -> Template {
        Template {
            name,
            form,
            formula,
            meaning,
            other_names: &[],
            syntax: Syntax::Call,
            scope: Scope::Globally,
            counted: None,
        }
    }

    /// The formula is made from the number among the arguments.
    pub(crate) const fn counted(mut self, formula: fn(u32) -> String) -> Template {
        self.counted = Some(formula);
        self
    }

    pub(crate) const fn scoped(mut self, scope: Scope) -> Template {
        self.scope = scope;
        self
    }

    const fn also(mut self, names: &'static [&'static str]) -> Template {
        self.other_names = names;
        self
    }

    const fn written(mut self, syntax: Syntax) -> Template {
        self.syntax = syntax;
        self
    }

    /// The names of the arguments, in order: the words of one letter in the form.
    fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.form.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 1)
    }

    fn is_called(&self, normalized: &str) -> bool {
        std::iter::once(&self.name).chain(self.other_names).any(|name| normalize(name) == normalized)
    }
}

/// All templates, in the order in which to show them.
#[must_use]
pub fn catalogue() -> &'static [Template] {
    static ALL: std::sync::LazyLock<Vec<Template>> = std::sync::LazyLock::new(|| {
        [table::SENTENCES, table::DECLARE, PATTERNS, table::CONSTRAINTS].concat()
    });
    &ALL
}

/// Reads one use of a template and returns the formula it stands for, the arguments with their own places and all the
/// rest with that of the whole text.
///
/// # Errors
/// All mistakes in the arguments; an unknown name with the one most like it; a wrong number of arguments; `limit`
/// where the formula would grow too large.
///
/// # Panics
/// Never, on any text.
pub fn parse(text: &str, dialect: Dialect, limits: &Limits) -> Result<Ast, Report> {
    check_length(text, limits)?;
    let tokens = tokens(text);
    let mut reader = Reader { text, tokens: &tokens, at: 0, dialect, limits };
    let found = reader.invocation()?;
    reader.formula(&found)
}

/// What a use of a template says, before its arguments are read.
struct Invocation<'a> {
    /// All forms of the template that goes by that name.
    forms: Vec<&'static Template>,
    /// The name as written.
    name: Span,
    /// A number that is part of the name, as in `absence2(a)`.
    number: Option<u32>,
    scope: Scope,
    arguments: Vec<&'a [Token]>,
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    dialect: Dialect,
    limits: &'a Limits,
}

impl<'a> Reader<'a> {
    fn invocation(&mut self) -> Result<Invocation<'a>, Report> {
        if self.tokens.is_empty() {
            return Err(error(self.whole(), "expected a template, found nothing", known_names()));
        }
        let (len, name) = self.name_before_bracket();
        if let Some(name) = name {
            let (forms, number) = named(&normalize(self.words(name)));
            if forms.iter().any(|form| form.syntax == Syntax::Call) || self.is_call(len, &forms) {
                self.at = len;
                let arguments = self.bracketed()?;
                let scope = self.scope()?;
                return self.ended(forms, name, number, scope, arguments);
            }
        }
        if let Some(found) = self.constraint()? {
            return Ok(found);
        }
        if let Some(found) = self.sentence()? {
            return Ok(found);
        }
        Err(self.unknown(name))
    }

    /// The number of tokens before the first bracket, and their place if all of them can be parts of a name.
    fn name_before_bracket(&self) -> (usize, Option<Span>) {
        let len = self.tokens.iter().position(|token| token.kind == Kind::Open).unwrap_or(0);
        let words = self.tokens.get(..len).unwrap_or(&[]);
        if !words.iter().all(|&token| self.is_part_of_name(token)) {
            return (len, None);
        }
        (len, words.first().zip(words.last()).map(|(first, last)| first.span.to(last.span)))
    }

    fn is_part_of_name(&self, token: Token) -> bool {
        let text = self.words(token.span);
        text == "-"
            || (token.kind != Kind::Quoted && text.starts_with(|c: char| c.is_alphabetic() || c == '_'))
    }

    /// Whether a constraint is written with commas, `sometime-after(f, g)`, from the token `open` on.
    fn is_call(&self, open: usize, forms: &[&Template]) -> bool {
        forms.iter().any(|form| form.syntax == Syntax::Constraint)
            && self.closing(open).is_some_and(|close| close + 1 == self.tokens.len())
            && self.top_level_commas(open).next().is_some()
    }

    /// The index of the bracket that closes the one at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (i, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close if depth <= 1 => return Some(i),
                Kind::Close => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn top_level_commas(&self, open: usize) -> impl Iterator<Item = usize> {
        let close = self.closing(open).unwrap_or(open);
        let mut depth = 0_usize;
        self.tokens.iter().enumerate().take(close).skip(open + 1).filter_map(move |(i, token)| {
            match token.kind {
                Kind::Open | Kind::OpenSquare => depth += 1,
                Kind::Close | Kind::CloseSquare => depth = depth.saturating_sub(1),
                Kind::Comma if depth == 0 => return Some(i),
                _ => {}
            }
            None
        })
    }

    /// The arguments between the bracket that is next and the one that closes it.
    fn bracketed(&mut self) -> Result<Vec<&'a [Token]>, Report> {
        let open = self.at;
        let Some(close) = self.closing(open) else {
            let span = self.tokens.get(open).map_or(self.whole(), |token| token.span);
            return Err(error(span, "`(` is never closed", "add the missing `)`"));
        };
        let mut start = open + 1;
        let mut arguments = Vec::new();
        for end in self.top_level_commas(open).chain([close]) {
            let argument = self.tokens.get(start..end).unwrap_or(&[]);
            if argument.is_empty() {
                let span = self.tokens.get(end).map_or(self.whole(), |token| token.span);
                let found = self.words(span);
                return Err(error(span, format!("expected an argument, found `{found}`"), "write a formula"));
            }
            arguments.push(argument);
            start = end + 1;
        }
        self.at = close + 1;
        Ok(arguments)
    }

    /// The scope that follows the arguments: its kind, and the operands go to the arguments.
    fn scope(&mut self) -> Result<(Scope, Vec<&'a [Token]>), Report> {
        let Some(word) = self.next_word() else { return Ok((Scope::Globally, vec![])) };
        let scope = match word.as_str() {
            "globally" => {
                self.at += 1;
                (Scope::Globally, vec![])
            }
            "before" => (Scope::Before, vec![self.operand_after("before")?]),
            "after" => {
                let q = self.operand_after("after")?;
                match self.next_word().as_deref() {
                    Some("until") => (Scope::AfterUntil, vec![q, self.operand_after("until")?]),
                    _ => (Scope::After, vec![q]),
                }
            }
            "between" => {
                let q = self.operand_after("between")?;
                if self.next_word().as_deref() != Some("and") {
                    let help =
                        "a scope is written `between q and r`, each a proposition or a formula in brackets";
                    return Err(error(self.here(), format!("expected `and`, found {}", self.found()), help));
                }
                (Scope::Between, vec![q, self.operand_after("and")?])
            }
            _ => {
                return Err(error(self.here(), format!("expected a scope, found {}", self.found()), SCOPES));
            }
        };
        Ok(scope)
    }

    fn ended(
        &self,
        forms: Vec<&'static Template>,
        name: Span,
        number: Option<u32>,
        (scope, of_scope): (Scope, Vec<&'a [Token]>),
        mut arguments: Vec<&'a [Token]>,
    ) -> Result<Invocation<'a>, Report> {
        if self.at < self.tokens.len() {
            let help = "arguments are propositions, or formulas in brackets";
            return Err(error(self.here(), format!("expected the end, found {}", self.found()), help));
        }
        arguments.extend(of_scope);
        Ok(Invocation { forms, name, number, scope, arguments })
    }

    /// `at-most-once f`, `always-within 3 f g`: the longest name that the text starts with.
    fn constraint(&mut self) -> Result<Option<Invocation<'a>>, Report> {
        let words = self.tokens.iter().take(6).take_while(|&&token| self.is_part_of_name(token)).count();
        for len in (1..=words).rev() {
            let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.get(len - 1)) else { continue };
            let name = first.span.to(last.span);
            let (forms, number) = named(&normalize(self.words(name)));
            if number.is_some() || !forms.iter().any(|form| form.syntax == Syntax::Constraint) {
                continue;
            }
            self.at = len;
            let mut arguments = Vec::new();
            while self.at < self.tokens.len() && self.operand_len(true) > 0 {
                arguments.push(self.operand(true)?);
            }
            return self.ended(forms, name, None, (Scope::Globally, vec![]), arguments).map(Some);
        }
        Ok(None)
    }

    /// `a before b`, `after a expect b`.
    fn sentence(&mut self) -> Result<Option<Invocation<'a>>, Report> {
        self.at = 0;
        let (word, arguments, name) = if self.next_word().as_deref() == Some("after") && self.tokens.len() > 1
        {
            let name = self.here();
            let a = self.operand_after("after")?;
            if self.next_word().as_deref() != Some("expect") {
                let help = "this template is written `after a expect b`, each a proposition or a formula in brackets";
                return Err(error(self.here(), format!("expected `expect`, found {}", self.found()), help));
            }
            ("after", vec![a, self.operand_after("expect")?], name)
        } else {
            if self.operand_len(false) == 0 {
                return Ok(None);
            }
            let a = self.operand(false)?;
            match self.next_word().as_deref() {
                Some("before") => {}
                Some(word) if suggest(word, ["before"]).is_some() => {
                    return Err(error(
                        self.here(),
                        format!("expected `before`, found {}", self.found()),
                        "write `a before b`",
                    ));
                }
                _ => return Ok(None),
            }
            let name = self.here();
            ("before", vec![a, self.operand_after("before")?], name)
        };
        let (forms, _) = named(word);
        self.ended(forms, name, None, (Scope::Globally, vec![]), arguments).map(Some)
    }

    /// Steps over the word that is next and reads the operand after it.
    fn operand_after(&mut self, word: &str) -> Result<&'a [Token], Report> {
        self.at += 1;
        if self.operand_len(false) == 0 {
            let message = format!(
                "expected a proposition or a formula in brackets after `{word}`, found {}",
                self.found()
            );
            return Err(error(self.here(), message, "for example `a`, `!a`, `\"a b\"` or `(a | b)`"));
        }
        self.operand(false)
    }

    fn operand(&mut self, numbers: bool) -> Result<&'a [Token], Report> {
        let len = self.operand_len(numbers);
        let operand = self.tokens.get(self.at..self.at + len).unwrap_or(&[]);
        self.at += len;
        Ok(operand)
    }

    /// How many tokens make up the operand that starts here; 0 if none does.
    fn operand_len(&self, numbers: bool) -> usize {
        let rest = self.tokens.get(self.at..).unwrap_or(&[]);
        let signs = rest.iter().take_while(|token| token.kind == Kind::Prefix(Prefix::Not)).count();
        match rest.get(signs).map(|token| token.kind) {
            Some(Kind::Name | Kind::Quoted | Kind::Unclosed | Kind::Constant(_)) => signs + 1,
            Some(Kind::Number) if numbers && signs == 0 => 1,
            Some(Kind::Open) => match self.closing(self.at + signs) {
                Some(close) => close + 1 - self.at,
                // The formula parser names the bracket.
                None => rest.len(),
            },
            _ => 0,
        }
    }

    /// Chooses the form, reads the arguments and puts them in.
    fn formula(&self, found: &Invocation<'a>) -> Result<Ast, Report> {
        let given = found.arguments.len() + usize::from(found.number.is_some());
        let in_scope: Vec<_> = found.forms.iter().filter(|form| form.scope == found.scope).collect();
        let Some(form) = in_scope.iter().find(|form| form.parameters().count() == given) else {
            let written = self.words(found.name);
            let forms: Vec<String> = found.forms.iter().map(|form| format!("`{}`", form.form)).collect();
            let message = if in_scope.is_empty() {
                format!("`{written}` takes no scope")
            } else {
                format!("`{written}` does not take {given} argument{}", if given == 1 { "" } else { "s" })
            };
            let span = if in_scope.is_empty() { self.whole() } else { found.name };
            let mut report = error(span, message, format!("it is written {}", forms.join(" or ")));
            // What else is wrong with the arguments, as far as it does not depend on the form.
            for argument in found.arguments.iter().filter(|tokens| !is_number(tokens)) {
                self.argument(argument, &mut report);
            }
            return Err(report.sorted());
        };
        let mut report = Report::new();
        let mut number = found.number.map(|n| (n, found.name));
        let mut values = Vec::new();
        let mut arguments = found.arguments.iter();
        for parameter in form.parameters() {
            let counts = matches!(parameter, "n" | "k");
            if counts && found.number.is_some() {
                continue;
            }
            let Some(argument) = arguments.next() else { continue };
            let span = span_of(argument).unwrap_or(self.whole());
            if counts {
                match self.number(argument, span, parameter, form) {
                    Ok(n) => number = Some((n, span)),
                    Err(more) => report.extend(more),
                }
            } else {
                values.extend(self.argument(argument, &mut report).map(|ast| (parameter, ast)));
            }
        }
        if report.has_errors() {
            return Err(report.sorted());
        }
        self.instance(form, number, &values)
    }

    /// The propositional formula that an argument is; what is wrong with it goes into the report.
    fn argument(&self, tokens: &[Token], report: &mut Report) -> Option<Ast> {
        let place = span_of(tokens).unwrap_or(self.whole());
        match parse_tokens(self.text, tokens, place, self.dialect, self.limits) {
            Ok(ast) => {
                temporal_parts(&ast, report);
                Some(ast)
            }
            Err(more) => {
                report.extend(more);
                None
            }
        }
    }

    fn number(&self, argument: &[Token], span: Span, name: &str, form: &Template) -> Result<u32, Report> {
        let digits = self.words(span);
        // Not even one event is far: distances may be 0. Counting starts at 1.
        let least = u32::from(name == "n");
        match digits.parse() {
            Ok(n) if argument.len() == 1 && n >= least => Ok(n),
            Ok(0) => Err(error(
                span,
                format!("`{name}` has to be at least {least}, found `0`"),
                "for never, use `absence` or `absent`",
            )),
            _ => Err(error(
                span,
                format!("expected a number, found `{}`", clip(digits)),
                format!("it is written `{}`, and `{name}` is a number of events", form.form),
            )),
        }
    }

    /// The formula of the template with the arguments in the places of its own propositions.
    fn instance(
        &self,
        form: &Template,
        number: Option<(u32, Span)>,
        values: &[(&str, Ast)],
    ) -> Result<Ast, Report> {
        let too_large = |span| {
            let message = format!("the formula of `{}` is too large with these arguments", form.name);
            let diagnostic = Diagnostic::error("limit", span, message);
            Report::from(
                diagnostic.with_help("use a smaller number or shorter arguments, or raise the limits"),
            )
        };
        let body = match (form.counted, number) {
            // A distance makes the formula no larger.
            (Some(formula), Some((n, span))) => {
                if form.syntax == Syntax::Call && n as usize > self.limits.depth() {
                    return Err(too_large(span));
                }
                formula(n)
            }
            _ => form.formula.to_owned(),
        };
        let span = number.map_or(self.whole(), |(_, span)| span);
        let body = syntax::parse(&body, Dialect::Tracelaw, self.limits).map_err(|_| too_large(span))?;
        let mut room = self.limits.max_bytes;
        let ast = put_in(&body, values, self.whole(), &mut room, self.limits.depth());
        ast.ok_or_else(|| too_large(self.whole()))
    }

    fn unknown(&self, name: Option<Span>) -> Report {
        let as_formula = || syntax::parse(self.text, self.dialect, self.limits).is_ok();
        let first = self.tokens.first().map_or(self.whole(), |token| token.span);
        let span = name.unwrap_or(first);
        let written = self.words(span);
        let names = catalogue().iter().filter(|form| form.syntax != Syntax::Sentence).map(|form| form.name);
        let help = match did_you_mean(&normalize_readably(written), names) {
            Some(near) => format!("{near} {}", known_names()),
            None if as_formula() => "this is a formula, not a template: give it as `formula`".to_owned(),
            None => known_names(),
        };
        let message = format!("unknown template `{}`", clip(written));
        Diagnostic::error("unknown-name", span, message).with_help(help).into()
    }

    // Text.

    fn words(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// The word that is next, in lower case; `None` at the end.
    fn next_word(&self) -> Option<String> {
        self.tokens.get(self.at).map(|token| self.words(token.span).to_lowercase())
    }

    /// The place of the next token, or the empty one at the end.
    fn here(&self) -> Span {
        let end = self.whole().end;
        self.tokens.get(self.at).map_or(Span::new(end, end), |token| token.span)
    }

    fn found(&self) -> String {
        match self.tokens.get(self.at) {
            Some(token) => format!("`{}`", clip(self.words(token.span))),
            None => "the end of the text".to_owned(),
        }
    }

    fn whole(&self) -> Span {
        span_of(self.tokens).unwrap_or(Span::new(0, self.text.len()))
    }
}

const SCOPES: &str = "scopes are `globally`, `before r`, `after q`, `between q and r` and `after q until r`";

fn error(span: Span, message: impl Into<String>, help: impl Into<String>) -> Report {
    Diagnostic::error("template", span, message).with_help(help).into()
}

fn is_number(tokens: &[Token]) -> bool {
    matches!(tokens, [Token { kind: Kind::Number, .. }])
}

fn span_of(tokens: &[Token]) -> Option<Span> {
    tokens.first().zip(tokens.last()).map(|(first, last)| first.span.to(last.span))
}

/// The name without what does not matter in it. `negation` and the like are other words for `not`.
fn normalize(name: &str) -> String {
    let mut plain: String = name.chars().filter(|c| !matches!(c, '_' | '-') && !c.is_whitespace()).collect();
    plain.make_ascii_lowercase();
    for negation in ["negation", "non", "neg"] {
        if let Some(rest) = plain.strip_prefix(negation) {
            return format!("not{rest}");
        }
    }
    plain
}

/// As written, but comparable with the names of the table.
fn normalize_readably(name: &str) -> String {
    let words: Vec<&str> = name.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-')).collect();
    words.join("_")
}

/// All forms of that name, and the number it ends in if the name without it is one of ours.
fn named(normalized: &str) -> (Vec<&'static Template>, Option<u32>) {
    let find = |name: &str| catalogue().iter().filter(|form| form.is_called(name)).collect::<Vec<_>>();
    let forms = find(normalized);
    if !forms.is_empty() {
        return (forms, None);
    }
    let name = normalized.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = normalized.get(name.len()..).and_then(|digits| digits.parse().ok());
    match number {
        Some(n) if n > 0 => {
            (find(name).into_iter().filter(|form| form.parameters().any(|p| p == "n")).collect(), number)
        }
        _ => (vec![], None),
    }
}

fn known_names() -> String {
    let mut names = Vec::new();
    for form in catalogue() {
        let name = if form.syntax == Syntax::Sentence { form.form } else { form.name };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format!("the templates are {}", names.join(", "))
}

/// Reports the outermost temporal operators.
fn temporal_parts(ast: &Ast, report: &mut Report) {
    let temporal = match &ast.expr {
        Expr::Constant(_) | Expr::Proposition(_) => false,
        Expr::And(fs) | Expr::Or(fs) => return fs.iter().for_each(|f| temporal_parts(f, report)),
        Expr::Unary(Unary::Not, f) => return temporal_parts(f, report),
        Expr::Unary(..) => true,
        Expr::Binary(op, f, g) => match op {
            Binary::Xor | Binary::Implies | Binary::Iff => {
                temporal_parts(f, report);
                return temporal_parts(g, report);
            }
            Binary::Until(_)
            | Binary::WeakUntil
            | Binary::Release
            | Binary::StrongRelease
            | Binary::Since
            | Binary::Trigger => true,
        },
    };
    if temporal {
        let message = format!(
            "a template argument has to be free of temporal operators, found `{}`",
            clip(&ast.to_string())
        );
        let help = "write the whole rule as a formula instead";
        report.push(Diagnostic::error("template", ast.span, message).with_help(help));
    }
}

/// A copy of `body` with the values in the places of its propositions; `None` if it would need more nodes than `room`,
/// or be deeper than `depth`.
fn put_in(body: &Ast, values: &[(&str, Ast)], span: Span, room: &mut usize, depth: usize) -> Option<Ast> {
    let mut inner = |f: &Ast| put_in(f, values, span, room, depth.checked_sub(1)?);
    let expr = match &body.expr {
        Expr::Constant(value) => Expr::Constant(*value),
        Expr::Proposition(name) => {
            let (_, value) = values.iter().find(|(parameter, _)| parameter == name)?;
            let (nodes, height) = measure(value);
            *room = room.checked_sub(nodes)?;
            return (height <= depth).then(|| value.clone());
        }
        Expr::Unary(op, f) => Expr::Unary(*op, Box::new(inner(f)?)),
        Expr::And(fs) => Expr::And(fs.iter().map(inner).collect::<Option<_>>()?),
        Expr::Or(fs) => Expr::Or(fs.iter().map(inner).collect::<Option<_>>()?),
        Expr::Binary(op, f, g) => Expr::Binary(*op, Box::new(inner(f)?), Box::new(inner(g)?)),
    };
    Some(Ast::new(span, expr))
}

/// The number of nodes and the length of the longest path to a leaf.
fn measure(ast: &Ast) -> (usize, usize) {
    let (nodes, height) = match &ast.expr {
        Expr::Constant(_) | Expr::Proposition(_) => return (1, 0),
        Expr::Unary(_, f) => measure(f),
        Expr::And(fs) | Expr::Or(fs) => fs
            .iter()
            .map(measure)
            .fold((0, 0), |(nodes, height), (more, other)| (nodes + more, height.max(other))),
        Expr::Binary(_, f, g) => {
            let ((nodes, height), (more, other)) = (measure(f), measure(g));
            (nodes + more, height.max(other))
        }
    };
    (nodes + 1, height + 1)
}
