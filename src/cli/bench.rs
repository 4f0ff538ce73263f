//! `tracelaw bench`: compiled rules against formula progression, on the user's own policy and log.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tracelaw::ingest::{self, Collected, Format};
use tracelaw::race::{Race, RaceError, race};
use tracelaw::report::{clean, place_name};

use super::{Ended, Failure, human_output, input, plain_output, say_error};

const EXAMPLE: &str = "\
Example:
  $ tracelaw bench corpora/examples/support.toml corpora/examples/support.jsonl --seconds 1

The log is read and labelled once. Then, on one thread and in turn, the policy's rules are stepped over all sessions: compiled
(together as `check` steps them, and one by one), by formula progression at its best, and by that of the textbook. Times are
medians of 5 rounds; an engine that does not get through the log in its time is measured on the start of it, and the table says
on how many events. Before that the engines' verdicts are compared, event by event, as far as there is time. After a violation every
engine stops, whatever the policy says; an artifact's rules are compiled anew for that.

Exit status: 0 the race was run, 2 it could not be: the input was at fault, or two engines disagree.";

/// Race compiled rules against formula progression on your policy and log
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    /// The policy: TOML, the same as JSON, or an artifact
    policy: PathBuf,
    /// Log files, or folders of them; `-` is standard input
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Format of the logs instead of the one they seem to have
    #[arg(long)]
    format: Option<Format>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Seconds for the race
    #[arg(long, default_value_t = 5.0, value_parser = seconds)]
    seconds: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("a number of seconds from 0.01 to 86400 is needed".to_owned()),
    }
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let input = input::policy(&args.policy)?;
    let mut log = Collected::default();
    let options = ingest::Options { format: args.format, ..ingest::Options::default() };
    ingest::read(&args.logs, &options, &mut log).map_err(Failure::new)?;
    if let Some(first) = log.problems.first() {
        let files: Vec<String> = log.files.iter().map(|(_, path, _)| path.display().to_string()).collect();
        say_error(&format!("{}: {}", clean(&place_name(&files, first.place)), clean(&first.message)));
        return Err(Failure::new(
            "a race needs a log that can be read whole; `tracelaw check` tells all that is wrong",
        ));
    }
    let budget = Duration::from_secs_f64(args.seconds);
    let race = race(&input.policy, &log.events, budget).map_err(|e| match e {
        RaceError::Policy(report) => input.text.fail(&report),
        e => Failure::new(e),
    })?;
    if args.json {
        let mut out = plain_output();
        writeln!(out, "{}", object(&race))?;
        out.flush()?;
        return Ok(Ended::Well);
    }
    table(&race)?;
    Ok(Ended::Well)
}

fn object(race: &Race) -> serde_json::Value {
    let base = race.engines.first().map_or(f64::NAN, |e| e.per_rule);
    let engines: Vec<_> = race
        .engines
        .iter()
        .map(|e| {
            json!({
                "engine": e.engine, "rules": e.rules, "events": e.events, "whole": e.whole,
                "ns_per_event": e.per_event, "ns_per_event_and_rule": e.per_rule, "ratio": e.per_rule / base,
            })
        })
        .collect();
    let left_out: Vec<_> =
        race.left_out.iter().map(|(rule, why)| json!({ "rule": rule, "why": why })).collect();
    json!({
        "sessions": race.sessions, "events": race.events, "rules": race.rules, "left_out": left_out,
        "verdicts_agree": true, "events_compared": race.compared, "engines": engines,
    })
}

fn table(race: &Race) -> std::io::Result<()> {
    let mut out = human_output();
    for (rule, why) in &race.left_out {
        writeln!(out, "left out: rule `{}`: {why}", clean(rule))?;
    }
    let compared = if race.compared < race.events {
        format!("the first {} (more time compares more)", race.compared)
    } else {
        "every one".to_owned()
    };
    writeln!(
        out,
        "{} rules, {} sessions, {} events; all verdicts agree after {compared}",
        race.rules, race.sessions, race.events
    )?;
    writeln!(
        out,
        "{:26}{:>6}{:>12}{:>14}{:>18}{:>12}",
        "engine", "rules", "on events", "ns per event", "ns per event+rule", "ratio"
    )?;
    let base = race.engines.first().map_or(f64::NAN, |e| e.per_rule);
    for e in &race.engines {
        writeln!(
            out,
            "{:26}{:>6}{:>12}{:>14.1}{:>18.2}{:>12.1}",
            e.engine,
            e.rules,
            e.events,
            e.per_event,
            e.per_rule,
            e.per_rule / base
        )?;
    }
    out.flush()
}
