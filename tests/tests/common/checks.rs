//! Three ways to a derivative.

/// Fails unless forward mode, reverse mode and differences agree.
macro_rules! assert_checks {
    ($kernel:expr, $args:expr) => {{
        let check = check_grad($kernel, $args).unwrap();
        assert!(check.agrees(1e-6), "{check}");
    }};
}
