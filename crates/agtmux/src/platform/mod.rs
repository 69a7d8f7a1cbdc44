//! What differs between operating systems: processes, the boot clock, exits.
//!
//! A process is named by its pid and its start together, since pids come back. A start is an opaque number
//! that never changes during a process's life: clock ticks since boot on Linux, seconds since 1970 on macOS.
//! [`started_at_unix_ms`] makes a time for people of it.
//!
//! Linux is read from `/proc`. On macOS the same facts come from `ps`, since asking the kernel there takes
//! unsafe code; that side is tested by parsing samples.

mod exit;
mod lineage;
mod notices;
mod program;
mod signal;
mod table;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
use linux as os;

#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "macos")]
use macos as os;

#[cfg(any(target_os = "macos", test))]
mod ps;

#[cfg(test)]
mod testing;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};

pub use exit::{has_ended, is_running, wait_exit};
pub use lineage::ancestors;
pub use notices::{Detail, Notice, Notices, Watch};
pub use program::Program;
pub use signal::{Ending, Reached, signal_job};
pub use table::{ProcessTable, process_tree_snapshot, processes_under};

/// What the kernel says about one process without its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    pub pid: u32,
    pub ppid: u32,
    pub pgid: u32,
    /// The foreground group of the terminal; not positive without a terminal.
    pub tpgid: i32,
    /// The controlling terminal, such as `pts/7` or `ttys003`.
    pub tty: Option<String>,
    /// The scheduler state letter: `R`, `S`, `T` for stopped, `Z` for a zombie.
    pub state: char,
    /// The kernel's name of the process.
    pub comm: String,
    /// When the process started; opaque, constant for its life.
    pub start: u64,
}

/// A text that is another one after each boot. Empty if the system has none.
pub fn boot_id() -> String {
    os::boot_id()
}

/// Nanoseconds on a clock that starts at boot, never jumps, and runs while the machine sleeps.
pub fn boot_clock_ns() -> u64 {
    os::boot_clock_ns()
}

/// The process with this pid, or nothing if there is none.
pub fn process_stat(pid: u32) -> Option<Stat> {
    os::process_stat(pid)
}

/// The arguments of a process; empty if it has gone, is a zombie, or belongs to somebody else on a system
/// that hides them.
pub fn process_argv(pid: u32) -> Vec<String> {
    os::process_argv(pid)
}

/// The environment that a process was started with. Empty if it has gone or belongs to somebody else.
pub fn process_environment(pid: u32) -> BTreeMap<OsString, OsString> {
    os::process_environment(pid)
}

/// The directory that a process works in.
pub fn process_cwd(pid: u32) -> Option<PathBuf> {
    os::process_cwd(pid)
}

/// The files that a process has open, as far as they have names.
pub fn open_files(pid: u32) -> Vec<PathBuf> {
    os::open_files(pid)
}

/// The processes that serve on a TCP port of this host, as far as they are ours.
pub fn listeners(port: u16) -> Vec<u32> {
    os::listeners(port)
}

/// The clients' ends of all connections to a unix socket, by the path that it is bound to. `None` where that cannot be known.
pub fn unix_clients(path: &Path) -> Option<Vec<u64>> {
    os::unix_clients(path)
}

/// The clients' ends of all connections to a TCP port of this host. `None` where that cannot be known.
pub fn tcp_clients(port: u16) -> Option<Vec<u64>> {
    os::tcp_clients(port)
}

/// The sockets that a process holds, to compare with the ends of connections.
pub fn sockets_of(pid: u32) -> Vec<u64> {
    os::sockets_of(pid)
}

/// When a process with this start began, in milliseconds since 1970. For display: it moves with the wall clock.
pub fn started_at_unix_ms(start: u64) -> u64 {
    os::started_at_unix_ms(start)
}

/// How long ago a process with this start began.
pub fn age(start: u64) -> Duration {
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    Duration::from_millis(now_ms.saturating_sub(started_at_unix_ms(start)))
}

/// The memory that a process holds.
pub fn rss_bytes(pid: u32) -> Option<u64> {
    os::rss_bytes(pid)
}

/// The CPU time that a process has used in all its threads.
pub fn cpu_time_ns(pid: u32) -> Option<u64> {
    os::cpu_time_ns(pid)
}

/// Raises the number of files this process may have open as far as it may: each watched agent takes two.
pub fn raise_fd_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // A system that refuses leaves things as they were; `agtmux doctor` shows the limit.
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).ok();
}

/// How many files this process may have open; nothing means no limit.
pub fn fd_limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::testing::Sleeper;
    use super::*;

    #[test]
    fn the_boot_id_is_stable_and_the_boot_clock_runs() {
        assert!(boot_id().len() >= 32, "{}", boot_id());
        assert_eq!(boot_id(), boot_id());
        let before = boot_clock_ns();
        assert!(before > 0);
        assert!(boot_clock_ns() >= before);
    }

    #[test]
    fn a_living_process_has_a_stat() {
        let sleeper = Sleeper::new();
        let stat = process_stat(sleeper.pid()).expect("a living process");
        assert_eq!((stat.pid, stat.ppid), (sleeper.pid(), std::process::id()));
        assert_eq!(stat.comm, "sleep");
        assert!(matches!(stat.state, 'S' | 'R' | 'D'), "{stat:?}");
        assert_eq!(process_stat(sleeper.pid()).map(|stat| stat.start), Some(stat.start));
    }

    #[test]
    fn a_stopped_process_says_so_and_a_killed_one_is_gone() {
        let mut sleeper = Sleeper::new();
        sleeper.stop();
        assert_eq!(process_stat(sleeper.pid()).map(|stat| stat.state), Some('T'));
        sleeper.kill();
        assert_eq!(process_stat(sleeper.pid()).map(|stat| stat.state), Some('Z'));
        assert_eq!(process_argv(sleeper.pid()), Vec::<String>::new());
        sleeper.reap();
        assert_eq!(process_stat(sleeper.pid()), None);
        assert_eq!(process_argv(sleeper.pid()), Vec::<String>::new());
    }

    #[test]
    fn no_process_has_pid_zero_or_an_impossible_pid() {
        assert_eq!(process_stat(0), None);
        assert_eq!(process_stat(u32::MAX), None);
        assert_eq!(process_argv(u32::MAX), Vec::<String>::new());
        assert_eq!(rss_bytes(u32::MAX), None);
        assert_eq!(cpu_time_ns(u32::MAX), None);
    }

    #[test]
    fn arguments_come_back_word_by_word() {
        let sleeper = Sleeper::new();
        assert_eq!(process_argv(sleeper.pid()), ["sleep", "600"]);
    }

    #[test]
    fn environment_directory_and_open_files_are_known() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("held open");
        let held = std::fs::File::create(&file).expect("a file");
        let mut command = std::process::Command::new("sleep");
        command.arg("600").current_dir(dir.path()).stdin(held);
        let mut child = command.env("AGTMUX_SAMPLE", "two words = 1").spawn().expect("a child");
        let pid = child.id();
        // A child has neither arguments nor environment until its exec is done.
        while process_argv(pid).is_empty() {}
        let environment = process_environment(pid);
        let (cwd, files) = (process_cwd(pid), open_files(pid));
        child.kill().expect("ours to kill");
        child.wait().expect("ours to reap");
        assert_eq!(environment.get(std::ffi::OsStr::new("AGTMUX_SAMPLE")), Some(&OsString::from("two words = 1")));
        let real = dir.path().canonicalize().expect("a path");
        assert_eq!(cwd, Some(real.clone()));
        assert!(files.contains(&real.join("held open")), "{files:?}");
        assert!(process_environment(u32::MAX).is_empty());
        assert_eq!((process_cwd(u32::MAX), open_files(u32::MAX)), (None, Vec::new()));
    }

    #[test]
    fn who_serves_on_a_port_is_known() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = server.local_addr().expect("an address").port();
        assert_eq!(listeners(port), [std::process::id()]);
        drop(server);
        assert_eq!(listeners(port), Vec::<u32>::new());
    }

    #[test]
    fn a_start_becomes_a_time_of_day() {
        let unix_ms = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
            u64::try_from(since.as_millis()).expect("a clock before the year 500 million")
        };
        let before = unix_ms();
        let sleeper = Sleeper::new();
        let started = started_at_unix_ms(process_stat(sleeper.pid()).expect("a living process").start);
        // Starts are kept in ticks or seconds, rounded down.
        assert!(started + 2_100 >= before && started <= unix_ms() + 100, "{started} is not about {before}");
    }

    #[test]
    fn memory_and_cpu_time_are_known() {
        let me = std::process::id();
        assert!(rss_bytes(me).expect("this process") > 100_000);
        let before = cpu_time_ns(me).expect("this process");
        let mut noise = 0_u64;
        while cpu_time_ns(me).expect("this process") <= before {
            noise = std::hint::black_box(noise.wrapping_mul(31).wrapping_add(7));
        }
    }

    #[test]
    fn there_is_room_for_files() {
        assert!(fd_limit().is_none_or(|limit| limit >= 64));
    }
}
