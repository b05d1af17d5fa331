// `ln(1 + f)` for 1 + f between sqrt(1/2) and sqrt(2), plus `k ln 2`.
fn adsl_ln_kernel(f: f32, k: f32) -> f32 {
    let s = f / (2.0f + f);
    let z = s * s;
    let w = z * z;
    let r = z * (0.66666662693f + w * 0.28498786688f) + w * (0.40000972152f + w * 0.24279078841f);
    let h = 0.5f * f * f;
    return k * 0.69313812256f - ((h - (s * (h + r) + k * 0.0000090580006145f)) - f);
}

fn adsl_ln(x: f32) -> f32 {
    if adsl_is_nan(x) { return x; }
    if x < 0.0f { return adsl_nan(); }
    if x == 0.0f { return -adsl_inf(); }
    if !adsl_is_finite(x) { return x; }
    var y = x;
    var k = 0i;
    if y < 1.17549435e-38f {
        y = y * 8388608.0f;
        k = -23i;
    }
    // The exponent counts from sqrt(1/2), whose bits are 0x3f3504f3.
    let bits = bitcast<u32>(y) + (0x3f800000u - 0x3f3504f3u);
    k += i32(bits >> 23u) - 127i;
    let m = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u);
    return adsl_ln_kernel(m - 1.0f, f32(k));
}

fn adsl_ln_1p(x: f32) -> f32 {
    if x > -0.29f && x < 0.41f {
        return select(adsl_ln_kernel(x, 0.0f), x, abs(x) < 1e-8f);
    }
    return adsl_ln(1.0f + x);
}

// `exp(r) - 1` for |r| <= ln(2) / 2.
fn adsl_exp_m1_kernel(r: f32) -> f32 {
    let q = 0.0083333333f + r * (0.0013888889f + r * (0.00019841270f + r * 0.000024801587f));
    return r + r * r * (0.5f + r * (0.16666667f + r * (0.041666667f + r * q)));
}

fn adsl_exp_m1(x: f32) -> f32 {
    if adsl_is_nan(x) { return x; }
    if x > 89.0f { return adsl_inf(); }
    if x < -18.0f { return -1.0f; }
    let n = round(x * 1.44269504f);
    let r = (x - n * 0.69313812256f) - n * 0.0000090580006145f;
    let p = adsl_exp_m1_kernel(r);
    if n == 0.0f { return adsl_with_sign(p, x); }
    if n > 100.0f { return adsl_scale(1.0f + p, i32(n)); }
    let scale = bitcast<f32>(u32(i32(n) + 127i) << 23u);
    return scale * p + (scale - 1.0f);
}

// Near zero a polynomial of the least relative error, 8e-9; else the exponential's error counts little. No branch: networks have
// little else.
fn adsl_tanh(x: f32) -> f32 {
    let a = abs(x);
    let z = x * x;
    let p = 0.13331542f + z * (-0.053738630f + z * (0.020616015f - z * 0.0056647947f));
    let near = x + x * (z * (-0.33333293f + z * p));
    let far = 1.0f - 2.0f / (exp(2.0f * min(a, 20.0f)) + 1.0f);
    return select(select(adsl_with_sign(far, x), near, a < 0.625f), x, adsl_is_nan(x));
}

fn adsl_sinh(x: f32) -> f32 {
    if adsl_is_nan(x) { return x; }
    let a = abs(x);
    if a > 88.0f {
        let e = adsl_exp_m1(0.5f * a);
        return adsl_with_sign((0.5f * e) * e, x);
    }
    let t = adsl_exp_m1(a);
    return adsl_with_sign(0.5f * (t + t / (t + 1.0f)), x);
}

fn adsl_cosh(x: f32) -> f32 {
    let a = abs(x);
    if a > 88.0f {
        let e = adsl_exp_m1(0.5f * a);
        return (0.5f * e) * e;
    }
    let e = 1.0f + adsl_exp_m1(a);
    return 0.5f * e + 0.5f / e;
}

fn adsl_sigmoid(x: f32) -> f32 {
    let e = exp(-abs(x));
    return select(e, 1.0f, x >= 0.0f) / (1.0f + e);
}
