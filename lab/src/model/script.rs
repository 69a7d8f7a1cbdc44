//! What a prompt makes the model do.
//!
//! A prompt is a list of acts, separated by ` ;; `; the first answers the prompt, the next answers the first result of a
//! tool, and so on. When they run out, the model says `done`. A prompt without acts is echoed.
//!
//! ```text
//! say:TEXT               a reply at once
//! lines:N                N numbered lines
//! markdown:              a reply with a heading, a list, a table and code
//! stream:SECONDS         a word every quarter of a second
//! think:SECONDS          thinks, then says `thought`
//! hang:SECONDS           says nothing at all, not even the head of the answer
//! error:CODE[:TIMES]     an HTTP error, for the first TIMES requests or for ever; `429q` is a quota that is used up
//! cut:                   half a reply, then the connection breaks
//! refuse:TEXT            a reply that ends in a refusal
//! tool:bash:COMMAND      a shell command          tool:esc:COMMAND   one that asks to leave the sandbox
//! tool:bg:COMMAND        one in the background    tool:write:PATH:TEXT, tool:edit:PATH:OLD=>NEW, tool:read:PATH
//! ask:QUESTION?A,B       a question with options  plan:TEXT          a plan to be approved
//! agent:PROMPT           a subagent, which plays PROMPT itself
//! ```

use std::time::Duration;

/// The pause between two words of a slow stream.
const TICK: Duration = Duration::from_millis(250);

/// The verbs that begin an act.
const VERBS: [&str; 13] =
    ["say", "lines", "markdown", "stream", "think", "hang", "error", "cut", "refuse", "tool", "ask", "plan", "agent"];

/// A reply that takes all an agent can draw.
const MARKDOWN: &str = "# A heading\n\nSome **bold**, some *slanted* and some `code`, 日本語 and 🦀.\n\n- one\n- two\n  - three\n\n\
                        1. first\n2. second\n\n> a quotation\n\n```rust\nfn main() {\n    println!(\"é\");\n}\n```\n\n\
                        | name | size |\n|---|---|\n| a | 1 |\n| b | 22 |\n\nThe end.";

/// What the model does with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// An HTTP error.
    Fail(Failure),
    /// An answer, after a silence.
    Speak {
        /// How long not even the head of the answer is sent.
        silence: Duration,
        /// What is sent, in order.
        beats: Vec<Beat>,
    },
}

/// An HTTP error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status.
    pub status: u16,
    /// Whether it says that a quota is used up, which waiting does not mend.
    pub quota: bool,
    /// For how many requests it lasts; for ever if not given.
    pub times: Option<u32>,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Text of the reply.
    Text(String),
    /// Text of a thought, for dialects that show thoughts.
    Thought(String),
    /// A silence.
    Wait(Duration),
    /// The use of a tool.
    Use(Tool),
    /// The connection breaks.
    Cut,
    /// The reply ends because the model will not go on.
    Refusal,
}

/// What a tool is wanted for. Which tool that is depends on what the agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A shell command.
    Shell {
        /// The command line.
        command: String,
        /// Whether it is to run while the turn goes on.
        background: bool,
        /// Whether it asks to run outside of the sandbox.
        escalate: bool,
    },
    /// Reading a file.
    Read(String),
    /// Writing a file.
    Write {
        /// The file.
        path: String,
        /// Its new content.
        text: String,
    },
    /// Changing a file.
    Edit {
        /// The file.
        path: String,
        /// What is to be replaced.
        old: String,
        /// What it is replaced by.
        new: String,
    },
    /// A question to the person.
    Ask {
        /// The question.
        question: String,
        /// What may be chosen.
        options: Vec<String>,
    },
    /// A plan that the person is to approve.
    Plan(String),
    /// A subagent.
    Subagent(String),
}

/// The reply to the request that comes after `round` replies to this prompt.
pub fn reply(prompt: &str, round: usize) -> Reply {
    let Some(acts) = acts(prompt) else {
        return speak(vec![Beat::Text(if round == 0 { format!("echo: {prompt}") } else { "done".to_owned() })]);
    };
    acts.get(round).map_or_else(|| speak(vec![Beat::Text("done".to_owned())]), |act| play(act))
}

/// Whether the text has an act in it.
pub fn has_act(text: &str) -> bool {
    acts(text).is_some()
}

/// How long a summary is to take, if whoever asks for it says so by `hang:SECONDS`.
pub(super) fn silence_wanted(text: &str) -> Duration {
    text.rsplit_once("hang:").map_or(Duration::ZERO, |(_, rest)| seconds(rest))
}

/// A reply of one text.
pub fn say(text: &str) -> Reply {
    speak(vec![Beat::Text(text.to_owned())])
}

/// The acts of a prompt, if it has any. Agents wrap prompts in text of their own, and put several waiting prompts into
/// one; the last line that has an act counts, from its first verb on.
fn acts(prompt: &str) -> Option<Vec<&str>> {
    let script = prompt.lines().rev().find_map(|line| verb_position(line).map(|start| &line[start..]))?;
    Some(script.split(" ;; ").map(str::trim).collect())
}

fn verb_position(line: &str) -> Option<usize> {
    let starts = line.char_indices().filter(|(at, _)| {
        line[..*at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != ':')
    });
    starts
        .map(|(at, _)| at)
        .find(|at| VERBS.iter().any(|verb| line[*at..].strip_prefix(verb).is_some_and(|rest| rest.starts_with(':'))))
}

fn play(act: &str) -> Reply {
    let (verb, argument) = act.split_once(':').unwrap_or((act, ""));
    match verb {
        "say" => say(argument),
        "lines" => {
            let count = number(argument);
            let lines: Vec<_> = (1..=count).map(|line| format!("line {line} of {count}")).collect();
            say(&lines.join("\n"))
        }
        "markdown" => say(MARKDOWN),
        "stream" => speak(stream(seconds(argument))),
        "think" => speak(thoughts(seconds(argument))),
        "hang" => Reply::Speak { silence: seconds(argument), beats: vec![Beat::Text("hung".to_owned())] },
        "error" => Reply::Fail(failure(argument)),
        "cut" => speak(vec![Beat::Text("this reply is cut off ".to_owned()), Beat::Cut]),
        "refuse" => speak(vec![Beat::Text(argument.to_owned()), Beat::Refusal]),
        "tool" => tool(argument).map_or_else(|| say(&format!("no such tool: {argument}")), used),
        "ask" => used(question(argument)),
        "plan" => used(Tool::Plan(argument.trim().to_owned())),
        "agent" => used(Tool::Subagent(argument.trim().to_owned())),
        _ => say(&format!("no such act: {act}")),
    }
}

fn tool(argument: &str) -> Option<Tool> {
    let (kind, argument) = argument.split_once(':')?;
    let shell = |background, escalate| Tool::Shell { command: argument.to_owned(), background, escalate };
    match kind {
        "bash" => Some(shell(false, false)),
        "bg" => Some(shell(true, false)),
        "esc" => Some(shell(false, true)),
        "read" => Some(Tool::Read(argument.to_owned())),
        "write" => {
            let (path, text) = argument.split_once(':').unwrap_or((argument, "written by the lab"));
            Some(Tool::Write { path: path.to_owned(), text: format!("{text}\n") })
        }
        "edit" => {
            let (path, change) = argument.split_once(':')?;
            let (old, new) = change.split_once("=>")?;
            Some(Tool::Edit { path: path.to_owned(), old: old.to_owned(), new: new.to_owned() })
        }
        _ => None,
    }
}

fn question(argument: &str) -> Tool {
    let (question, options) = argument.split_once('?').unwrap_or((argument, ""));
    let options = if options.trim().is_empty() { "Alpha,Beta" } else { options };
    Tool::Ask {
        question: format!("{}?", question.trim()),
        options: options.split(',').map(|option| option.trim().to_owned()).collect(),
    }
}

fn failure(argument: &str) -> Failure {
    let (code, times) = argument.split_once(':').unwrap_or((argument, ""));
    let status = u16::try_from(number(code)).unwrap_or(500);
    let times = u32::try_from(number(times)).ok().filter(|times| *times > 0);
    Failure { status, quota: code.trim_end().ends_with('q'), times }
}

fn stream(time: Duration) -> Vec<Beat> {
    let ticks = time.as_millis() / TICK.as_millis();
    let mut beats: Vec<_> = (0..ticks)
        .flat_map(|tick| {
            // Some agents draw a line only when it is complete.
            let end = if tick % 4 == 3 { "\n\n" } else { " " };
            [Beat::Text(format!("tick{tick}{end}")), Beat::Wait(TICK)]
        })
        .collect();
    beats.push(Beat::Text("streamed".to_owned()));
    beats
}

fn thoughts(time: Duration) -> Vec<Beat> {
    let ticks = time.as_millis() / TICK.as_millis();
    let mut beats: Vec<_> =
        (0..ticks).flat_map(|tick| [Beat::Thought(format!("thought {tick}. ")), Beat::Wait(TICK)]).collect();
    beats.push(Beat::Text("thought".to_owned()));
    beats
}

fn used(tool: Tool) -> Reply {
    speak(vec![Beat::Use(tool)])
}

fn speak(beats: Vec<Beat>) -> Reply {
    Reply::Speak { silence: Duration::ZERO, beats }
}

fn number(text: &str) -> u64 {
    let digits: String = text.trim().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn seconds(text: &str) -> Duration {
    Duration::from_secs(number(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_answer_one_request_each() {
        let prompt = "please tool:bash:touch x ;; say:there: it is";
        let shell = Tool::Shell { command: "touch x".to_owned(), background: false, escalate: false };
        assert_eq!(reply(prompt, 0), speak(vec![Beat::Use(shell)]));
        assert_eq!(reply(prompt, 1), say("there: it is"));
        assert_eq!(reply(prompt, 2), say("done"));
    }

    #[test]
    fn words_that_only_look_like_acts_are_echoed() {
        for prompt in ["hello", "essay:x", "say hello", "http://say"] {
            assert_eq!(reply(prompt, 0), say(&format!("echo: {prompt}")), "{prompt}");
        }
    }

    #[test]
    fn the_last_line_with_an_act_counts() {
        assert_eq!(reply("say:one\n\nsay:two\n", 0), say("two"));
    }

    #[test]
    fn failures_say_for_how_long() {
        let failure = |status, quota, times| Reply::Fail(Failure { status, quota, times });
        assert_eq!(reply("error:429", 0), failure(429, false, None));
        assert_eq!(reply("error:500:2", 0), failure(500, false, Some(2)));
        assert_eq!(reply("error:429q", 0), failure(429, true, None));
    }

    #[test]
    fn a_question_brings_its_options() {
        let ask = |question: &str, options: &[&str]| {
            speak(vec![Beat::Use(Tool::Ask {
                question: question.to_owned(),
                options: options.iter().map(|option| (*option).to_owned()).collect(),
            })])
        };
        assert_eq!(reply("ask:Which colour?red, blue", 0), ask("Which colour?", &["red", "blue"]));
        assert_eq!(reply("ask:Go on", 0), ask("Go on?", &["Alpha", "Beta"]));
    }
}
