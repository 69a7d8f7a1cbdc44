//! From a posted event to a signal: names are checked, the envelope is completed, and who sent it is read from the
//! kernel rather than believed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use agtmux_core::id::{BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, TargetName};
use agtmux_core::signal::{self, Claim, SignalEvent, Source};
use agtmux_core::time::{Stamp, Timestamp};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::event::PostEvent;
use uuid::Uuid;

use super::capabilities::{Capabilities, Capability, Holder};
use super::world::{LOCAL, World};
use crate::error::CommandError;
use crate::platform;
use crate::store::redact;
use crate::target::socket;

/// The longest message that is kept; it is a line for people, not a document.
pub(super) const MESSAGE_LIMIT: usize = 4_096;

/// The longest payload that is kept.
pub(super) const PAYLOAD_LIMIT: usize = 64 * 1_024;

/// Who sent an event, as the kernel says.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Its process and its ancestors, itself first; empty where the platform does not tell.
    pub lineage: Vec<ProcessKey>,
}

/// Makes a signal of a posted event.
///
/// # Errors
/// Refuses state names, sources, ids and times that are not understood, and panes of other users.
pub fn signal_event(
    post: PostEvent,
    sender: &Sender,
    capabilities: &Capabilities,
    world: &World,
) -> Result<SignalEvent, CommandError> {
    let signal = signal::from_state_name(&post.state).map_err(|error| {
        CommandError::new(ErrorCode::UnknownState, error.to_string())
            .hint(format!("the states are {}", signal::STATE_NAMES.join(", ")))
    })?;
    let source = source(post.source.as_deref())?;
    let target = match post.target.as_deref() {
        Some(name) => world.target(name)?,
        None => TargetName::new(LOCAL),
    };
    let runtime = runtime(post.runtime_id, post.capability.as_deref(), sender, capabilities, world)?;
    let pane = pane(post.pane_id.as_deref(), post.tmux_socket.as_deref(), world)?;
    let process =
        post.pid.map(|pid| ProcessKey { pid, start: platform::process_stat(pid).map_or(0, |stat| stat.start) });
    let event_id = Uuid::now_v7().to_string();
    let dedupe_key = post.dedupe_key.or_else(|| post.source_event_id.clone()).unwrap_or_else(|| event_id.clone());
    let emitted = emitted(post.boot_ns, post.boot_id.as_deref());
    let event_time = post.event_time.as_deref().map(event_time).transpose()?;
    let payload = post.payload.map(|payload| bounded(&redact::redact(&payload.to_string()), PAYLOAD_LIMIT));
    Ok(SignalEvent {
        event_id: EventId::new(event_id),
        source,
        source_event_id: post.source_event_id,
        dedupe_key,
        source_seq: post.source_seq,
        emitted,
        event_time,
        claim: Claim { target, runtime, pane, process, ancestors: ancestors(source, sender, world) },
        signal,
        message: post.message.map(|message| bounded(&redact::redact(&message), MESSAGE_LIMIT)),
        payload,
    })
}

/// When an event was said. A reading of this boot counts, but not one from the future: everything said until then would
/// seem older. A reading of another boot says nothing about this one.
fn emitted(boot_ns: Option<u64>, boot_id: Option<&str>) -> Stamp {
    let (boot, now) = (platform::boot_id(), platform::boot_clock_ns());
    let ns = boot_ns.filter(|_| boot_id.is_none_or(|id| id == boot)).map_or(now, |ns| ns.min(now));
    Stamp { boot: BootId::new(boot), ns }
}

fn source(name: Option<&str>) -> Result<Source, CommandError> {
    match name {
        None | Some("api") => Ok(Source::Api),
        Some("signal") => Ok(Source::Signal),
        Some(other) => Err(CommandError::new(ErrorCode::Usage, format!("source {other:?} cannot be posted"))
            .hint("say `signal` or `api`; other sources have ways in of their own")),
    }
}

/// The runtime that an event names or holds the capability of. An agent speaks for itself alone: what runs below one cannot
/// name another, and what runs below one needs no capability.
fn runtime(
    named: Option<String>,
    capability: Option<&str>,
    sender: &Sender,
    capabilities: &Capabilities,
    world: &World,
) -> Result<Option<RuntimeId>, CommandError> {
    let topology = &world.engine.state().topology;
    let living = topology.runtimes.values().filter(|runtime| runtime.is_live());
    let own: Vec<_> = living.filter(|runtime| sender.lineage.contains(&runtime.process)).map(|own| &own.id).collect();
    let named = named.map(RuntimeId::new);
    // One that is over is refused for that.
    if let (Some(named), [first, ..]) = (&named, own.as_slice())
        && topology.live(named).is_some()
        && !own.contains(&named)
    {
        return Err(CommandError::new(ErrorCode::NotAllowed, format!("{first} cannot speak for {named}"))
            .hint("leave the runtime out: what runs below an agent is known to be its"));
    }
    let Some(text) = capability.filter(|_| own.is_empty()) else {
        return Ok(named);
    };
    let inside = || sender.lineage.iter().any(|process| is_in_a_pane(*process, world));
    match Capability::parse(text).map_or(Holder::Nobody, |capability| capabilities.holder(&capability)) {
        Holder::Runtime(holder) if named.as_ref().is_none_or(|named| *named == holder) => Ok(Some(holder)),
        // Its agent was started a moment ago, or before the daemon was, and is found by its ancestors soon.
        Holder::NotFoundYet if named.is_none() => Ok(None),
        Holder::Nobody if named.is_none() && inside() => Ok(None),
        Holder::Runtime(_) => Err(CommandError::new(ErrorCode::NotAllowed, "the capability is of another runtime")
            .hint("leave the runtime out: the capability says which it is")),
        Holder::NotFoundYet | Holder::Nobody => {
            Err(CommandError::new(ErrorCode::NotAllowed, "the capability is of no runtime")
                .hint("it counts for the agent that was started with it, until that or the daemon ends"))
        }
    }
}

/// What runs inside a pane is bound by its ancestors and by nothing else. Only a program that runs in no pane at all,
/// a script beside tmux for instance, may say which pane it means.
fn ancestors(source: Source, sender: &Sender, world: &World) -> Option<Vec<ProcessKey>> {
    let inside = sender.lineage.iter().any(|process| is_in_a_pane(*process, world));
    (source == Source::Signal || inside).then(|| sender.lineage.clone())
}

fn is_in_a_pane(process: ProcessKey, world: &World) -> bool {
    let topology = &world.engine.state().topology;
    let is_server = topology.servers.values().any(|server| server.pid == process.pid);
    is_server || topology.runtimes.values().any(|runtime| runtime.is_live() && runtime.process == process)
}

fn pane(id: Option<&str>, tmux_socket: Option<&str>, world: &World) -> Result<Option<PaneKey>, CommandError> {
    let Some(id) = id else { return Ok(None) };
    let pane: PaneId = id.parse().map_err(|error| {
        CommandError::new(ErrorCode::Usage, format!("{error}")).hint("a pane id looks like %3, as in TMUX_PANE")
    })?;
    let path = match tmux_socket {
        Some(path) => {
            let path = socket::normal(Path::new(path));
            check_owner(&path)?;
            path
        }
        None => match world.servers.keys().next() {
            Some(only) if world.servers.len() == 1 => only.clone(),
            _ => {
                return Err(CommandError::new(ErrorCode::Usage, "it is not clear which tmux server the pane is of")
                    .hint("give tmux_socket"));
            }
        },
    };
    Ok(world.server_on(&path).map(|server| PaneKey { server: server.clone(), pane }))
}

fn check_owner(socket: &PathBuf) -> Result<(), CommandError> {
    let own = rustix::process::getuid().as_raw();
    match std::fs::metadata(socket) {
        Ok(meta) if meta.uid() != own => Err(CommandError::new(
            ErrorCode::ForeignPane,
            format!("the tmux server at {} belongs to another user", socket.display()),
        )
        .hint("a daemon takes events for panes of its own user only")),
        _ => Ok(()),
    }
}

fn event_time(text: &str) -> Result<Timestamp, CommandError> {
    let time: jiff::Timestamp = text.parse().map_err(|error| {
        CommandError::new(ErrorCode::Usage, format!("event_time {text:?} is not a time: {error}"))
            .hint("write RFC 3339, 2026-01-31T09:00:00Z")
    })?;
    Ok(Timestamp(time.as_millisecond()))
}

/// Cuts a text at a character boundary.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    match text.char_indices().map(|(place, c)| place + c.len_utf8()).take_while(|end| *end <= limit).last() {
        Some(end) if end < text.len() => format!("{}…", &text[..end]),
        Some(_) => text.to_owned(),
        None => String::new(),
    }
}
