//! The audit against the definition: random rules on random logs, judged at once and judged event by event.

use tracelaw::audit::{Audit, Plan};
use tracelaw::ingest::Event;
use tracelaw::policy::Policy;
use tracelaw_compiler::semantics;
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::Verdict;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// One session: at each event some of the propositions, and perhaps a value.
type Log = Vec<(u64, Option<&'static str>)>;

fn random_log(random: &mut Random) -> Log {
    let length = random.below(8);
    (0..length).map(|_| (random.below(8) as u64, [None, Some("x"), Some("y")][random.below(3)])).collect()
}

/// Key, verdict, indices of the offending events (the end as the number of events).
type Outcomes = Vec<(Option<String>, bool, Vec<u64>)>;

fn audit(policy: &Policy, plan: &Plan, log: &Log) -> Outcomes {
    let mut audit = Audit::new(policy, plan);
    for (letter, key) in log {
        let props =
            (0..).zip(NAMES).filter(|(i, _)| letter >> i & 1 != 0).map(|(_, n)| n.to_owned()).collect();
        let args = key.map_or(serde_json::Value::Null, |key| serde_json::json!({"id": key}));
        audit.event(&Event { session: "s".to_owned(), props, args, ..Event::default() }).unwrap();
    }
    let mut outcomes = Vec::new();
    audit.finish(|o| {
        let breaches = o.breaches.iter().map(|b| b.event.unwrap_or(o.events)).collect();
        assert_eq!(o.events, log.len() as u64);
        outcomes.push((o.key.map(str::to_owned), o.verdict == Verdict::Satisfied, breaches));
    });
    outcomes
}

fn policy(formula: &str, mode: &str, more: &str) -> Policy {
    let text = format!(
        "given = [\"a\", \"b\", \"c\"]\nsteps = \"all\"\n[[rule]]\nid = \"r\"\nformula = '{formula}'\nafter_violation = \"{mode}\"\n{more}"
    );
    Policy::parse(&text, "random.toml").unwrap()
}

#[test]
fn verdicts_are_those_of_the_definition_value_by_value() {
    let names = NAMES.map(str::to_owned);
    let mut random = Random::new(7);
    let (mut broken, mut kept) = (0, 0);
    for round in 0..1500 {
        let formula = random.formula(&names, 3);
        let mode = ["repair", "restart", "off"][round % 3];
        let (plain, keyed) = (
            policy(&formula.to_string(), mode, ""),
            policy(&formula.to_string(), mode, "per = \"args.id\"\nkeyed = [\"a\", \"b\"]\n"),
        );
        let (plain_plan, keyed_plan) = (Plan::new(&plain).unwrap(), Plan::new(&keyed).unwrap());
        for _ in 0..4 {
            let log = random_log(&mut random);
            if log.is_empty() {
                continue;
            }
            let accepts = |trace: &[u64]| semantics::accepts(&formula, &names, trace);
            let letters: Vec<u64> = log.iter().map(|(letter, _)| *letter).collect();
            let outcomes = audit(&plain, &plain_plan, &log);
            assert_eq!(
                (outcomes.len(), outcomes[0].1),
                (1, accepts(&letters)),
                "{formula} {mode} on {log:?}"
            );

            // The trace as a value sees it: what is keyed holds at its own events only.
            let seen_by = |key: &str| -> Vec<u64> {
                log.iter().map(|(letter, k)| if *k == Some(key) { *letter } else { letter & 0b100 }).collect()
            };
            let mut keys: Vec<&str> = log.iter().filter_map(|(_, key)| *key).collect();
            let mut seen = Vec::new();
            keys.retain(|key| {
                !seen.contains(key) && {
                    seen.push(*key);
                    true
                }
            });
            let outcomes = audit(&keyed, &keyed_plan, &log);
            if keys.is_empty() {
                assert_eq!(outcomes, [(None, true, vec![])], "{formula} {mode} on {log:?}");
                continue;
            }
            assert_eq!(outcomes.len(), keys.len());
            for (key, outcome) in keys.into_iter().zip(outcomes) {
                let trace = seen_by(key);
                assert_eq!(
                    (outcome.0.as_deref(), outcome.1),
                    (Some(key), accepts(&trace)),
                    "{formula} {mode} on {log:?}"
                );
                // A monitor that was there from the beginning would have met the same breaches.
                let alone: Log = trace.into_iter().map(|letter| (letter, None)).collect();
                assert_eq!(outcome.2, audit(&plain, &plain_plan, &alone)[0].2, "{formula} {mode} on {log:?}");
                *(if outcome.1 { &mut kept } else { &mut broken }) += 1;
            }
        }
    }
    assert!(broken > 500 && kept > 500, "{broken} {kept}");
}

#[test]
fn the_plan_does_not_depend_on_the_number_of_threads() {
    let rules: String = {
        let names = NAMES.map(str::to_owned);
        let mut random = Random::new(11);
        (0..60)
            .map(|i| format!("[[rule]]\nid = \"r{i}\"\nformula = '{}'\n", random.formula(&names, 3)))
            .collect()
    };
    let policy = Policy::parse(&format!("given = [\"a\", \"b\", \"c\"]\n{rules}"), "random.toml").unwrap();
    let words = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let plan = pool.install(|| Plan::new(&policy)).unwrap();
        plan.automata().map(|(automaton, _)| automaton.words().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(words(1), words(4));
}
