// Halley's iteration on m in [1, 8), where x = m * 2^(3 q).
fn adsl_cbrt(x: f32) -> f32 {
    if x == 0.0f || !adsl_is_finite(x) { return x; }
    var a = abs(x);
    var shift = 0i;
    if a < 1.17549435e-38f {
        a = a * 16777216.0f;
        shift = -8i;
    }
    let bits = bitcast<u32>(a);
    let e = i32(bits >> 23u) - 127i;
    let q = (e + 300i) / 3i - 100i;
    let m = bitcast<f32>((bits & 0x007fffffu) | (u32(e - 3i * q + 127i) << 23u));
    var t = 0.85f + m * (0.24f - 0.0116f * m);
    for (var k = 0i; k < 3i; k += 1i) {
        let c = t * t * t;
        t = t - t * (c - m) / (2.0f * c + m);
    }
    return adsl_with_sign(adsl_scale(t, q + shift), x);
}

fn adsl_hypot(x: f32, y: f32) -> f32 {
    let a = abs(x);
    let b = abs(y);
    let infinite = (bitcast<u32>(a) == 0x7f800000u) || (bitcast<u32>(b) == 0x7f800000u);
    if infinite { return adsl_inf(); }
    if adsl_is_nan(x) || adsl_is_nan(y) { return adsl_nan(); }
    let big = max(a, b);
    if big == 0.0f { return 0.0f; }
    let r = min(a, b) / big;
    return big * sqrt(1.0f + r * r);
}

// By repeated squaring.
fn adsl_powu(x: f32, n: u32) -> f32 {
    var base = x;
    var rest = n;
    var product = 1.0f;
    while rest != 0u {
        if (rest & 1u) == 1u { product = product * base; }
        base = base * base;
        rest = rest >> 1u;
    }
    return product;
}

fn adsl_powi(x: f32, n: i32) -> f32 {
    if n >= 0i { return adsl_powu(x, u32(n)); }
    return 1.0f / adsl_powu(x, 0u - u32(n));
}

// 2^(y log2 a) for finite a > 0 and y, with log2 a in two parts.
fn adsl_pow_kernel(a: f32, y: f32) -> f32 {
    var x = a;
    var k = 0i;
    if x < 1.17549435e-38f {
        x = x * 16777216.0f;
        k = -24i;
    }
    let bits = bitcast<u32>(x) + (0x3f800000u - 0x3f3504f3u);
    k += i32(bits >> 23u) - 127i;
    let m = bitcast<f32>((bits & 0x007fffffu) + 0x3f3504f3u);
    // s = (m - 1) / (m + 1) in two parts.
    let u = m - 1.0f;
    let v = 1.0f / (m + 1.0f);
    let s = u * v;
    let s_h = adsl_upper(s);
    let d_h = adsl_upper(m + 1.0f);
    let d_l = m - (d_h - 1.0f);
    let s_l = v * ((u - s_h * d_h) - s_h * d_l);
    // 1.5 ln(m) / s = 3 + s^2 + 3 s^4 / 5 + 3 s^6 / 7 + ...
    let z = s * s;
    var r = z * z * (0.6f + z * (0.42857143f + z * (0.33333333f + z * (0.27272727f + z * (0.23076923f + z * 0.2f)))));
    r += s_l * (s_h + s);
    let z_h = s_h * s_h;
    let t_h = adsl_upper(3.0f + z_h + r);
    let t_l = r - ((t_h - 3.0f) - z_h);
    // log2(m) = s * (t_h + t_l) * 2 / (3 ln 2).
    let e_h = s_h * t_h;
    let e_l = s_l * t_h + t_l * s;
    let p_h = adsl_upper(e_h + e_l);
    let p_l = e_l - (p_h - e_h);
    let l_h = 0.961914063f * p_h;
    let l_l = -0.00011736857f * p_h + p_l * 0.96179670f;
    let n = f32(k);
    let log_h = adsl_upper((l_h + l_l) + n);
    let log_l = l_l - ((log_h - n) - l_h);
    // y log2(a) in two parts, then the power of two.
    let y_h = adsl_upper(y);
    let q_l = (y - y_h) * log_h + y * log_l;
    let q_h = y_h * log_h;
    if q_h + q_l >= 128.5f { return adsl_inf(); }
    if q_h + q_l <= -151.0f { return 0.0f; }
    let w = round(q_h + q_l);
    let f = (q_h - w) + q_l;
    return adsl_scale(1.0f + adsl_exp_m1_kernel(f * 0.69314718f), i32(w));
}

fn adsl_powf(x: f32, y: f32) -> f32 {
    if y == 0.0f || x == 1.0f { return 1.0f; }
    if adsl_is_nan(x) || adsl_is_nan(y) { return adsl_nan(); }
    let a = abs(x);
    if !adsl_is_finite(y) {
        if a == 1.0f { return 1.0f; }
        return select(0.0f, adsl_inf(), (a > 1.0f) == (y > 0.0f));
    }
    let whole = trunc(y) == y;
    let odd = whole && abs(y) < 16777216.0f && (i32(y) & 1i) == 1i;
    let sign = select(1.0f, x, odd);
    if a == 0.0f || !adsl_is_finite(a) {
        return adsl_with_sign(select(0.0f, adsl_inf(), (a == 0.0f) == (y < 0.0f)), sign);
    }
    if x < 0.0f && !whole { return adsl_nan(); }
    // Beyond this the power is 0, 1 or infinite; the kernel's products stay finite.
    let bounded = clamp(y, -4e9f, 4e9f);
    return adsl_with_sign(adsl_pow_kernel(a, bounded), sign);
}
