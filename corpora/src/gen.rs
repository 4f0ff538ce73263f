//! Seeded random formulas and traces, and all formulas of a small size: the same for tests, fuzzing and benches.

use tracelaw_compiler::diag::Span;
use tracelaw_compiler::syntax::{Ast, Binary, Bounds, Expr, Unary};

/// An operator, with a choice of bounds where it takes some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// With one operand.
    Unary(Unary),
    /// With two operands.
    Binary(Binary),
    /// With two or more operands.
    And,
    /// With two or more operands.
    Or,
}

/// All operators, and how often each is drawn compared with the others.
///
/// Where an operator takes a number or bounds, random formulas draw their own; the ones given here are those that
/// exhaustive enumeration uses.
pub const OPERATORS: &[(Operator, u32)] = &[
    (Operator::Unary(Unary::Not), 6),
    (Operator::Unary(Unary::Next(1)), 6),
    (Operator::Unary(Unary::Next(2)), 1),
    (Operator::Unary(Unary::WeakNext(1)), 4),
    (Operator::Unary(Unary::WeakNext(2)), 1),
    (Operator::Unary(Unary::Finally(Bounds::UNBOUNDED)), 6),
    (Operator::Unary(Unary::Finally(BOUNDS)), 2),
    (Operator::Unary(Unary::Globally(Bounds::UNBOUNDED)), 6),
    (Operator::Unary(Unary::Globally(BOUNDS)), 2),
    (Operator::Unary(Unary::Yesterday), 2),
    (Operator::Unary(Unary::WeakYesterday), 2),
    (Operator::Unary(Unary::Once), 2),
    (Operator::Unary(Unary::Historically), 2),
    (Operator::Unary(Unary::AtEnd), 1),
    (Operator::And, 6),
    (Operator::Or, 6),
    (Operator::Binary(Binary::Xor), 1),
    (Operator::Binary(Binary::Implies), 4),
    (Operator::Binary(Binary::Iff), 1),
    (Operator::Binary(Binary::Until(Bounds::UNBOUNDED)), 5),
    (Operator::Binary(Binary::Until(BOUNDS)), 2),
    (Operator::Binary(Binary::WeakUntil), 3),
    (Operator::Binary(Binary::Release), 3),
    (Operator::Binary(Binary::StrongRelease), 3),
    (Operator::Binary(Binary::Since), 3),
    (Operator::Binary(Binary::Trigger), 3),
];

const BOUNDS: Bounds = Bounds { first: 1, last: Some(2) };

/// Of the leaves of a random formula, one in this many is a constant.
const CONSTANTS: usize = 12;

/// A source of random numbers that gives the same ones for the same seed, everywhere and for ever (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The source for a seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0. The bias of the remainder is of no account for small bounds.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % (bound.max(1) as u64)) as usize
    }

    /// One of the items, if there are any.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A formula over the given names whose operators are nested at most `depth` deep.
    pub fn formula(&mut self, props: &[String], depth: usize) -> Ast {
        // Now and then a shallow one, or all would have the full depth.
        if depth == 0 || self.below(5) == 0 {
            return self.leaf(props);
        }
        let operator = self.operator();
        let more = if self.below(4) == 0 { 1 } else { 0 };
        let mut operands: Vec<Ast> =
            (0..operator.operands() + more).map(|_| self.formula(props, depth - 1)).collect();
        if !matches!(operator, Operator::And | Operator::Or) {
            operands.truncate(operator.operands());
        }
        operator.of(operands)
    }

    /// A formula over the given names with `size` operators and leaves in all.
    pub fn formula_of_size(&mut self, props: &[String], size: usize) -> Ast {
        let Some(rest) = size.checked_sub(1).filter(|&rest| rest > 0) else { return self.leaf(props) };
        let operator = loop {
            let operator = self.operator();
            if operator.operands() <= rest {
                break operator;
            }
        };
        if operator.operands() == 1 {
            return operator.of(vec![self.formula_of_size(props, rest)]);
        }
        let left = 1 + self.below(rest - 1);
        operator.of(vec![self.formula_of_size(props, left), self.formula_of_size(props, rest - left)])
    }

    fn leaf(&mut self, props: &[String]) -> Ast {
        node(match self.pick(props) {
            Some(name) if self.below(CONSTANTS) > 0 => Expr::Proposition(name.clone()),
            _ => Expr::Constant(self.below(2) == 0),
        })
    }

    /// One of the operators by their weights, with numbers of its own.
    fn operator(&mut self) -> Operator {
        let total: u32 = OPERATORS.iter().map(|(_, weight)| weight).sum();
        let mut at = self.below(total as usize) as u32;
        let mut chosen = Operator::And;
        for (operator, weight) in OPERATORS {
            if at < *weight {
                chosen = *operator;
                break;
            }
            at -= weight;
        }
        match chosen {
            Operator::Unary(Unary::Next(2)) => Operator::Unary(Unary::Next(self.below(5) as u32)),
            Operator::Unary(Unary::WeakNext(2)) => Operator::Unary(Unary::WeakNext(self.below(5) as u32)),
            Operator::Unary(Unary::Finally(BOUNDS)) => Operator::Unary(Unary::Finally(self.bounds())),
            Operator::Unary(Unary::Globally(BOUNDS)) => Operator::Unary(Unary::Globally(self.bounds())),
            Operator::Binary(Binary::Until(BOUNDS)) => Operator::Binary(Binary::Until(self.bounds())),
            other => other,
        }
    }

    fn bounds(&mut self) -> Bounds {
        let first = self.below(3) as u32;
        let last = if self.below(6) == 0 { None } else { Some(first + self.below(4) as u32) };
        Bounds { first, last }
    }

    /// A trace of up to `longest` letters over `props` propositions (at most 64). Some traces have few true
    /// propositions, some have many.
    pub fn trace(&mut self, props: usize, longest: usize) -> Vec<u64> {
        let mask = all_letters(props);
        let sparse = self.below(3);
        (0..self.below(longest + 1))
            .map(|_| match sparse {
                0 => self.bits() & mask,
                1 => self.bits() & self.bits() & mask,
                _ => (self.bits() | self.bits()) & mask,
            })
            .collect()
    }
}

impl Operator {
    /// The least number of operands.
    #[must_use]
    pub fn operands(self) -> usize {
        match self {
            Operator::Unary(_) => 1,
            Operator::Binary(_) | Operator::And | Operator::Or => 2,
        }
    }

    /// The formula with this operator on top; the constant `true` if there are too few operands.
    #[must_use]
    pub fn of(self, operands: Vec<Ast>) -> Ast {
        let mut rest = operands.into_iter();
        node(match self {
            Operator::And => Expr::And(rest.collect()),
            Operator::Or => Expr::Or(rest.collect()),
            Operator::Unary(op) => match rest.next() {
                Some(f) => Expr::Unary(op, Box::new(f)),
                None => Expr::Constant(true),
            },
            Operator::Binary(op) => match (rest.next(), rest.next()) {
                (Some(f), Some(g)) => Expr::Binary(op, Box::new(f), Box::new(g)),
                _ => Expr::Constant(true),
            },
        })
    }
}

/// The formulas one step smaller: an operator gives way to one of its operands, a proposition to a constant.
///
/// A test that fails on a formula is easier to understand on the smallest of these that still fails, and so on.
#[must_use]
pub fn smaller(ast: &Ast) -> Vec<Ast> {
    let (operator, operands): (Operator, Vec<&Ast>) = match &ast.expr {
        Expr::Constant(_) => return Vec::new(),
        Expr::Proposition(_) => return [true, false].map(|value| node(Expr::Constant(value))).to_vec(),
        Expr::Unary(op, f) => (Operator::Unary(*op), vec![f]),
        Expr::Binary(op, f, g) => (Operator::Binary(*op), vec![f, g]),
        Expr::And(fs) => (Operator::And, fs.iter().collect()),
        Expr::Or(fs) => (Operator::Or, fs.iter().collect()),
    };
    let mut out: Vec<Ast> = operands.iter().map(|&f| f.clone()).collect();
    let with = |i: usize, f: Option<Ast>| {
        let others = operands.iter().enumerate();
        let kept = others.filter_map(|(j, &g)| if i == j { f.clone() } else { Some(g.clone()) });
        operator.of(kept.collect())
    };
    for (i, f) in operands.iter().enumerate() {
        if operands.len() > 2 {
            out.push(with(i, None));
        }
        out.extend(smaller(f).into_iter().map(|f| with(i, Some(f))));
    }
    out
}

/// All formulas over the given names, nested at most `depth` deep, with the operators of [`OPERATORS`], `&` and `|` with
/// two operands. Each comes once.
///
/// The last level is made while iterating, all others are kept: with two names there are 4 formulas of depth 0, 252 up
/// to depth 1 and 765,580 up to depth 2.
pub fn all_formulas(props: &[String], depth: usize) -> Box<dyn Iterator<Item = Ast>> {
    let leaves: Vec<Ast> = props
        .iter()
        .map(|name| Expr::Proposition(name.clone()))
        .chain([Expr::Constant(true), Expr::Constant(false)])
        .map(node)
        .collect();
    let Some(above) = depth.checked_sub(1) else { return Box::new(leaves.into_iter()) };
    let parts: std::rc::Rc<[Ast]> = all_formulas(props, above).collect();
    let nested = OPERATORS.iter().flat_map(move |(operator, _)| {
        let parts = parts.clone();
        let seconds = if operator.operands() == 2 { parts.len() } else { 1 };
        (0..parts.len() * seconds).filter_map(move |i| {
            let mut operands = vec![parts.get(i / seconds)?.clone()];
            if operator.operands() == 2 {
                operands.push(parts.get(i % seconds)?.clone());
            }
            Some(operator.of(operands))
        })
    });
    Box::new(leaves.into_iter().chain(nested))
}

/// All traces over `props` propositions (at most 64) with up to `longest` letters, the empty one first.
pub fn all_traces(props: usize, longest: usize) -> impl Iterator<Item = Vec<u64>> {
    let letters = all_letters(props);
    let mut next = Some(Vec::new());
    std::iter::from_fn(move || {
        let trace = next.take()?;
        let mut after: Vec<u64> = trace.clone();
        // Counts up like a number whose digits are letters, and gets one digit more after the last of a length.
        match after.iter().rposition(|&letter| letter < letters) {
            Some(i) => {
                if let Some(digits) = after.get_mut(i..) {
                    digits.iter_mut().for_each(|letter| *letter = letter.wrapping_add(1) & letters);
                }
                next = Some(after);
            }
            None if trace.len() < longest => next = Some(vec![0; trace.len() + 1]),
            None => {}
        }
        Some(trace)
    })
}

/// The names `a`, `b`, … of that many propositions (at most 26).
#[must_use]
pub fn names(props: usize) -> Vec<String> {
    ('a'..='z').take(props).map(String::from).collect()
}

/// The letter in which all of them are true, which is also the greatest.
fn all_letters(props: usize) -> u64 {
    1_u64.checked_shl(props as u32).map_or(u64::MAX, |bit| bit - 1)
}

fn node(expr: Expr) -> Ast {
    Ast::new(Span::default(), expr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tracelaw_compiler::syntax::{Dialect, Limits, parse};

    #[test]
    fn printing_and_reading_back_changes_nothing() {
        let names: Vec<String> = [
            "a", "b c", "F", "until", "at", "end", "\"", "\\", "x\"\\\"y", "é", "1", "WX", "a-b", "G(a)",
            "\n", "at end",
        ]
        .map(String::from)
        .to_vec();
        let limits = Limits::default();
        for seed in 0..20_000 {
            let ast = Random::new(seed).formula(&names, 1 + (seed % 7) as usize);
            let text = ast.to_string();
            match parse(&text, Dialect::Tracelaw, &limits) {
                Ok(back) => assert_eq!(back, ast, "{text}"),
                Err(report) => panic!("{text}: {report}"),
            }
        }
    }

    #[test]
    fn no_brackets_that_could_be_left_out() {
        // `|` and `xor` are kept apart on purpose.
        let mixed = |text: &str| text.contains('|') && text.contains("xor");
        let read = |text: &str| parse(text, Dialect::Tracelaw, &Limits::default()).ok();
        for seed in 0..2_000 {
            let ast = Random::new(seed).formula(&names(3), 4);
            let text = ast.to_string();
            if mixed(&text) {
                continue;
            }
            let mut open = Vec::new();
            for (i, c) in text.char_indices() {
                match c {
                    '(' => open.push(i),
                    ')' => {
                        let start = open.pop().unwrap();
                        let without =
                            format!("{} {} {}", &text[..start], &text[start + 1..i], &text[i + 1..]);
                        assert_ne!(read(&without).as_ref(), Some(&ast), "{text}");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn enumeration_is_complete_and_without_repetition() {
        let all: Vec<String> = all_formulas(&names(2), 1).map(|ast| ast.to_string()).collect();
        let unary = OPERATORS.iter().filter(|(op, _)| op.operands() == 1).count();
        let binary = OPERATORS.len() - unary;
        assert_eq!(all.len(), 4 + unary * 4 + binary * 16);
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(all.contains(&"F[1,2] a".to_owned()) && all.contains(&"b S true".to_owned()));

        let traces: Vec<_> = all_traces(2, 3).collect();
        assert_eq!(traces.len(), 1 + 4 + 16 + 64);
        assert_eq!(traces.iter().collect::<HashSet<_>>().len(), traces.len());
        assert_eq!(traces.first(), Some(&vec![]));
        assert_eq!(traces.last(), Some(&vec![3, 3, 3]));
    }

    #[test]
    fn a_seed_gives_the_same_for_ever() {
        let mut random = Random::new(42);
        let formula = random.formula(&names(3), 3).to_string();
        let again = Random::new(42).formula(&names(3), 3).to_string();
        assert_eq!(formula, again);
        // Recorded: a change here makes every recorded seed mean something else.
        assert_eq!(Random::new(1).bits(), 0x910a_2dec_8902_5cc1);
    }

    #[test]
    fn sizes_are_as_asked_for_and_shrinking_ends() {
        fn size(ast: &Ast) -> usize {
            1 + match &ast.expr {
                Expr::Constant(_) | Expr::Proposition(_) => 0,
                Expr::Unary(_, f) => size(f),
                Expr::And(fs) | Expr::Or(fs) => fs.iter().map(size).sum(),
                Expr::Binary(_, f, g) => size(f) + size(g),
            }
        }
        for wanted in 1..30 {
            let ast = Random::new(wanted as u64).formula_of_size(&names(2), wanted);
            assert_eq!(size(&ast), wanted, "{ast}");
            let all = smaller(&ast);
            assert!(all.iter().all(|f| size(f) <= wanted && *f != ast), "{ast}");
            assert_eq!(all.is_empty(), matches!(ast.expr, Expr::Constant(_)));
        }
        let three =
            Operator::And.of(names(3).into_iter().map(|name| node(Expr::Proposition(name))).collect());
        let texts: Vec<String> = smaller(&three).iter().map(Ast::to_string).collect();
        for expected in ["a", "b & c", "a & true & c"] {
            assert!(texts.contains(&expected.to_owned()), "{texts:?}");
        }
    }

    #[test]
    fn every_operator_is_drawn() {
        let mut seen = HashSet::new();
        for seed in 0..2_000 {
            for word in Random::new(seed).formula(&names(2), 3).to_string().split([' ', '(', ')']) {
                seen.insert(word.split('[').next().unwrap_or("").to_owned());
            }
        }
        let missing: Vec<&str> = "X WX F G Y Z O H & | xor -> <-> U W R M S T at"
            .split(' ')
            .filter(|op| !seen.contains(*op))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
