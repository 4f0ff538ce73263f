//! A policy with its rules compiled.

use rayon::prelude::*;
use tracelaw_compiler::diag::{Diagnostic, Report, Span};
use tracelaw_compiler::plan::{self, ClassifierPlan, GroupPlan, PlanOptions, Planned};
use tracelaw_compiler::{BuildError, Compiled, Options, Stats};
use tracelaw_runtime::{Automaton, LoadError, RuleSet};

use crate::label::Expression;
use crate::policy::{Policy, Rule, Steps};

/// The rules of a policy, ready to step.
#[derive(Debug)]
pub struct Plan {
    pub(super) rules: Vec<PlannedRule>,
    /// The different choices of steps: that of the policy first, then those of rules that have one of their own.
    pub(super) streams: Vec<Steps>,
    pub(super) sets: Vec<PlannedSet>,
    warnings: Report,
}

#[derive(Debug)]
pub(super) struct PlannedRule {
    pub(super) automaton: Automaton<Vec<u32>>,
    /// Which of the plan's streams it sees.
    pub(super) stream: usize,
    pub(super) keyed: Option<Keys>,
    stats: Option<Stats>,
}

/// Rules that are stepped together: those of one stream that have no keys, or one with keys.
#[derive(Debug)]
pub(super) struct PlannedSet {
    /// What [`RuleSet::from_section`] takes.
    pub(super) section: Vec<u8>,
    /// Their places in the policy.
    pub(super) rules: Vec<u32>,
    pub(super) stream: usize,
    pub(super) keyed: bool,
    classifiers: Vec<ClassifierPlan>,
    groups: Vec<GroupPlan>,
}

impl PlannedSet {
    /// The rules, ready to step. Planning has checked the section.
    pub(super) fn rule_set(&self) -> Option<RuleSet<'_>> {
        RuleSet::from_section(&self.section, 0).ok()
    }
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
        let mut warnings = Report::new();
        let mut errors = Report::new();
        let mut automata = Vec::new();
        for (rule, compiled) in policy.rules.iter().zip(compiled) {
            match compiled {
                Ok(compiled) => {
                    one_sided(rule, &compiled).into_iter().for_each(|warning| warnings.push(warning));
                    automata.push((compiled.automaton, Some(compiled.stats)));
                }
                Err(e) => {
                    errors.push(Diagnostic::error("limit", rule.span, format!("rule `{}`: {e}", rule.id)));
                }
            }
        }
        let automata = errors.into_result(automata)?;
        let mut plan = Plan::of(policy, automata);
        plan.warnings = warnings;
        let sets = plan.members().into_par_iter().map(|(stream, keyed, rules)| {
            let members: Vec<_> = rules.iter().map(|&r| &plan.rules[r as usize].automaton).collect();
            let Planned { section, classifiers, groups } =
                plan::plan(&members, &plan_options(policy, keyed))?;
            Ok(PlannedSet { section, rules, stream, keyed, classifiers, groups })
        });
        let sets: Result<Vec<_>, BuildError> = sets.collect();
        plan.sets = sets.map_err(|e| Diagnostic::error("limit", Span::default(), e.to_string()))?;
        Ok(plan)
    }

    /// The plan that an artifact of the policy holds.
    ///
    /// # Errors
    /// When the parts of the artifact do not belong together.
    pub(crate) fn of_artifact(
        policy: &Policy,
        automata: Vec<Automaton<Vec<u32>>>,
        sections: Vec<Vec<u8>>,
    ) -> Result<Plan, LoadError> {
        if automata.len() != policy.rules.len() {
            return Err(LoadError::new("it has an automaton for each of other rules", automata.len()));
        }
        let mut plan = Plan::of(policy, automata.into_iter().map(|a| (a, None)).collect());
        let members = plan.members();
        if members.len() != sections.len() {
            return Err(LoadError::new("its rule sets are those of another policy", sections.len()));
        }
        for ((stream, keyed, rules), section) in members.into_iter().zip(sections) {
            if RuleSet::from_section(&section, 0)?.len() as usize != rules.len() {
                return Err(LoadError::new("its rule sets are those of another policy", stream));
            }
            plan.sets.push(PlannedSet {
                section,
                rules,
                stream,
                keyed,
                classifiers: Vec::new(),
                groups: Vec::new(),
            });
        }
        Ok(plan)
    }

    /// The rules with their streams and keys, not grouped yet.
    fn of(policy: &Policy, automata: Vec<(Automaton<Vec<u32>>, Option<Stats>)>) -> Plan {
        let mut plan = Plan {
            rules: Vec::new(),
            streams: vec![policy.steps.clone()],
            sets: Vec::new(),
            warnings: Report::new(),
        };
        let mut slots = 0..;
        for (rule, (automaton, stats)) in policy.rules.iter().zip(automata) {
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
        plan
    }

    /// Which rules are stepped together: stream, whether they have keys, rules.
    fn members(&self) -> Vec<(usize, bool, Vec<u32>)> {
        let rules = || (0..).zip(&self.rules);
        let mut members = Vec::new();
        for stream in 0..self.streams.len() {
            let plain = rules().filter(|(_, r)| r.stream == stream && r.keyed.is_none());
            members.push((stream, false, plain.map(|(i, _)| i).collect()));
        }
        for (i, rule) in rules().filter(|(_, r)| r.keyed.is_some()) {
            members.push((rule.stream, true, vec![i]));
        }
        members.retain(|(_, _, rules): &(_, _, Vec<u32>)| !rules.is_empty());
        members
    }

    /// Rules that say less than they seem to, with their places in the policy's text.
    #[must_use]
    pub fn warnings(&self) -> &Report {
        &self.warnings
    }

    /// The automaton of each rule and what compiling it came to, in policy order; an artifact does not say the latter.
    pub fn automata(&self) -> impl Iterator<Item = (&Automaton<Vec<u32>>, Option<&Stats>)> {
        self.rules.iter().map(|r| (&r.automaton, r.stats.as_ref()))
    }

    /// The rule sets: for each the bytes that the runtime steps, and which rules of the policy they are.
    pub fn sets(&self) -> impl Iterator<Item = (&[u8], &[u32])> {
        self.sets.iter().map(|set| (set.section.as_slice(), set.rules.as_slice()))
    }

    /// How each rule set is stepped: its rules, its classifiers, and its groups, whose rules are places among the first.
    /// An artifact does not say.
    pub fn groups(&self) -> impl Iterator<Item = (&[u32], &[ClassifierPlan], &[GroupPlan])> {
        self.sets.iter().map(|set| (set.rules.as_slice(), set.classifiers.as_slice(), set.groups.as_slice()))
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

fn compile(policy: &Policy, rule: &Rule) -> Result<Compiled, BuildError> {
    tracelaw_compiler::compile(&rule.formula, &policy.vocabulary, &options(policy, rule))
}

/// What planning is told of the letters. At an event of another value keyed propositions are false for an instance.
fn plan_options(policy: &Policy, keyed: bool) -> PlanOptions {
    PlanOptions {
        prop_len: policy.vocabulary.len(),
        exclusive: exclusive(policy, keyed),
        one_of_all: policy.one_per_event && !keyed,
        ..PlanOptions::default()
    }
}

/// The sets of propositions of which one holds at most, for rules with keys or without.
fn exclusive(policy: &Policy, keyed: bool) -> Vec<Vec<u32>> {
    let mut exclusive = policy.exclusive.clone();
    if policy.one_per_event && keyed {
        exclusive.push((0..).zip(&policy.vocabulary).map(|(i, _)| i).collect());
    }
    exclusive
}

/// How a rule of the policy is compiled, over the policy's vocabulary.
#[must_use]
pub fn options(policy: &Policy, rule: &Rule) -> Options {
    // At an event of another value the keyed propositions are false for an instance, whatever the event: "exactly one"
    // shrinks to "at most one".
    let keyed = !rule.keyed.is_empty();
    Options {
        semantics: policy.semantics,
        after_violation: Some(rule.after_violation),
        exclusive: exclusive(policy, keyed),
        one_of_all: policy.one_per_event && !keyed,
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
