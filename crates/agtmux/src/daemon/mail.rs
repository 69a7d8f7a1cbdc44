//! The post office of the main loop: what is asked of it is logged, and whatever can be delivered is handed to whoever delivers.
//!
//! Nothing waits for a single event: after every turn of the loop it is asked anew what is due, so a hook that was lost delays mail
//! until the next look at the agent and strands none (F13, F55).

use std::collections::BTreeSet;

use agtmux_core::action::{Actor, Verb};
use agtmux_core::command::Refusal;
use agtmux_core::engine::Engine;
use agtmux_core::event::Fact;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{
    self, Busy, Category, DeliveryId, Draft, Due, Entry, MailFact, MailId, NewLetter, Opening, Posted, Receipt,
};
use agtmux_core::time::Span;
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;

use super::actions::new_action;
use super::gone;
use super::handle::{Handle, Input};
use super::mainloop::MainLoop;
use super::own_mail::OwnMail;
use crate::config::MailConfig;
use crate::error::CommandError;
use crate::store::{Reader, Text};

/// What is asked of the post.
pub enum MailAsk {
    /// Take a message.
    Post {
        /// Who sends it, and to whom as they said it.
        sender: Box<(Actor, String)>,
        /// The message.
        new: Box<NewLetter>,
        /// Its text.
        text: String,
        /// The message as it is kept.
        reply: oneshot::Sender<Result<Entry, CommandError>>,
    },
    /// Take a message back.
    Cancel {
        /// Which.
        id: MailId,
        /// Who wants that, for people.
        by: String,
        /// The message as it is now.
        reply: oneshot::Sender<Result<Entry, CommandError>>,
    },
    /// An agent has something to do, with what and for how long, or has done it.
    Busy {
        /// Which agent.
        runtime: RuntimeId,
        /// With what and for how long; none if it has done it.
        with: Option<(String, Span)>,
        /// Who says so, for people.
        by: String,
        /// What it has to do now.
        reply: oneshot::Sender<Result<Option<Busy>, CommandError>>,
    },
    /// A delivery took a step.
    Step {
        /// Which.
        step: MailFact,
        /// That it is in the log.
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
    /// The hook of an agent waits: what is to be given to the agent by it is chosen.
    Offer {
        /// Which agent.
        runtime: RuntimeId,
        /// What it waits at.
        opening: Opening,
        /// The delivery, if there is one.
        reply: oneshot::Sender<Option<DeliveryId>>,
    },
    /// A person's text is put aside for a delivery.
    PutAside {
        /// Which.
        delivery: DeliveryId,
        /// The text.
        text: String,
        /// That it is on the disk.
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
    /// Send a message anew to who goes on with the conversation of the agent that it was for.
    Again {
        /// Which.
        id: MailId,
        /// To whom.
        to: RuntimeId,
        /// Its text.
        text: String,
        /// What it is called now.
        reply: oneshot::Sender<Result<MailId, CommandError>>,
    },
    /// An agent says what it was given.
    Read {
        /// Which agent.
        runtime: RuntimeId,
        /// What it was given.
        prompt: String,
        /// By what it says so.
        by: Receipt,
    },
}

/// Messages to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// For the first time.
    Deliver(DeliveryId),
    /// It was under way when the daemon was started; how far it got is to be found out.
    Recover(DeliveryId),
    /// A person's text was put aside, under this id, and is to be put back.
    PutBack(MailId),
    /// An agent goes on with a conversation, and what of its mail the one before it was not given is to be found out.
    Inherit(RuntimeId),
}

/// What the main loop keeps of the post besides the engine's state.
pub struct PostOffice {
    errands: mpsc::UnboundedSender<Errand>,
    /// Counts the steps of messages, for those who wait for one.
    steps: watch::Sender<u64>,
    /// Messages whose texts nobody needs any more.
    over: BTreeSet<MailId>,
    /// What agtmux itself writes.
    pub(super) own: OwnMail,
    /// Deliveries that were under way when the log ended.
    unknown: Vec<DeliveryId>,
    /// What agents said they were given, and could not be logged yet.
    unlogged: Vec<MailFact>,
    /// Whether there may be agents that go on with a conversation since it was last asked.
    may_inherit: bool,
    /// Who was found to inherit which messages.
    inherited: BTreeSet<(RuntimeId, MailId)>,
    /// How messages are delivered.
    config: MailConfig,
}

impl PostOffice {
    /// Opens the post. Gives what is to be delivered, and the count of steps.
    ///
    /// # Errors
    /// Fails when the texts cannot be read.
    pub fn open(
        engine: &Engine,
        reader: &Reader,
        config: &MailConfig,
    ) -> Result<(Self, mpsc::UnboundedReceiver<Errand>, watch::Receiver<u64>), CommandError> {
        let post = &engine.state().mail;
        let texts = reader.texts(None)?;
        let over = texts.keys().filter(|id| !post.needs_text(id)).cloned().collect();
        let under_way = post.boxes.values().filter_map(|mailbox| mailbox.under_way.as_ref());
        let unknown = under_way.map(|delivery| delivery.id.clone()).collect();
        let (errands, received) = mpsc::unbounded_channel();
        let (steps, counted) = watch::channel(0);
        for (_, kept) in post.put_aside() {
            errands.send(Errand::PutBack(kept.clone())).ok();
        }
        let office = Self {
            errands,
            steps,
            over,
            own: OwnMail::new(engine, texts),
            unknown,
            unlogged: Vec::new(),
            may_inherit: true,
            inherited: BTreeSet::new(),
            config: config.clone(),
        };
        Ok((office, received, counted))
    }

    /// Learns which messages took a step.
    pub(super) fn note(&mut self, engine: &Engine, touched: &BTreeSet<MailId>) {
        if touched.is_empty() {
            return;
        }
        let post = &engine.state().mail;
        self.over.extend(touched.iter().filter(|id| !post.needs_text(id)).cloned());
        self.steps.send_modify(|steps| *steps += 1);
        self.own.note_news();
        self.may_inherit = true;
    }

    /// An agent is in another conversation.
    pub(super) fn note_conversation(&mut self) {
        self.may_inherit = true;
    }

    /// Whether something was begun that this daemon can bring to its end: a delivery, or a person's text that is not back yet.
    pub(super) fn is_under_way(&self, engine: &Engine) -> bool {
        let post = &engine.state().mail;
        let mut under_way = post.boxes.values().filter_map(|mailbox| mailbox.under_way.as_ref());
        under_way.any(|delivery| delivery.started && !self.unknown.contains(&delivery.id))
            || post.put_aside().next().is_some()
    }

    /// Texts to let go of.
    pub(super) fn take_over(&mut self) -> Vec<Text> {
        std::mem::take(&mut self.over).into_iter().map(|id| Text::Drop { id }).collect()
    }
}

/// A fresh word for a mailbox.
pub fn new_nonce() -> String {
    Uuid::new_v4().simple().to_string()[..6].to_owned()
}

impl MainLoop {
    /// Does what is asked of the post.
    pub(super) async fn mail(&mut self, ask: MailAsk) {
        match ask {
            MailAsk::Post { sender, new, text, reply } => {
                reply.send(self.post_for(*sender, *new, text).await).ok();
            }
            MailAsk::Cancel { id, by, reply } => {
                reply.send(self.cancel(&id, &by).await).ok();
            }
            MailAsk::Busy { runtime, with, by, reply } => {
                reply.send(self.say_busy(&runtime, with, by).await).ok();
            }
            MailAsk::Step { step: MailFact::Started { .. } | MailFact::Offered { .. }, reply }
                if self.ending.is_some() =>
            {
                reply.send(Err(gone())).ok();
            }
            MailAsk::Step { step, reply } => {
                let kept = self.kept_for(&step);
                let step = self.world.engine.mail_step(step);
                let done = self.commit_mail(step).await;
                self.post.over.extend(kept.filter(|_| done.is_ok()));
                reply.send(done).ok();
            }
            MailAsk::PutAside { delivery, text, reply } => {
                reply.send(self.put_aside(delivery, text).await).ok();
            }
            MailAsk::Offer { runtime, opening, reply } => {
                let chosen = self.choose_for_hook(&runtime, opening).await;
                if let Err(Some(delivery)) = reply.send(chosen) {
                    let why = "the hook waits no more".to_owned();
                    let step = self.world.engine.mail_step(MailFact::Returned { delivery, why });
                    self.commit_mail(step).await.ok();
                }
            }
            MailAsk::Again { id, to, text, reply } => {
                reply.send(self.send_again(&id, &to, text).await).ok();
            }
            MailAsk::Read { runtime, prompt, by } => self.confirm(&runtime, &prompt, by).await,
        }
    }

    /// Chooses what can be delivered, once it is known who is there to get it.
    pub(super) async fn deliver_mail(&mut self) {
        if !self.world.is_synced() {
            return;
        }
        for receipt in std::mem::take(&mut self.post.unlogged) {
            self.log_receipt(receipt).await;
        }
        if self.ending.is_some() {
            return;
        }
        for delivery in std::mem::take(&mut self.post.unknown) {
            self.post.errands.send(Errand::Recover(delivery)).ok();
        }
        self.find_heirs();
        for due in self.world.engine.mail_due(self.post.config.batch()) {
            if let Some(delivery) = self.lease(due).await {
                self.post.errands.send(Errand::Deliver(delivery)).ok();
            }
        }
    }

    /// Has it found out what is to be sent anew to those who go on with a conversation, once for each message.
    fn find_heirs(&mut self) {
        if !std::mem::take(&mut self.post.may_inherit) {
            return;
        }
        for heir in self.world.engine.mail_heirs() {
            let strays = self.world.engine.mail_strays(&heir).into_iter();
            let new = strays.filter(|stray| self.post.inherited.insert((heir.clone(), stray.id.clone()))).count();
            if new > 0 {
                self.post.errands.send(Errand::Inherit(heir)).ok();
            }
        }
    }

    async fn send_again(&mut self, id: &MailId, to: &RuntimeId, text: String) -> Result<MailId, CommandError> {
        let (new, facts) = self.world.engine.send_again(id, to, new_nonce())?;
        self.commit_with(facts, vec![Text::Keep { id: new.clone(), text: text.clone() }]).await?;
        let entry = self.entry(&new)?;
        self.post.own.keep(&entry, text);
        Ok(new)
    }

    /// Chooses what an agent is given by its hook that waits.
    async fn choose_for_hook(&mut self, runtime: &RuntimeId, opening: Opening) -> Option<DeliveryId> {
        let may = self.world.is_synced() && self.ending.is_none();
        let due = self.world.engine.mail_due_at(runtime, opening).filter(|_| may)?;
        self.lease(due).await
    }

    async fn lease(&mut self, due: Due) -> Option<DeliveryId> {
        let delivery = DeliveryId::new(format!("dl_{}", Uuid::new_v4().simple()));
        let leased = MailFact::Leased { delivery: delivery.clone(), runtime: due.runtime, letters: due.letters };
        let step = self.world.engine.mail_step(leased);
        self.commit_mail(step).await.ok().map(|()| delivery)
    }

    /// Takes a message that somebody sends. Who sent what, and what was refused, is kept with what is done to agents.
    async fn post_for(
        &mut self,
        (actor, reference): (Actor, String),
        mut new: NewLetter,
        text: String,
    ) -> Result<Entry, CommandError> {
        new.letter.queued_at = self.clock.now();
        let may = self.world.engine.may_correspond(&self.world.mail_policy, &new.letter);
        if let Err(refusal) =
            may.and_then(|()| self.world.engine.post(self.world.mail_policy.limits, new.clone()).map(|_| ()))
        {
            return Err(self.refuse(new_action(), Verb::Message, &reference, actor, refusal.into()).await);
        }
        self.permit_and_note(new_action(), Verb::Message, reference, actor).await?;
        self.post_letter(new, text).await
    }

    pub(super) async fn post_letter(&mut self, mut new: NewLetter, text: String) -> Result<Entry, CommandError> {
        new.letter.queued_at = self.clock.now();
        if new.letter.category == Category::Mail {
            new.letter.timeout = new.letter.timeout.or_else(|| self.post.config.timeout());
        }
        let id = new.letter.id.clone();
        match self.world.engine.post(self.world.mail_policy.limits, new)? {
            Posted::Known(known) => Ok(*known),
            Posted::New(facts) => {
                self.commit_with(facts, vec![Text::Keep { id: id.clone(), text: text.clone() }]).await?;
                let entry = self.entry(&id)?;
                self.post.own.keep(&entry, text);
                Ok(entry)
            }
        }
    }

    async fn cancel(&mut self, id: &MailId, by: &str) -> Result<Entry, CommandError> {
        let step = self.world.engine.cancel_mail(id, by);
        self.commit_mail(step).await?;
        self.entry(id)
    }

    async fn say_busy(
        &mut self,
        runtime: &RuntimeId,
        with: Option<(String, Span)>,
        by: String,
    ) -> Result<Option<Busy>, CommandError> {
        let engine = &self.world.engine;
        let fact = match with {
            Some((reason, within)) => Some(engine.say_busy(runtime, reason, (self.clock.now(), within), by)?),
            None => engine.say_ready(runtime, by)?,
        };
        self.commit(fact.into_iter().collect()).await?;
        Ok(self.world.engine.state().mail.busy.get(runtime).cloned())
    }

    /// Keeps a person's text, so that it outlives this daemon, and lets it be put aside.
    async fn put_aside(&mut self, delivery: DeliveryId, text: String) -> Result<(), CommandError> {
        let kept = Draft::kept_as(&delivery).ok_or_else(|| CommandError::internal("a delivery without a proper id"))?;
        let step = self.world.engine.mail_step(MailFact::SetAside { delivery })?;
        self.commit_with(vec![step], vec![Text::Keep { id: kept, text }]).await.map(|_| ())
    }

    /// The text that nobody needs any more once this step is logged.
    fn kept_for(&self, step: &MailFact) -> Option<MailId> {
        let MailFact::PutBack { runtime } = step else { return None };
        self.world.engine.state().mail.boxes.get(runtime)?.put_aside.clone()
    }

    /// An agent was given a prompt: those of our messages that it is made of have arrived.
    async fn confirm(&mut self, runtime: &RuntimeId, prompt: &str, by: Receipt) {
        let post = &self.world.engine.state().mail;
        let Some(mailbox) = post.boxes.get(runtime) else { return };
        let is_its = |id: &MailId| post.get(id).is_some_and(|entry| entry.letter.to == *runtime);
        let letters: Vec<_> = mail::receipts(&mailbox.nonce, prompt).into_iter().filter(is_its).collect();
        self.log_receipt(MailFact::Confirmed { letters, by }).await;
    }

    /// Logs what an agent said it was given. It says so once: what cannot be logged now is logged later.
    async fn log_receipt(&mut self, receipt: MailFact) {
        let Ok(step) = self.world.engine.mail_step(receipt.clone()) else { return };
        if let Err(error) = self.commit(vec![step]).await {
            tracing::warn!(%error, "a receipt could not be logged yet");
            self.post.unlogged.push(receipt);
        }
    }

    async fn commit_mail(&mut self, step: Result<Fact, Refusal>) -> Result<(), CommandError> {
        self.commit(vec![step?]).await.map(|_| ())
    }

    fn entry(&self, id: &MailId) -> Result<Entry, CommandError> {
        let entry = self.world.engine.state().mail.get(id).cloned();
        entry.ok_or_else(|| CommandError::internal("a message that was just kept is not there"))
    }
}

impl Handle {
    /// Sends a message. Once this has succeeded it is on the disk.
    ///
    /// # Errors
    /// Refused by the post, or it cannot be kept.
    pub async fn post_mail(
        &self,
        sender: (Actor, String),
        new: NewLetter,
        text: String,
    ) -> Result<Entry, CommandError> {
        self.ask_post(|reply| MailAsk::Post { sender: Box::new(sender), new: Box::new(new), text, reply }).await
    }

    /// Takes a message back.
    ///
    /// # Errors
    /// Refused unless it waits.
    pub async fn cancel_mail(&self, id: MailId, by: String) -> Result<Entry, CommandError> {
        self.ask_post(|reply| MailAsk::Cancel { id, by, reply }).await
    }

    /// Says that an agent has something to do, with what and for how long, or that it has done it. Gives what it has to do now.
    ///
    /// # Errors
    /// Refused when the agent is over, or for longer than it may be.
    pub async fn mail_busy(
        &self,
        runtime: RuntimeId,
        with: Option<(String, Span)>,
        by: String,
    ) -> Result<Option<Busy>, CommandError> {
        self.ask_post(|reply| MailAsk::Busy { runtime, with, by, reply }).await
    }

    /// Sends a message anew to who goes on with the conversation of the agent that it was for. Gives what it is called now.
    ///
    /// # Errors
    /// Refused when that is not so any more, or it was sent anew already.
    pub async fn mail_again(&self, id: MailId, to: RuntimeId, text: String) -> Result<MailId, CommandError> {
        self.ask_post(|reply| MailAsk::Again { id, to, text, reply }).await
    }

    /// Logs a step of a delivery.
    ///
    /// # Errors
    /// Refused when the delivery is not under way any more.
    pub async fn mail_step(&self, step: MailFact) -> Result<(), CommandError> {
        self.ask_post(|reply| MailAsk::Step { step, reply }).await
    }

    /// What is to be given to an agent by its hook, which waits. Whoever asks delivers it, and says what came of it.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn mail_offer(&self, runtime: RuntimeId, opening: Opening) -> Result<Option<DeliveryId>, CommandError> {
        let (reply, chosen) = oneshot::channel();
        self.send(Input::Mail(Box::new(MailAsk::Offer { runtime, opening, reply }))).await?;
        chosen.await.map_err(|_closed| gone())
    }

    /// Keeps a person's text that a delivery puts aside. Once this has succeeded it is on the disk.
    ///
    /// # Errors
    /// Refused when the delivery is not under way any more, or it cannot be kept.
    pub async fn put_mail_aside(&self, delivery: DeliveryId, text: String) -> Result<(), CommandError> {
        self.ask_post(|reply| MailAsk::PutAside { delivery, text, reply }).await
    }

    /// Learns what an agent says it was given.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn mail_read(&self, runtime: RuntimeId, prompt: String, by: Receipt) -> Result<(), CommandError> {
        self.send(Input::Mail(Box::new(MailAsk::Read { runtime, prompt, by }))).await
    }

    /// Counts the steps of messages.
    pub fn mail_steps(&self) -> watch::Receiver<u64> {
        self.mail.clone()
    }

    async fn ask_post<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T, CommandError>>) -> MailAsk,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::Mail(Box::new(ask(reply)))).await?;
        answer.await.map_err(|_closed| gone())?
    }
}
