//! MCP JSON-RPC messages, as recorders wrap them (`{"t", "dir", "conn", "msg"}`) or bare.

use std::collections::HashMap;

use serde_json::Value;

use super::event::{Event, Status};
use super::feed::{Feed, Step};
use super::json::{self, array_at, content_result, has, str_at, str_of};
use super::records;
use super::source::Source;
use super::transcript::{EventIndex, Outcome, Transcript, denied, judge};

/// A request in flight: its id is its own only on its connection and in its direction.
type Key = (usize, String, String);

#[derive(Default)]
struct Reader {
    sessions: Vec<Transcript>,
    /// How many calls of each session are in flight.
    open: Vec<usize>,
    by_name: HashMap<String, usize>,
    in_flight: HashMap<Key, Vec<EventIndex>>,
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
        let message = ["msg", "message", "payload"]
            .iter()
            .find_map(|key| record.get(*key))
            .filter(|message| message.is_object() || message.is_array())
            .unwrap_or(record);
        match message {
            Value::Array(batch) => {
                batch.iter().try_for_each(|message| self.message(feed, record, message, line))
            }
            message => self.message(feed, record, message, line),
        }
    }

    /// One JSON-RPC message; `record` is what the recorder wrapped around it.
    fn message(&mut self, feed: &mut Feed<'_>, record: &Value, message: &Value, line: Option<u32>) -> Step {
        if !message.is_object() {
            return feed.problem(line, format!("message is {}, expected an object", json::kind(message)));
        }
        let id = message.get("id").and_then(json::name);
        let method = str_at(message, "method");
        let response = method.is_none() && (has(message, "result") || has(message, "error"));
        let at = self.session(feed, record, message);
        let key = |id: String| (at, direction(record, response), id);
        match (method, id) {
            (Some("tools/call"), id) => {
                let params = message.get("params").unwrap_or(&Value::Null);
                let Some(tool) = str_at(params, "name") else {
                    return feed.problem(line, "`tools/call` request without `params.name`");
                };
                let event = Event {
                    tool: tool.to_owned(),
                    args: params.get("arguments").cloned().unwrap_or_default(),
                    ts: time(record),
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
            (Some(method), _) => {
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
                let outcome = outcome(feed, message);
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
                // Most responses answer other methods than `tools/call`.
                feed.skip("response to no tool call");
                Ok(())
            }
        }
    }

    /// The session of a message: the recorder's, else the connection, else the file's.
    fn session(&mut self, feed: &Feed<'_>, record: &Value, message: &Value) -> usize {
        let meta = || json::name_of(message.get("params")?.get("_meta")?, &["sessionId", "session_id"]);
        let name = json::name_of(
            record,
            &["session", "session_id", "sessionId", "mcp-session-id", "Mcp-Session-Id"],
        )
        .or_else(|| {
            let headers = record.get("headers")?;
            json::name_of(headers, &["mcp-session-id", "Mcp-Session-Id"])
        })
        .or_else(meta)
        .or_else(|| json::name_of(record, &["conn", "connection", "conn_id", "connection_id"]))
        .unwrap_or_else(|| feed.session().to_owned());
        match self.by_name.get(&name) {
            Some(&index) => index,
            None => {
                self.sessions.push(Transcript::new(name.clone()));
                self.open.push(0);
                self.by_name.insert(name, self.sessions.len() - 1);
                self.sessions.len() - 1
            }
        }
    }
}

/// The direction of the request: a response goes the other way.
fn direction(record: &Value, response: bool) -> String {
    let direction = str_of(record, &["dir", "direction"]).unwrap_or_default();
    if !response {
        return direction.to_owned();
    }
    match direction {
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
    }
    .to_owned()
}

fn time(record: &Value) -> Option<String> {
    json::name_of(record, &["t", "ts", "time", "timestamp"])
}

/// JSON-RPC's `error` is a refusal or a failure before the tool ran, `isError` a failure of the tool.
fn outcome(feed: &Feed<'_>, message: &Value) -> Outcome {
    if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        let said = str_at(error, "message").unwrap_or_default();
        let refused = said.to_lowercase().starts_with("denied") || denied(feed.options, said, 400);
        return Outcome {
            result: error.clone(),
            status: if refused { Status::Denied } else { Status::Error },
        };
    }
    let result = message.get("result").unwrap_or(&Value::Null);
    let failed = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let content = if array_at(result, "content").is_empty() {
        result.clone()
    } else {
        content_result(result.get("content").unwrap_or(&Value::Null))
    };
    let status = judge(feed.options, Some(failed), &content);
    let structured = result.get("structuredContent").filter(|structured| !structured.is_null());
    Outcome { result: structured.cloned().unwrap_or(content), status }
}
