//! Index errors found by shaders. A shader cannot stop a program: it writes down the first failure in the
//! status buffer of the device and goes on with a harmless value. Downloads bring the words of the status
//! along.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | 0, or 1 + the number of the failing place among the places of all programs of the device |
//! | 1 | the index, as the bits of an `i32` |
//! | 2 | the length, likewise; -1 for an integer division by zero, -2 for the place of an extremum of nothing |
//!
//! Word 0 is set first, by compare-and-exchange, and downloads come after whole dispatches, so all three
//! belong together.

use crate::error::Error;
use crate::program::Site;

/// The bytes of the status buffer.
pub(super) const STATUS_BYTES: u64 = 16;

/// The status buffer of a device, all zero.
pub(super) fn buffer(device: &wgpu::Device) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("status"),
        size: STATUS_BYTES,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// The places of all programs that a device has met, numbered.
#[derive(Debug, Default)]
pub(super) struct Sites {
    /// Each list with the number of its first place.
    lists: Vec<(u32, &'static [Site])>,
    next: u32,
}

impl Sites {
    /// Numbers the places of a program that the device has not met yet.
    pub(super) fn add(&mut self, sites: &'static [Site]) -> u32 {
        let base = self.next;
        if !sites.is_empty() {
            self.lists.push((base, sites));
            // The last number is not given away, because the status holds the number plus one.
            self.next = base.saturating_add(u32::try_from(sites.len()).unwrap_or(u32::MAX));
        }
        base
    }

    /// The error that the words of the status tell of.
    pub(super) fn error(&self, words: [u32; 4]) -> Result<(), Error> {
        let [number, index, length, _] = words;
        let Some(number) = number.checked_sub(1) else { return Ok(()) };
        let at = self.lists.partition_point(|(base, _)| *base <= number);
        let site = at.checked_sub(1).and_then(|i| {
            let (base, sites) = self.lists[i];
            sites.get((number - base) as usize)
        });
        let Some(&Site { kernel, file, line }) = site else {
            return Err(Error::Gpu {
                message: format!("a shader failed at a place that does not exist ({number})"),
            });
        };
        Err(match length.cast_signed() {
            -1 => Error::DivisionByZero { kernel, file, line },
            -2 => Error::EmptyExtremum { kernel, file, line },
            length => {
                let (index, length) = (i64::from(index.cast_signed()), i64::from(length));
                Error::IndexOutOfRange { kernel, index, length, file, line }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: [Site; 2] =
        [Site { kernel: "f", file: "a.rs", line: 1 }, Site { kernel: "f", file: "a.rs", line: 2 }];
    const G: [Site; 1] = [Site { kernel: "g", file: "b.rs", line: 3 }];

    #[test]
    fn numbers_lead_back_to_places() {
        let mut sites = Sites::default();
        assert_eq!((sites.add(&F), sites.add(&[]), sites.add(&G)), (0, 2, 2));
        assert_eq!(sites.error([0, 9, 9, 0]), Ok(()));
        let minus_five = (-5i32).cast_unsigned();
        assert_eq!(
            sites.error([2, minus_five, 4, 0]),
            Err(Error::IndexOutOfRange { kernel: "f", index: -5, length: 4, file: "a.rs", line: 2 })
        );
        assert_eq!(
            sites.error([3, 0, u32::MAX, 0]),
            Err(Error::DivisionByZero { kernel: "g", file: "b.rs", line: 3 })
        );
        assert_eq!(
            sites.error([1, 0, u32::MAX - 1, 0]),
            Err(Error::EmptyExtremum { kernel: "f", file: "a.rs", line: 1 })
        );
        assert!(matches!(sites.error([4, 0, 1, 0]), Err(Error::Gpu { .. })));
    }
}
