//! The names of one observer inside tmux, and the commands made of them.

use crate::command::{Command, Script};
use crate::session::Slot;

use super::HookBatch;
use super::event::{HookKind, parse_record};

/// Hooks that tell of panes. A control client hears nothing of these in sessions it is not attached to.
const PANE_HOOKS: [(&str, HookKind); 6] = [
    ("pane-title-changed", HookKind::TitleChanged),
    ("alert-bell", HookKind::Bell),
    ("after-split-window", HookKind::Split),
    ("pane-exited", HookKind::PaneExited),
    ("pane-died", HookKind::PaneDied),
    ("window-layout-changed", HookKind::LayoutChanged),
];

/// Hooks that tell what a control client is notified of.
const STRUCTURE_HOOKS: [&str; 11] = [
    "client-attached",
    "client-detached",
    "client-session-changed",
    "session-closed",
    "session-created",
    "session-renamed",
    "session-window-changed",
    "window-linked",
    "window-pane-changed",
    "window-renamed",
    "window-unlinked",
];

/// The hook that tidies up after observers with a hidden session.
const CLEANUP_HOOK: &str = "client-detached";

/// The content of an empty queue. The mark at its beginning is lost when the queue overflows.
const EMPTY: &str = "=|";

/// How much the queue holds, in bytes. A record is 10 to 25 bytes long.
const CAPACITY: u32 = 16_384;

/// What an observer is tied to, and so what removes its hooks when it is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tie {
    /// Its hidden session: a hook inside tmux.
    Session,
    /// Its process, named in a variable: a janitor, or the next observer.
    Process,
}

/// All names of one slot inside tmux.
#[derive(Debug, Clone)]
pub(super) struct Names {
    index: u32,
    slot: Slot,
    tie: Tie,
}

impl Names {
    pub(super) fn new(slot: Slot, index: u32, tie: Tie) -> Self {
        Self { index, slot, tie }
    }

    /// The variable that is the queue.
    pub(super) fn variable(slot: Slot) -> String {
        numbered("AGTMUX_Q", slot)
    }

    /// The variable that names the process of an observer without a hidden session.
    pub(super) fn owner(slot: Slot) -> String {
        numbered("AGTMUX_OWNER", slot)
    }

    /// All hooks that any observer may set.
    pub(super) fn hook_names() -> impl Iterator<Item = &'static str> {
        PANE_HOOKS.iter().map(|(hook, _)| *hook).chain(STRUCTURE_HOOKS)
    }

    /// Whether the text of a hook belongs to a slot: it names the variable, and not merely a longer one.
    pub(super) fn owns(slot: Slot, body: &[u8]) -> bool {
        let variable = Self::variable(slot);
        let variable = variable.as_bytes();
        memchr::memmem::find_iter(body, variable)
            .any(|at| !body.get(at + variable.len()).is_some_and(u8::is_ascii_alphanumeric))
    }

    pub(super) fn slot(&self) -> Slot {
        self.slot
    }

    fn events(&self) -> impl Iterator<Item = (&'static str, HookKind)> + use<> {
        let structure: &[&str] = match self.tie {
            Tie::Session => &[],
            Tie::Process => &STRUCTURE_HOOKS,
        };
        PANE_HOOKS.into_iter().chain(structure.iter().map(|hook| (*hook, HookKind::Structure)))
    }

    fn hook(&self, name: &str) -> String {
        format!("{name}[{}]", self.index)
    }

    /// The hooks that have to be there.
    pub(super) fn hooks(&self) -> Vec<Vec<u8>> {
        let cleanup = (self.tie == Tie::Session).then_some(CLEANUP_HOOK);
        let names = self.events().map(|(hook, _)| hook).chain(cleanup);
        names.map(|name| self.hook(name).into_bytes()).collect()
    }

    pub(super) fn empty(&self) -> Command {
        Command::new("set-environment").flag("-gh").arg(Self::variable(self.slot)).arg(EMPTY)
    }

    /// Makes the variable again after somebody removed it, keeping what hooks may have put there since.
    pub(super) fn put_back(&self) -> Command {
        let variable = Self::variable(self.slot);
        let value = format!("{EMPTY}#{{{variable}}}");
        Command::new("set-environment").flag("-ghF").arg(variable).arg(value)
    }

    fn show(&self) -> Command {
        Command::new("show-environment").flag("-gh").arg(Self::variable(self.slot))
    }

    /// The order matters: what will remove the hooks is there before them.
    pub(super) fn install(&self) -> Script {
        let script = Script::new().then(&self.empty());
        self.install_into(match self.tie {
            Tie::Session => script,
            Tie::Process => {
                let pid = std::process::id().to_string();
                script.then(&Command::new("set-environment").flag("-gh").arg(Self::owner(self.slot)).arg(pid))
            }
        })
    }

    pub(super) fn install_hooks(&self) -> Script {
        self.install_into(Script::new())
    }

    fn install_into(&self, script: Script) -> Script {
        let script = match self.tie {
            Tie::Session => {
                let cleanup = self.slot.unless_held(&self.remove());
                script.then(&self.set_hook(CLEANUP_HOOK, &Script::from(&cleanup)))
            }
            Tie::Process => script,
        };
        self.events().fold(script, |script, (hook, kind)| script.then(&self.set_hook(hook, &self.record(kind))))
    }

    fn set_hook(&self, name: &str, script: &Script) -> Command {
        Command::new("set-hook").flag("-g").arg(self.hook(name)).commands(script)
    }

    fn record(&self, kind: HookKind) -> Script {
        let variable = Self::variable(self.slot);
        let value = format!("#{{=-{CAPACITY}:{variable}}}{}", kind.record());
        let append = Command::new("set-environment").flag("-ghF").arg(variable).arg(value);
        Script::new().then(&append).then(&self.wake())
    }

    /// Wakes whoever waits for events.
    pub(super) fn wake(&self) -> Command {
        Command::new("wait-for").flag("-S").arg(self.channel())
    }

    fn channel(&self) -> String {
        self.slot.session_name()
    }

    /// Removes everything, and lets go of a client that waits.
    pub(super) fn remove(&self) -> Script {
        let unset = |name: &str| Command::new("set-hook").flag("-gu").arg(self.hook(name));
        let unset_variable = |name: String| Command::new("set-environment").flag("-gu").arg(name);
        let script = self.events().fold(Script::new(), |script, (hook, _)| script.then(&unset(hook)));
        let script = script.then(&unset_variable(Self::variable(self.slot)));
        match self.tie {
            Tie::Session => script.then(&unset(CLEANUP_HOOK)),
            Tie::Process => script.then(&unset_variable(Self::owner(self.slot))).then(&self.wake()),
        }
    }

    /// Reads what is there, waits, and reads what came. The variable is emptied and the wait begins within one line, in
    /// which no hook can come between.
    pub(super) fn cycle(&self) -> Script {
        let wait = Command::new("wait-for").arg(self.channel());
        Script::new().then(&self.show()).then(&self.empty()).then(&wait).then(&self.show()).then(&self.empty())
    }

    /// Reads the answer to [`Names::show`]; `None` for an empty queue and for answers to other commands.
    pub(super) fn read(&self, text: &[u8]) -> Option<HookBatch> {
        let value = text.strip_prefix(Self::variable(self.slot).as_bytes())?.strip_prefix(b"=")?;
        if value == EMPTY.as_bytes() {
            return None;
        }
        let mut records = value.split(|byte| *byte == b'|');
        // What precedes the first separator is the mark of a whole queue or the rest of a record that was cut.
        let missed = records.next() != EMPTY.as_bytes().strip_suffix(b"|");
        Some(HookBatch { events: records.filter_map(parse_record).collect(), missed })
    }
}

fn numbered(name: &str, slot: Slot) -> String {
    match slot.number() {
        0 => name.to_owned(),
        number => format!("{name}{number}"),
    }
}
