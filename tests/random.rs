//! Random formulas on random traces, against the naive definition.
//!
//! Everything follows from the seeds; a failure prints the smallest formula that still fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rayon::prelude::*;
use tracelaw_compiler::semantics;
use tracelaw_compiler::syntax::Ast;
use tracelaw_compiler::{Limits, Options, compile};
use tracelaw_corpora::generate::{self, Random};
use tracelaw_runtime::{Letter, Verdict};

use crate::oracle::{Table, shrink};

/// Few formulas need more than this; those that do are counted.
const LIMITS: Limits = Limits { max_states: 2_000, max_nodes: 1 << 18, max_time: None };

/// Of so many formulas, at most one may reach a limit.
const RARE: usize = 100;

const TRACES: usize = 4;

/// What one formula is tried on.
struct Trial {
    vocabulary: Vec<String>,
    options: Options,
    /// The letters that can occur.
    letters: Vec<u64>,
    traces: Vec<Vec<u64>>,
}

impl Trial {
    fn new(random: &mut Random, vocabulary: Vec<String>, options: Options) -> Trial {
        let groups: Vec<u64> =
            options.exclusive.iter().map(|group| group.iter().fold(0, |all, p| all | 1 << p)).collect();
        let letters: Vec<u64> = (0..1_u64 << vocabulary.len())
            .filter(|letter| groups.iter().all(|group| (letter & group).count_ones() <= 1))
            .filter(|letter| !options.one_of_all || letter.count_ones() == 1)
            .collect();
        let traces = (0..TRACES)
            .map(|_| {
                let few = random.below(2) == 0;
                let some: Vec<u64> = (0..2).filter_map(|_| random.pick(&letters).copied()).collect();
                let from = if few { &some } else { &letters };
                (0..random.below(9)).filter_map(|_| random.pick(from).copied()).collect()
            })
            .collect();
        Trial { vocabulary, options, letters, traces }
    }

    /// Compares the automaton with the definition after each event. `Ok(false)` when a limit was reached.
    fn check(&self, ast: &Ast) -> Result<bool, String> {
        let compiled = match compile(ast, &self.vocabulary, &self.options) {
            Ok(compiled) => compiled,
            Err(e) if e.is_state_limit() || e.is_node_limit() => return Ok(false),
            Err(e) => return Err(e.to_string()),
        };
        let automaton = &compiled.automaton;
        let table = Table::of(automaton, &self.letters);
        table.check_plain()?;
        let first = &table.steps[table.initial];
        let all = |verdict| first.iter().all(|step| table.verdicts[step.state as usize] == verdict);
        let sides = (all(Verdict::Satisfied), all(Verdict::Violated));
        if sides != (compiled.never_violated, compiled.never_satisfied) {
            return Err(format!("never violated, never satisfied: expected {sides:?}"));
        }
        for trace in &self.traces {
            let mut state = automaton.initial();
            let mut last = automaton.verdict(state);
            for n in 0..=trace.len() {
                if n > 0 {
                    state = automaton.step(state, Letter(&trace[n - 1..n])).state;
                }
                let verdict = automaton.verdict(state);
                let expected = semantics::accepts(ast, &self.vocabulary, &trace[..n]);
                if verdict.accepts() != expected || last.is_final() && verdict != last {
                    return Err(format!(
                        "{verdict} after {n} letters of {trace:?}, expected {expected}; before it {last}; {:?}",
                        self.options
                    ));
                }
                last = verdict;
            }
        }
        Ok(true)
    }
}

/// Tries that many formulas, each on [`TRACES`] traces.
fn try_all(formulas: usize, seed: u64, trial: impl Fn(&mut Random) -> Trial + Sync) {
    let limited = AtomicUsize::new(0);
    let wrong: Vec<(u64, Ast, String)> = (0..formulas as u64)
        .into_par_iter()
        .filter_map(|i| {
            let seed = seed + i;
            let mut random = Random::new(seed);
            let trial = trial(&mut random);
            let size = 1 + random.below(25);
            let ast = random.formula_of_size(&trial.vocabulary, size);
            match trial.check(&ast) {
                Ok(true) => None,
                Ok(false) => {
                    limited.fetch_add(1, Ordering::Relaxed);
                    None
                }
                Err(wrong) => {
                    let (ast, wrong) = shrink(ast, wrong, |ast| trial.check(ast).map(|_| ()));
                    Some((seed, ast, wrong))
                }
            }
        })
        .collect();
    if let Some((seed, ast, what)) = wrong.iter().min_by_key(|(_, ast, _)| ast.to_string().len()) {
        let count = wrong.len();
        assert_eq!(count, 0, "seed {seed}: `{ast}`: {what}");
    }
    let limited = limited.into_inner();
    println!("{formulas} formulas, {limited} beyond the limits");
    assert!(limited * RARE <= formulas, "{limited} of {formulas} formulas need more than {LIMITS:?}");
}

pub(crate) fn wide(formulas: usize) -> usize {
    if std::env::var_os("TRACELAW_WIDE").is_some() { formulas * 20 } else { formulas }
}

#[test]
fn a_hundred_thousand_pairs() {
    try_all(wide(25_000), 1_000_000_000, |random| {
        let props = 1 + random.below(5);
        let options = Options { limits: LIMITS, ..Options::default() };
        Trial::new(random, generate::names(props), options)
    });
}

#[test]
fn with_alphabet_knowledge() {
    try_all(wide(5_000), 2_000_000_000, |random| {
        let props = 1 + random.below(5);
        // Groups may be empty, overlap, and name a proposition twice.
        let group = |random: &mut Random| (0..random.below(4)).map(|_| random.below(props) as u32).collect();
        let mut exclusive: Vec<Vec<u32>> = (0..random.below(3)).map(|_| group(random)).collect();
        exclusive.iter_mut().for_each(|group: &mut Vec<u32>| {
            if random.below(4) > 0 {
                group.sort_unstable();
                group.dedup();
            }
        });
        let one_of_all = random.below(3) == 0;
        let options = Options { exclusive, one_of_all, limits: LIMITS, ..Options::default() };
        Trial::new(random, generate::names(props), options)
    });
}

#[test]
fn time_limits_end_in_an_error_or_the_same_automaton() {
    for seed in 0..200 {
        let mut random = Random::new(3_000_000_000 + seed);
        let ast = random.formula_of_size(&generate::names(3), 20);
        let within = |time: Option<Duration>| {
            let limits = Limits { max_time: time, ..LIMITS };
            compile(&ast, &generate::names(3), &Options { limits, ..Options::default() })
        };
        let free = within(None);
        for time in [Duration::ZERO, Duration::from_micros(50), Duration::from_secs(60)] {
            match (within(Some(time)), &free) {
                (Ok(limited), Ok(free)) => assert_eq!(limited.automaton, free.automaton, "{ast}"),
                (Err(e), _) if e.is_time_limit() => assert!(time < Duration::from_secs(60), "{ast}"),
                (Err(limited), Err(free)) => assert_eq!(limited, *free, "{ast}"),
                (limited, free) => {
                    let (limited, free) = (limited.is_ok(), free.is_ok());
                    assert_eq!(limited, free, "{ast} within {time:?}");
                }
            }
        }
    }
}
