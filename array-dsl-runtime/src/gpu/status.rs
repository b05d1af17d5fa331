//! What goes wrong in shaders. A shader cannot stop a program: it writes the first failure into the words of its run's
//! status and goes on with a harmless value.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | 0, or 1 + the number of the failing place among the places of all programs of the device |
//! | 1 | the index, as the bits of an `i32` |
//! | 2 | the length, likewise; -1 for an integer division by zero, -2 for the place of an extremum of nothing, -3 for a `while` that makes more trips than the index, -4 for loops in loops that make more than 2^30 |
//!
//! Word 0 is set first, by compare-and-exchange, and whoever reads comes after whole dispatches, so all three belong
//! together.
//!
//! **A failure belongs to the run that made it.** A run whose shaders may fail has words of its own. Its results carry them
//! together with those of the runs that made its arguments, the first run first, and whoever reads a result gets the words
//! along, in the same transfer. What was read is kept: every reader of every result gets the same error, on whatever thread
//! and in whatever order, and a run with a result that is known to have failed fails at once. When the last result is gone,
//! so is the failure. If nothing is read for long the words would become many; then they are combined on the device.

use std::sync::{Arc, OnceLock};

use super::builtin::Builtin;
use super::device::Batches;
use super::execute::{GpuInput, Part, Run};
use super::pool::{GpuBuffer, Owner};
use crate::error::Error;
use crate::program::Site;

/// The number of words.
const WORDS: usize = 4;

/// The bytes of the words.
pub(super) const STATUS_BYTES: u64 = 4 * WORDS as u64;

/// The most statuses that a result carries.
const MOST: usize = 8;

/// The status of a run, or of several.
#[derive(Clone, Debug)]
pub(super) struct Status(Arc<Words>);

#[derive(Debug)]
struct Words {
    on_device: GpuBuffer,
    /// What the host has read after the end of the run.
    read: OnceLock<Result<(), Error>>,
}

impl Status {
    fn new(on_device: GpuBuffer) -> Status {
        Status(Arc::new(Words { on_device, read: OnceLock::new() }))
    }

    /// The words.
    pub(super) fn words(&self) -> &GpuBuffer {
        &self.0.on_device
    }

    /// How the run ended, if the host knows.
    fn known(&self) -> Option<&Result<(), Error>> {
        self.0.read.get()
    }

    /// Whether it is known that nothing failed.
    fn is_fine(&self) -> bool {
        self.known().is_some_and(Result::is_ok)
    }

    fn is(&self, other: &Status) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// What an array depends on: the runs that it and its arguments came from, as far as they may have failed.
#[derive(Clone, Debug, Default)]
pub(super) struct Statuses(Option<Arc<[Status]>>);

impl Statuses {
    fn new(all: &[Status]) -> Statuses {
        Statuses((!all.is_empty()).then(|| all.into()))
    }

    fn all(&self) -> &[Status] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Those that the host has not read.
    pub(super) fn unread(&self) -> Vec<Status> {
        self.all().iter().filter(|s| s.known().is_none()).cloned().collect()
    }

    /// The first failure among those that the host has read.
    pub(super) fn known(&self) -> Result<(), Error> {
        self.all().iter().filter_map(Status::known).find(|r| r.is_err()).cloned().unwrap_or(Ok(()))
    }
}

/// Keeps what was read of statuses whose runs are over.
pub(super) fn settle(statuses: &[Status], bytes: &[u8], error: impl Fn([u32; WORDS]) -> Result<(), Error>) {
    for (status, words) in statuses.iter().zip(bytes.chunks_exact(STATUS_BYTES as usize)) {
        // Nothing is waited for while it is set: the error may be behind a lock that another reader holds.
        let ended = error(words_of(words));
        // Whoever was first has read the same.
        status.0.read.set(ended).ok();
    }
}

/// Words of a status from their bytes.
fn words_of(bytes: &[u8]) -> [u32; WORDS] {
    let mut words = [0u32; WORDS];
    bytemuck::cast_slice_mut::<u32, u8>(&mut words).copy_from_slice(bytes);
    words
}

impl Run<'_> {
    /// Takes over the statuses of the arguments, and words of its own if its shaders may fail. The error of an argument
    /// that is known to have failed.
    pub(super) async fn take_statuses(&mut self, inputs: &[GpuInput<'_>]) -> Result<(), Error> {
        let mut found: Vec<Status> = Vec::new();
        for input in inputs {
            let (GpuInput::Array(buffer) | GpuInput::Computed(buffer)) = input else { continue };
            // Of batches that are submitted it is known; what is not is in the one that this run begins with.
            self.gpu.failures.of(buffer.batches())?;
            self.depend_on(buffer.batches());
            for status in buffer.statuses().all() {
                if !status.is_fine() && !found.iter().any(|s| s.is(status)) {
                    found.push(status.clone());
                }
            }
        }
        // Whether one that is not read yet has failed before a known failure shows when a result is read.
        found.first().and_then(Status::known).cloned().unwrap_or(Ok(()))?;
        let own = usize::from(self.plan.can_fail);
        if found.len() + own > MOST {
            found = vec![self.combined(&found).await?];
        }
        self.before = found;
        if self.plan.can_fail {
            self.own = Some(Status::new(self.words_of_status()?));
        }
        Ok(())
    }

    /// In a browser a batch may turn out later to have failed; then so has this run.
    fn depend_on(&mut self, batches: Batches) {
        if let Some(open) = self.gpu.failures.outstanding().first_batch().filter(|open| *open <= batches.1) {
            self.first_batch = self.first_batch.min(batches.0.max(open));
        }
    }

    fn owner_of_status(&self) -> Owner {
        Owner { kernel: self.program.name, array: "status" }
    }

    /// Words that are all zero.
    fn words_of_status(&mut self) -> Result<GpuBuffer, Error> {
        let (words, is_in_use) = self.gpu.pool.take(WORDS, 4, self.owner_of_status())?;
        self.gpu.state().recorder.clear_early(&words, is_in_use);
        Ok(words)
    }

    /// The first failure of several runs as one status.
    async fn combined(&mut self, statuses: &[Status]) -> Result<Status, Error> {
        let (all, _) = self.gpu.pool.take(statuses.len() * WORDS, 4, self.owner_of_status())?;
        for (status, at) in statuses.iter().zip((0..).step_by(STATUS_BYTES as usize)) {
            self.gpu.state().recorder.copy((status.words().raw(), 0), (all.raw(), at), STATUS_BYTES);
        }
        let (first, _) = self.gpu.pool.take(WORDS, 4, self.owner_of_status())?;
        self.dispatch_builtin(
            Builtin::FirstFailure,
            &[statuses.len() as u32],
            &[&all, &first],
            1,
            Part::default(),
        )
        .await?;
        Ok(Status::new(first))
    }

    /// The statuses of the arguments that the host has not read.
    pub(super) fn unread_before(&self) -> Vec<Status> {
        self.before.iter().filter(|s| s.known().is_none()).cloned().collect()
    }

    /// The first failure that the words tell of: those of runs that are over, then those of this one so far.
    pub(super) fn fail_by(&self, before: &[Status], words: &[u8]) -> Result<(), Error> {
        let error = |words| self.gpu.state().sites.error(words);
        let (over, own) = words.split_at(before.len() * STATUS_BYTES as usize);
        settle(before, over, error);
        Statuses::new(&self.before).known()?;
        own.chunks_exact(STATUS_BYTES as usize).try_for_each(|own| error(words_of(own)))
    }

    /// When this run was recorded, so far.
    pub(super) fn batches(&self) -> Batches {
        Batches(self.first_batch, self.gpu.pool.batch())
    }

    /// A result that carries what it depends on.
    pub(super) fn carrying(&self, buffer: GpuBuffer) -> GpuBuffer {
        let before = self.before.iter().filter(|s| !s.is_fine());
        let all: Vec<Status> = before.chain(&self.own).cloned().collect();
        buffer.made_by(Statuses::new(&all), self.batches())
    }
}

/// Copies the first failure of `words[0].x` statuses, or zeros.
pub(super) const FIRST_FAILURE: &str = "
@group(0) @binding(0) var<uniform> words: array<vec4<u32>, 1>;
@group(0) @binding(2) var<storage, read> statuses: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> first: array<vec4<u32>>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    if wg.x == 0u && local == 0u {
        var found = vec4<u32>();
        for (var i = words[0].x; i > 0u; i -= 1u) {
            if statuses[i - 1u].x != 0u { found = statuses[i - 1u]; }
        }
        first[0] = found;
    }
}
";

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
            let message = format!("a shader failed at place {number}, which no program on this GPU has");
            return Err(Error::Internal { kernel: "", message });
        };
        Err(match length.cast_signed() {
            -1 => Error::DivisionByZero { kernel, file, line },
            -2 => Error::EmptyExtremum { kernel, file, line },
            -3 => Error::TooManyTrips { kernel, trips: u64::from(index) },
            -4 => Error::UnsupportedOnGpu {
                kernel,
                what: format!("loops in loops make more than 2^30 trips ({file}:{line})"),
                help: "make fewer trips, or run it on the CPU".into(),
            },
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
        assert_eq!(
            sites.error([3, 1 << 24, u32::MAX - 2, 0]),
            Err(Error::TooManyTrips { kernel: "g", trips: 1 << 24 })
        );
        assert!(matches!(
            sites.error([3, 0, u32::MAX - 3, 0]),
            Err(Error::UnsupportedOnGpu { kernel: "g", .. })
        ));
        assert!(matches!(sites.error([4, 0, 1, 0]), Err(Error::Internal { .. })));
    }
}
