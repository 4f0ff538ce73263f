//! Plain events: one JSON object per line, in this project's own form.
//!
//! The usual line costs one typed pass without a document tree. Only a line that does not fit is read again as a
//! tree, to name every field that is wrong.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::num::NonZeroU32;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::event::{Batch, Event, Kind, Status};
use super::feed::{Feed, Problem, Step};
use super::json;
use super::records;
use super::source::Source;

/// The fields that are read; all others are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Line {
    session: Option<Name>,
    kind: Option<String>,
    tool: Option<String>,
    args: Option<Map<String, Value>>,
    result: Option<Value>,
    status: Option<String>,
    error: Failure,
    phase: Option<String>,
    text: Option<String>,
    ts: Option<Name>,
    props: Option<Vec<String>>,
    batch: Option<Name>,
    batch_size: Option<NonZeroU32>,
    call_id: Option<Name>,
    // Names that process logs use, read where the ones above are missing.
    case: Option<Name>,
    activity: Option<String>,
    timestamp: Option<Name>,
    attrs: Option<Map<String, Value>>,
    // What a chat message has: it is no event of this form, and may hold calls.
    role: Option<de::IgnoredAny>,
    messages: Option<de::IgnoredAny>,
    tool_calls: Option<de::IgnoredAny>,
}

/// Fields that make a line an event.
const FIELDS: &[&str] = &[
    "session",
    "kind",
    "tool",
    "args",
    "result",
    "status",
    "error",
    "phase",
    "text",
    "ts",
    "props",
    "case",
    "activity",
    "timestamp",
    "attrs",
];

/// A string, or a number as the text it stands for.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;
        impl Visitor<'_> for NameVisitor {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Name, E> {
                Ok(Name(text.to_owned()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Name, E> {
                Ok(Name(text))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Name, E> {
                Ok(Name(Value::from(number).to_string()))
            }
        }
        deserializer.deserialize_any(NameVisitor)
    }
}

/// `error`: a flag, or what went wrong.
#[derive(Default)]
enum Failure {
    /// The line does not say.
    #[default]
    Absent,
    /// The line says that nobody knows (`null`).
    Unknown,
    Flag(bool),
    Said(Value),
}

impl<'de> Deserialize<'de> for Failure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(flag) => Ok(Failure::Flag(flag)),
            said @ (Value::String(_) | Value::Object(_)) => Ok(Failure::Said(said)),
            Value::Null => Ok(Failure::Unknown),
            Value::Number(_) | Value::Array(_) => Err(de::Error::custom("not a boolean")),
        }
    }
}

pub(super) fn read(feed: &mut Feed<'_>, mut source: Source) -> Step {
    let mut sessions = Sessions::default();
    let done = if is_document(source.peek()?) {
        records::for_each_value(feed, source, |feed, text, raw| {
            let elements = if records::is_array(raw) { records::elements(raw) } else { vec![raw] };
            elements
                .into_iter()
                .try_for_each(|raw| line(feed, &mut sessions, raw.get(), text.line_of(raw).unwrap_or(1)))
        })
    } else {
        lines(feed, &mut source, &mut sessions)
    };
    sessions.finish(feed);
    done
}

/// Does a document start like this, which an editor or a program has indented or put into an array? Lines are read
/// as a document where it looks like one and is none, but then the file is held in memory.
fn is_document(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let end = memchr::memchr(b'\n', head);
    let first = head[..end.unwrap_or(head.len())].trim_ascii_end();
    // A line longer than what is looked at is one of many, or a document of one line, which is read as a line.
    end.is_some()
        && (first.starts_with(b"[") || matches!(first.last(), Some(b'{' | b'[' | b',')))
        && serde_json::from_slice::<&RawValue>(first).is_err()
}

fn lines(feed: &mut Feed<'_>, source: &mut Source, sessions: &mut Sessions) -> Step {
    let mut bytes = Vec::new();
    while let Some(number) = source.next_line(&mut bytes, feed)? {
        match std::str::from_utf8(&bytes) {
            Ok(text) => match array_of_objects(text) {
                Some(events) => {
                    events.into_iter().try_for_each(|raw| line(feed, sessions, raw.get(), number))?;
                }
                None => line(feed, sessions, text, number)?,
            },
            Err(error) => feed.report(records::not_utf8(feed, number, &error))?,
        }
    }
    Ok(())
}

/// The elements of a line that is an array of objects.
fn array_of_objects(text: &str) -> Option<Vec<&RawValue>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    elements.iter().any(|raw| records::is_object(raw)).then_some(elements)
}

/// The text of one event, which starts on line `number`.
fn line(feed: &mut Feed<'_>, sessions: &mut Sessions, text: &str, number: u32) -> Step {
    let line = match serde_json::from_str::<Line>(text) {
        // serde would take an array for the fields in their order.
        Ok(_) if !text.trim_start().starts_with('{') => {
            return feed.problem(Some(number), not_an_object(text));
        }
        Ok(line) => line,
        Err(error) if !error.is_data() => {
            return feed.report(records::broken(feed, text, &error, number - 1));
        }
        Err(_) => match careful(text) {
            Ok(line) => line,
            Err(message) => return feed.problem(Some(number), message),
        },
    };
    match event(feed, sessions, line, number, text) {
        Ok(()) => Ok(()),
        Err(problem) => feed.report(problem),
    }
}

/// Reads a line that does not fit [`Line`]: either only in fields that do not matter, or all its mistakes come back.
fn careful(text: &str) -> Result<Line, String> {
    let map = match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map,
        Ok(_) => return Err(not_an_object(text)),
        Err(error) => return Err(json::error_text(&error, text.as_bytes())),
    };
    // What came first in the line hides what comes later, so all names are looked at.
    if let Some(field) = serde_json::from_str(text).ok().and_then(|Names(names)| twice(names)) {
        return Err(format!("`{field}` is there twice: which one counts?"));
    }
    let mut mistakes = Vec::new();
    let present = |key: &str| map.get(key).is_some_and(|value| !value.is_null());
    let line = Line {
        session: field(&map, "session", "a string or a number", &mut mistakes),
        kind: field(&map, "kind", "a string", &mut mistakes),
        tool: field(&map, "tool", "a string", &mut mistakes),
        args: field(&map, "args", "an object", &mut mistakes),
        result: map.get("result").cloned(),
        status: field(&map, "status", "a string", &mut mistakes),
        error: match map.get("error") {
            Some(Value::Null) => Failure::Unknown,
            _ => field(&map, "error", "true, false, null or what went wrong", &mut mistakes)
                .unwrap_or_default(),
        },
        phase: field(&map, "phase", "a string", &mut mistakes),
        text: field(&map, "text", "a string", &mut mistakes),
        ts: field(&map, "ts", "a string or a number", &mut mistakes),
        props: field(&map, "props", "an array of strings", &mut mistakes),
        batch: field(&map, "batch", "a string or a number", &mut mistakes),
        batch_size: field(&map, "batch_size", "a whole number from 1", &mut mistakes),
        call_id: field(&map, "call_id", "a string or a number", &mut mistakes),
        case: unless(present("session"), || field(&map, "case", "a string or a number", &mut mistakes)),
        activity: unless(present("tool"), || field(&map, "activity", "a string", &mut mistakes)),
        timestamp: unless(present("ts"), || field(&map, "timestamp", "a string or a number", &mut mistakes)),
        attrs: unless(present("args"), || field(&map, "attrs", "an object", &mut mistakes)),
        role: present("role").then_some(de::IgnoredAny),
        messages: present("messages").then_some(de::IgnoredAny),
        tool_calls: present("tool_calls").then_some(de::IgnoredAny),
    };
    if mistakes.is_empty() { Ok(line) } else { Err(mistakes.join("; ")) }
}

/// The field names of an object, as often as they are there.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Names, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Names;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, _)) = map.next_entry::<String, de::IgnoredAny>()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Visit)
    }
}

/// The first name that is there twice.
fn twice(mut names: Vec<String>) -> Option<String> {
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
}

fn not_an_object(text: &str) -> String {
    let what = serde_json::from_str(text).map_or("no object", |value| json::kind(&value));
    format!("line is {what}, expected an object")
}

fn unless<T>(decided: bool, field: impl FnOnce() -> Option<T>) -> Option<T> {
    if decided { None } else { field() }
}

fn field<T: DeserializeOwned>(
    map: &Map<String, Value>,
    key: &str,
    expected: &str,
    mistakes: &mut Vec<String>,
) -> Option<T> {
    let value = map.get(key).filter(|value| !value.is_null())?;
    match T::deserialize(value) {
        Ok(value) => Some(value),
        Err(_) => {
            mistakes.push(format!("`{key}` is {}, expected {expected}", json::kind(value)));
            None
        }
    }
}

/// One line to one event, and the event to its session.
fn event(
    feed: &mut Feed<'_>,
    sessions: &mut Sessions,
    line: Line,
    number: u32,
    text: &str,
) -> Result<(), Problem> {
    let place = feed.place(Some(number));
    let problem =
        |message: String, help: &str| Problem { place, column: None, message, help: Some(help.to_owned()) };
    // An object without any field of an event is a record of another kind: better said than guessed.
    let nothing = line.session.is_none()
        && line.tool.is_none()
        && line.kind.is_none()
        && line.props.is_none()
        && line.text.is_none()
        && line.case.is_none()
        && line.activity.is_none();
    if nothing && !has_any_field(text) {
        let message = "no field of an event in this line".to_owned();
        return Err(problem(
            message,
            "an event has some of `session`, `tool`, `args`, `result`, `kind`, `props`",
        ));
    }
    let chat = line.role.is_some() || line.messages.is_some() || line.tool_calls.is_some();
    if chat && line.tool.is_none() && line.activity.is_none() && line.kind.is_none() && line.props.is_none() {
        return Err(problem(
            "chat message among plain events".to_owned(),
            "read messages from a file of their own, by `--format openai` or `--format anthropic`",
        ));
    }
    let kind = match line.kind.as_deref() {
        None | Some("call") => Kind::Call,
        Some("user") => Kind::User,
        Some("assistant") => Kind::Assistant,
        Some("span") => Kind::Span,
        Some(kind) => {
            return Err(problem(
                format!("unknown kind `{kind}`"),
                "kinds are call, user, assistant and span",
            ));
        }
    };
    let phase = match line.phase.as_deref() {
        None => None,
        Some("request") => Some(Status::Unknown),
        Some("result") => Some(Status::Ok),
        Some("error") => Some(Status::Error),
        Some("denied") => Some(Status::Denied),
        Some(phase) => {
            return Err(problem(
                format!("unknown phase `{phase}`"),
                "phases are request, result, error and denied",
            ));
        }
    };
    let mut result = line.result.unwrap_or_default();
    let said = match line.error {
        Failure::Absent => None,
        Failure::Unknown => Some(Status::Unknown),
        Failure::Flag(true) => Some(Status::Error),
        Failure::Flag(false) => Some(Status::Ok),
        Failure::Said(what) => {
            if result.is_null() {
                result = what;
            }
            Some(Status::Error)
        }
    };
    let status = match line.status.as_deref() {
        Some("ok") => Status::Ok,
        Some("error") => Status::Error,
        Some("denied") => Status::Denied,
        Some("unknown") => Status::Unknown,
        Some(status) => {
            return Err(problem(
                format!("unknown status `{status}`"),
                "a status is ok, error, denied or unknown",
            ));
        }
        None => match said.or(phase) {
            Some(status) => status,
            None if result.is_null() => Status::Unknown,
            None => Status::Ok,
        },
    };
    let session = line.session.or(line.case).map_or_else(|| feed.session().to_owned(), |name| name.0);
    let event = Event {
        session,
        kind,
        tool: line.tool.or(line.activity).unwrap_or_default(),
        args: line.args.or(line.attrs).map_or(Value::Null, Value::Object),
        result,
        status,
        text: line.text.unwrap_or_default(),
        batch: None,
        ts: line.ts.or(line.timestamp).map(|ts| ts.0),
        props: line.props.unwrap_or_default(),
        place,
    };
    let extra = Extra {
        // A message may name the call that it is about.
        call: line.call_id.map(|id| id.0).filter(|_| kind == Kind::Call || line.phase.is_some()),
        phase: line.phase,
        batch: line.batch.map(|label| label.0),
        batch_size: line.batch_size.map(NonZeroU32::get),
    };
    match sessions.add(feed, event, extra) {
        Some(message) => {
            Err(problem(message, "give every call an id of its own, one `request` and one outcome"))
        }
        None => Ok(()),
    }
}

fn has_any_field(text: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(text)
        .is_ok_and(|map| FIELDS.iter().any(|field| map.contains_key(*field)))
}

/// What a line says beside its event.
struct Extra {
    /// Id of a call that may have more than one line.
    call: Option<String>,
    phase: Option<String>,
    batch: Option<String>,
    batch_size: Option<u32>,
}

/// Sessions that cannot be streamed line by line: those whose lines say `call_id`, `phase` or `batch`.
#[derive(Default)]
struct Sessions {
    states: Vec<State>,
    by_name: HashMap<String, usize>,
}

/// What one session waits for.
#[derive(Default)]
struct State {
    /// Events from the first one that is not finished.
    queue: VecDeque<Held>,
    /// Label, number, calls so far, and size (where the log says it) of the latest batch.
    batch: Option<(String, u32, u32, Option<u32>)>,
    batches: u32,
    /// Calls that were requested and have their outcome.
    answered: HashSet<String>,
    /// Calls of which only the outcome was there so far.
    outcome_only: HashSet<String>,
    /// Calls on lines that say neither a phase nor an outcome.
    no_outcome: HashSet<String>,
    /// Have there been requests?
    requests: bool,
}

struct Held {
    event: Event,
    /// Id of a call that has been requested and has no outcome yet.
    open: Option<String>,
    /// Its batch may still grow.
    growing: bool,
}

impl Sessions {
    fn add(&mut self, feed: &mut Feed<'_>, event: Event, extra: Extra) -> Option<String> {
        let known = self.by_name.get(&event.session).copied();
        let plain = extra.call.is_none()
            && extra.phase.is_none()
            && extra.batch.is_none()
            && extra.batch_size.is_none();
        let index = match known {
            // Most logs have neither phases nor batches: straight through.
            None if plain => {
                feed.event(event);
                return None;
            }
            Some(index) => index,
            None => {
                self.states.push(State::default());
                self.by_name.insert(event.session.clone(), self.states.len() - 1);
                self.states.len() - 1
            }
        };
        let problem = self.states[index].add(event, extra);
        self.states[index].release(feed);
        problem
    }

    fn finish(self, feed: &mut Feed<'_>) {
        for mut state in self.states {
            state.close_batch();
            for held in state.queue {
                feed.event(held.event);
            }
        }
    }
}

impl State {
    /// Takes an event; what cannot be placed comes back as a problem.
    fn add(&mut self, mut event: Event, extra: Extra) -> Option<String> {
        let mut open = None;
        let mut problem = None;
        let is_request = extra.phase.as_deref() == Some("request");
        if extra.call.is_none() && extra.phase.is_some() {
            // Nothing tells which request an outcome without an id belongs to.
            if !is_request && self.requests {
                problem =
                    Some("outcome without a `call_id` where there are requests: kept as a call".to_owned());
            }
            self.requests |= is_request;
        }
        if let Some(id) = extra.call {
            let requests = self.queue.iter().filter(|held| held.open.as_ref() == Some(&id)).count();
            match (extra.phase.is_some(), requests) {
                (false, 0) => {
                    if event.tool.is_empty() {
                        problem = Some(format!(
                            "line of call `{id}` without a `tool` and without a `phase`: kept as a call"
                        ));
                    } else if self.no_outcome.contains(&id) {
                        problem = Some(format!(
                            "another line of call `{id}`, and neither has a `phase`: both are kept as calls"
                        ));
                    } else if event.status == Status::Unknown {
                        self.no_outcome.insert(id);
                    }
                }
                (false, _) => {
                    problem = Some(format!(
                        "line of call `{id}`, of which a request is open, without a `phase`: kept as a call"
                    ));
                }
                (true, _) if is_request => {
                    self.requests = true;
                    if self.outcome_only.remove(&id) {
                        problem =
                            Some(format!("request of call `{id}` after its outcome: both are kept as calls"));
                    }
                    open = Some(id);
                }
                (true, 0) if self.answered.contains(&id) => {
                    return Some(format!("another outcome of call `{id}`, which has one already"));
                }
                (true, 0) => {
                    // Logs that note outcomes only have no requests.
                    if self.requests || self.no_outcome.contains(&id) {
                        problem = Some(format!("outcome of call `{id}` without a request: kept as a call"));
                    } else {
                        self.outcome_only.insert(id);
                    }
                }
                (true, 1) => {
                    self.outcome(&id, event);
                    self.answered.insert(id);
                    return None;
                }
                (true, _) => {
                    return Some(format!(
                        "outcome of call `{id}`, of which {requests} are open: whose is it?"
                    ));
                }
            }
        }
        let growing = match (extra.batch, extra.batch_size) {
            (None, None) => {
                // Calls of one batch follow each other.
                self.close_batch();
                false
            }
            (label, size) => self.number(&mut event, label.unwrap_or_default(), size),
        };
        self.queue.push_back(Held { event, open, growing });
        problem
    }

    /// Gives the open call `id` its outcome, and what only the outcome's line says.
    fn outcome(&mut self, id: &str, outcome: Event) {
        let Some(held) = self.queue.iter_mut().find(|held| held.open.as_deref() == Some(id)) else { return };
        held.open = None;
        let call = &mut held.event;
        call.status = outcome.status;
        call.result = outcome.result;
        if call.args.is_null() {
            call.args = outcome.args;
        }
        if call.text.is_empty() {
            call.text = outcome.text;
        }
        for prop in outcome.props {
            if !call.props.contains(&prop) {
                call.props.push(prop);
            }
        }
    }

    /// Numbers a call within its batch; true if the size of the batch is not known yet.
    fn number(&mut self, event: &mut Event, label: String, size: Option<u32>) -> bool {
        let goes_on = self
            .batch
            .as_ref()
            .is_some_and(|(known, _, used, full)| *known == label && full.is_none_or(|full| *used < full));
        if !goes_on {
            self.close_batch();
            self.batch = Some((label, self.batches, 0, size));
            self.batches += 1;
        }
        let Some((_, id, used, full)) = &mut self.batch else { return false };
        event.batch = Some(Batch { id: *id, size: full.unwrap_or(1), index: *used });
        *used += 1;
        full.is_none()
    }

    /// The latest batch is complete: its calls learn its size.
    fn close_batch(&mut self) {
        let Some((_, id, used, None)) = self.batch.take() else { return };
        for held in &mut self.queue {
            if let Some(batch) = held.event.batch.as_mut().filter(|batch| batch.id == id) {
                batch.size = used;
                held.growing = false;
            }
        }
    }

    fn release(&mut self, feed: &mut Feed<'_>) {
        while self.queue.front().is_some_and(|held| held.open.is_none() && !held.growing) {
            if let Some(held) = self.queue.pop_front() {
                feed.event(held.event);
            }
        }
    }
}
