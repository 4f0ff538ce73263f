//! Shortest traces to a verdict.

use tracelaw_runtime::{Automaton, Verdict};

use super::{TooManyPaths, guard::paths, proposition};
use crate::Options;

/// The letters that can occur.
#[derive(Clone, Copy, Debug)]
pub struct Letters<'a> {
    vocabulary_len: u32,
    exclusive: &'a [Vec<u32>],
    one_of_all: bool,
}

impl<'a> Letters<'a> {
    /// Those over `vocabulary` that the options allow.
    #[must_use]
    pub fn new(vocabulary: &[String], options: &'a Options) -> Letters<'a> {
        Letters {
            vocabulary_len: vocabulary.len() as u32,
            exclusive: &options.exclusive,
            one_of_all: options.one_of_all,
        }
    }

    /// The possible letter with those literals that has the fewest propositions, and the first among equals.
    fn least(&self, literals: &[(u32, bool)]) -> Option<Vec<u32>> {
        let mut letter: Vec<u32> =
            literals.iter().filter(|(_, value)| *value).map(|&(prop, _)| prop).collect();
        if self.one_of_all && letter.is_empty() {
            letter.push((0..self.vocabulary_len).find(|&prop| !literals.contains(&(prop, false)))?);
        }
        letter.sort_unstable();
        let several = |set: &Vec<u32>| letter.iter().filter(|p| set.contains(p)).count() > 1;
        let impossible = self.one_of_all && letter.len() > 1 || self.exclusive.iter().any(several);
        (!impossible).then_some(letter)
    }
}

/// A shortest trace of at least one event that ends in a verdict that is `wanted`; among those one with the fewest true
/// propositions. Each letter is the sorted list of its propositions. `None` if there is no such trace.
///
/// # Complexity
/// O(paths of the diagrams of all states).
///
/// # Errors
/// When a state has more than about a thousand paths.
pub fn shortest<W: AsRef<[u32]>>(
    automaton: &Automaton<W>,
    letters: Letters<'_>,
    wanted: impl Fn(Verdict) -> bool,
) -> Result<Option<Vec<Vec<u32>>>, TooManyPaths> {
    let mut seen = vec![false; automaton.state_len() as usize];
    let mut steps: Vec<Reached> = Vec::new();
    // The places in `steps` of the states that this many events reach first, best first.
    let mut layer = vec![None];
    while !layer.is_empty() {
        let mut next: Vec<Reached> = Vec::new();
        for (rank, &from) in layer.iter().enumerate() {
            let before = from.and_then(|at: usize| steps.get(at));
            let (state, weight) = before.map_or((automaton.initial(), 0), |s| (s.state, s.weight));
            for (cube, target, _) in paths(automaton, state)? {
                if seen.get(target as usize) == Some(&true) {
                    continue;
                }
                if let Some(letter) = letters.least(&cube.literals()) {
                    let weight = weight + letter.len();
                    next.push(Reached { state: target, weight, rank, letter, from });
                }
            }
        }
        next.sort_by_cached_key(Reached::key);
        layer.clear();
        for step in next {
            let Some(seen) = seen.get_mut(step.state as usize) else { continue };
            if std::mem::replace(seen, true) {
                continue;
            }
            if wanted(automaton.verdict(step.state)) {
                return Ok(Some(walk(&steps, step)));
            }
            layer.push(Some(steps.len()));
            steps.push(step);
        }
    }
    Ok(None)
}

/// How a state is first reached.
struct Reached {
    state: u32,
    /// True propositions on the way.
    weight: usize,
    /// Place in its layer of the state before.
    rank: usize,
    letter: Vec<u32>,
    from: Option<usize>,
}

impl Reached {
    /// Letters with few propositions first, then in their order as numbers in which proposition i weighs 2^i.
    fn key(&self) -> (usize, usize, Vec<u32>) {
        (self.weight, self.rank, self.letter.iter().rev().copied().collect())
    }
}

fn walk(steps: &[Reached], last: Reached) -> Vec<Vec<u32>> {
    let mut from = last.from;
    let mut trace = vec![last.letter];
    while let Some(step) = from.and_then(|at| steps.get(at)) {
        trace.push(step.letter.clone());
        from = step.from;
    }
    trace.reverse();
    trace
}

/// `{auth} {} {pay, log}`
#[must_use]
pub fn trace_text(trace: &[Vec<u32>], vocabulary: &[String]) -> String {
    let letter = |letter: &Vec<u32>| {
        let names: Vec<String> = letter.iter().map(|&p| proposition(vocabulary, p).to_string()).collect();
        format!("{{{}}}", names.join(", "))
    };
    trace.iter().map(letter).collect::<Vec<_>>().join(" ")
}
