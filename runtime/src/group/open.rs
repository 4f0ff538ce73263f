//! Rules of few states and few propositions side by side in the bits of words, whatever letters come.

use super::{Group, Note, Place, Record, put_initial};
use crate::{
    Change, Letter, Verdict,
    layout::{OPEN_OUTPUTS, OPEN_VARIABLES, QUAD},
    wire::{Budget, Bytes},
};

/// Words of a word's record: state bits, inputs, number of quads and their offset, offset of the masks, offset of the
/// terms, terms of each output.
const RECORD: usize = 6 + OPEN_OUTPUTS;
/// Bytes of a term: the number of the product, zero, the coefficient.
const TERM: usize = 16;

/// Like [`super::lanes::Lanes`], but the inputs of a lane are the values of its rule's own propositions rather than one
/// class that all lanes share: where propositions hold as they like, the letters are too many to tell apart.
///
/// A word reads the letter by quads, four neighbouring propositions each, where its rules have any. Each of the 16 ways in
/// which a quad's propositions can hold has a mask per input: the lanes whose rule has one that holds there. The inputs
/// are the union of those masks, found without a jump however many propositions hold. Outputs are polynomials over GF(2) in state bits and inputs, of which only
/// the terms that some lane has are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open<'a> {
    section: Bytes<'a>,
    /// One record per 64 lanes.
    words: &'a [u8],
    initial: &'a [u8],
    /// Per lane the verdicts of its states, two bits each.
    verdicts: Bytes<'a>,
}

/// One word, as its record describes it.
#[derive(Clone, Copy)]
struct Word<'a> {
    bits: usize,
    inputs: usize,
    quads: &'a [u8],
    masks: &'a [u8],
    terms: &'a [u8],
    counts: [u32; OPEN_OUTPUTS],
}

/// What an event does to 64 lanes.
struct News {
    /// The old and the new state bits, each the first of so many words.
    old: [u64; OPEN_VARIABLES],
    new: [u64; OPEN_VARIABLES],
    /// The lanes that have moved or are broken, or, if only breaches are told, those that are broken.
    told: u64,
    breach: u64,
}

impl<'a> Open<'a> {
    pub(super) fn read(record: Record<'a>) -> Option<Open<'a>> {
        let words = record.shape as usize;
        let own = record.table.get(..words.checked_mul(RECORD * 4)?)?;
        let initial = record.part(record.initial, (record.states as usize).checked_mul(8)?)?;
        let verdicts = Bytes(record.part(record.verdicts, (record.slot_len as usize).checked_mul(2)?)?);
        Some(Open { section: record.section, words: own, initial, verdicts })
    }

    fn words(&self) -> impl Iterator<Item = Option<Word<'a>>> + '_ {
        self.words.as_chunks::<{ RECORD * 4 }>().0.iter().map(|record| self.word(record))
    }

    #[inline]
    fn word(&self, record: &[u8; RECORD * 4]) -> Option<Word<'a>> {
        let [bits, inputs, quad_len, quads, masks, terms, counts @ ..] =
            record.as_chunks::<4>().0.first_chunk::<RECORD>()?.map(u32::from_le_bytes);
        let (bits, inputs) = (bits as usize, inputs as usize);
        let len = counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n as usize));
        let quad_len = quad_len as usize;
        let mask_len = quad_len.checked_mul(QUAD)?.checked_mul(inputs)?.checked_mul(8)?;
        Some(Word {
            bits,
            inputs,
            quads: self.section.part(quads as usize, quad_len.checked_mul(4)?)?,
            masks: self.section.part(masks as usize, mask_len)?,
            terms: self.section.part(terms as usize, len.checked_mul(TERM)?)?,
            counts,
        })
    }

    pub(super) fn check(
        &self,
        slots: usize,
        states: &dyn Fn(usize) -> u32,
        budget: &mut Budget,
    ) -> Result<(), &'static str> {
        let mut bits = 0;
        for (i, word) in self.words().enumerate() {
            let word = word.ok_or("the tables of a word of lanes are not there")?;
            budget.take(&[word.terms])?;
            let variables = word.bits.saturating_add(word.inputs);
            if word.bits == 0 || variables > OPEN_VARIABLES {
                return Err("lanes of no such width");
            }
            let past = word.counts.iter().skip(1 + word.bits).any(|&n| n != 0);
            let numbers = word.terms.as_chunks::<TERM>().0.iter().map(|t| Bytes(t).u32(0).unwrap_or(0));
            if past || numbers.into_iter().any(|n| n >> variables != 0) {
                return Err("a term of no such product");
            }
            let lanes = slots.saturating_sub(i * 64).min(64);
            if lanes == 0 || (0..lanes).any(|lane| states(i * 64 + lane) > 1 << word.bits) {
                return Err("a rule has more states than its lane");
            }
            bits += word.bits;
        }
        if self.initial.len() != bits * 8 || slots > self.words.len() / (RECORD * 4) * 64 {
            return Err("lanes have the wrong size");
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
    pub(super) fn step(
        &self,
        group: &Group<'_>,
        state: &mut impl Place,
        letter: Letter<'_>,
        note: &mut impl Note,
    ) {
        let mut at = group.at;
        for (i, word) in self.words().enumerate() {
            let Some(word) = word else { return };
            let news = match word.bits + word.inputs {
                1 => word.step::<2>(state.bytes(), at, letter, note),
                2 => word.step::<4>(state.bytes(), at, letter, note),
                3 => word.step::<8>(state.bytes(), at, letter, note),
                4 => word.step::<16>(state.bytes(), at, letter, note),
                5 => word.step::<32>(state.bytes(), at, letter, note),
                _ => word.step::<64>(state.bytes(), at, letter, note),
            };
            for (b, new) in news.new.iter().enumerate().take(word.bits) {
                state.put(at + b * 8, new.to_le_bytes());
            }
            at += word.bits * 8;
            if news.told != 0 {
                self.tell(group, (i, word.bits), &news, note);
            }
        }
    }

    fn tell<N: Note>(&self, group: &Group<'_>, (word, bits): (usize, usize), news: &News, note: &mut N) {
        let mut left = news.told;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let slot = word * 64 + lane as usize;
            let is = |word: u64| (word >> lane & 1) as u32;
            let verdicts = self.verdicts.u16(slot * 2).unwrap_or(0);
            let verdict = |words: &[u64; OPEN_VARIABLES]| {
                let code =
                    words.iter().enumerate().take(bits).fold(0, |code, (b, word)| code | is(*word) << b);
                Verdict::from_bits(verdicts.wrapping_shr(code * 2))
            };
            let (before, verdict, breach) = (verdict(&news.old), verdict(&news.new), is(news.breach) != 0);
            if breach || verdict != before {
                note.note(Change { rule: group.rule(slot), verdict, breach });
            }
        }
    }

    /// The state of one lane.
    pub(super) fn part(&self, state: &[u8], at: usize, slot: usize) -> u32 {
        let before = self.words().take(slot / 64).flatten().fold(0, |sum, word| sum + word.bits);
        let bits = self.words().nth(slot / 64).flatten().map_or(0, |word| word.bits);
        let word = |b: usize| Bytes(state).u64(at + (before + b) * 8).unwrap_or(0);
        (0..bits).fold(0, |s, b| s | ((word(b) >> (slot & 63) & 1) as u32) << b)
    }

    /// Whether the lanes past the last rule are where they began.
    pub(super) fn idle_are_zero(&self, state: &[u8], at: usize, slots: usize) -> bool {
        (slots..self.words.len() / (RECORD * 4) * 64).all(|slot| self.part(state, at, slot) == 0)
    }
}

impl Word<'_> {
    /// The inputs, the first `INPUTS` of so many.
    #[inline]
    fn gather<const INPUTS: usize>(&self, letter: Letter<'_>) -> [u64; OPEN_VARIABLES - 1] {
        let mut inputs = [0; OPEN_VARIABLES - 1];
        let masks = self.masks.as_chunks::<8>().0;
        for (i, quad) in self.quads.as_chunks::<4>().0.iter().enumerate() {
            let quad = u32::from_le_bytes(*quad) as usize;
            let word = letter.0.get(quad / 16).copied().unwrap_or(0);
            let holding = (word >> (quad % 16 * 4)) as usize % QUAD;
            let own =
                masks.get((i * QUAD + holding) * INPUTS..).and_then(|masks| masks.first_chunk::<INPUTS>());
            for (input, mask) in inputs.iter_mut().zip(own.unwrap_or(&[[0; 8]; INPUTS])) {
                *input |= u64::from_le_bytes(*mask);
            }
        }
        inputs
    }

    #[inline]
    fn step<const PRODUCTS: usize>(
        &self,
        state: &[u8],
        at: usize,
        letter: Letter<'_>,
        note: &impl Note,
    ) -> News {
        let mut variables = [0; OPEN_VARIABLES];
        for (b, variable) in variables.iter_mut().enumerate().take(self.bits) {
            *variable = Bytes(state).u64(at + b * 8).unwrap_or(0);
        }
        let inputs = match self.inputs {
            0 => self.gather::<0>(letter),
            1 => self.gather::<1>(letter),
            2 => self.gather::<2>(letter),
            3 => self.gather::<3>(letter),
            4 => self.gather::<4>(letter),
            _ => self.gather::<5>(letter),
        };
        for (variable, input) in variables.iter_mut().skip(self.bits).zip(inputs) {
            *variable = input;
        }
        // The product with number `m` is that of the variables in `m`; the empty one is true.
        let mut products = [u64::MAX; PRODUCTS];
        for (v, variable) in variables.iter().enumerate().take(PRODUCTS.ilog2() as usize) {
            let (done, rest) = products.split_at_mut(1 << v);
            for (new, old) in rest.iter_mut().zip(done) {
                *new = *old & variable;
            }
        }
        let mut terms = self.terms.as_chunks::<TERM>().0;
        let mut outputs = [0; OPEN_OUTPUTS];
        for (output, &count) in outputs.iter_mut().zip(&self.counts).take(1 + self.bits) {
            let Some((own, rest)) = terms.split_at_checked(count as usize) else { break };
            for term in own {
                let product = Bytes(term).u32(0).unwrap_or(0) as usize % PRODUCTS;
                *output ^= products[product] & Bytes(term).u64(8).unwrap_or(0);
            }
            terms = rest;
        }
        let [breach, new @ ..] = outputs;
        let mut told = breach;
        if !note.breaches_only() {
            told = new.iter().zip(variables).take(self.bits).fold(told, |told, (new, old)| told | new ^ old);
        }
        News { old: variables, new, told, breach }
    }
}
