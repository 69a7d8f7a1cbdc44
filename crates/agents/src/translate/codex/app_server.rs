//! Codex's app server: the status of every thread, as it tells a client that only listens.

use std::collections::BTreeMap;

use agtmux_core::signal::{Blocking, Cause, Outcome, Signal};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::payload::{line, list, text, text_at};
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
    /// It makes a title behind the person's back.
    Hidden,
    Active,
    Waiting,
    Over,
}

impl CodexAppServer {
    /// More threads than a person can have open; the first in order is dropped then and read as if it were new.
    const THREADS: usize = 1_024;

    /// What one message says; none if it is not about a thread that the person sees.
    pub fn message(&mut self, message: &Value) -> Option<ThreadNews> {
        let params = message.get("params")?;
        match text(message, "method")? {
            "thread/started" => {
                let thread = text_at(params, &["thread", "id"])?;
                if params["thread"].get("ephemeral").and_then(Value::as_bool) == Some(true) {
                    self.remember(thread, Thread::Hidden);
                }
                None
            }
            "thread/status/changed" => {
                let thread = text(params, "threadId")?;
                self.status(thread, &params["status"])
            }
            "thread/closed" => {
                let thread = text(params, "threadId")?;
                let hidden = self.threads.remove(thread) == Some(Thread::Hidden);
                (!hidden).then(|| news(thread, vec![Reading::new(Signal::Withdrawn)]))
            }
            _ => None,
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
            Some("idle") => (Thread::Over, vec![Reading::new(Signal::Idle)]),
            Some("systemError") => {
                let outcome = Outcome::Failed { cause: Cause::Reported };
                (Thread::Over, vec![Reading::new(Signal::TurnEnded { outcome })])
            }
            Some("notLoaded") => (Thread::Over, vec![Reading::new(Signal::Withdrawn)]),
            other => {
                let what = format!("thread status {}", other.unwrap_or("without a type"));
                return Some(news(thread, vec![unsupported(&what)]));
            }
        };
        self.remember(thread, now);
        Some(news(thread, readings))
    }

    fn remember(&mut self, thread: &str, state: Thread) {
        self.threads.insert(thread.to_owned(), state);
        if self.threads.len() > Self::THREADS {
            self.threads.pop_first();
        }
    }
}

fn active(before: Option<Thread>, status: &Value) -> (Thread, Vec<Reading>) {
    let flags: Vec<&str> = list(status, "activeFlags").iter().filter_map(Value::as_str).collect();
    let mut readings = Vec::new();
    if !matches!(before, Some(Thread::Active | Thread::Waiting)) {
        readings.push(Reading::new(Signal::TurnStarted));
    }
    if flags.contains(&"waitingOnApproval") {
        let on = Blocking::Approval { subject: None, prompt_hash: None };
        readings.push(Reading::new(Signal::Blocked { on }));
        return (Thread::Waiting, readings);
    }
    if before == Some(Thread::Waiting) {
        readings.push(Reading::new(Signal::Unblocked));
    }
    readings.extend(flags.iter().map(|flag| unsupported(&format!("thread flag {flag}"))));
    (Thread::Active, readings)
}

fn news(thread: &str, readings: Vec<Reading>) -> ThreadNews {
    ThreadNews { thread: line(thread, 200), readings }
}
