//! The rules of the steps that routines of the runtime do.

use super::super::{Contract, Operand, Sort, Sorted};
use super::Verifier;
use crate::affine::{Affine, Facts};
use crate::bulk::{Axis, Var};
use crate::dim::Dim;
use crate::ty::Elem;

impl Verifier<'_> {
    /// Whether all that a contraction takes of an operand is within its dimensions, where each axis has points.
    fn is_inside(&self, c: &Contract, o: &Operand, dims: &[Dim]) -> bool {
        let axes: Option<Vec<Axis>> = (0..c.extents.len())
            .map(|k| Some(Axis { var: Var(u32::MAX - u32::try_from(k).ok()?), extent: c.extents[k].clone() }))
            .collect();
        let Some(axes) = axes else { return false };
        let place = |(axis, from): &(Option<usize>, Dim)| {
            let axis = axis.map_or(Some(Affine::default()), |k| Some(Affine::axis(axes.get(k)?.var)));
            Some(axis?.add(&Affine::constant(from.clone())))
        };
        let places: Option<Vec<Affine>> = o.places.iter().map(place).collect();
        places.is_some_and(|places| {
            places.len() == dims.len() && Facts::new(&axes, &self.checked).places_inside(&places, dims)
        })
    }

    /// A sort gives what it says, of the dimensions of its keys.
    pub(super) fn sort(&mut self, s: &Sort) {
        self.scope.sort(s.result, s.keys, |keys| match s.gives {
            Sorted::Positions => Elem::I64,
            Sorted::Values => keys,
        });
    }

    /// A sum of products is of floats, and has each axis in two of the three arrays, and whole dimensions.
    pub(super) fn contract(&mut self, c: &Contract) {
        self.scope.loc(c.loc);
        c.extents.iter().for_each(|d| self.scope.dim(d, "an extent of a contraction"));
        let Some(result) = self.scope.info(c.result) else { return };
        let (Some((a, _)), Some((b, _))) = (self.scope.readable(c.a.array), self.scope.readable(c.b.array))
        else {
            return;
        };
        let elem = result.elem;
        if a.elem != elem || b.elem != elem || !elem.is_float() {
            self.scope.error(format!("a contraction of {} and {} gives {elem}", a.elem, b.elem));
        }
        for (o, info) in [(&Operand::whole(c.result, &c.out), result), (&c.a, a), (&c.b, b)] {
            let (id, axes) = (o.array, o.axes());
            o.places.iter().for_each(|(_, from)| self.scope.dim(from, "a place in a contraction"));
            if !o.is_whole(&c.extents, &info.dims) && (id == c.result || !self.is_inside(c, o, &info.dims)) {
                let name = self.scope.name(id);
                self.scope.error(format!(
                    "the axes of `{name}` in a contraction have other extents than its dimensions"
                ));
            }
            if axes.iter().enumerate().any(|(i, x)| axes[..i].contains(x)) {
                let name = self.scope.name(id);
                self.scope.error(format!("`{name}` has an axis of a contraction twice"));
            }
        }
        for i in 0..c.extents.len() {
            let uses = [&c.out, &c.a.axes(), &c.b.axes()].iter().filter(|axes| axes.contains(&i)).count();
            if uses < 2 {
                self.scope
                    .error(format!("axis i{i} of a contraction is no batch, row, column or summed axis"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Contract, Operand, Program, Sort, Sorted, Step};
    use super::super::check;
    use crate::bulk::parse::parse;
    use crate::bulk::{ArrayId, interp};
    use crate::dim::Dim;
    use crate::schedule::schedule;
    use crate::target::Target;
    use crate::testing::loops;
    use crate::ty::Elem;
    use crate::value::Value;

    const PRODUCT: &str =
        "program f(a.0: [n][k]f64, b.1: [k][m]f64, x.2: [n]f64, w.5: [k][m]i64) sizes n, k, m
        c.3: [n][m]f64 = nest [%0 < n, %1 < m, %2 < k] {
          %3 = a.0[%0, %2]; %4 = b.1[%2, %1]; %5 = mul %3 %4 } reduce(add) 1 %5
        o.4: [n]i64 = argsort x.2
        => (c.3, o.4)";

    fn errors(change: impl FnOnce(&mut Contract, &mut Sort)) -> Vec<String> {
        errors_of(PRODUCT, change)
    }

    /// A contraction means what the nest that it was made of means.
    #[test]
    fn a_contraction_is_its_nest() {
        let p = parse(PRODUCT).expect("it parses");
        let l = schedule(&p, Target::Cpu);
        assert!(matches!(&l.steps[..], [Step::Contract(_), Step::Sort(_)]), "{:?}", l.steps);
        let floats = |shape: &[usize], data: &[f64]| Value::from_f64(Elem::F64, shape.to_vec(), data);
        let args = [
            floats(&[2, 3], &[1.0, -2.0, 3.0, 0.5, 4.0, -1.0]),
            floats(&[3, 4], &[2.0, 0.0, -1.0, 5.0, 1.0, 3.0, 0.5, -4.0, -2.0, 1.5, 6.0, 0.25]),
            floats(&[2], &[7.0, -7.0]),
            Value::from_i64(Elem::I64, vec![3, 4], &[0; 12]),
        ];
        let args = args.map(|a| a.expect("the numbers fill the shape"));
        let meant = interp::run(&p, &args).expect("it runs");
        assert_eq!(loops::run(&l, Target::Cpu, &args), Ok(meant.clone()));
        assert_eq!(meant[0].to_f64(), [-6.0, -1.5, 16.0, 13.75, 7.0, 10.5, -4.5, -13.75]);
    }

    /// The errors of a program whose steps are a product and a sort, after a change.
    fn errors_of(text: &str, change: impl FnOnce(&mut Contract, &mut Sort)) -> Vec<String> {
        let mut p: Program = schedule(&parse(text).expect("it parses"), Target::Cpu);
        let [Step::Contract(c), Step::Sort(s)] = p.steps.as_mut_slice() else { panic!("{:?}", p.steps) };
        change(c, s);
        check(&p)
    }

    #[test]
    fn routines_get_what_they_take() {
        assert_eq!(errors(|_, _| {}), [""; 0]);
        let wrong = |change: fn(&mut Contract, &mut Sort)| errors(change)[0].clone();
        let twice = wrong(|c, _| c.a = Operand::whole(c.a.array, &[0, 0]));
        assert_eq!(twice, "the axes of `a.0` in a contraction have other extents than its dimensions");
        let diagonal = wrong(|c, _| {
            c.extents[2] = Dim::name("n");
            c.a = Operand::whole(c.a.array, &[0, 0]);
        });
        assert!(diagonal.starts_with("the axes of `a.0`"), "{diagonal}");
        // All rows from the second on are one less than there are.
        let shifted = wrong(|c, _| c.a.places[0].1 = Dim::constant(1));
        assert!(shifted.starts_with("the axes of `a.0`"), "{shifted}");
        assert_eq!(
            wrong(|c, _| c.extents[1] = Dim::name("k")),
            "the axes of `c.3` in a contraction have other extents than its dimensions"
        );
        // Of the same extents, which only a name tells apart.
        let square = "program f(a.0: [n][n]f64, b.1: [n][n]f64, x.2: [n]f64) sizes n
            c.3: [n][n]f64 = nest [%0 < n, %1 < n, %2 < n] {
              %3 = a.0[%0, %2]; %4 = b.1[%2, %1]; %5 = mul %3 %4 } reduce(add) 1 %5
            o.4: [n]i64 = argsort x.2
            => (c.3, o.4)";
        let errors = errors_of(square, |c, _| c.a = Operand::whole(c.a.array, &[2, 2]));
        assert_eq!(
            errors,
            [
                "`a.0` has an axis of a contraction twice",
                "axis i0 of a contraction is no batch, row, column or summed axis"
            ]
        );
        assert_eq!(wrong(|c, _| c.b.array = ArrayId(5)), "a contraction of f64 and i64 gives f64");
        let mut integers: Program = schedule(&parse(PRODUCT).expect("it parses"), Target::Cpu);
        for a in [0, 1, 3] {
            integers.arrays[a].elem = Elem::I64;
        }
        assert_eq!(check(&integers), ["a contraction of i64 and i64 gives i64"]);
        assert_eq!(wrong(|c, _| c.b.array = ArrayId(4)), "`o.4` is used before it is bound");
        assert_eq!(wrong(|_, s| s.gives = Sorted::Values), "`o` is no sort of `x`");
    }
}
