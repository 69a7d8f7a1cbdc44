//! From a process up to init. A hook proves whose it is by its ancestors, not by its environment.

use tokio::net::UnixStream;

use super::os;

/// Trees are a few dozen deep at most; a longer chain is a race of reused pids.
const MAX_DEPTH: usize = 128;

/// A process and its ancestors up to init, nearest first, as (pid, start). Empty if there is no such process.
pub fn ancestors(pid: u32) -> Vec<(u32, u64)> {
    let stat_of = os::stats();
    let mut chain = Vec::new();
    let mut next = pid;
    while next != 0 && chain.len() < MAX_DEPTH {
        let Some(stat) = stat_of(next) else {
            break;
        };
        chain.push((stat.pid, stat.start));
        next = stat.ppid;
    }
    chain
}

/// The process at the other end of a socket and its ancestors. Empty if it has gone or the system does not say.
pub fn peer_ancestors(stream: &UnixStream) -> Vec<(u32, u64)> {
    let pid = stream.peer_cred().ok().and_then(|peer| u32::try_from(peer.pid()?).ok());
    pid.map(ancestors).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tokio::net::UnixStream;

    use super::{ancestors, peer_ancestors};
    use crate::platform::process_stat;
    use crate::platform::testing::Family;

    #[test]
    fn a_child_leads_to_its_parent_and_on_to_this_process() {
        let family = Family::new();
        let pids: Vec<u32> = ancestors(family.child).iter().map(|(pid, _)| *pid).collect();
        assert_eq!(pids[..3], [family.child, family.parent(), std::process::id()]);
        assert_eq!(ancestors(u32::MAX), []);
        assert_eq!(ancestors(0), []);
    }

    #[tokio::test]
    async fn the_peer_of_a_socket_pair_is_this_process() {
        let (here, _there) = UnixStream::pair().expect("a socket pair");
        let me = std::process::id();
        let start = process_stat(me).expect("this process").start;
        assert_eq!(peer_ancestors(&here).first(), Some(&(me, start)));
    }
}
