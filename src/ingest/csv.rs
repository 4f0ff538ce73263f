//! Comma-separated process logs: a header, then one event per row.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::event::Event;
use super::feed::{Feed, Halt, Step};
use super::source::{Guard, Source};
use super::xes::{lifecycle_status, wanted};

const SESSION: &[&str] = &[
    "case:concept:name",
    "case_id",
    "caseid",
    "case id",
    "case",
    "session",
    "session_id",
    "trace",
    "trace_id",
];
const TOOL: &[&str] = &["concept:name", "activity", "tool", "tool_name", "event", "action"];
const TIME: &[&str] = &["time:timestamp", "timestamp", "ts", "time", "datetime"];

const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Is this the first line of a table of events?
pub(super) fn is_header(line: &str) -> bool {
    let delimiter = delimiter(line.as_bytes());
    let names: Vec<&str> =
        line.split(char::from(delimiter)).map(|name| name.trim().trim_matches('"')).collect();
    let any =
        |known: &[&str]| names.iter().any(|name| known.iter().any(|known| known.eq_ignore_ascii_case(name)));
    names.len() > 1 && any(TOOL)
}

fn delimiter(header: &[u8]) -> u8 {
    let count = |delimiter: &u8| header.iter().filter(|byte| *byte == delimiter).count();
    // The first of equals: `max_by_key` alone would take the last.
    DELIMITERS.into_iter().rev().max_by_key(count).unwrap_or(b',')
}

pub(super) fn read(feed: &mut Feed<'_>, mut source: Source) -> Step {
    let head = source.peek()?;
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut lines = head.split(|&byte| byte == b'\n');
    let delimiter = delimiter(lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default());
    let bytes = source.counter();
    let guard = Guard::new(source.into_reader(), feed.options.max_bytes);
    let since = guard.since();
    let mut lines = LineOf { ends: Rc::default(), line: 1 };
    let reader = LineEnds { inner: guard, at: 0, after_cr: false, ends: Rc::clone(&lines.ends) };
    let mut table = ::csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(reader);
    let mut readable = true;
    let header: Vec<String> = match table.byte_headers() {
        Ok(header) => header
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let name = if index == 0 { name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name) } else { name };
                readable &= std::str::from_utf8(name).is_ok();
                let name = String::from_utf8_lossy(name).trim().to_owned();
                if name.is_empty() { format!("#{}", index + 1) } else { name }
            })
            .collect(),
        Err(error) => return table_error(feed, error),
    };
    let header_line = lines.at(0);
    if !readable {
        feed.problem(header_line, "header is not valid UTF-8")?;
    }
    if header.iter().any(|name| name.contains('\0')) {
        return feed.problem_help(
            header_line,
            "NUL byte in the header, expected text",
            "the table is not read",
        );
    }
    let Some(columns) = Columns::find(feed, &header, header_line)? else { return Ok(()) };
    let mut row = ::csv::ByteRecord::new();
    loop {
        since.set(0);
        let more = table.read_byte_record(&mut row);
        feed.progress(bytes.get());
        match more {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return table_error(feed, error),
        }
        feed.line();
        let line = row.position().and_then(|position| lines.at(position.byte()));
        if row.len() != header.len() {
            let message = format!("row has {} fields, expected {} as in the header", row.len(), header.len());
            feed.problem_help(
                line,
                message,
                "a quote may be missing; a field with a delimiter needs quotes",
            )?;
            continue;
        }
        if memchr::memchr(0, row.as_slice()).is_some() {
            feed.problem_help(line, "NUL byte in a row, expected text", "the row is left out")?;
            continue;
        }
        let fields: Result<Vec<&str>, _> = row.iter().map(std::str::from_utf8).collect();
        match fields {
            Ok(fields) => event(feed, &header, &columns, &fields, line)?,
            Err(_) => feed.problem(line, "row is not valid UTF-8")?,
        }
    }
}

fn table_error(feed: &mut Feed<'_>, error: ::csv::Error) -> Step {
    let message = error.to_string();
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => Err(Halt::Io(error)),
        _ => feed.problem(None, format!("broken table: {message}")),
    }
}

/// Notes where lines end: the reader of the table counts lines wrong where they end by two bytes, or where blank ones
/// stand between the rows.
struct LineEnds<R> {
    inner: R,
    /// How many bytes were read.
    at: u64,
    after_cr: bool,
    ends: Ends,
}

/// Place of each line feed, and whether a carriage return stands before it.
type Ends = Rc<RefCell<VecDeque<(u64, bool)>>>;

impl<R: Read> Read for LineEnds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let buffer = &buffer[..count];
        let mut ends = self.ends.borrow_mut();
        for end in memchr::memchr_iter(b'\n', buffer) {
            let before = end.checked_sub(1).and_then(|before| buffer.get(before));
            let after_cr = before.map_or(self.after_cr, |before| *before == b'\r');
            ends.push_back((self.at + end as u64, after_cr));
        }
        self.after_cr = buffer.last().map_or(self.after_cr, |last| *last == b'\r');
        self.at += count as u64;
        Ok(count)
    }
}

/// From places in the table, asked for in their order, to their lines.
struct LineOf {
    ends: Ends,
    line: u32,
}

impl LineOf {
    /// The line of the row that starts here, or after the line ends that stand here.
    fn at(&mut self, byte: u64) -> Option<u32> {
        let mut ends = self.ends.borrow_mut();
        let mut at = byte;
        while let Some(&(end, after_cr)) = ends.front() {
            if end > at && !(after_cr && end == at + 1) {
                break;
            }
            at = at.max(end + 1);
            self.line = self.line.saturating_add(1);
            ends.pop_front();
        }
        Some(self.line)
    }
}

struct Columns {
    session: Option<usize>,
    tool: usize,
    time: Option<usize>,
    lifecycle: Option<usize>,
}

impl Columns {
    /// `None` (and a problem) if a column that is needed is not there.
    fn find(feed: &mut Feed<'_>, header: &[String], line: Option<u32>) -> Step<Option<Columns>> {
        let mut twice: Vec<&str> = Vec::new();
        for (index, column) in header.iter().enumerate() {
            if header[..index].contains(column) && !twice.contains(&column.as_str()) {
                twice.push(column);
            }
        }
        if !twice.is_empty() {
            let message = format!("column `{}` is there twice in the header", twice.join("`, `"));
            feed.problem_help(line, message, "the table is not read: give every column a name of its own")?;
            return Ok(None);
        }
        let position = |name: &str| header.iter().position(|column| column.eq_ignore_ascii_case(name));
        let first = |known: &[&str]| known.iter().find_map(|name| position(name));
        let options = feed.options;
        let mut missing = Vec::new();
        let mut pick = |named: &Option<String>, known: &[&str]| match named {
            Some(name) => position(name).or_else(|| {
                missing.push(format!("`{name}`"));
                None
            }),
            None => first(known),
        };
        let session = pick(&options.csv_session, SESSION);
        let tool = pick(&options.csv_tool, TOOL);
        let time = pick(&options.csv_time, TIME);
        let lifecycle = position("lifecycle:transition");
        let has = format!("the columns are {}", header.join(", "));
        if !missing.is_empty() {
            feed.problem_help(line, format!("no column {} in the header", missing.join(", ")), &has)?;
            return Ok(None);
        }
        let Some(tool) = tool else {
            let message =
                format!("no column of the activity in the header, expected one of {}", TOOL.join(", "));
            feed.problem_help(line, message, &format!("{has}; name the one that it is"))?;
            return Ok(None);
        };
        Ok(Some(Columns { session, tool, time, lifecycle }))
    }
}

fn event(feed: &mut Feed<'_>, header: &[String], columns: &Columns, row: &[&str], line: Option<u32>) -> Step {
    let at = |column: Option<usize>| column.and_then(|column| row.get(column)).map(|text| text.trim());
    let lifecycle = at(columns.lifecycle).filter(|text| !text.is_empty());
    if !wanted(feed, lifecycle) {
        return Ok(());
    }
    let session = match at(columns.session) {
        Some("") => {
            return feed.problem(
                line,
                format!("row without a session in column `{}`", name(header, columns.session)),
            );
        }
        Some(session) => session.to_owned(),
        None => feed.session().to_owned(),
    };
    let tool = at(Some(columns.tool)).unwrap_or_default();
    if tool.is_empty() {
        return feed.problem(
            line,
            format!("row without an activity in column `{}`", name(header, Some(columns.tool))),
        );
    }
    let taken = [columns.session, Some(columns.tool), columns.time];
    let args: Map<String, Value> = row
        .iter()
        .enumerate()
        .filter(|(column, text)| !taken.contains(&Some(*column)) && !text.is_empty())
        .map(|(column, text)| (name(header, Some(column)).to_owned(), cell(text)))
        .collect();
    let event = Event {
        session,
        tool: tool.to_owned(),
        args: Value::Object(args),
        status: lifecycle_status(lifecycle),
        ts: at(columns.time).filter(|text| !text.is_empty()).map(str::to_owned),
        place: feed.place(line),
        ..Event::default()
    };
    feed.event(event);
    Ok(())
}

fn name(header: &[String], column: Option<usize>) -> &str {
    column.and_then(|column| header.get(column)).map_or("", String::as_str)
}

/// A plain decimal number is a number, `true` and `false` are what they say, all else is text: `007` and `1e5` are
/// names more often than numbers.
fn cell(text: &str) -> Value {
    match text {
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let number = plain(whole) && plain(fraction) && (whole.len() == 1 || !whole.starts_with('0'));
    if !number {
        return Value::String(text.to_owned());
    }
    // What does not fit is no number to count with.
    match (text.parse::<i64>(), text.contains('.')) {
        (Ok(number), _) => Value::from(number),
        (Err(_), true) => text.parse::<f64>().map_or_else(|_| Value::String(text.to_owned()), Value::from),
        (Err(_), false) => Value::String(text.to_owned()),
    }
}
