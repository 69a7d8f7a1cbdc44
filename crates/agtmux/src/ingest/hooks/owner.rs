//! Whose hook is it?
//!
//! The sender's ancestors are proof: the agent of a pane is among them. `TMUX_PANE` is not, for it is inherited by
//! whatever an agent starts and keeps. And not everything that an agent starts speaks for it: a hook that comes through
//! a shared server (`codex app-server`) may be any client's, one that comes through a one-shot run (`claude -p`) or
//! another agent is the doing of a tool. The agent's own id of the conversation decides about the first and is not asked
//! about the others: anybody can resume a conversation elsewhere.

use std::sync::Arc;

use agtmux_agents::{Process, Registry, is_helper};
use agtmux_core::id::ProcessKey;

use crate::daemon::roster::{Member, Roster};
use crate::platform;

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
    /// Nobody's, for this reason.
    Nobody(&'static str),
}

/// Whose the hook of a sender is. `helps` says whether a process is an agent's program but not the agent of a pane.
pub(super) fn owner(sender: &Sender, roster: &Roster, helps: impl Fn(ProcessKey) -> bool) -> Owner {
    let is_member = |process: &ProcessKey| roster.values().any(|member| member.process == *process);
    let above = sender.lineage.iter().position(is_member);
    let between = &sender.lineage[..above.unwrap_or(sender.lineage.len())];
    let through_helper = between.iter().any(|process| helps(*process));
    let mut kin = roster.values().filter(|member| member.agent.as_str() == sender.agent);
    let proven = above.filter(|_| !through_helper).map(|place| sender.lineage[place]);
    if let Some(member) = proven.and_then(|process| kin.clone().find(|member| member.process == process)) {
        return Owner::Member(Arc::clone(member));
    }
    let session = |member: &&Arc<Member>| {
        let known = member.conversation.as_ref().and_then(|conversation| conversation.session.as_deref());
        known.is_some() && known == sender.session.as_deref()
    };
    let is_told_by_session = through_helper || sender.lineage.is_empty();
    if let Some(member) = kin.find(session).filter(|_| is_told_by_session) {
        return Owner::Member(Arc::clone(member));
    }
    match above {
        _ if through_helper => Owner::Nobody("it comes through a server or one-shot run of an agent"),
        Some(_) => Owner::Nobody("it comes from below another agent"),
        None if sender.lineage.is_empty() => Owner::SenderGone,
        None if !sender.in_pane => Owner::Nobody("it comes from outside of tmux"),
        None => Owner::NotFoundYet,
    }
}

/// Whether a process that still runs is an agent's program but not the agent of a pane.
pub(super) fn helps(registry: &Registry, key: ProcessKey) -> bool {
    let Some(stat) = platform::process_stat(key.pid).filter(|stat| stat.start == key.start) else {
        return false;
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
    is_helper(registry, &process)
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

    /// Whose it is, in short: a runtime, `later`, or why not. Processes from 90 on are helpers.
    fn whose(sender: &Sender, agents: &[(u32, &str, Option<&str>)]) -> String {
        match owner(sender, &roster(agents), |process| process.pid >= 90) {
            Owner::Member(member) => member.runtime.to_string(),
            Owner::NotFoundYet => "later".to_owned(),
            Owner::SenderGone => "gone".to_owned(),
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

    /// Codex in daemon mode: the server is a child of the first client, and its hooks are any client's.
    #[test]
    fn what_comes_through_a_server_is_known_by_its_conversation_alone() {
        assert_eq!(whose(&sender("codex", Some("x"), &[50, 91, 30, 1]), &AGENTS), "rt_20");
        let unknown = sender("codex", Some("y"), &[50, 91, 20, 1]);
        assert_eq!(whose(&unknown, &AGENTS), "it comes through a server or one-shot run of an agent");
        let orphan = Sender { in_pane: false, ..sender("codex", Some("x"), &[50, 91, 1]) };
        assert_eq!(whose(&orphan, &AGENTS), "rt_20");
        assert!(matches!(owner(&orphan, &roster(&[]), |process| process.pid >= 90), Owner::Nobody(_)));
    }

    #[test]
    fn what_an_agent_runs_does_not_speak_for_it() {
        let below = sender("codex", None, &[50, 40, 10, 1]);
        assert_eq!(whose(&below, &AGENTS), "it comes from below another agent");
        let resumed = sender("codex", Some("x"), &[50, 40, 10, 1]);
        assert_eq!(whose(&resumed, &AGENTS), "it comes from below another agent");
        let one_shot = sender("claude", Some("z"), &[50, 90, 10, 1]);
        assert_eq!(whose(&one_shot, &AGENTS), "it comes through a server or one-shot run of an agent");
    }

    #[test]
    fn without_an_agent_above_only_a_pane_gives_hope() {
        let early = sender("claude", None, &[50, 40, 1]);
        assert_eq!(whose(&early, &AGENTS), "later");
        assert_eq!(whose(&Sender { in_pane: false, ..early }, &AGENTS), "it comes from outside of tmux");
        let resumed = Sender { in_pane: false, ..sender("claude", Some("c"), &[50, 1]) };
        assert_eq!(whose(&resumed, &AGENTS), "it comes from outside of tmux");
        assert_eq!(whose(&sender("claude", None, &[]), &AGENTS), "gone");
        assert_eq!(whose(&sender("claude", Some("c"), &[]), &AGENTS), "rt_10", "killed while it told");
    }
}
