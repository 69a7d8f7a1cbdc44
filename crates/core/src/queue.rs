//! Who waits for a person, and in which order a person should go to them.

use crate::attention::CallKind;
use crate::engine::Engine;
use crate::runtime::Runtime;
use crate::state::State;
use crate::time::Timestamp;

/// One that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// Who.
    pub runtime: &'a Runtime,
    /// For what.
    pub kind: CallKind,
    /// Since when.
    pub since: Timestamp,
}

/// All that wait for a person: what keeps an agent from going on comes before what merely wants to be seen, by the precedence
/// of states; of those alike, whoever waits longest comes first. Whoever was acknowledged waits no more, until it calls anew.
pub fn waiting(engine: &Engine) -> Vec<Waiting<'_>> {
    let living = engine.state().topology.runtimes.values().filter(|runtime| runtime.is_live());
    let first = |runtime| [wants(runtime), is_waited_for(engine, runtime)].into_iter().flatten().min_by_key(|w| w.kind);
    let mut queue: Vec<_> = living.filter_map(first).collect();
    queue.sort_by(|one, other| {
        let place = |waiting: &Waiting<'_>| (waiting.kind, waiting.since);
        place(one).cmp(&place(other)).then_with(|| one.runtime.id.cmp(&other.runtime.id))
    });
    queue
}

fn wants(runtime: &Runtime) -> Option<Waiting<'_>> {
    let kind = match runtime.verdict.state {
        State::Error => CallKind::Error,
        State::WaitingApproval => CallKind::Approval,
        State::WaitingInput => CallKind::Input,
        // A turn that is done and that nobody has seen stays so, though the agent has aged into idleness.
        State::Completed | State::Idle if runtime.attention.unseen => CallKind::Completion,
        State::Running | State::Completed | State::Idle | State::Unknown => return None,
    };
    let waits = !runtime.attention.is_known();
    waits.then_some(Waiting { runtime, kind, since: runtime.verdict.since })
}

/// One that messages do not reach.
fn is_waited_for<'a>(engine: &Engine, runtime: &'a Runtime) -> Option<Waiting<'a>> {
    let since = engine.state().mail.late_since(&runtime.id).filter(|_| runtime.attention.calls_for_mail())?;
    Some(Waiting { runtime, kind: CallKind::MailWaiting, since })
}
