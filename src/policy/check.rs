//! From what a policy file says to a policy: names, expressions and formulas.

use std::collections::{HashMap, HashSet};

use tracelaw_compiler::diag::{Diagnostic, Report, Span, did_you_mean};
use tracelaw_compiler::syntax::{self, Ast, Dialect, Limits};
use tracelaw_compiler::template;

use super::draft::{Definition, Draft, RuleDraft};
use super::inline::{Inliner, for_each_name, map_spans};
use super::order::order;
use super::text::Text;
use super::{Policy, Rule, Steps};
use crate::label::{Expression, Labeller, Role, Source, check_all};

/// Each suggestion compares with all names, so a policy of nothing but mistakes gets no more than these.
const MAX_SUGGESTIONS: usize = 200;

/// Members of a circle that are named.
const MAX_CIRCLE: usize = 10;

/// Makes the policy of a draft. With errors in `report` it is not to be used.
pub(super) fn check(draft: Draft, default_name: &str, mut report: Report) -> Result<Policy, Report> {
    let mut checker = Checker {
        names: HashMap::new(),
        defines: HashSet::new(),
        suggestions_left: MAX_SUGGESTIONS,
        report: &mut report,
    };
    let vocabulary = checker.vocabulary(&draft);
    let mut expressions = checker.expressions(&draft);
    let mut formulas = checker.formulas(&draft);

    let exclusive = draft.exclusive.iter().map(|(_, set)| checker.known(set, "exclusive")).collect();
    for (span, set) in draft.exclusive.iter().filter(|(_, set)| set.len() < 2) {
        let message =
            if set.is_empty() { "an empty set excludes nothing" } else { "one name alone excludes nothing" };
        checker.report.push(Diagnostic::warning("no-effect", *span, message));
    }
    let steps = checker.steps(draft.steps.as_ref(), expressions.steps.take()).unwrap_or_default();
    let mut ids = HashSet::new();
    let mut rules = Vec::new();
    for (rule, (formula, (per, own_steps))) in
        draft.rules.iter().zip(formulas.drain(..).zip(expressions.rules))
    {
        let steps = checker.steps(rule.steps.as_ref(), own_steps);
        let keyed = checker.keyed(rule, formula.as_ref());
        let Some(id) = &rule.id else { continue };
        if id.value.is_empty() {
            checker.report.push(Diagnostic::error("missing-key", id.span, "the `id` of this rule is empty"));
        } else if !ids.insert(id.value.as_str()) {
            let message = format!("two rules have the id `{}`", id.value);
            checker.report.push(
                Diagnostic::error("duplicate", id.span, message)
                    .with_help("reports name rules by their id alone"),
            );
        }
        let (Some(formula), Some(written)) = (formula, rule.formula.as_ref().or(rule.template.as_ref()))
        else {
            continue;
        };
        let say = |text: &Option<Text>| text.as_ref().map(|t| t.value.clone());
        rules.push(Rule {
            id: id.value.clone(),
            text: say(&rule.text).unwrap_or_default(),
            source: say(&rule.source),
            severity: rule.severity.unwrap_or_default(),
            formula,
            written: written.value.clone(),
            after_violation: rule.after_violation.or(draft.after_violation).unwrap_or_default(),
            per,
            keyed,
            steps,
            span: rule.span,
        });
    }
    let report = report.sorted();
    if report.has_errors() {
        return Err(report);
    }
    let given: Vec<u32> = (0u32..).take(draft.given.len()).collect();
    let stated: Vec<(String, u32)> = vocabulary.iter().cloned().zip(given.iter().copied()).collect();
    let labeller = Labeller::new(vocabulary.len(), stated, expressions.propositions);
    Ok(Policy {
        name: draft.name.map_or_else(|| default_name.to_owned(), |t| t.value),
        semantics: draft.semantics.unwrap_or_default(),
        vocabulary,
        given,
        exclusive,
        one_per_event: draft.one_per_event,
        steps,
        rules,
        labeller,
        warnings: report,
    })
}

struct Checker<'d, 'r> {
    /// Propositions by name.
    names: HashMap<&'d str, u32>,
    defines: HashSet<&'d str>,
    suggestions_left: usize,
    report: &'r mut Report,
}

/// The checked expressions of a policy, each at its place.
struct Expressions {
    propositions: Vec<(u32, String, Expression)>,
    steps: Option<Expression>,
    /// `per` and `steps` of each rule.
    rules: Vec<(Option<Expression>, Option<Expression>)>,
}

impl<'d> Checker<'d, '_> {
    /// Numbers the propositions: the given ones first.
    fn vocabulary(&mut self, draft: &'d Draft) -> Vec<String> {
        let given = draft.given.iter().map(|t| (t.value.as_str(), t.span));
        let own = draft.propositions.iter().map(|d| (d.name.as_str(), d.name_span));
        let mut vocabulary = Vec::new();
        for (number, (name, span)) in (0u32..).zip(given.chain(own)) {
            vocabulary.push(name.to_owned());
            if name.is_empty() {
                self.report.push(Diagnostic::error("unknown-name", span, "a proposition needs a name"));
            } else if self.names.insert(name, number).is_some() {
                let message = format!("the proposition `{name}` is there twice");
                self.report.push(
                    Diagnostic::error("duplicate", span, message)
                        .with_help("it is either stated by the log (`given`) or found by one expression"),
                );
            }
        }
        for define in &draft.defines {
            if self.names.contains_key(define.name.as_str()) {
                let message = format!("`{}` is both a proposition and a named formula", define.name);
                self.report.push(
                    Diagnostic::error("duplicate", define.name_span, message)
                        .with_help("rename one of the two"),
                );
            }
            self.defines.insert(&define.name);
        }
        vocabulary
    }

    /// Checks all expressions, those of propositions ordered by their use of one another.
    fn expressions(&mut self, draft: &'d Draft) -> Expressions {
        let mut sources = Vec::new();
        let mut texts = Vec::new();
        let mut push = |text: Option<&'d Text>, role: Role| {
            text.map(|text| {
                sources.push(Source { text: &text.value, role });
                texts.push(text);
                texts.len() - 1
            })
        };
        let steps_text = |text: Option<&'d Text>| text.filter(|t| fixed_steps(&t.value).is_none());
        for definition in &draft.propositions {
            push(Some(&definition.meaning), Role::Proposition);
        }
        let steps = push(steps_text(draft.steps.as_ref()), Role::Steps);
        let rules: Vec<(Option<usize>, Option<usize>)> = draft
            .rules
            .iter()
            .map(|r| (push(r.per.as_ref(), Role::Key), push(steps_text(r.steps.as_ref()), Role::Steps)))
            .collect();

        let mut checked: Vec<Option<Expression>> = Vec::new();
        for ((expression, mistakes), text) in check_all(&sources, &self.names).into_iter().zip(&texts) {
            mistakes.into_iter().for_each(|d| self.report.push(text.diagnostic(d)));
            checked.push(expression);
        }
        let mut take = |at: Option<usize>| at.and_then(|at| checked.get_mut(at)).and_then(Option::take);
        let steps = take(steps);
        let rules = rules.into_iter().map(|(per, own)| (take(per), take(own))).collect();
        checked.truncate(draft.propositions.len());
        Expressions { propositions: self.ordered(draft, checked), steps, rules }
    }

    fn ordered(
        &mut self,
        draft: &Draft,
        mut expressions: Vec<Option<Expression>>,
    ) -> Vec<(u32, String, Expression)> {
        let given = draft.given.len();
        let uses: Vec<Vec<usize>> = expressions
            .iter()
            .map(|e| {
                let references = e.as_ref().map_or(&[][..], Expression::references);
                references.iter().filter_map(|r| (*r as usize).checked_sub(given)).collect()
            })
            .collect();
        let (sorted, circles) = order(&uses);
        self.circles(&circles, &draft.propositions, "proposition");
        sorted
            .into_iter()
            .filter_map(|i| {
                let expression = expressions.get_mut(i)?.take()?;
                let number = u32::try_from(i + given).ok()?;
                Some((number, draft.propositions.get(i)?.name.clone(), expression))
            })
            .collect()
    }

    fn circles(&mut self, circles: &[Vec<usize>], definitions: &[Definition], what: &str) {
        for circle in circles {
            let members: Vec<&Definition> = circle.iter().filter_map(|i| definitions.get(*i)).collect();
            let Some(first) = members.first() else { continue };
            // A circle of thousands would be no help.
            let shown = members.iter().take(MAX_CIRCLE).map(|d| format!("`{}`", d.name));
            let more = (members.len() > MAX_CIRCLE).then(|| format!("({} more)", members.len() - MAX_CIRCLE));
            let names: Vec<String> = shown.chain(more).chain([format!("`{}`", first.name)]).collect();
            let message = format!("the {what} `{}` is made of itself: {}", first.name, names.join(" -> "));
            self.report.push(
                Diagnostic::error("cycle", first.name_span, message).with_help("write one of them out"),
            );
        }
    }

    /// The formula of each rule, with the named formulas put in.
    fn formulas(&mut self, draft: &'d Draft) -> Vec<Option<Ast>> {
        let dialect = draft.dialect.unwrap_or_default();
        let mut defines: Vec<Option<Ast>> =
            draft.defines.iter().map(|d| self.formula(&d.meaning, dialect, Form::Formula)).collect();
        let mut rules: Vec<Option<Ast>> = draft
            .rules
            .iter()
            .map(|rule| match (&rule.formula, &rule.template) {
                (Some(formula), _) => self.formula(formula, dialect, Form::Formula),
                (None, Some(template)) => self.formula(template, dialect, Form::Template),
                (None, None) => None,
            })
            .collect();

        let numbers: HashMap<&str, usize> =
            draft.defines.iter().enumerate().map(|(i, d)| (d.name.as_str(), i)).collect();
        let mut used = HashSet::new();
        let uses_of = |ast: Option<&Ast>, used: &mut HashSet<usize>| {
            let names = ast.map_or_else(Vec::new, Ast::propositions);
            let uses: Vec<usize> = names.into_iter().filter_map(|n| numbers.get(n).copied()).collect();
            used.extend(&uses);
            uses
        };
        let uses: Vec<Vec<usize>> = defines.iter().map(|ast| uses_of(ast.as_ref(), &mut used)).collect();
        rules.iter().for_each(|ast| {
            uses_of(ast.as_ref(), &mut used);
        });
        // A formula that could not be read may use any of them.
        let all_read = defines.iter().chain(&rules).all(Option::is_some);
        for (_, define) in draft.defines.iter().enumerate().filter(|(i, _)| all_read && !used.contains(i)) {
            let message = format!("no rule uses the named formula `{}`", define.name);
            self.report.push(Diagnostic::warning("unused", define.name_span, message));
        }
        let (sorted, circles) = order(&uses);
        self.circles(&circles, &draft.defines, "named formula");
        if !circles.is_empty() {
            return rules;
        }
        let mut inliner = Inliner::new();
        for i in sorted {
            let (Some(define), Some(ast)) = (draft.defines.get(i), defines.get_mut(i).and_then(Option::take))
            else {
                continue;
            };
            if let Err(diagnostic) = inliner.define(&define.name, ast) {
                self.report.push(diagnostic);
            }
        }
        for rule in &mut rules {
            match rule.take().map(|ast| inliner.inline(ast)) {
                Some(Ok(ast)) => *rule = Some(ast),
                Some(Err(diagnostic)) => self.report.push(diagnostic),
                None => {}
            }
        }
        rules
    }

    /// Reads a formula; its spans are those of the file.
    fn formula(&mut self, text: &Text, dialect: Dialect, form: Form) -> Option<Ast> {
        let limits = Limits::default();
        let read = match form {
            Form::Formula => syntax::parse(&text.value, dialect, &limits)
                .map_err(|report| template::instead_of_formula(report, &text.value, dialect, &limits)),
            Form::Template => template::parse(&text.value, dialect, &limits),
        };
        match read {
            Ok(mut ast) => {
                map_spans(&mut ast, &|span| text.place(span));
                self.unknown_names(&ast);
                Some(ast)
            }
            Err(mistakes) => {
                mistakes.into_iter().for_each(|d| self.report.push(text.diagnostic(d)));
                None
            }
        }
    }

    /// Reports the names that stand for nothing, each once.
    fn unknown_names(&mut self, ast: &Ast) {
        let mut unknown: Vec<(&str, Span)> = Vec::new();
        let mut seen = HashSet::new();
        for_each_name(ast, &mut |name, span| {
            if !self.names.contains_key(name) && !self.defines.contains(name) && seen.insert(name) {
                unknown.push((name, span));
            }
        });
        for (name, span) in unknown {
            let help = match self.suggest(name, true) {
                Some(near) => near,
                None => format!(
                    "say what it is in `[propositions]`, or list it in `given`: `given = [\"{name}\"]`"
                ),
            };
            let message = format!("unknown proposition `{name}`");
            self.report.push(Diagnostic::error("unknown-name", span, message).with_help(help));
        }
    }

    /// The numbers of propositions named in a list.
    fn known(&mut self, names: &[Text], key: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        let mut seen = HashSet::new();
        for text in names {
            match self.names.get(text.value.as_str()) {
                Some(number) if !seen.insert(*number) => {
                    let message = format!("`{}` is there twice in `{key}`", text.value);
                    self.report.push(Diagnostic::error("duplicate", text.span, message));
                }
                Some(number) => numbers.push(*number),
                None => {
                    let help = if self.defines.contains(text.value.as_str()) {
                        format!("`{}` is a named formula; `{key}` lists propositions", text.value)
                    } else if let Some(near) = self.suggest(&text.value, false) {
                        near
                    } else {
                        "propositions are made in `[propositions]` or listed in `given`".to_owned()
                    };
                    let message = format!("unknown proposition `{}` in `{key}`", text.value);
                    self.report.push(Diagnostic::error("unknown-name", text.span, message).with_help(help));
                }
            }
        }
        numbers
    }

    /// The known names like `wanted`, as long as not too many were asked for.
    fn suggest(&mut self, wanted: &str, with_defines: bool) -> Option<String> {
        self.suggestions_left = self.suggestions_left.checked_sub(1)?;
        let defines = self.defines.iter().filter(|_| with_defines);
        did_you_mean(wanted, self.names.keys().chain(defines).copied())
    }

    fn keyed(&mut self, rule: &RuleDraft, formula: Option<&Ast>) -> Vec<u32> {
        let Some((span, names)) = &rule.keyed else { return Vec::new() };
        if names.is_empty() {
            self.report.push(
                Diagnostic::error("missing-key", *span, "`keyed` is empty: all monitors would see the same")
                    .with_help("list the propositions that hold for one value only, or leave `per` out"),
            );
        }
        let numbers = self.known(names, "keyed");
        if let Some(formula) = formula {
            let spoken_of: HashSet<&str> = formula.propositions().into_iter().collect();
            for text in names {
                let name = text.value.as_str();
                if self.names.contains_key(name) && !spoken_of.contains(name) {
                    let message = format!("the rule does not speak of `{name}`");
                    self.report.push(Diagnostic::warning("no-effect", text.span, message));
                }
            }
        }
        numbers
    }

    fn steps(&mut self, text: Option<&Text>, expression: Option<Expression>) -> Option<Steps> {
        let text = text?;
        // Without an expression its mistakes have been told.
        Some(fixed_steps(&text.value).or(expression.map(Steps::Where)).unwrap_or_default())
    }
}

enum Form {
    Formula,
    Template,
}

/// The ways to say which events are steps that need no expression.
fn fixed_steps(text: &str) -> Option<Steps> {
    match text {
        "calls" => Some(Steps::Calls),
        "all" => Some(Steps::All),
        "matched" => Some(Steps::Matched),
        _ => None,
    }
}
