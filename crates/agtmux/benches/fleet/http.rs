//! A connection to the daemon that is kept, as a long-lived client has it.

use std::path::Path;

use anyhow::{Result, ensure};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixStream;

pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    pub(crate) async fn open(socket: &Path) -> Result<Self> {
        let (sender, connection) = handshake(TokioIo::new(UnixStream::connect(socket).await?)).await?;
        tokio::spawn(connection);
        Ok(Self { sender })
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Result<Bytes> {
        self.exchange(Method::POST, path, Bytes::from(serde_json::to_vec(body)?)).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes> {
        self.exchange(Method::GET, path, Bytes::new()).await
    }

    async fn exchange(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{path}: {status} {}", String::from_utf8_lossy(&body));
        Ok(body)
    }
}
