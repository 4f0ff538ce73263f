//! The unique smallest automaton of a language, and the order in which automata are combined.
//!
//! States are told apart by their diagrams: two states are equal when their diagrams are equal after every target was
//! replaced by its class. All diagrams of an automaton share one graph, so a round of refinement is one pass over that
//! graph, children first; the letters are never listed.

use crate::{
    dd::{Dd, Ref, mix, terminal},
    error::BuildError,
    mtdfa::{ACCEPT, Mtdfa, REJECT, product, sinks},
};

const TERMINAL: u32 = 1 << 31;
/// After so many whole rounds, only what changed is looked at again.
const WHOLE_ROUNDS: usize = 12;

/// The diagrams of an automaton as one graph, children before parents.
pub(crate) struct Graph {
    vars: Vec<u32>,
    /// Index of a node here, or a terminal as in the diagrams.
    lo: Vec<u32>,
    hi: Vec<u32>,
    /// The same for each state.
    pub(crate) roots: Vec<u32>,
}

impl Graph {
    pub(crate) fn new(dd: &mut Dd, roots: &[Ref]) -> Graph {
        let order = dd.below(roots);
        let mut graph = Graph { vars: Vec::new(), lo: Vec::new(), hi: Vec::new(), roots: Vec::new() };
        graph.vars.reserve(order.len());
        dd.number(&order, |dd, local| {
            for &r in &order {
                let node = dd.node(r);
                graph.vars.push(node.var);
                graph.lo.push(local(node.lo));
                graph.hi.push(local(node.hi));
            }
            graph.roots = roots.iter().map(|&r| local(r)).collect();
        });
        graph
    }

    /// For each state the class of states it is equal to. Terminals are `2 * state + bit`; `labels` tells apart what
    /// must not be merged to begin with.
    ///
    /// # Complexity
    /// A pass over d nodes for each of the first rounds; after that O(d log n log d) in all.
    pub(crate) fn refine(&self, dd: &Dd, labels: &[u32]) -> Result<Classes, BuildError> {
        let mut classes = Classes::group(labels.iter().copied());
        let mut table = Table::new(self.vars.len());
        let mut ids = vec![0u32; self.vars.len()];
        for _ in 0..WHOLE_ROUNDS {
            dd.check_time()?;
            table.clear();
            for i in 0..ids.len() {
                ids[i] = self.sign(i, &ids, &classes.of, &mut table);
            }
            let signatures = self.roots.iter().map(|&r| resolve(&ids, &classes.of, r));
            let finer = Classes::group_pairs(classes.of.iter().copied().zip(signatures));
            let stable = finer.len == classes.len;
            classes = finer;
            if stable || classes.len as usize == self.roots.len() {
                return Ok(classes);
            }
        }
        Incremental::new(self, classes).run(dd)
    }

    /// What tells node `i` from others, given the signatures of its children and the classes of the states.
    #[inline]
    fn sign(&self, i: usize, ids: &[u32], classes: &[u32], table: &mut Table) -> u32 {
        let lo = resolve(ids, classes, self.lo[i]);
        let hi = resolve(ids, classes, self.hi[i]);
        if lo == hi { lo } else { table.intern(self.vars[i], lo, hi) }
    }
}

#[inline]
fn resolve(ids: &[u32], classes: &[u32], r: u32) -> u32 {
    if r & TERMINAL != 0 {
        TERMINAL | classes[((r & !TERMINAL) >> 1) as usize] << 1 | r & 1
    } else {
        ids[r as usize]
    }
}

/// A partition of the states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Classes {
    /// The class of each state, numbered by first member.
    pub(crate) of: Vec<u32>,
    pub(crate) len: u32,
}

impl Classes {
    fn group(keys: impl Iterator<Item = u32>) -> Classes {
        Classes::group_pairs(keys.map(|k| (k, 0)))
    }

    fn group_pairs(keys: impl Iterator<Item = (u32, u32)>) -> Classes {
        let mut table = Table::new(64);
        let of: Vec<u32> = keys.map(|(a, b)| table.intern(0, a, b)).collect();
        Classes { of, len: table.keys.len() as u32 }
    }
}

/// Numbers triples in the order in which they come.
struct Table {
    slots: Vec<u32>,
    keys: Vec<[u32; 3]>,
}

impl Table {
    fn new(expected: usize) -> Table {
        Table { slots: vec![u32::MAX; (expected * 2).next_power_of_two().max(16)], keys: Vec::new() }
    }

    fn clear(&mut self) {
        self.slots.fill(u32::MAX);
        self.keys.clear();
    }

    #[inline]
    fn intern(&mut self, a: u32, b: u32, c: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = mix(a, b, c) & mask;
        while self.slots[slot] != u32::MAX {
            if self.keys[self.slots[slot] as usize] == [a, b, c] {
                return self.slots[slot];
            }
            slot = (slot + 1) & mask;
        }
        let number = self.keys.len() as u32;
        self.slots[slot] = number;
        self.keys.push([a, b, c]);
        if self.keys.len() * 2 > self.slots.len() {
            let size = self.slots.len() * 2;
            self.slots.clear();
            self.slots.resize(size, u32::MAX);
            for (i, k) in self.keys.iter().enumerate() {
                let mut slot = mix(k[0], k[1], k[2]) & (size - 1);
                while self.slots[slot] != u32::MAX {
                    slot = (slot + 1) & (size - 1);
                }
                self.slots[slot] = i as u32;
            }
        }
        number
    }
}

/// Refinement that follows changes only: when a class splits, its largest part keeps the name, and only the nodes above
/// the states that were renamed are signed anew. Long chains (deadlines, counters) take many rounds of little each.
struct Incremental<'g> {
    graph: &'g Graph,
    classes: Classes,
    /// Members of each class, and where in that list each state is.
    members: Vec<Vec<u32>>,
    place: Vec<u32>,
    table: Table,
    ids: Vec<u32>,
    /// Parents of each node, and of each state's terminals: `parent_list[parent_start[i]..parent_start[i + 1]]`; nodes
    /// first, then states.
    parent_start: Vec<u32>,
    parent_list: Vec<u32>,
    /// States whose diagram is a given node (or a terminal of a given state), likewise.
    rooted_start: Vec<u32>,
    rooted_list: Vec<u32>,
}

impl<'g> Incremental<'g> {
    fn new(graph: &'g Graph, classes: Classes) -> Incremental<'g> {
        let (nodes, states) = (graph.vars.len(), graph.roots.len());
        let place =
            |r: u32| if r & TERMINAL != 0 { nodes + ((r & !TERMINAL) >> 1) as usize } else { r as usize };
        let children =
            (0..nodes).flat_map(|i| [(place(graph.lo[i]), i as u32), (place(graph.hi[i]), i as u32)]);
        let (parent_start, parent_list) = adjacency(nodes + states, children);
        let roots = (0..states).map(|s| (place(graph.roots[s]), s as u32));
        let (rooted_start, rooted_list) = adjacency(nodes + states, roots);
        let mut members = vec![Vec::new(); classes.len as usize];
        let mut place = Vec::with_capacity(states);
        for (s, &c) in classes.of.iter().enumerate() {
            place.push(members[c as usize].len() as u32);
            members[c as usize].push(s as u32);
        }
        let mut table = Table::new(nodes);
        let mut ids = vec![0; nodes];
        for i in 0..nodes {
            ids[i] = graph.sign(i, &ids, &classes.of, &mut table);
        }
        Incremental {
            graph,
            classes,
            members,
            place,
            table,
            ids,
            parent_start,
            parent_list,
            rooted_start,
            rooted_list,
        }
    }

    fn run(mut self, dd: &Dd) -> Result<Classes, BuildError> {
        // Any class may have to split on the names given last.
        let mut touched: Vec<u32> = (0..self.graph.roots.len() as u32).collect();
        let mut rounds = 0usize;
        loop {
            rounds += 1;
            if rounds.is_multiple_of(64) {
                dd.check_time()?;
            }
            let renamed = self.split(touched);
            if renamed.is_empty() {
                return Ok(Classes::group(self.classes.of.iter().copied()));
            }
            touched = self.resign(&renamed);
        }
    }

    fn signature(&self, state: u32) -> u32 {
        resolve(&self.ids, &self.classes.of, self.graph.roots[state as usize])
    }

    /// Splits the classes of the touched states, the only ones whose signatures may have changed; returns the states
    /// with a new name. In each class the largest part keeps its name, so a state is renamed at most log n times.
    fn split(&mut self, touched: Vec<u32>) -> Vec<u32> {
        let mut signed: Vec<(u32, u32, u32)> =
            touched.into_iter().map(|s| (self.classes.of[s as usize], self.signature(s), s)).collect();
        signed.sort_unstable();
        signed.dedup();
        let mut parts: Vec<Vec<u32>> = Vec::new();
        for class in signed.chunk_by(|a, b| a.0 == b.0) {
            let states = |group: &[(u32, u32, u32)]| group.iter().map(|e| e.2).collect::<Vec<u32>>();
            let mut groups: Vec<Vec<u32>> = class.chunk_by(|a, b| a.1 == b.1).map(states).collect();
            let members = &self.members[class[0].0 as usize];
            // The others still have the signature that the class had in common.
            let others = members.len() - class.len();
            let largest = (0..groups.len()).max_by_key(|&i| (groups[i].len(), groups.len() - i)).unwrap_or(0);
            if groups[largest].len() > others {
                groups.swap_remove(largest);
                if others > 0 {
                    let touched: std::collections::HashSet<u32> = class.iter().map(|e| e.2).collect();
                    groups.push(members.iter().copied().filter(|s| !touched.contains(s)).collect());
                }
            }
            parts.extend(groups);
        }
        // Names change only after all classes were looked at: signatures of one round belong together.
        for part in &parts {
            let name = self.classes.len;
            self.classes.len += 1;
            for (i, &s) in part.iter().enumerate() {
                let class = &mut self.members[self.classes.of[s as usize] as usize];
                let hole = self.place[s as usize] as usize;
                class.swap_remove(hole);
                if let Some(&moved) = class.get(hole) {
                    self.place[moved as usize] = hole as u32;
                }
                self.classes.of[s as usize] = name;
                self.place[s as usize] = i as u32;
            }
            self.members.push(part.clone());
        }
        parts.concat()
    }

    /// Signs anew what lies above the states; returns the states below which something changed.
    fn resign(&mut self, renamed: &[u32]) -> Vec<u32> {
        let nodes = self.graph.vars.len();
        let mut dirty = std::collections::BTreeSet::new();
        let mut touched = Vec::new();
        for &s in renamed {
            self.above(nodes + s as usize, &mut dirty, &mut touched);
        }
        while let Some(i) = dirty.pop_first() {
            let i = i as usize;
            let id = self.graph.sign(i, &self.ids, &self.classes.of, &mut self.table);
            if id != self.ids[i] {
                self.ids[i] = id;
                self.above(i, &mut dirty, &mut touched);
            }
        }
        touched
    }

    fn above(&self, place: usize, dirty: &mut std::collections::BTreeSet<u32>, touched: &mut Vec<u32>) {
        let range = |start: &[u32]| start[place] as usize..start[place + 1] as usize;
        dirty.extend(&self.parent_list[range(&self.parent_start)]);
        touched.extend(&self.rooted_list[range(&self.rooted_start)]);
    }
}

/// Lists by key in one array: those of `k` are at `start[k] .. start[k + 1]`.
fn adjacency(keys: usize, pairs: impl Iterator<Item = (usize, u32)> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0u32; keys + 1];
    for (k, _) in pairs.clone() {
        start[k + 1] += 1;
    }
    for k in 0..keys {
        start[k + 1] += start[k];
    }
    let mut fill = start.clone();
    let mut list = vec![0; start[keys] as usize];
    for (k, v) in pairs {
        list[fill[k] as usize] = v;
        fill[k] += 1;
    }
    (start, list)
}

/// Merges states that no continuation can tell apart and drops those that cannot be reached; sinks become the two
/// sinks. The result is the unique smallest automaton on non-empty words.
///
/// # Complexity
/// See [`Graph::refine`]. Idempotent.
pub(crate) fn minimize(dd: &mut Dd, automaton: Mtdfa) -> Result<Mtdfa, BuildError> {
    let graph = Graph::new(dd, &automaton.roots);
    let classes = graph.refine(dd, &vec![0; automaton.roots.len()])?;
    rebuild(dd, &automaton, &graph, &classes)
}

/// The automaton of the classes, reachable ones only.
fn rebuild(dd: &mut Dd, automaton: &Mtdfa, graph: &Graph, classes: &Classes) -> Result<Mtdfa, BuildError> {
    let mut numbers = vec![u32::MAX; classes.len as usize];
    numbers[classes.of[REJECT as usize] as usize] = REJECT;
    numbers[classes.of[ACCEPT as usize] as usize] = ACCEPT;
    let start = classes.of[automaton.initial as usize];
    let mut representative = vec![u32::MAX; classes.len as usize];
    for (s, &c) in classes.of.iter().enumerate() {
        if representative[c as usize] == u32::MAX {
            representative[c as usize] = s as u32;
        }
    }
    let mut order = Vec::new();
    if numbers[start as usize] == u32::MAX {
        numbers[start as usize] = 2;
        order.push(start);
    }
    let mut seen = vec![false; graph.vars.len()];
    let mut next = 0;
    while let Some(&class) = order.get(next) {
        next += 1;
        let mut stack = vec![graph.roots[representative[class as usize] as usize]];
        while let Some(r) = stack.pop() {
            if r & TERMINAL != 0 {
                let target = classes.of[((r & !TERMINAL) >> 1) as usize];
                if numbers[target as usize] == u32::MAX {
                    numbers[target as usize] = order.len() as u32 + 2;
                    order.push(target);
                }
            } else if !std::mem::replace(&mut seen[r as usize], true) {
                stack.push(graph.hi[r as usize]);
                stack.push(graph.lo[r as usize]);
            }
        }
    }
    let initial = numbers[start as usize];
    if order.len() + 2 == automaton.roots.len()
        && order.iter().enumerate().all(|(i, &c)| representative[c as usize] == i as u32 + 2)
    {
        return Ok(Mtdfa { roots: automaton.roots.clone(), initial });
    }
    let mut refs = vec![0; graph.vars.len()];
    let resolve = |refs: &[Ref], r: u32| {
        if r & TERMINAL != 0 {
            terminal(numbers[classes.of[((r & !TERMINAL) >> 1) as usize] as usize] << 1 | r & 1)
        } else {
            refs[r as usize]
        }
    };
    for i in 0..refs.len() {
        if seen[i] {
            refs[i] = dd.mk(graph.vars[i], resolve(&refs, graph.lo[i]), resolve(&refs, graph.hi[i]))?;
        }
    }
    let mut roots = sinks();
    roots.extend(order.iter().map(|&c| resolve(&refs, graph.roots[representative[c as usize] as usize])));
    Ok(Mtdfa { roots, initial })
}

/// Automata on their way into one product.
pub(crate) struct Joint {
    conjunction: bool,
    parts: Vec<Part>,
}

struct Part {
    automaton: Mtdfa,
    /// The propositions it may test, sorted.
    support: Vec<u32>,
}

impl Part {
    fn new(dd: &mut Dd, automaton: Mtdfa) -> Part {
        let mut support: Vec<u32> = dd.below(&automaton.roots).into_iter().map(|r| dd.node(r).var).collect();
        support.sort_unstable();
        support.dedup();
        Part { automaton, support }
    }

    /// What became of two parts.
    fn merged(automaton: Mtdfa, a: &Part, b: &Part) -> Part {
        let mut support = [a.support.as_slice(), b.support.as_slice()].concat();
        support.sort_unstable();
        support.dedup();
        Part { automaton, support }
    }

    fn shares(&self, other: &Part) -> bool {
        let (mut a, mut b) = (self.support.iter().peekable(), other.support.iter().peekable());
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => a.next(),
                std::cmp::Ordering::Greater => b.next(),
                std::cmp::Ordering::Equal => return true,
            };
        }
        false
    }

    fn size(&self) -> usize {
        self.automaton.roots.len()
    }
}

impl Joint {
    pub(crate) fn new(conjunction: bool) -> Joint {
        Joint { conjunction, parts: Vec::new() }
    }

    pub(crate) fn add(&mut self, dd: &mut Dd, automaton: Mtdfa) {
        let part = Part::new(dd, automaton);
        self.parts.push(part);
    }

    /// Combines all parts: what has one state restricts the others first; then the smallest part meets the smallest
    /// one that shares a proposition with it; parts that share nothing meet last.
    pub(crate) fn finish(mut self, dd: &mut Dd, cap: usize) -> Result<Mtdfa, BuildError> {
        self.restrict(dd, cap)?;
        let mut apart = Vec::new();
        while !self.parts.is_empty() {
            self.parts.sort_by_key(|p| std::cmp::Reverse(p.size()));
            let Some(a) = self.parts.pop() else { break };
            match self.parts.iter().rposition(|b| a.shares(b)) {
                Some(at) => {
                    let b = self.parts.remove(at);
                    let both = self.meet(dd, &a, &b, cap)?;
                    if both.as_constant() == Some(!self.conjunction) {
                        return Ok(both);
                    }
                    self.parts.push(Part::merged(both, &a, &b));
                }
                None => apart.push(a),
            }
        }
        apart.sort_by_key(|p| std::cmp::Reverse(p.size()));
        while apart.len() > 1 {
            if let (Some(a), Some(b)) = (apart.pop(), apart.pop()) {
                let both = product(dd, self.conjunction, &a.automaton, &b.automaton, cap)?;
                let free = a.always_can(dd, self.conjunction) && b.always_can(dd, self.conjunction);
                let both = if free { both } else { minimize(dd, both)? };
                let part = Part::merged(both, &a, &b);
                let at = apart.partition_point(|p| p.size() > part.size());
                apart.insert(at, part);
            }
        }
        Ok(apart.pop().map_or_else(|| Mtdfa::constant(self.conjunction), |p| p.automaton))
    }

    fn meet(&self, dd: &mut Dd, a: &Part, b: &Part, cap: usize) -> Result<Mtdfa, BuildError> {
        let both = product(dd, self.conjunction, &a.automaton, &b.automaton, cap)?;
        minimize(dd, both)
    }

    /// A part with one state meets every part that shares a proposition with it, first of all. `G` of something
    /// propositional rules letters out and costs no states; `F` of it at most doubles them and, as measured on long
    /// conjunctions, shows contradictions early (a family of 64 constraints: a tenth of the time).
    fn restrict(&mut self, dd: &mut Dd, cap: usize) -> Result<(), BuildError> {
        let Some(at) = self.parts.iter().position(|p| p.size() == 3 && p.automaton.initial == 2) else {
            return Ok(());
        };
        let single = self.parts.remove(at);
        let mut used = false;
        for i in 0..self.parts.len() {
            if self.parts[i].shares(&single) {
                used = true;
                let both = self.meet(dd, &single, &self.parts[i], cap)?;
                self.parts[i] = Part::merged(both, &single, &self.parts[i]);
            }
        }
        if !used {
            self.parts.push(single);
        }
        Ok(())
    }
}

impl Part {
    /// Whether every state can go on forever without being decided by its own doing: has an edge, not to the absorbing
    /// sink, that accepts (in a conjunction; that rejects, in a disjunction). Two minimal automata with that property
    /// that share no proposition have a minimal product: any word that tells two states of one apart can be completed
    /// by a word of the same length that leaves the outcome to it.
    fn always_can(&self, dd: &mut Dd, conjunction: bool) -> bool {
        let absorbing = if conjunction { REJECT } else { ACCEPT };
        let wanted = u32::from(conjunction);
        let graph = Graph::new(dd, &self.automaton.roots);
        let mut can = Vec::with_capacity(graph.vars.len());
        let holds = |can: &[bool], r: u32| match r & TERMINAL {
            0 => can[r as usize],
            _ => r & 1 == wanted && (r & !TERMINAL) >> 1 != absorbing,
        };
        for i in 0..graph.vars.len() {
            can.push(holds(&can, graph.lo[i]) || holds(&can, graph.hi[i]));
        }
        graph.roots.iter().skip(2).all(|&r| holds(&can, r))
    }
}
