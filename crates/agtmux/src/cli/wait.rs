//! `agtmux wait REF --until STATE`: returns when an agent is so.

use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::explain::Explanation;
use agtmux_wire::list::PaneItem;
use clap::Args;
use tokio::time::{Instant, timeout_at};

use super::list::{busy, percent_encode};
use super::output::printable;
use super::{Context, DurationArg, output};
use crate::client::Client;
use crate::client::follow::{Follower, is_gone};
use crate::error::CommandError;

/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[derive(Debug, Args)]
#[command(
    after_help = "`idle` also means `completed`, which becomes idle by the mere passing of time. An agent that ends meanwhile ends the wait\nwith exit code 4; a wait that takes too long ends with 5.\n\nExamples:\n  agtmux wait api --until idle\n  agtmux wait api --until waiting_approval,waiting_input --timeout 10m"
)]
pub struct WaitArgs {
    /// Which agent: a name, `%3`, `runtime:ID` or `pane:TARGET/SESSION/WINDOW/PANE`
    #[arg(value_name = "REF")]
    reference: String,
    /// The state, or several: running, waiting_input, waiting_approval, completed, idle, error, unknown
    #[arg(long, value_name = "STATE", value_delimiter = ',', default_value = "idle", value_parser = STATES)]
    until: Vec<String>,
    /// Give up after this, such as `10m`
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationArg>,
    /// Print JSON: the pane as `list panes` shows it
    #[arg(long)]
    json: bool,
}

const STATES: [&str; 7] = ["running", "waiting_input", "waiting_approval", "completed", "idle", "error", "unknown"];

pub async fn run(args: WaitArgs, context: &Context) -> Result<(), CommandError> {
    let until = Instant::now() + args.timeout.map_or(FOR_EVER, |DurationArg(timeout)| timeout);
    // Followed before the first look, so that no change falls between the two.
    let mut follower = Follower::open(context.client(), None).await?;
    let first = look(context, &args.reference).await?;
    let runtime = first.runtime_id.clone().ok_or_else(|| {
        CommandError::new(ErrorCode::PreconditionFailed, format!("no agent lives in pane {}", first.identity.pane_id))
            .hint("`agtmux list panes` shows the agents there are")
    })?;
    let mut pane = first;
    while !args.until.iter().any(|wanted| is_so(&pane, wanted)) {
        let Ok(frame) = timeout_at(until, follower.next()).await else {
            let message = format!("{runtime} is still {}", pane.state.as_deref().unwrap_or("unknown"));
            return Err(
                CommandError::new(ErrorCode::Timeout, message).hint(format!("`agtmux explain {runtime}` says why"))
            );
        };
        frame?;
        // The agent that was meant, whoever is in its pane by now.
        pane = match look_by(&context.quiet_client(), &format!("runtime:{runtime}")).await {
            Ok(pane) => pane,
            // The follower waits for the next daemon, which begins with everything there is.
            Err(error) if is_gone(&error) => continue,
            Err(error) if error.code == ErrorCode::RefNotFound => {
                return Err(CommandError::new(ErrorCode::RuntimeStale, format!("{runtime} has ended"))
                    .hint("`agtmux events` tells how"));
            }
            Err(error) => return Err(error),
        };
    }
    show(&pane, args.json)
}

/// An agent as the daemon knows it.
pub(super) async fn look(context: &Context, reference: &str) -> Result<PaneItem, CommandError> {
    look_by(&context.client(), reference).await
}

async fn look_by(client: &Client, reference: &str) -> Result<PaneItem, CommandError> {
    let path = format!("/v1/explain/{}", percent_encode(reference));
    let explanation: Explanation = client.get(&path).await?;
    Ok(explanation.pane)
}

/// Prints what an agent is doing.
pub(super) fn show(pane: &PaneItem, json: bool) -> Result<(), CommandError> {
    if json { output::print_json(pane) } else { output::print(&format!("{}\n", what(pane))) }
}

/// What an agent is doing, in a line.
fn what(pane: &PaneItem) -> String {
    let name = pane.name.as_ref().or(pane.runtime_id.as_ref()).map_or("nobody", String::as_str);
    let state = pane.state.as_deref().unwrap_or("no agent");
    let reason = pane.reason_code.as_deref().unwrap_or_default().replace('_', " ");
    let said = pane.attention.message.as_deref().or(pane.title.as_deref()).filter(|said| !said.is_empty());
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    let busy = busy(pane).map(|busy| format!(" {busy}")).unwrap_or_default();
    printable(&format!("{name} is {state} ({reason}){said}{busy}"))
}

fn is_so(pane: &PaneItem, wanted: &str) -> bool {
    let state = pane.state.as_deref().unwrap_or("unknown");
    state == wanted || wanted == "idle" && state == "completed"
}
