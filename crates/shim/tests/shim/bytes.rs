//! Bytes pass as they are, and the end is the end of the program.

use std::os::unix::process::ExitStatusExt;

use crate::common::{Wrapped, shim, wait_for};

#[test]
fn every_byte_passes_both_ways() {
    let mut wrapped = Wrapped::start("stty raw -echo; printf ready; exec tee $LOG");
    wrapped.wait_screen("ready");
    let all: Vec<u8> = (0..=255).collect();
    let mut sent = Vec::new();
    for size in [1, 3, 100, 3_000] {
        let piece: Vec<u8> = all.iter().copied().cycle().skip(size).take(size).collect();
        wrapped.keys(&piece);
        sent.extend(piece);
    }
    assert!(wrapped.wait_log(sent.len()) == sent);
    let shown = wait_for("the echo", || {
        let screen = wrapped.screen();
        if screen.len() >= sent.len() + 5 { Ok(screen) } else { Err(screen.len()) }
    });
    assert!(shown[5..] == sent);
}

/// A program that writes much and ends at once is seen to its last byte.
#[test]
fn the_last_words_are_shown() {
    for _ in 0..5 {
        let mut wrapped = Wrapped::start("stty -opost; seq 1 100000; printf 'the end'");
        wrapped.end();
        wrapped.wait_screen("100000\nthe end");
        let lines = wrapped.screen().iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines, 100_000);
    }
}

#[test]
fn the_status_is_that_of_the_program() {
    for (line, code) in [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("exec /no/such/program", 127)] {
        let mut wrapped = Wrapped::start(line);
        assert_eq!(wrapped.end().code(), Some(code), "{line}");
    }
    let shim = shim();
    let mut missing = Wrapped::start_as(&[shim.to_str().unwrap(), "/no/such/program"], |_| {});
    assert_eq!(missing.end().code(), Some(127));
    for signal in ["KILL", "TERM", "SEGV", "HUP", "INT", "USR1", "PIPE"] {
        // `setsid` gives 128 and the number, as a shell does.
        let mut wrapped = Wrapped::start(&format!("kill -{signal} $$"));
        let mut bare = Wrapped::start_as(&["sh", "-c", &format!("kill -{signal} $$")], |_| {});
        let (status, expected) = (wrapped.end(), bare.end());
        assert_eq!((status.code(), status.signal()), (expected.code(), expected.signal()), "{signal}");
    }
}

/// The pane's terminal is as it was, however it ended, and the program began with the same settings.
#[test]
fn the_terminal_is_given_back() {
    for line in ["exit 1", "stty raw; kill -9 $$", "kill -TERM $$", "stty -echo; exec /no/such/program"] {
        let mut wrapped = Wrapped::start(&format!("stty -a >$LOG; {line}"));
        wrapped.end();
        let before = wrapped.settings_found();
        let after = wrapped.settings();
        assert_eq!(
            (before.input_modes, before.output_modes, before.local_modes),
            (after.input_modes, after.output_modes, after.local_modes),
            "{line}"
        );
        let inside = String::from_utf8(wrapped.log()).unwrap();
        assert!(inside.contains("rows 24; columns 80") && inside.contains(" icanon ") && inside.contains(" echo "));
    }
}

/// Whatever the shim cannot get, the command runs, and on a terminal as it was found: the pane's own if there is no other.
#[test]
fn what_cannot_be_wrapped_runs_alone() {
    let shim = shim();
    let (mut alone, mut wrapped) = (0, 0);
    // One more file may be open each time, so that the start fails at every step of it once.
    for files in 4..40 {
        let inside = "ulimit -S -n 99; { stty -a; tty; } >$LOG";
        let line = format!("ulimit -S -n {files}; exec {} sh -c '{inside}'", shim.display());
        let mut pane = Wrapped::start_as(&["sh", "-c", &line], |_| {});
        assert!(pane.end().success(), "{files} files");
        let (before, after) = (pane.settings_found(), pane.settings());
        assert_eq!((before.input_modes, before.local_modes), (after.input_modes, after.local_modes), "{files} files");
        let log = String::from_utf8(pane.log()).unwrap();
        assert!(log.contains(" icanon ") && log.contains(" echo "), "{files} files: {log}");
        *(if log.ends_with(&format!("{}\n", pane.tty())) { &mut alone } else { &mut wrapped }) += 1;
    }
    assert!(alone > 10 && wrapped > 10, "{alone} alone, {wrapped} not");
}

#[test]
fn a_change_of_size_is_told() {
    let wrapped = Wrapped::start("trap 'stty size' WINCH; echo ready; while [ -d \"${LOG%/*}\" ]; do sleep 0.01; done");
    wrapped.wait_screen("ready");
    wrapped.resize(50, 132);
    wrapped.wait_screen("50 132");
}

/// A signal for the shim is one for the program.
#[test]
fn signals_are_handed_on() {
    let line = "for s in HUP INT QUIT TERM USR1 USR2; do trap \"echo got $s\" $s; done; echo ready; while [ -d \"${LOG%/*}\" ]; do sleep 0.01; done";
    let wrapped = Wrapped::start(line);
    wrapped.wait_screen("ready");
    let pid = rustix::process::Pid::from_raw(i32::try_from(wrapped.pid()).unwrap()).unwrap();
    for (signal, name) in [
        (rustix::process::Signal::HUP, "HUP"),
        (rustix::process::Signal::INT, "INT"),
        (rustix::process::Signal::QUIT, "QUIT"),
        (rustix::process::Signal::TERM, "TERM"),
        (rustix::process::Signal::USR1, "USR1"),
        (rustix::process::Signal::USR2, "USR2"),
    ] {
        rustix::process::kill_process(pid, signal).unwrap();
        wrapped.wait_screen(&format!("got {name}"));
    }
}

/// `nohup` stays in force behind the shim.
#[test]
fn an_ignored_signal_stays_ignored() {
    let shim = shim();
    let inner = format!("trap '' HUP; exec {} sh -c 'grep SigIgn /proc/self/status >$LOG'", shim.display());
    let mut wrapped = Wrapped::start_as(&["sh", "-c", &inner], |_| {});
    wrapped.end();
    let mask = String::from_utf8(wrapped.log()).unwrap();
    let mask = u64::from_str_radix(mask.trim_start_matches("SigIgn:").trim(), 16).unwrap();
    assert_eq!(mask & 1, 1, "{mask:x}");
}

/// In a pipe there is no terminal to stand in, and the command simply runs.
#[test]
fn without_a_terminal_the_command_runs_alone() {
    let output = std::process::Command::new("sh")
        .args(["-c", "printf 'a\\0b' | \"$0\" sh -c 'cat; exit 4'; echo status $?"])
        .arg(shim())
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"a\0bstatus 4\n");
}

/// A pane that is closed takes the program with it, as it would without the shim.
#[test]
fn a_closed_pane_is_a_hangup() {
    let mut wrapped =
        Wrapped::start("trap 'echo hup >>$LOG; exit' HUP; echo ready; while [ -d \"${LOG%/*}\" ]; do sleep 0.01; done");
    wrapped.wait_screen("ready");
    wrapped.close();
    wait_for("the hangup", || if wrapped.log().is_empty() { Err("nothing") } else { Ok(()) });
    wrapped.end();
}
