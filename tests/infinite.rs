//! Infinite semantics: compiled verdicts against the definition on ultimately periodic traces.
//!
//! A formula that some infinite trace satisfies is satisfied by one that repeats a cycle for ever, so a verdict is right
//! when the continuations with short stems and cycles agree with it. That they find nothing may mean that they are too
//! short: where the compiler leaves a verdict open and they do not, longer ones are asked.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::Value;
use tracelaw_compiler::syntax::Ast;
use tracelaw_compiler::{AfterViolation, Limits, Options, Semantics, compile, semantics};
use tracelaw_corpora::generate::{self, Random};
use tracelaw_runtime::{Letter, Verdict};

use crate::oracle::{Table, read, shrink};
use crate::random::wide;

/// What a policy says about the letters.
#[derive(Clone, Debug, Default)]
struct Alphabet {
    exclusive: Vec<Vec<u32>>,
    one_of_all: bool,
}

impl Alphabet {
    /// All that matter for so many propositions.
    fn all(props: usize) -> Vec<Alphabet> {
        let mut all = vec![Alphabet::default(), Alphabet { one_of_all: true, ..Alphabet::default() }];
        if props >= 2 {
            all.push(Alphabet { exclusive: vec![vec![0, 1]], one_of_all: false });
        }
        all
    }

    fn letters(&self, props: usize) -> Vec<u64> {
        (0..1_u64 << props)
            .filter(|letter| {
                let held = |group: &Vec<u32>| group.iter().filter(|&p| letter >> p & 1 == 1).count();
                self.exclusive.iter().all(|group| held(group) <= 1)
                    && (!self.one_of_all || letter.count_ones() == 1)
            })
            .collect()
    }

    fn options(&self, after_violation: Option<AfterViolation>) -> Options {
        Options {
            semantics: Semantics::Infinite,
            after_violation,
            exclusive: self.exclusive.clone(),
            one_of_all: self.one_of_all,
            ..Options::default()
        }
    }
}

/// Prefixes of up to that many letters, each with continuations of stems and cycles of up to that many.
#[derive(Clone, Copy)]
struct Bounds {
    prefix: usize,
    stem: usize,
    cycle: usize,
}

/// The verdict by continuations, of longer ones if `found` is open and short ones say otherwise; nothing if the longest do.
fn expected(
    ast: &Ast,
    vocabulary: &[String],
    letters: &[u64],
    prefix: &[u64],
    bounds: Bounds,
    found: Verdict,
) -> Option<Verdict> {
    let short = (bounds.stem, bounds.cycle);
    let more: &[(usize, usize)] = match letters.len() {
        0..=2 => &[(4, 4), (6, 6), (10, 1), (0, 10)],
        _ => &[(3, 3), (4, 4), (7, 1), (0, 8)],
    };
    [short].iter().chain(more).find_map(|&bounds| {
        let verdict = semantics::infinite_verdict(ast, vocabulary, letters, prefix, bounds);
        (found.is_final() || !verdict.is_final()).then_some(verdict)
    })
}

/// Compares the verdicts after all short prefixes of possible letters; returns those that no continuation decided.
fn check(ast: &Ast, vocabulary: &[String], alphabet: &Alphabet, bounds: Bounds) -> Result<usize, String> {
    let letters = alphabet.letters(vocabulary.len());
    let compiled = compile(ast, vocabulary, &alphabet.options(None)).map_err(|e| e.to_string())?;
    let automaton = &compiled.automaton;
    Table::of(automaton, &letters).check_monitor()?;
    let initial = automaton.verdict(automaton.initial());
    let sides = (initial == Verdict::Satisfied, initial == Verdict::Violated);
    if sides != (compiled.never_violated, compiled.never_satisfied) {
        return Err(format!("{alphabet:?}: never violated, never satisfied: expected {sides:?}"));
    }
    let mut undecided = 0;
    let mut prefixes = vec![(Vec::new(), automaton.initial())];
    while let Some((prefix, state)) = prefixes.pop() {
        let found = automaton.verdict(state);
        let expected = expected(ast, vocabulary, &letters, &prefix, bounds, found);
        match expected {
            None => undecided += 1,
            Some(expected) if found == expected => {}
            Some(expected) => {
                return Err(format!("{alphabet:?}: {found} after {prefix:?}, expected {expected}"));
            }
        }
        if prefix.len() == bounds.prefix {
            continue;
        }
        for &letter in &letters {
            let next = automaton.step(state, Letter(&[letter])).state;
            let longer: Vec<u64> = [&prefix[..], &[letter]].concat();
            if !found.is_final() {
                prefixes.push((longer, next));
            } else if next != state {
                return Err(format!("{alphabet:?}: the final verdict after {prefix:?} has a next state"));
            }
        }
    }
    Ok(undecided)
}

fn check_all(formulas: impl ParallelIterator<Item = (Ast, usize, Bounds)>) {
    let (count, undecided) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong: Vec<String> = formulas
        .filter_map(|(ast, props, bounds)| {
            count.fetch_add(1, Ordering::Relaxed);
            let vocabulary = generate::names(props);
            let checked = |ast: &Ast| {
                Alphabet::all(props).iter().try_fold(0, |all, alphabet| {
                    check(ast, &vocabulary, alphabet, bounds).map(|undecided| all + undecided)
                })
            };
            match checked(&ast) {
                Ok(some) => {
                    undecided.fetch_add(usize::from(some > 0), Ordering::Relaxed);
                    None
                }
                Err(wrong) => {
                    let (ast, wrong) = shrink(ast, wrong, |ast| checked(ast).map(|_| ()));
                    Some(format!("{ast}: {wrong}"))
                }
            }
        })
        .collect();
    let shortest = wrong.iter().min_by_key(|text| text.len());
    assert_eq!(shortest, None, "{} in all", wrong.len());
    let (count, undecided) = (count.into_inner(), undecided.into_inner());
    println!("{count} formulas, {undecided} with a verdict that only long continuations leave open");
    assert!(undecided * 5_000 <= count, "{undecided} of {count}");
}

#[test]
fn all_formulas_of_depth_one_over_two_propositions() {
    let bounds = Bounds { prefix: 3, stem: 3, cycle: 2 };
    let formulas: Vec<Ast> = generate::all_formulas(&generate::names(2), 1).collect();
    check_all(formulas.into_par_iter().map(|ast| (ast, 2, bounds)));
}

#[test]
fn all_formulas_of_depth_two_over_one_proposition() {
    // Every formula is looked at closely enough to see most mistakes, one in 64 closely.
    let (most, some) = (Bounds { prefix: 2, stem: 1, cycle: 2 }, Bounds { prefix: 4, stem: 4, cycle: 3 });
    let formulas: Vec<Ast> = generate::all_formulas(&generate::names(1), 2).collect();
    let every = if wide(1) > 1 { 1 } else { 5 };
    let chosen = formulas.into_iter().enumerate().filter(|(i, _)| i % every == 0);
    let chosen: Vec<(usize, Ast)> = chosen.collect();
    check_all(chosen.into_par_iter().map(|(i, ast)| (ast, 1, if i % 64 == 0 { some } else { most })));
}

#[test]
fn random_formulas() {
    let bounds = Bounds { prefix: 2, stem: 2, cycle: 2 };
    let formulas = (0..wide(3_000) as u64).into_par_iter().map(|seed| {
        let mut random = Random::new(5_000_000_000 + seed);
        let props = 1 + random.below(2);
        let size = 3 + random.below(9);
        (random.formula_of_size(&generate::names(props), size), props, bounds)
    });
    check_all(formulas);
}

/// Final verdicts of larger formulas hold on long random traces, and open ones are right about the finite reading.
#[test]
fn no_trace_refutes_a_final_verdict() {
    let limits = Limits { max_states: 2_000, max_nodes: 1 << 18, max_time: None };
    let (limited, finals) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let formulas = wide(3_000) as u64;
    let wrong: Vec<(Ast, String)> = (0..formulas)
        .into_par_iter()
        .filter_map(|seed| {
            let seed = 6_000_000_000 + seed;
            let mut random = Random::new(seed);
            let props = 2 + random.below(3);
            let size = 5 + random.below(15);
            let vocabulary = generate::names(props);
            let alphabets = Alphabet::all(props);
            let alphabet = random.pick(&alphabets)?;
            let ast = random.formula_of_size(&vocabulary, size);
            let checked = |ast: &Ast| {
                let options = Options { limits, ..alphabet.options(None) };
                let automaton = match compile(ast, &vocabulary, &options) {
                    Ok(compiled) => compiled.automaton,
                    Err(e) if e.is_state_limit() || e.is_node_limit() => {
                        limited.fetch_add(1, Ordering::Relaxed);
                        return Ok(());
                    }
                    Err(e) => return Err(e.to_string()),
                };
                let mut random = Random::new(seed);
                let letters = alphabet.letters(props);
                for _ in 0..20 {
                    let mut word = |n: usize| {
                        (0..n).filter_map(|_| random.pick(&letters).copied()).collect::<Vec<u64>>()
                    };
                    let (stem, cycle) = (word(6), word(3));
                    let holds = semantics::accepts_lasso(ast, &vocabulary, &stem, &cycle);
                    let mut state = automaton.initial();
                    for n in 0..=stem.len() {
                        let verdict = automaton.verdict(state);
                        let accepts = semantics::accepts(ast, &vocabulary, &stem[..n]);
                        let right = match verdict {
                            Verdict::Satisfied => holds,
                            Verdict::Violated => !holds,
                            Verdict::Holding => accepts,
                            Verdict::Pending => !accepts,
                        };
                        if !right {
                            return Err(format!("{alphabet:?}: {verdict} after {n} of {stem:?}, {cycle:?}"));
                        }
                        finals.fetch_add(usize::from(verdict.is_final()), Ordering::Relaxed);
                        if let Some(letter) = stem.get(n) {
                            state = automaton.step(state, Letter(&[*letter])).state;
                        }
                    }
                }
                Ok(())
            };
            let wrong = checked(&ast).err()?;
            Some(shrink(ast, wrong, checked))
        })
        .collect();
    if let Some((ast, what)) = wrong.iter().min_by_key(|(ast, _)| ast.to_string().len()) {
        let count = wrong.len();
        assert_eq!(count, 0, "`{ast}`: {what}");
    }
    let (limited, finals) = (limited.into_inner(), finals.into_inner());
    println!("{limited} of {formulas} beyond the limits, {finals} final verdicts");
    assert!(limited * 50 < formulas as usize && finals > 10_000, "{limited} {finals}");
}

/// The monitor as semantics.md describes it, on words: what it has read, as it took it.
struct Naive<'a> {
    ast: &'a Ast,
    vocabulary: &'a [String],
    letters: Vec<u64>,
    mode: AfterViolation,
    known: HashMap<Vec<u64>, Verdict>,
}

impl Naive<'_> {
    fn verdict(&mut self, word: &[u64]) -> Verdict {
        if let Some(&known) = self.known.get(word) {
            return known;
        }
        let verdict = semantics::infinite_verdict(self.ast, self.vocabulary, &self.letters, word, (3, 2));
        self.known.insert(word.to_vec(), verdict);
        verdict
    }

    /// What is taken to have been read after one more event, whether the event is a breach, and the verdict.
    fn step(&mut self, word: &[u64], letter: u64) -> (Vec<u64>, bool) {
        let with = |letter: u64| [word, &[letter]].concat();
        if self.verdict(&with(letter)) != Verdict::Violated {
            return (with(letter), false);
        }
        match self.mode {
            AfterViolation::Restart => (Vec::new(), true),
            // The verdict stays, and is told once: before it, no prefix is violated.
            AfterViolation::Off => (with(letter), self.verdict(word) != Verdict::Violated || word.is_empty()),
            AfterViolation::Repair => {
                let mentioned = self.ast.propositions();
                let named = |i: &usize| mentioned.contains(&self.vocabulary[*i].as_str());
                let rule: u64 = (0..self.vocabulary.len()).filter(named).map(|i| 1 << i).sum();
                let all = 0..1_u64 << self.vocabulary.len();
                let nearest = all
                    .filter(|other| (other ^ letter) & !rule == 0)
                    .filter(|&other| self.verdict(&with(other)) != Verdict::Violated)
                    .min_by_key(|&o| ((o ^ letter).count_ones(), (o & !letter).count_ones(), o));
                (nearest.map_or(word.to_vec(), with), true)
            }
        }
    }
}

#[test]
fn what_follows_a_violation() {
    let vocabulary = generate::names(2);
    let random = (0..60).map(|seed| {
        let mut random = Random::new(8_000_000_000 + seed);
        let size = 4 + random.below(5);
        random.formula_of_size(&vocabulary, size)
    });
    let formulas: Vec<Ast> = generate::all_formulas(&vocabulary, 1)
        .chain(random)
        .chain(
            [
                "(a & b) | G !a",
                "G(a -> X b)",
                "F b & G !a",
                "!b W a",
                "G(a -> O b)",
                "G(a -> F b) & G !(a & b)",
            ]
            .map(read),
        )
        .collect();
    let wrong: Vec<String> = formulas
        .par_iter()
        .flat_map_iter(|ast| {
            let vocabulary = &vocabulary;
            let modes = [AfterViolation::Repair, AfterViolation::Restart, AfterViolation::Off];
            Alphabet::all(2).into_iter().flat_map(move |alphabet| {
                modes.into_iter().filter_map(move |mode| {
                    let automaton =
                        compile(ast, vocabulary, &alphabet.options(Some(mode))).unwrap().automaton;
                    let letters = alphabet.letters(2);
                    if let Err(wrong) = Table::of(&automaton, &letters).check_monitor() {
                        return Some(format!("{ast}: {mode:?} {alphabet:?}: {wrong}"));
                    }
                    let known = HashMap::new();
                    let mut naive = Naive { ast, vocabulary, letters: letters.clone(), mode, known };
                    let mut waiting = vec![(Vec::new(), Vec::new(), automaton.initial())];
                    while let Some((trace, word, state)) = waiting.pop() {
                        let (found, expected) = (automaton.verdict(state), naive.verdict(&word));
                        if found != expected {
                            return Some(format!(
                                "{ast}: {mode:?} {alphabet:?}: {found} after {trace:?}, not {expected}"
                            ));
                        }
                        for &letter in letters.iter().filter(|_| trace.len() < 3) {
                            let step = automaton.step(state, Letter(&[letter]));
                            let (word, breach) = naive.step(&word, letter);
                            let trace: Vec<u64> = [&trace[..], &[letter]].concat();
                            if step.breach != breach {
                                return Some(format!(
                                    "{ast}: {mode:?} {alphabet:?}: {trace:?} breach {}",
                                    step.breach
                                ));
                            }
                            waiting.push((trace, word, step.state));
                        }
                    }
                    None
                })
            })
        })
        .collect();
    let shortest = wrong.iter().min_by_key(|text| text.len());
    assert_eq!(shortest, None, "{} in all", wrong.len());
}

/// The step and the verdict of the first final one after each prefix of the trace, as in the reference files.
fn earliest(ast: &Ast, vocabulary: &[String], trace: &[u64], semantics: Semantics) -> (Option<u64>, Verdict) {
    let options = Options { semantics, ..Options::default() };
    let automaton = compile(ast, vocabulary, &options).unwrap().automaton;
    let mut state = automaton.initial();
    for n in 0..=trace.len() {
        if automaton.verdict(state).is_final() {
            return (Some(n as u64), automaton.verdict(state));
        }
        if let Some(letter) = trace.get(n) {
            state = automaton.step(state, Letter(&[*letter])).state;
        }
    }
    (None, automaton.verdict(state))
}

#[test]
fn the_earliest_events_of_the_reference_files() {
    let Some(folder) = tracelaw_corpora::reference_folder() else { return };
    let (mut wrong, mut count) = (Vec::new(), 0);
    for name in ["progression_late", "progression_controls", "ltl3_vs_ltlf"] {
        let text = std::fs::read_to_string(folder.join(format!("trac/{name}.jsonl"))).unwrap();
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let ast = read(row["formula"].as_str().unwrap());
            let names = |value: &Value| -> Vec<String> {
                let names = value.as_array().unwrap().iter();
                names.map(|name| name.as_str().unwrap().to_owned()).collect()
            };
            let vocabulary = names(&row["props"]);
            let letter = |event: &Value| -> u64 {
                let index = |name: &String| vocabulary.iter().position(|known| known == name).unwrap();
                names(event).iter().map(|name| 1 << index(name)).sum()
            };
            let trace: Vec<u64> = row["trace"].as_array().unwrap().iter().map(letter).collect();
            for (key, semantics) in [("ltl3", Semantics::Infinite), ("ltlf", Semantics::Finite)] {
                let (step, verdict) = (&row[format!("{key}_step")], &row[format!("{key}_verdict")]);
                let (found_step, found) = earliest(&ast, &vocabulary, &trace, semantics);
                let right = match verdict.as_str() {
                    Some(verdict @ ("satisfied" | "violated")) => {
                        found.as_str() == verdict && found_step == step.as_u64()
                    }
                    _ => !found.is_final(),
                };
                count += 1;
                if !right {
                    wrong.push(format!("{line}: {key} {found} at {found_step:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 198, "{count}");
}

#[test]
fn equal_infinite_and_finite_readings_give_equal_automata() {
    let vocabulary = generate::names(2);
    let options = Alphabet::default().options(None);
    for (left, right) in [
        ("X a", "WX a"),
        ("G F a & F true", "F true & G F a & F true"),
        ("F a & G !a", "false"),
        ("G(a -> O a)", "true"),
        ("a U b", "(a W b) & F b"),
        ("G(b -> Y O a)", "G(b -> Y O (a & true))"),
        ("G a", "!(true U !a)"),
    ] {
        let words =
            |text: &str| compile(&read(text), &vocabulary, &options).unwrap().automaton.words().to_vec();
        // `X a` and `WX a` differ on one event, so they are compared where they do not.
        if left == "X a" {
            assert_ne!(words(left), words(right));
            continue;
        }
        assert_eq!(words(left), words(right), "{left} and {right}");
    }
}

#[test]
fn limits_end_in_an_error_or_the_same_automaton() {
    let vocabulary = generate::names(3);
    let (mut reached, mut done) = (0, 0);
    for seed in 0..200 {
        let mut random = Random::new(7_000_000_000 + seed);
        let ast = random.formula_of_size(&vocabulary, 14);
        let within = |limits: Limits| {
            compile(&ast, &vocabulary, &Options { limits, ..Alphabet::default().options(None) })
        };
        let Ok(free) = within(Limits { max_states: 5_000, max_nodes: 1 << 18, max_time: None }) else {
            continue;
        };
        for max_states in [3, 10, 40] {
            match within(Limits { max_states, ..Limits::default() }) {
                Ok(limited) => {
                    assert_eq!(limited.automaton, free.automaton, "{ast}");
                    done += 1;
                }
                Err(e) => {
                    assert!(e.is_state_limit(), "{ast}: {e}");
                    reached += 1;
                }
            }
        }
        match within(Limits { max_time: Some(Duration::ZERO), ..Limits::default() }) {
            Ok(limited) => assert_eq!(limited.automaton, free.automaton, "{ast}"),
            Err(e) => assert!(e.is_time_limit(), "{ast}: {e}"),
        }
    }
    assert!(reached > 20 && done > 20, "{reached} {done}");
}

#[test]
fn a_time_limit_is_kept() {
    // Clauses by the thousand: minutes without a limit, until that on nodes is reached.
    let choices: Vec<String> = (0..6).map(|i| format!("((X[{i}] a U X b) | G(b R X[{i}] !a))")).collect();
    let text = format!("G({}) W F({})", choices.join(" & "), choices.join(" | "));
    let limits = Limits { max_time: Some(Duration::from_millis(300)), ..Limits::default() };
    let started = Instant::now();
    let compiled =
        compile(&read(&text), &generate::names(2), &Options { limits, ..Alphabet::default().options(None) });
    println!("{:?}", compiled.as_ref().map(|c| c.stats));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(compiled.is_err_and(|e| e.is_time_limit()));
}

#[test]
fn deep_and_long_formulas_stay_usable() {
    let started = Instant::now();
    let vocabulary = generate::names(2);
    let options = Alphabet::default().options(None);
    for text in [
        "G(a -> F[<=300] b)".to_owned(),
        "G(a -> X[12] b)".to_owned(),
        "F[<=500] a & G !b".to_owned(),
        "X[2000] a".to_owned(),
        format!("{}a{}", "F(a & X ".repeat(30), ")".repeat(30)),
        format!("{}a", "!X ".repeat(450)),
        format!("{}a", "Y ".repeat(300)),
        format!("{}b{}", "X(a & X(b | ".repeat(300), "))".repeat(300)),
        format!("{}b{}", "(a S (!b T ".repeat(300), "))".repeat(300)),
        format!("{}b{}", "G(a | X ".repeat(150), ")".repeat(150)),
        format!("{}b{}", "(a U ".repeat(40), ")".repeat(40)),
    ] {
        let compiled = compile(&read(&text), &vocabulary, &options);
        assert!(compiled.is_ok(), "{text}: {compiled:?}");
    }
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}
