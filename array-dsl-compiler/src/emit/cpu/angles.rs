//! Functions of angles in regions.
//!
//! Long angles are reduced by a call, which would keep loops around it from being vectorized. So a region with `sin`, `cos` or `tan`
//! is compiled twice, with `LONG` or without:
//!
//! ```text
//! run::<false>: long angles give some number, and set `long`
//! if long       run::<true>: each angle is tested
//! ```
//!
//! Where the length of a loop depends on such numbers it ends at the first long angle.
//!
//! A region that changes what it reads cannot be executed again, and has the second form alone. One that combines into arrays begins
//! again with nothing in them (`Region::reset`). Both forms give the same bits where no angle is long.

/// At the end of a trip of a loop that data end: leaves it if its numbers are not those that are wanted. With angles only.
pub(super) const LEAVE_IF_LONG: &str = "if !LONG && *long { break; }\n";

/// How a region is run.
pub(super) struct Run {
    /// The function's constants, and its first parameter, each also as it is handed on.
    pub constants: [&'static str; 2],
    pub parameter: [&'static str; 2],
    /// More functions.
    pub functions: String,
    /// The code that runs it.
    pub code: String,
}

/// A region without angles, whose function takes `names`.
pub(super) fn plain(id: &str, names: &str) -> Run {
    let code = format!("{id}_run::<VECTOR>(lo, hi, status, {names})");
    Run {
        constants: ["<const VECTOR: i64>", "<VECTOR>"],
        parameter: ["", ""],
        functions: String::new(),
        code,
    }
}

/// A region with angles. `fields` are the names and types of what it uses, `parameters` the same as the function declares them;
/// `again`: what has to be done before it is executed a second time, if it can be.
pub(super) fn angles(
    id: &str,
    fields: &[(String, String, String)],
    parameters: &str,
    output: &str,
    again: Option<&str>,
) -> Run {
    let names: String = fields.iter().map(|(n, ..)| format!("{n}, ")).collect();
    let constants = ["<const LONG: bool, const VECTOR: i64>", "<LONG, VECTOR>"];
    let parameter = ["long: &mut bool, ", "long, "];
    let Some(reset) = again else {
        let code = format!("{id}_run::<true, VECTOR>(&mut false, lo, hi, status, {names})");
        return Run { constants, parameter, functions: String::new(), code };
    };
    // What is written is lent to the first.
    let lent = |(n, t, _): &(String, String, String)| match () {
        () if t.starts_with("&'a mut") => format!("&mut *{n}, "),
        () if t.starts_with("__rt::trusted::Owned") => format!("{n}.clone(), "),
        () => format!("{n}, "),
    };
    let lent: String = fields.iter().map(lent).collect();
    // A constant that it is asked for: so it is compiled where it is used, and not in a library whose kernel nobody calls.
    let functions = format!(
        "#[cold]\n#[inline(never)]\nfn {id}_long<const LONG: bool>(lo: i64, hi: i64, status: &__rt::status::Status, {parameters}) -> {output} {{\n\
         {id}_run::<LONG, 0>(&mut false, lo, hi, status, {names})\n}}\n"
    );
    let code = format!(
        "let mut long = false;\nlet out = {id}_run::<false, VECTOR>(&mut long, lo, hi, status, {lent});\n\
         if long {{ {reset}{id}_long::<true>(lo, hi, status, {names}) }} else {{ out }}"
    );
    Run { constants, parameter, functions, code }
}
