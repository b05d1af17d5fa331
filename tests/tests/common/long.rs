//! A kernel of more than a thousand statements: its gradients are parts of its `vjp`.

use array_dsl::prelude::*;

/// A kernel whose step is written 2^k times, with k underscores.
macro_rules! repeated {
    ($head:tt $tail:tt [] {$($step:tt)*}) => { repeated! { @ $head $tail {$($step)*} } };
    ($head:tt $tail:tt [_ $($more:tt)*] {$($step:tt)*}) => { repeated! { $head $tail [$($more)*] {$($step)* $($step)*} } };
    (@ {fn $name:ident $params:tt -> $elem:ident; $($first:tt)*} {$($last:tt)*} {$($step:tt)*}) => {
        #[kernel]
        pub fn $name $params -> $elem { $($first)* $($step)* $($last)* }
    };
}

repeated! {
    {fn long(x: [f32; n], scale: f32) -> f32; let mut h = scale;}
    {h}
    [_ _ _ _ _ _ _ _]
    {h = h * x[0] + x[1] / (1.0 + h * h);}
}

/// The same as a loop.
#[kernel]
pub fn looped(x: [f32; n], scale: f32) -> f32 {
    let mut h = scale;
    for _ in 0..256 {
        h = h * x[0] + x[1] / (1.0 + h * h);
    }
    h
}
