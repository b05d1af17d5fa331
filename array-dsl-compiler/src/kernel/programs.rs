//! The programs of a kernel after Core, itself and its derivatives, each through all stages to its code.
//!
//! They have nothing to do with each other, and rustc has one thread for all macros of a crate: so they are compiled side by side, on
//! as many threads as there are cores. Tokens belong to rustc's thread, and there are none here.

use std::iter;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::bulk;
use crate::derive::{Derivative, NotDifferentiable};
use crate::emit::wgsl::GpuCode;
use crate::emit::{Compiled, wgsl};
use crate::internal::{self, Broken};
use crate::notes;
use crate::optimize;
use crate::pipeline;
use crate::target::Target;

/// A gradient of more statements than these has no gradient that nobody asked for: that of a solver in a solver is ten times as long as
/// all else of its kernel.
const LONG: usize = 5_000;

/// Of a kernel with more statements than these the gradient, with its value or without, is a part of the `vjp` and has no program of its own:
/// the value that it does not need costs little beside it, and what is compiled is half as much.
const SHARED: usize = 1_000;

/// The stack of a thread: passes are recursive, to a depth that is bounded.
const STACK: usize = 1 << 24;

/// What is made of a kernel.
pub enum Made {
    /// The kernel itself or a derivative.
    Program(Box<Compiled>),
    /// A gradient that is a part of the `vjp`.
    PartOfVjp(Derivative),
    /// There is no such derivative.
    Missing {
        /// Its name.
        name: String,
        /// The reason, with the line.
        why: String,
    },
    /// Rules of the compiler's own that a program breaks.
    Wrong(Vec<String>),
}

/// Compiles a kernel and these derivatives of it, each with its gradient where that `goes_on`; what is made of each.
pub fn compile(program: &bulk::Program, derivatives: &[Derivative], goes_on: bool) -> Vec<Vec<Made>> {
    let statements = program.statements();
    let shares = statements > SHARED && derivatives.contains(&Derivative::Vjp);
    let job = |k: usize| match k.checked_sub(1).map(|d| derivatives[d]) {
        None => vec![whole(Vec::new(), program)],
        Some(d @ Derivative::ValueAndGrad) if shares => vec![Made::PartOfVjp(d)],
        Some(d @ Derivative::Grad) if shares => {
            let second = goes_on.then(|| only_asked("the kernel", statements, SHARED, program));
            iter::once(Made::PartOfVjp(d)).chain(second).collect()
        }
        Some(d) => derivative(program, d, goes_on),
    };
    side_by_side(1 + derivatives.len(), &job)
}

/// A derivative, and where it is a gradient that has one, its gradient.
fn derivative(program: &bulk::Program, d: Derivative, goes_on: bool) -> Vec<Made> {
    let derived = match pipeline::derivative(program, d) {
        Ok(derived) => derived,
        Err(reason) => return vec![missing(d.name(), &reason, program)],
    };
    let mut made = vec![whole(vec![d], &derived)];
    if d == Derivative::Grad && goes_on && d.exists(&derived) {
        let statements = derived.statements();
        if statements > LONG {
            made.push(only_asked("the gradient", statements, LONG, &derived));
            return made;
        }
        made.push(match pipeline::derivative(&derived, d) {
            Ok(second) => whole(vec![d, d], &second),
            Err(reason) => missing("grad(grad)", &reason, &derived),
        });
    }
    made
}

/// The second gradient of what has so many statements, which are more than `most`.
fn only_asked(of: &str, statements: usize, most: usize, program: &bulk::Program) -> Made {
    let what = format!(
        "{of} has {statements} statements, and only where it has at most {most} there is a second gradient unasked; `#[kernel(hvp)]` asks for it"
    );
    missing("grad(grad)", &NotDifferentiable { what, loc: None }, program)
}

fn missing(name: &str, reason: &NotDifferentiable, program: &bulk::Program) -> Made {
    let place = reason.loc.and_then(|l| program.places.get(l.0 as usize));
    let line = place.map_or_else(String::new, |p| format!(" (line {})", p.line));
    Made::Missing { name: name.into(), why: format!("`{name}`: {}{line}", reason.what) }
}

/// A program for both targets.
fn whole(path: Vec<Derivative>, program: &bulk::Program) -> Made {
    let checks = notes::section("checks", &program.name, &program.places, &optimize::remaining(program));
    let both = pipeline::back(program, Target::Cpu).and_then(|cpu| Ok((cpu, for_gpus(program)?)));
    let (cpu, gpu) = match both {
        Ok(both) => both,
        Err(wrong) => return Made::Wrong(wrong),
    };
    internal::stage("emit");
    let mut compiled = Compiled::new(path, cpu, gpu);
    let costs = notes::costs(&compiled.cpu);
    let bulk = bulk::print::print(program);
    compiled.explain = format!("{checks}{costs}== bulk ==\n{bulk}\n{}", compiled.explain);
    Made::Program(compiled.into())
}

/// The code for GPUs, or why there is none; rules that the program breaks. Half of the work is for this, and who has no GPUs does
/// without.
fn for_gpus(program: &bulk::Program) -> Result<Result<GpuCode, String>, Vec<String>> {
    if !cfg!(feature = "gpu") {
        return Ok(Err("array-dsl is used without its feature `gpu`".into()));
    }
    let lowered = pipeline::back(program, Target::Gpu)?;
    internal::stage("emit");
    Ok(wgsl::emit(&lowered))
}

/// What the jobs give, in their order. A panic of the first that has one is passed on.
fn side_by_side<T: Send>(count: usize, job: &(impl Fn(usize) -> T + Sync)) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(count);
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let k = next.fetch_add(1, Relaxed);
            if k >= count {
                return;
            }
            let made: Result<T, Broken> = internal::caught_apart(|| job(k));
            results.lock().unwrap_or_else(|e| e.into_inner()).push((k, made));
        }
    };
    thread::scope(|s| {
        for _ in 1..threads {
            // Without another thread this one does it all.
            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(s, work);
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(k, _)| *k);
    results.into_iter().map(|(_, made)| made.unwrap_or_else(|broken| broken.pass_on())).collect()
}

#[cfg(test)]
mod tests {
    use super::{LONG, Made, SHARED, compile, side_by_side};
    use crate::bulk::Program;
    use crate::bulk::parse::parse;
    use crate::derive::Derivative;
    use crate::internal::{caught, stage};

    /// `x` squared so many times.
    fn squares_of(squares: usize) -> Program {
        let lets: String = (0..squares).map(|k| format!("%{} = mul %{k} %{k}; ", k + 1)).collect();
        let text = format!(
            "program f(x.0: f64)\ny.1: f64 = nest [] {{ %0 = x.0[]; {lets} }} store %{squares}\n=> y.1"
        );
        parse(&text).expect("it parses")
    }

    /// Its gradient.
    fn gradients(squares: usize) -> Vec<Made> {
        compile(&squares_of(squares), &[Derivative::Grad], true).pop().expect("there is a gradient")
    }

    #[test]
    fn only_short_gradients_have_gradients_unasked() {
        assert!(matches!(gradients(10)[..], [Made::Program(_), Made::Program(_)]));
        let [Made::Program(_), Made::Missing { name, why }] = &gradients(LONG)[..] else {
            panic!("a gradient, and none of it")
        };
        assert_eq!(name, "grad(grad)");
        assert!(why.contains("statements") && why.contains("`#[kernel(hvp)]`"), "{why}");
    }

    #[test]
    fn gradients_of_long_kernels_are_parts_of_their_vjp() {
        let made = |squares: usize, derivatives: &[Derivative]| {
            let made = compile(&squares_of(squares), derivatives, true);
            let parts = |m: &[Made]| m.iter().filter(|m| matches!(m, Made::PartOfVjp(_))).count();
            made.iter().map(|m| parts(m)).collect::<Vec<_>>()
        };
        let all = [Derivative::Grad, Derivative::ValueAndGrad, Derivative::Vjp];
        assert_eq!(made(10, &all), [0, 0, 0, 0]);
        assert_eq!(made(SHARED + 10, &all), [0, 1, 1, 0]);
        // Without one there is nothing that it could be a part of.
        assert_eq!(made(SHARED + 10, &all[..1]), [0, 0]);
    }

    #[test]
    fn results_are_in_order_and_the_first_panic_is_told() {
        assert_eq!(side_by_side(50, &|k| k * k), (0..50).map(|k| k * k).collect::<Vec<_>>());
        let found = caught(|| {
            side_by_side(9, &|k| {
                stage("derive");
                assert!(k % 4 != 3, "job {k} is broken");
            })
        });
        assert!(found.is_err_and(|text| text.starts_with("job 3 is broken (")));
    }
}
