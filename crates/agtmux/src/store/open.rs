//! Opening: check the state directory, take it over, and give back what was remembered.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use agtmux_core::engine::EngineState;
use agtmux_core::event::{Event, Fact};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::database::{self, Database, Durability};
use super::error::StoreError;
use super::log::{self, integer};
use super::reader::Reader;
use super::retention::Retention;
use super::writer::{self, BLOCK, Writer};
use super::{migrate, owner, snapshot};

/// Every SQLite before this one can, once in a very long while, damage a database in WAL mode.
const OLDEST_SQLITE: i32 = 3_051_003;

/// Up to this many bytes a database is checked at every start.
const ALWAYS_CHECKED: u64 = 16 << 20;

/// How to keep the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub synchronous: Synchronous,
    pub retention: Retention,
    /// How long to wait for another program that holds the database locked.
    pub busy_timeout_ms: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { synchronous: Synchronous::Normal, retention: Retention::default(), busy_timeout_ms: 5_000 }
    }
}

/// What a commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synchronous {
    /// The death of the daemon at any moment.
    Normal,
    /// A power cut as well, at the price of a disk sync per commit.
    Full,
}

/// An open store.
#[derive(Debug)]
pub struct Opened {
    pub writer: Writer,
    pub reader: Reader,
    pub recovered: Recovered,
}

/// What was remembered.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// A state to begin with, and the last event it includes: a snapshot or a checkpoint, whichever is newer.
    pub base: Option<(u64, EngineState)>,
    /// Every event after the base.
    pub tail: Vec<Event>,
    /// Larger than any number handed out before, logged or not.
    pub next_seq: u64,
    /// Counts the owners of the state directory.
    pub epoch: u64,
    /// What was odd, for the daemon's log.
    pub notes: Vec<String>,
}

/// Opens the store in a state directory, which is made if need be, and becomes its owner.
pub fn open(dir: &Path, options: Options, boot_id: &str) -> Result<Opened, StoreError> {
    check_library()?;
    let mut notes = Vec::new();
    prepare_dir(dir, &mut notes)?;
    let mut lock = owner::acquire(dir)?;

    let path = dir.join("agtmux.db");
    prepare_file(&path)?;
    check_version(&path)?;
    let sqlite = |error: rusqlite::Error| StoreError::sqlite(&path, &error);
    let mut connection = database::connect(&path, &options).map_err(sqlite)?;
    check_integrity(&connection, &path)?;
    migrate::migrate(&mut connection).map_err(sqlite)?;

    let mut database = Database::new(&path, options, connection)?;
    let (epoch, next_seq) = take_over(&mut database, boot_id)?;
    database.belongs_to(epoch);
    if let Err(error) = lock.sign(boot_id, epoch) {
        notes.push(format!("the lock file could not be signed: {error}"));
    }

    let (base, tail) = database.query(|connection| recover(connection, &mut notes))?;
    let writer = writer::start(database, lock, next_seq + BLOCK).map_err(|error| StoreError::io(&path, &error))?;
    let reader = Reader::new(&path);
    Ok(Opened { writer, reader, recovered: Recovered { base, tail, next_seq, epoch, notes } })
}

fn check_library() -> Result<(), StoreError> {
    let found = rusqlite::version_number();
    if found < OLDEST_SQLITE {
        return Err(StoreError::OldLibrary { found, needed: OLDEST_SQLITE });
    }
    Ok(())
}

/// The log tells what people and agents do, so its directory is for its owner alone. Read permission of others is
/// taken away; write permission is refused, because what is inside may not be ours.
fn prepare_dir(dir: &Path, notes: &mut Vec<String>) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::io(dir, &error);
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(dir)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(io(error));
    }
    let metadata = std::fs::metadata(dir).map_err(io)?;
    let path = dir.to_owned();
    if !metadata.is_dir() {
        return Err(StoreError::NotADirectory { path });
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(StoreError::ForeignOwner { path, uid: metadata.uid() });
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(StoreError::Exposed { path, mode });
    }
    if mode & 0o077 != 0 {
        std::fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(io)?;
        notes.push(format!("{} had mode {mode:03o}, has 700 now", dir.display()));
    }
    Ok(())
}

/// Makes the file before SQLite does, since SQLite would leave its mode to the umask. The files that SQLite puts
/// beside it get the same mode.
fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| StoreError::io(path, &error);
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).map_err(io)?;
    if file.metadata().map_err(io)?.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600)).map_err(io)?;
    }
    Ok(())
}

/// Refuses a database of a later release, and what is no database, before anything could write to it.
fn check_version(path: &Path) -> Result<(), StoreError> {
    let Some(in_file) = version_in_header(path)? else {
        return Ok(());
    };
    let found = match version_in_wal(path) {
        Ok(Some(in_wal)) => in_wal,
        Ok(None) => in_file,
        Err(error) => return Err(StoreError::sqlite(path, &error)),
    };
    if found > migrate::KNOWN {
        return Err(StoreError::Newer { path: path.to_owned(), found, known: migrate::KNOWN });
    }
    Ok(())
}

/// The version as it stands in the first page: bytes 60 to 63, big-endian. `None` for an empty file.
fn version_in_header(path: &Path) -> Result<Option<i64>, StoreError> {
    let mut header = Vec::new();
    File::open(path)
        .and_then(|file| file.take(100).read_to_end(&mut header))
        .map_err(|error| StoreError::io(path, &error))?;
    if header.is_empty() {
        return Ok(None);
    }
    // The power failed while the first page was written: SQLite puts back what was there before.
    if std::fs::metadata(beside(path, "-journal")).is_ok_and(|journal| journal.len() > 0) {
        return Ok(None);
    }
    let version = header.get(60..).and_then(<[u8]>::first_chunk);
    let Some(version) = version.filter(|_| header.starts_with(b"SQLite format 3\0")) else {
        return Err(StoreError::Corrupt { path: path.to_owned(), detail: "it is not a SQLite database".into() });
    };
    Ok(Some(i64::from(i32::from_be_bytes(*version))))
}

/// The version as it stands after the write-ahead log, if a crash left one. Looks without folding the log in.
fn version_in_wal(path: &Path) -> rusqlite::Result<Option<i64>> {
    if !std::fs::metadata(beside(path, "-wal")).is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    migrate::version(&connection).map(Some)
}

/// The path of a file that SQLite keeps beside the database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Reading all pages takes half a second per hundred megabytes. A large database that was closed in order is spared.
fn check_integrity(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let sqlite = |error: rusqlite::Error| StoreError::sqlite(path, &error);
    let bytes = std::fs::metadata(path).map_err(|error| StoreError::io(path, &error))?.len();
    if bytes > ALWAYS_CHECKED && was_closed(connection).map_err(sqlite)? {
        return Ok(());
    }
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sqlite)?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(StoreError::Corrupt { path: path.to_owned(), detail: verdict })
}

fn was_closed(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(connection.query_row("SELECT closed FROM meta", [], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Begins a new epoch and reserves a block of numbers. Both must survive a power cut: a number that was handed out
/// twice would make clients miss events.
fn take_over(database: &mut Database, boot_id: &str) -> Result<(u64, u64), StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    database.transaction(Durability::PowerLoss, |transaction| {
        transaction.execute(
            "INSERT INTO meta (id, created_at, epoch, boot_id, seq_reserved, closed) VALUES (1, ?1, 0, '', 1, 0)
             ON CONFLICT (id) DO NOTHING",
            [now],
        )?;
        let next_seq: i64 = transaction.query_row(
            "SELECT max(seq_reserved, (SELECT coalesce(max(seq), 0) + 1 FROM events),
                 (SELECT coalesce(max(seq), 0) + 1 FROM snapshots)) FROM meta",
            [],
            |row| row.get(0),
        )?;
        let next_seq = next_seq.cast_unsigned();
        let epoch: i64 = transaction.query_row(
            "UPDATE meta SET epoch = epoch + 1, boot_id = ?1, seq_reserved = ?2, closed = 0 RETURNING epoch",
            (boot_id, integer(next_seq + BLOCK)),
            |row| row.get(0),
        )?;
        Ok((epoch.cast_unsigned(), next_seq))
    })
}

type Base = Option<(u64, EngineState)>;

/// Finds the newest base and every event after it. What cannot be read is left out and noted.
fn recover(connection: &Connection, notes: &mut Vec<String>) -> rusqlite::Result<(Base, Vec<Event>)> {
    let base = match (snapshot::newest(connection, notes)?, newest_checkpoint(connection, notes)?) {
        (Some(snapshot), Some(checkpoint)) if checkpoint.0 > snapshot.0 => Some(checkpoint),
        (None, checkpoint) => checkpoint,
        (snapshot, _) => snapshot,
    };

    let after = base.as_ref().map_or(0, |(seq, _)| *seq);
    let mut statement =
        connection.prepare(&format!("SELECT {}, NULL FROM events WHERE seq > ?1 ORDER BY seq", log::COLUMNS))?;
    let mut tail = Vec::new();
    for row in statement.query_map([integer(after)], log::decode)? {
        match row? {
            Ok(event) => tail.push(event),
            Err(undecodable) => notes.push(format!("{undecodable}; it was left out")),
        }
    }
    Ok((base, tail))
}

fn newest_checkpoint(connection: &Connection, notes: &mut Vec<String>) -> rusqlite::Result<Base> {
    let mut statement = connection.prepare(&format!(
        "SELECT {}, NULL FROM events WHERE event_type = 'checkpoint' ORDER BY seq DESC",
        log::COLUMNS
    ))?;
    for row in statement.query_map([], log::decode)? {
        match row? {
            Ok(Event { seq, fact: Fact::Checkpoint { state }, .. }) => return Ok(Some((seq, *state))),
            Ok(event) => notes.push(format!("event {} is no checkpoint, though it is filed as one", event.seq)),
            Err(undecodable) => notes.push(format!("{undecodable}; an older base is used")),
        }
    }
    Ok(None)
}
