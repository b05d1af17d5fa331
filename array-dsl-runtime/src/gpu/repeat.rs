//! Loops of steps.
//!
//! ```text
//! states = starts;   for trip in 0..count { steps;  states = nexts }
//! ```
//!
//! * The host goes through the trips and records their steps; nothing is waited for. The number of the trip is a host
//!   scalar. Only a loop that goes on while something on the device is true waits: before each trip.
//! * Arrays are handles of shared memory, so a state becomes its next value without a copy, whatever else has that
//!   memory. Whoever wants to change an array takes its memory over if no other handle has it, and copies it if one does.

use super::execute::{Run, ScalarValue};
use super::plan::Body;
use super::pool::GpuBuffer;
use crate::error::Error;
use crate::program::{Carried, GpuStep, Trips};

impl Run<'_> {
    /// See the module header.
    pub(super) fn repeat(
        &mut self,
        trips: &'static Trips,
        carried: &'static [Carried],
        steps: &'static [GpuStep],
        body: &Body,
    ) -> Result<(), Error> {
        self.change_states(carried, |c| c.start)?;
        for array in &body.spent {
            self.buffers[*array] = None;
        }
        match trips {
            Trips::For { index, atom, count } => {
                let count = count.eval(&self.atoms).unwrap_or(i64::MAX);
                let count = i32::try_from(count.max(0)).map_err(|_| Error::UnsupportedOnGpu {
                    kernel: self.program.name,
                    what: "a loop makes more trips than 31 bits can count".into(),
                    help: "make fewer trips, or run it on the CPU".into(),
                })?;
                for trip in 0..count {
                    self.number(*index, *atom, trip);
                    self.trip(carried, steps, body)?;
                }
            }
            Trips::While(condition) => {
                while self.read_word(*condition)? != 0 {
                    self.trip(carried, steps, body)?;
                }
            }
        }
        Ok(())
    }

    fn trip(
        &mut self,
        carried: &'static [Carried],
        steps: &'static [GpuStep],
        body: &Body,
    ) -> Result<(), Error> {
        self.steps(steps, &body.steps)?;
        self.change_states(carried, |c| c.next)?;
        for array in &body.locals {
            self.buffers[*array] = None;
        }
        Ok(())
    }

    /// All states change at once.
    fn change_states(
        &mut self,
        carried: &'static [Carried],
        value: impl Fn(&Carried) -> usize,
    ) -> Result<(), Error> {
        let values: Vec<GpuBuffer> =
            carried.iter().map(|c| self.buffer(value(c))).collect::<Result<_, _>>()?;
        for (c, value) in carried.iter().zip(values) {
            let state = self.plan.roots[c.state];
            self.buffers[state] = Some(value);
        }
        Ok(())
    }

    /// Sets the number of the trip.
    fn number(&mut self, index: usize, atom: u16, trip: i32) {
        let index = self.plan.roots[index];
        self.scalars.insert(index, ScalarValue::Known(trip.cast_unsigned()));
        self.buffers[index] = None;
        self.set_atom(atom, i64::from(trip));
    }

    fn set_atom(&mut self, atom: u16, value: i64) {
        let at = usize::from(atom);
        if self.atoms.len() <= at {
            self.atoms.resize(at + 1, 0);
        }
        self.atoms[at] = value;
    }

    /// `GpuStep::ReadSize`.
    pub(super) fn read_size(&mut self, array: usize, atom: u16) -> Result<(), Error> {
        let value = self.read_word(array)?.cast_signed();
        self.set_atom(atom, i64::from(value));
        Ok(())
    }

    /// `GpuStep::Move`.
    pub(super) fn take_over(&mut self, to: usize, from: usize) -> Result<(), Error> {
        let source = self.buffer(from)?;
        self.buffers[self.plan.roots[from]] = None;
        let buffer = if source.is_shared() {
            let name = self.program.arrays[to].name;
            let (copy, _) = self.gpu.allocate(source.len(), self.program.name, name)?;
            self.state.recorder.copy((source.raw(), 0), (copy.raw(), 0), source.bytes());
            copy
        } else {
            source
        };
        self.buffers[self.plan.roots[to]] = Some(buffer);
        Ok(())
    }

    /// The one element of an array, waited for.
    fn read_word(&mut self, array: usize) -> Result<u32, Error> {
        let buffer = self.buffer(array)?;
        self.gpu.read_word(self.state, &buffer)
    }
}
