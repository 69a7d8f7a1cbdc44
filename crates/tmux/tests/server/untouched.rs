//! Nothing changes on the user's side while we observe, and nothing is left after.

use agtmux_tmux::hook_queue::HookQueue;

use crate::support::{DEADLINE, Server, wait_until};

/// What a user of the session `work` could notice.
fn user_side(server: &Server) -> String {
    let mut text = String::new();
    for arguments in [
        &["show-options", "-g"][..],
        &["show-options", "-gw"],
        &["show-options", "-s"],
        &["show-options", "-t", "work"],
        &["show-environment", "-g"],
        &["show-environment", "-t", "work"],
        &["list-keys"],
    ] {
        text += &server.tmux(arguments);
        text += "\n";
    }
    let format = "#{session_attached} #{session_alerts} #{session_windows} #{window_id} #{window_layout} #{window_width}x#{window_height} \
                  #{window_bell_flag} #{window_active} #{window_active_clients} #{pane_id} #{pane_active} #{pane_width}x#{pane_height} #{pane_pid}";
    text += &server.tmux(["list-panes", "-s", "-t", "work", "-F", format]);
    text
}

/// Our hooks are there while we observe; apart from them nothing may differ.
fn user_hooks(server: &Server) -> Vec<String> {
    let hooks = server.tmux(["show-hooks", "-g"]) + "\n" + &server.tmux(["show-hooks", "-gw"]);
    let (ours, users): (Vec<_>, Vec<_>) = hooks.lines().map(str::to_owned).partition(|line| line.contains("90] "));
    assert!(ours.iter().all(|line| line.contains("AGTMUX_Q") || line.contains("_agtmux")));
    // An array without an element is listed by its bare name.
    users.into_iter().filter(|line| line.contains(' ')).collect()
}

#[tokio::test]
async fn a_user_notices_nothing() {
    // The pane asks for focus reports and shows every byte it is sent.
    let server = Server::start("stty raw -echo; printf '\\033[?1004h'; exec cat -v");
    server.tmux(["set-option", "-g", "focus-events", "on"]);
    server.tmux(["set-hook", "-g", "pane-title-changed[2]", "run-shell -b 'true #{pane_id}'"]);
    server.tmux(["split-window", "-h", "-t", "%0", "exec sleep 1000"]);
    server.tmux(["new-window", "-d", "-t", "work", "-n", "background", "exec sleep 1000"]);
    server.tmux(["new-session", "-d", "-s", "detached", "read x; printf '\\a'; exec sleep 1000"]);
    let _terminal = server.attach_terminal("work");
    let focus = || server.tmux(["capture-pane", "-p", "-t", "%0"]);

    let (before, hooks, screen) = (user_side(&server), user_hooks(&server), focus());
    let (session, _notifications) = server.open().await;
    let (queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();
    assert_eq!(user_side(&server), before);
    assert_eq!(user_hooks(&server), hooks);
    // A bell in a detached session is flagged as if nobody were there.
    server.tmux(["send-keys", "-t", "detached", "Enter"]);
    reader.next_batch().await.unwrap();
    wait_until("the bell is flagged", || server.format("detached", "#{window_bell_flag}") == "1");
    assert_eq!(server.format("detached", "#{session_attached}"), "0");
    // A new pane inherits nothing of ours.
    let environment = server.directory().join("environment");
    let write = format!("env > '{0}.part'; mv '{0}.part' '{0}'; exec sleep 1000", environment.display());
    server.tmux(["new-window", "-d", "-t", "detached", &write]);
    wait_until("the pane wrote its environment", || environment.exists());
    assert!(!std::fs::read_to_string(&environment).unwrap().contains("AGTMUX"));
    assert_eq!(user_side(&server), before);

    queue.remove(DEADLINE).await.unwrap();
    session.close(DEADLINE).await;
    assert_eq!(user_side(&server), before);
    assert_eq!(user_hooks(&server), hooks);
    assert_eq!(focus(), screen, "no focus report was sent");
    assert!(!server.tmux(["show-environment", "-gh"]).contains("AGTMUX"));
}
