//! `tracelaw compile`: rules to automata, for those who want to look at them.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use tracelaw::audit::Plan;
use tracelaw_compiler::Options;
use tracelaw_compiler::diag::Diagnostic;
use tracelaw_runtime::Automaton;

use super::input::{self, DialectArg, SemanticsArg};
use super::{Ended, Failure, human_output};

const EXAMPLE: &str = "\
Examples:
  $ tracelaw compile corpora/examples/support.toml
  $ tracelaw compile --formula 'G(pay -> F audit)' --emit json";

/// Compile rules to minimal automata and say how large they are
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    #[command(flatten)]
    what: What,
    /// What to write
    #[arg(long, value_enum, default_value_t)]
    emit: Emit,
}

/// A policy, or one formula.
#[derive(clap::Args)]
pub(super) struct What {
    /// The policy: TOML, or the same as JSON
    #[arg(required_unless_present = "formula", conflicts_with = "formula")]
    pub(super) policy: Option<PathBuf>,
    /// A formula instead of a policy
    #[arg(long)]
    pub(super) formula: Option<String>,
    /// How the formula writes its next operators
    #[arg(long, value_enum, default_value_t, requires = "formula")]
    pub(super) dialect: DialectArg,
    /// Over which continuations the formula's verdicts speak
    #[arg(long, value_enum, default_value_t, requires = "formula")]
    pub(super) semantics: SemanticsArg,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Emit {
    /// A table: states, letter classes, bytes
    #[default]
    Stats,
    /// The same as one JSON object per rule
    Json,
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let mut sizes = Vec::new();
    if let Some(path) = &args.what.policy {
        let (policy, text) = input::policy(path)?;
        let plan = Plan::new(&policy).map_err(|report| text.fail(&report))?;
        text.show(plan.warnings());
        sizes.extend(
            policy
                .rules
                .iter()
                .zip(plan.automata())
                .map(|(rule, (automaton, _))| Size::of(&rule.id, automaton)),
        );
    } else if let Some(formula) = &args.what.formula {
        let (ast, text) = input::formula(formula, args.what.dialect)?;
        let vocabulary: Vec<String> = ast.propositions().into_iter().map(str::to_owned).collect();
        let options = Options { semantics: args.what.semantics.into(), ..Options::default() };
        let compiled = tracelaw_compiler::compile(&ast, &vocabulary, &options)
            .map_err(|e| text.fail(&Diagnostic::error("limit", ast.span, e.to_string()).into()))?;
        sizes.push(Size::of("formula", &compiled.automaton));
    }
    let mut out = human_output();
    match args.emit {
        Emit::Stats => table(&mut out, &sizes)?,
        Emit::Json => {
            for size in &sizes {
                serde_json::to_writer(&mut out, size).map_err(std::io::Error::from)?;
                writeln!(out)?;
            }
        }
    }
    out.flush()?;
    Ok(Ended::Well)
}

/// How large a rule's automaton is.
#[derive(Serialize)]
struct Size {
    rule: String,
    states: u32,
    /// 0 where the automaton is kept as diagrams.
    classes: u32,
    bytes: usize,
    initial: &'static str,
}

impl Size {
    fn of(rule: &str, automaton: &Automaton<Vec<u32>>) -> Size {
        Size {
            rule: rule.to_owned(),
            states: automaton.state_len(),
            classes: automaton.class_len(),
            bytes: automaton.words().len() * 4,
            initial: automaton.verdict(automaton.initial()).as_str(),
        }
    }
}

fn table(out: &mut impl Write, sizes: &[Size]) -> std::io::Result<()> {
    let width = sizes.iter().map(|s| s.rule.chars().count()).max().unwrap_or(0).max(4);
    writeln!(out, "{:width$}  {:>8}  {:>8}  {:>10}  initial", "rule", "states", "classes", "bytes")?;
    for s in sizes {
        let classes = if s.classes == 0 { "-".to_owned() } else { s.classes.to_string() };
        writeln!(out, "{:width$}  {:>8}  {classes:>8}  {:>10}  {}", s.rule, s.states, s.bytes, s.initial)?;
    }
    Ok(())
}
