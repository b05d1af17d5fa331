// `erf x / x` in x^2 for |x| <= 1; beyond, through the complement.
fn adsl64_erf(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    let a = abs(x);
    if a > 1.0lf { return adsl64_with_sign(1.0lf - adsl64_erfc_kernel(a), x); }
    let z = x * x;
    let r = 1.4659775274046955e-08lf + z * (-1.1372848856789924e-09lf + z * 5.957176147746114e-11lf);
    let q = -0.000854832698083379lf + z * (0.0001205533111164271lf + z * (-1.4925595266831182e-05lf
        + z * (1.6461000484121361e-06lf + z * (-1.6350312701054618e-07lf + z * r))));
    let p = 1.1283791670955126lf + z * (-0.3761263890318375lf + z * (0.11283791670954879lf
        + z * (-0.026866170645076792lf + z * (0.0052239776248180145lf + z * q))));
    return x * p;
}

// The complement for x >= 1/4: `exp(x^2) erfc(x) (1 + 2 x)` in t = (x - 15/4) / (x + 15/4). The square is
// that of the upper part, which is exact, and a small rest.
fn adsl64_erfc_kernel(x: f64) -> f64 {
    if x > 27.3lf { return 0.0lf; }
    let t = (x - 3.75lf) / (x + 3.75lf);
    let s = -9.818245320920853e-07lf + t * (1.7347820182262892e-06lf + t * (-4.5329746186479764e-08lf
        + t * (-2.3827942353912285e-07lf + t * (1.3529680609235429e-08lf + t * 2.3992679534726813e-08lf))));
    let r = 0.00029371439846424146lf + t * (-0.0002901549985645565lf + t * (5.164594010032112e-05lf
        + t * (2.2387742553071644e-05lf + t * (-1.1435176546165428e-05lf + t * s))));
    let q = 0.09230432116088448lf + t * (-0.05869339858013688lf + t * (0.028362277406320725lf
        + t * (-0.009746579666335409lf + t * (0.001755625997498041lf + t * r))));
    let p = 1.2375126308378275lf + t * (-0.14024059858554702lf + t * (0.003585415485472186lf
        + t * (0.08227673849014051lf + t * (-0.10880393014218172lf + t * q))));
    let h = adsl64_upper(x);
    return adsl64_exp_kernel(-h * h, (h - x) * (h + x), 0i) * (p / (1.0lf + 2.0lf * x));
}

fn adsl64_erfc(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    if x > 0.25lf { return adsl64_erfc_kernel(x); }
    if x < -1.0lf { return 2.0lf - adsl64_erfc_kernel(-x); }
    return 1.0lf - adsl64_erf(x);
}

// The part of x that is left when the nearest integer is taken off: sin and tan of pi x are those of pi times it.
fn adsl64_off_integer(x: f64) -> f64 {
    return x - adsl64_nearest(x);
}

// `lgamma(x) / ((x - 1) (x - 2))` in w = (x - 3/2) / (x + 5/4) for 0.7 <= x <= 2.5: without the zeros no digits cancel.
fn adsl64_lgamma_kernel(x: f64) -> f64 {
    let w = (x - 1.5lf) / (x + 1.25lf);
    let s = -0.003459951496301365lf + w * (0.0008152600328864986lf + w * (-0.0020262529657200878lf
        + w * (-0.0017170882789290087lf - w * 0.004272165979817972lf)));
    let r = 0.004256004033324641lf + w * (-0.008225172778723325lf + w * (0.0021153608761115216lf
        + w * (-0.005254990252781832lf + w * (0.0008811730965866513lf + w * s))));
    let q = -0.04486092788229205lf + w * (0.016266795358018005lf + w * (-0.02355023960095734lf
        + w * (0.008299768958150567lf + w * (-0.013509834373901762lf + w * r))));
    return 0.4831289505409809lf + w * (-0.40138971376434185lf + w * (0.07437775686205414lf
        + w * (-0.1009734735090674lf + w * (0.033206286760082755lf + w * q))));
}

// By the recurrence to the interval of the kernel; Stirling's series from 8 on.
fn adsl64_lgamma_positive(x: f64) -> f64 {
    if x >= 8.0lf {
        let r = 1.0lf / x;
        let z = r * r;
        let p = 0.0833333333333333lf + z * (-0.0027777777776060446lf + z * (0.000793650664877517lf
            + z * (-0.0005952025847742346lf + z * (0.0008372827864695204lf - z * 0.0016525849983934733lf))));
        return (x - 0.5lf) * (adsl64_ln(x) - 1.0lf) + (0.4189385332046727lf + r * p);
    }
    if x == 1.0lf { return 0.0lf; }
    if x < 0.7lf { return x * (x - 1.0lf) * adsl64_lgamma_kernel(x + 1.0lf) - adsl64_ln(x); }
    // At most 6 rounds.
    var y = x;
    var product = 1.0lf;
    while y > 2.5lf {
        y = y - 1.0lf;
        product = product * y;
    }
    let l = (y - 1.0lf) * (y - 2.0lf) * adsl64_lgamma_kernel(y);
    return select(l, l + adsl64_ln(product), x > 2.5lf);
}

fn adsl64_lgamma(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    if !adsl64_is_finite(x) || adsl64_is_zero(x) { return adsl64_inf(); }
    if !adsl64_is_negative(x) { return adsl64_lgamma_positive(x); }
    if x > -1e-20lf { return -adsl64_ln(-x); }
    // By reflection; poles at the integers.
    let s = abs(adsl64_sin_kernel(3.141592653589793lf * adsl64_off_integer(x)));
    if s == 0.0lf { return adsl64_inf(); }
    return 1.1447298858494002lf - adsl64_ln(s * -x) - adsl64_lgamma_positive(-x);
}

fn adsl64_digamma(x: f64) -> f64 {
    if adsl64_is_nan(x) { return x; }
    if adsl64_is_zero(x) { return adsl64_with_sign(adsl64_inf(), -x); }
    if !adsl64_is_negative(x) { return adsl64_digamma_positive(x); }
    if !adsl64_is_finite(x) { return adsl64_nan(); }
    let f = adsl64_off_integer(x);
    if f == 0.0lf { return adsl64_nan(); }
    // By reflection.
    return adsl64_digamma_positive(1.0lf - x) - 3.141592653589793lf / adsl64_tan(3.141592653589793lf * f);
}

// Between 1 and 2.4: a polynomial in w = (x - 8/5) / (x + 6/5), times x less the function's zero. What that loses in
// digits matters next to it only and is a constant there.
fn adsl64_digamma_kernel(x: f64) -> f64 {
    let w = (x - 1.6lf) / (x + 1.2lf);
    let s = -0.01633119181387079lf + w * 0.015039007541234184lf;
    let r = 0.052908444350673635lf + w * (-0.0448680855037628lf + w * (0.029395317311216414lf
        + w * (-0.0255902330842149lf + w * (0.01488084613893257lf + w * s))));
    let q = -0.24885351398450514lf + w * (0.16896780798209668lf + w * (-0.13963095542490642lf
        + w * (0.09487711747405571lf + w * (-0.07891960345878378lf + w * r))));
    let p = 0.9109590717053151lf + w * (-1.0629354628098393lf + w * (0.5141357905646672lf
        + w * (-0.4524091799722834lf + w * (0.29757856674783895lf + w * q))));
    return (x - 1.4616321449683622lf) * p - 9.241265521729427e-17lf;
}

// The asymptotic series from 8 on, before it the recurrence from the kernel's interval, with the greatest term last.
fn adsl64_digamma_positive(x: f64) -> f64 {
    if !adsl64_is_finite(x) { return x; }
    if x < 1.0lf { return adsl64_digamma_kernel(x + 1.0lf) - 1.0lf / x; }
    if x >= 8.0lf {
        let r = 1.0lf / x;
        let z = r * r;
        let p = 0.08333333333333287lf + z * (-0.008333333331168534lf + z * (0.003968252342832636lf
            + z * (-0.004166217649386337lf + z * (0.007519088147051051lf - z * 0.017711158471277653lf))));
        return adsl64_ln(x) - (0.5lf * r + z * p);
    }
    // At most 6 rounds.
    var k = max(adsl64_ceil(x - 2.4lf), 0.0lf);
    let y = x - k;
    var sum = adsl64_digamma_kernel(y);
    while k > 0.0lf {
        k = k - 1.0lf;
        sum = sum + 1.0lf / (y + k);
    }
    return sum;
}

// a^-s for a > 0 and s >= 1. Repeated multiplication would lose digits.
fn adsl64_inverse_power(a: f64, s: i32) -> f64 {
    if s == 1i { return 1.0lf / a; }
    if s == 2i { return 1.0lf / (a * a); }
    return adsl64_pow_kernel(a, -f64(s));
}

// The sum over k of (q + k)^-s for q > 0 and s >= 2: by Euler and Maclaurin for q + k >= s + 12, and at most so many
// terms more, the greatest last. Each c has a Bernoulli number over (2 k)! by the one before.
fn adsl64_zeta(s: i32, q: f64) -> f64 {
    if !adsl64_is_finite(q) { return 0.0lf; }
    let w = f64(s);
    var k = max(adsl64_ceil(w + 12.0lf - q), 0.0lf);
    let a = q + k;
    let r = 1.0lf / a;
    let z = r * r;
    var c = 1.0lf - (w + 15.0lf) * (w + 16.0lf) * z * 0.025330005504037488lf;
    c = 1.0lf - (w + 13.0lf) * (w + 14.0lf) * z * c * 0.025329131652661064lf;
    c = 1.0lf - (w + 11.0lf) * (w + 12.0lf) * z * c * 0.025325615050651228lf;
    c = 1.0lf - (w + 9.0lf) * (w + 10.0lf) * z * c * 0.025311355311355311lf;
    c = 1.0lf - (w + 7.0lf) * (w + 8.0lf) * z * c * 0.025252525252525252lf;
    c = 1.0lf - (w + 5.0lf) * (w + 6.0lf) * z * c * 0.025lf;
    c = 1.0lf - (w + 3.0lf) * (w + 4.0lf) * z * c * 0.023809523809523808lf;
    c = 1.0lf - (w + 1.0lf) * (w + 2.0lf) * z * c * 0.016666666666666666lf;
    let series = 1.0lf / (w - 1.0lf) + r * (0.5lf + w * r * c * 0.08333333333333333lf);
    var sum = adsl64_inverse_power(a, s - 1i) * series;
    while k > 0.0lf {
        k = k - 1.0lf;
        sum = sum + adsl64_inverse_power(q + k, s);
    }
    return sum;
}

// n! for n <= 170, in two parts until the end.
fn adsl64_factorial(n: i32) -> f64 {
    var h = 1.0lf;
    var l = 0.0lf;
    for (var k = 2i; k <= n; k += 1i) {
        let t = h * f64(k);
        let u = l * f64(k);
        h = adsl64_upper(t + u);
        l = adsl64_kept(t - h) + u;
    }
    return h + l;
}

// The n-th derivative of digamma: (-1)^(n + 1) n! times the sum over k >= 0 of (x + k)^-(n + 1).
fn adsl64_polygamma(order: f64, x: f64) -> f64 {
    if adsl64_is_zero(order) { return adsl64_digamma(x); }
    if adsl64_is_nan(order) || adsl64_is_nan(x) { return adsl64_nan(); }
    if order < 0.0lf || order >= 171.0lf || adsl64_trunc(order) != order { return adsl64_nan(); }
    let n = i32(order);
    let s = n + 1i;
    let odd = (s & 1i) == 1i;
    let factor = select(adsl64_factorial(n), -adsl64_factorial(n), odd);
    if adsl64_is_zero(x) { return select(adsl64_inf(), adsl64_with_sign(adsl64_inf(), -x), odd); }
    if !adsl64_is_negative(x) { return factor * adsl64_zeta(s, x); }
    if !adsl64_is_finite(x) { return adsl64_nan(); }
    let f = x - adsl64_floor(x);
    if f == 0.0lf { return select(adsl64_inf(), adsl64_nan(), odd); }
    // The sum over all integers k, less the one over k < 0.
    let others = adsl64_zeta(s, 1.0lf - f) - adsl64_zeta(s, 1.0lf - x);
    return factor * (adsl64_zeta(s, f) + select(others, -others, odd));
}

fn adsl64_asinh(x: f64) -> f64 {
    if adsl64_is_nan(x) || !adsl64_is_finite(x) { return x; }
    let a = abs(x);
    if a > 1e9lf { return adsl64_with_sign(adsl64_ln(a) + 0.6931471805599453lf, x); }
    return adsl64_with_sign(adsl64_ln_1p(a + a * a / (1.0lf + sqrt(1.0lf + a * a))), x);
}

fn adsl64_acosh(x: f64) -> f64 {
    if adsl64_is_nan(x) || x < 1.0lf { return adsl64_nan(); }
    if x > 1e9lf { return adsl64_ln(x) + 0.6931471805599453lf; }
    let t = x - 1.0lf;
    return adsl64_ln_1p(t + sqrt(t * (t + 2.0lf)));
}

fn adsl64_atanh(x: f64) -> f64 {
    let a = abs(x);
    if adsl64_is_nan(x) || a > 1.0lf { return adsl64_nan(); }
    if a == 1.0lf { return adsl64_with_sign(adsl64_inf(), x); }
    return adsl64_with_sign(0.5lf * adsl64_ln_1p(2.0lf * a / (1.0lf - a)), x);
}
