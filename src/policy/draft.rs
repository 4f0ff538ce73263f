//! What a policy file says, key by key, before names and formulas are looked at.

use tracelaw_compiler::config::{AfterViolation, Semantics};
use tracelaw_compiler::diag::{Diagnostic, Report, Span, did_you_mean};
use tracelaw_compiler::syntax::Dialect;

use super::Severity;
use super::document::{Entry, Node, Value};
use super::text::Text;

/// A policy as written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: Option<Text>,
    pub(super) semantics: Option<Semantics>,
    pub(super) steps: Option<Text>,
    pub(super) given: Vec<Text>,
    pub(super) exclusive: Vec<(Span, Vec<Text>)>,
    pub(super) one_per_event: bool,
    pub(super) dialect: Option<Dialect>,
    pub(super) after_violation: Option<AfterViolation>,
    pub(super) propositions: Vec<Definition>,
    pub(super) defines: Vec<Definition>,
    pub(super) rules: Vec<RuleDraft>,
}

/// `name = "meaning"`.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) name_span: Span,
    pub(super) meaning: Text,
}

/// A rule as written.
#[derive(Debug, Default)]
pub(super) struct RuleDraft {
    pub(super) span: Span,
    pub(super) id: Option<Text>,
    pub(super) text: Option<Text>,
    pub(super) source: Option<Text>,
    pub(super) severity: Option<Severity>,
    pub(super) formula: Option<Text>,
    pub(super) template: Option<Text>,
    pub(super) after_violation: Option<AfterViolation>,
    pub(super) per: Option<Text>,
    pub(super) keyed: Option<(Span, Vec<Text>)>,
    pub(super) steps: Option<Text>,
}

const TOP_KEYS: [&str; 11] = [
    "name",
    "semantics",
    "steps",
    "given",
    "one_per_event",
    "exclusive",
    "dialect",
    "after_violation",
    "propositions",
    "define",
    "rule",
];

const RULE_KEYS: [&str; 10] =
    ["id", "text", "source", "severity", "formula", "template", "after_violation", "per", "keyed", "steps"];

const AFTER_VIOLATION: [(&str, AfterViolation); 3] =
    [("repair", AfterViolation::Repair), ("restart", AfterViolation::Restart), ("off", AfterViolation::Off)];

const SEVERITIES: [(&str, Severity); 3] =
    [("error", Severity::Error), ("warning", Severity::Warning), ("info", Severity::Info)];

/// Reads the tree of a policy; `readable` says whether the tree is all of the text.
pub(super) fn draft(root: Node, readable: bool, report: &mut Report) -> Draft {
    let mut draft = Draft::default();
    let start = root.span.start;
    let Value::Table(entries) = root.value else {
        report.push(wrong_type("the policy", "a table", &root));
        return draft;
    };
    let mut rules_readable = readable;
    for entry in entries {
        match entry.key.as_str() {
            "name" => draft.name = text(entry, report),
            "semantics" => {
                let words = [("finite", Semantics::Finite), ("infinite", Semantics::Infinite)];
                draft.semantics = word(entry, &words, report);
            }
            "steps" => draft.steps = text(entry, report),
            "given" => draft.given = texts(&entry.key, entry.node, report),
            "one_per_event" => draft.one_per_event = boolean(&entry, report),
            "exclusive" => draft.exclusive = sets(entry, report),
            "dialect" => {
                let words = [("tracelaw", Dialect::Tracelaw), ("spot", Dialect::Spot)];
                draft.dialect = word(entry, &words, report);
            }
            "after_violation" => draft.after_violation = word(entry, &AFTER_VIOLATION, report),
            "propositions" => draft.propositions = definitions(entry, report),
            "define" => draft.defines = definitions(entry, report),
            "rule" => {
                let read = rules(entry, report);
                rules_readable &= read.is_some();
                draft.rules = read.unwrap_or_default();
            }
            _ => unknown_key(&entry, &TOP_KEYS, report),
        }
    }
    if draft.rules.is_empty() && rules_readable {
        report.push(
            Diagnostic::error("missing-key", Span::new(start, start), "the policy has no rule")
                .with_help("add a `[[rule]]` with an `id` and a `formula` or `template`"),
        );
    }
    draft
}

/// The rules, or nothing if there is no telling what they are.
fn rules(entry: Entry, report: &mut Report) -> Option<Vec<RuleDraft>> {
    let Value::Array(nodes) = entry.node.value else {
        let error = wrong_type("`rule`", "a list of tables", &entry.node);
        report.push(error.with_help("write `[[rule]]` above each rule"));
        return None;
    };
    Some(nodes.into_iter().filter_map(|node| rule(node, report)).collect())
}

fn rule(node: Node, report: &mut Report) -> Option<RuleDraft> {
    let Value::Table(entries) = node.value else {
        report.push(wrong_type("a rule", "a table", &node));
        return None;
    };
    let keys: Vec<(String, Span)> = entries.iter().map(|e| (e.key.clone(), e.key_span)).collect();
    let mut rule = RuleDraft { span: node.span, ..RuleDraft::default() };
    for entry in entries {
        match entry.key.as_str() {
            "id" => rule.id = text(entry, report),
            "text" => rule.text = text(entry, report),
            "source" => rule.source = text(entry, report),
            "severity" => rule.severity = word(entry, &SEVERITIES, report),
            "formula" => rule.formula = text(entry, report),
            "template" => rule.template = text(entry, report),
            "after_violation" => rule.after_violation = word(entry, &AFTER_VIOLATION, report),
            "per" => rule.per = text(entry, report),
            "keyed" => rule.keyed = Some((entry.key_span, texts("keyed", entry.node, report))),
            "steps" => rule.steps = text(entry, report),
            _ => unknown_key(&entry, &RULE_KEYS, report),
        }
    }
    check_keys(rule.span, &keys, report);
    Some(rule)
}

/// What must be there, and what must not be there together.
fn check_keys(rule: Span, keys: &[(String, Span)], report: &mut Report) {
    let key = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, span)| *span);
    if key("id").is_none() {
        report.push(
            Diagnostic::error("missing-key", rule, "this rule has no `id`")
                .with_help("give it a short name of its own: `id = \"...\"`"),
        );
    }
    match (key("formula"), key("template")) {
        (None, None) => report.push(
            Diagnostic::error("missing-key", rule, "this rule has neither a `formula` nor a `template`")
                .with_help("say what must hold, such as `formula = \"G(delete -> F confirm)\"`"),
        ),
        (Some(_), Some(span)) => report.push(
            Diagnostic::error("conflict", span, "this rule has both a `formula` and a `template`")
                .with_help("leave one of them out; two rules can say both"),
        ),
        _ => {}
    }
    match (key("per"), key("keyed")) {
        (Some(span), None) => report.push(
            Diagnostic::error("missing-key", span, "`per` without `keyed`")
                .with_help("list the propositions that belong to one value: `keyed = [\"...\"]`"),
        ),
        (None, Some(span)) => report.push(
            Diagnostic::error("missing-key", span, "`keyed` without `per`")
                .with_help("say which value the propositions belong to, such as `per = \"args.account\"`"),
        ),
        _ => {}
    }
}

fn definitions(entry: Entry, report: &mut Report) -> Vec<Definition> {
    let Value::Table(entries) = entry.node.value else {
        report.push(wrong_type(&format!("`{}`", entry.key), "a table", &entry.node));
        return Vec::new();
    };
    entries
        .into_iter()
        .filter_map(|entry| {
            let (name, name_span) = (entry.key.clone(), entry.key_span);
            text(entry, report).map(|meaning| Definition { name, name_span, meaning })
        })
        .collect()
}

fn sets(entry: Entry, report: &mut Report) -> Vec<(Span, Vec<Text>)> {
    let Value::Array(nodes) = entry.node.value else {
        report.push(wrong_type("`exclusive`", "a list of lists of names", &entry.node));
        return Vec::new();
    };
    if nodes.iter().any(|n| matches!(n.value, Value::Text(_))) {
        report.push(
            Diagnostic::error("wrong-type", entry.node.span, "`exclusive` is a list of sets of names")
                .with_help("one set is written `exclusive = [[\"a\", \"b\"]]`"),
        );
        return Vec::new();
    }
    nodes.into_iter().map(|node| (node.span, texts("exclusive", node, report))).collect()
}

fn texts(key: &str, node: Node, report: &mut Report) -> Vec<Text> {
    let Value::Array(nodes) = node.value else {
        report.push(wrong_type(&format!("`{key}`"), "a list of names", &node));
        return Vec::new();
    };
    let mut out = Vec::new();
    for node in nodes {
        match node.value {
            Value::Text(text) => out.push(text),
            _ => report.push(wrong_type(&format!("a name in `{key}`"), "a text", &node)),
        }
    }
    out
}

fn text(entry: Entry, report: &mut Report) -> Option<Text> {
    match entry.node.value {
        Value::Text(text) => Some(text),
        _ => {
            report.push(wrong_type(&format!("`{}`", entry.key), "a text", &entry.node));
            None
        }
    }
}

fn boolean(entry: &Entry, report: &mut Report) -> bool {
    match entry.node.value {
        Value::Bool(value) => value,
        _ => {
            report.push(wrong_type(&format!("`{}`", entry.key), "`true` or `false`", &entry.node));
            false
        }
    }
}

fn word<T: Copy>(entry: Entry, words: &[(&str, T)], report: &mut Report) -> Option<T> {
    let key = entry.key.clone();
    let text = text(entry, report)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text.value) {
        return Some(*value);
    }
    let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let help = match did_you_mean(&text.value, names.iter().copied()) {
        Some(near) => near,
        None => format!("it is one of `{}`", names.join("`, `")),
    };
    let message = format!("`{key}` cannot be `{}`", text.value);
    report.push(Diagnostic::error("unknown-value", text.span, message).with_help(help));
    None
}

fn unknown_key(entry: &Entry, known: &[&str], report: &mut Report) {
    let help = match did_you_mean(&entry.key, known.iter().copied()) {
        Some(near) => near,
        None => format!("the keys here are `{}`", known.join("`, `")),
    };
    let message = format!("unknown key `{}`", entry.key);
    report.push(Diagnostic::error("unknown-key", entry.key_span, message).with_help(help));
}

fn wrong_type(what: &str, wanted: &str, node: &Node) -> Diagnostic {
    // A table may be long: its start says enough.
    let message = format!("{what} must be {wanted}, not {}", node.value.kind());
    Diagnostic::error("wrong-type", node.span, message)
}
