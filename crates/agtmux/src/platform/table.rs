//! The process table at one moment, and what is below a process.

use agtmux_agents::Process;

use super::{Stat, os};

/// Every process of this machine at about one moment.
#[derive(Debug, Clone)]
pub struct ProcessTable {
    /// Sorted by pid.
    rows: Vec<Row>,
    /// (parent, index into `rows`), sorted.
    children: Vec<(u32, usize)>,
}

/// One process, with its arguments where they came for free.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) stat: Stat,
    pub(super) argv: Option<Vec<String>>,
}

/// Reads the process table. Arguments are left for [`ProcessTable::under`], since only few processes of a
/// machine are below a pane.
pub fn process_tree_snapshot() -> ProcessTable {
    ProcessTable::new(os::all_processes())
}

/// A process and everything below it, parents first, with arguments. Cheaper than a snapshot for few processes.
pub fn processes_under(root_pid: u32) -> Vec<Process> {
    match os::subtree(root_pid) {
        Some(rows) => rows.iter().map(Row::to_process).collect(),
        None => process_tree_snapshot().under(root_pid),
    }
}

impl ProcessTable {
    pub(super) fn new(mut rows: Vec<Row>) -> Self {
        rows.sort_by_key(|row| row.stat.pid);
        let mut children: Vec<(u32, usize)> =
            rows.iter().enumerate().map(|(index, row)| (row.stat.ppid, index)).collect();
        children.sort_unstable();
        Self { rows, children }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn get(&self, pid: u32) -> Option<&Stat> {
        Some(&self.rows.get(self.index_of(pid)?)?.stat)
    }

    /// The process and everything below it, parents first, with arguments. Empty if there is no such process.
    pub fn under(&self, root_pid: u32) -> Vec<Process> {
        let mut found: Vec<usize> = self.index_of(root_pid).into_iter().collect();
        // Rows were read one after another, so a pid that was reused in between may close a loop.
        let mut seen = vec![false; self.rows.len()];
        let mut next = 0;
        while let Some(index) = found.get(next).copied() {
            seen[index] = true;
            let below = self.children_of(self.rows[index].stat.pid);
            found.extend(below.filter(|child| !seen[*child]));
            next += 1;
        }
        found.into_iter().map(|index| self.rows[index].to_process()).collect()
    }

    fn index_of(&self, pid: u32) -> Option<usize> {
        self.rows.binary_search_by_key(&pid, |row| row.stat.pid).ok()
    }

    fn children_of(&self, pid: u32) -> impl Iterator<Item = usize> {
        let first = self.children.partition_point(|(parent, _)| *parent < pid);
        self.children[first..].iter().take_while(move |(parent, _)| *parent == pid).map(|(_, index)| *index)
    }
}

impl Row {
    fn to_process(&self) -> Process {
        let stat = &self.stat;
        Process {
            pid: stat.pid,
            ppid: stat.ppid,
            pgid: stat.pgid,
            tpgid: stat.tpgid,
            tty: stat.tty.clone(),
            start: stat.start,
            state: stat.state,
            comm: stat.comm.clone(),
            argv: self.argv.clone().unwrap_or_else(|| os::process_argv(stat.pid)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessTable, Row, process_tree_snapshot, processes_under};
    use crate::platform::Stat;
    use crate::platform::testing::Family;

    #[test]
    fn a_subtree_is_the_same_as_in_a_snapshot() {
        let family = Family::new();
        let pids = |processes: Vec<agtmux_agents::Process>| processes.iter().map(|p| p.pid).collect::<Vec<_>>();
        assert_eq!(pids(processes_under(family.parent())), [family.parent(), family.child]);
        assert_eq!(pids(process_tree_snapshot().under(family.parent())), [family.parent(), family.child]);
        assert_eq!(processes_under(family.parent())[0].argv[..2], ["sh", "-c"]);
        assert_eq!(processes_under(u32::MAX), []);
    }

    #[test]
    fn a_snapshot_holds_a_process_and_its_child() {
        let family = Family::new();
        let table = process_tree_snapshot();
        assert!(table.len() >= 3 && !table.is_empty());
        assert_eq!(table.get(family.child).map(|stat| stat.ppid), Some(family.parent()));
        let below = table.under(family.parent());
        assert_eq!(below.iter().map(|process| process.pid).collect::<Vec<_>>(), [family.parent(), family.child]);
        assert_eq!(below[0].argv[..2], ["sh", "-c"]);
        assert!(table.under(std::process::id()).iter().any(|process| process.pid == family.child));
    }

    #[test]
    fn nothing_is_below_a_process_that_is_not_there() {
        assert_eq!(process_tree_snapshot().under(u32::MAX), []);
    }

    #[test]
    fn a_loop_of_reused_pids_ends() {
        let row = |pid, ppid| Row {
            stat: Stat { pid, ppid, pgid: pid, tpgid: -1, tty: None, state: 'S', comm: "x".to_owned(), start: 7 },
            argv: Some(Vec::new()),
        };
        let table = ProcessTable::new(vec![row(1, 3), row(2, 1), row(3, 2), row(4, 4)]);
        let below = |root| table.under(root).iter().map(|process| process.pid).collect::<Vec<_>>();
        assert_eq!(below(1), [1, 2, 3]);
        assert_eq!(below(4), [4]);
    }
}
