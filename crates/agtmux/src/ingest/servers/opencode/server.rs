//! opencode's server as it is spoken to: on this host, at the port that its process serves on, and nowhere else.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::platform;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The largest document that is read.
const DOCUMENT: usize = 8 * 1024 * 1024;

/// A server, and the process whose it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Server {
    pub(super) pid: u32,
    pub(super) port: u16,
}

/// Why a request was not answered as it should be.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not sent.
    NotSent(String),
    /// It was refused.
    Refused(StatusCode),
    /// It was sent, and nobody can say whether anything was done.
    Unknown(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(why) | Self::Unknown(why) => formatter.write_str(why),
            Self::Refused(status) => write!(formatter, "it answers {status}"),
        }
    }
}

impl Server {
    /// Checks that the agent still serves on its port. Somebody else may have been quicker.
    pub(super) async fn is_its_own(self) -> Result<(), Failure> {
        let is_its_own = tokio::task::spawn_blocking(move || {
            let servers = platform::listeners(self.port);
            platform::processes_under(self.pid).iter().any(|process| servers.contains(&process.pid))
        });
        let is_its_own = is_its_own.await.unwrap_or(false);
        if is_its_own { Ok(()) } else { Err(Failure::NotSent("the port is not the agent's".to_owned())) }
    }

    /// Opens something that is read bit by bit.
    pub(super) async fn get(self, path: &str, accept: &str) -> Result<Response<Incoming>, Failure> {
        let request = Request::get(path).header("accept", accept).body(Full::default());
        let request = request.map_err(|error| Failure::NotSent(error.to_string()))?;
        self.exchange(self.connect().await?, request).await
    }

    /// Gives the server something to do; only that of this very process, and not whoever has come into its place.
    pub(super) async fn post(self, path: &str, document: &Value) -> Result<(), Failure> {
        let body = Full::from(document.to_string());
        let request = Request::post(path).header("content-type", "application/json").body(body);
        let request = request.map_err(|error| Failure::NotSent(error.to_string()))?;
        let sender = self.connect().await?;
        // Asked when the connection is there: it ends with whoever has the port now.
        self.is_its_own().await?;
        self.exchange(sender, request).await.map(drop)
    }

    /// A document of the server.
    pub(super) async fn document(self, path: &str) -> Result<Value, Failure> {
        let unknown = Failure::Unknown;
        let body = Limited::new(self.get(path, "application/json").await?.into_body(), DOCUMENT);
        let whole = timeout(PATIENCE, body.collect()).await;
        let whole = whole.map_err(|_elapsed| unknown("it does not go on".to_owned()))?;
        let bytes = whole.map_err(|error| unknown(error.to_string()))?.to_bytes();
        serde_json::from_slice(&bytes).map_err(|error| unknown(error.to_string()))
    }

    const fn address(self) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), self.port)
    }

    async fn connect(self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let opened = timeout(PATIENCE, async {
            let stream = TcpStream::connect(self.address()).await.map_err(|error| error.to_string())?;
            let opened = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
            opened.map_err(|error| error.to_string())
        });
        let opened = opened.await.unwrap_or_else(|_elapsed| Err("it does not answer".to_owned()));
        let (sender, connection) = opened.map_err(Failure::NotSent)?;
        // It ends with the body that is read from it.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn exchange(
        self,
        mut sender: SendRequest<Full<Bytes>>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let host = HeaderValue::from_str(&self.address().to_string());
        request.headers_mut().insert(HOST, host.map_err(|error| Failure::NotSent(error.to_string()))?);
        let answered = timeout(PATIENCE, sender.send_request(request)).await;
        let answered = answered.map_err(|_elapsed| Failure::Unknown("it does not answer".to_owned()))?;
        let response = answered.map_err(|error| Failure::Unknown(error.to_string()))?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status if status.is_client_error() => Err(Failure::Refused(status)),
            status => Err(Failure::Unknown(format!("it answers {status}"))),
        }
    }
}

/// Whether a name that the server gave can stand in a path as it is.
pub(super) fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::{Failure, Server};

    /// Who has come into the place of an agent, and has its port, is given nothing that was for the agent (I5).
    #[tokio::test]
    async fn whoever_has_the_port_now_is_given_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut agent = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a process");
        let server = Server { pid: agent.id(), port: listener.local_addr().expect("an address").port() };
        let posted = server.post("/session/ses_1/prompt_async", &json!({"parts": []})).await;
        assert!(matches!(posted, Err(Failure::NotSent(_))), "{posted:?}");
        // To the end of the connection, which the runtime has to be free to bring about.
        let read = tokio::task::spawn_blocking(move || {
            let (mut connection, _) = listener.accept()?;
            let mut given = Vec::new();
            connection.read_to_end(&mut given).map(|_| given)
        });
        assert_eq!(read.await.expect("a thread").expect("a connection that is closed"), b"");
        agent.kill().expect("it to end");
        agent.wait().expect("it to have ended");
    }
}
