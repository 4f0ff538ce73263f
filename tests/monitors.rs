//! What follows a violation: compiled monitors against one written from the definition alone.
//!
//! The naive monitor walks the automaton that [`Defined`] finds by asking the definition about all short traces, and
//! decides by trying all letters. Both are finite, so they are compared on all traces, not on some.

use std::collections::HashSet;

use rayon::prelude::*;
use tracelaw_compiler::syntax::Ast;
use tracelaw_compiler::{AfterViolation, Options, compile};
use tracelaw_corpora::generate::{self, Random};
use tracelaw_runtime::{Letter, Verdict};

use crate::oracle::{Defined, Table, read, shrink};

const MODES: [AfterViolation; 3] = [AfterViolation::Repair, AfterViolation::Restart, AfterViolation::Off];

/// What a policy says about the letters.
#[derive(Clone, Debug, Default)]
struct Alphabet {
    exclusive: Vec<Vec<u32>>,
    one_of_all: bool,
}

impl Alphabet {
    fn possible(&self, props: usize) -> Vec<u64> {
        (0..1_u64 << props)
            .filter(|letter| {
                let true_in = |group: &[u32]| {
                    (0..props as u32).filter(|p| group.contains(p) && letter >> p & 1 == 1).count()
                };
                self.exclusive.iter().all(|group| true_in(group) <= 1)
                    && (!self.one_of_all || letter.count_ones() == 1)
            })
            .collect()
    }
}

/// The monitor as semantics.md describes it.
struct Naive<'a> {
    defined: &'a Defined,
    verdicts: Vec<Verdict>,
    mode: AfterViolation,
    /// The propositions of the rule, as a letter.
    rule: u64,
}

/// A state of the definition's automaton; `told` once `off` has reported its violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    state: usize,
    told: bool,
}

impl Naive<'_> {
    fn verdict(&self, at: State) -> Verdict {
        if at.told { Verdict::Violated } else { self.verdicts[at.state] }
    }

    /// The state after an event, and whether the event is a breach.
    fn step(&self, at: State, letter: u64) -> (State, bool) {
        let next = |letter: u64| self.defined.next[at.state][letter as usize];
        let breaks = |letter: u64| self.verdicts[next(letter)] == Verdict::Violated;
        let went = |state: usize| State { state, told: false };
        if at.told {
            return (at, false);
        }
        if !breaks(letter) {
            return (went(next(letter)), false);
        }
        match self.mode {
            AfterViolation::Restart => (went(0), true),
            AfterViolation::Off => (State { state: next(letter), told: true }, true),
            AfterViolation::Repair => {
                let letters = 0..self.defined.next[at.state].len() as u64;
                let nearest =
                    letters.filter(|&other| (other ^ letter) & !self.rule == 0 && !breaks(other)).min_by_key(
                        |&other| ((other ^ letter).count_ones(), (other & !letter).count_ones(), other),
                    );
                (nearest.map_or(at, |other| went(next(other))), true)
            }
        }
    }
}

/// Compares the compiled monitors of all modes with the naive one.
fn check(ast: &Ast, vocabulary: &[String], alphabet: &Alphabet, defined: &Defined) -> Result<(), String> {
    let possible = alphabet.possible(vocabulary.len());
    let verdicts = defined.verdicts(&possible);
    let mentioned = ast.propositions();
    let rule: u64 =
        (0..vocabulary.len()).filter(|&p| mentioned.contains(&vocabulary[p].as_str())).map(|p| 1 << p).sum();
    // The rule cannot see that a letter is impossible if some possible one looks the same to it.
    let seems_possible: Vec<bool> = (0..1_u64 << vocabulary.len())
        .map(|letter| possible.iter().any(|&other| (other ^ letter) & rule == 0))
        .collect();
    let options = |after_violation| Options {
        after_violation,
        exclusive: alphabet.exclusive.clone(),
        one_of_all: alphabet.one_of_all,
        ..Options::default()
    };

    let plain = compile(ast, vocabulary, &options(None)).map_err(|e| e.to_string())?;
    Table::of(&plain.automaton, &possible).check_plain()?;
    let all = |v| possible.iter().all(|&letter| verdicts[defined.next[0][letter as usize]] == v);
    let sides = (all(Verdict::Satisfied), all(Verdict::Violated));
    if sides != (plain.never_violated, plain.never_satisfied) {
        return Err(format!("{alphabet:?}: never violated, never satisfied: expected {sides:?}"));
    }

    for mode in MODES {
        let compiled = compile(ast, vocabulary, &options(Some(mode))).map_err(|e| e.to_string())?;
        let automaton = &compiled.automaton;
        let failed = |what: String| Err(format!("{mode:?} {alphabet:?}: {what}"));
        if (compiled.never_violated, compiled.never_satisfied) != sides {
            return failed("not as one-sided as the plain automaton".to_owned());
        }
        if let Err(what) = Table::of(automaton, &possible).check_monitor() {
            return failed(what);
        }
        let naive = Naive { defined, verdicts: verdicts.clone(), mode, rule };
        let start = (State { state: 0, told: false }, automaton.initial());
        let mut seen = HashSet::from([start]);
        let mut queue: Vec<((State, u32), Vec<u64>)> = vec![(start, Vec::new())];
        let mut at = 0;
        while let Some(((state, compiled_state), trace)) = queue.get(at).cloned() {
            at += 1;
            let (expected, found) = (naive.verdict(state), automaton.verdict(compiled_state));
            if expected != found {
                return failed(format!("after {trace:?}: {found}, expected {expected}"));
            }
            for letter in 0..1_u64 << vocabulary.len() {
                let step = automaton.step(compiled_state, Letter(&[letter]));
                if !seems_possible[letter as usize] {
                    if step.state != compiled_state || step.breach {
                        return failed(format!("after {trace:?} the impossible letter {letter} is a step"));
                    }
                    continue;
                }
                let (next, breach) = naive.step(state, letter);
                let longer = [&trace[..], &[letter]].concat();
                if step.breach != breach {
                    return failed(format!("on {longer:?}: breach {}, expected {breach}", step.breach));
                }
                if seen.insert((next, step.state)) {
                    queue.push(((next, step.state), longer));
                }
            }
        }
    }
    Ok(())
}

/// How many letters ahead the definition is asked, by the number of propositions.
const DEPTHS: [usize; 5] = [0, 7, 4, 3, 2];

fn alphabets(props: usize) -> Vec<Alphabet> {
    let one_of_all = Alphabet { one_of_all: true, ..Alphabet::default() };
    let mut all = vec![Alphabet::default(), one_of_all];
    if props >= 2 {
        all.push(Alphabet { exclusive: vec![vec![0, 1]], one_of_all: false });
    }
    if props >= 3 {
        all.push(Alphabet { exclusive: vec![vec![0, 1], vec![2, 1]], one_of_all: false });
        all.push(Alphabet { exclusive: vec![vec![2, 0]], one_of_all: true });
    }
    all
}

/// The number of formulas that were small enough.
fn check_all(formulas: Vec<(Ast, usize)>) -> usize {
    let results: Vec<Result<bool, String>> = formulas
        .into_par_iter()
        .map(|(ast, props)| {
            let (vocabulary, alphabets) = (generate::names(props), alphabets(props));
            let checked = |ast: &Ast| {
                let depth = DEPTHS[props];
                let plain = compile(ast, &vocabulary, &Options::default()).map_err(|e| e.to_string())?;
                let states = plain.automaton.state_len() as usize;
                if states > depth + 2 {
                    return Ok(false);
                }
                let defined = Defined::of(ast, &vocabulary, depth);
                let Some(defined) = defined.filter(|defined| defined.accepts.len() == states) else {
                    return Err(format!("not {states} states"));
                };
                let all = alphabets.iter().map(|alphabet| check(ast, &vocabulary, alphabet, &defined));
                all.collect::<Result<(), String>>().map(|()| true)
            };
            checked(&ast).map_err(|wrong| {
                let (ast, wrong) = shrink(ast, wrong, |ast| checked(ast).map(|_| ()));
                format!("{ast}: {wrong}")
            })
        })
        .collect();
    let wrong = results.iter().filter_map(|result| result.as_ref().err());
    let shortest = wrong.clone().min_by_key(|text| text.len());
    assert_eq!(shortest, None, "{} in all", wrong.count());
    results.iter().filter(|result| matches!(result, Ok(true))).count()
}

#[test]
fn all_formulas_of_depth_one() {
    let formulas: Vec<(Ast, usize)> =
        generate::all_formulas(&generate::names(2), 1).map(|ast| (ast, 2)).collect();
    let all = formulas.len();
    assert_eq!(check_all(formulas), all);
}

#[test]
fn random_formulas() {
    let formulas = (0..1_500).map(|seed| {
        let mut random = Random::new(seed);
        let props = 1 + random.below(4);
        let size = 3 + random.below(10);
        (random.formula_of_size(&generate::names(props), size), props)
    });
    let count = check_all(formulas.collect());
    println!("{count} of 1500 formulas are small enough");
    assert!(count > 750, "{count}");
}

/// The numbers of the events that are breaches.
fn breaches(text: &str, mode: AfterViolation, vocabulary: &[&str], events: &[&str]) -> Vec<usize> {
    let vocabulary: Vec<String> = vocabulary.iter().map(|&name| name.to_owned()).collect();
    let options = Options { after_violation: Some(mode), ..Options::default() };
    let automaton = compile(&read(text), &vocabulary, &options).unwrap().automaton;
    let mut state = automaton.initial();
    let mut found = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let letter = vocabulary.iter().enumerate().filter(|(_, name)| event.split(' ').any(|e| e == *name));
        let step = automaton.step(state, Letter(&[letter.map(|(p, _)| 1 << p).sum()]));
        if step.breach {
            found.push(i + 1);
        }
        state = step.state;
    }
    found
}

#[test]
fn never_send_after_reading_a_secret() {
    let (rule, names) = ("G(read -> !F send)", ["read", "send"]);
    let events = ["read", "send", "send", "send"];
    assert_eq!(breaches(rule, AfterViolation::Repair, &names, &events), [2, 3, 4]);
    assert_eq!(breaches(rule, AfterViolation::Restart, &names, &events), [2]);
    assert_eq!(breaches(rule, AfterViolation::Off, &names, &events), [2]);
}

#[test]
fn at_most_three_retries() {
    let rule = "!F(r & X F(r & X F(r & X F r)))";
    let events = ["r", "r", "", "r", "r", "r", "", "r"];
    assert_eq!(breaches(rule, AfterViolation::Repair, &["r"], &events), [5, 6, 8]);
    assert_eq!(breaches(rule, AfterViolation::Restart, &["r"], &events), [5]);
    assert_eq!(breaches(rule, AfterViolation::Off, &["r"], &events), [5]);
}

#[test]
fn after_take_examine_next() {
    let (rule, names) = ("G(take -> X examine)", ["take", "examine"]);
    let events = ["take", "take", "take", "examine"];
    assert_eq!(breaches(rule, AfterViolation::Repair, &names, &events), [2, 3]);
    assert_eq!(breaches(rule, AfterViolation::Restart, &names, &events), [2]);
    assert_eq!(breaches(rule, AfterViolation::Off, &names, &events), [2]);
}

#[test]
fn where_no_letter_helps_the_state_stays() {
    assert_eq!(breaches("false", AfterViolation::Repair, &["a"], &["", "a", ""]), [1, 2, 3]);
    assert_eq!(breaches("false", AfterViolation::Restart, &["a"], &["", "a", ""]), [1, 2, 3]);
    assert_eq!(breaches("false", AfterViolation::Off, &["a"], &["", "a", ""]), [1]);
    // One event is all that this allows.
    assert_eq!(breaches("WX false", AfterViolation::Repair, &["a"], &["", "a", ""]), [2, 3]);
    assert_eq!(breaches("WX false", AfterViolation::Restart, &["a"], &["", "a", ""]), [2]);
}

#[test]
fn ties_go_to_fewer_made_true_then_to_the_first_letter() {
    // {a} may become {} (nothing made true) or {a, b}; after {} the rule wants c, after {a, b} d.
    let rule = "(!a & !b & X c) | (a & b & X d)";
    assert_eq!(breaches(rule, AfterViolation::Repair, &["a", "b", "c", "d"], &["a", "c"]), [1]);
    assert_eq!(breaches(rule, AfterViolation::Repair, &["a", "b", "c", "d"], &["a", "d"]), [1, 2]);
    // {b, c, d} may become {a, b, c}, letter 7 with one made true, or {d}, letter 8 with none: fewer made true come first.
    let rule = "(a & b & c & !d & X e) | (!a & !b & !c & d & X f)";
    let names = ["a", "b", "c", "d", "e", "f"];
    assert_eq!(breaches(rule, AfterViolation::Repair, &names, &["b c d", "f"]), [1]);
    assert_eq!(breaches(rule, AfterViolation::Repair, &names, &["b c d", "e"]), [1, 2]);
    // {} may become {a}, letter 1, or {b}, letter 2.
    let rule = "(a & !b & X c) | (!a & b & X d)";
    assert_eq!(breaches(rule, AfterViolation::Repair, &["a", "b", "c", "d"], &["", "c"]), [1]);
    assert_eq!(breaches(rule, AfterViolation::Repair, &["b", "a", "c", "d"], &["", "c"]), [1, 2]);
    assert_eq!(breaches(rule, AfterViolation::Repair, &["b", "a", "c", "d"], &["", "d"]), [1]);
}
