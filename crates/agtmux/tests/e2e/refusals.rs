//! Bad input: each kind gets its own code, message, hint and exit code, and nothing is lost by it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::json;

use crate::common::{Run, TestEnvironment, raw_request, redacted, wait_for};

/// How a refusal looks to a person.
fn shown(title: &str, run: &Run) -> String {
    assert_eq!(run.stdout, "", "{title}: {run:#?}");
    // What the argument parser refuses has its own way to help.
    assert!(!run.stderr.contains("[E_") || run.stderr.contains("hint: "), "{title} has no hint: {run:#?}");
    format!("## {title}\n{}exit code {}\n\n", run.stderr, run.code)
}

#[test]
fn commands_that_are_refused_say_why_and_what_to_do() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let other = environment.agent("codex");
    agent.signal("running").ok();
    for agent in [&agent, &other] {
        environment.wait_for_pane(&agent.pane, "what runs in the pane to be read", |pane| pane["command"].is_string());
    }
    let before = environment.agtmux(&["list", "panes", "--json"]).ok().json()["items"].clone();
    let mut text = String::new();
    for arguments in [
        vec!["list", "panes", "--state", "sleeping"],
        vec!["list", "panes", "--target", "nowhere"],
        vec!["list", "panes", "--target-session", "noslash"],
        vec!["list", "panes", "--target", "local", "--all-targets"],
        vec!["list", "tabs"],
        vec!["explain", "%99"],
        vec!["explain", "%0"],
        vec!["explain", "runtime:rt_"],
        vec!["explain", "runtime:nosuch"],
        vec!["explain", "pane:local/main/1"],
        vec!["explain", "pane:local/main/nosuch/0"],
        vec!["explain", ""],
        vec!["explain", "nobody"],
        vec!["events", "--runtime", "nobody"],
        vec!["events", "--after", "x"],
        vec!["signal", "running"],
        vec!["signal", "sleeping", "--runtime", "rt_x"],
        vec!["signal", "running", "--runtime", "rt_x"],
        vec!["target", "add", "-bad-", "--kind", "local"],
        vec!["target", "add", "x", "--kind", "ssh"],
        vec!["target", "add", "x", "--kind", "ssh", "--ssh-target=-oProxyCommand=x"],
        vec!["target", "add", "local", "--kind", "ssh", "--ssh-target", "host"],
        vec!["target", "connect", "nowhere"],
        vec!["target", "remove", "nowhere", "--yes"],
        vec!["target", "remove", "local", "--yes"],
        vec!["watch", "--since", "yesterday", "--once"],
        vec!["watch", "--interval", "soon"],
        vec!["--tmux-socket", "", "list", "panes"],
    ] {
        let run = environment.agtmux(&arguments);
        assert_ne!(run.code, 0, "{arguments:?}: {run:#?}");
        text.push_str(&shown(&format!("agtmux {}", arguments.join(" ")), &run));
    }
    assert_snapshot!(redacted(&text, environment.root()));
    let after = environment.agtmux(&["list", "panes", "--json"]).ok().json()["items"].clone();
    assert_eq!(after, before, "a refusal changed something");
}

#[test]
fn requests_that_are_refused_say_why() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let before = environment.pane(&agent.pane).unwrap();
    let mut text = String::new();
    for (method, path, body) in [
        ("GET", "/v1/nothing", String::new()),
        ("PUT", "/v1/panes", String::new()),
        ("GET", "/v1/panes?state=sleeping", String::new()),
        ("GET", "/v1/panes?needs_action=perhaps", String::new()),
        ("GET", "/v1/events?after=-1", String::new()),
        ("GET", "/v1/explain/%2599", String::new()),
        ("POST", "/v1/events", String::new()),
        ("POST", "/v1/events", "{".to_owned()),
        ("POST", "/v1/events", "[]".to_owned()),
        ("POST", "/v1/events", r#"{"message":"no state"}"#.to_owned()),
        ("POST", "/v1/events", r#"{"state":"running","colour":"red"}"#.to_owned()),
        ("POST", "/v1/events", r#"{"state":"sleeping","pane_id":"%0"}"#.to_owned()),
        ("POST", "/v1/events", r#"{"state":"running","pane_id":"0"}"#.to_owned()),
        ("POST", "/v1/events", r#"{"state":"running","source":"hook","pane_id":"%0"}"#.to_owned()),
        ("POST", "/v1/events", r#"{"state":"running","target":"nowhere","pane_id":"%0"}"#.to_owned()),
        ("POST", "/v1/events", r#"{"state":"running","event_time":"now","pane_id":"%0"}"#.to_owned()),
        ("POST", "/v1/targets", r#"{"name":"a b","kind":"local"}"#.to_owned()),
        ("POST", "/v1/targets", r#"{"name":"x","kind":"local","ssh_target":"h"}"#.to_owned()),
        ("DELETE", "/v1/targets/nowhere", String::new()),
    ] {
        let answer = environment.request(method, path, body.as_bytes()).unwrap();
        assert!(answer.status >= 400, "{method} {path} {body}: {answer:#?}");
        assert!(answer.json()["error"]["hint"].is_string(), "{method} {path} {body} has no hint: {answer:#?}");
        text.push_str(&format!("## {method} {path} {body}\n{} {}\n\n", answer.status, answer.body));
    }
    assert_snapshot!(redacted(&text, environment.root()));
    assert_eq!(environment.pane(&agent.pane).unwrap(), before);
}

/// A body of ten megabytes is refused as soon as that is clear; garbage and half a request harm nobody.
#[test]
fn bodies_that_are_too_large_and_bytes_that_are_no_request() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let large = json!({ "state": "running", "message": "x".repeat(10 * 1024 * 1024) }).to_string();
    let answer = environment.request("POST", "/v1/events", large.as_bytes()).unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (413, "E_TOO_LARGE"));
    assert!(answer.json()["error"]["hint"].is_string());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = format!(r#"{{"state":"running","payload":{deep}}}"#);
    let answer = environment.request("POST", "/v1/events", deep.as_bytes()).unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (400, "E_BAD_JSON"));
    for bytes in [
        b"\0\xff\xfe garbage\r\n\r\n".as_slice(),
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/events HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    ] {
        let answer = raw_request(&environment.socket(), bytes).unwrap();
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(environment.get("/v1/health")["status"], "ok");
}

/// Only the owner may talk to the daemon, and only about panes of the owner's servers.
#[test]
fn other_users_are_kept_out() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let mode = |name: &str| fs::metadata(environment.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("run/agtmux"), 0o700);
    assert_eq!(mode("run/agtmux/agtmuxd.sock"), 0o600);
    assert_eq!(mode("state/agtmux"), 0o700);
    for entry in fs::read_dir(environment.state_dir()).unwrap() {
        let path = entry.unwrap().path();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has mode {mode:o}", path.display());
    }
    if !rustix::process::getuid().is_root() {
        return;
    }
    // As root another user's socket can be made, and another user can be played.
    let socket = environment.path("foreign");
    fs::write(&socket, "").unwrap();
    std::os::unix::fs::chown(&socket, Some(65_534), Some(65_534)).unwrap();
    let answer = environment.post_event(&json!({ "state": "running", "pane_id": "%0", "tmux_socket": socket }));
    assert_eq!((answer.status, answer.code().as_str()), (403, "E_FOREIGN_PANE"), "{answer:#?}");
    let foreign = TestEnvironment::new();
    fs::create_dir_all(foreign.state_dir()).unwrap();
    std::os::unix::fs::chown(foreign.state_dir(), Some(65_534), Some(65_534)).unwrap();
    let refused = foreign.agtmux(&["list", "panes", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (1, &"E_STATE_DIR_FOREIGN".into()), "{refused:#?}");
    for path in [environment.root(), &environment.path("run"), &environment.path("run/agtmux")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::set_permissions(environment.socket(), fs::Permissions::from_mode(0o666)).unwrap();
    let stranger =
        Run::of(std::process::Command::new("setpriv").args(["--reuid=65534", "--clear-groups", "curl", "-s"]).args([
            "--unix-socket",
            &environment.socket().display().to_string(),
            "http://localhost/v1/panes",
        ]));
    assert!(stranger.stdout.contains("E_FORBIDDEN"), "{stranger:#?}");
}

/// What keeps a daemon from starting is told to whoever needed it, and nothing that is there is touched.
#[test]
fn a_daemon_that_cannot_start_says_why() {
    let mut text = String::new();
    let mut refuse = |title: &str, prepare: &dyn Fn(&TestEnvironment)| {
        let environment = TestEnvironment::with_tmux();
        prepare(&environment);
        let run = environment.agtmux(&["list", "panes"]);
        assert!(!environment.socket().is_file() || title.contains("socket"), "{title}: a daemon runs");
        text.push_str(&redacted(&shown(title, &run), environment.root()));
    };
    refuse("a file where the socket belongs", &|environment| {
        fs::create_dir_all(environment.path("run/agtmux")).unwrap();
        fs::set_permissions(environment.path("run/agtmux"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(environment.socket(), "precious").unwrap();
    });
    refuse("a file where the state directory belongs", &|environment| {
        fs::write(environment.state_dir(), "precious").unwrap();
    });
    refuse("a state directory that others may write", &|environment| {
        fs::create_dir_all(environment.state_dir()).unwrap();
        fs::set_permissions(environment.state_dir(), fs::Permissions::from_mode(0o777)).unwrap();
    });
    refuse("a configuration with a mistake", &|environment| {
        environment.configure("[state]\ncompleted_seconds = \"long\"\n");
    });
    refuse("no tmux", &|environment| {
        let text = format!("[tmux]\nprogram = \"{}/no-tmux\"\n", environment.root().display());
        environment.configure(&text);
    });
    refuse("a tmux that is too old", &|environment| {
        let old = environment.program("old-tmux", "#!/bin/sh\necho tmux 3.1c\n");
        let text = format!("[tmux]\nprogram = \"{}\"\n", old.display());
        environment.configure(&text);
    });
    assert_snapshot!(text);
}

/// The program is looked for on the path like any other.
#[test]
fn a_path_without_tmux() {
    let environment = TestEnvironment::new();
    let run = Run::of(environment.command(&["list", "panes", "--json"]).env("PATH", environment.path("bin")));
    assert_eq!((run.code, &run.error()["code"]), (1, &"E_TMUX_MISSING".into()), "{run:#?}");
    let doctor = Run::of(environment.command(&["doctor", "--json"]).env("PATH", environment.path("bin")));
    assert_eq!(doctor.code, 4);
    assert_eq!(doctor.json()["items"][0]["status"], "fail", "{doctor:#?}");
}

/// A database that cannot be used is left as it is, byte for byte: it may be all that somebody has.
#[test]
fn a_database_that_cannot_be_used_is_left_alone() {
    let mut text = String::new();
    for (title, spoil) in [
        ("a corrupted database", spoil_all_but_the_first_page as fn(&mut [u8])),
        ("a file that is no database", |bytes: &mut [u8]| bytes.fill(b'x')),
        ("a newer database", |bytes: &mut [u8]| bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes())),
    ] {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        environment.agent("claude").signal("running").ok();
        environment.agtmux(&["daemon", "stop"]).ok();
        let database = wait_for("the database", || {
            let mut entries = fs::read_dir(environment.state_dir()).unwrap().map(|entry| entry.unwrap().path());
            entries.find(|path| path.extension().is_some_and(|extension| extension == "db")).ok_or("no database")
        });
        let mut bytes = fs::read(&database).unwrap();
        spoil(&mut bytes);
        fs::write(&database, &bytes).unwrap();
        let run = environment.agtmux(&["list", "panes"]);
        text.push_str(&redacted(&shown(title, &run), environment.root()));
        assert_eq!(fs::read(&database).unwrap(), bytes, "{title}: the file was changed");
        // With the damage out of the way it goes on, from nothing if it must.
        fs::rename(&database, database.with_extension("aside")).unwrap();
        environment.agtmux(&["list", "panes"]).ok();
    }
    assert_snapshot!(text);
}

fn spoil_all_but_the_first_page(bytes: &mut [u8]) {
    bytes[4_096..].fill(0xA5);
}
