//! What is still owed on an infinite trace: disjunctions of clauses, each a conjunction of obligations.
//!
//! Nothing occurs negated. A clause that asks for no less than another one is left out, and so is an obligation that
//! another one of its clause includes: equal debts mostly have equal numbers, and pending deadlines do not pile up.

use std::{collections::HashMap, rc::Rc};

use crate::{
    config::Limits,
    dd::{BinaryOp, Ref, hasher, terminal, value},
    error::{BuildError, Kind},
    formula::{Core, FormulaId, Formulas},
    mtdfa::check_states,
};

/// A member of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Atom {
    /// The rest of the trace has to satisfy the formula.
    Owed(FormulaId),
    /// The witness of this until was put off. It must not be put off for ever.
    PutOff(FormulaId),
}

/// The number of a clause.
pub(super) type ClauseId = u32;
/// The number of a debt.
pub(super) type DebtId = u32;

/// The clause that asks for nothing.
pub(super) const FREE: ClauseId = 0;
/// No clause: nothing pays for it.
pub(super) const NEVER: DebtId = 0;
/// Nothing is owed.
pub(super) const PAID: DebtId = 1;

/// All clauses and debts of one formula.
pub(super) struct Debts {
    clauses: Vec<Rc<[Atom]>>,
    clause_ids: HashMap<Rc<[Atom]>, ClauseId, ahash::RandomState>,
    debts: Vec<Rc<[ClauseId]>>,
    debt_ids: HashMap<Rc<[ClauseId]>, DebtId, ahash::RandomState>,
    combined: HashMap<(bool, DebtId, DebtId), DebtId, ahash::RandomState>,
    stripped: HashMap<DebtId, DebtId, ahash::RandomState>,
    /// Clauses kept and pairs of clauses compared, in units that compare with a diagram node.
    work: usize,
    limits: Limits,
}

impl Debts {
    pub(super) fn new(limits: Limits) -> Debts {
        let (free, never, paid): (Rc<[Atom]>, Rc<[ClauseId]>, Rc<[ClauseId]>) =
            (Rc::new([]), Rc::new([]), Rc::new([FREE]));
        let mut debts = Debts {
            clauses: vec![free.clone()],
            clause_ids: HashMap::with_hasher(hasher()),
            debts: vec![never.clone(), paid.clone()],
            debt_ids: HashMap::with_hasher(hasher()),
            combined: HashMap::with_hasher(hasher()),
            stripped: HashMap::with_hasher(hasher()),
            work: 0,
            limits,
        };
        debts.clause_ids.insert(free, FREE);
        debts.debt_ids.extend([(never, NEVER), (paid, PAID)]);
        debts
    }

    pub(super) fn clause(&self, id: ClauseId) -> Rc<[Atom]> {
        self.clauses[id as usize].clone()
    }

    /// The clauses of a debt.
    pub(super) fn clauses(&self, id: DebtId) -> Rc<[ClauseId]> {
        self.debts[id as usize].clone()
    }

    /// The clause of these atoms.
    pub(super) fn intern_clause(
        &mut self,
        formulas: &Formulas,
        mut atoms: Vec<Atom>,
    ) -> Result<ClauseId, BuildError> {
        atoms.sort_unstable();
        atoms.dedup();
        let implied =
            |&atom: &Atom| !atoms.iter().any(|&other| other != atom && implies(formulas, other, atom));
        let kept: Rc<[Atom]> = atoms.iter().copied().filter(implied).collect();
        if let Some(&id) = self.clause_ids.get(&kept) {
            return Ok(id);
        }
        let id = self.clauses.len();
        check_states(id, self.limits.max_states)?;
        self.clauses.push(kept.clone());
        self.clause_ids.insert(kept, id as ClauseId);
        Ok(id as ClauseId)
    }

    /// The debt that any of these clauses pays for.
    pub(super) fn intern(
        &mut self,
        formulas: &Formulas,
        mut clauses: Vec<ClauseId>,
    ) -> Result<DebtId, BuildError> {
        clauses.sort_unstable();
        clauses.dedup();
        self.spend(clauses.len())?;
        let weaker = |&id: &ClauseId| {
            !clauses.iter().any(|&other| {
                let (strong, weak) = (&self.clauses[id as usize], &self.clauses[other as usize]);
                let in_strong = |&w: &Atom| strong.iter().any(|&s| implies(formulas, s, w));
                other != id && weak.len() <= strong.len() && weak.iter().all(in_strong)
            })
        };
        let kept: Rc<[ClauseId]> = clauses.iter().copied().filter(weaker).collect();
        if let Some(&id) = self.debt_ids.get(&kept) {
            return Ok(id);
        }
        let id = self.debts.len() as DebtId;
        self.debts.push(kept.clone());
        self.debt_ids.insert(kept, id);
        Ok(id)
    }

    /// Clauses are compared pairwise: many of them take long before they take much room.
    fn spend(&mut self, clauses: usize) -> Result<(), BuildError> {
        const PAIRS_PER_NODE: usize = 256;
        let cost = clauses.saturating_mul(clauses) / PAIRS_PER_NODE + clauses;
        self.work = self.work.saturating_add(cost);
        match self.limits.max_nodes {
            limit if self.work > limit => Err(BuildError::new(Kind::Nodes { limit })),
            _ => Ok(()),
        }
    }

    /// Both debts, or (not `conjunction`) the one or the other.
    ///
    /// # Complexity
    /// O(c²) comparisons of clauses, where c is the number of clauses before any is left out.
    pub(super) fn combine(
        &mut self,
        formulas: &Formulas,
        conjunction: bool,
        a: DebtId,
        b: DebtId,
    ) -> Result<DebtId, BuildError> {
        let (neutral, absorbing) = if conjunction { (PAID, NEVER) } else { (NEVER, PAID) };
        if a == b || b == neutral || a == absorbing {
            return Ok(a);
        }
        if a == neutral || b == absorbing {
            return Ok(b);
        }
        let key = (conjunction, a.min(b), a.max(b));
        if let Some(&done) = self.combined.get(&key) {
            return Ok(done);
        }
        let (first, second) = (self.clauses(a), self.clauses(b));
        let clauses = if conjunction {
            self.spend(first.len().saturating_mul(second.len()))?;
            let mut clauses = Vec::with_capacity(first.len() * second.len());
            for &c in first.iter() {
                for &d in second.iter() {
                    let atoms = [&*self.clauses[c as usize], &*self.clauses[d as usize]].concat();
                    clauses.push(self.intern_clause(formulas, atoms)?);
                }
            }
            clauses
        } else {
            [&*first, &*second].concat()
        };
        let done = self.intern(formulas, clauses)?;
        self.combined.insert(key, done);
        Ok(done)
    }

    /// What is owed by a clause, and the untils that were put off for it.
    pub(super) fn split(
        &mut self,
        formulas: &Formulas,
        id: ClauseId,
    ) -> Result<(ClauseId, Vec<FormulaId>), BuildError> {
        let mut owed = Vec::new();
        let mut put_off = Vec::new();
        for &atom in self.clauses[id as usize].iter() {
            match atom {
                Atom::Owed(_) => owed.push(atom),
                Atom::PutOff(until) => put_off.push(until),
            }
        }
        let owed = if put_off.is_empty() { id } else { self.intern_clause(formulas, owed)? };
        Ok((owed, put_off))
    }

    /// What is owed, whatever was put off for it.
    pub(super) fn strip(&mut self, formulas: &Formulas, id: DebtId) -> Result<DebtId, BuildError> {
        if let Some(&done) = self.stripped.get(&id) {
            return Ok(done);
        }
        let mut clauses = Vec::new();
        for &clause in self.clauses(id).iter() {
            clauses.push(self.split(formulas, clause)?.0);
        }
        let done = self.intern(formulas, clauses)?;
        self.stripped.insert(id, done);
        Ok(done)
    }
}

/// Whether what satisfies `a` always satisfies `b`, as far as their bounds tell.
fn implies(formulas: &Formulas, a: Atom, b: Atom) -> bool {
    if a == b {
        return true;
    }
    let (Atom::Owed(a), Atom::Owed(b)) = (a, b) else { return false };
    let end = |last: Option<u32>| last.map_or(u64::MAX, u64::from);
    match (formulas.core(a), formulas.core(b)) {
        (&Core::Until { last: p, lhs, rhs }, &Core::Until { last: q, lhs: l, rhs: r }) => {
            (lhs, rhs) == (l, r) && end(p) <= end(q)
        }
        (&Core::Release { last: p, lhs, rhs }, &Core::Release { last: q, lhs: l, rhs: r }) => {
            (lhs, rhs) == (l, r) && end(p) >= end(q)
        }
        _ => false,
    }
}

/// Conjunction or disjunction of debts, terminal by terminal.
pub(super) struct Combine<'a> {
    pub(super) conjunction: bool,
    pub(super) formulas: &'a Formulas,
    pub(super) debts: &'a mut Debts,
}

impl BinaryOp for Combine<'_> {
    const COMMUTES: bool = true;

    fn shortcut(&self, f: Ref, g: Ref) -> Option<Ref> {
        let (neutral, absorbing) = if self.conjunction { (PAID, NEVER) } else { (NEVER, PAID) };
        match (value(f), value(g)) {
            _ if f == g => Some(f),
            (Some(v), _) | (_, Some(v)) if v == absorbing => Some(terminal(absorbing)),
            (Some(v), _) if v == neutral => Some(g),
            (_, Some(v)) if v == neutral => Some(f),
            _ => None,
        }
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        self.debts.combine(self.formulas, self.conjunction, f, g)
    }
}
