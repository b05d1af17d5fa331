//! What a panel shows.

use std::ops::Range;

use ndarray::Array2;
use plotters::prelude::RGBColor;

use super::color::Scale;

/// A place in a chart.
pub(super) type Point = (f64, f64);

/// Something that is drawn, in the order of drawing.
pub(super) enum Layer {
    Line(Vec<Point>, RGBColor, u32),
    Dots(Vec<Point>, RGBColor, i32),
    Area(Vec<Point>, RGBColor),
    Image(Array2<RGBColor>),
}

/// A chart or an image, with its title.
pub struct Panel {
    pub(super) title: String,
    /// The text below.
    pub(super) bottom: String,
    pub(super) legend: Vec<(String, RGBColor)>,
    pub(super) layers: Vec<Layer>,
    pub(super) x: Option<Range<f64>>,
    pub(super) y: Option<Range<f64>>,
    pub(super) log: bool,
    pub(super) names: Option<Vec<(f64, String)>>,
    pub(super) letters: String,
    pub(super) image: Option<(usize, usize)>,
    pub(super) share: f64,
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
    pub(super) fn extent(&self, of: fn(&Point) -> f64, margin: f64) -> Range<f64> {
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
}

/// Values over their numbers, from 0 on.
pub fn numbered<'a>(values: impl IntoIterator<Item = &'a f64>) -> impl Iterator<Item = (f64, f64)> {
    values.into_iter().enumerate().map(|(k, v)| (k as f64, *v))
}
