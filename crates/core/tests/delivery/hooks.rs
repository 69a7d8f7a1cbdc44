//! Hooks that their agent waits for: what they are given is what the agent reads, and no key is pressed.
//!
//! As `ingest/hooks/mailing.rs` does it: what is due is leased when the hook is heard, logged as offered before it has a word of it, and
//! what it says at last settles it. The hook is a process of its own, which outlives the daemon and does not outlive its agent.

use agtmux_core::mail::{DeliveryId, MailFact, Opening};

use crate::agent::{Hook, Point, Waiting, Word};
use crate::courier::{Courier, Outcome};
use crate::world::{Act, World};

impl World {
    /// What can happen to the hook that an agent waits for, without anything failing.
    pub(crate) fn acts_of_hook(&self, pane: usize) -> Option<Act> {
        let agent = &self.agents[pane];
        let waiting = agent.waiting.as_ref().filter(|_| agent.is_alive)?;
        match waiting.at {
            Point::Answered { .. } => Some(Act::PassOn(pane)),
            Point::Alone => Some(Act::GiveUp(pane)),
            // Who is not known yet cannot be asked for; the spool will tell.
            Point::Asked if self.is_misseen(agent) => Some(Act::GiveUp(pane)),
            Point::Gone if self.is_misseen(agent) => None,
            Point::Asked | Point::Gone => Some(Act::HearWaiting(pane)),
            Point::Heard | Point::Over { .. } => None,
        }
    }

    /// The daemon reads what a hook that waits has told, and chooses what it is given.
    pub(crate) fn hear_waiting(&mut self, pane: usize) {
        let agent = &self.agents[pane];
        let (runtime, is_going_on) = (agent.runtime(), agent.went_on > 0);
        let Some(Waiting { of_tool, at }) = agent.waiting.clone() else { return };
        let opening = if of_tool {
            Opening::ToolEnd
        } else {
            let answered = self.answered.entry(pane).or_default();
            *answered = if is_going_on { *answered + 1 } else { 0 };
            Opening::TurnEnd { background: 0, answered: *answered }
        };
        match self.engine.mail_due_at(&runtime, opening) {
            Some(due) => {
                self.choose(due, Courier::Chosen);
                let at = if at == Point::Gone { Point::Over { word: None } } else { Point::Heard };
                self.agents[pane].waiting = Some(Waiting { of_tool, at });
            }
            None => {
                self.agents[pane].waiting = None;
                if !of_tool {
                    self.agents[pane].rest();
                    // It is told at once, and what was told before was told before.
                    while !self.agents[pane].hooks.is_empty() {
                        self.act(&Act::Hook(pane));
                    }
                }
            }
        }
    }

    /// The next step of a delivery by a hook.
    pub(crate) fn carry_by_hook(
        &mut self,
        delivery: &DeliveryId,
        (pane, pid): (usize, u32),
        courier: Courier,
    ) -> Option<Courier> {
        let done = |outcome| Some(Courier::Done { outcome });
        // What a hook has said is read, whatever has become of its agent since.
        let mut everybody = self.agents.iter().chain(&self.dead);
        let agent = everybody.find(|agent| (agent.pane as usize, agent.pid) == (pane, pid))?;
        let at = agent.waiting.as_ref().map(|waiting| waiting.at.clone());
        let at = at.filter(|at| agent.is_alive || matches!(at, Point::Over { .. }));
        match (courier, at) {
            (Courier::Chosen, Some(Point::Heard)) => {
                let body = self.body_of(delivery);
                match body.filter(|_| self.step(MailFact::Offered { delivery: delivery.clone() })) {
                    Some(body) => Some(Courier::Offered { body }),
                    // It was taken back meanwhile: the hook is let go.
                    None => {
                        let of_tool = self.agents[pane].waiting.take()?.of_tool;
                        self.agents[pane].waiting = Some(Waiting { of_tool, at: Point::Alone });
                        None
                    }
                }
            }
            (Courier::Offered { body }, Some(Point::Heard)) => {
                let waiting = self.agents[pane].waiting.as_mut()?;
                waiting.at = Point::Answered { body };
                Some(Courier::Passing)
            }
            (Courier::Passing, Some(Point::Over { word: Some(Word::PassedOn) })) => {
                self.agents[pane].waiting = None;
                done(Outcome::Submitted)
            }
            (Courier::Passing, Some(Point::Over { word: None })) => {
                self.stops_after_all(pane);
                done(Outcome::Unconfirmed)
            }
            // It was never given a word of it, or has not read it, or says that it has passed nothing on.
            (_, _) => {
                self.stops_after_all(pane);
                done(Outcome::Returned)
            }
        }
    }

    /// An agent whose hook has nothing for it ends its turn, as the hook came to tell.
    fn stops_after_all(&mut self, pane: usize) {
        let agent = &mut self.agents[pane];
        let Some(waiting) = agent.waiting.take_if(|waiting| matches!(waiting.at, Point::Over { .. })) else { return };
        if !waiting.of_tool && agent.is_alive {
            let signal = agent.signal(&Hook::Stop, self.seq, self.now);
            signal.into_iter().for_each(|signal| self.log(signal));
        }
    }

    /// What a hook says is heard only by the daemon that it has told.
    pub(crate) fn forget_hooks(&mut self) {
        let is_by_hook =
            |courier: &Courier| matches!(courier, Courier::Chosen | Courier::Offered { .. } | Courier::Passing);
        let heard: Vec<_> = self.couriers.values().filter(|(_, _, courier)| is_by_hook(courier)).collect();
        for (pane, agent) in self.agents.iter_mut().enumerate() {
            let is_heard = heard.iter().any(|(at, pid, _)| (*at, *pid) == (pane, agent.pid));
            let Some(waiting) = &mut agent.waiting else { continue };
            match waiting.at {
                Point::Asked | Point::Heard if !self.is_up => waiting.at = Point::Alone,
                Point::Gone if !self.is_up => agent.waiting = None,
                Point::Over { .. } if !is_heard => agent.waiting = None,
                _ => {}
            }
        }
    }
}
