-- The log is the truth. Every other table is either about the log (payloads, snapshots, meta) or a projection of
-- it: rows that can be thrown away and made again, kept for history queries and for people with a sqlite3 shell.
-- All times are milliseconds since the Unix epoch, all columns named body or capabilities are JSON.

CREATE TABLE meta (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    created_at   INTEGER NOT NULL,
    epoch        INTEGER NOT NULL,  -- grows with every owner; an owner that finds another epoch than its own stops writing
    boot_id      TEXT    NOT NULL,  -- the boot in which the current owner runs
    seq_reserved INTEGER NOT NULL,  -- every seq handed out so far is smaller
    closed       INTEGER NOT NULL   -- whether the last owner closed the database in order
) STRICT;

CREATE TABLE events (
    seq             INTEGER PRIMARY KEY,
    v               INTEGER NOT NULL,
    event_type      TEXT    NOT NULL,
    target          TEXT,
    runtime_id      TEXT,             -- what the event is about; of a signal that is not bound, what it claims
    event_id        TEXT,
    source          TEXT,
    source_event_id TEXT,
    source_seq      INTEGER,
    dedupe_key      TEXT,
    event_time      INTEGER,
    ingested_at     INTEGER NOT NULL,
    bind_status     TEXT CHECK (bind_status IN
        ('pending_bind', 'bound', 'duplicate', 'out_of_order', 'runtime_ended', 'dropped_unbound')),
    body            TEXT    NOT NULL
) STRICT;

-- A start looks for the newest checkpoint, which may lie far back.
CREATE INDEX events_checkpoints ON events (seq) WHERE event_type = 'checkpoint';

CREATE INDEX events_by_runtime ON events (runtime_id, seq) WHERE runtime_id IS NOT NULL;

-- Observations are logged unfiltered, repeats included, so only the first occurrence can be unique.
CREATE UNIQUE INDEX events_first_occurrence ON events (runtime_id, source, dedupe_key) WHERE bind_status = 'bound';

-- Raw payloads live apart from the log because they are let go much sooner.
CREATE TABLE payloads (
    seq        INTEGER PRIMARY KEY REFERENCES events (seq) ON DELETE CASCADE,
    expires_at INTEGER NOT NULL,
    raw        TEXT    NOT NULL
) STRICT;

CREATE INDEX payloads_by_expiry ON payloads (expires_at);

-- A snapshot is a cache of the engine's state; one in another format is ignored and the log replayed instead.
CREATE TABLE snapshots (
    seq    INTEGER PRIMARY KEY,       -- the last event that the state includes
    format TEXT NOT NULL,
    body   TEXT NOT NULL
) STRICT;

CREATE TABLE targets (
    target         TEXT PRIMARY KEY,
    kind           TEXT    NOT NULL,
    connection_ref TEXT,
    is_default     INTEGER NOT NULL,
    health         TEXT    NOT NULL,
    last_seen_at   INTEGER,
    updated_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE servers (
    server_id  TEXT PRIMARY KEY,
    target     TEXT    NOT NULL REFERENCES targets (target) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    socket     TEXT    NOT NULL,
    pid        INTEGER NOT NULL,
    start_time INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX servers_by_target ON servers (target);

CREATE TABLE panes (
    server_id    TEXT    NOT NULL REFERENCES servers (server_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    pane_id      TEXT    NOT NULL,
    session_id   TEXT    NOT NULL,
    session_name TEXT    NOT NULL,
    window_id    TEXT    NOT NULL,
    window_index INTEGER NOT NULL,
    window_name  TEXT    NOT NULL,
    pane_index   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (server_id, pane_id)
) STRICT, WITHOUT ROWID;

-- Runtimes outlive their pane and server: they are history until retention lets them go.
CREATE TABLE runtimes (
    runtime_id    TEXT PRIMARY KEY,
    target        TEXT    NOT NULL,
    server_id     TEXT    NOT NULL,
    pane_id       TEXT    NOT NULL,
    pane_epoch    INTEGER NOT NULL,
    agent         TEXT    NOT NULL,
    boot_id       TEXT    NOT NULL,
    pid           INTEGER NOT NULL,
    process_start INTEGER NOT NULL,
    started_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    ending        TEXT,
    UNIQUE (server_id, pane_id, pane_epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE states (
    runtime_id    TEXT PRIMARY KEY REFERENCES runtimes (runtime_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    state         TEXT    NOT NULL,
    reason_code   TEXT    NOT NULL,
    confidence    TEXT    NOT NULL,
    evidence      TEXT,
    source        TEXT,
    message       TEXT,
    since         INTEGER NOT NULL,
    state_version INTEGER NOT NULL,
    last_seen_at  INTEGER,
    updated_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE runtime_source_cursors (
    runtime_id             TEXT NOT NULL REFERENCES runtimes (runtime_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    source                 TEXT NOT NULL,
    last_source_seq        INTEGER,
    last_order_event_time  INTEGER,
    last_order_ingested_at INTEGER NOT NULL,
    last_order_event_id    TEXT    NOT NULL,
    PRIMARY KEY (runtime_id, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE adapters (
    adapter_name TEXT PRIMARY KEY,
    agent        TEXT    NOT NULL,
    version      TEXT    NOT NULL,
    capabilities TEXT    NOT NULL,
    enabled      INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
