//! Checked expressions: names resolved, patterns compiled, everything else refused with its place.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};

use cel::common::ast::{CallExpr, ComprehensionExpr, Expr, LiteralValue, SourceInfo, operators};
use cel::parser::Expression as Tree;
use regex::Regex;
use tracelaw_compiler::diag::{Diagnostic, Report, Span, did_you_mean, suggest};

use super::parse::{Parsed, parse_all};

/// Deepest checked tree, so that walking and dropping it never overflows a stack.
const MAX_DEPTH: usize = 256;

/// A checked expression about one event, in the syntax of CEL (the Common Expression Language).
#[derive(Clone, Debug)]
pub struct Expression {
    pub(super) root: Node,
    /// Whether it says `attempted` itself.
    pub(super) attempted: bool,
    /// The propositions it refers to.
    pub(super) references: Vec<u32>,
    text: String,
}

impl Expression {
    /// The expression as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The propositions it refers to.
    pub(crate) fn references(&self) -> &[u32] {
        &self.references
    }
}

/// What an expression is for, and with it what it may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Whether a proposition holds.
    Proposition,
    /// Whether an event is a step.
    Steps,
    /// The key of a monitor: any value, without propositions.
    Key,
}

/// An expression to be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) role: Role,
}

/// Checks expressions whose propositions are `names`. The reports point into the expressions' texts; an expression
/// without an error is there even if there are warnings.
pub(crate) fn check_all(
    sources: &[Source<'_>],
    names: &HashMap<&str, u32>,
) -> Vec<(Option<Expression>, Report)> {
    let texts: Vec<&str> = sources.iter().map(|s| s.text).collect();
    let suggestions = AtomicUsize::new(0);
    parse_all(&texts, &|i, parsed| match (sources.get(i), parsed) {
        (Some(source), Ok(parsed)) => check(source, names, &suggestions, &parsed),
        (_, Err(report)) => (None, report),
        (None, Ok(_)) => (None, Report::new()),
    })
}

/// What the event offers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Tool,
    Args,
    Result,
    Status,
    Attempted,
    Kind,
    Text,
    Batch,
    Ts,
}

impl Variable {
    const ALL: [(&'static str, Variable); 9] = [
        ("tool", Variable::Tool),
        ("args", Variable::Args),
        ("result", Variable::Result),
        ("status", Variable::Status),
        ("attempted", Variable::Attempted),
        ("kind", Variable::Kind),
        ("text", Variable::Text),
        ("batch", Variable::Batch),
        ("ts", Variable::Ts),
    ];

    fn named(name: &str) -> Option<Variable> {
        Variable::ALL.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// The only texts it can be equal to, if there are such.
    const fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Variable::Status => Some(&["ok", "error", "denied", "unknown"]),
            Variable::Kind => Some(&["call", "user", "assistant", "span"]),
            _ => None,
        }
    }
}

/// A number: exact for all integers of a log, else what the log's reader made of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i128),
    Float(f64),
}

#[derive(Clone, Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextTest {
    StartsWith,
    EndsWith,
    Contains,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conversion {
    Size,
    Int,
    Double,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Exists,
    All,
}

/// A checked expression: every node is evaluated by one arm of [`evaluate`](super::evaluate).
#[derive(Clone, Debug)]
pub(super) enum Node {
    Literal(Literal),
    Variable(Variable),
    Proposition(u32),
    /// A variable of a quantifier, by its place among those in scope.
    Local(usize),
    Field(Box<Node>, String),
    Has(Box<Node>, String),
    Index(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Compare(Comparison, Box<[Node; 2]>),
    In(Box<[Node; 2]>),
    /// `x in [..]` where all members are texts.
    OneOf(Box<Node>, BTreeSet<String>),
    Arithmetic(Arithmetic, Box<[Node; 2]>),
    Test(TextTest, Box<[Node; 2]>),
    Matches(Box<Node>, Regex),
    Convert(Conversion, Box<Node>),
    List(Vec<Node>),
    /// Over the elements of the first, the second with the element as innermost local.
    Quantified(Quantifier, Box<[Node; 2]>),
}

const FUNCTIONS: [&str; 10] =
    ["startsWith", "endsWith", "contains", "matches", "size", "int", "double", "string", "exists", "all"];

/// Each suggestion compares with all names, so a policy of nothing but mistakes gets no more than these.
const MAX_SUGGESTIONS: usize = 200;

fn check(
    source: &Source<'_>,
    names: &HashMap<&str, u32>,
    suggestions: &AtomicUsize,
    parsed: &Parsed,
) -> (Option<Expression>, Report) {
    let mut checker = Checker {
        source,
        names,
        suggestions,
        places: &parsed.places,
        scope: Vec::new(),
        references: BTreeMap::new(),
        attempted: false,
        denied: None,
        patterns: HashMap::new(),
        report: Report::new(),
    };
    let root = checker.node(&parsed.tree, 0);
    if source.role != Role::Key {
        checker.boolean(&parsed.tree, root.as_ref());
    }
    if let (Some(span), false, Role::Proposition) = (checker.denied, checker.attempted, source.role) {
        checker.report.push(
            Diagnostic::warning(
                "never-true",
                span,
                "this is never true: a denied call is an attempt, not an act",
            )
            .with_help("say `attempted` too: `attempted && status == \"denied\"`"),
        );
    }
    let references = checker.references.into_keys().collect();
    let expression = match (root, checker.report.has_errors()) {
        (Some(root), false) => {
            Some(Expression { root, attempted: checker.attempted, references, text: source.text.to_owned() })
        }
        _ => None,
    };
    (expression, checker.report)
}

struct Checker<'a> {
    source: &'a Source<'a>,
    names: &'a HashMap<&'a str, u32>,
    /// How many were made in this policy.
    suggestions: &'a AtomicUsize,
    places: &'a SourceInfo,
    scope: Vec<&'a str>,
    references: BTreeMap<u32, Span>,
    attempted: bool,
    /// Where `"denied"` is compared with the status.
    denied: Option<Span>,
    patterns: HashMap<&'a str, Regex>,
    report: Report,
}

impl<'a> Checker<'a> {
    fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: String,
        help: Option<String>,
    ) -> Option<Node> {
        let error = Diagnostic::error(code, span, message);
        self.report.push(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
        None
    }

    /// Where the token of a node stands: a name, a literal, an operator or the bracket of a call.
    fn span(&self, id: u64) -> Span {
        let text = self.source.text;
        match self.places.offset_for(id) {
            // Bytes, the last one included; a token begins and ends with a character of one byte.
            Some((first, last)) => {
                let (start, end) = (first as usize, last.max(first) as usize + 1);
                if text.get(start..end).is_some() { Span::new(start, end) } else { Span::new(0, text.len()) }
            }
            None => Span::new(0, text.len()),
        }
    }

    /// The span of a function's name, given that of its bracket.
    fn name_span(&self, id: u64, name: &str) -> Span {
        let bracket = self.span(id);
        let before = self.source.text.get(..bracket.start).unwrap_or("").trim_end();
        if before.ends_with(name) { Span::new(before.len() - name.len(), before.len()) } else { bracket }
    }

    fn boxed(&mut self, tree: &'a Tree, depth: usize) -> Option<Box<Node>> {
        self.node(tree, depth).map(Box::new)
    }

    fn pair(&mut self, left: &'a Tree, right: &'a Tree, depth: usize) -> Option<Box<[Node; 2]>> {
        // Both, so that the mistakes of both are reported.
        let (left, right) = (self.node(left, depth), self.node(right, depth));
        Some(Box::new([left?, right?]))
    }

    fn node(&mut self, tree: &'a Tree, depth: usize) -> Option<Node> {
        if depth > MAX_DEPTH {
            // Said once is enough: each level above would say it again for its other operands.
            if !self.report.iter().any(|d| d.code == "limit") {
                let message = format!("the expression is more than {MAX_DEPTH} operators deep");
                let help = "split it into several propositions that use one another".to_owned();
                return self.error("limit", self.span(tree.id), message, Some(help));
            }
            return None;
        }
        let depth = depth + 1;
        match &tree.expr {
            Expr::Literal(literal) => self.literal(tree.id, literal).map(Node::Literal),
            Expr::Ident(name) => self.name(tree.id, name),
            Expr::Select(select) => {
                let operand = self.boxed(&select.operand, depth)?;
                let field = select.field.clone();
                Some(if select.test { Node::Has(operand, field) } else { Node::Field(operand, field) })
            }
            Expr::List(list) => {
                let nodes: Vec<Option<Node>> = list.elements.iter().map(|e| self.node(e, depth)).collect();
                nodes.into_iter().collect::<Option<Vec<Node>>>().map(Node::List)
            }
            Expr::Call(call) => self.call(tree.id, call, depth),
            Expr::Comprehension(comprehension) => self.quantified(tree.id, comprehension, depth),
            Expr::Map(_) | Expr::Struct(_) => self.error(
                "syntax",
                self.span(tree.id),
                "objects cannot be written in expressions".to_owned(),
                None,
            ),
            Expr::Unspecified => {
                self.error("syntax", self.span(tree.id), "the expression cannot be read".to_owned(), None)
            }
        }
    }

    fn literal(&mut self, id: u64, literal: &LiteralValue) -> Option<Literal> {
        Some(match literal {
            LiteralValue::Null => Literal::Null,
            LiteralValue::Boolean(b) => Literal::Bool(*b.inner()),
            LiteralValue::Int(i) => Literal::Number(Number::Int(i128::from(*i.inner()))),
            LiteralValue::UInt(u) => Literal::Number(Number::Int(i128::from(*u.inner()))),
            LiteralValue::Double(d) => Literal::Number(Number::Float(*d.inner())),
            LiteralValue::String(s) => Literal::Text(s.inner().to_owned()),
            LiteralValue::Bytes(_) => {
                let message = "byte texts are not supported: logs hold texts".to_owned();
                self.error("syntax", self.span(id), message, Some("leave the `b` out".to_owned()));
                return None;
            }
        })
    }

    fn name(&mut self, id: u64, name: &'a str) -> Option<Node> {
        if let Some(local) = self.scope.iter().rposition(|n| *n == name) {
            return Some(Node::Local(local));
        }
        let span = self.span(id);
        if let Some(variable) = Variable::named(name) {
            if self.names.contains_key(name) {
                let message =
                    format!("`{name}` here is the event's {name}, not the proposition of that name");
                self.report.push(
                    Diagnostic::warning("shadowed", span, message)
                        .with_help("give the proposition another name if it was meant"),
                );
            }
            self.attempted |= variable == Variable::Attempted;
            return Some(Node::Variable(variable));
        }
        match self.names.get(name) {
            Some(_) if self.source.role == Role::Key => {
                let message = format!("`{name}` is a proposition, and a key is made of the event alone");
                self.error(
                    "unknown-name",
                    span,
                    message,
                    Some("a key is a value such as `args.account`".to_owned()),
                )
            }
            Some(&proposition) => {
                self.references.entry(proposition).or_insert(span);
                Some(Node::Proposition(proposition))
            }
            None => {
                let known = Variable::ALL.iter().map(|(n, _)| *n).chain(self.names.keys().copied());
                let known =
                    known.chain(["calls", "all", "matched"].into_iter().filter(|_| self.whole_steps(name)));
                let near = match self.suggestions.fetch_add(1, Ordering::Relaxed) {
                    ..MAX_SUGGESTIONS => did_you_mean(name, known),
                    _ => None,
                };
                let help = match near {
                    Some(near) if self.whole_steps(name) => {
                        format!("{near} steps are `calls`, `all`, `matched` or an expression")
                    }
                    Some(near) => near,
                    None => format!(
                        "the tool of that name is written `tool == \"{name}\"`, an argument `args.{name}`"
                    ),
                };
                self.error(
                    "unknown-name",
                    span,
                    format!("unknown name `{name}` in the expression"),
                    Some(help),
                )
            }
        }
    }

    /// Whether `name` is all there is to say which events are steps, so that one of the fixed words may be meant.
    fn whole_steps(&self, name: &str) -> bool {
        self.source.role == Role::Steps && self.source.text.trim() == name
    }

    fn call(&mut self, id: u64, call: &'a CallExpr, depth: usize) -> Option<Node> {
        let name = call.func_name.as_str();
        // `x.f(y)` and `f(x, y)` are the same.
        let args: Vec<&'a Tree> = call.target.as_deref().into_iter().chain(&call.args).collect();
        if let Some(comparison) = comparison(name) {
            let &[left, right] = args.as_slice() else { return self.wrong_count(id, name, 2) };
            self.check_words(comparison, left, right);
            return self.pair(left, right, depth).map(|p| Node::Compare(comparison, p));
        }
        if let Some(arithmetic) = arithmetic(name) {
            let &[left, right] = args.as_slice() else { return self.wrong_count(id, name, 2) };
            return self.pair(left, right, depth).map(|p| Node::Arithmetic(arithmetic, p));
        }
        match (name, args.as_slice()) {
            (operators::LOGICAL_NOT, &[f]) => {
                let node = self.boxed(f, depth);
                self.boolean(f, node.as_deref());
                node.map(Node::Not)
            }
            (operators::NEGATE, &[f]) => self.boxed(f, depth).map(Node::Negate),
            (operators::LOGICAL_AND | operators::LOGICAL_OR, &[left, right]) => {
                let pair = self.pair(left, right, depth);
                if let Some([l, r]) = pair.as_deref() {
                    self.boolean(left, Some(l));
                    self.boolean(right, Some(r));
                }
                pair.map(if name == operators::LOGICAL_AND { Node::And } else { Node::Or })
            }
            (operators::CONDITIONAL, &[c, a, b]) => {
                let (c, a, b) = (self.node(c, depth), self.node(a, depth), self.node(b, depth));
                Some(Node::If(Box::new([c?, a?, b?])))
            }
            (operators::INDEX, &[list, index]) => self.pair(list, index, depth).map(Node::Index),
            (operators::IN, &[element, list]) => {
                self.check_members(element, list);
                match all_texts(list) {
                    Some(texts) => self.boxed(element, depth).map(|e| Node::OneOf(e, texts)),
                    None => self.pair(element, list, depth).map(Node::In),
                }
            }
            ("startsWith", &[a, b]) => self.pair(a, b, depth).map(|p| Node::Test(TextTest::StartsWith, p)),
            ("endsWith", &[a, b]) => self.pair(a, b, depth).map(|p| Node::Test(TextTest::EndsWith, p)),
            ("contains", &[a, b]) => self.pair(a, b, depth).map(|p| Node::Test(TextTest::Contains, p)),
            ("matches", &[text, pattern]) => {
                let text = self.boxed(text, depth);
                let pattern = self.pattern(pattern);
                Some(Node::Matches(text?, pattern?))
            }
            ("size", &[a]) => self.boxed(a, depth).map(|n| Node::Convert(Conversion::Size, n)),
            ("int", &[a]) => self.boxed(a, depth).map(|n| Node::Convert(Conversion::Int, n)),
            ("double", &[a]) => self.boxed(a, depth).map(|n| Node::Convert(Conversion::Double, n)),
            ("string", &[a]) => self.boxed(a, depth).map(|n| Node::Convert(Conversion::Text, n)),
            ("startsWith" | "endsWith" | "contains" | "matches", _) => self.wrong_count(id, name, 2),
            ("size" | "int" | "double" | "string", _) => self.wrong_count(id, name, 1),
            ("has", _) => {
                let help = "it takes the path of one field: `has(args.amount)`".to_owned();
                self.error("syntax", self.name_span(id, name), "wrong use of `has`".to_owned(), Some(help))
            }
            _ => {
                let help = match did_you_mean(name, FUNCTIONS) {
                    Some(near) => near,
                    None => format!("the functions are `{}` and `has`", FUNCTIONS.join("`, `")),
                };
                let message = format!("unknown function `{name}` in the expression");
                self.error("unknown-name", self.name_span(id, name), message, Some(help))
            }
        }
    }

    fn wrong_count(&mut self, id: u64, name: &str, wanted: usize) -> Option<Node> {
        let message = format!("wrong number of arguments for `{name}`");
        let help = match wanted {
            1 => format!("`{name}` takes one: `{name}(args.x)`"),
            _ => format!("`{name}` takes a value and one argument: `args.x.{name}(\"...\")`"),
        };
        self.error("syntax", self.name_span(id, name), message, Some(help))
    }

    fn pattern(&mut self, tree: &'a Tree) -> Option<Regex> {
        let span = self.span(tree.id);
        let Expr::Literal(LiteralValue::String(pattern)) = &tree.expr else {
            let help = "patterns are compiled once, when the policy is read; compare texts with `contains`"
                .to_owned();
            self.error(
                "pattern",
                span,
                "the pattern of `matches` is not a text in quotes".to_owned(),
                Some(help),
            );
            return None;
        };
        let pattern = pattern.inner();
        if let Some(regex) = self.patterns.get(pattern) {
            return Some(regex.clone());
        }
        match Regex::new(pattern) {
            Ok(regex) => {
                self.patterns.insert(pattern, regex.clone());
                Some(regex)
            }
            Err(error) => {
                // The crate draws a picture; its last line says what is wrong.
                let text = error.to_string();
                let reason = text.lines().last().unwrap_or("").trim_start_matches("error: ");
                self.error("pattern", span, format!("not a regular expression: {}", reason.trim()), None);
                None
            }
        }
    }

    fn quantified(&mut self, id: u64, c: &'a ComprehensionExpr, depth: usize) -> Option<Node> {
        let range = self.node(&c.iter_range, depth);
        let quantifier = match (&c.accu_init.expr, &c.loop_step.expr) {
            (Expr::Literal(LiteralValue::Boolean(start)), Expr::Call(step)) if step.args.len() == 2 => {
                let quantifier = if *start.inner() { Quantifier::All } else { Quantifier::Exists };
                step.args.last().map(|body| (quantifier, body))
            }
            _ => None,
        };
        let Some((quantifier, body)) = quantifier else {
            let message = "of the functions over lists only `exists` and `all` are supported".to_owned();
            return self.error("unknown-name", self.span(id), message, None);
        };
        self.scope.push(&c.iter_var);
        let node = self.node(body, depth);
        self.scope.pop();
        self.boolean(body, node.as_ref());
        Some(Node::Quantified(quantifier, Box::new([range?, node?])))
    }

    /// Reports a node that cannot be true or false, whatever the event.
    fn boolean(&mut self, tree: &Tree, node: Option<&Node>) {
        let what = match node {
            Some(Node::Literal(Literal::Text(_)) | Node::Convert(Conversion::Text, _)) => "a text",
            Some(
                Node::Literal(Literal::Number(_))
                | Node::Arithmetic(..)
                | Node::Negate(_)
                | Node::Convert(..),
            ) => "a number",
            Some(Node::Literal(Literal::Null)) => "null",
            Some(Node::List(_)) => "a list",
            Some(Node::Variable(v))
                if !matches!(v, Variable::Attempted | Variable::Args | Variable::Result) =>
            {
                "not a condition"
            }
            _ => return,
        };
        let span = self.span(tree.id);
        let found = self.source.text.get(span.start..span.end).unwrap_or("");
        let message = format!("`{found}` is {what}, and true or false is wanted");
        let help = match node {
            Some(Node::Literal(Literal::Text(text))) => {
                Some(format!("a tool is named by `tool == \"{text}\"`"))
            }
            Some(Node::Variable(_)) => Some(format!("compare it: `{found} == \"...\"`")),
            _ => None,
        };
        self.error("wrong-type", span, message, help);
    }

    /// Reports `status` or `kind` compared with something they never are.
    fn check_words(&mut self, comparison: Comparison, left: &'a Tree, right: &'a Tree) {
        if matches!(comparison, Comparison::Equal | Comparison::Unequal) {
            for (variable, literal) in [(left, right), (right, left)] {
                self.check_word(variable, literal, comparison == Comparison::Equal);
            }
        }
    }

    fn check_members(&mut self, element: &'a Tree, list: &'a Tree) {
        if let Expr::List(list) = &list.expr {
            let only = list.elements.len() == 1;
            list.elements.iter().for_each(|member| self.check_word(element, member, only));
        }
    }

    fn check_word(&mut self, variable: &'a Tree, literal: &'a Tree, asks_for: bool) {
        let (Expr::Ident(name), Expr::Literal(LiteralValue::String(text))) = (&variable.expr, &literal.expr)
        else {
            return;
        };
        let Some(words) = Variable::named(name).and_then(Variable::words) else { return };
        if self.scope.contains(&name.as_str()) {
            return;
        }
        let text = text.inner();
        let span = self.span(literal.id);
        if asks_for && name == "status" && text == "denied" {
            self.denied.get_or_insert(span);
        }
        if !words.contains(&text) {
            let help = match suggest(text, words.iter().copied()) {
                Some(near) => format!("did you mean `\"{near}\"`?"),
                None => format!("it is one of `{}`", words.join("`, `")),
            };
            self.error("unknown-value", span, format!("`{name}` is never `{text}`"), Some(help));
        }
    }
}

fn all_texts(list: &Tree) -> Option<BTreeSet<String>> {
    let Expr::List(list) = &list.expr else { return None };
    list.elements
        .iter()
        .map(|e| match &e.expr {
            Expr::Literal(LiteralValue::String(s)) => Some(s.inner().to_owned()),
            _ => None,
        })
        .collect()
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        operators::EQUALS => Comparison::Equal,
        operators::NOT_EQUALS => Comparison::Unequal,
        operators::LESS => Comparison::Less,
        operators::LESS_EQUALS => Comparison::AtMost,
        operators::GREATER => Comparison::Greater,
        operators::GREATER_EQUALS => Comparison::AtLeast,
        _ => return None,
    })
}

fn arithmetic(name: &str) -> Option<Arithmetic> {
    Some(match name {
        operators::ADD => Arithmetic::Add,
        operators::SUBSTRACT => Arithmetic::Subtract,
        operators::MULTIPLY => Arithmetic::Multiply,
        operators::DIVIDE => Arithmetic::Divide,
        operators::MODULO => Arithmetic::Remainder,
        _ => return None,
    })
}
