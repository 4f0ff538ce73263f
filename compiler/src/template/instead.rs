//! Templates where a formula was expected, also misspelt ones.

use crate::diag::{Diagnostic, Report, Span, nearest};
use crate::syntax::{Dialect, Limits};

use super::{Kind, Reader, Syntax, catalogue, named, normalize, parse, tokens};

const AS_TEMPLATE: &str = "as `template = ..` in a policy, as `--template` on the command line";

/// The mistakes of a text that was to be a formula. If it is a template instead, or one but for a misspelt word, that is
/// all there is to say.
#[must_use]
pub fn instead_of_formula(mistakes: Report, text: &str, dialect: Dialect, limits: &Limits) -> Report {
    /// A longer formula is no advice.
    const LONGEST: usize = 120;
    let whole = Span::new(0, text.len());
    let found = match parse(text, dialect, limits) {
        Ok(formula) => {
            let formula = formula.to_string();
            let written = if formula.len() <= LONGEST {
                format!("; its formula is `{formula}`")
            } else {
                String::new()
            };
            return Diagnostic::error("template", whole, "expected a formula, found a template")
                .with_help(format!("give it {AS_TEMPLATE}{written}"))
                .into();
        }
        Err(found) => found,
    };
    if names_template(text, dialect, limits) {
        let mut report = Report::new();
        for mut diagnostic in found {
            let help = diagnostic.help.map_or(String::new(), |help| format!("{help}; "));
            diagnostic.help = Some(format!("{help}a template is given {AS_TEMPLATE}"));
            report.push(diagnostic);
        }
        return report;
    }
    match misspelt(text, dialect, limits) {
        Some((word, meant)) => {
            let message = format!(
                "expected a formula, found a template that is misspelt: `{}`",
                text.get(word.start..word.end).unwrap_or("")
            );
            let meant: Vec<String> = meant.into_iter().map(|text| format!("`{text}`")).collect();
            let help = format!("did you mean {}? give it {AS_TEMPLATE}", meant.join(" or "));
            Diagnostic::error("template", word, message).with_help(help).into()
        }
        None => mistakes,
    }
}

/// Does the text begin with the name of a template and a bracket?
fn names_template(text: &str, dialect: Dialect, limits: &Limits) -> bool {
    let tokens = tokens(text);
    let reader = Reader { text, tokens: &tokens, at: 0, dialect, limits };
    let (_, name) = reader.name_before_bracket();
    let forms = name.map(|name| named(&normalize(reader.words(name))).0).unwrap_or_default();
    // `always` and the like are words of formulas too.
    forms.iter().any(|form| form.syntax == Syntax::Call)
}

/// A word with which the text is no template, and the texts that are one with another word in its place.
fn misspelt(text: &str, dialect: Dialect, limits: &Limits) -> Option<(Span, Vec<String>)> {
    /// Nobody writes a longer use of a template by hand, and every word costs a reading of the text.
    const MOST_WORDS: usize = 32;
    const LONGEST: usize = 500;
    const MOST: usize = 3;
    if text.len() > LONGEST {
        return None;
    }
    let tokens = tokens(text);
    let reader = Reader { text, tokens: &tokens, at: 0, dialect, limits };
    let words = tokens.iter().filter(|token| token.kind != Kind::Quoted && reader.is_part_of_name(**token));
    for token in words.take(MOST_WORDS) {
        let known = catalogue().iter().flat_map(|form| {
            // `sometime-after` is three tokens; `before` is nothing but a part of a form.
            let parts =
                form.form.split(|c: char| !c.is_alphabetic() && c != '_').filter(|part| part.len() > 1);
            parts.chain([form.name])
        });
        let written = reader.words(token.span);
        let mut meant = Vec::new();
        for word in nearest(written, known).into_iter().filter(|word| *word != written).take(MOST) {
            let before = text.get(..token.span.start)?;
            let instead = format!("{before}{word}{}", text.get(token.span.end..)?);
            if parse(&instead, dialect, limits).is_ok() {
                meant.push(instead);
            }
        }
        if !meant.is_empty() {
            return Some((token.span, meant));
        }
    }
    None
}
