//! The variables that an agent is started with, so that it and its hooks know whom to tell and where.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An agent that is about to be started.
#[derive(Debug, Clone, Copy)]
pub struct Start<'s> {
    /// The word by which it signals; names its files, so that it has no slash.
    pub session: &'s str,
    /// The word of the workspace.
    pub workspace: &'s str,
    /// The folder of the workspace.
    pub folder: &'s Path,
    /// The daemon's socket.
    pub socket: &'s Path,
    /// What proves that a hook comes from this agent.
    pub capability: &'s str,
    /// Its name, if it has one.
    pub name: Option<&'s str>,
}

impl Start<'_> {
    /// The file in which the agent says how it stands, as one line.
    pub fn status_file(&self) -> PathBuf {
        self.folder.join(".schmux/signal").join(self.session)
    }

    /// The file to which the agent appends what happens, one JSON document a line.
    pub fn events_file(&self) -> PathBuf {
        self.folder.join(".schmux/events").join(format!("{}.jsonl", self.session))
    }

    /// The variables, by name.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&'static str, OsString)> = vec![
            ("SCHMUX_ENABLED", "1".into()),
            ("SCHMUX_SESSION_ID", self.session.into()),
            ("SCHMUX_WORKSPACE_ID", self.workspace.into()),
            ("SCHMUX_STATUS_FILE", self.status_file().into()),
            ("SCHMUX_EVENTS_FILE", self.events_file().into()),
            ("AGTMUX_SOCKET", self.socket.into()),
            ("AGTMUX_CAPABILITY", self.capability.into()),
        ];
        variables.extend(self.name.map(|name| ("AGTMUX_NAME", name.into())));
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_told_who_it_is_and_where_to_signal() {
        let start = Start {
            session: "proj-abc-xyz12345",
            workspace: "proj-abc",
            folder: Path::new("/w/proj"),
            socket: Path::new("/run/agtmuxd.sock"),
            capability: "secret",
            name: Some("api"),
        };
        let shown: Vec<_> =
            start.variables().iter().map(|(name, value)| format!("{name}={}", value.to_string_lossy())).collect();
        assert_eq!(
            shown,
            [
                "SCHMUX_ENABLED=1",
                "SCHMUX_SESSION_ID=proj-abc-xyz12345",
                "SCHMUX_WORKSPACE_ID=proj-abc",
                "SCHMUX_STATUS_FILE=/w/proj/.schmux/signal/proj-abc-xyz12345",
                "SCHMUX_EVENTS_FILE=/w/proj/.schmux/events/proj-abc-xyz12345.jsonl",
                "AGTMUX_SOCKET=/run/agtmuxd.sock",
                "AGTMUX_CAPABILITY=secret",
                "AGTMUX_NAME=api",
            ]
        );
    }
}
