//! The case files, on the compiler.

use tracelaw_compiler::{Options, Semantics, compile};
use tracelaw_corpora::case;
use tracelaw_runtime::{Letter, Verdict};

#[test]
fn every_case() {
    let cases = case::all().unwrap();
    let mut wrong = Vec::new();
    for case in &cases {
        let index = |name: &String| case.props.iter().position(|prop| prop == name).unwrap() as u32;
        let exclusive = case.exclusive.iter().map(|group| group.iter().map(index).collect()).collect();
        let semantics = match case.semantics {
            case::Semantics::Finite => Semantics::Finite,
            case::Semantics::Infinite => Semantics::Infinite,
        };
        let options = Options { semantics, exclusive, ..Options::default() };
        let automaton = compile(&case.formula().unwrap(), &case.props, &options).unwrap().automaton;
        let mut state = automaton.initial();
        let initial = automaton.verdict(state);
        let found: Vec<Verdict> = case
            .trace
            .iter()
            .map(|&letter| {
                state = automaton.step(state, Letter(&[letter])).state;
                automaton.verdict(state)
            })
            .collect();
        if found != case.verdict || case.initial.is_some_and(|expected| expected != initial) {
            wrong.push(format!("{} ({:?}): {initial} then {found:?}", case.name, case.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() > 200, "{}", cases.len());
}
