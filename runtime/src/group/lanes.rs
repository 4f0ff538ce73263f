//! Rules of few states side by side in the bits of words.

use super::{Group, Note, Place, Record};
use crate::{Change, Symbol, Verdict, wire::Bytes};

/// The most state bits of a lane.
const MAX_BITS: usize = 3;

/// Rules of at most eight states, 64 in a word: each lane's state is one bit in each of `bits` words, and a class of
/// letters turns the old bits into the new ones by polynomials over GF(2) whose coefficients are words.
///
/// A word's row for one class: for each output (the new bits, "something to say", "breach") the coefficients of all
/// products of state bits, the constant first. What letters do to a rule of two states, for example, is one of "stay",
/// "be 0", "be 1", "change": `new = a ^ b & old`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes<'a> {
    bits: usize,
    words: usize,
    coefficients: &'a [u8],
    /// `bits` words for every 64 lanes.
    initial: &'a [u8],
    /// Per lane the verdicts of its states, two bits each.
    verdicts: Bytes<'a>,
}

/// Bytes of the coefficients of one word under one class.
const fn row_len(bits: usize) -> usize {
    (bits + 2) * (8 << bits)
}

impl<'a> Lanes<'a> {
    pub(super) fn read(record: Record<'a>) -> Option<Lanes<'a>> {
        let (bits, words) = (record.states as usize, record.shape as usize);
        let initial = record.part(record.initial, words.checked_mul(bits)?.checked_mul(8)?)?;
        let verdicts = Bytes(record.part(record.masks, (record.slot_len as usize).checked_mul(2)?)?);
        Some(Lanes { bits, words, coefficients: record.table, initial, verdicts })
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
        let rows = (class_len as usize).checked_mul(self.words);
        let len = rows.and_then(|rows| rows.checked_mul(row_len(self.bits)));
        if len != Some(self.coefficients.len()) || slots.div_ceil(64) != self.words {
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
    pub(super) fn step(
        &self,
        group: &Group<'_>,
        state: &mut impl Place,
        at: usize,
        class: u32,
        note: &mut impl Note,
    ) {
        match self.bits {
            1 => self.step_all::<1>(group, state, at, class, note),
            2 => self.step_all::<2>(group, state, at, class, note),
            _ => self.step_all::<3>(group, state, at, class, note),
        }
    }

    /// The rows of a class, one per word.
    #[inline]
    fn rows<const BITS: usize>(&self, class: u32) -> &'a [u8] {
        let len = self.words * row_len(BITS);
        self.coefficients.get(class as usize * len..).and_then(|rows| rows.get(..len)).unwrap_or(&[])
    }

    fn step_all<const BITS: usize>(
        &self,
        group: &Group<'_>,
        state: &mut impl Place,
        at: usize,
        class: u32,
        note: &mut impl Note,
    ) {
        for (word, row) in self.rows::<BITS>(class).chunks_exact(row_len(BITS)).enumerate() {
            let at = at + word * BITS * 8;
            let new = self.step_word::<BITS>(group, word, row, load(state.bytes(), at), note);
            for (b, new) in new.iter().enumerate() {
                state.put(at + b * 8, new.to_le_bytes());
            }
        }
    }

    /// The new bits of 64 lanes.
    #[inline]
    fn step_word<const BITS: usize>(
        &self,
        group: &Group<'_>,
        word: usize,
        row: &[u8],
        old: [u64; BITS],
        note: &mut impl Note,
    ) -> [u64; BITS] {
        let products = products(old);
        let output = |i: usize| evaluate::<BITS>(row, i, &products);
        let new: [u64; BITS] = core::array::from_fn(output);
        let told = output(if breaches_only(note) { BITS + 1 } else { BITS });
        if told != 0 {
            self.tell(group, word, told, output(BITS + 1), &new, note);
        }
        new
    }

    #[inline]
    fn tell<const BITS: usize>(
        &self,
        group: &Group<'_>,
        word: usize,
        mut told: u64,
        breach: u64,
        new: &[u64; BITS],
        note: &mut impl Note,
    ) {
        while told != 0 {
            let lane = told.trailing_zeros();
            told &= told - 1;
            let slot = word * 64 + lane as usize;
            let code = new.iter().enumerate().fold(0, |s, (b, word)| s | ((word >> lane & 1) as u32) << b);
            let verdicts = self.verdicts.u16(slot * 2).unwrap_or(0);
            let verdict = Verdict::from_bits(verdicts >> (code * 2));
            note.note(Change { rule: group.rule(slot), verdict, breach: breach >> lane & 1 != 0 });
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
        match (self.words, self.bits) {
            (1, 1) => self.run_word::<1>(group, state, symbols, note),
            (1, 2) => self.run_word::<2>(group, state, symbols, note),
            (1, 3) => self.run_word::<3>(group, state, symbols, note),
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
        let rows = self.coefficients.chunks_exact(row_len(BITS));
        let mut bits = load(state, group.at);
        for (event, symbol) in symbols.iter().enumerate() {
            let row = rows.clone().nth(usize::from(symbol.0)).unwrap_or(&[]);
            note.at(event);
            bits = self.step_word::<BITS>(group, 0, row, bits, note);
        }
        for (b, word) in bits.iter().enumerate() {
            (&mut state).put(group.at + b * 8, word.to_le_bytes());
        }
    }

    /// The state of one lane.
    pub(super) fn part(&self, state: &[u8], at: usize, slot: usize) -> u32 {
        let word = |b: usize| Bytes(state).u64(at + (slot / 64 * self.bits + b) * 8).unwrap_or(0);
        (0..self.bits).fold(0, |s, b| s | ((word(b) >> (slot & 63) & 1) as u32) << b)
    }

    /// Whether the lanes past the last rule are where they began.
    pub(super) fn idle_are_zero(&self, state: &[u8], at: usize, slots: usize) -> bool {
        (0..self.words * self.bits).all(|i| {
            let used = match slots - i / self.bits * 64 {
                lanes @ 0..64 => (1u64 << lanes) - 1,
                _ => u64::MAX,
            };
            Bytes(state).u64(at + i * 8).is_some_and(|word| word & !used == 0)
        })
    }

    /// Whether a class breaks some rule.
    pub(super) fn breaks(&self, state: &[u8], at: usize, class: u32) -> bool {
        match self.bits {
            1 => self.any_breaks::<1>(state, at, class),
            2 => self.any_breaks::<2>(state, at, class),
            _ => self.any_breaks::<3>(state, at, class),
        }
    }

    fn any_breaks<const BITS: usize>(&self, state: &[u8], at: usize, class: u32) -> bool {
        self.rows::<BITS>(class).chunks_exact(row_len(BITS)).enumerate().any(|(word, row)| {
            let old = load::<BITS>(state, at + word * BITS * 8);
            evaluate::<BITS>(row, BITS + 1, &products(old)) != 0
        })
    }
}

#[inline]
const fn breaches_only<N: Note>(_: &N) -> bool {
    N::BREACHES
}

/// The state bits of 64 lanes.
#[inline]
fn load<const BITS: usize>(state: &[u8], at: usize) -> [u64; BITS] {
    let state = state.get(at..).unwrap_or(&[]).as_chunks::<8>().0;
    core::array::from_fn(|b| state.get(b).map_or(0, |word| u64::from_le_bytes(*word)))
}

/// All products of the state bits, lane by lane: index `m` is that of the bits in `m`, the empty one is true.
#[inline]
fn products<const BITS: usize>(bits: [u64; BITS]) -> [u64; 1 << MAX_BITS] {
    let mut products = [u64::MAX; 1 << MAX_BITS];
    for m in 1..1usize << BITS {
        let top = m.ilog2() as usize;
        products[m] = products[m & !(1 << top)] & bits[top];
    }
    products
}

/// One output of a row: the sum over GF(2) of coefficients times products.
#[inline]
fn evaluate<const BITS: usize>(row: &[u8], output: usize, products: &[u64; 1 << MAX_BITS]) -> u64 {
    let row = row.as_chunks::<8>().0.get(output << BITS..(output + 1) << BITS).unwrap_or(&[]);
    row.iter().zip(products).fold(0, |sum, (c, m)| sum ^ u64::from_le_bytes(*c) & m)
}
