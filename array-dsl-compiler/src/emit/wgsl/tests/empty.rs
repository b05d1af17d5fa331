//! Axes and arrays that a constant size makes empty: their shaders are never executed, but they must be valid.

use super::*;

/// Three axes, one of them without points at a time.
fn shapes() -> Vec<[Dim; 3]> {
    let zero = Dim::constant(0);
    (0..3)
        .flat_map(|at| {
            let around = [[n(), m(), Dim::constant(4)], [Dim::constant(4), Dim::constant(2), n()]];
            around.map(|mut dims| {
                dims[at] = zero.clone();
                dims
            })
        })
        .chain([[zero.clone(), zero.clone(), zero.clone()]])
        .collect()
}

#[test]
fn points() {
    for dims in shapes() {
        let mut b = Builder::new();
        let x = b.param("x", Elem::F32, &dims);
        let turned: Vec<Dim> = dims.iter().rev().cloned().collect();
        let (y, z) = (b.heap("y", Elem::F32, &turned), b.heap("z", Elem::F32, &dims));
        let axes = dims.map(|d| b.axis(d));
        let (u, read) = b.read(x, &at(&axes), true);
        let back: Vec<Atom> = at(&axes).into_iter().rev().collect();
        let place = b.bind(Elem::F32, Exp::Op(Op::Cast(Elem::F32), vec![Atom::Var(axes[1].var)]));
        b.tree(&axes, vec![read, place.1, store(y, back, u), store(z, at(&axes), place.0)]);
        b.check();
    }
}

#[test]
fn reductions() {
    for reducer in [Reducer::Add, Reducer::Min, Reducer::ArgMax] {
        for dims in shapes() {
            let mut b = Builder::new();
            let x = b.param("x", Elem::F32, &dims);
            let y = b.heap("y", reducer.result(Elem::F32), &dims[..1]);
            let axes = dims.map(|d| b.axis(d));
            let [i, j, k] = axes.clone();
            let (u, read) = b.read(x, &at(&axes), true);
            let inner = if reducer.op().is_some() { reducer } else { Reducer::Add };
            let (sum, l) = fold(&mut b, k, vec![read], inner, u);
            let (sum, l) = fold(&mut b, j, vec![l], reducer, sum);
            b.tree(from_ref(&i), vec![l, store(y, at(from_ref(&i)), sum)]);
            b.check();
        }
    }
}

#[test]
fn combined_values() {
    for dims in shapes() {
        for bins in [0, 3] {
            let mut b = Builder::new();
            let (places, y) =
                (b.param("at", Elem::I64, &dims), b.heap("y", Elem::F32, &[Dim::constant(bins)]));
            let axes = dims.clone().map(|d| b.axis(d));
            let (k, read) = b.read(places, &at(&axes), false);
            let value = float(1.0);
            let node = Node::Accumulate { array: y, reducer: Reducer::Add, index: vec![k], value };
            b.tree(&axes, vec![read, node]);
            b.check();
        }
    }
}

#[test]
fn prefixes() {
    for (rows, length) in [("0", "n"), ("n", "0"), ("0", "0")] {
        super::sequences::both(&format!(
            "fn f(a.1: [{rows}][{length}]f32, b.7: [n]f32) -> ([{rows}][{length}]f32, f32) sizes n
             y.2: [{rows}][{length}]f32 = build [j.9 < {rows}] {{
               r.10: [{length}]f32 = scan inclusive (add) i.3 < {length} {{ e.4: f32 = a.1[j.9, i.3] => e.4 }}
               => r.10
             }}
             s.5: f32 = reduce (add) i.6 < n {{ e.8: f32 = b.7[i.6] => e.8 }}
             => y.2, s.5"
        ));
    }
}
