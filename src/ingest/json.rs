//! Reading JSON values defensively: every question about a value has an answer, whatever its type.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

/// A string, or nothing.
pub(super) fn str_at<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

/// The first of the keys under which there is a string.
pub(super) fn str_of<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| str_at(value, key))
}

/// A string or a number as text: identifiers come as either.
pub(super) fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The elements of an array, or nothing.
pub(super) fn array_at<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Is there anything but `null`?
pub(super) fn has(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(|value| !value.is_null())
}

/// What a value is, for messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A string that holds a JSON object or array, as that; everything else as it is.
pub(super) fn unwrap_json(value: Value) -> Value {
    if let Value::String(text) = &value
        && text.trim_start().starts_with(['{', '['])
        && let Ok(inner) = serde_json::from_str(text)
    {
        return inner;
    }
    value
}

/// The text of a message's `content`: a string, or its text parts, one per line. Parts that are no text
/// (images, tool calls) do not count.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(part_text).collect();
            texts.join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// The text of one part of a `content` array.
pub(super) fn part_text(part: &Value) -> Option<&str> {
    match part {
        Value::String(text) => Some(text),
        Value::Object(_) => match str_at(part, "type") {
            Some("text" | "input_text" | "output_text" | "refusal") | None => {
                str_of(part, &["text", "refusal"])
            }
            Some(_) => None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// A result's `content`: its text where it is nothing but text, else as it is.
pub(super) fn content_result(content: &Value) -> Value {
    match content {
        Value::Array(parts) if parts.iter().all(|part| part_text(part).is_some()) => {
            Value::String(content_text(content))
        }
        _ => content.clone(),
    }
}

/// A value's text, to look for phrases in: strings as they are, everything else as JSON.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// An empty object.
pub(super) fn object() -> Value {
    Value::Object(Map::new())
}

/// A JSON error in words of this project, without the position that serde_json appends.
pub(super) fn error_text(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    if error.is_eof() { format!("broken JSON: cut short, {text}") } else { format!("broken JSON: {text}") }
}

/// A number that tells values apart, whatever the order of their keys.
pub(super) fn hash(value: Option<&Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
