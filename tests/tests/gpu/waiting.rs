//! The async forms, natively: what a page checks in a browser, on an executor that waits for nothing but its task.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use array_dsl::Gpu;
use ndarray::array;

use super::agreement::{is_skipped, own_gpu};
use super::checks;

/// Wakes the thread that executes the task.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Executes a task; how often it had to wait.
fn executed<T>(task: impl Future<Output = T>) -> (T, usize) {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let (mut task, mut context, mut waits) = (pin!(task), Context::from_waker(&waker), 0);
    loop {
        if let Poll::Ready(value) = task.as_mut().poll(&mut context) {
            return (value, waits);
        }
        waits += 1;
        std::thread::park();
    }
}

#[test]
fn what_a_page_checks() {
    if is_skipped() {
        return;
    }
    let (gpu, _) = executed(Gpu::new_async());
    let gpu = gpu.expect("a GPU; set ARRAY_DSL_GPU=skip to do without");
    let (checked, waits) = executed(checks::all(&gpu));
    assert_eq!(checked, Ok(()));
    assert!(waits > 20, "the thread is not held up while the device works: {waits}");
}

#[test]
fn a_blocking_form_within_a_task_waits_by_itself() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let x = gpu.upload(&array![1f32, -2.0, 3.0]).unwrap();
    let task = async {
        let kept = gpu.run(checks::kept, (&x, 0.0)).unwrap();
        (kept.download().unwrap(), kept.download_async().await.unwrap())
    };
    let ((now, later), waits) = executed(task);
    assert_eq!((&now, waits > 0), (&array![1f32, 3.0], true));
    assert_eq!(now, later);
}

/// As executors with several threads ask for.
#[test]
fn tasks_may_change_threads() {
    if is_skipped() {
        return;
    }
    fn send<T: Send>(value: T) -> T {
        value
    }
    let gpu = own_gpu();
    let x = gpu.upload(&array![1f32, -2.0, 3.0]).unwrap();
    let task = send(async move {
        let kept = gpu.run_async(checks::kept, (&x, 0.0)).await?;
        gpu.synchronize_async().await?;
        kept.download_async().await
    });
    let found = std::thread::spawn(|| executed(task).0).join().unwrap();
    assert_eq!(found, Ok(array![1f32, 3.0]));
}
