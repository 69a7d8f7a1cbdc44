//! The texts of messages that are under way: kept word for word, unlike everything in the log, and only as long as needed.

use std::collections::BTreeMap;

use agtmux_core::mail::MailId;
use rusqlite::Connection;

/// What is to be done with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Keep it.
    Keep { id: MailId, text: String },
    /// Let go of it.
    Drop { id: MailId },
}

pub(super) fn write(connection: &Connection, text: &Text) -> rusqlite::Result<()> {
    match text {
        Text::Keep { id, text } => connection
            .prepare_cached("INSERT INTO message_texts (id, text) VALUES (?1, ?2)")?
            .execute((id.as_str(), text))?,
        Text::Drop { id } => {
            connection.prepare_cached("DELETE FROM message_texts WHERE id = ?1")?.execute([id.as_str()])?
        }
    };
    Ok(())
}

/// The texts that are kept, of these messages or of all.
pub(super) fn read(connection: &Connection, of: Option<&[MailId]>) -> rusqlite::Result<BTreeMap<MailId, String>> {
    let mut statement = connection.prepare_cached("SELECT id, text FROM message_texts ORDER BY id")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut texts = BTreeMap::new();
    for row in rows {
        let (id, text) = row?;
        if let Some(id) = MailId::parse(&id).filter(|id| of.is_none_or(|of| of.contains(id))) {
            texts.insert(id, text);
        }
    }
    Ok(texts)
}
