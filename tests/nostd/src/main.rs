//! Loads and steps automata and rule sets with nothing but `core`. Never run: that it links is the test.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use tracelaw_runtime::{Automaton, Letter, MonitorState, RuleSet};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

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
        let mut snapshot = [0; 128];
        let saved = rules.save(&state, &mut snapshot);
        let restored = rules.restore(&snapshot, [0; 64]);
        core::hint::black_box((saved.is_ok(), restored.is_ok(), rules.distance(&state, 0)));
    }
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
