//! What code is generated for.

/// What code is generated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The cores of a CPU.
    Cpu,
    /// A GPU.
    Gpu,
}

/// What the stages before `lower` have to know of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Loops nest: a parallel loop with sequential loops inside, whose rows stay in cache. Else every tree is a flat space of points
    /// with at most one loop: nests over equal spaces share one, and folds over the same points, with what is stored on the way and at the
    /// end.
    pub nests: bool,
    /// Neighboring points of a loop go together, in lanes. Else each has a thread of its own: a few points leave most of the device
    /// idle, and what a host asks for one after the other is worth more than a thread that goes through much alone.
    pub lanes: bool,
    /// So many arrays a tree may use, with what is joined to it. A device that binds fewer says so and refuses the kernel, and some bind
    /// no more than eight: what uses many more than these is better off in several trees.
    pub arrays: usize,
    /// The runtime multiplies parts of arrays.
    pub parts: bool,
    /// The runtime has the routines of kernels.
    pub routines: bool,
    /// Points may be executed in order.
    pub orders_points: bool,
    /// Arrays are changed in place where nothing else needs what they were.
    pub updates: bool,
    /// A loop of the host level ends where its condition says. Else nobody waits to see it: some trips too many are made, and change
    /// nothing.
    pub exact_trips: bool,
    /// A number of the host level has memory that another array can take over; else it is a variable.
    pub scalars_in_memory: bool,
    /// What is rather computed again than stored and read.
    pub recompute: Recompute,
}

/// The price of an element of memory, written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recompute {
    /// So many simple operations cost less.
    pub work: usize,
    /// A reader may then use so many arrays: what every device binds, with room for what joins it.
    pub arrays: usize,
    /// The operations of a function as the exponential.
    pub function: usize,
    /// How many times as long an operation takes where floats have 64 bits: many GPUs have hardly any units for these.
    pub wide: usize,
    /// Only where a reader goes through the array in another order than that of its elements: else these are near.
    pub crosswise_only: bool,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 2] = [Target::Cpu, Target::Gpu];

    /// How it is called in the names of passes.
    pub fn name(self) -> &'static str {
        match self {
            Target::Cpu => "cpu",
            Target::Gpu => "gpu",
        }
    }

    /// What it can do.
    pub fn can(self) -> Capabilities {
        match self {
            Target::Cpu => Capabilities {
                nests: true,
                lanes: true,
                arrays: usize::MAX,
                parts: true,
                routines: true,
                orders_points: true,
                updates: true,
                exact_trips: true,
                scalars_in_memory: false,
                recompute: Recompute {
                    work: 48,
                    arrays: usize::MAX,
                    function: 20,
                    wide: 1,
                    crosswise_only: true,
                },
            },
            Target::Gpu => Capabilities {
                nests: false,
                lanes: false,
                arrays: 12,
                parts: false,
                routines: false,
                orders_points: false,
                updates: false,
                exact_trips: false,
                scalars_in_memory: true,
                recompute: Recompute { work: 64, arrays: 6, function: 16, wide: 4, crosswise_only: false },
            },
        }
    }
}
