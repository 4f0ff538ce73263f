//! The best progression that we can make.

use std::collections::HashMap;

use tracelaw_runtime::{Letter, Verdict};

use super::ProgressError;
use crate::{
    config::Semantics,
    dd::hasher,
    desugar::{self, Names, flip},
    error::Kind,
    formula::{Core, FALSE, FormulaId, Formulas, TRUE},
    syntax::{Ast, Binary, Bounds, Expr, Unary},
};

/// A formula and what is left of it, hash-consed, in negation normal form, conjunctions and disjunctions as sorted sets;
/// what a letter leaves of a state is computed once.
///
/// What is left is kept as a formula *at the last event read*: a Boolean combination of nexts, which still says of each
/// whether it is a strong one, so that it also answers for a session that ends here. For each subformula that looks
/// back the state holds what its value at the last event amounts to.
///
/// Simplifications beyond those of the arena: absorption (`f & (f | g) = f`), siblings as context (`f | (g & (f | h))` =
/// `f | (g & h)`), and deadlines (`F[<=2] f & F[<=5] f = F[<=2] f`).
///
/// # Complexity
/// Of a step: one look-up if the same state has met the same letter before, else O(nodes of what is left) operations
/// on sets. No recursion but over the formula itself. A copy of [`Fast::state`] is a snapshot.
#[derive(Clone)]
pub struct Fast {
    formulas: Formulas,
    vocabulary: Vec<String>,
    /// Propositions of the formula.
    props: Vec<u32>,
    /// Subformulas that look back, inner ones first.
    past: Vec<FormulaId>,
    states: Vec<State>,
    numbers: HashMap<State, u32, ahash::RandomState>,
    memo: HashMap<(u32, Key), u32, ahash::RandomState>,
    state: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// What is left.
    left: FormulaId,
    /// What the past subformulas amounted to at the last event.
    memory: Box<[FormulaId]>,
}

/// A letter, seen through the formula's propositions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Narrow(u64),
    Wide(Box<[u64]>),
}

/// The state before any event.
const INITIAL: u32 = 0;

impl std::fmt::Debug for Fast {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fast").field("state", &self.state).field("states", &self.states.len()).finish()
    }
}

impl Fast {
    /// Takes a formula over a vocabulary.
    ///
    /// # Errors
    /// When it names a proposition that is not in the vocabulary.
    pub fn new(formula: &Ast, vocabulary: &[String]) -> Result<Fast, ProgressError> {
        let names = Names::new(vocabulary);
        let mut formulas = Formulas::new();
        let root = desugar::desugar(&mut formulas, &names, formula).map_err(|e| match e.into_kind() {
            Kind::Unknown { name } => ProgressError::Unknown { name },
            // Nothing else stands in the way of a tree that the parser lets through.
            _ => ProgressError::Size { limit: 0 },
        })?;
        let props = names.variables(formula).into_iter().map(|v| flip(v, vocabulary.len())).collect();
        let mut past = Vec::new();
        collect_past(&formulas, root, &mut std::collections::HashSet::new(), &mut past);
        let memory = past.iter().map(|&p| if initially(&formulas, p) { TRUE } else { FALSE }).collect();
        // Before any event the formula is all that is left, and the empty trace satisfies it or not.
        let left = formulas.next(!desugar::holds_on_empty(formula), 1, root);
        let initial = State { left, memory };
        let mut numbers = HashMap::with_hasher(hasher());
        numbers.insert(initial.clone(), INITIAL);
        Ok(Fast {
            formulas,
            vocabulary: vocabulary.to_vec(),
            props,
            past,
            states: vec![initial],
            numbers,
            memo: HashMap::with_hasher(hasher()),
            state: INITIAL,
        })
    }

    /// Reads one event.
    pub fn step(&mut self, letter: Letter<'_>) {
        let key = self.key(letter);
        if let Some(&next) = self.memo.get(&(self.state, key.clone())) {
            self.state = next;
            return;
        }
        let state = self.states[self.state as usize].clone();
        let mut step = Step {
            formulas: &mut self.formulas,
            vocabulary_len: self.vocabulary.len(),
            letter,
            past: &self.past,
            memory: &state.memory,
            expanded: HashMap::with_hasher(hasher()),
        };
        let left = step.after(state.left);
        let memory = self.past.iter().map(|&p| step.remember(p)).collect();
        let next = State { left, memory };
        let fresh = self.states.len() as u32;
        let number = *self.numbers.entry(next).or_insert_with_key(|next| {
            self.states.push(next.clone());
            fresh
        });
        self.memo.insert((self.state, key), number);
        self.state = number;
    }

    fn key(&self, letter: Letter<'_>) -> Key {
        let holds = |prop: u32| u64::from(letter.contains(prop));
        if self.props.len() <= 64 {
            return Key::Narrow(self.props.iter().enumerate().fold(0, |k, (i, &p)| k | holds(p) << i));
        }
        let words = self.props.chunks(64);
        Key::Wide(words.map(|w| w.iter().enumerate().fold(0, |k, (i, &p)| k | holds(p) << i)).collect())
    }

    /// What is known by now: whether the formula is satisfied or violated, if it is decided.
    #[must_use]
    pub fn decided(&self, semantics: Semantics) -> Option<bool> {
        let left = self.left();
        match (left, semantics) {
            (FALSE, _) => Some(false),
            (TRUE, _) => Some(true),
            (_, Semantics::Finite) => None,
            (_, Semantics::Infinite) => self.valued(left, &|_, arg| match arg {
                TRUE => Some(true),
                FALSE => Some(false),
                _ => None,
            }),
        }
    }

    /// The verdict: of the final ones that which is known, else what holds of the events so far.
    #[must_use]
    pub fn verdict(&self, semantics: Semantics) -> Verdict {
        match self.decided(semantics) {
            Some(true) => Verdict::Satisfied,
            Some(false) => Verdict::Violated,
            None if self.accepts() => Verdict::Holding,
            None => Verdict::Pending,
        }
    }

    /// Whether the events so far, read as a finite trace, satisfy the formula.
    #[must_use]
    pub fn accepts(&self) -> bool {
        self.valued(self.left(), &|strong, _| Some(!strong)) == Some(true)
    }

    /// The state; a copy is a snapshot.
    #[must_use]
    pub fn state(&self) -> u32 {
        self.state
    }

    /// Goes back to a state that [`Fast::state`] gave, or to the initial one if there is none such.
    pub fn restore(&mut self, state: u32) {
        self.state = if (state as usize) < self.states.len() { state } else { INITIAL };
    }

    /// Begins afresh, as after a violation: the next event is the first.
    pub fn restart(&mut self) {
        self.state = INITIAL;
    }

    /// Different states met so far.
    #[must_use]
    pub fn state_len(&self) -> usize {
        self.states.len()
    }

    fn left(&self) -> FormulaId {
        self.states[self.state as usize].left
    }

    /// What the rest of the session has to satisfy, if there is a rest. Operators that look back do so beyond the point
    /// where the rest begins.
    #[must_use]
    pub fn residual(&self) -> Ast {
        self.ast(self.left(), true)
    }

    /// The value of a formula at the last event, given those of its nexts, as far as they decide it.
    fn valued(&self, id: FormulaId, next: &dyn Fn(bool, FormulaId) -> Option<bool>) -> Option<bool> {
        let mut values: HashMap<FormulaId, Option<bool>, ahash::RandomState> = HashMap::with_hasher(hasher());
        let mut stack = vec![(id, false)];
        while let Some((id, ready)) = stack.pop() {
            if values.contains_key(&id) {
                continue;
            }
            let (conjunction, operands) = match self.formulas.core(id) {
                Core::And(fs) => (true, fs),
                Core::Or(fs) => (false, fs),
                Core::Next { strong, arg, .. } => {
                    values.insert(id, next(*strong, *arg));
                    continue;
                }
                Core::True | Core::False => {
                    values.insert(id, Some(id == TRUE));
                    continue;
                }
                // What is left is made of constants and nexts.
                _ => {
                    values.insert(id, None);
                    continue;
                }
            };
            if !ready {
                stack.push((id, true));
                stack.extend(operands.iter().map(|&f| (f, false)));
                continue;
            }
            let mut of = operands.iter().map(|f| values.get(f).copied().flatten());
            let value = if of.clone().any(|v| v == Some(!conjunction)) {
                Some(!conjunction)
            } else {
                of.all(|v| v == Some(conjunction)).then_some(conjunction)
            };
            values.insert(id, value);
        }
        values.get(&id).copied().flatten()
    }

    /// A formula in the surface language; with `rest` each next is left out, being where the rest begins.
    fn ast(&self, id: FormulaId, rest: bool) -> Ast {
        let make = |expr| Ast::new(crate::diag::Span::default(), expr);
        let boxed = |id| Box::new(self.ast(id, false));
        let many = |fs: &[FormulaId]| fs.iter().map(|&f| self.ast(f, rest)).collect();
        let within = |last: Option<u32>| Bounds { first: 0, last };
        make(match *self.formulas.core(id) {
            Core::False => Expr::Constant(false),
            Core::True => Expr::Constant(true),
            Core::Literal { prop, positive } => {
                let name = self.vocabulary.get(flip(prop, self.vocabulary.len()) as usize);
                let atom = Expr::Proposition(name.cloned().unwrap_or_default());
                if positive { atom } else { Expr::Unary(Unary::Not, Box::new(make(atom))) }
            }
            Core::And(ref fs) => Expr::And(many(fs)),
            Core::Or(ref fs) => Expr::Or(many(fs)),
            Core::Next { steps: 1, arg, .. } if rest => return self.ast(arg, false),
            Core::Next { strong, steps, arg } => {
                let steps = steps - u32::from(rest);
                let op = if strong { Unary::Next(steps) } else { Unary::WeakNext(steps) };
                Expr::Unary(op, boxed(arg))
            }
            Core::Until { last, lhs: TRUE, rhs } => Expr::Unary(Unary::Finally(within(last)), boxed(rhs)),
            Core::Release { last, lhs: FALSE, rhs } => Expr::Unary(Unary::Globally(within(last)), boxed(rhs)),
            Core::Until { last, lhs, rhs } => {
                Expr::Binary(Binary::Until(within(last)), boxed(lhs), boxed(rhs))
            }
            Core::Release { last: None, lhs, rhs } => Expr::Binary(Binary::Release, boxed(lhs), boxed(rhs)),
            // The surface has no bounded release: it is !(!f U[0,k] !g).
            Core::Release { last, lhs, rhs } => {
                let not = |id| Box::new(make(Expr::Unary(Unary::Not, boxed(id))));
                let until = make(Expr::Binary(Binary::Until(within(last)), not(lhs), not(rhs)));
                Expr::Unary(Unary::Not, Box::new(until))
            }
            Core::Yesterday { strong, arg } => {
                Expr::Unary(if strong { Unary::Yesterday } else { Unary::WeakYesterday }, boxed(arg))
            }
            Core::Since { lhs: TRUE, rhs } => Expr::Unary(Unary::Once, boxed(rhs)),
            Core::Trigger { lhs: FALSE, rhs } => Expr::Unary(Unary::Historically, boxed(rhs)),
            Core::Since { lhs, rhs } => Expr::Binary(Binary::Since, boxed(lhs), boxed(rhs)),
            Core::Trigger { lhs, rhs } => Expr::Binary(Binary::Trigger, boxed(lhs), boxed(rhs)),
        })
    }
}

/// Subformulas that look back, inner ones first.
fn collect_past(
    formulas: &Formulas,
    id: FormulaId,
    seen: &mut std::collections::HashSet<FormulaId>,
    past: &mut Vec<FormulaId>,
) {
    if !formulas.has_past(id) || !seen.insert(id) {
        return;
    }
    for child in formulas.children(id) {
        collect_past(formulas, child, seen, past);
    }
    if matches!(formulas.core(id), Core::Yesterday { .. } | Core::Since { .. } | Core::Trigger { .. }) {
        past.push(id);
    }
}

/// What a subformula that looks back amounts to before the first event.
fn initially(formulas: &Formulas, id: FormulaId) -> bool {
    match formulas.core(id) {
        Core::Yesterday { strong, .. } => !strong,
        core => matches!(core, Core::Trigger { .. }),
    }
}

/// One step of one state under one letter.
struct Step<'a> {
    formulas: &'a mut Formulas,
    vocabulary_len: usize,
    letter: Letter<'a>,
    past: &'a [FormulaId],
    memory: &'a [FormulaId],
    /// What formulas at this event come to.
    expanded: HashMap<FormulaId, FormulaId, ahash::RandomState>,
}

impl Step<'_> {
    /// What is left after this event of what was left before it.
    fn after(&mut self, left: FormulaId) -> FormulaId {
        let mut done: HashMap<FormulaId, FormulaId, ahash::RandomState> = HashMap::with_hasher(hasher());
        let mut stack = vec![(left, false)];
        while let Some((id, ready)) = stack.pop() {
            if done.contains_key(&id) {
                continue;
            }
            let result = match self.formulas.core(id).clone() {
                Core::And(fs) | Core::Or(fs) if !ready => {
                    stack.push((id, true));
                    stack.extend(fs.iter().map(|&f| (f, false)));
                    continue;
                }
                Core::And(fs) => {
                    let fs = fs.iter().filter_map(|f| done.get(f).copied()).collect();
                    self.join(true, fs)
                }
                Core::Or(fs) => {
                    let fs = fs.iter().filter_map(|f| done.get(f).copied()).collect();
                    self.join(false, fs)
                }
                Core::Next { steps: 1, arg, .. } => self.expand(arg),
                Core::Next { strong, steps, arg } => self.formulas.next(strong, steps - 1, arg),
                // A constant: what is left is made of these and of nexts.
                _ => id,
            };
            done.insert(id, result);
        }
        done.get(&left).copied().unwrap_or(left)
    }

    /// What a formula at this event comes to: nexts and constants.
    fn expand(&mut self, id: FormulaId) -> FormulaId {
        if let Some(&done) = self.expanded.get(&id) {
            return done;
        }
        let done = match self.formulas.core(id).clone() {
            Core::False | Core::True | Core::Next { .. } => id,
            Core::Literal { prop, positive } => {
                let holds = self.letter.contains(flip(prop, self.vocabulary_len));
                if holds == positive { TRUE } else { FALSE }
            }
            Core::And(fs) => {
                let fs = fs.iter().map(|&f| self.expand(f)).collect();
                self.join(true, fs)
            }
            Core::Or(fs) => {
                let fs = fs.iter().map(|&f| self.expand(f)).collect();
                self.join(false, fs)
            }
            Core::Until { .. } | Core::Release { .. } => match self.formulas.law(id) {
                Some(law) => {
                    let rest = self.formulas.next(!law.weak, 1, law.rest);
                    let outer = self.expand(law.outer);
                    let inner = self.expand(law.inner);
                    let inner = self.join(!law.conjunction, vec![inner, rest]);
                    self.join(law.conjunction, vec![outer, inner])
                }
                None => id,
            },
            Core::Yesterday { .. } => self.remembered(id),
            Core::Since { lhs, rhs } => {
                let (lhs, rhs, before) = (self.expand(lhs), self.expand(rhs), self.remembered(id));
                let on = self.join(true, vec![lhs, before]);
                self.join(false, vec![rhs, on])
            }
            Core::Trigger { lhs, rhs } => {
                let (lhs, rhs, before) = (self.expand(lhs), self.expand(rhs), self.remembered(id));
                let on = self.join(false, vec![lhs, before]);
                self.join(true, vec![rhs, on])
            }
        };
        self.expanded.insert(id, done);
        done
    }

    /// What the value that a subformula that looks back had at the event before comes to at this one.
    fn remembered(&mut self, id: FormulaId) -> FormulaId {
        let place = self.past.iter().position(|&p| p == id);
        let before = place.and_then(|i| self.memory.get(i)).copied().unwrap_or(FALSE);
        self.after(before)
    }

    /// What there is to remember of it for the event after this one.
    fn remember(&mut self, id: FormulaId) -> FormulaId {
        match *self.formulas.core(id) {
            Core::Yesterday { arg, .. } => self.expand(arg),
            _ => self.expand(id),
        }
    }

    /// A conjunction or disjunction of formulas at one event. The arena's own rewriting is for formulas to be: it would
    /// make of nexts again what they were expanded from.
    fn join(&mut self, conjunction: bool, operands: Vec<FormulaId>) -> FormulaId {
        let (neutral, absorbing) = if conjunction { (TRUE, FALSE) } else { (FALSE, TRUE) };
        let mut flat = Vec::with_capacity(operands.len());
        for id in operands {
            match self.formulas.core(id) {
                Core::And(fs) if conjunction => flat.extend_from_slice(fs),
                Core::Or(fs) if !conjunction => flat.extend_from_slice(fs),
                _ if id == absorbing => return absorbing,
                _ if id == neutral => {}
                _ => flat.push(id),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        self.keep_tightest(conjunction, &mut flat);
        // Under a conjunction its other operands are known to hold, under a disjunction to fail.
        let pruned: Vec<FormulaId> = flat.iter().map(|&id| self.prune(conjunction, id, &flat)).collect();
        if pruned == flat { self.formulas.plain(conjunction, flat) } else { self.join(conjunction, pruned) }
    }

    /// A compound operand without what its siblings decide.
    fn prune(&mut self, conjunction: bool, id: FormulaId, siblings: &[FormulaId]) -> FormulaId {
        let is_sibling = |f: &FormulaId| siblings.binary_search(f).is_ok();
        let parts = match self.formulas.core(id) {
            Core::Or(fs) if conjunction => fs.clone(),
            Core::And(fs) if !conjunction => fs.clone(),
            _ => return id,
        };
        // f & (f | g) is f.
        if parts.iter().any(is_sibling) {
            return if conjunction { TRUE } else { FALSE };
        }
        // f & (g | (f & h)) is f & (g | h).
        let mut changed = false;
        let mut kept = Vec::with_capacity(parts.len());
        for &part in &parts {
            let inner = match self.formulas.core(part) {
                Core::And(fs) if conjunction => fs,
                Core::Or(fs) if !conjunction => fs,
                _ => {
                    kept.push(part);
                    continue;
                }
            };
            let left: Vec<FormulaId> = inner.iter().copied().filter(|f| !is_sibling(f)).collect();
            if left.len() == inner.len() {
                kept.push(part);
            } else {
                changed = true;
                let inner = self.join(conjunction, left);
                kept.push(inner);
            }
        }
        if changed { self.join(!conjunction, kept) } else { id }
    }

    /// Of deadlines that differ in their length only the one that decides stays: the shortest of several `F[<=k] f` in a
    /// conjunction, the longest in a disjunction; the other way round for `G[<=k] f`.
    fn keep_tightest(&self, conjunction: bool, flat: &mut Vec<FormulaId>) {
        let deadline = |id: FormulaId| match *self.formulas.core(id) {
            Core::Next { strong, steps: 1, arg } => match *self.formulas.core(arg) {
                Core::Until { last: Some(last), lhs, rhs } => Some((strong, true, lhs, rhs, last)),
                Core::Release { last: Some(last), lhs, rhs } => Some((strong, false, lhs, rhs, last)),
                _ => None,
            },
            _ => None,
        };
        if flat.iter().filter(|&&id| deadline(id).is_some()).count() < 2 {
            return;
        }
        let mut best: HashMap<_, (u32, FormulaId), ahash::RandomState> = HashMap::with_hasher(hasher());
        for &id in flat.iter() {
            let Some((strong, until, lhs, rhs, last)) = deadline(id) else { continue };
            let shortest = until == conjunction;
            best.entry((strong, until, lhs, rhs))
                .and_modify(|(kept, of)| {
                    if (last < *kept) == shortest {
                        (*kept, *of) = (last, id);
                    }
                })
                .or_insert((last, id));
        }
        flat.retain(|&id| {
            deadline(id).is_none_or(|(strong, until, lhs, rhs, _)| {
                best.get(&(strong, until, lhs, rhs)).is_none_or(|&(_, kept)| kept == id)
            })
        });
    }
}
