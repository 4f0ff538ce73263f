//! Many events at a time: whole sessions, many sessions side by side, one long trace, columns of bits over time.
//!
//! The kernels here know tables and plain slices, nothing of rule sets: an event is the number of its class of letters,
//! a `u8`, and an automaton is a dense [`Table`] of the states that follow, with a mark on the edges of interest (as a
//! rule, those that break it). What fits which log:
//!
//! | log | kernel | automaton |
//! | --- | --- | --- |
//! | one session | [`Table::run`], [`Table::run_skipping`] where most events change nothing | up to 65,536 states |
//! | many sessions | [`Table::run_interleaved`] | up to 65,536 states |
//! | many sessions, event by event | [`Lanes`] | up to 16 states and 16 classes |
//! | one long trace | [`Compose`] | up to 16 states |
//! | columns of bits, one per proposition | [`columns`] | some shapes of rules |
//!
//! Every kernel gives what stepping event by event gives, on every processor.

pub mod columns;
mod compose;
mod lanes;
mod table;

pub use compose::Compose;
pub use lanes::{LANES, Lanes};
pub use table::{Entry, Table};

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::Table;

    /// A generator with a fixed seed (splitmix64).
    pub(super) struct Random(pub(super) u64);

    impl Random {
        pub(super) fn word(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        pub(super) fn below(&mut self, end: usize) -> usize {
            (self.word() % end as u64) as usize
        }

        pub(super) fn symbols(&mut self, len: usize, classes: usize) -> Vec<u8> {
            (0..len).map(|_| self.below(classes) as u8).collect()
        }
    }

    /// An automaton, and stepping it by the definition.
    pub(super) struct Automaton {
        pub(super) states: usize,
        pub(super) shift: u32,
        pub(super) next: Vec<u8>,
        pub(super) marks: Vec<u8>,
    }

    impl Automaton {
        /// Of at most so many states and `2^shift` classes; few edges are marked.
        pub(super) fn random(random: &mut Random, states: usize, shift: usize) -> Automaton {
            let (states, shift) = (1 + random.below(states), random.below(shift + 1) as u32);
            let edges = states << shift;
            let rare = 1 + random.below(60);
            Automaton {
                states,
                shift,
                next: (0..edges).map(|_| random.below(states) as u8).collect(),
                marks: (0..edges)
                    .map(|_| u8::from(random.below(rare) == 0) * random.below(256) as u8)
                    .collect(),
            }
        }

        pub(super) fn table(&self) -> Table<'_> {
            Table::new(&self.next, self.shift, self.states).unwrap().with_marks(&self.marks).unwrap()
        }

        /// The last state, and the marked events.
        pub(super) fn naive(&self, start: usize, symbols: &[u8]) -> (usize, Vec<(usize, u8)>) {
            let classes = 1 << self.shift;
            let (mut state, mut marked) = (start, Vec::new());
            for (event, symbol) in symbols.iter().enumerate() {
                let edge = state * classes + usize::from(*symbol) % classes;
                if self.marks[edge] != 0 {
                    marked.push((event, self.marks[edge]));
                }
                state = usize::from(self.next[edge]);
            }
            (state, marked)
        }
    }
}
