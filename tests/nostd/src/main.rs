//! Steps an automaton and runs batches with nothing but `core`. Never run: that it links is the test.
#![no_std]
#![no_main]
// The compiler must not make calls of these two out of their own loops.
#![no_builtins]

use core::panic::PanicInfo;
use tracelaw_runtime::batch::{Compose, LANES, Lanes, Table, columns};
use tracelaw_runtime::{Automaton, Letter};

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

/// Core asks its platform for these two.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    for i in 0..len {
        // SAFETY: the caller's promise, as for the C function of that name.
        unsafe { *to.add(i) = *from.add(i) };
    }
    to
}

/// See `memcpy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    for i in 0..len {
        // SAFETY: the caller's promise, as for the C function of that name.
        unsafe { *to.add(i) = byte as u8 };
    }
    to
}

/// The compiled `core` names it, for unwinding, of which there is none here.
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
    let mut column = [0; 2];
    columns::truth(symbols, &[1, 0, 0, 0], &mut column);
    core::hint::black_box(column);
    loop {}
}
