//! `tracelaw check`: a policy and logs in, the verdict of every rule on every session out.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use tracelaw::audit::{Audit, Expressed};
use tracelaw::ingest::{self, Event, Format, Problem, Sink};
use tracelaw::report::{Human, clean, place_name, quote, write_json};
use tracelaw_compiler::diag::did_you_mean;
use tracelaw_runtime::Verdict;

use super::{Ended, Failure, human_output, input, plain_output, say, say_error, say_warning};

const EXAMPLE: &str = "\
Example:
  $ tracelaw check corpora/examples/support.toml corpora/examples/support.jsonl

With --json, one object per line for every rule, session and key, the satisfied ones included:
  {\"session\":\"s1\",\"rule\":\"no-leak\",\"severity\":\"error\",\"verdict\":\"violated\",\"breaches\":[{\"event\":3,\"file\":\"log.jsonl\",\"line\":4}],\"events\":9}
`event` is the index among the session's steps that the rule sees, from 0, or \"end\" for what was still open at the end; then
`opened` is the event since which it was open, if any event opened it, and file and line are those of that event. Rules with
`per` have a \"key\", the value that the object is about. `events` counts the steps of the session that the rule saw.

Exit status:
  0  every rule holds on every session
  1  a rule was broken
  2  the command line or the policy was at fault, an event contradicts the policy, or no rule was broken but part of the
     input could not be read, or no event was read at all: silence would be no verdict
Rules of every severity count.";

/// Judge every session of the logs by every rule of the policy
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    /// The policy: TOML, the same as JSON, or what `compile -o` made of it
    policy: PathBuf,
    /// Log files, or folders of them; `-` is standard input; gzip and zstd are read as they are
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Format of the logs instead of the one they seem to have: jsonl, openai, anthropic, claude-code, otlp, mcp, inspect,
    /// xes or csv
    #[arg(long)]
    format: Option<Format>,
    /// One JSON object per line instead of a report for people
    #[arg(long)]
    json: bool,
    /// Stop at the first line that cannot be read or contradicts the policy, without verdicts
    #[arg(long)]
    strict: bool,
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let mut input = input::policy(&args.policy)?;
    let plan = input.plan()?;
    let policy = input.policy;
    let mut audit = Audit::new(&policy, &plan);
    if !args.json {
        audit = audit.with_quotes(quote);
    }
    let given = policy.given.iter().filter_map(|&p| policy.vocabulary.get(p as usize)).map(String::as_str);
    let mut reader = Reader {
        audit,
        given: given.collect(),
        unknown: BTreeMap::new(),
        files: Vec::new(),
        contradictions: 0,
        strict: args.strict,
        bar: progress_bar(&args.logs),
    };
    let options = ingest::Options { format: args.format, strict: args.strict, ..ingest::Options::default() };
    let read = ingest::read(&args.logs, &options, &mut reader);
    reader.bar.finish_and_clear();
    let summary = read.map_err(|error| match error.strict_problem() {
        // The reader has told the problem.
        Some(_) => Failure::new("strict reading stops at the first problem"),
        None => Failure::new(error),
    })?;
    let Reader { audit, files, contradictions, given, unknown, .. } = reader;
    if args.strict && contradictions > 0 {
        return Ok(Ended::BadInput);
    }

    for (what, clash) in audit.clashes() {
        let (what, so) = match what {
            // Its message says which.
            Expressed::Proposition(_) => (String::new(), "counted as false"),
            Expressed::Steps => ("`steps`: ".to_owned(), "counted as false"),
            Expressed::Key(rule) => {
                let id = policy.rules.get(rule).map_or("", |rule| rule.id.as_str());
                (format!("`per` of rule `{}`: ", clean(id)), "taken for no value")
            }
        };
        say_warning(&format!(
            "{what}{}; {so} at {} (first at {})",
            clean(&clash.message),
            counted(clash.count, "event"),
            clean(&place_name(&files, clash.place)),
        ));
    }
    if unknown.len() == MAX_UNKNOWN {
        say_warning(&format!(
            "the log states {MAX_UNKNOWN} names or more that the policy does not know, such as:"
        ));
    }
    for (name, (count, place)) in &unknown {
        let help =
            did_you_mean(name, given.iter().copied()).map_or(String::new(), |help| format!("; {help}"));
        say_warning(&format!(
            "the log states `{}`, which the policy does not list under `given`: left out at {} (first at {}){help}",
            clean(name),
            counted(*count, "event"),
            clean(&place_name(&files, *place)),
        ));
    }
    if !summary.skipped.is_empty() {
        let skipped: Vec<String> =
            summary.skipped.iter().map(|(name, n)| format!("{n} {}", clean(name))).collect();
        say(&format!("left out, being no events: {}", skipped.join(", ")));
    }
    if summary.events == 0 {
        say_error("no events were read, so no session was judged");
    }
    for session in audit.contradicted() {
        say_error(&format!("no verdicts on session `{}`: it contradicts the policy", clean(session)));
    }
    if summary.problems > 0 {
        say_error(&format!(
            "{} of the input could not be read{}",
            counted(summary.problems, "place"),
            if summary.events == 0 { "" } else { "; the verdicts are on the rest" },
        ));
    }

    let mut broken = false;
    let written = if args.json {
        let mut out = plain_output();
        each(audit, &mut broken, |outcome| write_json(&mut out, &policy, &files, outcome))
            .and_then(|()| io::Write::flush(&mut out))
    } else {
        let mut human = Human::new(human_output(), &policy, &files);
        let mut judged = false;
        let written = each(audit, &mut broken, |outcome| {
            judged = true;
            human.outcome(outcome)
        });
        // A table of nothing would look like a clean one; what was wrong has been said.
        if judged { written.and_then(|()| human.finish()) } else { written }
    };
    match written {
        // Whoever read the report has seen enough; the verdict stands.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {}
        other => other?,
    }
    Ok(match () {
        () if contradictions > 0 => Ended::BadInput,
        () if broken => Ended::Broken,
        () if summary.problems > 0 || summary.events == 0 => Ended::BadInput,
        () => Ended::Well,
    })
}

/// `1 event`, `2 events`.
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Hands over the outcomes until writing fails, and notes whether a rule was broken.
fn each(
    audit: Audit<'_>,
    broken: &mut bool,
    mut write: impl FnMut(&tracelaw::audit::Outcome<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut written = Ok(());
    audit.finish(|outcome| {
        *broken |= outcome.verdict == Verdict::Violated;
        if written.is_ok() {
            written = write(&outcome);
        }
    });
    written
}

/// Most names told that the log states and the policy does not know.
const MAX_UNKNOWN: usize = 100;

/// Passes events on to the audit and tells what is wrong with the input.
struct Reader<'a> {
    audit: Audit<'a>,
    /// Propositions that the policy takes from the log.
    given: BTreeSet<&'a str>,
    /// Names that the log states beside these: how often, and where first.
    unknown: BTreeMap<String, (u64, ingest::Place)>,
    /// Names of the files, by the number that places use.
    files: Vec<String>,
    contradictions: u64,
    strict: bool,
    bar: ProgressBar,
}

impl Reader<'_> {
    fn tell(&self, place: ingest::Place, message: &str) {
        self.bar.suspend(|| say_error(&format!("{}: {message}", clean(&place_name(&self.files, place)))));
    }
}

impl Sink for Reader<'_> {
    fn event(&mut self, event: Event) {
        if self.strict && self.contradictions > 0 {
            return;
        }
        for name in event.props.iter().filter(|name| !self.given.contains(name.as_str())) {
            // A log may state names without end: a hundred are enough to see what is wrong.
            if let Some((count, _)) = self.unknown.get_mut(name) {
                *count += 1;
            } else if self.unknown.len() < MAX_UNKNOWN {
                self.unknown.insert(name.clone(), (1, event.place));
            }
        }
        if let Err(contradiction) = self.audit.event(&event) {
            self.contradictions += 1;
            self.tell(event.place, &contradiction.to_string());
        }
    }

    fn problem(&mut self, problem: Problem) {
        let mut message = clean(&problem.message);
        if let Some(column) = problem.column {
            message = format!("column {column}: {message}");
        }
        if let Some(help) = &problem.help {
            message = format!("{message} (help: {})", clean(help));
        }
        self.tell(problem.place, &message);
    }

    fn file(&mut self, file: u32, path: &Path) {
        let at = file as usize;
        if self.files.len() <= at {
            self.files.resize(at + 1, String::new());
        }
        if let Some(name) = self.files.get_mut(at) {
            *name = path.display().to_string();
        }
    }

    fn progress(&mut self, bytes: u64) {
        self.bar.set_position(bytes);
    }
}

/// A bar over the bytes of all files; where the size is not known beforehand, only what was read so far. Hidden by itself
/// where standard error is no terminal.
fn progress_bar(logs: &[PathBuf]) -> ProgressBar {
    let size =
        |path: &PathBuf| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|m| m.len());
    let (bar, template) = match logs.iter().map(size).sum::<Option<u64>>() {
        Some(total) => (ProgressBar::new(total), "reading {wide_bar} {bytes}/{total_bytes} {eta}"),
        None => (ProgressBar::no_length(), "reading {spinner} {bytes} {bytes_per_sec}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
