//! What a person would see after each line of a replay.

use agtmux_core::attention::CallKind;
use agtmux_core::engine::{Disposition, Engine};
use agtmux_core::explain::explain;
use agtmux_core::query::{self, PaneFilter, PaneRow};
use agtmux_core::time::Timestamp;

/// The line, and under it a row for every runtime.
pub(crate) fn line(line: &str, engine: &Engine, dispositions: &[Disposition]) -> String {
    let notes: Vec<_> = dispositions.iter().map(note).collect();
    let notes = if notes.is_empty() { String::new() } else { format!("  → {}", notes.join(", ")) };
    let mut text = format!("\n{line}{notes}\n");
    for pane in query::panes(engine, &PaneFilter { all: true, ..PaneFilter::default() }) {
        text.push_str(&row(&pane, engine));
    }
    let pending = engine.state().pending.iter().count();
    if pending > 0 || engine.state().pending.dropped > 0 {
        text.push_str(&format!("    pending {pending}, dropped {}\n", engine.state().pending.dropped));
    }
    text
}

/// The explanation of every runtime, ended ones too.
pub(crate) fn ending(engine: &Engine) -> String {
    let mut text = String::from("\nexplain\n");
    let runtimes = &engine.state().topology.runtimes;
    let mut ids: Vec<_> = runtimes.values().map(|r| (r.started_at, &r.pane, r.epoch, &r.id)).collect();
    ids.sort();
    for (_, _, _, id) in ids {
        text.push_str(&explain(engine, id).unwrap().to_string());
    }
    text
}

fn row(pane: &PaneRow, engine: &Engine) -> String {
    let Some(runtime) = &pane.runtime else {
        return format!("    {}  (no agent)\n", pane.pane.pane);
    };
    let verdict = &runtime.verdict;
    let source = match (verdict.evidence, verdict.source) {
        (Some(evidence), Some(source)) => format!("{}/{}", evidence.name(), source.name()),
        _ => "-".to_owned(),
    };
    let mut text = format!(
        "    {}#{}  {} · {} · {} · {source} · since {} · v{} · nudge {}",
        pane.pane.pane,
        runtime.epoch,
        verdict.state.name(),
        verdict.reason,
        verdict.confidence.name(),
        seconds(verdict.since),
        runtime.state_version,
        runtime.attention.nudge_seq,
    );
    let calls = runtime.attention.kind.map(CallKind::name);
    let marks = [
        runtime.attention.needs_action.then_some("needs action"),
        calls.filter(|_| !runtime.attention.needs_action),
        runtime.attention.unseen.then_some("unseen"),
        runtime.attention.acknowledged.then_some("acknowledged"),
    ];
    for mark in marks.into_iter().flatten() {
        text.push_str(&format!(" · {mark}"));
    }
    if let Some(message) = &verdict.message {
        text.push_str(&format!(" · {message:?}"));
    }
    for intent in engine.outbox() {
        if let Some(call) = intent.id().as_str().strip_prefix(&format!("notify:{}:", runtime.id)) {
            text.push_str(&format!(" · outbox: notify {call}"));
        }
    }
    text.push('\n');
    text
}

fn note(disposition: &Disposition) -> String {
    match disposition {
        Disposition::Bound { .. } => "bound".to_owned(),
        Disposition::Pending => "pending".to_owned(),
        Disposition::Duplicate { .. } => "duplicate".to_owned(),
        Disposition::OutOfOrder { .. } => "out of order".to_owned(),
        Disposition::RuntimeEnded { .. } => "runtime ended".to_owned(),
        Disposition::Unbound { why } => format!("unbound: {why}"),
    }
}

fn seconds(at: Timestamp) -> String {
    let (whole, rest) = (at.0.div_euclid(1_000), at.0.rem_euclid(1_000));
    if rest == 0 { whole.to_string() } else { format!("{whole}.{rest:03}") }
}
