//! What each state of a rule's automaton still asks for, as a formula.

use tracelaw_runtime::{Automaton, Letter};

use super::guard::paths;
use crate::progress::{Fast, ProgressError};
use crate::syntax::Ast;

/// Rules with more states than this are left out: nobody reads that many formulas.
pub const MAX_RESIDUAL_STATES: u32 = 64;

/// Per state of a rule's automaton, the formula that the rest of a session in that state has to satisfy, found by
/// progression along a shortest trace to the state that does not break the rule. `None` for states that only a breach
/// leads to; nothing at all for automata of more than [`MAX_RESIDUAL_STATES`] states, or whose edges are too many.
///
/// # Complexity
/// O(paths of the diagrams of all states), and a step of progression per state.
///
/// # Errors
/// When the vocabulary is not the formula's.
pub fn residuals<W: AsRef<[u32]>>(
    formula: &Ast,
    vocabulary: &[String],
    automaton: &Automaton<W>,
) -> Result<Vec<Option<Ast>>, ProgressError> {
    if automaton.state_len() > MAX_RESIDUAL_STATES {
        return Ok(Vec::new());
    }
    let mut fast = Fast::new(formula, vocabulary)?;
    let mut found: Vec<Option<(u32, Ast)>> = vec![None; automaton.state_len() as usize];
    let mut queue = std::collections::VecDeque::from([automaton.initial()]);
    if let Some(place) = found.get_mut(automaton.initial() as usize) {
        *place = Some((fast.state(), fast.residual()));
    }
    let mut letter = vec![0u64; vocabulary.len().div_ceil(64)];
    while let Some(state) = queue.pop_front() {
        let Some(Some((before, _))) = found.get(state as usize).cloned() else { continue };
        let Ok(edges) = paths(automaton, state) else { return Ok(Vec::new()) };
        for (cube, target, breach) in edges {
            let Some(place) = found.get_mut(target as usize).filter(|place| place.is_none() && !breach)
            else {
                continue;
            };
            letter.fill(0);
            for (prop, _) in cube.literals().into_iter().filter(|(_, value)| *value) {
                if let Some(word) = letter.get_mut(prop as usize / 64) {
                    *word |= 1 << (prop % 64);
                }
            }
            fast.restore(before);
            fast.step(Letter(&letter));
            *place = Some((fast.state(), fast.residual()));
            queue.push_back(target);
        }
    }
    Ok(found.into_iter().map(|place| place.map(|(_, ast)| ast)).collect())
}
