//! Asks a provider about a screen, whichever kind of provider it is.

use std::path::Path;
use std::time::Duration;

use agtmux_agents::guess::{self, AnswerError, Guess};

use super::command::Program;
use super::http::Endpoint;
use super::screen::Screen;
use crate::config::{ClassifyConfig, Provider};
use crate::store::redact;

/// The most bytes of an answer that are read. It is a line of JSON; whatever writes more has not understood the question.
pub(super) const ANSWER_LIMIT: usize = 64 * 1_024;

/// The most of a provider's complaint that is shown.
const COMPLAINT_LIMIT: usize = 200;

/// A provider that can be asked.
#[derive(Debug)]
pub struct Client {
    kind: Kind,
    timeout: Duration,
}

#[derive(Debug)]
enum Kind {
    Http(Box<Endpoint>),
    Program(Program),
}

/// Why a provider cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The variable that holds the key is not there.
    #[error("the environment variable {0} (classify.api_key_env) is not set where the daemon was started")]
    NoKey(String),
    /// The key cannot be put in a header.
    #[error("the value of {0} (classify.api_key_env) is no key: it has characters that no key has")]
    BadKey(String),
    /// There is no HTTP client.
    #[error("no request can be made: {0}")]
    Http(#[from] reqwest::Error),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The provider could not be reached.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The provider refused.
    #[error("answered {status}: {complaint}")]
    Status {
        /// The status code.
        status: u16,
        /// What it said.
        complaint: String,
    },
    /// The program could not be run.
    #[error("cannot run {program}: {error}")]
    Spawn {
        /// Which.
        program: String,
        /// Why.
        error: std::io::Error,
    },
    /// The program failed.
    #[error("{program} failed ({status}): {complaint}")]
    Exit {
        /// Which.
        program: String,
        /// How.
        status: std::process::ExitStatus,
        /// What it said.
        complaint: String,
    },
    /// More than an answer came.
    #[error("answered more than {} KiB", ANSWER_LIMIT / 1_024)]
    TooLong,
    /// What came is not in the protocol that was expected.
    #[error("answered something else than expected: {0}")]
    Protocol(String),
    /// The model's answer is of no use.
    #[error(transparent)]
    Useless(#[from] AnswerError),
}

impl AskError {
    /// Whether the provider works and only its answer is of no use.
    pub fn is_about_the_answer(&self) -> bool {
        matches!(self, Self::Useless(_) | Self::TooLong)
    }
}

impl Client {
    /// Makes ready to ask the provider that is configured, if one is. `workdir` is where programs run.
    ///
    /// # Errors
    /// Fails when what the configuration speaks of is not there.
    pub fn new(config: &ClassifyConfig, workdir: &Path) -> Result<Option<Self>, SetupError> {
        let kind = match &config.provider {
            None => return Ok(None),
            Some(Provider::Http { dialect, endpoint, model, api_key_env }) => {
                Kind::Http(Box::new(Endpoint::new(*dialect, endpoint, model, api_key_env.as_deref())?))
            }
            Some(Provider::Command { argv, api_key_env }) => {
                Kind::Program(Program::new(argv, api_key_env.as_deref(), workdir))
            }
        };
        Ok(Some(Self { kind, timeout: Duration::from_secs(u64::from(config.timeout_seconds)) }))
    }

    /// Asks about a screen.
    ///
    /// # Errors
    /// Fails when there is no answer in time, or none that is of use. Dropping the future gives up at once.
    pub async fn ask(&self, screen: &Screen) -> Result<Guess, AskError> {
        let question = screen.question();
        let answer = async {
            match &self.kind {
                Kind::Http(endpoint) => endpoint.ask(&question).await,
                Kind::Program(program) => program.ask(&question).await,
            }
        };
        let answer = tokio::time::timeout(self.timeout, answer).await;
        let answer = answer.map_err(|_elapsed| AskError::Timeout(self.timeout))??;
        Ok(guess::read_answer(&answer)?)
    }
}

/// The beginning of what a provider complained of, as one line. It may repeat what it was sent, so it is redacted.
pub(super) fn complaint(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let line = redact::redact(&line.collect::<Vec<_>>().join(" ")).into_owned();
    if line.is_empty() { "it did not say why".to_owned() } else { line.chars().take(COMPLAINT_LIMIT).collect() }
}
