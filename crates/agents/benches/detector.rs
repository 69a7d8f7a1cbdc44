//! How fast pane streams are read, against two baselines on the same bytes in the same run: `memchr`, which only finds
//! each ESC, and the `vte` parser, which reads every byte and does nothing with it.
//!
//! `./bench` runs it; `--write` puts the table into `docs/performance.md`, `--quick` measures for a shorter time.

#![allow(clippy::disallowed_methods, reason = "a program that measures reads a clock and files")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agtmux_agents::SignalDetector;

const BEGIN: &str = "<!-- detector: begin (./bench --write) -->";
const END: &str = "<!-- detector: end -->";
const GOAL: f64 = 5.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let asked_to = |flag: &str| std::env::args().any(|argument| argument == flag);
    let rounds = if asked_to("--quick") { 5 } else { 31 };
    let mut table = String::from(
        "| stream | detector | `memchr` for each ESC | `vte`, doing nothing | goal | met? |\n|---|---|---|---|---|---|\n",
    );
    for stream in streams()? {
        let row = measure(&stream, rounds);
        say(&row);
        table.push_str(&row);
        table.push('\n');
    }
    if asked_to("--write") {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md");
        let text = fs::read_to_string(&document)?;
        let before = text.find(BEGIN).ok_or("no marker where the table begins")? + BEGIN.len();
        let after = text.find(END).ok_or("no marker where the table ends")?;
        fs::write(&document, format!("{}\n{table}{}", &text[..before], &text[after..]))?;
    }
    Ok(())
}

struct Stream {
    name: &'static str,
    bytes: Vec<u8>,
    /// How many bytes a reader gets at once.
    piece: usize,
}

/// The recordings of all agents as they came from tmux, and the text on their screens.
fn streams() -> Result<Vec<Stream>, Box<dyn std::error::Error>> {
    let recorded = concatenated("raw.bin")?;
    let text = concatenated("screen.txt")?;
    Ok(vec![
        Stream { name: "agents as recorded, 64 KiB at once", bytes: recorded.clone(), piece: 64 << 10 },
        Stream { name: "agents as recorded, 4 KiB at once", bytes: recorded, piece: 4 << 10 },
        Stream { name: "plain text, 64 KiB at once", bytes: text, piece: 64 << 10 },
    ])
}

/// All files of that name among the recordings, without the note where a long one was cut.
fn concatenated(name: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings");
    let mut all = Vec::new();
    for agent in directories(&recordings)? {
        for state in directories(&agent)? {
            let bytes = fs::read(state.join(name)).unwrap_or_default();
            let cut = b"<<<LAB-CUT>>>";
            let mut from = 0;
            for at in memchr::memmem::find_iter(&bytes, cut) {
                all.extend_from_slice(&bytes[from..at]);
                from = at + cut.len();
            }
            all.extend_from_slice(&bytes[from..]);
        }
    }
    Ok(all)
}

fn directories(parent: &Path) -> Result<Vec<PathBuf>, Box<dyn std::error::Error>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(parent)? {
        let path = entry?.path();
        if path.is_dir() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// The row of one stream: medians of rounds that take turns.
fn measure(stream: &Stream, rounds: usize) -> String {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..rounds {
        times[0].push(timed(stream, by_detector));
        times[1].push(timed(stream, by_memchr));
        times[2].push(timed(stream, by_vte));
    }
    let [detector, memchr, vte] = times.map(|mut times| {
        times.sort();
        stream.bytes.len() as f64 / times[times.len() / 2].as_secs_f64() / 1e9
    });
    format!(
        "| {} | {detector:.2} GB/s | {memchr:.2} GB/s ({:.2}×) | {vte:.2} GB/s ({:.1}×) | ≥ {GOAL} GB/s | {} |",
        stream.name,
        detector / memchr,
        detector / vte,
        if detector >= GOAL { "yes" } else { "**no**" },
    )
}

/// The shortest of a few runs in a row: what others do to the machine meanwhile is not the reader's doing.
fn timed(stream: &Stream, read: fn(&Stream)) -> Duration {
    let run = || {
        let start = Instant::now();
        read(stream);
        start.elapsed()
    };
    (0..5).map(|_| run()).min().unwrap_or_default()
}

fn by_detector(stream: &Stream) {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    for piece in stream.bytes.chunks(stream.piece) {
        detector.feed(black_box(piece), &mut out);
        out.clear();
    }
    black_box(detector);
}

fn by_memchr(stream: &Stream) {
    let mut count = 0;
    for piece in stream.bytes.chunks(stream.piece) {
        count += memchr::memchr_iter(0x1b, black_box(piece)).map(black_box).count();
    }
    black_box(count);
}

fn by_vte(stream: &Stream) {
    struct Nothing;
    impl vte::Perform for Nothing {}
    let mut parser = vte::Parser::new();
    for piece in stream.bytes.chunks(stream.piece) {
        parser.advance(&mut Nothing, black_box(piece));
    }
    black_box(parser);
}

/// Says something to whoever waits for the figures.
#[expect(clippy::print_stdout, reason = "a program that measures tells what it measured")]
fn say(text: &str) {
    println!("{text}");
}
