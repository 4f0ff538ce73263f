//! Formulas as English sentences.
//!
//! Two things keep the sentences unambiguous: a part that is more than one plain statement stands in brackets, and in
//! brackets "this event" is the event that the brackets are about.

use crate::syntax::{Ast, Binary, Bounds, Expr, Unary};

/// What the rule says, in plain English, without a full stop.
///
/// Parts that are nested so deeply that no sentence could be followed are given as formulas.
///
/// # Complexity
/// O(|f|) for the parts, each copied once per level of nesting.
#[must_use]
pub fn words(rule: &Ast) -> String {
    say(rule, Now::Start, 0).at(Now::Start).text
}

/// Levels of nesting that are put into words.
const DEEPEST: usize = 16;

/// What the event that a part is read at is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Now {
    /// The first one of the trace: what comes from it on is the whole trace.
    Start,
    /// The one that the brackets are about.
    This,
    /// The one that "whenever" was said of.
    Same,
}

impl Now {
    fn event(self) -> &'static str {
        match self {
            Now::Start => "the first event",
            Now::This => "this event",
            Now::Same => "the same event",
        }
    }

    /// What counts distances.
    fn one(self) -> &'static str {
        match self {
            Now::Start => "the first one",
            Now::This => "this one",
            Now::Same => "that one",
        }
    }

    /// Puts "from here on" before a statement about all events.
    fn from(self) -> &'static str {
        match self {
            Now::Start => "",
            Now::This => "from this event on, ",
            Now::Same => "from the same event on, ",
        }
    }
}

/// How a piece of text can stand inside another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// One thing happens or not; the event is left open.
    Plain,
    /// A boolean combination of such; the event is left open.
    Facts,
    /// One thing happens or not, and the sentence says when.
    Timed,
    /// Anything else.
    Sentence,
}

struct Phrase {
    text: String,
    kind: Kind,
}

impl Phrase {
    fn new(kind: Kind, text: impl Into<String>) -> Phrase {
        Phrase { text: text.into(), kind }
    }

    fn timed(text: impl Into<String>) -> Phrase {
        Phrase::new(Kind::Timed, text)
    }

    fn sentence(text: impl Into<String>) -> Phrase {
        Phrase::new(Kind::Sentence, text)
    }

    /// Says of which event it is, where that is open and not clear anyhow.
    fn at(self, now: Now) -> Phrase {
        match (self.kind, now) {
            (Kind::Plain, Now::Start | Now::Same) => {
                Phrase::timed(format!("{} at {}", self.text, now.event()))
            }
            (Kind::Facts, Now::Start | Now::Same) => {
                Phrase::sentence(format!("at {}, {}", now.event(), self.text))
            }
            _ => self,
        }
    }

    /// As a part of a boolean combination, or at the end of a sentence that says more before.
    fn part(self) -> String {
        match self.kind {
            Kind::Plain | Kind::Timed => self.text,
            Kind::Facts | Kind::Sentence => format!("({})", self.text),
        }
    }

    /// After words that say at which event.
    fn there(self) -> String {
        match self.kind {
            Kind::Plain | Kind::Facts => self.text,
            Kind::Timed | Kind::Sentence => format!("({})", self.text),
        }
    }
}

/// One thing that happens, or does not.
struct Fact {
    /// `` `a` ``, `` `a` or `b` ``, `` `a` together with `b` ``
    noun: String,
    happens: bool,
    /// Whether the noun is a choice, which "does not" needs another word for.
    choice: bool,
}

impl Fact {
    fn of(mut f: &Ast) -> Option<Fact> {
        let mut happens = true;
        while let Expr::Unary(Unary::Not, inner) = &f.expr {
            happens = !happens;
            f = inner;
        }
        let names = |fs: &[Ast]| {
            let name = |f: &Ast| match &f.expr {
                Expr::Proposition(name) => Some(quote(name)),
                _ => None,
            };
            fs.iter().map(name).collect::<Option<Vec<_>>>()
        };
        let (noun, choice) = match &f.expr {
            Expr::Proposition(name) => (quote(name), false),
            Expr::And(fs) => (names(fs)?.join(" together with "), false),
            Expr::Or(fs) => {
                let names = names(fs)?;
                (names.join(if happens { " or " } else { " nor " }), true)
            }
            _ => return None,
        };
        Some(Fact { noun, happens, choice })
    }

    fn clause(&self) -> String {
        match (self.happens, self.choice) {
            (true, _) => format!("{} happens", self.noun),
            (false, false) => format!("{} does not happen", self.noun),
            (false, true) => format!("neither {} happens", self.noun),
        }
    }

    /// After "an event", "the first event".
    fn with(&self) -> String {
        match (self.happens, self.choice) {
            (true, _) => format!("with {}", self.noun),
            (false, false) => format!("without {}", self.noun),
            (false, true) => format!("with neither {}", self.noun),
        }
    }
}

fn quote(name: &str) -> String {
    format!("`{name}`")
}

fn negation(f: &Ast) -> Ast {
    match &f.expr {
        Expr::Unary(Unary::Not, inner) => (**inner).clone(),
        _ => Ast::new(f.span, Expr::Unary(Unary::Not, Box::new(f.clone()))),
    }
}

fn say(f: &Ast, now: Now, depth: usize) -> Phrase {
    if depth > DEEPEST {
        return Phrase::new(Kind::Facts, format!("the formula `{f}` holds"));
    }
    if let Some(fact) = Fact::of(f) {
        return Phrase::new(Kind::Plain, fact.clause());
    }
    if let Some(times) = counted(f, now).or_else(|| stretches(f, now)) {
        return times;
    }
    match &f.expr {
        Expr::Constant(true) => Phrase::sentence("nothing is asked for"),
        Expr::Constant(false) => Phrase::sentence("what is asked for is impossible"),
        Expr::Proposition(name) => Phrase::new(Kind::Plain, format!("{} happens", quote(name))),
        Expr::And(fs) => list(fs, now, depth, "and"),
        Expr::Or(fs) => list(fs, now, depth, "or"),
        Expr::Unary(op, operand) => unary(*op, operand, now, depth),
        Expr::Binary(op, left, right) => binary(*op, left, right, now, depth),
    }
}

/// Parts joined by "and" or "or"; the parts of a whole rule are numbered.
fn list(fs: &[Ast], now: Now, depth: usize, word: &str) -> Phrase {
    let parts: Vec<Phrase> = fs.iter().map(|f| say(f, now, depth + 1)).collect();
    if parts.iter().all(|p| p.kind <= Kind::Facts) {
        let parts: Vec<String> = parts.into_iter().map(Phrase::part).collect();
        return Phrase::new(Kind::Facts, parts.join(&format!(" {word} ")));
    }
    let parts = parts.into_iter().map(|p| p.at(now));
    if depth > 0 {
        return Phrase::sentence(parts.map(Phrase::part).collect::<Vec<_>>().join(&format!(" {word} ")));
    }
    let parts: Vec<String> = (1..).zip(parts).map(|(i, p)| format!("({i}) {}", p.text)).collect();
    let head = match (word, parts.len()) {
        ("and", 2) => "both of these hold",
        ("and", _) => "all of these hold",
        _ => "at least one of these holds",
    };
    Phrase::sentence(format!("{head}: {}", parts.join("; ")))
}

fn unary(op: Unary, f: &Ast, now: Now, depth: usize) -> Phrase {
    let one = Bounds { first: 1, last: Some(1) };
    match op {
        Unary::Not => not(f, now, depth),
        Unary::Next(0) | Unary::WeakNext(0) => say(f, now, depth + 1),
        Unary::Next(1) => match &f.expr {
            Expr::Constant(true) => Phrase::timed(format!("an event comes after {}", now.one())),
            _ => next(f, now, depth),
        },
        Unary::Next(k) => some(f, Bounds { first: k, last: Some(k) }, now, depth),
        Unary::WeakNext(1) if f.expr == Expr::Constant(false) => {
            Phrase::timed(format!("no event comes after {}", now.one()))
        }
        Unary::WeakNext(1) => all(f, one, now, depth),
        Unary::WeakNext(k) => all(f, Bounds { first: k, last: Some(k) }, now, depth),
        Unary::Finally(bounds) => match last_event(f) {
            Some(f) if bounds == Bounds::UNBOUNDED => at_end(&f, depth),
            _ => some(f, bounds, now, depth),
        },
        Unary::Globally(bounds) => all(f, bounds, now, depth),
        Unary::AtEnd => at_end(f, depth),
        Unary::Yesterday => match (&f.expr, Fact::of(f)) {
            (Expr::Constant(true), _) => Phrase::timed(format!("an event comes before {}", now.one())),
            (_, Some(fact)) if fact.happens => {
                Phrase::timed(format!("{} at the event just before {}", fact.clause(), now.one()))
            }
            _ => Phrase::sentence(format!(
                "there is an event just before {}, and there {}",
                now.one(),
                inside(f, depth)
            )),
        },
        Unary::WeakYesterday if f.expr == Expr::Constant(false) => {
            Phrase::timed(format!("no event comes before {}", now.one()))
        }
        Unary::WeakYesterday => {
            placed(f, depth, &format!("at the event just before {}, if there is one", now.one()))
        }
        Unary::Once => placed(f, depth, &format!("at {} or an earlier one", now.event())),
        Unary::Historically => match Fact::of(f) {
            Some(fact) if !fact.happens && !fact.choice => {
                Phrase::timed(format!("{} at {} or any earlier one", fact.clause(), now.event()))
            }
            _ => placed(f, depth, &format!("at {} and every earlier one", now.event())),
        },
    }
}

/// A part that is read at another event, which the words before it name.
fn inside(f: &Ast, depth: usize) -> String {
    say(f, Now::This, depth + 1).there()
}

/// Something that happens at the events that `when` names. What does not happen, or is more than one thing, comes after
/// `when`, so that "not at some event" is never read as "at no event".
fn placed(f: &Ast, depth: usize, when: &str) -> Phrase {
    match Fact::of(f) {
        Some(fact) if fact.happens => Phrase::timed(format!("{} {when}", fact.clause())),
        Some(fact) => Phrase::timed(format!("{when}, {}", fact.clause())),
        None => Phrase::sentence(format!("{when}, {}", inside(f, depth))),
    }
}

fn next(f: &Ast, now: Now, depth: usize) -> Phrase {
    let after = if now == Now::Start { "the second event" } else { "the next event" };
    match Fact::of(f) {
        Some(fact) if fact.happens => Phrase::timed(format!("{} at {after}", fact.clause())),
        _ => {
            let there = if now == Now::Start { "there is a second event" } else { "there is a next event" };
            Phrase::sentence(format!("{there}, and there {}", inside(f, depth)))
        }
    }
}

fn events(count: u32) -> String {
    format!("{count} event{}", if count == 1 { "" } else { "s" })
}

/// `F f` and its bounded forms.
fn some(f: &Ast, bounds: Bounds, now: Now, depth: usize) -> Phrase {
    placed(f, depth, &when_some(bounds, now))
}

fn when_some(bounds: Bounds, now: Now) -> String {
    let (event, one) = (now.event(), now.one());
    match (bounds.first, bounds.last) {
        (0, None) if now == Now::Start => "at some event".to_owned(),
        (0, None) => format!("at {event} or later"),
        (0, Some(0)) => format!("at {event}"),
        (0, Some(last)) => format!("at {event} or at most {} later", events(last)),
        (first, Some(last)) if first == last => format!("at an event exactly {} after {one}", events(first)),
        (first, Some(last)) => format!("at an event between {first} and {} after {one}", events(last)),
        (first, None) => format!("at an event at least {} after {one}", events(first)),
    }
}

/// `G f` and its bounded forms.
fn all(f: &Ast, bounds: Bounds, now: Now, depth: usize) -> Phrase {
    if bounds == Bounds::UNBOUNDED
        && let Some(phrase) = always(f, now, depth)
    {
        return phrase;
    }
    let (event, one) = (now.event(), now.one());
    let when = match (bounds.first, bounds.last) {
        (0, None) if now == Now::Start => "at every event".to_owned(),
        (0, None) => format!("at {event} and every later one"),
        (0, Some(0)) => format!("at {event}, if there is one"),
        (0, Some(last)) => format!("at {event} and every one up to {} later", events(last)),
        (1, Some(1)) if now == Now::Start => "at the second event, if there is one".to_owned(),
        (1, Some(1)) => "at the next event, if there is one".to_owned(),
        (first, Some(last)) if first == last => {
            format!("at the event that is {} after {one}, if there is one", events(first))
        }
        (first, Some(last)) => format!("at every event between {first} and {} after {one}", events(last)),
        (first, None) => format!("at every event at least {} after {one}", events(first)),
    };
    placed(f, depth, &when)
}

/// The usual shapes of what `G` is about.
fn always(f: &Ast, now: Now, depth: usize) -> Option<Phrase> {
    if let Some(fact) = Fact::of(f) {
        let never = !fact.happens && !fact.choice;
        return never.then(|| Phrase::timed(format!("{}{} never happens", now.from(), fact.noun)));
    }
    match &f.expr {
        Expr::Binary(Binary::Implies, left, right) => {
            if now == Now::Start
                && let Expr::Unary(Unary::Next(1), b) = &left.expr
                && let (Some(a), Some(b)) = (Fact::of(right), Fact::of(b))
            {
                return Some(Phrase::sentence(format!(
                    "whenever {} at an event that is not the first, {} at the event just before",
                    b.clause(),
                    a.clause()
                )));
            }
            let cause = say(left, Now::This, depth + 1);
            if cause.kind > Kind::Facts {
                let (cause, effect) = (cause.there(), inside(right, depth));
                return Some(Phrase::sentence(format!(
                    "{}at every event at which {cause}, {effect}",
                    now.from()
                )));
            }
            let effect = say(right, Now::Same, depth + 1).at(Now::Same).part();
            Some(Phrase::sentence(format!("{}whenever {}, {effect}", now.from(), cause.text)))
        }
        Expr::Unary(Unary::Not, inner) if Fact::of(inner).is_none() => Some(Phrase::sentence(format!(
            "{}there is no event at which {}",
            now.from(),
            inside(inner, depth)
        ))),
        _ => None,
    }
}

fn at_end(f: &Ast, depth: usize) -> Phrase {
    placed(f, depth, "at the last event")
}

/// `f` of `f & WX false`.
fn last_event(f: &Ast) -> Option<Ast> {
    let Expr::And(fs) = &f.expr else { return None };
    let is_last =
        |f: &Ast| matches!(&f.expr, Expr::Unary(Unary::WeakNext(1), g) if g.expr == Expr::Constant(false));
    match fs.as_slice() {
        [g, last] | [last, g] if is_last(last) => Some(g.clone()),
        _ => None,
    }
}

fn not(f: &Ast, now: Now, depth: usize) -> Phrase {
    match &f.expr {
        Expr::Constant(value) => say(&Ast::new(f.span, Expr::Constant(!value)), now, depth),
        Expr::Unary(Unary::Not, inner) => say(inner, now, depth + 1),
        Expr::Unary(Unary::Next(k), inner) if *k > 0 => {
            unary(Unary::WeakNext(*k), &negation(inner), now, depth)
        }
        Expr::Unary(Unary::WeakNext(k), inner) if *k > 0 => {
            unary(Unary::Next(*k), &negation(inner), now, depth)
        }
        Expr::Unary(Unary::Finally(bounds), inner) if last_event(inner).is_none() => {
            all(&negation(inner), *bounds, now, depth)
        }
        Expr::Unary(Unary::Globally(bounds), inner) => some(&negation(inner), *bounds, now, depth),
        // !(!a U b): b has to wait for an a at an earlier event.
        Expr::Binary(Binary::Until(Bounds::UNBOUNDED), left, right) => {
            match (Fact::of(&negation(left)), Fact::of(right)) {
                (Some(a), Some(b)) if now == Now::Start && a.happens && b.happens => {
                    Phrase::sentence(format!("{} only after {} at an earlier event", b.clause(), a.clause()))
                }
                _ => Phrase::sentence(format!("it is not so that {}", say(f, now, depth + 1).at(now).part())),
            }
        }
        _ => Phrase::sentence(format!("it is not so that {}", say(f, now, depth + 1).at(now).part())),
    }
}

fn binary(op: Binary, f: &Ast, g: &Ast, now: Now, depth: usize) -> Phrase {
    let part = |f: &Ast| say(f, now, depth + 1).at(now).part();
    match op {
        Binary::Implies => Phrase::sentence(format!("if {}, then {}", part(f), part(g))),
        Binary::Iff => Phrase::sentence(format!("{} exactly if {}", part(f), part(g))),
        Binary::Xor => Phrase::sentence(format!("either {} or {}, but not both", part(f), part(g))),
        Binary::Until(Bounds::UNBOUNDED) if f.expr == Expr::Constant(true) => {
            some(g, Bounds::UNBOUNDED, now, depth)
        }
        Binary::Until(Bounds::UNBOUNDED) => before(f, g, now, depth, ", and there has to be one"),
        Binary::Until(bounds) => Phrase::sentence(format!(
            "{}, and at every event from {} to just before that one, {}",
            some(g, bounds, now, depth).part(),
            now.event(),
            inside(f, depth)
        )),
        Binary::WeakUntil => before(f, g, now, depth, ""),
        Binary::Release => up_to(f, g, now, depth, ""),
        Binary::StrongRelease => up_to(f, g, now, depth, ", and there has to be one"),
        Binary::Since => Phrase::sentence(format!(
            "there is an event {}, {} or an earlier one, and at every event after the last such event up to {}, {}",
            with(g, depth),
            now.one(),
            now.one(),
            inside(f, depth)
        )),
        Binary::Trigger => Phrase::sentence(format!(
            "at every event from the last one {} up to {} (or from the start, if there is none), {}",
            with(f, depth),
            now.one(),
            inside(g, depth)
        )),
    }
}

/// "with `a`", "at which (...)".
fn with(f: &Ast, depth: usize) -> String {
    Fact::of(f).map_or_else(|| format!("at which {}", inside(f, depth)), |fact| fact.with())
}

/// `f W g`, and with `and` `f U g`.
fn before(f: &Ast, g: &Ast, now: Now, depth: usize, and: &str) -> Phrase {
    let (from, first) = (now.from(), with(g, depth));
    let none = |otherwise: &str| {
        if and.is_empty() { format!(", or {otherwise} if there is none") } else { and.to_owned() }
    };
    Phrase::sentence(match Fact::of(f) {
        Some(fact) if !fact.happens => {
            format!("{from}{} before the first event {first}{}", fact.clause(), none("at all"))
        }
        Some(fact) => {
            format!(
                "{from}{} at every event before the first one {first}{}",
                fact.clause(),
                none("at every event")
            )
        }
        None => format!(
            "{from}at every event before the first one {first}{}, {}",
            none("at every event"),
            inside(f, depth)
        ),
    })
}

/// `f R g`, and with `and` `f M g`.
fn up_to(f: &Ast, g: &Ast, now: Now, depth: usize, and: &str) -> Phrase {
    let and = if and.is_empty() { ", or at every event if there is none" } else { and };
    Phrase::sentence(format!(
        "{}at every event up to and including the first one {}{and}, {}",
        now.from(),
        with(f, depth),
        inside(g, depth)
    ))
}

/// `F(a & X F(a & X F a))` and its negation: how often something happens.
fn counted(f: &Ast, now: Now) -> Option<Phrase> {
    let times = |n: u32| if n == 1 { "once".to_owned() } else { format!("{n} times") };
    let say = |noun: &str, how: String| Phrase::timed(format!("{}{noun} happens {how}", now.from()));
    match &f.expr {
        Expr::Unary(Unary::Not, inner) => {
            let (fact, n) = at_least(inner).filter(|(_, n)| *n > 1)?;
            Some(say(&fact.noun, format!("at most {}", times(n - 1))))
        }
        Expr::And(fs) => match fs.as_slice() {
            [least, Ast { expr: Expr::Unary(Unary::Not, most), .. }] => {
                let ((fact, n), (other, m)) = (at_least(least)?, at_least(most)?);
                (fact.noun == other.noun && m == n + 1)
                    .then(|| say(&fact.noun, format!("exactly {}", times(n))))
            }
            _ => None,
        },
        _ => {
            let (fact, n) = at_least(f).filter(|(_, n)| *n > 1)?;
            Some(say(&fact.noun, format!("at least {}", times(n))))
        }
    }
}

/// What happens at least how often.
fn at_least(mut f: &Ast) -> Option<(Fact, u32)> {
    let mut first: Option<&Ast> = None;
    for n in 1.. {
        let Expr::Unary(Unary::Finally(Bounds::UNBOUNDED), inner) = &f.expr else { return None };
        let rest = match &inner.expr {
            Expr::And(fs) => match fs.as_slice() {
                [a, Ast { expr: Expr::Unary(Unary::Next(1), rest), .. }] => Some((a, &**rest)),
                _ => None,
            },
            _ => None,
        };
        let a = rest.map_or(&**inner, |(a, _)| a);
        if **first.get_or_insert(a) != *a {
            return None;
        }
        match rest {
            Some((_, rest)) => f = rest,
            None => return Fact::of(a).filter(|fact| fact.happens).map(|fact| (fact, n)),
        }
    }
    None
}

/// `!p W (p W (!p W (p W G !p)))` and `G(p -> (p W G !p))`: for how many stretches something goes on.
fn stretches(f: &Ast, now: Now) -> Option<Phrase> {
    fn weak(f: &Ast) -> Option<(&Ast, &Ast)> {
        match &f.expr {
            Expr::Binary(Binary::WeakUntil, left, right) => Some((left, right)),
            _ => None,
        }
    }
    let is_never = |f: &Ast, p: &Ast| matches!(&f.expr, Expr::Unary(Unary::Globally(Bounds::UNBOUNDED), g) if **g == negation(p));
    let (p, n) = match &f.expr {
        Expr::Unary(Unary::Globally(Bounds::UNBOUNDED), inner) => match &inner.expr {
            Expr::Binary(Binary::Implies, p, rest) => {
                weak(rest).filter(|(q, never)| *q == &**p && is_never(never, p))?;
                (&**p, 1)
            }
            _ => return None,
        },
        _ => {
            let (mut rest, mut found, mut n) = (f, None, 0_u32);
            while let Some((not_p, inner)) = weak(rest) {
                let (p, after) = weak(inner)?;
                if *not_p != negation(p) || *found.get_or_insert(p) != p {
                    return None;
                }
                (rest, n) = (after, n + 1);
            }
            let p = found.filter(|p| is_never(rest, p))?;
            (p, n)
        }
    };
    let fact = Fact::of(p)?;
    let are = if n == 1 { "is at most 1 stretch".to_owned() } else { format!("are at most {n} stretches") };
    Some(Phrase::sentence(format!("{}there {are} of events {}", now.from(), fact.with())))
}
