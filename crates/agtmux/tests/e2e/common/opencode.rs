//! An opencode whose server takes prompts, for as long as whoever asks comes and goes.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;

use super::agent::SCRIPT;
use super::environment::TestEnvironment;
use super::wait::wait_for;

/// What it serves.
const SERVER: &str = include_str!("opencode.py");

/// One in a pane, which shows its one conversation.
pub(crate) struct Opencode {
    pub(crate) pane: String,
    dir: PathBuf,
    port: u16,
}

impl Opencode {
    /// Starts one in a window of its own, and waits until the daemon has heard that it has nothing to do.
    #[track_caller]
    pub(crate) fn start(environment: &TestEnvironment) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (dir, server) = (environment.agent_dir(), environment.path("opencode.py"));
        fs::write(&server, SERVER).unwrap();
        let start = format!("python3 {} --port {port} {} &\n", server.display(), dir.display());
        let (shebang, rest) = SCRIPT.split_once('\n').unwrap();
        let program = environment.program("opencode", &format!("{shebang}\n{start}{rest}"));
        let line = format!("AGENT_DIR={} exec {}", dir.display(), program.display());
        let pane = environment.tmux().window("main", &line);
        environment.tmux().run(&["select-pane", "-t", &pane, "-T", "OC | A title"]);
        let opencode = Self { pane, dir, port };
        environment.wait_for_pane(&opencode.pane, "its server to be heard", |pane| pane["source"] == "app_server");
        // Which conversation it is in is told with what happens there.
        opencode.begin_turn();
        environment.wait_for_pane(&opencode.pane, "a turn", |pane| pane["state"] == "running");
        opencode.end_turn();
        environment.wait_for_pane(&opencode.pane, "its end", |pane| pane["state"] == "completed");
        opencode
    }

    /// Somebody begins a turn in it.
    #[track_caller]
    pub(crate) fn begin_turn(&self) {
        self.post("/begin");
    }

    /// Whatever turn is under way is ended.
    #[track_caller]
    pub(crate) fn end_turn(&self) {
        self.post("/session/ses_1/abort");
    }

    /// How often whoever came to listen has asked all they ask before they give it anything.
    pub(crate) fn introductions(&self) -> usize {
        let asked = fs::read_to_string(self.dir.join("asked")).unwrap_or_default();
        asked.lines().filter(|path| *path == "/question").count()
    }

    /// What it was given.
    pub(crate) fn submitted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join("submitted")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[track_caller]
    fn post(&self, path: &str) {
        wait_for("the server to answer", || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|error| error.to_string())?;
            let request = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
            if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(answer) }
        });
    }
}
