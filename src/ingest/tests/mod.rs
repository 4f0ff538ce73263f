//! Tests over whole files.

mod chats;
mod damage;
mod inputs;
mod jsonl;
mod protocols;
mod reference;
mod sessions;
mod tables;
mod traces;
mod types;

use std::io::Cursor;
use std::path::PathBuf;

use super::feed::{Collected, Feed, Halt, Options};
use super::files::Input;
use super::source::Source;
use super::{Event, Summary};

/// What came of reading one file.
pub(super) struct Log {
    pub(super) events: Vec<Event>,
    pub(super) problems: Vec<super::Problem>,
    pub(super) format: Option<super::Format>,
    pub(super) summary: Summary,
    pub(super) strict_stop: bool,
}

/// Reads bytes as a file of this name.
pub(super) fn read_with(name: &str, bytes: &[u8], options: &Options) -> Log {
    let mut sink = Collected::default();
    let mut feed = Feed::new(options, &mut sink);
    let path = PathBuf::from(name);
    let session = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    feed.start_file(0, &Input { path: path.clone(), session });
    let done = Source::new(Cursor::new(bytes.to_vec()))
        .map_err(Halt::Io)
        .and_then(|source| super::read_source(&mut feed, &path, source));
    let strict_stop = matches!(done, Err(Halt::Strict(_)));
    if let Err(Halt::Io(error)) = done {
        let _ = feed.io_problem(&error);
    }
    let summary = feed.finish();
    assert_eq!(summary.events, sink.events.len() as u64);
    assert_eq!(summary.problems, sink.problems.len() as u64);
    let format = sink.files.first().map(|(_, _, format)| *format);
    Log { events: sink.events, problems: sink.problems, format, summary, strict_stop }
}

/// Reads text as a file of this name, by default options.
pub(super) fn read(name: &str, text: &str) -> Log {
    read_with(name, text.as_bytes(), &Options::default())
}

impl Log {
    /// `session: tool status` of every call, in order.
    pub(super) fn calls(&self) -> Vec<String> {
        self.events
            .iter()
            .filter(|event| event.kind == super::Kind::Call)
            .map(|event| format!("{}: {} {:?}", event.session, event.tool, event.status).to_lowercase())
            .collect()
    }

    pub(super) fn messages(&self) -> Vec<&str> {
        self.problems.iter().map(|problem| problem.message.as_str()).collect()
    }
}
