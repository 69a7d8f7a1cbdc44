//! The logs of the two agents that have a server, event by event.

use std::collections::BTreeMap;

use agtmux_agents::translate::{CodexAppServer, Translator};
use agtmux_core::signal::Source;

use crate::recording::{json_lines, root};
use crate::render;
use crate::world::World;

/// The readings of each message with the state that they lead to, for the one conversation that the person sees.
#[test]
fn codex_app_server() {
    let mut server = CodexAppServer::default();
    let mut worlds = BTreeMap::new();
    let mut table = String::new();
    for line in json_lines(&root().join("codex-appserver.jsonl")) {
        let Some(news) = server.message(&line["msg"]) else {
            continue;
        };
        let world = worlds.entry(news.thread.clone()).or_insert_with(|| World::with("codex"));
        world.after(100);
        let told: Vec<_> = news.readings.iter().map(render::reading).collect();
        world.say(Source::AppServer, news.readings);
        let thread = news.thread.split('-').nth(1).unwrap_or_default().to_owned();
        table += &format!("thread {thread}: {:<42} {}\n", told.join(", "), world.verdict().state.name());
    }
    insta::assert_snapshot!(table);
}

#[test]
fn opencode_events() {
    for file in ["opencode-sse", "opencode-sse-b"] {
        let (mut translator, mut world) = (Translator::default(), World::with("opencode"));
        let mut table = String::new();
        for line in json_lines(&root().join(file).with_extension("jsonl")) {
            let told = translator.hook("opencode", None, &line["ev"]);
            if told.readings.is_empty() {
                continue;
            }
            world.after(100);
            let readings: Vec<_> = told.readings.iter().map(render::reading).collect();
            world.say(Source::AppServer, told.readings);
            let state = world.verdict();
            table +=
                &format!("{:<18} {:<90} {} ({})\n", told.event, readings.join(", "), state.state.name(), state.reason);
        }
        insta::assert_snapshot!(file, table);
    }
}
