//! Compile times over the reference formulas, per family, beside what other compilers took.
//!
//! ```text
//! cargo bench --bench formulas [-- [--ids 1,2,3] [--family NAME] [--seconds 20] [--verbose]]
//! ```
//! Reads `compilers/{formulas,expected_states,peers}.jsonl.gz` below the folder that `TRACELAW_REFERENCE` names (default
//! `../shared/reference`); without it there is nothing to do, and it says so. A time is the best of up to five
//! compilations in this process, from the parsed formula to the words of the automaton. The peers' times are those
//! recorded in the reference: best of their repeats where they have some, else the first run, on another day and a busier machine, so they
//! give orders of magnitude. The state counts are checked: this is a test as well.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a bench that cannot go on has failed"
)]

use std::{
    collections::{BTreeMap, HashMap},
    io::Read,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::Value;
use tracelaw_compiler::{
    Limits, Options, compile,
    syntax::{Dialect, parse},
};
use tracelaw_runtime::Verdict;

fn rows(path: &PathBuf) -> Vec<Value> {
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("a reference file");
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip");
    text.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect()
}

fn quantile(sorted: &[f64], q: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    sorted[((sorted.len() - 1) as f64 * q).round() as usize]
}

#[derive(Default)]
struct Family {
    ours: Vec<f64>,
    failed: Vec<String>,
    wrong: Vec<String>,
    states: Vec<u64>,
    /// Per tool the pairs (ours, theirs) over the formulas that both solved.
    peers: BTreeMap<String, Vec<(f64, f64)>>,
    /// Per tool how many it solved.
    solved: BTreeMap<String, usize>,
    missed: Vec<String>,
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let verbose = args.iter().any(|a| a == "--verbose");
    let seconds: f64 = option("--seconds").map_or(20.0, |s| s.parse().expect("a number of seconds"));
    let root =
        PathBuf::from(std::env::var("TRACELAW_REFERENCE").unwrap_or_else(|_| "../shared/reference".into()));
    let folder = root.join("compilers");
    if !folder.join("formulas.jsonl.gz").exists() {
        println!("skipped: no reference formulas below {}", root.display());
        return;
    }
    let expected: HashMap<u64, Value> = rows(&folder.join("expected_states.jsonl.gz"))
        .into_iter()
        .map(|r| (r["id"].as_u64().unwrap_or(0), r))
        .collect();
    let mut peers: HashMap<u64, Vec<(String, f64)>> = HashMap::new();
    for r in rows(&folder.join("peers.jsonl.gz")) {
        if r["status"] == "ok" {
            let time = r["warm_cpu_ms"].as_f64().or(r["cpu_ms"].as_f64()).or(r["child_cpu_ms"].as_f64());
            let tool = r["tool"].as_str().unwrap_or("").to_string();
            peers.entry(r["id"].as_u64().unwrap_or(0)).or_default().push((tool, time.unwrap_or(f64::NAN)));
        }
    }
    let limits =
        Limits { max_time: Some(Duration::from_secs_f64(seconds)), max_nodes: 1 << 27, ..Limits::default() };
    let options = Options { limits, ..Options::default() };
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for r in rows(&folder.join("formulas.jsonl.gz")) {
        let id = r["id"].as_u64().unwrap_or(0);
        let name = r["family"].as_str().unwrap_or("").to_string();
        if option("--ids").is_some_and(|ids| !ids.split(',').any(|i| i == id.to_string())) {
            continue;
        }
        if option("--family").is_some_and(|f| f != name) {
            continue;
        }
        let text = r["formula"].as_str().unwrap_or("");
        let limits = tracelaw_compiler::syntax::Limits::default();
        let ast = match parse(text, Dialect::Spot, &limits) {
            Ok(ast) => ast,
            Err(report) => panic!("formula {id}: {report}"),
        };
        let vocabulary: Vec<String> = ast.propositions().iter().map(|p| (*p).to_string()).collect();
        let family = families.entry(name.clone()).or_default();
        let mine = peers.get(&id).cloned().unwrap_or_default();
        for (tool, _) in &mine {
            *family.solved.entry(tool.clone()).or_default() += 1;
        }
        let mut best = f64::INFINITY;
        let mut result = None;
        let begin = Instant::now();
        for _ in 0..5 {
            let start = Instant::now();
            let compiled = compile(&ast, &vocabulary, &options);
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            let failed = compiled.is_err();
            result = Some(compiled);
            if failed || begin.elapsed() > Duration::from_secs(1) {
                break;
            }
        }
        match result {
            Some(Ok(compiled)) => {
                let states = compiled.stats.plain_states as u64;
                if verbose {
                    println!(
                        "{id} {name} {best:.3} ms, {states} states, {} nodes, peers {mine:?}",
                        compiled.stats.nodes
                    );
                }
                family.ours.push(best);
                for (tool, time) in &mine {
                    family.peers.entry(tool.clone()).or_default().push((best, *time));
                }
                family.states.push(states);
                if let Some(x) = expected.get(&id) {
                    let automaton = &compiled.automaton;
                    let empty = automaton.verdict(automaton.initial()) >= Verdict::Holding;
                    let need = if empty { x["sb_eps"].as_u64() } else { x["sb"].as_u64() };
                    if need.is_some_and(|n| n != states) {
                        family.wrong.push(format!("{id}: {states} not {need:?}"));
                    }
                }
            }
            Some(Err(error)) => {
                if verbose {
                    println!("{id} {name} FAILED after {best:.0} ms: {error}; peers {mine:?}");
                }
                family.failed.push(format!("{id}: {error}"));
                if !mine.is_empty() {
                    family.missed.push(format!(
                        "{id} (solved by {})",
                        mine.iter().map(|p| p.0.as_str()).collect::<Vec<_>>().join(" ")
                    ));
                }
            }
            None => {}
        }
    }
    println!("milliseconds, median / 95th percentile / maximum over the formulas solved;");
    println!(
        "per peer: formulas it solved; its median / maximum against ours on the formulas that both solved"
    );
    println!(
        "| family | formulas | tracelaw | spot_direct | spot_compose | lydia | mona | states median/max |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut slower = Vec::new();
    for (name, family) in &mut families {
        family.ours.sort_by(f64::total_cmp);
        family.states.sort_unstable();
        let count = family.ours.len() + family.failed.len();
        let at = |q| quantile(&family.ours, q);
        let mut line = format!(
            "| {name} | {count} | {}; {:.3}/{:.3}/{:.3} ",
            family.ours.len(),
            at(0.5),
            at(0.95),
            at(1.0)
        );
        for tool in ["spot_direct", "spot_compose", "lydia", "mona"] {
            let Some(pairs) = family.peers.get(tool) else {
                line += "| 0 ";
                continue;
            };
            let (mut ours, mut theirs): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            ours.sort_by(f64::total_cmp);
            theirs.sort_by(f64::total_cmp);
            let (m, t) = (
                (quantile(&ours, 0.5), quantile(&ours, 1.0)),
                (quantile(&theirs, 0.5), quantile(&theirs, 1.0)),
            );
            let solved = family.solved.get(tool).copied().unwrap_or(0);
            line += &format!("| {solved}; {:.3}/{:.3} against {:.3}/{:.3} ", t.0, t.1, m.0, m.1);
            for (what, ours, theirs) in [("median", m.0, t.0), ("maximum", m.1, t.1)] {
                if ours > theirs {
                    slower.push(format!("{name}: {what} {ours:.3} against {theirs:.3} of {tool}"));
                }
            }
        }
        let states: Vec<f64> = family.states.iter().map(|&s| s as f64).collect();
        println!("{line}| {}/{} |", quantile(&states, 0.5), quantile(&states, 1.0));
    }
    println!("slower than a peer on the formulas that both solved: {}", slower.len());
    slower.iter().for_each(|s| println!("  {s}"));
    let mut bad = false;
    for (name, family) in &families {
        for wrong in &family.wrong {
            bad = true;
            println!("WRONG {name} {wrong}");
        }
        for missed in &family.missed {
            println!("MISSED {name} {missed}");
        }
        for failed in &family.failed {
            println!("unsolved {name} {failed}");
        }
    }
    assert!(!bad, "a state count is not the minimal one");
}
