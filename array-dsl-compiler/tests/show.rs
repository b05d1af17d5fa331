mod common;
use array_dsl_compiler::*;
use array_dsl_compiler::testing::random::{arguments, program};
#[test]
fn show() {
    let seed: u64 = std::env::var("SEED").unwrap().parse().unwrap();
    let f = program(seed);
    println!("{}", core::print::pretty(&f));
    let flat = flatten::flatten(&f);
    println!("FLAT {}", bulk::print::print(&flat));
    let p = pipeline::middle(&f);
    println!("MIDDLE {}", bulk::print::print(&p));
    for s in [seed, seed+1_000_000] { println!("ARGS {:?}", arguments(&f, s)); println!("=> {:?}", core::interp::run(&f, &arguments(&f, s))); }
    if let Ok(w) = std::env::var("WHAT") {
        let what = match w.as_str() { "vjp" => derive::Derivative::Vjp, "jvp" => derive::Derivative::Jvp, _ => derive::Derivative::Hvp };
        let mut d = derive::derive(&p, what).unwrap();
        println!("DERIVED {}", bulk::print::print(&d));
        println!("{:?}", bulk::verify::check(&d));
        optimize::optimize(&mut d);
        println!("OPT {}", bulk::print::print(&d));
        let l = schedule::schedule(&d, schedule::Target::Cpu);
        println!("LOOPS {}", loops::print::print(&l));
    }
    let l = schedule::schedule(&p, schedule::Target::Cpu);
    println!("LOOPS {}", loops::print::print(&l));
}
