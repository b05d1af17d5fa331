//! The code of one program for all targets: texts, and no tokens, which belong to the thread that rustc runs macros on.

use super::cpu::{self, CpuCode};
use super::wgsl::GpuCode;
use crate::Verified;
use crate::derive::Derivative;
use crate::loops::{self, Program};

/// A kernel or one of its derivatives.
pub struct Compiled {
    /// Which derivatives of the kernel lead here, the last one last; empty: the kernel itself.
    pub path: Vec<Derivative>,
    /// For the CPU.
    pub cpu: Verified<Program>,
    /// Its code.
    pub code: CpuCode,
    /// For the GPU, or why not.
    pub gpu: Result<GpuCode, String>,
    /// The text of `explain()` before the shaders.
    pub explain: String,
}

impl Compiled {
    /// Prints a program for the CPU, beside its code for the GPU; what it explains are its loops and its code.
    pub fn new(path: Vec<Derivative>, cpu: Verified<Program>, gpu: Result<GpuCode, String>) -> Compiled {
        let code = cpu::emit(&cpu);
        let none = gpu.as_ref().err().map_or_else(String::new, |e| format!("== wgsl ==\nnone: {e}\n"));
        let loops = loops::print::print(&cpu);
        let explain = format!("== loops ==\n{loops}\n== rust ==\n{}{}\n{none}", code.items, code.body);
        Compiled { path, cpu, code, gpu, explain }
    }
}
