//! Files, directories, compression, and which format a file has.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::super::feed::{Collected, Options, Sink};
use super::super::{Event, Format, Problem, read};

/// A fresh directory that goes away with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tracelaw-ingest-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn calls(log: &Collected) -> Vec<String> {
    log.events.iter().map(|event| format!("{}: {}", event.session, event.tool)).collect()
}

#[test]
fn directories_are_read_in_the_order_of_their_paths() {
    let folder = Folder::new("order");
    folder.file("b.jsonl", b"{\"tool\":\"2\"}");
    folder.file("a/z.jsonl", b"{\"tool\":\"1\"}");
    folder.file("c/run.jsonl.gz", &gzip(b"{\"tool\":\"3\"}"));
    folder.file("d/run.csv", b"case,activity\n7,4\n");
    folder.file(".hidden", b"{\"tool\":\"x\"}");
    folder.file("empty", b"");
    folder.file("read.me", b"nothing of interest");
    let mut log = Collected::default();
    let inputs = [folder.0.clone(), folder.0.join("b.jsonl")];
    let summary = read(&inputs, &Options::default(), &mut log).unwrap();
    assert_eq!(calls(&log), ["z: 1", "b: 2", "run: 3", "7: 4"].map(|call| call.replace("run", "c/run")));
    assert_eq!(
        log.files.iter().map(|(_, _, format)| *format).collect::<Vec<_>>(),
        [Format::Jsonl, Format::Jsonl, Format::Jsonl, Format::Csv]
    );
    assert_eq!(log.problems.len(), 1);
    assert_eq!(log.problems[0].message, "the format of this file is not recognised");
    let skipped: Vec<_> = summary.skipped.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(skipped, [("empty file", 1), ("file given twice", 1), ("hidden file", 1)]);
    assert_eq!((summary.files, summary.events, summary.problems), (6, 4, 1));
}

#[test]
fn inputs_that_are_not_there_are_all_named() {
    let folder = Folder::new("missing");
    let there = folder.file("a.jsonl", b"{\"tool\":\"1\"}");
    let mut log = Collected::default();
    let inputs = [there, folder.0.join("no"), folder.0.join("nor")];
    let error = read(&inputs, &Options::default(), &mut log).unwrap_err().to_string();
    assert!(error.contains("/no`") && error.contains("/nor`"), "{error}");
    assert_eq!(log.events, []);
}

#[test]
fn compression_is_recognised_by_its_bytes_and_broken_compression_is_a_problem() {
    let folder = Folder::new("packed");
    let text: String =
        (0..20_000).map(|n| format!("{{\"tool\":\"t{n}\",\"session\":\"{}\"}}\n", n * 7919 % 1000)).collect();
    let packed = gzip(text.as_bytes());
    let zst = ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    for (name, bytes) in [("a.jsonl", &packed), ("b.log", &zst)] {
        let path = folder.file(name, bytes);
        let mut log = Collected::default();
        let summary = read(&[path], &Options::default(), &mut log).unwrap();
        assert_eq!((summary.events, summary.lines, summary.problems), (20_000, 20_000, 0));
        assert_eq!(summary.bytes, bytes.len() as u64);
        // Cut off: what comes before the cut is read, and the cut is reported.
        let path = folder.file(name, &bytes[..bytes.len() / 2]);
        let mut log = Collected::default();
        let summary = read(&[path], &Options::default(), &mut log).unwrap();
        assert!(summary.events > 0 && summary.events < 20_000, "{name}: {summary:?}");
        assert!(log.problems.iter().any(|problem| problem.message.starts_with("the file breaks off")));
    }
    let path = folder.file("c.gz", b"\x1f\x8b\x08 not gzip at all");
    let mut log = Collected::default();
    assert_eq!(read(&[path], &Options::default(), &mut log).unwrap().problems, 1);
}

#[test]
fn strict_reading_stops_with_file_and_line() {
    let folder = Folder::new("strict");
    let path = folder.file("a.jsonl", b"{\"tool\":\"1\"}\nbroken\n{\"tool\":\"2\"}");
    let mut log = Collected::default();
    let options = Options { strict: true, ..Options::default() };
    let error = read(&[path], &options, &mut log).unwrap_err();
    assert_eq!(error.strict_problem().and_then(|problem| problem.place.line), Some(2));
    assert!(error.to_string().contains("a.jsonl`: line 2, column 1: broken JSON"), "{error}");
    assert_eq!((log.events.len(), log.problems.len()), (1, 1));
}

/// Report B71 over files: the sub-agents of a session stay apart.
#[test]
fn a_folder_of_sessions_with_sub_agents() {
    let folder = Folder::new("agents");
    let line = |id: &str, tool: &str| {
        format!(
            "{{\"type\":\"assistant\",\"uuid\":\"{id}\",\"parentUuid\":null,\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{tool}\",\"input\":{{}}}}]}}}}\n"
        )
    };
    folder.file("S.jsonl", (line("1", "Task") + &line("2", "Read")).as_bytes());
    folder.file("S/subagents/agent-1.jsonl", (line("3", "Bash") + &line("4", "Bash")).as_bytes());
    let mut log = Collected::default();
    read(std::slice::from_ref(&folder.0), &Options::default(), &mut log).unwrap();
    let mut calls = calls(&log);
    calls.sort();
    assert_eq!(calls, ["S/agent-1: Bash", "S/agent-1: Bash", "S: Read", "S: Task"]);
}

#[test]
fn progress_counts_what_is_on_the_disk() {
    struct Counter(Vec<u64>);
    impl Sink for Counter {
        fn event(&mut self, _: Event) {}
        fn problem(&mut self, _: Problem) {}
        fn progress(&mut self, bytes: u64) {
            self.0.push(bytes);
        }
    }
    let folder = Folder::new("progress");
    let text = "{\"tool\":\"t\"}\n".repeat(100_000);
    let a = folder.file("a.jsonl", text.as_bytes());
    let b = folder.file("b.jsonl", text.as_bytes());
    let mut counter = Counter(Vec::new());
    let summary = read(&[a, b], &Options::default(), &mut counter).unwrap();
    assert!(counter.0.windows(2).all(|pair| pair[0] < pair[1]) && counter.0.len() > 4);
    assert_eq!(
        (counter.0.last().copied(), summary.bytes),
        (Some(2 * text.len() as u64), 2 * text.len() as u64)
    );
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
    }
    let error = "json".parse::<Format>().unwrap_err().to_string();
    assert!(error.starts_with("unknown log format `json`, expected one of jsonl, openai"), "{error}");
}

#[test]
fn formats_by_their_first_lines() {
    for (text, format) in [
        // Other records come first in many session files.
        (
            "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n{\"type\":\"user\",\"sessionId\":\"s\"}",
            Some(Format::ClaudeCode),
        ),
        ("{\"type\":\"summary\",\"leafUuid\":\"x\",\"summary\":\"y\"}", Some(Format::ClaudeCode)),
        // What a text says does not count.
        (
            "[{\"role\":\"user\",\"content\":\"{\\\"jsonrpc\\\":1, \\\"type\\\":\\\"tool_use\\\"}\"}]",
            Some(Format::OpenAi),
        ),
        ("{\"session\":\"s\",\"props\":[\"role\"]}", Some(Format::Jsonl)),
        ("{\"kind\":\"user\",\"text\":\"messages\",\"i\":0}", Some(Format::Jsonl)),
        ("{\"case\":\"A\",\"activity\":\"x\",\"timestamp\":\"t\",\"attrs\":{}}", Some(Format::Jsonl)),
        ("{\"tool\":\"x\",\"args\":{\"messages\":[{\"role\":\"user\"}]}}", Some(Format::Jsonl)),
        ("{\"seq\":1,\"to{\"seq\":3\n{\"tool\":\"a\"}", Some(Format::Jsonl)),
        ("{\"tool\":\"a\",\"trace_id\":\"x\",\"span_id\":\"y\"}", Some(Format::Jsonl)),
        (
            "{\"traceId\":\"x\",\"spanId\":\"y\",\"name\":\"z\",\"startTimeUnixNano\":\"1\"}",
            Some(Format::Otlp),
        ),
        ("\n\n  {\"tool\":\"a\"}", Some(Format::Jsonl)),
        (
            "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"}]}]}",
            Some(Format::Anthropic),
        ),
        ("{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[]}", Some(Format::OpenAi)),
        ("<?xml version=\"1.0\"?>\n<!-- made by -->\n<log>", Some(Format::Xes)),
        ("<html><body>", None),
        ("{\"foo\":1}", None),
        ("hello, world", None),
        ("[1,2]", None),
    ] {
        let log = super::read("run", text);
        assert_eq!(log.format, format, "{text}");
    }
}

/// Every format with every end of its lines, and with a byte order mark.
#[test]
fn line_ends_and_marks_change_nothing() {
    for text in [
        "{\"tool\":\"a\"}\n{\"tool\":\"b\"}\n",
        "[\n{\"role\":\"user\",\"content\":\"x\"}\n]\n",
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":1,\"name\":\"b\",\"input\":{}}]}\n",
        "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"S\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n",
        "{\"traceId\":\"T\",\"spanId\":\"1\",\"name\":\"y\",\n\"startTimeUnixNano\":\"1\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"b\"}}\n",
        "{\"id\":1,\"epoch\":1,\n\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}\n",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<log>\n<trace><event>\n<string key=\"concept:name\" value=\"b\"/></event></trace></log>\n",
        "case,activity\n1,b\n",
    ] {
        let usual = super::read("run", text);
        assert_eq!((usual.events.is_empty(), usual.messages()), (false, vec![]), "{text}");
        for changed in [
            text.replace('\n', "\r\n"),
            text.replace('\n', "\r"),
            text.trim_end().to_owned(),
            format!("\u{feff}{text}"),
            format!("\u{feff}{}", text.replace('\n', "\r\n")),
        ] {
            let log = super::read("run", &changed);
            assert_eq!((log.format, &log.events), (usual.format, &usual.events), "{changed:?}");
            assert_eq!(log.messages(), Vec::<&str>::new(), "{changed:?}");
        }
    }
}

#[test]
fn files_of_nothing_are_counted_whatever_their_format() {
    for format in std::iter::once(None).chain(Format::ALL.map(Some)) {
        for text in ["", "\u{feff}", "\n \r\n\n", &"\n".repeat(70_000)] {
            let log = super::read_with("run", text.as_bytes(), &Options { format, ..Options::default() });
            assert_eq!(log.summary.skipped.get("empty file"), Some(&1), "{format:?}");
            assert_eq!(log.messages(), Vec::<&str>::new(), "{format:?}");
        }
    }
}

#[test]
fn blank_lines_before_the_first_record_hide_nothing() {
    let blank = "\n".repeat(70_000);
    let log = super::read("run", &format!("{blank}{{\"tool\":\"a\"}}\n"));
    assert_eq!((log.events.len(), log.events[0].place.line), (1, Some(70_001)));
    let log = super::read("run", &format!("{blank}case,activity\n1,b\n"));
    assert_eq!(log.events.len(), 1);
    let far = " ".repeat(17 << 20);
    let log = super::read("run", &format!("{far}{{\"tool\":\"a\"}}\n"));
    assert_eq!(log.messages(), ["nothing but blanks in the first 16777216 bytes of the file"]);
}

#[test]
fn text_that_is_no_utf_8_is_named() {
    let text = "{\"tool\":\"ä\"}\n";
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let (little, big) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
    let long: Vec<u8> = text.chars().flat_map(|char| u32::from(char).to_le_bytes()).collect();
    for bytes in [
        [b"\xff\xfe", &little[..]].concat(),
        [b"\xfe\xff", &big[..]].concat(),
        [b"\xff\xfe\0\0", &long[..]].concat(),
        little,
        big,
        long,
    ] {
        for format in std::iter::once(None).chain(Format::ALL.map(Some)) {
            let log = super::read_with("run", &bytes, &Options { format, ..Options::default() });
            assert_eq!(log.messages(), ["the file is UTF-16 or UTF-32 text, expected UTF-8"], "{format:?}");
        }
    }
}

#[test]
fn nul_bytes_are_named() {
    for (text, message) in [
        ("\0\0\0{\"jsonrpc\":\"2.0\"}\n", "the file begins with a NUL byte, expected text"),
        ("{\"tool\":\"a\"}\n\0\0\0\0", "broken JSON: expected a value, found `\0`"),
        ("\0case,activity\n1,a\n", "NUL byte in the header, expected text"),
        ("case,activity\n1,a\0\n", "NUL byte in a row, expected text"),
        ("case,activity\n1,a\n\0\0\0", "row has 1 fields, expected 2 as in the header"),
        (
            "<log><trace><event><string key=\"concept:name\" value=\"a\0\"/></event></trace></log>",
            "NUL byte in the value of attribute `concept:name`, expected text",
        ),
    ] {
        assert_eq!(super::read("run", text).messages(), [message], "{text:?}");
    }
}
