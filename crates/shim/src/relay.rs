//! The loop that passes bytes on, both ways.

use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use arrayvec::ArrayVec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::Signal;

use crate::arbiter::{Arbiter, NO_MEMORY, PIECE, Screen};
use crate::buffer::Buffer;
use crate::farewell::{self, Farewell};
use crate::inbox::Arrived;
use crate::keeper::{REPORT, Report};
use crate::modes::Modes;
use crate::protocol::{Answer, Request, Status};
use crate::signals::Signals;
use crate::socket::{CONNECTIONS, Door};
use crate::terminal::Terminal;

/// How much of either direction is on its way here.
const BUFFER: usize = 64 * 1_024;

/// How long a pane may take nothing before the last words of an agent are given up.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long after the last byte for the pane this process stays. tmux throws away what it has not read of a pane when the process in it
/// ends, and nobody can see what it has read. An agent that ends by itself takes longer than that anyway.
const LINGER_MS: u64 = 100;

/// How often the agent is looked at while something is typed, and after a paste of the person's.
const LOOK_MS: u64 = 5;
const LOOK_AFTER_PASTE_MS: u64 = 50;

/// An agent that draws nothing for so long after an Enter will not draw.
const DRAWN_MS: u64 = 600;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a status.
    Exited(i32),
    /// By a signal.
    Killed(i32),
    /// Nobody knows.
    Lost,
}

/// Everything between the pane and the agent.
pub(crate) struct Relay<'a> {
    terminal: &'a Terminal,
    /// The agent's terminal; none once the pane is gone.
    agent: Option<OwnedFd>,
    /// The agent's end of it, to see what the agent has not read yet. The keeper has it open as long as this process lives, so
    /// that no hangup is missed for it.
    agent_end: OwnedFd,
    /// Since when the agent has not read what was typed.
    lags_since: Option<u64>,
    /// When the agent got the keys that submit, and how much it had written by then.
    submitted: Option<(u64, u64)>,
    line: OwnedFd,
    signals: &'a Signals,
    door: Option<Door>,
    /// Where it is told how the agent ended.
    note: Option<PathBuf>,
    name: Option<String>,
    child: u32,
    to_agent: Buffer,
    to_screen: Buffer,
    modes: Modes,
    output: u64,
    /// When the pane was given something last.
    shown: u64,
    arbiter: Arbiter,
    /// Who is to be told when the injection that is typed has ended.
    asked: Option<u64>,
    began: Instant,
    ending: Option<Ending>,
}

impl<'a> Relay<'a> {
    /// A relay over which nothing went yet.
    pub(crate) fn new(
        terminal: &'a Terminal,
        (agent, agent_end): (OwnedFd, OwnedFd),
        line: OwnedFd,
        signals: &'a Signals,
        door: Option<Door>,
        name: Option<String>,
    ) -> Self {
        Self {
            terminal,
            agent: Some(agent),
            agent_end,
            lags_since: None,
            submitted: None,
            line,
            signals,
            note: door.as_ref().and_then(Door::note),
            door,
            name,
            child: 0,
            to_agent: Buffer::new(BUFFER),
            to_screen: Buffer::new(BUFFER),
            modes: Modes::default(),
            output: 0,
            shown: 0,
            arbiter: Arbiter::default(),
            asked: None,
            began: Instant::now(),
            ending: None,
        }
    }

    /// Passes bytes on until the agent has ended.
    pub(crate) fn run(mut self) -> Ending {
        loop {
            let ready = self.wait();
            if ready.signals {
                self.signals.woken();
            }
            self.take_signals();
            if ready.agent {
                self.agent_to_screen();
            }
            self.flush_screen();
            if ready.keys {
                self.keys_to_agent();
            }
            self.go_on();
            if ready.line {
                self.hear_keeper();
            }
            if ready.door {
                self.attend();
            }
            if let Some(ending) = self.ending {
                self.leave_note(ending);
                self.last_words();
                return ending;
            }
        }
    }

    /// Waits until there is something to do.
    fn wait(&self) -> Ready {
        let now = self.now();
        let mut sources: ArrayVec<PollFd<'_>, { 5 + 1 + CONNECTIONS }> = ArrayVec::new();
        sources.push(PollFd::from_borrowed_fd(self.signals.wake(), PollFlags::IN));
        sources.push(PollFd::new(&self.line, PollFlags::IN));
        let (mut agent_at, mut terminal_at) = (usize::MAX, usize::MAX);
        if let Some(agent) = &self.agent {
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, self.to_screen.room() >= PIECE);
            wanted.set(PollFlags::OUT, !self.to_agent.is_empty());
            // An agent that has hung up is always ready, also when nothing is wanted of it.
            if !wanted.is_empty() {
                agent_at = sources.len();
                sources.push(PollFd::new(agent, wanted));
            }
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, self.takes_keys());
            wanted.set(PollFlags::OUT, !self.to_screen.is_empty());
            if !wanted.is_empty() {
                terminal_at = sources.len();
                sources.push(PollFd::from_borrowed_fd(self.terminal.as_fd(), wanted));
            }
        }
        let door_at = sources.len();
        if let Some(door) = self.door.as_ref().filter(|_| self.runs()) {
            sources.extend(door.sources(now).map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)));
        }
        let look = match &self.arbiter {
            arbiter if arbiter.is_typing() => Some(now + LOOK_MS),
            arbiter if arbiter.has_fresh_paste(now) => Some(now + LOOK_AFTER_PASTE_MS),
            _ => None,
        };
        let due = [self.arbiter.deadline(&self.to_agent), self.door.as_ref().and_then(Door::deadline), look]
            .into_iter()
            .flatten()
            .min();
        let pause = due.map(|due| Duration::from_millis(due.saturating_sub(now)));
        let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
        if poll(&mut sources, pause.as_ref()).is_err() {
            // A signal, which its flag tells of, or no memory, which may pass.
            return Ready { signals: true, ..Ready::default() };
        }
        let is_ready = |at: usize| sources.get(at).is_some_and(|source| !source.revents().is_empty());
        Ready {
            signals: is_ready(0),
            line: is_ready(1),
            agent: is_ready(agent_at),
            // A terminal that takes something need not have anything to give, and may make one wait for it.
            keys: sources.get(terminal_at).is_some_and(|source| !(source.revents() - PollFlags::OUT).is_empty()),
            door: sources[door_at..].iter().any(|source| !source.revents().is_empty())
                || self.door.as_ref().and_then(Door::deadline).is_some_and(|due| due <= self.now()),
        }
    }

    fn take_signals(&mut self) {
        if self.signals.continued() {
            self.terminal.make_raw();
            self.resize();
        }
        if self.signals.resized() {
            self.resize();
        }
        for signal in self.signals.forwarded() {
            let foreground = self.agent.as_ref().and_then(|agent| rustix::termios::tcgetpgrp(agent).ok());
            if let (Some(group), Some(signal)) = (foreground, Signal::from_named_raw(signal)) {
                rustix::process::kill_process_group(group, signal).ok();
            }
        }
    }

    fn resize(&self) {
        if let (Some(agent), Ok(size)) = (&self.agent, self.terminal.size()) {
            rustix::termios::tcsetwinsize(agent, size).ok();
        }
    }

    /// Reads what the agent wrote, as long as there is any and room for it.
    fn agent_to_screen(&mut self) {
        let Some(agent) = &self.agent else { return };
        while self.to_screen.room() >= PIECE {
            match rustix::io::read(agent, self.to_screen.free()) {
                Ok(0) | Err(Errno::AGAIN) => return,
                Ok(count) => {
                    self.output += count as u64;
                    self.modes.feed(self.to_screen.grown(count));
                }
                Err(Errno::INTR) => {}
                // Nobody has the terminal open any more; the keeper will say what became of the agent.
                Err(_) => {
                    self.agent = None;
                    return;
                }
            }
        }
    }

    fn flush_screen(&mut self) {
        while !self.to_screen.is_empty() {
            match self.terminal.write(self.to_screen.waiting()) {
                Ok(count) => {
                    self.to_screen.consume(count);
                    self.shown = self.now();
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.pane_is_gone(),
            }
        }
    }

    /// Whether the agent runs. Nobody's keys are taken before: a Ctrl-Z that stops it on its way there, between fork and exec,
    /// would leave the keeper waiting for it for ever.
    fn runs(&self) -> bool {
        self.child != 0
    }

    fn takes_keys(&self) -> bool {
        self.runs() && self.arbiter.has_room(&self.to_agent)
    }

    fn keys_to_agent(&mut self) {
        let mut piece = [0; PIECE];
        if !self.takes_keys() {
            return;
        }
        loop {
            match self.terminal.read(&mut piece) {
                Ok(0) => return self.pane_is_gone(),
                Ok(count) => {
                    let now = self.now();
                    self.arbiter.input(&piece[..count], now, &mut self.to_agent);
                    // One piece at a time: a terminal that cannot be told not to wait may have no second one.
                    return;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return self.pane_is_gone(),
            }
        }
    }

    /// Hands keys and injections to the agent, as far as it takes them.
    fn go_on(&mut self) {
        loop {
            let now = self.now();
            self.look_at_agent(now);
            if let Some(ended) = self.arbiter.turn(now, &mut self.to_agent) {
                if matches!(ended, Answer::Submitted { .. }) {
                    self.submitted = Some((now, self.output));
                }
                self.tell(&ended);
            }
            let Some(agent) = &self.agent else { return self.to_agent.consume(usize::MAX) };
            if self.to_agent.is_empty() {
                return;
            }
            match rustix::io::write(agent, self.to_agent.waiting()) {
                Ok(0) | Err(Errno::AGAIN) => return,
                Ok(count) => self.to_agent.consume(count),
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.agent = None;
                    return;
                }
            }
        }
    }

    /// While an injection is typed: has the agent read all of it so far, and does its screen show that? Nothing tells when it
    /// reads, so it is looked at. An agent may act on an Enter later than it reads it, and a key that it gets in between goes with
    /// what is submitted; when it has acted, it draws. After a paste of the person's: has the agent read that?
    fn look_at_agent(&mut self, now: u64) {
        if !self.arbiter.is_typing() {
            (self.lags_since, self.submitted) = (None, None);
            if !self.arbiter.has_fresh_paste(now) {
                return;
            }
        }
        if !self.to_agent.is_empty() || rustix::io::ioctl_fionread(&self.agent_end).is_ok_and(|count| count > 0) {
            let since = self.lags_since.replace(now).unwrap_or(now);
            self.arbiter.lagged(now.saturating_sub(since), now);
            self.submitted = self.submitted.map(|_| (now, self.output));
        } else {
            self.lags_since = None;
            if self.submitted.is_some_and(|(at, output)| self.output == output && now < at + DRAWN_MS) {
                self.arbiter.stays_silent(now);
            }
        }
    }

    fn hear_keeper(&mut self) {
        let mut bytes = [0; REPORT];
        loop {
            match rustix::io::read(&self.line, &mut bytes) {
                Ok(REPORT) => match Report::decode(bytes) {
                    Some(Report::Runs(child)) => self.child = child,
                    Some(Report::Stopped) => self.suspend(),
                    Some(Report::Exited(status)) => self.ending = Some(Ending::Exited(status)),
                    Some(Report::Killed(signal)) => self.ending = Some(Ending::Killed(signal)),
                    None => {}
                },
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Ok(_) | Err(_) => {
                    self.ending.get_or_insert(Ending::Lost);
                    return;
                }
            }
        }
    }

    /// The agent was suspended: so is this job, and the shell has the terminal. When the job goes on, the agent does.
    fn suspend(&mut self) {
        self.agent_to_screen();
        self.flush_screen();
        self.terminal.restore();
        // Where nobody could continue it, the kernel does not stop it, and the agent goes on at once.
        rustix::process::kill_current_process_group(Signal::TSTP).ok();
        self.terminal.make_raw();
        self.resize();
        rustix::io::write(&self.line, b"c").ok();
    }

    /// The terminal of an agent whose pane is gone hangs up, as the pane's own would.
    fn pane_is_gone(&mut self) {
        self.agent = None;
        self.to_screen.consume(usize::MAX);
    }

    /// Whatever happens to a request, the bytes go on.
    fn attend(&mut self) {
        let Some(mut door) = self.door.take() else { return };
        let attended = catch_unwind(AssertUnwindSafe(|| {
            let now = self.now();
            let gone = door.attend(now, |guest, arrived| self.answer(now, guest, arrived));
            if self.asked.is_some_and(|asked| gone.contains(&asked)) {
                self.arbiter.abandoned();
            }
            door
        }));
        self.door = attended.ok();
        self.go_on();
    }

    fn answer(&mut self, now: u64, guest: u64, arrived: Arrived) -> Answer {
        let screen = Screen { pastes: self.modes.paste(), output: self.output };
        match arrived {
            Err(_) => NO_MEMORY,
            Ok((Request::State { id }, _)) => self.arbiter.state(id),
            Ok((Request::Submit { id }, _)) => self.arbiter.submit(id),
            Ok((Request::Typed, _)) => self.arbiter.typed(now),
            Ok((Request::Status, _)) => Answer::Status(Status {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                child: self.child,
                name: self.name.clone(),
                ..self.arbiter.status(now, screen)
            }),
            Ok((Request::Inject(inject), body)) => {
                let answer = self.arbiter.inject(&inject, body, now, screen);
                if matches!(answer, Answer::Accepted { .. }) {
                    self.asked = Some(guest);
                }
                answer
            }
        }
    }

    /// Tells whoever asked for the injection that has just ended.
    fn tell(&mut self, ended: &Answer) {
        if let (Some(guest), Some(door)) = (self.asked.take(), &mut self.door) {
            door.tell(guest, ended);
        }
    }

    /// Leaves word of how the agent ended, before anything else can be seen of it. Without it, less is known, and no more.
    fn leave_note(&self, ending: Ending) {
        let farewell = match ending {
            Ending::Exited(status) => Farewell::Exited(status),
            Ending::Killed(signal) => Farewell::Killed(signal),
            Ending::Lost => return,
        };
        if let Some(note) = &self.note {
            farewell::leave(note, farewell).ok();
        }
    }

    /// What the agent wrote before it ended is shown to its end.
    fn last_words(&mut self) {
        loop {
            self.agent_to_screen();
            self.flush_screen();
            if self.to_screen.is_empty() {
                let left = (self.shown + LINGER_MS).saturating_sub(self.now());
                return std::thread::sleep(Duration::from_millis(left));
            }
            let mut pane = [PollFd::from_borrowed_fd(self.terminal.as_fd(), PollFlags::OUT)];
            let pause = Timespec::try_from(LAST_WORDS).ok();
            if matches!(poll(&mut pane, pause.as_ref()), Ok(0)) {
                return;
            }
        }
    }

    /// Milliseconds since the beginning.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// What there is to do.
#[derive(Clone, Copy, Debug, Default)]
struct Ready {
    signals: bool,
    line: bool,
    agent: bool,
    keys: bool,
    door: bool,
}
