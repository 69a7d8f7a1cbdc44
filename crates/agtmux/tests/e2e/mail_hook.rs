//! Messages that an agent is given by its own hook: without a key, once, and counted as delivered only when its record says so.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::common::{AGTMUX, FakeAgent, Run, TestEnvironment, wait_for};

const SESSION: &str = "08a8c7a0-18ba-473f-b56d-3c06225bf2d8";

/// A Claude whose hooks and record the test writes.
struct Claude<'e> {
    environment: &'e TestEnvironment,
    agent: FakeAgent,
    transcript: PathBuf,
}

impl<'e> Claude<'e> {
    fn start(environment: &'e TestEnvironment) -> Self {
        let transcript = environment.path(&format!("home/.claude/projects/p/{SESSION}.jsonl"));
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        fs::write(&transcript, "").unwrap();
        Self::go_on(environment, transcript)
    }

    /// One that is in the conversation of a record.
    fn go_on(environment: &'e TestEnvironment, transcript: PathBuf) -> Self {
        environment.start_daemon();
        let agent = environment.agent("claude");
        let claude = Self { environment, agent, transcript };
        claude.is_silent(&claude.hook("UserPromptSubmit", &json!({ "prompt": "go" })));
        claude.expect("running");
        claude
    }

    /// Has the agent run one of its hooks.
    #[track_caller]
    fn hook(&self, event: &str, rest: &Value) -> Run {
        let mut payload =
            json!({ "session_id": SESSION, "transcript_path": self.transcript, "hook_event_name": event });
        payload.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let file = self.agent.dir.join("payload");
        fs::write(&file, payload.to_string()).unwrap();
        self.agent.run(&format!("{AGTMUX} hook claude {event} <{}", file.display()))
    }

    /// The agent ends its turn.
    #[track_caller]
    fn stop(&self, goes_on: bool, background: &Value) -> Run {
        self.hook("Stop", &json!({ "stop_hook_active": goes_on, "background_tasks": background }))
    }

    #[track_caller]
    fn tool(&self, by: Option<&str>) -> Run {
        let mut payload = json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } });
        if let Some(by) = by {
            payload["agent_id"] = by.into();
        }
        self.hook("PostToolUse", &payload)
    }

    #[track_caller]
    fn is_silent(&self, run: &Run) {
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    }

    #[track_caller]
    fn expect(&self, state: &str) {
        self.environment.wait_for_pane(&self.agent.pane, state, |pane| pane["state"] == state);
    }

    #[track_caller]
    fn send(&self, id: &str, flags: &[&str]) {
        let words = ["sm", "send", &self.agent.pane, &format!("the text of {id}"), "--id", id];
        self.environment.agtmux(&[&words[..], flags].concat()).ok();
    }

    /// Adds a line to the agent's record.
    fn record(&self, line: &Value) {
        let mut file = OpenOptions::new().append(true).open(&self.transcript).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn status(&self, id: &str) -> Value {
        self.environment.agtmux(&["sm", "show", id, "--json"]).ok().json()
    }

    #[track_caller]
    fn wait_until(&self, id: &str, status: &str) -> Value {
        wait_for(&format!("{id} to be {status}"), || {
            let now = self.status(id);
            if now["status"] == status { Ok(now) } else { Err(format!("{now:#}")) }
        })
    }
}

/// What the model is given by a hook, and the ids of the messages in it.
#[track_caller]
fn given(run: &Run, event: &str) -> (String, Vec<String>) {
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let answer: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], event);
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    let ids = text.lines().filter_map(|line| line.split_once(" id=")).filter_map(|(_, rest)| rest.split_once('.'));
    let ids = ids.map(|(id, _)| id.to_owned()).collect();
    (text, ids)
}

fn attachment(text: &str) -> Value {
    json!({ "type": "attachment", "isSidechain": false,
        "attachment": { "type": "hook_additional_context", "content": [text], "hookEvent": "Stop" } })
}

fn last_why(message: &Value) -> &str {
    message["steps"].as_array().unwrap().last().unwrap()["why"].as_str().unwrap()
}

/// F63: whatever is in the composer, nothing is typed. I25: what the agent says or reads is no receipt; its record of what it was
/// given is.
#[test]
fn the_end_of_a_turn_is_answered_with_what_waits() {
    let environment = TestEnvironment::with_tmux();
    let claude = Claude::start(&environment);
    claude.send("first", &[]);
    claude.send("second", &[]);
    let (text, ids) = given(&claude.stop(false, &json!([])), "Stop");
    assert_eq!(ids, ["first", "second"]);
    assert!(text.contains("]\nthe text of first\n\n[Input from: "), "{text}");
    let first = claude.wait_until("first", "submitted");
    assert!(last_why(&first).starts_with("hook, since the agent asks it at the end of its turn"), "{first:#}");
    claude.expect("running");

    let read = json!([{ "type": "tool_result", "content": [{ "type": "text", "text": text }] }]);
    claude.record(&json!({ "type": "user", "message": { "role": "user", "content": read } }));
    claude.record(&json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": text }] } }));
    claude.record(&json!({ "type": "user", "message": { "content": "[Request interrupted by user]" } }));
    claude.expect("idle");
    assert_eq!(claude.status("first")["status"], "submitted");
    claude.record(&attachment(&text));
    for id in ["first", "second"] {
        assert_eq!(last_why(&claude.wait_until(id, "confirmed")), "transcript");
    }

    claude.is_silent(&claude.stop(true, &json!([])));
    claude.expect("completed");

    // Who wrote what, by which way it went and on what evidence, is kept with everything that is done to agents.
    let audit = environment.agtmux(&["events", "--audit", "--json"]).ok().json();
    let given: Vec<_> = audit["items"].as_array().unwrap().iter().filter(|item| item["verb"] == "send").collect();
    assert_eq!((given.len(), &given[0]["outcome"]), (1, &json!("done")), "{audit:#}");
    let detail = given[0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("mail first from ") && detail.contains("), second from "), "{detail}");
    let text = given[0]["text"].as_str().unwrap();
    assert!(text.starts_with("submitted by hook, since the agent asks it at the end of its turn: "), "{text}");
    environment.agtmux(&["audit", "verify"]).ok();
}

/// What is patient waits for what will wake the agent; what is important does not, and is given between two tools.
#[test]
fn what_is_patient_waits_for_the_end_of_everything() {
    let environment = TestEnvironment::with_tmux();
    let claude = Claude::start(&environment);
    claude.send("patient", &[]);
    claude.is_silent(&claude.tool(None));
    claude.send("between", &["--important"]);
    claude.is_silent(&claude.tool(Some("subagent")));
    assert_eq!(given(&claude.tool(None), "PostToolUse").1, ["between"]);
    let between = claude.wait_until("between", "submitted");
    assert!(last_why(&between).starts_with("hook, since the agent asks it after a tool"), "{between:#}");
    claude.expect("running");

    let subagent = json!([{ "id": "a1", "type": "subagent", "status": "running" }]);
    claude.is_silent(&claude.stop(false, &subagent));
    claude.send("behind", &["--important"]);
    assert_eq!(given(&claude.stop(false, &subagent), "Stop").1, ["behind"]);
    assert_eq!(claude.status("patient")["status"], "queued");
    assert_eq!(given(&claude.stop(false, &json!([])), "Stop").1, ["patient"]);
}

/// An agent ends a turn by itself when it was kept from that too often, and does not read the last answer.
#[test]
fn a_turn_is_not_kept_from_ending_for_ever() {
    let environment = TestEnvironment::with_tmux();
    let claude = Claude::start(&environment);
    for round in 0..5 {
        let id = format!("round{round}");
        claude.send(&id, &[]);
        assert_eq!(given(&claude.stop(round > 0, &json!([])), "Stop").1, [id]);
    }
    claude.send("late", &[]);
    claude.is_silent(&claude.stop(true, &json!([])));
    assert_ne!(claude.status("late")["status"], "submitted");
    // A release that does not say what works in the background does not read this answer either.
    claude.is_silent(&claude.hook("Stop", &json!({ "stop_hook_active": false })));
}

/// Claude Code gives its model nothing of an answer that is too long; such a message is left to the keys.
#[test]
fn what_is_too_long_for_a_hook_waits_for_the_composer() {
    let environment = TestEnvironment::with_tmux();
    let claude = Claude::start(&environment);
    let text = "x".repeat(7_000);
    environment.agtmux(&["sm", "send", &claude.agent.pane, &text, "--id", "long"]).ok();
    claude.is_silent(&claude.stop(false, &json!([])));
    claude.expect("completed");
}

/// I1, I2: what a hook was given is not given again by the next daemon, and the agent's record is read there.
#[test]
fn what_a_hook_passed_on_is_known_after_a_restart() {
    let environment = TestEnvironment::with_tmux();
    let claude = Claude::start(&environment);
    claude.send("first", &[]);
    let (text, _) = given(&claude.stop(false, &json!([])), "Stop");
    claude.wait_until("first", "submitted");
    // Which conversation it is, Claude keeps in a file of its own.
    let session = format!(
        "mkdir -p $HOME/.claude/sessions; set -- $(cat /proc/$$/stat); echo '{{\"pid\":'$$',\"procStart\":\"'${{22}}'\",\
         \"sessionId\":\"{SESSION}\",\"status\":\"busy\"}}' >$HOME/.claude/sessions/$$.json"
    );
    claude.agent.run(&session).ok();
    environment.kill_daemon();
    claude.record(&attachment(&text));
    environment.start_daemon();
    assert_eq!(last_why(&claude.wait_until("first", "confirmed")), "transcript");
    claude.is_silent(&claude.stop(true, &json!([])));
}

/// I2: an agent ended with mail under way, and another goes on with its conversation. What its record shows has arrived; what it does
/// not show is sent again and says so; what was never typed is sent as if nothing had been.
#[test]
fn whoever_goes_on_with_a_conversation_gets_what_was_missing() {
    let environment = TestEnvironment::with_tmux();
    let claude = Claude::start(&environment);
    claude.send("given", &[]);
    let (given_text, _) = given(&claude.stop(false, &json!([])), "Stop");
    claude.send("lost", &[]);
    given(&claude.stop(true, &json!([])), "Stop");
    for id in ["given", "lost"] {
        claude.wait_until(id, "submitted");
    }
    claude.send("waits", &[]);
    environment.kill_daemon();
    claude.record(&attachment(&given_text));
    claude.agent.tell("exit 0");
    wait_for("the agent to be gone", || {
        let panes = environment.tmux().run(&["list-panes", "-a", "-F", "#{pane_id}"]);
        if panes.lines().any(|pane| pane == claude.agent.pane) { Err(panes) } else { Ok(()) }
    });

    let heir = Claude::go_on(&environment, claude.transcript);
    assert_eq!(last_why(&heir.wait_until("given", "confirmed")), "transcript");
    let again = heir.wait_until("lost_r2", "queued");
    assert_eq!((&again["again_of"], &again["redelivered"]), (&"lost".into(), &true.into()), "{again:#}");
    assert_eq!(heir.status("lost")["sent_again_as"], "lost_r2");
    heir.wait_until("waits_r2", "queued");
    let dead = heir.status("waits");
    assert_eq!((&dead["status"], &dead["sent_again_as"]), (&"dead".into(), &"waits_r2".into()), "{dead:#}");
    let (text, ids) = given(&heir.stop(false, &json!([])), "Stop");
    assert_eq!(ids, ["lost_r2", "waits_r2"], "{text}");
    let marks: Vec<_> =
        text.lines().filter(|line| line.contains(" id=")).map(|line| line.contains(" redelivered=1]")).collect();
    assert_eq!(marks, [true, false], "{text}");
    heir.record(&attachment(&text));
    for id in ids {
        heir.wait_until(&id, "confirmed");
    }
    let story = environment.agtmux(&["sm", "show", "lost_r2"]).ok().stdout;
    assert!(
        story.contains(
            "again    lost, for who went on with its conversation, which the agent may have been given before"
        ),
        "{story}"
    );
}
