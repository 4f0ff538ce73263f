//! The surface syntax tree of a formula: what was written, with its places.

use crate::diag::Span;

/// A formula as written. Trees are at most [`crate::syntax::Limits::max_depth`] deep, so recursion over them is safe.
#[derive(Clone, Debug)]
pub struct Ast {
    /// Where it stands in its text.
    pub span: Span,
    /// What it is.
    pub expr: Expr,
}

/// The forms of formulas.
///
/// `And` and `Or` are n-ary so that long chains stay flat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// `true`, `false`.
    Constant(bool),
    /// A proposition by its name (without quotes).
    Proposition(String),
    /// One operand.
    Unary(Unary, Box<Ast>),
    /// Two or more operands.
    And(Vec<Ast>),
    /// Two or more operands.
    Or(Vec<Ast>),
    /// Two operands, left then right.
    Binary(Binary, Box<Ast>, Box<Ast>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// `!f`
    Not,
    /// `X f` is `Next(1)`, `X[k] f` is `Next(k)`: false past the last position.
    Next(u32),
    /// `WX f` is `WeakNext(1)`, `WX[k] f` is `WeakNext(k)`: true past the last position.
    WeakNext(u32),
    /// `F f`, `F[a,b] f`.
    Finally(Bounds),
    /// `G f`, `G[a,b] f`.
    Globally(Bounds),
    /// `Y f`: false at position 0.
    Yesterday,
    /// `Z f`: true at position 0.
    WeakYesterday,
    /// `O f`.
    Once,
    /// `H f`.
    Historically,
    /// `at end f`, that is `F(f & WX false)`.
    AtEnd,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// `f xor g`
    Xor,
    /// `f -> g`
    Implies,
    /// `f <-> g`
    Iff,
    /// `f U g`, `f U[a,b] g`.
    Until(Bounds),
    /// `f W g`
    WeakUntil,
    /// `f R g`
    Release,
    /// `f M g`
    StrongRelease,
    /// `f S g`
    Since,
    /// `f T g`
    Trigger,
}

/// How many positions ahead the witness lies: `first ..= last`, without end if `last` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Bounds {
    /// Least distance, in positions.
    pub first: u32,
    /// Greatest distance, in positions.
    pub last: Option<u32>,
}

impl Bounds {
    /// From now on, without end: the bounds of the plain operators.
    pub const UNBOUNDED: Bounds = Bounds { first: 0, last: None };
}

/// Two trees are equal when they say the same, wherever they stand.
impl PartialEq for Ast {
    fn eq(&self, other: &Ast) -> bool {
        self.expr == other.expr
    }
}

impl Eq for Ast {}

impl Ast {
    /// A tree without a place of its own: `span` is that of the text it was made from.
    #[must_use]
    pub fn new(span: Span, expr: Expr) -> Ast {
        Ast { span, expr }
    }

    /// The proposition names in order of first occurrence.
    #[must_use]
    pub fn propositions(&self) -> Vec<&str> {
        fn walk<'a>(ast: &'a Ast, seen: &mut std::collections::HashSet<&'a str>, out: &mut Vec<&'a str>) {
            match &ast.expr {
                Expr::Constant(_) => {}
                Expr::Proposition(name) => {
                    if seen.insert(name) {
                        out.push(name);
                    }
                }
                Expr::Unary(_, f) => walk(f, seen, out),
                Expr::And(fs) | Expr::Or(fs) => fs.iter().for_each(|f| walk(f, seen, out)),
                Expr::Binary(_, f, g) => {
                    walk(f, seen, out);
                    walk(g, seen, out);
                }
            }
        }
        let mut out = Vec::new();
        walk(self, &mut std::collections::HashSet::new(), &mut out);
        out
    }
}
