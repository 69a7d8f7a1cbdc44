//! Agents that are started: with everything they need and nothing that harms them, where they were asked for, and with an
//! honest word about how far it got.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{AGTMUX, Composer, FakeAgent, Run, SCRIPT, TestEnvironment, Tmux, wait_for};

/// What an agent does first: it keeps its environment, directory and arguments for the test to see.
const TELLS: &str = r#"#!/bin/sh
{ printf '%s\0' "$PWD" "$@"; } >"$AGENT_DIR/said.new" && mv "$AGENT_DIR/said.new" "$AGENT_DIR/said"
env -0 >"$AGENT_DIR/env.new" && mv "$AGENT_DIR/env.new" "$AGENT_DIR/env"
"#;

/// The program of an agent: it tells, does what the test wants, and then what every scripted agent does.
fn install(environment: &TestEnvironment, agent: &str, does: &str) {
    let rest = SCRIPT.strip_prefix("#!/bin/sh\n").unwrap();
    environment.program(agent, &format!("{TELLS}{does}\n{rest}"));
}

/// `agtmux` with the scripted agents on its path.
fn command(environment: &TestEnvironment, arguments: &[&str]) -> Command {
    let path = format!("{}:{}", environment.path("bin").display(), std::env::var("PATH").unwrap());
    let mut command = environment.command(arguments);
    command.env("PATH", path);
    command
}

/// Starts an agent and gives what was answered, and the agent.
#[track_caller]
fn spawn(environment: &TestEnvironment, arguments: &[&str]) -> (Run, PathBuf) {
    let dir = environment.agent_dir();
    let variable = format!("AGENT_DIR={}", dir.display());
    let split = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
    let (ours, theirs) = arguments.split_at(split);
    let words = [&["spawn"], ours, &["--env", &variable, "--json"], theirs].concat();
    (Run::of(&mut command(environment, &words)), dir)
}

fn pieces(file: &Path) -> Vec<String> {
    let bytes = wait_for("the agent to tell", || fs::read(file));
    bytes.split(|byte| *byte == 0).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
}

fn variables(dir: &Path) -> BTreeMap<String, String> {
    let pieces = pieces(&dir.join("env"));
    pieces.iter().filter_map(|piece| piece.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
}

/// The agent says that it is at rest, as one that takes prompts does.
fn ready() -> String {
    format!("{AGTMUX} signal idle")
}

/// What the terminals of people show.
fn focus(tmux: &Tmux) -> String {
    tmux.run(&["list-clients", "-F", "#{client_tty} #{session_id} #{window_id} #{pane_id}"])
}

/// F64: an agent that was started by an agent, or on a server that one started, must not think that it is nested.
#[test]
fn it_knows_who_it_is_and_not_whose_child() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    for nested in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX", "GEMINI_CLI", "AGTMUX_NAME"] {
        tmux.run(&["set-environment", "-g", nested, "1"]);
    }
    install(&environment, "claude", &ready());
    fs::create_dir(environment.path("proj")).unwrap();
    let workspace = environment.path("proj").display().to_string();
    let (run, dir) = spawn(
        &environment,
        &["claude-opus", "--name", "api", "--workspace", &workspace, "--session", "main", "--", "-x y"],
    );
    let answer = run.ok().json();
    assert_eq!(answer["status"], "ready", "{answer:#}");
    assert_eq!(
        (&answer["agent"], &answer["model"], &answer["name"]),
        (&"claude".into(), &"opus".into(), &"api".into())
    );
    assert_eq!(answer["problem"], Value::Null);

    let said = pieces(&dir.join("said"));
    assert_eq!(said, [&workspace, "--model", "opus", "-x y", ""]);
    let has = variables(&dir);
    for nested in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_SANDBOX", "GEMINI_CLI"] {
        assert_eq!(has.get(nested), None, "{nested}");
    }
    let word = &has["SCHMUX_SESSION_ID"];
    assert!(word.starts_with("claude-"), "{word}");
    let expected = [
        ("SCHMUX_ENABLED", "1".to_owned()),
        ("SCHMUX_STATUS_FILE", format!("{workspace}/.schmux/signal/{word}")),
        ("SCHMUX_EVENTS_FILE", format!("{workspace}/.schmux/events/{word}.jsonl")),
        ("AGTMUX_SOCKET", environment.socket().display().to_string()),
        ("AGTMUX_NAME", "api".to_owned()),
    ];
    for (name, value) in expected {
        assert_eq!(has.get(name), Some(&value), "{name}");
    }
    assert_eq!(has["AGTMUX_CAPABILITY"].len(), 64);
    // The id of a workspace is its own, though another may have the same last name; that of the session is a reference.
    assert!(has["SCHMUX_WORKSPACE_ID"].starts_with("proj-"), "{has:#?}");
    let runtime = answer["runtime_id"].as_str().unwrap();
    assert!(environment.agtmux(&["explain", word]).ok().stdout.contains(runtime));

    // It was taught to signal, and what it signals counts.
    let taught = fs::read_to_string(environment.path("proj/.claude/CLAUDE.md")).unwrap();
    assert!(taught.contains("SCHMUX_STATUS_FILE"));
    let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
    agent.run(r#"echo "needs_input Which port?" >"$SCHMUX_STATUS_FILE""#).ok();
    let pane = environment.wait_for_pane(&agent.pane, "the question", |pane| pane["state"] == "waiting_input");
    assert_eq!((&pane["attention"]["message"], &pane["name"]), (&"Which port?".into(), &"api".into()), "{pane:#}");
    // The secret is the agent's alone.
    let session = answer["session_id"].as_str().unwrap();
    let shared = tmux.run(&["show-environment", "-t", session]) + &tmux.run(&["show-environment", "-g"]);
    assert!(!shared.contains("AGTMUX_CAPABILITY") && !shared.contains("SCHMUX_STATUS_FILE"), "{shared}");
    // Once it lives its window closes with it, as any other.
    assert_eq!(tmux.run(&["show-options", "-p", "-t", &agent.pane]), "");
    let log = environment.agtmux(&["events"]).ok().stdout;
    assert!(log.contains("spawn claude in"), "{log}");
}

/// Whoever leaves the workspace untaught may signal all the same.
#[test]
fn without_instructions_it_can_still_signal() {
    let environment = TestEnvironment::with_tmux();
    install(&environment, "claude", &ready());
    fs::create_dir(environment.path("proj")).unwrap();
    let workspace = environment.path("proj").display().to_string();
    let (run, dir) = spawn(&environment, &["claude", "--no-provision", "--workspace", &workspace, "--session", "main"]);
    let answer = run.ok().json();
    assert!(!environment.path("proj/.claude").exists());
    let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
    agent.run(r#"echo "needs_testing Try it" >"$SCHMUX_STATUS_FILE""#).ok();
    environment.wait_for_pane(&agent.pane, "the status", |pane| pane["state"] == "waiting_input");
}

/// A session id may be used wherever an agent is named, whoever started the agent, and ends with it.
#[test]
fn its_session_id_is_a_reference() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.tmux().run(&["set-environment", "-g", "SCHMUX_SESSION_ID", "myproj-abc-xyz12345"]);
    let agent = environment.agent("claude");
    let explained = || {
        let run = environment.agtmux(&["explain", "myproj-abc-xyz12345", "--json"]);
        if run.code == 0 { Ok(run.json()) } else { Err(format!("{run:#?}")) }
    };
    let runtime = wait_for("the session id", explained)["runtime_id"].clone();
    // Another agent that inherits it is not meant.
    let other = environment.agent("codex");
    other.run(&format!("{AGTMUX} signal idle")).ok();
    assert_eq!(explained().unwrap()["runtime_id"], runtime);
    environment.agtmux(&["kill", "myproj-abc-xyz12345", "--signal", "KILL", "--yes"]).ok();
    wait_for("the agent to be gone", || match environment.pane(&agent.pane) {
        None => Ok(()),
        Some(pane) => Err(format!("{pane:#}")),
    });
    let late = environment.agtmux(&["explain", "myproj-abc-xyz12345", "--json"]);
    assert!(late.error()["hint"].to_string().contains("is over"), "{late:#?}");
}

/// Where no agent is named, the one of the configuration is meant; after `--` stands any command.
#[test]
fn the_usual_agent_or_any_command_is_started() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[spawn]\nagent = \"gemini\"\n");
    install(&environment, "gemini", &ready());
    let start = |words: &[&str], rest: &[&str]| {
        let dir = environment.agent_dir();
        let variable = format!("AGENT_DIR={}", dir.display());
        let words = [words, &["--session", "main", "--env", &variable, "--json"], rest].concat();
        (Run::of(&mut command(&environment, &words)), dir)
    };
    assert_eq!(start(&["sm", "new"], &[]).0.ok().json()["agent"], "gemini");
    assert_eq!(start(&["spawn"], &[]).0.ok().json()["agent"], "gemini");
    // A single word is an agent, and a mistake in it starts nothing.
    let (run, _) = start(&["sm", "spawn", "cluade"], &[]);
    assert_eq!((run.code, run.error()["code"].as_str()), (2, Some("E_AGENT_UNKNOWN")), "{run:#?}");
    let (run, _) = start(&["spawn", "fix the test", "and this one"], &[]);
    assert_eq!((run.code, run.error()["code"].as_str()), (2, Some("E_USAGE")), "{run:#?}");

    environment.program("busybee", &format!("{TELLS}exec sleep 1000\n"));
    let (run, dir) = start(&["spawn"], &["--", "busybee", "-x y"]);
    let answer = run.ok().json();
    assert_eq!((&answer["agent"], &answer["status"]), (&"busybee".into(), &"unrecognised".into()), "{answer:#}");
    assert_eq!(answer["problem"], Value::Null);
    assert_eq!(pieces(&dir.join("said"))[1..], ["-x y".to_owned(), String::new()]);
    let has = variables(&dir);
    assert!(has["SCHMUX_SESSION_ID"].starts_with("busybee-"), "{has:#?}");
    assert_eq!((has["SCHMUX_ENABLED"].as_str(), has["AGTMUX_CAPABILITY"].len()), ("1", 64));
    assert!(Path::new(&has["SCHMUX_STATUS_FILE"]).parent().unwrap().is_dir());
    let (run, _) = start(&["spawn", "fix the test"], &["--", "busybee"]);
    assert_eq!((run.code, run.error()["code"].as_str()), (2, Some("E_USAGE")), "{run:#?}");
}

/// Before the first tmux server of a user there is no folder for its socket.
#[test]
fn the_folder_of_the_socket_is_made() {
    let environment = TestEnvironment::with_tmux();
    install(&environment, "claude", &ready());
    let dir = environment.agent_dir();
    let variable = format!("AGENT_DIR={}", dir.display());
    let socket = environment.path("new/default");
    let at = ["--tmux-socket", socket.to_str().unwrap()];
    let words = [&at[..], &["spawn", "claude", "--env", &variable, "--json"]].concat();
    let run = Run::of(&mut command(&environment, &words));
    let _server = environment.tmux_at("new/default");
    assert_eq!(run.ok().json()["status"], "ready");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(environment.path("new")).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o700);
    // What cannot be made is said, and nothing is started.
    let words = ["--tmux-socket", "/nowhere/at/all", "spawn", "claude", "--json"];
    let run = Run::of(&mut command(&environment, &words));
    assert_eq!((run.code, run.error()["code"].as_str()), (1, Some("E_SPAWN_FAILED")), "{run:#?}");
    assert!(run.error()["message"].as_str().unwrap().contains("/nowhere/at"), "{run:#?}");
}

/// Nobody's terminal is taken elsewhere, and names, paths and arguments do nothing but stand for themselves.
#[test]
fn hostile_words_run_nothing_and_nobody_is_taken_anywhere() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let _terminal = tmux.attach("main");
    install(&environment, "codex", &ready());
    let canary = environment.path("canary");
    let mark = canary.display().to_string().replace('/', "${HOME%%[!/]*}");
    let hostile =
        format!("#(touch {0}) $(touch {mark}) `touch {mark}`; touch {mark} #{{session_id}} '\"\\ %1 ~\n-x", "canary");
    let folder = environment.path("w").join(hostile.replace('/', "_"));
    fs::create_dir_all(&folder).unwrap();
    let before = focus(&tmux);
    for place in [&["--session", "main"][..], &["--session", "fresh"]] {
        let words = [&["codex", "--workspace", folder.to_str().unwrap()], place, &["--", &hostile]].concat();
        let (run, dir) = spawn(&environment, &words);
        let answer = run.ok().json();
        assert_eq!(answer["status"], "ready", "{answer:#}");
        assert_eq!(pieces(&dir.join("said")), [folder.to_str().unwrap(), &hostile, ""]);
        assert_eq!(answer["session_name"], place[1]);
    }
    assert_eq!(focus(&tmux), before);
    for bad in ["a b", "#(touch x)", "a:b", "-d", "", "=main", "$0"] {
        let (run, _) = spawn(&environment, &["codex", &format!("--session={bad}")]);
        assert_eq!((run.code, run.error()["code"].as_str()), (2, Some("E_BAD_NAME")), "{bad:?}");
        let (run, _) = spawn(&environment, &["codex", &format!("--name={bad}"), "--session", "main"]);
        assert_eq!((run.code, run.error()["code"].as_str()), (2, Some("E_BAD_NAME")), "{bad:?}");
    }
    let traces: Vec<_> = environment.processes().iter().map(|process| process.argv.join(" ")).collect();
    assert!(!canary.exists() && !folder.join("canary").exists(), "{traces:#?}");
}

/// A window opens in the session of whoever asks, and a server is started where there is none.
#[test]
fn it_is_where_it_was_asked_for() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    install(&environment, "gemini", &ready());
    environment.configure("[policy]\nagents_may = [\"spawn\"]\n");
    environment.start_daemon();
    let asks = environment.agent("claude");
    let dir = environment.agent_dir();
    let path = environment.path("bin").display().to_string();
    let line = format!(
        "cd {}; PATH={path}:$PATH {AGTMUX} spawn gemini --window --env AGENT_DIR={} --json",
        environment.root().display(),
        dir.display()
    );
    let answer = asks.run(&line).ok().json();
    assert_eq!(answer["session_name"], "main", "{answer:#}");
    let window = answer["window_id"].as_str().unwrap();
    assert_eq!(tmux.format(window, "#{window_name} #{window_active}"), "gemini 0");

    let other = environment.tmux_at("other");
    let socket = other.path().display().to_string();
    let dir = environment.agent_dir();
    let variable = format!("AGENT_DIR={}", dir.display());
    let words = ["--tmux-socket", &socket, "spawn", "gemini", "--env", &variable, "--json"];
    let answer = Run::of(&mut command(&environment, &words)).ok().json();
    assert_eq!((&answer["session_name"], &answer["status"]), (&"agents".into(), &"ready".into()), "{answer:#}");
    assert_eq!(other.run(&["list-sessions", "-F", "#{session_name}"]), "agents");
}

/// F68: a prompt that comes before the composer is lost. It is sent when the composer is there, and seen to be taken.
#[test]
fn its_first_prompt_arrives() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    for (words, channel) in [(&[][..], "wrapper"), (&["--no-wrap"], "tmux")] {
        let (run, composer) =
            Composer::spawn(&environment, "lag=100", &[words, &["--prompt", "fix; it #(now)"]].concat());
        let answer = run.ok().json();
        assert_eq!(
            (&answer["status"], &answer["wrapped"]),
            (&"ready".into(), &(channel == "wrapper").into()),
            "{answer:#}"
        );
        let prompt = &answer["prompt"];
        assert_eq!((&prompt["status"], &prompt["channel"]), (&"submitted".into(), &channel.into()), "{answer:#}");
        assert_eq!(composer.submitted(), ["fix; it #(now)"]);
    }
    // From a file, or piped.
    let file = environment.path("prompt.md");
    fs::write(&file, "line one\nline two\n").unwrap();
    let (run, composer) = Composer::spawn(&environment, "", &["--prompt-file", file.to_str().unwrap()]);
    run.ok();
    assert_eq!(composer.submitted(), ["line one\nline two"]);
    // One that is not taken is not called sent, and one that would be run is refused before anything is started.
    let (run, composer) = Composer::spawn(&environment, "swallow=100", &["--prompt", "hello"]);
    assert_eq!((run.code, run.error()["code"].as_str()), (1, Some("E_UNCONFIRMED")), "{run:#?}");
    assert_eq!(composer.submitted(), Vec::<String>::new());
    let panes = environment.tmux().run(&["list-panes", "-a"]);
    let (run, _) = spawn(&environment, &["claude", "--prompt", "/clear"]);
    assert_eq!((run.code, run.error()["code"].as_str()), (2, Some("E_BAD_TEXT")), "{run:#?}");
    assert_eq!(environment.tmux().run(&["list-panes", "-a"]), panes);
}

/// What cannot be done is said before anything is done.
#[test]
fn what_is_missing_is_said_and_nothing_is_opened() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    install(&environment, "claude", &ready());
    environment.start_daemon();
    let taken = environment.agent("codex");
    environment.agtmux(&["adopt", &taken.pane, "--name", "api"]).ok();
    let windows = || tmux.run(&["list-windows", "-a"]);
    let before = windows();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["emacs"], 2, "E_AGENT_UNKNOWN"),
        (&["opencode"], 1, "E_AGENT_MISSING"),
        (&["claude", "--workspace", "/nowhere"], 2, "E_USAGE"),
        (&["claude", "--name", "api"], 4, "E_NAME_TAKEN"),
        (&["claude", "--name", "rt_1"], 2, "E_BAD_NAME"),
        (&["claude", "--window"], 2, "E_NOT_IN_PANE"),
    ];
    for (words, exit, code) in cases {
        let mut line = command(&environment, &[&["spawn"], words, &["--json"]].concat());
        // The agents of whoever runs the tests do not count.
        line.env("PATH", environment.path("bin"));
        let run = Run::of(&mut line);
        assert_eq!((run.code, run.error()["code"].as_str()), (exit, Some(code)), "{words:?}: {run:#?}");
        assert!(run.error()["hint"].is_string(), "{words:?}");
    }
    assert_eq!(windows(), before);
}

/// An agent that fails at once leaves its words, and its pane, behind.
#[test]
fn one_that_ends_at_once_can_be_looked_at() {
    let environment = TestEnvironment::with_tmux();
    environment.program("claude", "#!/bin/sh\necho no licence; sleep 0.3; exit 7\n");
    let (run, _) = spawn(&environment, &["claude", "--session", "main"]);
    assert_eq!(run.code, 1, "{run:#?}");
    let answer = run.json();
    assert_eq!((&answer["status"], &answer["problem"]["code"]), (&"ended".into(), &"E_SPAWN_FAILED".into()));
    assert!(answer["problem"]["message"].as_str().unwrap().contains("no licence"), "{answer:#}");
    let pane = answer["pane_id"].as_str().unwrap();
    assert_eq!(environment.tmux().format(pane, "#{pane_dead}"), "1");
}

/// A dialog before the first prompt is reported. Answering it is for a person.
#[test]
fn a_dialog_that_it_shows_first_is_reported() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    tmux.run(&["new-session", "-d", "-s", "wide", "-x", "120", "-y", "40", "exec sleep 100000"]);
    let screen = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../agents/fixtures/recordings/copilot/folder_trust_prompt/screen.ansi");
    install(&environment, "copilot", &format!(r"printf '\033[2J\033[H'; head -c -1 '{}'", screen.display()));
    let (run, dir) = spawn(&environment, &["copilot", "--session", "wide", "--name", "new"]);
    let answer = run.ok().json();
    assert_eq!((&answer["status"], &answer["state"]), (&"waiting_input".into(), &"waiting_input".into()), "{answer:#}");
    assert_eq!((&answer["name"], &answer["problem"]), (&"new".into(), &Value::Null));
    assert!(answer["notes"][0].as_str().unwrap().contains("agtmux attach"), "{answer:#}");
    let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
    assert!(crate::common::is_alive(agent.pid()));
}

/// Some draw their composer a moment before they ask whether the folder is trusted. A prompt that is typed then would answer that.
#[test]
fn a_composer_that_makes_room_for_a_dialog_is_not_typed_at() {
    let environment = TestEnvironment::with_tmux();
    environment.tmux().run(&["new-session", "-d", "-s", "wide", "-x", "120", "-y", "40", "exec sleep 100000"]);
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/fixtures/recordings/codex");
    let show = |name: &str| {
        format!(r"printf '\033[2J\033[H'; head -c -1 '{}'", recordings.join(name).join("screen.ansi").display())
    };
    let (composer, dialog) = (show("nodaemon_start"), show("folder_trust_prompt"));
    install(&environment, "codex", &format!(r"{composer}; printf '\033[37;3H'; sleep 0.7; {dialog}"));
    let (run, dir) = spawn(&environment, &["codex", "--session", "wide", "--prompt", "hello"]);
    assert_eq!((run.code, run.error()["code"].as_str()), (4, Some("E_BLOCKED")), "{run:#?}");
    let answer = run.json();
    assert_eq!((&answer["status"], &answer["prompt"]), (&"waiting_input".into(), &Value::Null), "{answer:#}");
    let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
    let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &agent.pane]);
    assert!(shown.contains("Trust this folder?") && !shown.contains("hello"), "{shown}");
}

/// A name is of the agent, and can be taken away.
#[test]
fn an_agent_that_is_there_is_named() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let named = environment.agtmux(&["adopt", &agent.pane, "--name", "api", "--json"]).ok().json();
    assert_eq!((&named["name"], &named["agent"]), (&"api".into(), &"claude".into()));
    let list = environment.agtmux(&["explain", "api"]).ok().stdout;
    assert!(list.contains(named["runtime_id"].as_str().unwrap()), "{list}");
    let other = environment.agent("codex");
    let run = environment.agtmux(&["adopt", &other.pane, "--name", "api", "--json"]);
    assert_eq!((run.code, run.error()["code"].as_str()), (4, Some("E_NAME_TAKEN")));
    let bare = environment.agtmux(&["adopt", "api", "--no-name", "--json"]).ok().json();
    assert_eq!(bare["name"], Value::Null);
    let run = environment.agtmux(&["explain", "api", "--json"]);
    assert_eq!(run.code, 4);
    environment.agtmux(&["adopt", &other.pane, "--name", "api"]).ok();
}

/// An agent that ended goes on where it was, also when the daemon was restarted in between.
#[test]
fn a_conversation_is_gone_on_with() {
    let environment = TestEnvironment::with_tmux();
    let payload = |id: &str| {
        format!(
            r#"{{"session_id":"{id}","transcript_path":"/nowhere/t.jsonl","cwd":"/","hook_event_name":"SessionStart","source":"startup"}}"#
        )
    };
    let hook = format!("printf '%s' '{}' | {AGTMUX} hook claude; {}", payload("c0ffee-1"), ready());
    install(&environment, "claude", &hook);
    fs::create_dir(environment.path("proj")).unwrap();
    let workspace = environment.path("proj").display().to_string();
    let words = ["claude", "--name", "api", "--workspace", &workspace, "--session", "main"];
    let (run, dir) = spawn(&environment, &words);
    let first = run.ok().json();
    let agent = FakeAgent::new(first["pane_id"].as_str().unwrap().to_owned(), dir);
    let runtime = first["runtime_id"].as_str().unwrap().to_owned();
    let events = || environment.agtmux(&["events"]).ok().stdout;
    wait_for("the conversation to be kept", || {
        if events().contains("in conversation c0ffee-1") { Ok(()) } else { Err(events()) }
    });
    // While it lives its conversation is its own.
    let resume = |reference: &str| {
        let dir = environment.agent_dir();
        let variable = format!("AGENT_DIR={}", dir.display());
        let words = ["resume", reference, "--session", "main", "--env", &variable, "--json"];
        (Run::of(&mut command(&environment, &words)), dir)
    };
    let (run, _) = resume("api");
    assert_eq!((run.code, run.error()["code"].as_str()), (4, Some("E_PRECONDITION_FAILED")), "{run:#?}");

    agent.tell("exit 0");
    wait_for("the agent to be gone", || match environment.pane(&agent.pane) {
        None => Ok(()),
        Some(pane) => Err(format!("{pane:#}")),
    });
    let late = environment.agtmux(&["send", "api", "--text", "hello", "--json"]);
    let hint = late.error()["hint"].to_string();
    assert!(hint.contains(&runtime) && hint.contains("`agtmux resume api`"), "{late:#?}");
    environment.kill_daemon();
    let mut ended = vec!["api".to_owned(), runtime, "c0ffee-1".to_owned()];
    while let Some(reference) = ended.pop() {
        let (run, dir) = resume(&reference);
        let answer = run.ok().json();
        assert_eq!((&answer["conversation"], &answer["name"]), (&"c0ffee-1".into(), &"api".into()), "{reference}");
        assert_eq!(pieces(&dir.join("said")), [&workspace, "--resume", "c0ffee-1", ""]);
        let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
        agent.tell("exit 0");
        wait_for("the agent to be gone", || match environment.pane(&agent.pane) {
            None => Ok(()),
            Some(pane) => Err(format!("{pane:#}")),
        });
    }
    let (run, _) = resume("nobody");
    assert_eq!((run.code, run.error()["code"].as_str()), (4, Some("E_REF_NOT_FOUND")), "{run:#?}");
}

/// It goes back to where it was: the session and directory of before, though whoever asks is elsewhere.
#[test]
fn what_is_resumed_opens_where_it_was() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    install(&environment, "claude", &ready());
    let workspace = environment.path("home").canonicalize().unwrap().display().to_string();
    tmux.run(&["new-session", "-d", "-s", "not plain!", "-n", "base", "exec sleep 100000"]);
    for (name, session) in [("api", "work"), ("web", "not plain!")] {
        let dir = environment.agent_dir();
        let variable = format!("AGENT_DIR={}", dir.display());
        let caller = tmux.run(&["list-panes", "-t", "=not plain!:", "-F", "#{pane_id}"]);
        let mut start =
            command(&environment, &["spawn", "claude", "--name", name, "--workspace", &workspace, "--json"]);
        start.args(["--env", &variable]);
        if session == "work" {
            start.args(["--session", "work"]);
        } else {
            start.env("TMUX", format!("{},1,0", tmux.path().display())).env("TMUX_PANE", &caller);
        }
        let started = Run::of(&mut start).ok().json();
        assert_eq!(started["session_name"], session, "{started:#}");
        let agent = FakeAgent::new(started["pane_id"].as_str().unwrap().to_owned(), dir);
        let hook = serde_json::json!({"hook_event_name": "SessionStart", "session_id": format!("c-{name}")});
        fs::write(environment.path("hook.json"), hook.to_string()).unwrap();
        agent.run(&format!("{AGTMUX} hook claude <{}", environment.path("hook.json").display())).ok();
        wait_for("the conversation to be kept", || {
            let events = environment.agtmux(&["events"]).ok().stdout;
            if events.contains(&format!("in conversation c-{name}")) { Ok(()) } else { Err(events) }
        });
        agent.tell("exit 0");
        wait_for("the agent to be gone", || {
            let gone = environment.agtmux(&["explain", name, "--json"]);
            if gone.code == 4 { Ok(()) } else { Err(gone.stdout) }
        });
        let dir = environment.agent_dir();
        let variable = format!("AGENT_DIR={}", dir.display());
        // From a pane of yet another session.
        let elsewhere = tmux.run(&["list-panes", "-t", "=main:", "-F", "#{pane_id}"]);
        let mut again = command(&environment, &["resume", name, "--json", "--env", &variable]);
        again.env("TMUX", format!("{},1,0", tmux.path().display())).env("TMUX_PANE", elsewhere.lines().next().unwrap());
        let resumed = Run::of(&mut again).ok().json();
        assert_eq!(resumed["session_name"], session, "{resumed:#}");
        assert_eq!(pieces(&dir.join("said"))[..3], [&workspace, "--resume", &format!("c-{name}")]);
    }
}
