//! Multi-terminal decision diagrams: hash-consed nodes in one arena, no reference counts, dropped as a whole.
//!
//! A [`Ref`] with the top bit set is a terminal and carries its value in the other 31 bits; any other is the index of
//! a node. Variables are tested in increasing order on every path and no node has equal children, so equal functions
//! have equal references.

use std::time::Instant;

use crate::{
    config::Limits,
    error::{BuildError, Kind},
};

/// A diagram: a terminal or a node.
pub(crate) type Ref = u32;

const TERMINAL: u32 = 1 << 31;
const EMPTY: u32 = u32::MAX;

/// The terminal with that value.
pub(crate) const fn terminal(value: u32) -> Ref {
    TERMINAL | value
}

/// The value, if the diagram is a terminal.
pub(crate) const fn value(r: Ref) -> Option<u32> {
    if r & TERMINAL != 0 { Some(r & !TERMINAL) } else { None }
}

/// One test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) var: u32,
    pub(crate) lo: Ref,
    pub(crate) hi: Ref,
}

/// Mixes three words: one full multiplication, high half folded onto the low one. Fixed, so that runs repeat.
#[inline]
pub(crate) fn mix(a: u32, b: u32, c: u32) -> usize {
    let x = (u64::from(a) << 32 | u64::from(b)) ^ 0x9e37_79b9_7f4a_7c15;
    let y = (u64::from(c) << 32 | u64::from(c)) ^ 0xc4ce_b9fe_1a85_ec53;
    let product = u128::from(x).wrapping_mul(u128::from(y));
    let folded = (product >> 64) as u64 ^ product as u64;
    (folded ^ folded >> 32) as usize
}

/// The arena, its unique table and the budget.
pub(crate) struct Dd {
    nodes: Vec<Node>,
    /// Open addressing; a power of two, at most half full. Hash and index of each node: a probe that misses does not
    /// touch the node.
    table: Vec<(u32, u32)>,
    /// Room for walks: one word per node, `EMPTY` between them.
    scratch: Vec<u32>,
    limits: Limits,
    deadline: Option<Instant>,
}

impl Dd {
    pub(crate) fn new(limits: Limits, deadline: Option<Instant>) -> Dd {
        Dd { nodes: Vec::new(), table: vec![(0, EMPTY); 64], scratch: Vec::new(), limits, deadline }
    }

    /// Changes what may be used from now on.
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// An empty arena with the same budget.
    pub(crate) fn sibling(&self) -> Dd {
        Dd::new(self.limits, self.deadline)
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node behind a reference that is not a terminal.
    #[inline]
    pub(crate) fn node(&self, r: Ref) -> Node {
        self.nodes[r as usize]
    }

    /// The variable tested first; `u32::MAX` for a terminal.
    #[inline]
    pub(crate) fn var(&self, r: Ref) -> u32 {
        if r & TERMINAL != 0 { u32::MAX } else { self.nodes[r as usize].var }
    }

    /// `if var then hi else lo`; `var` must come before the variables of both.
    #[inline]
    pub(crate) fn mk(&mut self, var: u32, lo: Ref, hi: Ref) -> Result<Ref, BuildError> {
        if lo == hi {
            return Ok(lo);
        }
        debug_assert!(var < self.var(lo) && var < self.var(hi), "variables in order");
        let mask = self.table.len() - 1;
        let hash = mix(var, lo, hi) as u32;
        let mut slot = hash as usize & mask;
        loop {
            let (tag, found) = self.table[slot];
            if found == EMPTY {
                break;
            }
            if tag == hash {
                let node = self.nodes[found as usize];
                if node.lo == lo && node.hi == hi && node.var == var {
                    return Ok(found);
                }
            }
            slot = (slot + 1) & mask;
        }
        if self.nodes.len() >= self.limits.max_nodes {
            return Err(BuildError::new(Kind::Nodes { limit: self.limits.max_nodes }));
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(Node { var, lo, hi });
        self.table[slot] = (hash, index);
        if self.nodes.len() * 2 > self.table.len() {
            self.grow()?;
        }
        Ok(index)
    }

    /// Doubles the table. The clock is looked at here and every thousand states: often enough, and free.
    fn grow(&mut self) -> Result<(), BuildError> {
        self.check_time()?;
        let size = self.table.len() * 2;
        let old = std::mem::replace(&mut self.table, vec![(0, EMPTY); size]);
        for (hash, index) in old.into_iter().filter(|e| e.1 != EMPTY) {
            let mut slot = hash as usize & (size - 1);
            while self.table[slot].1 != EMPTY {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = (hash, index);
        }
        Ok(())
    }

    /// Whether there is time left.
    pub(crate) fn check_time(&self) -> Result<(), BuildError> {
        match (self.deadline, self.limits.max_time) {
            (Some(deadline), Some(limit)) if Instant::now() > deadline => {
                Err(BuildError::new(Kind::Time { limit, nodes: self.nodes.len() }))
            }
            _ => Ok(()),
        }
    }

    /// The two cofactors of `r` by `var`, which must not come after the top variable of `r`.
    #[inline]
    fn cofactors(&self, r: Ref, var: u32) -> (Ref, Ref) {
        if r & TERMINAL != 0 {
            return (r, r);
        }
        let node = self.nodes[r as usize];
        if node.var == var { (node.lo, node.hi) } else { (r, r) }
    }

    /// Combines two diagrams terminal by terminal.
    ///
    /// # Complexity
    /// At most one step per pair of nodes, while the cache holds them.
    pub(crate) fn apply<O: BinaryOp>(
        &mut self,
        op: &mut O,
        cache: &mut Cache,
        f: Ref,
        g: Ref,
    ) -> Result<Ref, BuildError> {
        if let Some(r) = op.shortcut(f, g) {
            return Ok(r);
        }
        if f & g & TERMINAL != 0 {
            return Ok(terminal(op.leaf(f & !TERMINAL, g & !TERMINAL)?));
        }
        let (f, g) = if O::COMMUTES && f > g { (g, f) } else { (f, g) };
        if let Some(r) = cache.get(f, g) {
            return Ok(r);
        }
        let var = self.var(f).min(self.var(g));
        let (f0, f1) = self.cofactors(f, var);
        let (g0, g1) = self.cofactors(g, var);
        let lo = self.apply(op, cache, f0, g0)?;
        let hi = self.apply(op, cache, f1, g1)?;
        let r = self.mk(var, lo, hi)?;
        cache.put(f, g, r);
        Ok(r)
    }

    /// Replaces every terminal's value.
    pub(crate) fn map(
        &mut self,
        memo: &mut Memo,
        r: Ref,
        leaf: &mut impl FnMut(u32) -> Result<u32, BuildError>,
    ) -> Result<Ref, BuildError> {
        if let Some(v) = value(r) {
            return Ok(terminal(leaf(v)?));
        }
        if let Some(&done) = memo.get(&r) {
            return Ok(done);
        }
        let node = self.node(r);
        let lo = self.map(memo, node.lo, leaf)?;
        let hi = self.map(memo, node.hi, leaf)?;
        let done = self.mk(node.var, lo, hi)?;
        memo.insert(r, done);
        Ok(done)
    }

    /// All nodes below the roots, children before parents.
    ///
    /// # Complexity
    /// O(result).
    pub(crate) fn below(&mut self, roots: &[Ref]) -> Vec<Ref> {
        const OPEN: u32 = 0;
        const DONE: u32 = 1;
        self.scratch.resize(self.nodes.len(), EMPTY);
        let mut found = Vec::new();
        let mut stack = Vec::new();
        for &root in roots {
            stack.push(root);
            while let Some(&r) = stack.last() {
                let mark = if r & TERMINAL == 0 { self.scratch[r as usize] } else { DONE };
                if mark == EMPTY {
                    self.scratch[r as usize] = OPEN;
                    let node = self.nodes[r as usize];
                    stack.extend([node.hi, node.lo]);
                    continue;
                }
                stack.pop();
                if mark == OPEN {
                    self.scratch[r as usize] = DONE;
                    found.push(r);
                }
            }
        }
        for &r in &found {
            self.scratch[r as usize] = EMPTY;
        }
        found
    }

    /// Calls `work` with a function from references to their index in `order`; terminals stay as they are.
    pub(crate) fn number(&mut self, order: &[Ref], work: impl FnOnce(&Dd, &dyn Fn(Ref) -> u32)) {
        self.scratch.resize(self.nodes.len(), EMPTY);
        for (i, &r) in order.iter().enumerate() {
            self.scratch[r as usize] = i as u32;
        }
        let this = &*self;
        work(this, &|r| if r & TERMINAL != 0 { r } else { this.scratch[r as usize] });
        for &r in order {
            self.scratch[r as usize] = EMPTY;
        }
    }

    /// The values of the terminals below `r`, each once, in the order of the least letter that leads to them.
    pub(crate) fn leaves(&self, seen: &mut Visited, r: Ref, out: &mut Vec<u32>) {
        if !seen.insert(r) {
            return;
        }
        match value(r) {
            Some(v) => out.push(v),
            None => {
                let node = self.node(r);
                self.leaves(seen, node.lo, out);
                self.leaves(seen, node.hi, out);
            }
        }
    }
}

/// A combination of two diagrams.
pub(crate) trait BinaryOp {
    /// Whether `f op g` is `g op f`.
    const COMMUTES: bool;
    /// The result where it can be told without looking further.
    fn shortcut(&self, f: Ref, g: Ref) -> Option<Ref>;
    /// The value for two terminals' values.
    fn leaf(&mut self, f: u32, g: u32) -> Result<u32, BuildError>;
}

/// Conjunction or disjunction of diagrams with terminals 0 and 1.
pub(crate) struct Connective {
    pub(crate) conjunction: bool,
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

/// What [`Dd::map`] has done already.
pub(crate) type Memo = ahash::HashMap<Ref, Ref>;
/// Where a walk has been.
#[derive(Default)]
pub(crate) struct Visited {
    nodes: Vec<u64>,
    values: Vec<u64>,
}

impl Visited {
    /// Whether this is the first visit.
    pub(crate) fn insert(&mut self, r: Ref) -> bool {
        let (set, bit) = match value(r) {
            // The greatest value, which stands for "no edge", would need a set of hundreds of megabytes: it comes first.
            Some(v) => (&mut self.values, (v + 1) & (u32::MAX >> 1)),
            None => (&mut self.nodes, r),
        };
        let word = (bit >> 6) as usize;
        if word >= set.len() {
            set.resize(word + 1 + word / 2, 0);
        }
        let mask = 1 << (bit & 63);
        let fresh = set[word] & mask == 0;
        set[word] |= mask;
        fresh
    }
}

/// The hash state of every table in the compiler: fixed, so that runs repeat (no order depends on it anyway).
pub(crate) fn hasher() -> ahash::RandomState {
    ahash::RandomState::with_seeds(0x7472_6163, 0x656c_6177, 0x6d69_6e69, 0x6d61_6c21)
}

/// An empty [`Memo`].
pub(crate) fn memo() -> Memo {
    Memo::with_hasher(hasher())
}

/// Results of one operation: direct-mapped, growing with use, so that small formulas pay for little.
pub(crate) struct Cache {
    slots: Vec<[u32; 3]>,
    puts: usize,
}

impl Cache {
    pub(crate) fn new() -> Cache {
        Cache { slots: Vec::new(), puts: 0 }
    }

    #[inline]
    fn get(&self, f: Ref, g: Ref) -> Option<Ref> {
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[mix(f, g, 0) & (self.slots.len() - 1)];
        (slot[0] == f && slot[1] == g).then_some(slot[2])
    }

    #[inline]
    fn put(&mut self, f: Ref, g: Ref, r: Ref) {
        if self.puts >= self.slots.len() {
            self.grow();
        }
        self.puts += 1;
        let mask = self.slots.len() - 1;
        self.slots[mix(f, g, 0) & mask] = [f, g, r];
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 4).clamp(64, 1 << 24);
        if size == self.slots.len() {
            self.puts = 0;
            return;
        }
        let old = std::mem::replace(&mut self.slots, vec![[EMPTY; 3]; size]);
        for slot in old.into_iter().filter(|s| s[0] != EMPTY || s[1] != EMPTY) {
            self.slots[mix(slot[0], slot[1], 0) & (size - 1)] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Visited, terminal};

    #[test]
    fn no_edge_does_not_cost_a_set_over_all_values() {
        let mut seen = Visited::default();
        assert!(seen.insert(terminal((1 << 31) - 1)) && seen.insert(terminal(0)) && seen.insert(terminal(5)));
        assert!(
            !seen.insert(terminal((1 << 31) - 1)) && !seen.insert(terminal(0)) && !seen.insert(terminal(5))
        );
        assert!(seen.values.len() < 10);
    }
}
