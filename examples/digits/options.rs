//! The command line.

use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
Trains a 64-32-10 perceptron on 8 x 8 images of handwritten digits.

Usage: digits [options]

  --gpu          train on a GPU, and compare the first steps with the CPU
  --epochs N     passes over the training images (default 40)
  --out FILE     where to write the picture (default digits.png)
  --help         print this

Exit code: 0 when at least 96 % of the test images are read rightly, which takes about 20 epochs; 1 otherwise;
2 when the options are wrong.
";

/// What the command line asks for.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Print [`HELP`] and do nothing else.
    pub help: bool,
    /// Train on a GPU.
    pub gpu: bool,
    /// Passes over the training images, at least 1.
    pub epochs: usize,
    /// Where to write the picture.
    pub out: PathBuf,
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// A sentence that says which argument is wrong.
pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options { help: false, gpu: false, epochs: 40, out: PathBuf::from("digits.png") };
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => options.help = true,
            "--gpu" => options.gpu = true,
            "--out" => options.out = PathBuf::from(value()?),
            "--epochs" => {
                let text = value()?;
                options.epochs = text
                    .parse()
                    .ok()
                    .filter(|&n| n > 0)
                    .ok_or_else(|| format!("--epochs needs a whole number above 0, not `{text}`"))?;
            }
            _ => return Err(format!("unknown option `{argument}`")),
        }
    }
    Ok(options)
}
