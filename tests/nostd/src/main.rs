//! Steps an automaton with nothing but `core`. Never run: that it links is the test.
#![no_std]
#![no_main]

use core::panic::PanicInfo;
use tracelaw_runtime::{Automaton, Letter};

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
    loop {}
}
