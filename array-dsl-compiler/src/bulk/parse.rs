//! Reads the text that `print` writes; see there for what it looks like. `//` starts a comment.
//!
//! The text has no places: every `Loc` is 0, and the table of places has the one entry for it. Array and scalar
//! numbers of the text are kept; numbers the text leaves out become unused entries. The parser wants every array and
//! scalar bound before it is used (it needs their types); every other rule is left to the verifier.

mod scalars;
mod tokens;

use super::{
    ArrayId, ArrayInfo, Atom, Axis, Body, Call, Carried, Check, CheckKind, Nest, Param, Program, Reducer,
    Repeat, Sort, Stm, Strip, Trips, Yield, YieldKind,
};
use crate::dim::Dim;
use crate::routine::Routine;
use crate::ty::{Elem, Loc, Name, Place, Tree};
use tokens::{Token, tokenize};

/// The largest number of an array or scalar, and the deepest nesting: a text cannot make the parser use up memory or stack.
const MAX_ID: u32 = 1 << 20;
const MAX_DEPTH: u32 = 128;

/// The program of a text, or what is wrong in which line.
pub fn parse(text: &str) -> Result<Program, String> {
    let tokens = tokenize(text)?;
    let mut p = Parser { tokens, at: 0, depth: 0, arrays: Vec::new(), vars: Vec::new() };
    p.program().map_err(|message| format!("line {}: {message}", p.line()))
}

/// The number of an array: what follows the last `.` of its word.
fn array_id(word: &str) -> Option<(&str, u32)> {
    let (name, id) = word.rsplit_once('.')?;
    let digits = !name.is_empty() && !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| id.parse().ok()).flatten().map(|id| (name, id))
}

type Parsed<T> = Result<T, String>;

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: u32,
    arrays: Vec<Option<ArrayInfo>>,
    vars: Vec<Option<Elem>>,
}

impl Parser {
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.1)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn is_symbol(&self, s: &str) -> bool {
        matches!(self.peek(), Some(Token::Symbol(t)) if *t == s)
    }

    fn is_keyword(&self, s: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(t)) if t == s)
    }

    fn take(&mut self, s: &str) -> bool {
        let found = self.is_symbol(s) || self.is_keyword(s);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, s: &str) -> Parsed<()> {
        if self.take(s) { Ok(()) } else { Err(self.unexpected(&format!("`{s}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found = match self.peek() {
            Some(Token::Word(w)) => format!("`{w}`"),
            Some(Token::Var(v)) => format!("`%{v}`"),
            Some(Token::Symbol(s)) => format!("`{s}`"),
            None => "the end of the text".into(),
        };
        format!("expected {wanted}, found {found}")
    }

    fn word(&mut self, wanted: &str) -> Parsed<String> {
        match self.peek() {
            Some(Token::Word(w)) => {
                let w = w.clone();
                self.at += 1;
                Ok(w)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// `item, item ... end`; a comma may stand before the end.
    fn list<T>(&mut self, end: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut out = Vec::new();
        while !self.take(end) {
            out.push(item(self)?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(out)
    }

    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            return Err("nested too deeply".into());
        }
        self.depth += 1;
        let out = f(self);
        self.depth -= 1;
        out
    }

    fn program(&mut self) -> Parsed<Program> {
        self.expect("program")?;
        let name: Name = self.word("the program's name")?.into();
        self.expect("(")?;
        let params = self.list(")", Self::param)?;
        let mut sizes: Vec<Name> = Vec::new();
        if self.take("sizes") {
            loop {
                sizes.push(self.word("a size")?.into());
                if !self.take(",") {
                    break;
                }
            }
        }
        let mut strips = Vec::new();
        while self.take("strip") {
            strips.push(self.strip()?);
        }
        let mut stms = Vec::new();
        while !self.take("=>") {
            stms.push(self.stm()?);
            while self.take(";") {}
        }
        let result = self.tree(&mut Self::array)?;
        if self.peek().is_some() {
            return Err(self.unexpected("the end of the text"));
        }
        let unused = |info: &Option<ArrayInfo>| {
            info.clone().unwrap_or(ArrayInfo { name: "_".into(), elem: Elem::Bool, dims: Vec::new() })
        };
        let places = vec![Place { kernel: name.clone(), file: "".into(), line: 0, column: 0 }];
        Ok(Program {
            name,
            sizes,
            strips,
            params,
            arrays: self.arrays.iter().map(unused).collect(),
            vars: self.vars.iter().map(|v| v.unwrap_or(Elem::Bool)).collect(),
            stms,
            result,
            places,
            rules: Vec::new(),
        })
    }

    fn strip(&mut self) -> Parsed<Strip> {
        let trips = self.word("a size")?.into();
        self.expect("times")?;
        let width = self.word("a size")?.into();
        self.expect("of")?;
        let total = self.dim()?;
        self.expect("each")?;
        let bytes = self.dim()?;
        self.expect("bytes")?;
        Ok(Strip { width, trips, total, bytes })
    }

    fn param(&mut self) -> Parsed<Param> {
        let active = !self.take("no_grad");
        let word = self.word("a parameter")?;
        let (name, arrays) = if self.take("=") {
            (word, self.tree(&mut Self::binding)?)
        } else {
            self.at -= 1;
            let array = self.binding()?;
            (array_id(&word).map_or(String::new(), |(name, _)| name.to_string()), Tree::Leaf(array))
        };
        Ok(Param { name: name.into(), arrays, active, loc: Loc(0) })
    }

    fn tree(&mut self, leaf: &mut dyn FnMut(&mut Self) -> Parsed<ArrayId>) -> Parsed<Tree<ArrayId>> {
        if !self.take("(") {
            return leaf(self).map(Tree::Leaf);
        }
        self.nested(|p| p.list(")", |p| p.tree(leaf))).map(Tree::Tuple)
    }

    /// `x.1: [n][d]f64`.
    fn binding(&mut self) -> Parsed<ArrayId> {
        let word = self.word("an array to bind")?;
        let (name, id) =
            array_id(&word).ok_or_else(|| format!("`{word}` is no array: expected `name.number`"))?;
        self.expect(":")?;
        let mut dims = Vec::new();
        while self.take("[") {
            dims.push(self.dim()?);
            self.expect("]")?;
        }
        let elem = self.word("an element type")?;
        let elem = Elem::from_name(&elem).ok_or_else(|| format!("`{elem}` is no element type"))?;
        self.bind_array(name, id, elem, dims)
    }

    fn bind_array(&mut self, name: &str, id: u32, elem: Elem, dims: Vec<Dim>) -> Parsed<ArrayId> {
        if id > MAX_ID {
            return Err(format!("the number of `{name}.{id}` is too large"));
        }
        let place = id as usize;
        if self.arrays.len() <= place {
            self.arrays.resize(place + 1, None);
        }
        self.arrays[place] = Some(ArrayInfo { name: name.into(), elem, dims });
        Ok(ArrayId(id))
    }

    /// An array bound before.
    fn array(&mut self) -> Parsed<ArrayId> {
        let word = self.word("an array")?;
        let (_, id) = array_id(&word).ok_or_else(|| format!("`{word}` is no array"))?;
        match self.arrays.get(id as usize) {
            Some(Some(_)) => Ok(ArrayId(id)),
            _ => Err(format!("`{word}` is used before it is bound")),
        }
    }

    fn axis(&mut self) -> Parsed<Axis> {
        let id = self.var()?;
        let var = self.new_var(id, Some(Elem::I64))?;
        self.expect("<")?;
        Ok(Axis { var, extent: self.dim()? })
    }

    fn index(&mut self) -> Parsed<Vec<Atom>> {
        self.expect("[")?;
        self.list("]", Self::atom)
    }

    fn stm(&mut self) -> Parsed<Stm> {
        if self.take("check") {
            return Ok(Stm::Check(self.check()?, Loc(0)));
        }
        if self.is_keyword("nest") {
            let (axes, body) = self.nest()?;
            let several = |p: &mut Self| {
                let array = p.binding()?;
                p.expect("=")?;
                Ok(Yield { array, kind: p.yield_kind()? })
            };
            let yields = if self.take("yields") {
                self.expect("(")?;
                self.list(")", several)?
            } else {
                Vec::new()
            };
            return Ok(Stm::Nest(Nest { axes, body, yields, loc: Loc(0) }));
        }
        let result = self.binding()?;
        let mut results = vec![result];
        while self.take(",") {
            results.push(self.binding()?);
        }
        self.expect("=")?;
        if self.take("call") {
            return self.call(results).map(Stm::Call);
        }
        if results.len() > 1 || self.is_keyword("repeat") {
            return self.repeat(&results).map(Stm::Repeat);
        }
        if self.is_keyword("nest") {
            let (axes, body) = self.nest()?;
            let yields = vec![Yield { array: result, kind: self.yield_kind()? }];
            return Ok(Stm::Nest(Nest { axes, body, yields, loc: Loc(0) }));
        }
        if self.take("reshape") {
            return Ok(Stm::Reshape { result, source: self.array()? });
        }
        if self.take("argsort") {
            return Ok(Stm::Sort(Sort { result, keys: self.array()? }));
        }
        Err(self.unexpected("`nest`, `reshape` or `argsort`"))
    }

    /// What follows `call`.
    fn call(&mut self, results: Vec<ArrayId>) -> Parsed<Call> {
        let found = Routine::ALL.into_iter().find(|r| self.take(r.name()));
        let routine = found.ok_or_else(|| self.unexpected("a routine"))?;
        self.expect("of")?;
        let mut args = vec![self.array()?];
        while self.take(",") {
            args.push(self.array()?);
        }
        Ok(Call { routine, results, args })
    }

    fn repeat(&mut self, results: &[ArrayId]) -> Parsed<Repeat> {
        self.expect("repeat")?;
        // The state of a `while` is bound later in the text.
        let condition = if self.take("while") { Some(self.word("a state")?) } else { None };
        let trips = match &condition {
            Some(_) => None,
            None => {
                let word = self.word("an index")?;
                let (name, id) = array_id(&word).ok_or_else(|| format!("`{word}` is no array"))?;
                let index = self.bind_array(name, id, Elem::I64, Vec::new())?;
                self.expect("<")?;
                Some(Trips::For(index, self.dim()?))
            }
        };
        self.expect("with")?;
        let mut states = Vec::new();
        while !self.take("{") {
            let state = self.binding()?;
            self.expect("=")?;
            states.push((state, self.array()?));
            self.take(",");
        }
        let trips = match (trips, condition.as_deref().and_then(array_id)) {
            (Some(trips), _) => trips,
            (None, Some((_, id))) => Trips::While(ArrayId(id)),
            (None, None) => return Err("a `while` needs a state".into()),
        };
        let mut body = Vec::new();
        while !self.take("=>") {
            body.push(self.nested(Self::stm)?);
            while self.take(";") {}
        }
        let nexts = self.list("}", Self::array)?;
        if nexts.len() != states.len() || results.len() != states.len() {
            return Err(format!(
                "{} states, {} of them next, {} results",
                states.len(),
                nexts.len(),
                results.len()
            ));
        }
        let carried = states
            .into_iter()
            .zip(nexts)
            .zip(results)
            .map(|(((state, start), next), result)| Carried { state, start, next, result: *result })
            .collect();
        Ok(Repeat { trips, carried, body, loc: Loc(0) })
    }

    fn nest(&mut self) -> Parsed<(Vec<Axis>, Body)> {
        self.expect("nest")?;
        self.expect("[")?;
        let axes = self.list("]", Self::axis)?;
        self.expect("{")?;
        let body = self.body()?;
        self.expect("}")?;
        Ok((axes, body))
    }

    fn reducer(&mut self) -> Parsed<Reducer> {
        self.expect("(")?;
        let name = self.word("a reducer")?;
        self.expect(")")?;
        Reducer::from_name(&name).ok_or_else(|| format!("`{name}` is no reducer"))
    }

    fn yield_kind(&mut self) -> Parsed<YieldKind> {
        let word = self.word("`store`, `reduce`, `accumulate` or `write`")?;
        Ok(match word.as_str() {
            "store" => YieldKind::Store(self.atom()?),
            "reduce" => {
                let reducer = self.reducer()?;
                let over = self.word("the number of axes")?;
                let over = over.parse().map_err(|_| format!("`{over}` is no number of axes"))?;
                YieldKind::Reduce { reducer, over, value: self.atom()? }
            }
            "accumulate" => {
                let reducer = self.reducer()?;
                YieldKind::Accumulate {
                    reducer,
                    into: self.array()?,
                    index: self.index()?,
                    value: self.atom()?,
                }
            }
            how @ ("write" | "overwrite") => YieldKind::Write {
                into: self.array()?,
                index: self.index()?,
                value: self.atom()?,
                contested: how == "overwrite",
            },
            other => return Err(format!("`{other}` is no kind of yield")),
        })
    }

    fn check(&mut self) -> Parsed<Check> {
        let kind = if self.take("nonnegative") {
            CheckKind::NonNegative(self.dim()?)
        } else {
            let left = self.dim()?;
            if self.take("==") {
                CheckKind::Equal(left, self.dim()?)
            } else {
                self.expect("<=")?;
                CheckKind::AtLeast(left, self.dim()?)
            }
        };
        let mut guards = Vec::new();
        if self.take("if") {
            loop {
                guards.push(self.dim()?);
                self.expect(">")?;
                self.expect("0")?;
                if !self.take(",") {
                    break;
                }
            }
        }
        Ok(Check { kind, guards })
    }
}

#[cfg(test)]
mod tests {
    use super::super::print::print;
    use super::*;

    const SAMPLES: [&str; 3] = [
        "\
program nll(w.0: [d][c]f64, no_grad x.1: [n][d]f64) sizes d, c, n
  t.4: [n][c]f64 = nest [%3 < n, %4 < c, %5 < d] {
    %6 = x.1[%3, %5]
    %7 = w.0[%5, %4]?
    %8 = mul %6 %7
  } reduce(add) 1 %8
  f.5: [c * n]f64 = reshape t.4
  => f.5
",
        "\
program all(p = (x.0: [n]f32, no.1: bool), k.2: i64) sizes n
  check nonnegative k.2 - 1
  check 1 <= 2 * n + n * n if n > 0, k.2 > 0
  check n == k.2
  nest [%0 < n] {
    %1 = x.0[%0]
    %2 = lt %1 1.5e-7f32
    %3, %4 = if %2 {
      %5 = ln %1
      %6 = stop_gradient %5
      => %6, 3i32
    } else {
      => -inf_f32, -1i32
    }
    %7 = size -n + k.2
  } yields (
    y.3: [n]f32 = store %3,
    i.4: i64 = reduce(argmin) 1 %3,
    h.5: [n]f32 = accumulate(max) x.0[%7] %3,
  )
  z.6: [n]f32 = nest [%10 < k.2] { } write y.3[%10] 0.0f32
  g.7: f32 = nest [] { } store 2.0f32
  s.8: f32 = nest [] {
    %8 = g.7[]
    %9 = if true { %11 = neg %8 => %11 } else { => %8 }
  } store %9
  m.9: [n]f32 = nest [%12 < n] { %13 = x.0[%12]; %14 = y.3[%12]; %15 = mul %13 %14 } store %15
  c.10: [n]f32 = nest [%16 < n] {
    %17 = x.0[%16]
    %18 = scan inclusive [%19 = 0.0f32] [%20 = %17] { %21 = add %19 %20 => %21 }
    %22, %23 = scan exclusive [%24 = 1.0f32, %25 = 0] [] {
      %26 = mul %24 %18
      %27 = add %25 1
      => %26, %27
    }
  } store %22
  => (y.3, (i.4, z.6), ())
",
        "\
program empty()
  => ()
",
    ];

    #[test]
    fn what_is_printed_parses_to_the_same_program() {
        for text in SAMPLES {
            let p = parse(text).expect("it parses");
            let printed = print(&p);
            assert_eq!(printed, text);
            assert_eq!(parse(&printed), Ok(p), "{printed}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let error = |text: &str| parse(text).expect_err("it is wrong");
        assert_eq!(error("program f()\n  => x.0"), "line 2: `x.0` is used before it is bound");
        assert_eq!(
            error("program f(x.0: f64)\n y.1: f64 = nest [] { %0 = wibble %1 } store %0\n => y.1"),
            "line 2: `wibble` is no scalar function"
        );
        assert_eq!(error("program f(x.0: f65) => x.0"), "line 1: `f65` is no element type");
        let scan = "%1 = scan inclusive [%2 = 0.0f64] [] { => %2 }";
        let no_line = "line 1: a scan is a line of a nest's body, and not of a branch or a step";
        let branch = format!("%3 = if true {{ {scan} => %1 }} else {{ => 0.0f64 }}");
        let step = format!("%3 = scan inclusive [%4 = 0.0f64] [] {{ {scan} => %1 }}");
        for code in [branch, step] {
            assert_eq!(
                error(&format!("program f() s.0: [3]f64 = nest [%0 < 3] {{ {code} }} store %3 => s.0")),
                no_line
            );
        }
        assert_eq!(
            error("program f(x.9999999: f64) => x.9999999"),
            "line 1: the number of `x.9999999` is too large"
        );
        assert_eq!(error(&format!("program f() => {}", "(".repeat(5000))), "line 1: nested too deeply");
    }

    #[test]
    fn no_text_makes_it_panic() {
        for text in SAMPLES {
            let words: Vec<&str> = text.split_inclusive([' ', '\n', '[', '.']).collect();
            for i in 0..words.len() {
                let dropped: String = words[..i].iter().chain(&words[i + 1..]).copied().collect();
                let doubled: String =
                    words[..i].iter().chain(&words[i.saturating_sub(3)..]).copied().collect();
                for t in [dropped, doubled, words[..i].concat()] {
                    let _ = parse(&t);
                }
            }
        }
    }
}
