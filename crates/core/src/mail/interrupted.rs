//! A person has interrupted an agent's turn: they are about to say what they want instead (S4).
//!
//! Mail that is not urgent waits for their next prompt, or until they have been quiet for long enough. What counts is that the agent, its
//! record or its screen tells that the turn was interrupted. An idle screen after a turn whose end nobody told is not enough: a lost hook
//! delays mail and does not keep it. A turn that agtmux interrupted for an urgent message keeps nothing waiting.

use crate::engine::Engine;
use crate::facts::Value;
use crate::id::RuntimeId;
use crate::signal::Outcome;
use crate::state::State;
use crate::time::Timestamp;

impl Engine {
    /// Until when mail that is not urgent waits for the next prompt of the person who has interrupted this agent; none if nobody has, or
    /// not lately.
    pub fn interrupted_until(&self, runtime: &RuntimeId) -> Option<Timestamp> {
        let living = self.state().topology.live(runtime)?;
        let verdict = &living.verdict;
        if verdict.state != State::Idle || verdict.reason != "interrupted" {
            return None;
        }
        let until = verdict.since + self.state().policy.after_interrupt()?;
        if until <= self.now() {
            return None;
        }
        let said = living.sources.get(&verdict.source?)?.facts();
        let is_told = said.iter().any(|held| held.value == Value::TurnEnded(Outcome::Interrupted));
        let own = self.state().mail.boxes.get(runtime).and_then(|mailbox| mailbox.interrupted);
        let is_ours = own.is_some_and(|seq| self.turn_begun_since(runtime, seq).is_empty());
        (is_told && !is_ours).then_some(until)
    }

    /// When mail has waited long enough for a person's next prompt.
    pub(crate) fn interrupts_deadline(&self) -> Option<Timestamp> {
        let boxes = self.state().mail.boxes.iter().filter(|(_, mailbox)| !mailbox.queue.is_empty());
        boxes.filter_map(|(runtime, _)| self.interrupted_until(runtime)).min()
    }
}
