//! Case files, policies and logs that tests, fuzzing and benches share, with their loaders and generators.
#![forbid(unsafe_code)]

pub mod case;
// `gen` is a reserved word.
#[path = "gen.rs"]
pub mod generate;

/// The reference collection that stands beside the project, not in it: the folder that the environment variable
/// `TRACELAW_REFERENCE` names, else `shared/reference` beside the project. `None`, and a word on standard error, where it is
/// not there.
#[must_use]
pub fn reference_folder() -> Option<std::path::PathBuf> {
    let folder = match std::env::var_os("TRACELAW_REFERENCE") {
        Some(folder) => folder.into(),
        None => std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/reference"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no reference collection in {}", folder.display());
    None
}

#[cfg(test)]
mod reference;
#[cfg(test)]
mod texts;
