//! Panes as rows.

use std::path::PathBuf;
use std::time::Duration;

use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::id::{PaneId, SessionId, WindowId};
use crate::record::{Fields, Record, lossy, path, unreadable};
use crate::server::{ServerIdentity, Version};
use crate::transport::Transport;

/// How much to ask of each pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Without the current command and directory, which are two thirds of the cost of a listing.
    Light,
    /// Everything.
    Full,
}

/// One pane in one session.
///
/// A window that is linked to several sessions gives one row per session: rows are unique by session and pane, and a
/// caller that counts panes must do so by [`PaneRow::pane_id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRow {
    /// `session_id`.
    pub session_id: SessionId,
    /// `window_id`.
    pub window_id: WindowId,
    /// `pane_id`.
    pub pane_id: PaneId,
    /// `window_index`: position of the window in this session.
    pub window_index: u32,
    /// `pane_index`: position of the pane in its window.
    pub pane_index: u32,
    /// `pane_pid`: the first process of the pane; zero for a pane without one.
    pub pane_pid: u32,
    /// `pane_dead`: the process ended and the pane remains.
    pub pane_dead: bool,
    /// `pane_active`: the active pane of its window.
    pub pane_active: bool,
    /// `window_active`: the current window of this session.
    pub window_active: bool,
    /// `session_attached`: how many clients show this session.
    pub session_attached: u32,
    /// `pane_pipe`: the output is piped, by us or anybody.
    pub pane_pipe: bool,
    /// `session_name`.
    pub session_name: String,
    /// `window_name`.
    pub window_name: String,
    /// `pane_title`.
    pub title: String,
    /// `pane_current_command`, with [`Detail::Full`].
    pub command: Option<String>,
    /// `pane_current_path`, with [`Detail::Full`]. Some versions write control characters in it as escapes.
    pub cwd: Option<PathBuf>,
}

/// Lists the panes of all sessions, hidden ones included.
pub async fn panes(client: &impl Transport, detail: Detail, deadline: Duration) -> Result<Vec<PaneRow>, ClientError> {
    let listing = Listing::new(detail)?;
    let output = client.run_script(&Script::from(listing.command()), deadline).await?;
    listing.read(&output)
}

/// A listing of all panes, for those who ask something else in the same breath.
#[derive(Debug)]
pub struct Listing {
    command: Command,
    fields: Fields,
}

impl Listing {
    /// A listing that is to be asked for once.
    pub fn new(detail: Detail) -> Result<Self, ClientError> {
        let fields = Fields::new(PANE_NUMBERS, texts(detail))?;
        Ok(Self { command: Command::new("list-panes").flag("-a").opt("-F", fields.format()), fields })
    }

    /// What asks for it.
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// What every record begins with, and nothing that came before.
    pub fn mark(&self) -> &[u8] {
        self.fields.mark()
    }

    /// Reads the answer; what stands before the first record is not looked at.
    pub fn read(&self, output: &[u8]) -> Result<Vec<PaneRow>, ClientError> {
        self.fields.records(output)?.iter().map(|record| pane_row(record).ok_or_else(unreadable)).collect()
    }
}

/// Asks for one pane, in the session that tmux would show it in. `None` if it is gone.
pub async fn pane(
    client: &impl Transport,
    pane: PaneId,
    detail: Detail,
    deadline: Duration,
) -> Result<Option<PaneRow>, ClientError> {
    let fields = Fields::new(PANE_NUMBERS, texts(detail))?;
    let command = Command::new("display-message").flag("-p").target(pane).arg(fields.format());
    let reply = match client.run(&command, deadline).await {
        Err(ClientError::Refused(_)) => return Ok(None),
        reply => reply?,
    };
    // Where the pane that was asked for is gone, tmux answers for another one, or for none at all.
    let records = fields.records(&reply.text())?;
    let row = records
        .first()
        .filter(|record| record.numbers().next().is_some_and(|session| !session.is_empty()))
        .map(|record| pane_row(record).ok_or_else(unreadable))
        .transpose()?;
    Ok(row.filter(|row| row.pane_id == pane))
}

/// Asks which server this is.
pub async fn identity(client: &impl Transport, deadline: Duration) -> Result<(ServerIdentity, Version), ClientError> {
    let fields = Fields::new(SERVER_NUMBERS, SERVER_TEXTS)?;
    let reply = client.run(&ask_server(&fields), deadline).await?;
    fields.records(&reply.text())?.first().and_then(server).ok_or_else(unreadable)
}

/// Asks which server this is and for the panes of all its sessions, for the price of one client.
pub async fn identity_and_panes(
    client: &impl Transport,
    detail: Detail,
    deadline: Duration,
) -> Result<(ServerIdentity, Version, Vec<PaneRow>), ClientError> {
    let (fields, listing) = (Fields::new(SERVER_NUMBERS, SERVER_TEXTS)?, Listing::new(detail)?);
    let script = Script::new().then(&ask_server(&fields)).then(listing.command());
    let output = client.run_script(&script, deadline).await?;
    let (record, rest) = fields.first(&output)?;
    let (identity, version) = server(&record).ok_or_else(unreadable)?;
    Ok((identity, version, listing.read(rest)?))
}

const SERVER_NUMBERS: &[&str] = &["pid", "start_time"];

const SERVER_TEXTS: &[&str] = &["socket_path", "version"];

fn ask_server(fields: &Fields) -> Command {
    Command::new("display-message").flag("-p").arg(fields.format())
}

fn server(record: &Record) -> Option<(ServerIdentity, Version)> {
    let mut numbers = record.numbers();
    let (pid, start_time) = (numbers.number()?, numbers.number()?);
    let mut texts = record.texts();
    let socket = path(texts.next()?);
    Some((ServerIdentity { socket, pid, start_time }, Version::parse(&lossy(texts.next()?))))
}

const PANE_NUMBERS: &[&str] = &[
    "session_id",
    "window_id",
    "pane_id",
    "window_index",
    "pane_index",
    "pane_pid",
    "pane_dead",
    "pane_active",
    "window_active",
    "session_attached",
    "pane_pipe",
];

/// The last two are the expensive ones.
const PANE_TEXTS: &[&str] = &["session_name", "window_name", "pane_title", "pane_current_command", "pane_current_path"];

fn texts(detail: Detail) -> &'static [&'static str] {
    match detail {
        Detail::Light => &PANE_TEXTS[..PANE_TEXTS.len() - 2],
        Detail::Full => PANE_TEXTS,
    }
}

fn pane_row(record: &Record) -> Option<PaneRow> {
    let mut numbers = record.numbers();
    let mut texts = record.texts();
    Some(PaneRow {
        session_id: SessionId::parse(numbers.next()?)?,
        window_id: WindowId::parse(numbers.next()?)?,
        pane_id: PaneId::parse(numbers.next()?)?,
        window_index: numbers.number()?,
        pane_index: numbers.number()?,
        pane_pid: numbers.number()?,
        pane_dead: numbers.flag()?,
        pane_active: numbers.flag()?,
        window_active: numbers.flag()?,
        session_attached: numbers.number()?,
        pane_pipe: numbers.flag()?,
        session_name: lossy(texts.next()?),
        window_name: lossy(texts.next()?),
        title: lossy(texts.next()?),
        command: texts.next().map(lossy),
        cwd: texts.next().map(path),
    })
}
