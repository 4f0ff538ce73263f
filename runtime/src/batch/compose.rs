//! One long trace: composing the functions that its events are on states.

use super::Table;
use crate::{LoadError, arch};

/// Pieces that are composed side by side.
const PIECES: usize = 4;
/// Events of a piece: short enough to read again if it has a marked edge, long enough for what is around a piece.
const PIECE: usize = 1024;
/// Traces shorter than this are walked through.
const SHORT: usize = 64;
/// Set in what an edge leads to if it is marked.
const MARK: u8 = 16;

/// One long trace under an automaton of at most 16 states.
///
/// An event is a function from states to states, 16 bytes; a vector look-up composes two of them, sooner than a table
/// in memory answers. With at most 16 classes the functions of all pairs of symbols are known, and two events are one
/// look-up. The technique is that of Mytkowicz, Musuvathi and Schulte, "Data-parallel finite-state machines" (2014).
///
/// A value is a little more than 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Compose<'a> {
    table: Table<'a>,
    /// Per symbol, or pair of symbols (the earlier one in the lower four bits), what each state leads to.
    steps: [[u8; 16]; 256],
    pairs: bool,
}

impl<'a> Compose<'a> {
    /// Takes a small automaton's table.
    ///
    /// # Errors
    /// When it has more than 16 states.
    pub fn new(table: Table<'a>) -> Result<Compose<'a>, LoadError> {
        if table.state_len() > 16 {
            return Err(LoadError::new("functions are composed of at most 16 states", table.state_len()));
        }
        let pairs = table.class_len() <= 16;
        let step = |state: u8, symbol: u8| {
            (table.step(state, symbol), if table.mark(state, symbol) != 0 { MARK } else { 0 })
        };
        let mut steps = [[0; 16]; 256];
        for (symbol, function) in (0..=255u8).zip(&mut steps) {
            for (state, place) in (0..16).zip(function) {
                let (first, mark) = step(state, symbol);
                *place = first | mark;
                if pairs {
                    let (second, other) = step(first, symbol >> 4);
                    *place = second | mark | other;
                }
            }
        }
        Ok(Compose { table, steps, pairs })
    }

    /// The state after many events, and, handed over, the events whose edges are marked: their index and mark.
    ///
    /// # Complexity
    /// With AVX2 a vector look-up for every one or two events, four of them side by side; a piece of at most 1,024
    /// events that has a marked edge is read again by [`Table::run_marked`]. Without AVX2 it is that method.
    pub fn run(&self, state: u8, symbols: &[u8], mut each: impl FnMut(usize, u8)) -> u8 {
        let (mut state, mut at) = (state, 0);
        while usize::from(state) < self.table.state_len() {
            let Some((pieces, _)) = cut(symbols.get(at..).unwrap_or(&[])) else { break };
            let Some(composed) = arch::compose(&self.steps, self.pairs, pieces) else { break };
            for (piece, [function, marks]) in pieces.iter().zip(composed) {
                let place = usize::from(state) % 16;
                state = if marks[place] & MARK == 0 {
                    function[place] % 16
                } else {
                    self.table.run_marked(state, piece, |event, mark| each(at + event, mark))
                };
                at += piece.len();
            }
        }
        self.table.run_marked(state, symbols.get(at..).unwrap_or(&[]), |event, mark| each(at + event, mark))
    }

    /// What the events as a whole lead each state to; states that the table does not have, to themselves.
    ///
    /// # Complexity
    /// With AVX2 a vector look-up for every one or two events, else 16 look-ups.
    #[must_use]
    pub fn function(&self, symbols: &[u8]) -> [u8; 16] {
        let mut whole = core::array::from_fn(|state| state as u8);
        let mut rest = symbols;
        while let Some((pieces, after)) = cut(rest) {
            let composed = arch::compose(&self.steps, self.pairs, pieces)
                .unwrap_or_else(|| compose(&self.steps, self.pairs, pieces));
            for [function, _] in composed {
                whole = whole.map(|state| function[usize::from(state) % 16] % 16);
            }
            rest = after;
        }
        whole.map(|state| self.table.run(state, rest))
    }
}

/// Four pieces of equal length, a multiple of eight, and what is after them; none if there is little.
fn cut(symbols: &[u8]) -> Option<([&[u8]; PIECES], &[u8])> {
    if symbols.len() < SHORT {
        return None;
    }
    let len = (symbols.len() / PIECES).min(PIECE) / 8 * 8;
    let (mut pieces, mut rest) = ([&[][..]; PIECES], symbols);
    for piece in &mut pieces {
        (*piece, rest) = rest.split_at_checked(len)?;
    }
    Some((pieces, rest))
}

/// Of each piece: what it leads each state to (the lower four bits), and in `MARK` whether that took a marked edge. A
/// piece is read as far as a multiple of eight.
fn compose(steps: &[[u8; 16]; 256], pairs: bool, pieces: [&[u8]; PIECES]) -> [[[u8; 16]; 2]; PIECES] {
    pieces.map(|piece| {
        let (mut now, mut marked): ([u8; 16], _) = (core::array::from_fn(|state| state as u8), [0; 16]);
        let mut step = |symbol: u8| {
            for (now, marked) in now.iter_mut().zip(&mut marked) {
                *now = steps[usize::from(symbol)][usize::from(*now) % 16];
                *marked |= *now;
            }
        };
        for word in piece.as_chunks::<8>().0 {
            if pairs {
                for [earlier, later] in word.as_chunks::<2>().0 {
                    step(earlier & 15 | later << 4);
                }
            } else {
                word.iter().copied().for_each(&mut step);
            }
        }
        [now, marked]
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::vec::Vec;

    use super::{Compose, MARK, compose};
    use crate::{
        arch,
        batch::tests::{Automaton, Random},
    };

    #[test]
    fn composing_agrees_with_walking() {
        let mut random = Random(7);
        for round in 0..200 {
            let automaton = Automaton::random(&mut random, 16, 8);
            let composer = Compose::new(automaton.table()).unwrap();
            let len = [0, 1, 63, 64, 65, 95, 96, 127, 128, 1023, 4095, 4096, 4097, 5000, 9000][round % 15];
            let symbols = random.symbols(len, 256);
            let function = composer.function(&symbols);
            for (start, to) in function.into_iter().enumerate() {
                let (state, marked) = if start < automaton.states {
                    automaton.naive(start, &symbols)
                } else {
                    (start, Vec::new())
                };
                let mut told = Vec::new();
                let end = composer.run(start as u8, &symbols, |event, mark| told.push((event, mark)));
                assert_eq!((usize::from(end), told), (state, marked), "{len} events");
                assert_eq!(usize::from(to), state);
            }
            assert_eq!(composer.run(200, &symbols, |_, _| {}), 200);
        }
    }

    #[test]
    fn vectors_agree_with_scalars() {
        let mut random = Random(8);
        for len in 0..200 {
            let steps =
                core::array::from_fn(|_| core::array::from_fn(|_| random.below(32) as u8 & (MARK | 15)));
            let pieces: [Vec<u8>; 4] = core::array::from_fn(|_| random.symbols(len, 256));
            for pairs in [true, false] {
                let pieces = pieces.each_ref().map(|piece| piece.as_slice());
                if let Some(composed) = arch::compose(&steps, pairs, pieces) {
                    assert_eq!(composed, compose(&steps, pairs, pieces));
                }
            }
        }
    }
}
