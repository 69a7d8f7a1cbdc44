//! The power fails at any moment: no message that was acknowledged is lost, and the files are sound (I1, I14).
//!
//! A tracer records what a real writer writes and syncs, in order, and when it acknowledges. From that record every set of files that
//! a power cut may leave can be made: what was synced is there; each later write is there, is not, or is torn at sectors of 512 bytes;
//! a file whose folder was not synced may be missing. The real store then opens what is left. `AGTMUX_CUTS` sets how many cuts are made
//! (100 unless given).

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use agtmux_core::mail::{Category, DeliveryId, Letter, MailFact, MailId, Mode, Party, Wanted};
use fastrand::Rng;

use super::*;

const DIR: &str = "AGTMUX_TEST_POWER_DIR";
const SECTOR: usize = 512;
const FILES: [&str; 3] = ["agtmux.db", "agtmux.db-wal", "agtmux.db-journal"];

/// Not a test of its own: the process that is recorded. It keeps messages of many sizes between other events, closes and opens again,
/// and writes down each message after it was acknowledged, beside the state directory.
#[tokio::test]
#[ignore = "a child process of another test"]
async fn child() {
    let Some(root) = std::env::var_os(DIR) else { return };
    let root = Path::new(&root);
    let mut acknowledged = File::create(root.join("acknowledged")).unwrap();
    let mut number = 0;
    for life in 0..3 {
        let opened = open_default(&root.join("state"));
        let mut seq = opened.recovered.next_seq;
        for round in 0..25 {
            opened.writer.append(ticks(seq..seq + 5)).await.unwrap();
            acknowledged.write_all(format!("numbers {}\n", seq + 4).as_bytes()).unwrap();
            let (id, text) = message(number);
            let queued =
                event(seq + 5, Fact::Mail(Box::new(MailFact::Queued { letter: Box::new(letter(&id, &text)) })));
            let keep = Text::Keep { id: id.clone(), text };
            opened.writer.append(Batch { events: vec![queued], texts: vec![keep], ..Batch::default() }).await.unwrap();
            acknowledged.write_all(format!("message {number} {}\n", seq + 5).as_bytes()).unwrap();
            let delivery = DeliveryId::new(format!("dl_{number}"));
            let started = if number % 2 == 0 { MailFact::Started { delivery } } else { MailFact::Offered { delivery } };
            let started = event(seq + 6, Fact::Mail(Box::new(started)));
            opened.writer.append(Batch { events: vec![started], ..Batch::default() }).await.unwrap();
            acknowledged.write_all(format!("started {}\n", seq + 6).as_bytes()).unwrap();
            if round % 10 == 9 {
                opened.writer.snapshot(seq + 6, engine_state());
            }
            (seq, number) = (seq + 7, number + 1);
        }
        // A store that is closed in order folds its log into the database; the last one is not.
        if life < 2 {
            opened.writer.close().await.unwrap();
        }
    }
}

fn message(number: usize) -> (MailId, String) {
    let text = format!("message {number} ").repeat(1 + number * number * 37 % 3_000);
    (MailId::parse(&format!("m_{number}")).unwrap(), text)
}

fn letter(id: &MailId, text: &str) -> Letter {
    Letter {
        id: id.clone(),
        to: runtime_id(),
        to_name: "api".to_owned(),
        from: Party::Person { uid: 1_000, name: "me".to_owned() },
        mode: Mode::Sequential,
        category: Category::Mail,
        bytes: text.len() as u64,
        digest: Letter::digest_of(text),
        preview: "message".to_owned(),
        queued_at: Timestamp(1_700_000_000_000),
        timeout: None,
        reply_to: None,
        hops: 0,
        not_before: None,
        every: None,
        wanted: Wanted::default(),
        series: None,
        again: None,
        command: false,
    }
}

/// What the writer did.
#[derive(Debug)]
enum Step {
    Create {
        file: usize,
    },
    Write {
        file: usize,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncate {
        file: usize,
        length: usize,
    },
    Remove {
        file: usize,
    },
    Sync {
        file: usize,
    },
    SyncFolder,
    /// That a message is kept, that a delivery is started, or else that there are events up to a number.
    Acknowledge {
        message: Option<usize>,
        is_started: bool,
        seq: u64,
    },
}

#[tokio::test]
async fn a_power_cut_loses_no_message_that_was_acknowledged() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: strace is not installed");
        return;
    }
    let wanted: usize = std::env::var("AGTMUX_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(100);
    let steps = record();
    let count = |is: fn(&Step) -> bool| steps.iter().filter(|step| is(step)).count();
    let (writes, syncs) = (count(|s| matches!(s, Step::Write { .. })), count(|s| matches!(s, Step::Sync { .. })));
    let messages = count(|step| matches!(step, Step::Acknowledge { message: Some(_), .. }));
    assert_eq!(messages, 75, "the record is not complete");
    assert!(syncs > messages, "a message is acknowledged without a sync");

    // Cuts in the order of time, so that what is on the disk can be carried along; each has dice of its own.
    let mut dice = Rng::with_seed(7);
    // Every tenth falls into the first moments, in which the file itself is made.
    let within = |seed: u64| if seed.is_multiple_of(10) { 60 } else { steps.len() };
    let mut moments: Vec<_> = (0..wanted as u64).map(|seed| (dice.usize(0..=within(seed)), seed)).collect();
    moments.sort_unstable();
    let (mut disk, mut done, mut lost_events) = (Disk::default(), 0, 0);
    for (moment, seed) in moments {
        steps[done..moment].iter().for_each(|step| disk.take(step));
        done = moment;
        lost_events += cut(&disk, moment, seed).await;
    }
    println!(
        "{wanted} power cuts among {} steps ({writes} writes, {syncs} syncs, {messages} messages): no message lost, no file unsound; \
         of other events, which are not promised, {lost_events} were lost, always the last ones",
        steps.len()
    );
}

/// Cuts the power and looks at what is left. Gives how many of the other events were lost.
async fn cut(disk: &Disk, moment: usize, seed: u64) -> u64 {
    let context = format!("cut at step {moment}, seed {seed}");
    let dir = state_dir();
    disk.leave(dir.path(), &mut Rng::with_seed(seed));
    let opened = open(dir.path(), Options::default(), BOOT).unwrap_or_else(|error| panic!("{context}: {error}"));
    let texts = opened.reader.texts(None).unwrap();
    let events = opened.reader.events_after(0, usize::MAX, &EventFilter::default()).unwrap();
    let mut queued = events.iter().filter_map(|event| match &event.fact {
        Fact::Mail(fact) => match &**fact {
            MailFact::Queued { letter } => Some(letter.id.clone()),
            _ => None,
        },
        _ => None,
    });
    for number in &disk.messages {
        let (id, text) = message(*number);
        assert!(queued.any(|queued| queued == id), "{context}: {id} is not in the log");
        assert_eq!(texts.get(&id), Some(&text), "{context}: the text of {id}");
    }
    let unstarted: Vec<_> = disk.started.iter().filter(|seq| !events.iter().any(|event| event.seq == **seq)).collect();
    assert!(unstarted.is_empty(), "{context}: nobody knows any more that {unstarted:?} were started");
    // No number is handed out twice, not even one whose event is lost.
    assert!(opened.recovered.next_seq > disk.last_seq, "{context}: {} again", opened.recovered.next_seq);
    assert_eq!(opened.recovered.notes, Vec::<String>::new(), "{context}");
    let logged: Vec<_> = events.iter().map(|event| event.seq).filter(|seq| *seq <= disk.last_seq).collect();
    let lost = disk.seqs.iter().filter(|seq| logged.binary_search(seq).is_err());
    let first_lost = lost.clone().next().copied().unwrap_or(u64::MAX);
    assert!(logged.last().is_none_or(|last| *last < first_lost), "{context}: events after {first_lost} are there");
    let lost = lost.count() as u64;
    drop(opened.reader);
    opened.writer.close().await.unwrap();
    assert_eq!(integrity(dir.path()), "ok", "{context}");
    lost
}

/// What is on the disk for sure, and what was written since.
#[derive(Default)]
struct Disk {
    synced: BTreeMap<usize, Vec<u8>>,
    pending: BTreeMap<usize, Vec<Change>>,
    /// Whether the folder was synced since the file was made.
    in_folder: BTreeMap<usize, bool>,
    messages: Vec<usize>,
    started: Vec<u64>,
    seqs: Vec<u64>,
    last_seq: u64,
}

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

impl Disk {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Create { file } => drop(self.in_folder.entry(*file).or_insert(false)),
            Step::Write { file, at, bytes } => {
                let change = Change::Write { at: *at, bytes: bytes.clone() };
                self.pending.entry(*file).or_default().push(change);
            }
            Step::Truncate { file, length } => {
                self.pending.entry(*file).or_default().push(Change::Truncate { length: *length });
            }
            // That it is gone may not be on the disk yet either; SQLite makes sure that it does no harm, by its own syncs.
            Step::Remove { file } => {
                self.synced.remove(file);
                self.pending.remove(file);
                self.in_folder.remove(file);
            }
            Step::Sync { file } => {
                let image = self.synced.entry(*file).or_default();
                self.pending.remove(file).into_iter().flatten().for_each(|change| change.apply(image, None));
            }
            Step::SyncFolder => self.in_folder.values_mut().for_each(|known| *known = true),
            Step::Acknowledge { message, is_started, seq } => {
                self.messages.extend(message);
                self.started.extend(is_started.then_some(*seq));
                self.seqs.extend(self.last_seq.max(seq.saturating_sub(5)) + 1..=*seq);
                self.last_seq = *seq;
            }
        }
    }

    /// Makes the files as a power cut may leave them.
    fn leave(&self, dir: &Path, dice: &mut Rng) {
        for (file, known) in &self.in_folder {
            if !known && dice.bool() {
                continue;
            }
            let mut image = self.synced.get(file).cloned().unwrap_or_default();
            // Sometimes nearly all of it is there, sometimes nearly nothing.
            let kept = dice.f64();
            for change in self.pending.get(file).into_iter().flatten() {
                if dice.f64() < kept {
                    change.apply(&mut image, None);
                } else if dice.bool() {
                    change.apply(&mut image, Some(dice));
                }
            }
            fs::write(dir.join(FILES[*file]), image).unwrap();
        }
    }
}

impl Change {
    /// Does it; with dice, each sector of it only by chance.
    fn apply(&self, image: &mut Vec<u8>, mut dice: Option<&mut Rng>) {
        match self {
            Self::Truncate { length } => image.resize(*length, 0),
            Self::Write { at, bytes } => {
                let mut from = 0;
                while from < bytes.len() {
                    let to = bytes.len().min((at + from) / SECTOR * SECTOR + SECTOR - at);
                    if dice.as_mut().is_none_or(|dice| dice.bool()) {
                        image.resize(image.len().max(at + to), 0);
                        image[at + from..at + to].copy_from_slice(&bytes[from..to]);
                    }
                    from = to;
                }
            }
        }
    }
}

/// Runs the child under the tracer and reads what it did.
fn record() -> Vec<Step> {
    let root = state_dir();
    let trace = root.path().join("trace");
    let test = module_path!().split_once("::").unwrap().1.to_owned() + "::child";
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-y", "-xx", "-s", "200000", "-o"]).arg(&trace);
    command.args(["-e", "trace=openat,pwrite64,fsync,fdatasync,ftruncate,unlink,write"]);
    command.arg(std::env::current_exe().unwrap()).args([test.as_str(), "--exact", "--ignored", "--nocapture"]);
    command.env(DIR, root.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().unwrap().success());
    let text = fs::read_to_string(&trace).unwrap();
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    let mut steps = Vec::new();
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        // A write counts from when it begins, a sync from when it has ended.
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            if begin.contains("sync(") || begin.starts_with("openat") {
                begun.insert(thread, begin);
            } else {
                steps.extend(step(begin, root.path()));
            }
        } else if rest.starts_with("<... ") {
            let resumed = rest.split_once("resumed>").map_or("", |(_, resumed)| resumed);
            let whole = begun.remove(thread).map(|begin| format!("{begin}{resumed}"));
            steps.extend(whole.and_then(|whole| step(&whole, root.path())));
        } else {
            steps.extend(step(rest, root.path()));
        }
    }
    steps
}

/// What a line of the tracer says that the writer did to our files.
fn step(line: &str, root: &Path) -> Option<Step> {
    let (call, arguments) = line.split_once('(')?;
    if call == "openat" || call == "unlink" {
        let path = plain(arguments.split('"').nth(1)?);
        let file = file_of(&path, root)?;
        let is_made = arguments.contains("O_CREAT") && !arguments.contains("= -1");
        return match call {
            "unlink" => Some(Step::Remove { file }),
            _ => is_made.then_some(Step::Create { file }),
        };
    }
    let (_, rest) = arguments.split_once('<')?;
    let (path, rest) = rest.split_once('>')?;
    let path = plain(path);
    if path == root.join("acknowledged").as_os_str().as_encoded_bytes() {
        let said = String::from_utf8(plain(rest.split('"').nth(1)?)).ok()?;
        let mut words = said.split_whitespace();
        let what = words.next()?;
        let message = (what == "message").then(|| words.next()?.parse().ok()).flatten();
        return Some(Step::Acknowledge { message, is_started: what == "started", seq: words.next()?.parse().ok()? });
    }
    if call.ends_with("sync") && path == root.join("state").as_os_str().as_encoded_bytes() {
        return Some(Step::SyncFolder);
    }
    let file = file_of(&path, root)?;
    let number = |text: &str| text.trim().trim_end_matches(')').parse::<usize>().ok();
    match call {
        "fsync" | "fdatasync" => Some(Step::Sync { file }),
        "ftruncate" => Some(Step::Truncate { file, length: number(rest.split(',').nth(1)?.split(')').next()?)? }),
        "pwrite64" => {
            let bytes = plain(rest.split('"').nth(1)?);
            let (length, at) = rest.rsplit_once('"')?.1.trim_start_matches(", ").split_once(", ")?;
            let at = number(at.split(')').next()?)?;
            assert_eq!(number(length), Some(bytes.len()), "the tracer cut a write short");
            Some(Step::Write { file, at, bytes })
        }
        _ => None,
    }
}

fn file_of(path: &[u8], root: &Path) -> Option<usize> {
    FILES.iter().position(|name| root.join("state").join(name).as_os_str().as_encoded_bytes() == path)
}

/// Bytes that the tracer wrote as `\x2f\x74`.
fn plain(text: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0);
    text.as_bytes().chunks_exact(4).map(|hex| digit(hex[2]) << 4 | digit(hex[3])).collect()
}
