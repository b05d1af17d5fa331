//! The Rust items of a kernel: its unit struct, the `Kernel` implementations of the function and its derivatives,
//! and the macro that carries its Core to other kernels.

use proc_macro2::{Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::quote;

use super::cpu::{self, CpuCode};
use super::wgsl;
use crate::Verified;
use crate::bulk::{ArrayId, Param};
use crate::derive::Derivative;
use crate::dim::{Dim, SizeAtom};
use crate::loops::{Home, Program};
use crate::ty::{Elem, Tree};

/// A kernel or one of its derivatives, ready to be printed.
pub struct Variant {
    /// Which derivatives of the kernel lead here, the last one last; empty: the kernel itself.
    pub path: Vec<Derivative>,
    /// For the CPU.
    pub cpu: Verified<Program>,
    /// For the GPU, or why not.
    pub gpu: Result<wgsl::GpuCode, String>,
    /// The text of `explain()`.
    pub explain: String,
}

/// The name of the unit struct of a variant.
fn struct_name(kernel: &Ident, path: &[Derivative]) -> Ident {
    if path.is_empty() {
        return kernel.clone();
    }
    let names: Vec<&str> = path.iter().map(|d| d.name()).collect();
    Ident::new(&format!("__{}_{}", kernel_text(kernel), names.join("_")), Span::mixed_site())
}

fn kernel_text(kernel: &Ident) -> String {
    kernel.to_string().trim_start_matches("r#").to_string()
}

/// The items of a kernel. `vis` is the user's visibility, `doc` the user's attributes that are kept.
pub fn items(kernel: &Ident, vis: &TokenStream, doc: &TokenStream, variants: &[Variant]) -> TokenStream {
    let mut inner = TokenStream::new();
    for v in variants {
        let name = struct_name(kernel, &v.path);
        if !v.path.is_empty() {
            inner.extend(quote! {
                #[derive(Clone, Copy, Debug, Default)]
                pub struct #name;
            });
        }
        inner.extend(kernel_impl(&name, v));
        let has = |d: Derivative| variants.iter().any(|w| w.path == [d]);
        if v.path.is_empty() && has(Derivative::Vjp) && has(Derivative::Jvp) {
            inner.extend(check_impl(&name, v));
        }
        for d in variants.iter().filter(|w| w.path.len() == v.path.len() + 1 && w.path.starts_with(&v.path)) {
            let derived = struct_name(kernel, &d.path);
            let Some(last) = d.path.last() else { continue };
            let (tr, assoc) = match last {
                Derivative::Vjp => ("HasVjp", "Vjp"),
                Derivative::Grad => ("HasGrad", "Grad"),
                Derivative::ValueAndGrad => ("HasValueAndGrad", "ValueAndGrad"),
                Derivative::Jvp => ("HasJvp", "Jvp"),
                Derivative::Hvp => ("HasHvp", "Hvp"),
                Derivative::Jacobian => ("HasJacobian", "Jacobian"),
                Derivative::Hessian => ("HasHessian", "Hessian"),
                Derivative::Vmap => ("HasVmap", "Vmap"),
            };
            let (tr, assoc) = (Ident::new(tr, Span::mixed_site()), Ident::new(assoc, Span::mixed_site()));
            inner.extend(quote! {
                impl __rt::host::#tr for #name {
                    type #assoc = #derived;
                }
            });
        }
    }
    quote! {
        #doc
        #[allow(non_camel_case_types)]
        #[derive(Clone, Copy, Debug, Default)]
        #vis struct #kernel;

        #[doc(hidden)]
        #[allow(
            non_camel_case_types, non_snake_case, non_upper_case_globals, unused, missing_docs, clippy::all, clippy::pedantic
        )]
        const _: () = {
            use ::array_dsl::__rt;
            #inner
        };
    }
}

/// The most arrays that tuples of the runtime's comparison hold.
const CHECKED_ARRAYS: usize = 12;

/// `check_grad` of a kernel with `vjp` and `jvp`: its differentiable arrays as one tuple `x`, the float parts of its
/// result as another.
fn check_impl(name: &Ident, v: &Variant) -> TokenStream {
    let h = Host { p: &v.cpu };
    let float = |a: &ArrayId| h.elem(*a).is_float();
    let mut leaves: Vec<(ArrayId, String)> = Vec::new();
    for q in h.p.params.iter().filter(|q| q.active) {
        for (i, a) in q.arrays.leaves().into_iter().enumerate().filter(|(_, a)| float(a)) {
            leaves.push((*a, part_name(q, i)));
        }
    }
    let outputs: Vec<ArrayId> = h.p.result.leaves().into_iter().copied().filter(|a| float(a)).collect();
    if leaves.len() > CHECKED_ARRAYS || outputs.len() > CHECKED_ARRAYS {
        return TokenStream::new();
    }
    // An argument as the host passes it, from the tuple `from` where it is differentiable.
    let pass = |a: ArrayId, from: &str| {
        let reference = if h.rank(a) == 0 { "" } else { "&" };
        match leaves.iter().position(|l| l.0 == a) {
            Some(k) => format!("{reference}{from}.{k}"),
            None => format!("p{}", a.0),
        }
    };
    let arguments = |from: &str| -> String {
        h.p.params.iter().map(|q| tree(&q.arrays, &mut |a| pass(*a, from)) + ", ").collect()
    };
    let point: String = leaves
        .iter()
        .map(|(a, _)| if h.rank(*a) == 0 { format!("p{}, ", a.0) } else { format!("p{}.to_owned(), ", a.0) })
        .collect();
    let names: String = leaves.iter().map(|(_, n)| format!("{n:?}, ")).collect();
    let mut k = 0;
    let result = tree(&h.p.result, &mut |a| {
        k += 1;
        if float(a) { format!("y{}", k - 1) } else { "_".into() }
    });
    let values: String =
        h.p.result
            .leaves()
            .into_iter()
            .enumerate()
            .filter(|(_, a)| float(a))
            .map(|(i, _)| format!("y{i}, "))
            .collect();
    let cotangents: String = outputs
        .iter()
        .enumerate()
        .map(|(i, a)| format!("{}c.{i}, ", if h.rank(*a) == 0 { "" } else { "&" }))
        .collect();
    // The parts of each differentiable parameter, bundled as the derivatives bundle them.
    let mut trees: Vec<Tree<usize>> = Vec::new();
    let mut next = 0;
    for q in h.p.params.iter().filter(|q| q.active) {
        if let Some(t) = floats(&q.arrays, &float, &mut next) {
            trees.push(t);
        }
    }
    let tangents: String = trees
        .iter()
        .map(|t| {
            tree(t, &mut |k| format!("{}t.{k}", if h.rank(leaves[*k].0) == 0 { "" } else { "&" })) + ", "
        })
        .collect();
    let bundle = |parts: Vec<String>| match parts.as_slice() {
        [one] => one.clone(),
        many => format!("({},)", many.join(", ")),
    };
    let gradient = bundle(trees.iter().map(|t| tree(t, &mut |k| format!("g{k}"))).collect());
    let gradients: String = (0..leaves.len()).map(|k| format!("g{k}, ")).collect();
    // The float parts of the result keep its structure in the tangent.
    let mut next = 0;
    let slope =
        floats(&h.p.result, &float, &mut next).map_or("()".into(), |t| tree(&t, &mut |k| format!("s{k}")));
    let slopes: String = (0..outputs.len()).map(|k| format!("s{k}, ")).collect();
    let body = tokens(&format!(
        "let {pattern} = args;\n\
         let x = ({point});\n\
         __rt::check::compare({kernel:?}, &[{names}], &x,\n\
         |x| {{ let {result} = <Self as __rt::host::Kernel>::run(({run}))?; ::core::result::Result::Ok(({values})) }},\n\
         |x, c| {{ let (_, {gradient}) = <<Self as __rt::host::HasVjp>::Vjp as __rt::host::Kernel>::run(({run}{cotangents}))?; ::core::result::Result::Ok(({gradients})) }},\n\
         |x, t| {{ let (_, {slope}) = <<Self as __rt::host::HasJvp>::Jvp as __rt::host::Kernel>::run(({run}{tangents}))?; ::core::result::Result::Ok(({slopes})) }})\n",
        pattern = h.pattern(),
        kernel = &*h.p.name,
        run = arguments("x"),
    ));
    quote! {
        impl __rt::check::CheckGrad for #name {
            fn check(__args: Self::Args<'_>) -> ::core::result::Result<__rt::check::GradientCheck, __rt::Error> {
                #body
            }
        }
    }
}

/// The float leaves of a structure, numbered; as `derive` leaves out the others.
fn floats(t: &Tree<ArrayId>, float: &dyn Fn(&ArrayId) -> bool, next: &mut usize) -> Option<Tree<usize>> {
    match t {
        Tree::Leaf(a) => float(a).then(|| {
            *next += 1;
            Tree::Leaf(*next - 1)
        }),
        Tree::Tuple(ts) => {
            let parts: Vec<Tree<usize>> = ts.iter().filter_map(|t| floats(t, float, next)).collect();
            (!parts.is_empty()).then_some(Tree::Tuple(parts))
        }
    }
}

fn tokens(text: &str) -> TokenStream {
    // The texts are this crate's own; one that does not lex shows up as an error inside generated code.
    match text.parse::<TokenStream>() {
        Ok(t) => hidden_locals(t),
        Err(e) => {
            let message = format!("internal error of array-dsl: generated code does not lex: {e}");
            quote! { ::core::compile_error!(#message) }
        }
    }
}

/// The plain words that generated code uses for its variables.
const LOCALS: &[&str] = &[
    "args", "at", "atoms", "base", "block", "c", "count", "end", "gpu", "hi", "i", "lane", "lo", "old",
    "out", "status", "t", "target", "width", "x", "y",
];

/// Puts `__` before the generated code's variables. A pattern `count` would be taken for the user's kernel of
/// that name, which is a unit struct; hygiene does not help, because items are looked up without it.
fn hidden_locals(t: TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let all: Vec<TokenTree> = t.into_iter().collect();
    let is = |k: Option<usize>, c: char| match k.and_then(|k| all.get(k)) {
        Some(TokenTree::Punct(p)) => p.as_char() == c,
        _ => false,
    };
    // `::` is a joint colon and a second one; in `a: ::b` a lone one comes first.
    let path = |k: Option<usize>| match k.and_then(|k| all.get(k)) {
        Some(TokenTree::Punct(p)) => p.as_char() == ':' && p.spacing() == Spacing::Joint,
        _ => false,
    };
    for (k, t) in all.iter().enumerate() {
        let before = k.checked_sub(1);
        // Not paths (`a::b`), fields and methods (`x.b`), lifetimes (`'a`).
        let joined = path(Some(k + 1))
            || (is(before, ':') && path(k.checked_sub(2)))
            || (is(before, '.') && !is(k.checked_sub(2), '.'))
            || is(before, '\'');
        out.extend([match t {
            TokenTree::Group(g) => TokenTree::Group(Group::new(g.delimiter(), hidden_locals(g.stream()))),
            TokenTree::Ident(id) if !joined && is_local(&id.to_string()) => {
                TokenTree::Ident(Ident::new(&format!("__{id}"), id.span()))
            }
            t => t.clone(),
        }]);
    }
    out
}

/// One of `LOCALS`, or a letter or such a word with a number: `v12`, `lanes3`.
fn is_local(name: &str) -> bool {
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbered = word.len() < name.len()
        && (word.len() == 1 || ["state", "lanes", "block"].contains(&word))
        && word.chars().all(|c| c.is_ascii_lowercase())
        && !["f32", "f64", "i32", "i64", "u32"].contains(&name);
    numbered || LOCALS.contains(&name)
}

/// A type or value that follows the structure of a tree.
fn tree<T>(t: &Tree<T>, leaf: &mut dyn FnMut(&T) -> String) -> String {
    match t {
        Tree::Leaf(x) => leaf(x),
        Tree::Tuple(ts) => {
            let parts: String = ts.iter().map(|t| tree(t, leaf) + ", ").collect();
            format!("({parts})")
        }
    }
}

struct Host<'a> {
    p: &'a Program,
}

impl Host<'_> {
    fn elem(&self, a: ArrayId) -> Elem {
        self.p.arrays[a.0 as usize].elem
    }

    fn dims(&self, a: ArrayId) -> &[Dim] {
        &self.p.arrays[a.0 as usize].dims
    }

    fn rank(&self, a: ArrayId) -> usize {
        self.dims(a).len()
    }

    fn root(&self, a: ArrayId) -> ArrayId {
        let mut a = a;
        while let Home::View(b) = self.p.arrays[a.0 as usize].home {
            a = b;
        }
        a
    }

    fn argument(&self, a: ArrayId, lifetime: &str, gpu: bool) -> String {
        let (e, r) = (self.elem(a), self.rank(a));
        match (r, gpu) {
            (0, _) => e.to_string(),
            (_, false) => format!("&{lifetime}__rt::ndarray::ArrayRef<{e}, __rt::ndarray::Ix{r}>"),
            (_, true) => format!("&{lifetime}__rt::gpu::GpuArray<{e}, __rt::ndarray::Ix{r}>"),
        }
    }

    fn arguments(&self, lifetime: &str, gpu: bool) -> String {
        let all: String = self
            .p
            .params
            .iter()
            .map(|q| tree(&q.arrays, &mut |a| self.argument(*a, lifetime, gpu)) + ", ")
            .collect();
        format!("({all})")
    }

    /// The arguments' types as a list, for a plain function.
    fn argument_list(&self) -> String {
        self.p.params.iter().map(|q| tree(&q.arrays, &mut |a| self.argument(*a, "", false)) + ", ").collect()
    }

    fn output(&self, gpu: bool) -> String {
        tree(&self.p.result, &mut |a| {
            let (e, r) = (self.elem(*a), self.rank(*a));
            match (gpu, r) {
                (false, 0) => e.to_string(),
                (false, r) => format!("__rt::ndarray::Array<{e}, __rt::ndarray::Ix{r}>"),
                (true, r) => format!("__rt::gpu::GpuArray<{e}, __rt::ndarray::Ix{r}>"),
            }
        })
    }

    /// All arrays of the parameters, in order.
    fn inputs(&self) -> Vec<ArrayId> {
        self.p
            .params
            .iter()
            .flat_map(|q| q.arrays.leaves().into_iter().copied().collect::<Vec<_>>())
            .collect()
    }

    /// The pattern that takes the arguments apart: `p7` for array 7.
    fn pattern(&self) -> String {
        let parts: String =
            self.p.params.iter().map(|q| tree(&q.arrays, &mut |a| format!("p{}", a.0)) + ", ").collect();
        format!("({parts})")
    }

    fn atom(&self, a: &SizeAtom, scalars: &[ArrayId]) -> usize {
        match a {
            SizeAtom::Name(n) => self.p.sizes.iter().position(|s| s == n).unwrap_or(0),
            SizeAtom::Scalar(s) => self.p.sizes.len() + scalars.iter().position(|x| x.0 == *s).unwrap_or(0),
        }
    }

    /// The static `SIGNATURE`.
    fn signature(&self) -> String {
        let scalars = wgsl::size_scalars(self.p);
        let mut arrays = String::new();
        for q in &self.p.params {
            for (i, a) in q.arrays.leaves().into_iter().enumerate() {
                let name = part_name(q, i);
                let dims: String = self
                    .dims(*a)
                    .iter()
                    .map(|d| {
                        let poly = cpu::poly(d, &|x| self.atom(x, &scalars));
                        format!("({poly}, {:?}), ", cpu::show(self.p, d))
                    })
                    .collect();
                arrays.push_str(&format!("__rt::program::ArrayArg {{ name: {name:?}, dims: &[{dims}] }}, "));
            }
        }
        let sizes: String = self.p.sizes.iter().map(|s| format!("{:?}, ", &**s)).collect();
        let place = self.p.params.iter().find_map(|q| self.p.places.get(q.loc.0 as usize));
        let (file, line) = place.map_or((String::new(), 0), |s| (s.file.to_string(), s.line));
        let kernel = base_name(&self.p.name);
        format!(
            "static SIGNATURE: __rt::program::Signature = __rt::program::Signature {{ kernel: {kernel:?}, sizes: &[{sizes}], arrays: &[{arrays}], file: {file:?}, line: {line} }};\n"
        )
    }

    fn bind(&self) -> String {
        let shapes: String = self
            .inputs()
            .iter()
            .map(|a| if self.rank(*a) == 0 { "&[], ".to_string() } else { format!("p{}.shape(), ", a.0) })
            .collect();
        let scalars: String = wgsl::size_scalars(self.p).iter().map(|a| format!("p{}, ", a.0)).collect();
        format!("let atoms = __rt::entry::bind(&SIGNATURE, &[{shapes}], &[{scalars}])?;\n")
    }

    fn run(&self, code: &CpuCode) -> String {
        let mut out = format!("let {} = args;\n{}", self.pattern(), self.bind());
        for (k, _) in self.p.sizes.iter().enumerate() {
            out.push_str(&format!("let n{k}: i64 = atoms[{k}];\n"));
        }
        for a in self.inputs() {
            let k = a.0;
            if self.rank(a) == 0 {
                out.push_str(&format!("let a{k}: {} = p{k};\n", self.elem(a)));
            } else {
                out.push_str(&format!(
                    "let d{k} = __rt::host::dense(p{k});\nlet a{k}: &[{}] = &d{k}[..];\n",
                    self.elem(a)
                ));
            }
        }
        let sites: String = code.sites.iter().map(|l| cpu::site(self.p, *l) + ", ").collect();
        out.push_str("let status = &__rt::status::Status::new();\n");
        out.push_str(&code.body);
        out.push_str(&format!(
            "static SITES: &[__rt::program::Site] = &[{sites}];\nstatus.finish(SITES)?;\n"
        ));
        // Each memory leaves once; other results that share it are copies, made before.
        let mut moved: Vec<ArrayId> = Vec::new();
        let mut lets = String::new();
        let leaves: Vec<ArrayId> = self.p.result.leaves().into_iter().copied().collect();
        for (i, a) in leaves.iter().enumerate().rev() {
            let root = self.root(*a);
            if self.rank(*a) == 0 {
                lets = format!("let r{i} = a{};\n", root.0) + &lets;
                continue;
            }
            let owned = self.p.arrays[root.0 as usize].home == Home::Heap && !moved.contains(&root);
            moved.push(root);
            let data = if owned { format!("a{}", root.0) } else { format!("a{}[..].to_vec()", root.0) };
            let dims: Vec<String> = self.dims(*a).iter().map(|d| self.dim(d)).collect();
            lets = format!(
                "let r{i} = __rt::host::array::<{}, __rt::ndarray::Ix{}>({data}, &[{}]);\n",
                self.elem(*a),
                self.rank(*a),
                dims.join(", ")
            ) + &lets;
        }
        // The results that copy come before the one that takes the memory: it is the last leaf.
        out.push_str(&reorder(&lets));
        let mut i = 0;
        let result = tree(&self.p.result, &mut |_| {
            i += 1;
            format!("r{}", i - 1)
        });
        out.push_str(&format!("::core::result::Result::Ok({result})\n"));
        out
    }

    fn dim(&self, d: &Dim) -> String {
        let mut sum = String::new();
        for (m, c) in d.terms() {
            let mut term = format!("({c}i64)");
            for a in m {
                let atom = match a {
                    SizeAtom::Name(n) => {
                        format!("n{}", self.p.sizes.iter().position(|s| s == n).unwrap_or(0))
                    }
                    SizeAtom::Scalar(s) => format!("a{}", self.root(ArrayId(*s)).0),
                };
                term = format!("{term}.saturating_mul({atom})");
            }
            sum = if sum.is_empty() { term } else { format!("{sum}.saturating_add({term})") };
        }
        if sum.is_empty() { "0i64".into() } else { sum }
    }

    fn run_gpu(&self, v: &Variant) -> (String, TokenStream) {
        let kernel = &*self.p.name;
        let program = match &v.gpu {
            Ok(code) => {
                let program = &code.program;
                quote! { static PROGRAM: __rt::program::GpuProgram = #program; }
            }
            Err(reason) => {
                let text = format!(
                    "return ::core::result::Result::Err(__rt::Error::UnsupportedOnGpu {{ kernel: {kernel:?}, what: {reason:?}.into(), help: \"run it on the CPU, or use f32 and i32\".into() }});\n"
                );
                return (text, TokenStream::new());
            }
        };
        let mut out = format!("let {} = args;\n{}", self.pattern(), self.bind());
        let inputs: String = self
            .inputs()
            .iter()
            .enumerate()
            .map(|(i, a)| {
                if self.rank(*a) == 0 {
                    format!(
                        "__rt::gpu::GpuInput::scalar(p{}, {kernel:?}, SIGNATURE.arrays[{i}].name)?, ",
                        a.0
                    )
                } else {
                    format!("__rt::gpu::GpuInput::Array(p{}.buffer()), ", a.0)
                }
            })
            .collect();
        out.push_str(&format!(
            "let mut out = gpu.execute_shaped(&PROGRAM, &[{inputs}], &atoms)?.into_iter();\n"
        ));
        for (i, a) in self.p.result.leaves().into_iter().enumerate() {
            out.push_str(&format!(
                "let r{i} = __rt::gpu::result::<{}, __rt::ndarray::Ix{}>(gpu, out.next())?;\n",
                self.elem(*a),
                self.rank(*a)
            ));
        }
        let mut i = 0;
        let result = tree(&self.p.result, &mut |_| {
            i += 1;
            format!("r{}", i - 1)
        });
        out.push_str(&format!("::core::result::Result::Ok({result})\n"));
        (out, program)
    }
}

/// Puts the lines that copy before those that move.
fn reorder(lets: &str) -> String {
    let (copies, moves): (Vec<&str>, Vec<&str>) = lets.lines().partition(|l| l.contains(".to_vec()"));
    copies.into_iter().chain(moves).map(|l| format!("{l}\n")).collect()
}

/// The name of the i-th array of an argument.
fn part_name(q: &Param, i: usize) -> String {
    match &q.arrays {
        Tree::Leaf(_) => q.name.to_string(),
        Tree::Tuple(_) => format!("{}.{i}", q.name),
    }
}

/// `f` of `grad(grad(f))`.
fn base_name(name: &str) -> &str {
    name.rsplit('(').next().map_or(name, |n| n.trim_end_matches(')'))
}

fn kernel_impl(name: &Ident, v: &Variant) -> TokenStream {
    let h = Host { p: &v.cpu };
    let code = cpu::emit(&v.cpu, "");
    let kernel = v.cpu.name.to_string();
    let explain = &v.explain;
    let (args, output) = (tokens(&h.arguments("'a ", false)), tokens(&h.output(false)));
    let plain = tokens(&h.argument_list());
    let run = tokens(&h.run(&code));
    let items = tokens(&code.items);
    let signature = tokens(&h.signature());
    let names: Vec<Ident> =
        (0..h.p.params.len()).map(|i| Ident::new(&format!("__p{i}"), Span::mixed_site())).collect();
    let (gpu_args, gpu_output) = (tokens(&h.arguments("'a ", true)), tokens(&h.output(true)));
    let (run_gpu, program) = h.run_gpu(v);
    let run_gpu = tokens(&run_gpu);
    quote! {
        const _: () = {
            #items
            #signature
            impl __rt::host::Kernel for #name {
                const NAME: &'static str = #kernel;
                const EXPLAIN: &'static str = #explain;
                type Args<'a> = #args;
                type Output = #output;
                #[inline]
                fn run(__args: Self::Args<'_>) -> ::core::result::Result<Self::Output, __rt::Error> {
                    #run
                }
            }
            impl ::core::ops::Deref for #name {
                type Target = fn(#plain) -> #output;
                fn deref(&self) -> &Self::Target {
                    const CALL: fn(#plain) -> #output = |#(#names),*| {
                        match <#name as __rt::host::Kernel>::run((#(#names,)*)) {
                            ::core::result::Result::Ok(__value) => __value,
                            ::core::result::Result::Err(__error) => ::core::panic!("{}", __error),
                        }
                    };
                    &CALL
                }
            }
            __rt::if_gpu! {
                impl __rt::gpu::GpuKernel for #name {
                    type GpuArgs<'a> = #gpu_args;
                    type GpuOutput = #gpu_output;
                    #[inline]
                    fn run_gpu(
                        __gpu: &__rt::gpu::Gpu,
                        __args: Self::GpuArgs<'_>,
                    ) -> ::core::result::Result<Self::GpuOutput, __rt::Error> {
                        #program
                        #run_gpu
                    }
                }
            }
        };
    }
}
