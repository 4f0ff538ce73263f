//! Inspect evaluation logs: `.json`, `.eval` archives, bare samples and event timelines.
//!
//! A sample is a session. Its `messages` are the events; its `events` tell what was refused, and have the calls
//! that no message has any more (sub-agents, compacted conversations).

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::fields;
use super::json::{self, array_at, str_at};
use super::messages::{self, tool_outcome};
use super::records::{self, Text};
use super::source::Source;
use super::transcript::Transcript;
use super::zip;

pub(super) fn read(feed: &mut Feed<'_>, mut source: Source) -> Step {
    if source.peek()?.starts_with(b"PK") {
        return archive(feed, source);
    }
    records::for_each(feed, source, |feed, text, raw| {
        let log = log_name(feed, text, raw)?;
        record(feed, text, raw, log.as_deref())
    })
}

const CONVERT: &str = "`inspect log convert --to json` writes a log that can be read";

fn archive(feed: &mut Feed<'_>, mut source: Source) -> Step {
    let Some(bytes) = source.read_bytes(feed)? else { return Ok(()) };
    let mut entries = match zip::entries(&bytes) {
        Ok(entries) => entries,
        Err(message) => return feed.problem_help(None, message, CONVERT),
    };
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let (mut log, mut headers) = (None, 0);
    for name in ["header.json", "_journal/start.json"] {
        let header = entries.iter().find(|entry| entry.name == name);
        match header.map(|header| header.read(feed.options.max_bytes)) {
            None => continue,
            Some(Ok(header)) => match serde_json::from_slice::<&RawValue>(&header) {
                Ok(header) => {
                    if log.is_none() {
                        log = log_name(feed, &Text::nowhere(), header)?;
                    }
                    if log.is_none() {
                        let found = format!("`{name}` has no `eval` that names the evaluation");
                        feed.problem_help(None, found, NAMED)?;
                    }
                }
                Err(error) => {
                    feed.problem_help(
                        None,
                        format!("`{name}`: {}", json::error_text(&error, &header)),
                        CONVERT,
                    )?;
                }
            },
            Some(Err(message)) => feed.problem_help(None, message, CONVERT)?,
        }
        headers += 1;
    }
    if headers == 0 {
        feed.problem_help(None, "archive without `header.json`", NAMED)?;
    }
    let is_sample = |name: &str| name.starts_with("samples/") && name.ends_with(".json");
    if !entries.iter().any(|entry| is_sample(&entry.name)) {
        without_samples(feed, None)?;
    }
    for entry in entries {
        if !is_sample(&entry.name) {
            feed.skip("file of the archive that is no sample");
            continue;
        }
        let text = match entry.read(feed.options.max_bytes) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| format!("`{}` is not valid UTF-8", entry.name)),
            Err(message) => Err(message),
        };
        let text = match text {
            Ok(text) => text,
            Err(message) => {
                feed.problem_help(None, message, CONVERT)?;
                continue;
            }
        };
        match serde_json::from_str::<&RawValue>(&text) {
            // Lines within the archive's files would mislead: they are no lines of the file that was given.
            Ok(raw) => {
                records::report_twice(feed, &Text::nowhere(), raw)?;
                record(feed, &Text::nowhere(), raw, log.as_deref())?;
            }
            Err(error) => {
                let message = format!("`{}`: {}", entry.name, json::error_text(&error, text.as_bytes()));
                feed.problem_help(None, message, CONVERT)?;
            }
        }
    }
    Ok(())
}

const NAMED: &str = "its sessions are named after the file";

fn without_samples(feed: &mut Feed<'_>, line: Option<u32>) -> Step {
    feed.problem_help(
        line,
        "evaluation log without samples",
        "it may have been written without them, or hold the header only",
    )
}

/// What tells a log from others: the id of the evaluation.
fn log_name(feed: &mut Feed<'_>, text: &Text<'_>, raw: &RawValue) -> Step<Option<String>> {
    let fields = records::fields(raw);
    let Some(eval) = fields::raw_object(feed, text, &fields, "eval")? else { return Ok(None) };
    let line = text.line_of(eval);
    let Some(eval) = records::value(feed, text, eval)? else { return Ok(None) };
    let id = fields::name(feed, line, &eval, "eval_id")?;
    let run = fields::name(feed, line, &eval, "run_id")?;
    let task = fields::name_of(feed, line, &eval, &["task_id", "task"])?;
    Ok(id.or_else(|| match (run, task) {
        (Some(run), Some(task)) => Some(format!("{run}/{task}")),
        (run, task) => run.or(task),
    }))
}

/// A log, a sample, or a bare timeline.
fn record(feed: &mut Feed<'_>, text: &Text<'_>, raw: &RawValue, log: Option<&str>) -> Step {
    if !records::is_object(raw) {
        return feed
            .problem(text.line_of(raw), "record is no object, expected an evaluation log or a sample");
    }
    let fields = records::fields(raw);
    if fields::raw_present(&fields, "samples").is_some() {
        let Some(samples) = fields::raw_array(feed, text, &fields, "samples")? else { return Ok(()) };
        if samples.is_empty() {
            return without_samples(feed, text.line_of(raw));
        }
        return samples.into_iter().try_for_each(|raw| sample(feed, text, raw, log));
    }
    if fields.contains_key("messages") || fields.contains_key("events") {
        return sample(feed, text, raw, log);
    }
    without_samples(feed, text.line_of(raw))
}

fn sample(feed: &mut Feed<'_>, text: &Text<'_>, raw: &RawValue, log: Option<&str>) -> Step {
    if !records::is_object(raw) {
        let found = format!("sample is {}, expected an object", records::kind(raw));
        return feed.problem(text.line_of(raw), found);
    }
    let fields = records::fields(raw);
    let id = fields::raw_name(feed, text, &fields, "id")?;
    let epoch = fields::raw_name(feed, text, &fields, "epoch")?;
    let log = log.unwrap_or_else(|| feed.session());
    let session = match (id, epoch) {
        (Some(id), Some(epoch)) => format!("{log}/{id}/{epoch}"),
        (Some(id), None) => format!("{log}/{id}"),
        (None, _) => log.to_owned(),
    };
    let attachments = match fields::raw_object(feed, text, &fields, "attachments")? {
        Some(raw) => records::value(feed, text, raw)?.unwrap_or_default(),
        None => Value::Null,
    };
    if ["messages", "events"].iter().all(|key| fields::raw_present(&fields, key).is_none()) {
        return feed.problem(text.line_of(raw), "sample without `messages` and `events`");
    }
    // What broke a sample off is no event; its events are read, calls without a result stay open.
    for (key, what) in [("error", "error that ended a sample"), ("limit", "limit that ended a sample")] {
        if fields::raw_present(&fields, key).is_some() {
            feed.skip(what);
        }
    }
    let mut parts: [Vec<(Value, Option<u32>)>; 2] = [Vec::new(), Vec::new()];
    for (key, part) in ["messages", "events"].into_iter().zip(&mut parts) {
        for raw in fields::raw_array(feed, text, &fields, key)?.unwrap_or_default() {
            let line = text.line_of(raw);
            let Some(mut value) = records::value(feed, text, raw)? else { continue };
            let mut missing = Vec::new();
            resolve(&mut value, &attachments, &mut missing);
            for name in missing {
                feed.problem(line, format!("attachment `{name}` is not in the sample's `attachments`"))?;
            }
            if key == "events" {
                check_event(feed, &value, line)?;
            }
            part.push((value, line));
        }
    }
    let [messages, events] = parts;
    if messages.is_empty() {
        let mut transcript = Transcript::new(session);
        let done = timeline(feed, &mut transcript, &events, &HashSet::new());
        transcript.finish(feed);
        return done;
    }
    let known = conversation(feed, session.clone(), &messages, &events)?;
    if events.iter().any(|(event, _)| has_other_calls(event, &known)) {
        let mut transcript = Transcript::new(format!("{session}/events"));
        let done = timeline(feed, &mut transcript, &events, &known);
        transcript.finish(feed);
        return done;
    }
    Ok(())
}

/// Puts long texts back where a reference to them stands; those that are not there are listed.
fn resolve(value: &mut Value, attachments: &Value, missing: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix("attachment://") {
                match attachments.get(name) {
                    Some(whole) => *value = whole.clone(),
                    None => missing.push(name.to_owned()),
                }
            } else if let Some(whole) = text.strip_prefix("tc://").and_then(|name| attachments.get(name)) {
                // As older logs write it.
                *value = whole.clone();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| resolve(value, attachments, missing)),
        Value::Object(map) => map.values_mut().for_each(|value| resolve(value, attachments, missing)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Reports what is wrong with an event, whether it will be read for its call or only for a refusal.
fn check_event(feed: &mut Feed<'_>, event: &Value, line: Option<u32>) -> Step {
    if !event.is_object() {
        return feed.problem(line, format!("event is {}, expected an object", json::kind(event)));
    }
    match fields::text(feed, line, event, "event")? {
        Some("tool") => {
            if fields::name(feed, line, event, "id")?.is_none() && fields::present(event, "id").is_none() {
                feed.problem(line, "tool event without `id`")?;
            }
            if fields::text(feed, line, event, "function")?.is_none() {
                feed.problem(line, "tool event without `function`")?;
            }
            // Older logs put what a tool does itself (a sub-agent's calls) into its event.
            let inner = fields::array(feed, line, event, "events")?;
            inner.iter().try_for_each(|event| check_event(feed, event, line))
        }
        Some("approval") => {
            match fields::text(feed, line, event, "decision")? {
                Some("approve" | "modify" | "reject" | "escalate" | "terminate") => {}
                Some(other) => feed.problem(line, format!("approval with unknown decision `{other}`"))?,
                None => feed.problem(line, "approval without `decision`")?,
            }
            let call = fields::object(feed, line, event, "call")?;
            fields::name(feed, line, call, "id")?;
            fields::text(feed, line, call, "function")?;
            Ok(())
        }
        Some(_) => Ok(()),
        None if fields::present(event, "event").is_some() => Ok(()),
        None => feed.problem(line, "event without `event`, the name of its kind"),
    }
}

fn tool_events(events: &[(Value, Option<u32>)]) -> impl Iterator<Item = &Value> {
    events.iter().map(|(event, _)| event).filter(|event| str_at(event, "event") == Some("tool"))
}

/// Is this a call that is not among the known ones, or does it have one within it?
fn has_other_calls(event: &Value, known: &HashSet<String>) -> bool {
    str_at(event, "event") == Some("tool")
        && (id_of(event).is_none_or(|id| !known.contains(&id))
            || array_at(event, "events").iter().any(|event| has_other_calls(event, known)))
}

/// The id of a call, where it is one.
fn id_of(call: &Value) -> Option<String> {
    json::name(call.get("id")?)
}

/// The events of a sample's messages; gives back the ids of all calls in them.
fn conversation(
    feed: &mut Feed<'_>,
    session: String,
    messages: &[(Value, Option<u32>)],
    events: &[(Value, Option<u32>)],
) -> Step<HashSet<String>> {
    let by_id: HashMap<String, &Value> =
        tool_events(events).filter_map(|event| Some((id_of(event)?, event))).collect();
    let refused: HashSet<String> = events.iter().filter_map(|(event, _)| refused_call(event)).collect();
    let mut transcript = Transcript::new(session);
    let mut known = HashSet::new();
    let mut done = Ok(());
    for (message, line) in messages {
        let mut message = message.clone();
        for call in array_at(&message, "tool_calls") {
            known.extend(call.get("id").and_then(json::name));
        }
        let id = message.get("tool_call_id").and_then(json::name);
        let event = id.as_deref().and_then(|id| by_id.get(id).copied());
        if let Some(id) = &id {
            // What an approver refused is an error of type `approval`, if the message does not say so itself.
            if refused.contains(id) && !json::has(&message, "error") {
                message["error"] = serde_json::json!({"type": "approval"});
            } else if let Some(error) =
                event.and_then(|event| event.get("error")).filter(|error| !error.is_null())
                && !json::has(&message, "error")
            {
                message["error"] = error.clone();
            }
            // Inspect has a place for errors: a text that looks like one is none.
            if !json::has(&message, "error") {
                message["is_error"] = Value::Bool(false);
            }
        }
        done = match (&id, str_at(&message, "function")) {
            // Some samples start in the middle: a result whose call is in no message is the call.
            (Some(id), Some(tool)) if transcript.open_calls(id) == 0 => {
                known.insert(id.clone());
                let content = message.get("content").unwrap_or(&Value::Null);
                tool_outcome(feed, &message, content, *line).map(|outcome| {
                    let args = event.and_then(|event| event.get("arguments")).cloned().unwrap_or_default();
                    transcript.orphan(feed, tool, args, outcome, *line);
                })
            }
            _ => messages::add(feed, &mut transcript, &message, *line),
        };
        if done.is_err() {
            break;
        }
    }
    transcript.finish(feed);
    done.map(|()| known)
}

/// Id of the call that an approval event refuses.
fn refused_call(event: &Value) -> Option<String> {
    let refuses = str_at(event, "event") == Some("approval")
        && matches!(str_at(event, "decision"), Some("reject" | "terminate"));
    if refuses { id_of(event.get("call")?) } else { None }
}

/// The events of a timeline, without the calls that are known from elsewhere.
fn timeline(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    events: &[(Value, Option<u32>)],
    known: &HashSet<String>,
) -> Step {
    let mut issued = HashMap::new();
    events.iter().try_for_each(|(event, line)| timeline_event(feed, to, event, *line, known, &mut issued))
}

/// Group and text of the model output that issued each call.
type Issued = HashMap<String, (u32, String)>;

fn timeline_event(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    event: &Value,
    line: Option<u32>,
    known: &HashSet<String>,
    issued: &mut Issued,
) -> Step {
    let ts = messages::time(feed, event, line)?;
    match str_at(event, "event") {
        Some("model") => {
            let output = fields::object(feed, line, event, "output")?;
            if let Some(choice) = fields::objects(feed, line, output, "choices")?.first() {
                let message = fields::object(feed, line, choice, "message")?;
                let text = messages::Content::read(feed, message, line)?.text;
                let group = to.new_group();
                for call in fields::objects(feed, line, message, "tool_calls")? {
                    if let Some(id) = fields::name(feed, line, call, "id")? {
                        issued.insert(id, (group, text.clone()));
                    }
                }
            }
            // Beside a conversation the model's turns are there already.
            if known.is_empty() {
                let name = || "model".to_owned();
                let status = if json::has(event, "error") { Status::Error } else { Status::Ok };
                to.push(
                    feed,
                    Event { kind: Kind::Span, tool: name(), text: name(), status, ts, ..Event::default() },
                    line,
                );
            }
        }
        Some("tool") => {
            if id_of(event).is_none_or(|id| !known.contains(&id)) {
                tool_event(feed, to, event, ts, line, issued)?;
            }
            for inner in array_at(event, "events") {
                timeline_event(feed, to, inner, line, known, issued)?;
            }
        }
        Some("approval") => {
            // Refused calls may have no tool event at all. Those that have one settle this one.
            if let Some(id) = refused_call(event)
                && !known.contains(&id)
                && to.open_calls(&id) == 0
                && let Some(call) = event.get("call")
                && let Some(tool) = str_at(call, "function")
            {
                let args = call.get("arguments").cloned().unwrap_or_default();
                let (group, text) =
                    issued.get(&id).cloned().unwrap_or_else(|| (to.new_group(), String::new()));
                let event = Event {
                    tool: tool.to_owned(),
                    args,
                    text,
                    ts,
                    status: Status::Denied,
                    ..Event::default()
                };
                to.call(feed, Some(&id), group, event, line);
            } else {
                feed.skip("`approval` event");
            }
        }
        Some(kind) => feed.skip(&format!("`{kind}` event")),
        // Reported when it was checked.
        None => {}
    }
    Ok(())
}

fn tool_event(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    event: &Value,
    ts: Option<String>,
    line: Option<u32>,
    issued: &Issued,
) -> Step {
    // Without one it was reported when it was checked.
    let Some(tool) = str_at(event, "function") else { return Ok(()) };
    let id = id_of(event).unwrap_or_default();
    let mut outcome = tool_outcome(feed, event, event.get("result").unwrap_or(&Value::Null), line)?;
    let pending = fields::flag(feed, line, event, "pending")?.unwrap_or(false);
    let failed = fields::flag(feed, line, event, "failed")?.unwrap_or(false);
    // Inspect has a place for errors: a text that looks like one is none.
    outcome.status = match outcome.status {
        _ if pending => Status::Unknown,
        Status::Ok | Status::Error | Status::Unknown if !json::has(event, "error") => {
            if failed {
                Status::Error
            } else {
                Status::Ok
            }
        }
        status => status,
    };
    if let Some(refused) = to.take_open(&id) {
        outcome.status = Status::Denied;
        to.settle(refused, outcome);
        return Ok(());
    }
    let (group, text) = issued.get(&id).cloned().unwrap_or_else(|| (to.new_group(), String::new()));
    let args = event.get("arguments").cloned().unwrap_or_default();
    let call =
        to.call(feed, None, group, Event { tool: tool.to_owned(), args, text, ts, ..Event::default() }, line);
    to.settle(call, outcome);
    Ok(())
}
