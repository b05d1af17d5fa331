//! Records through both formats: what comes back, the names in the files, and every error.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

use array_dsl::prelude::*;
use ndarray::{Array1, Array2, Array3, ShapeBuilder, array};

#[derive(Record, Clone, Debug, PartialEq)]
struct Layer {
    w: Array2<f32>,
    r#type: u32,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Everything {
    layer: Layer,
    pair: (Array1<f64>, i64),
    mask: Array1<bool>,
    counts: Array1<i32>,
    empty: Array3<f64>,
    scale: f64,
}

/// As `Everything` has it, with another type, rank and name for each of its arrays.
#[derive(Record, Debug)]
struct OtherElement {
    counts: Array1<i64>,
}
#[derive(Record, Debug)]
struct OtherRank {
    counts: Array2<i32>,
}
#[derive(Record, Debug)]
struct OtherName {
    amounts: Array1<i32>,
}
#[derive(Record, Debug)]
struct Part {
    scale: f64,
}

fn everything() -> Everything {
    // Columns one after the other, and NaN and both ends of integers among the elements.
    let mut w = Array2::zeros((2, 3).f());
    w.iter_mut().zip(0u8..).for_each(|(w, k)| *w = f32::from(k) - 1.5);
    Everything {
        layer: Layer { w, r#type: u32::MAX },
        pair: (array![0.1, f64::INFINITY, -0.0], i64::MIN),
        mask: array![true, false, true],
        counts: array![i32::MIN, 0, i32::MAX],
        empty: Array3::zeros((2, 0, 3)),
        scale: 0.5,
    }
}

/// A file that is removed in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Temporary {
        Temporary(env::temp_dir().join(format!("array-dsl-{}-{name}", process::id())))
    }
    fn name(&self) -> String {
        self.0.display().to_string()
    }
}

impl AsRef<Path> for Temporary {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

macro_rules! format_tests {
    ($format:ident, $of_i32:literal) => {
        mod $format {
            use array_dsl_adapters::$format;

            use super::*;

            #[test]
            fn every_array_comes_back() {
                let file = Temporary::new(concat!("all.", stringify!($format)));
                $format::save(&everything(), &file).unwrap();
                assert_eq!($format::load::<Everything>(&file).unwrap(), everything());
                assert_eq!($format::load_like(&everything(), &file).unwrap(), everything());
                // Other arrays are not looked at.
                assert_eq!($format::load::<Part>(&file).unwrap().scale, 0.5);
            }

            #[test]
            fn errors_name_the_field() {
                let file = Temporary::new(concat!("errors.", stringify!($format)));
                $format::save(&everything(), &file).unwrap();
                let name = file.name();
                let text = |error: array_dsl_adapters::files::Error| error.to_string();
                assert_eq!(
                    $format::load::<OtherElement>(&file).map_err(text).unwrap_err(),
                    format!("{name}: field `counts`: expected elements `i64`, found `{}`", $of_i32)
                );
                assert_eq!(
                    $format::load::<OtherRank>(&file).map_err(text).unwrap_err(),
                    format!("{name}: field `counts`: expected 2 dimensions, found 1 [3]")
                );
                assert_eq!(
                    $format::load::<OtherName>(&file).map_err(text).unwrap_err(),
                    format!(
                        "{name}: field `amounts`: there is no array of this name, but `counts`, `empty`, `layer.type`, \
                         `layer.w`, `mask`, `pair.0`, `pair.1`, `scale`"
                    )
                );
                let mut other = everything();
                other.layer.w = Array2::zeros((3, 2));
                assert_eq!(
                    $format::load_like(&other, &file).map_err(text).unwrap_err(),
                    format!("{name}: field `layer.w`: expected the dimensions [3, 2], found [2, 3]")
                );
            }

            #[test]
            fn what_is_no_file_of_the_format_is_an_error() {
                let file = Temporary::new(concat!("none.", stringify!($format)));
                assert!($format::load::<Part>(&file).unwrap_err().to_string().starts_with(&file.name()));
                fs::write(&file, b"no arrays in here").unwrap();
                assert!($format::load::<Part>(&file).unwrap_err().to_string().starts_with(&file.name()));
            }
        }
    };
}

format_tests!(safetensors, "I32");
format_tests!(npz, "'<i4'");
