//! The one binary of agtmux.

use std::process::ExitCode;

fn main() -> ExitCode {
    agtmux::cli::main()
}
