//! What a kernel is replaced by depends on the kernel alone: builds can be repeated, and rustc's caches serve. Each map of the
//! compiler's with hashed keys has an order of its own, so that one process can show it.

use array_dsl_compiler::kernel::link;
use array_dsl_compiler::testing::constructs::CONSTRUCTS;
use proc_macro2::TokenStream;

#[test]
fn every_construct_is_compiled_to_the_same_code_again() {
    for c in CONSTRUCTS {
        let item: TokenStream = c.source("f64", "i64").parse().expect("a function");
        let compiled = || link::attribute(TokenStream::new(), item.clone()).to_string();
        let first = compiled();
        for _ in 0..3 {
            let again = compiled();
            let at = first.bytes().zip(again.bytes()).position(|(a, b)| a != b);
            let from = |text: &str| {
                at.map(|at| {
                    String::from_utf8_lossy(&text.as_bytes()[at..]).chars().take(300).collect::<String>()
                })
            };
            assert!(first == again, "{}: {:?}\n{:?}", c.name, from(&first), from(&again));
        }
    }
}
