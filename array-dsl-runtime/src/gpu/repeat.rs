//! Loops of steps.
//!
//! ```text
//! states = starts;   for trip in 0..count { steps;  states = nexts }
//! ```
//!
//! * The host goes through the trips and records their steps; nothing is waited for. The number of the trip is a host
//!   scalar. Only a loop that goes on while something on the device is true waits, now and then: a trip too many changes
//!   nothing, so the host looks after 1, 3, 7, .. trips, and in the end every 32. It makes no more trips than the device is
//!   set to allow.
//! * After a failure a loop ends soon: with the condition the status is read, and of other loops it is watched.
//! * Arrays are handles of shared memory, so a state becomes its next value without a copy, whatever else has that
//!   memory. Whoever wants to change an array takes its memory over if no other handle has it, and copies it if one does.

use std::sync::atomic::Ordering::Relaxed;

use super::execute::{Run, ScalarValue};
use super::plan::Body;
use super::pool::{GpuBuffer, MOST};
use crate::error::Error;
use crate::program::{Carried, GpuStep, Trips};

/// The most trips between two looks at a condition on the device.
const MOST_UNWATCHED: u64 = 32;

impl Run<'_> {
    /// See the module header.
    pub(super) async fn repeat(
        &mut self,
        trips: &'static Trips,
        carried: &'static [Carried],
        steps: &'static [GpuStep],
        body: &Body,
    ) -> Result<(), Error> {
        self.change_states(carried, |c| c.start).await?;
        for array in &body.spent {
            self.buffers[*array] = None;
        }
        match trips {
            Trips::For { index, atom, count } => {
                let count = self.value(count).await?.unwrap_or(i64::MAX);
                let count = i32::try_from(count.max(0)).ok().filter(|n| *n as usize <= MOST);
                let count = count.ok_or_else(|| Error::UnsupportedOnGpu {
                    kernel: self.program.name,
                    what: "a loop makes more than 2^30 trips".into(),
                    help: "make fewer trips, or run it on the CPU".into(),
                })?;
                for trip in 0..count {
                    self.number(*index, *atom, trip);
                    self.trip(carried, steps, body).await?;
                    self.look().await?;
                }
            }
            Trips::While(condition) => {
                let most = self.gpu.most_trips.load(Relaxed);
                let (mut unwatched, mut made) = (1, 0);
                while self.is_true(*condition).await? {
                    let trips = unwatched.min(most - made);
                    if trips == 0 {
                        return Err(Error::TooManyTrips { kernel: self.program.name, trips: most });
                    }
                    for _ in 0..trips {
                        self.trip(carried, steps, body).await?;
                    }
                    made += trips;
                    unwatched = (2 * unwatched).min(MOST_UNWATCHED);
                }
            }
        }
        Ok(())
    }

    async fn trip(
        &mut self,
        carried: &'static [Carried],
        steps: &'static [GpuStep],
        body: &Body,
    ) -> Result<(), Error> {
        self.steps(steps, &body.steps).await?;
        self.change_states(carried, |c| c.next).await?;
        for array in &body.locals {
            self.buffers[*array] = None;
        }
        self.gpu.state().recorder.submit_much(self.gpu);
        self.gpu.keep_pace().await
    }

    /// All states change at once.
    async fn change_states(
        &mut self,
        carried: &'static [Carried],
        value: fn(&Carried) -> usize,
    ) -> Result<(), Error> {
        let mut values: Vec<GpuBuffer> = Vec::new();
        for c in carried {
            values.push(self.buffer(value(c)).await?);
        }
        for (c, value) in carried.iter().zip(values) {
            let state = self.plan.roots[c.state];
            self.buffers[state] = Some(value);
        }
        Ok(())
    }

    /// Sets the number of the trip.
    fn number(&mut self, index: usize, atom: u16, trip: i32) {
        let index = self.plan.roots[index];
        self.scalars.insert(index, ScalarValue::Known(u64::from(trip.cast_unsigned())));
        self.buffers[index] = None;
        self.atoms.set(atom, i64::from(trip));
    }

    /// `GpuStep::Move`.
    pub(super) async fn take_over(&mut self, to: usize, from: usize) -> Result<(), Error> {
        let source = self.buffer(from).await?;
        self.buffers[self.plan.roots[from]] = None;
        let buffer = if source.is_shared() {
            let name = self.program.arrays[to].name;
            let (copy, _) =
                self.gpu.allocate(source.len(), self.program.arrays[to].elem, self.program.name, name)?;
            self.gpu.state().recorder.copy((source.raw(), 0), (copy.raw(), 0), source.bytes());
            copy
        } else {
            source
        };
        self.buffers[self.plan.roots[to]] = Some(buffer);
        Ok(())
    }

    /// Whether the one element of an array is true; waited for.
    async fn is_true(&mut self, array: usize) -> Result<bool, Error> {
        let buffer = self.buffer(array).await?;
        Ok(self.read_bits(&[buffer]).await?.iter().any(|bits| *bits != 0))
    }
}
