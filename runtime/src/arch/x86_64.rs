//! AVX2 and AVX-512 VBMI, detected when they are first asked for.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering};

use super::Kernel;

/// Bits of what there is, once it is known.
const KNOWN: u8 = 1;
const AVX2: u8 = 2;
const VBMI: u8 = 4;

/// What was found. Threads that look at the same time find the same, so no order is needed.
static FOUND: AtomicU8 = AtomicU8::new(0);

#[inline]
fn found() -> u8 {
    match FOUND.load(Ordering::Relaxed) {
        0 => look(),
        found => found,
    }
}

/// Asks the processor, and whether the system saves the registers (as the manuals of both makers say to).
#[cold]
fn look() -> u8 {
    let found = KNOWN | if cfg!(miri) { 0 } else { ask() };
    FOUND.store(found, Ordering::Relaxed);
    found
}

fn ask() -> u8 {
    let has = |word: u32, bits: &[u32]| bits.iter().all(|&bit| word >> bit & 1 == 1);
    if __cpuid(0).eax < 7 {
        return 0;
    }
    let (first, seventh) = (__cpuid(1).ecx, __cpuid_count(7, 0));
    // POPCNT, XSAVE as the system's (OSXSAVE), AVX.
    if !has(first, &[23, 26, 27, 28]) {
        return 0;
    }
    // SAFETY: OSXSAVE says that the system has switched `xgetbv` on.
    let saved = unsafe { _xgetbv(0) };
    let mut found = 0;
    // The halves of the 256-bit registers are saved; BMI1, AVX2, BMI2.
    if saved & 0b110 == 0b110 && has(seventh.ebx, &[3, 5, 8]) {
        found |= AVX2;
        // The 512-bit registers and the masks are saved too; AVX-512 F, DQ, BW, VL and VBMI.
        if saved & 0b1110_0000 == 0b1110_0000 && has(seventh.ebx, &[16, 17, 30, 31]) && has(seventh.ecx, &[1])
        {
            found |= VBMI;
        }
    }
    found
}

/// Proof that AVX2, BMI1, BMI2 and POPCNT are there.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    #[inline]
    pub(crate) fn detect() -> Option<Avx2> {
        (found() & AVX2 != 0).then_some(Avx2(()))
    }

    /// Runs a kernel compiled with them.
    #[inline]
    pub(crate) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn run<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        // SAFETY: `self` exists only where the processor has these features.
        unsafe { run(kernel) }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::{AVX2, VBMI, found};
    use std::is_x86_feature_detected as has;

    #[test]
    fn finds_what_the_standard_library_finds() {
        let avx2 = has!("avx2") && has!("bmi1") && has!("bmi2") && has!("popcnt");
        assert_eq!(found() & AVX2 != 0, avx2);
        let wide = has!("avx512f") && has!("avx512dq") && has!("avx512bw") && has!("avx512vl");
        assert_eq!(found() & VBMI != 0, avx2 && wide && has!("avx512vbmi"));
    }
}
