//! A composer on a terminal: an agent that draws what Claude Code draws and writes down what is submitted to it.
//!
//! It is this test binary itself, started under the name of the agent to run nothing but [`be_a_composer`]; on one thread, since it would
//! otherwise say after a minute, in the middle of the screen, that the test takes long.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};

use super::conversation::Conversation;
use super::environment::{AGTMUX, TestEnvironment};
use super::plugin::{self, Ordered};
use super::run::Run;
use super::tmux::Tmux;
use super::wait::wait_for;

const ITSELF: &str = "common::tui::be_a_composer";

/// A pasted text of so many lines is folded.
const FOLDED_FROM: usize = 4;

/// So many rows of a text are shown.
const TALLEST: usize = 8;

/// An agent with a composer, in a pane.
pub(crate) struct Composer {
    pub(crate) pane: String,
    dir: PathBuf,
}

impl Composer {
    /// Starts one in a window of its own, and waits until the daemon has seen that it is idle.
    #[track_caller]
    pub(crate) fn start(environment: &TestEnvironment, manners: &str) -> Self {
        let composer = Self::start_by(environment, manners, |tmux, line| tmux.window("main", &format!("exec {line}")));
        composer.wait_until_idle(environment);
        composer
    }

    /// Starts one in the way the test wants: given the command line, it gives the pane.
    #[track_caller]
    pub(crate) fn start_by(
        environment: &TestEnvironment,
        manners: &str,
        start: impl FnOnce(&Tmux, &str) -> String,
    ) -> Self {
        let dir = environment.agent_dir();
        let pane = start(&environment.tmux(), &Self::command_line(environment, &dir, manners));
        let composer = Self { pane, dir };
        wait_for("the composer to be drawn", || fs::read(composer.dir.join("drawn")));
        composer
    }

    /// Puts another one into its pane, which is drawn when this comes back. One that outlives its pane goes on without.
    #[track_caller]
    pub(crate) fn respawn(&self, environment: &TestEnvironment, manners: &str) -> Self {
        Self::start_by(environment, manners, |tmux, line| {
            tmux.run(&["respawn-pane", "-k", "-t", &self.pane, &format!("exec {line}")]);
            self.pane.clone()
        })
    }

    /// Starts one inside the wrapper, and waits until the daemon has seen that it is idle.
    #[track_caller]
    pub(crate) fn start_wrapped(environment: &TestEnvironment, manners: &str) -> Self {
        let composer = Self::start_by(environment, manners, |tmux, line| {
            tmux.window("main", &format!("exec {AGTMUX} wrap -- {line}"))
        });
        composer.wait_until_idle(environment);
        composer
    }

    /// Has one started by `agtmux spawn claude` with these words, and gives what came of that, and the composer.
    #[track_caller]
    pub(crate) fn spawn(environment: &TestEnvironment, manners: &str, words: &[&str]) -> (Run, Self) {
        let dir = environment.agent_dir();
        Self::program(environment);
        let variables = [format!("TUI_DIR={}", dir.display()), format!("TUI_MANNERS={manners}")];
        let path = format!("{}:{}", environment.path("bin").display(), std::env::var("PATH").unwrap());
        let start = ["spawn", "claude", "--json", "--env", &variables[0], "--env", &variables[1]];
        let mut command = environment.command(
            &[&start, words, &["--", ITSELF, "--exact", "--ignored", "--nocapture", "--test-threads=1"]].concat(),
        );
        let run = Run::of(command.env("PATH", path));
        let pane = run.json()["pane_id"].as_str().unwrap().to_owned();
        (run, Self { pane, dir })
    }

    /// Makes a directory for a path of programs, in which `claude` starts one.
    pub(crate) fn install(environment: &TestEnvironment) -> PathBuf {
        let dir = environment.path("composers");
        fs::create_dir_all(dir.join("real")).unwrap();
        symlink(std::env::current_exe().unwrap(), dir.join("real/claude")).unwrap();
        let script = format!(
            "#!/bin/sh\ncase $1 in --version) echo '2.1.325 (Claude Code)'; exit ;; plugin) exit ;; esac\ndir=$(mktemp -d -p '{dir}')\nmkfifo \"$dir/fifo\"\n\
             TUI_DIR=$dir TUI_MANNERS= exec '{dir}/real/claude' {ITSELF} --exact --ignored --nocapture --test-threads=1\n",
            dir = dir.display()
        );
        let program = environment.program("claude.composer", &script);
        fs::rename(program, dir.join("claude")).unwrap();
        dir
    }

    fn command_line(environment: &TestEnvironment, dir: &Path, manners: &str) -> String {
        let variables = format!("TUI_DIR='{}' TUI_MANNERS='{manners}'", dir.display());
        format!(
            "env {variables} '{}' {ITSELF} --exact --ignored --nocapture --test-threads=1",
            Self::program(environment).display()
        )
    }

    fn program(environment: &TestEnvironment) -> PathBuf {
        let program = environment.path("bin/claude");
        if !program.exists() {
            symlink(std::env::current_exe().unwrap(), &program).unwrap();
        }
        program
    }

    #[track_caller]
    pub(crate) fn wait_until_idle(&self, environment: &TestEnvironment) {
        environment.wait_for_pane(&self.pane, "the composer to be idle", |pane| pane["state"] == "idle");
    }

    /// Has it do something: `dialog`, `busy`, `idle`; or begin a turn, which ends with `idle`.
    #[track_caller]
    pub(crate) fn tell(&self, word: &str) {
        let mut fifo = OpenOptions::new().read(true).write(true).open(self.dir.join("fifo")).unwrap();
        fifo.write_all(format!("{word}\n").as_bytes()).unwrap();
        wait_for(&format!("the composer to hear {word}"), || {
            let heard = fs::read_to_string(self.dir.join("heard")).unwrap_or_default();
            if heard.ends_with(&format!("{word}\n")) { Ok(()) } else { Err(heard) }
        });
    }

    /// What was submitted to it.
    pub(crate) fn submitted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.dir.join("submitted")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How often Enter answered its dialog.
    pub(crate) fn answered(&self) -> usize {
        fs::read_to_string(self.dir.join("answered")).unwrap_or_default().lines().count()
    }

    /// How many texts its plugin keeps.
    pub(crate) fn kept(&self) -> usize {
        fs::read_to_string(self.dir.join("kept")).unwrap_or_default().lines().count()
    }

    /// Every byte it read.
    pub(crate) fn read(&self) -> Vec<u8> {
        fs::read(self.dir.join("read")).unwrap_or_default()
    }
}

/// How it behaves.
#[derive(Clone, Copy, Default)]
struct Manners {
    /// A change is drawn so much later.
    lag: Duration,
    /// So many presses of Enter are lost.
    swallow: u32,
    /// A prompt makes it busy.
    works: bool,
    /// So many pastes make it ask something, which is then what Enter answers.
    asks: u32,
    /// It says by its hook what it was given.
    tells: bool,
    /// It has a record, reads what its hooks print, and can be interrupted.
    reads: bool,
    /// It keeps a text for whoever presses Ctrl-S, until the next prompt.
    stash: bool,
    /// So many prompts make it ask something.
    asks_after: u32,
    /// It lives on when its terminal is gone.
    outlives: bool,
    /// It has a plugin: one that obeys (1), one that keeps what it is to submit until it hears `release` (2), one in a version that
    /// nobody tried (3), or only a child that asks as one would (4).
    plugin: u32,
}

impl Manners {
    fn parse(text: &str) -> Self {
        let mut manners = Self::default();
        for (name, value) in text.split(' ').filter_map(|word| word.split_once('=')) {
            let value: u32 = value.parse().unwrap();
            match name {
                "lag" => manners.lag = Duration::from_millis(value.into()),
                "swallow" => manners.swallow = value,
                "works" => manners.works = value > 0,
                "asks" => manners.asks = value,
                "tells" => manners.tells = value > 0,
                "reads" => manners.reads = value > 0,
                "stash" => manners.stash = value > 0,
                "asks_after" => manners.asks_after = value,
                "outlives" => manners.outlives = value > 0,
                "plugin" => manners.plugin = value,
                _ => panic!("{name}"),
            }
        }
        manners
    }
}

enum Input {
    Keys(Vec<u8>),
    Word(String),
    Order(Ordered),
}

/// What the agent's process runs.
#[test]
#[ignore = "it is an agent, not a test"]
fn be_a_composer() {
    let dir = PathBuf::from(std::env::var_os("TUI_DIR").unwrap());
    let stdin = rustix::stdio::stdin();
    let mut raw = tcgetattr(stdin).unwrap();
    raw.make_raw();
    tcsetattr(stdin, OptionalActions::Now, &raw).unwrap();
    let (sender, inputs) = channel();
    let words = sender.clone();
    let fifo = OpenOptions::new().read(true).write(true).open(dir.join("fifo")).unwrap();
    std::thread::spawn(move || hear(fifo, &words));
    let manners = Manners::parse(&std::env::var("TUI_MANNERS").unwrap());
    let orders = sender.clone();
    let pass_on = move |order| drop(orders.send(Input::Order(order)));
    match manners.plugin {
        0 => {}
        3 => plugin::listen("2.2.0".to_owned(), pass_on),
        4 => plugin::ask_by_a_child(),
        _ => plugin::listen(plugin::VERSION.to_owned(), pass_on),
    }
    std::thread::spawn(move || listen(&sender, manners.outlives));
    Tui {
        dir,
        manners,
        conversation: manners.reads.then(Conversation::begin),
        turn: false,
        text: String::new(),
        pasting: false,
        folded: false,
        dialog: false,
        busy: false,
        strange: false,
        queued: Vec::new(),
        stashed: String::new(),
        held: Vec::new(),
    }
    .live(&inputs);
}

fn hear(fifo: File, words: &Sender<Input>) {
    for line in BufReader::new(fifo).lines() {
        words.send(Input::Word(line.unwrap())).unwrap();
    }
}

fn listen(keys: &Sender<Input>, outlives: bool) {
    let mut buffer = [0; 4096];
    loop {
        match std::io::stdin().lock().read(&mut buffer) {
            Ok(0) | Err(_) if outlives => std::thread::park(),
            Ok(0) | Err(_) => std::process::exit(0),
            Ok(count) => keys.send(Input::Keys(buffer[..count].to_vec())).unwrap(),
        }
    }
}

struct Tui {
    dir: PathBuf,
    manners: Manners,
    conversation: Option<Conversation>,
    /// A turn is under way that somebody else began.
    turn: bool,
    text: String,
    pasting: bool,
    folded: bool,
    dialog: bool,
    busy: bool,
    /// It shows something that nobody can read.
    strange: bool,
    queued: Vec<String>,
    stashed: String,
    /// What its plugin keeps.
    held: Vec<String>,
}

impl Tui {
    fn live(mut self, inputs: &Receiver<Input>) {
        print!("\x1b[?1049h\x1b[?2004h\x1b[?25l");
        self.draw();
        fs::write(self.dir.join("drawn"), "").unwrap();
        let mut pending = Vec::new();
        let mut stale: Option<Instant> = None;
        loop {
            let patience = stale.map_or(Duration::from_secs(3600), |at| at.saturating_duration_since(Instant::now()));
            match inputs.recv_timeout(patience) {
                Ok(Input::Keys(bytes)) => {
                    self.note("read", &bytes);
                    pending.extend_from_slice(&bytes);
                    self.take(&mut pending);
                    stale.get_or_insert(Instant::now() + self.manners.lag);
                }
                Ok(Input::Word(word)) => {
                    match word.as_str() {
                        "dialog" => self.dialog = true,
                        "busy" => self.busy = true,
                        "strange" => self.strange = true,
                        "escape" => self.interrupt(),
                        "turn" => self.begin_turn(),
                        "release" => {
                            for text in std::mem::take(&mut self.held) {
                                self.enter(&text);
                            }
                        }
                        "idle" => {
                            self.end_turn();
                            (self.busy, self.dialog, self.strange) = (false, false, false);
                        }
                        _ => panic!("{word}"),
                    }
                    self.draw();
                    self.note("heard", format!("{word}\n").as_bytes());
                }
                Ok(Input::Order(order)) => self.obey(&order),
                Err(RecvTimeoutError::Timeout) => {
                    stale = None;
                    self.draw();
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn note(&self, file: &str, bytes: &[u8]) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.dir.join(file)).unwrap();
        file.write_all(bytes).unwrap();
    }

    /// Does what its plugin is to do.
    fn obey(&mut self, order: &Ordered) {
        let at = if self.dialog {
            "dialog"
        } else if self.busy {
            "turn"
        } else {
            "rest"
        };
        let reply = match (order.task["do"].as_str(), at) {
            (Some("look"), _) => serde_json::json!({ "is": "look", "session": "a-composer", "at": at }),
            (_, "rest") => {
                let text = order.task["text"].as_str().unwrap();
                if self.manners.plugin == 2 {
                    self.held.push(text.to_owned());
                    return self.note("kept", b"one\n");
                }
                self.enter(text);
                serde_json::json!({ "is": "entered", "text": text })
            }
            (_, why) => serde_json::json!({ "is": "refused", "why": why }),
        };
        order.reply.send(reply).ok();
    }

    /// A prompt enters that nobody has typed.
    fn enter(&self, text: &str) {
        self.note("submitted", format!("{}\n", serde_json::to_string(text).unwrap()).as_bytes());
        if self.manners.tells {
            tell("UserPromptSubmit", text);
            tell("Stop", "");
        }
    }

    fn begin_turn(&mut self) {
        if let Some(conversation) = &self.conversation {
            conversation.prompt("go");
        }
        (self.turn, self.busy) = (true, true);
    }

    /// What it is told at the end of a turn is as good as submitted.
    fn end_turn(&mut self) {
        let Some(conversation) = self.conversation.as_ref().filter(|_| std::mem::take(&mut self.turn)) else { return };
        for text in conversation.stop() {
            self.note("submitted", format!("{}\n", serde_json::to_string(&text).unwrap()).as_bytes());
        }
    }

    fn interrupt(&mut self) {
        (self.turn, self.busy) = (false, false);
        if let Some(conversation) = &self.conversation {
            conversation.interrupted();
        }
    }

    /// Takes whole keys, and leaves what may go on.
    fn take(&mut self, pending: &mut Vec<u8>) {
        let mut at = 0;
        while at < pending.len() {
            let rest = &pending[at..];
            if rest[0] == 0x1b {
                if rest.starts_with(b"\x1b[200~") || rest.starts_with(b"\x1b[201~") {
                    self.pasting = rest[4] == b'0';
                    if !self.pasting {
                        self.dialog |= self.manners.asks > 0;
                        self.manners.asks = self.manners.asks.saturating_sub(1);
                        self.folded = self.text.lines().count() >= FOLDED_FROM || self.text.len() > 800;
                    }
                    at += 6;
                } else if rest.len() == 1 && self.turn {
                    at += 1;
                    self.interrupt();
                } else if rest.len() < 6 {
                    break;
                } else {
                    at += 1;
                }
                continue;
            }
            let whole = rest.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
            let Some(c) = std::str::from_utf8(&rest[..whole]).unwrap().chars().next() else { break };
            at += c.len_utf8();
            self.key(c);
        }
        pending.drain(..at);
    }

    fn key(&mut self, c: char) {
        match c {
            _ if self.pasting => self.text.push(c),
            '\r' if self.manners.swallow > 0 => self.manners.swallow -= 1,
            '\r' if self.dialog => {
                self.dialog = false;
                self.note("answered", b"yes\n");
            }
            '\r' if !self.text.is_empty() => {
                let text = std::mem::take(&mut self.text);
                self.folded = false;
                self.note("submitted", format!("{}\n", serde_json::to_string(&text).unwrap()).as_bytes());
                if let Some(conversation) = &self.conversation {
                    self.turn = conversation.prompt(&text);
                    self.end_turn();
                } else if self.manners.tells {
                    tell("UserPromptSubmit", &text);
                    tell("Stop", "");
                }
                if self.busy {
                    self.queued.push(text);
                }
                self.busy |= self.manners.works;
                self.dialog |= self.manners.asks_after > 0;
                self.manners.asks_after = self.manners.asks_after.saturating_sub(1);
                self.text = std::mem::take(&mut self.stashed);
            }
            '\r' => {}
            // What is folded goes as a whole.
            '\u{7f}' if self.folded => (self.text, self.folded) = (String::new(), false),
            '\u{7f}' => drop(self.text.pop()),
            '\u{15}' => (self.text, self.folded) = (String::new(), false),
            '\u{5}' => {}
            '\u{13}' if self.manners.stash => std::mem::swap(&mut self.text, &mut self.stashed),
            '\u{13}' => {}
            c => self.text.push(c),
        }
    }

    fn draw(&self) {
        let size = tcgetwinsize(rustix::stdio::stdout()).unwrap();
        let (width, height) = (usize::from(size.ws_col), usize::from(size.ws_row));
        let rule = format!("\x1b[38;5;246m{}\x1b[39m", "─".repeat(width));
        let mut rows = vec!["\x1b[1mA composer\x1b[0m".to_owned(), String::new()];
        let mut caret = (0, 0);
        if self.strange {
            rows.push("a page of help, say".to_owned());
        } else if self.dialog {
            rows.extend([rule, " Bash command".to_owned(), String::new(), " Do you want to proceed?".to_owned()]);
            caret = (rows.len(), 1);
            rows.extend(
                [
                    " \x1b[38;5;153m❯ 1. Yes\x1b[39m",
                    "   2. No",
                    "",
                    " \x1b[38;5;246mEsc to cancel · Tab to amend\x1b[39m",
                ]
                .map(str::to_owned),
            );
        } else {
            for text in &self.queued {
                rows.push(format!("❯ {}", text.lines().next().unwrap_or_default()));
                rows.push("  \x1b[38;5;246mctrl+x ctrl+s to send now\x1b[39m".to_owned());
            }
            if !self.stashed.is_empty() {
                rows.push(format!("{:>1$}", "› stashed", width - 2));
            }
            rows.push(rule.clone());
            let shown = if self.folded {
                format!("[Pasted text #1 +{} lines]", self.text.lines().count() - 1)
            } else {
                self.text.replace('\t', "    ")
            };
            let lines = wrapped(&shown, width - 3);
            let first = lines.len().saturating_sub(TALLEST);
            let prompt = if self.busy { "\x1b[38;5;246m❯\x1b[39m\u{a0}" } else { "❯\u{a0}" };
            for (number, line) in lines.iter().enumerate().skip(first) {
                caret = (rows.len(), 2 + columns(line));
                rows.push(format!("{}{line}", if number == 0 { prompt } else { "  " }));
            }
            rows.push(rule);
            rows.push("  ⏸ manual mode on".to_owned());
        }
        let rows = rows.iter().take(height).enumerate();
        let painted: String = rows.map(|(row, text)| format!("\x1b[{};1H\x1b[0m{text}", row + 1)).collect();
        let mut out = std::io::stdout().lock();
        write!(out, "\x1b[2J{painted}\x1b[{};{}H", caret.0 + 1, caret.1 + 1).unwrap();
        out.flush().unwrap();
    }
}

/// Runs the hook that `agtmux setup` gives to Claude Code.
fn tell(event: &str, prompt: &str) {
    let payload = serde_json::json!({ "hook_event_name": event, "session_id": "a-composer", "prompt": prompt });
    let mut hook = Command::new(AGTMUX).args(["hook", "claude"]).stdin(Stdio::piped()).spawn().unwrap();
    hook.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    hook.wait().unwrap();
}

/// Breaks a text where the composer ends.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut row = String::new();
        for c in line.chars() {
            if columns(&row) + 2 > width {
                lines.push(std::mem::take(&mut row));
            }
            row.push(c);
        }
        lines.push(row);
    }
    lines
}

/// How wide a text is, roughly: everything beyond Latin counts as wide.
fn columns(text: &str) -> usize {
    text.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum()
}
