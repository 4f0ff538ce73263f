//! What comes before stepping and around it: compiling and planning, loading an artifact, snapshots, many sessions.
//!
//! ```text
//! cargo bench --bench load
//! ```
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on has failed")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tracelaw::artifact;
use tracelaw::audit::Plan;
use tracelaw::policy::Policy;
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::wire::xxh64;
use tracelaw_runtime::{MonitorState, RuleSet, Symbol};

mod rules;

/// A policy of `count` DECLARE constraints over 64 activities.
fn policy(count: usize) -> String {
    let mut text = String::from("one_per_event = true\n[propositions]\n");
    for i in 0..64 {
        text += &format!("p{i} = 'tool == \"tool_{i}\"'\n");
    }
    for (i, formula) in rules::declare(count, &mut Random::new(3)).iter().enumerate() {
        text += &format!("[[rule]]\nid = \"rule-{i}\"\nformula = \"{formula}\"\n");
    }
    text
}

fn compile(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    group.sample_size(10);
    for count in [1, 32, 1000] {
        let text = policy(count);
        let policy = Policy::parse(&text, "p.toml").unwrap();
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(format!("{count} rules"), |b| b.iter(|| Plan::new(black_box(&policy)).unwrap()));
    }
    group.finish();
}

fn load(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    for count in [1, 32, 1000] {
        let text = policy(count);
        let policy = Policy::parse(&text, "p.toml").unwrap();
        let bytes = artifact::write(&policy, &Plan::new(&policy).unwrap(), &text, "p.toml");
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("limit: checksum, {count} rules"), |b| {
            b.iter(|| xxh64(black_box(&bytes), 0))
        });
        group.bench_function(format!("rule set, {count} rules"), |b| {
            b.iter(|| RuleSet::from_bytes(black_box(&bytes)).unwrap().state_len())
        });
        group.bench_function(format!("policy and rule set, {count} rules"), |b| {
            b.iter(|| artifact::read(black_box(&bytes)).unwrap())
        });
    }
    group.finish();
}

/// Copies in memory, and snapshots that outlive the process.
fn snapshot(c: &mut Criterion) {
    let mut group = c.benchmark_group("snapshot");
    for count in [1, 32, 1000] {
        let text = policy(count);
        let policy = Policy::parse(&text, "p.toml").unwrap();
        let bytes = artifact::write(&policy, &Plan::new(&policy).unwrap(), &text, "p.toml");
        let rules = RuleSet::from_bytes(&bytes).unwrap();
        let state = MonitorState::new(&rules, [0; 1024]).unwrap();
        let mut saved = vec![0; rules.snapshot_len()];
        group.throughput(Throughput::Bytes(rules.state_len() as u64));
        group.bench_function(format!("copy, {count} rules"), |b| b.iter(|| black_box(*black_box(&state))));
        group.bench_function(format!("save and restore, {count} rules"), |b| {
            b.iter(|| {
                rules.save(&state, &mut saved).unwrap();
                rules.restore(black_box(&saved), [0; 1024]).unwrap()
            })
        });
    }
    group.finish();
}

/// Sessions in random order, their states side by side in one block of memory.
fn sessions(c: &mut Criterion) {
    let mut group = c.benchmark_group("sessions");
    let text = policy(8);
    let policy = Policy::parse(&text, "p.toml").unwrap();
    let bytes = artifact::write(&policy, &Plan::new(&policy).unwrap(), &text, "p.toml");
    let rules = RuleSet::from_bytes(&bytes).unwrap();
    let len = rules.state_len();
    let mut random = Random::new(5);
    let symbols = rules.symbol_len().unwrap() as usize;
    for count in [1, 1_000_000] {
        let start = MonitorState::new(&rules, vec![0; len]).unwrap();
        let mut states: Vec<u8> = start.bytes().repeat(count);
        let events: Vec<(usize, Symbol)> =
            (0..1 << 16).map(|_| (random.below(count) * len, Symbol(random.below(symbols) as u16))).collect();
        group.throughput(Throughput::Elements(events.len() as u64));
        group.bench_function(format!("limit: one byte of each, {count} sessions of {len} bytes"), |b| {
            let mut states = vec![0u8; count * len];
            b.iter(|| {
                let mut sum = 0;
                for &(at, symbol) in black_box(&events) {
                    sum ^= states[at];
                    states[at] = sum.wrapping_add(symbol.0 as u8);
                }
                sum
            })
        });
        group.bench_function(format!("step, {count} sessions of {len} bytes"), |b| {
            b.iter(|| {
                let mut changes = 0;
                for &(at, symbol) in black_box(&events) {
                    let mut state = MonitorState::from_bytes(&mut states[at..at + len]);
                    rules.step_symbol(&mut state, symbol, |_| changes += 1);
                }
                changes
            })
        });
    }
    group.finish();
}

criterion_group!(benches, compile, load, snapshot, sessions);
criterion_main!(benches);
