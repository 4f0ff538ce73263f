//! Surface tree to core formula, and what the tree says of the empty trace.

use std::collections::HashMap;

use crate::{
    error::{BuildError, Kind},
    formula::{FALSE, FormulaId, Formulas, TRUE},
    syntax::{Ast, Binary, Expr, Unary},
};

/// Proposition names to diagram variables.
///
/// The last proposition of the vocabulary is the first variable: letters then come out of diagrams in their order as
/// numbers in which proposition i weighs 2^i.
pub(crate) struct Names<'a>(HashMap<&'a str, u32, ahash::RandomState>);

/// The variable of a proposition, and the other way round.
pub(crate) const fn flip(prop: u32, vocabulary_len: usize) -> u32 {
    vocabulary_len as u32 - 1 - prop
}

impl<'a> Names<'a> {
    pub(crate) fn new(vocabulary: &'a [String]) -> Names<'a> {
        let mut names = HashMap::with_capacity_and_hasher(vocabulary.len(), crate::dd::hasher());
        let len = vocabulary.len();
        names.extend(vocabulary.iter().enumerate().map(|(i, n)| (n.as_str(), flip(i as u32, len))));
        Names(names)
    }

    /// The variables of the tree's propositions, sorted.
    pub(crate) fn variables(&self, ast: &Ast) -> Vec<u32> {
        let mut variables: Vec<u32> =
            ast.propositions().iter().filter_map(|n| self.0.get(n).copied()).collect();
        variables.sort_unstable();
        variables
    }
}

/// Translates the surface operators into the core ones.
///
/// # Complexity
/// O(|f|) formulas; every subformula is negated at most once.
///
/// # Errors
/// When a proposition is not in the vocabulary.
pub(crate) fn desugar(
    formulas: &mut Formulas,
    names: &Names<'_>,
    ast: &Ast,
) -> Result<FormulaId, BuildError> {
    Ok(match &ast.expr {
        Expr::Constant(false) => FALSE,
        Expr::Constant(true) => TRUE,
        Expr::Proposition(name) => match names.0.get(name.as_str()) {
            Some(&prop) => formulas.literal(prop, true),
            None => return Err(BuildError::new(Kind::Unknown { name: name.clone() })),
        },
        Expr::And(fs) => {
            let fs = fs.iter().map(|f| desugar(formulas, names, f)).collect::<Result<Vec<_>, _>>()?;
            formulas.and(fs)
        }
        Expr::Or(fs) => {
            let fs = fs.iter().map(|f| desugar(formulas, names, f)).collect::<Result<Vec<_>, _>>()?;
            formulas.or(fs)
        }
        Expr::Unary(op, f) => {
            let f = desugar(formulas, names, f)?;
            match *op {
                Unary::Not => formulas.not(f),
                Unary::Next(steps) => formulas.next(true, steps, f),
                Unary::WeakNext(steps) => formulas.next(false, steps, f),
                Unary::Finally(b) => formulas.until_from(b.first, b.last, TRUE, f),
                Unary::Globally(b) => formulas.release_from(b.first, b.last, FALSE, f),
                Unary::Yesterday => formulas.yesterday(true, f),
                Unary::WeakYesterday => formulas.yesterday(false, f),
                Unary::Once => formulas.since(TRUE, f),
                Unary::Historically => formulas.trigger(FALSE, f),
                Unary::AtEnd => {
                    let last = formulas.next(false, 1, FALSE);
                    let now = formulas.and([f, last]);
                    formulas.until(None, TRUE, now)
                }
            }
        }
        Expr::Binary(op, f, g) => {
            let (f, g) = (desugar(formulas, names, f)?, desugar(formulas, names, g)?);
            match *op {
                Binary::Implies => {
                    let f = formulas.not(f);
                    formulas.or([f, g])
                }
                Binary::Xor => equivalence(formulas, f, g, false),
                Binary::Iff => equivalence(formulas, f, g, true),
                Binary::Until(b) => formulas.until_from(b.first, b.last, f, g),
                Binary::Release => formulas.release(None, f, g),
                // f W g = g R (f | g);  f M g = g U (f & g)
                Binary::WeakUntil => {
                    let either = formulas.or([f, g]);
                    formulas.release(None, g, either)
                }
                Binary::StrongRelease => {
                    let both = formulas.and([f, g]);
                    formulas.until(None, g, both)
                }
                Binary::Since => formulas.since(f, g),
                Binary::Trigger => formulas.trigger(f, g),
            }
        }
    })
}

/// `(f & g) | (!f & !g)`, or with `positive` false its negation.
fn equivalence(formulas: &mut Formulas, f: FormulaId, g: FormulaId, positive: bool) -> FormulaId {
    let (nf, ng) = (formulas.not(f), formulas.not(g));
    let (with_f, with_nf) = if positive { (g, ng) } else { (ng, g) };
    let both = formulas.and([f, with_f]);
    let neither = formulas.and([nf, with_nf]);
    formulas.or([both, neither])
}

/// Whether the empty trace satisfies the formula (semantics.md, "the empty trace").
pub(crate) fn holds_on_empty(ast: &Ast) -> bool {
    match &ast.expr {
        Expr::Constant(value) => *value,
        Expr::Proposition(_) => false,
        Expr::And(fs) => fs.iter().all(holds_on_empty),
        Expr::Or(fs) => fs.iter().any(holds_on_empty),
        // `X[0] f` is `f`.
        Expr::Unary(Unary::Not, f) => !holds_on_empty(f),
        Expr::Unary(Unary::Next(0) | Unary::WeakNext(0), f) => holds_on_empty(f),
        Expr::Unary(
            Unary::WeakNext(_) | Unary::Globally(_) | Unary::WeakYesterday | Unary::Historically,
            _,
        ) => true,
        Expr::Unary(
            Unary::Next(_) | Unary::Finally(_) | Unary::Yesterday | Unary::Once | Unary::AtEnd,
            _,
        ) => false,
        Expr::Binary(Binary::Xor, f, g) => holds_on_empty(f) != holds_on_empty(g),
        Expr::Binary(Binary::Implies, f, g) => !holds_on_empty(f) || holds_on_empty(g),
        Expr::Binary(Binary::Iff, f, g) => holds_on_empty(f) == holds_on_empty(g),
        Expr::Binary(Binary::WeakUntil | Binary::Release | Binary::Trigger, _, _) => true,
        Expr::Binary(Binary::Until(_) | Binary::StrongRelease | Binary::Since, _, _) => false,
    }
}
