//! `WS /v1/stream`: a snapshot, then every change; no gap, no repeat, no going back (I22).

use std::collections::BTreeMap;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use agtmux_wire::stream::Frame;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::common::{DEADLINE, TestEnvironment, raw_request, wait_for};

/// How long a follower waits for a frame before it looks whether it is to end.
const PATIENCE: Duration = Duration::from_millis(50);

/// A client that checks what it is sent, and keeps what it adds up to.
struct Follower {
    socket: PathBuf,
    connection: WebSocket<UnixStream>,
    seq: Option<u64>,
    panes: BTreeMap<String, Value>,
    snapshots: u32,
    calls: Vec<(String, u64)>,
}

impl Follower {
    /// The pane of that id, if there is exactly one.
    fn pane(&self, id: &str) -> Option<&Value> {
        let mut found = self.panes.values().filter(|pane| pane["identity"]["pane_id"] == id);
        found.next().filter(|_| found.next().is_none())
    }

    fn connect(socket: &Path) -> Self {
        Self {
            socket: socket.to_owned(),
            connection: open(socket, None),
            seq: None,
            panes: BTreeMap::new(),
            snapshots: 0,
            calls: Vec::new(),
        }
    }

    /// Cuts the connection without a word and comes back with the last place it saw.
    fn reconnect(&mut self) {
        self.connection = open(&self.socket, self.seq);
    }

    /// Takes the next frame, if one comes soon. Panics on any frame that breaks the promise.
    fn take(&mut self) -> bool {
        let text = match self.connection.read() {
            Ok(Message::Text(text)) => text,
            Ok(_) => return true,
            Err(tungstenite::Error::Io(error)) if is_timeout(&error) => return false,
            Err(error) => panic!("the stream broke: {error}"),
        };
        let frame: Frame = serde_json::from_str(&text).unwrap();
        assert!(self.seq < Some(frame.seq()), "place {:?} is followed by {}", self.seq, frame.seq());
        assert!(self.seq.is_some() || matches!(frame, Frame::Snapshot { .. }), "the first frame is a snapshot");
        self.seq = Some(frame.seq());
        match frame {
            Frame::Snapshot { panes, summary, .. } => {
                self.snapshots += 1;
                self.panes = panes.iter().map(|pane| (key(&json!(pane)), json!(pane))).collect();
                assert_eq!(summary.total, panes.iter().filter(|pane| pane.runtime_id.is_some()).count() as u64);
            }
            Frame::Change { panes, removed, attention, .. } => {
                assert!(!(panes.is_empty() && removed.is_empty() && attention.is_empty()), "a change of nothing");
                // A pane that moves is removed from where it was and is new where it is.
                for gone in &removed {
                    self.panes.remove(&key(&json!(gone)));
                }
                for pane in &panes {
                    let old = self.panes.insert(key(&json!(pane)), json!(pane));
                    assert_no_step_back(old.as_ref(), &json!(pane));
                }
                self.calls.extend(attention.into_iter().map(|call| (call.runtime_id, call.nudge_seq)));
            }
        }
        true
    }
}

/// What tells panes apart: an identity is that of one server, and there may be several.
fn key(pane: &Value) -> String {
    format!("{} {}", pane["tmux_socket"], pane["identity"])
}

/// Within one runtime nothing that counts up ever counts down.
fn assert_no_step_back(old: Option<&Value>, new: &Value) {
    let Some(old) = old.filter(|old| old["runtime_id"] == new["runtime_id"]) else { return };
    for count in ["/state_version", "/attention/nudge_seq"] {
        let (was, is) = (old.pointer(count).unwrap().as_u64(), new.pointer(count).unwrap().as_u64());
        assert!(was <= is, "{count} went back from {was:?} to {is:?}: {new:#}");
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn open(socket: &Path, after: Option<u64>) -> WebSocket<UnixStream> {
    let query = after.map_or_else(String::new, |seq| format!("?after={seq}"));
    let stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let (connection, _) = tungstenite::client(format!("ws://localhost/v1/stream{query}"), stream).unwrap();
    connection.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    connection
}

#[test]
fn a_snapshot_then_changes_and_a_reconnect_without_gap() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let mut follower = Follower::connect(&environment.socket());
    while follower.snapshots == 0 {
        follower.take();
    }
    assert_eq!(follower.pane(&agent.pane).unwrap()["agent"], "claude");
    agent.signal("waiting_input 'one?'").ok();
    let state = |follower: &mut Follower, wanted: &str| {
        wait_for(&format!("{wanted} in the stream"), || {
            follower.take();
            let pane = follower.pane(&agent.pane).unwrap();
            if pane["state"] == wanted { Ok(()) } else { Err(format!("{pane:#}")) }
        });
    };
    state(&mut follower, "waiting_input");
    wait_for("the call for attention", || {
        follower.take();
        if follower.calls.len() == 1 { Ok(()) } else { Err(format!("{:?}", follower.calls)) }
    });
    // What is missed is made up for by changes alone.
    agent.signal("running").ok();
    agent.signal("error 'boom'").ok();
    follower.reconnect();
    state(&mut follower, "error");
    assert_eq!(follower.snapshots, 1);
    let calls: Vec<_> = follower.calls.iter().map(|(_, nudge)| *nudge).collect();
    wait_for("the second call", || {
        follower.take();
        if follower.calls.len() == 2 { Ok(()) } else { Err(format!("{calls:?}")) }
    });
    // Panes that close are taken away.
    agent.tell("exit");
    wait_for("the pane to be taken away", || {
        follower.take();
        if follower.pane(&agent.pane).is_some() { Err("it is there") } else { Ok(()) }
    });
}

/// Panes of two servers may have one identity. The end of one is not the end of the other.
#[test]
fn a_pane_that_is_gone_is_of_one_server() {
    let environment = TestEnvironment::with_tmux();
    let other = environment.tmux_at("t2");
    other.start("main");
    environment.start_daemon();
    environment.agtmux(&["--tmux-socket", &other.path().display().to_string(), "list", "panes"]).ok();
    let mut follower = Follower::connect(&environment.socket());
    wait_for("both panes", || {
        follower.take();
        if follower.panes.len() == 2 { Ok(()) } else { Err(format!("{:#?}", follower.panes.keys())) }
    });
    let identities: Vec<_> = follower.panes.values().map(|pane| pane["identity"].clone()).collect();
    assert_eq!(identities[0], identities[1]);
    other.run(&["kill-server"]);
    wait_for("one pane to be taken away", || {
        follower.take();
        if follower.panes.len() == 1 { Ok(()) } else { Err(format!("{:#?}", follower.panes.keys())) }
    });
    let left = follower.panes.values().next().unwrap();
    assert_eq!(left["tmux_socket"], environment.tmux().path().display().to_string());
}

/// A place of another life of the stream, or of the future, gets a snapshot; nonsense gets an error.
#[test]
fn places_that_cannot_be_served_get_a_snapshot() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.agent("claude");
    for after in [0, u64::MAX] {
        let mut connection = open(&environment.socket(), Some(after));
        connection.get_ref().set_read_timeout(Some(DEADLINE)).unwrap();
        let frame: Frame = serde_json::from_str(connection.read().unwrap().to_text().unwrap()).unwrap();
        assert!(matches!(frame, Frame::Snapshot { .. }), "after={after}: {frame:?}");
    }
    let request = b"GET /v1/stream?after=x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let answer = String::from_utf8(raw_request(&environment.socket(), request).unwrap()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("E_USAGE"), "{answer}");
    // After a restart the old place is behind everything that is new, never ahead of it.
    let mut follower = Follower::connect(&environment.socket());
    while follower.snapshots == 0 {
        follower.take();
    }
    environment.agtmux(&["daemon", "stop"]).ok();
    environment.start_daemon();
    follower.reconnect();
    wait_for("a frame after the restart", || if follower.take() { Ok(()) } else { Err("none yet") });
}

/// I22: eight clients, some slow, some reconnecting all the time, under two hundred signals a second to twenty agents.
#[test]
fn eight_clients_under_load_see_the_same_truth() {
    const AGENTS: usize = 20;
    const SIGNALS: u64 = 1_000;
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agents: Vec<_> = (0..AGENTS).map(|_| environment.unseen_agent("claude")).collect();
    for agent in &agents {
        environment.wait_for_pane(&agent.pane, "an agent", |pane| pane["agent"] == "claude");
    }
    let panes: Vec<_> = agents.iter().map(|agent| agent.pane.clone()).collect();
    let socket = environment.socket();
    let tmux_socket = environment.tmux().path().display().to_string();
    let ended = AtomicBool::new(false);
    let followers: Vec<Follower> = thread::scope(|scope| {
        let handles: Vec<_> = (0..8)
            .map(|number| {
                let (socket, ended) = (&socket, &ended);
                scope.spawn(move || follow(socket, number, ended))
            })
            .collect();
        scope.spawn(|| {
            send_load(&socket, &tmux_socket, &panes, SIGNALS);
            ended.store(true, Ordering::SeqCst);
        });
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    // Nothing moves any more: what each client has added up is what the daemon shows.
    for (number, mut follower) in followers.into_iter().enumerate() {
        wait_for(&format!("client {number} to have the final state"), || {
            follower.take();
            let truth = environment.get("/v1/panes?all=true");
            let truth: BTreeMap<_, _> =
                truth["items"].as_array().unwrap().iter().map(|pane| (key(pane), pane.clone())).collect();
            let wrong: Vec<_> = truth.iter().filter(|(id, pane)| follower.panes.get(*id) != Some(*pane)).collect();
            if wrong.is_empty() && truth.len() == follower.panes.len() {
                Ok(())
            } else {
                Err(format!("{} panes differ, the first is {:#?}", wrong.len(), wrong.first()))
            }
        });
        // A call for attention is made once.
        let mut calls = follower.calls.clone();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), follower.calls.len(), "client {number} was called twice for one thing");
    }
}

/// Two of the eight read slowly, two cut the connection again and again; all check every frame.
fn follow(socket: &Path, number: usize, ended: &AtomicBool) -> Follower {
    let mut follower = Follower::connect(socket);
    let mut frames = 0_u64;
    while !ended.load(Ordering::SeqCst) {
        if follower.take() {
            frames += 1;
        }
        match number {
            // Slowness is the thing under test here, not a way to wait for something.
            0 | 1 => thread::sleep(Duration::from_millis(20)),
            2 | 3 if frames.is_multiple_of(25) => follower.reconnect(),
            _ => {}
        }
    }
    follower
}

/// Sends up to two hundred signals a second, in turn to all panes, each with another state.
fn send_load(socket: &Path, tmux_socket: &str, panes: &[String], signals: u64) {
    const STATES: [&str; 5] = ["running", "waiting_input", "waiting_approval", "completed", "error"];
    let started = Instant::now();
    for number in 0..signals {
        let place = usize::try_from(number).unwrap();
        let event = json!({
            "state": STATES[place % STATES.len()], "message": format!("signal {number}"),
            "pane_id": panes[place % panes.len()], "tmux_socket": tmux_socket, "source_seq": number,
        })
        .to_string();
        let request = format!(
            "POST /v1/events HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{event}",
            event.len()
        );
        let answer = raw_request(socket, request.as_bytes()).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        // The pace of the load.
        let due = Duration::from_millis(5 * (number + 1));
        thread::sleep(due.saturating_sub(started.elapsed()));
    }
}
