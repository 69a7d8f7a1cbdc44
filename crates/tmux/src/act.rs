//! Compare and act, in one breath inside the server.
//!
//! A [`Guard`] says which life of which server, which pane and which process is meant. It is evaluated by `if-shell -F` in
//! the same command queue as the act: nothing of anybody else runs in between, so what was compared is what is acted
//! on. Three things that look harmless are not: `-t %9` with a pane that is gone evaluates on *another* pane, pane ids start
//! again at `%0` with a new server, and a pane that was respawned keeps its id. Hence the guard names them all.

use std::time::Duration;

use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::id::PaneId;
use crate::record::{Fields, Record, lossy, unreadable};
use crate::transport::Transport;

/// How many seconds after the time since which nobody may have typed the guard is compared at most. tmux does not tell its formats
/// what time it is: a key that seems to have come later than this came before the clock was set back.
const COMPARED_WITHIN: i64 = 60;

/// What has to be so at the moment of the act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// `pid`: the server's process.
    pub server_pid: u32,
    /// `start_time`: when it started, in seconds since the epoch.
    pub server_start: i64,
    /// `pane_id`.
    pub pane: PaneId,
    /// `pane_pid`: the first process of the pane.
    pub pane_pid: u32,
    /// `pane_current_command`: the name of the process in the foreground, where that matters.
    pub command: Option<String>,
    /// Keys reach the program in the pane, and nobody else: the pane is in no mode (in copy mode keys go to tmux, and a paste
    /// loses its brackets), its input is not off, and it is not synchronized with other panes.
    pub out_of_mode: bool,
    /// Nobody typed into the pane since this time, in seconds since the epoch: no attached session in which it is the pane
    /// that gets the keys had one. Whatever is later by more than a minute was before it: the clock was set back since.
    pub quiet_since: Option<i64>,
}

/// What became of a guarded act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acted {
    /// The guard held and the script ran. What it printed.
    Done(Vec<u8>),
    /// The guard did not hold and nothing ran.
    Refused(Mismatch),
}

/// What was not as the guard wanted it: the first difference, in the order of importance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// Another life of the server.
    #[error("it is another tmux server: {pid} started at {start}")]
    Server {
        /// Its process.
        pid: u32,
        /// When it started.
        start: i64,
    },
    /// The pane is gone.
    #[error("the pane is gone")]
    PaneGone,
    /// The pane has another first process: it was respawned.
    #[error("the pane was respawned: its process is {pid}")]
    Respawned {
        /// The process now.
        pid: u32,
    },
    /// The pane is dead.
    #[error("the process in the pane has ended")]
    Dead,
    /// Another program is in the foreground.
    #[error("{command:?} is in the foreground of the pane")]
    Command {
        /// Its name.
        command: String,
    },
    /// A mode covers the pane.
    #[error("the pane is in copy mode")]
    InMode,
    /// Keys do not reach the pane.
    #[error("the pane's input is off")]
    InputOff,
    /// Keys would reach other panes too.
    #[error("the pane is synchronized with other panes of its window")]
    Synchronized,
    /// Somebody types.
    #[error("somebody is typing in the pane")]
    NotQuiet,
    /// Something changed between the comparison and the report of it.
    #[error("the pane changed that very moment")]
    Fleeting,
}

const NUMBERS: &[&str] =
    &["pid", "start_time", "pane_id", "pane_pid", "pane_dead", "pane_in_mode", "pane_input_off", "pane_synchronized"];

const TEXTS: &[&str] = &["pane_current_command"];

impl Guard {
    /// The guard as a condition of tmux's format language.
    pub(crate) fn condition(&self) -> String {
        let mut terms = self.identity();
        terms.push(format!("#{{==:#{{pane_pid}},{}}}", self.pane_pid));
        // A pane without a dead process has no value here.
        terms.push("#{!=:#{pane_dead},1}".to_owned());
        terms.extend(self.command.as_deref().map(|name| format!("#{{m:{},#{{pane_current_command}}}}", pattern(name))));
        if self.out_of_mode {
            // Modes are counted, one above the other.
            terms.push("#{==:#{pane_in_mode},0}".to_owned());
            terms.extend(["pane_input_off", "pane_synchronized"].map(|flag| format!("#{{!=:#{{{flag}}},1}}")));
        }
        terms.extend(self.quiet_since.map(|since| self.is_quiet(since)));
        all_of(terms)
    }

    /// Which pane of which life of which server.
    fn identity(&self) -> Vec<String> {
        vec![
            format!("#{{==:#{{pid}},{}}}", self.server_pid),
            format!("#{{==:#{{start_time}},{}}}", self.server_start),
            format!("#{{==:#{{pane_id}},{}}}", self.pane),
        ]
    }

    /// That nobody typed into the pane. A window can be linked into several sessions, so all are asked; keys go to the active
    /// pane of a session's current window, and who is not attached has none.
    fn is_quiet(&self, since: i64) -> String {
        let until = since.saturating_add(COMPARED_WITHIN);
        let typed = format!("#{{&&:#{{e|>=:#{{session_activity}},{since}}},#{{e|<=:#{{session_activity}},{until}}}}}");
        let gets_keys = format!("#{{==:#{{W:,#{{P:,#{{pane_id}}}}}},{}}}", self.pane);
        let busy = format!("#{{&&:#{{session_attached}},#{{&&:{typed},{gets_keys}}}}}");
        format!("#{{==:#{{S:#{{?{busy},x,}}}},}}")
    }

    /// Why the guard did not hold.
    fn differs(&self, record: &Record) -> Option<Mismatch> {
        let mut numbers = record.numbers();
        let (pid, start) = (numbers.number()?, numbers.number()?);
        // tmux answers for another pane, or for none, where the one that was asked for is gone.
        let (pane, pane_pid) = (PaneId::parse(numbers.next()?), numbers.number()?);
        let (dead, in_mode) = (numbers.flag()?, numbers.flag()?);
        let (input_off, synchronized) = (numbers.flag()?, numbers.flag()?);
        let command = lossy(record.texts().next()?);
        let differs = |name: &str| self.command.as_deref().is_some_and(|wanted| wanted != name);
        Some(match () {
            () if (pid, start) != (self.server_pid, self.server_start) => Mismatch::Server { pid, start },
            () if pane != Some(self.pane) => Mismatch::PaneGone,
            () if pane_pid != self.pane_pid => Mismatch::Respawned { pid: pane_pid },
            () if dead => Mismatch::Dead,
            () if differs(&command) => Mismatch::Command { command },
            () if self.out_of_mode && in_mode => Mismatch::InMode,
            () if self.out_of_mode && input_off => Mismatch::InputOff,
            () if self.out_of_mode && synchronized => Mismatch::Synchronized,
            // All else was as it should be, and nothing ran between the comparison and this report.
            () if self.quiet_since.is_some() => Mismatch::NotQuiet,
            () => Mismatch::Fleeting,
        })
    }
}

/// Runs a script if, and only if, the guard holds at that moment. `otherwise` runs if it does not, to clear away what was
/// laid out for the script.
///
/// # Errors
/// Fails when the server is gone or does not answer in time. After a timeout nobody knows whether the script ran.
pub async fn guarded(
    client: &impl Transport,
    guard: &Guard,
    script: &Script,
    otherwise: &Script,
    deadline: Duration,
) -> Result<Acted, ClientError> {
    let fields = Fields::new(NUMBERS, TEXTS)?;
    let report = Command::new("display-message").flag("-p").target(guard.pane).arg(fields.format());
    let refused = Script::new().then(&report).join(otherwise);
    // The mark comes last: a script that failed in the middle did not print it.
    let ran = Command::new("display-message").flag("-p").arg(format!("{}+", String::from_utf8_lossy(fields.mark())));
    let done = Script::new().join(script).then(&ran);
    let choice = Command::new("if-shell")
        .flag("-F")
        .target(guard.pane)
        .arg(guard.condition())
        .commands(&done)
        .commands(&refused);
    let output = match client.run_script(&Script::from(&choice), deadline).await {
        // Where there is no pane at all, tmux does not even compare.
        Err(ClientError::Refused(text)) if text.contains("can't find pane") => {
            return Ok(Acted::Refused(Mismatch::PaneGone));
        }
        output => output?,
    };
    let end = [fields.mark(), b"+\n"].concat();
    if let Some(printed) = output.strip_suffix(end.as_slice()) {
        return Ok(Acted::Done(printed.to_vec()));
    }
    // A server that ends in the middle lets its client go without a word, and its panes end with it.
    let Ok((record, _)) = fields.first(&output) else {
        return Err(ClientError::Closed { reason: "the server ended before it answered".to_owned() });
    };
    guard.differs(&record).map(Acted::Refused).ok_or_else(unreadable)
}

/// Closes the pane of a guard if its process has ended and the pane merely remains. Says whether it did.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn close_dead(client: &impl Transport, guard: &Guard, deadline: Duration) -> Result<bool, ClientError> {
    let mut terms = guard.identity();
    terms.push("#{==:#{pane_dead},1}".to_owned());
    let close = Script::new()
        .then(&Command::new("kill-pane").target(guard.pane))
        .then(&Command::new("display-message").flag("-p").arg("closed"));
    let choice = Command::new("if-shell").flag("-F").target(guard.pane).arg(all_of(terms)).commands(&close).arg(b"");
    match client.run_script(&Script::from(&choice), deadline).await {
        Err(ClientError::Refused(text)) if text.contains("can't find pane") => Ok(false),
        output => Ok(!output?.is_empty()),
    }
}

fn all_of(terms: Vec<String>) -> String {
    terms.into_iter().rev().reduce(|all, term| format!("#{{&&:{term},{all}}}")).unwrap_or_default()
}

/// A name as a pattern that matches it: whatever means something to formats or patterns matches any character.
fn pattern(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+') { c } else { '?' }).collect()
}
