//! `tracelaw explain`: what one rule says.

use std::io::Write;
use std::path::PathBuf;

use tracelaw::audit::Plan;
use tracelaw_compiler::Options;
use tracelaw_compiler::diag::{Diagnostic, suggest};

use super::input::{self, DialectArg, SemanticsArg};
use super::{Ended, Failure, human_output};

const EXAMPLE: &str = "\
Examples:
  $ tracelaw explain corpora/examples/support.toml no-leak
  $ tracelaw explain --formula 'G(pay -> F audit)'";

/// Say what a rule means: its words, its formula and its automaton
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    /// The policy: TOML, or the same as JSON
    #[arg(required_unless_present = "formula", conflicts_with = "formula", requires = "rule")]
    policy: Option<PathBuf>,
    /// Id of the rule
    rule: Option<String>,
    /// A formula instead of a policy's rule
    #[arg(long)]
    formula: Option<String>,
    /// How the formula writes its next operators
    #[arg(long, value_enum, default_value_t, requires = "formula")]
    dialect: DialectArg,
    /// Over which continuations the formula's verdicts speak
    #[arg(long, value_enum, default_value_t, requires = "formula")]
    semantics: SemanticsArg,
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let mut out = human_output();
    let (formula, automaton) = match (&args.policy, &args.rule, &args.formula) {
        (Some(path), Some(id), _) => {
            let (mut policy, text) = input::policy(path)?;
            let Some(at) = policy.rules.iter().position(|r| r.id == *id) else {
                let near = suggest(id, policy.rules.iter().map(|r| r.id.as_str()));
                let near = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                return Err(Failure::new(format_args!("`{}` has no rule `{id}`{near}", path.display())));
            };
            policy.rules = vec![policy.rules.swap_remove(at)];
            let plan = Plan::new(&policy).map_err(|report| text.fail(&report))?;
            text.show(plan.warnings());
            let Some((rule, (automaton, _))) = policy.rules.first().zip(plan.automata().next()) else {
                return Ok(Ended::Well);
            };
            writeln!(out, "rule       {}", rule.id)?;
            if !rule.text.is_empty() {
                writeln!(out, "in words   {}", rule.text)?;
            }
            if let Some(source) = &rule.source {
                writeln!(out, "source     {source}")?;
            }
            writeln!(out, "written    {}", rule.written)?;
            (rule.formula.to_string(), automaton.clone())
        }
        (_, _, Some(formula)) => {
            let (ast, text) = input::formula(formula, args.dialect)?;
            let vocabulary: Vec<String> = ast.propositions().into_iter().map(str::to_owned).collect();
            let options = Options { semantics: args.semantics.into(), ..Options::default() };
            let compiled = tracelaw_compiler::compile(&ast, &vocabulary, &options)
                .map_err(|e| text.fail(&Diagnostic::error("limit", ast.span, e.to_string()).into()))?;
            (ast.to_string(), compiled.automaton)
        }
        // The arguments' definition rules this out.
        _ => return Err(Failure::new("a policy and the id of a rule, or --formula, is needed")),
    };
    writeln!(out, "formula    {formula}")?;
    writeln!(out, "automaton  {} states, {} bytes", automaton.state_len(), automaton.words().len() * 4)?;
    writeln!(out, "at first   {}", automaton.verdict(automaton.initial()))?;
    out.flush()?;
    Ok(Ended::Well)
}
