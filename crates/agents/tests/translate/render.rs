//! Readings as text.

use agtmux_agents::Reading;
use agtmux_agents::translate::Translation;
use agtmux_core::signal::{Blocking, InputKind, Outcome, Signal, Work};

/// `event → readings`, on one line for each reading.
pub(crate) fn translation(told: &Translation) -> String {
    let event = &told.event;
    match (told.foreign, told.readings.as_slice()) {
        (Some(why), _) => format!("{event:<22} ignored: {why}\n"),
        (None, []) => format!("{event:<22} -\n"),
        (None, readings) => {
            let lines = readings.iter().enumerate().map(|(place, of)| {
                let event = if place == 0 { event } else { "" };
                format!("{event:<22} {}\n", reading(of))
            });
            lines.collect()
        }
    }
}

pub(crate) fn reading(reading: &Reading) -> String {
    let signal = match &reading.signal {
        Signal::TurnStarted => "turn started".to_owned(),
        Signal::TurnEnded { outcome: Outcome::Failed { cause } } => format!("turn failed: {}", cause.name()),
        Signal::TurnEnded { outcome } => format!("turn ended: {outcome:?}").to_lowercase(),
        Signal::Idle => "idle".to_owned(),
        Signal::Blocked { on: Blocking::Approval { subject, prompt_hash } } => {
            let hash = prompt_hash.as_deref().map_or("no hash", |hash| &hash[..6]);
            format!("asks approval of {} ({hash})", subject.as_deref().unwrap_or("?"))
        }
        Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } } => "asks a question".to_owned(),
        Signal::Blocked { on } => format!("blocked: {on:?}"),
        Signal::Unblocked => "unblocked".to_owned(),
        Signal::Working { with: Work::Tool { name } } => format!("tool {name}"),
        Signal::Working { with: Work::Retrying { cause } } => format!("retrying: {}", cause.name()),
        Signal::Working { with } => format!("{with:?}").to_lowercase(),
        Signal::WorkEnded => "work ended".to_owned(),
        Signal::Background { count } => format!("{count} in the background"),
        Signal::StillSo => "still so".to_owned(),
        Signal::Withdrawn => "withdrawn".to_owned(),
        Signal::Unsupported { what } => format!("UNSUPPORTED {what}"),
        Signal::Composer { is } => format!("composer {is:?}"),
    };
    let message = reading.message.as_ref().map(|text| format!(" {:?}", text.chars().take(60).collect::<String>()));
    let key = reading.key.as_ref().map(|key| format!("  key {}", key.chars().take(36).collect::<String>()));
    format!("{signal}{}{}", message.unwrap_or_default(), key.unwrap_or_default())
}
