//! Signals, as something that can be waited for together with bytes.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};

/// What is meant for the agent and reaches the shim only because it stands before it.
const FORWARDED: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// The signals that came.
pub(crate) struct Signals {
    wake: OwnedFd,
    resized: Arc<AtomicBool>,
    continued: Arc<AtomicBool>,
    forwarded: [(i32, Arc<AtomicBool>); FORWARDED.len()],
}

impl Signals {
    /// Takes the signals from now on. Those that are ignored stay so, for the agent too: that is how `nohup` works.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(crate) fn new() -> io::Result<Self> {
        let (wake, notify) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        notify.set_nonblocking(true)?;
        let ignored = ignored();
        let take = |signal: i32| -> io::Result<Arc<AtomicBool>> {
            let flag = Arc::new(AtomicBool::new(false));
            if ignored & (1 << (signal - 1)) == 0 {
                signal_hook::flag::register(signal, Arc::clone(&flag))?;
                signal_hook::low_level::pipe::register(signal, notify.try_clone()?)?;
            }
            Ok(flag)
        };
        let mut forwarded = FORWARDED.map(|signal| (signal, Arc::new(AtomicBool::new(false))));
        for (signal, flag) in &mut forwarded {
            *flag = take(*signal)?;
        }
        Ok(Self { wake: wake.into(), resized: take(SIGWINCH)?, continued: take(SIGCONT)?, forwarded })
    }

    /// Readable when a signal came.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Forgets that one came; what came is still to be asked for.
    pub(crate) fn woken(&self) {
        let mut bytes = [0; 64];
        while rustix::io::read(&self.wake, &mut bytes).is_ok_and(|count| count > 0) {}
    }

    /// Whether the pane has another size.
    pub(crate) fn resized(&self) -> bool {
        self.resized.swap(false, Ordering::Relaxed)
    }

    /// Whether the shim was stopped and goes on.
    pub(crate) fn continued(&self) -> bool {
        self.continued.swap(false, Ordering::Relaxed)
    }

    /// What is to be handed on to the agent.
    pub(crate) fn forwarded(&self) -> impl Iterator<Item = i32> {
        self.forwarded.iter().filter(|(_, flag)| flag.swap(false, Ordering::Relaxed)).map(|(signal, _)| *signal)
    }
}

/// The signals that are ignored, one bit each. Where the kernel does not tell, none.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
