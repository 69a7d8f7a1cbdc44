//! The daemon killed at its nth write, from `sm send` to the end of the message: nothing is lost, nothing typed twice, and nothing
//! said to be confirmed that the agent was not given (I1, I2, I25); and what a person has left in the composer is there in the end (I3).
//!
//! A tracer kills the daemon on entry to a system call. The agent is a composer that outlives it and writes down what it is given;
//! the next daemon is started by whoever asks for the message. `AGTMUX_KILLS` sets how many calls are tried (24 unless given), spread
//! evenly over all calls of all scenes; `AGTMUX_SCENE` names one of them to be played alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{AGTMUX, Background, Composer, Opencode, TestEnvironment, is_alive, kill, wait_for};

/// The calls by which the daemon changes anything outside of itself. Each is counted alone, so that one that is frequent does not hide
/// the others.
const CALLS: [&str; 6] = ["pwrite64", "fsync", "write", "writev", "sendto", "connect"];

/// How many environments are used at the same time: most of the time of each is spent waiting.
const SIDE_BY_SIDE: usize = 4;

/// How long a message may take to its end, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens while the daemon is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    /// A message to an agent in the wrapper that has nothing to do.
    AtOnce,
    /// Two messages to one that is busy at first.
    Together,
    /// A message to an agent without the wrapper.
    Bare,
    /// A message to one that ends its turn, and reads what its hook prints then.
    ByHook,
    /// An urgent message to one whose turn has to be interrupted.
    Urgent,
    /// A message to one in whose composer somebody has left a text.
    Draft,
    /// A message to one that has a server of its own; and an urgent one, for which the server ends a turn.
    Served,
    ServedUrgent,
    /// A message to one that has a plugin.
    Plugged,
}

const SCENES: [Scene; 9] = [
    Scene::AtOnce,
    Scene::Together,
    Scene::Bare,
    Scene::ByHook,
    Scene::Urgent,
    Scene::Draft,
    Scene::Served,
    Scene::ServedUrgent,
    Scene::Plugged,
];

/// A text that is left alone makes room soon, and is cleared by keys, so that the daemon has to keep it.
const CONFIG: &str = "[mail]\ninput_poll_interval = 1\ninput_stale_timeout = 1\n";
const CLEARED: &str = "contract = 1\nextends = \"claude\"\naside = { clear = [\"C-e\", \"C-u\"] }\n";

/// What somebody has left.
const LEFT: &str = "half a thought";

/// Where the daemon is killed.
#[derive(Clone, Copy, Debug)]
struct Point {
    scene: Scene,
    call: &'static str,
    nth: usize,
}

/// What was found.
#[derive(Default)]
struct Found {
    killed: usize,
    survived: usize,
    messages: usize,
    confirmed: usize,
    unconfirmed: usize,
    unconfirmed_and_given: usize,
    by_hook: usize,
    by_server: usize,
    interrupted: usize,
    put_aside: usize,
    wrong: Vec<String>,
}

#[test]
fn a_daemon_killed_at_any_write_loses_no_message_and_types_none_twice() {
    if Command::new("strace").arg("-V").output().is_err() {
        println!("skipped: strace is not installed");
        return;
    }
    let wanted: usize = std::env::var("AGTMUX_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(24);
    let points = points(wanted);
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Found::default()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE.min(wanted) {
            scope.spawn(|| {
                let mut rig = Rig::new();
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    rig.try_at(*point, &found);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    println!(
        "{} kills ({} more calls were not reached), {} messages: {} confirmed, {} unconfirmed of which {} were given; {} went by a hook and {} by a \
         server, for {} a turn was interrupted, and for {} a text put aside; {} wrong",
        found.killed,
        found.survived,
        found.messages,
        found.confirmed,
        found.unconfirmed,
        found.unconfirmed_and_given,
        found.by_hook,
        found.by_server,
        found.interrupted,
        found.put_aside,
        found.wrong.len()
    );
    assert!(found.wrong.is_empty(), "{}", found.wrong.join("\n"));
    assert!(found.killed * 2 > points.len(), "most calls should be reached: {} of {}", found.killed, points.len());
}

/// So many points, spread over all there are. The same point again is another moment of the other threads.
fn points(wanted: usize) -> Vec<Point> {
    let mut rig = Rig::new();
    let only = std::env::var("AGTMUX_SCENE").ok();
    let is_wanted = |scene: &Scene| only.as_ref().is_none_or(|only| format!("{scene:?}") == *only);
    let grid: Vec<_> = SCENES.into_iter().filter(is_wanted).flat_map(|scene| rig.calls_of(scene)).collect();
    assert!(!grid.is_empty());
    (0..wanted).map(|n| grid[if wanted < grid.len() { n * grid.len() / wanted } else { n % grid.len() }]).collect()
}

/// A daemon and its tracer.
struct Traced {
    _tracer: Background,
    daemon: u32,
}

/// An environment with an agent of each kind. They live through all kills.
struct Rig {
    environment: TestEnvironment,
    wrapped: Composer,
    bare: Composer,
    reading: Composer,
    drafted: Composer,
    plugged: Composer,
    served: Opencode,
    number: usize,
}

impl Rig {
    fn new() -> Self {
        let environment = TestEnvironment::with_tmux();
        environment.configure(CONFIG);
        fs::create_dir_all(environment.path("config/agtmux/agents")).unwrap();
        fs::write(environment.path("config/agtmux/agents/mine.toml"), CLEARED).unwrap();
        environment.start_daemon();
        let wrapped = Composer::start_wrapped(&environment, "tells=1");
        let [bare, drafted] = ["tells=1", "tells=1"].map(|manners| Composer::start(&environment, manners));
        let reading = Composer::start(&environment, "reads=1");
        let plugged = Composer::start(&environment, "plugin=1 tells=1");
        environment.tmux().run(&["send-keys", "-t", &drafted.pane, "-l", LEFT]);
        let served = Opencode::start(&environment);
        environment.agtmux(&["daemon", "stop"]).ok();
        Self { environment, wrapped, bare, reading, drafted, plugged, served, number: 0 }
    }

    /// Counts the calls of a scene, by the thread that makes most of each.
    fn calls_of(&mut self, scene: Scene) -> Vec<Point> {
        let trace = self.environment.path("tmp/trace");
        let calls = format!("trace={}", CALLS.join(","));
        let daemon = self.traced(scene, &["-o", &trace.display().to_string(), "-e", &calls]);
        let ids = self.send(scene);
        ids.iter().for_each(|id| drop(self.end_of(scene, id)));
        let threads = fs::read_dir(format!("/proc/{}/task", daemon.daemon)).unwrap();
        let threads: BTreeSet<_> = threads.map(|thread| thread.unwrap().file_name().into_string().unwrap()).collect();
        self.stop(daemon);
        let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
        for line in fs::read_to_string(&trace).unwrap().lines() {
            let Some((thread, rest)) = line.trim().split_once(' ') else { continue };
            let Some((call, _)) = rest.trim().split_once('(').filter(|_| threads.contains(thread)) else { continue };
            *counts.entry((call.to_owned(), thread.to_owned())).or_default() += 1;
        }
        let most = |wanted: &str| {
            counts.iter().filter(|((call, _), _)| call == wanted).map(|(_, count)| *count).max().unwrap_or(0)
        };
        println!("{scene:?}: {}", CALLS.map(|call| format!("{call} {}", most(call))).join(", "));
        CALLS.into_iter().flat_map(|call| (1..=most(call)).map(move |nth| Point { scene, call, nth })).collect()
    }

    fn try_at(&mut self, point: Point, found: &Mutex<Found>) {
        let Point { scene, call, nth } = point;
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:signal=SIGKILL:when={nth}"));
        let daemon = self.traced(scene, &["-o", "/dev/null", "-e", &trace, "-e", &inject]);
        let ids = self.send(scene);
        let ends: Vec<_> = ids.iter().map(|id| (id.clone(), self.end_of(scene, id))).collect();
        let was_killed = !is_alive(daemon.daemon);
        let is_kept = scene != Scene::Draft || self.draft_is_back();
        let unended = ends.iter().any(|(_, end)| end["verdict"].is_null());
        let sight = if unended || !is_kept { self.sight(scene) } else { String::new() };
        self.clear(scene);
        self.stop(daemon);
        let given = self.given(scene).join("\n");
        let mut found = found.lock().unwrap();
        *(if was_killed { &mut found.killed } else { &mut found.survived }) += 1;
        if !is_kept || given.contains(LEFT) {
            found.wrong.push(format!("{point:?}: what somebody left is not where it was\n{sight}\n{given}"));
        }
        for (id, end) in ends {
            found.messages += 1;
            found.by_hook += usize::from(end["steps"].to_string().contains("hook, since the agent asks it"));
            found.by_server += usize::from(end["channel"] == "server");
            found.interrupted += usize::from(end["interrupted"] == true);
            found.put_aside += usize::from(scene == Scene::Draft && end["verdict"] == "confirmed");
            let times = given.matches(&format!("id={id}.")).count();
            let verdict = end["verdict"].as_str().unwrap_or("none");
            let is_right = match verdict {
                "confirmed" => {
                    found.confirmed += 1;
                    times == 1
                }
                "unconfirmed" => {
                    found.unconfirmed += 1;
                    found.unconfirmed_and_given += usize::from(times == 1);
                    times <= 1
                }
                _ => false,
            };
            if !is_right {
                found.wrong.push(format!("{point:?}: given {times} times, and {end:#}\n{sight}"));
            }
        }
    }

    /// Whom the messages of a scene are for; none if that is who has a server.
    fn composer(&self, scene: Scene) -> Option<&Composer> {
        match scene {
            Scene::AtOnce | Scene::Together => Some(&self.wrapped),
            Scene::Bare => Some(&self.bare),
            Scene::ByHook | Scene::Urgent => Some(&self.reading),
            Scene::Draft => Some(&self.drafted),
            Scene::Plugged => Some(&self.plugged),
            Scene::Served | Scene::ServedUrgent => None,
        }
    }

    fn pane(&self, scene: Scene) -> &str {
        self.composer(scene).map_or(&self.served.pane, |composer| &composer.pane)
    }

    /// What they were given.
    fn given(&self, scene: Scene) -> Vec<String> {
        self.composer(scene).map_or_else(|| self.served.submitted(), Composer::submitted)
    }

    /// Has the agent of a scene do something.
    fn tell(&self, scene: Scene, word: &str) {
        self.composer(scene).into_iter().for_each(|composer| composer.tell(word));
    }

    /// Sends the messages of a scene, again and again until each is accepted. Gives their ids.
    fn send(&mut self, scene: Scene) -> Vec<String> {
        match scene {
            Scene::Together => self.tell(scene, "busy"),
            Scene::ByHook | Scene::Urgent => self.tell(scene, "turn"),
            Scene::ServedUrgent => self.served.begin_turn(),
            Scene::AtOnce | Scene::Bare | Scene::Draft | Scene::Served | Scene::Plugged => {}
        }
        let is_urgent = matches!(scene, Scene::Urgent | Scene::ServedUrgent);
        let count = if scene == Scene::Together { 2 } else { 1 };
        let ids: Vec<_> = (0..count).map(|n| format!("k{}_{n}", self.number)).collect();
        for id in &ids {
            wait_for("a message to be accepted", || {
                let words = ["sm", "send", self.pane(scene), "hello", "--id", id, "--json", "--urgent"];
                let run = self.environment.agtmux(if is_urgent { &words } else { &words[..7] });
                // Whoever is shown the message knows that it is accepted, whatever came of it.
                if run.stdout.is_empty() { Err(run.stderr) } else { Ok(()) }
            });
        }
        if matches!(scene, Scene::Together | Scene::ByHook) {
            self.tell(scene, "idle");
        }
        self.number += 1;
        ids
    }

    /// Waits for the end of a message. Whoever asks starts the next daemon. What comes to no end is given as it stands.
    fn end_of(&self, scene: Scene, id: &str) -> Value {
        let started = Instant::now();
        loop {
            let run = self.environment.agtmux(&["sm", "show", id, "--json"]);
            let now = if run.code == 0 { run.json() } else { Value::from(run.stderr) };
            if !now["verdict"].is_null() || started.elapsed() > PATIENCE {
                return now;
            }
            let steps = now["steps"].as_array().map_or(&[][..], Vec::as_slice);
            if steps.last().is_some_and(|step| step["why"].to_string().contains("text is in the composer")) {
                self.clear(scene);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether what somebody has left in the composer is there, in the end. What of a message a daemon left there, and nobody will submit any
    /// more, they take away first.
    fn draft_is_back(&self) -> bool {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let shown = self.environment.tmux().run(&["capture-pane", "-p", "-t", &self.drafted.pane]);
            if shown.contains(&format!("❯\u{a0}{LEFT}\n")) {
                return true;
            }
            if shown.contains("❯\u{a0}[Input from") {
                self.environment.tmux().keys(&self.drafted.pane, &["C-u"]);
            }
            // Whoever asks starts the next daemon.
            self.environment.agtmux(&["sm", "queue", &self.drafted.pane]);
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    /// What can be seen of an agent, for whoever wonders why it was given nothing.
    fn sight(&self, scene: Scene) -> String {
        let pane = self.pane(scene);
        let explained = self.environment.agtmux(&["explain", pane]).stdout;
        format!("{explained}\n{}", self.environment.tmux().run(&["capture-pane", "-p", "-t", pane]))
    }

    /// What a daemon left half typed, and the next one did not dare to submit, keeps later messages waiting; a person takes it away.
    fn clear(&self, scene: Scene) {
        if scene == Scene::Draft {
            return;
        }
        match self.composer(scene) {
            Some(composer) => self.environment.tmux().keys(&composer.pane, &["C-u"]),
            None => self.served.end_turn(),
        }
    }

    /// Starts a daemon under the tracer, and waits until it answers, and hears the server that its scene is about, or is dead.
    fn traced(&self, scene: Scene, arguments: &[&str]) -> Traced {
        let introductions = self.served.introductions();
        let mut command = Command::new("strace");
        command.args(["-f", "-qq"]).args(arguments).args([AGTMUX, "daemon", "run"]);
        command.env_clear().current_dir(self.environment.root()).stdin(Stdio::null());
        for (name, value) in self.environment.command(&[]).get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        // The tracer counts the calls of each thread alone.
        command.env("TOKIO_WORKER_THREADS", "1");
        let tracer = Background::start(&mut command);
        let children = format!("/proc/{0}/task/{0}/children", tracer.pid());
        // The tracer has short-lived children of its own.
        let is_daemon = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(AGTMUX));
        let daemon = wait_for("the tracer to start the daemon", || {
            let children = fs::read_to_string(&children).unwrap_or_default();
            children.split(' ').filter_map(|pid| pid.parse().ok()).find(is_daemon).ok_or("it has no such child")
        });
        let started = Instant::now();
        let is_ready = || {
            let is_heard = self.composer(scene).is_some() || self.served.introductions() > introductions;
            is_heard && self.environment.request("GET", "/v1/health", b"").is_ok()
        };
        while !is_ready() && is_alive(daemon) {
            assert!(started.elapsed() < PATIENCE, "the daemon neither answers nor ends");
            std::thread::sleep(Duration::from_millis(5));
        }
        Traced { _tracer: tracer, daemon }
    }

    /// Ends whatever daemon runs now.
    fn stop(&self, traced: Traced) {
        let status = self.environment.agtmux(&["daemon", "status", "--json"]);
        if status.code == 0 {
            let pid = u32::try_from(status.json()["pid"].as_u64().unwrap()).unwrap();
            kill(pid, Signal::KILL);
            wait_for("the daemon to be gone", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
        }
        drop(traced);
    }
}
