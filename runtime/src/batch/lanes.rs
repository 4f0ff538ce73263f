//! Sessions side by side, one automaton of few states.

use super::Table;
use crate::{LoadError, arch};

/// Sessions of a block.
pub const LANES: usize = 128;

/// Events between two looks at the counters, which are bytes meanwhile.
const EVENTS: usize = 255;

/// 128 sessions in lockstep under one automaton of at most 16 states and 16 classes: all edges fit in registers.
///
/// Symbols come event by event, one per session; of each the lower four bits are read, and of these as many as the
/// table has. Sessions of different lengths are padded with a class that changes nothing, where there is one.
///
/// ```
/// use tracelaw_runtime::batch::{LANES, Lanes, Table};
///
/// // "Never `b` after `a`", see `Table`.
/// let (next, marks) = ([0u8, 1, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1, 0]);
/// let lanes = Lanes::new(&Table::new(&next, 2, 2)?.with_marks(&marks)?)?;
/// let (mut states, mut breaches) = ([0; LANES], [0; LANES]);
/// lanes.run(&mut states, &mut breaches, &[[1; LANES], [2; LANES], [2; LANES]]);
/// assert_eq!((states, breaches), ([1; LANES], [2; LANES]));
/// # Ok::<(), tracelaw_runtime::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// By state (upper four bits) and class: the next state (upper four bits) and whether the edge is marked.
    edges: [u8; 256],
    class_len: usize,
}

impl Lanes {
    /// Takes a small automaton's table.
    ///
    /// # Errors
    /// When it has more than 16 states or classes.
    pub fn new(table: &Table<'_>) -> Result<Lanes, LoadError> {
        if table.state_len() > 16 || table.class_len() > 16 {
            return Err(LoadError::new("lanes hold at most 16 states and 16 classes", table.state_len()));
        }
        let mut edges = [0; 256];
        for (edge, place) in (0..=255u8).zip(&mut edges) {
            let (state, class) = (edge >> 4, edge & 15);
            *place = table.step(state, class) << 4 | u8::from(table.mark(state, class) != 0);
        }
        Ok(Lanes { edges, class_len: table.class_len() })
    }

    /// Reads an event of every session in turn, and adds to each session's count its events with a marked edge. Which
    /// events those are, [`Table::run_marked`] tells of the few sessions that have some. Of a state, the lower four
    /// bits are read.
    ///
    /// # Complexity
    /// Per event two vector look-ups for 64 sessions with AVX-512 VBMI; with AVX2 one for 32 sessions and class.
    pub fn run(&self, states: &mut [u8; LANES], counts: &mut [u32; LANES], symbols: &[[u8; LANES]]) {
        let mut lanes = states.map(|state| state << 4);
        for symbols in symbols.chunks(EVENTS) {
            let mut marked = [0; LANES];
            if !arch::step_lanes(&self.edges, self.class_len, &mut lanes, &mut marked, symbols) {
                step_lanes(&self.edges, &mut lanes, &mut marked, symbols);
            }
            for (count, marked) in counts.iter_mut().zip(marked) {
                *count = count.wrapping_add(u32::from(marked));
            }
        }
        *states = lanes.map(|lane| lane >> 4);
    }
}

/// At most 255 events: `lanes` hold what an edge holds.
fn step_lanes(edges: &[u8; 256], lanes: &mut [u8; LANES], counts: &mut [u8; LANES], symbols: &[[u8; LANES]]) {
    for event in symbols {
        for ((lane, count), symbol) in lanes.iter_mut().zip(counts.iter_mut()).zip(event) {
            *lane = edges[usize::from(*lane & 0xf0 | symbol & 15)];
            *count = count.wrapping_add(*lane & 1);
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::{LANES, Lanes, step_lanes};
    use crate::{
        arch,
        batch::tests::{Automaton, Random},
    };

    #[test]
    fn lanes_agree_with_sessions_one_by_one() {
        let mut random = Random(5);
        for round in 0..120 {
            let automaton = Automaton::random(&mut random, 16, 4);
            let lanes = Lanes::new(&automaton.table()).unwrap();
            let len = [0, 1, 2, 7, 64, 254, 255, 256, 300, 600][round % 10];
            let blocks: Vec<[u8; LANES]> =
                (0..len).map(|_| core::array::from_fn(|_| random.below(256) as u8)).collect();
            let starts: [u8; LANES] = core::array::from_fn(|_| random.below(automaton.states) as u8);
            let (mut states, mut counts) = (starts, [3; LANES]);
            lanes.run(&mut states, &mut counts, &blocks);
            for lane in 0..LANES {
                let symbols: Vec<u8> = blocks.iter().map(|event| event[lane]).collect();
                let (state, marked) = automaton.naive(usize::from(starts[lane]), &symbols);
                assert_eq!((usize::from(states[lane]), counts[lane] as usize), (state, 3 + marked.len()));
            }
        }
    }

    #[test]
    fn vectors_agree_with_scalars() {
        let mut random = Random(6);
        for round in 0..200 {
            // Any edges, not only those that a table gives.
            let class_len = [1, 2, 4, 8, 16][round % 5];
            let any: [u8; 256] = core::array::from_fn(|_| random.below(256) as u8 & 0xf1);
            let edges = core::array::from_fn(|edge| any[edge & 0xf0 | edge & (class_len - 1)]);
            let mut lanes: [u8; LANES] = core::array::from_fn(|_| random.below(256) as u8 & 0xf1);
            let mut counts = core::array::from_fn(|_| random.below(256) as u8);
            let symbols: Vec<[u8; LANES]> =
                (0..round).map(|_| core::array::from_fn(|_| random.below(256) as u8)).collect();
            let (mut expected, mut expected_counts) = (lanes, counts);
            step_lanes(&edges, &mut expected, &mut expected_counts, &symbols);
            let (plain, plain_counts) = (lanes, counts);
            if arch::step_lanes(&edges, class_len, &mut lanes, &mut counts, &symbols) {
                assert_eq!((lanes, counts), (expected, expected_counts));
            }
            // With AVX2 too, where something wider comes first.
            let (mut lanes, mut counts) = (plain, plain_counts);
            if arch::step_lanes_avx2(&edges, class_len, &mut lanes, &mut counts, &symbols) {
                assert_eq!((lanes, counts), (expected, expected_counts));
            }
        }
    }

    #[test]
    fn too_large() {
        let next = [0u8; 17 * 16];
        assert!(Lanes::new(&crate::batch::Table::new(&next, 4, 17).unwrap()).is_err());
        assert!(Lanes::new(&crate::batch::Table::new(&next[..32], 5, 1).unwrap()).is_err());
    }
}
