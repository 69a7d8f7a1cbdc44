//! Read models: rows for lists, and their sums. Pure functions of the engine, in a stable order.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use crate::attention::CallKind;
use crate::details::Details;
use crate::engine::Engine;
use crate::event::{Health, Place, TargetKind};
use crate::facts::SourceRecord;
use crate::id::{AgentId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId};
use crate::mail::{Busy, Hindrance};
use crate::prompt::Prompt;
use crate::runtime::Runtime;
use crate::signal::Source;
use crate::state::{State, Verdict};
use crate::time::Timestamp;
use crate::topology::{Pane, Target};

/// A pane and the agent in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneRow {
    /// Which pane.
    pub pane: PaneKey,
    /// The target it is on.
    pub target: TargetName,
    /// Where it sits.
    pub place: Place,
    /// The agent in it.
    pub runtime: Option<RuntimeRow>,
}

/// A living runtime as shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeRow {
    /// Its id.
    pub id: RuntimeId,
    /// Which runtime of its pane it is.
    pub epoch: u32,
    /// Which agent.
    pub agent: AgentId,
    /// Its process.
    pub process: ProcessKey,
    /// Its friendly name.
    pub name: Option<String>,
    /// When it was found.
    pub started_at: Timestamp,
    /// Its state.
    pub verdict: Verdict,
    /// Grows whenever the state changes.
    pub state_version: u64,
    /// When the state last changed.
    pub updated_at: Timestamp,
    /// What it wants from a person.
    pub attention: Attention,
    /// What it asks permission for, where that is what it waits for.
    pub prompt: Option<Prompt>,
    /// The messages that wait for it.
    pub mail: Option<MailRow>,
    /// What it says it has to do.
    pub busy: Option<Busy>,
    /// What is shown beside its state.
    pub details: Details,
    /// What its adapter has told so far.
    pub heard: Heard,
}

/// What was heard of a runtime so far, at best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heard {
    /// Nothing.
    Nothing,
    /// Only what no rule understands.
    Unread,
    /// What its screen shows, or a guess.
    Screen,
    /// What it reports itself.
    Events,
}

impl Heard {
    /// What was heard of this one.
    pub(crate) fn of(runtime: &Runtime) -> Self {
        let of_source = |(source, record): (&Source, &SourceRecord)| match source {
            _ if !record.usable && record.near_misses.count > 0 => Self::Unread,
            _ if !record.usable => Self::Nothing,
            Source::Screen | Source::Scrollback | Source::Llm => Self::Screen,
            _ => Self::Events,
        };
        runtime.sources.iter().map(of_source).max().unwrap_or(Self::Nothing)
    }
}

/// Messages that wait for a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailRow {
    /// How many.
    pub waiting: u64,
    /// Since when the first of them waits.
    pub since: Timestamp,
    /// What the next one waits for; nothing if it is about to be delivered.
    pub hindrance: Option<Hindrance>,
    /// Who wrote them, each once.
    pub from: BTreeSet<String>,
}

/// What a runtime wants from a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attention {
    /// The agent cannot go on by itself.
    pub needs_action: bool,
    /// The call that stands.
    pub kind: Option<CallKind>,
    /// Number of its latest call.
    pub nudge_seq: u64,
    /// The call in its words.
    pub message: Option<String>,
    /// A turn is done and nobody has looked.
    pub unseen: bool,
    /// A person said that they know of the latest call.
    pub acknowledged: bool,
}

/// Which panes to list. What is not given does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneFilter {
    /// On this target.
    pub target: Option<TargetName>,
    /// In a session of this name.
    pub session: Option<String>,
    /// In the session of this name on this target.
    pub target_session: Option<(TargetName, String)>,
    /// With an agent in one of these states; none named means any.
    pub states: BTreeSet<State>,
    /// With this agent.
    pub agent: Option<AgentId>,
    /// With an agent that needs a person, or that does not.
    pub needs_action: Option<bool>,
    /// Panes without an agent too.
    pub all: bool,
}

/// The order of a list of panes. Rows that are alike stay in the order of their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By target, session, window and pane.
    #[default]
    Place,
    /// Those that need a person first, then by state; of those alike, the one that is so the longest first.
    Urgency,
    /// The latest change of state first.
    Since,
    /// By the agent's kind.
    Agent,
    /// By name, agents without one last.
    Name,
}

/// How many agents are in each state. Every state is there, be it zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCounts(BTreeMap<State, u64>);

/// Sums over rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// All agents.
    pub total: u64,
    /// By state.
    pub by_state: StateCounts,
    /// By agent.
    pub by_agent: BTreeMap<AgentId, u64>,
    /// By target.
    pub by_target: BTreeMap<TargetName, u64>,
}

/// A window and the agents in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRow {
    /// The target it is on.
    pub target: TargetName,
    /// Its server.
    pub server: ServerId,
    /// The session's id.
    pub session: SessionId,
    /// The session's name.
    pub session_name: String,
    /// Its id.
    pub window: WindowId,
    /// Its place in the session.
    pub window_index: u32,
    /// Its name.
    pub window_name: String,
    /// The most urgent state in it; none without agents.
    pub top_state: Option<State>,
    /// Agents that wait for a person.
    pub waiting: u64,
    /// Agents that run.
    pub running: u64,
    /// Agents by state.
    pub by_state: StateCounts,
    /// Its panes.
    pub panes: Vec<PaneRow>,
}

/// What makes two panes belong to the same row of a session list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The same session name on the same target.
    #[default]
    TargetSession,
    /// The same session name on any target.
    SessionName,
}

/// A session, or all sessions of one name, and the agents in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// The target; none when targets are merged.
    pub target: Option<TargetName>,
    /// The session's name.
    pub session_name: String,
    /// The most urgent state in it; none without agents.
    pub top_state: Option<State>,
    /// Panes, with and without agents.
    pub panes: u64,
    /// Sums over its agents.
    pub summary: Summary,
    /// The same sums, target by target.
    pub by_target: BTreeMap<TargetName, Summary>,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRow {
    /// Its name.
    pub target: TargetName,
    /// How it is reached.
    pub kind: TargetKind,
    /// Where.
    pub connection: Option<String>,
    /// How it is.
    pub health: Health,
    /// Since when.
    pub health_since: Timestamp,
    /// What is wrong.
    pub detail: Option<String>,
    /// tmux servers on it.
    pub servers: u64,
    /// Panes on it.
    pub panes: u64,
    /// Agents on it.
    pub runtimes: u64,
}

/// Panes, in order of target, session name, window index and pane index.
pub fn panes(engine: &Engine, filter: &PaneFilter) -> Vec<PaneRow> {
    let all = engine.state().topology.panes.iter();
    let mut rows: Vec<_> =
        all.filter_map(|(key, pane)| row(engine, key, pane)).filter(|row| filter.accepts(row)).collect();
    rows.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
    rows
}

/// One pane.
pub fn pane(engine: &Engine, key: &PaneKey) -> Option<PaneRow> {
    engine.state().topology.panes.get(key).and_then(|pane| row(engine, key, pane))
}

/// Windows that hold a pane which the filter accepts, in order of target, session name and window index.
pub fn windows(engine: &Engine, filter: &PaneFilter) -> Vec<WindowRow> {
    let mut windows: Vec<WindowRow> = Vec::new();
    for row in panes(engine, filter) {
        let place = &row.place;
        let same = |w: &WindowRow| {
            w.target == row.target
                && w.server == row.pane.server
                && w.session == place.session
                && w.window == place.window
        };
        let at = windows.iter().rposition(same).unwrap_or_else(|| {
            windows.push(WindowRow {
                target: row.target.clone(),
                server: row.pane.server.clone(),
                session: place.session,
                session_name: place.session_name.clone(),
                window: place.window,
                window_index: place.window_index,
                window_name: place.window_name.clone(),
                top_state: None,
                waiting: 0,
                running: 0,
                by_state: StateCounts::default(),
                panes: Vec::new(),
            });
            windows.len() - 1
        });
        windows[at].panes.push(row);
    }
    for window in &mut windows {
        window.by_state = summary(&window.panes).by_state;
        window.top_state = window.by_state.top();
        window.waiting = window.by_state.waiting();
        window.running = window.by_state.get(State::Running);
    }
    windows
}

/// Sessions that hold a pane which the filter accepts, in order of target and name.
pub fn sessions(engine: &Engine, filter: &PaneFilter, grouping: Grouping) -> Vec<SessionRow> {
    let mut groups: BTreeMap<(Option<TargetName>, String), Vec<PaneRow>> = BTreeMap::new();
    for row in panes(engine, filter) {
        let target = match grouping {
            Grouping::TargetSession => Some(row.target.clone()),
            Grouping::SessionName => None,
        };
        groups.entry((target, row.place.session_name.clone())).or_default().push(row);
    }
    groups
        .into_iter()
        .map(|((target, session_name), rows)| {
            let summary_of_all = summary(&rows);
            let mut on: BTreeMap<TargetName, Vec<PaneRow>> = BTreeMap::new();
            let count = rows.len() as u64;
            for row in rows {
                on.entry(row.target.clone()).or_default().push(row);
            }
            SessionRow {
                target,
                session_name,
                top_state: summary_of_all.by_state.top(),
                panes: count,
                summary: summary_of_all,
                by_target: on.into_iter().map(|(target, rows)| (target, summary(&rows))).collect(),
            }
        })
        .collect()
}

/// Sums over rows. Panes without an agent do not count.
pub fn summary(rows: &[PaneRow]) -> Summary {
    let mut summary = Summary::default();
    for row in rows {
        if let Some(runtime) = &row.runtime {
            summary.total += 1;
            summary.by_state.add(runtime.verdict.state);
            *summary.by_agent.entry(runtime.agent.clone()).or_default() += 1;
            *summary.by_target.entry(row.target.clone()).or_default() += 1;
        }
    }
    summary
}

/// All targets, by name.
pub fn targets(engine: &Engine) -> Vec<TargetRow> {
    let topology = &engine.state().topology;
    let row = |(name, target): (&TargetName, &Target)| TargetRow {
        target: name.clone(),
        kind: target.kind,
        connection: target.connection.clone(),
        health: target.health.0,
        health_since: target.health.1,
        detail: target.detail.clone(),
        servers: topology.servers.values().filter(|server| server.target == *name).count() as u64,
        panes: topology.panes.keys().filter(|pane| topology.target_of(pane) == Some(name)).count() as u64,
        runtimes: topology.living_on(name).count() as u64,
    };
    topology.targets.iter().map(row).collect()
}

impl Sort {
    /// All orders.
    pub const ALL: [Self; 5] = [Self::Place, Self::Urgency, Self::Since, Self::Agent, Self::Name];

    /// Compares two rows. Panes without an agent come last, except in the order of places.
    pub fn compare(self, one: &PaneRow, other: &PaneRow) -> Ordering {
        let by_place = || sort_key(one).cmp(&sort_key(other));
        let (a, b) = match (self, &one.runtime, &other.runtime) {
            (Self::Place, ..) => return by_place(),
            (_, Some(a), Some(b)) => (a, b),
            (_, a, b) => return a.is_none().cmp(&b.is_none()).then_with(by_place),
        };
        let urgency = |row: &RuntimeRow| {
            let call = row.attention.kind.filter(|_| !row.attention.acknowledged);
            (call.is_none(), call, row.verdict.state, row.verdict.since)
        };
        let ordering = match self {
            Self::Place => Ordering::Equal,
            Self::Urgency => urgency(a).cmp(&urgency(b)),
            Self::Since => Reverse(a.verdict.since).cmp(&Reverse(b.verdict.since)),
            Self::Agent => a.agent.cmp(&b.agent),
            Self::Name => (a.name.is_none(), &a.name).cmp(&(b.name.is_none(), &b.name)),
        };
        ordering.then_with(by_place)
    }
}

impl PaneFilter {
    /// Whether a row is wanted.
    pub fn accepts(&self, row: &PaneRow) -> bool {
        let runtime = row.runtime.as_ref();
        let of_runtime = |wanted: &dyn Fn(&RuntimeRow) -> bool| runtime.is_some_and(wanted);
        (self.all || runtime.is_some())
            && self.target.as_ref().is_none_or(|target| row.target == *target)
            && self.session.as_ref().is_none_or(|session| row.place.session_name == *session)
            && self
                .target_session
                .as_ref()
                .is_none_or(|(target, session)| row.target == *target && row.place.session_name == *session)
            && (self.states.is_empty() || of_runtime(&|r| self.states.contains(&r.verdict.state)))
            && self.agent.as_ref().is_none_or(|agent| of_runtime(&|r| r.agent == *agent))
            && self.needs_action.is_none_or(|wanted| of_runtime(&|r| r.attention.needs_action == wanted))
    }
}

impl Default for StateCounts {
    fn default() -> Self {
        Self(State::ALL.into_iter().map(|state| (state, 0)).collect())
    }
}

impl StateCounts {
    /// Agents in that state.
    pub fn get(&self, state: State) -> u64 {
        self.0.get(&state).copied().unwrap_or_default()
    }

    /// All states, the most urgent first, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (State, u64)> {
        self.0.iter().map(|(state, count)| (*state, *count))
    }

    /// The most urgent state that any agent is in.
    pub fn top(&self) -> Option<State> {
        self.iter().find(|(_, count)| *count > 0).map(|(state, _)| state)
    }

    /// Agents that wait for an answer or a permission.
    pub fn waiting(&self) -> u64 {
        self.get(State::WaitingApproval) + self.get(State::WaitingInput)
    }

    fn add(&mut self, state: State) {
        *self.0.entry(state).or_default() += 1;
    }
}

/// A pane shows up once tmux has said where it is.
fn row(engine: &Engine, key: &PaneKey, pane: &Pane) -> Option<PaneRow> {
    let topology = &engine.state().topology;
    Some(PaneRow {
        pane: key.clone(),
        target: topology.target_of(key)?.clone(),
        place: pane.place.clone()?,
        runtime: topology.living_in(key).map(|runtime| runtime_row(engine, runtime)),
    })
}

fn runtime_row(engine: &Engine, runtime: &Runtime) -> RuntimeRow {
    let attention = &runtime.attention;
    RuntimeRow {
        id: runtime.id.clone(),
        epoch: runtime.epoch,
        agent: runtime.agent.clone(),
        process: runtime.process,
        name: runtime.name.clone(),
        started_at: runtime.started_at,
        verdict: runtime.verdict.clone(),
        state_version: runtime.state_version,
        updated_at: runtime.updated_at,
        attention: Attention {
            needs_action: runtime.verdict.state.needs_action(),
            kind: attention.standing(),
            nudge_seq: attention.nudge_seq,
            message: attention
                .calling
                .filter(|own| attention.standing() == Some(*own))
                .and(runtime.verdict.message.clone()),
            unseen: attention.unseen,
            acknowledged: attention.is_acknowledged(),
        },
        // Judging once more is only worth it where there is something to be found.
        prompt: engine.shown_prompt(runtime),
        mail: mail_row(engine, &runtime.id),
        busy: engine.state().mail.busy.get(&runtime.id).cloned(),
        details: runtime.details.clone(),
        heard: Heard::of(runtime),
    }
}

fn mail_row(engine: &Engine, runtime: &RuntimeId) -> Option<MailRow> {
    let waiting = engine.state().mail.undelivered(runtime);
    let first = waiting.first()?;
    let since = waiting.iter().map(|entry| entry.waits_since()).min()?;
    let from = waiting.iter().map(|entry| entry.letter.from.name().to_owned()).collect();
    Some(MailRow { waiting: waiting.len() as u64, since, hindrance: engine.mail_hindrance(first), from })
}

type SortKey<'a> = (&'a TargetName, &'a str, &'a ServerId, SessionId, u32, WindowId, u32, &'a PaneKey);

fn sort_key(row: &PaneRow) -> SortKey<'_> {
    let place = &row.place;
    (
        &row.target,
        &place.session_name,
        &row.pane.server,
        place.session,
        place.window_index,
        place.window,
        place.pane_index,
        &row.pane,
    )
}
