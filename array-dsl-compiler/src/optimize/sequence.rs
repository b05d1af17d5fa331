//! What a pass works on: the statements of a program, or those of a loop's body.

use crate::affine::Checked;
use crate::bulk::{ArrayId, Program, Repeat, Stm};

use super::Run;

/// A list of statements.
pub struct Sequence {
    /// The statements, in order.
    pub stms: Vec<Stm>,
    /// What is used after them: the program's results, or the next states of a loop.
    pub results: Vec<ArrayId>,
    /// What is established before them.
    pub(crate) known: Checked,
}

impl Sequence {
    /// Runs a pass on all sequences of a program, from the outside in. While it runs the program has no statements: it is where
    /// types and new names are, and what a pass adds to it comes out as the pass says.
    pub fn run(p: &mut Program, mut pass: impl FnMut(&mut Sequence, &mut Program)) {
        let results = p.result.leaves().into_iter().copied().collect();
        let mut all = Sequence { stms: std::mem::take(&mut p.stms), results, known: Checked::default() };
        all.pass(p, &mut pass);
        p.stms = all.stms;
        let mut results = all.results.into_iter();
        p.result = p.result.map(&mut |_| results.next().expect("a pass drops no result"));
        assert!(results.next().is_none(), "a pass adds no result");
    }

    /// Runs a pass that relies on nothing before on the sequences of a loop.
    pub(super) fn run_within(r: &mut Repeat, p: &mut Program, pass: Run) {
        body(r, Checked::default(), p, &mut |seq, p| pass(seq, p));
    }

    fn pass(&mut self, p: &mut Program, pass: &mut dyn FnMut(&mut Sequence, &mut Program)) {
        pass(self, p);
        let mut known = self.known.clone();
        for s in &mut self.stms {
            let inside = if let Stm::Repeat(r) = s { Some(known.inside_repeat(r, p)) } else { None };
            known.statement(s, p);
            if let (Stm::Repeat(r), Some(inside)) = (s, inside) {
                body(r, inside, p, pass);
            }
        }
    }
}

fn body(r: &mut Repeat, known: Checked, p: &mut Program, pass: &mut dyn FnMut(&mut Sequence, &mut Program)) {
    let results = r.carried.iter().map(|c| c.next).collect();
    let mut body = Sequence { stms: std::mem::take(&mut r.body), results, known };
    body.pass(p, pass);
    r.body = body.stms;
    assert_eq!(body.results.len(), r.carried.len(), "a pass keeps the next states of a loop");
    for (c, next) in r.carried.iter_mut().zip(body.results) {
        c.next = next;
    }
}
