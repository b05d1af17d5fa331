use super::*;

/// The message of the panic of `out[i, j] = sum over k of a[i, k] * b[k, j]` with these extents and lengths.
fn refused(extents: &[i64; 3], out: usize, a: usize, b: usize, out_axes: &[usize]) -> String {
    let panic = std::panic::catch_unwind(|| {
        contract(&mut vec![0.0f64; out], &vec![1.0; a], &vec![1.0; b], extents, out_axes, &[0, 2], &[2, 1]);
    });
    let payload = panic.expect_err("lengths that do not fit");
    payload
        .downcast::<String>()
        .map_or_else(|_| String::new(), |s| s.lines().next().unwrap_or_default().into())
}

#[test]
fn extents_whose_products_wrap_to_the_lengths_are_refused() {
    // (2^62 + 1) * 4 = 4 modulo 2^64
    let wraps = (1 << 62) + 1;
    assert!(refused(&[wraps, 4, 4], 4, 4, 16, &[0, 1]).ends_with("the result's length"));
    assert!(refused(&[4, wraps, 4], 4, 16, 4, &[0, 1]).ends_with("the result's length"));
    assert!(refused(&[4, 4, wraps], 16, 4, 4, &[0, 1]).ends_with("the first operand's length"));
    // 2^32 * 2^32 = 0 modulo 2^64: not an empty array.
    assert!(refused(&[1 << 32, 1 << 32, 1], 0, 0, 0, &[0, 1]).ends_with("the result's length"));
    // The same axis twice.
    assert!(refused(&[2, 2, 2], 4, 4, 4, &[0, 0]).ends_with("the result's length"));
}

#[test]
fn results_take_memory_that_was_not_set() {
    for k in [0, 2] {
        let out = crate::cpu::alloc_unset(4).unwrap();
        let (a, b) = (vec![1.0f64; 2 * k], vec![3.0; 2 * k]);
        let out = contract_into(out, &a, &b, &[2, 2, k as i64], &[0, 1], &[0, 2], &[2, 1]);
        assert_eq!(out[..], [3.0 * k as f64; 4]);
    }
}

/// Axis lists, as letters: result, first operand, second operand.
struct Case<'a> {
    axes: [&'a str; 3],
    extents: Vec<i64>,
}

impl<'a> Case<'a> {
    fn new(axes: [&'a str; 3], extents: &[i64]) -> Case<'a> {
        Case { axes, extents: extents.to_vec() }
    }

    fn positions(&self) -> [Vec<usize>; 3] {
        self.axes.map(|s| s.bytes().map(|c| usize::from(c - b'a')).collect())
    }

    fn len(&self, operand: usize) -> usize {
        self.positions()[operand].iter().map(|x| self.extents[*x] as usize).product()
    }

    fn operand(&self, operand: usize) -> Vec<f64> {
        // Dyadic fractions, so that small cases are exact in both element types.
        (0..self.len(operand)).map(|i| ((i * 7919 + operand * 31) % 23) as f64 / 8.0 - 1.25).collect()
    }

    fn run<T: ContractElem + std::fmt::Debug>(&self, cast: fn(f64) -> T) -> Vec<T> {
        let [out_axes, a_axes, b_axes] = self.positions();
        let [a, b] = [1, 2].map(|o| self.operand(o).into_iter().map(cast).collect::<Vec<T>>());
        // What was there before must not matter.
        let mut out = vec![cast(f64::NAN); self.len(0)];
        contract(&mut out, &a, &b, &self.extents, &out_axes, &a_axes, &b_axes);
        out
    }

    fn naive(&self) -> Vec<f64> {
        let axes = self.positions();
        let [a, b] = [1, 2].map(|o| self.operand(o));
        let mut out = vec![0.0; self.len(0)];
        let used: Vec<usize> =
            (0..self.extents.len()).filter(|x| axes.iter().any(|list| list.contains(x))).collect();
        let total: usize = used.iter().map(|x| self.extents[*x] as usize).product();
        for point in 0..total {
            let mut rest = point;
            let mut index = vec![0; self.extents.len()];
            for x in used.iter().rev() {
                index[*x] = rest % self.extents[*x] as usize;
                rest /= self.extents[*x] as usize;
            }
            let flat =
                |list: &[usize]| list.iter().fold(0, |at, x| at * self.extents[*x] as usize + index[*x]);
            out[flat(&axes[0])] += a[flat(&axes[1])] * b[flat(&axes[2])];
        }
        out
    }

    fn check(&self) {
        let expected = self.naive();
        let [out, ..] = self.positions();
        let summed = (0..self.extents.len()).filter(|x| !out.contains(x));
        let terms = 1.0 + summed.map(|x| self.extents[x]).product::<i64>() as f64;
        let close = |found: f64, expected: f64, epsilon: f64| {
            assert!(
                (found - expected).abs() <= epsilon * terms,
                "{:?} {:?}: {found} for {expected}",
                self.axes,
                self.extents
            );
        };
        let (double, single) = (self.run(|x| x), self.run(|x| x as f32));
        assert_eq!([double.len(), single.len()], [expected.len(); 2]);
        double.iter().zip(&expected).for_each(|(x, e)| close(*x, *e, 1e-14));
        single.iter().zip(&expected).for_each(|(x, e)| close(f64::from(*x), *e, 1e-6));
    }
}

#[test]
fn common_products() {
    let cases = [
        (["ab", "ac", "cb"], [3, 4, 5, 1]),
        (["ab", "ca", "bc"], [30, 40, 50, 1]),
        (["ba", "ac", "cb"], [30, 40, 50, 1]),
        (["a", "ac", "c"], [70, 1, 80, 1]),
        (["a", "c", "ca"], [70, 1, 80, 1]),
        (["", "a", "a"], [1000, 1, 1, 1]),
        (["ab", "a", "b"], [70, 80, 1, 1]),
        (["abc", "adb", "acd"], [5, 6, 7, 8]),
        (["bac", "abd", "dc"], [5, 20, 7, 30]),
        (["cab", "acd", "dbc"], [3, 20, 9, 25]),
        (["a", "a", "a"], [100, 1, 1, 1]),
        (["ab", "acd", "bdc"], [9, 8, 7, 6]),
        (["ab", "abc", "bac"], [9, 8, 7, 1]),
        // An axis that only one operand has.
        (["a", "ab", "c"], [4, 5, 6, 1]),
    ];
    for (axes, extents) in cases {
        Case::new(axes, &extents).check();
    }
}

#[test]
fn random_axis_orders() {
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..400 {
        // Each of five axes gets a class: batch, row, column or summed.
        let mut lists = [String::new(), String::new(), String::new()];
        let extents: Vec<i64> = (0..5).map(|_| [1, 2, 3, 5, 12][random(5)]).collect();
        for name in ["a", "b", "c", "d", "e"] {
            let members: &[usize] = [&[0, 1, 2][..], &[0, 1], &[0, 2], &[1, 2]][random(4)];
            for list in members {
                let at = random(lists[*list].len() + 1);
                lists[*list].insert_str(at, name);
            }
        }
        Case::new([&lists[0], &lists[1], &lists[2]], &extents).check();
    }
}

#[test]
fn empty_sums_are_zero_and_empty_results_are_nothing() {
    assert_eq!(Case::new(["ab", "ac", "cb"], &[2, 3, 0]).run(|x| x), [0.0; 6]);
    assert!(Case::new(["ab", "ac", "cb"], &[2, 0, 3]).run(|x| x).is_empty());
    assert_eq!(Case::new(["", "a", "a"], &[0]).run(|x| x as f32), [0.0]);
    assert_eq!(Case::new(["", "", ""], &[]).run(|x| x), Case::new(["", "", ""], &[]).naive());
}

#[test]
fn results_do_not_depend_on_threads() {
    let cases = [
        (["ab", "ac", "cb"], [150, 130, 170, 1]),
        (["ab", "ca", "bc"], [150, 130, 170, 1]),
        (["ab", "ca", "cb"], [20, 10, 5000, 1]),
        (["a", "ac", "c"], [1500, 1, 700, 1]),
        (["a", "ca", "c"], [9000, 1, 90, 1]),
        (["", "a", "a"], [1_000_000, 1, 1, 1]),
        (["abc", "adb", "acd"], [100, 16, 17, 80]),
    ];
    let pools = [1, 4].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap());
    for (axes, extents) in cases {
        let case = Case::new(axes, &extents);
        case.check();
        let [one, four] = pools.each_ref().map(|p| p.install(|| case.run(|x| (x * 0.37).sin() as f32)));
        assert!(one.iter().zip(&four).all(|(x, y)| x.to_bits() == y.to_bits()), "{axes:?}");
        let [one, four] = pools.each_ref().map(|p| p.install(|| case.run(|x| (x * 0.37).sin())));
        assert!(one.iter().zip(&four).all(|(x, y)| x.to_bits() == y.to_bits()), "{axes:?}");
    }
}

#[test]
fn parts_are_what_whole_copies_of_them_are() {
    // out[i, j] = sum over k of a[t, i + 1, k] * b[k, s, j], for two products of different sizes.
    for (rows, columns, terms) in [(3, 4, 5), (40, 33, 70)] {
        let (m, n, k) = (rows + 2, columns, terms);
        let a: Vec<f64> = (0..3 * m * k).map(|i| ((i * 7919) % 23) as f64 / 8.0 - 1.25).collect();
        let b: Vec<f64> = (0..k * 2 * n).map(|i| ((i * 31) % 29) as f64 / 8.0 - 1.5).collect();
        let dims = |d: [usize; 3]| d.map(|n| n as i64);
        let (a_dims, b_dims) = (dims([3, m, k]), dims([k, 2, n]));
        let part_a = Part { data: &a, dims: &a_dims, axes: &[NO_AXIS, 0, 2], from: &[2, 1, 0] };
        let part_b = Part { data: &b, dims: &b_dims, axes: &[2, NO_AXIS, 1], from: &[0, 1, 0] };
        let extents = dims([rows, columns, terms]);
        let mut out = vec![0.0; rows * columns];
        contract_parts(&mut out, part_a, part_b, &extents, &[0, 1]);
        let of_a = a[(2 * m + 1) * k..][..rows * k].to_vec();
        let of_b: Vec<f64> = (0..k).flat_map(|t| b[(2 * t + 1) * n..][..n].to_vec()).collect();
        let mut expected = vec![0.0; rows * columns];
        contract(&mut expected, &of_a, &of_b, &extents, &[0, 1], &[0, 2], &[2, 1]);
        assert_eq!(out, expected);
        let fresh = contract_parts_into(
            crate::cpu::alloc_unset(out.len() as i64).unwrap(),
            part_a,
            part_b,
            &extents,
            &[0, 1],
        );
        assert_eq!(fresh[..], expected);
    }
}

#[test]
fn parts_outside_of_their_arrays_are_refused() {
    let refused = |dims: [i64; 2], axes: [usize; 2], from: [i64; 2]| {
        std::panic::catch_unwind(|| {
            let part = Part { data: &[1.0f64; 6], dims: &dims, axes: &axes, from: &from };
            let b = Part { data: &[1.0f64; 2], dims: &[2], axes: &[1], from: &[0] };
            contract_parts(&mut [0.0; 2], part, b, &[2, 2], &[0]);
        })
        .is_err()
    };
    assert!(!refused([3, 2], [0, 1], [1, 0]));
    assert!(refused([3, 2], [0, 1], [2, 0]));
    assert!(refused([3, 2], [0, 1], [-1, 0]));
    assert!(refused([3, 2], [0, 1], [i64::MAX, 0]));
    assert!(refused([3, 3], [0, 1], [0, 0]));
    assert!(refused([3, 2], [0, 0], [0, 0]));
    assert!(refused([3, 2], [NO_AXIS, 1], [3, 0]));
}
