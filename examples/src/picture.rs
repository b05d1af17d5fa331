//! Pictures of panels side by side, each an image or a chart.
//!
//! A picture is drawn at twice its size and averaged, which makes smooth lines of plotters' bitmaps.

mod color;
mod draw;
mod panel;

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use plotters::prelude::*;

pub use self::color::{
    BLUE, GRAY, GREEN, INK, ORANGE, PALE_BLUE, PAPER, SILVER, Scale, blue_red, gray, inferno, viridis,
};
pub use self::panel::{Panel, numbered};

/// Pixels that are drawn for one of the picture, in each direction.
const FINE: i32 = 2;

/// Writes a picture of so many pixels, with rows of panels, to a PNG file.
///
/// # Errors
/// If it cannot be drawn or written, with the file's name.
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
