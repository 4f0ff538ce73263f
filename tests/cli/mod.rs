//! Drives the built binary as a user would.

mod bench;
mod check;
mod eval;
mod explain;
mod keys;
mod shell;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// What a run of the binary left behind.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Ran {
    /// Standard output as one JSON value per line.
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// `session rule key verdict breaches` per line, with the breaches as `[1,"end"]`.
    fn verdicts(&self) -> Vec<String> {
        let word = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        self.lines()
            .iter()
            .map(|line| {
                let breaches: Vec<String> =
                    line["breaches"].as_array().unwrap().iter().map(|b| word(&b["event"])).collect();
                let key = line.get("key").map(|k| format!("[{}]", word(k))).unwrap_or_default();
                let head = format!(
                    "{} {}{key} {}",
                    word(&line["session"]),
                    word(&line["rule"]),
                    word(&line["verdict"])
                );
                format!("{head} {}", breaches.join(",")).trim_end().to_owned()
            })
            .collect()
    }
}

fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracelaw"));
    command.env("NO_COLOR", "1");
    command
}

fn run_with_input(args: &[&str], input: &str) -> Ran {
    let mut child = binary()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // From a thread: the binary may answer before it has read everything. It may also stop before that.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(args: &[&str]) -> Ran {
    run_with_input(args, "")
}

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cli-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `check POLICY LOG ARGS`.
fn check(policy: &str, log: &str, args: &[&str]) -> Ran {
    let folder = Folder::new();
    let (policy, log) = (folder.file("policy.toml", policy), folder.file("log.jsonl", log));
    run(&[&["check", &policy, &log], args].concat())
}

/// The verdicts of `check --json`, after a look at the exit code.
fn verdicts(policy: &str, log: &str) -> Vec<String> {
    let ran = check(policy, log, &["--json"]);
    let verdicts = ran.verdicts();
    let broken = verdicts.iter().any(|v| v.contains(" violated"));
    assert_eq!(ran.code, i32::from(broken), "{ran:?}");
    verdicts
}

/// One call per word, in session `s`; `pay:A` is a call with the argument `id` = `A`.
fn calls(words: &str) -> String {
    words
        .split_whitespace()
        .map(|word| match word.split_once(':') {
            Some((tool, id)) => {
                format!("{{\"session\":\"s\",\"tool\":\"{tool}\",\"args\":{{\"id\":\"{id}\"}}}}\n")
            }
            None => format!("{{\"session\":\"s\",\"tool\":\"{word}\"}}\n"),
        })
        .collect()
}

/// `[propositions]` with one per word, true at the calls of the tool of that name.
fn tools(words: &str) -> String {
    let lines: String = words.split_whitespace().map(|w| format!("{w} = 'tool == \"{w}\"'\n")).collect();
    format!("[propositions]\n{lines}")
}
