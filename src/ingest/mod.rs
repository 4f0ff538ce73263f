//! Logs of every format to [`Event`]s.
//!
//! [`read`] takes files (and directories, and `-` for standard input), recognises the format of each by its
//! content, and hands one [`Event`] after the other to a [`Sink`]. What cannot be read is never lost: it
//! arrives at the sink as a [`Problem`] with its place, or is counted by name in [`Summary::skipped`].
//! What each format means is written down in `docs/formats.md`.
//!
//! Adding a format: one file here with a `read(&mut Feed, Source)`, one entry in [`Format`], and the compiler
//! lists the rest; then a rule in `detect.rs`, which needs a test of its own.

mod anthropic;
mod claude_code;
mod conversations;
mod csv;
mod deltas;
mod detect;
mod event;
mod feed;
mod fields;
mod files;
mod format;
mod inspect;
mod json;
mod jsonl;
mod mcp;
mod messages;
mod openai;
mod otlp;
mod records;
mod source;
mod transcript;
mod xes;
mod zip;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use deltas::{ToolCallDelta, merge_tool_call_deltas};
pub use event::{Batch, Event, Kind, Place, Status};
pub use feed::{Collected, IngestError, Options, Problem, Sink, Summary};
pub use format::Format;

use feed::{Feed, Halt};
use source::Source;

/// Reads `inputs` in their order and hands every event to `sink`.
///
/// An input is a file, a directory (every file below it is read, in the order of their paths; hidden files and
/// directories are left out and counted) or `-`, standard input. gzip and zstd are undone whatever the file's
/// name. A file that is not understood, or breaks off, is a [`Problem`]; the others are still read.
///
/// # Errors
/// An input that does not exist or cannot be opened (before anything is read), or, with [`Options::strict`],
/// the first problem.
///
/// # Example
/// ```
/// use tracelaw::ingest::{Collected, Options, read};
///
/// let path = std::env::temp_dir().join("tracelaw-doc-example.jsonl");
/// std::fs::write(&path, "{\"session\":\"s\",\"tool\":\"pay\"}\nnot json\n")?;
/// let mut log = Collected::default();
/// let summary = read(&[path], &Options::default(), &mut log)?;
/// assert_eq!(log.events[0].tool, "pay");
/// assert_eq!((summary.events, summary.problems, log.problems[0].place.line), (1, 1, Some(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(inputs: &[PathBuf], options: &Options, sink: &mut dyn Sink) -> Result<Summary, IngestError> {
    let files = files::expand(inputs)?;
    let mut feed = Feed::new(options, sink);
    for (index, file) in files.files.iter().enumerate() {
        feed.start_file(u32::try_from(index).unwrap_or(u32::MAX), file);
        let done = Source::open(&file.path).map_err(Halt::Io);
        match done.and_then(|source| read_source(&mut feed, &file.path, source)) {
            Ok(()) => {}
            Err(Halt::Strict(problem)) => return Err(IngestError::strict(file.path.clone(), problem)),
            // The file breaks off; what was read of it stands.
            Err(Halt::Io(error)) => match feed.io_problem(&error) {
                Ok(()) => {}
                Err(_) => return Err(IngestError::io(file.path.clone(), error)),
            },
        }
    }
    let mut summary = feed.finish();
    for (name, count) in files.skipped {
        *summary.skipped.entry(name).or_default() += count;
    }
    Ok(summary)
}

fn read_source(feed: &mut Feed<'_>, path: &Path, mut source: Source) -> Result<(), Halt> {
    // Also where the format is known: it shows how the lines end.
    let head = source.peek()?;
    let nul = head.starts_with(b"\0");
    let guess = detect::detect(head);
    let format = match (feed.options.format, guess) {
        (_, detect::Guess::Empty) if source.is_whole() => {
            feed.skip("empty file");
            return Ok(());
        }
        (_, detect::Guess::Empty) => {
            let found = format!("nothing but blanks in the first {} bytes of the file", source::BLANK_BYTES);
            return feed.problem_help(None, found, "the file is not read");
        }
        (_, detect::Guess::Wide) => {
            return feed.problem_help(
                None,
                "the file is UTF-16 or UTF-32 text, expected UTF-8",
                "the file is not read; `iconv -f UTF-16 -t UTF-8` converts it",
            );
        }
        (Some(format), _) | (None, detect::Guess::Format(format)) => format,
        (None, detect::Guess::Unknown) if nul => {
            return feed.problem_help(
                Some(1),
                "the file begins with a NUL byte, expected text",
                "the file is not read; it was damaged, or is no log",
            );
        }
        (None, detect::Guess::Unknown) => return feed.unrecognised(),
    };
    feed.opened(path, format);
    match format {
        Format::Jsonl => jsonl::read(feed, source),
        Format::OpenAi => openai::read(feed, source),
        Format::Anthropic => anthropic::read(feed, source),
        Format::ClaudeCode => claude_code::read(feed, source),
        Format::Otlp => otlp::read(feed, source),
        Format::Mcp => mcp::read(feed, source),
        Format::Inspect => inspect::read(feed, source),
        Format::Xes => xes::read(feed, source),
        Format::Csv => csv::read(feed, source),
    }
}
