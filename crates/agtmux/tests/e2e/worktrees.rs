//! Git worktrees: made where one expects them, and never removed with anybody's work in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{AGTMUX, FakeAgent, Run, SCRIPT, TestEnvironment};

/// A repository with a commit.
struct Repository<'e> {
    environment: &'e TestEnvironment,
    path: PathBuf,
}

impl<'e> Repository<'e> {
    fn new(environment: &'e TestEnvironment, name: &str) -> Self {
        let repository = Self { environment, path: environment.path(name) };
        fs::create_dir(&repository.path).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        fs::write(repository.path.join("README"), "hello\n").unwrap();
        fs::write(repository.path.join(".gitignore"), "/target/\n").unwrap();
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "first"]);
        repository
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.path, arguments)
    }

    fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", self.environment.path("home"));
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.com", "-C"]).arg(directory);
        Run::of(command.args(arguments)).ok().stdout.trim_end().to_owned()
    }

    fn agtmux(&self, arguments: &[&str]) -> Run {
        let path = format!("{}:{}", self.environment.path("bin").display(), std::env::var("PATH").unwrap());
        Run::of(self.environment.command(arguments).env("PATH", path).current_dir(&self.path))
    }

    /// Starts an agent on a branch.
    fn spawn(&self, branch: &str) -> (Run, PathBuf) {
        let dir = self.environment.agent_dir();
        let variable = format!("AGENT_DIR={}", dir.display());
        let branch = format!("--worktree={branch}");
        (self.agtmux(&["spawn", "claude", &branch, "--session", "main", "--env", &variable, "--json"]), dir)
    }

    fn remove(&self, meant: &str, more: &[&str]) -> Run {
        self.agtmux(&[&["worktree", "remove", meant, "--yes", "--json"], more].concat())
    }
}

fn install(environment: &TestEnvironment) {
    let rest = SCRIPT.strip_prefix("#!/bin/sh\n").unwrap();
    environment.program("claude", &format!("#!/bin/sh\n{AGTMUX} signal idle\n{rest}"));
}

#[track_caller]
fn refused(run: &Run, why: &str) {
    assert_eq!((run.code, run.error()["code"].as_str()), (4, Some("E_WORKTREE")), "{run:#?}");
    let message = run.error()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(why), "{message} does not say {why:?}");
}

#[test]
fn an_agent_gets_a_worktree_of_its_own() {
    let environment = TestEnvironment::with_tmux();
    install(&environment);
    let repository = Repository::new(&environment, "api");
    // A hook of the repository is not ours to run.
    let canary = environment.path("canary");
    let hook = repository.path.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", canary.display())).unwrap();
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let (run, dir) = repository.spawn("fix/leak");
    let answer = run.ok().json();
    let place = environment.path("api-worktrees/fix-leak");
    assert_eq!(answer["worktree"]["path"], place.display().to_string(), "{answer:#}");
    assert_eq!((&answer["worktree"]["is_new_branch"], &answer["status"]), (&true.into(), &"ready".into()));
    assert_eq!(answer["workspace"], place.display().to_string());
    assert_eq!(repository.git_in(&place, &["branch", "--show-current"]), "fix/leak");
    assert!(!canary.exists());
    let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
    assert_eq!(agent.run("pwd").ok().stdout.trim(), place.display().to_string());

    // It is checked out there and nowhere else.
    let (run, _) = repository.spawn("fix/leak");
    refused(&run, &format!("fix/leak is checked out already, in {}", place.display()));
    let (run, _) = repository.spawn("main");
    refused(&run, "main is checked out already");
    // A branch that is there is taken as it is.
    repository.git(&["branch", "old"]);
    let (run, _) = repository.spawn("old");
    assert_eq!(run.ok().json()["worktree"]["is_new_branch"], false);
    // Another branch that would lie in the same place does not.
    let (run, _) = repository.spawn("fix-leak");
    refused(&run, "is there already");
    for bad in ["-x", "--force", "a..b", "a b", "a~1", "@{-1}", "", "x.lock"] {
        let (run, _) = repository.spawn(bad);
        refused(&run, "cannot name a branch");
    }

    let list = repository.agtmux(&["worktree", "list", "--json"]).ok().json();
    let of = |branch: &str| -> Value {
        list["items"].as_array().unwrap().iter().find(|item| item["branch"] == branch).unwrap().clone()
    };
    assert_eq!((&of("main")["is_main"], &of("main")["agents"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(of("fix/leak")["agents"], serde_json::json!([answer["runtime_id"]]));
}

/// Whatever would be lost is named, and stays.
#[test]
fn work_is_never_removed() {
    let environment = TestEnvironment::with_tmux();
    install(&environment);
    let repository = Repository::new(&environment, "api");
    let (run, dir) = repository.spawn("feat");
    let answer = run.ok().json();
    let place = environment.path("api-worktrees/feat");
    refused(&repository.remove("feat", &["--force"]), "an agent lives there");
    let agent = FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir);
    agent.tell("exit 0");
    crate::common::wait_for("the agent to be gone", || match environment.pane(&agent.pane) {
        None => Ok(()),
        Some(pane) => Err(format!("{pane:#}")),
    });

    fs::write(place.join("README"), "changed\n").unwrap();
    refused(&repository.remove("feat", &["--force"]), "changes that are not committed: README");
    repository.git_in(&place, &["checkout", "-q", "README"]);
    fs::write(place.join("new file"), "new\n").unwrap();
    refused(&repository.remove("feat", &["--force"]), "files that git does not know: new file");
    fs::remove_file(place.join("new file")).unwrap();
    fs::create_dir(place.join("target")).unwrap();
    fs::write(place.join("target/x"), "built\n").unwrap();
    refused(&repository.remove("feat", &[]), "files that git ignores: target/");
    repository.git(&["worktree", "lock", "--reason", "on a stick", &place.display().to_string()]);
    refused(&repository.remove("feat", &["--force"]), "it is locked: on a stick");
    repository.git(&["worktree", "unlock", &place.display().to_string()]);
    // A commit that only this worktree knows of.
    repository.git_in(&place, &["checkout", "-q", "--detach"]);
    repository.git_in(&place, &["commit", "-q", "--allow-empty", "-m", "lost"]);
    refused(&repository.remove(&place.display().to_string(), &["--force"]), "commits that no branch holds");
    repository.git_in(&place, &["checkout", "-q", "-B", "feat"]);
    let git_dir = repository.git_in(&place, &["rev-parse", "--path-format=absolute", "--git-dir"]);
    fs::write(Path::new(&git_dir).join("MERGE_HEAD"), "x").unwrap();
    refused(&repository.remove("feat", &["--force"]), "a merge is half done");
    fs::remove_file(Path::new(&git_dir).join("MERGE_HEAD")).unwrap();
    refused(&repository.remove("main", &["--force"]), "is the repository itself");
    refused(&repository.remove("nowhere", &["--force"]), "no worktree has the branch or the path");
    assert!(place.join(".claude/CLAUDE.md").exists() && place.join("target/x").exists());

    // What is left is what was built, and what agtmux itself wrote; neither is anybody's work.
    let gone = repository.remove("feat", &["--force"]).ok().json();
    assert_eq!(gone["path"], place.display().to_string());
    assert!(!place.exists() && !environment.path("api-worktrees").exists());
    assert_eq!(repository.git(&["log", "-1", "--format=%s", "feat"]), "lost");
}

/// A block that was added to a file of the repository is taken out; a person's own lines in that file are work.
#[test]
fn only_our_own_lines_are_nobodys_work() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let repository = Repository::new(&environment, "api");
    fs::create_dir(repository.path.join(".claude")).unwrap();
    fs::write(repository.path.join(".claude/CLAUDE.md"), "be kind\n").unwrap();
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "rules"]);
    repository.git(&["worktree", "add", "-q", "-b", "feat", "../elsewhere"]);
    let place = environment.path("elsewhere");
    let path = place.display().to_string();
    repository.agtmux(&["provision", &path, "--agent", "claude"]).ok();
    let taught = fs::read_to_string(place.join(".claude/CLAUDE.md")).unwrap();
    fs::write(place.join(".claude/CLAUDE.md"), format!("be quick\n{taught}")).unwrap();
    refused(&repository.remove(&path, &[]), "changes that are not committed: .claude/CLAUDE.md");
    fs::write(place.join(".claude/CLAUDE.md"), taught).unwrap();
    repository.remove(&path, &[]).ok();
    assert!(!place.exists());
}
