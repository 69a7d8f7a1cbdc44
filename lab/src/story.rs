//! Stories: what is done to an agent, and what is then true of it. One file each, read line by line.
//!
//! ```text
//! # What the story shows, for people.
//! setting agents.claude.plugin = false  a key of config.toml, before anything is set up
//! start                              type the agent's command and wait until it takes text
//! start --continue                   the same with arguments; PORT stands for a port that is free
//! spawn say:hello                    have agtmux start the agent, as x, with a first prompt; from there on x is meant
//! spawn in ../new hi refused E_X     the same in another folder, and not all of it is done
//! resume say:again                   have agtmux start x again, with a prompt
//! prompt tool:bash:touch x           paste a text, press Enter
//! type half a thought                paste a text, no Enter
//! send first\nsecond                 have agtmux send a text; \n, \t and \\ mean what they mean elsewhere
//! send 60x many a line               the same with sixty lines, numbered
//! received                           the model was given every text that was sent, as it is and no more often
//! key Escape                         press keys, as tmux calls them
//! key Escape until / commands        press a key again and again until the screen shows this
//! shell kill %1                      type a line into the shell
//! signal KILL                        send a signal to the agent's process
//! screen Do you want to proceed?     wait until the screen, title first, shows this (a regular expression)
//! no screen esc to interrupt         wait until it does not
//! expect waiting_approval within 5s  what agtmux has to say, and how long it may take at most
//! expect idle because interrupted    the reason too
//! expect nobody                      no agent in the pane
//! holds 2s                           agtmux does not change its mind
//! agtmux approve PANE                run agtmux, which succeeds; PANE stands for the pane's id, and \n is a line end here too
//! agtmux deny PANE refused E_BLOCKED run agtmux, which refuses with this code
//! agtmux list panes says claude      run agtmux, which succeeds and says something like this (a regular expression)
//! agtmux sm show m_1 until confirmed run agtmux again and again until it says that
//! pane b                             go on in pane b, a new one with a shell if there is none yet; the first pane is a, and PANE:a its id
//! never running|completed            agtmux has not said that of this pane since the story left it
//! file x                             wait until the workspace has this file
//! no file x                          it does not have it
//! told use make                      wait until the model was told something like this (a regular expression)
//! ```

use std::fmt;
use std::time::Duration;

use regex::Regex;
use thiserror::Error;

use crate::agent::Agent;

/// How long anything may take unless a step says otherwise. Generous: what is measured is reported, not judged by this.
const DEADLINE: Duration = Duration::from_secs(60);

/// What agtmux can say of a pane that holds an agent.
const STATES: [&str; 7] = ["error", "waiting_approval", "waiting_input", "running", "completed", "idle", "unknown"];

/// One story.
#[derive(Clone, Debug)]
pub struct Story {
    /// The agent it is about.
    pub agent: Agent,
    /// Its name among the stories of the agent.
    pub name: String,
    /// Lines for `config.toml`.
    pub settings: String,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// A line of a story.
#[derive(Clone, Debug)]
pub struct Step {
    /// The line as it was written.
    pub text: String,
    /// What it means.
    pub verb: Verb,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Verb {
    /// Starts the agent with these arguments.
    Start(String),
    /// Has agtmux start the agent, or start it again.
    Spawn {
        /// Whether it goes on where it was.
        again: bool,
        /// The folder, seen from the workspace, if it is not that.
        folder: Option<String>,
        /// Its first prompt.
        prompt: String,
        /// The code of what is not done, if it is to be so.
        refused: Option<String>,
    },
    /// Pastes a text and presses Enter.
    Prompt(String),
    /// Pastes a text.
    Type(String),
    /// Has agtmux send a text.
    Send(String),
    /// Checks that the model was given what was sent.
    Received,
    /// Presses keys.
    Key(Vec<String>),
    /// Presses a key until the screen shows something.
    KeyUntil(String, Regex),
    /// Types a line into the shell.
    Shell(String),
    /// Sends a signal to the agent's process.
    Signal(String),
    /// Waits until the screen shows, or no longer shows, something.
    Screen {
        /// What.
        pattern: Regex,
        /// Whether it is to be there.
        shown: bool,
        /// How long at most.
        within: Duration,
    },
    /// Waits until agtmux says what is true.
    Expect(Truth),
    /// Checks that agtmux goes on saying what it says.
    Holds(Duration),
    /// Runs agtmux.
    Agtmux {
        /// With these arguments.
        words: Vec<String>,
        /// The code with which it refuses, if it is to.
        refused: Option<String>,
        /// What it says, if that matters.
        says: Option<Regex>,
        /// Whether it is asked again until it says that.
        waits: bool,
    },
    /// Goes on in another pane.
    Pane(String),
    /// Checks that agtmux has not said one of these states of the pane since the story left it.
    Never(Vec<String>),
    /// Waits until the workspace has a file, or checks that it has not.
    File {
        /// Which.
        name: String,
        /// Whether it is to be there.
        there: bool,
    },
    /// Waits until the model was told something.
    Told(Regex),
}

/// What is true of the pane.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The states that are right; none if there is no agent.
    pub states: Vec<String>,
    /// The reason, if it matters.
    pub reason: Option<String>,
    /// How long agtmux may take to say so.
    pub within: Duration,
}

/// A line that is not understood.
#[derive(Debug, Error)]
#[error("{story}:{line}: {problem}")]
pub struct StoryError {
    story: String,
    line: usize,
    problem: String,
}

impl Story {
    /// Reads a story.
    ///
    /// # Errors
    /// Fails at the first line that is not understood.
    pub fn parse(agent: Agent, name: &str, text: &str) -> Result<Self, StoryError> {
        let (mut steps, mut settings) = (Vec::new(), String::new());
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(setting) = line.strip_prefix("setting ") {
                settings.extend([setting, "\n"]);
                continue;
            }
            let verb = verb(line).map_err(|problem| StoryError {
                story: format!("{agent}/{name}"),
                line: index + 1,
                problem: format!("{problem}: {line}"),
            })?;
            steps.push(Step { text: line.to_owned(), verb });
        }
        Ok(Self { agent, name: name.to_owned(), settings, steps })
    }
}

impl fmt::Display for Story {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.agent, self.name)
    }
}

fn verb(line: &str) -> Result<Verb, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    match word {
        "start" => Ok(Verb::Start(rest.to_owned())),
        "spawn" => spawn(rest, false),
        "resume" => spawn(rest, true),
        "prompt" => given(rest).map(Verb::Prompt),
        "type" => given(rest).map(Verb::Type),
        "send" => given(rest).and_then(|text| lines(&text)).map(Verb::Send),
        "received" if rest.is_empty() => Ok(Verb::Received),
        "key" => match rest.split_once(" until ") {
            Some((key, pattern)) => pattern_of(pattern).map(|pattern| Verb::KeyUntil(key.to_owned(), pattern)),
            None => given(rest).map(|keys| Verb::Key(keys.split(' ').map(str::to_owned).collect())),
        },
        "shell" => given(rest).map(Verb::Shell),
        "signal" => given(rest).map(Verb::Signal),
        "screen" => screen(rest, true),
        "no" => match rest.split_once(' ') {
            Some(("screen", pattern)) => screen(pattern, false),
            Some(("file", name)) => given(name).map(|name| Verb::File { name, there: false }),
            _ => Err("no what?".to_owned()),
        },
        "agtmux" => {
            let (words, refused) = refused(rest);
            let (words, says, waits) = match (words.split_once(" says "), words.split_once(" until ")) {
                (Some((words, says)), _) => (words, Some(says), false),
                (None, Some((words, says))) => (words, Some(says), true),
                (None, None) => (words, None, false),
            };
            let words = given(words)?.split(' ').map(unescaped).collect::<Result<_, _>>()?;
            let says = says.map(pattern_of).transpose()?;
            Ok(Verb::Agtmux { words, refused, says, waits })
        }
        "pane" => given(rest).map(Verb::Pane),
        "never" => states(rest).map(Verb::Never),
        "file" => given(rest).map(|name| Verb::File { name, there: true }),
        "told" => pattern_of(rest).map(Verb::Told),
        "expect" => truth(rest).map(Verb::Expect),
        "holds" => duration(rest).map(Verb::Holds),
        _ => Err("no such step".to_owned()),
    }
}

fn spawn(rest: &str, again: bool) -> Result<Verb, String> {
    let (rest, refused) = refused(rest);
    let (folder, text) = match rest.strip_prefix("in ").and_then(|rest| rest.split_once(' ')) {
        Some((folder, text)) => (Some(folder.to_owned()), text),
        None => (None, rest),
    };
    let prompt = given(text).and_then(|text| lines(&text))?;
    Ok(Verb::Spawn { again, folder, prompt, refused })
}

/// The code at the end of a step that is refused.
fn refused(rest: &str) -> (&str, Option<String>) {
    rest.rsplit_once(" refused ").map_or((rest, None), |(rest, code)| (rest, Some(code.to_owned())))
}

fn given(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("something is missing".to_owned()) } else { Ok(text.to_owned()) }
}

/// A text, or many numbered lines of it.
fn lines(text: &str) -> Result<String, String> {
    let many = text.split_once(' ').and_then(|(count, line)| Some((count.strip_suffix('x')?.parse().ok()?, line)));
    match many {
        Some((count, line)) => {
            let lines: Vec<_> = (1..=count).map(|number: usize| format!("{number} {line}")).collect();
            Ok(lines.join("\n"))
        }
        None => unescaped(text),
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('\\') => '\\',
                other => return Err(format!("\\{other:?} means nothing")),
            },
            c => c,
        });
    }
    Ok(plain)
}

fn screen(rest: &str, shown: bool) -> Result<Verb, String> {
    let (pattern, within) = deadline(rest)?;
    Ok(Verb::Screen { pattern: pattern_of(pattern)?, shown, within })
}

fn pattern_of(text: &str) -> Result<Regex, String> {
    Regex::new(&given(text)?).map_err(|error| error.to_string())
}

fn truth(rest: &str) -> Result<Truth, String> {
    let (rest, within) = deadline(rest)?;
    let (states, reason) = rest.split_once(" because ").map_or((rest, None), |(states, why)| (states, Some(why)));
    let states = if states == "nobody" { Vec::new() } else { self::states(states)? };
    Ok(Truth { states, reason: reason.map(str::to_owned), within })
}

fn states(text: &str) -> Result<Vec<String>, String> {
    let states: Vec<_> = text.split('|').map(|state| state.trim().to_owned()).collect();
    match states.iter().find(|state| !STATES.contains(&state.as_str())) {
        Some(state) => Err(format!("no such state as {state:?}")),
        None => Ok(states),
    }
}

fn deadline(rest: &str) -> Result<(&str, Duration), String> {
    match rest.rsplit_once(" within ") {
        Some((rest, time)) => Ok((rest.trim(), duration(time)?)),
        None => Ok((rest, DEADLINE)),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time such as 300ms or 5s");
    let number = |digits: &str| digits.trim().parse().map_err(|_not_a_number| wrong());
    if let Some(millis) = text.strip_suffix("ms") {
        return number(millis).map(Duration::from_millis);
    }
    number(text.strip_suffix('s').ok_or_else(wrong)?).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_story_is_read_line_by_line() {
        let text = "# Why\n\nstart\nprompt say:hello there\nexpect completed|idle because turn_done within 300ms\n";
        let story = Story::parse(Agent::Claude, "hello", text).unwrap();
        assert_eq!(story.to_string(), "claude/hello");
        let [start, prompt, expect] = story.steps.as_slice() else { panic!("{story:?}") };
        assert!(matches!(&start.verb, Verb::Start(arguments) if arguments.is_empty()));
        assert!(matches!(&prompt.verb, Verb::Prompt(text) if text == "say:hello there"));
        let Verb::Expect(truth) = &expect.verb else { panic!("{expect:?}") };
        assert_eq!(truth.states, ["completed", "idle"]);
        assert_eq!(truth.reason.as_deref(), Some("turn_done"));
        assert_eq!(truth.within, Duration::from_millis(300));
    }

    #[test]
    fn what_is_sent_can_have_lines() {
        assert_eq!(lines(r"a\nb\t\\").unwrap(), "a\nb\t\\");
        assert_eq!(lines("3x go on").unwrap(), "1 go on\n2 go on\n3 go on");
        assert_eq!(lines("3 go on").unwrap(), "3 go on");
        assert!(lines(r"\q").is_err());
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        let wrong = |text: &str| Story::parse(Agent::Codex, "x", text).unwrap_err().to_string();
        assert_eq!(wrong("start\ndance"), "codex/x:2: no such step: dance");
        assert_eq!(wrong("expect happy"), "codex/x:1: no such state as \"happy\": expect happy");
        assert_eq!(wrong("holds 3"), "codex/x:1: \"3\" is no time such as 300ms or 5s: holds 3");
        assert_eq!(wrong("prompt"), "codex/x:1: something is missing: prompt");
    }
}
