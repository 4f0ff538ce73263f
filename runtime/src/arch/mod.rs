//! What the processor at hand can do beyond the baseline of its target: the only unsafe code of the project.
//!
//! Everything here has a portable twin that gives the same results, is always built and is the oracle of the tests. The
//! feature `simd` (on by default) may be switched off, and other processors than x86-64 have nothing here: their
//! baseline has vectors already, which the compiler makes use of in the portable code.

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod x86_64;

use crate::batch::LANES;

/// Portable code worth compiling again for wider vectors.
pub(crate) trait Kernel {
    type Output;
    /// The work, `#[inline(always)]` with all that it calls: what is not inlined keeps to the baseline.
    fn run(self) -> Self::Output;
}

/// Runs a kernel, compiled for AVX2 where there is such a thing.
#[inline(always)]
pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    if let Some(avx2) = x86_64::Avx2::detect() {
        return avx2.run(kernel);
    }
    kernel.run()
}

/// `batch::lanes::step_lanes` by vectors; whether there is such a thing here, else nothing is done.
pub(crate) fn step_lanes(
    edges: &[u8; 256],
    class_len: usize,
    lanes: &mut [u8; LANES],
    counts: &mut [u8; LANES],
    symbols: &[[u8; LANES]],
) -> bool {
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    {
        if let Some(vbmi) = x86_64::Vbmi::detect() {
            vbmi.step_lanes(edges, lanes, counts, symbols);
            return true;
        }
        if let Some(avx2) = x86_64::Avx2::detect() {
            avx2.step_lanes(edges, class_len, lanes, counts, symbols);
            return true;
        }
    }
    let _ = (edges, class_len, lanes, counts, symbols);
    false
}

/// [`step_lanes`] as processors with AVX2 and nothing wider do it.
#[cfg(test)]
pub(crate) fn step_lanes_avx2(
    edges: &[u8; 256],
    class_len: usize,
    lanes: &mut [u8; LANES],
    counts: &mut [u8; LANES],
    symbols: &[[u8; LANES]],
) -> bool {
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    if let Some(avx2) = x86_64::Avx2::detect() {
        avx2.step_lanes(edges, class_len, lanes, counts, symbols);
        return true;
    }
    let _ = (edges, class_len, lanes, counts, symbols);
    false
}

/// `batch::compose::compose` by vectors, if there is such a thing here.
pub(crate) fn compose(
    steps: &[[u8; 16]; 256],
    pairs: bool,
    pieces: [&[u8]; 4],
) -> Option<[[[u8; 16]; 2]; 4]> {
    #[cfg(all(feature = "simd", target_arch = "x86_64"))]
    if let Some(avx2) = x86_64::Avx2::detect() {
        return Some(avx2.compose(steps, pairs, pieces));
    }
    let _ = (steps, pairs, pieces);
    None
}
