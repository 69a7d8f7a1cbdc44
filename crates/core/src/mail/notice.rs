//! What senders are told of their messages: that one was delivered, or was not, and that it is time to look what came of it.
//!
//! Notices are messages of agtmux itself to the agent that sent. Each has an id that is made of the message's, so that it is sent
//! once whoever asks how often; nobody is told what became of a notice, so that they cause no more of their kind.

use super::letter::{Category, Letter, MailId, Mode, Party, Wanted};
use super::passing::Late;
use super::post::{Entry, Post};
use super::receptive::Hindrance;
use super::stage::{Ended, Stage};
use crate::engine::Engine;
use crate::id::RuntimeId;
use crate::time::{Span, Timestamp};

/// The kind that tells to look what came of a message.
const LOOK: &str = "look";

/// All kinds of notices. The id of one begins with its kind.
pub(super) const NOTICES: [&str; 4] = ["done", "late", LOOK, "lost"];

/// How many ids for a notice are tried. All but the first are there for ids that others chose before they were kept from it.
const MOST_TAKEN: u32 = 10;

/// A message that agtmux itself is to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The message.
    pub letter: Letter,
    /// Its text.
    pub text: String,
}

impl Engine {
    /// The notices that are to be sent and have not been.
    pub fn notices(&self) -> Vec<Notice> {
        let mail = &self.state().mail;
        let mail_of_others = mail.letters.values().filter(|entry| entry.letter.category == Category::Mail);
        mail_of_others.flat_map(|entry| self.notices_of(entry)).collect()
    }

    /// The messages that come again and were given to their agent or came to an end, as they come next. As long as one waits, none
    /// follows it, so that an agent that cannot be reminded does not find all of them at once.
    pub fn recurring(&self) -> Vec<(MailId, Letter)> {
        let mail = &self.state().mail;
        let due = mail.letters.values().filter(|entry| !entry.can_be_taken_back() && entry.is_to_be_followed());
        // Nobody is reminded who is gone, nor by an agent that is.
        let lives = |id: &RuntimeId| self.state().topology.live(id).is_some();
        let wanted = due.filter(|entry| lives(&entry.letter.to) && entry.letter.from.runtime().is_none_or(lives));
        let is_taken = |id: &MailId| mail.get(id).is_some();
        let next = wanted.filter_map(|entry| Some((entry.letter.id.clone(), entry.letter.next(self.now(), is_taken)?)));
        next.collect()
    }

    fn notices_of(&self, entry: &Entry) -> Vec<Notice> {
        let is_late = entry.stage == Stage::Queued && entry.late == Late::Noticed;
        if entry.stage.ended().is_none() && !is_late {
            return Vec::new();
        }
        let letter = &entry.letter;
        // A sender that is gone has nobody to be told.
        let Some(sender) = letter.from.runtime().filter(|id| self.state().topology.live(id).is_some()) else {
            return Vec::new();
        };
        let (to, original) = (format!("{} ({})", letter.to_name, letter.to), &letter.preview);
        let notice = |kind: &str, text: String, at: Option<Timestamp>| {
            let id = self.state().mail.id_of_notice(kind, &letter.id)?;
            let hint = if kind == LOOK {
                format!("\nYou can check status with: sm output {}", letter.to)
            } else {
                String::new()
            };
            let text = format!("{text}\nOriginal: \"{original}\"{hint}");
            let letter = Letter {
                id,
                to: sender.clone(),
                to_name: letter.from.name().to_owned(),
                from: Party::System,
                mode: Mode::Sequential,
                category: Category::Notice,
                bytes: text.len() as u64,
                digest: Letter::digest_of(&text),
                preview: text.lines().next().unwrap_or_default().to_owned(),
                queued_at: entry.since,
                timeout: None,
                reply_to: Some(letter.id.clone()),
                hops: 0,
                not_before: at,
                every: None,
                wanted: Wanted::default(),
                series: None,
                again: None,
                command: false,
            };
            Some(Notice { letter, text })
        };
        let Some(ended) = entry.stage.ended() else {
            let waits = self.mail_hindrance(entry).map_or("waiting_to_be_delivered", Hindrance::name).replace('_', " ");
            let waits = self.mail_because(entry).unwrap_or(waits);
            let ago = spoken(Span(self.now().0.saturating_sub(entry.waits_since().0)));
            let late = notice("late", format!("Message to {to} was not delivered in {ago}: {waits}"), None);
            return late.into_iter().collect();
        };
        let mut notices = Vec::new();
        let is_delivered = matches!(ended, Ended::Confirmed | Ended::Unconfirmed);
        if is_delivered && letter.wanted.on_delivery {
            let how = if ended == Ended::Confirmed { "delivered to" } else { "typed, but not confirmed by," };
            notices.extend(notice("done", format!("Message {how} {to}"), None));
        }
        if let Some(after) = letter.wanted.after.filter(|_| is_delivered) {
            let ago = spoken(after);
            let text = format!("Reminder: {ago} since your message to {to} was delivered");
            notices.extend(notice(LOOK, text, Some(entry.since + after)));
        }
        let why = entry.steps.last().map_or("", |step| step.why.as_str());
        if matches!(ended, Ended::Expired | Ended::Dead) {
            let kept = if entry.stranded.is_some() { "; it is sent again if its conversation is resumed" } else { "" };
            notices.extend(notice("lost", format!("Message to {to} was not delivered: {why}{kept}"), None));
        }
        notices
    }
}

impl Post {
    /// The id of a notice that is yet to be sent about a message: `done_m_1`, or the first of that kind that is no other message's.
    /// None if the notice was sent.
    fn id_of_notice(&self, kind: &str, about: &MailId) -> Option<MailId> {
        let mut ids = notice_ids(kind, about);
        let told = |known: &Letter| known.category == Category::Notice && known.reply_to.as_ref() == Some(about);
        let id = ids.find(|id| self.get(id).is_none_or(|known| told(&known.letter)))?;
        self.get(&id).is_none().then_some(id)
    }
}

/// The ids that a notice about a message may have.
pub(super) fn notice_ids(kind: &str, about: &MailId) -> impl Iterator<Item = MailId> {
    let first = format!("{kind}_{about}");
    let others = (2..=MOST_TAKEN).map({
        let first = first.clone();
        move |number| MailId::made_of(&format!("{first}_{number}"))
    });
    std::iter::once(MailId::made_of(&first)).chain(others)
}

/// A length of time as people say it.
pub(super) fn spoken(span: Span) -> String {
    let seconds = span.0 / 1_000;
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        _ => format!("{}h", seconds / 3_600),
    }
}
