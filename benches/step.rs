//! Stepping: one event at a time through a rule set, beside the bare loops that mark what the machine can do.
//!
//! ```text
//! cargo bench --bench step
//! ```
//! Every group holds its limit, so that a figure is a ratio within one run. Events are drawn with a fixed seed.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on has failed")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tracelaw_compiler::plan::{PlanOptions, plan};
use tracelaw_compiler::{AfterViolation, Options, compile, syntax};
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::{Automaton, Letter, MonitorState, RuleSet, Symbol, Tell};

mod limits;
mod rules;

const EVENTS: usize = 1 << 14;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("p{i}")).collect()
}

fn rule(text: &str, vocabulary: &[String]) -> Automaton<Vec<u32>> {
    let ast = syntax::parse(text, syntax::Dialect::Tracelaw, &syntax::Limits::default()).unwrap();
    let options =
        Options { after_violation: Some(AfterViolation::Repair), one_of_all: true, ..Options::default() };
    compile(&ast, vocabulary, &options).unwrap().automaton
}

/// Rules of one shape: every `p(2i)` is answered by `p(2i+1)`.
fn responses(count: usize, vocabulary: &[String]) -> Vec<Automaton<Vec<u32>>> {
    (0..count)
        .map(|i| {
            let (a, b) = (2 * i % vocabulary.len(), (2 * i + 1) % vocabulary.len());
            rule(&format!("G(p{a} -> F p{b})"), vocabulary)
        })
        .collect()
}

/// Rules of one shape that any event can break: every `p(2i+1)` has a `p(2i)` of its own before it.
fn alternate_precedences(count: usize, vocabulary: &[String]) -> Vec<Automaton<Vec<u32>>> {
    (0..count)
        .map(|i| rule(&format!("G(p{b} -> Y(!p{b} S p{a}))", a = 2 * i, b = 2 * i + 1), vocabulary))
        .collect()
}

struct Set {
    section: Vec<u8>,
    letters: Vec<Vec<u64>>,
    symbols: Vec<Symbol>,
}

impl Set {
    fn new(automata: &[Automaton<Vec<u32>>], props: usize, tries: usize, random: &mut Random) -> Set {
        let options = PlanOptions { prop_len: props, one_of_all: true, ..PlanOptions::default() };
        let automata: Vec<_> = automata.iter().collect();
        let planned = plan(&automata, &options).unwrap();
        let rules = RuleSet::from_section(&planned.section, 0).unwrap();
        let one = |prop: usize| {
            let mut letter = vec![0; props.div_ceil(64)];
            letter[prop / 64] = 1 << (prop % 64);
            letter
        };
        let mut state = MonitorState::new(&rules, vec![0; rules.state_len()]).unwrap();
        let letters: Vec<Vec<u64>> = (0..EVENTS)
            .map(|_| {
                // Of so many letters at random the one that breaks the fewest rules.
                let breaches = |letter: &Vec<u64>| {
                    let mut breaches = 0;
                    rules.peek(&state, Letter(letter), |change| breaches += u32::from(change.breach));
                    breaches
                };
                let letter = (0..tries).map(|_| one(random.below(props))).min_by_key(breaches).unwrap();
                rules.step(&mut state, Letter(&letter), |_| {});
                letter
            })
            .collect();
        let symbols = letters.iter().map(|l| rules.symbol(Letter(l)).unwrap()).collect();
        if std::env::var_os("TRACELAW_PLAN").is_some() {
            for g in &planned.groups {
                println!(
                    "{:?} {} rules {} states {} classes {} bytes, {}",
                    g.kind,
                    g.rules.len(),
                    g.states,
                    g.classes,
                    g.bytes,
                    g.cost
                );
            }
        }
        Set { section: planned.section, letters, symbols }
    }
}

fn step(c: &mut Criterion) {
    let mut random = Random::new(3);
    let mut group = c.benchmark_group("step");
    group.throughput(Throughput::Elements(EVENTS as u64));
    let few = names(4);
    let many = names(64);
    let declare: Vec<_> =
        rules::declare(1000, &mut random).iter().map(|formula| rule(formula, &many)).collect();
    let sets = [
        ("1 rule", Set::new(&responses(1, &few), 4, 1, &mut random)),
        ("8 rules", Set::new(&responses(8, &names(16)), 16, 1, &mut random)),
        ("32 rules of one shape", Set::new(&responses(32, &many), 64, 1, &mut random)),
        ("32 breakable rules of one shape", Set::new(&alternate_precedences(32, &many), 64, 8, &mut random)),
        ("256 rules of one shape", Set::new(&responses(256, &many), 64, 1, &mut random)),
        ("1000 DECLARE rules, at random", Set::new(&declare, 64, 1, &mut random)),
        ("1000 DECLARE rules, mostly obeyed", Set::new(&declare, 64, 32, &mut random)),
    ];
    let table = std::array::from_fn(|_| (random.below(16) << 3) as u8);
    let classes: Vec<u8> = (0..EVENTS).map(|_| random.below(8) as u8).collect();
    group.bench_function("limit: dependent walk", |b| {
        b.iter(|| limits::dependent_walk(&table, 0, black_box(&classes)))
    });
    let masks = std::array::from_fn(|_| [1 << random.below(32), 1 << random.below(32)]);
    let words: Vec<u8> = (0..EVENTS).map(|_| random.below(64) as u8).collect();
    group.bench_function("limit: bit-sliced word", |b| {
        b.iter(|| limits::bit_sliced_word(&masks, 0, black_box(&words)))
    });
    for (name, set) in &sets {
        let rules = RuleSet::from_section(&set.section, 0).unwrap();
        let mut state = MonitorState::new(&rules, vec![0; rules.state_len()]).unwrap();
        let (mut changes, mut breaches) = (0, 0);
        for &symbol in &set.symbols {
            rules.step_symbol(&mut state, symbol, |change| {
                changes += 1;
                breaches += usize::from(change.breach);
            });
        }
        println!(
            "{name}: {:.2} changes, {:.2} breaches per event",
            changes as f64 / EVENTS as f64,
            breaches as f64 / EVENTS as f64
        );
        group.bench_function(BenchmarkId::new("symbols", name), |b| {
            b.iter(|| {
                let mut changes = 0;
                for &symbol in black_box(&set.symbols) {
                    rules.step_symbol(&mut state, symbol, |change| changes += change.rule);
                }
                changes
            })
        });
        for tell in [Tell::Changes, Tell::Breaches] {
            group.bench_function(BenchmarkId::new(format!("run {tell:?}"), name), |b| {
                b.iter(|| {
                    let mut changes = 0;
                    rules.run(&mut state, black_box(&set.symbols), tell, |_, change| changes += change.rule);
                    changes
                })
            });
        }
        group.bench_function(BenchmarkId::new("letters", name), |b| {
            b.iter(|| {
                let mut changes = 0;
                for letter in black_box(&set.letters) {
                    rules.step(&mut state, Letter(letter), |change| changes += change.rule);
                }
                changes
            })
        });
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
