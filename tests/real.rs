//! Real logs of six sources under the policies that ship with the project: verdict and first offending event as two
//! evaluators of others found them. The logs stand beside the project; without them this test says that it was skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tracelaw::audit::{Audit, Plan};
use tracelaw::ingest::{Collected, Options, read};
use tracelaw::policy::Policy;

/// What a rule says on one log: the least index of an offending event, the end, or nothing to complain of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum First {
    Event(u64),
    End,
    Never,
}

/// Rule by rule what `policy` says on the log.
fn judge(policy: &Path, log: &Path) -> BTreeMap<String, First> {
    let policy = Policy::load(policy).unwrap();
    let plan = Plan::new(&policy).unwrap();
    let mut events = Collected::default();
    read(&[log.to_owned()], &Options::default(), &mut events).unwrap();
    let mut audit = Audit::new(&policy, &plan);
    events.events.iter().for_each(|event| audit.event(event).unwrap());
    let mut first: BTreeMap<String, First> =
        policy.rules.iter().map(|r| (r.id.clone(), First::Never)).collect();
    audit.finish(|outcome| {
        let earliest = first.get_mut(&policy.rules[outcome.rule].id).unwrap();
        for breach in outcome.breaches {
            *earliest = (*earliest).min(breach.event.map_or(First::End, First::Event));
        }
    });
    first
}

#[test]
fn real_logs_have_the_verdicts_that_others_found() {
    let Some(folder) = tracelaw_corpora::reference_folder().map(|f| f.join("real")) else { return };
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/policies/real");
    let mut judged: BTreeMap<PathBuf, BTreeMap<String, First>> = BTreeMap::new();
    let mut wrong = Vec::new();
    let expected = std::fs::read_to_string(folder.join("expected.jsonl")).unwrap();
    for line in expected.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| case[field].as_str().unwrap().to_owned();
        let source = text("source");
        // Two sources have a form of their own, which is none of the formats: their events are taken as they were normalised.
        let kind =
            if matches!(source.as_str(), "swe_agent" | "bfcl_multi_turn") { "normalized" } else { "raw" };
        let logs = folder.join(&source).join(kind);
        let stem = text("trajectory");
        let log = ["json", "jsonl"]
            .map(|e| logs.join(format!("{stem}.{e}")))
            .into_iter()
            .find(|p| p.exists())
            .unwrap();
        let policy = policies.join(format!("{source}.toml"));
        let found = judged.entry(log.clone()).or_insert_with(|| judge(&policy, &log))[&text("rule")];
        let right = match (&case["verdict"], &case["first_violation_event"], case["step_in_stream"].as_u64())
        {
            (verdict, _, _) if verdict == "satisfied" => First::Never,
            (_, first, _) if first == "end" => First::End,
            (_, _, Some(step)) => First::Event(step),
            (verdict, first, step) => panic!("what is {verdict} {first} {step:?}?"),
        };
        if found != right {
            wrong.push(format!("{} {}: {found:?}, not {right:?}", log.display(), text("rule")));
        }
    }
    assert!(!judged.is_empty());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
