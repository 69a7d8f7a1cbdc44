//! What takes tools of Linux to show: a tracer that ends or holds a program at a system call, and a change of user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::{SETTINGS, settings, tree};
use crate::common::{AGTMUX, Background, Run, TestEnvironment, wait_for};

#[test]
fn a_folder_that_cannot_be_written_is_left_alone() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    let folder = file.parent().unwrap();
    fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere, so that the command runs as nobody in particular.
    environment.shell("chmod -R a+rwX . && chmod 555 home/.claude").status().unwrap();
    let run = if rustix::process::getuid().is_root() {
        let mut as_nobody = Command::new("setpriv");
        as_nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", AGTMUX, "setup", "claude"]);
        in_the_environment(&environment, &mut as_nobody);
        as_nobody.env("XDG_STATE_HOME", environment.path("tmp/state"));
        Run::of(&mut as_nobody)
    } else {
        environment.agtmux(&["setup", "claude"])
    };
    assert_eq!(run.code, 4, "{run:#?}");
    assert!(run.stderr.contains("E_SETUP_REFUSED"), "{run:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), SETTINGS);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The program under a tracer of system calls, which can end or hold it at any of them.
fn traced(environment: &TestEnvironment, call: &str, what: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("strace");
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{what}"));
    command.args(["-f", "-o", "tmp/trace", "-e", &trace, "-e", &inject, AGTMUX]).args(arguments);
    in_the_environment(environment, &mut command);
    command
}

/// Gives a command the variables that the program has in an environment.
fn in_the_environment(environment: &TestEnvironment, command: &mut Command) {
    command.env_clear().current_dir(environment.root()).stdin(Stdio::null());
    for (name, value) in environment.command(&[]).get_envs() {
        command.env(name, value.unwrap_or_default());
    }
}

/// The calls by which the installer changes anything.
const WRITES: &str = "write,fsync,fchmod,rename,renameat,linkat,unlink,unlinkat,mkdir";

/// F90: killed at any of its calls, the installer leaves the old file or the new one, and the next run completes it.
#[test]
fn killed_at_any_write_it_leaves_the_old_text_or_the_new() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    let home = environment.path("home");
    let old = tree(&home);
    environment.agtmux(&["setup", "claude", "codex"]).ok();
    let new = tree(&home);
    let start_over = || {
        fs::remove_dir_all(&home).unwrap();
        for (path, bytes) in &old {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    };
    let states = |name: &str| -> Vec<Option<Vec<u8>>> {
        let find = |tree: &[(PathBuf, Vec<u8>)]| {
            tree.iter().find(|(path, _)| path.ends_with(name)).map(|(_, bytes)| bytes.clone())
        };
        vec![find(&old), find(&new)]
    };
    let mut killed = 0;
    for call in WRITES.split(',') {
        for place in 1.. {
            start_over();
            let kill = format!("signal=KILL:when={place}");
            let run = Run::of(&mut traced(&environment, call, &kill, &["setup", "claude", "codex"]));
            if run.code == 0 {
                break;
            }
            killed += 1;
            for name in ["settings.json", "settings.json.agtmux-backup", "hooks.json", "config.toml"] {
                let found = tree(&home).into_iter().find(|(path, _)| path.ends_with(name)).map(|(_, bytes)| bytes);
                assert!(states(name).contains(&found), "{name} after {call} {place}: {found:?}");
            }
            // Whatever was left, the next run makes it whole and leaves nothing else behind.
            environment.agtmux(&["setup", "claude", "codex"]).ok();
            assert_eq!(tree(&home), new, "after {call} {place}");
        }
    }
    assert!(killed >= 20, "only {killed} calls were found to stop at");
    environment.agtmux(&["setup", "claude", "codex", "--remove"]).ok();
    assert_eq!(fs::read_to_string(file).unwrap(), SETTINGS);
}

/// F91: what somebody else writes between our reading and our writing is not lost.
#[test]
fn a_file_that_changes_meanwhile_is_not_overwritten() {
    let environment = TestEnvironment::new();
    let file = settings(&environment);
    // The installer is held for some seconds when it has written its text beside the file.
    let held =
        Background::start(&mut traced(&environment, "fsync", "delay_enter=3000000:when=1", &["setup", "claude"]));
    let beside = environment.path("home/.claude/.settings.json.agtmux-new");
    wait_for("the text beside the file", || beside.exists().then_some(()).ok_or("nothing there"));
    fs::write(&file, "{ \"model\": \"theirs\" }\n").unwrap();
    let second = environment.agtmux(&["setup", "codex"]);
    assert!(second.code == 4 && second.stderr.contains("another setup runs"), "{second:#?}");
    let run = held.finish();
    assert_eq!(run.code, 4, "{run:#?}");
    assert!(run.stderr.contains("was changed by somebody else meanwhile"), "{run:#?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{ \"model\": \"theirs\" }\n");
    assert!(!beside.exists());
    environment.agtmux(&["setup", "claude"]).ok();
    assert!(fs::read_to_string(&file).unwrap().contains("theirs"));
}
