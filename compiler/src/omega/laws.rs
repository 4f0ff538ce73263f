//! What one letter makes of what is owed, by the expansion laws of infinite traces, where every next is strong.

use std::{collections::HashMap, rc::Rc};

use super::debts::{Atom, ClauseId, Combine, DebtId, Debts, NEVER, PAID};
use crate::{
    config::Limits,
    dd::{BinaryOp, Cache, Dd, Ref, Visited, hasher, memo, terminal},
    error::BuildError,
    formula::{Core, FormulaId, Formulas},
};

/// The number of a memory: what each past subformula amounts to at the present position.
pub(super) type MemoryId = u32;
/// In a memory: nothing can ask for this subformula any more.
const FORGOTTEN: DebtId = DebtId::MAX;

/// A past subformula.
struct Past {
    /// Its value at a position is the value of this at the position before.
    definition: FormulaId,
    /// Its value at position 0.
    initially: bool,
}

/// The laws for one formula.
pub(super) struct Laws<'a> {
    pub(super) formulas: &'a mut Formulas,
    pub(super) dd: &'a mut Dd,
    pub(super) debts: Debts,
    past: Vec<Past>,
    past_index: HashMap<FormulaId, usize, ahash::RandomState>,
    /// The past subformulas in a formula, as a bit set.
    asked: HashMap<FormulaId, Rc<[u64]>, ahash::RandomState>,
    memories: Vec<Rc<[DebtId]>>,
    memory_ids: HashMap<Rc<[DebtId]>, MemoryId, ahash::RandomState>,
    /// What a letter makes of each memory, as far as that was asked.
    memory_after: HashMap<MemoryId, Ref, ahash::RandomState>,
    /// The memory at the present position.
    present: MemoryId,
    /// What a letter makes of formulas: of those that do not look back, and of all others under the present memory.
    lasting: HashMap<FormulaId, Ref, ahash::RandomState>,
    passing: HashMap<FormulaId, Ref, ahash::RandomState>,
    clause_after: HashMap<(ClauseId, MemoryId, Ref), Ref, ahash::RandomState>,
    and: Cache,
    or: Cache,
    /// Of debts and memories, and of these and the states beside.
    remembered: (Pairs, Cache),
    accompanied: (Pairs, Cache),
}

impl<'a> Laws<'a> {
    pub(super) fn new(formulas: &'a mut Formulas, dd: &'a mut Dd, limits: Limits) -> Laws<'a> {
        Laws {
            formulas,
            dd,
            debts: Debts::new(limits),
            past: Vec::new(),
            past_index: HashMap::with_hasher(hasher()),
            asked: HashMap::with_hasher(hasher()),
            memories: Vec::new(),
            memory_ids: HashMap::with_hasher(hasher()),
            memory_after: HashMap::with_hasher(hasher()),
            present: 0,
            lasting: HashMap::with_hasher(hasher()),
            passing: HashMap::with_hasher(hasher()),
            clause_after: HashMap::with_hasher(hasher()),
            and: Cache::new(),
            or: Cache::new(),
            remembered: (Pairs::new(), Cache::new()),
            accompanied: (Pairs::new(), Cache::new()),
        }
    }

    /// The debt of a formula in which every next is strong, and the memory at position 0.
    pub(super) fn start(&mut self, id: FormulaId) -> Result<(DebtId, MemoryId), BuildError> {
        self.collect_past(id);
        let initially = |p: &Past| if p.initially { PAID } else { NEVER };
        let first: Vec<DebtId> = self.past.iter().map(initially).collect();
        let memory = self.memory(first);
        let debt = self.owe(id)?;
        Ok((debt, self.remember(memory, debt)))
    }

    /// The formula's past subformulas, inner ones first; each formula is looked at once.
    fn collect_past(&mut self, id: FormulaId) {
        if !self.formulas.has_past(id) || self.asked.contains_key(&id) {
            return;
        }
        let children = self.formulas.children(id);
        for &child in &children {
            self.collect_past(child);
        }
        let past = match *self.formulas.core(id) {
            Core::Yesterday { strong, arg } => Some(Past { definition: arg, initially: !strong }),
            Core::Since { .. } => Some(Past { definition: id, initially: false }),
            Core::Trigger { .. } => Some(Past { definition: id, initially: true }),
            _ => None,
        };
        let mut set: Vec<u64> = Vec::new();
        for child in children {
            join(&mut set, self.asked.get(&child));
        }
        if let Some(past) = past {
            let index = self.past.len();
            set.resize(set.len().max(index / 64 + 1), 0);
            set[index / 64] |= 1 << (index % 64);
            self.past_index.insert(id, index);
            self.past.push(past);
        }
        self.asked.insert(id, set.into());
    }

    fn memory(&mut self, values: Vec<DebtId>) -> MemoryId {
        let next = self.memories.len() as MemoryId;
        let values: Rc<[DebtId]> = values.into();
        if let Some(&id) = self.memory_ids.get(&values) {
            return id;
        }
        self.memories.push(values.clone());
        self.memory_ids.insert(values, next);
        next
    }

    /// What has to be remembered for a debt.
    pub(super) fn remember(&mut self, memory: MemoryId, debt: DebtId) -> MemoryId {
        if self.past.is_empty() {
            return memory;
        }
        let mut set = Vec::new();
        for &clause in self.debts.clauses(debt).iter() {
            for atom in self.debts.clause(clause).iter() {
                if let Atom::Owed(id) = atom {
                    // A bound that was counted down makes formulas that `collect_past` has not seen.
                    self.collect_past(*id);
                    join(&mut set, self.asked.get(id));
                }
            }
        }
        let values = self.memories[memory as usize].clone();
        let wanted = |i: usize| set.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 != 0);
        let kept = values.iter().enumerate().map(|(i, &v)| if wanted(i) { v } else { FORGOTTEN }).collect();
        self.memory(kept)
    }

    /// The debt of a formula.
    fn owe(&mut self, id: FormulaId) -> Result<DebtId, BuildError> {
        let conjunction = match self.formulas.core(id) {
            Core::False => return Ok(NEVER),
            Core::True => return Ok(PAID),
            Core::And(_) if !self.formulas.is_propositional(id) => true,
            Core::Or(_) if !self.formulas.is_propositional(id) => false,
            _ => {
                let clause = self.debts.intern_clause(self.formulas, vec![Atom::Owed(id)])?;
                return self.debts.intern(self.formulas, vec![clause]);
            }
        };
        let mut debt = if conjunction { PAID } else { NEVER };
        for child in self.formulas.children(id) {
            let child = self.owe(child)?;
            debt = self.debts.combine(self.formulas, conjunction, debt, child)?;
        }
        Ok(debt)
    }

    /// What a letter makes of a debt and a memory, and of a state beside them by its diagram `beside`. Nothing pays for
    /// anything after a letter that is not one of `letters`. Terminals are explained by [`Laws::target`].
    pub(super) fn after(
        &mut self,
        debt: DebtId,
        memory: MemoryId,
        letters: Ref,
        beside: Ref,
    ) -> Result<Ref, BuildError> {
        self.dd.check_time()?;
        if self.present != memory {
            self.present = memory;
            self.passing.clear();
        }
        let debt = self.debt(debt, letters)?;
        let memory = self.memory_after(memory)?;
        let (pairs, cache) = &mut self.remembered;
        let remembered = self.dd.apply(pairs, cache, debt, memory)?;
        let (pairs, cache) = &mut self.accompanied;
        self.dd.apply(pairs, cache, remembered, beside)
    }

    /// The debt, the memory and the edge of the state beside that a terminal of [`Laws::after`] stands for. The debt says
    /// what was put off, and the memory holds more than the debt needs.
    pub(super) fn target(&self, leaf: u32) -> (DebtId, MemoryId, u32) {
        let (remembered, edge) = self.accompanied.0.list[leaf as usize];
        let (debt, memory) = self.remembered.0.list[remembered as usize];
        (debt, memory, edge)
    }

    /// What one of the letters makes of a debt under the present memory.
    fn debt(&mut self, debt: DebtId, letters: Ref) -> Result<Ref, BuildError> {
        let mut after = terminal(NEVER);
        for &clause in self.debts.clauses(debt).iter() {
            let clause = self.clause(clause, letters)?;
            after = self.combine(false, after, clause)?;
        }
        Ok(after)
    }

    fn clause(&mut self, clause: ClauseId, letters: Ref) -> Result<Ref, BuildError> {
        let key = (clause, self.present, letters);
        if let Some(&done) = self.clause_after.get(&key) {
            return Ok(done);
        }
        // A set of letters is a diagram of debts: paid, or never. Few letters keep all that follows small.
        let mut after = letters;
        for &atom in self.debts.clause(clause).iter() {
            if let Atom::Owed(id) = atom {
                let atom = self.formula(id)?;
                after = self.combine(true, after, atom)?;
            }
        }
        self.clause_after.insert(key, after);
        Ok(after)
    }

    /// What a letter makes of a memory.
    fn memory_after(&mut self, memory: MemoryId) -> Result<Ref, BuildError> {
        if let Some(&done) = self.memory_after.get(&memory) {
            return Ok(done);
        }
        let values = self.memories[memory as usize].clone();
        let mut rows =
            Rows { list: vec![Vec::new()], numbers: HashMap::with_hasher(hasher()), forgotten: false };
        let mut joint = terminal(0);
        for (i, &value) in values.iter().enumerate() {
            let then = if value == FORGOTTEN {
                terminal(NEVER)
            } else {
                let after = self.formula(self.past[i].definition)?;
                let (formulas, debts) = (&*self.formulas, &mut self.debts);
                self.dd.map(&mut memo(), after, &mut |debt| debts.strip(formulas, debt))?
            };
            rows.forgotten = value == FORGOTTEN;
            joint = self.dd.apply(&mut rows, &mut Cache::new(), joint, then)?;
        }
        let mut leaves = Vec::new();
        self.dd.leaves(&mut Visited::default(), joint, &mut leaves);
        let mut ids = vec![0; rows.list.len()];
        for leaf in leaves {
            ids[leaf as usize] = self.memory(rows.list[leaf as usize].clone());
        }
        let done = self.dd.map(&mut memo(), joint, &mut |leaf| Ok(ids[leaf as usize]))?;
        self.memory_after.insert(memory, done);
        Ok(done)
    }

    fn combine(&mut self, conjunction: bool, f: Ref, g: Ref) -> Result<Ref, BuildError> {
        self.dd.check_time()?;
        let cache = if conjunction { &mut self.and } else { &mut self.or };
        let mut op = Combine { conjunction, formulas: self.formulas, debts: &mut self.debts };
        self.dd.apply(&mut op, cache, f, g)
    }

    /// The expansion laws: for each letter, the debt that a formula leaves under the present memory.
    fn formula(&mut self, id: FormulaId) -> Result<Ref, BuildError> {
        let lasts = !self.formulas.has_past(id);
        let done = if lasts { &self.lasting } else { &self.passing };
        if let Some(&done) = done.get(&id) {
            return Ok(done);
        }
        let after = match self.formulas.core(id).clone() {
            Core::False => terminal(NEVER),
            Core::True => terminal(PAID),
            Core::Literal { prop, positive } => {
                let (lo, hi) = if positive { (NEVER, PAID) } else { (PAID, NEVER) };
                self.dd.mk(prop, terminal(lo), terminal(hi))?
            }
            Core::And(fs) => self.fold(true, &fs)?,
            Core::Or(fs) => self.fold(false, &fs)?,
            Core::Next { steps, arg, .. } => {
                let rest = self.formulas.next(true, steps - 1, arg);
                terminal(self.owe(rest)?)
            }
            Core::Until { .. } | Core::Release { .. } => match self.formulas.law(id) {
                None => terminal(NEVER),
                Some(law) => {
                    let mut rest = self.owe(law.rest)?;
                    if !law.weak && law.rest == id {
                        let put_off = self.debts.intern_clause(self.formulas, vec![Atom::PutOff(id)])?;
                        let put_off = self.debts.intern(self.formulas, vec![put_off])?;
                        rest = self.debts.combine(self.formulas, true, rest, put_off)?;
                    }
                    let inner = self.formula(law.inner)?;
                    let inner = self.combine(!law.conjunction, inner, terminal(rest))?;
                    let outer = self.formula(law.outer)?;
                    self.combine(law.conjunction, outer, inner)?
                }
            },
            Core::Yesterday { .. } => self.remembered(id)?,
            Core::Since { lhs, rhs } => {
                let before = self.remembered(id)?;
                let lhs = self.formula(lhs)?;
                let still = self.combine(true, lhs, before)?;
                let rhs = self.formula(rhs)?;
                self.combine(false, rhs, still)?
            }
            Core::Trigger { lhs, rhs } => {
                let before = self.remembered(id)?;
                let lhs = self.formula(lhs)?;
                let free = self.combine(false, lhs, before)?;
                let rhs = self.formula(rhs)?;
                self.combine(true, rhs, free)?
            }
        };
        let done = if lasts { &mut self.lasting } else { &mut self.passing };
        done.insert(id, after);
        Ok(after)
    }

    fn fold(&mut self, conjunction: bool, operands: &[FormulaId]) -> Result<Ref, BuildError> {
        let mut after = terminal(if conjunction { PAID } else { NEVER });
        for &operand in operands {
            let operand = self.formula(operand)?;
            after = self.combine(conjunction, operand, after)?;
        }
        Ok(after)
    }

    /// What a letter makes of the value that a past subformula had at the position before.
    fn remembered(&mut self, id: FormulaId) -> Result<Ref, BuildError> {
        let values = &self.memories[self.present as usize];
        match self.past_index.get(&id).and_then(|&i| values.get(i)) {
            Some(&debt) if debt != FORGOTTEN => self.debt(debt, terminal(PAID)),
            _ => Err(BuildError::internal("a past operator was not foreseen")),
        }
    }
}

fn join(set: &mut Vec<u64>, other: Option<&Rc<[u64]>>) {
    let other = other.map_or(&[][..], |o| o);
    set.resize(set.len().max(other.len()), 0);
    set.iter_mut().zip(other).for_each(|(word, more)| *word |= more);
}

/// Pairs terminals, numbered as they turn up. Pairs that begin with 0 are one: nothing pays for them.
struct Pairs {
    list: Vec<(u32, u32)>,
    numbers: HashMap<(u32, u32), u32, ahash::RandomState>,
}

impl Pairs {
    fn new() -> Pairs {
        Pairs { list: vec![(0, 0)], numbers: HashMap::with_hasher(hasher()) }
    }
}

impl BinaryOp for Pairs {
    const COMMUTES: bool = false;

    fn shortcut(&self, f: Ref, _: Ref) -> Option<Ref> {
        (f == terminal(0)).then_some(f)
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        let next = self.list.len() as u32;
        Ok(*self.numbers.entry((f, g)).or_insert_with(|| {
            self.list.push((f, g));
            next
        }))
    }
}

/// Joins diagrams one by one into diagrams of rows, numbered as they turn up.
struct Rows {
    list: Vec<Vec<DebtId>>,
    numbers: HashMap<(u32, DebtId), u32, ahash::RandomState>,
    /// Whether the column that is being joined is forgotten.
    forgotten: bool,
}

impl BinaryOp for Rows {
    const COMMUTES: bool = false;

    fn shortcut(&self, _: Ref, _: Ref) -> Option<Ref> {
        None
    }

    fn leaf(&mut self, row: u32, value: u32) -> Result<u32, BuildError> {
        let next = self.list.len() as u32;
        Ok(*self.numbers.entry((row, value)).or_insert_with(|| {
            let mut longer = self.list[row as usize].clone();
            longer.push(if self.forgotten { FORGOTTEN } else { value });
            self.list.push(longer);
            next
        }))
    }
}
