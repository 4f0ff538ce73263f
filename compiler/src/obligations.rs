//! What is still owed: Boolean combinations of claims about the rest of the trace, as decision diagrams.
//!
//! While a formula is translated, a state is a Boolean combination of *obligations* that the rest of the trace has to
//! satisfy: languages of its operands' automata, the formula itself, and literals where a formula looks back. Each is a
//! variable here, so states that are equal as Boolean combinations are equal. Only literals ever occur negated.
//!
//! An obligation `b` is encoded as `b | a1 | a2 | ..` over the obligations included in it. Whatever real traces satisfy
//! is closed under inclusion, there the two agree, and the encodings meet in the diagram: `F[<=3] p & F[<=8] p` *is*
//! `F[<=3] p`. This is what keeps pending deadlines from piling up.

use std::collections::HashMap;

use crate::{
    dd::{BinaryOp, Cache, Dd, Node, Ref, hasher, terminal, value},
    error::{BuildError, Kind},
    formula::{Core, FormulaId, Formulas},
    mtdfa::{ACCEPT, REJECT},
};

/// Obligations that differ in a number of positions only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// All languages of the library.
    Language,
    Literal { prop: u32 },
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
    /// The proposition of a literal.
    Literal(u32),
}

/// The obligations of one formula.
pub(crate) struct Obligations {
    families: Vec<Family>,
    by_shape: HashMap<Shape, usize, ahash::RandomState>,
    /// Number of variables.
    len: usize,
    /// Variable of each language, and its encoding.
    language_at: Vec<u32>,
    languages: Vec<Ref>,
    /// The language at each place in the order of variables.
    language_order: Vec<u32>,
    encoded: HashMap<FormulaId, Ref, ahash::RandomState>,
    dd: Dd,
    and: Cache,
    or: Cache,
}

impl Obligations {
    /// The obligations `owed` (with the formulas that counting down makes of them) and the languages, each given by
    /// those it includes.
    ///
    /// # Errors
    /// When a bound is beyond what `max_states` can count.
    pub(crate) fn new(
        formulas: &Formulas,
        owed: &[FormulaId],
        included: &[Vec<u32>],
        dd: Dd,
        max_states: usize,
    ) -> Result<Obligations, BuildError> {
        let mut obligations = Obligations {
            families: vec![Family { shape: Shape::Language, base: 0, max: included.len() as u32 }],
            by_shape: HashMap::with_hasher(hasher()),
            len: 0,
            language_at: vec![0; included.len()],
            languages: Vec::new(),
            language_order: Vec::new(),
            encoded: HashMap::with_hasher(hasher()),
            dd,
            and: Cache::new(),
            or: Cache::new(),
        };
        for &id in owed {
            obligations.register(formulas, id);
        }
        // Weak obligations first: encodings then share their tails. An until is weaker than its operands.
        let weak = |f: &Family| match f.shape {
            Shape::Language => 1,
            Shape::Bounded { until: false, .. } => 2,
            Shape::Single(id) if matches!(formulas.core(id), Core::Release { .. }) => 2,
            Shape::Bounded { until: true, .. } | Shape::Single(_) | Shape::Next { .. } | Shape::Literal { .. } => 0,
        };
        obligations.families.sort_by_key(weak);
        let mut base = 0u64;
        for (at, family) in obligations.families.iter_mut().enumerate() {
            if family.max as usize > max_states {
                return Err(BuildError::bound(u64::from(family.max), max_states));
            }
            obligations.by_shape.insert(family.shape, at);
            family.base = base as u32;
            base += u64::from(family.max);
        }
        if base > max_states as u64 * 2 + 65_536 {
            return Err(BuildError::new(Kind::States { limit: max_states }));
        }
        obligations.len = base as usize;
        obligations.encode_languages(included)?;
        Ok(obligations)
    }

    /// Number of obligations: the depth to which recursion over states may go.
    pub(crate) fn len(&self) -> usize {
        self.len
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

    fn encode_languages(&mut self, included: &[Vec<u32>]) -> Result<(), BuildError> {
        let base = self.by_shape.get(&Shape::Language).map_or(0, |&at| self.families[at].base);
        self.language_order = (0..included.len() as u32).collect();
        self.language_order.sort_by_key(|&q| std::cmp::Reverse(included[q as usize].len()));
        for (place, &q) in self.language_order.iter().enumerate() {
            self.language_at[q as usize] = base + place as u32;
        }
        self.languages = vec![terminal(0), terminal(1)];
        for within in included.iter().skip(2) {
            let mut vars: Vec<u32> = within.iter().map(|&p| self.language_at[p as usize]).collect();
            vars.sort_unstable();
            let r = self.any_of(&vars, terminal(0))?;
            self.languages.push(r);
        }
        Ok(())
    }

    /// The disjunction of sorted variables and of `rest`, which comes after them.
    fn any_of(&mut self, vars: &[u32], rest: Ref) -> Result<Ref, BuildError> {
        let mut r = rest;
        for &v in vars.iter().rev() {
            r = if r == terminal(1) { r } else { self.dd.mk(v, r, terminal(1))? };
        }
        Ok(r)
    }

    /// The variable of an obligation.
    fn variable(&self, formulas: &Formulas, id: FormulaId) -> Option<(Family, u32)> {
        let (shape, count) = shape(formulas.core(id), id)?;
        let family = self.families[*self.by_shape.get(&shape)?];
        Some(match shape {
            Shape::Bounded { until: false, .. } => (family, family.base + count - 1),
            _ => (family, family.base + family.max - count),
        })
    }

    /// What a variable stands for.
    pub(crate) fn claim(&self, formulas: &mut Formulas, var: u32) -> Claim {
        let at = self.families.partition_point(|f| f.base <= var) - 1;
        let Family { shape, base, max } = self.families[at];
        let down = max - (var - base);
        Claim::Formula(match shape {
            Shape::Language => return Claim::Language(self.language_order[(var - base) as usize]),
            Shape::Literal { prop } => return Claim::Literal(prop),
            Shape::Next { strong, arg } => formulas.next(strong, down, arg),
            Shape::Bounded { until: true, lhs, rhs } => formulas.until(Some(down), lhs, rhs),
            Shape::Bounded { until: false, lhs, rhs } => formulas.release(Some(var - base + 1), lhs, rhs),
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
    }

    /// The diagram of a formula.
    pub(crate) fn encode(&mut self, formulas: &mut Formulas, id: FormulaId) -> Result<Ref, BuildError> {
        if let Some(&r) = self.encoded.get(&id) {
            return Ok(r);
        }
        let r = match formulas.core(id).clone() {
            Core::False => terminal(0),
            Core::True => terminal(1),
            Core::Literal { positive, .. } => match self.variable(formulas, id) {
                Some((_, var)) => self.dd.mk(var, terminal(u32::from(!positive)), terminal(u32::from(positive)))?,
                None => terminal(0),
            },
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
            Core::Until { rhs, .. } => {
                let own = self.encode_counted(formulas, id)?;
                // `g` is included in `f U g`; known here if `g` is in the library.
                let included = self.encoded.get(&rhs).copied().unwrap_or(terminal(0));
                self.or(own, included)?
            }
            Core::Next { .. } | Core::Release { .. } | Core::Yesterday { .. } | Core::Since { .. } | Core::Trigger { .. } => {
                self.encode_counted(formulas, id)?
            }
        };
        self.encoded.insert(id, r);
        Ok(r)
    }

    /// `F[<=1] f` is included in `F[<=2] f` and so on up to the bound asked for; for `G`s from the greatest bound down.
    fn encode_counted(&mut self, formulas: &Formulas, id: FormulaId) -> Result<Ref, BuildError> {
        let Some((family, var)) = self.variable(formulas, id) else { return Ok(terminal(0)) };
        match family.shape {
            // Built from the last, strongest variable, each the tail of the next.
            Shape::Bounded { .. } => {
                let vars: Vec<u32> = (var..family.base + family.max).collect();
                self.any_of(&vars, terminal(0))
            }
            Shape::Language | Shape::Literal { .. } | Shape::Next { .. } | Shape::Single(_) => {
                self.any_of(&[var], terminal(0))
            }
        }
    }

    /// Makes every language that includes `rhs`, and `rhs` itself, include the release `id` of which it is the right
    /// side: `f R g` holds only where `g` does.
    pub(crate) fn include_in_right_side(&mut self, formulas: &mut Formulas, id: FormulaId, right: u32, included: &[Vec<u32>]) -> Result<(), BuildError> {
        let weakest = match *formulas.core(id) {
            Core::Release { last: Some(_), lhs, rhs } => formulas.release(Some(1), lhs, rhs),
            _ => id,
        };
        let own = self.encode(formulas, weakest)?;
        for q in 2..self.languages.len() {
            if included[q].contains(&right) {
                let both = self.or(self.languages[q], own)?;
                self.languages[q] = both;
            }
        }
        Ok(())
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

/// The family of an obligation and its count in it; nothing for Boolean combinations.
fn shape(core: &Core, id: FormulaId) -> Option<(Shape, u32)> {
    match *core {
        Core::False | Core::True | Core::And(_) | Core::Or(_) => None,
        Core::Literal { prop, .. } => Some((Shape::Literal { prop }, 1)),
        Core::Next { strong, steps, arg } => Some((Shape::Next { strong, arg }, steps)),
        Core::Until { last: Some(last), lhs, rhs } => Some((Shape::Bounded { until: true, lhs, rhs }, last)),
        Core::Release { last: Some(last), lhs, rhs } => Some((Shape::Bounded { until: false, lhs, rhs }, last)),
        Core::Until { last: None, .. }
        | Core::Release { last: None, .. }
        | Core::Yesterday { .. }
        | Core::Since { .. }
        | Core::Trigger { .. } => Some((Shape::Single(id), 1)),
    }
}

struct Connective {
    conjunction: bool,
}

impl BinaryOp for Connective {
    const COMMUTES: bool = true;

    fn shortcut(&self, f: Ref, g: Ref) -> Option<Ref> {
        let (neutral, absorbing) = if self.conjunction { (1, 0) } else { (0, 1) };
        match (value(f), value(g)) {
            _ if f == g => Some(f),
            (Some(v), _) if v == absorbing => Some(f),
            (_, Some(v)) if v == absorbing => Some(g),
            (Some(v), _) if v == neutral => Some(g),
            (_, Some(v)) if v == neutral => Some(f),
            _ => None,
        }
    }

    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError> {
        Ok(if self.conjunction { f & g } else { f | g })
    }
}
