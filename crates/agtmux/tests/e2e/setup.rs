//! `agtmux setup` and `agtmux provision` on files: what is written, what is refused, and that nothing is ever half written.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use crate::common::{AGTMUX, Run, TestEnvironment, redacted, wait_for};

#[cfg(target_os = "linux")]
mod linux;

const SETTINGS: &str = "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [] } // loud\n    ]\n  }\n}\n";

fn settings(environment: &TestEnvironment) -> PathBuf {
    let folder = environment.path("home/.claude");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("settings.json");
    fs::write(&file, SETTINGS).unwrap();
    file
}

/// All files below a directory with their bytes.
fn tree(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            files.extend(tree(&path));
        } else {
            files.push((path.clone(), fs::read(&path).unwrap_or_default()));
        }
    }
    files.sort();
    files
}

fn shown(run: &Run, environment: &TestEnvironment) -> String {
    let program = PathBuf::from(AGTMUX).display().to_string();
    let text = format!("{}{}exit code {}\n", run.stdout, run.stderr, run.code);
    redacted(&text.replace(&program, "[AGTMUX]"), environment.root())
}

#[test]
fn every_agent_is_set_up_checked_and_restored() {
    let environment = TestEnvironment::new();
    settings(&environment);
    let all = ["claude", "codex", "gemini", "opencode", "copilot", "cursor"];
    let before = tree(&environment.path("home"));
    let setup = |arguments: &[&str]| {
        let words: Vec<_> = ["setup"].iter().chain(&all).chain(arguments).copied().collect();
        environment.agtmux(&words)
    };
    let mut text = String::new();
    for arguments in [&["--check"][..], &[], &["--check"], &[], &["--remove"], &["--check"]] {
        let run = setup(arguments);
        text.push_str(&format!("$ agtmux setup {}\n{}\n", arguments.join(" "), shown(&run, &environment)));
    }
    assert_snapshot!(text);
    assert_eq!(tree(&environment.path("home")), before);
}

#[test]
fn a_dry_run_shows_the_difference_and_writes_nothing() {
    let environment = TestEnvironment::new();
    settings(&environment);
    let before = tree(environment.root());
    let run = environment.agtmux(&["setup", "claude", "copilot", "--dry-run"]).ok();
    assert_eq!(tree(environment.root()), before);
    // The difference is a patch that gives what setup gives.
    let copy = environment.path("tmp/copy.json");
    fs::write(&copy, SETTINGS).unwrap();
    let claude = run.stdout.split("--- /dev/null").next().unwrap();
    fs::write(environment.path("tmp/patch"), claude).unwrap();
    let patched = environment.shell("patch -s tmp/copy.json tmp/patch").status().unwrap();
    assert!(patched.success(), "{}", run.stdout);
    environment.agtmux(&["setup", "claude"]).ok();
    assert_eq!(fs::read(copy).unwrap(), fs::read(environment.path("home/.claude/settings.json")).unwrap());
}

#[test]
fn the_hooks_that_are_written_can_be_run() {
    let environment = TestEnvironment::new();
    let program = environment.program("it's $HOME agtmux", "echo \"$@\" >> \"$HOME/ran\"; exit 7\n");
    environment.agtmux(&["setup", "claude", "--program", program.to_str().unwrap()]).ok();
    let text = fs::read_to_string(environment.path("home/.claude/settings.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let command = document["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    assert!(environment.shell(command).status().unwrap().success());
    assert_eq!(fs::read_to_string(environment.path("home/ran")).unwrap(), "hook claude Stop\n");
    // A program that is gone is neither an error nor a word in the conversation.
    fs::remove_file(program).unwrap();
    let gone = environment.shell(command).output().unwrap();
    assert!(gone.status.success() && gone.stdout.is_empty() && gone.stderr.is_empty(), "{gone:?}");
}

#[test]
fn a_program_that_moved_is_noticed_and_followed() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    environment.agtmux(&["setup", "claude", "--program", "/old/agtmux"]).ok();
    let check = environment.agtmux(&["setup", "claude", "--check", "--json"]);
    assert_eq!((check.code, check.json()["items"][0]["status"].as_str()), (1, Some("stale")), "{check:#?}");
    environment.agtmux(&["setup", "claude"]).ok();
    assert!(!fs::read_to_string(&file).unwrap().contains("/old/agtmux"));
    environment.agtmux(&["setup", "claude", "--remove"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), SETTINGS);
}

#[test]
fn the_mode_stays_and_the_first_text_is_kept_once() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    environment.agtmux(&["setup", "claude", "--program", "/old/agtmux"]).ok();
    environment.agtmux(&["setup", "claude"]).ok();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let backup = environment.path("home/.claude/settings.json.agtmux-backup");
    assert_eq!((mode(&file), mode(&backup)), (0o640, 0o640));
    assert_eq!(fs::read_to_string(backup).unwrap(), SETTINGS);
}

#[test]
fn what_cannot_be_edited_safely_is_refused() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    let real = environment.path("home/dotfiles.json");
    let mut text = String::new();
    let mut refused = |title: &str, arguments: &[&str]| {
        let before = tree(&environment.path("home"));
        let run = environment.agtmux(arguments);
        assert_ne!(run.code, 0, "{title}: {run:#?}");
        assert_eq!(tree(&environment.path("home")), before, "{title}");
        text.push_str(&format!("## {title}\n{}\n", shown(&run, &environment)));
    };
    fs::write(&file, "{\n  \"model\": \"opus\"\n  \"hooks\": {}\n}\n").unwrap();
    refused("broken JSON", &["setup", "claude"]);
    refused("broken JSON, checked", &["setup", "claude", "--check"]);
    fs::remove_file(&file).unwrap();
    fs::write(&real, SETTINGS).unwrap();
    symlink(&real, &file).unwrap();
    refused("a link", &["setup", "claude"]);
    fs::remove_file(&file).unwrap();
    symlink(environment.path("nowhere"), &file).unwrap();
    refused("a link to nothing", &["setup", "claude"]);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused("a directory", &["setup", "claude"]);
    fs::remove_dir(&file).unwrap();
    fs::create_dir_all(environment.path("home/.copilot/hooks")).unwrap();
    fs::write(environment.path("home/.copilot/hooks/agtmux.json"), "{}").unwrap();
    refused("somebody else's file of our name", &["setup", "copilot"]);
    refused("no such agent", &["setup", "vim"]);
    refused("no such workspace", &["provision", "nowhere"]);
    fs::create_dir(environment.path("ws")).unwrap();
    fs::create_dir(environment.path("ws/.claude")).unwrap();
    fs::write(environment.path("ws/.claude/CLAUDE.md"), "# Mine\n<!-- SCHMUX:BEGIN -->\n").unwrap();
    refused("a block without an end", &["provision", "ws", "--agent", "claude"]);
    assert_snapshot!(text);
}

#[test]
fn a_link_is_followed_when_that_is_wished() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    let real = environment.path("home/dotfiles.json");
    fs::rename(&file, &real).unwrap();
    symlink(&real, &file).unwrap();
    environment.agtmux(&["setup", "claude", "--follow-links"]).ok();
    assert!(file.is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("hook claude Stop"));
    environment.agtmux(&["setup", "claude", "--follow-links", "--remove"]).ok();
    assert_eq!(fs::read_to_string(&real).unwrap(), SETTINGS);
}

#[test]
fn without_a_home_nothing_is_guessed() {
    let environment = TestEnvironment::new();
    let run = Run::of(environment.command(&["setup", "claude"]).env("HOME", ""));
    assert_ne!(run.code, 0, "{run:#?}");
    assert!(run.stderr.contains("hint: set HOME"), "{run:#?}");
}

#[test]
fn provisioning_teaches_and_forgets() {
    let environment = TestEnvironment::new();
    let workspace = environment.path("ws");
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join("GEMINI.md"), "# Ours\n\nBe brief.").unwrap();
    environment.configure("[provision.models]\nhouse = \"gemini\"\n");
    let before = tree(&workspace);
    let provision = |arguments: &[&str]| {
        let names =
            ["provision", "ws", "--agent", "claude-opus", "--agent", "house", "--agent", "kimi", "--agent", "vim"];
        let words: Vec<_> = names.iter().chain(arguments).copied().collect();
        environment.agtmux(&words)
    };
    let mut text = String::new();
    for arguments in [&["--check"][..], &[], &[], &["--check"], &["--remove"], &["--remove"]] {
        text.push_str(&format!("$ {}\n{}\n", arguments.join(" "), shown(&provision(arguments), &environment)));
    }
    assert_snapshot!(text);
    assert_eq!(tree(&workspace), before);
    assert!(!workspace.join(".claude").exists());
}

const NOT_LOADED: &str = "hooks not loaded by this session";

/// A session that started before the hooks were there has not loaded them. That is said wherever one looks.
#[test]
fn sessions_without_the_hooks_are_named() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("codex");
    environment.agtmux(&["adopt", &agent.pane, "--name", "api"]).ok();
    environment.agtmux(&["setup", "codex"]).ok();
    let written = |at: SystemTime| {
        let file = fs::File::options().write(true).open(environment.path("home/.codex/hooks.json")).unwrap();
        file.set_modified(at).unwrap();
    };
    let setup = || environment.agtmux(&["setup", "codex"]).ok().stdout;
    let hour = Duration::from_secs(3_600);
    written(SystemTime::now() - hour);
    assert!(setup().contains("loaded them when it started"), "{}", setup());
    written(SystemTime::now() + hour);
    assert!(setup().contains(&format!("api (codex in {}): {NOT_LOADED}", agent.pane)), "{}", setup());
    let sessions =
        environment.agtmux(&["setup", "codex", "--check", "--json"]).ok().json()["items"][0]["sessions"].clone();
    assert_eq!((&sessions[0]["name"], &sessions[0]["hooks_loaded"]), (&"api".into(), &false.into()), "{sessions:#}");
    // The daemon looks again after a while.
    wait_for("the list to say so", || {
        let list = environment.agtmux(&["list", "panes"]).ok();
        if list.stderr.contains(NOT_LOADED) { Ok(()) } else { Err(format!("{list:#?}")) }
    });
    assert!(environment.agtmux(&["explain", "api"]).ok().stdout.contains(NOT_LOADED));
    let doctor = environment.agtmux(&["doctor"]);
    assert!(doctor.stdout.contains(NOT_LOADED), "{doctor:#?}");
    // One that was heard has them, whatever the files say.
    let payload = r#"{"session_id":"c0ffee","turn_id":"t-1","transcript_path":null,"cwd":"/","hook_event_name":"UserPromptSubmit","prompt":"hello"}"#;
    agent.run(&format!("printf '%s' '{payload}' | {AGTMUX} hook codex UserPromptSubmit")).ok();
    environment.wait_for_pane(&agent.pane, "the hook", |pane| pane["hooks_loaded"] == true);
    assert!(setup().contains("has loaded the hooks"), "{}", setup());
}

/// A block as an earlier release wrote it, in a file of its own.
const EARLIER: &str =
    "<!-- SCHMUX:BEGIN -->\n<!-- this file was made for the block below -->\nold words\n<!-- SCHMUX:END -->\n";

/// Git, in a folder, with nobody's configuration.
fn git(environment: &TestEnvironment, folder: &Path, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", environment.path("home"));
    command.args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-C"]).arg(folder).args(arguments);
    Run::of(&mut command).ok().stdout.trim_end().to_owned()
}

const ALL_BUT_CLAUDE: [&str; 10] =
    ["--agent", "codex", "--agent", "gemini", "--agent", "opencode", "--agent", "copilot", "--agent", "cursor"];

/// Files that provisioning makes are no work of a person: git does not show them, and they go with the block.
#[test]
fn what_provisioning_makes_git_does_not_show() {
    let environment = TestEnvironment::new();
    let workspace = environment.path("ws");
    fs::create_dir_all(workspace.join(".codex")).unwrap();
    git(&environment, &workspace, &["init", "-q", "-b", "main"]);
    git(&environment, &workspace, &["commit", "-q", "--allow-empty", "-m", "first"]);
    fs::write(workspace.join(".codex/AGENTS.md"), EARLIER).unwrap();
    let exclude = workspace.join(".git/info/exclude");
    let before = fs::read(&exclude).unwrap();
    let provision = |folder: &str, more: &[&str]| environment.agtmux(&[&["provision", folder], more].concat());
    let status = || git(&environment, &workspace, &["status", "--porcelain"]);

    provision("ws", &ALL_BUT_CLAUDE).ok();
    assert_eq!((status().as_str(), workspace.join(".codex").exists()), ("", false));
    assert!(workspace.join("AGENTS.md").exists() && workspace.join("GEMINI.md").exists());
    provision("ws", &[&ALL_BUT_CLAUDE[..], &["--check"]].concat()).ok();

    // Another worktree of the repository has the same exclude file. What one forgets the other still needs.
    git(&environment, &workspace, &["worktree", "add", "-q", "-b", "feat", "../feat"]);
    provision("feat", &ALL_BUT_CLAUDE).ok();
    provision("feat", &[&ALL_BUT_CLAUDE[..], &["--remove"]].concat()).ok();
    assert_eq!((status().as_str(), environment.path("feat/AGENTS.md").exists()), ("", false));

    // What a person writes into such a file makes it theirs.
    let mut text = fs::read_to_string(workspace.join("GEMINI.md")).unwrap();
    text.push_str("# Mine\n");
    fs::write(workspace.join("GEMINI.md"), text).unwrap();
    provision("ws", &ALL_BUT_CLAUDE).ok();
    assert_eq!(status(), "?? GEMINI.md");
    provision("ws", &[&ALL_BUT_CLAUDE[..], &["--remove"]].concat()).ok();
    assert_eq!(fs::read_to_string(workspace.join("GEMINI.md")).unwrap(), "# Mine\n");
    assert_eq!((status().as_str(), workspace.join("AGENTS.md").exists()), ("?? GEMINI.md", false));
    assert_eq!(fs::read(&exclude).unwrap(), before);
}

/// A new `.claude/CLAUDE.md` would keep Claude from reading the `AGENTS.md` that a person wrote.
#[test]
fn provisioning_hides_no_instructions() {
    let environment = TestEnvironment::new();
    let workspace = environment.path("ws");
    fs::create_dir_all(workspace.join(".claude")).unwrap();
    fs::write(workspace.join(".claude/CLAUDE.md"), EARLIER).unwrap();
    fs::write(workspace.join("AGENTS.md"), "# Ours\n").unwrap();
    environment.agtmux(&["provision", "ws", "--agent", "claude"]).ok();
    assert!(!workspace.join(".claude").exists());
    let taught = fs::read_to_string(workspace.join("AGENTS.md")).unwrap();
    assert!(taught.starts_with("# Ours\n\n<!-- SCHMUX:BEGIN -->"), "{taught}");
    environment.agtmux(&["provision", "ws", "--agent", "claude", "--remove"]).ok();
    assert_eq!(fs::read_to_string(workspace.join("AGENTS.md")).unwrap(), "# Ours\n");
    // A CLAUDE.md above the workspace hides the AGENTS.md already.
    fs::write(environment.path("CLAUDE.md"), "# Above\n").unwrap();
    environment.agtmux(&["provision", "ws", "--agent", "claude"]).ok();
    assert!(workspace.join(".claude/CLAUDE.md").exists());
    assert_eq!(fs::read_to_string(workspace.join("AGENTS.md")).unwrap(), "# Ours\n");
}

/// One file may have several names in a workspace. A link out of it leads to a file that others read too.
#[test]
fn links_are_followed_in_the_workspace_alone() {
    let environment = TestEnvironment::new();
    let workspace = environment.path("ws");
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join("AGENTS.md"), "# Ours\r\n\r\nBe brief.\r\n").unwrap();
    symlink("AGENTS.md", workspace.join("GEMINI.md")).unwrap();
    let before = tree(&workspace);
    let both = ["provision", "ws", "--agent", "codex", "--agent", "gemini"];
    environment.agtmux(&both).ok();
    let taught = fs::read_to_string(workspace.join("AGENTS.md")).unwrap();
    assert_eq!(taught.matches("SCHMUX:BEGIN").count(), 1, "{taught}");
    assert!(workspace.join("GEMINI.md").is_symlink());
    environment.agtmux(&[&both[..], &["--check"]].concat()).ok();
    environment.agtmux(&[&both[..], &["--remove"]].concat()).ok();
    assert_eq!(tree(&workspace), before);

    let outside = environment.path("shared.md");
    fs::write(&outside, "# Everywhere\n").unwrap();
    fs::remove_file(workspace.join("GEMINI.md")).unwrap();
    symlink(&outside, workspace.join("GEMINI.md")).unwrap();
    let run = environment.agtmux(&both);
    assert!(run.code == 4 && run.stderr.contains("--follow-links"), "{run:#?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "# Everywhere\n");
    assert!(!fs::read_to_string(workspace.join("AGENTS.md")).unwrap().contains("SCHMUX"));
    environment.agtmux(&[&both[..], &["--follow-links"]].concat()).ok();
    assert!(fs::read_to_string(&outside).unwrap().contains("SCHMUX:BEGIN"));
    environment.agtmux(&[&both[..], &["--follow-links", "--remove"]].concat()).ok();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "# Everywhere\n");
}
