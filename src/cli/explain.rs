//! `tracelaw explain`: what one rule says.

use std::io::Write;

use tracelaw_compiler::explain::{Letters, shortest, trace_text, words};
use tracelaw_runtime::Verdict;

use super::compile::{Subjects, What};
use super::{Ended, Failure, human_output};

const EXAMPLE: &str = "\
Examples:
  $ tracelaw explain corpora/examples/support.toml no-card-data-out
  $ tracelaw explain --formula 'G(pay -> F audit)'

A trace is shown event by event, each as the set of the propositions that are true there: {pay} {} {audit, pay}";

/// Say what a rule means: its words, its formula, its automaton and examples
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    #[command(flatten)]
    what: What,
    /// Id of the rule
    #[arg(required_unless_present = "formula", conflicts_with = "formula")]
    rule: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let Subjects { text, vocabulary, rules } = args.what.read(args.rule.as_deref())?;
    let Some(subject) = rules.first() else { return Ok(Ended::Well) };
    let options = subject.plain_options();
    let compiled = subject.compile(&vocabulary, &options).map_err(|report| text.fail(&report))?;
    text.show(&subject.warnings(&compiled));
    let automaton = &compiled.automaton;
    let letters = Letters::new(&vocabulary, &options);
    let find = |wanted: &dyn Fn(Verdict) -> bool| {
        let found = shortest(automaton, letters, wanted).map_err(|e| text.fail(&subject.limit(&e)))?;
        Ok::<_, Failure>(found.map(|trace| trace_text(&trace, &vocabulary)))
    };
    let satisfying = find(&Verdict::accepts)?;
    // A trace that nothing can mend says more than one that only ends too early.
    let (violating, how) = match find(&|verdict| verdict == Verdict::Violated)? {
        Some(trace) => (Some(trace), ""),
        None => (find(&|verdict| !verdict.accepts())?, "   (if the session ends there)"),
    };

    let mut out = human_output();
    if let Some(rule) = &subject.rule {
        writeln!(out, "rule        {}", rule.id)?;
        if !rule.text.is_empty() {
            writeln!(out, "text        {}", rule.text)?;
        }
        if let Some(source) = &rule.source {
            writeln!(out, "source      {}", source)?;
        }
        writeln!(out, "written     {}", rule.written)?;
    }
    writeln!(out, "formula     {}", subject.formula)?;
    writeln!(out, "in words    {}", words(&subject.formula))?;
    let (stats, initial) = (&compiled.stats, automaton.verdict(automaton.initial()));
    let states = if stats.states == 1 { "state" } else { "states" };
    writeln!(
        out,
        "automaton   {} {states}, {} words; {initial} before any event",
        stats.states, stats.words
    )?;
    writeln!(out, "satisfying  {}", satisfying.as_deref().unwrap_or("no trace that has an event"))?;
    match violating {
        Some(trace) => writeln!(out, "violating   {trace}{how}")?,
        None => writeln!(out, "violating   no trace that has an event")?,
    }
    out.flush()?;
    Ok(Ended::Well)
}
