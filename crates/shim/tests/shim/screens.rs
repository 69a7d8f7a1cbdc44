//! Programs look the same with the shim and without it: the same keys in two panes, and the panes are compared after each.

use crate::common::{Pane, Server, shim, wait_for};

/// Presses keys in both panes, and waits until both show the same and what is expected of it.
#[track_caller]
fn same(bare: &Pane<'_>, wrapped: &Pane<'_>, keys: &[&str], expected: &str) {
    for pane in [bare, wrapped] {
        if !keys.is_empty() {
            pane.keys(keys);
        }
    }
    let mut before = String::new();
    wait_for(&format!("the same after {keys:?}, with {expected:?}"), || {
        let (one, other) = (bare.picture(), wrapped.picture());
        let is_there = one == other && one.contains(expected);
        // Seen twice, so that neither is on its way to something else.
        let is_settled = is_there && before == one;
        before.clone_from(&one);
        if is_settled { Ok(()) } else { Err(format!("--- bare\n{one}\n--- wrapped\n{other}")) }
    });
}

fn both<'a>(server: &'a Server, command: &str) -> (Pane<'a>, Pane<'a>) {
    (server.pane(&format!("exec {command}")), server.pane(&format!("exec {} {command}", shim().display())))
}

#[test]
fn a_shell() {
    let server = Server::start();
    let (bare, wrapped) = both(&server, "bash --norc --noprofile -i");
    same(&bare, &wrapped, &[], "$");
    same(&bare, &wrapped, &["stty -a; stty size", "Enter"], "24 80");
    same(&bare, &wrapped, &["seq 1 500", "Enter"], "500");
    same(&bare, &wrapped, &["echo lost", "C-a", "C-k", "echo kept", "Enter"], "kept");
    same(&bare, &wrapped, &["cat", "Enter", "one", "C-w", "two", "Enter", "C-d"], "two");
    same(&bare, &wrapped, &["sleep 100", "Enter"], "sleep");
    same(&bare, &wrapped, &["C-c"], "^C");
    same(&bare, &wrapped, &["sleep 100", "Enter"], "sleep");
    same(&bare, &wrapped, &["C-z"], "Stopped");
    same(&bare, &wrapped, &["clear; fg", "Enter"], "sleep");
    same(&bare, &wrapped, &["C-c"], "^C");
    same(&bare, &wrapped, &["printf '\\033]2;a title\\007\\033[31mred\\033[0m ünïcödé 日本'", "Enter"], "a title");
    bare.resize(60, 12);
    wrapped.resize(60, 12);
    same(&bare, &wrapped, &["clear; stty size", "Enter"], "12 60");
    same(&bare, &wrapped, &["exit 7", "Enter"], "1 7");
}

#[test]
fn an_editor() {
    // Without the greeting, which is another one every time.
    let server = Server::start();
    let (bare, wrapped) = both(&server, "vim -u NONE -N -n -i NONE --cmd 'set shortmess+=I'");
    same(&bare, &wrapped, &[], "~");
    same(&bare, &wrapped, &["ihello", "Enter", "wörld", "Left", "Left", "日本", "Escape"], "日本");
    same(&bare, &wrapped, &[":set number mouse=a", "Enter", "yy20pgg"], "20");
    same(&bare, &wrapped, &["v3j"], "VISUAL");
    same(&bare, &wrapped, &["Escape", ":split", "Enter", "C-w", "j", "G"], "wör");
    bare.resize(100, 30);
    wrapped.resize(100, 30);
    same(&bare, &wrapped, &["C-l"], "wör");
    same(&bare, &wrapped, &[":!echo outside", "Enter"], "outside");
    same(&bare, &wrapped, &["Enter", ":cquit 3", "Enter"], "1 3");
}

#[test]
fn a_pager() {
    let server = Server::start();
    std::fs::write(server.dir.path().join("text"), (1..=300).map(|n| format!("line {n}\n")).collect::<String>())
        .unwrap();
    let (bare, wrapped) = both(&server, "less text");
    same(&bare, &wrapped, &[], "line 1");
    same(&bare, &wrapped, &["G"], "line 300");
    same(&bare, &wrapped, &["/line 42", "Enter", "g", "n"], "line 42");
    same(&bare, &wrapped, &["Space", "b", "Down"], "line");
    same(&bare, &wrapped, &["q"], "1 0");
}

/// Its contents change by the second; its frame does not.
#[test]
fn a_monitor() {
    let server = Server::start();
    let (bare, wrapped) = both(&server, "htop --no-color --delay=100 --filter=nothing-is-named-so");
    for pane in [&bare, &wrapped] {
        pane.wait("F10Quit");
        pane.keys(&["F1"]);
        pane.wait("Released under");
        pane.resize(100, 30);
        pane.keys(&["Space"]);
        pane.wait("F10Quit");
        pane.keys(&["F2"]);
        pane.wait("Categories");
        pane.keys(&["Escape"]);
        pane.wait("F10Quit");
    }
    same(&bare, &wrapped, &["F10"], "1 0");
}
