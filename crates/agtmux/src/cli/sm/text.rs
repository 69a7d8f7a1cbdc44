//! Messages as people read them.

use agtmux_wire::mail::{Message, MessageList};

use crate::cli::output::printable;
use crate::cli::table::Sheet;

/// A message in a line.
pub(super) fn line(message: &Message) -> String {
    let waits = message.estimated_delivery.as_deref().map(|what| what.replace('_', " "));
    let detail = match (&message.verdict, message.queue_position) {
        (Some(_), _) => why(message).to_owned(),
        (None, Some(place)) => format!("number {place}, {}", waits.unwrap_or_default()),
        (None, None) => waits.unwrap_or_default(),
    };
    let (id, status, to) = (&message.id, &message.status, &message.to.name);
    printable(&format!("{id} {status} for {to}: {detail}")).trim_end_matches([':', ' ']).to_owned()
}

/// Who wrote a message and when, what it answers, by which way it came, and what it came to on whose word.
pub fn way(message: &Message) -> String {
    let reply = message.reply_to.as_ref().map(|id| format!(", answers {id}")).unwrap_or_default();
    let channel = message.channel.as_ref().map(|channel| format!(", by {channel}")).unwrap_or_default();
    let evidence = match message.status.as_str() {
        "confirmed" => format!(", confirmed by its {}", why(message)),
        status @ "unconfirmed" => format!(", {status}: {}", why(message)),
        _ => String::new(),
    };
    format!("from {} ({}) at {}{reply}{channel}{evidence}", message.from.name, message.from.id, message.queued_at)
}

/// The last thing that happened to a message.
pub(super) fn why(message: &Message) -> &str {
    message.steps.last().map_or("", |step| &step.why)
}

pub(super) fn story(message: &Message) -> String {
    let Message { from, to, .. } = message;
    let unknown = if message.verdict.as_deref() == Some("confirmed") { "not known" } else { "not delivered yet" };
    let way = message.channel.as_deref().unwrap_or(unknown);
    let since = message.channel_reason.as_ref().map(|why| format!(", since {why}")).unwrap_or_default();
    let mut lines = vec![
        line(message),
        format!("from     {} ({})", from.name, from.id),
        format!("to       {} ({})", to.name, to.id),
        format!("mode     {}{}", message.delivery_mode, if message.interrupted { ", interrupted a turn" } else { "" }),
        format!("text     {} bytes: {}", message.bytes, message.preview),
        format!("way      {way}{since}"),
        format!("verdict  {}", message.verdict.as_deref().unwrap_or("none yet")),
    ];
    if let Some(first) = &message.again_of {
        let before = if message.redelivered { ", which the agent may have been given before" } else { "" };
        lines.push(format!("again    {first}, for who went on with its conversation{before}"));
    }
    lines.extend(message.sent_again_as.iter().map(|id| format!("sent as  {id}, to who went on with the conversation")));
    lines.extend(message.steps.iter().map(|step| format!("{}  {:<11} {}", step.at, step.to, step.why)));
    lines.iter().map(|line| printable(line.trim_end()) + "\n").collect()
}

pub fn table(list: &MessageList, color: bool) -> String {
    let mut sheet = Sheet::new(&["ID", "TO", "FROM", "STATUS", "MODE", "WAITS FOR", "TEXT"], color);
    for message in &list.items {
        let waits =
            message.estimated_delivery.as_deref().unwrap_or("").trim_start_matches("waiting_for_").replace('_', " ");
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
