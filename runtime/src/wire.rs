//! The container of a compiled policy, `.tlaw`: a header, sections, a checksum. docs/format.md has the layout in full.
//!
//! Everything is little endian. Nothing here needs an alignment, so a memory-mapped file or any slice of bytes will do.

use crate::{LoadError, layout::SHARED};

/// The first bytes of every artifact. A transfer that mangles line ends or the eighth bit damages them.
pub const MAGIC: [u8; 8] = *b"\x89tlaw\r\n\x1a";
/// Version of the layout.
pub const FORMAT: u32 = 1;
/// Bytes before the section table.
pub const HEADER: usize = 32;
/// Bytes of one entry of the section table: kind, zero, offset, length.
pub const ENTRY: usize = 24;
/// Sections begin at multiples of so many bytes.
pub const ALIGN: usize = 8;

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Section {
    /// A rule set: what [`crate::RuleSet`] steps.
    Rules = 1,
    /// Names of the propositions, then those of the rules.
    Names = 2,
    /// The policy's text, as it was compiled.
    Source = 3,
    /// Per rule the automaton on its own, for what steps rules one by one.
    Automata = 4,
    /// Per rule and state the formula that is left.
    Residuals = 5,
    /// Versions of the crate and of the language that wrote the file.
    Versions = 6,
}

impl Section {
    fn from_word(word: u32) -> Option<Section> {
        use Section::{Automata, Names, Residuals, Rules, Source, Versions};
        [Rules, Names, Source, Automata, Residuals, Versions].into_iter().find(|s| *s as u32 == word)
    }
}

/// Bytes with the numbers in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    #[inline]
    fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    #[inline]
    pub(crate) fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    #[inline]
    pub(crate) fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    #[inline]
    pub(crate) fn u64(self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The `len` bytes from `at` on.
    pub(crate) fn part(self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.0.get(at..)?.get(..len)
    }
}

/// Bytes of long tables that may still be looked at.
pub(crate) struct Budget(usize);

impl Budget {
    pub(crate) const fn new(section: Bytes<'_>) -> Budget {
        Budget(section.0.len())
    }

    /// Counts tables that are about to be checked.
    pub(crate) fn take(&mut self, tables: &[&[u8]]) -> Result<(), &'static str> {
        for table in tables.iter().filter(|table| table.len() > SHARED) {
            self.0 = self.0.checked_sub(table.len()).ok_or("records share their tables")?;
        }
        Ok(())
    }
}

/// An artifact whose frame has been checked: magic, version, lengths, order of the sections, checksum.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    bytes: Bytes<'a>,
    sections: usize,
    fingerprint: u64,
}

impl<'a> File<'a> {
    /// Checks the frame of `bytes` and takes them.
    ///
    /// # Complexity
    /// O(bytes), for the checksum. Never panics.
    ///
    /// # Errors
    /// When this is no artifact, one of another version, or a damaged one.
    pub fn open(bytes: &'a [u8]) -> Result<File<'a>, LoadError> {
        let b = Bytes(bytes);
        let bad = |what, at| LoadError { what, at };
        if bytes.first_chunk() != Some(&MAGIC) {
            return Err(bad("the first bytes are not those of an artifact", 0));
        }
        let short = bad("it ends too early", bytes.len());
        if b.u32(8).ok_or(short)? != FORMAT {
            return Err(bad("another format version", 8));
        }
        let sections = b.u32(12).ok_or(short)? as usize;
        let length = b.u64(16).ok_or(short)?;
        let fingerprint = b.u64(24).ok_or(short)?;
        if length < bytes.len() as u64 {
            return Err(bad("there is more than its length says", 16));
        }
        if length > bytes.len() as u64 {
            return Err(short);
        }
        let body = bytes.len().checked_sub(8).ok_or(short)?;
        if Some(xxh64(bytes.get(..body).unwrap_or(&[]), 0)) != b.u64(body) {
            return Err(bad("the checksum does not match: it is damaged", body));
        }
        let file = File { bytes: b, sections, fingerprint };
        // The table ends before the checksum, so the number of its entries is bounded by the length.
        let table =
            sections.checked_mul(ENTRY).and_then(|len| len.checked_add(HEADER)).filter(|&end| end <= body);
        let mut end = table.ok_or(bad("the section table is longer than the file", 12))?;
        let mut last = Section::Rules;
        let (start, mut stepped) = (end.next_multiple_of(ALIGN), end.next_multiple_of(ALIGN));
        for entry in 0..sections {
            let at = HEADER + entry * ENTRY;
            let (kind, offset, len) = file.entry(entry).ok_or(bad("unknown section", at))?;
            if kind < last || offset < end || offset % ALIGN != 0 || len > body || offset > body - len {
                return Err(bad("a section is out of place", at));
            }
            (last, end) = (kind, offset + len);
            if kind <= Section::Names {
                stepped = end;
            }
        }
        let stepped = b.part(start, stepped - start).unwrap_or(&[]);
        if xxh64(stepped, 0) != fingerprint {
            return Err(bad("the fingerprint is not that of the rule sets", 24));
        }
        Ok(file)
    }

    fn entry(&self, entry: usize) -> Option<(Section, usize, usize)> {
        let at = HEADER + entry * ENTRY;
        let kind = Section::from_word(self.bytes.u32(at)?)?;
        let offset = usize::try_from(self.bytes.u64(at + 8)?).ok()?;
        let len = usize::try_from(self.bytes.u64(at + 16)?).ok()?;
        Some((kind, offset, len))
    }

    /// All sections of a kind, in order.
    pub fn sections(&self, kind: Section) -> impl Iterator<Item = &'a [u8]> {
        let file = *self;
        (0..self.sections).filter_map(move |entry| {
            let (k, offset, len) = file.entry(entry)?;
            if k == kind { file.bytes.part(offset, len) } else { None }
        })
    }

    /// A number that differs between artifacts that step differently, for all practical purposes: the hash of the rule
    /// sets. Snapshots carry it.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

/// XXH64, the hash of the checksum and the fingerprint (Collet; the specification is public).
///
/// # Complexity
/// O(bytes), eight bytes at a time in four independent chains.
#[must_use]
pub fn xxh64(bytes: &[u8], seed: u64) -> u64 {
    const P1: u64 = 0x9e37_79b1_85eb_ca87;
    const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
    const P3: u64 = 0x1656_67b1_9e37_79f9;
    const P4: u64 = 0x85eb_ca77_c2b2_ae63;
    const P5: u64 = 0x27d4_eb2f_1656_67c5;
    let round =
        |acc: u64, lane: u64| acc.wrapping_add(lane.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1);
    let (stripes, mut rest) = bytes.as_chunks::<32>();
    let mut hash = seed.wrapping_add(P5);
    if !stripes.is_empty() {
        let mut acc =
            [seed.wrapping_add(P1).wrapping_add(P2), seed.wrapping_add(P2), seed, seed.wrapping_sub(P1)];
        for stripe in stripes {
            for (acc, lane) in acc.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *acc = round(*acc, u64::from_le_bytes(*lane));
            }
        }
        hash = acc.iter().zip([1, 7, 12, 18]).fold(0, |h, (a, by)| a.rotate_left(by).wrapping_add(h));
        for a in acc {
            hash = (hash ^ round(0, a)).wrapping_mul(P1).wrapping_add(P4);
        }
    }
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((lane, after)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ round(0, u64::from_le_bytes(*lane))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        rest = after;
    }
    if let Some((lane, after)) = rest.split_first_chunk::<4>() {
        let lane = u64::from(u32::from_le_bytes(*lane));
        hash = (hash ^ lane.wrapping_mul(P1)).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        rest = after;
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(P3);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::xxh64;

    /// Values of the reference implementation.
    #[test]
    fn the_hash_is_xxh64() {
        assert_eq!(xxh64(b"", 0), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"a", 0), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(xxh64(b"abc", 0), 0x44bc_2cf5_ad77_0999);
        assert_eq!(xxh64(b"xxhash", 20_141_025), 0xb559_b98d_844e_0635);
        let long = b"The quick brown fox jumps over the lazy dog";
        assert_eq!(xxh64(long, 0), 0x0b24_2d36_1fda_71bc);
    }
}
