//! The shim alone, as tests run it: `agtmux-shim` without building the rest.

use std::process::ExitCode;

fn main() -> ExitCode {
    agtmux_shim::main()
}
