//! `/v1/messages`: messages between people and agents; and the same under `/sessions/{id}` for one agent.

use std::ffi::OsStr;
use std::time::Duration;

use agtmux_core::action::Actor;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{
    Category, Entry, Hindrance, Letter, MailId, Mode, NewLetter, Objection, Party, Sanitized, Stage, Wanted,
};
use agtmux_core::time::{Span, Timestamp};
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::mail::{
    Message, MessageList, MessageParty, MessageQuery, MessageStep, MessageWait, PendingMessage, PostMessage,
    RemindRequest, SendQueue,
};
use axum::extract::{ConnectInfo, Path, State};
use uuid::Uuid;

use super::Api;
use super::actions::actor;
use super::answer::{Answer, Body, Json, Params};
use super::convert::time;
use super::peer::Peer;
use crate::daemon::mail::new_nonce;
use crate::daemon::world::World;
use crate::error::CommandError;
use crate::platform;
use crate::store::redact;

/// How much of a text is shown where it is only mentioned.
const PREVIEW: usize = 80;

/// The longest that somebody may wait for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How long the answer to something urgent waits for it to be delivered.
const URGENT_WAIT: Duration = Duration::from_secs(8);

pub async fn post(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<PostMessage>,
) -> Answer<Message> {
    let actor = actor::of(&api, peer).await?;
    let message = accept(&api, request, actor, peer).await?;
    Ok(Json(at_once(&api, message).await?))
}

/// A message to be delivered later, to whoever asks unless somebody else is named.
pub async fn remind(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<RemindRequest>,
) -> Answer<Message> {
    let actor = actor::of(&api, peer).await?;
    let RemindRequest { session_id, delay_seconds, message, recurring, words, id } = request;
    let to = session_id.or_else(|| Some(format!("runtime:{}", actor.agent.as_ref()?))).ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, "it is not said whom to remind")
            .hint("an agent is reminded itself; from a shell name one: `sm remind api 5m TEXT`")
    })?;
    let request = PostMessage {
        to,
        text: message,
        delay_seconds: Some(delay_seconds),
        every_seconds: recurring.then_some(delay_seconds.max(1)),
        words,
        id,
        ..PostMessage::default()
    };
    Ok(Json(accept(&api, request, actor, peer).await?))
}

/// The same with the recipient in the path.
pub async fn post_to(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(session): Path<String>,
    Body(request): Body<PostToSession>,
) -> Answer<Message> {
    let actor = actor::of(&api, peer).await?;
    let PostToSession { text, delivery_mode, timeout_seconds, notify_on_delivery, notify_after_seconds, .. } = request;
    if let Some(sender) = request.sender_session_id {
        is_sender(&api, &sender, &actor).await?;
    }
    let request = PostMessage {
        to: session,
        text,
        delivery_mode,
        timeout_seconds,
        notify_on_delivery,
        notify_after_seconds,
        ..PostMessage::default()
    };
    let message = accept(&api, request, actor, peer).await?;
    Ok(Json(at_once(&api, message).await?))
}

/// Who sends is found out. Whoever says that it is another is told so, and nothing is sent in a wrong name.
async fn is_sender(api: &Api, said: &str, actor: &Actor) -> Result<(), CommandError> {
    let (reference, agent) = (said.to_owned(), actor.agent.clone());
    let is_so = api.synced().await.read(move |world| {
        Ok::<_, CommandError>(agent.is_some() && world.engine.resolve_ref(&reference)?.runtime == agent)
    });
    if is_so.await?? {
        return Ok(());
    }
    let is = actor.agent.as_ref().map_or_else(|| "a person".to_owned(), ToString::to_string);
    Err(CommandError::new(ErrorCode::NotAllowed, format!("{said} is not who asks: that is {is}"))
        .hint("leave sender_session_id out: who sends is found out from the process that asks"))
}

/// Whoever sends something urgent hears that it was delivered, if it is in time.
pub(super) async fn at_once(api: &Api, message: Message) -> Result<Message, CommandError> {
    if message.delivery_mode != Mode::Urgent.name() {
        return Ok(message);
    }
    let is_under_way = |message: &Message| matches!(message.status.as_str(), "queued" | "leased" | "started");
    let mut message = follow(api, &message.id, URGENT_WAIT, |message| !is_under_way(message)).await?;
    if matches!(message.status.as_str(), "submitted" | "confirmed") {
        "delivered".clone_into(&mut message.status);
    }
    Ok(message)
}

/// A message for the agent that the path names. Who sends it is found out, not told.
#[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostToSession {
    /// The text.
    text: String,
    /// Who sends it: a reference to the agent that asks. It need not be said, and nobody can say it of another.
    #[serde(default)]
    sender_session_id: Option<String>,
    /// When it may be delivered.
    #[serde(default)]
    delivery_mode: Option<String>,
    /// It is not delivered after so many seconds.
    #[serde(default)]
    timeout_seconds: Option<u64>,
    /// Tell the agent that sends it when it was delivered.
    #[serde(default)]
    notify_on_delivery: bool,
    /// Tell the agent that sends it so many seconds after it was delivered.
    #[serde(default)]
    notify_after_seconds: Option<u64>,
}

pub async fn list(State(api): State<Api>, Params(query): Params<MessageQuery>) -> Answer<MessageList> {
    let found = api.synced().await.read(move |world| {
        let to = query.to.as_deref().map(|to| recipient(world, to)).transpose()?;
        let letters = world.engine.state().mail.letters.values();
        let wanted = letters.filter(|entry| to.as_ref().is_none_or(|(id, _)| entry.letter.to == *id));
        let mut wanted: Vec<_> = wanted.filter(|entry| query.all || entry.stage.ended().is_none()).collect();
        wanted.sort_by_key(|entry| place(entry));
        Ok::<_, CommandError>(wanted.into_iter().map(|entry| message(world, entry)).collect())
    });
    Ok(Json(MessageList { schema_version: SCHEMA_VERSION, items: found.await?? }))
}

/// Where in a list a message stands: what is under way first, then what waits in the order of its delivery, then what waits for
/// its time, then what is over.
fn place(entry: &Entry) -> (u8, std::cmp::Reverse<Mode>, Timestamp) {
    let letter = &entry.letter;
    let in_order = |place| (place, std::cmp::Reverse(letter.mode), letter.queued_at);
    match (&entry.stage, entry.waits_until) {
        (Stage::Ended { .. }, _) => (3, std::cmp::Reverse(Mode::default()), letter.queued_at),
        (Stage::Queued, Some(at)) => (2, std::cmp::Reverse(Mode::default()), at),
        (Stage::Queued, None) => in_order(1),
        (Stage::Leased | Stage::Started | Stage::Submitted, _) => in_order(0),
    }
}

/// The messages that wait for one agent.
pub async fn queue(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(session): Path<String>,
) -> Answer<SendQueue> {
    let is_person = actor::of(&api, peer).await?.agent.is_none();
    let queue = api.synced().await.read(move |world| {
        let (id, _) = recipient(world, &session)?;
        let waiting = world.engine.state().mail.undelivered(&id);
        let pending = |entry: &&Entry| PendingMessage {
            id: entry.letter.id.to_string(),
            sender: entry.letter.from.name().to_owned(),
            queued_at: time(entry.letter.queued_at),
            timeout_at: entry.letter.expires_at().map(time),
        };
        let kept = world.engine.state().mail.boxes.get(&id).and_then(|mailbox| mailbox.put_aside.clone());
        let queue = SendQueue {
            is_idle: world.engine.is_idle(&id),
            session_id: id.to_string(),
            pending_count: waiting.len() as u64,
            pending_messages: waiting.iter().map(pending).collect(),
            saved_user_input: None,
        };
        Ok::<_, CommandError>((queue, kept))
    });
    let (mut queue, kept) = queue.await??;
    // What a person writes is for people.
    if let Some(kept) = kept.filter(|_| is_person) {
        queue.saved_user_input = api.handle.kept_text(&kept).await.ok();
    }
    Ok(Json(queue))
}

pub async fn show(
    State(api): State<Api>,
    Path(id): Path<String>,
    Params(query): Params<MessageWait>,
) -> Answer<Message> {
    let wait = Duration::from_millis(query.wait_ms.or(query.settle_ms).unwrap_or(0)).min(LONGEST_WAIT);
    let is_wanted = |message: &Message| match query.wait_ms {
        None if query.settle_ms.is_some() => is_settled(message),
        _ => message.verdict.is_some(),
    };
    Ok(Json(follow(&api, &id, wait, is_wanted).await?))
}

/// Whether a message was given to its agent, or it is known what it waits for.
fn is_settled(message: &Message) -> bool {
    let Some(waits) = message.estimated_delivery.as_deref() else { return true };
    // What the delivery under way comes to decides about those behind it.
    let is_open = waits == "now" || waits == Hindrance::Delivery.name();
    message.status == "queued" && (!is_open || message.waits_because.is_some())
}

/// A message when it is as somebody wants it to be, or when they have waited long enough.
async fn follow(
    api: &Api,
    id: &str,
    wait: Duration,
    is_wanted: impl Fn(&Message) -> bool,
) -> Result<Message, CommandError> {
    let mut steps = api.handle.mail_steps();
    let until = tokio::time::Instant::now() + wait;
    loop {
        steps.mark_unchanged();
        let found = look(api, id).await?;
        if is_wanted(&found) || tokio::time::timeout_at(until, steps.changed()).await.is_err() {
            return Ok(found);
        }
    }
}

pub async fn cancel(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(id): Path<String>,
) -> Answer<Message> {
    let actor = actor::of(&api, peer).await?;
    let entry = find(&api, &id).await?;
    let letter = &entry.letter;
    let is_its = |agent: &RuntimeId| {
        letter.from.runtime() == Some(agent) || letter.category == Category::Notice && letter.to == *agent
    };
    if actor.agent.as_ref().is_some_and(|agent| !is_its(agent)) {
        let error = CommandError::new(ErrorCode::NotAllowed, format!("{id} is not this agent's message"))
            .hint("an agent can take back what it wrote itself, and what agtmux has to tell it");
        return Err(error.into());
    }
    let entry = api.handle.cancel_mail(entry.letter.id, by(&actor)).await?;
    Ok(Json(api.handle.read(move |world| message(world, &entry)).await?))
}

pub(super) async fn accept(api: &Api, request: PostMessage, actor: Actor, peer: Peer) -> Result<Message, CommandError> {
    let PostMessage { to, text, delivery_mode, id, timeout_seconds, reply_to, .. } = request;
    let PostMessage { notify_on_delivery, notify_after_seconds, delay_seconds, every_seconds, words, .. } = request;
    let text = Sanitized::new(&text).map_err(|objection| {
        let error = CommandError::new(ErrorCode::BadText, format!("the text cannot be sent: {objection}"));
        match objection {
            Objection::TooLong(_) => error.hint("write a long one to a file and tell the agent to read that"),
            Objection::Empty => error.hint("what cannot be shown does not count as text"),
        }
    })?;
    let mode = delivery_mode.map_or(Ok(Mode::default()), |name| mode(&name))?;
    let id =
        id.map_or_else(|| mail_id(&format!("m_{}", &Uuid::new_v4().simple().to_string()[..16])), |id| chosen(&id))?;
    let reply_to = reply_to.as_deref().map(read_id).transpose()?;
    let timeout = timeout_seconds.map(seconds);
    let every = every_seconds.map(seconds);
    let handle = api.synced().await;
    let person = peer.pid.and_then(person);
    let sender = (actor.clone(), to.clone());
    let (recipient, from) = handle
        .read(move |world| Ok::<_, CommandError>((recipient(world, &to)?, party(world, &actor, person))))
        .await??;
    let command = !words && Letter::is_command(&from, &text);
    let letter = Letter {
        id,
        to: recipient.0,
        to_name: recipient.1,
        from,
        mode,
        category: if delay_seconds.is_some() { Category::Reminder } else { Category::Mail },
        bytes: text.as_str().len() as u64,
        digest: Letter::digest_of(text.as_str()),
        preview: preview(text.as_str()),
        queued_at: Timestamp::default(),
        timeout,
        reply_to,
        hops: 0,
        not_before: None,
        every,
        wanted: Wanted { on_delivery: notify_on_delivery, after: notify_after_seconds.map(seconds) },
        series: None,
        again: None,
        command,
    };
    let nonce = new_nonce();
    let entry = handle
        .post_mail(sender, NewLetter { letter, nonce, delay: delay_seconds.map(seconds) }, text.as_str().to_owned())
        .await?;
    handle.read(move |world| message(world, &entry)).await
}

/// Who did something, for people.
pub(super) fn by(actor: &Actor) -> String {
    actor.agent.as_ref().map_or_else(|| format!("by uid {}", actor.uid), |agent| format!("by {agent}"))
}

/// The agent that a reference means, and what it is called.
pub(super) fn recipient(world: &World, reference: &str) -> Result<(RuntimeId, String), CommandError> {
    let found = world.engine.resolve_ref(reference)?;
    let living = found.runtime.and_then(|id| world.engine.state().topology.live(&id).cloned());
    let Some(runtime) = living else {
        return Err(CommandError::new(
            ErrorCode::PreconditionFailed,
            format!("no agent lives in pane {}", found.pane.pane),
        )
        .hint("`agtmux list panes` shows the agents there are"));
    };
    Ok((runtime.id.clone(), runtime.name.unwrap_or_else(|| runtime.id.to_string())))
}

pub(super) fn party(world: &World, actor: &Actor, person: Option<String>) -> Party {
    match &actor.agent {
        None => Party::Person { uid: actor.uid, name: person.unwrap_or_else(|| "somebody".to_owned()) },
        Some(runtime) => {
            let living = world.engine.state().topology.live(runtime);
            let name = living.and_then(|runtime| runtime.name.clone()).unwrap_or_else(|| runtime.to_string());
            Party::Agent { runtime: runtime.clone(), name }
        }
    }
}

/// What the person at a process is called.
pub(super) fn person(pid: u32) -> Option<String> {
    let environment = platform::process_environment(pid);
    let name = environment.get(OsStr::new("USER"))?.to_str()?.to_owned();
    (!name.is_empty()).then_some(name)
}

pub(super) fn seconds(seconds: u64) -> Span {
    // More than a century is for ever.
    Span::seconds(i64::try_from(seconds).unwrap_or(i64::MAX).min(4_000_000_000))
}

fn whole_seconds(span: Span) -> u64 {
    u64::try_from(span.0 / 1_000).unwrap_or(0)
}

fn mode(name: &str) -> Result<Mode, CommandError> {
    Mode::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Mode::ALL.iter().map(|mode| mode.name()).collect();
        CommandError::new(ErrorCode::Usage, format!("{name:?} is no way of delivery"))
            .hint(format!("there is {}", known.join(", ")))
    })
}

fn mail_id(text: &str) -> Result<MailId, CommandError> {
    MailId::parse(text).ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, format!("{text:?} cannot be the id of a message"))
            .hint("1 to 64 letters, digits, '_' and '-'")
    })
}

/// An id as an agent reads it: the word of its mailbox may follow.
fn read_id(text: &str) -> Result<MailId, CommandError> {
    mail_id(text.split_once('.').map_or(text, |(id, _)| id))
}

/// An id that whoever sends has chosen.
fn chosen(text: &str) -> Result<MailId, CommandError> {
    let id = mail_id(text)?;
    if !id.is_reserved() {
        return Ok(id);
    }
    Err(CommandError::new(ErrorCode::Usage, format!("{text:?} looks like an id that agtmux makes of others")).hint(
        "choose one that begins with no done_, late_, look_ or lost_ and ends with no _n2 or _r2, whatever the number",
    ))
}

/// How a text begins, on one line, as the log would keep it.
pub(super) fn preview(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = redact::redact(&line).into_owned();
    if line.chars().count() <= PREVIEW { line } else { line.chars().take(PREVIEW - 1).chain(['…']).collect() }
}

async fn look(api: &Api, id: &str) -> Result<Message, CommandError> {
    let entry = find(api, id).await?;
    api.handle.read(move |world| message(world, &entry)).await
}

async fn find(api: &Api, id: &str) -> Result<Entry, CommandError> {
    let id = read_id(id)?;
    let wanted = id.clone();
    let found = api.handle.read(move |world| world.engine.state().mail.get(&wanted).cloned()).await?;
    found.ok_or_else(|| {
        CommandError::new(ErrorCode::RefNotFound, format!("there is no message {id}"))
            .hint("`sm queue --all` shows those that are remembered")
    })
}

pub(super) fn message(world: &World, entry: &Entry) -> Message {
    let letter = &entry.letter;
    let ended = entry.stage.ended();
    let is_undelivered = entry.stage.is_undelivered();
    let waits = is_undelivered.then(|| world.engine.mail_hindrance(entry)).flatten();
    let channel = channel(entry);
    Message {
        schema_version: SCHEMA_VERSION,
        id: letter.id.to_string(),
        status: entry.stage.name().to_owned(),
        verdict: ended.map(|ended| ended.verdict().to_owned()),
        queue_position: world.engine.mail_position(&letter.to, &letter.id).map(|position| position as u64),
        delivery_mode: letter.mode.name().to_owned(),
        estimated_delivery: is_undelivered.then(|| waits.map_or("now", |waits| waits.name()).to_owned()),
        waits_because: is_undelivered.then(|| world.engine.mail_because(entry)).flatten(),
        interrupted: entry.interrupted,
        to: MessageParty { name: letter.to_name.clone(), id: letter.to.to_string() },
        from: MessageParty { name: letter.from.name().to_owned(), id: letter.from.id() },
        queued_at: time(letter.queued_at),
        timeout_at: letter.expires_at().map(time),
        not_before: letter.not_before.map(time),
        every_seconds: letter.every.map(whole_seconds),
        category: letter.category.name().to_owned(),
        notify_on_delivery: letter.wanted.on_delivery,
        notify_after_seconds: letter.wanted.after.map(whole_seconds),
        reply_to: letter.reply_to.as_ref().map(ToString::to_string),
        reply_to_forgotten: letter.reply_to.as_ref().is_some_and(|id| world.engine.state().mail.get(id).is_none()),
        bytes: letter.bytes,
        preview: letter.preview.clone(),
        command: letter.command,
        channel: channel.map(|(way, _)| way.to_owned()),
        channel_reason: channel.and_then(|(_, why)| why).map(str::to_owned),
        again_of: letter.again.as_ref().map(|again| again.first.to_string()),
        redelivered: letter.again.as_ref().is_some_and(|again| again.redelivered),
        sent_again_as: world.engine.state().mail.sent_again_as(&letter.id).map(ToString::to_string),
        steps: entry
            .steps
            .iter()
            .map(|step| MessageStep { seq: step.seq, at: time(step.at), to: step.to.clone(), why: step.why.clone() })
            .collect(),
    }
}

/// By which way a message came, and why by that one.
fn channel(entry: &Entry) -> Option<(&str, Option<&str>)> {
    // What was delivered before this was kept with the message is in the step that was taken then.
    let step =
        || entry.steps.iter().rev().find(|step| step.to == "submitted").and_then(|step| step.why.split(':').next());
    let channel = entry.channel.as_deref().or_else(step).filter(|channel| !channel.is_empty())?;
    Some(channel.split_once(", since ").map_or((channel, None), |(way, why)| (way, Some(why))))
}
