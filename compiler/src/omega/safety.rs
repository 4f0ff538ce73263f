//! What the safe operands of a conjunction allow, as one automaton beside the clauses of the others.
//!
//! A formula without unbounded untils is broken by a finite prefix if at all. So the infinite traces that satisfy several of
//! them are the infinite ways through the product of their automata, and these can be minimised before they meet.

use crate::{
    dd::{Cache, Connective, Dd, Ref, Visited, memo, terminal},
    error::BuildError,
    formula::{Core, FormulaId, Formulas},
    minimize::minimize,
    mtdfa::{Mtdfa, REJECT},
};

/// Whether a formula has no unbounded until.
pub(super) fn is_safe(formulas: &Formulas, id: FormulaId) -> bool {
    let unbounded = |id: FormulaId| matches!(formulas.core(id), Core::Until { last: None, .. });
    !formulas.below(id).into_iter().any(unbounded)
}

/// Which letters lead on from each state of an automaton, where only some letters are possible.
pub(super) struct Ground {
    /// A set of letters as a diagram with terminals 0 and 1.
    pub(super) letters: Vec<Ref>,
    /// Whether there is an infinite way from the state.
    pub(super) alive: Vec<bool>,
}

impl Ground {
    /// # Complexity
    /// O(edges), and one pass over the diagrams per state.
    pub(super) fn new(dd: &mut Dd, automaton: &Mtdfa, possible: Ref) -> Result<Ground, BuildError> {
        let states = automaton.roots.len();
        let mut and = Cache::new();
        let mut letters = |dd: &mut Dd, root: Ref, into: &dyn Fn(u32) -> bool| {
            let set = dd.map(&mut memo(), root, &mut |edge| Ok(u32::from(into(edge >> 1))))?;
            dd.apply(&mut Connective { conjunction: true }, &mut and, set, possible)
        };
        let mut alive: Vec<bool> = (0..states as u32).map(|s| s != REJECT).collect();
        // Whoever leads to a state, and to how many states each leads that are alive.
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); states];
        let mut ways = vec![0_u32; states];
        for (s, &root) in automaton.roots.iter().enumerate() {
            let mut targets = Vec::new();
            dd.leaves(&mut Visited::default(), root, &mut targets);
            targets.iter_mut().for_each(|edge| *edge >>= 1);
            targets.sort_unstable();
            targets.dedup();
            for target in targets.into_iter().filter(|&t| t != REJECT) {
                if possible == terminal(1) || letters(dd, root, &|t| t == target)? != terminal(0) {
                    before[target as usize].push(s as u32);
                    ways[s] += 1;
                }
            }
        }
        let mut dead: Vec<u32> =
            (0..states as u32).filter(|&s| s != REJECT && ways[s as usize] == 0).collect();
        while let Some(s) = dead.pop() {
            alive[s as usize] = false;
            for &p in &before[s as usize] {
                ways[p as usize] -= 1;
                if ways[p as usize] == 0 {
                    dead.push(p);
                }
            }
        }
        let mut lead_on = Vec::with_capacity(states);
        for &root in &automaton.roots {
            lead_on.push(letters(dd, root, &|t| alive[t as usize])?);
        }
        Ok(Ground { letters: lead_on, alive })
    }
}

/// Sends what leads nowhere to the rejecting sink.
pub(super) fn without_dead_ends(dd: &mut Dd, automaton: Mtdfa) -> Result<Mtdfa, BuildError> {
    let alive = Ground::new(dd, &automaton, terminal(1))?.alive;
    let mut map = memo();
    let mut roots = Vec::with_capacity(automaton.roots.len());
    for &root in &automaton.roots {
        roots.push(dd.map(&mut map, root, &mut |edge| {
            Ok(if alive[(edge >> 1) as usize] { edge | 1 } else { REJECT << 1 })
        })?);
    }
    let initial = if alive[automaton.initial as usize] { automaton.initial } else { REJECT };
    minimize(dd, Mtdfa { roots, initial })
}
