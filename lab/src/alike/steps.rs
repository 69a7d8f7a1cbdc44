//! What is done to an agent in every pane, step by step, and how each step is known to have arrived.

use regex::Regex;

use crate::agent::Agent;

/// One step; after it the panes are compared.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// What it is, for people.
    pub(super) name: &'static str,
    /// Whether a brief run does without it.
    is_detail: bool,
    pub(super) moves: Vec<Move>,
}

/// What is done, or waited for.
#[derive(Clone, Debug)]
pub(super) enum Move {
    /// The agent's command is typed into the shell, and the agent takes keys.
    Start,
    /// A text is typed.
    Type(&'static str),
    /// A text is pasted.
    Paste(&'static str),
    /// Keys are pressed, as tmux calls them.
    Keys(&'static [&'static str]),
    /// The pane gets another size.
    Resize(u16, u16),
    /// A line is typed into the shell.
    Shell(&'static str),
    /// The screen shows something.
    Shows(Regex),
    /// It no longer does.
    Gone(Regex),
}

/// What differs between agents.
struct Ways {
    /// The keys for a new line that is not sent.
    newline: &'static [&'static str],
    /// What is shown for a moment after Ctrl-C has cleared the composer.
    cleared: Option<&'static str>,
    /// Whether it has asked for the mouse.
    mouse: bool,
    /// What every turn that was not interrupted ends with.
    ended: &'static str,
    /// One of the commands in the menu.
    menu: &'static str,
    /// The prompt that makes it ask for permission, the question, and what is shown when it is refused.
    asking: &'static str,
    question: &'static str,
    refused: &'static str,
    /// What is shown when it is back from being suspended.
    back: &'static str,
    /// How it is told to leave.
    leave: &'static str,
}

const CLAUDE: Ways = Ways {
    newline: &["M-Enter"],
    cleared: Some("Press Ctrl-C again"),
    mouse: true,
    ended: r"done \d+:\d\d",
    menu: "/add-dir",
    asking: "tool:bash:touch x",
    question: "Do you want to proceed",
    refused: "Interrupted",
    back: "manual mode on",
    leave: "/exit",
};

const CODEX: Ways = Ways {
    newline: &["C-j"],
    cleared: None,
    mouse: false,
    ended: "",
    menu: "/model",
    asking: "tool:esc:touch x",
    question: "Would you like to run",
    refused: "interrupted|canceled",
    back: "› ",
    leave: "/quit",
};

/// The prompt of the shell, with nothing behind it.
const SHELL: &str = r"(?m)^\$ ?\s*\z";

/// The steps for an agent, if there are any: all, or those that say most.
pub(super) fn steps(agent: Agent, brief: bool) -> Option<Vec<Step>> {
    let mut steps = match agent {
        Agent::Claude => written(&CLAUDE),
        Agent::Codex => written(&CODEX),
        _ => return None,
    };
    steps.retain(|step| !brief || !step.is_detail);
    Some(steps)
}

fn written(ways: &Ways) -> Vec<Step> {
    use Move::{Keys, Paste, Resize, Shell, Start, Type};
    let cleared = ways.cleared.map_or_else(Vec::new, |notice| vec![shows(notice), gone(notice)]);
    // As terminals report it: three notches up, one down.
    let wheel = if ways.mouse { "\u{1b}[<64;9;9M\u{1b}[<64;9;9M\u{1b}[<64;9;9M\u{1b}[<65;9;9M" } else { "" };
    let step = |name, moves: &[Move]| Step { name, is_detail: false, moves: moves.to_vec() };
    let detail = |name, moves: &[Move]| Step { is_detail: true, ..step(name, moves) };
    vec![
        step("the agent starts", &[Start]),
        step("a line with é, 日本, 🦀", &[Type("héllo 日本 🦀 wörld"), shows("wörld")]),
        step("arrows, Backspace, Delete", &[Keys(&["Left", "Left", "BSpace", "Left", "DC", "X"]), shows("wX")]),
        step("Ctrl-A", &[Keys(&["C-a", "A", "b"]), shows("Abh")]),
        detail("Ctrl-E, Ctrl-W", &[Keys(&["C-e", "C-w"]), gone("wX")]),
        step("a new line that is not sent", &[Keys(ways.newline)]),
        detail("a second line", &[Type("zwölf — ½"), shows("zwölf — ½")]),
        detail("up to the first line", &[Keys(&["Up", "C-a", "Right"])]),
        step("Ctrl-C", &[&[Keys(&["C-c"]), gone("éllo")][..], &cleared].concat()),
        detail("a paste of two lines", &[Paste("eins 🦀\nzwei é"), shows("zwei é")]),
        step("a paste of many lines", &[Paste("\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10 markdown:")]),
        step("Enter: an answer in markdown", &[Keys(&["Enter"]), shows("The end"), shows(ways.ended)]),
        step("72x20", &[Resize(72, 20)]),
        detail("120x40", &[Resize(120, 40)]),
        detail("the wheel of the mouse, if it is wanted", &[Type(wheel)]),
        detail("the terminal loses focus and gets it back", &[Type("\u{1b}[O"), Type("\u{1b}[I")]),
        step("/ opens a menu", &[Type("/"), shows(ways.menu)]),
        detail("down in the menu", &[Keys(&["Down", "Down"])]),
        step("Escape closes the menu", &[Keys(&["Escape"]), gone(ways.menu)]),
        step("Backspace", &[Keys(&["BSpace"])]),
        step("a paste of one line", &[Paste(ways.asking), shows(ways.asking)]),
        step("Enter: a dialog", &[Keys(&["Enter"]), shows(ways.question)]),
        step("down in the dialog", &[Keys(&["Down"])]),
        detail("the dialog at 72x20", &[Resize(72, 20), shows(ways.question)]),
        detail("the dialog at 100x30", &[Resize(100, 30), shows(ways.question)]),
        step("Escape closes the dialog", &[Keys(&["Escape"]), shows(ways.refused), gone(ways.question)]),
        detail("another paste", &[Paste("stream:2"), shows("stream:2")]),
        detail(
            "Enter: 72x20 and 120x40 while text streams",
            &[
                Keys(&["Enter"]),
                shows("tick3"),
                Resize(72, 20),
                shows("tick5"),
                Resize(120, 40),
                shows("streamed"),
                shows(ways.ended),
            ],
        ),
        step("Ctrl-Z", &[Keys(&["C-z"]), shows("Stopped"), shows(SHELL)]),
        detail("the terminal meanwhile", &[Shell("stty -a"), shows("echoke"), shows(SHELL)]),
        step("fg", &[Shell("fg"), shows(ways.back)]),
        step("told to leave", &[Type(ways.leave), shows(ways.leave)]),
        step("Enter: the shell again", &[Keys(&["Enter"]), shows(SHELL)]),
        step("status and terminal", &[Shell("echo status $?; stty -a"), shows("echoke"), shows(SHELL)]),
    ]
}

fn shows(pattern: &str) -> Move {
    Move::Shows(regex(pattern))
}

fn gone(pattern: &str) -> Move {
    Move::Gone(regex(pattern))
}

#[expect(clippy::unwrap_used, reason = "a test reads every step")]
fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_read_and_has_a_name_of_its_own() {
        for agent in [Agent::Claude, Agent::Codex] {
            let steps = steps(agent, false).unwrap();
            let names: std::collections::BTreeSet<_> = steps.iter().map(|step| step.name).collect();
            assert_eq!(names.len(), steps.len(), "{agent}");
        }
    }
}
