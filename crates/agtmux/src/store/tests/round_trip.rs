//! What is written is what is read.

use agtmux_core::engine::Disposition;

use super::*;

#[tokio::test]
async fn every_fact_survives_a_restart() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    assert!(opened.recovered.base.is_none());
    assert!(opened.recovered.tail.is_empty());
    assert_eq!(opened.recovered.next_seq, 1);
    assert_eq!(opened.recovered.notes, Vec::<String>::new());

    let events = one_of_each();
    opened.writer.append(Batch { events: events.clone(), projection: rows(), ..Batch::default() }).await.unwrap();
    let with_payloads = EventFilter { payloads: true, ..EventFilter::default() };
    assert_eq!(opened.reader.events_after(0, 100, &with_payloads).unwrap(), events);
    opened.writer.close().await.unwrap();

    let recovered = open_default(dir.path()).recovered;
    let mut without_payload = events;
    for event in &mut without_payload {
        if let Fact::Signal(signal) = &mut event.fact {
            signal.payload = None;
        }
    }
    assert_eq!(recovered.tail, without_payload);
    assert_eq!(recovered.epoch, 2);
}

#[test]
fn the_type_column_repeats_the_name_in_the_body() {
    let checkpoint = event(1, Fact::Checkpoint { state: Box::new(engine_state()) });
    for event in one_of_each().iter().chain([&checkpoint]) {
        let body = serde_json::to_value(&event.fact).unwrap();
        assert_eq!(body["type"], log::kind(&event.fact));
    }
}

#[tokio::test]
async fn filters_choose_by_runtime_and_type() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    opened.writer.append(Batch { events: one_of_each(), ..Batch::default() }).await.unwrap();
    let seqs = |after, limit, filter: &EventFilter| -> Vec<u64> {
        opened.reader.events_after(after, limit, filter).unwrap().iter().map(|event| event.seq).collect()
    };

    let of_runtime = EventFilter { runtime: Some(runtime_id()), ..EventFilter::default() };
    assert_eq!(seqs(0, 100, &of_runtime), [6, 7, 8, 9, 10, 14]);
    assert_eq!(seqs(7, 2, &of_runtime), [8, 9]);
    let of_types = EventFilter { types: vec!["tick".into(), "signal".into()], ..EventFilter::default() };
    assert_eq!(seqs(0, 100, &of_types), [13, 18]);
    assert_eq!(seqs(17, 100, &EventFilter::default()), [18]);

    let newest = |limit, filter: &EventFilter| -> Vec<u64> {
        opened.reader.newest_events(limit, filter).unwrap().iter().map(|event| event.seq).collect()
    };
    assert_eq!(newest(2, &of_runtime), [10, 14]);
    assert_eq!(newest(1, &EventFilter::default()), [18]);

    let stats = opened.reader.stats().unwrap();
    assert_eq!((stats.events, stats.first_seq, stats.last_seq, stats.payloads), (18, Some(1), Some(18), 1));
    assert!(stats.bytes > 0);
}

#[tokio::test]
async fn the_projection_follows_and_forgets() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let write = |projection| opened.writer.append(Batch { events: Vec::new(), projection, ..Batch::default() });
    let count = |table: &str| -> i64 {
        shell(dir.path()).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };

    write(rows()).await.unwrap();
    write(rows()).await.unwrap();
    for table in
        ["targets", "servers", "panes", "runtimes", "states", "runtime_source_cursors", "adapters", "action_snapshots"]
    {
        assert_eq!(count(table), 1, "{table}");
    }
    write(vec![Row::State(state_row(State::Idle, 2))]).await.unwrap();
    let state: (String, i64) = shell(dir.path())
        .query_row("SELECT state, state_version FROM states", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(state, ("idle".into(), 2));

    write(vec![Row::PaneGone(pane_key())]).await.unwrap();
    assert_eq!(count("panes"), 0);
    write(rows()).await.unwrap();
    write(vec![Row::ServerGone(pane_key().server)]).await.unwrap();
    assert_eq!((count("servers"), count("panes"), count("runtimes")), (0, 0, 1));
    write(rows()).await.unwrap();
    let ended = Row::RuntimeEnded { runtime: runtime_id(), at: Timestamp(5), how: Ending::ServerGone };
    write(vec![Row::TargetGone(TargetName::new("local")), ended]).await.unwrap();
    assert_eq!((count("targets"), count("servers"), count("panes")), (0, 0, 0));
    let ending: String = shell(dir.path()).query_row("SELECT ending FROM runtimes", [], |row| row.get(0)).unwrap();
    assert_eq!(ending, "server_gone");
}

#[tokio::test]
async fn repeats_are_logged_and_only_the_first_is_bound() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let runtime = runtime_id();
    let dispositions = [
        Disposition::Bound { runtime: runtime.clone() },
        Disposition::Bound { runtime: runtime.clone() },
        Disposition::Duplicate { runtime: runtime.clone() },
        Disposition::OutOfOrder { runtime: runtime.clone() },
        Disposition::RuntimeEnded { runtime },
        Disposition::Unbound { why: "no such pane".into() },
        Disposition::Pending,
    ];
    let mut events: Vec<Event> = (1..=dispositions.len() as u64).map(|seq| signal(seq, None, None)).collect();
    for event in &mut events {
        if let Fact::Signal(signal) = &mut event.fact {
            signal.dedupe_key = "same".into();
        }
    }
    let projection = (1..).zip(dispositions).map(|(seq, disposition)| Row::Disposition { seq, disposition }).collect();
    opened.writer.append(Batch { events, projection, ..Batch::default() }).await.unwrap();

    let connection = shell(dir.path());
    let mut statement = connection.prepare("SELECT bind_status FROM events ORDER BY seq").unwrap();
    let found: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(
        found,
        ["bound", "duplicate", "duplicate", "out_of_order", "runtime_ended", "dropped_unbound", "pending_bind"]
    );
}

#[tokio::test]
async fn a_bad_batch_fails_alone() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    opened.writer.append(ticks([10])).await.unwrap();

    // All of these are sent before the thread can answer the first, so that they meet in groups.
    let orphan = Batch {
        events: ticks([40]).events,
        projection: vec![Row::State(state_row(State::Idle, 1))],
        ..Batch::default()
    };
    let (a, repeated, b, orphaned, c) = tokio::join!(
        opened.writer.append(ticks([11])),
        opened.writer.append(ticks([12, 10])),
        opened.writer.append(ticks([13])),
        opened.writer.append(orphan),
        opened.writer.append(ticks([14])),
    );
    assert_eq!((a, b, c), (Ok(()), Ok(()), Ok(())));
    assert!(matches!(repeated, Err(StoreError::Rejected { .. })), "{repeated:?}");
    assert!(matches!(orphaned, Err(StoreError::Rejected { .. })), "{orphaned:?}");
    opened.writer.close().await.unwrap();
    assert_eq!(logged_seqs(dir.path()), [10, 11, 13, 14]);
}

#[tokio::test]
async fn numbers_are_never_handed_out_twice() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    let handed_out = opened.writer.reserved() - 1;
    drop(opened);
    let opened = wait_for_owner(dir.path()).await;
    assert!(opened.recovered.next_seq > handed_out);

    let far = opened.recovered.next_seq + 1_000_000;
    opened.writer.reserve(far).await.unwrap();
    assert_eq!(opened.writer.reserved(), far);
    opened.writer.append(ticks([far + 7])).await.unwrap();
    assert!(opened.writer.reserved() > far + 7);
    let reserved = opened.writer.reserved();
    opened.writer.close().await.unwrap();
    assert_eq!(open_default(dir.path()).recovered.next_seq, reserved);
}

/// Opens as soon as a writer that was dropped, not closed, has let go.
async fn wait_for_owner(dir: &Path) -> Opened {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    loop {
        match open(dir, Options::default(), BOOT) {
            Err(StoreError::Owned { .. }) if std::time::Instant::now() < deadline => tokio::task::yield_now().await,
            outcome => return outcome.unwrap(),
        }
    }
}

#[tokio::test]
async fn a_snapshot_shortens_the_tail() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    opened.writer.append(ticks(1..=10)).await.unwrap();
    for seq in [3, 5, 8] {
        opened.writer.snapshot(seq, engine_state());
    }
    opened.writer.flush().await.unwrap();
    opened.writer.close().await.unwrap();

    let opened = open_default(dir.path());
    assert_eq!(opened.recovered.base, Some((8, engine_state())));
    assert_eq!(opened.recovered.tail.iter().map(|event| event.seq).collect::<Vec<_>>(), [9, 10]);
    opened.writer.close().await.unwrap();

    shell(dir.path()).execute("UPDATE snapshots SET format = '0/other' WHERE seq = 8", []).unwrap();
    let opened = open_default(dir.path());
    assert_eq!(opened.recovered.base, Some((5, engine_state())));
    assert_eq!(opened.recovered.notes, ["snapshot 8 has format 0/other and was passed over"]);
    opened.writer.close().await.unwrap();

    shell(dir.path()).execute("UPDATE snapshots SET body = '{' WHERE seq = 5", []).unwrap();
    let recovered = open_default(dir.path()).recovered;
    assert_eq!((recovered.base, recovered.tail.len(), recovered.notes.len()), (None, 10, 2));
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_left_out_and_noted() {
    let dir = state_dir();
    let opened = open_default(dir.path());
    opened.writer.append(ticks(1..=3)).await.unwrap();
    opened.writer.close().await.unwrap();
    shell(dir.path()).execute("UPDATE events SET v = 99 WHERE seq = 2", []).unwrap();

    let opened = open_default(dir.path());
    assert_eq!(opened.recovered.tail.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(opened.recovered.notes, ["event 2 cannot be read: format 99 is newer than 1; it was left out"]);
    assert_eq!(opened.reader.events_after(0, 10, &EventFilter::default()).unwrap().len(), 2);
}
