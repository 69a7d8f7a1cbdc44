//! Messages that the plugin inside an agent submits: without a key, beside whatever stands in the composer, once, and only by the plugin
//! of that very process. The plugin is scripted; the real one is in the lab.

use std::sync::mpsc::channel;
use std::thread::spawn;

use serde_json::{Value, json};

use crate::common::plugin::{VERSION, post, waiting};
use crate::common::{Background, Composer, TestEnvironment, wait_for};

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment
}

fn show(environment: &TestEnvironment, id: &str) -> Value {
    environment.agtmux(&["sm", "show", id, "--json"]).ok().json()
}

#[track_caller]
fn send(environment: &TestEnvironment, composer: &Composer, id: &str) {
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", id]).ok();
}

/// Waits until a message is confirmed and it is known how it got there: the agent's hook may say so first.
#[track_caller]
fn confirmed(environment: &TestEnvironment, id: &str) -> Value {
    becomes(environment, id, "confirmed");
    wait_for(&format!("the way of {id}"), || {
        let message = show(environment, id);
        if message["channel"].is_null() { Err(format!("{message:#}")) } else { Ok(message) }
    })
}

#[track_caller]
fn becomes(environment: &TestEnvironment, id: &str, status: &str) -> Value {
    wait_for(&format!("{id} to be {status}"), || {
        let message = show(environment, id);
        if message["status"] == status { Ok(message) } else { Err(format!("{message:#}")) }
    })
}

/// Sends messages until one of them goes through the plugin, which may take a moment to be there.
#[track_caller]
fn plugged(environment: &TestEnvironment, composer: &Composer) {
    let mut number = 0;
    wait_for("a message to go through the plugin", || {
        number += 1;
        let id = format!("ready{number}");
        send(environment, composer, &id);
        let message = confirmed(environment, &id);
        if is_plugged(&message) { Ok(()) } else { Err(format!("{message:#}")) }
    });
}

fn is_plugged(message: &Value) -> bool {
    let reason = message["channel_reason"].as_str().unwrap_or_default();
    message["channel"] == "server" && reason.contains("Claude's plugin")
}

/// How often a message was submitted.
fn times(composer: &Composer, id: &str) -> usize {
    composer.submitted().iter().filter(|text| text.contains(&format!("id={id}."))).count()
}

#[test]
fn a_message_goes_beside_what_somebody_has_left_and_without_a_key() {
    let environment = environment();
    let composer = Composer::start(&environment, "plugin=1 tells=1");
    plugged(&environment, &composer);
    let typed = composer.read().len();
    environment.tmux().run(&["send-keys", "-t", &composer.pane, "-l", "half a thought"]);
    wait_for("the text to be there", || {
        let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &composer.pane]);
        if shown.contains("half a thought") { Ok(()) } else { Err(shown) }
    });
    send(&environment, &composer, "m1");
    let message = confirmed(&environment, "m1");
    assert!(is_plugged(&message), "{message:#}");
    assert_eq!(times(&composer, "m1"), 1);
    assert_eq!(&composer.read()[typed..], b"half a thought", "nothing else was typed");
}

/// Nothing is submitted into a dialog, and none is answered (F6).
#[test]
fn a_dialog_is_waited_for() {
    let environment = environment();
    let composer = Composer::start(&environment, "plugin=1 tells=1");
    plugged(&environment, &composer);
    composer.tell("dialog");
    send(&environment, &composer, "m1");
    wait_for("the message to wait", || {
        let message = show(&environment, "m1");
        let waits = message["status"] == "queued" && message["estimated_delivery"] != Value::Null;
        if waits { Ok(()) } else { Err(format!("{message:#}")) }
    });
    assert_eq!((times(&composer, "m1"), composer.answered()), (0, 0));
    composer.tell("idle");
    let message = confirmed(&environment, "m1");
    assert!(is_plugged(&message), "{message:#}");
    assert_eq!((times(&composer, "m1"), composer.answered()), (1, 0));
}

/// A plugin in a version that nobody tried, one that is switched off, and a process that the agent started are given nothing: the
/// messages are typed.
#[test]
fn without_a_plugin_that_counts_messages_are_typed() {
    for (manners, config) in
        [("plugin=3 tells=1", ""), ("plugin=4 tells=1", ""), ("plugin=1 tells=1", "[agents.claude]\nplugin = false\n")]
    {
        let environment = TestEnvironment::with_tmux();
        environment.configure(config);
        environment.start_daemon();
        let composer = Composer::start(&environment, manners);
        for id in ["m1", "m2"] {
            send(&environment, &composer, id);
            let message = confirmed(&environment, id);
            assert_eq!(message["channel"], "tmux", "{manners}: {message:#}");
            assert_eq!(times(&composer, id), 1);
        }
    }
}

/// Whoever is not the agent's own process gets no orders and answers none.
#[test]
fn a_stranger_is_no_plugin() {
    let environment = environment();
    let composer = Composer::start(&environment, "plugin=2 tells=1");
    let socket = environment.socket().with_extension("plugin");
    let (waited, orders) = channel();
    let stranger = socket.clone();
    spawn(move || waited.send(post(&stranger, "/wait", &waiting(VERSION)).unwrap()).unwrap());
    send(&environment, &composer, "m1");
    wait_for("the plugin to keep the message", || (composer.kept() == 1).then_some(()).ok_or("not yet"));
    let reply = json!({ "is": "entered", "text": "hello" });
    let answer = json!({ "instance": "load-1", "number": 2, "reply": reply });
    assert_eq!(post(&socket, "/answer", &answer).unwrap().0, 404);
    assert_eq!(post(&socket, "/wait", &json!({})).unwrap().0, 422);
    if let Ok((status, waited)) = orders.try_recv() {
        assert_eq!((status, &waited["order"]), (200, &Value::Null), "{waited}");
    }
    composer.tell("release");
    becomes(&environment, "m1", "confirmed");
    assert_eq!(times(&composer, "m1"), 1);
}

/// The daemon is killed when the plugin has a message and has not said what came of it. It is not given again, and what the agent's hook
/// says in the end counts (I2, I25).
#[test]
fn what_a_plugin_may_have_submitted_is_not_given_again() {
    let environment = environment();
    let composer = Composer::start(&environment, "plugin=2 tells=1");
    send(&environment, &composer, "m1");
    wait_for("the plugin to keep the message", || (composer.kept() == 1).then_some(()).ok_or("not yet"));
    environment.kill_daemon();
    environment.start_daemon();
    becomes(&environment, "m1", "unconfirmed");
    composer.tell("release");
    becomes(&environment, "m1", "confirmed");
    assert_eq!(times(&composer, "m1"), 1);
}

/// A plugin that finds another daemon goes on as before.
#[test]
fn another_daemon_finds_the_plugin() {
    let environment = environment();
    let composer = Composer::start(&environment, "plugin=1 tells=1");
    plugged(&environment, &composer);
    environment.kill_daemon();
    environment.start_daemon();
    let waiting: Background =
        environment.agtmux_in_background(&["sm", "send", &composer.pane, "hello", "--id", "m1", "--wait", "60s"]);
    waiting.finish().ok();
    assert_eq!(times(&composer, "m1"), 1);
    plugged(&environment, &composer);
}
