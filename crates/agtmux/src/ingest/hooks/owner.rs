//! Whose hook is it?
//!
//! The sender's ancestors are proof: the agent of a pane is among them. `TMUX_PANE` is not, for it is inherited by
//! whatever an agent starts and keeps. And not everything that an agent starts speaks for it: a hook that comes through
//! a shared server (`codex app-server`) may be any client's, one that comes through a one-shot run (`claude -p`) or
//! another agent is the doing of a tool. A conversation's id says nothing by itself: anybody can resume it elsewhere. What
//! comes through a server is an agent's only if it is certain at that moment which client shows the conversation.

use std::sync::Arc;

use agtmux_agents::{Process, Registry, is_helper};
use agtmux_core::id::ProcessKey;

use crate::daemon::roster::{Member, Roster};
use crate::platform;

/// The agent whose hooks may come through a server that several agents share.
const SHARES: &str = "codex";

/// Why a hook that comes through a server is nobody's.
const THROUGH: &str =
    "it comes through a server or one-shot run of an agent, and it is not certain which pane shows its conversation";

/// What is known of the sender of a hook.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// The agent it speaks for.
    pub(super) agent: String,
    /// Its process and its ancestors, nearest first.
    pub(super) lineage: Vec<ProcessKey>,
    /// The agent's own id of the conversation.
    pub(super) session: Option<String>,
    /// Whether it has a pane, be it the right one or not.
    pub(super) in_pane: bool,
}

/// Whose a hook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// This runtime's.
    Member(Arc<Member>),
    /// That of an agent that may not have been found yet.
    NotFoundYet,
    /// It cannot be told: the sender was gone before it could be looked at. It may have told the spool.
    SenderGone,
    /// One agent's of several, and nobody can say which, for this reason.
    Uncertain(&'static str),
    /// Nobody's, for this reason.
    Nobody(&'static str),
}

/// What a process between a hook and an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// The agent's own doing, such as a shell.
    Own,
    /// An agent's program, but not the agent of a pane: a server, a one-shot run.
    Helper,
    /// It has ended, so that nobody can say.
    Gone,
}

/// What is known besides the sender and the roster.
pub(super) trait Witness {
    /// What a process is.
    fn passage(&self, process: ProcessKey) -> Passage;
    /// Whether what a shared server says of a conversation is certain to be this agent's.
    fn hears(&self, member: &Member, conversation: &str) -> bool;
    /// Whether this agent itself, and no server, writes to a conversation.
    fn holds(&self, member: &Member, conversation: &str) -> bool;
    /// Whether this agent is a server itself, with the agent of another pane as its client.
    fn serves_others(&self, member: &Member) -> bool;
}

/// Whose the hook of a sender is.
pub(super) fn owner(sender: &Sender, roster: &Roster, witness: &impl Witness) -> Owner {
    let is_member = |process: &ProcessKey| roster.values().any(|member| member.process == *process);
    let above = sender.lineage.iter().position(is_member);
    let between = &sender.lineage[..above.unwrap_or(sender.lineage.len())];
    let passages: Vec<_> = between.iter().map(|process| witness.passage(*process)).collect();
    let through_helper = passages.contains(&Passage::Helper);
    let kin = || roster.values().filter(|member| member.agent.as_str() == sender.agent);
    if let Some(place) = above.filter(|_| !through_helper)
        && let Some(member) = kin().find(|member| member.process == sender.lineage[place])
    {
        // A server that has ended since leaves no trace of itself.
        let may_be_shared = sender.agent == SHARES && passages.contains(&Passage::Gone);
        let holds = |session: &String| witness.holds(member, session);
        return if may_be_shared && !sender.session.as_ref().is_some_and(holds) || witness.serves_others(member) {
            Owner::Uncertain(THROUGH)
        } else {
            Owner::Member(Arc::clone(member))
        };
    }
    if sender.lineage.is_empty() {
        return known_by_session(sender, kin(), witness).map_or(Owner::SenderGone, Owner::Member);
    }
    match above {
        _ if through_helper => {
            let hears =
                |member: &&Arc<Member>| sender.session.as_ref().is_some_and(|session| witness.hears(member, session));
            match kin().find(hears) {
                Some(member) => Owner::Member(Arc::clone(member)),
                None if sender.agent == SHARES => Owner::Uncertain(THROUGH),
                None => Owner::Nobody(THROUGH),
            }
        }
        Some(_) => Owner::Nobody("it comes from below another agent"),
        None if !sender.in_pane => Owner::Nobody("it comes from outside of tmux"),
        None => Owner::NotFoundYet,
    }
}

/// The only agent in the conversation of a sender that was killed while it told.
fn known_by_session<'a>(
    sender: &Sender,
    kin: impl Iterator<Item = &'a Arc<Member>>,
    witness: &impl Witness,
) -> Option<Arc<Member>> {
    let session = sender.session.as_deref()?;
    let mut those = kin.filter(|member| {
        let known = member.conversation.as_ref().and_then(|conversation| conversation.session.as_deref());
        known == Some(session)
    });
    let member = those.next().filter(|_| those.next().is_none())?;
    let is_certain = sender.agent != SHARES || witness.holds(member, session) || witness.hears(member, session);
    is_certain.then(|| Arc::clone(member))
}

/// What a process between a hook and an agent is, by the process table.
pub(super) fn passage(registry: &Registry, key: ProcessKey) -> Passage {
    let Some(stat) = platform::process_stat(key.pid).filter(|stat| stat.start == key.start) else {
        return Passage::Gone;
    };
    let process = Process {
        pid: stat.pid,
        ppid: stat.ppid,
        pgid: stat.pgid,
        tpgid: stat.tpgid,
        tty: stat.tty,
        start: stat.start,
        state: stat.state,
        comm: stat.comm,
        argv: platform::process_argv(key.pid),
    };
    if is_helper(registry, &process) { Passage::Helper } else { Passage::Own }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use agtmux_core::id::{AgentId, PaneKey, RuntimeId, ServerId};
    use agtmux_core::time::Timestamp;

    use super::*;
    use crate::daemon::roster::{Conversation, unknown};

    fn key(pid: u32) -> ProcessKey {
        ProcessKey { pid, start: u64::from(pid) * 10 }
    }

    /// Agents by pid; each knows its conversation by a name, if it has one.
    fn roster(agents: &[(u32, &str, Option<&str>)]) -> Roster {
        let member = |(pid, agent, session): &(u32, &str, Option<&str>)| {
            let member = Member {
                runtime: RuntimeId::new(format!("rt_{pid}")),
                agent: AgentId::new(*agent),
                pane: PaneKey { server: ServerId::new("server"), pane: "%1".parse().expect("a pane") },
                socket: PathBuf::new(),
                process: key(*pid),
                started_at: Timestamp(0),
                verdict: unknown(),
                conversation: session
                    .map(|session| Conversation { session: Some(session.to_owned()), ..Conversation::default() }),
            };
            (member.runtime.clone(), Arc::new(member))
        };
        agents.iter().map(member).collect()
    }

    fn sender(agent: &str, session: Option<&str>, lineage: &[u32]) -> Sender {
        Sender {
            agent: agent.to_owned(),
            lineage: lineage.iter().map(|pid| key(*pid)).collect(),
            session: session.map(str::to_owned),
            in_pane: true,
        }
    }

    /// Processes from 90 on are helpers, those from 80 on have ended. Of the runtime by that name it is certain that it shows the
    /// conversation, or holds it itself.
    #[derive(Default)]
    struct Known {
        shows: Option<(&'static str, &'static str)>,
        holds: Option<(&'static str, &'static str)>,
        serves_others: bool,
    }

    impl Witness for Known {
        fn passage(&self, process: ProcessKey) -> Passage {
            match process.pid {
                90.. => Passage::Helper,
                80.. => Passage::Gone,
                _ => Passage::Own,
            }
        }

        fn hears(&self, member: &Member, conversation: &str) -> bool {
            self.shows == Some((member.runtime.as_str(), conversation))
        }

        fn holds(&self, member: &Member, conversation: &str) -> bool {
            self.holds == Some((member.runtime.as_str(), conversation))
        }

        fn serves_others(&self, _member: &Member) -> bool {
            self.serves_others
        }
    }

    /// Whose it is, in short: a runtime, `later`, or why not.
    fn whose(sender: &Sender, agents: &[(u32, &str, Option<&str>)]) -> String {
        whose_as(&Known::default(), sender, agents)
    }

    fn whose_as(known: &Known, sender: &Sender, agents: &[(u32, &str, Option<&str>)]) -> String {
        match owner(sender, &roster(agents), known) {
            Owner::Member(member) => member.runtime.to_string(),
            Owner::NotFoundYet => "later".to_owned(),
            Owner::SenderGone => "gone".to_owned(),
            Owner::Uncertain(_) => "uncertain".to_owned(),
            Owner::Nobody(why) => why.to_owned(),
        }
    }

    const AGENTS: [(u32, &str, Option<&str>); 3] =
        [(10, "claude", Some("c")), (20, "codex", Some("x")), (30, "codex", None)];

    #[test]
    fn an_agent_among_the_ancestors_is_proof() {
        assert_eq!(whose(&sender("claude", None, &[50, 40, 10, 1]), &AGENTS), "rt_10");
        assert_eq!(whose(&sender("codex", Some("other"), &[50, 20, 1]), &AGENTS), "rt_20", "a new conversation");
        assert_eq!(whose(&sender("codex", Some("x"), &[50, 30, 1]), &AGENTS), "rt_30", "proof beats the name");
    }

    #[test]
    fn a_reused_pid_proves_nothing() {
        let mut reused = sender("claude", None, &[50, 10, 1]);
        reused.lineage[1].start += 1;
        assert_eq!(whose(&reused, &AGENTS), "later");
    }

    /// Codex in daemon mode: the server is a child of the first client, and its hooks are any client's (F31, F33).
    #[test]
    fn what_comes_through_a_server_is_an_agents_only_if_it_is_certain_whose() {
        let through = |session| sender("codex", Some(session), &[50, 91, 20, 1]);
        let shows = Known { shows: Some(("rt_30", "y")), ..Known::default() };
        assert_eq!(whose_as(&shows, &through("y"), &AGENTS), "rt_30");
        assert_eq!(whose_as(&shows, &through("x"), &AGENTS), "uncertain", "that it was in it once is no proof");
        assert_eq!(whose(&through("y"), &AGENTS), "uncertain");
        let orphan = Sender { in_pane: false, ..sender("codex", Some("y"), &[50, 91, 1]) };
        assert_eq!(whose_as(&shows, &orphan, &AGENTS), "rt_30");
        assert_eq!(whose_as(&shows, &orphan, &[]), "uncertain");
    }

    /// The server is killed while its hook runs, or before a hook in the spool is read.
    #[test]
    fn where_a_server_may_have_been_in_between_the_agent_has_to_hold_the_conversation_itself() {
        let gone = sender("codex", Some("x"), &[50, 81, 20, 1]);
        assert_eq!(whose(&gone, &AGENTS), "uncertain");
        let holds = Known { holds: Some(("rt_20", "x")), ..Known::default() };
        assert_eq!(whose_as(&holds, &gone, &AGENTS), "rt_20");
        assert_eq!(whose(&sender("claude", None, &[80, 81, 10, 1]), &AGENTS), "rt_10", "it shares no server");
    }

    /// opencode's plugin runs in the server, which an `opencode attach` in another pane may use too.
    #[test]
    fn what_an_agent_tells_that_serves_another_one_may_be_about_that() {
        let shared = Known { serves_others: true, ..Known::default() };
        assert_eq!(whose_as(&shared, &sender("claude", None, &[50, 40, 10, 1]), &AGENTS), "uncertain");
    }

    #[test]
    fn what_an_agent_runs_does_not_speak_for_it() {
        let below = sender("codex", None, &[50, 40, 10, 1]);
        assert_eq!(whose(&below, &AGENTS), "it comes from below another agent");
        let resumed = sender("codex", Some("x"), &[50, 40, 10, 1]);
        assert_eq!(whose(&resumed, &AGENTS), "it comes from below another agent");
        let one_shot = sender("claude", Some("z"), &[50, 90, 10, 1]);
        assert_eq!(whose(&one_shot, &AGENTS), THROUGH);
    }

    #[test]
    fn without_an_agent_above_only_a_pane_gives_hope() {
        let early = sender("claude", None, &[50, 40, 1]);
        assert_eq!(whose(&early, &AGENTS), "later");
        assert_eq!(whose(&Sender { in_pane: false, ..early }, &AGENTS), "it comes from outside of tmux");
        let resumed = Sender { in_pane: false, ..sender("claude", Some("c"), &[50, 1]) };
        assert_eq!(whose(&resumed, &AGENTS), "it comes from outside of tmux");
        assert_eq!(whose(&sender("claude", None, &[]), &AGENTS), "gone");
        let killed = sender("claude", Some("c"), &[]);
        assert_eq!(whose(&killed, &AGENTS), "rt_10", "killed while it told");
        let twice = [(10, "claude", Some("c")), (11, "claude", Some("c"))];
        assert_eq!(whose(&killed, &twice), "gone", "two are in that conversation");
        let through = sender("codex", Some("x"), &[]);
        assert_eq!(whose(&through, &AGENTS), "gone", "it may have come through a server");
        let holds = Known { holds: Some(("rt_20", "x")), ..Known::default() };
        assert_eq!(whose_as(&holds, &through, &AGENTS), "rt_20");
    }
}
