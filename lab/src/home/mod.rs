//! A home for an agent that has never run: past login, trust and first-run questions, with no way out of loopback.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use crate::agent::Agent;

/// What an agent is given as the key to the model. The model takes any.
const KEY: &str = "sk-lab-not-a-key-000000000000000000000000";

/// Where an agent lives during a story.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    /// Its `HOME`.
    pub(crate) home: PathBuf,
    /// The folder it works in.
    pub(crate) workspace: PathBuf,
    /// The port of the scripted model.
    pub(crate) port: u16,
}

/// A variable of the environment.
pub(crate) type Variable = (String, String);

impl Home {
    /// Writes the agent's configuration, and gives the variables it needs.
    pub(crate) fn seed(&self, agent: Agent) -> io::Result<Vec<Variable>> {
        let own = match agent {
            Agent::Claude => claude::seed(self)?,
            Agent::Codex => codex::seed(self)?,
            Agent::Gemini => gemini::seed(self)?,
            Agent::Opencode => opencode::seed(self)?,
            Agent::Copilot => copilot::seed(self)?,
        };
        // The model is also everybody's proxy, and refuses. What does not heed a proxy has its own switch.
        let proxy = format!("http://127.0.0.1:{}", self.port);
        let closed = ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name, proxy.clone()));
        let open = ["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1,localhost,::1".to_owned()));
        Ok(own.into_iter().chain(closed).chain(open).map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn model(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&self.home))?;
        fs::write(path, text)
    }

    fn write_json(&self, name: &str, document: &Value) -> io::Result<()> {
        self.write(name, &format!("{document:#}\n"))
    }

    fn workspace(&self) -> String {
        self.workspace.display().to_string()
    }
}
