//! A daemon whose clocks can be moved: a library that is loaded before the C library answers for two of them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use super::run::Background;
use super::{TestEnvironment, is_alive, kill, wait_for};

const LIBRARY: &str = include_str!("clocks.c");

pub(crate) struct MovedDaemon<'e> {
    environment: &'e TestEnvironment,
    library: PathBuf,
    daemon: Option<Background>,
    moved_ms: [i64; 2],
}

impl<'e> MovedDaemon<'e> {
    /// Starts it, with the right time.
    #[track_caller]
    pub(crate) fn start(environment: &'e TestEnvironment) -> Self {
        let (source, library) = (environment.path("tmp/clocks.c"), environment.path("tmp/clocks.so"));
        fs::write(&source, LIBRARY).unwrap();
        let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let mut daemon = Self { environment, library, daemon: None, moved_ms: [0; 2] };
        daemon.write();
        daemon.run();
        daemon
    }

    /// Runs it, once it was killed.
    #[track_caller]
    pub(crate) fn run(&mut self) {
        let mut command = self.environment.command(&["daemon", "run"]);
        command.env("LD_PRELOAD", &self.library).env("MOVED_CLOCKS", self.file());
        self.daemon = Some(Background::start(&mut command));
        wait_for("the daemon to answer", || self.environment.request("GET", "/v1/health", b""));
    }

    #[track_caller]
    pub(crate) fn kill(&mut self) {
        let daemon = self.daemon.take().unwrap();
        kill(daemon.pid(), Signal::KILL);
        wait_for("the daemon to be gone", || if is_alive(daemon.pid()) { Err("it runs") } else { Ok(()) });
    }

    /// Does something while it stands still.
    pub(crate) fn stopped(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        let pid = self.daemon.as_ref().unwrap().pid();
        kill(pid, Signal::STOP);
        meanwhile(self);
        kill(pid, Signal::CONT);
    }

    /// Sets the wall clock on, or back.
    pub(crate) fn move_wall(&mut self, ms: i64) {
        self.moved_ms[0] += ms;
        self.write();
    }

    /// Lets the clock that stands still during a suspend have stood still for so long.
    pub(crate) fn move_monotonic(&mut self, ms: i64) {
        self.moved_ms[1] += ms;
        self.write();
    }

    /// What the wall clock shows to the daemon.
    pub(crate) fn wall_ms(&self) -> i64 {
        jiff::Timestamp::now().as_millisecond() + self.moved_ms[0]
    }

    fn file(&self) -> PathBuf {
        self.environment.path("tmp/clocks")
    }

    /// In place: the daemon looks at the pages of this file.
    fn write(&self) {
        let bytes: Vec<u8> = self.moved_ms.iter().flat_map(|ms| (ms * 1_000_000).to_ne_bytes()).collect();
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(self.file()).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    }
}
