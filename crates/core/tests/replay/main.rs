//! The domain, taught by examples: each `.jsonl` beside this file is a short log, each `.snap` what came of it.
//!
//! Read `a_turn.jsonl` and `a_turn.snap` first. A bug report becomes one more file here.

#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "a test may fail, and need not be fast")]

mod render;
mod script;

use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact};
use agtmux_core::time::Timestamp;
use script::Script;

macro_rules! replays {
    ($($name:ident),* $(,)?) => {
        const ALL: &[&str] = &[$(stringify!($name)),*];
        $(#[test]
        fn $name() {
            replay(stringify!($name), include_str!(concat!(stringify!($name), ".jsonl")));
        })*
    };
}

replays! {
    a_turn,
    acknowledged_and_seen,
    another_boot,
    answer_bounces,
    answered_and_still_shown,
    approval_then_crash,
    background_work,
    busy_detail,
    checkpoint,
    completed_ages,
    contradiction,
    declared_need,
    dialog_after_failure,
    dialog_comes_again,
    dialog_without_turn,
    duplicate,
    error_outlives_idle,
    expired_falls_back,
    expired_question_leaves_doubt,
    facts_of_no_use,
    forward_format,
    found_on_the_screen,
    garbage,
    guess_after_silence,
    guess_fills_silence,
    idle_after_completed,
    interrupted,
    late_stop,
    late_tool_after_end,
    named,
    need_declared_again,
    needs_testing,
    nested_pane_hint,
    newest_word_wins,
    next_question,
    out_of_order,
    over_and_not_how,
    overtaken_question,
    pane_reused,
    pending_bind,
    person_answered,
    policy_change,
    queued_turn,
    redraw,
    remote_claim,
    restart_replay,
    screen_sees_what_hooks_miss,
    server_restart,
    settled,
    shown_late,
    source_clock_backwards,
    stale_both_ways,
    still_shown,
    still_so,
    suspended,
    target_down,
    target_removed,
    two_sources_one_question,
    wall_clock_set_back,
    withdrawn,
    working_without_turn,
}

/// A log without a test would teach nothing.
#[test]
fn every_file_is_replayed() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replay");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    files.sort();
    assert_eq!(files, ALL);
}

fn replay(name: &str, text: &str) {
    let mut engine = Engine::new();
    let mut script = Script::default();
    let mut log: Vec<Event> = Vec::new();
    let mut rendered = String::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('#') {
            rendered.push_str(&format!("{line}\n"));
            continue;
        }
        let events = script.events(line, &engine);
        let dispositions: Vec<_> = events.iter().filter_map(|event| engine.apply(event).disposition).collect();
        log.extend(events);
        rendered.push_str(&render::line(line, &engine, &dispositions));
    }
    rendered.push_str(&render::ending(&engine));

    check_that_state_is_a_function_of_the_log(&log, &engine);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(".");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, rendered));
}

fn check_that_state_is_a_function_of_the_log(log: &[Event], live: &Engine) {
    let mut again = Engine::new();
    for (applied, event) in log.iter().enumerate() {
        let stored = serde_json::to_string(again.state()).unwrap();
        let restored = Engine::restore(serde_json::from_str(&stored).unwrap());
        assert_eq!(restored.state(), again.state(), "the stored state reads back");
        check_that_it_ends_alike(restored, &log[applied..], live);
        check_that_a_checkpoint_is_a_base(&again, &log[applied..]);
        again.apply(event);
    }
    assert_eq!(again.state(), live.state(), "a second replay gives the same state");
    assert_eq!(again.outbox(), live.outbox());
    assert_eq!(again.next_deadline(), live.next_deadline());
}

fn check_that_it_ends_alike(mut from: Engine, tail: &[Event], live: &Engine) {
    for event in tail {
        from.apply(event);
    }
    assert_eq!(from.state(), live.state(), "snapshot and tail give the state of the whole log");
    assert_eq!(from.outbox(), live.outbox());
    assert_eq!(from.next_deadline(), live.next_deadline());
}

/// A log whose beginning was replaced by a checkpoint means what the whole log means.
fn check_that_a_checkpoint_is_a_base(at: &Engine, tail: &[Event]) {
    let checkpoint = Event {
        v: FORMAT,
        seq: at.state().seq,
        at: Timestamp::default(),
        fact: Fact::Checkpoint { state: Box::new(at.state().clone()) },
    };
    let mut pruned = Engine::new();
    pruned.apply(&checkpoint);
    assert_eq!(pruned.state(), at.state());
    let mut whole = at.clone();
    for event in tail {
        assert_eq!(pruned.apply(event), whole.apply(event));
    }
    assert_eq!(pruned.state(), whole.state());
}
