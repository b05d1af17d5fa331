//! One body of code, compiled for several instruction sets, the best one chosen at run time.

/// Code to be compiled for several instruction sets: `run` and everything hot that it calls must be
/// `#[inline(always)]`, because only what is inlined into [`simd`]'s variants is compiled with their instructions.
pub trait Region {
    /// What it computes.
    type Output;

    /// Does it. `VECTOR`: the bytes of a vector, if code in lanes is to go on to its end ([`in_vectors`]), reading and writing parts of
    /// vectors there; else 0.
    fn run<const VECTOR: i64>(self) -> Self::Output;
}

/// Up to which lane code in lanes goes: to the end of a vector of numbers of so many bytes, of no more than `width` lanes.
#[inline(always)]
#[must_use]
pub const fn in_vectors<const VECTOR: i64>(lanes: i64, bytes: i64, width: i64) -> i64 {
    let numbers = if VECTOR / bytes < width { VECTOR / bytes } else { width };
    if numbers > 1 { (lanes + numbers - 1) & !(numbers - 1) } else { lanes }
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
    let output = region.run::<WITHOUT>();
    output
}

/// The bytes of a vector where no instruction set is chosen. Code whose contracts are asserted goes through lanes without a point too.
#[cfg(any(not(target_arch = "x86_64"), debug_assertions))]
const WITHOUT: i64 = if cfg!(feature = "assert-trusted") { 64 } else { 0 };

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
            Level::Baseline => region.run::<0>(),
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

    /// Not up to the ends of vectors: of four numbers at most three are left over, and some processors take long to write parts of these
    /// vectors. Rows of 25 and 100 numbers took 10 to 25 percent longer with them, where rows of 7 took half the time.
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    pub fn avx2<R: Region>(region: R) -> R::Output {
        region.run::<0>()
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    #[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
    pub fn avx512<R: Region>(region: R) -> R::Output {
        region.run::<64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sum<'a>(&'a [f64]);

    impl Region for Sum<'_> {
        type Output = f64;

        #[inline(always)]
        fn run<const VECTOR: i64>(self) -> f64 {
            self.0.iter().fold(0.0, |s, x| s + x * 0.3)
        }
    }

    #[test]
    fn all_variants_give_the_same_bits() {
        let xs: Vec<f64> = (0..1000).map(|i| 1.0 / (1.0 + f64::from(i))).collect();
        let plain = Sum(&xs).run::<0>();
        assert_eq!(simd(Sum(&xs)).to_bits(), plain.to_bits());
        #[cfg(target_arch = "x86_64")]
        assert_eq!(x86::widest(Sum(&xs)).to_bits(), plain.to_bits());
        #[cfg(target_arch = "x86_64")]
        if x86::level() != x86::Level::Baseline {
            // SAFETY: the level is at least AVX2.
            assert_eq!(unsafe { x86::avx2(Sum(&xs)) }.to_bits(), plain.to_bits());
        }
    }

    #[test]
    fn lanes_go_on_to_the_end_of_a_vector() {
        assert_eq!([1, 7, 8, 9, 64].map(|n| in_vectors::<64>(n, 8, 64)), [8, 8, 8, 16, 64]);
        assert_eq!([1, 16, 17].map(|n| in_vectors::<64>(n, 4, 64)), [16, 16, 32]);
        assert_eq!([1, 4, 5].map(|n| in_vectors::<32>(n, 8, 64)), [4, 4, 8]);
        // No further than there are lanes.
        assert_eq!([1, 8].map(|n| in_vectors::<64>(n, 4, 8)), [8, 8]);
        assert_eq!([1, 7].map(|n| in_vectors::<0>(n, 8, 64)), [1, 7]);
    }
}
