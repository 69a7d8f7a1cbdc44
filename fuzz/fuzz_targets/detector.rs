//! Any bytes are read without a panic, and alike however they are cut. The first byte chooses the size of the pieces.

#![no_main]

use agtmux_agents::detector::markers;
use agtmux_agents::{Sighting, SignalDetector};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, stream)) = bytes.split_first() else {
        return;
    };
    let whole = read([stream]);
    assert_eq!(whole, read(stream.chunks(usize::from(*choice) + 1)));
    assert_eq!(whole, read(stream.chunks(1)));
    let marker = whole.iter().any(|sighting| matches!(sighting, Sighting::Marker(_)));
    assert_eq!(marker, !markers(stream).is_empty());
});

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Sighting> {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    for piece in pieces {
        detector.feed(piece, &mut out);
    }
    detector.flush(&mut out);
    assert!(!detector.pending());
    out
}
