//! Numbers that look random and are the same in every run.

/// SplitMix64: a counter in steps of the golden ratio, mixed.
pub struct Random(u64);

impl Random {
    /// Numbers that the seed alone decides.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the standard normal distribution: the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// A number below `end`, which is small, so that all are about as likely.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    /// So many numbers of [0, 1).
    pub fn uniforms(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.uniform()).collect()
    }

    /// So many numbers of the standard normal distribution.
    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    /// Rows of numbers of [0, 1).
    pub fn uniform_rows(&mut self, rows: usize, columns: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| self.uniforms(columns)).collect()
    }

    /// Rows of numbers of the standard normal distribution.
    pub fn normal_rows(&mut self, rows: usize, columns: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| self.normals(columns)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions() {
        let mut random = Random::new(7);
        let uniforms = random.uniforms(10_000);
        assert!(uniforms.iter().all(|x| (0.0..1.0).contains(x)));
        assert!((uniforms.iter().sum::<f64>() / 10_000.0 - 0.5).abs() < 0.01);
        let normals = random.normals(10_000);
        assert!((normals.iter().sum::<f64>() / 10_000.0).abs() < 0.03);
        assert!((normals.iter().map(|x| x * x).sum::<f64>() / 10_000.0 - 1.0).abs() < 0.05);
        assert_eq!(Random::new(7).uniforms(3), uniforms[..3]);
        assert!((0..100).all(|_| random.below(3) < 3));
    }
}
