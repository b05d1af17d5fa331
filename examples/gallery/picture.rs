//! What the programs of the gallery share: pictures of panels side by side, each an image or a chart, and the command line.
//!
//! A picture is drawn at twice its size and averaged, which makes smooth lines of plotters' bitmaps.

#![allow(dead_code, reason = "each program uses a part")]

#[path = "../digits/font.rs"]
mod font;

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ndarray::Array2;
use plotters::coord::Shift;
pub use plotters::prelude::RGBColor;
use plotters::prelude::*;

pub const INK: RGBColor = RGBColor(45, 45, 50);
pub const GRAY: RGBColor = RGBColor(150, 150, 155);
pub const SILVER: RGBColor = RGBColor(195, 195, 200);
pub const PAPER: RGBColor = RGBColor(243, 244, 248);
pub const BLUE: RGBColor = RGBColor(35, 105, 180);
pub const ORANGE: RGBColor = RGBColor(230, 120, 25);
pub const GREEN: RGBColor = RGBColor(50, 145, 90);
pub const PALE_BLUE: RGBColor = RGBColor(200, 220, 242);
const GRID: RGBColor = RGBColor(226, 226, 230);

/// Pixels that are drawn for one of the picture, in each direction.
const FINE: i32 = 2;
/// Drawn pixels to a dot of the text.
const DOT: i32 = 3;

type Point = (f64, f64);

/// The `main` of a program `name`: reads the command line, runs the program, and tells its error in a sentence.
pub fn main(name: &str, run: impl FnOnce(&Path) -> Result<(), Box<dyn Error>>) -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let out = match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, ..) => PathBuf::from(format!("{name}.png")),
        (Some("--out"), Some(file), None) => PathBuf::from(file),
        (Some("--help" | "-h"), None, _) => {
            println!("Usage: {name} [--out FILE.png]");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("Usage: {name} [--out FILE.png]");
            return ExitCode::from(2);
        }
    };
    match run(&out) {
        Ok(()) => {
            println!("picture: {}", out.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An error with the sentence `message` unless `holds`: how programs check their own results.
pub fn require(holds: bool, message: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if holds { Ok(()) } else { Err(message.into().into()) }
}

/// From 0 to 1 to a color.
pub type Scale = fn(f64) -> RGBColor;

/// Dark violet, blue, green, yellow.
pub fn viridis(t: f64) -> RGBColor {
    blend(&[(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)], t)
}

/// Black, red, yellow, white: for heat.
pub fn inferno(t: f64) -> RGBColor {
    blend(&[(5, 3, 20), (85, 15, 110), (187, 55, 84), (249, 142, 9), (252, 255, 164)], t)
}

/// Blue below the middle, white in it, red above.
pub fn blue_red(t: f64) -> RGBColor {
    blend(&[(40, 80, 165), (150, 185, 225), (250, 250, 250), (240, 165, 140), (180, 30, 45)], t)
}

/// Black to white.
pub fn gray(t: f64) -> RGBColor {
    blend(&[(0, 0, 0), (255, 255, 255)], t)
}

/// Between colors at equal distances.
fn blend(stops: &[(u8, u8, u8)], t: f64) -> RGBColor {
    let place = t.clamp(0.0, 1.0) * (stops.len() - 1) as f64; // of NaN the cast below makes 0
    let k = (place as usize).min(stops.len() - 2);
    let part = place - k as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (stops[k], stops[k + 1]);
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Values over their numbers, from 0 on.
pub fn numbered<'a>(values: impl IntoIterator<Item = &'a f64>) -> impl Iterator<Item = (f64, f64)> {
    values.into_iter().enumerate().map(|(k, v)| (k as f64, *v))
}

enum Layer {
    Line(Vec<Point>, RGBColor, u32),
    Dots(Vec<Point>, RGBColor, i32),
    Area(Vec<Point>, RGBColor),
    Image(Array2<RGBColor>),
}

/// A chart or an image, with its title.
pub struct Panel {
    title: String,
    bottom: String,
    legend: Vec<(String, RGBColor)>,
    layers: Vec<Layer>,
    x: Option<Range<f64>>,
    y: Option<Range<f64>>,
    log: bool,
    names: Option<Vec<(f64, String)>>,
    letters: String,
    image: Option<(usize, usize)>,
    share: f64,
}

impl Panel {
    /// An empty chart. Its ranges are those of what it shows unless they are given.
    pub fn chart(title: &str) -> Self {
        Self {
            title: title.into(),
            bottom: String::new(),
            legend: vec![],
            layers: vec![],
            x: None,
            y: None,
            log: false,
            names: None,
            letters: String::new(),
            image: None,
            share: 1.0,
        }
    }

    /// A matrix as an image, the first row on top, with the colors of `scale` for the values of `range`. What is drawn over it has
    /// the coordinates column and row, both from 0.
    pub fn image(title: &str, values: &Array2<f64>, range: Range<f64>, scale: Scale) -> Self {
        let width = range.end - range.start;
        let colors = values.mapv(|v| scale((v - range.start) / width));
        let (rows, columns) = colors.dim();
        Self {
            image: Some((rows, columns)),
            x: Some(0.0..columns as f64),
            y: Some(rows as f64..0.0),
            layers: vec![Layer::Image(colors)],
            ..Self::chart(title)
        }
    }

    /// A square of this side, without axes.
    pub fn square(title: &str, side: f64) -> Self {
        Self { image: Some((1, 1)), x: Some(0.0..side), y: Some(0.0..side), ..Self::chart(title) }
    }

    /// What the panel shows from left to right.
    pub fn x(self, range: Range<f64>) -> Self {
        Self { x: Some(range), ..self }
    }

    /// What the panel shows from bottom to top.
    pub fn y(self, range: Range<f64>) -> Self {
        Self { y: Some(range), ..self }
    }

    /// The heights of the lines and dots that follow are drawn on a logarithmic scale.
    pub fn log(self) -> Self {
        Self { log: true, ..self }
    }

    /// Names of heights, instead of numbers.
    pub fn names(self, names: impl IntoIterator<Item = (f64, String)>) -> Self {
        Self { names: Some(names.into_iter().collect()), ..self }
    }

    /// Characters for the rows and the columns of an image.
    pub fn letters(self, letters: &str) -> Self {
        Self { letters: letters.into(), ..self }
    }

    /// A line of text below.
    pub fn below(self, text: &str) -> Self {
        Self { bottom: text.into(), ..self }
    }

    /// How wide the panel is, compared with the others.
    pub fn share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    /// A name in a color, beside the title.
    pub fn legend(mut self, name: &str, color: RGBColor) -> Self {
        self.legend.push((name.into(), color));
        self
    }

    fn placed(&self, points: impl IntoIterator<Item = Point>) -> Vec<Point> {
        points.into_iter().map(|(x, y)| (x, if self.log { y.log10() } else { y })).collect()
    }

    /// A line through points, `width` pixels wide.
    pub fn line(mut self, points: impl IntoIterator<Item = Point>, color: RGBColor, width: u32) -> Self {
        self.layers.push(Layer::Line(self.placed(points), color, width));
        self
    }

    /// Points, `size` pixels wide.
    pub fn dots(mut self, points: impl IntoIterator<Item = Point>, color: RGBColor, size: i32) -> Self {
        self.layers.push(Layer::Dots(self.placed(points), color, size));
        self
    }

    /// What lies between two heights `(x, low, high)`.
    pub fn band(mut self, points: impl IntoIterator<Item = (f64, f64, f64)>, color: RGBColor) -> Self {
        let (mut low, mut high) = (vec![], vec![]);
        for (x, a, b) in points {
            low.push((x, a));
            high.push((x, b));
        }
        low.extend(high.into_iter().rev());
        self.layers.push(Layer::Area(low, color));
        self
    }

    /// Bars from 0 to each height, for the bins between the `edges`.
    pub fn bars(mut self, edges: &[f64], heights: &[f64], color: RGBColor) -> Self {
        for (edge, &h) in edges.windows(2).zip(heights) {
            let gap = 0.06 * (edge[1] - edge[0]);
            let (a, b) = (edge[0] + gap, edge[1] - gap);
            self.layers.push(Layer::Area(vec![(a, 0.0), (a, h), (b, h), (b, 0.0)], color));
        }
        self
    }

    /// The least range with all points in it, somewhat wider.
    fn extent(&self, of: fn(&Point) -> f64, margin: f64) -> Range<f64> {
        let points = self.layers.iter().flat_map(|layer| match layer {
            Layer::Line(points, ..) | Layer::Dots(points, ..) | Layer::Area(points, ..) => points.as_slice(),
            Layer::Image(_) => &[],
        });
        let values = points.map(of).filter(|v| v.is_finite());
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        if low > high {
            return 0.0..1.0;
        }
        let wider = if low < high { margin * (high - low) } else { 1.0 };
        low - wider..high + wider
    }

    fn draw(&self, area: &DrawingArea<BitMapBackend, Shift>) -> font::DrawResult<BitMapBackend<'_>> {
        let (width, height) = area.dim_in_pixel();
        let (width, height) = (width as i32, height as i32);
        let (left, right) = if self.image.is_some() { (24, width - 8) } else { (110, width - 24) };
        let (top, bottom) = (
            if self.letters.is_empty() { 76 } else { 96 },
            height - if self.image.is_some() { 60 } else { 90 },
        );
        let (left, right, top, bottom) = match self.image {
            // As large as it fits, in the middle.
            Some((rows, columns)) => {
                let cell =
                    (f64::from(right - left) / columns as f64).min(f64::from(bottom - top) / rows as f64);
                let (w, h) = ((cell * columns as f64) as i32, (cell * rows as f64) as i32);
                let (x, y) = ((left + right - w) / 2, (top + bottom - h) / 2);
                (x, x + w, y, y + h)
            }
            None => (left, right, top, bottom),
        };
        let x = self.x.clone().unwrap_or_else(|| self.extent(|p| p.0, 0.0));
        let y = self.y.clone().unwrap_or_else(|| self.extent(|p| p.1, 0.06));
        let across =
            |v: f64| left + (f64::from(right - left) * (v - x.start) / (x.end - x.start)).round() as i32;
        let up =
            |v: f64| bottom - (f64::from(bottom - top) * (v - y.start) / (y.end - y.start)).round() as i32;
        let place = |p: &Point| (across(p.0), up(p.1));

        if self.image.is_none() {
            for (value, text) in self.names.clone().unwrap_or_else(|| ticks(&y, self.log)) {
                area.draw(&PathElement::new([(left, up(value)), (right, up(value))], GRID.stroke_width(2)))?;
                let (w, h) = font::extent(&text, DOT);
                font::draw(area, &text, (left - w - 12, up(value) - h / 2), DOT, INK)?;
            }
            for (value, text) in ticks(&x, false) {
                area.draw(&PathElement::new(
                    [(across(value), top), (across(value), bottom)],
                    GRID.stroke_width(2),
                ))?;
                let w = font::extent(&text, DOT).0;
                font::draw(area, &text, ((across(value) - w / 2).min(width - w), bottom + 12), DOT, INK)?;
            }
        }
        let finite = |points: &[Point]| -> Vec<(i32, i32)> {
            points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).map(place).collect()
        };
        for layer in &self.layers {
            match layer {
                Layer::Line(points, color, size) => {
                    // Segment by segment with round joints: the mitered ones of a longer path are spikes where it turns back.
                    let (points, width) = (finite(points), size * FINE as u32);
                    for ends in points.windows(2) {
                        area.draw(&PathElement::new(ends, color.stroke_width(width)))?;
                        area.draw(&Circle::new(ends[1], width as i32 / 2, color.filled()))?;
                    }
                }
                Layer::Dots(points, color, size) => {
                    for p in finite(points) {
                        area.draw(&Circle::new(p, size * FINE / 2, color.filled()))?;
                    }
                }
                Layer::Area(points, color) => area.draw(&Polygon::new(finite(points), color.filled()))?,
                Layer::Image(colors) => {
                    for ((i, j), color) in colors.indexed_iter() {
                        let corners = [(j as f64, i as f64), ((j + 1) as f64, (i + 1) as f64)];
                        area.draw(&Rectangle::new(corners.map(|p| place(&p)), color.filled()))?;
                    }
                }
            }
        }

        for (k, letter) in self.letters.chars().enumerate() {
            let text = letter.to_string();
            let (w, h) = font::extent(&text, DOT);
            let (column, row) = place(&(k as f64 + 0.5, k as f64 + 0.5));
            font::draw(area, &text, (left - w - 8, row - h / 2), DOT, INK)?;
            font::draw(area, &text, (column - w / 2, top - h - 8), DOT, INK)?;
        }
        let middle = |text: &str| ((left + right - font::extent(text, DOT).0) / 2).max(0);
        let mut words = vec![(self.title.clone(), INK)];
        words.extend(self.legend.iter().cloned());
        words.retain(|(word, _)| !word.is_empty());
        let line = words.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join("  ");
        let mut at = if self.image.is_some() { middle(&line) } else { left };
        for (word, color) in &words {
            font::draw(area, word, (at, top - if self.letters.is_empty() { 44 } else { 70 }), DOT, *color)?;
            at += font::extent(&format!("{word}  "), DOT).0 + DOT;
        }
        let under = bottom + if self.image.is_some() { 22 } else { 52 };
        font::draw(area, &self.bottom, (middle(&self.bottom), under), DOT, INK)
    }
}

/// Round numbers within a range, and how they are written.
fn ticks(range: &Range<f64>, log: bool) -> Vec<(f64, String)> {
    let width = range.end - range.start;
    if log && width < 2.0 {
        // Less than two powers of ten.
        let powers = range.start.floor() as i32..=range.end.floor() as i32;
        let values = powers.flat_map(|power| [1, 2, 5].map(|k| format!("{k}e{power}")));
        let logs = values
            .filter_map(|text| text.parse::<f64>().ok())
            .map(|value| (value.log10(), format!("{value}")));
        return logs.filter(|(place, _)| range.contains(place)).collect();
    }
    let power = 10f64.powf((width / 4.0).log10().floor());
    let mut step =
        [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| width / s <= 5.0).unwrap_or(width);
    if log {
        step = step.ceil();
    }
    let digits = (-step.log10().floor()).max(0.0) as usize;
    let first = (range.start / step - 1e-9).ceil() as i64;
    let last = (range.end / step + 1e-9).floor() as i64;
    let text = |value: f64| match (log, value as i64) {
        (true, 0..=3) => format!("{:.0}", 10f64.powf(value)),
        (true, -2..0) => format!("{:.*}", -value as usize, 10f64.powf(value)),
        (true, power) => format!("1e{power}"),
        (false, _) => format!("{value:.digits$}"),
    };
    (first..=last).map(|k| k as f64 * step).map(|value| (value, text(value))).collect()
}

/// Writes a picture of so many pixels, with rows of panels, to a PNG file.
pub fn save(path: &Path, size: (u32, u32), rows: &[&[Panel]]) -> Result<(), Box<dyn Error>> {
    let (width, height) = (FINE as u32 * size.0, FINE as u32 * size.1);
    let mut fine = vec![255; (3 * width * height) as usize];
    let drawn = draw_rows(&mut fine, (width, height), rows);
    drawn.map_err(|error| format!("cannot draw: {error}"))?;

    let byte = |x: u32, y: u32, c: u32| u32::from(fine[(3 * (y * width + x) + c) as usize]);
    let mut pixels = Vec::with_capacity((3 * size.0 * size.1) as usize);
    for y in 0..size.1 {
        for x in 0..size.0 {
            for c in 0..3 {
                let sum = byte(2 * x, 2 * y, c)
                    + byte(2 * x + 1, 2 * y, c)
                    + byte(2 * x, 2 * y + 1, c)
                    + byte(2 * x + 1, 2 * y + 1, c);
                pixels.push((sum / 4) as u8);
            }
        }
    }
    write_png(path, size, &pixels).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

fn draw_rows(buffer: &mut [u8], size: (u32, u32), rows: &[&[Panel]]) -> Result<(), Box<dyn Error>> {
    let picture = BitMapBackend::with_buffer(buffer, size).into_drawing_area();
    for (row, area) in rows.iter().zip(picture.split_evenly((rows.len(), 1))) {
        let total: f64 = row.iter().map(|panel| panel.share).sum();
        let mut rest = area;
        let mut left = total;
        for panel in *row {
            let width = f64::from(rest.dim_in_pixel().0) * panel.share / left;
            let (here, after) = rest.split_horizontally(width.round() as i32);
            panel.draw(&here).map_err(|error| error.to_string())?;
            left -= panel.share;
            rest = after;
        }
    }
    Ok(picture.present()?)
}

fn write_png(path: &Path, (width, height): (u32, u32), pixels: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Best);
    encoder.set_filter(png::FilterType::Paeth);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}
