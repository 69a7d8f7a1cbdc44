-- The texts of messages that are under way. The log says what becomes of each message, and never holds its text: that is kept
-- here word for word until the message has come to an end, and then let go of.
CREATE TABLE message_texts (
    id   TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
