//! OpenAI: chat messages, Responses items, completions whole and streamed.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversations::{self, Conversations, MESSAGES};
use super::deltas::{ToolCallDelta, merge_tool_call_deltas};
use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::json::{self, content_result, has, str_at, str_of};
use super::messages;
use super::records::{self, Text};
use super::source::Source;
use super::transcript::{Outcome, Transcript, judge};

#[derive(Default)]
struct Reader {
    conversations: Conversations,
    /// Session of each response, for the one that says `previous_response_id`.
    sessions: HashMap<String, String>,
    /// The session that a request without any name goes on with.
    latest: Option<String>,
    streams: Vec<Stream>,
}

/// A completion that arrives in chunks.
struct Stream {
    id: String,
    session: String,
    line: Option<u32>,
    text: String,
    calls: Vec<ToolCallDelta>,
}

pub(super) fn read(feed: &mut Feed<'_>, source: Source) -> Step {
    let mut reader = Reader::default();
    let done = records::for_each(feed, source, |feed, text, raw| reader.record(feed, text, raw, 0));
    let flushed = reader.flush_streams(feed);
    reader.conversations.finish(feed);
    done.and(flushed)
}

impl Reader {
    fn record(&mut self, feed: &mut Feed<'_>, text: &Text<'_>, raw: &RawValue, depth: usize) -> Step {
        let line = text.line_of(raw);
        if depth > conversations::MAX_DEPTH {
            return feed.problem(line, "records within records, too deep to be conversations");
        }
        if records::is_array(raw) {
            let elements = records::elements(raw);
            let conversation = |raw: &&RawValue| {
                records::is_array(raw) || {
                    let fields = records::fields(raw);
                    MESSAGES.iter().any(|key| fields.contains_key(*key))
                }
            };
            if elements.iter().any(conversation) {
                return elements.into_iter().try_for_each(|raw| self.record(feed, text, raw, depth + 1));
            }
            return self.conversations.whole(feed, text, None, raw, item);
        }
        if !records::is_object(raw) {
            return feed
                .problem(line, "record is no object, expected a message or an object with `messages`");
        }
        let fields = records::fields(raw);
        let session = conversations::session_of(&fields);
        if fields.contains_key("role") {
            let Some(message) = records::value(feed, text, raw)? else { return Ok(()) };
            self.flush_streams(feed)?;
            let session = session.unwrap_or_else(|| feed.session().to_owned());
            return messages::add(feed, self.conversations.running(&session), &message, line);
        }
        if let Some(messages) = MESSAGES.iter().find_map(|key| fields.get(*key)) {
            let session = session.unwrap_or_else(|| self.conversations.next_name(feed));
            let mut transcript = Transcript::new(session);
            conversations::add_all(feed, &mut transcript, text, messages, item)?;
            // A logged exchange: the completion goes on with the request's messages.
            let reply = fields.get("response").copied().filter(|raw| records::is_object(raw)).unwrap_or(raw);
            if let Some(choices) = records::fields(reply).get("choices") {
                add_choices(feed, &mut transcript, text, choices)?;
            }
            transcript.finish(feed);
            return Ok(());
        }
        if let Some(request) = fields.get("request").filter(|raw| records::is_object(raw)) {
            self.record(feed, text, request, depth + 1)?;
            return match fields.get("response").filter(|raw| records::is_object(raw)) {
                Some(response) => self.record(feed, text, response, depth + 1),
                None => Ok(()),
            };
        }
        if let Some(choices) = fields.get("choices") {
            let session = session.unwrap_or_else(|| feed.session().to_owned());
            return if conversations::name_in(&fields, "object").as_deref() == Some("chat.completion.chunk") {
                self.chunk(feed, text, raw, session, line)
            } else {
                add_choices(feed, self.conversations.running(&session), text, choices)
            };
        }
        if fields.contains_key("output") && !fields.contains_key("type")
            || fields.contains_key("input") && !fields.contains_key("type")
        {
            return self.response(feed, text, raw, session);
        }
        if fields.contains_key("type") {
            let Some(value) = records::value(feed, text, raw)? else { return Ok(()) };
            let session = session.unwrap_or_else(|| feed.session().to_owned());
            return item(feed, self.conversations.running(&session), &value, line);
        }
        if ["tool", "tool_name", "props", "activity"].iter().any(|key| fields.contains_key(*key)) {
            return feed
                .problem(line, "an event of another kind among messages: read such a file on its own");
        }
        feed.skip("record without messages");
        Ok(())
    }

    /// A Responses object, or the request that led to it.
    fn response(
        &mut self,
        feed: &mut Feed<'_>,
        text: &Text<'_>,
        raw: &RawValue,
        session: Option<String>,
    ) -> Step {
        let fields = records::fields(raw);
        let conversation = conversations::name_in(&fields, "conversation").or_else(|| {
            let raw = fields.get("conversation").filter(|raw| records::is_object(raw))?;
            conversations::name_in(&records::fields(raw), "id")
        });
        let previous = conversations::name_in(&fields, "previous_response_id");
        let id = conversations::name_in(&fields, "id");
        let known = previous.and_then(|previous| self.sessions.get(&previous).cloned());
        // A request that names nothing answers the response before it.
        let answers = if id.is_none() { self.latest.clone() } else { None };
        let session = session
            .or(conversation)
            .or(known)
            .or(answers)
            .unwrap_or_else(|| self.conversations.next_name(feed));
        if let Some(id) = id {
            self.sessions.insert(id, session.clone());
        }
        self.latest = Some(session.clone());
        let transcript = self.conversations.running(&session);
        for (key, part) in ["input", "output"].iter().filter_map(|key| Some((*key, fields.get(*key)?))) {
            if records::is_array(part) {
                conversations::add_all(feed, transcript, text, part, item)?;
            } else if key == "input"
                && let Ok(message) = serde_json::from_str::<String>(part.get())
            {
                transcript.end_run();
                transcript.message(feed, Kind::User, message, None, text.line_of(part));
            } else if part.get() != "null" {
                feed.problem(text.line_of(part), format!("`{key}` is no array of items"))?;
            }
        }
        // The calls of the next response are another batch.
        transcript.end_run();
        Ok(())
    }

    fn chunk(
        &mut self,
        feed: &mut Feed<'_>,
        text: &Text<'_>,
        raw: &RawValue,
        session: String,
        line: Option<u32>,
    ) -> Step {
        let Some(chunk) = records::value(feed, text, raw)? else { return Ok(()) };
        let id = str_at(&chunk, "id").unwrap_or_default();
        let index = match self.streams.iter().position(|stream| stream.id == id) {
            Some(index) => index,
            None => {
                let (id, text) = (id.to_owned(), String::new());
                self.streams.push(Stream { id, session, line, text, calls: Vec::new() });
                self.streams.len() - 1
            }
        };
        let stream = &mut self.streams[index];
        // Of several choices the first one is what the agent went on with.
        for choice in json::list_at(feed, &chunk, "choices", line)? {
            if choice.get("index").and_then(Value::as_u64).unwrap_or(0) > 0 {
                feed.skip("choice after the first");
                continue;
            }
            let delta = choice.get("delta").unwrap_or(&Value::Null);
            stream.text.push_str(str_at(delta, "content").unwrap_or_default());
            for call in json::list_at(feed, delta, "tool_calls", line)? {
                let function = call.get("function").unwrap_or(call);
                stream.calls.push(ToolCallDelta {
                    index: call.get("index").and_then(Value::as_u64),
                    id: str_at(call, "id").map(str::to_owned),
                    name: str_at(function, "name").map(str::to_owned),
                    arguments: str_at(function, "arguments").map(str::to_owned),
                });
            }
        }
        Ok(())
    }

    /// Streams end where another message begins, or at the end of the file.
    fn flush_streams(&mut self, feed: &mut Feed<'_>) -> Step {
        for stream in std::mem::take(&mut self.streams) {
            let to = self.conversations.running(&stream.session);
            let calls = merge_tool_call_deltas(stream.calls);
            if calls.is_empty() {
                to.message(feed, Kind::Assistant, stream.text, None, stream.line);
                continue;
            }
            let group = to.new_group();
            for call in calls {
                let Some(tool) = call.name else {
                    feed.problem(stream.line, "streamed tool call without a name")?;
                    continue;
                };
                let args = messages::arguments(feed, &tool, call.arguments.map(Value::String), stream.line)?;
                let event = Event { tool, args, text: stream.text.clone(), ..Event::default() };
                to.call(feed, call.id.as_deref(), group, event, stream.line);
            }
        }
        Ok(())
    }
}

fn add_choices(feed: &mut Feed<'_>, to: &mut Transcript, text: &Text<'_>, choices: &RawValue) -> Step {
    if !records::is_array(choices) {
        return feed.problem(text.line_of(choices), "`choices` is no array");
    }
    for (index, choice) in records::elements(choices).into_iter().enumerate() {
        if index > 0 {
            feed.skip("choice after the first");
        } else if let Some(message) = records::fields(choice).get("message") {
            let line = text.line_of(message);
            if let Some(message) = records::value(feed, text, message)? {
                messages::add(feed, to, &message, line)?;
            }
        }
    }
    Ok(())
}

/// A chat message, or an item of the Responses interface.
fn item(feed: &mut Feed<'_>, to: &mut Transcript, item: &Value, line: Option<u32>) -> Step {
    let kind = match str_at(item, "type") {
        Some(kind) if kind != "message" => kind,
        _ => {
            to.end_run();
            return messages::add(feed, to, item, line);
        }
    };
    let id = str_of(item, &["call_id", "id"]);
    match kind {
        "function_call" | "custom_tool_call" => {
            let Some(tool) = str_at(item, "name") else {
                return feed.problem(line, format!("`{kind}` item without `name`"));
            };
            let args = match kind {
                "function_call" => messages::arguments(feed, tool, item.get("arguments").cloned(), line)?,
                // Free text by design.
                _ => item.get("input").cloned().unwrap_or_default(),
            };
            let group = to.run_group();
            to.call(feed, id, group, Event { tool: tool.to_owned(), args, ..Event::default() }, line);
            Ok(())
        }
        "mcp_approval_request" => {
            let Some(tool) = str_at(item, "name") else {
                return feed.problem(line, "`mcp_approval_request` item without `name`");
            };
            let args = messages::arguments(feed, tool, item.get("arguments").cloned(), line)?;
            let group = to.run_group();
            let id = str_at(item, "id").map(approval_id);
            to.call(
                feed,
                id.as_deref(),
                group,
                Event { tool: tool.to_owned(), args, ..Event::default() },
                line,
            );
            Ok(())
        }
        "mcp_approval_response" => {
            to.end_run();
            let Some(request) = str_at(item, "approval_request_id") else {
                return feed.problem(line, "`mcp_approval_response` item without `approval_request_id`");
            };
            if item.get("approve").and_then(Value::as_bool) == Some(false) {
                let result = item.get("reason").cloned().unwrap_or_default();
                return to.result(
                    feed,
                    &approval_id(request),
                    None,
                    Outcome { result, status: Status::Denied },
                    line,
                );
            }
            // The call itself follows as an `mcp_call`.
            Ok(())
        }
        "mcp_call" => {
            let Some(tool) = str_at(item, "name") else {
                return feed.problem(line, "`mcp_call` item without `name`");
            };
            let outcome = hosted_outcome(feed, item);
            // An approved request is this call: it stays at the place of its request.
            let approved = str_at(item, "approval_request_id").and_then(|id| to.take_open(&approval_id(id)));
            match approved {
                Some(call) => to.settle(call, outcome),
                None => {
                    let args = messages::arguments(feed, tool, item.get("arguments").cloned(), line)?;
                    let group = to.run_group();
                    let event = Event { tool: tool.to_owned(), args, ..Event::default() };
                    let call = to.call(feed, None, group, event, line);
                    to.settle(call, outcome);
                }
            }
            Ok(())
        }
        // Hosted tools: the item is call and result in one; the calls that a client runs have an output item.
        "web_search_call" | "file_search_call" | "code_interpreter_call" | "image_generation_call" => {
            let tool = kind.strip_suffix("_call").unwrap_or(kind).to_owned();
            let args = ["action", "queries", "code"].iter().find_map(|key| item.get(*key)).cloned();
            let group = to.run_group();
            let event = Event { tool, args: args.unwrap_or_default(), ..Event::default() };
            let call = to.call(feed, None, group, event, line);
            to.settle(call, hosted_outcome(feed, item));
            Ok(())
        }
        "computer_call" | "local_shell_call" | "shell_call" | "apply_patch_call" => {
            let tool = kind.strip_suffix("_call").unwrap_or(kind).to_owned();
            let args = ["action", "operation"].iter().find_map(|key| item.get(*key)).cloned();
            let group = to.run_group();
            to.call(
                feed,
                id,
                group,
                Event { tool, args: args.unwrap_or_default(), ..Event::default() },
                line,
            );
            Ok(())
        }
        "reasoning" | "mcp_list_tools" | "item_reference" => {
            feed.skip(&format!("{kind} item"));
            Ok(())
        }
        _ if kind.ends_with("_call_output") => {
            to.end_run();
            let Some(id) = id else { return feed.problem(line, format!("`{kind}` item without `call_id`")) };
            let output = item.get("output").unwrap_or(&Value::Null);
            let result = content_result(output);
            let failed = match str_at(item, "status") {
                Some("failed" | "incomplete") => Some(true),
                _ => None,
            };
            let status = judge(feed.options, failed, &result);
            to.result(feed, id, None, Outcome { result, status }, line)
        }
        _ => {
            feed.skip(&format!("item of type `{kind}`"));
            Ok(())
        }
    }
}

fn approval_id(id: &str) -> String {
    // No call id holds a line end.
    format!("approval\n{id}")
}

/// The outcome that a hosted tool's item carries itself.
fn hosted_outcome(feed: &Feed<'_>, item: &Value) -> Outcome {
    if let Some(error) = item.get("error").filter(|error| !error.is_null()) {
        let status = judge(feed.options, Some(true), &Value::String(json::text(error)));
        return Outcome { result: error.clone(), status };
    }
    let result = ["output", "outputs", "results", "result"].iter().find_map(|key| item.get(*key)).cloned();
    let result = result.unwrap_or_default();
    let status = match str_at(item, "status") {
        Some("failed") => Status::Error,
        Some("in_progress" | "searching" | "interpreting" | "generating" | "calling" | "incomplete") => {
            Status::Unknown
        }
        Some(_) => Status::Ok,
        None if has(item, "output") => Status::Ok,
        None => Status::Unknown,
    };
    Outcome { result, status }
}
