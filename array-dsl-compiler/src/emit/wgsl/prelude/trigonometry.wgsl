// atan on [0, 1]: beyond tan(pi/8) through atan(t) = pi/4 + atan((t - 1) / (t + 1)).
fn adsl_atan_kernel(t: f32) -> f32 {
    let far = t > 0.41421356f;
    let u = select(t, (t - 1.0f) / (t + 1.0f), far);
    let z = u * u;
    let p = ((0.080537445f * z - 0.13877685f) * z + 0.19977711f) * z - 0.33332949f;
    return select(0.0f, 0.78539816f, far) + (u + u * z * p);
}

fn adsl_atan(x: f32) -> f32 {
    if adsl_is_nan(x) { return x; }
    let a = abs(x);
    let angle = adsl_atan_kernel(select(a, 1.0f / a, a > 1.0f));
    return adsl_with_sign(select(angle, 1.57079633f - angle, a > 1.0f), x);
}

// asin on [0, 1/2].
fn adsl_asin_kernel(x: f32) -> f32 {
    let z = x * x;
    let p = (((0.042163199f * z + 0.024181311f) * z + 0.045470026f) * z + 0.074953003f) * z + 0.16666752f;
    return x + x * z * p;
}

// Beyond 1/2 through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
fn adsl_asin(x: f32) -> f32 {
    let a = abs(x);
    if !(a <= 1.0f) { return adsl_nan(); }
    if a <= 0.5f { return adsl_with_sign(adsl_asin_kernel(a), x); }
    return adsl_with_sign(1.57079633f - 2.0f * adsl_asin_kernel(sqrt(0.5f - 0.5f * a)), x);
}

fn adsl_acos(x: f32) -> f32 {
    let a = abs(x);
    if !(a <= 1.0f) { return adsl_nan(); }
    if a <= 0.5f { return 1.57079633f - adsl_with_sign(adsl_asin_kernel(a), x); }
    let angle = 2.0f * adsl_asin_kernel(sqrt(0.5f - 0.5f * a));
    return select(angle, 3.14159265f - angle, x < 0.0f);
}

fn adsl_atan2(y: f32, x: f32) -> f32 {
    if adsl_is_nan(x) || adsl_is_nan(y) { return adsl_nan(); }
    let a = abs(x);
    let b = abs(y);
    let big = max(a, b);
    var t = 0.0f;
    if !adsl_is_finite(big) {
        t = select(0.0f, 1.0f, !adsl_is_finite(min(a, b)));
    } else if big > 0.0f {
        // Near the largest and the least numbers a division may overflow inside; halves do not.
        let scale = select(select(1.0f, 16777216.0f, big < 1e-30f), 0.25f, big > 1e37f);
        t = (min(a, b) * scale) / (big * scale);
    }
    var angle = adsl_atan_kernel(t);
    if b > a { angle = 1.57079633f - angle; }
    if (bitcast<u32>(x) >> 31u) == 1u { angle = 3.14159265f - angle; }
    return adsl_with_sign(angle, y);
}
