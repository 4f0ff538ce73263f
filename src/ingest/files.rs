//! Inputs to files: directories are walked, every file gets a session name of its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::feed::IngestError;

/// One file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// Session name for records that name none: the file's name without its extensions, with as many of its
    /// folders before it as it takes to tell it from the other files.
    pub(super) session: String,
}

pub(super) struct Inputs {
    pub(super) files: Vec<Input>,
    pub(super) skipped: BTreeMap<String, u64>,
}

/// Standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// # Errors
/// All inputs that cannot be opened, at once.
pub(super) fn expand(inputs: &[PathBuf]) -> Result<Inputs, IngestError> {
    let mut paths = Vec::new();
    let mut skipped = BTreeMap::new();
    let mut missing = Vec::new();
    for input in inputs {
        if is_stdin(input) {
            paths.push(input.clone());
            continue;
        }
        match fs::metadata(input) {
            Ok(meta) if meta.is_dir() => walk(input, &mut paths, &mut skipped, &mut missing),
            // Open once: a file without read permission is better reported before hours of reading.
            Ok(meta) if meta.is_file() => match fs::File::open(input) {
                Ok(_) => paths.push(input.clone()),
                Err(error) => missing.push((input.clone(), error)),
            },
            // Pipes and devices: opening one twice may lose data.
            Ok(_) => paths.push(input.clone()),
            Err(error) => missing.push((input.clone(), error)),
        }
    }
    if !missing.is_empty() {
        return Err(IngestError::missing(missing));
    }
    // The same file given twice would count every event twice.
    let mut seen = HashSet::new();
    let before = paths.len();
    // One file can have many names; standard input and what cannot be resolved goes by the name it was given.
    paths.retain(|path| seen.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    if paths.len() < before {
        skipped.insert("file given twice".to_owned(), (before - paths.len()) as u64);
    }
    let sessions = session_names(&paths);
    let files = paths.into_iter().zip(sessions).map(|(path, session)| Input { path, session }).collect();
    Ok(Inputs { files, skipped })
}

/// Every file below `root`, in the order of their names, files of a folder and its folders mixed.
fn walk(
    root: &Path,
    paths: &mut Vec<PathBuf>,
    skipped: &mut BTreeMap<String, u64>,
    missing: &mut Vec<(PathBuf, std::io::Error)>,
) {
    let mut stack = vec![root.to_owned()];
    while let Some(path) = stack.pop() {
        if !path.is_dir() {
            paths.push(path);
            continue;
        }
        let entries = match fs::read_dir(&path).and_then(|entries| entries.collect::<Result<Vec<_>, _>>()) {
            Ok(entries) => entries,
            Err(error) => {
                missing.push((path, error));
                continue;
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            if name.as_encoded_bytes().first() == Some(&b'.') {
                *skipped.entry("hidden file".to_owned()).or_default() += 1;
            } else if entry.file_type().is_ok_and(|kind| kind.is_symlink()) && entry.path().is_dir() {
                // A link to a folder may lead back up: a walk without end.
                *skipped.entry("link to a folder".to_owned()).or_default() += 1;
            } else {
                names.push(name);
            }
        }
        names.sort();
        stack.extend(names.iter().rev().map(|name| path.join(name)));
    }
}

fn session_names(paths: &[PathBuf]) -> Vec<String> {
    // Folder names of each file, last first, then how many of them its session name needs.
    let parts: Vec<Vec<String>> = paths.iter().map(|path| parts(path)).collect();
    let mut used: Vec<usize> = vec![1; paths.len()];
    loop {
        let mut owners: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, parts) in parts.iter().enumerate() {
            owners.entry(name(parts, used[index])).or_default().push(index);
        }
        let mut grown = false;
        for index in owners.into_values().filter(|owners| owners.len() > 1).flatten() {
            if used[index] < parts[index].len() {
                used[index] += 1;
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    // Names that folders cannot tell apart (`run.json` beside `run.jsonl`) keep their extensions.
    let names: Vec<String> = parts.iter().zip(&used).map(|(parts, &used)| name(parts, used)).collect();
    let mut count: HashMap<&str, usize> = HashMap::new();
    for name in &names {
        *count.entry(name).or_default() += 1;
    }
    paths
        .iter()
        .zip(&names)
        .map(
            |(path, name)| {
                if count.get(name.as_str()) == Some(&1) { name.clone() } else { path.display().to_string() }
            },
        )
        .collect()
}

fn name(parts: &[String], used: usize) -> String {
    let mut name: Vec<&str> = parts.iter().take(used).map(String::as_str).collect();
    name.reverse();
    name.join("/")
}

fn parts(path: &Path) -> Vec<String> {
    if is_stdin(path) {
        return vec!["stdin".to_owned()];
    }
    let mut parts: Vec<String> = path
        .iter()
        .rev()
        .map(|part| part.to_string_lossy().into_owned())
        .filter(|part| part != "/")
        .collect();
    if let Some(first) = parts.first_mut() {
        *first = stem(first);
    }
    parts
}

/// `run.jsonl.gz` is `run`; only one extension beside that of a compression is cut: `v1.2.jsonl` is `v1.2`.
fn stem(name: &str) -> String {
    let cut = ["gz", "gzip", "zst", "zstd"]
        .iter()
        .find_map(|extension| name.strip_suffix(extension).and_then(|name| name.strip_suffix('.')))
        .filter(|name| !name.is_empty())
        .unwrap_or(name);
    match cut.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => cut.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        session_names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>())
    }

    #[test]
    fn sessions_are_named_after_files() {
        assert_eq!(names(&["logs/run.jsonl.gz"]), ["run"]);
        assert_eq!(names(&["v1.2-run.jsonl", "-"]), ["v1.2-run", "stdin"]);
        assert_eq!(names(&["/run", "x/.traj"]), ["run", ".traj"]);
    }

    #[test]
    fn equal_names_get_their_folders() {
        assert_eq!(names(&["a/run.json", "b/run.json", "c/other.json"]), ["a/run", "b/run", "other"]);
        assert_eq!(names(&["x/a/run.json", "y/a/run.json", "run.json"]), ["x/a/run", "y/a/run", "run"]);
        // No folder tells these apart.
        assert_eq!(names(&["a/run.json", "a/run.jsonl"]), ["a/run.json", "a/run.jsonl"]);
    }
}
