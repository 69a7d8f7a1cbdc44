//! What the structured traces of each agent mean: hook payloads, the records that vendors write, and the signs in a
//! pane's stream.
//!
//! Names of events are those that the real programs were seen to use. A name that is not known is one
//! [`Signal::Unsupported`] reading: logged, and no state moves. The same goes for a payload that lacks what its event
//! always has, so that garbage never makes an agent look busy (I10).
//!
//! Hooks tell only half the story: most agents say nothing when a person presses Escape, and none that has no id for
//! its requests says which of two it goes on after. [`Translator`] therefore remembers a little of each conversation.

mod asks;
mod cause;
mod claude;
mod codex;
mod conversation;
mod copilot;
mod cursor;
mod gemini;
mod opencode;
mod payload;
mod signs;

use std::collections::BTreeMap;

use agtmux_core::id::RuntimeId;
use agtmux_core::signal::Signal;
use serde_json::Value;

use crate::capabilities::HooksTell;
use crate::reading::Reading;
pub use claude::session_file::{SessionRecord, claude_session_file};
pub use claude::transcript::claude_transcript_line;
pub use codex::app_server::{CodexAppServer, ThreadNews, codex_given};
pub use codex::clients::{CodexClients, Connected, Moment};
pub use codex::rollout::codex_rollout_line;
use conversation::Conversation;
pub use copilot::events::CopilotEvents;
pub use gemini::transcript::gemini_transcript_line;
pub use opencode::{OpencodePrompts, opencode_shows, opencode_standing};
pub use signs::{Sign, SignRule, Signs};

/// What a hook, notify or plugin payload says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// The event's name, such as `PreToolUse`; empty when there was none.
    pub event: String,
    /// What it says, in order. Empty for an event that says nothing about the state.
    pub readings: Vec<Reading>,
    /// The agent's own id of the conversation that the person sees.
    pub session: Option<String>,
    /// The file that holds the conversation.
    pub transcript: Option<String>,
    /// Why the event is not about the conversation that the person sees, if it is not. It then has no readings, and
    /// its session must not be taken for that of the pane.
    pub foreign: Option<&'static str>,
}

/// What the hooks of an agent tell; none for an agent whose hooks are not understood.
pub fn hooks_tell(agent: &str) -> Option<HooksTell> {
    let all = HooksTell { approval: true, input: true, completed: true };
    Some(match agent {
        "claude" | "codex" | "copilot" | "opencode" => all,
        // The hook at the end of a turn does not say how it ended.
        "gemini" => HooksTell { completed: false, ..all },
        // The hooks before a command run before it is decided whether the person is asked.
        "cursor" => HooksTell { approval: false, input: false, ..all },
        _ => return None,
    })
}

/// What one payload means, as if nothing had been said before it. Where payloads come one after another, a
/// [`Translator`] reads them better.
pub fn hook(agent: &str, event: Option<&str>, payload: &Value) -> Translation {
    Translator::default().hook(agent, event, payload)
}

/// Reads the hooks of all conversations in the order in which they were said, and remembers what the meaning of the
/// next one depends on: open requests above all. After a restart it knows nothing, and is then as good as [`hook`].
#[derive(Clone, Debug, Default)]
pub struct Translator {
    /// Each with the time it was last heard of. Most have nothing that must be remembered.
    conversations: BTreeMap<Place, (u64, Conversation)>,
    clock: u64,
}

/// One conversation as one agent has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    agent: String,
    session: String,
    /// Two agents may be in the same conversation, and what one is asked the other is not.
    runtime: Option<RuntimeId>,
}

impl Translator {
    /// A killed agent never says that its conversation is over, so the one not heard of for longest is forgotten.
    const CONVERSATIONS: usize = 1_024;

    /// What one payload means. `event` is the name that the hook was installed for, where the payload has none.
    pub fn hook(&mut self, agent: &str, event: Option<&str>, payload: &Value) -> Translation {
        self.hook_of(None, agent, event, payload)
    }

    /// What one payload means that is of this runtime, as far as that is known already.
    pub fn hook_of(
        &mut self,
        runtime: Option<&RuntimeId>,
        agent: &str,
        event: Option<&str>,
        payload: &Value,
    ) -> Translation {
        let (about, meaning): (_, Meaning) = match agent {
            "claude" => (claude::about(event, payload), claude::hook),
            "codex" => (codex::about(event, payload), codex::hook),
            "copilot" => (copilot::about(event, payload), copilot::hook),
            "cursor" => (cursor::about(event, payload), cursor::hook),
            "gemini" => (gemini::about(event, payload), gemini::hook),
            "opencode" => (opencode::about(event, payload), opencode::hook),
            _ => return unread(event, &format!("no rules for hooks of {agent}")),
        };
        self.told(runtime, agent, about, meaning)
    }

    /// What it means that a hook's question was answered by the hook itself: no other event tells of that.
    pub fn answered(&mut self, runtime: &RuntimeId, agent: &str, payload: &Value) -> Vec<Reading> {
        match agent {
            "claude" => self.told(Some(runtime), agent, claude::about(None, payload), claude::answered).readings,
            _ => Vec::new(),
        }
    }

    fn told(&mut self, runtime: Option<&RuntimeId>, agent: &str, about: About<'_>, meaning: Meaning) -> Translation {
        let session = payload::line(about.session.unwrap_or_default(), 200);
        let place = Place { agent: agent.to_owned(), session, runtime: runtime.cloned() };
        // What was said before the agent was found.
        let unowned = Place { runtime: None, ..place.clone() };
        let known = self.conversations.remove(&place).or_else(|| self.conversations.remove(&unowned));
        let (_, mut conversation) = known.unwrap_or_default();
        let told = meaning(&about, &mut conversation);
        let session = about.session.filter(|_| !conversation.below);
        if conversation != Conversation::default() {
            self.clock += 1;
            self.conversations.insert(place, (self.clock, conversation));
            self.forget_the_oldest();
        }
        let (readings, foreign) = match told {
            Told::Means(readings) => (readings, None),
            Told::Foreign(why) => (Vec::new(), Some(why)),
            Told::Unread(what) => (vec![unsupported(&what)], None),
        };
        Translation {
            event: payload::line(about.event, 80),
            readings,
            session: session.map(|session| payload::line(session, 200)),
            transcript: about.transcript.map(str::to_owned),
            foreign,
        }
    }

    fn forget_the_oldest(&mut self) {
        if self.conversations.len() > Self::CONVERSATIONS {
            let oldest = self.conversations.iter().min_by_key(|(_, (heard, _))| *heard).map(|(place, _)| place.clone());
            if let Some(oldest) = oldest {
                self.conversations.remove(&oldest);
            }
        }
    }
}

/// A payload with what is found in the same way for all events of an agent.
#[derive(Clone, Copy, Debug)]
struct About<'a> {
    event: &'a str,
    payload: &'a Value,
    session: Option<&'a str>,
    transcript: Option<&'a str>,
}

/// What an agent's rules make of a payload.
#[derive(Clone, Debug)]
enum Told {
    /// This, in order; nothing for an event that is known and says nothing about the state.
    Means(Vec<Reading>),
    /// It is not about the conversation that the person sees.
    Foreign(&'static str),
    /// No rule understands it.
    Unread(String),
}

type Meaning = fn(&About<'_>, &mut Conversation) -> Told;

impl Told {
    /// An event that is known and says nothing about the state.
    const NOTHING: Self = Self::Means(Vec::new());

    fn one(signal: Signal) -> Self {
        Self::Means(vec![Reading::new(signal)])
    }
}

fn unread(event: Option<&str>, what: &str) -> Translation {
    Translation {
        event: event.map(|event| payload::line(event, 80)).unwrap_or_default(),
        readings: vec![unsupported(what)],
        ..Translation::default()
    }
}

/// A trace that no rule understands, shortened.
fn unsupported(what: &str) -> Reading {
    Reading::new(Signal::Unsupported { what: payload::line(what, 200) })
}

#[cfg(test)]
mod tests {
    use agtmux_core::id::RuntimeId;
    use agtmux_core::signal::{Blocking, InputKind, Outcome, Signal, Work};
    use serde_json::{Value, json};

    use super::Translator;
    use crate::reading::Reading;

    /// A reading as a line of text.
    pub(crate) fn render(reading: &Reading) -> String {
        let signal = match &reading.signal {
            Signal::TurnEnded { outcome: Outcome::Failed { cause } } => format!("turn_ended failed {}", cause.name()),
            Signal::TurnEnded { outcome } => format!("turn_ended {outcome:?}").to_lowercase(),
            Signal::Blocked { on: Blocking::Approval { subject, .. } } => {
                format!("blocked on approval of {}", subject.as_deref().unwrap_or("something"))
            }
            Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } } => "blocked on question".to_owned(),
            Signal::Working { with: Work::Tool { name } } => format!("working on tool {name}"),
            Signal::TurnStarted => "turn_started".to_owned(),
            Signal::Unblocked => "unblocked".to_owned(),
            Signal::WorkEnded => "work_ended".to_owned(),
            other => format!("{other:?}"),
        };
        let message = reading.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        let key = reading.key.as_ref().map(|key| format!("  [{key}]")).unwrap_or_default();
        format!("{signal}{message}{key}")
    }

    #[test]
    fn the_end_of_a_tool_answers_the_request_for_that_tool_alone() {
        let mut translator = Translator::default();
        let mut say = |event: &str, tool: &str, of: &str| {
            let input = json!({"command": of});
            let payload = json!({"session_id": "s", "hook_event_name": event, "tool_name": tool, "tool_input": input});
            let told = translator.hook("claude", None, &payload).readings;
            told.iter().map(render).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(say("PermissionRequest", "Bash", "a"), "blocked on approval of Bash: a");
        assert_eq!(say("PostToolUse", "Read", "b"), "work_ended", "a tool beside it");
        assert_eq!(say("PermissionRequest", "Bash", "c"), "blocked on approval of Bash: c");
        assert_eq!(
            say("PostToolUse", "Bash", "c"),
            "unblocked, blocked on approval of Bash: a, work_ended",
            "the other request is still open"
        );
        assert_eq!(say("PostToolUse", "Bash", "a"), "unblocked, work_ended");
        assert!(translator.conversations.is_empty(), "nothing is left to remember");
    }

    /// Older versions of Codex tell of an approval by their notify command alone.
    #[test]
    fn codex_asks_by_its_notify_command_where_no_hook_is_heard() {
        let asked = json!({"type": "approval-requested", "thread-id": "t", "turn-id": "1", "command": ["touch", "x"]});
        let mut translator = Translator::default();
        let mut say =
            |payload: &Value| translator.hook("codex", None, payload).readings.iter().map(render).collect::<Vec<_>>();
        assert_eq!(say(&asked), ["blocked on approval of touch x  [approval-requested/1]"]);
        assert_eq!(say(&json!({"type": "approval-requested", "thread-id": "t"})), ["blocked on approval of something"]);
        say(&json!({"hook_event_name": "UserPromptSubmit", "session_id": "t", "turn_id": "2", "prompt": "p"}));
        assert!(say(&asked).is_empty(), "the hook PermissionRequest asks itself");
    }

    /// Recorded: a prompt that is typed during a turn has the name of that turn, and the turn that it begins is silent.
    #[test]
    fn the_end_of_a_turn_for_which_a_prompt_waits_is_the_beginning_of_the_next() {
        let mut translator = Translator::default();
        let mut say = |event: &str, turn: &str| {
            let payload = json!({"session_id": "s", "hook_event_name": event, "prompt_id": turn, "prompt": "p",
                "tool_name": "Read", "tool_input": {}});
            let told = translator.hook("claude", None, &payload).readings;
            told.iter()
                .map(|reading| render(reading).split(' ').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        say("UserPromptSubmit", "a");
        say("UserPromptSubmit", "a");
        assert_eq!(say("Stop", "a")[0], "turn_started");
        assert_eq!(say("Stop", "b")[0], "turn_ended", "that of the queued prompt");
        say("UserPromptSubmit", "c");
        say("UserPromptSubmit", "c");
        say("PostToolUse", "c");
        assert_eq!(say("Stop", "c")[0], "turn_ended", "it joined the turn");
        say("UserPromptSubmit", "d");
        say("UserPromptSubmit", "d");
        assert_eq!(say("Stop", "e")[0], "turn_ended", "after Escape the queued turn began by itself");
        say("UserPromptSubmit", "f");
        assert_eq!(say("Stop", "f")[0], "turn_ended");
    }

    #[test]
    fn two_agents_in_one_conversation_are_asked_each_for_themselves() {
        let mut translator = Translator::default();
        let mut say = |runtime: Option<&str>, event: &str, of: &str| {
            let runtime = runtime.map(RuntimeId::new);
            let input = json!({"command": of});
            let payload =
                json!({"session_id": "s", "hook_event_name": event, "tool_name": "Bash", "tool_input": input});
            let told = translator.hook_of(runtime.as_ref(), "claude", None, &payload).readings;
            told.iter().map(render).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(say(None, "PermissionRequest", "a"), "blocked on approval of Bash: a", "not found yet");
        assert_eq!(say(Some("rt_1"), "PostToolUse", "b"), "work_ended");
        assert_eq!(say(Some("rt_2"), "PermissionRequest", "c"), "blocked on approval of Bash: c");
        assert_eq!(
            say(Some("rt_2"), "PostToolUse", "c"),
            "unblocked, work_ended",
            "what the other is asked is not open"
        );
        assert_eq!(say(Some("rt_1"), "PostToolUse", "a"), "unblocked, work_ended");
    }

    #[test]
    fn memory_is_bounded() {
        let mut translator = Translator::default();
        for session in 0..3 * Translator::CONVERSATIONS {
            let payload = json!({"session_id": session.to_string(), "tool_name": "Bash"});
            translator.hook("claude", Some("PermissionRequest"), &payload);
        }
        assert_eq!(translator.conversations.len(), Translator::CONVERSATIONS);
    }
}
