//! A quick, sound and incomplete test whether one formula implies another on non-empty traces.
//!
//! The translator uses it to see that a newer, stronger obligation covers an older one: of the k pending deadlines of
//! `G(a -> F[<=k] b)` only the nearest counts. Missing an implication costs states until minimisation, never an answer.

use std::collections::HashMap;

use super::{Core, FALSE, FormulaId, Formulas, TRUE};
use crate::dd::hasher;

/// Answers given so far.
pub(crate) struct Implications {
    known: HashMap<(FormulaId, FormulaId), bool, ahash::RandomState>,
}

impl Implications {
    pub(crate) fn new() -> Implications {
        Implications { known: HashMap::with_hasher(hasher()) }
    }

    /// Whether every non-empty trace that satisfies `a` satisfies `b`, as far as this test can see.
    ///
    /// # Complexity
    /// Each pair of subformulas is looked at once.
    pub(crate) fn holds(&mut self, formulas: &mut Formulas, a: FormulaId, b: FormulaId) -> bool {
        if a == b || a == FALSE || b == TRUE {
            return true;
        }
        if a == TRUE || b == FALSE {
            return false;
        }
        if let Some(&answer) = self.known.get(&(a, b)) {
            return answer;
        }
        // A question that comes up below itself is answered no: sound, and the recursion ends.
        self.known.insert((a, b), false);
        let answer = self.by_right(formulas, a, b) || self.by_left(formulas, a, b);
        self.known.insert((a, b), answer);
        answer
    }

    fn by_right(&mut self, formulas: &mut Formulas, a: FormulaId, b: FormulaId) -> bool {
        match formulas.core(b).clone() {
            Core::And(fs) => fs.iter().all(|&f| self.holds(formulas, a, f)),
            Core::Or(fs) => {
                // A literal is in the list or it is not; asking all of a long list costs more than it finds.
                if let Core::Literal { .. } = formulas.core(a) {
                    return fs.binary_search(&a).is_ok();
                }
                fs.iter().any(|&f| self.holds(formulas, a, f))
            }
            Core::Until { last, lhs, rhs } => {
                if self.holds(formulas, a, rhs) {
                    return true;
                }
                match *formulas.core(a) {
                    // The other until's witness is in time, its way there is a way here.
                    Core::Until { last: l, lhs: al, rhs: ar } => {
                        let sooner = match (l, last) {
                            (_, None) => true,
                            (Some(l), Some(last)) => l <= last,
                            (None, Some(_)) => false,
                        };
                        sooner
                            && self.holds(formulas, al, lhs)
                            && (self.holds(formulas, ar, rhs) || (last.is_none() && self.holds(formulas, ar, b)))
                    }
                    _ => false,
                }
            }
            Core::Release { last, lhs, rhs } => match *formulas.core(a) {
                Core::Release { last: l, lhs: al, rhs: ar } => {
                    let longer = match (l, last) {
                        (None, _) => true,
                        (Some(l), Some(last)) => l >= last,
                        (Some(_), None) => false,
                    };
                    longer
                        && self.holds(formulas, ar, rhs)
                        && (self.holds(formulas, al, lhs) || (last.is_none() && self.holds(formulas, al, b)))
                }
                _ => false,
            },
            Core::Next { strong, steps, arg } => match *formulas.core(a) {
                Core::Next { strong: s, steps: n, arg: f } if (s || !strong) && n >= steps => {
                    let f = formulas.next(s, n - steps, f);
                    self.holds(formulas, f, arg)
                }
                _ => false,
            },
            Core::False
            | Core::True
            | Core::Literal { .. }
            | Core::Until { .. }
            | Core::Release { .. }
            | Core::Yesterday { .. }
            | Core::Since { .. }
            | Core::Trigger { .. } => false,
        }
    }

    fn by_left(&mut self, formulas: &mut Formulas, a: FormulaId, b: FormulaId) -> bool {
        match formulas.core(a).clone() {
            Core::And(fs) => fs.iter().any(|&f| self.holds(formulas, f, b)),
            Core::Or(fs) => fs.iter().all(|&f| self.holds(formulas, f, b)),
            // One of the two holds now.
            Core::Until { last: None, lhs, rhs } => {
                self.holds(formulas, rhs, b) && self.holds(formulas, lhs, b)
            }
            // The right side holds now.
            Core::Release { rhs, .. } => self.holds(formulas, rhs, b),
            Core::False
            | Core::True
            | Core::Literal { .. }
            | Core::Next { .. }
            | Core::Until { .. }
            | Core::Release { .. }
            | Core::Yesterday { .. }
            | Core::Since { .. }
            | Core::Trigger { .. } => false,
        }
    }
}
