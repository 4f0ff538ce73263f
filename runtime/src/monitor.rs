//! The state of one session under a rule set: a few bytes.

use crate::{Letter, LoadError, RuleSet, Verdict};

/// Where the rules of a [`RuleSet`] stand on one session: [`RuleSet::state_len`] plain bytes.
///
/// `B` is where they are kept: an array on the stack, a boxed slice, a piece of a large block of sessions. Copying the
/// bytes is a snapshot, writing them back restores it. Bytes of another rule set give verdicts without meaning, but
/// never a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MonitorState<B = [u8; 32]>(pub(crate) B);

impl<B: AsRef<[u8]> + AsMut<[u8]>> MonitorState<B> {
    /// The state before any event, kept in `buffer`.
    ///
    /// # Errors
    /// When the buffer is shorter than [`RuleSet::state_len`].
    pub fn new(rules: &RuleSet<'_>, buffer: B) -> Result<MonitorState<B>, LoadError> {
        let mut state = MonitorState(buffer);
        let len = state.0.as_ref().len();
        if len < rules.state_len() {
            return Err(LoadError { what: "the buffer is shorter than a state", at: len });
        }
        rules.reset(&mut state);
        Ok(state)
    }

    /// Takes bytes that hold a state already.
    pub const fn from_bytes(bytes: B) -> MonitorState<B> {
        MonitorState(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_ref()
    }
}

/// What one event changed for one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// Index of the rule.
    pub rule: u32,
    /// Its verdict after the event.
    pub verdict: Verdict,
    /// Whether the event breaks the rule. The verdict after that is that of the rule as it goes on.
    pub breach: bool,
}

/// Rules that one block of a rule set holds: changes are put in order block by block.
pub(crate) const BLOCK: usize = 1024;

/// The changes of one block in one step, as bit sets over its rules.
pub(crate) struct Noted {
    changed: [u64; BLOCK / 64],
    breach: [u64; BLOCK / 64],
    verdict: [[u64; BLOCK / 64]; 2],
}

impl Noted {
    pub(crate) const fn new() -> Noted {
        const NONE: [u64; BLOCK / 64] = [0; BLOCK / 64];
        Noted { changed: NONE, breach: NONE, verdict: [NONE, NONE] }
    }

    pub(crate) fn note(&mut self, change: Change) {
        let (word, bit) = (change.rule as usize % BLOCK / 64, change.rule % 64);
        let set = |words: &mut [u64; BLOCK / 64], value: bool| {
            if let Some(word) = words.get_mut(word) {
                *word |= u64::from(value) << bit;
            }
        };
        set(&mut self.changed, true);
        set(&mut self.breach, change.breach);
        set(&mut self.verdict[0], change.verdict as u8 & 1 != 0);
        set(&mut self.verdict[1], change.verdict as u8 & 2 != 0);
    }

    /// Hands over the changes by rule; `block` is the first rule's index.
    pub(crate) fn tell(&self, block: u32, each: &mut impl FnMut(Change)) {
        let planes = self.breach.iter().zip(&self.verdict[0]).zip(&self.verdict[1]);
        for (i, (&changed, ((breach, low), high))) in self.changed.iter().zip(planes).enumerate() {
            let mut left = changed;
            while left != 0 {
                let bit = left.trailing_zeros();
                left &= left - 1;
                let is = |word: &u64| word >> bit & 1 != 0;
                let verdict = match (is(high), is(low)) {
                    (false, false) => Verdict::Violated,
                    (false, true) => Verdict::Pending,
                    (true, false) => Verdict::Holding,
                    (true, true) => Verdict::Satisfied,
                };
                each(Change { rule: block + i as u32 * 64 + bit, verdict, breach: is(breach) });
            }
        }
    }
}

/// A class of letters that the rules of a set cannot tell apart, where the whole set has one classifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u16);

/// What an event is to a rule set: a letter, or a symbol that stands for it.
pub(crate) trait Input: Copy {
    fn class(self, classifier: impl FnOnce(Letter<'_>) -> u32) -> u32;
    fn letter(&self) -> Letter<'_>;
}

impl Input for Letter<'_> {
    #[inline]
    fn class(self, classifier: impl FnOnce(Letter<'_>) -> u32) -> u32 {
        classifier(self)
    }
    #[inline]
    fn letter(&self) -> Letter<'_> {
        *self
    }
}

impl Input for Symbol {
    #[inline]
    fn class(self, _: impl FnOnce(Letter<'_>) -> u32) -> u32 {
        u32::from(self.0)
    }
    /// Sets with symbols have no part that reads letters.
    #[inline]
    fn letter(&self) -> Letter<'_> {
        Letter(&[])
    }
}
