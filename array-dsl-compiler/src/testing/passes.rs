//! Passes by their names, on programs as text.
//!
//! | name | from | to |
//! |---|---|---|
//! | `flatten` | Core | Bulk |
//! | `split`, `simplify`, `states`, `share`, `accumulate`, `invariant`, `inline` | Bulk | Bulk: one pass of a round |
//! | `optimize` | Bulk | Bulk: rounds until nothing changes |
//! | `vjp`, `grad`, `jvp`, .. | Bulk | Bulk: a derivative, optimized |
//! | `update` | Bulk | Bulk: one of the last passes before scheduling |
//! | `finish cpu`, `finish gpu` | Bulk | Bulk: as that target takes it, by the last passes that are for it among others |
//! | `schedule cpu`, `schedule gpu` | Bulk | Loops |
//! | `lower cpu`, `lower gpu` | Loops | Loops |
//! | `emit cpu`, `emit gpu` | Loops | the text of a back end: Rust, or WGSL and what the runtime is told |
//!
//! A text is a kernel in the language, Core, or Bulk. What a pass makes is verified.

use std::collections::BTreeMap;
use std::fmt;

use super::compare::stage;
use super::kernels;
use crate::Verified;
use crate::bulk::{self, Stm, YieldKind};
use crate::core;
use crate::derive::Derivative;
use crate::emit;
use crate::flatten::flatten;
use crate::loops::{self, Step};
use crate::optimize;
use crate::pipeline;
use crate::schedule::schedule;
use crate::target::Target;

/// A program at some stage.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Typed and nested.
    Core(Box<core::Function>),
    /// Flat nests.
    Bulk(Box<bulk::Program>),
    /// Scheduled, and lowered.
    Loops(Box<loops::Program>),
    /// What a back end prints.
    Code(String),
}

/// The names of all passes.
pub fn names() -> Vec<String> {
    let mut out: Vec<String> = vec!["flatten".into(), "optimize".into()];
    out.extend(steps().map(|(name, _)| name.to_string()));
    out.extend(Derivative::ALL.iter().map(|d| d.name().to_string()));
    for target in Target::ALL {
        out.extend(["finish", "schedule", "lower", "emit"].map(|step| format!("{step} {}", target.name())));
    }
    out.sort();
    out.dedup();
    out
}

fn steps() -> impl Iterator<Item = &'static optimize::Pass> {
    optimize::ROUND.iter().chain(pipeline::LAST.iter().map(|(pass, _)| pass))
}

impl Stage {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Stage, String> {
        if text.trim_start().starts_with("program") {
            return Stage::Bulk(Box::new(bulk::parse::parse(text)?)).verified("the text");
        }
        if let Ok(f) = core::parse::parse(text) {
            return Stage::Core(Box::new(f)).verified("the text");
        }
        kernels::compile(text).map(|f| Stage::Core(Box::new(f))).map_err(|errors| errors.join("\n"))
    }

    /// What a pass makes of it.
    ///
    /// # Errors
    /// There is no such pass for it, or the pass breaks a rule.
    pub fn then(self, pass: &str) -> Result<Stage, String> {
        let made = stage(pass, || self.made(pass))??;
        made.verified(pass)
    }

    fn made(self, pass: &str) -> Result<Stage, String> {
        if !names().iter().any(|name| name == pass) {
            return Err(format!("no pass is called `{pass}`; there are {}", names().join(", ")));
        }
        let ir = match self {
            Stage::Core(_) => "Core",
            Stage::Bulk(_) => "Bulk",
            Stage::Loops(_) => "Loops",
            Stage::Code(_) => "code",
        };
        let (name, target) = match pass.split_once(' ') {
            Some((name, target)) => (name, Target::ALL.into_iter().find(|t| t.name() == target)),
            None => (pass, None),
        };
        let bulk = |p: bulk::Program| Ok(Stage::Bulk(Box::new(p)));
        match (self, name, target) {
            (Stage::Core(f), "flatten", _) => bulk(flatten(&f).map_err(|e| e.what)?),
            (Stage::Bulk(p), "schedule", Some(target)) => Ok(Stage::Loops(Box::new(schedule(&p, target)))),
            (Stage::Loops(mut l), "lower", Some(target)) => {
                pipeline::lower(&mut l, target);
                Ok(Stage::Loops(l))
            }
            (Stage::Loops(l), "emit", Some(target)) => {
                let lowered = loops::verify::verify(*l).map_err(|rules| rules.join("\n"))?;
                emitted(&lowered, target).map(Stage::Code)
            }
            (Stage::Bulk(mut p), "finish", Some(target)) => {
                pipeline::finish(&mut p, target);
                bulk(*p)
            }
            (Stage::Bulk(mut p), "optimize", None) => {
                optimize::optimize(&mut p);
                bulk(*p)
            }
            (Stage::Bulk(mut p), name, None) => {
                if let Some((_, pass)) = steps().find(|(n, _)| *n == name) {
                    optimize::Sequence::run(&mut p, *pass);
                    return bulk(*p);
                }
                match Derivative::ALL.into_iter().find(|d| d.name() == name) {
                    Some(d) if d.exists(&p) => bulk(pipeline::derivative(&p, d).map_err(|e| e.what)?),
                    Some(d) => Err(format!("there is no {name} of it: {}", d.needs())),
                    None => Err(format!("`{pass}` does not apply to {ir}")),
                }
            }
            _ => Err(format!("`{pass}` does not apply to {ir}")),
        }
    }

    fn verified(self, made_by: &str) -> Result<Stage, String> {
        let errors = match &self {
            Stage::Core(f) => core::verify::check(f),
            Stage::Bulk(p) => bulk::verify::check(p),
            Stage::Loops(p) => loops::verify::check(p),
            Stage::Code(_) => Vec::new(),
        };
        let text = || errors.iter().map(|e| format!("  {e}\n")).collect::<String>();
        if errors.is_empty() { Ok(self) } else { Err(format!("{made_by} breaks rules:\n{}{self}", text())) }
    }

    /// How many there are of everything that costs something, in the order of their names.
    pub fn counts(&self) -> String {
        let mut counts = BTreeMap::new();
        match self {
            Stage::Core(_) | Stage::Code(_) => {}
            Stage::Bulk(p) => count_bulk(&p.stms, &mut counts),
            Stage::Loops(p) => count_loops(&p.steps, &mut counts),
        }
        counts.into_iter().map(|(what, n)| format!("{what} {n}")).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Stage::Core(p) => core::print::print(p),
            Stage::Bulk(p) => bulk::print::print(p),
            Stage::Loops(p) => loops::print::print(p),
            Stage::Code(text) => text.clone(),
        })
    }
}

/// What the back end of a target prints.
fn emitted(p: &Verified<loops::Program>, target: Target) -> Result<String, String> {
    if target == Target::Cpu {
        let code = emit::cpu::emit(p);
        return Ok(format!("{}\n{}", code.items, code.body));
    }
    let code = emit::wgsl::emit(p)?;
    let shaders = code.shaders.iter().map(|s| format!("{}\n", s.wgsl));
    Ok(shaders.chain([code.program]).collect())
}

type Counts = BTreeMap<&'static str, usize>;

fn count_bulk(stms: &[Stm], counts: &mut Counts) {
    let mut add = |what| *counts.entry(what).or_default() += 1;
    for s in stms {
        match s {
            Stm::Nest(n) => {
                add("nests");
                for y in &n.yields {
                    match y.kind {
                        YieldKind::Store(_) => add("stores"),
                        YieldKind::Reduce { .. } => add("reductions"),
                        YieldKind::Accumulate { .. } => add("accumulations"),
                        YieldKind::Write { .. } => add("writes"),
                    }
                }
            }
            Stm::Reshape { .. } => add("views"),
            Stm::Check(..) => add("checks"),
            Stm::Repeat(_) => add("repeats"),
            Stm::Sort(_) => add("sorts"),
            Stm::Custom(_) => add("custom"),
            Stm::Call(_) => add("calls"),
        }
    }
    for s in stms {
        if let Stm::Repeat(r) = s {
            count_bulk(&r.body, counts);
        }
    }
}

fn count_loops(steps: &[Step], counts: &mut Counts) {
    for s in steps {
        let what = match s {
            Step::Tree(_) => "trees",
            Step::Contract(_) => "contractions",
            Step::Check(..) => "checks",
            Step::Fill { .. } => "fills",
            Step::Copy { .. } => "copies",
            Step::Move { .. } => "moves",
            Step::Repeat(_) => "repeats",
            Step::Bands(_) => "bands",
            Step::Sort(_) => "sorts",
            Step::Call(_) => "calls",
        };
        *counts.entry(what).or_default() += 1;
        count_loops(s.inside(), counts);
    }
}
