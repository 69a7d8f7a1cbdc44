//! The fake agent: a composer on a terminal, drawn late, that writes down what is submitted to it.

use std::io::{Write as _, stdout};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use crate::composer::{Composer, Key};
use crate::journal::{Entry, Journal};

/// How it behaves.
#[derive(Clone, Debug, Args)]
pub struct Manners {
    /// Where it writes down what is submitted
    #[arg(long)]
    pub journal: PathBuf,
    /// A change is drawn this many milliseconds later at most
    #[arg(long, default_value_t = 60)]
    pub lag: u64,
    /// Now and then it reads nothing for this many milliseconds at most
    #[arg(long, default_value_t = 0)]
    pub stall: u64,
    /// Enter so many milliseconds after a paste is taken for a part of it
    #[arg(long, default_value_t = 0)]
    pub settle: u64,
    /// How likely that is
    #[arg(long, default_value_t = 1.0)]
    pub swallow: f64,
    /// Do not ask the terminal to mark pastes
    #[arg(long)]
    pub plain: bool,
    /// Seed of everything that is random
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
}

/// How often it looks whether its window has another size.
const GLANCE: Duration = Duration::from_millis(200);

/// One in so many reads is preceded by a stall.
const STALL_EVERY: u32 = 20;

/// Runs until its terminal is gone or C-d is pressed.
pub fn run(manners: &Manners) -> Result<()> {
    let stdin = rustix::stdio::stdin();
    let before = tcgetattr(stdin)?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(stdin, OptionalActions::Now, &raw)?;
    let mut agent = Agent::start(manners)?;
    agent.journal.write(&Entry::Started(std::process::id()))?;
    let outcome = agent.live();
    restore(&before);
    outcome
}

/// The terminal may be gone; there is nobody to tell.
fn restore(before: &Termios) {
    let mut out = stdout();
    out.write_all(b"\x1b[?2004l\r\n").and_then(|()| out.flush()).ok();
    tcsetattr(rustix::stdio::stdin(), OptionalActions::Now, before).ok();
}

struct Agent<'a> {
    manners: &'a Manners,
    journal: Journal,
    composer: Composer,
    random: Rng,
    /// When the screen is drawn next.
    draw_at: Option<Instant>,
    /// Until when Enter counts as a part of the paste before it.
    settled_at: Instant,
    submitted: u64,
    size: (u16, u16),
}

impl<'a> Agent<'a> {
    fn start(manners: &'a Manners) -> Result<Self> {
        let mut out = stdout();
        if !manners.plain {
            out.write_all(b"\x1b[?2004h")?;
        }
        let mut agent = Self {
            manners,
            journal: Journal::open(&manners.journal)?,
            composer: Composer::default(),
            random: Rng::with_seed(manners.seed),
            draw_at: None,
            settled_at: Instant::now(),
            submitted: 0,
            size: (0, 0),
        };
        agent.draw()?;
        Ok(agent)
    }

    fn live(&mut self) -> Result<()> {
        let stdin = rustix::stdio::stdin();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let now = Instant::now();
            if self.draw_at.is_some_and(|at| at <= now) {
                self.draw()?;
            }
            let patience = self.draw_at.map_or(GLANCE, |at| at.saturating_duration_since(now));
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            let patience = Timespec::try_from(patience)?;
            match poll(&mut fds, Some(&patience)) {
                Ok(0) => {
                    self.look_at_size();
                    continue;
                }
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if self.manners.stall > 0 && self.random.u32(..STALL_EVERY) == 0 {
                std::thread::sleep(Duration::from_millis(self.random.u64(..=self.manners.stall)));
            }
            let count = match read(stdin, &mut buffer) {
                Ok(0) | Err(Errno::IO) => return Ok(()),
                Ok(count) => count,
                Err(Errno::INTR | Errno::AGAIN) => continue,
                Err(error) => return Err(error.into()),
            };
            for byte in &buffer[..count] {
                match self.composer.feed(*byte) {
                    Some(Key::Edited) => self.changed(),
                    Some(Key::Pasted(_)) => {
                        self.settled_at = Instant::now() + Duration::from_millis(self.manners.settle);
                        self.changed();
                    }
                    Some(Key::Enter) => self.enter()?,
                    Some(Key::Leave) => return Ok(()),
                    None => {}
                }
            }
        }
    }

    fn enter(&mut self) -> Result<()> {
        if Instant::now() < self.settled_at && self.random.f64() < self.manners.swallow {
            return self.journal.write(&Entry::EnterEaten);
        }
        if self.composer.is_empty() {
            return self.journal.write(&Entry::NothingToSubmit);
        }
        self.submitted += 1;
        let text = self.composer.take();
        self.journal.write(&Entry::Submitted(text))?;
        self.changed();
        Ok(())
    }

    /// The screen is drawn soon, and only once for everything that comes until then.
    fn changed(&mut self) {
        let lag = Duration::from_millis(self.random.u64(..=self.manners.lag));
        self.draw_at.get_or_insert(Instant::now() + lag);
    }

    fn look_at_size(&mut self) {
        // Without a terminal there is nothing to draw on either.
        let size = tcgetwinsize(rustix::stdio::stdin()).map_or(self.size, |size| (size.ws_row, size.ws_col));
        if size != self.size {
            self.size = size;
            self.changed();
        }
    }

    fn draw(&mut self) -> Result<()> {
        self.draw_at = None;
        let shown = self.composer.shown().replace('\n', "\r\n  ");
        let screen = format!("\x1b[H\x1b[J{} submitted\r\n\r\n> {shown}", self.submitted);
        let mut out = stdout();
        out.write_all(screen.as_bytes())?;
        Ok(out.flush()?)
    }
}
