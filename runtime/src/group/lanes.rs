//! Rules of few states side by side in the bits of words.

use super::{Group, Note, Place, Record, put_initial};
use crate::{
    Change, Symbol, Verdict,
    arch::{self, Kernel},
    layout::{BLOCK, LANE_BITS, LANE_WORDS as WIDE},
    wire::{Budget, Bytes},
};

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
    /// No event breaks a rule in any state.
    unbreakable: bool,
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

/// Blocks of a group, whose rules are within one block of the rule set.
const ALL: usize = BLOCK / 64 / WIDE;

/// What an event does to the lanes of so many blocks. The arrays are apart, since clearing one is a few stores, and
/// clearing all at once is a call.
struct News<'n, const BITS: usize, const WIDTH: usize, const BLOCKS: usize> {
    new: &'n mut [Bits<BITS, WIDTH>; BLOCKS],
    /// The lanes of which there is something to say, and, unless only breaches are told, those whose rule is broken.
    told: &'n mut [[u64; WIDTH]; BLOCKS],
    breach: &'n mut [[u64; WIDTH]; BLOCKS],
    /// Bit `i`: there is something to tell of word `i`.
    some: u32,
}

/// Calls the method with the constants that fit the lanes: bits, words of a block, blocks at the most.
macro_rules! with_shape {
    ($lanes:expr, $method:ident($($argument:expr),*)) => {
        match ($lanes.bits, $lanes.width, $lanes.blocks) {
            (1, 1, _) => $lanes.$method::<1, 1, 1>($($argument),*),
            (2, 1, _) => $lanes.$method::<2, 1, 1>($($argument),*),
            (_, 1, _) => $lanes.$method::<3, 1, 1>($($argument),*),
            (1, _, 1) => $lanes.$method::<1, WIDE, 1>($($argument),*),
            (2, _, 1) => $lanes.$method::<2, WIDE, 1>($($argument),*),
            (_, _, 1) => $lanes.$method::<3, WIDE, 1>($($argument),*),
            (1, ..) => $lanes.$method::<1, WIDE, ALL>($($argument),*),
            (2, ..) => $lanes.$method::<2, WIDE, ALL>($($argument),*),
            _ => $lanes.$method::<3, WIDE, ALL>($($argument),*),
        }
    };
}

impl<'a> Lanes<'a> {
    pub(super) fn read(record: Record<'a>) -> Option<Lanes<'a>> {
        let (bits, words) = (record.states as usize, record.shape as usize);
        let initial = record.part(record.initial, words.checked_mul(bits)?.checked_mul(8)?)?;
        let verdicts = Bytes(record.part(record.verdicts, (record.slot_len as usize).checked_mul(2)?)?);
        let width = if words == 1 { 1 } else { WIDE };
        let unbreakable = record.marks != 0;
        Some(Lanes {
            bits,
            width,
            blocks: words / width,
            unbreakable,
            coefficients: record.table,
            initial,
            verdicts,
        })
    }

    pub(super) fn check(
        &self,
        class_len: u32,
        slots: usize,
        states: &dyn Fn(usize) -> u32,
        budget: &mut Budget,
    ) -> Result<(), &'static str> {
        if !(1..=LANE_BITS).contains(&self.bits) {
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
        budget.take(&[self.coefficients])?;
        let row = row_len(self.bits, self.width);
        let breach = |row: &[u8]| row.iter().rev().take((8 << self.bits) * self.width).any(|byte| *byte != 0);
        if self.unbreakable && self.coefficients.chunks_exact(row.max(1)).any(breach) {
            return Err("an edge breaks a rule against what is said");
        }
        Ok(())
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.initial.len()
    }

    pub(super) fn reset(&self, state: &mut impl Place, at: usize) {
        put_initial(self.initial, state, at);
    }

    #[inline]
    pub(super) fn step(&self, group: &Group<'_>, state: &mut impl Place, class: u32, note: &mut impl Note) {
        if self.width == 1 {
            with_shape!(self, step_all(group, state, class, note));
        } else {
            arch::widest(Step { lanes: self, group, state, class, note });
        }
    }

    /// The rows of a class, one per block.
    #[inline(always)]
    fn rows<const BITS: usize, const WIDTH: usize>(&self, class: u32) -> core::slice::ChunksExact<'a, u8> {
        let len = self.blocks * row_len(BITS, WIDTH);
        let rows = self.coefficients.get(class as usize * len..).and_then(|rows| rows.get(..len));
        rows.unwrap_or(&[]).chunks_exact(row_len(BITS, WIDTH))
    }

    #[inline(always)]
    fn step_all<const BITS: usize, const WIDTH: usize, const BLOCKS: usize>(
        &self,
        group: &Group<'_>,
        state: &mut impl Place,
        class: u32,
        note: &mut impl Note,
    ) {
        let (mut new, mut told, mut breach) =
            ([[[0; WIDTH]; BITS]; BLOCKS], [[0; WIDTH]; BLOCKS], [[0; WIDTH]; BLOCKS]);
        let mut news = News { new: &mut new, told: &mut told, breach: &mut breach, some: 0 };
        let rows = self.rows::<BITS, WIDTH>(class);
        let blocks = news.read(rows, state.bytes().get(group.at..).unwrap_or(&[]), note);
        let words = news.new.as_flattened().as_flattened();
        state.put_words(group.at, words.get(..blocks * BITS * WIDTH).unwrap_or(&[]));
        self.tell(group, &news, note);
    }

    /// Notes what there is to say.
    #[inline(always)]
    fn tell<const BITS: usize, const WIDTH: usize, const BLOCKS: usize, N: Note>(
        &self,
        group: &Group<'_>,
        news: &News<'_, BITS, WIDTH, BLOCKS>,
        note: &mut N,
    ) {
        let verdicts = self.verdicts.0.as_chunks().0;
        let mut some = news.some;
        while some != 0 {
            let word = some.trailing_zeros() as usize % (BLOCKS * WIDTH);
            some &= some - 1;
            let (block, i) = (word / WIDTH, word % WIDTH);
            let mut left = news.told[block][i];
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                let slot = word * 64 + lane as usize;
                let is = |word: u64| (word >> lane & 1) as u32;
                let code = (0..BITS).fold(0, |code, b| code | is(news.new[block][b][i]) << b);
                let verdicts = verdicts.get(slot).map_or(0, |verdicts| u16::from_le_bytes(*verdicts));
                let verdict = Verdict::from_bits(verdicts >> (code * 2));
                let breach = N::BREACHES || is(news.breach[block][i]) != 0;
                note.note(Change { rule: group.rule(slot), verdict, breach });
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
        let mut bits = load::<BITS, 1>(state.get(group.at..).unwrap_or(&[]));
        let (mut event, mut rest) = (0, symbols);
        if note.breaches_only() && self.unbreakable {
            for symbol in core::mem::take(&mut rest) {
                if let Some(row) = self.row::<BITS>(*symbol) {
                    bits = core::array::from_fn(|b| output(row, b, &bits));
                }
            }
        }
        while !rest.is_empty() {
            // Breaches are rare: a few events at once are asked whether there is any, and gone through again if so.
            if note.breaches_only()
                && let Some((ahead, after)) = rest.split_first_chunk::<AHEAD>()
            {
                let (mut new, mut any) = (bits, 0);
                for symbol in ahead {
                    let (mut next, mut told, mut breach) = ([new], [[0]], [[0]]);
                    let mut news = News { new: &mut next, told: &mut told, breach: &mut breach, some: 0 };
                    self.one_word(*symbol, &new, &mut news, note);
                    any |= told[0][0];
                    [new] = next;
                }
                if any == 0 {
                    (bits, rest) = (new, after);
                    event += AHEAD;
                    continue;
                }
            }
            let (these, after) = rest.split_at(AHEAD.min(rest.len()));
            for symbol in these {
                let (mut next, mut told, mut breach) = ([bits], [[0]], [[0]]);
                let mut news = News { new: &mut next, told: &mut told, breach: &mut breach, some: 0 };
                self.one_word(*symbol, &bits, &mut news, note);
                note.at(event);
                self.tell(group, &news, note);
                [bits] = next;
                event += 1;
            }
            rest = after;
        }
        (&mut state).put_words(group.at, bits.as_flattened());
    }

    /// What an event does to the lanes of the only word; a symbol of another set does nothing.
    #[inline(always)]
    fn one_word<const BITS: usize>(
        &self,
        symbol: Symbol,
        bits: &Bits<BITS, 1>,
        news: &mut News<'_, BITS, 1, 1>,
        note: &impl Note,
    ) {
        if let Some(row) = self.row::<BITS>(symbol) {
            news.read_block(0, row, bits, note);
        }
    }

    /// The coefficients of the only word; none of a symbol of another set.
    #[inline(always)]
    fn row<const BITS: usize>(&self, symbol: Symbol) -> Option<&'a [[u8; 8]]> {
        let at = usize::from(symbol.0) * row_len(BITS, 1);
        Some(self.coefficients.get(at..at + row_len(BITS, 1))?.as_chunks::<8>().0)
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

    fn any_breaks<const BITS: usize, const WIDTH: usize, const BLOCKS: usize>(
        &self,
        group: &Group<'_>,
        state: &[u8],
        class: u32,
    ) -> bool {
        self.rows::<BITS, WIDTH>(class).enumerate().any(|(block, row)| {
            let old = load::<BITS, WIDTH>(state.get(group.at + block * BITS * WIDTH * 8..).unwrap_or(&[]));
            output(row.as_chunks::<8>().0, BITS + 1, &old) != [0; WIDTH]
        })
    }
}

/// Events that are looked at together for breaches.
const AHEAD: usize = 8;

/// One event through blocks of four words.
struct Step<'s, 'a, P, N> {
    lanes: &'s Lanes<'a>,
    group: &'s Group<'a>,
    state: &'s mut P,
    class: u32,
    note: &'s mut N,
}

impl<P: Place, N: Note> Kernel for Step<'_, '_, P, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Step { lanes, group, state, class, note } = self;
        with_shape!(lanes, step_all(group, state, class, note));
    }
}

impl<const BITS: usize, const WIDTH: usize, const BLOCKS: usize> News<'_, BITS, WIDTH, BLOCKS> {
    /// Reads an event, whose rows these are, in the state that begins `state`; returns for how many blocks.
    #[inline(always)]
    fn read<'a, N: Note>(&mut self, rows: impl Iterator<Item = &'a [u8]>, state: &[u8], note: &N) -> usize {
        let (old, mut blocks) = (state.chunks_exact(BITS * WIDTH * 8), 0);
        for (block, (row, old)) in rows.zip(old).enumerate().take(BLOCKS) {
            self.read_block(block, row.as_chunks::<8>().0, &load(old), note);
            blocks = block + 1;
        }
        blocks
    }

    #[inline(always)]
    fn read_block<N: Note>(&mut self, block: usize, row: &[[u8; 8]], old: &Bits<BITS, WIDTH>, _: &N) {
        // No closures: one that is not inlined falls back to the baseline's vectors.
        for (b, words) in self.new[block].iter_mut().enumerate() {
            *words = output(row, b, old);
        }
        let breach = output(row, BITS + 1, old);
        let told = if N::BREACHES { breach } else { output(row, BITS, old) };
        (self.breach[block], self.told[block]) = (breach, told);
        for (i, word) in told.iter().enumerate() {
            self.some |= u32::from(*word != 0) << (block * WIDTH + i);
        }
    }
}

/// The state bits of a block.
#[inline(always)]
fn load<const BITS: usize, const WIDTH: usize>(state: &[u8]) -> Bits<BITS, WIDTH> {
    let words = state.get(..BITS * WIDTH * 8).unwrap_or(&[]).as_chunks::<8>().0;
    let mut bits = [[0; WIDTH]; BITS];
    for (i, place) in bits.as_flattened_mut().iter_mut().enumerate() {
        *place = word(words, i);
    }
    bits
}

#[inline(always)]
fn word(words: &[[u8; 8]], i: usize) -> u64 {
    words.get(i).map_or(0, |word| u64::from_le_bytes(*word))
}

/// One output of a row: the sum over GF(2) of the coefficients times the products of state bits; the product with
/// number `m` is that of the bits in `m`.
#[inline(always)]
fn output<const BITS: usize, const WIDTH: usize>(
    row: &[[u8; 8]],
    index: usize,
    bits: &Bits<BITS, WIDTH>,
) -> [u64; WIDTH] {
    let (rows, mut sum) = (row.as_chunks::<WIDTH>().0, [0; WIDTH]);
    for m in 0..1 << BITS {
        // Word by word side by side: whole loops over the words are what becomes vectors.
        let mut product = [0; WIDTH];
        if let Some(row) = rows.get((index << BITS) + m) {
            for (product, coefficient) in product.iter_mut().zip(row) {
                *product = u64::from_le_bytes(*coefficient);
            }
        }
        for (b, words) in bits.iter().enumerate() {
            if m >> b & 1 != 0 {
                for (product, word) in product.iter_mut().zip(words) {
                    *product &= word;
                }
            }
        }
        for (sum, product) in sum.iter_mut().zip(product) {
            *sum ^= product;
        }
    }
    sum
}
