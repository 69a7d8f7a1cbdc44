//! Agents that run a server of their own.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::{SCRIPT, TestEnvironment, wait_for};

/// What opencode serves: whatever is written to a fifo, as server-sent events, to one client at a time.
const SERVER: &str = "import socket, sys
server = socket.create_server(('127.0.0.1', int(sys.argv[2])))
while True:
    client, _ = server.accept()
    client.recv(65536)
    client.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\n')
    for line in open(sys.argv[3]):
        client.sendall(b'data: ' + line.strip().encode() + b'\\n\\n')
    client.close()
";

/// opencode was started with `--port`, so what it does is heard from itself, and what it said is taken back when it
/// falls silent.
#[test]
fn opencodes_server_is_heard() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (server, events) = (environment.path("server.py"), environment.path("events"));
    fs::write(&server, SERVER).unwrap();
    assert!(Command::new("mkfifo").arg(&events).status().unwrap().success());
    let start = format!("python3 {} --port {port} {} &\n", server.display(), events.display());
    let (shebang, rest) = SCRIPT.split_once('\n').unwrap();
    let program = environment.program("opencode", &format!("{shebang}\n{start}{rest}"));
    let dir = environment.agent_dir();
    let line = format!("AGENT_DIR={} exec {}", dir.display(), program.display());
    let pane = environment.tmux().window("main", &line);
    // The server opens it once the daemon has connected.
    let listened_to = || {
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        wait_for("the server to be listened to", || OpenOptions::new().write(true).custom_flags(flags).open(&events))
    };
    let mut stream = listened_to();
    let expect = |stream: &mut File, event: Value, state: &str| {
        writeln!(stream, "{event}").unwrap();
        let seen = environment.wait_for_pane(&pane, &event.to_string(), |pane| pane["state"] == state);
        assert_eq!(seen["agent"], "opencode", "{seen:#}");
        seen
    };
    let status =
        |status: &str| json!({"type": "session.status", "properties": {"sessionID": "s", "status": {"type": status}}});
    let busy = expect(&mut stream, status("busy"), "running");
    assert_eq!((&busy["source"], &busy["evidence"]), (&"app_server".into(), &"reported".into()));
    let asked = json!({"type": "permission.asked", "properties": {"id": "per_1", "sessionID": "s", "permission": "bash",
        "patterns": ["touch x"], "metadata": {"command": "touch x"}, "tool": {"messageID": "m", "callID": "c"}}});
    expect(&mut stream, asked, "waiting_approval");
    let replied =
        json!({"type": "permission.replied", "properties": {"sessionID": "s", "requestID": "per_1", "reply": "once"}});
    expect(&mut stream, replied, "running");
    drop(stream);
    environment.wait_for_pane(&pane, "it to be taken back", |pane| pane["state"] == "unknown");
    let mut stream = listened_to();
    expect(&mut stream, status("busy"), "running");
}
