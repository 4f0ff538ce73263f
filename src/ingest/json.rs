//! Reading JSON values defensively: every question about a value has an answer, whatever its type.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::feed::{Feed, Step};

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

/// [`name`] of the first of the keys that has one.
pub(super) fn name_of(value: &Value, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| value.get(key).and_then(name))
}

/// The elements of an array; none where it is absent or of another type, which [`list_at`] reports.
pub(super) fn array_at<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The elements of an array, none if it is absent or `null`. What is there and is no array is reported: what may
/// have been in it would vanish, and every rule about it would hold.
pub(super) fn list_at<'v>(
    feed: &mut Feed<'_>,
    value: &'v Value,
    key: &str,
    line: Option<u32>,
) -> Step<&'v [Value]> {
    if let Some(other) = value.get(key).filter(|list| !list.is_null() && !list.is_array()) {
        feed.problem(line, format!("`{key}` is {}, expected an array", kind(other)))?;
    }
    Ok(array_at(value, key))
}

/// Reports a message's `content` that is no text, no block and no list of these.
pub(super) fn check_content(feed: &mut Feed<'_>, content: &Value, line: Option<u32>) -> Step {
    match content {
        Value::Null | Value::String(_) | Value::Object(_) => Ok(()),
        Value::Bool(_) | Value::Number(_) => {
            feed.problem(line, format!("`content` is {}, expected text or an array of blocks", kind(content)))
        }
        Value::Array(blocks) => {
            blocks.iter().filter(|block| !block.is_object() && !block.is_string()).try_for_each(|block| {
                feed.problem(line, format!("a block of `content` is {}, expected an object", kind(block)))
            })
        }
    }
}

/// The first key that is twice in one object, at any depth.
pub(super) fn key_twice(text: &str) -> Option<String> {
    let mut found = None;
    // What is no JSON is told by whoever reads it.
    let _ = Keys(&mut found).deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

/// Looks at the keys of every object, and at nothing else.
struct Keys<'f>(&'f mut Option<String>);

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON")
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Keys(self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys: Vec<Cow<'_, str>> = Vec::new();
        let mut many: HashSet<Cow<'_, str>> = HashSet::new();
        while let Some(key) = map.next_key::<Key<'_>>()? {
            // Most objects have few keys, which are found faster one after the other.
            let new = if keys.len() < 16 {
                !keys.contains(&key.0)
            } else {
                !keys.contains(&key.0) && many.insert(key.0.clone())
            };
            if !new {
                self.0.get_or_insert_with(|| key.0.clone().into_owned());
            }
            if keys.len() < 16 {
                keys.push(key.0);
            }
            map.next_value_seed(Keys(self.0))?;
        }
        Ok(())
    }
}

/// A key, borrowed where it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

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
