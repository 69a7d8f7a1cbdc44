//! What a pane's stream of bytes says about the agent in it.
//!
//! A [`SignalDetector`] reads the raw output of one pane, wherever it runs, and reports [`Sighting`]s: markers, OSC
//! sequences, titles and bells. It is a reader of terminal output, not a terminal: it keeps no screen, only the line
//! that is being written, and of that only as much as could still become a marker.
//!
//! ```text
//!  bytes ─▶ reader ─┬─▶ skip: nothing of interest here
//!                  ├─▶ osc: titles, notices, states
//!                  └─▶ machine: ECMA-48, byte by byte ─▶ line: markers, near misses ─▶ redraw: is it news?
//! ```
//!
//! A line is what a reader of the screen would call one (F3). Agents draw by cursor moves: a move to another row, or
//! back to the left, ends the line; a move to the right is a gap, which is a space. A marker that an agent wraps, so that it
//! goes on indented in the next row, is one line. What agents put beside their text
//! (`●`, `•`, `│`, …) is no text. So `●`, `CSI 3 G`, `--<[schmux:completed:all`, `CSI 30 G`, `done]>--` is a marker
//! alone on its line.
//!
//! Sequences end and begin as in [the state machine of the VT500][vt500]: an `ESC` ends whatever was open. This also
//! decides about tmux's passthrough, `ESC P tmux; ESC ESC ] … BEL ESC \`: what is wrapped in it counts as though it
//! were not, whether or not tmux lets it through. Codex and Gemini send their notifications that way, and it is the
//! agent that is listened to here, not the terminal. Other device control strings, and APC, PM and SOS, say nothing.
//!
//! [vt500]: https://vt100.net/emu/dec_ansi_parser

mod foothold;
mod line;
mod machine;
mod osc;
mod reader;
mod redraw;
mod sighting;
mod skip;
mod text;

use reader::Reader;
use redraw::Redraws;

pub use sighting::{Miss, PromptMark, Sighting, Statement};

/// No line and no control string is remembered beyond this many bytes.
pub const BOUND: usize = 4096;

/// Reads the output of one pane. A quiet pane's detector is small: buffers exist only while something is half read.
#[derive(Debug, Default)]
pub struct SignalDetector {
    reader: Reader,
    redraws: Redraws,
    title: Option<Box<str>>,
    near_miss: Option<Box<str>>,
    /// The marker that was said last was seen again.
    repeated: bool,
}

impl SignalDetector {
    /// A detector for a stream that begins now.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the stream. Where the stream was cut into pieces makes no difference.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) {
        let before = out.len();
        self.reader.feed(bytes, out);
        self.keep_news(out, before);
    }

    /// Time has passed: a marker whose line has no end counts, and so does one that was said before and could have been
    /// a redraw. To be called 500 ms after [`Self::pending`] became true; output that came since need not put it off.
    /// A line that is not yet a marker stays as it is, for an agent may write one slowly.
    pub fn flush(&mut self, out: &mut Vec<Sighting>) {
        let before = out.len();
        if let Some(marker) = self.reader.unended_marker() {
            self.reader.pass_marker();
            out.push(Sighting::Marker(marker));
        }
        self.keep_news(out, before);
        out.extend(self.redraws.settle().map(Sighting::Marker));
    }

    /// Whether [`Self::flush`] would have something to do, so that nobody sets a timer for nothing.
    pub fn pending(&self) -> bool {
        self.reader.unended_marker().is_some() || self.redraws.undecided()
    }

    /// Whether the marker that was said last was seen again since this was last asked. Most likely it was drawn again; if
    /// it stands below itself, it was said again.
    pub fn take_repeated(&mut self) -> bool {
        std::mem::take(&mut self.repeated)
    }

    /// Tells the detector what was found by [`markers`], so that a redraw of it is no news (F6).
    pub fn remember(&mut self, recovered: &Statement) {
        self.redraws.remember(recovered.clone());
    }

    /// Drops what repeats: redrawn markers, near misses with them, and titles that are set again.
    fn keep_news(&mut self, out: &mut Vec<Sighting>, before: usize) {
        let mut index = before;
        while let Some(sighting) = out.get(index) {
            let news = match sighting {
                Sighting::Marker(statement) => {
                    self.repeated |= self.redraws.is_last(statement);
                    self.redraws.is_news(statement)
                }
                Sighting::NearMiss { line, .. } => replace(&mut self.near_miss, line),
                Sighting::Title(title) => replace(&mut self.title, title),
                _ => true,
            };
            if news {
                index += 1;
            } else {
                out.remove(index);
            }
        }
    }
}

/// The part of captured scrollback that an agent wrote: what follows the prompt at which it was started, if that is to be
/// seen. What stands above may be another agent's.
pub fn own_part<'a>(scrollback: &'a [u8], argv: &[String]) -> &'a [u8] {
    let base = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let typed = |start: usize| {
        let rest = argv[start + 1..].iter().cloned();
        std::iter::once(base(&argv[start])).chain(rest).collect::<Vec<_>>().join(" ")
    };
    let commands: Vec<_> = (0..argv.len()).map(typed).filter(|command| !command.is_empty()).collect();
    let mut start = 0;
    let mut end = 0;
    for line in scrollback.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end();
        let is_start = |command: &String| {
            line.strip_suffix(command.as_str())
                .is_some_and(|before| ["$ ", "% ", "# ", "❯ ", "> "].iter().any(|prompt| before.ends_with(prompt)))
        };
        if commands.iter().any(is_start) {
            start = end;
        }
    }
    &scrollback[start..]
}

/// The markers in captured scrollback, in their order: what was said while nobody listened, and what was heard before
/// (F6, F7).
pub fn markers(scrollback: &[u8]) -> Vec<Statement> {
    let mut reader = Reader::default();
    let mut seen = Vec::new();
    reader.feed(scrollback, &mut seen);
    let markers = seen.into_iter().filter_map(|sighting| match sighting {
        Sighting::Marker(statement) => Some(statement),
        _ => None,
    });
    markers.chain(reader.unended_marker()).collect()
}

/// Whether a line is a marker: it says something to us, and nothing to a reader.
pub fn is_marker(line: &str) -> bool {
    // Most lines are not, and a reader costs more than a look.
    line.contains("<[schmux:") && !markers(format!("{line}\n").as_bytes()).is_empty()
}

/// Keeps the newer of two texts; true if they differ.
fn replace(kept: &mut Option<Box<str>>, new: &str) -> bool {
    let differs = kept.as_deref() != Some(new);
    if differs {
        *kept = Some(new.into());
    }
    differs
}

#[cfg(test)]
mod tests;
