//! What an audit found, for programs and for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde::ser::SerializeMap;
use tracelaw_runtime::Verdict;

use super::quote::clean;
use crate::audit::{Breach, Outcome};
use crate::ingest::Place;
use crate::policy::Policy;

/// Breaches that the report for people shows per rule and session.
const MAX_SHOWN: usize = 10;

/// The outcome as one JSON object on a line of its own.
///
/// # Errors
/// When the output cannot be written.
pub fn write_json(
    out: &mut impl Write,
    policy: &Policy,
    files: &[String],
    outcome: &Outcome<'_>,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        session: &'a str,
        rule: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<&'a str>,
        severity: &'static str,
        verdict: &'static str,
        breaches: Vec<BreachLine<'a>>,
        events: u64,
    }
    struct BreachLine<'a>(&'a Breach, &'a [String]);
    impl Serialize for BreachLine<'_> {
        fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
            let mut map = s.serialize_map(None)?;
            match self.0.event {
                Some(event) => map.serialize_entry("event", &event)?,
                None => map.serialize_entry("event", "end")?,
            }
            if let Some(opened) = self.0.opened {
                map.serialize_entry("opened", &opened)?;
            }
            if let Some(place) = self.0.place {
                if let Some(file) = self.1.get(place.file as usize) {
                    map.serialize_entry("file", file)?;
                }
                if let Some(line) = place.line {
                    map.serialize_entry("line", &line)?;
                }
            }
            map.end()
        }
    }
    let rule = policy.rules.get(outcome.rule);
    let line = Line {
        session: outcome.session,
        rule: rule.map_or("", |r| &r.id),
        key: outcome.key,
        severity: rule.map_or("", |r| r.severity.as_str()),
        verdict: outcome.verdict.as_str(),
        breaches: outcome.breaches.iter().map(|b| BreachLine(b, files)).collect(),
        events: outcome.events,
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// `log.jsonl:12`, as far as it is known.
#[must_use]
pub fn place_name(files: &[String], place: Place) -> String {
    let file = files.get(place.file as usize).map_or("?", String::as_str);
    match place.line {
        Some(line) => format!("{file}:{line}"),
        None => file.to_owned(),
    }
}

/// Writes the report for people as outcomes come in.
pub struct Human<'a, W> {
    out: W,
    policy: &'a Policy,
    files: &'a [String],
    tallies: Vec<Tally>,
    sessions: usize,
    last_session: String,
}

/// What came of one rule.
#[derive(Clone, Default)]
struct Tally {
    /// Outcomes by verdict.
    verdicts: [u64; 4],
    breaches: u64,
}

const RED: Style = AnsiColor::Red.on_default().bold();
const GREEN: Style = AnsiColor::Green.on_default();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

impl<'a, W: Write> Human<'a, W> {
    /// A report on `policy`; `files` are the names of the logs, by the number that places use.
    pub fn new(out: W, policy: &'a Policy, files: &'a [String]) -> Human<'a, W> {
        let tallies = vec![Tally::default(); policy.rules.len()];
        Human { out, policy, files, tallies, sessions: 0, last_session: String::new() }
    }

    /// Counts the outcome, and writes what happened if the rule was broken.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn outcome(&mut self, outcome: &Outcome<'_>) -> io::Result<()> {
        if self.sessions == 0 || self.last_session != outcome.session {
            self.sessions += 1;
            outcome.session.clone_into(&mut self.last_session);
        }
        let (Some(rule), Some(tally)) =
            (self.policy.rules.get(outcome.rule), self.tallies.get_mut(outcome.rule))
        else {
            return Ok(());
        };
        if let Some(count) = tally.verdicts.get_mut(outcome.verdict as usize) {
            *count += 1;
        }
        tally.breaches += outcome.breaches.len() as u64;
        if outcome.verdict != Verdict::Violated {
            return Ok(());
        }
        let out = &mut self.out;
        let session = clean(outcome.session);
        write!(
            out,
            "{RED}violated{RED:#}  {BOLD}{}{BOLD:#}  in session {BOLD}{session}{BOLD:#}",
            clean(&rule.id)
        )?;
        if let Some(key) = outcome.key {
            write!(out, " for {BOLD}{}{BOLD:#}", clean(key))?;
        }
        writeln!(out)?;
        let text = if rule.text.is_empty() { &rule.written } else { &rule.text };
        write!(out, "  {}", clean_long(text))?;
        match &rule.source {
            Some(source) => writeln!(out, " {DIM}({}){DIM:#}", clean(source))?,
            None => writeln!(out)?,
        }
        for breach in outcome.breaches.iter().take(MAX_SHOWN) {
            let place = breach.place.map(|p| place_name(self.files, p)).unwrap_or_default();
            let quote = breach.quote.as_deref().unwrap_or_default();
            let what = match (breach.event, breach.opened) {
                (Some(event), _) => format!("event {event}"),
                (None, Some(event)) => format!("at the end  open since event {event}"),
                (None, None) => {
                    writeln!(out, "  at the end  never fulfilled")?;
                    continue;
                }
            };
            writeln!(out, "  {what}  {DIM}{}{DIM:#}  {quote}", clean(&place))?;
        }
        if let Some(more) = outcome.breaches.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
            writeln!(out, "  and {more} more (--json lists all)")?;
        }
        writeln!(out)
    }

    /// Writes the table of all rules.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        const VERDICTS: [Verdict; 4] =
            [Verdict::Satisfied, Verdict::Holding, Verdict::Pending, Verdict::Violated];
        // Under finite semantics every session ends satisfied or violated: no columns for what cannot be.
        let shown: Vec<Verdict> = VERDICTS
            .into_iter()
            .filter(|v| v.is_final() || self.tallies.iter().any(|t| t.count(*v) > 0))
            .collect();
        let width = self.policy.rules.iter().map(|r| clean(&r.id).chars().count()).max().unwrap_or(0).max(4);
        let out = &mut self.out;
        write!(out, "{BOLD}{:width$}  {:8}", "rule", "severity")?;
        for verdict in &shown {
            write!(out, "  {:>9}", verdict.as_str())?;
        }
        writeln!(out, "  {:>8}{BOLD:#}", "breaches")?;
        for (rule, tally) in self.policy.rules.iter().zip(&self.tallies) {
            let severity = rule.severity.as_str();
            write!(out, "{:width$}  {severity:8}", clean(&rule.id))?;
            for verdict in &shown {
                let count = tally.count(*verdict);
                let style = match verdict {
                    Verdict::Violated if count > 0 => RED,
                    Verdict::Satisfied if count > 0 => GREEN,
                    _ => Style::new(),
                };
                write!(out, "  {style}{count:>9}{style:#}")?;
            }
            writeln!(out, "  {:>8}", tally.breaches)?;
        }
        let broken = self.tallies.iter().filter(|t| t.count(Verdict::Violated) > 0).count();
        let (rules, sessions) = (self.policy.rules.len(), self.sessions);
        let plural = if sessions == 1 { "" } else { "s" };
        let rules = if rules == 1 { "1 rule".to_owned() } else { format!("{rules} rules") };
        writeln!(out, "{broken} of {rules} broken, {sessions} session{plural} judged")?;
        self.out.flush()
    }
}

impl Tally {
    fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(verdict as usize).copied().unwrap_or(0)
    }
}

/// The text of a rule on one line, whole.
fn clean_long(text: &str) -> String {
    text.split_whitespace().map(clean).collect::<Vec<_>>().join(" ")
}
