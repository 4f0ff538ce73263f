//! All formulas of depth 2 over two propositions, on all short traces, against the naive definition.
//!
//! The definition is compositional: what `f U g` says at a position depends only on what `f` and `g` say at the
//! positions of the trace. So each operator is asked once about two propositions on every short trace, and formulas are
//! evaluated by looking that up; the lookup itself is checked against the definition on the formulas as they stand.
//! Automata that occur more than once are checked once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use tracelaw_compiler::semantics;
use tracelaw_compiler::syntax::{Ast, Expr};
use tracelaw_compiler::{Options, compile};
use tracelaw_corpora::generate::{self, OPERATORS, Operator};
use tracelaw_runtime::Verdict;

use crate::oracle::Table;

const LETTERS: [u64; 4] = [0, 1, 2, 3];

/// What a formula says at every position of every trace: for each length, for each trace, a bit per position.
///
/// A trace of length n is a number of 2n bits, the first letter lowest.
type Values = Vec<Vec<u8>>;

/// Whether each trace is accepted: for each length a bit per trace.
type Language = Vec<Vec<u64>>;

/// One operator's values on two propositions, for each length, at `f << n | g` where f and g are their bits by position.
struct Operation {
    operator: Operator,
    values: Values,
}

impl Operation {
    fn new(operator: Operator, longest: usize) -> Operation {
        let names = ["p", "q"].map(String::from).to_vec();
        let leaves = names.iter().map(|name| Ast::new(Default::default(), Expr::Proposition(name.clone())));
        let ast = operator.of(leaves.take(operator.operands()).collect());
        let on = |n: usize, index: usize| {
            let bit = |bits: usize, k: usize| (bits >> k & 1) as u64;
            let trace: Vec<u64> = (0..n).map(|k| bit(index >> n, k) | bit(index, k) << 1).collect();
            (0..n).map(|k| u8::from(semantics::holds(&ast, &names, &trace, k)) << k).sum()
        };
        let values = (0..=longest).map(|n| (0..1 << (2 * n)).map(|index| on(n, index)).collect()).collect();
        Operation { operator, values }
    }

    fn values(&self, f: &Values, g: &Values) -> Values {
        let lengths = self.values.iter().zip(f.iter().zip(g)).enumerate();
        lengths
            .map(|(n, (table, (f, g)))| {
                f.iter().zip(g).map(|(&f, &g)| table[usize::from(f) << n | usize::from(g)]).collect()
            })
            .collect()
    }

    /// The traces on which the formula holds at the first position; the empty trace is left out.
    fn language(&self, f: &Values, g: &Values) -> Language {
        let lengths = self.values.iter().zip(f.iter().zip(g)).enumerate();
        lengths
            .map(|(n, (table, (f, g)))| {
                let words = f.chunks(64).zip(g.chunks(64));
                words
                    .map(|(f, g)| {
                        let bits = f.iter().zip(g).enumerate();
                        bits.fold(0, |word, (i, (&f, &g))| {
                            word | u64::from(table[usize::from(f) << n | usize::from(g)] & 1) << i
                        })
                    })
                    .collect()
            })
            .collect()
    }
}

fn leaf(expr: &Expr, longest: usize) -> Values {
    let value = |n: usize, trace: usize| -> u8 {
        let at = |k: usize| match expr {
            Expr::Constant(value) => *value,
            Expr::Proposition(name) => trace >> (2 * k) >> usize::from(name == "b") & 1 == 1,
            _ => false,
        };
        (0..n).map(|k| u8::from(at(k)) << k).sum()
    };
    (0..=longest).map(|n| (0..1 << (2 * n)).map(|trace| value(n, trace)).collect()).collect()
}

/// A formula with its values.
struct Part {
    ast: Ast,
    values: Values,
}

/// An automaton that occurred, with the language found by running it.
struct Seen {
    language: Language,
    table: Table,
    formula: String,
}

/// Runs an automaton on all traces, and checks that it is minimal and its verdicts are the earliest.
fn run(table: &Table, longest: usize) -> Result<Language, String> {
    table.check_plain()?;
    let mut levels = vec![vec![table.initial]];
    for n in 0..longest {
        let next = (0..4)
            .flat_map(|letter| levels[n].iter().map(move |&state| table.steps[state][letter].state as usize));
        let next = next.collect();
        levels.push(next);
    }
    // From the longest traces down: which of accepted and not are seen among the continuations.
    let mut seen: Vec<(bool, bool)> = Vec::new();
    for (n, level) in levels.iter().enumerate().rev() {
        let here = level.iter().enumerate().map(|(trace, &state)| {
            let accepts = table.verdicts[state].accepts();
            let longer = (0..4).filter_map(|letter| seen.get(trace | letter << (2 * n)));
            longer.fold((accepts, !accepts), |all, one| (all.0 | one.0, all.1 | one.1))
        });
        seen = here.collect();
        // Whatever can be reached is reached by fewer letters than there are states.
        let exact = longest - n + 1 >= table.verdicts.len();
        for (trace, &state) in level.iter().enumerate() {
            let verdict = table.verdicts[state];
            let expected = match seen[trace] {
                (true, true) => !verdict.is_final(),
                _ if !exact => true,
                (true, false) => verdict == Verdict::Satisfied,
                (false, _) => verdict == Verdict::Violated,
            };
            if !expected {
                return Err(format!(
                    "{verdict} after {n} letters {trace:#b}, continuations {:?}",
                    seen[trace]
                ));
            }
        }
    }
    let language = levels.iter().map(|level| {
        let words = level.chunks(64).map(|states| {
            let bits = states.iter().enumerate();
            bits.fold(0, |word, (i, &state)| word | u64::from(table.verdicts[state].accepts()) << i)
        });
        words.collect()
    });
    Ok(language.collect())
}

/// Every formula of the kinds asked for is compiled and compared.
struct Comparison {
    longest: usize,
    vocabulary: Vec<String>,
    operations: Vec<Operation>,
    seen: Mutex<HashMap<Vec<u32>, Arc<Seen>>>,
    wrong: Mutex<Vec<String>>,
}

impl Comparison {
    fn new(longest: usize) -> Comparison {
        Comparison {
            longest,
            vocabulary: generate::names(2),
            operations: OPERATORS
                .par_iter()
                .map(|&(operator, _)| Operation::new(operator, longest))
                .collect(),
            seen: Mutex::default(),
            wrong: Mutex::default(),
        }
    }

    fn parts(&self, depth: usize) -> Vec<Part> {
        let leaves = generate::all_formulas(&self.vocabulary, 0);
        let mut parts: Vec<Part> =
            leaves.map(|ast| Part { values: leaf(&ast.expr, self.longest), ast }).collect();
        if depth > 0 {
            let below = self.parts(depth - 1);
            for operation in &self.operations {
                let seconds = if operation.operator.operands() == 2 { below.len() } else { 1 };
                for (f, g) in below.iter().flat_map(|f| below[..seconds].iter().map(move |g| (f, g))) {
                    let ast = operation
                        .operator
                        .of(vec![f.ast.clone(), g.ast.clone()][..operation.operator.operands()].to_vec());
                    parts.push(Part { ast, values: operation.values(&f.values, &g.values) });
                }
            }
        }
        parts
    }

    /// One formula against its language; returns nothing, notes what is wrong.
    fn compare(&self, ast: &Ast, mut language: Language) {
        language[0] = vec![u64::from(semantics::accepts(ast, &self.vocabulary, &[]))];
        if let Err(wrong) = self.found(ast).and_then(|seen| self.difference(&seen.language, &language)) {
            self.wrong.lock().unwrap().push(format!("{ast}: {wrong}"));
        }
    }

    fn found(&self, ast: &Ast) -> Result<Arc<Seen>, String> {
        let compiled = compile(ast, &self.vocabulary, &Options::default()).map_err(|e| e.to_string())?;
        if let Some(seen) = self.seen.lock().unwrap().get(compiled.automaton.words()) {
            return Ok(seen.clone());
        }
        let table = Table::of(&compiled.automaton, &LETTERS);
        let language = run(&table, self.longest)?;
        let seen = Arc::new(Seen { language, table, formula: ast.to_string() });
        self.seen.lock().unwrap().insert(compiled.automaton.words().to_vec(), seen.clone());
        Ok(seen)
    }

    fn difference(&self, found: &Language, expected: &Language) -> Result<(), String> {
        for (n, (found, expected)) in found.iter().zip(expected).enumerate() {
            for (word, (&found, &expected)) in found.iter().zip(expected).enumerate() {
                if found != expected {
                    let bit = (found ^ expected).trailing_zeros() as usize;
                    let trace = word * 64 + bit;
                    let letters: Vec<usize> = (0..n).map(|k| trace >> (2 * k) & 3).collect();
                    return Err(format!("on {letters:?}: expected {}", expected >> bit & 1 == 1));
                }
            }
        }
        Ok(())
    }

    /// What is wrong, shortest formulas first.
    fn report(&self) {
        let mut wrong = self.wrong.lock().unwrap().clone();
        wrong.sort_by_key(String::len);
        let count = wrong.len();
        wrong.truncate(20);
        assert!(wrong.is_empty(), "{count} formulas\n{}", wrong.join("\n"));
        // Equal languages, equal words: automata that agree on the short traces must differ on longer ones.
        let seen = self.seen.lock().unwrap();
        let mut languages: HashMap<&Language, Vec<&Seen>> = HashMap::new();
        for automaton in seen.values() {
            languages.entry(&automaton.language).or_default().push(automaton);
        }
        for group in languages.values() {
            for (i, one) in group.iter().enumerate() {
                for other in &group[..i] {
                    let same = one.table.same_language(&other.table);
                    assert!(
                        !same,
                        "`{}` and `{}`: equal languages, different words",
                        one.formula, other.formula
                    );
                }
            }
        }
        let largest = seen.values().max_by_key(|automaton| automaton.table.verdicts.len()).unwrap();
        println!(
            "{} automata, the largest with {} states: {}",
            seen.len(),
            largest.table.verdicts.len(),
            largest.formula
        );
    }
}

/// Compares all formulas with an operator on top of `parts`.
fn compare_all(comparison: &Comparison, parts: &[Part]) -> usize {
    let counts = parts.par_iter().map(|f| {
        let mut count = 0;
        for operation in &comparison.operations {
            let seconds = if operation.operator.operands() == 2 { parts.len() } else { 1 };
            for g in &parts[..seconds] {
                let operands = [&f.ast, &g.ast].into_iter().take(operation.operator.operands());
                let ast = operation.operator.of(operands.cloned().collect());
                comparison.compare(&ast, operation.language(&f.values, &g.values));
                count += 1;
            }
        }
        count
    });
    counts.sum()
}

#[test]
fn lookup_agrees_with_the_definition() {
    let comparison = Comparison::new(3);
    let parts = comparison.parts(1);
    let check = |ast: &Ast, expected: &Values| {
        for (n, values) in expected.iter().enumerate() {
            for (trace, &bits) in values.iter().enumerate() {
                let letters: Vec<u64> = (0..n).map(|k| (trace >> (2 * k) & 3) as u64).collect();
                for k in 0..n {
                    let holds = semantics::holds(ast, &comparison.vocabulary, &letters, k);
                    assert_eq!(holds, bits >> k & 1 == 1, "{ast} at {k} of {letters:?}");
                }
            }
        }
    };
    parts.iter().for_each(|part| check(&part.ast, &part.values));
    // Of the formulas of depth 2, some with each operator.
    let mut random = generate::Random::new(1);
    for operation in &comparison.operations {
        for _ in 0..200 {
            let (f, g) = (random.pick(&parts).unwrap(), random.pick(&parts).unwrap());
            let operands = [&f.ast, &g.ast].into_iter().take(operation.operator.operands());
            let ast = operation.operator.of(operands.cloned().collect());
            check(&ast, &operation.values(&f.values, &g.values));
        }
    }
}

#[test]
fn all_formulas_of_depth_two() {
    let wide = std::env::var_os("TRACELAW_WIDE").is_some();
    let comparison = Comparison::new(if wide { 7 } else { 6 });
    for part in generate::all_formulas(&comparison.vocabulary, 0) {
        let on_first = |bits: &Vec<u8>| {
            bits.chunks(64)
                .map(|c| c.iter().enumerate().fold(0, |w, (i, &b)| w | u64::from(b & 1) << i))
                .collect()
        };
        comparison.compare(&part, leaf(&part.expr, comparison.longest).iter().map(on_first).collect());
    }
    let parts = comparison.parts(1);
    let count = 4 + compare_all(&comparison, &parts);
    assert_eq!(count, generate::all_formulas(&comparison.vocabulary, 2).count());
    comparison.report();
}
