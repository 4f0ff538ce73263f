//! Machine to words: canonical numbering, letter classes, the table.
//!
//! States are ordered by verdict, and within a verdict breadth-first, successors in the order of their least letters.
//! Equal languages over one vocabulary therefore give equal words.

use std::collections::HashMap;

use tracelaw_runtime::{Automaton, Layout, Verdict};

use crate::{
    dd::{self, BinaryOp, Cache, Dd, Ref, hasher, terminal, value},
    desugar::flip,
    error::BuildError,
    machine::Machine,
};

/// With more letter classes than this the automaton stays in diagram form.
const MAX_CLASSES: usize = 256;
/// A table may be this many times as large as the diagrams before they are preferred.
const TABLE_FACTOR: usize = 8;
/// A table of up to this many words is always taken.
const SMALL_TABLE: usize = 4096;

/// Writes a reduced machine.
pub(crate) fn emit(dd: &mut Dd, machine: &Machine, vocabulary_len: usize) -> Result<Automaton<Vec<u32>>, BuildError> {
    let (roots, verdicts, initial) = in_order(dd, machine)?;
    let state_len = roots.len();
    let diagram_words = dd.below(&roots).len() * 3 + state_len;
    let mut body = Vec::new();
    let mut class_len = 0;
    let mut kept: Vec<Ref> = Vec::new();
    if let Some((classifier, classes)) = classify(dd, &roots)? {
        let table = classes * state_len;
        if table <= SMALL_TABLE || table <= TABLE_FACTOR * diagram_words {
            class_len = classes;
            kept = vec![classifier];
            body = tabulate(dd, classifier, &roots, classes);
        }
    }
    if class_len == 0 {
        kept = roots.clone();
    }
    let order = dd.below(&kept);
    let mut nodes = Vec::with_capacity(order.len());
    let mut classifier = 0;
    dd.number(&order, |dd, local| {
        let reference = |r: Ref| value(r).map_or_else(|| local(r), Layout::terminal);
        for &r in &order {
            let node = dd.node(r);
            nodes.push([flip(node.var, vocabulary_len), reference(node.lo), reference(node.hi)]);
        }
        if class_len == 0 {
            body.extend(kept.iter().map(|&r| reference(r)));
        } else {
            classifier = kept.first().map_or(0, |&r| reference(r));
        }
    });
    // Node indices follow the history of the arena: number them afresh, by their place below the roots.
    let (nodes, classifier, body) = canonical(&nodes, class_len, classifier, body);
    let first = |v: Verdict| verdicts.iter().position(|&w| w >= v).unwrap_or(state_len) as u32;
    let layout = Layout {
        state_len: state_len as u32,
        initial,
        bounds: [first(Verdict::Pending), first(Verdict::Holding), first(Verdict::Satisfied)],
        class_len: class_len as u32,
        classifier,
        nodes: &nodes,
        body: &body,
    };
    let mut words = Vec::with_capacity(layout.word_len());
    layout.write(&mut |w| words.push(w));
    Automaton::from_words(words).map_err(BuildError::internal)
}

/// The machine's states in canonical order.
fn in_order(dd: &mut Dd, machine: &Machine) -> Result<(Vec<Ref>, Vec<Verdict>, u32), BuildError> {
    let mut place = vec![u32::MAX; machine.roots.len()];
    let mut order = vec![machine.initial];
    place[machine.initial as usize] = 0;
    let mut next = 0;
    while let Some(&state) = order.get(next) {
        next += 1;
        let mut edges = Vec::new();
        dd.leaves(&mut dd::visited(), machine.roots[state as usize], &mut edges);
        for edge in edges {
            let target = edge >> 1;
            if place[target as usize] == u32::MAX {
                place[target as usize] = order.len() as u32;
                order.push(target);
            }
        }
    }
    order.sort_by_key(|&s| machine.verdicts[s as usize]);
    for (i, &s) in order.iter().enumerate() {
        place[s as usize] = i as u32;
    }
    let mut memo = dd::memo();
    let mut roots = Vec::with_capacity(order.len());
    for &s in &order {
        roots.push(dd.map(&mut memo, machine.roots[s as usize], &mut |e| Ok(place[(e >> 1) as usize] << 1 | e & 1))?);
    }
    let verdicts = order.iter().map(|&s| machine.verdicts[s as usize]).collect();
    Ok((roots, verdicts, place[machine.initial as usize]))
}

/// Letters that lead from every state to the same place are one class. The classes come in the order of their least
/// letters. `None` when there are too many.
///
/// # Complexity
/// One diagram operation per state, on diagrams with at most [`MAX_CLASSES`] terminals.
fn classify(dd: &mut Dd, roots: &[Ref]) -> Result<Option<(Ref, usize)>, BuildError> {
    let mut classifier = terminal(0);
    let mut classes = 1;
    for &root in roots {
        let mut split = Split { numbers: HashMap::with_hasher(hasher()) };
        classifier = dd.apply(&mut split, &mut Cache::new(), classifier, root)?;
        classes = split.numbers.len().max(1);
        if classes > MAX_CLASSES {
            return Ok(None);
        }
    }
    let mut found = Vec::new();
    dd.leaves(&mut dd::visited(), classifier, &mut found);
    let mut names = vec![0; classes];
    for (i, &class) in found.iter().enumerate() {
        names[class as usize] = i as u32;
    }
    let classifier = dd.map(&mut dd::memo(), classifier, &mut |c| Ok(names[c as usize]))?;
    Ok(Some((classifier, found.len())))
}

struct Split {
    numbers: HashMap<(u32, u32), u32, ahash::RandomState>,
}

impl BinaryOp for Split {
    const COMMUTES: bool = false;
    fn shortcut(&self, _: Ref, _: Ref) -> Option<Ref> {
        None
    }
    fn leaf(&mut self, class: u32, edge: u32) -> Result<u32, BuildError> {
        let next = self.numbers.len() as u32;
        Ok(*self.numbers.entry((class, edge)).or_insert(next))
    }
}

/// Row-major table: the edge of each state under each class.
fn tabulate(dd: &Dd, classifier: Ref, roots: &[Ref], classes: usize) -> Vec<u32> {
    // One letter of each class is enough.
    let mut letters: Vec<Vec<(u32, bool)>> = vec![Vec::new(); classes];
    let mut seen = dd::visited();
    let mut stack = vec![(classifier, Vec::new())];
    while let Some((r, path)) = stack.pop() {
        if !seen.insert(r) {
            continue;
        }
        match value(r) {
            Some(class) => letters[class as usize] = path,
            None => {
                let node = dd.node(r);
                for (child, bit) in [(node.hi, true), (node.lo, false)] {
                    let mut longer = path.clone();
                    longer.push((node.var, bit));
                    stack.push((child, longer));
                }
            }
        }
    }
    let mut table = Vec::with_capacity(roots.len() * classes);
    for &root in roots {
        for letter in &letters {
            let mut r = root;
            // Both list their propositions in the same order, and the classifier tests whatever a state tests.
            for &(var, bit) in letter {
                if value(r).is_none() && dd.node(r).var == var {
                    let node = dd.node(r);
                    r = if bit { node.hi } else { node.lo };
                }
            }
            table.push(value(r).unwrap_or(0));
        }
    }
    table
}

/// Numbers nodes by the first walk from the roots that leaves them, low branch first: children before parents, and the
/// same for equal diagrams.
fn canonical(nodes: &[[u32; 3]], class_len: usize, classifier: u32, body: Vec<u32>) -> (Vec<[u32; 3]>, u32, Vec<u32>) {
    const TERMINAL: u32 = Layout::terminal(0);
    let mut place = vec![u32::MAX; nodes.len()];
    let mut out: Vec<[u32; 3]> = Vec::with_capacity(nodes.len());
    let mut visit = |root: u32| -> u32 {
        let mut stack = vec![(root, false)];
        while let Some((r, children_done)) = stack.pop() {
            if r & TERMINAL != 0 || place[r as usize] != u32::MAX {
                continue;
            }
            let [prop, lo, hi] = nodes[r as usize];
            if children_done {
                let at = |r: u32| if r & TERMINAL != 0 { r } else { place[r as usize] };
                out.push([prop, at(lo), at(hi)]);
                place[r as usize] = out.len() as u32 - 1;
            } else {
                stack.extend([(r, true), (hi, false), (lo, false)]);
            }
        }
        if root & TERMINAL != 0 { root } else { place[root as usize] }
    };
    if class_len > 0 {
        let classifier = visit(classifier);
        (out, classifier, body)
    } else {
        let body = body.into_iter().map(visit).collect();
        (out, 0, body)
    }
}
