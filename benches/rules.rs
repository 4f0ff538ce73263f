//! Rules that several benchmarks step, as formulas over `p0`, `p1`, …

use tracelaw_corpora::generate::Random;

/// The DECLARE templates, by their formulas.
const DECLARE: [&str; 18] = [
    "F A",
    "!F A | F B",
    "F A & !F(A & X F A)",
    "!F(A & X F(A & X F A))",
    "F A | F B",
    "(F A | F B) & !(F A & F B)",
    "F A -> F B",
    "F A <-> F B",
    "G(A -> F B)",
    "!B W A",
    "G(A -> F B) & (!B W A)",
    "G(A -> X(!A U B))",
    "(!B W A) & G(B -> WX(!B W A))",
    "G(A -> X B)",
    "!B & G(X B -> A)",
    "!(F A & F B)",
    "G(A -> G !B)",
    "G(A -> !X B)",
];

/// `count` DECLARE constraints, every kind in turn, over random pairs of 64 activities.
pub(crate) fn declare(count: usize, random: &mut Random) -> Vec<String> {
    let rule = |i: usize| {
        let a = random.below(64);
        let b = (a + 1 + random.below(63)) % 64;
        let name = |c: char| match c {
            'A' => format!("p{a}"),
            'B' => format!("p{b}"),
            c => c.to_string(),
        };
        DECLARE[i % DECLARE.len()].chars().map(name).collect()
    };
    (0..count).map(rule).collect()
}
