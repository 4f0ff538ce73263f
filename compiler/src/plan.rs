//! How the rules of a policy are stepped together, chosen by a cost model, and the bytes of a
//! [`tracelaw_runtime::RuleSet`].
//!
//! Rules whose letters have a common classifier of moderate size make a cluster. Within a cluster rules go into products
//! while these stay small, or, where there are many, side by side into the lanes of words. What is too wide for classes
//! stays on its diagrams. Every plan gives the same changes in the same order; only the time differs.

use std::collections::{HashMap, HashSet};

use tracelaw_runtime::{
    Automaton, Letter, RuleSet, Verdict,
    layout::{BLOCK, LANE_BITS, MASKS, SLOTS},
};

use crate::{
    config::Limits,
    dd::{self, Cache, Dd, Ref, terminal, value},
    emit::Split,
    error::BuildError,
    machine,
};

mod cost;
mod write;

/// Which ways of stepping are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Strategy {
    /// All, the cheapest by the cost model.
    #[default]
    Cheapest,
    /// Every rule on its own.
    Singles,
    /// Products where they stay small, else rules on their own.
    Products,
    /// Lanes for every rule of at most eight states, else rules on their own.
    Lanes,
    /// Lanes by the propositions of each rule, for every rule of few states and propositions.
    OpenLanes,
}

/// What is known of the letters, and how to plan.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// Number of propositions of the vocabulary.
    pub prop_len: usize,
    /// Sets of propositions of which at most one is true at any event.
    pub exclusive: Vec<Vec<u32>>,
    /// Exactly one proposition is true at every event.
    pub one_of_all: bool,
    /// Which ways of stepping are considered.
    pub strategy: Strategy,
}

/// A planned set of rules.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What [`RuleSet::from_section`] takes.
    pub section: Vec<u8>,
    /// How letters become classes; none if no group needs them.
    pub classifiers: Vec<ClassifierPlan>,
    /// The groups, in the order in which they are stepped.
    pub groups: Vec<GroupPlan>,
}

/// One classifier of a plan, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassifierPlan {
    /// How it finds the class of a letter.
    pub kind: ClassifierKind,
    /// Letter classes.
    pub classes: usize,
    /// Bytes of its tables.
    pub bytes: usize,
    /// What the cost model expects of a classification, in tenths of a nanosecond.
    pub cost: usize,
}

/// How the class of a letter is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassifierKind {
    /// By the one proposition that is true.
    Direct,
    /// By the bits of a few propositions together.
    Gather,
    /// By a decision diagram.
    Diagram,
}

impl ClassifierKind {
    /// The word used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            ClassifierKind::Direct => "direct",
            ClassifierKind::Gather => "gather",
            ClassifierKind::Diagram => "diagram",
        }
    }
}

/// One group of a plan, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlan {
    /// How its rules are stepped.
    pub kind: GroupKind,
    /// The rules, in order.
    pub rules: Vec<u32>,
    /// States of the table; of lanes, the most that one holds.
    pub states: usize,
    /// Letter classes.
    pub classes: usize,
    /// Index of the classifier; groups of one classifier find the class of a letter once.
    pub classifier: usize,
    /// Bytes of the tables.
    pub bytes: usize,
    /// What the cost model expects of a step, in tenths of a nanosecond, once the class is found.
    pub cost: usize,
}

/// How a group is stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupKind {
    /// One automaton as a table.
    Single,
    /// The product of several as one table.
    Product,
    /// Side by side, one state bit of 64 rules in each word.
    Lanes,
    /// Likewise, each rule by its own propositions instead of by a class of letters.
    OpenLanes,
    /// One automaton on its diagrams.
    Diagrams,
}

impl GroupKind {
    /// The word used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            GroupKind::Single => "single",
            GroupKind::Product => "product",
            GroupKind::Lanes => "lanes",
            GroupKind::OpenLanes => "open lanes",
            GroupKind::Diagrams => "diagrams",
        }
    }
}

/// Letter classes of one cluster at most, where they do not come one per proposition.
const MAX_CLASSES: usize = 256;
/// Diagram nodes of a cluster beyond a few times those of its first rule.
const MAX_NODES: usize = 1 << 14;
/// Clusters tried for a rule: those that share most propositions with it.
const TRIED: usize = 4;
/// Propositions of a cluster whose letters are classified by gathering their bits.
const MAX_GATHERED: usize = 10;
/// Entries of a product's table at most: it stays in the first-level cache.
const MAX_ENTRIES: usize = 1 << 13;
/// The most states of a rule in lanes.
const LANE_STATES: usize = 1 << LANE_BITS;

/// Plans how `automata` (the rules, over one vocabulary) are stepped together.
///
/// # Complexity
/// About linear in the rules and their tables; each product is bounded by a table that fits the first-level cache.
///
/// # Errors
/// When a classifier outgrows the limits of diagrams.
pub fn plan<W: AsRef<[u32]>>(
    automata: &[&Automaton<W>],
    options: &PlanOptions,
) -> Result<Planned, BuildError> {
    let rules: Vec<Rule> = automata.iter().map(|a| Rule::new(a)).collect();
    let mut groups = Vec::new();
    let mut clusters = Vec::new();
    for (block, rules_of_block) in rules.chunks(BLOCK).enumerate() {
        let first = block * BLOCK;
        let (tables, wide): (Vec<usize>, Vec<usize>) =
            (first..first + rules_of_block.len()).partition(|&r| rules[r].tabular());
        let planned = block_of(automata, &rules, tables, options)?;
        for (cluster, members) in planned.clusters {
            groups.extend(
                members.into_iter().map(|m| write::Group { cluster: Some(clusters.len()), members: m }),
            );
            clusters.push(cluster);
        }
        let rest = planned.open.into_iter().chain(wide.into_iter().map(Members::Single));
        groups.extend(rest.map(|members| write::Group { cluster: None, members }));
    }
    let planned = write::write(automata, &rules, &clusters, &groups, options)?;
    RuleSet::from_section(&planned.section, 0).map_err(BuildError::internal)?;
    Ok(planned)
}

/// The rules of one block.
struct Block {
    clusters: Vec<(Cluster, Vec<Members>)>,
    /// Lanes that need no classes.
    open: Vec<Members>,
}

impl Block {
    fn cost(&self, rules: &[Rule]) -> usize {
        let clusters = self.clusters.iter().map(|(cluster, members)| {
            cost::classifier(&cluster.classifier) + cost::of_all(&View { rules, cluster }, members)
        });
        let groups = self.clusters.iter().flat_map(|(_, members)| members).chain(&self.open);
        cost::together(self.clusters.len(), groups)
            + clusters.sum::<usize>()
            + self.open.iter().map(|members| cost::open_members(rules, members)).sum::<usize>()
    }
}

/// Plans the rules of a block that have tables: by classes of letters, or where those are too many, by the propositions
/// of each.
fn block_of<W: AsRef<[u32]>>(
    automata: &[&Automaton<W>],
    rules: &[Rule],
    tables: Vec<usize>,
    options: &PlanOptions,
) -> Result<Block, BuildError> {
    let by_classes = |members: Vec<usize>, open: Vec<Members>| {
        let mut block = Block { clusters: Vec::new(), open };
        for cluster in cluster(automata, rules, members, options)? {
            let members = group(&View { rules, cluster: &cluster }, options.strategy);
            block.clusters.push((cluster, members));
        }
        Ok(block)
    };
    let (narrow, rest): (Vec<usize>, Vec<usize>) = tables.iter().partition(|&&r| cost::fits_open(&rules[r]));
    let open = || cost::open(rules, &narrow);
    match options.strategy {
        Strategy::OpenLanes => by_classes(rest, open()),
        Strategy::Cheapest if !one_at_most(options) => {
            let (classes, open) = (by_classes(tables, Vec::new())?, by_classes(rest, open())?);
            Ok(if open.cost(rules) < classes.cost(rules) { open } else { classes })
        }
        _ => by_classes(tables, Vec::new()),
    }
}

/// Whether a letter is told by the one proposition in it.
fn one_at_most(options: &PlanOptions) -> bool {
    let all = |set: &Vec<u32>| (0..options.prop_len as u32).all(|p| set.contains(&p));
    options.one_of_all || options.prop_len > 0 && options.exclusive.iter().any(all)
}

/// What planning needs of a rule.
struct Rule {
    /// Propositions it tests, sorted.
    props: Vec<u32>,
    states: usize,
    classes: usize,
    initial: u32,
    verdicts: Vec<Verdict>,
    /// Row by row the successor and whether the edge breaks the rule.
    next: Vec<(u32, bool)>,
}

impl Rule {
    fn new<W: AsRef<[u32]>>(automaton: &Automaton<W>) -> Rule {
        let (nodes, _) = automaton.diagrams();
        let mut props: Vec<u32> = nodes.iter().map(|[prop, ..]| *prop).collect();
        props.sort_unstable();
        props.dedup();
        let (states, classes) = (automaton.state_len(), automaton.class_len());
        let verdicts: Vec<Verdict> = (0..states).map(|s| automaton.verdict(s)).collect();
        let mut next = Vec::with_capacity((states * classes) as usize);
        for state in 0..states {
            next.extend((0..classes).map(|class| {
                let step = automaton.step_class(state, class);
                (step.state, breaks(&verdicts, state, step.state, step.breach))
            }));
        }
        let (states, classes) = (states as usize, classes as usize);
        Rule { props, states, classes, initial: automaton.initial(), verdicts, next }
    }

    /// Whether it has a table over classes.
    fn tabular(&self) -> bool {
        self.classes > 0
    }
}

/// An edge breaks the rule if it says so, or if it is the one that makes it violated for good.
fn breaks(verdicts: &[Verdict], from: u32, to: u32, breach: bool) -> bool {
    let violated = |s: u32| verdicts[s as usize] == Verdict::Violated;
    breach || violated(to) && !violated(from)
}

/// Rules with a common classifier.
struct Cluster {
    rules: Vec<usize>,
    classifier: Classifier,
    /// For each class, the class of each rule of the cluster; `None` for letters that are ruled out, at which nothing
    /// moves.
    classes: Vec<Option<Vec<u32>>>,
}

/// How a cluster's letters are told apart.
enum Classifier {
    /// By the one proposition that is true; for each of them, for "none" and for "several" the class.
    Direct(Vec<u16>),
    /// By the bits of these propositions together, least first.
    Gather { props: Vec<u32>, table: Vec<u16> },
    /// By a diagram whose terminals are classes: nodes, children first, and the root.
    Diagram { nodes: Vec<[u32; 3]>, root: u32, props: usize },
}

impl Classifier {
    const fn kind(&self) -> ClassifierKind {
        match self {
            Classifier::Direct(_) => ClassifierKind::Direct,
            Classifier::Gather { .. } => ClassifierKind::Gather,
            Classifier::Diagram { .. } => ClassifierKind::Diagram,
        }
    }
}

fn cluster<W: AsRef<[u32]>>(
    automata: &[&Automaton<W>],
    rules: &[Rule],
    members: Vec<usize>,
    options: &PlanOptions,
) -> Result<Vec<Cluster>, BuildError> {
    if members.is_empty() {
        return Ok(Vec::new());
    }
    if one_at_most(options) {
        return Ok(vec![direct(automata, members, options)]);
    }
    let mut clusters: Vec<Joint> = Vec::new();
    for rule in members {
        let mut likely: Vec<(usize, usize)> = clusters
            .iter()
            .enumerate()
            .map(|(i, c)| (rules[rule].props.iter().filter(|p| c.props.binary_search(p).is_ok()).count(), i))
            .collect();
        likely.sort_by_key(|&(shared, i)| (std::cmp::Reverse(shared), i));
        let mut placed = false;
        // Rules without a common proposition multiply their classes.
        let few = |shared: usize, i: usize| {
            shared > 0 || clusters[i].classes.len() * rules[rule].classes <= MAX_CLASSES
        };
        let likely: Vec<usize> =
            likely.into_iter().filter(|&(shared, i)| few(shared, i)).map(|(_, i)| i).collect();
        for i in likely.into_iter().take(TRIED) {
            if clusters[i].add(automata[rule], &rules[rule], rule)? {
                placed = true;
                break;
            }
        }
        if !placed {
            let mut fresh = Joint::new(automata[rule].diagrams().0.len());
            fresh.add(automata[rule], &rules[rule], rule)?;
            clusters.push(fresh);
        }
    }
    clusters.into_iter().map(|joint| joint.finish(options)).collect()
}

/// One proposition at most is true at an event: its place gives the class.
fn direct<W: AsRef<[u32]>>(
    automata: &[&Automaton<W>],
    members: Vec<usize>,
    options: &PlanOptions,
) -> Cluster {
    let mut classes: Vec<Option<Vec<u32>>> = Vec::new();
    let mut numbers: HashMap<Option<Vec<u32>>, u16, ahash::RandomState> = HashMap::with_hasher(dd::hasher());
    let mut class = |of: Option<Vec<u32>>| {
        *numbers.entry(of).or_insert_with_key(|of| {
            classes.push(of.clone());
            (classes.len() - 1) as u16
        })
    };
    let mut letter = vec![0u64; options.prop_len.div_ceil(64)];
    let mut table = Vec::with_capacity(options.prop_len + 2);
    for prop in 0..options.prop_len {
        letter[prop / 64] = 1 << (prop % 64);
        table.push(class(Some(members.iter().map(|&r| automata[r].class(Letter(&letter))).collect())));
        letter[prop / 64] = 0;
    }
    let none = members.iter().map(|&r| automata[r].class(Letter(&letter))).collect();
    table.push(class((!options.one_of_all).then_some(none)));
    table.push(class(None));
    Cluster { rules: members, classifier: Classifier::Direct(table), classes }
}

/// A cluster while it grows.
struct Joint {
    dd: Dd,
    root: Ref,
    rules: Vec<usize>,
    props: Vec<u32>,
    classes: Vec<Vec<u32>>,
}

/// Diagrams test the proposition that weighs most first, as those of the automata do.
const fn variable(prop: u32) -> u32 {
    u32::MAX - 1 - prop
}

impl Joint {
    /// A cluster whose first rule has so many diagram nodes. Those of all its rules together may be a few times as many:
    /// a classifier that outgrows that is slower than two.
    fn new(nodes: usize) -> Joint {
        let dd = Dd::new(Limits { max_nodes: nodes * 4 + MAX_NODES, ..Limits::default() }, None);
        Joint { dd, root: terminal(0), rules: Vec::new(), props: Vec::new(), classes: vec![Vec::new()] }
    }

    /// Adds a rule unless there would be too many classes; the first is always added.
    fn add<W: AsRef<[u32]>>(
        &mut self,
        automaton: &Automaton<W>,
        rule: &Rule,
        index: usize,
    ) -> Result<bool, BuildError> {
        match self.joined(automaton) {
            Ok((root, pairs)) if pairs.len() <= MAX_CLASSES || self.rules.is_empty() => {
                self.accept(rule, index, root, &pairs);
                Ok(true)
            }
            // Too large together: the rule finds another cluster.
            Ok(_) => Ok(false),
            Err(_) if !self.rules.is_empty() => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// The classifier with one rule more, and for each of its classes that of the cluster and that of the rule.
    fn joined<W: AsRef<[u32]>>(
        &mut self,
        automaton: &Automaton<W>,
    ) -> Result<(Ref, Vec<(u32, u32)>), BuildError> {
        let (nodes, roots) = automaton.diagrams();
        let mut made: Vec<Ref> = Vec::with_capacity(nodes.len());
        let reference = |made: &[Ref], r: u32| if value(r).is_some() { r } else { made[r as usize] };
        for &[prop, lo, hi] in nodes {
            let (lo, hi) = (reference(&made, lo), reference(&made, hi));
            made.push(self.dd.mk(variable(prop), lo, hi)?);
        }
        let own = roots.first().map_or(terminal(0), |&r| reference(&made, r));
        let mut split = Split::new();
        let root = self.dd.apply(&mut split, &mut Cache::new(), self.root, own)?;
        Ok((root, split.pairs()))
    }

    fn accept(&mut self, rule: &Rule, index: usize, root: Ref, pairs: &[(u32, u32)]) {
        self.root = root;
        self.classes = pairs
            .iter()
            .map(|&(joint, own)| {
                let mut classes = self.classes[joint as usize].clone();
                classes.push(own);
                classes
            })
            .collect();
        self.rules.push(index);
        self.props.extend(&rule.props);
        self.props.sort_unstable();
        self.props.dedup();
    }

    /// Leaves out the letters that cannot occur and chooses the way to find a letter's class.
    fn finish(mut self, options: &PlanOptions) -> Result<Cluster, BuildError> {
        // What was given up on the way took its share.
        self.dd.set_limits(Limits::default());
        let flipped = |set: &[u32]| -> Vec<u32> {
            let mut set: Vec<u32> = set.iter().map(|&p| variable(p)).collect();
            set.sort_unstable();
            set
        };
        let exclusive: Vec<Vec<u32>> = options.exclusive.iter().map(|set| flipped(set)).collect();
        let possible = machine::possible_letters(&mut self.dd, &flipped(&self.props), &exclusive, None)?;
        let nowhere = self.classes.len() as u32;
        let root =
            self.dd.apply(&mut machine::Restrict { nowhere }, &mut Cache::new(), self.root, possible)?;
        // Numbered by their least letters, so that they do not depend on how the cluster came about.
        let mut found = Vec::new();
        self.dd.leaves(&mut dd::Visited::default(), root, &mut found);
        let mut number = vec![0; self.classes.len() + 1];
        let mut classes = Vec::with_capacity(found.len());
        for (i, &class) in found.iter().enumerate() {
            number[class as usize] = i as u32;
            classes.push(self.classes.get(class as usize).cloned());
        }
        let root = self.dd.map(&mut dd::memo(), root, &mut |class| Ok(number[class as usize]))?;
        let classifier = if self.props.len() <= MAX_GATHERED {
            let table = (0..1usize << self.props.len()).map(|place| {
                let is_true = |prop: u32| self.props.binary_search(&prop).is_ok_and(|i| place >> i & 1 != 0);
                let mut r = root;
                loop {
                    match value(r) {
                        Some(class) => break class as u16,
                        None => {
                            let node = self.dd.node(r);
                            r = if is_true(variable(node.var)) { node.hi } else { node.lo };
                        }
                    }
                }
            });
            Classifier::Gather { table: table.collect(), props: self.props.clone() }
        } else {
            let below = self.dd.below(&[root]);
            let mut nodes = Vec::with_capacity(below.len());
            let mut reference = root;
            self.dd.number(&below, |dd, local| {
                let place = |r: Ref| if value(r).is_some() { r } else { local(r) };
                for &r in &below {
                    let node = dd.node(r);
                    nodes.push([variable(node.var), place(node.lo), place(node.hi)]);
                }
                reference = place(root);
            });
            Classifier::Diagram { nodes, root: reference, props: self.props.len() }
        };
        Ok(Cluster { rules: self.rules, classifier, classes })
    }
}

/// Rules of a group.
pub(crate) enum Members {
    Single(usize),
    Product(Product),
    Lanes {
        rules: Vec<usize>,
        bits: usize,
    },
    /// Rules of at most so many state bits and propositions.
    Open {
        rules: Vec<usize>,
        bits: usize,
        inputs: usize,
    },
}

impl Members {
    fn rules(&self) -> &[usize] {
        match self {
            Members::Single(rule) => std::slice::from_ref(rule),
            Members::Product(product) => &product.rules,
            Members::Lanes { rules, .. } | Members::Open { rules, .. } => rules,
        }
    }
}

/// The reachable part of a product.
pub(crate) struct Product {
    rules: Vec<usize>,
    /// The state of each rule, row by row.
    parts: Vec<u32>,
    /// Successors, row by row, one per class of the cluster.
    next: Vec<u32>,
    states: usize,
}

/// A cluster with its rules' tables.
struct View<'a> {
    rules: &'a [Rule],
    cluster: &'a Cluster,
}

impl View<'_> {
    /// The step of the cluster's `slot`-th rule under a class of the cluster.
    fn step(&self, slot: usize, state: u32, class: usize) -> (u32, bool) {
        let rule = &self.rules[self.cluster.rules[slot]];
        match &self.cluster.classes[class] {
            Some(own) => rule.next[state as usize * rule.classes + own[slot] as usize],
            None => (state, false),
        }
    }

    fn slot(&self, rule: usize) -> usize {
        self.cluster.rules.binary_search(&rule).unwrap_or(0)
    }

    fn classes(&self) -> usize {
        self.cluster.classes.len()
    }

    /// The product of `rules` (sorted), unless it has more than `max_states` or edges that break too many different sets
    /// of rules: a mark is one byte.
    fn product(&self, rules: &[usize], max_states: usize) -> Option<Product> {
        let slots: Vec<usize> = rules.iter().map(|&r| self.slot(r)).collect();
        let start: Vec<u32> = rules.iter().map(|&r| self.rules[r].initial).collect();
        let mut numbers: HashMap<Vec<u32>, u32, ahash::RandomState> = HashMap::with_hasher(dd::hasher());
        numbers.insert(start.clone(), 0);
        let mut tuples = vec![start];
        let mut masks = HashSet::new();
        let mut next = Vec::new();
        let mut done = 0;
        while done < tuples.len() {
            for class in 0..self.classes() {
                let steps =
                    slots.iter().zip(&tuples[done]).map(|(&slot, &state)| self.step(slot, state, class));
                let (target, broken): (Vec<u32>, Vec<bool>) = steps.unzip();
                masks.insert(broken);
                let fresh = numbers.len() as u32;
                let number = *numbers.entry(target).or_insert_with_key(|target| {
                    tuples.push(target.clone());
                    fresh
                });
                next.push(number);
            }
            if tuples.len() > max_states || masks.len() > MASKS {
                return None;
            }
            done += 1;
        }
        let states = tuples.len();
        Some(Product { rules: rules.to_vec(), parts: tuples.concat(), next, states })
    }
}

/// Divides the rules of a cluster into groups, in the order of their first rules.
fn group(view: &View<'_>, strategy: Strategy) -> Vec<Members> {
    let rules = &view.cluster.rules;
    let narrow = |&rule: &usize| view.rules[rule].states <= LANE_STATES;
    let (lanes, rest): (Vec<usize>, Vec<usize>) = rules.iter().copied().partition(narrow);
    let singles = |rules: &[usize]| rules.iter().map(|&r| Members::Single(r)).collect::<Vec<_>>();
    let with_rest = |mut groups: Vec<Members>, rest: Vec<Members>| {
        groups.extend(rest);
        groups
    };
    let mut groups = match strategy {
        Strategy::Singles | Strategy::OpenLanes => singles(rules),
        Strategy::Products => products(view, rules),
        Strategy::Lanes => with_rest(cost::lanes(view, &lanes), singles(&rest)),
        Strategy::Cheapest => {
            let in_lanes = with_rest(cost::lanes(view, &lanes), products(view, &rest));
            // Products of many small rules cost more to build than they can save.
            if lanes.len() > cost::ALWAYS_LANES {
                in_lanes
            } else {
                let in_products = products(view, rules);
                let cheaper = cost::of_all(view, &in_products) <= cost::of_all(view, &in_lanes);
                if cheaper { in_products } else { in_lanes }
            }
        }
    };
    groups.sort_by_key(|g| g.rules().first().copied());
    groups
}

/// Rules into products, smallest first, each as large as it may be.
fn products(view: &View<'_>, rules: &[usize]) -> Vec<Members> {
    let max_states = (MAX_ENTRIES / view.classes().next_power_of_two()).min(256);
    let mut order = rules.to_vec();
    order.sort_by_key(|&r| (view.rules[r].states, r));
    let mut groups = Vec::new();
    let mut current: Option<Product> = None;
    let close = |product: Option<Product>, groups: &mut Vec<Members>| match product {
        Some(product) if product.rules.len() == 1 => groups.push(Members::Single(product.rules[0])),
        Some(product) => groups.push(Members::Product(product)),
        None => {}
    };
    for rule in order {
        let mut with = current.as_ref().map_or(Vec::new(), |p| p.rules.clone());
        with.push(rule);
        with.sort_unstable();
        let fits = with.len() <= SLOTS && view.rules[rule].states <= max_states;
        match if fits { view.product(&with, max_states) } else { None } {
            Some(larger) => current = Some(larger),
            None if fits => {
                close(current.take(), &mut groups);
                current = view.product(&[rule], max_states);
                if current.is_none() {
                    groups.push(Members::Single(rule));
                }
            }
            None => groups.push(Members::Single(rule)),
        }
    }
    close(current, &mut groups);
    groups
}
