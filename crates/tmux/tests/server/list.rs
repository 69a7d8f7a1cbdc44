//! Listings survive names that try to be records.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::server::Version;
use agtmux_tmux::session::hidden;
use agtmux_tmux::{PaneId, Plain};

use crate::support::{DEADLINE, Server};

#[tokio::test]
async fn hostile_directories_titles_and_names_stay_in_their_fields() {
    let base = tempfile::tempdir().unwrap();
    let canary = base.path().join("canary");
    let name = b"a\n%end 1 2 3\n\t,%9,$9 \xc3\xa9\xff'\"#{pid}#(touch canary)\\n";
    let directory = base.path().canonicalize().unwrap().join(OsStr::from_bytes(name));
    std::fs::create_dir(&directory).unwrap();
    let server = Server::start_in(&directory, "exec sleep 1000");
    let title = "t,%8 #(touch canary) #{pid} \u{e9}|";
    server.tmux(["select-pane", "-t", "%0", "-T", &title.replace('#', "##")]);
    server.tmux(["rename-window", "-t", "@0", "w,1 ##(touch canary)"]);
    server.tmux(["new-session", "-d", "-s", "other", "exec sleep 1000"]);
    server.tmux(["link-window", "-s", "work:0", "-t", "other:7"]);

    let (session, _notifications) = server.open().await;
    let rows = list::panes(session.control(), Detail::Full, DEADLINE).await.unwrap();
    let rows: Vec<_> = rows.into_iter().filter(|row| !hidden(row.session_name.as_bytes())).collect();
    let found: Vec<_> = rows.iter().map(|row| (row.session_name.as_str(), row.window_index, row.pane_id.0)).collect();
    // The linked window is listed once per session.
    assert_eq!(found, [("other", 0, 1), ("other", 7, 0), ("work", 0, 0)]);
    let row = &rows[2];
    assert_eq!(row.cwd.as_deref(), Some(directory.as_path()));
    assert_eq!(row.title, title);
    assert_eq!(row.window_name, "w,1 #(touch canary)");
    assert_eq!(row.command.as_deref(), Some("sleep"));
    assert_eq!(row.pane_pid.to_string(), server.format("%0", "#{pane_pid}"));
    assert!(row.pane_active && row.window_active && !row.pane_dead && !row.pane_pipe);

    let light = list::panes(session.control(), Detail::Light, DEADLINE).await.unwrap();
    assert_eq!(light.len(), 4);
    assert!(light.iter().all(|row| row.cwd.is_none() && row.command.is_none()));
    assert!(!canary.exists() && !directory.join("canary").exists());
}

#[tokio::test]
async fn dead_panes_and_the_server_itself_are_rows() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["set-option", "-g", "remain-on-exit", "on"]);
    server.tmux(["split-window", "-t", "%0", "exit 7"]);
    crate::support::wait_until("the pane is dead", || server.format("%1", "#{pane_dead}") == "1");
    let _terminal = server.attach_terminal("work");
    let (session, _notifications) = server.open().await;
    let rows = list::panes(session.control(), Detail::Light, DEADLINE).await.unwrap();
    let dead = rows.iter().find(|row| row.pane_id.0 == 1).unwrap();
    assert!(dead.pane_dead && dead.pane_active);
    assert_eq!(dead.session_attached, 1);

    let (identity, version) = list::identity(session.control(), DEADLINE).await.unwrap();
    assert_eq!(identity.pid, server.pid);
    assert_eq!(identity.socket, server.socket());
    assert_eq!(identity.start_time.to_string(), server.format("%0", "#{start_time}"));
    assert_eq!(version, Version::parse(&server.tmux(["-V"])));
}

#[tokio::test]
async fn a_pane_that_is_gone_is_no_row() {
    let server = Server::start("exec sleep 1000");
    let plain = Plain::new("tmux".as_ref(), &server.socket());
    server.tmux(["split-window", "-t", "%0", "exec sleep 1000"]);
    server.tmux(["kill-pane", "-t", "%1"]);
    for gone in [PaneId(1), PaneId(99)] {
        assert_eq!(list::pane(&plain, gone, Detail::Full, DEADLINE).await.unwrap(), None);
    }
    assert!(list::pane(&plain, PaneId(0), Detail::Full, DEADLINE).await.unwrap().is_some());
}
