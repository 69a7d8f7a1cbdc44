//! Messages that an agent is given by its own server: no key is pressed, and what a person has typed stays as it is.
//!
//! The server is asked first which conversation the pane shows and what goes on in it. What cannot be said for sure, or what the server
//! refuses, is typed instead. It is logged as offered before the server has a word of it, as with a hook: nothing but what the agent
//! itself says it was given can tell afterwards how far that got, and it is never given again without proof that it was not taken.

use std::path::Path;
use std::sync::Arc;

use agtmux_core::action::{Conditions, Verb, Wish};
use agtmux_core::id::ActionId;
use agtmux_core::mail::{DeliveryId, MailFact, Mode};
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::{PaneId, Plain};
use agtmux_wire::action::Aim;
use agtmux_wire::error::ErrorCode;
use tokio::time::timeout;

use super::aim::{STEP_DEADLINE, mark};
use super::deliver::RECORD;
use super::send::agtmux_itself;
use super::{Done, Hands};
use crate::daemon::delivery::Load;
use crate::daemon::doors::{At, Door, Given, Sight, WAITS};
use crate::error::CommandError;

/// What came of it.
pub(super) enum Handed {
    /// It is to be typed; nobody else can be given it.
    No,
    /// This, if it is wanted at all.
    Over(Option<MailFact>),
}

/// What is given, and to whom.
struct Gift {
    hands: Hands,
    load: Load,
    delivery: DeliveryId,
    door: Arc<dyn Door>,
    sight: Sight,
    text: String,
}

impl Hands {
    /// Gives a delivery, which is not started yet, to the agent's own server, if that can take it.
    pub(super) async fn hand_over(&self, delivery: &DeliveryId) -> Handed {
        let Some(load) = self.handle.load_delivery(delivery).await else { return Handed::Over(None) };
        // To a server a command would be words.
        let door = self.handle.doors().to(&load.runtime).filter(|_| !load.is_command());
        let Some(door) = door else { return Handed::No };
        let sight = match self.look_in(&load, door.as_ref()).await {
            Ok(sight) => sight,
            Err(why) => {
                tracing::debug!(%why, server = door.name(), %delivery, "a server is not given a message");
                return Handed::No;
            }
        };
        let returned = |why: String| Handed::Over(Some(MailFact::Returned { delivery: delivery.clone(), why }));
        let is_urgent = load.letters.iter().any(|letter| letter.mode == Mode::Urgent);
        match sight.at {
            At::Question => return returned(format!("{} says that {WAITS}", door.name())),
            At::Turn if !is_urgent => return returned(format!("{} says that a turn is under way", door.name())),
            At::Turn | At::Rest => {}
        }
        let text = match self.handle.delivery_text(&load).await {
            Ok(text) => text,
            Err(why) => return returned(why),
        };
        let detail = format!("{} by {}", load.told(), door.name());
        let channel = format!("server, since {} takes it without a key", door.name());
        let gift = Gift { hands: self.clone(), load, delivery: delivery.clone(), door, sight, text };
        let given = match self.carry_over(gift, detail).await {
            Ok(evidence) => Given::Taken(evidence),
            Err(error) => match self.handle.load_delivery(delivery).await {
                None => return Handed::Over(None),
                // What is not in the log as offered was not given to anybody.
                Some(load) if !load.is_started || error.code.is_refusal() => Given::Refused(error.message),
                Some(load) => {
                    // Whoever is told that nobody can say is told so once, and the agent may be about to say it.
                    timeout(RECORD, self.handle.receipts_of(&load)).await.ok();
                    Given::Unknown(error.message)
                }
            },
        };
        Handed::Over(Some(given.fact(delivery, &channel)))
    }

    /// Asks a server what its agent is at, in the conversation that the pane shows.
    async fn look_in(&self, load: &Load, door: &dyn Door) -> Result<Sight, String> {
        let member = self.handle.roster().borrow().get(&load.runtime).cloned();
        let member = member.ok_or("the agent has ended")?;
        let plain = Plain::new(&self.tmux, Path::new(&member.socket));
        let row = list::pane(&plain, PaneId(member.pane.pane.0), Detail::Light, STEP_DEADLINE).await;
        let row = row.map_err(|error| error.to_string())?.ok_or("its pane is gone")?;
        door.look(&row.title).await
    }

    /// An action like any other: prepared, checked, logged, done.
    async fn carry_over(&self, gift: Gift, detail: String) -> Result<String, CommandError> {
        let actor = agtmux_itself();
        let wish = Wish {
            action: ActionId::new(gift.delivery.as_str()),
            verb: Verb::Send,
            reference: format!("runtime:{}", gift.load.runtime),
            conditions: Conditions::default(),
            at: self.handle.now(),
        };
        let snapshot = self.handle.prepare(wish, actor.clone()).await?;
        let aim = Aim { snapshot_id: Some(snapshot.action.to_string()), ..Aim::default() };
        self.carry_out(Verb::Send, aim, actor, detail, move |snapshot| async move {
            let _turn = gift.hands.locks.lock(&snapshot.pane).await;
            // Whoever had the pane before may have changed what this was decided on.
            gift.hands.recheck(&snapshot).await?;
            mark(&gift.hands, &snapshot).await?;
            let evidence = gift.give().await?;
            Ok(Done { result: format!("submitted: {evidence}"), answer: evidence })
        })
        .await
    }
}

impl Gift {
    /// Gives it. An error that is a refusal says that the agent surely has not got it.
    async fn give(self) -> Result<String, CommandError> {
        let (doors, runtime) = (self.hands.handle.doors(), &self.load.runtime);
        let (door, delivery, conversation) = (&self.door, &self.delivery, self.sight.conversation.as_str());
        let refused = |why: String| CommandError::new(ErrorCode::PreconditionFailed, why);
        if !doors.is_open(runtime, door) {
            return Err(refused(format!("{} is not heard any more", door.name())));
        }
        // The turn may have ended by itself meanwhile, or have come to ask something.
        if self.sight.at == At::Turn && door.interrupt(conversation).await.map_err(refused)? {
            let interrupted = MailFact::Interrupted { delivery: delivery.clone() };
            self.hands.handle.mail_step(interrupted).await.map_err(|error| refused(error.message))?;
        }
        self.hands.handle.mail_step(MailFact::Offered { delivery: delivery.clone() }).await?;
        match door.give(conversation, delivery.as_str(), &self.text).await {
            Given::Taken(evidence) => Ok(evidence),
            Given::Refused(why) => {
                // What it refuses once it may refuse for ever, and the messages are typed instead.
                doors.shut(runtime, door);
                Err(refused(format!("{} refused it: {why}", door.name())))
            }
            Given::Unknown(why) => {
                let message = format!("{} was given it, and {why}", door.name());
                Err(CommandError::new(ErrorCode::Unconfirmed, message))
            }
        }
    }
}
