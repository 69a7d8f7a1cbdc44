//! `sm`: messages between people and agents, under a name that is quick to type. It becomes `agtmux sm`.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

#[expect(clippy::print_stderr, reason = "it has nothing but this to say, and no other way to say it")]
fn main() -> ExitCode {
    // The one that was installed with it, not one that happens to be found.
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("agtmux")).filter(|path| path.exists());
    let program = beside.unwrap_or_else(|| PathBuf::from("agtmux"));
    let error = Command::new(&program).arg("sm").args(std::env::args_os().skip(1)).exec();
    eprintln!("sm: cannot run {}: {error}", program.display());
    ExitCode::FAILURE
}
