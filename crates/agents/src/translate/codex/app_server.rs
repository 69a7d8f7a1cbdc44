//! Codex's app server: the status of every thread, as it tells a client that only listens.

use std::collections::BTreeMap;

use agtmux_core::signal::{Blocking, Cause, InputKind, Outcome, Signal};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::payload::{line, list, text};
use crate::translate::unsupported;

/// Reads the messages of one server in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct CodexAppServer {
    threads: BTreeMap<String, Thread>,
}

/// What a message says about one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadNews {
    /// The thread, which is the session of the hooks.
    pub thread: String,
    /// What is so, in order.
    pub readings: Vec<Reading>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    /// It makes a title behind the person's back, or is a subagent's.
    Hidden,
    Active,
    WaitsForApproval,
    WaitsForAnswer,
    Idle,
    Failed,
}

impl CodexAppServer {
    /// More threads than a person can have open; the first in order is dropped then and read as if it were new.
    const THREADS: usize = 1_024;

    /// What one message says; none if it is not about a thread that the person sees.
    pub fn message(&mut self, message: &Value) -> Option<ThreadNews> {
        let params = message.get("params")?;
        match text(message, "method")? {
            "thread/started" => {
                self.thread(&params["thread"]);
                None
            }
            "thread/status/changed" => {
                let thread = text(params, "threadId")?;
                self.status(thread, &params["status"])
            }
            "thread/closed" => self.unloaded(text(params, "threadId")?),
            _ => None,
        }
    }

    /// Takes a thread as the server describes it when asked, or when it starts.
    pub fn thread(&mut self, thread: &Value) {
        let Some(id) = text(thread, "id") else {
            return;
        };
        let is_ephemeral = thread.get("ephemeral").and_then(Value::as_bool) == Some(true);
        if is_ephemeral || text(thread, "parentThreadId").is_some() {
            self.remember(id, Thread::Hidden);
        } else {
            self.status(id, &thread["status"]);
        }
    }

    /// The threads that a person sees somewhere, and whether a turn is under way in each.
    pub fn threads(&self) -> BTreeMap<String, bool> {
        let is_active = |thread: &Thread| !matches!(thread, Thread::Idle | Thread::Failed);
        let seen = self.threads.iter().filter(|(_, thread)| **thread != Thread::Hidden);
        seen.map(|(id, thread)| (id.clone(), is_active(thread))).collect()
    }

    /// How a thread stands, for somebody who has heard nothing of it.
    pub fn standing(&self, thread: &str) -> Vec<Reading> {
        match self.threads.get(thread) {
            Some(thread @ (Thread::Active | Thread::WaitsForApproval | Thread::WaitsForAnswer)) => {
                [Some(Reading::new(Signal::TurnStarted)), thread.blocked()].into_iter().flatten().collect()
            }
            Some(Thread::Idle) => vec![Reading::new(Signal::Idle)],
            Some(Thread::Failed) => vec![failed()],
            Some(Thread::Hidden) | None => Vec::new(),
        }
    }

    fn status(&mut self, thread: &str, status: &Value) -> Option<ThreadNews> {
        let before = self.threads.get(thread).copied();
        if before == Some(Thread::Hidden) {
            return None;
        }
        let (now, readings) = match text(status, "type") {
            Some("active") => active(before, status),
            // Done, interrupted and refused all look like this.
            Some("idle") => (Thread::Idle, vec![Reading::new(Signal::Idle)]),
            Some("systemError") => (Thread::Failed, vec![failed()]),
            Some("notLoaded") => return self.unloaded(thread),
            other => {
                let what = format!("thread status {}", other.unwrap_or("without a type"));
                return Some(news(thread, vec![unsupported(&what)]));
            }
        };
        self.remember(thread, now);
        Some(news(thread, readings))
    }

    /// Nobody has it open any more.
    fn unloaded(&mut self, thread: &str) -> Option<ThreadNews> {
        let was_seen = self.threads.remove(thread)? != Thread::Hidden;
        was_seen.then(|| news(thread, vec![Reading::new(Signal::Withdrawn)]))
    }

    fn remember(&mut self, thread: &str, state: Thread) {
        self.threads.insert(thread.to_owned(), state);
        if self.threads.len() > Self::THREADS {
            self.threads.pop_first();
        }
    }
}

/// The texts that an item of a thread says were given in a person's place.
pub fn codex_given(item: &Value) -> Vec<String> {
    let item = &item["item"];
    let content = if text(item, "type") == Some("userMessage") { list(item, "content") } else { &[] };
    let written = content.iter().filter(|part| text(part, "type") == Some("text"));
    written.filter_map(|part| text(part, "text")).map(str::to_owned).collect()
}

impl Thread {
    /// What it waits for.
    fn blocked(self) -> Option<Reading> {
        let on = match self {
            Self::WaitsForApproval => Blocking::Approval { subject: None, prompt_hash: None },
            Self::WaitsForAnswer => Blocking::Input { kind: InputKind::Question },
            Self::Hidden | Self::Active | Self::Idle | Self::Failed => return None,
        };
        Some(Reading::new(Signal::Blocked { on }))
    }
}

fn active(before: Option<Thread>, status: &Value) -> (Thread, Vec<Reading>) {
    let flags: Vec<&str> = list(status, "activeFlags").iter().filter_map(Value::as_str).collect();
    let mut readings = Vec::new();
    if !matches!(before, Some(Thread::Active | Thread::WaitsForApproval | Thread::WaitsForAnswer)) {
        readings.push(Reading::new(Signal::TurnStarted));
    }
    let now = if flags.contains(&"waitingOnApproval") {
        Thread::WaitsForApproval
    } else if flags.contains(&"waitingOnUserInput") {
        Thread::WaitsForAnswer
    } else {
        Thread::Active
    };
    if let Some(blocked) = now.blocked() {
        readings.push(blocked);
        return (now, readings);
    }
    if matches!(before, Some(Thread::WaitsForApproval | Thread::WaitsForAnswer)) {
        readings.push(Reading::new(Signal::Unblocked));
    }
    readings.extend(flags.iter().map(|flag| unsupported(&format!("thread flag {flag}"))));
    (now, readings)
}

fn failed() -> Reading {
    let outcome = Outcome::Failed { cause: Cause::Reported };
    Reading::new(Signal::TurnEnded { outcome })
}

fn news(thread: &str, readings: Vec<Reading>) -> ThreadNews {
    ThreadNews { thread: line(thread, 200), readings }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::codex_given;

    #[test]
    fn only_what_stands_in_the_persons_place_was_given() {
        let content = json!([{"type": "text", "text": "hello"}, {"type": "mention", "text": "x", "name": "a"}]);
        let of = |kind: &str| {
            codex_given(&json!({"turnId": "t", "item": {"type": kind, "content": content, "text": "hello"}}))
        };
        assert_eq!(of("userMessage"), ["hello"]);
        for other in ["agentMessage", "functionCallOutput", "hookPrompt", ""] {
            assert!(of(other).is_empty(), "{other}");
        }
    }
}
