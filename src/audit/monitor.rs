//! What is kept of one rule on one session: its verdict and what broke it; for rules with keys, one per value.

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
    pub(super) verdict: Verdict,
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
    pub(super) fn new(verdict: Verdict) -> Monitor {
        Monitor { verdict, breaches: Vec::new(), opened: None }
    }

    /// The verdict after an event, and whether the event breaks the rule.
    pub(super) fn tell(&mut self, verdict: Verdict, breach: bool, at: &mut At<'_, '_>) {
        match (self.verdict == Verdict::Pending, verdict == Verdict::Pending) {
            (false, true) => {
                let quote = at.quote.get();
                self.opened = Some(Opened { event: at.index, place: at.place, quote });
            }
            (true, false) => self.opened = None,
            _ => {}
        }
        self.verdict = verdict;
        if breach {
            let quote = if self.breaches.len() < MAX_QUOTES { at.quote.get() } else { None };
            self.breaches.push(Breach { event: Some(at.index), opened: None, place: Some(at.place), quote });
        }
    }
}

/// One rule's own automaton on its way.
#[derive(Clone, Debug)]
struct Instance {
    state: u32,
    monitor: Monitor,
}

impl Instance {
    fn go(&mut self, automaton: &Automaton<Vec<u32>>, step: Step, at: &mut At<'_, '_>) {
        if step.state != self.state || step.breach {
            self.state = step.state;
            self.monitor.tell(automaton.verdict(step.state), step.breach, at);
        }
    }
}

/// The monitors of one rule on one session, one per value seen, in order of appearance.
#[derive(Debug)]
pub(super) struct Keyed {
    /// Stands for the values that have not appeared.
    unseen: Instance,
    instances: IndexMap<String, Instance>,
    /// The letter as the monitors of other values see it.
    elsewhere: Vec<u64>,
}

impl Keyed {
    pub(super) fn new(automaton: &Automaton<Vec<u32>>) -> Keyed {
        let state = automaton.initial();
        let unseen = Instance { state, monitor: Monitor::new(automaton.verdict(state)) };
        Keyed { unseen, instances: IndexMap::new(), elsewhere: Vec::new() }
    }

    pub(super) fn into_monitors(self) -> impl Iterator<Item = (String, Monitor)> {
        self.instances.into_iter().map(|(key, instance)| (key, instance.monitor))
    }

    /// Steps all values, and what stands for those that have not appeared.
    ///
    /// # Errors
    /// What clashed in the expression of the key; the event is one without a value then.
    pub(super) fn step(
        &mut self,
        automaton: &Automaton<Vec<u32>>,
        keys: &Keys,
        letter: &[u64],
        at: &mut At<'_, '_>,
    ) -> Result<(), String> {
        self.elsewhere.clear();
        self.elsewhere.extend(letter.iter().zip(&keys.mask).map(|(word, mask)| word & !mask));
        let elsewhere = Letter(&self.elsewhere);
        let key = keys.per.key(at.quote.event);
        let (key, clash) = match key {
            Ok(key) => (key, Ok(())),
            Err(message) => (None, Err(message)),
        };
        let here = key.map(|key| match self.instances.get_index_of(key.as_ref()) {
            Some(here) => here,
            None => self.instances.insert_full(key.into_owned(), self.unseen.clone()).0,
        });
        // Most values are in the same state as the one before, and see the same letter.
        let mut memo = (self.unseen.state, automaton.step(self.unseen.state, elsewhere));
        self.unseen.go(automaton, memo.1, at);
        for (i, instance) in self.instances.values_mut().enumerate() {
            if here == Some(i) {
                instance.go(automaton, automaton.step(instance.state, Letter(letter)), at);
                continue;
            }
            if instance.state != memo.0 {
                memo = (instance.state, automaton.step(instance.state, elsewhere));
            }
            instance.go(automaton, memo.1, at);
        }
        clash
    }
}
