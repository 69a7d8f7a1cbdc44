//! `agtmux wait`: returns when an agent is so, and not before.

use crate::common::{TestEnvironment, wait_for};

#[test]
fn a_wait_ends_when_the_agent_is_so() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("running 'looking for the leak'").ok();
    let what = environment.agtmux(&["sm", "what", &agent.pane]).ok().stdout;
    assert!(what.contains("is running (turn active): looking for the leak"), "{what}");

    let too_long = environment.agtmux(&["wait", &agent.pane, "--timeout", "200ms", "--json"]);
    assert_eq!((too_long.code, too_long.error()["code"].as_str()), (5, Some("E_TIMEOUT")), "{too_long:#?}");

    let arguments = ["wait", &agent.pane, "--until", "waiting_input,idle", "--timeout", "60s", "--json"];
    let waiting = environment.agtmux_in_background(&arguments);
    agent.signal("running 'nearly there'").ok();
    agent.signal("completed 'found it'").ok();
    let run = waiting.finish();
    assert_eq!((run.ok().json()["state"].as_str()), Some("completed"));

    agent.signal("running").ok();
    let waiting = environment.agtmux_in_background(&["sm", "wait", &agent.pane, "--timeout", "60s", "--json"]);
    environment.tmux().run(&["kill-pane", "-t", &agent.pane]);
    let run = waiting.finish();
    assert_eq!(run.code, 4, "{run:#?}");
    wait_for("nobody to be there", || {
        let gone = environment.agtmux(&["wait", &agent.pane, "--json"]);
        if gone.code == 4 { Ok(()) } else { Err(format!("{gone:?}")) }
    });
}
