//! Who may do what: people everything, agents only what they were granted (P2, U2).

use serde_json::{Value, json};

use crate::common::{FakeAgent, Run, TestEnvironment};

/// Has an agent ask the daemon for a snapshot, which is the beginning of every action.
fn ask(environment: &TestEnvironment, agent: &FakeAgent, how: &str, verb: &str, reference: &str) -> Value {
    post(environment, agent, how, "/v1/snapshots", &json!({ "verb": verb, "ref": reference }))
}

fn post(environment: &TestEnvironment, agent: &FakeAgent, how: &str, path: &str, body: &Value) -> Value {
    let socket = environment.socket();
    let answer: Run = agent.run(&format!(
        "{how} curl -s --unix-socket {} -H content-type:application/json -d '{body}' http://localhost{path}",
        socket.display()
    ));
    serde_json::from_str(&answer.ok().stdout).unwrap()
}

#[test]
fn an_agent_may_look_and_nothing_else() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (agent, other) = (environment.agent("claude"), environment.agent("codex"));
    other.signal("idle").ok();
    for verb in ["attach", "send", "kill", "approve", "deny"] {
        // Itself or another, agents do not reach into panes.
        for pane in [&agent.pane, &other.pane] {
            let refused = ask(&environment, &agent, "", verb, pane);
            assert_eq!(refused["error"]["code"], "E_NOT_ALLOWED", "{verb}: {refused}");
            let hint = refused["error"]["hint"].as_str().unwrap();
            assert!(hint.contains("agents_may") && hint.contains(verb), "{hint}");
        }
    }
    assert_eq!(ask(&environment, &agent, "", "view-output", &other.pane)["verb"], "view-output");
    let list = environment.agtmux(&["events", "--audit", "--json"]).ok().json();
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), 11);
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].clone();
    for item in items {
        assert_eq!((&item["actor"]["runtime_id"], &item["actor"]["known_by"]), (&runtime, &json!("ancestors")));
    }
}

#[test]
fn grants_of_the_configuration_count() {
    let environment = TestEnvironment::with_tmux();
    environment
        .configure("[policy]\nagents_may = [\"attach\"]\n[[policy.grant]]\nagent = \"claude\"\nmay = [\"send\"]\n");
    environment.start_daemon();
    let (claude, codex) = (environment.agent("claude"), environment.agent("codex"));
    codex.signal("idle").ok();
    for (agent, verb, expected) in [
        (&claude, "attach", None),
        (&codex, "attach", None),
        (&claude, "send", None),
        (&codex, "send", Some("E_NOT_ALLOWED")),
        (&claude, "kill", Some("E_NOT_ALLOWED")),
    ] {
        let answer = ask(&environment, agent, "", verb, &codex.pane);
        assert_eq!(answer["error"]["code"].as_str(), expected, "{verb}: {answer}");
    }
}

#[test]
fn a_verb_that_nobody_knows_is_an_error_of_the_configuration() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[policy]\nagents_may = [\"sned\"]\n");
    let run = environment.agtmux(&["daemon", "start"]);
    assert!(run.code != 0 && run.stderr.contains("unknown variant `sned`"), "{run:#?}");
}

/// A child that has left its ancestors behind is the agent's by the environment that it was started with.
#[test]
fn a_child_in_the_background_still_counts_as_the_agent() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent_with("claude", &[("AGTMUX_RUNTIME_ID", "rt_spawned")]);
    let answer = environment.path("answer");
    let orphan = environment.program(
        "orphan",
        &format!(
            "#!/bin/sh\n# Waits until whoever started it has ended.\nwhile [ \"$(ps -o ppid= -p $$ | tr -d ' ')\" = \"$1\" ]; do sleep 0.01; done\n\
             curl -s --unix-socket {} -H content-type:application/json -d '{}' http://localhost/v1/snapshots >{answer}.new\n\
             mv {answer}.new {answer}\n",
            environment.socket().display(),
            json!({ "verb": "send", "ref": agent.pane }),
            answer = answer.display()
        ),
    );
    agent.run(&format!("sh -c '{} $$ >/dev/null 2>&1 &'", orphan.display())).ok();
    let text = crate::common::wait_for("the orphan's answer", || std::fs::read_to_string(&answer));
    assert!(text.contains("E_NOT_ALLOWED"), "{text}");
    let list = environment.agtmux(&["events", "--audit", "--json"]).ok().json();
    let actor = &list["items"][0]["actor"];
    assert_eq!((&actor["runtime_id"], &actor["known_by"]), (&json!("rt_spawned"), &json!("environment")));
}

/// Nobody speaks for another agent, and a capability that nobody was given is worth nothing.
#[test]
fn agents_speak_for_themselves_alone() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (agent, other) = (environment.agent("claude"), environment.agent("codex"));
    other.signal("idle").ok();
    let runtime = |agent: &FakeAgent| {
        let pane = environment.pane(&agent.pane).unwrap();
        pane["runtime_id"].as_str().unwrap().to_owned()
    };
    let say = |body: &Value| post(&environment, &agent, "", "/v1/events", body);
    let spoofed = say(&json!({ "state": "error", "runtime_id": runtime(&other) }));
    assert_eq!(spoofed["error"]["code"], "E_NOT_ALLOWED", "{spoofed}");
    // The pane that an agent names is not believed either: its ancestors say which is its own.
    let own = say(&json!({ "state": "running", "pane_id": other.pane, "tmux_socket": environment.path("t") }));
    assert_eq!(own["runtime_id"], json!(runtime(&agent)), "{own}");
    assert_eq!(say(&json!({ "state": "running", "runtime_id": runtime(&agent) }))["status"], "bound");
    assert_eq!(environment.pane(&other.pane).unwrap()["state"], "idle");
    // Below an agent a capability is not needed, nor does a wrong one harm; elsewhere it is all there is.
    let wrong = "ab".repeat(32);
    assert_eq!(say(&json!({ "state": "running", "capability": wrong }))["status"], "bound");
    for capability in [wrong.as_str(), "", "not hexadecimal"] {
        let answer = environment.post_event(&json!({ "state": "error", "capability": capability }));
        assert_eq!(answer.code(), "E_NOT_ALLOWED", "{capability}");
    }
}
