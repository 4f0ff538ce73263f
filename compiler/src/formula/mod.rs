//! Formulas in negation normal form, hash-consed: equal formulas have equal ids.
//!
//! The core has twelve forms; every operator of the surface language becomes one or a few of them in `desugar.rs`.
//! All rewriting here keeps the meaning on **non-empty** traces (`true U f` and `f` may well differ before the first
//! event): what the empty trace says is asked of the surface tree, once, before anything is rewritten.

mod intern;

pub(crate) use intern::Formulas;

/// A formula in a [`Formulas`] arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FormulaId(pub(crate) u32);

/// `false`
pub(crate) const FALSE: FormulaId = FormulaId(0);
/// `true`
pub(crate) const TRUE: FormulaId = FormulaId(1);

/// A core formula. In binary operators `last == None` means without end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Core {
    False,
    True,
    /// A proposition or its negation.
    Literal {
        prop: u32,
        positive: bool,
    },
    /// At least two operands, sorted, none of them `And`.
    And(Box<[FormulaId]>),
    /// At least two operands, sorted, none of them `Or`.
    Or(Box<[FormulaId]>),
    /// `steps >= 1` positions on; past the end `!strong`.
    Next {
        strong: bool,
        steps: u32,
        arg: FormulaId,
    },
    /// `lhs U[0,last] rhs`; a later lower bound is rewritten.
    Until {
        last: Option<u32>,
        lhs: FormulaId,
        rhs: FormulaId,
    },
    /// `lhs R[0,last] rhs`, the dual of `Until`.
    Release {
        last: Option<u32>,
        lhs: FormulaId,
        rhs: FormulaId,
    },
    /// The previous position; before the first `!strong`.
    Yesterday {
        strong: bool,
        arg: FormulaId,
    },
    /// `lhs S rhs`
    Since {
        lhs: FormulaId,
        rhs: FormulaId,
    },
    /// `lhs T rhs`, the dual of `Since`.
    Trigger {
        lhs: FormulaId,
        rhs: FormulaId,
    },
}

/// The expansion law of a future operator other than next: `outer | (inner & X rest)`, or with `conjunction`
/// `outer & (inner | X rest)`, where the next is weak if `weak`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Law {
    pub(crate) conjunction: bool,
    pub(crate) outer: FormulaId,
    pub(crate) inner: FormulaId,
    pub(crate) rest: FormulaId,
    pub(crate) weak: bool,
}
