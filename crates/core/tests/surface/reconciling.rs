//! From what observers see to what happened: each difference once, and nothing when there is none.

use agtmux_core::ending::Exit;
use agtmux_core::event::{Ending, Fact, Place, ProcessState};
use agtmux_core::id::{AgentId, BootId, PaneId, PaneKey, ProcessKey, SessionId, TargetName, WindowId};
use agtmux_core::reconcile::{self, AgentSight, FoundAgent, PaneSight, ServerSight};

use crate::world::{World, server};

fn server_sight(panes: &[(u32, &str)]) -> ServerSight {
    let pane = |(n, session): &(u32, &str)| PaneSight {
        pane: PaneId(*n),
        place: Place {
            session: SessionId(0),
            session_name: (*session).to_owned(),
            window: WindowId(0),
            window_index: 0,
            window_name: "work".to_owned(),
            pane_index: *n,
        },
        looked_at: false,
    };
    ServerSight {
        server: server("local"),
        target: TargetName::local(),
        socket: "/tmp/tmux".to_owned(),
        pid: 1,
        start_time: 0,
        panes: panes.iter().map(pane).collect(),
    }
}

fn agent_sight(n: u32, found: Option<(&str, u32, ProcessState)>) -> AgentSight {
    let found = found.map(|(agent, pid, state)| FoundAgent {
        agent: AgentId::new(agent),
        boot: BootId::new("boot"),
        process: ProcessKey { pid, start: 1 },
        state,
        why: "comm".to_owned(),
    });
    AgentSight { pane: PaneKey { server: server("local"), pane: PaneId(n) }, found, left: None }
}

impl World {
    /// Applies what a look at the server means, looks again, and gives what the first look meant.
    fn look(&mut self, sight: &ServerSight) -> Vec<Fact> {
        let facts = reconcile::server(&self.engine, sight);
        facts.iter().cloned().for_each(|fact| self.apply(fact));
        assert_eq!(reconcile::server(&self.engine, sight), [], "a second look finds nothing new");
        facts
    }

    fn look_for_agents(&mut self, sights: &[AgentSight]) -> Vec<Fact> {
        let facts = reconcile::agents(&self.engine, sights);
        facts.iter().cloned().for_each(|fact| self.apply(fact));
        assert_eq!(reconcile::agents(&self.engine, sights), [], "a second look finds nothing new");
        facts
    }
}

#[test]
fn panes_come_move_and_go() {
    let mut world = World::default();
    assert_eq!(world.look(&server_sight(&[(1, "main"), (2, "main")])).len(), 3, "the server and two panes");
    assert_eq!(world.look(&server_sight(&[(1, "renamed"), (2, "main")])).len(), 1);
    assert!(matches!(world.look(&server_sight(&[(1, "renamed")]))[..], [Fact::PaneGone { .. }]));
    let gone = reconcile::no_server(&world.engine, &TargetName::local(), "/tmp/tmux");
    assert!(matches!(gone[..], [Fact::ServerGone { .. }]));
    assert_eq!(reconcile::no_server(&world.engine, &TargetName::local(), "/tmp/other"), []);
}

#[test]
fn agents_come_stop_change_and_go() {
    let mut world = World::default();
    world.look(&server_sight(&[(1, "main")]));
    let (alive, stopped) = (ProcessState::Alive, ProcessState::Stopped);
    let started = world.look_for_agents(&[agent_sight(1, Some(("claude", 100, alive)))]);
    assert!(matches!(started[..], [Fact::RuntimeStarted { .. }]));
    let suspended = world.look_for_agents(&[agent_sight(1, Some(("claude", 100, stopped)))]);
    assert!(matches!(suspended[..], [Fact::ProcessChanged { process: ProcessState::Stopped, .. }]));
    let replaced = world.look_for_agents(&[agent_sight(1, Some(("codex", 200, stopped)))]);
    assert!(matches!(replaced[..], [Fact::RuntimeStarted { .. }, Fact::ProcessChanged { .. }]));
    let ended = world.look_for_agents(&[agent_sight(1, None)]);
    assert!(matches!(ended[..], [Fact::RuntimeEnded { how: Ending::Exited, .. }]));
    assert_eq!(world.look_for_agents(&[agent_sight(9, Some(("codex", 300, alive)))]), [], "no such pane");
}

/// A look that wrongly found nobody does no lasting harm: the same process is the same runtime.
#[test]
fn an_agent_found_again_is_the_same() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "waiting_input");
    let process = world.engine.state().topology.live(&runtime).unwrap().process;
    world.look_for_agents(&[agent_sight(1, None)]);
    world.look_for_agents(&[agent_sight(1, Some(("claude", process.pid, ProcessState::Alive)))]);
    let again = world.engine.state().topology.living_in(&pane).unwrap();
    assert_eq!((&again.id, again.epoch), (&runtime, 1));
    assert_eq!(again.attention.nudge_seq, 1, "and does not call again");
}

#[test]
fn a_finished_turn_in_front_of_somebody_is_seen() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "completed");
    let mut sight = server_sight(&[(1, "main")]);
    world.look(&sight);
    sight.panes[0].looked_at = true;
    assert_eq!(world.look(&sight), [Fact::Seen { runtime }]);
}

/// How a process ended counts for the agent that it was, and for no other.
#[test]
fn a_crash_is_told_of_the_one_who_crashed() {
    let (killed, alive) = (Exit::Signal(9), ProcessState::Alive);
    for (pid, wanted) in [(100, Ending::Crashed), (101, Ending::Exited)] {
        let mut world = World::default();
        world.look(&server_sight(&[(1, "main")]));
        world.look_for_agents(&[agent_sight(1, Some(("codex", 100, alive)))]);
        let left = Some((ProcessKey { pid, start: 1 }, killed));
        let ended = world.look_for_agents(&[AgentSight { left, ..agent_sight(1, None) }]);
        assert!(matches!(ended[..], [Fact::RuntimeEnded { how, .. }] if how == wanted), "{ended:?}");
    }
    let mut world = World::default();
    world.look(&server_sight(&[(1, "main")]));
    world.look_for_agents(&[agent_sight(1, Some(("codex", 100, alive)))]);
    let left = Some((ProcessKey { pid: 100, start: 1 }, killed));
    let still_there = AgentSight { left, ..agent_sight(1, Some(("codex", 100, alive))) };
    assert_eq!(world.look_for_agents(&[still_there]), [], "it is there");
    let next = world.look_for_agents(&[AgentSight { left, ..agent_sight(1, Some(("codex", 200, alive))) }]);
    let [Fact::RuntimeEnded { how: Ending::Crashed, .. }, Fact::RuntimeStarted { .. }] = &next[..] else {
        panic!("{next:?}")
    };
}
