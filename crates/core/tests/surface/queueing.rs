//! Who waits for a person, in which order.

use agtmux_core::command::Command;
use agtmux_core::queue::waiting;

use crate::world::World;

fn queue(world: &World) -> Vec<(String, &'static str)> {
    let agent = |id: &str| id.to_owned();
    waiting(&world.engine).iter().map(|waits| (agent(waits.runtime.agent.as_str()), waits.kind.name())).collect()
}

fn named(queue: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
    queue.iter().map(|(agent, kind)| ((*agent).to_owned(), *kind)).collect()
}

#[test]
fn what_stops_an_agent_comes_first_then_who_waits_longest() {
    let mut world = World::default();
    let states = [
        ("done", "completed"),
        ("asks", "waiting_input"),
        ("busy", "running"),
        ("first", "waiting_approval"),
        ("second", "waiting_approval"),
        ("broken", "error"),
        ("calm", "idle"),
    ];
    for (n, (agent, state)) in (0..).zip(states) {
        let pane = world.pane("local", "main", (n, "w"), n);
        world.agent(&pane, agent, state);
    }
    let expected =
        [("broken", "error"), ("first", "approval"), ("second", "approval"), ("asks", "input"), ("done", "completion")];
    assert_eq!(queue(&world), named(&expected));
}

#[test]
fn who_was_acknowledged_waits_no_more_until_it_calls_anew() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "w"), 0);
    let runtime = world.agent(&pane, "asks", "waiting_input");
    let other = world.pane("local", "main", (1, "w"), 1);
    let done = world.agent(&other, "done", "completed");
    assert_eq!(queue(&world), named(&[("asks", "input"), ("done", "completion")]));
    for runtime in [&runtime, &done] {
        let facts = world.engine.decide(&Command::Acknowledge { runtime: runtime.clone(), nudge_seq: None }).unwrap();
        facts.into_iter().for_each(|fact| world.apply(fact));
    }
    assert_eq!(queue(&world), []);
    world.say(&runtime, "running");
    world.say(&runtime, "waiting_approval");
    assert_eq!(queue(&world), named(&[("asks", "approval")]));
}
