//! Waiting for the end of a process that is not a child.

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use tokio::time::sleep;

use super::process_stat;

/// How often a process is looked at where the kernel cannot tell of its end.
const POLL: Duration = Duration::from_millis(500);

/// After how many looks the start is checked too. Looking at a pid is one cheap call; a start can cost a fork.
const POLLS_PER_START_CHECK: u32 = 20;

/// Waits until the process with this pid and start has ended; a zombie has ended. Returns at once if it is
/// gone already or if the pid belongs to another process by now.
pub async fn wait_exit(pid: u32, start: u64) {
    #[cfg(target_os = "linux")]
    if let Some(watch) = pidfd::PidFd::open(pid) {
        // The start is checked after the descriptor was taken: from here on it cannot come to mean another process.
        if is_running(pid, start) {
            watch.ended().await;
        }
        return;
    }
    poll_exit(pid, start, POLL).await;
}

async fn poll_exit(pid: u32, start: u64, every: Duration) {
    let Some(handle) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return;
    };
    loop {
        if !is_running(pid, start) {
            return;
        }
        for _ in 0..POLLS_PER_START_CHECK {
            sleep(every).await;
            // Not being allowed to signal a process proves that it is there.
            if test_kill_process(handle) == Err(rustix::io::Errno::SRCH) {
                return;
            }
        }
    }
}

/// Whether the process with this pid and start has not ended; a zombie has.
pub fn is_running(pid: u32, start: u64) -> bool {
    process_stat(pid).is_some_and(|stat| stat.start == start && stat.state != 'Z')
}

/// Whether nothing is left of the process with this pid, not even an open file: those go with its last thread, which may be after
/// the first one is a zombie.
pub fn has_ended(pid: u32) -> bool {
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    process_stat(pid).is_none_or(|stat| stat.state == 'Z' && threads() <= 1)
}

#[cfg(target_os = "linux")]
mod pidfd {
    use std::os::fd::OwnedFd;

    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    /// A descriptor of one process; it becomes readable when the process ends.
    pub(super) struct PidFd(AsyncFd<OwnedFd>);

    impl PidFd {
        /// Nothing if the process has gone, or if descriptors are used up or unknown to the kernel; polling
        /// tells these apart.
        pub(super) fn open(pid: u32) -> Option<Self> {
            let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
            let fd = pidfd_open(pid, PidfdFlags::NONBLOCK).ok()?;
            #[expect(
                deprecated,
                reason = "the successor is unsafe for types that may change their descriptor, which OwnedFd cannot"
            )]
            let watch = AsyncFd::with_interest(fd, Interest::READABLE);
            watch.ok().map(Self)
        }

        pub(super) async fn ended(&self) {
            // An error can only mean that the runtime is shutting down; then nobody waits for the answer.
            let _ready = self.0.readable().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::{poll_exit, wait_exit};
    use crate::platform::process_stat;
    use crate::platform::testing::Sleeper;

    const DEADLINE: Duration = Duration::from_secs(20);

    fn start_of(sleeper: &Sleeper) -> u64 {
        process_stat(sleeper.pid()).expect("a living process").start
    }

    #[tokio::test]
    async fn the_end_of_a_process_is_noticed() {
        let mut sleeper = Sleeper::new();
        let waiting = tokio::spawn(wait_exit(sleeper.pid(), start_of(&sleeper)));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        sleeper.kill();
        timeout(DEADLINE, waiting).await.expect("in time").expect("no panic");
    }

    #[tokio::test]
    async fn a_process_that_is_gone_or_another_has_ended() {
        let mut sleeper = Sleeper::new();
        let (pid, start) = (sleeper.pid(), start_of(&sleeper));
        timeout(DEADLINE, wait_exit(pid, start + 1)).await.expect("another start has ended");
        sleeper.kill();
        timeout(DEADLINE, wait_exit(pid, start)).await.expect("a zombie has ended");
        sleeper.reap();
        timeout(DEADLINE, wait_exit(pid, start)).await.expect("a reaped process has ended");
        timeout(DEADLINE, wait_exit(0, start)).await.expect("no process has pid 0");
        timeout(DEADLINE, wait_exit(u32::MAX, start)).await.expect("no process has such a pid");
    }

    #[tokio::test]
    async fn polling_notices_the_end_too() {
        let mut sleeper = Sleeper::new();
        let waiting = tokio::spawn(poll_exit(sleeper.pid(), start_of(&sleeper), Duration::from_millis(1)));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        sleeper.kill();
        sleeper.reap();
        timeout(DEADLINE, waiting).await.expect("in time").expect("no panic");
    }
}
