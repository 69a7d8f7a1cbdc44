//! The hook queue tells everything once, beside the user's hooks, and vanishes.

use std::collections::BTreeMap;
use std::time::Duration;

use agtmux_tmux::hook_queue::{HookEvent, HookKind, HookQueue, HookReader, Verified};
use agtmux_tmux::list::Detail;
use agtmux_tmux::{PaneId, SessionId, WindowId};
use tokio::time::timeout;

use crate::support::{DEADLINE, Server};

/// Reads until as many events of a kind have come.
pub(crate) async fn collect(reader: &mut HookReader, kind: HookKind, count: usize) -> Vec<HookEvent> {
    let mut events: Vec<HookEvent> = Vec::new();
    while events.iter().filter(|event| event.kind == kind).count() < count {
        let batch = timeout(DEADLINE, reader.next_batch()).await;
        let batch = batch.unwrap_or_else(|_| panic!("{} of {count} {kind:?}", events.len())).unwrap();
        assert!(!batch.missed);
        events.extend(batch.events);
    }
    events
}

/// All that our hooks could change in a server.
pub(crate) fn traces(server: &Server) -> [String; 4] {
    [
        server.tmux(["show-hooks", "-g"]),
        server.tmux(["show-hooks", "-gw"]),
        server.tmux(["show-environment", "-g"]),
        server.tmux(["show-environment", "-gh"]),
    ]
}

#[tokio::test]
async fn each_hook_tells_the_ids_it_knows() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let (_queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();
    let (pane, window, work) = (Some(PaneId(0)), Some(WindowId(0)), Some(SessionId(0)));

    server.tmux(["select-pane", "-t", "%0", "-T", "a|b ti %9 @9 $9|=|"]);
    let events = collect(&mut reader, HookKind::TitleChanged, 1).await;
    assert_eq!(events, [HookEvent { kind: HookKind::TitleChanged, pane, window, session: work }]);

    server.tmux(["split-window", "-d", "-t", "%0", "sleep 0.01; printf '\\a'; exec sleep 1000"]);
    let new_pane = server.tmux(["list-panes", "-t", "%0", "-F", "#{pane_id}"]).lines().last().unwrap().to_owned();
    let new_pane: PaneId = new_pane.parse().unwrap();
    let events = collect(&mut reader, HookKind::Bell, 1).await;
    let split = HookEvent { kind: HookKind::Split, pane: Some(new_pane), window, session: work };
    let layout = HookEvent { kind: HookKind::LayoutChanged, pane: None, window, session: None };
    let bell = HookEvent { kind: HookKind::Bell, pane: None, window, session: work };
    assert_eq!(events, [split, layout, bell]);

    let split = |command: &str| -> PaneId {
        let pane = server.tmux(["split-window", "-d", "-P", "-F", "#{pane_id}", "-t", "%0", command]);
        pane.parse().unwrap()
    };
    let exited = split("exit 3");
    let events = collect(&mut reader, HookKind::PaneExited, 1).await;
    let event = HookEvent { kind: HookKind::PaneExited, pane: Some(exited), window: None, session: None };
    assert!(events.contains(&event), "{events:?}");

    // tmux 3.3a forgets about one in seventy of these hooks, seen without any of ours: it is asked to tell of several.
    server.tmux(["set-option", "-g", "remain-on-exit", "on"]);
    let died: Vec<PaneId> = (0..4)
        .map(|_| server.tmux(["new-window", "-d", "-t", "=work:", "-P", "-F", "#{pane_id}", "exit 3"]).parse().unwrap())
        .collect();
    let events = collect(&mut reader, HookKind::PaneDied, 1).await;
    let told = events.iter().find(|event| event.kind == HookKind::PaneDied).unwrap();
    assert!(died.contains(&told.pane.unwrap()) && told.session == work, "{events:?}");
}

#[tokio::test]
async fn no_event_is_lost_in_bursts_from_many_sides() {
    let server = Server::start("read x; for i in $(seq 500); do printf '\\a'; done; exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let (_queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();
    let socket = server.socket();
    // One tmux command per title, from four sides at once, while a pane rings 500 bells.
    let titles = std::thread::spawn(move || {
        let burst = |side: u32| {
            let select = format!("tmux -S '{}' select-pane -t %0 -T \"{side} $i\"", socket.display());
            std::process::Command::new("sh")
                .args(["-c", &format!("for i in $(seq 25); do {select}; done")])
                .spawn()
                .unwrap()
        };
        for mut process in (0..4).map(burst).collect::<Vec<_>>() {
            process.wait().unwrap();
        }
        // And four hundred in one command list, in which nobody can read in between.
        let list = (0..400).map(|number| format!("select-pane -t %0 -T list{number}")).collect::<Vec<_>>().join(" ; ");
        std::process::Command::new("tmux")
            .arg("-S")
            .arg(&socket)
            .args(["if-shell", "-F", "1", &list])
            .status()
            .unwrap();
    });
    server.tmux(["send-keys", "-t", "%0", "Enter"]);
    let mut counts: BTreeMap<HookKind, usize> = BTreeMap::new();
    while counts.get(&HookKind::TitleChanged) < Some(&500) || counts.get(&HookKind::Bell) < Some(&1) {
        let batch = timeout(DEADLINE, reader.next_batch()).await;
        let batch = batch.unwrap_or_else(|_| panic!("events are missing: {counts:?}")).unwrap();
        assert!(!batch.missed);
        for event in batch.events {
            *counts.entry(event.kind).or_default() += 1;
        }
    }
    titles.join().unwrap();
    assert_eq!(counts[&HookKind::TitleChanged], 500);
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let (_queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();
    for number in 0..50 {
        // Cancelled before, while and after the event happens.
        drop(timeout(Duration::from_micros(number * 40), reader.next_batch()).await);
        server.tmux(["select-pane", "-t", "%0", "-T", &number.to_string()]);
        collect(&mut reader, HookKind::TitleChanged, 1).await;
    }
}

#[tokio::test]
async fn an_overflow_and_a_removed_variable_are_told() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let (_queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();
    let list = (0..1500).map(|number| format!("select-pane -t %0 -T t{number}")).collect::<Vec<_>>().join("\n");
    let file = server.directory().join("titles");
    std::fs::write(&file, list).unwrap();
    server.tmux(["source-file".as_ref(), file.as_os_str()]);
    let mut events = 0;
    loop {
        let batch = timeout(DEADLINE, reader.next_batch()).await.unwrap().unwrap();
        events += batch.events.len();
        if batch.missed {
            break;
        }
    }
    assert!((500..1500).contains(&events), "{events}");

    server.tmux(["set-environment", "-gu", "AGTMUX_Q"]);
    server.tmux(["wait-for", "-S", "_agtmux"]);
    loop {
        if timeout(DEADLINE, reader.next_batch()).await.unwrap().unwrap().missed {
            break;
        }
    }
    server.tmux(["select-pane", "-t", "%0", "-T", "again"]);
    collect(&mut reader, HookKind::TitleChanged, 1).await;
}

#[tokio::test]
async fn reloaded_hooks_are_put_back_and_removed_ones_leave_no_trace() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["set-hook", "-g", "pane-title-changed", "run-shell -b 'true #{pane_id}'"]);
    server.tmux(["set-hook", "-g", "alert-bell[90]", "run-shell -b 'true mine'"]);
    let before = traces(&server);
    let (session, _notifications) = server.open().await;
    let (queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();
    assert_eq!(queue.verify_and_list(Detail::Light, DEADLINE).await.unwrap().0, Verified::Intact);
    // Index 90 is the user's, so ours are elsewhere, and theirs is as it was.
    assert!(server.tmux(["show-hooks", "-g"]).contains("alert-bell[90] run-shell -b \"true mine\""));

    server.tmux(["set-hook", "-g", "pane-title-changed", "run-shell -b 'true #{pane_id}'"]);
    assert_eq!(queue.verify_and_list(Detail::Light, DEADLINE).await.unwrap().0, Verified::Reinstalled);
    assert_eq!(queue.verify_and_list(Detail::Light, DEADLINE).await.unwrap().0, Verified::Intact);
    server.tmux(["select-pane", "-t", "%0", "-T", "again"]);
    collect(&mut reader, HookKind::TitleChanged, 1).await;

    queue.remove(DEADLINE).await.unwrap();
    session.close(DEADLINE).await;
    assert_eq!(traces(&server), before);
}
