//! The automata of a formula's operands side by side: every state is a language, and equal languages are one state.

use std::collections::HashMap;

use crate::{
    dd::{Dd, Ref, hasher, value},
    error::BuildError,
    formula::FormulaId,
    minimize::Graph,
    mtdfa::{ACCEPT, Mtdfa, REJECT, edge, sinks},
};

/// With more languages than this no two are compared: it takes a walk per pair.
const MAX_COMPARED: usize = 256;

/// Minimal automata that share their states.
pub(crate) struct Library {
    /// One diagram per language, the sinks first.
    pub(crate) roots: Vec<Ref>,
    /// The language of each operand.
    pub(crate) of: HashMap<FormulaId, u32, ahash::RandomState>,
}

impl Library {
    /// Puts minimal automata together and merges their equal states.
    pub(crate) fn new(dd: &mut Dd, operands: Vec<(FormulaId, Mtdfa)>) -> Result<Library, BuildError> {
        let mut roots = sinks();
        let mut of = HashMap::with_hasher(hasher());
        for (id, automaton) in &operands {
            let offset = roots.len() as u32 - 2;
            let moved = |s: u32| if s <= ACCEPT { s } else { s + offset };
            of.insert(*id, moved(automaton.initial));
            let mut memo = crate::dd::memo();
            for &root in automaton.roots.iter().skip(2) {
                let root = if offset == 0 {
                    root
                } else {
                    dd.map(&mut memo, root, &mut |e| Ok(edge(moved(e >> 1), e & 1 != 0)))?
                };
                roots.push(root);
            }
        }
        if operands.len() < 2 {
            return Ok(Library { roots, of });
        }
        let classes = Graph::new(dd, &roots).refine(dd, &vec![0; roots.len()])?;
        if classes.len as usize == roots.len() {
            return Ok(Library { roots, of });
        }
        // Classes are numbered by their first member, so the sinks keep their numbers.
        let mut memo = crate::dd::memo();
        let mut merged: Vec<Ref> = Vec::new();
        for (s, &root) in roots.iter().enumerate() {
            if classes.of[s] as usize == merged.len() {
                merged.push(
                    dd.map(&mut memo, root, &mut |e| Ok(edge(classes.of[(e >> 1) as usize], e & 1 != 0)))?,
                );
            }
        }
        for language in of.values_mut() {
            *language = classes.of[*language as usize];
        }
        Ok(Library { roots: merged, of })
    }

    /// For each language those that include it (`conjunctive`) or that it includes, itself among them. Exact; beyond
    /// [`MAX_COMPARED`] languages only itself.
    ///
    /// # Complexity
    /// One walk over pairs of diagram nodes for each pair of n languages, and O(n^2) edges between pairs.
    pub(crate) fn related(&self, dd: &Dd, conjunctive: bool) -> Vec<Vec<u32>> {
        let n = self.roots.len();
        let mut related: Vec<Vec<u32>> = (0..n as u32).map(|q| vec![q]).collect();
        if n > MAX_COMPARED {
            return related;
        }
        let mut refuted = vec![false; n * n];
        let mut depends: Vec<Vec<u32>> = vec![Vec::new(); n * n];
        let mut stack = Vec::new();
        let mut visited = std::collections::HashSet::with_hasher(hasher());
        let sink_decides = |p: u32, q: u32| match (p, q) {
            _ if p == q || p == REJECT || q == ACCEPT => Some(true),
            (ACCEPT, _) | (_, REJECT) => Some(false),
            _ => None,
        };
        for p in 2..n as u32 {
            for q in (2..n as u32).filter(|&q| q != p) {
                let pair = p * n as u32 + q;
                let mut walk = vec![(self.roots[p as usize], self.roots[q as usize])];
                visited.clear();
                while let Some((f, g)) = walk.pop() {
                    if refuted[pair as usize] {
                        break;
                    }
                    if f == g || !visited.insert((f, g)) {
                        continue;
                    }
                    if let (Some(e), Some(d)) = (value(f), value(g)) {
                        match sink_decides(e >> 1, d >> 1) {
                            _ if e & 1 > d & 1 => refuted[pair as usize] = true,
                            Some(true) => {}
                            Some(false) => refuted[pair as usize] = true,
                            None => depends[((e >> 1) * n as u32 + (d >> 1)) as usize].push(pair),
                        }
                        continue;
                    }
                    let var = dd.var(f).min(dd.var(g));
                    let split = |r: Ref| {
                        if dd.var(r) == var {
                            let node = dd.node(r);
                            (node.lo, node.hi)
                        } else {
                            (r, r)
                        }
                    };
                    let ((f0, f1), (g0, g1)) = (split(f), split(g));
                    walk.extend([(f0, g0), (f1, g1)]);
                }
                if refuted[pair as usize] {
                    stack.push(pair);
                }
            }
        }
        while let Some(pair) = stack.pop() {
            for before in std::mem::take(&mut depends[pair as usize]) {
                if !std::mem::replace(&mut refuted[before as usize], true) {
                    stack.push(before);
                }
            }
        }
        for q in 2..n {
            let includes = |p: usize| if conjunctive { !refuted[q * n + p] } else { !refuted[p * n + q] };
            related[q].extend((2..n).filter(|&p| p != q && includes(p)).map(|p| p as u32));
        }
        related
    }
}
