//! Which conversation is gone on with.

use agtmux_core::event::{Ending, Fact};
use agtmux_core::id::RuntimeId;

use crate::world::World;

fn named(world: &mut World, runtime: &RuntimeId, name: &str, conversation: &str) {
    world.apply(Fact::Named { runtime: runtime.clone(), name: Some(name.to_owned()) });
    let conversation = conversation.to_owned();
    world.apply(Fact::Conversation { runtime: runtime.clone(), conversation, cwd: Some("/w".to_owned()) });
}

fn end(world: &mut World, runtime: &RuntimeId) {
    world.apply(Fact::RuntimeEnded { runtime: runtime.clone(), how: Ending::Exited });
}

/// The conversation and the name that a text gives, or why not.
fn answer(world: &World, text: &str) -> String {
    match world.engine.resumable(text) {
        Ok(Some(found)) => format!(
            "{} {} in {} as {}",
            found.agent,
            found.conversation.id,
            found.conversation.cwd.unwrap_or_default(),
            found.name.unwrap_or_default()
        ),
        Ok(None) => "nothing".to_owned(),
        Err(refusal) => format!("{}: {refusal}", refusal.code.name()),
    }
}

#[test]
fn an_ended_agent_goes_on_by_id_name_or_conversation() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "idle");
    named(&mut world, &runtime, "api", "c-1");
    for text in [runtime.as_str(), "api", "c-1"] {
        assert!(answer(&world, text).starts_with("E_PRECONDITION_FAILED: rt_"), "{text} lives");
    }
    end(&mut world, &runtime);
    for text in [runtime.as_str(), &runtime.as_str()[..8], &format!("runtime:{runtime}"), "api", "c-1"] {
        assert_eq!(answer(&world, text), "claude c-1 in /w as api", "{text}");
    }
    assert_eq!(answer(&world, "c-2"), "nothing");
    assert_eq!(answer(&world, "rt_zzz"), "nothing");
}

/// Where an agent was is known also when its pane went with it.
#[test]
fn it_is_remembered_in_which_session_an_agent_was() {
    let mut world = World::default();
    let (first, second) = (world.pane("local", "main", (0, "work"), 1), world.pane("local", "docs", (0, "work"), 2));
    let (one, other) = (world.agent(&first, "claude", "idle"), world.agent(&second, "codex", "idle"));
    named(&mut world, &one, "api", "c-1");
    named(&mut world, &other, "web", "c-2");
    world.apply(Fact::RuntimeEnded { runtime: one, how: Ending::Exited });
    world.apply(Fact::PaneGone { pane: second });
    for (text, session) in [("api", "main"), ("web", "docs")] {
        let found = world.engine.resumable(text).unwrap().unwrap();
        assert_eq!(found.left.unwrap().session_name, session, "{text}");
    }
}

#[test]
fn the_newest_of_a_name_is_meant_and_the_name_is_taken_over_only_if_free() {
    let mut world = World::default();
    let (first, second) = (world.pane("local", "main", (0, "work"), 1), world.pane("local", "main", (1, "work"), 2));
    let old = world.agent(&first, "claude", "idle");
    named(&mut world, &old, "api", "c-1");
    end(&mut world, &old);
    let new = world.agent(&second, "codex", "idle");
    named(&mut world, &new, "api", "c-2");
    assert!(answer(&world, "api").starts_with("E_PRECONDITION_FAILED"), "the one that lives is meant");
    assert_eq!(answer(&world, "c-1"), "claude c-1 in /w as ", "the name belongs to another now");
    end(&mut world, &new);
    assert_eq!(answer(&world, "api"), "codex c-2 in /w as api");
}

#[test]
fn a_conversation_that_somebody_is_in_is_left_alone() {
    let mut world = World::default();
    let (first, second) = (world.pane("local", "main", (0, "work"), 1), world.pane("local", "main", (1, "work"), 2));
    let old = world.agent(&first, "claude", "idle");
    named(&mut world, &old, "api", "c-1");
    end(&mut world, &old);
    let new = world.agent(&second, "claude", "idle");
    named(&mut world, &new, "other", "c-1");
    for text in ["api", "c-1", old.as_str()] {
        assert!(answer(&world, text).contains("is still in that conversation"), "{text}");
    }
}

#[test]
fn without_a_conversation_there_is_nothing_to_go_on_with() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "idle");
    end(&mut world, &runtime);
    assert!(answer(&world, runtime.as_str()).contains("it is not known in which conversation"));
}
