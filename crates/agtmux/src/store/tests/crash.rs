//! The death of the daemon at any moment loses nothing that was acknowledged (I1, I14).

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;

const DIR: &str = "AGTMUX_TEST_CRASH_DIR";
const BATCHES: &str = "AGTMUX_TEST_CRASH_BATCHES";

/// Not a test of its own: the process that the tests below kill. It appends, and prints the first and the last `seq`
/// of every batch after it was acknowledged.
#[tokio::test]
#[ignore = "a child process of another test"]
async fn child() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let opened = open_default(Path::new(&dir));
    let batches = std::env::var(BATCHES).map_or(u32::MAX, |batches| batches.parse().unwrap());
    let mut seq = opened.recovered.next_seq;
    for _ in 0..batches {
        let last = seq + seq % 5;
        let events = (seq..=last).map(|seq| signal(seq, Some("busy"), Some("payload"))).collect();
        opened.writer.append(Batch { events, projection: rows(), ..Batch::default() }).await.unwrap();
        println!("acknowledged {seq} {last}");
        std::io::stdout().flush().unwrap();
        if seq.is_multiple_of(7) {
            opened.writer.snapshot(last, engine_state());
        }
        seq = last + 1;
    }
    opened.writer.close().await.unwrap();
}

/// Adds to a command what makes this test binary run [`child`].
fn as_child(command: &mut Command, dir: &Path) {
    let test = module_path!().split_once("::").unwrap().1.to_owned() + "::child";
    command
        .args([test.as_str(), "--exact", "--ignored", "--nocapture"])
        .env(DIR, dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
}

/// The batches in what a child printed.
fn acknowledged(lines: &str) -> Vec<u64> {
    let batches = lines.lines().filter_map(|line| {
        let (_, range) = line.split_once("acknowledged ")?;
        let (first, last) = range.split_once(' ')?;
        Some(first.parse::<u64>().ok()?..=last.parse::<u64>().ok()?)
    });
    batches.flatten().collect()
}

/// Everything acknowledged is there, what is there comes in whole batches, and the files are sound.
async fn check(dir: &Path, acknowledged: &[u64], context: &str) {
    let opened = open_default(dir);
    let logged = opened.reader.events_after(0, usize::MAX, &EventFilter::default()).unwrap();
    let logged: Vec<u64> = logged.iter().map(|event| event.seq).collect();
    let lost: Vec<_> = acknowledged.iter().filter(|seq| logged.binary_search(seq).is_err()).collect();
    assert!(lost.is_empty(), "{context}: lost {lost:?}");
    assert!(opened.recovered.next_seq > logged.last().copied().unwrap_or(0), "{context}");
    assert_eq!(opened.recovered.notes, Vec::<String>::new(), "{context}");
    drop(opened.reader);
    opened.writer.close().await.unwrap();
    assert_eq!(integrity(dir), "ok", "{context}");
}

#[tokio::test]
async fn killed_writers_lose_nothing() {
    let dir = state_dir();
    let mut everything = Vec::new();
    for round in 0..20_u64 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        as_child(&mut command, dir.path());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut printed = String::new();
        // Killed after a number of batches and a little more, so that the moment falls anywhere within a commit.
        let batches = 1 + round * 7 % 40;
        let mut seen = 0;
        while seen < batches && output.read_line(&mut printed).unwrap() > 0 {
            seen = acknowledged(&printed).len() as u64;
        }
        let until = Instant::now() + Duration::from_micros(round * 137 % 1_500);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        output.read_to_string(&mut printed).unwrap();

        everything.extend(acknowledged(&printed));
        assert!(seen > 0, "round {round}: the child wrote nothing");
        check(dir.path(), &everything, &format!("round {round}")).await;
    }
    println!("{} events acknowledged over 20 kills, none lost", everything.len());
}

/// Kills the child on entry to its nth write-class system call, beginning with an empty directory, so that the sweep
/// passes through the creation of the schema, the takeover, the first commits and the folding of the log.
#[tokio::test]
async fn a_kill_at_every_write_of_a_first_life_loses_nothing() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: strace is not installed");
        return;
    }
    let mut points = 0;
    for call in ["pwrite64", "fsync", "fdatasync", "ftruncate"] {
        for nth in 1.. {
            let dir = state_dir();
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}")]);
            command.args(["-e", &format!("inject={call}:signal=SIGKILL:when={nth}")]);
            command.arg(std::env::current_exe().unwrap()).env(BATCHES, "3");
            as_child(&mut command, dir.path());
            let output = command.output().unwrap();
            let printed = String::from_utf8_lossy(&output.stdout);
            check(dir.path(), &acknowledged(&printed), &format!("{call} {nth}")).await;
            if output.status.success() {
                break;
            }
            points += 1;
        }
    }
    assert!(points > 0, "no kill point was reached");
    println!("{points} kill points");
}
