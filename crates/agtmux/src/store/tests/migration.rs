//! Every released database can be opened, and an interrupted migration leaves the old schema or the new (I14).

use rusqlite::Batch as Statements;
use rusqlite::fallible_iterator::FallibleIterator;

use agtmux_core::mail::MailId;

use super::*;

/// One database per released version of the schema, made by [`make_golden`] when that version was current.
const GOLDEN: [(i64, &[u8]); 3] = [
    (1, include_bytes!("../../../tests/store/golden/v1.db")),
    (2, include_bytes!("../../../tests/store/golden/v2.db")),
    (3, include_bytes!("../../../tests/store/golden/v3.db")),
];

/// The version that brought the audit chain.
const AUDIT: i64 = 2;

/// The version that brought the texts of messages.
const MAIL: i64 = 3;

/// A step that rewrites every row, as an example of one that takes long enough to be interrupted.
const EXAMPLE_STEP: &str = "
    CREATE TABLE copies (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
    INSERT INTO copies SELECT seq, body || body || body FROM events;
    CREATE INDEX copies_by_body ON copies (body);
    UPDATE events SET body = body || ' ';
    DELETE FROM copies WHERE seq % 2 = 0;
";

#[test]
fn there_is_a_golden_database_for_every_version() {
    let versions: Vec<i64> = GOLDEN.iter().map(|(version, _)| *version).collect();
    assert_eq!(versions, (1..=migrate::KNOWN).collect::<Vec<_>>());
}

#[tokio::test]
async fn golden_databases_are_opened_with_everything_in_them() {
    for (version, bytes) in GOLDEN {
        let dir = state_dir();
        std::fs::write(dir.path().join("agtmux.db"), bytes).unwrap();
        assert_eq!(migrate::version(&shell(dir.path())).unwrap(), version);

        let opened = open_default(dir.path());
        assert_eq!(opened.recovered.notes, Vec::<String>::new());
        assert_eq!(opened.recovered.base, None);
        assert_eq!(opened.recovered.next_seq, 1 + 100_000);
        assert_eq!(opened.recovered.epoch, 2);
        let with_payloads = EventFilter { payloads: true, ..EventFilter::default() };
        let actions = if version < AUDIT { Vec::new() } else { audit::action(101, "act_a") };
        let expected = [one_of_each(), actions.clone()].concat();
        assert_eq!(opened.reader.events_after(0, 1_000, &with_payloads).unwrap(), expected);
        let verified = opened.reader.verify_audit(None).unwrap();
        assert_eq!((verified.rows, verified.broken), (actions.len() as u64, None));
        let texts = opened.reader.texts(None).unwrap();
        assert_eq!(texts.into_values().collect::<Vec<_>>(), if version < MAIL { Vec::new() } else { vec!["hello\n"] });
        opened.writer.append(ticks([opened.recovered.next_seq])).await.unwrap();
        opened.writer.close().await.unwrap();
        assert_eq!(migrate::version(&shell(dir.path())).unwrap(), migrate::KNOWN);
        assert_eq!(integrity(dir.path()), "ok");
    }
}

/// Writes the golden database of the current version. Run once, when a version is about to be released.
#[tokio::test]
#[ignore = "writes into the source tree"]
async fn make_golden() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    opened
        .writer
        .append(Batch {
            events: [one_of_each(), audit::action(101, "act_a")].concat(),
            projection: rows(),
            texts: vec![Text::Keep { id: MailId::parse("m_1").unwrap(), text: "hello\n".to_owned() }],
        })
        .await
        .unwrap();
    opened.writer.close().await.unwrap();
    let connection = shell(dir.path());
    connection.execute("UPDATE meta SET created_at = 1700000000000", []).unwrap();
    connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(connection);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/golden");
    std::fs::create_dir_all(&golden).unwrap();
    std::fs::copy(dir.path().join("agtmux.db"), golden.join(format!("v{}.db", migrate::KNOWN))).unwrap();
}

#[test]
fn an_interrupted_creation_leaves_nothing_or_everything() {
    let mut points = 0;
    for version in 1..=migrate::STEPS.len() {
        let before = version as i64 - 1;
        points += interrupt_everywhere(
            |_| {},
            &migrate::STEPS[..version],
            |crashed, finished| {
                assert_eq!(migrate::version(&shell(crashed)).unwrap(), before + i64::from(finished));
                let opened = open_default(crashed);
                assert_eq!((opened.recovered.epoch, opened.recovered.tail.len()), (1, 0));
            },
        );
    }
    assert!(points > 8 * migrate::STEPS.len(), "{points}");
}

#[test]
fn an_interrupted_step_leaves_the_old_schema_or_the_new() {
    let fill = |connection: &Connection| {
        let row = "INSERT INTO events (seq, v, event_type, ingested_at, body) VALUES (?1, 1, 'tick', 0, ?2)";
        for seq in 1..=2_000 {
            connection.execute(row, (seq, "{\"type\":\"tick\"}")).unwrap();
        }
    };
    let steps = [migrate::STEPS.as_slice(), &[EXAMPLE_STEP]].concat();
    let before = migrate::KNOWN;
    let points = interrupt_everywhere(fill, &steps, |crashed, finished| {
        let mut connection = shell(crashed);
        let length: i64 = connection.query_row("SELECT sum(length(body)) FROM events", [], |row| row.get(0)).unwrap();
        assert_eq!(migrate::version(&connection).unwrap(), before + i64::from(finished));
        assert_eq!(length, 2_000 * (15 + i64::from(finished)));
        migrate::run(&mut connection, &steps).unwrap();
        assert_eq!(migrate::version(&connection).unwrap(), before + 1);
        let copies: i64 = connection.query_row("SELECT count(*) FROM copies", [], |row| row.get(0)).unwrap();
        assert_eq!(copies, 1_000);
    });
    assert!(points > 5, "{points}");
}

/// Runs the last of `steps` statement by statement. Before and after each one the files are copied as a crash at that
/// moment would leave them; `check` gets the copy and whether the step had been committed.
fn interrupt_everywhere(fill: impl Fn(&Connection), steps: &[&str], check: impl Fn(&Path, bool)) -> usize {
    let dir = state_dir();
    let path = dir.path().join("agtmux.db");
    std::fs::write(&path, b"").unwrap();
    let mut connection = database::connect(&path, &Options::default()).unwrap();
    let (last, earlier) = steps.split_last().unwrap();
    migrate::run(&mut connection, earlier).unwrap();
    fill(&connection);
    // A cache this small makes SQLite write to the files long before the commit.
    connection.pragma_update(None, "cache_size", 2).unwrap();

    let mut points = 0;
    let mut crash = |finished| {
        let crashed = state_dir();
        for file in ["agtmux.db", "agtmux.db-wal"] {
            std::fs::copy(dir.path().join(file), crashed.path().join(file)).unwrap();
        }
        assert_eq!(integrity(crashed.path()), "ok");
        check(crashed.path(), finished);
        points += 1;
    };
    crash(false);
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut statements = Statements::new(&connection, last);
    while let Some(mut statement) = statements.next().unwrap() {
        statement.raw_execute().unwrap();
        drop(statement);
        crash(false);
    }
    connection.pragma_update(None, "user_version", steps.len() as i64).unwrap();
    crash(false);
    connection.execute_batch("COMMIT").unwrap();
    crash(true);
    points
}
