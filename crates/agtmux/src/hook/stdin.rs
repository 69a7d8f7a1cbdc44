//! The payload on standard input, without waiting for its end: agents keep the pipe open, or never write at all (F87).

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio;
use rustix::termios::isatty;

/// How long the agent may be silent. It writes right after the start, unless the machine is very busy.
const SILENCE: Duration = Duration::from_millis(500);

/// How long reading takes at most.
const PATIENCE: Duration = Duration::from_secs(2);

/// More than this is read, so that the agent can write it, and not kept.
const KEPT: usize = 64 * 1024 * 1024;

const CHUNK: usize = 64 * 1024;

/// Reads one JSON document, or what there is of it.
pub(super) fn read() -> Vec<u8> {
    let stdin = stdio::stdin();
    // A person at a terminal writes no payload.
    if isatty(stdin) { Vec::new() } else { read_from(stdin, SILENCE) }
}

fn read_from(input: impl AsFd, silence: Duration) -> Vec<u8> {
    let deadline = Instant::now() + PATIENCE;
    let mut payload = Vec::new();
    let mut document = Document::default();
    let mut chunk = vec![0; CHUNK];
    while wait(&input, silence.min(deadline.saturating_duration_since(Instant::now()))) {
        let count = match rustix::io::read(&input, chunk.as_mut_slice()) {
            Ok(0) => break,
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => continue,
            Err(_) => break,
        };
        let bytes = &chunk[..count];
        payload.extend_from_slice(&bytes[..count.min(KEPT.saturating_sub(payload.len()))]);
        if document.is_whole_after(bytes) {
            break;
        }
    }
    payload
}

/// Whether there is something to read in time; the end counts.
fn wait(input: impl AsFd, within: Duration) -> bool {
    let Ok(within) = Timespec::try_from(within) else { return false };
    loop {
        match poll(&mut [PollFd::new(&input, PollFlags::IN)], Some(&within)) {
            Err(Errno::INTR) => {}
            ready => return ready.is_ok_and(|count| count > 0),
        }
    }
}

/// Follows a JSON object or list just far enough to know where it ends. Whether it is valid is for others to say.
#[derive(Default)]
struct Document {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Document {
    /// Whether the document ends within these bytes.
    fn is_whole_after(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|byte| self.ends_with(*byte))
    }

    fn ends_with(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            // Outside of a document a quotation mark opens nothing.
            b'"' => self.in_string = self.depth > 0,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::{Document, read_from};

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_whole_document_is_enough_though_the_pipe_stays_open() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let begun = Instant::now();
        for part in ["{\"a\": \"}", "\\\"", "\", \"b\": [1, 2", "]}", "\n"] {
            writer.write_all(part.as_bytes()).expect("room in the pipe");
        }
        assert_eq!(read_from(reader, LONG), b"{\"a\": \"}\\\"\", \"b\": [1, 2]}\n");
        assert!(begun.elapsed() < LONG);
    }

    #[test]
    fn silence_ends_it_and_so_does_the_end() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        assert_eq!(read_from(&reader, SHORT), b"");
        writer.write_all(b"{\"half\":").expect("room in the pipe");
        assert_eq!(read_from(&reader, SHORT), b"{\"half\":");
        drop(writer);
        assert_eq!(read_from(&reader, LONG), b"");
    }

    #[test]
    fn more_than_the_pipe_holds_is_read() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let document = json!({ "text": "x".repeat(10_000_000) }).to_string();
        let expected = document.clone();
        let writing = thread::spawn(move || writer.write_all(document.as_bytes()).map(|()| writer));
        assert!(read_from(reader, LONG) == expected.as_bytes());
        assert!(writing.join().expect("a writer").is_ok(), "the agent could write all of it");
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![any::<i64>().prop_map(Value::from), ".*".prop_map(Value::from), Just(Value::Null)];
        let nested = leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop_oneof![
            prop::collection::vec(nested.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(".*", nested, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    }

    proptest! {
        #[test]
        fn a_document_ends_with_its_last_byte_and_not_before(document in document(), split in any::<prop::sample::Index>()) {
            let text = document.to_string();
            let (head, tail) = text.as_bytes().split_at(split.index(text.len()));
            let mut follower = Document::default();
            prop_assert!(!follower.is_whole_after(head));
            prop_assert!(follower.is_whole_after(tail));
            let mut shorter = Document::default();
            prop_assert!(!shorter.is_whole_after(&text.as_bytes()[..text.len() - 1]));
        }
    }
}
