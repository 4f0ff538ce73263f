//! The letters of an edge as a small formula.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::ControlFlow;

use tracelaw_runtime::{Automaton, Letter};

use super::{MAX_PATHS, TooManyPaths, proposition};
use crate::diag::Span;
use crate::syntax::{Ast, Expr, Unary};

/// Which letters an edge is for: a disjunction of conjunctions of literals, or the complement of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    negated: bool,
    /// Literals by proposition; few and short cubes first.
    cubes: Vec<Vec<(u32, bool)>>,
}

/// All letters that lead from one state to another in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The state after the event.
    pub target: u32,
    /// Whether the event breaks the rule.
    pub breach: bool,
    /// For which letters.
    pub guard: Guard,
}

/// The edges of a state, by target; their guards are disjoint, and together they are true.
///
/// Letters that cannot occur, for all that the policy says, have edges too: wherever they made the automaton smallest.
///
/// # Complexity
/// With n paths in the state's diagram over p propositions: O(n² p²).
///
/// # Errors
/// When there are more than about a thousand paths.
pub fn edges<W: AsRef<[u32]>>(automaton: &Automaton<W>, state: u32) -> Result<Vec<Edge>, TooManyPaths> {
    let mut by_target: BTreeMap<(u32, bool), Vec<Cube>> = BTreeMap::new();
    for (cube, target, breach) in paths(automaton, state)? {
        by_target.entry((target, breach)).or_default().push(cube);
    }
    let edge = |(&(target, breach), on): (&(u32, bool), &Vec<Cube>)| {
        let off: Vec<Cube> = by_target
            .iter()
            .filter(|(to, _)| **to != (target, breach))
            .flat_map(|(_, c)| c)
            .cloned()
            .collect();
        Edge { target, breach, guard: Guard::new(on, &off) }
    };
    Ok(by_target.iter().map(edge).collect())
}

/// The paths of the state's diagram with where they lead: disjoint cubes that cover all letters.
pub(super) fn paths<W: AsRef<[u32]>>(
    automaton: &Automaton<W>,
    state: u32,
) -> Result<Vec<(Cube, u32, bool)>, TooManyPaths> {
    let mut paths = Vec::new();
    let complete = automaton.edges(state, &mut |literals, step| {
        if paths.len() == MAX_PATHS {
            return ControlFlow::Break(());
        }
        paths.push((Cube::new(literals), step.state, step.breach));
        ControlFlow::Continue(())
    });
    if complete.is_break() { Err(TooManyPaths { state }) } else { Ok(paths) }
}

/// A conjunction of literals: bit `i` of `care` says whether proposition i matters, that of `value` which value it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cube {
    care: Vec<u64>,
    value: Vec<u64>,
}

impl Cube {
    fn new(literals: &[(u32, bool)]) -> Cube {
        let words = literals.iter().map(|&(p, _)| (p >> 6) as usize + 1).max().unwrap_or(0);
        let mut cube = Cube { care: vec![0; words], value: vec![0; words] };
        for &(prop, value) in literals {
            let (at, bit) = ((prop >> 6) as usize, 1 << (prop & 63));
            if let (Some(care), Some(values)) = (cube.care.get_mut(at), cube.value.get_mut(at)) {
                *care |= bit;
                *values |= if value { bit } else { 0 };
            }
        }
        cube
    }

    /// The literals by proposition.
    pub(super) fn literals(&self) -> Vec<(u32, bool)> {
        let mut literals = Vec::new();
        for (at, (&care, &value)) in (0..).zip(self.care.iter().zip(&self.value)) {
            let mut rest = care;
            while rest != 0 {
                let bit = rest.trailing_zeros();
                literals.push((at * 64 + bit, value >> bit & 1 != 0));
                rest &= rest - 1;
            }
        }
        literals
    }

    /// Whether some letter is in both.
    fn meets(&self, other: &Cube) -> bool {
        let mut words = self.care.iter().zip(&self.value).zip(other.care.iter().zip(&other.value));
        words.all(|((care, value), (other_care, other_value))| care & other_care & (value ^ other_value) == 0)
    }

    /// Whether every letter of `other` is in this one.
    fn contains(&self, other: &Cube) -> bool {
        self.literals().into_iter().all(|(prop, value)| other.get(prop) == Some(value))
    }

    fn get(&self, prop: u32) -> Option<bool> {
        let (at, bit) = ((prop >> 6) as usize, prop & 63);
        let cares = self.care.get(at).is_some_and(|w| w >> bit & 1 != 0);
        cares.then(|| self.value.get(at).is_some_and(|w| w >> bit & 1 != 0))
    }

    fn without(&self, prop: u32) -> Cube {
        let mut cube = self.clone();
        let (at, mask) = ((prop >> 6) as usize, !(1 << (prop & 63)));
        for words in [&mut cube.care, &mut cube.value] {
            if let Some(word) = words.get_mut(at) {
                *word &= mask;
            }
        }
        cube
    }
}

/// With more cubes than this nobody minds some that are needless.
const MOST_READ: usize = 128;

/// A disjunction of prime cubes for the letters of `on`, none of `off`, without a cube that the others make needless.
fn cover(on: &[Cube], off: &[Cube]) -> Vec<Vec<(u32, bool)>> {
    let mut cubes: Vec<Cube> = Vec::new();
    for cube in on {
        if cubes.iter().any(|c| c.contains(cube)) {
            continue;
        }
        let mut prime = cube.clone();
        // Negative literals go first: what happens says more than what does not.
        let mut literals = cube.literals();
        literals.sort_by_key(|&(prop, value)| (value, prop));
        for (prop, _) in literals {
            let wider = prime.without(prop);
            if !off.iter().any(|o| o.meets(&wider)) {
                prime = wider;
            }
        }
        cubes.retain(|c| !prime.contains(c));
        cubes.push(prime);
    }
    // Needless cubes are only looked for where a person may read the result. Long ones are tried first. A cube is needless if each of the disjoint parts of `on` that it meets ...
    cubes.sort_by_cached_key(|c| std::cmp::Reverse(order(&c.literals())));
    let mut at = 0;
    while at < cubes.len() && cubes.len() <= MOST_READ {
        let needless = on.iter().all(|part| {
            let Some(cube) = cubes.get(at) else { return true };
            // ... is, where they meet, covered by the other cubes.
            !cube.meets(part) || {
                let others =
                    cubes.iter().enumerate().filter(|&(i, c)| i != at && c.meets(cube) && c.meets(part));
                let both = Cube::new(&[cube.literals(), part.literals()].concat());
                covered(&both, &others.map(|(_, c)| c).collect::<Vec<_>>())
            }
        });
        if needless {
            cubes.remove(at);
        } else {
            at += 1;
        }
    }
    let mut cubes: Vec<_> = cubes.iter().map(Cube::literals).collect();
    cubes.sort_by_cached_key(|c| order(c));
    cubes
}

/// Short cubes first, then by their propositions, true before false.
fn order(cube: &[(u32, bool)]) -> (usize, Vec<(u32, bool)>) {
    (cube.len(), cube.iter().map(|&(prop, value)| (prop, !value)).collect())
}

/// Whether every letter of `cube` is in one of `others`: split on a proposition that one of them tests.
fn covered(cube: &Cube, others: &[&Cube]) -> bool {
    let meeting: Vec<&Cube> = others.iter().copied().filter(|c| c.meets(cube)).collect();
    if meeting.is_empty() || meeting.iter().any(|c| c.contains(cube)) {
        return !meeting.is_empty();
    }
    let free = |c: &&Cube| c.literals().into_iter().find(|&(prop, _)| cube.get(prop).is_none());
    let Some((prop, _)) = meeting.iter().find_map(free) else { return true };
    [false, true].into_iter().all(|value| {
        let half = Cube::new(&[cube.literals(), vec![(prop, value)]].concat());
        covered(&half, &meeting)
    })
}

fn cost(cubes: &[Vec<(u32, bool)>]) -> usize {
    cubes.iter().map(|c| c.len() + 1).sum()
}

impl Guard {
    fn new(on: &[Cube], off: &[Cube]) -> Guard {
        let yes = cover(on, off);
        let no = cover(off, on);
        if off.is_empty() || cost(&yes) <= cost(&no) + 1 {
            Guard { negated: false, cubes: yes }
        } else {
            Guard { negated: true, cubes: no }
        }
    }

    /// Whether the letter is one of the edge's.
    #[must_use]
    pub fn holds(&self, letter: Letter<'_>) -> bool {
        let some = self.cubes.iter().any(|c| c.iter().all(|&(prop, value)| letter.contains(prop) == value));
        some != self.negated
    }

    /// The propositions in it, sorted.
    #[must_use]
    pub fn propositions(&self) -> Vec<u32> {
        let mut props: Vec<u32> = self.cubes.iter().flatten().map(|&(prop, _)| prop).collect();
        props.sort_unstable();
        props.dedup();
        props
    }

    /// The guard as a formula over the vocabulary's names.
    #[must_use]
    pub fn formula(&self, vocabulary: &[String]) -> Ast {
        let or = join(self.cubes.iter().map(|c| conjunction(c, vocabulary)).collect(), Expr::Or, false);
        if self.negated { not(or) } else { or }
    }

    /// The formula in lines of at most about `width` characters, for drawings.
    pub(super) fn lines(&self, vocabulary: &[String], width: usize) -> String {
        let whole = self.formula(vocabulary).to_string();
        if whole.chars().count() <= width || self.cubes.len() < 2 {
            return whole;
        }
        let mut out = String::from(if self.negated { "!(" } else { "" });
        let mut line = 0;
        for (i, cube) in self.cubes.iter().enumerate() {
            let text = conjunction(cube, vocabulary).to_string();
            let length = text.chars().count();
            if i > 0 {
                out.push_str(" |");
                out.push(if line + length > width { '\n' } else { ' ' });
                line = if line + length > width { 0 } else { line };
            }
            out.push_str(&text);
            line += length + 3;
        }
        out.push_str(if self.negated { ")" } else { "" });
        out
    }

    /// The guard as a label of the Hanoi Omega-Automata format; `place` numbers the propositions.
    pub(super) fn hoa(&self, place: impl Fn(u32) -> usize) -> String {
        let mut out = String::from(if self.negated { "!(" } else { "" });
        if self.cubes.is_empty() {
            out.push('f');
        }
        for (i, cube) in self.cubes.iter().enumerate() {
            out.push_str(if i > 0 { " | " } else { "" });
            if cube.is_empty() {
                out.push('t');
            }
            for (j, &(prop, value)) in cube.iter().enumerate() {
                let (and, not) = (if j > 0 { "&" } else { "" }, if value { "" } else { "!" });
                // Writing to a string cannot fail.
                let _ = write!(out, "{and}{not}{}", place(prop));
            }
        }
        out.push_str(if self.negated { ")" } else { "" });
        out
    }
}

fn conjunction(cube: &[(u32, bool)], vocabulary: &[String]) -> Ast {
    let literal = |&(prop, value): &(u32, bool)| {
        let prop = proposition(vocabulary, prop);
        if value { prop } else { not(prop) }
    };
    join(cube.iter().map(literal).collect(), Expr::And, true)
}

fn join(mut parts: Vec<Ast>, operator: fn(Vec<Ast>) -> Expr, neutral: bool) -> Ast {
    match (parts.len(), parts.pop()) {
        (1, Some(part)) => part,
        (_, None) => Ast::new(Span::default(), Expr::Constant(neutral)),
        (_, Some(part)) => {
            parts.push(part);
            Ast::new(Span::default(), operator(parts))
        }
    }
}

fn not(f: Ast) -> Ast {
    Ast::new(Span::default(), Expr::Unary(Unary::Not, Box::new(f)))
}
