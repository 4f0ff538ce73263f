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

/// The changes of one block in one step.
pub(crate) struct Noted {
    /// Which words of `changed` are not zero.
    words: u64,
    /// Which rules changed, as a bit set.
    changed: [u64; BLOCK / 64],
    /// What is to be said of them: verdict and, above it, breach.
    news: [u8; BLOCK],
}

impl Noted {
    pub(crate) const fn new() -> Noted {
        Noted { words: 0, changed: [0; BLOCK / 64], news: [0; BLOCK] }
    }

    #[inline]
    pub(crate) fn note(&mut self, change: Change) {
        let place = change.rule as usize % BLOCK;
        self.words |= 1 << (place / 64);
        self.changed[place / 64] |= 1 << (place % 64);
        self.news[place] = change.verdict as u8 | u8::from(change.breach) << 2;
    }

    /// Hands over the changes by rule and forgets them; `block` is the first rule's index.
    #[inline]
    pub(crate) fn tell(&mut self, block: u32, each: &mut impl FnMut(Change)) {
        let mut words = core::mem::take(&mut self.words);
        while words != 0 {
            let i = words.trailing_zeros() as usize % (BLOCK / 64);
            words &= words - 1;
            let mut left = core::mem::take(&mut self.changed[i]);
            while left != 0 {
                let place = i * 64 + left.trailing_zeros() as usize % 64;
                left &= left - 1;
                let news = self.news[place];
                let verdict = Verdict::from_bits(u16::from(news));
                each(Change { rule: block + place as u32, verdict, breach: news & 4 != 0 });
            }
        }
    }
}

/// What a run over many events tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Tell {
    /// Every change of a verdict and every breach.
    #[default]
    Changes,
    /// The breaches only.
    Breaches,
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
