//! A private tmux server.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::run::{Background, Run};
use super::wait::wait_for;

/// A tmux server on a socket of its own, without configuration. It may or may not run.
#[derive(Clone, Debug)]
pub(crate) struct Tmux {
    pub(crate) socket: PathBuf,
    variables: Vec<(String, String)>,
}

impl Tmux {
    /// A person's terminal that shows a session: `script` gives tmux a tty.
    #[track_caller]
    pub(crate) fn attach(&self, session: &str) -> Background {
        let mut command = Command::new("script");
        let line =
            format!("stty rows 40 cols 120; exec tmux -S {} attach-session -t ={session}", self.path().display());
        command.args(["-qfec", &line, "/dev/null"]).env_clear();
        command.env("PATH", std::env::var("PATH").unwrap()).env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        let client = Background::start(&mut command);
        wait_for("the terminal to be attached", || {
            let clients = self.run(&["list-clients", "-t", session, "-F", "#{client_width}x#{client_height}"]);
            if clients.starts_with("120x40") { Ok(()) } else { Err(clients) }
        });
        client
    }

    pub(crate) fn new(socket: PathBuf, variables: Vec<(String, String)>) -> Self {
        Self { socket, variables }
    }

    /// The beginning of a tmux command line for this server.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.env_clear().envs(self.variables.iter().cloned());
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]);
        command
    }

    /// Runs a tmux command, successful or not.
    #[track_caller]
    pub(crate) fn try_run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command().args(arguments))
    }

    /// Runs a tmux command and gives its output without the last line end.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.try_run(arguments).ok().stdout.trim_end_matches('\n').to_owned()
    }

    /// Starts the server, with one session that holds a program that does nothing.
    #[track_caller]
    pub(crate) fn start(&self, session: &str) -> &Self {
        self.run(&["new-session", "-d", "-s", session, "-x", "100", "-y", "30", "-n", "base", "exec sleep 100000"]);
        self
    }

    /// A new window that runs a shell command, in the background. Gives the pane's id.
    #[track_caller]
    pub(crate) fn window(&self, session: &str, command: &str) -> String {
        self.run(&["new-window", "-d", "-t", &format!("={session}:"), "-P", "-F", "#{pane_id}", command])
    }

    /// What a format gives for a target.
    #[track_caller]
    pub(crate) fn format(&self, target: &str, format: &str) -> String {
        self.run(&["display-message", "-p", "-t", target, format])
    }

    /// The server's process.
    #[track_caller]
    pub(crate) fn pid(&self) -> u32 {
        self.run(&["display-message", "-p", "#{pid}"]).parse().unwrap()
    }

    /// Types into a pane.
    #[track_caller]
    pub(crate) fn keys(&self, pane: &str, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", pane], keys].concat());
    }

    pub(crate) fn is_running(&self) -> bool {
        agtmux_tmux::server::is_alive(&self.socket)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.socket
    }

    /// Everything in the server that could be ours, and everything of the user's that we could have touched.
    pub(crate) fn traces(&self) -> String {
        [
            vec!["list-sessions", "-F", "#{session_name}"],
            vec!["list-clients", "-F", "#{client_name} #{client_flags}"],
            vec!["list-panes", "-a", "-F", "#{pane_id} #{pane_pipe} #{pane_pid}"],
            vec!["show-hooks", "-g"],
            vec!["show-hooks", "-gw"],
            vec!["show-environment", "-g"],
            vec!["show-environment", "-gh"],
            vec!["show-options", "-g"],
            vec!["show-options", "-gw"],
            vec!["show-options", "-s"],
            vec!["list-buffers"],
        ]
        .iter()
        .map(|command| format!("$ {}\n{}\n", command.join(" "), self.try_run(command).stdout))
        .collect()
    }
}

/// The lines that two texts do not share.
pub(crate) fn difference(before: &str, now: &str) -> String {
    let only = |text: &str, mark: &str, other: &str| -> String {
        let lines = text.lines().filter(|line| !other.lines().any(|there| there == *line));
        lines.map(|line| format!("{mark} {line}\n")).collect()
    };
    format!("{}{}", only(before, "-", now), only(now, "+", before))
}
