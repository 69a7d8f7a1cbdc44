//! The one binary of agtmux.

use std::process::ExitCode;

use agtmux::{cli, hook, platform};

fn main() -> ExitCode {
    // Read before anything else: this moment orders a hook among the others of its agent.
    let boot_ns = platform::boot_clock_ns();
    let mut arguments = std::env::args_os().skip(1).peekable();
    let is_hook = arguments.next().is_some_and(|verb| verb == hook::VERB);
    // An option in place of the agent is a question of a person, and the command line answers those.
    if is_hook && arguments.peek().is_some_and(|agent| !agent.as_encoded_bytes().starts_with(b"-")) {
        hook::run(boot_ns, arguments);
        return ExitCode::SUCCESS;
    }
    cli::main()
}
