//! `agtmux demo`: a private tmux server with scripted agents, watched by a daemon of its own.
//!
//! Nothing of the user's is touched: the server, the state and the configuration lie in one temporary directory, and
//! it is removed at the end. The agents are shell scripts that say what they do with `agtmux signal`, as a real agent's
//! hook would; no model and no network is involved.

mod script;

use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::list::PaneList;
use clap::Args;
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::list::panes_page;
use super::{Context, output};
use crate::client::{Client, StartDaemon};
use crate::error::CommandError;
use crate::paths::{Paths, private_dir};

/// How often the table is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long the agents may take to be found.
const START_DEADLINE: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// How long to show the table
    #[arg(long, default_value_t = 12, value_name = "N")]
    seconds: u64,
    /// Leave it running, to look around
    #[arg(long)]
    keep: bool,
    /// End a demo that was left running
    #[arg(long, conflicts_with = "keep")]
    stop: bool,
}

pub async fn run(args: DemoArgs, context: &Context) -> Result<(), CommandError> {
    let demo = Demo::at(&std::env::temp_dir().join(format!("agtmux-demo-{}", rustix::process::getuid().as_raw())));
    if args.stop {
        demo.clean_up().await;
        return output::print("the demo is gone\n");
    }
    demo.clean_up().await;
    let outcome = tokio::select! {
        outcome = demo.show(args.seconds, context.color) => outcome,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    if args.keep && outcome.is_ok() {
        return output::print(&demo.how_to_explore());
    }
    demo.clean_up().await;
    outcome?;
    output::print(FAREWELL)
}

const FAREWELL: &str = "\nThat was a private tmux server, and it is gone. To look around in one yourself:\n  \
    agtmux demo --keep         leave it running; it says how to look around and how to end it\n\
    On your own tmux:\n  \
    agtmux list panes          every agent, its state, why, and for how long\n  \
    agtmux watch               the same, live\n";

struct Demo {
    root: PathBuf,
    paths: Paths,
    tmux_socket: PathBuf,
    program: PathBuf,
}

impl Demo {
    fn at(root: &Path) -> Self {
        Self {
            paths: Paths {
                config_dir: root.join("config/agtmux"),
                state_dir: root.join("state/agtmux"),
                socket: root.join("run/agtmux/agtmuxd.sock"),
            },
            tmux_socket: root.join("tmux.sock"),
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("agtmux")),
            root: root.to_owned(),
        }
    }

    async fn show(&self, seconds: u64, color: bool) -> Result<(), CommandError> {
        output::print("Starting a private tmux server with six scripted agents…\n")?;
        self.lay_out()?;
        self.start_agents().await?;
        let client = Client::new(&self.paths, Some(self.tmux_socket.clone()), StartDaemon::Never);
        self.start_daemon().await?;
        self.wait_for_agents(&client).await?;
        let terminal = std::io::stdout().is_terminal();
        let mut shown = String::new();
        let end = Instant::now() + Duration::from_secs(seconds);
        while Instant::now() < end {
            let list: PaneList = client.get("/v1/panes").await?;
            let table = panes_page(&list, color).text();
            let states: String = list.items.iter().filter_map(|pane| pane.state.as_deref()).collect();
            if terminal {
                let lines: String = table.lines().map(|line| format!("{line}\x1b[K\n")).collect();
                let clear = if shown.is_empty() { "\x1b[2J" } else { "" };
                output::print(&format!("{clear}\x1b[H{lines}\x1b[J"))?;
            } else if states != shown {
                output::print(&format!("\n{table}"))?;
            }
            shown = states;
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Writes the agents: programs whose names are those of the real ones, in a directory of their own.
    fn lay_out(&self) -> Result<(), CommandError> {
        let fail = |error: std::io::Error| CommandError::internal(format!("cannot lay out the demo: {error}"));
        private_dir(&self.root)?;
        let bin = self.root.join("bin");
        fs::create_dir_all(&bin).map_err(fail)?;
        for agent in script::AGENTS {
            let path = bin.join(agent.program);
            fs::write(&path, script::text(agent, &self.program)).map_err(fail)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).map_err(fail)?;
        }
        Ok(())
    }

    async fn start_agents(&self) -> Result<(), CommandError> {
        for (place, agent) in script::AGENTS.iter().enumerate() {
            let program = self.root.join("bin").join(agent.program);
            let program = program.to_string_lossy();
            let session = agent.session;
            let known = script::AGENTS[..place].iter().any(|earlier| earlier.session == session);
            let arguments: &[&str] = if known {
                &["new-window", "-d", "-t", session, "-n", agent.window, &program]
            } else {
                &["new-session", "-d", "-x", "100", "-y", "30", "-s", session, "-n", agent.window, &program]
            };
            let answer = self.tmux(arguments).await?;
            if !answer.status.success() {
                return Err(CommandError::internal(format!("tmux: {}", String::from_utf8_lossy(&answer.stderr))));
            }
        }
        Ok(())
    }

    async fn start_daemon(&self) -> Result<(), CommandError> {
        let answer =
            self.agtmux().args(["daemon", "start", "--json"]).output().await.map_err(CommandError::internal)?;
        if answer.status.success() {
            return Ok(());
        }
        Err(CommandError::new(ErrorCode::DaemonUnreachable, String::from_utf8_lossy(&answer.stderr).into_owned()))
    }

    async fn wait_for_agents(&self, client: &Client) -> Result<(), CommandError> {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            let list: PaneList = client.get("/v1/panes").await?;
            if list.items.len() == script::AGENTS.len() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let message = format!("only {} of {} agents were found", list.items.len(), script::AGENTS.len());
                return Err(CommandError::new(ErrorCode::Timeout, message));
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    fn how_to_explore(&self) -> String {
        let exports: String =
            self.variables().map(|(name, value)| format!("  export {name}={}\n", value.display())).collect();
        let program = self.program.display();
        format!(
            "\nThe demo goes on. To look around:\n{exports}  {program} list panes\n  {program} watch\n  \
             {program} explain %0\n  tmux -S {} attach\nTo end it:\n  {program} demo --stop\n",
            self.tmux_socket.display()
        )
    }

    /// Ends what runs and removes everything. Fit to be called on a demo that is half there, or not at all.
    async fn clean_up(&self) {
        if self.paths.socket.exists() {
            self.agtmux().args(["daemon", "stop"]).output().await.ok();
        }
        if self.tmux_socket.exists() {
            self.tmux(&["kill-server"]).await.ok();
        }
        fs::remove_dir_all(&self.root).ok();
    }

    /// tmux, as far from the user's as it gets: own socket, no configuration.
    async fn tmux(&self, arguments: &[&str]) -> Result<Output, CommandError> {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.tmux_socket).args(["-f", "/dev/null"]).args(arguments);
        command.envs(self.variables()).env_remove("TMUX").env_remove("TMUX_PANE").stdin(Stdio::null());
        command.output().await.map_err(|error| {
            CommandError::new(ErrorCode::TmuxMissing, format!("cannot run tmux: {error}"))
                .hint("install tmux 3.2 or newer")
        })
    }

    fn agtmux(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.envs(self.variables()).env_remove("TMUX").env_remove("TMUX_PANE").stdin(Stdio::null());
        command
    }

    /// What isolates the demo's instance.
    fn variables(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        [
            ("XDG_CONFIG_HOME", self.root.join("config")),
            ("XDG_STATE_HOME", self.root.join("state")),
            ("AGTMUX_SOCKET", self.paths.socket.clone()),
            ("AGTMUX_TMUX_SOCKET", self.tmux_socket.clone()),
        ]
        .into_iter()
    }
}
