//! Every recording as text: the state words, the composer and the rules that matched.

use std::fmt::Write as _;

use agtmux_agents::Registry;
use agtmux_agents::screen::{Enter, ScreenReading, read};

use crate::recordings::{Recording, all, of};

/// The agents whose manifests say how their screens are read.
const AGENTS: [&str; 5] = ["claude", "codex", "copilot", "gemini", "opencode"];

#[test]
fn every_recording_reads_as_committed() {
    let registry = Registry::builtin();
    for agent in AGENTS {
        let manifest = registry.get(agent).expect("a built-in agent");
        let mut text = String::new();
        for recording in of("recordings").iter().filter(|recording| recording.agent == agent) {
            let reading = read(manifest, &recording.screen(), &recording.context);
            let _ = writeln!(text, "{}", render(recording, &reading));
        }
        insta::assert_snapshot!(agent, text);
    }
}

#[test]
fn what_enter_does_is_right_for_every_recording() {
    let registry = Registry::builtin();
    let mut wrong = Vec::new();
    for recording in all() {
        let manifest = registry.get(&recording.agent).expect("a built-in agent");
        let reading = read(manifest, &recording.screen(), &recording.context);
        let Recording { agent, case, enter, draft, .. } = &recording;
        if reading.composer.enter.name() != enter {
            wrong.push(format!("{agent}/{case}: {} for {enter}", reading.composer.enter.name()));
        }
        let typed = reading.composer.draft.unwrap_or_default();
        let shell = reading.composer.enter == Enter::RunCommand;
        if typed != *draft && (draft != "*" || typed.is_empty()) && !shell {
            wrong.push(format!("{agent}/{case}: draft {typed:?} for {draft:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn render(recording: &Recording, reading: &ScreenReading) -> String {
    let composer = &reading.composer;
    let mut lines = vec![format!("{}: {}", recording.case, composer.enter.name())];
    let signals = reading.readings.iter().map(|reading| {
        let message = reading.message.as_deref().map_or(String::new(), |message| format!(" {message:?}"));
        format!("  says {}{message}", serde_json::to_string(&reading.signal).expect("JSON"))
    });
    lines.extend(signals);
    lines.extend(composer.draft.iter().map(|draft| format!("  draft {draft:?}")));
    lines.extend(composer.ghost.iter().map(|ghost| format!("  ghost {ghost:?}")));
    if composer.queued > 0 {
        lines.push(format!("  queued {}", composer.queued));
    }
    if let Some(dialog) = &composer.dialog {
        lines.push(format!("  dialog {:?}", dialog.title.as_deref().unwrap_or_default()));
        lines.extend(dialog.options.iter().map(|option| {
            let mark = if option.selected { ">" } else { " " };
            format!("   {mark} {} {:?}", option.key.as_deref().unwrap_or("-"), option.label)
        }));
    }
    lines.extend(
        reading.matched.iter().map(|found| format!("  rule {} in {}: {:?}", found.rule, found.region, found.text)),
    );
    lines.join("\n")
}
