//! Signalling one process, or the group it leads its work in, and never one that came after it.
//!
//! A pid is only a number, and numbers come back. On Linux the process is taken by a descriptor first and compared after:
//! what the descriptor means can never come to be another process, so a signal through it reaches the one that was compared,
//! or nobody.
//!
//! A group can be signalled by its number alone. The number is not given to anybody else as long as one process of the group
//! is there, dead or alive, and the agent was there a system call ago. So what is left is this: between that call and the next
//! the agent and all others of its group end *and* are reaped *and* every other pid is used up *and* a new group of that number
//! begins. Where there are no descriptors (macOS) the same holds for a single process.

use std::io;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpgrp, kill_process, kill_process_group};

use super::{Stat, process_stat};

/// What ends a process, or what it is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `SIGINT`.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
    /// `SIGKILL`.
    Kill,
}

/// Whom a signal reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The whole group.
    Group,
    /// The process alone.
    Process,
}

/// Signals the process with this pid and start, together with its group unless that is to be spared. Every process gets one
/// signal, not two: for many agents a second interrupt means something else.
///
/// A process that is stopped would not hear the signal, so it is let go on after it.
///
/// # Errors
/// `NotFound` if there is no such process any more; nothing was signalled then.
pub fn signal_job(pid: u32, start: u64, spared: &[u32], ending: Ending) -> io::Result<Reached> {
    let handle = Handle::open(pid)?;
    // After the descriptor was taken, not before: only then does the comparison hold for what the descriptor means.
    let stat = process_stat(pid).filter(|stat| stat.start == start && stat.state != 'Z').ok_or_else(gone)?;
    let group = own_group(&stat, spared);
    let send = |signal| match group {
        Some(group) => kill_process_group(group, signal),
        None => handle.signal(signal),
    };
    send(ending.signal()).map_err(|error| if error == Errno::SRCH { gone() } else { error.into() })?;
    if stat.state == 'T' && ending != Ending::Kill {
        // Whether or not it is still there to be woken, the signal that counts was sent.
        send(Signal::CONT).ok();
    }
    Ok(if group.is_some() { Reached::Group } else { Reached::Process })
}

/// The group of a process, if it may be signalled as a whole: it is none of those to be spared, nor ours.
fn own_group(stat: &Stat, spared: &[u32]) -> Option<Pid> {
    let group = i32::try_from(stat.pgid).ok().and_then(Pid::from_raw)?;
    let is_ours = group == getpgrp();
    (stat.pgid > 1 && !is_ours && !spared.contains(&stat.pgid)).then_some(group)
}

impl Ending {
    const fn signal(self) -> Signal {
        match self {
            Self::Interrupt => Signal::INT,
            Self::Terminate => Signal::TERM,
            Self::Kill => Signal::KILL,
        }
    }
}

/// A process that may be signalled.
struct Handle {
    pid: Pid,
    #[cfg(target_os = "linux")]
    descriptor: Option<std::os::fd::OwnedFd>,
}

impl Handle {
    fn open(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(descriptor) => Ok(Self { pid, descriptor: Some(descriptor) }),
                Err(Errno::SRCH) => Err(gone()),
                // A kernel that knows no descriptors of processes, or a process that has no more to give.
                Err(_) => Ok(Self { pid, descriptor: None }),
            }
        }
        #[cfg(not(target_os = "linux"))]
        Ok(Self { pid })
    }

    fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        #[cfg(target_os = "linux")]
        if let Some(descriptor) = &self.descriptor {
            return rustix::process::pidfd_send_signal(descriptor, signal);
        }
        kill_process(self.pid, signal)
    }
}

fn gone() -> io::Error {
    io::ErrorKind::NotFound.into()
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::{Ending, Reached, signal_job};
    use crate::platform::testing::Sleeper;
    use crate::platform::{process_argv, process_stat};

    fn start_of(pid: u32) -> u64 {
        process_stat(pid).expect("a living process").start
    }

    /// A sleeper with a group of its own.
    fn leader() -> Child {
        let child = Command::new("sleep").arg("600").process_group(0).spawn().expect("sleep starts");
        while process_argv(child.id()).is_empty() {}
        child
    }

    #[test]
    fn a_process_of_our_own_group_is_signalled_alone() {
        let mut sleeper = Sleeper::new();
        let reached = signal_job(sleeper.pid(), start_of(sleeper.pid()), &[], Ending::Terminate);
        assert_eq!(reached.expect("a signal"), Reached::Process);
        sleeper.reap();
    }

    #[test]
    fn a_group_is_signalled_as_a_whole_unless_it_is_spared() {
        use std::os::unix::process::ExitStatusExt;
        let mut first = leader();
        let group = i32::try_from(first.id()).expect("a pid");
        let mut second = Command::new("sleep").arg("600").process_group(group).spawn().expect("sleep starts");
        let spared = signal_job(second.id(), start_of(second.id()), &[first.id()], Ending::Kill).expect("a signal");
        assert_eq!(spared, Reached::Process);
        assert_eq!(second.wait().expect("a status").signal(), Some(9));
        assert!(first.try_wait().expect("a status").is_none(), "it was spared");
        let mut third = Command::new("sleep").arg("600").process_group(group).spawn().expect("sleep starts");
        let reached = signal_job(first.id(), start_of(first.id()), &[], Ending::Interrupt).expect("a signal");
        assert_eq!(reached, Reached::Group);
        assert_eq!(first.wait().expect("a status").signal(), Some(2));
        assert_eq!(third.wait().expect("a status").signal(), Some(2));
    }

    #[test]
    fn a_process_with_another_start_is_left_alone() {
        let mut child = leader();
        for start in [0, start_of(child.id()) + 1] {
            let refused = signal_job(child.id(), start, &[], Ending::Kill).expect_err("another process");
            assert_eq!(refused.kind(), ErrorKind::NotFound);
        }
        assert!(child.try_wait().expect("a status").is_none(), "it lives");
        let start = start_of(child.id());
        child.kill().expect("a signal");
        let deadline = Instant::now() + Duration::from_secs(20);
        while process_stat(child.id()).is_some_and(|stat| stat.state != 'Z') {
            assert!(Instant::now() < deadline, "it does not end");
        }
        let dead = signal_job(child.id(), start, &[], Ending::Kill).expect_err("a zombie");
        assert_eq!(dead.kind(), ErrorKind::NotFound);
        child.wait().expect("a status");
        for pid in [child.id(), 0, u32::MAX] {
            assert_eq!(signal_job(pid, start, &[], Ending::Kill).expect_err("nobody").kind(), ErrorKind::NotFound);
        }
    }

    #[test]
    fn a_stopped_process_hears_it() {
        let mut sleeper = Sleeper::new();
        sleeper.stop();
        signal_job(sleeper.pid(), start_of(sleeper.pid()), &[], Ending::Terminate).expect("a signal");
        sleeper.reap();
    }
}
