//! The rows of the table of templates, but for the specification patterns.

use super::{Syntax, Template};

pub(super) const SENTENCES: &[Template] = &[
    Template::new(
        "before",
        "a before b",
        "!((!a) U b)",
        "b is forbidden until a has happened at an earlier event",
    )
    .written(Syntax::Sentence),
    Template::new("after", "after a expect b", "G(a -> F b)", "every a is followed by a b, at once or later")
        .written(Syntax::Sentence),
];

pub(super) const DECLARE: &[Template] = &[
    Template::new("existence", "existence(a)", "F a", "a happens"),
    Template::new(
        "existence",
        "existence(n, a)",
        "F(a & X existence(n-1, a)), existence(1, a) = F a",
        "a happens at least n times",
    )
    .counted(existence),
    Template::new("absence", "absence(a)", "!F a", "a never happens"),
    Template::new("absence", "absence(n, a)", "!existence(n, a)", "a happens at most n-1 times")
        .counted(|n| format!("!{}", existence(n))),
    Template::new("exactly", "exactly(a)", "F a & !F(a & X F a)", "a happens exactly once"),
    Template::new(
        "exactly",
        "exactly(n, a)",
        "existence(n, a) & absence(n+1, a)",
        "a happens exactly n times",
    )
    .counted(|n| format!("{} & !{}", existence(n), existence(n.saturating_add(1)))),
    Template::new("init", "init(a)", "a", "a holds at the first event").also(&["initial"]),
    Template::new("end", "end(a)", "F(a & WX false)", "a holds at the last event").also(&["last"]),
    Template::new("choice", "choice(a, b)", "F a | F b", "a or b happens"),
    Template::new(
        "exclusive_choice",
        "exclusive_choice(a, b)",
        "(F a | F b) & !(F a & F b)",
        "a or b happens, but not both",
    ),
    Template::new(
        "responded_existence",
        "responded_existence(a, b)",
        "F a -> F b",
        "if a happens, so does b",
    ),
    Template::new("co_existence", "co_existence(a, b)", "F a <-> F b", "a and b happen both or not at all"),
    Template::new(
        "response",
        "response(a, b)",
        "G(a -> F b)",
        "every a is followed by a b, at once or later",
    ),
    Template::new("precedence", "precedence(a, b)", "!b W a", "the first b does not come before the first a"),
    Template::new("succession", "succession(a, b)", "G(a -> F b) & (!b W a)", "response and precedence"),
    Template::new(
        "alternate_response",
        "alternate_response(a, b)",
        "G(a -> X(!a U b))",
        "every a is followed by a b before the next a",
    ),
    Template::new(
        "alternate_precedence",
        "alternate_precedence(a, b)",
        "(!b W a) & G(b -> WX(!b W a))",
        "every b comes after an a that no other b came after",
    ),
    Template::new(
        "alternate_succession",
        "alternate_succession(a, b)",
        "G(a -> X(!a U b)) & (!b W a) & G(b -> WX(!b W a))",
        "alternate response and alternate precedence",
    ),
    Template::new("chain_response", "chain_response(a, b)", "G(a -> X b)", "the event after every a is a b"),
    Template::new(
        "chain_precedence",
        "chain_precedence(a, b)",
        "!b & G(X b -> a)",
        "the event before every b is an a",
    ),
    Template::new(
        "chain_succession",
        "chain_succession(a, b)",
        "G(a -> X b) & !b & G(X b -> a)",
        "chain response and chain precedence",
    ),
    Template::new("not_co_existence", "not_co_existence(a, b)", "!(F a & F b)", "a and b do not both happen"),
    Template::new(
        "not_responded_existence",
        "not_responded_existence(a, b)",
        "F a -> !F b",
        "if a happens, b does not",
    ),
    Template::new("not_response", "not_response(a, b)", "G(a -> !F b)", "from an a on, b does not happen"),
    Template::new(
        "not_succession",
        "not_succession(a, b)",
        "G(a -> !F b)",
        "from an a on, b does not happen",
    ),
    Template::new("not_precedence", "not_precedence(a, b)", "G(F b -> !a)", "no a happens before or at a b"),
    Template::new(
        "not_chain_response",
        "not_chain_response(a, b)",
        "G(a -> !X b)",
        "the event after an a is not a b",
    ),
    Template::new(
        "not_chain_succession",
        "not_chain_succession(a, b)",
        "G(a -> !X b)",
        "the event after an a is not a b",
    ),
    Template::new(
        "not_chain_precedence",
        "not_chain_precedence(a, b)",
        "G(X b -> !a)",
        "the event before a b is not an a",
    ),
];

pub(super) const CONSTRAINTS: &[Template] = &[
    Template::new("always", "always f", "G f", "f holds at every event").written(Syntax::Constraint),
    Template::new("sometime", "sometime f", "F f", "f holds at some event").written(Syntax::Constraint),
    Template::new(
        "at-most-once",
        "at-most-once f",
        "G(f -> (f W G !f))",
        "f holds during at most one stretch of events",
    )
    .written(Syntax::Constraint),
    Template::new(
        "sometime-after",
        "sometime-after f g",
        "G(f -> F g)",
        "every f is followed by a g, at once or later",
    )
    .written(Syntax::Constraint),
    Template::new(
        "sometime-before",
        "sometime-before f g",
        "(!f & !g) W (!f & g)",
        "g holds at some event before the first f, if there is an f",
    )
    .written(Syntax::Constraint),
    Template::new("at end", "at end f", "at end f", "f holds at the last event").written(Syntax::Constraint),
    Template::new(
        "always-within",
        "always-within k f g",
        "G(f -> F[<=k] g)",
        "every f is followed by a g at most k events later",
    )
    .written(Syntax::Constraint)
    .counted(|k| format!("G(f -> F[<={k}] g)")),
];

fn existence(n: u32) -> String {
    let before = n.saturating_sub(1) as usize;
    "F(a & X ".repeat(before) + "F a" + &")".repeat(before)
}
