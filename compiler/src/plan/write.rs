//! A plan to the bytes of a rule set. The layout is that of the readers in `tracelaw_runtime`; docs/format.md has it.

use std::collections::{HashMap, VecDeque};

use tracelaw_runtime::{
    Automaton, Letter,
    layout::{
        CLASSIFIER, DIAGRAM, DIAGRAMS, DIRECT, GATHER, GROUP, HEAD, LANE_WORDS, LANES, NEVER, OPEN_LANES,
        OPEN_OUTPUTS, QUAD, RULE, SHARED, TABLE, WIDE_TABLE,
    },
};

use super::{
    Classifier, ClassifierPlan, Cluster, GroupKind, GroupPlan, Members, PlanOptions, Planned, Product, Rule,
    View, breaks, cost,
};
use crate::{
    dd::{hasher, value},
    error::BuildError,
};

/// A group to be written.
pub(super) struct Group {
    /// Index of the cluster; none for a rule on its diagrams.
    pub(super) cluster: Option<usize>,
    pub(super) members: Members,
}

/// Tables behind the records. Equal ones are written once if they are short.
struct Blobs {
    base: usize,
    bytes: Vec<u8>,
    places: HashMap<Vec<u8>, u32, ahash::RandomState>,
}

impl Blobs {
    fn put(&mut self, blob: Vec<u8>) -> u32 {
        let shared = blob.len() <= SHARED;
        if let Some(&place) = self.places.get(&blob).filter(|_| shared) {
            return place;
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let place = (self.base + self.bytes.len()) as u32;
        self.bytes.extend_from_slice(&blob);
        if shared {
            self.places.insert(blob, place);
        }
        place
    }

    fn words(&mut self, words: impl IntoIterator<Item = u32>) -> u32 {
        self.put(words.into_iter().flat_map(u32::to_le_bytes).collect())
    }
}

pub(super) fn write<W: AsRef<[u32]>>(
    automata: &[&Automaton<W>],
    rules: &[Rule],
    clusters: &[Cluster],
    groups: &[Group],
    options: &PlanOptions,
) -> Result<Planned, BuildError> {
    // Even a set of rules on diagrams has a classifier, of one class.
    let classifier_len = clusters.len().max(1);
    let base = (HEAD + rules.len() * RULE + classifier_len * CLASSIFIER + groups.len() * GROUP) * 4;
    let mut blobs = Blobs { base, bytes: Vec::new(), places: HashMap::with_hasher(hasher()) };
    let mut rule_records = vec![[0u32; RULE]; rules.len()];
    let mut group_records = Vec::with_capacity(groups.len());
    let mut described = Vec::with_capacity(groups.len());
    let mut state_len = 0u32;
    for (index, group) in groups.iter().enumerate() {
        for (slot, &rule) in group.members.rules().iter().enumerate() {
            let [pending, holding, satisfied] = automata[rule].bounds();
            let states = automata[rule].state_len();
            let distances = blobs.words(distances(automata[rule], &rules[rule]));
            rule_records[rule] =
                [index as u32, slot as u32, states, pending, holding, satisfied, distances, 0];
        }
        let before = blobs.bytes.len();
        let slots = blobs.words(group.members.rules().iter().map(|&r| r as u32));
        let mut record = Record {
            at: state_len,
            slots,
            slot_len: group.members.rules().len() as u32,
            ..Record::default()
        };
        let mut plan = GroupPlan {
            kind: GroupKind::Single,
            rules: group.members.rules().iter().map(|&r| r as u32).collect(),
            states: 0,
            classes: 0,
            classifier: group.cluster.unwrap_or(0),
            bytes: 0,
            cost: 0,
        };
        match (group.cluster, &group.members) {
            (Some(cluster), members) => {
                record.classifier = cluster as u32;
                let view = View { rules, cluster: &clusters[cluster] };
                plan.classes = view.classes();
                plan.cost = cost::of(&view, members);
                match members {
                    Members::Single(rule) => {
                        plan.states = rules[*rule].states;
                        table(&mut record, &mut blobs, &view, &single(&view, *rule));
                    }
                    Members::Product(product) => {
                        plan.kind = GroupKind::Product;
                        plan.states = product.states;
                        table(&mut record, &mut blobs, &view, product);
                    }
                    Members::Lanes { rules: members, bits } => {
                        plan.kind = GroupKind::Lanes;
                        plan.states = 1 << bits;
                        lanes(&mut record, &mut blobs, &view, members, *bits);
                    }
                    // They have no classes, and so no cluster.
                    Members::Open { .. } => {}
                }
            }
            (None, Members::Open { rules: members, bits, inputs }) => {
                plan.kind = GroupKind::OpenLanes;
                plan.states = 1 << bits;
                plan.cost = cost::open_members(rules, &group.members);
                let own: Vec<_> = members.iter().map(|&r| (automata[r], &rules[r])).collect();
                open(&mut record, &mut blobs, &own, (*bits, *inputs), options.prop_len);
            }
            (None, members) => {
                plan.kind = GroupKind::Diagrams;
                for &rule in members.rules() {
                    plan.states = rules[rule].states;
                    plan.cost = cost::diagrams(rules[rule].props.len());
                    diagrams(&mut record, &mut blobs, automata[rule]);
                }
            }
        }
        plan.bytes = blobs.bytes.len() - before;
        state_len += record.state_bytes();
        group_records.push(record.words());
        described.push(plan);
    }
    let (mut classifier_records, mut classifiers) = (Vec::new(), Vec::new());
    for cluster in clusters {
        let before = blobs.bytes.len();
        classifier_records.push(classifier(&mut blobs, cluster));
        classifiers.push(ClassifierPlan {
            kind: cluster.classifier.kind(),
            classes: cluster.classes.len(),
            bytes: blobs.bytes.len() - before,
            cost: cost::classifier(&cluster.classifier),
        });
    }
    if clusters.is_empty() {
        classifier_records.push([DIAGRAM, 1, 1 << 31, 0, 0, 0, 0, 0]);
    }
    let counts = [options.prop_len, rules.len(), classifier_len, groups.len(), state_len as usize, 0, 0, 0];
    let mut section: Vec<u8> = counts.iter().flat_map(|&n| (n as u32).to_le_bytes()).collect();
    section.extend(rule_records.iter().flatten().flat_map(|w| w.to_le_bytes()));
    section.extend(classifier_records.iter().flatten().flat_map(|w| w.to_le_bytes()));
    section.extend(group_records.iter().flatten().flat_map(|w| w.to_le_bytes()));
    section.extend(blobs.bytes);
    if u32::try_from(section.len()).is_err() {
        return Err(BuildError::too_large(section.len()));
    }
    Ok(Planned { section, classifiers, groups: described })
}

/// A group's record under construction; see the runtime's reader.
#[derive(Default)]
struct Record {
    kind: u32,
    classifier: u32,
    at: u32,
    states: u32,
    shape: u32,
    slots: u32,
    slot_len: u32,
    table: u32,
    table_len: u32,
    marks: u32,
    parts: u32,
    masks: u32,
    mask_len: u32,
    allowed: u32,
    initial: u32,
    verdicts: u32,
}

impl Record {
    fn words(&self) -> [u32; GROUP] {
        [
            self.kind,
            self.classifier,
            self.at,
            self.states,
            self.shape,
            self.slots,
            self.slot_len,
            self.table,
            self.table_len,
            self.marks,
            self.parts,
            self.masks,
            self.mask_len,
            self.allowed,
            self.initial,
            self.verdicts,
        ]
    }

    fn state_bytes(&self) -> u32 {
        match self.kind {
            LANES => self.states * self.shape * 8,
            // The state words of all words of lanes.
            OPEN_LANES => self.states * 8,
            TABLE => 2,
            _ => 4,
        }
    }
}

/// A single rule as a product of one, in the order of its own states.
fn single(view: &View<'_>, rule: usize) -> Product {
    let states = view.rules[rule].states;
    let slot = view.slot(rule);
    let step = |s: usize| (0..view.classes()).map(move |class| view.step(slot, s as u32, class).0);
    Product {
        rules: vec![rule],
        parts: (0..states as u32).collect(),
        next: (0..states).flat_map(step).collect(),
        states,
    }
}

fn table(record: &mut Record, blobs: &mut Blobs, view: &View<'_>, product: &Product) {
    let (classes, slots) = (view.classes(), product.rules.len());
    let columns = classes.next_power_of_two();
    let places: Vec<usize> = product.rules.iter().map(|&r| view.slot(r)).collect();
    // A state is kept as the index of its row's first entry.
    let (kind, width) = if product.states * columns <= 1 << 16 { (TABLE, 2) } else { (WIDE_TABLE, 4) };
    let row = |state: u32| state as usize * columns;
    let mut next = Vec::with_capacity(product.states * columns * width);
    let mut marks = Vec::with_capacity(product.states * columns);
    let mut masks = vec![0u64];
    let words = classes.div_ceil(64);
    let mut allowed = vec![0u64; product.states * words];
    for (state, own) in product.parts.chunks_exact(slots).enumerate() {
        for column in 0..columns {
            // Columns that pad the row lead back, without a word.
            let target = if column < classes { product.next[state * classes + column] } else { state as u32 };
            next.extend_from_slice(&(row(target) as u32).to_le_bytes()[..width]);
            let (mut mask, mut says) = (0u64, false);
            if column < classes {
                for (i, (&slot, &from)) in places.iter().zip(own).enumerate() {
                    let (to, breach) = view.step(slot, from, column);
                    let verdicts = &view.rules[product.rules[i]].verdicts;
                    mask |= u64::from(breach) << i;
                    says |= breach || verdicts[from as usize] != verdicts[to as usize];
                }
                allowed[state * words + column / 64] |= u64::from(mask == 0) << (column % 64);
            }
            let mark = if says {
                let place = masks.iter().position(|&m| m == mask).unwrap_or_else(|| {
                    masks.push(mask);
                    masks.len() - 1
                });
                place as u8 + 1
            } else {
                0
            };
            marks.push(mark);
        }
    }
    let planes = product.parts.chunks_exact(slots).flat_map(|own| {
        let plane = |bit: u32| {
            let verdict = |(i, &state): (usize, &u32)| {
                (view.rules[product.rules[i]].verdicts[state as usize] as u64 >> bit & 1) << i
            };
            own.iter().enumerate().map(verdict).sum::<u64>()
        };
        [plane(0), plane(1)]
    });
    record.verdicts = blobs.put(planes.flat_map(u64::to_le_bytes).collect());
    record.kind = kind;
    record.states = product.states as u32;
    record.shape = columns.ilog2();
    record.table_len = next.len() as u32;
    record.table = blobs.put(next);
    record.marks = blobs.put(marks);
    if slots > 1 {
        record.parts = blobs.put(product.parts.iter().flat_map(|&s| (s as u16).to_le_bytes()).collect());
    }
    record.mask_len = masks.len() as u32;
    record.masks = blobs.put(masks.iter().flat_map(|m| m.to_le_bytes()).collect());
    record.allowed = blobs.put(allowed.iter().flat_map(|w| w.to_le_bytes()).collect());
    record.initial = if slots == 1 { row(view.rules[product.rules[0]].initial) as u32 } else { 0 };
}

/// Coefficients of the polynomials that take the state bits of 64 rules from one event to the next, word by word and
/// class by class.
fn lanes(record: &mut Record, blobs: &mut Blobs, view: &View<'_>, members: &[usize], bits: usize) {
    let (codes, outputs) = (1usize << bits, bits + 2);
    // One word, or blocks of four.
    let width = if members.len() <= 64 { 1 } else { LANE_WORDS };
    let blocks = members.len().div_ceil(64 * width);
    let mut coefficients = Vec::with_capacity(view.classes() * blocks * outputs * codes * width * 8);
    let mut initial = vec![0u64; blocks * bits * width];
    for class in 0..view.classes() {
        for (block, rules) in members.chunks(64 * width).enumerate() {
            let mut row = vec![0u64; outputs * codes * width];
            for (i, &rule) in rules.iter().enumerate() {
                let (word, lane) = (i / 64, i % 64);
                let states = view.rules[rule].states;
                let verdicts = &view.rules[rule].verdicts;
                let slot = view.slot(rule);
                for output in 0..outputs {
                    let mut values = [false; 8];
                    for (code, value) in values.iter_mut().enumerate().take(states) {
                        let (to, breach) = view.step(slot, code as u32, class);
                        let news = breach || verdicts[code] != verdicts[to as usize];
                        *value = match output {
                            o if o < bits => to >> o & 1 != 0,
                            o if o == bits => news,
                            _ => breach,
                        };
                    }
                    moebius(&mut values, bits);
                    for (code, value) in values.iter().enumerate().take(codes) {
                        row[(output * codes + code) * width + word] |= u64::from(*value) << lane;
                    }
                }
                for bit in 0..bits {
                    let start = u64::from(view.rules[rule].initial >> bit & 1);
                    initial[(block * bits + bit) * width + word] |= start << lane;
                }
            }
            coefficients.extend(row.iter().flat_map(|w| w.to_le_bytes()));
        }
    }
    let unbreakable = |&rule: &usize| view.rules[rule].next.iter().all(|(_, breach)| !breach);
    record.kind = LANES;
    record.marks = u32::from(members.iter().all(unbreakable));
    record.states = bits as u32;
    record.shape = (blocks * width) as u32;
    record.table_len = coefficients.len() as u32;
    record.table = blobs.put(coefficients);
    record.initial = blobs.put(initial.iter().flat_map(|w| w.to_le_bytes()).collect());
    record.verdicts = lane_verdicts(blobs, members.iter().map(|&r| &view.rules[r]));
}

/// For each word of 64 rules: which lanes the propositions are inputs of, four by four, and the terms of the polynomials in state bits
/// and inputs.
fn open<W: AsRef<[u32]>>(
    record: &mut Record,
    blobs: &mut Blobs,
    rules: &[(&Automaton<W>, &Rule)],
    (bits, inputs): (usize, usize),
    prop_len: usize,
) {
    let (outputs, variables) = (1 + bits, bits + inputs);
    let mut table = Vec::new();
    let mut initial = Vec::new();
    for rules in rules.chunks(64) {
        let mut quads: Vec<u32> =
            rules.iter().flat_map(|(_, rule)| &rule.props).map(|prop| prop / 4).collect();
        quads.sort_unstable();
        quads.dedup();
        let mut masks = vec![0u64; quads.len() * QUAD * inputs];
        let mut coefficients = vec![vec![0u64; 1 << variables]; outputs];
        let mut start = vec![0u64; bits];
        for (lane, (automaton, rule)) in rules.iter().enumerate() {
            let polynomials = polynomials(automaton, rule, bits, prop_len);
            let seats = seats(&polynomials, &coefficients, bits, rule.props.len(), inputs);
            for (&seat, &prop) in seats.iter().zip(&rule.props) {
                let quad = quads.partition_point(|&quad| quad < prop / 4);
                for holding in (0..QUAD).filter(|holding| holding >> (prop % 4) & 1 != 0) {
                    masks[(quad * QUAD + holding) * inputs + seat] |= 1 << lane;
                }
            }
            for (bit, word) in start.iter_mut().enumerate() {
                *word |= u64::from(rule.initial >> bit & 1) << lane;
            }
            for (products, coefficients) in polynomials.iter().zip(&mut coefficients) {
                for &product in products {
                    coefficients[seated(product, bits, &seats)] |= 1 << lane;
                }
            }
        }
        let mut terms = Vec::new();
        let mut counts = [0u32; OPEN_OUTPUTS];
        for (coefficients, count) in coefficients.iter().zip(&mut counts) {
            for (product, &coefficient) in coefficients.iter().enumerate().filter(|(_, c)| **c != 0) {
                *count += 1;
                terms.extend((product as u64).to_le_bytes());
                terms.extend(coefficient.to_le_bytes());
            }
        }
        let masks = blobs.put(masks.iter().flat_map(|w| w.to_le_bytes()).collect());
        let terms = blobs.put(terms);
        let head = [bits as u32, inputs as u32, quads.len() as u32, blobs.words(quads), masks, terms];
        table.extend(head.into_iter().chain(counts));
        initial.extend(start);
    }
    record.kind = OPEN_LANES;
    record.states = initial.len() as u32;
    record.shape = rules.len().div_ceil(64) as u32;
    record.table_len = table.len() as u32 * 4;
    record.table = blobs.words(table);
    record.initial = blobs.put(initial.iter().flat_map(|w| w.to_le_bytes()).collect());
    record.verdicts = lane_verdicts(blobs, rules.iter().map(|(_, rule)| *rule));
}

/// For each output of a rule in open lanes ("breach", then the state bits) the products of its polynomial, over the state bits and the rule's own
/// propositions.
fn polynomials<W: AsRef<[u32]>>(
    automaton: &Automaton<W>,
    rule: &Rule,
    bits: usize,
    prop_len: usize,
) -> Vec<Vec<usize>> {
    let variables = bits + rule.props.len();
    let mut values = vec![vec![false; 1 << variables]; 1 + bits];
    let mut letter = vec![0u64; prop_len.div_ceil(64)];
    for holding in 0..1usize << rule.props.len() {
        letter.fill(0);
        for (input, &prop) in rule.props.iter().enumerate() {
            letter[prop as usize / 64] |= (holding as u64 >> input & 1) << (prop % 64);
        }
        let class = automaton.class(Letter(&letter)) as usize;
        for code in 0..rule.states {
            let (to, breach) = rule.next[code * rule.classes + class];
            values[0][holding << bits | code] = breach;
            for bit in 0..bits {
                values[1 + bit][holding << bits | code] = to >> bit & 1 != 0;
            }
        }
    }
    let products = |mut values: Vec<bool>| {
        moebius(&mut values, variables);
        values.iter().enumerate().filter(|(_, is)| **is).map(|(product, _)| product).collect()
    };
    values.into_iter().map(products).collect()
}

/// Which input of the lane each proposition of a rule becomes: so that the rule has most of its products in common with
/// those that are there.
fn seats(
    polynomials: &[Vec<usize>],
    coefficients: &[Vec<u64>],
    bits: usize,
    props: usize,
    inputs: usize,
) -> Vec<usize> {
    let ways = (0..inputs.pow(props as u32)).map(|way| {
        let seat = |i: usize| way / inputs.pow(i as u32) % inputs;
        (0..props).rev().map(seat).collect::<Vec<usize>>()
    });
    let apart = |seats: &Vec<usize>| seats.iter().enumerate().all(|(i, seat)| !seats[..i].contains(seat));
    let fresh = |seats: &Vec<usize>| -> usize {
        let of = |(products, there): (&Vec<usize>, &Vec<u64>)| {
            products.iter().filter(|&&product| there[seated(product, bits, seats)] == 0).count()
        };
        polynomials.iter().zip(coefficients).map(of).sum()
    };
    ways.filter(apart).min_by_key(fresh).unwrap_or_default()
}

/// A product over the state bits and a rule's propositions as one over the state bits and the inputs of its lane.
fn seated(product: usize, bits: usize, seats: &[usize]) -> usize {
    let inputs = seats.iter().enumerate().filter(|(i, _)| product >> (bits + i) & 1 != 0);
    inputs.fold(product & ((1 << bits) - 1), |sum, (_, seat)| sum | 1 << (bits + seat))
}

/// From the values of a Boolean function to the coefficients of its polynomial over GF(2): the Möbius transform.
fn moebius(values: &mut [bool], variables: usize) {
    for bit in 0..variables {
        for code in 0..1usize << variables {
            if code >> bit & 1 != 0 {
                values[code] ^= values[code ^ 1 << bit];
            }
        }
    }
}

/// Per lane the verdicts of its states, two bits each.
fn lane_verdicts<'r>(blobs: &mut Blobs, rules: impl Iterator<Item = &'r Rule>) -> u32 {
    let verdicts = rules.map(|rule| {
        let verdicts = rule.verdicts.iter().enumerate();
        verdicts.fold(0u16, |bits, (code, &verdict)| bits | (verdict as u16) << (2 * code))
    });
    blobs.put(verdicts.flat_map(u16::to_le_bytes).collect())
}

fn diagrams<W: AsRef<[u32]>>(record: &mut Record, blobs: &mut Blobs, automaton: &Automaton<W>) {
    let (nodes, roots) = automaton.diagrams();
    record.kind = DIAGRAMS;
    record.states = automaton.state_len();
    record.table_len = nodes.len() as u32 * 12;
    record.table = blobs.words(nodes.iter().flatten().copied());
    record.marks = blobs.words(roots.iter().copied());
    record.initial = automaton.initial();
}

/// The record of a classifier: kind, classes, root, zero, place and length of the table, of the runs or nodes.
fn classifier(blobs: &mut Blobs, cluster: &Cluster) -> [u32; CLASSIFIER] {
    let classes = cluster.classes.len() as u32;
    let mut table = |table: &[u16]| {
        (blobs.put(table.iter().flat_map(|c| c.to_le_bytes()).collect()), table.len() as u32 * 2)
    };
    match &cluster.classifier {
        Classifier::Direct(direct) => {
            let (at, len) = table(direct);
            [DIRECT, classes, 0, 0, at, len, 0, 0]
        }
        Classifier::Gather { props, table: gathered } => {
            let (at, len) = table(gathered);
            let runs = runs(props);
            let place = blobs.words(runs.iter().flatten().copied());
            [GATHER, classes, 0, 0, at, len, place, runs.len() as u32 * 16]
        }
        Classifier::Diagram { nodes, root, .. } => {
            let place = blobs.words(nodes.iter().flatten().copied());
            [DIAGRAM, classes, *root, 0, 0, 0, place, nodes.len() as u32 * 12]
        }
    }
}

/// Neighbouring propositions as runs of bits: word, shift, width, place in the result.
fn runs(props: &[u32]) -> Vec<[u32; 4]> {
    let mut runs: Vec<[u32; 4]> = Vec::new();
    for (to, &prop) in props.iter().enumerate() {
        let (word, shift) = (prop / 64, prop % 64);
        match runs.last_mut() {
            Some([w, s, width, _]) if *w == word && *s + *width == shift => *width += 1,
            _ => runs.push([word, shift, 1, to as u32]),
        }
    }
    runs
}

/// Per state the least number of events to a state that accepts, over edges that do not break the rule; `u32::MAX`
/// where there is no way.
///
/// # Complexity
/// O(edges).
fn distances<W: AsRef<[u32]>>(automaton: &Automaton<W>, rule: &Rule) -> Vec<u32> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); rule.states];
    if rule.tabular() {
        for (state, row) in rule.next.chunks_exact(rule.classes).enumerate() {
            for &(to, breach) in row {
                if !breach && before[to as usize].last() != Some(&(state as u32)) {
                    before[to as usize].push(state as u32);
                }
            }
        }
    } else {
        let (nodes, roots) = automaton.diagrams();
        let mut seen = vec![u32::MAX; nodes.len()];
        for (state, &root) in roots.iter().enumerate() {
            let state = state as u32;
            let mut stack = vec![root];
            while let Some(r) = stack.pop() {
                if let Some(entry) = value(r) {
                    let to = entry >> 1;
                    if !breaks(&rule.verdicts, state, to, entry & 1 != 0) {
                        before[to as usize].push(state);
                    }
                } else if std::mem::replace(&mut seen[r as usize], state) != state {
                    let [_, lo, hi] = nodes[r as usize];
                    stack.extend([lo, hi]);
                }
            }
        }
    }
    let mut distance = vec![NEVER; rule.states];
    let mut queue = VecDeque::new();
    for (state, verdict) in rule.verdicts.iter().enumerate() {
        if verdict.accepts() {
            distance[state] = 0;
            queue.push_back(state as u32);
        }
    }
    while let Some(state) = queue.pop_front() {
        for &from in &before[state as usize] {
            if distance[from as usize] == NEVER {
                distance[from as usize] = distance[state as usize] + 1;
                queue.push_back(from);
            }
        }
    }
    distance
}
