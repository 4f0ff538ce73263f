//! Bytes of a file: decompressed, counted, peeked into, split into lines.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::feed::{Feed, Step};
use super::files::is_stdin;

/// As much as detection looks at.
const PEEK_BYTES: usize = 64 << 10;
/// How many blank bytes may stand before the first record.
pub(super) const BLANK_BYTES: usize = 16 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// Counts what is taken from the disk.
struct Counted<R> {
    inner: R,
    bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        Ok(count)
    }
}

/// zstd frames one after the other, as `zstd` itself reads them.
struct ZstdFrames<R: BufRead> {
    // Taken while it is handed from one frame's decoder to the next.
    decoder: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(reader: R) -> io::Result<Self> {
        Ok(ZstdFrames { decoder: Some(StreamingDecoder::new(reader).map_err(io::Error::other)?) })
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let count = decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let Some(mut rest) = self.decoder.take().map(StreamingDecoder::into_inner) else { return Ok(0) };
            if rest.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.decoder = Some(StreamingDecoder::new(rest).map_err(io::Error::other)?);
        }
    }
}

/// A file whose lines end by a carriage return alone, as one with usual line ends.
struct CrToLf<R>(R);

impl<R: Read> Read for CrToLf<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        cr_to_lf(&mut buffer[..count]);
        Ok(count)
    }
}

fn cr_to_lf(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte == b'\r').for_each(|byte| *byte = b'\n');
}

/// Does a text that starts like this have no other line ends than carriage returns? Archives are no texts.
fn ends_lines_by_cr(head: &[u8]) -> bool {
    // The line feed after the last one may not be here yet.
    let before_last = head.len().saturating_sub(1);
    memchr::memchr(b'\r', &head[..before_last]).is_some()
        && memchr::memchr(b'\n', head).is_none()
        && !head.starts_with(b"PK")
}

/// An open file.
pub(super) struct Source {
    reader: Box<dyn BufRead>,
    /// Decompressed bytes that were looked at: those from `head_at` are not yet read and come first.
    head: Vec<u8>,
    head_at: usize,
    /// Is all that there is in `head`?
    whole: bool,
    bytes: Rc<Cell<u64>>,
    line: u32,
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if is_stdin(path) { Source::new(io::stdin()) } else { Source::new(File::open(path)?) }
    }

    pub(super) fn new(inner: impl Read + 'static) -> io::Result<Self> {
        let bytes = Rc::new(Cell::new(0));
        let counted = Counted { inner, bytes: Rc::clone(&bytes) };
        let mut raw = BufReader::with_capacity(BUFFER_BYTES, counted);
        let mut magic = [0; 4];
        let got = read_up_to(&mut raw, &mut magic)?;
        let raw = Cursor::new(magic).take(got as u64).chain(raw);
        let reader: Box<dyn BufRead> = match &magic[..got] {
            [0x1f, 0x8b, ..] => Box::new(buffered(MultiGzDecoder::new(raw))),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(buffered(ZstdFrames::new(raw)?)),
            _ => Box::new(raw),
        };
        Ok(Source { reader, head: Vec::new(), head_at: 0, whole: false, bytes, line: 0 })
    }

    /// The first bytes, enough to recognise the format; they will still be read. Sees how the lines end. Before anything
    /// is read.
    pub(super) fn peek(&mut self) -> io::Result<&[u8]> {
        let mut chunk = vec![0; PEEK_BYTES];
        // Blank lines say nothing, however many there are.
        let mut blank = self.head.trim_ascii().is_empty();
        while !self.whole && (self.head.len() < PEEK_BYTES || blank && self.head.len() < BLANK_BYTES) {
            // A live pipe shows its first line long before 64 KiB: a whole record is enough.
            if first_line_is_json(&self.head) {
                break;
            }
            let count = match self.reader.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            self.whole = count == 0;
            blank = blank && chunk[..count].trim_ascii().is_empty();
            self.head.extend_from_slice(&chunk[..count]);
        }
        if ends_lines_by_cr(&self.head) {
            cr_to_lf(&mut self.head);
            let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
            self.reader = Box::new(buffered(CrToLf(rest)));
        }
        Ok(&self.head)
    }

    /// Has [`Source::peek`] seen all that there is?
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// What was looked at and is not yet read.
    fn take_head(&mut self) -> Vec<u8> {
        let mut head = std::mem::take(&mut self.head);
        head.drain(..std::mem::take(&mut self.head_at));
        head
    }

    /// The bytes that are left, as one reader.
    pub(super) fn into_reader(mut self) -> Box<dyn BufRead> {
        let head = self.take_head();
        if head.is_empty() { self.reader } else { Box::new(Cursor::new(head).chain(self.reader)) }
    }

    /// Bytes taken from the disk so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes.get()
    }

    pub(super) fn counter(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.bytes)
    }

    /// The next line with anything in it, without its end, and its number; `None` at the end of the file.
    /// A line longer than allowed is reported and left out.
    pub(super) fn next_line(&mut self, line: &mut Vec<u8>, feed: &mut Feed<'_>) -> Step<Option<u32>> {
        loop {
            line.clear();
            let mut too_long = false;
            let found = self.read_line(line, feed.options.max_bytes, &mut too_long)?;
            feed.progress(self.bytes_read());
            if !found {
                return Ok(None);
            }
            self.line = self.line.saturating_add(1);
            feed.line();
            if too_long {
                let message = format!("line longer than {} bytes", feed.options.max_bytes);
                feed.problem_help(
                    Some(self.line),
                    message,
                    "is this a log, or one value without line ends?",
                )?;
                continue;
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if self.line == 1 && line.starts_with(b"\xef\xbb\xbf") {
                line.drain(..3);
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(self.line));
            }
        }
    }

    /// False at the end of the file. The line's end is read but not kept.
    fn read_line(&mut self, line: &mut Vec<u8>, limit: usize, too_long: &mut bool) -> io::Result<bool> {
        if !self.head.is_empty() {
            let rest = &self.head[self.head_at..];
            if let Some(end) = memchr::memchr(b'\n', rest) {
                line.extend_from_slice(&rest[..end]);
                self.head_at += end + 1;
                return Ok(true);
            }
            *line = self.take_head();
        }
        let mut found = !line.is_empty();
        loop {
            let buffer = match self.reader.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                return Ok(found);
            }
            found = true;
            let end = memchr::memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            if line.len() + part.len() > limit {
                *too_long = true;
                line.clear();
            } else if !*too_long {
                line.extend_from_slice(part);
            }
            let used = end.map_or(buffer.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// The whole rest of the file as text; `None` (and a problem) if it is too long or no UTF-8.
    pub(super) fn read_text(&mut self, feed: &mut Feed<'_>) -> Step<Option<String>> {
        let Some(bytes) = self.read_bytes(feed)? else { return Ok(None) };
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                if text.starts_with('\u{feff}') {
                    text.drain(..3);
                }
                Ok(Some(text))
            }
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let line = 1 + memchr::memchr_iter(b'\n', &error.as_bytes()[..at]).count();
                let line = u32::try_from(line).ok();
                feed.problem(line, format!("not valid UTF-8 at byte {at} of the file"))?;
                Ok(None)
            }
        }
    }

    /// The whole rest of the file; `None` (and a problem) if it is too long.
    pub(super) fn read_bytes(&mut self, feed: &mut Feed<'_>) -> Step<Option<Vec<u8>>> {
        let mut bytes = self.take_head();
        let limit = feed.options.max_bytes;
        let room = limit.saturating_sub(bytes.len()) as u64 + 1;
        let read = self.reader.by_ref().take(room).read_to_end(&mut bytes);
        feed.progress(self.bytes_read());
        read?;
        if bytes.len() > limit {
            let message = format!("the file is one document of more than {limit} bytes");
            feed.problem_help(None, message, "split it, or write one record per line: those are streamed")?;
            return Ok(None);
        }
        Ok(Some(bytes))
    }
}

/// Counts lines, and ends the reading where one record is longer than allowed: for readers that keep a record in
/// memory without a limit of their own.
pub(super) struct Guard<R> {
    inner: R,
    limit: usize,
    since: Rc<Cell<usize>>,
    lines: Rc<Cell<u32>>,
}

impl<R: BufRead> Guard<R> {
    pub(super) fn new(inner: R, limit: usize) -> Self {
        Guard { inner, limit, since: Rc::default(), lines: Rc::default() }
    }

    /// Bytes since the start of the record; whoever reads records sets it back to 0.
    pub(super) fn since(&self) -> Rc<Cell<usize>> {
        Rc::clone(&self.since)
    }

    /// Line ends so far.
    pub(super) fn line_count(&self) -> Rc<Cell<u32>> {
        Rc::clone(&self.lines)
    }
}

impl<R: BufRead> BufRead for Guard<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.since.get() > self.limit {
            return Err(io::Error::other(format!("a record of more than {} bytes", self.limit)));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        // What is consumed is in the buffer, so this reads nothing.
        if let Ok(buffer) = self.inner.fill_buf() {
            let lines = memchr::memchr_iter(b'\n', buffer.get(..count).unwrap_or(buffer)).count();
            self.lines.set(self.lines.get().saturating_add(u32::try_from(lines).unwrap_or(u32::MAX)));
        }
        self.since.set(self.since.get() + count);
        self.inner.consume(count);
    }
}

impl<R: BufRead> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

fn buffered<R: Read>(reader: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER_BYTES, reader)
}

fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match reader.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn first_line_is_json(head: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', head) else { return false };
    serde_json::from_slice::<&serde_json::value::RawValue>(head[..end].trim_ascii()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::feed::{Collected, Options};
    use super::*;

    fn lines(bytes: &[u8], max_bytes: usize) -> (Vec<(u32, String)>, Collected) {
        let options = Options { max_bytes, ..Options::default() };
        let mut sink = Collected::default();
        let mut lines = Vec::new();
        {
            let mut feed = Feed::new(&options, &mut sink);
            let mut source = Source::new(Cursor::new(bytes.to_vec())).unwrap();
            source.peek().unwrap();
            let mut line = Vec::new();
            while let Some(number) = source.next_line(&mut line, &mut feed).unwrap() {
                lines.push((number, String::from_utf8_lossy(&line).into_owned()));
            }
        }
        (lines, sink)
    }

    #[test]
    fn lines_of_every_kind() {
        let (got, _) = lines(b"\xef\xbb\xbfa\r\n\n  \nb\nlast", 100);
        assert_eq!(got, [(1, "a".into()), (4, "b".into()), (5, "last".into())]);
        assert_eq!(lines(b"", 100).0, []);
    }

    #[test]
    fn lines_longer_than_the_buffers() {
        let long = "x".repeat(3 * BUFFER_BYTES);
        let text = format!("{long}\nshort\n{long}");
        let (got, sink) = lines(text.as_bytes(), usize::MAX);
        assert_eq!(got, [(1, long.clone()), (2, "short".into()), (3, long.clone())]);
        assert_eq!(sink.problems, []);
        let (got, sink) = lines(text.as_bytes(), 1000);
        assert_eq!(got, [(2, "short".into())]);
        assert_eq!(sink.problems.iter().map(|p| p.place.line).collect::<Vec<_>>(), [Some(1), Some(3)]);
    }

    #[test]
    fn compressed_members_and_frames_follow_each_other() {
        let gz = |text: &str| {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            writer.write_all(text.as_bytes()).unwrap();
            writer.finish().unwrap()
        };
        let zst = |text: &str| {
            ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
        };
        for pack in [&gz as &dyn Fn(&str) -> Vec<u8>, &zst] {
            let bytes = [pack("one\ntw"), pack("o\n")].concat();
            assert_eq!(lines(&bytes, 100).0, [(1, "one".into()), (2, "two".into())]);
        }
    }
}
