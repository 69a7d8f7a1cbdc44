//! Who looks at a server, and how somebody comes to look at a pane of it.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use crate::act::Guard;
use crate::client::ClientError;
use crate::command::{Command, CommandError, Script};
use crate::id::{PaneId, SessionId, WindowId};
use crate::plain::Plain;
use crate::record::{Fields, Record, lossy, unreadable};
use crate::transport::Transport;

/// A terminal that is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRow {
    /// `client_name`: its terminal's path, as a rule.
    pub name: String,
    /// `session_id`: what it shows.
    pub session: SessionId,
    /// `pane_id`: where its keys go.
    pub pane: PaneId,
    /// `client_activity`: when a key was last typed, in seconds since the epoch.
    pub activity: i64,
    /// `client_control_mode`: it is no terminal but a program.
    pub is_control: bool,
}

/// Where a pane is shown: a window may be linked into several sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The session.
    pub session: SessionId,
    /// The window in it.
    pub window: WindowId,
}

/// Lists the clients of a server.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn clients(client: &impl Transport, deadline: Duration) -> Result<Vec<ClientRow>, ClientError> {
    let fields = Fields::new(&["session_id", "pane_id", "client_activity", "client_control_mode"], &["client_name"])?;
    let command = Command::new("list-clients").opt("-F", fields.format());
    let output = client.run_script(&Script::from(&command), deadline).await?;
    let records = if output.is_empty() { Vec::new() } else { fields.records(&output)? };
    // A client that has no session yet, or none any more, shows nothing.
    let rows = records.iter().filter(|record| record.numbers().next().is_some_and(|id| !id.is_empty()));
    rows.map(|record| client_row(record).ok_or_else(unreadable)).collect()
}

fn client_row(record: &Record) -> Option<ClientRow> {
    let mut numbers = record.numbers();
    Some(ClientRow {
        session: SessionId::parse(numbers.next()?)?,
        pane: PaneId::parse(numbers.next()?)?,
        activity: numbers.number()?,
        is_control: numbers.flag()?,
        name: lossy(record.texts().next()?),
    })
}

/// Shows a line for a few seconds to everybody who looks at a pane, in their status line. A key ends it and goes where it would have
/// gone: with `-N` tmux would eat all keys for as long as the line is there.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn tell(
    client: &impl Transport,
    pane: PaneId,
    line: &'static str,
    deadline: Duration,
) -> Result<(), ClientError> {
    let clients = clients(client, deadline).await?;
    for row in clients.iter().filter(|row| row.pane == pane && !row.is_control) {
        let show = Command::new("display-message").opt("-c", &row.name).opt("-d", "4000").arg(line);
        client.run_script(&Script::from(&show), deadline).await?;
    }
    Ok(())
}

/// Makes a pane the one that its session shows, without leaving a zoom. Everybody who looks at that session sees it: a session
/// has one current window, and a window one active pane.
fn select(pane: PaneId, place: Place) -> Script {
    let window = Command::new("select-window").target(format!("{}:{}", place.session, place.window));
    Script::new().then(&window).then(&Command::new("select-pane").flag("-Z").target(pane))
}

/// Shows a pane to one client and takes no other client anywhere else.
pub fn switch(client: &str, pane: PaneId, place: Place) -> Script {
    let switch = Command::new("switch-client").opt("-c", client).target(place.session);
    Script::new().then(&switch).join(&select(pane, place))
}

/// The arguments of a tmux that attaches its terminal to a pane if the guard holds at that very moment, and otherwise says that
/// it does not.
///
/// # Errors
/// Never for ids.
pub fn attach(plain: &Plain, guard: &Guard, place: Place, read_only: bool) -> Result<Vec<OsString>, CommandError> {
    let attach = Command::new("attach-session").target(place.session);
    let attach = if read_only { attach.opt("-f", "read-only") } else { attach };
    let shown = select(guard.pane, place).then(&attach);
    let gone =
        Command::new("display-message").flag("-p").arg("the pane has changed that very moment; nothing was done");
    let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Ok(vec![
        plain.tmux().into(),
        "-S".into(),
        plain.socket().into(),
        "if-shell".into(),
        "-F".into(),
        "-t".into(),
        guard.pane.to_string().into(),
        guard.condition().into(),
        text(shown.line()?),
        text(Script::from(&gone).line()?),
    ])
}
