//! What agents write into their panes: markers, OSC sequences and titles, read from the pane's stream.

use serde_json::Value;

use crate::common::{FakeAgent, TestEnvironment, wait_for};

/// An agent whose stream is being read.
fn heard_agent(environment: &TestEnvironment, name: &str) -> FakeAgent {
    let agent = environment.agent(name);
    let tmux = environment.tmux();
    wait_for("the pane's stream to be read", || match tmux.format(&agent.pane, "#{pane_pipe}").as_str() {
        "1" => Ok(()),
        other => Err(format!("pane_pipe is {other:?}")),
    });
    agent
}

fn summary(pane: &Value) -> String {
    let text = |key: &str| pane[key].as_str().unwrap_or("-").to_owned();
    format!("{}/{} by {} ({})", text("state"), text("reason_code"), text("source"), text("confidence"))
}

#[track_caller]
fn wait_for_summary(environment: &TestEnvironment, agent: &FakeAgent, wanted: &str) {
    environment.wait_for_pane(&agent.pane, wanted, |pane| summary(pane) == wanted);
}

/// F1: nobody has to have a window open for a marker to be seen.
#[test]
fn a_marker_is_a_signal() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = heard_agent(&environment, "claude");
    agent.tell(r"printf '%s\n' '--<[schmux:needs_input:Which port?]>--'");
    wait_for_summary(&environment, &agent, "waiting_input/question by marker (medium)");
    assert_eq!(environment.pane(&agent.pane).unwrap()["attention"]["message"], "Which port?");
    // Cut in two, coloured, and with a gap that is drawn by a cursor move.
    agent.tell(r"printf '\033[1m--<[schmux:comp'; printf 'leted:All\033[1Cdone]>--\033[0m\n'");
    wait_for_summary(&environment, &agent, "completed/turn_done by marker (medium)");
    agent.tell(r"printf '\033]777;notify;working;\007'");
    wait_for_summary(&environment, &agent, "running/turn_active by marker (medium)");
    // No state of that name, and not alone on its line: seen, told of, and no signal.
    agent.tell(r"printf '%s\n' '--<[schmux:sleeping:zzz]>--' 'see --<[schmux:error:x]>-- there'");
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    wait_for("both near misses to be told of", || {
        let explained = environment.agtmux(&["explain", &runtime]).ok().stdout;
        if explained.contains("schmux:error:x") { Ok(()) } else { Err(explained) }
    });
    assert_eq!(summary(&environment.pane(&agent.pane).unwrap()), "running/turn_active by marker (medium)");
}

/// Codex says in OSC 7501 what its hooks do not: that it was interrupted, refused or failed.
#[test]
fn codex_says_its_status_itself() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = heard_agent(&environment, "codex");
    let say = |status: &str| agent.tell(&format!(r"printf '\033]7501;state={status}\033\\'"));
    for (status, wanted) in [
        ("working:app=codex", "running/turn_active by osc (medium)"),
        ("blocked:app=codex:kind=permission", "waiting_approval/approval by osc (medium)"),
        ("working:app=codex", "running/turn_active by osc (medium)"),
        ("idle:app=codex", "idle/at_composer by osc (medium)"),
        ("working:app=codex", "running/turn_active by osc (medium)"),
        ("error:app=codex", "error/reported by osc (medium)"),
    ] {
        say(status);
        wait_for_summary(&environment, &agent, wanted);
    }
}

/// Gemini's title carries its state, and is shown as it is.
#[test]
fn geminis_title_carries_its_state() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = heard_agent(&environment, "gemini");
    let title = |text: &str| agent.tell(&format!(r"printf '\033]0;{text}   \007'"));
    title("✋  Action Required (work)");
    wait_for_summary(&environment, &agent, "waiting_approval/approval by osc (medium)");
    title("✦  Working… (work)");
    wait_for_summary(&environment, &agent, "running/turn_active by osc (medium)");
    title("◇  Ready (work)");
    let pane = environment.wait_for_pane(&agent.pane, "the title", |pane| pane["title"] == "◇  Ready (work)");
    assert_eq!(pane["state"], "idle", "{pane:#}");
}

fn nudges(environment: &TestEnvironment, agent: &FakeAgent) -> u64 {
    environment.pane(&agent.pane).unwrap()["attention"]["nudge_seq"].as_u64().unwrap()
}

/// How often the log has a marker with this message.
fn heard(environment: &TestEnvironment, message: &str) -> usize {
    let events = environment.agtmux(&["events", "--json"]).ok().json();
    events["items"].as_array().unwrap().iter().filter(|event| event.to_string().contains(message)).count()
}

/// F5, F6, F7: what was printed before the daemon came, or while it was down, is found once and in its order, and what is
/// known calls nobody again.
#[test]
fn markers_are_found_that_nobody_heard() {
    let environment = TestEnvironment::with_tmux();
    let agent = environment.unseen_agent("claude");
    agent.pid();
    agent.tell(r"printf '%s\n' '--<[schmux:completed:First]>--' '--<[schmux:needs_input:Which port?]>--'");
    wait_for("the markers to be printed", || {
        let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &agent.pane]);
        if shown.contains("Which port?") { Ok(()) } else { Err(shown) }
    });
    environment.start_daemon();
    wait_for_summary(&environment, &agent, "waiting_input/question by marker (medium)");
    assert_eq!((nudges(&environment, &agent), heard(&environment, "First")), (2, 1));
    environment.agtmux(&["daemon", "stop"]).ok();
    agent.tell(r"printf '%s\n' '--<[schmux:working:]>--' '--<[schmux:needs_input:Which port?]>--'");
    wait_for("the markers to be printed again", || {
        let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &agent.pane]);
        if shown.matches("Which port?").count() == 2 { Ok(()) } else { Err(shown) }
    });
    environment.start_daemon();
    environment.wait_for_pane(&agent.pane, "the second call", |pane| pane["attention"]["nudge_seq"] == 3);
    assert_eq!(summary(&environment.pane(&agent.pane).unwrap()), "waiting_input/question by marker (medium)");
    environment.kill_daemon();
    environment.start_daemon();
    // What is drawn again is no news to the new daemon; what is said after it shows that it was read.
    agent.tell(r"printf '\033[H\033[2J\033[3J%s\n' '--<[schmux:needs_input:Which port?]>--'");
    agent.tell(r"printf '%s\n' '--<[schmux:needs_testing:Try it]>--'");
    wait_for_summary(&environment, &agent, "waiting_input/needs_testing by marker (medium)");
    assert_eq!((nudges(&environment, &agent), heard(&environment, "First")), (4, 1));
}

/// A marker in the same words counts again once a turn has begun since. One that is only drawn again does not.
#[test]
fn a_marker_is_said_again_after_the_next_turn() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = heard_agent(&environment, "claude");
    agent.tell(r"printf '\033[H\033[2J\033[3J%s\n' '--<[schmux:needs_input:Which port?]>--'");
    wait_for_summary(&environment, &agent, "waiting_input/question by marker (medium)");
    agent.signal("running").ok();
    wait_for_summary(&environment, &agent, "running/turn_active by signal (high)");
    agent.tell(r"printf '\033[H%s\n' '--<[schmux:needs_input:Which port?]>--'");
    agent.tell(r"printf '%s\n' 'thinking about ports' '--<[schmux:needs_input:Which port?]>--'");
    wait_for_summary(&environment, &agent, "waiting_input/question by marker (medium)");
    assert_eq!((nudges(&environment, &agent), heard(&environment, "Which port?")), (2, 2));
}

/// Somebody else's `pipe-pane` is left alone, and the screen is read instead.
#[test]
fn a_pane_whose_pipe_is_taken_is_read_off_its_screen() {
    let environment = TestEnvironment::with_tmux();
    let agent = environment.unseen_agent("claude");
    agent.pid();
    environment.tmux().run(&["pipe-pane", "-t", &agent.pane, "cat >/dev/null"]);
    environment.start_daemon();
    let found = environment.wait_for_pane(&agent.pane, "the agent", |pane| pane["agent"] == "claude");
    agent.tell(r"printf '%s\n' '--<[schmux:needs_input:Which port?]>--'");
    wait_for_summary(&environment, &agent, "waiting_input/question by marker (medium)");
    let runtime = found["runtime_id"].as_str().unwrap();
    wait_for("both to say so", || {
        let explained = environment.agtmux(&["explain", runtime]).ok().stdout;
        let doctor = environment.agtmux(&["doctor"]).stdout;
        if [&explained, &doctor].iter().all(|text| text.contains("pipe-pane")) {
            Ok(())
        } else {
            Err(explained + &doctor)
        }
    });
    agent.tell(r"printf '%s\n' '--<[schmux:working:]>--'");
    wait_for_summary(&environment, &agent, "running/turn_active by marker (medium)");
    assert_eq!(heard(&environment, "Which port?"), 1);
}
