//! Server-sent events, as they come in pieces of any size.

/// The largest event that is kept; a larger one is passed over.
const EVENT: usize = 1024 * 1024;

/// Puts pieces together. Of the format only the data matters here: names and ids of events are in it too.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    is_too_large: bool,
}

impl Events {
    /// Takes a piece; gives the data of the events that it completes.
    pub(super) fn take(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        let mut events = Vec::new();
        for byte in piece {
            if *byte == b'\n' {
                events.extend(self.end_line());
            } else if self.line.len() < EVENT {
                self.line.push(*byte);
            } else {
                self.is_too_large = true;
            }
        }
        events
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            let is_whole = !std::mem::take(&mut self.is_too_large);
            return Some(data).filter(|data| is_whole && !data.is_empty());
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            if !self.data.is_empty() {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            if self.data.len() > EVENT {
                self.data.clear();
                self.is_too_large = true;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{EVENT, Events};

    #[test]
    fn events_come_out_whole_however_they_are_cut() {
        let stream = b": hello\n\ndata: {\"a\":1}\r\n\r\nevent: x\ndata:one\ndata: two\n\ndata: last";
        for cut in 0..stream.len() {
            let mut events = Events::default();
            let mut seen = events.take(&stream[..cut]);
            seen.extend(events.take(&stream[cut..]));
            seen.extend(events.take(b"\n\n"));
            let seen: Vec<_> = seen.iter().map(|event| String::from_utf8_lossy(event)).collect();
            assert_eq!(seen, ["{\"a\":1}", "one\ntwo", "last"], "cut at {cut}");
        }
    }

    #[test]
    fn what_is_too_large_is_passed_over_and_not_kept() {
        let mut events = Events::default();
        let large = vec![b'x'; EVENT];
        for _ in 0..3 {
            assert!(events.take(&large).is_empty());
            assert!(events.line.len() <= EVENT && events.data.len() <= EVENT);
        }
        assert!(events.take(b"\n").is_empty());
        for _ in 0..3 {
            assert!(events.take(&[b"data: ", &large[..EVENT / 2], b"\n"].concat()).is_empty());
        }
        assert!(events.take(b"\n").is_empty());
        assert_eq!(events.take(b"data: small\n\n"), [b"small"]);
    }
}
