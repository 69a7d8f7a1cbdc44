//! `./bench`: what agtmux costs and how fast it is, each figure against a baseline from the same run.
//!
//! A plain program rather than a statistics harness: most figures span several processes, and what matters is their
//! ratio to what tmux, a shell or a peer would need on the same machine at the same time. Everything runs on private
//! tmux servers in temporary directories. `docs/performance.md` says how to read the table.

#[cfg(target_os = "linux")]
mod cleanup;
#[cfg(target_os = "linux")]
mod composer;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod feeder;
#[cfg(target_os = "linux")]
mod figures;
#[cfg(target_os = "linux")]
mod fleet;
#[cfg(target_os = "linux")]
mod follower;
#[cfg(target_os = "linux")]
mod http;
#[cfg(target_os = "linux")]
mod poller;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod stats;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    run::main()
}

/// CPU time, memory and file notices are read as Linux has them.
#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the figures can be measured on Linux only")
}
