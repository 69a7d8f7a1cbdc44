//! A reader at work, agents to read of, and what it tells.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use agtmux_agents::Registry;
use agtmux_core::id::{AgentId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId};
use agtmux_core::state::{State, Verdict};
use agtmux_core::time::Timestamp;
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

use crate::daemon::roster::{Conversation, Member, Roster, unknown};
use crate::ingest::files::reader::Reader;
use crate::ingest::files::trace::Told;
use crate::platform;
use crate::target::manifests::Manifests;

/// Long enough for a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_secs(20);

/// A reader and everything around it. Dropped, it ends the agents and the reader.
pub(super) struct Desk {
    dir: TempDir,
    roster: watch::Sender<Arc<Roster>>,
    heard: mpsc::Receiver<Told>,
    waker: Option<UnixStream>,
    reader: Option<JoinHandle<()>>,
    agents: Vec<Child>,
}

impl Desk {
    pub(super) fn new() -> Self {
        let (roster, members) = watch::channel(Arc::default());
        let (waker, wake) = UnixStream::pair().unwrap();
        wake.set_nonblocking(true).unwrap();
        let (told, heard) = mpsc::channel(16);
        let reader = Reader::new(members, Manifests::new(Registry::builtin()).1, told);
        let reader = Some(thread::spawn(move || reader.run(&wake)));
        let dir = tempfile::tempdir().unwrap();
        Self { dir, roster, heard, waker: Some(waker), reader, agents: Vec::new() }
    }

    /// A path in the directory of the test, which is the home of all agents.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    /// A process with these variables; values that begin with `./` are paths in the directory of the test.
    pub(super) fn process(&mut self, variables: &[(&str, &str)]) -> ProcessKey {
        let mut command = Command::new("sleep");
        command.arg("600").env_clear().env("HOME", self.dir.path()).stdin(Stdio::null()).current_dir(self.dir.path());
        for (name, value) in variables {
            match value.strip_prefix("./") {
                Some(path) => command.env(name, self.path(path)),
                None => command.env(name, value),
            };
        }
        let child = command.spawn().unwrap();
        let pid = child.id();
        self.agents.push(child);
        let started = Instant::now();
        while platform::process_argv(pid).is_empty() {
            assert!(started.elapsed() < DEADLINE, "the child has no arguments");
        }
        key(pid)
    }

    /// A process that has a file open.
    pub(super) fn process_that_reads(&mut self, file: &Path) -> ProcessKey {
        let mut command = Command::new("sleep");
        command.arg("600").env_clear().env("HOME", self.dir.path()).stdin(fs::File::open(file).unwrap());
        let child = command.spawn().unwrap();
        let pid = child.id();
        self.agents.push(child);
        key(pid)
    }

    /// A process that has started another one and waits for it.
    pub(super) fn launcher(&mut self) -> ProcessKey {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600; exit"]).env_clear().env("HOME", self.dir.path()).stdin(Stdio::null());
        command.process_group(0);
        let child = command.spawn().unwrap();
        let pid = child.id();
        self.agents.push(child);
        key(pid)
    }

    /// The process that a launcher has started.
    pub(super) fn child_of(&self, launcher: ProcessKey) -> ProcessKey {
        let started = Instant::now();
        loop {
            let below = platform::processes_under(launcher.pid);
            if let Some(child) = below.iter().find(|process| process.comm == "sleep") {
                return key(child.pid);
            }
            assert!(started.elapsed() < DEADLINE, "the launcher has started nothing");
        }
    }

    /// Kills an agent and waits until it is gone.
    pub(super) fn kill(&mut self, process: ProcessKey) {
        let agent = self.agents.iter_mut().find(|agent| agent.id() == process.pid).unwrap();
        agent.kill().unwrap();
        agent.wait().unwrap();
    }

    /// An agent with these variables joins the roster.
    pub(super) fn agent(&mut self, agent: &str, variables: &[(&str, &str)]) -> Member {
        let process = self.process(variables);
        self.join(agent, process)
    }

    /// A process joins the roster as an agent.
    pub(super) fn join(&self, agent: &str, process: ProcessKey) -> Member {
        let number = self.roster.borrow().len();
        let server = ServerId::new("s");
        let member = Member {
            runtime: RuntimeId::new(format!("rt{number}")),
            agent: AgentId::new(agent),
            pane: PaneKey { server, pane: PaneId(0) },
            socket: PathBuf::new(),
            process,
            started_at: Timestamp(0),
            verdict: unknown(),
            conversation: None,
        };
        self.change_roster(|roster| {
            roster.insert(member.runtime.clone(), Arc::new(member.clone()));
        });
        member
    }

    /// Something becomes known of a member's conversation.
    pub(super) fn learn(&self, member: &Member, conversation: Option<Conversation>) {
        let member = Member { conversation, ..member.clone() };
        self.change_roster(|roster| {
            roster.insert(member.runtime.clone(), Arc::new(member));
        });
    }

    /// A member is shown in a state, since so many milliseconds after 1970.
    pub(super) fn show(&self, member: &Member, state: State, since: i64) {
        let verdict = Verdict { state, since: Timestamp(since), ..member.verdict.clone() };
        let member = Member { verdict, ..member.clone() };
        self.change_roster(|roster| {
            roster.insert(member.runtime.clone(), Arc::new(member));
        });
    }

    pub(super) fn leave(&self, member: &Member) {
        self.change_roster(|roster| {
            roster.remove(&member.runtime);
        });
    }

    fn change_roster(&self, change: impl FnOnce(&mut Roster)) {
        self.roster.send_modify(|roster| change(Arc::make_mut(roster)));
        self.waker.as_ref().unwrap().write_all(&[0]).unwrap();
    }

    /// What is told next, as text. Conversations and trouble are told in their own words.
    #[track_caller]
    pub(super) fn next(&mut self) -> String {
        let started = Instant::now();
        loop {
            match self.heard.try_recv() {
                Ok(told) => return shown(&told, self.dir.path()),
                Err(_) => assert!(started.elapsed() < DEADLINE, "nothing was told"),
            }
            sleep(Duration::from_millis(1));
        }
    }

    /// What is told next, until something is told that ends so.
    #[track_caller]
    pub(super) fn until(&mut self, last: &str) -> Vec<String> {
        let mut told = vec![self.next()];
        while !told.last().unwrap().ends_with(last) {
            told.push(self.next());
        }
        told
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        for agent in &mut self.agents {
            // What a launcher started would outlive it.
            kill_process_group(Pid::from_child(agent), Signal::KILL).ok();
            agent.kill().unwrap();
            agent.wait().unwrap();
        }
        drop(self.waker.take());
        // Whoever waits to be heard waits in vain.
        self.heard.close();
        let ended = self.reader.take().unwrap().join();
        assert!(ended.is_ok() || thread::panicking(), "the reader failed");
    }
}

fn key(pid: u32) -> ProcessKey {
    ProcessKey { pid, start: platform::process_stat(pid).unwrap().start }
}

fn shown(told: &Told, dir: &Path) -> String {
    let text = match told {
        Told::Said(said) => {
            let who = said.claim.runtime.as_ref().unwrap();
            let readings = said.readings.iter().map(|reading| {
                let signal = serde_json::to_string(&reading.signal).unwrap();
                reading.message.as_ref().map_or(signal.clone(), |message| format!("{signal} {message}"))
            });
            format!("{who} {}: {}", said.source.name(), readings.collect::<Vec<_>>().join(", "))
        }
        Told::Conversation(who, conversation) => {
            let standing = conversation.standing.as_ref().map_or(String::new(), |path| format!(" {}", path.display()));
            format!("{who} converses in {}{standing}", conversation.session.as_deref().unwrap_or("-"))
        }
        Told::Given(who, text) => format!("{who} was given {text}"),
        Told::Trouble(trouble) => format!("trouble: {}", trouble.as_deref().unwrap_or("none")),
    };
    text.replace(&dir.display().to_string(), "[DIR]")
}
