//! `agtmux hook`, for people who ask what it is. An agent's call never comes here: `main.rs` hands it to
//! [`crate::hook`] before any command line is parsed.

use std::ffi::OsString;

use clap::Args;

use crate::hook;
use crate::platform;

#[derive(Debug, Args)]
#[command(
    after_help = "`agtmux setup` puts this into the settings of your agents. It reads the agent's JSON from standard input\n(or from an argument that begins with `{`), never prints, never fails and never makes the agent wait:\nwhen no daemon runs, the event is kept in a spool and read when one starts."
)]
pub struct HookArgs {
    /// The agent that runs it: claude, codex, gemini, …
    agent: OsString,
    /// What the agent calls the event; without it, the payload says so
    event: Option<OsString>,
    /// The payload, when the agent gives it as an argument
    payload: Option<OsString>,
}

pub fn run(args: HookArgs) {
    let boot_ns = platform::boot_clock_ns();
    hook::run(boot_ns, [Some(args.agent), args.event, args.payload].into_iter().flatten());
}
