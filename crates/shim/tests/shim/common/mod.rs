//! What the tests share.

mod pane;
mod terminal;
mod visitor;

use std::fmt::Debug;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) use pane::{Pane, Server};
pub(crate) use terminal::Wrapped;
pub(crate) use visitor::{Visitor, inject};

/// The shim, built beside the tests.
pub(crate) fn shim() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let shim = tests.parent().unwrap().parent().unwrap().join("examples/shim");
    assert!(shim.exists(), "{} is missing; `cargo test -p agtmux-shim` builds it", shim.display());
    shim
}

/// Waits until something is there, and gives it; a failure tells what was seen last.
#[track_caller]
pub(crate) fn wait_for<T, E: Debug>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match look() {
            Ok(found) => return found,
            Err(seen) if Instant::now() > deadline => panic!("waited for {what}; seen last: {seen:?}"),
            Err(_) => sleep(Duration::from_millis(5)),
        }
    }
}
