//! `agtmux kill`: the agent that was meant gets the signal, what came of it is told, and nobody else is touched.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{AGTMUX, FakeAgent, SCRIPT, Terminal, TestEnvironment, is_alive, request, wait_for};

/// An agent whose interrupts do what the line says.
fn stubborn(environment: &TestEnvironment, on_interrupt: &str) -> FakeAgent {
    let agent = environment.agent("claude");
    agent.tell(&format!(
        "trap '{on_interrupt}' INT; echo armed >\"$AGENT_DIR/armed\"; while :; do sleep 100000 & wait $!; done"
    ));
    wait_for("the trap to be set", || fs::read_to_string(agent.dir.join("armed")));
    agent
}

fn state(environment: &TestEnvironment, agent: &FakeAgent, state: &str) {
    environment.wait_for_pane(&agent.pane, state, |pane| pane["state"] == state);
}

#[track_caller]
fn killed(environment: &TestEnvironment, arguments: &[&str]) -> Value {
    environment.agtmux(&[&["kill", "--yes", "--json"], arguments].concat()).ok().json()
}

#[test]
fn an_agent_is_interrupted_with_everything_it_runs() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let pid = agent.pid();
    // Without job control a child is of the agent's group. In the background it would ignore the interrupt.
    agent.tell("sleep 100000; echo survived >\"$AGENT_DIR/survived\"");
    let child = wait_for("the child", || {
        let below = agtmux::platform::processes_under(pid);
        below.iter().find(|process| process.comm == "sleep").map(|process| process.pid).ok_or("no child yet")
    });
    let document = killed(&environment, &[&agent.pane]);
    assert_eq!(document["outcome"], "ended", "{document:#}");
    assert_eq!((&document["signal"], &document["reached"]), (&json!("INT"), &json!("group")), "{document:#}");
    assert_eq!(document["snapshot"]["pid"], pid);
    assert!(["exited", "pane_closed"].contains(&document["ending"].as_str().unwrap()), "{document:#}");
    assert!(!is_alive(pid) && !is_alive(child));
    assert!(!agent.dir.join("survived").exists());
    // Who did what is in the log.
    let events = environment.agtmux(&["events", "--json"]).ok().stdout;
    assert!(events.contains("signal INT") && events.contains("INT to the group of pid"), "{events}");
}

/// The pane's shell is not the agent: it stays, unless the person wants the pane closed.
#[test]
fn the_shell_of_the_pane_survives_its_agent() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let program = environment.program("claude", SCRIPT);
    environment.start_daemon();
    let agent_at_a_prompt = || {
        let dir = environment.agent_dir();
        let pane = tmux.window("main", "exec bash --norc --noprofile -i");
        tmux.keys(&pane, &[&format!("AGENT_DIR={} {}", dir.display(), program.display()), "Enter"]);
        environment.wait_for_pane(&pane, "the agent", |pane| pane["agent"] == "claude");
        let agent = FakeAgent::new(pane, dir);
        let shell: u32 = tmux.format(&agent.pane, "#{pane_pid}").parse().unwrap();
        assert_ne!(agent.pid(), shell);
        (agent, shell)
    };
    let (agent, shell) = agent_at_a_prompt();
    let pid = agent.pid();
    let document = killed(&environment, &[&agent.pane, "--signal", "TERM"]);
    assert_eq!((&document["outcome"], &document["reached"]), (&json!("ended"), &json!("group")), "{document:#}");
    assert_eq!(document["pane"], Value::Null);
    assert!(!is_alive(pid) && is_alive(shell));
    assert_eq!(tmux.format(&agent.pane, "#{pane_pid}"), shell.to_string());

    let (agent, shell) = agent_at_a_prompt();
    let document = killed(&environment, &[&agent.pane, "--signal=kill", "--pane"]);
    assert_eq!((&document["outcome"], &document["pane"]["closed"]), (&json!("ended"), &json!(true)), "{document:#}");
    wait_for("the shell to go with its pane", || if is_alive(shell) { Err("it lives") } else { Ok(()) });
    assert!(!tmux.run(&["list-panes", "-a", "-F", "#{pane_id}"]).lines().any(|pane| pane == agent.pane));
}

/// A script that runs an agent without job control shares its group with it: the agent alone is signalled.
#[test]
fn a_script_that_runs_an_agent_is_spared() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let program = environment.program("claude", SCRIPT);
    environment.start_daemon();
    let dir = environment.agent_dir();
    let line = format!("AGENT_DIR={} {}; echo went on >went-on; exec sleep 100000", dir.display(), program.display());
    fs::write(environment.path("run.sh"), line).unwrap();
    let pane = tmux.window("main", &format!("cd {}; exec sh run.sh", environment.root().display()));
    environment.wait_for_pane(&pane, "the agent", |pane| pane["agent"] == "claude");
    let shell: u32 = tmux.format(&pane, "#{pane_pid}").parse().unwrap();
    let document = killed(&environment, &[&pane, "--signal", "TERM"]);
    assert_eq!((&document["outcome"], &document["reached"]), (&json!("ended"), &json!("process")), "{document:#}");
    wait_for("the script to go on", || fs::read_to_string(environment.path("went-on")));
    assert!(is_alive(shell));
    // What is in the pane now is not the agent's any more, so it is not closed by a kill of the agent.
    let again = environment.agtmux(&["kill", &pane, "--yes", "--pane", "--json"]);
    assert_eq!((again.code, &again.error()["code"]), (4, &json!("E_PRECONDITION_FAILED")), "{again:#?}");
    assert!(is_alive(shell));
}

#[test]
fn an_agent_that_only_stops_its_turn_is_interrupted() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = stubborn(&environment, &format!("{AGTMUX} signal idle"));
    // The agent is busy with its loop, so that somebody else tells of it.
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].clone();
    let event = json!({"state": "running", "runtime_id": runtime, "source": "signal"});
    assert_eq!(environment.post_event(&event).status, 200);
    state(&environment, &agent, "running");
    let document = killed(&environment, &[&agent.pane]);
    assert_eq!(document["outcome"], "interrupted", "{document:#}");
    assert_eq!((&document["state_before"], &document["state_after"]), (&json!("running"), &json!("idle")));
    assert!(is_alive(agent.pid()));
    let text = environment.agtmux(&["kill", &agent.pane, "--yes", "--signal", "TERM"]).ok().stdout;
    assert!(text.contains("ended at TERM"), "{text}");
}

#[test]
fn an_agent_that_does_not_care_still_runs() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = stubborn(&environment, "");
    let pid = agent.pid();
    let run = environment.agtmux(&["kill", &agent.pane, "--yes", "--wait", "300ms", "--json", "--pane"]);
    assert_eq!((run.code, &run.error()["code"]), (1, &json!("E_STILL_RUNNING")), "{run:#?}");
    assert!(run.error()["hint"].as_str().unwrap().contains("--signal TERM"), "{run:#?}");
    assert_eq!((&run.json()["outcome"], &run.json()["pane"]["closed"]), (&json!("still_running"), &json!(false)));
    assert!(is_alive(pid));
    assert_eq!(killed(&environment, &[&agent.pane, "--signal", "KILL"])["outcome"], "ended");
    assert!(!is_alive(pid));
}

#[test]
fn nobody_is_killed_unasked() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let unattended = environment.agtmux(&["kill", &agent.pane, "--json"]);
    assert_eq!((unattended.code, &unattended.error()["code"]), (2, &json!("E_USAGE")), "{unattended:#?}");
    for (answer, code) in [("n\r", 1), ("y\r", 0)] {
        assert!(is_alive(agent.pid()), "nothing was said yet");
        let mut terminal = Terminal::start(&environment, &format!("{AGTMUX} kill {}", agent.pane));
        terminal.wait_for(&format!("send INT to claude (pid {}) in pane {}", agent.pid(), agent.pane));
        terminal.keys(answer);
        assert_eq!(terminal.finish(), code);
    }
    assert!(!is_alive(agent.pid()));
}

#[test]
fn a_guard_that_does_not_hold_kills_nobody() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("running").ok();
    state(&environment, &agent, "running");
    let cases: [(&[&str], &str); 4] = [
        (&["--if-state", "idle"], "E_PRECONDITION_FAILED"),
        (&["--if-runtime", "rt_nobody"], "E_RUNTIME_STALE"),
        (&["--if-runtime", "rt_nobody", "--force-stale"], "E_RUNTIME_STALE"),
        (&["--if-state", "asleep"], "E_UNKNOWN_STATE"),
    ];
    for (guard, code) in cases {
        let run = environment.agtmux(&[&["kill", &agent.pane, "--yes", "--json"], guard].concat());
        assert_eq!(run.error()["code"], code, "{guard:?}: {run:#?}");
    }
    let run = environment.agtmux(&["kill", "%0", "--yes", "--json"]);
    assert_eq!(run.error()["code"], "E_PRECONDITION_FAILED", "a pane without an agent: {run:#?}");
    assert!(is_alive(agent.pid()));
    killed(&environment, &[&agent.pane, "--if-state", "running", "--signal", "TERM"]);
    assert!(!is_alive(agent.pid()));
}

/// I5: a pane gets another agent at the very moment in which the first is killed. The second is never touched, and every
/// refusal says why.
#[test]
fn a_successor_is_never_killed() {
    const TOGETHER: u32 = 5;
    let races: u32 = std::env::var("AGTMUX_RACES").ok().and_then(|races| races.parse().ok()).unwrap_or(500);
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let program = environment.path("bin/claude");
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let line = format!("exec {} 100000", program.display());
    environment.start_daemon();
    let panes: Vec<_> = (0..TOGETHER).map(|_| tmux.window("main", "exec sleep 100000")).collect();
    for pane in &panes {
        tmux.run(&["set-option", "-w", "-t", pane, "remain-on-exit", "on"]);
    }
    let process = |pane: &str| tmux.format(pane, "#{pane_pid}").parse::<u32>().unwrap();
    let socket = environment.socket();
    let post = |path: &str, body: &Value| request(&socket, "POST", path, &[], body.to_string().as_bytes()).unwrap();
    let (mut done, mut refused) = (0, 0);
    for round in 0..races.div_ceil(TOGETHER) {
        // tmux tells nobody of a respawn; of a new name it does, so that the first ones are found at once.
        let name = format!("round{round}");
        for pane in &panes {
            tmux.run(&["respawn-pane", "-k", "-t", pane, &line, ";", "rename-window", "-t", pane, &name]);
        }
        let race = |pane: &String, delay: Duration| {
            let first = process(pane);
            let snapshot = wait_for("a snapshot of the first", || {
                let snapshot = post("/v1/snapshots", &json!({"verb": "kill", "ref": pane})).json();
                if snapshot["pid"] == first { Ok(snapshot) } else { Err(snapshot.to_string()) }
            });
            let (answer, second) = thread::scope(|scope| {
                let respawn = scope.spawn(|| {
                    thread::sleep(delay);
                    tmux.run(&["respawn-pane", "-k", "-t", pane, &line]);
                    process(pane)
                });
                let id = &snapshot["snapshot_id"];
                let answer = post("/v1/actions/kill", &json!({"snapshot_id": id, "signal": "KILL", "wait_ms": 2000}));
                (answer, respawn.join().unwrap())
            });
            assert_ne!(first, second);
            assert!(is_alive(second), "the successor was killed: {}", answer.body);
            if answer.status == 200 {
                assert_eq!(answer.json()["snapshot"]["pid"], first);
            } else {
                assert_eq!(answer.json()["error"]["code"], "E_RUNTIME_STALE", "{}", answer.body);
            }
            answer.status == 200
        };
        thread::scope(|scope| {
            // The two meet at every distance from each other.
            let delay = |place: u32| Duration::from_millis(u64::from((round * TOGETHER + place) * 7 % 60));
            let racing: Vec<_> =
                panes.iter().zip(0..).map(|(pane, place)| scope.spawn(move || race(pane, delay(place)))).collect();
            for outcome in racing {
                if outcome.join().unwrap() { done += 1 } else { refused += 1 }
            }
        });
    }
    println!("{} races: {done} killed the one they meant, {refused} were refused", done + refused);
    assert!(refused > 0 && done > 0, "no race took place: {done} done, {refused} refused");
}
