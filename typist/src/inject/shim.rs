//! Through the wrapper: it holds the person's keys while it types.
//!
//! The requests are written out here, not taken from the wrapper's crate: a wrapper meets clients of other versions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use fastrand::Rng;
use serde_json::{Value, json};

use super::{Attempt, Injector};

/// Longer than the wrapper ever takes, stalls of the agent included.
const ANSWER: Duration = Duration::from_secs(60);

/// A wrapper, asked by its socket.
#[derive(Debug)]
pub struct Shim {
    socket: PathBuf,
    random: Rng,
}

impl Injector for Shim {
    /// Now and then the one who asks dies before the answer, or asks again for what is done: both are to change nothing.
    fn attempt(&mut self, id: &str, text: &str) -> Result<Attempt> {
        if self.random.u32(..20) == 0 {
            // It may not have got so far as to say anything.
            self.die_asking(id, text).ok();
        }
        loop {
            // Whatever happened to the request on its way: the id makes it safe to ask again.
            let Ok((mut connection, answer)) = self.ask(id, text) else { return Ok(Attempt::Busy) };
            match answer["answer"].as_str() {
                Some("busy") => return Ok(Attempt::Busy),
                Some("accepted") => match answer_on(&mut connection) {
                    Ok(done) if done["answer"] == "submitted" => break,
                    Ok(done) => bail!("after `accepted` came {done}"),
                    Err(_) => return Ok(Attempt::Busy),
                },
                Some("duplicate") if answer["state"] == "submitted" => break,
                Some("duplicate") => std::thread::sleep(Duration::from_millis(5)),
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
        Self { socket, random }
    }

    fn ask(&self, id: &str, text: &str) -> Result<(BufReader<UnixStream>, Value)> {
        let stream = self.connect()?;
        (&stream).write_all(&request(id, text)).context("the wrapper does not read")?;
        let mut connection = BufReader::new(stream);
        let answer = answer_on(&mut connection)?;
        Ok((connection, answer))
    }

    /// Says a part of the request, or all of it, and is gone.
    fn die_asking(&mut self, id: &str, text: &str) -> Result<()> {
        let request = request(id, text);
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

fn request(id: &str, text: &str) -> Vec<u8> {
    let mut request = json!({"do": "inject", "id": id, "length": text.len()}).to_string().into_bytes();
    request.push(b'\n');
    request.extend_from_slice(text.as_bytes());
    request
}

fn answer_on(connection: &mut BufReader<UnixStream>) -> Result<Value> {
    let mut line = String::new();
    if connection.read_line(&mut line).context("the wrapper does not answer")? == 0 {
        bail!("the wrapper hung up");
    }
    serde_json::from_str(&line).with_context(|| format!("the wrapper says {line:?}"))
}
