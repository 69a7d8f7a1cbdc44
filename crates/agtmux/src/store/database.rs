//! The owner's connection.
//!
//! Every write goes through [`Database::transaction`], which makes sure that this process still owns the database and
//! that a failed write leaves nothing behind: neither half a transaction nor a connection that cannot be trusted.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::error::StoreError;
use super::open::{Options, Synchronous};

/// How much of the file a connection keeps in memory. The log is written at its end, and the system keeps the rest at hand.
pub(super) const CACHE_KIB: i64 = 512;

/// The database as its owner holds it.
pub(super) struct Database {
    path: PathBuf,
    options: Options,
    file: FileId,
    epoch: u64,
    /// `None` after a failure that may lie in the connection; the next transaction opens another.
    connection: Option<Connection>,
}

/// Tells one file from another of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

/// How sure a commit must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// As configured.
    Configured,
    /// Survives a power cut even where the rest of the log may lose its last moments.
    PowerLoss,
}

impl Database {
    /// Takes over an open connection. Until [`Self::belongs_to`] is called it belongs to epoch 0, that is to nobody.
    pub(super) fn new(path: &Path, options: Options, connection: Connection) -> Result<Self, StoreError> {
        let metadata = std::fs::metadata(path).map_err(|error| StoreError::io(path, &error))?;
        let file = FileId::of(&metadata);
        Ok(Self { path: path.to_owned(), options, file, epoch: 0, connection: Some(connection) })
    }

    /// From here on every transaction demands this epoch.
    pub(super) fn belongs_to(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// What it was opened with.
    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// Runs `body` in a transaction. On `Ok` it is committed; on `Err` nothing of it can be seen, at once or later.
    pub(super) fn transaction<T>(
        &mut self,
        durability: Durability,
        body: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let mut result = self.attempt(durability, &body);
        if matches!(result, Err(StoreError::Full { .. })) {
            // The write-ahead log itself may be what fills a small disk; emptying it can make the room.
            self.discard_connection();
            result = self.attempt(durability, &body);
        }
        if result.as_ref().is_err_and(StoreError::taints_connection) {
            self.discard_connection();
        }
        result
    }

    /// Runs a query outside of any transaction.
    pub(super) fn query<T>(&mut self, body: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let path = self.path.clone();
        body(self.connected()?).map_err(|error| StoreError::sqlite(&path, &error))
    }

    /// Folds the write-ahead log into the database and closes.
    pub(super) fn close(mut self) -> Result<(), StoreError> {
        let Some(connection) = self.connection.take() else {
            return Ok(());
        };
        truncate_wal(&connection).map_err(|error| StoreError::sqlite(&self.path, &error))?;
        connection.close().map_err(|(_, error)| StoreError::sqlite(&self.path, &error))
    }

    fn attempt<T>(
        &mut self,
        durability: Durability,
        body: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.check_file()?;
        let (path, epoch, usual) = (self.path.clone(), self.epoch, self.options.synchronous);
        let sqlite = |error: rusqlite::Error| StoreError::sqlite(&path, &error);

        let connection = self.connected()?;
        let raise = durability == Durability::PowerLoss && usual != Synchronous::Full;
        if raise {
            set_synchronous(connection, Synchronous::Full).map_err(sqlite)?;
        }
        let outcome = (|| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
            if epoch != 0 {
                check_epoch(&transaction, &path, epoch)?;
            }
            let value = body(&transaction).map_err(sqlite)?;
            transaction.commit().map_err(sqlite)?;
            Ok(value)
        })();
        if raise {
            set_synchronous(connection, usual).map_err(sqlite)?;
        }
        outcome
    }

    /// A database that was moved away or replaced while it was open would swallow every write without a trace.
    fn check_file(&self) -> Result<(), StoreError> {
        let fenced = |detail: &str| StoreError::Fenced { path: self.path.clone(), detail: detail.to_owned() };
        match std::fs::metadata(&self.path) {
            Ok(metadata) if FileId::of(&metadata) == self.file => Ok(()),
            Ok(_) => Err(fenced("the database was replaced")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(fenced("the database is gone")),
            Err(error) => Err(StoreError::io(&self.path, &error)),
        }
    }

    fn connected(&mut self) -> Result<&mut Connection, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.reconnect().map_err(|error| StoreError::sqlite(&self.path, &error))?,
        };
        Ok(self.connection.insert(connection))
    }

    /// If there is room again after a full disk, it goes to what was accepted before anything new may take it.
    fn reconnect(&self) -> rusqlite::Result<Connection> {
        let connection = connect(&self.path, &self.options)?;
        truncate_wal(&connection).ok();
        Ok(connection)
    }

    /// A commit whose sync failed may have left complete frames in the write-ahead log, which a later recovery would
    /// take for committed. Emptying that log removes them; where even this fails, the next commit overwrites them.
    fn discard_connection(&mut self) {
        if let Some(connection) = self.connection.take() {
            truncate_wal(&connection).ok();
        }
    }
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Opens a connection that may write.
pub(super) fn connect(path: &Path, options: &Options) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_millis(u64::from(options.busy_timeout_ms)))?;
    connection.set_prepared_statement_cache_capacity(64);
    // Lets retention give space back to the file system. To be said before the first page is written, and only then:
    // said again it writes to the file, which may be one that is about to be refused.
    if connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0))? == 0 {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "secure_delete", "FAST")?;
    // A file that is mapped into memory turns an I/O error into a signal that kills the daemon.
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "journal_size_limit", 16 << 20)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    set_synchronous(&connection, options.synchronous)?;
    Ok(connection)
}

fn set_synchronous(connection: &Connection, synchronous: Synchronous) -> rusqlite::Result<()> {
    let mode = match synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    connection.pragma_update(None, "synchronous", mode)
}

fn truncate_wal(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn check_epoch(transaction: &Transaction<'_>, path: &Path, ours: u64) -> Result<(), StoreError> {
    let found: i64 = transaction
        .prepare_cached("SELECT epoch FROM meta")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(|error| StoreError::sqlite(path, &error))?;
    if u64::try_from(found) == Ok(ours) {
        return Ok(());
    }
    Err(StoreError::Fenced { path: path.to_owned(), detail: format!("epoch {found} has followed epoch {ours}") })
}
