//! Conversations in their containers: an array of messages, an object around it, one message per line.

use std::collections::{BTreeMap, HashMap};

use serde_json::value::RawValue;

use super::feed::{Feed, Step};
use super::json;
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
        add_all(feed, &mut transcript, text, messages, add)?;
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

/// Adds every element of an array of messages.
pub(super) fn add_all(
    feed: &mut Feed<'_>,
    to: &mut Transcript,
    text: &Text<'_>,
    messages: &RawValue,
    add: AddItem,
) -> Step {
    if !records::is_array(messages) {
        return feed.problem(text.line_of(messages), "messages are no array");
    }
    for message in records::elements(messages) {
        let line = text.line_of(message);
        if let Some(message) = records::value(feed, text, message)? {
            add(feed, to, &message, line)?;
        }
    }
    Ok(())
}

/// The session that an object names.
pub(super) fn session_of(fields: &BTreeMap<String, &RawValue>) -> Option<String> {
    SESSIONS.iter().find_map(|key| name_in(fields, key))
}

/// A string or number among the fields.
pub(super) fn name_in(fields: &BTreeMap<String, &RawValue>, key: &str) -> Option<String> {
    let raw = fields.get(key)?;
    // An object of any size may stand there: do not read it for a name.
    if records::is_object(raw) || records::is_array(raw) {
        return None;
    }
    json::name(&serde_json::from_str(raw.get()).ok()?)
}
