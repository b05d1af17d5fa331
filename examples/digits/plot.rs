//! The picture: on the left the loss over the steps of training, on the right a sample of the test images with what
//! was read, the mistakes first and in red.

use std::error::Error;
use std::path::Path;

use ndarray::ArrayView1;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::data::{Images, SIDE};
use crate::train::History;
use array_dsl_examples::font::{self, DrawResult};

const SIZE: (u32, u32) = (1240, 640);
const CHART_WIDTH: u32 = 730;
const INK: RGBColor = RGBColor(40, 40, 40);
const GRID: RGBColor = RGBColor(225, 225, 225);
const PALE: RGBColor = RGBColor(170, 200, 235);
const BLUE: RGBColor = RGBColor(30, 90, 170);
const ORANGE: RGBColor = RGBColor(225, 120, 20);
const WRONG: RGBColor = RGBColor(205, 30, 30);
/// Pixels to a dot of the text.
const DOT: i32 = 2;
/// Steps over which the dark curve is averaged.
const WINDOW: usize = 23;

/// Writes the picture of a training run to a PNG file.
pub fn draw(path: &Path, history: &History, test: &Images) -> Result<(), Box<dyn Error>> {
    let picture = BitMapBackend::new(path, SIZE).into_drawing_area();
    let drawn = draw_all(&picture, history, test);
    drawn.map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

fn draw_all<DB: DrawingBackend>(
    picture: &DrawingArea<DB, Shift>,
    history: &History,
    test: &Images,
) -> DrawResult<DB> {
    picture.fill(&WHITE)?;
    let (left, right) = picture.split_horizontally(CHART_WIDTH);
    draw_losses(&left, history)?;
    draw_images(&right, history, test)?;
    picture.present()
}

/// The loss on a logarithmic scale: each step in pale blue, its running mean in blue, the test set in orange.
fn draw_losses<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, history: &History) -> DrawResult<DB> {
    let (low, high) = decades(history);
    let steps = history.train.len().max(1) as f32;
    let mut chart = ChartBuilder::on(area)
        .margin_left(80)
        .margin_right(40)
        .margin_top(50)
        .margin_bottom(60)
        .build_cartesian_2d(0f32..steps, (low..high).log_scale())?;

    let mut tick = low;
    while tick <= 1.001 * high {
        chart.draw_series([PathElement::new([(0.0, tick), (steps, tick)], GRID)])?;
        let (x, y) = chart.backend_coord(&(0.0, tick));
        let text = if tick < 0.9 {
            format!("{tick:.*}", (-tick.log10()).round() as usize)
        } else {
            format!("{tick:.0}")
        };
        let (width, height) = font::extent(&text, DOT);
        font::draw(area, &text, (x - width - 8, y - height / 2), DOT, INK)?;
        tick *= 10.0;
    }
    for step in (0..=4).map(|k| (steps * k as f32 / 4.0).round()) {
        chart.draw_series([PathElement::new([(step, low), (step, high)], GRID)])?;
        let (x, y) = chart.backend_coord(&(step, low));
        let text = format!("{step}");
        font::draw(area, &text, (x - font::extent(&text, DOT).0 / 2, y + 8), DOT, INK)?;
    }

    let points = |losses: Vec<f32>| losses.into_iter().enumerate().map(|(step, value)| (step as f32, value));
    chart.draw_series(LineSeries::new(points(history.train.clone()), PALE))?;
    chart.draw_series(LineSeries::new(points(running_mean(&history.train)), BLUE.stroke_width(2)))?;
    let test = history.test.iter().map(|&(step, value)| (step as f32, value));
    chart.draw_series(LineSeries::new(test.clone(), ORANGE))?;
    chart.draw_series(test.map(|point| Circle::new(point, 3, ORANGE.filled())))?;

    let (width, height) = area.dim_in_pixel();
    font::draw(area, "training loss", (110, 20), DOT, BLUE)?;
    font::draw(area, "test loss", (320, 20), DOT, ORANGE)?;
    font::draw(area, "steps", (width as i32 / 2, height as i32 - 26), DOT, INK)
}

/// A grid of test images with the digit read below each; below a mistake, what was read and what it is.
fn draw_images<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    history: &History,
    test: &Images,
) -> DrawResult<DB> {
    const COLUMNS: usize = 10;
    const ROWS: usize = 9;
    const CELL: (i32, i32) = (50, 62);
    const PIXEL: i32 = 5;

    let heading = format!("test accuracy {:.2} %", 100.0 * history.accuracy);
    font::draw(area, &heading, (0, 8), DOT, INK)?;
    font::draw(area, "mistakes first, as read-true", (0, 28), DOT, WRONG)?;
    let is_wrong = |&i: &usize| history.predictions[i] != test.y[i];
    let (wrong, right): (Vec<usize>, Vec<usize>) = (0..test.len()).partition(is_wrong);
    for (k, &i) in wrong.iter().chain(&right).take(COLUMNS * ROWS).enumerate() {
        let corner = (CELL.0 * (k % COLUMNS) as i32, 50 + CELL.1 * (k / COLUMNS) as i32);
        draw_image(area, test.x.row(i), corner, PIXEL)?;
        let side = PIXEL * SIDE as i32;
        let (read, color) = if is_wrong(&i) {
            let frame = [(corner.0 - 1, corner.1 - 1), (corner.0 + side, corner.1 + side)];
            area.draw(&Rectangle::new(frame, WRONG.stroke_width(2)))?;
            (format!("{}-{}", history.predictions[i], test.y[i]), WRONG)
        } else {
            (history.predictions[i].to_string(), INK)
        };
        let indent = (side - font::extent(&read, DOT).0) / 2;
        font::draw(area, &read, (corner.0 + indent, corner.1 + side + 4), DOT, color)?;
    }
    Ok(())
}

fn draw_image<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    image: ArrayView1<f32>,
    corner: (i32, i32),
    pixel: i32,
) -> DrawResult<DB> {
    for (k, ink) in image.iter().enumerate() {
        let gray = 255 - (255.0 * ink) as u8;
        let (column, row) = ((k % SIDE) as i32, (k / SIDE) as i32);
        let place = (corner.0 + pixel * column, corner.1 + pixel * row);
        area.draw(&font::square(place, pixel, RGBColor(gray, gray, gray)))?;
    }
    Ok(())
}

/// The powers of ten around every loss, between a millionth and a million.
fn decades(history: &History) -> (f32, f32) {
    let losses = history.train.iter().copied().chain(history.test.iter().map(|&(_, value)| value));
    let (low, high) =
        losses.filter(|l| l.is_finite()).fold((1.0f32, 1.0f32), |(a, b), l| (a.min(l), b.max(l)));
    let power = |exponent: f32| 10f32.powf(exponent.clamp(-6.0, 6.0));
    (power(low.log10().floor()), power(high.log10().ceil()))
}

/// The mean of the last `WINDOW` values, of fewer at the beginning.
fn running_mean(values: &[f32]) -> Vec<f32> {
    let window = |end: usize| &values[(end + 1).saturating_sub(WINDOW)..=end];
    (0..values.len()).map(|end| window(end).iter().sum::<f32>() / window(end).len() as f32).collect()
}
