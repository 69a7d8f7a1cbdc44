//! Whether the Claude Code that is installed gets our plugin: its version was tried, and its own validation accepts the files.
//!
//! Claude is run twice for that, with a configuration folder of its own, so that nothing of the person's is read or written.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use agtmux_agents::setup::claude_plugin::{FILES, is_tried};

use super::places::Places;

/// How long one run of Claude may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// Between two looks at a program that runs.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What becomes of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// It is put in.
    In,
    /// It is taken out.
    Out,
    /// It stays as it is, and does not count.
    AsItIs,
}

/// What is found out about the Claude that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// The plugin suits it.
    Fit,
    /// It does not; why, for people.
    Unfit(String),
    /// There is none on the path.
    NotFound,
}

/// Finds out whether the plugin suits the Claude on the path.
pub fn check(places: &Places) -> Fitness {
    let Some(program) = places.find("claude") else { return Fitness::NotFound };
    match try_out(&program) {
        Ok(None) => Fitness::Fit,
        Ok(Some(why)) => Fitness::Unfit(why),
        Err(error) => Fitness::Unfit(format!("{} cannot be checked: {error}", program.display())),
    }
}

/// Says what is the matter, if anything is.
fn try_out(program: &Path) -> io::Result<Option<String>> {
    let scratch = Scratch::make()?;
    let output = run(program, &["--version"], &scratch.0)?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !is_tried(&version) {
        let shown: String = version.chars().filter(|c| !c.is_control()).take(40).collect();
        return Ok(Some(format!("version {shown:?} was not tried with it")));
    }
    let plugin = scratch.0.join("agtmux");
    for file in FILES {
        let path = plugin.join(file.path);
        fs::create_dir_all(path.parent().unwrap_or(&plugin))?;
        fs::write(path, file.text)?;
    }
    let output = run(program, &["plugin", "validate", &plugin.to_string_lossy()], &scratch.0)?;
    Ok((!output.status.success()).then(|| format!("version {version} refuses it")))
}

/// Runs Claude apart from what the person has, and without the network.
fn run(program: &Path, arguments: &[&str], scratch: &Path) -> io::Result<Output> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(scratch).env("CLAUDE_CONFIG_DIR", scratch.join("config"));
    for switch in [
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
    ] {
        command.env(switch, "1");
    }
    // What it prints goes to a file: a pipe that nobody reads would hold it up.
    let printed = scratch.join("printed");
    command.stdin(Stdio::null()).stdout(fs::File::create(&printed)?).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Output { status, stdout: fs::read(&printed)?, stderr: Vec::new() });
        }
        if begun.elapsed() > DEADLINE {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it takes too long"));
        }
        sleep(LOOK_EVERY);
    }
}

/// A folder that is gone afterwards.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn make() -> io::Result<Self> {
        let folder = std::env::temp_dir().join(format!("agtmux-setup-{}", uuid::Uuid::now_v7()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in a folder for temporary files is in nobody's way.
        fs::remove_dir_all(&self.0).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What a program makes of the check that says this version and ends its validation so.
    fn tried(version: &str, validation: &str) -> Option<String> {
        let scratch = Scratch::make().unwrap();
        let program = scratch.0.join("claude");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo '{version}'; exit; }}\n\
             [ -f \"$3/hooks/agtmux.js\" ] && [ -d \"$PWD\" ] && {validation}\n"
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        try_out(&program).unwrap()
    }

    #[test]
    fn version_and_validation_decide() {
        assert_eq!(tried("2.1.325 (Claude Code)", "true"), None);
        assert_eq!(tried("2.1.325 (Claude Code)", "false").unwrap(), "version 2.1.325 (Claude Code) refuses it");
        assert_eq!(
            tried("2.0.1 (Claude Code)", "true").unwrap(),
            "version \"2.0.1 (Claude Code)\" was not tried with it"
        );
        assert_eq!(tried("", "true").unwrap(), "version \"\" was not tried with it");
    }
}
