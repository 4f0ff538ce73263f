//! Infinite semantics: verdicts that no infinite continuation can change, at the earliest event.
//!
//! A rule is violated when the trace so far is no prefix of any infinite trace that satisfies it, and satisfied when it
//! is none of any that satisfies its negation. The prefixes of the infinite traces of a formula are a language of finite
//! words; its automaton comes from a subset construction over clauses of obligations ([`debts`], [`laws`]), and whether a
//! clause can be paid for is a question of emptiness ([`emptiness`]). Two such automata, for the formula and for its
//! negation, beside the automaton of the finite reading, which tells holding from pending, give the machine.
//!
//! Sources: three verdicts and the search of emptiness per state after Bauer, Leucker and Schallhart (2011), the fourth
//! by the finite reading as in their RV-LTL; the search itself after Couvreur (1999); untils that are put off as marks on
//! transitions are the usual generalised Büchi tableau. Formulas that look back are part of it by a memory beside the
//! clauses, as in [`crate::translate`].

mod debts;
mod emptiness;
mod laws;
mod safety;

use std::collections::{HashMap, HashSet};

use tracelaw_runtime::Verdict;

use crate::{
    config::Limits,
    dd::{BinaryOp, Cache, Dd, Ref, Visited, hasher, memo, terminal},
    error::BuildError,
    formula::{Core, FormulaId, Formulas},
    machine::Machine,
    minimize::{Joint, minimize},
    mtdfa::{ACCEPT, Mtdfa, REJECT, check_states, edge, sinks},
};
use debts::{DebtId, NEVER, PAID};
use emptiness::Emptiness;
use laws::{Laws, MemoryId};
use safety::{Ground, is_safe, without_dead_ends};

/// The machine of a formula under infinite semantics, as small as it can be, settled, with its verdicts. `finite` is the
/// automaton of the finite reading, `possible` are the letters that can come.
///
/// # Complexity
/// Doubly exponential in the formula at worst. Each clause is expanded once for all questions of emptiness.
///
/// # Errors
/// When a limit is reached: clauses and states count as states, clauses compared as nodes.
pub(crate) fn machine(
    formulas: &mut Formulas,
    dd: &mut Dd,
    limits: Limits,
    root: FormulaId,
    (finite, accepts_empty): (&Mtdfa, bool),
    possible: Ref,
) -> Result<Machine, BuildError> {
    let mut strong = Strong { formulas, done: HashMap::with_hasher(hasher()) };
    let negation = strong.formulas.not(root);
    let (root, negation) = (strong.of(root), strong.of(negation));
    let mut builder = Builder { formulas, dd, limits };
    let satisfiable = builder.prefixes(root, possible, MAX_WAYS)?;
    let refutable = builder.prefixes(negation, possible, MAX_WAYS)?;
    let mut machine = join(dd, limits, &satisfiable, &refutable, finite, accepts_empty)?;
    machine.reduce(dd, terminal(1))?;
    Ok(machine)
}

/// A conjunction of disjunctions becomes a disjunction of at most so many conjunctions.
const MAX_WAYS: usize = 32;

/// Makes every next strong: on infinite traces there is no other.
struct Strong<'f> {
    formulas: &'f mut Formulas,
    done: HashMap<FormulaId, FormulaId, ahash::RandomState>,
}

impl Strong<'_> {
    fn of(&mut self, id: FormulaId) -> FormulaId {
        if self.formulas.is_propositional(id) {
            return id;
        }
        if let Some(&done) = self.done.get(&id) {
            return done;
        }
        let strong = match self.formulas.core(id).clone() {
            Core::False | Core::True | Core::Literal { .. } => id,
            Core::And(fs) => {
                let fs: Vec<_> = fs.iter().map(|&f| self.of(f)).collect();
                self.formulas.and(fs)
            }
            Core::Or(fs) => {
                let fs: Vec<_> = fs.iter().map(|&f| self.of(f)).collect();
                self.formulas.or(fs)
            }
            Core::Next { strong: _, steps, arg } => {
                let arg = self.of(arg);
                self.formulas.next(true, steps, arg)
            }
            Core::Until { last, lhs, rhs } => {
                let (lhs, rhs) = (self.of(lhs), self.of(rhs));
                self.formulas.until(last, lhs, rhs)
            }
            Core::Release { last, lhs, rhs } => {
                let (lhs, rhs) = (self.of(lhs), self.of(rhs));
                self.formulas.release(last, lhs, rhs)
            }
            Core::Yesterday { strong, arg } => {
                let arg = self.of(arg);
                self.formulas.yesterday(strong, arg)
            }
            Core::Since { lhs, rhs } => {
                let (lhs, rhs) = (self.of(lhs), self.of(rhs));
                self.formulas.since(lhs, rhs)
            }
            Core::Trigger { lhs, rhs } => {
                let (lhs, rhs) = (self.of(lhs), self.of(rhs));
                self.formulas.trigger(lhs, rhs)
            }
        };
        self.done.insert(id, strong);
        strong
    }
}

/// The finite prefixes of the infinite traces that satisfy a formula, as an automaton whose accepting edges are those
/// after which some infinite trace over possible letters is left.
struct Prefixes {
    automaton: Mtdfa,
    /// The same for the empty prefix.
    alive: bool,
}

/// Finds the prefixes of formulas in which every next is strong.
struct Builder<'a> {
    formulas: &'a mut Formulas,
    dd: &'a mut Dd,
    limits: Limits,
}

impl Builder<'_> {
    /// The prefixes of one formula. `ways` says how far conjunctions may be distributed over disjunctions.
    fn prefixes(&mut self, root: FormulaId, possible: Ref, ways: usize) -> Result<Prefixes, BuildError> {
        let operands = match self.formulas.core(root) {
            _ if self.formulas.is_propositional(root) => vec![root],
            Core::Or(operands) => {
                let operands = operands.to_vec();
                return self.any(operands, possible, ways);
            }
            Core::And(operands) => operands.to_vec(),
            _ => vec![root],
        };
        // Where all letters are possible, what shares no proposition goes its own way.
        if possible == terminal(1) && operands.len() > 1 {
            let groups = self.groups(&operands);
            if groups.len() > 1 {
                let automaton = self.all(groups, ways)?;
                let alive = automaton.initial != REJECT;
                return Ok(Prefixes { automaton, alive });
            }
        }
        for (i, &operand) in operands.iter().enumerate() {
            if let Core::Or(choices) = self.formulas.core(operand)
                && !self.formulas.is_propositional(operand)
                && operands.len() > 1
                && choices.len() <= ways
            {
                let (choices, ways) = (choices.to_vec(), ways / choices.len());
                let others = self.formulas.and(operands.iter().copied().filter(|&o| o != operands[i]));
                let with_others = |&choice: &FormulaId| self.formulas.and([others, choice]);
                let choices = choices.iter().map(with_others).collect();
                return self.any(choices, possible, ways);
            }
        }
        let (safe, others): (Vec<_>, Vec<_>) =
            operands.into_iter().partition(|&id| is_safe(self.formulas, id));
        let mut beside = match others.is_empty() && safe.len() == 1 {
            true => return self.beside(safe[0], Mtdfa::constant(true), possible),
            false => self.all(safe, ways)?,
        };
        // Each of the others on its own already rules out some ways through what the safe ones allow.
        if others.len() > 1 {
            for &other in &others {
                beside = self.beside(other, beside, terminal(1))?.automaton;
            }
        }
        let others = self.formulas.and(others);
        self.beside(others, beside, possible)
    }

    /// A prefix of a trace of one of several formulas is one of their disjunction, and the other way round.
    fn any(&mut self, formulas: Vec<FormulaId>, possible: Ref, ways: usize) -> Result<Prefixes, BuildError> {
        let mut parts = Joint::new(false);
        let mut alive = false;
        for formula in formulas {
            let part = self.prefixes(formula, possible, ways)?;
            if part.automaton.initial == ACCEPT {
                return Ok(part);
            }
            alive |= part.alive;
            parts.add(self.dd, part.automaton);
        }
        Ok(Prefixes { automaton: parts.finish(self.dd, self.limits.max_states)?, alive })
    }

    /// The prefixes of the infinite traces that satisfy several formulas that are safe, or share no proposition.
    fn all(&mut self, formulas: Vec<FormulaId>, ways: usize) -> Result<Mtdfa, BuildError> {
        let mut parts = Joint::new(true);
        for formula in formulas {
            let part = self.prefixes(formula, terminal(1), ways)?.automaton;
            if part.initial == REJECT {
                return Ok(part);
            }
            parts.add(self.dd, part);
        }
        let product = parts.finish(self.dd, self.limits.max_states)?;
        without_dead_ends(self.dd, product)
    }

    /// Conjunctions of the operands that share propositions.
    fn groups(&mut self, operands: &[FormulaId]) -> Vec<FormulaId> {
        let mut groups: Vec<(HashSet<u32, ahash::RandomState>, Vec<FormulaId>)> = Vec::new();
        for &operand in operands {
            let (mut props, mut members) = (propositions(self.formulas, operand), vec![operand]);
            groups.retain_mut(|group| {
                let apart = group.0.is_disjoint(&props);
                if !apart {
                    props.extend(&group.0);
                    members.append(&mut group.1);
                }
                apart
            });
            groups.push((props, members));
        }
        groups.into_iter().map(|(_, members)| self.formulas.and(members)).collect()
    }

    /// The prefixes of the infinite traces that satisfy a formula and go an infinite way through `beside`.
    fn beside(&mut self, root: FormulaId, beside: Mtdfa, possible: Ref) -> Result<Prefixes, BuildError> {
        let max_states = self.limits.max_states;
        let ground = Ground::new(self.dd, &beside, terminal(1))?;
        let likely = match possible == terminal(1) {
            true => None,
            false => Some(Emptiness::new(Ground::new(self.dd, &beside, possible)?, max_states)),
        };
        let letters = ground.letters.clone();
        let mut subsets = Subsets {
            laws: Laws::new(self.formulas, self.dd, self.limits),
            payable: Emptiness::new(ground, max_states),
            likely,
            beside,
            list: Vec::new(),
            numbers: HashMap::with_hasher(hasher()),
        };
        let (debt, memory) = subsets.laws.start(root)?;
        let start = subsets.edge(debt, memory, subsets.beside.initial)?;
        let mut roots = sinks();
        while let Some(&(debt, memory, state)) = subsets.list.get(roots.len() - 2) {
            check_states(subsets.list.len(), max_states)?;
            let (letters, beside) = (letters[state as usize], subsets.beside.roots[state as usize]);
            let after = subsets.laws.after(debt, memory, letters, beside)?;
            let mut leaves = Vec::new();
            subsets.laws.dd.leaves(&mut Visited::default(), after, &mut leaves);
            let mut edges: HashMap<u32, u32, ahash::RandomState> = HashMap::with_hasher(hasher());
            for leaf in leaves {
                let (debt, memory, edge) = subsets.laws.target(leaf);
                edges.insert(leaf, subsets.edge(debt, memory, edge >> 1)?);
            }
            roots.push(subsets.laws.dd.map(&mut memo(), after, &mut |leaf| Ok(edges[&leaf]))?);
        }
        let automaton = minimize(self.dd, Mtdfa { roots, initial: start >> 1 })?;
        Ok(Prefixes { automaton, alive: start & 1 != 0 })
    }
}

/// The propositions of a formula.
fn propositions(formulas: &Formulas, id: FormulaId) -> HashSet<u32, ahash::RandomState> {
    let mut props = HashSet::with_hasher(hasher());
    for id in formulas.below(id) {
        if let Core::Literal { prop, .. } = *formulas.core(id) {
            props.insert(prop);
        }
    }
    props
}

/// The subset construction: a state is a debt, that is a set of clauses, with a memory and a state beside.
struct Subsets<'a> {
    laws: Laws<'a>,
    /// Emptiness over all letters, for leaving clauses out. After a letter that cannot come, a clause may yet be paid
    /// for: `repair` asks about such letters too.
    payable: Emptiness,
    /// Emptiness over the possible letters, where these are not all.
    likely: Option<Emptiness>,
    /// What safe formulas ask.
    beside: Mtdfa,
    list: Vec<(DebtId, MemoryId, u32)>,
    numbers: HashMap<(DebtId, MemoryId, u32), u32, ahash::RandomState>,
}

impl Subsets<'_> {
    /// The edge to the state with that debt, which may say what was put off, and a memory that may hold too much.
    fn edge(&mut self, debt: DebtId, memory: MemoryId, beside: u32) -> Result<u32, BuildError> {
        let debt = self.laws.debts.strip(self.laws.formulas, debt)?;
        let mut clauses = Vec::new();
        let mut alive = false;
        for &clause in self.laws.debts.clauses(debt).iter() {
            let alone = self.laws.debts.intern(self.laws.formulas, vec![clause])?;
            let state = (clause, self.laws.remember(memory, alone), beside);
            if self.payable.is_alive(&mut self.laws, &self.beside, state)? {
                clauses.push(clause);
                alive = alive
                    || match &mut self.likely {
                        None => true,
                        Some(likely) => likely.is_alive(&mut self.laws, &self.beside, state)?,
                    };
            }
        }
        let debt = self.laws.debts.intern(self.laws.formulas, clauses)?;
        let state = match debt {
            NEVER => REJECT,
            PAID if beside == ACCEPT => ACCEPT,
            _ => {
                let key = (debt, self.laws.remember(memory, debt), beside);
                let next = self.list.len() as u32 + 2;
                *self.numbers.entry(key).or_insert_with(|| {
                    self.list.push(key);
                    next
                })
            }
        };
        Ok(edge(state, alive))
    }
}

/// The state of the machine that is violated, and the one that is satisfied.
const VIOLATED: u32 = 0;
const SATISFIED: u32 = 1;

/// The machine: a state is decided, or a state of each of the three automata and whether the finite reading accepts.
fn join(
    dd: &mut Dd,
    limits: Limits,
    satisfiable: &Prefixes,
    refutable: &Prefixes,
    finite: &Mtdfa,
    accepts_empty: bool,
) -> Result<Machine, BuildError> {
    let mut open = Numbers::new(&|p, q| match (p & 1, q & 1) {
        (0, _) => Err(VIOLATED),
        (_, 0) => Err(SATISFIED),
        _ => Ok((p >> 1, q >> 1)),
    });
    let mut states = Numbers::new(&|open, edge| if open <= SATISFIED { Err(open) } else { Ok((open, edge)) });
    // The initial state has edges even if it is decided: what is violated from the start can be repaired by a letter
    // that cannot come.
    let both = open.number((satisfiable.automaton.initial, refutable.automaton.initial));
    let initial = states.number((both, edge(finite.initial, accepts_empty)));
    let mut roots = vec![terminal(VIOLATED), terminal(SATISFIED)];
    let mut verdicts = vec![Verdict::Violated, Verdict::Satisfied];
    let (mut open_cache, mut state_cache) = (Cache::new(), Cache::new());
    while let Some(&(both, edge)) = states.list.get(roots.len() - 2) {
        check_states(states.list.len(), limits.max_states)?;
        dd.check_time()?;
        let (p, q) = open.list[both as usize - 2];
        let (p, q) = (satisfiable.automaton.roots[p as usize], refutable.automaton.roots[q as usize]);
        let decided = dd.apply(&mut open, &mut open_cache, p, q)?;
        let finite_root = finite.roots[(edge >> 1) as usize];
        roots.push(dd.apply(&mut states, &mut state_cache, decided, finite_root)?);
        verdicts.push(if edge & 1 != 0 { Verdict::Holding } else { Verdict::Pending });
    }
    if !satisfiable.alive {
        verdicts[initial as usize] = Verdict::Violated;
    } else if !refutable.alive {
        verdicts[initial as usize] = Verdict::Satisfied;
    }
    // Terminals are states so far; no edge is a breach.
    let edges = (0..roots.len() as u32).map(|state| state << 1).collect();
    let mut machine = Machine { roots, edges, verdicts, initial };
    machine.settle(dd)?;
    Ok(machine)
}

/// Numbers pairs of terminals as they turn up, from 2 on; what is decided has its number already.
struct Numbers<'f> {
    list: Vec<(u32, u32)>,
    numbers: HashMap<(u32, u32), u32, ahash::RandomState>,
    pair: &'f dyn Fn(u32, u32) -> Result<(u32, u32), u32>,
}

impl<'f> Numbers<'f> {
    fn new(pair: &'f dyn Fn(u32, u32) -> Result<(u32, u32), u32>) -> Numbers<'f> {
        Numbers { list: Vec::new(), numbers: HashMap::with_hasher(hasher()), pair }
    }

    fn number(&mut self, pair: (u32, u32)) -> u32 {
        let next = self.list.len() as u32 + 2;
        *self.numbers.entry(pair).or_insert_with(|| {
            self.list.push(pair);
            next
        })
    }
}

impl BinaryOp for Numbers<'_> {
    const COMMUTES: bool = false;

    fn shortcut(&self, _: Ref, _: Ref) -> Option<Ref> {
        None
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        Ok((self.pair)(f, g).map_or_else(|decided| decided, |pair| self.number(pair)))
    }
}
