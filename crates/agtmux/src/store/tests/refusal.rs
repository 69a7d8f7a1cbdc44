//! What is not fit to be opened is refused in words that help, and left as it was.

use super::*;

fn refusal(dir: &Path) -> StoreError {
    open(dir, Options::default(), BOOT).unwrap_err()
}

async fn filled(dir: &Path) {
    let opened = open_default(dir);
    opened.writer.append(ticks(1..=500)).await.unwrap();
    opened.writer.close().await.unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn files_are_for_their_owner_alone() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("deep/er");
    let opened = open_default(&dir);
    opened.writer.append(ticks([1])).await.unwrap();
    assert_eq!(mode(&dir), 0o700);
    for file in ["agtmux.db", "agtmux.db-wal", "agtmux.db-shm", "lock"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
    opened.writer.close().await.unwrap();

    std::fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(dir.join("agtmux.db"), Permissions::from_mode(0o644)).unwrap();
    let opened = open_default(&dir);
    assert_eq!((mode(&dir), mode(&dir.join("agtmux.db"))), (0o700, 0o600));
    assert_eq!(opened.recovered.notes.len(), 1);
}

#[test]
fn a_directory_that_others_may_write_is_refused() {
    let dir = state_dir();
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o770)).unwrap();
    let error = refusal(dir.path());
    assert_eq!(error, StoreError::Exposed { path: dir.path().to_owned(), mode: 0o770 });
    assert!(error.hint().contains("chmod 700"));
}

#[test]
fn a_directory_of_another_user_is_refused() {
    let dir = state_dir();
    if std::os::unix::fs::chown(dir.path(), Some(65_534), None).is_err() {
        println!("skipped: only root can give a directory away");
        return;
    }
    assert_eq!(refusal(dir.path()), StoreError::ForeignOwner { path: dir.path().to_owned(), uid: 65_534 });
}

#[test]
fn a_file_in_the_directorys_place_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(refusal(file.path()), StoreError::NotADirectory { path: file.path().to_owned() });
    let error = refusal(&file.path().join("below"));
    assert!(matches!(error, StoreError::NotADirectory { .. }), "{error:?}");
}

#[test]
fn what_is_no_database_is_refused_and_kept() {
    let dir = state_dir();
    let db = dir.path().join("agtmux.db");
    for content in [b"hello".to_vec(), b"just some text, no database\n".repeat(100)] {
        std::fs::write(&db, &content).unwrap();
        let error = refusal(dir.path());
        assert!(matches!(error, StoreError::Corrupt { .. }));
        assert!(error.to_string().contains("not a SQLite database"), "{error}");
        assert!(error.hint().contains(&format!("mv {} ", db.display())));
        assert!(std::fs::read(&db).unwrap() == content, "the file was written to");
    }
}

#[tokio::test]
async fn a_damaged_database_is_refused_and_kept() {
    let dir = state_dir();
    filled(dir.path()).await;
    let db = dir.path().join("agtmux.db");
    let sound = std::fs::read(&db).unwrap();
    // Every page in turn is overwritten.
    for page in 0..sound.len() / 4_096 {
        let mut damaged = sound.clone();
        let header = if page == 0 { 100 } else { 0 };
        damaged[page * 4_096 + header..(page + 1) * 4_096].fill(0xa5);
        std::fs::write(&db, &damaged).unwrap();
        let error = refusal(dir.path());
        assert!(matches!(error, StoreError::Corrupt { .. }), "page {page}: {error}");
        assert!(std::fs::read(&db).unwrap() == damaged, "page {page} was written to: {error}");
    }

    std::fs::write(&db, &sound[..sound.len() / 2]).unwrap();
    assert!(matches!(refusal(dir.path()), StoreError::Corrupt { .. }));
}

#[tokio::test]
async fn a_large_database_is_checked_after_a_crash_only() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let text = "text ".repeat(1_000);
    for first in (1..=4_000).step_by(500) {
        let events = (first..first + 500).map(|seq| signal(seq, Some(&text), None)).collect();
        opened.writer.append(Batch { events, ..Batch::default() }).await.unwrap();
    }
    opened.writer.snapshot(4_000, engine_state());
    opened.writer.close().await.unwrap();
    let db = dir.path().join("agtmux.db");
    let mut damaged = std::fs::read(&db).unwrap();
    assert!(damaged.len() > 16 << 20);
    // In the middle of the history, where a start has no reason to look.
    let middle = damaged.len() / 2 / 4_096 * 4_096;
    damaged[middle..middle + 40_960].fill(0xa5);
    std::fs::write(&db, &damaged).unwrap();

    let opened = open_default(dir.path());
    let error = opened.reader.events_after(0, usize::MAX, &EventFilter::default()).unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    opened.writer.append(ticks([opened.recovered.next_seq])).await.unwrap();
    opened.writer.close().await.unwrap();

    shell(dir.path()).execute("UPDATE meta SET closed = 0", []).unwrap();
    assert!(matches!(refusal(dir.path()), StoreError::Corrupt { .. }));
}

#[tokio::test]
async fn a_newer_database_is_refused_without_touching_a_byte() {
    let dir = state_dir();
    filled(dir.path()).await;
    shell(dir.path()).pragma_update(None, "user_version", 99).unwrap();
    let db = dir.path().join("agtmux.db");
    let before = std::fs::read(&db).unwrap();
    let error = refusal(dir.path());
    assert_eq!(error, StoreError::Newer { path: db.clone(), found: 99, known: migrate::KNOWN });
    assert!(std::fs::read(&db).unwrap() == before, "the file was written to");
}

#[tokio::test]
async fn a_newer_version_that_is_only_in_the_wal_is_seen_too() {
    let (dir, crashed) = (state_dir(), state_dir());
    filled(dir.path()).await;
    let connection = shell(dir.path());
    connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    // What a crash would leave is what the files hold while the connection is still open.
    for file in ["agtmux.db", "agtmux.db-wal"] {
        std::fs::copy(dir.path().join(file), crashed.path().join(file)).unwrap();
    }
    let read = || ["agtmux.db", "agtmux.db-wal"].map(|file| std::fs::read(crashed.path().join(file)).unwrap());
    let before = read();
    assert!(matches!(refusal(crashed.path()), StoreError::Newer { .. }));
    assert!(read() == before, "the files changed");
}

#[tokio::test]
async fn a_locked_database_is_reported_as_busy_and_recovers() {
    let dir = state_dir();
    let options = Options { busy_timeout_ms: 20, ..Options::default() };
    let opened = open(dir.path(), options, BOOT).unwrap();
    let other = shell(dir.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(opened.writer.append(ticks([1])).await.unwrap_err(), StoreError::Busy { .. }));
    other.execute_batch("ROLLBACK").unwrap();
    opened.writer.append(ticks([2])).await.unwrap();
    assert_eq!(logged_seqs(dir.path()), [2]);
}
