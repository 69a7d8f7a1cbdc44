//! The typed client to the daemon: the one door through which the command line sees anything.

pub mod follow;
pub mod launch;
mod patience;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agtmux_wire::error::{ErrorBody, ErrorCode};
use agtmux_wire::{DAEMON_HEADER, PROGRAM_REPLACED, TMUX_SOCKET_HEADER};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::error::CommandError;
use crate::paths::{Paths, check_socket_place};
pub use patience::Notice;

/// How long an answer may take. The daemon answers from memory, so this is generous.
const DEADLINE: Duration = Duration::from_secs(10);

/// A client of the daemon of one instance.
#[derive(Clone, Debug)]
pub struct Client {
    socket: PathBuf,
    tmux_socket: Option<PathBuf>,
    start: StartDaemon,
    deadline: Duration,
    tell: fn(Notice<'_>),
}

/// Whether a daemon that does not run is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartDaemon {
    /// It is, on first need.
    OnNeed,
    /// It is not.
    Never,
}

impl Client {
    /// A client for the instance at these paths. `tmux_socket` is the tmux server that the caller means, if any.
    pub fn new(paths: &Paths, tmux_socket: Option<PathBuf>, start: StartDaemon) -> Self {
        Self { socket: paths.socket.clone(), tmux_socket, start, deadline: DEADLINE, tell: |_| {} }
    }

    /// The same client, which tells a person what there is to tell meanwhile.
    #[must_use]
    pub fn telling(self, tell: fn(Notice<'_>)) -> Self {
        Self { tell, ..self }
    }

    /// The same client, which starts no daemon.
    #[must_use]
    pub fn never_starting(self) -> Self {
        Self { start: StartDaemon::Never, ..self }
    }

    fn tell(&self, notice: Notice<'_>) {
        (self.tell)(notice);
    }

    /// The same client, for requests that the daemon cannot answer from memory.
    #[must_use]
    pub fn patient(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// The daemon's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Gets a document.
    ///
    /// # Errors
    /// Fails with the daemon's own error, or when it cannot be reached.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        decode(&self.get_text(path).await?)
    }

    /// Gets a document as the daemon wrote it.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_text(&self, path: &str) -> Result<Bytes, CommandError> {
        self.request(Method::GET, path, Bytes::new()).await
    }

    /// Posts a document and gets one back.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, CommandError> {
        let body = serde_json::to_vec(body).map_err(CommandError::internal)?;
        decode(&self.request(Method::POST, path, body.into()).await?)
    }

    /// Posts a document as [`Self::post`] does. Whoever gets no answer learns whether it may have been acted on all the same.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn post_unless_lost<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Unanswered> {
        let body = serde_json::to_vec(body).map_err(CommandError::internal)?;
        let answered = self.answered(&Method::POST, path, &body.into()).await;
        let (status, body) =
            answered.map_err(|lost| Unanswered { may_be_done: lost.sent && !lost.unread, error: lost.error })?;
        if status.is_success() {
            return decode(&body).map_err(|error| Unanswered { error, may_be_done: true });
        }
        let error = refusal(status, &body);
        // One that is ending may have acted before it knew.
        Err(Unanswered { may_be_done: error.code == ErrorCode::DaemonUnreachable, error })
    }

    /// Deletes a thing.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        decode(&self.request(Method::DELETE, path, Bytes::new()).await?)
    }

    /// Opens the stream of changes.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn stream(&self, after: Option<u64>) -> Result<WebSocketStream<UnixStream>, CommandError> {
        let query = after.map_or_else(String::new, |seq| format!("?after={seq}"));
        let mut request =
            format!("ws://localhost/v1/stream{query}").into_client_request().map_err(CommandError::internal)?;
        if let Some(value) = self.tmux_socket_header() {
            request.headers_mut().insert(TMUX_SOCKET_HEADER, value);
        }
        let stream = self.connect().await?;
        let opened = self.patiently(tokio_tungstenite::client_async(request, stream)).await?;
        let (socket, response) = opened.map_err(|error| unreachable(&self.socket, &error.to_string()))?;
        self.compare(response.headers().get(DAEMON_HEADER));
        Ok(socket)
    }

    async fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes, CommandError> {
        let answered = self.answered(&method, path, &body).await;
        let (status, body) = answered.map_err(|lost| match lost.sent && !lost.unread && method != Method::GET {
            true => outcome_unknown(&lost.error),
            false => lost.error,
        })?;
        if status.is_success() { Ok(body) } else { Err(refusal(status, &body)) }
    }

    async fn answered(&self, method: &Method, path: &str, body: &Bytes) -> Result<(StatusCode, Bytes), Lost> {
        match self.exchange(method, path, body).await {
            // The daemon died while it was asked. Where a daemon is started on need, a new one answers, if asking again
            // harms nobody: for a document always, for anything else only when the dead one cannot have acted.
            Err(lost) if self.start == StartDaemon::OnNeed && lost.may_be_asked_again(method) => {
                self.exchange(method, path, body).await
            }
            answered => answered,
        }
    }

    async fn exchange(&self, method: &Method, path: &str, body: &Bytes) -> Result<(StatusCode, Bytes), Lost> {
        let uri = path.parse().map_err(CommandError::internal)?;
        let stream = self.connect().await?;
        let answer = self.patiently(self.ask(stream, method, uri, body)).await;
        let answer = answer.map_err(|error| Lost { error, sent: true, unread: false })?;
        let (status, daemon, body) = answer.map_err(|error| Lost {
            sent: true,
            unread: is_unread(&error),
            error: unreachable(&self.socket, &error.to_string()),
        })?;
        self.compare(daemon.as_ref());
        Ok((status, body))
    }

    /// One request on a connection of its own: the status, what the daemon says of itself, and the body.
    async fn ask(
        &self,
        stream: UnixStream,
        method: &Method,
        uri: Uri,
        body: &Bytes,
    ) -> Result<(StatusCode, Option<HeaderValue>, Bytes), hyper::Error> {
        let mut request = Request::new(Full::new(body.clone()));
        request.method_mut().clone_from(method);
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        headers.insert("host", HeaderValue::from_static("localhost"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if let Some(value) = self.tmux_socket_header() {
            headers.insert(TMUX_SOCKET_HEADER, value);
        }
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        let driver = tokio::spawn(connection);
        let response = sender.send_request(request).await?;
        let (status, daemon) = (response.status(), response.headers().get(DAEMON_HEADER).cloned());
        let body = response.into_body().collect().await?.to_bytes();
        driver.abort();
        Ok((status, daemon, body))
    }

    /// Tells a person, once, that the daemon is another program than this one.
    fn compare(&self, daemon: Option<&HeaderValue>) {
        static TOLD: AtomicBool = AtomicBool::new(false);
        let Some(difference) = difference(daemon.map(|value| value.to_str().unwrap_or_default())) else { return };
        if !TOLD.swap(true, Ordering::Relaxed) {
            let what = format!("{difference}; `agtmux daemon stop`, and the next command starts the new one");
            self.tell(Notice::Hint(&what));
        }
    }

    async fn connect_only(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.socket).await
    }

    async fn connect(&self) -> Result<UnixStream, CommandError> {
        match self.connect_only().await {
            Ok(stream) => Ok(stream),
            Err(error) if self.start == StartDaemon::OnNeed && is_absent(&error) => {
                check_socket_place(&self.socket)?;
                self.starting(launch::start(&self.socket, self.tmux_socket.as_deref())).await
            }
            Err(error) => {
                check_socket_place(&self.socket)?;
                Err(unreachable(&self.socket, &error.to_string()))
            }
        }
    }

    fn tmux_socket_header(&self) -> Option<HeaderValue> {
        let path = self.tmux_socket.as_deref()?;
        HeaderValue::from_bytes(path.as_os_str().as_encoded_bytes()).ok()
    }
}

/// A request that was not answered as it should have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// Why.
    pub error: CommandError,
    /// Whether it may have been acted on.
    pub may_be_done: bool,
}

impl From<CommandError> for Unanswered {
    fn from(error: CommandError) -> Self {
        Self { error, may_be_done: false }
    }
}

/// A request that got no answer.
struct Lost {
    error: CommandError,
    /// Whether there was a daemon to send it to.
    sent: bool,
    /// Whether the daemon certainly did not act on it.
    unread: bool,
}

impl Lost {
    fn may_be_asked_again(&self, method: &Method) -> bool {
        self.unread || (method == Method::GET && self.error.code == ErrorCode::DaemonUnreachable)
    }
}

impl From<CommandError> for Lost {
    fn from(error: CommandError) -> Self {
        Self { error, sent: false, unread: false }
    }
}

/// Whether the daemon ended before it had read the request: the kernel answers with a reset where bytes were left
/// unread or the connection was never accepted, and with a plain end where all was read.
fn is_unread(error: &hyper::Error) -> bool {
    let io = std::error::Error::source(error).and_then(|source| source.downcast_ref::<io::Error>());
    io.is_some_and(|io| matches!(io.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe))
}

/// Whether nobody listens, or whoever did ended before it let anybody in.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, NotFound};
    matches!(error.kind(), NotFound | ConnectionRefused | ConnectionReset)
}

/// How a daemon differs from this program, if it does. Daemons that say nothing of themselves are older than this.
fn difference(daemon: Option<&str>) -> Option<String> {
    const OWN: &str = env!("CARGO_PKG_VERSION");
    let mut words = daemon.unwrap_or_default().split(' ');
    match (words.next().unwrap_or_default(), words.next()) {
        (_, Some(PROGRAM_REPLACED)) => Some("the daemon is older than its program on the disk".to_owned()),
        (OWN, _) => None,
        ("", _) => Some("the daemon is older than this program".to_owned()),
        (other, _) => Some(format!("the daemon is agtmux {other}, and this is {OWN}")),
    }
}

fn unreachable(socket: &Path, why: &str) -> CommandError {
    CommandError::new(ErrorCode::DaemonUnreachable, format!("no daemon answers at {}: {why}", socket.display()))
        .hint("`agtmux daemon start` starts it, `agtmux doctor` looks for what is wrong")
}

/// What to say where the answer to something that changes anything was lost: that nobody knows, and not that nobody was there.
pub fn outcome_unknown(lost: &CommandError) -> CommandError {
    let code = if lost.code == ErrorCode::Timeout { ErrorCode::Timeout } else { ErrorCode::OutcomeUnknown };
    let why = match code {
        ErrorCode::Timeout => "the daemon did not answer in time",
        _ => "the daemon ended before it answered",
    };
    CommandError::new(code, format!("{why}; whether it was done is not known")).hint("look before you do it again")
}

fn refusal(status: StatusCode, body: &[u8]) -> CommandError {
    match serde_json::from_slice::<ErrorBody>(body) {
        Ok(body) => body.error.into(),
        Err(_) => CommandError::internal(format!("the daemon answered {status}")),
    }
}

fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, CommandError> {
    serde_json::from_slice(body).map_err(|error| {
        CommandError::internal(format!("the daemon's answer is not understood: {error}"))
            .hint("the daemon may be of another version: `agtmux daemon stop` and try again")
    })
}
