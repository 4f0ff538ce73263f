//! MCP JSON-RPC messages, as recorders wrap them (`{"t", "dir", "conn", "msg"}`) or bare.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::Value;

use super::event::{Event, Status};
use super::feed::{Feed, Step};
use super::fields::{self, present};
use super::json::{self, content_result, str_at};
use super::records;
use super::source::Source;
use super::transcript::{EventIndex, Outcome, Transcript, denied, judge};

/// A request in flight: its id is its own only on its connection and in its direction.
type Key = (usize, String, Id);

/// To JSON-RPC `1` and `"1"` are two ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Number(String),
    Text(String),
}

impl Id {
    fn read(feed: &mut Feed<'_>, line: Option<u32>, message: &Value) -> Step<Option<Id>> {
        let name = fields::name(feed, line, message, "id")?;
        let number = message.get("id").is_some_and(Value::is_number);
        Ok(name.map(if number { Id::Number } else { Id::Text }))
    }

    /// The id of the other type that looks like this one.
    fn twin(&self) -> Id {
        match self {
            Id::Number(id) => Id::Text(id.clone()),
            Id::Text(id) => Id::Number(id.clone()),
        }
    }
}

impl fmt::Display for Id {
    /// As JSON writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Number(id) => f.write_str(id),
            Id::Text(id) => write!(f, "\"{id}\""),
        }
    }
}

#[derive(Default)]
struct Reader {
    sessions: Vec<Transcript>,
    /// How many calls of each session are in flight.
    open: Vec<usize>,
    by_name: HashMap<String, usize>,
    in_flight: HashMap<Key, Vec<EventIndex>>,
    /// Requests in flight that are no calls.
    others: HashSet<Key>,
    /// Responses still to come for ids of several requests: nobody can tell whose they are.
    ambiguous: HashMap<Key, usize>,
}

pub(super) fn read(feed: &mut Feed<'_>, source: Source) -> Step {
    let mut reader = Reader::default();
    let done = records::for_each(feed, source, |feed, text, raw| {
        let line = text.line_of(raw);
        let Some(value) = records::value(feed, text, raw)? else { return Ok(()) };
        reader.record(feed, &value, line)
    });
    for transcript in reader.sessions {
        transcript.finish(feed);
    }
    done
}

impl Reader {
    fn record(&mut self, feed: &mut Feed<'_>, record: &Value, line: Option<u32>) -> Step {
        // Revision 2025-03-26 had batches.
        if let Value::Array(batch) = record {
            return batch.iter().try_for_each(|message| self.message(feed, record, message, line));
        }
        let wrapped = ["msg", "message", "payload"].iter().find_map(|key| Some((key, present(record, key)?)));
        match wrapped {
            // A bare message has none of these.
            None => self.message(feed, record, record, line),
            Some((_, Value::Array(batch))) => {
                batch.iter().try_for_each(|message| self.message(feed, record, message, line))
            }
            Some((_, message @ Value::Object(_))) => self.message(feed, record, message, line),
            Some((key, other)) => fields::wrong(feed, line, key, other, "a JSON-RPC message"),
        }
    }

    /// One JSON-RPC message; `record` is what the recorder wrapped around it.
    fn message(&mut self, feed: &mut Feed<'_>, record: &Value, message: &Value, line: Option<u32>) -> Step {
        if !message.is_object() {
            return feed.problem(line, format!("message is {}, expected an object", json::kind(message)));
        }
        let id = Id::read(feed, line, message)?;
        let method = fields::text(feed, line, message, "method")?;
        let answer = ["result", "error"].iter().any(|key| present(message, key).is_some());
        let response = method.is_none() && answer;
        let at = self.session(feed, record, message, line)?;
        let direction = direction(feed, record, response, line)?;
        let key = |id: Id| (at, direction, id);
        match (method, id) {
            (Some("tools/call"), id) => {
                let params = fields::object(feed, line, message, "params")?;
                let Some(tool) = str_at(params, "name") else {
                    return feed.problem(line, "`tools/call` request without `params.name`");
                };
                let event = Event {
                    tool: tool.to_owned(),
                    args: params.get("arguments").cloned().unwrap_or_default(),
                    ts: fields::name_of(feed, line, record, &["t", "ts", "time", "timestamp"])?,
                    ..Event::default()
                };
                // Calls in flight together are a batch; the first one starts it.
                let to = &mut self.sessions[at];
                if self.open[at] == 0 {
                    to.end_run();
                }
                let group = to.run_group();
                let index = to.call(feed, None, group, event, line);
                let Some(id) = id else {
                    return feed.problem_help(
                        line,
                        format!("`tools/call` of `{tool}` without an `id`: a notification gets no result"),
                        "the call is kept, its status is unknown",
                    );
                };
                self.open[at] += 1;
                self.in_flight.entry(key(id)).or_default().push(index);
                Ok(())
            }
            (Some(method), id) => {
                self.others.extend(id.map(key));
                feed.skip(&format!("`{method}` message"));
                Ok(())
            }
            (None, Some(id)) if response => self.response(feed, key(id), message, line),
            (None, _) if response => feed.problem(line, "response without an `id`"),
            (None, _) => feed.problem(line, "message is neither a request nor a response"),
        }
    }

    fn response(&mut self, feed: &mut Feed<'_>, key: Key, message: &Value, line: Option<u32>) -> Step {
        if let Some(left) = self.ambiguous.get_mut(&key) {
            *left -= 1;
            if *left == 0 {
                self.ambiguous.remove(&key);
            }
            return Ok(());
        }
        let calls = self.in_flight.remove(&key);
        self.open[key.0] -= calls.as_ref().map_or(0, Vec::len);
        match calls.as_deref() {
            Some([call]) => {
                let outcome = outcome(feed, message, line)?;
                self.sessions[key.0].settle(*call, outcome);
                Ok(())
            }
            Some(calls) => {
                let message =
                    format!("result of id `{}` is ambiguous: {} calls in flight have it", key.2, calls.len());
                self.ambiguous.insert(key, calls.len() - 1);
                feed.problem_help(line, message, "the calls are kept, their status is unknown")
            }
            None => {
                let twin = key.2.twin();
                // Most responses answer other methods than `tools/call`.
                let known = self.others.remove(&key);
                feed.skip("response to no tool call");
                let (id, key) = (key.2.clone(), (key.0, key.1, twin));
                if known || !self.in_flight.contains_key(&key) {
                    return Ok(());
                }
                feed.problem_help(
                    line,
                    format!("response with id `{id}`, but the call in flight has id `{}`", key.2),
                    "numbers and strings are different ids: the call is kept, its status is unknown",
                )
            }
        }
    }

    /// The session of a message: the recorder's, else the connection, else the file's.
    fn session(
        &mut self,
        feed: &mut Feed<'_>,
        record: &Value,
        message: &Value,
        line: Option<u32>,
    ) -> Step<usize> {
        const OWN: &[&str] = &["session", "session_id", "sessionId", "mcp-session-id", "Mcp-Session-Id"];
        let headers = fields::object(feed, line, record, "headers")?;
        // Parameters by position are not MCP's, but JSON-RPC's.
        let params = message.get("params").filter(|params| params.is_object()).unwrap_or(&Value::Null);
        let meta = fields::object(feed, line, params, "_meta")?;
        let places: [(&Value, &[&str]); 4] = [
            (record, OWN),
            (headers, &["mcp-session-id", "Mcp-Session-Id"]),
            (meta, &["sessionId", "session_id"]),
            (record, &["conn", "connection", "conn_id", "connection_id"]),
        ];
        let mut name = None;
        for (holder, keys) in places {
            if name.is_none() {
                name = fields::name_of(feed, line, holder, keys)?;
            }
        }
        let name = name.unwrap_or_else(|| feed.session().to_owned());
        Ok(match self.by_name.get(&name) {
            Some(&index) => index,
            None => {
                self.sessions.push(Transcript::new(name.clone()));
                self.open.push(0);
                self.by_name.insert(name, self.sessions.len() - 1);
                self.sessions.len() - 1
            }
        })
    }
}

/// The direction of the request: a response goes the other way.
fn direction(feed: &mut Feed<'_>, record: &Value, response: bool, line: Option<u32>) -> Step<String> {
    let direction = fields::text_of(feed, line, record, &["dir", "direction"])?.unwrap_or_default();
    let other_way = match direction {
        _ if !response => direction,
        "c2s" => "s2c",
        "s2c" => "c2s",
        "in" => "out",
        "out" => "in",
        "send" => "recv",
        "recv" => "send",
        "sent" => "received",
        "received" => "sent",
        "request" | "response" => "request",
        "client" => "server",
        "server" => "client",
        other => other,
    };
    Ok(other_way.to_owned())
}

/// JSON-RPC's `error` is a refusal or a failure before the tool ran, `isError` a failure of the tool.
fn outcome(feed: &mut Feed<'_>, message: &Value, line: Option<u32>) -> Step<Outcome> {
    if let Some(error) = present(message, "error") {
        let said = fields::text(feed, line, error, "message")?.unwrap_or_default();
        let refused = said.to_lowercase().starts_with("denied") || denied(feed.options, said, 400);
        let status = if refused { Status::Denied } else { Status::Error };
        return Ok(Outcome { result: error.clone(), status });
    }
    let result = message.get("result").unwrap_or(&Value::Null);
    let failed = fields::flag(feed, line, result, "isError")?.unwrap_or(false);
    let content = match present(result, "content") {
        Some(Value::Array(parts)) if parts.is_empty() => result.clone(),
        Some(content) => content_result(content),
        None => result.clone(),
    };
    let status = judge(feed.options, Some(failed), &content);
    let structured = present(result, "structuredContent");
    Ok(Outcome { result: structured.cloned().unwrap_or(content), status })
}
