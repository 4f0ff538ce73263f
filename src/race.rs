//! Compiled rules against formula progression, on one policy and one log: how long each takes, once it is sure that all
//! say the same.
//!
//! After a violation every engine stops (`off`), whatever the policy says: progression cannot repair.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use tracelaw_compiler::diag::{Diagnostic, Report};
use tracelaw_compiler::plan::{PlanOptions, plan};
use tracelaw_compiler::progress::{Fast, Textbook};
use tracelaw_compiler::{AfterViolation, Compiled, Options, Semantics, compile};
use tracelaw_runtime::{Letter, MonitorState, RuleSet, Verdict};

use crate::audit;
use crate::ingest::Event;
use crate::policy::{Policy, Rule};

/// Times are medians of so many rounds.
const ROUNDS: usize = 5;
/// Events between two looks at the clock.
const SLICE: usize = 256;

/// How the engines did.
#[derive(Clone, Debug)]
pub struct Race {
    /// Sessions of the log.
    pub sessions: usize,
    /// Steps of all sessions.
    pub events: usize,
    /// Steps, from the start of the log, after which the engines' verdicts were compared: all, or as many as there was
    /// time for.
    pub compared: usize,
    /// Rules that were raced.
    pub rules: usize,
    /// Rules that were not, and why.
    pub left_out: Vec<(String, String)>,
    /// The engines, the compiled ones first.
    pub engines: Vec<Timing>,
}

/// How one engine did.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Its name.
    pub engine: &'static str,
    /// Rules that it could step.
    pub rules: usize,
    /// Events that its times are from: all of them, or as many from the start of the log as it had time for.
    pub events: usize,
    /// Whether it went through the whole log at least once in the time given.
    pub whole: bool,
    /// Nanoseconds per event, all its rules together: the median of the rounds.
    pub per_event: f64,
    /// The same per event and rule.
    pub per_rule: f64,
}

/// Why there was no race.
#[derive(Debug)]
pub enum RaceError {
    /// Mistakes in the policy that show when it is compiled.
    Policy(Report),
    /// Nothing to race on.
    Nothing(&'static str),
    /// Two engines disagree: a fault of ours.
    Disagreement {
        /// The rule; empty where it is about all.
        rule: String,
        /// What each said.
        what: String,
    },
}

impl fmt::Display for RaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RaceError::Policy(report) => write!(f, "mistakes in the policy: {report}"),
            RaceError::Nothing(what) => f.write_str(what),
            RaceError::Disagreement { rule, what } if rule.is_empty() => {
                write!(f, "an engine refuses the rules: {what}; please report this")
            }
            RaceError::Disagreement { rule, what } => {
                write!(f, "the engines disagree on rule `{rule}`: {what}; please report this")
            }
        }
    }
}

impl std::error::Error for RaceError {}

impl RaceError {
    /// An engine refuses what the compiler made.
    fn fault(e: impl fmt::Display) -> RaceError {
        RaceError::Disagreement { rule: String::new(), what: e.to_string() }
    }
}

/// The letters of each session, one after the other.
struct Log {
    sessions: Vec<Vec<u64>>,
    /// Words of a letter.
    words: usize,
}

impl Log {
    fn new(policy: &Policy, events: &[Event]) -> Result<Log, RaceError> {
        let words = policy.vocabulary.len().div_ceil(64).max(1);
        let mut sessions: Vec<Vec<u64>> = Vec::new();
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        let mut letter = Vec::new();
        for event in events {
            // An expression that clashes counts as false, as it does for `check`, which tells of it.
            let _ = policy.labeller.label(event, &mut letter);
            if policy.steps.includes(event, &letter) != Ok(true) {
                continue;
            }
            // Compiled rules take such letters for impossible, and progression does not know of that.
            if policy.contradiction(&letter).is_some() {
                return Err(RaceError::Nothing(
                    "an event contradicts what the policy says of its propositions; `tracelaw check` says which",
                ));
            }
            letter.resize(words, 0);
            let fresh = sessions.len();
            let at = *by_name.entry(&event.session).or_insert(fresh);
            if at == fresh {
                sessions.push(Vec::new());
            }
            if let Some(session) = sessions.get_mut(at) {
                session.extend_from_slice(&letter);
            }
        }
        Ok(Log { sessions, words })
    }

    fn events(&self) -> usize {
        self.sessions.iter().map(|letters| letters.len() / self.words).sum()
    }
}

/// A way to step all rules over one session.
trait Engine {
    fn name(&self) -> &'static str;
    fn rules(&self) -> usize;
    /// Back to before any event.
    fn reset(&mut self);
    /// Reads letters of so many words each.
    fn read(&mut self, letters: &[u64], words: usize);
}

struct Sets<'a> {
    rules: RuleSet<'a>,
    state: MonitorState<Vec<u8>>,
    /// So that the work is not for nothing.
    breaches: u64,
}

impl Engine for Sets<'_> {
    fn name(&self) -> &'static str {
        "compiled, together"
    }
    fn rules(&self) -> usize {
        self.rules.len() as usize
    }
    fn reset(&mut self) {
        self.rules.reset(&mut self.state);
    }
    fn read(&mut self, letters: &[u64], words: usize) {
        for letter in letters.chunks_exact(words) {
            let breaches = &mut self.breaches;
            self.rules.step(&mut self.state, Letter(letter), |change| *breaches += u64::from(change.breach));
        }
    }
}

struct OneByOne<'a> {
    compiled: &'a [Compiled],
    states: Vec<u32>,
}

impl Engine for OneByOne<'_> {
    fn name(&self) -> &'static str {
        "compiled, one by one"
    }
    fn rules(&self) -> usize {
        self.compiled.len()
    }
    fn reset(&mut self) {
        self.states.clear();
        self.states.extend(self.compiled.iter().map(|c| c.automaton.initial()));
    }
    fn read(&mut self, letters: &[u64], words: usize) {
        for letter in letters.chunks_exact(words) {
            for (compiled, state) in self.compiled.iter().zip(&mut self.states) {
                *state = compiled.automaton.step(*state, Letter(letter)).state;
            }
        }
    }
}

struct FastProgression(Vec<Fast>);

impl Engine for FastProgression {
    fn name(&self) -> &'static str {
        "progression, at its best"
    }
    fn rules(&self) -> usize {
        self.0.len()
    }
    fn reset(&mut self) {
        self.0.iter_mut().for_each(Fast::restart);
    }
    fn read(&mut self, letters: &[u64], words: usize) {
        for letter in letters.chunks_exact(words) {
            self.0.iter_mut().for_each(|rule| rule.step(Letter(letter)));
        }
    }
}

struct TextbookProgression(Vec<Textbook>);

impl Engine for TextbookProgression {
    fn name(&self) -> &'static str {
        "progression, textbook"
    }
    fn rules(&self) -> usize {
        self.0.len()
    }
    fn reset(&mut self) {
        self.0.iter_mut().for_each(Textbook::restart);
    }
    fn read(&mut self, letters: &[u64], words: usize) {
        for letter in letters.chunks_exact(words) {
            self.0.iter_mut().for_each(|rule| rule.step(Letter(letter)));
        }
    }
}

/// Races the engines on a policy and the events of a log, for about `budget`.
///
/// Rules with `per` or `steps` of their own are left out: what they see is another log.
///
/// # Errors
/// When a rule is too large to compile, when there is nothing to race on, or when engines disagree.
pub fn race(policy: &Policy, events: &[Event], budget: Duration) -> Result<Race, RaceError> {
    let mut left_out = Vec::new();
    let mut rules: Vec<&Rule> = Vec::new();
    for rule in &policy.rules {
        let why = match (&rule.per, &rule.steps) {
            (Some(_), _) => Some("it has one monitor per value"),
            (None, Some(_)) => Some("it counts steps of its own"),
            (None, None) => None,
        };
        match why {
            Some(why) => left_out.push((rule.id.clone(), why.to_owned())),
            None => rules.push(rule),
        }
    }
    let log = Log::new(policy, events)?;
    if rules.is_empty() {
        return Err(RaceError::Nothing(
            "no rule of the policy can be raced: all have `per` or `steps` of their own",
        ));
    }
    if log.events() == 0 {
        return Err(RaceError::Nothing("the log has no step that the policy sees"));
    }
    let mut errors = Report::new();
    let mut compiled = Vec::new();
    for rule in &rules {
        let options = Options { after_violation: Some(AfterViolation::Off), ..audit::options(policy, rule) };
        match compile(&rule.formula, &policy.vocabulary, &options) {
            Ok(done) => compiled.push(done),
            Err(e) => errors.push(Diagnostic::error("limit", rule.span, format!("rule `{}`: {e}", rule.id))),
        }
    }
    let compiled = errors.into_result(compiled).map_err(RaceError::Policy)?;
    let automata: Vec<_> = compiled.iter().map(|c| &c.automaton).collect();
    let options = PlanOptions {
        prop_len: policy.vocabulary.len(),
        exclusive: policy.exclusive.clone(),
        one_of_all: policy.one_per_event,
        ..PlanOptions::default()
    };
    let planned = plan(&automata, &options).map_err(RaceError::fault)?;
    let set = RuleSet::from_section(&planned.section, 0).map_err(RaceError::fault)?;
    let fast: Vec<Fast> = rules
        .iter()
        .map(|rule| Fast::new(&rule.formula, &policy.vocabulary))
        .collect::<Result<_, _>>()
        .map_err(RaceError::fault)?;
    let mut textbook = Vec::new();
    for rule in &rules {
        match Textbook::new(&rule.formula, &policy.vocabulary) {
            Ok(able) => textbook.push(able),
            Err(e) => left_out.push((rule.id.clone(), format!("by the textbook alone: {e}"))),
        }
    }
    let compared = agree(policy, &rules, &log, &compiled, &set, budget)?;

    let state = MonitorState::new(&set, vec![0; set.state_len()]).map_err(RaceError::fault)?;
    let mut engines: Vec<Box<dyn Engine + '_>> = vec![
        Box::new(Sets { rules: set, state, breaches: 0 }),
        Box::new(OneByOne { compiled: &compiled, states: Vec::new() }),
        Box::new(FastProgression(fast)),
    ];
    if !textbook.is_empty() {
        engines.push(Box::new(TextbookProgression(textbook)));
    }
    // In turn, so that a slow moment of the machine is everyone's.
    let slice = budget / (ROUNDS * engines.len()) as u32;
    let mut times = vec![Vec::new(); engines.len()];
    for _ in 0..ROUNDS {
        for (engine, times) in engines.iter_mut().zip(&mut times) {
            times.push(time(engine.as_mut(), &log, slice));
        }
    }
    let timings = engines.iter().zip(times).map(|(engine, mut times)| {
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (per_event, _) = times.get(ROUNDS / 2).copied().unwrap_or((f64::NAN, 0));
        let events = times.iter().map(|t| t.1).min().unwrap_or(0);
        Timing {
            engine: engine.name(),
            rules: engine.rules(),
            events: events.min(log.events()),
            whole: events >= log.events(),
            per_event,
            per_rule: per_event / engine.rules() as f64,
        }
    });
    let engines = timings.collect();
    Ok(Race {
        sessions: log.sessions.len(),
        events: log.events(),
        compared,
        rules: rules.len(),
        left_out,
        engines,
    })
}

/// Nanoseconds per event, and the events read: the log again and again, or as much of it as there is time for.
fn time(engine: &mut dyn Engine, log: &Log, slice: Duration) -> (f64, usize) {
    let mut events = 0;
    let start = Instant::now();
    'all: loop {
        for letters in &log.sessions {
            engine.reset();
            for letters in letters.chunks(SLICE * log.words) {
                engine.read(letters, log.words);
                events += letters.len() / log.words;
                if start.elapsed() >= slice {
                    break 'all;
                }
            }
        }
    }
    (start.elapsed().as_nanos() as f64 / events as f64, events)
}

/// Steps all engines side by side and compares their answers after every event, as far as there is time: the number of
/// events that were compared.
fn agree(
    policy: &Policy,
    rules: &[&Rule],
    log: &Log,
    compiled: &[Compiled],
    set: &RuleSet<'_>,
    budget: Duration,
) -> Result<usize, RaceError> {
    let start = Instant::now();
    let fault = |rule: &Rule, what: String| RaceError::Disagreement { rule: rule.id.clone(), what };
    let mut together = MonitorState::new(set, vec![0; set.state_len()]).map_err(RaceError::fault)?;
    let mut rivals: Vec<Rival<'_>> =
        rules.iter().zip(compiled).map(|(rule, compiled)| Rival::new(rule, compiled, policy)).collect();
    let mut compared = 0;
    for letters in &log.sessions {
        set.reset(&mut together);
        rivals.iter_mut().for_each(Rival::restart);
        for letter in letters.chunks_exact(log.words) {
            if compared > 0 && start.elapsed() > budget {
                return Ok(compared);
            }
            set.step(&mut together, Letter(letter), |_| {});
            for ((i, rival), rule) in rivals.iter_mut().enumerate().zip(rules) {
                let all = set.verdict(&together, i as u32);
                rival.step(Letter(letter), all, policy.semantics).map_err(|what| fault(rule, what))?;
            }
            compared += 1;
        }
    }
    Ok(compared)
}

/// One rule as every engine but the set steps it.
struct Rival<'a> {
    compiled: &'a Compiled,
    state: u32,
    fast: Option<Fast>,
    textbook: Option<Textbook>,
}

impl Rival<'_> {
    fn new<'a>(rule: &Rule, compiled: &'a Compiled, policy: &Policy) -> Rival<'a> {
        Rival {
            compiled,
            state: compiled.automaton.initial(),
            fast: Fast::new(&rule.formula, &policy.vocabulary).ok(),
            textbook: Textbook::new(&rule.formula, &policy.vocabulary).ok(),
        }
    }

    fn restart(&mut self) {
        self.state = self.compiled.automaton.initial();
        self.fast.iter_mut().for_each(Fast::restart);
        self.textbook.iter_mut().for_each(Textbook::restart);
    }

    /// Reads a letter, after which the set says `together`.
    fn step(&mut self, letter: Letter<'_>, together: Verdict, semantics: Semantics) -> Result<(), String> {
        self.state = self.compiled.automaton.step(self.state, letter).state;
        let alone = self.compiled.automaton.verdict(self.state);
        if together != alone {
            return Err(format!("{together} together, {alone} alone"));
        }
        if let Some(fast) = &mut self.fast {
            fast.step(letter);
            // Progression does not know which letters are ruled out, and decides later than an automaton.
            let progressed = fast.verdict(semantics);
            let same = progressed == alone || alone.is_final() && !progressed.is_final();
            let accepts = semantics == Semantics::Infinite
                || alone == Verdict::Violated
                || progressed.accepts() == alone.accepts();
            if !same || !accepts {
                return Err(format!("{alone} compiled, {progressed} by progression"));
            }
        }
        if let Some(textbook) = &mut self.textbook {
            match textbook.decided() {
                // What it has decided is about all traces that go on, so not about the one that ends there.
                Some(value) if value != alone.accepts() => {
                    return Err(format!("{alone} compiled, {value} by the textbook"));
                }
                Some(_) => {}
                None => textbook.step(letter),
            }
        }
        Ok(())
    }
}
