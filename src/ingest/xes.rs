//! XES process logs, read as a stream: one trace is in memory at a time.

use std::cell::Cell;
use std::collections::HashSet;
use std::io::BufRead;
use std::rc::Rc;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event as Xml};
use quick_xml::reader::Reader;
use serde_json::{Map, Value};

use super::event::{Event, Status};
use super::feed::{Feed, Step};
use super::source::{Guard, Source};

/// How deep attributes may be nested.
const MAX_DEPTH: usize = 100;

/// An attribute that is being read: its children come before its end.
struct Attribute {
    key: String,
    value: Option<Value>,
    /// A `list`: its children are values without names.
    list: bool,
    children: Vec<(String, Value)>,
}

impl Attribute {
    /// A name that two children share, or one has with the value beside them.
    fn twice(&self) -> Option<String> {
        let mut known = HashSet::new();
        if self.value.is_some() {
            known.insert("value");
        }
        let names = self.children.iter().map(|(name, _)| name.as_str());
        names.into_iter().find(|name| !self.list && !known.insert(*name)).map(str::to_owned)
    }

    /// A container is an object, a list an array. A plain value with children is an object with its own value
    /// under `value`.
    fn finish(self) -> (String, Value) {
        let value = match self.value {
            Some(value) if self.children.is_empty() => value,
            None if self.list => self.children.into_iter().map(|(_, value)| value).collect(),
            own => {
                let mut map = Map::new();
                if let Some(own) = own {
                    map.insert("value".to_owned(), own);
                }
                map.extend(self.children);
                Value::Object(map)
            }
        };
        (self.key, value)
    }
}

/// Where the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Log,
    Trace,
    Event,
}

struct State {
    scope: Scope,
    attributes: Vec<Attribute>,
    /// Elements within a part of the log that holds no events (`global`, `extension`, `classifier`).
    outside: usize,
    depth: usize,
    /// Was there a `log`?
    log: bool,
    traces: u64,
    trace: Map<String, Value>,
    event: Map<String, Value>,
    event_line: Option<u32>,
    /// The events of the trace, whose name may come after them.
    events: Vec<Event>,
}

pub(super) fn read(feed: &mut Feed<'_>, source: Source) -> Step {
    let bytes = source.counter();
    let guard = Guard::new(source.into_reader(), feed.options.max_bytes);
    let lines = guard.line_count();
    let since = guard.since();
    let mut state = State {
        scope: Scope::Log,
        attributes: Vec::new(),
        outside: 0,
        depth: 0,
        log: false,
        traces: 0,
        trace: Map::new(),
        event: Map::new(),
        event_line: None,
        events: Vec::new(),
    };
    let done = elements(feed, guard, &mut state, &bytes, &lines, &since);
    // The trace in which a broken file ends has its events so far.
    let ended = state.end_trace(feed);
    done.and(ended)
}

fn elements(
    feed: &mut Feed<'_>,
    reader: impl BufRead,
    state: &mut State,
    bytes: &Rc<Cell<u64>>,
    lines: &Rc<Cell<u32>>,
    since: &Rc<Cell<usize>>,
) -> Step {
    let mut xml = Reader::from_reader(reader);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        since.set(0);
        let line = || Some(lines.get() + 1);
        let element = xml.read_event_into(&mut buffer);
        feed.progress(bytes.get());
        match element {
            Ok(Xml::Start(tag)) => {
                state.depth += 1;
                state.start(feed, &tag, line())?;
            }
            Ok(Xml::Empty(tag)) => {
                state.depth += 1;
                state.start(feed, &tag, line())?;
                state.end(feed, tag.local_name().as_ref(), line())?;
                state.depth -= 1;
            }
            Ok(Xml::End(tag)) => {
                state.end(feed, tag.local_name().as_ref(), line())?;
                state.depth = state.depth.saturating_sub(1);
            }
            Ok(Xml::Eof) if state.depth > 0 => {
                return feed.problem_help(line(), "broken XML: cut short", "the events before that are read");
            }
            Ok(Xml::Eof) if !state.log => {
                return feed.problem(line(), "no `log` element, expected an XES log");
            }
            Ok(Xml::Eof) => return Ok(()),
            // All that a log says stands in the attributes of its elements.
            Ok(Xml::Text(text)) if state.outside == 0 && !text.trim().is_empty() => {
                feed.problem(line(), "text between elements, expected elements only")?;
            }
            Ok(Xml::CData(_)) => feed.problem(line(), "text between elements, expected elements only")?,
            Ok(_) => {}
            Err(error) => {
                return feed.problem_help(
                    line(),
                    format!("broken XML: {error}"),
                    "the events before that are read",
                );
            }
        }
    }
}

impl State {
    fn start(&mut self, feed: &mut Feed<'_>, tag: &BytesStart<'_>, line: Option<u32>) -> Step {
        if self.outside > 0 {
            self.outside += 1;
            return Ok(());
        }
        let name = tag.local_name();
        let name: &str = name.as_ref();
        match name {
            "log" => self.log = true,
            "trace" if self.scope == Scope::Log => {
                self.scope = Scope::Trace;
                self.traces += 1;
            }
            "event" if self.scope == Scope::Trace => {
                self.scope = Scope::Event;
                self.event_line = line;
            }
            "trace" | "event" => {
                self.outside = 1;
                let found = match self.scope {
                    Scope::Log => "outside a trace",
                    Scope::Trace => "within a trace",
                    Scope::Event => "within an event",
                };
                feed.problem_help(line, format!("`{name}` element {found}"), "it is left out")?;
            }
            "global" | "extension" | "classifier" => self.outside = 1,
            // The children of a list stand in an element that says only that.
            "values" => {}
            "string" | "date" | "int" | "float" | "boolean" | "id" | "list" | "container" => {
                self.attribute(feed, name, tag, line)?;
            }
            _ => {
                self.outside = 1;
                feed.problem(line, format!("unknown element `{name}`, expected an event or an attribute"))?;
            }
        }
        Ok(())
    }

    fn attribute(
        &mut self,
        feed: &mut Feed<'_>,
        kind: &str,
        tag: &BytesStart<'_>,
        line: Option<u32>,
    ) -> Step {
        let (mut key, mut value) = (String::new(), None);
        for attribute in tag.attributes() {
            let text = attribute.map_err(|error| error.to_string()).and_then(|attribute| {
                let text =
                    attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
                Ok((attribute.key, text.into_owned()))
            });
            match text {
                Ok((name, text)) if name.as_ref() == "key" => key = text,
                Ok((name, text)) if name.as_ref() == "value" => value = Some(text),
                Ok(_) => {}
                Err(error) => feed.problem(line, format!("broken XML attribute: {error}"))?,
            }
        }
        if self.attributes.len() >= MAX_DEPTH {
            feed.problem(line, format!("attributes nested more than {MAX_DEPTH} deep are left out"))?;
            self.outside = 1;
            return Ok(());
        }
        if key.is_empty() && self.attributes.last().is_none_or(|around| !around.list) {
            feed.problem(line, format!("`{kind}` attribute without a `key`"))?;
        }
        let value = match (kind, value) {
            ("list" | "container", _) => None,
            (_, None) => {
                feed.problem(line, format!("attribute `{key}` without a `value`"))?;
                Some(Value::Null)
            }
            (_, Some(text)) => {
                if text.contains('\0') {
                    feed.problem(line, format!("NUL byte in the value of attribute `{key}`, expected text"))?;
                }
                let value = match kind {
                    "int" => text.trim().parse::<i64>().ok().map(Value::from),
                    // Numbers that JSON does not have (`NaN`) stay text, as the log wrote them.
                    "float" => text.trim().parse::<f64>().ok().map(|number| {
                        serde_json::Number::from_f64(number)
                            .map_or(Value::String(text.clone()), Value::Number)
                    }),
                    "boolean" => text.trim().parse::<bool>().ok().map(Value::Bool),
                    "date" if !starts_with_a_day(&text) => None,
                    _ => Some(Value::String(text.clone())),
                };
                if value.is_none() {
                    let found = format!("value `{text}` of attribute `{key}` is no {kind}");
                    feed.problem_help(line, found, "it is kept as text")?;
                }
                Some(value.unwrap_or(Value::String(text)))
            }
        };
        self.attributes.push(Attribute { key, value, list: kind == "list", children: Vec::new() });
        Ok(())
    }

    fn end(&mut self, feed: &mut Feed<'_>, name: &str, line: Option<u32>) -> Step {
        if self.outside > 0 {
            self.outside -= 1;
            return Ok(());
        }
        match name {
            "log" | "values" => Ok(()),
            "trace" => {
                self.scope = Scope::Log;
                self.end_trace(feed)
            }
            "event" => {
                self.scope = Scope::Trace;
                self.end_event(feed)
            }
            _ => {
                let Some(attribute) = self.attributes.pop() else { return Ok(()) };
                let mut twice = attribute.twice();
                let (key, value) = attribute.finish();
                let old = match (self.attributes.last_mut(), self.scope) {
                    (Some(around), _) => {
                        around.children.push((key.clone(), value));
                        None
                    }
                    (None, Scope::Event) => self.event.insert(key.clone(), value),
                    (None, Scope::Trace) => self.trace.insert(key.clone(), value),
                    // What is said about the log is no event.
                    (None, Scope::Log) => None,
                };
                if old.is_some() {
                    twice = Some(key);
                }
                if let Some(key) = twice {
                    let found = format!("attribute `{key}` is there twice");
                    feed.problem_help(line, found, "the last one counts")?;
                }
                Ok(())
            }
        }
    }

    fn end_event(&mut self, feed: &mut Feed<'_>) -> Step {
        let mut args = std::mem::take(&mut self.event);
        let tool = take_name(feed, &mut args, "concept:name", self.event_line)?;
        let ts = take_name(feed, &mut args, "time:timestamp", self.event_line)?;
        let lifecycle = match args.get("lifecycle:transition") {
            None => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                super::fields::wrong(feed, self.event_line, "lifecycle:transition", other, "a string")?;
                None
            }
        };
        if !wanted(feed, lifecycle.as_deref()) {
            return Ok(());
        }
        self.events.push(Event {
            tool: tool.clone().unwrap_or_default(),
            args: Value::Object(args),
            status: lifecycle_status(lifecycle.as_deref()),
            ts,
            place: feed.place(self.event_line),
            ..Event::default()
        });
        if tool.is_none() {
            let help = "the event is kept, as one of no activity";
            feed.problem_help(self.event_line, "event without `concept:name`, its activity", help)?;
        }
        Ok(())
    }

    fn end_trace(&mut self, feed: &mut Feed<'_>) -> Step {
        let mut attributes = std::mem::take(&mut self.trace);
        let line = self.events.first().and_then(|event| event.place.line);
        let session = take_name(feed, &mut attributes, "concept:name", line);
        let (session, done) = match session {
            Ok(session) => (session, Ok(())),
            Err(halt) => (None, Err(halt)),
        };
        let session = session.unwrap_or_else(|| format!("{}#{}", feed.session(), self.traces));
        for mut event in self.events.drain(..) {
            event.session.clone_from(&session);
            // As process-mining tables name the attributes of the case.
            if let Value::Object(args) = &mut event.args {
                args.extend(attributes.iter().map(|(key, value)| (format!("case:{key}"), value.clone())));
            }
            feed.event(event);
        }
        done
    }
}

/// `2026-11-30`, whatever comes after it.
fn starts_with_a_day(text: &str) -> bool {
    let digits = |part: Option<&str>, least: usize| {
        part.is_some_and(|part| part.len() >= least && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let text = text.trim();
    let mut parts = text.strip_prefix('-').unwrap_or(text).splitn(3, '-');
    digits(parts.next(), 4)
        && digits(parts.next(), 2)
        && digits(parts.next().and_then(|rest| rest.get(..2)), 2)
}

/// Takes out a name; an attribute that is none, a list say, is reported and stays.
fn take_name(
    feed: &mut Feed<'_>,
    attributes: &mut Map<String, Value>,
    key: &str,
    line: Option<u32>,
) -> Step<Option<String>> {
    let Some(value) = attributes.get(key) else { return Ok(None) };
    let name = super::json::name(value);
    if name.is_none() {
        super::fields::wrong(feed, line, key, value, "a string")?;
    } else {
        attributes.shift_remove(key);
    }
    Ok(name)
}

/// Does the caller want events of this transition? Those it does not want are counted.
pub(super) fn wanted(feed: &mut Feed<'_>, lifecycle: Option<&str>) -> bool {
    let Some(keep) = &feed.options.lifecycle else { return true };
    // Logs without lifecycles record completed work.
    let lifecycle = lifecycle.unwrap_or("complete");
    if keep.iter().any(|keep| keep.eq_ignore_ascii_case(lifecycle)) {
        return true;
    }
    feed.skip(&format!("event of lifecycle `{lifecycle}`"));
    false
}

/// How an activity ended, by the standard's transitions.
pub(super) fn lifecycle_status(lifecycle: Option<&str>) -> Status {
    match lifecycle.unwrap_or("complete").to_lowercase().as_str() {
        "complete" | "manualskip" | "autoskip" => Status::Ok,
        "ate_abort" | "pi_abort" => Status::Error,
        _ => Status::Unknown,
    }
}
