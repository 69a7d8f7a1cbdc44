//! Whoever carries a delivery, as `act/deliver.rs` and `act/send.rs` do it: one step at a time, and the daemon can die between any two.

use agtmux_core::mail::{
    DeliveryId, Draft, Due, Given, Letter, MailFact, MailId, Mode, Sanitized, Trace, envelope, recovered,
};
use agtmux_core::time::Span;

use crate::agent::{Answer, Point, Request};
use crate::world::World;

/// When a person's text is looked at again.
const AGAIN: Span = Span::seconds(5);

/// How far a delivery is carried.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Courier {
    Leased,
    /// What it types is known, and room is made for it. Nothing is logged as started.
    Ready {
        body: String,
    },
    Started {
        body: String,
    },
    /// A turn was interrupted for it.
    Interrupted {
        body: String,
    },
    /// What a person has left in the composer is kept, and to be cleared.
    Aside {
        body: String,
    },
    Asked,
    Pasted,
    Submitting,
    /// Another daemon had it under way.
    Recovering,
    Questioned,
    /// Chosen for a hook that waits.
    Chosen,
    Offered {
        body: String,
    },
    Passing,
    /// The agent's server has said whether a turn is under way; it is asked to end that, and has; the log says that the server is given
    /// the message; and it is asked to take it.
    Seen {
        body: String,
        is_turn: bool,
    },
    Open {
        body: String,
    },
    Interrupting {
        body: String,
    },
    Stopped {
        body: String,
    },
    Giving {
        body: String,
    },
    /// What came of that, to be logged.
    Handed {
        given: Given,
    },
    /// What a person left is to be put back; and was.
    PuttingBack,
    PutBack,
    Done {
        outcome: Outcome,
    },
}

/// What came of it, to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    Returned,
    Submitted,
    Unconfirmed,
}

impl World {
    pub(crate) fn can_go_on(&self, delivery: &DeliveryId) -> bool {
        let (pane, pid, courier) = &self.couriers[delivery];
        let agent = &self.agents[*pane];
        let is_there = agent.is_alive && agent.pid == *pid;
        match courier {
            Courier::Asked | Courier::Submitting | Courier::Questioned => {
                !is_there || agent.answers.contains_key(delivery)
            }
            Courier::Interrupting { .. } | Courier::Giving { .. } => {
                !is_there || agent.server.as_ref().is_none_or(|server| server.replies.contains_key(delivery))
            }
            // Its server would say for ever that a turn is under way.
            Courier::Leased if self.has_door(*pane, *pid) && !self.is_command(delivery) => {
                !agent.works || self.is_urgent(delivery) || !self.has_failed(delivery)
            }
            // It would be refused and tried again for ever; what keeps it away is taken away first.
            Courier::Ready { .. } => !is_there || agent.composer.is_none(),
            Courier::Passing => {
                !is_there || agent.waiting.as_ref().is_none_or(|hook| matches!(hook.at, Point::Over { .. }))
            }
            // Whatever else is in the composer is there first.
            Courier::PuttingBack => {
                let is_free = agent.draft.is_none() || agent.draft.as_ref() == self.texts.get(&kept(delivery));
                !is_there || agent.composer.is_none() && is_free
            }
            _ => true,
        }
    }

    /// Leases what is due. `courier` carries it.
    pub(crate) fn choose(&mut self, due: Due, courier: Courier) {
        self.deliveries += 1;
        let delivery = DeliveryId::new(format!("dl_{}", self.deliveries));
        let living = self.engine.state().topology.live(&due.runtime).unwrap();
        let (pane, pid) = (living.pane.pane.0 as usize, living.process.pid);
        let leased = MailFact::Leased { delivery: delivery.clone(), runtime: due.runtime, letters: due.letters };
        if self.step(leased) {
            self.couriers.insert(delivery, (pane, pid, courier));
        }
    }

    pub(crate) fn carry(&mut self, delivery: &DeliveryId) {
        let Some((pane, pid, courier)) = self.couriers.remove(delivery) else { return };
        let next = match courier {
            Courier::Chosen | Courier::Offered { .. } | Courier::Passing => {
                self.carry_by_hook(delivery, (pane, pid), courier)
            }
            Courier::PuttingBack | Courier::PutBack => self.carry_back(delivery, (pane, pid), &courier),
            Courier::Leased if self.has_door(pane, pid) && !self.is_command(delivery) => self.look_in(delivery, pane),
            Courier::Seen { .. }
            | Courier::Open { .. }
            | Courier::Interrupting { .. }
            | Courier::Stopped { .. }
            | Courier::Giving { .. }
            | Courier::Handed { .. } => self.carry_by_server(delivery, (pane, pid), courier),
            courier => self.carry_by_keys(delivery, (pane, pid), courier),
        };
        let is_done = next.is_none();
        if let Some(next) = next {
            self.couriers.insert(delivery.clone(), (pane, pid, next));
        }
        let kept = Draft::kept_as(delivery).filter(|kept| is_done && self.engine.state().mail.is_put_aside(kept));
        kept.iter().for_each(|kept| self.put_back(kept));
    }

    fn carry_by_keys(&mut self, delivery: &DeliveryId, (pane, pid): (usize, u32), courier: Courier) -> Option<Courier> {
        let is_urgent = self.is_urgent(delivery);
        let agent = &mut self.agents[pane];
        let is_there = agent.is_alive && agent.pid == pid;
        let done = |outcome| Some(Courier::Done { outcome });
        match courier {
            Courier::Leased => self.body_of(delivery).map(|body| Courier::Ready { body }),
            // The guard inside tmux refuses another process.
            Courier::Ready { .. } | Courier::Started { .. } | Courier::Interrupted { .. } | Courier::Aside { .. }
                if !is_there =>
            {
                done(Outcome::Returned)
            }
            Courier::Ready { .. } | Courier::Started { .. } if agent.composer.is_some() => done(Outcome::Returned),
            // The hook of an agent that wants to end its turn is left to it.
            Courier::Ready { body } if is_urgent && agent.works && agent.waiting.is_none() => {
                agent.interrupt();
                let letters = self.engine.state().mail.under_way(delivery).map(|(_, delivery)| &delivery.letters);
                self.interrupted.extend(letters.into_iter().flatten().cloned());
                Some(Courier::Interrupted { body })
            }
            Courier::Interrupted { body } => {
                let is_logged = self.step(MailFact::Interrupted { delivery: delivery.clone() });
                if is_logged { Some(Courier::Ready { body }) } else { done(Outcome::Returned) }
            }
            Courier::Ready { body } if agent.draft.is_some() => self.make_room(delivery, pane, body),
            Courier::Aside { body } => {
                agent.draft = None;
                Some(Courier::Ready { body })
            }
            Courier::Ready { body } => self.begin(delivery, body),
            // The guard inside tmux, or the wrapper, knows that somebody has typed since.
            Courier::Started { .. } if agent.draft.is_some() => done(Outcome::Returned),
            Courier::Started { body } if agent.is_wrapped => {
                agent.socket.push_back(Request::Inject { delivery: delivery.clone(), body });
                Some(Courier::Asked)
            }
            Courier::Started { body } => {
                agent.composer = Some((delivery.clone(), body.clone()));
                self.note_pasted(&body);
                Some(Courier::Pasted)
            }
            Courier::Asked => match agent.answers.remove(delivery).filter(|_| is_there) {
                Some(Answer::Accepted) => {
                    agent.socket.push_back(Request::Submit { delivery: delivery.clone() });
                    Some(Courier::Submitting)
                }
                Some(Answer::Busy) => done(Outcome::Returned),
                _ => done(Outcome::Unconfirmed),
            },
            Courier::Pasted if !is_there => done(Outcome::Unconfirmed),
            Courier::Pasted => {
                agent.enter();
                done(Outcome::Submitted)
            }
            Courier::Submitting => match agent.answers.remove(delivery).filter(|_| is_there) {
                Some(Answer::Submitted) => done(Outcome::Submitted),
                _ => done(Outcome::Unconfirmed),
            },
            Courier::Recovering => {
                let under_way = self.engine.state().mail.under_way(delivery).map(|(_, under_way)| under_way);
                let trace = match under_way.map(|under_way| (under_way.started, under_way.by_hook))? {
                    (false, _) => Trace::NotStarted,
                    (true, true) => Trace::Offered,
                    (true, false) if is_there && agent.is_wrapped => {
                        agent.socket.push_back(Request::State { delivery: delivery.clone() });
                        return Some(Courier::Questioned);
                    }
                    (true, false) => Trace::Nothing { why: None },
                };
                self.step(recovered(delivery, &trace));
                None
            }
            Courier::Questioned => {
                let trace = match agent.answers.remove(delivery).filter(|_| is_there) {
                    Some(Answer::Unseen) => Trace::Unseen,
                    Some(Answer::Submitted) => Trace::Submitted,
                    Some(_) => Trace::Unfinished,
                    None => Trace::Nothing { why: None },
                };
                self.step(recovered(delivery, &trace));
                None
            }
            Courier::Done { outcome } => {
                let (id, why) = (delivery.clone(), String::new());
                self.step(match outcome {
                    Outcome::Returned => MailFact::Returned { delivery: id, why },
                    Outcome::Unconfirmed => MailFact::Unconfirmed { delivery: id, why },
                    Outcome::Submitted => {
                        let by_hook =
                            self.engine.state().mail.under_way(&id).is_some_and(|(_, under_way)| under_way.by_hook);
                        let channel = if by_hook { "hook" } else { "keys" }.to_owned();
                        MailFact::Submitted { delivery: id, channel, evidence: why }
                    }
                });
                None
            }
            // Whoever carries it so is not asked here.
            _ => None,
        }
    }

    /// Puts a person's text aside for a delivery, if it may; else it is noted what is in the way.
    fn make_room(&mut self, delivery: &DeliveryId, pane: usize, body: String) -> Option<Courier> {
        let (id, draft) = (delivery.clone(), self.agents[pane].draft.clone()?);
        if self.engine.may_put_aside(delivery, self.stale).allows(&draft) {
            self.texts.insert(Draft::kept_as(delivery)?, draft);
            if self.step(MailFact::SetAside { delivery: id }) {
                return Some(Courier::Aside { body });
            }
        } else {
            self.step(MailFact::InTheWay { delivery: id, digest: Draft::digest_of(&draft), again: AGAIN, stuck: None });
        }
        Some(Courier::Done { outcome: Outcome::Returned })
    }

    /// Somebody's text, kept under this id, is to be put back.
    pub(crate) fn put_back(&mut self, kept: &MailId) {
        let mut put_aside = self.engine.state().mail.put_aside();
        let Some((runtime, _)) = put_aside.find(|(_, id)| *id == kept) else { return };
        let Some(living) = self.engine.state().topology.live(runtime) else { return };
        let place = (living.pane.pane.0 as usize, living.process.pid, Courier::PuttingBack);
        drop(put_aside);
        self.couriers.insert(DeliveryId::new(kept.as_str()), place);
    }

    fn carry_back(&mut self, id: &DeliveryId, (pane, pid): (usize, u32), courier: &Courier) -> Option<Courier> {
        let agent = &mut self.agents[pane];
        if !agent.is_alive || agent.pid != pid {
            return None;
        }
        if *courier == Courier::PuttingBack {
            // Where it is already, as after a daemon that could not say so any more, it is left alone.
            agent.draft = Some(self.texts[&kept(id)].clone());
            return Some(Courier::PutBack);
        }
        let runtime = agent.runtime();
        self.step(MailFact::PutBack { runtime });
        None
    }

    fn has_failed(&self, delivery: &DeliveryId) -> bool {
        let mail = &self.engine.state().mail;
        mail.under_way(delivery).is_some_and(|(runtime, _)| mail.boxes[runtime].failures > 0)
    }

    pub(crate) fn is_urgent(&self, delivery: &DeliveryId) -> bool {
        self.has_letter(delivery, |letter| letter.mode == Mode::Urgent)
    }

    fn is_command(&self, delivery: &DeliveryId) -> bool {
        self.has_letter(delivery, |letter| letter.command)
    }

    fn has_letter(&self, delivery: &DeliveryId, is_such: impl Fn(&Letter) -> bool) -> bool {
        let mail = &self.engine.state().mail;
        let letters = mail.under_way(delivery).map(|(_, delivery)| &delivery.letters);
        let mut letters = letters.into_iter().flatten().filter_map(|id| mail.get(id));
        letters.any(|entry| is_such(&entry.letter))
    }

    /// Logs that a delivery is started, right before the first byte.
    fn begin(&mut self, delivery: &DeliveryId, body: String) -> Option<Courier> {
        self.step(MailFact::Started { delivery: delivery.clone() }).then_some(Courier::Started { body })
    }

    /// What an agent is given by a delivery.
    pub(crate) fn body_of(&self, delivery: &DeliveryId) -> Option<String> {
        let mail = &self.engine.state().mail;
        let (runtime, under_way) = mail.under_way(delivery)?;
        self.engine.state().topology.live(runtime)?;
        let letters: Vec<_> = under_way.letters.iter().map(|id| mail.get(id).unwrap().letter.clone()).collect();
        let bodies: Vec<_> = letters.iter().map(|letter| Sanitized::new(&self.texts[&letter.id]).unwrap()).collect();
        Some(envelope(&mail.boxes[runtime].nonce, letters.iter().zip(&bodies)))
    }
}

/// The id under which a text is kept, of whoever carries it.
fn kept(id: &DeliveryId) -> MailId {
    MailId::parse(id.as_str()).unwrap()
}
