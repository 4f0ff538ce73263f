//! Conversations in their containers: an array of messages, an object around it, one message per line.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::feed::{Feed, Step};
use super::fields::{self, RawFields};
use super::records::{self, Text};
use super::transcript::Transcript;

/// Keys under which an object holds the messages of a conversation.
pub(super) const MESSAGES: &[&str] = &["messages", "traj"];

/// How deep containers may hold containers: an array of exchanges of a request with a body, say.
pub(super) const MAX_DEPTH: usize = 4;

/// Keys under which an object around messages names their session.
const SESSIONS: &[&str] = &["session", "session_id", "conversation_id", "thread_id", "custom_id"];

/// Adds one message or item to a session.
pub(super) type AddItem = fn(&mut Feed<'_>, &mut Transcript, &serde_json::Value, Option<u32>) -> Step;

/// The conversations of one file.
#[derive(Default)]
pub(super) struct Conversations {
    /// Those that more may be added to, in the order of their first messages.
    running: Vec<Transcript>,
    by_session: HashMap<String, usize>,
    /// How many conversations had no name of their own.
    unnamed: u32,
}

impl Conversations {
    /// A name for a conversation that has none: the file's, numbered from the second on.
    pub(super) fn next_name(&mut self, feed: &Feed<'_>) -> String {
        self.unnamed += 1;
        match self.unnamed {
            1 => feed.session().to_owned(),
            n => format!("{}#{n}", feed.session()),
        }
    }

    /// The conversation that goes on through the file under this name.
    pub(super) fn running(&mut self, session: &str) -> &mut Transcript {
        let index = match self.by_session.get(session) {
            Some(&index) => index,
            None => {
                self.running.push(Transcript::new(session));
                self.by_session.insert(session.to_owned(), self.running.len() - 1);
                self.running.len() - 1
            }
        };
        &mut self.running[index]
    }

    /// A conversation that is whole: `messages` is all of it.
    pub(super) fn whole(
        &mut self,
        feed: &mut Feed<'_>,
        text: &Text<'_>,
        session: Option<String>,
        messages: &RawValue,
        add: AddItem,
    ) -> Step {
        let session = session.unwrap_or_else(|| self.next_name(feed));
        let mut transcript = Transcript::new(session);
        add_all(feed, &mut transcript, text, "messages", messages, add)?;
        transcript.finish(feed);
        Ok(())
    }

    /// Hands on what was kept running.
    pub(super) fn finish(self, feed: &mut Feed<'_>) {
        for transcript in self.running {
            transcript.finish(feed);
        }
    }
}

/// Adds every element of an array of messages, which stands under `key`.
pub(super) fn add_all(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    text: &Text<'_>,
    key: &str,
    messages: &RawValue,
    add: AddItem,
) -> Step {
    if !records::is_array(messages) {
        return fields::raw_wrong(feed, text, key, messages, "an array of messages");
    }
    for message in records::elements(messages) {
        let line = text.line_of(message);
        if let Some(message) = records::value(feed, text, message)? {
            add(feed, to, &message, line)?;
        }
    }
    Ok(())
}

/// The messages of an object, with their key.
pub(super) fn messages_of<'t>(
    feed: &mut Feed<'_>,
    text: &Text<'_>,
    fields: &RawFields<'t>,
) -> Step<Option<(&'static str, &'t RawValue)>> {
    let mut found = MESSAGES.iter().filter_map(|key| Some((*key, *fields.get(*key)?)));
    let first = found.next();
    if let Some((key, raw)) = found.next() {
        feed.problem(text.line_of(raw), format!("both `messages` and `{key}`: the first is read"))?;
    }
    Ok(first)
}

/// Keys of plain events and of calls in other forms.
const CALLS: &[&str] = &[
    "tool",
    "tool_name",
    "activity",
    "props",
    "phase",
    "tool_calls",
    "function_call",
    "content",
    "arguments",
];

/// A record without messages is left out and counted; one that may be a call must not be hidden from the rules.
pub(super) fn no_messages(feed: &mut Feed<'_>, fields: &RawFields<'_>, line: Option<u32>) -> Step {
    match CALLS.iter().find(|key| fields::raw_present(fields, key).is_some()) {
        Some(key) => feed.problem_help(
            line,
            format!("record with `{key}` that is no message, expected `role`, or an object with `messages`"),
            "events of another kind among messages must be in a file of their own",
        ),
        None => {
            feed.skip("record without messages");
            Ok(())
        }
    }
}

/// The session that an object names.
pub(super) fn session_of(
    feed: &mut Feed<'_>,
    text: &Text<'_>,
    fields: &RawFields<'_>,
) -> Step<Option<String>> {
    for key in SESSIONS {
        if let Some(name) = fields::raw_name(feed, text, fields, key)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}
