//! The one form that every log format is read into.

use serde_json::Value;

/// What kind of step an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Kind {
    /// A tool call (or an activity of a process log): the default for events that do not say.
    #[default]
    Call,
    /// A message of the user.
    User,
    /// A message of the assistant.
    Assistant,
    /// A span that is neither: an HTTP request, a model call.
    Span,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// It returned.
    Ok,
    /// It returned an error.
    Error,
    /// It was refused before it ran: an attempt, not an act.
    Denied,
    /// The log has no result for it.
    #[default]
    Unknown,
}

/// The calls issued together with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    /// Number of the batch within the session, from 0.
    pub id: u32,
    /// How many calls were issued together (1 for a call on its own).
    pub size: u32,
    /// Which of them this is, from 0.
    pub index: u32,
}

/// Where an event stands in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// Index into the list of files that were given.
    pub file: u32,
    /// Line, from 1, where the format has lines (for one large JSON document: the line on which the record starts).
    pub line: Option<u32>,
}

/// One event of one session.
///
/// A call is one event, placed where it was requested, with its outcome filled in.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Event {
    /// The session it belongs to.
    pub session: String,
    /// Call, message or span.
    pub kind: Kind,
    /// Name of the tool (activity, span) that was called; empty for messages.
    pub tool: String,
    /// Arguments: an object where the log has one, else whatever it has; `Null` if none.
    pub args: Value,
    /// Result; `Null` if none.
    pub result: Value,
    /// How the call ended. For messages `Unknown`.
    pub status: Status,
    /// Text of the message; for a call the text of the message that issued it, if any.
    pub text: String,
    /// Which calls were issued together with it.
    pub batch: Option<Batch>,
    /// Time as the log wrote it, if it did.
    pub ts: Option<String>,
    /// Propositions whose truth the log itself states (`props` of plain events).
    pub props: Vec<String>,
    /// Where it was read.
    pub place: Place,
}
