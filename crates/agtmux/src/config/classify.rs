//! `[classify]`: which language model is asked about agents that say nothing, if any.
//!
//! The table is checked as a whole while it is read, so that a mistake is an error with a place in the file and never a
//! provider that is silently half configured.

use std::net::IpAddr;

use reqwest::Url;
use serde::Deserialize;

/// `[classify]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Table")]
pub struct ClassifyConfig {
    /// Whom to ask; nobody, unless set.
    pub provider: Option<Provider>,
    /// Seconds without a signal after which an agent is asked about.
    pub after_seconds: u32,
    /// How often the provider may be asked in an hour, for all agents together.
    pub per_hour: u32,
    /// Seconds that an answer may take.
    pub timeout_seconds: u32,
}

/// Whom to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// A model behind HTTP.
    Http {
        /// How it is spoken to.
        dialect: Dialect,
        /// Where requests are posted to.
        endpoint: Url,
        /// Its name.
        model: String,
        /// The environment variable that holds the key.
        api_key_env: Option<String>,
    },
    /// A program that reads the question and writes the answer.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// An environment variable that the program gets although its environment is a clean one.
        api_key_env: Option<String>,
    },
}

/// A protocol of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions, as spoken by OpenAI, llama.cpp, Ollama, vLLM and many others.
    OpenAi,
    /// Messages, as spoken by Anthropic.
    Anthropic,
}

impl Default for ClassifyConfig {
    fn default() -> Self {
        Self { provider: None, after_seconds: 300, per_hour: 60, timeout_seconds: 15 }
    }
}

/// The table as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Table {
    provider: Option<String>,
    url: Option<String>,
    model: Option<String>,
    api_key_env: Option<String>,
    command: Option<Vec<String>>,
    after_seconds: Option<u32>,
    per_hour: Option<u32>,
    timeout_seconds: Option<u32>,
}

impl TryFrom<Table> for ClassifyConfig {
    type Error = Mistake;

    fn try_from(mut table: Table) -> Result<Self, Mistake> {
        let default = Self::default();
        let number = |key, value: Option<u32>, default, most| match value {
            Some(value) if value == 0 || value > most => Err(Mistake::OutOfRange { key, most }),
            value => Ok(value.unwrap_or(default)),
        };
        Ok(Self {
            after_seconds: number("after_seconds", table.after_seconds, default.after_seconds, 86_400)?,
            per_hour: number("per_hour", table.per_hour, default.per_hour, 3_600)?,
            timeout_seconds: number("timeout_seconds", table.timeout_seconds, default.timeout_seconds, 120)?,
            provider: table.provider()?,
        })
    }
}

impl Table {
    fn provider(&mut self) -> Result<Option<Provider>, Mistake> {
        let api_key_env = self.api_key_env.take().map(variable_name).transpose()?;
        let provider = match self.provider.take().as_deref() {
            Some("openai") => self.http(Dialect::OpenAi, api_key_env)?,
            Some("anthropic") => self.http(Dialect::Anthropic, api_key_env)?,
            Some("command") => {
                let argv = self.command.take().filter(|argv| argv.first().is_some_and(|program| !program.is_empty()));
                Provider::Command { argv: argv.ok_or(Mistake::NoCommand)?, api_key_env }
            }
            Some(other) => return Err(Mistake::UnknownProvider(other.to_owned())),
            None if api_key_env.is_some() => return Err(Mistake::NoProvider("api_key_env")),
            None => return self.unused().map_or(Ok(None), |key| Err(Mistake::NoProvider(key))),
        };
        self.unused().map_or(Ok(Some(provider)), |key| Err(Mistake::Unused(key)))
    }

    fn http(&mut self, dialect: Dialect, api_key_env: Option<String>) -> Result<Provider, Mistake> {
        let model = self.model.take().filter(|model| !model.trim().is_empty()).ok_or(Mistake::NoModel)?;
        let (vendor, vendor_key, path) = match dialect {
            Dialect::OpenAi => ("https://api.openai.com/v1", "OPENAI_API_KEY", "chat/completions"),
            Dialect::Anthropic => ("https://api.anthropic.com", "ANTHROPIC_API_KEY", "v1/messages"),
        };
        // Somebody else's server is sent no key that was not meant for it.
        let api_key_env = api_key_env.or_else(|| self.url.is_none().then(|| vendor_key.to_owned()));
        let base = self.url.take().unwrap_or_else(|| vendor.to_owned());
        Ok(Provider::Http { dialect, endpoint: endpoint(&base, path)?, model, api_key_env })
    }

    /// A key that nobody has taken.
    fn unused(&self) -> Option<&'static str> {
        [("url", self.url.is_some()), ("model", self.model.is_some()), ("command", self.command.is_some())]
            .into_iter()
            .find_map(|(key, is_set)| is_set.then_some(key))
    }
}

/// Where to post to, below a base such as `https://api.openai.com/v1`; a base that has the path already is taken as it is.
fn endpoint(base: &str, path: &str) -> Result<Url, Mistake> {
    let mut url = Url::parse(base).map_err(|error| Mistake::BadUrl(error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Mistake::Credentials);
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => return Err(Mistake::Unencrypted),
        other => return Err(Mistake::BadUrl(format!("{other} is neither https nor http"))),
    }
    if !url.path().trim_end_matches('/').ends_with(path) {
        url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
    }
    Ok(url)
}

/// Whether a request stays on this host.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Capital letters, digits and `_`, which few keys are made of. The message must not repeat the value: who mistakes the key for its name has written a secret here.
fn variable_name(name: String) -> Result<String, Mistake> {
    let is_name = name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
        && name.starts_with(|c: char| !c.is_ascii_digit())
        && (1..=64).contains(&name.len());
    if is_name { Ok(name) } else { Err(Mistake::NotAName) }
}

/// What is wrong with the table.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error("classify.provider is {0:?}; it is \"openai\", \"anthropic\" or \"command\"")]
    UnknownProvider(String),
    #[error("classify.{0} is set without classify.provider; say \"openai\", \"anthropic\" or \"command\"")]
    NoProvider(&'static str),
    #[error("classify.{0} is set, but this classify.provider does not use it")]
    Unused(&'static str),
    #[error("classify.model is missing; this classify.provider needs the name of a model")]
    NoModel,
    #[error("classify.command is missing; it is a list: the program and its arguments")]
    NoCommand,
    #[error("classify.url is no address: {0}")]
    BadUrl(String),
    #[error("classify.url must be https; http would send screens unencrypted, and is for this host alone")]
    Unencrypted,
    #[error("classify.url holds a user name or password; keep secrets out of files and name a variable in api_key_env")]
    Credentials,
    #[error(
        "classify.api_key_env is the name of an environment variable such as OPENAI_API_KEY, and never the key itself"
    )]
    NotAName,
    #[error("classify.{key} is a number from 1 to {most}")]
    OutOfRange { key: &'static str, most: u32 },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ClassifyConfig, String> {
        toml::from_str::<ClassifyConfig>(text).map_err(|error| error.message().to_owned())
    }

    fn http(text: &str) -> (String, Option<String>) {
        match parse(text).unwrap().provider {
            Some(Provider::Http { endpoint, api_key_env, .. }) => (endpoint.to_string(), api_key_env),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn nobody_is_asked_until_a_provider_is_named() {
        assert_eq!(parse("").unwrap(), ClassifyConfig::default());
        assert_eq!(parse("after_seconds = 60").unwrap().provider, None);
    }

    #[test]
    fn the_vendors_have_their_places_and_keys() {
        let key = |name: &str| Some(name.to_owned());
        for (text, expected) in [
            ("provider = 'openai'\nmodel = 'm'", ("https://api.openai.com/v1/chat/completions", key("OPENAI_API_KEY"))),
            (
                "provider = 'anthropic'\nmodel = 'm'",
                ("https://api.anthropic.com/v1/messages", key("ANTHROPIC_API_KEY")),
            ),
            (
                "provider = 'openai'\nmodel = 'm'\nurl = 'http://localhost:11434/v1/'",
                ("http://localhost:11434/v1/chat/completions", None),
            ),
            (
                "provider = 'openai'\nmodel = 'm'\nurl = 'https://gateway/x/chat/completions'\napi_key_env = 'KEY'",
                ("https://gateway/x/chat/completions", key("KEY")),
            ),
            ("provider = 'anthropic'\nmodel = 'm'\nurl = 'http://[::1]:8080'", ("http://[::1]:8080/v1/messages", None)),
        ] {
            assert_eq!(http(text), (expected.0.to_owned(), expected.1), "{text}");
        }
    }

    #[test]
    fn every_mistake_is_named() {
        let mistakes = [
            "provider = 'gemini'",
            "model = 'm'",
            "api_key_env = 'KEY'",
            "provider = 'openai'",
            "provider = 'openai'\nmodel = ' '",
            "provider = 'openai'\nmodel = 'm'\ncommand = ['claude', '-p']",
            "provider = 'command'",
            "provider = 'command'\ncommand = []",
            "provider = 'command'\ncommand = ['']",
            "provider = 'command'\ncommand = ['x']\nmodel = 'm'",
            "provider = 'openai'\nmodel = 'm'\nurl = 'ftp://x'",
            "provider = 'openai'\nmodel = 'm'\nurl = 'api.openai.com'",
            "provider = 'openai'\nmodel = 'm'\nurl = 'http://example.com/v1'",
            "provider = 'openai'\nmodel = 'm'\nurl = 'http://127.0.0.1.example.com'",
            "provider = 'openai'\nmodel = 'm'\nurl = 'https://me:secret@example.com'",
            "provider = 'openai'\nmodel = 'm'\napi_key_env = 'sk-secret-1234'",
            "provider = 'openai'\nmodel = 'm'\napi_key_env = ''",
            "after_seconds = 0",
            "per_hour = 0",
            "per_hour = 100000",
            "timeout_seconds = 600",
        ];
        let shown: String =
            mistakes.iter().map(|text| format!("{text}\n  -> {}\n\n", parse(text).unwrap_err())).collect();
        insta::assert_snapshot!(shown);
    }
}
