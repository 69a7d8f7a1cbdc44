//! The plugin that `agtmux setup claude` puts into Claude Code: JavaScript inside the agent, which asks here for something to do.
//!
//! It connects from the very process of its agent, so the kernel says whose it is; nothing that it says of itself is asked for that,
//! and what an agent starts is not the agent. It waits in a request that is answered when there is an order, or after a while. What
//! comes of an order is told in a request of its own. As long as it waits, messages go through it ([`door`]).

mod desk;
mod door;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agtmux_agents::setup::claude_plugin;
use agtmux_core::id::{ProcessKey, RuntimeId};
use agtmux_wire::plugin::{Answer, REQUEST_LIMIT, Wait, Waited};
use axum::extract::{ConnectInfo, DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use tokio::net::UnixListener;
use tokio::time::{Instant, timeout, timeout_at};

use self::desk::Desk;
use self::door::PluginDoor;
use crate::daemon::Handle;
use crate::daemon::doors::{Door, Opened};
use crate::daemon::roster::Member;
use crate::error::CommandError;
use crate::peer::Peer;

/// The agent that this is about.
const AGENT: &str = "claude";

/// How long a request waits for an order. Claude Code gives up on one after thirty seconds.
const HOLD: Duration = Duration::from_secs(20);

/// How long no request may wait before the plugin counts as gone.
const ABSENCE: Duration = Duration::from_secs(5);

/// How many loads of the plugin are remembered that another one has followed, for each agent.
const FORMER: usize = 8;

/// The plugins that are there.
struct Plugins {
    handle: Handle,
    is_on: bool,
    seats: Mutex<BTreeMap<RuntimeId, Seat>>,
}

/// The plugin of one agent.
struct Seat {
    instance: String,
    former: Vec<String>,
    desk: Arc<Desk>,
    door: Arc<dyn Door>,
    /// The door is open for as long as this is kept.
    opened: Option<Opened>,
}

/// Serves plugins until the task is dropped. Where they are off each is told that nothing will ever be asked of it.
///
/// # Errors
/// Fails only when the listener does.
pub async fn serve(listener: UnixListener, handle: Handle, is_on: bool) -> Result<(), CommandError> {
    let plugins = Arc::new(Plugins { handle, is_on, seats: Mutex::default() });
    let router = Router::new()
        .route("/wait", post(wait))
        .route("/answer", post(answer))
        .layer(DefaultBodyLimit::max(REQUEST_LIMIT))
        .with_state(plugins);
    let service = router.into_make_service_with_connect_info::<Peer>();
    axum::serve(listener, service).await.map_err(CommandError::internal)
}

async fn wait(
    State(plugins): State<Arc<Plugins>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Json(wait): Json<Wait>,
) -> Result<Json<Waited>, StatusCode> {
    let process = process_of(&peer)?;
    let stop = Waited { order: None, stop: true };
    if !plugins.is_on || wait.protocol != claude_plugin::PROTOCOL || !claude_plugin::is_tried(&wait.version) {
        tracing::debug!(version = wait.version, protocol = wait.protocol, "a plugin is not used");
        return Ok(Json(stop));
    }
    let until = Instant::now() + HOLD;
    let Ok(member) = timeout_at(until, plugins.member(process)).await else {
        return Ok(Json(Waited::default()));
    };
    let Some(desk) = plugins.seat(&member, wait.instance) else { return Ok(Json(stop)) };
    let _present = desk.attend();
    Ok(Json(Waited { order: timeout_at(until, desk.next()).await.ok(), stop: false }))
}

async fn answer(
    State(plugins): State<Arc<Plugins>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Json(answer): Json<Answer>,
) -> Result<StatusCode, StatusCode> {
    let process = process_of(&peer)?;
    let desk = plugins.desk(process, &answer.instance).ok_or(StatusCode::NOT_FOUND)?;
    desk.settle(answer.number, answer.reply);
    Ok(StatusCode::NO_CONTENT)
}

/// The process that has connected. An agent's plugin runs in the agent's own process, and its tools do not.
fn process_of(peer: &Peer) -> Result<ProcessKey, StatusCode> {
    let lineage = peer.lineage().map_err(|_gone| StatusCode::FORBIDDEN)?;
    lineage.first().copied().filter(|_| peer.is_same_user()).ok_or(StatusCode::FORBIDDEN)
}

impl Plugins {
    /// Waits until the agent of a process is known.
    async fn member(&self, process: ProcessKey) -> Arc<Member> {
        let mut roster = self.handle.roster();
        loop {
            let found = roster.borrow_and_update().values().find(|member| is_of(member, process)).cloned();
            match found {
                Some(member) => return member,
                // Without a daemon nobody is answered any more.
                None if roster.changed().await.is_err() => return std::future::pending().await,
                None => {}
            }
        }
    }

    /// Where a load of the plugin gets its orders; none if another one has followed it. Its door is open from now on.
    fn seat(self: &Arc<Self>, member: &Member, instance: String) -> Option<Arc<Desk>> {
        let doors = Arc::clone(self.handle.doors());
        let mut seats = self.locked();
        let mut former = Vec::new();
        if let Some(seat) = seats.get_mut(&member.runtime) {
            if seat.former.contains(&instance) {
                return None;
            }
            if seat.instance == instance {
                // What it refused once is no reason to refuse the next.
                if !doors.is_open(&member.runtime, &seat.door) {
                    seat.opened = None;
                    seat.opened = Some(doors.open(member.runtime.clone(), Arc::clone(&seat.door)));
                }
                return Some(Arc::clone(&seat.desk));
            }
            former = std::mem::take(&mut seat.former);
            former.push(std::mem::take(&mut seat.instance));
            former.drain(..former.len().saturating_sub(FORMER));
        }
        let desk = Arc::new(Desk::default());
        let door: Arc<dyn Door> = Arc::new(PluginDoor {
            runtime: member.runtime.clone(),
            desk: Arc::clone(&desk),
            handle: self.handle.clone(),
        });
        let opened = Some(doors.open(member.runtime.clone(), Arc::clone(&door)));
        tracing::debug!(runtime = %member.runtime, "Claude's plugin is there");
        seats.insert(member.runtime.clone(), Seat { instance, former, desk: Arc::clone(&desk), door, opened });
        tokio::spawn(Arc::clone(self).watch(member.runtime.clone(), Arc::clone(&desk)));
        Some(desk)
    }

    /// Takes the seat away when nobody has waited there for a while.
    async fn watch(self: Arc<Self>, runtime: RuntimeId, desk: Arc<Desk>) {
        let mut present = desk.present();
        loop {
            // The sender lives as long as the desk.
            present.wait_for(|present| *present == 0).await.ok();
            if timeout(ABSENCE, present.wait_for(|present| *present > 0)).await.is_err() {
                break;
            }
        }
        let mut seats = self.locked();
        if seats.get(&runtime).is_some_and(|seat| Arc::ptr_eq(&seat.desk, &desk)) {
            seats.remove(&runtime);
            tracing::debug!(%runtime, "Claude's plugin is gone");
        }
    }

    /// The desk of a process's plugin, if this load of it waits or has waited just now.
    fn desk(&self, process: ProcessKey, instance: &str) -> Option<Arc<Desk>> {
        let member = self.handle.roster().borrow().values().find(|member| is_of(member, process)).cloned()?;
        let seats = self.locked();
        let seat = seats.get(&member.runtime).filter(|seat| seat.instance == instance)?;
        Some(Arc::clone(&seat.desk))
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<RuntimeId, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_of(member: &Member, process: ProcessKey) -> bool {
    member.process == process && member.agent.as_str() == AGENT
}
