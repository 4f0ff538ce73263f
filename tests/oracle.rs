//! What the tests of the compiler share: automata as explicit tables, checks on them, and automata made from the naive
//! definition alone.

use std::collections::HashMap;

use tracelaw_compiler::semantics;
use tracelaw_compiler::syntax::{Ast, Dialect, Limits, parse};
use tracelaw_compiler::{Options, compile};
use tracelaw_corpora::generate;
use tracelaw_runtime::{Automaton, Letter, Step, Verdict};

/// The formula a text says.
pub(crate) fn read(text: &str) -> Ast {
    let limits = Limits { max_depth: Limits::DEEPEST, ..Limits::default() };
    parse(text, Dialect::Tracelaw, &limits).unwrap_or_else(|report| panic!("{text}: {report}"))
}

/// The automaton's words, or why there is none.
pub(crate) fn words(ast: &Ast, vocabulary: &[String], options: &Options) -> Result<Vec<u32>, String> {
    let compiled = compile(ast, vocabulary, options).map_err(|e| e.to_string())?;
    Ok(compiled.automaton.words().to_vec())
}

/// The smallest formula reachable by [`generate::smaller`] that still fails, with what is then wrong.
pub(crate) fn shrink(ast: Ast, wrong: String, check: impl Fn(&Ast) -> Result<(), String>) -> (Ast, String) {
    let (mut ast, mut wrong) = (ast, wrong);
    while let Some(found) =
        generate::smaller(&ast).into_iter().find_map(|f| check(&f).err().map(|wrong| (f, wrong)))
    {
        (ast, wrong) = found;
    }
    (ast, wrong)
}

/// An automaton as a table over the letters that can occur.
pub(crate) struct Table {
    pub(crate) initial: usize,
    pub(crate) verdicts: Vec<Verdict>,
    /// For each state the step under each letter.
    pub(crate) steps: Vec<Vec<Step>>,
}

impl Table {
    pub(crate) fn of(automaton: &Automaton<Vec<u32>>, letters: &[u64]) -> Table {
        let states = 0..automaton.state_len();
        Table {
            initial: automaton.initial() as usize,
            verdicts: states.clone().map(|state| automaton.verdict(state)).collect(),
            steps: states
                .map(|state| letters.iter().map(|&l| automaton.step(state, Letter(&[l]))).collect())
                .collect(),
        }
    }

    /// Checks that a plain automaton is what a minimal one must be: all states can be reached, no two are equivalent,
    /// and its verdicts are the earliest, and stay.
    pub(crate) fn check_plain(&self) -> Result<(), String> {
        self.check_reachable()?;
        self.check_minimal(|state| u32::from(self.verdicts[state].accepts()))?;
        for (state, verdict) in self.final_verdicts().into_iter().enumerate() {
            if self.verdicts[state] != verdict {
                return Err(format!("state {state} says {}, expected {verdict}", self.verdicts[state]));
            }
        }
        if self.steps.iter().flatten().any(|step| step.breach) {
            return Err("a breach is marked in a plain automaton".to_owned());
        }
        Ok(())
    }

    /// Checks that all states of a monitor can be reached and no two do the same.
    pub(crate) fn check_monitor(&self) -> Result<(), String> {
        self.check_reachable()?;
        self.check_minimal(|state| self.verdicts[state] as u32)
    }

    /// The verdict of each state by what can be reached from it.
    fn final_verdicts(&self) -> Vec<Verdict> {
        let reaches = |accepting: bool| {
            let mut reaches: Vec<bool> = self.verdicts.iter().map(|v| v.accepts() == accepting).collect();
            loop {
                let before = reaches.clone();
                for (state, steps) in self.steps.iter().enumerate() {
                    reaches[state] |= steps.iter().any(|step| before[step.state as usize]);
                }
                if reaches == before {
                    return reaches;
                }
            }
        };
        let (accept, reject) = (reaches(true), reaches(false));
        let states = self.verdicts.iter().enumerate();
        states
            .map(|(state, verdict)| match (accept[state], reject[state]) {
                (true, false) => Verdict::Satisfied,
                (false, _) => Verdict::Violated,
                (true, true) if verdict.accepts() => Verdict::Holding,
                (true, true) => Verdict::Pending,
            })
            .collect()
    }

    fn check_reachable(&self) -> Result<(), String> {
        let mut reached = vec![false; self.verdicts.len()];
        let mut stack = vec![self.initial];
        while let Some(state) = stack.pop() {
            if !std::mem::replace(&mut reached[state], true) {
                stack.extend(self.steps[state].iter().map(|step| step.state as usize));
            }
        }
        match reached.iter().position(|&reached| !reached) {
            Some(state) => Err(format!("state {state} cannot be reached")),
            None => Ok(()),
        }
    }

    /// Moore's algorithm: splits states by label, then by where they lead, until nothing changes.
    fn check_minimal(&self, label: impl Fn(usize) -> u32) -> Result<(), String> {
        let states = self.verdicts.len();
        let mut class: Vec<u32> = (0..states).map(label).collect();
        let mut known = 0;
        loop {
            let mut numbers = HashMap::new();
            class = (0..states)
                .map(|state| {
                    let steps = self.steps[state].iter();
                    let leads: Vec<_> = steps.map(|step| (class[step.state as usize], step.breach)).collect();
                    let next = numbers.len() as u32;
                    *numbers.entry((class[state], leads)).or_insert(next)
                })
                .collect();
            if numbers.len() == known {
                break;
            }
            known = numbers.len();
        }
        if known == states {
            return Ok(());
        }
        Err(format!("{states} states where {known} are enough"))
    }

    /// Whether two automata over the same letters accept the same traces, the empty one included.
    pub(crate) fn same_language(&self, other: &Table) -> bool {
        let mut seen = std::collections::HashSet::from([(self.initial, other.initial)]);
        let mut stack = vec![(self.initial, other.initial)];
        while let Some((p, q)) = stack.pop() {
            if self.verdicts[p].accepts() != other.verdicts[q].accepts() {
                return false;
            }
            for (s, t) in self.steps[p].iter().zip(&other.steps[q]) {
                let pair = (s.state as usize, t.state as usize);
                if seen.insert(pair) {
                    stack.push(pair);
                }
            }
        }
        true
    }
}

/// The minimal complete automaton of a formula, made from the naive definition and nothing else: a state is what a
/// prefix says about all continuations of up to `depth` letters.
///
/// Exact if the minimal automaton has at most `depth + 2` states: then continuations of `depth` letters tell apart
/// whatever can be told apart.
pub(crate) struct Defined {
    /// Whether the trace that led to the state is accepted.
    pub(crate) accepts: Vec<bool>,
    /// Successors by letter, all `2^props` of them; the initial state is 0.
    pub(crate) next: Vec<Vec<usize>>,
}

impl Defined {
    /// `None` when there are more states than that.
    pub(crate) fn of(ast: &Ast, vocabulary: &[String], depth: usize) -> Option<Defined> {
        let letters = 1_u64 << vocabulary.len();
        let continuations: Vec<Vec<u64>> = generate::all_traces(vocabulary.len(), depth).collect();
        // A trace is known by the digits of a number that starts with a 1.
        let mut known: HashMap<u64, bool> = HashMap::new();
        let mut trace = Vec::new();
        let mut says = |prefix: &[u64]| -> Vec<bool> {
            let all = continuations.iter().map(|continuation| {
                trace.clear();
                trace.extend(prefix.iter().chain(continuation));
                let number = trace.iter().fold(1, |number, letter| number * letters + letter);
                *known.entry(number).or_insert_with(|| semantics::accepts(ast, vocabulary, &trace))
            });
            all.collect()
        };
        let first = says(&[]);
        let mut defined = Defined { accepts: vec![first[0]], next: Vec::new() };
        let mut prefixes: Vec<Vec<u64>> = vec![Vec::new()];
        let mut numbers = HashMap::from([(first, 0)]);
        while let Some(prefix) = prefixes.get(defined.next.len()).cloned() {
            let mut row = Vec::new();
            for letter in 0..letters {
                let longer = [&prefix[..], &[letter]].concat();
                let said = says(&longer);
                let accepts = said[0];
                let next = numbers.len();
                let state = *numbers.entry(said).or_insert(next);
                if state == next {
                    if next > depth + 1 {
                        return None;
                    }
                    prefixes.push(longer);
                    defined.accepts.push(accepts);
                }
                row.push(state);
            }
            defined.next.push(row);
        }
        Some(defined)
    }

    /// The verdict of each state when only the `possible` letters continue a trace.
    pub(crate) fn verdicts(&self, possible: &[u64]) -> Vec<Verdict> {
        let table = Table {
            initial: 0,
            verdicts: self
                .accepts
                .iter()
                .map(|&accepts| if accepts { Verdict::Holding } else { Verdict::Pending })
                .collect(),
            steps: self
                .next
                .iter()
                .map(|row| {
                    let steps = possible.iter().map(|&letter| row[letter as usize] as u32);
                    steps.map(|state| Step { state, breach: false }).collect()
                })
                .collect(),
        };
        table.final_verdicts()
    }
}
