// 32 bits of 1 / pi after the point, from number `at` on; before them stand 32 zeros.
fn adsl_inverse_pi(at: u32) -> u32 {
    var words = array<u32, 9>(0u, 0x517cc1b7u, 0x27220a94u, 0xfe13abe8u, 0xfa9a6ee0u, 0x6db14accu, 0x9e21c820u,
        0xff28b1d5u, 0xef5de2b0u);
    let shift = at & 31u;
    return (words[at >> 5u] << shift) | ((words[(at >> 5u) + 1u] >> 1u) >> (31u - shift));
}

// The upper half of a product.
fn adsl_product_above(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let cross = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (cross & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (cross >> 16u) + (other >> 16u);
}

// |x| / pi modulo 2 with 63 bits after the point, by Payne and Hanek: x = m 2^e with an integer m, and of 1 / pi those 96
// bits that count. For 2^-8 <= |x|.
fn adsl_half_turns(x: f32) -> vec2<u32> {
    let bits = bitcast<u32>(x);
    let m = (bits & 0x7fffffu) | 0x800000u;
    let at = ((bits >> 23u) & 0xffu) - 119u;
    let middle = adsl_inverse_pi(at + 32u);
    let product = m * middle;
    let low = product + adsl_product_above(m, adsl_inverse_pi(at + 64u));
    let high = m * adsl_inverse_pi(at) + adsl_product_above(m, middle);
    return vec2<u32>(high + select(0u, 1u, low < product), low);
}

// The distance of half turns from the nearest integer, times pi, and whether that integer is odd (1) or even (0).
fn adsl_off_half_turn(turns: vec2<u32>) -> vec2<f32> {
    var high = (turns.x << 1u) | (turns.y >> 31u);
    var low = turns.y << 1u;
    let below = high >> 31u;
    if below == 1u {
        low = ~low + 1u;
        high = ~high + select(0u, 1u, low == 0u);
    }
    var zeros = 0u;
    if high == 0u {
        high = low;
        low = 0u;
        zeros = 32u;
    }
    if high == 0u { return vec2<f32>(0.0f, f32((turns.x >> 31u) ^ below)); }
    let shift = countLeadingZeros(high);
    high = (high << shift) | ((low >> 1u) >> (31u - shift));
    // The factor is pi / 4 after the point.
    let d = adsl_scale(f32(adsl_product_above(high, 0xc90fdaa2u)), -30i - i32(zeros + shift));
    return vec2<f32>(select(d, -d, below == 1u), f32((turns.x >> 31u) ^ below));
}

// x - n pi for multiples n of 1/2 below 2^11. Pi is a sum of numbers of which the first three have exact products with n;
// the differences are exact too, since x and a product nearly cancel or are short.
fn adsl_off_pi(x: f32, n: f32) -> f32 {
    let a = x - n * 3.140625f;
    // Masks keep n from being multiplied by a sum of two parts.
    let a_h = adsl_upper(a);
    let b = a_h + ((a - a_h) - n * 0.00096750259f);
    let c = n * 1.5099067e-07f;
    let b_h = adsl_upper(b - c);
    return b_h + (((b - b_h) - c) - n * 5.1266881e-12f);
}

// 1 for an odd integer, 0 for an even one.
fn adsl_parity(n: f32) -> f32 {
    return n - 2.0f * floor(0.5f * n);
}

// sin d for |d| <= pi / 2, negated for odd 1.
fn adsl_sin_kernel(d: f32, odd: f32) -> f32 {
    let z = d * d;
    let p = ((2.6058003e-06f * z - 0.00019809615f) * z + 0.008333066f) * z - 0.1666666f;
    return (1.0f - 2.0f * odd) * (d + d * (z * p));
}

// sin(n pi + d) = (-1)^n sin d. The built-in functions are made for |x| <= pi, and the accuracy that they must have is 2^-11.
fn adsl_sin(x: f32) -> f32 {
    if !adsl_is_finite(x) { return adsl_nan(); }
    if abs(x) < 0.0002f { return x; }
    if abs(x) > 4000.0f {
        let long = adsl_off_half_turn(adsl_half_turns(x));
        return adsl_sin_kernel(select(long.x, -long.x, x < 0.0f), long.y);
    }
    let n = floor(x * 0.31830989f + 0.5f);
    return adsl_sin_kernel(adsl_off_pi(x, n), adsl_parity(n));
}

// cos((n + 1/2) pi + d) = -(-1)^n sin d.
fn adsl_cos(x: f32) -> f32 {
    if !adsl_is_finite(x) { return adsl_nan(); }
    if abs(x) > 4000.0f {
        let turns = adsl_half_turns(x);
        let long = adsl_off_half_turn(vec2<u32>(turns.x - 0x40000000u, turns.y));
        return adsl_sin_kernel(long.x, 1.0f - long.y);
    }
    let n = floor(x * 0.31830989f);
    return adsl_sin_kernel(adsl_off_pi(x, n + 0.5f), 1.0f - adsl_parity(n));
}

// The tangent of d for |d| <= pi / 4, or the negative reciprocal of that for odd 1.
fn adsl_tan_kernel(d: f32, odd: f32) -> f32 {
    let z = d * d;
    let s = d + d * (z * ((-0.00019517257f * z + 0.008332178f) * z - 0.16666655f));
    let c = 1.0f - (0.5f * z - z * z * ((2.4439101e-05f * z - 0.0013887375f) * z + 0.041666646f));
    return select(s, -c, odd == 1.0f) / select(c, s, odd == 1.0f);
}

// tan(n pi / 2 + d).
fn adsl_tan(x: f32) -> f32 {
    if !adsl_is_finite(x) { return adsl_nan(); }
    if abs(x) < 0.0002f { return x; }
    if abs(x) > 2000.0f {
        let turns = adsl_half_turns(x);
        let long = adsl_off_half_turn(vec2<u32>((turns.x << 1u) | (turns.y >> 31u), turns.y << 1u));
        return adsl_tan_kernel(0.5f * select(long.x, -long.x, x < 0.0f), long.y);
    }
    let n = floor(x * 0.63661977f + 0.5f);
    return adsl_tan_kernel(adsl_off_pi(x, 0.5f * n), adsl_parity(n));
}

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
