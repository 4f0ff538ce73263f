//! Text to the syntax tree of the expression language.
//!
//! The grammar is that of the `cel` crate. Only its parser is used: its interpreter compiles a regular expression at
//! each use and wants every event converted to values of its own, so [`evaluate`](super::evaluate) walks the checked
//! tree over the event as it is.

use std::thread;

use cel::common::ast::SourceInfo;
use cel::parser::{Expression as Tree, ParseError, Parser};
use tracelaw_compiler::diag::{Diagnostic, Report, Span};

/// Longest expression, in bytes.
const MAX_BYTES: usize = 1 << 16;
/// Most brackets and conditionals open at once.
const MAX_DEPTH: u16 = 64;
/// The parser needs up to 100 KiB for each open bracket, and recurses once for each operator of a chain. With both
/// limits this is enough with room to spare (pages that are not touched cost nothing).
const STACK_BYTES: usize = 128 << 20;

/// What the parser made of a text.
pub(super) struct Parsed {
    pub(super) tree: Tree,
    pub(super) places: SourceInfo,
}

/// Calls `each(i, parse of texts[i])` for every text, on a thread whose stack is deep enough for any of them; `each`
/// may recurse over the tree. A panic of the parser becomes an error of the text concerned.
pub(super) fn parse_all<T: Send>(
    texts: &[&str],
    each: &(dyn Fn(usize, Result<Parsed, Report>) -> T + Sync),
) -> Vec<T> {
    let mut done = Vec::with_capacity(texts.len());
    while done.len() < texts.len() {
        let finished = thread::scope(|scope| {
            let results = &mut done;
            let work = move || {
                for i in results.len()..texts.len() {
                    results.push(each(i, parse(texts.get(i).copied().unwrap_or(""))));
                }
            };
            match thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work) {
                Ok(handle) => {
                    handle.join().map_err(|_| "the parser of expressions failed on this text".to_owned())
                }
                Err(error) => Err(format!("no thread to parse expressions on: {error}")),
            }
        });
        if let Err(message) = finished {
            let whole = Span::new(0, texts.get(done.len()).map_or(0, |t| t.len()));
            let result = each(done.len(), Err(Diagnostic::error("syntax", whole, message).into()));
            done.push(result);
        }
    }
    done
}

fn parse(text: &str) -> Result<Parsed, Report> {
    let whole = Span::new(0, text.len());
    if text.len() > MAX_BYTES {
        let message = format!("the expression has {} bytes, more than the limit of {MAX_BYTES}", text.len());
        return Err(Diagnostic::error("limit", whole, message)
            .with_help("split it into several propositions that use one another")
            .into());
    }
    match Parser::new().max_recursion_depth(MAX_DEPTH).parse_with_source_info(text) {
        Ok((tree, places)) => Ok(Parsed { tree, places }),
        // What follows the first error is mostly the parser's confusion about it.
        Err(errors) => Err(match errors.errors.iter().find(|e| e.msg.contains("Recursion limit")) {
            Some(_) => {
                let message = format!("more than {MAX_DEPTH} brackets or conditionals are open at once");
                Diagnostic::error("limit", whole, message)
                    .with_help("split the expression into several propositions that use one another")
            }
            None => match errors.errors.first() {
                Some(error) => syntax_error(text, error),
                None => Diagnostic::error("syntax", whole, "the expression cannot be read"),
            },
        }
        .into()),
    }
}

/// The parser's message in our words.
fn syntax_error(text: &str, error: &ParseError) -> Diagnostic {
    let start = offset_of(text, error.pos.0, error.pos.1);
    let rest = text.get(start..).unwrap_or("");
    if text.trim().is_empty() {
        return Diagnostic::error("syntax", Span::new(0, text.len()), "the expression is empty")
            .with_help("an expression that always holds is `true`");
    }
    if rest.trim().is_empty() && error.msg.starts_with("Syntax error") {
        return Diagnostic::error("syntax", Span::new(start, start), "the expression ends too early");
    }
    if error.msg.contains("token recognition error") && rest.starts_with(['\'', '"']) {
        return Diagnostic::error(
            "syntax",
            Span::new(start, text.len()),
            "this text is not closed or has a bad escape",
        )
        .with_help("in a pattern write backslashes as they are: `r\"\\d+\"`");
    }
    let word_end = rest
        .char_indices()
        .find(|(_, c)| !c.is_alphanumeric() && *c != '_')
        .map_or(rest.len(), |(i, c)| if i == 0 { c.len_utf8() } else { i });
    let word = rest.get(..word_end).unwrap_or("");
    let span = Span::new(start, start + word_end);
    // `a?.b` and half a conditional come to the same in the parser's words, which name its own rules.
    if error.msg.contains("ExprContext") || rest.starts_with("?.") || rest.starts_with(".?") {
        let at = text.find('?').map_or(span, |at| Span::new(at, at + 1));
        return Diagnostic::error(
            "syntax",
            at,
            "`?` begins a conditional `a ? b : c`, which needs all three parts",
        )
        .with_help(
            "to ask for a field that may be missing write `args.x`: the expression is false without it",
        );
    }
    if !error.msg.starts_with("Syntax error") {
        return Diagnostic::error("syntax", span, lower_first(&error.msg));
    }
    let found = Diagnostic::error("syntax", span, format!("unexpected `{word}` in the expression"));
    match word {
        "and" | "AND" | "&" | "∧" => found.with_help("and is written `&&`"),
        "or" | "OR" | "|" | "∨" => found.with_help("or is written `||`"),
        "not" | "NOT" | "¬" => found.with_help("not is written `!`"),
        "=" => found.with_help("equality is written `==`"),
        "<" if rest.starts_with("<>") => found.with_help("inequality is written `!=`"),
        "'" | "\"" => found.with_help("two texts in a row: is an operator missing?"),
        _ => found,
    }
}

fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// Byte offset of a line and column, both from 1, columns in characters.
fn offset_of(text: &str, line: isize, column: isize) -> usize {
    let skip = |n: isize| usize::try_from(n - 1).unwrap_or(0);
    let line_start: usize = text.split_inclusive('\n').take(skip(line)).map(str::len).sum();
    let rest = text.get(line_start..).unwrap_or("");
    line_start + rest.char_indices().nth(skip(column)).map_or(rest.len(), |(i, _)| i)
}
