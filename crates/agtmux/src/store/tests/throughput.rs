//! How many events a second are written durably. Run with `--release -- --ignored --nocapture throughput`.

use std::time::Instant;

use agtmux_core::engine::Disposition;

use super::*;

#[tokio::test]
#[ignore = "a measurement"]
async fn throughput() {
    for synchronous in [Synchronous::Normal, Synchronous::Full] {
        for size in [1, 10, 100, 1_000] {
            let dir = state_dir();
            let opened = open(dir.path(), Options { synchronous, ..Options::default() }, BOOT).unwrap();
            opened.writer.append(Batch { events: Vec::new(), projection: rows(), ..Batch::default() }).await.unwrap();
            let total =
                if synchronous == Synchronous::Full && size < 100 { size * 500 } else { 50_000.min(size * 10_000) };
            let batches: Vec<Batch> = (0..total / size).map(|batch| filled(batch * size + 1, size)).collect();
            let start = Instant::now();
            for batch in batches {
                opened.writer.append(batch).await.unwrap();
            }
            let rate = total as f64 / start.elapsed().as_secs_f64();
            println!("{synchronous:?}, one caller, batches of {size:>4}: {rate:>8.0} events/s");
        }
        let dir = state_dir();
        let opened = open(dir.path(), Options { synchronous, ..Options::default() }, BOOT).unwrap();
        opened.writer.append(Batch { events: Vec::new(), projection: rows(), ..Batch::default() }).await.unwrap();
        let batches: Vec<Batch> = (0..20_000).map(|seq| filled(seq + 1, 1)).collect();
        let start = Instant::now();
        let callers: Vec<_> = batches
            .into_iter()
            .map(|batch| {
                let writer = opened.writer.clone();
                tokio::spawn(async move { writer.append(batch).await })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap().unwrap();
        }
        let rate = 20_000.0 / start.elapsed().as_secs_f64();
        println!("{synchronous:?}, many callers, batches of  1: {rate:>8.0} events/s");
    }
}

/// Signals with a message and a payload; each changes the state and the cursor of its runtime.
fn filled(first: u64, size: u64) -> Batch {
    let payload = r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","cwd":"/home/me/project","tool_input":{"command":"cargo test"}}"#;
    let events: Vec<Event> =
        (first..first + size).map(|seq| signal(seq, Some("running the tests"), Some(payload))).collect();
    let mut projection = Vec::new();
    for event in &events {
        projection.push(Row::State(state_row(State::Running, event.seq)));
        projection.push(Row::Disposition { seq: event.seq, disposition: Disposition::Bound { runtime: runtime_id() } });
    }
    Batch { events, projection, ..Batch::default() }
}
