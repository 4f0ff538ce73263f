//! What the processor at hand can do beyond the baseline of its target: the only unsafe code of the project.
//!
//! Everything here has a portable twin that gives the same results, is always built and is the oracle of the tests. The
//! feature `simd` (on by default) may be switched off, and other processors than x86-64 have nothing here: their
//! baseline has vectors already, which the compiler makes use of in the portable code.

#[cfg(all(feature = "simd", target_arch = "x86_64"))]
mod x86_64;

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
