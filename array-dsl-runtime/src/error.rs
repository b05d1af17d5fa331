//! The one error type. Every message is a complete sentence that names the kernel, what it is about (argument and
//! dimension, array, index), what was expected and found, and the source line.

use std::fmt;

/// What can go wrong when a kernel runs.
///
/// ```
/// # use array_dsl_runtime::Error;
/// let e = Error::SizeMismatch {
///     kernel: "nll",
///     argument: "y",
///     dimension: 0,
///     name: "n".into(),
///     expected: 5,
///     found: 4,
///     bound_by: Some("x".into()),
///     file: "src/lib.rs",
///     line: 12,
/// };
/// assert_eq!(
///     e.to_string(),
///     "kernel `nll`: argument `y`, dimension 0: expected n = 5 (from argument `x`), found 4 (src/lib.rs:12)"
/// );
/// ```
#[derive(thiserror::Error, Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields are described by their names and by the messages")]
pub enum Error {
    /// A dimension of an argument is not what the signature says.
    #[error(
        "kernel `{kernel}`: argument `{argument}`, dimension {dimension}: expected {}{}, found {found} ({file}:{line})",
        NamedValue(name, *expected), Binder(bound_by.as_deref())
    )]
    SizeMismatch {
        kernel: &'static str,
        argument: &'static str,
        /// The axis, from 0.
        dimension: usize,
        /// The text of the expected size, such as `n` or `n + 1`.
        name: Box<str>,
        expected: i64,
        found: i64,
        /// The argument that fixed the expected size.
        bound_by: Option<Box<str>>,
        file: &'static str,
        line: u32,
    },

    /// A dimension that tells a size by division is not what the signature says for any size: it does not divide, or is too small.
    #[error(
        "kernel `{kernel}`: argument `{argument}`, dimension {dimension}: expected {name} for a size {}, found {found} ({file}:{line})",
        size.trim_start_matches('#')
    )]
    NoSize {
        kernel: &'static str,
        argument: &'static str,
        /// The axis, from 0.
        dimension: usize,
        /// The text of the dimension, such as `2 * l`.
        name: Box<str>,
        /// The size that it tells.
        size: &'static str,
        found: i64,
        file: &'static str,
        line: u32,
    },

    /// A number for a `usize` argument that is negative, or beyond an `i64`.
    #[error(
        "kernel `{kernel}`: argument `{argument}`: expected a number that is {}, found {found} ({file}:{line})",
        if found.starts_with('-') { "not negative" } else { "less than 2^63" }
    )]
    NotASize {
        kernel: &'static str,
        argument: &'static str,
        /// The number as it is written.
        found: Box<str>,
        file: &'static str,
        line: u32,
    },

    /// An index is outside its array.
    #[error("kernel `{kernel}`: index {index} is out of range for length {length} ({file}:{line})")]
    IndexOutOfRange { kernel: &'static str, index: i64, length: i64, file: &'static str, line: u32 },

    /// An integer was divided by zero.
    #[error("kernel `{kernel}`: integer division by zero ({file}:{line})")]
    DivisionByZero { kernel: &'static str, file: &'static str, line: u32 },

    /// `argmin` or `argmax` of nothing.
    #[error("kernel `{kernel}`: `argmin` or `argmax` of an empty array ({file}:{line})")]
    EmptyExtremum { kernel: &'static str, file: &'static str, line: u32 },

    /// A condition on sizes, checked while running, does not hold.
    #[error("kernel `{kernel}`: {message} ({file}:{line})")]
    SizeCheck { kernel: &'static str, message: String, file: &'static str, line: u32 },

    /// The size of an array cannot be represented.
    #[error("kernel `{kernel}`: the size of `{array}` is too large to be represented ({file}:{line})")]
    SizeOverflow { kernel: &'static str, array: &'static str, file: &'static str, line: u32 },

    /// The memory of an array could not be had.
    #[error("kernel `{kernel}`: no memory for `{array}`, which takes {bytes} bytes ({file}:{line})")]
    OutOfMemory { kernel: &'static str, array: &'static str, bytes: u64, file: &'static str, line: u32 },

    /// An array has too many elements for 32-bit indices on the GPU, or for its buffers.
    #[error(
        "kernel `{kernel}`: `{array}` has {elements} elements, which take {bytes} bytes; \
         an array on this GPU has at most 2^30 elements and {most} bytes"
    )]
    TooLargeForGpu {
        kernel: &'static str,
        array: &'static str,
        elements: i64,
        /// Saturated.
        bytes: i64,
        /// The bytes of the largest buffer.
        most: u64,
    },

    /// The GPU has no memory left for an array.
    #[error("kernel `{kernel}`: this GPU has no memory for `{array}` of {bytes} bytes: {reason}")]
    OutOfGpuMemory {
        kernel: &'static str,
        array: &'static str,
        bytes: u64,
        /// What the driver says.
        reason: String,
    },

    /// A loop that goes on while something is true made as many trips as it may on a GPU.
    #[error(
        "kernel `{kernel}`: a `while` loop goes on after {trips} trips, which is the most on this GPU; \
         allow more with `Gpu::set_most_trips`, or run it on the CPU"
    )]
    TooManyTrips { kernel: &'static str, trips: u64 },

    /// Something that should be impossible: a defect of array-dsl.
    #[error(
        "{}{message}; this is a defect of array-dsl, please report it",
        if kernel.is_empty() { String::new() } else { format!("kernel `{kernel}`: ") }
    )]
    Internal {
        kernel: &'static str,
        /// The stage, the place, and what is wrong.
        message: String,
    },

    /// There is no usable GPU.
    #[error("no usable GPU: {reason}")]
    NoGpu { reason: String },

    /// A call that waits for the GPU, where nothing may wait: in a browser.
    #[error("`{call}` waits for the GPU, which a page in a browser cannot; {instead}")]
    CannotBlock {
        call: &'static str,
        /// Such as "use `run_async`".
        instead: &'static str,
    },

    /// The GPU lacks something that the kernel needs.
    #[error("kernel `{kernel}`: this GPU lacks {what}; {fix}")]
    GpuLacks { kernel: &'static str, what: String, fix: String },

    /// The kernel does something that no GPU code exists for. Uploads have no kernel (it is empty).
    #[error("{}{what}; {help}", if kernel.is_empty() { String::new() } else { format!("kernel `{kernel}` cannot run on a GPU: ") })]
    UnsupportedOnGpu {
        kernel: &'static str,
        /// Such as "argument `x` has element type f64".
        what: String,
        help: String,
    },

    /// A sparsity pattern that no matrix has.
    #[error("sparsity pattern: {message}")]
    Pattern { message: String },

    /// A sparsity pattern has another shape than the matrix.
    #[error(
        "kernel `{kernel}`: the sparsity pattern has {} rows and {} columns, but the {matrix} has {} and {}: \
         all entries of the float results, and of the arguments without `#[no_grad]`, count",
        found.0, found.1, expected.0, expected.1
    )]
    PatternShape {
        kernel: &'static str,
        /// "Jacobian" or "Hessian".
        matrix: &'static str,
        /// Rows and columns.
        expected: (usize, usize),
        found: (usize, usize),
    },

    /// The GPU or its driver reported a failure.
    #[error("the GPU reported an error: {message}")]
    Gpu { message: String },
}

impl Error {
    /// The same error of a kernel that is a part of the one which found it.
    #[doc(hidden)]
    #[must_use]
    pub fn of(mut self, name: &'static str) -> Error {
        use Error::*;
        match &mut self {
            SizeMismatch { kernel, .. }
            | NoSize { kernel, .. }
            | NotASize { kernel, .. }
            | IndexOutOfRange { kernel, .. }
            | DivisionByZero { kernel, .. }
            | EmptyExtremum { kernel, .. }
            | SizeCheck { kernel, .. }
            | SizeOverflow { kernel, .. }
            | OutOfMemory { kernel, .. }
            | TooLargeForGpu { kernel, .. }
            | OutOfGpuMemory { kernel, .. }
            | TooManyTrips { kernel, .. }
            | Internal { kernel, .. }
            | GpuLacks { kernel, .. }
            | UnsupportedOnGpu { kernel, .. }
            | PatternShape { kernel, .. } => *kernel = name,
            NoGpu { .. } | CannotBlock { .. } | Pattern { .. } | Gpu { .. } => {}
        }
        self
    }
}

/// `n = 5`, or just `5` where the text of the size is the number itself.
pub(crate) struct NamedValue<'a>(pub &'a str, pub i64);

impl fmt::Display for NamedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedValue(name, value) = self;
        // Unnamed sizes have internal names.
        if name.starts_with('#') || name.parse() == Ok(*value) {
            write!(f, "{value}")
        } else {
            write!(f, "{name} = {value}")
        }
    }
}

/// ` (from argument `x`)`, or nothing.
struct Binder<'a>(Option<&'a str>);

impl fmt::Display for Binder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |argument| write!(f, " (from argument `{argument}`)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mismatch(name: &str, bound_by: Option<&str>) -> String {
        Error::SizeMismatch {
            kernel: "f",
            argument: "x",
            dimension: 1,
            name: name.into(),
            expected: 3,
            found: 4,
            bound_by: bound_by.map(Into::into),
            file: "a.rs",
            line: 7,
        }
        .to_string()
    }

    #[test]
    fn mismatches_name_the_size_unless_it_is_a_number() {
        assert_eq!(
            mismatch("3", None),
            "kernel `f`: argument `x`, dimension 1: expected 3, found 4 (a.rs:7)"
        );
        assert_eq!(
            mismatch("n + 1", Some("y")),
            "kernel `f`: argument `x`, dimension 1: expected n + 1 = 3 (from argument `y`), found 4 (a.rs:7)"
        );
        assert_eq!(
            mismatch("#0", Some("y")),
            "kernel `f`: argument `x`, dimension 1: expected 3 (from argument `y`), found 4 (a.rs:7)"
        );
    }

    #[test]
    fn messages() {
        let (kernel, file, line) = ("f", "a.rs", 7);
        let not_a_size =
            |found: &str| Error::NotASize { kernel, argument: "n", found: found.into(), file, line };
        let cases = [
            (
                not_a_size("-1"),
                "kernel `f`: argument `n`: expected a number that is not negative, found -1 (a.rs:7)",
            ),
            (
                not_a_size("9223372036854775808"),
                "kernel `f`: argument `n`: expected a number that is less than 2^63, found 9223372036854775808 (a.rs:7)",
            ),
            (
                Error::IndexOutOfRange { kernel, index: -1, length: 3, file, line },
                "kernel `f`: index -1 is out of range for length 3 (a.rs:7)",
            ),
            (Error::DivisionByZero { kernel, file, line }, "kernel `f`: integer division by zero (a.rs:7)"),
            (
                Error::UnsupportedOnGpu {
                    kernel,
                    what: "argument `x` has element type f64".into(),
                    help: "use f32".into(),
                },
                "kernel `f` cannot run on a GPU: argument `x` has element type f64; use f32",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
