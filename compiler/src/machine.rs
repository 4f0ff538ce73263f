//! From "this edge accepts" to "in this state the verdict is": the machine that monitors run.
//!
//! A machine has a verdict in every state, an initial state that answers for the empty trace, and edges that may be
//! marked as a breach. It is made from a minimal [`Mtdfa`] in four steps: split states by the acceptance of the edge
//! they were reached by, give verdicts (over the possible letters only), fold in what follows a violation, and merge
//! what is then equal.

use std::collections::HashMap;

use tracelaw_runtime::Verdict;

use crate::{
    config::AfterViolation,
    dd::{self, BinaryOp, Cache, Connective, Dd, Ref, hasher, terminal, value},
    error::BuildError,
    minimize::Graph,
    mtdfa::{ACCEPT, Mtdfa, REJECT, edge},
};

/// A complete deterministic machine.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// One diagram per state.
    pub(crate) roots: Vec<Ref>,
    /// What a terminal's value stands for: `2 * state + breach`.
    pub(crate) edges: Vec<u32>,
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) initial: u32,
}

/// Splits the states of a minimal automaton by acceptance and adds the initial state, which answers for the empty trace.
/// The result is the smallest complete machine; without alphabet knowledge its verdicts are final already.
///
/// # Complexity
/// Linear; the diagrams stay as they are.
pub(crate) fn from_automaton(dd: &Dd, automaton: &Mtdfa, accepts_empty: bool) -> Machine {
    let mut pairs = vec![edge(automaton.initial, accepts_empty)];
    let mut edges = vec![0; automaton.roots.len() * 2];
    let mut numbered = vec![false; edges.len()];
    numbered[pairs[0] as usize] = true;
    let mut seen = dd::Visited::default();
    let mut next = 0;
    while let Some(&pair) = pairs.get(next) {
        next += 1;
        let mut leaves = Vec::new();
        dd.leaves(&mut seen, automaton.roots[(pair >> 1) as usize], &mut leaves);
        for leaf in leaves {
            if !std::mem::replace(&mut numbered[leaf as usize], true) {
                edges[leaf as usize] = (pairs.len() as u32) << 1;
                pairs.push(leaf);
            }
        }
    }
    let roots = pairs.iter().map(|&pair| automaton.roots[(pair >> 1) as usize]).collect();
    let verdicts = pairs
        .iter()
        .map(|&pair| match (pair >> 1, pair & 1 != 0) {
            (REJECT, false) => Verdict::Violated,
            (ACCEPT, true) => Verdict::Satisfied,
            (_, true) => Verdict::Holding,
            (_, false) => Verdict::Pending,
        })
        .collect();
    Machine { roots, edges, verdicts, initial: 0 }
}

/// The letters that can occur, as a diagram with terminals 0 and 1.
pub(crate) fn possible_letters(
    dd: &mut Dd,
    props: &[u32],
    exclusive: &[Vec<u32>],
    one_of_all: Option<usize>,
) -> Result<Ref, BuildError> {
    let mut possible = terminal(1);
    let mut sets: Vec<(Vec<u32>, bool)> = exclusive
        .iter()
        .map(|set| {
            let mut set: Vec<u32> = set.iter().copied().filter(|p| props.binary_search(p).is_ok()).collect();
            set.sort_unstable();
            set.dedup();
            (set, true)
        })
        .collect();
    if let Some(vocabulary) = one_of_all {
        // A rule that leaves some proposition out cannot tell "none of mine" from "another".
        sets.push((props.to_vec(), props.len() < vocabulary));
    }
    for (set, none_possible) in sets {
        if set.len() < usize::from(none_possible) + 1 {
            continue;
        }
        // From the last proposition up: exactly one so far, and none so far.
        let (mut one, mut none) = (terminal(0), terminal(1));
        for &p in set.iter().rev() {
            one = dd.mk(p, one, none)?;
            none = dd.mk(p, none, terminal(0))?;
        }
        let mut cache = Cache::new();
        let allowed = if none_possible {
            dd.apply(&mut Connective { conjunction: false }, &mut cache, one, none)?
        } else {
            one
        };
        possible = dd.apply(&mut Connective { conjunction: true }, &mut Cache::new(), possible, allowed)?;
    }
    Ok(possible)
}

/// Sends the impossible letters nowhere.
pub(crate) struct Restrict {
    pub(crate) nowhere: u32,
}

impl BinaryOp for Restrict {
    const COMMUTES: bool = false;
    fn shortcut(&self, root: Ref, possible: Ref) -> Option<Ref> {
        match value(possible) {
            Some(0) => Some(terminal(self.nowhere)),
            Some(_) => Some(root),
            None => None,
        }
    }
    fn leaf(&mut self, edge: u32, _: u32) -> Result<u32, BuildError> {
        Ok(edge)
    }
}

impl Machine {
    /// The value of a terminal that stands for no edge.
    fn nowhere(&self) -> u32 {
        self.edges.len() as u32
    }

    /// Writes the edges into the diagrams, so that a terminal's value is its edge.
    pub(crate) fn settle(&mut self, dd: &mut Dd) -> Result<(), BuildError> {
        let mut memo = dd::memo();
        for root in &mut self.roots {
            *root = dd.map(&mut memo, *root, &mut |v| Ok(self.edges[v as usize]))?;
        }
        self.edges = (0..self.roots.len() as u32 * 2).collect();
        Ok(())
    }

    /// Gives each state of a settled machine its verdict again, now that only the `possible` letters continue a trace.
    ///
    /// # Complexity
    /// O(edges).
    pub(crate) fn judge(&mut self, dd: &mut Dd, possible: Ref) -> Result<(), BuildError> {
        let nowhere = self.nowhere();
        let mut cache = Cache::new();
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.roots.len()];
        for (state, &root) in self.roots.iter().enumerate() {
            let root = dd.apply(&mut Restrict { nowhere }, &mut cache, root, possible)?;
            let mut leaves = Vec::new();
            dd.leaves(&mut dd::Visited::default(), root, &mut leaves);
            for edge in leaves.into_iter().filter(|&e| e != nowhere) {
                before[(edge >> 1) as usize].push(state as u32);
            }
        }
        let can_reach = |accepting: bool, verdicts: &[Verdict]| {
            let mut reaches: Vec<bool> = verdicts.iter().map(|v| v.accepts() == accepting).collect();
            let mut stack: Vec<u32> = (0..reaches.len() as u32).filter(|&s| reaches[s as usize]).collect();
            while let Some(s) = stack.pop() {
                for &p in &before[s as usize] {
                    if !std::mem::replace(&mut reaches[p as usize], true) {
                        stack.push(p);
                    }
                }
            }
            reaches
        };
        let can_accept = can_reach(true, &self.verdicts);
        let can_reject = can_reach(false, &self.verdicts);
        for (s, verdict) in self.verdicts.iter_mut().enumerate() {
            *verdict = match (can_accept[s], can_reject[s]) {
                (false, _) => Verdict::Violated,
                (true, false) => Verdict::Satisfied,
                (true, true) if verdict.accepts() => Verdict::Holding,
                (true, true) => Verdict::Pending,
            };
        }
        Ok(())
    }

    /// Whether no non-empty trace over the possible letters violates the formula, and whether none satisfies it.
    pub(crate) fn one_sided(&self, dd: &mut Dd, possible: Ref) -> Result<(bool, bool), BuildError> {
        let nowhere = self.nowhere();
        let root = dd.apply(
            &mut Restrict { nowhere },
            &mut Cache::new(),
            self.roots[self.initial as usize],
            possible,
        )?;
        let mut edges = Vec::new();
        dd.leaves(&mut dd::Visited::default(), root, &mut edges);
        let all = |v: Verdict| {
            edges.iter().all(|&e| e == nowhere || self.verdicts[(self.edges[e as usize] >> 1) as usize] == v)
        };
        Ok((all(Verdict::Satisfied), all(Verdict::Violated)))
    }

    /// Folds in how a monitor goes on after a violation, in a settled machine; every edge that breaks the rule is marked.
    pub(crate) fn go_on(&mut self, dd: &mut Dd, mode: AfterViolation) -> Result<(), BuildError> {
        match mode {
            AfterViolation::Repair => self.repair(dd),
            AfterViolation::Restart => {
                let initial = self.initial;
                self.redirect(dd, initial)
            }
            AfterViolation::Off => {
                // One state more, in which the breach has been told.
                let told = self.roots.len() as u32;
                self.redirect(dd, told)?;
                self.roots.push(terminal(told << 1));
                self.verdicts.push(Verdict::Violated);
                self.edges.extend([told << 1, told << 1 | 1]);
                Ok(())
            }
        }
    }

    /// Every edge into a violated state goes to `target` instead, as a breach.
    fn redirect(&mut self, dd: &mut Dd, target: u32) -> Result<(), BuildError> {
        let mut memo = dd::memo();
        for root in &mut self.roots {
            *root = dd.map(&mut memo, *root, &mut |edge| {
                let violated = self.verdicts[(edge >> 1) as usize] == Verdict::Violated;
                Ok(if violated { target << 1 | 1 } else { edge })
            })?;
        }
        Ok(())
    }

    /// Every breaking letter is read as the nearest one that does not break the rule.
    ///
    /// For each letter the best replacement is found by one pass over the state's diagram: at each proposition either the
    /// letter's own value is kept, or the other branch is taken at the price of one change.
    ///
    /// # Complexity
    /// O(d * r) per state with d nodes and r different replacements.
    fn repair(&mut self, dd: &mut Dd) -> Result<(), BuildError> {
        let violated: Vec<bool> = self.verdicts.iter().map(|&v| v == Verdict::Violated).collect();
        let mut repairs = Repairs::new();
        let mut memo = dd::memo();
        let mut cache = Cache::new();
        let mut mapped = HashMap::with_hasher(hasher());
        for (state, root) in self.roots.iter_mut().enumerate() {
            let nearest = repairs.nearest(dd, &violated, &mut memo, &mut cache, *root)?;
            let stay = (state as u32) << 1 | 1;
            // Only a state without any way out depends on itself: its diagram is one terminal.
            *root = match value(nearest) {
                Some(v) if repairs.list[v as usize].target.is_none() => terminal(stay),
                _ => match mapped.get(&nearest) {
                    Some(&done) => done,
                    None => {
                        let done =
                            dd.map(&mut dd::memo(), nearest, &mut |v| Ok(repairs.list[v as usize].edge()))?;
                        mapped.insert(nearest, done);
                        done
                    }
                },
            };
        }
        Ok(())
    }

    /// Leaves out what no possible trace reaches and merges what no possible trace tells apart. Impossible letters then
    /// stay in their state.
    pub(crate) fn reduce(&mut self, dd: &mut Dd, possible: Ref) -> Result<(), BuildError> {
        // "Nowhere" is one more state, equal to none.
        let (nowhere, lost_state) = (self.nowhere(), self.roots.len());
        let mut cache = Cache::new();
        let mut roots = Vec::with_capacity(self.roots.len() + 1);
        for &root in &self.roots {
            roots.push(dd.apply(&mut Restrict { nowhere }, &mut cache, root, possible)?);
        }
        roots.push(terminal(nowhere));
        let labels: Vec<u32> = self.verdicts.iter().map(|&v| v as u32).chain([4]).collect();
        let graph = Graph::new(dd, &roots);
        let classes = graph.refine(dd, &labels)?;
        let mut members = vec![u32::MAX; classes.len as usize];
        for (s, &c) in classes.of.iter().enumerate().rev() {
            members[c as usize] = s as u32;
        }
        // Stands for "nowhere" until the number of states is known.
        const LOST: u32 = (1 << 31) - 1;
        let mut numbers: HashMap<u32, u32, ahash::RandomState> = HashMap::with_hasher(hasher());
        let start = classes.of[self.initial as usize];
        let lost = classes.of[lost_state];
        let mut order = vec![start];
        numbers.insert(start, 0);
        let mut reduced = Vec::new();
        let mut memo = dd::memo();
        while let Some(&class) = order.get(reduced.len()) {
            let root = dd.map(&mut memo, roots[members[class as usize] as usize], &mut |edge| {
                let target = classes.of[(edge >> 1) as usize];
                if target == lost {
                    return Ok(LOST);
                }
                let next = order.len() as u32;
                let number = *numbers.entry(target).or_insert_with(|| {
                    order.push(target);
                    next
                });
                Ok(number << 1 | edge & 1)
            })?;
            reduced.push(root);
        }
        self.verdicts = order.iter().map(|&c| self.verdicts[members[c as usize] as usize]).collect();
        self.initial = 0;
        self.edges = (0..reduced.len() as u32 * 2).collect();
        self.roots = reduced;
        if possible != terminal(1) {
            for (s, root) in self.roots.iter_mut().enumerate() {
                let stay = (s as u32) << 1;
                *root = dd.map(&mut dd::memo(), *root, &mut |e| Ok(if e == LOST { stay } else { e }))?;
            }
        }
        Ok(())
    }
}

/// A way to read a letter: where it leads and at what price. Ordered as semantics.md says: fewest changes first, then
/// fewest propositions made true; no way at all comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Repair {
    changes: u32,
    made_true: u32,
    /// Target state; none when no letter helps.
    target: Option<u32>,
}

impl Repair {
    fn edge(self) -> u32 {
        self.target.unwrap_or(0) << 1 | u32::from(self.changes > 0)
    }

    fn better(self, other: Repair) -> bool {
        let rank = |r: Repair| (r.target.is_none(), r.changes, r.made_true);
        rank(self) < rank(other)
    }
}

/// Repairs, numbered; terminals hold the numbers.
struct Repairs {
    list: Vec<Repair>,
    numbers: HashMap<Repair, u32, ahash::RandomState>,
}

impl Repairs {
    fn new() -> Repairs {
        Repairs { list: Vec::new(), numbers: HashMap::with_hasher(hasher()) }
    }

    fn number(&mut self, repair: Repair) -> u32 {
        let next = self.list.len() as u32;
        *self.numbers.entry(repair).or_insert_with(|| {
            self.list.push(repair);
            next
        })
    }

    /// For each letter, the number of its best repair.
    ///
    /// Diagrams test the proposition that weighs most in the order of the letters first, so among equally good repairs
    /// of what is below, the one that is false here is the first letter.
    fn nearest(
        &mut self,
        dd: &mut Dd,
        violated: &[bool],
        memo: &mut dd::Memo,
        cache: &mut Cache,
        r: Ref,
    ) -> Result<Ref, BuildError> {
        if let Some(edge) = value(r) {
            let state = edge >> 1;
            let target = (!violated[state as usize]).then_some(state);
            return Ok(terminal(self.number(Repair { changes: 0, made_true: 0, target })));
        }
        if let Some(&done) = memo.get(&r) {
            return Ok(done);
        }
        let node = dd.node(r);
        let lo = self.nearest(dd, violated, memo, cache, node.lo)?;
        let hi = self.nearest(dd, violated, memo, cache, node.hi)?;
        let lo_instead = self.change(dd, lo, false)?;
        let hi_instead = self.change(dd, hi, true)?;
        let new_lo = dd.apply(&mut FirstBest { repairs: self }, cache, lo, hi_instead)?;
        let new_hi = dd.apply(&mut FirstBest { repairs: self }, cache, lo_instead, hi)?;
        let done = dd.mk(node.var, new_lo, new_hi)?;
        memo.insert(r, done);
        Ok(done)
    }

    /// The same repairs with one change more.
    fn change(&mut self, dd: &mut Dd, r: Ref, made_true: bool) -> Result<Ref, BuildError> {
        dd.map(&mut dd::memo(), r, &mut |v| {
            let mut repair = self.list[v as usize];
            if repair.target.is_some() {
                repair.changes += 1;
                repair.made_true += u32::from(made_true);
            }
            Ok(self.number(repair))
        })
    }
}

/// The better of two repairs; of equals the first.
struct FirstBest<'r> {
    repairs: &'r Repairs,
}

impl BinaryOp for FirstBest<'_> {
    const COMMUTES: bool = false;
    fn shortcut(&self, f: Ref, g: Ref) -> Option<Ref> {
        (f == g).then_some(f)
    }
    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        let better = self.repairs.list[g as usize].better(self.repairs.list[f as usize]);
        Ok(if better { g } else { f })
    }
}
