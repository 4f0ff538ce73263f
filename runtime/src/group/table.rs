//! One automaton, or a product of several, as a table.

use super::{Group, Note, Place, Record};
use crate::{
    Change, Symbol, Verdict,
    layout::{SLOTS, TABLE, WIDE_TABLE},
    wire::{Budget, Bytes},
};

/// Whether an edge's mark says something that is asked for.
#[inline]
pub(super) fn has_news<N: Note>(mark: u8, _: &N) -> bool {
    mark > u8::from(N::BREACHES)
}

/// [`Table::step`] by four words of a record: kind, place in the state, offsets of the table and of the marks.
#[inline]
pub(super) fn step_quietly<N: Note>(
    section: Bytes<'_>,
    [kind, place, table, marks]: [u32; 4],
    state: &mut impl Place,
    class: u32,
    note: &N,
) -> Option<()> {
    let place = place as usize;
    let entry = |row: u32| row as usize + class as usize;
    let quiet = |entry: usize| {
        section.u8(marks as usize + entry).is_some_and(|mark| !has_news(mark, note)).then_some(())
    };
    match kind {
        TABLE => {
            let entry = entry(u32::from(Bytes(state.bytes()).u16(place)?));
            quiet(entry)?;
            state.put(place, section.u16(table as usize + entry * 2)?.to_le_bytes());
        }
        WIDE_TABLE => {
            let entry = entry(Bytes(state.bytes()).u32(place)?);
            quiet(entry)?;
            state.put(place, section.u32(table as usize + entry * 4)?.to_le_bytes());
        }
        _ => return None,
    }
    Some(())
}

/// Rows of `1 << shift` entries. A state is kept as the index of its row's first entry, so that a step is one addition
/// and one look-up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    /// The rows that entries lead to, 4 bytes each if `wide`, else 2.
    next: Bytes<'a>,
    wide: bool,
    shift: u32,
    states: u32,
    initial: u32,
    /// Per entry 0 if the rules have nothing to say, else one more than the place of a mask.
    marks: &'a [u8],
    /// Which slots the event breaks, 64 bits each; the first mask is zero.
    masks: Bytes<'a>,
    /// Per state two words, the low and the high bits of the slots' verdicts.
    verdicts: Bytes<'a>,
    /// State of each slot's own automaton, 16 bits, row by row; empty for a single rule.
    parts: Bytes<'a>,
    /// Per state a bit set of the classes that break nothing, in 64-bit words.
    allowed: Bytes<'a>,
    allowed_words: usize,
}

impl<'a> Table<'a> {
    pub(super) fn read(record: Record<'a>, class_len: u32) -> Option<Table<'a>> {
        let Record { states, shape, slot_len, .. } = record;
        let rows = |each: usize| (states as usize).checked_mul(each);
        let entries = rows(1usize.checked_shl(shape).filter(|_| shape <= 16)?)?;
        let parts = if slot_len > 1 { rows((slot_len as usize).checked_mul(2)?)? } else { 0 };
        let allowed_words = (class_len as usize).div_ceil(64);
        Some(Table {
            next: Bytes(record.table),
            wide: record.kind == WIDE_TABLE,
            shift: shape,
            states,
            initial: record.initial,
            marks: record.part(record.marks, entries)?,
            masks: Bytes(record.part(record.masks, (record.mask_len as usize).checked_mul(8)?)?),
            verdicts: Bytes(record.part(record.verdicts, rows(16)?)?),
            parts: Bytes(record.part(record.parts, parts)?),
            allowed: Bytes(record.part(record.allowed, rows(allowed_words * 8)?)?),
            allowed_words,
        })
    }

    pub(super) fn check(
        &self,
        class_len: u32,
        slots: usize,
        states: &dyn Fn(usize) -> u32,
        budget: &mut Budget,
    ) -> Result<(), &'static str> {
        budget.take(&[self.next.0, self.marks, self.parts.0])?;
        let entries = self.marks.len();
        if slots > SLOTS
            || !self.is_row(self.initial)
            || 1u64 << self.shift < u64::from(class_len)
            || u32::try_from(entries).is_err()
            || self.next.0.len() != entries * if self.wide { 4 } else { 2 }
        {
            return Err("a table has the wrong size");
        }
        let parts_ok = if slots == 1 {
            self.states == states(0)
        } else {
            self.parts.0.as_chunks::<2>().0.chunks_exact(slots.max(1)).all(|row| {
                row.iter().enumerate().all(|(slot, s)| u32::from(u16::from_le_bytes(*s)) < states(slot))
            })
        };
        let masks = self.masks.0.len() / 8;
        let next_ok = (0..entries).all(|entry| self.next(entry).is_some_and(|row| self.is_row(row)));
        if self.masks.u64(0) != Some(0) {
            return Err("the first mask is not zero");
        }
        if !next_ok || !parts_ok || self.marks.iter().any(|&m| usize::from(m) > masks) {
            return Err("a table's entry leads to nothing");
        }
        Ok(())
    }

    /// Whether a row begins there.
    pub(super) fn is_row(&self, row: u32) -> bool {
        (row as usize) < self.marks.len() && row & ((1 << self.shift) - 1) == 0
    }

    pub(super) fn state_bytes(&self) -> usize {
        if self.wide { 4 } else { 2 }
    }

    #[inline]
    fn next(&self, entry: usize) -> Option<u32> {
        if self.wide { self.next.u32(entry * 4) } else { self.next.u16(entry * 2).map(u32::from) }
    }

    pub(super) fn reset(&self, state: &mut impl Place, at: usize) {
        self.store(state, at, self.initial);
    }

    #[inline]
    pub(super) fn load(&self, state: &[u8], at: usize) -> u32 {
        let row = if self.wide { Bytes(state).u32(at) } else { Bytes(state).u16(at).map(u32::from) };
        row.unwrap_or(0)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // rows of a narrow table fit two bytes
    pub(super) fn store(&self, state: &mut impl Place, at: usize, row: u32) {
        if self.wide {
            state.put(at, row.to_le_bytes());
        } else {
            state.put(at, (row as u16).to_le_bytes());
        }
    }

    /// The row after an event, and the mark of the edge.
    #[inline]
    pub(super) fn step(&self, row: u32, class: u32) -> Option<(u32, u8)> {
        let entry = row as usize + class as usize;
        Some((self.next(entry)?, *self.marks.get(entry)?))
    }

    #[inline]
    pub(super) fn run(
        &self,
        group: &Group<'_>,
        mut state: &mut [u8],
        symbols: &[Symbol],
        note: &mut impl Note,
    ) {
        let mut row = self.load(state, group.at);
        for (event, symbol) in symbols.iter().enumerate() {
            if let Some((new, mark)) = self.step(row, u32::from(symbol.0)) {
                if has_news(mark, note) {
                    note.at(event);
                    self.tell(group, (row, new), mark, note);
                }
                row = new;
            }
        }
        self.store(&mut state, group.at, row);
    }

    /// Writes the successors and whether the edge breaks a rule, entry by entry with states for rows; returns the initial
    /// state. None if a state or the buffers are too small for that.
    pub(super) fn dense(&self, next: &mut [u8], marks: &mut [u8]) -> Option<u8> {
        if next.len() != self.marks.len() || marks.len() != self.marks.len() {
            return None;
        }
        for (entry, (to, mark)) in next.iter_mut().zip(marks).enumerate() {
            *to = u8::try_from(self.next(entry)? >> self.shift).ok()?;
            let own = usize::from(*self.marks.get(entry)?);
            let breach = own.checked_sub(1).and_then(|place| self.masks.u64(place * 8)).unwrap_or(0);
            *mark = u8::from(breach != 0);
        }
        u8::try_from(self.initial >> self.shift).ok()
    }

    /// Rows and the binary logarithm of their length.
    pub(super) fn shape(&self) -> (usize, u32) {
        (self.states as usize, self.shift)
    }

    /// What a marked edge changes.
    #[inline]
    pub(super) fn tell(&self, group: &Group<'_>, (old, new): (u32, u32), mark: u8, note: &mut impl Note) {
        let breach = self.masks.u64((usize::from(mark) - 1) * 8).unwrap_or(0);
        let verdicts = |row: u32| {
            let at = (row >> self.shift) as usize * 16;
            (self.verdicts.u64(at).unwrap_or(0), self.verdicts.u64(at + 8).unwrap_or(0))
        };
        let ((low, high), (old_low, old_high)) = (verdicts(new), verdicts(old));
        let mut told = breach | (low ^ old_low) | (high ^ old_high);
        while told != 0 {
            let slot = told.trailing_zeros();
            told &= told - 1;
            let is = |word: u64| word >> slot & 1;
            let verdict = Verdict::from_bits((is(high) << 1 | is(low)) as u16);
            note.note(Change { rule: group.rule(slot as usize), verdict, breach: is(breach) != 0 });
        }
    }

    /// The state of one slot's own automaton.
    #[inline]
    pub(super) fn part(&self, slots: usize, slot: usize, row: u32) -> u32 {
        let state = row >> self.shift;
        if slots == 1 {
            return state;
        }
        u32::from(self.parts.u16((state as usize * slots + slot) * 2).unwrap_or(0))
    }

    pub(super) fn restrict(&self, row: u32, allowed: &mut [u64]) {
        let first = (row >> self.shift) as usize * self.allowed_words;
        for (i, word) in allowed.iter_mut().enumerate().take(self.allowed_words) {
            *word &= self.allowed.u64((first + i) * 8).unwrap_or(0);
        }
    }
}
