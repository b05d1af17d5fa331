//! Reads the text that `print` writes; see there for what it looks like. `//` starts a comment.
//!
//! In a text written by hand, places and unused variables may be left out: then every `Loc` is 0 and the table of
//! places has one entry for it; numbers that no variable has become unused variables. The parser only reads: whether
//! the function obeys the rules of Core is for the verifier to say.

mod constants;
mod derivative;
mod exp;
mod sequence;
mod tokens;

use std::rc::Rc;

use super::{Atom, Body, Function, MAX_DEPTH, Param, Rule, Stm, Type, Var, VarInfo};
use crate::dim::{Dim, SizeAtom};
use crate::ty::{Elem, Loc, Name, Place, Tree};
use constants::{number, word_constant};
use tokens::{Token, tokenize};

/// The largest number of a variable: a text cannot make the parser use up memory.
const MAX_ID: u32 = 1 << 20;

/// The function of a text, or what is wrong in which line.
pub fn parse(text: &str) -> Result<Function, String> {
    let tokens = tokenize(text)?;
    let mut p = Parser { tokens, at: 0, depth: 0, vars: Vec::new(), uses: Vec::new() };
    let f = p.function().map_err(|message| match message.strip_prefix('@') {
        Some(elsewhere) => elsewhere.into(),
        None => format!("line {}: {message}", p.line()),
    })?;
    match p.peek() {
        Some(_) => Err(format!("line {}: {}", p.line(), p.unexpected("the end of the text"))),
        None => Ok(f),
    }
}

type Parsed<T> = Result<T, String>;

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    vars: Vec<Option<VarInfo>>,
    /// Names, numbers and lines of the variables where they are used.
    uses: Vec<(String, u32, usize)>,
}

impl Parser {
    fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.1)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    /// Whether the next token, or the one after it, is this symbol or keyword.
    fn is(&self, ahead: usize, s: &str) -> bool {
        match self.tokens.get(self.at + ahead) {
            Some((Token::Symbol(t), _)) => *t == s,
            Some((Token::Word(t), _)) => t == s,
            _ => false,
        }
    }

    fn take(&mut self, s: &str) -> bool {
        let found = self.is(0, s);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, s: &str) -> Parsed<()> {
        if self.take(s) { Ok(()) } else { Err(self.unexpected(&format!("`{s}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> String {
        let found = match self.peek() {
            Some(Token::Word(w) | Token::Number(w)) => format!("`{w}`"),
            Some(Token::Quoted(w)) => format!("{w:?}"),
            Some(Token::Var(name, id)) => format!("`{name}.{id}`"),
            Some(Token::Symbol(s)) => format!("`{s}`"),
            None => "the end of the text".into(),
        };
        format!("expected {wanted}, found {found}")
    }

    /// A plain or quoted name.
    fn name(&mut self, wanted: &str) -> Parsed<Name> {
        let name = match self.peek() {
            Some(Token::Word(w) | Token::Quoted(w)) => Name::from(w.as_str()),
            _ => return Err(self.unexpected(wanted)),
        };
        self.at += 1;
        Ok(name)
    }

    /// A number without a suffix that fits.
    fn number<T: std::str::FromStr>(&mut self, wanted: &str) -> Parsed<T> {
        let number = match self.peek() {
            Some(Token::Number(w)) => w.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected(wanted))?;
        self.at += 1;
        Ok(number)
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

    /// `item, item ...`, at least one.
    fn some<T>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut out = vec![item(self)?];
        while self.take(",") {
            out.push(item(self)?);
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

    fn tree<T>(&mut self, leaf: &mut impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Tree<T>> {
        if self.take("(") {
            return self.nested(|p| Ok(Tree::Tuple(p.list(")", |p| p.tree(leaf))?)));
        }
        leaf(self).map(Tree::Leaf)
    }

    /// A variable's name and number, which gets a place in the table.
    fn variable(&mut self) -> Parsed<(String, Var)> {
        let Some(Token::Var(name, id)) = self.peek() else { return Err(self.unexpected("a variable")) };
        let (name, id) = (name.clone(), *id);
        if id > MAX_ID {
            return Err(format!("the number of `{name}.{id}` is too large"));
        }
        self.at += 1;
        let len = self.vars.len().max(id as usize + 1);
        self.vars.resize(len, None);
        Ok((name, Var(id)))
    }

    fn var(&mut self) -> Parsed<Var> {
        let line = self.line();
        let (name, var) = self.variable()?;
        self.uses.push((name, var.0, line));
        Ok(var)
    }

    /// `x.1: f64`.
    fn binding(&mut self) -> Parsed<Var> {
        let (name, var) = self.variable()?;
        self.expect(":")?;
        let ty = self.ty()?;
        self.vars[var.0 as usize] = Some(VarInfo { name: name.into(), ty });
        Ok(var)
    }

    fn ty(&mut self) -> Parsed<Type> {
        let dims = self.dims()?;
        let elem = match self.peek() {
            Some(Token::Word(w)) => Elem::from_printed(w),
            _ => None,
        };
        let elem = elem.ok_or_else(|| self.unexpected("a type"))?;
        self.at += 1;
        Ok(Type { elem, dims })
    }

    fn dims(&mut self) -> Parsed<Vec<Dim>> {
        let mut dims = Vec::new();
        while self.take("[") {
            dims.push(self.dim()?);
            self.expect("]")?;
        }
        Ok(dims)
    }

    /// `2 * n * m - k.3 + 1`.
    fn dim(&mut self) -> Parsed<Dim> {
        let mut sum = Dim::default();
        let mut minus = self.take("-");
        loop {
            let mut term = self.factor(minus)?;
            while self.take("*") {
                term = term.mul(&self.factor(false)?);
            }
            sum = sum.add(&term);
            minus = self.is(0, "-");
            if !minus && !self.is(0, "+") {
                return Ok(sum);
            }
            self.at += 1;
        }
    }

    fn factor(&mut self, minus: bool) -> Parsed<Dim> {
        let sign = if minus { -1 } else { 1 };
        Ok(match self.peek() {
            Some(Token::Number(_)) => {
                let size: i128 = self.number("a size")?;
                Dim::constant(
                    i64::try_from(sign * size).map_err(|_| format!("the size {size} is too large"))?,
                )
            }
            Some(Token::Var(..)) => Dim::atom(SizeAtom::Scalar(self.var()?.0)).scale(sign as i64),
            _ => Dim::name(self.name("a size")?).scale(sign as i64),
        })
    }

    fn loc(&mut self) -> Parsed<Loc> {
        if self.take("@") { self.number("a place").map(Loc) } else { Ok(Loc::default()) }
    }

    fn function(&mut self) -> Parsed<Function> {
        self.expect("fn")?;
        let name = self.name("the kernel's name")?;
        self.expect("(")?;
        let params = self.list(")", Self::param)?;
        self.expect("->")?;
        let (result, result_types) = self.results()?;
        let sizes = if self.take("sizes") { self.some(|p| p.name("a size"))? } else { Vec::new() };
        let body = self.body()?;
        if self.take("unused") {
            self.some(Self::binding)?;
        }
        let places = self.places(&name)?;
        let mut rules = Vec::new();
        while self.take("rule") {
            rules.push(Rc::new(self.nested(Self::rule)?));
        }
        let unknown = |id: usize| {
            let used = self.uses.iter().find(|(_, used, _)| *used as usize == id);
            VarInfo { name: used.map_or("unused", |u| &u.0).into(), ty: Type::scalar(Elem::I64) }
        };
        let vars = self
            .vars
            .iter()
            .enumerate()
            .map(|(id, v)| v.clone().unwrap_or_else(|| unknown(id)))
            .collect::<Vec<_>>();
        self.same_names(&vars)?;
        Ok(Function { name, sizes, params, vars, body, result, result_types, places, rules })
    }

    /// A variable has one name; an error says itself in which line it is.
    fn same_names(&self, vars: &[VarInfo]) -> Parsed<()> {
        for (name, id, line) in &self.uses {
            match &vars[*id as usize].name {
                bound if **bound == **name => {}
                bound => {
                    return Err(format!("@line {line}: `{name}.{id}` is called `{bound}` where it is bound"));
                }
            }
        }
        Ok(())
    }

    /// A function with variables of its own.
    fn rule(&mut self) -> Parsed<Rule> {
        self.expect("of")?;
        let by = self.some(|p| p.number("the number of an argument"))?;
        let routine = match self.take("by") {
            true => Some(self.routine()?),
            false => None,
        };
        self.expect("{")?;
        let outside = (std::mem::take(&mut self.vars), std::mem::take(&mut self.uses));
        let function = self.function()?;
        (self.vars, self.uses) = outside;
        self.expect("}")?;
        Ok(Rule { by, function, routine })
    }

    fn param(&mut self) -> Parsed<Param> {
        let active = self.is(1, "=") || !self.take("no_grad");
        let (name, vars) = if matches!(self.peek(), Some(Token::Var(..))) {
            let var = self.binding()?;
            (self.vars[var.0 as usize].as_ref().map_or("".into(), |i| i.name.clone()), Tree::Leaf(var))
        } else {
            let name = self.name("a parameter")?;
            self.expect("=")?;
            (name, self.tree(&mut Self::binding)?)
        };
        Ok(Param { name, vars, active, loc: self.loc()? })
    }

    fn results(&mut self) -> Parsed<(Tree<usize>, Vec<Type>)> {
        let mut types = Vec::new();
        if self.take("types") {
            if !self.is(0, "as") {
                types = self.some(Self::ty)?;
            }
            self.expect("as")?;
            return Ok((self.tree(&mut |p: &mut Self| p.number("the number of a result"))?, types));
        }
        let tree = self.tree(&mut |p: &mut Self| {
            types.push(p.ty()?);
            Ok(types.len() - 1)
        })?;
        Ok((tree, types))
    }

    fn places(&mut self, kernel: &Name) -> Parsed<Vec<Place>> {
        if !self.take("places") {
            return Ok(vec![Place { kernel: kernel.clone(), file: "".into(), line: 0, column: 0 }]);
        }
        let mut out = Vec::new();
        // A kernel may be called `rule`.
        while matches!(self.tokens.get(self.at + 1), Some((Token::Quoted(_), _))) {
            out.push(Place {
                kernel: self.name("a kernel's name")?,
                file: self.name("a file's path")?,
                line: self.number("a line")?,
                column: self.number("a column")?,
            });
        }
        Ok(out)
    }

    /// Statements, `=>` and the results.
    fn body(&mut self) -> Parsed<Body> {
        let mut stms = Vec::new();
        while !self.take("=>") {
            stms.push(self.nested(Self::stm)?);
        }
        let results = if self.is_atom() { self.some(Self::atom)? } else { Vec::new() };
        Ok(Body { stms, results })
    }

    /// `{`, a body, `}`.
    fn block(&mut self) -> Parsed<Body> {
        self.expect("{")?;
        let body = self.body()?;
        self.expect("}")?;
        Ok(body)
    }

    fn stm(&mut self) -> Parsed<Stm> {
        let vars = match self.peek() {
            Some(Token::Var(..)) => self.some(Self::binding)?,
            _ => Vec::new(),
        };
        if !(vars.is_empty() && self.is(0, "check")) {
            self.expect("=")?;
        }
        let exp = self.exp()?;
        Ok(Stm { vars, exp, loc: self.loc()? })
    }

    fn is_atom(&self) -> bool {
        match self.peek() {
            Some(Token::Var(..) | Token::Number(_) | Token::Symbol("-")) => true,
            Some(Token::Word(w)) => word_constant(w, false).is_some(),
            _ => false,
        }
    }

    fn atom(&mut self) -> Parsed<Atom> {
        if let Some(Token::Var(..)) = self.peek() {
            return self.var().map(Atom::Var);
        }
        let start = self.at;
        let minus = self.take("-");
        let constant = match self.peek() {
            Some(Token::Number(w)) => number(w, minus),
            Some(Token::Word(w)) => word_constant(w, minus),
            _ => None,
        };
        let Some(constant) = constant else {
            self.at = start;
            return Err(self.unexpected("a variable or a constant"));
        };
        self.at += 1;
        Ok(Atom::Const(constant))
    }
}

#[cfg(test)]
mod tests;
