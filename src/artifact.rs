//! Compiled policies as files (`.tlaw`): the policy's text, its rule sets and automata in one, ready to load.
//!
//! An embedder loads one with [`tracelaw_runtime::RuleSet::from_bytes`] and needs nothing of this crate; what reads logs
//! loads it here and gets the labels too. docs/format.md has the layout.

use std::fmt;

use tracelaw_compiler::artifact::{assemble, automata, names, read_automata, read_texts, texts};
use tracelaw_compiler::diag::Report;
use tracelaw_compiler::explain::residuals;
use tracelaw_runtime::wire::{File, MAGIC, Section};
use tracelaw_runtime::{Automaton, LoadError, Names};

use crate::audit::Plan;
use crate::policy::Policy;

/// The version of the languages of formulas and policies that an artifact's text is in.
const LANGUAGE: &str = "1";

/// Writes an artifact. `text` is what `policy` was read from and `name` the name it was read under, as
/// [`Policy::parse`] takes them; `plan` must be that of `policy`.
///
/// # Complexity
/// O(bytes).
#[must_use]
pub fn write(policy: &Policy, plan: &Plan, text: &str, name: &str) -> Vec<u8> {
    let propositions: Vec<&str> = policy.vocabulary.iter().map(String::as_str).collect();
    let rules: Vec<&str> = policy.rules.iter().map(|rule| rule.id.as_str()).collect();
    let members: Vec<Vec<u32>> = plan.sets().map(|(_, rules)| rules.to_vec()).collect();
    let mut sections: Vec<(Section, Vec<u8>)> =
        plan.sets().map(|(section, _)| (Section::Rules, section.to_vec())).collect();
    sections.push((Section::Names, names(&propositions, &rules, &members)));
    sections.push((Section::Source, texts(&[name, text])));
    sections.push((Section::Automata, automata(plan.automata().map(|(automaton, _)| automaton.words()))));
    let mut left: Vec<String> = Vec::new();
    for (rule, (automaton, _)) in policy.rules.iter().zip(plan.automata()) {
        // A rule that was compiled names no proposition that the vocabulary lacks.
        let residuals = residuals(&rule.formula, &policy.vocabulary, automaton).unwrap_or_default();
        left.push(residuals.len().to_string());
        left.extend(residuals.into_iter().map(|f| f.map_or(String::new(), |f| f.to_string())));
    }
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    sections.push((Section::Residuals, texts(&left)));
    sections.push((Section::Versions, texts(&[env!("CARGO_PKG_VERSION"), LANGUAGE])));
    assemble(sections)
}

/// What an artifact holds.
#[derive(Debug)]
pub struct Artifact {
    /// The policy, read again from its text.
    pub policy: Policy,
    /// Its compiled rules.
    pub plan: Plan,
    /// Per rule and state of its automaton, the formula that is left: empty for states that only a breach leads to,
    /// and no text at all for rules with many states.
    pub residuals: Vec<Vec<String>>,
    /// The policy's text.
    pub text: String,
    /// The name it was read under.
    pub name: String,
}

/// Why bytes are no artifact that this version reads.
#[derive(Debug)]
pub enum ReadError {
    /// They are damaged, or of another version.
    Load(LoadError),
    /// The policy's text has mistakes: a version of the language that this one does not read.
    Policy {
        /// The text.
        text: String,
        /// The name it was read under.
        name: String,
        /// The mistakes.
        report: Report,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Load(error) => {
                write!(f, "{error}; compile the policy again with this version")
            }
            ReadError::Policy { report, .. } => write!(f, "mistakes in the artifact's policy: {report}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<LoadError> for ReadError {
    fn from(error: LoadError) -> ReadError {
        ReadError::Load(error)
    }
}

/// Why an artifact is not what its text compiles to.
#[derive(Debug)]
pub enum VerifyError {
    /// It cannot be read.
    Read(ReadError),
    /// Its text does not compile.
    Compile(Report),
    /// Another version wrote it, which may have compiled the text to other tables that judge alike.
    Version(String),
    /// The same text gives other bytes.
    Differs,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerifyError::Read(error) => error.fmt(f),
            VerifyError::Compile(report) => write!(f, "mistakes in the artifact's policy: {report}"),
            VerifyError::Version(version) => write!(
                f,
                "it was compiled by version {version}, this is {}: compile its text again with this one",
                env!("CARGO_PKG_VERSION")
            ),
            VerifyError::Differs => f.write_str(
                "its tables are not those of its text: somebody changed it; compile the policy again and use that",
            ),
        }
    }
}

impl std::error::Error for VerifyError {}

/// Compiles the text of an artifact again and compares all that the file holds.
///
/// A good checksum says that a file is not damaged; this says that nobody wrote tables into it that judge otherwise than
/// the policy whose text it shows.
///
/// # Errors
/// When that cannot be done, or when something differs.
pub fn verify(bytes: &[u8]) -> Result<(), VerifyError> {
    let Artifact { policy, text, name, .. } = read(bytes).map_err(VerifyError::Read)?;
    let versions = || read_texts(section(&File::open(bytes)?, Section::Versions)?);
    let versions = versions().map_err(|e| VerifyError::Read(e.into()))?;
    match versions[..] {
        [version, _] if version != env!("CARGO_PKG_VERSION") => {
            return Err(VerifyError::Version(version.to_owned()));
        }
        _ => {}
    }
    let plan = Plan::new(&policy).map_err(VerifyError::Compile)?;
    if write(&policy, &plan, &text, &name) == bytes { Ok(()) } else { Err(VerifyError::Differs) }
}

/// Whether the bytes begin like an artifact.
#[must_use]
pub fn is_artifact(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Reads an artifact.
///
/// # Complexity
/// O(bytes), and reading the policy's text. Nothing is compiled.
///
/// # Errors
/// When it is damaged, of another version, or when its parts do not belong together.
pub fn read(bytes: &[u8]) -> Result<Artifact, ReadError> {
    let file = File::open(bytes)?;
    let source = section(&file, Section::Source)?;
    let [name, text] = read_texts(source)?[..] else {
        return Err(LoadError::new("its source is not a name and a text", 0).into());
    };
    let policy = Policy::parse(text, name).map_err(|report| ReadError::Policy {
        text: text.to_owned(),
        name: name.to_owned(),
        report,
    })?;
    let names = Names::of(&file)?;
    if !names.propositions().eq(&policy.vocabulary) || !names.rules().eq(policy.rules.iter().map(|r| &r.id)) {
        return Err(LoadError::new("its names are not those of its policy", 0).into());
    }
    let automata: Result<Vec<_>, LoadError> =
        read_automata(section(&file, Section::Automata)?)?.into_iter().map(Automaton::from_words).collect();
    let sections = file.sections(Section::Rules).map(<[u8]>::to_vec).collect();
    let plan = Plan::of_artifact(&policy, automata?, sections)?;
    let mut left = read_texts(section(&file, Section::Residuals)?)?.into_iter();
    let mut residuals = Vec::new();
    for _ in &policy.rules {
        let len = left.next().and_then(|len| len.parse().ok());
        let len = len.ok_or(LoadError::new("the formulas that are left are not there", residuals.len()))?;
        residuals.push(left.by_ref().take(len).map(str::to_owned).collect());
    }
    Ok(Artifact { residuals, plan, text: text.to_owned(), name: name.to_owned(), policy })
}

fn section<'a>(file: &File<'a>, kind: Section) -> Result<&'a [u8], LoadError> {
    file.sections(kind).next().ok_or(LoadError::new("a section is missing", 0))
}
