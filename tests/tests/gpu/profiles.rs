//! What a profile says of a run.

use array_dsl::prelude::*;
use ndarray::Array2;

use super::agreement::{is_skipped, noise, own_gpu};

#[kernel]
fn scores(x: [[f32; k]; n], w: [[f32; m]; k]) -> [f32; n] {
    map(sum, map(|row| map(|v| v.tanh(), row), matmul(x, w)))
}

#[test]
fn every_step_has_its_time() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let (x, w): (Array2<f32>, Array2<f32>) = (noise((300, 40), 1), noise((40, 70), 2));
    let (x, w) = (gpu.upload(&x).unwrap(), gpu.upload(&w).unwrap());
    let plain = gpu.run(scores, (&x, &w)).unwrap().download().unwrap();
    let before = gpu.statistics().dispatches;
    let (y, profile) = gpu.profile(|| gpu.run(scores, (&x, &w))).unwrap();
    let dispatched = gpu.statistics().dispatches - before;
    // The same numbers as without a profile.
    assert_eq!(y.unwrap().download().unwrap(), plain);
    // Bandwidth is measured once, with launches of its own.
    let own = profile.events.iter().filter(|e| e.step.starts_with("scores step ")).count();
    assert!(own >= 2 && own as u64 <= dispatched, "{profile}");
    let (product, total) = profile.steps().into_iter().find(|(step, _)| step.contains("contract")).unwrap();
    assert!(product.starts_with("scores step 0, "), "{product}");
    assert_eq!((total.times, total.operations), (1, Some(2 * 300 * 40 * 70)));
    assert_eq!(total.bytes, 4 * (300 * 40 + 40 * 70 + 300 * 70));
    assert!(profile.bandwidth > 0.0 && profile.device() <= profile.wall * 2, "{profile}");
    assert!(profile.events.iter().all(|e| e.begin >= 0.0 && e.nanoseconds >= 0.0), "{profile}");
    assert_eq!(profile.trace().matches("\"ph\":\"X\"").count(), profile.events.len());
    // Nothing is measured any more, and a second profile begins anew.
    gpu.run(scores, (&x, &w)).unwrap();
    let ((), nothing) = gpu.profile(|| ()).unwrap();
    assert!(nothing.events.is_empty(), "{nothing}");
}

/// One profile at a time, which ends even where the work panics.
#[test]
fn a_profile_ends_with_its_work() {
    if is_skipped() {
        return;
    }
    let gpu = own_gpu();
    let (inner, outer) = gpu.profile(|| gpu.profile(|| ())).unwrap();
    let message = inner.unwrap_err().to_string();
    assert!(message.ends_with("a profile of this device is being made already"), "{message}");
    assert!(outer.events.is_empty(), "{outer}");
    let panics = || gpu.profile(|| panic!("in the work"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    gpu.profile(|| ()).unwrap();
}

/// The error of what runs in a profile is that run's.
#[test]
fn what_fails_in_a_profile_fails_as_it_does_without() {
    if is_skipped() {
        return;
    }
    #[kernel]
    fn selected(x: [f32; n], at: [i32; m]) -> [f32; m] {
        build(m, |i| x[at[i] as usize])
    }
    let gpu = own_gpu();
    let x = gpu.upload(&ndarray::arr1(&[1f32, 2.0])).unwrap();
    let at = gpu.upload(&ndarray::arr1(&[0, 5])).unwrap();
    let (y, _) = gpu.profile(|| gpu.run(selected, (&x, &at))).unwrap();
    assert!(y.unwrap().download().unwrap_err().to_string().contains('5'));
}
