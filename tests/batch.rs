//! Batches against compiled rules, stepped event by event: the same breaches, the same state at the end.

use tracelaw_compiler::{AfterViolation, Options, compile, syntax};
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::batch::columns::{Shape, Watch};
use tracelaw_runtime::batch::{Compose, LANES, Lanes, Table};
use tracelaw_runtime::{Automaton, Letter, Verdict};

fn rule(text: &str, props: &[&str]) -> Automaton<Vec<u32>> {
    let props: Vec<String> = props.iter().map(ToString::to_string).collect();
    let ast = syntax::parse(text, syntax::Dialect::Tracelaw, &syntax::Limits::default()).unwrap();
    let options = Options { after_violation: Some(AfterViolation::Repair), ..Options::default() };
    compile(&ast, &props, &options).unwrap().automaton
}

/// The events that break a rule, and the state after all of them.
fn one_by_one(automaton: &Automaton<Vec<u32>>, letters: &[u64]) -> (Vec<usize>, u32) {
    let (mut state, mut breaches) = (automaton.initial(), Vec::new());
    for (event, letter) in letters.iter().enumerate() {
        let step = automaton.step(state, Letter(&[*letter]));
        if step.breach {
            breaches.push(event);
        }
        state = step.state;
    }
    (breaches, state)
}

#[test]
fn shapes_of_columns_are_their_rules() {
    let shapes = [
        (Shape::Absence, "G !a", ["a", "b"]),
        (Shape::Response, "G(a -> F b)", ["a", "b"]),
        (Shape::Precedence, "!b W a", ["b", "a"]),
        (Shape::Before, "!((!a) U b)", ["a", "b"]),
        (Shape::NotSuccession, "G(a -> G !b)", ["a", "b"]),
        (Shape::NotSuccessionOfEarlier, "G(a -> G !b)", ["b", "a"]),
        (Shape::NeverAfter, "G(a -> WX G !b)", ["b", "a"]),
        (Shape::ChainResponse, "G(a -> X b)", ["a", "b"]),
        (Shape::ChainPrecedence, "!b & G(X b -> a)", ["a", "b"]),
        (Shape::NotChainSuccession, "G(a -> !X b)", ["a", "b"]),
    ];
    let mut random = Random::new(21);
    for (shape, text, props) in shapes {
        let automaton = rule(text, &props);
        let (a, b) = (usize::from(props[0] != "a"), usize::from(props[0] != "b"));
        for round in 0..200 {
            let events: usize = [0, 1, 2, 63, 64, 65, 128, 200][round % 8];
            let rare = 1 + random.below(40);
            let mut bit = || u64::from(random.below(rare) == 0);
            let letters: Vec<u64> = (0..events).map(|_| bit() << 1 | bit()).collect();
            let column = |prop: usize| -> Vec<u64> {
                letters
                    .chunks(64)
                    .map(|part| part.iter().rev().fold(0, |word, letter| word << 1 | (letter >> prop & 1)))
                    .collect()
            };
            let mut words = vec![0; events.div_ceil(64)];
            let mut watch = Watch::new(shape);
            watch.run(events, &column(a), &column(b), &mut words);
            let breaches: Vec<usize> =
                (0..events).filter(|event| words[event / 64] >> (event % 64) & 1 == 1).collect();
            let (expected, state) = one_by_one(&automaton, &letters);
            assert_eq!(breaches, expected, "{text}: {letters:?}");
            assert_eq!(
                watch.is_pending(),
                automaton.verdict(state) == Verdict::Pending,
                "{text}: {letters:?}"
            );
        }
    }
}

#[test]
fn tables_of_compiled_rules() {
    let mut random = Random::new(22);
    let props: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
    let mut small = 0;
    for _ in 0..150 {
        let mode = [AfterViolation::Repair, AfterViolation::Restart];
        let options = Options { after_violation: random.pick(&mode).copied(), ..Options::default() };
        let automaton = compile(&random.formula(&props, 3), &props, &options).unwrap().automaton;
        let states = automaton.state_len();
        if states > 256 {
            continue;
        }
        let edges = (0..states).flat_map(|state| (0..8u64).map(move |letter| (state, letter)));
        let steps: Vec<_> = edges.map(|(state, letter)| automaton.step(state, Letter(&[letter]))).collect();
        let next: Vec<u8> = steps.iter().map(|step| step.state as u8).collect();
        let marks: Vec<u8> = steps.iter().map(|step| u8::from(step.breach)).collect();
        let table = Table::new(&next, 3, states as usize).unwrap().with_marks(&marks).unwrap();
        let letters: Vec<u64> = (0..random.below(700)).map(|_| random.below(8) as u64).collect();
        let symbols: Vec<u8> = letters.iter().map(|letter| *letter as u8).collect();
        let (breaches, state) = one_by_one(&automaton, &letters);
        let initial = automaton.initial() as u8;
        let end = (breaches, state as u8);

        let mut told = Vec::new();
        let state = table.run_marked(initial, &symbols, |event, _| told.push(event));
        assert_eq!((told, state), end);
        let mut told = Vec::new();
        let state = table.run_skipping(initial, &symbols, |event, _| told.push(event));
        assert_eq!((told, state), end);
        let mut ends = [initial; 7];
        table.run_interleaved(&mut ends, &[&symbols[..]; 7]);
        assert_eq!((table.run(initial, &symbols), ends), (end.1, [end.1; 7]));
        if states <= 16 {
            small += 1;
            let mut told = Vec::new();
            let composed = Compose::new(table).unwrap();
            let state = composed.run(initial, &symbols, |event, _| told.push(event));
            assert_eq!((&told, state), (&end.0, end.1));
            let blocks: Vec<_> = symbols.iter().map(|symbol| [*symbol; LANES]).collect();
            let (mut lanes, mut counts) = ([initial; LANES], [0; LANES]);
            Lanes::new(&table).unwrap().run(&mut lanes, &mut counts, &blocks);
            assert_eq!((lanes, counts), ([end.1; LANES], [told.len() as u32; LANES]));
        }
    }
    assert!(small > 100, "{small}");
}
