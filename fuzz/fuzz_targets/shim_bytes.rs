//! Any bytes of a terminal or a program are read without a panic and alike however they are cut; a letter between two keys is a
//! draft; and what is typed around an injection comes out as it went in. The first byte chooses the size of the pieces.

#![no_main]

use agtmux_shim::arbiter::{Arbiter, Screen};
use agtmux_shim::buffer::Buffer;
use agtmux_shim::keyboard::Keyboard;
use agtmux_shim::modes::Modes;
use agtmux_shim::protocol::{Answer, Inject};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, stream)) = bytes.split_first() else {
        return;
    };
    // Enter at the end of a long piece is doubted, so keys are compared in short ones.
    let size = usize::from(choice % 16) + 1;
    let (mut whole, mut pieces) = (Modes::default(), Modes::default());
    whole.feed(stream);
    stream.chunks(size).for_each(|piece| pieces.feed(piece));
    assert_eq!(whole, pieces);

    let (mut by_ones, mut by_pieces) = (Keyboard::default(), Keyboard::default());
    for piece in stream.chunks(1) {
        by_ones.feed(piece, 0);
    }
    for piece in stream.chunks(size) {
        by_pieces.feed(piece, 0);
    }
    assert_eq!(by_ones, by_pieces);
    if by_ones.is_between_keys() {
        by_ones.feed(b"a", 0);
        assert!(by_ones.is_draft());
    }

    let (mut arbiter, mut agent) = (Arbiter::default(), Buffer::new(64 * 1_024));
    let (mut typed, mut read) = (Vec::new(), Vec::new());
    let mut expected = Vec::new();
    for (number, piece) in stream.chunks(size).enumerate() {
        let now = number as u64 * 7;
        let request = Inject { id: number.to_string(), even_if_draft: true, ..Inject::default() };
        let screen = Screen { pastes: false, output: 0 };
        if number % 5 == 4 && matches!(arbiter.inject(&request, b"MESSAGE".to_vec(), now, screen), Answer::Accepted { .. }) {
            expected.push(typed.len());
        }
        if arbiter.has_room(&agent) {
            arbiter.input(piece, now, &mut agent);
            typed.extend_from_slice(piece);
        }
        arbiter.turn(now, &mut agent);
        read.extend_from_slice(agent.waiting());
        agent.consume(usize::MAX);
    }
    for step in 0..10_000u64 {
        arbiter.turn(1_000_000 + step * 20, &mut agent);
        if agent.is_empty() && arbiter.deadline(&agent).is_none() {
            break;
        }
        read.extend_from_slice(agent.waiting());
        agent.consume(usize::MAX);
    }
    for (before, at) in expected.iter().enumerate() {
        typed.splice(at + before * 8..at + before * 8, *b"MESSAGE\r");
    }
    assert_eq!(read, typed);
});
