//! `kill`: a signal for an agent, and what came of it.
//!
//! The signal goes to the agent's process group, as Ctrl-C at a terminal does, and never to the pane's own shell: whoever wants
//! the pane closed says so, and that comes last, when the agent is gone. What became of the agent is not assumed but waited for:
//! its end by the kernel, its state by the main loop.

use std::io::ErrorKind;
use std::time::Duration;

use agtmux_core::action::{AimedAt, Snapshot};
use agtmux_core::id::RuntimeId;
use agtmux_core::state::State;
use agtmux_tmux::act::{Acted, Guard, Mismatch, close_dead, guarded};
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::{Command, Plain, Script};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::kill::{KillOutcome, KillSignal, PaneClosing, Reached};
use tokio::time::{Instant, sleep_until, timeout};

use super::aim::{STALE_HINT, STEP_DEADLINE, missed, tmux_failed};
use super::{Done, Hands, Mark, mark};
use crate::error::CommandError;
use crate::platform;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The signal.
    pub signal: KillSignal,
    /// Whether the pane is closed too.
    pub close_pane: bool,
    /// How long to wait for what comes of it.
    pub wait: Duration,
}

/// What came of it.
pub struct Killed {
    /// What it was decided on.
    pub snapshot: Snapshot,
    /// Whom the signal reached.
    pub reached: Reached,
    /// What became of the agent.
    pub fate: Fate,
    /// What became of the pane, if it was to be closed.
    pub pane: Option<PaneClosing>,
    /// How long that took.
    pub took: Duration,
}

/// What became of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fate {
    /// In a word.
    pub outcome: KillOutcome,
    /// How it ended.
    pub ending: Option<&'static str>,
    /// Its state, if it lives.
    pub state: Option<State>,
}

/// An agent that stopped what it was doing may be about to end: it is given this long.
const PARTING: Duration = Duration::from_secs(1);

/// How long the main loop may take to see an end that the kernel has told of.
const NOTICED: Duration = Duration::from_secs(2);

/// How long a pane may take to go, or to show its shell again, once its agent is gone.
const SETTLING: Duration = Duration::from_secs(2);

/// Signals the agent of a snapshot and waits for what comes of it.
///
/// # Errors
/// Refused if the agent is not the one of the snapshot any more; nothing was signalled then.
pub async fn kill(hands: Hands, snapshot: Snapshot, order: Order) -> Result<Done<Killed>, CommandError> {
    let began = Instant::now();
    let aimed = snapshot.runtime.clone().ok_or_else(|| stale("no agent lives in that pane"))?;
    let mark = mark(&hands, &snapshot).await?;
    let reached = signal(&aimed, &mark, order.signal)?;
    let fate = watch(&hands, &aimed, order).await;
    let pane = match (order.close_pane, fate.outcome) {
        (false, _) => None,
        // The agent is gone, whatever becomes of its pane.
        (true, KillOutcome::Ended) => {
            Some(close(&hands, &snapshot, &mark).await.unwrap_or_else(|error| left_open(&error.message)))
        }
        (true, _) => Some(left_open("the agent has not ended")),
    };
    let result = describe(order.signal, reached, &aimed, &fate, pane.as_ref());
    let answer = Killed { snapshot, reached, fate, pane, took: began.elapsed() };
    Ok(Done { answer, result })
}

/// Sends the signal: to the agent's group, unless that is also the group of the pane's own process or of tmux.
fn signal(aimed: &AimedAt, mark: &Mark, signal: KillSignal) -> Result<Reached, CommandError> {
    let group_of = |pid: u32| platform::process_stat(pid).map(|stat| stat.pgid);
    let is_the_panes_own = aimed.process.pid == mark.guard.pane_pid;
    let shell = (!is_the_panes_own).then(|| group_of(mark.guard.pane_pid)).flatten();
    let spared: Vec<u32> = shell.into_iter().chain(group_of(mark.guard.server_pid)).collect();
    let ending = match signal {
        KillSignal::Int => platform::Ending::Interrupt,
        KillSignal::Term => platform::Ending::Terminate,
        KillSignal::Kill => platform::Ending::Kill,
    };
    match platform::signal_job(aimed.process.pid, aimed.process.start, &spared, ending) {
        Ok(platform::Reached::Group) => Ok(Reached::Group),
        Ok(platform::Reached::Process) => Ok(Reached::Process),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(stale(&format!("{} has ended", aimed.runtime))),
        Err(error) => Err(CommandError::internal(format!("cannot signal {}: {error}", aimed.runtime))),
    }
}

/// Waits until the agent has ended, or has stopped doing what it did, or the time is up.
async fn watch(hands: &Hands, aimed: &AimedAt, order: Order) -> Fate {
    let mut roster = hands.handle.roster();
    let ended = platform::wait_exit(aimed.process.pid, aimed.process.start);
    tokio::pin!(ended);
    let mut until = Instant::now() + order.wait;
    let mut changed_to = None;
    loop {
        let now_is = roster.borrow_and_update().get(&aimed.runtime).map(|member| member.verdict.state);
        let stopped = now_is.filter(|state| order.signal == KillSignal::Int && has_stopped(aimed.state, *state));
        if stopped.is_some() && changed_to.is_none() {
            until = until.min(Instant::now() + PARTING);
        }
        changed_to = stopped.or(changed_to);
        tokio::select! {
            () = &mut ended => {
                let ending = ending(hands, &aimed.runtime).await;
                return Fate { outcome: KillOutcome::Ended, ending, state: None };
            }
            changed = roster.changed() => if changed.is_err() { break },
            () = sleep_until(until) => break,
        }
    }
    let state = roster.borrow().get(&aimed.runtime).map(|member| member.verdict.state);
    let outcome = if changed_to.is_some() { KillOutcome::Interrupted } else { KillOutcome::StillRunning };
    Fate { outcome, ending: None, state }
}

/// Whether an agent no longer does what it did before.
fn has_stopped(before: State, now: State) -> bool {
    let is_busy = |state| matches!(state, State::Running | State::WaitingApproval | State::WaitingInput);
    is_busy(before) && !is_busy(now) && now != State::Unknown
}

/// How a runtime ended, as the log has it.
async fn ending(hands: &Hands, runtime: &RuntimeId) -> Option<&'static str> {
    let mut roster = hands.handle.roster();
    timeout(NOTICED, roster.wait_for(|roster| !roster.contains_key(runtime))).await.ok()?.ok()?;
    let runtime = runtime.clone();
    let look = move |world: &crate::daemon::world::World| {
        let known = world.engine.state().topology.runtimes.get(&runtime)?;
        known.ended.map(|(how, _)| how.name())
    };
    hands.handle.read(look).await.ok()?
}

/// Closes the pane of an agent that is gone, unless something else runs in it by now.
async fn close(hands: &Hands, snapshot: &Snapshot, mark: &Mark) -> Result<PaneClosing, CommandError> {
    let Mark { plain, guard } = mark;
    let until = Instant::now() + SETTLING;
    loop {
        let seen = match list::pane(plain, guard.pane, Detail::Full, STEP_DEADLINE).await {
            Ok(seen) => seen,
            Err(_gone) if !agtmux_tmux::server::is_alive(plain.socket()) => None,
            Err(error) => return Err(tmux_failed(&error)),
        };
        let Some(row) = seen else {
            return Ok(closed("it went with the agent"));
        };
        if row.pane_dead && close_dead(plain, guard, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))? {
            return Ok(closed("its process had ended"));
        }
        if row.pane_pid != guard.pane_pid {
            return Ok(left_open(&Mismatch::Respawned { pid: row.pane_pid }.to_string()));
        }
        if is_at_rest(row.pane_pid) && !is_inhabited(hands, snapshot).await {
            return close_if(plain, &Guard { command: row.command, ..guard.clone() }).await;
        }
        if Instant::now() >= until {
            let what = row.command.unwrap_or_else(|| "something".to_owned());
            return Ok(left_open(&format!("{what:?} runs in it")));
        }
        // The shell takes its terminal back a moment after its job is gone; nobody tells when.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether the first process of a pane has its terminal for itself.
fn is_at_rest(pane_pid: u32) -> bool {
    platform::process_stat(pane_pid).is_some_and(|stat| i64::from(stat.tpgid) == i64::from(stat.pgid))
}

async fn is_inhabited(hands: &Hands, snapshot: &Snapshot) -> bool {
    let pane = snapshot.pane.clone();
    let look = move |world: &crate::daemon::world::World| world.engine.state().topology.living_in(&pane).is_some();
    hands.handle.read(look).await.unwrap_or(true)
}

async fn close_if(plain: &Plain, guard: &Guard) -> Result<PaneClosing, CommandError> {
    let close = Script::from(&Command::new("kill-pane").target(guard.pane));
    match guarded(plain, guard, &close, &Script::new(), STEP_DEADLINE).await {
        Ok(Acted::Done(_)) => Ok(closed("the agent is gone and its pane closed")),
        Ok(Acted::Refused(Mismatch::PaneGone)) => Ok(closed("it went with the agent")),
        Ok(Acted::Refused(mismatch)) => Ok(left_open(&missed(&mismatch).message)),
        // The last pane of a server takes the server with it, before it can say so.
        Err(_) if !agtmux_tmux::server::is_alive(plain.socket()) => Ok(closed("it was the last of its server")),
        Err(error) => Err(tmux_failed(&error)),
    }
}

fn closed(how: &str) -> PaneClosing {
    PaneClosing { closed: true, detail: how.to_owned() }
}

fn left_open(why: &str) -> PaneClosing {
    PaneClosing { closed: false, detail: why.to_owned() }
}

fn stale(message: &str) -> CommandError {
    CommandError::new(ErrorCode::RuntimeStale, message).hint(STALE_HINT)
}

/// What came of it, for the log.
fn describe(signal: KillSignal, reached: Reached, aimed: &AimedAt, fate: &Fate, pane: Option<&PaneClosing>) -> String {
    let whom = match reached {
        Reached::Group => "group",
        Reached::Process => "process",
    };
    let became = match fate.outcome {
        KillOutcome::Ended => format!("ended ({})", fate.ending.unwrap_or("not seen yet")),
        KillOutcome::Interrupted | KillOutcome::StillRunning => {
            let state = fate.state.map_or("unknown", State::name);
            format!("lives, {} before and {state} after", aimed.state.name())
        }
    };
    let pane = pane.map_or(String::new(), |pane| match pane.closed {
        true => "; pane closed".to_owned(),
        false => format!("; pane left open: {}", pane.detail),
    });
    format!("{} to the {whom} of pid {}: {became}{pane}", signal.name(), aimed.process.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_was_busy_can_be_interrupted() {
        assert!(has_stopped(State::Running, State::Idle));
        assert!(has_stopped(State::WaitingApproval, State::Completed));
        assert!(has_stopped(State::Running, State::Error));
        assert!(!has_stopped(State::Idle, State::Idle));
        assert!(!has_stopped(State::Completed, State::Idle), "time did that");
        assert!(!has_stopped(State::Running, State::WaitingInput), "it asks on");
        assert!(!has_stopped(State::Running, State::Unknown), "nobody knows");
    }
}
