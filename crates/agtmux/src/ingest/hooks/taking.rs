//! From one hook to the log: what it means, whose it is, and whether it is there.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use agtmux_agents::answer;
use agtmux_agents::translate::{self, Translation};
use agtmux_agents::{Reading, Registry};
use agtmux_core::id::{ProcessKey, RuntimeId, TargetName};
use agtmux_core::mail::{Receipt, may_hold_receipts};
use agtmux_core::signal::{Claim, Signal, Source};
use agtmux_tmux::server;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::hook::HookHead;
use futures_util::future;
use serde_json::Value;

use super::Hooks;
use super::held::Question;
use super::mailing::Mailing;
use super::owner::{self, Owner, Passage, Sender, Witness};
use super::recent::Progress;
use super::turns::TurnName;
use crate::daemon::Handle;
use crate::daemon::roster::{Conversation, Member, Roster};
use crate::daemon::said::Said;
use crate::daemon::world::LOCAL;
use crate::error::CommandError;
use crate::ingest::servers;
use crate::platform;
use crate::target::socket;

/// What a hook may wait for.
pub(super) enum Waiting {
    /// Somebody's answer.
    Question(Question),
    /// Messages for its agent.
    Mail(Mailing),
    /// What it is to print.
    Refusal(String),
}

/// How much of a payload is looked at to be kept.
const SEARCHED: usize = 128 * 1024;

impl Hooks {
    /// Takes in one hook. Once this has succeeded it need not be told again: it is in the log, or of no use to it. Gives
    /// what the hook may wait for.
    ///
    /// # Errors
    /// Fails when the log does not take it, when the daemon is ending, and when it is better told by the spool.
    pub(super) async fn take_in(
        &self,
        head: HookHead,
        payload: &[u8],
        lineage: Vec<ProcessKey>,
    ) -> Result<Option<Waiting>, CommandError> {
        let name = (head.boot_ns, head.pid);
        match locked(&self.recent).begin(name) {
            Some(Progress::Done) => return Ok(None),
            Some(Progress::UnderWay) => return Err(later("it is being taken in")),
            None => {}
        }
        let taken = self.tell(&head, payload, lineage).await;
        locked(&self.recent).end(name, taken.is_ok());
        taken
    }

    async fn tell(
        &self,
        head: &HookHead,
        payload: &[u8],
        lineage: Vec<ProcessKey>,
    ) -> Result<Option<Waiting>, CommandError> {
        let text = String::from_utf8_lossy(payload);
        let parsed = parse(&text);
        let sender = Sender {
            agent: head.agent.clone(),
            lineage,
            session: session(head, &parsed),
            in_pane: head.tmux_pane.is_some(),
        };
        // Found before it is read: the translator remembers what it reads, of each agent by itself, and what the spool will tell
        // again must not be read now.
        let (owner, is_whole) = match self.owner(&sender) {
            Owner::Uncertain(why) => match self.owner_of_turn(&sender, &parsed).await {
                Some(member) => (Owner::Member(member), false),
                None => (Owner::Uncertain(why), false),
            },
            owner => (owner, true),
        };
        let runtime = match &owner {
            Owner::Member(member) => Some(&member.runtime),
            Owner::NotFoundYet => None,
            Owner::SenderGone => return Err(later("its sender is gone")),
            Owner::Uncertain(why) | Owner::Nobody(why) => {
                self.pass_over(head, why);
                return Ok(None);
            }
        };
        let mut translation = self.translate(head, &parsed, runtime);
        if let Some(why) = translation.foreign {
            self.pass_over(head, why);
            return Ok(None);
        }
        match owner {
            Owner::Member(member) if !is_whole => {
                self.tell_turn(head, &member, &sender, &translation, &text, &parsed.unwrap_or_default()).await?;
            }
            Owner::Member(member) => {
                let payload = parsed.unwrap_or_default();
                if let Some(refusal) = self.refuse_repeated(head, &member.runtime, &payload, &translation).await {
                    // No turn begins with a prompt that is kept from the model.
                    translation.readings.clear();
                    self.keep(head, &member, &sender, &translation, &text, &payload).await?;
                    return Ok(Some(Waiting::Refusal(refusal)));
                }
                let mailing = self.choose_mail(head, &member.runtime, &sender.lineage, &payload, &translation).await;
                if mailing.is_some() {
                    translation.readings = answer::going_on(&translation.readings);
                }
                if let Err(error) = self.keep(head, &member, &sender, &translation, &text, &payload).await {
                    if let Some(mailing) = mailing {
                        self.not_given(mailing.delivery, "what its hook told could not be logged").await;
                    }
                    return Err(error);
                }
                let question = || question(head, &member, sender, &translation, payload).map(Waiting::Question);
                return Ok(mailing.map(Waiting::Mail).or_else(question));
            }
            Owner::NotFoundYet | Owner::SenderGone | Owner::Uncertain(_) | Owner::Nobody(_) => {
                self.watch_server(head.tmux.as_deref()).await?;
                self.post(said(head, claim(None, sender.lineage.clone()), &translation, &text)).await?;
                locked(&self.unowned).push(Instant::now(), sender, conversation(&translation));
                self.handle.hooks().taken();
            }
        }
        Ok(None)
    }

    fn pass_over(&self, head: &HookHead, why: &str) {
        tracing::debug!(agent = head.agent, event = head.event, why, "a hook is nobody's");
        self.handle.hooks().passed_over(&format!("{}: {why}", head.agent));
    }

    /// Logs what the hook of an agent says, and passes on what else is in it.
    async fn keep(
        &self,
        head: &HookHead,
        member: &Member,
        sender: &Sender,
        translation: &Translation,
        text: &str,
        payload: &Value,
    ) -> Result<(), CommandError> {
        self.tell_turn(head, member, sender, translation, text, payload).await?;
        self.learn(member, conversation(translation)).await
    }

    /// Logs what a hook says of an agent's turn. Which conversation the agent is in is left open.
    async fn tell_turn(
        &self,
        head: &HookHead,
        member: &Member,
        sender: &Sender,
        translation: &Translation,
        text: &str,
        payload: &Value,
    ) -> Result<(), CommandError> {
        let claim = claim(Some(member.runtime.clone()), sender.lineage.clone());
        self.post(said(head, claim, translation, text)).await?;
        // The prompt that an agent says it was given, under the name that all of them have for it.
        if let Some(prompt) = payload["prompt"].as_str() {
            self.handle.mail_read(member.runtime.clone(), prompt.to_owned(), Receipt::Hook).await?;
        }
        self.handle.hooks().taken();
        Ok(())
    }

    /// Tells each agent that is found what its hooks called the conversation before it was.
    pub(super) async fn find_owners(&self) {
        let mut roster = self.handle.roster();
        while roster.changed().await.is_ok() {
            let owned = locked(&self.unowned).owned(Instant::now(), |sender| match self.owner(sender) {
                Owner::Member(member) => Some(member),
                Owner::NotFoundYet | Owner::SenderGone | Owner::Uncertain(_) | Owner::Nobody(_) => None,
            });
            for (member, conversation) in owned {
                self.learn(&member, conversation).await.ok();
            }
        }
    }

    /// What a payload means to an agent. One that is no JSON means nothing, and is kept to be looked at.
    fn translate(
        &self,
        head: &HookHead,
        payload: &serde_json::Result<Value>,
        runtime: Option<&RuntimeId>,
    ) -> Translation {
        let event = head.event.as_deref();
        match payload {
            Ok(payload) => locked(&self.translator).hook_of(runtime, &head.agent, event, payload),
            Err(error) => {
                self.handle.hooks().unread();
                let what = format!("a payload that is no JSON: {error}");
                Translation {
                    event: event.unwrap_or_default().to_owned(),
                    readings: vec![Reading::new(Signal::Unsupported { what })],
                    ..Translation::default()
                }
            }
        }
    }

    fn owner(&self, sender: &Sender) -> Owner {
        let registry = self.manifests.now();
        if registry.get(&sender.agent).is_none() {
            return Owner::Nobody("no agent has that name");
        }
        let roster = self.handle.roster().borrow().clone();
        owner::owner(sender, &roster, &Now { registry: &registry, roster: &roster, handle: &self.handle })
    }

    /// Whose turn the hook of a shared server is about: that of the agent whose messages are in the prompt that began the turn.
    async fn owner_of_turn(&self, sender: &Sender, payload: &serde_json::Result<Value>) -> Option<Arc<Member>> {
        let payload = payload.as_ref().ok()?;
        let turn = TurnName::of(sender, payload)?;
        if let Some(prompt) = payload["prompt"].as_str().filter(|prompt| may_hold_receipts(prompt)) {
            let prompt = prompt.to_owned();
            let addressee = self.handle.read(move |world| world.engine.addressee(&prompt).cloned()).await.ok()?;
            locked(&self.turns).note(turn.clone(), addressee);
        }
        let runtime = locked(&self.turns).of(&turn)?;
        let roster = self.handle.roster().borrow().clone();
        roster.get(&runtime).filter(|member| member.agent.as_str() == sender.agent).cloned()
    }

    /// Logs all that a hook says, in one go.
    pub(super) async fn post(&self, said: Said) -> Result<(), CommandError> {
        let posts = said.into_signals().into_iter().map(|signal| self.handle.post(signal));
        for posted in future::join_all(posts).await {
            match posted {
                Err(error) if !is_refusal(error.code) => return Err(error),
                Ok(posted) => tracing::trace!(?posted, "a hook was taken in"),
                // It belongs to nobody, and will not by being told again.
                Err(error) => tracing::debug!(%error, "a hook was refused"),
            }
        }
        Ok(())
    }

    /// Passes on what an agent calls its conversation, if that is news.
    async fn learn(&self, member: &Member, heard: Conversation) -> Result<(), CommandError> {
        let mut learned = member.conversation.clone().unwrap_or_default();
        learned.learn(heard.clone());
        if member.conversation.clone().unwrap_or_default() == learned {
            return Ok(());
        }
        self.handle.conversation(member.runtime.clone(), heard).await
    }

    /// Begins to watch the tmux server that a hook comes from: its agent may run on one that nobody asked about yet.
    async fn watch_server(&self, tmux: Option<&str>) -> Result<(), CommandError> {
        let path = tmux.and_then(|variable| server::socket_of_tmux_variable(variable.as_ref()));
        match path.map(|path| socket::normal(&path)).filter(|path| is_own(path)) {
            Some(path) => self.handle.watch(path).await,
            None => Ok(()),
        }
    }
}

/// What is known right now besides the roster.
struct Now<'a> {
    registry: &'a Registry,
    roster: &'a Roster,
    handle: &'a Handle,
}

impl Witness for Now<'_> {
    fn passage(&self, process: ProcessKey) -> Passage {
        owner::passage(self.registry, process)
    }

    fn hears(&self, member: &Member, conversation: &str) -> bool {
        self.handle.doors().to(&member.runtime).is_some_and(|door| door.hears(conversation))
    }

    fn holds(&self, member: &Member, conversation: &str) -> bool {
        servers::codex_holds(self.registry, member, conversation)
    }

    fn serves_others(&self, member: &Member) -> bool {
        servers::opencode_is_shared(self.registry, member, self.roster)
    }
}

/// The agent's own id of the conversation that a payload is about.
fn session(head: &HookHead, payload: &serde_json::Result<Value>) -> Option<String> {
    translate::hook(&head.agent, head.event.as_deref(), payload.as_ref().ok()?).session
}

/// An agent that gave no payload has nothing to add to the event's name.
fn parse(payload: &str) -> serde_json::Result<Value> {
    match payload.trim() {
        "" => Ok(Value::Object(serde_json::Map::new())),
        payload => serde_json::from_str(payload),
    }
}

/// Not now; the spool will tell it again.
fn later(why: &str) -> CommandError {
    CommandError::new(ErrorCode::Timeout, why)
}

fn is_own(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.uid() == rustix::process::getuid().as_raw())
}

pub(super) fn claim(runtime: Option<RuntimeId>, lineage: Vec<ProcessKey>) -> Claim {
    Claim { target: TargetName::new(LOCAL), runtime, pane: None, process: None, ancestors: Some(lineage) }
}

/// What could be answered by the hook that told this.
fn question(
    head: &HookHead,
    member: &Member,
    sender: Sender,
    translation: &Translation,
    payload: Value,
) -> Option<Question> {
    let hash = answer::question(&head.agent, &payload, translation)?.to_owned();
    let (agent, runtime) = (head.agent.clone(), member.runtime.clone());
    Some(Question { agent, runtime, lineage: sender.lineage, hash, payload })
}

fn conversation(translation: &Translation) -> Conversation {
    Conversation {
        session: translation.session.clone(),
        transcript: translation.transcript.as_ref().map(PathBuf::from),
        standing: None,
    }
}

fn said(head: &HookHead, claim: Claim, translation: &Translation, payload: &str) -> Said {
    // Told twice, it counts once, also where the agent gives nothing to know it by.
    let name = format!("{}.{}", head.boot_ns, head.pid);
    let keyed = |reading: &Reading| match &reading.key {
        Some(_) => reading.clone(),
        None => reading.clone().with_key(name.clone()),
    };
    // A stamp from the future would make everything said until then seem older.
    let said_at = head.boot_ns.min(platform::boot_clock_ns());
    Said {
        source: source(&head.agent, &translation.event),
        claim,
        event: Some(translation.event.clone()).filter(|event| !event.is_empty()),
        source_seq: Some(said_at),
        boot_ns: Some(said_at),
        event_time: None,
        readings: translation.readings.iter().map(keyed).collect(),
        // What is kept in the end is shorter still; a megabyte need not be searched for secrets first.
        payload: Some(payload[..payload.floor_char_boundary(SEARCHED)].to_owned())
            .filter(|payload| !payload.is_empty()),
    }
}

/// A plugin and a notify command come by the same way as hooks, and are told apart for `explain`.
fn source(agent: &str, event: &str) -> Source {
    match (agent, event) {
        ("opencode", _) | (_, "notify" | "agent-turn-complete" | "approval-requested") => Source::Notify,
        _ => Source::Hook,
    }
}

/// Whether core said no. Everything else means that the log did not take it, and may take it later.
fn is_refusal(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::BadName
            | ErrorCode::NameTaken
            | ErrorCode::TargetExists
            | ErrorCode::TargetNotFound
            | ErrorCode::RuntimeStale
            | ErrorCode::PreconditionFailed
    )
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
