//! Servers of agents, which take a prompt without a key.
//!
//! As `act/hand_over.rs` does it: the server is asked what goes on, what it is to be given is logged as offered, and then it is asked, once,
//! to take it. What it says came of that settles it; if it says nothing, nobody can say. Requests are in its socket, and outlive the daemon
//! that made them. What it was given stands in its conversation, and whoever begins to listen reads that.

use std::collections::{BTreeMap, VecDeque};

use agtmux_core::mail::{DeliveryId, Given, MailFact, MailId, Receipt, Stage};

use crate::agent::{Agent, Hook, ids_in, is_command};
use crate::courier::{Courier, Outcome};
use crate::world::{Act, World};

/// What a server is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Interrupt { delivery: DeliveryId, letters: Vec<MailId> },
    Give { delivery: DeliveryId, body: String },
}

/// What whoever asked hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    Done,
    /// There was no turn to interrupt.
    Nothing,
    Refused,
    Silence,
}

/// An agent's own server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Server {
    /// Whether a daemon listens to it, and whether it gives it anything.
    pub(crate) is_heard: bool,
    pub(crate) is_open: bool,
    /// What the kernel keeps for it, whoever wrote it and whether they still live.
    pub(crate) socket: VecDeque<Request>,
    pub(crate) replies: BTreeMap<DeliveryId, Reply>,
    /// What it was given, as it stands in its conversation.
    pub(crate) record: Vec<String>,
}

impl Agent {
    /// What it was given stands in its conversation, and is told to whoever listens.
    pub(crate) fn keep(&mut self, text: String) {
        let Some(server) = &mut self.server else { return };
        server.record.push(text.clone());
        if server.is_heard {
            self.hooks.push_back(Hook::Served { text });
        }
    }

    /// Nobody listens to its server any more.
    pub(crate) fn fall_silent(&mut self) {
        self.hooks.retain(|hook| !matches!(hook, Hook::Served { .. }));
        self.server.iter_mut().for_each(|server| (server.is_heard, server.is_open) = (false, false));
    }
}

impl World {
    /// What can happen at an agent's server, without anything failing.
    pub(crate) fn acts_of_server(&self, pane: usize) -> impl Iterator<Item = Act> {
        let agent = &self.agents[pane];
        let server = agent.server.as_ref().filter(|_| agent.is_alive);
        let is_asked = server.is_some_and(|server| !server.socket.is_empty());
        let is_unheard = server.is_some_and(|server| !server.is_heard) && self.is_up && !self.is_misseen(agent);
        [(is_asked, Act::Serve(pane)), (is_unheard, Act::Connect(pane))]
            .into_iter()
            .filter(|(can, _)| *can)
            .map(|(_, act)| act)
    }

    /// What can fail there, besides the connection of whoever listens.
    pub(crate) fn failures_of_server(&self, pane: usize) -> Vec<Act> {
        let agent = &self.agents[pane];
        let Some(server) = agent.server.as_ref().filter(|_| agent.is_alive) else { return Vec::new() };
        let mut failures = Vec::new();
        if !server.socket.is_empty() {
            failures.extend([Act::ServeUnheard(pane), Act::RefuseToServe(pane), Act::LoseRequest(pane)]);
        }
        if self.asks(pane).is_some() {
            failures.push(Act::WaitNoMore(pane));
        }
        failures
    }

    /// Whether it makes a difference that an agent's server is heard: it has said something, or is about to be given something.
    pub(crate) fn is_missed(&self, pane: usize) -> bool {
        let agent = &self.agents[pane];
        let is_heard = agent.is_alive && agent.server.as_ref().is_some_and(|server| server.is_heard);
        let is_told = agent.hooks.iter().any(|hook| matches!(hook, Hook::Served { .. }));
        let needs_it = |courier: &Courier| matches!(courier, Courier::Leased | Courier::Seen { .. });
        is_heard && (is_told || self.couriers.values().any(|(at, _, courier)| *at == pane && needs_it(courier)))
    }

    /// The delivery for which somebody waits for the answer of a server.
    fn asks(&self, pane: usize) -> Option<DeliveryId> {
        let server = self.agents[pane].server.as_ref()?;
        let waits = |courier: &Courier| matches!(courier, Courier::Interrupting { .. } | Courier::Giving { .. });
        let mut asking = self
            .couriers
            .iter()
            .filter(|(_, (at, pid, courier))| waits(courier) && (*at, *pid) == (pane, self.agents[pane].pid));
        asking.find(|(delivery, _)| !server.replies.contains_key(*delivery)).map(|(delivery, _)| delivery.clone())
    }

    /// A daemon begins to listen, and reads what it has missed if it waits for that.
    pub(crate) fn connect(&mut self, pane: usize) {
        let runtime = self.agents[pane].runtime();
        let is_waited_for = self.engine.state().mail.waits_for_receipts(&runtime);
        let Some(server) = &mut self.agents[pane].server else { return };
        (server.is_heard, server.is_open) = (true, true);
        if is_waited_for {
            server.record.clone().iter().for_each(|given| self.confirm(&runtime, given, Receipt::Server));
        }
    }

    /// A server has a request, or nobody waits for what becomes of it.
    pub(crate) fn serve(&mut self, pane: usize, act: &Act) {
        let asks = self.asks(pane);
        let agent = &mut self.agents[pane];
        let Some(server) = &mut agent.server else { return };
        if matches!(act, Act::WaitNoMore(_)) {
            server.replies.extend(asks.map(|delivery| (delivery, Reply::Silence)));
            return;
        }
        let Some(request) = server.socket.pop_front() else { return };
        let (Request::Interrupt { delivery, .. } | Request::Give { delivery, .. }) = request.clone();
        let done = match (act, request) {
            (Act::LoseRequest(_), _) => Reply::Silence,
            (Act::RefuseToServe(_), _) => Reply::Refused,
            (_, Request::Interrupt { .. }) if !agent.works => Reply::Nothing,
            (_, Request::Interrupt { letters, .. }) => {
                agent.interrupt();
                self.interrupted.extend(letters);
                Reply::Done
            }
            (_, Request::Give { body, .. }) => {
                agent.give(&body);
                agent.keep(body.clone());
                self.note_pasted(&body);
                Reply::Done
            }
        };
        let reply = if matches!(act, Act::ServeUnheard(_)) { Reply::Silence } else { done };
        if let Some(server) = self.agents[pane].server.as_mut().filter(|_| asks.as_ref() == Some(&delivery)) {
            server.replies.insert(delivery, reply);
        }
    }

    /// Whether an agent can be given something by its server, as far as the daemon knows.
    pub(crate) fn has_door(&self, pane: usize, pid: u32) -> bool {
        let agent = &self.agents[pane];
        agent.is_alive && agent.pid == pid && agent.server.as_ref().is_some_and(|server| server.is_open)
    }

    /// Asks a server what goes on. Nothing is logged yet.
    pub(crate) fn look_in(&self, delivery: &DeliveryId, pane: usize) -> Option<Courier> {
        let body = self.body_of(delivery)?;
        let is_turn = self.agents[pane].works;
        if is_turn && !self.is_urgent(delivery) {
            return Some(Courier::Done { outcome: Outcome::Returned });
        }
        Some(Courier::Seen { body, is_turn })
    }

    /// The next step of a delivery by a server.
    pub(crate) fn carry_by_server(
        &mut self,
        delivery: &DeliveryId,
        (pane, pid): (usize, u32),
        courier: Courier,
    ) -> Option<Courier> {
        let has_door = self.has_door(pane, pid);
        let agent = &mut self.agents[pane];
        let is_there = agent.is_alive && agent.pid == pid;
        // Only the server of that process is asked, whoever has its port now. What it has said is read, if it has ended since.
        let mut server = agent.server.as_mut().filter(|_| agent.pid == pid);
        let refused = Some(Courier::Handed { given: Given::Refused(String::new()) });
        match courier {
            Courier::Seen { .. } if !has_door => refused,
            Courier::Seen { body, is_turn: true } => {
                let Some(server) = server.filter(|_| is_there) else { return refused };
                let letters = self.engine.state().mail.under_way(delivery).map(|(_, delivery)| &delivery.letters);
                let letters = letters.cloned().unwrap_or_default();
                server.socket.push_back(Request::Interrupt { delivery: delivery.clone(), letters });
                Some(Courier::Interrupting { body })
            }
            Courier::Seen { body, is_turn: false } => {
                let is_offered = self.step(MailFact::Offered { delivery: delivery.clone() });
                is_offered.then_some(Courier::Open { body })
            }
            Courier::Open { body } => {
                let Some(server) = server.filter(|_| is_there) else { return refused };
                server.socket.push_back(Request::Give { delivery: delivery.clone(), body: body.clone() });
                Some(Courier::Giving { body })
            }
            Courier::Interrupting { body } => match server.and_then(|server| server.replies.remove(delivery)) {
                Some(Reply::Done) => Some(Courier::Stopped { body }),
                Some(Reply::Nothing) => Some(Courier::Seen { body, is_turn: false }),
                _ => refused,
            },
            Courier::Stopped { body } => {
                let is_logged = self.step(MailFact::Interrupted { delivery: delivery.clone() });
                if is_logged { Some(Courier::Seen { body, is_turn: false }) } else { refused }
            }
            Courier::Giving { body } => {
                let reply = server.as_mut().and_then(|server| server.replies.remove(delivery));
                let has_it = is_there && server.as_ref().is_some_and(|server| server.record.contains(&body));
                let none = String::new();
                let given = match reply {
                    Some(Reply::Refused) => {
                        // What it refuses once it may refuse for ever, and the messages are typed instead.
                        server.into_iter().for_each(|server| server.is_open = false);
                        Given::Refused(none)
                    }
                    Some(Reply::Done) => Given::Taken(none),
                    Some(Reply::Nothing | Reply::Silence) | None if has_it => Given::Taken(none),
                    Some(Reply::Nothing | Reply::Silence) | None => Given::Unknown(none),
                };
                Some(Courier::Handed { given })
            }
            Courier::Handed { given } => {
                self.step(given.fact(delivery, "server"));
                None
            }
            _ => None,
        }
    }

    /// Whether an agent's server says that it was given what is called unconfirmed.
    pub(crate) fn is_unread(&self, agent: &Agent) -> bool {
        let record = agent.server.iter().filter(|_| agent.is_alive).flat_map(|server| &server.record);
        let unconfirmed = Stage::Ended { how: agtmux_core::mail::Ended::Unconfirmed };
        let is_unconfirmed =
            |id: MailId| self.engine.state().mail.get(&id).is_some_and(|entry| entry.stage == unconfirmed);
        record.filter(|text| !is_command(text)).flat_map(|text| ids_in(text)).any(is_unconfirmed)
    }
}
