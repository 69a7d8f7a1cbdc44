//! A daemon that watches a fleet.

use std::fs::OpenOptions;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use agtmux::client::{Client, StartDaemon};
use agtmux_wire::list::{PaneItem, PaneList};
use anyhow::{Result, bail};
use rustix::process::Signal;
use tokio::net::UnixStream;
use tokio::time::sleep;

use crate::cleanup;
use crate::fleet::Fleet;
use crate::process;

/// How long anything that is waited for may take.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Daemon {
    pub(crate) client: Client,
    pub(crate) spawned: Instant,
    child: Child,
}

impl Daemon {
    /// Starts a daemon for a fleet; it is not ready yet.
    pub(crate) fn spawn(fleet: &Fleet) -> Result<Self> {
        let log = OpenOptions::new().create(true).append(true).open(fleet.root().join("daemon.log"))?;
        let spawned = Instant::now();
        let child = fleet.agtmux().args(["daemon", "run"]).stdout(Stdio::null()).stderr(log).spawn()?;
        cleanup::register_process(child.id());
        let client = Client::new(&fleet.paths, Some(fleet.socket.clone()), StartDaemon::Never);
        Ok(Self { client, spawned, child })
    }

    /// Starts a daemon and waits until it knows every agent and reads every pane.
    pub(crate) async fn settled(fleet: &Fleet) -> Result<Self> {
        let daemon = Self::spawn(fleet)?;
        daemon.wait_for_agents(fleet.panes.len()).await?;
        daemon.wait_for_streams(fleet).await?;
        Ok(daemon)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The daemon and the tmux clients it holds.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let mut pids = vec![self.pid()];
        pids.extend(process::children(self.pid()));
        pids
    }

    /// Waits until the daemon lists so many agents. Gives the list and how long it took since the start.
    pub(crate) async fn wait_for_agents(&self, agents: usize) -> Result<(Vec<PaneItem>, Duration)> {
        let since = Instant::now();
        loop {
            if UnixStream::connect(self.client.socket()).await.is_ok()
                && let Ok(list) = self.client.get::<PaneList>("/v1/panes").await
                && list.items.iter().filter(|pane| pane.runtime_id.is_some()).count() >= agents
            {
                return Ok((list.items, self.spawned.elapsed()));
            }
            if since.elapsed() > DEADLINE {
                bail!("the daemon did not find {agents} agents");
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until tmux says that every pane of the fleet is piped. Gives how long it took since the start.
    pub(crate) async fn wait_for_streams(&self, fleet: &Fleet) -> Result<Duration> {
        let since = Instant::now();
        loop {
            let piped = fleet.ask(&["list-panes", "-a", "-f", "#{pane_pipe}", "-F", "#{pane_id}"])?.lines().count();
            if piped >= fleet.panes.len() {
                return Ok(self.spawned.elapsed());
            }
            if since.elapsed() > DEADLINE {
                bail!("only {piped} of {} streams were armed", fleet.panes.len());
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Stops the daemon as a service manager would.
    pub(crate) fn stop(mut self) -> Result<()> {
        cleanup::send(self.pid(), Signal::TERM);
        self.child.wait()?;
        cleanup::gone(self.pid());
        Ok(())
    }

    /// Kills the daemon so that it cannot do anything about it.
    pub(crate) fn kill(mut self) -> Result<()> {
        cleanup::kill(self.pid());
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        cleanup::kill(self.child.id());
        self.child.wait().ok();
    }
}
