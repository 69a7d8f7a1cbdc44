//! Any bytes are decoded without a panic, within the limits, and alike however they are cut. The first byte chooses
//! the size of the pieces and the limits.

#![no_main]

use agtmux_tmux::protocol::{Decoder, Item, Limits};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, stream)) = bytes.split_first() else {
        return;
    };
    let limits = match choice & 1 {
        0 => Limits::default(),
        _ => Limits { line: 64, block: 256 },
    };
    let whole = decode(limits, [stream]);
    let pieces = decode(limits, stream.chunks(usize::from(choice >> 1) + 1));
    assert_eq!(whole, pieces);
    for item in whole {
        if let Item::Reply(reply) = item {
            assert!(reply.lines.iter().map(|line| line.len() + 1).sum::<usize>() <= limits.block);
        }
    }
});

fn decode<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut decoder = Decoder::with_limits(limits);
    let mut items = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        items.extend(std::iter::from_fn(|| decoder.next()));
    }
    items
}
