//! From the domain to the wire. The only place where the two meet.

use agtmux_agents::Capabilities;
use agtmux_core::action::{ActionFact, Step};
use agtmux_core::event::{Fact, TargetKind};
use agtmux_core::mail::{Busy, MailFact, MailId, Transition};
use agtmux_core::prompt::Prompt;
use agtmux_core::query::{self, PaneRow, SessionRow, StateCounts, WindowRow};
use agtmux_core::time::Timestamp;
use agtmux_wire::action::PromptItem;
use agtmux_wire::agent::{self, AdapterItem};
use agtmux_wire::busy::BusyItem;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::list::{
    AttentionItem, MailItem, PaneIdentity, PaneItem, SessionIdentity, SessionItem, SessionOnTarget, Summary,
    TargetError, WindowIdentity, WindowItem,
};
use agtmux_wire::mail::MessageParty;
use agtmux_wire::stream::{AttentionCall, Frame, MessageEvent, RemovedPane};
use agtmux_wire::{SCHEMA_VERSION, list, target};

use super::agents::adapter_health;
use crate::daemon::publish::{Change, Identity};
use crate::daemon::world::{LOCAL, PaneView, World};

/// A time in RFC 3339.
pub fn time(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.0).map_or_else(|_| at.0.to_string(), |time| time.to_string())
}

/// A pane.
pub fn pane(view: &PaneView) -> PaneItem {
    let PaneView { row, surface, socket, capabilities } = view;
    let runtime = row.runtime.as_ref();
    let verdict = runtime.map(|runtime| &runtime.verdict);
    PaneItem {
        identity: pane_identity(row),
        tmux_socket: socket.clone(),
        window_name: row.place.window_name.clone(),
        window_index: row.place.window_index,
        pane_index: row.place.pane_index,
        runtime_id: runtime.map(|runtime| runtime.id.to_string()),
        pane_epoch: runtime.map(|runtime| runtime.epoch),
        agent: runtime.map(|runtime| runtime.agent.to_string()),
        pid: runtime.map(|runtime| runtime.process.pid),
        name: runtime.and_then(|runtime| runtime.name.clone()),
        state: verdict.map(|verdict| verdict.state.name().to_owned()),
        reason_code: verdict.map(|verdict| verdict.reason.clone()),
        confidence: verdict.map(|verdict| verdict.confidence.name().to_owned()),
        evidence: verdict.and_then(|verdict| verdict.evidence).map(|evidence| evidence.name().to_owned()),
        source: verdict.and_then(|verdict| verdict.source).map(|source| source.name().to_owned()),
        since: verdict.map(|verdict| time(verdict.since)),
        updated_at: runtime.map(|runtime| time(runtime.updated_at)),
        state_version: runtime.map(|runtime| runtime.state_version),
        attention: runtime.map_or_else(AttentionItem::default, |runtime| AttentionItem {
            needs_action: runtime.attention.needs_action,
            nudge_seq: runtime.attention.nudge_seq,
            message: runtime.verdict.message.clone(),
            unseen: runtime.attention.unseen,
            kind: runtime.attention.kind.map(|kind| kind.name().to_owned()),
        }),
        prompt: runtime.and_then(|runtime| runtime.prompt.as_ref()).map(prompt),
        mail: runtime.and_then(|runtime| runtime.mail.as_ref()).map(|mail| MailItem {
            waiting: mail.waiting,
            since: time(mail.since),
            waits_for: mail.hindrance.map_or("now", |hindrance| hindrance.name()).to_owned(),
            from: mail.from.iter().cloned().collect(),
        }),
        busy: runtime.and_then(|runtime| runtime.busy.as_ref()).map(busy),
        draft: runtime.is_some_and(|runtime| runtime.details.draft),
        detail: runtime.and_then(|runtime| runtime.details.doing.clone()),
        adapter: runtime.zip(*capabilities).map(|(runtime, capabilities)| AdapterItem {
            capabilities: self::capabilities(capabilities),
            health: adapter_health(capabilities, runtime.heard).name().to_owned(),
        }),
        hooks_loaded: None,
        cwd: surface.cwd.clone(),
        title: surface.title.clone(),
        command: surface.command.clone(),
    }
}

/// What can be known of an agent.
pub const fn capabilities(capabilities: Capabilities) -> agent::Capabilities {
    let Capabilities {
        event_driven,
        polling_required,
        supports_waiting_approval,
        supports_waiting_input,
        supports_completed,
    } = capabilities;
    agent::Capabilities {
        event_driven,
        polling_required,
        supports_waiting_approval,
        supports_waiting_input,
        supports_completed,
    }
}

/// What an agent says it has to do.
pub fn busy(busy: &Busy) -> BusyItem {
    BusyItem { reason: busy.reason.clone(), since: time(busy.since), until: time(busy.until) }
}

/// What an agent asks permission for.
pub fn prompt(prompt: &Prompt) -> PromptItem {
    PromptItem { hash: prompt.hash.clone(), subject: prompt.subject.clone() }
}

fn pane_identity(row: &PaneRow) -> PaneIdentity {
    PaneIdentity {
        target: row.target.to_string(),
        session_name: row.place.session_name.clone(),
        window_id: row.place.window.to_string(),
        pane_id: row.pane.pane.to_string(),
    }
}

/// A window.
pub fn window(row: &WindowRow) -> WindowItem {
    WindowItem {
        identity: WindowIdentity {
            target: row.target.to_string(),
            session_name: row.session_name.clone(),
            window_id: row.window.to_string(),
        },
        window_name: row.window_name.clone(),
        window_index: row.window_index,
        top_state: row.top_state.map(|state| state.name().to_owned()),
        waiting: row.waiting,
        running: row.running,
        panes: row.panes.len() as u64,
        by_state: counts(&row.by_state),
    }
}

/// A session.
pub fn session(row: &SessionRow) -> SessionItem {
    SessionItem {
        identity: SessionIdentity {
            target: row.target.as_ref().map(ToString::to_string),
            session_name: row.session_name.clone(),
        },
        top_state: row.top_state.map(|state| state.name().to_owned()),
        total: row.summary.total,
        by_state: counts(&row.summary.by_state),
        by_agent: row.summary.by_agent.iter().map(|(agent, count)| (agent.to_string(), *count)).collect(),
        by_target: row
            .by_target
            .iter()
            .map(|(target, on)| {
                (target.to_string(), SessionOnTarget { total: on.total, by_state: counts(&on.by_state) })
            })
            .collect(),
    }
}

/// Counts over panes.
pub fn summary(rows: &[PaneRow]) -> Summary {
    let summary = query::summary(rows);
    Summary {
        total: summary.total,
        by_state: counts(&summary.by_state),
        by_agent: summary.by_agent.iter().map(|(agent, count)| (agent.to_string(), *count)).collect(),
        by_target: summary.by_target.iter().map(|(target, count)| (target.to_string(), *count)).collect(),
    }
}

fn counts(counts: &StateCounts) -> std::collections::BTreeMap<String, u64> {
    counts.iter().map(|(state, count)| (state.name().to_owned(), count)).collect()
}

/// The order of a list.
pub fn sort(sort: list::Sort) -> query::Sort {
    match sort {
        list::Sort::Place => query::Sort::Place,
        list::Sort::Urgency => query::Sort::Urgency,
        list::Sort::Since => query::Sort::Since,
        list::Sort::Agent => query::Sort::Agent,
        list::Sort::Name => query::Sort::Name,
    }
}

/// The targets that cannot answer.
pub fn target_errors(world: &World) -> Vec<TargetError> {
    query::targets(&world.engine)
        .into_iter()
        .filter(|target| target.health != agtmux_core::event::Health::Ok)
        .map(|target| TargetError {
            target: target.target.to_string(),
            code: ErrorCode::TargetUnreachable.name().to_owned(),
            message: target.detail.unwrap_or_else(|| target.health.name().to_owned()),
        })
        .collect()
}

/// A target.
pub fn target(row: query::TargetRow) -> target::TargetItem {
    target::TargetItem {
        is_default: row.target.as_str() == LOCAL,
        identity: target::TargetIdentity { target: row.target.to_string() },
        kind: match row.kind {
            TargetKind::Local => target::TargetKind::Local,
            TargetKind::Ssh => target::TargetKind::Ssh,
        },
        connection_ref: row.connection,
        health: row.health.name().to_owned(),
        detail: row.detail,
        runtimes: row.runtimes,
        servers: row.servers,
        panes: row.panes,
        updated_at: (row.health_since.0 > 0).then(|| time(row.health_since)),
    }
}

/// A change, as it goes to a follower.
pub fn change(change: &Change) -> Frame {
    Frame::Change {
        schema_version: SCHEMA_VERSION,
        seq: change.seq,
        at: time(change.at),
        panes: change.panes.iter().map(pane).collect(),
        removed: change.removed.iter().map(removed).collect(),
        attention: change
            .calls
            .iter()
            .map(|call| AttentionCall {
                runtime_id: call.runtime.to_string(),
                nudge_seq: call.nudge_seq,
                kind: call.kind.name().to_owned(),
                message: call.message.clone(),
            })
            .collect(),
        messages: change.steps.iter().map(message_event).collect(),
    }
}

/// Everything, as it goes to a follower.
pub fn snapshot(change: &Change) -> Frame {
    let rows: Vec<_> = change.panes.iter().map(|view| view.row.clone()).collect();
    Frame::Snapshot {
        schema_version: SCHEMA_VERSION,
        seq: change.seq,
        at: time(change.at),
        panes: change.panes.iter().map(pane).collect(),
        summary: summary(&rows),
        messages: change.steps.iter().map(message_event).collect(),
    }
}

/// A step of a message.
pub fn message_event(transition: &Transition) -> MessageEvent {
    let Transition { id, from, to, to_name, mode, category, step } = transition;
    MessageEvent {
        id: id.to_string(),
        from: MessageParty { name: from.name().to_owned(), id: from.id() },
        to: MessageParty { name: to_name.clone(), id: to.to_string() },
        category: category.name().to_owned(),
        delivery_mode: mode.name().to_owned(),
        seq: step.seq,
        at: time(step.at),
        status: step.to.clone(),
        why: step.why.clone(),
    }
}

fn removed(identity: &Identity) -> RemovedPane {
    RemovedPane {
        identity: PaneIdentity {
            target: identity.target.to_string(),
            session_name: identity.session_name.clone(),
            window_id: identity.window.to_string(),
            pane_id: identity.pane.to_string(),
        },
        tmux_socket: identity.socket.clone(),
    }
}

/// A fact in one line, for people.
pub fn fact_text(fact: &Fact) -> String {
    match fact {
        Fact::PolicySet { .. } => "the numbers to decide by were set".to_owned(),
        Fact::TargetAdded { target, .. } => format!("target {target} added"),
        Fact::TargetRemoved { target } => format!("target {target} removed"),
        Fact::TargetHealth { target, health, detail } => {
            let detail = detail.as_deref().map_or_else(String::new, |detail| format!(": {detail}"));
            format!("target {target} is {}{detail}", health.name())
        }
        Fact::ServerSeen { socket, pid, .. } => format!("tmux server {pid} at {socket}"),
        Fact::ServerGone { server } => format!("tmux server {server} is gone"),
        Fact::PanePlaced { pane, place } => {
            format!("{} is in {}:{}.{}", pane.pane, place.session_name, place.window_index, place.pane_index)
        }
        Fact::PaneGone { pane } => format!("{} is gone", pane.pane),
        Fact::RuntimeStarted { pane, agent, process, .. } => {
            format!("{agent} runs in {} as pid {}", pane.pane, process.pid)
        }
        Fact::ProcessChanged { process, .. } => format!("its process is {process:?}").to_lowercase(),
        Fact::RuntimeEnded { how, .. } => format!("ended: {}", how.name()),
        Fact::Conversation { conversation, .. } => format!("in conversation {conversation}"),
        Fact::Session { session, .. } => format!("its SCHMUX_SESSION_ID is {session}"),
        Fact::Named { name, .. } => format!("named {}", name.as_deref().unwrap_or("nothing")),
        Fact::Signal(signal) => {
            let said = serde_json::to_value(&signal.signal).unwrap_or_default();
            let said = said["is"].as_str().unwrap_or_default().to_owned();
            let message = signal.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
            format!("{} says {said}{message}", signal.source.name())
        }
        Fact::Seen { .. } => "a person looked".to_owned(),
        Fact::Acknowledged { nudge_seq, .. } => format!("call {nudge_seq} acknowledged"),
        Fact::IntentDone { intent } => format!("done: {intent}"),
        Fact::Refused { what, code, detail } => format!("{what} refused: {detail} [{code}]"),
        Fact::Action(action) => action_line(action),
        Fact::Mail(step) => mail_line(step),
        Fact::Tick => "time passed".to_owned(),
        Fact::Checkpoint { .. } => "the log begins here".to_owned(),
    }
}

/// A step of messages, in a line.
fn mail_line(step: &MailFact) -> String {
    let all = |letters: &[MailId]| letters.iter().map(MailId::as_str).collect::<Vec<_>>().join(", ");
    match step {
        MailFact::Opened { .. } => "a mailbox was opened".to_owned(),
        MailFact::Queued { letter } => format!("{} from {} is queued", letter.id, letter.from.name()),
        MailFact::Leased { delivery, letters, .. } => format!("{delivery}: {} to be delivered", all(letters)),
        MailFact::Started { delivery } => format!("{delivery} is started"),
        MailFact::InTheWay { delivery, .. } => format!("a person's text is in the way of {delivery}"),
        MailFact::SetAside { delivery } => format!("a person's text is put aside for {delivery}"),
        MailFact::PutBack { runtime } => format!("the text that was put aside in {runtime} is back"),
        MailFact::Interrupted { delivery } => format!("a turn was interrupted for {delivery}"),
        MailFact::Offered { delivery } => format!("{delivery} is given to a hook or a server"),
        MailFact::Returned { delivery, why } => format!("{delivery} was not made: {why}"),
        MailFact::Submitted { delivery, channel, evidence } => {
            format!("{delivery} is submitted by {channel}: {evidence}")
        }
        MailFact::Unconfirmed { delivery, why } => format!("{delivery} is unconfirmed: {why}"),
        MailFact::Confirmed { letters, by } => format!("{} confirmed by its {}", all(letters), by.name()),
        MailFact::Cancelled { id, by } => format!("{id} was taken back {by}"),
        MailFact::Busy { reason, by, .. } => format!("busy, told {by}: {reason}"),
        MailFact::Ready { by, .. } => format!("ready, told {by}"),
    }
}

/// A step of an action, in a line.
fn action_line(action: &ActionFact) -> String {
    let id = &action.action;
    match &action.step {
        Step::Prepared { snapshot } => format!("{id}: {} {} prepared", snapshot.verb.name(), snapshot.reference),
        Step::Permitted { verb, reference } => format!("{id}: {} {reference} may be done", verb.name()),
        Step::Started { detail } => format!("{id}: {detail}"),
        Step::Done { result } => format!("{id}: {result}"),
        Step::Failed { code, message } => format!("{id} failed: {message} [{code}]"),
        Step::Refused { verb, reference, code, message } => {
            format!("{} {reference} refused: {message} [{code}]", verb.name())
        }
    }
}
