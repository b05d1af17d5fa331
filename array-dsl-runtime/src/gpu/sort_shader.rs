//! The texts of the shaders of `sort`.
//!
//! A thread of 256 has [`EACH`] neighboring elements of its tile. A tile is put in order by four bits at a time, stably:
//!
//! ```text
//! count      each thread, of its own elements, how often each of 16 values occurs: 16 x 256 counters, two in a word
//! add up     the counters, value by value and in it thread by thread: where each thread's elements of each value begin
//! exchange   every element goes there
//! ```
//!
//! Workgroup memory is used in turn for the counters, the keys and the payloads, with a gap of one word after 32, so that threads
//! side by side, whose elements lie eight words apart, do not meet in a bank. Places beyond the row have the greatest key; they come
//! after all elements, since they stand after them and the order is stable.
//!
//! Uniform words: `(rows, elements of a row, tiles of a row, shift)`; of `starts`: `(lists, tiles)`.

use std::fmt::Write as _;

use super::builtin::MAIN;
use super::sort::{Gives, Source, TILE, To};
use crate::program::Elem;

/// The elements of a thread.
const EACH: u32 = TILE / 256;

/// The function that makes the key of an element, of which `word` says which word is wanted.
fn key_function(elem: Elem, word: u32) -> String {
    let body = match (elem, word) {
        (Elem::Bool | Elem::U32, _) => "return elements[at];",
        (Elem::I32, _) => "return elements[at] ^ 0x80000000u;",
        (Elem::F32, _) => {
            "var bits = elements[at];
    if (bits & 0x7fffffffu) > 0x7f800000u { return 0xffffffffu; }
    if bits == 0x80000000u { bits = 0u; }
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);"
        }
        (Elem::I64, 0) => "return elements[2u * at];",
        (Elem::I64, _) => "return elements[2u * at + 1u] ^ 0x80000000u;",
        (Elem::F64, _) => {
            "let low = elements[2u * at];
    var high = elements[2u * at + 1u];
    let magnitude = high & 0x7fffffffu;
    if magnitude > 0x7ff00000u || (magnitude == 0x7ff00000u && low != 0u) { return 0xffffffffu; }
    if high == 0x80000000u && low == 0u { high = 0u; }
    let is_negative = (high & 0x80000000u) != 0u;
    RETURN"
        }
    };
    let wanted = if word == 0 {
        "return select(low, ~low, is_negative);"
    } else {
        "return select(high | 0x80000000u, ~high, is_negative);"
    };
    format!("\nfn key_of(at: u32) -> u32 {{\n    {}\n}}\n", body.replace("RETURN", wanted))
}

/// Bindings, numbered from 2 on; those that are written come last.
fn bindings(read: &[&str], written: &[&str]) -> String {
    let mut text = "@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;\n".to_string();
    let all = read.iter().map(|name| (name, "read")).chain(written.iter().map(|name| (name, "read_write")));
    for (binding, (name, access)) in (2..).zip(all) {
        let _ = writeln!(text, "@group(0) @binding({binding}) var<storage, {access}> {name}: array<u32>;");
    }
    text
}

/// The row and the tile of a workgroup.
const TILES: &str = "    let length = words[0].y;
    let tiles = words[0].z;
    let shift = words[0].w;
    let row = group / tiles;
    if row >= words[0].x {
        return;
    }
    let tile = group - row * tiles;
    let first = row * length;
    let begin = tile * TILEu;
    let count = min(length - begin, TILEu);
";

fn tiles() -> String {
    TILES.replace("TILE", &TILE.to_string())
}

/// How a source's key at place `at` of all rows is had, and its payload, `i` being the place in the row.
fn source_texts(source: Source, gives: Gives) -> (&'static str, &'static str) {
    let payload = match (source, gives) {
        (Source::Elements, Gives::Words) => "elements[at]",
        (Source::Elements, _) => "i",
        (Source::Positions, _) => "payloads[at]",
        (Source::Pairs, _) => "payloads[at]",
    };
    let key = match source {
        Source::Elements => "key_of(at)",
        Source::Positions => "key_of(first + payloads[at])",
        Source::Pairs => "keys[at]",
    };
    (key, payload)
}

fn read_arrays(source: Source) -> Vec<&'static str> {
    match source {
        Source::Elements => vec!["elements"],
        Source::Positions => vec!["elements", "payloads"],
        Source::Pairs => vec!["keys", "payloads"],
    }
}

fn key_text(elem: Elem, source: Source) -> String {
    match source {
        Source::Elements => key_function(elem, 0),
        Source::Positions => key_function(elem, 1),
        Source::Pairs => String::new(),
    }
}

/// Of each tile, how often each digit occurs: `counts[row][digit][tile]`.
pub(super) fn count(elem: Elem, source: Source) -> String {
    let read = if source == Source::Pairs { vec!["keys"] } else { read_arrays(source) };
    let (key, _) = source_texts(source, Gives::Positions);
    let (bindings, key_text, tiles) = (bindings(&read, &["counts"]), key_text(elem, source), tiles());
    format!(
        "{bindings}
var<workgroup> found: array<atomic<u32>, 256>;
{key_text}{MAIN}{tiles}    atomicStore(&found[local], 0u);
    workgroupBarrier();
    for (var k = local; k < count; k += 256u) {{
        let at = first + begin + k;
        atomicAdd(&found[({key} >> shift) & 255u], 1u);
    }}
    workgroupBarrier();
    counts[(row * 256u + local) * tiles + tile] = atomicLoad(&found[local]);
}}
"
    )
}

/// Each count becomes the sum of those of the tiles before; the totals are those of all. A thread for each list of tiles, or a
/// workgroup.
pub(super) fn starts(is_alone: bool) -> String {
    let bindings = bindings(&[], &["counts", "totals"]);
    if is_alone {
        return format!(
            "{bindings}{MAIN}    let list = group * 256u + local;
    if list >= words[0].x {{
        return;
    }}
    let tiles = words[0].y;
    var sum = 0u;
    for (var k = 0u; k < tiles; k++) {{
        let found = counts[list * tiles + k];
        counts[list * tiles + k] = sum;
        sum += found;
    }}
    totals[list] = sum;
}}
"
        );
    }
    format!(
        "{bindings}
var<workgroup> sums: array<u32, 256>;
{SCAN}{MAIN}    if group >= words[0].x {{
        return;
    }}
    let tiles = words[0].y;
    var before = 0u;
    for (var start = 0u; start < tiles; start += 256u) {{
        let k = start + local;
        var found = 0u;
        if k < tiles {{
            found = counts[group * tiles + k];
        }}
        sums[local] = found;
        let own = sums_before(local);
        if k < tiles {{
            counts[group * tiles + k] = before + own;
        }}
        before += sums[255];
        workgroupBarrier();
    }}
    if local == 0u {{
        totals[group] = before;
    }}
}}
"
    )
}

/// Makes every one of the 256 sums that of all up to it; the result is that of all before the thread's own. Threads have written
/// theirs only.
const SCAN: &str = "
fn sums_before(local: u32) -> u32 {
    let own = sums[local];
    workgroupBarrier();
    for (var step = 1u; step < 256u; step = step << 1u) {
        var left = 0u;
        if local >= step {
            left = sums[local - step];
        }
        workgroupBarrier();
        sums[local] += left;
        workgroupBarrier();
    }
    return sums[local] - own;
}
";

/// A text for each of a thread's elements, whose number stands for `#`.
fn each(text: &str) -> String {
    (0..EACH).map(|k| text.replace('#', &k.to_string())).collect()
}

/// Variables for each of a thread's elements.
fn variables(space: &str, names: &[&str]) -> String {
    names.iter().map(|name| each(&format!("var{space} {name}#: u32;\n"))).collect()
}

/// What a thread has goes to the places of its ranks, and it gets what comes at its own places.
fn exchange() -> String {
    let through = |name: &str| {
        let put = each(&format!("    memory[place(rank#)] = {name}#;\n"));
        let get = each(&format!("    {name}# = memory[place(local * {EACH}u + #u)];\n"));
        format!("{put}    workgroupBarrier();\n{get}    workgroupBarrier();\n")
    };
    format!("fn exchange(local: u32) {{\n{}{}}}\n", through("key"), through("payload"))
}

/// Puts a tile in order by four bits: see the header. What a thread has afterwards is what comes at its places.
fn in_order() -> String {
    let padded = TILE + TILE / 32;
    let variables = variables("<private>", &["key", "payload", "rank"]);
    let counted = each(
        "    {
        let digit = (key# >> shift) & 15u;
        let at = place((digit & 7u) * 256u + local);
        let half = (digit >> 3u) * 16u;
        let found = memory[at];
        rank# = (found >> half) & 0xffffu;
        memory[at] = found + (1u << half);
    }
",
    );
    let ranked = each(
        "    {
        let digit = (key# >> shift) & 15u;
        let at = place((digit & 7u) * 256u + local);
        rank# += (memory[at] >> ((digit >> 3u) * 16u)) & 0xffffu;
    }
",
    );
    let exchange = exchange();
    format!(
        "
var<workgroup> memory: array<u32, {padded}>;
var<workgroup> sums: array<u32, 256>;
{variables}
fn place(i: u32) -> u32 {{
    return i + (i >> 5u);
}}
{SCAN}
{exchange}
fn order_by(local: u32, shift: u32) {{
    for (var pair = 0u; pair < 8u; pair++) {{
        memory[place(pair * 256u + local)] = 0u;
    }}
{counted}    workgroupBarrier();
    var all = 0u;
    for (var k = 0u; k < 8u; k++) {{
        all += memory[place(local * 8u + k)];
    }}
    sums[local] = all;
    var running = sums_before(local);
    // The values of the high halves come after all of the low ones.
    running += sums[255] << 16u;
    for (var k = 0u; k < 8u; k++) {{
        let at = place(local * 8u + k);
        let found = memory[at];
        memory[at] = running;
        running += found;
    }}
    workgroupBarrier();
{ranked}    workgroupBarrier();
    exchange(local);
}}
"
    )
}

/// Loads a tile: threads read side by side, and have neighboring elements afterwards.
fn load(key: &str, payload: &str) -> String {
    let one = format!(
        "    rank# = #u * 256u + local;
    key# = 0xffffffffu;
    payload# = 0u;
    if rank# < count {{
        let i = begin + rank#;
        let at = first + i;
        key# = {key};
        payload# = {payload};
    }}
"
    );
    each(&one) + "    exchange(local);\n"
}

/// Puts keys or payloads back, so that threads write side by side: what comes at place `k * 256 + local` is in variable `k` afterwards.
fn side_by_side(name: &str) -> String {
    let put = each(&format!("    memory[place(local * {EACH}u + #u)] = {name}#;\n"));
    let get = each(&format!("    {name}# = memory[place(#u * 256u + local)];\n"));
    format!("{put}    workgroupBarrier();\n{get}    workgroupBarrier();\n")
}

/// Writes a payload to the place `to` of all rows.
fn write_result(gives: Gives) -> &'static str {
    match gives {
        Gives::Positions => "result[2u * to] = payload#;\n        result[2u * to + 1u] = 0u;",
        Gives::Words => "result[to] = payload#;",
        Gives::Doubles => {
            "let source = 2u * (first + payload#);
        result[2u * to] = elements[source];
        result[2u * to + 1u] = elements[source + 1u];"
        }
    }
}

/// The arrays that a move reads, and those that it writes.
fn moved(gives: Gives, source: Source, to: To) -> (Vec<&'static str>, &'static [&'static str]) {
    let mut read = read_arrays(source);
    if gives == Gives::Doubles && to == To::Result && source == Source::Pairs {
        read.push("elements");
    }
    read.extend(["counts", "totals"]);
    (read, if to == To::Result { &["result"] } else { &["next_keys", "next_payloads"] })
}

/// How many these are.
pub(super) fn moved_arrays(gives: Gives, source: Source, to: To) -> [usize; 2] {
    let (read, written) = moved(gives, source, to);
    [read.len(), written.len()]
}

/// Moves the elements of each tile to where they belong by the digit.
pub(super) fn move_all(elem: Elem, gives: Gives, source: Source, to: To) -> String {
    let (read, written) = moved(gives, source, to);
    let (key, payload) = source_texts(source, gives);
    let (bindings, in_order, key_text) = (bindings(&read, written), in_order(), key_text(elem, source));
    let (tiles, load) = (tiles(), load(key, payload));
    let (keys_aside, payloads_aside) = (side_by_side("key"), side_by_side("payload"));
    let write = match to {
        To::Result => write_result(gives),
        To::Pairs => "next_keys[to] = key#;\n        next_payloads[to] = payload#;",
    };
    let put_digits = each("    memory[place(#u * 256u + local)] = (key# >> shift) & 255u;\n");
    let begin_digits = each(
        "    {
        let i = #u * 256u + local;
        let digit = memory[place(i)];
        if i == 0u || memory[place(i - 1u)] != digit {
            sums[digit] = i;
        }
    }
",
    );
    let written = each(&format!(
        "    if #u * 256u + local < count {{
        let digit = (key# >> shift) & 255u;
        let to = first + starts[digit] + #u * 256u + local - sums[digit];
        {write}
    }}
"
    ));
    format!(
        "{bindings}
var<workgroup> starts: array<u32, 256>;
{in_order}{key_text}{MAIN}{tiles}{load}    order_by(local, shift);
    order_by(local, shift + 4u);
    // Where the elements with each digit begin in the row, less where they do in the tile.
    sums[local] = totals[row * 256u + local];
    let smaller = sums_before(local);
    starts[local] = smaller + counts[(row * 256u + local) * tiles + tile];
    workgroupBarrier();
{payloads_aside}{keys_aside}{put_digits}    workgroupBarrier();
{begin_digits}    workgroupBarrier();
{written}}}
"
    )
}

/// Sorts rows of which so many fit a tile that each is whole: all elements of the tile by their keys, then by their rows. The
/// payloads are places in the tile. Uniform words: `(rows, elements of a row, rows of a tile, bits of a row's number)`.
pub(super) fn tiles_alone(elem: Elem, gives: Gives) -> String {
    let (bindings, in_order, low) = (bindings(&["elements"], &["result"]), in_order(), key_function(elem, 0));
    let (load, aside) = (load("key_of(at)", "i"), side_by_side("payload"));
    // Places beyond the rows keep the greatest key, and their places after all others.
    let again = |key: &str| {
        each(&format!(
            "    if local * {EACH}u + #u < count {{
        key# = {key};
    }}
"
        ))
    };
    let ordered = |bits: &str| {
        format!("    for (var bit = 0u; bit < {bits}; bit += 4u) {{\n        order_by(local, bit);\n    }}\n")
    };
    let by_word = ordered(if elem == Elem::Bool { "4u" } else { "32u" });
    let (high, by_high) = if elem.bytes() == 8 {
        let function = key_function(elem, 1).replace("key_of", "high_key_of");
        (function, again("high_key_of(first + payload#)") + &by_word)
    } else {
        (String::new(), String::new())
    };
    let by_row = again("payload# / length") + &ordered("words[0].w");
    let write = match gives {
        Gives::Positions => "result[2u * to] = payload# % length;\n        result[2u * to + 1u] = 0u;",
        Gives::Words => "result[to] = elements[first + payload#];",
        Gives::Doubles => write_result(Gives::Doubles),
    };
    let written = each(&format!(
        "    if #u * 256u + local < count {{
        let to = first + #u * 256u + local;
        {write}
    }}
"
    ));
    format!(
        "{bindings}{in_order}{low}{high}{MAIN}    let length = words[0].y;
    let first_row = group * words[0].z;
    if first_row >= words[0].x {{
        return;
    }}
    let first = first_row * length;
    let begin = 0u;
    let count = min(words[0].x - first_row, words[0].z) * length;
{load}{by_word}{by_high}{by_row}{aside}{written}}}
"
    )
}
