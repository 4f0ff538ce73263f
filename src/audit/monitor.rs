//! One rule on one session: a state and what broke it; for rules with keys one such monitor per value.

use std::sync::Arc;

use indexmap::IndexMap;
use tracelaw_runtime::{Automaton, Letter, Step, Verdict};

use super::plan::Keys;
use super::{Breach, Quote};
use crate::ingest::Place;

/// Events quoted per monitor: more than anyone reads, and a bound on what a session with endless breaches keeps.
const MAX_QUOTES: usize = 100;

#[derive(Clone, Debug)]
pub(super) struct Monitor {
    pub(super) state: u32,
    pub(super) breaches: Vec<Breach>,
    /// While the rule is open: since when.
    pub(super) opened: Option<Opened>,
}

/// The event after which a rule asked for something that it has not got yet.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) event: u64,
    pub(super) place: Place,
    pub(super) quote: Option<Arc<str>>,
}

/// The event that is being read, as a breach needs it.
pub(super) struct At<'q, 'e> {
    pub(super) index: u64,
    pub(super) place: Place,
    pub(super) quote: &'q mut Quote<'e>,
}

impl Monitor {
    pub(super) fn new(automaton: &Automaton<Vec<u32>>) -> Monitor {
        Monitor { state: automaton.initial(), breaches: Vec::new(), opened: None }
    }

    pub(super) fn step(&mut self, automaton: &Automaton<Vec<u32>>, letter: Letter<'_>, at: &mut At<'_, '_>) {
        self.go(automaton, automaton.step(self.state, letter), at);
    }

    fn go(&mut self, automaton: &Automaton<Vec<u32>>, step: Step, at: &mut At<'_, '_>) {
        if step.state != self.state {
            let open = |state| automaton.verdict(state) == Verdict::Pending;
            match (open(self.state), open(step.state)) {
                (false, true) => {
                    let quote = at.quote.get();
                    self.opened = Some(Opened { event: at.index, place: at.place, quote });
                }
                (true, false) => self.opened = None,
                _ => {}
            }
        }
        self.state = step.state;
        if step.breach {
            let quote = if self.breaches.len() < MAX_QUOTES { at.quote.get() } else { None };
            self.breaches.push(Breach { event: Some(at.index), opened: None, place: Some(at.place), quote });
        }
    }
}

/// The monitors of one rule on one session, one per value seen, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Keyed {
    monitors: IndexMap<String, Monitor>,
    /// The letter as the monitors of other values see it.
    elsewhere: Vec<u64>,
}

impl Keyed {
    pub(super) fn into_monitors(self) -> impl Iterator<Item = (String, Monitor)> {
        self.monitors.into_iter()
    }

    /// Steps all values, and `unseen`, which stands for those that have not appeared.
    pub(super) fn step(
        &mut self,
        automaton: &Automaton<Vec<u32>>,
        keys: &Keys,
        unseen: &mut Monitor,
        letter: &[u64],
        at: &mut At<'_, '_>,
    ) {
        self.elsewhere.clear();
        self.elsewhere.extend(letter.iter().zip(&keys.mask).map(|(word, mask)| word & !mask));
        let elsewhere = Letter(&self.elsewhere);
        let here = keys.per.key(at.quote.event).map(|key| match self.monitors.get_index_of(key.as_ref()) {
            Some(here) => here,
            None => self.monitors.insert_full(key.into_owned(), unseen.clone()).0,
        });
        // Most values are in the same state as the one before, and see the same letter.
        let mut memo = (unseen.state, automaton.step(unseen.state, elsewhere));
        unseen.go(automaton, memo.1, at);
        for (i, monitor) in self.monitors.values_mut().enumerate() {
            if here == Some(i) {
                monitor.step(automaton, Letter(letter), at);
                continue;
            }
            if monitor.state != memo.0 {
                memo = (monitor.state, automaton.step(monitor.state, elsewhere));
            }
            monitor.go(automaton, memo.1, at);
        }
    }
}
