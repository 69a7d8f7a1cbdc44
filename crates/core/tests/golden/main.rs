//! The log is a stored format: every kind of event that was ever written must be read, and is written as it was.
//!
//! `events/v1/` holds one event of every kind. After adding a kind, run once with `AGTMUX_BLESS=1` to write its file;
//! a file that exists is never to be changed. A change that breaks one needs a new format number instead.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads its golden files")]

mod samples;

use std::path::PathBuf;

use agtmux_core::action::Step;
use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, Fact};
use agtmux_core::mail::MailFact;
use agtmux_core::signal::Signal;
use serde_json::{Value, json};

macro_rules! kinds {
    ($function:ident($type:ty), $list:ident: $($pattern:pat => $name:literal),* $(,)?) => {
        const $list: &[&str] = &[$($name),*];

        /// Exhaustive: a new variant does not compile until it is listed, and listed it needs a golden file.
        fn $function(value: &$type) -> &'static str {
            match value {
                $($pattern => $name),*
            }
        }
    };
}

kinds! { fact_kind(Fact), FACTS:
    Fact::PolicySet { .. } => "policy_set",
    Fact::TargetAdded { .. } => "target_added",
    Fact::TargetRemoved { .. } => "target_removed",
    Fact::TargetHealth { .. } => "target_health",
    Fact::ServerSeen { .. } => "server_seen",
    Fact::ServerGone { .. } => "server_gone",
    Fact::PanePlaced { .. } => "pane_placed",
    Fact::PaneGone { .. } => "pane_gone",
    Fact::RuntimeStarted { .. } => "runtime_started",
    Fact::ProcessChanged { .. } => "process_changed",
    Fact::RuntimeEnded { .. } => "runtime_ended",
    Fact::Named { .. } => "named",
    Fact::Session { .. } => "session",
    Fact::Conversation { .. } => "conversation",
    Fact::Signal(_) => "signal",
    Fact::Seen { .. } => "seen",
    Fact::Acknowledged { .. } => "acknowledged",
    Fact::IntentDone { .. } => "intent_done",
    Fact::Refused { .. } => "refused",
    Fact::Action(_) => "action",
    Fact::Mail(_) => "mail",
    Fact::Tick => "tick",
    Fact::Checkpoint { .. } => "checkpoint",
}

kinds! { signal_kind(Signal), SIGNALS:
    Signal::TurnStarted => "turn_started",
    Signal::TurnEnded { .. } => "turn_ended",
    Signal::Idle => "idle",
    Signal::Blocked { .. } => "blocked",
    Signal::Unblocked => "unblocked",
    Signal::Working { .. } => "working",
    Signal::WorkEnded => "work_ended",
    Signal::Background { .. } => "background",
    Signal::Composer { .. } => "composer",
    Signal::StillSo => "still_so",
    Signal::Withdrawn => "withdrawn",
    Signal::Unsupported { .. } => "unsupported",
}

kinds! { step_kind(Step), STEPS:
    Step::Prepared { .. } => "prepared",
    Step::Permitted { .. } => "permitted",
    Step::Started { .. } => "started",
    Step::Done { .. } => "done",
    Step::Failed { .. } => "failed",
    Step::Refused { .. } => "refused",
}

kinds! { mail_kind(MailFact), MAIL:
    MailFact::Opened { .. } => "opened",
    MailFact::Queued { .. } => "queued",
    MailFact::Leased { .. } => "leased",
    MailFact::Started { .. } => "started",
    MailFact::Interrupted { .. } => "interrupted",
    MailFact::Offered { .. } => "offered",
    MailFact::InTheWay { .. } => "in_the_way",
    MailFact::SetAside { .. } => "set_aside",
    MailFact::PutBack { .. } => "put_back",
    MailFact::Returned { .. } => "returned",
    MailFact::Submitted { .. } => "submitted",
    MailFact::Unconfirmed { .. } => "unconfirmed",
    MailFact::Confirmed { .. } => "confirmed",
    MailFact::Cancelled { .. } => "cancelled",
    MailFact::Busy { .. } => "busy",
    MailFact::Ready { .. } => "ready",
}

/// The name of the golden file of an event's kind.
fn name(event: &Event) -> String {
    match &event.fact {
        Fact::Signal(signal) => format!("signal_{}", signal_kind(&signal.signal)),
        Fact::Action(action) => format!("action_{}", step_kind(&action.step)),
        Fact::Mail(step) => format!("mail_{}", mail_kind(step)),
        fact => fact_kind(fact).to_owned(),
    }
}

fn names() -> impl Iterator<Item = String> {
    let facts = FACTS.iter().filter(|kind| !["signal", "action", "mail"].contains(kind)).map(|kind| (*kind).to_owned());
    let signals = SIGNALS.iter().map(|kind| format!("signal_{kind}"));
    let mail = MAIL.iter().map(|kind| format!("mail_{kind}"));
    facts.chain(signals).chain(STEPS.iter().map(|kind| format!("action_{kind}"))).chain(mail)
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", "events", "v1", &format!("{name}.json")].iter().collect()
}

#[test]
fn every_kind_is_read_and_written_as_it_was() {
    let samples = samples::events();
    for name_of_kind in names() {
        let sample = samples.iter().find(|event| name(event) == name_of_kind);
        let sample = sample.unwrap_or_else(|| panic!("no sample of {name_of_kind}"));
        let path = file(&name_of_kind);
        if std::env::var("AGTMUX_BLESS").is_ok() && !path.exists() {
            std::fs::write(&path, written(sample)).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let read: Event = serde_json::from_str(&golden).unwrap();
        assert_eq!(read, *sample, "{name_of_kind} is read as it was meant");
        assert_eq!(written(&read), golden, "{name_of_kind} is written as it was");
    }
}

#[test]
fn no_golden_file_is_left_over() {
    let known: Vec<_> = names().map(|name| file(&name)).collect();
    for entry in std::fs::read_dir(file("x").parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert!(known.contains(&path), "{} belongs to no kind", path.display());
    }
}

/// A reader of today takes what a writer of tomorrow adds.
#[test]
fn unknown_fields_are_ignored() {
    for sample in samples::events() {
        let mut value = serde_json::to_value(&sample).unwrap();
        add_fields(&mut value);
        let read: Event = serde_json::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", name(&sample)));
        assert_eq!(read, sample);
    }
}

/// Golden events are applied without complaint, the checkpoint included.
#[test]
fn every_kind_is_applied() {
    let mut engine = Engine::new();
    for sample in samples::events() {
        engine.apply(&sample);
    }
    assert_eq!(engine.state().ignored.newer_format, 0);
}

fn written(event: &Event) -> String {
    format!("{}\n", serde_json::to_string(event).unwrap())
}

fn add_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A map of lifetimes by agent has no field names, so nothing can be added to it unnoticed.
            for (name, field) in fields.iter_mut() {
                if name != "lifetimes" {
                    add_fields(field);
                }
            }
            fields.insert("of_tomorrow".to_owned(), json!({ "anything": [1, null] }));
        }
        Value::Array(items) => items.iter_mut().for_each(add_fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
