//! Reductions. Which way suits the sizes:
//!
//! * many outer points, or few inner ones: one thread per outer point (`points`);
//! * else one workgroup per outer point, or several parts if there are few outer points and many inner ones
//!   (`groups`). The parts go to a scratch array that a second dispatch folds with the same operator.
//!
//! A reduction of nothing takes the first way, whose loop is then empty, so that the result is the neutral
//! element. Where only the device knows that there is nothing, all parts are the neutral element. Rows of parts beyond the outer
//! points, planned for by a bound, become elements of the result beyond its size, which nobody reads.

use super::builtin::Builtin;
use super::execute::Run;
use crate::error::Error;
use crate::program::{Elem, Poly, Reducer, Shader};

/// From so many outer points on there is a thread's worth of work for the whole device in each.
const MANY_POINTS: u32 = 16_384;

/// Up to so many inner points a workgroup is not worth its start.
const FEW_INNER: u32 = 32;

/// The inner points that one workgroup folds before another takes part.
const INNER_PER_PART: u32 = 4096;

/// The workgroups that keep a large device busy.
const BUSY: u32 = 1024;

/// The number of parts per outer point; `None` for one thread per outer point.
fn parts(outer: u32, inner: u32) -> Option<u32> {
    if outer >= MANY_POINTS || inner <= FEW_INNER {
        return None;
    }
    let most = (BUSY / outer.max(1)).max(1);
    Some(inner.div_ceil(INNER_PER_PART).clamp(1, most))
}

impl Run<'_> {
    /// See the module header.
    pub(super) fn reduce(
        &mut self,
        points: &'static Shader,
        outer: &'static [Poly],
        inner: &'static [Poly],
        groups: &'static Shader,
        reducer: Reducer,
        result: usize,
    ) -> Result<(), Error> {
        // First, since to make it may be to read a size: then there are no more points than it has elements.
        let result_buffer = self.buffer(result)?;
        let (outers, inners) = (self.points_of(outer)?, self.points_of(inner)?);
        let Some(parts) = parts(outers, inners) else { return self.points(points, outer) };
        let mut buffers = self.bound(groups)?;
        if outers == 0 {
            return Ok(());
        }
        let words = self.words(groups, [parts, 0])?;
        if parts == 1 {
            return self.dispatch_shader(groups, &words, &buffers, outers);
        }
        let elements = outers as usize * parts as usize;
        let elem = self.program.arrays[result].elem;
        let (scratch, _) = self.gpu.allocate(elements, elem, self.program.name, "parts of a reduction")?;
        // The last binding is where the parts go.
        buffers.pop();
        buffers.push(scratch.clone());
        self.dispatch_shader(groups, &words, &buffers, outers * parts)?;
        let combine = Builtin::Combine(elem, reducer);
        self.dispatch_builtin(combine, &[outers, parts], &[&scratch, &result_buffer], outers)
    }
}

/// Folds rows of `words[0].y` elements, one workgroup per row; `words[0].x` rows. Threads without an element
/// take no part, so no neutral element is needed.
pub(super) fn combine(elem: Elem, reducer: Reducer) -> String {
    let kind = match elem {
        Elem::F32 => "f32",
        Elem::F64 => "f64",
        Elem::I32 => "i32",
        Elem::I64 => "i64",
        Elem::U32 | Elem::Bool => "u32",
    };
    let pair = match reducer {
        Reducer::Add => "x + y",
        Reducer::Mul => "x * y",
        Reducer::Min => "min(x, y)",
        Reducer::Max => "max(x, y)",
        Reducer::And => "x & y",
        Reducer::Or => "x | y",
    };
    format!(
        "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read> parts: array<{kind}>;
@group(0) @binding(3) var<storage, read_write> result: array<{kind}>;

var<workgroup> partial: array<{kind}, 256>;

fn pair(x: {kind}, y: {kind}) -> {kind} {{
    return {pair};
}}

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num_wg: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {{
    let rows = words[0].x;
    let length = words[0].y;
    let row = wg.x + wg.y * num_wg.x;
    if row < rows && local < length {{
        var acc = parts[row * length + local];
        for (var i = local + 256u; i < length; i += 256u) {{
            acc = pair(acc, parts[row * length + i]);
        }}
        partial[local] = acc;
    }}
    workgroupBarrier();
    for (var half = 128u; half > 0u; half = half >> 1u) {{
        if local < half && local + half < length {{
            partial[local] = pair(partial[local], partial[local + half]);
        }}
        workgroupBarrier();
    }}
    if row < rows && local == 0u {{
        result[row] = partial[0];
    }}
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_suits_the_sizes() {
        assert_eq!(parts(5, 0), None);
        assert_eq!(parts(100_000, 3), None);
        assert_eq!(parts(20_000, 5000), None);
        assert_eq!(parts(3, 100_000), Some(25));
        assert_eq!(parts(1, 3_000_000), Some(733));
        assert_eq!(parts(1, 1 << 30), Some(1024));
        assert_eq!(parts(1000, 100_000), Some(1));
        assert_eq!(parts(0, 100), Some(1));
    }
}
