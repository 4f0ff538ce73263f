//! Fields of the type that a format gives them.
//!
//! A field that is missing or `null` is absent. One of another type than expected is reported: taken for absent it
//! would hide what it holds from every rule.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::feed::{Feed, Step};
use super::json;
use super::records::{self, Text};

/// Reports a field of the wrong type.
pub(super) fn wrong(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    key: &str,
    found: &Value,
    expected: &str,
) -> Step {
    feed.problem(line, format!("`{key}` is {}, expected {expected}", json::kind(found)))
}

/// What stands under a key, unless that is nothing.
pub(super) fn present<'v>(holder: &'v Value, key: &str) -> Option<&'v Value> {
    holder.get(key).filter(|value| !value.is_null())
}

fn typed<'v, T>(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &'v Value,
    key: &str,
    expected: &str,
    read: impl FnOnce(&'v Value) -> Option<T>,
) -> Step<Option<T>> {
    let Some(value) = present(holder, key) else { return Ok(None) };
    let read = read(value);
    if read.is_none() {
        wrong(feed, line, key, value, expected)?;
    }
    Ok(read)
}

/// A string.
pub(super) fn text<'v>(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &'v Value,
    key: &str,
) -> Step<Option<&'v str>> {
    typed(feed, line, holder, key, "a string", Value::as_str)
}

/// The first of the keys under which there is a string.
pub(super) fn text_of<'v>(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &'v Value,
    keys: &[&str],
) -> Step<Option<&'v str>> {
    first(keys, |key| text(feed, line, holder, key))
}

/// A string or a number, as text: identifiers come as either.
pub(super) fn name(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &Value,
    key: &str,
) -> Step<Option<String>> {
    typed(feed, line, holder, key, "a string or a number", json::name)
}

/// The first of the keys under which there is a string or a number.
pub(super) fn name_of(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &Value,
    keys: &[&str],
) -> Step<Option<String>> {
    first(keys, |key| name(feed, line, holder, key))
}

/// `true` or `false`.
pub(super) fn flag(feed: &mut Feed<'_>, line: Option<u32>, holder: &Value, key: &str) -> Step<Option<bool>> {
    typed(feed, line, holder, key, "true or false", Value::as_bool)
}

/// A whole number from 0.
pub(super) fn count(feed: &mut Feed<'_>, line: Option<u32>, holder: &Value, key: &str) -> Step<Option<u64>> {
    typed(feed, line, holder, key, "a number from 0", Value::as_u64)
}

/// An object; absent, `null`: every field of it is absent then.
pub(super) fn object<'v>(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &'v Value,
    key: &str,
) -> Step<&'v Value> {
    let object = typed(feed, line, holder, key, "an object", |value| Some(value).filter(|v| v.is_object()))?;
    Ok(object.unwrap_or(&Value::Null))
}

/// The elements of an array; absent, none.
pub(super) fn array<'v>(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &'v Value,
    key: &str,
) -> Step<&'v [Value]> {
    let array = typed(feed, line, holder, key, "an array", Value::as_array)?;
    Ok(array.map_or(&[], Vec::as_slice))
}

/// The elements of an array of objects; absent, none. What is no object in it is reported.
pub(super) fn objects<'v>(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    holder: &'v Value,
    key: &str,
) -> Step<Vec<&'v Value>> {
    let mut objects = Vec::new();
    for element in array(feed, line, holder, key)? {
        if element.is_object() {
            objects.push(element);
        } else {
            let found = json::kind(element);
            feed.problem(line, format!("an element of `{key}` is {found}, expected an object"))?;
        }
    }
    Ok(objects)
}

fn first<T>(keys: &[&str], mut read: impl FnMut(&str) -> Step<Option<T>>) -> Step<Option<T>> {
    for key in keys {
        if let Some(found) = read(key)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The fields of an object that has not been read further.
pub(super) type RawFields<'t> = BTreeMap<String, &'t RawValue>;

/// What stands under a key as it stands in the text, unless that is nothing.
pub(super) fn raw_present<'t>(fields: &RawFields<'t>, key: &str) -> Option<&'t RawValue> {
    fields.get(key).copied().filter(|raw| raw.get() != "null")
}

/// Reports a field of the wrong type.
pub(super) fn raw_wrong(
    feed: &mut Feed<'_>,
    text: &Text<'_>,
    key: &str,
    found: &RawValue,
    expected: &str,
) -> Step {
    let line = text.line_of(found);
    feed.problem(line, format!("`{key}` is {}, expected {expected}", records::kind(found)))
}

/// An object.
pub(super) fn raw_object<'t>(
    feed: &mut Feed<'_>,
    text: &Text<'_>,
    fields: &RawFields<'t>,
    key: &str,
) -> Step<Option<&'t RawValue>> {
    let Some(raw) = raw_present(fields, key) else { return Ok(None) };
    if records::is_object(raw) {
        return Ok(Some(raw));
    }
    raw_wrong(feed, text, key, raw, "an object")?;
    Ok(None)
}

/// The elements of an array, if it is there.
pub(super) fn raw_array<'t>(
    feed: &mut Feed<'_>,
    text: &Text<'_>,
    fields: &RawFields<'t>,
    key: &str,
) -> Step<Option<Vec<&'t RawValue>>> {
    let Some(raw) = raw_present(fields, key) else { return Ok(None) };
    if records::is_array(raw) {
        return Ok(Some(records::elements(raw)));
    }
    raw_wrong(feed, text, key, raw, "an array")?;
    Ok(None)
}

/// A string or a number, as text.
pub(super) fn raw_name(
    feed: &mut Feed<'_>,
    text: &Text<'_>,
    fields: &RawFields<'_>,
    key: &str,
) -> Step<Option<String>> {
    let Some(raw) = raw_present(fields, key) else { return Ok(None) };
    // An object of any size may stand there: do not read it for a name.
    if records::is_object(raw) || records::is_array(raw) {
        raw_wrong(feed, text, key, raw, "a string or a number")?;
        return Ok(None);
    }
    let Some(value) = records::value(feed, text, raw)? else { return Ok(None) };
    let name = json::name(&value);
    if name.is_none() {
        raw_wrong(feed, text, key, raw, "a string or a number")?;
    }
    Ok(name)
}
