//! Judges logs: events stream in, sessions interleaved as they like, and at the end every rule has a verdict on every
//! session.
//!
//! A [`Plan`] is a policy with its rules compiled; an [`Audit`] is one pass over one log. What is kept of a session is the
//! state of its rule sets, and the verdict and the breaches per rule (and per key, for rules that have one monitor per
//! value).
//!
//! ```
//! use tracelaw::audit::{Audit, Plan};
//! use tracelaw::ingest::Event;
//! use tracelaw::policy::Policy;
//!
//! let policy = Policy::parse(
//!     r#"
//!     [propositions]
//!     read = 'tool == "read_secret"'
//!     send = 'tool == "send"'
//!     [[rule]]
//!     id = "no-leak"
//!     formula = "G(read -> G !send)"
//!     "#,
//!     "leaks.toml",
//! )?;
//! let plan = Plan::new(&policy)?;
//! let mut audit = Audit::new(&policy, &plan);
//! for tool in ["read_secret", "send", "list", "send"] {
//!     audit.event(&Event { session: "s".to_owned(), tool: tool.to_owned(), ..Event::default() })?;
//! }
//! let mut offending = Vec::new();
//! audit.finish(|outcome| offending.extend(outcome.breaches.iter().filter_map(|b| b.event)));
//! assert_eq!(offending, [1, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod monitor;
mod plan;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use tracelaw_runtime::{Automaton, Letter, MonitorState, RuleSet, Verdict};

use crate::ingest::{Event, Place};
use crate::policy::{Policy, Semantics};

use monitor::{At, Keyed, Monitor};
use plan::PlannedSet;
pub use plan::{Plan, one_sided, options};

/// One event that broke a rule, or the end of the session that left it open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Index among the steps of the session that the rule sees, from 0; `None` for the end of the session.
    pub event: Option<u64>,
    /// For the end of the session, the event after which the rule was open until then, counted in the same way; `None` if
    /// it was open before any event.
    pub opened: Option<u64>,
    /// Where the event was read, or for the end of the session the one that opened the rule.
    pub place: Option<Place>,
    /// The event in short, if the audit keeps quotes.
    pub quote: Option<Arc<str>>,
}

/// What one rule says on one session, for one key where it has keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The session.
    pub session: &'a str,
    /// Index of the rule in the policy.
    pub rule: usize,
    /// The value that the monitor is about, for rules with `per`.
    pub key: Option<&'a str>,
    /// `Violated` if there is any breach; else `Satisfied`, or under infinite semantics the verdict after the last event.
    pub verdict: Verdict,
    /// What broke the rule, in order.
    pub breaches: &'a [Breach],
    /// Number of steps of the session that the rule saw.
    pub events: u64,
}

/// An event that cannot be, given what the policy says about its propositions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    message: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Contradiction {}

/// An expression of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expressed {
    /// That of a proposition, by its index.
    Proposition(u32),
    /// One of those that say which events are steps.
    Steps,
    /// `per` of a rule, by the rule's index: an event without a value of it.
    Key(usize),
}

/// A label expression that met values of a type it does not work on, and counted as false there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// What clashed, the first time.
    pub message: String,
    /// Where, the first time.
    pub place: Place,
    /// How often.
    pub count: u64,
}

fn note(clashes: &mut BTreeMap<Expressed, Clash>, what: Expressed, message: &str, place: Place) {
    let first = || Clash { message: message.to_owned(), place, count: 0 };
    clashes.entry(what).or_insert_with(first).count += 1;
}

/// One pass over one log.
#[derive(Debug)]
pub struct Audit<'a> {
    policy: &'a Policy,
    plan: &'a Plan,
    /// The sets of rules without keys.
    sets: Vec<(RuleSet<'a>, &'a PlannedSet)>,
    quote: Option<fn(&Event) -> String>,
    sessions: Vec<Session>,
    by_name: HashMap<String, usize>,
    /// Session of the event before: logs seldom change session at every line.
    last: usize,
    letter: Vec<u64>,
    is_step: Vec<bool>,
    clashes: BTreeMap<Expressed, Clash>,
}

#[derive(Debug)]
struct Session {
    name: String,
    /// Steps seen so far, per stream of the plan.
    steps: Vec<u64>,
    /// One per set of rules without keys.
    states: Vec<MonitorState<Vec<u8>>>,
    /// One per rule; idle for rules with keys.
    monitors: Vec<Monitor>,
    /// One per rule with keys.
    keyed: Vec<Keyed>,
    /// Whether an event contradicted the policy, so that there is nothing to say about the session.
    contradicted: bool,
}

impl<'a> Audit<'a> {
    /// An audit that has read nothing yet. `plan` must be that of `policy`.
    #[must_use]
    pub fn new(policy: &'a Policy, plan: &'a Plan) -> Audit<'a> {
        Audit {
            policy,
            plan,
            sets: plan
                .sets
                .iter()
                .filter(|set| !set.keyed)
                .filter_map(|set| Some((set.rule_set()?, set)))
                .collect(),
            quote: None,
            sessions: Vec::new(),
            by_name: HashMap::new(),
            last: 0,
            letter: Vec::new(),
            is_step: Vec::new(),
            clashes: BTreeMap::new(),
        }
    }

    /// Keeps what `quote` makes of the offending events.
    #[must_use]
    pub fn with_quotes(mut self, quote: fn(&Event) -> String) -> Audit<'a> {
        self.quote = Some(quote);
        self
    }

    /// Reads one event.
    ///
    /// # Complexity
    /// O(rules + values of keys seen in the session). Does not allocate, but for new sessions and keys and for the
    /// quotes of breaches and of events that open a rule.
    ///
    /// # Errors
    /// When the event contradicts what the policy says about its propositions. Its session then has no outcome, the others
    /// are not affected.
    pub fn event(&mut self, event: &Event) -> Result<(), Contradiction> {
        let at = self.session(&event.session);
        if let Err(error) = self.policy.labeller.label(event, &mut self.letter) {
            for (prop, message) in error.clashes() {
                note(&mut self.clashes, Expressed::Proposition(prop), message, event.place);
            }
        }
        let Some(session) = self.sessions.get_mut(at) else { return Ok(()) };
        self.is_step.clear();
        for steps in &self.plan.streams {
            let included = steps.includes(event, &self.letter);
            if let Err(message) = &included {
                note(&mut self.clashes, Expressed::Steps, message, event.place);
            }
            self.is_step.push(included == Ok(true));
        }
        if !self.is_step.contains(&true) {
            return Ok(());
        }
        if let Some(message) = self.policy.contradiction(&self.letter) {
            session.contradicted = true;
            return Err(Contradiction { message });
        }
        let mut quote = Quote { event, make: self.quote, made: None };
        for ((rules, set), state) in self.sets.iter().zip(&mut session.states) {
            if !self.is_step.get(set.stream).is_some_and(|is| *is) {
                continue;
            }
            let index = session.steps.get(set.stream).copied().unwrap_or(0);
            let mut at = At { index, place: event.place, quote: &mut quote };
            rules.step(state, Letter(&self.letter), |change| {
                let rule = set.rules.get(change.rule as usize).map(|rule| *rule as usize);
                if let Some(monitor) = rule.and_then(|rule| session.monitors.get_mut(rule)) {
                    monitor.tell(change.verdict, change.breach, &mut at);
                }
            });
        }
        for (rule_index, rule) in self.plan.rules.iter().enumerate() {
            let Some(keys) = &rule.keyed else { continue };
            if !self.is_step.get(rule.stream).is_some_and(|is| *is) {
                continue;
            }
            let index = session.steps.get(rule.stream).copied().unwrap_or(0);
            let mut at = At { index, place: event.place, quote: &mut quote };
            if let Some(keyed) = session.keyed.get_mut(keys.slot)
                && let Err(message) = keyed.step(&rule.automaton, keys, &self.letter, &mut at)
            {
                note(&mut self.clashes, Expressed::Key(rule_index), &message, event.place);
            }
        }
        for (count, is_step) in session.steps.iter_mut().zip(&self.is_step) {
            *count += u64::from(*is_step);
        }
        Ok(())
    }

    /// Index of the session of that name, which is made if there is none.
    fn session(&mut self, name: &str) -> usize {
        if self.sessions.get(self.last).is_some_and(|s| s.name == name) {
            return self.last;
        }
        self.last = match self.by_name.get(name) {
            Some(&at) => at,
            None => {
                self.by_name.insert(name.to_owned(), self.sessions.len());
                self.sessions.push(Session {
                    name: name.to_owned(),
                    steps: vec![0; self.plan.streams.len()],
                    states: self
                        .sets
                        .iter()
                        .filter_map(|(rules, _)| MonitorState::new(rules, vec![0; rules.state_len()]).ok())
                        .collect(),
                    monitors: self.plan.rules.iter().map(|r| Monitor::new(start(&r.automaton))).collect(),
                    keyed: self
                        .plan
                        .rules
                        .iter()
                        .filter(|r| r.keyed.is_some())
                        .map(|r| Keyed::new(&r.automaton))
                        .collect(),
                    contradicted: false,
                });
                self.sessions.len() - 1
            }
        };
        self.last
    }

    /// The label expressions that met values of a type they do not work on, by proposition.
    pub fn clashes(&self) -> impl Iterator<Item = (Expressed, &Clash)> {
        self.clashes.iter().map(|(what, clash)| (*what, clash))
    }

    /// The sessions without an outcome because one of their events contradicted the policy.
    pub fn contradicted(&self) -> impl Iterator<Item = &str> {
        self.sessions.iter().filter(|s| s.contradicted).map(|s| s.name.as_str())
    }

    /// Ends all sessions and hands over what there is to say: sessions by first appearance, rules by policy order, keys by
    /// first appearance.
    pub fn finish(self, mut each: impl FnMut(Outcome<'_>)) {
        for session in self.sessions.into_iter().filter(|s| !s.contradicted) {
            let mut keyed = session.keyed.into_iter();
            for (i, (rule, monitor)) in self.plan.rules.iter().zip(session.monitors).enumerate() {
                let events = session.steps.get(rule.stream).copied().unwrap_or(0);
                // What stands if the rule has keys and no value appeared: there is nothing that it could be about.
                let vacuous = Outcome {
                    session: &session.name,
                    rule: i,
                    key: None,
                    verdict: Verdict::Satisfied,
                    breaches: &[],
                    events,
                };
                let mut tell = |key: Option<&str>, mut monitor: Monitor| {
                    let verdict = end(self.policy.semantics, &mut monitor);
                    each(Outcome { key, verdict, breaches: &monitor.breaches, ..vacuous });
                };
                if rule.keyed.is_none() {
                    tell(None, monitor);
                    continue;
                }
                let mut keys = 0;
                for (key, monitor) in keyed.next().into_iter().flat_map(Keyed::into_monitors) {
                    tell(Some(&key), monitor);
                    keys += 1;
                }
                if keys == 0 {
                    each(vacuous);
                }
            }
        }
    }
}

/// The verdict before any event.
fn start(automaton: &Automaton<Vec<u32>>) -> Verdict {
    automaton.verdict(automaton.initial())
}

/// The verdict at the end of the session; what is still open is one more breach.
fn end(semantics: Semantics, monitor: &mut Monitor) -> Verdict {
    let verdict = monitor.verdict;
    let open = match verdict {
        Verdict::Pending => semantics == Semantics::Finite,
        // Violated before any event: no event is to blame.
        Verdict::Violated => monitor.breaches.is_empty(),
        Verdict::Holding | Verdict::Satisfied => false,
    };
    if open {
        let (opened, place, quote) = match monitor.opened.take() {
            Some(opened) => (Some(opened.event), Some(opened.place), opened.quote),
            None => (None, None, None),
        };
        monitor.breaches.push(Breach { event: None, opened, place, quote });
    }
    match semantics {
        _ if !monitor.breaches.is_empty() => Verdict::Violated,
        Semantics::Finite => Verdict::Satisfied,
        Semantics::Infinite => verdict,
    }
}

/// The event in short, made when the first rule needs it.
struct Quote<'e> {
    event: &'e Event,
    make: Option<fn(&Event) -> String>,
    made: Option<Arc<str>>,
}

impl Quote<'_> {
    fn get(&mut self) -> Option<Arc<str>> {
        let make = self.make?;
        Some(Arc::clone(self.made.get_or_insert_with(|| make(self.event).into())))
    }
}
