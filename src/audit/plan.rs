//! A policy with its rules compiled.

use rayon::prelude::*;
use tracelaw_compiler::diag::{Diagnostic, Report};
use tracelaw_compiler::{Compiled, Options, Stats};
use tracelaw_runtime::Automaton;

use crate::label::Expression;
use crate::policy::{Policy, Rule, Steps};

/// The rules of a policy, ready to step.
#[derive(Debug)]
pub struct Plan {
    pub(super) rules: Vec<PlannedRule>,
    /// The different choices of steps: that of the policy first, then those of rules that have one of their own.
    pub(super) streams: Vec<Steps>,
    warnings: Report,
}

#[derive(Debug)]
pub(super) struct PlannedRule {
    pub(super) automaton: Automaton<Vec<u32>>,
    /// Which of the plan's streams it sees.
    pub(super) stream: usize,
    pub(super) keyed: Option<Keys>,
    stats: Stats,
}

/// How a rule with one monitor per value tells the values apart.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) per: Expression,
    /// The propositions that hold for one value only, as a letter.
    pub(super) mask: Vec<u64>,
    /// Which of a session's sets of monitors is the rule's.
    pub(super) slot: usize,
}

impl Plan {
    /// Compiles all rules, in parallel; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// The rules that are too large to compile, with their places in the policy's text.
    pub fn new(policy: &Policy) -> Result<Plan, Report> {
        let compiled: Vec<_> = policy.rules.par_iter().map(|rule| compile(policy, rule)).collect();
        let mut plan =
            Plan { rules: Vec::new(), streams: vec![policy.steps.clone()], warnings: Report::new() };
        let mut errors = Report::new();
        let mut slots = 0..;
        for (rule, compiled) in policy.rules.iter().zip(compiled) {
            let compiled = match compiled {
                Ok(compiled) => compiled,
                Err(e) => {
                    errors.push(Diagnostic::error("limit", rule.span, format!("rule `{}`: {e}", rule.id)));
                    continue;
                }
            };
            one_sided(rule, &compiled).into_iter().for_each(|warning| plan.warnings.push(warning));
            let Compiled { automaton, stats, .. } = compiled;
            let stream = match &rule.steps {
                None => 0,
                Some(steps) => {
                    plan.streams.push(steps.clone());
                    plan.streams.len() - 1
                }
            };
            let keyed = rule.per.clone().and_then(|per| {
                Some(Keys { per, mask: mask(&rule.keyed, policy.vocabulary.len()), slot: slots.next()? })
            });
            plan.rules.push(PlannedRule { automaton, stream, keyed, stats });
        }
        errors.into_result(plan)
    }

    /// Rules that say less than they seem to, with their places in the policy's text.
    #[must_use]
    pub fn warnings(&self) -> &Report {
        &self.warnings
    }

    /// The automaton of each rule and what compiling it came to, in policy order.
    pub fn automata(&self) -> impl Iterator<Item = (&Automaton<Vec<u32>>, &Stats)> {
        self.rules.iter().map(|r| (&r.automaton, &r.stats))
    }
}

/// What is wrong with a rule that no session can violate, or none can satisfy.
#[must_use]
pub fn one_sided(rule: &Rule, compiled: &Compiled) -> Vec<Diagnostic> {
    let warning = |code, what: &str, help: &str| {
        Diagnostic::warning(code, rule.span, format!("rule `{}` {what}", rule.id)).with_help(help)
    };
    let mut warnings = Vec::new();
    if compiled.never_violated {
        warnings.push(warning("never-violated", "cannot be violated by any session", "it can be left out"));
    }
    if compiled.never_satisfied {
        warnings.push(warning(
            "never-satisfied",
            "cannot be satisfied by any session that has a step",
            "it contradicts itself",
        ));
    }
    warnings
}

fn compile(policy: &Policy, rule: &Rule) -> Result<Compiled, tracelaw_compiler::BuildError> {
    tracelaw_compiler::compile(&rule.formula, &policy.vocabulary, &options(policy, rule))
}

/// How a rule of the policy is compiled, over the policy's vocabulary.
#[must_use]
pub fn options(policy: &Policy, rule: &Rule) -> Options {
    let mut exclusive = policy.exclusive.clone();
    // At an event of another value the keyed propositions are false for an instance, whatever the event: "exactly one"
    // shrinks to "at most one".
    let one_of_all = policy.one_per_event && rule.keyed.is_empty();
    if policy.one_per_event && !one_of_all {
        exclusive.push((0..).zip(&policy.vocabulary).map(|(i, _)| i).collect());
    }
    Options {
        semantics: policy.semantics,
        after_violation: Some(rule.after_violation),
        exclusive,
        one_of_all,
        ..Options::default()
    }
}

/// The letter at which exactly `props` hold.
fn mask(props: &[u32], vocabulary_len: usize) -> Vec<u64> {
    let mut mask = vec![0; vocabulary_len.div_ceil(64)];
    for prop in props {
        if let Some(word) = mask.get_mut((prop >> 6) as usize) {
            *word |= 1 << (prop & 63);
        }
    }
    mask
}
