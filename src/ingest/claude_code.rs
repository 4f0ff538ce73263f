//! Claude Code session files: one content block per line, linked into a tree by `parentUuid`.
//!
//! The vendor calls the format internal, so nothing here relies on a record's being complete. A rewound
//! conversation leaves its abandoned branch in the file; what only hangs on such a branch is counted and left
//! out. Sub-agents are sessions of their own.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{Event, Kind, Status};
use super::feed::{Feed, Step};
use super::fields::{self, present};
use super::json::{self, str_at};
use super::messages::{self, Content, Part};
use super::records::{self, Text};
use super::source::Source;
use super::transcript::{Outcome, Transcript};

/// What is kept of a line.
struct Record {
    line: Option<u32>,
    uuid: Option<String>,
    parent: Option<usize>,
    parent_uuid: Option<String>,
    session: Option<String>,
    /// Of a sub-agent; `Some` with an empty name where the log marks it without naming it.
    agent: Option<String>,
    ts: Option<String>,
    /// Is it a user's, or what stands in for one: the results of calls?
    user: bool,
    /// The message, of user and assistant records only.
    message: Option<Value>,
}

pub(super) fn read(feed: &mut Feed<'_>, source: Source) -> Step {
    let mut log = Vec::new();
    let mut known = HashMap::new();
    let done = records::for_each(feed, source, |feed, text, raw| {
        let fields = records::fields(raw);
        if fields.contains_key("loglines") {
            let lines = fields::raw_array(feed, text, &fields, "loglines")?.unwrap_or_default();
            return lines.into_iter().try_for_each(|raw| add(feed, &mut log, &mut known, text, raw));
        }
        add(feed, &mut log, &mut known, text, raw)
    });
    link(&mut log);
    let emitted = emit(feed, log);
    done.and(emitted)
}

fn add(
    feed: &mut Feed<'_>,
    log: &mut Vec<Record>,
    known: &mut HashMap<String, u64>,
    text: &Text<'_>,
    raw: &RawValue,
) -> Step {
    let line = text.line_of(raw);
    let Some(mut value) = records::value(feed, text, raw)? else { return Ok(()) };
    if !value.is_object() {
        return feed.problem(line, format!("record is {}, expected an object", json::kind(&value)));
    }
    let mut names = [const { None }; 5];
    for (key, name) in ["uuid", "parentUuid", "sessionId", "timestamp", "agentId"].iter().zip(&mut names) {
        *name = fields::name(feed, line, &value, key)?;
    }
    let [uuid, parent_uuid, session, ts, agent] = names;
    let side = fields::flag(feed, line, &value, "isSidechain")?.unwrap_or(false);
    let summary = fields::flag(feed, line, &value, "isCompactSummary")?.unwrap_or(false);
    if let Some(uuid) = &uuid {
        let content = json::hash(value.get("message"));
        match known.insert(uuid.clone(), content) {
            // Resumed sessions begin with a copy of what they resume.
            Some(first) if first == content => {
                feed.skip("record that is there twice (same `uuid`)");
                return Ok(());
            }
            Some(_) => {
                let found = format!("another record with `uuid` `{uuid}`, whose message is not the same");
                feed.problem_help(line, found, "both are read")?;
            }
            None => {}
        }
    }
    let is_message = match fields::text(feed, line, &value, "type")? {
        Some("user" | "assistant") if summary => {
            feed.skip("summary of a compacted conversation");
            false
        }
        Some("user" | "assistant") => true,
        Some(kind) => {
            feed.skip(&format!("`{kind}` record"));
            false
        }
        None => {
            // A message of another form, say: it may hold calls.
            if present(&value, "type").is_none() {
                feed.problem(line, "record without `type`, expected user, assistant or the name of another")?;
            }
            false
        }
    };
    let message = fields::object(feed, line, &value, "message")?;
    if is_message && present(&value, "message").is_none() {
        feed.problem(line, "record without `message`")?;
    }
    let agent = agent.filter(|_| side || in_subagents(feed.path()));
    let agent = agent.or_else(|| {
        if in_subagents(feed.path()) {
            let stem = feed.path().file_stem()?.to_string_lossy();
            Some(stem.strip_prefix("agent-").unwrap_or(&stem).to_owned())
        } else {
            side.then(String::new)
        }
    });
    let is_message = is_message && message.is_object();
    log.push(Record {
        line,
        uuid,
        parent: None,
        user: str_at(&value, "type") == Some("user"),
        parent_uuid,
        session,
        agent,
        ts,
        message: value.get_mut("message").map(Value::take).filter(|_| is_message),
    });
    Ok(())
}

/// Sub-agents of session S stand in `S/subagents/`.
fn in_subagents(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == "subagents")
}

/// Resolves `parentUuid`. A link from a sub-agent to the session that started it does not count.
fn link(log: &mut [Record]) {
    let by_uuid: HashMap<String, usize> =
        log.iter().enumerate().filter_map(|(index, record)| Some((record.uuid.clone()?, index))).collect();
    for index in 0..log.len() {
        let parent = log[index].parent_uuid.as_ref().and_then(|uuid| by_uuid.get(uuid)).copied();
        log[index].parent = parent.filter(|&parent| parent != index && log[parent].agent == log[index].agent);
    }
}

/// For each record the first record of the tree it is in.
fn roots(log: &[Record]) -> Vec<usize> {
    let mut root: Vec<Option<usize>> = vec![None; log.len()];
    for start in 0..log.len() {
        let mut path = Vec::new();
        let mut on_path = HashSet::new();
        let mut at = start;
        let found = loop {
            if let Some(found) = root[at] {
                break found;
            }
            // A broken log may go round in a circle; cut it here.
            if !on_path.insert(at) {
                break at;
            }
            path.push(at);
            match log[at].parent {
                Some(parent) => at = parent,
                None => break at,
            }
        };
        for index in path {
            root[index] = Some(found);
        }
    }
    root.into_iter().enumerate().map(|(index, root)| root.unwrap_or(index)).collect()
}

/// Which records are on the conversation's last branch.
///
/// The branch is the way from the last message of a tree to its root. A message that only brings results does not
/// count as the last one if there is another: the result of a slow call may come when the talk is far ahead. Beside it live the other blocks of a
/// message on it (calls issued together) and the results of calls on it, wherever they hang. Trees without a
/// link between them (after a compaction, a resume, a lost line) do not abandon each other.
fn live(log: &[Record], roots: &[usize]) -> Vec<bool> {
    let mut live = vec![false; log.len()];
    let mut last = HashMap::new();
    for (index, record) in log.iter().enumerate() {
        let Some(message) = &record.message else { continue };
        if only_results(message) {
            last.entry(roots[index]).or_insert(index);
        } else {
            last.insert(roots[index], index);
        }
    }
    // All that would come alive with a message id, or with the call whose result it is.
    let mut same_message: HashMap<(usize, &str), Vec<usize>> = HashMap::new();
    let mut results: HashMap<(usize, &str), Vec<usize>> = HashMap::new();
    for (index, record) in log.iter().enumerate() {
        let Some(message) = &record.message else { continue };
        if let Some(id) = str_at(message, "id") {
            same_message.entry((roots[index], id)).or_default().push(index);
        }
        for block in messages::blocks(message) {
            if let Some(id) = str_at(block, "tool_use_id") {
                results.entry((roots[index], id)).or_default().push(index);
            }
        }
    }
    let mut work: Vec<usize> = last.into_values().collect();
    while let Some(index) = work.pop() {
        if std::mem::replace(&mut live[index], true) {
            continue;
        }
        work.extend(log[index].parent);
        let Some(message) = &log[index].message else { continue };
        if let Some(others) = str_at(message, "id").and_then(|id| same_message.get(&(roots[index], id))) {
            work.extend(others);
        }
        for block in messages::blocks(message) {
            if let Some(others) = str_at(block, "id").and_then(|id| results.get(&(roots[index], id))) {
                work.extend(others);
            }
        }
    }
    live
}

fn only_results(message: &Value) -> bool {
    let blocks = messages::blocks(message);
    !blocks.is_empty() && blocks.iter().all(|block| block.get("tool_use_id").is_some())
}

/// File order, but for records that stand before their parents.
fn parents_first(log: &[Record]) -> Vec<usize> {
    let mut order = Vec::with_capacity(log.len());
    let mut done = vec![false; log.len()];
    for start in 0..log.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(index) = at.filter(|&index| !done[index]) {
            done[index] = true;
            path.push(index);
            at = log[index].parent;
        }
        order.extend(path.into_iter().rev());
    }
    order
}

/// The session of each tree: that of its last record (a resumed session begins with records of the old one).
fn sessions(feed: &Feed<'_>, log: &[Record], roots: &[usize]) -> HashMap<usize, String> {
    let mut names: HashMap<usize, &str> = HashMap::new();
    for (index, record) in log.iter().enumerate() {
        if let Some(session) = &record.session {
            names.insert(roots[index], session);
        }
    }
    let main = match feed.path().parent().and_then(Path::parent).and_then(Path::file_name) {
        Some(folder) if in_subagents(feed.path()) => folder.to_string_lossy().into_owned(),
        _ => feed.session().to_owned(),
    };
    let mut sidechains: HashMap<&str, u32> = HashMap::new();
    let mut sessions = HashMap::new();
    for (index, record) in log.iter().enumerate() {
        if roots[index] != index {
            continue;
        }
        let session = names.get(&index).copied().unwrap_or(&main);
        let name = match record.agent.as_deref() {
            None => session.to_owned(),
            Some("") => {
                let number = sidechains.entry(session).or_default();
                *number += 1;
                format!("{session}/sidechain-{number}")
            }
            Some(agent) => format!("{session}/agent-{agent}"),
        };
        sessions.insert(index, name);
    }
    sessions
}

/// The parts of a transcript that the message format does not know.
struct Session {
    transcript: Transcript,
    /// Group and text so far of each message, whose blocks stand on lines of their own.
    messages: HashMap<String, (u32, String)>,
}

fn emit(feed: &mut Feed<'_>, log: Vec<Record>) -> Step {
    let roots = roots(&log);
    let live = live(&log, &roots);
    let names = sessions(feed, &log, &roots);
    let mut sessions: Vec<Session> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    let mut done = Ok(());
    for index in parents_first(&log) {
        let record = &log[index];
        let Some(message) = &record.message else { continue };
        if !live[index] {
            feed.skip("record on an abandoned branch");
            continue;
        }
        let Some(name) = names.get(&roots[index]) else { continue };
        if let Some(uuid) = &record.uuid
            && !feed.first_time(name, uuid)
        {
            feed.skip("record that another file of the session has too");
            continue;
        }
        let at = *by_name.entry(name).or_insert_with(|| {
            sessions.push(Session { transcript: Transcript::new(name), messages: HashMap::new() });
            sessions.len() - 1
        });
        done = message_blocks(feed, &mut sessions[at], record, message);
        if done.is_err() {
            break;
        }
    }
    for session in sessions {
        session.transcript.finish(feed);
    }
    done
}

fn message_blocks(feed: &mut Feed<'_>, to: &mut Session, record: &Record, message: &Value) -> Step {
    let Record { line, ts, user, .. } = record;
    match fields::text(feed, *line, message, "role")? {
        Some(role) if role != if *user { "user" } else { "assistant" } => {
            return feed
                .problem(*line, format!("message of role `{role}`, expected that of the record's type"));
        }
        _ => {}
    }
    if *user {
        return user_blocks(feed, to, record, message);
    }
    let parts = messages::parts(feed, message, *line)?;
    // A message without an id is all on this line.
    let mut own = None;
    let (group, text) = match fields::name(feed, *line, message, "id")? {
        Some(id) => to.messages.entry(id).or_insert_with(|| (to.transcript.new_group(), String::new())),
        None => own.insert((to.transcript.new_group(), String::new())),
    };
    let mut results = Vec::new();
    for part in parts {
        let (kind, block) = match part {
            Part::Text(part) => {
                if !part.trim().is_empty() {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(part);
                }
                to.transcript.message(feed, Kind::Assistant, part.to_owned(), ts.clone(), *line);
                continue;
            }
            Part::Other(kind, block) => (kind, block),
        };
        match kind {
            kind if messages::is_call(kind) => {
                let Some((tool, args, id)) = messages::called(feed, kind, block, *line)? else { continue };
                let event = Event { tool, args, text: text.clone(), ts: ts.clone(), ..Event::default() };
                to.transcript.call(feed, id.as_deref(), *group, event, *line);
            }
            kind if kind.ends_with("tool_result") => results.push(block),
            kind => feed.skip(&format!("`{kind}` block")),
        }
    }
    results.into_iter().try_for_each(|block| result(feed, to, block, *line))
}

/// What a user says, and the results of calls.
fn user_blocks(feed: &mut Feed<'_>, to: &mut Session, record: &Record, message: &Value) -> Step {
    let Record { line, ts, .. } = record;
    let content = Content::read(feed, message, *line)?;
    for (kind, block) in content.others {
        match kind {
            kind if messages::is_call(kind) => {
                let found = format!("`{kind}` block in a message of role `user`, expected role `assistant`");
                feed.problem(*line, found)?;
            }
            kind if kind.ends_with("tool_result") => result(feed, to, block, *line)?,
            kind => feed.skip(&format!("`{kind}` block")),
        }
    }
    to.transcript.message(feed, Kind::User, content.text, ts.clone(), *line);
    Ok(())
}

fn result(feed: &mut Feed<'_>, to: &mut Session, block: &Value, line: Option<u32>) -> Step {
    let Some(id) = fields::name(feed, line, block, "tool_use_id")? else {
        return feed.problem(line, "`tool_result` block without `tool_use_id`");
    };
    let Outcome { result, mut status } = messages::block_outcome(feed, block, line)?;
    // Nobody knows how far an interrupted call got.
    if json::text(&result).starts_with("[Request interrupted by user") {
        status = Status::Unknown;
    }
    to.transcript.result(feed, &id, None, Outcome { result, status }, line)
}
