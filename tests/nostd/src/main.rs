//! Loads and steps automata, rule sets and batches with nothing but `core`. Never run: that it links is the test.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use tracelaw_runtime::batch::{Compose, LANES, Lanes, Table, columns};
use tracelaw_runtime::{Automaton, Letter, MonitorState, RuleSet};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// The compiled `core` names it, for unwinding, of which there is none here: what panics is looked for in what was linked.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

/// The symbol a program without start files is entered at.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    let words: &[u32] = core::hint::black_box(&[]);
    if let Ok(automaton) = Automaton::from_words(words) {
        let step = automaton.step(automaton.initial(), Letter(core::hint::black_box(&[1])));
        core::hint::black_box(automaton.verdict(step.state));
    }
    let bytes: &[u8] = core::hint::black_box(&[]);
    if let Ok(rules) = RuleSet::from_bytes(bytes)
        && let Ok(mut state) = MonitorState::new(&rules, [0; 64])
    {
        let letter = Letter(core::hint::black_box(&[1]));
        rules.step(&mut state, letter, |change| {
            core::hint::black_box(change);
        });
        let symbols = core::hint::black_box(&[tracelaw_runtime::Symbol(0); 9][..]);
        for tell in [tracelaw_runtime::Tell::Changes, tracelaw_runtime::Tell::Breaches] {
            rules.run(&mut state, symbols, tell, |event, change| {
                core::hint::black_box((event, change));
            });
        }
        rules.step_symbol(&mut state, core::hint::black_box(tracelaw_runtime::Symbol(0)), |change| {
            core::hint::black_box(change);
        });
        core::hint::black_box((
            rules.allows(&state, letter),
            rules.symbol(letter),
            rules.verdict(&state, core::hint::black_box(3)),
        ));
        let (mut next, mut marks) = ([0; 64], [0; 64]);
        core::hint::black_box(rules.table(&mut next, &mut marks).is_ok());
        let mut allowed = [0u64; 8];
        core::hint::black_box(rules.allowed(&state, &mut allowed));
        let mut snapshot = [0; 128];
        let saved = rules.save(&state, &mut snapshot);
        let restored = rules.restore(&snapshot, [0; 64]);
        core::hint::black_box((saved.is_ok(), restored.is_ok(), rules.distance(&state, 0)));
    }
    let symbols: &[u8] = core::hint::black_box(&[0; 100]);
    if let Ok(table) = Table::new(core::hint::black_box(&[0u8; 16]), 2, 4) {
        let mut states = [0; 2];
        table.run_interleaved(&mut states, &[symbols; 2]);
        core::hint::black_box((states, table.run_skipping(0, symbols, |_, _| {})));
        if let (Ok(composed), Ok(lanes)) = (Compose::new(table), Lanes::new(&table)) {
            let (mut states, mut counts) = ([0; LANES], [0; LANES]);
            lanes.run(&mut states, &mut counts, core::hint::black_box(&[[0; LANES]]));
            core::hint::black_box((composed.function(symbols), states, counts));
        }
    }
    if let Ok(file) = tracelaw_runtime::wire::File::open(bytes)
        && let Ok(names) = tracelaw_runtime::Names::of(&file)
    {
        core::hint::black_box((
            names.propositions().count(),
            names.rules().count(),
            names.rules_of(core::hint::black_box(1)).count(),
        ));
    }
    let mut watch = columns::Watch::new(core::hint::black_box(columns::Shape::Response));
    let mut breaches = [0; 2];
    watch.run(
        core::hint::black_box(100),
        core::hint::black_box(&[1, 2]),
        core::hint::black_box(&[1]),
        &mut breaches,
    );
    core::hint::black_box((watch, breaches));
    let mut column = [0; 2];
    columns::truth(symbols, &[1, 0, 0, 0], &mut column);
    core::hint::black_box(column);
    loop {}
}

/// What the code generator may call for copies: a freestanding target brings these along, a hosted one leaves them to
/// its C library, which is not linked here. Never run either.
mod memory {
    #[unsafe(no_mangle)]
    extern "C" fn memcpy(to: *mut u8, _: *const u8, _: usize) -> *mut u8 {
        to
    }
    #[unsafe(no_mangle)]
    extern "C" fn memset(to: *mut u8, _: i32, _: usize) -> *mut u8 {
        to
    }
    #[unsafe(no_mangle)]
    extern "C" fn memcmp(_: *const u8, _: *const u8, _: usize) -> i32 {
        0
    }
    #[unsafe(no_mangle)]
    extern "C" fn bcmp(_: *const u8, _: *const u8, _: usize) -> i32 {
        0
    }
}
