//! The daemon between people who write and agents who are given it: one step at a time, in any order.
//!
//! The post office is the real one. What is a copy is the order in which `daemon/mail.rs` and `act/deliver.rs` ask it, and every place
//! in which a daemon can die is a place between two steps here. What is logged outlives the daemon, all else does not.

use std::collections::{BTreeMap, BTreeSet};

use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact};
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{
    Category, DeliveryId, Ended, Letter, Limits, MailFact, MailId, Mode, NewLetter, Party, Posted, Receipt, Stage,
    Wanted, receipts,
};
use agtmux_core::time::{Span, Timestamp};

use crate::agent::{Agent, COMMAND, Hook, Typed, Word, ended, ids_in, is_command, placed, server_seen, started};
use crate::courier::Courier;
use crate::server::Server;

/// A step of anybody. Numbers are panes, or deliveries where it says so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Act {
    /// The main loop chooses what can be delivered.
    Lease,
    /// Whoever carries this delivery takes the next step.
    Carry(DeliveryId),
    /// The wrapper takes the next request.
    Take(usize),
    /// The same, while somebody types.
    Refuse(usize),
    /// The wrapper has waited too long for leave to submit.
    Leave(usize),
    /// A person takes away what is in the composer, or submits it.
    Clear(usize),
    Enter(usize),
    /// The agent ends its turn.
    Rest(usize),
    /// The agent wants to end its turn, or has used a tool, and waits for its hook.
    Ask(usize),
    AskAfterTool(usize),
    /// The daemon reads what a hook that waits has told.
    HearWaiting(usize),
    /// The hook passes on what it was given; it says so, or is killed before it can.
    PassOn(usize),
    PassOnUnsaid(usize),
    /// The hook has waited too long, or is killed.
    GiveUp(usize),
    KillHook(usize),
    /// The daemon begins to listen to an agent's server, and reads what it has missed; or the connection is lost.
    Connect(usize),
    Disconnect(usize),
    /// An agent's server takes the next request; its answer is lost; it refuses; or the request itself is lost.
    Serve(usize),
    ServeUnheard(usize),
    RefuseToServe(usize),
    LoseRequest(usize),
    /// Nobody waits for the answer any more, and the request is still there.
    WaitNoMore(usize),
    /// The daemon takes what an agent said; or it is lost.
    Hook(usize),
    LoseHook(usize),
    KillAgent(usize),
    Respawn(usize),
    /// The daemon sees that an agent has gone or come.
    Look(usize),
    KillDaemon,
    StartDaemon,
    /// Time passes until something is due.
    Pass,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) now: i64,
    pub(crate) seq: u64,
    pub(crate) is_up: bool,
    pub(crate) couriers: BTreeMap<DeliveryId, (usize, u32, Courier)>,
    pub(crate) agents: Vec<Agent>,
    /// Those that were in the panes before.
    pub(crate) dead: Vec<Agent>,
    pub(crate) texts: BTreeMap<MailId, String>,
    pub(crate) accepted: Vec<Letter>,
    /// How often which message was put into a composer.
    pub(crate) pasted: BTreeMap<MailId, usize>,
    pub(crate) deliveries: u32,
    /// The messages for which a turn was interrupted.
    pub(crate) interrupted: BTreeSet<MailId>,
    /// Messages that have come to an end. Many later they are remembered no more.
    pub(crate) over: BTreeSet<MailId>,
    /// How often in a row the daemon saw each agent go on with its turn.
    pub(crate) answered: BTreeMap<usize, u32>,
    /// How long a person's text has to be left alone before it may be put aside.
    pub(crate) stale: Span,
}

impl World {
    /// A world with agents, in the wrapper or not, that have nothing to do.
    pub(crate) fn new(agents: &[bool]) -> Self {
        let mut world = Self {
            engine: Engine::new(),
            now: 1_000,
            seq: 0,
            is_up: true,
            couriers: BTreeMap::new(),
            agents: Vec::new(),
            dead: Vec::new(),
            texts: BTreeMap::new(),
            accepted: Vec::new(),
            pasted: BTreeMap::new(),
            deliveries: 0,
            interrupted: BTreeSet::new(),
            over: BTreeSet::new(),
            answered: BTreeMap::new(),
            stale: Span::seconds(10),
        };
        world.log(server_seen());
        for (pane, is_wrapped) in agents.iter().enumerate() {
            let agent = Agent::new(u32::try_from(pane).unwrap(), 100 * (1 + u32::try_from(pane).unwrap()), *is_wrapped);
            world.log(placed(agent.pane));
            world.log(started(agent.pane, agent.pid));
            world.agents.push(agent);
            world.act(&Act::Hook(pane));
        }
        world
    }

    pub(crate) fn log(&mut self, fact: Fact) {
        self.seq += 1;
        self.engine.apply(&Event { v: FORMAT, seq: self.seq, at: Timestamp(self.now), fact });
    }

    pub(crate) fn step(&mut self, step: MailFact) -> bool {
        let fact = self.engine.mail_step(step);
        fact.map(|fact| self.log(fact)).is_ok()
    }

    /// A letter to whoever is in a pane, as far as the daemon knows.
    pub(crate) fn letter(&self, id: &str, pane: usize) -> Letter {
        let text = format!("text of {id}");
        let known =
            self.engine.state().topology.runtimes.values().filter(|runtime| runtime.pane.pane.0 as usize == pane);
        let to = known.map(|runtime| runtime.id.clone()).find(|id| self.engine.state().topology.live(id).is_some());
        Letter {
            id: MailId::parse(id).unwrap(),
            to: to.unwrap_or_else(|| self.agents[pane].runtime()),
            to_name: "api".to_owned(),
            from: Party::Person { uid: 1_000, name: "me".to_owned() },
            mode: Mode::Sequential,
            category: Category::Mail,
            bytes: text.len() as u64,
            digest: Letter::digest_of(&text),
            preview: text,
            queued_at: Timestamp(self.now),
            timeout: None,
            reply_to: None,
            hops: 0,
            not_before: None,
            every: None,
            series: None,
            again: None,
            command: false,
            wanted: Wanted::default(),
        }
    }

    /// Somebody sends a letter. Says whether it was accepted, now or before.
    pub(crate) fn post(&mut self, letter: Letter, delay: Option<Span>) -> bool {
        let (id, text) = (letter.id.clone(), letter.preview.clone());
        match self.engine.post(Limits::default(), NewLetter { letter, nonce: format!("w{:03}", self.seq), delay }) {
            Ok(Posted::New(facts)) => {
                facts.into_iter().for_each(|fact| self.log(fact));
                self.texts.insert(id.clone(), text);
                self.accepted.push(self.engine.state().mail.get(&id).unwrap().letter.clone());
                true
            }
            Ok(Posted::Known(_)) => true,
            Err(_) => false,
        }
    }

    /// What can happen by itself, without anything failing.
    pub(crate) fn acts(&self) -> Vec<Act> {
        let mut acts = Vec::new();
        if self.is_up {
            if !self.engine.mail_due(10).is_empty() {
                acts.push(Act::Lease);
            }
            acts.extend(self.couriers.keys().filter(|id| self.can_go_on(id)).map(|id| Act::Carry(id.clone())));
            // Who is gone is missed before the next try, or there would be tries without end.
            if self.has_deadline() && !self.agents.iter().any(|agent| self.is_misseen(agent)) {
                acts.push(Act::Pass);
            }
        } else {
            acts.push(Act::StartDaemon);
        }
        for (pane, agent) in self.agents.iter().enumerate() {
            if agent.is_alive && !agent.socket.is_empty() {
                acts.push(Act::Take(pane));
            }
            acts.extend(self.acts_of_hook(pane));
            acts.extend(self.acts_of_server(pane));
            if agent.is_alive && agent.works && agent.waiting.is_none() {
                acts.push(if agent.reads && self.is_up { Act::Ask(pane) } else { Act::Rest(pane) });
            }
            if agent.is_alive && self.is_left_over(agent) {
                acts.extend([Act::Clear(pane), Act::Enter(pane)]);
            }
            if self.is_up && self.is_misseen(agent) {
                acts.push(Act::Look(pane));
            } else if self.is_up && !agent.hooks.is_empty() {
                acts.push(Act::Hook(pane));
            }
        }
        acts
    }

    /// Whether a text is in the composer that nobody is about to submit.
    fn is_left_over(&self, agent: &Agent) -> bool {
        agent.composer.as_ref().is_some_and(|(delivery, _)| {
            let carried = self.couriers.get(delivery).map(|(_, _, courier)| courier);
            !matches!(carried, Some(Courier::Asked | Courier::Pasted | Courier::Submitting))
        })
    }

    pub(crate) fn is_misseen(&self, agent: &Agent) -> bool {
        let topology = &self.engine.state().topology;
        let mut live = topology.runtimes.values().filter(|known| topology.live(&known.id).is_some());
        let seen = live.find(|known| known.pane.pane.0 == agent.pane).map(|known| known.id.clone());
        seen != agent.is_alive.then(|| agent.runtime())
    }

    fn has_deadline(&self) -> bool {
        let mail = &self.engine.state().mail;
        let waits = mail.letters.values().any(|entry| match entry.stage {
            Stage::Queued => entry.waits_until.is_some() || entry.letter.timeout.is_some(),
            Stage::Submitted => true,
            Stage::Leased | Stage::Started | Stage::Ended { .. } => false,
        });
        // After an interrupt of the person's mail waits for a while.
        let is_kept = |runtime: &RuntimeId| self.engine.interrupted_until(runtime).is_some();
        waits
            || mail
                .boxes
                .iter()
                .any(|(runtime, mailbox)| mailbox.retry_at.is_some() || !mailbox.queue.is_empty() && is_kept(runtime))
    }

    pub(crate) fn act(&mut self, act: &Act) {
        match act {
            Act::Lease => self.lease(),
            Act::Carry(delivery) => self.carry(delivery),
            Act::Take(pane) | Act::Refuse(pane) => {
                let body = self.agents[*pane].take(matches!(act, Act::Refuse(_)));
                self.note_pasted(&body.unwrap_or_default());
            }
            Act::Leave(pane) => {
                let agent = &mut self.agents[*pane];
                if let Some((delivery, _)) = &agent.composer {
                    agent.seen.insert(delivery.clone(), Typed::Left);
                }
            }
            Act::Clear(pane) => self.agents[*pane].composer = None,
            Act::Enter(pane) => self.agents[*pane].enter(),
            Act::Rest(pane) => self.agents[*pane].rest(),
            Act::Ask(pane) | Act::AskAfterTool(pane) => self.agents[*pane].ask(matches!(act, Act::AskAfterTool(_))),
            Act::HearWaiting(pane) => self.hear_waiting(*pane),
            Act::PassOn(pane) | Act::PassOnUnsaid(pane) => {
                let word = matches!(act, Act::PassOn(_)).then_some(Word::PassedOn);
                let read = self.agents[*pane].pass_on(word);
                self.note_pasted(&read.unwrap_or_default());
                self.forget_hooks();
            }
            Act::GiveUp(pane) | Act::KillHook(pane) => {
                self.agents[*pane].give_up(matches!(act, Act::GiveUp(_)).then_some(Word::Left));
                self.forget_hooks();
            }
            Act::Connect(pane) => self.connect(*pane),
            Act::Disconnect(pane) => self.agents[*pane].fall_silent(),
            Act::Serve(pane)
            | Act::ServeUnheard(pane)
            | Act::RefuseToServe(pane)
            | Act::LoseRequest(pane)
            | Act::WaitNoMore(pane) => self.serve(*pane, act),
            Act::Hook(pane) => self.hear(*pane),
            Act::LoseHook(pane) => drop(self.agents[*pane].hooks.pop_front()),
            Act::KillAgent(pane) => self.agents[*pane].is_alive = false,
            Act::Respawn(pane) => {
                let old = &mut self.agents[*pane];
                let server = old.server.as_ref().map(|_| Server::default());
                let new = Agent { reads: old.reads, server, ..Agent::new(old.pane, old.pid + 1, old.is_wrapped) };
                self.dead.push(std::mem::replace(old, new));
            }
            Act::Look(pane) => self.look(*pane),
            Act::KillDaemon => {
                self.is_up = false;
                self.couriers.clear();
                self.answered.clear();
                for agent in &mut self.agents {
                    agent.answers.clear();
                    agent.server.iter_mut().for_each(|server| server.replies.clear());
                    agent.fall_silent();
                }
                self.forget_hooks();
                self.engine = Engine::restore(self.engine.state().clone());
            }
            Act::StartDaemon => self.start(),
            Act::Pass => {
                let deadline = self.engine.next_deadline().map_or(self.now, |deadline| deadline.0);
                self.now = self.now.max(deadline);
                self.log(Fact::Tick);
            }
        }
    }

    fn lease(&mut self) {
        for due in self.engine.mail_due(10) {
            self.choose(due, Courier::Leased);
        }
    }

    /// The daemon is there again: it looks who is there first, and then after what another one left.
    fn start(&mut self) {
        self.is_up = true;
        for pane in 0..self.agents.len() {
            self.look(pane);
        }
        let boxes = &self.engine.state().mail.boxes;
        let under_way = boxes.iter().filter_map(|(runtime, mailbox)| Some((runtime, mailbox.under_way.as_ref()?)));
        let under_way: Vec<_> = under_way.map(|(runtime, delivery)| (runtime.clone(), delivery.id.clone())).collect();
        for (runtime, delivery) in under_way {
            let Some(living) = self.engine.state().topology.live(&runtime) else { continue };
            let place = (living.pane.pane.0 as usize, living.process.pid, Courier::Recovering);
            self.couriers.insert(delivery, place);
        }
        let put_aside: Vec<_> = self.engine.state().mail.put_aside().map(|(_, kept)| kept.clone()).collect();
        put_aside.iter().for_each(|kept| self.put_back(kept));
    }

    fn look(&mut self, pane: usize) {
        let agent = self.agents[pane].clone();
        let gone = self.dead.iter().filter(|dead| dead.pane == agent.pane).cloned();
        for gone in gone.chain((!agent.is_alive).then(|| agent.clone())).collect::<Vec<_>>() {
            if self.engine.state().topology.live(&gone.runtime()).is_some() {
                self.log(ended(gone.pane, gone.pid));
            }
        }
        if agent.is_alive && self.is_misseen(&agent) {
            self.log(started(agent.pane, agent.pid));
        }
    }

    fn hear(&mut self, pane: usize) {
        let Some(hook) = self.agents[pane].hooks.pop_front() else { return };
        let (runtime, signal) = (self.agents[pane].runtime(), self.agents[pane].signal(&hook, self.seq, self.now));
        signal.into_iter().for_each(|signal| self.log(signal));
        match hook {
            Hook::Prompt { text } => self.confirm(&runtime, &text, Receipt::Hook),
            Hook::Record { text } => self.confirm(&runtime, &text, Receipt::Transcript),
            Hook::Served { text } => self.confirm(&runtime, &text, Receipt::Server),
            Hook::Stop | Hook::Interrupted => {}
        }
    }

    /// As the daemon does with the prompt of a hook, or with what stands in the record.
    pub(crate) fn confirm(&mut self, runtime: &RuntimeId, prompt: &str, by: Receipt) {
        let post = &self.engine.state().mail;
        let Some(mailbox) = post.boxes.get(runtime) else { return };
        let is_its = |id: &MailId| post.get(id).is_some_and(|entry| entry.letter.to == *runtime);
        let letters = receipts(&mailbox.nonce, prompt).into_iter().filter(is_its).collect();
        self.step(MailFact::Confirmed { letters, by });
    }

    pub(crate) fn note_pasted(&mut self, body: &str) {
        ids_in(body).for_each(|id| *self.pasted.entry(id).or_default() += 1);
    }

    /// Everybody who is or was there.
    fn everybody(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter().chain(&self.dead)
    }

    /// What must hold after every step. Gives what does not.
    pub(crate) fn objection(&self) -> Option<String> {
        let is_mixed = |agent: &Agent| agent.draft.is_some() && agent.composer.is_some();
        if self.agents.iter().any(is_mixed) {
            return Some("a message was typed into a person's text".to_owned());
        }
        if let Some(agent) = self.agents.iter().find(|agent| agent.is_alive && self.has_lost_draft(agent)) {
            return Some(format!("a person's text is gone: {agent:#?}"));
        }
        if let Some(text) =
            self.everybody().flat_map(Agent::texts).find(|text| text.contains(COMMAND) && !is_command(text))
        {
            return Some(format!("a command became a part of a prompt: {text}"));
        }
        self.accepted.iter().find_map(|letter| {
            let wrong = self.wrong_with(letter)?;
            Some(format!("{wrong}: {:#?}", self.engine.state().mail.get(&letter.id)))
        })
    }

    /// Whether what a person has left is neither where they left it nor kept for them.
    fn has_lost_draft(&self, agent: &Agent) -> bool {
        let mailbox = self.engine.state().mail.boxes.get(&agent.runtime());
        let kept = mailbox.and_then(|mailbox| self.texts.get(mailbox.put_aside.as_ref()?));
        agent.left.is_some() && agent.draft != agent.left && kept != agent.left.as_ref()
    }

    fn wrong_with(&self, letter: &Letter) -> Option<&'static str> {
        let mail = &self.engine.state().mail;
        let Some(entry) = mail.get(&letter.id) else {
            return (!self.over.contains(&letter.id)).then_some("lost");
        };
        let queued = mail.boxes.values().flat_map(|mailbox| &mailbox.queue).filter(|id| **id == letter.id).count();
        let under_way = mail.boxes.values().filter_map(|mailbox| mailbox.under_way.as_ref());
        let carried: Vec<_> = under_way.filter(|delivery| delivery.letters.contains(&letter.id)).collect();
        let is_started = carried.iter().any(|delivery| delivery.started);
        let place = (queued, carried.len(), is_started);
        let is_placed = match entry.stage {
            Stage::Queued => place == (1, 0, false),
            Stage::Leased => place == (0, 1, false),
            Stage::Started => place == (0, 1, true),
            Stage::Submitted => place == (0, 0, false),
            Stage::Ended { how: Ended::Confirmed } => queued == 0,
            Stage::Ended { .. } => place == (0, 0, false),
        };
        let pasted = self.pasted.get(&letter.id).copied().unwrap_or(0);
        let given: usize = self.everybody().filter_map(|agent| agent.given.get(&letter.id)).sum();
        let others = self.everybody().filter(|agent| agent.runtime() != letter.to);
        let elsewhere: usize = others.filter_map(|agent| agent.given.get(&letter.id)).sum();
        let is_early = entry.letter.not_before.is_some_and(|at| self.now < at.0);
        match entry.stage.ended() {
            _ if !is_placed => Some("in no place, or in two"),
            _ if pasted > 1 => Some("typed twice"),
            _ if given > 1 => Some("given twice"),
            _ if elsewhere > 0 => Some("given to somebody else"),
            _ if is_early && pasted > 0 => Some("typed too early"),
            _ if entry.interrupted && !self.interrupted.contains(&letter.id) => Some("nothing was interrupted for it"),
            _ if letter.command && entry.channel.as_ref().is_some_and(|way| way == "hook" || way == "server") => {
                Some("given as words")
            }
            Some(Ended::Confirmed) if letter.command => Some("confirmed, and nobody could say so"),
            Some(Ended::Confirmed) if given == 0 => Some("confirmed, and never given"),
            Some(Ended::Expired | Ended::Cancelled | Ended::Dead) if pasted > 0 => {
                Some("typed, and said not to be delivered")
            }
            _ => None,
        }
    }

    /// Whether every message has come to an end, every person has their text again, and nothing that an agent's server says was given is
    /// called unconfirmed.
    pub(crate) fn is_over(&self) -> bool {
        let is_back = |agent: &Agent| !agent.is_alive || agent.draft == agent.left;
        self.accepted.iter().all(|letter| self.engine.state().mail.is_over(&letter.id))
            && self.agents.iter().all(is_back)
            && !self.agents.iter().any(|agent| self.is_unread(agent))
    }
}
