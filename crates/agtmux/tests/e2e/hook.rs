//! `agtmux hook`, as agents run it: what happens is seen, whatever the agent does with its pipes; nothing is lost while
//! no daemon answers; and the agent never feels any of it.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agtmux_wire::hook::{HELD, HookHead};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{AGTMUX, DEADLINE, FakeAgent, Run, TestEnvironment, kill, wait_for, wait_within};

/// What an agent feels of a daemon that hangs: the deadline of a hook, with room for a busy machine.
const UNFELT: Duration = Duration::from_secs(2);

fn payload(event: &str, rest: &Value) -> Value {
    let mut payload = json!({
        "session_id": "08a8c7a0-18ba-473f-b56d-3c06225bf2d8", "transcript_path": "/home/dev/t.jsonl", "cwd": "/home/dev",
        "hook_event_name": event,
    });
    payload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    payload
}

fn prompt() -> Value {
    payload("UserPromptSubmit", &json!({ "prompt": "go on" }))
}

fn stop() -> Value {
    payload("Stop", &json!({ "stop_hook_active": false, "last_assistant_message": "done", "background_tasks": [] }))
}

fn permission() -> Value {
    payload("PermissionRequest", &json!({ "tool_name": "Bash", "tool_input": { "command": "touch x" } }))
}

/// Writes a payload to a file of the environment.
fn file(environment: &TestEnvironment, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = environment.path(name);
    fs::write(&path, content).unwrap();
    path
}

/// A hook has run: it succeeded and said nothing.
#[track_caller]
fn assert_silent(run: &Run) {
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
}

/// Has an agent run its hook on a payload, as it would: by a shell, with the payload on standard input.
#[track_caller]
fn hook(environment: &TestEnvironment, agent: &FakeAgent, payload: &Value) {
    let path = file(environment, "payload", payload.to_string());
    assert_silent(&agent.run(&format!("{AGTMUX} hook claude <{}", path.display())));
}

fn spooled(environment: &TestEnvironment) -> Vec<PathBuf> {
    let entries = fs::read_dir(environment.state_dir().join("spool")).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[track_caller]
fn wait_for_empty_spool(environment: &TestEnvironment) {
    wait_for("the spool to be read", || {
        let left = spooled(environment);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
}

fn figures(environment: &TestEnvironment) -> Value {
    environment.get("/v1/daemon")["hooks"].clone()
}

fn state(environment: &TestEnvironment, agent: &FakeAgent) -> Value {
    environment.pane(&agent.pane).unwrap()["state"].clone()
}

/// An answered hook is in the log, so what it says is seen as soon as it has ended: no waiting here.
#[test]
fn what_an_agent_says_is_seen_when_its_hook_ends() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    for (said, seen) in [(prompt(), "running"), (permission(), "waiting_approval"), (stop(), "completed")] {
        hook(&environment, &agent, &said);
        assert_eq!(state(&environment, &agent), seen, "{said}");
    }
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["source"], &pane["evidence"]), (&"hook".into(), &"reported".into()));
    assert_eq!(figures(&environment)["taken"], 3);
    assert_eq!(spooled(&environment), [] as [PathBuf; 0]);
    // Codex gives its notification as an argument; a name before it is optional.
    for arguments in ["codex notify", "codex"] {
        let codex = environment.agent("codex");
        let notification = json!({ "type": "agent-turn-complete", "thread-id": "t", "turn-id": "1", "cwd": "/" });
        assert_silent(&codex.run(&format!("{AGTMUX} hook {arguments} '{notification}' <&-")));
        let runtime = environment.pane(&codex.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
        let log = environment.agtmux(&["events", "--json", "--runtime", &runtime]).ok().json();
        let is_signal = |item: &Value| item["type"] == "signal" && item["runtime_id"] == runtime.as_str();
        assert!(log["items"].as_array().unwrap().iter().any(is_signal), "{log:#}");
    }
}

/// F87–F89: agents that keep the pipe open, write nothing, or give no pipes at all.
#[test]
fn whatever_an_agent_does_with_its_pipes_the_hook_ends() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let open = environment.path("open");
    let prompt = file(&environment, "prompt", prompt().to_string());
    let stop = file(&environment, "stop", stop().to_string());
    let (prompt, stop, open) = (prompt.display(), stop.display(), open.display());

    let begun = Instant::now();
    assert_silent(&agent.run(&format!("mkfifo {open}; exec 8<>{open}; cat {prompt} >&8; {AGTMUX} hook claude <&8")));
    assert_eq!(state(&environment, &agent), "running", "the pipe stays open, and the document is whole");
    assert_silent(&agent.run(&format!("cat {prompt} >&8; {AGTMUX} hook claude <&8 >&- 2>&-")));
    assert_silent(&agent.run(&format!("{AGTMUX} hook claude <{stop} >/dev/full 2>/dev/full")));
    assert_eq!(state(&environment, &agent), "completed");
    let version = environment.pane(&agent.pane).unwrap()["state_version"].clone();
    // Nothing to read: an open pipe, a terminal, no standard input, none at all.
    for redirection in ["<&8", "", "</dev/null", "<&-", "<&- >&- 2>&-", "0</"] {
        assert_silent(&agent.run(&format!("{AGTMUX} hook claude Stop {redirection}")));
    }
    assert!(begun.elapsed() < DEADLINE);
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["state"], &pane["state_version"]), (&"completed".into(), &version), "{pane:#}");
}

/// A tool that printed megabytes is still the tool, and the agent can write all of it.
#[test]
fn large_payloads_lose_their_bulk_and_nothing_else() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    for size in [1_000_000, 10_000_000] {
        hook(&environment, &agent, &stop());
        let said = payload("UserPromptSubmit", &json!({ "prompt": "x".repeat(size) }));
        // `cat` fails when it cannot write all.
        let path = file(&environment, "large", said.to_string());
        assert_silent(&agent.run(&format!("set -e; cat {} | {AGTMUX} hook claude; set +e", path.display())));
        assert_eq!(state(&environment, &agent), "running", "{size} bytes");
    }
    assert_eq!(figures(&environment)["taken"], 4);
}

/// A hook starts no daemon. What it wrote down instead is private, and comes in its order.
#[test]
fn without_a_daemon_hooks_wait_and_come_in_their_order() {
    let environment = TestEnvironment::with_tmux();
    let agent = environment.unseen_agent("claude");
    let said = [prompt(), permission(), stop(), prompt(), permission()];
    for said in &said {
        hook(&environment, &agent, said);
    }
    assert!(!environment.socket().exists(), "a hook started a daemon");
    let files = spooled(&environment);
    assert_eq!(files.len(), 5);
    for (file, said) in files.iter().zip(&said) {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let message = fs::read(file).unwrap();
        let (head, payload) = HookHead::parse(&message).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(payload).unwrap(), *said);
        let ancestors = head.witness.unwrap().ancestors;
        assert!(ancestors.iter().any(|(pid, _)| *pid == agent.pid()), "{ancestors:?}");
    }
    environment.start_daemon();
    wait_for_empty_spool(&environment);
    let pane = environment.wait_for_pane(&agent.pane, "the last word", |pane| pane["state"] == "waiting_approval");
    assert_eq!(pane["attention"]["nudge_seq"], 3, "two questions and an answer, in their order: {pane:#}");
    let log = environment.agtmux(&["events", "--json"]).ok().json();
    let names = log["items"].as_array().unwrap().iter().filter_map(|item| item["fact"]["source_event_id"].as_str());
    let expected = ["UserPromptSubmit", "PermissionRequest", "Stop", "UserPromptSubmit", "PermissionRequest"];
    let mut names: Vec<_> = names.collect();
    names.dedup();
    assert_eq!(names, expected, "{log:#}");
    assert_eq!((&figures(&environment)["taken"], &figures(&environment)["spooled"]), (&5.into(), &5.into()));
}

/// A daemon that hangs costs the agent a moment. Heard twice, by the socket and by the spool, a hook counts once.
#[test]
fn a_daemon_that_hangs_is_not_felt_and_loses_nothing() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let daemon = environment.daemon_pid();
    kill(daemon, Signal::STOP);
    for said in [prompt(), permission()] {
        let begun = Instant::now();
        hook(&environment, &agent, &said);
        assert!(begun.elapsed() < UNFELT, "{:?}", begun.elapsed());
    }
    assert_eq!(spooled(&environment).len(), 2);
    kill(daemon, Signal::CONT);
    wait_for_empty_spool(&environment);
    let pane = environment.wait_for_pane(&agent.pane, "the question", |pane| pane["state"] == "waiting_approval");
    assert_eq!(pane["attention"]["nudge_seq"], 1, "one question: {pane:#}");
    hook(&environment, &agent, &stop());
    assert_eq!(state(&environment, &agent), "completed");
}

/// A daemon that had something for a hook and died before it could give it has logged that the agent goes on, which it does not now.
#[test]
fn a_hook_that_was_promised_something_and_got_nothing_is_told_again() {
    let environment = TestEnvironment::with_tmux();
    let agent = environment.unseen_agent("claude");
    let socket = environment.socket().with_extension("hook");
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let daemon = UnixListener::bind(&socket).unwrap();
    let dying = std::thread::spawn(move || {
        let (mut stream, _) = daemon.accept().unwrap();
        let mut message = vec![0; 64 * 1024];
        let length = stream.read(&mut message).unwrap();
        stream.write_all(&[HELD]).unwrap();
        HookHead::parse(&message[..length]).unwrap().0.boot_ns
    });
    let path = file(&environment, "payload", stop().to_string());
    assert_silent(&agent.run(&format!("{AGTMUX} hook claude Stop <{}", path.display())));
    let told_at = dying.join().unwrap();
    let [kept] = spooled(&environment).try_into().unwrap();
    let message = fs::read(kept).unwrap();
    let (head, payload) = HookHead::parse(&message).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(payload).unwrap(), stop());
    assert!(head.boot_ns > told_at && head.waits.is_none(), "it is another hook, and waits no more: {head:?}");
}

/// F38, I2: variables are inherited by anything and prove nothing; ancestors do.
#[test]
fn lies_about_the_pane_change_nothing() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (honest, other) = (environment.agent("claude"), environment.agent("claude"));
    let codex = environment.agent("codex");
    let runtime = environment.pane(&other.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    let prompt = file(&environment, "prompt", prompt().to_string());
    let prompt = prompt.display();
    let lie = format!("TMUX_PANE={} AGTMUX_RUNTIME_ID={runtime} AGTMUX_CAPABILITY=forged", other.pane);
    assert_silent(&honest.run(&format!("{lie} {AGTMUX} hook claude <{prompt}")));
    assert_eq!((state(&environment, &honest), state(&environment, &other)), ("running".into(), "unknown".into()));
    // Outside of any pane, with the variables of one.
    let tmux = environment.tmux();
    let outside = format!("TMUX={},1,0 {lie} {AGTMUX} hook claude <{prompt}", tmux.path().display());
    assert_silent(&Run::of(&mut environment.shell(&outside)));
    // And without them.
    assert_silent(&Run::of(&mut environment.shell(&format!("{AGTMUX} hook claude <{prompt}"))));
    let before = figures(&environment)["passed_over"].as_u64().unwrap();
    // An agent that another agent runs, and a one-shot run of the agent itself, speak for nobody.
    assert_silent(&codex.run(&format!("{AGTMUX} hook claude <{prompt}")));
    let own = file(&environment, "own", payload("Stop", &json!({ "session_id": "its-own" })).to_string());
    let prompt = own.display();
    let one_shot = environment.program("once/claude", &format!("#!/bin/sh\n{AGTMUX} hook claude <{prompt}\n:\n"));
    assert_silent(&other.run(&format!("{} -p 'say something'", one_shot.display())));
    assert_silent(&other.run(&format!("{AGTMUX} hook no-such-agent <{prompt}")));
    for agent in [&other, &codex] {
        assert_eq!(state(&environment, agent), "unknown");
    }
    let passed_over = figures(&environment)["passed_over"].as_u64().unwrap() - before;
    assert_eq!(passed_over, 3);
}

/// A fleet that ends its turns at once: every hook is in the log, and every agent is done.
#[test]
fn two_hundred_hooks_at_once_are_all_heard() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let tool = payload("PreToolUse", &json!({ "tool_name": "Bash", "tool_input": {} }));
    let tool = file(&environment, "tool", tool.to_string());
    hook(&environment, &agent, &prompt());
    let all =
        format!("i=0; while [ $i -lt 200 ]; do {AGTMUX} hook claude <{} & i=$((i+1)); done; wait", tool.display());
    assert_silent(&agent.run(&all));
    wait_for_empty_spool(&environment);
    assert_eq!(figures(&environment)["taken"], 201);
    assert_eq!(state(&environment, &agent), "running");
    hook(&environment, &agent, &stop());
    assert_eq!(state(&environment, &agent), "completed");
}

/// No home, no directory, no socket, no room: nothing of that is the agent's business.
#[test]
fn a_broken_installation_never_breaks_the_agent() {
    let environment = TestEnvironment::with_tmux();
    let agent = environment.unseen_agent("claude");
    let stop = file(&environment, "stop", stop().to_string());
    let hook = |variables: &str, arguments: &str| {
        assert_silent(&agent.run(&format!("{variables} {AGTMUX} hook {arguments} <{}", stop.display())));
    };
    let a_file = file(&environment, "a-file", "text");
    let a_file = a_file.display();
    hook("env -i", "claude");
    hook(&format!("env -i TMUX_PANE=%1 HOME={a_file} PATH="), "claude");
    hook(&format!("XDG_STATE_HOME={a_file} AGTMUX_SOCKET={a_file}"), "claude");
    hook("XDG_STATE_HOME=/proc/nowhere XDG_RUNTIME_DIR=/proc/nowhere", "claude");
    hook(&format!("AGTMUX_SOCKET=/{}", "x".repeat(500)), "claude");
    hook("", "''");
    hook("", "claude Stop and some more words");
    // A full disk: nothing may be written, not even the first byte.
    assert_silent(&agent.run(&format!("(ulimit -f 0; trap '' XFSZ; {AGTMUX} hook claude <{})", stop.display())));
    let left: Vec<_> = spooled(&environment).iter().map(|path| path.extension().unwrap().to_owned()).collect();
    assert!(left.iter().all(|extension| extension == "hook"), "{left:?}");
}

/// Five thousand messages that no hook would send, by a child of the agent: nothing falls over, and no state is made up.
#[test]
fn garbage_moves_no_state() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let path = environment.path("garbage");
    let mut corpus = Vec::new();
    for message in garbage(5_000) {
        corpus.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
        corpus.extend(message);
    }
    fs::write(&path, corpus).unwrap();
    let script = r#"
import os, socket, sys
from concurrent.futures import ThreadPoolExecutor
path, corpus, result = sys.argv[1], open(sys.argv[2], "rb").read(), sys.argv[3]

def tell(message):
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.connect(path)
            s.sendall(message)
            s.shutdown(socket.SHUT_WR)
            return s.recv(1) == b"+"
        except OSError:
            return False

messages, place = [], 0
while place < len(corpus):
    size = int.from_bytes(corpus[place:place + 4], "big")
    messages.append(corpus[place + 4:place + 4 + size])
    place += 4 + size
taken = list(ThreadPoolExecutor(8).map(tell, messages))
open(result + ".new", "w").write(f"{len(taken)} {sum(taken)}")
os.rename(result + ".new", result)
"#;
    let sender = file(&environment, "sender.py", script);
    let socket = environment.socket().with_extension("hook");
    let result = environment.path("result");
    let paths = [&sender, &socket, &path, &result].map(|path| path.display().to_string());
    agent.tell(&format!("python3 {}", paths.join(" ")));
    let told = wait_within(6 * DEADLINE, "the garbage to be told", || fs::read_to_string(&result));
    let counts: Vec<u32> = told.split_whitespace().map(|count| count.parse().unwrap()).collect();
    assert!(counts[0] == 5_000 && counts[1] > 1_000 && counts[1] < 5_000, "{told}");
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["state"], &pane["attention"]["nudge_seq"]), (&"unknown".into(), &0.into()), "{pane:#}");
    hook(&environment, &agent, &prompt());
    assert_eq!(state(&environment, &agent), "running");
}

/// Messages that are broken on every level: no head, a head of wrong types, payloads that are cut, of wrong types, of
/// unknown events, or not even text. None of them tells of anything that happened.
fn garbage(count: usize) -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let events = ["Stop", "UserPromptSubmit", "PermissionRequest", "PreToolUse", "Notification", "NoSuchEvent", ""];
    let wrong = [json!(null), json!(true), json!(-1), json!([]), json!({}), json!([[["x"]]]), json!({ "a": 1e300 })];
    let mut make = |number: usize| {
        let head = HookHead {
            agent: ["claude", "codex", "no such agent", "", "\u{0}\u{202e}"][random.below(5)].to_owned(),
            event: Some(events[random.below(events.len())].to_owned()).filter(|event| !event.is_empty()),
            boot_ns: random.next(),
            pid: u32::try_from(number).unwrap(),
            tmux: Some("/nowhere,x,,y".to_owned()),
            tmux_pane: Some(["%0", "%99999999999999999999", "; rm -rf", ""][random.below(4)].to_owned()),
            waits: None,
            witness: None,
        };
        // Without a session, or one that is no text, no event of Claude means anything.
        let mut document = json!({ "hook_event_name": events[random.below(events.len())] });
        for key in ["session_id", "prompt", "tool_name", "transcript_path", "message"] {
            document[key] = wrong[random.below(wrong.len())].clone();
        }
        let mut payload = document.to_string().into_bytes();
        match random.below(6) {
            0 => payload.truncate(random.below(payload.len())),
            1 => payload = (0..random.below(300)).map(|_| u8::try_from(random.below(256)).unwrap()).collect(),
            2 => payload = wrong[random.below(wrong.len())].to_string().into_bytes(),
            3 => payload = "[".repeat(random.below(5_000)).into_bytes(),
            _ => {}
        }
        let mut message = head.message(&payload);
        match random.below(8) {
            0 => message.truncate(random.below(60)),
            1 => message = payload,
            2 => message = format!("{{\"agent\":{},\"boot_ns\":-1}}\n{{}}", wrong[random.below(7)]).into_bytes(),
            3 if number.is_multiple_of(50) => message.resize(3_000_000, b'x'),
            _ => {}
        }
        message
    };
    (0..count).map(&mut make).collect()
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }
}
