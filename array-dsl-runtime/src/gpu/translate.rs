//! Shaders as devices without Vulkan get them.
//!
//! Tests run where there is Vulkan. With the feature `assert-translated` every shader that a device is given is written in the languages
//! of Metal and DX12, too, by wgpu's own writers: what they do not translate is found where neither system is. Only what these devices
//! do not have may keep a shader from it: `f64`, and for Metal atomic operations on 64 bits.

use naga::back::{hlsl, msl};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, Scalar, ScalarKind, TypeInner};

/// Asserts that a shader can be translated, if it is one: what else is wrong with it wgpu tells.
pub(super) fn assert_translated(label: &str, wgsl: &str) {
    let Ok(module) = naga::front::wgsl::parse_str(wgsl) else { return };
    if Validator::new(ValidationFlags::all(), Capabilities::all()).validate(&module).is_err() {
        return;
    }
    let is_f64 = |s: Scalar| (s.kind, s.width) == (ScalarKind::Float, 8);
    if module.types.iter().any(|(_, t)| t.inner.scalar().is_some_and(is_f64)) {
        return;
    }
    let info = valid(label, wgsl, &module, hlsl::supported_capabilities());
    written(label, "HLSL", wgsl, hlsl_of(&module, &info));
    let has_atomics =
        module.types.iter().any(|(_, t)| matches!(t.inner, TypeInner::Atomic(s) if s.width == 8));
    if !has_atomics {
        let info = valid(label, wgsl, &module, msl::supported_capabilities());
        written(label, "MSL", wgsl, msl_of(&module, &info));
    }
}

fn valid(label: &str, wgsl: &str, module: &Module, of_device: Capabilities) -> ModuleInfo {
    let valid = Validator::new(ValidationFlags::all(), of_device).validate(module);
    valid.unwrap_or_else(|e| panic!("{label}: {}", e.emit_to_string(wgsl)))
}

fn hlsl_of(module: &Module, info: &ModuleInfo) -> Result<String, String> {
    let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_6, ..hlsl::Options::default() };
    let (mut text, pipeline) = (String::new(), hlsl::PipelineOptions::default());
    let written = hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None);
    written
        .map_err(|e| e.to_string())?
        .entry_point_names
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| e.to_string())?;
    Ok(text)
}

fn msl_of(module: &Module, info: &ModuleInfo) -> Result<String, String> {
    let options = msl::Options { lang_version: (2, 4), ..msl::Options::default() };
    let (text, made) = msl::write_string(module, info, &options, &msl::PipelineOptions::default())
        .map_err(|e| e.to_string())?;
    made.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
    Ok(text)
}

/// Asserts that a text was made.
fn written(label: &str, language: &str, wgsl: &str, made: Result<String, String>) {
    match made {
        Ok(text) => assert!(text.contains("main"), "{label} has no entry in {language}:\n{text}"),
        Err(e) => panic!("{label} is not translated to {language}: {e}\n{wgsl}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shader(head: &str, body: &str) -> String {
        format!("{head}\n@compute @workgroup_size(64) fn main() {{ {body} }}")
    }

    #[test]
    fn what_these_devices_lack_is_left_out() {
        assert_translated(
            "fine",
            &shader("var<workgroup> a: array<atomic<u32>, 4>;", "atomicAdd(&a[1], 2u);"),
        );
        assert_translated("floats", &shader("var<workgroup> a: array<f64, 4>;", "a[1] = 2.0lf;"));
        assert_translated(
            "atomics",
            &shader("var<workgroup> a: array<atomic<i64>, 4>;", "atomicAdd(&a[1], 2li);"),
        );
        assert_translated("no shader", "fn");
    }
}
