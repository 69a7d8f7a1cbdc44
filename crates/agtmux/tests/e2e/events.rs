//! `agtmux events`: the log as it can be read back.

use serde_json::Value;

use crate::common::{TestEnvironment, wait_for};

fn kinds(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

#[test]
fn the_log_is_read_in_pages_without_gap_or_repeat() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("running 'one'").ok();
    agent.signal("waiting_input 'two'").ok();
    let all = environment.agtmux(&["events", "--json", "--after", "0", "--limit", "1000"]).ok().json();
    assert_eq!(all["truncated"], false);
    let seen = kinds(&all);
    for kind in ["server_seen", "pane_placed", "runtime_started", "signal"] {
        assert!(seen.contains(&kind), "{kind} in {seen:?}");
    }
    let mut paged = Vec::new();
    let mut after = 0;
    loop {
        let page = environment.agtmux(&["events", "--json", "--after", &after.to_string(), "--limit", "3"]).ok().json();
        paged.extend(page["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()));
        after = page["next_after"].as_u64().unwrap();
        if page["truncated"] == false {
            break;
        }
    }
    let sequence: Vec<_> = all["items"].as_array().unwrap().iter().map(|item| item["seq"].as_u64().unwrap()).collect();
    assert_eq!(paged, sequence);
    assert!(sequence.is_sorted_by(|a, b| a < b), "{sequence:?}");

    let newest = environment.agtmux(&["events", "--limit", "2"]).ok().stdout;
    assert_eq!(newest.lines().count(), 2, "{newest}");
}

/// Time that passes is an event, and of no interest to a reader.
#[test]
fn ticks_are_shown_to_those_who_ask() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[state]\ncompleted_seconds = 1\n");
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("completed").ok();
    wait_for("time to pass", || {
        let all = environment.agtmux(&["events", "--json", "--limit", "1000", "--ticks"]).ok().json();
        if kinds(&all).contains(&"tick") { Ok(()) } else { Err(format!("{:?}", kinds(&all))) }
    });
    let quiet = environment.agtmux(&["events", "--json", "--limit", "1000"]).ok().json();
    assert!(kinds(&quiet).contains(&"signal") && !kinds(&quiet).contains(&"tick"), "{quiet:#}");
    // A script that asks the daemon itself gets what it always got.
    assert!(kinds(&environment.get("/v1/events?limit=1000")).contains(&"tick"));
}

/// What an agent said is found under the agent, also after it has gone.
#[test]
fn the_log_of_one_runtime() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let claude = environment.agent("claude");
    let codex = environment.agent("codex");
    claude.signal("running 'mine'").ok();
    codex.signal("running 'other'").ok();
    let runtime = environment.pane(&claude.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    let check = || {
        let log = environment.agtmux(&["events", "--runtime", &format!("runtime:{runtime}"), "--json"]).ok().json();
        let seen = kinds(&log);
        assert!(seen.contains(&"runtime_started") && seen.contains(&"signal"), "{log:#}");
        assert!(log["items"].as_array().unwrap().iter().all(|item| item["runtime_id"] == runtime), "{log:#}");
        assert!(!log.to_string().contains("other"), "{log:#}");
        log
    };
    check();
    claude.tell("exit");
    wait_for("claude to be gone", || environment.pane(&claude.pane).map_or(Ok(()), |pane| Err(format!("{pane:#}"))));
    assert!(kinds(&check()).contains(&"runtime_ended"));
}

#[test]
fn followers_see_new_events() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let follower = environment.agtmux_in_background(&["events", "--follow"]);
    let mut shown = String::new();
    let mut wait_for_text = |text: &str| {
        wait_for(&format!("the follower to show {text:?}"), || {
            shown.push_str(&follower.new_output());
            if shown.contains(text) { Ok(()) } else { Err(shown.clone()) }
        });
    };
    wait_for_text("claude runs in");
    agent.signal("error 'a new one'").ok();
    wait_for_text("a new one");
}
