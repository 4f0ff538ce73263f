//! The propositions that are true at one event.

/// The set of propositions true at an event: bit `i % 64` of word `i / 64` is proposition `i` of the vocabulary.
///
/// Propositions past the last word are false.
///
/// ```
/// use tracelaw_runtime::Letter;
/// let letter = Letter(&[0b101]);
/// assert!(letter.contains(2) && !letter.contains(1) && !letter.contains(640));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Letter<'a>(pub &'a [u64]);

impl Letter<'_> {
    /// Whether proposition `prop` is true.
    #[must_use]
    #[inline]
    pub fn contains(self, prop: u32) -> bool {
        self.0.get((prop >> 6) as usize).is_some_and(|w| w >> (prop & 63) & 1 != 0)
    }
}
