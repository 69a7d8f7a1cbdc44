//! What agents and people do with `sm` besides sending one message to one agent.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use serde_json::Value;

use crate::common::{AGTMUX, Background, Composer, Run, TestEnvironment, wait_for};

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment
}

/// An agent with a composer and a name.
fn named(environment: &TestEnvironment, name: &str) -> Composer {
    let composer = Composer::start(environment, "tells=1");
    environment.agtmux(&["adopt", &composer.pane, "--name", name]).ok();
    composer
}

/// Runs `sm` as an agent does, out of the agent's own environment.
fn as_agent(environment: &TestEnvironment, agent: &Composer, arguments: &[&str]) -> Run {
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    let mut command = environment.command(&[&["sm"], arguments].concat());
    Run::of(command.env("AGTMUX_RUNTIME_ID", runtime))
}

#[track_caller]
fn wait_until(environment: &TestEnvironment, id: &str, status: &str) -> Value {
    wait_for(&format!("{id} to be {status}"), || {
        let run = environment.agtmux(&["sm", "show", id, "--json"]);
        if run.code == 0 && run.json()["status"] == status { Ok(run.json()) } else { Err(format!("{run:#?}")) }
    })
}

fn busy(environment: &TestEnvironment, composer: &Composer) {
    composer.tell("busy");
    environment.wait_for_pane(&composer.pane, "the agent to be busy", |pane| pane["state"] == "running");
}

fn ids(array: &Value) -> Vec<String> {
    let items = array.as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap_or("-").to_owned()).collect()
}

#[test]
fn several_agents_get_a_message_each_and_once() {
    let environment = environment();
    let (api, web) = (named(&environment, "api"), named(&environment, "web"));
    let send = ["sm", "send", "api,web", "main is red", "--id", "red", "--json", "--wait", "30s"];
    let sent = environment.agtmux(&send).ok().json();
    assert_eq!(ids(&sent).iter().collect::<BTreeSet<_>>().len(), 2, "{sent:#}");
    for (message, name) in sent.as_array().unwrap().iter().zip(["api", "web"]) {
        assert_eq!((&message["to"]["name"], &message["verdict"]), (&name.into(), &"confirmed".into()), "{sent:#}");
    }
    // Asked again, whoever is named in whatever way, it is the same messages.
    let again = ["sm", "send", "--to", "web", "--to", &api.pane, "main is red", "--id", "red", "--json"];
    let again = environment.agtmux(&again).ok().json();
    assert_eq!(ids(&again).into_iter().rev().collect::<Vec<_>>(), ids(&sent));
    for composer in [&api, &web] {
        let submitted = composer.submitted();
        assert_eq!(submitted.len(), 1, "{submitted:#?}");
        assert!(submitted[0].ends_with("\nmain is red"), "{submitted:#?}");
    }
    // Whoever cannot get it keeps it from nobody else, and is told of.
    let partly = environment.agtmux(&["sm", "send", "nobody,api,%999,api", "still red", "--json"]);
    assert_eq!(partly.code, 4, "{partly:#?}");
    let items = partly.json();
    assert_eq!(items.as_array().unwrap().len(), 3, "{items:#}");
    assert_eq!((&items[0]["to"], &items[0]["error"]["code"]), (&"nobody".into(), &"E_REF_NOT_FOUND".into()));
    assert_eq!(items[2]["error"]["code"], "E_REF_NOT_FOUND");
    wait_until(&environment, items[1]["id"].as_str().unwrap(), "confirmed");
    let words = environment.agtmux(&["sm", "send", "nobody,api", "red"]);
    assert!(words.stderr.contains("nobody: ") && words.stderr.contains("1 of 2 messages not accepted"), "{words:#?}");
    assert!(words.stdout.contains(" for api"), "{words:#?}");
}

/// The message that waits for an agent, once there is one.
#[track_caller]
fn pending(environment: &TestEnvironment, to: &str) -> String {
    wait_for("a message to wait", || {
        let queue = environment.agtmux(&["sm", "queue", to, "--json"]).ok().json();
        queue["pending_messages"][0]["id"].as_str().map(str::to_owned).ok_or_else(|| format!("{queue:#}"))
    })
}

/// Whoever waits for a message while the daemon ends goes on waiting for the very same one, which is not sent twice.
#[test]
fn who_waits_while_the_daemon_ends_goes_on_waiting() {
    let environment = environment();
    let (api, web) = (named(&environment, "api"), named(&environment, "web"));
    for (ends, word, words) in [
        ("kill", "busy", &["api", "one", "--wait", "60s"][..]),
        ("stop", "busy", &["api,web", "two", "--wait", "60s"]),
        ("kill", "dialog", &["api", "three", "--urgent"]),
        ("stop", "dialog", &["api,web", "four", "--urgent"]),
    ] {
        api.tell(word);
        let is_so = if word == "busy" { "running" } else { "waiting_approval" };
        environment.wait_for_pane(&api.pane, "the agent to be busy", |pane| pane["state"] == is_so);
        let before = api.submitted().len();
        let sending = environment.agtmux_in_background(&[&["sm", "send", "--json"], words].concat());
        let id = pending(&environment, "api");
        if ends == "kill" {
            environment.kill_daemon();
        } else {
            environment.agtmux(&["daemon", "stop"]).ok();
        }
        // Whoever asks next starts one, if that was not who waits.
        environment.agtmux(&["sm", "show", &id]).ok();
        api.tell("idle");
        let sent = sending.finish().ok().json();
        let message = if sent.is_array() { &sent[0] } else { &sent };
        assert_eq!(message["id"], id.as_str(), "{sent:#}");
        wait_until(&environment, &id, "confirmed");
        assert_eq!(api.submitted().len(), before + 1, "{:#?}", api.submitted());
    }
    assert_eq!(web.submitted().len(), 2, "{:#?}", web.submitted());
}

/// Reads what is asked for on a connection, and leaves it without an answer.
fn asked(daemon: &UnixListener) -> (UnixStream, Value) {
    let (client, _) = daemon.accept().unwrap();
    let mut request = BufReader::new(client.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        request.read_line(&mut line).unwrap();
        match line.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
            None if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    request.read_exact(&mut body).unwrap();
    (client, serde_json::from_slice(&body).unwrap())
}

/// Whoever gets no answer asks for the same again, and not for another: a message, messages, and a reminder.
#[test]
fn what_got_no_answer_is_asked_for_under_the_same_id() {
    let environment = TestEnvironment::new();
    let socket = environment.socket();
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let daemon = UnixListener::bind(&socket).unwrap();
    for (words, place) in [
        (&["send", "api", "hello"][..], "/id"),
        (&["send", "api,web", "hello"], "/message/id"),
        (&["remind", "api", "5m", "look"], "/id"),
        (&["remind", "api", "5m", "look", "--id", "chosen"], "/id"),
    ] {
        let asking = environment.agtmux_in_background(&[&["sm"], words].concat());
        let (lost, first) = asked(&daemon);
        drop(lost);
        let (mut client, second) = asked(&daemon);
        let error = r#"{"error":{"code":"E_USAGE","message":"enough"}}"#;
        write!(client, "HTTP/1.1 400 Bad Request\r\ncontent-length: {}\r\n\r\n{error}", error.len()).unwrap();
        assert_eq!(first, second, "{words:?}");
        let id = first.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("{words:?}: {first:#}"));
        assert!(id.starts_with("m_") || words.contains(&id), "{words:?}: {first:#}");
        assert!(asking.finish().stderr.contains("enough"));
    }
}

#[test]
fn a_reminder_that_is_asked_for_again_comes_once() {
    let environment = environment();
    named(&environment, "api");
    let remind = |text: &str| environment.agtmux(&["sm", "remind", "api", "1h", text, "--id", "later", "--json"]);
    let first = remind("look").ok().json();
    assert_eq!((&first["id"], &first["category"]), (&"later".into(), &"reminder".into()), "{first:#}");
    assert_eq!(remind("look").ok().json()["not_before"], first["not_before"]);
    let other = remind("look elsewhere");
    assert_eq!((other.code, other.error()["code"].as_str()), (4, Some("E_PRECONDITION_FAILED")), "{other:#?}");
    let list = environment.agtmux(&["sm", "remind", "list", "--json"]).ok().json();
    assert_eq!(ids(&list["items"]), ["later"], "{list:#}");
}

/// What is urgent and cannot be delivered is not said to be.
#[test]
fn what_is_urgent_and_waits_is_told_of() {
    let environment = environment();
    let api = named(&environment, "api");
    api.tell("dialog");
    environment.wait_for_pane(&api.pane, "the dialog", |pane| pane["state"] == "waiting_approval");
    let sent = environment.agtmux(&["sm", "send", "api", "stop", "--urgent", "--id", "stop"]);
    assert_eq!(sent.code, 5, "{sent:#?}");
    assert!(sent.stdout.starts_with("stop queued for api: number 1, waiting for an answer"), "{sent:#?}");
    assert!(sent.stderr.contains("stop is still queued, waiting for an answer"), "{sent:#?}");
    let sending =
        environment.agtmux_in_background(&["sm", "send", "api", "stop", "--urgent", "--id", "ends", "--json"]);
    wait_until(&environment, "ends", "queued");
    environment.agtmux(&["sm", "cancel", "ends"]).ok();
    let ended = sending.finish();
    assert_eq!((ended.code, &ended.json()["verdict"]), (4, &"not_delivered".into()), "{ended:#?}");
}

/// Whoever forgets the quotes writes to nobody.
#[test]
fn it_is_said_once_who_gets_a_message() {
    let environment = environment();
    let api = named(&environment, "api");
    for words in [&["--all", "hi", "there"][..], &["api", "--all", "hi"], &["api", "hi", "--to", "api"]] {
        let sent = environment.agtmux(&[&["sm", "send", "--json"], words].concat());
        assert_eq!((sent.code, sent.error()["code"].as_str()), (2, Some("E_USAGE")), "{sent:#?}");
        assert!(sent.error()["hint"].as_str().unwrap().contains("quotes"), "{sent:#?}");
    }
    for words in [
        &["show", ""][..],
        &["cancel", ""],
        &["remind", "cancel"],
        &["busy", "api", "--for", "0s"],
        &["send", "api", "hi", "--timeout", "1ms"],
        &["send", "api", "hi", "--timeout", "999999999h"],
    ] {
        assert_eq!(environment.agtmux(&[&["sm"], words].concat()).code, 2, "{words:?}");
    }
    let all = environment.agtmux(&["sm", "queue", "--all", "--json"]).ok().json();
    assert_eq!((all["items"].as_array().unwrap().len(), api.submitted().len()), (0, 0), "{all:#}");
    // Nothing is before it, and nothing keeps it.
    let sent = environment.agtmux(&["sm", "send", "api", "hi", "--id", "hi", "--json"]).ok().json();
    assert!(sent["waits_because"].is_null() && sent["status"] != "queued", "{sent:#}");
    wait_until(&environment, "hi", "confirmed");
    // Its id as the agent reads it.
    let submitted = api.submitted().join("\n");
    let read = submitted.split("id=").nth(1).and_then(|rest| rest.split([']', ' ']).next()).unwrap();
    assert!(read.starts_with("hi."), "{submitted}");
    assert_eq!(environment.agtmux(&["sm", "show", read, "--json"]).ok().json()["id"], "hi");
    let answer = environment.agtmux(&["sm", "send", "api", "hi again", "--reply-to", read, "--json"]).ok().json();
    assert_eq!(answer["reply_to"], "hi", "{answer:#}");
}

#[test]
fn all_are_all_others() {
    let environment = environment();
    let (lead, api, web) = (named(&environment, "lead"), named(&environment, "api"), named(&environment, "web"));
    let sent = as_agent(&environment, &lead, &["send", "--all", "hello", "--json"]).ok().json();
    let to: BTreeSet<_> =
        sent.as_array().unwrap().iter().map(|message| message["to"]["name"].as_str().unwrap()).collect();
    assert_eq!(to, BTreeSet::from(["api", "web"]), "{sent:#}");
    for id in ids(&sent) {
        wait_until(&environment, &id, "confirmed");
    }
    assert_eq!((lead.submitted().len(), api.submitted().len(), web.submitted().len()), (0, 1, 1));
    busy(&environment, &api);
    let running = environment.agtmux(&["sm", "send", "--state", "running", "how long?", "--json"]).ok().json();
    assert_eq!((running.as_array().unwrap().len(), &running[0]["to"]["name"]), (1, &"api".into()), "{running:#}");
    let nobody = environment.agtmux(&["sm", "send", "--agent", "copilot", "hello", "--json"]);
    assert_eq!((nobody.code, nobody.error()["code"].as_str()), (4, Some("E_REF_NOT_FOUND")), "{nobody:#?}");
    let unknown = environment.agtmux(&["sm", "send", "--state", "tired", "hello", "--json"]);
    assert_eq!((unknown.code, unknown.error()["code"].as_str()), (2, Some("E_UNKNOWN_STATE")), "{unknown:#?}");
}

#[test]
fn an_agent_reads_its_own_inbox_and_nobody_elses() {
    let environment = environment();
    let (api, web) = (named(&environment, "api"), named(&environment, "web"));
    let first = environment.agtmux(&["sm", "send", "api", "the first", "--json"]).ok().json();
    wait_until(&environment, first["id"].as_str().unwrap(), "confirmed");
    busy(&environment, &api);
    let text = "two\nlines \u{1b}[31m".replace('\u{1b}', "e");
    as_agent(&environment, &web, &["send", "api", &text]).ok();
    let inbox = as_agent(&environment, &api, &["inbox", "--json"]).ok().json();
    assert_eq!((&inbox["agent"]["name"], inbox["waiting"].as_array().unwrap().len()), (&"api".into(), 1), "{inbox:#}");
    let waiting = &inbox["waiting"][0];
    assert_eq!((&waiting["text"], &waiting["message"]["from"]["name"]), (&text.into(), &"web".into()), "{inbox:#}");
    let given = &inbox["given"][0];
    assert_eq!((&given["message"]["id"], &given["text"]), (&first["id"], &Value::Null), "{inbox:#}");
    let other = as_agent(&environment, &web, &["inbox", "api", "--json"]);
    assert_eq!((other.code, other.error()["code"].as_str()), (4, Some("E_NOT_ALLOWED")), "{other:#?}");
    // What others write begins with is no secret, what follows is.
    let long = format!("{}end", "a word and ".repeat(10));
    let long = environment.agtmux(&["sm", "send", "api", &long, "--json"]).ok().json();
    let seen = as_agent(&environment, &web, &["show", long["id"].as_str().unwrap(), "--json"]).ok().json();
    let preview = seen["preview"].as_str().unwrap();
    assert!(preview.starts_with("a word and ") && preview.chars().count() == 80, "{seen:#}");
    environment.agtmux(&["sm", "cancel", long["id"].as_str().unwrap()]).ok();
    let person = environment.agtmux(&["sm", "inbox", "api"]).ok();
    assert!(person.stdout.starts_with("api: 1 waiting, 1 given lately\n"), "{person:#?}");
    assert!(person.stdout.contains("from web (rt_") && person.stdout.contains("\n  two\n  lines "), "{person:#?}");
    let nobody = environment.agtmux(&["sm", "inbox", "--json"]);
    assert_eq!((nobody.code, nobody.error()["code"].as_str()), (2, Some("E_USAGE")), "{nobody:#?}");
    // Found out from the kernel, whatever the environment says.
    let builder = environment.agent("codex");
    let who = builder.run(&format!("{AGTMUX} sm whoami --json")).ok().json();
    assert_eq!(who["party"]["id"], environment.pane(&builder.pane).unwrap()["runtime_id"], "{who:#}");
    assert_eq!(environment.agtmux(&["sm", "whoami", "--json"]).ok().json()["kind"], "person");
}

#[test]
fn what_can_wait_waits_for_who_is_busy() {
    let environment = environment();
    let (api, web) = (named(&environment, "api"), named(&environment, "web"));
    let said = as_agent(&environment, &api, &["busy", "the build runs"]).ok();
    assert!(said.stdout.starts_with("api is busy until ") && said.stdout.ends_with(": the build runs\n"), "{said:#?}");
    let patient = environment.agtmux(&["sm", "send", "api", "when you can", "--json"]).ok().json();
    assert_eq!(patient["estimated_delivery"], "waiting_for_ready", "{patient:#}");
    // It outlives the daemon that was told.
    environment.kill_daemon();
    let important = ["sm", "send", "api", "now", "--important", "--wait", "30s", "--json"];
    assert_eq!(environment.agtmux(&important).ok().json()["verdict"], "confirmed");
    // What was delivered is confirmed before its delivery is over.
    let pane = environment
        .wait_for_pane(&api.pane, "the other one to wait", |pane| pane["mail"]["waits_for"] == "waiting_for_ready");
    assert_eq!((&pane["busy"]["reason"], &pane["mail"]["waiting"]), (&"the build runs".into(), &1.into()), "{pane:#}");
    let list = environment.agtmux(&["list", "panes"]).ok().stdout;
    assert!(list.contains("[busy: the build runs] [1 message from "), "{list}");
    let explained = environment.agtmux(&["explain", "api"]).ok().stdout;
    assert!(explained.contains("\nmail        1 message from "), "{explained}");
    let what = environment.agtmux(&["sm", "what", "api"]).ok().stdout;
    assert!(what.starts_with("api is ") && what.ends_with(" [busy: the build runs]\n"), "{what}");
    let what = environment.agtmux(&["sm", "what", "api", "--json"]).ok().json();
    assert_eq!(what["busy"]["reason"], "the build runs", "{what:#}");
    // Nobody but itself and a person has a say in that.
    let other = as_agent(&environment, &web, &["ready", "api", "--json"]);
    assert_eq!(other.error()["code"], "E_NOT_ALLOWED", "{other:#?}");
    assert_eq!(api.submitted().len(), 1);
    as_agent(&environment, &api, &["ready"]).ok();
    wait_until(&environment, patient["id"].as_str().unwrap(), "confirmed");
    // By a person, and for a while only.
    let busy = environment.agtmux(&["sm", "busy", "web", "--for", "2s", "--json"]).ok().json();
    assert_eq!(busy["agent"]["name"], "web", "{busy:#}");
    let waits = environment.agtmux(&["sm", "send", "web", "hello", "--json"]).ok().json();
    assert_eq!(waits["estimated_delivery"], "waiting_for_ready", "{waits:#}");
    wait_until(&environment, waits["id"].as_str().unwrap(), "confirmed");
    let too_long = environment.agtmux(&["sm", "busy", "web", "--for", "25h", "--json"]);
    assert_eq!(too_long.error()["code"], "E_PRECONDITION_FAILED", "{too_long:#?}");
    let nobody = environment.agtmux(&["sm", "busy", "--json"]);
    assert_eq!((nobody.code, nobody.error()["code"].as_str()), (2, Some("E_USAGE")), "{nobody:#?}");
}

/// Whichever of them is taken back, none follows.
#[test]
fn a_series_ends_with_the_one_that_is_taken_back() {
    let environment = environment();
    let api = named(&environment, "api");
    busy(&environment, &api);
    let first = environment.agtmux(&["sm", "remind", "api", "1s", "again", "--recurring", "--json"]).ok().json();
    let id = first["id"].as_str().unwrap();
    let its_time_has_come = |id: &str| {
        wait_for("the time to pass", || {
            let now = environment.agtmux(&["sm", "show", id, "--json"]).ok().json();
            if now["estimated_delivery"] == "waiting_for_its_time" { Err(format!("{now:#}")) } else { Ok(()) }
        });
    };
    // It waits for the agent by now, and none follows it before it was delivered.
    its_time_has_come(id);
    let waiting = environment.agtmux(&["sm", "remind", "list", "--json"]).ok().json();
    assert_eq!(ids(&waiting["items"]), [id], "{waiting:#}");
    environment.agtmux(&["sm", "remind", "cancel", id]).ok();
    let left = environment.agtmux(&["sm", "remind", "list", "--json"]).ok().json();
    assert_eq!(left["items"].as_array().unwrap().len(), 0, "{left:#}");
    let count =
        || environment.agtmux(&["sm", "queue", "--all", "--json"]).ok().json()["items"].as_array().unwrap().len();
    let before = count();
    // Three more would have come; a message shows that the daemon is at work.
    let later = environment.agtmux(&["sm", "remind", "api", "3s", "later", "--json"]).ok().json();
    its_time_has_come(later["id"].as_str().unwrap());
    assert_eq!(count(), before + 1);
    // By kind, and nothing else with them.
    environment.agtmux(&["sm", "send", "api", "a message", "--id", "mail"]).ok();
    let cancelled = environment.agtmux(&["sm", "cancel", "--category", "reminder", "api", "--json"]).ok().json();
    assert_eq!(ids(&cancelled), [later["id"].as_str().unwrap()], "{cancelled:#}");
    let nothing = environment.agtmux(&["sm", "cancel", "--category", "notice"]).ok();
    assert_eq!(nothing.stdout, "nothing waits\n");
    wait_until(&environment, "mail", "queued");
    assert_eq!(api.submitted(), Vec::<String>::new());
}

/// What is urgent stands before what is not, and an agent takes back its own only.
#[test]
fn an_agent_takes_back_all_that_it_wrote() {
    let environment = environment();
    let (api, web) = (named(&environment, "api"), named(&environment, "web"));
    busy(&environment, &api);
    environment.agtmux(&["sm", "send", "api", "from a person", "--id", "person"]).ok();
    as_agent(&environment, &web, &["send", "api", "can wait", "--id", "waits"]).ok();
    as_agent(&environment, &web, &["send", "api", "cannot", "--id", "important", "--important"]).ok();
    let later = environment.agtmux(&["sm", "remind", "api", "1h", "later", "--json"]).ok().json();
    let list = environment.agtmux(&["sm", "queue", "--json"]).ok().json();
    let later = later["id"].as_str().unwrap();
    assert_eq!(ids(&list["items"]), ["important", "person", "waits", later], "{list:#}");
    let cancelled = as_agent(&environment, &web, &["cancel", "--category", "mail", "--json"]).ok().json();
    assert_eq!(ids(&cancelled), ["important", "waits"], "{cancelled:#}");
    wait_until(&environment, "person", "queued");
    let empty = environment.agtmux(&["sm", "send", "api", " ", "--json"]);
    assert_eq!((empty.code, empty.error()["code"].as_str()), (2, Some("E_BAD_TEXT")), "{empty:#?}");
    assert!(!empty.error()["hint"].as_str().unwrap().contains("long"), "{empty:#?}");
}

/// The agents of a daemon with a configuration, by name.
fn configured<const N: usize>(config: &str, names: [&str; N]) -> (TestEnvironment, [Composer; N]) {
    let environment = TestEnvironment::with_tmux();
    environment.configure(config);
    environment.start_daemon();
    let agents = names.map(|name| named(&environment, name));
    (environment, agents)
}

#[test]
fn agents_write_to_whom_they_may() {
    let rules = "[mail]\nagents_write = false\n[[mail.allow]]\nfrom = \"le*\"\nto = \"api\"\n";
    let (environment, [lead, api, web]) = configured(rules, ["lead", "api", "web"]);
    let sent = as_agent(&environment, &lead, &["send", "api,web", "hello", "--json"]);
    assert_eq!(sent.code, 4, "{sent:#?}");
    let items = sent.json();
    wait_until(&environment, items[0]["id"].as_str().unwrap(), "confirmed");
    let refused = &items[1]["error"];
    assert_eq!((&items[1]["to"], &refused["code"]), (&"web".into(), &"E_NOT_ALLOWED".into()), "{items:#}");
    assert!(refused["hint"].as_str().unwrap().contains("[[mail.allow]]"), "{refused:#}");
    let back = as_agent(&environment, &api, &["send", "lead", "and back", "--json"]);
    assert_eq!((back.code, back.error()["code"].as_str()), (4, Some("E_NOT_ALLOWED")), "{back:#?}");
    // What interrupts somebody is not meant unless it is said.
    let urgent = as_agent(&environment, &lead, &["send", "api", "stop", "--urgent", "--json"]);
    assert_eq!((urgent.code, urgent.error()["code"].as_str()), (4, Some("E_NOT_ALLOWED")), "{urgent:#?}");
    // A reminder of its own is nobody else's matter, and a person may write to everybody.
    as_agent(&environment, &web, &["remind", "1h", "look"]).ok();
    environment.agtmux(&["sm", "send", "web", "hello"]).ok();
    let audit = environment.agtmux(&["events", "--audit", "--json"]).ok().json().to_string();
    assert_eq!(audit.matches("is an agent, and may not write to").count(), 3, "{audit}");
    assert_eq!(lead.submitted(), Vec::<String>::new());
}

/// What waits for long is told of: once to who sent it, and to the person until it is delivered.
#[test]
fn a_message_that_waits_for_long_is_told_of() {
    let (environment, [web, api]) = configured("[mail]\nalarm_seconds = 2\n", ["web", "api"]);
    busy(&environment, &api);
    let sent = as_agent(&environment, &web, &["send", "api", "hello", "--id", "hello", "--json"]).ok().json();
    assert_eq!(sent["status"], "queued", "{sent:#}");
    environment.kill_daemon();
    let told = wait_until(&environment, "late_hello", "confirmed");
    assert_eq!((&told["category"], &told["to"]["name"]), (&"notice".into(), &"web".into()), "{told:#}");
    assert!(web.submitted().join("\n").contains("Message to api (rt_"), "{:#?}", web.submitted());
    let pane = environment.pane(&api.pane).unwrap();
    assert_eq!(pane["attention"]["kind"], "mail_waiting", "{pane:#}");
    let next = environment.get("/v1/next");
    let calls = |next: &Value| {
        let items = next["items"].as_array().unwrap().iter().filter(|item| item["kind"] == "mail_waiting");
        items.map(|item| item["pane"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(calls(&next), ["api"], "{next:#}");
    let explained = environment.agtmux(&["explain", "api"]).ok().stdout;
    assert!(explained.contains("\ncalls for   mail_waiting\n"), "{explained}");
    assert!(explained.contains("\nmail        1 message from web waiting for idle, the first for "), "{explained}");
    api.tell("idle");
    wait_until(&environment, "hello", "confirmed");
    assert_eq!(calls(&environment.get("/v1/next")), Vec::<String>::new());
    let all = environment.agtmux(&["sm", "queue", "--all", "--json"]).ok().json();
    assert_eq!(all["items"].as_array().unwrap().len(), 2, "told once, and nobody of that: {all:#}");
}

/// The lines of a watcher until one of them is the last that is wanted.
#[track_caller]
fn steps(watcher: &Background, text: &mut String, last: &str) -> Vec<Value> {
    let lines = |text: &str| -> Vec<Value> {
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|line: &Value| line["change"] == "step")
            .collect()
    };
    wait_for(&format!("a message to be {last}"), || {
        text.push_str(&watcher.new_output());
        let is_there = lines(text).iter().any(|line| line["item"]["status"] == last);
        if is_there { Ok(()) } else { Err(text.clone()) }
    });
    lines(text)
}

/// Whoever follows sees each step of each message, and never its text; whoever was away asks for what it missed.
#[test]
fn every_step_of_every_message_is_told() {
    let environment = environment();
    let api = named(&environment, "api");
    busy(&environment, &api);
    let watch = ["watch", "--scope", "messages", "--format", "jsonl"];
    environment.agtmux(&["sm", "send", "api", "top secret words", "--id", "first"]).ok();
    let watcher = environment.agtmux_in_background(&watch);
    let mut text = String::new();
    wait_for("what is there", || {
        text.push_str(&watcher.new_output());
        if text.contains("\"present\"") { Ok(()) } else { Err(text.clone()) }
    });
    environment.agtmux(&["sm", "send", "api", "never mind", "--id", "second"]).ok();
    environment.agtmux(&["sm", "cancel", "second"]).ok();
    let seen = steps(&watcher, &mut text, "cancelled");
    let way: Vec<_> = seen.iter().map(|line| line["item"]["status"].as_str().unwrap()).collect();
    assert_eq!(way, ["queued", "cancelled"], "{seen:#?}");
    assert_eq!((&seen[1]["item"]["id"], &seen[1]["item"]["to"]["name"]), (&"second".into(), &"api".into()));
    drop(watcher);
    // Away, and the daemon with it.
    let last = seen[1]["seq"].as_u64().unwrap();
    environment.kill_daemon();
    api.tell("idle");
    wait_until(&environment, "first", "confirmed");
    let after = last.to_string();
    let watcher = environment.agtmux_in_background(&[&watch[..], &["--after", &after]].concat());
    let mut missed_text = String::new();
    let missed = steps(&watcher, &mut missed_text, "confirmed");
    let way: Vec<_> = missed.iter().map(|line| line["item"]["status"].as_str().unwrap()).collect();
    assert_eq!(way[..2], ["leased", "started"], "{missed:#?}");
    assert!(missed.iter().all(|line| line["item"]["id"] == "first" && line["seq"].as_u64().unwrap() > last));
    // The log says the same.
    let log = environment.agtmux(&["events", "--after", &after, "--limit", "1000", "--json"]).ok().json();
    let logged: Vec<_> =
        log["items"].as_array().unwrap().iter().flat_map(|event| event["messages"].as_array().unwrap()).collect();
    let told: Vec<_> = missed.iter().map(|line| &line["item"]).collect();
    assert_eq!(logged[..told.len()], told[..], "{log:#}");
    for text in [&text, &missed_text] {
        assert!(!text.lines().any(|line| line.contains("\"step\"") && line.contains("top secret")), "{text}");
    }
}

#[test]
fn the_skill_is_installed_and_taken_away() {
    let environment = TestEnvironment::new();
    let page = environment.agtmux(&["skill"]).ok().stdout;
    assert!(page.contains("\nsm send api '"), "{page}");
    let claude = environment.path("claude");
    let run = |flag: &str| Run::of(environment.command(&["skill", flag]).env("CLAUDE_CONFIG_DIR", &claude)).ok().stdout;
    let files = [claude.join("skills/agtmux/SKILL.md"), environment.path("home/.agents/skills/agtmux/SKILL.md")];
    let said = |what: [&str; 2]| -> String {
        files.iter().zip(what).map(|(file, what)| format!("{} {what}\n", file.display())).collect()
    };
    assert_eq!(run("--install"), said(["written"; 2]));
    assert!(files.iter().all(|file| fs::read_to_string(file).unwrap() == page));
    fs::write(&files[0], "an older page").unwrap();
    assert_eq!(run("--install"), said(["brought up to date", "is as it should be"]));
    assert_eq!(run("--remove"), said(["taken away"; 2]));
    assert_eq!(run("--remove"), said(["is not there"; 2]));
    assert!(!claude.join("skills").exists() && !environment.path("home/.agents").exists());
}
