//! Anthropic messages: requests, responses, batches of them, or bare messages one per line.

use serde_json::value::RawValue;

use super::conversations::{self, Conversations, MESSAGES};
use super::feed::{Feed, Step};
use super::fields;
use super::messages;
use super::records::{self, Text};
use super::source::Source;
use super::transcript::Transcript;

pub(super) fn read(feed: &mut Feed<'_>, source: Source) -> Step {
    let mut conversations = Conversations::default();
    let done =
        records::for_each(feed, source, |feed, text, raw| record(feed, &mut conversations, text, raw, 0));
    conversations.finish(feed);
    done
}

fn record(
    feed: &mut Feed<'_>,
    to: &mut Conversations,
    text: &Text<'_>,
    raw: &RawValue,
    depth: usize,
) -> Step {
    let line = text.line_of(raw);
    if depth > conversations::MAX_DEPTH {
        return feed.problem(line, "records within records, too deep to be conversations");
    }
    if records::is_array(raw) {
        let elements = records::elements(raw);
        let nested = |raw: &&RawValue| records::is_array(raw) || holds_messages(raw);
        if elements.iter().any(nested) {
            return elements.into_iter().try_for_each(|raw| record(feed, to, text, raw, depth + 1));
        }
        return to.whole(feed, text, None, raw, messages::add);
    }
    if !records::is_object(raw) {
        return feed.problem(line, "record is no object, expected a message or an object with `messages`");
    }
    let fields = records::fields(raw);
    let session = conversations::session_of(feed, text, &fields)?;
    if fields.contains_key("role") {
        let Some(message) = records::value(feed, text, raw)? else { return Ok(()) };
        let session = session.unwrap_or_else(|| feed.session().to_owned());
        return messages::add(feed, to.running(&session), &message, line);
    }
    if !holds_messages(raw) {
        for key in WRAPPERS {
            fields::raw_object(feed, text, &fields, key)?;
        }
        return conversations::no_messages(feed, &fields, line);
    }
    // A logged exchange: the request has the conversation so far, the response goes on with it.
    let session = session.unwrap_or_else(|| to.next_name(feed));
    let mut transcript = Transcript::new(session);
    exchange(feed, &mut transcript, text, raw, 0)?;
    transcript.finish(feed);
    Ok(())
}

/// Keys of the wrappers around a request and its response, in the order of time.
const WRAPPERS: &[&str] = &["params", "request", "body", "response", "result", "message"];

fn exchange(feed: &mut Feed<'_>, to: &mut Transcript, text: &Text<'_>, raw: &RawValue, depth: usize) -> Step {
    let fields = records::fields(raw);
    if fields.contains_key("role") {
        let line = text.line_of(raw);
        if let Some(message) = records::value(feed, text, raw)? {
            messages::add(feed, to, &message, line)?;
        }
        return Ok(());
    }
    let messages = conversations::messages_of(feed, text, &fields)?;
    let mut found = messages.is_some();
    if let Some((key, messages)) = messages {
        conversations::add_all(feed, to, text, key, messages, messages::add)?;
    }
    for key in WRAPPERS {
        let Some(inner) = fields::raw_object(feed, text, &fields, key)? else { continue };
        found = true;
        if depth < conversations::MAX_DEPTH {
            exchange(feed, to, text, inner, depth + 1)?;
        } else if holds_messages(inner) {
            feed.problem(text.line_of(inner), "records within records, too deep to be conversations")?;
        }
    }
    if found { Ok(()) } else { conversations::no_messages(feed, &fields, text.line_of(raw)) }
}

fn holds_messages(raw: &RawValue) -> bool {
    fn within(raw: &RawValue, depth: usize) -> bool {
        let fields = records::fields(raw);
        if MESSAGES.iter().any(|key| fields.contains_key(*key)) || depth > 0 && fields.contains_key("role") {
            return true;
        }
        depth < conversations::MAX_DEPTH
            && WRAPPERS
                .iter()
                .filter_map(|key| fields.get(*key))
                .any(|raw| records::is_object(raw) && within(raw, depth + 1))
    }
    records::is_object(raw) && within(raw, 0)
}
