//! What operating system commands say.

use super::sighting::{PromptMark, Sighting, Statement, filled};
use super::text;

/// The meaning of an OSC string, given without its introducer and terminator. Most have none for us: colours, links,
/// the clipboard.
pub(super) fn sighting(payload: &[u8]) -> Option<Sighting> {
    let payload = text::clean(payload);
    let (number, rest) = payload.split_once(';')?;
    match number {
        "0" | "2" => Some(Sighting::Title(rest.to_owned())),
        "9" => notification_or_progress(rest),
        "99" => kitty_notification(rest),
        "133" => prompt(rest).map(Sighting::Prompt),
        "777" => notify(rest),
        "7501" => program(rest),
        _ => None,
    }
}

/// `OSC 9 ; TEXT`, unless it is one of ConEmu's commands, `OSC 9 ; NUMBER ; …`, of which 4 is the progress bar.
fn notification_or_progress(text: &str) -> Option<Sighting> {
    let mut fields = text.split(';');
    let command = fields.next().filter(|field| (1..=2).contains(&field.len()));
    match command.and_then(|command| command.parse::<u8>().ok()) {
        Some(4) => {
            let state = fields.next()?.parse().ok()?;
            let percent = fields.next().and_then(|percent| percent.parse().ok());
            Some(Sighting::Progress { state, percent })
        }
        Some(_) => None,
        None => Some(Sighting::Notify { title: None, body: filled(text) }),
    }
}

/// `OSC 99 ; METADATA ; TEXT`. Text in base64 is left out: that somebody is notified is what counts.
fn kitty_notification(text: &str) -> Option<Sighting> {
    let (metadata, text) = text.split_once(';')?;
    let value = |key: &str| metadata.split(':').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    let text = filled(text).filter(|_| value("e") != Some("1"));
    match value("p").unwrap_or("title") {
        "title" => Some(Sighting::Notify { title: text, body: None }),
        "body" => Some(Sighting::Notify { title: None, body: text }),
        _ => None,
    }
}

/// `OSC 133 ; KIND ; …`.
fn prompt(text: &str) -> Option<PromptMark> {
    let mut fields = text.split(';');
    match fields.next()? {
        "A" => Some(PromptMark::PromptStart),
        "B" => Some(PromptMark::InputStart),
        "C" => Some(PromptMark::OutputStart),
        "D" => Some(PromptMark::CommandEnd { exit: fields.next().and_then(|code| code.parse().ok()) }),
        _ => None,
    }
}

/// `OSC 777 ; notify ; TITLE ; BODY`. A title that is a state is a statement; any other is somebody's notification.
fn notify(text: &str) -> Option<Sighting> {
    let text = text.strip_prefix("notify;")?;
    let (title, body) = text.split_once(';').unwrap_or((text, ""));
    Some(match Statement::new(title, body) {
        Some(statement) => Sighting::Osc777(statement),
        None => Sighting::Notify { title: filled(title), body: filled(body) },
    })
}

/// `OSC 7501 ; state=STATE : app=APP : kind=KIND`. Without a state it is a question to the terminal.
fn program(text: &str) -> Option<Sighting> {
    let value = |key: &str| text.split(':').find_map(|pair| filled(pair.strip_prefix(key)?.strip_prefix('=')?));
    Some(Sighting::Program { state: value("state")?, kind: value("kind"), app: value("app") })
}
