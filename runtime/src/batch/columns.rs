//! Bits over time: 64 events in a word, for rules whose shape allows it.
//!
//! A column holds the truth of one proposition: bit `t % 64` of word `t / 64` is its value at event `t`. The operators of
//! the past are a few instructions per word ([`once`], [`since`] and so on), and a [`Watch`] is a rule of one of the
//! frequent [`Shape`]s that reads columns and says which events break it. Carries go from word to word and from call to
//! call, so a log may come in pieces.

use crate::arch::{self, Kernel};

/// `Y f` for 64 events: what `f` was at the event before; `before` is its value before the first of them, false at the
/// beginning of a trace.
#[inline(always)]
#[must_use]
pub const fn yesterday(f: u64, before: bool) -> u64 {
    f << 1 | before as u64
}

/// `O f` for 64 events: `f` held at some event so far; `before` is the value before the first of them, false at the
/// beginning of a trace.
#[inline(always)]
#[must_use]
pub const fn once(f: u64, before: bool) -> u64 {
    // All bits from the lowest one up; all bits if it held before.
    f | f.wrapping_neg() | (before as u64).wrapping_neg()
}

/// `H f` for 64 events: `f` held at all events so far; `before` is the value before the first of them, true at the
/// beginning of a trace.
#[inline(always)]
#[must_use]
pub const fn historically(f: u64, before: bool) -> u64 {
    !once(!f, !before)
}

/// `f S g` for 64 events: `g` held at some event so far, and `f` at all events after it; `before` is the value before the
/// first of them, false at the beginning of a trace.
///
/// A sum carries from bit to bit as `since` does from event to event: `g` makes a carry, `f` hands it on.
#[inline(always)]
#[must_use]
pub const fn since(f: u64, g: u64, before: bool) -> u64 {
    let either = f | g;
    let sum = g.wrapping_add(either).wrapping_add(before as u64);
    // The carry out of a bit: both are 1, or one is and the sum's bit is 0.
    g | either & !sum
}

/// Rules over two propositions `a` and `b` (the first has `a` only) that keep one bit of the past, under the `repair`
/// semantics: each offending event is one breach, and the rule goes on as if it had been the nearest letter that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Shape {
    /// `G !a`.
    Absence,
    /// `G(a -> F b)`: never broken, but may be pending at the end.
    Response,
    /// `!b W a`.
    Precedence,
    /// `a before b`, that is `!((!a) U b)`.
    Before,
    /// `G(a -> G !b)` where `a` comes before `b` in the vocabulary: a first event that is both is taken for an `a`.
    NotSuccession,
    /// `G(a -> G !b)` where `b` comes before `a` in the vocabulary: a first event that is both is taken for a `b`.
    NotSuccessionOfEarlier,
    /// `G(a -> WX G !b)`: no `b` at an event after one with `a`.
    NeverAfter,
    /// `G(a -> X b)`; may be pending at the end.
    ChainResponse,
    /// `!b & G(X b -> a)`.
    ChainPrecedence,
    /// `G(a -> !X b)`.
    NotChainSuccession,
}

/// One rule on one session: its shape and what it keeps of the past.
///
/// ```
/// use tracelaw_runtime::batch::columns::{Shape, Watch};
///
/// // Read a secret at event 1, send at events 0, 2 and 3.
/// let (read, send) = ([0b0010], [0b1101]);
/// let mut watch = Watch::new(Shape::NotSuccession);
/// let mut breaches = [0];
/// watch.run(4, &read, &send, &mut breaches);
/// assert_eq!(breaches, [0b1100]);
/// assert!(!watch.is_pending());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    shape: Shape,
    past: bool,
}

impl Watch {
    /// The rule before any event.
    #[must_use]
    pub const fn new(shape: Shape) -> Watch {
        Watch { shape, past: false }
    }

    /// Whether something is still owed: one more breach if the session ends here.
    #[must_use]
    pub const fn is_pending(&self) -> bool {
        self.past && matches!(self.shape, Shape::Response | Shape::ChainResponse)
    }

    /// Reads the next `events` events and writes which of them break the rule, 64 in a word; bits past the last event
    /// are cleared. It goes as far as all the words do, so [`Shape::Absence`] takes its one column twice. A call after
    /// this one begins with a new word.
    ///
    /// # Complexity
    /// A few instructions per word, a few hundredths of a nanosecond per event.
    pub fn run(&mut self, events: usize, a: &[u64], b: &[u64], breaches: &mut [u64]) {
        let words = events.div_ceil(64).min(a.len()).min(b.len()).min(breaches.len());
        let (a, b) = (a.get(..words).unwrap_or(&[]), b.get(..words).unwrap_or(&[]));
        let breaches = breaches.get_mut(..words).unwrap_or_default();
        let events = events.min(words * 64);
        let columns = Columns { events, a, b, breaches };
        // What is kept, and the breaches, of 64 events.
        self.past = match self.shape {
            Shape::Absence => columns.read(self.past, |a, _, _| (0, a)),
            Shape::Response => columns.read(self.past, |a, b, past| (since(!b, a & !b, past), 0)),
            Shape::Precedence => columns.read(self.past, |a, b, past| {
                let seen = once(a, past);
                (seen, b & !seen)
            }),
            Shape::Before => columns.read(self.past, |a, b, past| {
                let seen = once(a, past);
                (seen, b & !yesterday(seen, past))
            }),
            Shape::NotSuccession => columns.read(self.past, |a, b, past| {
                let seen = once(a, past);
                (seen, b & seen)
            }),
            Shape::NotSuccessionOfEarlier => columns.read(self.past, |a, b, past| {
                let seen = once(a & !b, past);
                (seen, b & (a | yesterday(seen, past)))
            }),
            Shape::NeverAfter => columns.read(self.past, |a, b, past| {
                let seen = once(a, past);
                (seen, b & yesterday(seen, past))
            }),
            Shape::ChainResponse => columns.read(self.past, |a, b, past| (a, yesterday(a, past) & !b)),
            Shape::ChainPrecedence => columns.read(self.past, |a, b, past| (a, b & !yesterday(a, past))),
            Shape::NotChainSuccession => columns.read(self.past, |a, b, past| (a, b & yesterday(a, past))),
        };
    }
}

/// Columns of equal length, and how many of their bits are events.
struct Columns<'a> {
    events: usize,
    a: &'a [u64],
    b: &'a [u64],
    breaches: &'a mut [u64],
}

impl Columns<'_> {
    /// Computes 64 events at a time from `a`, `b` and whether the bit that is kept was set before; returns that bit
    /// after the last event.
    #[inline]
    fn read(self, past: bool, word: impl Fn(u64, u64, bool) -> (u64, u64)) -> bool {
        let Columns { events, a, b, breaches } = self;
        let mut past = past;
        let mut words = a.iter().zip(b).zip(breaches);
        for ((a, b), breaches) in words.by_ref().take(events / 64) {
            let (kept, broken) = word(*a, *b, past);
            past = kept >> 63 != 0;
            *breaches = broken;
        }
        if let (Some(((a, b), breaches)), rest @ 1..) = (words.next(), events % 64) {
            let (kept, broken) = word(*a, *b, past);
            past = kept >> (rest - 1) & 1 != 0;
            *breaches = broken & ((1 << rest) - 1);
        }
        past
    }
}

/// Writes the column of a proposition that holds at the symbols in `classes` (bit `c % 64` of word `c / 64`: it holds at
/// class `c`), as far as there are words; bits past the last event are cleared.
///
/// # Complexity
/// A few instructions per event.
pub fn truth(symbols: &[u8], classes: &[u64; 4], column: &mut [u64]) {
    arch::widest(Truth { symbols, classes, column });
}

struct Truth<'a> {
    symbols: &'a [u8],
    classes: &'a [u64; 4],
    column: &'a mut [u64],
}

impl Kernel for Truth<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (symbols, word) in self.symbols.chunks(64).zip(self.column) {
            let mut bits = 0;
            for (event, symbol) in symbols.iter().enumerate() {
                bits |= (self.classes[usize::from(symbol >> 6)] >> (symbol & 63) & 1) << event;
            }
            *word = bits;
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{vec, vec::Vec};

    use super::*;
    use crate::batch::tests::Random;

    /// Words whose runs of equal bits are of any length.
    fn word(random: &mut Random) -> u64 {
        match random.below(4) {
            0 => random.word(),
            1 => random.word() & random.word() & random.word(),
            2 => u64::MAX << random.below(64),
            _ => [0, u64::MAX][random.below(2)],
        }
    }

    #[test]
    fn operators_of_the_past_by_their_definitions() {
        let mut random = Random(9);
        for _ in 0..2000 {
            let (f, g) = (word(&mut random), word(&mut random));
            for before in [false, true] {
                let words =
                    [yesterday(f, before), once(f, before), historically(f, before), since(f, g, before)];
                let [mut was, mut some, mut all, mut held] = [before; 4];
                for t in 0..64 {
                    let (f, g) = (f >> t & 1 != 0, g >> t & 1 != 0);
                    (some, all, held) = (some || f, all && f, g || f && held);
                    let expected = [was, some, all, held];
                    assert_eq!(words.map(|word| word >> t & 1 != 0), expected, "bit {t}");
                    was = f;
                }
            }
        }
    }

    #[test]
    fn a_log_in_pieces_is_the_whole_log() {
        let mut random = Random(10);
        for shape in [
            Shape::Absence,
            Shape::Response,
            Shape::Precedence,
            Shape::Before,
            Shape::NotSuccession,
            Shape::NotSuccessionOfEarlier,
            Shape::NeverAfter,
            Shape::ChainResponse,
            Shape::ChainPrecedence,
            Shape::NotChainSuccession,
        ] {
            for _ in 0..50 {
                let a: Vec<u64> = (0..5).map(|_| word(&mut random)).collect();
                let b: Vec<u64> = (0..5).map(|_| word(&mut random)).collect();
                let events = random.below(321);
                let (mut whole, mut breaches) = (Watch::new(shape), vec![u64::MAX; 5]);
                whole.run(events, &a, &b, &mut breaches);
                // One event at a time: each call begins with a new word.
                let mut single = Watch::new(shape);
                for t in 0..events {
                    let bit = |column: &[u64]| [column[t / 64] >> (t % 64)];
                    let mut breach = [0];
                    single.run(1, &bit(&a), &bit(&b), &mut breach);
                    assert_eq!(breach, [breaches[t / 64] >> (t % 64) & 1], "{shape:?}, event {t}");
                }
                assert_eq!(whole, single);
                // Nothing is said of what is past the end.
                let past = breaches.get(events / 64).map_or(0, |word| word >> (events % 64));
                assert!(events.is_multiple_of(64) || past == 0);
            }
        }
    }

    #[test]
    fn the_column_of_a_set_of_classes() {
        let mut random = Random(11);
        for len in 0..200 {
            let symbols = random.symbols(len, 256);
            let classes = core::array::from_fn(|_| random.word());
            let mut column = vec![u64::MAX; len.div_ceil(64)];
            truth(&symbols, &classes, &mut column);
            for t in 0..column.len() * 64 {
                let expected =
                    symbols.get(t).is_some_and(|s| classes[usize::from(*s) / 64] >> (s % 64) & 1 != 0);
                assert_eq!(column[t / 64] >> (t % 64) & 1 != 0, expected);
            }
        }
    }
}
