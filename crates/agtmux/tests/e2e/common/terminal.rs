//! Terminals: a program at a pseudo-terminal of its own, as a person has it.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use super::environment::TestEnvironment;
use super::wait::wait_for;

/// A program at a terminal, by `script(1)`. Ended when dropped.
pub(crate) struct Terminal {
    process: Child,
    keyboard: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Runs a line of shell at a terminal of 100 columns and 30 rows.
    #[track_caller]
    pub(crate) fn start(environment: &TestEnvironment, line: &str) -> Self {
        let line = format!("stty rows 30 cols 100; {line}");
        let mut command: Command = environment.shell("");
        let mut script = Command::new("script");
        script.env_clear().args(["-qefc", &line, "/dev/null"]).current_dir(environment.root());
        script.envs(
            command
                .env("AGTMUX_TMUX_SOCKET", environment.path("t"))
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let mut process = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let keyboard = process.stdin.take().unwrap();
        let mut output = process.stdout.take().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let screen = shown.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 8 * 1024];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                screen.lock().unwrap().extend_from_slice(&buffer[..count]);
            }
        });
        Self { process, keyboard, shown }
    }

    /// Types.
    #[track_caller]
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Everything that was written to the terminal so far.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    /// Waits until something was written to the terminal.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        wait_for(&format!("{text:?} on the terminal"), || {
            let shown = self.shown();
            if shown.contains(text) { Ok(()) } else { Err(shown) }
        });
    }

    /// Waits for the program to end and gives its exit code.
    #[track_caller]
    pub(crate) fn finish(mut self) -> i32 {
        let status = wait_for("the program at the terminal to end", || {
            self.process
                .try_wait()
                .unwrap()
                .ok_or_else(|| String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned())
        });
        status.code().unwrap_or(-1)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}
