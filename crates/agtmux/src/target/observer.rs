//! One observer per tmux socket: waits for a server, watches it for as long as it lives, and waits for the next.
//!
//! A server that is not there, dies, restarts or does not answer is an ordinary state here, and is reported as such.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use agtmux_core::id::{BootId, TargetName};
use agtmux_tmux::server;
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::link::{LinkError, LinkKind};
use super::manifests::Manifests;
use super::observation::{Connection, Gap, Observation, Paint};
use super::watcher::{self, End};

/// How often a server that is not there is looked for. A connection test costs microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long tmux may take for one call. A server that is busy with a burst answers within this; one that is stopped
/// does not.
pub(super) const CALL_DEADLINE: Duration = Duration::from_secs(5);

/// How long an observer that is told to stop may take to remove what is ours from tmux. Shorter than one call may take: a
/// server that does not answer must not hold up the daemon's end, and the janitor waits for it as long as it takes.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

/// The longest pause between two attempts to connect to a server that is there.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Watches one tmux socket.
#[derive(Clone, Debug)]
pub struct Observer {
    /// The target the server runs on.
    pub target: TargetName,
    /// The server's socket.
    pub socket: PathBuf,
    /// The tmux program.
    pub tmux: PathBuf,
    /// Where pane streams are handed over.
    pub pipe_socket: PathBuf,
    /// The command line that hands one over.
    pub pipe_helper: Vec<OsString>,
    /// Which clients to connect with.
    pub link: LinkKind,
    /// The command line of a janitor.
    pub janitor: Vec<OsString>,
    /// What agents look like.
    pub manifests: Manifests,
    /// Where the wrappers of agents have their sockets.
    pub shims: PathBuf,
    /// The boot that processes belong to.
    pub boot: BootId,
    /// Where reports go.
    pub reports: mpsc::Sender<Observation>,
    /// Where it is told that panes were painted.
    pub paints: mpsc::UnboundedSender<Paint>,
    /// Where it is told that markers may have been missed.
    pub gaps: mpsc::UnboundedSender<Gap>,
}

impl Observer {
    /// Watches until told to stop, then removes everything of ours from tmux, or leaves that to the janitor.
    pub async fn run(self, stop: watch::Receiver<bool>) {
        let mut told = stop.clone();
        let overdue = async {
            // Whoever could tell is gone: the daemon ends.
            told.wait_for(|stop| *stop).await.ok();
            sleep(STOP_PATIENCE).await;
        };
        tokio::select! {
            () = self.keep_watching(stop) => {}
            () = overdue => {
                tracing::warn!(socket = %self.socket.display(), "tmux does not answer; what is ours there is left to the janitor");
            }
        }
    }

    async fn keep_watching(&self, mut stop: watch::Receiver<bool>) {
        let mut pause = LOOK_EVERY;
        let mut reported = None;
        // After the user's last session closed, a server that stays (`exit-empty off`) is not entered again before it
        // has a session of the user's.
        let mut wary = false;
        while !*stop.borrow() {
            if !server::is_alive(&self.socket) {
                self.connection(&mut reported, Connection::NotRunning).await;
                (pause, wary) = (LOOK_EVERY, false);
            } else if wary && !self.has_user_session().await {
                pause = LOOK_EVERY * 4;
            } else {
                match watcher::watch(self, &mut stop).await {
                    Ok(end) => {
                        reported = None;
                        match end {
                            End::Stopped => return,
                            End::LastSessionClosed => wary = true,
                            End::Unsupported { version } => {
                                let why = format!("tmux {version} is older than 3.2");
                                self.connection(&mut reported, Connection::Unusable { why }).await;
                                pause = LONGEST_PAUSE;
                            }
                            End::Lost { why } => {
                                tracing::info!(socket = %self.socket.display(), why, "lost the tmux server");
                                pause = LOOK_EVERY;
                            }
                        }
                    }
                    Err(LinkError::NoServer) => pause = LOOK_EVERY,
                    Err(error) => {
                        let why = error.to_string();
                        self.connection(&mut reported, Connection::Connecting { why: Some(why) }).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                }
            }
            tokio::select! {
                () = sleep(pause) => {}
                _ = stop.changed() => {}
            }
        }
    }

    /// Reports how the connection stands, if that is news.
    async fn connection(&self, reported: &mut Option<Connection>, status: Connection) {
        if reported.as_ref() != Some(&status) {
            *reported = Some(status.clone());
            self.report(Observation::Connection { socket: self.socket.clone(), status }).await;
        }
    }

    /// Hands a report to the main loop; it is gone only when the daemon is ending.
    pub(super) async fn report(&self, observation: Observation) {
        self.reports.send(observation).await.ok();
    }

    async fn has_user_session(&self) -> bool {
        let names = list_session_names(&self.tmux, &self.socket).await;
        names.is_some_and(|names| {
            !agtmux_tmux::session::only_hidden(names.split(|byte| *byte == b'\n').filter(|name| !name.is_empty()))
        })
    }
}

async fn list_session_names(tmux: &Path, socket: &Path) -> Option<Vec<u8>> {
    let mut command = Command::new(tmux);
    command
        .args(["-N", "-S"])
        .arg(socket)
        .args(["list-sessions", "-F", "#{session_name}"])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(CALL_DEADLINE, command.output()).await.ok()?.ok()?;
    output.status.success().then_some(output.stdout)
}
