//! Colors, and scales from numbers to colors.

use plotters::prelude::RGBColor;

/// Of text.
pub const INK: RGBColor = RGBColor(45, 45, 50);
/// Of what is less important.
pub const GRAY: RGBColor = RGBColor(150, 150, 155);
/// Of what is hardly important.
pub const SILVER: RGBColor = RGBColor(195, 195, 200);
/// Of the ground of an area.
pub const PAPER: RGBColor = RGBColor(243, 244, 248);
/// Of the first of several lines.
pub const BLUE: RGBColor = RGBColor(35, 105, 180);
/// Of the second.
pub const ORANGE: RGBColor = RGBColor(230, 120, 25);
/// Of the third.
pub const GREEN: RGBColor = RGBColor(50, 145, 90);
/// Of bands and bars behind blue lines.
pub const PALE_BLUE: RGBColor = RGBColor(200, 220, 242);
/// Of the lines of a grid.
pub(super) const GRID: RGBColor = RGBColor(226, 226, 230);

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
