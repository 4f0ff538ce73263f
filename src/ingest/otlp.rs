//! OpenTelemetry spans: OTLP/JSON, its older names and Tempo's, and Jaeger exports.
//!
//! Spans come in the order of their ends, from several processes; the events are in the order of their starts.
//! Every span is an event; those that execute a tool are calls, by the GenAI conventions, OpenInference,
//! OpenLLMetry or MCP's.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::fields::{self, present};
use super::json::{self, str_at, unwrap_json};
use super::records::{self, Text};
use super::source::Source;
use super::transcript::{Outcome, Transcript, denied};

struct Span {
    line: Option<u32>,
    trace: String,
    id: String,
    parent_id: Option<String>,
    parent: Option<usize>,
    name: String,
    /// Unix nanoseconds.
    start: u64,
    end: Option<u64>,
    /// The start as the log wrote it.
    ts: Option<String>,
    attributes: Map<String, Value>,
    failed: bool,
    failure: String,
    /// Name of the tool, if the span is a call.
    tool: Option<String>,
    /// Tells spans of one id apart that say something else.
    content: u64,
}

pub(super) fn read(feed: &mut Feed<'_>, source: Source) -> Step {
    let mut spans = Vec::new();
    let nothing = BTreeMap::new();
    let done =
        records::for_each(feed, source, |feed, text, raw| request(feed, &mut spans, text, raw, &nothing, 0));
    let emitted = emit(feed, spans);
    done.and(emitted)
}

/// Keys whose arrays lead down to spans.
const LEVELS: &[&str] = &[
    "resourceSpans",
    "resource_spans",
    "batches",
    "data",
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
    "spans",
];

/// `trace > resourceSpans[] > scopeSpans[] > spans[]` is the deepest there is, each array a level of its own.
const MAX_DEPTH: usize = 8;

/// Keys of a span's own id.
const IDS: &[&str] = &["spanId", "span_id", "spanID"];

/// Keys of a span's start.
const STARTS: &[&str] = &["startTimeUnixNano", "start_time_unix_nano", "startTime"];

type Attributes = BTreeMap<String, Value>;

fn request(
    feed: &mut Feed<'_>,
    spans: &mut Vec<Span>,
    text: &Text<'_>,
    raw: &RawValue,
    inherited: &Attributes,
    depth: usize,
) -> Step {
    if depth > MAX_DEPTH {
        return feed.problem(text.line_of(raw), "records within records, too deep to be spans");
    }
    if records::is_array(raw) {
        return records::elements(raw)
            .into_iter()
            .try_for_each(|raw| request(feed, spans, text, raw, inherited, depth + 1));
    }
    if !records::is_object(raw) {
        let found = format!("record is {}, expected an object", records::kind(raw));
        return feed.problem(text.line_of(raw), found);
    }
    let fields = records::fields(raw);
    let is_span = IDS.iter().any(|key| fields.contains_key(*key));
    if is_span {
        let line = text.line_of(raw);
        if let Some(value) = records::value(feed, text, raw)? {
            spans.push(span(feed, &value, inherited, line)?);
        }
        return Ok(());
    }
    // What stands among spans is one, and may be a call.
    let names = ["name", "operationName"].iter().any(|key| fields.contains_key(*key));
    let starts = STARTS.iter().any(|key| fields.contains_key(*key));
    if names && starts {
        let line = text.line_of(raw);
        if let Some(value) = records::value(feed, text, raw)? {
            spans.push(span(feed, &value, inherited, line)?);
        }
        return Ok(());
    }
    // What a resource says about the session holds for all its spans.
    let own = match fields::raw_object(feed, text, &fields, "resource")? {
        None => None,
        Some(raw) => {
            let resource = records::value(feed, text, raw)?.unwrap_or_default();
            let said = attributes(feed, text.line_of(raw), &resource)?;
            let mut all = inherited.clone();
            all.extend(said.into_iter().filter(|(key, _)| SESSIONS.contains(&key.as_str())));
            Some(all)
        }
    };
    let inherited = own.as_ref().unwrap_or(inherited);
    let mut found = false;
    for key in ["trace"].iter().chain(LEVELS) {
        let Some(inner) = fields::raw_present(&fields, key) else { continue };
        found = true;
        let object = matches!(*key, "trace" | "data") && records::is_object(inner);
        if object || records::is_array(inner) {
            request(feed, spans, text, inner, inherited, depth + 1)?;
        } else {
            fields::raw_wrong(feed, text, key, inner, "an array")?;
        }
    }
    if !found {
        let name = ["resourceMetrics", "resourceLogs", "resource_metrics", "resource_logs"]
            .iter()
            .find(|key| fields.contains_key(**key))
            .map_or_else(|| "record without spans".to_owned(), |key| format!("`{key}` record"));
        feed.skip(&name);
    }
    Ok(())
}

fn span(feed: &mut Feed<'_>, value: &Value, inherited: &Attributes, line: Option<u32>) -> Step<Span> {
    let mut name = |keys: &[&str]| fields::name_of(feed, line, value, keys);
    let id = name(IDS)?.unwrap_or_default();
    let trace = name(&["traceId", "trace_id", "traceID"])?.unwrap_or_default();
    let parent = name(&["parentSpanId", "parent_span_id", "parentSpanID"])?;
    let ts = name(STARTS)?;
    let name = fields::text_of(feed, line, value, &["name", "operationName"])?.unwrap_or_default().to_owned();
    if id.is_empty() && IDS.iter().all(|key| present(value, key).is_none_or(|id| *id == "")) {
        feed.problem_help(
            line,
            format!("span `{name}` without `spanId`"),
            "it is kept, as no other span's parent",
        )?;
    }
    let mut referred = None;
    for reference in fields::objects(feed, line, value, "references")? {
        let kind = fields::text(feed, line, reference, "refType")?;
        match fields::name(feed, line, reference, "spanID")? {
            Some(id) if referred.is_none() || kind == Some("CHILD_OF") => referred = Some(id),
            Some(_) => {}
            None => feed.problem(line, format!("reference of span `{name}` without `spanID`"))?,
        }
    }
    // OTLP: nanoseconds, as strings or numbers. Jaeger: microseconds and a duration.
    let mut number = |keys: &[&str]| -> Step<Option<u64>> {
        let Some(text) = fields::name_of(feed, line, value, keys)? else { return Ok(None) };
        let number = text.parse().ok();
        if number.is_none() {
            let found = format!("time `{text}` of span `{name}` is no whole number");
            feed.problem_help(line, found, "a span without a start is put at the end of its session")?;
        }
        Ok(number)
    };
    let start = number(&["startTimeUnixNano", "start_time_unix_nano"])?;
    let micros = |micros: u64| micros.saturating_mul(1000);
    let start = if start.is_some() { start } else { number(&["startTime"])?.map(micros) };
    let end = number(&["endTimeUnixNano", "end_time_unix_nano"])?.filter(|&end| end > 0);
    let duration = number(&["duration"])?.map(micros);
    let end = end.or_else(|| Some(start?.saturating_add(duration?)));
    if start.is_none() && ts.is_none() {
        feed.problem_help(
            line,
            format!("span `{name}` without a start time"),
            "expected `startTimeUnixNano` (or Jaeger's `startTime`); it is put at the end of its session",
        )?;
    }
    let mut attributes = attributes(feed, line, value)?;
    for (key, value) in inherited {
        attributes.entry(key.clone()).or_insert_with(|| value.clone());
    }
    for key in TEXTS {
        let fits = |found: &Value| {
            found.is_string() || found.is_null() || SESSIONS.contains(key) && found.is_number()
        };
        if let Some(found) = attributes.get(*key).filter(|found| !fits(found)) {
            fields::wrong(feed, line, key, found, "a string")?;
        }
    }
    let (failed, failure) = failure(feed, line, value, &attributes)?;
    let tool = tool(&name, &attributes);
    Ok(Span {
        line,
        trace,
        id,
        parent_id: parent.filter(|parent| !parent.is_empty()).or(referred),
        parent: None,
        name,
        start: start.unwrap_or(u64::MAX),
        end,
        ts,
        attributes,
        failed,
        failure,
        tool,
        content: json::hash(Some(value)),
    })
}

/// Attributes that are read as text.
const TEXTS: &[&str] = &[
    "gen_ai.conversation.id",
    "session.id",
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "mcp.method.name",
    "gen_ai.tool.name",
    "tool.name",
    "mcp.tool.name",
    "traceloop.entity.name",
    "error.type",
    "otel.status_code",
    "otel.status_description",
    "exception.message",
    "error.message",
];

/// `attributes` (OTLP) or `tags` (Jaeger) as a map.
fn attributes(feed: &mut Feed<'_>, line: Option<u32>, holder: &Value) -> Step<Map<String, Value>> {
    let mut all = Map::new();
    for key in ["attributes", "tags"] {
        match present(holder, key) {
            None => {}
            Some(Value::Object(map)) => all.extend(map.clone()),
            Some(Value::Array(list)) => {
                for entry in list {
                    let Some(name) = str_at(entry, "key") else {
                        feed.problem(
                            line,
                            format!("an element of `{key}` without a `key` that is a string"),
                        )?;
                        continue;
                    };
                    let value = match entry.get("value") {
                        Some(value) => {
                            let mut faults = Vec::new();
                            let value = any_value(value, &mut faults);
                            for fault in faults {
                                feed.problem_help(line, format!("attribute `{name}`: {fault}"), KEPT)?;
                            }
                            value
                        }
                        None => {
                            let found = format!("attribute `{name}` without a `value`");
                            feed.problem_help(line, found, "it is kept, as null")?;
                            Value::Null
                        }
                    };
                    if all.insert(name.to_owned(), value).is_some() {
                        let found = format!("attribute `{name}` is there twice");
                        feed.problem_help(line, found, "the last one counts")?;
                    }
                }
            }
            Some(other) => fields::wrong(feed, line, key, other, "an array or an object")?,
        }
    }
    Ok(all)
}

const KEPT: &str = "the value is kept as it is written";

/// An OTLP `AnyValue`, or the plain value that other exports write. One of a form that is not known stays as it is, and
/// is one of the faults.
fn any_value(value: &Value, faults: &mut Vec<String>) -> Value {
    // Parsed JSON is nested at most 127 deep, so the recursion ends long before the stack does.
    let Value::Object(map) = value else { return value.clone() };
    let mut fields = map.iter();
    let (key, inner) = match (fields.next(), fields.next()) {
        // OTLP has values that are nothing.
        (None, _) => return Value::Null,
        (Some(field), None) => field,
        (Some(_), Some(_)) => {
            faults.push(format!("value with {} fields, expected one such as `stringValue`", map.len()));
            return value.clone();
        }
    };
    let (found, expected) = match key.as_str() {
        "stringValue" | "string_value" => (inner.as_str().map(Value::from), "a string"),
        "boolValue" | "bool_value" => (inner.as_bool().map(Value::from), "true or false"),
        "bytesValue" | "bytes_value" => (inner.as_str().map(Value::from), "a string"),
        "doubleValue" | "double_value" => (double(inner), "a number"),
        // 64 bits do not fit a JavaScript number, so they come as strings.
        "intValue" | "int_value" => {
            let number = inner.as_str().and_then(|text| text.parse::<i64>().ok()).or_else(|| inner.as_i64());
            (number.map(Value::from), "a whole number")
        }
        "arrayValue" | "array_value" => {
            let list = values(inner).map(|list| list.iter().map(|value| any_value(value, faults)).collect());
            (list, "an object with an array `values`")
        }
        "kvlistValue" | "kvlist_value" => {
            let map = values(inner).and_then(|list| pairs(list, faults));
            (map, "an object with an array `values` of `key` and `value`")
        }
        _ => (None, "a kind of value of OTLP, such as `stringValue`"),
    };
    found.unwrap_or_else(|| {
        faults.push(format!("`{key}` is {}, expected {expected}", json::kind(inner)));
        value.clone()
    })
}

/// A number; those that JSON does not have are text.
fn double(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) if matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity") => {
            Some(value.clone())
        }
        Value::String(text) => text.parse::<f64>().ok().map(Value::from),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The pairs of a `kvlistValue`.
fn pairs(list: &[Value], faults: &mut Vec<String>) -> Option<Value> {
    let mut map = Map::new();
    for entry in list {
        let key = str_at(entry, "key")?.to_owned();
        let value = match entry.get("value") {
            Some(value) => any_value(value, faults),
            None => {
                faults.push(format!("key `{key}` without a `value`"));
                Value::Null
            }
        };
        if map.contains_key(&key) {
            faults.push(format!("key `{key}` is there twice, the last one counts"));
        }
        map.insert(key, value);
    }
    Some(Value::Object(map))
}

/// The `values` of a list: none, if the list is empty.
fn values(list: &Value) -> Option<&[Value]> {
    match list.as_object()?.get("values") {
        None | Some(Value::Null) => Some(&[]),
        Some(values) => values.as_array().map(Vec::as_slice),
    }
}

/// Did it fail, and what does it say about that?
fn failure(
    feed: &mut Feed<'_>,
    line: Option<u32>,
    span: &Value,
    attributes: &Map<String, Value>,
) -> Step<(bool, String)> {
    let status = fields::object(feed, line, span, "status")?;
    let code = fields::name(feed, line, status, "code")?;
    let bad = match code.as_deref() {
        None => false,
        Some(code) => match code.strip_prefix("STATUS_CODE_").unwrap_or(code).to_ascii_lowercase().as_str() {
            "error" | "2" => true,
            "ok" | "unset" | "" | "0" | "1" => false,
            _ => {
                feed.problem(line, format!("unknown status code `{code}`, expected one of OTLP"))?;
                false
            }
        },
    };
    let text = |key: &str| attributes.get(key).and_then(Value::as_str);
    let kind = text("error.type").unwrap_or_default();
    let flag = attributes.get("error").is_some_and(|flag| *flag == true || flag == "true");
    let failed = bad || !kind.is_empty() || text("otel.status_code") == Some("ERROR") || flag;
    let message = fields::text(feed, line, status, "message")?;
    let message = ["otel.status_description", "exception.message", "error.message"]
        .into_iter()
        .find_map(text)
        .or(message)
        .unwrap_or_default();
    let failure = if message.is_empty() { kind } else { message };
    Ok((failed, failure.to_owned()))
}

/// `error.type` of a call that was refused: there is no standard for it, these are in use.
const REFUSED: &[&str] = &[
    "permission_denied",
    "denied",
    "rejected",
    "approval",
    "approval_denied",
    "approval_rejected",
    "policy_denied",
    "policy_violation",
    "blocked",
    "refused",
];

fn status(feed: &Feed<'_>, span: &Span) -> Status {
    let kind = span.attributes.get("error.type").and_then(Value::as_str).unwrap_or_default();
    if span.failed && (REFUSED.contains(&kind) || denied(feed.options, &span.failure, 400)) {
        Status::Denied
    } else if span.failed {
        Status::Error
    } else if span.end.is_none() {
        Status::Unknown
    } else {
        Status::Ok
    }
}

fn tool(name: &str, attributes: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| attributes.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let operation = text("gen_ai.operation.name");
    let by_name = name.strip_prefix("execute_tool ").or_else(|| name.strip_prefix("tools/call "));
    let is_call = operation == Some("execute_tool")
        || text("openinference.span.kind").is_some_and(|kind| kind.eq_ignore_ascii_case("tool"))
        || text("traceloop.span.kind") == Some("tool")
        || text("mcp.method.name") == Some("tools/call")
        || operation.is_none() && by_name.is_some();
    if !is_call {
        return None;
    }
    let named = ["gen_ai.tool.name", "tool.name", "mcp.tool.name", "traceloop.entity.name"]
        .into_iter()
        .find_map(text);
    Some(named.or(by_name).unwrap_or(name).to_owned())
}

fn is_mcp(span: &Span) -> bool {
    span.attributes.contains_key("mcp.method.name") || span.name.starts_with("tools/call ")
}

/// Attributes that name the session.
const SESSIONS: &[&str] = &["gen_ai.conversation.id", "session.id"];

fn emit(feed: &mut Feed<'_>, mut spans: Vec<Span>) -> Step {
    let done = drop_copies(feed, &mut spans).and(without_times(feed, &mut spans));
    // Parents may be in other files, or were never recorded: no fault of the log, but it may hide a session's name.
    let missing = link(&mut spans);
    if missing > 0 {
        feed.skip_many("parent of a span (not in the file)", missing);
    }
    let depth = depths(&spans);
    let sessions = sessions(feed, &spans);
    one_call_per_tool_call(&mut spans);
    let groups = parallel(&spans);
    let mut order: Vec<usize> = (0..spans.len()).collect();
    // Of what starts at one time parents come before their children; else as in the file.
    order.sort_by_key(|&index| (spans[index].start, depth[index], index));
    let mut transcripts: Vec<Transcript> = Vec::new();
    let mut by_session: HashMap<&str, usize> = HashMap::new();
    let mut group_of: HashMap<(usize, usize), u32> = HashMap::new();
    for index in order {
        let session = sessions[index].as_str();
        let at = *by_session.entry(session).or_insert_with(|| {
            transcripts.push(Transcript::new(session));
            transcripts.len() - 1
        });
        let to = &mut transcripts[at];
        let span = &spans[index];
        let status = status(feed, span);
        let event = Event {
            kind: Kind::Span,
            tool: span.name.clone(),
            text: span.name.clone(),
            ts: span.ts.clone(),
            ..Event::default()
        };
        let Some(tool) = span.tool.clone() else {
            to.push(feed, Event { status, ..event }, span.line);
            continue;
        };
        let first = |keys: &[&str]| {
            let value = keys.iter().find_map(|key| span.attributes.get(*key));
            value.cloned().map(unwrap_json).unwrap_or_default()
        };
        let mut result = first(RESULTS);
        if result.is_null() && span.failed && !span.failure.is_empty() {
            result = Value::String(span.failure.clone());
        }
        let group = *group_of.entry((at, groups[index])).or_insert_with(|| to.new_group());
        let call = Event { kind: Kind::Call, tool, args: first(ARGUMENTS), ..event };
        let call = to.call(feed, None, group, call, span.line);
        to.settle(call, Outcome { result, status });
    }
    for transcript in transcripts {
        transcript.finish(feed);
    }
    done
}

const ARGUMENTS: &[&str] = &[
    "gen_ai.tool.call.arguments",
    "gcp.vertex.agent.tool_call_args",
    "tool.parameters",
    "input.value",
    "traceloop.entity.input",
];

const RESULTS: &[&str] =
    &["gen_ai.tool.call.result", "gcp.vertex.agent.tool_response", "output.value", "traceloop.entity.output"];

/// OTLP writes 0 for a time that nobody knows; in a log whose clock began with it, 0 is a time as any other.
fn without_times(feed: &mut Feed<'_>, spans: &mut [Span]) -> Step {
    /// The twelfth day of 1970, in nanoseconds.
    const PRESENT: u64 = 1_000_000_000_000_000;
    if !spans.iter().any(|span| span.start > PRESENT && span.start < u64::MAX) {
        return Ok(());
    }
    let mut done = Ok(());
    for span in spans.iter_mut().filter(|span| span.start == 0) {
        span.start = u64::MAX;
        span.ts = None;
        if done.is_ok() {
            let found = format!("span `{}` without a start time: it is 0", span.name);
            done = feed.problem_help(span.line, found, "it is put at the end of its session");
        }
    }
    done
}

/// Exporters send again what they are not sure to have sent. What has the same id and says something else is another
/// span, or a later state of the same: both are kept, nothing is hidden from the rules.
fn drop_copies(feed: &mut Feed<'_>, spans: &mut Vec<Span>) -> Step {
    let mut seen: HashMap<(String, String), Vec<u64>> = HashMap::new();
    let mut done = Ok(());
    spans.retain(|span| {
        if span.id.is_empty() {
            return true;
        }
        let known = seen.entry((span.trace.clone(), span.id.clone())).or_default();
        if known.contains(&span.content) {
            feed.skip("span that is there twice (same id)");
            return false;
        }
        if !known.is_empty() && done.is_ok() {
            let found = format!("another span with the id `{}`, which says something else", span.id);
            done = feed.problem_help(span.line, found, "both are kept");
        }
        known.push(span.content);
        true
    });
    done
}

/// Finds the parents; gives back how many of them are not there.
fn link(spans: &mut [Span]) -> u64 {
    let mut by_id: HashMap<(&str, &str), usize> = HashMap::new();
    for (index, span) in spans.iter().enumerate() {
        by_id.entry((&span.trace, &span.id)).or_insert(index);
    }
    let parent = |(index, span): (usize, &Span)| {
        let parent = by_id.get(&(span.trace.as_str(), span.parent_id.as_deref()?)).copied();
        parent.filter(|&parent| parent != index)
    };
    let known = |span: &&Span| {
        span.parent_id.as_deref().is_none_or(|parent| by_id.contains_key(&(span.trace.as_str(), parent)))
    };
    let missing = spans.len() - spans.iter().filter(known).count();
    let parents: Vec<Option<usize>> = spans.iter().enumerate().map(parent).collect();
    for (span, parent) in spans.iter_mut().zip(parents) {
        span.parent = parent;
    }
    cut_circles(spans);
    missing as u64
}

/// A broken log may make a span its own ancestor: the link that closes the circle goes.
fn cut_circles(spans: &mut [Span]) {
    // 0: not seen, otherwise the walk that saw it last.
    let mut seen = vec![0; spans.len()];
    for start in 0..spans.len() {
        let walk = start + 1;
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = walk;
            match spans[at].parent {
                Some(parent) if seen[parent] == walk => spans[at].parent = None,
                Some(parent) => at = parent,
                None => {}
            }
        }
    }
}

/// Answers a question about each span from its parent's answer; parents are asked first.
fn from_parents<T: Clone>(spans: &[Span], answer: impl Fn(usize, Option<&T>) -> T) -> Vec<T> {
    let mut answers: Vec<Option<T>> = vec![None; spans.len()];
    for start in 0..spans.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at.filter(|&index| answers[index].is_none()) {
            path.push(index);
            at = spans[index].parent;
        }
        for index in path.into_iter().rev() {
            let parent = spans[index].parent.and_then(|parent| answers[parent].as_ref());
            answers[index] = Some(answer(index, parent));
        }
    }
    answers
        .into_iter()
        .enumerate()
        .map(|(index, found)| found.unwrap_or_else(|| answer(index, None)))
        .collect()
}

fn depths(spans: &[Span]) -> Vec<usize> {
    from_parents(spans, |_, parent: Option<&usize>| parent.map_or(0, |depth| depth + 1))
}

/// The session of each span: its conversation, else that of its nearest ancestor that has one, else the trace's if
/// it has exactly one (the request around an agent's run belongs to it); the same with `session.id`; else the trace.
fn sessions(feed: &Feed<'_>, spans: &[Span]) -> Vec<String> {
    let mut sessions: Vec<Option<String>> = vec![None; spans.len()];
    for key in SESSIONS {
        let named: Vec<Option<String>> = from_parents(spans, |index, parent: Option<&Option<String>>| {
            spans[index].attributes.get(*key).and_then(json::name).or_else(|| parent.cloned().flatten())
        });
        let mut in_trace: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        for (span, name) in spans.iter().zip(&named) {
            if let Some(name) = name {
                in_trace.entry(&span.trace).or_default().insert(name);
            }
        }
        for (index, session) in sessions.iter_mut().enumerate().filter(|(_, session)| session.is_none()) {
            let only = || {
                let names = in_trace.get(spans[index].trace.as_str())?;
                names.first().filter(|_| names.len() == 1).map(|name| (*name).to_owned())
            };
            *session = named[index].clone().or_else(only);
        }
    }
    sessions
        .into_iter()
        .zip(spans)
        .map(|(session, span)| {
            session.unwrap_or_else(|| {
                if span.trace.is_empty() { feed.session().to_owned() } else { span.trace.clone() }
            })
        })
        .collect()
}

/// A tool call over MCP shows as a span of the agent, of the MCP client and of the server. The outermost is the
/// call, the others are spans.
fn one_call_per_tool_call(spans: &mut [Span]) {
    let within: Vec<Option<String>> = from_parents(spans, |index, parent: Option<&Option<String>>| {
        spans[index].tool.clone().or_else(|| parent.cloned().flatten())
    });
    for span in spans {
        let around = span.parent.and_then(|parent| within[parent].as_ref());
        if is_mcp(span) && around.is_some() && around == span.tool.as_ref() {
            span.tool = None;
        }
    }
}

/// For each call the first of the calls it ran in parallel with (itself, if none): siblings whose times overlap.
///
/// Some instrumentations make the second of two parallel calls a child of the first. A call that ends after the
/// call it is said to be part of is no part of it, but its sibling.
fn parallel(spans: &[Span]) -> Vec<usize> {
    let parent_of: Vec<Option<usize>> = from_parents(spans, |index, above: Option<&Option<usize>>| {
        let parent = spans[index].parent?;
        let outlives = spans[index].end.zip(spans[parent].end).is_some_and(|(own, parent)| own > parent);
        if spans[index].tool.is_some() && spans[parent].tool.is_some() && outlives {
            above.copied().flatten()
        } else {
            Some(parent)
        }
    });
    let mut siblings: BTreeMap<(&str, Option<usize>), Vec<usize>> = BTreeMap::new();
    for (index, span) in spans.iter().enumerate().filter(|(_, span)| span.tool.is_some()) {
        siblings.entry((&span.trace, parent_of[index])).or_default().push(index);
    }
    let mut first: Vec<usize> = (0..spans.len()).collect();
    for mut calls in siblings.into_values() {
        calls.sort_by_key(|&index| (spans[index].start, index));
        let mut open: Option<(usize, u64)> = None;
        for index in calls {
            let end = spans[index].end.unwrap_or(spans[index].start);
            open = Some(match open {
                Some((group, until)) if spans[index].start < until => {
                    first[index] = group;
                    (group, until.max(end))
                }
                _ => (index, end),
            });
        }
    }
    first
}
