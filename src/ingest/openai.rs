//! OpenAI: chat messages, Responses items, completions whole and streamed.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::conversations::{self, Conversations, MESSAGES};
use super::deltas::{ToolCallDelta, merge_tool_call_deltas};
use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::fields::{self, present};
use super::json::{self, content_result, str_at};
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
        let session = conversations::session_of(feed, text, &fields)?;
        if fields.contains_key("role") {
            let Some(message) = records::value(feed, text, raw)? else { return Ok(()) };
            self.flush_streams(feed)?;
            let session = session.unwrap_or_else(|| feed.session().to_owned());
            return messages::add(feed, self.conversations.running(&session), &message, line);
        }
        if let Some((key, messages)) = conversations::messages_of(feed, text, &fields)? {
            let session = session.unwrap_or_else(|| self.conversations.next_name(feed));
            let mut transcript = Transcript::new(session);
            conversations::add_all(feed, &mut transcript, text, key, messages, item)?;
            // A logged exchange: the completion goes on with the request's messages.
            match fields::raw_object(feed, text, &fields, "response")? {
                None => add_choices(feed, &mut transcript, text, raw)?,
                Some(reply) => {
                    let fields = records::fields(reply);
                    if !fields.contains_key("choices") && !fields.contains_key("error") {
                        feed.problem(text.line_of(reply), "response without `choices`")?;
                    }
                    add_choices(feed, &mut transcript, text, reply)?;
                }
            }
            transcript.finish(feed);
            return Ok(());
        }
        if fields::raw_present(&fields, "request").is_some() {
            for key in ["request", "response"] {
                if let Some(part) = fields::raw_object(feed, text, &fields, key)? {
                    self.record(feed, text, part, depth + 1)?;
                }
            }
            return Ok(());
        }
        if fields.contains_key("choices") {
            let session = session.unwrap_or_else(|| feed.session().to_owned());
            let object = fields::raw_name(feed, text, &fields, "object")?;
            return if object.as_deref() == Some("chat.completion.chunk") {
                self.chunk(feed, text, raw, session, line)
            } else {
                add_choices(feed, self.conversations.running(&session), text, raw)
            };
        }
        if ["input", "output"].iter().any(|key| fields.contains_key(*key)) && !fields.contains_key("type") {
            return self.response(feed, text, raw, session);
        }
        if fields.contains_key("type") {
            let Some(value) = records::value(feed, text, raw)? else { return Ok(()) };
            let session = session.unwrap_or_else(|| feed.session().to_owned());
            return item(feed, self.conversations.running(&session), &value, line);
        }
        conversations::no_messages(feed, &fields, line)
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
        let conversation = match fields.get("conversation").filter(|raw| records::is_object(raw)) {
            Some(object) => {
                let id = fields::raw_name(feed, text, &records::fields(object), "id")?;
                if id.is_none() {
                    feed.problem(text.line_of(object), "`conversation` without an `id`")?;
                }
                id
            }
            None => fields::raw_name(feed, text, &fields, "conversation")?,
        };
        let previous = fields::raw_name(feed, text, &fields, "previous_response_id")?;
        let id = fields::raw_name(feed, text, &fields, "id")?;
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
        for key in ["input", "output"] {
            let Some(part) = fields::raw_present(&fields, key) else { continue };
            match serde_json::from_str::<String>(part.get()) {
                Ok(message) if key == "input" => {
                    transcript.end_run();
                    transcript.message(feed, Kind::User, message, None, text.line_of(part));
                }
                _ => conversations::add_all(feed, transcript, text, key, part, item)?,
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
        let id = fields::name(feed, line, &chunk, "id")?.unwrap_or_default();
        let index = match self.streams.iter().position(|stream| stream.id == id) {
            Some(index) => index,
            None => {
                self.streams.push(Stream { id, session, line, text: String::new(), calls: Vec::new() });
                self.streams.len() - 1
            }
        };
        let stream = &mut self.streams[index];
        // Of several choices the first one is what the agent went on with.
        for choice in fields::objects(feed, line, &chunk, "choices")? {
            if fields::count(feed, line, choice, "index")?.unwrap_or(0) > 0 {
                feed.skip("choice after the first");
                continue;
            }
            let delta = fields::object(feed, line, choice, "delta")?;
            for key in ["content", "refusal"] {
                stream.text.push_str(fields::text(feed, line, delta, key)?.unwrap_or_default());
            }
            if present(delta, "function_call").is_some() {
                feed.problem(line, "`function_call` in a chunk, expected `tool_calls`")?;
            }
            for call in fields::objects(feed, line, delta, "tool_calls")? {
                let function = fields::object(feed, line, call, "function")?;
                let function = if function.is_null() { call } else { function };
                stream.calls.push(ToolCallDelta {
                    index: fields::count(feed, line, call, "index")?,
                    id: fields::name(feed, line, call, "id")?,
                    name: fields::text(feed, line, function, "name")?.map(str::to_owned),
                    arguments: fields::text(feed, line, function, "arguments")?.map(str::to_owned),
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

/// Adds the first message of a completion's `choices`.
fn add_choices(feed: &mut Feed<'_>, to: &mut Transcript, text: &Text<'_>, completion: &RawValue) -> Step {
    let fields = records::fields(completion);
    let choices = fields::raw_array(feed, text, &fields, "choices")?.unwrap_or_default();
    for (index, choice) in choices.into_iter().enumerate() {
        if index > 0 {
            feed.skip("choice after the first");
            continue;
        }
        let Some(message) = fields::raw_object(feed, text, &records::fields(choice), "message")? else {
            feed.problem(text.line_of(choice), "choice without `message`")?;
            continue;
        };
        let line = text.line_of(message);
        if let Some(message) = records::value(feed, text, message)? {
            messages::add(feed, to, &message, line)?;
        }
    }
    Ok(())
}

/// A chat message, or an item of the Responses interface.
fn item(feed: &mut Feed<'_>, to: &mut Transcript, item: &Value, line: Option<u32>) -> Step {
    let kind = match fields::text(feed, line, item, "type")? {
        Some(kind) if kind != "message" => kind,
        _ => {
            to.end_run();
            return messages::add(feed, to, item, line);
        }
    };
    let id = fields::name_of(feed, line, item, &["call_id", "id"])?;
    let id = id.as_deref();
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
            let id = id.map(approval_id);
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
            let Some(request) = fields::name(feed, line, item, "approval_request_id")? else {
                return feed.problem(line, "`mcp_approval_response` item without `approval_request_id`");
            };
            let approve = fields::flag(feed, line, item, "approve")?;
            if present(item, "approve").is_none() {
                feed.problem_help(
                    line,
                    "`mcp_approval_response` item without `approve`, expected true or false",
                    "the request stays open",
                )?;
            }
            if approve == Some(false) {
                let result = item.get("reason").cloned().unwrap_or_default();
                return to.result(
                    feed,
                    &approval_id(&request),
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
            let outcome = hosted_outcome(feed, item, line)?;
            // An approved request is this call: it stays at the place of its request.
            let request = fields::name(feed, line, item, "approval_request_id")?;
            let approved = request.and_then(|id| to.take_open(&approval_id(&id)));
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
            let outcome = hosted_outcome(feed, item, line)?;
            to.settle(call, outcome);
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
            let failed = match fields::text(feed, line, item, "status")? {
                Some("failed" | "incomplete") => Some(true),
                _ => None,
            };
            let status = judge(feed.options, failed, &result);
            to.result(feed, id, None, Outcome { result, status }, line)
        }
        // What may be a call, or hold one, must not be hidden from the rules.
        _ => feed.problem_help(
            line,
            format!("item of unknown type `{kind}`"),
            "the item is left out; streams of the Responses interface are not read, their responses are",
        ),
    }
}

fn approval_id(id: &str) -> String {
    // No call id holds a line end.
    format!("approval\n{id}")
}

/// The outcome that a hosted tool's item carries itself.
fn hosted_outcome(feed: &mut Feed<'_>, item: &Value, line: Option<u32>) -> Step<Outcome> {
    if let Some(error) = present(item, "error") {
        let status = judge(feed.options, Some(true), &Value::String(json::text(error)));
        return Ok(Outcome { result: error.clone(), status });
    }
    let result = ["output", "outputs", "results", "result"].iter().find_map(|key| item.get(*key)).cloned();
    let result = result.unwrap_or_default();
    let status = match fields::text(feed, line, item, "status")? {
        Some("completed") => Status::Ok,
        Some("failed") => Status::Error,
        Some("in_progress" | "searching" | "interpreting" | "generating" | "calling" | "incomplete") => {
            Status::Unknown
        }
        Some(other) => {
            feed.problem(
                line,
                format!("unknown status `{other}`, expected completed, failed or incomplete"),
            )?;
            Status::Unknown
        }
        None if present(item, "output").is_some() => Status::Ok,
        None => Status::Unknown,
    };
    Ok(Outcome { result, status })
}
