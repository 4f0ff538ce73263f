//! `tracelaw explain`: what rules say.

use std::io::Write;

use tracelaw_compiler::Semantics;
use tracelaw_compiler::diag::Report;
use tracelaw_compiler::explain::{Letters, residuals, shortest, trace_text, words};
use tracelaw_runtime::Verdict;

use super::compile::{Subject, Subjects, What};
use super::{Ended, Failure, human_output};

const EXAMPLE: &str = "\
Examples:
  $ tracelaw explain corpora/examples/support.toml no-card-data-out
  $ tracelaw explain corpora/examples/support.toml
  $ tracelaw explain --template 'response(pay, audit)'
  $ tracelaw explain --formula 'G(pay -> F audit)'

A trace is shown event by event, each as the set of the propositions that are true there: {pay} {} {audit, pay}";

/// Say what rules mean: their words, formula, automaton and examples
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    #[command(flatten)]
    what: What,
    /// Id of the rule; without it all rules of the policy are explained
    #[arg(conflicts_with_all = ["formula", "template"])]
    rule: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let Subjects { text, vocabulary, rules } = args.what.read(args.rule.as_deref())?;
    let (mut warnings, mut errors) = (Report::new(), Report::new());
    let mut explained = Vec::new();
    for subject in &rules {
        match explain(subject, &vocabulary, &mut warnings) {
            Ok(text) => explained.push(text),
            Err(report) => errors.extend(report),
        }
    }
    text.show(&warnings);
    let mut out = human_output();
    out.write_all(explained.join("\n").as_bytes())?;
    out.flush()?;
    if errors.has_errors() {
        return Err(text.fail(&errors));
    }
    Ok(Ended::Well)
}

/// All there is to say of one rule, a line each.
fn explain(subject: &Subject, vocabulary: &[String], warnings: &mut Report) -> Result<String, Report> {
    let options = subject.plain_options();
    let compiled = subject.compile(vocabulary, &options)?;
    warnings.extend(subject.warnings(&compiled));
    let automaton = &compiled.automaton;
    let letters = Letters::new(vocabulary, &options);
    let find = |wanted: &dyn Fn(Verdict) -> bool| {
        let found = shortest(automaton, letters, wanted).map_err(|e| subject.limit(&e))?;
        Ok::<_, Report>(found.map(|trace| trace_text(&trace, vocabulary)))
    };
    let finite = options.semantics == Semantics::Finite;
    let satisfying = match finite {
        true => find(&Verdict::accepts)?,
        false => find(&|verdict| verdict == Verdict::Satisfied)?,
    };
    // A trace that nothing can mend says more than one that only ends too early.
    let (violating, how) = match find(&|verdict| verdict == Verdict::Violated)? {
        None if finite => (find(&|verdict| !verdict.accepts())?, "   (if the session ends there)"),
        found => (found, ""),
    };

    let mut out = String::new();
    let mut line = |name: &str, value: &str| out.push_str(&format!("{name:12}{value}\n"));
    if let Some(rule) = &subject.rule {
        line("rule", &rule.id);
        if !rule.text.is_empty() {
            line("text", &rule.text);
        }
        if let Some(source) = &rule.source {
            line("source", source);
        }
        line("written", &rule.written);
    }
    line("formula", &subject.formula.to_string());
    line("in words", &words(&subject.formula));
    let (stats, initial) = (&compiled.stats, automaton.verdict(automaton.initial()));
    let states = if stats.states == 1 { "state" } else { "states" };
    line(
        "automaton",
        &format!("{} {states}, {} words; {initial} before any event", stats.states, stats.words),
    );
    let none = if finite { "no trace that has an event" } else { "no finite trace" };
    line("satisfying", satisfying.as_deref().unwrap_or(none));
    line("violating", &violating.map_or(none.to_owned(), |trace| trace + how));
    let left = residuals(&subject.formula, vocabulary, automaton).unwrap_or_default();
    for (state, left) in left.iter().enumerate() {
        let verdict = automaton.verdict(state as u32);
        if let Some(left) = left.as_ref().filter(|_| !verdict.is_final()) {
            line("left", &format!("{left}   (state {state}, {verdict})"));
        }
    }
    Ok(out)
}
