//! What can be known of agents, and how that works out: per agent and per runtime.

use serde_json::Value;

use crate::common::TestEnvironment;

#[test]
fn capabilities_and_health_are_told() {
    let environment = TestEnvironment::with_tmux();
    let item = |list: &Value, agent: &str, items: &str| {
        list[items].as_array().unwrap().iter().find(|item| item["agent"] == agent).unwrap().clone()
    };
    let without = environment.agtmux(&["agents", "list", "--json"]).ok().json();
    let claude = item(&without, "claude", "agents");
    assert_eq!((&claude["health"], &claude["contract"]), (&Value::Null, &1.into()), "no daemon runs: {claude:#}");
    assert_eq!(claude["capabilities"].as_object().unwrap().len(), 5, "{claude:#}");
    assert_eq!(environment.agtmux(&["daemon", "status"]).code, 3, "a list starts none");

    environment.start_daemon();
    let told = environment.agent("claude");
    told.signal("running").ok();
    let pane = environment.wait_for_pane(&told.pane, "the signal", |pane| pane["state"] == "running");
    let flags = &pane["adapter"]["capabilities"];
    assert_eq!(*flags, claude["capabilities"], "{pane:#}");
    assert_eq!((&flags["event_driven"], &flags["polling_required"]), (&true.into(), &false.into()), "{pane:#}");
    assert_eq!(pane["adapter"]["health"], "ok", "{pane:#}");
    let agents = environment.get("/v1/agents");
    let claude = item(&agents, "claude", "items");
    assert_eq!((&claude["health"], &claude["runtimes"]), (&"ok".into(), &1.into()), "{agents:#}");
    let gemini = item(&agents, "gemini", "items");
    assert_eq!((&gemini["health"], &gemini["capabilities"]["polling_required"]), (&"unused".into(), &true.into()));
    let listed = environment.agtmux(&["agents", "list"]).ok().stdout;
    assert!(listed.contains("events approval input completed") && listed.contains("unused"), "{listed}");
    let doctor = environment.agtmux(&["doctor"]).stdout;
    assert!(doctor.contains("claude ok (events approval input completed)"), "{doctor}");
    // One of which nothing is heard, beside it.
    environment.agent("claude");
    let worst = item(&environment.get("/v1/agents"), "claude", "items");
    assert_eq!((&worst["health"], &worst["runtimes"]), (&"silent".into(), &2.into()), "{worst:#}");
}
