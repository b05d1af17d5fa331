//! Examples of the thesis, and random terms.

mod brute;
mod examples;
mod notation;
mod random;

use notation::{environment, term};

use super::*;
