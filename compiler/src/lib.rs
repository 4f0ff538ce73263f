//! Rules over time to minimal automata.
//!
//! The way of a formula, each arrow one function in a file of that name:
//!
//! ```text
//! text --syntax::parse--> Ast --desugar--> formula --translate--> automaton on diagrams --machine--> verdicts per state
//!      --emit--> words of a tracelaw_runtime::Automaton
//! ```
//!
//! [`semantics`] is the naive definition of what a formula means; it shares nothing with this pipeline and is what the
//! pipeline is tested against.
#![forbid(unsafe_code)]

pub mod artifact;
pub mod config;
mod dd;
mod desugar;
pub mod diag;
mod emit;
mod error;
pub mod explain;
mod formula;
mod library;
mod machine;
mod minimize;
mod mtdfa;
mod obligations;
mod omega;
mod patterns;
pub mod plan;
pub mod progress;
pub mod semantics;
pub mod syntax;
pub mod template;
mod translate;

use std::time::Instant;

use tracelaw_runtime::Automaton;

pub use config::{AfterViolation, Limits, Options, Semantics};
pub use error::BuildError;
use syntax::Ast;

/// A compiled formula.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The automaton; its propositions are indices into the vocabulary.
    pub automaton: Automaton<Vec<u32>>,
    /// No non-empty trace (over the possible letters) violates the formula.
    pub never_violated: bool,
    /// No non-empty trace (over the possible letters) satisfies the formula.
    pub never_satisfied: bool,
    /// How large things were.
    pub stats: Stats,
}

/// Sizes, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// States of the automaton before anything was folded in for what follows a violation.
    pub plain_states: usize,
    /// States of the automaton.
    pub states: usize,
    /// Letter classes of its table, 0 if it stays in diagram form.
    pub classes: usize,
    /// 32-bit words of the automaton.
    pub words: usize,
    /// Diagram nodes made on the way, those over obligations aside.
    pub nodes: usize,
}

/// Stack for one level of recursion over diagrams, generously.
const DIAGRAM_FRAME: usize = 1 << 10;
/// Stack for one operator inside another: translating an operand is a chain of calls.
const OPERATOR_FRAME: usize = 16 << 10;
/// So much is there on any thread.
const PLAIN_STACK: usize = 1 << 20;

/// Compiles a formula into its minimal automaton.
///
/// `vocabulary` numbers the propositions; its order is the order in which diagrams test them, and equal languages over
/// one vocabulary give equal automata.
///
/// ```
/// use tracelaw_compiler::{Options, compile, syntax};
/// use tracelaw_runtime::{Letter, Verdict};
///
/// let rule = syntax::parse("G(pay -> F audit)", syntax::Dialect::Tracelaw, &syntax::Limits::default())?;
/// let vocabulary = ["pay".to_string(), "audit".to_string()];
/// let compiled = compile(&rule, &vocabulary, &Options::default())?;
/// let automaton = &compiled.automaton;
/// let paid = automaton.step(automaton.initial(), Letter(&[0b01])).state;
/// assert_eq!(automaton.verdict(paid), Verdict::Pending);
/// let audited = automaton.step(paid, Letter(&[0b10])).state;
/// assert_eq!(automaton.verdict(audited), Verdict::Holding);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Complexity
/// Doubly exponential in the formula at worst, as it has to be; about linear for the usual rules.
///
/// # Errors
/// [`BuildError`] when a limit is reached, or when a proposition is not in the vocabulary.
pub fn compile(formula: &Ast, vocabulary: &[String], options: &Options) -> Result<Compiled, BuildError> {
    let counted = desugar::counted(formula);
    let limit = options.limits.max_states;
    if counted > limit as u64 {
        return Err(BuildError::bound(counted, limit));
    }
    let stack =
        desugar::depth(formula) * OPERATOR_FRAME + (counted as usize + vocabulary.len()) * DIAGRAM_FRAME;
    let run = || Job::new(formula, vocabulary, options)?.run();
    if stack <= PLAIN_STACK {
        return run();
    }
    // Deep nesting, long bounds and many propositions mean deep recursion: give it a stack of its own.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("compile".into())
            .stack_size(stack + PLAIN_STACK)
            .spawn_scoped(scope, run)
            .map_err(|_| BuildError::stack(stack))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// One compilation.
struct Job<'a> {
    vocabulary: &'a [String],
    options: &'a Options,
    formulas: formula::Formulas,
    root: formula::FormulaId,
    accepts_empty: bool,
    /// Propositions of the formula, sorted.
    props: Vec<u32>,
    deadline: Option<Instant>,
}

impl<'a> Job<'a> {
    fn new(ast: &Ast, vocabulary: &'a [String], options: &'a Options) -> Result<Job<'a>, BuildError> {
        let deadline = options.limits.max_time.and_then(|t| Instant::now().checked_add(t));
        let names = desugar::Names::new(vocabulary);
        let mut formulas = formula::Formulas::new();
        let root = desugar::desugar(&mut formulas, &names, ast)?;
        let props = names.variables(ast);
        Ok(Job {
            vocabulary,
            options,
            formulas,
            root,
            accepts_empty: desugar::holds_on_empty(ast),
            props,
            deadline,
        })
    }

    fn run(mut self) -> Result<Compiled, BuildError> {
        let options = self.options;
        let mut dd = dd::Dd::new(options.limits, self.deadline);
        let automaton =
            translate::Translator::new(&mut self.formulas, &mut dd, options.limits).translate(self.root)?;
        let len = self.vocabulary.len();
        let known = |set: &Vec<u32>| {
            set.iter().filter(|&&p| (p as usize) < len).map(|&p| desugar::flip(p, len)).collect()
        };
        let exclusive: Vec<Vec<u32>> = options.exclusive.iter().map(known).collect();
        let one_of_all = options.one_of_all.then_some(len);
        let possible = machine::possible_letters(&mut dd, &self.props, &exclusive, one_of_all)?;
        let all_possible = possible == dd::terminal(1);
        let changes = !all_possible || options.after_violation.is_some();
        let mut machine = match options.semantics {
            Semantics::Finite => {
                let mut machine = machine::from_automaton(&dd, &automaton, self.accepts_empty);
                if changes {
                    machine.settle(&mut dd)?;
                }
                if !all_possible {
                    machine.judge(&mut dd, possible)?;
                }
                machine
            }
            Semantics::Infinite => {
                let finite = (&automaton, self.accepts_empty);
                omega::machine(&mut self.formulas, &mut dd, options.limits, self.root, finite, possible)?
            }
        };
        let plain_states = machine.roots.len();
        let (never_violated, never_satisfied) = machine.one_sided(&mut dd, possible)?;
        if let Some(mode) = options.after_violation {
            machine.go_on(&mut dd, mode)?;
        }
        if changes {
            machine.reduce(&mut dd, possible)?;
        }
        let automaton = emit::emit(&mut dd, &machine, len)?;
        let stats = Stats {
            plain_states,
            states: machine.roots.len(),
            classes: automaton.class_len() as usize,
            words: automaton.words().len(),
            nodes: dd.len(),
        };
        Ok(Compiled { automaton, never_violated, never_satisfied, stats })
    }
}
