//! Additions to floats of 32 bits, native where the device has them.
//!
//! The text of a shader adds by two exchanges, which every device has; see `emit::wgsl::body` of the compiler. A device with
//! additions of its own has them where the memory is: of the function is left
//!
//! ```text
//! fn a4_add(at: u32, value: f32) { if value != 0.0f { atomicAdd(&a4[at], value); } }
//! ```
//!
//! and the elements of the array are `atomic<f32>`. An array that is used otherwise as well stays as it is, and so does the memory of
//! workgroups, of which no device says what it can.

use std::borrow::Cow;

/// What a device needs for that.
pub(super) const FEATURE: wgpu::Features = wgpu::Features::SHADER_FLOAT32_ATOMIC;

/// The end of the head of a function that adds, after the array's name.
const HEAD: &str = "_add(at: u32, value: f32) {";

/// The text with native additions.
pub(super) fn native(wgsl: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(wgsl);
    let functions = wgsl.lines().filter_map(|line| line.strip_prefix("fn ")?.strip_suffix(HEAD));
    for array in functions {
        if let Some(replaced) = replaced(&text, array) {
            text = Cow::Owned(replaced);
        }
    }
    text
}

/// The text with native additions to one array, if there are no other uses of it.
fn replaced(wgsl: &str, array: &str) -> Option<String> {
    let head = format!("fn {array}{HEAD}\n");
    let (before, rest) = wgsl.split_once(&head)?;
    let (body, after) = rest.split_once("\n}\n")?;
    let element = format!("&{array}[");
    if before.contains(&element) || after.contains(&element) || !body.contains("atomicExchange") {
        return None;
    }
    let [bits, floats] = ["u32", "f32"].map(|ty| format!(" {array}: array<atomic<{ty}>>;"));
    let (globals, middle) = before.split_once(&bits)?;
    Some(format!(
        "{globals}{floats}{middle}{head}    if value != 0.0f {{ atomicAdd(&{array}[at], value); }}\n}}\n{after}"
    ))
}

#[cfg(test)]
mod tests {
    use super::native;

    const ADDS: &str = "// a4: y [n] f32, combined into
@group(0) @binding(2) var<storage, read_write> a4: array<atomic<u32>>;

fn a4_add(at: u32, value: f32) {
    var rest: u32 = bitcast<u32>(value);
    while (rest & 0x7fffffffu) != 0u {
        let taken = bitcast<f32>(atomicExchange(&a4[at], 0u));
        rest = atomicExchange(&a4[at], bitcast<u32>(taken + bitcast<f32>(rest)));
    }
}

fn main() {
    a4_add(u32(i), v1);
}
";

    #[test]
    fn additions_by_exchanges_are_native() {
        let expected = "// a4: y [n] f32, combined into
@group(0) @binding(2) var<storage, read_write> a4: array<atomic<f32>>;

fn a4_add(at: u32, value: f32) {
    if value != 0.0f { atomicAdd(&a4[at], value); }
}

fn main() {
    a4_add(u32(i), v1);
}
";
        assert_eq!(native(ADDS), expected);
    }

    #[test]
    fn arrays_that_are_used_otherwise_stay() {
        let read = ADDS.replace("v1);", "v1);\n    let v2 = bitcast<f32>(atomicLoad(&a4[0]));");
        assert_eq!(native(&read), read);
        let private = ADDS.replace("a4", "private_bins").replace("<atomic<u32>>", "<atomic<u32>, 2048>");
        assert_eq!(native(&private), private);
        assert_eq!(native("fn main() {\n}\n"), "fn main() {\n}\n");
    }
}
