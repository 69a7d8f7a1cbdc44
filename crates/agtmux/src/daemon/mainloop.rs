//! The one loop that owns the truth.
//!
//! Each turn: take what came in, turn it into facts, log them, and only then apply them, show them and answer. What
//! could not be logged did not happen: the one who asked is told so, and what an observer saw it will see again.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::launch::is_conversation_id;
use agtmux_core::command::Command;
use agtmux_core::ending::Exit;
use agtmux_core::engine::Disposition;
use agtmux_core::event::{Event, FORMAT, Fact, Health, TargetKind};
use agtmux_core::id::{PaneKey, RuntimeId, TargetName};
use agtmux_core::intent::Intent;
use agtmux_core::reconcile::{self, AgentSight};
use agtmux_core::signal::SignalEvent;
use agtmux_core::time::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::actions::Waiting;
use super::clock::Clock;
use super::handle::{Input, Posted};
use super::mail::PostOffice;
use super::observers::Observers;
use super::projection::Projection;
use super::publish::{Call, Publisher};
use super::roster::{self, Conversation, Roster};
use super::world::{LOCAL, World};
use crate::error::CommandError;
use crate::platform;
use crate::store::{Batch, Row, StoreError, Text, Writer, redact};
use crate::target::observation::{Connection, Observation, Surface};

/// How many signals are logged in one transaction at most.
const BATCH: usize = 512;

/// How many events lie between two snapshots at least.
const SNAPSHOT_AFTER: u64 = 5_000;

/// How often old things are let go of.
const RETAIN_EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// The longest sleep, and the longest before something that is due at a time. The deadline is on a clock that goes on during suspend,
/// the sleep is not: so much later, at most, is noticed after a suspend what came due in it. A second is promised.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
const LONGEST_NAP: Duration = Duration::from_millis(750);

/// How long what was begun is waited for when the daemon is to end: with what observers are given (`target::observer`) it is less than
/// whoever says `agtmux daemon stop` waits.
const ENDING: Duration = Duration::from_secs(4);

/// Places of the stream that are reserved ahead, so that none is handed out twice, whatever happens.
const RESERVE: u64 = 10_000;

/// The loop and what it owns.
pub struct MainLoop {
    pub(super) world: World,
    pub(super) clock: Clock,
    pub(super) inputs: mpsc::Receiver<Input>,
    pub(super) writer: Writer,
    pub(super) publisher: Publisher,
    pub(super) projection: Projection,
    pub(super) observers: Observers,
    pub(super) synced: watch::Sender<bool>,
    pub(super) roster: watch::Sender<Arc<Roster>>,
    pub(super) snapshot_at: u64,
    pub(super) waiting: Waiting,
    pub(super) post: PostOffice,
    /// The daemon is to end, by then at the latest: nothing more is begun.
    pub(super) ending: Option<Instant>,
}

/// A signal that waits to be logged with others, and who wants to know.
type Unsettled = (Box<SignalEvent>, Option<oneshot::Sender<Result<Posted, CommandError>>>);

impl MainLoop {
    /// Runs until told to stop, and until what was begun is done, if that is soon: half a message must not stay in a composer. Then tmux
    /// is left as it was found, and the store is closed.
    ///
    /// # Errors
    /// Fails when the store cannot be closed in order; nothing that was answered for is lost by that.
    pub async fn run(mut self) -> Result<(), CommandError> {
        let mut retain = tokio::time::interval(RETAIN_EVERY);
        let mut inbox = Vec::with_capacity(BATCH);
        let mut running = true;
        while running && !self.may_end() {
            let nap = self.until_deadline();
            tokio::select! {
                count = self.inputs.recv_many(&mut inbox, BATCH) => running = count > 0,
                () = tokio::time::sleep(nap) => {}
                _ = retain.tick() => self.retain().await,
            }
            let before = self.world.seq;
            let mut waiting = Vec::new();
            for input in inbox.drain(..) {
                self.take(input, &mut waiting).await;
            }
            self.settle(&mut waiting).await;
            self.tick().await;
            self.carry_out_intents().await;
            self.write_mail().await;
            self.deliver_mail().await;
            if self.world.seq != before {
                self.refresh_roster();
            }
            self.write_rows_if_idle().await;
            self.snapshot_if_due();
            self.synced.send_if_modified(|synced| std::mem::replace(synced, self.world.is_synced()) != *synced);
        }
        self.end().await
    }

    /// Whether the daemon is to end, and nothing that was begun is in the way.
    fn may_end(&self) -> bool {
        let is_under_way = || self.waiting.is_under_way() || self.post.is_under_way(&self.world.engine);
        self.ending.is_some_and(|latest| Instant::now() >= latest || !is_under_way())
    }

    async fn take(&mut self, input: Input, waiting: &mut Vec<Unsettled>) {
        match input {
            Input::Posted { event, reply } => return waiting.push((event, Some(reply))),
            Input::Said(said) => {
                return waiting.extend(said.into_signals().into_iter().map(|event| (Box::new(event), None)));
            }
            _ => {}
        }
        // Whatever else is asked is asked of a world in which the signals before it have happened.
        self.settle(waiting).await;
        match input {
            Input::Posted { .. } | Input::Said(_) => {}
            Input::Conversation { runtime, conversation } => {
                self.remember_conversation(&runtime, &conversation).await;
                self.world.conversations.entry(runtime).or_default().learn(conversation);
                self.refresh_roster();
            }
            Input::Trouble { reader, trouble } => {
                self.world.troubles.remove(reader);
                self.world.troubles.extend(trouble.map(|trouble| (reader, trouble)));
            }
            Input::Observed(observation) => self.observe(observation).await,
            Input::Requested { command, reply } => {
                reply.send(self.request(&command).await).ok();
            }
            Input::Act(ask) => self.act(*ask).await,
            Input::Mail(ask) => self.mail(*ask).await,
            Input::Read(look) => look(&self.world),
            Input::Subscribe { after, reply } => {
                let subscription = self.publisher.subscribe(&self.world, self.clock.now(), after);
                reply.send(subscription).ok();
            }
            Input::Watch { socket, reply } => {
                self.watch(&socket);
                reply.send(()).ok();
            }
            Input::Stop => {
                self.ending.get_or_insert_with(|| Instant::now() + ENDING);
            }
        }
    }

    /// Keeps which conversation an agent is in, so that it can be gone on with when the agent has ended.
    async fn remember_conversation(&mut self, runtime: &RuntimeId, news: &Conversation) {
        let Some(id) = news.session.clone().filter(|id| is_conversation_id(id)) else {
            return;
        };
        let Some(known) = self.world.engine.state().topology.live(runtime) else {
            return;
        };
        if known.conversation.as_ref().is_some_and(|known| known.id == id) {
            return;
        }
        let cwd = platform::process_cwd(known.process.pid).and_then(|cwd| cwd.into_os_string().into_string().ok());
        self.commit_observed(vec![Fact::Conversation { runtime: runtime.clone(), conversation: id, cwd }]).await;
        self.post.note_conversation();
    }

    fn refresh_roster(&mut self) {
        roster::refresh(&self.roster, &self.world);
        let live = self.roster.borrow();
        self.world.conversations.retain(|runtime, _| live.contains_key(runtime));
    }

    /// Begins to watch a tmux server.
    pub(super) fn watch(&mut self, socket: &Path) {
        if self.observers.watch(socket) {
            self.world.servers.entry(socket.to_owned()).or_default();
            self.synced.send_replace(false);
        }
    }

    /// Logs and applies the signals that wait, in one transaction.
    async fn settle(&mut self, waiting: &mut Vec<Unsettled>) {
        let mut facts = Vec::new();
        let mut replies = Vec::new();
        for (event, reply) in waiting.drain(..) {
            match self.world.engine.decide(&Command::Ingest(event)) {
                Ok(decided) => {
                    facts.extend(decided);
                    replies.push(reply);
                }
                Err(refusal) => {
                    let error = CommandError::from(refusal);
                    facts.push(refused("signal", &error));
                    if let Some(reply) = reply {
                        reply.send(Err(error)).ok();
                    }
                    // Keeps replies and facts in step: a refusal has been answered.
                    replies.push(None);
                }
            }
        }
        if facts.is_empty() {
            return;
        }
        match self.commit(facts).await {
            Ok(outcomes) => {
                for (reply, (seq, disposition)) in replies.into_iter().zip(outcomes) {
                    if let (Some(reply), Some(disposition)) = (reply, disposition) {
                        let state = self.state_after(&disposition);
                        reply.send(Ok(Posted { seq, disposition, state })).ok();
                    }
                }
            }
            Err(error) => {
                for reply in replies.into_iter().flatten() {
                    reply.send(Err(error.clone())).ok();
                }
            }
        }
    }

    fn state_after(&self, disposition: &Disposition) -> Option<agtmux_core::state::State> {
        match disposition {
            Disposition::Bound { runtime }
            | Disposition::Duplicate { runtime }
            | Disposition::OutOfOrder { runtime } => {
                self.world.engine.state().topology.live(runtime).map(|runtime| runtime.verdict.state)
            }
            Disposition::Pending | Disposition::RuntimeEnded { .. } | Disposition::Unbound { .. } => None,
        }
    }

    async fn request(&mut self, command: &Command) -> Result<(), CommandError> {
        match self.world.engine.decide(command) {
            Ok(mut facts) => {
                facts.extend(health_of_new_target(command));
                self.commit(facts).await.map(|_| ())
            }
            Err(refusal) => {
                let error = CommandError::from(refusal);
                let what = format!("{command:?}");
                self.commit(vec![refused(what.split([' ', '(']).next().unwrap_or_default(), &error)]).await.ok();
                Err(error)
            }
        }
    }

    async fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::Connection { socket, status } => self.connection(&socket, status).await,
            Observation::Panes { sight, surfaces } => {
                let facts = reconcile::server(&self.world.engine, &sight);
                self.commit_observed(facts).await;
                self.show_surfaces(surfaces);
            }
            Observation::Agents { mut sights } => {
                sights.iter_mut().for_each(|sight| self.tell_ending(sight));
                let facts = reconcile::agents(&self.world.engine, &sights);
                self.commit_observed(facts).await;
                let server = sights.first().map(|sight| sight.pane.server.clone());
                for watch in self.world.servers.values_mut() {
                    let connected = matches!(&watch.connection, Some(Connection::Connected { server: on, .. }) if Some(on) == server.as_ref());
                    watch.synced |= connected;
                }
            }
            // These come as what was said.
            Observation::Heard(_) => {}
            Observation::Surface { pane, surface } => self.show_surfaces(vec![(pane, surface)]),
            Observation::Streams { server, figures, taken } => {
                for watch in self.world.servers.values_mut() {
                    if matches!(&watch.connection, Some(Connection::Connected { server: on, .. }) if *on == server) {
                        watch.streams = figures;
                        watch.taken.clone_from(&taken);
                    }
                }
            }
        }
    }

    /// Adds what is known here of the end of an agent that is no longer in its pane: that somebody wanted it, or, where the
    /// process did not tell, that it left standing what it removes when it ends in order.
    fn tell_ending(&self, sight: &mut AgentSight) {
        let Some(known) = self.world.engine.state().topology.living_in(&sight.pane) else {
            return;
        };
        if sight.found.as_ref().is_some_and(|found| found.process == known.process) {
            return;
        }
        let has_left = || self.roster.borrow().get(&known.id).is_some_and(|member| member.ended_without_farewell());
        if self.waiting.was_killed(&known.id, self.clock.now()) {
            sight.left = Some((known.process, Exit::Wanted));
        } else if sight.left.is_none() && has_left() {
            sight.left = Some((known.process, Exit::NoFarewell));
        }
    }

    async fn connection(&mut self, socket: &Path, status: Connection) {
        let text = socket.to_string_lossy();
        let local = TargetName::new(LOCAL);
        let facts = match &status {
            Connection::NotRunning => reconcile::no_server(&self.world.engine, &local, &text),
            Connection::Connecting { .. } | Connection::Connected { .. } | Connection::Unusable { .. } => Vec::new(),
        };
        self.commit_observed(facts).await;
        let watch = self.world.servers.entry(socket.to_owned()).or_default();
        match &status {
            Connection::Connected { .. } => watch.connects += 1,
            Connection::NotRunning | Connection::Unusable { .. } => watch.synced = true,
            Connection::Connecting { why } => watch.synced |= why.is_some(),
        }
        watch.connection = Some(status);
        self.refresh_health().await;
    }

    /// This host is in order when every watched server is either watched or not there.
    async fn refresh_health(&mut self) {
        let local = TargetName::new(LOCAL);
        let trouble = self.world.servers.iter().find_map(|(socket, watch)| match &watch.connection {
            Some(Connection::Unusable { why } | Connection::Connecting { why: Some(why) }) => {
                Some(format!("{}: {why}", socket.display()))
            }
            _ => None,
        });
        let health = if trouble.is_some() { Health::Degraded } else { Health::Ok };
        let target = self.world.engine.state().topology.targets.get(&local);
        let known = target.is_some_and(|target| target.health.0 == health && target.detail == trouble);
        if !known {
            self.commit_observed(vec![Fact::TargetHealth { target: local, health, detail: trouble }]).await;
        }
    }

    /// What an observer saw it will see again, so a failure to log it is only noted.
    async fn commit_observed(&mut self, facts: Vec<Fact>) {
        self.commit(facts).await.ok();
    }

    fn show_surfaces(&mut self, surfaces: Vec<(PaneKey, Surface)>) {
        let panes = &self.world.engine.state().topology.panes;
        let mut changed = BTreeSet::new();
        for (pane, seen) in surfaces.into_iter().filter(|(pane, _)| panes.contains_key(pane)) {
            let known = self.world.surfaces.entry(pane.clone()).or_default();
            let merged = Surface {
                title: seen.title.or_else(|| known.title.clone()),
                cwd: seen.cwd.or_else(|| known.cwd.clone()),
                command: seen.command.or_else(|| known.command.clone()),
            };
            if merged != *known {
                *known = merged;
                changed.insert(pane);
            }
        }
        if !changed.is_empty() {
            self.world.seq += 1;
            self.publisher.publish(&self.world, self.clock.now(), &changed, Vec::new(), Vec::new());
        }
    }

    /// Time passes for the engine only by events.
    async fn tick(&mut self) {
        if self.world.engine.next_deadline().is_some_and(|deadline| deadline <= self.clock.now()) {
            self.commit_observed(vec![Fact::Tick]).await;
        }
    }

    /// Notifications go out with the stream; the outbox forgets them once that is done.
    async fn carry_out_intents(&mut self) {
        let outbox = self.world.engine.outbox();
        if outbox.is_empty() {
            return;
        }
        let done: Vec<_> = outbox.iter().map(|intent| Fact::IntentDone { intent: intent.id().clone() }).collect();
        let calls: Vec<_> = outbox.into_iter().map(call).collect();
        if self.commit(done).await.is_ok() {
            self.publisher.publish(&self.world, self.clock.now(), [], calls, Vec::new());
        }
    }

    /// Logs facts, applies them and shows what changed. Gives each its place and what became of it.
    pub(super) async fn commit(&mut self, facts: Vec<Fact>) -> Result<Vec<(u64, Option<Disposition>)>, CommandError> {
        self.commit_with(facts, Vec::new()).await
    }

    /// The same, with texts of messages that are kept with them or not at all.
    pub(super) async fn commit_with(
        &mut self,
        facts: Vec<Fact>,
        texts: Vec<Text>,
    ) -> Result<Vec<(u64, Option<Disposition>)>, CommandError> {
        if facts.is_empty() {
            return Ok(Vec::new());
        }
        let at = self.clock.now();
        let first = self.world.seq + 1;
        let events: Vec<_> = (first..).zip(facts).map(|(seq, fact)| Event { v: FORMAT, seq, at, fact }).collect();
        let last = first + events.len() as u64 - 1;
        if last + RESERVE > self.writer.reserved() {
            self.note(self.writer.reserve(last + 2 * RESERVE).await)?;
        }
        let rows = self.projection.take();
        let appended = self.append(&events, rows, texts).await;
        self.note(appended)?;
        self.world.seq = last;
        let mut outcomes = Vec::with_capacity(events.len());
        let (mut changed, mut steps) = (BTreeSet::new(), Vec::new());
        for event in &events {
            let applied = self.world.engine.apply(event);
            self.projection.note(&self.world.engine, event, &applied);
            changed.extend(applied.changed);
            self.post.note(&self.world.engine, &applied.mail);
            steps.extend(applied.mail_steps);
            outcomes.push((event.seq, applied.disposition));
        }
        let panes = &self.world.engine.state().topology.panes;
        for gone in changed.iter().filter(|pane| !panes.contains_key(pane)) {
            self.world.surfaces.remove(gone);
        }
        self.publisher.publish(&self.world, at, &changed, Vec::new(), steps);
        Ok(outcomes)
    }

    /// Appends events, with the rows that wait. Rows are a cache: those that do not fit are dropped, the events are not.
    async fn append(&self, events: &[Event], projection: Vec<Row>, texts: Vec<Text>) -> Result<(), StoreError> {
        let had_rows = !projection.is_empty();
        match self.writer.append(Batch { events: events.to_vec(), projection, texts: texts.clone() }).await {
            Err(StoreError::Rejected { detail }) if had_rows => {
                tracing::warn!(detail, "rows of the projection were dropped");
                self.writer.append(Batch { events: events.to_vec(), projection: Vec::new(), texts }).await
            }
            outcome => outcome,
        }
    }

    /// Rows go with the next events; when none come, they go now, so that a reader of the database is never far behind.
    async fn write_rows_if_idle(&mut self) {
        if self.inputs.is_empty() && self.world.store_problem.is_none() {
            let projection = self.projection.take();
            let texts = self.post.take_over();
            if !projection.is_empty() || !texts.is_empty() {
                self.writer.append(Batch { events: Vec::new(), projection, texts }).await.ok();
            }
        }
    }

    /// Remembers whether the store works, for everybody who asks how things are.
    fn note<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, CommandError> {
        let outcome = outcome.map_err(CommandError::from);
        let problem = outcome.as_ref().err().cloned();
        if problem != self.world.store_problem {
            match &problem {
                Some(error) => tracing::error!(%error, "nothing new is accepted"),
                None => tracing::info!("the store works again"),
            }
            self.world.store_problem = problem;
        }
        outcome
    }

    fn until_deadline(&self) -> Duration {
        let until = |deadline: Timestamp| deadline.0.saturating_sub(self.clock.now().0).max(0).unsigned_abs();
        let deadline = self.world.engine.next_deadline().map(|deadline| Duration::from_millis(until(deadline)));
        let due = deadline.into_iter().chain(self.post.own.wait()).min();
        let nap = due.map_or(LONGEST_SLEEP, |wait| wait.min(LONGEST_NAP));
        self.ending.map_or(nap, |latest| nap.min(latest.saturating_duration_since(Instant::now())))
    }

    fn snapshot_if_due(&mut self) {
        if self.world.seq >= self.snapshot_at + SNAPSHOT_AFTER {
            self.snapshot();
        }
    }

    fn snapshot(&mut self) {
        self.snapshot_at = self.world.seq;
        let state = self.world.engine.state().clone();
        self.writer.snapshot(state.seq, state);
    }

    async fn retain(&mut self) {
        let state = self.world.engine.state().clone();
        self.world.seq += 1;
        match self.writer.retain(self.clock.now(), state, self.world.seq).await {
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "old events could not be let go of"),
        }
    }

    async fn end(mut self) -> Result<(), CommandError> {
        // Followers are told goodbye while the rest is put away.
        drop(self.publisher);
        // Observers that wait to report must not wait for a loop that waits for them.
        drop(self.inputs);
        self.observers.stop().await;
        self.snapshot_at = self.world.seq;
        let state = self.world.engine.state().clone();
        self.writer.snapshot(state.seq, state);
        self.writer
            .append(Batch { events: Vec::new(), projection: self.projection.take(), ..Batch::default() })
            .await
            .ok();
        self.writer.close().await.map_err(CommandError::from)
    }
}

fn refused(what: &str, error: &CommandError) -> Fact {
    // As the store would keep it, so that what is applied and what is replayed are the same.
    let detail = redact::redact(&error.message).into_owned();
    Fact::Refused { what: what.to_owned(), code: error.code.name().to_owned(), detail }
}

/// What is known of a target the moment it is added: nothing, until there is a connection to it.
fn health_of_new_target(command: &Command) -> Option<Fact> {
    let Command::AddTarget { target, kind: TargetKind::Ssh, .. } = command else {
        return None;
    };
    let detail = Some("this version keeps ssh targets but does not connect to them".to_owned());
    Some(Fact::TargetHealth { target: target.clone(), health: Health::Down, detail })
}

fn call(intent: Intent) -> Call {
    let Intent::Notify { runtime, nudge_seq, kind, message, .. } = intent;
    Call { runtime, nudge_seq, kind, message }
}
