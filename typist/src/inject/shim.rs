//! Through the wrapper: it holds the person's keys while it types.
//!
//! Either Enter comes after a pause, or when the composer shows the text, as `agtmux send` does it: how soon an agent acts on what it
//! has read is up to the machine, so no pause is long enough by itself.
//!
//! The requests are written out here, not taken from the wrapper's crate: a wrapper meets clients of other versions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use fastrand::Rng;
use serde_json::{Value, json};

use super::{Attempt, Injector};
use crate::composer::folded;
use crate::stage::Tmux;

/// Longer than the wrapper ever takes, stalls of the agent included.
const ANSWER: Duration = Duration::from_secs(60);

/// How long it is waited for the composer to show a text. The wrapper lets keys go two seconds after the agent has read it.
const SHOWN: Duration = Duration::from_millis(1_700);
const READING: Duration = Duration::from_secs(30);

/// So much of a line tells it from others.
const HEAD: usize = 16;

/// A text that is not shown so often is taken to be there.
const ROUNDS: u32 = 3;

/// Between two looks at the composer.
const LOOK: Duration = Duration::from_millis(30);

/// A wrapper, asked by its socket.
#[derive(Debug)]
pub struct Shim {
    socket: PathBuf,
    /// Where the fake agent's composer can be looked at.
    eye: Option<(Tmux, String)>,
    random: Rng,
}

/// Whether a text was allowed to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    /// The wrapper submits it, or has.
    InTime,
    /// The wrapper has left it in the composer.
    TooLate,
    /// It was not seen there.
    Unasked,
}

impl Injector for Shim {
    /// Now and then the one who asks dies before the answer, or asks again for what is done: both are to change nothing.
    fn attempt(&mut self, id: &str, text: &str) -> Result<Attempt> {
        if self.random.u32(..20) == 0 {
            // It may not have got so far as to say anything.
            self.die_asking(id, text).ok();
        }
        let mut rounds = 0;
        loop {
            rounds += 1;
            // Whatever happened to the request on its way: the id makes it safe to ask again.
            let Ok((mut connection, answer)) = self.ask(id, text) else { return Ok(Attempt::Busy) };
            match answer["answer"].as_str() {
                Some("busy") => return Ok(Attempt::Busy),
                Some("accepted") => {
                    self.allow(id, text)?;
                    match answer_on(&mut connection) {
                        Ok(done) if done["answer"] == "submitted" => break,
                        Ok(done) if done["answer"] == "left" => {}
                        Ok(done) => bail!("after `accepted` came {done}"),
                        Err(_) => return Ok(Attempt::Busy),
                    }
                }
                Some("duplicate") if answer["state"] == "submitted" => break,
                // Whoever asked first is gone, and nobody else allows it; or it was left in the composer.
                Some("duplicate") => {
                    if self.allow(id, text)? == Allowed::TooLate || rounds > ROUNDS && self.eye.is_some() {
                        // To the wrapper it stays what it was: in the composer.
                        self.press_enter(id)?;
                        return Ok(Attempt::Sent);
                    }
                }
                _ => bail!("the wrapper says {answer}"),
            }
        }
        if self.random.u32(..10) == 0 {
            let again = self.ask(id, text);
            if let Ok((_, answer)) = again
                && (answer["answer"] != "duplicate" || answer["state"] != "submitted")
            {
                bail!("asked again after it was submitted, the wrapper says {answer}");
            }
        }
        Ok(Attempt::Sent)
    }
}

impl Shim {
    /// The wrapper that listens there.
    #[must_use]
    pub fn new(socket: PathBuf, random: Rng) -> Self {
        Self { socket, eye: None, random }
    }

    /// The same for a fake agent in that pane.
    #[must_use]
    pub fn looking_at(self, tmux: Tmux, pane: String) -> Self {
        Self { eye: Some((tmux, pane)), ..self }
    }

    /// Lets a text be submitted once the composer shows it.
    fn allow(&self, id: &str, text: &str) -> Result<Allowed> {
        let Some((tmux, pane)) = &self.eye else {
            std::thread::sleep(Duration::from_millis(5));
            return Ok(Allowed::Unasked);
        };
        let started = Instant::now();
        while started.elapsed() < SHOWN || (started.elapsed() < READING && self.is_held()) {
            // In the worst of times there is no server to ask.
            let screen = tmux.run(&["capture-pane", "-p", "-t", pane]).unwrap_or_default();
            if is_shown(&screen, text) {
                let Ok((_, answer)) = self.say(&json!({"do": "submit", "id": id}), "") else {
                    return Ok(Allowed::Unasked);
                };
                let is_left = answer["answer"] == "duplicate" && answer["state"] == "pasted";
                return Ok(if is_left { Allowed::TooLate } else { Allowed::InTime });
            }
            std::thread::sleep(LOOK);
        }
        Ok(Allowed::Unasked)
    }

    /// Whether the wrapper holds keys. It does so longer while the agent reads a long text.
    fn is_held(&self) -> bool {
        self.say(&json!({"do": "status"}), "").is_ok_and(|(_, status)| status["hold"] == true)
    }

    /// The text was not shown in time and is in the composer now: Enter alone, unless somebody has typed since.
    fn press_enter(&self, id: &str) -> Result<()> {
        let request = json!({"do": "inject", "id": format!("{id}-enter"), "length": 0});
        if let Ok((mut connection, answer)) = self.say(&request, "")
            && answer["answer"] == "accepted"
        {
            answer_on(&mut connection)?;
        }
        Ok(())
    }

    fn ask(&self, id: &str, text: &str) -> Result<(BufReader<UnixStream>, Value)> {
        self.say(&self.request(id, text), text)
    }

    fn request(&self, id: &str, text: &str) -> Value {
        json!({"do": "inject", "id": id, "length": text.len(), "waits": self.eye.is_some()})
    }

    fn say(&self, request: &Value, body: &str) -> Result<(BufReader<UnixStream>, Value)> {
        let stream = self.connect()?;
        (&stream).write_all(&written(request, body)).context("the wrapper does not read")?;
        let mut connection = BufReader::new(stream);
        let answer = answer_on(&mut connection)?;
        Ok((connection, answer))
    }

    /// Says a part of the request, or all of it, and is gone.
    fn die_asking(&mut self, id: &str, text: &str) -> Result<()> {
        let request = written(&self.request(id, text), text);
        let said = if self.random.bool() { request.len() } else { self.random.usize(..request.len()) };
        let stream = self.connect()?;
        Ok((&stream).write_all(&request[..said])?)
    }

    fn connect(&self) -> Result<UnixStream> {
        let stream = UnixStream::connect(&self.socket)
            .with_context(|| format!("no wrapper listens at {}", self.socket.display()))?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        Ok(stream)
    }
}

/// A request as it is sent: a line, and the body.
fn written(request: &Value, body: &str) -> Vec<u8> {
    format!("{request}\n{body}").into_bytes()
}

/// Whether the fake agent's composer shows a text, whole or folded. Its screen may be an old one.
fn is_shown(screen: &str, text: &str) -> bool {
    let Some(shown) = screen.lines().find_map(|line| line.strip_prefix("> ")) else { return false };
    match folded(text) {
        Some(word) => shown.trim_end() == word,
        None => {
            let line = text.split('\n').next().unwrap_or_default();
            let head: String = line.chars().take(HEAD).collect();
            // A short one could be the beginning of another.
            if line.chars().count() < HEAD { shown.trim_end() == head.trim_end() } else { shown.starts_with(&head) }
        }
    }
}

fn answer_on(connection: &mut BufReader<UnixStream>) -> Result<Value> {
    let mut line = String::new();
    if connection.read_line(&mut line).context("the wrapper does not answer")? == 0 {
        bail!("the wrapper hung up");
    }
    serde_json::from_str(&line).with_context(|| format!("the wrapper says {line:?}"))
}
