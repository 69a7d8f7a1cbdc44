//! `agtmux approve` and `agtmux deny`, to an agent whose hook waits for the answer: the answer reaches the question that
//! was read, the person at the terminal is free to be first, and a hook never waits for nobody.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{AGTMUX, FakeAgent, Run, TestEnvironment, kill, wait_for};

/// A hook that was asked a question and runs in the background of its agent.
struct Waiting {
    base: PathBuf,
}

fn payload(event: &str, rest: &Value) -> Value {
    let mut payload = json!({ "session_id": "08a8c7a0-18ba-473f-b56d-3c06225bf2d8", "hook_event_name": event });
    payload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    payload
}

fn tool(event: &str, command: &str, by: Option<&str>) -> Value {
    let mut payload = payload(event, &json!({ "tool_name": "Bash", "tool_input": { "command": command } }));
    if let Some(by) = by {
        payload["agent_id"] = by.into();
    }
    payload
}

/// Has the agent tell of an event, as it would, and waits for that.
#[track_caller]
fn tell(agent: &FakeAgent, payload: &Value) {
    let file = agent.dir.join("payload");
    fs::write(&file, payload.to_string()).unwrap();
    let event = payload["hook_event_name"].as_str().unwrap();
    let told = agent.run(&format!("{AGTMUX} hook claude {event} <{}", file.display()));
    assert_eq!((told.code, told.stdout.as_str(), told.stderr.as_str()), (0, "", ""));
}

/// Has the agent ask for permission by its hook, and waits until that is known.
#[track_caller]
fn ask(environment: &TestEnvironment, agent: &FakeAgent, name: &str, payload: &Value) -> Waiting {
    let base = agent.dir.join(name);
    fs::write(base.with_extension("payload"), payload.to_string()).unwrap();
    let path = base.display();
    let hook = format!("exec {AGTMUX} hook claude PermissionRequest <{path}.payload >{path}.out 2>{path}.err");
    agent.tell(&format!(
        "( sh -c 'echo $$ >{path}.pid; {hook}'; echo $? >{path}.new; mv {path}.new {path}.rc ) </dev/null &"
    ));
    let subject = format!("Bash: {}", payload["tool_input"]["command"].as_str().unwrap());
    environment.wait_for_pane(&agent.pane, "the question", |pane| pane["prompt"]["subject"] == subject.as_str());
    Waiting { base }
}

impl Waiting {
    fn pid(&self) -> u32 {
        fs::read_to_string(self.base.with_extension("pid")).unwrap().trim().parse().unwrap()
    }

    fn still_waits(&self) -> bool {
        !self.base.with_extension("rc").exists()
    }

    /// What the hook has printed when it ended.
    #[track_caller]
    fn finish(&self) -> Run {
        let code = wait_for("the hook to end", || fs::read_to_string(self.base.with_extension("rc")));
        Run {
            code: code.trim().parse().unwrap(),
            stdout: fs::read_to_string(self.base.with_extension("out")).unwrap(),
            stderr: fs::read_to_string(self.base.with_extension("err")).unwrap(),
        }
    }

    /// The decision that the agent reads.
    #[track_caller]
    fn decision(&self) -> Value {
        let run = self.finish().ok();
        assert_eq!(run.stderr, "");
        let answer = run.json();
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PermissionRequest");
        answer["hookSpecificOutput"]["decision"].clone()
    }

    /// It ended without a word.
    #[track_caller]
    fn assert_silent(&self) {
        let run = self.finish();
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    }
}

fn prompt(environment: &TestEnvironment, agent: &FakeAgent) -> Value {
    environment.pane(&agent.pane).unwrap()["prompt"].clone()
}

#[test]
fn an_answer_reaches_the_agent_by_its_own_hook() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let asked = ask(&environment, &agent, "first", &tool("PermissionRequest", "touch x", None));
    assert!(asked.still_waits());
    let hash = prompt(&environment, &agent)["hash"].as_str().unwrap().to_owned();
    let explained = environment.agtmux(&["explain", &agent.pane]).ok().stdout;
    assert!(explained.contains(&format!("prompt      {hash} Bash: touch x")), "{explained}");
    let said = environment.agtmux(&["approve", &agent.pane, "--if-prompt", &hash[..6]]).ok();
    assert_eq!(said.stdout, format!("approved Bash: touch x (claude in {}, by its hook)\n", agent.pane));
    assert_eq!(asked.decision(), json!({ "behavior": "allow" }));
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["state"], &pane["prompt"]), (&"running".into(), &Value::Null), "known at once: {pane:#}");

    let asked = ask(&environment, &agent, "second", &tool("PermissionRequest", "rm -r /", None));
    let reason = "not that: \"make clean\"\ninstead";
    let said = environment.agtmux(&["deny", &agent.pane, "--reason", reason, "--json"]).ok().json();
    assert_eq!((&said["outcome"], &said["way"]), (&"denied".into(), &"hook".into()));
    assert_eq!(said["prompt"]["subject"], "Bash: rm -r /");
    assert_eq!(asked.decision(), json!({ "behavior": "deny", "message": reason }));

    // Each step is in the log, with who wanted it.
    let log = environment.agtmux(&["events", "--json"]).ok().json();
    let texts: Vec<_> = log["items"].as_array().unwrap().iter().filter_map(|item| item["text"].as_str()).collect();
    let action = said["action_id"].as_str().unwrap();
    let steps: Vec<_> = texts.iter().filter_map(|text| text.strip_prefix(action)).collect();
    let prepared = format!(": deny {} prepared", agent.pane);
    assert_eq!(steps, [prepared.as_str(), ": deny", ": answered \"Bash: rm -r /\" by its hook"], "{log:#}");
}

/// F: an agent that approves its own requests needs no person.
#[test]
fn an_agent_does_not_answer_itself() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let asked = ask(&environment, &agent, "first", &tool("PermissionRequest", "touch x", None));
    let refused = agent.run(&format!("{AGTMUX} approve {} --json", agent.pane));
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_NOT_ALLOWED".into()));
    assert!(asked.still_waits());
    let other = environment.agent("codex");
    let refused = other.run(&format!("{AGTMUX} approve {} --json", agent.pane));
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_NOT_ALLOWED".into()), "nor does another");
    assert!(asked.still_waits());
    environment.agtmux(&["approve", &agent.pane]).ok();
    assert_eq!(asked.decision(), json!({ "behavior": "allow" }));
}

/// The agent ends its hook when the person answers in the dialog; and should it not, the hook waits for nobody.
#[test]
fn the_person_at_the_terminal_is_free_to_be_first() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let killed = ask(&environment, &agent, "killed", &tool("PermissionRequest", "touch x", None));
    kill(killed.pid(), rustix::process::Signal::KILL);
    assert_ne!(killed.finish().code, 0);
    tell(&agent, &tool("PostToolUse", "touch x", None));
    let refused = environment.agtmux(&["approve", &agent.pane, "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()));

    let left = ask(&environment, &agent, "left", &tool("PermissionRequest", "touch y", None));
    tell(&agent, &tool("PostToolUse", "touch y", None));
    left.assert_silent();
}

#[test]
fn a_hook_waits_no_longer_than_it_may() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[approve]\nhold_seconds = 1\n");
    environment.start_daemon();
    let agent = environment.agent("claude");
    let begun = Instant::now();
    let asked = ask(&environment, &agent, "first", &tool("PermissionRequest", "touch x", None));
    asked.assert_silent();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "waiting_approval", "the dialog is still there");
}

#[test]
fn a_hook_ends_with_the_daemon() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let asked = ask(&environment, &agent, "first", &tool("PermissionRequest", "touch x", None));
    environment.kill_daemon();
    asked.assert_silent();
    environment.start_daemon();
    let asked = ask(&environment, &agent, "second", &tool("PermissionRequest", "touch y", None));
    environment.agtmux(&["daemon", "stop"]).ok();
    asked.assert_silent();
}

/// Nobody has read a prompt that has changed since, and nothing is answered then.
#[test]
fn an_answer_to_another_prompt_is_refused() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let first = ask(&environment, &agent, "first", &tool("PermissionRequest", "touch x", None));
    let hash = prompt(&environment, &agent)["hash"].as_str().unwrap().to_owned();
    tell(&agent, &tool("PostToolUse", "touch x", None));
    first.assert_silent();
    let second = ask(&environment, &agent, "second", &tool("PermissionRequest", "rm x", None));
    let refused = environment.agtmux(&["approve", &agent.pane, "--if-prompt", &hash, "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()));
    let short = environment.agtmux(&["approve", &agent.pane, "--if-prompt", &hash[..5], "--json"]);
    assert_eq!(short.code, 4);
    for reason in ["", "a\u{1b}b"] {
        assert_eq!(environment.agtmux(&["deny", &agent.pane, "--reason", reason]).code, 2, "{reason:?}");
    }
    assert!(second.still_waits());
    environment.agtmux(&["deny", &agent.pane]).ok();
    assert_eq!(second.decision(), json!({ "behavior": "deny" }));
}

/// One below the agent asks, too. Claude does not draw that dialog as long as the hook takes, so the hook does not wait, and no
/// answer meant for it goes to the agent's own question.
#[test]
fn what_one_below_asks_is_answered_in_its_dialog() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let first = ask(&environment, &agent, "first", &tool("PermissionRequest", "touch x", None));
    let second = ask(&environment, &agent, "second", &tool("PermissionRequest", "touch y", Some("below")));
    second.assert_silent();
    let refused = environment.agtmux(&["deny", &agent.pane, "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()), "{refused:#?}");
    assert!(first.still_waits());
    // With its dialog on the screen one key answers it.
    let key = draw(&agent, "touch y", CLEAR);
    environment.agtmux(&["deny", &agent.pane]).ok();
    assert_eq!(wait_for("the key", || fs::read_to_string(&key)), "3");
    assert!(first.still_waits());
}

/// A question in words is the person's to answer, and its hook does not wait.
#[test]
fn a_question_in_words_is_not_answered() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let input = json!({ "questions": [{ "question": "Which?", "options": [{ "label": "a" }, { "label": "b" }] }] });
    tell(&agent, &payload("PermissionRequest", &json!({ "tool_name": "AskUserQuestion", "tool_input": input })));
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "waiting_input");
    let refused = environment.agtmux(&["approve", &agent.pane, "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()));
}

/// Clears the screen.
const CLEAR: &str = "printf '\\033[2J\\033[H'; ";

/// Has the agent draw a dialog and wait for one key, as Claude Code would, and then do something. The key is in the file that
/// is returned.
#[track_caller]
fn draw(agent: &FakeAgent, command: &str, then: &str) -> PathBuf {
    let key = agent.dir.join(format!("key-{}", command.replace(|c: char| !c.is_ascii_alphanumeric(), "")));
    let rows = [
        "\\033[2J\\033[H\\033[38;5;153m────────────────────\\033[0m",
        " Bash command",
        &format!(" {command}"),
        " Do you want to proceed?",
        " \\033[38;5;153m❯\\033[0m 1. Yes",
        "   2. Yes, and always allow this",
        "   3. No",
        "",
        " Esc to cancel · Tab to amend\\033[5;2H",
    ];
    let path = key.display();
    agent.tell(&format!(
        "stty raw -echo </dev/tty; printf '%b' '{}' >/dev/tty; ( dd bs=1 count=1 of={path}.new </dev/tty 2>/dev/null; {then}mv {path}.new {path} ) &",
        rows.join("\\r\\n")
    ));
    key
}

/// Where no hook waits, a key is pressed at the dialog: the one of the answer that is meant, once, and at no other dialog.
#[test]
fn a_key_answers_the_dialog_that_was_read() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    for (verb, command, key) in [("approve", "touch one", "1"), ("deny", "touch two", "3")] {
        let pressed = draw(&agent, command, CLEAR);
        tell_unheld(&agent, &tool("PermissionRequest", command, None));
        let said = environment.agtmux(&[verb, &agent.pane, "--json"]).ok().json();
        assert_eq!((&said["way"], &said["prompt"]["subject"]), (&"keys".into(), &format!("Bash: {command}").into()));
        assert_eq!(wait_for("the key", || fs::read_to_string(&pressed)), key, "{verb}");
        tell(&agent, &tool("PostToolUse", command, None));
    }
    // Another dialog than the one that the hook told of.
    let pressed = draw(&agent, "rm three", CLEAR);
    tell_unheld(&agent, &tool("PermissionRequest", "touch three", None));
    let refused = environment.agtmux(&["approve", &agent.pane, "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()));
    assert!(!pressed.exists(), "no key was pressed");
    let refused = environment.agtmux(&["deny", &agent.pane, "--reason", "no", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (4, &"E_PRECONDITION_FAILED".into()));
    // One that does not go away: said, and not tried again.
    environment.tmux().run(&["send-keys", "-t", &agent.pane, "x"]);
    wait_for("the dialog to be over", || fs::read_to_string(&pressed));
    tell(&agent, &tool("PostToolUse", "touch three", None));
    let pressed = draw(&agent, "touch four", "");
    tell_unheld(&agent, &tool("PermissionRequest", "touch four", None));
    let unconfirmed = environment.agtmux(&["approve", &agent.pane, "--json"]);
    assert_eq!((unconfirmed.code, &unconfirmed.error()["code"]), (1, &"E_UNCONFIRMED".into()));
    assert_eq!(wait_for("the key", || fs::read_to_string(&pressed)), "1");
}

/// Whatever is seen of the agent afterwards, a key that was pressed was pressed, and nobody is told that nothing was done.
#[test]
fn a_key_that_ends_the_agent_was_pressed() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let pressed = draw(&agent, "touch one", "kill -KILL $$; ");
    tell_unheld(&agent, &tool("PermissionRequest", "touch one", None));
    let unconfirmed = environment.agtmux(&["approve", &agent.pane, "--json"]);
    assert_eq!((unconfirmed.code, &unconfirmed.error()["code"]), (1, &"E_UNCONFIRMED".into()), "{unconfirmed:#?}");
    // The hangup of the pane may come before the file has its name.
    let key = || fs::read_to_string(&pressed).or_else(|_| fs::read_to_string(pressed.with_extension("new")));
    assert_eq!(wait_for("the key", key), "1");
    let audit = environment.agtmux(&["events", "--audit", "--json"]).ok().json();
    let last = audit["items"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["verb"], &last["outcome"]), (&"approve".into(), &"done".into()), "{last:#}");
}

/// As [`tell`], by a hook whose settings do not name the event: it does not wait.
#[track_caller]
fn tell_unheld(agent: &FakeAgent, payload: &Value) {
    let file = agent.dir.join("payload");
    fs::write(&file, payload.to_string()).unwrap();
    agent.run(&format!("{AGTMUX} hook claude <{}", file.display())).ok();
}
