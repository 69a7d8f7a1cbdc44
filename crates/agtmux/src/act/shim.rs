//! The wrapper around an agent, if it has one: asks it to type.
//!
//! The wrapper lives as long as the agent and does each id once. So whatever happens to a request on its way, asking again
//! with the same id is safe, and an id that the wrapper has never seen was not typed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_core::id::ProcessKey;
use agtmux_shim::protocol::{Answer, Busy, HOLD_LIMIT_MS, Inject, Progress, Refusal, Request, Status};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use crate::platform;

/// How long a wrapper may take to answer. It does nothing else that takes long.
const ANSWER: Duration = Duration::from_secs(2);

/// How long an injection may take once it is accepted. The wrapper waits two seconds at most; the agent may be slow to read.
const SUBMIT: Duration = Duration::from_secs(15);

/// How often one asks again while something else is typed, which never takes long.
const TURN_MS: u64 = 50;

/// No answer is longer.
const ANSWER_LIMIT: usize = 64 * 1_024;

/// The wrapper of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shim {
    /// Its process.
    pub pid: u32,
    socket: PathBuf,
}

/// What came of an injection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injected {
    /// It was typed, now or when it was asked for before.
    Submitted,
    /// It was accepted before and is not typed to its end yet.
    UnderWay(Progress),
    /// Nothing was typed; later it may be.
    Busy(Busy),
    /// Nothing was typed, and never will be.
    Refused(Refusal),
}

/// Somebody attends to an injection that waits.
pub struct Attention(#[expect(dead_code, reason = "it is there to be open")] BufReader<UnixStream>);

/// Why a wrapper could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// It is gone, and the agent with it, or does not understand.
    #[error("the wrapper of the agent does not answer: {0}")]
    Gone(#[from] io::Error),
    /// It took too long. What was asked may still be done.
    #[error("the wrapper of the agent did not answer in time")]
    Timeout,
    /// It said something that does not belong here.
    #[error("the wrapper of the agent said something else: {0}")]
    Strange(String),
}

impl Shim {
    /// Finds the wrapper around a process among its ancestors, nearest first. `dir` is where wrappers have their sockets.
    pub async fn of(dir: &Path, process: ProcessKey) -> Option<Self> {
        let lineage = platform::ancestors(process.pid);
        if lineage.first().is_none_or(|(_, start)| *start != process.start) {
            return None;
        }
        for (pid, _) in lineage {
            let shim = Self { pid, socket: dir.join(format!("{pid}.sock")) };
            if shim.socket.exists() && shim.connect().await.is_ok() {
                return Some(shim);
            }
        }
        None
    }

    /// How the agent's terminal stands.
    ///
    /// # Errors
    /// When the wrapper does not say.
    pub async fn status(&self) -> Result<Status, ShimError> {
        match self.ask(&Request::Status, b"").await?.1 {
            Answer::Status(status) => Ok(status),
            other => Err(strange(&other)),
        }
    }

    /// What the person has typed since their composer was empty, and how many bytes of keys there were by then; nothing if it is not
    /// certain, or the wrapper is too old to be asked.
    ///
    /// # Errors
    /// When the wrapper does not say.
    pub async fn typed(&self) -> Result<Option<(String, u64)>, ShimError> {
        if !self.status().await?.knows_what_is_typed() {
            return Ok(None);
        }
        match self.ask(&Request::Typed, b"").await?.1 {
            Answer::Typed { text, input } => Ok(text.filter(|text| !text.is_empty()).map(|text| (text, input))),
            other => Err(strange(&other)),
        }
    }

    /// How far an injection is; nothing if it was never accepted, which is proof that nothing of it was typed.
    ///
    /// # Errors
    /// When the wrapper does not say.
    pub async fn state(&self, id: &str) -> Result<Option<Progress>, ShimError> {
        match self.ask(&Request::State { id: id.to_owned() }, b"").await?.1 {
            Answer::Duplicate { state, .. } => Ok(Some(state)),
            Answer::Unseen { .. } => Ok(None),
            other => Err(strange(&other)),
        }
    }

    /// Has a body typed and submitted, with the person's keys held meanwhile. The length is filled in here.
    ///
    /// # Errors
    /// When it is not known what came of it. [`Self::state`] may tell.
    pub async fn inject(&self, inject: &Inject, body: &[u8]) -> Result<Injected, ShimError> {
        match self.ask_in_turn(inject, body).await? {
            (mut line, Answer::Accepted { .. }) => match answer_on(&mut line, SUBMIT).await? {
                Answer::Submitted { .. } => Ok(Injected::Submitted),
                other => Err(strange(&other)),
            },
            (_, answer) => injected(answer),
        }
    }

    /// Has a body typed that [waits](Inject::waits) to be submitted by [`Self::submit`]. Comes back when that is under way. As long as
    /// what it gives is there the wrapper knows that somebody decides; if this daemon dies first, it is submitted.
    ///
    /// # Errors
    /// As for [`Self::inject`].
    pub async fn begin(&self, inject: &Inject, body: &[u8]) -> Result<(Injected, Attention), ShimError> {
        match self.ask_in_turn(&Inject { waits: true, ..inject.clone() }, body).await? {
            (line, Answer::Accepted { .. }) => Ok((Injected::UnderWay(Progress::Pasting), Attention(line))),
            (line, answer) => Ok((injected(answer)?, Attention(line))),
        }
    }

    /// Lets what was [begun](Self::begin) be submitted. Says whether it is; else the person's keys could not be held any longer.
    ///
    /// # Errors
    /// As for [`Self::inject`].
    pub async fn submit(&self, id: &str) -> Result<bool, ShimError> {
        let until = Instant::now() + SUBMIT;
        while Instant::now() < until {
            match self.ask(&Request::Submit { id: id.to_owned() }, b"").await?.1 {
                Answer::Accepted { .. } | Answer::Duplicate { state: Progress::Submitted, .. } => return Ok(true),
                // The agent is slow to read.
                Answer::Duplicate { state: Progress::Pasting, .. } => sleep(Duration::from_millis(TURN_MS)).await,
                Answer::Duplicate { state: Progress::Pasted, .. } | Answer::Unseen { .. } => return Ok(false),
                other => return Err(strange(&other)),
            }
        }
        Err(ShimError::Timeout)
    }

    /// Has keys pressed, whatever the person is writing: Escape, or the answer to a dialog. `if_output` as in [`Inject`].
    ///
    /// # Errors
    /// As for [`Self::inject`].
    pub async fn keys(&self, id: &str, keys: &str, if_output: Option<u64>) -> Result<Injected, ShimError> {
        let inject = Inject {
            id: id.to_owned(),
            submit: keys.to_owned(),
            delay_ms: 0,
            even_if_draft: true,
            if_output,
            ..Inject::default()
        };
        self.inject(&inject, b"").await
    }

    /// Asks for an injection; again while another one is typed.
    async fn ask_in_turn(&self, inject: &Inject, body: &[u8]) -> Result<(BufReader<UnixStream>, Answer), ShimError> {
        let request = Request::Inject(Inject { length: body.len(), ..inject.clone() });
        let mut turns = (HOLD_LIMIT_MS / TURN_MS) + 1;
        loop {
            let asked = self.ask(&request, body).await?;
            turns -= 1;
            if turns == 0 || asked.1 != (Answer::Busy { reason: Busy::Hold }) {
                return Ok(asked);
            }
            sleep(Duration::from_millis(TURN_MS)).await;
        }
    }

    async fn ask(&self, request: &Request, body: &[u8]) -> Result<(BufReader<UnixStream>, Answer), ShimError> {
        let mut line = self.connect().await?;
        let mut message = serde_json::to_vec(request).map_err(io::Error::other)?;
        message.push(b'\n');
        message.extend_from_slice(body);
        timeout(ANSWER, line.get_mut().write_all(&message)).await.map_err(|_elapsed| ShimError::Timeout)??;
        let answer = answer_on(&mut line, ANSWER).await?;
        Ok((line, answer))
    }

    /// Connects, and checks that it is this process that listens: pids are used again, and files stay behind.
    async fn connect(&self) -> Result<BufReader<UnixStream>, ShimError> {
        let connecting = timeout(ANSWER, UnixStream::connect(&self.socket));
        let stream = connecting.await.map_err(|_elapsed| ShimError::Timeout)??;
        let listener = stream.peer_cred()?;
        // Not every platform tells the process.
        let is_it = listener.pid().is_none_or(|pid| u32::try_from(pid) == Ok(self.pid));
        if is_it && listener.uid() == rustix::process::getuid().as_raw() {
            Ok(BufReader::new(stream))
        } else {
            Err(io::Error::new(io::ErrorKind::ConnectionRefused, "another process listens").into())
        }
    }
}

async fn answer_on(line: &mut BufReader<UnixStream>, within: Duration) -> Result<Answer, ShimError> {
    let mut text = Vec::new();
    let mut limited = tokio::io::AsyncReadExt::take(line, ANSWER_LIMIT as u64);
    let read = timeout(within, limited.read_until(b'\n', &mut text)).await.map_err(|_elapsed| ShimError::Timeout)??;
    if read == 0 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    serde_json::from_slice(&text).map_err(|error| ShimError::Strange(error.to_string()))
}

/// What an answer to an injection means that is not begun now.
fn injected(answer: Answer) -> Result<Injected, ShimError> {
    match answer {
        Answer::Duplicate { state: Progress::Submitted, .. } => Ok(Injected::Submitted),
        Answer::Duplicate { state, .. } => Ok(Injected::UnderWay(state)),
        Answer::Busy { reason } => Ok(Injected::Busy(reason)),
        Answer::Refused { reason } => Ok(Injected::Refused(reason)),
        other => Err(strange(&other)),
    }
}

fn strange(answer: &Answer) -> ShimError {
    ShimError::Strange(format!("{answer:?}"))
}
