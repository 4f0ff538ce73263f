//! Formula to automaton.
//!
//! Boolean structure at the top (and below `X`) is compositional: the parts are translated on their own, minimised, and
//! combined smallest first, minimising after each product. A temporal formula is translated directly: a state is what is
//! still owed ([`crate::obligations`]), and one expansion law per operator says what a letter makes of it. Formulas that
//! look back carry, for each past subformula, what its value at the last position amounts to now; it is part of the state.
//!
//! Sources: the direct construction follows the idea of De Giacomo and Vardi's LTLf expansion over multi-terminal
//! diagrams (Duret-Lutz et al. 2025 describe the same idea); encodings closed under implication, bounded operators as
//! counted families and mixed past are this project's own.

use std::collections::{HashMap, HashSet};

use crate::{
    config::Limits,
    dd::{self, BinaryOp, Cache, Dd, Ref, hasher, terminal, value},
    error::BuildError,
    formula::{Core, FormulaId, Formulas},
    library::Library,
    minimize::{Joint, minimize},
    mtdfa::{ACCEPT, Mtdfa, REJECT, check_states, edge, sinks},
    obligations::{Claim, Obligations},
};

/// Operands whose automata stay below this many states, on the way too, are translated on their own.
const SMALL_ON_THE_WAY: usize = 1024;
/// The same for the result.
const SMALL: usize = 256;

/// Translates formulas of one arena into automata over one [`Dd`].
pub(crate) struct Translator<'a> {
    pub(crate) formulas: &'a mut Formulas,
    pub(crate) dd: &'a mut Dd,
    limits: Limits,
    /// States that any automaton on the way may have.
    cap: usize,
    done: HashMap<FormulaId, Mtdfa, ahash::RandomState>,
    /// Formulas whose automata are not small, or were not on the way.
    large: HashSet<FormulaId, ahash::RandomState>,
}

impl<'a> Translator<'a> {
    pub(crate) fn new(formulas: &'a mut Formulas, dd: &'a mut Dd, limits: Limits) -> Translator<'a> {
        Translator {
            formulas,
            dd,
            limits,
            cap: limits.max_states,
            done: HashMap::with_hasher(hasher()),
            large: HashSet::with_hasher(hasher()),
        }
    }

    /// The minimal automaton, if it is small.
    fn translate_small(&mut self, id: FormulaId) -> Result<Option<Mtdfa>, BuildError> {
        if self.large.contains(&id) {
            return Ok(None);
        }
        let cap = self.cap;
        self.cap = cap.min(SMALL_ON_THE_WAY);
        let result = self.translate(id);
        self.cap = cap;
        match result {
            Ok(automaton) if automaton.roots.len() <= SMALL => Ok(Some(automaton)),
            Err(error) if !error.is_state_limit() => Err(error),
            Ok(_) | Err(_) => {
                self.large.insert(id);
                Ok(None)
            }
        }
    }

    /// The minimal automaton of `id` on non-empty words.
    pub(crate) fn translate(&mut self, id: FormulaId) -> Result<Mtdfa, BuildError> {
        if let Some(done) = self.done.get(&id) {
            return Ok(done.clone());
        }
        let automaton = match self.formulas.core(id).clone() {
            Core::False => Mtdfa::constant(false),
            Core::True => Mtdfa::constant(true),
            _ if self.formulas.is_propositional(id) => {
                let mut unit = Unit::new(self, id)?;
                let root = unit.successor(id)?;
                Mtdfa::one_step(root)
            }
            Core::And(fs) => self.combine(true, &fs)?,
            Core::Or(fs) => self.combine(false, &fs)?,
            Core::Next { strong, steps, arg } if !self.formulas.has_past(arg) => {
                self.delay(strong, steps, arg)?
            }
            Core::Literal { .. }
            | Core::Next { .. }
            | Core::Until { .. }
            | Core::Release { .. }
            | Core::Yesterday { .. }
            | Core::Since { .. }
            | Core::Trigger { .. } => {
                let direct = Unit::new(self, id)?.run(id)?;
                minimize(self.dd, direct)?
            }
        };
        self.done.insert(id, automaton.clone());
        Ok(automaton)
    }

    /// `steps` letters of any kind, then `arg`.
    fn delay(&mut self, strong: bool, steps: u32, arg: FormulaId) -> Result<Mtdfa, BuildError> {
        let mut automaton = self.translate(arg)?;
        check_states(automaton.roots.len() + steps as usize, self.cap)?;
        for _ in 0..steps {
            automaton.roots.push(terminal(edge(automaton.initial, !strong)));
            automaton.initial = automaton.roots.len() as u32 - 1;
        }
        minimize(self.dd, automaton)
    }

    /// Conjunction or disjunction of at least two operands.
    fn combine(&mut self, conjunction: bool, operands: &[FormulaId]) -> Result<Mtdfa, BuildError> {
        let absorbing = !conjunction;
        let (propositional, temporal): (Vec<_>, Vec<_>) =
            operands.iter().partition(|&&id| self.formulas.is_propositional(id));
        let mut parts = temporal;
        if !propositional.is_empty() {
            parts.push(if conjunction {
                self.formulas.and(propositional)
            } else {
                self.formulas.or(propositional)
            });
        }
        let mut joint = Joint::new(conjunction);
        for part in parts {
            let automaton = self.translate(part)?;
            if automaton.as_constant() == Some(absorbing) {
                return Ok(automaton);
            }
            joint.add(self.dd, automaton);
        }
        joint.finish(self.dd, self.cap)
    }
}

/// How a formula is taken apart.
struct Plan {
    /// What can come to be owed as a formula: the formula itself, and what is below it down to the operands.
    owed: Vec<FormulaId>,
    /// Operands with automata of their own.
    operands: Vec<(FormulaId, Mtdfa)>,
    seen: HashSet<(FormulaId, bool), ahash::RandomState>,
}

impl Plan {
    /// An operand that does not look back and has a small automaton becomes part of the library; any other is taken
    /// apart further. What is propositional is owed only where something is asked of the next position (`next`);
    /// elsewhere the letter decides it.
    fn attach(
        &mut self,
        translator: &mut Translator<'_>,
        id: FormulaId,
        next: bool,
    ) -> Result<(), BuildError> {
        if translator.formulas.is_propositional(id) && !next {
            return Ok(());
        }
        if !self.seen.insert((id, next)) {
            return Ok(());
        }
        if !translator.formulas.has_past(id)
            && let Some(automaton) = translator.translate_small(id)?
        {
            self.operands.push((id, automaton));
            return Ok(());
        }
        if !matches!(translator.formulas.core(id), Core::And(_) | Core::Or(_)) {
            self.owed.push(id);
        }
        self.attach_below(translator, id, next)
    }

    fn attach_below(
        &mut self,
        translator: &mut Translator<'_>,
        id: FormulaId,
        next: bool,
    ) -> Result<(), BuildError> {
        if let Some(law) = translator.formulas.law(id) {
            // A bound counted down to nothing leaves the outer operand owed.
            self.attach(translator, law.outer, law.rest != id)?;
            return self.attach(translator, law.inner, false);
        }
        let next = match translator.formulas.core(id) {
            Core::And(_) | Core::Or(_) => next,
            Core::Next { .. } => true,
            _ => false,
        };
        for child in translator.formulas.children(id) {
            self.attach(translator, child, next)?;
        }
        Ok(())
    }
}

/// What is owed in each state: diagrams over obligations, numbered as they turn up.
struct Owed {
    list: Vec<Ref>,
    numbers: HashMap<Ref, u32, ahash::RandomState>,
}

impl Owed {
    /// Nothing can pay for state [`REJECT`], and nothing is owed in state [`ACCEPT`].
    fn new() -> Owed {
        let mut owed = Owed { list: Vec::new(), numbers: HashMap::with_hasher(hasher()) };
        for constant in [REJECT, ACCEPT] {
            owed.number(terminal(constant));
        }
        owed
    }

    fn number(&mut self, debt: Ref) -> u32 {
        let next = self.list.len() as u32;
        *self.numbers.entry(debt).or_insert_with(|| {
            self.list.push(debt);
            next
        })
    }
}

/// A past subformula: a part of the state says what it amounts to at the current position.
struct Past {
    /// Its value at a position is the value of this at the position before.
    definition: FormulaId,
    /// Its value at position 0.
    initially: bool,
}

/// The direct translation of one formula.
struct Unit<'t, 'a> {
    translator: &'t mut Translator<'a>,
    obligations: Obligations,
    owed: Owed,
    by_formula: HashMap<FormulaId, Ref, ahash::RandomState>,
    by_owed: HashMap<Ref, Ref, ahash::RandomState>,
    /// Languages of the operands, and what a letter makes of each.
    library: Library,
    by_language: Vec<Option<Ref>>,
    and: Cache,
    or: Cache,
    past: Vec<Past>,
    past_index: HashMap<FormulaId, usize, ahash::RandomState>,
    /// Numbers in `owed` of what each past subformula amounts to now.
    memory: Vec<u32>,
}

impl<'t, 'a> Unit<'t, 'a> {
    fn new(translator: &'t mut Translator<'a>, id: FormulaId) -> Result<Self, BuildError> {
        let mut plan = Plan { owed: vec![id], operands: Vec::new(), seen: HashSet::with_hasher(hasher()) };
        plan.attach_below(translator, id, false)?;
        let library = Library::new(translator.dd, plan.operands)?;
        let conjunctive = translator.formulas.law(id).is_some_and(|law| law.conjunction);
        let related = library.related(translator.dd, conjunctive);
        let kernel = translator.dd.sibling();
        let max_states = translator.limits.max_states;
        let mut obligations =
            Obligations::new(translator.formulas, conjunctive, &plan.owed, &related, kernel, max_states)?;
        for (&operand, &language) in &library.of {
            obligations.set_language(operand, language);
        }
        Ok(Unit {
            by_language: vec![None; library.roots.len()],
            translator,
            obligations,
            owed: Owed::new(),
            by_formula: HashMap::with_hasher(hasher()),
            by_owed: HashMap::with_hasher(hasher()),
            library,
            and: Cache::new(),
            or: Cache::new(),
            past: Vec::new(),
            past_index: HashMap::with_hasher(hasher()),
            memory: Vec::new(),
        })
    }

    fn run(mut self, id: FormulaId) -> Result<Mtdfa, BuildError> {
        let start = self.obligations.encode(self.translator.formulas, id)?;
        let start = self.owed.number(start);
        if self.translator.formulas.has_past(id) {
            self.run_with_past(id, start)
        } else {
            self.run_forward(start)
        }
    }

    fn run_forward(mut self, initial: u32) -> Result<Mtdfa, BuildError> {
        let mut roots = sinks();
        let mut reached = initial;
        while roots.len() <= reached as usize {
            check_states(self.owed.list.len(), self.translator.cap)?;
            if roots.len().is_multiple_of(1024) {
                self.translator.dd.check_time()?;
            }
            let owed = self.owed.list[roots.len()];
            let root = self.successor_owed(owed)?;
            roots.push(root);
            reached = self.owed.list.len() as u32 - 1;
        }
        Ok(Mtdfa { roots, initial })
    }

    /// The edge to what `id` asks of the rest.
    fn goto(&mut self, id: FormulaId, accepting: bool) -> Result<Ref, BuildError> {
        let owed = self.obligations.encode(self.translator.formulas, id)?;
        Ok(terminal(edge(self.owed.number(owed), accepting)))
    }

    fn combine(&mut self, conjunction: bool, f: Ref, g: Ref) -> Result<Ref, BuildError> {
        let cache = if conjunction { &mut self.and } else { &mut self.or };
        let mut op = Meet { conjunction, obligations: &mut self.obligations, owed: &mut self.owed };
        self.translator.dd.apply(&mut op, cache, f, g)
    }

    /// What one letter makes of a Boolean combination of obligations. None occurs negated, so the low branch implies the
    /// high one.
    fn successor_owed(&mut self, owed: Ref) -> Result<Ref, BuildError> {
        if let Some(v) = value(owed) {
            return Ok(terminal(edge(v, v == ACCEPT)));
        }
        if let Some(&r) = self.by_owed.get(&owed) {
            return Ok(r);
        }
        let node = self.obligations.node(owed);
        let lo = self.successor_owed(node.lo)?;
        let hi = self.successor_owed(node.hi)?;
        let now = match self.obligations.claim(self.translator.formulas, node.var) {
            Claim::Formula(id) => self.successor(id)?,
            Claim::Language(language) => self.successor_language(language)?,
        };
        let with = self.combine(true, now, hi)?;
        let r = self.combine(false, with, lo)?;
        self.by_owed.insert(owed, r);
        Ok(r)
    }

    /// What one letter makes of a language of the library.
    fn successor_language(&mut self, language: u32) -> Result<Ref, BuildError> {
        if let Some(r) = self.by_language[language as usize] {
            return Ok(r);
        }
        let (obligations, owed) = (&self.obligations, &mut self.owed);
        let root = self.library.roots[language as usize];
        let r = self.translator.dd.map(&mut dd::memo(), root, &mut |e| {
            Ok(edge(owed.number(obligations.language(e >> 1)), e & 1 != 0))
        })?;
        self.by_language[language as usize] = Some(r);
        Ok(r)
    }

    /// The expansion laws: for each letter, what the rest of the trace must satisfy, and whether it may be empty.
    fn successor(&mut self, id: FormulaId) -> Result<Ref, BuildError> {
        if let Some(&r) = self.by_formula.get(&id) {
            return Ok(r);
        }
        if let Some(&language) = self.library.of.get(&id) {
            return self.successor_language(language);
        }
        let r = match self.translator.formulas.core(id).clone() {
            Core::False => terminal(edge(REJECT, false)),
            Core::True => terminal(edge(ACCEPT, true)),
            Core::Literal { prop, positive } => {
                let (no, yes) = (terminal(edge(REJECT, false)), terminal(edge(ACCEPT, true)));
                let (lo, hi) = if positive { (no, yes) } else { (yes, no) };
                self.translator.dd.mk(prop, lo, hi)?
            }
            Core::And(fs) => self.fold(true, &fs)?,
            Core::Or(fs) => self.fold(false, &fs)?,
            Core::Next { strong, steps, arg } => {
                let rest = self.translator.formulas.next(strong, steps - 1, arg);
                self.goto(rest, !strong)?
            }
            Core::Until { .. } | Core::Release { .. } => match self.translator.formulas.law(id) {
                None => terminal(edge(REJECT, false)),
                Some(law) => {
                    let later = self.goto(law.rest, law.weak)?;
                    let now = self.successor(law.inner)?;
                    let inner = self.combine(!law.conjunction, now, later)?;
                    let now = self.successor(law.outer)?;
                    self.combine(law.conjunction, now, inner)?
                }
            },
            Core::Yesterday { .. } => self.remembered(id)?,
            Core::Since { lhs, rhs } => {
                let before = self.remembered(id)?;
                let now = self.successor(lhs)?;
                let still = self.combine(true, now, before)?;
                let now = self.successor(rhs)?;
                self.combine(false, now, still)?
            }
            Core::Trigger { lhs, rhs } => {
                let before = self.remembered(id)?;
                let now = self.successor(lhs)?;
                let free = self.combine(false, now, before)?;
                let now = self.successor(rhs)?;
                self.combine(true, now, free)?
            }
        };
        self.by_formula.insert(id, r);
        Ok(r)
    }

    /// Long operand lists mostly come with the last variable first: joined in that order, each step is one node.
    fn fold(&mut self, conjunction: bool, operands: &[FormulaId]) -> Result<Ref, BuildError> {
        let mut r = if conjunction { terminal(edge(ACCEPT, true)) } else { terminal(edge(REJECT, false)) };
        for &f in operands {
            let f = self.successor(f)?;
            r = self.combine(conjunction, f, r)?;
        }
        Ok(r)
    }

    /// What a letter makes of the value that the past subformula `id` had at the position before.
    fn remembered(&mut self, id: FormulaId) -> Result<Ref, BuildError> {
        let remembered = self.past_index.get(&id).and_then(|&i| self.memory.get(i));
        let &number = remembered.ok_or_else(|| BuildError::internal("a past operator was not foreseen"))?;
        self.successor_owed(self.owed.list[number as usize])
    }

    /// Finds the past subformulas, inner ones first.
    fn collect_past(&mut self, id: FormulaId, seen: &mut HashSet<FormulaId, ahash::RandomState>) {
        if !self.translator.formulas.has_past(id) || !seen.insert(id) {
            return;
        }
        for child in self.translator.formulas.children(id) {
            self.collect_past(child, seen);
        }
        let past = match *self.translator.formulas.core(id) {
            Core::Yesterday { strong, arg } => Past { definition: arg, initially: !strong },
            Core::Since { .. } => Past { definition: id, initially: false },
            Core::Trigger { .. } => Past { definition: id, initially: true },
            _ => return,
        };
        self.past_index.insert(id, self.past.len());
        self.past.push(past);
    }

    /// Which past subformulas can still be asked for, as a bit set, for a diagram over obligations.
    fn asked_for(&mut self, asked: &mut Asked, owed: Ref) -> Vec<u64> {
        if let Some(done) = asked.by_owed.get(&owed) {
            return done.clone();
        }
        let mut set = vec![0u64; self.past.len().div_ceil(64)];
        if value(owed).is_none() {
            let node = self.obligations.node(owed);
            let mut parts = vec![self.asked_for(asked, node.lo), self.asked_for(asked, node.hi)];
            if let Claim::Formula(id) = self.obligations.claim(self.translator.formulas, node.var) {
                parts.push(self.asked_in(asked, id));
            }
            for part in parts {
                set.iter_mut().zip(part).for_each(|(s, p)| *s |= p);
            }
        }
        asked.by_owed.insert(owed, set.clone());
        set
    }

    fn asked_in(&mut self, asked: &mut Asked, id: FormulaId) -> Vec<u64> {
        if let Some(done) = asked.by_formula.get(&id) {
            return done.clone();
        }
        let mut set = vec![0u64; self.past.len().div_ceil(64)];
        if self.translator.formulas.has_past(id) {
            for child in self.translator.formulas.children(id) {
                let part = self.asked_in(asked, child);
                set.iter_mut().zip(part).for_each(|(s, p)| *s |= p);
            }
            if let Some(&i) = self.past_index.get(&id) {
                set[i / 64] |= 1 << (i % 64);
            }
        }
        asked.by_formula.insert(id, set.clone());
        set
    }

    fn run_with_past(mut self, id: FormulaId, start: u32) -> Result<Mtdfa, BuildError> {
        self.collect_past(id, &mut HashSet::with_hasher(hasher()));
        let mut states = PastStates::new();
        let mut asked =
            Asked { by_owed: HashMap::with_hasher(hasher()), by_formula: HashMap::with_hasher(hasher()) };
        let first = self.past.iter().map(|p| if p.initially { ACCEPT } else { REJECT }).collect();
        let initial = self.past_state(&mut states, &mut asked, start, first);
        let mut roots = sinks();
        while let Some((owed, memory)) = states.list.get(roots.len() - 2).cloned() {
            check_states(states.list.len(), self.translator.cap)?;
            if roots.len().is_multiple_of(1024) {
                self.translator.dd.check_time()?;
            }
            self.memory = memory;
            self.by_formula.clear();
            self.by_owed.clear();
            let owed = self.owed.list[owed as usize];
            let mut joint = self.successor_owed(owed)?;
            // Only what the present state can still ask for is worth following.
            let wanted = self.asked_for(&mut asked, owed);
            let mut tuples = Tuples::new();
            for i in 0..self.past.len() {
                let then = if wanted[i / 64] >> (i % 64) & 1 != 0 {
                    self.successor(self.past[i].definition)?
                } else {
                    terminal(edge(REJECT, false))
                };
                tuples.level = i;
                let mut cache = Cache::new();
                joint = self.translator.dd.apply(&mut tuples, &mut cache, joint, then)?;
            }
            let mut numbers: HashMap<u32, u32, ahash::RandomState> = HashMap::with_hasher(hasher());
            let mut leaves = Vec::new();
            self.translator.dd.leaves(&mut dd::Visited::default(), joint, &mut leaves);
            for leaf in leaves {
                let (main, memory) = tuples.unpack(leaf);
                let state = self.past_state(&mut states, &mut asked, main >> 1, memory);
                numbers.insert(leaf, state << 1 | main & 1);
            }
            let root = self.translator.dd.map(&mut dd::memo(), joint, &mut |leaf| Ok(numbers[&leaf]))?;
            roots.push(root);
        }
        Ok(Mtdfa { roots, initial })
    }

    /// The state with that debt and memory; memory that nothing asks for any more is forgotten.
    fn past_state(
        &mut self,
        states: &mut PastStates,
        asked: &mut Asked,
        owed: u32,
        mut memory: Vec<u32>,
    ) -> u32 {
        if owed == REJECT || owed == ACCEPT {
            return owed;
        }
        let wanted = self.asked_for(asked, self.owed.list[owed as usize]);
        for (i, m) in memory.iter_mut().enumerate() {
            if wanted[i / 64] >> (i % 64) & 1 == 0 {
                *m = REJECT;
            }
        }
        let next = states.list.len() as u32 + 2;
        *states.numbers.entry((owed, memory)).or_insert_with_key(|key| {
            states.list.push(key.clone());
            next
        })
    }
}

struct Asked {
    by_owed: HashMap<Ref, Vec<u64>, ahash::RandomState>,
    by_formula: HashMap<FormulaId, Vec<u64>, ahash::RandomState>,
}

/// States of a formula that looks back: what is owed, and what each past subformula amounts to.
struct PastStates {
    list: Vec<(u32, Vec<u32>)>,
    numbers: HashMap<(u32, Vec<u32>), u32, ahash::RandomState>,
}

impl PastStates {
    fn new() -> PastStates {
        PastStates { list: Vec::new(), numbers: HashMap::with_hasher(hasher()) }
    }
}

/// Joins diagrams one by one into diagrams of tuples.
struct Tuples {
    level: usize,
    /// Per level the pairs (tuple of the level before, new part), numbered.
    pairs: Vec<(u32, u32)>,
    numbers: HashMap<(usize, u32, u32), u32, ahash::RandomState>,
}

impl Tuples {
    fn new() -> Tuples {
        Tuples { level: 0, pairs: Vec::new(), numbers: HashMap::with_hasher(hasher()) }
    }

    /// The edge of the formula itself, and the states of its past subformulas.
    fn unpack(&self, leaf: u32) -> (u32, Vec<u32>) {
        let mut memory = vec![0; self.level + 1];
        let mut at = leaf;
        for slot in memory.iter_mut().rev() {
            let (before, part) = self.pairs[at as usize];
            *slot = part >> 1;
            at = before;
        }
        (at, memory)
    }
}

impl BinaryOp for Tuples {
    const COMMUTES: bool = false;

    fn shortcut(&self, _: Ref, _: Ref) -> Option<Ref> {
        None
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        let next = self.pairs.len() as u32;
        // Whether a part may stop here is of no use: a remembered value is asked for at a later position only.
        let key = (self.level, f, g & !1);
        Ok(*self.numbers.entry(key).or_insert_with(|| {
            self.pairs.push((f, g & !1));
            next
        }))
    }
}

/// Conjunction or disjunction of edges: of what they owe, and of whether they accept.
struct Meet<'m> {
    conjunction: bool,
    obligations: &'m mut Obligations,
    owed: &'m mut Owed,
}

impl BinaryOp for Meet<'_> {
    const COMMUTES: bool = true;

    fn shortcut(&self, f: Ref, g: Ref) -> Option<Ref> {
        let (yes, no) = (terminal(edge(ACCEPT, true)), terminal(edge(REJECT, false)));
        let (neutral, absorbing) = if self.conjunction { (yes, no) } else { (no, yes) };
        match (f, g) {
            _ if f == g => Some(f),
            _ if f == absorbing || g == absorbing => Some(absorbing),
            _ if f == neutral => Some(g),
            _ if g == neutral => Some(f),
            _ => None,
        }
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        let (p, q) = (self.owed.list[(f >> 1) as usize], self.owed.list[(g >> 1) as usize]);
        let (owed, accepting) = if self.conjunction {
            (self.obligations.and(p, q)?, f & g & 1 != 0)
        } else {
            (self.obligations.or(p, q)?, (f | g) & 1 != 0)
        };
        Ok(edge(self.owed.number(owed), accepting))
    }
}
