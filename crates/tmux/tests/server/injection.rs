//! Whatever others choose for names, titles, paths and texts: none of our commands runs any of it (T2).
//!
//! The texts are brought in where they come from in life: a program sets its title and the name of its window, works in a
//! directory that somebody named, and has a name itself; a person writes a message. Then every command that we build is
//! run over all of them, and a file that each of them tries to make must not be there.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_tmux::act::{Acted, Guard, Mismatch, guarded};
use agtmux_tmux::buffer::Buffer;
use agtmux_tmux::capture::capture_all;
use agtmux_tmux::command::{Command, Script, escape_format};
use agtmux_tmux::hook_queue::HookQueue;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::pipe::{Freed, PipeReceiver};
use agtmux_tmux::{PaneId, Plain};

use crate::corpus::{corpus, some_of};
use crate::support::{DEADLINE, Server, example, wait_until};

/// A directory that a program could be started in; what no name of a file can hold is left out.
fn directory(root: &Path, number: usize, text: &[u8]) -> PathBuf {
    let name: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'/' | 0)).take(200).collect();
    let path = root.join(number.to_string()).join(std::ffi::OsStr::from_bytes(&[b"d".as_slice(), &name].concat()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// A pane whose program sets its title, the name of its window and its directory to a text.
fn hostile_pane(server: &Server, number: usize, text: &[u8]) -> PaneId {
    let root = server.directory().join("places");
    directory(&root, number, text);
    let place = root.join(number.to_string());
    // What ends a sequence early would only make the text shorter.
    let plain: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, 0x07 | 0x1b)).collect();
    let sequences = [b"\x1b]2;", plain.as_slice(), b"\x07\x1bk", &plain, b"\x1b\\ready"].concat();
    std::fs::write(place.join("says"), sequences).unwrap();
    // The text does not stand on this command line: tmux itself would take a `;` at its end for a separator.
    let script = "cd \"$1\"/d* && cat ../says && exec sleep 1000";
    let place = place.display().to_string();
    let output = server.output(["new-window", "-d", "-P", "-F", "#{pane_id}", "sh", "-c", script, "sh", &place]);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim_end().parse().unwrap()
}

#[tokio::test]
async fn nothing_that_others_chose_runs() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["set-option", "-g", "allow-rename", "on"]);
    let canary = server.directory().join("canary");
    let all = corpus(&canary.display().to_string());
    assert!(all.len() >= 200, "{}", all.len());
    let texts = some_of(all.clone());
    let plain = Plain::new("tmux".as_ref(), &server.socket());
    let (session, _notifications) = server.open().await;
    let client = session.control();
    let (queue, mut reader) = HookQueue::install(&session, DEADLINE).await.unwrap();

    let panes: Vec<_> = texts.iter().enumerate().map(|(number, text)| hostile_pane(&server, number, text)).collect();
    wait_until("every program has set its names", || {
        let shown = server.tmux(["list-panes", "-a", "-F", "#{pane_current_command}"]);
        shown.lines().filter(|command| *command == "sleep").count() > panes.len()
    });

    // Lists, one pane, captures.
    let rows = list::panes(&plain, Detail::Full, DEADLINE).await.unwrap();
    assert!(panes.iter().all(|pane| rows.iter().any(|row| row.pane_id == *pane)));
    assert!(rows.iter().filter(|row| row.title.contains("touch")).count() > 20);
    let (identity, _) = list::identity(&plain, DEADLINE).await.unwrap();
    for some in panes.chunks(50) {
        assert_eq!(capture_all(&plain, some, DEADLINE).await.unwrap().len(), some.len());
    }

    // Guards that compare the name of a program, for every text of the corpus, and the report of a mismatch.
    let row = rows.iter().find(|row| row.pane_id == panes[0]).unwrap();
    let guard = |command: Option<String>| Guard {
        server_pid: identity.pid,
        server_start: identity.start_time,
        pane: row.pane_id,
        pane_pid: row.pane_pid,
        command,
        out_of_mode: false,
        quiet_since: None,
    };
    let act = Script::from(&Command::new("display-message").flag("-p").arg("acted"));
    for text in &all {
        let name = String::from_utf8_lossy(text).into_owned();
        let acted = guarded(client, &guard(Some(name.clone())), &act, &Script::new(), DEADLINE).await.unwrap();
        // A pattern of question marks alone may match; anything else must not.
        let matches_sleep = name.chars().count() == 5 && !name.chars().any(char::is_alphanumeric);
        assert!(matches_sleep || matches!(acted, Acted::Refused(Mismatch::Command { .. })), "{name:?}: {acted:?}");
    }

    // Texts that are pasted, and arguments and formats with texts in them.
    let buffer = Buffer::of_this_process(0);
    for text in texts.iter().filter(|text| !text.is_empty()) {
        buffer.load(&plain, text, DEADLINE).await.unwrap();
        let paste = Script::from(&buffer.paste(row.pane_id, true));
        let acted = guarded(client, &guard(None), &paste, &buffer.clear(), DEADLINE).await.unwrap();
        assert!(matches!(acted, Acted::Done(_)), "{acted:?}");
    }
    for text in all.iter().filter_map(|text| std::str::from_utf8(text).ok()) {
        let show = Command::new("display-message").flag("-p").arg(escape_format(text).replace('%', "%%"));
        client.run(&show, DEADLINE).await.unwrap();
    }

    // Pipes, with the text in the path that the shell and the format get to see. One that is no text is refused.
    let mut piped = 0;
    for (number, text) in texts.iter().step_by(4).enumerate() {
        let place = directory(&server.directory().join("p"), number, &text[..text.len().min(40)]);
        let Ok(receiver) = PipeReceiver::bind(&place.join("s"), Freed::ByTmux) else {
            continue;
        };
        let helper = [example("observe").into(), "--pass".into()];
        if receiver.arm(&plain, row.pane_id, row.pane_pid, &helper, DEADLINE).await.is_ok() {
            tokio::time::timeout(DEADLINE, receiver.receive()).await.unwrap().unwrap();
            server.tmux(["pipe-pane", "-t", &row.pane_id.to_string()]);
            piped += 1;
        }
    }
    assert!(piped >= 5, "{piped}");

    // What the hooks told of all this, and their removal.
    tokio::time::timeout(DEADLINE, reader.next_batch()).await.unwrap().unwrap();
    queue.remove(DEADLINE).await.unwrap();
    assert_eq!(list::panes(&plain, Detail::Full, DEADLINE).await.unwrap().len(), rows.len());

    // Jobs of formats run beside the server, and end with the client that asked, so that this one may need several: whatever
    // ran before had more time than the one that is seen.
    let control = server.directory().join("control");
    wait_until("the test can see a command that runs", || {
        server.tmux(["display-message", "-p", &format!("#(touch '{}')", control.display())]);
        control.exists()
    });
    std::thread::sleep(Duration::from_millis(100));
    assert!(!canary.exists(), "something hostile ran");
}
