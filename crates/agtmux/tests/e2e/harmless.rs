//! Nothing of the user's changes because we watch: recorded before, during and after, with a real terminal attached.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{TestEnvironment, Tmux, wait_for, wait_within};

/// Everything that a user can see of a server. Ours is left out by name, so that what remains must not change at all.
fn users_view(tmux: &Tmux) -> String {
    let mut view = String::new();
    for (command, ours) in [
        (vec!["show-options", "-g"], None),
        (vec!["show-options", "-gw"], None),
        (vec!["show-options", "-s"], None),
        (vec!["show-environment", "-g"], None),
        (vec!["show-hooks", "-g"], Some("agtmux")),
        (vec!["show-hooks", "-gw"], Some("agtmux")),
        (
            vec![
                "list-sessions",
                "-F",
                "#{session_name} attached=#{session_attached} alerts=#{session_alerts} path=#{session_path}",
            ],
            Some("_agtmux"),
        ),
        (
            vec![
                "list-windows",
                "-a",
                "-F",
                "#{session_name}:#{window_index} #{window_id} #{window_name} #{window_width}x#{window_height} \
                 #{window_layout} flags=#{window_raw_flags} bell=#{window_bell_flag} active=#{window_active}",
            ],
            Some("_agtmux"),
        ),
        (
            vec![
                "list-panes",
                "-a",
                "-F",
                "#{session_name} #{pane_id} #{pane_pid} #{pane_width}x#{pane_height} active=#{pane_active} \
                 mode=#{pane_in_mode} dead=#{pane_dead} tty=#{pane_tty}",
            ],
            Some("_agtmux"),
        ),
        (
            vec![
                "list-clients",
                "-F",
                "#{client_session} #{client_width}x#{client_height} #{client_flags} #{client_termname}",
            ],
            Some("_agtmux"),
        ),
        (vec!["list-buffers"], None),
        (vec!["list-keys"], None),
    ] {
        view.push_str(&format!("$ tmux {}\n", command.join(" ")));
        let shown = tmux.run(&command);
        // A hook without a command is listed by its bare name.
        let is_hook = |line: &str| !command[0].ends_with("hooks") || line.contains(' ');
        for line in shown.lines().filter(|line| ours.is_none_or(|ours| !line.contains(ours)) && is_hook(line)) {
            view.push_str(line);
            view.push('\n');
        }
    }
    view
}

#[test]
fn watching_changes_nothing_of_the_users() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    // The settings of a person with opinions. The hooks leave a trace, so that it shows whether they ran.
    let titled = environment.path("titled");
    let ran = environment.path("ran");
    let touch = |path: &Path| format!("run-shell 'touch {}'", path.display());
    let (on_title, on_anything) = (touch(&titled), touch(&ran));
    for hook in ["session-created", "session-closed", "client-attached", "client-detached", "window-linked"] {
        tmux.run(&["set-hook", "-g", hook, &on_anything]);
    }
    for settings in [
        vec!["set-option", "-g", "focus-events", "on"],
        vec!["set-option", "-g", "monitor-bell", "on"],
        vec!["set-option", "-g", "base-index", "1"],
        vec!["set-option", "-g", "status-right", "#(date) #{session_name}"],
        vec!["set-option", "-g", "@mine", "kept"],
        vec!["set-hook", "-g", "pane-title-changed[3]", &on_title],
        vec!["set-environment", "-g", "EDITOR", "vi"],
        vec!["new-session", "-d", "-s", "away", "-n", "base", "-x", "90", "-y", "25", "exec sleep 100000"],
        vec!["split-window", "-d", "-h", "-t", "=main:", "exec sleep 100000"],
        vec!["set-buffer", "the user's own"],
    ] {
        tmux.run(&settings);
    }
    // An application that asks for focus reports and writes down every byte it is sent.
    let heard = environment.path("heard");
    let listener =
        format!("stty raw -echo; printf '\\033[?1004h\\033]2;listening\\007'; exec cat >{}", heard.display());
    tmux.run(&["new-window", "-t", "=main:", "-n", "app", &listener]);
    let _terminal = tmux.attach("main");
    // Windows of a session that nobody looks at keep a bell that rang.
    let bell = tmux.run(&[
        "new-window",
        "-d",
        "-t",
        "=away:",
        "-n",
        "bell",
        "-P",
        "-F",
        "#{window_id}",
        "printf '\\a'; exec sleep 100000",
    ]);
    wait_for("the bell to be flagged", || match tmux.format(&bell, "#{window_bell_flag}").as_str() {
        "1" => Ok(()),
        other => Err(other.to_owned()),
    });
    let agent = environment.unseen_agent("claude");
    tmux.run(&["select-window", "-t", "=main:app"]);
    // What the terminal reports of itself when it is attached has arrived before the daemon comes.
    wait_for("the listener's title", || match tmux.format("=main:app", "#{pane_title}").as_str() {
        "listening" => Ok(()),
        other => Err(other.to_owned()),
    });
    let before = settled(&tmux);
    fs::remove_file(&titled).unwrap();
    fs::remove_file(&ran).unwrap();
    let heard_before = fs::read(&heard).unwrap();

    environment.start_daemon();
    environment.wait_for_pane(&agent.pane, "the agent", |pane| pane["agent"] == "claude");
    agent.signal("waiting_approval 'well?'").ok();
    agent.run("printf '\\033]2;a title\\007' >/dev/tty").ok();
    environment.wait_for_pane(&agent.pane, "the title", |pane| pane["title"] == "a title");
    wait_for("the agent's pane to be read", || match tmux.format(&agent.pane, "#{pane_pipe}").as_str() {
        "1" => Ok(()),
        other => Err(other.to_owned()),
    });
    assert_same(&before, &settled(&tmux), "while it is watched");
    assert_eq!(fs::read(&heard).unwrap(), heard_before, "the application was sent something");
    assert!(titled.exists(), "the user's own hook still runs");

    environment.agtmux(&["daemon", "stop"]).ok();
    assert_same(&before, &settled(&tmux), "after `daemon stop`");
    assert_eq!(fs::read(&heard).unwrap(), heard_before, "the application was sent something");
    assert!(!ran.exists(), "a hook of the user's ran because of us");
}

/// The user's pipe is the user's, also after the daemon has come and gone.
#[test]
fn a_pipe_that_is_taken_stays_taken() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let agent = environment.unseen_agent("claude");
    let log = environment.path("users.log");
    tmux.run(&["pipe-pane", "-t", &agent.pane, &format!("exec cat >>{}", log.display())]);
    environment.start_daemon();
    environment.wait_for_pane(&agent.pane, "the agent", |pane| pane["agent"] == "claude");
    let other = environment.agent("codex");
    wait_for("the free pane to be read", || match tmux.format(&other.pane, "#{pane_pipe}").as_str() {
        "1" => Ok(()),
        other => Err(other.to_owned()),
    });
    let said = |text: &str| {
        agent.run(&format!("echo {text} >/dev/tty")).ok();
        wait_for(&format!("{text} in the user's log"), || {
            let log = fs::read_to_string(&log).unwrap();
            if log.contains(text) { Ok(()) } else { Err(log) }
        });
    };
    said("while-watched");
    // Signals need no pipe.
    agent.signal("running").ok();
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "running");
    // The user takes a pipe that is ours, and has it.
    let second = environment.path("second.log");
    tmux.run(&["pipe-pane", "-t", &other.pane, &format!("exec cat >>{}", second.display())]);
    other.run("echo mine-now >/dev/tty").ok();
    wait_for("the user's second pipe", || {
        let log = fs::read_to_string(&second).unwrap_or_default();
        if log.contains("mine-now") { Ok(()) } else { Err(log) }
    });
    environment.agtmux(&["daemon", "stop"]).ok();
    said("after-stop");
    assert_eq!(tmux.format(&other.pane, "#{pane_pipe}"), "1");
}

/// A user who reloads a configuration wipes whole hook arrays. Ours come back; the user's stay.
#[test]
fn wiped_hooks_come_back_beside_the_users() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    tmux.run(&["set-hook", "-g", "pane-title-changed", "set-option -g @users 1"]);
    let hooks = || tmux.run(&["show-hooks", "-g", "pane-title-changed"]);
    assert!(!hooks().contains("agtmux"), "{}", hooks());
    // Looked after at every reconcile, which comes every ten seconds.
    wait_within(Duration::from_secs(15), "our hook to be back", || {
        let now = hooks();
        if now.contains("agtmux") { Ok(()) } else { Err(now) }
    });
    assert!(hooks().contains("@users"), "{}", hooks());
    agent.run("printf '\\033]2;pushed again\\007' >/dev/tty").ok();
    environment.wait_for_pane(&agent.pane, "the title", |pane| pane["title"] == "pushed again");
    assert_eq!(tmux.run(&["show-options", "-gv", "@users"]), "1");
    environment.agtmux(&["daemon", "stop"]).ok();
    assert_eq!(hooks(), "pane-title-changed[0] set-option -g @users 1");
}

/// The view once it stands still: a terminal that has just been attached still settles.
fn settled(tmux: &Tmux) -> String {
    let mut last = users_view(tmux);
    wait_for("tmux to settle", || {
        let now = users_view(tmux);
        let same = now == last;
        last.clone_from(&now);
        if same { Ok(now) } else { Err("it changes") }
    })
}

#[track_caller]
fn assert_same(before: &str, after: &str, when: &str) {
    let missing: Vec<_> = before.lines().filter(|line| !after.lines().any(|other| other == *line)).collect();
    let new: Vec<_> = after.lines().filter(|line| !before.lines().any(|other| other == *line)).collect();
    assert!(missing.is_empty() && new.is_empty(), "{when}\ngone: {missing:#?}\nnew: {new:#?}");
}
