//! What a step costs, in tenths of a nanosecond on a current core. Only the order of the costs matters.

use tracelaw_runtime::layout::{OPEN_VARIABLES, READY};

use super::{Classifier, LANE_STATES, Members, Rule, View};

/// Lanes are taken unseen for so many rules.
pub(super) const ALWAYS_LANES: usize = 16;
/// A look-up whose address depends on the one before it, and the group's frame.
const LOOK_UP: usize = 60;
/// The frame of a group of lanes.
const LANES: usize = 55;
/// Reading the record of a group of lanes, or of a classifier, that the runtime does not keep ready; tables are stepped
/// without.
const UNREADY: [usize; 2] = [250, 60];
/// Putting in order what the groups say.
const ORDER: usize = 50;
/// One word of lanes by its state bits: loads and operations.
const WORD: [usize; 4] = [0, 8, 20, 60];
/// A table that does not stay in the first-level cache.
const FAR: usize = 30;
/// Entries of a table that stays there, three bytes each.
const NEAR: usize = 16 << 10;

/// What stepping a group costs.
pub(super) fn of(view: &View<'_>, members: &Members) -> usize {
    let entries = |states: usize| states * view.classes().next_power_of_two();
    let table = |states: usize| LOOK_UP + if entries(states) > NEAR { FAR } else { 0 };
    match members {
        Members::Single(rule) => table(view.rules[*rule].states),
        Members::Product(product) => table(product.states),
        Members::Lanes { rules, bits } => LANES + rules.len().div_ceil(64) * WORD[*bits],
        Members::Open { .. } => open_members(view.rules, members),
    }
}

/// What it costs that there are so many classifiers and these groups, on top of each.
pub(super) fn together<'m>(classifiers: usize, groups: impl Iterator<Item = &'m Members>) -> usize {
    let lanes = |members: &Members| matches!(members, Members::Lanes { .. } | Members::Open { .. });
    let (mut count, mut unready) = (0, 0);
    for members in groups {
        unready += usize::from(count >= READY && lanes(members));
        count += 1;
    }
    let order = if count > 1 { ORDER } else { 0 };
    order + unready * UNREADY[0] + classifiers.saturating_sub(READY) * UNREADY[1]
}

pub(super) fn of_all(view: &View<'_>, groups: &[Members]) -> usize {
    groups.iter().map(|members| of(view, members)).sum()
}

/// What finding the class of a letter costs.
pub(super) fn classifier(classifier: &Classifier) -> usize {
    match classifier {
        Classifier::Direct(_) => 15,
        // Every gap between propositions begins a run.
        Classifier::Gather { props, .. } => {
            15 + 8 * props.windows(2).filter(|w| !matches!(w, [a, b] if a + 1 == *b)).count()
        }
        // A path tests a part of the propositions; each test is a jump that is hard to foresee.
        Classifier::Diagram { props, .. } => 30 * props.div_ceil(2),
    }
}

/// Whether a rule fits open lanes.
pub(super) fn fits_open(rule: &Rule) -> bool {
    rule.states <= LANE_STATES && bits(rule.states) + rule.props.len() <= OPEN_VARIABLES
}

/// What stepping open lanes costs: a look per four propositions, the products, and about a quarter of the terms that
/// there could be.
pub(super) fn open_members(rules: &[Rule], members: &Members) -> usize {
    let Members::Open { rules: members, bits, inputs } = members else { return 0 };
    let word = |members: &[usize]| {
        let mut quads: Vec<u32> =
            members.iter().flat_map(|&r| &rules[r].props).map(|prop| prop / 4).collect();
        quads.sort_unstable();
        quads.dedup();
        120 + quads.len() * (8 + 2 * inputs) + ((4 + 2 * bits) << (bits + inputs))
    };
    LANES + members.chunks(64).map(word).sum::<usize>()
}

/// Open lanes for rules that fit: those of one shape together, or all as the largest shape, whichever is cheaper.
pub(super) fn open(rules: &[Rule], members: &[usize]) -> Vec<Members> {
    let shape = |&r: &usize| (bits(rules[r].states), rules[r].props.len());
    let mut by_shape: std::collections::BTreeMap<(usize, usize), Vec<usize>> = Default::default();
    members.iter().for_each(|r| by_shape.entry(shape(r)).or_default().push(*r));
    let most = members.iter().map(shape).fold((0, 0), |(b, i), (bits, inputs)| (b.max(bits), i.max(inputs)));
    let lanes = |(&(bits, inputs), rules): (&(usize, usize), &Vec<usize>)| Members::Open {
        rules: rules.clone(),
        bits,
        inputs,
    };
    let apart: Vec<Members> = by_shape.iter().map(lanes).collect();
    if members.is_empty() || most.0 + most.1 > OPEN_VARIABLES {
        return apart;
    }
    let together = vec![lanes((&most, &members.to_vec()))];
    let cost = |way: &[Members]| way.iter().map(|members| open_members(rules, members)).sum::<usize>();
    if cost(&together) <= cost(&apart) { together } else { apart }
}

/// What one rule on its diagrams costs, on a path that tests half of its propositions.
pub(super) fn diagrams(props: usize) -> usize {
    LOOK_UP + props * 10
}

/// State bits that a rule needs.
pub(super) fn bits(states: usize) -> usize {
    match states {
        0..=2 => 1,
        3..=4 => 2,
        _ => 3,
    }
}

/// The cheapest way to put rules of at most eight states into lanes: those of few bits apart, or along with the larger.
pub(super) fn lanes(view: &View<'_>, rules: &[usize]) -> Vec<Members> {
    // Whether rules of one and of two bits join those of the next size.
    let ways = [(false, false), (true, false), (false, true), (true, true)].map(|(one_up, two_up)| {
        let mut by_bits: [Vec<usize>; 4] = Default::default();
        for &rule in rules {
            let mut bits = bits(view.rules[rule].states);
            bits += usize::from(bits == 1 && one_up);
            bits += usize::from(bits == 2 && two_up);
            by_bits[bits].push(rule);
        }
        by_bits
            .into_iter()
            .enumerate()
            .filter(|(_, rules)| !rules.is_empty())
            .map(|(bits, rules)| Members::Lanes { rules, bits })
            .collect::<Vec<_>>()
    });
    ways.into_iter().min_by_key(|way| of_all(view, way)).unwrap_or_default()
}
