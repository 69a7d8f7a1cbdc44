//! Messages that an agent is given by its own server: without a key, once, and typed instead where the server is of no use. The servers
//! are scripted; the real ones are in the lab.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};

use serde_json::{Value, json};

use crate::common::{Background, TestEnvironment, wait_for};
use crate::servers_of_agents::{Codex, codex, listened_to, opencode};

/// What the server is posted when it is to prompt its model.
const PROMPT: &str = "session-ses_1-prompt_async.json";

/// Why a message is not given that would have interrupted a question.
const WAITS: &str = "it waits for an answer";

/// An opencode at rest whose pane shows its one conversation.
struct Opencode {
    environment: TestEnvironment,
    pane: String,
    events: File,
}

impl Opencode {
    fn start() -> Self {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        let document = |name: &str, document: Value| fs::write(environment.path(name), document.to_string()).unwrap();
        document("session?limit=1000.json", json!([{"id": "ses_1", "title": "A title"}]));
        document("session-ses_1-message?limit=20.json", messages());
        let (pane, events) = opencode(&environment);
        environment.tmux().run(&["select-pane", "-t", &pane, "-T", "OC | A title"]);
        let mut opencode = Self { pane, events: listened_to(&events), environment };
        opencode.status("busy");
        opencode.expect("running");
        opencode.status("idle");
        opencode.expect("completed");
        opencode
    }

    fn say(&mut self, kind: &str, properties: &Value) {
        writeln!(self.events, "{}", json!({"type": kind, "properties": properties})).unwrap();
    }

    fn status(&mut self, status: &str) {
        self.say("session.status", &json!({"sessionID": "ses_1", "status": {"type": status}}));
    }

    #[track_caller]
    fn expect(&self, state: &str) {
        self.environment.wait_for_pane(&self.pane, state, |pane| pane["state"] == state);
    }

    #[track_caller]
    fn send(&self, id: &str) {
        self.environment.agtmux(&["sm", "send", &self.pane, "hello", "--id", id]).ok();
    }

    #[track_caller]
    fn wait_until(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        wait_until(&self.environment, id, what, is_so)
    }

    /// What the server was posted, once it was.
    #[track_caller]
    fn posted(&self) -> Value {
        wait_for("the server to be given something", || {
            let posted = fs::read_to_string(self.environment.path(PROMPT)).map_err(|error| error.to_string())?;
            serde_json::from_str(&posted).map_err(|error| format!("{error}: {posted}"))
        })
    }
}

/// What the server lists of the conversation.
fn messages() -> Value {
    let info = json!({"role": "user", "agent": "plan", "model": {"providerID": "p", "modelID": "m"}});
    json!([{"info": info, "parts": [{"type": "text", "text": "say hello"}]}])
}

#[track_caller]
fn wait_until(environment: &TestEnvironment, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    wait_for(what, || {
        let message = environment.agtmux(&["sm", "show", id, "--json"]).ok().json();
        if is_so(&message) { Ok(message) } else { Err(format!("{message:#}")) }
    })
}

fn steps(message: &Value) -> Vec<&str> {
    message["steps"].as_array().unwrap().iter().map(|step| step["to"].as_str().unwrap()).collect()
}

fn text_of(prompt: &Value) -> &str {
    prompt["parts"][0]["text"].as_str().unwrap()
}

fn has_step(message: &Value, why: &str) -> bool {
    message["steps"].as_array().unwrap().iter().any(|step| step["why"].as_str().unwrap().contains(why))
}

/// Whether it waits again, after a delivery was tried, for exactly this reason.
fn is_returned(message: &Value, why: &str) -> bool {
    let steps = message["steps"].as_array().unwrap();
    let is_tried = |step: &Value| step["to"] == "leased" || step["to"] == "started";
    steps.windows(2).any(|pair| is_tried(&pair[0]) && pair[1]["to"] == "queued" && pair[1]["why"] == why)
}

/// Given at the server, in the manner of the prompt before, and confirmed by what the server says stands in the person's place.
#[test]
fn opencode_is_given_a_message_by_its_server() {
    let mut opencode = Opencode::start();
    opencode.send("letter");
    let posted = opencode.posted();
    let text = text_of(&posted).to_owned();
    assert!(text.contains(" via sm send id=letter.") && text.ends_with("]\nhello"), "{text}");
    assert_eq!((&posted["agent"], &posted["model"]), (&"plan".into(), &json!({"providerID": "p", "modelID": "m"})));
    let submitted = opencode.wait_until("letter", "it to be submitted", |message| message["status"] == "submitted");
    assert_eq!(submitted["channel"], "server", "{submitted:#}");
    assert_eq!(submitted["channel_reason"], "opencode's server takes it without a key");
    // Neither what the model says nor what a file holds was given to it.
    let part = |message: &str, synthetic: bool| json!({"sessionID": "ses_1", "part": {"type": "text", "text": text, "messageID": message, "synthetic": synthetic}});
    let info = |id: &str, role: &str| json!({"sessionID": "ses_1", "info": {"id": id, "role": role}});
    opencode.say("message.updated", &info("msg_1", "assistant"));
    opencode.say("message.part.updated", &part("msg_1", false));
    opencode.say("message.updated", &info("msg_2", "user"));
    opencode.say("message.part.updated", &part("msg_2", true));
    opencode.status("busy");
    opencode.expect("running");
    let still = opencode.wait_until("letter", "it to be submitted", |_| true);
    assert_eq!(still["status"], "submitted", "{still:#}");
    opencode.say("message.part.updated", &part("msg_2", false));
    let confirmed = opencode.wait_until("letter", "it to be confirmed", |message| message["status"] == "confirmed");
    assert_eq!(
        (&confirmed["steps"].as_array().unwrap().last().unwrap()["why"], &confirmed["channel"]),
        (&"server".into(), &"server".into())
    );
}

/// A server that ends when it was given something leaves it open whether its model has it: it is not given it again (F54).
#[test]
fn what_a_server_that_dies_was_given_is_not_given_again() {
    let opencode = Opencode::start();
    fs::write(opencode.environment.path(&format!("{PROMPT}.dies")), "").unwrap();
    opencode.send("letter");
    let unconfirmed =
        opencode.wait_until("letter", "it to be unconfirmed", |message| message["status"] == "unconfirmed");
    assert!(has_step(&unconfirmed, "opencode's server was given it, and"), "{unconfirmed:#}");
    // Once, or this would be no JSON any more.
    assert!(text_of(&opencode.posted()).ends_with("hello"));
    assert_eq!(steps(&unconfirmed), ["queued", "leased", "started", "unconfirmed"]);
}

/// What the server refuses, its model surely has not: it is typed.
#[test]
fn what_a_server_refuses_is_typed() {
    let opencode = Opencode::start();
    fs::write(opencode.environment.path(PROMPT), "").unwrap();
    opencode.send("letter");
    let typed = "its screen shows none that takes text";
    let tried = opencode.wait_until("letter", "it to be typed", |message| {
        has_step(message, "opencode's server refused it: it answers 404 Not Found") && has_step(message, typed)
    });
    assert_ne!(tried["status"], "unconfirmed", "{tried:#}");
}

/// A server is given nothing while it says that a turn is under way, or where the pane does not show the conversation.
#[test]
fn a_server_is_given_nothing_out_of_turn() {
    let opencode = Opencode::start();
    let environment = &opencode.environment;
    fs::write(environment.path("session-status.json"), json!({"ses_1": {"type": "busy"}}).to_string()).unwrap();
    opencode.send("letter");
    opencode.wait_until("letter", "it to wait", |message| has_step(message, "server says that a turn is under way"));
    fs::write(environment.path("question.json"), json!([{"id": "que_1", "sessionID": "ses_1"}]).to_string()).unwrap();
    opencode.wait_until("letter", "it to wait", |message| has_step(message, "server says that it waits for an answer"));
    assert!(!environment.path(PROMPT).exists());
    environment.tmux().run(&["select-pane", "-t", &opencode.pane, "-T", "OpenCode"]);
    opencode
        .wait_until("letter", "it to be typed", |message| has_step(message, "its screen shows none that takes text"));
    assert!(!environment.path(PROMPT).exists());
}

/// What is urgent interrupts a turn, never a question: not even one that is asked after the server was looked at.
#[test]
fn opencode_is_not_interrupted_when_it_has_come_to_ask() {
    let opencode = Opencode::start();
    let environment = &opencode.environment;
    let document = |name: &str, document: Value| fs::write(environment.path(name), document.to_string()).unwrap();
    document("session-status.json", json!({"ses_1": {"type": "busy"}}));
    document("question.json", json!([{"id": "que_1", "sessionID": "ses_1"}]));
    document("question.json.once", json!([]));
    let send = ["sm", "send", &opencode.pane, "hello", "--id", "letter", "--urgent"];
    let sending = Background::start(&mut environment.command(&send));
    wait_for("it to wait", || {
        let shown = environment.agtmux(&["sm", "show", "letter", "--json"]);
        if shown.code == 0 && is_returned(&shown.json(), WAITS) { Ok(()) } else { Err(shown.stdout) }
    });
    assert!(!environment.path("session-ses_1-abort.json").exists(), "its question would be gone");
    assert!(!environment.path(PROMPT).exists());
    fs::remove_file(environment.path("question.json")).unwrap();
    fs::remove_file(environment.path("session-status.json")).unwrap();
    assert!(text_of(&opencode.posted()).ends_with("hello"));
    opencode.wait_until("letter", "it to be submitted", |message| message["status"] == "submitted");
    sending.finish().ok();
}

/// What a daemon that was killed has given to a server is looked for in the conversation by the next one (I2).
#[test]
fn the_next_daemon_finds_what_a_server_was_given() {
    let opencode = Opencode::start();
    let environment = &opencode.environment;
    fs::write(environment.path(&format!("{PROMPT}.hangs")), "").unwrap();
    opencode.send("letter");
    let posted = opencode.posted();
    environment.kill_daemon();
    let given = json!([{"info": {"role": "user"}, "parts": [{"type": "text", "text": text_of(&posted)}]}]);
    fs::write(environment.path("session?roots=true&limit=32.json"), json!([{"id": "ses_1"}]).to_string()).unwrap();
    fs::write(environment.path("session-ses_1-message?limit=20.json"), given.to_string()).unwrap();
    environment.start_daemon();
    let confirmed = opencode.wait_until("letter", "it to be confirmed", |message| message["status"] == "confirmed");
    assert_eq!(confirmed["steps"].as_array().unwrap().last().unwrap()["why"], "server", "{confirmed:#}");
    assert_eq!(opencode.posted(), posted, "it was given once");
}

/// A daemon that was started anew need not wait for something to happen in a conversation before it can give by the server.
#[test]
fn the_next_daemon_gives_by_the_server_at_once() {
    let opencode = Opencode::start();
    opencode.environment.kill_daemon();
    opencode.environment.start_daemon();
    opencode.send("letter");
    assert!(text_of(&opencode.posted()).ends_with("hello"));
    opencode.wait_until("letter", "it to be submitted", |message| message["channel"] == "server");
}

/// A turn of Codex that asks something is in progress too, and is not interrupted either.
#[test]
fn codex_is_not_interrupted_when_it_has_come_to_ask() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, thread, mut daemon, _server, _client) = codex_at_rest(&environment);
    let active = |flags: &[&str]| json!({"thread": {"id": thread, "status": {"type": "active", "activeFlags": flags}}});
    // Whoever sends something urgent waits for it.
    let send = ["sm", "send", &pane, "hello", "--id", "letter", "--urgent"];
    let sending = Background::start(&mut environment.command(&send));
    let look = daemon.asked("thread/read");
    daemon.answer(&look, &active(&[]));
    let turns = daemon.asked("thread/turns/list");
    daemon.answer(&turns, &json!({"data": [{"id": "u1", "status": "inProgress"}]}));
    let look = daemon.asked("thread/read");
    daemon.answer(&look, &active(&["waitingOnApproval"]));
    let look = daemon.asked("thread/read");
    wait_until(&environment, "letter", "it to wait", |message| is_returned(message, WAITS));
    daemon.answer(&look, &json!({"thread": {"id": thread, "status": {"type": "idle"}}}));
    let given = daemon.asked("turn/start");
    assert!(given["params"]["input"][0]["text"].as_str().unwrap().ends_with("]\nhello"), "{given}");
    daemon.answer(&given, &json!({}));
    wait_until(&environment, "letter", "it to be submitted", |message| message["status"] == "submitted");
    sending.finish().ok();
}

/// A Codex at rest. Gives its pane and its thread, and its server with both who are connected to it.
fn codex_at_rest(environment: &TestEnvironment) -> (String, String, Codex, UnixListener, Option<UnixStream>) {
    let (pane, server) = codex(environment);
    let (mut client, mut thread) = (None, String::new());
    let idle = json!({"type": "idle"});
    let mut daemon = Codex::connected(&server, &mut client);
    daemon.introduce(&mut thread, idle.clone());
    if client.is_none() {
        client = Some(server.accept().unwrap().0);
        daemon.say("thread/status/changed", &json!({"threadId": thread, "status": idle}));
    }
    environment.wait_for_pane(&pane, "it to be at rest", |pane| pane["state"] == "idle");
    (pane, thread, daemon, server, client)
}

/// Codex's server is given a turn under the delivery's id. When it is lost before it answers, nothing is given again; when it is back it
/// is asked what its thread holds (F54).
#[test]
fn codex_is_given_a_message_by_its_server_once() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, mut thread, mut daemon, server, mut client) = codex_at_rest(&environment);
    let idle = json!({"type": "idle"});
    environment.agtmux(&["sm", "send", &pane, "hello", "--id", "letter"]).ok();
    let look = daemon.asked("thread/read");
    daemon.answer(&look, &json!({"thread": {"id": thread, "status": {"type": "active", "activeFlags": []}}}));
    wait_until(&environment, "letter", "it to wait", |message| {
        has_step(message, "server says that a turn is under way")
    });
    let look = daemon.asked("thread/read");
    daemon.answer(&look, &json!({"thread": {"id": thread, "status": idle}}));
    let given = daemon.asked("turn/start")["params"].clone();
    assert_eq!((&given["threadId"], &given["input"][0]["type"]), (&thread.as_str().into(), &"text".into()));
    assert!(given["clientUserMessageId"].as_str().unwrap().starts_with("dl_"), "{given}");
    let text = given["input"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains(" via sm send id=letter.") && text.ends_with("]\nhello"), "{text}");
    drop(daemon);
    let mut daemon = Codex::connected(&server, &mut client);
    daemon.introduce(&mut thread, idle);
    let items = daemon.asked("thread/items/list");
    let item = |kind: &str| json!({"turnId": "u", "item": {"type": kind, "content": [{"type": "text", "text": text}]}});
    daemon.answer(&items, &json!({"data": [item("agentMessage")]}));
    wait_until(&environment, "letter", "it to be unconfirmed", |message| message["status"] == "unconfirmed");
    drop(daemon);
    let mut daemon = Codex::connected(&server, &mut client);
    daemon.introduce(&mut thread, json!({"type": "idle"}));
    let items = daemon.asked("thread/items/list");
    daemon.answer(&items, &json!({"data": [item("userMessage")]}));
    let confirmed =
        wait_until(&environment, "letter", "it to be confirmed", |message| message["status"] == "confirmed");
    let way = ["queued", "leased", "queued", "leased", "started", "unconfirmed", "confirmed"];
    assert_eq!(steps(&confirmed), way, "{confirmed:#}");
}
