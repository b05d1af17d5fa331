//! A panel on a bitmap.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::FINE;
use super::color::{GRID, INK};
use super::panel::{Layer, Panel, Point};
use crate::font::{self, DrawResult};

/// Drawn pixels to a dot of the text.
const DOT: i32 = 3;

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type Drawn<'a> = DrawResult<BitMapBackend<'a>>;

/// Where a panel's chart or image lies on its area, in drawn pixels, and what it shows there.
struct Frame {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
    x: Range<f64>,
    y: Range<f64>,
}

impl Frame {
    fn new(panel: &Panel, (width, height): (i32, i32)) -> Self {
        let (left, right) = if panel.image.is_some() { (24, width - 8) } else { (110, width - 24) };
        let (top, bottom) = (
            if panel.letters.is_empty() { 76 } else { 96 },
            height - if panel.image.is_some() { 60 } else { 90 },
        );
        let (left, right, top, bottom) = match panel.image {
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
        let x = panel.x.clone().unwrap_or_else(|| panel.extent(|p| p.0, 0.0));
        let y = panel.y.clone().unwrap_or_else(|| panel.extent(|p| p.1, 0.06));
        Self { left, right, top, bottom, x, y }
    }

    fn across(&self, v: f64) -> i32 {
        let part = (v - self.x.start) / (self.x.end - self.x.start);
        self.left + (f64::from(self.right - self.left) * part).round() as i32
    }

    fn up(&self, v: f64) -> i32 {
        let part = (v - self.y.start) / (self.y.end - self.y.start);
        self.bottom - (f64::from(self.bottom - self.top) * part).round() as i32
    }

    fn place(&self, p: &Point) -> (i32, i32) {
        (self.across(p.0), self.up(p.1))
    }

    fn finite(&self, points: &[Point]) -> Vec<(i32, i32)> {
        points.iter().filter(|p| p.0.is_finite() && p.1.is_finite()).map(|p| self.place(p)).collect()
    }
}

impl Panel {
    pub(super) fn draw<'a>(&self, area: &Area<'a>) -> Drawn<'a> {
        let (width, height) = area.dim_in_pixel();
        let frame = Frame::new(self, (width as i32, height as i32));
        if self.image.is_none() {
            self.axes(area, &frame)?;
        }
        self.layers.iter().try_for_each(|layer| layer.draw(area, &frame))?;
        self.words(area, &frame)
    }

    /// A grid with its numbers.
    fn axes<'a>(&self, area: &Area<'a>, f: &Frame) -> Drawn<'a> {
        for (value, text) in self.names.clone().unwrap_or_else(|| ticks(&f.y, self.log)) {
            let y = f.up(value);
            area.draw(&PathElement::new([(f.left, y), (f.right, y)], GRID.stroke_width(2)))?;
            let (w, h) = font::extent(&text, DOT);
            font::draw(area, &text, (f.left - w - 12, y - h / 2), DOT, INK)?;
        }
        let width = area.dim_in_pixel().0 as i32;
        for (value, text) in ticks(&f.x, false) {
            let x = f.across(value);
            area.draw(&PathElement::new([(x, f.top), (x, f.bottom)], GRID.stroke_width(2)))?;
            let w = font::extent(&text, DOT).0;
            font::draw(area, &text, ((x - w / 2).min(width - w), f.bottom + 12), DOT, INK)?;
        }
        Ok(())
    }

    /// Letters beside an image, the title with the legend, and the line below.
    fn words<'a>(&self, area: &Area<'a>, f: &Frame) -> Drawn<'a> {
        for (k, letter) in self.letters.chars().enumerate() {
            let text = letter.to_string();
            let (w, h) = font::extent(&text, DOT);
            let (column, row) = f.place(&(k as f64 + 0.5, k as f64 + 0.5));
            font::draw(area, &text, (f.left - w - 8, row - h / 2), DOT, INK)?;
            font::draw(area, &text, (column - w / 2, f.top - h - 8), DOT, INK)?;
        }
        let middle = |text: &str| ((f.left + f.right - font::extent(text, DOT).0) / 2).max(0);
        let mut words = vec![(self.title.clone(), INK)];
        words.extend(self.legend.iter().cloned());
        words.retain(|(word, _)| !word.is_empty());
        let line = words.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>().join("  ");
        let mut at = if self.image.is_some() { middle(&line) } else { f.left };
        for (word, color) in &words {
            let above = if self.letters.is_empty() { 44 } else { 70 };
            font::draw(area, word, (at, f.top - above), DOT, *color)?;
            at += font::extent(&format!("{word}  "), DOT).0 + DOT;
        }
        let under = f.bottom + if self.image.is_some() { 22 } else { 52 };
        font::draw(area, &self.bottom, (middle(&self.bottom), under), DOT, INK)
    }
}

impl Layer {
    fn draw<'a>(&self, area: &Area<'a>, f: &Frame) -> Drawn<'a> {
        match self {
            Layer::Line(points, color, size) => {
                // Segment by segment with round joints: the mitered ones of a longer path are spikes where it turns back.
                let (points, width) = (f.finite(points), size * FINE as u32);
                for ends in points.windows(2) {
                    area.draw(&PathElement::new(ends, color.stroke_width(width)))?;
                    area.draw(&Circle::new(ends[1], width as i32 / 2, color.filled()))?;
                }
            }
            Layer::Dots(points, color, size) => {
                for p in f.finite(points) {
                    area.draw(&Circle::new(p, size * FINE / 2, color.filled()))?;
                }
            }
            Layer::Area(points, color) => area.draw(&Polygon::new(f.finite(points), color.filled()))?,
            Layer::Image(colors) => {
                for ((i, j), color) in colors.indexed_iter() {
                    let corners = [(j as f64, i as f64), ((j + 1) as f64, (i + 1) as f64)];
                    area.draw(&Rectangle::new(corners.map(|p| f.place(&p)), color.filled()))?;
                }
            }
        }
        Ok(())
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
