// `(exp(r) - 1 - r) / r^2` for |r| <= ln(2) / 2.
fn adsl64_exp_series(r: f64) -> f64 {
    let q = 0.0001984126989354659lf + r * (2.4801586948587747e-05lf + r * (2.7557237322646417e-06lf
        + r * (2.755757264831458e-07lf + r * (2.511127654732451e-08lf + r * 2.082762154329851e-09lf))));
    return 0.5lf + r * (0.16666666666666682lf + r * (0.04166666666666618lf + r * (0.008333333333318394lf
        + r * (0.0013888888889094404lf + r * q))));
}

// `x - n ln 2` as an exact difference of numbers of few bits, and the rest.
fn adsl64_off_ln2(x: f64, n: f64) -> vec2<f64> {
    let h = adsl64_upper(x);
    return vec2<f64>(h - n * 0.6931471803691238lf, adsl64_kept(adsl64_kept(x - h) - n * 1.9082149292705877e-10lf));
}

// `exp(x + rest) * 2^k` for -746 <= x <= 711, a small rest and |k| <= 2.
fn adsl64_exp_kernel(x: f64, rest: f64, k: i32) -> f64 {
    let n = adsl64_nearest(x * 1.4426950408889634lf);
    let parts = adsl64_off_ln2(x, n);
    let low = parts.y + rest;
    let r = parts.x + low;
    return adsl64_scale(1.0lf + (parts.x + (low + r * r * adsl64_exp_series(r))), i32(n) + k);
}

fn adsl64_exp(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    if x > 710.0lf { return adsl64_inf(); }
    if x < -746.0lf { return 0.0lf; }
    return adsl64_exp_kernel(x, 0.0lf, 0i);
}

fn adsl64_exp2(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    if x >= 1024.0lf { return adsl64_inf(); }
    if x < -1076.0lf { return 0.0lf; }
    let n = adsl64_nearest(x);
    let r = (x - n) * 0.6931471805599453lf;
    return adsl64_scale(1.0lf + (r + r * r * adsl64_exp_series(r)), i32(n));
}

// `(exp(x) - 1) / 4` for -40 <= x <= 710.6; the divisor keeps it finite there. With s = 2^n / 4 it is
// `(s - 1/4) + s * r + s * r^2 * series(r)`, where the first sum cancels and is kept in two parts.
fn adsl64_exp_m1_quarter(x: f64) -> f64 {
    let n = adsl64_nearest(x * 1.4426950408889634lf);
    let parts = adsl64_off_ln2(x, n);
    let r = parts.x + parts.y;
    let s = adsl64_scale(0.25lf, i32(n));
    let a = s - 0.25lf;
    let b = s * parts.x;
    let h = adsl64_upper(a + b);
    return h + (adsl64_kept(adsl64_kept(a - h) + b) + s * (parts.y + r * r * adsl64_exp_series(r)));
}

fn adsl64_exp_m1(x: f64) -> f64 {
    if adsl64_is_nan(x) || abs(x) < 5e-17lf { return x; }
    if x > 710.0lf { return adsl64_inf(); }
    if x < -40.0lf { return -1.0lf; }
    return 4.0lf * adsl64_exp_m1_quarter(x);
}

// With t = exp(2 |x|) - 1: `t / (t + 2)`.
fn adsl64_tanh(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) || a < 5e-17lf { return x; }
    let q = adsl64_exp_m1_quarter(2.0lf * min(a, 22.0lf));
    return adsl64_with_sign(q / (q + 0.5lf), x);
}

// With t = exp |x| - 1: `(t + t / (t + 1)) / 2`.
fn adsl64_sinh(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) || a < 5e-17lf { return x; }
    if a > 710.6lf { return adsl64_with_sign(adsl64_inf(), x); }
    let q = adsl64_exp_m1_quarter(a);
    return adsl64_with_sign(2.0lf * q + q / (2.0lf * q + 0.5lf), x);
}

// With t = exp |x| / 2: `t + 1 / (4 t)`.
fn adsl64_cosh(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) { return x; }
    if a > 710.6lf { return adsl64_inf(); }
    let t = adsl64_exp_kernel(a, 0.0lf, -1i);
    return t + 0.25lf / t;
}

fn adsl64_sigmoid(x: f64) -> f64 {
    let e = adsl64_exp(-abs(x));
    return select(e, 1.0lf, x >= 0.0lf) / (1.0lf + e);
}

// Whether x is in the domain of the logarithms' kernels.
fn adsl64_is_positive(x: f64) -> bool {
    return bitcast<u64>(x) - 1lu < 0x7feffffffffffffflu;
}

// The logarithms of what is not positive and finite.
fn adsl64_ln_limit(x: f64) -> f64 {
    if adsl64_is_zero(x) { return -adsl64_inf(); }
    if adsl64_is_nan(x) || !adsl64_is_negative(x) { return x; }
    return adsl64_nan();
}

// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), as k and f.
fn adsl64_ln_split(x: f64) -> vec2<f64> {
    var bits = bitcast<u64>(x);
    var k = -1023i;
    if bits < 0x0010000000000000lu {
        // A subnormal number is so many times the least one, 2^-1074.
        bits = bitcast<u64>(f64(bitcast<i64>(bits)));
        k = -2097i;
    }
    // The exponent counts from sqrt(1/2), whose bits are 0x3fe6a09e667f3bcd.
    bits += 0x00095f619980c433lu;
    let m = bitcast<f64>((bits & 0x000ffffffffffffflu) + 0x3fe6a09e667f3bcdlu);
    return vec2<f64>(f64(i32(u32(bits >> 52u)) + k), m - 1.0lf);
}

// `ln(1 + f) = f - (square - rest)`, with square = f^2 / 2: the square and the rest.
fn adsl64_ln_kernel(f: f64) -> vec2<f64> {
    let square = 0.5lf * f * f;
    let s = f / (2.0lf + f);
    let z = s * s;
    let q = 0.18183397617822422lf + z * (0.15318012960560906lf + z * 0.14758778821840896lf);
    let p = 0.66666666666667lf + z * (0.3999999999960831lf + z * (0.28571428704601626lf
        + z * (0.22222202068974622lf + z * q)));
    return vec2<f64>(square, s * (square + z * p));
}

fn adsl64_ln(x: f64) -> f64 {
    if !adsl64_is_positive(x) { return adsl64_ln_limit(x); }
    let split = adsl64_ln_split(x);
    let t = adsl64_ln_kernel(split.y);
    let rest = t.y + split.x * 1.9082149292705877e-10lf;
    return split.x * 0.6931471803691238lf - ((t.x - rest) - split.y);
}

// The logarithm of u = 1 + h with h next to x, so short that the sum is exact (below -1/2 it is for x), and
// `(x - h) / u`. To know what 1 + x loses from the sum itself would take sums that compilers reorder.
fn adsl64_ln_1p(x: f64) -> f64 {
    if adsl64_is_nan(x) || abs(x) < 5e-17lf { return x; }
    if x > -0.29lf && x < 0.41lf {
        let t = adsl64_ln_kernel(x);
        return x - (t.x - t.y);
    }
    let h = select(bitcast<f64>(bitcast<u64>(x) & 0xfffffffffffffff8lu), x, x < -0.5lf);
    let u = 1.0lf + h;
    if !adsl64_is_positive(u) { return adsl64_ln_limit(u); }
    let split = adsl64_ln_split(u);
    let t = adsl64_ln_kernel(split.y);
    let rest = t.y + (split.x * 1.9082149292705877e-10lf + (x - h) / u);
    return split.x * 0.6931471803691238lf - ((t.x - rest) - split.y);
}

// `ln(1 + f)` as a number of few bits and the rest.
fn adsl64_ln_parts(f: f64) -> vec2<f64> {
    let t = adsl64_ln_kernel(f);
    let h = adsl64_upper(f - t.x);
    return vec2<f64>(h, adsl64_kept(adsl64_kept(f - h) - t.x) + t.y);
}

// `k + ln(1 + f) / ln 2` in two parts, so that powers of 2 are exact.
fn adsl64_log2(x: f64) -> f64 {
    if !adsl64_is_positive(x) { return adsl64_ln_limit(x); }
    let split = adsl64_ln_split(x);
    let l = adsl64_ln_parts(split.y);
    let high = l.x * 1.4426950407214463lf;
    let low = (l.y + l.x) * 1.6751713164886512e-10lf + l.y * 1.4426950407214463lf;
    let h = adsl64_upper(split.x + high);
    return h + (low + adsl64_kept(adsl64_kept(split.x - h) + high));
}

// `k log10(2) + ln(1 + f) / ln 10`, in two parts.
fn adsl64_log10(x: f64) -> f64 {
    if !adsl64_is_positive(x) { return adsl64_ln_limit(x); }
    let split = adsl64_ln_split(x);
    let l = adsl64_ln_parts(split.y);
    let whole = split.x * 0.3010299956658855lf;
    let high = l.x * 0.4342944818781689lf;
    let low = (l.y + l.x) * 2.5082946711645275e-11lf + l.y * 0.4342944818781689lf;
    let h = adsl64_upper(whole + high);
    return h + ((low - split.x * 1.9043128467164274e-12lf) + adsl64_kept(adsl64_kept(whole - h) + high));
}
