//! What can be known of an agent, and by which means: read off its manifest and the hooks that are understood.

use crate::manifest::Manifest;
use crate::screen::Meaning;
use crate::translate::{Sign, hooks_tell};

/// What an adapter can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The agent reports what happens to it: by hooks, by a file of its own, or by signs in its output.
    pub event_driven: bool,
    /// No source tells every change of its state, so its screen has to be read too.
    pub polling_required: bool,
    /// It can be known that it waits for a permission.
    pub supports_waiting_approval: bool,
    /// It can be known that it waits for an answer.
    pub supports_waiting_input: bool,
    /// It can be known that a turn was finished, rather than merely that none is under way.
    pub supports_completed: bool,
}

/// What the hooks of an agent tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HooksTell {
    /// That it waits for a permission.
    pub approval: bool,
    /// That it waits for an answer.
    pub input: bool,
    /// That a turn was finished.
    pub completed: bool,
}

impl Capabilities {
    /// The names of the flags, in the order of [`Self::flags`].
    pub const NAMES: [&'static str; 5] = [
        "event_driven",
        "polling_required",
        "supports_waiting_approval",
        "supports_waiting_input",
        "supports_completed",
    ];

    /// What can be known of the agent that a manifest describes.
    pub fn of(manifest: &Manifest) -> Self {
        let hooks = hooks_tell(&manifest.id);
        let has_sign = |sign: Sign| manifest.titles.iter().chain(&manifest.notices).any(|rule| rule.means == sign);
        let shows = |meanings: &[Meaning]| manifest.screen.in_order().iter().any(|rule| meanings.contains(&rule.means));
        let told = hooks.unwrap_or_default();
        let has_signs = !manifest.titles.is_empty() || !manifest.notices.is_empty();
        Self {
            event_driven: hooks.is_some() || has_signs || !manifest.complete.is_empty(),
            polling_required: manifest.complete.is_empty(),
            supports_waiting_approval: told.approval || has_sign(Sign::Approval) || shows(&[Meaning::WaitingApproval]),
            supports_waiting_input: told.input
                || has_sign(Sign::Question)
                || shows(&[Meaning::WaitingInput, Meaning::Dialog]),
            supports_completed: told.completed || has_sign(Sign::Done),
        }
    }

    /// The flags, with their names.
    pub fn flags(self) -> [(&'static str, bool); 5] {
        let flags = [
            self.event_driven,
            self.polling_required,
            self.supports_waiting_approval,
            self.supports_waiting_input,
            self.supports_completed,
        ];
        std::array::from_fn(|place| (Self::NAMES[place], flags[place]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn every_built_in_agent_has_flags() {
        let registry = Registry::builtin();
        let lines = registry.list().map(|entry| {
            let flags = Capabilities::of(&entry.manifest).flags();
            let set: Vec<_> = flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
            format!("{}: {}", entry.manifest.id, set.join(" "))
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @r"
        claude: event_driven supports_waiting_approval supports_waiting_input supports_completed
        codex: event_driven supports_waiting_approval supports_waiting_input supports_completed
        copilot: event_driven supports_waiting_approval supports_waiting_input supports_completed
        cursor: event_driven polling_required supports_waiting_approval supports_completed
        gemini: event_driven polling_required supports_waiting_approval supports_waiting_input supports_completed
        opencode: event_driven supports_waiting_approval supports_waiting_input supports_completed
        ");
    }

    #[test]
    fn an_agent_that_only_has_a_program_has_none() {
        let text = "contract = 1\nid = \"aider\"\nname = \"Aider\"\nrecorded = []\n[process]\nprograms = [\"aider\"]\n";
        let capabilities = Capabilities::of(&Manifest::parse(text).expect("valid"));
        assert_eq!(capabilities, Capabilities { polling_required: true, ..Capabilities::default() });
    }
}
