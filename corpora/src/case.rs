//! Case files: a rule, a trace, and what the rule has to say after each step of it.
//!
//! ```toml
//! [[case]]
//! name = "response-stays-open-until-answered"
//! rule = "G(delete -> X F notify)"
//! props = ["delete", "notify"]
//! trace = [["delete"], [], ["notify"]]
//! initial = "holding"                         # before any step; may be left out
//! verdict = ["pending", "pending", "holding"] # after each step
//! ```
//! Instead of `rule` a case may have a `template`. `dialect` is `tracelaw` (default) or `spot`, `semantics` is `finite`
//! (default) or `infinite`, `exclusive` lists groups of propositions of which at most one is true at a time.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tracelaw_compiler::diag::Report;
use tracelaw_compiler::syntax::{self, Ast, Dialect, Limits};
use tracelaw_compiler::template;
use tracelaw_runtime::Verdict;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// The file it is from, without folder and extension, and its own name: `until/empty-trace`.
    pub name: String,
    /// The rule as written.
    pub rule: Rule,
    /// Which reading of the next operator the rule uses.
    pub dialect: Dialect,
    /// Which continuations count.
    pub semantics: Semantics,
    /// The vocabulary.
    pub props: Vec<String>,
    /// Groups of propositions of which at most one is true at a time.
    pub exclusive: Vec<Vec<String>>,
    /// The letters, as indices into `props`.
    pub trace: Vec<u64>,
    /// The verdict before any step, where the case says one.
    pub initial: Option<Verdict>,
    /// The verdict after each step.
    pub verdict: Vec<Verdict>,
}

/// How a case writes its rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// As a formula.
    Formula(String),
    /// As a template.
    Template(String),
}

/// Which continuations of a trace count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Semantics {
    /// The finite ones.
    #[default]
    Finite,
    /// The infinite ones.
    Infinite,
}

/// A case file that cannot be read: which one, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}

impl std::error::Error for CaseError {}

impl Case {
    /// The rule as a formula.
    ///
    /// # Errors
    /// The mistakes in it.
    pub fn formula(&self) -> Result<Ast, Report> {
        match &self.rule {
            Rule::Formula(text) => syntax::parse(text, self.dialect, &Limits::default()),
            Rule::Template(text) => template::parse(text, self.dialect, &Limits::default()),
        }
    }

    /// The letters that the alphabet knowledge of the case allows, in order.
    #[must_use]
    pub fn letters(&self) -> Vec<u64> {
        let groups: Vec<u64> = self.exclusive.iter().map(|group| letter(&self.props, group).0).collect();
        (0..1_u64 << self.props.len().min(20))
            .filter(|letter| groups.iter().all(|group| (letter & group).count_ones() <= 1))
            .collect()
    }
}

/// The cases that come with this crate.
///
/// # Errors
/// As [`load`].
pub fn all() -> Result<Vec<Case>, CaseError> {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"))
}

/// The cases of all files `*.toml` of a folder, in the order of the names of the files.
///
/// # Errors
/// The first file that cannot be read, or says something that no case can say.
pub fn load(folder: &Path) -> Result<Vec<Case>, CaseError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |e: std::io::Error| CaseError { path, message: e.to_string() }
    };
    let mut paths = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(failed(folder))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.extend(read(&text, &file).map_err(|message| CaseError { path: path.clone(), message })?);
    }
    Ok(cases)
}

/// The cases of one file, given its text and its name.
fn read(text: &str, file: &str) -> Result<Vec<Case>, String> {
    let written: File = toml::from_str(text).map_err(|e| e.to_string())?;
    written
        .case
        .into_iter()
        .map(|case| {
            let name = format!("{file}/{}", case.name);
            case.understood(name.clone()).map_err(|message| format!("{name}: {message}"))
        })
        .collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    rule: Option<String>,
    template: Option<String>,
    #[serde(default)]
    dialect: WrittenDialect,
    #[serde(default)]
    semantics: Semantics,
    #[serde(default)]
    props: Vec<String>,
    #[serde(default)]
    exclusive: Vec<Vec<String>>,
    trace: Vec<Vec<String>>,
    initial: Option<String>,
    verdict: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum WrittenDialect {
    #[default]
    Tracelaw,
    Spot,
}

impl Written {
    fn understood(self, name: String) -> Result<Case, String> {
        let rule = match (self.rule, self.template) {
            (Some(formula), None) => Rule::Formula(formula),
            (None, Some(template)) => Rule::Template(template),
            _ => return Err("expected one of `rule` and `template`".to_owned()),
        };
        if self.verdict.len() != self.trace.len() {
            return Err(format!("{} verdicts for {} steps", self.verdict.len(), self.trace.len()));
        }
        let known = |names: &[String]| match letter(&self.props, names) {
            (bits, None) => Ok(bits),
            (_, Some(unknown)) => Err(format!("`{unknown}` is not among the `props`")),
        };
        for group in &self.exclusive {
            known(group)?;
        }
        Ok(Case {
            name,
            rule,
            dialect: match self.dialect {
                WrittenDialect::Tracelaw => Dialect::Tracelaw,
                WrittenDialect::Spot => Dialect::Spot,
            },
            semantics: self.semantics,
            trace: self.trace.iter().map(|names| known(names)).collect::<Result<_, _>>()?,
            initial: self.initial.as_deref().map(verdict).transpose()?,
            verdict: self.verdict.iter().map(|word| verdict(word)).collect::<Result<_, _>>()?,
            exclusive: self.exclusive,
            props: self.props,
        })
    }
}

/// The letter in which the given names are true, and the first that is not in the vocabulary.
fn letter<'a>(props: &[String], names: &'a [String]) -> (u64, Option<&'a str>) {
    let mut bits = 0;
    let mut unknown = None;
    for name in names {
        match props.iter().take(64).position(|prop| prop == name) {
            Some(i) => bits |= 1 << i,
            None => unknown = unknown.or(Some(name.as_str())),
        }
    }
    (bits, unknown)
}

fn verdict(word: &str) -> Result<Verdict, String> {
    let found = Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word);
    found.ok_or_else(|| format!("expected `violated`, `pending`, `holding` or `satisfied`, found `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracelaw_compiler::semantics;

    /// Enough for every finite rule in the case files: none has an automaton with more states, save where a case says so.
    const DEPTH: usize = 7;

    #[test]
    fn every_case_agrees_with_the_definition() {
        let cases = all().unwrap_or_else(|e| panic!("{e}"));
        let mut wrong = Vec::new();
        for case in &cases {
            let ast = case.formula().unwrap_or_else(|e| panic!("{}: {e}", case.name));
            let letters = case.letters();
            // The number of continuations stays within bounds whatever the number of letters.
            let depth = (1..=DEPTH).rev().find(|&d| letters.len().pow(d as u32) <= 5_000).unwrap_or(1);
            let at = |n: usize| match case.semantics {
                Semantics::Finite => semantics::verdict(&ast, &case.props, &letters, &case.trace[..n], depth),
                Semantics::Infinite => {
                    semantics::infinite_verdict(&ast, &case.props, &letters, &case.trace[..n], (3, 2))
                }
            };
            let found: Vec<Verdict> = (1..=case.trace.len()).map(at).collect();
            if found != case.verdict || case.initial.is_some_and(|initial| initial != at(0)) {
                wrong.push(format!("{}: {} then {:?}", case.name, at(0), found));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(cases.len() > 200, "{}", cases.len());
    }

    #[test]
    fn names_of_cases_are_different() {
        let cases = all().unwrap_or_else(|e| panic!("{e}"));
        let names: std::collections::HashSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
    }

    #[test]
    fn a_mistake_in_a_file_is_an_error() {
        for (text, word) in [
            ("[[case]]\nname='x'\ntrace=[]\nverdict=[]", "`rule`"),
            ("[[case]]\nname='x'\nrule='a'\ntrace=[[]]\nverdict=[]", "0 verdicts for 1 steps"),
            ("[[case]]\nname='x'\nrule='a'\ntrace=[['b']]\nverdict=['pending']", "`b`"),
            ("[[case]]\nname='x'\nrule='a'\ntrace=[]\nverdict=[]\ninitial='fine'", "`fine`"),
            ("[[case]]\nname='x'\nrule='a'\ntrace=[]\nverdict=[]\ncolour='red'", "colour"),
        ] {
            let message = read(text, "file").unwrap_err();
            assert!(message.contains(word), "{message}");
        }
    }
}
