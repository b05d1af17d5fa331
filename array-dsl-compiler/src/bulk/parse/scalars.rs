//! Dimensions, constants and scalar code.

use super::{MAX_ID, Parsed, Parser, Token, array_id};
use crate::bulk::{Atom, Block, Body, Branch, Exp, Item, Let, Prefix, Scan, Var};
use crate::dim::{Dim, SizeAtom};
use crate::scalar::Op;
use crate::ty::{Const, Elem, Loc, Name};

impl Parser {
    pub(super) fn dim(&mut self) -> Parsed<Dim> {
        let mut sum = Dim::default();
        let mut sign = if self.take("-") { -1 } else { 1 };
        loop {
            let mut term = Dim::constant(sign);
            loop {
                term = term.mul(&self.factor()?);
                if !self.take("*") {
                    break;
                }
            }
            sum = sum.add(&term);
            if self.take("+") {
                sign = 1;
            } else if self.take("-") {
                sign = -1;
            } else {
                return Ok(sum);
            }
        }
    }

    pub(super) fn factor(&mut self) -> Parsed<Dim> {
        let word = self.word("a size")?;
        if word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('.') {
            let number: u64 = word.parse().map_err(|_| format!("`{word}` is no number"))?;
            return Ok(Dim::constant(number as i64));
        }
        if array_id(&word).is_some() {
            self.at -= 1;
            return Ok(Dim::atom(SizeAtom::Scalar(self.array()?.0)));
        }
        Ok(Dim::name(word))
    }

    pub(super) fn new_var(&mut self, id: u32, elem: Option<Elem>) -> Parsed<Var> {
        if id > MAX_ID {
            return Err(format!("the number of `%{id}` is too large"));
        }
        if self.vars.len() <= id as usize {
            self.vars.resize(id as usize + 1, None);
        }
        self.vars[id as usize] = elem;
        Ok(Var(id))
    }

    pub(super) fn var(&mut self) -> Parsed<u32> {
        match self.peek() {
            Some(Token::Var(id)) => {
                let id = *id;
                self.at += 1;
                Ok(id)
            }
            _ => Err(self.unexpected("a scalar")),
        }
    }

    pub(super) fn atom(&mut self) -> Parsed<Atom> {
        if !matches!(self.peek(), Some(Token::Var(_))) {
            return self.constant().map(Atom::Const);
        }
        let id = self.var()?;
        match self.vars.get(id as usize) {
            Some(Some(_)) => Ok(Atom::Var(Var(id))),
            _ => Err(format!("`%{id}` is used before it is bound")),
        }
    }

    pub(super) fn elem(&self, a: Atom) -> Elem {
        match a {
            Atom::Var(v) => self.vars.get(v.0 as usize).copied().flatten().unwrap_or(Elem::Bool),
            Atom::Const(c) => c.elem,
        }
    }

    pub(super) fn constant(&mut self) -> Parsed<Const> {
        let minus = self.take("-");
        let word = self.word("a scalar or a constant")?;
        if let Some(value) = word.parse().ok().filter(|_| !minus) {
            return Ok(Const::bool(value));
        }
        let bad = || format!("`{word}` is no constant");
        let signed = |digits: &str| if minus { format!("-{digits}") } else { digits.to_string() };
        for elem in [Elem::F32, Elem::F64] {
            let Some(digits) = word.strip_suffix(elem.name()) else { continue };
            let digits = signed(digits.trim_end_matches('_'));
            let value = match elem {
                Elem::F32 => digits.parse::<f32>().map(f64::from),
                _ => digits.parse::<f64>(),
            };
            return value.map(|v| Const::float(elem, v)).map_err(|_| bad());
        }
        let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let elem = if end == word.len() { Some(Elem::I64) } else { Elem::from_name(&word[end..]) };
        let elem = elem.filter(|e| e.is_int()).ok_or_else(bad)?;
        signed(&word[..end]).parse::<i64>().map(|v| Const::int(elem, v)).map_err(|_| bad())
    }

    /// The code of a nest, up to `}`, which is left.
    pub(super) fn body(&mut self) -> Parsed<Body> {
        let mut items = Vec::new();
        while !self.is_symbol("}") {
            items.push(self.item()?);
            while self.take(";") {}
        }
        Ok(Body { items })
    }

    fn item(&mut self) -> Parsed<Item> {
        let ids = self.list("=", Self::var)?;
        if self.take("scan") { self.scan(&ids).map(Item::Scan) } else { self.scalar_let(&ids).map(Item::Let) }
    }

    /// Lets up to `}` or `=>`, which is left.
    pub(super) fn block(&mut self) -> Parsed<Block> {
        let mut lets = Vec::new();
        while !self.is_symbol("}") && !self.is_symbol("=>") {
            let ids = self.list("=", Self::var)?;
            if self.take("scan") {
                return Err("a scan is a line of a nest's body, and not of a branch or a step".into());
            }
            lets.push(self.scalar_let(&ids)?);
            while self.take(";") {}
        }
        Ok(Block { lets })
    }

    /// What is bound to these scalars.
    fn scalar_let(&mut self, ids: &[u32]) -> Parsed<Let> {
        let (exp, types) = self.nested(Self::exp)?;
        let vars = self.bind_all(ids, types)?;
        Ok(Let { vars, exp, loc: Loc(0) })
    }

    /// Scalars of these types.
    fn bind_all(&mut self, ids: &[u32], types: Vec<Elem>) -> Parsed<Vec<Var>> {
        if types.len() != ids.len() {
            return Err(format!("{} scalars are bound to {} values", ids.len(), types.len()));
        }
        ids.iter().zip(types).map(|(&id, t)| self.new_var(id, Some(t))).collect()
    }

    /// An expression and the types of its values.
    pub(super) fn exp(&mut self) -> Parsed<(Exp, Vec<Elem>)> {
        if self.take("if") {
            let condition = self.atom()?;
            let yes = self.branch()?;
            self.expect("else")?;
            let no = self.branch()?;
            let types = yes.results.iter().map(|a| self.elem(*a)).collect();
            return Ok((Exp::If(condition, yes, no), types));
        }
        if self.take("size") {
            return Ok((Exp::Size(self.dim()?), vec![Elem::I64]));
        }
        if self.take("inside") {
            let of: Name = self.word("an array's name")?.into();
            let index = self.index()?;
            self.expect("of")?;
            self.expect("[")?;
            let dims = self.list("]", Self::dim)?;
            return Ok((Exp::Inside { of, index, dims }, vec![Elem::Bool]));
        }
        if self.take("stop_gradient") {
            let a = self.atom()?;
            return Ok((Exp::StopGradient(a), vec![self.elem(a)]));
        }
        let word = self.word("an expression")?;
        if array_id(&word).is_some() {
            self.at -= 1;
            let array = self.array()?;
            let index = self.index()?;
            let elem =
                self.arrays.get(array.0 as usize).and_then(|i| i.as_ref()).map_or(Elem::Bool, |i| i.elem);
            return Ok((Exp::Read { array, index, checked: self.take("?") }, vec![elem]));
        }
        let op = Op::from_name(&word).ok_or_else(|| format!("`{word}` is no scalar function"))?;
        let args = (0..op.arity()).map(|_| self.atom()).collect::<Parsed<Vec<_>>>()?;
        let types: Vec<Elem> = args.iter().map(|a| self.elem(*a)).collect();
        Ok((Exp::Op(op, args), vec![op.result(&types)]))
    }

    /// The rest of a scan that binds these scalars.
    fn scan(&mut self, ids: &[u32]) -> Parsed<Scan> {
        let prefix = if self.take("exclusive") {
            Prefix::Exclusive
        } else {
            self.expect("inclusive")?;
            Prefix::Inclusive
        };
        let mut bindings = || {
            self.expect("[")?;
            self.list("]", |p| {
                let id = p.var()?;
                p.expect("=")?;
                Ok((id, p.atom()?))
            })
        };
        let (states, values) = (bindings()?, bindings()?);
        let mut bind = |list: Vec<(u32, Atom)>| -> Parsed<(Vec<Var>, Vec<Atom>)> {
            let vars: Vec<Var> =
                list.iter().map(|(id, a)| self.new_var(*id, Some(self.elem(*a)))).collect::<Parsed<_>>()?;
            Ok((vars, list.into_iter().map(|(_, a)| a).collect()))
        };
        let (left, start) = bind(states)?;
        let (right, values) = bind(values)?;
        let types = start.iter().map(|a| self.elem(*a)).collect();
        let step = self.branch()?;
        let vars = self.bind_all(ids, types)?;
        Ok(Scan { vars, prefix, left, start, right, values, step, loc: Loc(0) })
    }

    pub(super) fn branch(&mut self) -> Parsed<Branch> {
        self.expect("{")?;
        let block = self.block()?;
        self.expect("=>")?;
        let results = self.list("}", Self::atom)?;
        Ok(Branch { block, results })
    }
}
