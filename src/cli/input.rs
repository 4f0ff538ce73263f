//! Policies and formulas as arguments, with their mistakes told on standard error.

use std::path::Path;

use clap::ValueEnum;
use tracelaw::artifact::{self, Artifact, ReadError};
use tracelaw::audit::Plan;
use tracelaw::policy::{Policy, Semantics};
use tracelaw::report::diagnostics;
use tracelaw_compiler::diag::{Report, Severity};
use tracelaw_compiler::syntax::{self, Ast, Dialect};
use tracelaw_compiler::template;

use super::{Failure, say, say_error};

/// A text of the user's with the name to show for it.
pub(super) struct Text {
    pub(super) name: String,
    pub(super) text: String,
}

impl Text {
    /// Draws the report over the text.
    pub(super) fn show(&self, report: &Report) {
        if !report.is_empty() {
            let colour = diagnostics::may_colour(&std::io::stderr());
            say(diagnostics::render(report, &self.text, &self.name, colour).trim_end());
        }
    }

    /// Shows the report, which stops the command.
    pub(super) fn fail(&self, report: &Report) -> Failure {
        self.show(report);
        let errors = report.iter().filter(|d| d.severity == Severity::Error).count();
        say_error(&format!("{errors} mistake{} in {}", if errors == 1 { "" } else { "s" }, self.name));
        Failure::Told
    }
}

/// A policy as a command gets it.
pub(super) struct Input {
    pub(super) policy: Policy,
    pub(super) text: Text,
    /// Its compiled rules, if it came as an artifact.
    plan: Option<Plan>,
}

impl Input {
    /// The compiled rules: the artifact's, or made now, with what there is to say of them shown.
    pub(super) fn plan(&mut self) -> Result<Plan, Failure> {
        if let Some(plan) = self.plan.take() {
            return Ok(plan);
        }
        let plan = Plan::new(&self.policy).map_err(|report| self.text.fail(&report))?;
        self.text.show(plan.warnings());
        Ok(plan)
    }
}

/// Reads a policy file or an artifact, and shows what is probably not meant in the former.
pub(super) fn policy(path: &Path) -> Result<Input, Failure> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|e| Failure::new(format_args!("cannot read `{name}`: {e}")))?;
    if artifact::is_artifact(&bytes) {
        let Artifact { policy, plan, text, name: source, .. } =
            artifact::read(&bytes).map_err(|e| match e {
                ReadError::Policy { text, name: source, report } => {
                    Text { name: format!("{source} in {name}"), text }.fail(&report)
                }
                e @ ReadError::Load(_) => Failure::new(format_args!("`{name}`: {e}")),
            })?;
        return Ok(Input { policy, text: Text { name: source, text }, plan: Some(plan) });
    }
    let text = String::from_utf8(bytes)
        .map_err(|e| Failure::new(format_args!("cannot read `{name}`: {}", e.utf8_error())))?;
    let text = Text { name, text };
    let policy = Policy::parse(&text.text, &text.name).map_err(|report| text.fail(&report))?;
    text.show(&policy.warnings);
    Ok(Input { policy, text, plan: None })
}

/// Reads a formula given on the command line.
pub(super) fn formula(formula: &str, dialect: DialectArg) -> Result<(Ast, Text), Failure> {
    let text = Text { name: "the formula".to_owned(), text: formula.to_owned() };
    let (dialect, limits) = (dialect.into(), syntax::Limits::default());
    let ast = syntax::parse(formula, dialect, &limits)
        .map_err(|report| text.fail(&template::instead_of_formula(report, formula, dialect, &limits)))?;
    Ok((ast, text))
}

/// Reads a template given on the command line: the formula it stands for.
pub(super) fn template(template: &str, dialect: DialectArg) -> Result<(Ast, Text), Failure> {
    let text = Text { name: "the template".to_owned(), text: template.to_owned() };
    let ast = template::parse(template, dialect.into(), &syntax::Limits::default())
        .map_err(|report| text.fail(&report))?;
    Ok((ast, text))
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum DialectArg {
    /// X is the strong next, WX the weak one
    #[default]
    Tracelaw,
    /// X[!] is the strong next, X the weak one
    Spot,
}

impl From<DialectArg> for Dialect {
    fn from(arg: DialectArg) -> Dialect {
        match arg {
            DialectArg::Tracelaw => Dialect::Tracelaw,
            DialectArg::Spot => Dialect::Spot,
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum SemanticsArg {
    /// Sessions end: all finite continuations count
    #[default]
    Finite,
    /// Sessions go on for ever: all infinite continuations count
    Infinite,
}

impl From<SemanticsArg> for Semantics {
    fn from(arg: SemanticsArg) -> Semantics {
        match arg {
            SemanticsArg::Finite => Semantics::Finite,
            SemanticsArg::Infinite => Semantics::Infinite,
        }
    }
}
