//! Dense tables and walks through them.

use crate::{
    LoadError,
    arch::{self, Kernel},
};

/// What the entries of a [`Table`] are: the states that follow, as `u8` or `u16`.
pub trait Entry: Copy + Default + Into<usize> + sealed::Sealed {}
impl Entry for u8 {}
impl Entry for u16 {}

mod sealed {
    pub trait Sealed {
        fn from_index(index: usize) -> Self;
    }
    impl Sealed for u8 {
        #[inline(always)]
        fn from_index(index: usize) -> u8 {
            index as u8
        }
    }
    impl Sealed for u16 {
        #[inline(always)]
        fn from_index(index: usize) -> u16 {
            index as u16
        }
    }
}

/// Sessions in flight: enough to hide a look-up's latency, few enough for the registers.
const FLIGHT: usize = 4;
/// Events that are copied at a time.
const BLOCK: usize = 64;
/// Events without a change of state after which it pays to ask what would change it.
const CALM: usize = 32;
/// The most classes that are searched for.
const NEEDLES: usize = 3;

/// An automaton as a dense table: borrowed, checked once.
///
/// Row `s`, of `1 << shift` entries, holds the states that follow state `s`, one per class of letters. Symbols are
/// class numbers; of one that is out of range only the low `shift` bits are read, so it means another class, never
/// another row. A state out of range is left as it is.
///
/// ```
/// use tracelaw_runtime::batch::Table;
///
/// // "Never `b` after `a`": state 1 once `a` (class 1) has been seen, an edge marked where `b` (class 2) then comes.
/// let next = [0u8, 1, 0, 0, 1, 1, 1, 1];
/// let marks = [0, 0, 0, 0, 0, 0, 1, 0];
/// let table = Table::new(&next, 2, 2)?.with_marks(&marks)?;
/// let mut breaches = [None; 2];
/// let mut places = breaches.iter_mut();
/// let state = table.run_marked(0, &[2, 1, 2, 0, 2], |event, _| {
///     if let Some(place) = places.next() {
///         *place = Some(event);
///     }
/// });
/// assert_eq!((state, breaches), (1, [Some(2), Some(4)]));
/// # Ok::<(), tracelaw_runtime::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Table<'a, E = u8> {
    next: &'a [E],
    /// As many as entries, or none.
    marks: &'a [u8],
    shift: u32,
}

impl<'a, E: Entry> Table<'a, E> {
    /// Takes a row-major table of `states << shift` entries.
    ///
    /// # Complexity
    /// O(entries).
    ///
    /// # Errors
    /// When there are no states, more than 256 classes, another number of entries, or an entry that is no state.
    pub fn new(next: &'a [E], shift: u32, states: usize) -> Result<Table<'a, E>, LoadError> {
        if shift > 8 {
            return Err(LoadError::new("a table of more than 256 classes", 0));
        }
        if states == 0 || states.checked_mul(1 << shift) != Some(next.len()) {
            return Err(LoadError::new("a table of another size than states times classes", next.len()));
        }
        match next.iter().position(|&state| state.into() >= states) {
            Some(at) => Err(LoadError::new("a table refers to a state that it does not have", at)),
            None => Ok(Table { next, marks: &[], shift }),
        }
    }

    /// Adds a mark to every edge, in the order of the entries; 0 is an edge of no interest.
    ///
    /// # Errors
    /// When there are not as many marks as entries.
    pub fn with_marks(self, marks: &'a [u8]) -> Result<Table<'a, E>, LoadError> {
        if marks.len() != self.next.len() {
            return Err(LoadError::new("a table needs as many marks as entries", marks.len()));
        }
        Ok(Table { marks, ..self })
    }

    /// Number of states.
    #[must_use]
    pub fn state_len(&self) -> usize {
        self.next.len() >> self.shift
    }

    /// Number of columns, a power of two.
    #[must_use]
    pub fn class_len(&self) -> usize {
        1 << self.shift
    }

    #[inline(always)]
    fn entry(&self, state: E, symbol: u8) -> usize {
        state.into() << self.shift | usize::from(symbol) & (self.class_len() - 1)
    }

    /// The state after one event.
    #[inline(always)]
    pub(super) fn step(&self, state: E, symbol: u8) -> E {
        // Not `unwrap_or`: the choice would be a part of the chain of look-ups, a branch is not.
        match self.next.get(self.entry(state, symbol)) {
            Some(&next) => next,
            None => state,
        }
    }

    /// The mark of the edge that one event takes.
    #[inline(always)]
    pub(super) fn mark(&self, state: E, symbol: u8) -> u8 {
        self.marks.get(self.entry(state, symbol)).map_or(0, |&mark| mark)
    }

    /// The state after many events.
    ///
    /// # Complexity
    /// A look-up per event, each waiting for the one before it.
    #[must_use]
    pub fn run(&self, state: E, symbols: &[u8]) -> E {
        symbols.iter().fold(state, |state, &symbol| self.step(state, symbol))
    }

    /// [`Table::run`] that hands over the events whose edges are marked: their index and mark.
    ///
    /// # Complexity
    /// Two look-ups per event, of which one waits for the one before it.
    pub fn run_marked(&self, state: E, symbols: &[u8], mut each: impl FnMut(usize, u8)) -> E {
        let mut state = state;
        for (event, &symbol) in symbols.iter().enumerate() {
            let mark = self.mark(state, symbol);
            if mark != 0 {
                each(event, mark);
            }
            state = self.step(state, symbol);
        }
        state
    }

    /// [`Table::run_marked`] for logs that rest: where nothing happens for a while and at most three classes leave the
    /// state or are marked, it goes on by searching for those.
    ///
    /// # Complexity
    /// That of [`Table::run_marked`] while states change; then a vector comparison for every 32 events.
    pub fn run_skipping(&self, state: E, symbols: &[u8], mut each: impl FnMut(usize, u8)) -> E {
        let (mut state, mut event, mut since, mut patience) = (state, 0, 0, CALM);
        while let Some(&symbol) = symbols.get(event) {
            let (mark, next) = (self.mark(state, symbol), self.step(state, symbol));
            if mark != 0 {
                each(event, mark);
            }
            event += 1;
            if mark != 0 || next.into() != state.into() {
                since = event;
            } else if event - since >= patience {
                let rest = symbols.get(event..).unwrap_or(&[]);
                let skipped = match self.exits(state) {
                    Exits::None => return state,
                    Exits::Few(needles) => find(rest, needles, (self.class_len() - 1) as u8),
                    Exits::Many => 0,
                };
                event += skipped;
                since = event;
                // What did not pay is tried less often.
                patience = if skipped < CALM { patience.saturating_mul(2) } else { CALM };
            }
            state = next;
        }
        state
    }

    /// The classes that leave a state, or whose edge is marked.
    fn exits(&self, state: E) -> Exits {
        let mut exits = Exits::None;
        let classes = 0..self.class_len();
        for class in classes.map(|class| class as u8) {
            if self.step(state, class).into() == state.into() && self.mark(state, class) == 0 {
                continue;
            }
            exits = match exits {
                Exits::None => Exits::Few([class; NEEDLES]),
                Exits::Few([a, b, _]) if a == b => Exits::Few([a, class, class]),
                Exits::Few([a, b, c]) if b == c => Exits::Few([a, b, class]),
                Exits::Few(_) | Exits::Many => return Exits::Many,
            };
        }
        exits
    }

    /// Many sessions, each with its state and its symbols, four of them in flight; as far as there are both.
    ///
    /// # Complexity
    /// A look-up per event; those of different sessions do not wait for each other. What is left of the last one when
    /// all others have ended takes as long as in [`Table::run`].
    pub fn run_interleaved(&self, states: &mut [E], columns: &[&[u8]]) {
        let mut sessions = states.iter_mut().zip(columns);
        let mut flight: [Option<(&mut E, &[u8])>; FLIGHT] = Default::default();
        loop {
            for seat in &mut flight {
                while seat.as_ref().is_none_or(|(_, rest)| rest.is_empty()) {
                    let Some((state, column)) = sessions.next() else { break };
                    *seat = Some((state, column));
                }
            }
            // As far as the shortest goes; once a seat stays empty, those in flight are the last.
            let left = |seat: &Option<(&mut E, &[u8])>| seat.as_ref().map_or(0, |(_, rest)| rest.len());
            let events = flight.iter().map(left).min().unwrap_or(0);
            if events == 0 {
                break;
            }
            let (mut now, mut pieces) = ([E::default(); FLIGHT], [&[][..]; FLIGHT]);
            for ((seat, now), piece) in flight.iter_mut().zip(&mut now).zip(&mut pieces) {
                if let Some((state, rest)) = seat {
                    (*now, (*piece, *rest)) = (**state, rest.split_at_checked(events).unwrap_or((rest, &[])));
                }
            }
            self.walk(&mut now, &pieces);
            for (seat, now) in flight.iter_mut().zip(now) {
                if let Some((state, _)) = seat {
                    **state = now;
                }
            }
        }
        self.run_last(flight);
    }

    /// The last sessions, fewer than there are seats.
    #[cold]
    fn run_last(&self, mut flight: [Option<(&mut E, &[u8])>; FLIGHT]) {
        loop {
            let lens = flight.iter().flatten().map(|(_, rest)| rest.len()).filter(|&len| len != 0);
            let (Some(events), 2..) = (lens.clone().min(), lens.count()) else { break };
            let (mut now, mut taken) = ([E::default(); FLIGHT], [None; FLIGHT]);
            for ((seat, now), taken) in flight.iter_mut().zip(&mut now).zip(&mut taken) {
                if let Some((state, rest)) = seat
                    && let Some((piece, after)) = rest.split_at_checked(events)
                {
                    (*now, *taken, *rest) = (**state, Some(piece), after);
                }
            }
            // An empty seat goes along with another's piece, in vain: all wait for their look-ups, so it costs nothing.
            let any = taken.iter().flatten().next().copied().unwrap_or(&[]);
            self.walk(&mut now, &taken.map(|piece| piece.unwrap_or(any)));
            for ((seat, now), taken) in flight.iter_mut().zip(now).zip(taken) {
                if let (Some((state, _)), Some(_)) = (seat, taken) {
                    **state = now;
                }
            }
        }
        for (state, rest) in flight.into_iter().flatten() {
            *state = self.run(*state, rest);
        }
    }

    /// Pieces side by side, as far as the shortest goes.
    // PERF: inlined, since a call costs short sessions a quarter of their speed.
    #[inline(always)]
    fn walk<const N: usize>(&self, states: &mut [E; N], pieces: &[&[u8]; N]) {
        // The shift as a constant leaves its register to a state.
        match self.shift {
            0 => self.walk_by::<0, N>(states, pieces),
            1 => self.walk_by::<1, N>(states, pieces),
            2 => self.walk_by::<2, N>(states, pieces),
            3 => self.walk_by::<3, N>(states, pieces),
            4 => self.walk_by::<4, N>(states, pieces),
            5 => self.walk_by::<5, N>(states, pieces),
            6 => self.walk_by::<6, N>(states, pieces),
            7 => self.walk_by::<7, N>(states, pieces),
            _ => self.walk_by::<8, N>(states, pieces),
        }
    }

    #[inline(always)]
    fn walk_by<const SHIFT: u32, const N: usize>(&self, states: &mut [E; N], pieces: &[&[u8]; N]) {
        let mut rows = states.map(|state| state.into() << SHIFT);
        let events = pieces.iter().map(|piece| piece.len()).min().unwrap_or(0);
        // Symbols are copied block by block to where no pointer per session is needed to find them.
        let mut block = [[0; BLOCK]; N];
        for start in (0..events).step_by(BLOCK) {
            let len = (events - start).min(BLOCK);
            for (symbols, piece) in block.iter_mut().zip(pieces) {
                let rest = piece.get(start..).unwrap_or(&[]);
                if let Some(whole) = rest.first_chunk() {
                    *symbols = *whole;
                } else {
                    symbols.iter_mut().zip(rest).for_each(|(place, symbol)| *place = *symbol);
                }
            }
            for event in 0..len {
                for (row, symbols) in rows.iter_mut().zip(&block) {
                    let entry = *row | usize::from(symbols[event]) & ((1 << SHIFT) - 1);
                    if let Some(&next) = self.next.get(entry) {
                        *row = next.into() << SHIFT;
                    }
                }
            }
        }
        for (state, row) in states.iter_mut().zip(rows) {
            *state = E::from_index(row >> SHIFT);
        }
    }
}

/// What leaves a state.
enum Exits {
    None,
    /// At most three classes, repeated to fill.
    Few([u8; NEEDLES]),
    Many,
}

/// Where the first symbol is that, of the bits in `mask`, is one of the needles; else the length.
fn find(symbols: &[u8], needles: [u8; NEEDLES], mask: u8) -> usize {
    arch::widest(Find { symbols, needles, mask })
}

struct Find<'a> {
    symbols: &'a [u8],
    needles: [u8; NEEDLES],
    mask: u8,
}

impl Kernel for Find<'_> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let Find { symbols, needles: [a, b, c], mask } = self;
        let mut at = 0;
        for block in symbols.as_chunks::<32>().0 {
            let mut any = 0;
            for symbol in block {
                let symbol = symbol & mask;
                any |= u8::from(symbol == a) | u8::from(symbol == b) | u8::from(symbol == c);
            }
            if any != 0 {
                break;
            }
            at += 32;
        }
        for symbol in symbols.get(at..).unwrap_or(&[]) {
            if self.needles.contains(&(symbol & mask)) {
                break;
            }
            at += 1;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{vec, vec::Vec};

    use super::Table;
    use crate::batch::tests::{Automaton, Random};

    #[test]
    fn walks_agree() {
        let mut random = Random(1);
        for round in 0..400 {
            let automaton = Automaton::random(&mut random, 256, 8);
            let table = automaton.table();
            let len = [0, 1, 2, 31, 32, 33, 63, 65, 200, 1000][round % 10];
            let symbols = random.symbols(len, 256);
            for start in [0, automaton.states - 1, random.below(automaton.states)] {
                let (state, marked) = automaton.naive(start, &symbols);
                assert_eq!(usize::from(table.run(start as u8, &symbols)), state);
                let mut told = Vec::new();
                let end = table.run_marked(start as u8, &symbols, |event, mark| told.push((event, mark)));
                assert_eq!((usize::from(end), told), (state, marked));
            }
        }
    }

    #[test]
    fn skipping_misses_nothing() {
        let mut random = Random(2);
        for round in 0..600 {
            let mut automaton = Automaton::random(&mut random, 6, 5);
            // Few classes leave a state; most events are of classes that do not.
            let exits = round % 5;
            for (entry, next) in automaton.next.iter_mut().enumerate() {
                let (state, class) = (entry >> automaton.shift, entry & ((1 << automaton.shift) - 1));
                if class >= exits {
                    *next = state as u8;
                    automaton.marks[entry] = 0;
                }
            }
            let len = random.below(3000);
            let rare = 1 + random.below(400);
            let mut symbols = vec![31; len];
            for symbol in &mut symbols {
                if random.below(rare) == 0 {
                    *symbol = random.below(256) as u8;
                }
            }
            let start = random.below(automaton.states);
            let (state, marked) = automaton.naive(start, &symbols);
            let mut told = Vec::new();
            let table = automaton.table();
            let end = table.run_skipping(start as u8, &symbols, |event, mark| told.push((event, mark)));
            assert_eq!((usize::from(end), told), (state, marked), "round {round}");
        }
    }

    #[test]
    fn interleaved_sessions_agree() {
        let mut random = Random(3);
        for round in 0..300 {
            let automaton = Automaton::random(&mut random, 256, 6);
            let sessions = round % 20;
            let longest = 1 + random.below(300);
            let columns: Vec<Vec<u8>> = (0..sessions)
                .map(|_| {
                    let len = random.below(longest);
                    random.symbols(len, 256)
                })
                .collect();
            let mut states: Vec<u8> = (0..sessions).map(|_| random.below(automaton.states) as u8).collect();
            let expected: Vec<usize> =
                states.iter().zip(&columns).map(|(s, c)| automaton.naive(usize::from(*s), c).0).collect();
            let slices: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
            automaton.table().run_interleaved(&mut states, &slices);
            assert_eq!(states.iter().map(|s| usize::from(*s)).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn tables_of_more_than_256_states() {
        let mut random = Random(4);
        let (states, shift) = (1000, 4);
        let next: Vec<u16> = (0..states << shift).map(|_| random.below(states) as u16).collect();
        let table = Table::new(&next, shift, states).unwrap();
        let columns: Vec<Vec<u8>> = (0..9).map(|i| random.symbols(50 * i, 16)).collect();
        let slices: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
        let mut ends = vec![999u16; 9];
        table.run_interleaved(&mut ends, &slices);
        for (column, end) in columns.iter().zip(ends) {
            let naive = column.iter().fold(999, |s, c| usize::from(next[s * 16 + usize::from(*c)]));
            assert_eq!((usize::from(end), usize::from(table.run(999, column))), (naive, naive));
        }
    }

    #[test]
    fn tables_that_are_none() {
        assert!(Table::<u8>::new(&[], 0, 0).is_err());
        assert!(Table::new(&[0u8; 512], 9, 1).is_err());
        assert!(Table::new(&[0u8, 2], 0, 2).is_err());
        assert!(Table::new(&[0u8; 3], 1, 2).is_err());
        assert!(Table::new(&[0u8; 4], usize::MAX.trailing_ones() as _, usize::MAX).is_err());
        let table = Table::new(&[0u8; 4], 1, 2).unwrap();
        assert!(table.with_marks(&[0; 3]).is_err());
        assert_eq!(table.run(7, &[0, 1, 255]), 7);
    }
}
