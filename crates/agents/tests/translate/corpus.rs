//! Bad input: whatever comes, nothing panics, nothing grows without bound, and nothing looks busy that is not (I10).

use std::sync::LazyLock;

use agtmux_agents::Reading;
use agtmux_agents::translate::{
    CodexAppServer, CopilotEvents, Signs, Translator, claude_session_file, claude_transcript_line, codex_rollout_line,
    gemini_transcript_line,
};
use agtmux_core::signal::{Signal, Source};
use agtmux_core::state::State;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::recording::{self, Hook};
use crate::world::{REGISTRY, World};

const AGENTS: &[&str] = &["claude", "codex", "copilot", "cursor", "gemini", "opencode", "aider", ""];

/// Every hook that was recorded, with its agent.
static RECORDED: LazyLock<Vec<(&str, Hook)>> = LazyLock::new(|| {
    let agents = ["claude", "codex", "copilot", "gemini", "opencode"];
    let recordings = agents.iter().flat_map(|agent| recording::of(agent).into_iter().map(move |of| (*agent, of)));
    recordings.flat_map(|(agent, of)| of.hooks.into_iter().map(move |hook| (agent, hook))).collect()
});

/// Words that the rules look for, so that random payloads reach deep.
const WORDS: &[&str] = &[
    "session_id",
    "sessionId",
    "sessionID",
    "hook_event_name",
    "tool_name",
    "toolName",
    "tool_input",
    "prompt",
    "type",
    "status",
    "busy",
    "idle",
    "retry",
    "waiting",
    "error",
    "message",
    "properties",
    "payload",
    "params",
    "data",
    "content",
    "PermissionRequest",
    "UserPromptSubmit",
    "Stop",
    "Notification",
    "notification_type",
    "permission_prompt",
    "method",
    "thread/status/changed",
    "active",
    "activeFlags",
    "event_msg",
    "user.message",
    "background_tasks",
    "questions",
    "",
    "é␣",
];

fn any_json() -> impl Strategy<Value = Value> {
    let word = || prop_oneof![3 => select(WORDS).prop_map(str::to_owned), 1 => "\\PC{0,12}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6).prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// Whether a reading says that the agent is at something or waits for something.
fn is_active(reading: &Reading) -> bool {
    matches!(
        reading.signal,
        Signal::TurnStarted | Signal::Working { .. } | Signal::WorkEnded | Signal::Blocked { .. } | Signal::Unblocked
    )
}

fn check_size(readings: &[Reading]) -> Result<(), TestCaseError> {
    prop_assert!(readings.len() <= 4, "{readings:?}");
    for reading in readings {
        let text = format!("{reading:?}");
        prop_assert!(text.chars().count() < 2_500, "{} characters", text.chars().count());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_is_read(agent in select(AGENTS), event in prop::option::of(select(WORDS)), json in any_json()) {
        let mut all = Translator::default().hook(agent, event, &json).readings;
        check_size(&all)?;
        all.extend(claude_session_file(&json).map(|record| record.readings).unwrap_or_default());
        all.extend(CodexAppServer::default().message(&json).map(|news| news.readings).unwrap_or_default());
        all.extend(CopilotEvents::default().line(&json));
        for line in [claude_transcript_line, codex_rollout_line, gemini_transcript_line] {
            all.extend(line(&json));
        }
        // What has none of the fields in their places cannot say that anything goes on.
        if !json.is_object() {
            prop_assert!(!all.iter().any(is_active), "{json} read as {all:?}");
        }
    }

    #[test]
    fn a_payload_without_a_session_says_nothing(place in any::<prop::sample::Index>(), junk in any_json()) {
        let (agent, hook) = place.get(&RECORDED);
        let mut payload = hook.payload.clone();
        for name in ["session_id", "sessionId", "sessionID", "thread-id"] {
            if let Some(session) = payload.get_mut(name) {
                *session = if junk.is_string() { Value::Null } else { junk.clone() };
            }
        }
        if let Some(info) = payload.get_mut("info") {
            *info = Value::Null;
        }
        let told = Translator::default().hook(agent, hook.event.as_deref(), &payload);
        prop_assert!(!told.readings.iter().any(is_active), "{agent} {:?}: {:?}", told.event, told.readings);
    }

    #[test]
    fn one_broken_field_does_no_harm(place in any::<prop::sample::Index>(), field in any::<prop::sample::Index>(), junk in any_json()) {
        let (agent, hook) = place.get(&RECORDED);
        let mut payload = hook.payload.clone();
        if let Some(fields) = payload.as_object_mut().filter(|fields| !fields.is_empty()) {
            let name = fields.keys().nth(field.index(fields.len())).cloned().unwrap_or_default();
            fields.insert(name, junk);
        }
        check_size(&Translator::default().hook(agent, hook.event.as_deref(), &payload).readings)?;
    }

    #[test]
    fn a_new_event_moves_no_state(place in any::<prop::sample::Index>(), suffix in "[A-Z][a-z]{2,8}") {
        let (agent, hook) = place.get(&RECORDED);
        let mut payload = hook.payload.clone();
        let new = |name: &str| format!("{name}{suffix}");
        for name in ["hook_event_name", "type"] {
            if let Some(event) = payload.get_mut(name) {
                *event = Value::from(new(event.as_str().unwrap_or_default()));
            }
        }
        let event = hook.event.as_deref().map(new);
        let told = Translator::default().hook(agent, event.as_deref(), &payload);
        let kinds: Vec<_> = told.readings.iter().map(|reading| &reading.signal).collect();
        prop_assert!(matches!(kinds[..], [Signal::Unsupported { .. }]), "{agent} {event:?}: {kinds:?}");
        let mut world = World::with(agent);
        world.say(Source::Hook, told.readings);
        prop_assert_eq!(world.verdict().state, State::Unknown);
    }

    #[test]
    fn signs_are_read(agent in select(&["codex", "gemini", "claude"][..]), texts in prop::collection::vec("\\PC{0,40}", 0..8)) {
        let (manifest, mut signs) = (REGISTRY.get(agent).unwrap(), Signs::default());
        for text in &texts {
            for readings in [signs.title(manifest, text), signs.notice(manifest, text), signs.program_status(text, Some(text))] {
                check_size(&readings)?;
            }
        }
    }
}

#[test]
fn a_megabyte_is_cut() {
    let long = "x\u{1b}é".repeat(400_000);
    let payloads = [
        (
            "claude",
            "PermissionRequest",
            json!({"session_id": long, "tool_name": long, "tool_input": {"command": long}}),
        ),
        (
            "claude",
            "PermissionRequest",
            json!({"session_id": "s", "tool_name": "ExitPlanMode", "tool_input": {"plan": long}}),
        ),
        ("claude", "Stop", json!({"session_id": "s", "last_assistant_message": long})),
        ("claude", &long, json!({"session_id": "s"})),
        ("codex", "notify", json!({"type": "agent-turn-complete", "thread-id": long, "last-assistant-message": long})),
        (
            "gemini",
            "Notification",
            json!({"session_id": "s", "notification_type": "ToolPermission",
            "details": {"type": long, "command": long}}),
        ),
        ("opencode", "permission.asked", json!({"sessionID": "s", "id": long, "permission": long, "patterns": [long]})),
        ("copilot", "errorOccurred", json!({"sessionId": "s", "error": {"message": long}})),
    ];
    for (agent, event, payload) in payloads {
        let told = Translator::default().hook(agent, Some(event), &payload);
        assert!(!told.readings.is_empty(), "{agent}");
        let text = format!("{:?}{}{:?}", told.readings, told.event, told.session);
        assert!(text.chars().count() < 3_000, "{agent}: {} characters", text.chars().count());
    }
}

#[test]
fn wrong_types_and_half_payloads_move_no_state() {
    let session = |rest: Value| {
        let mut payload = json!({"session_id": "s", "sessionId": "s", "sessionID": "s", "conversation_id": "s"});
        payload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        payload
    };
    let cases = [
        ("claude", "UserPromptSubmit", session(json!({}))),
        ("claude", "UserPromptSubmit", session(json!({"prompt": ["go"]}))),
        ("claude", "UserPromptSubmit", session(json!({"prompt": "go", "agent_id": "a1"}))),
        ("claude", "PreToolUse", session(json!({"tool_name": {"name": "Bash"}}))),
        ("claude", "PermissionRequest", session(json!({"tool_name": null}))),
        ("claude", "PreCompact", session(json!({"trigger": 1}))),
        ("claude", "Notification", session(json!({"notification_type": "auth_success"}))),
        ("claude", "SubagentStop", session(json!({"agent_type": "", "agent_id": "a1"}))),
        ("codex", "UserPromptSubmit", session(json!({"prompt": ""}))),
        ("codex", "agent-turn-started", session(json!({}))),
        ("copilot", "userPromptSubmitted", session(json!({"prompt": 3}))),
        ("copilot", "permissionRequest", session(json!({"toolName": "bash", "toolInput": {"command": "ls"}}))),
        ("cursor", "beforeSubmitPrompt", session(json!({"prompt": false}))),
        ("gemini", "BeforeAgent", session(json!({"prompt": null}))),
        ("gemini", "Notification", session(json!({"notification_type": "ToolPermission", "details": "exec"}))),
        ("gemini", "PreCompress", session(json!({"trigger": "auto"}))),
        ("opencode", "session.status", session(json!({"status": "busy"}))),
        ("opencode", "session.status", session(json!({"status": {"type": "thinking"}}))),
        ("opencode", "permission.asked", session(json!({"permission": "bash"}))),
        ("opencode", "question.asked", session(json!({"id": "q", "questions": []}))),
        ("aider", "Stop", session(json!({}))),
    ];
    for (agent, event, payload) in cases {
        let told = Translator::default().hook(agent, Some(event), &payload);
        assert!(!told.readings.iter().any(is_active), "{agent} {event}: {:?}", told.readings);
    }
    for file in [
        json!({"pid": 1, "sessionId": "s", "status": "hyper"}),
        json!({"pid": 1, "sessionId": "s", "status": ["busy"]}),
    ] {
        let readings = claude_session_file(&file).unwrap().readings;
        assert!(!readings.iter().any(is_active), "{file}: {readings:?}");
    }
}
