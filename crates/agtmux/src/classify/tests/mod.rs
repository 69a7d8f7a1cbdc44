//! Providers as they are: slow, broken, talkative, flooding. A scripted server and scripted programs.

mod command;
mod http;
mod server;

use std::path::Path;
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_agents::guess::Guess;
use agtmux_core::signal::{Outcome, Signal};

use super::{AskError, Client, Screen};
use crate::config::ClassifyConfig;

const ANSWER: &str = r#"{"state": "completed", "summary": "tests pass"}"#;

fn client(config: &str) -> Client {
    client_in(config, Path::new("/"))
}

fn client_in(config: &str, workdir: &Path) -> Client {
    let config: ClassifyConfig = toml::from_str(config).unwrap();
    Client::new(&config, workdir).unwrap().unwrap()
}

/// Asks, and never waits for longer than a test may take.
#[expect(clippy::unwrap_in_result, reason = "only the answer is the test's business")]
fn ask(client: &Client, screen: &str) -> Result<Guess, AskError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let screen = Screen::new("claude", screen).unwrap();
    let asked = async { tokio::time::timeout(Duration::from_secs(30), client.ask(&screen)).await };
    runtime.block_on(asked).expect("the client's own timeout did not come")
}

fn completed() -> Guess {
    let done = Signal::TurnEnded { outcome: Outcome::Done };
    Guess::State(Reading::new(done).with_message("tests pass"))
}
