//! Titles, bells, splits and exits of every session, pushed without a fork.
//!
//! A control client hears nothing of these in other sessions, so global hooks tell us. A hook appends a record to a
//! hidden environment variable of the server and wakes a client that waits in `wait-for`; neither forks, redraws a
//! terminal or shows up in a pane's environment. Records hold a kind and ids, never text that a program chose.
//!
//! `wait-for -S` toggles: two signals without a waiter cancel each other. The reader therefore empties the variable
//! and begins to wait within one line, in which no hook can come between.
//!
//! The hooks sit in array slots from 90 on, beside the user's own. One more hook watches clients go; once nobody holds
//! the hidden session it removes all of them, the variable and itself, so a killed process leaves nothing behind. A user
//! who reloads a configuration wipes whole hook arrays, ours included: [`HookQueue::verify`] puts them back.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::client::{Client, ClientError, Replies};
use crate::command::{Command, Script};
use crate::id::{PaneId, SessionId, WindowId};
use crate::session::{HiddenSession, Slot};

/// The first array index of our hooks.
const FIRST_INDEX: u32 = 90;

/// How many indexes are tried, in steps of the number of slots, when a user's hook sits in ours.
const INDEX_TRIES: u32 = 10;

/// The hook that tidies up after us.
const CLEANUP_HOOK: &str = "client-detached";

/// The content of an empty queue. The mark at its beginning is lost when the queue overflows.
const EMPTY: &str = "=|";

/// How much the queue holds, in bytes. A record is 10 to 25 bytes long.
const CAPACITY: u32 = 16_384;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// A pane has a new title.
    TitleChanged,
    /// A pane rang the bell; tmux names only its window.
    Bell,
    /// A window was split; the pane is the new one.
    Split,
    /// The process of a pane ended and the pane closed.
    PaneExited,
    /// The process of a pane ended and the pane remains.
    PaneDied,
    /// Panes of a window were added, removed, moved or resized.
    LayoutChanged,
}

impl HookKind {
    const ALL: [Self; 6] =
        [Self::TitleChanged, Self::Bell, Self::Split, Self::PaneExited, Self::PaneDied, Self::LayoutChanged];

    fn hook(self) -> &'static str {
        match self {
            Self::TitleChanged => "pane-title-changed",
            Self::Bell => "alert-bell",
            Self::Split => "after-split-window",
            Self::PaneExited => "pane-exited",
            Self::PaneDied => "pane-died",
            Self::LayoutChanged => "window-layout-changed",
        }
    }

    fn code(self) -> &'static str {
        match self {
            Self::TitleChanged => "ti",
            Self::Bell => "be",
            Self::Split => "sp",
            Self::PaneExited => "ex",
            Self::PaneDied => "di",
            Self::LayoutChanged => "la",
        }
    }

    /// The formats for pane, window and session. Only those that are right for this hook: in a hook about a window
    /// `pane_id` is merely the active pane, and in one about a pane that has gone `window_id` may be any window.
    fn ids(self) -> &'static str {
        match self {
            Self::TitleChanged | Self::PaneDied => "#{hook_pane} #{window_id} #{session_id}",
            Self::Bell => "- #{hook_window} #{hook_session}",
            Self::Split => "#{pane_id} #{window_id} #{session_id}",
            Self::PaneExited => "#{hook_pane} - -",
            Self::LayoutChanged => "- #{hook_window} -",
        }
    }

    fn from_code(code: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code().as_bytes() == code)
    }
}

/// One event of a hook. Ids that the hook does not know are absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// What happened.
    pub kind: HookKind,
    /// The pane it happened to.
    pub pane: Option<PaneId>,
    /// The window it happened in.
    pub window: Option<WindowId>,
    /// The session it happened in; one of several if the window is linked.
    pub session: Option<SessionId>,
}

/// Events in the order in which they happened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookBatch {
    /// The events; may be empty.
    pub events: Vec<HookEvent>,
    /// Whether earlier events were lost, because the queue overflowed or was removed: look at the server anew.
    pub missed: bool,
}

/// What [`HookQueue::verify`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verified {
    /// All hooks were in place.
    Intact,
    /// Some had been removed and are back; events were lost meanwhile.
    Reinstalled,
}

/// Our hooks in a server.
#[derive(Debug)]
pub struct HookQueue {
    control: Client,
    names: Names,
}

impl HookQueue {
    /// Installs the hooks and gives the reader of their events.
    ///
    /// They vanish with the hidden session, whose first client is used for commands and whose second one for waiting.
    pub async fn install(session: &HiddenSession, deadline: Duration) -> Result<(Self, HookReader), ClientError> {
        let control = session.control().clone();
        let taken = taken_indexes(&control, deadline).await?;
        let index =
            free_index(session.slot(), &taken).ok_or_else(|| ClientError::Refused("no free hook index".into()))?;
        let names = Names::new(session, index);
        let queue = Self { control, names };
        queue.control.run_script(&queue.names.install(), deadline).await?;
        let reader = HookReader { waiter: session.waiter().clone(), names: queue.names.clone(), replies: None };
        Ok((queue, reader))
    }

    /// Checks that all hooks are in place, and puts them back if not.
    pub async fn verify(&self, deadline: Duration) -> Result<Verified, ClientError> {
        let present = present_hooks(&self.control, deadline).await?;
        let wanted = self.names.hooks();
        let intact = wanted.iter().all(|hook| present.iter().any(|(name, body)| name == hook && self.names.owns(body)));
        if intact {
            return Ok(Verified::Intact);
        }
        self.control.run_script(&self.names.install_hooks(), deadline).await?;
        Ok(Verified::Reinstalled)
    }

    /// Removes all that was installed.
    pub async fn remove(self, deadline: Duration) -> Result<(), ClientError> {
        self.control.run_script(&self.names.remove(), deadline).await?;
        Ok(())
    }
}

/// Reads the events of the hooks.
#[derive(Debug)]
pub struct HookReader {
    waiter: Client,
    names: Names,
    /// The replies of the cycle under way, kept here so that a cancelled wait loses nothing.
    replies: Option<Replies>,
}

impl HookReader {
    /// Waits for events. Safe to cancel. Ends only with the connection.
    pub async fn next_batch(&mut self) -> Result<HookBatch, ClientError> {
        loop {
            let replies = match &mut self.replies {
                Some(replies) => replies,
                none => none.insert(self.waiter.stream(&self.names.cycle())?),
            };
            let Some(reply) = replies.next().await? else {
                self.replies = None;
                continue;
            };
            if !reply.ok {
                // Somebody removed the variable. It is put back by the next line, and what it held is lost.
                self.replies = Some(self.waiter.stream(&Script::from(&self.names.put_back()))?);
                return Ok(HookBatch { events: Vec::new(), missed: true });
            }
            if let Some(batch) = self.names.read(&reply.text()) {
                return Ok(batch);
            }
        }
    }
}

/// All names of one slot inside tmux, and the commands made of them.
#[derive(Debug, Clone)]
struct Names {
    index: u32,
    variable: String,
    channel: String,
    slot: Slot,
}

impl Names {
    fn new(session: &HiddenSession, index: u32) -> Self {
        let slot = session.slot();
        let variable = match slot.number() {
            0 => "AGTMUX_Q".to_owned(),
            number => format!("AGTMUX_Q{number}"),
        };
        Self { index, variable, channel: slot.session_name(), slot }
    }

    /// Whether the text of a hook is one of ours: it names our variable, and not merely a longer one.
    fn owns(&self, body: &[u8]) -> bool {
        let variable = self.variable.as_bytes();
        memchr::memmem::find_iter(body, variable)
            .any(|at| !body.get(at + variable.len()).is_some_and(u8::is_ascii_alphanumeric))
    }

    fn hook(&self, name: &str) -> String {
        format!("{name}[{}]", self.index)
    }

    fn hooks(&self) -> Vec<Vec<u8>> {
        let events = HookKind::ALL.iter().map(|kind| self.hook(kind.hook()));
        events.chain([self.hook(CLEANUP_HOOK)]).map(String::into_bytes).collect()
    }

    fn empty(&self) -> Command {
        Command::new("set-environment").flag("-gh").arg(&self.variable).arg(EMPTY)
    }

    /// Makes the variable again after somebody removed it, keeping what hooks may have put there since.
    fn put_back(&self) -> Command {
        let value = format!("{EMPTY}#{{{}}}", self.variable);
        Command::new("set-environment").flag("-ghF").arg(&self.variable).arg(value)
    }

    fn show(&self) -> Command {
        Command::new("show-environment").flag("-gh").arg(&self.variable)
    }

    /// The order matters: the hook that removes the others is there before them.
    fn install(&self) -> Script {
        self.install_into(Script::new().then(&self.empty()))
    }

    fn install_hooks(&self) -> Script {
        self.install_into(Script::new())
    }

    fn install_into(&self, script: Script) -> Script {
        let cleanup = self.slot.unless_held(&self.remove());
        let script = script.then(&self.set_hook(CLEANUP_HOOK, &Script::from(&cleanup)));
        HookKind::ALL
            .into_iter()
            .fold(script, |script, kind| script.then(&self.set_hook(kind.hook(), &self.record(kind))))
    }

    fn set_hook(&self, name: &str, script: &Script) -> Command {
        Command::new("set-hook").flag("-g").arg(self.hook(name)).commands(script)
    }

    fn record(&self, kind: HookKind) -> Script {
        let kept = format!("#{{=-{CAPACITY}:{}}}", self.variable);
        let value = format!("{kept}{} {}|", kind.code(), kind.ids());
        let append = Command::new("set-environment").flag("-ghF").arg(&self.variable).arg(value);
        let wake = Command::new("wait-for").flag("-S").arg(&self.channel);
        Script::new().then(&append).then(&wake)
    }

    fn remove(&self) -> Script {
        let unset = |name: &str| Command::new("set-hook").flag("-gu").arg(self.hook(name));
        let script = HookKind::ALL.iter().fold(Script::new(), |script, kind| script.then(&unset(kind.hook())));
        let unset_variable = Command::new("set-environment").flag("-gu").arg(&self.variable);
        script.then(&unset_variable).then(&unset(CLEANUP_HOOK))
    }

    fn cycle(&self) -> Script {
        let wait = Command::new("wait-for").arg(&self.channel);
        Script::new().then(&self.show()).then(&self.empty()).then(&wait).then(&self.show()).then(&self.empty())
    }

    /// Reads the answer to [`Names::show`]; `None` for an empty queue and for answers to other commands.
    fn read(&self, text: &[u8]) -> Option<HookBatch> {
        let value = text.strip_prefix(self.variable.as_bytes())?.strip_prefix(b"=")?;
        if value == EMPTY.as_bytes() {
            return None;
        }
        let mut records = value.split(|byte| *byte == b'|');
        // What precedes the first separator is the mark of a whole queue or the rest of a record that was cut.
        let missed = records.next() != EMPTY.as_bytes().strip_suffix(b"|");
        Some(HookBatch { events: records.filter_map(parse_record).collect(), missed })
    }
}

fn parse_record(record: &[u8]) -> Option<HookEvent> {
    let mut words = record.split(|byte| *byte == b' ');
    let kind = HookKind::from_code(words.next()?)?;
    let (pane, window, session) = (words.next()?, words.next()?, words.next()?);
    Some(HookEvent {
        kind,
        pane: PaneId::parse(pane),
        window: WindowId::parse(window),
        session: SessionId::parse(session),
    })
}

/// Our array index for a slot, moved on if a user's hook sits there.
fn free_index(slot: Slot, taken: &BTreeSet<u32>) -> Option<u32> {
    let step = u32::try_from(Slot::all().count()).ok()?;
    let first = FIRST_INDEX + u32::from(slot.number());
    (0..INDEX_TRIES).map(|round| first + round * step).find(|index| !taken.contains(index))
}

/// The array indexes that any of the hooks we need has in use.
async fn taken_indexes(control: &Client, deadline: Duration) -> Result<BTreeSet<u32>, ClientError> {
    let ours: BTreeSet<&[u8]> =
        HookKind::ALL.iter().map(|kind| kind.hook().as_bytes()).chain([CLEANUP_HOOK.as_bytes()]).collect();
    let present = present_hooks(control, deadline).await?;
    let indexes = present.iter().filter_map(|(hook, _)| {
        let (name, index) = hook.split_at(memchr::memchr(b'[', hook)?);
        let index = index.strip_prefix(b"[")?.strip_suffix(b"]")?;
        ours.contains(name).then(|| crate::id::decimal(index))?
    });
    Ok(indexes.collect())
}

/// The global hooks, as pairs of `name[index]` and body. Hooks of panes and windows are listed apart.
async fn present_hooks(control: &Client, deadline: Duration) -> Result<Vec<(Vec<u8>, Vec<u8>)>, ClientError> {
    let mut hooks = Vec::new();
    for flag in ["-g", "-gw"] {
        let reply = control.run(&Command::new("show-hooks").flag(flag), deadline).await?;
        hooks.extend(reply.lines.iter().map(|line| {
            let (name, body) = crate::notification::word(line);
            (name.to_vec(), body.to_vec())
        }));
    }
    Ok(hooks)
}
