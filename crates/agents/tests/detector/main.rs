//! The stream detector against the real agents' output, against an independent reading, and against noise.
//!
//! `AGTMUX_CASES` sets the number of cases per law.

#![allow(clippy::disallowed_methods, reason = "a test reads recordings and how long it may take")]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod oracle;
mod recordings;
mod streams;

use agtmux_agents::{Sighting, SignalDetector};
use proptest::prelude::*;
use proptest::test_runner::Config;

/// So many cases, unless told otherwise.
fn cases(usual: u32) -> Config {
    let cases = std::env::var("AGTMUX_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// What a detector sees in a stream that comes in pieces.
fn seen<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Sighting> {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    for piece in pieces {
        detector.feed(piece, &mut out);
    }
    detector.flush(&mut out);
    out
}

proptest! {
    #![proptest_config(cases(10_000))]

    /// Another parser, and another way to look at lines, come to the same.
    #[test]
    fn sees_what_the_oracle_sees(stream in streams::stream()) {
        if let Some(expected) = oracle::sightings(&stream) {
            prop_assert_eq!(oracle::raw(&stream), expected);
        }
    }
}

proptest! {
    #![proptest_config(cases(2_000))]

    /// F2: a marker that is split between two reads is a marker.
    #[test]
    fn pieces_make_no_difference(
        stream in streams::stream(),
        sizes in prop::collection::vec(prop_oneof![1..40_usize, 65..700_usize], 1..20),
    ) {
        let mut rest = stream.as_slice();
        let mut pieces = Vec::new();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(seen(pieces), seen([stream.as_slice()]));
    }

    /// Noise neither panics nor is kept, and a marker after it is found.
    #[test]
    fn noise_does_no_harm(mut noise in prop::collection::vec(any::<u8>(), 0..2_000)) {
        // Ends whatever string or line the noise began.
        noise.extend_from_slice(b"\x18\r\n--<[schmux:needs_testing:try it]>--\r\n");
        let mut detector = SignalDetector::new();
        let mut out = Vec::new();
        detector.feed(&noise, &mut out);
        prop_assert!(!detector.pending());
        let last = out.last().and_then(|sighting| sighting.reading()).and_then(|reading| reading.message);
        prop_assert_eq!(last.as_deref(), Some("try it"));
    }
}
