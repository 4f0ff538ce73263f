//! AVX2 and AVX-512 VBMI, detected when they are first asked for.

use core::arch::x86_64::*;
use core::sync::atomic::{AtomicU8, Ordering};

use super::Kernel;
use crate::batch::LANES;

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
    // SAFETY: XSAVE is there, and OSXSAVE says that the system has switched `xgetbv` on.
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

/// Proof that AVX-512 F, DQ, BW, VL and VBMI are there, and AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Vbmi(());

impl Vbmi {
    #[inline]
    pub(crate) fn detect() -> Option<Vbmi> {
        (found() & VBMI != 0).then_some(Vbmi(()))
    }

    /// See [`crate::batch::Lanes`]: the whole table of 256 edges is in four registers.
    pub(crate) fn step_lanes(
        self,
        edges: &[u8; 256],
        lanes: &mut [u8; LANES],
        counts: &mut [u8; LANES],
        symbols: &[[u8; LANES]],
    ) {
        // SAFETY: `self` exists only where the processor has these features.
        unsafe { step_lanes_vbmi(edges, lanes, counts, symbols) }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx512vbmi")]
fn step_lanes_vbmi(
    edges: &[u8; 256],
    lanes: &mut [u8; LANES],
    counts: &mut [u8; LANES],
    symbols: &[[u8; LANES]],
) {
    // SAFETY: any bytes are a vector, and the 64 that the reference is to are read, from wherever they begin.
    let load = |bytes: &[u8; 64]| unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    // SAFETY: the 64 bytes that the reference is to are written, from wherever they begin.
    let store = |bytes: &mut [u8; 64], v| unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), v) };
    let ([first, second, third, fourth], [left, right], [left_count, right_count]) =
        (edges.as_chunks::<64>().0, lanes.as_chunks_mut::<64>().0, counts.as_chunks_mut::<64>().0)
    else {
        return;
    };
    let (first, second, third, fourth) = (load(first), load(second), load(third), load(fourth));
    let (low, one) = (_mm512_set1_epi8(15), _mm512_set1_epi8(1));
    let step = |lanes: __m512i, count: __m512i, symbols: __m512i| {
        // "low ? symbols : lanes", bit by bit.
        let index = _mm512_ternarylogic_epi64::<0xca>(low, symbols, lanes);
        let below = _mm512_permutex2var_epi8(first, index, second);
        let above = _mm512_permutex2var_epi8(third, index, fourth);
        let lanes = _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), below, above);
        (lanes, _mm512_add_epi8(count, _mm512_and_si512(lanes, one)))
    };
    // Two vectors side by side, since each step waits for the one before it.
    let (mut a, mut a_count, mut b, mut b_count) =
        (load(left), load(left_count), load(right), load(right_count));
    for event in symbols {
        let [left, right] = event.as_chunks::<64>().0 else { return };
        (a, a_count) = step(a, a_count, load(left));
        (b, b_count) = step(b, b_count, load(right));
    }
    store(left, a);
    store(left_count, a_count);
    store(right, b);
    store(right_count, b_count);
}

impl Avx2 {
    /// See [`crate::batch::Lanes`]: each class's edges are looked up by the state, then the symbol's bits choose.
    pub(crate) fn step_lanes(
        self,
        edges: &[u8; 256],
        class_len: usize,
        lanes: &mut [u8; LANES],
        counts: &mut [u8; LANES],
        symbols: &[[u8; LANES]],
    ) {
        // SAFETY: `self` exists only where the processor has these features.
        unsafe {
            match class_len {
                0..=2 => step_lanes_avx2::<2>(edges, lanes, counts, symbols),
                3..=4 => step_lanes_avx2::<4>(edges, lanes, counts, symbols),
                5..=8 => step_lanes_avx2::<8>(edges, lanes, counts, symbols),
                _ => step_lanes_avx2::<16>(edges, lanes, counts, symbols),
            }
        }
    }

    /// See [`crate::batch::Compose`]: one look-up composes a step's function with those before it.
    pub(crate) fn compose(
        self,
        steps: &[[u8; 16]; 256],
        pairs: bool,
        pieces: [&[u8]; 4],
    ) -> [[[u8; 16]; 2]; 4] {
        // SAFETY: `self` exists only where the processor has these features.
        unsafe {
            if pairs { compose_avx2::<true>(steps, pieces) } else { compose_avx2::<false>(steps, pieces) }
        }
    }
}

#[target_feature(enable = "avx2")]
fn step_lanes_avx2<const CLASSES: usize>(
    edges: &[u8; 256],
    lanes: &mut [u8; LANES],
    counts: &mut [u8; LANES],
    symbols: &[[u8; LANES]],
) {
    // SAFETY: any bytes are a vector, and the 32 that the reference is to are read, from wherever they begin.
    let load = |bytes: &[u8; 32]| unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    // SAFETY: the 32 bytes that the reference is to are written, from wherever they begin.
    let store = |bytes: &mut [u8; 32], v| unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), v) };
    // Per class its edges by state, twice since a look-up is within 16 bytes; state and mark have changed places, since
    // a look-up reads the lower four bits.
    let mut tables = [[0; 32]; CLASSES];
    for (class, table) in tables.iter_mut().enumerate() {
        for (i, edge) in table.iter_mut().enumerate() {
            *edge = edges[(i % 16) << 4 | class].rotate_left(4);
        }
    }
    let (one, low) = (_mm256_set1_epi8(1), _mm256_set1_epi8(15));
    let swap = |lanes| {
        let upper = _mm256_andnot_si256(low, _mm256_slli_epi16::<4>(lanes));
        _mm256_or_si256(upper, _mm256_and_si256(low, _mm256_srli_epi16::<4>(lanes)))
    };
    let step = |lanes, symbols| {
        let mut found = [lanes; CLASSES];
        for (found, table) in found.iter_mut().zip(&tables) {
            *found = _mm256_shuffle_epi8(load(table), lanes);
        }
        // A tournament: the lowest bit of the symbol chooses among neighbours, the next among the chosen.
        let bits = [
            _mm256_slli_epi16::<7>(symbols),
            _mm256_slli_epi16::<6>(symbols),
            _mm256_slli_epi16::<5>(symbols),
            _mm256_slli_epi16::<4>(symbols),
        ];
        let mut width = CLASSES;
        for bits in bits {
            width /= 2;
            for i in 0..width {
                found[i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], bits);
            }
        }
        found[0]
    };
    // Four vectors side by side, since each step waits for the one before it.
    let (lanes, counts) = (lanes.as_chunks_mut::<32>().0, counts.as_chunks_mut::<32>().0);
    let (mut now, mut count) = ([low; LANES / 32], [low; LANES / 32]);
    for (vector, bytes) in now.iter_mut().zip(&*lanes) {
        *vector = swap(load(bytes));
    }
    for (vector, bytes) in count.iter_mut().zip(&*counts) {
        *vector = load(bytes);
    }
    for event in symbols {
        for ((now, count), symbols) in now.iter_mut().zip(&mut count).zip(event.as_chunks::<32>().0) {
            *now = step(*now, load(symbols));
            *count = _mm256_add_epi8(*count, _mm256_and_si256(_mm256_srli_epi16::<4>(*now), one));
        }
    }
    for ((now, count), (lanes, counts)) in now.into_iter().zip(count).zip(lanes.iter_mut().zip(counts)) {
        store(lanes, swap(now));
        store(counts, count);
    }
}

#[target_feature(enable = "avx2")]
fn compose_avx2<const PAIRS: bool>(steps: &[[u8; 16]; 256], pieces: [&[u8]; 4]) -> [[[u8; 16]; 2]; 4] {
    // SAFETY: any bytes are a vector, and the 16 that the reference is to are read, from wherever they begin.
    let load = |bytes: &[u8; 16]| unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) };
    // SAFETY: the 16 bytes that the reference is to are written, from wherever they begin.
    let store = |bytes: &mut [u8; 16], v| unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), v) };
    let identity = load(&core::array::from_fn(|state| state as u8));
    let (mut now, mut marked) = ([identity; 4], [_mm_setzero_si128(); 4]);
    let words = pieces.map(|piece| piece.as_chunks::<8>().0);
    let len = words.iter().map(|words| words.len()).min().unwrap_or(0);
    let words = words.map(|words| words.get(..len).unwrap_or(&[]));
    for i in 0..len {
        let mut packed = [0; 4];
        for (packed, words) in packed.iter_mut().zip(&words) {
            let Some(word) = words.get(i) else { break };
            *packed = u64::from_le_bytes(*word);
            if PAIRS {
                // Every other byte becomes two symbols, the earlier one in the lower four bits.
                *packed &= 0x0f0f_0f0f_0f0f_0f0f;
                *packed |= *packed >> 4;
            }
        }
        for _ in 0..if PAIRS { 4 } else { 8 } {
            for ((now, marked), packed) in now.iter_mut().zip(&mut marked).zip(&mut packed) {
                *now = _mm_shuffle_epi8(load(&steps[usize::from(*packed as u8)]), *now);
                *marked = _mm_or_si128(*marked, *now);
                *packed >>= if PAIRS { 16 } else { 8 };
            }
        }
    }
    let mut composed = [[[0; 16]; 2]; 4];
    for ([function, marks], (now, marked)) in composed.iter_mut().zip(now.into_iter().zip(marked)) {
        store(function, now);
        store(marks, marked);
    }
    composed
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
