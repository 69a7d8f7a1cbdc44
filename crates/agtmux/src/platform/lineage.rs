//! From a process up to init. A hook proves whose it is by its ancestors, not by its environment.

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

#[cfg(test)]
mod tests {
    use super::ancestors;
    use crate::platform::testing::Family;

    #[test]
    fn a_child_leads_to_its_parent_and_on_to_this_process() {
        let family = Family::new();
        let pids: Vec<u32> = ancestors(family.child).iter().map(|(pid, _)| *pid).collect();
        assert_eq!(pids[..3], [family.child, family.parent(), std::process::id()]);
        assert_eq!(ancestors(u32::MAX), []);
        assert_eq!(ancestors(0), []);
    }
}
