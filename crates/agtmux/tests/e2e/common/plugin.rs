//! The plugin inside a composer: it waits for orders on the daemon's socket as the one in Claude Code does.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The version that it says it runs in.
pub(crate) const VERSION: &str = "2.1.325";

/// An order, and where what comes of it goes.
pub(super) struct Ordered {
    pub(super) task: Value,
    pub(super) reply: Sender<Value>,
}

/// Where the daemon of this environment is found.
pub(crate) fn socket() -> PathBuf {
    PathBuf::from(std::env::var_os("XDG_RUNTIME_DIR").unwrap()).join("agtmux/agtmuxd.plugin")
}

/// Posts something; the status and what was answered.
pub(crate) fn post(socket: &PathBuf, path: &str, body: &Value) -> std::io::Result<(u16, Value)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let body = body.to_string();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: agtmux\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    Ok((status, serde_json::from_str(body).unwrap_or_default()))
}

/// What it says when it has nothing to do.
pub(crate) fn waiting(version: &str) -> Value {
    json!({ "instance": "load-1", "protocol": 1, "version": version })
}

/// Waits for orders as long as its agent lives, and passes each on.
pub(super) fn listen(version: String, pass_on: impl Fn(Ordered) + Send + 'static) {
    thread::spawn(move || {
        loop {
            let Ok((200, waited)) = post(&socket(), "/wait", &waiting(&version)) else {
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            if waited["stop"] == true {
                return;
            }
            let Some(order) = waited["order"].as_object() else { continue };
            let (reply, settled) = channel();
            pass_on(Ordered { task: order["task"].clone(), reply });
            let number = order["number"].clone();
            thread::spawn(move || {
                if let Ok(reply) = settled.recv() {
                    post(&socket(), "/answer", &json!({ "instance": "load-1", "number": number, "reply": reply })).ok();
                }
            });
        }
    });
}

/// Asks for orders as what an agent starts would: by a process of its own.
pub(super) fn ask_by_a_child() {
    let script = format!(
        "import socket,sys\ns=socket.socket(socket.AF_UNIX);s.connect({:?})\nb={:?}\n\
         s.sendall(('POST /wait HTTP/1.1\\r\\nhost: a\\r\\ncontent-type: application/json\\r\\ncontent-length: %d\\r\\n\\r\\n%s'%(len(b),b)).encode())\ns.recv(9999)",
        socket().to_str().unwrap(),
        waiting(VERSION).to_string()
    );
    thread::spawn(move || {
        loop {
            Command::new("python3").args(["-c", &script]).status().unwrap();
            thread::sleep(Duration::from_millis(50));
        }
    });
}
