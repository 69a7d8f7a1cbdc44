//! The state that all structured sources of a recording give together, against the truth.

use agtmux_agents::translate::{Signs, Translator, claude_session_file};
use agtmux_core::signal::Source;

use crate::recording::{self, Recording};
use crate::world::{REGISTRY, World};

/// Says everything that a recording holds: its hooks in order of time, then the signs of the stream, whose times are not
/// recorded, then what was to be read at the moment of the capture.
fn world_of(recording: &Recording) -> World {
    let mut world = World::with(&recording.agent);
    let mut translator = Translator::default();
    let mut last = recording.hooks.first().map_or(0.0, |hook| hook.at);
    let mut hooks: Vec<_> = recording.hooks.iter().collect();
    hooks.sort_by(|a, b| a.at.total_cmp(&b.at));
    for hook in hooks {
        world.after(((hook.at - last) * 1_000.0) as i64);
        last = hook.at;
        let told = translator.hook(&recording.agent, hook.event.as_deref(), &hook.payload);
        world.say(Source::Hook, told.readings);
    }
    let manifest = REGISTRY.get(&recording.agent).unwrap();
    let mut signs = Signs::default();
    for (number, text) in recording.oscs() {
        world.after(1);
        let readings = match number.as_str() {
            "0" | "2" => signs.title(manifest, &text),
            "9" => signs.notice(manifest, &text),
            "7501" => match status(&text) {
                Some((state, kind)) => signs.program_status(state, kind),
                None => continue,
            },
            _ => continue,
        };
        world.say(Source::Osc, readings);
    }
    world.after(1);
    let title = recording.meta["pane_title"].as_str().or(recording.meta["tmux"]["pane_title"].as_str());
    world.say(Source::Osc, signs.title(manifest, title.unwrap_or_default()));
    if let Some(record) = claude_session_file(&recording.meta["sessions_file"]) {
        world.say(Source::VendorFile, record.readings);
    }
    // What was captured had stood there for a while.
    world.stand(2_000);
    world
}

/// `state=blocked:app=codex:kind=permission`.
fn status(text: &str) -> Option<(&str, Option<&str>)> {
    let field = |name: &str| text.split(':').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    Some((field("state")?, field("kind")))
}

const BEFORE_HOOKS: &str = "a dialog before the session starts: no hook, no file, no sign";
const SILENT: &str = "nothing was said in this step: what the step before it said is not part of the recording";
const QUOTA_DIALOG: &str = "the title goes on saying Working, and no hook fires";
const FAILED_QUIETLY: &str = "the hook at the end of a turn does not say how it ended; transcript and screen do";

/// Recordings whose structured sources do not suffice, with what they give instead and why. The screen tells all of these.
const NEED_THE_SCREEN: &[(&str, &str, &str)] = &[
    ("claude/dialog_api_key", "unknown", BEFORE_HOOKS),
    ("claude/dialog_trust", "unknown", BEFORE_HOOKS),
    ("codex/folder_trust_prompt", "unknown", BEFORE_HOOKS),
    ("codex/multiline", "unknown", SILENT),
    ("codex/typed", "unknown", SILENT),
    ("copilot/busy_ctrl_q", "unknown", SILENT),
    ("copilot/folder_trust_prompt", "unknown", BEFORE_HOOKS),
    ("copilot/interrupt_armed", "unknown", SILENT),
    ("copilot/multiline", "unknown", SILENT),
    ("copilot/paste_long", "unknown", SILENT),
    ("copilot/tool_running", "unknown", SILENT),
    ("gemini/error_429q", "running", QUOTA_DIALOG),
    ("gemini/error_429q_stop", "idle", FAILED_QUIETLY),
    ("gemini/stream_drop", "idle", FAILED_QUIETLY),
    ("opencode/busy_typed", "unknown", SILENT),
    ("opencode/interrupt_armed", "unknown", SILENT),
    ("opencode/multiline2", "unknown", SILENT),
];

#[test]
fn structured_sources_give_the_true_state() {
    let (mut right, mut unexpected, mut listed) = (0, Vec::new(), Vec::new());
    for agent in ["claude", "codex", "copilot", "gemini", "opencode"] {
        for recording in recording::of(agent) {
            let truth = recording.right();
            if truth.is_empty() {
                continue;
            }
            let world = world_of(&recording);
            let (name, got) = (format!("{agent}/{}", recording.name), world.verdict().state.name());
            let exception = NEED_THE_SCREEN.iter().find(|(case, ..)| *case == name);
            match exception {
                None if truth.iter().any(|state| state == got) => right += 1,
                Some((_, expected, _)) if *expected == got => listed.push(name),
                _ => unexpected.push(format!(
                    "{name}: {got} ({}) and not {}",
                    world.verdict().reason,
                    truth.join(" or ")
                )),
            }
        }
    }
    assert_eq!(unexpected, Vec::<String>::new(), "{right} are right, {} as listed", listed.len());
    assert_eq!(listed.len(), NEED_THE_SCREEN.len(), "a listed recording is gone");
}
