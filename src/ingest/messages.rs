//! Chat messages, whoever's: OpenAI's `tool_calls` and `role: tool`, Anthropic's `tool_use` and `tool_result`
//! blocks, Inspect's variant of the first.
//!
//! A message is one event. A message that issues calls is its calls instead, each of them with its text.

use serde_json::Value;

use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::json::{self, content_result, content_text, has, str_at, str_of};
use super::transcript::{Outcome, Transcript, judge};

/// Adds one message.
pub(super) fn add(feed: &mut Feed<'_>, to: &mut Transcript, message: &Value, line: Option<u32>) -> Step {
    if !message.is_object() {
        return feed.problem(line, format!("message is {}, expected an object", json::kind(message)));
    }
    let content = message.get("content").unwrap_or(&Value::Null);
    // Case is no reason to lose a message.
    let role = str_at(message, "role").map(str::to_ascii_lowercase);
    match role.as_deref() {
        Some("user" | "human") => {
            json::check_content(feed, content, line)?;
            results_of(feed, to, content, line)?;
            to.message(feed, Kind::User, content_text(content), time(message), line);
            Ok(())
        }
        Some("assistant" | "model" | "ai") => {
            json::check_content(feed, content, line)?;
            assistant(feed, to, message, content, line)
        }
        Some("tool" | "function") => tool_message(feed, to, message, content, line),
        Some(role @ ("system" | "developer")) => {
            feed.skip(&format!("{role} message"));
            Ok(())
        }
        Some(role) => {
            feed.skip(&format!("message of role `{role}`"));
            Ok(())
        }
        None => feed.problem(line, "message without `role`, expected user, assistant, tool or system"),
    }
}

/// When a message was written, if it says.
pub(super) fn time(message: &Value) -> Option<String> {
    json::name_of(message, &["timestamp", "created_at", "ts"])
}

fn assistant(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    message: &Value,
    content: &Value,
    line: Option<u32>,
) -> Step {
    let mut text = content_text(content);
    if text.is_empty()
        && let Some(refusal) = str_at(message, "refusal")
    {
        refusal.clone_into(&mut text);
    }
    let ts = time(message);
    let group = to.new_group();
    let mut calls = 0;
    for call in json::list_at(feed, message, "tool_calls", line)? {
        let Some((tool, args)) = named_call(call) else {
            feed.problem(line, "tool call without a name, expected `function.name`")?;
            continue;
        };
        let id = str_at(call, "id");
        let args = arguments(feed, &tool, args, line)?;
        let event = Event { tool, args, text: text.clone(), ts: ts.clone(), ..Event::default() };
        to.call(feed, id, group, event, line);
        calls += 1;
    }
    // The form before `tool_calls`: one call without an id, answered by the next `role: function` of its name.
    if let Some(call) = message.get("function_call").filter(|call| !call.is_null()) {
        match str_at(call, "name") {
            Some(tool) => {
                let args = arguments(feed, tool, call.get("arguments").cloned(), line)?;
                let event = Event {
                    tool: tool.to_owned(),
                    args,
                    text: text.clone(),
                    ts: ts.clone(),
                    ..Event::default()
                };
                to.call(feed, Some(&legacy_id(tool)), group, event, line);
                calls += 1;
            }
            None => feed.problem(line, "`function_call` without a name")?,
        }
    }
    for block in blocks(content) {
        let Some(kind) = str_at(block, "type") else {
            if block.is_object() {
                feed.problem(line, "a block of `content` has no `type`")?;
            }
            continue;
        };
        match kind {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let Some(tool) = str_at(block, "name") else {
                    feed.problem(line, format!("`{kind}` block without `name`"))?;
                    continue;
                };
                let args = block.get("input").cloned().unwrap_or_default();
                let event = Event {
                    tool: tool.to_owned(),
                    args,
                    text: text.clone(),
                    ts: ts.clone(),
                    ..Event::default()
                };
                to.call(feed, str_at(block, "id"), group, event, line);
                calls += 1;
            }
            _ if kind.ends_with("tool_result") => result_block(feed, to, block, line)?,
            _ => {}
        }
    }
    if calls == 0 {
        to.message(feed, Kind::Assistant, text, ts, line);
    }
    Ok(())
}

/// The blocks of a message: a list, or one on its own.
fn blocks(content: &Value) -> &[Value] {
    match content {
        Value::Array(blocks) => blocks,
        Value::Object(_) => std::slice::from_ref(content),
        _ => &[],
    }
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
            Ok(args) => Ok(args),
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

fn tool_message(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    message: &Value,
    content: &Value,
    line: Option<u32>,
) -> Step {
    let tool = str_of(message, &["name", "function"]);
    let outcome = tool_outcome(feed, message, content);
    // `tool_call_ids`: some logs answer several calls by one message.
    let ids = json::list_at(feed, message, "tool_call_ids", line)?;
    if !has(message, "tool_call_id") && !ids.is_empty() {
        for id in ids {
            let Some(id) = id.as_str() else {
                feed.problem(
                    line,
                    format!("an element of `tool_call_ids` is {}, expected a string", json::kind(id)),
                )?;
                continue;
            };
            let outcome = Outcome { result: outcome.result.clone(), status: outcome.status };
            to.result(feed, id, tool, outcome, line)?;
        }
        return Ok(());
    }
    match (str_at(message, "tool_call_id"), tool) {
        (Some(id), tool) => to.result(feed, id, tool, outcome, line),
        (None, Some(tool)) => to.result(feed, &legacy_id(tool), Some(tool), outcome, line),
        (None, None) => feed.problem(line, "tool message without `tool_call_id`"),
    }
}

/// The outcome in a `role: tool` message. OpenAI's has no error flag; Inspect's has an `error` object.
pub(super) fn tool_outcome(feed: &Feed<'_>, message: &Value, content: &Value) -> Outcome {
    let result = content_result(content);
    if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        let status = match str_at(error, "type") {
            Some("approval") => Status::Denied,
            _ => judge(feed.options, Some(true), &Value::String(json::text(error))),
        };
        let empty = result.is_null() || result.as_str().is_some_and(str::is_empty);
        let result = if empty { error.get("message").unwrap_or(error).clone() } else { result };
        return Outcome { result, status };
    }
    let flag = ["is_error", "isError"].iter().find_map(|key| message.get(*key)).and_then(Value::as_bool);
    let status = judge(feed.options, flag, &result);
    Outcome { result, status }
}

/// All `tool_result` blocks of a user message.
fn results_of(feed: &mut Feed<'_>, to: &mut Transcript, content: &Value, line: Option<u32>) -> Step {
    for block in content.as_array().map_or(&[][..], Vec::as_slice) {
        if str_at(block, "type").is_some_and(|kind| kind.ends_with("tool_result")) {
            result_block(feed, to, block, line)?;
        }
    }
    Ok(())
}

/// One `tool_result` (or `web_search_tool_result`, `mcp_tool_result`, ...) block.
pub(super) fn result_block(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    block: &Value,
    line: Option<u32>,
) -> Step {
    let Some(id) = str_at(block, "tool_use_id") else {
        return feed.problem(line, "`tool_result` block without `tool_use_id`");
    };
    let outcome = block_outcome(feed, block);
    to.result(feed, id, None, outcome, line)
}

/// The outcome in a `tool_result` block: without `is_error` it is a success.
pub(super) fn block_outcome(feed: &Feed<'_>, block: &Value) -> Outcome {
    let content = block.get("content").unwrap_or(&Value::Null);
    let result = content_result(content);
    // Server tools put `{"type": "..._tool_result_error"}` into their content.
    let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false)
        || str_at(content, "type").is_some_and(|kind| kind.ends_with("_error"));
    let status = judge(feed.options, Some(failed), &result);
    Outcome { result, status }
}
