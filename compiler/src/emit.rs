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
///
/// # Complexity
/// Linear in the diagrams; the table, where there is one, is at most [`TABLE_FACTOR`] times as large.
pub(crate) fn emit(
    dd: &mut Dd,
    machine: &Machine,
    vocabulary_len: usize,
) -> Result<Automaton<Vec<u32>>, BuildError> {
    let order = in_order(dd, machine);
    let state_len = order.states.len();
    let roots: Vec<Ref> = order.states.iter().map(|&s| machine.roots[s as usize]).collect();
    let diagram_words = dd.below(&roots).len() * 3 + state_len;
    let mut body = Vec::new();
    let mut class_len = 0;
    let mut kept = roots;
    if let Some((classifier, classes)) = classify(dd, &kept)? {
        let table = classes * state_len;
        if table <= SMALL_TABLE || table <= TABLE_FACTOR * diagram_words {
            class_len = classes;
            body = tabulate(dd, classifier, &kept, classes);
            for value in &mut body {
                *value = order.entry(machine, *value);
            }
            kept = vec![classifier];
        }
    }
    // The classifier's terminals are classes; a state's diagram has terminals that stand for edges.
    let entry = |v: u32| if class_len == 0 { order.entry(machine, v) } else { v };
    let below = dd.below(&kept);
    let mut nodes = Vec::with_capacity(below.len());
    let mut references = Vec::with_capacity(kept.len());
    dd.number(&below, |dd, local| {
        let reference = |r: Ref| value(r).map_or_else(|| local(r), |v| Layout::terminal(entry(v)));
        for &r in &below {
            let node = dd.node(r);
            nodes.push([flip(node.var, vocabulary_len), reference(node.lo), reference(node.hi)]);
        }
        references.extend(kept.iter().map(|&r| reference(r)));
    });
    // Node indices follow the history of the arena: number them afresh, by their place below the roots.
    let (nodes, references) = canonical(&nodes, &references);
    let mut classifier = 0;
    if class_len == 0 {
        body = references;
    } else if let Some(&root) = references.first() {
        classifier = root;
    }
    let verdict = |&s: &u32| machine.verdicts[s as usize];
    let first = |v: Verdict| order.states.iter().position(|s| verdict(s) >= v).unwrap_or(state_len) as u32;
    let layout = Layout {
        state_len: state_len as u32,
        initial: order.place[machine.initial as usize],
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

/// The canonical order of a machine's states.
struct Order {
    states: Vec<u32>,
    /// The place of each state in `states`.
    place: Vec<u32>,
}

impl Order {
    /// The entry of the written automaton for a terminal of the machine's diagrams.
    fn entry(&self, machine: &Machine, value: u32) -> u32 {
        let edge = machine.edges[value as usize];
        self.place[(edge >> 1) as usize] << 1 | edge & 1
    }
}

fn in_order(dd: &Dd, machine: &Machine) -> Order {
    let mut place = vec![u32::MAX; machine.roots.len()];
    let mut states = vec![machine.initial];
    place[machine.initial as usize] = 0;
    let mut next = 0;
    // What lies below a node seen before has its place already.
    let mut seen = dd::Visited::default();
    while let Some(&state) = states.get(next) {
        next += 1;
        let mut leaves = Vec::new();
        dd.leaves(&mut seen, machine.roots[state as usize], &mut leaves);
        for leaf in leaves {
            let target = machine.edges[leaf as usize] >> 1;
            if place[target as usize] == u32::MAX {
                place[target as usize] = states.len() as u32;
                states.push(target);
            }
        }
    }
    states.sort_by_key(|&s| machine.verdicts[s as usize]);
    for (i, &s) in states.iter().enumerate() {
        place[s as usize] = i as u32;
    }
    Order { states, place }
}

/// Letters that lead from every state to the same place are one class. The classes come in the order of their least
/// letters. `None` when there are too many.
///
/// # Complexity
/// One diagram operation per state, on diagrams with at most [`MAX_CLASSES`] terminals.
fn classify(dd: &mut Dd, roots: &[Ref]) -> Result<Option<(Ref, usize)>, BuildError> {
    let mut classifier = terminal(0);
    let mut classes = 1;
    // States that differ in their verdict only have one diagram.
    let mut done = dd::Visited::default();
    for &root in roots {
        if !done.insert(root) {
            continue;
        }
        let mut split = Split::new();
        classifier = dd.apply(&mut split, &mut Cache::new(), classifier, root)?;
        classes = split.numbers.len().max(1);
        if classes > MAX_CLASSES {
            return Ok(None);
        }
    }
    let mut found = Vec::new();
    dd.leaves(&mut dd::Visited::default(), classifier, &mut found);
    let mut names = vec![0; classes];
    for (i, &class) in found.iter().enumerate() {
        names[class as usize] = i as u32;
    }
    let classifier = dd.map(&mut dd::memo(), classifier, &mut |c| Ok(names[c as usize]))?;
    Ok(Some((classifier, found.len())))
}

/// Numbers the pairs of terminals that meet.
pub(crate) struct Split {
    numbers: HashMap<(u32, u32), u32, ahash::RandomState>,
}

impl Split {
    pub(crate) fn new() -> Split {
        Split { numbers: HashMap::with_hasher(hasher()) }
    }

    /// The pairs, by their numbers. Where both diagrams are terminals from the start, that is the only pair.
    pub(crate) fn pairs(&self) -> Vec<(u32, u32)> {
        let mut pairs: Vec<_> = self.numbers.iter().map(|(&pair, &number)| (number, pair)).collect();
        pairs.sort_unstable();
        pairs.into_iter().map(|(_, pair)| pair).collect()
    }
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
    let mut seen = dd::Visited::default();
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
fn canonical(nodes: &[[u32; 3]], roots: &[u32]) -> (Vec<[u32; 3]>, Vec<u32>) {
    const TERMINAL: u32 = Layout::terminal(0);
    let mut place = vec![u32::MAX; nodes.len()];
    let mut out: Vec<[u32; 3]> = Vec::with_capacity(nodes.len());
    let mut stack = Vec::new();
    let at = |place: &[u32], r: u32| if r & TERMINAL != 0 { r } else { place[r as usize] };
    for &root in roots {
        stack.push((root, false));
        while let Some((r, children_done)) = stack.pop() {
            if r & TERMINAL != 0 || place[r as usize] != u32::MAX {
                continue;
            }
            let [prop, lo, hi] = nodes[r as usize];
            if children_done {
                out.push([prop, at(&place, lo), at(&place, hi)]);
                place[r as usize] = out.len() as u32 - 1;
            } else {
                stack.extend([(r, true), (hi, false), (lo, false)]);
            }
        }
    }
    let roots = roots.iter().map(|&r| at(&place, r)).collect();
    (out, roots)
}
