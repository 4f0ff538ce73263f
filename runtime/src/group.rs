//! Rules that are stepped together.

use crate::{
    RuleSet, Symbol, Verdict,
    classes::{check_diagram, refers, walk},
    layout::{self, BLOCK},
    monitor::{Change, Input},
    wire::{Budget, Bytes},
};

mod lanes;
mod open;
mod table;

use lanes::Lanes;
use open::Open;
use table::Table;

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
    Open(Open<'a>),
    Diagrams { nodes: Bytes<'a>, roots: Bytes<'a>, states: u32, initial: u32 },
}

/// Puts changes down.
pub(crate) trait Note {
    /// Whether only breaches are asked for.
    const BREACHES: bool;
    /// The same, where the type has no name.
    #[inline]
    fn breaches_only(&self) -> bool {
        Self::BREACHES
    }
    /// What follows is about that event.
    fn at(&mut self, _event: usize) {}
    fn note(&mut self, change: Change);
}

/// Where the bytes of a state are, and whether a step may change them.
pub(crate) trait Place {
    fn bytes(&self) -> &[u8];
    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]);
    fn put_words(&mut self, at: usize, words: &[u64]);
}

/// Puts the first bits of all lanes where a group's state is.
fn put_initial(initial: &[u8], state: &mut impl Place, at: usize) {
    for (i, word) in initial.as_chunks::<8>().0.iter().enumerate() {
        state.put(at + i * 8, *word);
    }
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
    #[inline]
    fn put_words(&mut self, at: usize, words: &[u64]) {
        if let Some(place) = self.get_mut(at..).and_then(|s| s.get_mut(..words.len() * 8)) {
            for (place, word) in place.as_chunks_mut().0.iter_mut().zip(words) {
                *place = word.to_le_bytes();
            }
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
    #[inline]
    fn put_words(&mut self, _: usize, _: &[u64]) {}
}

/// The words of a record by their names.
#[derive(Clone, Copy)]
struct Record<'a> {
    section: Bytes<'a>,
    kind: u32,
    states: u32,
    shape: u32,
    slot_len: u32,
    table: &'a [u8],
    marks: u32,
    parts: u32,
    masks: u32,
    mask_len: u32,
    allowed: u32,
    initial: u32,
    verdicts: u32,
}

impl<'a> Record<'a> {
    fn part(&self, at: u32, len: usize) -> Option<&'a [u8]> {
        self.section.part(at as usize, len)
    }
}

impl<'a> Group<'a> {
    /// A group without rules.
    pub(crate) const fn none() -> Group<'a> {
        const NONE: Bytes<'static> = Bytes(&[]);
        let kind = Kind::Diagrams { nodes: NONE, roots: NONE, states: 0, initial: 0 };
        Group { classifier: 0, at: 0, slots: NONE, kind }
    }

    /// Reads a record, whose words [`layout::GROUP`] names.
    pub(crate) fn read(section: Bytes<'a>, at: usize, class_len: u32) -> Option<Group<'a>> {
        let record =
            section.part(at, layout::GROUP * 4)?.as_chunks::<4>().0.first_chunk::<{ layout::GROUP }>()?;
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
            verdicts,
        ] = record.map(u32::from_le_bytes);
        let slots = Bytes(section.part(slots as usize, (slot_len as usize).checked_mul(4)?)?);
        let table = section.part(table as usize, table_len as usize)?;
        let record = Record {
            section,
            kind,
            states,
            shape,
            slot_len,
            table,
            marks,
            parts,
            masks,
            mask_len,
            allowed,
            initial,
            verdicts,
        };
        let kind = match kind {
            layout::TABLE | layout::WIDE_TABLE => Kind::Table(Table::read(record, class_len)?),
            layout::LANES => Kind::Lanes(Lanes::read(record)?),
            layout::OPEN_LANES => Kind::Open(Open::read(record)?),
            layout::DIAGRAMS => {
                let roots = Bytes(record.part(marks, (states as usize).checked_mul(4)?)?);
                Kind::Diagrams { nodes: Bytes(table), roots, states, initial }
            }
            _ => return None,
        };
        Some(Group { classifier, at: place as usize, slots, kind })
    }

    /// The classifier and the first rule of the group whose record is at `at`.
    #[inline]
    pub(crate) fn head(section: Bytes<'a>, at: usize) -> (u32, u32) {
        let word = |at: usize| section.u32(at).unwrap_or(0);
        (word(at + 4), word(word(at + 20) as usize))
    }

    /// Steps the table whose record is at `at`, if it is one, without reading more of the record than that takes; where
    /// there is something to say, or nothing to step, the whole group has to be read.
    ///
    /// A group that is not kept ready costs several times more to read than to step.
    #[inline]
    pub(crate) fn step_quietly<N: Note>(
        section: Bytes<'a>,
        at: usize,
        state: &mut impl Place,
        class: u32,
        note: &N,
    ) -> Option<()> {
        let record = Bytes(section.part(at, layout::GROUP * 4)?);
        let word = |i: usize| record.u32(i * 4).unwrap_or(0);
        table::step_quietly(section, [word(0), word(2), word(7), word(9)], state, class, note)
    }

    /// Number of rules.
    pub(crate) fn slot_len(&self) -> usize {
        self.slots.0.len() / 4
    }

    /// The rule in that slot.
    #[inline]
    pub(crate) fn rule(&self, slot: usize) -> u32 {
        self.slots.0.as_chunks().0.get(slot).map_or(0, |rule| u32::from_le_bytes(*rule))
    }

    /// Whether it reads symbols as well as letters.
    pub(crate) fn takes_symbols(&self) -> bool {
        matches!(self.kind, Kind::Table(_) | Kind::Lanes(_))
    }

    /// Where its part of a monitor's state begins, and its bytes.
    pub(crate) fn place(&self) -> (usize, usize) {
        let len = match &self.kind {
            Kind::Table(table) => table.state_bytes(),
            Kind::Lanes(lanes) => lanes.state_bytes(),
            Kind::Open(open) => open.state_bytes(),
            Kind::Diagrams { .. } => 4,
        };
        (self.at, len)
    }

    /// Whether everything it refers to is there.
    ///
    /// # Complexity
    /// O(tables).
    pub(crate) fn check(
        &self,
        class_len: u32,
        rules: &RuleSet<'_>,
        budget: &mut Budget,
    ) -> Result<(), &'static str> {
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
        match &self.kind {
            Kind::Table(table) => table.check(class_len, slots, &states, budget),
            Kind::Lanes(lanes) => lanes.check(class_len, slots, &states, budget),
            Kind::Open(open) => open.check(slots, &states, budget),
            Kind::Diagrams { nodes, roots, states: len, initial } => {
                budget.take(&[nodes.0, roots.0])?;
                let entries = len.saturating_mul(2);
                let mut all = roots.0.as_chunks::<4>().0.iter().map(|root| u32::from_le_bytes(*root));
                let sound = check_diagram(nodes.0, entries)
                    && all.all(|root| refers(root, nodes.0.len() / 12, entries));
                if slots != 1 || *len != states(0) || initial >= len || *len > 1 << 30 || !sound {
                    return Err("a diagram refers to nothing");
                }
                Ok(())
            }
        }
    }

    /// Writes the initial state.
    pub(crate) fn reset(&self, mut state: &mut [u8]) {
        match &self.kind {
            Kind::Table(table) => table.reset(&mut state, self.at),
            Kind::Lanes(lanes) => lanes.reset(&mut state, self.at),
            Kind::Open(open) => open.reset(&mut state, self.at),
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
        match &self.kind {
            Kind::Table(table) => {
                let old = table.load(state.bytes(), self.at);
                if let Some((new, mark)) = table.step(old, class) {
                    table.store(state, self.at, new);
                    if table::has_news(mark, note) {
                        table.tell(self, (old, new), mark, note);
                    }
                }
            }
            Kind::Lanes(lanes) => lanes.step(self, state, class, note),
            Kind::Open(open) => open.step(self, state, input.letter(), note),
            Kind::Diagrams { nodes, roots, .. } => {
                let old = Bytes(state.bytes()).u32(self.at).unwrap_or(0);
                let Some(root) = roots.u32(old as usize * 4) else { return };
                let entry = walk(*nodes, root, input.letter());
                let new = entry >> 1;
                state.put(self.at, new.to_le_bytes());
                let rule = self.rule(0);
                let (before, verdict) = (rules.rule(rule).verdict(old), rules.rule(rule).verdict(new));
                let breach = entry & 1 != 0 || verdict == Verdict::Violated && before != Verdict::Violated;
                if breach || before != verdict {
                    note.note(Change { rule, verdict, breach });
                }
            }
        }
    }

    /// Reads many events, the state kept in registers, where the group is one that can; else hands them back.
    #[inline]
    pub(crate) fn run(&self, state: &mut [u8], symbols: &[Symbol], note: &mut impl Note) -> bool {
        match &self.kind {
            Kind::Table(table) => table.run(self, state, symbols, note),
            Kind::Lanes(lanes) => return lanes.run(self, state, symbols, note),
            Kind::Open(_) | Kind::Diagrams { .. } => return false,
        }
        true
    }

    /// The table, where it is one: entries as states, and which break a rule; see [`RuleSet::table`].
    pub(crate) fn dense(&self, next: &mut [u8], marks: &mut [u8]) -> Option<u8> {
        if let Kind::Table(table) = &self.kind { table.dense(next, marks) } else { None }
    }

    /// States and the binary logarithm of the columns, where the group is a table.
    pub(crate) fn table_shape(&self) -> Option<(usize, u32)> {
        if let Kind::Table(table) = &self.kind { Some(table.shape()) } else { None }
    }

    /// The state of one rule's own automaton.
    pub(crate) fn part(&self, state: &[u8], slot: usize) -> u32 {
        match &self.kind {
            Kind::Table(table) => table.part(self.slot_len(), slot, table.load(state, self.at)),
            Kind::Lanes(lanes) => lanes.part(state, self.at, slot),
            Kind::Open(open) => open.part(state, self.at, slot),
            Kind::Diagrams { .. } => Bytes(state).u32(self.at).unwrap_or(0),
        }
    }

    /// Whether the group's part of `state` is one that it can be in, as far as a look tells.
    pub(crate) fn accepts_state(&self, state: &[u8], rules: &RuleSet<'_>) -> bool {
        let exists = |slot| self.part(state, slot) < rules.rule(self.rule(slot)).state_len;
        let sound = match &self.kind {
            Kind::Table(table) => table.is_row(table.load(state, self.at)),
            Kind::Lanes(lanes) => lanes.idle_are_zero(state, self.at, self.slot_len()),
            Kind::Open(open) => open.idle_are_zero(state, self.at, self.slot_len()),
            Kind::Diagrams { .. } => true,
        };
        sound && (0..self.slot_len()).all(exists)
    }

    /// Takes the classes that break some rule out of `allowed`, one bit per class.
    pub(crate) fn restrict(&self, state: &[u8], class_len: u32, allowed: &mut [u64]) {
        match &self.kind {
            Kind::Table(table) => table.restrict(table.load(state, self.at), allowed),
            Kind::Lanes(lanes) => {
                for class in 0..class_len {
                    if let Some(word) = allowed.get_mut(class as usize / 64) {
                        *word &= !(u64::from(lanes.breaks(self, state, class)) << (class % 64));
                    }
                }
            }
            // They read letters only: there are no classes to ask for.
            Kind::Open(_) | Kind::Diagrams { .. } => {}
        }
    }
}
