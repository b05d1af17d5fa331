//! The images: reading them, parting them into training and test sets, and cutting minibatches.

use ndarray::{Array1, Array2, Axis};

use crate::random::Random;

/// Pixels along one side of an image.
pub const SIDE: usize = 8;
/// Number of classes, the ten digits.
pub const CLASSES: usize = 10;

const CSV: &str = include_str!("digits.csv");
const SPLIT_SEED: u64 = 1;
const ORDER_SEED: u64 = 2;

/// Images, one to a row with pixels in 0..1, and their labels.
pub struct Images {
    /// Pixels, of shape (number of images, `SIDE * SIDE`).
    pub x: Array2<f32>,
    /// Labels, 0 to 9.
    pub y: Array1<i32>,
}

impl Images {
    /// Number of images.
    pub fn len(&self) -> usize {
        self.y.len()
    }

    fn select(&self, rows: &[usize]) -> Images {
        Images { x: self.x.select(Axis(0), rows), y: self.y.select(Axis(0), rows) }
    }

    /// The minibatches of one epoch in an order that depends on the epoch alone. The last one is smaller when
    /// `size` does not divide the number of images.
    pub fn minibatches(&self, epoch: usize, size: usize) -> Vec<Images> {
        let order = Random::new(ORDER_SEED.wrapping_add((epoch as u64) << 32)).permutation(self.len());
        order.chunks(size).map(|rows| self.select(rows)).collect()
    }
}

/// The data set in a fixed random order, the first four fifths for training and the rest for testing.
///
/// # Errors
/// If the file that was compiled in is not the one described in `ORIGIN.md`.
pub fn load() -> Result<(Images, Images), Box<dyn std::error::Error>> {
    let all = parse(CSV)?;
    let order = Random::new(SPLIT_SEED).permutation(all.len());
    let (train, test) = order.split_at(all.len() * 4 / 5);
    Ok((all.select(train), all.select(test)))
}

fn parse(csv: &str) -> Result<Images, Box<dyn std::error::Error>> {
    let mut pixels = Vec::new();
    let mut labels = Vec::new();
    for (i, line) in csv.lines().enumerate() {
        let row = line.split(',').map(str::parse).collect::<Result<Vec<u8>, _>>();
        let row = row.map_err(|e| format!("digits.csv, line {}: {e}", i + 1))?;
        match row.split_last() {
            Some((&label, image)) if image.len() == SIDE * SIDE && usize::from(label) < CLASSES => {
                pixels.extend(image.iter().map(|&p| f32::from(p) / 16.0));
                labels.push(i32::from(label));
            }
            _ => return Err(format!("digits.csv, line {}: not 64 pixels and a digit", i + 1).into()),
        }
    }
    Ok(Images { x: Array2::from_shape_vec((labels.len(), SIDE * SIDE), pixels)?, y: Array1::from(labels) })
}
