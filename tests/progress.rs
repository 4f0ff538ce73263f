//! Progression and automata on the same traces: the definition, and TRAC's recorded runs and experiments. The latter
//! stand beside the project; without them those tests say that they were skipped.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;
use tracelaw_compiler::plan::{PlanOptions, plan};
use tracelaw_compiler::progress::{Fast, Textbook};
use tracelaw_compiler::semantics;
use tracelaw_compiler::syntax::{Ast, Expr};
use tracelaw_compiler::{AfterViolation, Options, Semantics, compile};
use tracelaw_corpora::generate::{self, Random, all_formulas, all_traces};
use tracelaw_runtime::{Automaton, Letter, MonitorState, RuleSet, Verdict};

use crate::oracle::read;

/// What `Fast` says after each prefix against the definition: acceptance exactly, decisions for every extension at hand.
fn check(formula: &Ast, names: &[String], traces: &[Vec<u64>]) {
    let mut fast = Fast::new(formula, names).unwrap();
    for trace in traces {
        fast.restart();
        let mut decided = None;
        let mut path = vec![fast.state()];
        for len in 0..=trace.len() {
            if len > 0 {
                fast.step(Letter(&[trace[len - 1]]));
                path.push(fast.state());
            }
            let prefix = &trace[..len];
            let accepts = semantics::accepts(formula, names, prefix);
            assert_eq!(fast.accepts(), accepts, "{formula} on {prefix:?}");
            decided = decided.or(fast.decided(Semantics::Finite));
            assert!(decided.is_none_or(|d| d == accepts), "{formula} was decided before {prefix:?}");
        }
        // Back to the middle, and on from there.
        let middle = trace.len() / 2;
        fast.restore(path[middle]);
        trace[middle..].iter().for_each(|&letter| fast.step(Letter(&[letter])));
        assert_eq!(Some(&fast.state()), path.last(), "{formula}");
    }
}

#[test]
fn fast_progression_is_the_definition_on_small_scopes() {
    let names = generate::names(2);
    let traces: Vec<_> = all_traces(2, 3).collect();
    for formula in all_formulas(&names, 1) {
        check(&formula, &names, &traces);
    }
    let mut random = Random::new(31);
    for round in 0..600 {
        let names = generate::names(1 + round % 3);
        let formula = random.formula(&names, 2 + round % 4);
        let traces: Vec<_> = (0..12).map(|_| random.trace(names.len(), 9)).collect();
        check(&formula, &names, &traces);
    }
}

/// Whether a decision of progression agrees with the automaton's: a rest that is `true` or `false` is decided for every
/// longer trace, so the automaton's final verdict is the same, from this event or from the next on.
#[test]
fn textbook_progression_is_never_wrong() {
    let mut random = Random::new(32);
    let mut decisions = 0;
    for round in 0..800 {
        let names = generate::names(1 + round % 3);
        let formula = random.formula(&names, 2 + round % 3);
        let Ok(mut textbook) = Textbook::new(&formula, &names) else { continue };
        let trace = random.trace(names.len(), 8);
        let mut told = None;
        for (i, &letter) in trace.iter().enumerate() {
            if let Some(value) = told {
                // Every longer trace that is at hand.
                assert_eq!(
                    semantics::accepts(&formula, &names, &trace[..=i]),
                    value,
                    "{formula} on {trace:?}"
                );
            }
            textbook.step(Letter(&[letter]));
            if let Some(value) = textbook.decided() {
                assert!(told.is_none_or(|before| before == value));
                decisions += usize::from(told.is_none());
                told = Some(value);
            }
            if textbook.size() > 20_000 {
                break;
            }
        }
    }
    assert!(decisions > 100, "{decisions}");
}

/// A file of the reference, unpacked; none where that is absent.
fn rows(name: &str) -> Option<Vec<Value>> {
    let Some(folder) = tracelaw_corpora::reference_folder() else {
        eprintln!("skipped: no reference folder");
        return None;
    };
    let bytes = std::fs::read(folder.join("trac").join(name)).unwrap();
    let mut text = String::new();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    } else {
        text = String::from_utf8(bytes).unwrap();
    }
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

fn letter(names: &[String], holding: &[String]) -> Vec<u64> {
    let mut letter = vec![0; names.len().div_ceil(64).max(1)];
    for (i, _) in names.iter().enumerate().filter(|(_, n)| holding.contains(n)) {
        letter[i / 64] |= 1 << (i % 64);
    }
    letter
}

/// The three domains step by step: what TRAC's own monitor recorded, by every engine, with `restart`.
#[test]
fn recorded_runs_of_three_domains() {
    for domain in ["trucks", "textworld", "scienceworld"] {
        let Some(steps) = rows(&format!("{domain}.jsonl")) else { return };
        let rules = std::fs::read(
            tracelaw_corpora::reference_folder().unwrap().join(format!("trac/rules_{domain}.json")),
        );
        let rules: Value = serde_json::from_slice(&rules.unwrap()).unwrap();
        let mut names: Vec<String> = rules["propositions"].as_object().unwrap().keys().cloned().collect();
        names.extend(steps.iter().flat_map(|s| strings(&s["true"])));
        names.sort();
        names.dedup();
        let rules = rules["rules"].as_array().unwrap();
        let formulas: Vec<Ast> = rules.iter().map(|r| read(r["ltl"].as_str().unwrap())).collect();
        let options = Options { after_violation: Some(AfterViolation::Restart), ..Options::default() };
        let automata: Vec<Automaton<Vec<u32>>> =
            formulas.iter().map(|f| compile(f, &names, &options).unwrap().automaton).collect();
        let members: Vec<_> = automata.iter().collect();
        let planned =
            plan(&members, &PlanOptions { prop_len: names.len(), ..PlanOptions::default() }).unwrap();
        let set = RuleSet::from_section(&planned.section, 0).unwrap();

        let mut session = "";
        let mut textbook = Vec::new();
        let mut fast = Vec::new();
        let mut state = MonitorState::new(&set, vec![0; set.state_len()]).unwrap();
        let mut done = [(); 3].map(|()| vec![false; rules.len()]);
        for step in &steps {
            let trace = step["trace"].as_str().unwrap();
            if trace != session {
                session = trace;
                textbook = formulas.iter().map(|f| Textbook::new(f, &names).unwrap()).collect();
                fast = formulas.iter().map(|f| Fast::new(f, &names).unwrap()).collect();
                set.reset(&mut state);
                done = [(); 3].map(|()| vec![false; rules.len()]);
            }
            let letter = letter(&names, &strings(&step["true"]));
            // For each engine the numbers of the rules that this step violates and satisfies.
            let mut found = [(); 3].map(|()| (Vec::new(), Vec::new()));
            let mut note = |engine: usize, rule: usize, satisfied: bool| {
                let number = rules[rule]["number"].as_u64().unwrap();
                if !satisfied {
                    found[engine].0.push(number);
                } else if !std::mem::replace(&mut done[engine][rule], true) {
                    found[engine].1.push(number);
                }
            };
            for rule in 0..rules.len() {
                textbook[rule].step(Letter(&letter));
                if let Some(satisfied) = textbook[rule].decided() {
                    note(0, rule, satisfied);
                    if !satisfied {
                        textbook[rule].restart();
                    }
                }
                fast[rule].step(Letter(&letter));
                if let Some(satisfied) = fast[rule].decided(Semantics::Infinite) {
                    note(1, rule, satisfied);
                    if !satisfied {
                        fast[rule].restart();
                    }
                }
            }
            set.step(&mut state, Letter(&letter), |change| {
                if change.breach || change.verdict == Verdict::Satisfied {
                    note(2, change.rule as usize, !change.breach);
                }
            });
            let numbers = |v: &Value| v.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
            let expected: (Vec<u64>, Vec<u64>) = (numbers(&step["violated"]), numbers(&step["satisfied"]));
            for (engine, found) in ["textbook", "fast", "compiled"].iter().zip(&found) {
                assert_eq!(*found, expected, "{engine}: {domain} {trace} step {}", step["step"]);
            }
        }
    }
}

/// Where the published progression is late, ours is exactly as late and leaves exactly the same.
#[test]
fn the_textbook_is_as_late_as_recorded() {
    for file in ["progression_late.jsonl", "progression_controls.jsonl"] {
        let Some(cases) = rows(file) else { return };
        for case in cases {
            let text = case["formula"].as_str().unwrap();
            let (formula, names) = (read(text), strings(&case["props"]));
            let trace: Vec<_> =
                case["trace"].as_array().unwrap().iter().map(|l| letter(&names, &strings(l))).collect();
            let mut textbook = Textbook::new(&formula, &names).unwrap();
            let mut fast = Fast::new(&formula, &names).unwrap();
            let word = |d: Option<bool>| d.map(|d| if d { "satisfied" } else { "violated" });
            let mut told = textbook.decided().map(|d| (0, d));
            let mut fast_told = fast.decided(Semantics::Infinite).map(|d| (0, d));
            for (after, letter) in (1..).zip(&trace) {
                if told.is_none() {
                    textbook.step(Letter(letter));
                }
                fast.step(Letter(letter));
                told = told.or(textbook.decided().map(|d| (after, d)));
                fast_told = fast_told.or(fast.decided(Semantics::Infinite).map(|d| (after, d)));
            }
            let recorded = case["reference_step"].as_u64().map(|s| s as usize);
            assert_eq!(told.map(|t| t.0), recorded, "{text}");
            assert_eq!(word(told.map(|t| t.1)).unwrap_or("unknown"), case["reference_verdict"], "{text}");
            let recorded = read(case["reference_residual_at_end"].as_str().unwrap());
            let recorded = Textbook::new(&recorded, &names).unwrap();
            assert_eq!(textbook.residual(&names), recorded.residual(&names), "{text}");
            // The other is never later, and never wrong.
            if let Some((at, value)) = told {
                assert!(fast_told.is_some_and(|(f, v)| f <= at && v == value), "{text}: {fast_told:?}");
            }
            if let Some((at, value)) = fast_told {
                assert_eq!(Some(word(Some(value)).unwrap()), case["ltl3_verdict"].as_str(), "{text}");
                assert!(at as u64 >= case["ltl3_step"].as_u64().unwrap(), "{text}");
            }
        }
    }
}

/// The experiments of the paper's section 5.2: every trace judged as its label says.
#[test]
fn generated_traces_have_the_labels_that_automata_give() {
    let mut judged = 0;
    // By shape: formulas that differ in the names only have one automaton.
    let mut automata: BTreeMap<String, Automaton<Vec<u32>>> = BTreeMap::new();
    for file in [
        "constraints_forest",
        "constraints_simple",
        "elasticity_simple",
        "elasticity_tree",
        "props_simple",
        "props_tree",
        "spec_patterns",
    ] {
        let Some(cases) = rows(&format!("s52_{file}.jsonl.gz")) else { return };
        let (header, cases) = cases.split_first().unwrap();
        for case in cases {
            let mut formulas = Vec::new();
            if let Some(pattern) = case["pattern"].as_str() {
                formulas.push(header["formulas"][pattern].as_str().unwrap().to_owned());
            } else if let Some(depth) = case["d"].as_u64() {
                formulas.push(header["trees"][depth.to_string()]["formula"].as_str().unwrap().to_owned());
            } else if case["formulas"].is_array() {
                formulas = strings(&case["formulas"]);
            } else if let Some(formula) = case["formula"].as_str().or(header["formula"].as_str()) {
                formulas.push(formula.to_owned());
            } else {
                formulas = strings(&header["formulas"]);
            }
            let labels = if case["labels"].is_array() {
                strings(&case["labels"])
            } else {
                vec![case["label"].as_str().unwrap().to_owned()]
            };
            for (text, label) in formulas.iter().zip(labels) {
                // `R` and `S` are operators here; in the patterns they are propositions.
                let quoted = text.replace('R', "\"R\"").replace('S', "\"S\"");
                let formula = read(if case["pattern"].is_null() { text } else { &quoted });
                let names: Vec<String> = formula.propositions().into_iter().map(str::to_owned).collect();
                let mut shape = formula.clone();
                rename(&mut shape, &names);
                let places: Vec<String> = (0..names.len()).map(|i| format!("p{i}")).collect();
                let automaton = automata
                    .entry(shape.to_string())
                    .or_insert_with(|| compile(&shape, &places, &Options::default()).unwrap().automaton);
                let state = (0..case["n"].as_u64().unwrap()).fold(automaton.initial(), |state, event| {
                    let holding = &case["true"][event.to_string()];
                    let holding = if holding.is_null() { Vec::new() } else { strings(holding) };
                    automaton.step(state, Letter(&letter(&names, &holding))).state
                });
                let valid = automaton.verdict(state).accepts();
                assert_eq!(valid, label == "VALID", "{file} {}: {text}", case["id"]);
                judged += 1;
            }
        }
    }
    assert!(judged > 200, "{judged}");
}

/// Puts `p0`, `p1`, … in the places of `names`.
fn rename(formula: &mut Ast, names: &[String]) {
    match &mut formula.expr {
        Expr::Constant(_) => {}
        Expr::Proposition(name) => {
            let place = names.iter().position(|n| n == name).unwrap();
            *name = format!("p{place}");
        }
        Expr::Unary(_, f) => rename(f, names),
        Expr::And(fs) | Expr::Or(fs) => fs.iter_mut().for_each(|f| rename(f, names)),
        Expr::Binary(_, f, g) => {
            rename(f, names);
            rename(g, names);
        }
    }
}
