//! New windows for programs, opened in the background: nobody's current window, pane or session changes.
//!
//! A window is opened with a placeholder first, and the program takes its place under a [`Guard`]. Between the two the pane
//! is told to stay when its program ends, so that a program which fails at once can be looked at. And a program's variables
//! are its own then: `new-session -e` would give them to every later window of the session.
//!
//! Nothing that somebody chose goes through a format or a shell. The directory is that of our client, names are plain
//! words, and arguments and variables are handed over as they are.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::act::{Acted, Guard, guarded};
use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::id::{PaneId, SessionId, WindowId};
use crate::plain::Plain;
use crate::record::{Fields, Record, lossy, unreadable};
use crate::transport::Transport;

/// What holds a pane until its program takes its place. It ends by itself, should nobody come.
const PLACEHOLDER: [&str; 2] = ["sleep", "60"];

/// Where a window is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room<'a> {
    /// In a session that is there.
    Session(SessionId),
    /// In a new session of that name.
    NewSession(&'a str),
}

/// A window that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its session.
    pub session: SessionId,
    /// The session's name.
    pub session_name: String,
    /// The window.
    pub window: WindowId,
    /// Its one pane.
    pub pane: PaneId,
    /// What has to be so when the program takes the placeholder's place.
    pub guard: Guard,
}

/// A program, as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments. At least two: one alone would be a line for a shell.
    pub argv: Vec<Vec<u8>>,
    /// Variables that it has besides those of the session.
    pub variables: Vec<(String, Vec<u8>)>,
}

const NUMBERS: &[&str] = &["session_id", "window_id", "pane_id", "pane_pid", "pid", "start_time"];

const TEXTS: &[&str] = &["session_name"];

/// Whether a text can name a session or window as it is: nothing in it means anything to tmux, and tmux changes nothing of it.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    name.starts_with(|c: char| c.is_alphanumeric() || c == '_') && name.chars().count() <= 63 && name.chars().all(plain)
}

/// The sessions of a server.
///
/// # Errors
/// As [`Transport::run`].
pub async fn sessions(client: &impl Transport, deadline: Duration) -> Result<Vec<(SessionId, String)>, ClientError> {
    let fields = Fields::new(&["session_id"], &["session_name"])?;
    let reply = client.run(&Command::new("list-sessions").opt("-F", fields.format()), deadline).await?;
    let session =
        |record: &Record| Some((SessionId::parse(record.numbers().next()?)?, record.texts().next().map(lossy)?));
    fields.records(&reply.text())?.iter().map(|record| session(record).ok_or_else(unreadable)).collect()
}

/// Opens a window, in the directory of the clients. The names must be plain.
///
/// # Errors
/// As [`Transport::run`]; refused for a session that is there already, or is not there any more.
pub async fn open(plain: &Plain, room: Room<'_>, window: &str, deadline: Duration) -> Result<Opened, ClientError> {
    let fields = Fields::new(NUMBERS, TEXTS)?;
    let command = match room {
        Room::Session(id) => Command::new("new-window").flag("-d").opt("-t", format!("{id}:")),
        // -E: what our own environment says about displays and agents is not the session's.
        Room::NewSession(name) => Command::new("new-session").flag("-d").flag("-E").opt("-s", name),
    };
    let command = command.opt("-n", window).flag("-P").opt("-F", fields.format());
    let command = PLACEHOLDER.into_iter().fold(command, Command::arg);
    let output = plain.run_script(&Script::from(&command), deadline).await?;
    opened(&fields, &output)
}

/// Starts a server with a session and a window in it. `without` names variables that the server must not take over from us.
///
/// # Errors
/// Fails when the server does not start.
pub async fn start_server<'v>(
    plain: &Plain,
    session: &str,
    window: &str,
    without: impl IntoIterator<Item = &'v str>,
    deadline: Duration,
) -> Result<Opened, ClientError> {
    let fields = Fields::new(NUMBERS, TEXTS)?;
    let mut process = tokio::process::Command::new(plain.tmux());
    process.args(["-u", "-S"]).arg(plain.socket()).args(["new-session", "-d", "-E", "-s", session, "-n", window, "-P"]);
    process.args(["-F", &fields.format(), "--"]).args(PLACEHOLDER);
    for variable in without.into_iter().chain(["TMUX", "TMUX_PANE", "PWD"]) {
        process.env_remove(variable);
    }
    process.current_dir(plain.directory().unwrap_or(Path::new("/")));
    process.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
    let output = tokio::time::timeout(deadline, process.output()).await.map_err(|_elapsed| ClientError::Timeout)?;
    let output = output.map_err(|error| ClientError::Closed { reason: error.to_string() })?;
    if !output.status.success() {
        return Err(ClientError::Refused(lossy(output.stderr).trim_end().to_owned()));
    }
    opened(&fields, &output.stdout)
}

/// Puts a program in the place of a window's placeholder. Its pane stays when it ends, until [`let_go`].
///
/// # Errors
/// As [`guarded`].
pub async fn launch(
    plain: &Plain,
    opened: &Opened,
    program: &Program,
    deadline: Duration,
) -> Result<Acted, ClientError> {
    let stay = Command::new("set-option").flag("-p").target(opened.pane).arg("remain-on-exit").arg("on");
    let respawn = Command::new("respawn-pane").flag("-k").target(opened.pane);
    let respawn = program
        .variables
        .iter()
        .fold(respawn, |command, (name, value)| command.opt("-e", [name.as_bytes(), b"=", value].concat()));
    let respawn = program.argv.iter().fold(respawn, |command, word| command.arg(word));
    let script = Script::new().then(&stay).then(&respawn);
    guarded(plain, &opened.guard, &script, &Script::new(), deadline).await
}

/// Lets a pane close with its program again, as all others do.
///
/// # Errors
/// As [`Transport::run`].
pub async fn let_go(client: &impl Transport, pane: PaneId, deadline: Duration) -> Result<(), ClientError> {
    let command = Command::new("set-option").flag("-p").flag("-u").target(pane).arg("remain-on-exit");
    client.run(&command, deadline).await.map(|_| ())
}

fn opened(fields: &Fields, output: &[u8]) -> Result<Opened, ClientError> {
    let read = |record: &Record| {
        let mut numbers = record.numbers();
        let session = SessionId::parse(numbers.next()?)?;
        let window = WindowId::parse(numbers.next()?)?;
        let pane = PaneId::parse(numbers.next()?)?;
        let pane_pid = numbers.number()?;
        let (server_pid, server_start) = (numbers.number()?, numbers.number()?);
        let guard =
            Guard { server_pid, server_start, pane, pane_pid, command: None, out_of_mode: false, quiet_since: None };
        Some(Opened { session, session_name: record.texts().next().map(lossy)?, window, pane, guard })
    };
    fields.records(output)?.first().and_then(read).ok_or_else(unreadable)
}
