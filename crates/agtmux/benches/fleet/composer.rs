//! Agents that can be written to: each draws a composer as Claude Code does, and says when it was given something.
//!
//! It is this program itself, under the name of the agent. Whoever measures tells it to look busy or idle, and hears from it when it
//! has drawn that, when the first byte of a text came, and when a text was submitted, all on the clock that both share.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use rustix::time::{ClockId, clock_gettime};

use crate::daemon::DEADLINE;
use crate::fleet::Fleet;

/// Says that this program is to be such an agent.
pub(crate) const COMPOSER: &str = "--compose";

/// The directory in which agents listen for orders.
const EARS: &str = "ears";

/// Texts of more lines are folded.
const FOLDED_FROM: usize = 4;

/// What each message begins with.
const HEAD: &str = " via sm send id=";

/// What an agent says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// The pane of the agent.
    pub(crate) pane: String,
    /// `busy` or `idle` as it is drawn, `typed` at the first byte, `submitted`.
    pub(crate) what: String,
    /// When, on the monotonic clock.
    pub(crate) at: Duration,
    /// How many messages it was.
    pub(crate) messages: usize,
}

/// Agents with composers, and the ear for what they say.
pub(crate) struct Composers {
    pub(crate) fleet: Fleet,
    orders: PathBuf,
    notes: UnixDatagram,
}

impl Composers {
    /// Starts so many, all idle.
    pub(crate) fn start(count: usize) -> Result<Self> {
        let fleet = Fleet::of_composers(count)?;
        let orders = fleet.root().join(EARS);
        let notes = UnixDatagram::bind(fleet.root().join("notes"))?;
        notes.set_read_timeout(Some(DEADLINE))?;
        // Whoever hears an order is there.
        let composers = Self { fleet, orders, notes };
        for pane in &composers.fleet.panes {
            composers.wait_for_ear(&pane.id)?;
        }
        Ok(composers)
    }

    fn wait_for_ear(&self, pane: &str) -> Result<()> {
        for _ in 0..DEADLINE.as_millis() / 10 {
            if self.tell(pane, "idle").is_ok() {
                return self.hear(|note| note.pane == pane && note.what == "idle").map(drop);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("the composer in {pane} did not start")
    }

    /// Tells an agent to look busy or idle.
    pub(crate) fn tell(&self, pane: &str, word: &str) -> Result<()> {
        UnixDatagram::unbound()?.send_to(word.as_bytes(), self.orders.join(pane))?;
        Ok(())
    }

    /// Tells all of them, and waits until they do.
    pub(crate) fn tell_all(&self, word: &str) -> Result<BTreeMap<String, Duration>> {
        let mut drawn = BTreeMap::new();
        for pane in &self.fleet.panes {
            self.tell(&pane.id, word)?;
            let note = self.hear(|note| note.what == word)?;
            drawn.insert(note.pane, note.at);
        }
        Ok(drawn)
    }

    /// Waits for something that an agent says.
    pub(crate) fn hear(&self, wanted: impl Fn(&Note) -> bool) -> Result<Note> {
        let mut buffer = [0; 256];
        loop {
            let length = self.notes.recv(&mut buffer).context("an agent did not do what was waited for")?;
            let note = parse(&buffer[..length]).context("a note that nobody understands")?;
            if wanted(&note) {
                return Ok(note);
            }
        }
    }

    /// Waits until so many messages were submitted. Gives when the last was, and by how many texts.
    pub(crate) fn hear_messages(&self, count: usize) -> Result<(Duration, usize)> {
        let (mut heard, mut texts) = (0, 0);
        loop {
            let note = self.hear(|note| note.what == "submitted")?;
            (heard, texts) = (heard + note.messages, texts + 1);
            if heard >= count {
                return Ok((note.at, texts));
            }
        }
    }
}

/// The clock that agents and whoever measures share.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn parse(bytes: &[u8]) -> Option<Note> {
    let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
    Some(Note {
        pane: words.next()?.to_owned(),
        what: words.next()?.to_owned(),
        at: Duration::from_nanos(words.next()?.parse().ok()?),
        messages: words.next()?.parse().ok()?,
    })
}

/// What the agent's process runs.
pub(crate) fn be(root: &Path) -> Result<()> {
    let stdin = rustix::stdio::stdin();
    let mut raw = tcgetattr(stdin)?;
    raw.make_raw();
    tcsetattr(stdin, OptionalActions::Now, &raw)?;
    let pane = std::env::var("TMUX_PANE")?;
    fs::create_dir_all(root.join(EARS))?;
    let ear = UnixDatagram::bind(root.join(EARS).join(&pane))?;
    let agent = Arc::new(Mutex::new(Agent { pane, mouth: root.join("notes"), busy: false, text: Vec::new() }));
    put("\x1b[?1049h\x1b[?2004h")?;
    agent.lock().unwrap_or_else(PoisonError::into_inner).draw()?;
    let hears = Arc::clone(&agent);
    std::thread::spawn(move || -> Result<()> {
        let mut buffer = [0; 64];
        loop {
            let length = ear.recv(&mut buffer)?;
            let word = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let mut agent = hears.lock().unwrap_or_else(PoisonError::into_inner);
            agent.busy = word == "busy";
            agent.note(&word, 0)?;
            agent.draw()?;
        }
    });
    let mut buffer = [0; 64 * 1024];
    loop {
        match std::io::stdin().lock().read(&mut buffer)? {
            0 => return Ok(()),
            count => agent.lock().unwrap_or_else(PoisonError::into_inner).take(&buffer[..count])?,
        }
    }
}

struct Agent {
    pane: String,
    mouth: PathBuf,
    busy: bool,
    text: Vec<u8>,
}

impl Agent {
    fn note(&self, what: &str, messages: usize) -> Result<()> {
        let note = format!("{} {what} {} {messages}", self.pane, now().as_nanos());
        UnixDatagram::unbound()?.send_to(note.as_bytes(), &self.mouth)?;
        Ok(())
    }

    /// Takes keys. Enter outside of a paste is a carriage return; what is pasted has none.
    fn take(&mut self, keys: &[u8]) -> Result<()> {
        if self.text.is_empty() && keys != b"\r" {
            self.note("typed", 0)?;
        }
        let mut keys = keys;
        while let Some(enter) = keys.iter().position(|key| *key == b'\r') {
            self.text.extend_from_slice(&keys[..enter]);
            keys = &keys[enter + 1..];
            let text = std::mem::take(&mut self.text);
            if !text.is_empty() {
                let messages = String::from_utf8_lossy(&text).matches(HEAD).count();
                self.note("submitted", messages)?;
            }
        }
        self.text.extend_from_slice(keys);
        self.draw()
    }

    fn draw(&self) -> Result<()> {
        let rule = format!("\x1b[38;5;246m{}\x1b[39m", "─".repeat(100));
        let text = String::from_utf8_lossy(&self.text).replace("\x1b[200~", "").replace("\x1b[201~", "");
        let lines = text.lines().count();
        let shown = if lines >= FOLDED_FROM || text.len() > 800 {
            vec![format!("[Pasted text #1 +{} lines]", lines.saturating_sub(1))]
        } else if text.is_empty() {
            vec![String::new()]
        } else {
            text.lines().map(str::to_owned).collect()
        };
        let prompt = if self.busy { "\x1b[38;5;246m❯\x1b[39m\u{a0}" } else { "❯\u{a0}" };
        let mut rows = vec!["\x1b[1mA composer\x1b[0m".to_owned(), String::new(), rule.clone()];
        rows.extend(
            shown.iter().enumerate().map(|(row, line)| format!("{}{line}", if row == 0 { prompt } else { "  " })),
        );
        let caret = (rows.len(), 3 + shown.last().map_or(0, |line| line.chars().count()));
        rows.extend([rule, "  ⏸ manual mode on".to_owned()]);
        let painted: String =
            rows.iter().enumerate().map(|(row, text)| format!("\x1b[{};1H\x1b[0m{text}", row + 1)).collect();
        put(&format!("\x1b[2J{painted}\x1b[{};{}H", caret.0, caret.1))
    }
}

fn put(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
