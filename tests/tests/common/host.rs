//! Kernels for the host of one expression each.

/// `name(argument: type, ..) -> type = value;`, without derivatives.
macro_rules! host {
    ($($name:ident($($arg:ident: $t:ty),*) -> $result:ty = $value:expr;)*) => {$(
        #[kernel(value)]
        fn $name($($arg: $t),*) -> $result {
            $value
        }
    )*};
}
