//! What the numbers of a rule set stand for.

use crate::{
    LoadError,
    wire::{Bytes, File, Section},
};

/// The names in an artifact: propositions by their bit in a letter, rules by their place in the policy, and which rules
/// each rule set holds.
///
/// Rules with one monitor per value, or with steps of their own, are sets of their own; this reads an event into each:
///
/// ```no_run
/// # fn bytes() -> Vec<u8> { Vec::new() }
/// use tracelaw_runtime::{Letter, MonitorState, Names, RuleSet, wire::File};
///
/// let artifact = bytes(); // what `tracelaw compile POLICY -o FILE.tlaw` wrote
/// let file = File::open(&artifact)?;
/// let names = Names::of(&file)?;
/// let rules: Vec<&str> = names.rules().collect();
/// let mut letter = vec![0; names.propositions().count().div_ceil(64)];
/// if let Some(refund) = names.proposition("refund") {
///     letter[refund as usize / 64] |= 1 << (refund % 64);
/// }
/// for (part, _) in file.sections(tracelaw_runtime::wire::Section::Rules).enumerate() {
///     let set = RuleSet::part_of(&file, part)?;
///     let of: Vec<u32> = names.rules_of(part as u32).collect();
///     let mut session = MonitorState::new(&set, vec![0; set.state_len()])?;
///     set.step(&mut session, Letter(&letter), |change| {
///         println!("{}: {}", rules[of[change.rule as usize] as usize], change.verdict);
///     });
/// }
/// # Ok::<(), tracelaw_runtime::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    section: Bytes<'a>,
    prop_len: u32,
    rule_len: u32,
    set_len: u32,
    /// Where the names begin.
    names: usize,
}

/// Words before the sets.
const HEAD: usize = 3;

impl<'a> Names<'a> {
    /// Reads the names of an artifact.
    ///
    /// # Complexity
    /// O(bytes of the names). Never panics, does not allocate.
    ///
    /// # Errors
    /// When there are none, or when they are damaged.
    pub fn of(file: &File<'a>) -> Result<Names<'a>, LoadError> {
        let bytes =
            file.sections(Section::Names).next().ok_or(LoadError { what: "there are no names", at: 0 })?;
        let section = Bytes(bytes);
        let short = LoadError { what: "the names end too early", at: bytes.len() };
        let word = |i: usize| section.u32(i * 4).ok_or(short);
        let mut names =
            Names { section, prop_len: word(0)?, rule_len: word(1)?, set_len: word(2)?, names: HEAD * 4 };
        for _ in 0..names.set_len {
            let at = names.names;
            let len = section.u32(at).ok_or(short)? as usize;
            let rules = section.part(at + 4, len.checked_mul(4).ok_or(short)?).ok_or(short)?;
            if rules.as_chunks::<4>().0.iter().any(|r| u32::from_le_bytes(*r) >= names.rule_len) {
                return Err(LoadError { what: "a rule set names a rule that is not there", at });
            }
            names.names = at + 4 + rules.len();
        }
        let count = u64::from(names.prop_len) + u64::from(names.rule_len);
        let mut at = names.names;
        for _ in 0..count {
            let (name, next) = names.at(at).ok_or(short)?;
            if core::str::from_utf8(name).is_err() {
                return Err(LoadError { what: "a name is no text", at });
            }
            at = next;
        }
        Ok(names)
    }

    fn at(&self, at: usize) -> Option<(&'a [u8], usize)> {
        let len = self.section.u32(at)? as usize;
        let name = self.section.part(at + 4, len)?;
        Some((name, at + 4 + len))
    }

    fn all(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let names = *self;
        let mut at = self.names;
        core::iter::from_fn(move || {
            let (name, next) = names.at(at)?;
            at = next;
            Some(core::str::from_utf8(name).unwrap_or_default())
        })
    }

    /// The propositions, by their bits in a letter.
    pub fn propositions(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.all().take(self.prop_len as usize)
    }

    /// The rules of the policy, in order.
    pub fn rules(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.all().skip(self.prop_len as usize).take(self.rule_len as usize)
    }

    /// The rules of a rule set, by their places in the policy, in the order of the set.
    pub fn rules_of(&self, set: u32) -> impl Iterator<Item = u32> + use<'a> {
        let section = self.section;
        let mut at = HEAD * 4;
        for _ in 0..set.min(self.set_len) {
            at += 4 + section.u32(at).unwrap_or(0) as usize * 4;
        }
        let len = if set < self.set_len { section.u32(at).unwrap_or(0) } else { 0 };
        (1..=len as usize).map(move |i| section.u32(at + i * 4).unwrap_or(0))
    }

    /// The bit of a proposition.
    ///
    /// # Complexity
    /// O(bytes of the names): ask once and keep the answer.
    #[must_use]
    pub fn proposition(&self, name: &str) -> Option<u32> {
        self.propositions().position(|n| n == name).and_then(|i| u32::try_from(i).ok())
    }
}
