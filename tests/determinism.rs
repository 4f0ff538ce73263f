//! The same rule gives the same words: again, on other threads, in any order, and whatever else the vocabulary names.

use rayon::prelude::*;
use tracelaw_compiler::syntax::Ast;
use tracelaw_compiler::{AfterViolation, Limits, Options, compile};
use tracelaw_corpora::generate::{Random, names};
use tracelaw_runtime::Letter;

use crate::oracle::{read, words};

fn formulas(count: u64) -> Vec<Ast> {
    let of = |seed| {
        let mut random = Random::new(4_000_000_000 + seed);
        let size = 3 + random.below(15);
        random.formula_of_size(&names(4), size)
    };
    (0..count).map(of).collect()
}

fn options(i: usize) -> Options {
    let limits = Limits { max_states: 2_000, max_nodes: 1 << 18, max_time: None };
    let after_violation = [None, Some(AfterViolation::Repair), Some(AfterViolation::Restart)][i % 3];
    let exclusive = if i.is_multiple_of(2) { Vec::new() } else { vec![vec![0, 2], vec![1, 3]] };
    Options { after_violation, exclusive, limits, ..Options::default() }
}

#[test]
fn threads_and_order_do_not_matter() {
    let formulas = formulas(600);
    let one = |(i, ast): (usize, &Ast)| words(ast, &names(4), &options(i));
    let first: Vec<_> = formulas.iter().enumerate().map(one).collect();
    let parallel: Vec<_> = formulas.par_iter().enumerate().map(one).collect();
    let mut backwards: Vec<_> = formulas.iter().enumerate().rev().map(one).collect();
    backwards.reverse();
    assert!(first == parallel && first == backwards);
    assert!(first.iter().filter(|words| words.is_ok()).count() > 590);
}

#[test]
fn other_names_give_the_same_words() {
    let renamed: Vec<String> = ["z", "true story", "b", "F"].map(String::from).to_vec();
    let rename = |ast: &Ast| {
        let text = ast.to_string();
        let quoted = |c: char| match "abcd".find(c) {
            Some(i) => format!("\"{}\"", renamed[i]),
            None => c.to_string(),
        };
        // `at end` is the only operator written in small letters that has one of the names in it, but for constants.
        let words = text.split_inclusive(|c: char| !c.is_alphanumeric());
        let word = |word: &str| {
            let name = word.trim_end_matches(|c: char| !c.is_alphanumeric());
            if name.len() == 1 { word.chars().map(quoted).collect() } else { word.to_owned() }
        };
        read(&words.map(word).collect::<String>())
    };
    for (i, ast) in formulas(300).iter().enumerate() {
        let other = rename(ast);
        assert_eq!(
            words(ast, &names(4), &options(i)),
            words(&other, &renamed, &options(i)),
            "{ast} and {other}"
        );
    }
}

#[test]
fn propositions_that_the_rule_does_not_have_change_nothing() {
    // Places of the propositions in the larger vocabulary: some before, between and after them, some past 64.
    let places = [1_u32, 3, 66, 130];
    let larger: Vec<String> = (0..200_u32)
        .map(|i| match places.iter().position(|&place| place == i) {
            Some(p) => names(4)[p].clone(),
            None => format!("other{i}"),
        })
        .collect();
    for (i, ast) in formulas(300).iter().enumerate() {
        let small = options(i);
        let exclusive = small.exclusive.iter().map(|set| set.iter().map(|&p| places[p as usize]).collect());
        let large = Options { exclusive: exclusive.collect(), ..small.clone() };
        let (Ok(small), Ok(large)) = (compile(ast, &names(4), &small), compile(ast, &larger, &large)) else {
            continue;
        };
        let (one, other) = (&small.automaton, &large.automaton);
        assert_eq!(one.state_len(), other.state_len(), "{ast}");
        assert_eq!(one.initial(), other.initial(), "{ast}");
        for state in 0..one.state_len() {
            assert_eq!(one.verdict(state), other.verdict(state), "{ast}");
            for letter in 0..16_u64 {
                // Whatever the others are, they do not count.
                let mut spread = [0xaaaa_5555_0f0f_3333_u64; 4];
                for (p, &place) in places.iter().enumerate() {
                    let (word, bit) = ((place / 64) as usize, place % 64);
                    spread[word] = spread[word] & !(1 << bit) | (letter >> p & 1) << bit;
                }
                let steps = (one.step(state, Letter(&[letter])), other.step(state, Letter(&spread)));
                assert_eq!(steps.0, steps.1, "{ast}, state {state}, letter {letter}");
            }
        }
    }
}
