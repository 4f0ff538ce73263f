//! The arena and its smart constructors: every rewrite rule is here, beside the operator it is for.

use std::collections::{HashMap, HashSet};

use super::{Core, FALSE, FormulaId, Law, TRUE};
use crate::dd::hasher;

/// Facts about a formula that are asked often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Facts {
    /// No temporal operator in it.
    propositional: bool,
    /// Some past operator in it.
    past: bool,
}

/// All formulas of one compilation.
#[derive(Clone)]
pub(crate) struct Formulas {
    cores: Vec<Core>,
    facts: Vec<Facts>,
    ids: HashMap<Core, FormulaId, ahash::RandomState>,
    negations: HashMap<FormulaId, FormulaId, ahash::RandomState>,
}

impl Formulas {
    pub(crate) fn new() -> Formulas {
        let mut formulas = Formulas {
            cores: Vec::new(),
            facts: Vec::new(),
            ids: HashMap::with_hasher(hasher()),
            negations: HashMap::with_hasher(hasher()),
        };
        formulas.intern(Core::False);
        formulas.intern(Core::True);
        formulas
    }

    pub(crate) fn core(&self, id: FormulaId) -> &Core {
        &self.cores[id.0 as usize]
    }

    /// Whether `id` has no temporal operator.
    pub(crate) fn is_propositional(&self, id: FormulaId) -> bool {
        self.facts[id.0 as usize].propositional
    }

    /// Whether `id` looks back.
    pub(crate) fn has_past(&self, id: FormulaId) -> bool {
        self.facts[id.0 as usize].past
    }

    /// The operands, in order.
    pub(crate) fn children(&self, id: FormulaId) -> Vec<FormulaId> {
        match self.core(id) {
            Core::False | Core::True | Core::Literal { .. } => Vec::new(),
            Core::And(fs) | Core::Or(fs) => fs.to_vec(),
            Core::Next { arg, .. } | Core::Yesterday { arg, .. } => vec![*arg],
            Core::Until { lhs, rhs, .. }
            | Core::Release { lhs, rhs, .. }
            | Core::Since { lhs, rhs }
            | Core::Trigger { lhs, rhs } => vec![*lhs, *rhs],
        }
    }

    /// The formula and all that it is made of, each once.
    pub(crate) fn below(&self, id: FormulaId) -> Vec<FormulaId> {
        let mut seen = HashSet::with_hasher(hasher());
        seen.insert(id);
        let mut found = vec![id];
        let mut next = 0;
        while let Some(&id) = found.get(next) {
            next += 1;
            found.extend(self.children(id).into_iter().filter(|&child| seen.insert(child)));
        }
        found
    }

    fn intern(&mut self, core: Core) -> FormulaId {
        if let Some(&id) = self.ids.get(&core) {
            return id;
        }
        let own = match core {
            Core::False | Core::True | Core::Literal { .. } | Core::And(_) | Core::Or(_) => {
                Facts { propositional: true, past: false }
            }
            Core::Next { .. } | Core::Until { .. } | Core::Release { .. } => {
                Facts { propositional: false, past: false }
            }
            Core::Yesterday { .. } | Core::Since { .. } | Core::Trigger { .. } => {
                Facts { propositional: false, past: true }
            }
        };
        let id = FormulaId(self.cores.len() as u32);
        self.cores.push(core.clone());
        let facts = self.children(id).into_iter().fold(own, |f, child| {
            let c = self.facts[child.0 as usize];
            Facts { propositional: f.propositional && c.propositional, past: f.past || c.past }
        });
        self.facts.push(facts);
        self.ids.insert(core, id);
        id
    }

    pub(crate) fn literal(&mut self, prop: u32, positive: bool) -> FormulaId {
        self.intern(Core::Literal { prop, positive })
    }

    pub(crate) fn and(&mut self, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        self.nary(true, operands)
    }

    pub(crate) fn or(&mut self, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        self.nary(false, operands)
    }

    /// Flattens, sorts, drops doubles and neutral operands, sees `p & !p`, and joins `G`s (`F`s) of propositional
    /// formulas. Other `G`s stay apart: they are translated one by one and minimised before they meet.
    fn nary(&mut self, conjunction: bool, operands: impl IntoIterator<Item = FormulaId>) -> FormulaId {
        let (neutral, absorbing) = if conjunction { (TRUE, FALSE) } else { (FALSE, TRUE) };
        let mut flat = Vec::new();
        for id in operands {
            match self.core(id) {
                Core::And(fs) if conjunction => flat.extend_from_slice(fs),
                Core::Or(fs) if !conjunction => flat.extend_from_slice(fs),
                _ if id == neutral => {}
                _ if id == absorbing => return absorbing,
                _ => flat.push(id),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        let joined: Vec<FormulaId> =
            flat.iter().copied().filter_map(|id| self.joinable(conjunction, id)).collect();
        if joined.len() > 1 {
            flat.retain(|&id| self.joinable(conjunction, id).is_none());
            let inner = self.nary(conjunction, joined);
            let outer =
                if conjunction { self.release(None, FALSE, inner) } else { self.until(None, TRUE, inner) };
            flat.push(outer);
            return self.nary(conjunction, flat);
        }
        if let Some((now, later, bounded)) = self.deadline(conjunction, &flat) {
            flat.retain(|&id| id != now && id != later);
            flat.push(bounded);
            return self.nary(conjunction, flat);
        }
        self.plain(conjunction, flat)
    }

    /// The conjunction or disjunction of sorted operands, none of them a constant or of the same kind, without any rewriting
    /// but that of `f & !f`.
    pub(crate) fn plain(&mut self, conjunction: bool, flat: Vec<FormulaId>) -> FormulaId {
        let (neutral, absorbing) = if conjunction { (TRUE, FALSE) } else { (FALSE, TRUE) };
        for &id in &flat {
            if let Core::Literal { prop, positive } = *self.core(id) {
                let opposite = Core::Literal { prop, positive: !positive };
                if self.ids.get(&opposite).is_some_and(|o| flat.binary_search(o).is_ok()) {
                    return absorbing;
                }
            } else if self.negations.get(&id).is_some_and(|n| flat.binary_search(n).is_ok()) {
                return absorbing;
            }
        }
        match flat.as_slice() {
            [] => neutral,
            [one] => *one,
            _ if conjunction => self.intern(Core::And(flat.into())),
            _ => self.intern(Core::Or(flat.into())),
        }
    }

    /// `f | X f` is `F[<=1] f`, and `f | X F[<=k] f` is `F[<=k+1] f`; likewise `f & WX G[<=k] f`. Finds `f`, the other
    /// operand, and what they are together: deadlines written out nest deeply, counted ones do not.
    fn deadline(
        &mut self,
        conjunction: bool,
        flat: &[FormulaId],
    ) -> Option<(FormulaId, FormulaId, FormulaId)> {
        let (now, later, last) = flat.iter().find_map(|&id| match *self.core(id) {
            Core::Next { strong, steps: 1, arg } if strong != conjunction => {
                let (now, last) = match *self.core(arg) {
                    Core::Until { last: Some(last), lhs: TRUE, rhs } if !conjunction => (rhs, last),
                    Core::Release { last: Some(last), lhs: FALSE, rhs } if conjunction => (rhs, last),
                    _ => (arg, 0),
                };
                (last < u32::MAX && flat.binary_search(&now).is_ok()).then_some((now, id, last))
            }
            _ => None,
        })?;
        let bounded = if conjunction {
            self.release(Some(last + 1), FALSE, now)
        } else {
            self.until(Some(last + 1), TRUE, now)
        };
        Some((now, later, bounded))
    }

    /// The `g` of a `G g` (in a conjunction) or `F g` (in a disjunction) when `g` is propositional.
    fn joinable(&self, conjunction: bool, id: FormulaId) -> Option<FormulaId> {
        match *self.core(id) {
            Core::Release { last: None, lhs: FALSE, rhs } if conjunction && self.is_propositional(rhs) => {
                Some(rhs)
            }
            Core::Until { last: None, lhs: TRUE, rhs } if !conjunction && self.is_propositional(rhs) => {
                Some(rhs)
            }
            _ => None,
        }
    }

    pub(crate) fn next(&mut self, strong: bool, steps: u32, arg: FormulaId) -> FormulaId {
        if steps == 0 || (strong && arg == FALSE) || (!strong && arg == TRUE) {
            return arg;
        }
        // Counts that are too large together stay two operators.
        if let Core::Next { strong: s, steps: more, arg: inner } = *self.core(arg)
            && s == strong
            && let Some(steps) = steps.checked_add(more)
        {
            return self.intern(Core::Next { strong, steps, arg: inner });
        }
        self.intern(Core::Next { strong, steps, arg })
    }

    /// `lhs U[first,last] rhs`: with a lower bound, `lhs` holds up to there and the rest starts there.
    pub(crate) fn until_from(
        &mut self,
        first: u32,
        last: Option<u32>,
        lhs: FormulaId,
        rhs: FormulaId,
    ) -> FormulaId {
        let rest = self.until(last.map(|l| l.saturating_sub(first)), lhs, rhs);
        if first == 0 {
            return rest;
        }
        let before = self.release(Some(first - 1), FALSE, lhs);
        let then = self.next(true, first, rest);
        self.and([before, then])
    }

    /// `lhs R[first,last] rhs`, the dual of [`Formulas::until_from`].
    pub(crate) fn release_from(
        &mut self,
        first: u32,
        last: Option<u32>,
        lhs: FormulaId,
        rhs: FormulaId,
    ) -> FormulaId {
        let rest = self.release(last.map(|l| l.saturating_sub(first)), lhs, rhs);
        if first == 0 {
            return rest;
        }
        let before = self.until(Some(first - 1), TRUE, lhs);
        let then = self.next(false, first, rest);
        self.or([before, then])
    }

    /// `lhs U[0,last] rhs`
    pub(crate) fn until(&mut self, last: Option<u32>, lhs: FormulaId, rhs: FormulaId) -> FormulaId {
        // The witness may be now; `lhs` is not asked then.
        if rhs == TRUE || rhs == FALSE || lhs == FALSE || lhs == rhs || last == Some(0) {
            return rhs;
        }
        if last.is_none() {
            match *self.core(rhs) {
                // f U (f U g) = f U g
                Core::Until { last: None, lhs: l, .. } if l == lhs => return rhs,
                // F (f U g) = F g
                Core::Until { last: None, rhs: r, .. } if lhs == TRUE => return self.until(None, TRUE, r),
                // F (f | g) = F f | F g
                Core::Or(ref fs) if lhs == TRUE && !self.is_propositional(rhs) => {
                    let fs = fs.to_vec();
                    let parts: Vec<_> = fs.into_iter().map(|f| self.until(None, TRUE, f)).collect();
                    return self.or(parts);
                }
                _ => {}
            }
        }
        self.intern(Core::Until { last, lhs, rhs })
    }

    /// `lhs R[0,last] rhs`
    pub(crate) fn release(&mut self, last: Option<u32>, lhs: FormulaId, rhs: FormulaId) -> FormulaId {
        if rhs == TRUE || rhs == FALSE || lhs == TRUE || lhs == rhs || last == Some(0) {
            return rhs;
        }
        if last.is_none() {
            match *self.core(rhs) {
                Core::Release { last: None, lhs: l, .. } if l == lhs => return rhs,
                Core::Release { last: None, rhs: r, .. } if lhs == FALSE => {
                    return self.release(None, FALSE, r);
                }
                Core::And(ref fs) if lhs == FALSE && !self.is_propositional(rhs) => {
                    let fs = fs.to_vec();
                    let parts: Vec<_> = fs.into_iter().map(|f| self.release(None, FALSE, f)).collect();
                    return self.and(parts);
                }
                _ => {}
            }
        }
        self.intern(Core::Release { last, lhs, rhs })
    }

    /// How an until or release unfolds. `f W g`, kept as `g R (f | g)`, unfolds to `g | (f & X ..)`: the operands apart are
    /// simpler than their disjunction. Likewise `f M g`, kept as `g U (f & g)`.
    pub(crate) fn law(&mut self, id: FormulaId) -> Option<Law> {
        let (until, last, lhs, rhs) = match *self.core(id) {
            Core::Until { last, lhs, rhs } => (true, last, lhs, rhs),
            Core::Release { last, lhs, rhs } => (false, last, lhs, rhs),
            _ => return None,
        };
        let rest = match last {
            None => id,
            Some(last) if until => self.until(Some(last - 1), lhs, rhs),
            Some(last) => self.release(Some(last - 1), lhs, rhs),
        };
        let apart = match self.core(rhs) {
            Core::And(fs) if until && last.is_none() => self.without(fs, lhs, true),
            Core::Or(fs) if !until && last.is_none() => self.without(fs, lhs, false),
            _ => None,
        };
        Some(match apart {
            None => Law { conjunction: !until, outer: rhs, inner: lhs, rest, weak: !until },
            Some(others) => {
                let inner = if until { self.and(others) } else { self.or(others) };
                Law { conjunction: until, outer: lhs, inner, rest, weak: !until }
            }
        })
    }

    /// The operands `fs` of a conjunction or disjunction that are not those of `part`, if those are all there.
    fn without(&self, fs: &[FormulaId], part: FormulaId, conjunction: bool) -> Option<Vec<FormulaId>> {
        let parts: &[FormulaId] = match self.core(part) {
            Core::And(ps) if conjunction => ps,
            Core::Or(ps) if !conjunction => ps,
            _ => &[part],
        };
        let all = parts.iter().all(|p| fs.binary_search(p).is_ok());
        all.then(|| fs.iter().copied().filter(|f| parts.binary_search(f).is_err()).collect())
    }

    pub(crate) fn yesterday(&mut self, strong: bool, arg: FormulaId) -> FormulaId {
        if (strong && arg == FALSE) || (!strong && arg == TRUE) {
            return arg;
        }
        self.intern(Core::Yesterday { strong, arg })
    }

    pub(crate) fn since(&mut self, lhs: FormulaId, rhs: FormulaId) -> FormulaId {
        if rhs == TRUE || rhs == FALSE || lhs == FALSE || lhs == rhs {
            return rhs;
        }
        self.intern(Core::Since { lhs, rhs })
    }

    pub(crate) fn trigger(&mut self, lhs: FormulaId, rhs: FormulaId) -> FormulaId {
        if rhs == TRUE || rhs == FALSE || lhs == TRUE || lhs == rhs {
            return rhs;
        }
        self.intern(Core::Trigger { lhs, rhs })
    }

    /// The negation, pushed to the literals. Each formula is negated once.
    pub(crate) fn not(&mut self, id: FormulaId) -> FormulaId {
        if let Some(&n) = self.negations.get(&id) {
            return n;
        }
        let n = match self.core(id).clone() {
            Core::False => TRUE,
            Core::True => FALSE,
            Core::Literal { prop, positive } => self.literal(prop, !positive),
            Core::And(fs) => {
                let fs: Vec<_> = fs.iter().map(|&f| self.not(f)).collect();
                self.or(fs)
            }
            Core::Or(fs) => {
                let fs: Vec<_> = fs.iter().map(|&f| self.not(f)).collect();
                self.and(fs)
            }
            Core::Next { strong, steps, arg } => {
                let arg = self.not(arg);
                self.next(!strong, steps, arg)
            }
            Core::Until { last, lhs, rhs } => {
                let (lhs, rhs) = (self.not(lhs), self.not(rhs));
                self.release(last, lhs, rhs)
            }
            Core::Release { last, lhs, rhs } => {
                let (lhs, rhs) = (self.not(lhs), self.not(rhs));
                self.until(last, lhs, rhs)
            }
            Core::Yesterday { strong, arg } => {
                let arg = self.not(arg);
                self.yesterday(!strong, arg)
            }
            Core::Since { lhs, rhs } => {
                let (lhs, rhs) = (self.not(lhs), self.not(rhs));
                self.trigger(lhs, rhs)
            }
            Core::Trigger { lhs, rhs } => {
                let (lhs, rhs) = (self.not(lhs), self.not(rhs));
                self.since(lhs, rhs)
            }
        };
        self.negations.insert(id, n);
        self.negations.insert(n, id);
        n
    }
}
