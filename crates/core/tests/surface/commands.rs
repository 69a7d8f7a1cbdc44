//! Requests that are granted and requests that are refused, with the codes that programs rely on.

use crate::world::{World, signal};
use agtmux_core::command::Command;
use agtmux_core::event::{Ending, Fact, TargetKind};
use agtmux_core::id::{RuntimeId, TargetName};
use agtmux_core::policy::Policy;
use agtmux_core::signal::Signal;

fn world() -> (World, RuntimeId) {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "waiting_input");
    (world, runtime)
}

/// The refusal as programs and people see it, or the facts.
fn answer(world: &World, command: &Command) -> String {
    match world.engine.decide(command) {
        Ok(facts) => format!("{} fact", facts.len()),
        Err(refusal) => match refusal.hint {
            Some(hint) => format!("{}: {} ({hint})", refusal.code.name(), refusal.message),
            None => format!("{}: {}", refusal.code.name(), refusal.message),
        },
    }
}

fn add(name: &str) -> Command {
    Command::AddTarget { target: TargetName::new(name), kind: TargetKind::Ssh, connection: None }
}

fn remove(name: &str) -> Command {
    Command::RemoveTarget { target: TargetName::new(name) }
}

#[test]
fn target_names_are_checked() {
    let (mut world, _) = world();
    for good in ["a", "vm1", "0", "my-host.example_2", &"x".repeat(63)] {
        assert_eq!(answer(&world, &add(good)), "1 fact", "{good}");
    }
    for bad in ["", "-o", ".x", "Vm", "a b", "a/b", "a\n", "ä", "$(x)", &"x".repeat(64)] {
        assert!(answer(&world, &add(bad)).starts_with("E_BAD_NAME"), "{bad:?}");
    }
    insta::assert_snapshot!(answer(&world, &add("-oProxyCommand=x")), @r#"E_BAD_NAME: "-oProxyCommand=x" cannot name a target (1 to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit)"#);
    world.target("vm1");
    assert_eq!(answer(&world, &add("vm1")), "0 fact", "the same again is granted and changes nothing");
    insta::assert_snapshot!(answer(&world, &add("local")), @"E_TARGET_EXISTS: there is a target local with other settings (choose another name; `agtmux target list` shows how each is reached)");
}

#[test]
fn only_added_targets_can_be_removed() {
    let (mut world, _) = world();
    world.target("vm1");
    assert_eq!(answer(&world, &remove("vm1")), "1 fact");
    insta::assert_snapshot!(answer(&world, &remove("local")), @"E_PRECONDITION_FAILED: this host is always a target (only targets that were added can be removed)");
    insta::assert_snapshot!(answer(&world, &remove("vm2")), @r#"E_TARGET_NOT_FOUND: there is no target "vm2" (known: local, vm1)"#);
}

#[test]
fn signals_of_no_living_runtime_are_refused() {
    let (mut world, runtime) = world();
    let ingest = |target: &str, runtime: Option<&RuntimeId>| {
        Command::Ingest(Box::new(signal(TargetName::new(target), runtime.cloned(), 9, Signal::TurnStarted)))
    };
    assert_eq!(answer(&world, &ingest("local", Some(&runtime))), "1 fact");
    assert_eq!(answer(&world, &ingest("local", None)), "1 fact");
    insta::assert_snapshot!(answer(&world, &ingest("vm9", None)), @r#"E_TARGET_NOT_FOUND: there is no target "vm9" (known: local)"#);
    insta::assert_snapshot!(answer(&world, &ingest("local", Some(&RuntimeId::new("rt_x")))), @"E_RUNTIME_STALE: rt_x is not known (`agtmux list panes` shows the runtimes there are)");
    world.apply(Fact::RuntimeEnded { runtime: runtime.clone(), how: Ending::Exited });
    let refused = answer(&world, &ingest("local", Some(&runtime)));
    assert!(refused.starts_with(&format!("E_RUNTIME_STALE: {runtime} is over: exited (")), "{refused}");
}

#[test]
fn acknowledging_is_about_a_call_that_was_made() {
    let (world, runtime) = world();
    let ack = |nudge_seq| Command::Acknowledge { runtime: runtime.clone(), nudge_seq };
    assert_eq!(
        world.engine.decide(&ack(None)).unwrap(),
        [Fact::Acknowledged { runtime: runtime.clone(), nudge_seq: 1 }]
    );
    assert_eq!(answer(&world, &ack(Some(1))), "1 fact");
    assert!(answer(&world, &ack(Some(2))).starts_with("E_PRECONDITION_FAILED"));
}

#[test]
fn names_are_unique_among_the_living() {
    let (mut world, runtime) = world();
    let pane = world.pane("local", "main", (0, "work"), 2);
    let other = world.agent(&pane, "codex", "idle");
    let name =
        |runtime: &RuntimeId, name: &str| Command::Name { runtime: runtime.clone(), name: Some(name.to_owned()) };
    for bad in ["", "a b", "%1", "rt_1", "-d", "pane:x", "a/b"] {
        assert!(answer(&world, &name(&runtime, bad)).starts_with("E_BAD_NAME"), "{bad:?}");
    }
    world.apply(Fact::Named { runtime: runtime.clone(), name: Some("builder".to_owned()) });
    assert_eq!(answer(&world, &name(&runtime, "builder")), "1 fact");
    assert!(answer(&world, &name(&other, "builder")).starts_with("E_NAME_TAKEN"));
    world.apply(Fact::RuntimeEnded { runtime, how: Ending::Exited });
    assert_eq!(answer(&world, &name(&other, "builder")), "1 fact");
}

/// A session id stays with the runtime that had it first, is a reference while that lives, and gives way to a name.
#[test]
fn a_session_id_is_of_one_runtime() {
    let (mut world, runtime) = world();
    let pane = world.pane("local", "main", (0, "work"), 2);
    let other = world.agent(&pane, "codex", "idle");
    let command = |runtime: &RuntimeId| Command::Session { runtime: runtime.clone(), session: "s-1".to_owned() };
    let meant = |world: &World| world.engine.resolve_ref("s-1").map(|found| found.runtime.unwrap());
    assert_eq!(meant(&world).unwrap_err().code(), "E_REF_NOT_FOUND");
    assert_eq!(answer(&world, &command(&runtime)), "1 fact");
    world.apply(Fact::Session { runtime: runtime.clone(), session: "s-1".to_owned() });
    assert_eq!(meant(&world).unwrap(), runtime);
    assert_eq!(
        (answer(&world, &command(&runtime)), answer(&world, &command(&other))),
        ("0 fact".into(), "0 fact".into())
    );
    world.apply(Fact::Named { runtime: other.clone(), name: Some("s-1".to_owned()) });
    assert_eq!(meant(&world).unwrap(), other);
    world.apply(Fact::Named { runtime: other.clone(), name: None });
    world.apply(Fact::RuntimeEnded { runtime, how: Ending::Exited });
    assert!(meant(&world).unwrap_err().hint().unwrap().contains("is over: exited"));
    assert_eq!(answer(&world, &command(&other)), "1 fact");
}

#[test]
fn policies_are_taken_as_they_are() {
    let (world, _) = world();
    let policy = Policy::default();
    assert_eq!(world.engine.decide(&Command::SetPolicy(policy.clone())).unwrap(), [Fact::PolicySet { policy }]);
}
