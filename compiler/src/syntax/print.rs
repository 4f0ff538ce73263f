//! Trees back to text, in this project's own dialect.

use std::fmt::{self, Display, Formatter, Write};

use super::lexer::is_plain_name;
use super::{Ast, Binary, Bounds, Expr, Unary};

/// Writes the formula in the tracelaw dialect with as few brackets as reading it back needs, and those that separate
/// `|` from `xor`, whose order nobody remembers.
///
/// Reading the text back gives an equal tree, whatever the names in it, as long as each has at least one character,
/// bounds are in order, and `&` and `|` have at least two operands.
impl Display for Ast {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        formula(f, self, Level::Iff)
    }
}

/// How tightly a form binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Iff,
    Implies,
    Or,
    And,
    Until,
    Unary,
    Atom,
}

fn level(expr: &Expr) -> Level {
    match expr {
        Expr::Constant(_) | Expr::Proposition(_) => Level::Atom,
        Expr::Unary(..) => Level::Unary,
        Expr::And(_) => Level::And,
        Expr::Or(_) => Level::Or,
        Expr::Binary(op, ..) => match op {
            Binary::Xor => Level::Or,
            Binary::Implies => Level::Implies,
            Binary::Iff => Level::Iff,
            Binary::Until(_)
            | Binary::WeakUntil
            | Binary::Release
            | Binary::StrongRelease
            | Binary::Since
            | Binary::Trigger => Level::Until,
        },
    }
}

/// Writes `ast`, in brackets if it binds less tightly than `least`.
fn formula(f: &mut Formatter<'_>, ast: &Ast, least: Level) -> fmt::Result {
    if level(&ast.expr) < least {
        f.write_char('(')?;
        bare(f, ast)?;
        f.write_char(')')
    } else {
        bare(f, ast)
    }
}

fn bare(f: &mut Formatter<'_>, ast: &Ast) -> fmt::Result {
    match &ast.expr {
        Expr::Constant(value) => write!(f, "{value}"),
        Expr::Proposition(name) => proposition(f, name),
        Expr::Unary(op, operand) => unary(f, *op, operand),
        Expr::And(operands) => chain(f, operands, "&", Level::Until, true),
        Expr::Or(operands) => chain(f, operands, "|", Level::And, false),
        Expr::Binary(op, left, right) => {
            let (left_level, right_level) = match op {
                Binary::Xor => match left.expr {
                    Expr::Binary(Binary::Xor, ..) => (Level::Or, Level::And),
                    _ => (Level::And, Level::And),
                },
                Binary::Implies => (Level::Or, Level::Implies),
                Binary::Iff => (Level::Iff, Level::Implies),
                Binary::Until(_)
                | Binary::WeakUntil
                | Binary::Release
                | Binary::StrongRelease
                | Binary::Since
                | Binary::Trigger => (Level::Unary, Level::Until),
            };
            formula(f, left, left_level)?;
            write!(f, " {op} ")?;
            formula(f, right, right_level)
        }
    }
}

fn chain(f: &mut Formatter<'_>, operands: &[Ast], sign: &str, least: Level, neutral: bool) -> fmt::Result {
    if operands.is_empty() {
        return write!(f, "{neutral}");
    }
    for (i, operand) in operands.iter().enumerate() {
        if i > 0 {
            write!(f, " {sign} ")?;
        }
        formula(f, operand, least)?;
    }
    Ok(())
}

fn unary(f: &mut Formatter<'_>, op: Unary, operand: &Ast) -> fmt::Result {
    write!(f, "{op}")?;
    let touches = match op {
        Unary::Not => true,
        Unary::AtEnd => false,
        _ => level(&operand.expr) < Level::Unary,
    };
    if !touches {
        f.write_char(' ')?;
    }
    formula(f, operand, Level::Unary)
}

fn proposition(f: &mut Formatter<'_>, name: &str) -> fmt::Result {
    if is_plain_name(name) {
        return f.write_str(name);
    }
    f.write_char('"')?;
    for c in name.chars() {
        if matches!(c, '"' | '\\') {
            f.write_char('\\')?;
        }
        f.write_char(c)?;
    }
    f.write_char('"')
}

/// The operator alone, as in `F[<=3]`.
impl Display for Unary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Unary::Not => f.write_str("!"),
            Unary::Next(1) => f.write_str("X"),
            Unary::Next(k) => write!(f, "X[{k}]"),
            Unary::WeakNext(1) => f.write_str("WX"),
            Unary::WeakNext(k) => write!(f, "WX[{k}]"),
            Unary::Finally(bounds) => write!(f, "F{}", short(*bounds)),
            Unary::Globally(bounds) => write!(f, "G{}", short(*bounds)),
            Unary::Yesterday => f.write_str("Y"),
            Unary::WeakYesterday => f.write_str("Z"),
            Unary::Once => f.write_str("O"),
            Unary::Historically => f.write_str("H"),
            Unary::AtEnd => f.write_str("at end"),
        }
    }
}

/// The operator alone, as in `U[0,3]`.
impl Display for Binary {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Binary::Xor => f.write_str("xor"),
            Binary::Implies => f.write_str("->"),
            Binary::Iff => f.write_str("<->"),
            Binary::Until(bounds) => write!(f, "U{bounds}"),
            Binary::WeakUntil => f.write_str("W"),
            Binary::Release => f.write_str("R"),
            Binary::StrongRelease => f.write_str("M"),
            Binary::Since => f.write_str("S"),
            Binary::Trigger => f.write_str("T"),
        }
    }
}

/// `[2,5]`, `[2,]`, or nothing.
impl Display for Bounds {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match *self {
            Bounds::UNBOUNDED => Ok(()),
            Bounds { first, last: Some(last) } => write!(f, "[{first},{last}]"),
            Bounds { first, last: None } => write!(f, "[{first},]"),
        }
    }
}

/// `[<=5]` where that says it all.
fn short(bounds: Bounds) -> String {
    match bounds {
        Bounds { first: 0, last: Some(last) } => format!("[<={last}]"),
        other => other.to_string(),
    }
}
