//! The examples of the thesis and of its critique: what is accepted with which elaboration, what is not.

use super::*;

/// A term with definitions before it, each `name = term`.
fn solve(definitions: &[&str], text: &str) -> Result<Lifted, Error> {
    let mut names = environment();
    for d in definitions {
        let (name, value) = d.split_once(" = ").expect("a definition");
        // A definition is decided by itself, for all types that it leaves open.
        let defined = lift(&term(value), &names)?;
        names.insert(Name::from(name), Scheme::general(defined.ty));
    }
    lift(&term(text), &names)
}

#[track_caller]
fn accepted(definitions: &[&str], text: &str, cost: usize, shown: &str) -> Lifted {
    match solve(definitions, text) {
        Ok(lifted) => {
            assert_eq!((lifted.elaboration.to_string().as_str(), lifted.cost), (shown, cost), "{text}");
            lifted
        }
        Err(e) => panic!("{text}: {e}"),
    }
}

#[track_caller]
fn ambiguous(definitions: &[&str], text: &str, cost: usize, shown: &[&str]) {
    match solve(definitions, text) {
        Err(Error::Ambiguous { cost: found, elaborations }) => {
            let found_shown: Vec<String> = elaborations.iter().map(Elaboration::to_string).collect();
            assert_eq!(found_shown, shown, "{text}");
            assert_eq!(found, cost, "{text}");
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a1_to_a5_scalars_over_arrays() {
    accepted(&[], "sqrt [1 2 3]", 1, "map(sqrt, [1, 2, 3])");
    accepted(&[], "+ [1 2 3] [4 5 6]", 1, "map(|x, y| x + y, [1, 2, 3], [4, 5, 6])");
    accepted(&[], "+ [3 4 5] 1", 1, "map(|x| x + 1, [3, 4, 5])");
    accepted(&[], "+ 1 [3 4 5]", 1, "map(|x| 1 + x, [3, 4, 5])");
    accepted(&[], "* xsss s", 3, "map(|x| map(|y| map(|z| z * s, y), x), xsss)");
}

#[test]
fn a6_a_vector_and_a_matrix() {
    accepted(&[], "+ xss xs", 2, "map(|x| map(|y, z| y + z, x, xs), xss)");
    accepted(&[], "+ xs xss", 2, "map(|x| map(|y, z| y + z, xs, x), xss)");
}

const LERP: &str = "L = \\v w t. + v (* (- w v) t)";

#[test]
fn a7_and_a8_interpolation() {
    let lerp = accepted(&[LERP], "L", 0, "L");
    assert_eq!(lerp.ty.to_string(), "fn(int) -> fn(int) -> fn(int) -> int");
    accepted(&[LERP], "L xs ys s", 1, "map(|x, y| L(x, y, s), xs, ys)");
    accepted(&[LERP], "L xs ys xs", 1, "map(L, xs, ys, xs)");
    accepted(&[LERP], "L s 2 xs", 1, "map(|x| L(s, 2, x), xs)");
}

#[test]
fn a9_outer_products_of_any_function() {
    let outerprod = "outerprod = \\f xs ys. map (\\x. f x ys) xs";
    let general = accepted(&[outerprod], "outerprod", 0, "outerprod");
    assert_eq!(general.ty.to_string(), "fn(fn(a) -> fn(b) -> c) -> fn([a]) -> fn(b) -> [c]");
    let equal = "outerprod == (indices xs) (indices xs)";
    let lifted = accepted(&[outerprod], equal, 1, "map(|x| outerprod(==, indices(xs), x), indices(xs))");
    assert_eq!(lifted.ty.to_string(), "[[bool]]");
}

const XMAT: &str = "xmat = \\a. || (bidd a) (reverse (bidd a))";

#[test]
fn a10_and_a11_a_matrix_of_flags() {
    let value = XMAT.split_once(" = ").map_or("", |(_, value)| value);
    let shown = "|a| map(|x, y| map(|z, u| z || u, x, y), bidd(a), reverse(bidd(a)))";
    assert_eq!(accepted(&[], value, 2, shown).ty.to_string(), "fn([a]) -> [[bool]]");
    let shown = "and(flatten(map(|x, y| map(eq, x, y), xmat(xss), map(|x| map(|y| y != 0, x), xss))))";
    accepted(&[XMAT], "and (flatten (eq (xmat xss) (!= xss 0)))", 4, shown);
}

#[test]
fn a12_and_a13_explicit_maps() {
    accepted(&[], "map (\\y. * xs y) ys", 1, "map(|y| map(|x| x * y, xs), ys)");
    accepted(&[], "map (\\x. * x ys) xs", 1, "map(|x| map(|y| x * y, ys), xs)");
}

#[test]
fn a14_magnetic_resonance() {
    accepted(
        &[],
        "+ (* xs xs) (* ys ys)",
        3,
        "map(|x, y| x + y, map(|x, y| x * y, xs, xs), map(|x, y| x * y, ys, ys))",
    );
    let part = "* xs (transpose (rep ys))";
    let whole = format!("* (* 2 s) (+ (+ ({part}) ({part})) ({part}))");
    let lifted = solve(&[], &whole).expect("an elaboration");
    assert_eq!((lifted.cost, lifted.minima), (12, 1));
    assert_eq!(lifted.ty.to_string(), "[[int]]");
    let sums = "map(sum, map(|x| map(|y, z| y * z, x, xs), map(|x| map(cos, x), xss)))";
    accepted(&[], "sum (* (cos xss) xs)", 5, sums);
}

#[test]
fn a15_to_a17_reductions() {
    accepted(&[], "sum (* xss ys)", 3, "map(sum, map(|x| map(|y, z| y * z, x, ys), xss))");
    accepted(&[], "reduce + 0 xss", 1, "map(|x| reduce(+, 0, x), xss)");
    accepted(&[], "minimum (dist2 xs yss)", 1, "minimum(map(|x| dist2(xs, x), yss))");
}

#[test]
fn n1_the_worked_integer_program() {
    ambiguous(&[], "sum (length xss)", 1, &["sum(replicate(_, length(xss)))", "sum(map(length, xss))"]);
}

#[test]
fn n2_a_parameter_of_any_rank() {
    ambiguous(
        &[XMAT],
        "\\a. and (flatten (eq (xmat a) (!= a 0)))",
        3,
        &[
            "|a| and(flatten(map(|x| map(eq, x, map(|x| x != 0, a)), xmat(a))))",
            "|a| and(flatten(map(|x| map(|y| eq(y, a != 0), x), xmat(replicate(_, a)))))",
        ],
    );
}

#[test]
fn n3_the_smallest_of_all_is_unique() {
    let lifted = accepted(&[], "id xss", 0, "id(xss)");
    assert_eq!((lifted.minima, lifted.ty.to_string().as_str()), (1, "[[int]]"));
}

#[test]
fn n4_and_n5_plain_applications_stay_plain() {
    let outerprod = "outerprod = \\f xs ys. (\\x. f x ys) xs";
    let plain = accepted(&[outerprod], "outerprod", 0, "outerprod");
    assert_eq!(plain.ty.to_string(), "fn(fn(a) -> fn(b) -> c) -> fn(a) -> fn(b) -> c");
    let by_elements = accepted(&[], "(\\x. * x ys) xs", 1, "(|x| map(|y, z| y * z, x, ys))(xs)");
    assert_eq!(by_elements.ty.to_string(), "[int]");
}

/// Lengths 3 and 2, replications of a size that nothing gives, rows minus a column: ranks agree, sizes are seen later.
#[test]
fn n6_and_n11_to_n13_are_left_to_sizes() {
    accepted(&[], "+ [1 2 3] [4 5]", 1, "map(|x, y| x + y, [1, 2, 3], [4, 5])");
    let dropped = "sum(replicate(_, minimum(map(dist2, xss, yss))))";
    accepted(&[], "sum (minimum (dist2 xss yss))", 2, dropped);
    for f in ["length", "sum", "indices"] {
        accepted(&[], &format!("{f} s"), 1, &format!("{f}(replicate(_, s))"));
    }
    accepted(&[], "- xss (mean xss)", 3, "map(|x| map(|y, z| y - z, x, map(mean, xss)), xss)");
}

#[test]
fn n7_free_replications_make_pipes_ambiguous() {
    let elaborations = ["pipe(indices(xs), replicate(_, f))", "map(|x| pipe(x, f), indices(xs))"];
    ambiguous(&[], "pipe (indices xs) f", 1, &elaborations);
}

#[test]
fn n8_an_explicit_map_takes_no_lifted_function() {
    assert_eq!(solve(&[], "map sqrt xss").err(), Some(Error::NoSolution));
    accepted(&[], "map (\\x. sqrt x) xss", 1, "map(|x| map(sqrt, x), xss)");
    accepted(&[], "sqrt xss", 2, "map(|x| map(sqrt, x), xss)");
    // As an unknown function, `map` might do anything with a replicated function.
    let elaborations = ["map(|x| flexmap(sqrt, x), xss)", "flexmap(replicate(_, sqrt), xss)"];
    ambiguous(&[], "flexmap sqrt xss", 1, &elaborations);
}

/// Rejected in the thesis, though inside or outside of the function makes no difference.
#[test]
fn n9_what_means_the_same_is_accepted() {
    assert_eq!(accepted(&[], "(\\x. * x x) xs", 1, "map(|x| x * x, xs)").minima, 2);
    assert_eq!(accepted(&[], "(\\x y. + x y) xs ys", 1, "map(|x, y| x + y, xs, ys)").minima, 2);
    // Without its second argument it may also be a function of a scalar, which is another one.
    let elaborations = ["map(|x, y| x + y, xs)", "(|x, y| map(|z| z + y, x))(xs)"];
    ambiguous(&[], "(\\x y. + x y) xs", 1, &elaborations);
}

#[test]
fn n10_rows_or_columns() {
    let elaborations = ["map(|x, y| reduce(+, x, y), xs, xss)", "reduce(replicate(_, +), xs, xss)"];
    ambiguous(&[], "reduce + xs xss", 1, &elaborations);
}

#[test]
fn n14_errors_of_types() {
    assert_eq!(solve(&[], "1 2").err(), Some(Error::NotAFunction(Type::base("int"))));
    let mismatch = Error::Mismatch(Type::base("bool"), Type::base("int"));
    assert_eq!(solve(&[], "+ true 1").err(), Some(mismatch));
    assert!(matches!(solve(&[], "\\x. x x").err(), Some(Error::Infinite(_))));
    assert_eq!(solve(&[], "nothing").err(), Some(Error::UnknownName(Name::from("nothing"))));
}

/// The system as published would map over the elements of `reverse`, which has none.
#[test]
fn functions_of_arrays_are_not_arrays_of_functions() {
    assert_eq!(solve(&[], "on reverse xs").err(), Some(Error::NoSolution));
    accepted(&[], "on sqrt xs", 1, "map(|x| on(sqrt, x), xs)");
}

#[test]
fn one_name_used_twice_decides() {
    // Each use would need a replication, which costs more than to map once.
    let term = "let l = (length xss) in + (dist2 l xs) (dist2 l ys)";
    let shown = "{ let l = map(length, xss); dist2(l, xs) + dist2(l, ys) }";
    assert_eq!(accepted(&[], term, 1, shown).minima, 1);
}

#[test]
fn what_arguments_decide_never_reaches_the_solver() {
    for text in ["+ xss xs", "sum (* xss ys)", "minimum (dist2 xs yss)", "map (\\x. * x ys) xs"] {
        assert_eq!(solve(&[], text).unwrap_or_else(|e| panic!("{text}: {e}")).undecided, 0, "{text}");
    }
}
