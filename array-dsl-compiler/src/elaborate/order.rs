//! In which order a product of several arrays is summed: two at a time.
//!
//! ```text
//! one step     c[C] = sum over (A | B) - C of a[A] * b[B]      A, B, C: sets of letters
//!              C = the letters of A | B that the result or an operand not yet in c has
//! cost         size(A | B) + size(C)                           products of the letters' sizes: points, elements made
//! ```
//!
//! Over sets of operands, the cheapest way is that of the cheapest split in two: dynamic programming over subsets, `3^k` splits
//! for `k` operands. Sizes that only the running program knows count as [`TYPICAL`], so that the order depends on the
//! subscripts and the constant sizes alone. Ties go to the order from left to right.

use rustc_hash::FxHashMap;

use crate::internal::expect;

/// More operands are not tried in every order.
pub(super) const MAX_OPERANDS: usize = 12;

/// What a size counts that is no constant: large beside typical constants, like the 3 of a point in space.
pub(super) const TYPICAL: f64 = 256.0;

/// A set of letters, or of operands: a bit for each.
type Set = u64;

/// How a product is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The operand of that number.
    Operand(usize),
    /// The sum of products of two, which leaves these letters.
    Pair(Box<Order>, Box<Order>, Vec<char>),
}

/// The cheapest order for at most [`MAX_OPERANDS`] operands, at least one, none of which has a letter twice. `size` tells
/// what a letter's size counts.
pub(super) fn cheapest(operands: &[Vec<char>], output: &[char], size: &dyn Fn(char) -> f64) -> Order {
    let mut letters: Vec<char> = operands.concat();
    letters.sort_unstable();
    letters.dedup();
    let set =
        |cs: &[char]| (0..letters.len()).filter(|i| cs.contains(&letters[*i])).fold(0, |s, i| s | 1 << i);
    let sets: Vec<Set> = operands.iter().map(|o| set(o)).collect();
    let sizes: Vec<f64> = letters.iter().map(|c| size(*c)).collect();
    let mut search = Search { sets, output: set(output), sizes, best: FxHashMap::default() };
    let all = (1 << operands.len()) - 1;
    search.cost(all);
    search.order(all, operands, &letters)
}

struct Search {
    sets: Vec<Set>,
    output: Set,
    sizes: Vec<f64>,
    /// For sets of two operands or more: the cost, and one side of the cheapest split.
    best: FxHashMap<Set, (f64, Set)>,
}

impl Search {
    fn union(&self, operands: Set) -> Set {
        (0..self.sets.len()).filter(|i| operands >> i & 1 == 1).fold(0, |s, i| s | self.sets[i])
    }

    /// The letters that the product of these operands keeps.
    fn remaining(&self, operands: Set) -> Set {
        let others = !operands & ((1 << self.sets.len()) - 1);
        self.union(operands) & (self.output | self.union(others))
    }

    fn size(&self, letters: Set) -> f64 {
        (0..self.sizes.len()).filter(|i| letters >> i & 1 == 1).map(|i| self.sizes[i]).product()
    }

    /// The cost of the product of these operands.
    fn cost(&mut self, operands: Set) -> f64 {
        if operands.count_ones() < 2 {
            return 0.0;
        }
        if let Some((cost, _)) = self.best.get(&operands) {
            return *cost;
        }
        // From left to right: the last operand comes last.
        let last = 1 << operands.ilog2();
        let mut best = (f64::INFINITY, operands ^ last);
        let first = operands & operands.wrapping_neg();
        let rest = operands ^ first;
        let mut others = 0;
        // The sets with the first operand, but without all others: its company counts upwards through the subsets.
        let mut sides = vec![operands ^ last];
        while others != rest {
            sides.push(first | others);
            others = (others.wrapping_sub(rest)) & rest;
        }
        for side in sides {
            let other = operands ^ side;
            let step =
                self.size(self.remaining(side) | self.remaining(other)) + self.size(self.remaining(operands));
            let cost = self.cost(side) + self.cost(other) + step;
            if cost < best.0 {
                best = (cost, side);
            }
        }
        self.best.insert(operands, best);
        best.0
    }

    fn order(&self, operands: Set, terms: &[Vec<char>], letters: &[char]) -> Order {
        let Some((_, side)) = self.best.get(&operands) else {
            return Order::Operand(operands.trailing_zeros() as usize);
        };
        let kept = self.remaining(operands);
        // In the order in which the operands have them.
        let mut left: Vec<char> = Vec::new();
        for c in (0..terms.len()).filter(|i| operands >> i & 1 == 1).flat_map(|i| &terms[i]) {
            let at = expect(letters.iter().position(|l| l == c), || {
                format!("the letter `{c}` is none of the operands")
            });
            if kept >> at & 1 == 1 && !left.contains(c) {
                left.push(*c);
            }
        }
        let [a, b] = [*side, operands ^ side].map(|s| Box::new(self.order(s, terms, letters)));
        Order::Pair(a, b, left)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_OPERANDS, Order, TYPICAL, cheapest};

    fn shown(o: &Order) -> String {
        match o {
            Order::Operand(i) => i.to_string(),
            Order::Pair(a, b, left) => {
                format!("({} {}){}", shown(a), shown(b), left.iter().collect::<String>())
            }
        }
    }

    fn order(subscripts: &str, size: &dyn Fn(char) -> f64) -> String {
        let (terms, output) = subscripts.split_once("->").expect("there is a result");
        let terms: Vec<Vec<char>> = terms.split(',').map(|t| t.chars().collect()).collect();
        shown(&cheapest(&terms, &output.chars().collect::<Vec<_>>(), size))
    }

    #[test]
    fn orders_without_known_sizes() {
        for (subscripts, expected) in [
            ("ij->ij", "0"),
            ("ij,jk->ik", "(0 1)ik"),
            // A vector with a matrix, never two vectors or two matrices.
            ("i,ij,j->", "((0 1)j 2)"),
            ("i,j,ij->", "(0 (1 2)i)"),
            ("ij,jk,k->i", "(0 (1 2)j)i"),
            ("i,ij,jk->k", "((0 1)j 2)k"),
            // Equal costs: from left to right.
            ("ij,jk,kl->il", "((0 1)ik 2)il"),
            ("i,i,i->i", "((0 1)i 2)i"),
            // Neighbors that share no letter do not meet first.
            ("ij,kl,jk->il", "(0 (1 2)lj)il"),
            // Weights go to a factor before the matrices meet.
            ("ij,ik,i->jk", "(0 (1 2)ik)jk"),
            ("ij,ik,il->jkl", "((0 1)ijk 2)jkl"),
        ] {
            assert_eq!(order(subscripts, &|_| TYPICAL), expected, "{subscripts}");
        }
    }

    #[test]
    fn constant_sizes_decide() {
        // 10 x 100, 100 x 5, 5 x 50 and the other way around.
        let chain = |sizes: [f64; 4]| move |c: char| sizes[(c as u8 - b'i') as usize];
        assert_eq!(order("ij,jk,kl->il", &chain([10.0, 100.0, 5.0, 50.0])), "((0 1)ik 2)il");
        assert_eq!(order("ij,jk,kl->il", &chain([50.0, 5.0, 100.0, 10.0])), "(0 (1 2)jl)il");
        assert_eq!(order("ij,jk,kl->il", &chain([TYPICAL, 3.0, TYPICAL, 1.0])), "(0 (1 2)jl)il");
    }

    #[test]
    fn as_cheap_as_every_order_tried() {
        // All trees over a ring of matrices, each step's cost counted anew.
        fn every(terms: &[String], output: &str, size: &dyn Fn(char) -> f64) -> f64 {
            let mut best = if terms.len() == 1 { 0.0 } else { f64::INFINITY };
            for i in 0..terms.len() {
                for j in 0..i {
                    let rest: Vec<String> =
                        (0..terms.len()).filter(|k| *k != i && *k != j).map(|k| terms[k].clone()).collect();
                    let mut union: Vec<char> = terms[i].chars().chain(terms[j].chars()).collect();
                    union.sort_unstable();
                    union.dedup();
                    let used = |c: &char| output.contains(*c) || rest.iter().any(|t| t.contains(*c));
                    let left: String = union.iter().filter(|c| used(c)).collect();
                    let step = union.iter().map(|c| size(*c)).product::<f64>()
                        + left.chars().map(size).product::<f64>();
                    let next = [rest, vec![left]].concat();
                    best = best.min(step + every(&next, output, size));
                }
            }
            best
        }
        let size = |c: char| f64::from((c as u32 * 7919) % 13 + 2);
        for subscripts in ["ab,bc,cd,de->ae", "ab,bc,cd,da->", "abc,cd,be,def->af", "a,ab,abc,c,b->"] {
            let (terms, output) = subscripts.split_once("->").expect("there is a result");
            let texts: Vec<String> = terms.split(',').map(String::from).collect();
            let terms: Vec<Vec<char>> = texts.iter().map(|t| t.chars().collect()).collect();
            let output_letters: Vec<char> = output.chars().collect();
            fn cost(o: &Order, terms: &[Vec<char>], size: &dyn Fn(char) -> f64) -> (f64, Vec<char>) {
                match o {
                    Order::Operand(i) => (0.0, terms[*i].clone()),
                    Order::Pair(a, b, left) => {
                        let ((ca, a), (cb, b)) = (cost(a, terms, size), cost(b, terms, size));
                        let mut union = [a, b].concat();
                        union.sort_unstable();
                        union.dedup();
                        let points = |cs: &[char]| cs.iter().map(|c| size(*c)).product::<f64>();
                        (ca + cb + points(&union) + points(left), left.clone())
                    }
                }
            }
            let found = cost(&cheapest(&terms, &output_letters, &size), &terms, &size).0;
            assert_eq!(found, every(&texts, output, &size), "{subscripts}");
        }
    }

    #[test]
    fn many_operands() {
        let letters: Vec<char> = ('a'..='z').collect();
        let chain: Vec<Vec<char>> = (0..MAX_OPERANDS).map(|i| letters[i..i + 2].to_vec()).collect();
        // With a vector at its end, the chain is best begun there.
        let output = [letters[0]];
        let mut order = cheapest(&chain, &output, &|_| TYPICAL);
        let mut depth = 0;
        while let Order::Pair(a, b, _) = order {
            assert_eq!(*a, Order::Operand(depth));
            depth += 1;
            order = *b;
        }
        assert_eq!(depth, MAX_OPERANDS - 1);
    }
}
