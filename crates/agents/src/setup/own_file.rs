//! Files that are ours alone: a hook file for Copilot, a plugin for opencode.

use super::Refusal;
use super::agent::Agent;
use super::hook_file;
use super::json_text::quoted;

/// The plugin, with places for the program and the events.
const PLUGIN: &str = include_str!("opencode.js");

/// How a plugin of ours begins.
const PLUGIN_MARK: &str = "// agtmux:";

/// The text of the file.
pub(super) fn text(agent: Agent, program: &str) -> String {
    if agent != Agent::Opencode {
        return hook_file::own_document(agent, program);
    }
    let events: Vec<_> = agent.events().iter().map(|event| format!("  {},\n", quoted(event))).collect();
    PLUGIN.replace("\"PROGRAM\"", &quoted(program)).replace("  \"EVENTS\",\n", &events.concat())
}

/// Refuses a file at our place that is not ours.
pub(super) fn check(agent: Agent, before: Option<&[u8]>) -> Result<(), Refusal> {
    let Some(before) = before else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(before);
    let mark = if agent == Agent::Opencode { PLUGIN_MARK } else { "# agtmux" };
    let is_ours = text.contains(mark) || text.trim().is_empty();
    if is_ours { Ok(()) } else { Err(Refusal::whole("is not a file of agtmux, though it has the name of one")) }
}
