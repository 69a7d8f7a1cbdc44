//! Sans-I/O decoder of the control stream: bytes in, replies and notifications out.
//!
//! The stream is lines. A reply is a block between `%begin TIME NUMBER FLAGS` and `%end` or `%error` with the same
//! time and number; every line between them is output of the command, whatever it looks like, because captured
//! pane text may well contain `%end 1 2 3`. Notifications never occur inside a block.

use std::collections::VecDeque;

use crate::id::decimal;
pub use crate::notification::Notification;
use crate::notification::word;

/// How many bytes of a line that makes no sense are kept for diagnosis.
const MALFORMED_KEPT: usize = 256;

/// The answer to one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// When the server began the command, in seconds since the epoch.
    pub time: i64,
    /// The server's number of the command.
    pub number: u64,
    /// The flags of the block; see [`Reply::is_own`].
    pub flags: u32,
    /// Whether the block ended with `%end` rather than `%error`.
    pub ok: bool,
    /// Whether output is missing because it passed a [`Limits`]. The lines are then dropped altogether.
    pub truncated: bool,
    /// The output, line by line, without the line ends.
    pub lines: Vec<Vec<u8>>,
}

impl Reply {
    /// Whether this answers a command that this client wrote, rather than the command that attached it or a hook.
    pub fn is_own(&self) -> bool {
        self.flags & 1 == 1
    }

    /// The output as one text, with the line ends tmux wrote between the lines.
    pub fn text(&self) -> Vec<u8> {
        self.lines.join(&b'\n')
    }
}

/// One thing the stream said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A block was closed.
    Reply(Reply),
    /// tmux reported something between blocks.
    Notification(Notification),
    /// The client is being detached; the stream ends here.
    Exit {
        /// Why, in tmux's words; often empty.
        reason: Vec<u8>,
    },
    /// A line that cannot occur at this place, cut to a few hundred bytes. The decoder goes on with the next line,
    /// but what it says may no longer fit the commands that were sent.
    Malformed(Vec<u8>),
}

/// Bounds on what the decoder holds in memory.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The longest line.
    pub line: usize,
    /// The most bytes of output in one block.
    pub block: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { line: 1 << 20, block: 64 << 20 }
    }
}

/// Decodes a control stream that arrives in pieces of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    limits: Limits,
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    /// Whether the rest of the current line is to be thrown away, its beginning being over the limit.
    overlong: bool,
    block: Option<Block>,
    items: VecDeque<Item>,
}

#[derive(Debug)]
struct Block {
    reply: Reply,
    size: usize,
}

impl Decoder {
    /// Makes a decoder with the default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a decoder with other limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.extend_partial(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let mut line = std::mem::take(&mut self.partial);
            let overlong = std::mem::take(&mut self.overlong);
            self.line(&line, overlong);
            line.clear();
            self.partial = line;
        }
        self.extend_partial(bytes);
    }

    /// Gives the next thing that was said, if it has arrived completely.
    #[expect(
        clippy::should_implement_trait,
        reason = "an empty decoder is not a finished one, as `None` of an iterator would say"
    )]
    pub fn next(&mut self) -> Option<Item> {
        self.items.pop_front()
    }

    fn extend_partial(&mut self, bytes: &[u8]) {
        let room = self.limits.line.saturating_sub(self.partial.len());
        if bytes.len() > room {
            self.overlong = true;
        }
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn line(&mut self, line: &[u8], overlong: bool) {
        match self.block.take() {
            Some(block) => self.block_line(block, line, overlong),
            None if overlong => self.malformed(line),
            None => self.plain_line(line),
        }
    }

    fn block_line(&mut self, mut block: Block, line: &[u8], overlong: bool) {
        if !overlong
            && let Some(guard) = Guard::parse(line)
            && guard.closes(&block.reply)
        {
            block.reply.ok = guard.kind == GuardKind::End;
            self.items.push_back(Item::Reply(block.reply));
            return;
        }
        block.size = block.size.saturating_add(line.len() + 1);
        if overlong || block.size > self.limits.block {
            block.reply.truncated = true;
            block.reply.lines = Vec::new();
        }
        if !block.reply.truncated {
            block.reply.lines.push(line.to_vec());
        }
        self.block = Some(block);
    }

    fn plain_line(&mut self, line: &[u8]) {
        if let Some(guard) = Guard::parse(line) {
            // An end without its beginning means that output was taken for the end of a block before.
            if guard.kind != GuardKind::Begin {
                return self.malformed(line);
            }
            let Guard { time, number, flags, .. } = guard;
            let reply = Reply { time, number, flags, ok: false, truncated: false, lines: Vec::new() };
            self.block = Some(Block { reply, size: 0 });
        } else if line == b"%exit" || line.starts_with(b"%exit ") {
            self.items.push_back(Item::Exit { reason: word(line).1.to_vec() });
        } else if line.first() == Some(&b'%') {
            self.items.push_back(Item::Notification(Notification::parse(line)));
        } else {
            self.malformed(line);
        }
    }

    fn malformed(&mut self, line: &[u8]) {
        self.items.push_back(Item::Malformed(line[..line.len().min(MALFORMED_KEPT)].to_vec()));
    }
}

/// A line that begins or ends a block.
struct Guard {
    kind: GuardKind,
    time: i64,
    number: u64,
    flags: u32,
}

#[derive(PartialEq, Eq)]
enum GuardKind {
    Begin,
    End,
    Error,
}

impl Guard {
    fn parse(line: &[u8]) -> Option<Self> {
        let (name, rest) = word(line);
        let kind = match name {
            b"%begin" => GuardKind::Begin,
            b"%end" => GuardKind::End,
            b"%error" => GuardKind::Error,
            _ => return None,
        };
        let (time, rest) = word(rest);
        let (number, flags) = word(rest);
        Some(Self { kind, time: decimal(time)?, number: decimal(number)?, flags: decimal(flags)? })
    }

    fn closes(&self, reply: &Reply) -> bool {
        self.kind != GuardKind::Begin && self.time == reply.time && self.number == reply.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(decoder: &mut Decoder, bytes: &[u8]) -> Vec<Item> {
        decoder.feed(bytes);
        std::iter::from_fn(|| decoder.next()).collect()
    }

    fn reply(number: u64, lines: &[&[u8]]) -> Reply {
        let lines = lines.iter().map(|line| line.to_vec()).collect();
        Reply { time: 7, number, flags: 1, ok: true, truncated: false, lines }
    }

    #[test]
    fn output_that_looks_like_an_end_does_not_close_the_block() {
        let stream = b"%begin 7 1 1\n%end 1 2 3\n%end 7 2 1\n%error 6 1 1\n%output %1 x\n%begin 7 1 1\n%end 7 1 1\n";
        let lines: &[&[u8]] = &[b"%end 1 2 3", b"%end 7 2 1", b"%error 6 1 1", b"%output %1 x", b"%begin 7 1 1"];
        assert_eq!(decode(&mut Decoder::new(), stream), [Item::Reply(reply(1, lines))]);
    }

    #[test]
    fn an_end_without_a_beginning_is_malformed_and_decoding_goes_on() {
        let items = decode(&mut Decoder::new(), b"%end 7 1 1\nmotd\n%sessions-changed\n");
        assert_eq!(
            items,
            [
                Item::Malformed(b"%end 7 1 1".to_vec()),
                Item::Malformed(b"motd".to_vec()),
                Item::Notification(Notification::SessionsChanged),
            ]
        );
    }

    #[test]
    fn output_over_a_limit_is_dropped_and_the_block_still_closes() {
        let mut decoder = Decoder::with_limits(Limits { line: 16, block: 32 });
        let truncated = |number| Item::Reply(Reply { truncated: true, ..reply(number, &[]) });
        let line = [b"%begin 7 1 1\n".as_slice(), &[b'x'; 17], b"\nshort\n%end 7 1 1\n"].concat();
        assert_eq!(decode(&mut decoder, &line), [truncated(1)]);
        let block = [b"%begin 7 2 1\n".as_slice(), &b"0123456789\n".repeat(4), b"%end 7 2 1\n"].concat();
        assert_eq!(decode(&mut decoder, &block), [truncated(2)]);
        assert_eq!(decode(&mut decoder, b"%begin 7 3 1\na\n%end 7 3 1\n"), [Item::Reply(reply(3, &[b"a"]))]);
        let stray = [b"%output %1 ".as_slice(), &[b'y'; 100], b"\n"].concat();
        assert_eq!(decode(&mut decoder, &stray), [Item::Malformed(b"%output %1 yyyyy".to_vec())]);
    }

    #[test]
    fn exit_carries_its_reason() {
        let items = decode(&mut Decoder::new(), b"%exit server exited\n%exit\n");
        assert_eq!(items, [Item::Exit { reason: b"server exited".to_vec() }, Item::Exit { reason: Vec::new() }]);
    }
}
