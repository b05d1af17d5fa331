// Halley's iteration on m in [1, 8), where x = m * 2^(3 q).
fn adsl64_cbrt(x: f64) -> f64 {
    if adsl64_is_zero(x) || !adsl64_is_finite(x) { return x; }
    var bits = bitcast<u64>(x) & 0x7ffffffffffffffflu;
    var shift = 0i;
    if bits < 0x0010000000000000lu {
        // A subnormal number is so many times the least one, 2^-1074.
        bits = bitcast<u64>(f64(bitcast<i64>(bits)));
        shift = -358i;
    }
    let e = i32(u32(bits >> 52u)) - 1023i;
    let q = (e + 1200i) / 3i - 400i;
    let m = bitcast<f64>((bits & 0x000ffffffffffffflu) | (u64(u32(e - 3i * q + 1023i)) << 52u));
    var t = 0.85lf + m * (0.24lf - 0.0116lf * m);
    for (var k = 0i; k < 2i; k += 1i) {
        let c = t * t * t;
        t = t - t * (c - m) / (2.0lf * c + m);
    }
    // The last step from a number of few bits, whose square is exact.
    let h = adsl64_upper(t);
    let r = m / (h * h);
    return adsl64_with_sign(adsl64_scale(h + h * ((r - h) / (2.0lf * h + r)), q + shift), x);
}

fn adsl64_hypot(x: f64, y: f64) -> f64 {
    let a = abs(x);
    let b = abs(y);
    let infinite = (bitcast<u64>(a) == 0x7ff0000000000000lu) || (bitcast<u64>(b) == 0x7ff0000000000000lu);
    if infinite { return adsl64_inf(); }
    if adsl64_is_nan(x) || adsl64_is_nan(y) { return adsl64_nan(); }
    let big = max(a, b);
    if big == 0.0lf { return 0.0lf; }
    let r = min(a, b) / big;
    return big * sqrt(1.0lf + r * r);
}

// By repeated squaring.
fn adsl64_powu(x: f64, n: u64) -> f64 {
    var base = x;
    var rest = n;
    var product = 1.0lf;
    while rest != 0lu {
        if (rest & 1lu) == 1lu { product = product * base; }
        base = base * base;
        rest = rest >> 1u;
    }
    return product;
}

fn adsl64_powi(x: f64, n: i64) -> f64 {
    let bits = bitcast<u64>(n);
    if n >= 0li { return adsl64_powu(x, bits); }
    return 1.0lf / adsl64_powu(x, 0lu - bits);
}

// log2 x for finite x > 0 as a number of few bits and the rest, with some 15 bits more than a float has: what a factor
// of 2^10 leaves must be accurate. By fdlibm's method: x = 2^k m with m around c, 1 or 3/2, and log2(m / c) as a series
// in s = (m - c) / (m + c), of which the leading terms are in two parts.
fn adsl64_log2_parts(x: f64) -> vec2<f64> {
    let split = adsl64_ln_split(x);
    // There m is between sqrt(1/2) and sqrt(2); here it is between sqrt(3)/2 and sqrt(3).
    let below = split.y < -0.1339745962155614lf;
    let k = select(split.x, split.x - 1.0lf, below);
    let m = select(1.0lf + split.y, 2.0lf * (1.0lf + split.y), below);
    let middle = m >= 1.224744871391589lf;
    let c = select(1.0lf, 1.5lf, middle);
    // s = s_h + s_l.
    let u = m - c;
    let v = 1.0lf / (m + c);
    let s = u * v;
    let s_h = adsl64_upper(s);
    let d_h = adsl64_upper(m + c);
    let d_l = m - adsl64_kept(d_h - c);
    let s_l = v * (adsl64_kept(u - s_h * d_h) - s_h * d_l);
    // 1.5 ln(m / c) / s = 3 + s^2 + 3 s^4 / 5 + 3 s^6 / 7 + ... = t_h + t_l.
    let z = s * s;
    let p = 0.5999999999999982lf + z * (0.4285714285753923lf + z * (0.33333333085934946lf
        + z * (0.272727962571156lf + z * (0.2306726330616874lf + z * 0.2066382395984898lf))));
    let r = z * z * p + s_l * (s_h + s);
    let z_h = s_h * s_h;
    let t_h = adsl64_upper(3.0lf + z_h + r);
    let t_l = r - adsl64_kept(adsl64_kept(t_h - 3.0lf) - z_h);
    // s * (t_h + t_l) * 2 / (3 ln 2), then the logarithm of c and the exponent.
    let e_h = s_h * t_h;
    let e_l = s_l * t_h + t_l * s;
    let p_h = adsl64_upper(e_h + e_l);
    let p_l = e_l - adsl64_kept(p_h - e_h);
    let c_h = select(0.0lf, 0.5849624872207642lf, middle);
    let c_l = select(0.0lf, 1.350039202129749e-08lf, middle);
    let l_h = 0.9617967009544373lf * p_h;
    let l_l = p_l * 0.9617966939259756lf - 7.028461650952758e-09lf * p_h + c_l;
    let h = adsl64_upper(((l_h + l_l) + c_h) + k);
    return vec2<f64>(h, l_l - adsl64_kept(adsl64_kept(adsl64_kept(h - k) - c_h) - l_h));
}

// 2^(y log2 a) for finite a > 0 and y, the product in two parts.
fn adsl64_pow_kernel(a: f64, y: f64) -> f64 {
    let l = adsl64_log2_parts(a);
    let y_h = adsl64_upper(y);
    let q_h = y_h * l.x;
    let q_l = adsl64_kept(y - y_h) * l.x + y * l.y;
    if q_h + q_l >= 1025.0lf { return adsl64_inf(); }
    if q_h + q_l <= -1076.0lf { return 0.0lf; }
    let n = adsl64_nearest(q_h + q_l);
    let r = (adsl64_kept(q_h - n) + q_l) * 0.6931471805599453lf;
    return adsl64_scale(1.0lf + (r + r * r * adsl64_exp_series(r)), i32(n));
}

fn adsl64_powf(x: f64, y: f64) -> f64 {
    if adsl64_is_zero(y) || x == 1.0lf { return 1.0lf; }
    if adsl64_is_nan(x) || adsl64_is_nan(y) { return adsl64_nan(); }
    let a = abs(x);
    if !adsl64_is_finite(y) {
        if a == 1.0lf { return 1.0lf; }
        return select(0.0lf, adsl64_inf(), (a > 1.0lf) == (y > 0.0lf));
    }
    let whole = adsl64_trunc(y) == y;
    let sign = select(1.0lf, x, whole && adsl64_is_odd(y));
    if adsl64_is_zero(a) || !adsl64_is_finite(a) {
        return adsl64_with_sign(select(0.0lf, adsl64_inf(), adsl64_is_zero(a) == adsl64_is_negative(y)), sign);
    }
    if adsl64_is_negative(x) && !whole { return adsl64_nan(); }
    // Beyond this the power is 0, 1 or infinite; the kernel's products stay finite.
    let bounded = clamp(y, -18446744073709551616.0lf, 18446744073709551616.0lf);
    return adsl64_with_sign(adsl64_pow_kernel(a, bounded), sign);
}
