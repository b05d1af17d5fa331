//! Every construct of the language, with a kernel that is hardly more than that construct.
//!
//! The compiler's tests check each kernel through all stages and write `docs/constructs.md`; the crate of tests executes each
//! on the CPU and on GPUs.

/// A construct and its kernel.
#[derive(Clone, Copy, Debug)]
pub struct Construct {
    /// As the documentation calls it.
    pub name: &'static str,
    /// An expression of `x, y: [T; n]`, `m: [[T; n]; n]`, `at: [I; n]` with numbers of 0..4, and `s: T`.
    pub body: &'static str,
    /// The type of the expression.
    pub result: &'static str,
}

/// The parameters that a body may mention.
const PARAMS: [(&str, &str); 5] =
    [("x", "[T; n]"), ("y", "[T; n]"), ("m", "[[T; n]; n]"), ("at", "[I; n]"), ("s", "T")];

/// The float types of arrays that GPUs take, with the integers that go with them.
pub const ON_GPU: &[(&str, &str)] = &[("f32", "i32"), ("f64", "i64")];

impl Construct {
    /// The kernel for a float type and a type of indices. It has the parameters that it mentions.
    pub fn source(&self, float: &str, index: &str) -> String {
        let params: Vec<String> = PARAMS
            .iter()
            .filter(|(name, _)| words(self.body).any(|word| word == *name))
            .map(|(name, ty)| format!("{name}: {ty}"))
            .collect();
        let text = format!("fn f({}) -> {} {{ {} }}", params.join(", "), self.result, self.body);
        // `T` and `I` alone are the types; no name has them in it.
        text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_')
            .map(|word| {
                let name = words(word).next().unwrap_or_default();
                match name {
                    "T" => word.replacen(name, float, 1),
                    "I" => word.replacen(name, index, 1),
                    _ => word.to_string(),
                }
            })
            .collect()
    }

    /// Whether the kernel takes or gives a matrix, whose size grows with the square of the length.
    pub fn is_square(&self) -> bool {
        self.result.contains("; n]; n]") || words(self.body).any(|word| word == "m")
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

const fn of(name: &'static str, body: &'static str, result: &'static str) -> Construct {
    Construct { name, body, result }
}

/// All of them. Products have factors near 1 too: those of hundreds of numbers of -1..1 are nothing but zeros.
pub const CONSTRUCTS: &[Construct] = &[
    of("arithmetic, scalar functions", "(x * y + s).sin() / (2.0 + x.abs().sqrt())", "[T; n]"),
    of("powers", "x.abs().powf(s) + x.powi(3)", "[T; n]"),
    of("`min`, `max`, `clamp`", "min(x, y) + max(x, s) * x.clamp(-0.5, 0.5)", "[T; n]"),
    of("`build`", "build(n, |i| x[i] * y[n - 1 - i])", "[T; n]"),
    of("`map`", "map(|a, b| a * b.exp(), x, y)", "[T; n]"),
    of("`if`", "map(|a| if a > s { a * a } else { -a }, x)", "[T; n]"),
    of("`match`", "build(n, |i| match at[i] { 0 => x[i], 1 | 2 => s * x[i], _ => 0.0 })", "[T; n]"),
    of("indices that data decide", "build(n, |i| x[at[i] as usize % n] * s)", "[T; n]"),
    of("`gather`", "gather(x, at as usize % n)", "[T; n]"),
    of(
        "slices, `concat`, `reverse`, `rotate`",
        "concat(reverse(x[n / 2..]), rotate(x[..n / 2], 1))",
        "[T; _]",
    ),
    of("slices of several dimensions", "m[s![n / 2.., n / 3]] * s", "[T; _]"),
    of("`transpose`, `permute`, `reshape`", "flatten(transpose(m) * permute(m, (1, 0)))", "[T; _]"),
    of("tuples, `zip`", "map(|(a, b)| (b, a * s), zip(x, y))", "([T; n], [T; n])"),
    of("`sum`, `mean`, `dot`", "sum(x) + dot(x, y) * sum(m).sum()", "T"),
    of("`prod`", "prod(x) + prod(1.0 + x / 64.0)", "T"),
    of("`minimum`, `maximum`", "concat(minimum(m), maximum(m))", "[T; _]"),
    of("`argmin`, `argmax`", "build(n, |i| m[i][argmin(m[i])] - m[i][argmax(m[i])])", "[T; n]"),
    of("`matmul`, `matvec`, `outer`", "matmul(m, m) + outer(matvec(m, x), y)", "[[T; n]; n]"),
    of("`einsum!`", "einsum!(\"ij,kj,k->i\", m, m, x)", "[T; n]"),
    of("`windows`, steps", "concat(windows(x, 1).flatten(), x.step_by(2))", "[T; _]"),
    of("`erf`, `lgamma`, `digamma`", "erf(x) * lgamma(2.0 + y) + digamma(2.0 + x)", "[T; n]"),
    of("`logsumexp`, `softmax`", "softmax(x) * logsumexp(y)", "[T; n]"),
    of(
        "`reduce` by an operator",
        "reduce(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (x, y))",
        "(T, T)",
    ),
    of("`cumsum`, `cumprod`", "cumsum(x) + cumprod(y)", "[T; n]"),
    of(
        "`scan`, `scan_exclusive` by `min`, `max`",
        "scan(min, 9.0, x) * scan_exclusive(max, -9.0, y)",
        "[T; n]",
    ),
    of(
        "`scan` by an operator",
        "scan(|(a, b), (c, d)| (a * c, b * c + d), (1.0, 0.0), (x, y))",
        "([T; n], [T; n])",
    ),
    of("`scan` of rows", "scan(|a, b| a * b + a + b, 0.0, m)", "[[T; n]; n]"),
    of("`hist` by `add`", "hist(add, 0.0, 3, at, x)", "[T; 3]"),
    of("`hist` by `mul`", "hist(mul, 1.0, 3, at, x) + hist(mul, 1.0, 3, at, 1.0 + x / 64.0)", "[T; 3]"),
    of("`hist` by `min`, `max`", "(hist(min, 9.0, 3, at, x), hist(max, -9.0, 3, at, x))", "([T; 3], [T; 3])"),
    of("`hist` by an operator", "hist(|a, b| a * b + a + b, 0.0, 3, at, x / 8.0)", "[T; 3]"),
    of("`reduce_by_index`", "reduce_by_index(y, mul, at, x)", "[T; n]"),
    of("`scatter`", "scatter(y, iota(n) + 1, x)", "[T; n]"),
    of("`scatter_add`", "scatter_add(y, at, x)", "[T; n]"),
    of("`sort`, `sort_by_key`", "sort(x) * sort_by_key(y, x)", "[T; n]"),
    of("`argsort`", "gather(y, argsort(x))", "[T; n]"),
    of("`filter`", "{ let kept = filter(|a| a > 0.0, x); sum(kept * kept) }", "T"),
    of("`partition`", "{ let (a, b) = partition(|a| a > s, x); sum(a * a) - prod(b) }", "T"),
    of("`for` that stays parallel", "{ let mut t = 0.0; for i in 0..n { t += x[i] * y[i]; } t }", "T"),
    of("`for` over numbers", "{ let mut h = s; for i in 0..n { h = (h * x[i] + y[i]).tanh(); } h }", "T"),
    of("`for` over arrays", "{ let mut h = x; for i in 0..4 { h = matvec(m, h).tanh() + y; } h }", "[T; n]"),
    of("updates in place", "{ let mut a = x; for i in 1..n { a[i] = a[i - 1] * s + a[i]; } a }", "[T; n]"),
    of(
        "updates of slices",
        "{ let mut a = m; a[s![n / 2.., n / 3]] *= s; a[s![..n / 2, n / 2..]] = m[s![..n / 2, n / 2..]] * s; a }",
        "[[T; n]; n]",
    ),
    of("`while`", "{ let mut a = x; while sum(a * a) > 0.3 { a = 0.5 * a; } a }", "[T; n]"),
    of(
        "`for` at every point",
        "build(n, |i| { let mut h = x[i]; for j in 0..at[i] as usize { h = h.sin() + s; } h })",
        "[T; n]",
    ),
    of(
        "`for` whose end the point decides",
        "build(n, |i| { let mut h = x[i]; for j in 0..i { h = h.sin() + x[j] * y[i]; } h })",
        "[T; n]",
    ),
    of(
        "`for` over pairs",
        "{ let mut e = s; for i in 0..n { for j in i + 1..n { e += (x[i] - x[j]).sin() * y[j]; } } e }",
        "T",
    ),
    of(
        "`for` over a window",
        "build(n, |i| { let mut t = s; for j in max(0, i - 2)..min(n, i + 2) { t += x[j] * x[i] * y[j]; } t })",
        "[T; n]",
    ),
    of(
        "`for` over a window, of functions",
        "build(n, |i| { let mut t = s; let mut w = 1.0; for j in max(0, i - 3)..min(n, i + 4) { let e = (x[i] - x[j]).tanh(); t += e * y[j]; w += e * e; } t / w })",
        "[T; n]",
    ),
    of("indices kept within borders", "build(n, |i| x[min(i + 1, n - 1)] * y[max(i - 2, 0)])", "[T; n]"),
    of(
        "`for` over a triangle, of arrays",
        "build(n, |i| { let mut h = [x[i], s]; for j in 0..n - i { h[j % 2] = h[1].sin() + y[j + i]; } h[0] * h[1] })",
        "[T; n]",
    ),
    of(
        "`for` over as many trips as data say",
        "build(n, |i| { let mut a = s; let mut b = 0.5; for j in 0..at[i] as i64 { a += (x[i] * y[j]).sin(); b = b * b + x[j]; } a * b })",
        "[T; n]",
    ),
    of("`#[checkpoint]`", "{ let mut h = x; #[checkpoint] for i in 0..6 { h = h.sin() + s; } h }", "[T; n]"),
    of(
        "complex arithmetic",
        "{ let z = Complex::new(x, y); let w = z * z + 1.0 / (z + Complex::new(3.0, s)); w.re + w.im }",
        "[T; n]",
    ),
    of(
        "functions of complex numbers",
        "{ let z = Complex::new(x, y); (z.exp() * sqrt(2.5 + z)).re + (z + 2.5).ln().im }",
        "[T; n]",
    ),
    of(
        "sums and products of complex numbers",
        "{ let z = Complex::new(x, 1.0 + 0.01 * y); (cumsum(z) * s).im + prod(z).re }",
        "[T; n]",
    ),
    of(
        "loops over complex numbers",
        "build(n, |i| { let mut z = Complex::new(x[i], 0.5); for j in 0..3 { z = z * z + Complex::new(s, y[i]); } z.norm_sqr() })",
        "[T; n]",
    ),
    of("`stop_gradient`", "x * stop_gradient(x)", "[T; n]"),
    of("`grad` inside", "grad(|a| sum(a * a * a * y))(x)", "[T; n]"),
    of("`vjp`, `jvp` inside", "{ let f = |a| matvec(m, a.sin()); vjp(f)(x, jvp(f)(x, y).1).1 }", "[T; n]"),
];
