//! What a person has to do, or should know, once an agent is set up.

use agtmux_agents::setup::{Agent, Remark};

/// What to do about an agent whose hooks were put in, or taken out.
pub const fn after_a_change(agent: Agent, removed: bool) -> &'static str {
    match agent {
        Agent::Opencode | Agent::Cursor if removed => "restart running sessions",
        Agent::Claude => "nothing: running sessions read their settings again by themselves",
        Agent::Codex => {
            "restart running sessions; if Codex's background server runs, stop it first: codex app-server daemon stop"
        }
        Agent::Gemini | Agent::Copilot => "restart running sessions",
        Agent::Opencode => {
            "restart running sessions; a first start with a plugin takes longer, because opencode installs its plugin library"
        }
        Agent::Cursor => "restart running sessions; this follows Cursor's documentation and has not been tried on it",
    }
}

/// What to do when the plugin was put into Claude.
pub const AFTER_THE_PLUGIN: &str =
    "sessions that run now have the plugin from their next start on; until then messages reach them as before";

/// What something that was found means.
pub const fn about(remark: Remark) -> &'static str {
    match remark {
        Remark::NotifyIsTaken => {
            "another program is named by `notify` in config.toml and stays there; the hooks tell the same"
        }
        Remark::HooksAreOff => "these settings switch all hooks off, so that none of them will run",
    }
}
