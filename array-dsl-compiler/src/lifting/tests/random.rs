//! Random terms: what is promised of elaborations.

use std::rc::Rc;

use proptest::prelude::*;

use super::super::generate::Constraints;
use super::super::meaning::normal_form;
use super::super::skeleton::split;
use super::super::*;
use super::brute::agree;
use super::environment;
use super::notation::lambda;

fn leaf() -> impl Strategy<Value = Term> {
    prop_oneof![
        Just(Term::variable("xs")),
        Just(Term::variable("ys")),
        Just(Term::variable("xss")),
        Just(Term::variable("yss")),
        Just(Term::variable("s")),
        Just(Term::Literal(Name::from("1"), Type::base("int"))),
    ]
}

/// Terms of a few applications, most of which have a type.
fn terms(applications: u32) -> impl Strategy<Value = Term> {
    leaf().prop_recursive(applications, applications, 2, |inner| {
        let unary = prop_oneof![
            Just("sqrt"),
            Just("sum"),
            Just("length"),
            Just("reverse"),
            Just("transpose"),
            Just("indices"),
            Just("id")
        ];
        let binary = prop_oneof![Just("+"), Just("*"), Just("dist2")];
        prop_oneof![
            3 => (unary.clone(), inner.clone()).prop_map(|(f, a)| Term::variable(f).apply([a])),
            3 => (binary, inner.clone(), inner.clone()).prop_map(|(f, a, b)| Term::variable(f).apply([a, b])),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| {
                lambda(&["a"], Term::variable("+").apply([Term::variable("a"), b])).apply([a])
            }),
            1 => (unary, inner.clone()).prop_map(|(f, a)| Term::variable(f).mapped(a)),
            1 => inner.clone().prop_map(|a| {
                Term::variable("reduce").apply([Term::variable("+"), Term::variable("s"), a])
            }),
            1 => inner.prop_map(Term::rep),
        ]
    })
}

/// The term with one map written that was inserted, for each that was inserted once.
fn with_one_map(e: &Elaboration) -> Vec<Term> {
    let one = |part: &Rc<Elaboration>, whole: &dyn Fn(Term) -> Term| -> Vec<Term> {
        with_one_map(part).into_iter().map(whole).collect()
    };
    match e {
        Elaboration::Variable(_) | Elaboration::Literal(..) => Vec::new(),
        Elaboration::Lambda(x, t, body) => one(body, &|b| Term::Lambda(x.clone(), t.clone(), Rc::new(b))),
        Elaboration::Apply { function, argument, maps, .. } => {
            let mut all = one(function, &|f| f.apply([argument.source()]));
            all.extend(one(argument, &|a| function.source().apply([a])));
            if *maps == 1 {
                all.push(function.source().mapped(argument.source()));
            }
            all
        }
        Elaboration::Map(f, a) => {
            let mut all = one(f, &|f| f.mapped(a.source()));
            all.extend(one(a, &|a| f.source().mapped(a)));
            all
        }
        Elaboration::Rep(e) => one(e, &Term::rep),
        Elaboration::Let(x, value, body) => {
            let name = |v: Term, b: Term| Term::Let(x.clone(), Rc::new(v), Rc::new(b));
            let mut all = one(value, &|v| name(v, body.source()));
            all.extend(one(body, &|b| name(value.source(), b)));
            all
        }
        Elaboration::Array(_) => Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// What is written out needs no insertion, and means and is the same.
    #[test]
    fn elaborations_can_be_written_out(e in terms(6)) {
        let names = environment();
        let found = match lift(&e, &names) {
            Ok(lifted) => vec![(lifted.elaboration, Some(lifted.ty))],
            Err(Error::Ambiguous { elaborations, .. }) => {
                elaborations.into_iter().map(|e| (e, None)).collect()
            }
            Err(_) => Vec::new(),
        };
        for (elaboration, ty) in found {
            let again = match lift(&elaboration.explicit(), &names) {
                Ok(again) => again,
                Err(error) => return Err(TestCaseError::fail(format!("{elaboration}: {error}"))),
            };
            prop_assert_eq!(again.cost, 0);
            prop_assert_eq!(normal_form(&again.elaboration), normal_form(&elaboration));
            if let Some(ty) = ty {
                prop_assert_eq!(again.ty.to_string(), ty.to_string());
            }
        }
    }

    /// A map that was inserted may be written, and so one that is written may be left out where it is restored.
    #[test]
    fn a_written_map_changes_nothing(e in terms(6)) {
        let names = environment();
        if let Ok(lifted) = lift(&e, &names) {
            for written in with_one_map(&lifted.elaboration) {
                let again = match lift(&written, &names) {
                    Ok(again) => again,
                    Err(error) => return Err(TestCaseError::fail(format!("{written:?}: {error}"))),
                };
                prop_assert_eq!(again.cost + 1, lifted.cost);
                prop_assert_eq!(normal_form(&again.elaboration), normal_form(&lifted.elaboration));
            }
        }
    }

    /// Every minimum is found, and no other.
    #[test]
    fn the_minima_of_terms_are_those_that_trying_finds(e in terms(3)) {
        let mut constraints = Constraints::default();
        if constraints.term(&e, &environment()).is_ok()
            && let Ok((system, _)) = split(&mut constraints)
            && system.frames.len() <= 4
        {
            agree(&system, 4)?;
        }
    }

    /// The same question has the same answer.
    #[test]
    fn answers_are_the_same_every_time(e in terms(5)) {
        let show = |e: &Term| match lift(e, &environment()) {
            Ok(l) => l.elaboration.to_string(),
            Err(error) => error.to_string(),
        };
        prop_assert_eq!(show(&e), show(&e));
    }
}
