// Values that no constant expression may have: made from a variable.
fn adsl64_inf() -> f64 {
    var bits = 0x7ff0000000000000lu;
    return bitcast<f64>(bits);
}

fn adsl64_nan() -> f64 {
    var bits = 0x7ff8000000000000lu;
    return bitcast<f64>(bits);
}

fn adsl64_negative_zero() -> f64 {
    var bits = 0x8000000000000000lu;
    return bitcast<f64>(bits);
}

fn adsl64_is_nan(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ffffffffffffffflu) > 0x7ff0000000000000lu;
}

fn adsl64_is_finite(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ff0000000000000lu) != 0x7ff0000000000000lu;
}

// Subnormal numbers are not, even where comparisons take them for zero.
fn adsl64_is_zero(x: f64) -> bool {
    return (bitcast<u64>(x) & 0x7ffffffffffffffflu) == 0lu;
}

fn adsl64_is_negative(x: f64) -> bool {
    return (bitcast<u64>(x) >> 63u) == 1lu;
}

fn adsl64_with_sign(magnitude: f64, x: f64) -> f64 {
    return bitcast<f64>((bitcast<u64>(magnitude) & 0x7ffffffffffffffflu) | (bitcast<u64>(x) & 0x8000000000000000lu));
}

// The product, and zero if the first factor is zero, whatever the other is.
fn adsl64_scaled(x: f64, y: f64) -> f64 {
    return select(x * y, 0.0lf, x == 0.0lf);
}

fn adsl64_signum(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    return adsl64_with_sign(1.0lf, x);
}

// `x * 2^n` for |n| <= 2044, in two steps so that neither factor overflows.
fn adsl64_scale(x: f64, n: i32) -> f64 {
    let h = n >> 1u;
    return x * bitcast<f64>(u64(u32(h + 1023i)) << 52u) * bitcast<f64>(u64(u32(n - h + 1023i)) << 52u);
}

// The number itself, which compilers have to make before they go on. Some take sums of reals for associative: they make
// `x - n (a + b)` of `(x - n a) - n b`, and `t` of `h + (t - h)`. What is exact only as it is written goes through this.
fn adsl64_kept(x: f64) -> f64 {
    return bitcast<f64>(bitcast<u64>(x) ^ u64(adsl_zero()));
}

// The upper 21 bits of the significand: products of two such numbers are exact, fused with a sum or not.
fn adsl64_upper(x: f64) -> f64 {
    return bitcast<f64>(bitcast<u64>(x) & 0xffffffff00000000lu);
}
