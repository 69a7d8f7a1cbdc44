//! Models behind HTTP, in the two dialects that are spoken.

use agtmux_agents::guess;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use serde_json::{Value, json};

use super::client::{ANSWER_LIMIT, AskError, SetupError, complaint};
use crate::config::{Dialect, is_loopback};

/// The most tokens of an answer, where the dialect wants to know.
const ANSWER_TOKENS: u32 = 500;

/// A model and how it is reached.
#[derive(Debug)]
pub(super) struct Endpoint {
    http: reqwest::Client,
    dialect: Dialect,
    url: Url,
    model: String,
}

impl Endpoint {
    pub(super) fn new(dialect: Dialect, url: &Url, model: &str, api_key_env: Option<&str>) -> Result<Self, SetupError> {
        // Fails only if somebody has installed one, which will do.
        rustls::crypto::ring::default_provider().install_default().ok();
        let mut http = reqwest::Client::builder()
            .default_headers(headers(dialect, api_key_env)?)
            .user_agent(concat!("agtmux/", env!("CARGO_PKG_VERSION")))
            // Keys and screens go to the address that was written down, and to no other.
            .redirect(Policy::none())
            .pool_max_idle_per_host(0);
        if is_loopback(url) {
            http = http.no_proxy();
        }
        Ok(Self { http: http.build()?, dialect, url: url.clone(), model: model.to_owned() })
    }

    /// Asks, and gives what the model wrote.
    pub(super) async fn ask(&self, question: &str) -> Result<String, AskError> {
        let body = self.body(question).to_string();
        let response = self.http.post(self.url.clone()).body(body).send().await.map_err(unreachable)?;
        let status = response.status();
        let bytes = read(response).await?;
        if !status.is_success() {
            return Err(AskError::Status { status: status.as_u16(), complaint: complaint(&bytes) });
        }
        let protocol = || AskError::Protocol(complaint(&bytes));
        let document: Value = serde_json::from_slice(&bytes).map_err(|_error| protocol())?;
        self.written(&document).ok_or_else(protocol)
    }

    fn body(&self, question: &str) -> Value {
        let user = json!({ "role": "user", "content": question });
        match self.dialect {
            // Nothing but what every server and model takes: some refuse a temperature, some a limit.
            Dialect::OpenAi => json!({
                "model": self.model,
                "messages": [{ "role": "system", "content": guess::INSTRUCTIONS }, user],
            }),
            Dialect::Anthropic => json!({
                "model": self.model,
                "max_tokens": ANSWER_TOKENS,
                "system": guess::INSTRUCTIONS,
                "messages": [user],
            }),
        }
    }

    /// What the model wrote: text as it is, or parts of it.
    fn written(&self, document: &Value) -> Option<String> {
        let content = match self.dialect {
            Dialect::OpenAi => document.pointer("/choices/0/message/content")?,
            Dialect::Anthropic => document.get("content")?,
        };
        match content {
            Value::String(text) => Some(text.clone()),
            Value::Array(parts) => Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()),
            _ => None,
        }
    }
}

fn headers(dialect: Dialect, api_key_env: Option<&str>) -> Result<HeaderMap, SetupError> {
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    if dialect == Dialect::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    if let Some(name) = api_key_env {
        let key = std::env::var(name).ok().filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| SetupError::NoKey(name.to_owned()))?;
        let (header, value) = match dialect {
            Dialect::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.trim())),
            Dialect::Anthropic => (HeaderName::from_static("x-api-key"), key.trim().to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_error| SetupError::BadKey(name.to_owned()))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

async fn read(mut response: Response) -> Result<Vec<u8>, AskError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_LIMIT {
            return Err(AskError::TooLong);
        }
    }
    Ok(bytes)
}

/// The innermost cause says what happened; the others say that something did.
fn unreachable(error: reqwest::Error) -> AskError {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    AskError::Unreachable(complaint(cause.to_string().as_bytes()))
}
