//! `agtmux-shim`: what stays in the pane between the terminal and an agent that `agtmux wrap` started. A program of its own,
//! since it runs as long as the agent and should cost next to nothing.

use std::process::ExitCode;

fn main() -> ExitCode {
    agtmux_shim::main()
}
