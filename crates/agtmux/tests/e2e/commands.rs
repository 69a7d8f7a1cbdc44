//! The verbs around the others: doctor, completions, demo, help.

use std::fs;

use insta::assert_snapshot;

use crate::common::{AGTMUX, PROMISED, Run, TestEnvironment, redacted, wait_within};

#[test]
fn doctor_finds_what_is_wrong_and_says_how_to_mend_it() {
    let environment = TestEnvironment::with_tmux();
    // A machine on which tmux is installed and no agent is.
    assert!(environment.shell("ln -s \"$(command -v tmux)\" bin/tmux").status().unwrap().success());
    let doctor = |arguments: &[&str]| Run::of(environment.command(arguments).env("PATH", environment.path("bin")));
    let well = doctor(&["doctor", "--json"]).ok().json();
    for item in well["items"].as_array().unwrap() {
        assert_eq!(item["status"], "ok", "{item:#}");
        assert!(item["check"].is_string() && item["detail"].is_string() && item["fix"].is_null(), "{item:#}");
    }
    // To look is not to start: a doctor that starts daemons cannot tell how things are.
    assert_eq!(environment.agtmux(&["daemon", "status"]).code, 3);

    environment.tmux().run(&["kill-server"]);
    environment.configure("[state]\nunheard_of = 1\n");
    fs::create_dir_all(environment.path("config/agtmux/agents")).unwrap();
    fs::write(environment.path("config/agtmux/agents/broken.toml"), "id = ").unwrap();
    fs::create_dir_all(environment.path("run/agtmux")).unwrap();
    fs::write(environment.socket(), "not a socket").unwrap();
    fs::create_dir_all(environment.path("home/.claude")).unwrap();
    let ill = doctor(&["doctor"]);
    assert_eq!(ill.code, 4, "{ill:#?}");
    let text = redacted(&format!("{}{}", ill.stdout, ill.stderr), environment.root());
    let machine = [(r"tmux \d[^ \n]*", "tmux [VERSION]"), (r"at most \d+", "at most [N]"), (r"(?m)  +$", "")];
    let text = machine
        .iter()
        .fold(text, |text, (pattern, with)| regex::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned());
    assert_snapshot!(text);
    fs::remove_file(environment.socket()).unwrap();
}

#[test]
fn completions_are_valid_scripts() {
    let environment = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = environment.agtmux(&["completions", shell]).ok().stdout;
        assert!(script.contains("needs-action"), "{shell}");
        let offers_hidden = script.lines().any(|line| line.contains("completions") && line.contains("pipe-fd"));
        assert!(!offers_hidden, "{shell} completes what only tmux runs");
        if shell == "bash" {
            fs::write(environment.path("completions.bash"), &script).unwrap();
            let checked = Run::of(environment.shell("bash -n completions.bash").current_dir(environment.root())).ok();
            assert_eq!(checked.stderr, "");
        }
    }
    assert_eq!(environment.agtmux(&["completions", "nosuchshell"]).code, 2);
}

/// The demo shows six agents and leaves nothing: no process, no directory, nothing in the user's own places.
#[test]
fn the_demo_leaves_nothing() {
    let environment = TestEnvironment::new();
    let run = environment.agtmux(&["demo", "--seconds", "2"]).ok();
    for agent in ["claude", "codex", "gemini", "opencode", "copilot", "cursor"] {
        assert!(run.stdout.contains(agent), "{agent} in {}", run.stdout);
    }
    assert!(run.stdout.contains("running") && run.stdout.contains("unknown"), "{}", run.stdout);
    let left: Vec<_> = fs::read_dir(environment.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!environment.state_dir().exists() && !environment.socket().exists());
    // A server that was told to end still ends what it runs.
    wait_within(PROMISED, "every process to be gone", || {
        let left: Vec<_> = environment.processes().iter().map(|process| process.argv.join(" ")).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("{left:#?}")) }
    });
}

#[test]
fn a_demo_that_was_kept_can_be_explored_and_ended() {
    let environment = TestEnvironment::new();
    let run = environment.agtmux(&["demo", "--seconds", "1", "--keep"]).ok();
    // The commands it suggests work as they are printed.
    let exports: String = run
        .stdout
        .lines()
        .filter(|line| line.trim_start().starts_with("export "))
        .map(|line| format!("{line}; "))
        .collect();
    assert!(!exports.is_empty(), "{}", run.stdout);
    let explored = Run::of(&mut environment.shell(&format!("{exports} {AGTMUX} list panes --json"))).ok().json();
    assert_eq!(explored["summary"]["total"], 6, "{explored:#}");
    environment.agtmux(&["demo", "--stop"]).ok();
    assert_eq!(fs::read_dir(environment.path("tmp")).unwrap().count(), 0);
}

/// The API describes itself, and every document it describes is served.
#[test]
fn the_api_describes_itself() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.agent("claude").signal("running").ok();
    let described = environment.get("/openapi.json");
    let paths = described["paths"].as_object().unwrap();
    let plain: Vec<_> = paths.iter().filter(|(path, verbs)| verbs["get"].is_object() && !path.contains("{")).collect();
    assert!(plain.len() >= 8, "{:?}", paths.keys());
    for (path, _) in
        plain.into_iter().filter(|(path, _)| !["/v1/stream", "/v1/inbox", "/v1/worktrees"].contains(&path.as_str()))
    {
        assert_eq!(environment.request("GET", path, b"").unwrap().status, 200, "{path}");
    }
    let metrics = environment.request("GET", "/v1/metrics", b"").unwrap().body;
    assert!(metrics.contains("agtmux_runtimes{state=\"running\"} 1") && metrics.ends_with("# EOF\n"), "{metrics}");
}

#[test]
fn help_and_usage_go_where_they_belong() {
    let environment = TestEnvironment::new();
    let help = environment.agtmux(&["--help"]).ok();
    assert!(help.stdout.contains("Exit codes: 0 ok, 1 failed, 2 usage") && help.stderr.is_empty());
    let bare = environment.agtmux(&[]);
    assert_eq!(bare.code, 2, "{bare:#?}");
    let version = environment.agtmux(&["--version"]).ok();
    assert_eq!(version.stdout, format!("agtmux {}\n", env!("CARGO_PKG_VERSION")));
    assert!(!environment.state_dir().exists(), "help starts nothing");
}
