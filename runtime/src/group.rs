//! Rules that are stepped together.

use crate::{
    RuleSet, Verdict,
    classes::{check_diagram, refers, walk},
    monitor::{BLOCK, Change, Input},
    wire::Bytes,
};

/// Words of a group's record.
pub(crate) const RECORD: usize = 16;
/// Rules in one product at most: which of them an edge breaks is one word.
const MAX_SLOTS: usize = 64;

/// One group, as its record describes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) classifier: u32,
    /// Where its part of a monitor's state begins.
    at: usize,
    /// The rules, as 32-bit indices, in order.
    slots: Bytes<'a>,
    kind: Kind<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Kind<'a> {
    Table(Table<'a>),
    Lanes(Lanes<'a>),
    Diagrams { nodes: Bytes<'a>, roots: Bytes<'a>, states: u32, initial: u32 },
}

/// One automaton or a product of several, as a table of `states << shift` entries.
#[derive(Clone, Copy, Debug)]
struct Table<'a> {
    /// Entries of 1, 2 or 4 bytes.
    next: Bytes<'a>,
    width: u32,
    shift: u32,
    states: u32,
    initial: u32,
    /// Per entry 0 if the rules have nothing to say, else one more than the place of a mask.
    marks: &'a [u8],
    /// Which slots the event breaks, 64 bits each.
    masks: Bytes<'a>,
    /// State of each slot's own automaton, 16 bits, row by row; empty for a single rule.
    parts: Bytes<'a>,
    /// Per state a bit set of the classes that break nothing, in 64-bit words.
    allowed: Bytes<'a>,
    allowed_words: usize,
}

/// Rules of at most eight states, 64 in a word: each lane's state is one bit in each of `bits` words, and a class of
/// letters turns the old bits into the new ones by polynomials over GF(2) whose coefficients are words.
///
/// A word's row for one class: for each output (the new bits, "something to say", "breach") the coefficients of all
/// products of state bits, the constant first.
#[derive(Clone, Copy, Debug)]
struct Lanes<'a> {
    bits: usize,
    words: usize,
    coefficients: &'a [u8],
    /// `bits` words for every 64 lanes.
    initial: &'a [u8],
}

impl Lanes<'_> {
    /// Bytes of the coefficients of one word under one class.
    const fn row(bits: usize) -> usize {
        (bits + 2) * (8 << bits)
    }
}

/// The most state bits of a lane.
const MAX_BITS: usize = 3;

/// Puts a change down.
pub(crate) trait Note {
    fn note(&mut self, change: Change);
}

impl<'a> Group<'a> {
    /// A group without rules.
    pub(crate) const fn none() -> Group<'a> {
        const NONE: Bytes<'static> = Bytes(&[]);
        let kind = Kind::Diagrams { nodes: NONE, roots: NONE, states: 0, initial: 0 };
        Group { classifier: 0, at: 0, slots: NONE, kind }
    }

    /// Reads a record: kind, classifier, place in the state, states or bits, shift or words, offset and number of
    /// slots, offset and length of the table (coefficients, nodes), offset of the marks (roots), of the parts, offset
    /// and number of the masks, offset of the allowed classes, initial state (offset of it), zero.
    pub(crate) fn read(section: Bytes<'a>, at: usize, class_len: u32) -> Option<Group<'a>> {
        let record = section.part(at, RECORD * 4)?.as_chunks::<4>().0.first_chunk::<RECORD>()?;
        let [
            kind,
            classifier,
            place,
            states,
            shape,
            slots,
            slot_len,
            table,
            table_len,
            marks,
            parts,
            masks,
            mask_len,
            allowed,
            initial,
            _,
        ] = record.map(u32::from_le_bytes);
        let part = |at: u32, len: usize| section.part(at as usize, len);
        let table = part(table, table_len as usize)?;
        let slots = Bytes(part(slots, (slot_len as usize).checked_mul(4)?)?);
        let rows = |each: usize| (states as usize).checked_mul(each);
        let kind = match kind {
            1 | 2 | 4 => {
                let entries =
                    (states as usize).checked_mul(1usize.checked_shl(shape).filter(|_| shape <= 16)?)?;
                let allowed_words = (class_len as usize).div_ceil(64);
                Kind::Table(Table {
                    next: Bytes(table),
                    width: kind,
                    shift: shape,
                    states,
                    initial,
                    marks: part(marks, entries)?,
                    masks: Bytes(part(masks, (mask_len as usize).checked_mul(8)?)?),
                    parts: Bytes(if slot_len > 1 {
                        part(parts, rows((slot_len as usize).checked_mul(2)?)?)?
                    } else {
                        &[]
                    }),
                    allowed: Bytes(part(allowed, rows(allowed_words * 8)?)?),
                    allowed_words,
                })
            }
            8 => {
                let (bits, words) = (states as usize, shape as usize);
                let initial = part(initial, words.checked_mul(bits)?.checked_mul(8)?)?;
                Kind::Lanes(Lanes { bits, words, coefficients: table, initial })
            }
            16 => {
                let roots = Bytes(part(marks, rows(4)?)?);
                Kind::Diagrams { nodes: Bytes(table), roots, states, initial }
            }
            _ => return None,
        };
        Some(Group { classifier, at: place as usize, slots, kind })
    }

    /// Number of rules.
    pub(crate) fn slot_len(&self) -> usize {
        self.slots.0.len() / 4
    }

    /// The rule in that slot.
    #[inline]
    pub(crate) fn rule(&self, slot: usize) -> u32 {
        self.slots.u32(slot * 4).unwrap_or(0)
    }

    /// Whether it reads symbols as well as letters.
    pub(crate) fn takes_symbols(&self) -> bool {
        !matches!(self.kind, Kind::Diagrams { .. })
    }

    /// Bytes of its part of a monitor's state, and where they begin.
    pub(crate) fn place(&self) -> (usize, usize) {
        let len = match self.kind {
            Kind::Table(Table { width, .. }) => width as usize,
            Kind::Lanes(Lanes { initial, .. }) => initial.len(),
            Kind::Diagrams { .. } => 4,
        };
        (self.at, len)
    }

    /// Whether everything it refers to is there.
    ///
    /// # Complexity
    /// O(tables).
    pub(crate) fn check(&self, class_len: u32, rules: &RuleSet<'_>) -> Result<(), &'static str> {
        let slots = self.slot_len();
        if slots == 0 {
            return Err("a group without rules");
        }
        let block = self.rule(0) as usize / BLOCK;
        for slot in 0..slots {
            let (index, before) = (self.rule(slot), slot.checked_sub(1).map(|s| self.rule(s)));
            if before >= Some(index) || index as usize / BLOCK != block || index >= rules.len() {
                return Err("a group's rules are out of order");
            }
        }
        let states = |slot: usize| rules.rule(self.rule(slot)).state_len;
        match self.kind {
            Kind::Table(table) => {
                let entries = table.marks.len();
                let exists = |s: u32| s < table.states;
                let next_ok = table.next.0.len() == entries * table.width as usize
                    && (0..entries).all(|entry| exists(number(table.next, table.width, entry)));
                let masks = table.masks.0.len() / 8;
                let parts = table.parts.0.as_chunks::<2>().0;
                let parts_ok = if slots == 1 {
                    table.states == states(0)
                } else {
                    parts.chunks_exact(slots).all(|row| {
                        row.iter()
                            .enumerate()
                            .all(|(slot, s)| u32::from(u16::from_le_bytes(*s)) < states(slot))
                    })
                };
                if slots > MAX_SLOTS || !exists(table.initial) || 1u64 << table.shift < u64::from(class_len) {
                    return Err("a table has the wrong size");
                }
                if !next_ok || !parts_ok || table.marks.iter().any(|&m| usize::from(m) > masks) {
                    return Err("a table's entry leads to nothing");
                }
            }
            Kind::Lanes(lanes) => {
                let bits_ok = (1..=MAX_BITS).contains(&lanes.bits);
                let rows = (class_len as usize).checked_mul(lanes.words);
                let len =
                    rows.and_then(|rows| rows.checked_mul(if bits_ok { Lanes::row(lanes.bits) } else { 0 }));
                if !bits_ok || len != Some(lanes.coefficients.len()) || slots.div_ceil(64) != lanes.words {
                    return Err("lanes have the wrong size");
                }
                if (0..slots).any(|slot| states(slot) > 1 << lanes.bits) {
                    return Err("a rule has more states than its lane");
                }
            }
            Kind::Diagrams { nodes, roots, states: len, initial } => {
                let entries = len.saturating_mul(2);
                let mut all = roots.0.as_chunks::<4>().0.iter().map(|root| u32::from_le_bytes(*root));
                let sound = check_diagram(nodes.0, entries)
                    && all.all(|root| refers(root, nodes.0.len() / 12, entries));
                if slots != 1 || len != states(0) || initial >= len || len > 1 << 30 || !sound {
                    return Err("a diagram refers to nothing");
                }
            }
        }
        Ok(())
    }

    /// Writes the initial state.
    pub(crate) fn reset(&self, mut state: &mut [u8]) {
        match self.kind {
            Kind::Table(table) => table.store(&mut state, self.at, table.initial),
            Kind::Lanes(lanes) => {
                for (i, word) in lanes.initial.as_chunks::<8>().0.iter().enumerate() {
                    state.put(self.at + i * 8, *word);
                }
            }
            Kind::Diagrams { initial, .. } => state.put(self.at, initial.to_le_bytes()),
        }
    }

    /// One event: the new state is put in its place, and what changed is noted.
    #[inline]
    pub(crate) fn step(
        &self,
        rules: &RuleSet<'_>,
        state: &mut impl Place,
        class: u32,
        input: impl Input,
        note: &mut impl Note,
    ) {
        match self.kind {
            Kind::Table(table) => {
                let old = table.load(state.bytes(), self.at);
                let entry = (old as usize) << table.shift | class as usize;
                let Some(&mark) = table.marks.get(entry) else { return };
                let new = table.target(entry);
                table.store(state, self.at, new);
                if mark != 0 {
                    let mask = table.masks.u64((usize::from(mark) - 1) * 8).unwrap_or(0);
                    self.tell(rules, &table, old, new, mask, note);
                }
            }
            Kind::Lanes(lanes) => match lanes.bits {
                1 => self.step_lanes::<1>(rules, &lanes, state, class, note),
                2 => self.step_lanes::<2>(rules, &lanes, state, class, note),
                _ => self.step_lanes::<3>(rules, &lanes, state, class, note),
            },
            Kind::Diagrams { nodes, roots, .. } => {
                let old = Bytes(state.bytes()).u32(self.at).unwrap_or(0);
                let Some(root) = roots.u32(old as usize * 4) else { return };
                let entry = walk(nodes, root, input.letter());
                let (new, breach) = (entry >> 1, entry & 1 != 0);
                state.put(self.at, new.to_le_bytes());
                let rule = self.rule(0);
                let (before, verdict) = (rules.rule(rule).verdict(old), rules.rule(rule).verdict(new));
                let breach = breach || verdict == Verdict::Violated && before != Verdict::Violated;
                if breach || before != verdict {
                    note.note(Change { rule, verdict, breach });
                }
            }
        }
    }

    /// What a marked edge of a table changes.
    #[cold]
    #[inline(never)]
    fn tell(
        &self,
        rules: &RuleSet<'_>,
        table: &Table<'_>,
        old: u32,
        new: u32,
        mask: u64,
        note: &mut impl Note,
    ) {
        let slots = self.slot_len();
        for slot in 0..slots {
            let rule = self.rule(slot);
            let verdict = |state| rules.rule(rule).verdict(table.part(slots, slot, state));
            let breach = mask >> (slot & 63) & 1 != 0;
            if breach || verdict(old) != verdict(new) {
                note.note(Change { rule, verdict: verdict(new), breach });
            }
        }
    }

    #[inline]
    fn step_lanes<const BITS: usize>(
        &self,
        rules: &RuleSet<'_>,
        lanes: &Lanes<'_>,
        state: &mut impl Place,
        class: u32,
        note: &mut impl Note,
    ) {
        let row_len = Lanes::row(BITS);
        let row = class as usize * lanes.words * row_len;
        let Some(rows) = lanes.coefficients.get(row..row + lanes.words * row_len) else { return };
        for (word, row) in rows.chunks_exact(row_len).enumerate() {
            let at = self.at + word * BITS * 8;
            let old = lanes_at::<BITS>(state.bytes(), at);
            let row = row.as_chunks::<8>().0;
            let products = products(old);
            let output = |i: usize| evaluate::<BITS>(row, i, &products);
            let new: [u64; BITS] = core::array::from_fn(output);
            for (b, new) in new.iter().enumerate() {
                state.put(at + b * 8, new.to_le_bytes());
            }
            let mut noteworthy = output(BITS);
            if noteworthy != 0 {
                let breach = output(BITS + 1);
                while noteworthy != 0 {
                    let lane = noteworthy.trailing_zeros();
                    noteworthy &= noteworthy - 1;
                    let slot = word * 64 + lane as usize;
                    if slot < self.slot_len() {
                        let rule = self.rule(slot);
                        let verdict = rules.rule(rule).verdict(code(&new, lane));
                        note.note(Change { rule, verdict, breach: breach >> lane & 1 != 0 });
                    }
                }
            }
        }
    }

    /// The state of one rule's own automaton.
    pub(crate) fn part(&self, state: &[u8], slot: usize) -> u32 {
        match self.kind {
            Kind::Table(table) => table.part(self.slot_len(), slot, table.load(state, self.at)),
            Kind::Lanes(lanes) => {
                let word =
                    |b: usize| Bytes(state).u64(self.at + (slot / 64 * lanes.bits + b) * 8).unwrap_or(0);
                (0..lanes.bits).fold(0, |s, b| s | ((word(b) >> (slot & 63) & 1) as u32) << b)
            }
            Kind::Diagrams { .. } => Bytes(state).u32(self.at).unwrap_or(0),
        }
    }

    /// Whether the group's part of `state` is one that it can be in, as far as a look tells.
    pub(crate) fn accepts_state(&self, state: &[u8], rules: &RuleSet<'_>) -> bool {
        match self.kind {
            Kind::Table(table) => table.load(state, self.at) < table.states,
            Kind::Lanes(lanes) => {
                let used = |word: usize| match self.slot_len() - word * 64 {
                    lanes @ 0..64 => (1u64 << lanes) - 1,
                    _ => u64::MAX,
                };
                let idle_ok = (0..lanes.words * lanes.bits).all(|i| {
                    Bytes(state).u64(self.at + i * 8).is_some_and(|w| w & !used(i / lanes.bits) == 0)
                });
                idle_ok
                    && (0..self.slot_len()).all(|s| self.part(state, s) < rules.rule(self.rule(s)).state_len)
            }
            Kind::Diagrams { states, .. } => self.part(state, 0) < states,
        }
    }

    /// Takes the classes that break some rule out of `allowed`, one bit per class.
    pub(crate) fn restrict(&self, state: &[u8], class_len: u32, allowed: &mut [u64]) {
        match self.kind {
            Kind::Table(table) => {
                let row = table.load(state, self.at) as usize * table.allowed_words;
                for (i, word) in allowed.iter_mut().enumerate().take(table.allowed_words) {
                    *word &= table.allowed.u64((row + i) * 8).unwrap_or(0);
                }
            }
            Kind::Lanes(lanes) => {
                for class in 0..class_len {
                    let breaks = match lanes.bits {
                        1 => self.lanes_break::<1>(&lanes, state, class),
                        2 => self.lanes_break::<2>(&lanes, state, class),
                        _ => self.lanes_break::<3>(&lanes, state, class),
                    };
                    if let Some(word) = allowed.get_mut(class as usize / 64) {
                        *word &= !(u64::from(breaks) << (class % 64));
                    }
                }
            }
            // It reads letters only: there are no classes to ask for.
            Kind::Diagrams { .. } => {}
        }
    }

    fn lanes_break<const BITS: usize>(&self, lanes: &Lanes<'_>, state: &[u8], class: u32) -> bool {
        let row_len = Lanes::row(BITS);
        (0..lanes.words).any(|word| {
            let old = lanes_at::<BITS>(state, self.at + word * BITS * 8);
            let row =
                lanes.coefficients.get((class as usize * lanes.words + word) * row_len..).unwrap_or(&[]);
            evaluate::<BITS>(row.as_chunks::<8>().0, BITS + 1, &products::<BITS>(old)) != 0
        })
    }
}

impl Table<'_> {
    #[inline]
    fn load(&self, state: &[u8], at: usize) -> u32 {
        let state = Bytes(state.get(at..).unwrap_or(&[]));
        number(state, self.width, 0)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // states fit the width of the table
    fn store(&self, state: &mut impl Place, at: usize, value: u32) {
        match self.width {
            1 => state.put(at, [value as u8]),
            2 => state.put(at, (value as u16).to_le_bytes()),
            _ => state.put(at, value.to_le_bytes()),
        }
    }

    #[inline]
    fn target(&self, entry: usize) -> u32 {
        number(self.next, self.width, entry)
    }

    /// The state of one slot's own automaton.
    fn part(&self, slots: usize, slot: usize, state: u32) -> u32 {
        if slots == 1 {
            return state;
        }
        u32::from(self.parts.u16((state as usize * slots + slot) * 2).unwrap_or(0))
    }
}

/// A number of 1, 2 or 4 bytes.
#[inline]
fn number(bytes: Bytes<'_>, width: u32, index: usize) -> u32 {
    match width {
        1 => u32::from(bytes.0.get(index).copied().unwrap_or(0)),
        2 => u32::from(bytes.u16(index * 2).unwrap_or(0)),
        _ => bytes.u32(index * 4).unwrap_or(0),
    }
}

/// Where the bytes of a state are, and whether a step may change them.
pub(crate) trait Place {
    fn bytes(&self) -> &[u8];
    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]);
}

impl Place for &mut [u8] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }
    #[inline]
    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        if let Some(place) = self.get_mut(at..).and_then(|s| s.first_chunk_mut()) {
            *place = bytes;
        }
    }
}

/// For looking ahead: what is put is forgotten.
impl Place for &[u8] {
    #[inline]
    fn bytes(&self) -> &[u8] {
        self
    }
    #[inline]
    fn put<const N: usize>(&mut self, _: usize, _: [u8; N]) {}
}

/// The state bits of 64 lanes.
#[inline]
fn lanes_at<const BITS: usize>(state: &[u8], at: usize) -> [u64; BITS] {
    let state = state.get(at..).unwrap_or(&[]).as_chunks::<8>().0;
    core::array::from_fn(|b| state.get(b).map_or(0, |word| u64::from_le_bytes(*word)))
}

/// All products of the state bits, lane by lane: index `m` is that of the bits in `m`, the empty one is true.
#[inline]
fn products<const BITS: usize>(bits: [u64; BITS]) -> [u64; 1 << MAX_BITS] {
    let mut products = [u64::MAX; 1 << MAX_BITS];
    for m in 1..1usize << BITS {
        let top = m.ilog2() as usize;
        products[m] = products[m & !(1 << top)] & bits[top];
    }
    products
}

/// One output of a row: the sum over GF(2) of coefficients times products.
#[inline]
fn evaluate<const BITS: usize>(row: &[[u8; 8]], output: usize, products: &[u64; 1 << MAX_BITS]) -> u64 {
    let row = row.get(output << BITS..(output + 1) << BITS).unwrap_or(&[]);
    row.iter().zip(products).fold(0, |sum, (c, m)| sum ^ u64::from_le_bytes(*c) & m)
}

/// The number that one lane's bits spell.
#[inline]
fn code<const BITS: usize>(bits: &[u64; BITS], lane: u32) -> u32 {
    bits.iter().enumerate().fold(0, |s, (b, word)| s | ((word >> lane & 1) as u32) << b)
}
