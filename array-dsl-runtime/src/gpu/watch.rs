//! Looking at a run's status while the run is recorded, so that a long loop of steps ends soon after a failure.
//!
//! Nothing is waited for. The words are copied to the host at the end of one batch and read many batches later, when the
//! device is through with that batch: the recorder lets it be no more than [`AHEAD`] behind.

use super::execute::Run;
use super::record::AHEAD;
use super::status::{STATUS_BYTES, Status};
use super::transfer::copy_statuses;
use super::wait::Submission;
use crate::error::Error;

/// Batches between two looks.
const BETWEEN: u64 = 2 * AHEAD as u64;

/// When a run's status is looked at.
#[derive(Default)]
pub(super) struct Watch {
    /// The number of the batch from which on the next look is due.
    due: u64,
    under_way: Option<Look>,
}

/// Words on their way to the host.
struct Look {
    staging: wgpu::Buffer,
    submission: Option<Submission>,
    /// Whose words come first.
    before: Vec<Status>,
    bytes: u64,
}

impl Watch {
    /// A first look is due a while after this batch.
    pub(super) fn from(batch: u64) -> Watch {
        Watch { due: batch + BETWEEN, under_way: None }
    }
}

impl Run<'_> {
    /// The failure that an earlier look has found, if one is due.
    pub(super) async fn look(&mut self) -> Result<(), Error> {
        let batch = self.gpu.pool.batch();
        if batch < self.watch.due {
            return Ok(());
        }
        self.watch.due = batch + BETWEEN;
        if let Some(Look { staging, submission, before, bytes }) = self.watch.under_way.take() {
            let mut words = Vec::new();
            let mut read = |all: &[u8]| words.extend_from_slice(all);
            self.gpu.read_recorded(&staging, submission, bytes, &mut read).await?;
            self.gpu.keep(staging);
            self.gpu.failures.of(self.batches())?;
            self.fail_by(&before, &words)?;
        }
        let before = self.unread_before();
        let statuses: Vec<Status> = before.iter().chain(&self.own).cloned().collect();
        if statuses.is_empty() {
            return Ok(());
        }
        let bytes = statuses.len() as u64 * STATUS_BYTES;
        let staging = self.gpu.staging(bytes)?;
        let submission = {
            let recorder = &mut self.gpu.state().recorder;
            copy_statuses(recorder, &statuses, &staging, 0);
            recorder.submit(self.gpu)
        };
        self.watch.under_way = Some(Look { staging, submission, before, bytes });
        Ok(())
    }
}
