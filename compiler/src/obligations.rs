//! What is still owed: Boolean combinations of formulas about the rest of the trace, as decision diagrams.
//!
//! While a formula is translated, a state is a set of alternatives of *obligations*: literals and temporal subformulas
//! that the rest of the trace has to satisfy. Each is a variable here, and a state is a diagram over them, so states
//! that are equal as Boolean combinations are equal. Temporal formulas are in negation normal form, hence only
//! literals ever occur negated.
//!
//! An obligation `b` is encoded as `b | a1 | a2 | ..` over the obligations that imply it. Any assignment that real
//! traces give is closed under implication, on those the two agree, and the encodings meet in the diagram:
//! `F[<=3] p & F[<=8] p` *is* `F[<=3] p`. This is what keeps pending deadlines from piling up.

use std::collections::HashMap;

use crate::{
    dd::{BinaryOp, Cache, Dd, Ref, hasher, terminal, value},
    error::{BuildError, Kind},
    formula::{Core, FormulaId, Formulas, Implications},
};

/// With more obligations than this, implications are looked for along bounds only.
const MAX_COMPARED: usize = 256;

/// Obligations that differ in a number of positions only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    Literal { prop: u32 },
    /// Counted by `steps`.
    Next { strong: bool, arg: FormulaId },
    /// Counted by `last`; `until` tells it from its dual.
    Bounded { until: bool, lhs: FormulaId, rhs: FormulaId },
    /// Not counted.
    Single(FormulaId),
}

/// A shape with the range of its variables: `base` is the one with the greatest count for untils (the weakest
/// obligation) and with the least for releases, so that encodings share their tails.
#[derive(Clone, Copy, Debug)]
struct Family {
    shape: Shape,
    base: u32,
    max: u32,
}

/// The obligations of one formula.
pub(crate) struct Obligations {
    families: Vec<Family>,
    by_shape: HashMap<Shape, usize, ahash::RandomState>,
    /// Number of variables.
    len: usize,
    /// All temporal obligations, when there are few enough to compare.
    compared: Option<Vec<FormulaId>>,
    encoded: HashMap<FormulaId, Ref, ahash::RandomState>,
    implications: Implications,
    dd: Dd,
    and: Cache,
    or: Cache,
}

impl Obligations {
    /// Collects all that `root` can come to owe.
    ///
    /// # Errors
    /// When a bound is beyond what `max_states` can count.
    pub(crate) fn new(formulas: &Formulas, root: FormulaId, dd: Dd, max_states: usize) -> Result<Obligations, BuildError> {
        let mut obligations = Obligations {
            families: Vec::new(),
            by_shape: HashMap::with_hasher(hasher()),
            len: 0,
            compared: None,
            encoded: HashMap::with_hasher(hasher()),
            implications: Implications::new(),
            dd,
            and: Cache::new(),
            or: Cache::new(),
        };
        let mut seen = std::collections::HashSet::with_hasher(hasher());
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            obligations.register(formulas, id);
            let children = formulas.children(id);
            stack.extend(children.into_iter().rev());
        }
        let mut base = 0u64;
        for family in &mut obligations.families {
            if family.max as usize > max_states {
                return Err(BuildError::new(Kind::Bound { bound: family.max, limit: max_states }));
            }
            family.base = base as u32;
            base += u64::from(family.max);
        }
        if base > max_states as u64 * 2 + 65_536 {
            return Err(BuildError::new(Kind::States { limit: max_states }));
        }
        obligations.len = base as usize;
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

    /// The variable of an obligation.
    fn variable(&self, formulas: &Formulas, id: FormulaId) -> Option<u32> {
        let (shape, count) = shape(formulas.core(id), id)?;
        let family = self.families[*self.by_shape.get(&shape)?];
        Some(match shape {
            Shape::Bounded { until: false, .. } => family.base + count - 1,
            _ => family.base + family.max - count,
        })
    }

    /// The obligation a variable stands for; for a literal the positive one.
    pub(crate) fn obligation(&self, formulas: &mut Formulas, var: u32) -> FormulaId {
        let at = self.families.partition_point(|f| f.base <= var) - 1;
        let Family { shape, base, max } = self.families[at];
        let down = max - (var - base);
        match shape {
            Shape::Literal { prop } => formulas.literal(prop, true),
            Shape::Next { strong, arg } => formulas.next(strong, down, arg),
            Shape::Bounded { until: true, lhs, rhs } => formulas.until(Some(down), lhs, rhs),
            Shape::Bounded { until: false, lhs, rhs } => formulas.release(Some(var - base + 1), lhs, rhs),
            Shape::Single(id) => id,
        }
    }

    /// Whether `var` stands for a literal.
    pub(crate) fn is_literal(&self, var: u32) -> bool {
        let at = self.families.partition_point(|f| f.base <= var) - 1;
        matches!(self.families[at].shape, Shape::Literal { .. })
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
                Some(var) => self.dd.mk(var, terminal(u32::from(!positive)), terminal(u32::from(positive)))?,
                None => terminal(0),
            },
            Core::And(fs) => {
                let mut r = terminal(1);
                for &f in fs.iter().rev() {
                    let f = self.encode(formulas, f)?;
                    r = self.and(f, r)?;
                }
                r
            }
            Core::Or(fs) => {
                let mut r = terminal(0);
                for &f in fs.iter().rev() {
                    let f = self.encode(formulas, f)?;
                    r = self.or(f, r)?;
                }
                r
            }
            Core::Next { .. }
            | Core::Until { .. }
            | Core::Release { .. }
            | Core::Yesterday { .. }
            | Core::Since { .. }
            | Core::Trigger { .. } => self.encode_obligation(formulas, id)?,
        };
        self.encoded.insert(id, r);
        Ok(r)
    }

    fn encode_obligation(&mut self, formulas: &mut Formulas, id: FormulaId) -> Result<Ref, BuildError> {
        if self.len > MAX_COMPARED {
            return self.encode_along_bounds(formulas, id);
        }
        if self.compared.is_none() {
            let temporal: Vec<_> = (0..self.len as u32).filter(|&v| !self.is_literal(v)).collect();
            self.compared = Some(temporal.into_iter().map(|v| self.obligation(formulas, v)).collect());
        }
        let mut r = terminal(0);
        for other in self.compared.clone().unwrap_or_default().into_iter().rev() {
            if self.implications.holds(formulas, other, id)
                && let Some(var) = self.variable(formulas, other)
            {
                let alone = self.dd.mk(var, terminal(0), terminal(1))?;
                r = self.or(alone, r)?;
            }
        }
        Ok(r)
    }

    /// `F[<=1] f` implies `F[<=2] f` and so on up to the bound asked for; for `G`s from the greatest bound down.
    fn encode_along_bounds(&mut self, formulas: &mut Formulas, id: FormulaId) -> Result<Ref, BuildError> {
        let Some(var) = self.variable(formulas, id) else { return Ok(terminal(0)) };
        let at = self.families.partition_point(|f| f.base <= var) - 1;
        let Family { shape, base, max } = self.families[at];
        let mut r = terminal(0);
        match shape {
            // The strongest has the last variable: build from there, each the tail of the next.
            Shape::Bounded { .. } => {
                for v in (var..base + max).rev() {
                    r = self.dd.mk(v, r, terminal(1))?;
                }
            }
            Shape::Literal { .. } | Shape::Next { .. } | Shape::Single(_) => {
                r = self.dd.mk(var, terminal(0), terminal(1))?;
            }
        }
        Ok(r)
    }

    pub(crate) fn and(&mut self, f: Ref, g: Ref) -> Result<Ref, BuildError> {
        self.dd.apply(&mut Connective { conjunction: true }, &mut self.and, f, g)
    }

    pub(crate) fn or(&mut self, f: Ref, g: Ref) -> Result<Ref, BuildError> {
        self.dd.apply(&mut Connective { conjunction: false }, &mut self.or, f, g)
    }

    /// Top variable and branches of a diagram that is not constant.
    pub(crate) fn node(&self, r: Ref) -> crate::dd::Node {
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

