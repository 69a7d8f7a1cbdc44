//! Agents that say that they have something to do, though nothing of theirs is under way: between two turns, while they wait for
//! a build for instance. What can wait for them waits. It ends when they say so, when they end, and after a while by itself, so
//! that what was forgotten strands nothing.

use serde::{Deserialize, Serialize};

use super::fact::MailFact;
use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::event::Fact;
use crate::id::RuntimeId;
use crate::time::{Span, Timestamp};

/// The longest that an agent can be busy without saying it again.
const LONGEST: Span = Span::hours(24);

/// That an agent has something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// With what, for people.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Until then at the latest.
    pub until: Timestamp,
}

impl Engine {
    /// An agent has something to do.
    ///
    /// # Errors
    /// Refused when the agent is over, and for longer than anybody should be forgotten.
    pub fn say_busy(
        &self,
        runtime: &RuntimeId,
        reason: String,
        (now, within): (Timestamp, Span),
        by: String,
    ) -> Result<Fact, Refusal> {
        self.is_there(runtime)?;
        if within.0 <= 0 || within > LONGEST {
            return Err(refuse(RefusalCode::PreconditionFailed, "an agent is busy for 24 hours at most")
                .hint("it can say so again: `sm busy --for 24h`"));
        }
        let until = now + within;
        Ok(Fact::Mail(Box::new(MailFact::Busy { runtime: runtime.clone(), reason, until, by })))
    }

    /// It has done it. Nothing if it was not busy.
    ///
    /// # Errors
    /// Refused when the agent is over.
    pub fn say_ready(&self, runtime: &RuntimeId, by: String) -> Result<Option<Fact>, Refusal> {
        self.is_there(runtime)?;
        let fact = MailFact::Ready { runtime: runtime.clone(), by };
        Ok(self.state().mail.allows(&fact).then(|| Fact::Mail(Box::new(fact))))
    }

    fn is_there(&self, runtime: &RuntimeId) -> Result<(), Refusal> {
        if self.state().topology.live(runtime).is_some() {
            return Ok(());
        }
        Err(refuse(RefusalCode::RuntimeStale, format!("{runtime} is over"))
            .hint("`agtmux list panes` shows the agents there are"))
    }
}
