//! `agtmuxd`: the daemon under its own name, for service managers. The same as `agtmux daemon run`.

use std::process::ExitCode;

fn main() -> ExitCode {
    agtmux::cli::daemon::main()
}
