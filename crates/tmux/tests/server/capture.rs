//! What a pane shows, as it is captured.

use agtmux_tmux::capture::{capture, capture_all};
use agtmux_tmux::{ClientError, PaneId, Plain};

use crate::support::{DEADLINE, Server, wait_until};

#[tokio::test]
async fn a_capture_has_styles_the_cursor_and_nothing_of_another_pane() {
    let server =
        Server::start(r"printf '\033]2;a , title\007\033[1mbold\033[0m \033[2mdim\033[0m\n\nlast'; exec sleep 1000");
    wait_until("the pane is painted", || server.tmux(["capture-pane", "-p", "-t", "%0"]).contains("last"));
    let plain = Plain::new("tmux".as_ref(), &server.socket());
    let shown = capture(&plain, PaneId(0), DEADLINE).await.unwrap().expect("the pane is there");
    let text = String::from_utf8(shown.text.clone()).unwrap();
    assert!(text.starts_with("\u{1b}[1mbold\u{1b}[0m") && text.contains("\u{1b}[2mdim"), "{text:?}");
    assert_eq!(text.lines().count(), 24);
    assert_eq!((shown.width, shown.height, shown.cursor_x, shown.cursor_y), (80, 24, 4, 2));
    assert!(shown.cursor_visible && !shown.in_mode && !shown.dead);
    assert_eq!((shown.command.as_str(), shown.title.as_str()), ("sleep", "a , title"));
    assert_eq!(capture(&plain, PaneId(7), DEADLINE).await.unwrap(), None);
}

#[tokio::test]
async fn several_panes_are_captured_together() {
    let server = Server::start("printf first; exec sleep 1000");
    server.tmux(["split-window", "-t", "%0", "printf second; exec sleep 1000"]);
    let painted = |pane: &str, text: &str| server.tmux(["capture-pane", "-p", "-t", pane]).contains(text);
    wait_until("both are painted", || painted("%0", "first") && painted("%1", "second"));
    let plain = Plain::new("tmux".as_ref(), &server.socket());
    let shown = capture_all(&plain, &[PaneId(0), PaneId(1)], DEADLINE).await.unwrap();
    let first_lines: Vec<_> = shown.values().map(|capture| capture.text.split(|byte| *byte == b'\n').next()).collect();
    assert_eq!(first_lines, [Some(&b"first"[..]), Some(&b"second"[..])]);
    let refused = capture_all(&plain, &[PaneId(0), PaneId(7)], DEADLINE).await;
    assert!(matches!(refused, Err(ClientError::Refused(_))), "{refused:?}");
}
