// Exact, as in Rust: WGSL's own is `a - b * trunc(a / b)` with all its roundings. Each round takes a multiple of b
// that is more than half of what is left, without rounding.
fn adsl_remainder_f32(a: f32, b: f32) -> f32 {
    if adsl_is_nan(a) || adsl_is_nan(b) || !adsl_is_finite(a) || b == 0.0f { return adsl_nan(); }
    let d = abs(b);
    var r = abs(a);
    while r >= d {
        let k = i32(bitcast<u32>(r) >> 23u) - i32(bitcast<u32>(d) >> 23u);
        let t = adsl_scale(d, k);
        r = r - select(t, 0.5f * t, t > r);
    }
    return adsl_with_sign(r, a);
}

fn adsl_rem_euclid_f32(a: f32, b: f32) -> f32 {
    let r = adsl_remainder_f32(a, b);
    return select(r, r + abs(b), r < 0.0f);
}

// Half away from zero.
fn adsl_round(x: f32) -> f32 {
    let t = trunc(x);
    let up = select(0.0f, 1.0f, abs(x - t) >= 0.5f);
    return adsl_with_sign(abs(t) + up, x);
}

fn adsl_f32_to_i32(x: f32) -> i32 {
    if adsl_is_nan(x) { return 0i; }
    if x >= 2147483648.0f { return 2147483647i; }
    if x <= -2147483648.0f { return i32(-2147483648); }
    return i32(x);
}

fn adsl_f32_to_u32(x: f32) -> u32 {
    if adsl_is_nan(x) || x <= 0.0f { return 0u; }
    if x >= 4294967296.0f { return 4294967295u; }
    return u32(x);
}
