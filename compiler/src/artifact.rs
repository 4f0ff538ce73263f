//! Compiled policies as bytes: the frame of a `.tlaw` file and its plain sections. docs/format.md has the layout.

use tracelaw_runtime::{
    LoadError,
    wire::{self, ALIGN, ENTRY, FORMAT, HEADER, MAGIC, Section},
};

/// Puts sections into a file that [`wire::File::open`] reads.
///
/// `sections` may come in any order; those of one kind keep theirs.
///
/// # Complexity
/// O(bytes).
#[must_use]
pub fn assemble(mut sections: Vec<(Section, Vec<u8>)>) -> Vec<u8> {
    sections.sort_by_key(|(kind, _)| *kind);
    // What the fingerprint is of: the rule sets and the names, which come first.
    let mut stepped = 0;
    let mut table = Vec::with_capacity(sections.len() * ENTRY);
    let mut body = Vec::new();
    let start = (HEADER + sections.len() * ENTRY).next_multiple_of(ALIGN);
    for (kind, bytes) in &sections {
        table.extend_from_slice(&(*kind as u32).to_le_bytes());
        table.extend_from_slice(&0u32.to_le_bytes());
        table.extend_from_slice(&((start + body.len()) as u64).to_le_bytes());
        table.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        body.extend_from_slice(bytes);
        if *kind <= Section::Names {
            stepped = body.len();
        }
        body.resize(body.len().next_multiple_of(ALIGN), 0);
    }
    let mut file = Vec::with_capacity(start + body.len() + 8);
    file.extend_from_slice(&MAGIC);
    file.extend_from_slice(&FORMAT.to_le_bytes());
    file.extend_from_slice(&(sections.len() as u32).to_le_bytes());
    file.extend_from_slice(&((start + body.len() + 8) as u64).to_le_bytes());
    file.extend_from_slice(&wire::xxh64(&body[..stepped], 0).to_le_bytes());
    file.extend(table);
    file.resize(start, 0);
    file.extend(body);
    let checksum = wire::xxh64(&file, 0);
    file.extend_from_slice(&checksum.to_le_bytes());
    file
}

/// The section of names: propositions, rules, and for each rule set the rules in it.
#[must_use]
pub fn names(propositions: &[&str], rules: &[&str], sets: &[Vec<u32>]) -> Vec<u8> {
    let mut section = Vec::new();
    put(&mut section, propositions.len());
    put(&mut section, rules.len());
    put(&mut section, sets.len());
    for set in sets {
        put(&mut section, set.len());
        section.extend(set.iter().flat_map(|rule| rule.to_le_bytes()));
    }
    for name in propositions.iter().chain(rules) {
        string(&mut section, name);
    }
    section
}

/// A section of texts, each after its length.
#[must_use]
pub fn texts(texts: &[&str]) -> Vec<u8> {
    let mut section = Vec::new();
    for text in texts {
        string(&mut section, text);
    }
    section
}

/// Reads a section of texts.
///
/// # Errors
/// When it ends within a text, or when one is not UTF-8.
pub fn read_texts(mut section: &[u8]) -> Result<Vec<&str>, LoadError> {
    let whole = section.len();
    let mut texts = Vec::new();
    while !section.is_empty() {
        let at = whole - section.len();
        let short = || LoadError::new("a text ends too early", at);
        let (len, rest) = section.split_first_chunk::<4>().ok_or_else(short)?;
        let len = u32::from_le_bytes(*len) as usize;
        let (text, rest) = rest.split_at_checked(len).ok_or_else(short)?;
        texts.push(str::from_utf8(text).map_err(|_| LoadError::new("a text is not UTF-8", at))?);
        section = rest;
    }
    Ok(texts)
}

/// The section of automata: each one's words after their number.
#[must_use]
pub fn automata<'a>(automata: impl IntoIterator<Item = &'a [u32]>) -> Vec<u8> {
    let mut section = Vec::new();
    for words in automata {
        put(&mut section, words.len());
        section.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }
    section
}

/// Reads a section of automata.
///
/// # Errors
/// When it ends within one. The words are not looked at.
pub fn read_automata(section: &[u8]) -> Result<Vec<Vec<u32>>, LoadError> {
    let words = section.as_chunks::<4>().0;
    let mut automata = Vec::new();
    let mut at = 0;
    while let Some(len) = words.get(at) {
        let len = u32::from_le_bytes(*len) as usize;
        let own = words.get(at + 1..).and_then(|rest| rest.get(..len));
        let own = own.ok_or(LoadError::new("an automaton ends too early", at * 4))?;
        automata.push(own.iter().map(|word| u32::from_le_bytes(*word)).collect());
        at += 1 + len;
    }
    Ok(automata)
}

fn put(section: &mut Vec<u8>, number: usize) {
    section.extend_from_slice(&(number as u32).to_le_bytes());
}

fn string(section: &mut Vec<u8>, text: &str) {
    put(section, text.len());
    section.extend_from_slice(text.as_bytes());
}
