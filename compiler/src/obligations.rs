//! What is still owed: Boolean combinations of claims about the rest of the trace, as decision diagrams.
//!
//! While a formula is translated, a state is a Boolean combination of *obligations* that the rest of the trace has to
//! satisfy: languages of its operands' automata, the formula itself, and what it is made of where it looks back. Each is a
//! variable here, so states that are equal as Boolean combinations are equal. None ever occurs negated.
//!
//! An obligation `b` is encoded as `b | a1 | a2 | ..` over the obligations included in it, or as `b & c1 & c2 & ..` over
//! those that include it, whichever suits the way in which the formula piles up its debts. Whatever real traces satisfy
//! is closed under inclusion, there all three agree, and the encodings meet in the diagram: `F[<=3] p & F[<=8] p` *is*
//! `F[<=3] p`. This is what keeps pending deadlines from piling up.

use std::collections::HashMap;

use crate::{
    dd::{Cache, Connective, Dd, Node, Ref, hasher, terminal},
    error::{BuildError, Kind},
    formula::{Core, FormulaId, Formulas},
    mtdfa::{ACCEPT, REJECT},
};

/// Obligations that differ in a number of positions only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// All languages of the library.
    Language,
    /// Counted by `steps`.
    Next { strong: bool, arg: FormulaId },
    /// Counted by `last`; `until` tells it from its dual.
    Bounded { until: bool, lhs: FormulaId, rhs: FormulaId },
    /// Not counted.
    Single(FormulaId),
}

/// A shape and its variables `base .. base + max`.
#[derive(Clone, Copy, Debug)]
struct Family {
    shape: Shape,
    base: u32,
    max: u32,
}

/// An obligation as the translator sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    Formula(FormulaId),
    Language(u32),
}

/// The obligations of one formula.
pub(crate) struct Obligations {
    /// Whether encodings are conjunctions.
    conjunctive: bool,
    families: Vec<Family>,
    by_shape: HashMap<Shape, usize, ahash::RandomState>,
    /// Variable of each language, and its encoding.
    language_at: Vec<u32>,
    languages: Vec<Ref>,
    /// The language at each place in the order of variables.
    language_order: Vec<u32>,
    encoded: HashMap<FormulaId, Ref, ahash::RandomState>,
    /// Those of the formulas in the library, which are below all others.
    operands: HashMap<FormulaId, Ref, ahash::RandomState>,
    /// The encodings of a family, by its first variable.
    chains: HashMap<u32, Vec<Ref>, ahash::RandomState>,
    dd: Dd,
    and: Cache,
    or: Cache,
}

impl Obligations {
    /// The obligations `owed` (with the formulas that counting down makes of them) and the languages, each given by
    /// those that it includes, or if `conjunctive` those that include it.
    ///
    /// # Errors
    /// When a bound is beyond what `max_states` can count.
    pub(crate) fn new(
        formulas: &Formulas,
        conjunctive: bool,
        owed: &[FormulaId],
        related: &[Vec<u32>],
        dd: Dd,
        max_states: usize,
    ) -> Result<Obligations, BuildError> {
        let mut obligations = Obligations {
            conjunctive,
            families: vec![Family { shape: Shape::Language, base: 0, max: related.len() as u32 }],
            by_shape: HashMap::with_hasher(hasher()),
            language_at: vec![0; related.len()],
            languages: Vec::new(),
            language_order: Vec::new(),
            encoded: HashMap::with_hasher(hasher()),
            operands: HashMap::with_hasher(hasher()),
            chains: HashMap::with_hasher(hasher()),
            dd,
            and: Cache::new(),
            or: Cache::new(),
        };
        for &id in owed {
            obligations.register(formulas, id);
        }
        // The formula itself comes before its operands: it is the weaker (in conjunctive mode the stronger) one, and
        // encodings share their tails.
        obligations.families.sort_by_key(|f| f.shape == Shape::Language);
        let mut base = 0u64;
        for (at, family) in obligations.families.iter_mut().enumerate() {
            if family.max as usize > max_states {
                return Err(BuildError::bound(u64::from(family.max), max_states));
            }
            obligations.by_shape.insert(family.shape, at);
            family.base = base as u32;
            base += u64::from(family.max);
        }
        if base > (max_states as u64).saturating_mul(2).saturating_add(65_536) {
            return Err(BuildError::new(Kind::States { limit: max_states }));
        }
        obligations.encode_languages(related)?;
        Ok(obligations)
    }

    fn register(&mut self, formulas: &Formulas, id: FormulaId) {
        let Some((shape, count)) = shape(formulas.core(id), id) else { return };
        let next = self.families.len();
        let at = *self.by_shape.entry(shape).or_insert(next);
        match self.families.get_mut(at) {
            Some(family) => family.max = family.max.max(count),
            None => self.families.push(Family { shape, base: 0, max: count }),
        }
    }

    fn encode_languages(&mut self, related: &[Vec<u32>]) -> Result<(), BuildError> {
        let base = self.by_shape.get(&Shape::Language).map_or(0, |&at| self.families[at].base);
        self.language_order = (0..related.len() as u32).collect();
        self.language_order.sort_by_key(|&q| std::cmp::Reverse(related[q as usize].len()));
        for (place, &q) in self.language_order.iter().enumerate() {
            self.language_at[q as usize] = base + place as u32;
        }
        self.languages = vec![terminal(0), terminal(1)];
        for others in related.iter().skip(2) {
            let mut vars: Vec<u32> = others.iter().map(|&p| self.language_at[p as usize]).collect();
            vars.sort_unstable();
            let r = self.joined(&vars, terminal(u32::from(self.conjunctive)))?;
            self.languages.push(r);
        }
        Ok(())
    }

    /// The disjunction, or in conjunctive mode the conjunction, of sorted variables and `rest`, which is below them.
    fn joined(&mut self, vars: &[u32], rest: Ref) -> Result<Ref, BuildError> {
        let mut r = rest;
        for &v in vars.iter().rev() {
            r = if self.conjunctive {
                self.dd.mk(v, terminal(0), r)?
            } else {
                self.dd.mk(v, r, terminal(1))?
            };
        }
        Ok(r)
    }

    /// The variable of an obligation.
    fn variable(&self, formulas: &Formulas, id: FormulaId) -> Option<(Family, u32)> {
        let (shape, count) = shape(formulas.core(id), id)?;
        let family = self.families[*self.by_shape.get(&shape)?];
        Some((
            family,
            if self.counts_up(shape) { family.base + count - 1 } else { family.base + family.max - count },
        ))
    }

    /// Whether the variables of a family are in the order of their counts: of the weakest first, or in conjunctive mode
    /// of the strongest. `F`s get weaker with their bounds, `G`s stronger.
    fn counts_up(&self, shape: Shape) -> bool {
        matches!(shape, Shape::Bounded { until, .. } if until == self.conjunctive)
    }

    /// What a variable stands for.
    pub(crate) fn claim(&self, formulas: &mut Formulas, var: u32) -> Claim {
        let at = self.families.partition_point(|f| f.base <= var) - 1;
        let Family { shape, base, max } = self.families[at];
        let count = if self.counts_up(shape) { var - base + 1 } else { max - (var - base) };
        Claim::Formula(match shape {
            Shape::Language => return Claim::Language(self.language_order[(var - base) as usize]),
            Shape::Next { strong, arg } => formulas.next(strong, count, arg),
            Shape::Bounded { until: true, lhs, rhs } => formulas.until(Some(count), lhs, rhs),
            Shape::Bounded { until: false, lhs, rhs } => formulas.release(Some(count), lhs, rhs),
            Shape::Single(id) => id,
        })
    }

    /// The encoding of a language.
    pub(crate) fn language(&self, language: u32) -> Ref {
        match language {
            REJECT => terminal(0),
            ACCEPT => terminal(1),
            _ => self.languages[language as usize],
        }
    }

    /// Sets the encoding of a formula that is in the library.
    pub(crate) fn set_language(&mut self, id: FormulaId, language: u32) {
        let r = self.language(language);
        self.encoded.insert(id, r);
        self.operands.insert(id, r);
    }

    /// The diagram of a formula.
    pub(crate) fn encode(&mut self, formulas: &mut Formulas, id: FormulaId) -> Result<Ref, BuildError> {
        if let Some(&r) = self.encoded.get(&id) {
            return Ok(r);
        }
        let r = match formulas.core(id).clone() {
            Core::False => terminal(0),
            Core::True => terminal(1),
            // Wherever a literal can be owed it is in the library.
            Core::Literal { .. } => return Err(unregistered()),
            Core::And(fs) => {
                let mut r = terminal(1);
                for &f in &fs {
                    let f = self.encode(formulas, f)?;
                    r = self.and(f, r)?;
                }
                r
            }
            Core::Or(fs) => {
                let mut r = terminal(0);
                for &f in &fs {
                    let f = self.encode(formulas, f)?;
                    r = self.or(f, r)?;
                }
                r
            }
            Core::Until { .. } | Core::Release { .. } => self.encode_counted(formulas, id)?,
            Core::Next { .. } | Core::Yesterday { .. } | Core::Since { .. } | Core::Trigger { .. } => {
                let (_, var) = self.variable(formulas, id).ok_or_else(unregistered)?;
                self.joined(&[var], terminal(u32::from(self.conjunctive)))?
            }
        };
        self.encoded.insert(id, r);
        Ok(r)
    }

    /// `g` is included in `F[<=1] g`, that in `F[<=2] g` and so on up to the bound asked for; the other way round for
    /// `G`s. `g` is known here if it is in the library. A family is encoded as one chain, once.
    fn encode_counted(&mut self, formulas: &mut Formulas, id: FormulaId) -> Result<Ref, BuildError> {
        let neutral = terminal(u32::from(self.conjunctive));
        let (family, var) = self.variable(formulas, id).ok_or_else(unregistered)?;
        if let Some(chain) = self.chains.get(&family.base) {
            return Ok(chain[(var - family.base) as usize]);
        }
        let operand = match formulas.law(id) {
            Some(law) if law.conjunction == self.conjunctive => self.operands.get(&law.outer).copied(),
            _ => None,
        };
        let mut r = operand.unwrap_or(neutral);
        let mut chain = Vec::with_capacity(family.max as usize);
        for v in (family.base..family.base + family.max).rev() {
            r = self.joined(&[v], r)?;
            chain.push(r);
        }
        chain.reverse();
        let r = chain[(var - family.base) as usize];
        self.chains.insert(family.base, chain);
        Ok(r)
    }

    pub(crate) fn and(&mut self, f: Ref, g: Ref) -> Result<Ref, BuildError> {
        self.dd.apply(&mut Connective { conjunction: true }, &mut self.and, f, g)
    }

    pub(crate) fn or(&mut self, f: Ref, g: Ref) -> Result<Ref, BuildError> {
        self.dd.apply(&mut Connective { conjunction: false }, &mut self.or, f, g)
    }

    /// Top variable and branches of a diagram that is not constant.
    pub(crate) fn node(&self, r: Ref) -> Node {
        self.dd.node(r)
    }
}

/// Something is owed that was not foreseen: better no automaton than a wrong one.
fn unregistered() -> BuildError {
    BuildError::internal("an obligation was not foreseen")
}

/// The family of an obligation and its count in it; nothing for Boolean combinations.
fn shape(core: &Core, id: FormulaId) -> Option<(Shape, u32)> {
    match *core {
        Core::False | Core::True | Core::Literal { .. } | Core::And(_) | Core::Or(_) => None,
        Core::Next { strong, steps, arg } => Some((Shape::Next { strong, arg }, steps)),
        Core::Until { last: Some(last), lhs, rhs } => Some((Shape::Bounded { until: true, lhs, rhs }, last)),
        Core::Release { last: Some(last), lhs, rhs } => {
            Some((Shape::Bounded { until: false, lhs, rhs }, last))
        }
        Core::Until { last: None, .. }
        | Core::Release { last: None, .. }
        | Core::Yesterday { .. }
        | Core::Since { .. }
        | Core::Trigger { .. } => Some((Shape::Single(id), 1)),
    }
}
