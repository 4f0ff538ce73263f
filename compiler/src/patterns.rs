//! The property specification patterns of Dwyer, Avrunin and Corbett, in the five scopes of their catalogue.
//!
//! The formulas are the catalogue's, `[]` and `<>` written `G` and `F`. A segment of the scopes "between" and "after …
//! until" starts at the event where q holds and ends before the event where r holds; for "between" that event has to
//! come, for "after … until" it need not.

use crate::template::{Scope, Template};

/// The rows of the table of templates that are specification patterns.
pub(crate) const PATTERNS: &[Template] = &[
    row("absent", GLOBALLY, "absent(p)", "G !p", "p never holds"),
    row(
        "absent",
        BEFORE,
        "absent(p) before r",
        "F r -> (!p U r)",
        "p never holds before the first r, if there is an r",
    ),
    row("absent", AFTER, "absent(p) after q", "G(q -> G !p)", "p never holds from the first q on"),
    row(
        "absent",
        BETWEEN,
        "absent(p) between q and r",
        "G((q & !r & F r) -> (!p U r))",
        "p never holds from a q up to an r",
    ),
    row(
        "absent",
        AFTER_UNTIL,
        "absent(p) after q until r",
        "G((q & !r) -> (!p W r))",
        "p never holds from a q up to an r or the end",
    ),
    row("existent", GLOBALLY, "existent(p)", "F p", "p holds at some event"),
    row(
        "existent",
        BEFORE,
        "existent(p) before r",
        "!r W (p & !r)",
        "p holds at some event before the first r, if there is an r",
    ),
    row(
        "existent",
        AFTER,
        "existent(p) after q",
        "G !q | F(q & F p)",
        "p holds at some event from the first q on, if there is a q",
    ),
    row(
        "existent",
        BETWEEN,
        "existent(p) between q and r",
        "G((q & !r) -> (!r W (p & !r)))",
        "p holds at some event from each q up to an r",
    ),
    row(
        "existent",
        AFTER_UNTIL,
        "existent(p) after q until r",
        "G((q & !r) -> (!r U (p & !r)))",
        "p holds at some event from each q up to an r or the end",
    ),
    row("universal", GLOBALLY, "universal(p)", "G p", "p holds at every event"),
    row(
        "universal",
        BEFORE,
        "universal(p) before r",
        "F r -> (p U r)",
        "p holds at every event before the first r, if there is an r",
    ),
    row(
        "universal",
        AFTER,
        "universal(p) after q",
        "G(q -> G p)",
        "p holds at every event from the first q on",
    ),
    row(
        "universal",
        BETWEEN,
        "universal(p) between q and r",
        "G((q & !r & F r) -> (p U r))",
        "p holds at every event from a q up to an r",
    ),
    row(
        "universal",
        AFTER_UNTIL,
        "universal(p) after q until r",
        "G((q & !r) -> (p W r))",
        "p holds at every event from a q up to an r or the end",
    ),
    row("precedes", GLOBALLY, "precedes(s, p)", "!p W s", "the first p does not come before the first s"),
    row(
        "precedes",
        BEFORE,
        "precedes(s, p) before r",
        "F r -> (!p U (s | r))",
        "before the first r, if there is an r, the first p does not come before the first s",
    ),
    row(
        "precedes",
        AFTER,
        "precedes(s, p) after q",
        "G !q | F(q & (!p W s))",
        "from some q on, the first p does not come before the first s, if there is a q",
    ),
    row(
        "precedes",
        BETWEEN,
        "precedes(s, p) between q and r",
        "G((q & !r & F r) -> (!p U (s | r)))",
        "from a q up to an r, the first p does not come before the first s",
    ),
    row(
        "precedes",
        AFTER_UNTIL,
        "precedes(s, p) after q until r",
        "G((q & !r) -> (!p W (s | r)))",
        "from a q up to an r or the end, the first p does not come before the first s",
    ),
    row(
        "responds",
        GLOBALLY,
        "responds(s, p)",
        "G(p -> F s)",
        "every p is followed by an s, at once or later",
    ),
    row(
        "responds",
        BEFORE,
        "responds(s, p) before r",
        "F r -> ((p -> (!r U (s & !r))) U r)",
        "before the first r, if there is an r, every p is followed by an s",
    ),
    row(
        "responds",
        AFTER,
        "responds(s, p) after q",
        "G(q -> G(p -> F s))",
        "from the first q on, every p is followed by an s",
    ),
    row(
        "responds",
        BETWEEN,
        "responds(s, p) between q and r",
        "G((q & !r & F r) -> ((p -> (!r U (s & !r))) U r))",
        "from a q up to an r, every p is followed by an s before that r",
    ),
    row(
        "responds",
        AFTER_UNTIL,
        "responds(s, p) after q until r",
        "G((q & !r) -> ((p -> (!r U (s & !r))) W r))",
        "from a q up to an r or the end, every p is followed by an s before that r",
    ),
    row(
        "bounded",
        GLOBALLY,
        "bounded(p, n)",
        "!p W (p W bounded(p, n-1)), bounded(p, 0) = G !p",
        "there are at most n stretches of events at which p holds",
    )
    .counted(|n| blocks(n, "!p W (p W (", "G !p")),
    row(
        "bounded",
        BEFORE,
        "bounded(p, n) before r",
        "F r -> B(n), B(n) = (!p & !r) U (r | ((p & !r) U (r | B(n-1)))), B(0) = !p U r",
        "before the first r, if there is an r, there are at most n stretches of p",
    )
    .counted(|n| format!("F r -> {}", blocks(n, UP_TO_R, "!p U r"))),
    row(
        "bounded",
        AFTER,
        "bounded(p, n) after q",
        "F q -> (!q U (q & bounded(p, n)))",
        "from the first q on, there are at most n stretches of p",
    )
    .counted(|n| format!("F q -> (!q U (q & ({})))", blocks(n, "!p W (p W (", "G !p"))),
    row(
        "bounded",
        BETWEEN,
        "bounded(p, n) between q and r",
        "G((q & F r) -> B(n)), B(n) as in the scope before r",
        "from a q up to an r, there are at most n stretches of p",
    )
    .counted(|n| format!("G((q & F r) -> ({}))", blocks(n, UP_TO_R, "!p U r"))),
    row(
        "bounded",
        AFTER_UNTIL,
        "bounded(p, n) after q until r",
        "G(q -> B(n)), B(n) as in the scope before r, but B(0) = (!p W r) | G p",
        "from a q up to an r or the end, there are at most n stretches of p",
    )
    .counted(|n| format!("G(q -> ({}))", blocks(n, UP_TO_R, "(!p W r) | G p"))),
];

const GLOBALLY: Scope = Scope::Globally;
const BEFORE: Scope = Scope::Before;
const AFTER: Scope = Scope::After;
const BETWEEN: Scope = Scope::Between;
const AFTER_UNTIL: Scope = Scope::AfterUntil;

/// One stretch without p and one with p, neither reaching r; two brackets stay open.
const UP_TO_R: &str = "(!p & !r) U (r | ((p & !r) U (r | (";

const fn row(
    name: &'static str,
    scope: Scope,
    form: &'static str,
    formula: &'static str,
    meaning: &'static str,
) -> Template {
    Template::new(name, form, formula, meaning).scoped(scope)
}

/// `block` n times, one inside the other, around `last`.
fn blocks(n: u32, block: &str, last: &str) -> String {
    let n = n as usize;
    let open = block.matches('(').count() - block.matches(')').count();
    block.repeat(n) + last + &")".repeat(n * open)
}
