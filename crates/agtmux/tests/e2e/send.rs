//! `agtmux send`: a text becomes a prompt, byte for byte, or nothing is typed.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Composer, Run, TestEnvironment, kill, wait_for};

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment
}

/// Sends with the text on standard input, as a person would pipe it.
fn send(environment: &TestEnvironment, pane: &str, text: &str, flags: &[&str]) -> Run {
    let mut command = environment.command(&[&["send", pane, "-", "--json"], flags].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A refusal with this code, after which nothing was typed.
#[track_caller]
fn refused(run: &Run, code: &str, composer: &Composer) -> Value {
    let error = run.error();
    assert_eq!(error["code"], code, "{run:#?}");
    assert_eq!(run.code, if matches!(code, "E_BAD_TEXT" | "E_TOO_LARGE") { 2 } else { 4 });
    assert!(error["hint"].is_string(), "{run:#?}");
    assert_eq!(composer.submitted(), Vec::<String>::new());
    error
}

/// M8, M9, F50, F51: what breaks a way of sending that is not made for it.
#[test]
fn hostile_texts_arrive_as_they_are() {
    let environment = environment();
    hostile_texts_arrive(&environment, &Composer::start(&environment, ""), "tmux");
}

/// The same through the wrapper.
#[test]
fn hostile_texts_arrive_through_the_wrapper() {
    let environment = environment();
    hostile_texts_arrive(&environment, &Composer::start_wrapped(&environment, ""), "wrapper");
}

#[track_caller]
fn hostile_texts_arrive(environment: &TestEnvironment, composer: &Composer, channel: &str) {
    let canary = environment.path("canary");
    let run = format!("#(touch {}) $(touch {}) `touch {}`", canary.display(), canary.display(), canary.display());
    let long = "a long line, 你好 \u{1f9ea} é ".repeat(8_000);
    let folded = (1..40).map(|line| format!("line {line};")).collect::<Vec<_>>().join("\n");
    let border = format!("{}你{}", "x".repeat(4095), "y".repeat(4095));
    let texts = [
        "hello",
        "-l -- -x",
        "ends in ;",
        "; kill-server ;",
        run.as_str(),
        "#{pid} #[fg=red] %1 ~ $HOME \\ \" '",
        "two\nlines",
        "tab\there\n\n\nand blank lines\tbetween",
        "  leading blanks",
        "Grüße 你好 \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} e\u{301} \u{202e}abc",
        &folded,
        &border,
        &long,
    ];
    for (number, text) in texts.iter().enumerate() {
        let sent = send(environment, &composer.pane, text, &[]);
        assert_eq!(sent.code, 0, "{text:.60?}: {sent:#?}");
        assert_eq!(sent.json()["status"], "submitted", "{sent:#?}");
        assert_eq!(sent.json()["channel"], channel, "{sent:#?}");
        assert_eq!(sent.json()["bytes"], text.len());
        let submitted = composer.submitted();
        assert_eq!(submitted.len(), number + 1);
        assert!(submitted[number] == *text, "{text:.60?} arrived as {:.60?}", submitted[number]);
    }
    assert!(!canary.exists());
    assert_eq!(environment.tmux().run(&["list-buffers"]), "");
}

#[test]
fn what_cannot_arrive_as_it_is_is_refused() {
    let environment = environment();
    let composer = Composer::start(&environment, "");
    let huge = "x".repeat(256 * 1024 + 1);
    for (text, code) in [
        ("", "E_BAD_TEXT"),
        ("\n\n", "E_BAD_TEXT"),
        ("a\u{1b}[201~b", "E_BAD_TEXT"),
        ("a\0b", "E_BAD_TEXT"),
        ("a\u{3}", "E_BAD_TEXT"),
        ("a\r\nb", "E_BAD_TEXT"),
        ("\u{9b}31m", "E_BAD_TEXT"),
        ("/clear", "E_BAD_TEXT"),
        (" !ls", "E_BAD_TEXT"),
        ("a \\", "E_BAD_TEXT"),
        (&huge, "E_TOO_LARGE"),
    ] {
        refused(&send(&environment, &composer.pane, text, &[]), code, &composer);
    }
    assert_eq!(composer.read(), b"");
    // What is only refused for what the agent would do with it can be sent all the same; a blank closes the menu of commands.
    send(&environment, &composer.pane, "/clear", &["--raw"]).ok();
    // The line end that `echo` adds is no part of the text.
    send(&environment, &composer.pane, "with a line end\n", &[]).ok();
    assert_eq!(composer.submitted(), ["/clear ", "with a line end"]);
    // Refusals are in the log too, without the text.
    let events = environment.agtmux(&["events", "--json"]).ok().stdout;
    assert!(events.contains("E_BAD_TEXT") && !events.contains("with a line end"), "{events}");
}

/// Text and Enter answer a dialog. F63: a draft is a person's.
#[test]
fn nothing_is_typed_into_a_dialog_or_over_a_draft() {
    let environment = environment();
    dialogs_and_drafts_are_left_alone(&environment, &Composer::start(&environment, ""));
}

/// The same through the wrapper, which does not know a dialog when it sees one.
#[test]
fn the_wrapper_types_into_no_dialog_and_no_draft() {
    let environment = environment();
    dialogs_and_drafts_are_left_alone(&environment, &Composer::start_wrapped(&environment, ""));
}

#[track_caller]
fn dialogs_and_drafts_are_left_alone(environment: &TestEnvironment, composer: &Composer) {
    composer.tell("dialog");
    // Whether or not the daemon has seen it yet.
    refused(&send(environment, &composer.pane, "yes", &[]), "E_BLOCKED", composer);
    environment.wait_for_pane(&composer.pane, "a dialog", |pane| pane["state"] == "waiting_approval");
    refused(&send(environment, &composer.pane, "yes", &[]), "E_BLOCKED", composer);
    assert_eq!((composer.answered(), composer.read()), (0, Vec::new()));
    composer.tell("idle");
    composer.wait_until_idle(environment);
    environment.tmux().keys(&composer.pane, &["-l", "half a thought"]);
    wait_for("the draft to be drawn", || {
        let screen = environment.tmux().run(&["capture-pane", "-p", "-t", &composer.pane]);
        if screen.contains("half a thought") { Ok(()) } else { Err(screen) }
    });
    refused(&send(environment, &composer.pane, "something else", &[]), "E_DRAFT", composer);
    assert_eq!(composer.read(), b"half a thought");
    environment.tmux().keys(&composer.pane, &["C-u"]);
    // The daemon may have seen the draft, and sees soon that it is gone.
    wait_for("the draft to be forgotten", || {
        let run = send(environment, &composer.pane, "something else", &[]);
        if run.code == 0 { Ok(()) } else { Err(run.stderr) }
    });
    assert_eq!(composer.submitted(), ["something else"]);
}

/// An agent that works may ask something between the text and Enter.
#[test]
fn a_dialog_that_comes_up_meanwhile_is_not_answered() {
    let environment = environment();
    for composer in [Composer::start(&environment, "asks=1"), Composer::start_wrapped(&environment, "asks=1")] {
        composer.tell("busy");
        environment.wait_for_pane(&composer.pane, "it to work", |pane| pane["state"] == "running");
        let sent = send(&environment, &composer.pane, "go on", &[]);
        assert_eq!((sent.code, &sent.json()["status"]), (1, &"unconfirmed".into()), "{sent:#?}");
        assert_eq!((composer.answered(), composer.submitted()), (0, Vec::new()));
    }
}

/// F47, F69: Enter is pressed again where it was lost, and the text never pasted again.
#[test]
fn a_lost_enter_is_pressed_again() {
    let environment = environment();
    let composer = Composer::start(&environment, "lag=200 swallow=2");
    let sent = send(&environment, &composer.pane, "are you there?", &[]).ok().json();
    assert_eq!((&sent["status"], &sent["enters"]), (&"submitted".into(), &3.into()), "{sent:#}");
    assert_eq!(composer.submitted(), ["are you there?"]);
    let wrapped = Composer::start_wrapped(&environment, "lag=200 swallow=2");
    let sent = send(&environment, &wrapped.pane, "are you there?", &[]).ok().json();
    assert_eq!((&sent["status"], &sent["enters"]), (&"submitted".into(), &3.into()), "{sent:#}");
    assert_eq!(wrapped.submitted(), ["are you there?"]);
}

/// F67: what is not known to have arrived is not called sent.
#[test]
fn a_text_that_is_not_taken_is_not_confirmed() {
    let environment = environment();
    let composer = Composer::start(&environment, "swallow=100");
    let sent = send(&environment, &composer.pane, "are you there?", &[]);
    assert_eq!(sent.code, 1, "{sent:#?}");
    assert_eq!(sent.json()["status"], "unconfirmed", "{sent:#?}");
    assert_eq!(sent.error()["code"], "E_UNCONFIRMED");
    let paste = b"\x1b[200~are you there?\x1b[201~";
    assert!(composer.read().starts_with(paste), "{:?}", composer.read());
    assert_eq!(&composer.read()[paste.len()..], b"\r\r\r\r");
}

/// The daemon is killed after the paste: the next one knows the action, and nobody is told that nothing was done.
#[test]
fn who_loses_the_answer_is_not_told_that_nothing_was_done() {
    let environment = environment();
    let composer = Composer::start(&environment, "swallow=100");
    let sending = environment.agtmux_in_background(&["send", &composer.pane, "--text", "are you there?", "--json"]);
    wait_for("the paste", || if composer.read().ends_with(b"\r") { Ok(()) } else { Err("not yet") });
    environment.kill_daemon();
    let lost = sending.finish();
    let error = lost.error();
    assert_eq!((lost.code, error["code"].as_str()), (1, Some("E_OUTCOME_UNKNOWN")), "{lost:#?}");
    let hint = error["hint"].as_str().unwrap();
    let action = hint.split_whitespace().find(|word| word.starts_with("act_")).unwrap_or_else(|| panic!("{hint}"));
    let known = environment.get(&format!("/v1/actions/{action}"));
    assert_eq!((&known["verb"], &known["outcome"]), (&"send".into(), &"started".into()), "{known:#}");
    // The id was used: what was asked for under it is not done once more.
    let body = format!(r#"{{"ref": "{}", "text": "are you there?", "action_id": "{action}"}}"#, composer.pane);
    let again = environment.request("POST", "/v1/actions/send", body.as_bytes()).unwrap().json();
    assert_eq!(again["error"]["code"], "E_PRECONDITION_FAILED", "{again:#}");
    assert_eq!(composer.read().windows(5).filter(|bytes| *bytes == b"there").count(), 1);
}

/// The pane was respawned after the paste: the empty composer of the agent that came after proves nothing.
#[test]
fn the_composer_of_a_successor_is_no_evidence() {
    let environment = environment();
    // It has a terminal of its own inside the pane, and lives on with that.
    let composer = Composer::start_by(&environment, "swallow=100 outlives=1", |tmux, line| {
        let agent = environment.program("agent", &format!("#!/bin/sh\nexec {line}\n"));
        tmux.window("main", &format!("trap '' HUP; exec script -qec {} /dev/null", agent.display()))
    });
    composer.wait_until_idle(&environment);
    let sending = environment.agtmux_in_background(&["send", &composer.pane, "--text", "are you there?", "--json"]);
    wait_for("the paste", || if composer.read().ends_with(b"\r") { Ok(()) } else { Err("not yet") });
    let successor = composer.respawn(&environment, "");
    let sent = sending.finish();
    assert_eq!((sent.code, &sent.json()["status"]), (1, &"unconfirmed".into()), "{sent:#?}");
    assert_eq!((composer.submitted(), successor.submitted()), (Vec::new(), Vec::<String>::new()));
    assert_eq!(successor.read(), b"");
}

#[test]
fn a_text_can_be_left_in_the_composer() {
    let environment = environment();
    let composer = Composer::start(&environment, "");
    let sent = send(&environment, &composer.pane, "think about it", &["--no-enter"]).ok().json();
    assert_eq!((&sent["status"], &sent["enters"]), (&"typed".into(), &0.into()), "{sent:#}");
    assert_eq!(composer.read(), b"\x1b[200~think about it\x1b[201~");
    let wrapped = Composer::start_wrapped(&environment, "");
    let sent = send(&environment, &wrapped.pane, "think about it", &["--no-enter"]).ok().json();
    assert_eq!((&sent["status"], &sent["enters"]), (&"typed".into(), &0.into()), "{sent:#}");
    assert_eq!(wrapped.read(), b"\x1b[200~think about it\x1b[201~");
    // What was left there is a draft like any other.
    let more = send(&environment, &wrapped.pane, "and about this", &[]);
    assert_eq!(more.error()["code"], "E_DRAFT", "{more:#?}");
}

/// A text waits for its Enter, and the agent has not drawn it yet: the screen shows an empty composer, and the wrapper knows better.
#[test]
fn nothing_is_put_behind_a_text_that_was_left() {
    let environment = environment();
    let composer = Composer::start_wrapped(&environment, "lag=16000");
    let first = send(&environment, &composer.pane, "are you there?", &[]);
    assert_eq!(first.json()["status"], "unconfirmed", "{first:#?}");
    let second = send(&environment, &composer.pane, "and now?", &[]);
    assert_eq!(second.error()["code"], "E_DRAFT", "{second:#?}");
    assert_eq!(composer.read(), b"\x1b[200~are you there?\x1b[201~");
}

/// F49, and keys that would reach the neighbours.
#[test]
fn keys_reach_the_agent_and_nobody_else() {
    let environment = environment();
    let composer = Composer::start(&environment, "");
    let tmux = environment.tmux();
    tmux.run(&["copy-mode", "-t", &composer.pane]);
    refused(&send(&environment, &composer.pane, "hello", &[]), "E_PRECONDITION_FAILED", &composer);
    tmux.run(&["send-keys", "-t", &composer.pane, "-X", "cancel"]);
    let neighbour = tmux.run(&["split-window", "-d", "-t", &composer.pane, "-P", "-F", "#{pane_id}", "cat"]);
    tmux.run(&["set-option", "-w", "-t", &composer.pane, "synchronize-panes", "on"]);
    refused(&send(&environment, &composer.pane, "hello", &[]), "E_PRECONDITION_FAILED", &composer);
    tmux.run(&["set-option", "-w", "-t", &composer.pane, "synchronize-panes", "off"]);
    send(&environment, &composer.pane, "hello", &[]).ok();
    assert_eq!(composer.submitted(), ["hello"]);
    assert_eq!(tmux.run(&["capture-pane", "-p", "-t", &neighbour]).trim(), "");
}

/// The wrapper has a way of its own to the agent, past copy mode and past the neighbours.
#[test]
fn the_wrapper_reaches_the_agent_past_tmux() {
    let environment = environment();
    let composer = Composer::start_wrapped(&environment, "");
    let tmux = environment.tmux();
    let neighbour = tmux.run(&["split-window", "-d", "-t", &composer.pane, "-P", "-F", "#{pane_id}", "cat"]);
    tmux.run(&["set-option", "-w", "-t", &composer.pane, "synchronize-panes", "on"]);
    tmux.run(&["copy-mode", "-t", &composer.pane]);
    let sent = send(&environment, &composer.pane, "hello", &[]).ok().json();
    assert_eq!((&sent["status"], &sent["channel"]), (&"submitted".into(), &"wrapper".into()), "{sent:#}");
    assert_eq!(composer.submitted(), ["hello"]);
    assert_eq!(tmux.format(&composer.pane, "#{pane_in_mode}"), "1");
    assert_eq!(tmux.run(&["capture-pane", "-p", "-t", &neighbour]).trim(), "");
}

/// F63: somebody types on while a text is sent. Their keys wait, and are theirs; and the text is known to have been taken.
#[test]
fn the_wrapper_keeps_a_text_and_somebodys_keys_apart() {
    let environment = environment();
    let composer = Composer::start_wrapped(&environment, "lag=100");
    for (round, text) in ["a short text", "a longer text, which is still one line"].iter().enumerate() {
        let before = composer.read().len();
        let sending = environment.agtmux_in_background(&["send", &composer.pane, "--text", text, "--json"]);
        wait_for("the paste", || if composer.read().len() > before { Ok(()) } else { Err("not yet") });
        environment.tmux().keys(&composer.pane, &["-l", "my own words"]);
        let sent = sending.finish().ok().json();
        assert_eq!((&sent["status"], &sent["channel"]), (&"submitted".into(), &"wrapper".into()), "{sent:#}");
        assert_eq!(composer.submitted().len(), round * 2 + 1);
        wait_for("their keys", || {
            if composer.read().ends_with(b"words") { Ok(()) } else { Err(format!("{:?}", composer.read())) }
        });
        environment.tmux().keys(&composer.pane, &["Enter"]);
        wait_for("their line", || {
            let submitted = composer.submitted();
            if submitted.len() == round * 2 + 2 { Ok(()) } else { Err(format!("{submitted:?}")) }
        });
        assert_eq!(composer.submitted()[round * 2..], [(*text).to_owned(), "my own words".to_owned()]);
    }
}

/// F64: the agent died, and a shell reads what is typed.
#[test]
fn nothing_is_typed_into_the_shell_that_an_agent_left() {
    let environment = environment();
    let composer = Composer::start_by(&environment, "", |tmux, line| {
        let pane = tmux.window("main", "PS1='shell> ' exec sh -i");
        wait_for("the shell", || {
            let screen = tmux.run(&["capture-pane", "-p", "-t", &pane]);
            if screen.contains("shell>") { Ok(()) } else { Err(screen) }
        });
        tmux.keys(&pane, &["-l", line]);
        tmux.keys(&pane, &["Enter"]);
        pane
    });
    composer.wait_until_idle(&environment);
    send(&environment, &composer.pane, "hello", &[]).ok();
    let pane = environment.pane(&composer.pane).unwrap();
    let pid = u32::try_from(pane["pid"].as_u64().unwrap_or_else(|| panic!("{pane:#}"))).unwrap();
    kill(pid, Signal::KILL);
    let late = send(&environment, &composer.pane, "touch canary", &[]);
    assert_eq!(late.code, 4, "{late:#?}");
    assert_eq!(composer.submitted(), ["hello"]);
    let screen = environment.tmux().run(&["capture-pane", "-p", "-t", &composer.pane]);
    assert!(!screen.contains("canary"), "{screen}");
}

/// An agent that runs a turn takes the text for afterwards, and the answer says so.
#[test]
fn a_busy_agent_is_sent_to_for_afterwards() {
    let environment = environment();
    let composer = Composer::start(&environment, "");
    composer.tell("busy");
    environment.wait_for_pane(&composer.pane, "it to run", |pane| pane["state"] == "running");
    let sent = send(&environment, &composer.pane, "and then this", &[]).ok().json();
    assert_eq!((&sent["status"], &sent["effect"]), (&"submitted".into(), &"queued".into()), "{sent:#}");
    assert!(sent["evidence"].as_array().unwrap().contains(&"queued".into()), "{sent:#}");
    let wanted = send(&environment, &composer.pane, "only if idle", &["--if-state", "idle"]);
    assert_eq!(wanted.error()["code"], "E_PRECONDITION_FAILED", "{wanted:#?}");
    assert_eq!(composer.submitted(), ["and then this"]);
}

/// F53, F54: two writers take turns.
#[test]
fn two_texts_at_once_do_not_mix() {
    let environment = environment();
    let composer = Composer::start(&environment, "lag=50");
    let texts: Vec<String> =
        (0..4).map(|number| format!("text {number} {}", "abc ".repeat(40)).trim().to_owned()).collect();
    let senders: Vec<_> = texts
        .iter()
        .map(|text| environment.agtmux_in_background(&["send", &composer.pane, "--text", text, "--json"]))
        .collect();
    for sender in senders {
        sender.finish().ok();
    }
    let mut submitted = composer.submitted();
    submitted.sort();
    assert_eq!(submitted, texts);
}

/// The first one sets the agent to work, and so the others are for afterwards.
#[test]
fn texts_at_once_reach_an_agent_that_begins_to_work() {
    let environment = environment();
    let composer = Composer::start(&environment, "lag=50 works=1");
    let texts = ["fix the bug", "run the tests", "write it down"];
    let senders =
        texts.map(|text| environment.agtmux_in_background(&["send", &composer.pane, "--text", text, "--json"]));
    let mut effects = senders.map(|sender| sender.finish().ok().json()["effect"].as_str().unwrap().to_owned());
    effects.sort();
    assert_eq!(effects, ["queued", "queued", "starts"]);
    let mut submitted = composer.submitted();
    submitted.sort();
    assert_eq!(submitted, texts);
}
