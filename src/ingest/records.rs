//! The JSON values of a file, one after the other: one per line, or pretty-printed documents.
//!
//! A file whose first line is a whole value has one value per line and is streamed. Everything else is read
//! whole. That keeps a file of gigabytes flat in memory and still reads what an editor has re-indented.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::feed::{Feed, Problem, Step};
use super::json;
use super::source::Source;

/// Where in a text a part of it stands.
pub(super) struct Text<'t> {
    text: &'t str,
    first_line: u32,
    /// An offset and its line: where the last question was answered, because the next one is mostly further on.
    known: Cell<(usize, u32)>,
}

impl<'t> Text<'t> {
    fn new(text: &'t str, first_line: u32) -> Self {
        Text { text, first_line, known: Cell::new((0, first_line)) }
    }

    /// The text of parts whose lines would say nothing.
    pub(super) fn nowhere() -> Self {
        Text::new("", 1)
    }

    /// The line on which `part`, a part of this text, starts.
    pub(super) fn line_of(&self, part: &RawValue) -> Option<u32> {
        self.line_at(part.get())
    }

    fn line_at(&self, part: &str) -> Option<u32> {
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let (mut known, mut line) = self.known.get();
        if offset < known {
            (known, line) = (0, self.first_line);
        }
        let between = self.text.as_bytes().get(known..offset)?;
        let line = line.checked_add(u32::try_from(memchr::memchr_iter(b'\n', between).count()).ok()?)?;
        self.known.set((offset, line));
        Some(line)
    }
}

/// Calls `take` for each top-level value of the file. What is no JSON is reported, and reading goes on behind it
/// where there are lines to go on with. Keys that are there twice are reported.
pub(super) fn for_each(
    feed: &mut Feed<'_>,
    source: Source,
    mut take: impl FnMut(&mut Feed<'_>, &Text<'_>, &RawValue) -> Step,
) -> Step {
    for_each_value(feed, source, |feed, text, raw| {
        report_twice(feed, text, raw)?;
        take(feed, text, raw)
    })
}

/// The same, for a reader that looks for keys that are there twice itself.
pub(super) fn for_each_value(
    feed: &mut Feed<'_>,
    mut source: Source,
    mut take: impl FnMut(&mut Feed<'_>, &Text<'_>, &RawValue) -> Step,
) -> Step {
    if starts_with_value_line(source.peek()?) {
        return lines(feed, source, take);
    }
    let Some(text) = source.read_text(feed)? else { return Ok(()) };
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
    let whole = Text::new(&text, 1);
    let mut taken = 0;
    loop {
        match values.next() {
            None => return Ok(()),
            Some(Ok(value)) => {
                taken += 1;
                take(feed, &whole, value)?;
            }
            Some(Err(error)) => {
                // A file of lines whose first line is broken looks like a document that is broken.
                if taken == 0 && looks_like_lines(&text) {
                    let source = Source::new(std::io::Cursor::new(text.into_bytes()))?;
                    return lines(feed, source, take);
                }
                return feed.report(broken(feed, &error, 0));
            }
        }
    }
}

fn lines(
    feed: &mut Feed<'_>,
    mut source: Source,
    mut take: impl FnMut(&mut Feed<'_>, &Text<'_>, &RawValue) -> Step,
) -> Step {
    let mut line = Vec::new();
    while let Some(number) = source.next_line(&mut line, feed)? {
        let text = match std::str::from_utf8(&line) {
            Ok(text) => text,
            Err(error) => {
                feed.report(not_utf8(feed, number, &error))?;
                continue;
            }
        };
        match serde_json::from_str::<&RawValue>(text) {
            Ok(value) => take(feed, &Text::new(text, number), value)?,
            Err(error) => feed.report(broken(feed, &error, number - 1))?,
        }
    }
    Ok(())
}

/// The problem of a line that is no text.
pub(super) fn not_utf8(feed: &Feed<'_>, line: u32, error: &std::str::Utf8Error) -> Problem {
    let column = u32::try_from(error.valid_up_to() + 1).ok();
    let message = "line is not valid UTF-8".to_owned();
    Problem { place: feed.place(Some(line)), column, message, help: None }
}

/// The problem of a text that is no JSON; its line 1 is line `lines_before + 1` of the file.
pub(super) fn broken(feed: &Feed<'_>, error: &serde_json::Error, lines_before: u32) -> Problem {
    let line = u32::try_from(error.line()).ok().and_then(|line| line.checked_add(lines_before));
    let column = u32::try_from(error.column()).ok();
    let help = if error.to_string().starts_with("recursion limit") {
        "values may be nested 127 deep"
    } else if error.is_eof() {
        "the line or file was cut off while it was written"
    } else {
        "a cut-off line may be glued to the one after it"
    };
    Problem { place: feed.place(line), column, message: json::error_text(error), help: Some(help.to_owned()) }
}

/// The fields of an object, as they stand in the text; of a key that is there twice the last one counts. What is no
/// object has none.
pub(super) fn fields(object: &RawValue) -> BTreeMap<String, &RawValue> {
    let fields: BTreeMap<Key<'_>, &RawValue> = serde_json::from_str(object.get()).unwrap_or_default();
    fields.into_iter().map(|(key, value)| (key.0.into_owned(), value)).collect()
}

/// A key of an object. Read as bytes: half a surrogate pair, which JSON can write and text cannot hold, must not
/// make the whole object unreadable.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Key<'t>(Cow<'t, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_bytes<E: de::Error>(self, key: &'de [u8]) -> Result<Key<'de>, E> {
                Ok(Key(String::from_utf8_lossy(key)))
            }
            fn visit_bytes<E: de::Error>(self, key: &[u8]) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(String::from_utf8_lossy(key).into_owned())))
            }
        }
        deserializer.deserialize_bytes(KeyVisitor)
    }
}

/// Reports every key that an object within `raw` has more than once: JSON readers disagree about which one counts,
/// and what one of them hides another one acts on.
pub(super) fn report_twice(feed: &mut Feed<'_>, text: &Text<'_>, raw: &RawValue) -> Step {
    for key in twice(raw.get()) {
        let line = match &key {
            Cow::Borrowed(key) => text.line_at(key),
            Cow::Owned(_) => text.line_of(raw),
        };
        feed.problem_help(line, format!("key `{key}` is there twice in one object"), "the last one counts")?;
    }
    Ok(())
}

/// The keys that are there more than once in one object, anywhere in a JSON text, as parts of the text where they
/// are. Of a text that is no JSON, those before the fault.
pub(super) fn twice(text: &str) -> Vec<Cow<'_, str>> {
    let mut twice = Vec::new();
    // What cannot be read is reported by whoever reads it.
    let _ = Twice(&mut twice).deserialize(&mut serde_json::Deserializer::from_str(text));
    twice
}

struct Twice<'a, 'de>(&'a mut Vec<Cow<'de, str>>);

impl<'de> DeserializeSeed<'de> for Twice<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Twice<'_, 'de> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
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
        while list.next_element_seed(Twice(self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        // Most objects are small: looking through a few keys is quicker than hashing them.
        let mut few: Vec<Key<'de>> = Vec::new();
        let mut many: HashSet<Key<'de>> = HashSet::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if few.contains(&key) || many.contains(&key) {
                self.0.push(key.0);
            } else if few.len() < 16 {
                few.push(key);
            } else {
                many.insert(key);
            }
            map.next_value_seed(Twice(self.0))?;
        }
        Ok(())
    }
}

/// What a value is, for messages.
pub(super) fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// The elements of an array, as they stand in the text.
pub(super) fn elements(array: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(array.get()).unwrap_or_default()
}

/// The value that a text stands for; `None` (and a problem) if it is nested too deep.
pub(super) fn value(feed: &mut Feed<'_>, text: &Text<'_>, raw: &RawValue) -> Step<Option<Value>> {
    match serde_json::from_str(raw.get()) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let before = text.line_of(raw).map_or(0, |line| line - 1);
            feed.report(broken(feed, &error, before))?;
            Ok(None)
        }
    }
}

/// Is this the text of an array?
pub(super) fn is_array(raw: &RawValue) -> bool {
    raw.get().starts_with('[')
}

/// Is this the text of an object?
pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

fn starts_with_value_line(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let head = head.trim_ascii_start();
    let line = memchr::memchr(b'\n', head).map_or(head, |end| &head[..end]);
    match serde_json::from_slice::<&RawValue>(line.trim_ascii()) {
        Ok(_) => true,
        // A first line longer than what is peeked at: objects on one line are lines, and a document of one
        // line is read in the same way.
        Err(error) => error.is_eof() && line.len() == head.len() && line.len() >= 32 << 10,
    }
}

fn looks_like_lines(text: &str) -> bool {
    text.lines()
        .filter(|line| line.starts_with('{') && line.len() > 2)
        .any(|line| serde_json::from_str::<&RawValue>(line).is_ok())
}
