//! Steps that one team of threads does for each outer point, in one dispatch, where there are enough points for that; else one by
//! one. Which, depends on sizes alone.

use super::execute::{Run, WORKGROUP};
use super::pipeline::storage_buffers;
use super::reduce::Division;
use crate::error::Error;
use crate::program::{GpuStep, Poly, Shader};

/// With fewer threads a team leaves most of a large device idle, and its steps one by one do not.
const TEAM: u64 = 1 << 15;

impl Run<'_> {
    /// Steps by teams of threads, each for one outer point, or one by one.
    pub(super) async fn team(
        &mut self,
        shader: &'static Shader,
        outer: &'static [Poly],
        inner: &'static [Poly],
        steps: &'static [GpuStep],
    ) -> Result<(), Error> {
        let outers = self.points_of(outer).await?;
        let mut longest = 0;
        for extent in inner {
            longest = longest.max(self.points_of(std::slice::from_ref(extent)).await?);
        }
        let lanes = Division::new(outers, longest, false).lanes;
        let most = self.gpu.can.limits.max_storage_buffers_per_shader_stage as usize;
        if u64::from(outers) * u64::from(lanes) < TEAM || storage_buffers(shader) > most {
            for step in steps {
                // A team's steps are no teams; but a future within its own kind must be behind a pointer.
                Box::pin(self.step(step)).await?;
            }
            return Ok(());
        }
        let buffers = self.bound(shader).await?;
        let words = self.words(shader, [1, lanes, outers, 0]).await?;
        self.dispatch_shader(shader, &words, &buffers, outers.div_ceil(WORKGROUP / lanes)).await
    }
}
