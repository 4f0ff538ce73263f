//! What a rule has to say after each event.

use core::fmt;

/// The verdict of a rule on the events read so far.
///
/// The order is the order in which automata number their states: violated first, satisfied last, so that "final" and
/// "fine if the trace ended here" are range tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// No continuation, the empty one included, satisfies the rule. Final.
    Violated = 0,
    /// The trace so far does not satisfy the rule, and some continuation does.
    Pending = 1,
    /// The trace so far satisfies the rule, and some continuation does not.
    Holding = 2,
    /// Every continuation, the empty one included, satisfies the rule. Final.
    Satisfied = 3,
}

impl Verdict {
    /// All four, in order.
    pub const ALL: [Verdict; 4] = [Verdict::Violated, Verdict::Pending, Verdict::Holding, Verdict::Satisfied];

    /// Whether no further event can change the verdict.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Verdict::Violated | Verdict::Satisfied)
    }

    /// Whether the trace read so far, taken as the whole trace, satisfies the rule.
    #[must_use]
    pub const fn accepts(self) -> bool {
        matches!(self, Verdict::Holding | Verdict::Satisfied)
    }

    /// The verdict once the trace has ended here: `Holding` becomes `Satisfied`, `Pending` becomes `Violated`.
    #[must_use]
    pub const fn at_end(self) -> Verdict {
        if self.accepts() { Verdict::Satisfied } else { Verdict::Violated }
    }

    /// The word used in reports and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Violated => "violated",
            Verdict::Pending => "pending",
            Verdict::Holding => "holding",
            Verdict::Satisfied => "satisfied",
        }
    }

    /// The verdict whose discriminant the last two bits spell.
    #[inline]
    pub(crate) const fn from_bits(bits: u16) -> Verdict {
        match bits & 3 {
            0 => Verdict::Violated,
            1 => Verdict::Pending,
            2 => Verdict::Holding,
            _ => Verdict::Satisfied,
        }
    }

    /// The verdict with that discriminant, if there is one.
    #[must_use]
    pub const fn from_index(index: u32) -> Option<Verdict> {
        match index {
            0 => Some(Verdict::Violated),
            1 => Some(Verdict::Pending),
            2 => Some(Verdict::Holding),
            3 => Some(Verdict::Satisfied),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
