//! An agent in a pane, its wrapper, and what it says by its hooks. Nothing here is told to the daemon by itself.

use std::collections::{BTreeMap, VecDeque};

use agtmux_core::event::{Ending, Fact, Place};
use agtmux_core::id::{
    AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId,
};
use agtmux_core::mail::{DeliveryId, MailId};
use agtmux_core::signal::{Claim, Outcome, Signal, SignalEvent, Source};
use agtmux_core::time::Stamp;

use crate::server::Server;

/// What a text begins with that an agent runs, before the id of the message.
pub(crate) const COMMAND: &str = "/run ";

/// What a wrapper is asked, in the order in which it is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Inject { delivery: DeliveryId, body: String },
    Submit { delivery: DeliveryId },
    State { delivery: DeliveryId },
}

/// What it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Accepted,
    Busy,
    Submitted,
    Left,
    Unseen,
    Unfinished,
}

/// How far a wrapper is with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Typed {
    Pasted,
    /// Nobody said in time that it may be submitted.
    Left,
    Submitted,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hook {
    Prompt {
        text: String,
    },
    Stop,
    Interrupted,
    /// No hook: what its record says it was given by one.
    Record {
        text: String,
    },
    /// Nor is this: its server says so to whoever listens.
    Served {
        text: String,
    },
}

/// A hook that its agent waits for. What it prints is given to the agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Waiting {
    /// It tells of a tool, after which the turn goes on anyhow; else of the end of the turn.
    pub(crate) of_tool: bool,
    pub(crate) at: Point,
}

/// How far it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Point {
    /// It has told the daemon, which has not read it.
    Asked,
    /// The daemon has something for it.
    Heard,
    /// The daemon that it has told is gone.
    Alone,
    /// It is gone, and the daemon has not read what it has told.
    Gone,
    /// The answer is in its socket, whether or not the daemon still lives.
    Answered { body: String },
    /// It is over, and what it said then; nothing if it was killed.
    Over { word: Option<Word> },
}

/// The last word of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    PassedOn,
    Left,
}

/// So often in a row an agent goes on because a hook wants that; the next answer it does not read.
const GOES_ON: u8 = 8;

/// The agent in a pane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Agent {
    pub(crate) pane: u32,
    pub(crate) pid: u32,
    pub(crate) is_alive: bool,
    pub(crate) is_wrapped: bool,
    pub(crate) seen: BTreeMap<DeliveryId, Typed>,
    /// What the kernel keeps for the wrapper, whoever wrote it and whether they still live.
    pub(crate) socket: VecDeque<Request>,
    pub(crate) answers: BTreeMap<DeliveryId, Answer>,
    /// Its own server, if it has one.
    pub(crate) server: Option<Server>,
    /// What is in the composer.
    pub(crate) composer: Option<(DeliveryId, String)>,
    /// What a person has left in it, as long as it is there.
    pub(crate) draft: Option<String>,
    /// What they left there, wherever it is now.
    pub(crate) left: Option<String>,
    /// Whether it is at work.
    pub(crate) works: bool,
    /// Whether it reads what its hooks print, the hook that it waits for, and how often in a row it went on because of one.
    pub(crate) reads: bool,
    pub(crate) waiting: Option<Waiting>,
    pub(crate) went_on: u8,
    /// What it says and no daemon has taken yet; hooks outlive daemons in a spool.
    pub(crate) hooks: VecDeque<Hook>,
    /// How often this process was given which message.
    pub(crate) given: BTreeMap<MailId, usize>,
}

impl Agent {
    pub(crate) fn new(pane: u32, pid: u32, is_wrapped: bool) -> Self {
        Self {
            pane,
            pid,
            is_alive: true,
            is_wrapped,
            seen: BTreeMap::new(),
            socket: VecDeque::new(),
            answers: BTreeMap::new(),
            server: None,
            composer: None,
            draft: None,
            left: None,
            works: false,
            reads: false,
            waiting: None,
            went_on: 0,
            hooks: VecDeque::from([Hook::Stop]),
            given: BTreeMap::new(),
        }
    }

    pub(crate) fn runtime(&self) -> RuntimeId {
        runtime_id(self.pane, self.pid)
    }

    /// The wrapper takes the next request. `is_busy`: somebody types. Gives what it pasted.
    pub(crate) fn take(&mut self, is_busy: bool) -> Option<String> {
        let request = self.socket.pop_front()?;
        let (delivery, answer, pasted) = match request {
            Request::Inject { delivery, body } => match self.seen.get(&delivery) {
                Some(Typed::Submitted) => (delivery, Answer::Submitted, None),
                Some(_) => (delivery, Answer::Unfinished, None),
                None if is_busy || self.composer.is_some() || self.draft.is_some() => (delivery, Answer::Busy, None),
                None => {
                    self.seen.insert(delivery.clone(), Typed::Pasted);
                    self.composer = Some((delivery.clone(), body.clone()));
                    (delivery, Answer::Accepted, Some(body))
                }
            },
            Request::Submit { delivery } => match self.seen.get(&delivery) {
                Some(Typed::Pasted) => {
                    self.seen.insert(delivery.clone(), Typed::Submitted);
                    self.enter();
                    (delivery, Answer::Submitted, None)
                }
                Some(Typed::Submitted) => (delivery, Answer::Submitted, None),
                Some(Typed::Left) | None => (delivery, Answer::Left, None),
            },
            Request::State { delivery } => {
                let answer = match self.seen.get(&delivery) {
                    None => Answer::Unseen,
                    Some(Typed::Submitted) => Answer::Submitted,
                    Some(Typed::Pasted | Typed::Left) => Answer::Unfinished,
                };
                (delivery, answer, None)
            }
        };
        self.answers.insert(delivery, answer);
        pasted
    }

    /// Whatever is in the composer is given to the agent.
    pub(crate) fn enter(&mut self) {
        let Some((_, text)) = self.composer.take() else { return };
        self.give(&text);
        if self.server.is_some() {
            self.keep(text);
        } else {
            self.hooks.push_back(Hook::Prompt { text });
        }
    }

    /// What it has before it, or has been given and not told yet.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let told = self.hooks.iter().filter_map(|hook| match hook {
            Hook::Prompt { text } | Hook::Record { text } | Hook::Served { text } => Some(text),
            Hook::Stop | Hook::Interrupted => None,
        });
        self.composer.iter().map(|(_, text)| text).chain(told).map(String::as_str)
    }

    pub(crate) fn give(&mut self, text: &str) {
        ids_in(text).for_each(|id| *self.given.entry(id).or_default() += 1);
        self.works = true;
    }

    /// A person gives it something to do.
    pub(crate) fn work(&mut self, text: String) {
        (self.works, self.went_on) = (true, 0);
        self.hooks.push_back(Hook::Prompt { text });
    }

    /// It ends its turn; whoever is told of it hears it later.
    pub(crate) fn rest(&mut self) {
        (self.works, self.went_on) = (false, 0);
        self.hooks.push_back(Hook::Stop);
    }

    /// Its turn is interrupted, which no hook tells; its record does.
    pub(crate) fn interrupt(&mut self) {
        (self.works, self.went_on) = (false, 0);
        self.hooks.push_back(Hook::Interrupted);
    }

    /// It runs a hook and waits for it.
    pub(crate) fn ask(&mut self, of_tool: bool) {
        self.waiting = Some(Waiting { of_tool, at: Point::Asked });
    }

    /// The hook prints what it was given, and says so unless it is killed before. Gives what the agent has read of it.
    pub(crate) fn pass_on(&mut self, word: Option<Word>) -> Option<String> {
        let Some(Waiting { of_tool, at: Point::Answered { body } }) = self.waiting.take() else { return None };
        self.waiting = Some(Waiting { of_tool, at: Point::Over { word } });
        self.went_on += u8::from(!of_tool);
        if self.went_on > GOES_ON {
            self.rest();
            return None;
        }
        self.give(&body);
        self.hooks.push_back(Hook::Record { text: body.clone() });
        Some(body)
    }

    /// The hook waits no more and has printed nothing. What it came to tell is told by the spool; or it was killed, as somebody who
    /// interrupts the agent does.
    pub(crate) fn give_up(&mut self, word: Option<Word>) {
        let Some(Waiting { of_tool, at }) = self.waiting.take() else { return };
        let at = if at == Point::Asked { Point::Gone } else { Point::Over { word } };
        self.waiting = Some(Waiting { of_tool, at });
        if of_tool {
            return;
        }
        match word {
            Some(_) => self.rest(),
            None => self.interrupt(),
        }
    }

    /// What a hook of this agent makes of the log.
    pub(crate) fn signal(&self, hook: &Hook, number: u64, now: i64) -> Option<Fact> {
        let signal = match hook {
            Hook::Prompt { .. } | Hook::Served { .. } => Signal::TurnStarted,
            Hook::Stop => Signal::TurnEnded { outcome: Outcome::Done },
            Hook::Interrupted => Signal::TurnEnded { outcome: Outcome::Interrupted },
            Hook::Record { .. } => return None,
        };
        let claim = Claim {
            target: TargetName::local(),
            runtime: Some(self.runtime()),
            pane: None,
            process: None,
            ancestors: None,
        };
        Some(Fact::Signal(Box::new(SignalEvent {
            event_id: EventId::new(format!("ev_{number}")),
            source: Source::Hook,
            source_event_id: None,
            dedupe_key: format!("{number}"),
            source_seq: None,
            emitted: Stamp { boot: BootId::new("boot"), ns: now.unsigned_abs() * 1_000_000 },
            event_time: None,
            claim,
            signal,
            message: None,
            payload: None,
        })))
    }
}

/// The messages that a typed text holds, by looking at its lines alone.
pub(crate) fn ids_in(text: &str) -> impl Iterator<Item = MailId> {
    let enveloped = |line: &str| MailId::parse(line.strip_prefix('[')?.rsplit_once("id=")?.1.split_once('.')?.0);
    let bare = text.strip_prefix(COMMAND).and_then(MailId::parse);
    text.lines().filter_map(enveloped).chain(bare)
}

/// Whether a typed text is one that the agent runs.
pub(crate) fn is_command(text: &str) -> bool {
    text.strip_prefix(COMMAND).is_some_and(|id| MailId::parse(id).is_some())
}

pub(crate) fn runtime_id(pane: u32, pid: u32) -> RuntimeId {
    RuntimeId::derive(&pane_key(pane), &BootId::new("boot"), process(pid), &AgentId::new("claude"))
}

fn process(pid: u32) -> ProcessKey {
    ProcessKey { pid, start: u64::from(pid) }
}

fn server() -> ServerId {
    ServerId::derive(&TargetName::local(), "/tmp/tmux", 1, 0)
}

fn pane_key(pane: u32) -> PaneKey {
    PaneKey { server: server(), pane: PaneId(pane) }
}

pub(crate) fn server_seen() -> Fact {
    let target = TargetName::local();
    Fact::ServerSeen { server: server(), target, socket: "/tmp/tmux".to_owned(), pid: 1, start_time: 0 }
}

pub(crate) fn placed(pane: u32) -> Fact {
    let place = Place {
        session: SessionId(0),
        session_name: "main".to_owned(),
        window: WindowId(0),
        window_index: 0,
        window_name: "work".to_owned(),
        pane_index: pane,
    };
    Fact::PanePlaced { pane: pane_key(pane), place }
}

pub(crate) fn started(pane: u32, pid: u32) -> Fact {
    Fact::RuntimeStarted {
        runtime: runtime_id(pane, pid),
        pane: pane_key(pane),
        agent: AgentId::new("claude"),
        boot: BootId::new("boot"),
        process: process(pid),
        why: "comm".to_owned(),
    }
}

pub(crate) fn ended(pane: u32, pid: u32) -> Fact {
    Fact::RuntimeEnded { runtime: runtime_id(pane, pid), how: Ending::Exited }
}
