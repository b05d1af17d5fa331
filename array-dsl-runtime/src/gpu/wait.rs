//! Waiting for the device. Whatever waits is an `async` function; there is one implementation of each, and three ways to
//! wait:
//!
//! | where | how |
//! |---|---|
//! | a blocking form (`run`, `download`, ..) | [`block_on`] executes the future on this thread, which waits for the device where the future would |
//! | an async form (`run_async`, ..), natively | a thread of its own waits in the same way and wakes the task: an executor's thread is not held up |
//! | an async form in a browser | the page goes on, and the browser calls when the device has answered |
//!
//! A blocking form in a browser could only hang, since the answer comes when the page has returned; it is
//! [`Error::CannotBlock`] there, before anything is done.
//!
//! **Nothing is locked and no scope of errors is open where something is awaited**: on one thread several runs take turns
//! there, and one that is given up is dropped there.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::device::Shared;
use crate::error::Error;

#[cfg(not(target_arch = "wasm32"))]
use native as here;
#[cfg(target_arch = "wasm32")]
use web as here;

pub(super) use here::{Submission, block_on};

/// A blocking form, and what a browser has in its place.
#[cfg_attr(
    not(target_arch = "wasm32"),
    allow(dead_code, reason = "natively blocking forms do what they say")
)]
pub(super) struct Call(pub(super) &'static str, pub(super) &'static str);

/// What an answer is, once it is there; `None` if nobody will give it any more.
pub(super) struct Answer<T>(Arc<Told<T>>);

/// Who gives an answer.
pub(super) struct Tell<T>(Arc<Told<T>>);

struct Told<T> {
    slot: Mutex<Slot<T>>,
    #[cfg(not(target_arch = "wasm32"))]
    changed: std::sync::Condvar,
}

struct Slot<T> {
    value: Option<T>,
    is_over: bool,
    waker: Option<Waker>,
}

/// An answer and who gives it.
pub(super) fn answer<T>() -> (Tell<T>, Answer<T>) {
    let told = Arc::new(Told {
        slot: Mutex::new(Slot { value: None, is_over: false, waker: None }),
        #[cfg(not(target_arch = "wasm32"))]
        changed: std::sync::Condvar::new(),
    });
    (Tell(told.clone()), Answer(told))
}

impl<T> Told<T> {
    fn slot(&self) -> MutexGuard<'_, Slot<T>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer, or that there will be none.
    fn end(&self, value: Option<T>) {
        let mut slot = self.slot();
        if slot.is_over {
            return;
        }
        slot.value = value;
        slot.is_over = true;
        let waker = slot.waker.take();
        drop(slot);
        #[cfg(not(target_arch = "wasm32"))]
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Tell<T> {
    pub(super) fn tell(self, value: T) {
        self.0.end(Some(value));
    }
}

impl<T> Drop for Tell<T> {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

impl<T> Future for Answer<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.slot();
        if slot.is_over {
            return Poll::Ready(slot.value.take());
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Shared {
    /// Waits for an answer that comes once a submission is done, or without one, soon; then for whatever wgpu has to say of
    /// what was made before.
    pub(super) async fn until<T: Send + 'static>(
        &self,
        submission: Option<Submission>,
        answer: Answer<T>,
    ) -> Result<T, Error> {
        let answered = here::until(self, submission, answer).await?;
        self.failures.hear().await;
        self.failures.check()?;
        answered.ok_or_else(|| Error::Gpu { message: "the device gives no answer".into() })
    }

    /// Waits until all that is submitted is done.
    pub(super) async fn until_done(&self) -> Result<(), Error> {
        let (tell, done) = answer();
        // Uploads wait for a submission.
        let submission = Submission::new(&self.queue, self.queue.submit([]));
        self.queue.on_submitted_work_done(move || tell.tell(()));
        self.until(Some(submission), done).await
    }

    /// Waits while the device is too many submissions behind.
    pub(super) async fn keep_pace(&self) -> Result<(), Error> {
        loop {
            let Some(oldest) = self.state().recorder.far_behind() else { return Ok(()) };
            here::until_over(self, oldest).await?;
        }
    }

    /// The same for what does not wait in a browser: there the next call that does makes up for it.
    pub(super) fn keep_pace_here(&self) -> Result<(), Error> {
        here::keep_pace(self)
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::cell::Cell;
    use std::future::Future;
    use std::sync::{Arc, PoisonError};
    use std::time::Duration;

    use super::{Answer, Call, answer};
    use crate::error::Error;
    use crate::gpu::device::{Failures, Shared};

    /// How long an answer may take before the device is asked again.
    const PATIENCE: Duration = Duration::from_millis(10);

    thread_local! {
        /// Whether what is executed here may wait for the device: a blocking form executes it.
        static MAY_BLOCK: Cell<bool> = const { Cell::new(false) };
    }

    /// That this thread may wait, until it is dropped.
    struct MayBlock {
        before: bool,
    }

    impl MayBlock {
        fn here() -> MayBlock {
            MayBlock { before: MAY_BLOCK.replace(true) }
        }
    }

    impl Drop for MayBlock {
        fn drop(&mut self) {
            MAY_BLOCK.set(self.before);
        }
    }

    /// Executes what a blocking form does.
    pub(in crate::gpu) fn block_on<T>(
        _: Call,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let _here = MayBlock::here();
        pollster::block_on(future)
    }

    /// What can be waited for.
    #[derive(Clone)]
    pub(in crate::gpu) struct Submission(wgpu::SubmissionIndex);

    impl Submission {
        pub(in crate::gpu) fn new(_: &wgpu::Queue, index: wgpu::SubmissionIndex) -> Submission {
            Submission(index)
        }

        /// The same, where waiting for what it copies begins with it.
        pub(in crate::gpu) fn again(&self) -> Option<Submission> {
            Some(self.clone())
        }
    }

    /// A device, as far as waiting for it goes.
    struct Waiting {
        device: wgpu::Device,
        failures: Arc<Failures>,
    }

    impl Waiting {
        fn of(gpu: &Shared) -> Waiting {
            Waiting { device: gpu.device.clone(), failures: gpu.failures.clone() }
        }

        /// Waits on this thread until a submission is done.
        fn over(&self, submission: Submission) -> Result<(), Error> {
            let until = wgpu::PollType::Wait { submission_index: Some(submission.0), timeout: None };
            self.failures.guard(|| self.device.poll(until))
        }

        /// Waits on this thread for an answer. That the work is done does not mean that the answer is here: another thread
        /// that waits for the device may have taken it upon itself to deliver it, and be about to.
        fn answered<T>(
            &self,
            submission: Option<Submission>,
            answer: &Answer<T>,
        ) -> Result<Option<T>, Error> {
            if let Some(submission) = submission {
                self.over(submission)?;
            }
            loop {
                let slot = answer.0.slot();
                let (mut slot, _) = answer
                    .0
                    .changed
                    .wait_timeout_while(slot, PATIENCE, |slot| !slot.is_over)
                    .unwrap_or_else(PoisonError::into_inner);
                if slot.is_over {
                    return Ok(slot.value.take());
                }
                drop(slot);
                self.failures.check()?;
                self.failures.guard(|| self.device.poll(wgpu::PollType::Poll))?;
            }
        }
    }

    /// Waits on this thread if it may, else on one of its own.
    async fn waited<T: Send + 'static>(
        wait: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        if MAY_BLOCK.get() {
            return wait();
        }
        let (tell, told) = answer();
        std::thread::Builder::new()
            .name("array-dsl waits for a GPU".into())
            .spawn(move || tell.tell(wait()))
            .map_err(|e| Error::Gpu { message: format!("no thread to wait for the device: {e}") })?;
        told.await.unwrap_or_else(|| Err(Error::Gpu { message: "waiting for the device failed".into() }))
    }

    pub(super) async fn until<T: Send + 'static>(
        gpu: &Shared,
        submission: Option<Submission>,
        answer: Answer<T>,
    ) -> Result<Option<T>, Error> {
        let device = Waiting::of(gpu);
        waited(move || device.answered(submission, &answer)).await
    }

    pub(super) async fn until_over(gpu: &Shared, submission: Submission) -> Result<(), Error> {
        let device = Waiting::of(gpu);
        waited(move || device.over(submission)).await
    }

    pub(super) fn keep_pace(gpu: &Shared) -> Result<(), Error> {
        block_on(Call("upload", ""), gpu.keep_pace())
    }
}

#[cfg(target_arch = "wasm32")]
mod web {
    use std::future::Future;

    use super::{Answer, Call, answer};
    use crate::error::Error;
    use crate::gpu::device::Shared;

    /// See the module header.
    pub(in crate::gpu) fn block_on<T>(
        call: Call,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        drop(future);
        let Call(call, instead) = call;
        Err(Error::CannotBlock { call, instead })
    }

    /// What can be waited for.
    pub(in crate::gpu) struct Submission(Answer<()>);

    impl Submission {
        pub(in crate::gpu) fn new(queue: &wgpu::Queue, _: wgpu::SubmissionIndex) -> Submission {
            let (tell, done) = answer();
            queue.on_submitted_work_done(move || tell.tell(()));
            Submission(done)
        }

        /// Nothing: the browser tells when there is something to be read.
        pub(in crate::gpu) fn again(&self) -> Option<Submission> {
            None
        }
    }

    pub(super) async fn until<T>(
        _: &Shared,
        _: Option<Submission>,
        answer: Answer<T>,
    ) -> Result<Option<T>, Error> {
        Ok(answer.await)
    }

    pub(super) async fn until_over(_: &Shared, submission: Submission) -> Result<(), Error> {
        submission.0.await;
        Ok(())
    }

    pub(super) fn keep_pace(_: &Shared) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_told() {
        let (tell, told) = answer();
        std::thread::spawn(move || tell.tell(7));
        assert_eq!(pollster::block_on(told), Some(7));
    }

    #[test]
    fn nobody_waits_for_who_is_gone() {
        let (tell, told) = answer::<i32>();
        let waits = std::thread::spawn(move || pollster::block_on(told));
        drop(tell);
        assert_eq!(waits.join().ok(), Some(None));
    }
}
