//! Agents that run a server of their own.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::net::RecvFlags;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Message, WebSocket, accept};
use uuid::Uuid;

use crate::common::{SCRIPT, TestEnvironment, wait_for};

/// What opencode serves: whatever is written to a fifo, as server-sent events, to one client at a time; and documents,
/// each from a file beside the fifo, the first time from another one if that is there. What is posted is written to such a file, and taken
/// unless that is there; it dies of what has a file that says so, and never answers what has another.
const SERVER: &str = "import os, socket, sys, threading
server = socket.create_server(('127.0.0.1', int(sys.argv[2])))
def serve(client):
    head, body = client.makefile('rb'), ''
    method, path = head.readline().decode().split()[:2]
    fields = dict(line.decode().lower().strip().split(': ', 1) for line in iter(head.readline, b'\\r\\n'))
    document = os.path.join(os.path.dirname(sys.argv[3]), path.strip('/').replace('/', '-') + '.json')
    if method == 'POST':
        status = '404 Not Found' if os.path.exists(document) else '200 OK'
        open(document, 'ab').write(head.read(int(fields['content-length'])))
        if os.path.exists(document + '.dies'):
            os._exit(1)
        if os.path.exists(document + '.hangs'):
            threading.Event().wait()
        client.sendall(('HTTP/1.1 %s\\r\\nconnection: close\\r\\ncontent-length: 0\\r\\n\\r\\n' % status).encode())
        return client.close()
    if path != '/event':
        if os.path.exists(document + '.once'):
            body = open(document + '.once').read()
            os.remove(document + '.once')
        else:
            body = open(document).read() if os.path.exists(document) else ('{}' if 'status' in path else '[]')
        head = 'HTTP/1.1 200 OK\\r\\nconnection: close\\r\\ncontent-length: %d\\r\\n\\r\\n' % len(body)
        client.sendall((head + body).encode())
        return client.close()
    client.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-type: text/event-stream\\r\\n\\r\\n')
    for line in open(sys.argv[3]):
        client.sendall(b'data: ' + line.strip().encode() + b'\\n\\n')
    client.close()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],)).start()
";

/// opencode was started with `--port`, so what it does is heard from itself, and what it said is taken back when it
/// falls silent.
#[test]
fn opencodes_server_is_heard() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, events) = opencode(&environment);
    let listened_to = || listened_to(&events);
    let mut stream = listened_to();
    environment.wait_for_pane(&pane, "it to say that it does nothing", |pane| pane["state"] == "idle");
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
    expect(&mut stream, asked.clone(), "waiting_approval");
    let replied =
        json!({"type": "permission.replied", "properties": {"sessionID": "s", "requestID": "per_1", "reply": "once"}});
    expect(&mut stream, replied.clone(), "running");
    let mut asked = asked;
    asked["properties"]["id"] = "per_2".into();
    let mut replied = replied;
    replied["properties"]["requestID"] = "per_2".into();
    expect(&mut stream, asked.clone(), "waiting_approval");
    // The connection is lost. When it is back, the request still waits, and the session of a subagent runs.
    fs::write(
        environment.path("session-status.json"),
        json!({"s": {"type": "busy"}, "sub": {"type": "busy"}}).to_string(),
    )
    .unwrap();
    fs::write(environment.path("session-s.json"), json!({"id": "s"}).to_string()).unwrap();
    fs::write(environment.path("session-sub.json"), json!({"id": "sub", "parentID": "s"}).to_string()).unwrap();
    fs::write(environment.path("permission.json"), json!([asked["properties"]]).to_string()).unwrap();
    drop(stream);
    environment.wait_for_pane(&pane, "it to be taken back", |pane| pane["state"] == "unknown");
    let mut stream = listened_to();
    environment.wait_for_pane(&pane, "what was missed", |pane| pane["state"] == "waiting_approval");
    let idle = |session: &str| json!({"type": "session.idle", "properties": {"sessionID": session}});
    writeln!(stream, "{}", idle("sub")).unwrap();
    expect(&mut stream, replied, "running");
    expect(&mut stream, idle("s"), "completed");
}

/// What opencode asks is answered at its server: that request, once, and with a reason if there is one.
#[test]
fn opencodes_server_is_answered() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, events) = opencode(&environment);
    let mut stream = listened_to(&events);
    environment.wait_for_pane(&pane, "it to say that it does nothing", |pane| pane["state"] == "idle");
    let mut ask = |id: &str, command: &str| {
        let asked = json!({"type": "permission.asked", "properties": {"id": id, "sessionID": "s", "permission": "bash",
            "metadata": {"command": command}}});
        writeln!(stream, "{asked}").unwrap();
        let subject = format!("bash: {command}");
        environment.wait_for_pane(&pane, "the question", |pane| pane["prompt"]["subject"] == subject.as_str());
    };
    let reply = |id: &str| {
        let reply = fs::read_to_string(environment.path(&format!("permission-{id}-reply.json"))).unwrap();
        serde_json::from_str::<Value>(&reply).unwrap()
    };
    ask("per_1", "touch x");
    ask("per_2", "touch y");
    let said = environment.agtmux(&["approve", &pane]).ok();
    assert_eq!(said.stdout, format!("approved bash: touch y (opencode in {pane}, by its server)\n"));
    assert_eq!(reply("per_2"), json!({"reply": "once"}));
    assert!(!environment.path("permission-per_1-reply.json").exists(), "it was not what was read");
    ask("per_3", "touch z");
    environment.agtmux(&["deny", &pane, "--reason", "use make"]).ok();
    assert_eq!(reply("per_3"), json!({"reply": "reject", "message": "use make"}));
    // Somebody at the terminal was faster.
    fs::write(environment.path("permission-per_4-reply.json"), "").unwrap();
    ask("per_4", "touch w");
    let refused = environment.agtmux(&["approve", &pane, "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()));
}

/// Starts an opencode with a server. Gives its pane, and the fifo of its events.
pub(crate) fn opencode(environment: &TestEnvironment) -> (String, PathBuf) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (server, events) = (environment.path("server.py"), environment.path("events"));
    fs::write(&server, SERVER).unwrap();
    assert!(Command::new("mkfifo").arg(&events).status().unwrap().success());
    let start = format!("python3 {} --port {port} {} &\n", server.display(), events.display());
    let (shebang, rest) = SCRIPT.split_once('\n').unwrap();
    let program = environment.program("opencode", &format!("{shebang}\n{start}{rest}"));
    let dir = environment.agent_dir();
    let line = format!("AGENT_DIR={} exec {}", dir.display(), program.display());
    (environment.tmux().window("main", &line), events)
}

/// The server opens its fifo once the daemon has connected.
pub(crate) fn listened_to(events: &Path) -> File {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
    wait_for("the server to be listened to", || OpenOptions::new().write(true).custom_flags(flags).open(events))
}

/// Starts a Codex that is the client of a server. Gives its pane, and the server.
pub(crate) fn codex(environment: &TestEnvironment) -> (String, UnixListener) {
    let socket = environment.path("codex.sock");
    let server = UnixListener::bind(&socket).unwrap();
    let client =
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b'T'); s.recv(1)";
    let start = format!("python3 -c \"{client}\" {} &\n", socket.display());
    let (shebang, rest) = SCRIPT.split_once('\n').unwrap();
    let program = environment.program("codex", &format!("{shebang}\n{start}{rest}"));
    let dir = environment.agent_dir();
    let line = format!("AGENT_DIR={} exec {} --remote unix://{}", dir.display(), program.display(), socket.display());
    (environment.tmux().window("main", &line), server)
}

/// A Codex in a pane is a client of a server that it shares with nobody else, so the only thread there is its own.
#[test]
fn codexs_server_is_heard() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, server) = codex(&environment);
    let expect = |state: &str| environment.wait_for_pane(&pane, state, |pane| pane["state"] == state);

    // The first connection of the two may be the pane's own, which is kept.
    let (mut client, mut first) = (None, String::new());
    let mut daemon = Codex::connected(&server, &mut client);
    daemon.introduce(&mut first, json!({"type": "idle"}));
    if client.is_none() {
        client = Some(server.accept().unwrap().0);
        daemon.say("thread/status/changed", &json!({"threadId": first, "status": {"type": "idle"}}));
    }
    let seen = expect("idle");
    assert_eq!((&seen["source"], &seen["evidence"]), (&"app_server".into(), &"reported".into()), "{seen:#}");
    let active = |flags: &[&str]| json!({"threadId": first, "status": {"type": "active", "activeFlags": flags}});
    for (flags, state) in [
        (&[][..], "running"),
        (&["waitingOnApproval"], "waiting_approval"),
        (&[], "running"),
        (&["waitingOnUserInput"], "waiting_input"),
    ] {
        daemon.say("thread/status/changed", &active(flags));
        expect(state);
    }
    // What makes titles behind the person's back is nobody's.
    daemon.say("thread/started", &json!({"thread": {"id": "t0", "ephemeral": true, "status": {"type": "idle"}}}));
    daemon.say("thread/status/changed", &json!({"threadId": "t0", "status": {"type": "idle"}}));
    daemon.say("thread/status/changed", &json!({"threadId": first, "status": {"type": "idle"}}));
    expect("idle");
    // Another client may show the thread as well, or whatever this one showed: nobody can say (F33).
    let other = UnixStream::connect(environment.path("codex.sock")).unwrap();
    let accepted = server.accept().unwrap();
    daemon.say("thread/status/changed", &active(&[]));
    expect("unknown");
    drop((accepted, other));
    daemon.say("thread/closed", &json!({"threadId": first}));
    let second = Uuid::now_v7().to_string();
    daemon.say("thread/started", &json!({"thread": {"id": second, "ephemeral": false, "status": {"type": "idle"}}}));
    expect("idle");
    // The person goes on to another thread: it is not certain which one is shown before the server closes the first.
    let third = Uuid::now_v7().to_string();
    daemon.say("thread/started", &json!({"thread": {"id": third, "ephemeral": false, "status": {"type": "idle"}}}));
    expect("unknown");
    daemon.say("thread/closed", &json!({"threadId": second}));
    daemon.say("thread/status/changed", &json!({"threadId": third, "status": {"type": "active", "activeFlags": []}}));
    expect("running");
    // What happens while nobody listens is asked for.
    drop(daemon);
    expect("unknown");
    let mut daemon = Codex::connected(&server, &mut client);
    daemon.introduce(&mut third.clone(), json!({"type": "active", "activeFlags": ["waitingOnApproval"]}));
    expect("waiting_approval");
}

/// The server's end of the daemon's connection to Codex.
pub(crate) struct Codex(WebSocket<UnixStream>);

impl Codex {
    /// Waits for the daemon. Should another come first, it is kept apart.
    pub(crate) fn connected(server: &UnixListener, other: &mut Option<UnixStream>) -> Self {
        loop {
            let (stream, _) = server.accept().unwrap();
            let mut first = [0];
            rustix::net::recv(&stream, &mut first[..], RecvFlags::PEEK).unwrap();
            if first == *b"G" {
                return Self(accept(stream).unwrap());
            }
            *other = Some(stream);
        }
    }

    /// Answers what a client asks that comes to listen. There is one thread, which begins now if it has no name yet.
    pub(crate) fn introduce(&mut self, thread: &mut String, status: Value) {
        let initialize = self.asked("initialize");
        self.answer(&initialize, &json!({"userAgent": "codex"}));
        self.asked("initialized");
        let loaded = self.asked("thread/loaded/list");
        if thread.is_empty() {
            *thread = Uuid::now_v7().to_string();
        }
        self.answer(&loaded, &json!({"data": [thread], "nextCursor": null}));
        let read = self.asked("thread/read");
        assert_eq!(read["params"]["threadId"], thread.as_str());
        let thread = json!({"id": thread, "ephemeral": false, "parentThreadId": null, "status": status});
        self.answer(&read, &json!({"thread": thread}));
    }

    pub(crate) fn asked(&mut self, method: &str) -> Value {
        let message: Value = serde_json::from_str(self.0.read().unwrap().to_text().unwrap()).unwrap();
        assert_eq!(message["method"], method, "{message}");
        message
    }

    pub(crate) fn answer(&mut self, question: &Value, result: &Value) {
        self.0.send(Message::text(json!({"id": question["id"], "result": result}).to_string())).unwrap();
    }

    pub(crate) fn say(&mut self, method: &str, params: &Value) {
        self.0.send(Message::text(json!({"method": method, "params": params}).to_string())).unwrap();
    }
}
