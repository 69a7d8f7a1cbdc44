//! Panes of a private tmux server.

use std::process::Command;

use tempfile::TempDir;

use super::wait_for;

/// A tmux server of its own.
pub(crate) struct Server {
    pub(crate) dir: TempDir,
}

/// A pane of it.
pub(crate) struct Pane<'a> {
    server: &'a Server,
    pub(crate) id: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("as").rand_bytes(5).tempdir_in("/tmp").unwrap();
        let server = Self { dir };
        server.run(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "cat"]);
        server.run(&["set-option", "-g", "remain-on-exit", "on"]);
        server
    }

    /// Opens a pane that runs a line of shell.
    pub(crate) fn pane(&self, line: &str) -> Pane<'_> {
        let home = format!("HOME={}", self.dir.path().display());
        let id = self.run(&["new-window", "-d", "-e", &home, "-e", "PS1=$ ", "-P", "-F", "#{pane_id}", line]);
        Pane { server: self, id }
    }

    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.env_remove("TMUX").env("LANG", "C.UTF-8").env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        tmux.env("AGTMUX_SHIM_DIR", self.dir.path().join("shim")).current_dir(self.dir.path());
        let output = tmux.arg("-S").arg(self.dir.path().join("t")).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        Command::new("tmux").arg("-S").arg(self.dir.path().join("t")).arg("kill-server").output().ok();
    }
}

impl Pane<'_> {
    /// Presses keys, by their names.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.server.run(&[&["send-keys", "-t", &self.id], keys].concat());
    }

    /// Types a text and Enter.
    pub(crate) fn line(&self, text: &str) {
        self.server.run(&["send-keys", "-t", &self.id, "-l", "--", text]);
        self.keys(&["Enter"]);
    }

    pub(crate) fn text(&self) -> String {
        self.server.run(&["capture-pane", "-p", "-t", &self.id])
    }

    /// All that can be seen of it: text with its colours, the cursor and the modes that the program has set.
    pub(crate) fn picture(&self) -> String {
        let screen = self.server.run(&["capture-pane", "-p", "-e", "-t", &self.id]);
        // tmux writes the time into a dead pane, and the two may die on either side of a second.
        let screen: String =
            screen.lines().filter(|line| !line.contains("Pane is dead")).map(|line| format!("{line}\n")).collect();
        let modes = "#{cursor_x},#{cursor_y} #{cursor_flag} #{alternate_on} #{mouse_any_flag} #{keypad_flag} \
                     #{keypad_cursor_flag} #{wrap_flag} #{insert_flag} #{pane_title} #{pane_dead} #{pane_dead_status}";
        let told = self.server.run(&["display-message", "-p", "-t", &self.id, modes]);
        // Now and then tmux 3.3a sees a terminal close and misses that its program ended. The end of another makes it look.
        if told.ends_with(" 1 ") {
            self.server.run(&["run-shell", "true"]);
        }
        format!("{screen}\n{told}")
    }

    #[track_caller]
    pub(crate) fn wait(&self, text: &str) {
        wait_for(&format!("{text:?} in the pane"), || {
            let seen = self.text();
            if seen.contains(text) { Ok(()) } else { Err(seen) }
        });
    }

    pub(crate) fn resize(&self, columns: u32, rows: u32) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.server.run(&["resize-window", "-t", &self.id, "-x", &columns, "-y", &rows]);
    }
}
