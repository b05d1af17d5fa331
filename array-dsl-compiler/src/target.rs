//! What code is generated for.

/// What code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Loops nest: an outer parallel loop with sequential loops inside; rows stay in cache.
    Cpu,
    /// Every tree is a flat space of points: only nests over equal spaces share one, and each reduction stays alone.
    Gpu,
}
