//! `sm`: messages between people and agents, under a name that is quick to type. The same as `agtmux sm`.

use std::process::ExitCode;

fn main() -> ExitCode {
    agtmux::cli::sm::main()
}
