//! Formula progression, which compiled rules replace: TRAC's sixty truck rules on its truck traces where the reference
//! is at hand, else sixty rules of the same kinds on drawn events.
//!
//! ```text
//! cargo bench --bench progression
//! ```
//! After a violation all engines stop a rule (`off`), or begin it afresh (`restart`, as TRAC's auditing does). The tests
//! compare their verdicts, step by step.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on has failed")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use tracelaw_compiler::plan::{PlanOptions, plan};
use tracelaw_compiler::progress::{Fast, Textbook};
use tracelaw_compiler::syntax::{Ast, Dialect, Limits, parse};
use tracelaw_compiler::{AfterViolation, Options, Semantics, compile};
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::{Letter, MonitorState, RuleSet};

struct Job {
    name: &'static str,
    names: Vec<String>,
    formulas: Vec<Ast>,
    sessions: Vec<Vec<Vec<u64>>>,
}

fn read(text: &str) -> Ast {
    parse(text, Dialect::Tracelaw, &Limits::default()).unwrap()
}

fn letter(names: &[String], holding: &[&str]) -> Vec<u64> {
    let mut letter = vec![0; names.len().div_ceil(64)];
    for (i, _) in names.iter().enumerate().filter(|(_, n)| holding.contains(&n.as_str())) {
        letter[i / 64] |= 1 << (i % 64);
    }
    letter
}

fn trucks() -> Option<Job> {
    let folder = tracelaw_corpora::reference_folder()?.join("trac");
    let rules: Value = serde_json::from_slice(&std::fs::read(folder.join("rules_trucks.json")).ok()?).ok()?;
    let steps = std::fs::read_to_string(folder.join("trucks.jsonl")).ok()?;
    let steps: Vec<Value> = steps.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let holding = |step: &'_ Value| -> Vec<String> {
        step["true"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().to_owned()).collect()
    };
    let mut names: Vec<String> = rules["propositions"].as_object()?.keys().cloned().collect();
    names.extend(steps.iter().flat_map(holding));
    names.sort();
    names.dedup();
    let formulas = rules["rules"].as_array()?.iter().map(|r| read(r["ltl"].as_str().unwrap())).collect();
    let mut sessions: Vec<Vec<Vec<u64>>> = Vec::new();
    let mut last = "";
    for step in &steps {
        let trace = step["trace"].as_str()?;
        if trace != last {
            sessions.push(Vec::new());
            last = trace;
        }
        let holding = holding(step);
        let holding: Vec<&str> = holding.iter().map(String::as_str).collect();
        sessions.last_mut()?.push(letter(&names, &holding));
    }
    Some(Job { name: "60 truck rules", names, formulas, sessions })
}

fn drawn() -> Job {
    let names: Vec<String> = (0..40).map(|i| format!("p{i}")).collect();
    let formulas = (0..60)
        .map(|i| {
            let (a, b) = (i % 40, (i * 7 + 3) % 40);
            read(&match i % 3 {
                0 => format!("G(p{a} -> p{b})"),
                1 => format!("G(p{a} -> F p{b})"),
                _ => format!("!p{a} U p{b}"),
            })
        })
        .collect();
    let mut random = Random::new(41);
    let sessions = (0..16)
        .map(|_| {
            (0..40).map(|_| vec![random.bits() & random.bits() & random.bits() & 0xff_ffff_ffff]).collect()
        })
        .collect();
    Job { name: "60 drawn rules", names, formulas, sessions }
}

fn progression(c: &mut Criterion) {
    let job = trucks().unwrap_or_else(drawn);
    race(c, "progression", &job, AfterViolation::Off);
    race(c, "progression, restart", &job, AfterViolation::Restart);
}

fn race(c: &mut Criterion, name: &str, job: &Job, after: AfterViolation) {
    let options = Options { after_violation: Some(after), ..Options::default() };
    let restart = after == AfterViolation::Restart;
    let automata: Vec<_> =
        job.formulas.iter().map(|f| compile(f, &job.names, &options).unwrap().automaton).collect();
    let members: Vec<_> = automata.iter().collect();
    let planned =
        plan(&members, &PlanOptions { prop_len: job.names.len(), ..PlanOptions::default() }).unwrap();
    let rules = RuleSet::from_section(&planned.section, 0).unwrap();
    let events: usize = job.sessions.iter().map(Vec::len).sum();
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(events as u64));
    group.sample_size(10);
    let mut state = MonitorState::new(&rules, vec![0; rules.state_len()]).unwrap();
    group.bench_function(format!("compiled together, {}", job.name), |b| {
        b.iter(|| {
            let mut changes = 0;
            for session in black_box(&job.sessions) {
                rules.reset(&mut state);
                session.iter().for_each(|letter| rules.step(&mut state, Letter(letter), |_| changes += 1));
            }
            changes
        })
    });
    let mut states = vec![0; automata.len()];
    group.bench_function(format!("compiled one by one, {}", job.name), |b| {
        b.iter(|| {
            for session in black_box(&job.sessions) {
                states.iter_mut().zip(&automata).for_each(|(state, a)| *state = a.initial());
                for letter in session {
                    states.iter_mut().zip(&automata).for_each(|(s, a)| *s = a.step(*s, Letter(letter)).state);
                }
            }
            states.iter().sum::<u32>()
        })
    });
    let mut fast: Vec<_> = job.formulas.iter().map(|f| Fast::new(f, &job.names).unwrap()).collect();
    group.bench_function(format!("progression at its best, {}", job.name), |b| {
        b.iter(|| {
            for session in black_box(&job.sessions) {
                fast.iter_mut().for_each(Fast::restart);
                for letter in session {
                    for rule in &mut fast {
                        rule.step(Letter(letter));
                        if restart && rule.decided(Semantics::Finite) == Some(false) {
                            rule.restart();
                        }
                    }
                }
            }
        })
    });
    let mut textbook: Vec<_> = job.formulas.iter().map(|f| Textbook::new(f, &job.names).unwrap()).collect();
    group.bench_function(format!("progression by the textbook, {}", job.name), |b| {
        b.iter(|| {
            for session in black_box(&job.sessions) {
                textbook.iter_mut().for_each(Textbook::restart);
                for letter in session {
                    for rule in &mut textbook {
                        rule.step(Letter(letter));
                        if restart && rule.decided() == Some(false) {
                            rule.restart();
                        }
                    }
                }
            }
        })
    });
    group.finish();
}

criterion_group!(benches, progression);
criterion_main!(benches);
