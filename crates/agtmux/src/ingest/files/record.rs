//! The records that agents keep of their conversations. Hooks and session files say what goes on; records say how it
//! ended: that it was interrupted, or failed and why.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agtmux_agents::Reading;
use agtmux_agents::transcript;
use agtmux_agents::translate::{CopilotEvents, claude_transcript_line, codex_rollout_line, gemini_transcript_line};
use agtmux_core::mail::may_hold_receipts;
use agtmux_core::signal::Source;
use agtmux_core::time::Timestamp;
use serde_json::Value;

use super::journal::{Entry, Interpret, Journal, time_of};
use super::located::{Located, Refused};
use super::trace::{News, Place, Trace};
use crate::daemon::roster::{Conversation, Member};
use crate::ingest::servers::own_processes;
use crate::platform;
use crate::target::manifests::Manifests;

/// How many sessions of Copilot are looked through for the one that a process uses.
const SESSIONS: usize = 1_024;

/// How many of the youngest sessions of Copilot are watched for a process to take them in use.
const YOUNG: usize = 4;

/// Whose record it is, which says where it is and how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    Claude,
    Codex,
    Copilot,
    Gemini,
}

/// The record of a runtime's conversation, once it is known where that is.
pub(super) struct Record {
    keeper: Keeper,
    /// The directory below which the agent keeps its records.
    config: PathBuf,
    manifests: Manifests,
    journal: Option<Journal>,
    /// When the runtime's state was last known to change, and which record it was told of, at the last search through open
    /// files. A record is opened when a turn begins, so that there is no use in searching again before something happens.
    searched_for: Option<(Timestamp, Option<PathBuf>)>,
    /// The lock by which a process of the runtime holds a session of Copilot.
    lock: Option<PathBuf>,
    /// Sessions that a process may be about to take in use.
    young: Vec<PathBuf>,
}

impl Keeper {
    /// The keeper of an agent's records, with the variable that may name its directory and where that usually is.
    pub(super) fn of(agent: &str) -> Option<(Self, Option<&'static str>, &'static str)> {
        match agent {
            "claude" => Some((Self::Claude, Some("CLAUDE_CONFIG_DIR"), ".claude")),
            "codex" => Some((Self::Codex, Some("CODEX_HOME"), ".codex")),
            "copilot" => Some((Self::Copilot, None, ".copilot")),
            "gemini" => Some((Self::Gemini, None, ".gemini")),
            _ => None,
        }
    }

    fn interpreter(self) -> Interpret {
        match self {
            Self::Claude => Box::new(move |line| self.entry(line, claude_transcript_line)),
            Self::Codex => Box::new(move |line| self.entry(line, codex_rollout_line)),
            Self::Gemini => Box::new(move |line| self.entry(line, gemini_transcript_line)),
            Self::Copilot => {
                let mut events = CopilotEvents::default();
                Box::new(move |line| self.entry(line, |line| events.line(line)))
            }
        }
    }

    /// What one line says. Records hold much that says nothing; what is no JSON is a line in the middle of being written.
    fn entry(self, text: &str, mut meaning: impl FnMut(&Value) -> Vec<Reading>) -> Entry {
        let Ok(line) = serde_json::from_str::<Value>(text) else {
            return Entry::default();
        };
        let time = match &line["timestamp"] {
            Value::String(text) => time_of(text),
            Value::Number(number) => time_of(&number.to_string()),
            _ => None,
        };
        let given = if may_hold_receipts(text) { transcript::given(self.agent(), &line) } else { Vec::new() };
        Entry { readings: meaning(&line), given, session: None, time }
    }

    const fn agent(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
        }
    }
}

impl Record {
    pub(super) fn new(keeper: Keeper, config: PathBuf, manifests: Manifests) -> Self {
        Self { keeper, config, manifests, journal: None, searched_for: None, lock: None, young: Vec::new() }
    }

    /// Where the record is now, unless that is known: where a hook said, by the name of the session, among the open
    /// files, or where the process that keeps it has marked it.
    fn find(&mut self, member: &Member) -> Option<PathBuf> {
        let told = member.conversation.as_ref().and_then(|conversation| conversation.transcript.clone());
        match self.keeper {
            Keeper::Claude => told.or_else(|| self.transcript_of_session(member)),
            Keeper::Gemini => told,
            Keeper::Codex => self.open_rollout(member, told),
            Keeper::Copilot if self.lock.as_ref().is_some_and(|lock| lock.exists()) => None,
            Keeper::Copilot => self.session_in_use(member).map(|dir| dir.join("events.jsonl")),
        }
    }

    /// The transcript that is named after the conversation, in one of the directories that Claude keeps by project.
    fn transcript_of_session(&self, member: &Member) -> Option<PathBuf> {
        let name = format!("{}.jsonl", member.conversation.as_ref()?.session.as_ref()?);
        let is_known = |journal: &Journal| journal.path().file_name().is_some_and(|known| known == name.as_str());
        if name.contains('/') || self.journal.as_ref().is_some_and(is_known) {
            return None;
        }
        let projects = fs::read_dir(self.config.join("projects")).ok()?;
        projects.flatten().take(SESSIONS).map(|project| project.path().join(&name)).find(|path| path.exists())
    }

    /// The rollout that the runtime has open: that of which it was told, else any. One that is open in a server that several
    /// agents share is none of them; the server tells itself what goes on.
    fn open_rollout(&mut self, member: &Member, told: Option<PathBuf>) -> Option<PathBuf> {
        let is_followed = |path: &PathBuf| self.journal.as_ref().is_some_and(|journal| journal.path() == path);
        if told.as_ref().map_or(self.journal.is_some(), is_followed) {
            return None;
        }
        let search = Some((member.verdict.since, told.clone()));
        if self.searched_for == search {
            return None;
        }
        self.searched_for = search;
        let sessions = self.config.join("sessions");
        let is_rollout = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            path.starts_with(&sessions) && name.starts_with("rollout-") && name.ends_with(".jsonl")
        };
        let mut open = self.processes(member).into_iter().flat_map(platform::open_files);
        match told {
            // The way to it may lead through links; its name is its own.
            Some(told) => open.any(|path| path.file_name() == told.file_name()).then_some(told),
            None => open.find(is_rollout),
        }
    }

    /// The session of Copilot that holds a lock in the name of the runtime's process, or of one below it.
    fn session_in_use(&mut self, member: &Member) -> Option<PathBuf> {
        let age =
            |path: &PathBuf| fs::metadata(path).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
        let entries = fs::read_dir(self.config.join("session-state")).ok()?;
        let mut sessions: Vec<_> = entries.flatten().take(SESSIONS).map(|entry| entry.path()).collect();
        sessions.sort_by_key(|session| std::cmp::Reverse(age(session)));
        self.young = sessions.iter().take(YOUNG).cloned().collect();
        let locks: Vec<_> = self.processes(member).into_iter().map(|pid| format!("inuse.{pid}.lock")).collect();
        let mut held = sessions.iter().flat_map(|session| locks.iter().map(|lock| session.join(lock)));
        self.lock = held.find(|lock| lock.exists());
        self.lock.as_ref().and_then(|lock| lock.parent()).map(Path::to_owned)
    }

    /// The runtime's own processes: a launcher may stand for the agent.
    fn processes(&self, member: &Member) -> Vec<u32> {
        own_processes(&self.manifests.now(), member).into_iter().map(|process| process.pid).collect()
    }

    fn follow(&mut self, path: &Path, member: &Member, news: &mut News) {
        if self.journal.as_ref().is_some_and(|journal| journal.path() == path) {
            return;
        }
        // Hooks are told by whoever runs them; a record is read only where the agent keeps its records.
        let Ok(below) = path.strip_prefix(&self.config) else {
            return;
        };
        let file = Located::below(&self.config, below);
        self.journal = Some(Journal::new(Source::VendorFile, file, self.keeper.interpreter()));
        if let Some(session) = path.parent().and_then(Path::file_name).filter(|_| self.keeper == Keeper::Copilot) {
            let session = Some(session.to_string_lossy().into_owned());
            news.converse(
                member,
                Conversation { session, transcript: Some(path.to_owned()), ..Conversation::default() },
            );
        }
    }
}

impl Trace for Record {
    fn places(&self) -> Vec<Place> {
        let journal = self.journal.iter().filter_map(|journal| Place::file(journal.path()));
        let young = self.young.iter().cloned().map(Place::all_of);
        let sessions = (self.keeper == Keeper::Copilot).then(|| Place::all_of(self.config.join("session-state")));
        journal.chain(young).chain(sessions).collect()
    }

    fn look(&mut self, member: &Member, news: &mut News) -> bool {
        if let Some(path) = self.find(member) {
            self.follow(&path, member, news);
        }
        let Some(journal) = &mut self.journal else {
            return false;
        };
        match journal.look(member, news) {
            Ok(has_more) => has_more,
            Err(Refused::Missing) => false,
            Err(why) => {
                tracing::debug!(path = %journal.path().display(), %why, "a record is not read");
                false
            }
        }
    }

    /// Which conversation it is may change, or be told, at any time.
    fn is_searching(&self) -> bool {
        true
    }

    fn kept(&self) -> Option<&Path> {
        self.journal.as_ref().map(|journal| journal.path().as_path())
    }
}
