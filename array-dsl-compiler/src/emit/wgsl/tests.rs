//! Programs built by hand, printed, and every shader parsed and validated by naga.

mod counts;
mod drivers;
mod empty;
mod recurrences;
mod sequences;

use std::slice::from_ref;

use super::{GpuCode, ShaderText, emit};
use crate::Verified;
use crate::bulk::{ArrayId, Atom, Axis, Block, Branch, Check, CheckKind, Exp, Let, Param, Reducer, Var};
use crate::dim::{Dim, SizeAtom};
use crate::loops::{ArrayInfo, Contract, Fold, Home, Loop, Node, Operand, Program, Step, Tree};
use crate::scalar::{Class, Op, TABLE};
use crate::target::Target;
use crate::ty::{Const, Elem, Loc, Place, Tree as Structure};

/// A program under construction.
struct Builder(Program);

fn n() -> Dim {
    Dim::name("n")
}

fn m() -> Dim {
    Dim::name("m")
}

fn int(value: i64) -> Atom {
    Atom::Const(Const::int(Elem::I64, value))
}

fn float(value: f64) -> Atom {
    Atom::Const(Const::float(Elem::F32, value))
}

impl Builder {
    fn new() -> Builder {
        let place = |line| Place { kernel: "k".into(), file: "src/k.rs".into(), line, column: 1 };
        Builder(Program {
            name: "k".into(),
            sizes: vec!["n".into(), "m".into()],
            strips: Vec::new(),
            params: Vec::new(),
            arrays: Vec::new(),
            vars: Vec::new(),
            steps: Vec::new(),
            result: Structure::Tuple(Vec::new()),
            places: (1..5).map(place).collect(),
        })
    }

    fn array(&mut self, name: &str, elem: Elem, dims: &[Dim], home: Home) -> ArrayId {
        self.0.arrays.push(ArrayInfo { name: name.into(), elem, dims: dims.to_vec(), home, most: None });
        ArrayId(self.0.arrays.len() as u32 - 1)
    }

    fn param(&mut self, name: &str, elem: Elem, dims: &[Dim]) -> ArrayId {
        let a = self.array(name, elem, dims, Home::Param);
        self.0.params.push(Param {
            name: name.into(),
            arrays: Structure::Leaf(a),
            active: true,
            loc: Loc(0),
        });
        a
    }

    fn heap(&mut self, name: &str, elem: Elem, dims: &[Dim]) -> ArrayId {
        self.array(name, elem, dims, Home::Heap)
    }

    fn var(&mut self, elem: Elem) -> Var {
        self.0.vars.push(elem);
        Var(self.0.vars.len() as u32 - 1)
    }

    fn axis(&mut self, extent: Dim) -> Axis {
        Axis { var: self.var(Elem::I64), extent }
    }

    fn bind(&mut self, elem: Elem, exp: Exp) -> (Atom, Node) {
        let v = self.var(elem);
        (Atom::Var(v), Node::Let(Let { vars: vec![v], exp, loc: Loc(1) }))
    }

    fn read(&mut self, array: ArrayId, index: &[Atom], checked: bool) -> (Atom, Node) {
        let elem = self.0.arrays[array.0 as usize].elem;
        self.bind(elem, Exp::Read { array, index: index.to_vec(), checked })
    }

    fn tree(&mut self, axes: &[Axis], body: Vec<Node>) {
        self.0.steps.push(Step::Tree(Tree::new(axes.to_vec(), body, Loc(0))));
    }

    fn emit(mut self) -> Result<GpuCode, String> {
        crate::pipeline::lower(&mut self.0, Target::Gpu);
        emit(&Verified::new(self.0))
    }

    /// The code, with every shader validated.
    fn check(self) -> GpuCode {
        validated(self.emit().expect("runs on a GPU"))
    }
}

/// What devices may have.
fn capabilities() -> naga::valid::Capabilities {
    use naga::valid::Capabilities;
    Capabilities::FLOAT64 | Capabilities::SHADER_INT64 | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS
}

/// How many steps of a kind a program has.
fn steps(code: &GpuCode, kind: &str) -> usize {
    code.program.lines().filter(|l| l.split(' ').next() == Some(kind)).count()
}

/// The code, whose shaders naga accepts.
fn validated(code: GpuCode) -> GpuCode {
    for s in &code.shaders {
        let module = naga::front::wgsl::parse_str(&s.wgsl)
            .unwrap_or_else(|e| panic!("{}\n{}", e.emit_to_string(&s.wgsl), s.wgsl));
        let flags = naga::valid::ValidationFlags::all();
        naga::valid::Validator::new(flags, capabilities())
            .validate(&module)
            .unwrap_or_else(|e| panic!("{}\n{}", e.emit_to_string(&s.wgsl), s.wgsl));
    }
    code
}

fn at(axes: &[Axis]) -> Vec<Atom> {
    axes.iter().map(|a| Atom::Var(a.var)).collect()
}

fn store(array: ArrayId, index: Vec<Atom>, value: Atom) -> Node {
    Node::Store { array, index, value }
}

/// A loop that folds one value; gives the result.
fn fold(b: &mut Builder, axis: Axis, body: Vec<Node>, reducer: Reducer, value: Atom) -> (Atom, Node) {
    let elem = match value {
        Atom::Var(v) => b.0.vars[v.0 as usize],
        Atom::Const(c) => c.elem,
    };
    let result = b.var(reducer.result(elem));
    let folds = vec![Fold { result, reducer, value }];
    (Atom::Var(result), Node::Loop(Loop::new(axis, body, folds, Loc(2))))
}

#[test]
fn element_wise() {
    let mut b = Builder::new();
    let (x, s) = (b.param("x", Elem::F32, &[n(), m()]), b.param("s", Elem::F32, &[]));
    let y = b.heap("y", Elem::F32, &[n(), m()]);
    let axes = [b.axis(n()), b.axis(m())];
    let (u, read_x) = b.read(x, &at(&axes), false);
    let (v, read_s) = b.read(s, &[], false);
    let (w, mul) = b.bind(Elem::F32, Exp::Op(Op::Mul, vec![u, v]));
    b.tree(&axes, vec![read_x, read_s, mul, store(y, at(&axes), w)]);
    b.0.result = Structure::Leaf(y);
    let code = b.check();
    assert_eq!(code.shaders.len(), 1);
    assert!(!code.shaders[0].wgsl.contains(" / "), "an element-wise shader divides nothing");
    insta::assert_snapshot!(code.shaders[0].wgsl);
}

/// `y[k, i, j] = x[i, j, k]`: the read needs the number of the point, the store its axes.
#[test]
fn axes_are_decoded_where_needed() {
    let mut b = Builder::new();
    let x = b.param("x", Elem::F32, &[n(), m(), Dim::constant(3)]);
    let y = b.heap("y", Elem::F32, &[Dim::constant(3), n(), m()]);
    let axes = [b.axis(n()), b.axis(m()), b.axis(Dim::constant(3))];
    let (u, read) = b.read(x, &at(&axes), false);
    let [i, j, k] = [0, 1, 2].map(|d| Atom::Var(axes[d].var));
    b.tree(&axes, vec![read, store(y, vec![k, i, j], u)]);
    let text = b.check().shaders[0].wgsl.clone();
    // A thread has several points of so little work.
    assert!(text.contains("a0[point_at_3]"), "{text}");
    assert!(text.contains("a1[((v2_at_3 * s0 + v0_at_3) * s1 + v1_at_3)]"), "{text}");
}

#[test]
fn reductions_have_two_variants() {
    let mut b = Builder::new();
    let x = b.param("x", Elem::F32, &[n(), m()]);
    let (rows, total) = (b.heap("rows", Elem::F32, &[n()]), b.heap("total", Elem::F32, &[]));
    let (i, j) = (b.axis(n()), b.axis(m()));
    let (u, read) = b.read(x, &at(&[i.clone(), j.clone()]), false);
    let (sum, l) = fold(&mut b, j, vec![read], Reducer::Max, u);
    b.tree(from_ref(&i), vec![l, store(rows, at(from_ref(&i)), sum)]);

    let (i, j) = (b.axis(n()), b.axis(m()));
    let (u, read) = b.read(x, &at(&[i.clone(), j.clone()]), false);
    let (inner, l) = fold(&mut b, j, vec![read], Reducer::Add, u);
    let (sum, l) = fold(&mut b, i, vec![l], Reducer::Add, inner);
    b.tree(&[], vec![l, store(total, vec![], sum)]);
    let code = b.check();
    assert_eq!(code.shaders.len(), 4);
    let text = &code.program;
    assert_eq!(steps(&code, "reduce"), 2, "{text}");
    // The full reduction goes over all elements in their order.
    assert!(code.shaders[3].wgsl.contains("a0[inner]"), "{}", code.shaders[3].wgsl);
    insta::assert_snapshot!(code.shaders[1].wgsl);
}

#[test]
fn each_loop_is_a_reduction_with_an_end() {
    let mut b = Builder::new();
    let x = b.param("x", Elem::F32, &[n()]);
    let (mean, place) = (b.heap("mean", Elem::F32, &[]), b.heap("place", Elem::I64, &[]));
    let i = b.axis(n());
    let (u, read) = b.read(x, &at(from_ref(&i)), false);
    let (sum, l) = fold(&mut b, i, vec![read], Reducer::Add, u);
    let (count, size) = b.bind(Elem::I64, Exp::Size(n()));
    let (count, cast) = b.bind(Elem::F32, Exp::Op(Op::Cast(Elem::F32), vec![count]));
    let (value, div) = b.bind(Elem::F32, Exp::Op(Op::Div, vec![sum, count]));
    let k = b.axis(n());
    let (u, read) = b.read(x, &at(from_ref(&k)), false);
    let (d, sub) = b.bind(Elem::F32, Exp::Op(Op::Sub, vec![u, value]));
    let (least, l2) = fold(&mut b, k, vec![read, sub], Reducer::ArgMin, d);
    let nodes = vec![l, size, cast, div, l2, store(mean, vec![], value), store(place, vec![], least)];
    b.tree(&[], nodes);
    let code = b.check();
    let text = &code.program;
    // The sum; then the place of the least difference, and what is stored.
    assert_eq!(steps(&code, "reduce"), 2, "{text}");
    assert_eq!(steps(&code, "points"), 0, "{text}");
}

#[test]
fn extrema_along_rows() {
    for reducer in [Reducer::ArgMin, Reducer::ArgMax] {
        for elem in [Elem::F32, Elem::F64, Elem::I32, Elem::U32, Elem::I64] {
            let mut b = Builder::new();
            let (x, y) = (b.param("x", elem, &[n(), m()]), b.heap("y", Elem::I64, &[n()]));
            let (i, j) = (b.axis(n()), b.axis(m()));
            let (u, read) = b.read(x, &at(&[i.clone(), j.clone()]), false);
            let (place, l) = fold(&mut b, j, vec![read], reducer, u);
            b.tree(from_ref(&i), vec![l, store(y, at(from_ref(&i)), place)]);
            // One reduction in two variants: the extremum and its place go together.
            assert_eq!(b.check().shaders.len(), 2);
        }
    }
}

#[test]
fn accumulation_of_every_kind() {
    for elem in [Elem::F32, Elem::F64, Elem::I32, Elem::U32, Elem::I64, Elem::Bool] {
        for reducer in Reducer::ALL.into_iter().filter(|r| r.op().is_some()) {
            let logical = matches!(reducer, Reducer::And | Reducer::Or);
            if (elem.is_float() && logical) || (elem == Elem::Bool && !logical) {
                continue;
            }
            let mut b = Builder::new();
            let (is, vs) = (b.param("is", Elem::I64, &[n()]), b.param("vs", elem, &[n()]));
            let y = b.heap("y", elem, &[m(), n()]);
            b.0.steps.push(Step::Fill { array: y, value: Some(reducer.neutral(elem)) });
            let i = b.axis(n());
            let (k, read_k) = b.read(is, &at(from_ref(&i)), false);
            let (v, read_v) = b.read(vs, &at(from_ref(&i)), false);
            let (w, read_w) = b.read(y, &[int(0), int(0)], false);
            let index = vec![k, Atom::Var(i.var)];
            let combine = Node::Accumulate { array: y, reducer, index: index.clone(), value: v };
            let write = Node::Write { array: y, index, value: w, checked: true };
            b.tree(&[i], vec![read_k, read_v, combine, read_w, write]);
            let text = b.check().shaders[0].wgsl.clone();
            // The first index needs a guard, the second is the axis itself.
            assert!(text.contains("if v1 >= 0li && v1 < i64(s0) {"), "{text}");
            let is_sum = elem.is_float() && reducer == Reducer::Add;
            if is_sum && elem == Elem::F32 {
                // The text that the runtime knows as an addition, where the device has its own.
                let known = include_str!("../../../../array-dsl-runtime/src/gpu/additions.rs");
                let function = text.split("\nfn ").find(|f| f.contains("_add(at: u32, value: f32)")).unwrap();
                let (_, body) = function.split_once("_add(").unwrap();
                let body = body.split_once("\n}").unwrap().0.replace(&format!("a{}[", y.0), "a4[");
                assert!(known.contains(&body), "{body}");
            }
            assert_eq!(text.contains("atomicExchange"), is_sum, "{text}");
            assert_eq!(
                text.contains("atomicCompareExchangeWeak"),
                (elem.is_float() && !is_sum) || reducer == Reducer::Mul,
                "{text}"
            );
        }
    }
}

#[test]
fn branches_are_lazy_and_reads_checked() {
    let mut b = Builder::new();
    let (x, ks) = (b.param("x", Elem::F32, &[n(), m()]), b.param("ks", Elem::I64, &[n()]));
    let y = b.heap("y", Elem::F32, &[n()]);
    let i = b.axis(n());
    let (k, read_k) = b.read(ks, &at(from_ref(&i)), false);
    let (positive, compare) = b.bind(Elem::Bool, Exp::Op(Op::Gt, vec![k, int(0)]));
    let (u, read) = b.read(x, &[Atom::Var(i.var), k], true);
    let (v, far) = b.read(x, &[k, int(7)], true);
    let lets = |nodes: Vec<Node>| Block {
        lets: nodes.into_iter().filter_map(|n| if let Node::Let(l) = n { Some(l) } else { None }).collect(),
    };
    let yes = Branch { block: lets(vec![read, far]), results: vec![u, v] };
    let no = Branch { block: Block::default(), results: vec![float(f64::NEG_INFINITY), float(f64::NAN)] };
    let (p, q) = (b.var(Elem::F32), b.var(Elem::F32));
    let choice = Node::Let(Let { vars: vec![p, q], exp: Exp::If(positive, yes, no), loc: Loc(3) });
    let (r, add) = b.bind(Elem::F32, Exp::Op(Op::Add, vec![Atom::Var(p), Atom::Var(q)]));
    let (s, stop) = b.bind(Elem::F32, Exp::StopGradient(r));
    b.tree(from_ref(&i), vec![read_k, compare, choice, add, stop, store(y, at(from_ref(&i)), s)]);
    let code = b.check();
    let text = &code.program;
    assert!(text.contains(" true ") && text.contains(" site-base "), "{text}");
    insta::assert_snapshot!(code.shaders[0].wgsl.split("fn main").nth(1).unwrap_or_default());
}

/// The types a function is tried on, as those of its arguments.
fn signatures(class: Class, op: Op, arity: usize) -> Vec<Vec<Elem>> {
    let types = [Elem::F32, Elem::F64, Elem::I32, Elem::I64, Elem::U32, Elem::Bool];
    let all = types.into_iter().filter(|e| class.contains(*e));
    match op {
        Op::Select => all.map(|e| vec![Elem::Bool, e, e]).collect(),
        Op::Powi => {
            let exponents = [Elem::I32, Elem::I64, Elem::U32];
            [Elem::F32, Elem::F64].into_iter().flat_map(|f| exponents.map(|e| vec![f, e])).collect()
        }
        _ => all.map(|e| vec![e; arity]).collect(),
    }
}

/// A shader that applies `op` to variables, to constants only, and to both.
fn apply(op: Op, types: &[Elem]) {
    let mut b = Builder::new();
    let params: Vec<ArrayId> = types.iter().map(|e| b.param("x", *e, &[n()])).collect();
    let result = op.result(types);
    let i = b.axis(n());
    let mut nodes = Vec::new();
    let mut vars = Vec::new();
    for p in params {
        let (v, read) = b.read(p, &at(from_ref(&i)), false);
        vars.push(v);
        nodes.push(read);
    }
    // Constants for which a constant expression would overflow, divide by zero or shift too far.
    for values in [
        [i64::from(i32::MIN), 0, 1],
        [40, 40, -7],
        [i64::from(i32::MAX), -1, 2],
        [2, 3, 4],
        [i64::MIN, -1, 0],
        [i64::MAX, 64, i64::MIN],
        [-1, i64::MIN, i64::MAX],
        [1 << 31, 1 << 32, 31],
        [0, 0, 0],
    ] {
        let consts: Vec<Atom> =
            types.iter().zip(values).map(|(e, v)| Atom::Const(Const::of(*e, v))).collect();
        let mut mixed = vars.clone();
        if let (Some(m), Some(c)) = (mixed.last_mut(), consts.last()) {
            *m = *c;
        }
        let mut reversed = vars.clone();
        reversed[0] = consts[0];
        for args in [vars.clone(), consts, mixed, reversed] {
            let y = b.heap("y", result, &[n()]);
            let (v, node) = b.bind(result, Exp::Op(op, args));
            nodes.extend([node, store(y, at(from_ref(&i)), v)]);
        }
    }
    b.tree(&[i], nodes);
    b.check();
}

#[test]
fn every_scalar_function_on_every_type() {
    for row in TABLE {
        for types in signatures(row.class, row.op, row.arity) {
            apply(row.op, &types);
        }
    }
    let types = [Elem::F32, Elem::F64, Elem::I32, Elem::I64, Elem::U32, Elem::Bool];
    for (from, to) in types.into_iter().flat_map(|a| types.map(|b| (a, b))) {
        apply(Op::Cast(to), &[from]);
    }
}

/// Constants that the type they are converted to does not have.
#[test]
fn casts_of_constants_beyond_the_type() {
    let mut b = Builder::new();
    let mut nodes = Vec::new();
    let floats =
        [3e9, -3e9, 5e9, 1e19, -1e19, 1e39, -1e39, 1e300, f64::INFINITY, f64::NAN, -0.0, 1e-45, 1e-300];
    for from in [Elem::F32, Elem::F64] {
        for to in [Elem::F32, Elem::F64, Elem::I32, Elem::I64, Elem::U32, Elem::Bool] {
            for x in floats {
                let y = b.heap("y", to, &[]);
                let constant = Atom::Const(Const::float(from, x));
                let (v, node) = b.bind(to, Exp::Op(Op::Cast(to), vec![constant]));
                nodes.extend([node, store(y, vec![], v)]);
            }
        }
    }
    b.tree(&[], nodes);
    b.check();
}

/// Loops that may fail look at the status, the others do not.
#[test]
fn loops_end_after_a_failure() {
    for checked in [false, true] {
        let mut b = Builder::new();
        let (x, y) = (b.param("x", Elem::F32, &[n(), m()]), b.heap("y", Elem::F32, &[n()]));
        let total = b.heap("total", Elem::F32, &[]);
        let (i, j, k) = (b.axis(n()), b.axis(m()), b.axis(m()));
        let (count, size) = b.bind(Elem::I64, Exp::Size(n()));
        let (u, read) = b.read(x, &[count, Atom::Var(k.var)], checked);
        let (sum, l) = fold(&mut b, k, vec![size, read], Reducer::Last, u);
        let (sum, l) = fold(&mut b, j, vec![l], Reducer::Last, sum);
        b.tree(from_ref(&i), vec![l, store(y, at(from_ref(&i)), sum)]);
        let i = b.axis(n());
        let (count, size) = b.bind(Elem::I64, Exp::Size(m()));
        let (u, read) = b.read(x, &[Atom::Var(i.var), count], checked);
        let (sum, l) = fold(&mut b, i, vec![size, read], Reducer::Add, u);
        b.tree(&[], vec![l, store(total, vec![], sum)]);
        let code = b.check();
        let looks = |s: &ShaderText| s.wgsl.matches("atomicLoad(&status[0]) != 0u { break; }").count();
        let found: Vec<usize> = code.shaders.iter().map(looks).collect();
        assert_eq!(found, if checked { [2, 1, 1] } else { [0; 3] });
    }
}

#[test]
fn every_kind_of_constant() {
    let mut b = Builder::new();
    let floats =
        [0.0, -0.0, 1.5, -1e-7, 1e-45, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::from(f32::MAX)];
    let mut atoms: Vec<Atom> = floats.into_iter().map(float).collect();
    atoms.extend(floats.map(|x| Atom::Const(Const::float(Elem::F64, x))));
    atoms.extend([5e-324, f64::MAX].map(|x| Atom::Const(Const::float(Elem::F64, x))));
    atoms.extend([0, -1, i64::from(i32::MIN), 1 << 40, i64::MAX, i64::MIN].map(int));
    atoms.extend([0, -1].map(|v| Atom::Const(Const::int(Elem::U32, v))));
    atoms.extend([false, true].map(|v| Atom::Const(Const::bool(v))));
    let mut nodes = Vec::new();
    for a in atoms {
        let elem = if let Atom::Const(c) = a { c.elem } else { Elem::F32 };
        let y = b.heap("y", elem, &[]);
        nodes.push(store(y, vec![], a));
    }
    b.tree(&[], nodes);
    b.check();
}

#[test]
fn host_steps() {
    let mut b = Builder::new();
    let (x, w) = (b.param("x", Elem::F32, &[n(), m()]), b.param("w", Elem::F32, &[m(), n()]));
    let (k, s) = (b.param("k", Elem::I64, &[]), b.param("s", Elem::F32, &[]));
    let (y, z) = (b.heap("y", Elem::F32, &[n(), n()]), b.heap("z", Elem::F32, &[n(), n()]));
    let one = Dim::constant(1);
    let (c, d) = (b.param("c", Elem::F32, &[n(), one.clone()]), b.heap("d", Elem::F32, &[n(), one.clone()]));
    let matrix = b.array("matrix", Elem::F32, &[one.clone(), one.clone()], Home::View(s));
    let e = b.heap("e", Elem::F32, &[]);
    let flat = b.array("flat", Elem::F32, &[n().mul(&n())], Home::View(y));
    let nowhere = b.array("nowhere", Elem::F32, &[Dim::atom(SizeAtom::Scalar(99))], Home::Nowhere);
    assert!(nowhere.0 > 0);
    let check = Check {
        kind: CheckKind::AtLeast(Dim::constant(1), Dim::atom(SizeAtom::Scalar(k.0)).sub(&n())),
        guards: vec![m()],
    };
    let contract = |result, extents: [Dim; 3], a: ArrayId, b: ArrayId| {
        let (extents, out, a, b) =
            (extents.to_vec(), vec![0, 2], Operand::whole(a, &[0, 1]), Operand::whole(b, &[1, 2]));
        Step::Contract(Contract { result, extents, out, a, b, loc: Loc(0) })
    };
    b.0.steps = vec![
        Step::Check(check, Loc(2)),
        contract(y, [n(), m(), n()], x, w),
        contract(d, [n(), one.clone(), one.clone()], c, matrix),
        Step::Copy { array: z, source: y },
        Step::Copy { array: e, source: s },
        Step::Fill { array: z, value: Some(Const::float(Elem::F32, -1.0)) },
    ];
    b.0.result = Structure::Tuple(vec![Structure::Leaf(flat), Structure::Leaf(e)]);
    let code = b.check();
    let text = &code.program;
    assert!(text.contains("fill 5 3212836864"), "{text}");
    assert!(text.contains("copy 5 4") && !text.contains("copy 8"), "{text}");
    assert!(text.contains(" 6:-n + k "), "{text}");
    // A contraction of a host scalar is a loop of one trip, a copy of one a shader.
    assert_eq!(code.shaders.len(), 2);
}

#[test]
fn what_cannot_run_is_named() {
    let mut b = Builder::new();
    let count = b.heap("count", Elem::I64, &[]);
    let y = b.heap("y", Elem::F32, &[Dim::atom(SizeAtom::Scalar(count.0))]);
    b.0.steps.push(Step::Fill { array: y, value: Some(Const::float(Elem::F32, 0.0)) });
    let reason = b.emit().err().unwrap_or_default();
    assert_eq!(reason, "a size depends on `count`, which the kernel computes itself");

    let mut b = Builder::new();
    let y = b.heap("y", Elem::I64, &[]);
    let i = b.axis(Dim::constant(1 << 31));
    let (least, l) = fold(&mut b, i.clone(), vec![], Reducer::Min, Atom::Var(i.var));
    b.tree(&[], vec![l, store(y, vec![], least)]);
    assert_eq!(b.emit().err().as_deref(), Some("the size 2147483648 is beyond 2^30"));
}

/// Bins that a workgroup has for itself are for words: two shaders where there may be such, one where not.
#[test]
fn bins_of_words_may_be_private() {
    for (elem, shaders) in [(Elem::F32, 2), (Elem::I32, 2), (Elem::F64, 1), (Elem::I64, 1), (Elem::Bool, 1)] {
        let mut b = Builder::new();
        let (places, v) = (b.param("at", Elem::I32, &[n()]), b.param("v", elem, &[n()]));
        let y = b.heap("y", elem, &[m()]);
        let i = b.axis(n());
        let (k, read_k) = b.read(places, &at(from_ref(&i)), false);
        let (k, cast) = b.bind(Elem::I64, Exp::Op(Op::Cast(Elem::I64), vec![k]));
        let (value, read_v) = b.read(v, &at(from_ref(&i)), false);
        let reducer = if elem == Elem::Bool { Reducer::Or } else { Reducer::Add };
        let node = Node::Accumulate { array: y, reducer, index: vec![k], value };
        b.tree(&[i], vec![read_k, cast, read_v, node]);
        let code = b.check();
        assert_eq!(code.shaders.len(), shaders, "{elem}");
        let text = &code.program;
        assert_eq!(text.contains("private some"), shaders == 2, "{text}");
    }
}

/// What a shader needs of the device, as the program says it.
#[test]
fn needs_are_those_of_the_shader() {
    let needs = |elem: Elem, combine: bool| {
        let mut b = Builder::new();
        let (x, y) = (b.param("x", elem, &[n()]), b.heap("y", elem, &[n()]));
        let i = b.axis(n());
        let (v, read) = b.read(x, &at(from_ref(&i)), false);
        let index = at(from_ref(&i));
        let node = if combine {
            Node::Accumulate { array: y, reducer: Reducer::Add, index, value: v }
        } else {
            store(y, index, v)
        };
        b.tree(&[i], vec![read, node]);
        let program = b.check().program;
        let shader = program.lines().find(|l| l.starts_with("points ")).expect("it has a step");
        ["f64", "i64", "i64-atomics"].map(|need| shader.split(' ').any(|word| word == need))
    };
    assert_eq!(needs(Elem::F32, true), [false; 3]);
    assert_eq!(needs(Elem::F64, false), [true, false, false]);
    assert_eq!(needs(Elem::I64, false), [false, true, false]);
    assert_eq!(needs(Elem::I64, true), [false, true, true]);
    assert_eq!(needs(Elem::F64, true), [true, true, true]);
}
