//! What is known about a pane besides what it shows.

/// Facts that tmux and the process table tell about a pane. What is not known is left out; less is then proved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScreenContext {
    /// Columns and rows of the pane.
    pub size: Option<(usize, usize)>,
    pub cursor: Option<Cursor>,
    /// The pane's title.
    pub title: Option<String>,
    /// Whether the pane's process is over and the pane only still shown.
    pub dead: bool,
    /// Who reads what is typed into the pane.
    pub foreground: Option<Foreground>,
}

/// Where the terminal's cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub column: usize,
    pub row: usize,
    pub visible: bool,
}

/// Who reads what is typed into a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreground {
    /// The agent.
    Agent,
    /// A shell: the agent exited, was killed, or was suspended.
    Shell,
    /// Some other program.
    Other,
}

impl Foreground {
    /// Who has the keyboard, by whether the process table shows the agent in the foreground and by what tmux calls
    /// the pane's current command. The process table knows better: a script that starts an agent is itself a shell.
    pub fn of(agent_in_foreground: Option<bool>, command: Option<&str>) -> Option<Self> {
        match (agent_in_foreground, command) {
            (Some(true), _) => Some(Self::Agent),
            (_, Some(command)) if is_shell(command) => Some(Self::Shell),
            (Some(false), _) => Some(Self::Other),
            (None, _) => None,
        }
    }
}

fn is_shell(command: &str) -> bool {
    const SHELLS: [&str; 15] = [
        "ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh", "xonsh",
        "zsh",
    ];
    SHELLS.contains(&command.trim_start_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::Foreground;

    #[test]
    fn the_process_table_knows_better_than_the_name_of_the_command() {
        let cases = [
            (Some(true), Some("bash"), Some(Foreground::Agent)),
            (Some(false), Some("bash"), Some(Foreground::Shell)),
            (None, Some("-zsh"), Some(Foreground::Shell)),
            (Some(false), Some("vim"), Some(Foreground::Other)),
            (None, Some("node"), None),
            (None, None, None),
        ];
        for (agent, command, expected) in cases {
            assert_eq!(Foreground::of(agent, command), expected, "{agent:?} {command:?}");
        }
    }
}
