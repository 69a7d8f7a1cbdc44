//! Somebody at one or two terminals who types lines into a pane, at a person's pace, and does what people do meanwhile:
//! looks back in copy mode, changes the size of the window.

use std::ops::Range;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use fastrand::Rng;

use crate::body;
use crate::client::Client;
use crate::journal::Reader;
use crate::script;
use crate::stage::Tmux;

/// How long a line may take from its Enter to the journal before the other terminal goes on regardless.
const ARRIVAL: Duration = Duration::from_secs(15);

/// How long an agent may take to draw a line, and a person to react to it.
const DRAWN: Duration = Duration::from_secs(4);
const REACTION: Duration = Duration::from_millis(200);

/// Between how many keys somebody who dawdles leaves a line once.
const DAWDLES: u32 = 300;

/// How long tmux may take to enter or leave a mode.
const MODE: Duration = Duration::from_secs(10);

/// The person.
#[derive(Debug)]
pub struct Person {
    clients: Vec<Client>,
    /// The terminal of the last line.
    seat: usize,
    tmux: Tmux,
    pane: String,
    journal: Reader,
    random: Rng,
    /// So many times as fast as people type.
    haste: f64,
    /// For how many milliseconds they leave a line half written now and then, if they do.
    dawdles: Option<Range<u64>>,
    /// Everything typed, in order.
    lines: Vec<String>,
    /// What was done and when, for somebody who looks for what went wrong.
    diary: Vec<String>,
}

impl Person {
    /// Sits down at a session.
    pub fn sit_down(
        tmux: &Tmux,
        session: &str,
        pane: &str,
        journal: PathBuf,
        random: Rng,
        haste: f64,
        terminals: u16,
    ) -> Result<Self> {
        let attach = |number: u16| {
            let mut command = tmux.command();
            Client::start(command.args(["attach-session", "-t", session]), 30 + number, 100 + number)
        };
        let clients = (0..terminals).map(attach).collect::<Result<Vec<_>>>()?;
        let attached = Instant::now();
        let wanted = terminals.to_string();
        while tmux.run(&["display-message", "-p", "-t", pane, "#{session_attached}"])?.trim() != wanted {
            if attached.elapsed() > MODE {
                bail!("the clients of {session} did not attach");
            }
            sleep(Duration::from_millis(20));
        }
        let (tmux, pane, journal) = (tmux.clone(), pane.to_owned(), Reader::of(journal));
        Ok(Self {
            clients,
            seat: 0,
            tmux,
            pane,
            journal,
            random,
            haste,
            dawdles: None,
            lines: Vec::new(),
            diary: Vec::new(),
        })
    }

    /// The same one, who also leaves lines half written now and then, for so many milliseconds.
    #[must_use]
    pub fn dawdling(self, away: Range<u64>) -> Self {
        Self { dawdles: Some(away), ..self }
    }

    /// Types so many times as fast as people from now on.
    pub fn hurry(&mut self, haste: f64) {
        self.haste = haste;
    }

    /// Types one line, Enter included, and thinks for a while.
    pub fn type_line(&mut self) -> Result<()> {
        self.change_seat()?;
        let line = body::line(&mut self.random, self.lines.len());
        let strokes = script::strokes(&mut self.random, &line);
        self.lines.push(line);
        for stroke in strokes {
            self.pause(stroke.after);
            match self.random.u32(..600) {
                _ if stroke.rest => {}
                0 => {
                    self.note("looks back");
                    self.look_back()?;
                }
                1..4 => self.resize()?,
                _ => {}
            }
            if let Some(away) = self.dawdles.clone().filter(|_| !stroke.rest && self.random.u32(..DAWDLES) == 0) {
                self.note("leaves");
                sleep(Duration::from_millis(self.random.u64(away)));
            }
            if stroke.look {
                self.look()?;
            }
            self.note(&format!("presses {:?}", String::from_utf8_lossy(&stroke.bytes)));
            self.clients[self.seat].press(&stroke.bytes)?;
        }
        let thought = Duration::from_millis(self.random.u64(200..4_000));
        self.pause(thought);
        Ok(())
    }

    /// Everything that was typed.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// What they did, each with its time of day.
    #[must_use]
    pub fn diary(&self) -> &[String] {
        &self.diary
    }

    fn note(&mut self, what: &str) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, millis) = (now.as_secs() % 86_400, now.subsec_millis());
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        self.diary.push(format!("{hour:02}:{minute:02}:{second:02}.{millis:03} {what}"));
    }

    /// Whether the last line has been submitted, in whatever form.
    pub fn has_arrived(&mut self) -> Result<bool> {
        let Some(line) = self.lines.last() else { return Ok(true) };
        Ok(self.journal.submissions()?.iter().rev().any(|text| text.contains(line.as_str())))
    }

    /// Waits until the end of the line is on the screen, but not for ever: it may have been torn apart.
    fn look(&self) -> Result<()> {
        let seal = self.lines.last().and_then(|line| body::seal(line)).unwrap_or_default();
        let since = Instant::now();
        while since.elapsed() < DRAWN {
            let screen = self.tmux.run(&["capture-pane", "-p", "-J", "-t", &self.pane])?;
            if screen.contains(seal) {
                break;
            }
            sleep(Duration::from_millis(30));
        }
        sleep(REACTION);
        Ok(())
    }

    /// The other terminal, now and then. Bytes from two terminals are in no order, so the last line has to be there first.
    fn change_seat(&mut self) -> Result<()> {
        let seat = self.random.usize(..self.clients.len());
        if seat != self.seat {
            let since = Instant::now();
            while !self.has_arrived()? && since.elapsed() < ARRIVAL {
                sleep(Duration::from_millis(10));
            }
            self.seat = seat;
        }
        Ok(())
    }

    /// Into copy mode and out of it again.
    fn look_back(&mut self) -> Result<()> {
        let client = &mut self.clients[self.seat];
        client.press(b"\x02")?;
        sleep(Duration::from_millis(20));
        client.press(b"[")?;
        self.await_mode(true)?;
        for _ in 0..self.random.usize(..4) {
            self.pause(Duration::from_millis(150));
            self.clients[self.seat].press(b"k")?;
        }
        self.clients[self.seat].press(b"q")?;
        self.await_mode(false)
    }

    /// Waits until the pane is in a mode, or no longer. Keys that others send meanwhile may have changed it; then it is left.
    fn await_mode(&self, wanted: bool) -> Result<()> {
        let since = Instant::now();
        let wanted = if wanted { "1" } else { "0" };
        while self.tmux.run(&["display-message", "-p", "-t", &self.pane, "#{pane_in_mode}"])?.trim() != wanted {
            if since.elapsed() > MODE {
                // It may not be in a mode at all.
                self.tmux.run(&["send-keys", "-t", &self.pane, "-X", "cancel"]).ok();
                break;
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn resize(&mut self) -> Result<()> {
        let (rows, columns) = (self.random.u16(10..50), self.random.u16(40..160));
        self.clients[self.seat].resize(rows, columns)
    }

    fn pause(&self, duration: Duration) {
        sleep(duration.div_f64(self.haste));
    }
}
