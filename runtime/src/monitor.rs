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

/// The changes of one block of at most `64 * WORDS` rules in one step. Small, since every step of a set of several groups
/// begins with an empty one.
pub(crate) struct Noted<const WORDS: usize> {
    /// Which words of `changed` are not zero.
    words: u64,
    /// Which rules changed, as a bit set.
    changed: [u64; WORDS],
    /// What is to be said of them: verdict and, above it, breach.
    news: [[u8; 64]; WORDS],
}

impl<const WORDS: usize> Noted<WORDS> {
    pub(crate) const fn new() -> Self {
        Noted { words: 0, changed: [0; WORDS], news: [[0; 64]; WORDS] }
    }

    #[inline]
    pub(crate) fn note(&mut self, change: Change) {
        let (word, bit) = (change.rule as usize / 64 % WORDS, change.rule as usize % 64);
        self.words |= 1 << word;
        self.changed[word] |= 1 << bit;
        self.news[word][bit] = change.verdict as u8 | u8::from(change.breach) << 2;
    }

    /// Hands over the changes by rule and forgets them; `block` is the first rule's index.
    #[inline]
    pub(crate) fn tell(&mut self, block: u32, each: &mut impl FnMut(Change)) {
        let mut words = core::mem::take(&mut self.words);
        while words != 0 {
            let word = words.trailing_zeros() as usize % WORDS;
            words &= words - 1;
            let mut left = core::mem::take(&mut self.changed[word]);
            while left != 0 {
                let bit = left.trailing_zeros() as usize % 64;
                left &= left - 1;
                let news = self.news[word][bit];
                let verdict = Verdict::from_bits(u16::from(news));
                each(Change { rule: block + (word * 64 + bit) as u32, verdict, breach: news & 4 != 0 });
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
