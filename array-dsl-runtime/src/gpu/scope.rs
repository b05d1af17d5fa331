//! What wgpu has against what it is told to do. It tells the innermost scope that is open.
//!
//! Natively the answer is there when the scope ends. A browser's comes later: until then things are taken to be made, and a
//! failure is that of the batch that was recorded meanwhile. **Nothing that was read from the device is believed before the
//! answers of all that was made until then are in** ([`Failures::hear`]), so that it shows in the same results as it does
//! natively, if under the name of work that was not executed.
//!
//! A scope holds calls only, and nothing is awaited inside: see `wait`.

use std::future::Future;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::device::Failures;

/// Answers that are not there yet.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    /// The number of the next one.
    next: u64,
    /// Their numbers, and those of the batches that were recorded when they were asked for.
    asked: Vec<(u64, u64)>,
    /// Who waits for any of them.
    wakers: Vec<Waker>,
}

#[cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "natively every answer is there at once"))]
impl Outstanding {
    /// Another one is asked for; its number.
    pub(super) fn ask(&mut self, batch: u64) -> u64 {
        let number = self.next;
        self.next += 1;
        self.asked.push((number, batch));
        number
    }

    /// One is there; who is to be told.
    pub(super) fn heard(&mut self, number: u64) -> Vec<Waker> {
        self.asked.retain(|(n, _)| *n != number);
        std::mem::take(&mut self.wakers)
    }

    /// The first batch that may turn out to have failed.
    pub(super) fn first_batch(&self) -> Option<u64> {
        self.asked.iter().map(|(_, batch)| *batch).min()
    }
}

impl Failures {
    /// Waits for all answers that are asked for by now.
    pub(super) fn hear(&self) -> impl Future<Output = ()> {
        let until = self.outstanding().next;
        poll_fn(move |context| {
            let mut outstanding = self.outstanding();
            if outstanding.asked.iter().all(|(number, _)| *number >= until) {
                return Poll::Ready(());
            }
            outstanding.wakers.push(context.waker().clone());
            Poll::Pending
        })
    }
}

/// Runs `make`, which waits for nothing, and returns what wgpu reports about it, if that is known at once. In a browser it is
/// taken to be made, and a failure of it, of `what`, belongs to `batch`.
pub(super) fn scoped<T>(
    device: &wgpu::Device,
    failures: &std::sync::Arc<Failures>,
    batch: u64,
    what: impl FnOnce() -> String,
    make: impl FnOnce() -> T,
) -> Result<T, String> {
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let made = make();
    // Scopes are popped in reverse order.
    let (validation, memory, internal) = (validation.pop(), memory.pop(), internal.pop());
    let first = async move {
        // All of them are awaited, as all have been popped.
        let errors = [validation.await, memory.await, internal.await];
        errors.into_iter().flatten().next().map(|e| e.to_string())
    };
    verdict(failures, batch, what, first).map_or(Ok(made), Err)
}

/// What a scope has heard, if it is known at once.
#[cfg(not(target_arch = "wasm32"))]
fn verdict(
    _: &std::sync::Arc<Failures>,
    _: u64,
    _: impl FnOnce() -> String,
    first: impl Future<Output = Option<String>>,
) -> Option<String> {
    pollster::block_on(first)
}

#[cfg(target_arch = "wasm32")]
fn verdict(
    failures: &std::sync::Arc<Failures>,
    batch: u64,
    what: impl FnOnce() -> String,
    first: impl Future<Output = Option<String>> + 'static,
) -> Option<String> {
    let (failures, what) = (failures.clone(), what());
    let number = failures.outstanding().ask(batch);
    wasm_bindgen_futures::spawn_local(async move {
        if let Some(message) = first.await {
            failures.record_batch(batch, format!("{what}: {message}"));
        }
        let wakers = failures.outstanding().heard(number);
        wakers.into_iter().for_each(Waker::wake);
    });
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::task::Context;

    #[test]
    fn who_hears_waits_for_what_was_asked_before() {
        let failures = Failures::default();
        let first = failures.outstanding().ask(3);
        let second = failures.outstanding().ask(2);
        assert_eq!(failures.outstanding().first_batch(), Some(2));
        let mut hears = pin!(failures.hear());
        let later = failures.outstanding().ask(7);
        let mut context = Context::from_waker(Waker::noop());
        for number in [second, first] {
            assert!(hears.as_mut().poll(&mut context).is_pending());
            assert_eq!(failures.outstanding().heard(number).len(), 1);
        }
        assert!(hears.as_mut().poll(&mut context).is_ready(), "what was asked later is not waited for");
        assert_eq!(failures.outstanding().first_batch(), Some(7));
        assert!(failures.outstanding().heard(later).is_empty());
        assert_eq!(failures.outstanding().first_batch(), None);
    }
}
