-- What actions on agents were decided on, and the chain of everything that was done or refused.

-- The log holds every snapshot whole; these rows are for people with a sqlite3 shell, and go with the events of their time.
CREATE TABLE action_snapshots (
    snapshot_id   TEXT PRIMARY KEY,
    verb          TEXT    NOT NULL,
    target        TEXT    NOT NULL,
    server_id     TEXT    NOT NULL,   -- pane ids start again with every server, so a pane is named with its server's life
    server_pid    INTEGER NOT NULL,
    server_start  INTEGER NOT NULL,
    pane_id       TEXT    NOT NULL,
    runtime_id    TEXT,
    state_version INTEGER,
    observed_at   INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    nonce         TEXT    NOT NULL    -- the random part of the id: who does not know it cannot act on the snapshot
) STRICT, WITHOUT ROWID;

CREATE INDEX action_snapshots_by_expiry ON action_snapshots (expires_at);

-- Every step of every action, each row bound to the one before it:
--     hash = sha256(prev_hash || newline || body), in lower-case hexadecimal; the first prev_hash is 64 zeros.
-- The columns from seq to actor repeat parts of body for queries; body is what counts.
-- Rows are never changed. Old ones go from the front, and the row that says so holds the hash of the last that went.
CREATE TABLE audit (
    n         INTEGER PRIMARY KEY,    -- counts the rows ever written, without a gap
    seq       INTEGER UNIQUE,         -- the event that the row is about; none where old rows were let go
    at        INTEGER NOT NULL,
    action_id TEXT,
    step      TEXT    NOT NULL,
    actor     TEXT    NOT NULL,       -- the runtime of an agent, or the user id of a person
    body      TEXT    NOT NULL,
    prev_hash TEXT    NOT NULL,
    hash      TEXT    NOT NULL
) STRICT;

-- Their rows are compared with the log.
CREATE INDEX events_actions ON events (seq) WHERE event_type = 'action';

CREATE INDEX audit_by_action ON audit (action_id, n) WHERE action_id IS NOT NULL;

-- Actions up to here were logged before there was a chain.
ALTER TABLE meta ADD COLUMN audit_after INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET audit_after = (SELECT coalesce(max(seq), 0) FROM events);
