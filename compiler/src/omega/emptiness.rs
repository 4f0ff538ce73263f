//! Whether some infinite trace pays for a clause: emptiness of the generalised Büchi automaton whose states are clauses.
//!
//! A transition puts some untils off; a run is good if no until is put off for ever, that is if every until is left alone
//! by infinitely many of its transitions. Searched depth-first as Couvreur (1999) describes, with the untils that *all*
//! transitions of a component put off: none means that a good run goes round in it. All questions share one graph:
//! components that were left without success stay dead, and everything that leads to a success is alive.

use std::collections::HashMap;

use super::{
    debts::{ClauseId, FREE},
    laws::{Laws, MemoryId},
    safety::Ground,
};
use crate::{
    dd::{Visited, hasher},
    error::BuildError,
    formula::FormulaId,
    mtdfa::{Mtdfa, check_states},
};

/// A state: what is owed, what is remembered, and the state of the automaton beside.
pub(super) type State = (ClauseId, MemoryId, u32);

/// What is known of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    /// Its place on the way of the search.
    Open(usize),
    Alive,
    Dead,
}

/// All states met so far, over some automaton beside and some letters.
pub(super) struct Emptiness {
    /// The letters that lead on beside.
    ground: Ground,
    status: HashMap<State, Status, ahash::RandomState>,
    max_states: usize,
}

struct Edge {
    /// Sorted.
    put_off: Vec<FormulaId>,
    to: State,
}

/// A strongly connected component as far as it is known.
struct Component {
    /// The place of its first state.
    first: usize,
    /// The untils put off by all transitions found inside; `None` if there is none yet.
    common: Option<Vec<FormulaId>>,
    /// What the transition into it puts off.
    entered: Vec<FormulaId>,
}

impl Component {
    /// One more transition, or the transitions of one more component, inside.
    fn add(&mut self, put_off: &[FormulaId]) {
        match &mut self.common {
            None => self.common = Some(put_off.to_vec()),
            Some(common) => common.retain(|until| put_off.binary_search(until).is_ok()),
        }
    }

    fn is_good(&self) -> bool {
        self.common.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Emptiness {
    pub(super) fn new(ground: Ground, max_states: usize) -> Emptiness {
        Emptiness { ground, status: HashMap::with_hasher(hasher()), max_states }
    }

    /// Whether some infinite trace pays for the clause.
    ///
    /// # Complexity
    /// Each state is expanded once over all calls; a call stops at the first success.
    pub(super) fn is_alive(
        &mut self,
        laws: &mut Laws<'_>,
        beside: &Mtdfa,
        state: State,
    ) -> Result<bool, BuildError> {
        match self.status.get(&state) {
            Some(Status::Alive) => return Ok(true),
            Some(Status::Dead) => return Ok(false),
            // Nothing is open between calls.
            Some(Status::Open(_)) | None => {}
        }
        if state.0 == FREE || !self.ground.alive[state.2 as usize] {
            return Ok(self.ground.alive[state.2 as usize]);
        }
        let mut way = Vec::new();
        let alive = self.search(laws, beside, state, &mut way)?;
        // All that is still on the way leads to the success.
        for state in way {
            self.status.insert(state, Status::Alive);
        }
        Ok(alive)
    }

    /// `way` holds the states of the components that are not left yet: none in the end, unless there was a success.
    fn search(
        &mut self,
        laws: &mut Laws<'_>,
        beside: &Mtdfa,
        start: State,
        way: &mut Vec<State>,
    ) -> Result<bool, BuildError> {
        let mut components = Vec::new();
        let mut calls: Vec<(usize, Vec<Edge>)> = Vec::new();
        let mut enter = Some(Edge { put_off: Vec::new(), to: start });
        loop {
            if let Some(edge) = enter.take() {
                check_states(self.status.len(), self.max_states)?;
                self.status.insert(edge.to, Status::Open(way.len()));
                components.push(Component { first: way.len(), common: None, entered: edge.put_off });
                calls.push((way.len(), self.edges(laws, beside, edge.to)?));
                way.push(edge.to);
            }
            let Some((place, edges)) = calls.last_mut() else { return Ok(false) };
            let Some(edge) = edges.pop() else {
                let place = *place;
                calls.pop();
                if components.last().is_some_and(|c| c.first == place) {
                    components.pop();
                    for state in way.drain(place..) {
                        self.status.insert(state, Status::Dead);
                    }
                }
                continue;
            };
            match self.status.get(&edge.to) {
                // Letters lead on beside, and nothing else is asked.
                _ if edge.to.0 == FREE => return Ok(true),
                Some(Status::Alive) => return Ok(true),
                Some(Status::Dead) => {}
                None => enter = Some(edge),
                Some(&Status::Open(back)) => {
                    let mut inside = edge.put_off;
                    while let Some(last) = components.last_mut() {
                        last.add(&inside);
                        if last.is_good() {
                            return Ok(true);
                        }
                        if last.first <= back {
                            break;
                        }
                        // It is one component with the one before: its transitions, and the one that led to it.
                        let Some(Component { common, entered, .. }) = components.pop() else { break };
                        inside = common.unwrap_or_default();
                        inside.retain(|until| entered.binary_search(until).is_ok());
                    }
                }
            }
        }
    }

    /// The transitions, those to try first last: the fewer owed and put off the better.
    fn edges(
        &mut self,
        laws: &mut Laws<'_>,
        beside: &Mtdfa,
        (clause, memory, state): State,
    ) -> Result<Vec<Edge>, BuildError> {
        let debt = laws.debts.intern(laws.formulas, vec![clause])?;
        let letters = self.ground.letters[state as usize];
        let after = laws.after(debt, memory, letters, beside.roots[state as usize])?;
        let mut leaves = Vec::new();
        laws.dd.leaves(&mut Visited::default(), after, &mut leaves);
        let mut edges = Vec::new();
        for leaf in leaves {
            let (debt, memory, edge) = laws.target(leaf);
            for &clause in laws.debts.clauses(debt).iter() {
                let (owed, put_off) = laws.debts.split(laws.formulas, clause)?;
                let debt = laws.debts.intern(laws.formulas, vec![owed])?;
                let memory = laws.remember(memory, debt);
                let size = laws.debts.clause(owed).len() + put_off.len();
                edges.push((size, Edge { put_off, to: (owed, memory, edge >> 1) }));
            }
        }
        edges.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        Ok(edges.into_iter().map(|(_, edge)| edge).collect())
    }
}
