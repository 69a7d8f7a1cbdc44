//! The chain of actions: one row per step, none can be changed, removed or cut off unseen (A1).

use std::cell::Cell;

use agtmux_core::action::{ActionFact, Actor, Conditions, Snapshot, Step, Verb};
use agtmux_core::id::ActionId;
use agtmux_core::time::Span;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use rusqlite::types::Value;

use super::*;
use crate::store::audit;

fn actor() -> Actor {
    Actor { uid: 1_000, pid: Some(42), program: Some("agtmux".into()), agent: None, known_by: None }
}

fn step_of(id: &str, step: Step) -> Fact {
    Fact::Action(Box::new(ActionFact { action: ActionId::new(id), actor: actor(), step }))
}

fn snapshot_of(id: &str) -> Box<Snapshot> {
    let at = Timestamp(1_700_000_000_000);
    Box::new(Snapshot {
        action: ActionId::new(id),
        verb: Verb::Send,
        reference: "%3".into(),
        conditions: Conditions::default(),
        target: TargetName::new("local"),
        socket: "/tmp/tmux-1000/default".into(),
        server_pid: 1_234,
        server_start: 1_700_000_000,
        pane: pane_key(),
        runtime: None,
        observed_at: at,
        expires_at: at + Span::seconds(60),
    })
}

/// An action from its beginning to its end.
pub(super) fn action(first_seq: u64, id: &str) -> Vec<Event> {
    let steps = [
        Step::Prepared { snapshot: snapshot_of(id) },
        Step::Started { detail: "12 bytes".into() },
        Step::Done { result: "typed".into() },
    ];
    (first_seq..).zip(steps).map(|(seq, step)| event(seq, step_of(id, step))).collect()
}

async fn append(opened: &Opened, events: Vec<Event>) {
    opened.writer.append(Batch { events, ..Batch::default() }).await.unwrap();
}

#[tokio::test]
async fn every_step_of_an_action_has_its_row_and_a_restart_goes_on() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    append(&opened, [action(1, "act_a"), ticks([4]).events].concat()).await;
    let first = opened.reader.verify_audit(None).unwrap();
    assert_eq!((first.rows, first.first, &first.broken), (3, Some(1), &None));
    opened.writer.close().await.unwrap();

    let opened = open_default(dir.path());
    append(&opened, action(200_000, "act_b")).await;
    let head = first.head.unwrap();
    let second = opened.reader.verify_audit(Some(&head.1)).unwrap();
    assert_eq!((second.rows, second.kept, second.broken), (6, Some(3), None));
    let actions = opened.reader.audit(10).unwrap();
    let told: Vec<_> = actions.iter().map(|action| (action.action.as_str(), action.steps.len())).collect();
    assert_eq!(told, [("act_a", 3), ("act_b", 3)]);
    assert_eq!(opened.reader.audit(1).unwrap(), actions[1..]);
    let unknown = opened.reader.verify_audit(Some(&"f".repeat(64))).unwrap();
    assert_eq!((unknown.kept, unknown.broken), (None, None));
}

#[tokio::test]
async fn the_hash_is_what_the_schema_says() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    append(&opened, action(1, "act_a")).await;
    let row = |n: i64| {
        let sql = "SELECT prev_hash || char(10) || body, hash FROM audit WHERE n = ?1";
        shell(dir.path()).query_row(sql, [n], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap()
    };
    let (text, hash) = row(2);
    assert!(text.starts_with(&row(1).1), "{text}");
    let sum = std::process::Command::new("sh")
        .args(["-c", "printf %s \"$1\" | (sha256sum || shasum -a 256)", "sh", &text])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&sum.stdout).starts_with(&hash), "{sum:?}");
}

#[tokio::test]
async fn secrets_are_not_in_the_chain() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";
    let step = Step::Refused {
        verb: Verb::Send,
        reference: format!("token={secret}"),
        code: "E_REF_NOT_FOUND".into(),
        message: format!("nothing matches {secret}"),
    };
    append(&opened, vec![event(1, step_of("act_a", step))]).await;
    let body: String = shell(dir.path()).query_row("SELECT body FROM audit", [], |row| row.get(0)).unwrap();
    assert!(!body.contains(secret) && body.contains("E_REF_NOT_FOUND"), "{body}");
    assert_eq!(opened.reader.verify_audit(None).unwrap().broken, None);
}

#[tokio::test]
async fn old_rows_go_and_the_chain_says_so() {
    let dir = state_dir();
    let retention = Retention { audit_days: 10, ..Retention::default() };
    let opened = open(dir.path(), Options { retention, ..Options::default() }, BOOT).unwrap();
    for n in 0..30_u64 {
        let at = Timestamp(1_700_000_000_000 + 86_400_000 * n.cast_signed());
        let steps = action(1 + n * 3, &format!("act_{n}"));
        append(&opened, steps.into_iter().map(|event| Event { at, ..event }).collect()).await;
    }
    let kept = opened.reader.verify_audit(None).unwrap().head.unwrap();
    let now = Timestamp(1_700_000_000_000 + 86_400_000 * 29);
    let done = opened.writer.retain(now, engine_state(), 1_000).await.unwrap();
    assert_eq!(done.audit, 19 * 3);
    let left = opened.reader.verify_audit(Some(&kept.1)).unwrap();
    assert_eq!((left.rows, left.first, left.kept, left.broken), (11 * 3 + 1, Some(58), Some(90), None));
    // Nothing more to do, and so nothing more to say.
    assert_eq!(opened.writer.retain(now, engine_state(), 1_001).await.unwrap().audit, 0);

    // What is cut off the front without being said is seen, and what goes later is said anew.
    let connection = shell(dir.path());
    connection.execute_batch("BEGIN; DELETE FROM audit WHERE n <= 60").unwrap();
    assert!(
        audit::verify_within(&connection, None).unwrap().broken.unwrap().why.starts_with("row 61 is not the first")
    );
    connection.execute_batch("ROLLBACK").unwrap();
    let later = Timestamp(now.0 + 86_400_000 * 5);
    opened.writer.retain(later, engine_state(), 1_002).await.unwrap();
    let left = opened.reader.verify_audit(None).unwrap();
    assert_eq!((left.rows, left.first, left.broken), (6 * 3 + 2, Some(73), None));
}

#[tokio::test]
async fn a_chain_that_grows_too_large_loses_its_oldest_rows() {
    let dir = state_dir();
    let retention = Retention { audit_max_bytes: 10_000, ..Retention::default() };
    let opened = open(dir.path(), Options { retention, ..Options::default() }, BOOT).unwrap();
    for n in 0..50 {
        append(&opened, action(1 + n * 3, &format!("act_{n}"))).await;
    }
    let done = opened.writer.retain(Timestamp(1_700_000_000_000), engine_state(), 1_000).await.unwrap();
    let left = opened.reader.verify_audit(None).unwrap();
    assert!(done.audit > 50 && left.rows > 10, "{done:?} {left:?}");
    assert_eq!((left.first, left.broken), (Some(done.audit + 1), None));
}

/// What somebody may do to the chain. Positions and values are drawn, so that every case is another one.
#[derive(Clone, Debug)]
enum Tampering {
    Edit {
        row: Index,
        column: Index,
        number: i64,
        text: String,
    },
    Byte {
        row: Index,
        place: Index,
        flip: u8,
    },
    Delete {
        row: Index,
        count: Index,
    },
    Swap {
        one: Index,
        other: Index,
    },
    Insert {
        row: Index,
        text: String,
    },
    /// The row is changed and its own hash made to fit.
    Rewrite {
        row: Index,
        text: String,
    },
    /// The row and everything after it is changed to fit, and so is the log.
    Forge {
        row: Index,
        text: String,
    },
    Truncate {
        from: Index,
    },
}

fn tampering() -> impl Strategy<Value = Tampering> {
    let at = any::<Index>;
    let text = "[a-z{}\":,]{0,12}";
    prop_oneof![
        (at(), at(), any::<i64>(), text).prop_map(|(row, column, number, text)| Tampering::Edit {
            row,
            column,
            number,
            text
        }),
        (at(), at(), 1..=127_u8).prop_map(|(row, place, flip)| Tampering::Byte { row, place, flip }),
        (at(), at()).prop_map(|(row, count)| Tampering::Delete { row, count }),
        (at(), at()).prop_map(|(one, other)| Tampering::Swap { one, other }),
        (at(), text).prop_map(|(row, text)| Tampering::Insert { row, text }),
        (at(), text).prop_map(|(row, text)| Tampering::Rewrite { row, text }),
        (at(), text).prop_map(|(row, text)| Tampering::Forge { row, text }),
        at().prop_map(|from| Tampering::Truncate { from }),
    ]
}

const ROWS: i64 = 60;

impl Tampering {
    /// Does it. False if it comes to nothing.
    fn apply(&self, connection: &Connection) -> bool {
        let place = |index: &Index| index.index(ROWS as usize) as i64 + 1;
        let before = dump(connection);
        match self {
            Self::Edit { row, column, number, text } => {
                let (name, value) = [
                    ("n", Value::from(*number)),
                    ("seq", Value::from(*number)),
                    ("at", Value::from(*number)),
                    ("action_id", Value::from(text.clone())),
                    ("step", Value::from(text.clone())),
                    ("actor", Value::from(text.clone())),
                    ("body", Value::from(text.clone())),
                    ("prev_hash", Value::from(text.clone())),
                    ("hash", Value::from(text.clone())),
                ][column.index(9)]
                .clone();
                let sql = format!("UPDATE OR IGNORE audit SET {name} = ?1 WHERE n = ?2");
                connection.execute(&sql, (value, place(row))).unwrap();
            }
            Self::Byte { row, place: at, flip } => {
                let sql = "SELECT body FROM audit WHERE n = ?1";
                let body: String = connection.query_row(sql, [place(row)], |row| row.get(0)).unwrap();
                let mut bytes = body.into_bytes();
                let at = at.index(bytes.len());
                bytes[at] = (bytes[at] ^ flip) & 0x7f;
                let text = String::from_utf8(bytes).unwrap();
                connection.execute("UPDATE audit SET body = ?1 WHERE n = ?2", (text, place(row))).unwrap();
            }
            Self::Delete { row, count } => {
                let (from, count) = (place(row), count.index(5) as i64);
                connection.execute("DELETE FROM audit WHERE n BETWEEN ?1 AND ?2", (from, from + count)).unwrap();
                forget_actions_without_rows(connection);
            }
            Self::Swap { one, other } => {
                let sql = "UPDATE audit SET body = (SELECT body FROM audit AS other WHERE other.n = ?1 + ?2 - audit.n)
                    WHERE n IN (?1, ?2)";
                connection.execute(sql, (place(one), place(other))).unwrap();
            }
            Self::Insert { row, text } => {
                let at = place(row);
                connection.execute("UPDATE audit SET n = -n - 1 WHERE n > ?1", [at]).unwrap();
                connection.execute("UPDATE audit SET n = -n WHERE n < 0", []).unwrap();
                let sql = "INSERT INTO audit SELECT n + 1, NULL, at, action_id, step, actor, body || ?2, hash, hash
                    FROM audit WHERE n = ?1";
                connection.execute(sql, (at, text)).unwrap();
                rehash(connection, at + 1, at + 1);
            }
            Self::Rewrite { row, text } => {
                alter(connection, place(row), text);
                rehash(connection, place(row), place(row));
            }
            Self::Forge { row, text } => {
                alter(connection, place(row), text);
                rehash(connection, place(row), ROWS);
            }
            Self::Truncate { from } => {
                connection.execute("DELETE FROM audit WHERE n >= ?1", [place(from)]).unwrap();
                forget_actions_without_rows(connection);
            }
        }
        dump(connection) != before
    }
}

/// Changes what a row says, in a way that any reader would believe, and the log with it.
fn alter(connection: &Connection, n: i64, text: &str) {
    let other = serde_json::to_string(text).unwrap();
    let sql = "UPDATE audit SET body = json_set(body, '$.fact.actor.program', json(?2)) WHERE n = ?1";
    connection.execute(sql, (n, other)).unwrap();
    let sql = "UPDATE events SET body = json_extract(audit.body, '$.fact') FROM audit
        WHERE audit.seq = events.seq AND audit.n = ?1";
    connection.execute(sql, [n]).unwrap();
}

fn forget_actions_without_rows(connection: &Connection) {
    let sql =
        "DELETE FROM events WHERE event_type = 'action' AND seq NOT IN (SELECT seq FROM audit WHERE seq IS NOT NULL)";
    connection.execute(sql, []).unwrap();
}

/// Makes the hashes of some rows fit what they say.
fn rehash(connection: &Connection, from: i64, to: i64) {
    for n in from..=to {
        let sql = "SELECT coalesce((SELECT hash FROM audit WHERE n = ?1 - 1), prev_hash), body FROM audit WHERE n = ?1";
        let (prev, body): (String, String) =
            connection.query_row(sql, [n], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let sql = "UPDATE audit SET prev_hash = ?2, hash = ?3 WHERE n = ?1";
        connection.execute(sql, (n, &prev, audit::link(&prev, &body))).unwrap();
    }
}

fn dump(connection: &Connection) -> String {
    let sql = "SELECT group_concat(concat_ws('|', n, seq, at, action_id, step, actor, body, prev_hash, hash), char(10)) FROM audit";
    connection.query_row(sql, [], |row| Ok(row.get::<_, Option<String>>(0)?.unwrap_or_default())).unwrap()
}

/// A thousand edits, deletions, insertions, forgeries and truncations, by somebody who also changes the log to fit: with a
/// hash that was kept elsewhere every single one is seen.
#[test]
fn nothing_can_be_changed_unseen() {
    let dir = state_dir();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let head = runtime.block_on(async {
        let opened = open_default(dir.path());
        for n in 0..ROWS.cast_unsigned() / 3 {
            append(&opened, action(1 + n * 3, &format!("act_{n}"))).await;
        }
        let head = opened.reader.verify_audit(None).unwrap().head.unwrap();
        opened.writer.close().await.unwrap();
        head.1
    });
    let connection = shell(dir.path());
    let (tampered, without_head) = (Cell::new(0), Cell::new(0));
    let config = Config { cases: 1_100, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&tampering(), |tampering| {
            connection.execute_batch("SAVEPOINT untouched").unwrap();
            let changed = tampering.apply(&connection);
            let verified = audit::verify_within(&connection, Some(&head)).unwrap();
            connection.execute_batch("ROLLBACK TO untouched; RELEASE untouched").unwrap();
            if changed {
                tampered.set(tampered.get() + 1);
                without_head.set(without_head.get() + i32::from(verified.broken.is_some()));
                prop_assert!(verified.broken.is_some() || verified.kept.is_none(), "{verified:?}");
            } else {
                prop_assert_eq!((verified.kept, verified.broken), (Some(60), None));
            }
            Ok(())
        })
        .unwrap();
    let (tampered, without_head) = (tampered.get(), without_head.get());
    assert!(tampered >= 1_000, "{tampered} of 1,100 changed anything");
    // Only what was made to fit from some row to the end, or was cut off there, needs the hash that was kept.
    assert!(without_head > tampered / 2 && without_head < tampered, "{without_head} of {tampered}");
}
