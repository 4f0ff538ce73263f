//! The command line itself: usage, help, pipes, the subcommands that only look.

use super::{Folder, binary, calls, run, tools};
use std::io::Read;
use std::process::Stdio;

#[test]
fn every_subcommand_has_help_with_an_example() {
    for command in ["check", "eval", "compile", "explain", "bench"] {
        let ran = run(&[command, "--help"]);
        assert_eq!(ran.code, 0);
        assert!(
            ran.out.contains("Example") && ran.out.contains(&format!("tracelaw {command}")),
            "{}",
            ran.out
        );
        assert!(run(&["--help"]).out.contains(command));
    }
}

/// Every example of a help text that needs no input does what it shows.
#[test]
fn the_examples_of_the_help_run() {
    // What the examples write goes to a folder of the test's own, where later examples find it.
    let folder = Folder::new();
    let written = folder.file("written.tlaw", "");
    let mut ran = 0;
    for command in ["check", "compile", "explain", "bench"] {
        let help = run(&[command, "--help"]).out;
        for line in help.lines().filter_map(|l| l.trim().strip_prefix("$ tracelaw ")) {
            // What is quoted is one argument; a pipe is for other programs.
            let mut args = Vec::new();
            for (i, part) in line.split('\'').enumerate() {
                if i % 2 == 1 {
                    args.push(part);
                } else {
                    args.extend(part.split_whitespace());
                }
            }
            let is_file = |a: &str| a.ends_with(".tlaw");
            let args: Vec<&str> = args.into_iter().take_while(|a| *a != "|").collect();
            let args: Vec<&str> = args.into_iter().map(|a| if is_file(a) { &written } else { a }).collect();
            let result = run(&args);
            let silent = result.out.is_empty() && !args.contains(&written.as_str());
            assert!(result.code < 2 && !silent, "{line}: {}", result.err);
            ran += 1;
        }
    }
    assert!(ran >= 9, "{ran} examples found");
}

#[test]
fn wrong_usage_exits_with_two() {
    for args in [
        &[][..],
        &["chekc"],
        &["check"],
        &["check", "p.toml"],
        &["check", "no-such-policy.toml", "no-such-log.jsonl"],
        &["compile"],
        &["explain", "p.toml"],
        &["eval", "no-such-file.jsonl"],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {ran:?}");
        assert!(!ran.err.is_empty());
    }
}

#[test]
fn a_missing_log_and_a_wrong_format_are_told() {
    let folder = Folder::new();
    let policy = folder.file("p.toml", &format!("{}[[rule]]\nid = \"r\"\nformula = \"G a\"\n", tools("a")));
    let ran = run(&["check", &policy, "no-such-log.jsonl"]);
    assert!(ran.code == 2 && ran.err.contains("no-such-log.jsonl"), "{ran:?}");
    let ran = run(&["check", &policy, &policy, "--format", "jsonlines"]);
    assert!(ran.code == 2 && ran.err.contains("jsonlines"), "{ran:?}");
}

#[test]
fn a_closed_pipe_is_no_crash() {
    let folder = Folder::new();
    let policy = folder.file("p.toml", &format!("{}[[rule]]\nid = \"r\"\nformula = \"G a\"\n", tools("a")));
    let log: String = (0..5000).map(|i| calls("b").replace("\"s\"", &format!("\"session {i}\""))).collect();
    let log = folder.file("l.jsonl", &log);
    for args in [&["check", &policy, &log][..], &["check", &policy, &log, "--json"]] {
        let mut child = binary().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        // The verdict stands although nobody read all of it.
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(1), ""));
    }
}

#[test]
fn the_example_of_the_readme_runs() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let (policy, log) = ("corpora/examples/support.toml", "corpora/examples/support.jsonl");
    assert!(readme.contains(&format!("cargo run --release -- check {policy} {log}\n")));
    let output = binary().current_dir(root).args(["check", policy, log, "--json"]).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0), "{output:?}");
    let out = String::from_utf8(output.stdout).unwrap();
    let broken: Vec<String> = super::Ran { code: 1, out, err: String::new() }
        .verdicts()
        .into_iter()
        .filter(|v| v.contains("violated"))
        .collect();
    assert_eq!(
        broken,
        [
            "ticket-1042 identity-first violated 1",
            "ticket-1042 approval-for-large-refunds violated 1",
            "ticket-1042 customer-is-told violated end",
            "ticket-1042 look-before-refund[B-3] violated 3",
            "ticket-1043 no-card-data-out violated 4",
        ]
    );
}
