//! Windows that are opened for programs: exact, in the background, and gone only when somebody may have looked.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use agtmux_tmux::act::{Acted, Mismatch};
use agtmux_tmux::open::{self, Program, Room, is_plain_name};
use agtmux_tmux::{Plain, server};

use crate::support::{DEADLINE, Server, wait_until};

fn plain(server: &Server, directory: &Path) -> Plain {
    Plain::new(Path::new("tmux"), &server.socket()).at(directory)
}

/// A program that writes its arguments, directory and one variable to a file, and stays.
fn teller(file: &Path, arguments: &[&[u8]], value: &[u8]) -> Program {
    let script = "f=$1; shift; { printf '%s\\0' \"$@\"; printf '%s\\0' \"$PWD\" \"$CANARY\"; } >\"$f.new\"; mv \"$f.new\" \"$f\"; exec sleep 1000";
    let mut argv: Vec<Vec<u8>> = ["sh", "-c", script, "sh"].iter().map(|word| word.as_bytes().to_vec()).collect();
    argv.push(file.as_os_str().as_bytes().to_vec());
    argv.extend(arguments.iter().map(|word| word.to_vec()));
    Program { argv, variables: vec![("CANARY".to_owned(), value.to_vec())] }
}

fn told(file: &Path) -> Vec<Vec<u8>> {
    wait_until("the program to tell", || file.exists());
    let bytes = std::fs::read(file).unwrap();
    bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

#[tokio::test]
async fn arguments_directory_and_variables_arrive_as_they_are() {
    let server = Server::start("exec sleep 1000");
    let canary = server.directory().join("canary");
    let hostile =
        format!("#(touch {c}) $(touch {c}) `touch {c}` ; touch {c} ' \" \\ #{{pane_id}} ~ \n %1", c = canary.display());
    let folder = hostile.replace('/', "_");
    let directory = server.directory().join(&folder);
    std::fs::create_dir(&directory).unwrap();
    let client = plain(&server, &directory);
    for (n, room) in [Room::Session(server.format("%0", "#{session_id}").parse().unwrap()), Room::NewSession("fresh")]
        .into_iter()
        .enumerate()
    {
        let opened = open::open(&client, room, "agent", DEADLINE).await.unwrap();
        let file = server.directory().join(format!("told{n}"));
        let arguments: [&[u8]; 4] = [hostile.as_bytes(), b"", b"-x;", b"\xff\x1b["];
        let acted = open::launch(&client, &opened, &teller(&file, &arguments, hostile.as_bytes()), DEADLINE).await;
        assert_eq!(acted.unwrap(), Acted::Done(Vec::new()));
        let told = told(&file);
        let [a, b, c, d, cwd, value, rest] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!([a.as_slice(), b, c, d], arguments);
        assert_eq!(String::from_utf8_lossy(cwd), directory.to_string_lossy());
        assert_eq!(String::from_utf8_lossy(value), hostile);
        assert!(rest.is_empty());
        // The variable is the program's alone.
        let session = opened.session.to_string();
        assert!(!server.tmux(["show-environment", "-t", &session]).contains("CANARY"));
    }
    assert!(!canary.exists());
}

#[tokio::test]
async fn nobody_is_taken_anywhere() {
    let server = Server::start("exec sleep 1000");
    let look =
        || server.tmux(["list-windows", "-t", "work", "-F", "#{window_id} #{window_active} #{window_last_flag}"]);
    let before = look();
    let client = plain(&server, server.directory());
    let session = server.format("%0", "#{session_id}").parse().unwrap();
    open::open(&client, Room::Session(session), "agent", DEADLINE).await.unwrap();
    let after = look();
    assert_eq!(after.lines().next(), before.lines().next());
    assert_eq!(after.lines().count(), 2);
    assert!(after.lines().nth(1).unwrap().ends_with(" 0 0"), "{after}");
}

#[tokio::test]
async fn a_program_that_fails_at_once_can_be_looked_at() {
    let server = Server::start("exec sleep 1000");
    let client = plain(&server, server.directory());
    let opened = open::open(&client, Room::NewSession("fresh"), "agent", DEADLINE).await.unwrap();
    // A program that ends the moment it wrote can take its last words with it; the pane's terminal is gone by then.
    let argv = ["sh", "-c", "echo it broke; sleep 0.2; exit 3"].map(|word| word.as_bytes().to_vec()).to_vec();
    open::launch(&client, &opened, &Program { argv, variables: Vec::new() }, DEADLINE).await.unwrap();
    let pane = opened.pane.to_string();
    wait_until("the program to end", || server.format(&pane, "#{pane_dead}") == "1");
    wait_until("its words", || server.tmux(["capture-pane", "-p", "-S", "-", "-t", &pane]).contains("it broke"));
    open::let_go(&client, opened.pane, DEADLINE).await.unwrap();
    assert_eq!(server.tmux(["show-options", "-p", "-t", &pane]), "");
}

#[tokio::test]
async fn a_placeholder_that_somebody_replaced_is_left_alone() {
    let server = Server::start("exec sleep 1000");
    let client = plain(&server, server.directory());
    let opened = open::open(&client, Room::NewSession("fresh"), "agent", DEADLINE).await.unwrap();
    server.tmux(["respawn-pane", "-k", "-t", &opened.pane.to_string(), "exec sleep 1000"]);
    let file = server.directory().join("told");
    let acted = open::launch(&client, &opened, &teller(&file, &[], b""), DEADLINE).await.unwrap();
    assert!(matches!(acted, Acted::Refused(Mismatch::Respawned { .. })), "{acted:?}");
    assert!(!file.exists());
}

#[tokio::test]
async fn a_server_is_started_where_there_is_none() {
    let directory = tempfile::Builder::new().prefix("agtmux-tmux-").tempdir().unwrap();
    let socket = directory.path().join("s");
    let client = Plain::new(Path::new("tmux"), &socket).at(directory.path());
    let opened = open::start_server(&client, "agents", "claude", ["HOME"], DEADLINE).await.unwrap();
    assert_eq!(opened.session_name, "agents");
    let sessions = open::sessions(&client, DEADLINE).await.unwrap();
    assert_eq!(sessions, [(opened.session, "agents".to_owned())]);
    let file = directory.path().join("told");
    open::launch(&client, &opened, &teller(&file, &[], b"v"), DEADLINE).await.unwrap();
    assert_eq!(told(&file)[2], b"v");
    let tmux = |arguments: &[&str]| {
        let output = std::process::Command::new("tmux").arg("-S").arg(&socket).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(!tmux(&["show-environment", "-g"]).lines().any(|line| line.starts_with("HOME=")));
    tmux(&["kill-server"]);
    wait_until("the server to be gone", || !server::is_alive(&socket));
}

#[test]
fn names_that_mean_something_to_tmux_are_not_plain() {
    for good in ["api", "a-b_c", "Grüße", "_x", "9"] {
        assert!(is_plain_name(good), "{good}");
    }
    for bad in [
        "",
        "-x",
        "a.b",
        "a:b",
        "#S",
        "#(x)",
        "=a",
        "$1",
        "@1",
        "%1",
        "a b",
        "a\nb",
        "{last}",
        "+",
        "!",
        &"x".repeat(64),
    ] {
        assert!(!is_plain_name(bad), "{bad}");
    }
}
