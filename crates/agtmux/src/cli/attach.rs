//! `agtmux attach REF`: this terminal, brought to an agent.

use std::io::{self, IsTerminal};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use agtmux_wire::action::{Aim, Snapshot, SnapshotRequest};
use agtmux_wire::attach::{AttachRequest, Attached, Caller};
use agtmux_wire::error::ErrorCode;
use clap::Args;

use super::guard::GuardArgs;
use super::{Context, output};
use crate::error::CommandError;
use crate::target::socket;

#[derive(Debug, Args)]
#[command(
    after_help = "Inside tmux the terminal you type at is switched to the agent's pane, and nobody else's. Outside, this terminal is\nattached. A session has one current window for all who look at it: whoever looks at the agent's session already sees it\nturn to the agent.\n\nExamples:\n  agtmux attach %3\n  agtmux attach api --read-only          look, but do not type\n  agtmux attach api --if-state waiting_approval\n\nOn a key, in ~/.tmux.conf:\n  bind-key A run-shell \"agtmux attach api --client '#{client_name}'\""
)]
pub struct AttachArgs {
    /// Which agent or pane: runtime:ID, pane:TARGET/SESSION/WINDOW/PANE, %PANE or a name
    #[arg(value_name = "REF")]
    reference: String,
    #[command(flatten)]
    how: AttachHow,
    #[command(flatten)]
    guard: GuardArgs,
}

/// How a terminal comes to a pane; the same for `next`.
#[derive(Clone, Debug, Args)]
pub struct AttachHow {
    /// Look, but do not type; outside of tmux
    #[arg(long)]
    read_only: bool,
    /// The terminal to switch, as tmux names it; the one this is typed at unless given
    #[arg(long, value_name = "TTY", conflicts_with = "read_only")]
    client: Option<String>,
    /// Attach inside of another tmux all the same
    #[arg(long)]
    nested: bool,
}

pub async fn run(args: AttachArgs, context: &Context) -> Result<(), CommandError> {
    go(args.guard.aim(args.reference), &args.how, context).await
}

/// Brings this terminal to what an aim means.
///
/// # Errors
/// Refused by a guard, or because this is no terminal that could be brought there.
pub async fn go(aim: Aim, how: &AttachHow, context: &Context) -> Result<(), CommandError> {
    let client = context.client();
    let request = SnapshotRequest { verb: "attach".to_owned(), aim };
    let snapshot: Snapshot = client.post("/v1/snapshots", &request).await?;
    let caller = match way(how, &snapshot)? {
        Way::Switch(caller) => Some(caller),
        Way::Attach => None,
    };
    let aim = Aim { snapshot_id: Some(snapshot.snapshot_id), ..Aim::default() };
    let request = AttachRequest { aim, caller, read_only: how.read_only };
    let attached: Attached = client.post("/v1/actions/attach", &request).await?;
    let Some(command) = attached.command else {
        return Ok(());
    };
    let [program, arguments @ ..] = command.as_slice() else {
        return Err(CommandError::internal("the daemon did not say how to attach"));
    };
    // From here on this process is tmux. It comes back only if it could not become it.
    let error = Command::new(program).args(arguments).env_remove("TMUX").env_remove("TMUX_PANE").exec();
    Err(CommandError::new(ErrorCode::TmuxMissing, format!("cannot run {}: {error}", output::printable(program))))
}

/// How this terminal gets there.
enum Way {
    /// It is attached to the agent's server and is switched.
    Switch(Caller),
    /// It is attached anew.
    Attach,
}

fn way(how: &AttachHow, snapshot: &Snapshot) -> Result<Way, CommandError> {
    let there = Path::new(&snapshot.tmux_socket);
    let here = socket::from_tmux_variable();
    if how.client.is_some() || here.as_deref() == Some(there) {
        if how.read_only {
            return Err(CommandError::new(
                ErrorCode::Usage,
                "a terminal that is attached already is not made read-only",
            )
            .hint("run it outside of tmux, or leave out --read-only"));
        }
        return Ok(Way::Switch(caller(how)));
    }
    if here.is_some() && !how.nested {
        let message = "this terminal runs inside another tmux server than the agent";
        let command = format!("env -u TMUX tmux -S {} attach-session", snapshot.tmux_socket);
        return Err(CommandError::new(ErrorCode::PreconditionFailed, message)
            .hint(format!("detach first, or run `{command}` in another terminal, or say --nested")));
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(CommandError::new(ErrorCode::Usage, "this is no terminal that could be attached")
            .hint("run it at a terminal, or name one that is attached: --client TTY"));
    }
    Ok(Way::Attach)
}

/// What tmux told this process about where it runs.
fn caller(how: &AttachHow) -> Caller {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    // The socket, the server's process and the session's number.
    let session = variable("TMUX").and_then(|tmux| tmux.rsplit_once(',').map(|(_, session)| format!("${session}")));
    Caller { client: how.client.clone(), pane: variable("TMUX_PANE"), session }
}
