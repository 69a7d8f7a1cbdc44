//! The processes, files and sockets that are an agent's own: not those of a server that it started and that others use as well.

use std::collections::BTreeSet;

use agtmux_agents::{Process, Registry};

use crate::daemon::roster::Member;
use crate::platform;

/// An agent's own processes, itself first.
pub(in crate::ingest) fn own_processes(registry: &Registry, member: &Member) -> Vec<Process> {
    agtmux_agents::own_processes(registry, platform::processes_under(member.process.pid))
}

/// The sockets that an agent's own processes hold.
pub(super) fn own_sockets(registry: &Registry, member: &Member) -> BTreeSet<u64> {
    own_processes(registry, member).iter().flat_map(|process| platform::sockets_of(process.pid)).collect()
}
