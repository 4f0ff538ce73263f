//! `tracelaw eval`: formulas and traces in, verdicts out, for scripts, notebooks and conformance tests.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver};

use ahash::AHashMap;
use rayon::prelude::*;
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tracelaw_compiler::config::Semantics;
use tracelaw_compiler::diag::{self, Diagnostic, Report, Severity};
use tracelaw_compiler::syntax::{self, Ast, Dialect, Expr};
use tracelaw_compiler::{Compiled, Options, template};
use tracelaw_runtime::{Letter, Verdict};

use super::{Ended, Failure, plain_output};

const EXAMPLE: &str = r#"Example:
  $ echo '{"id":1,"formula":"G(pay -> F audit)","traces":[[["pay"],[],["audit"]],[["pay"]]]}' | tracelaw eval
  {"id":1,"states":2,"initial":"holding","verdicts":[["pending","pending","holding"],["pending"]],"accepts":[true,false]}

A request is one line: an object with
  formula        the rule
  traces         a list of traces; a trace is a list of events, an event the list of the propositions that hold at it
  id             any value; it comes back in the answer
  semantics      "finite" (default) or "infinite": over which continuations the verdicts speak
  dialect        "tracelaw" (default) or "spot" (plain X is the weak next)
  props          all propositions there are; without it, those that the formula does not mention are ignored
  exclusive      lists of propositions of which at most one holds at an event
  one_per_event  true: exactly one proposition holds at each event
A request with a mistake is answered by {"id":..,"error":{"message","line","column",..}}; the others are not affected.
Answers come in the order of the requests. `accepts` says whether a trace ends in `holding` or `satisfied`; `initial`, and `accepts` of the
trace without events, are those of the empty trace.

Exit status:
  0  every request was answered, be it by an error
  2  the requests could not be read, or the answers not be written"#;

/// Answer requests, one JSON object per line, with the verdict after each event of each trace.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    /// File with the requests; standard input if it is not given or `-`
    file: Option<PathBuf>,
}

/// Requests that wait for a free worker; more would only use memory.
const QUEUE: usize = 8;

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    let input: Box<dyn io::Read + Send> = match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let file = File::open(path);
            Box::new(file.map_err(|e| Failure::new(format_args!("cannot read `{}`: {e}", path.display())))?)
        }
        _ => Box::new(io::stdin()),
    };
    let (send, requests) = mpsc::sync_channel(QUEUE);
    // The thread is not joined: when the output is closed early, it may be waiting for input that never comes.
    std::thread::spawn(move || {
        let mut input = BufReader::with_capacity(1 << 16, input);
        for number in 1.. {
            let mut line = Vec::new();
            let read = input.read_until(b'\n', &mut line);
            let more = matches!(read, Ok(n) if n > 0);
            if send.send(read.map(|_| (number, line))).is_err() || !more {
                return;
            }
        }
    });
    answer_all(&requests, &mut plain_output())
}

type Line = io::Result<(usize, Vec<u8>)>;

/// Answers what has come in so far in parallel, then waits for more: a script that sends one request and waits for its
/// answer gets it at once.
fn answer_all(requests: &Receiver<Line>, out: &mut impl Write) -> Result<Ended, Failure> {
    while let Ok(first) = requests.recv() {
        let batch: Vec<Line> = std::iter::once(first).chain(requests.try_iter().take(QUEUE)).collect();
        let answers: Vec<io::Result<Vec<u8>>> =
            batch.into_par_iter().map(|line| line.map(|(number, line)| answer(number, &line))).collect();
        for answer in answers {
            match answer {
                Ok(answer) => out.write_all(&answer)?,
                Err(e) => {
                    out.flush()?;
                    return Err(Failure::new(format_args!("cannot read the requests: {e}")));
                }
            }
        }
        out.flush()?;
    }
    Ok(Ended::Well)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    formula: Cow<'a, str>,
    #[serde(default)]
    semantics: SemanticsName,
    #[serde(default)]
    dialect: DialectName,
    #[serde(default)]
    props: Option<Vec<String>>,
    #[serde(default)]
    exclusive: Vec<Vec<String>>,
    #[serde(default)]
    one_per_event: bool,
    #[serde(borrow)]
    traces: &'a RawValue,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum SemanticsName {
    #[default]
    Finite,
    Infinite,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum DialectName {
    #[default]
    Tracelaw,
    Spot,
}

/// What is left of a request that is not well formed.
#[derive(Deserialize)]
struct Identified<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
}

/// The answer to one line of input, with its line end; nothing for a blank line.
fn answer(number: usize, line: &[u8]) -> Vec<u8> {
    // Some editors begin a file with a mark of its encoding.
    let bare = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if bare.is_empty() {
        return Vec::new();
    }
    // Columns count from the line's own start.
    let before = bare.as_ptr() as usize - line.as_ptr() as usize;
    let line = bare;
    let parsed: Result<Request<'_>, _> = serde_json::from_slice(line);
    let (id, result) = match parsed {
        // A list of the right length would do for the fields in their order.
        Ok(_) | Err(_) if line.first().is_some_and(|first| b"[\"-0123456789tfn".contains(first)) => {
            (None, Err(Mistake::request(number, before + 1, "expected a JSON object".to_owned())))
        }
        Ok(request) => {
            let traces = request.traces.get().as_ptr() as usize - line.as_ptr() as usize;
            (request.id, evaluate(&request, number, before + traces))
        }
        Err(e) => {
            let id = serde_json::from_slice::<Identified<'_>>(line).ok().and_then(|i| i.id);
            (id, Err(Mistake::request(number, before + e.column(), without_place(&e))))
        }
    };
    let mut out = b"{\"id\":".to_vec();
    out.extend_from_slice(id.map_or("null", RawValue::get).as_bytes());
    match result {
        Ok(body) => out.extend_from_slice(&body),
        Err(mistake) => {
            out.extend_from_slice(b",\"error\":");
            // Strings and numbers into memory: this cannot fail, and half an answer would still be a broken line.
            let _ = serde_json::to_writer(&mut out, &mistake);
        }
    }
    out.extend_from_slice(b"}\n");
    out
}

/// The message of a JSON error without the place, which the answer gives in fields of its own.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message).to_owned()
}

#[derive(Serialize)]
struct Mistake {
    message: String,
    line: usize,
    column: usize,
    /// What line and column count in: `formula`, or `request` for the lines of the input.
    within: &'static str,
    code: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    diagnostics: Vec<Note>,
}

#[derive(Serialize)]
struct Note {
    severity: &'static str,
    code: &'static str,
    message: String,
    line: usize,
    column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl Mistake {
    fn request(line: usize, column: usize, message: String) -> Mistake {
        Mistake {
            message,
            line,
            column,
            within: "request",
            code: "request",
            help: None,
            diagnostics: Vec::new(),
        }
    }

    /// All that is wrong with a formula; the first error stands for the whole.
    fn formula(text: &str, report: &Report) -> Mistake {
        let diagnostics: Vec<Note> = report
            .iter()
            .map(|d| {
                let (line, column) = diag::locate(text, d.span.start);
                let severity = if d.severity == Severity::Error { "error" } else { "warning" };
                let (message, help) = (d.message.clone(), d.help.clone());
                Note { severity, code: d.code, message, line, column, help }
            })
            .collect();
        let first = diagnostics.iter().find(|n| n.severity == "error").or(diagnostics.first());
        let (message, line, column, code, help) = match first {
            Some(n) => (n.message.clone(), n.line, n.column, n.code, n.help.clone()),
            None => ("the formula cannot be read".to_owned(), 1, 1, "syntax", None),
        };
        Mistake { message, line, column, within: "formula", code, help, diagnostics }
    }
}

/// Everything of the answer after the id.
fn evaluate(request: &Request<'_>, number: usize, traces_at: usize) -> Result<Vec<u8>, Mistake> {
    let dialect = match request.dialect {
        DialectName::Tracelaw => Dialect::Tracelaw,
        DialectName::Spot => Dialect::Spot,
    };
    let text = request.formula.as_ref();
    let limits = syntax::Limits::default();
    let formula = syntax::parse(text, dialect, &limits).map_err(|report| {
        Mistake::formula(text, &template::instead_of_formula(report, text, dialect, &limits))
    })?;
    let vocabulary = vocabulary(request, &formula).map_err(|r| Mistake::formula(text, &r))?;
    let place: AHashMap<&str, u32> = (0..).zip(&vocabulary).map(|(i, name)| (name.as_str(), i)).collect();
    let exclusive = numbered(&request.exclusive, &place).map_err(|name| {
        Mistake::request(number, 1, format!("`{name}` in `exclusive` is not one of `props`"))
    })?;
    let options = Options {
        semantics: match request.semantics {
            SemanticsName::Finite => Semantics::Finite,
            SemanticsName::Infinite => Semantics::Infinite,
        },
        after_violation: None,
        exclusive,
        one_of_all: request.one_per_event,
        ..Options::default()
    };
    let compiled = tracelaw_compiler::compile(&formula, &vocabulary, &options).map_err(|e| {
        Mistake::formula(text, &Diagnostic::error("limit", formula.span, e.to_string()).into())
    })?;
    let mut run = Run {
        compiled: &compiled,
        vocabulary: &vocabulary,
        place: &place,
        options: &options,
        closed: request.props.is_some(),
        letter: vec![0; vocabulary.len().div_ceil(64)],
        out: Vec::with_capacity(request.traces.get().len() + 128),
        accepts: Vec::new(),
    };
    let initial = compiled.automaton.verdict(compiled.automaton.initial());
    run.push(&format!(
        ",\"states\":{},\"initial\":\"{initial}\",\"verdicts\":[",
        compiled.automaton.state_len()
    ));
    let mut json = serde_json::Deserializer::from_str(request.traces.get());
    Traces(&mut run).deserialize(&mut json).map_err(|e| {
        Mistake::request(number, traces_at + e.column(), format!("in `traces`: {}", without_place(&e)))
    })?;
    run.push("],\"accepts\":[");
    for (i, accepts) in std::mem::take(&mut run.accepts).into_iter().enumerate() {
        run.push(if i > 0 { "," } else { "" });
        run.push(if accepts { "true" } else { "false" });
    }
    run.push("]");
    Ok(run.out)
}

/// The propositions by number: `props` as given, else those of the formula and of `exclusive` as they come.
fn vocabulary(request: &Request<'_>, formula: &Ast) -> Result<Vec<String>, Report> {
    let Some(props) = &request.props else {
        let mut names = formula.propositions();
        let mut seen: ahash::AHashSet<&str> = names.iter().copied().collect();
        names.extend(request.exclusive.iter().flatten().map(String::as_str).filter(|n| seen.insert(n)));
        return Ok(names.into_iter().map(str::to_owned).collect());
    };
    let mut seen = ahash::AHashSet::new();
    let names: Vec<String> = props.iter().filter(|n| seen.insert(n.as_str())).cloned().collect();
    let mut report = Report::new();
    report_unknown(formula, &seen, &names, &mut report);
    report.into_result(names)
}

fn report_unknown(ast: &Ast, known: &ahash::AHashSet<&str>, names: &[String], report: &mut Report) {
    match &ast.expr {
        Expr::Constant(_) => {}
        Expr::Proposition(name) if known.contains(name.as_str()) => {}
        Expr::Proposition(name) => {
            let mut d = Diagnostic::error(
                "unknown-name",
                ast.span,
                format!("unknown proposition `{name}`: it is not in `props`"),
            );
            d.help = diag::did_you_mean(name, names.iter().map(String::as_str));
            report.push(d);
        }
        Expr::Unary(_, f) => report_unknown(f, known, names, report),
        Expr::And(fs) | Expr::Or(fs) => fs.iter().for_each(|f| report_unknown(f, known, names, report)),
        Expr::Binary(_, f, g) => [f, g].into_iter().for_each(|f| report_unknown(f, known, names, report)),
    }
}

/// The sets of names as sets of numbers, or the first name that has none.
fn numbered<'a>(sets: &'a [Vec<String>], place: &AHashMap<&str, u32>) -> Result<Vec<Vec<u32>>, &'a str> {
    let number = |name: &'a String| place.get(name.as_str()).copied().ok_or(name.as_str());
    sets.iter().map(|set| set.iter().map(number).collect()).collect()
}

/// Reads traces and steps the automaton as they are read: no tree of the JSON is built.
struct Run<'a> {
    compiled: &'a Compiled,
    vocabulary: &'a [String],
    place: &'a AHashMap<&'a str, u32>,
    options: &'a Options,
    /// Whether propositions outside the vocabulary are a mistake.
    closed: bool,
    letter: Vec<u64>,
    out: Vec<u8>,
    accepts: Vec<bool>,
}

impl Run<'_> {
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Why the letter cannot be.
    fn contradiction(&self) -> Option<String> {
        tracelaw::label::contradiction(
            self.vocabulary,
            &self.options.exclusive,
            self.options.one_of_all,
            &self.letter,
        )
    }
}

struct Traces<'r, 'a>(&'r mut Run<'a>);

impl<'de> DeserializeSeed<'de> for Traces<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Traces<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of traces")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut traces: A) -> Result<(), A::Error> {
        while traces.next_element_seed(Trace(self.0))?.is_some() {}
        Ok(())
    }
}

struct Trace<'r, 'a>(&'r mut Run<'a>);

impl<'de> DeserializeSeed<'de> for Trace<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Trace<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace, that is a list of events")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        let run = self.0;
        let automaton = &run.compiled.automaton;
        let trace = run.accepts.len();
        run.push(if trace > 0 { ",[" } else { "[" });
        let (mut state, mut event) = (automaton.initial(), 0usize);
        loop {
            run.letter.fill(0);
            match events.next_element_seed(Event(run)) {
                Ok(None) => break,
                Ok(Some(())) => {}
                Err(e) => return Err(de::Error::custom(format_args!("trace {trace}, event {event}: {e}"))),
            }
            if let Some(why) = run.contradiction() {
                return Err(de::Error::custom(format_args!("trace {trace}, event {event}: {why}")));
            }
            state = automaton.step(state, Letter(&run.letter)).state;
            run.push(if event > 0 { ",\"" } else { "\"" });
            run.push(automaton.verdict(state).as_str());
            run.push("\"");
            event += 1;
        }
        run.push("]");
        run.accepts.push(Verdict::accepts(automaton.verdict(state)));
        Ok(())
    }
}

/// The names that hold at one event.
struct Event<'r, 'a>(&'r mut Run<'a>);

impl<'de> DeserializeSeed<'de> for Event<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Event<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event, that is a list of propositions")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<(), A::Error> {
        while names.next_element_seed(Name(self.0))?.is_some() {}
        Ok(())
    }
}

struct Name<'r, 'a>(&'r mut Run<'a>);

impl<'de> DeserializeSeed<'de> for Name<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a proposition")
    }
    fn visit_str<E: de::Error>(self, name: &str) -> Result<(), E> {
        let run = self.0;
        match run.place.get(name) {
            Some(&prop) => {
                if let Some(word) = run.letter.get_mut((prop >> 6) as usize) {
                    *word |= 1 << (prop & 63);
                }
                Ok(())
            }
            None if run.closed => {
                Err(E::custom(format_args!("unknown proposition `{name}`: it is not in `props`")))
            }
            None => Ok(()),
        }
    }
}
