//! Programs as the compiler writes them: texts, which are read when a kernel first runs on a GPU. As constants they took rustc longer
//! than everything else about a kernel.
//!
//! What stands in a text is what stands in [`GpuProgram`] and the types in it, field by field, between blanks or ends of lines:
//!
//! | value | is |
//! |---|---|
//! | a number, `true`, `false` | itself |
//! | a text | the number of its bytes, a colon, and they |
//! | a list | how many it has, and each |
//! | what may be missing | `none`, or `some` and it |
//! | one of several | its name in small letters, and what belongs to it |
//! | a polynomial | `2*0*1+-1*2`: twice atom 0 times atom 1, less atom 2 |
//! | the text of a shader | its number among the shaders |
//!
//! Some fields have their names before them, for people who read it. What is read is leaked: a program lives as long as the process,
//! as the text does, and is read once.

use std::str::FromStr;
use std::sync::OnceLock;

use crate::error::Error;
use crate::program::{
    Access, Carried, Check, CheckKind, Elem, GpuArrayInfo, GpuHome, GpuProgram, GpuStep, Need, Poly, Private,
    Promise, Shader, Site, Sorted, Trips, Word,
};

/// A program, and the same as data once it has been read.
#[derive(Debug)]
pub struct Written {
    text: &'static str,
    shaders: &'static [&'static str],
    /// Whether loops that count their trips end.
    ends: bool,
    read: OnceLock<Option<GpuProgram>>,
}

impl Written {
    /// A program and the texts of its shaders.
    pub const fn new(text: &'static str, shaders: &'static [&'static str]) -> Written {
        Written { text, shaders, ends: false, read: OnceLock::new() }
    }

    /// The same, of texts that the compiler has made.
    ///
    /// # Safety
    /// Every `for` in a shader that has no other loops ends: it counts up to a number that does not change. A driver may take for
    /// granted that it does.
    pub const unsafe fn trusted(text: &'static str, shaders: &'static [&'static str]) -> Written {
        Written { text, shaders, ends: true, read: OnceLock::new() }
    }

    /// The program.
    ///
    /// # Errors
    /// [`Error::Internal`] if the text is none.
    pub fn read(&'static self) -> Result<&'static GpuProgram, Error> {
        let read = || {
            let mut r = Reader { rest: self.text, shaders: self.shaders, ends: self.ends };
            r.program().filter(|_| r.rest.trim().is_empty())
        };
        let broken = || Error::Internal {
            kernel: Reader { rest: self.text, shaders: &[], ends: false }.text().unwrap_or(""),
            message: "its program for GPUs cannot be read".into(),
        };
        self.read.get_or_init(read).as_ref().ok_or_else(broken)
    }
}

/// What has not been read yet.
struct Reader {
    rest: &'static str,
    shaders: &'static [&'static str],
    ends: bool,
}

impl Reader {
    fn word(&mut self) -> Option<&'static str> {
        let rest = self.rest.trim_ascii_start();
        let end = rest.find([' ', '\n']).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.word()?.parse().ok()
    }

    /// The name of a field.
    fn named(&mut self, name: &str) -> Option<()> {
        (self.word()? == name).then_some(())
    }

    fn text(&mut self) -> Option<&'static str> {
        let (length, rest) = self.rest.trim_ascii_start().split_once(':')?;
        let (text, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.rest = rest;
        Some(text)
    }

    fn list<T>(&mut self, mut one: impl FnMut(&mut Reader) -> Option<T>) -> Option<&'static [T]> {
        let length: usize = self.number()?;
        let list: Vec<T> = (0..length).map(|_| one(self)).collect::<Option<_>>()?;
        Some(list.leak())
    }

    fn option<T>(&mut self, one: impl FnOnce(&mut Reader) -> Option<T>) -> Option<Option<T>> {
        match self.word()? {
            "none" => Some(None),
            "some" => one(self).map(Some),
            _ => None,
        }
    }

    fn poly(&mut self) -> Option<Poly> {
        let term = |text: &str| -> Option<(i64, &'static [u16])> {
            let mut factors = text.split('*');
            let c = factors.next()?.parse().ok()?;
            let atoms: Vec<u16> = factors.map(|a| a.parse().ok()).collect::<Option<_>>()?;
            Some((c, atoms.leak()))
        };
        let terms: Vec<_> = self.word()?.split('+').map(term).collect::<Option<_>>()?;
        Some(Poly(terms.leak()))
    }

    fn polys(&mut self) -> Option<&'static [Poly]> {
        self.list(Reader::poly)
    }

    fn described(&mut self) -> Option<(Poly, &'static str)> {
        Some((self.poly()?, self.text()?))
    }

    fn site(&mut self) -> Option<Site> {
        Some(Site { kernel: self.text()?, file: self.text()?, line: self.number()? })
    }

    fn program(&mut self) -> Option<GpuProgram> {
        Some(GpuProgram {
            name: self.text()?,
            arrays: self.list(Reader::array)?,
            inputs: self.list(Reader::number)?,
            results: self.list(Reader::number)?,
            steps: self.list(Reader::step)?,
            sites: self.list(Reader::site)?,
        })
    }

    fn array(&mut self) -> Option<GpuArrayInfo> {
        let name = self.text()?;
        let elem = match self.word()? {
            "f32" => Elem::F32,
            "f64" => Elem::F64,
            "i32" => Elem::I32,
            "i64" => Elem::I64,
            "u32" => Elem::U32,
            "bool" => Elem::Bool,
            _ => return None,
        };
        let dims = self.polys()?;
        let home = match self.word()? {
            "input" => GpuHome::Input,
            "host" => GpuHome::HostScalar,
            "heap" => GpuHome::Heap,
            "view" => GpuHome::View(self.number()?),
            "nowhere" => GpuHome::Nowhere,
            _ => return None,
        };
        Some(GpuArrayInfo { name, elem, dims, home })
    }

    fn shader(&mut self) -> Option<Shader> {
        let label = self.text()?;
        let wgsl = self.shaders.get(self.number::<usize>()?)?;
        let words = self.list(|r| {
            Some(match r.word()? {
                "size" => Word::Size(r.poly()?),
                "long" => Word::Long(r.poly()?),
                "long-high" => Word::LongHigh(r.poly()?),
                "scalar" => Word::Scalar(r.number()?),
                "high" => Word::High(r.number()?),
                "site-base" => Word::SiteBase,
                "most-trips" => Word::MostTrips,
                "parts" => Word::Parts,
                "each" => Word::Each,
                "planned" => Word::Planned,
                "stage" => Word::Stage,
                "zero" => Word::Zero,
                _ => return None,
            })
        })?;
        self.named("sizes")?;
        let sizes = self.polys()?;
        let bindings = self.list(|r| {
            let array = r.number()?;
            let access = match r.word()? {
                "read" => Access::Read,
                "write" => Access::Write,
                "atomic" => Access::Atomic,
                _ => return None,
            };
            Some((array, access))
        })?;
        let status = self.number()?;
        let each = self.number()?;
        let needs = self.list(|r| {
            Some(match r.word()? {
                "f64" => Need::F64,
                "i64" => Need::I64,
                "i64-atomics" => Need::I64Atomics,
                _ => return None,
            })
        })?;
        // Loops that others end are counted by the device.
        let counts = !wgsl.contains("while") && !wgsl.contains("loop {");
        let ends = (self.ends && counts).then_some(Promise(()));
        Some(Shader { label, wgsl, words, sizes, bindings, status, each, ends, needs })
    }

    fn private(&mut self) -> Option<Private> {
        Some(Private { shader: self.shader()?, array: self.number()?, most: self.number()? })
    }

    /// An array of a contraction and its axes.
    fn operand(&mut self) -> Option<(usize, &'static [usize])> {
        Some((self.number()?, self.list(Reader::number)?))
    }

    fn step(&mut self) -> Option<GpuStep> {
        Some(match self.word()? {
            "points" => {
                let (shader, extents) = (self.shader()?, self.polys()?);
                self.named("private")?;
                GpuStep::Points { shader, extents, private: self.option(Reader::private)? }
            }
            "reduce" => GpuStep::Reduce {
                points: self.shader()?,
                outer: self.polys()?,
                inner: self.polys()?,
                groups: self.shader()?,
                tiles: self.named("tiles").and_then(|()| self.option(Reader::shader))?,
                across: self.named("across").and_then(|()| self.number())?,
                words: self.number()?,
                scratch: self.number()?,
            },
            "team" => GpuStep::Team {
                shader: self.shader()?,
                outer: self.polys()?,
                inner: self.polys()?,
                steps: self.list(Reader::step)?,
            },
            "scan" => GpuStep::Scan {
                points: self.shader()?,
                outer: self.polys()?,
                length: self.poly()?,
                fold: self.shader()?,
                starts: self.shader()?,
                run: self.shader()?,
                rows: self.named("rows").and_then(|()| self.option(Reader::shader))?,
                states: self.number()?,
                scratch: self.number()?,
                ends: self.named("ends").and_then(|()| self.number())?,
            },
            "contract" => GpuStep::Contract {
                label: self.text()?,
                extents: self.polys()?,
                out: self.operand()?,
                a: self.operand()?,
                b: self.operand()?,
            },
            "sort" => GpuStep::Sort {
                label: self.text()?,
                sorted: match self.word()? {
                    "positions" => Sorted::Positions,
                    "values" => Sorted::Values,
                    _ => return None,
                },
                result: self.number()?,
                keys: self.number()?,
                rows: self.polys()?,
                length: self.poly()?,
            },
            "fill" => GpuStep::Fill(self.number()?, self.number()?),
            "copy" => GpuStep::Copy(self.number()?, self.number()?),
            "move" => GpuStep::Move(self.number()?, self.number()?),
            "check" => GpuStep::Check(self.check()?),
            "size" => GpuStep::Size {
                array: self.number()?,
                atom: self.number()?,
                most: self.named("most").and_then(|()| self.option(Reader::poly))?,
            },
            "repeat" => GpuStep::Repeat {
                trips: self.trips()?,
                carried: self.carried()?,
                steps: self.list(Reader::step)?,
            },
            _ => return None,
        })
    }

    fn check(&mut self) -> Option<Check> {
        let kind = match self.word()? {
            "equal" => CheckKind::Equal(self.described()?, self.described()?),
            "non-negative" => CheckKind::NonNegative(self.described()?),
            "at-least" => CheckKind::AtLeast(self.described()?, self.described()?),
            _ => return None,
        };
        Some(Check { kind, guards: self.polys()?, site: self.site()? })
    }

    fn trips(&mut self) -> Option<Trips> {
        Some(match self.word()? {
            "for" => Trips::For { index: self.number()?, atom: self.number()?, count: self.poly()? },
            "while" => Trips::While(self.number()?),
            _ => return None,
        })
    }

    fn carried(&mut self) -> Option<&'static [Carried]> {
        self.list(|r| Some(Carried { state: r.number()?, start: r.number()?, next: r.number()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "3:f g\n3 1:x f32 1 1*0 input\n 5:a\u{e9} b i64 0 view 0\n 0: bool 2 0 -1+2*0*1 nowhere\n\n1 0\n1 1\n\
         4 points 1:s 0 3 size 1*0 high 1 site-base sizes 0 1 0 read true 4 1 i64-atomics 1 1*0 private none\n \
         check at-least 1 1:1 1*0 1:n 1 -3 1:k 6:src.rs 7\n size 1 1 most some 1*0\n \
         repeat while 1 1 1 2 3 2 fill 0 18446744073709551615\n move 0 1\n\n\n1 1:k 6:src.rs 9";

    #[test]
    fn texts_are_programs() {
        static PROGRAM: Written = Written::new(TEXT, &["shader"]);
        let p = PROGRAM.read().expect("it is one");
        assert_eq!((p.name, p.arrays.len(), p.inputs, p.results), ("f g", 3, &[0][..], &[1][..]));
        assert_eq!((p.arrays[1].name, p.arrays[1].home), ("a\u{e9} b", GpuHome::View(0)));
        assert_eq!(p.arrays[2].dims, [Poly(&[(0, &[])]), Poly(&[(-1, &[]), (2, &[0, 1])])]);
        assert_eq!(p.sites, [Site { kernel: "k", file: "src.rs", line: 9 }]);
        let GpuStep::Points { shader, .. } = &p.steps[0] else { panic!("{p:?}") };
        assert_eq!((shader.label, shader.wgsl, shader.status, shader.each), ("s", "shader", true, 4));
        assert!(matches!(shader.words, [Word::Size(_), Word::High(1), Word::SiteBase]), "{p:?}");
        let GpuStep::Check(check) = &p.steps[1] else { panic!("{p:?}") };
        assert_eq!((check.guards, check.site.line), (&[Poly(&[(-3, &[])])][..], 7));
        assert!(matches!(p.steps[2], GpuStep::Size { array: 1, atom: 1, most: Some(_) }), "{p:?}");
        let GpuStep::Repeat { trips: Trips::While(1), carried, steps } = &p.steps[3] else { panic!("{p:?}") };
        assert_eq!(carried, &[Carried { state: 1, start: 2, next: 3 }]);
        assert!(matches!(steps, [GpuStep::Fill(0, u64::MAX), GpuStep::Move(0, 1)]), "{p:?}");
    }

    /// Loops are not counted where the compiler says that they end, and not where a shader has others.
    #[test]
    fn only_the_compiler_promises_that_loops_end() {
        fn ends(program: &'static Written) -> bool {
            let GpuStep::Points { shader, .. } = &program.read().expect("it is one").steps[0] else {
                return false;
            };
            shader.ends.is_some()
        }
        static WRITTEN: Written = Written::new(TEXT, &["for"]);
        // SAFETY: nobody executes these.
        static TRUSTED: Written = unsafe { Written::trusted(TEXT, &["for"]) };
        // SAFETY: likewise.
        static OTHERS: Written = unsafe { Written::trusted(TEXT, &["for while x"]) };
        assert_eq!([&WRITTEN, &TRUSTED, &OTHERS].map(ends), [false, true, false]);
    }

    /// No text panics, and none that ends early, or later than a program does, is read.
    #[test]
    fn other_texts_are_errors() {
        let read = |text: String| {
            let text: &'static str = text.leak();
            let program: &'static Written = Box::leak(Box::new(Written::new(text, &["shader"])));
            program.read()
        };
        for end in (0..TEXT.len() - 1).filter(|end| TEXT.is_char_boundary(*end)) {
            let error = read(TEXT[..end].to_string()).expect_err("it is cut off").to_string();
            assert!(error.contains("cannot be read") && (end < 5 || error.contains("`f g`")), "{error}");
        }
        assert!(read(format!("{TEXT} 0")).is_err());
        assert!(read(TEXT.replace("view", "veiw")).is_err());
        assert!(read(TEXT.replace("1:s 0", "1:s 1")).is_err(), "there is one shader");
    }
}
