//! How the program ended is told beside the socket, once it has ended and before the shim has.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use agtmux_shim::farewell::{self, Farewell};

use crate::common::{Wrapped, shim};

#[test]
fn a_note_says_how_it_ended() {
    let cases = [
        ("exit 0", Farewell::Exited(0)),
        ("exit 7", Farewell::Exited(7)),
        ("kill -KILL $$", Farewell::Killed(9)),
        ("kill -TERM $$", Farewell::Killed(15)),
    ];
    for (line, farewell) in cases {
        let mut wrapped = Wrapped::start(&format!("printf ready; read go; {line}"));
        wrapped.wait_screen("ready");
        let note = farewell::place(&wrapped.sockets(), wrapped.pid());
        assert!(!note.exists(), "it runs");
        wrapped.keys(b"\r");
        wrapped.end();
        assert_eq!(fs::metadata(&note).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(farewell::take(&note), Some(farewell), "{line}");
        assert_eq!(fs::read_dir(wrapped.sockets()).unwrap().count(), 0, "nothing is left");
    }
}

/// Where no note can be left, the program ends as it would.
#[test]
fn without_a_place_for_it_there_is_no_note() {
    let mut wrapped = Wrapped::start("printf ready; read go; exit 7");
    wrapped.wait_screen("ready");
    fs::rename(wrapped.sockets(), wrapped.dir.path().join("elsewhere")).unwrap();
    wrapped.keys(b"\r");
    assert_eq!(wrapped.end().code(), Some(7));
}

/// Nobody reads the notes of a shim that ended while no daemon ran. The next one sweeps them away, but none that is fresh.
#[test]
fn notes_that_nobody_reads_are_swept_away() {
    let mut wrapped = Wrapped::start("exit 0");
    wrapped.end();
    let dir = wrapped.sockets();
    let [stale, unfinished, fresh, foreign] =
        ["4194301.ended", "4194302.ended-new", "4194303.ended", "x.ended"].map(|name| dir.join(name));
    for note in [&stale, &unfinished, &fresh, &foreign] {
        let file = File::create(note).unwrap();
        if note != &fresh {
            file.set_modified(SystemTime::now() - Duration::from_secs(120)).unwrap();
        }
    }
    let mut next = Wrapped::start_as(&[shim().to_str().unwrap(), "true"], |command| {
        command.env("AGTMUX_SHIM_DIR", &dir);
    });
    next.end();
    assert!(!stale.exists() && !unfinished.exists());
    assert!(fresh.exists() && foreign.exists());
}
