//! Code grows with the text: twice the lines are at most about twice the code, derivatives included.

use array_dsl_compiler::kernel;
use array_dsl_compiler::testing::growing::GROWING;
use proc_macro2::TokenStream;

/// The characters of what a program becomes, with all derivatives that are not on request.
fn size(source: &str) -> usize {
    let item: syn::ItemFn = syn::parse_str(source).expect("a function");
    let code = kernel::compile(&TokenStream::new(), &item, Vec::new()).to_string();
    assert!(!code.contains("compile_error"), "{source}\n{code}");
    code.len()
}

#[test]
fn code_grows_with_the_text() {
    for growing in GROWING {
        let [few, more, many] = [4, 8, 16].map(|n| size(&(growing.program)(n)));
        // The growth per line, as what does not depend on their number stays out of it.
        let (first, second) = (more.saturating_sub(few) / 4, many.saturating_sub(more) / 8);
        println!("{:>9} {:>9} {:>9}  {}", few, more, many, growing.of);
        assert!(
            2 * second < 3 * first + 2000,
            "{} characters a line, and then {second}: {}",
            first,
            growing.of
        );
    }
}
