//! What a person tries first with messages, by the short commands and in the order in which they would; and every field that scripts
//! find in the answers.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Composer, FakeAgent, Run, TestEnvironment, wait_for};

/// Two seconds stand for the two minutes after which a text is old.
const QUICK: &str = "[mail]\ninput_poll_interval = 1\ninput_stale_timeout = 2\n";

/// An agent that keeps no text of the person's itself.
const NO_STASH: &str = "contract = 1\nextends = \"claude\"\naside = { clear = [\"C-e\", \"C-u\"] }\n";

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    environment.configure(QUICK);
    environment.start_daemon();
    environment
}

/// Runs `sm` in another terminal.
fn sm(environment: &TestEnvironment, arguments: &[&str]) -> Run {
    let long = environment.command(&[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_sm"));
    command.env_clear().envs(long.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Run::of(command.args(arguments).current_dir(environment.root()))
}

/// The same in the pane of an agent, as it runs its own commands.
fn sm_in(environment: &TestEnvironment, agent: &Composer, arguments: &[&str]) -> Run {
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    Run::of(environment.command(&[&["sm"], arguments].concat()).env("AGTMUX_RUNTIME_ID", runtime))
}

#[track_caller]
fn is(environment: &TestEnvironment, id: &str, status: &str) -> Value {
    wait_for(&format!("{id} to be {status}"), || {
        let run = sm(environment, &["show", id, "--json"]);
        if run.code == 0 && run.json()["status"] == status { Ok(run.json()) } else { Err(format!("{run:#?}")) }
    })
}

/// A turn is under way, and it shows.
#[track_caller]
fn works(environment: &TestEnvironment, agent: &Composer) {
    agent.tell("busy");
    environment.wait_for_pane(&agent.pane, "the agent to work", |pane| pane["state"] == "running");
}

#[track_caller]
fn shows(environment: &TestEnvironment, agent: &Composer, text: &str) {
    wait_for(&format!("the composer to show {text:?}"), || {
        let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &agent.pane]);
        if shown.contains(&format!("❯\u{a0}{text}")) { Ok(()) } else { Err(shown) }
    });
}

#[test]
fn somebody_writes_to_an_agent_that_works_and_it_reads_that_when_it_is_done() {
    let environment = environment();
    let agent = Composer::start(&environment, "tells=1");
    sm(&environment, &["name", &agent.pane, "recipient"]).ok();
    works(&environment, &agent);
    let sent = sm(&environment, &["send", "recipient", "test message", "--id", "test"]).ok();
    assert_eq!(sent.stdout, "test queued for recipient: number 1, waiting for idle\n");
    assert_eq!(agent.submitted(), Vec::<String>::new());
    agent.tell("idle");
    is(&environment, "test", "confirmed");
    let submitted = agent.submitted();
    assert_eq!(submitted.len(), 1, "{submitted:#?}");
    assert!(submitted[0].starts_with("[Input from: ") && submitted[0].ends_with("]\ntest message"), "{submitted:#?}");
}

/// F63: the text is gone while the message is read, and is there again when the agent has answered; it is never sent.
#[test]
fn somebody_types_and_leaves_and_finds_the_text_again_after_a_message() {
    let environment = TestEnvironment::with_tmux();
    environment.configure(QUICK);
    fs::create_dir_all(environment.path("config/agtmux/agents")).unwrap();
    fs::write(environment.path("config/agtmux/agents/mine.toml"), NO_STASH).unwrap();
    environment.start_daemon();
    let agent = Composer::start(&environment, "tells=1 works=1");
    environment.tmux().run(&["send-keys", "-t", &agent.pane, "-l", "I am typing something"]);
    shows(&environment, &agent, "I am typing something");
    sm(&environment, &["send", &agent.pane, "interrupting message", "--id", "between"]).ok();
    let message = is(&environment, "between", "confirmed");
    let tries = message["steps"].as_array().unwrap().iter().filter(|step| step["to"] == "leased").count();
    assert!(tries > 1, "it did not wait for the text to be old: {message:#}");
    agent.tell("idle");
    shows(&environment, &agent, "I am typing something");
    let submitted = agent.submitted();
    assert_eq!(submitted.len(), 1, "{submitted:#?}");
    assert!(submitted[0].ends_with("]\ninterrupting message"), "{submitted:#?}");
}

#[test]
fn somebody_writes_to_an_agent_that_works_on_and_the_message_is_dropped_in_time() {
    let environment = environment();
    let agent = Composer::start(&environment, "tells=1");
    works(&environment, &agent);
    let sent = sm(&environment, &["send", &agent.pane, "urgent", "--timeout", "1s", "--id", "late"]).ok();
    assert!(sent.stdout.starts_with("late queued for "), "{sent:#?}");
    let late = is(&environment, "late", "expired");
    assert_eq!(late["verdict"], "not_delivered", "{late:#}");
    let log = environment.agtmux(&["events", "--limit", "1000"]).ok().stdout;
    assert!(log.lines().any(|line| line.contains("late from ") && line.contains(" is expired: ")), "{log}");
    // It does not come after all. What is written later does.
    agent.tell("idle");
    sm(&environment, &["send", &agent.pane, "in time", "--id", "early"]).ok();
    is(&environment, "early", "confirmed");
    assert_eq!(agent.submitted().len(), 1, "{:#?}", agent.submitted());
}

#[test]
fn an_agent_asks_to_be_reminded_and_is_when_it_rests() {
    let environment = environment();
    let agent = Composer::start(&environment, "tells=1");
    works(&environment, &agent);
    let asked = sm_in(&environment, &agent, &["remind", "1s", "test reminder", "--json"]).ok().json();
    let id = asked["id"].as_str().unwrap();
    wait_for("its time to come", || {
        let now = sm(&environment, &["show", id, "--json"]).ok().json();
        if now["estimated_delivery"] == "waiting_for_idle" { Ok(()) } else { Err(format!("{now:#}")) }
    });
    assert_eq!(agent.submitted(), Vec::<String>::new());
    agent.tell("idle");
    is(&environment, id, "confirmed");
    let submitted = agent.submitted();
    assert_eq!(submitted.len(), 1, "{submitted:#?}");
    let (head, text) = submitted[0].split_once('\n').unwrap();
    assert!(head.starts_with("[sm] Scheduled reminder: id="), "{head}");
    assert_eq!(text, "test reminder");
}

/// All fields of an object by name.
#[track_caller]
fn has(document: &Value, fields: &[&str]) {
    let found: BTreeSet<_> = document.as_object().unwrap().keys().map(String::as_str).collect();
    let missing: Vec<_> = fields.iter().filter(|field| !found.contains(*field)).collect();
    assert!(missing.is_empty(), "{missing:?} are missing in {document:#}");
}

/// Asks by HTTP, as a person.
#[track_caller]
fn post(environment: &TestEnvironment, path: &str, body: &Value) -> Value {
    environment.request("POST", path, body.to_string().as_bytes()).unwrap().json()
}

/// The same, as an agent.
#[track_caller]
fn post_as(environment: &TestEnvironment, agent: &FakeAgent, path: &str, body: &Value) -> Value {
    let socket = environment.socket();
    let line = "curl -s --unix-socket";
    let ask =
        format!("{line} {} -H content-type:application/json -d '{body}' http://localhost{path}", socket.display());
    agent.run(&ask).ok().json()
}

/// What scripts read, by whichever door they come.
#[test]
fn every_field_of_every_answer_has_its_name() {
    let environment = environment();
    let agent = Composer::start(&environment, "tells=1");
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    let architect = environment.agent("codex");
    sm(&environment, &["name", &architect.pane, "architect"]).ok();
    let asker = environment.pane(&architect.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    works(&environment, &agent);

    // A message is accepted: by the command, by a person's script, by an agent's.
    let answered = ["status", "queue_position", "delivery_mode", "estimated_delivery"];
    let wish = |mode: &str, sender: Option<&str>| {
        let mut wish = json!({
            "text": "message content", "delivery_mode": mode, "timeout_seconds": 300,
            "notify_on_delivery": true, "notify_after_seconds": 300,
        });
        if let Some(sender) = sender {
            wish["sender_session_id"] = sender.into();
        }
        wish
    };
    let path = format!("/sessions/{runtime}/send");
    let by_command = sm(&environment, &["send", &agent.pane, "first", "--json"]).ok().json();
    let by_script = post(&environment, &path, &wish("important", None));
    let by_agent = post_as(&environment, &architect, &path, &wish("sequential", Some(&asker)));
    for (answer, position, mode, waits) in [
        (&by_command, 1, "sequential", "waiting_for_idle"),
        (&by_script, 1, "important", "waiting_for_the_turn_to_end"),
        (&by_agent, 3, "sequential", "waiting_for_idle"),
    ] {
        has(answer, &answered);
        let said = (&answer["status"], &answer["queue_position"], &answer["delivery_mode"]);
        assert_eq!(said, (&json!("queued"), &json!(position), &json!(mode)), "{answer:#}");
        assert_eq!(answer["estimated_delivery"], waits, "{answer:#}");
    }
    // Nobody sends in another's name, and who sends in their own is known.
    assert_eq!(by_agent["from"], json!({"name": "architect", "id": asker}), "{by_agent:#}");
    let forged = post(&environment, &path, &wish("sequential", Some(&asker)));
    assert_eq!(forged["error"]["code"], "E_NOT_ALLOWED", "{forged:#}");
    let forged = post_as(&environment, &architect, &path, &wish("sequential", Some(&runtime)));
    assert_eq!(forged["error"]["code"], "E_NOT_ALLOWED", "{forged:#}");

    // A slip of the pen sends nothing in a way that was not meant.
    for (path, mut wish) in [
        (path.as_str(), json!({"text": "stop"})),
        ("/v1/messages", json!({"to": runtime, "text": "stop"})),
        ("/v1/mailings", json!({"to": [runtime], "message": {"text": "stop"}})),
        ("/scheduler/remind", json!({"session_id": runtime, "delay_seconds": 1, "message": "stop"})),
    ] {
        wish["delivery_mod"] = "urgent".into();
        let refused = post(&environment, path, &wish);
        assert_eq!(refused["error"]["code"], "E_BAD_JSON", "{path}: {refused:#}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("`delivery_mod`"), "{path}: {refused:#}");
    }

    // What waits.
    let by_path = environment.get(&format!("/sessions/{runtime}/send-queue"));
    assert_eq!(sm(&environment, &["queue", &agent.pane, "--json"]).ok().json(), by_path);
    has(&by_path, &["session_id", "is_idle", "pending_count", "pending_messages", "saved_user_input"]);
    let said = (&by_path["session_id"], &by_path["is_idle"], &by_path["pending_count"], &by_path["saved_user_input"]);
    assert_eq!(said, (&json!(runtime), &json!(false), &json!(3), &Value::Null), "{by_path:#}");
    let pending = by_path["pending_messages"].as_array().unwrap();
    for message in pending {
        has(message, &["id", "sender", "queued_at", "timeout_at"]);
    }
    let last = &pending[2];
    assert_eq!((&last["id"], &last["sender"]), (&by_agent["id"], &json!("architect")), "{by_path:#}");
    let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!((time(&last["timeout_at"]) - time(&last["queued_at"])).get_seconds(), 300, "{by_path:#}");

    // A reminder.
    let wish = json!({"session_id": runtime, "delay_seconds": 300, "message": "check on engineer"});
    let reminder = post(&environment, "/scheduler/remind", &wish);
    has(&reminder, &["id", "status", "not_before", "category"]);
    assert_eq!((&reminder["status"], &reminder["category"]), (&json!("queued"), &json!("reminder")), "{reminder:#}");
    assert_eq!((time(&reminder["not_before"]) - time(&reminder["queued_at"])).get_seconds(), 300, "{reminder:#}");
}

/// What is urgent is answered when it is delivered, to one agent and to several alike.
#[test]
fn what_is_urgent_is_answered_when_it_is_delivered() {
    let environment = environment();
    let (one, other) = (Composer::start(&environment, "tells=1"), Composer::start(&environment, "tells=1"));
    let stop = ["STOP! critical issue", "--urgent", "--json"];
    let single = sm(&environment, &[&["send", &one.pane], &stop[..]].concat()).ok().json();
    let both = format!("{},{}", one.pane, other.pane);
    let several = sm(&environment, &[&["send", &both], &stop[..]].concat()).ok().json();
    let answers: Vec<_> = std::iter::once(&single).chain(several.as_array().unwrap()).collect();
    assert_eq!(answers.len(), 3, "{answers:#?}");
    for answer in answers {
        has(answer, &["status", "delivery_mode", "interrupted"]);
        let said = (&answer["status"], &answer["delivery_mode"], &answer["interrupted"]);
        assert_eq!(said, (&json!("delivered"), &json!("urgent"), &json!(false)), "{answer:#}");
    }
    assert_eq!((one.submitted().len(), other.submitted().len()), (2, 1));
}

/// Whichever way somebody looks: who wrote it, by which way it went, and on what evidence it counts as delivered. Also of a message that
/// the agent confirmed before its delivery was over.
#[test]
fn who_wrote_a_message_and_how_it_came_is_told_everywhere() {
    for (start, channel) in
        [(Composer::start as fn(&TestEnvironment, &str) -> Composer, "tmux"), (Composer::start_wrapped, "wrapper")]
    {
        let environment = environment();
        let agent = start(&environment, "tells=1");
        let architect = Composer::start(&environment, "tells=1");
        sm(&environment, &["name", &architect.pane, "architect"]).ok();
        let asker = environment.pane(&architect.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
        let from = json!({"name": "architect", "id": asker});
        sm_in(&environment, &architect, &["send", &agent.pane, "hello", "--id", "m1"]).ok();
        is(&environment, "m1", "confirmed");
        let shown = wait_for("the way to be known", || {
            let shown = sm(&environment, &["show", "m1", "--json"]).ok().json();
            if shown["channel"].is_null() { Err(format!("{shown:#}")) } else { Ok(shown) }
        });
        assert_eq!((&shown["from"], &shown["channel"]), (&from, &json!(channel)), "{shown:#}");
        assert_eq!(shown["steps"].as_array().unwrap().last().unwrap()["why"], "hook", "{shown:#}");
        let told = format!("from architect ({asker}) at ");
        let evidence = format!(", by {channel}, confirmed by its hook\n");
        for looked in [["sm", "inbox", &agent.pane], ["explain", &agent.pane, ""]] {
            let looked: Vec<_> = looked.into_iter().filter(|word| !word.is_empty()).collect();
            let text = environment.agtmux(&looked).ok().stdout;
            let line = text.lines().find(|line| line.contains("m1 ")).unwrap_or_default();
            assert!(line.contains(&told) && format!("{line}\n").ends_with(&evidence), "{looked:?}: {text}");
        }
        let explained = environment.agtmux(&["explain", &agent.pane, "--json"]).ok().json();
        assert_eq!(explained["last_message"]["from"], from, "{explained:#}");
        let audit = environment.agtmux(&["events", "--audit", "--json"]).ok().json();
        let item = audit["items"].as_array().unwrap().iter().rev().find(|item| item["outcome"] == "done").unwrap();
        assert_eq!(item["detail"], format!("mail m1 from architect ({asker})"), "{audit:#}");
        assert!(item["text"].as_str().unwrap().starts_with("submitted: "), "{audit:#}");
        let log = environment.agtmux(&["events", "--limit", "1000"]).ok().stdout;
        assert!(log.contains(&format!(" is submitted by {channel}, since ")), "{log}");
        assert!(log.contains("m1 from architect to ") && log.contains("m1 confirmed by its hook"), "{log}");
        let list = environment.get("/v1/messages?all=true");
        assert_eq!((&list["items"][0]["from"], &list["items"][0]["channel"]), (&from, &json!(channel)), "{list:#}");
    }
}
