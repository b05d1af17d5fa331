// Exact, as in Rust, by long division of the significands: the quotient's bits are not needed.
fn adsl64_remainder(a: f64, b: f64) -> f64 {
    let x = bitcast<u64>(a) & 0x7ffffffffffffffflu;
    let y = bitcast<u64>(b) & 0x7ffffffffffffffflu;
    if x >= 0x7ff0000000000000lu || y > 0x7ff0000000000000lu || y == 0lu { return adsl64_nan(); }
    if x < y { return a; }
    // Numbers are m * 2^(e - 1075); subnormal ones have the least exponent and no leading bit.
    let sign = bitcast<u64>(a) & 0x8000000000000000lu;
    var e = i32(u32(x >> 52u));
    var m = (x & 0x000ffffffffffffflu) | select(0lu, 0x0010000000000000lu, e != 0i);
    e = max(e, 1i);
    var to = i32(u32(y >> 52u));
    var d = (y & 0x000ffffffffffffflu) | select(0lu, 0x0010000000000000lu, to != 0i);
    to = max(to, 1i);
    // At most 52 rounds bring the divisor's leading bit to its place.
    while d < 0x0010000000000000lu {
        d = d << 1u;
        to -= 1i;
    }
    m = select(m, m - d, m >= d);
    while e > to {
        m = m << 1u;
        m = select(m, m - d, m >= d);
        e -= 1i;
    }
    // What is below the least exponent are zeros, since both numbers were multiples of the least number.
    if e < 1i {
        m = m >> u32(1i - e);
        e = 1i;
    }
    if e == 1i { return bitcast<f64>(sign | m); }
    return adsl64_with_sign(adsl64_scale(f64(bitcast<i64>(m)), e - 1075i), a);
}

fn adsl64_rem_euclid(a: f64, b: f64) -> f64 {
    let r = adsl64_remainder(a, b);
    return select(r, r + abs(b), r < 0.0lf);
}

// By its bits: drivers take numbers beyond 2^24 or so for whole ones.
fn adsl64_trunc(x: f64) -> f64 {
    let bits = bitcast<u64>(x);
    let e = i32(u32(bits >> 52u) & 0x7ffu) - 1023i;
    if e < 0i { return bitcast<f64>(bits & 0x8000000000000000lu); }
    if e >= 52i { return x; }
    return bitcast<f64>(bits & ~(0x000ffffffffffffflu >> u32(e)));
}

fn adsl64_floor(x: f64) -> f64 {
    let t = adsl64_trunc(x);
    return select(t, t - 1.0lf, x < t);
}

fn adsl64_ceil(x: f64) -> f64 {
    let t = adsl64_trunc(x);
    return select(t, t + 1.0lf, x > t);
}

// A whole number within a little more than one half: what reductions of an argument want.
fn adsl64_nearest(x: f64) -> f64 {
    return adsl64_trunc(x + select(-0.5lf, 0.5lf, x > 0.0lf));
}

// Half away from zero.
fn adsl64_round(x: f64) -> f64 {
    let t = adsl64_trunc(x);
    let up = select(0.0lf, 1.0lf, abs(x - t) >= 0.5lf);
    return adsl64_with_sign(abs(t) + up, x);
}

fn adsl64_to_i32(x: f64) -> i32 {
    if adsl64_is_nan(x) { return 0i; }
    if x >= 2147483647.0lf { return 2147483647i; }
    if x <= -2147483648.0lf { return i32(-2147483648); }
    return i32(x);
}

fn adsl64_to_u32(x: f64) -> u32 {
    if adsl64_is_nan(x) || x <= 0.0lf { return 0u; }
    if x >= 4294967295.0lf { return 4294967295u; }
    return u32(x);
}

fn adsl64_to_i64(x: f64) -> i64 {
    if adsl64_is_nan(x) { return 0li; }
    if x >= 9223372036854775808.0lf { return 9223372036854775807li; }
    if x <= -9223372036854775808.0lf { return -9223372036854775807li - 1li; }
    return i64(x);
}

fn adsl_f32_to_i64(x: f32) -> i64 {
    if adsl_is_nan(x) { return 0li; }
    if x >= 9223372036854775808.0f { return 9223372036854775807li; }
    if x <= -9223372036854775808.0f { return -9223372036854775807li - 1li; }
    return i64(x);
}
