//! The bare loops that mark what the machine can do, for every bench that gives its figures as ratios to them.
#![allow(dead_code, reason = "each bench takes those that it needs")]

/// One automaton, one session: a look-up per event that waits for the one before it. The table is of 16 states by 8
/// classes, its entries premultiplied; nothing is checked, since the index cannot leave it.
pub(crate) fn dependent_walk(table: &[u8; 128], state: u8, symbols: &[u8]) -> u8 {
    symbols.iter().fold(state, |state, symbol| table[usize::from(state | symbol) & 127])
}

/// The same for four sessions at once, as long as the shortest.
pub(crate) fn interleaved4(table: &[u8; 128], states: [u8; 4], columns: [&[u8]; 4]) -> [u8; 4] {
    let [mut a, mut b, mut c, mut d] = states;
    let [first, second, third, fourth] = columns;
    for (((w, x), y), z) in first.iter().zip(second).zip(third).zip(fourth) {
        a = table[usize::from(a | w) & 127];
        b = table[usize::from(b | x) & 127];
        c = table[usize::from(c | y) & 127];
        d = table[usize::from(d | z) & 127];
    }
    [a, b, c, d]
}

/// 32 `response` rules in one word: per symbol a mask of those that it opens and one of those that it answers.
pub(crate) fn bit_sliced_word(masks: &[[u32; 2]; 64], open: u32, symbols: &[u8]) -> u32 {
    symbols.iter().fold(open, |open, symbol| {
        let [opens, answers] = masks[usize::from(*symbol) & 63];
        open & !answers | opens
    })
}
