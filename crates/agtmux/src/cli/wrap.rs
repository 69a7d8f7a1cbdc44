//! `agtmux wrap`: becomes the shim, which becomes the parent of the agent.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use agtmux_wire::error::ErrorCode;
use clap::Args;

use super::output;
use crate::error::CommandError;
use crate::paths::Paths;

/// Run an agent so that messages never mix with what you type.
///
/// The agent gets a terminal of its own inside the pane. Every byte passes as it is, both ways; size, signals, Ctrl-Z and the exit
/// status are the agent's. Because your keys go through it, agtmux can hold them for the moment in which it types a message
/// (never more than two seconds) and hand them on afterwards, in order.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agtmux wrap -- claude\n  agtmux wrap --name reviewer -- codex --model gpt-5\n  alias claude='agtmux wrap -- claude'\n\nWithout a terminal, as in a pipe, the command simply runs. The exit status is that of the command."
)]
pub struct WrapArgs {
    /// A name for the agent, which it finds in AGTMUX_NAME
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Becomes the shim. Comes back only with an error.
pub fn run(args: &WrapArgs) -> CommandError {
    let (program, arguments) = match (agtmux_shim::program(), args.command.split_first()) {
        (Err(error), Some((program, arguments))) => {
            output::remark(&format!("{error}; the command runs without it"));
            (PathBuf::from(program), arguments)
        }
        (Ok(shim), _) => (shim, &args.command[..]),
        (Err(error), None) => return CommandError::internal(error),
    };
    let mut command = Command::new(&program);
    command.args(arguments);
    if let Some(name) = &args.name {
        command.env(agtmux_shim::NAME_VARIABLE, name);
    }
    // Without a place for the socket nobody can be asked to type, and the agent runs all the same.
    if let Ok(paths) = Paths::from_env() {
        command.env(agtmux_shim::SOCKETS_VARIABLE, paths.shim_dir());
    }
    let error = command.exec();
    CommandError::new(ErrorCode::Internal, format!("cannot run {}: {error}", program.display()))
}
