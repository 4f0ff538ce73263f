//! What to say to those who wrote something else than they meant.

use super::lexer::{Kind, keyword, operator_letters, operator_words};
use crate::diag::suggest;

/// The start of a text that may be long.
pub(crate) fn clip(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((i, _)) => format!("{}…", text.get(..i).unwrap_or("")),
        None => text.to_owned(),
    }
}

/// What others call our operators.
const ELSEWHERE: &[(&str, &str)] = &[
    ("globally", "G"),
    ("henceforth", "G"),
    ("finally", "F"),
    ("sometime", "F"),
    ("wnext", "WX"),
    ("weaknext", "WX"),
    ("weak_next", "WX"),
    ("previously", "Y"),
    ("previous", "Y"),
    ("yesterday", "Y"),
    ("once", "O"),
    ("historically", "H"),
    ("unless", "W"),
    ("weakuntil", "W"),
    ("weak_until", "W"),
    ("release", "R"),
    ("releases", "R"),
    ("since", "S"),
    ("trigger", "T"),
    ("triggered", "T"),
    ("triggers", "T"),
];

/// The operator that a name was probably meant to be, and its kind.
pub(crate) fn operator_like(name: &str) -> Option<(&'static str, Kind)> {
    let upper = name.to_ascii_uppercase();
    let letters = operator_letters().find(|letters| *letters == upper);
    let elsewhere = || ELSEWHERE.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|(_, op)| *op);
    let op = letters.or_else(elsewhere).or_else(|| suggest(name, operator_words()))?;
    Some((op, keyword(op)?))
}

/// Advice on signs that have no place where they were found.
pub(crate) fn for_stray(found: &str) -> &'static str {
    match found {
        "=" | "==" | "<=" | "===" => "for equal truth write `<->`, for if then `->`",
        "<" | ">" | ">=" | "-" | "--" | "-->" => "for if then write `->`, for equal truth `<->`",
        "!=" | "=/=" => "for different truth write `xor`",
        "+" | ";" | "," => "for both write `&`, for either `|`",
        "*" | "." => {
            "for both write `&`; a name with other characters than letters, digits and `_` needs double quotes"
        }
        "{" | "}" => "group with `(` and `)`",
        "[" | "]" => {
            "group with `(` and `)`; square brackets hold the bounds right after an operator, as in `F[2,5]`"
        }
        _ if found.starts_with(['\'', '`', '‘', '’', '“', '”', '„']) => {
            "names are quoted with `\"`"
        }
        _ if found.starts_with('[') => {
            "bounds stand right after an operator that takes them, as in `F[2,5]`; group with `(` and `)`"
        }
        _ => "a name with other characters than letters, digits and `_` needs double quotes, as in `\"a-b\"`",
    }
}
