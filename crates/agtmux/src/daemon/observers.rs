//! Starts an observer for every tmux server that is watched, and ends them all.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agtmux_core::id::{BootId, TargetName};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::handle::Input;
use super::said::Said;
use super::world::LOCAL;
use crate::paths::Paths;
use crate::target::helper;
use crate::target::link::LinkKind;
use crate::target::manifests::Manifests;
use crate::target::observation::{Gap, Observation, Paint};
use crate::target::observer::Observer;

/// How many reports may wait for the main loop. An observer that is ahead waits; tmux does not.
const REPORTS: usize = 64;

/// The observers.
pub struct Observers {
    tmux: PathBuf,
    pipe_socket: PathBuf,
    helper: PathBuf,
    link: LinkKind,
    manifests: Manifests,
    shims: PathBuf,
    boot: BootId,
    reports: mpsc::Sender<Observation>,
    paints: mpsc::UnboundedSender<Paint>,
    gaps: mpsc::UnboundedSender<Gap>,
    stop: watch::Sender<bool>,
    watched: BTreeSet<PathBuf>,
    tasks: JoinSet<()>,
}

impl Observers {
    /// No observers yet; those to come report to the main loop.
    pub fn new(
        tmux: PathBuf,
        link: LinkKind,
        paths: &Paths,
        manifests: Manifests,
        boot: BootId,
        inputs: mpsc::Sender<Input>,
        (paints, gaps): (mpsc::UnboundedSender<Paint>, mpsc::UnboundedSender<Gap>),
    ) -> Self {
        let (reports, mut received) = mpsc::channel(REPORTS);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(observation) = received.recv().await {
                let input = match observation {
                    Observation::Heard(heard) => {
                        Input::Said(Box::new(Said::now(heard.source, heard.claim, heard.readings)))
                    }
                    other => Input::Observed(other),
                };
                if inputs.send(input).await.is_err() {
                    break;
                }
            }
        });
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("agtmux"));
        let agtmux = program.with_file_name("agtmux");
        let helper = if agtmux.exists() { agtmux } else { program };
        Self {
            tmux,
            pipe_socket: paths.pipe_socket(),
            helper,
            link,
            manifests,
            shims: paths.shim_dir(),
            boot,
            reports,
            paints,
            gaps,
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
            manifests: self.manifests.clone(),
            shims: self.shims.clone(),
            boot: self.boot.clone(),
            reports: self.reports.clone(),
            paints: self.paints.clone(),
            gaps: self.gaps.clone(),
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
