//! Deterministic automata with one decision diagram per state, acceptance on the edges.
//!
//! A terminal is `2 * state + accepting`: after that letter the automaton is in `state`, and the word may or may not
//! end there. State 0 rejects and state 1 accepts every further word; both are there in every automaton, so that
//! products stop at them. The empty word has no place here: [`crate::machine`] adds it.

use crate::{
    dd::{BinaryOp, Cache, Dd, Ref, hasher, terminal, value},
    error::{BuildError, Kind},
};
use std::collections::HashMap;

/// The state that rejects every non-empty continuation.
pub(crate) const REJECT: u32 = 0;
/// The state that accepts every non-empty continuation.
pub(crate) const ACCEPT: u32 = 1;

/// The terminal of an edge.
pub(crate) const fn edge(state: u32, accepting: bool) -> u32 {
    state << 1 | accepting as u32
}

/// An automaton over diagrams of some [`Dd`].
#[derive(Clone, Debug)]
pub(crate) struct Mtdfa {
    /// One diagram per state; the first two are those of [`REJECT`] and [`ACCEPT`].
    pub(crate) roots: Vec<Ref>,
    pub(crate) initial: u32,
}

impl Mtdfa {
    /// The automaton of `false` or `true`.
    pub(crate) fn constant(accept: bool) -> Mtdfa {
        Mtdfa { roots: sinks(), initial: u32::from(accept) }
    }

    /// The automaton whose first letter decides as `root` says.
    pub(crate) fn one_step(root: Ref) -> Mtdfa {
        if let Some(decided) = value(root) {
            return Mtdfa::constant(decided >> 1 == ACCEPT);
        }
        let mut roots = sinks();
        roots.push(root);
        Mtdfa { roots, initial: 2 }
    }

    /// Whether it accepts nothing (`Some(false)`) or everything (`Some(true)`); reliable when minimal.
    pub(crate) fn as_constant(&self) -> Option<bool> {
        match self.initial {
            REJECT => Some(false),
            ACCEPT => Some(true),
            _ => None,
        }
    }
}

/// The diagrams of the two sinks.
pub(crate) fn sinks() -> Vec<Ref> {
    vec![terminal(edge(REJECT, false)), terminal(edge(ACCEPT, true))]
}

/// Whether there may be so many states.
pub(crate) fn check_states(states: usize, cap: usize) -> Result<(), BuildError> {
    if states > cap { Err(BuildError::new(Kind::States { limit: cap })) } else { Ok(()) }
}

/// The product that accepts what both (`conjunction`) or either accept; unreachable pairs are not built.
///
/// # Complexity
/// At most |a| * |b| states, and one diagram step per pair of nodes.
///
/// # Errors
/// With more than `cap` states, or when the budget of the diagrams is used up.
pub(crate) fn product(
    dd: &mut Dd,
    conjunction: bool,
    a: &Mtdfa,
    b: &Mtdfa,
    cap: usize,
) -> Result<Mtdfa, BuildError> {
    let mut op = Pairing::new(conjunction);
    let initial = op.pair(a.initial, b.initial);
    let mut roots = sinks();
    let mut cache = Cache::new();
    let mut next = 0;
    while let Some(&(p, q)) = op.pairs.get(next) {
        next += 1;
        check_states(op.pairs.len(), cap)?;
        if next.is_multiple_of(1024) {
            dd.check_time()?;
        }
        let root = dd.apply(&mut op, &mut cache, a.roots[p as usize], b.roots[q as usize])?;
        roots.push(root);
    }
    Ok(Mtdfa { roots, initial })
}

/// Pairs of states, numbered as they turn up.
struct Pairing {
    conjunction: bool,
    pairs: Vec<(u32, u32)>,
    numbers: HashMap<(u32, u32), u32, ahash::RandomState>,
}

impl Pairing {
    fn new(conjunction: bool) -> Pairing {
        Pairing { conjunction, pairs: Vec::new(), numbers: HashMap::with_hasher(hasher()) }
    }

    fn pair(&mut self, p: u32, q: u32) -> u32 {
        let (neutral, absorbing) = if self.conjunction { (ACCEPT, REJECT) } else { (REJECT, ACCEPT) };
        if p == absorbing || q == absorbing {
            return absorbing;
        }
        if p == neutral && q == neutral {
            return neutral;
        }
        let fresh = self.pairs.len() as u32 + 2;
        *self.numbers.entry((p, q)).or_insert_with(|| {
            self.pairs.push((p, q));
            fresh
        })
    }
}

impl BinaryOp for Pairing {
    const COMMUTES: bool = false;

    fn shortcut(&self, f: Ref, g: Ref) -> Option<Ref> {
        let absorbing = if self.conjunction { edge(REJECT, false) } else { edge(ACCEPT, true) };
        (value(f) == Some(absorbing) || value(g) == Some(absorbing)).then_some(terminal(absorbing))
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        let accepting = if self.conjunction { f & g & 1 } else { (f | g) & 1 };
        Ok(self.pair(f >> 1, g >> 1) << 1 | accepting)
    }
}
