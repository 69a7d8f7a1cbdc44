//! An agent that does what it is told: a shell script under an agent's name, in a pane of its own, that runs one command
//! for each order.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use agtmux_wire::list::PaneItem;
use agtmux_wire::stream::Frame;
use anyhow::Result;
use rustix::fs::{CWD, FileType, Mode};

use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::follower::Follower;

const SESSION: &str = "probe";

pub(crate) struct Probe<'a> {
    fleet: &'a Fleet,
    orders: File,
    answers: BufReader<File>,
}

impl<'a> Probe<'a> {
    /// Starts an agent that runs the shell command for each order, which is `$order` there, and waits until the daemon
    /// has found it.
    pub(crate) async fn start(fleet: &'a Fleet, daemon: &Daemon, command: &str) -> Result<Self> {
        let fifos = [fleet.root().join("orders"), fleet.root().join("answers")];
        for fifo in &fifos {
            rustix::fs::mknodat(CWD, fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        let [orders, answers] = fifos.each_ref().map(|fifo| fifo.display().to_string());
        let script = format!(
            "#!/bin/sh\nexec 3<{orders} 4>{answers}\nwhile read -r order <&3; do\n\
             if [ \"$order\" = nothing ]; then /bin/true; else {command}; fi; echo done >&4\ndone\n"
        );
        let program = fleet.write_program("probe/claude", &script)?;
        let status = format!("SCHMUX_STATUS_FILE={}", Self::status_file(fleet).display());
        fleet.ask(&["new-session", "-d", "-s", SESSION, "-e", &status, &format!("exec {}", program.display())])?;
        let orders = File::create(&fifos[0])?;
        let answers = BufReader::new(File::open(&fifos[1])?);
        fifos.iter().try_for_each(std::fs::remove_file)?;
        daemon.wait_for_agents(fleet.panes.len() + 1).await?;
        Ok(Self { fleet, orders, answers })
    }

    /// The file in which the agent may say its state.
    pub(crate) fn status_file(fleet: &Fleet) -> PathBuf {
        fleet.root().join("probe/status")
    }

    /// Gives an order and does not wait.
    pub(crate) fn order(&mut self, order: &str) -> Result<()> {
        Ok(writeln!(self.orders, "{order}")?)
    }

    /// Waits until the last order is done.
    pub(crate) fn done(&mut self) -> Result<()> {
        self.answers.read_line(&mut String::new())?;
        Ok(())
    }

    /// Has the agent run a program that does nothing.
    pub(crate) fn nothing(&mut self) -> Result<()> {
        self.order("nothing")?;
        self.done()
    }

    /// Whether that is the agent.
    pub(crate) fn is_it(item: &PaneItem) -> bool {
        item.identity.session_name == SESSION
    }

    /// Whether a frame shows the agent in a state.
    pub(crate) fn is_shown_as(frame: &Frame, state: &str) -> bool {
        Follower::panes(frame).iter().any(|pane| Self::is_it(pane) && pane.state.as_deref() == Some(state))
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        // It ends with its orders at the latest.
        self.fleet.ask(&["kill-session", "-t", &format!("={SESSION}")]).ok();
    }
}
