//! The record of who did what to which agent: complete, in order, and whole (A1).

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::TestEnvironment;

fn audited(environment: &TestEnvironment) -> Vec<Value> {
    let list = environment.agtmux(&["events", "--audit", "--json"]).ok().json();
    list["items"].as_array().unwrap().clone()
}

#[test]
fn what_was_looked_at_and_what_was_refused_is_on_record() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    assert_eq!(environment.agtmux(&["audit", "verify"]).ok().stdout, "no rows: nothing was done to any agent yet\n");
    let agent = environment.agent("claude");
    agent.signal("idle").ok();
    let ask = |body: Value| environment.request("POST", "/v1/snapshots", body.to_string().as_bytes()).unwrap();
    let looked = ask(json!({"verb": "send", "ref": agent.pane, "if_state": "idle"}));
    assert_eq!(looked.status, 200, "{looked:?}");
    assert_eq!(ask(json!({"verb": "kill", "ref": "%999"})).code(), "E_REF_NOT_FOUND");
    assert_eq!(ask(json!({"verb": "send", "ref": agent.pane, "if_state": "sleepy"})).code(), "E_UNKNOWN_STATE");
    assert_eq!(ask(json!({"verb": "send"})).code(), "E_USAGE");

    let items = audited(&environment);
    let told: Vec<_> = items
        .iter()
        .map(|item| format!("{} {} {} {}", item["verb"], item["ref"], item["outcome"], item["code"]))
        .collect();
    let pane = &agent.pane;
    assert_eq!(
        told,
        [
            format!("\"send\" \"{pane}\" \"prepared\" null"),
            "\"kill\" \"%999\" \"refused\" \"E_REF_NOT_FOUND\"".to_owned(),
            format!("\"send\" \"{pane}\" \"refused\" \"E_UNKNOWN_STATE\""),
            "\"send\" \"\" \"refused\" \"E_USAGE\"".to_owned(),
        ]
    );
    assert_eq!(items[0]["guard"]["if_state"], "idle");
    assert_eq!(items[0]["snapshot"], looked.json());
    assert_eq!(items[0]["actor"]["uid"], rustix::process::getuid().as_raw());
    assert_eq!(items[0]["actor"]["pid"], std::process::id());
    assert_eq!(items[0]["actor"]["runtime_id"], Value::Null);
    let table = environment.agtmux(&["events", "--audit"]).ok().stdout;
    assert!(table.starts_with("AT") && table.contains("refused E_REF_NOT_FOUND"), "{table}");
    assert_eq!(table.lines().count(), 5, "{table}");
}

#[test]
fn a_restart_goes_on_with_the_chain_and_tampering_is_seen() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let ask = || environment.request("POST", "/v1/snapshots", br#"{"verb": "kill", "ref": "%999"}"#).unwrap();
    for _ in 0..3 {
        ask();
    }
    let verdict = environment.agtmux(&["audit", "verify", "--json"]).ok().json();
    assert_eq!((&verdict["whole"], &verdict["rows"]), (&json!(true), &json!(3)));
    let kept = verdict["head"]["hash"].as_str().unwrap();
    environment.kill_daemon();
    environment.start_daemon();
    ask();
    let verdict = environment.agtmux(&["audit", "verify", "--head", kept, "--json"]).ok().json();
    assert_eq!((&verdict["kept"], &verdict["rows"]), (&json!(3), &json!(4)));

    let database = Connection::open(environment.state_dir().join("agtmux.db")).unwrap();
    let tampered = |sql: &str, arguments: &[&str]| {
        database
            .execute_batch(&format!("BEGIN IMMEDIATE; CREATE TEMP TABLE kept AS SELECT * FROM audit; {sql}; COMMIT"))
            .unwrap();
        let run = environment.agtmux(&[&["audit", "verify"], arguments].concat());
        let restore =
            "BEGIN IMMEDIATE; DELETE FROM audit; INSERT INTO audit SELECT * FROM kept; DROP TABLE kept; COMMIT";
        database.execute_batch(restore).unwrap();
        assert_eq!(run.code, 1, "{run:#?}");
        assert!(run.stderr.contains("[E_AUDIT_BROKEN]") && run.stderr.contains("hint: "), "{run:#?}");
        run.stderr
    };
    let said = tampered("UPDATE audit SET body = replace(body, 'kill', 'send') WHERE n = 2", &[]);
    assert!(said.contains("row 2 was changed"), "{said}");
    let said = tampered("DELETE FROM audit WHERE n = 3", &[]);
    assert!(said.contains("row 3 is missing"), "{said}");
    let said = tampered("DELETE FROM audit WHERE n = 4", &[]);
    assert!(said.contains("has no row"), "{said}");
    // Whoever cuts off the log as well is found out by the hash that was kept.
    database.execute_batch("BEGIN; DELETE FROM audit WHERE n >= 3; DELETE FROM events WHERE event_type = 'action' AND seq NOT IN (SELECT seq FROM audit); COMMIT").unwrap();
    environment.agtmux(&["audit", "verify"]).ok();
    let run = environment.agtmux(&["audit", "verify", "--head", kept]);
    assert!(run.code == 1 && run.stderr.contains("no row has the hash"), "{run:#?}");
    let run = environment.agtmux(&["audit", "verify", "--head", "12"]);
    assert!(run.code == 2 && run.stderr.contains("[E_USAGE]"), "{run:#?}");
}

/// What the request for an action holds besides whom it is for, and whether it can be done to a scripted agent that rests. Whoever adds an action adds it here: the test below knows all routes, and demands that each leaves its
/// rows.
fn request_for(action: &str) -> (Value, bool) {
    match action {
        "kill" => (json!({ "signal": "KILL" }), true),
        "attach" | "view-output" => (json!({}), true),
        // An agent that rests asks nothing.
        "approve" | "deny" => (json!({}), false),
        // Nor does it have a composer.
        "send" => (json!({ "text": "hello" }), false),
        "clear-draft" => (json!({}), false),
        "adopt" => (json!({ "name": "api" }), true),
        // No agent is named, and none has ended.
        "spawn" | "resume" => (json!({}), false),
        other => panic!("POST /v1/actions/{other}: say here what a request for it holds"),
    }
}

#[test]
fn no_action_is_done_or_refused_without_its_rows() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let document = environment.get("/openapi.json");
    let paths = document["paths"].as_object().unwrap().iter().filter(|(_, verbs)| verbs["post"].is_object());
    let actions: Vec<_> = paths.filter_map(|(path, _)| path.strip_prefix("/v1/actions/")).map(str::to_owned).collect();
    assert!(!actions.is_empty());
    for action in actions {
        let ask = |reference: &str| {
            let (mut body, _) = request_for(&action);
            body["ref"] = json!(reference);
            environment.request("POST", &format!("/v1/actions/{action}"), body.to_string().as_bytes()).unwrap()
        };
        let outcome = || {
            let item = audited(&environment).pop().unwrap_or_default();
            // Who starts an agent again spawns it, and who clears a draft makes room for a text.
            let verb = match action.as_str() {
                "resume" => "spawn",
                "clear-draft" => "send",
                verb => verb,
            };
            assert_eq!(item["verb"], verb, "{item:#}");
            (item["outcome"].as_str().unwrap().to_owned(), item["code"].clone(), item["snapshot"]["runtime_id"].clone())
        };
        let refused = ask("%999");
        assert_eq!(outcome(), ("refused".to_owned(), json!(refused.code()), Value::Null), "{action}");

        let agent = environment.agent("claude");
        agent.signal("idle").ok();
        let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].clone();
        let answer = ask(&agent.pane);
        assert_eq!(answer.status == 200, request_for(&action).1, "{action}: {answer:?}");
        let (how, code, aimed_at) = outcome();
        if answer.status == 200 {
            assert_eq!((how.as_str(), &code, &aimed_at), ("done", &Value::Null, &runtime), "{action}");
        } else {
            // Nothing was done, whether that was known at once or when it came to it.
            assert_eq!((how.as_str(), code), ("refused", json!(answer.code())), "{action}");
        }
    }
    environment.agtmux(&["audit", "verify"]).ok();
}
