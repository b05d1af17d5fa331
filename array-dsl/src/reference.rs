//! Every function of the kernel language: what it takes and gives, and what it means at the edges. **The modules hold nothing but
//! their text**: in a kernel the functions are there without an import.
//!
//! | | functions |
//! |---|---|
//! | make arrays | [`build`], [`replicate`], [`zeros`], [`ones`], [`iota`], [`linspace`] |
//! | apply | [`map`], [`reduce`], [`scan`], [`scan_exclusive`] |
//! | reduce | [`sum`], [`prod`], [`mean`], [`minimum`], [`maximum`], [`argmin`], [`argmax`], [`logsumexp`] |
//! | truth values | [`any`], [`all`], [`count`] |
//! | along an axis | [`cumsum`], [`cumprod`], [`softmax`] |
//! | linear algebra | [`dot`], [`matmul`], [`matvec`], [`outer`], and `einsum!`; more in [`linalg`](crate::linalg) |
//! | order, choose | [`sort`], [`argsort`], [`sort_by_key`], [`filter`], [`partition`] |
//! | shape | [`transpose`], [`permute`], [`reshape`], [`flatten`], [`unflatten`], [`len`], [`dim`], [`zip`], [`unzip`] |
//! | pieces | [`slice`](mod@slice), [`step_by`], [`windows`], [`concat`](mod@concat), [`rotate`], [`reverse`] |
//! | by index | [`gather`], [`scatter`], [`scatter_add`], [`hist`], [`reduce_by_index`] |
//! | differentiate | [`grad`], [`value_and_grad`], [`vjp`], [`jvp`], [`hvp`], [`jacobian`], [`hessian`], [`vmap`], [`stop_gradient`] |
//! | arithmetic | [`add`], [`sub`], [`mul`], [`div`], [`rem`], [`rem_euclid`], [`neg`], [`mul_add`], [`recip`] |
//! | compare | [`eq`], [`ne`], [`lt`], [`le`], [`gt`], [`ge`], [`min`], [`max`], [`clamp`], [`select`] |
//! | bits, truth | [`and`], [`or`], [`xor`], [`not`], [`shl`], [`shr`] |
//! | signs | [`abs`], [`signum`], [`signum0`], [`copysign`] |
//! | whole numbers | [`floor`], [`ceil`], [`round`], [`trunc`], [`fract`] |
//! | tests | [`is_nan`], [`is_finite`], [`is_infinite`] |
//! | exponentials | [`exp`], [`exp2`], [`exp_m1`], [`ln`], [`ln_1p`], [`log`], [`log2`], [`log10`], [`sigmoid`] |
//! | powers | [`powf`], [`powi`], [`sqrt`], [`cbrt`], [`hypot`] |
//! | angles | [`sin`], [`cos`], [`tan`], [`sin_cos`], [`asin`], [`acos`], [`atan`], [`atan2`], [`to_radians`], [`to_degrees`] |
//! | hyperbolic | [`sinh`], [`cosh`], [`tanh`], [`asinh`], [`acosh`], [`atanh`] |
//! | special | [`erf`], [`erfc`], [`lgamma`], [`digamma`], [`polygamma`] |
//!
//! What holds for all of them:
//!
//! * **Functions and methods** are the same: `max(x, y)` is `x.max(y)`. What takes a function first has the array as receiver:
//!   `xs.map(f)`, `xs.scan(op, neutral)`.
//! * **Ranks.** A number has rank 0, a vector 1, a matrix 2. A function is mapped over arguments of a higher rank than it takes, from
//!   the outside: `sum` takes a vector, so of a matrix it gives the sum of each row. Functions of numbers go element by element.
//!   Arguments of a lower rank are repeated: `matrix + vector` adds the vector to each row. There are no dimensions of size 1 that
//!   stretch. An application that could be read in two ways is an error.
//! * **Types** do not mix: `n as f64` converts. Indices and sizes are `i64`, of which `usize` is another name. Literals take the type of
//!   what they meet.
//! * **Integers wrap around** in all arithmetic, in release builds and others, without an error. A division of integers by zero is an
//!   error that names the line.
//! * **Indices outside** are errors that name the line, the index and the length where something is read or assigned. `scatter`,
//!   `scatter_add`, `hist` and `reduce_by_index` drop them.
//! * **NaN** is passed over by `min`, `max` and their reductions, comes last in sorts, and goes through all other arithmetic. On GPUs WGSL
//!   lets drivers assume that there is none.
//! * **A derivative that meets a cotangent or tangent of exactly 0** contributes 0, even where it is infinite.
//! * **CPU and GPU**: all functions work on both, for `f32` and `f64` where the device has these, with all derivatives, as
//!   `docs/constructs.md` lists. Kernels for GPUs that use `i64` arrays or `f64` need a device that has them.

// What the macro makes has the texts of the folder `reference`, one file a function, each with what the compiler's tables say.
array_dsl_macros::__built_in_pages! {}
