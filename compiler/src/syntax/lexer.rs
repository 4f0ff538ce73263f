//! Text to tokens. Knows no grammar and reports nothing: whatever cannot be read becomes a token of its own kind, and
//! the parser, which knows what was expected there, finds the words for it.

use crate::diag::Span;

/// A word of a formula and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Constant(bool),
    /// An identifier that is no operator.
    Name,
    /// Text in double quotes, quotes included.
    Quoted,
    /// A double quote whose partner is missing: all the rest of the text.
    Unclosed,
    /// A word that starts with a digit.
    Number,
    Open,
    Close,
    OpenSquare,
    CloseSquare,
    Comma,
    AtMost,
    Prefix(Prefix),
    Infix(Infix),
    /// A run of characters that mean nothing.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    Not,
    Next,
    WeakNext,
    Finally,
    Globally,
    Yesterday,
    WeakYesterday,
    Once,
    Historically,
    AtEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    And,
    Or,
    Xor,
    Implies,
    Iff,
    Until,
    WeakUntil,
    Release,
    StrongRelease,
    Since,
    Trigger,
}

/// The operators made of signs. Where one starts with another, the longer comes first.
const SIGNS: &[(&str, Kind)] = &[
    ("<->", Kind::Infix(Infix::Iff)),
    ("<=>", Kind::Infix(Infix::Iff)),
    ("->", Kind::Infix(Infix::Implies)),
    ("=>", Kind::Infix(Infix::Implies)),
    ("<>", Kind::Prefix(Prefix::Finally)),
    ("<=", Kind::AtMost),
    ("[]", Kind::Prefix(Prefix::Globally)),
    ("&&", Kind::Infix(Infix::And)),
    ("||", Kind::Infix(Infix::Or)),
    ("/\\", Kind::Infix(Infix::And)),
    ("\\/", Kind::Infix(Infix::Or)),
    ("&", Kind::Infix(Infix::And)),
    ("|", Kind::Infix(Infix::Or)),
    ("^", Kind::Infix(Infix::Xor)),
    // Not ours, but meant as one sign, and to be answered with one message.
    ("!=", Kind::Unknown),
    ("!", Kind::Prefix(Prefix::Not)),
    ("~", Kind::Prefix(Prefix::Not)),
    ("(", Kind::Open),
    (")", Kind::Close),
    ("[", Kind::OpenSquare),
    ("]", Kind::CloseSquare),
    (",", Kind::Comma),
    ("¬", Kind::Prefix(Prefix::Not)),
    ("∧", Kind::Infix(Infix::And)),
    ("∨", Kind::Infix(Infix::Or)),
    ("→", Kind::Infix(Infix::Implies)),
    ("↔", Kind::Infix(Infix::Iff)),
    ("○", Kind::Prefix(Prefix::Next)),
    ("◇", Kind::Prefix(Prefix::Finally)),
    ("□", Kind::Prefix(Prefix::Globally)),
    ("𝒰", Kind::Infix(Infix::Until)),
];

/// The operators made of letters: in upper case only, so that `f` and `x` are names.
const LETTERS: &[(&str, Kind)] = &[
    ("X", Kind::Prefix(Prefix::Next)),
    ("WX", Kind::Prefix(Prefix::WeakNext)),
    ("N", Kind::Prefix(Prefix::WeakNext)),
    ("F", Kind::Prefix(Prefix::Finally)),
    ("G", Kind::Prefix(Prefix::Globally)),
    ("Y", Kind::Prefix(Prefix::Yesterday)),
    ("Z", Kind::Prefix(Prefix::WeakYesterday)),
    ("O", Kind::Prefix(Prefix::Once)),
    ("H", Kind::Prefix(Prefix::Historically)),
    ("U", Kind::Infix(Infix::Until)),
    ("W", Kind::Infix(Infix::WeakUntil)),
    ("R", Kind::Infix(Infix::Release)),
    ("M", Kind::Infix(Infix::StrongRelease)),
    ("S", Kind::Infix(Infix::Since)),
    ("T", Kind::Infix(Infix::Trigger)),
];

/// The operators that are words: in any case.
const WORDS: &[(&str, Kind)] = &[
    ("true", Kind::Constant(true)),
    ("false", Kind::Constant(false)),
    ("not", Kind::Prefix(Prefix::Not)),
    ("and", Kind::Infix(Infix::And)),
    ("or", Kind::Infix(Infix::Or)),
    ("xor", Kind::Infix(Infix::Xor)),
    ("implies", Kind::Infix(Infix::Implies)),
    ("iff", Kind::Infix(Infix::Iff)),
    ("next", Kind::Prefix(Prefix::Next)),
    ("eventually", Kind::Prefix(Prefix::Finally)),
    ("always", Kind::Prefix(Prefix::Globally)),
    ("until", Kind::Infix(Infix::Until)),
];

/// The operator words, for suggestions.
pub(crate) fn operator_words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(word, _)| *word)
}

/// The operators made of letters, for suggestions.
pub(crate) fn operator_letters() -> impl Iterator<Item = &'static str> {
    LETTERS.iter().map(|(letters, _)| *letters)
}

/// The operator or constant that a word stands for, if it is one.
pub(crate) fn keyword(word: &str) -> Option<Kind> {
    LETTERS
        .iter()
        .find(|(letters, _)| *letters == word)
        .or_else(|| WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)))
        .map(|(_, kind)| *kind)
}

/// Whether the text can stand as a proposition without quotes.
pub(crate) fn is_plain_name(text: &str) -> bool {
    text.chars().next().is_some_and(|c| is_word(c) && !c.is_numeric())
        && text.chars().all(is_word)
        && keyword(text).is_none()
}

/// The sign for until counts as a letter in Unicode, and is none here.
fn is_word(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && c != '𝒰'
}

/// All tokens of a text, in order.
///
/// # Complexity
/// O(length of the text). Never panics.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(c) = rest.chars().next()
    {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let (kind, len) = token(rest, c);
        let span = Span::new(at, at + len);
        at += len;
        match out.last_mut() {
            // One message per run of characters that mean nothing.
            Some(Token { kind: Kind::Unknown, span: last })
                if kind == Kind::Unknown && last.end == span.start =>
            {
                last.end = span.end;
            }
            _ => out.push(Token { kind, span }),
        }
    }
    out
}

/// The token at the start of `rest`, whose first character is `c`, and its length in bytes.
fn token(rest: &str, c: char) -> (Kind, usize) {
    if c == '"' {
        return quoted(rest);
    }
    if let Some((sign, kind)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return (*kind, sign.len());
    }
    if !is_word(c) {
        return (Kind::Unknown, c.len_utf8());
    }
    let word = word(rest);
    if c.is_numeric() {
        return (Kind::Number, word.len());
    }
    if word.eq_ignore_ascii_case("at")
        && let Some(len) = at_end(rest, word.len())
    {
        return (Kind::Prefix(Prefix::AtEnd), len);
    }
    (keyword(word).unwrap_or(Kind::Name), word.len())
}

fn word(rest: &str) -> &str {
    let len = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    rest.get(..len).unwrap_or(rest)
}

/// The length of `at end`, if the word after the first `at` bytes is `end`. Two names never follow each other in a
/// formula, so the pair cannot be taken for anything else.
fn at_end(rest: &str, at: usize) -> Option<usize> {
    let after = rest.get(at..)?;
    let next = after.trim_start();
    let word = word(next);
    word.eq_ignore_ascii_case("end").then(|| at + (after.len() - next.len()) + word.len())
}

fn quoted(rest: &str) -> (Kind, usize) {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return (Kind::Quoted, i + 1),
            _ => {}
        }
    }
    (Kind::Unclosed, rest.len())
}
