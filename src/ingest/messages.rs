//! Chat messages, whoever's: OpenAI's `tool_calls` and `role: tool`, Anthropic's `tool_use` and `tool_result`
//! blocks, Inspect's variant of the first.
//!
//! A message is one event. A message that issues calls is its calls instead, each of them with its text.

use std::borrow::Cow;

use serde_json::Value;

use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::fields::{self, present};
use super::json::{self, content_result, str_at};
use super::records;
use super::transcript::{Outcome, Transcript, judge};

/// Adds one message.
pub(super) fn add(feed: &mut Feed<'_>, to: &mut Transcript, message: &Value, line: Option<u32>) -> Step {
    if !message.is_object() {
        return feed.problem(line, format!("message is {}, expected an object", json::kind(message)));
    }
    const ROLES: &str = "user, assistant, tool or system";
    match present(message, "role") {
        // Case is no reason to lose a message.
        Some(Value::String(role)) => match role.to_ascii_lowercase().as_str() {
            "user" | "human" => user(feed, to, message, line),
            "assistant" | "model" | "ai" => assistant(feed, to, message, line),
            "tool" | "function" => {
                no_calls(feed, message, line)?;
                tool_message(feed, to, message, line)
            }
            role @ ("system" | "developer") => {
                no_calls(feed, message, line)?;
                feed.skip(&format!("{role} message"));
                Ok(())
            }
            _ => feed.problem_help(
                line,
                format!("message of role `{role}`, expected {ROLES}"),
                "the message is left out",
            ),
        },
        Some(role) => fields::wrong(feed, line, "role", role, ROLES),
        None => feed.problem(line, format!("message without `role`, expected {ROLES}")),
    }
}

/// When a message was written, if it says.
pub(super) fn time(feed: &mut Feed<'_>, message: &Value, line: Option<u32>) -> Step<Option<String>> {
    fields::name_of(feed, line, message, &["timestamp", "created_at", "ts"])
}

/// Only an assistant calls tools: calls anywhere else are not read, so they must be said.
fn no_calls(feed: &mut Feed<'_>, message: &Value, line: Option<u32>) -> Step {
    for key in ["tool_calls", "function_call"] {
        let calls = present(message, key);
        if calls.is_some_and(|calls| !calls.as_array().is_some_and(Vec::is_empty)) {
            let role = str_at(message, "role").unwrap_or_default();
            let found = format!("`{key}` in a message of role `{role}`, expected role `assistant`");
            feed.problem(line, found)?;
        }
    }
    Ok(())
}

fn user(feed: &mut Feed<'_>, to: &mut Transcript, message: &Value, line: Option<u32>) -> Step {
    no_calls(feed, message, line)?;
    let content = Content::read(feed, message, line)?;
    let mut results = 0;
    for (kind, block) in &content.others {
        match *kind {
            kind if is_call(kind) => {
                let found = format!("`{kind}` block in a message of role `user`, expected role `assistant`");
                feed.problem(line, found)?;
            }
            kind if kind.ends_with("tool_result") => {
                results += 1;
                result_block(feed, to, block, line)?;
            }
            kind => feed.skip(&format!("`{kind}` block")),
        }
    }
    let ts = time(feed, message, line)?;
    if results == 0 && content.text.trim().is_empty() {
        feed.skip("message without text");
    }
    to.message(feed, Kind::User, content.text, ts, line);
    Ok(())
}

/// Is a block of this type a call?
pub(super) fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
}

/// A message's `content`, read: a string, a block or an array of blocks.
#[derive(Default)]
pub(super) struct Content<'v> {
    /// The texts, one per line.
    pub(super) text: String,
    /// All that is no text, with its `type`.
    pub(super) others: Vec<(&'v str, &'v Value)>,
}

/// A part of a `content`.
pub(super) enum Part<'v> {
    Text(&'v str),
    /// `type`, and the block.
    Other(&'v str, &'v Value),
}

impl<'v> Content<'v> {
    /// Reads the `content` of a message; what is no part of one is reported.
    pub(super) fn read(feed: &mut Feed<'_>, message: &'v Value, line: Option<u32>) -> Step<Self> {
        let mut texts = Vec::new();
        let mut others = Vec::new();
        for part in parts(feed, message, line)? {
            match part {
                Part::Text(text) => texts.push(text),
                Part::Other(kind, block) => others.push((kind, block)),
            }
        }
        Ok(Content { text: texts.join("\n"), others })
    }
}

/// What stands in a message's `content`: an array of blocks, or one without an array around it.
pub(super) fn blocks(message: &Value) -> &[Value] {
    match message.get("content") {
        Some(Value::Array(blocks)) => blocks.as_slice(),
        Some(content @ (Value::String(_) | Value::Object(_))) => std::slice::from_ref(content),
        None | Some(Value::Null | Value::Bool(_) | Value::Number(_)) => &[],
    }
}

/// The parts of a message's `content` in their order; what is none is reported.
pub(super) fn parts<'v>(feed: &mut Feed<'_>, message: &'v Value, line: Option<u32>) -> Step<Vec<Part<'v>>> {
    if let Some(other @ (Value::Bool(_) | Value::Number(_))) = message.get("content") {
        fields::wrong(feed, line, "content", other, "a string or an array of blocks")?;
    }
    let blocks = blocks(message);
    let mut parts = Vec::with_capacity(blocks.len());
    for block in blocks {
        if let Value::String(text) = block {
            parts.push(Part::Text(text));
            continue;
        }
        if !block.is_object() {
            let found = format!("a block of `content` is {}, expected an object", json::kind(block));
            feed.problem(line, found)?;
            continue;
        }
        let kind = fields::text(feed, line, block, "type")?;
        match kind {
            Some("text" | "input_text" | "output_text" | "refusal") | None => {
                match fields::text_of(feed, line, block, &["text", "refusal"])? {
                    Some(text) => parts.push(Part::Text(text)),
                    None if kind.is_some() => {
                        feed.problem(line, "text block of `content` without `text`")?;
                    }
                    None => feed.problem(line, "a block of `content` has neither `type` nor `text`")?,
                }
            }
            Some(kind) => parts.push(Part::Other(kind, block)),
        }
    }
    Ok(parts)
}

fn assistant(feed: &mut Feed<'_>, to: &mut Transcript, message: &Value, line: Option<u32>) -> Step {
    let Content { mut text, others } = Content::read(feed, message, line)?;
    if let Some(refusal) = fields::text(feed, line, message, "refusal")?
        && text.is_empty()
    {
        refusal.clone_into(&mut text);
    }
    let ts = time(feed, message, line)?;
    let group = to.new_group();
    let mut calls = 0;
    let event = |tool: String, args: Value| Event {
        tool,
        args,
        text: text.clone(),
        ts: ts.clone(),
        ..Event::default()
    };
    for call in fields::objects(feed, line, message, "tool_calls")? {
        let Some((tool, args)) = named_call(call) else {
            feed.problem(line, "tool call without a name, expected `function.name`")?;
            continue;
        };
        let id = fields::name(feed, line, call, "id")?;
        let args = arguments(feed, &tool, args, line)?;
        to.call(feed, id.as_deref(), group, event(tool, args), line);
        calls += 1;
    }
    // The form before `tool_calls`: one call without an id, answered by the next `role: function` of its name.
    if let Some(call) = present(message, "function_call") {
        match str_at(call, "name") {
            Some(tool) => {
                let args = arguments(feed, tool, call.get("arguments").cloned(), line)?;
                to.call(feed, Some(&legacy_id(tool)), group, event(tool.to_owned(), args), line);
                calls += 1;
            }
            None => feed.problem(line, "`function_call` without a name")?,
        }
    }
    for (kind, block) in others {
        match kind {
            kind if is_call(kind) => {
                let Some((tool, args, id)) = called(feed, kind, block, line)? else { continue };
                to.call(feed, id.as_deref(), group, event(tool, args), line);
                calls += 1;
            }
            kind if kind.ends_with("tool_result") => result_block(feed, to, block, line)?,
            kind => feed.skip(&format!("`{kind}` block")),
        }
    }
    if calls == 0 {
        if text.trim().is_empty() {
            feed.skip("message without text");
        }
        to.message(feed, Kind::Assistant, text, ts, line);
    }
    Ok(())
}

/// Tool, arguments and id of a `tool_use` block; `None` (and a problem) if it has no name.
pub(super) fn called(
    feed: &mut Feed<'_>,
    kind: &str,
    block: &Value,
    line: Option<u32>,
) -> Step<Option<(String, Value, Option<String>)>> {
    let Some(tool) = str_at(block, "name") else {
        feed.problem(line, format!("`{kind}` block without `name`"))?;
        return Ok(None);
    };
    let id = fields::name(feed, line, block, "id")?;
    Ok(Some((tool.to_owned(), block.get("input").cloned().unwrap_or_default(), id)))
}

/// Name and arguments of an element of `tool_calls`.
fn named_call(call: &Value) -> Option<(String, Option<Value>)> {
    // A custom tool takes free text.
    if let Some(custom) = call.get("custom").filter(|custom| custom.is_object()) {
        let args = custom.get("input").map(|input| serde_json::json!({ "input": input }));
        return Some((str_at(custom, "name")?.to_owned(), args));
    }
    let function = call.get("function").or_else(|| call.get("custom"));
    // Inspect: `function` is the name itself, `arguments` are beside it.
    let (tool, holder) = match function {
        Some(Value::String(tool)) => (tool.as_str(), call),
        Some(function) => (str_at(function, "name")?, function),
        None => (str_at(call, "name")?, call),
    };
    let args = ["arguments", "input", "args"].iter().find_map(|key| holder.get(*key)).cloned();
    Some((tool.to_owned(), args))
}

/// `arguments`, a JSON text (or, in some logs, an object). What is no JSON is reported and kept as the text it is.
pub(super) fn arguments(
    feed: &mut Feed<'_>,
    tool: &str,
    args: Option<Value>,
    line: Option<u32>,
) -> Step<Value> {
    match args {
        None | Some(Value::Null) => Ok(Value::Null),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(json::object()),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(args) => {
                for key in records::twice(&text) {
                    let message =
                        format!("key `{key}` is there twice in the arguments of a call of `{tool}`");
                    feed.problem_help(line, message, "the last one counts")?;
                }
                Ok(args)
            }
            Err(error) => {
                let message =
                    format!("arguments of a call of `{tool}` are not JSON: {}", json::error_text(&error));
                feed.problem_help(line, message, "the call is kept, with its arguments as text")?;
                Ok(Value::String(text))
            }
        },
        Some(args) => Ok(args),
    }
}

fn legacy_id(tool: &str) -> String {
    // No id of the newer form holds a line end.
    format!("function\n{tool}")
}

fn tool_message(feed: &mut Feed<'_>, to: &mut Transcript, message: &Value, line: Option<u32>) -> Step {
    let tool = fields::text_of(feed, line, message, &["name", "function"])?;
    let outcome = tool_outcome(feed, message, message.get("content").unwrap_or(&Value::Null), line)?;
    let id = fields::name(feed, line, message, "tool_call_id")?;
    // `tool_call_ids`: some logs answer several calls by one message.
    let ids = fields::array(feed, line, message, "tool_call_ids")?;
    if id.is_none() && !ids.is_empty() {
        for id in ids {
            let Some(id) = json::name(id) else {
                fields::wrong(feed, line, "tool_call_ids", id, "strings in it")?;
                continue;
            };
            let outcome = Outcome { result: outcome.result.clone(), status: outcome.status };
            to.result(feed, &id, tool, outcome, line)?;
        }
        return Ok(());
    }
    let id = match (&id, tool) {
        (Some(id), _) => Cow::Borrowed(id.as_str()),
        (None, Some(tool)) => Cow::Owned(legacy_id(tool)),
        (None, None) => return feed.problem(line, "tool message without `tool_call_id`"),
    };
    to.result(feed, &id, tool, outcome, line)
}

/// The outcome in a `role: tool` message. OpenAI's has no error flag; Inspect's has an `error` object.
pub(super) fn tool_outcome(
    feed: &mut Feed<'_>,
    message: &Value,
    content: &Value,
    line: Option<u32>,
) -> Step<Outcome> {
    let result = content_result(content);
    if let Some(error) = present(message, "error") {
        let status = match str_at(error, "type") {
            Some("approval") => Status::Denied,
            _ => judge(feed.options, Some(true), &Value::String(json::text(error))),
        };
        let empty = result.is_null() || result.as_str().is_some_and(str::is_empty);
        let result = if empty { error.get("message").unwrap_or(error).clone() } else { result };
        return Ok(Outcome { result, status });
    }
    let mut failed = None;
    for key in ["is_error", "isError"] {
        failed = failed.or(fields::flag(feed, line, message, key)?);
    }
    let status = judge(feed.options, failed, &result);
    Ok(Outcome { result, status })
}

/// One `tool_result` (or `web_search_tool_result`, `mcp_tool_result`, ...) block.
pub(super) fn result_block(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    block: &Value,
    line: Option<u32>,
) -> Step {
    let Some(id) = fields::name(feed, line, block, "tool_use_id")? else {
        return feed.problem(line, "`tool_result` block without `tool_use_id`");
    };
    let outcome = block_outcome(feed, block, line)?;
    to.result(feed, &id, None, outcome, line)
}

/// The outcome in a `tool_result` block: without `is_error` it is a success.
pub(super) fn block_outcome(feed: &mut Feed<'_>, block: &Value, line: Option<u32>) -> Step<Outcome> {
    let content = block.get("content").unwrap_or(&Value::Null);
    let result = content_result(content);
    // Server tools put `{"type": "..._tool_result_error"}` into their content.
    let failed = fields::flag(feed, line, block, "is_error")?.unwrap_or(false)
        || str_at(content, "type").is_some_and(|kind| kind.ends_with("_error"));
    let status = judge(feed.options, Some(failed), &result);
    Ok(Outcome { result, status })
}
