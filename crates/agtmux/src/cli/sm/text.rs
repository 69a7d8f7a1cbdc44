//! Messages as people read them.

use agtmux_wire::mail::{Message, MessageList};

use crate::cli::output::printable;
use crate::cli::table::Sheet;

/// A message in a line.
pub(super) fn line(message: &Message) -> String {
    let waits = waits_for(message);
    let detail = match (&message.verdict, message.queue_position) {
        (Some(_), _) => why(message).to_owned(),
        (None, Some(place)) => format!("number {place}, {}", waits.unwrap_or_default()),
        (None, None) => waits.unwrap_or_default(),
    };
    let (id, status, to) = (&message.id, &message.status, &message.to.name);
    let to = if message.command { format!("{to} to run") } else { to.clone() };
    printable(&format!("{id} {status} for {to}: {detail}")).trim_end_matches([':', ' ']).to_owned()
}

/// What a message waits for: what exactly, if that is known, or the name of it.
pub(super) fn waits_for(message: &Message) -> Option<String> {
    let waits = message.estimated_delivery.as_deref()?;
    Some(match (&message.waits_because, waits) {
        (Some(because), "now") => format!("being tried again; last time {because}"),
        (Some(because), "waiting_to_try_again") => because.clone(),
        (Some(because), waits) => format!("{}: {because}", waits.replace('_', " ")),
        (None, "now") if matches!(message.status.as_str(), "leased" | "started") => "being delivered".to_owned(),
        (None, waits) => waits.replace('_', " "),
    })
}

/// Who wrote a message and when, what it answers, by which way it came, and what it came to on whose word.
pub fn way(message: &Message) -> String {
    let reply = answered(message).map(|answered| format!(", answers {answered}")).unwrap_or_default();
    let channel = message.channel.as_ref().map(|channel| format!(", by {channel}")).unwrap_or_default();
    let evidence = match message.status.as_str() {
        "confirmed" => format!(", confirmed by its {}", why(message)),
        status @ "unconfirmed" => format!(", {status}: {}", why(message)),
        _ => String::new(),
    };
    format!("from {} ({}) at {}{reply}{channel}{evidence}", message.from.name, message.from.id, message.queued_at)
}

/// What a message answers, and whether anybody remembers that.
fn answered(message: &Message) -> Option<String> {
    let forgotten = if message.reply_to_forgotten { " (not remembered)" } else { "" };
    message.reply_to.as_ref().map(|id| format!("{id}{forgotten}"))
}

/// The last thing that happened to a message.
pub(super) fn why(message: &Message) -> &str {
    message.steps.last().map_or("", |step| &step.why)
}

pub(super) fn story(message: &Message) -> String {
    let Message { from, to, .. } = message;
    let unknown = match message.verdict.as_deref() {
        None => "not delivered yet",
        Some("not_delivered") => "none, it was not delivered",
        Some(_) => "not known",
    };
    let way = message.channel.as_deref().unwrap_or(unknown);
    let since = message.channel_reason.as_ref().map(|why| format!(", since {why}")).unwrap_or_default();
    let mut lines = vec![
        line(message),
        format!("from     {} ({})", from.name, from.id),
        format!("to       {} ({})", to.name, to.id),
        format!("kind     {}{}", message.category, if message.command { ", a command to run" } else { "" }),
        format!("mode     {}{}", message.delivery_mode, if message.interrupted { ", interrupted a turn" } else { "" }),
        format!("text     {} bytes: {}", message.bytes, message.preview),
        format!("way      {way}{since}"),
        format!("verdict  {}", message.verdict.as_deref().unwrap_or("none yet")),
    ];
    lines.extend(message.not_before.iter().map(|at| format!("due      {at}{}", recurrence(message))));
    lines.extend(message.timeout_at.iter().map(|at| format!("timeout  {at}")));
    lines.extend(answered(message).map(|answered| format!("answers  {answered}")));
    if message.notify_on_delivery {
        lines.push("tells    its sender when it was delivered".to_owned());
    }
    let after = message.notify_after_seconds.iter();
    lines.extend(after.map(|after| format!("tells    its sender {} after it was delivered", span(*after))));
    if let Some(first) = &message.again_of {
        let before = if message.redelivered { ", which the agent may have been given before" } else { "" };
        lines.push(format!("again    {first}, for who went on with its conversation{before}"));
    }
    lines.extend(message.sent_again_as.iter().map(|id| format!("sent as  {id}, to who went on with the conversation")));
    lines.extend(message.steps.iter().map(|step| format!("{}  {:<11} {}", step.at, step.to, step.why)));
    lines.iter().map(|line| printable(line.trim_end()) + "\n").collect()
}

fn recurrence(message: &Message) -> String {
    message.every_seconds.map(|every| format!(", again every {}", span(every))).unwrap_or_default()
}

/// So many seconds as they are written on a command line, `1h30m` for instance.
fn span(seconds: u64) -> String {
    let parts = [(seconds / 3_600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let text: String = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Reminders, with their times.
pub(super) fn reminders(list: &MessageList, color: bool) -> String {
    let mut sheet = Sheet::new(&["ID", "TO", "FROM", "STATUS", "DUE", "EVERY", "TEXT"], color);
    for message in &list.items {
        let cells = [
            message.id.clone(),
            message.to.name.clone(),
            message.from.name.clone(),
            message.status.clone(),
            message.not_before.clone().unwrap_or_default(),
            message.every_seconds.map(span).unwrap_or_default(),
            message.preview.clone(),
        ];
        sheet.row(None, &cells);
    }
    sheet.render()
}

pub fn table(list: &MessageList, color: bool) -> String {
    let mut sheet = Sheet::new(&["ID", "TO", "FROM", "STATUS", "MODE", "WAITS FOR", "TEXT"], color);
    for message in &list.items {
        let waits = waits_for(message).unwrap_or_default();
        let waits = waits.trim_start_matches("waiting for ").to_owned();
        let cells = [
            message.id.clone(),
            message.to.name.clone(),
            message.from.name.clone(),
            message.status.clone(),
            message.delivery_mode.clone(),
            waits,
            message.preview.clone(),
        ];
        sheet.row(None, &cells);
    }
    sheet.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(fields: serde_json::Value) -> Message {
        let mut message = serde_json::json!({
            "schema_version": 1, "id": "m_1", "status": "queued", "delivery_mode": "sequential",
            "to": {"name": "api", "id": "rt_1"}, "from": {"name": "me", "id": "uid 1"}, "queued_at": "",
            "category": "mail", "bytes": 1, "preview": "", "steps": []
        });
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn the_way_of_a_message_is_what_it_came_to() {
        for (fields, way) in [
            (serde_json::json!({}), "not delivered yet"),
            (serde_json::json!({"status": "expired", "verdict": "not_delivered"}), "none, it was not delivered"),
            (serde_json::json!({"status": "unconfirmed", "verdict": "unconfirmed"}), "not known"),
            (serde_json::json!({"status": "submitted", "channel": "tmux"}), "tmux"),
        ] {
            let story = story(&message(fields));
            assert!(story.contains(&format!("\nway      {way}\n")), "{story}");
        }
    }

    #[test]
    fn all_that_was_asked_for_is_told() {
        let reminder = message(serde_json::json!({
            "category": "reminder", "not_before": "2030-01-01T00:00:00Z", "every_seconds": 5_400, "reply_to": "m_0", "reply_to_forgotten": true,
            "timeout_at": "2031-01-01T00:00:00Z", "notify_on_delivery": true, "notify_after_seconds": 300
        }));
        let story = story(&reminder);
        for line in [
            "kind     reminder",
            "due      2030-01-01T00:00:00Z, again every 1h30m",
            "timeout  2031-01-01T00:00:00Z",
            "answers  m_0 (not remembered)",
            "tells    its sender when it was delivered",
            "tells    its sender 5m after it was delivered",
        ] {
            assert!(story.lines().any(|shown| shown == line), "{line}: {story}");
        }
        let list = reminders(&MessageList { schema_version: 1, items: vec![reminder] }, false);
        assert!(list.contains("2030-01-01T00:00:00Z  1h30m"), "{list}");
    }
}
