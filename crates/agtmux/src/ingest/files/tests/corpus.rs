//! Bad input: whatever lies in the files, nothing fails, and garbage never makes an agent look busy (I10).

use agtmux_agents::schmux;
use agtmux_agents::translate::claude_session_file;
use agtmux_core::signal::{STATE_NAMES, Signal};
use proptest::prelude::{Strategy, any, prop, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

const CASES: u32 = 5_000;

/// Real traces, and what tends to go wrong with them.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let seeds = [
        "completed all of it\n",
        "needs_input\n",
        r#"{"ts":"2026-01-31T09:00:00Z","type":"status","state":"working","message":"x"}"#,
        r#"{"type":"resume_id","id":"abc"}"#,
        r#"{"pid":7,"procStart":"5","sessionId":"a","status":"waiting","waitingFor":"input needed","statusUpdatedAt":1}"#,
    ];
    let seed = prop::sample::select(seeds.map(|seed| seed.as_bytes().to_vec()).to_vec());
    let damaged = (seed, prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 0..6)).prop_map(
        |(mut bytes, wounds)| {
            for (place, byte, kind) in wounds {
                let place = place.index(bytes.len().max(1)).min(bytes.len());
                match kind {
                    0 if place < bytes.len() => bytes[place] = byte,
                    1 => bytes.insert(place, byte),
                    2 => bytes.truncate(place),
                    _ => bytes.extend_from_slice(&bytes.clone()[..place]),
                }
            }
            bytes
        },
    );
    prop_oneof![prop::collection::vec(any::<u8>(), 0..300), damaged]
}

#[test]
fn five_thousand_bad_files_fabricate_nothing() {
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&garbage(), |bytes| {
        let text = String::from_utf8_lossy(&bytes);
        if let Some(reading) = schmux::status_line(&text) {
            let first = text.split_whitespace().next().unwrap_or_default().trim_start_matches('\u{feff}');
            let is_state = STATE_NAMES.contains(&first);
            assert_eq!(!is_state, matches!(reading.signal, Signal::Unsupported { .. }), "{text:?}");
        }
        for line in text.lines() {
            let read = schmux::event_line(line);
            let is_json = serde_json::from_str::<serde_json::Value>(line).is_ok_and(|value| value.is_object());
            let is_near_miss = read.reading.is_some_and(|read| matches!(read.signal, Signal::Unsupported { .. }));
            assert!(is_json || is_near_miss, "{line:?}");
        }
        if let Ok(json) = serde_json::from_slice(&bytes)
            && let Some(record) = claude_session_file(&json)
        {
            assert!(json["sessionId"].is_string() && json["pid"].is_u64(), "{record:?} of {json}");
        }
        Ok(())
    });
    outcome.unwrap();
}
