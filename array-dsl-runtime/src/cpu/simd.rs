//! One body of code, compiled for several instruction sets, the best one chosen at run time.

/// Code to be compiled for several instruction sets: `run` and everything hot that it calls must be
/// `#[inline(always)]`, because only what is inlined into [`simd`]'s variants is compiled with their instructions.
pub trait Region {
    /// What it computes.
    type Output;

    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs a region with the widest vectors that the processor has. Generated code contains only plain
/// multiplications and additions, so the result has the same bits whichever variant is chosen.
///
/// With debug assertions there is one variant: code that is not optimized has no use for vectors, and is compiled in a third of the
/// time.
#[inline]
pub fn simd<R: Region>(region: R) -> R::Output {
    #[cfg(all(target_arch = "x86_64", not(debug_assertions)))]
    let output = x86::widest(region);
    #[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
    let output = region.run();
    output
}

#[cfg(all(target_arch = "x86_64", any(test, not(debug_assertions))))]
mod x86 {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    use super::Region;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Level {
        Baseline,
        Avx2,
        Avx512,
    }

    /// What the processor can do; detected once.
    #[inline]
    pub fn level() -> Level {
        /// 0 before detection, else the level plus one.
        static LEVEL: AtomicU8 = AtomicU8::new(0);
        match LEVEL.load(Relaxed) {
            0 => {
                let level = detect();
                LEVEL.store(level as u8 + 1, Relaxed);
                level
            }
            1 => Level::Baseline,
            2 => Level::Avx2,
            _ => Level::Avx512,
        }
    }

    /// Runs a region with all that the processor can do.
    #[inline]
    pub fn widest<R: Region>(region: R) -> R::Output {
        match level() {
            // SAFETY: `level` has seen all the features that the variant enables.
            Level::Avx512 => unsafe { avx512(region) },
            // SAFETY: as above.
            Level::Avx2 => unsafe { avx2(region) },
            Level::Baseline => region.run(),
        }
    }

    #[cold]
    fn detect() -> Level {
        macro_rules! has {
            ($($feature:tt)*) => { true $(&& is_x86_feature_detected!($feature))* };
        }
        if !has!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt") {
            Level::Baseline
        } else if has!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl") {
            Level::Avx512
        } else {
            Level::Avx2
        }
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub fn avx2<R: Region>(region: R) -> R::Output {
        region.run()
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    pub fn avx512<R: Region>(region: R) -> R::Output {
        region.run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f64]);

    impl Region for Sum<'_> {
        type Output = f64;

        #[inline(always)]
        fn run(self) -> f64 {
            self.0.iter().fold(0.0, |s, x| s + x * 0.3)
        }
    }

    #[test]
    fn all_variants_give_the_same_bits() {
        let xs: Vec<f64> = (0..1000).map(|i| 1.0 / (1.0 + f64::from(i))).collect();
        let plain = Sum(&xs).run();
        assert_eq!(simd(Sum(&xs)).to_bits(), plain.to_bits());
        #[cfg(target_arch = "x86_64")]
        assert_eq!(x86::widest(Sum(&xs)).to_bits(), plain.to_bits());
        #[cfg(target_arch = "x86_64")]
        if x86::level() != x86::Level::Baseline {
            // SAFETY: the level is at least AVX2.
            assert_eq!(unsafe { x86::avx2(Sum(&xs)) }.to_bits(), plain.to_bits());
        }
    }
}
