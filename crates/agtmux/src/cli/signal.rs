//! `agtmux signal STATE [MESSAGE]`: the generic way for an agent, or a script beside it, to say what it is doing.

use agtmux_wire::error::ErrorCode;
use agtmux_wire::event::{BindStatus, PostEvent, PostedEvent};
use clap::Args;

use super::{Context, output};
use crate::error::CommandError;
use crate::platform;
use crate::target::socket;

#[derive(Debug, Args)]
#[command(
    after_help = "States: running, waiting_input, waiting_approval, completed, idle, error, unknown;\nalso working, needs_input, needs_testing as schmux calls them.\n\nRun it inside the agent's pane. The daemon believes it because the agent's process is among its ancestors,\nnot because of TMUX_PANE."
)]
pub struct SignalArgs {
    /// What the agent is doing
    state: String,
    /// Text for the person: the question, the summary, the error
    message: Option<String>,
    /// The runtime it is about, when it is not the one this command runs in
    #[arg(long, value_name = "ID")]
    runtime: Option<String>,
    /// A key that repeats of the same event share; the second one changes nothing
    #[arg(long, value_name = "KEY")]
    dedupe_key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(args: SignalArgs, context: &Context) -> Result<(), CommandError> {
    // Read before anything that can wait: this is the moment that orders the signal among others.
    let boot_ns = platform::boot_clock_ns();
    let pane = std::env::var("TMUX_PANE").ok().filter(|pane| !pane.is_empty());
    let runtime = args.runtime.map(|id| id.strip_prefix("runtime:").map_or(id.clone(), str::to_owned));
    if pane.is_none() && runtime.is_none() {
        return Err(CommandError::new(ErrorCode::NotInPane, "this is not a tmux pane: TMUX_PANE is not set")
            .hint("run it inside the agent's pane, or name the runtime with --runtime"));
    }
    let event = PostEvent {
        state: args.state,
        message: args.message,
        source: Some("signal".to_owned()),
        source_event_id: None,
        dedupe_key: args.dedupe_key,
        source_seq: Some(boot_ns),
        boot_ns: Some(boot_ns),
        boot_id: Some(platform::boot_id()),
        event_time: Some(jiff::Timestamp::now().to_string()),
        runtime_id: runtime,
        capability: std::env::var("AGTMUX_CAPABILITY").ok().filter(|given| !given.is_empty()),
        target: None,
        tmux_socket: socket::from_tmux_variable()
            .or_else(|| context.tmux_socket.clone())
            .map(|path| path.to_string_lossy().into_owned()),
        pane_id: pane,
        pid: None,
        payload: None,
    };
    let posted: PostedEvent = context.client().post("/v1/events", &event).await?;
    if args.json {
        return output::print_json(&posted);
    }
    match posted.status {
        BindStatus::Bound => Ok(()),
        BindStatus::PendingBind | BindStatus::Duplicate | BindStatus::OutOfOrder | BindStatus::DroppedUnbound => {
            output::remark(&posted.detail);
            Ok(())
        }
    }
}
