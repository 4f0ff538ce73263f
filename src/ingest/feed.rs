//! What readers write to, what callers see, and what they may choose.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use super::event::{Event, Place};
use super::files::Input;
use super::format::Format;

/// Receives what is read, in order.
pub trait Sink {
    /// One event. The events of a session come in their order; sessions may interleave.
    fn event(&mut self, event: Event);

    /// Something that could not be read.
    fn problem(&mut self, problem: Problem);

    /// A file is next. [`Place::file`] is `file` from here on.
    fn file(&mut self, file: u32, path: &Path) {
        let _ = (file, path);
    }

    /// The file was opened and its format recognised.
    fn opened(&mut self, file: u32, path: &Path, format: Format) {
        let _ = (file, path, format);
    }

    /// So many bytes (as stored, so compressed ones where a file is compressed) were read in all.
    fn progress(&mut self, bytes: u64) {
        let _ = bytes;
    }
}

/// A [`Sink`] that keeps everything: for tests and small logs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collected {
    /// The events, in order.
    pub events: Vec<Event>,
    /// The problems, in order.
    pub problems: Vec<Problem>,
    /// Path and format of each file.
    pub files: Vec<(u32, PathBuf, Format)>,
}

impl Sink for Collected {
    fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn opened(&mut self, file: u32, path: &Path, format: Format) {
        self.files.push((file, path.to_owned(), format));
    }
}

/// How to read.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format of every file. Default: recognised file by file.
    pub format: Option<Format>,
    /// Stop at the first problem. Default: report it and go on.
    pub strict: bool,
    /// Session name for files that name none. Default: made from the file's name.
    pub session: Option<String>,
    /// A failed call whose result contains one of these was denied: in any case, near the start of the text;
    /// with a leading `^`, at its very start. Default: [`Options::DENIALS`].
    pub denials: Vec<String>,
    /// CSV column of the session. Default: the first of `case:concept:name`, `case_id`, `case`, `session`, ...
    pub csv_session: Option<String>,
    /// CSV column of the tool. Default: the first of `concept:name`, `activity`, `tool`, ...
    pub csv_tool: Option<String>,
    /// CSV column of the time. Default: the first of `time:timestamp`, `timestamp`, `ts`, `time`.
    pub csv_time: Option<String>,
    /// XES and CSV: keep only events whose `lifecycle:transition` is one of these. Default: keep all.
    pub lifecycle: Option<Vec<String>>,
    /// Longest line, and largest file that must be held whole, in bytes. Default: 1 GiB.
    pub max_bytes: usize,
}

impl Options {
    /// Phrases by which agents' logs say that a call was refused before it ran.
    pub const DENIALS: &'static [&'static str] = &[
        "^permission to use",
        "^claude requested permissions to",
        "doesn't want to proceed with this tool use",
        "doesn't want to take this action",
        "the tool use was rejected",
        "user rejected tool use",
        "hook denied",
        "denied by policy",
        "denied by hook",
        "blocked by policy",
        "blocked by hook",
        "permission denied by",
        "denied by user",
        "rejected by user",
        "denied by the user",
        "rejected by the user",
        "denied by human",
        "rejected by human",
    ];
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            strict: false,
            session: None,
            denials: Options::DENIALS.iter().map(|&p| p.to_owned()).collect(),
            csv_session: None,
            csv_tool: None,
            csv_time: None,
            lifecycle: None,
            max_bytes: 1 << 30,
        }
    }
}

/// A line or record that could not be read, or only in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// File and line.
    pub place: Place,
    /// Column, from 1, where known.
    pub column: Option<u32>,
    /// What was found and what was expected.
    pub message: String,
    /// A way out.
    pub help: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.place.line {
            write!(f, "line {line}")?;
            if let Some(column) = self.column {
                write!(f, ", column {column}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files that were opened.
    pub files: u64,
    /// Bytes as stored.
    pub bytes: u64,
    /// Lines, in formats that have them.
    pub lines: u64,
    /// Events handed to the sink.
    pub events: u64,
    /// Problems handed to the sink. Zero means that the log was read completely.
    pub problems: u64,
    /// What was left out on purpose, by name.
    pub skipped: BTreeMap<String, u64>,
}

/// Why reading stopped.
#[derive(Debug)]
pub struct IngestError(Kind);

#[derive(Debug)]
enum Kind {
    Io { path: PathBuf, source: io::Error },
    Missing { inputs: Vec<(PathBuf, io::Error)> },
    Strict { path: PathBuf, problem: Problem },
}

impl IngestError {
    pub(super) fn io(path: PathBuf, source: io::Error) -> Self {
        IngestError(Kind::Io { path, source })
    }

    pub(super) fn missing(inputs: Vec<(PathBuf, io::Error)>) -> Self {
        IngestError(Kind::Missing { inputs })
    }

    pub(super) fn strict(path: PathBuf, problem: Problem) -> Self {
        IngestError(Kind::Strict { path, problem })
    }

    /// The problem at which [`Options::strict`] stopped; the sink has had it already.
    pub fn strict_problem(&self) -> Option<&Problem> {
        match &self.0 {
            Kind::Strict { problem, .. } => Some(problem),
            Kind::Io { .. } | Kind::Missing { .. } => None,
        }
    }
}

impl fmt::Display for IngestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Io { path, source } => write!(f, "cannot read `{}`: {source}", path.display()),
            Kind::Missing { inputs } => {
                for (index, (path, source)) in inputs.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}cannot open `{}`: {source}", path.display())?;
                }
                Ok(())
            }
            Kind::Strict { path, problem } => {
                write!(f, "`{}`: {problem} (the first problem, strict reading stops here)", path.display())
            }
        }
    }
}

impl std::error::Error for IngestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Io { source, .. } => Some(source),
            Kind::Missing { .. } | Kind::Strict { .. } => None,
        }
    }
}

/// Why a reader gives up on a file.
#[derive(Debug)]
pub(super) enum Halt {
    /// A problem under strict reading.
    Strict(Problem),
    /// The file cannot be read further.
    Io(io::Error),
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Self {
        Halt::Io(error)
    }
}

/// The result of everything a reader does.
pub(super) type Step<T = ()> = Result<T, Halt>;

/// The way from a reader to the sink: counts, places, and stops when strict.
pub(super) struct Feed<'a> {
    pub(super) options: &'a Options,
    sink: &'a mut dyn Sink,
    summary: Summary,
    file: u32,
    session: String,
    path: PathBuf,
    /// Bytes of the files before this one.
    bytes_before: u64,
    /// Records of sessions that may be in several files, as hashes of 128 bits: there may be millions.
    seen: HashSet<[u64; 2]>,
}

impl<'a> Feed<'a> {
    pub(super) fn new(options: &'a Options, sink: &'a mut dyn Sink) -> Self {
        let summary = Summary::default();
        Feed {
            options,
            sink,
            summary,
            file: 0,
            session: String::new(),
            path: PathBuf::new(),
            bytes_before: 0,
            seen: HashSet::new(),
        }
    }

    pub(super) fn start_file(&mut self, index: u32, file: &Input) {
        self.file = index;
        self.session = self.options.session.clone().unwrap_or_else(|| file.session.clone());
        self.path.clone_from(&file.path);
        self.bytes_before = self.summary.bytes;
        self.summary.files += 1;
        self.sink.file(index, &file.path);
    }

    pub(super) fn opened(&mut self, path: &Path, format: Format) {
        self.sink.opened(self.file, path, format);
    }

    /// The session of records that name none: after the file.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn place(&self, line: Option<u32>) -> Place {
        Place { file: self.file, line }
    }

    pub(super) fn event(&mut self, event: Event) {
        self.summary.events += 1;
        self.sink.event(event);
    }

    /// Counts a record that is no event and is left out on purpose.
    pub(super) fn skip(&mut self, name: &str) {
        self.skip_many(name, 1);
    }

    pub(super) fn skip_many(&mut self, name: &str, count: u64) {
        match self.summary.skipped.get_mut(name) {
            Some(known) => *known += count,
            None => {
                self.summary.skipped.insert(name.to_owned(), count);
            }
        }
    }

    /// Is this record of a session new, over all files?
    pub(super) fn first_time(&mut self, session: &str, record: &str) -> bool {
        let half = |half: u8| {
            let mut hasher = DefaultHasher::new();
            (half, session, record).hash(&mut hasher);
            hasher.finish()
        };
        self.seen.insert([half(0), half(1)])
    }

    pub(super) fn line(&mut self) {
        self.summary.lines += 1;
    }

    /// So many bytes of this file were taken from the disk so far.
    pub(super) fn progress(&mut self, bytes_of_file: u64) {
        let bytes = self.bytes_before + bytes_of_file;
        if bytes != self.summary.bytes {
            self.summary.bytes = bytes;
            self.sink.progress(bytes);
        }
    }

    pub(super) fn problem(&mut self, line: Option<u32>, message: impl Into<String>) -> Step {
        self.report(Problem { place: self.place(line), column: None, message: message.into(), help: None })
    }

    pub(super) fn problem_help(&mut self, line: Option<u32>, message: impl Into<String>, help: &str) -> Step {
        let help = Some(help.to_owned());
        self.report(Problem { place: self.place(line), column: None, message: message.into(), help })
    }

    pub(super) fn report(&mut self, problem: Problem) -> Step {
        self.summary.problems += 1;
        if self.options.strict {
            self.sink.problem(problem.clone());
            return Err(Halt::Strict(problem));
        }
        self.sink.problem(problem);
        Ok(())
    }

    pub(super) fn io_problem(&mut self, error: &io::Error) -> Step {
        self.problem_help(
            None,
            format!("the file breaks off: {error}"),
            "what was read before stands; is the file complete, is its compression intact?",
        )
    }

    pub(super) fn unrecognised(&mut self) -> Step {
        let help = format!("name the format: `--format` takes {}", Format::names());
        self.problem_help(None, "the format of this file is not recognised", &help)
    }

    pub(super) fn finish(self) -> Summary {
        self.summary
    }
}
