//! The Rust items of a kernel: its unit struct, the `Kernel` implementations of the function and its derivatives,
//! and the macro that carries its Core to other kernels.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

use super::cpu::{self, CpuCode};
use super::signature::{Leaf, Like, Shape, Types};
use super::structure::{self, opened};
use super::wgsl;
use crate::Verified;
use crate::bulk::{ArrayId, Strip};
use crate::derive::Derivative;
use crate::dim::{Dim, SizeAtom};
use crate::internal::expect;
use crate::lexer;
use crate::loops::{self, Home, Program};
use crate::ty::{Elem, Name};

/// A kernel or one of its derivatives, ready to be printed.
pub struct Variant {
    /// Which derivatives of the kernel lead here, the last one last; empty: the kernel itself.
    pub path: Vec<Derivative>,
    /// For the CPU.
    pub cpu: Verified<Program>,
    /// Its code.
    code: CpuCode,
    /// For the GPU, or why not.
    pub gpu: Result<wgsl::GpuCode, String>,
    /// The text of `explain()` before the shaders.
    pub explain: String,
    /// What the host sees.
    pub types: Types,
}

impl Variant {
    /// A variant that explains nothing.
    pub fn new(
        path: Vec<Derivative>,
        cpu: Verified<Program>,
        gpu: Result<wgsl::GpuCode, String>,
        types: Types,
    ) -> Variant {
        let code = cpu::emit(&cpu, "");
        Variant { path, cpu, code, gpu, explain: String::new(), types }
    }

    /// Its loops and its code, for `explain`.
    pub fn printed(&self) -> String {
        let none = self.gpu.as_ref().err().map_or_else(String::new, |e| format!("== wgsl ==\nnone: {e}\n"));
        let (loops, code) = (loops::print::print(&self.cpu), &self.code);
        format!("== loops ==\n{loops}\n== rust ==\n{}{}\n{none}", code.items, code.body)
    }
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
                #vis struct #name;
            });
        }
        inner.extend(kernel_impl(&name, v));
        let of = |d: Derivative| variants.iter().find(|w| w.path == [d]);
        if let (true, Some(vjp), Some(jvp)) = (v.path.is_empty(), of(Derivative::Vjp), of(Derivative::Jvp)) {
            let hvp = of(Derivative::Hvp).map(|w| &w.types);
            inner.extend(super::directional::directional_impl(&name, v, &vjp.types, &jvp.types, hvp));
        }
        for d in variants.iter().filter(|w| w.path.len() == v.path.len() + 1 && w.path.starts_with(&v.path)) {
            let derived = struct_name(kernel, &d.path);
            let Some(last) = d.path.last() else { continue };
            let (tr, assoc) = trait_names(*last);
            let (tr, assoc) = (Ident::new(tr, Span::mixed_site()), Ident::new(assoc, Span::mixed_site()));
            inner.extend(quote! {
                impl __rt::host::#tr for #name {
                    type #assoc = #derived;
                }
            });
        }
    }
    let records = variants.first().map_or(&[][..], |v| &v.types.records);
    let aliases = (0..records.len()).map(|k| Ident::new(&format!("__Record{k}"), Span::mixed_site()));
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
            #(type #aliases = #records;)*
            #inner
        };
    }
}

/// The trait and its type that say that a kernel has a derivative.
pub fn trait_names(d: Derivative) -> (&'static str, &'static str) {
    match d {
        Derivative::Vjp => ("HasVjp", "Vjp"),
        Derivative::Grad => ("HasGrad", "Grad"),
        Derivative::ValueAndGrad => ("HasValueAndGrad", "ValueAndGrad"),
        Derivative::Jvp => ("HasJvp", "Jvp"),
        Derivative::Hvp => ("HasHvp", "Hvp"),
        Derivative::Jacobian => ("HasJacobian", "Jacobian"),
        Derivative::Hessian => ("HasHessian", "Hessian"),
        Derivative::Vmap => ("HasVmap", "Vmap"),
    }
}

/// The functions that take records apart and put them together.
pub(super) const VIEW: &str = "__rt::record::Record>::view";
const DEVICE_VIEW: &str = "__rt::gpu::DeviceRecord>::device_view";
pub(super) const INTO_PARTS: &str = "__rt::record::Record>::into_parts";
pub(super) const FROM_PARTS: &str = "__rt::record::Record>::from_parts";
const DEVICE_FROM_PARTS: &str = "__rt::gpu::DeviceRecord>::device_from_parts";

/// The tokens of generated code.
pub(super) fn tokens(text: &str) -> TokenStream {
    // The texts are this crate's own; one that does not lex shows up as an error inside generated code.
    lexer::tokens(text).unwrap_or_else(|e| {
        let message = format!("internal error of array-dsl: generated code does not lex: {e}");
        quote! { ::core::compile_error!(#message) }
    })
}

/// What is printed of a variant.
pub(super) struct Host<'a> {
    pub p: &'a Program,
    pub types: &'a Types,
}

impl Host<'_> {
    pub fn elem(&self, a: ArrayId) -> Elem {
        self.p.arrays[a.0 as usize].elem
    }

    fn dims(&self, a: ArrayId) -> &[Dim] {
        &self.p.arrays[a.0 as usize].dims
    }

    pub fn rank(&self, a: ArrayId) -> usize {
        self.dims(a).len()
    }

    fn root(&self, a: ArrayId) -> ArrayId {
        self.p.root(a)
    }

    /// All arrays of the parameters, in order.
    pub fn inputs(&self) -> Vec<ArrayId> {
        self.p
            .params
            .iter()
            .flat_map(|q| q.arrays.leaves().into_iter().copied().collect::<Vec<_>>())
            .collect()
    }

    /// The names of all arrays of the parameters for messages: `x`, `p.0`, `net.w`.
    pub fn names(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut params = self.p.params.iter();
        for s in &self.types.args {
            let parts = s.present().len();
            let Some(first) = params.next() else { break };
            let mut found = first.arrays.leaves().len();
            // The parts of a record's cotangent are parameters of their own.
            let mut name = &*first.name;
            while found < parts {
                name = name.trim_end_matches(|c: char| c.is_ascii_digit());
                found += params.next().map_or(parts, |q| q.arrays.leaves().len());
            }
            structure::names(s, name, &mut out);
        }
        out
    }

    /// The pattern that takes the arguments apart, `p7` for array 7, and the statements that open the records among them.
    pub fn pattern(&self, open: &str) -> (String, String) {
        let inputs = self.inputs();
        let mut name = |k: usize, _: &Leaf| inputs.get(k).map_or("_".into(), |a| format!("p{}", a.0));
        let args: Vec<&Shape> = self.types.args.iter().collect();
        let all = opened(&args, open, 0, &mut name);
        let pattern: String = all.iter().map(|o| o.pattern.clone() + ", ").collect();
        (format!("({pattern})"), all.iter().map(|o| o.lets.as_str()).collect())
    }

    /// The arrays of the parameters that are parts of records.
    fn in_records(&self) -> Vec<ArrayId> {
        let mut inputs = self.inputs().into_iter();
        let mut out = Vec::new();
        for s in &self.types.args {
            let mut leaf = |l: &Leaf, inside: bool| {
                let a = if l.absent.is_none() { inputs.next() } else { None };
                out.extend(a.filter(|_| inside));
                String::new()
            };
            structure::text(s, &mut leaf, &mut |_, _| String::new());
        }
        out
    }

    /// The number of a named size.
    fn size(&self, name: &Name) -> usize {
        expect(self.p.sizes.iter().position(|s| s == name), || {
            format!("the size `{name}` is none of the kernel")
        })
    }

    fn atom(&self, a: &SizeAtom, scalars: &[ArrayId]) -> usize {
        match a {
            SizeAtom::Name(n) => self.size(n),
            SizeAtom::Scalar(s) => {
                let at = scalars.iter().position(|x| x.0 == *s);
                self.p.sizes.len() + expect(at, || format!("the size `{a:?}` is no argument"))
            }
        }
    }

    /// The static `SIGNATURE`.
    fn signature(&self) -> String {
        let scalars = wgsl::size_scalars(self.p);
        let mut arrays = String::new();
        for (a, name) in self.inputs().into_iter().zip(self.names()) {
            let dims: String = self
                .dims(a)
                .iter()
                .map(|d| {
                    let poly = cpu::poly(d, &|x| self.atom(x, &scalars));
                    format!("({poly}, {:?}), ", cpu::show(self.p, d))
                })
                .collect();
            arrays.push_str(&format!("__rt::program::ArrayArg {{ name: {name:?}, dims: &[{dims}] }}, "));
        }
        let sizes: String = self.p.sizes.iter().map(|s| format!("{:?}, ", &**s)).collect();
        let poly = |d: &Dim| cpu::poly(d, &|x| self.atom(x, &scalars));
        let at = |name: &Name| self.atom(&SizeAtom::Name(name.clone()), &scalars);
        let strip = |s: &Strip| {
            let (width, trips) = (at(&s.width), at(&s.trips));
            let (total, bytes) = (poly(&s.total), poly(&s.bytes));
            format!(
                "__rt::strip::Strip {{ at_once: {width}, trips: {trips}, total: {total}, bytes: {bytes} }}, "
            )
        };
        let strips: String = self.p.strips.iter().map(strip).collect();
        // That of its first parameter; without any, the first place of all.
        let place = self.p.params.iter().find_map(|q| self.p.places.get(q.loc.0 as usize));
        let place = place.or(self.p.places.first());
        let (file, line) = place.map_or((String::new(), 0), |s| (s.file.to_string(), s.line));
        let kernel = base_name(&self.p.name);
        format!(
            "static SIGNATURE: __rt::program::Signature = __rt::program::Signature {{ kernel: {kernel:?}, sizes: &[{sizes}], strips: &[{strips}], arrays: &[{arrays}], results: &[{}], file: {file:?}, line: {line} }};\n",
            self.result_shapes(&scalars)
        )
    }

    /// The dimensions of each array of the result that arguments tell.
    fn result_shapes(&self, scalars: &[ArrayId]) -> String {
        let (inputs, leaves) = (self.inputs(), self.p.result.leaves());
        let told = |a: &SizeAtom| !matches!(a, SizeAtom::Scalar(s) if !scalars.iter().any(|x| x.0 == *s));
        let dim = |d: &Dim| match d.atoms().iter().all(told) {
            true => format!("::core::option::Option::Some({}), ", cpu::poly(d, &|x| self.atom(x, scalars))),
            false => "::core::option::Option::None, ".into(),
        };
        let shape = |a: &ArrayId| format!("&[{}], ", self.dims(*a).iter().map(dim).collect::<String>());
        let (mut present, mut out) = (0, String::new());
        let mut leaf = |l: &Leaf, _: bool| {
            let array = match l.absent {
                None => {
                    present += 1;
                    leaves.get(present - 1).copied()
                }
                Some(Like::Argument(k)) => inputs.get(k),
                Some(Like::Result(k)) => leaves.get(k).copied(),
            };
            out.push_str(&array.map_or("&[], ".into(), shape));
            String::new()
        };
        structure::text(&self.types.result, &mut leaf, &mut |_, _| String::new());
        out
    }

    /// What `sizes` does.
    fn sizes(&self) -> String {
        let (pattern, open) = self.pattern(VIEW);
        let bind = self.bind(false);
        format!("let {pattern} = args;\n{open}{bind}::core::result::Result::Ok((&SIGNATURE, atoms))\n")
    }

    fn bind(&self, gpu: bool) -> String {
        let shapes: String = self
            .inputs()
            .iter()
            .map(|a| if self.rank(*a) == 0 { "&[], ".to_string() } else { format!("p{}.shape(), ", a.0) })
            .collect();
        let computed = if gpu { self.in_records() } else { Vec::new() };
        let scalar = |a: &ArrayId| match computed.contains(a) {
            true => format!("p{}.item()?, ", a.0),
            false => format!("p{}, ", a.0),
        };
        let scalars: String = wgsl::size_scalars(self.p).iter().map(scalar).collect();
        format!("let atoms = __rt::entry::bind(&SIGNATURE, &[{shapes}], &[{scalars}])?;\n")
    }

    fn run(&self, code: &CpuCode) -> String {
        let (pattern, open) = self.pattern(VIEW);
        let mut out = format!("let {pattern} = args;\n{open}{}", self.bind(false));
        for (k, _) in self.p.sizes.iter().enumerate() {
            out.push_str(&format!("let n{k}: i64 = atoms[{k}];\n"));
        }
        for (a, name) in self.inputs().into_iter().zip(self.names()) {
            let k = a.0;
            if self.rank(a) == 0 {
                out.push_str(&format!("let a{k}: {} = p{k};\n", self.elem(a)));
            } else {
                out.push_str(&format!(
                    "let d{k} = SIGNATURE.owner({name:?}).dense(p{k})?;\nlet a{k}: &[{}] = &d{k}[..];\n",
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
            let data = match owned {
                true => format!("a{}", root.0),
                false => format!("given.copied({i}, {RESULT}, &a{}[..])?", root.0),
            };
            let dims: Vec<String> = self.dims(*a).iter().map(|d| self.dim(d)).collect();
            lets = format!(
                "let r{i} = {RESULT}.shaped::<{}, __rt::ndarray::Ix{}>({data}, &[{}])?;\n",
                self.elem(*a),
                self.rank(*a),
                dims.join(", ")
            ) + &lets;
        }
        // The results that copy come before the one that takes the memory: it is the last leaf.
        out.push_str(&reorder(&lets));
        out.push_str(&self.result(FROM_PARTS, &mut |i, _| format!("r{i}"), &|l, like| match l.rank {
            0 => "::core::default::Default::default()".into(),
            r => format!("{RESULT}.zeros_like::<{}, _, __rt::ndarray::Ix{r}>(&{like})?", l.elem),
        }));
        out
    }

    /// The result from its arrays, the i-th of which is `present(i, inside a record)`; `absent` makes one of zeros that is like
    /// another.
    fn result(
        &self,
        make: &str,
        present: &mut dyn FnMut(usize, bool) -> String,
        absent: &dyn Fn(&Leaf, &str) -> String,
    ) -> String {
        let inputs = self.inputs();
        let (mut i, mut zeros) = (0, Vec::new());
        let mut leaf = |l: &Leaf, inside: bool| {
            let Some(like) = l.absent else {
                i += 1;
                return present(i - 1, inside);
            };
            let like = match like {
                Like::Argument(k) => inputs.get(k).map_or("r0".into(), |a| format!("p{}", a.0)),
                Like::Result(k) => format!("r{k}"),
            };
            // Before the arrays move into the result.
            zeros.push(absent(l, &like));
            format!("z{}", zeros.len() - 1)
        };
        let mut record = |r: usize, parts: String| format!("<__Record{r} as {make}({parts})");
        let result = structure::text(&self.types.result, &mut leaf, &mut record);
        let zeros: String = zeros.iter().enumerate().map(|(k, z)| format!("let z{k} = {z};\n")).collect();
        format!("{zeros}::core::result::Result::Ok({result})\n")
    }

    fn dim(&self, d: &Dim) -> String {
        let mut sum = String::new();
        for (m, c) in d.terms() {
            let mut term = format!("({c}i64)");
            for a in m {
                let atom = match a {
                    SizeAtom::Name(n) => format!("n{}", self.size(n)),
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
                let (program, polys) = (&code.program, &code.polys);
                let names = (0..polys.len()).map(|number| format_ident!("POLY{number}"));
                quote! {
                    #(const #names: __rt::program::Poly = #polys;)*
                    static PROGRAM: __rt::program::GpuProgram = #program;
                }
            }
            Err(reason) => {
                let text = format!(
                    "return ::core::result::Result::Err(__rt::Error::UnsupportedOnGpu {{ kernel: {kernel:?}, what: ::std::string::String::from({reason:?}), help: ::std::string::String::from(\"run it on the CPU\") }});\n"
                );
                return (text, TokenStream::new());
            }
        };
        let (pattern, open) = self.pattern(DEVICE_VIEW);
        let mut out = format!("let {pattern} = args;\n{open}{}", self.bind(true));
        let in_records = self.in_records();
        let inputs: String = self
            .inputs()
            .iter()
            .map(|a| {
                if self.rank(*a) == 0 && in_records.contains(a) {
                    format!("p{}.input(), ", a.0)
                } else if self.rank(*a) == 0 {
                    format!("__rt::gpu::GpuInput::scalar(p{}), ", a.0)
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
        let leaves: Vec<ArrayId> = self.p.result.leaves().into_iter().copied().collect();
        let inputs = self.inputs();
        let mut present = |i: usize, inside: bool| {
            let root = leaves.get(i).map(|a| self.root(*a)).filter(|a| inputs.contains(a));
            match (leaves.get(i).is_some_and(|a| self.rank(*a) == 0), inside, root) {
                // What is passed on stays known to the host.
                (true, true, Some(root)) if in_records.contains(&root) => format!("p{}.clone()", root.0),
                (true, true, Some(root)) => format!("__rt::gpu::GpuScalar::from(p{})", root.0),
                (true, true, None) => format!("__rt::gpu::GpuScalar::from(r{i})"),
                _ => format!("r{i}"),
            }
        };
        out.push_str(&self.result(DEVICE_FROM_PARTS, &mut present, &|l, like| match l.rank {
            0 => format!("__rt::gpu::GpuScalar::<{0}>::from({0}::default())", l.elem),
            r => format!("__rt::gpu::zeros::<{}, __rt::ndarray::Ix{r}>(gpu, {like}.raw_dim())?", l.elem),
        }));
        (out, program)
    }
}

/// The results, where no array of the program is meant.
const RESULT: &str = "SIGNATURE.owner(\"the result\")";

/// Puts the lines that copy before those that move.
fn reorder(lets: &str) -> String {
    let (copies, moves): (Vec<&str>, Vec<&str>) = lets.lines().partition(|l| l.contains("given.copied("));
    copies.into_iter().chain(moves).map(|l| format!("{l}\n")).collect()
}

/// `f` of `grad(grad(f))`.
fn base_name(name: &str) -> &str {
    name.rsplit('(').next().map_or(name, |n| n.trim_end_matches(')'))
}

fn kernel_impl(name: &Ident, v: &Variant) -> TokenStream {
    let h = Host { p: &v.cpu, types: &v.types };
    let kernel = v.cpu.name.to_string();
    let explain = &v.explain;
    let shaders = v.gpu.as_ref().map_or(&[][..], |g| &g.shaders[..]);
    let texts = (!shaders.is_empty()).then(|| {
        let texts = shaders.iter().map(|s| &s.wgsl);
        quote!(const SHADERS: &[&str] = &[#(#texts),*];)
    });
    let titled = shaders.iter().enumerate().map(|(i, s)| {
        let title = format!("== wgsl {} ==\n", s.label);
        quote!(#title, SHADERS[#i], "\n")
    });
    let (args, output) = (v.types.arguments(&quote!('a), false), v.types.output(false));
    let plain = v.types.arguments(&quote!(), false);
    let run = tokens(&h.run(&v.code));
    let sizes = tokens(&h.sizes());
    let items = tokens(&v.code.items);
    let signature = tokens(&h.signature());
    let names: Vec<Ident> =
        (0..v.types.args.len()).map(|i| Ident::new(&format!("__p{i}"), Span::mixed_site())).collect();
    let (gpu_args, gpu_output) = (v.types.arguments(&quote!('a), true), v.types.output(true));
    let (run_gpu, program) = h.run_gpu(v);
    let run_gpu = tokens(&run_gpu);
    quote! {
        const _: () = {
            #items
            #signature
            #texts
            impl __rt::host::Kernel for #name {
                const NAME: &'static str = #kernel;
                const EXPLAIN: &'static [&'static str] = &[#explain, #(#titled),*];
                type Args<'a> = (#(#args,)*);
                type Output = #output;
                #[inline]
                fn run_with(
                    __args: Self::Args<'_>,
                    mut __given: __rt::given::Given,
                ) -> ::core::result::Result<Self::Output, __rt::Error> {
                    #run
                }
                #[inline]
                fn sizes(
                    __args: Self::Args<'_>,
                ) -> ::core::result::Result<(&'static __rt::program::Signature, ::std::vec::Vec<i64>), __rt::Error> {
                    #sizes
                }
            }
            impl ::core::ops::Deref for #name {
                type Target = fn(#(#plain),*) -> #output;
                fn deref(&self) -> &Self::Target {
                    const CALL: fn(#(#plain),*) -> #output = |#(#names),*| {
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
                    type GpuArgs<'a> = (#(#gpu_args,)*);
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
