//! What a page has posted, and what is to be seen on its picture, against the same training here.

use std::error::Error;
use std::path::Path;

use serde_json::Value;

use crate::cpu::OnCpu;
use crate::data::{self, CLASSES, SIDE};
use crate::picture::{Picture, alike};
use crate::train::{first_losses, largest_difference};

/// How far losses may be apart, as for the example `digits`.
const ALLOWED_DIFFERENCE: f32 = 1e-3;
/// How far probabilities may be apart.
const ALLOWED_IN_PROBABILITIES: f32 = 5e-3;
/// The least share of the test images.
const REQUIRED_ACCURACY: f32 = 0.8;
/// As in `page.js` and `page.css`.
const BAR_WIDTH: f32 = 200.0;
const BARS: [[u8; 3]; 2] = [[0xaa, 0xc8, 0xeb], [0x1e, 0x5a, 0xaa]];
const ON_GPU: [u8; 3] = [0x1e, 0x7a, 0x3c];

type Checked = Result<(), Box<dyn Error>>;

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(otherwise().into()) }
}

/// Everything that is known; prints the figures.
///
/// # Errors
/// What is not as it should be.
pub fn all(posted: &str, picture: &Path, steps: usize) -> Checked {
    let posted: Value = serde_json::from_str(posted)?;
    if let Some(error) = posted["error"].as_str() {
        return Err(format!("the page failed: {error}").into());
    }
    let device = posted["device"].as_str().unwrap_or_default();
    println!("device: {device}");
    require(device.starts_with("WebGPU"), || format!("not WebGPU, but {device}: {}", posted["note"]))?;
    let check = posted["check"].as_str().unwrap_or("nothing was checked");
    require(check.is_empty(), || format!("the async forms: {check}"))?;
    println!("the async forms in the browser: all checks passed");
    losses(&posted, steps)?;
    let seen = seen(&posted)?;
    shown(&posted, &Picture::read(picture)?, &seen)
}

fn floats(value: &Value) -> Vec<f32> {
    value.as_array().into_iter().flatten().map(|v| v.as_f64().unwrap_or(f64::NAN) as f32).collect()
}

/// The losses in the browser are those here.
fn losses(posted: &Value, steps: usize) -> Checked {
    let (training, _) = data::load()?;
    let expected = first_losses(&mut OnCpu::new(), &training, steps)?;
    for (name, time) in [("losses", "milliseconds"), ("cpuLosses", "cpuMilliseconds")] {
        let found = floats(&posted[name]);
        require(found.len() == steps, || format!("{name}: {} instead of {steps}", found.len()))?;
        let difference = largest_difference(&found, &expected);
        let each = posted[time].as_f64().unwrap_or(f64::NAN) / steps as f64;
        println!(
            "{name}: {:.4} to {:.4} in {steps} steps of {each:.1} ms; largest relative difference from here {difference:.1e}",
            found[0],
            found[steps - 1]
        );
        // Not `>`, which NaN would pass.
        require(difference <= ALLOWED_DIFFERENCE, || format!("the bound is {ALLOWED_DIFFERENCE:e}"))?;
    }
    let accuracy = posted["accuracy"].as_f64().unwrap_or(0.0) as f32;
    println!("test accuracy: {:.1} %", 100.0 * accuracy);
    require(accuracy >= REQUIRED_ACCURACY, || "that is too little".into())
}

/// Probabilities, then the gradient, as the GPU of the browser has them.
fn seen(posted: &Value) -> Result<Vec<f32>, Box<dyn Error>> {
    let (found, on_cpu) = (floats(&posted["seen"]), floats(&posted["cpuSeen"]));
    require(found.len() == CLASSES + SIDE * SIDE && on_cpu.len() == found.len(), || {
        format!("{} numbers are seen in a picture", found.len())
    })?;
    let apart = found.iter().zip(&on_cpu).take(CLASSES).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    let slopes = largest(&on_cpu[CLASSES..]).1;
    let apart_of_slopes =
        found.iter().zip(&on_cpu).skip(CLASSES).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    println!(
        "probabilities are {apart:.1e} apart on the GPU and the CPU, gradients {apart_of_slopes:.1e} of {slopes:.1e}"
    );
    require(apart <= ALLOWED_IN_PROBABILITIES && apart_of_slopes <= 0.02 * slopes, || {
        "that is too much".into()
    })?;
    let sum: f32 = found[..CLASSES].iter().sum();
    require((sum - 1.0).abs() < 1e-4, || format!("the probabilities add up to {sum}"))?;
    let label = posted["label"].as_f64().unwrap_or(-1.0) as i32;
    let read = largest(&found[..CLASSES]).0 as i32;
    require(read == label, || format!("a {label} is taken for a {read}"))?;
    Ok(found)
}

/// Where the largest number is, by absolute value, and that.
fn largest(numbers: &[f32]) -> (usize, f32) {
    let all = numbers.iter().map(|n| n.abs()).enumerate();
    all.fold((0, 0.0), |best, now| if now.1 > best.1 { now } else { best })
}

/// The picture shows the image, its probabilities, its gradient, the losses, and the device.
fn shown(posted: &Value, picture: &Picture, seen: &[f32]) -> Checked {
    let place = |name: &str| -> [usize; 4] {
        let numbers = floats(&posted["places"][name]);
        std::array::from_fn(|i| numbers.get(i).map_or(0, |n| *n as usize))
    };
    let cell = |[left, top, ..]: [usize; 4], i: usize| {
        // Within the border of one pixel.
        let side = 256 / SIDE;
        (left + 1 + (i % SIDE) * side + side / 2, top + 1 + i / SIDE * side + side / 2)
    };
    let (_, test) = data::load()?;
    for (i, ink) in test.x.row(0).iter().enumerate() {
        let (x, y) = cell(place("picture"), i);
        let (gray, found) = (255 - (255.0 * ink).round() as u8, picture.at(x, y));
        require(alike(found, [gray; 3]), || format!("pixel {i} of the picture is {found:?}, not {gray}"))?;
    }
    let slopes = &seen[CLASSES..];
    let most = largest(slopes).0;
    let (x, y) = cell(place("gradient"), most);
    let (color, found) = (if slopes[most] > 0.0 { [0, 0, 255] } else { [255, 0, 0] }, picture.at(x, y));
    require(alike(found, color), || format!("the largest slope, at {most}, is {found:?}, not {color:?}"))?;
    let bars: Vec<Vec<f32>> = posted["bars"].as_array().into_iter().flatten().map(floats).collect();
    require(bars.len() == CLASSES, || format!("there are {} bars", bars.len()))?;
    for (digit, (bar, p)) in bars.iter().zip(seen).enumerate() {
        let (x, y) = (bar[0] as usize, bar[1] as usize);
        let found = picture.run(x, y, |c| BARS.iter().any(|b| alike(c, *b))) as f32;
        let expected = p * BAR_WIDTH;
        require((found - expected).abs() <= 2.0, || {
            format!("the bar of {digit} is {found} pixels long, not {expected}")
        })?;
    }
    let [left, top, _, height] = place("device");
    let found = picture.at(left + 4, top + height / 2);
    require(alike(found, ON_GPU), || format!("what says that it is on the GPU is {found:?}"))?;
    let [left, top, width, height] = place("losses");
    let all = (left..left + width).flat_map(|x| (top..top + height).map(move |y| (x, y)));
    let drawn = all.filter(|(x, y)| picture.at(*x, *y)[2] > picture.at(*x, *y)[0].saturating_add(40)).count();
    println!("the picture shows the image, {CLASSES} bars, the gradient, and a curve of {drawn} pixels");
    require(drawn > width / 2, || "that is no curve of losses".into())
}
