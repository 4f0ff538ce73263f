//! Tokens to a tree, by operator precedence with the open operators on a stack of its own: no text, however nested, can
//! exhaust the stack of the process.
//!
//! After a mistake the parser goes on as if what was missing had been there, so that one run tells them all. What it
//! puts in is never seen: a text with a mistake gives no tree.

use super::advice::{clip, for_stray, operator_like};
use super::lexer::{Infix, Kind, Prefix, Token, tokens};
use super::{Ast, Binary, Bounds, Dialect, Expr, Limits, Unary};
use crate::diag::{Diagnostic, Report, Span};

/// After that many mistakes the text is hardly a formula, and more of them help nobody.
const MAX_MISTAKES: usize = 100;

/// Reads a formula.
///
/// # Complexity
/// O(length of the text) time and space.
///
/// # Errors
/// All mistakes of the text, in the order of their places (the first hundred of them); or a diagnostic with the code
/// `limit` where the text is too long or nested too deep.
///
/// # Panics
/// Never, on any text.
pub fn parse(text: &str, dialect: Dialect, limits: &Limits) -> Result<Ast, Report> {
    check_length(text, limits)?;
    parse_tokens(text, &tokens(text), Span::new(0, text.len()), dialect, limits)
}

/// The diagnostic for a text longer than the limit.
pub(crate) fn check_length(text: &str, limits: &Limits) -> Result<(), Report> {
    if text.len() <= limits.max_bytes {
        return Ok(());
    }
    let message =
        format!("the formula has {} bytes, more than the limit of {}", text.len(), limits.max_bytes);
    Err(Diagnostic::error("limit", Span::new(limits.max_bytes, limits.max_bytes), message)
        .with_help("split it into several rules, or raise the limit on bytes")
        .into())
}

/// Reads the formula that `tokens` make up: those of the part `place` of `text`, to which all spans refer.
pub(crate) fn parse_tokens(
    text: &str,
    tokens: &[Token],
    place: Span,
    dialect: Dialect,
    limits: &Limits,
) -> Result<Ast, Report> {
    let max_depth = limits.depth();
    let mut parser = Parser {
        text,
        tokens,
        place,
        dialect,
        max_depth,
        at: 0,
        quiet: false,
        frames: vec![],
        brackets: 0,
        report: Report::new(),
    };
    match parser.formula() {
        Ok(ast) => parser.report.sorted().into_result(ast),
        Err(Stop) => Err(parser.report.sorted()),
    }
}

/// There is no point in reading on; the report says why.
struct Stop;

/// A finished part of the tree.
struct Node {
    ast: Ast,
    /// Length of the longest path to a leaf.
    height: usize,
}

/// Something begun that waits for the operand to its right.
enum Frame {
    Bracket(Span),
    Prefix(Unary, Span),
    Infix(Binary, Node),
    /// The operands so far of `&` (or `|`) signs side by side.
    Chain(Chain, Vec<Node>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    And,
    Or,
}

/// How tightly an operator with two operands binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Iff,
    Implies,
    Or,
    And,
    Until,
}

/// An operator with operands on both sides.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Chain(Chain),
    Binary(Binary),
}

impl Op {
    fn level(self) -> Level {
        match self {
            Op::Chain(Chain::And) => Level::And,
            Op::Chain(Chain::Or) | Op::Binary(Binary::Xor) => Level::Or,
            Op::Binary(Binary::Implies) => Level::Implies,
            Op::Binary(Binary::Iff) => Level::Iff,
            Op::Binary(
                Binary::Until(_)
                | Binary::WeakUntil
                | Binary::Release
                | Binary::StrongRelease
                | Binary::Since
                | Binary::Trigger,
            ) => Level::Until,
        }
    }
}

impl Frame {
    /// Whether the operand between the frame and an operator of that level to its right belongs to the frame.
    fn binds_before(&self, next: Level) -> bool {
        let own = match self {
            Frame::Bracket(_) => return false,
            Frame::Prefix(..) => return true,
            Frame::Chain(chain, _) => Op::Chain(*chain).level(),
            Frame::Infix(op, _) => Op::Binary(*op).level(),
        };
        let right_associative = matches!(own, Level::Implies | Level::Until);
        own > next || (own == next && !right_associative)
    }
}

/// What stands in square brackets after an operator.
enum Suffix {
    /// `[3]`
    Exact(u32),
    /// `[2,5]`, `[2,]`
    Range(Bounds),
    /// `[<=5]`
    AtMost(u32),
    /// `[!]`
    Strong,
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    /// The part of the text that the formula is.
    place: Span,
    dialect: Dialect,
    max_depth: usize,
    /// Index of the next token.
    at: usize,
    /// The last token was refused: what is missing beside it was probably meant by it, so say nothing more.
    quiet: bool,
    frames: Vec<Frame>,
    /// How many of the frames are brackets.
    brackets: usize,
    report: Report,
}

impl<'a> Parser<'a> {
    fn formula(&mut self) -> Result<Ast, Stop> {
        if self.tokens.is_empty() {
            self.mistake(
                self.place,
                "expected a formula, found nothing",
                "the formula that always holds is `true`",
            )?;
            return Err(Stop);
        }
        // Read so far and not yet claimed by an operator to its right.
        let mut operand = None;
        while let Some(&token) = self.tokens.get(self.at) {
            let quiet = std::mem::take(&mut self.quiet);
            operand = match operand {
                None => self.expect_operand(token, quiet)?,
                Some(node) => self.expect_operator(node, token, quiet)?,
            };
        }
        let node = match operand {
            Some(node) => node,
            None => self.missing_operand("the end of the text", self.end(), self.quiet)?,
        };
        let (mut node, mut unclosed) = self.close_to_bracket(node)?;
        while let Some(bracket) = unclosed {
            self.mistake(bracket, "`(` is never closed", "add the missing `)`, or take this bracket away")?;
            (node, unclosed) = self.close_to_bracket(node)?;
        }
        Ok(node.ast)
    }

    /// One token where an operand has to start. Returns the operand if that was all of it.
    fn expect_operand(&mut self, token: Token, quiet: bool) -> Result<Option<Node>, Stop> {
        let leaf = match token.kind {
            Kind::Constant(value) => Expr::Constant(value),
            Kind::Name => Expr::Proposition(self.words(token.span).to_owned()),
            Kind::Quoted => Expr::Proposition(self.unquoted(token.span)?),
            Kind::Unclosed => {
                let help = "add the closing `\"`; inside a name a quote is written `\\\"`";
                self.mistake(token.span, "`\"` is never closed", help)?;
                Expr::Constant(true)
            }
            Kind::Number => {
                self.stray_number(token)?;
                Expr::Constant(true)
            }
            Kind::Open => {
                self.at += 1;
                self.brackets += 1;
                self.open(Frame::Bracket(token.span))?;
                return Ok(None);
            }
            Kind::Prefix(prefix) => {
                self.at += 1;
                let (suffix, span) = self.suffix(token)?;
                let op = self.unary(prefix, suffix, token, span)?;
                self.open(Frame::Prefix(op, span))?;
                return Ok(None);
            }
            Kind::Close if self.brackets == 0 => {
                self.extra_bracket(token)?;
                return Ok(None);
            }
            Kind::Infix(_) | Kind::Close => {
                let found = format!("`{}`", self.words(token.span));
                return self.missing_operand(&found, token.span, quiet).map(Some);
            }
            Kind::Unknown | Kind::OpenSquare | Kind::CloseSquare | Kind::Comma | Kind::AtMost => {
                self.refuse(token, "a formula")?;
                return Ok(None);
            }
        };
        self.at += 1;
        self.close_prefixes(Node { ast: Ast::new(token.span, leaf), height: 0 }).map(Some)
    }

    /// One token after an operand. Returns the operand unless an operator has claimed it.
    fn expect_operator(&mut self, node: Node, token: Token, quiet: bool) -> Result<Option<Node>, Stop> {
        match token.kind {
            Kind::Infix(infix) => {
                self.at += 1;
                let (suffix, span) = self.suffix(token)?;
                self.infix(infix, suffix, token, span, node)?;
                Ok(None)
            }
            Kind::Close => self.closing_bracket(node, token).map(Some),
            Kind::Unknown | Kind::OpenSquare | Kind::CloseSquare | Kind::Comma | Kind::AtMost => {
                self.refuse(token, "an operator")?;
                Ok(Some(node))
            }
            Kind::Constant(_)
            | Kind::Name
            | Kind::Quoted
            | Kind::Unclosed
            | Kind::Number
            | Kind::Open
            | Kind::Prefix(_) => {
                // A name between operands may be an operator that is spelt in another way.
                let meant = match token.kind {
                    Kind::Name if !self.nothing_follows() => operator_like(self.words(token.span)),
                    _ => None,
                };
                if !quiet {
                    self.two_operands(token, meant)?;
                }
                if let Some((_, Kind::Infix(infix))) = meant {
                    self.at += 1;
                    self.infix(infix, None, token, token.span, node)?;
                } else {
                    self.infix(Infix::And, None, token, token.span, node)?;
                    if let Some((_, Kind::Prefix(_))) = meant {
                        self.at += 1;
                    }
                }
                Ok(None)
            }
        }
    }

    // The stack of open operators.

    fn open(&mut self, frame: Frame) -> Result<(), Stop> {
        self.frames.push(frame);
        self.check_depth(self.frames.len())
    }

    fn check_depth(&mut self, depth: usize) -> Result<(), Stop> {
        if depth <= self.max_depth {
            return Ok(());
        }
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        let span = before.map_or(self.place, |token| token.span);
        let message =
            format!("the formula is nested more than {} operators and brackets deep", self.max_depth);
        let help = "split it into several rules, or raise the limit on depth";
        self.report.push(Diagnostic::error("limit", span, message).with_help(help));
        Err(Stop)
    }

    /// An operator with two operands, whose left one is `node` or what open operators make of it.
    fn infix(
        &mut self,
        infix: Infix,
        suffix: Option<Suffix>,
        token: Token,
        span: Span,
        mut node: Node,
    ) -> Result<(), Stop> {
        let op = self.infix_op(infix, suffix, token, span)?;
        let level = op.level();
        while let Some(frame) = self.frames.pop() {
            match frame {
                // A chain goes on instead of nesting, so that long ones stay flat.
                Frame::Chain(open, mut operands) if op == Op::Chain(open) => {
                    operands.push(node);
                    self.frames.push(Frame::Chain(open, operands));
                    return Ok(());
                }
                frame if frame.binds_before(level) => node = self.build(frame, node)?,
                frame => {
                    self.frames.push(frame);
                    break;
                }
            }
        }
        self.open(match op {
            Op::Chain(chain) => Frame::Chain(chain, vec![node]),
            Op::Binary(op) => Frame::Infix(op, node),
        })
    }

    /// Gives a complete operand to the unary operators right before it.
    fn close_prefixes(&mut self, mut node: Node) -> Result<Node, Stop> {
        while let Some(frame) = self.frames.pop_if(|frame| matches!(frame, Frame::Prefix(..))) {
            node = self.build(frame, node)?;
        }
        Ok(node)
    }

    /// Gives an operand to all open operators back to the innermost open bracket, which is returned if there is one.
    fn close_to_bracket(&mut self, mut node: Node) -> Result<(Node, Option<Span>), Stop> {
        while let Some(frame) = self.frames.pop() {
            if let Frame::Bracket(span) = frame {
                self.brackets -= 1;
                return Ok((node, Some(span)));
            }
            node = self.build(frame, node)?;
        }
        Ok((node, None))
    }

    fn closing_bracket(&mut self, node: Node, token: Token) -> Result<Node, Stop> {
        if self.brackets == 0 {
            self.extra_bracket(token)?;
            return Ok(node);
        }
        self.at += 1;
        let (mut node, open) = self.close_to_bracket(node)?;
        if let Some(open) = open {
            node.ast.span = open.to(token.span);
        }
        self.close_prefixes(node)
    }

    fn build(&mut self, frame: Frame, last: Node) -> Result<Node, Stop> {
        let end = last.ast.span;
        let (span, height, expr) = match frame {
            Frame::Bracket(_) => return Ok(last),
            Frame::Prefix(op, span) => (span, last.height, Expr::Unary(op, Box::new(last.ast))),
            Frame::Infix(op, left) => {
                let height = left.height.max(last.height);
                (left.ast.span, height, Expr::Binary(op, Box::new(left.ast), Box::new(last.ast)))
            }
            Frame::Chain(chain, mut operands) => {
                operands.push(last);
                let height = operands.iter().map(|node| node.height).max().unwrap_or(0);
                let start = operands.first().map_or(end, |node| node.ast.span);
                let operands = operands.into_iter().map(|node| node.ast).collect();
                let expr = match chain {
                    Chain::And => Expr::And(operands),
                    Chain::Or => Expr::Or(operands),
                };
                (start, height, expr)
            }
        };
        self.check_depth(height + 1)?;
        Ok(Node { ast: Ast::new(span.to(end), expr), height: height + 1 })
    }

    // Operators with what stands in their square brackets.

    /// Reads the square brackets after the operator `token`, if there are any. Returns the place of both together.
    fn suffix(&mut self, token: Token) -> Result<(Option<Suffix>, Span), Stop> {
        let Some(&open) = self.tokens.get(self.at).filter(|token| token.kind == Kind::OpenSquare) else {
            return Ok((None, token.span));
        };
        let Some((inside, close)) = self.square_brackets() else {
            self.at += 1;
            while self.tokens.get(self.at).is_some_and(|token| {
                matches!(token.kind, Kind::Number | Kind::Comma | Kind::AtMost | Kind::Unknown)
            }) {
                self.at += 1;
            }
            self.mistake(open.span, "`[` is never closed", "add the missing `]`")?;
            return Ok((None, token.span));
        };
        self.at += inside.len() + 2;
        let suffix = self.in_square_brackets(inside, token, open.span.to(close))?;
        Ok((suffix, token.span.to(close)))
    }

    /// What stands between the `[` that is next and its `]`, and the place of the latter.
    fn square_brackets(&self) -> Option<(&'a [Token], Span)> {
        let rest = self.tokens.get(self.at + 1..)?;
        let len = rest.iter().position(|token| {
            matches!(
                token.kind,
                Kind::CloseSquare | Kind::OpenSquare | Kind::Open | Kind::Close | Kind::Quoted
            )
        })?;
        let close = rest.get(len).filter(|token| token.kind == Kind::CloseSquare)?;
        Some((rest.get(..len)?, close.span))
    }

    fn in_square_brackets(
        &mut self,
        inside: &[Token],
        operator: Token,
        span: Span,
    ) -> Result<Option<Suffix>, Stop> {
        use Kind::{AtMost, Comma, Number};
        let kinds: Vec<Kind> = inside.iter().take(4).map(|token| token.kind).collect();
        let number = |i: usize| inside.get(i).map_or(span, |token| token.span);
        Ok(match kinds[..] {
            [Kind::Prefix(Prefix::Not)] => Some(Suffix::Strong),
            [Number] => self.number(number(0))?.map(Suffix::Exact),
            [AtMost, Number] => self.number(number(1))?.map(Suffix::AtMost),
            [Number, Comma] => {
                self.number(number(0))?.map(|first| Suffix::Range(Bounds { first, last: None }))
            }
            [Number, Comma, Number] => match (self.number(number(0))?, self.number(number(2))?) {
                (Some(first), Some(last)) if first > last => {
                    let message = format!(
                        "the bounds `[{first},{last}]` are empty: the first is greater than the last"
                    );
                    self.mistake(span, message, format!("write `[{last},{first}]`"))?;
                    None
                }
                (Some(first), Some(last)) => Some(Suffix::Range(Bounds { first, last: Some(last) })),
                _ => None,
            },
            _ => {
                let (found, operator) = (self.words(span), self.words(operator.span));
                let help = match found {
                    "[s]" => "the strong next is written `X`".to_owned(),
                    "[w]" => "the weak next is written `WX`".to_owned(),
                    _ => "bounds are written `X[3]`, `WX[3]`, `F[2,5]`, `F[<=5]`, `G[2,5]`, `G[<=5]` and `U[2,5]`; \
                          they count positions"
                        .to_owned(),
                };
                let message = format!("expected bounds after `{operator}`, found `{}`", clip(found));
                self.mistake(span, message, help)?;
                None
            }
        })
    }

    fn number(&mut self, span: Span) -> Result<Option<u32>, Stop> {
        let digits = self.words(span);
        if let Ok(number) = digits.parse() {
            return Ok(Some(number));
        }
        if digits.bytes().all(|b| b.is_ascii_digit()) {
            let message = format!("the number `{}` is too large", clip(digits));
            self.mistake(span, message, format!("the greatest is {}", u32::MAX))?;
        } else {
            let message = format!("expected a number, found `{}`", clip(digits));
            self.mistake(span, message, "bounds are whole numbers of positions")?;
        }
        Ok(None)
    }

    /// The unary operator that `prefix` is with this suffix; without it if it may not have it.
    fn unary(
        &mut self,
        prefix: Prefix,
        suffix: Option<Suffix>,
        token: Token,
        span: Span,
    ) -> Result<Unary, Stop> {
        let (plain, help) = match (prefix, suffix) {
            (Prefix::Next, Some(Suffix::Strong)) => return Ok(Unary::Next(1)),
            (Prefix::Next, Some(Suffix::Exact(k))) => return Ok(self.next(k)),
            (Prefix::Next, None) => return Ok(self.next(1)),
            (Prefix::WeakNext, Some(Suffix::Exact(k))) => return Ok(Unary::WeakNext(k)),
            (Prefix::WeakNext, None) => return Ok(Unary::WeakNext(1)),
            (Prefix::Finally, Some(Suffix::Range(bounds))) => return Ok(Unary::Finally(bounds)),
            (Prefix::Finally, Some(Suffix::AtMost(k))) => return Ok(Unary::Finally(up_to(k))),
            (Prefix::Finally, None) => return Ok(Unary::Finally(Bounds::UNBOUNDED)),
            (Prefix::Globally, Some(Suffix::Range(bounds))) => return Ok(Unary::Globally(bounds)),
            (Prefix::Globally, Some(Suffix::AtMost(k))) => return Ok(Unary::Globally(up_to(k))),
            (Prefix::Globally, None) => return Ok(Unary::Globally(Bounds::UNBOUNDED)),
            (Prefix::Not, None) => return Ok(Unary::Not),
            (Prefix::Yesterday, None) => return Ok(Unary::Yesterday),
            (Prefix::WeakYesterday, None) => return Ok(Unary::WeakYesterday),
            (Prefix::Once, None) => return Ok(Unary::Once),
            (Prefix::Historically, None) => return Ok(Unary::Historically),
            (Prefix::AtEnd, None) => return Ok(Unary::AtEnd),

            (Prefix::Next, Some(Suffix::Range(_) | Suffix::AtMost(_))) => {
                (self.next(1), "`X[k]` takes one number; for a range of positions write `F[a,b]` or `G[a,b]`")
            }
            (Prefix::WeakNext, Some(Suffix::Strong)) => {
                (Unary::WeakNext(1), "the strong next is `X[!]`, the weak one `WX`")
            }
            (Prefix::WeakNext, Some(Suffix::Range(_) | Suffix::AtMost(_))) => {
                (Unary::WeakNext(1), "`WX[k]` takes one number; for a range of positions write `G[a,b]`")
            }
            (Prefix::Finally, Some(Suffix::Exact(_) | Suffix::Strong)) => (
                Unary::Finally(Bounds::UNBOUNDED),
                "write `F[<=k]` for at most k positions ahead, `F[a,b]` for a range, `X[k]` for exactly k",
            ),
            (Prefix::Globally, Some(Suffix::Exact(_) | Suffix::Strong)) => (
                Unary::Globally(Bounds::UNBOUNDED),
                "write `G[<=k]` for the next k positions, `G[a,b]` for a range, `WX[k]` for the k-th alone",
            ),
            (Prefix::Not, Some(_)) => (Unary::Not, "take the square brackets away"),
            (Prefix::AtEnd, Some(_)) => (Unary::AtEnd, "take the square brackets away"),
            (Prefix::Yesterday, Some(_)) => (Unary::Yesterday, "for two positions back write `Y Y f`"),
            (Prefix::WeakYesterday, Some(_)) => {
                (Unary::WeakYesterday, "for two positions back write `Z Z f`")
            }
            (Prefix::Once, Some(_)) => {
                (Unary::Once, "for at most two positions back write `f | Y f | Y Y f`")
            }
            (Prefix::Historically, Some(_)) => {
                (Unary::Historically, "for at most two positions back write `f & Z f & Z Z f`")
            }
        };
        self.wrong_suffix(token, span, help)?;
        Ok(plain)
    }

    fn next(&self, k: u32) -> Unary {
        match self.dialect {
            Dialect::Tracelaw => Unary::Next(k),
            Dialect::Spot => Unary::WeakNext(k),
        }
    }

    fn infix_op(
        &mut self,
        infix: Infix,
        suffix: Option<Suffix>,
        token: Token,
        span: Span,
    ) -> Result<Op, Stop> {
        let (op, help) = match infix {
            Infix::And => (Op::Chain(Chain::And), "take the square brackets away"),
            Infix::Or => (Op::Chain(Chain::Or), "take the square brackets away"),
            Infix::Xor => (Op::Binary(Binary::Xor), "take the square brackets away"),
            Infix::Implies => (Op::Binary(Binary::Implies), "take the square brackets away"),
            Infix::Iff => (Op::Binary(Binary::Iff), "take the square brackets away"),
            Infix::Until => match suffix {
                Some(Suffix::Range(bounds)) => return Ok(Op::Binary(Binary::Until(bounds))),
                _ => (
                    Op::Binary(Binary::Until(Bounds::UNBOUNDED)),
                    "write `U[0,k]` for at most k positions ahead, `U[a,b]` for a range",
                ),
            },
            Infix::WeakUntil => {
                (Op::Binary(Binary::WeakUntil), "instead of `f W[0,k] g` write `(f U[0,k] g) | G[0,k] f`")
            }
            Infix::Release => {
                (Op::Binary(Binary::Release), "instead of `f R[a,b] g` write `!(!f U[a,b] !g)`")
            }
            Infix::StrongRelease => {
                (Op::Binary(Binary::StrongRelease), "instead of `f M[a,b] g` write `g U[a,b] (f & g)`")
            }
            Infix::Since => (
                Op::Binary(Binary::Since),
                "for at most one position back write `g | (f & Y g)` instead of `f S[0,1] g`",
            ),
            Infix::Trigger => (
                Op::Binary(Binary::Trigger),
                "for at most one position back write `g & (f | Z g)` instead of `f T[0,1] g`",
            ),
        };
        if suffix.is_some() {
            self.wrong_suffix(token, span, help)?;
        }
        Ok(op)
    }

    // Mistakes.

    fn mistake(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Result<(), Stop> {
        self.diagnose(Diagnostic::error("syntax", span, message).with_help(help))
    }

    fn diagnose(&mut self, diagnostic: Diagnostic) -> Result<(), Stop> {
        self.report.push(diagnostic);
        if self.report.iter().len() < MAX_MISTAKES { Ok(()) } else { Err(Stop) }
    }

    fn wrong_suffix(&mut self, token: Token, span: Span, help: &str) -> Result<(), Stop> {
        let found = self.words(Span::new(token.span.end, span.end)).trim_start();
        let message = format!("`{}` does not take `{}`", self.words(token.span), clip(found));
        self.mistake(Span::new(span.end - found.len(), span.end), message, help)
    }

    fn missing_operand(&mut self, found: &str, span: Span, quiet: bool) -> Result<Node, Stop> {
        let node = Node { ast: Ast::new(span, Expr::Constant(true)), height: 0 };
        if quiet {
            return self.close_prefixes(node);
        }
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).copied();
        let is_word = |span| {
            let word = self.words(span);
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic())
        };
        let named = match before {
            _ if is_word(span) => Some(span),
            Some(Token { kind: Kind::Prefix(_), span }) if is_word(span) => Some(span),
            _ => None,
        };
        let help = named.map(|span| {
            let word = self.words(span);
            format!("`{word}` is an operator; a proposition of that name is written `\"{word}\"`")
        });
        if is_word(span) && self.nothing_follows() {
            // An operator at a place where only a name makes sense: it was meant as one.
            self.at += 1;
        }
        let after = match before {
            None => String::new(),
            Some(token) => format!(" after `{}`", clip(self.words(token.span))),
        };
        let diagnostic =
            Diagnostic::error("syntax", span, format!("expected a formula{after}, found {found}"));
        self.diagnose(match help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        })?;
        self.close_prefixes(node)
    }

    /// Whether what comes after the next token could not be its operand.
    fn nothing_follows(&self) -> bool {
        match self.tokens.get(self.at + 1) {
            None => true,
            Some(token) => matches!(token.kind, Kind::Close | Kind::Comma | Kind::Infix(_)),
        }
    }

    fn two_operands(&mut self, token: Token, meant: Option<(&str, Kind)>) -> Result<(), Stop> {
        let found = self.words(token.span);
        let before = self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).copied();
        let before_meant = match before {
            Some(Token { kind: Kind::Name, span }) => {
                operator_like(self.words(span)).map(|(op, _)| (span, op))
            }
            _ => None,
        };
        let help = match (meant, before_meant) {
            (Some((op, _)), _) => format!("did you mean `{op}`?"),
            (None, Some((span, op))) => {
                format!("`{}` is read as a proposition: did you mean `{op}`?", self.words(span))
            }
            (None, None) => {
                "write `&` for both, `|` for either, `->` for if then; a name with spaces needs double quotes"
                    .to_owned()
            }
        };
        self.mistake(token.span, format!("expected an operator, found `{}`", clip(found)), help)
    }

    fn extra_bracket(&mut self, token: Token) -> Result<(), Stop> {
        self.at += 1;
        self.mistake(token.span, "`)` closes nothing", "take it away, or add the `(` it belongs to")
    }

    fn stray_number(&mut self, token: Token) -> Result<(), Stop> {
        let found = self.words(token.span);
        let help = match found {
            "1" => "the formula that always holds is `true`".to_owned(),
            "0" => "the formula that never holds is `false`".to_owned(),
            _ => format!(
                "a proposition whose name starts with a digit is written in quotes: `\"{}\"`",
                clip(found)
            ),
        };
        self.mistake(token.span, format!("expected a formula, found `{}`", clip(found)), help)
    }

    /// Says that a token has no place here and steps over it.
    fn refuse(&mut self, token: Token, expected: &str) -> Result<(), Stop> {
        let mut span = token.span;
        if token.kind == Kind::OpenSquare
            && let Some((inside, close)) = self.square_brackets()
        {
            self.at += inside.len() + 1;
            span = span.to(close);
        }
        self.at += 1;
        self.quiet = true;
        let found = self.words(span);
        let help = for_stray(found);
        let message = format!("expected {expected}, found `{}`", clip(found));
        self.mistake(span, message, help)
    }

    // Text.

    fn words(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// The empty place right after the last token.
    fn end(&self) -> Span {
        let end = self.tokens.last().map_or(self.place.end, |token| token.span.end);
        Span::new(end, end)
    }

    /// The name that a token in quotes stands for.
    fn unquoted(&mut self, span: Span) -> Result<String, Stop> {
        let inside = Span::new(span.start + 1, span.end.saturating_sub(1));
        let mut name = String::new();
        let mut unknown = Vec::new();
        let mut chars = self.words(inside).char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => name.push(c),
                    Some((_, c)) => unknown.push((inside.start + i, c)),
                    None => {}
                },
                c => name.push(c),
            }
        }
        if name.is_empty() && unknown.is_empty() {
            self.mistake(
                span,
                "a proposition needs a name, found empty quotes",
                "write the name between the quotes",
            )?;
        }
        for (start, c) in unknown {
            let span = Span::new(start, start + 1 + c.len_utf8());
            let help =
                "inside quotes only `\\\"` and `\\\\` are escapes; a backslash itself is written `\\\\`";
            self.mistake(span, format!("unknown escape `\\{c}`"), help)?;
        }
        Ok(name)
    }
}

fn up_to(last: u32) -> Bounds {
    Bounds { first: 0, last: Some(last) }
}
