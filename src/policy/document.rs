//! TOML or JSON as one tree that knows where everything stands.

use std::collections::HashSet;

use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use tracelaw_compiler::diag::{Diagnostic, Report, Span};

use super::text::Text;

/// Deepest JSON that is read; the model needs four levels.
const MAX_DEPTH: usize = 16;

/// A value and its place.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    /// In the order of the text.
    Table(Vec<Entry>),
    Array(Vec<Node>),
    Text(Text),
    Bool(bool),
    /// Something that no key of a policy wants, by its name.
    Other(&'static str),
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) node: Node,
}

impl Value {
    /// Its type, as messages call it.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Value::Table(_) => "a table",
            Value::Array(_) => "a list",
            Value::Text(_) => "a text",
            Value::Bool(_) => "true or false",
            Value::Other(kind) => kind,
        }
    }
}

/// Reads TOML. What is wrong goes into `report`; what could be read all the same is in the tree, so that its mistakes
/// are told together.
pub(super) fn toml(text: &str, report: &mut Report) -> Node {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut unquoted = Vec::new();
    for error in errors {
        let span = error.span().map_or(Span::new(0, text.len()), |s| Span::new(s.start, s.end));
        let code = if error.message().contains("duplicate key") { "duplicate" } else { "syntax" };
        if let Some((key, value)) = unquoted_value(text, span.start).filter(|_| code == "syntax") {
            // The TOML reader stumbles more than once over such a line.
            if !unquoted.contains(&value) {
                let expression = text.get(value.start..value.end).unwrap_or("");
                let message = format!("expected a text in quotes, found `{expression}`");
                let help = format!("write `{key} = {}`", quoted(expression));
                report.push(Diagnostic::error("syntax", value, message).with_help(help));
                unquoted.push(value);
            }
            continue;
        }
        let message = error.message().lines().next().unwrap_or("this is not TOML").to_owned();
        report.push(Diagnostic::error(code, span, message));
    }
    let span = table.span();
    let mut root = toml_table(text, Span::new(span.start, span.end), table.into_inner());
    quote(text, &mut root, &unquoted);
    root
}

/// Key and value of the line at that place, if the value is an expression or a formula without quotes.
fn unquoted_value(text: &str, at: usize) -> Option<(&str, Span)> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let line = text.get(start..)?.lines().next()?;
    let (key, rest) = line.split_once('=')?;
    // A comment begins outside of the quotes that the expression itself may have.
    let mut within = None;
    let comment = rest.find(|c| match within {
        None if c == '#' => true,
        None if matches!(c, '\'' | '"') => {
            within = Some(c);
            false
        }
        Some(quote) if c == quote => {
            within = None;
            false
        }
        _ => false,
    });
    let value = rest.get(..comment.unwrap_or(rest.len()))?.trim();
    let expression = ["==", "!=", "&", "|", "(", ">", "<", " U ", "->"].iter().any(|op| value.contains(op))
        || value.starts_with(char::is_alphabetic);
    let constant = ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word));
    let plain = !key.trim().is_empty() && !value.starts_with(['"', '\'', '[', '{']);
    (plain && expression && !constant).then(|| (key.trim(), place(text, value)))
}

/// An expression as a TOML text.
fn quoted(expression: &str) -> String {
    match (expression.contains('\''), expression.contains(['"', '\\'])) {
        (false, _) => format!("'{expression}'"),
        (true, false) => format!("\"{expression}\""),
        (true, true) => format!("'''{expression}'''"),
    }
}

/// Takes the values at these places for the texts that were meant, so that their mistakes are told too, and no others.
fn quote(text: &str, node: &mut Node, places: &[Span]) {
    if let Some(place) = places.iter().find(|place| place.start == node.span.start) {
        let value = text.get(place.start..place.end).unwrap_or("");
        *node = Node { span: *place, value: Value::Text(Text::new(text, *place, value.to_owned())) };
        return;
    }
    match &mut node.value {
        Value::Table(entries) => entries.iter_mut().for_each(|entry| quote(text, &mut entry.node, places)),
        Value::Array(nodes) => nodes.iter_mut().for_each(|node| quote(text, node, places)),
        Value::Text(_) | Value::Bool(_) | Value::Other(_) => {}
    }
}

fn toml_table(text: &str, span: Span, table: DeTable<'_>) -> Node {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: Span::new(key.span().start, key.span().end),
            key: key.into_inner().into_owned(),
            node: toml_value(text, value),
        })
        .collect();
    // The map sorts by name.
    entries.sort_by_key(|e| e.key_span);
    Node { span, value: Value::Table(entries) }
}

/// Recursion is safe: the TOML reader refuses nesting deeper than 80.
fn toml_value(text: &str, value: Spanned<DeValue<'_>>) -> Node {
    let span = Span::new(value.span().start, value.span().end);
    let value = match value.into_inner() {
        DeValue::Table(table) => return toml_table(text, span, table),
        DeValue::String(value) => Value::Text(Text::new(text, span, value.into_owned())),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Array(values) => Value::Array(values.into_iter().map(|v| toml_value(text, v)).collect()),
        DeValue::Integer(_) | DeValue::Float(_) => Value::Other("a number"),
        DeValue::Datetime(_) => Value::Other("a date"),
    };
    Node { span, value }
}

/// Reads JSON, as [`toml`].
pub(super) fn json(text: &str, report: &mut Report) -> Node {
    let whole = Span::new(0, text.len());
    let empty = Node { span: whole, value: Value::Table(Vec::new()) };
    match serde_json::from_str::<&RawValue>(text.trim_start_matches('\u{feff}')) {
        Ok(raw) => json_value(text, raw.get(), 0, report),
        Err(error) => {
            let at = offset_of(text, error.line(), error.column());
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(m, _)| m);
            report.push(Diagnostic::error(
                "syntax",
                Span::new(at, at),
                format!("this is not JSON: {message}"),
            ));
            empty
        }
    }
}

/// `raw` is a part of `text` and valid JSON.
fn json_value(text: &str, raw: &str, depth: usize, report: &mut Report) -> Node {
    let span = place(text, raw);
    if depth > MAX_DEPTH {
        report.push(Diagnostic::error("limit", span, format!("nested more than {MAX_DEPTH} deep")));
        return Node { span, value: Value::Other("something nested too deep") };
    }
    let value = match raw.bytes().next() {
        Some(b'{') => {
            let mut entries = Vec::new();
            let mut seen = HashSet::new();
            let mut at = span.start + 1;
            for (key, value) in members(raw) {
                // After an opening brace or a comma the next quotation mark starts the key.
                let from = text.get(at..).and_then(|rest| rest.find('"')).map_or(at, |i| at + i);
                let value_span = place(text, value.get());
                let head = text.get(from..value_span.start).unwrap_or("").trim_end();
                let key_span = Span::new(from, from + head.trim_end_matches(':').trim_end().len());
                at = value_span.end;
                if seen.insert(key.clone()) {
                    entries.push(Entry {
                        key,
                        key_span,
                        node: json_value(text, value.get(), depth + 1, report),
                    });
                } else {
                    report.push(Diagnostic::error(
                        "duplicate",
                        key_span,
                        format!("the key `{key}` is there twice"),
                    ));
                }
            }
            Value::Table(entries)
        }
        Some(b'[') => {
            let values: Vec<&RawValue> = serde_json::from_str(raw).unwrap_or_default();
            Value::Array(values.into_iter().map(|v| json_value(text, v.get(), depth + 1, report)).collect())
        }
        Some(b'"') => match serde_json::from_str(raw) {
            Ok(value) => Value::Text(Text::new(text, span, value)),
            Err(error) => {
                report.push(Diagnostic::error("syntax", span, format!("this text is not valid: {error}")));
                Value::Other("a text that is not valid")
            }
        },
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') => Value::Other("null"),
        _ => Value::Other("a number"),
    };
    Node { span, value }
}

/// Where `part`, a slice of `text`, stands.
fn place(text: &str, part: &str) -> Span {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
    Span::new(start, (start + part.len()).min(text.len()))
}

/// The members of a JSON object in its order, with all that share a key.
fn members(raw: &str) -> Vec<(String, &RawValue)> {
    struct Members;
    impl<'de> serde::de::Visitor<'de> for Members {
        type Value = Vec<(String, &'de RawValue)>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut out = Vec::new();
            while let Some(entry) = map.next_entry::<String, &'de RawValue>()? {
                out.push(entry);
            }
            Ok(out)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(raw);
    serde::Deserializer::deserialize_map(&mut reader, Members).unwrap_or_default()
}

/// Byte offset of a line and column as the JSON reader counts them: from 1, columns in bytes.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
