//! Titles, bells, splits and exits of every session, pushed without a fork.
//!
//! Global hooks tell us. A hook appends a record to a
//! hidden environment variable of the server and wakes a client that waits in `wait-for`; neither forks, redraws a
//! terminal or shows up in a pane's environment. Records hold a kind and ids, never text that a program chose.
//!
//! `wait-for -S` toggles: two signals without a waiter cancel each other. The reader therefore empties the variable
//! and begins to wait within one line, in which no hook can come between.
//!
//! The hooks sit in array slots from 90 on, beside the user's own. A killed process leaves nothing behind: with a hidden
//! session, one more hook watches clients go and removes everything once nobody holds it; with ordinary clients, a
//! [`Janitor`] runs [`HookQueue::removal`]. A user who reloads a configuration wipes whole hook
//! arrays, ours included: [`HookQueue::verify_and_list`] puts them back.

mod event;
mod names;
mod reader;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use crate::buffer::Buffer;
use crate::client::{Client, ClientError};
use crate::command::{Command, Script};
use crate::id::decimal;
use crate::janitor::{Janitor, JanitorError};
use crate::list::{Detail, Listing, PaneRow};
use crate::notification::word;
use crate::plain::Plain;
use crate::session::{HiddenSession, Slot, connecting_turn};
use crate::transport::Transport;

pub use event::{HookEvent, HookKind};
use names::{Names, Tie};
pub use reader::HookReader;

/// The first array index of our hooks.
const FIRST_INDEX: u32 = 90;

/// How many indexes are tried, in steps of the number of slots, when a user's hook sits in ours.
const INDEX_TRIES: u32 = 10;

/// Events in the order in which they happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookBatch {
    /// The events; may be empty.
    pub events: Vec<HookEvent>,
    /// Whether earlier events were lost, because the queue overflowed or was removed: look at the server anew.
    pub missed: bool,
}

/// Why hooks were not installed for ordinary clients.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Nobody would tidy up after us.
    #[error(transparent)]
    Janitor(#[from] JanitorError),
    /// tmux did not do what it was told.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// What [`HookQueue::verify_and_list`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// All hooks were in place.
    Intact,
    /// Some had been removed and are back; events were lost meanwhile.
    Reinstalled,
}

/// Our hooks in a server.
#[derive(Debug)]
pub struct HookQueue<T> {
    transport: T,
    names: Names,
}

impl HookQueue<Client> {
    /// Installs the hooks and gives the reader of their events.
    ///
    /// They vanish with the hidden session, whose first client is used for commands and whose second one for waiting.
    pub async fn install(session: &HiddenSession, deadline: Duration) -> Result<(Self, HookReader), ClientError> {
        let present = present_hooks(session.control(), deadline).await?;
        let queue = Self::plan(session.control().clone(), session.slot(), Tie::Session, &present)?;
        queue.transport.run_script(&queue.names.install(), deadline).await?;
        let reader = HookReader::on_control(session.waiter().clone(), queue.names.clone());
        Ok((queue, reader))
    }
}

impl HookQueue<Plain> {
    /// Installs the hooks for ordinary clients, in the first slot that no live observer holds, and gives the reader of
    /// their events. What a dead one left behind is removed. The janitor, whose command line is given, is there before
    /// the first hook.
    pub async fn install_plain(
        plain: &Plain,
        janitor: &[OsString],
        deadline: Duration,
    ) -> Result<(Self, HookReader, Janitor), InstallError> {
        let _turn = connecting_turn(plain.socket(), deadline).await;
        let slot = free_slot(plain, deadline).await?;
        let mut present = present_hooks(plain, deadline).await?;
        let leftovers: Vec<_> = present.extract_if(.., |hook| Names::owns(slot, &hook.body)).collect();
        remove_hooks(plain, &leftovers, deadline).await?;
        let queue = Self::plan(plain.clone(), slot, Tie::Process, &present)?;
        // Texts that were on their way into panes are as much ours as the hooks.
        let tidy = queue.removal().join(&Buffer::clear_all_of(std::process::id()));
        let janitor = Janitor::start(janitor, plain.tmux(), plain.socket(), &tidy).await?;
        queue.transport.run_script(&queue.names.install(), deadline).await?;
        let reader = HookReader::on_plain(plain.clone(), queue.names.clone());
        Ok((queue, reader, janitor))
    }
}

impl<T: Transport> HookQueue<T> {
    /// Chooses the names; nothing is in tmux yet.
    fn plan(transport: T, slot: Slot, tie: Tie, present: &[Hook]) -> Result<Self, ClientError> {
        let index = free_index(slot, &taken_indexes(present))
            .ok_or_else(|| ClientError::Refused("no free hook index".into()))?;
        Ok(Self { transport, names: Names::new(slot, index, tie) })
    }

    /// The slot that names everything of this observer inside tmux.
    pub fn slot(&self) -> Slot {
        self.names.slot()
    }

    /// Checks that all hooks are in place, puts them back if not, and lists all panes in the same breath: each client
    /// costs tmux about as much as listing a hundred panes.
    pub async fn verify_and_list(
        &self,
        detail: Detail,
        deadline: Duration,
    ) -> Result<(Verified, Vec<PaneRow>), ClientError> {
        let listing = Listing::new(detail)?;
        let output = self.transport.run_script(&show_hooks().then(listing.command()), deadline).await?;
        let listed_at = memchr::memmem::find(&output, listing.mark()).unwrap_or(output.len());
        let verified = self.put_back_missing(&output[..listed_at], deadline).await?;
        Ok((verified, listing.read(&output[listed_at..])?))
    }

    async fn put_back_missing(&self, shown: &[u8], deadline: Duration) -> Result<Verified, ClientError> {
        let present = parse_hooks(shown);
        let slot = self.names.slot();
        let is_there = |name: &Vec<u8>| present.iter().any(|hook| hook.name == *name && Names::owns(slot, &hook.body));
        if self.names.hooks().iter().all(is_there) {
            return Ok(Verified::Intact);
        }
        self.transport.run_script(&self.names.install_hooks(), deadline).await?;
        Ok(Verified::Reinstalled)
    }

    /// The commands that remove all that was installed, and let go of the client that waits.
    pub fn removal(&self) -> Script {
        self.names.remove()
    }

    /// Removes all that was installed.
    pub async fn remove(self, deadline: Duration) -> Result<(), ClientError> {
        self.transport.run_script(&self.removal(), deadline).await.map(drop)
    }
}

/// The first slot without a live observer. One with a queue and no named process has a hidden session.
async fn free_slot(plain: &Plain, deadline: Duration) -> Result<Slot, ClientError> {
    let reply = plain.run(&Command::new("show-environment").flag("-gh"), deadline).await?;
    let value = |name: &str| {
        let with_mark = format!("{name}=");
        reply.lines.iter().find_map(|line| line.strip_prefix(with_mark.as_bytes()))
    };
    let is_free = |slot: &Slot| match (value(&Names::owner(*slot)), value(&Names::variable(*slot))) {
        (Some(pid), _) => !decimal(pid).is_some_and(is_running),
        (None, queue) => queue.is_none(),
    };
    Slot::all().find(is_free).ok_or_else(|| ClientError::Refused("too many observers".into()))
}

fn is_running(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

async fn remove_hooks(plain: &Plain, hooks: &[Hook], deadline: Duration) -> Result<(), ClientError> {
    let script = hooks
        .iter()
        .fold(Script::new(), |script, hook| script.then(&Command::new("set-hook").flag("-gu").arg(&hook.name)));
    if hooks.is_empty() { Ok(()) } else { plain.run_script(&script, deadline).await.map(drop) }
}

/// Our array index for a slot, moved on if a user's hook sits there.
fn free_index(slot: Slot, taken: &BTreeSet<u32>) -> Option<u32> {
    let step = u32::try_from(Slot::all().count()).ok()?;
    let first = FIRST_INDEX + u32::from(slot.number());
    (0..INDEX_TRIES).map(|round| first + round * step).find(|index| !taken.contains(index))
}

/// The array indexes that any of the hooks we need has in use.
fn taken_indexes(present: &[Hook]) -> BTreeSet<u32> {
    let ours: BTreeSet<&[u8]> = Names::hook_names().map(str::as_bytes).collect();
    let indexes = present.iter().filter_map(|hook| {
        let (name, index) = hook.name.split_at(memchr::memchr(b'[', &hook.name)?);
        let index = index.strip_prefix(b"[")?.strip_suffix(b"]")?;
        ours.contains(name).then(|| decimal(index))?
    });
    indexes.collect()
}

/// A global hook.
struct Hook {
    /// `name[index]`.
    name: Vec<u8>,
    body: Vec<u8>,
}

async fn present_hooks(transport: &impl Transport, deadline: Duration) -> Result<Vec<Hook>, ClientError> {
    Ok(parse_hooks(&transport.run_script(&show_hooks(), deadline).await?))
}

/// Shows the global hooks. Those of panes and windows are listed apart.
fn show_hooks() -> Script {
    let show = |flag| Command::new("show-hooks").flag(flag);
    Script::new().then(&show("-g")).then(&show("-gw"))
}

fn parse_hooks(shown: &[u8]) -> Vec<Hook> {
    let hook = |line: &[u8]| {
        let (name, body) = word(line);
        Hook { name: name.to_vec(), body: body.to_vec() }
    };
    shown.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(hook).collect()
}
