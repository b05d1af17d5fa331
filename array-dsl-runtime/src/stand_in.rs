//! What the functions of a kernel with errors do.

/// Nothing: rustc refuses to make code of it, so that no program has it, should there be no error elsewhere after all. (The constant
/// is evaluated where the function is made for a type, and not before.)
pub fn never<T>() -> T {
    const { panic!("[AD0001] a kernel that could not be compiled is called") }
}
