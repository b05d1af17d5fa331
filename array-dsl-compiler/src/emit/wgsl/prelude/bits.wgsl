// Values that no constant expression may have: made from a variable.
fn adsl_inf() -> f32 {
    var bits = 0x7f800000u;
    return bitcast<f32>(bits);
}

fn adsl_nan() -> f32 {
    var bits = 0x7fc00000u;
    return bitcast<f32>(bits);
}

fn adsl_negative_zero() -> f32 {
    var bits = 0x80000000u;
    return bitcast<f32>(bits);
}

fn adsl_is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn adsl_is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

fn adsl_with_sign(magnitude: f32, x: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(magnitude) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}

// The product, and zero if the first factor is zero, whatever the other is.
fn adsl_scaled(x: f32, y: f32) -> f32 {
    return select(x * y, 0.0, x == 0.0);
}

fn adsl_signum(x: f32) -> f32 {
    if adsl_is_nan(x) { return x; }
    return adsl_with_sign(1.0f, x);
}

// `x * 2^n` for |n| <= 252, in two steps so that neither factor overflows.
fn adsl_scale(x: f32, n: i32) -> f32 {
    let h = n >> 1u;
    return x * bitcast<f32>(u32(h + 127i) << 23u) * bitcast<f32>(u32(n - h + 127i) << 23u);
}

// The upper half of the significand: products of two such numbers are exact.
fn adsl_upper(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}
