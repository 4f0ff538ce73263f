//! Every plan of a set of rules against the rules one by one: the same changes in the same order, the same states, what
//! is allowed and how far it is to acceptance; copied, looked ahead of, saved and restored at any event.

use tracelaw_compiler::plan::{GroupKind, PlanOptions, Strategy, plan};
use tracelaw_compiler::{AfterViolation, Options, compile};
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::batch::{Compose, LANES, Lanes};
use tracelaw_runtime::{Automaton, Change, Letter, MonitorState, RuleSet, Tell, Verdict};

const STRATEGIES: [Strategy; 5] =
    [Strategy::Cheapest, Strategy::Singles, Strategy::Products, Strategy::Lanes, Strategy::OpenLanes];

/// Rules and what is said about their letters.
struct Rules {
    automata: Vec<Automaton<Vec<u32>>>,
    options: PlanOptions,
}

impl Rules {
    /// `count` random rules, each over a few of `props` propositions; `alphabet` chooses what excludes what.
    fn random(random: &mut Random, count: usize, props: usize, alphabet: usize, depth: usize) -> Rules {
        let names: Vec<String> = (0..props).map(|i| format!("p{i}")).collect();
        let all: Vec<u32> = (0..props as u32).collect();
        let exclusive = match alphabet {
            1 => vec![all],
            2 => vec![all[..props / 2].to_vec()],
            _ => Vec::new(),
        };
        let one_of_all = alphabet == 3;
        let mut automata = Vec::new();
        for _ in 0..count {
            let few: Vec<String> = (0..3).filter_map(|_| random.pick(&names).cloned()).collect();
            let formula = random.formula(&few, depth);
            let mode = [AfterViolation::Repair, AfterViolation::Restart, AfterViolation::Off];
            let options = Options {
                after_violation: random.pick(&mode).copied(),
                exclusive: exclusive.clone(),
                one_of_all,
                ..Options::default()
            };
            automata.push(compile(&formula, &names, &options).unwrap().automaton);
        }
        let options = PlanOptions { prop_len: props, exclusive, one_of_all, strategy: Strategy::Cheapest };
        Rules { automata, options }
    }

    fn refs(&self) -> Vec<&Automaton<Vec<u32>>> {
        self.automata.iter().collect()
    }

    fn letter(&self, random: &mut Random) -> Vec<u64> {
        let props = self.options.prop_len;
        let mut letter = vec![0; props.div_ceil(64)];
        let mut set = |prop: usize| letter[prop / 64] |= 1 << (prop % 64);
        let excluded = self.options.exclusive.first().map_or(0, Vec::len);
        if self.options.one_of_all {
            set(random.below(props));
            return letter;
        }
        if excluded > 0 && random.below(4) > 0 {
            set(random.below(excluded));
        }
        for prop in excluded..props {
            if random.below(4) == 0 {
                set(prop);
            }
        }
        letter
    }
}

/// One rule's step, with the edge into a final violation counted as the breach that it is.
fn step(automaton: &Automaton<Vec<u32>>, state: u32, letter: &[u64]) -> (u32, bool) {
    let step = automaton.step(state, Letter(letter));
    let violated = |s| automaton.verdict(s) == Verdict::Violated;
    (step.state, step.breach || violated(step.state) && !violated(state))
}

fn one_by_one(rules: &Rules, states: &mut [u32], letter: &[u64]) -> Vec<Change> {
    let mut changes = Vec::new();
    for (i, (automaton, state)) in rules.automata.iter().zip(states).enumerate() {
        let (next, breach) = step(automaton, *state, letter);
        let verdict = automaton.verdict(next);
        if breach || verdict != automaton.verdict(*state) {
            changes.push(Change { rule: i as u32, verdict, breach });
        }
        *state = next;
    }
    changes
}

/// Least number of unbroken events to acceptance, by trying all letters over the automaton's own propositions.
fn distance(automaton: &Automaton<Vec<u32>>, from: u32) -> Option<u32> {
    let mut props: Vec<u32> = automaton.diagrams().0.iter().map(|n| n[0]).collect();
    props.sort_unstable();
    props.dedup();
    let mut seen = vec![false; automaton.state_len() as usize];
    let mut layer = vec![from];
    seen[from as usize] = true;
    for d in 0.. {
        if layer.iter().any(|&s| automaton.verdict(s).accepts()) {
            return Some(d);
        }
        let mut next = Vec::new();
        for &s in &layer {
            for choice in 0..1u64 << props.len() {
                let mut letter = vec![0; props.last().map_or(1, |p| *p as usize / 64 + 1)];
                for (i, &p) in props.iter().enumerate() {
                    letter[p as usize / 64] |= (choice >> i & 1) << (p % 64);
                }
                let (to, breach) = step(automaton, s, &letter);
                if !breach && !std::mem::replace(&mut seen[to as usize], true) {
                    next.push(to);
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        layer = next;
    }
    None
}

fn check(rules: &Rules, random: &mut Random, events: usize, with_distances: bool) {
    for strategy in STRATEGIES {
        let planned = plan(&rules.refs(), &PlanOptions { strategy, ..rules.options.clone() }).unwrap();
        let set = RuleSet::from_section(&planned.section, 7).unwrap();
        let mut members: Vec<u32> = planned.groups.iter().flat_map(|g| g.rules.clone()).collect();
        members.sort_unstable();
        assert_eq!(members, (0..rules.automata.len() as u32).collect::<Vec<_>>());
        let mut state = MonitorState::new(&set, vec![0; set.state_len()]).unwrap();
        let mut states: Vec<u32> = rules.automata.iter().map(Automaton::initial).collect();
        let mut saved = vec![0; set.snapshot_len()];
        for event in 0..events {
            let letter = rules.letter(random);
            let mut foreseen = Vec::new();
            set.peek(&state, Letter(&letter), |c| foreseen.push(c));
            if let Some(symbols) = set.symbol_len() {
                let mut allowed = vec![0; (symbols as usize).div_ceil(64)];
                assert!(set.allowed(&state, &mut allowed));
                let symbol = usize::from(set.symbol(Letter(&letter)).unwrap().0);
                let quiet = foreseen.iter().all(|c| !c.breach);
                assert_eq!(allowed[symbol / 64] >> (symbol % 64) & 1 == 1, quiet, "{strategy:?}");
            }
            let copy = state.clone();
            let expected = one_by_one(rules, &mut states, &letter);
            let mut changes = Vec::new();
            match set.symbol(Letter(&letter)) {
                Some(symbol) if event % 2 == 0 => set.step_symbol(&mut state, symbol, |c| changes.push(c)),
                _ => set.step(&mut state, Letter(&letter), |c| changes.push(c)),
            }
            assert_eq!(changes, expected, "{strategy:?}, event {event}, {:?}", planned.groups);
            assert_eq!(foreseen, expected, "{strategy:?}: looked ahead");
            for (rule, (automaton, &own)) in rules.automata.iter().zip(&states).enumerate() {
                assert_eq!(set.rule_state(&state, rule as u32), own);
                assert_eq!(set.verdict(&state, rule as u32), automaton.verdict(own));
                if with_distances {
                    assert_eq!(set.distance(&state, rule as u32), distance(automaton, own));
                }
            }
            if event % 3 == 0 {
                // Back to before the event, forward again, then through a snapshot.
                let mut again = copy;
                set.step(&mut again, Letter(&letter), |_| {});
                set.save(&again, &mut saved).unwrap();
                state = set.restore(&saved, vec![0; set.state_len()]).unwrap();
                assert_eq!(again, state);
            }
        }
        if set.symbol_len().is_some() {
            run(rules, &set, random, events);
        }
        if set.table_shape().is_some() {
            batch(rules, &set, random, events);
        }
        set.reset(&mut state);
        assert!((0..).zip(&rules.automata).all(|(r, a)| set.rule_state(&state, r) == a.initial()));
    }
}

/// A set that is one table: batches over it see the breaches that stepping tells.
fn batch(rules: &Rules, set: &RuleSet<'_>, random: &mut Random, events: usize) {
    let (states, shift) = set.table_shape().unwrap();
    let (mut next, mut marks) = (vec![0; states << shift], vec![0; states << shift]);
    assert!(set.table(&mut next[1..], &mut marks).is_err());
    let (table, initial) = set.table(&mut next, &mut marks).unwrap();
    let letters: Vec<_> = (0..events).map(|_| rules.letter(random)).collect();
    let symbols: Vec<u8> = letters.iter().map(|l| set.symbol(Letter(l)).unwrap().0 as u8).collect();
    let mut state = MonitorState::new(set, vec![0; set.state_len()]).unwrap();
    let mut expected = Vec::new();
    for (event, letter) in letters.iter().enumerate() {
        let mut breaches = false;
        set.step(&mut state, Letter(letter), |change| breaches |= change.breach);
        expected.extend(breaches.then_some(event));
    }
    let mut found = Vec::new();
    let last = table.run_marked(initial, &symbols, |event, _| found.push(event));
    assert_eq!(found, expected);
    let mut skipping = Vec::new();
    assert_eq!(table.run_skipping(initial, &symbols, |event, _| skipping.push(event)), last);
    assert_eq!(skipping, expected);
    let mut states = [initial; 5];
    table.run_interleaved(&mut states, &[symbols.as_slice(); 5]);
    assert_eq!(states, [last; 5]);
    if let Ok(compose) = Compose::new(table) {
        let mut composed = Vec::new();
        assert_eq!(compose.run(initial, &symbols, |event, _| composed.push(event)), last);
        assert_eq!(composed, expected);
    }
    if let Ok(lanes) = Lanes::new(&table) {
        let (mut states, mut counts) = ([initial; LANES], [0; LANES]);
        let columns: Vec<[u8; LANES]> = symbols.iter().map(|&s| [s; LANES]).collect();
        lanes.run(&mut states, &mut counts, &columns);
        assert_eq!((states, counts), ([last; LANES], [expected.len() as u32; LANES]));
    }
}

/// A run over many events tells what stepping them one by one tells.
fn run(rules: &Rules, set: &RuleSet<'_>, random: &mut Random, events: usize) {
    let letters: Vec<_> = (0..events).map(|_| rules.letter(random)).collect();
    let symbols: Vec<_> = letters.iter().map(|l| set.symbol(Letter(l)).unwrap()).collect();
    let mut expected = Vec::new();
    let mut stepped = MonitorState::new(set, vec![0; set.state_len()]).unwrap();
    for (event, letter) in letters.iter().enumerate() {
        set.step(&mut stepped, Letter(letter), |change| expected.push((event, change)));
    }
    for tell in [Tell::Changes, Tell::Breaches] {
        let mut told = Vec::new();
        let mut state = MonitorState::new(set, vec![0; set.state_len()]).unwrap();
        set.run(&mut state, &symbols, tell, |event, change| told.push((event, change)));
        expected.retain(|(_, change)| tell == Tell::Changes || change.breach);
        assert_eq!(told, expected);
        assert_eq!(state, stepped);
    }
}

#[test]
fn every_plan_steps_like_the_rules_one_by_one() {
    let mut random = Random::new(11);
    for round in 0..60 {
        let count = [1, 2, 3, 5, 9, 20][round % 6];
        let rules = Rules::random(&mut random, count, 2 + round % 9, round % 4, 3);
        check(&rules, &mut random, 40, true);
    }
}

#[test]
fn many_rules_fill_several_words_and_blocks() {
    let mut random = Random::new(12);
    for (alphabet, props) in [(3, 30), (1, 70), (0, 8), (2, 14)] {
        let rules = Rules::random(&mut random, 150, props, alphabet, 2);
        check(&rules, &mut random, 30, false);
    }
    let rules = Rules::random(&mut random, 2100, 40, 3, 2);
    check(&rules, &mut random, 6, false);
}

/// Each compiles to a small diagram, and together, tested in this order, they would make an enormous one.
#[test]
fn rules_that_do_not_go_together_are_kept_apart() {
    let names: Vec<String> =
        ["a", "c", "b", "d"].iter().flat_map(|n| (0..9).map(move |i| format!("{n}{i}"))).collect();
    let rule = |x: &str, y: &str| {
        let pairs: Vec<String> = (0..9).map(|i| format!("({x}{i} <-> {y}{i})")).collect();
        let formula = crate::oracle::read(&format!("G({})", pairs.join(" & ")));
        let options = Options { after_violation: Some(AfterViolation::Off), ..Options::default() };
        compile(&formula, &names, &options).unwrap().automaton
    };
    let automata = [rule("a", "b"), rule("c", "d")];
    let alone: usize = automata.iter().map(|a| a.words().len() * 4).sum();
    let members: Vec<_> = automata.iter().collect();
    let planned = plan(&members, &PlanOptions { prop_len: names.len(), ..PlanOptions::default() }).unwrap();
    assert!(planned.section.len() < 4 * alone, "{} bytes for {alone}", planned.section.len());
}

#[test]
fn the_plan_fits_the_rules() {
    let mut random = Random::new(13);
    let few = Rules::random(&mut random, 3, 4, 0, 2);
    let many = Rules::random(&mut random, 300, 20, 3, 2);
    let kinds = |rules: &Rules| {
        plan(&rules.refs(), &rules.options).unwrap().groups.iter().map(|g| g.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&few), [GroupKind::Product]);
    assert!(kinds(&many).contains(&GroupKind::Lanes));
    assert!(kinds(&many).len() < 40, "{:?}", kinds(&many));
    // Letters of forty propositions that hold as they like are too many to tell apart.
    let free = Rules::random(&mut random, 300, 40, 0, 2);
    assert!(kinds(&free).contains(&GroupKind::OpenLanes), "{:?}", kinds(&free));
}
