//! Text never lands on anybody but whom it is for, whatever happens between the look and the act (I5).
//!
//! A pane is looked at, and at a random moment around the act something takes its place: the pane is respawned, the server ends and
//! another one counts from `%0` again, the program becomes another one, or it ends and a shell reads on. Every program
//! writes down what it reads, and every text says whom it is for. The usual way, to look and then to send, is tried in the same
//! races: it has to miss, or the races prove nothing.
//!
//! One thing no guard can help: what a program has in its terminal and does not read before it ends or becomes another, its
//! successor finds there. That was for whom it was typed at, when it was typed; it is counted apart.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agtmux_tmux::act::{Acted, Guard, guarded};
use agtmux_tmux::buffer::Buffer;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::{ClientError, Command, PaneId, Plain, Script};

use crate::support::{DEADLINE, Server, wait_until};

/// What takes the place of the program that the text is for.
#[derive(Clone, Copy, Debug)]
enum Usurper {
    /// `respawn-pane`.
    Respawned,
    /// Another server, which counts from `%0` again.
    Restarted,
    /// The same process, by `exec`.
    Exec,
    /// The shell that had started the program.
    Shell,
}

const USURPERS: [Usurper; 4] = [Usurper::Respawned, Usurper::Restarted, Usurper::Exec, Usurper::Shell];

/// A program that writes down what it reads, under its number. Told to, it becomes another program, or ends. One that takes over
/// a terminal sets apart what it finds there.
const READER: &str = r#"stty -echo -icanon min 0 time 0
cat > "$1/left/$2"
stty min 1
: > "$1/lives/$2"
while IFS= read -r line; do
  case $line in
    exec) exec "$1/usurper" "$1/reader.sh" "$1" $(($2 + 1)) ;;
    exit) exit ;;
    *) printf '%s\n' "$line" >> "$1/lives/$2" ;;
  esac
done
"#;

/// A shell with job control that runs the program, and reads on when it has ended.
const SHELL: &str = r#"set -m
"$1/reader" "$1/reader.sh" "$1" $2
exec "$1/usurper" "$1/reader.sh" "$1" $(($2 + 1))
"#;

/// How a text is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Compared and pasted inside tmux.
    Guarded,
    /// Looked at, and then sent.
    Naive,
}

/// What came of a number of races.
#[derive(Debug, Default)]
struct Tally {
    landed: usize,
    refused: usize,
    missed: usize,
    /// Left unread by whom it was for.
    left: usize,
}

struct Arena {
    server: Server,
    life: usize,
    pane: PaneId,
}

impl Arena {
    fn open() -> Self {
        let server = Server::start("exec sleep 100000");
        let dir = server.directory();
        fs::create_dir(dir.join("lives")).unwrap();
        fs::create_dir(dir.join("left")).unwrap();
        fs::write(dir.join("reader.sh"), READER).unwrap();
        fs::write(dir.join("shell.sh"), SHELL).unwrap();
        for name in ["reader", "usurper", "shell"] {
            symlink("/bin/sh", dir.join(name)).unwrap();
        }
        let mut arena = Self { server, life: 0, pane: PaneId(0) };
        let first = arena.next("reader", "reader.sh");
        arena.server.tmux(["respawn-pane", "-k", "-t", "%0", &first]);
        arena
    }

    fn dir(&self) -> &Path {
        self.server.directory()
    }

    /// The command line of the next program.
    fn next(&mut self, program: &str, script: &str) -> String {
        self.life += 1;
        let dir = self.dir().display();
        format!("exec '{dir}/{program}' '{dir}/{script}' '{dir}' {}", self.life)
    }

    /// Puts the program into the pane that the race is about, and waits until it reads.
    fn prepare(&mut self, usurper: Usurper) {
        let line = match usurper {
            Usurper::Shell => self.next("shell", "shell.sh"),
            _ => self.next("reader", "reader.sh"),
        };
        let pane = self.pane.to_string();
        self.server.tmux(["respawn-pane", "-k", "-t", &pane, &line]);
        self.wait_for_life();
        wait_until("the program is in the foreground", || {
            self.server.format(&pane, "#{pane_current_command}") == "reader"
        });
    }

    fn wait_for_life(&self) {
        let file = self.dir().join("lives").join(self.life.to_string());
        wait_until("the program reads", || file.exists());
    }

    /// Something takes the program's place.
    fn usurp(&mut self, usurper: Usurper) {
        let pane = self.pane.to_string();
        match usurper {
            Usurper::Respawned => {
                let line = self.next("reader", "reader.sh");
                self.server.tmux(["respawn-pane", "-k", "-t", &pane, &line]);
            }
            Usurper::Restarted => {
                let line = self.next("reader", "reader.sh");
                self.server.output(["kill-server"]);
                wait_until("another server runs", || {
                    self.server
                        .output(["new-session", "-d", "-s", "work", "-x", "80", "-y", "24", &line])
                        .status
                        .success()
                });
                self.server.pid = self.server.tmux(["display-message", "-p", "#{pid}"]).parse().unwrap();
            }
            Usurper::Exec | Usurper::Shell => {
                self.life += 1;
                let word = if matches!(usurper, Usurper::Exec) { "exec" } else { "exit" };
                self.server.tmux(["send-keys", "-t", &pane, word, "Enter"]);
            }
        }
        self.wait_for_life();
    }

    async fn race(&mut self, way: Way, usurper: Usurper, random: &mut Random) -> Result<(), String> {
        self.prepare(usurper);
        let text = format!("for {}\n", self.life);
        let client = Plain::new(Path::new("tmux"), &self.server.socket());
        let pane = self.pane;
        let guard = guard(&client, pane).await;
        // The act begins with two clients that look and load, so that the usurper may come later and still be in between.
        let (act_after, usurp_after) = (random.pause(), random.pause() * 4);
        let thought = random.pause() * 5;
        let act = tokio::spawn(async move {
            tokio::time::sleep(act_after).await;
            match way {
                Way::Guarded => paste(&client, &guard, &text).await,
                Way::Naive => look_and_send(&client, &guard, &text, thought).await,
            }
        });
        // The usurper blocks this thread; the act has others.
        tokio::time::sleep(usurp_after).await;
        tokio::task::block_in_place(|| self.usurp(usurper));
        act.await.unwrap()
    }

    /// Who read what was for somebody else: while it lived, or left over.
    fn misses(&self, when: &str) -> Vec<String> {
        let mut misses = Vec::new();
        for entry in fs::read_dir(self.dir().join(when)).unwrap() {
            let entry = entry.unwrap();
            let life = entry.file_name().into_string().unwrap();
            let read = fs::read_to_string(entry.path()).unwrap();
            let wrong = read.lines().filter(|line| line.contains("for ") && *line != format!("for {life}"));
            misses.extend(wrong.map(|line| format!("{life} read {line:?}")));
        }
        misses
    }
}

async fn guard(client: &Plain, pane: PaneId) -> Guard {
    let (identity, _) = list::identity(client, DEADLINE).await.unwrap();
    let row = list::pane(client, pane, Detail::Full, DEADLINE).await.unwrap().unwrap();
    Guard {
        server_pid: identity.pid,
        server_start: identity.start_time,
        pane,
        pane_pid: row.pane_pid,
        command: row.command,
        out_of_mode: true,
        quiet_since: None,
    }
}

async fn paste(client: &Plain, guard: &Guard, text: &str) -> Result<(), String> {
    let buffer = Buffer::of_this_process(0);
    let gone = |error: ClientError| match error {
        ClientError::Closed { reason } => format!("the server is gone: {reason}"),
        other => panic!("a refusal that explains nothing: {other}"),
    };
    buffer.load(client, text.as_bytes(), DEADLINE).await.map_err(gone)?;
    // Whose pane it is in the same breath as the paste. What runs there is the kernel's to change, between any two commands.
    let witness = Command::new("display-message").flag("-p").target(guard.pane).arg("#{pane_pid}");
    let script = Script::from(&buffer.paste(guard.pane, true)).then(&witness);
    match guarded(client, guard, &script, &buffer.clear(), DEADLINE).await.map_err(gone)? {
        Acted::Done(seen) => {
            assert_eq!(String::from_utf8(seen).unwrap(), format!("{}\n", guard.pane_pid));
            Ok(())
        }
        Acted::Refused(why) => Err(why.to_string()),
    }
}

/// The usual way: is it still there? Then, after a moment in which it is decided, send.
async fn look_and_send(client: &Plain, wanted: &Guard, text: &str, thought: Duration) -> Result<(), String> {
    let row = list::pane(client, wanted.pane, Detail::Full, DEADLINE).await.map_err(|error| error.to_string())?;
    let row = row.ok_or("no such pane")?;
    if (row.pane_pid, &row.command) != (wanted.pane_pid, &wanted.command) {
        return Err("it is another".to_owned());
    }
    tokio::time::sleep(thought).await;
    let socket = client.socket().display().to_string();
    let pane = wanted.pane.to_string();
    let sent = tokio::process::Command::new("tmux")
        .args([
            "-S",
            &socket,
            "send-keys",
            "-t",
            &pane,
            "-l",
            "--",
            text.trim_end(),
            ";",
            "send-keys",
            "-t",
            &pane,
            "Enter",
        ])
        .output();
    let sent = sent.await.map_err(|error| error.to_string())?;
    if sent.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&sent.stderr).into_owned()) }
}

/// Pauses around which the two meet.
struct Random(u64);

impl Random {
    fn pause(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(self.0 % 12_000)
    }
}

async fn races(way: Way, usurper: Usurper, count: usize) -> Tally {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let mut random = Random(u64::try_from(seed & 0xffff_ffff).unwrap() | 1);
    let mut arena = Arena::open();
    let mut tally = Tally::default();
    for _ in 0..count {
        match arena.race(way, usurper, &mut random).await {
            Ok(()) => tally.landed += 1,
            Err(why) => {
                assert!(!why.is_empty());
                tally.refused += 1;
            }
        }
    }
    // The last one may still be on its way through the terminal.
    arena.prepare(Usurper::Respawned);
    let misses = arena.misses("lives");
    assert!(way == Way::Naive || misses.is_empty(), "{usurper:?}: {misses:#?}");
    if way == Way::Guarded {
        assert_eq!(arena.server.tmux(["list-buffers"]), "");
    }
    (tally.missed, tally.left) = (misses.len(), arena.misses("left").len());
    tally
}

/// `AGTMUX_RACES` sets how many; shared among the usurpers.
fn count(usual: usize) -> usize {
    std::env::var("AGTMUX_RACES")
        .ok()
        .and_then(|count| count.parse().ok())
        .map_or(usual, |count: usize| count / USURPERS.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guarded_text_never_misses() {
    for usurper in USURPERS {
        let tally = races(Way::Guarded, usurper, count(25)).await;
        println!("{usurper:?}, guarded: {tally:?}");
        assert_eq!(tally.missed, 0, "{usurper:?}: {tally:?}");
    }
}

/// Otherwise the races would prove nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn looking_and_then_sending_misses() {
    let mut missed = 0;
    for usurper in USURPERS {
        let tally = races(Way::Naive, usurper, 15).await;
        println!("{usurper:?}, naive: {tally:?}");
        missed += tally.missed;
    }
    assert!(missed > 0, "not one of 60 missed");
}
