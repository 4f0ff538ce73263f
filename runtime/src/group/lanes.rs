//! Rules of few states side by side in the bits of words.

use super::{Group, Note, Place, Record};
use crate::{Change, Symbol, Verdict, wire::Bytes};

/// The most state bits of a lane.
const MAX_BITS: usize = 3;

/// Words of a block, where one word does not hold all rules.
const WIDE: usize = 4;

/// Rules of at most eight states, 64 in a word: each lane's state is one bit in each of `bits` words, and a class of
/// letters turns the old bits into the new ones by polynomials over GF(2) whose coefficients are words.
///
/// Words come in blocks: of one if that holds all rules, else of four, which are computed side by side. A block's row
/// for one class: for each output (the new bits, "something to say", "breach") the coefficients of all products of state
/// bits, the constant first, each once per word. What letters do to a rule of two states, for example, is one of "stay",
/// "be 0", "be 1", "change": `new = a ^ b & old`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes<'a> {
    bits: usize,
    /// Words of a block, and blocks.
    width: usize,
    blocks: usize,
    coefficients: &'a [u8],
    /// For each block, `bits` times the words of the block.
    initial: &'a [u8],
    /// Per lane the verdicts of its states, two bits each.
    verdicts: Bytes<'a>,
}

/// Bytes of the coefficients of one block under one class.
const fn row_len(bits: usize, width: usize) -> usize {
    (bits + 2) * (8 << bits) * width
}

/// The state bits of a block, word by word.
type Bits<const BITS: usize, const WIDTH: usize> = [[u64; WIDTH]; BITS];

/// Calls the method with the constants that fit the lanes.
macro_rules! with_shape {
    ($lanes:expr, $method:ident($($argument:expr),*)) => {
        match ($lanes.bits, $lanes.width) {
            (1, 1) => $lanes.$method::<1, 1>($($argument),*),
            (2, 1) => $lanes.$method::<2, 1>($($argument),*),
            (_, 1) => $lanes.$method::<3, 1>($($argument),*),
            (1, _) => $lanes.$method::<1, WIDE>($($argument),*),
            (2, _) => $lanes.$method::<2, WIDE>($($argument),*),
            _ => $lanes.$method::<3, WIDE>($($argument),*),
        }
    };
}

impl<'a> Lanes<'a> {
    pub(super) fn read(record: Record<'a>) -> Option<Lanes<'a>> {
        let (bits, words) = (record.states as usize, record.shape as usize);
        let initial = record.part(record.initial, words.checked_mul(bits)?.checked_mul(8)?)?;
        let verdicts = Bytes(record.part(record.verdicts, (record.slot_len as usize).checked_mul(2)?)?);
        let width = if words == 1 { 1 } else { WIDE };
        Some(Lanes { bits, width, blocks: words / width, coefficients: record.table, initial, verdicts })
    }

    pub(super) fn check(
        &self,
        class_len: u32,
        slots: usize,
        states: &dyn Fn(usize) -> u32,
    ) -> Result<(), &'static str> {
        if !(1..=MAX_BITS).contains(&self.bits) {
            return Err("lanes of no such width");
        }
        let rows = (class_len as usize).checked_mul(self.blocks);
        let len = rows.and_then(|rows| rows.checked_mul(row_len(self.bits, self.width)));
        let words = self.blocks * self.width;
        if len != Some(self.coefficients.len())
            || self.initial.len() != words * self.bits * 8
            || slots > words * 64
            || slots + self.width * 64 <= words * 64
        {
            return Err("lanes have the wrong size");
        }
        if (0..slots).any(|slot| states(slot) > 1 << self.bits) {
            return Err("a rule has more states than its lane");
        }
        Ok(())
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.initial.len()
    }

    pub(super) fn reset(&self, state: &mut impl Place, at: usize) {
        for (i, word) in self.initial.as_chunks::<8>().0.iter().enumerate() {
            state.put(at + i * 8, *word);
        }
    }

    #[inline]
    pub(super) fn step(&self, group: &Group<'_>, state: &mut impl Place, class: u32, note: &mut impl Note) {
        with_shape!(self, step_all(group, state, class, note));
    }

    /// The rows of a class, one per block.
    #[inline]
    fn rows<const BITS: usize, const WIDTH: usize>(&self, class: u32) -> core::slice::ChunksExact<'a, u8> {
        let len = self.blocks * row_len(BITS, WIDTH);
        let rows = self.coefficients.get(class as usize * len..).and_then(|rows| rows.get(..len));
        rows.unwrap_or(&[]).chunks_exact(row_len(BITS, WIDTH))
    }

    fn step_all<const BITS: usize, const WIDTH: usize>(
        &self,
        group: &Group<'_>,
        state: &mut impl Place,
        class: u32,
        note: &mut impl Note,
    ) {
        for (block, row) in self.rows::<BITS, WIDTH>(class).enumerate() {
            let at = group.at + block * BITS * WIDTH * 8;
            let old = load::<BITS, WIDTH>(state.bytes(), at);
            let new = self.step_block(group, block, row, &old, note);
            for (b, words) in new.iter().enumerate() {
                state.put_words(at + b * WIDTH * 8, words);
            }
        }
    }

    /// The new bits of a block; what there is to say is noted.
    #[inline]
    fn step_block<const BITS: usize, const WIDTH: usize, N: Note>(
        &self,
        group: &Group<'_>,
        block: usize,
        row: &[u8],
        old: &Bits<BITS, WIDTH>,
        note: &mut N,
    ) -> Bits<BITS, WIDTH> {
        let row = row.as_chunks::<8>().0;
        let new = core::array::from_fn(|b| output(row, b, old));
        let told = output(row, if N::BREACHES { BITS + 1 } else { BITS }, old);
        if told != [0; WIDTH] {
            self.tell(group, block, &told, &output(row, BITS + 1, old), &new, note);
        }
        new
    }

    fn tell<const BITS: usize, const WIDTH: usize>(
        &self,
        group: &Group<'_>,
        block: usize,
        told: &[u64; WIDTH],
        breach: &[u64; WIDTH],
        new: &Bits<BITS, WIDTH>,
        note: &mut impl Note,
    ) {
        for i in 0..WIDTH {
            let mut left = told[i];
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                let slot = (block * WIDTH + i) * 64 + lane as usize;
                let is = |word: u64| (word >> lane & 1) as u32;
                let code = (0..BITS).fold(0, |code, b| code | is(new[b][i]) << b);
                let verdicts = self.verdicts.u16(slot * 2).unwrap_or(0);
                let verdict = Verdict::from_bits(verdicts >> (code * 2));
                note.note(Change { rule: group.rule(slot), verdict, breach: is(breach[i]) != 0 });
            }
        }
    }

    /// Reads many events if all lanes are in one word.
    #[inline]
    pub(super) fn run(
        &self,
        group: &Group<'_>,
        state: &mut [u8],
        symbols: &[Symbol],
        note: &mut impl Note,
    ) -> bool {
        match (self.blocks, self.width, self.bits) {
            (1, 1, 1) => self.run_word::<1>(group, state, symbols, note),
            (1, 1, 2) => self.run_word::<2>(group, state, symbols, note),
            (1, 1, 3) => self.run_word::<3>(group, state, symbols, note),
            _ => return false,
        }
        true
    }

    #[inline]
    fn run_word<const BITS: usize>(
        &self,
        group: &Group<'_>,
        mut state: &mut [u8],
        symbols: &[Symbol],
        note: &mut impl Note,
    ) {
        let mut bits = load::<BITS, 1>(state, group.at);
        for (event, symbol) in symbols.iter().enumerate() {
            let at = usize::from(symbol.0) * row_len(BITS, 1);
            let Some(row) = self.coefficients.get(at..at + row_len(BITS, 1)) else { continue };
            note.at(event);
            bits = self.step_block(group, 0, row, &bits, note);
        }
        for (b, word) in bits.iter().enumerate() {
            (&mut state).put_words(group.at + b * 8, word);
        }
    }

    /// Where the word of one state bit of a slot's lane is.
    const fn word_at(&self, slot: usize, bit: usize) -> usize {
        let word = slot / 64;
        let (block, word) = if self.width == 1 { (word, 0) } else { (word / WIDE, word % WIDE) };
        ((block * self.bits + bit) * self.width + word) * 8
    }

    /// The state of one lane.
    pub(super) fn part(&self, state: &[u8], at: usize, slot: usize) -> u32 {
        let word = |bit| Bytes(state).u64(at + self.word_at(slot, bit)).unwrap_or(0);
        (0..self.bits).fold(0, |s, b| s | ((word(b) >> (slot & 63) & 1) as u32) << b)
    }

    /// Whether the lanes past the last rule are where they began.
    pub(super) fn idle_are_zero(&self, state: &[u8], at: usize, slots: usize) -> bool {
        (slots..self.blocks * self.width * 64).all(|slot| self.part(state, at, slot) == 0)
    }

    /// Whether a class breaks some rule.
    pub(super) fn breaks(&self, group: &Group<'_>, state: &[u8], class: u32) -> bool {
        with_shape!(self, any_breaks(group, state, class))
    }

    fn any_breaks<const BITS: usize, const WIDTH: usize>(
        &self,
        group: &Group<'_>,
        state: &[u8],
        class: u32,
    ) -> bool {
        self.rows::<BITS, WIDTH>(class).enumerate().any(|(block, row)| {
            let old = load::<BITS, WIDTH>(state, group.at + block * BITS * WIDTH * 8);
            output(row.as_chunks::<8>().0, BITS + 1, &old) != [0; WIDTH]
        })
    }
}

/// The state bits of a block.
#[inline]
fn load<const BITS: usize, const WIDTH: usize>(state: &[u8], at: usize) -> Bits<BITS, WIDTH> {
    let words =
        state.get(at..).and_then(|state| state.get(..BITS * WIDTH * 8)).unwrap_or(&[]).as_chunks::<8>().0;
    core::array::from_fn(|b| core::array::from_fn(|i| word(words, b * WIDTH + i)))
}

#[inline]
fn word(words: &[[u8; 8]], i: usize) -> u64 {
    words.get(i).map_or(0, |word| u64::from_le_bytes(*word))
}

/// One output of a row: the sum over GF(2) of the coefficients times the products of state bits; the product with
/// number `m` is that of the bits in `m`.
#[inline]
fn output<const BITS: usize, const WIDTH: usize>(
    row: &[[u8; 8]],
    index: usize,
    bits: &Bits<BITS, WIDTH>,
) -> [u64; WIDTH] {
    let mut sum = [0; WIDTH];
    for m in 0..1 << BITS {
        for i in 0..WIDTH {
            let coefficient = word(row, ((index << BITS) + m) * WIDTH + i);
            sum[i] ^= (0..BITS).filter(|b| m >> b & 1 != 0).fold(coefficient, |all, b| all & bits[b][i]);
        }
    }
    sum
}
