//! The job of a guard: calls of many sessions come in, each session is found by its name, each tool by its name, and
//! four rules are stepped. JSON is already parsed, as for the guards that this is compared with elsewhere.
//!
//! ```text
//! cargo bench --bench guard
//! ```
//! The limit beside it is the look-up of the session alone: no guard that knows sessions by name does less.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on has failed")]

use std::collections::HashMap;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tracelaw::artifact;
use tracelaw::audit::{Audit, Plan};
use tracelaw::ingest::Event;
use tracelaw::policy::Policy;
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::wire::File;
use tracelaw_runtime::{Letter, MonitorState, Names, RuleSet};

const POLICY: &str = r#"
name = "guard job"
[propositions]
transfer = 'tool == "transfer"'
auth = 'tool == "check_auth"'
pay = 'tool == "pay"'
audit = 'tool == "audit"'
retry = 'tool == "retry"'
secret = 'tool == "read_secret"'
send = 'tool == "send_external"'
[[rule]]
id = "R1"
formula = "G(transfer -> O auth)"
[[rule]]
id = "R2"
formula = "G(pay -> F audit)"
[[rule]]
id = "R3"
template = "absence(4, retry)"
[[rule]]
id = "R4"
formula = "G(secret -> G !send)"
"#;

const TOOLS: [&str; 12] = [
    "transfer",
    "check_auth",
    "pay",
    "audit",
    "retry",
    "read_secret",
    "send_external",
    "list_files",
    "read_file",
    "run_tests",
    "summarize",
    "search",
];

type Map<K, V> = HashMap<K, V, ahash::RandomState>;

fn map<K, V>() -> Map<K, V> {
    HashMap::with_hasher(ahash::RandomState::with_seeds(1, 2, 3, 4))
}

fn events(sessions: usize, count: usize) -> Vec<Event> {
    let mut random = Random::new(17);
    (0..count)
        .map(|_| Event {
            session: format!("session-{:06}", random.below(sessions)),
            // Most calls are none of the rules' business.
            tool: TOOLS[if random.below(4) > 0 { 7 + random.below(5) } else { random.below(7) }].to_owned(),
            ..Event::default()
        })
        .collect()
}

fn guard(c: &mut Criterion) {
    let policy = Policy::parse(POLICY, "guard.toml").unwrap();
    let plan = Plan::new(&policy).unwrap();
    let bytes = artifact::write(&policy, &plan, POLICY, "guard.toml");
    let rules = RuleSet::from_bytes(&bytes).unwrap();
    let names = Names::of(&File::open(&bytes).unwrap()).unwrap();
    println!("a session's state takes {} bytes", rules.state_len());
    // Each tool's letter, found once.
    let mut letters: Map<&str, [u64; 1]> = map();
    for (tool, proposition) in
        TOOLS.iter().zip(["transfer", "auth", "pay", "audit", "retry", "secret", "send"])
    {
        letters.insert(tool, [1 << names.proposition(proposition).unwrap()]);
    }
    let mut group = c.benchmark_group("guard");
    for sessions in [1, 1000, 100_000] {
        let events = events(sessions, 100_000);
        group.throughput(Throughput::Elements(events.len() as u64));
        group.bench_function(format!("limit: session look-up, {sessions} sessions"), |b| {
            let mut counts: Map<&str, u32> = map();
            b.iter(|| {
                for event in black_box(&events) {
                    *counts.entry(&event.session).or_default() += 1;
                }
                counts.len()
            })
        });
        group.bench_function(format!("rule set, {sessions} sessions"), |b| {
            let mut states: Map<&str, MonitorState<[u8; 8]>> = map();
            let start = MonitorState::new(&rules, [0; 8]).unwrap();
            b.iter(|| {
                let mut breaches = 0;
                for event in black_box(&events) {
                    let state = states.entry(&event.session).or_insert(start);
                    let letter = letters.get(event.tool.as_str()).unwrap_or(&[0]);
                    rules.step(state, Letter(letter), |change| breaches += u32::from(change.breach));
                }
                breaches
            })
        });
        group.bench_function(format!("audit, {sessions} sessions"), |b| {
            b.iter(|| {
                let mut audit = Audit::new(&policy, &plan);
                for event in black_box(&events) {
                    audit.event(event).unwrap();
                }
                let mut breaches = 0;
                audit.finish(|outcome| breaches += outcome.breaches.len());
                breaches
            })
        });
    }
    group.finish();
}

criterion_group!(benches, guard);
criterion_main!(benches);
