//! Any bytes are quoted as one word: a reader of tmux's grammar gets them back, and finds nothing after them.

#![no_main]

use agtmux_tmux::command::quote;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if bytes.contains(&0) {
        return;
    }
    let mut line = Vec::new();
    quote(bytes, &mut line);
    assert!(!line.contains(&b'\n') && !line.contains(&0xff));
    assert_eq!(read_word(&line).as_deref(), Some(bytes));
});

/// Reads a line that is one quoted word; anything alive inside it, or anything after it, is a failure.
fn read_word(line: &[u8]) -> Option<Vec<u8>> {
    let (quote, rest) = line.split_first()?;
    let (last, body) = rest.split_last()?;
    if last != quote {
        return None;
    }
    match quote {
        b'\'' => (!body.contains(&b'\'')).then(|| body.to_vec()),
        b'"' => read_escapes(body),
        _ => None,
    }
}

fn read_escapes(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut word = Vec::new();
    while let Some((byte, rest)) = body.split_first() {
        body = match (byte, rest) {
            (b'"' | b'$' | b'~', _) => return None,
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..]) => {
                word.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest
            }
            (b'\\', [escaped @ (b'"' | b'\\' | b'$'), rest @ ..]) => {
                word.push(*escaped);
                rest
            }
            (b'\\', _) => return None,
            (byte, rest) => {
                word.push(*byte);
                rest
            }
        };
    }
    Some(word)
}
