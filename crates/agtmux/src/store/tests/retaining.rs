//! Old things go, only behind a checkpoint, and a restart does not notice.

use agtmux_core::time::Span;

use super::*;

const DAY: i64 = 24 * 60 * 60 * 1_000;

fn now() -> Timestamp {
    Timestamp(1_700_000_000_000)
}

fn days_ago(days: i64) -> Timestamp {
    now() + Span(-days * DAY)
}

fn dated(seq: u64, at: Timestamp) -> Event {
    Event { at, ..signal(seq, Some("text"), Some("payload")) }
}

fn seqs(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.seq).collect()
}

#[tokio::test]
async fn old_events_go_behind_a_checkpoint() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    // Ten events in each of the last fifty days.
    let events: Vec<Event> = (0..500).map(|n| dated(n + 1, days_ago(50 - n.cast_signed() / 10))).collect();
    opened.writer.append(Batch { events, ..Batch::default() }).await.unwrap();
    opened.writer.snapshot(400, engine_state());

    let done = opened.writer.retain(now(), engine_state(), 1_000).await.unwrap();
    assert_eq!(done, Retained { checkpoint: Some(1_000), events: 200, payloads: 240, audit: 0 });
    let stats = opened.reader.stats().unwrap();
    assert_eq!((stats.events, stats.first_seq, stats.last_seq), (301, Some(201), Some(1_000)));
    assert_eq!(stats.payloads, 60);
    opened.writer.append(ticks([1_001])).await.unwrap();

    // Nothing is left to do on the same day, so that no second checkpoint is written.
    let done = opened.writer.retain(now(), engine_state(), 1_002).await.unwrap();
    assert_eq!(done, Retained::default());
    drop(opened.reader);
    opened.writer.close().await.unwrap();

    let recovered = open_default(dir.path()).recovered;
    assert_eq!(recovered.base, Some((1_000, engine_state())));
    assert_eq!(seqs(&recovered.tail), [1_001]);
    assert_eq!(integrity(dir.path()), "ok");
}

#[tokio::test]
async fn a_clock_that_stood_wrong_prunes_too_little_not_too_much() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let at = |seq, days| dated(seq, days_ago(days));
    let events = vec![at(1, 90), at(2, 80), at(3, 1), Event { at: Timestamp(0), ..at(4, 0) }, at(5, 1)];
    opened.writer.append(Batch { events, ..Batch::default() }).await.unwrap();
    opened.writer.retain(now(), engine_state(), 10).await.unwrap();
    assert_eq!(logged_seqs(dir.path()), [3, 4, 5, 10]);
}

#[tokio::test]
async fn the_size_is_bounded_and_space_is_given_back() {
    let dir = state_dir();
    let retention = Retention { max_bytes: 1 << 20, ..Retention::default() };
    let opened = open(dir.path(), Options { retention, ..Options::default() }, BOOT).unwrap();
    let text = "text ".repeat(100);
    for batch in 0..100_u64 {
        let events = (1..=200).map(|n| signal(batch * 200 + n, Some(&text), None)).collect();
        opened.writer.append(Batch { events, ..Batch::default() }).await.unwrap();
    }
    let before = opened.reader.stats().unwrap();
    assert!(before.bytes > 10 << 20);

    let retaining = opened.writer.retain(now(), engine_state(), 30_000);
    // Appends go on in between.
    let appending = async {
        for seq in 30_001..30_050 {
            opened.writer.append(ticks([seq])).await.unwrap();
        }
    };
    let (done, ()) = tokio::join!(retaining, appending);
    let done = done.unwrap();
    assert_eq!(done.checkpoint, Some(30_000));
    let after = opened.reader.stats().unwrap();
    assert_eq!(after.events, 20_000 - done.events + 1 + 49);
    drop(opened.reader);
    opened.writer.close().await.unwrap();
    let bytes = std::fs::metadata(dir.path().join("agtmux.db")).unwrap().len();
    assert!(bytes <= 1 << 20, "{bytes}");

    let recovered = open_default(dir.path()).recovered;
    assert_eq!(recovered.base, Some((30_000, engine_state())));
    assert_eq!(seqs(&recovered.tail), (30_001..30_050).collect::<Vec<_>>());
}

#[tokio::test]
async fn runtimes_that_ended_long_ago_go_with_their_states() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let ended = Row::RuntimeEnded { runtime: runtime_id(), at: days_ago(40), how: Ending::Exited };
    let mut projection = rows();
    projection.push(ended);
    opened.writer.append(Batch { events: vec![dated(1, days_ago(41))], projection, ..Batch::default() }).await.unwrap();
    opened.writer.retain(now(), engine_state(), 2).await.unwrap();
    for table in ["runtimes", "states", "runtime_source_cursors"] {
        let left: i64 =
            shell(dir.path()).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

#[tokio::test]
async fn payloads_are_not_kept_when_they_are_not_wanted() {
    let dir = state_dir();
    let retention = Retention { payload_days: 0, ..Retention::default() };
    let opened = open(dir.path(), Options { retention, ..Options::default() }, BOOT).unwrap();
    opened.writer.append(Batch { events: vec![dated(1, now())], ..Batch::default() }).await.unwrap();
    assert_eq!(opened.reader.stats().unwrap().payloads, 0);
}
