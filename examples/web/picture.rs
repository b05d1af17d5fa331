//! A screenshot as pixels.

use std::error::Error;
use std::path::Path;

/// Red, green and blue.
pub type Color = [u8; 3];

/// See the module header.
pub struct Picture {
    width: usize,
    colors: Vec<Color>,
}

impl Picture {
    /// Reads a PNG file with 8 bits to a channel.
    ///
    /// # Errors
    /// It is none.
    pub fn read(path: &Path) -> Result<Picture, Box<dyn Error>> {
        let cannot = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let file = std::fs::File::open(path).map_err(|e| cannot(&e))?;
        let mut reader = png::Decoder::new(file).read_info().map_err(|e| cannot(&e))?;
        let mut bytes = vec![0; reader.output_buffer_size()];
        let info = reader.next_frame(&mut bytes).map_err(|e| cannot(&e))?;
        let channels = match (info.color_type, info.bit_depth) {
            (png::ColorType::Rgb, png::BitDepth::Eight) => 3,
            (png::ColorType::Rgba, png::BitDepth::Eight) => 4,
            other => return Err(cannot(&format!("{other:?} is not expected")).into()),
        };
        let colors = bytes[..info.buffer_size()].chunks_exact(channels).map(|c| [c[0], c[1], c[2]]).collect();
        Ok(Picture { width: info.width as usize, colors })
    }

    /// The color at a place; black outside.
    pub fn at(&self, x: usize, y: usize) -> Color {
        let inside = (x < self.width).then(|| self.colors.get(y * self.width + x).copied());
        inside.flatten().unwrap_or_default()
    }

    /// How far a color goes to the right from a place.
    pub fn run(&self, x: usize, y: usize, is_of: impl Fn(Color) -> bool) -> usize {
        (x..self.width).take_while(|x| is_of(self.at(*x, y))).count()
    }
}

/// Whether two colors are the same but for how they are rounded.
pub fn alike(a: Color, b: Color) -> bool {
    a.iter().zip(b).all(|(a, b)| a.abs_diff(b) <= 4)
}
