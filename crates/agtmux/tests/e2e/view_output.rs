//! `agtmux view-output`: what an agent printed, bounded, without secrets, and without anything that a terminal obeys.

use std::fs;

use serde_json::{Value, json};

use crate::common::{AGTMUX, FakeAgent, TestEnvironment, wait_for};

fn printing(environment: &TestEnvironment, line: &str) -> FakeAgent {
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.tell(line);
    agent
}

/// Waits until the output is as the test wants it: an agent prints when it comes to it.
#[track_caller]
fn view(environment: &TestEnvironment, arguments: &[&str], wanted: impl Fn(&Value) -> bool) -> Value {
    wait_for("the output", || {
        let run = environment.agtmux(&[&["view-output", "--json"], arguments].concat());
        let shown: Value = serde_json::from_str(&run.stdout).map_err(|_not_json| run.stderr.clone())?;
        if run.code == 0 && wanted(&shown) { Ok(shown) } else { Err(format!("{shown:#}")) }
    })
}

fn last_is(text: &'static str) -> impl Fn(&Value) -> bool {
    move |shown| shown["lines"].as_array().and_then(|lines| lines.last()).is_some_and(|line| line == text)
}

#[test]
fn the_last_lines_are_shown() {
    let environment = TestEnvironment::with_tmux();
    let agent = printing(&environment, "i=1; while [ $i -le 300 ]; do echo line $i; i=$((i+1)); done");
    let shown = view(&environment, &[&agent.pane], last_is("line 300"));
    assert_eq!((&shown["source"], &shown["truncated"]), (&json!("scrollback"), &json!(true)), "{shown:#}");
    let lines = shown["lines"].as_array().unwrap();
    assert_eq!((lines.len(), &lines[0]), (100, &json!("line 201")));
    let few = environment.agtmux(&["view-output", &agent.pane, "-n", "2"]).ok();
    assert_eq!(few.stdout, "line 299\nline 300\n");
    assert!(few.stderr.contains("screen and scrollback; there is more above"), "{}", few.stderr);
    let all = view(&environment, &[&agent.pane, "--lines", "10000"], last_is("line 300"));
    assert_eq!((&all["truncated"], &all["lines"][0]), (&json!(false), &json!("line 1")));
    for wrong in ["0", "10001"] {
        let refused = environment.agtmux(&["view-output", &agent.pane, "--lines", wrong, "--json"]);
        assert_eq!((refused.code, &refused.error()["code"]), (2, &json!("E_USAGE")), "{refused:#?}");
    }
    // To look is an action, too: who did it is in the log.
    let events = environment.agtmux(&["events", "--json"]).ok().stdout;
    assert!(events.contains("lines of its scrollback"), "{events}");
    // A pane without an agent can be looked at as well.
    assert_eq!(environment.agtmux(&["view-output", "%0"]).ok().stdout, "");
    let guarded = environment.agtmux(&["view-output", &agent.pane, "--if-runtime", "rt_nobody", "--json"]);
    assert_eq!((guarded.code, &guarded.error()["code"]), (4, &json!("E_RUNTIME_STALE")), "{guarded:#?}");
}

/// A marker is for us, and not for whoever reads along.
#[test]
fn markers_are_left_out() {
    let environment = TestEnvironment::with_tmux();
    let agent = printing(&environment, "echo before; echo '--<[schmux:working:on it]>--'; echo after");
    let shown = view(&environment, &[&agent.pane], last_is("after"));
    assert_eq!(shown["lines"], json!(["before", "after"]), "{shown:#}");
    let raw = view(&environment, &[&agent.pane, "--raw"], last_is("after"));
    assert_eq!(raw["lines"], json!(["before", "--<[schmux:working:on it]>--", "after"]), "{raw:#}");
}

#[test]
fn secrets_and_sequences_stay_behind() {
    let environment = TestEnvironment::with_tmux();
    let secret = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
    let line = format!("printf '\\033[31mred\\033[0m \\033]0;title\\007token {secret}\\n\\033[1mbold\\033[0m end\\n'");
    let agent = printing(&environment, &line);
    let shown = view(&environment, &[&agent.pane], last_is("bold end"));
    assert_eq!(shown["redacted"], true);
    let text = shown["lines"].to_string();
    assert!(text.contains("red token [redacted:") && !text.contains("ghp_") && !text.contains("u001b"), "{text}");
    let ansi = environment.agtmux(&["view-output", &agent.pane, "--ansi"]).ok().stdout;
    assert!(ansi.contains("\u{1b}[1mbold\u{1b}[0m"), "{ansi:?}");
    assert!(!ansi.contains("ghp_") && !ansi.contains("\u{1b}]"), "{ansi:?}");
}

/// An agent that has the whole screen leaves nothing above it: its own record is read, once it is known.
#[test]
fn a_conversation_is_read_from_its_record() {
    let environment = TestEnvironment::with_tmux();
    let agent = printing(&environment, "echo before; printf '\\033[?1049h\\033[Hall of it\\n'");
    let shown = view(&environment, &[&agent.pane], |shown| shown["source"] == "screen");
    assert_eq!(shown["lines"], json!(["all of it"]), "{shown:#}");
    let record = environment.path("home/record.jsonl");
    let lines = [
        json!({"type": "user", "message": {"content": "say hello"}}),
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "\u{1b}[2Jhello"},
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}]}}),
    ];
    fs::write(&record, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    let hook = json!({"hook_event_name": "SessionStart", "session_id": "s", "transcript_path": record});
    fs::write(environment.path("hook.json"), hook.to_string()).unwrap();
    agent.run(&format!("{AGTMUX} hook claude <{}", environment.path("hook.json").display())).ok();
    let shown = view(&environment, &[&agent.pane], |shown| shown["source"] == "transcript");
    assert_eq!(shown["lines"], json!(["> say hello", "hello", "* Bash(ls)"]), "{shown:#}");
}

/// What comes is shown as it comes, once, and what keeps changing once it stands still. It is one action, and ends with the agent.
#[test]
fn what_comes_is_followed_to_the_end() {
    let environment = TestEnvironment::with_tmux();
    let agent = printing(&environment, "echo one; echo two");
    view(&environment, &[&agent.pane], last_is("two"));
    let log = environment.path("followed");
    let mut command = environment.command(&["view-output", &agent.pane, "--follow", "-n", "1"]);
    let mut follower = command.stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
    let shows = |text: &str| {
        wait_for(text, || {
            let shown = fs::read_to_string(&log).unwrap();
            if shown == text { Ok(()) } else { Err(shown) }
        });
    };
    shows("two\n");
    agent.tell("i=1; while [ $i -le 99 ]; do printf '\\r%s percent' $i; i=$((i+1)); sleep 0.02; done; printf '\\rall of it \\n'");
    shows("two\nall of it\n");
    agent.tell("i=1; while [ $i -le 40 ]; do echo line $i; i=$((i+1)); done");
    let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    shows(&format!("two\nall of it\n{lines}"));
    let events = environment.agtmux(&["events", "--json"]).ok().stdout;
    assert_eq!(events.matches(r#""step":"prepared""#).count(), 2, "{events}");
    agent.tell("exit 0");
    let status = wait_for("the end", || follower.try_wait().unwrap().ok_or("not yet"));
    assert!(status.success(), "{status}");
}
