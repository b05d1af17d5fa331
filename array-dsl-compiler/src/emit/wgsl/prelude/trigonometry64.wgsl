// 64 bits of 1 / pi after the point, from number `at` on; before them stand 64 zeros.
fn adsl64_inverse_pi(at: u32) -> u64 {
    var words = array<u64, 20>(0lu, 0x517cc1b727220a94lu, 0xfe13abe8fa9a6ee0lu, 0x6db14acc9e21c820lu,
        0xff28b1d5ef5de2b0lu, 0xdb92371d2126e970lu, 0x0324977504e8c90elu, 0x7f0ef58e5894d39flu,
        0x74411afa975da242lu, 0x74ce38135a2fbf20lu, 0x9cc8eb1cc1a99cfalu, 0x4e422fc5defc941dlu,
        0x8ffc4bffef02cc07lu, 0xf79788c5ad05368flu, 0xb69b3f6793e584dblu, 0xa7a31fb34f2ff516lu,
        0xba93dd63f5f2f8bdlu, 0x9e839cfbc5294975lu, 0x35fdafd88fc6ae84lu, 0x2b0198237e3db5d5lu);
    let shift = at & 63u;
    return (words[at >> 6u] << shift) | ((words[(at >> 6u) + 1u] >> 1u) >> (63u - shift));
}

// The upper half of a product.
fn adsl64_product_above(a: u64, b: u64) -> u64 {
    let low = (a & 0xfffffffflu) * (b & 0xfffffffflu);
    let cross = (a >> 32u) * (b & 0xfffffffflu) + (low >> 32u);
    let other = (a & 0xfffffffflu) * (b >> 32u) + (cross & 0xfffffffflu);
    return (a >> 32u) * (b >> 32u) + (cross >> 32u) + (other >> 32u);
}

// |x| / pi modulo 2 with 127 bits after the point, high word first, as `adsl_half_turns` has it; for 2^-11 <= |x|.
fn adsl64_half_turns(x: f64) -> vec2<u64> {
    let bits = bitcast<u64>(x);
    let m = (bits & 0xffffffffffffflu) | 0x10000000000000lu;
    let at = (u32(bits >> 52u) & 0x7ffu) - 1012u;
    let middle = adsl64_inverse_pi(at + 64u);
    let product = m * middle;
    let low = product + adsl64_product_above(m, adsl64_inverse_pi(at + 128u));
    let high = m * adsl64_inverse_pi(at) + adsl64_product_above(m, middle);
    return vec2<u64>(high + select(0lu, 1lu, low < product), low);
}

// The distance of half turns from the nearest integer, times pi, and whether that integer is odd (1) or even (0).
fn adsl64_off_half_turn(turns: vec2<u64>) -> vec2<f64> {
    var high = (turns.x << 1u) | (turns.y >> 63u);
    var low = turns.y << 1u;
    let below = (high >> 63u) == 1lu;
    let odd = select(0.0lf, 1.0lf, ((turns.x >> 63u) == 1lu) != below);
    if below {
        low = ~low + 1lu;
        high = ~high + select(0lu, 1lu, low == 0lu);
    }
    var zeros = 0u;
    if high == 0lu {
        high = low;
        low = 0lu;
        zeros = 64u;
    }
    if high == 0lu { return vec2<f64>(0.0lf, odd); }
    var shift = countLeadingZeros(u32(high >> 32u));
    if shift == 32u { shift = 32u + countLeadingZeros(u32(high & 0xfffffffflu)); }
    high = (high << shift) | ((low >> 1u) >> (63u - shift));
    // The factor is pi / 4 after the point. A product of two words, in two parts that are numbers without rounding.
    let product = adsl64_product_above(high, 0xc90fdaa22168c235lu);
    let number = f64(u32(product >> 32u)) * 4294967296.0lf + f64(u32(product & 0xfffffffflu));
    let d = adsl64_scale(number, -62i - i32(zeros + shift));
    return vec2<f64>(select(d, -d, below), odd);
}

// x - n pi for multiples n of 1/2 below 2^29. Pi is a sum of numbers of which the first three have
// exact products with n; the differences are exact too, since x and a product nearly cancel or are short.
fn adsl64_off_pi(x: f64, n: f64) -> f64 {
    let a = adsl64_kept(x - n * 3.141592502593994lf);
    let b = adsl64_kept(a - n * 1.5099578831723193e-07lf);
    let c = adsl64_kept(n * 1.078060505991553e-14lf);
    let h = adsl64_kept(b - c);
    return h + adsl64_kept(adsl64_kept(adsl64_kept(b - h) - c) - n * 6.564007085747001e-22lf);
}

// sin d for |d| <= pi / 2.
fn adsl64_sin_kernel(d: f64) -> f64 {
    let z = d * d;
    let q = -2.5052106874852208e-08lf + z * (1.6058939793463796e-10lf + z * (-7.642993453264004e-13lf
        + z * 2.721192963042333e-15lf));
    let p = -0.16666666666666666lf + z * (0.008333333333333194lf + z * (-0.00019841269841209413lf
        + z * (2.7557319211164156e-06lf + z * q)));
    return d + d * (z * p);
}

// Whether the integer n is odd.
fn adsl64_is_odd(n: f64) -> bool {
    let h = 0.5lf * n;
    return adsl64_floor(h) != h;
}

// sin(n pi + d) = (-1)^n sin d.
fn adsl64_sin(x: f64) -> f64 {
    if !adsl64_is_finite(x) { return adsl64_nan(); }
    if abs(x) < 1e-8lf { return x; }
    if abs(x) > 8e8lf {
        let long = adsl64_off_half_turn(adsl64_half_turns(x));
        let s = adsl64_sin_kernel(long.x);
        return select(s, -s, (x < 0.0lf) != (long.y == 1.0lf));
    }
    let n = adsl64_nearest(x * 0.3183098861837907lf);
    let s = adsl64_sin_kernel(adsl64_off_pi(x, n));
    return select(s, -s, adsl64_is_odd(n));
}

// cos((n + 1/2) pi + d) = -(-1)^n sin d.
fn adsl64_cos(x: f64) -> f64 {
    if !adsl64_is_finite(x) { return adsl64_nan(); }
    if abs(x) > 8e8lf {
        let turns = adsl64_half_turns(x);
        let long = adsl64_off_half_turn(vec2<u64>(turns.x - 0x4000000000000000lu, turns.y));
        let s = adsl64_sin_kernel(long.x);
        return select(-s, s, long.y == 1.0lf);
    }
    let n = adsl64_nearest(x * 0.3183098861837907lf - 0.5lf);
    let s = adsl64_sin_kernel(adsl64_off_pi(x, n + 0.5lf));
    return select(-s, s, adsl64_is_odd(n));
}

// cos d for |d| <= pi / 4.
fn adsl64_cos_kernel(d: f64) -> f64 {
    let z = d * d;
    let q = -2.7557314604804525e-07lf + z * (2.087575417319885e-09lf - z * 1.1361106593187899e-11lf);
    let p = 0.04166666666666661lf + z * (-0.001388888888887595lf + z * (2.4801587290469205e-05lf + z * q));
    return 1.0lf - (0.5lf * z - z * z * p);
}

// The tangent of d for |d| <= pi / 4, or the negative reciprocal of that if `odd`.
fn adsl64_tan_kernel(d: f64, odd: bool) -> f64 {
    let s = adsl64_sin_kernel(d);
    let c = adsl64_cos_kernel(d);
    return select(s, -c, odd) / select(c, s, odd);
}

// tan(n pi / 2 + d).
fn adsl64_tan(x: f64) -> f64 {
    if !adsl64_is_finite(x) { return adsl64_nan(); }
    if abs(x) < 1e-8lf { return x; }
    if abs(x) > 8e8lf {
        let turns = adsl64_half_turns(x);
        let long = adsl64_off_half_turn(vec2<u64>((turns.x << 1u) | (turns.y >> 63u), turns.y << 1u));
        return adsl64_tan_kernel(0.5lf * select(long.x, -long.x, x < 0.0lf), long.y == 1.0lf);
    }
    let n = adsl64_nearest(x * 0.6366197723675814lf);
    return adsl64_tan_kernel(adsl64_off_pi(x, 0.5lf * n), adsl64_is_odd(n));
}

// atan(b / a) for a >= b >= 0, a > 0. Beyond tan(pi/8) through atan(t) = pi/4 + atan((t - 1) / (t + 1)).
fn adsl64_atan_kernel(b: f64, a: f64) -> f64 {
    let far = b > 0.41421356237309503lf * a;
    let u = select(b, b - a, far) / select(a, b + a, far);
    let z = u * u;
    let q = 0.07692182705246312lf + z * (-0.06664504610032554lf + z * (0.05858089538608499lf
        + z * (-0.0508513914870339lf + z * (0.03922268882339241lf - z * 0.019165906506211375lf))));
    let p = -0.3333333333333333lf + z * (0.1999999999999549lf + z * (-0.1428571428466014lf
        + z * (0.11111111014741562lf + z * (-0.09090904557214266lf + z * q))));
    return select(0.0lf, 0.7853981633974483lf, far) + (u + u * (z * p));
}

fn adsl64_atan(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) || a < 1e-8lf { return x; }
    if a <= 1.0lf { return adsl64_with_sign(adsl64_atan_kernel(a, 1.0lf), x); }
    // Multiplication by a small number keeps a + 1 finite.
    let angle = select(adsl64_atan_kernel(1.0lf, min(a, 1e300lf)), 0.0lf, a > 1e300lf);
    return adsl64_with_sign(1.5707963267948966lf - (angle - 6.123233995736766e-17lf), x);
}

// `(asin(x) - x) / x` in z = x^2 for 0 <= x <= 1/2.
fn adsl64_asin_series(z: f64) -> f64 {
    let q = 0.0103243182887635780lf + z * (0.005450878187643824lf + z * (0.017419357965078285lf
        + z * (-0.0148814093931001lf + z * 0.02877844261277394lf)));
    let p = 0.0223721730020056lf + z * (0.0173523912659092lf + z * (0.013971235301124917lf
        + z * (0.011478952690254089lf + z * q)));
    return z * (0.16666666666666669lf + z * (0.07499999999998425lf + z * (0.04464285714637338lf
        + z * (0.030381944137085216lf + z * p))));
}

// asin(sqrt((1 - a) / 2)) for 1/2 <= a <= 1, as a number of few bits and the rest.
fn adsl64_asin_near_1(a: f64) -> vec2<f64> {
    let z = 0.5lf - 0.5lf * a;
    let s = sqrt(z);
    let h = adsl64_upper(s);
    let rest = select((z - h * h) / (s + h), 0.0lf, z == 0.0lf);
    return vec2<f64>(h, rest + s * adsl64_asin_series(z));
}

// Beyond 1/2 through asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
fn adsl64_asin(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) || a > 1.0lf { return adsl64_nan(); }
    if a <= 0.5lf { return adsl64_with_sign(a + a * adsl64_asin_series(a * a), x); }
    let half = adsl64_asin_near_1(a);
    let rest = 6.123233995736766e-17lf - 2.0lf * half.y;
    return adsl64_with_sign((1.5707963267948966lf - 2.0lf * half.x) + rest, x);
}

fn adsl64_acos(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) || a > 1.0lf { return adsl64_nan(); }
    if a <= 0.5lf {
        let rest = x * adsl64_asin_series(x * x);
        return 1.5707963267948966lf - (x + (rest - 6.123233995736766e-17lf));
    }
    let half = adsl64_asin_near_1(a);
    if x > 0.0lf { return 2.0lf * (half.x + half.y); }
    return (3.141592653589793lf - 2.0lf * half.x) + (1.2246467991473532e-16lf - 2.0lf * half.y);
}

fn adsl64_atan2(y: f64, x: f64) -> f64 {
    if adsl64_is_nan(x) || adsl64_is_nan(y) { return adsl64_nan(); }
    let a = abs(x);
    let b = abs(y);
    let big = max(a, b);
    let little = min(a, b);
    var angle = 0.0lf;
    if !adsl64_is_finite(big) {
        angle = select(0.0lf, 0.7853981633974483lf, !adsl64_is_finite(little));
    } else if big > 0.0lf {
        // The kernel adds its arguments; and numbers that are not subnormal have all their digits.
        let scale = select(select(1.0lf, 18014398509481984.0lf, big < 1e-250lf), 0.25lf, big > 1e300lf);
        angle = adsl64_atan_kernel(little * scale, big * scale);
    }
    if b > a { angle = 1.5707963267948966lf - (angle - 6.123233995736766e-17lf); }
    if adsl64_is_negative(x) { angle = 3.141592653589793lf - (angle - 1.2246467991473532e-16lf); }
    return adsl64_with_sign(angle, y);
}
