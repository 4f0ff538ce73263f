//! `tracelaw compile`: rules to automata, for those who want to look at them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use tracelaw::policy::{Policy, Rule};
use tracelaw::report::clean;
use tracelaw::{artifact, audit};
use tracelaw_compiler::diag::{Diagnostic, Report, Span, did_you_mean};
use tracelaw_compiler::syntax::Ast;
use tracelaw_compiler::{Compiled, Options, explain};

use super::input::{self, DialectArg, Input, SemanticsArg, Text};
use super::{Ended, Failure, human_output, plain_output};

const EXAMPLE: &str = "\
Examples:
  $ tracelaw compile corpora/examples/support.toml
  $ tracelaw compile corpora/examples/support.toml -o support.tlaw
  $ tracelaw compile support.tlaw --verify
  $ tracelaw compile corpora/examples/support.toml --rule no-card-data-out --emit dot | dot -Tsvg > rule.svg
  $ tracelaw compile --formula 'G(pay -> F audit)' --emit hoa
  $ tracelaw compile --template 'response(pay, audit)' --emit json";

/// Compile rules to minimal automata and say how large they are, or write them
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Args {
    #[command(flatten)]
    what: What,
    /// Only the rule with that id
    #[arg(long, value_name = "ID", conflicts_with_all = ["formula", "template"])]
    rule: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t)]
    emit: Emit,
    /// Write the compiled policy to this file, which every command takes in the policy's place and programs load
    #[arg(short, long, value_name = "FILE.tlaw", conflicts_with_all = ["formula", "template", "rule", "emit"])]
    output: Option<PathBuf>,
    /// Compile the text of an artifact again and say whether the file is what comes of that
    #[arg(long, conflicts_with_all = ["formula", "template", "rule", "emit", "output"])]
    verify: bool,
}

/// A policy, one formula or one template.
#[derive(clap::Args)]
pub(super) struct What {
    /// The policy: TOML, the same as JSON, or an artifact
    #[arg(required_unless_present_any = ["formula", "template"], conflicts_with_all = ["formula", "template"])]
    policy: Option<PathBuf>,
    /// A formula instead of a policy
    #[arg(long, conflicts_with = "template")]
    formula: Option<String>,
    /// A template instead of a policy, as in `response(pay, audit)`
    #[arg(long)]
    template: Option<String>,
    /// How the formula writes its next operators
    #[arg(long, value_enum, default_value_t, conflicts_with = "policy")]
    dialect: DialectArg,
    /// Over which continuations the formula's verdicts speak
    #[arg(long, value_enum, default_value_t, conflicts_with = "policy")]
    semantics: SemanticsArg,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Emit {
    /// A table: states, letter classes, words, diagram nodes, time
    #[default]
    Stats,
    /// Drawings for Graphviz, one graph per rule; breaches as `check` sees them
    Dot,
    /// The exchange format of automata tools, one automaton per rule, read over finite traces
    Hoa,
    /// One JSON object per rule: states, edges, sizes; breaches as `check` sees them
    Json,
    /// How the rules of a policy are stepped together: groups, their tables, what the cost model expects
    Plan,
}

/// The rules that a command is about, not compiled yet.
pub(super) struct Subjects {
    pub(super) text: Text,
    pub(super) vocabulary: Vec<String>,
    pub(super) rules: Vec<Subject>,
}

/// One of them.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) formula: Ast,
    pub(super) options: Options,
    span: Span,
    /// As it stands in the policy, for rules of one.
    pub(super) rule: Option<Rule>,
}

impl What {
    /// Reads the policy or the formula; of a policy all rules, or the one with that id.
    pub(super) fn read(&self, id: Option<&str>) -> Result<Subjects, Failure> {
        let given = match (&self.formula, &self.template) {
            (Some(formula), _) => Some(input::formula(formula, self.dialect)?),
            (None, Some(template)) => Some(input::template(template, self.dialect)?),
            (None, None) => None,
        };
        if let Some((formula, text)) = given {
            let vocabulary = formula.propositions().into_iter().map(str::to_owned).collect();
            let options = Options { semantics: self.semantics.into(), ..Options::default() };
            let (name, span) = (formula.to_string(), formula.span);
            let subject = Subject { name, formula, options, span, rule: None };
            return Ok(Subjects { text, vocabulary, rules: vec![subject] });
        }
        let Some(path) = &self.policy else {
            // The arguments' definition rules this out.
            return Err(Failure::new("a policy, --formula or --template is needed"));
        };
        let input::Input { mut policy, text, .. } = input::policy(path)?;
        let mut rules = std::mem::take(&mut policy.rules);
        if let Some(id) = id {
            let Some(at) = rules.iter().position(|r| r.id == id) else {
                return Err(Failure::new(format_args!("`{}` {}", path.display(), no_rule(id, &rules))));
            };
            rules = vec![rules.swap_remove(at)];
        }
        let rules = rules.into_iter().map(|rule| Subject::of(&policy, rule)).collect();
        Ok(Subjects { text, vocabulary: policy.vocabulary, rules })
    }
}

/// What to say when no rule has that id.
fn no_rule(id: &str, rules: &[Rule]) -> String {
    const MOST: usize = 20;
    let ids: Vec<String> = rules.iter().take(MOST).map(|r| format!("`{}`", clean(&r.id))).collect();
    let more = rules.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let near = did_you_mean(id, rules.iter().map(|r| r.id.as_str())).map_or(String::new(), |near| near + " ");
    format!("has no rule `{}`; {}its rules are {}{more}", clean(id), clean(&near), ids.join(", "))
}

impl Subject {
    fn of(policy: &Policy, rule: Rule) -> Subject {
        let options = audit::options(policy, &rule);
        Subject {
            name: rule.id.clone(),
            formula: rule.formula.clone(),
            options,
            span: rule.span,
            rule: Some(rule),
        }
    }

    /// The same without what follows a violation, so that the automaton is that of the formula.
    pub(super) fn plain_options(&self) -> Options {
        Options { after_violation: None, ..self.options.clone() }
    }

    pub(super) fn compile(&self, vocabulary: &[String], options: &Options) -> Result<Compiled, Report> {
        tracelaw_compiler::compile(&self.formula, vocabulary, options).map_err(|e| self.limit(&e))
    }

    /// A limit that was reached, as a mistake in the text.
    pub(super) fn limit(&self, error: &dyn std::error::Error) -> Report {
        let message = match &self.rule {
            Some(rule) => format!("rule `{}`: {error}", rule.id),
            None => error.to_string(),
        };
        Diagnostic::error("limit", self.span, message).into()
    }

    /// What the compiler has to say about the rule.
    pub(super) fn warnings(&self, compiled: &Compiled) -> Report {
        let mut report = Report::new();
        for warning in self.rule.iter().flat_map(|rule| audit::one_sided(rule, compiled)) {
            report.push(warning);
        }
        report
    }
}

pub(super) fn run(args: &Args) -> Result<Ended, Failure> {
    if let (true, Some(path)) = (args.verify, &args.what.policy) {
        return verify(path);
    }
    if args.output.is_some() || args.emit == Emit::Plan {
        let (Some(path), None) = (&args.what.policy, &args.rule) else {
            return Err(Failure::new("a plan is that of a whole policy; give one, without `--rule`"));
        };
        let mut input = input::policy(path)?;
        return match &args.output {
            Some(output) => write_artifact(&mut input, output),
            None => write_plan(&mut input),
        };
    }
    let Subjects { text, vocabulary, rules } = args.what.read(args.rule.as_deref())?;
    let mut warnings = Report::new();
    let mut errors = Report::new();
    let mut sizes = Vec::new();
    let mut written = String::new();
    for subject in &rules {
        let options = if args.emit == Emit::Hoa { subject.plain_options() } else { subject.options.clone() };
        let start = Instant::now();
        let compiled = match subject.compile(&vocabulary, &options) {
            Ok(compiled) => compiled,
            Err(report) => {
                errors.extend(report);
                continue;
            }
        };
        let time = start.elapsed();
        warnings.extend(subject.warnings(&compiled));
        let name = &subject.name;
        let made = match args.emit {
            Emit::Stats | Emit::Plan => {
                sizes.push(Size { name, compiled, time });
                continue;
            }
            Emit::Dot => explain::dot(&compiled, &vocabulary, name),
            Emit::Hoa => explain::hoa(&compiled, &vocabulary, name),
            Emit::Json => explain::json(&compiled, &vocabulary, name).map(|json| json + "\n"),
        };
        match made {
            Ok(made) => written.push_str(&made),
            Err(e) => errors.extend(subject.limit(&e)),
        }
    }
    text.show(&warnings);
    if errors.has_errors() {
        return Err(text.fail(&errors));
    }
    if args.emit == Emit::Stats {
        let mut out = human_output();
        table(&mut out, &sizes)?;
        out.flush()?;
    } else {
        let mut out = plain_output();
        out.write_all(written.as_bytes())?;
        out.flush()?;
    }
    Ok(Ended::Well)
}

/// Writes the file whole or not at all.
fn write_artifact(input: &mut Input, output: &Path) -> Result<Ended, Failure> {
    let plan = input.plan()?;
    let bytes = artifact::write(&input.policy, &plan, &input.text.text, &input.text.name);
    let cannot = |e: std::io::Error| Failure::new(format_args!("cannot write `{}`: {e}", output.display()));
    let part = output.with_extension("tlaw.part");
    std::fs::write(&part, &bytes).and_then(|()| std::fs::rename(&part, output)).map_err(cannot)?;
    Ok(Ended::Well)
}

fn verify(path: &Path) -> Result<Ended, Failure> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|e| Failure::new(format_args!("cannot read `{name}`: {e}")))?;
    if !artifact::is_artifact(&bytes) {
        return Err(Failure::new(format_args!(
            "`{name}` is no artifact; `-o FILE.tlaw` makes one of a policy"
        )));
    }
    artifact::verify(&bytes).map_err(|e| Failure::new(format_args!("`{name}`: {e}")))?;
    let mut out = human_output();
    writeln!(out, "{name}: what its text compiles to")?;
    out.flush()?;
    Ok(Ended::Well)
}

/// How letters become classes, and the groups that rules are stepped in.
fn write_plan(input: &mut Input) -> Result<Ended, Failure> {
    // An artifact does not say how its plan came about: the same text gives the same plan again.
    let plan = audit::Plan::new(&input.policy).map_err(|report| input.text.fail(&report))?;
    let mut out = human_output();
    let mut row = |cells: [&dyn std::fmt::Display; 8]| {
        let [set, part, rules, states, classes, bytes, cost, of] = cells;
        writeln!(
            out,
            "{set:>3}  {part:10}  {rules:>5}  {states:>6}  {classes:>7}  {bytes:>9}  {cost:>8}  {of}"
        )
    };
    let nanoseconds = |tenths: usize| format!("{:.1} ns", tenths as f64 / 10.0);
    row([&"set", &"part", &"rules", &"states", &"classes", &"bytes", &"about", &"of"])?;
    for (set, (rules, classifiers, groups)) in plan.groups().enumerate() {
        for c in classifiers {
            let cost = nanoseconds(c.cost);
            row([&set, &c.kind.as_str(), &"", &"", &c.classes, &c.bytes, &cost, &"classes of letters"])?;
        }
        for group in groups {
            let ids: Vec<_> = group
                .rules
                .iter()
                .filter_map(|&r| input.policy.rules.get(*rules.get(r as usize)? as usize))
                .map(|rule| clean(&rule.id))
                .collect();
            let (kind, cost, of) = (group.kind.as_str(), nanoseconds(group.cost), ids.join(", "));
            row([&set, &kind, &ids.len(), &group.states, &group.classes, &group.bytes, &cost, &of])?;
        }
    }
    out.flush()?;
    Ok(Ended::Well)
}

/// How large a rule's automaton is.
struct Size<'a> {
    name: &'a str,
    compiled: Compiled,
    time: Duration,
}

fn table(out: &mut impl Write, sizes: &[Size<'_>]) -> std::io::Result<()> {
    let name = |s: &Size<'_>| clean(s.name);
    let width = sizes.iter().map(|s| name(s).chars().count()).max().unwrap_or(0).max(4);
    writeln!(
        out,
        "{:width$}  {:>8}  {:>8}  {:>10}  {:>10}  {:>10}  initial",
        "rule", "states", "classes", "words", "nodes", "time"
    )?;
    for s in sizes {
        let (stats, automaton) = (&s.compiled.stats, &s.compiled.automaton);
        // An automaton that is kept as diagrams has no table of classes.
        let classes = if stats.classes == 0 { "-".to_owned() } else { stats.classes.to_string() };
        writeln!(
            out,
            "{:width$}  {:>8}  {classes:>8}  {:>10}  {:>10}  {:>7.2} ms  {}",
            name(s),
            stats.states,
            stats.words,
            stats.nodes,
            s.time.as_secs_f64() * 1e3,
            automaton.verdict(automaton.initial())
        )?;
    }
    Ok(())
}
