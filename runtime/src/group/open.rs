//! Rules of few states and few propositions side by side in the bits of words, whatever letters come.

use super::{Group, Note, Place, Record};
use crate::{Change, Letter, Verdict, wire::Bytes};

/// State bits and inputs of a lane together, at the most.
const MAX_VARIABLES: usize = 6;
/// Words of a word's record: state bits, inputs, offset of the masks, offset of the terms, terms of each output.
const RECORD: usize = 12;
/// The most outputs: the new state bits, "something to say", "breach".
const MAX_OUTPUTS: usize = MAX_VARIABLES + 2;
/// Bytes of a term: the number of the product, zero, the coefficient.
const TERM: usize = 16;

/// Like [`super::lanes::Lanes`], but the inputs of a lane are the values of its rule's own propositions rather than one
/// class that all lanes share: where propositions hold as they like, the letters are too many to tell apart.
///
/// Each proposition has for each word a mask per input: the lanes whose rule has it there. The inputs are the union of the
/// masks of the propositions that hold. Outputs are polynomials over GF(2) in state bits and inputs, of which only
/// the terms that some lane has are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open<'a> {
    section: Bytes<'a>,
    /// One record per 64 lanes.
    words: &'a [u8],
    initial: &'a [u8],
    /// Per lane the verdicts of its states, two bits each.
    verdicts: Bytes<'a>,
    prop_len: u32,
}

/// One word, as its record describes it.
#[derive(Clone, Copy)]
struct Word<'a> {
    bits: usize,
    inputs: usize,
    masks: &'a [u8],
    terms: &'a [u8],
    counts: [u32; MAX_OUTPUTS],
}

/// What an event does to 64 lanes.
struct News {
    new: [u64; MAX_VARIABLES],
    told: u64,
    breach: u64,
}

impl<'a> Open<'a> {
    pub(super) fn read(record: Record<'a>, prop_len: u32) -> Option<Open<'a>> {
        let words = record.shape as usize;
        let own = record.table.get(..words.checked_mul(RECORD * 4)?)?;
        let initial = record.part(record.initial, (record.states as usize).checked_mul(8)?)?;
        let verdicts = Bytes(record.part(record.verdicts, (record.slot_len as usize).checked_mul(2)?)?);
        Some(Open { section: record.section, words: own, initial, verdicts, prop_len })
    }

    fn words(&self) -> impl Iterator<Item = Option<Word<'a>>> + '_ {
        self.words.as_chunks::<{ RECORD * 4 }>().0.iter().map(|record| self.word(record))
    }

    #[inline]
    fn word(&self, record: &[u8; RECORD * 4]) -> Option<Word<'a>> {
        let [bits, inputs, masks, terms, counts @ ..] =
            record.as_chunks::<4>().0.first_chunk::<RECORD>()?.map(u32::from_le_bytes);
        let (bits, inputs) = (bits as usize, inputs as usize);
        let len = counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n as usize));
        let mask_len = (self.prop_len as usize).checked_mul(inputs)?.checked_mul(8)?;
        Some(Word {
            bits,
            inputs,
            masks: self.section.part(masks as usize, mask_len)?,
            terms: self.section.part(terms as usize, len.checked_mul(TERM)?)?,
            counts,
        })
    }

    pub(super) fn check(&self, slots: usize, states: &dyn Fn(usize) -> u32) -> Result<(), &'static str> {
        let mut bits = 0;
        for (i, word) in self.words().enumerate() {
            let word = word.ok_or("the tables of a word of lanes are not there")?;
            let variables = word.bits.saturating_add(word.inputs);
            if word.bits == 0 || variables > MAX_VARIABLES {
                return Err("lanes of no such width");
            }
            let past = word.counts.iter().skip(word.bits + 2).any(|&n| n != 0);
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
        for (i, word) in self.initial.as_chunks::<8>().0.iter().enumerate() {
            state.put(at + i * 8, *word);
        }
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
                self.tell(group, i, &news, note);
            }
        }
    }

    fn tell(&self, group: &Group<'_>, word: usize, news: &News, note: &mut impl Note) {
        let mut left = news.told;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let slot = word * 64 + lane as usize;
            let is = |word: u64| (word >> lane & 1) as u32;
            let code = news.new.iter().enumerate().fold(0, |code, (b, new)| code | is(*new) << b);
            let verdict = Verdict::from_bits(self.verdicts.u16(slot * 2).unwrap_or(0).wrapping_shr(code * 2));
            note.note(Change { rule: group.rule(slot), verdict, breach: is(news.breach) != 0 });
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
    #[inline]
    fn step<const PRODUCTS: usize>(
        &self,
        state: &[u8],
        at: usize,
        letter: Letter<'_>,
        note: &impl Note,
    ) -> News {
        let mut variables = [0; MAX_VARIABLES];
        for (b, variable) in variables.iter_mut().enumerate().take(self.bits) {
            *variable = Bytes(state).u64(at + b * 8).unwrap_or(0);
        }
        let masks = self.masks.as_chunks::<8>().0;
        for (i, &word) in letter.0.iter().enumerate() {
            let mut left = word;
            while left != 0 {
                let prop = i * 64 + left.trailing_zeros() as usize;
                left &= left - 1;
                let own = masks.get(prop * self.inputs..).unwrap_or(&[]);
                for (variable, mask) in variables.iter_mut().skip(self.bits).take(self.inputs).zip(own) {
                    *variable |= u64::from_le_bytes(*mask);
                }
            }
        }
        // The product with number `m` is that of the variables in `m`; the empty one is true.
        let mut products = [u64::MAX; PRODUCTS];
        for (v, variable) in variables.iter().enumerate().take(PRODUCTS.ilog2() as usize) {
            let (done, rest) = products.split_at_mut(1 << v);
            for (new, old) in rest.iter_mut().zip(done) {
                *new = *old & variable;
            }
        }
        let mut terms = self.terms.as_chunks::<TERM>().0.iter();
        let mut output = |index: usize, wanted: bool| {
            let own = terms.by_ref().take(self.counts.get(index).map_or(0, |n| *n as usize));
            if !wanted {
                own.for_each(drop);
                return 0;
            }
            own.fold(0, |sum, term| {
                let product = Bytes(term).u32(0).unwrap_or(0) as usize & (PRODUCTS - 1);
                sum ^ products[product] & Bytes(term).u64(8).unwrap_or(0)
            })
        };
        let mut new = [0; MAX_VARIABLES];
        for (b, new) in new.iter_mut().enumerate().take(self.bits) {
            *new = output(b, true);
        }
        let news = output(self.bits, !breaches_only(note));
        let breach = output(self.bits + 1, true);
        News { new, told: if breaches_only(note) { breach } else { news }, breach }
    }
}

#[inline]
const fn breaches_only<N: Note>(_: &N) -> bool {
    N::BREACHES
}
