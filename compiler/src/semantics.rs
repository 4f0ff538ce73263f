//! The naive definition: what a formula says about a trace, word for word as the language is defined.
//!
//! It is slow on purpose and shares nothing with the stages that make automata; it is what they are tested against. A
//! letter is a bit set: bit `i` says whether the `i`-th name of the vocabulary is true. Names past the 64th, and names
//! that the vocabulary lacks, are false.

use ahash::AHashMap;
use tracelaw_runtime::Verdict;

use crate::syntax::{Ast, Binary, Bounds, Expr, Unary};

/// Whether the formula holds at a position of a trace.
///
/// The position right after the last one, and every one beyond, is that of the empty trace: there nothing is true and
/// no witness can be found. The formulas that hold there are `true`, `G f`, `WX f`, `H f`, `Z f`, `f W g`, `f R g`,
/// `f T g`, bounded forms like plain ones, and what boolean operators make of these. On a trace that has positions no
/// operator looks there.
///
/// # Complexity
/// With n positions and |f| nodes: O(|f| n²) time, O(|f| n) space, since the value of each part at each position is
/// found once.
#[must_use]
pub fn holds(ast: &Ast, vocabulary: &[String], trace: &[u64], position: usize) -> bool {
    Trace { vocabulary, letters: trace, known: AHashMap::new() }.holds(ast, position)
}

/// Whether the formula holds on the trace: at its first position, or, where it has none, on the empty trace.
#[must_use]
pub fn accepts(ast: &Ast, vocabulary: &[String], trace: &[u64]) -> bool {
    holds(ast, vocabulary, trace, 0)
}

/// The verdict after `prefix` under finite semantics, where only the given letters can come: found by trying all
/// continuations of up to `depth` letters, the empty one among them.
///
/// Exact if `depth` is at least the number of states of the formula's minimal automaton less one, since whatever state
/// can be reached can be reached by fewer letters than there are states. With a smaller depth `Satisfied` may stand for
/// `Holding`, and `Violated` for `Pending`.
///
/// # Complexity
/// All `letters.len() ^ depth` continuations, unless two that disagree are found earlier.
#[must_use]
pub fn verdict(ast: &Ast, vocabulary: &[String], letters: &[u64], prefix: &[u64], depth: usize) -> Verdict {
    fn some_continuation(
        ast: &Ast,
        vocabulary: &[String],
        letters: &[u64],
        trace: &mut Vec<u64>,
        depth: usize,
        wanted: bool,
    ) -> bool {
        if accepts(ast, vocabulary, trace) == wanted {
            return true;
        }
        depth > 0
            && letters.iter().any(|&letter| {
                trace.push(letter);
                let found = some_continuation(ast, vocabulary, letters, trace, depth - 1, wanted);
                trace.pop();
                found
            })
    }
    let now = accepts(ast, vocabulary, prefix);
    let other = some_continuation(ast, vocabulary, letters, &mut prefix.to_vec(), depth, !now);
    match (now, other) {
        (true, false) => Verdict::Satisfied,
        (true, true) => Verdict::Holding,
        (false, true) => Verdict::Pending,
        (false, false) => Verdict::Violated,
    }
}

/// Whether the formula holds at position 0 of the infinite trace that goes through `stem` and then through `cycle` again
/// and again. An empty `cycle` is no infinite trace: nothing holds on it.
///
/// Here `X f` and `WX f` both ask the next position, and `at end f` is false, since there is no end.
///
/// # Complexity
/// With |f| nodes, d past operators inside one another, and n = stem + (d + 2) cycle + bounds positions: O(|f| n²) time,
/// O(|f| n) space.
#[must_use]
pub fn accepts_lasso(ast: &Ast, vocabulary: &[String], stem: &[u64], cycle: &[u64]) -> bool {
    if cycle.is_empty() {
        return false;
    }
    // Going through the cycle once more changes nothing after as many rounds as past operators are nested: what one of
    // them says repeats from the second round on in which its operands do.
    let settled = stem.len() + past_depth(ast) * cycle.len();
    Lasso { vocabulary, stem, cycle, settled, known: AHashMap::new() }.holds(ast, 0)
}

/// The verdict after `prefix` under infinite semantics, where only the given letters can come: found by trying all
/// continuations that take up to `stem` letters and then go through a cycle of up to `cycle` letters for ever.
///
/// Exact if the bounds are large enough. With smaller ones, or where nothing was found, `Satisfied` may stand for
/// `Holding` or `Pending`, and `Violated` likewise; `Holding` and `Pending` are always right.
///
/// # Complexity
/// All `letters.len() ^ (stem + cycle)` continuations, unless two that disagree are found earlier.
#[must_use]
pub fn infinite_verdict(
    ast: &Ast,
    vocabulary: &[String],
    letters: &[u64],
    prefix: &[u64],
    (stem, cycle): (usize, usize),
) -> Verdict {
    let (stems, cycles) = (words(letters, 0, stem), words(letters, 1, cycle));
    let (mut some, mut all) = (false, true);
    for stem in &stems {
        let stem = [prefix, stem].concat();
        for cycle in &cycles {
            let holds = accepts_lasso(ast, vocabulary, &stem, cycle);
            (some, all) = (some || holds, all && holds);
            if some && !all {
                let now = accepts(ast, vocabulary, prefix);
                return if now { Verdict::Holding } else { Verdict::Pending };
            }
        }
    }
    if some { Verdict::Satisfied } else { Verdict::Violated }
}

/// All words of `shortest` up to `longest` letters, short ones first.
fn words(letters: &[u64], shortest: usize, longest: usize) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    let mut start = 0;
    for _ in 0..longest {
        let end = all.len();
        for at in start..end {
            for &letter in letters {
                let mut longer = all.get(at).cloned().unwrap_or_default();
                longer.push(letter);
                all.push(longer);
            }
        }
        start = end;
    }
    all.retain(|word| word.len() >= shortest);
    all
}

/// How many past operators stand inside one another.
fn past_depth(ast: &Ast) -> usize {
    match &ast.expr {
        Expr::Constant(_) | Expr::Proposition(_) => 0,
        Expr::And(fs) | Expr::Or(fs) => fs.iter().map(past_depth).max().unwrap_or(0),
        Expr::Unary(op, f) => {
            let past =
                matches!(op, Unary::Yesterday | Unary::WeakYesterday | Unary::Once | Unary::Historically);
            usize::from(past) + past_depth(f)
        }
        Expr::Binary(op, f, g) => {
            usize::from(matches!(op, Binary::Since | Binary::Trigger)) + past_depth(f).max(past_depth(g))
        }
    }
}

/// An infinite trace. Every part of the formula says the same at `i` and `i + cycle` from position `settled` on.
struct Lasso<'a> {
    vocabulary: &'a [String],
    stem: &'a [u64],
    cycle: &'a [u64],
    settled: usize,
    known: AHashMap<(*const Ast, usize), bool>,
}

impl Lasso<'_> {
    fn holds(&mut self, ast: &Ast, at: usize) -> bool {
        let at = match at.checked_sub(self.settled) {
            Some(beyond) => self.settled + beyond % self.cycle.len(),
            None => at,
        };
        let key = (std::ptr::from_ref(ast), at);
        if let Some(&value) = self.known.get(&key) {
            return value;
        }
        let value = self.value(ast, at);
        self.known.insert(key, value);
        value
    }

    /// The positions that lie within the bounds, seen from `at`; where there is no end, or it is far, so many that none
    /// of those left out differs from all that are there.
    fn within(&self, at: usize, bounds: Bounds) -> std::ops::Range<usize> {
        let first = at.saturating_add(bounds.first as usize);
        let enough = first.max(self.settled) + self.cycle.len();
        let end = bounds.last.map_or(enough, |last| at.saturating_add(last as usize).saturating_add(1));
        first..end.min(enough)
    }

    fn value(&mut self, ast: &Ast, at: usize) -> bool {
        let on = self.within(at, Bounds::UNBOUNDED);
        match &ast.expr {
            Expr::Constant(value) => *value,
            Expr::Proposition(name) => {
                let letter = match at.checked_sub(self.stem.len()) {
                    None => self.stem.get(at),
                    Some(beyond) => self.cycle.get(beyond % self.cycle.len()),
                };
                let index = self.vocabulary.iter().take(64).position(|known| known == name);
                index.is_some_and(|index| letter.is_some_and(|letter| letter >> index & 1 == 1))
            }
            Expr::And(fs) => fs.iter().all(|f| self.holds(f, at)),
            Expr::Or(fs) => fs.iter().any(|f| self.holds(f, at)),
            Expr::Unary(op, f) => match op {
                Unary::Not => !self.holds(f, at),
                Unary::Next(k) | Unary::WeakNext(k) => self.holds(f, at.saturating_add(*k as usize)),
                Unary::Finally(bounds) => self.within(at, *bounds).any(|k| self.holds(f, k)),
                Unary::Globally(bounds) => self.within(at, *bounds).all(|k| self.holds(f, k)),
                Unary::Yesterday => at > 0 && self.holds(f, at - 1),
                Unary::WeakYesterday => at == 0 || self.holds(f, at - 1),
                Unary::Once => (0..=at).any(|k| self.holds(f, k)),
                Unary::Historically => (0..=at).all(|k| self.holds(f, k)),
                Unary::AtEnd => false,
            },
            Expr::Binary(op, f, g) => match op {
                Binary::Xor => self.holds(f, at) != self.holds(g, at),
                Binary::Implies => !self.holds(f, at) || self.holds(g, at),
                Binary::Iff => self.holds(f, at) == self.holds(g, at),
                // A witness for g in the range, and f at every position before it.
                Binary::Until(bounds) => self
                    .within(at, *bounds)
                    .any(|k| self.holds(g, k) && (at..k).all(|before| self.holds(f, before))),
                // f until g, or f for ever.
                Binary::WeakUntil => {
                    on.clone().any(|k| self.holds(g, k) && (at..k).all(|before| self.holds(f, before)))
                        || on.clone().all(|k| self.holds(f, k))
                }
                // g at every position up to and including the first f, if there is one.
                Binary::Release => {
                    on.clone().all(|k| self.holds(g, k) || (at..k).any(|before| self.holds(f, before)))
                }
                // g at every position up to and including one with f.
                Binary::StrongRelease => {
                    on.clone().any(|k| self.holds(f, k) && (at..=k).all(|before| self.holds(g, before)))
                }
                // A witness for g now or before, and f at every position after it.
                Binary::Since => {
                    (0..=at).any(|k| self.holds(g, k) && (k + 1..=at).all(|later| self.holds(f, later)))
                }
                // g at every position back to and including the last f, if there is one.
                Binary::Trigger => {
                    (0..=at).all(|k| self.holds(g, k) || (k + 1..=at).any(|later| self.holds(f, later)))
                }
            },
        }
    }
}

struct Trace<'a> {
    vocabulary: &'a [String],
    letters: &'a [u64],
    /// Values found so far, by the node of the tree and the position. Without it the definition is the same and takes
    /// exponential time.
    known: AHashMap<(*const Ast, usize), bool>,
}

impl Trace<'_> {
    fn holds(&mut self, ast: &Ast, at: usize) -> bool {
        // Looking a leaf up takes longer than finding its value again.
        if matches!(ast.expr, Expr::Constant(_) | Expr::Proposition(_)) {
            return self.value(ast, at);
        }
        let key = (std::ptr::from_ref(ast), at);
        if let Some(&value) = self.known.get(&key) {
            return value;
        }
        let value = self.value(ast, at);
        self.known.insert(key, value);
        value
    }

    fn value(&mut self, ast: &Ast, at: usize) -> bool {
        if at < self.letters.len() { self.inside(ast, at) } else { self.on_empty(ast, at) }
    }

    /// At a position of the trace.
    fn inside(&mut self, ast: &Ast, at: usize) -> bool {
        let end = self.letters.len();
        match &ast.expr {
            Expr::Constant(value) => *value,
            Expr::Proposition(name) => {
                let letter = self.letters.get(at).copied().unwrap_or(0);
                let index = self.vocabulary.iter().take(64).position(|known| known == name);
                index.is_some_and(|index| letter >> index & 1 == 1)
            }
            Expr::And(fs) => fs.iter().all(|f| self.holds(f, at)),
            Expr::Or(fs) => fs.iter().any(|f| self.holds(f, at)),
            Expr::Unary(op, f) => match op {
                Unary::Not => !self.holds(f, at),
                // Zero steps lead nowhere: `X[0] f` is `f`.
                Unary::Next(k) => after(at, *k, end).is_some_and(|next| self.holds(f, next)),
                Unary::WeakNext(k) => after(at, *k, end).is_none_or(|next| self.holds(f, next)),
                Unary::Finally(bounds) => within(at, *bounds, end).any(|k| self.holds(f, k)),
                Unary::Globally(bounds) => within(at, *bounds, end).all(|k| self.holds(f, k)),
                Unary::Yesterday => at > 0 && self.holds(f, at - 1),
                Unary::WeakYesterday => at == 0 || self.holds(f, at - 1),
                Unary::Once => (0..=at).any(|k| self.holds(f, k)),
                Unary::Historically => (0..=at).all(|k| self.holds(f, k)),
                Unary::AtEnd => self.holds(f, end - 1),
            },
            Expr::Binary(op, f, g) => match op {
                Binary::Xor => self.holds(f, at) != self.holds(g, at),
                Binary::Implies => !self.holds(f, at) || self.holds(g, at),
                Binary::Iff => self.holds(f, at) == self.holds(g, at),
                // A witness for g in the range, and f at every position before it.
                Binary::Until(bounds) => within(at, *bounds, end)
                    .any(|k| self.holds(g, k) && (at..k).all(|before| self.holds(f, before))),
                // f until g, or f to the end.
                Binary::WeakUntil => {
                    (at..end).any(|k| self.holds(g, k) && (at..k).all(|before| self.holds(f, before)))
                        || (at..end).all(|k| self.holds(f, k))
                }
                // g at every position up to and including the first f, if there is one.
                Binary::Release => {
                    (at..end).all(|k| self.holds(g, k) || (at..k).any(|before| self.holds(f, before)))
                }
                // g at every position up to and including one with f.
                Binary::StrongRelease => {
                    (at..end).any(|k| self.holds(f, k) && (at..=k).all(|before| self.holds(g, before)))
                }
                // A witness for g now or before, and f at every position after it.
                Binary::Since => {
                    (0..=at).any(|k| self.holds(g, k) && (k + 1..=at).all(|later| self.holds(f, later)))
                }
                // g at every position back to and including the last f, if there is one.
                Binary::Trigger => {
                    (0..=at).all(|k| self.holds(g, k) || (k + 1..=at).any(|later| self.holds(f, later)))
                }
            },
        }
    }

    /// On the empty trace.
    fn on_empty(&mut self, ast: &Ast, at: usize) -> bool {
        match &ast.expr {
            Expr::Constant(value) => *value,
            Expr::Proposition(_) => false,
            Expr::And(fs) => fs.iter().all(|f| self.holds(f, at)),
            Expr::Or(fs) => fs.iter().any(|f| self.holds(f, at)),
            Expr::Unary(op, f) => match op {
                Unary::Not => !self.holds(f, at),
                Unary::Next(0) | Unary::WeakNext(0) => self.holds(f, at),
                Unary::Next(_) | Unary::Finally(_) | Unary::Yesterday | Unary::Once | Unary::AtEnd => false,
                Unary::WeakNext(_) | Unary::Globally(_) | Unary::WeakYesterday | Unary::Historically => true,
            },
            Expr::Binary(op, f, g) => match op {
                Binary::Xor => self.holds(f, at) != self.holds(g, at),
                Binary::Implies => !self.holds(f, at) || self.holds(g, at),
                Binary::Iff => self.holds(f, at) == self.holds(g, at),
                Binary::Until(_) | Binary::StrongRelease | Binary::Since => false,
                Binary::WeakUntil | Binary::Release | Binary::Trigger => true,
            },
        }
    }
}

/// The position `k` further on, if the trace has it.
fn after(at: usize, k: u32, end: usize) -> Option<usize> {
    at.checked_add(k as usize).filter(|&next| next < end)
}

/// The positions of the trace that lie within the bounds, seen from `at`.
fn within(at: usize, bounds: Bounds, end: usize) -> std::ops::Range<usize> {
    let first = at.saturating_add(bounds.first as usize);
    let last = bounds.last.map_or(end, |last| at.saturating_add(last as usize).saturating_add(1));
    first..last.min(end)
}

#[cfg(test)]
mod tests;
