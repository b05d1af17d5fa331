// Two words as one.
fn adsl64_bits(low: u32, high: u32) -> u64 {
    return u64(low) | (u64(high) << 32u);
}

// The least `i64`, which has no literal.
fn adsl64_least() -> i64 {
    var bits = 0x8000000000000000lu;
    return bitcast<i64>(bits);
}

// An index may be longer than what the status holds: then the nearest number that fits is reported.
fn adsl_check_i64(index: i64, length: i32, site: u32) -> bool {
    if index >= 0li && index < i64(length) { return true; }
    adsl_fail(i32(clamp(index, -2147483648li, 2147483647li)), length, site);
    return false;
}

fn adsl_quotient_i64(a: i64, b: i64, site: u32) -> i64 {
    if b == 0li {
        adsl_fail(0i, -1i, site);
        return 0li;
    }
    // The least number divided by -1 is itself.
    if b == -1li { return -a; }
    return a / b;
}

fn adsl_remainder_i64(a: i64, b: i64, site: u32) -> i64 {
    if b == 0li {
        adsl_fail(0i, -1i, site);
        return 0li;
    }
    if b == -1li { return 0li; }
    return a % b;
}

fn adsl_rem_euclid_i64(a: i64, b: i64, site: u32) -> i64 {
    let r = adsl_remainder_i64(a, b, site);
    if r >= 0li { return r; }
    return select(r + b, r - b, b < 0li);
}

// A power of an `f32` whose exponent is long.
fn adsl_powl(x: f32, n: i64) -> f32 {
    var base = x;
    var rest = bitcast<u64>(abs(n));
    var product = 1.0f;
    while rest != 0lu {
        if (rest & 1lu) == 1lu { product = product * base; }
        base = base * base;
        rest = rest >> 1u;
    }
    return select(product, 1.0f / product, n < 0li);
}
