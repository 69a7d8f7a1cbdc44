//! Starts an observer for every tmux server that is watched, and ends them all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agtmux_agents::Registry;
use agtmux_core::id::{BootId, TargetName};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::handle::Input;
use super::world::LOCAL;
use crate::target::helper;
use crate::target::link::LinkKind;
use crate::target::observation::Observation;
use crate::target::observer::Observer;

/// How many reports may wait for the main loop. An observer that is ahead waits; tmux does not.
const REPORTS: usize = 64;

/// The observers.
pub struct Observers {
    tmux: PathBuf,
    pipe_socket: PathBuf,
    helper: PathBuf,
    link: LinkKind,
    registry: Arc<Registry>,
    boot: BootId,
    reports: mpsc::Sender<Observation>,
    stop: watch::Sender<bool>,
    watched: BTreeSet<PathBuf>,
    tasks: JoinSet<()>,
}

impl Observers {
    /// No observers yet; those to come report to the main loop.
    pub fn new(
        tmux: PathBuf,
        link: LinkKind,
        pipe_socket: PathBuf,
        registry: Arc<Registry>,
        boot: BootId,
        inputs: mpsc::Sender<Input>,
    ) -> Self {
        let (reports, mut received) = mpsc::channel(REPORTS);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(observation) = received.recv().await {
                if inputs.send(Input::Observed(observation)).await.is_err() {
                    break;
                }
            }
        });
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("agtmux"));
        let agtmux = program.with_file_name("agtmux");
        let helper = if agtmux.exists() { agtmux } else { program };
        Self {
            tmux,
            pipe_socket,
            helper,
            link,
            registry,
            boot,
            reports,
            stop: watch::channel(false).0,
            watched: BTreeSet::new(),
            tasks,
        }
    }

    /// Watches a socket. Says whether that is news.
    pub fn watch(&mut self, socket: &Path) -> bool {
        if !self.watched.insert(socket.to_owned()) {
            return false;
        }
        let observer = Observer {
            target: TargetName::new(LOCAL),
            socket: socket.to_owned(),
            tmux: self.tmux.clone(),
            pipe_socket: self.pipe_socket.with_extension(format!("pipe{}", self.watched.len())),
            pipe_helper: helper::command_line(&self.helper, helper::PIPE),
            link: self.link,
            janitor: helper::command_line(&self.helper, helper::JANITOR),
            registry: self.registry.clone(),
            boot: self.boot.clone(),
            reports: self.reports.clone(),
        };
        self.tasks.spawn(observer.run(self.stop.subscribe()));
        true
    }

    /// Tells every observer to take its things out of tmux, and waits for them.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        drop(self.reports);
        while self.tasks.join_next().await.is_some() {}
    }
}
