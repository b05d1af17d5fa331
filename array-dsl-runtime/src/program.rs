//! Programs as data: the constants that generated code hands to the runtime. The compiler prints them; nothing
//! here is meant to be written by hand.

use crate::strip::Strip;

/// An integer polynomial over size atoms: the sum of `coefficient * product of atoms`. Atoms are positions in
/// the list of size values that a call works with: first the named sizes, then host scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poly(pub &'static [(i64, &'static [u16])]);

impl Poly {
    /// The value; `None` on overflow, and if an atom is not there.
    pub fn eval(&self, atoms: &[i64]) -> Option<i64> {
        let mut sum = 0i64;
        for (c, atoms_of_term) in self.0 {
            let mut p = *c;
            for a in *atoms_of_term {
                p = p.checked_mul(*atoms.get(usize::from(*a))?)?;
            }
            sum = sum.checked_add(p)?;
        }
        Some(sum)
    }
}

/// Element types as the runtime sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "Rust's names")]
pub enum Elem {
    F32,
    F64,
    I32,
    I64,
    U32,
    Bool,
}

impl Elem {
    /// The bytes that an element takes on a device.
    pub fn bytes(self) -> u32 {
        match self {
            Elem::F64 | Elem::I64 => 8,
            Elem::F32 | Elem::I32 | Elem::U32 | Elem::Bool => 4,
        }
    }
}

/// A place in the user's source that an error can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "plain")]
pub struct Site {
    pub kernel: &'static str,
    pub file: &'static str,
    pub line: u32,
}

/// What a kernel expects of its arguments: checked on entry, in order.
#[derive(Debug)]
pub struct Signature {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The named sizes; the first atoms of every `Poly`. A name that starts with `#` was not given by the user.
    pub sizes: &'static [&'static str],
    /// The sizes among them that are chosen when running.
    pub strips: &'static [Strip],
    /// One entry per array (leaves of tuples included; scalars have no dimensions).
    pub arrays: &'static [ArrayArg],
    /// The dimensions of each array of the result; none for those that only data tell.
    pub results: &'static [&'static [Option<Poly>]],
    /// The file of the kernel.
    pub file: &'static str,
    /// The line of the kernel.
    pub line: u32,
}

/// One array of the arguments.
#[derive(Debug)]
pub struct ArrayArg {
    /// The argument's name, with the position for a component of a tuple (`p.0`).
    pub name: &'static str,
    /// Declared dimensions with the text the user wrote. A dimension that is one size atom, met for the
    /// first time, binds it; others bind what is left, see `entry`.
    pub dims: &'static [(Poly, &'static str)],
}

/// A host-level check.
#[derive(Debug)]
pub struct Check {
    /// What must hold.
    pub kind: CheckKind,
    /// Made only if all of these are positive.
    pub guards: &'static [Poly],
    /// Where it comes from.
    pub site: Site,
}

/// What a check compares; each polynomial comes with its text.
#[derive(Debug)]
pub enum CheckKind {
    /// Equal sizes.
    Equal((Poly, &'static str), (Poly, &'static str)),
    /// Not negative.
    NonNegative((Poly, &'static str)),
    /// The second is at least the first.
    AtLeast((Poly, &'static str), (Poly, &'static str)),
}

/// A kernel for the GPU. Generated code has it as a text, see `gpu::Written`.
#[derive(Debug)]
pub struct GpuProgram {
    /// The kernel's name.
    pub name: &'static str,
    /// Every array; steps and results are positions here.
    pub arrays: &'static [GpuArrayInfo],
    /// Which arrays the inputs are, in the order of `Signature::arrays`.
    pub inputs: &'static [usize],
    /// Which arrays the results are, in order. (A result may be an input or a view.)
    pub results: &'static [usize],
    /// What is done, in order.
    pub steps: &'static [GpuStep],
    /// Places that index errors name; a shader's site number plus its `site_base` word is a position here.
    pub sites: &'static [Site],
}

/// An array of a GPU program.
#[derive(Debug)]
pub struct GpuArrayInfo {
    /// The user's name or one derived from it.
    pub name: &'static str,
    /// Element type. In memory: numbers as they are, `bool` as a `u32` that is 0 or 1.
    pub elem: Elem,
    /// Dimensions.
    pub dims: &'static [Poly],
    /// Where the elements are.
    pub home: GpuHome,
}

/// Where the elements of a GPU array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuHome {
    /// An input of rank one or more: the caller's buffer.
    Input,
    /// An input of rank 0, or the number of a loop's trip: a value on the host, passed in uniform words.
    HostScalar,
    /// A buffer from the pool.
    Heap,
    /// The buffer of another array.
    View(usize),
    /// Fused away.
    Nowhere,
}

/// A word of a shader's uniform block: binding 0, `var<uniform> words: array<vec4<u32>, N>`, word `w` at `words[w / 4][w % 4]`.
#[derive(Debug)]
pub enum Word {
    /// A size or extent, as `u32` (bit pattern of the `i32` if negative); refused beyond 2^30. One that only the device knows
    /// is copied in there; that can be done if it is a single atom.
    Size(Poly),
    /// The low word of a size as an `i64`.
    Long(Poly),
    /// The high word of it.
    LongHigh(Poly),
    /// The bits of a host scalar, the low word of one of 64 bits (`bool` as 0 or 1).
    Scalar(usize),
    /// The high word of it.
    High(usize),
    /// What must be added to a shader's site numbers (one number space per device).
    SiteBase,
    /// The most trips of a `while` in the shader.
    MostTrips,
    /// Only in `GpuStep::Reduce`'s `groups`, the number of parts, and in the passes of `GpuStep::Scan`, of chunks.
    Parts,
    /// In the passes of `GpuStep::Scan` the points of a thread, in `GpuStep::Reduce`'s `groups` and `GpuStep::Team` the threads of a point.
    Each,
    /// Only in `GpuStep::Reduce`'s `groups`: the outer points that are planned for, from one part's results to the next one's.
    Planned,
    /// Only in `GpuStep::Reduce`'s `groups`: 1 where the parts are combined.
    Stage,
    /// 0, which the shader's compiler does not know.
    Zero,
}

/// How a shader uses an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`, every element of it written by one thread at most.
    Write,
    /// `var<storage, read_write>` of `array<atomic<u32>>` or `array<atomic<i32>>`.
    Atomic,
}

/// One compute shader with its interface. Entry point `main`, workgroup size 256 x 1 x 1.
///
/// Bindings of group 0: 0 the uniform words; 1 the status words (`array<atomic<u32>, 4>`, only if `status`: `[0]` is the
/// failing site + base + 1, set by compare-and-exchange from 0 by the first thread to fail, which then sets `[1]` to the index and
/// `[2]` to the length, both as bits); from 2 on the arrays of `bindings` in order.
#[derive(Debug)]
pub struct Shader {
    /// For labels in tools.
    pub label: &'static str,
    /// The text.
    pub wgsl: &'static str,
    /// The uniform words.
    pub words: &'static [Word],
    /// Sizes that the shader makes of its words, and the trips of a thread in loops in loops; refused beyond 2^30.
    pub sizes: &'static [Poly],
    /// The arrays.
    pub bindings: &'static [(usize, Access)],
    /// Whether binding 1 is there.
    pub status: bool,
    /// One thread per point: the points that a thread has, 256 apart.
    pub each: u32,
    /// Whether all loops of the text are known to end: then nothing counts their trips.
    pub ends: Option<Promise>,
    /// What the device must have.
    pub needs: &'static [Need],
}

/// A promise of the compiler's, which only texts that it is trusted with can give: see `Written::trusted`.
#[derive(Clone, Copy, Debug)]
pub struct Promise(pub(crate) ());

/// What not every device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Floats of 64 bits.
    F64,
    /// Integers of 64 bits.
    I64,
    /// Atomic operations on integers of 64 bits.
    I64Atomics,
}

/// A way to combine values into an array by way of bins that each workgroup has for itself. Any number of workgroups go over the
/// points in strides.
#[derive(Debug)]
pub struct Private {
    /// The shader.
    pub shader: Shader,
    /// What is combined into.
    pub array: usize,
    /// The most elements that it may have.
    pub most: usize,
}

/// What a sort gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sorted {
    /// The positions (`i64`) in their row of the elements, in order.
    Positions,
    /// The elements.
    Values,
}

/// A step of a GPU program.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are few, and tests write them as constants, which cannot be boxed"
)]
pub enum GpuStep {
    /// One thread for each point of a space, or for as many as the shader says: those of workgroup `g = wg.x + wg.y * num_wg.x` are
    /// `g * 256 * each + k * 256 + local` for `k < each`, as far as these are below the product of the extents.
    Points {
        /// The shader.
        shader: Shader,
        /// Extents; one thread for each point of their product.
        extents: &'static [Poly],
        /// Another way, for values that are combined into few elements.
        private: Option<Private>,
    },
    /// A reduction over inner points for each outer point, in whichever of three ways suits the sizes.
    Reduce {
        /// One thread per outer point that loops over the inner ones, as for `Points`.
        points: Shader,
        /// Extents of the outer space.
        outer: &'static [Poly],
        /// Extents of the inner space.
        inner: &'static [Poly],
        /// Workgroup number `g = wg.x + wg.y * num_wg.x` has part `g % parts` of 256 / lanes outer points, from `g / parts` times as many
        /// on. The `lanes` threads of a point fold the inner points `part * lanes + lane`, stepping by `parts * lanes`, combine through
        /// workgroup memory, and do what is done with the results if `parts` is 1; else they are kept in the scratch memory at
        /// `(part * planned + point) * words`. At stage 1 there are no parts to the workgroups, and the threads fold those instead.
        groups: Shader,
        /// Workgroup number `g` has 128 points of the last outer axis but one, from `g / Parts % Each` times as many on, and 32 of the last
        /// one, from `g % Parts` times as many on, and of the axes before them all together point `g / Parts / Each`.
        tiles: Option<Shader>,
        /// Whether threads side by side have neighboring outer points; else neighboring inner ones. At stage 1 they have.
        across: bool,
        /// The words of what is kept of a part.
        words: u32,
        /// Stands for the scratch memory.
        scratch: usize,
    },
    /// Steps that a team of threads can do for each outer point, one after the other, or else one by one.
    Team {
        /// Workgroup number `g = wg.x + wg.y * num_wg.x` has 256 / lanes outer points from `g` times as many on, each of which has
        /// `lanes` threads.
        shader: Shader,
        /// Extents of the outer space.
        outer: &'static [Poly],
        /// The inner points of each of the steps.
        inner: &'static [Poly],
        /// The steps: points and reductions.
        steps: &'static [GpuStep],
    },
    /// Prefixes along one axis for each outer point, in whichever of three ways suits the sizes. `Parts` chunks of 256 groups of
    /// `Each` points; `scratch` holds, each as the bits of all states, the totals of the chunks of all outer points, then the
    /// prefixes of all groups.
    Scan {
        /// One thread per outer point that goes along the axis, as for `Points`.
        points: Shader,
        /// Extents of the outer space.
        outer: &'static [Poly],
        /// The extent of the axis.
        length: Poly,
        /// A workgroup per chunk: writes its total, and the prefixes of its groups.
        fold: Shader,
        /// A workgroup per outer point: each total becomes that of all chunks before.
        starts: Shader,
        /// Goes along the axis: a workgroup per chunk, or with `ends` one thread per outer point.
        run: Shader,
        /// All in one: `Parts` threads for each outer point go along the axis in steps of `Each` points for each.
        rows: Option<Shader>,
        /// The number of words that the states take.
        states: u32,
        /// Stands for the scratch memory.
        scratch: usize,
        /// Only the last group is run.
        ends: bool,
    },
    /// A sum of products of arrays of floats of one type; positions in `extents`, as in the compiler's `Contract`.
    Contract {
        /// For labels in tools.
        label: &'static str,
        /// Extents of all axes.
        extents: &'static [Poly],
        /// The result and its axes, outermost first.
        out: (usize, &'static [usize]),
        /// The first operand and its axes.
        a: (usize, &'static [usize]),
        /// The second operand and its axes.
        b: (usize, &'static [usize]),
    },
    /// Rows in ascending order; equal elements keep their order, NaN come last.
    Sort {
        /// For labels in tools.
        label: &'static str,
        /// What the result is.
        sorted: Sorted,
        /// The result.
        result: usize,
        /// What is sorted.
        keys: usize,
        /// The extents of the rows.
        rows: &'static [Poly],
        /// The elements of a row.
        length: Poly,
    },
    /// Sets every element to these bits.
    Fill(usize, u64),
    /// Copies the elements of the second to the first.
    Copy(usize, usize),
    /// The first takes over the memory of the second, which is not used again. Where others have that memory too, it is
    /// copied.
    Move(usize, usize),
    /// Fails the call if it does not hold.
    Check(Check),
    /// Makes the value of an array (`i64` of rank 0) that the device has computed an atom of sizes.
    Size {
        /// The array.
        array: usize,
        /// The atom.
        atom: u16,
        /// The value is not negative, and at most this; a negative bound counts as 0.
        most: Option<Poly>,
    },
    /// Executes steps again and again.
    Repeat {
        /// How often.
        trips: Trips,
        /// What goes from trip to trip.
        carried: &'static [Carried],
        /// A trip.
        steps: &'static [GpuStep],
    },
}

/// How many trips a loop makes.
#[derive(Debug)]
pub enum Trips {
    /// So many.
    For {
        /// The trip's number, an array whose home is `HostScalar`.
        index: usize,
        /// The trip's number among the atoms of sizes.
        atom: u16,
        /// The number of trips.
        count: Poly,
    },
    /// As long as this array, a state, is true. Trips that find it false change nothing.
    While(usize),
}

/// An array that goes from trip to trip. At the end of a trip all states become their next values at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Its value before the trip.
    pub state: usize,
    /// Its value before the first trip.
    pub start: usize,
    /// Its value after the trip.
    pub next: usize,
}

/// What tests of this crate share.
#[cfg(test)]
pub mod testing {
    use super::Signature;

    /// That of a kernel without arguments.
    pub static SIGNATURE: Signature = Signature {
        kernel: "f",
        sizes: &[],
        strips: &[],
        arrays: &[],
        results: &[],
        file: "src/lib.rs",
        line: 12,
    };
}
