//! Any bytes on the socket of a shim are requests or malformed, without a panic, within the limits, and alike however they are
//! cut. What is accepted is typed whole. The first byte chooses the size of the pieces.

#![no_main]

use agtmux_shim::arbiter::{Arbiter, Screen};
use agtmux_shim::buffer::Buffer;
use agtmux_shim::protocol::{Answer, BODY_LIMIT, Request};
use agtmux_shim::{Inbox, Malformed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, stream)) = bytes.split_first() else {
        return;
    };
    let whole = read([stream]);
    let pieces = read(stream.chunks(usize::from(*choice) + 1));
    assert_eq!(whole, pieces);
    let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
    let mut now = 0;
    for (request, body) in whole.0 {
        assert!(body.len() <= BODY_LIMIT);
        let Request::Inject(inject) = request else { continue };
        let screen = Screen { pastes: choice & 1 == 0, output: 7 };
        if !matches!(arbiter.inject(&inject, body, now, screen), Answer::Accepted { .. }) {
            continue;
        }
        let mut ended = None;
        for _ in 0..200 {
            now += 50;
            ended = arbiter.turn(now, &mut agent).or(ended);
            agent.consume(usize::MAX);
            // Some of what waits to be submitted may be.
            if choice & 2 == 0 {
                arbiter.submit(inject.id.clone());
            }
        }
        let left = Answer::Left { id: inject.id.clone() };
        assert!(ended == Some(Answer::Submitted { id: inject.id }) || (inject.waits && ended == Some(left)));
        assert!(arbiter.deadline(&agent).is_none());
    }
});

/// The requests, and whether what follows them is malformed.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<(Request, Vec<u8>)>, bool) {
    let mut inbox = Inbox::default();
    let mut requests = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            match inbox.feed(piece) {
                Ok((taken, arrived)) => {
                    assert!(taken > 0);
                    requests.extend(arrived.and_then(Result::ok));
                    piece = &piece[taken..];
                }
                Err(Malformed) => return (requests, true),
            }
        }
    }
    (requests, false)
}
