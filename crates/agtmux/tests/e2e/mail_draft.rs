//! A text that somebody left in the composer of an agent that has mail: it makes room when it is old, and comes back.

use std::fs;

use serde_json::Value;

use crate::common::{Background, Composer, Middleman, Terminal, TestEnvironment, Tmux, wait_for};

/// Without a stash of the agent's own.
const CLEARED: &str = "contract = 1\nextends = \"claude\"\naside = { clear = [\"C-e\", \"C-u\"] }\n";

fn environment(stale: u32) -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    environment.configure(&format!("[mail]\ninput_poll_interval = 1\ninput_stale_timeout = {stale}\n"));
    environment
}

/// One with an agent that has no stash of its own.
fn environment_without_stash(stale: u32) -> TestEnvironment {
    let environment = environment(stale);
    fs::create_dir_all(environment.path("config/agtmux/agents")).unwrap();
    fs::write(environment.path("config/agtmux/agents/mine.toml"), CLEARED).unwrap();
    environment.start_daemon();
    environment
}

#[track_caller]
fn leave(environment: &TestEnvironment, composer: &Composer, text: &str) {
    environment.tmux().run(&["send-keys", "-t", &composer.pane, "-l", text]);
    shows(environment, composer, text);
}

#[track_caller]
fn shows(environment: &TestEnvironment, composer: &Composer, text: &str) {
    wait_for(&format!("the composer to show {text:?}"), || {
        let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &composer.pane]);
        if shown.contains(&format!("❯\u{a0}{text}")) { Ok(()) } else { Err(shown) }
    });
}

#[track_caller]
fn confirmed(environment: &TestEnvironment, id: &str) {
    wait_for(&format!("{id} to be confirmed"), || {
        let message = environment.agtmux(&["sm", "show", id, "--json"]).ok().json();
        if message["status"] == "confirmed" { Ok(()) } else { Err(format!("{message:#}")) }
    });
}

#[track_caller]
fn waits_for_a_draft(environment: &TestEnvironment, id: &str) {
    wait_for("the draft to be what it waits for", || {
        let message = environment.agtmux(&["sm", "show", id, "--json"]).ok().json();
        let waits = message["estimated_delivery"] == "waiting_for_a_draft";
        if waits { Ok(()) } else { Err(format!("{message:#}")) }
    });
}

/// Waits until a message was tried so often that a text in its way would have been put aside.
#[track_caller]
fn is_tried_in_vain(environment: &TestEnvironment, id: &str) {
    wait_for("it to be tried four times", || {
        let message = environment.agtmux(&["sm", "show", id, "--json"]).ok().json();
        let tries = message["steps"].as_array().unwrap().iter().filter(|step| step["to"] == "leased").count();
        if tries >= 4 { Ok(()) } else { Err(format!("{message:#}")) }
    });
}

/// How often the agent was typed a text, by whomever.
fn times_typed(composer: &Composer, text: &str) -> usize {
    String::from_utf8_lossy(&composer.read()).matches(text).count()
}

fn queue(environment: &TestEnvironment, composer: &Composer) -> Value {
    environment.agtmux(&["sm", "queue", &composer.pane, "--json"]).ok().json()
}

/// Each prompt that was submitted carries the message and nothing of the person's.
#[track_caller]
fn assert_apart(composer: &Composer, messages: usize) {
    let submitted = composer.submitted();
    assert_eq!(submitted.len(), messages, "{submitted:#?}");
    assert!(submitted.iter().all(|text| text.contains("via sm send") && !text.contains("half")), "{submitted:#?}");
}

#[test]
fn an_old_draft_makes_room_and_comes_back() {
    for is_wrapped in [false, true] {
        let environment = environment(2);
        environment.start_daemon();
        let start = if is_wrapped { Composer::start_wrapped } else { Composer::start };
        let composer = start(&environment, "tells=1 stash=1");
        leave(&environment, &composer, "half a thought");
        environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
        confirmed(&environment, "m1");
        shows(&environment, &composer, "half a thought");
        // What is urgent does not wait until it is old.
        environment.agtmux(&["sm", "send", &composer.pane, "stop", "--id", "m2", "--urgent"]).ok();
        confirmed(&environment, "m2");
        shows(&environment, &composer, "half a thought");
        assert_apart(&composer, 2);
    }
}

/// I3: somebody has given the agent's key for that another meaning. The key is pressed once. The wrapper, which has seen the text being
/// typed, puts it aside in its own way; without it the text stays as it is.
#[test]
fn a_key_that_puts_nothing_aside_is_not_pressed_again() {
    for is_wrapped in [false, true] {
        let environment = environment(1);
        environment.start_daemon();
        let start = if is_wrapped { Composer::start_wrapped } else { Composer::start };
        let composer = start(&environment, "tells=1");
        leave(&environment, &composer, "half a thought");
        environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
        wait_for("it to be tried", || {
            let message = environment.agtmux(&["sm", "show", "m1", "--json"]).ok().json();
            if message.to_string().contains("could not be put aside") { Ok(()) } else { Err(format!("{message:#}")) }
        });
        if is_wrapped {
            confirmed(&environment, "m1");
        } else {
            is_tried_in_vain(&environment, "m1");
        }
        shows(&environment, &composer, "half a thought");
        assert_eq!(times_typed(&composer, "\u{13}"), 1);
        environment.tmux().run(&["send-keys", "-t", &composer.pane, "Enter"]);
        confirmed(&environment, "m1");
        let submitted = wait_for("both to be submitted", || {
            let submitted = composer.submitted();
            if submitted.len() == 2 { Ok(submitted) } else { Err(format!("{submitted:#?}")) }
        });
        assert_eq!(submitted[usize::from(is_wrapped)], "half a thought", "{submitted:#?}");
    }
}

/// I3: what is said in the status line takes no key from whoever types on that very moment.
#[test]
fn whoever_comes_back_types_on_while_they_are_told_of_it() {
    let environment = environment(2);
    environment.start_daemon();
    let composer = Composer::start(&environment, "tells=1 stash=1");
    environment.tmux().run(&["select-window", "-t", &composer.pane]);
    let line = format!("exec tmux -S {} attach-session -t =main", environment.tmux().path().display());
    let mut terminal = Terminal::start(&environment, &line);
    terminal.wait_for("❯");
    terminal.keys("half a");
    shows(&environment, &composer, "half a");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    terminal.wait_for("was put aside while a message was delivered");
    terminal.keys(" thought\r");
    wait_for("the line to be submitted", || {
        let submitted = composer.submitted();
        if submitted.last().is_some_and(|last| last == "half a thought") { Ok(()) } else { Err(submitted.join("\n")) }
    });
    assert_eq!(composer.submitted().len(), 2, "{:#?}", composer.submitted());
}

/// Somebody who writes is not disturbed, and it shows what the message waits for.
#[test]
fn a_fresh_draft_keeps_the_mail_waiting() {
    let environment = environment(600);
    environment.start_daemon();
    let composer = Composer::start(&environment, "tells=1 stash=1");
    leave(&environment, &composer, "half");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    waits_for_a_draft(&environment, "m1");
    environment.tmux().run(&["send-keys", "-t", &composer.pane, "-l", " a thought"]);
    shows(&environment, &composer, "half a thought");
    assert_eq!(composer.submitted(), Vec::<String>::new());
    environment.tmux().keys(&composer.pane, &["Enter"]);
    confirmed(&environment, "m1");
    assert_eq!(composer.submitted()[0], "half a thought");
}

/// The text is on the disk before it is cleared: a daemon that is killed meanwhile loses nothing of it.
#[test]
fn a_draft_comes_back_though_the_daemon_was_killed() {
    let environment = environment_without_stash(1);
    let composer = Composer::start(&environment, "tells=1 asks_after=1");
    leave(&environment, &composer, "half a thought");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    // A dialog stands where the composer was, so the text cannot be put back yet.
    let kept = wait_for("the draft to be put aside", || {
        let kept = queue(&environment, &composer)["saved_user_input"].clone();
        if kept.is_null() || composer.submitted().is_empty() { Err(kept) } else { Ok(kept) }
    });
    assert_eq!(kept, "half a thought");
    environment.kill_daemon();
    environment.start_daemon();
    assert_eq!(queue(&environment, &composer)["saved_user_input"], "half a thought");
    composer.tell("idle");
    shows(&environment, &composer, "half a thought");
    wait_for("nothing to be put aside", || {
        let kept = queue(&environment, &composer)["saved_user_input"].clone();
        if kept.is_null() { Ok(()) } else { Err(kept) }
    });
    assert_apart(&composer, 1);
}

/// Waits until a text is anywhere on the screen.
#[track_caller]
fn draws(environment: &TestEnvironment, composer: &Composer, text: &str) {
    wait_for(&format!("{text:?} on the screen"), || {
        let shown = environment.tmux().run(&["capture-pane", "-p", "-t", &composer.pane]);
        if shown.contains(text) { Ok(()) } else { Err(shown) }
    });
}

/// I3: the wrapper has seen every key, so that several lines, and a paste that the agent folds, make room and come back as they were.
#[test]
fn what_was_typed_in_the_wrapper_makes_room_whatever_it_looks_like() {
    let environment = environment_without_stash(1);
    let composer = Composer::start_wrapped(&environment, "tells=1");
    let lines = ["half a thought", "and another"];
    let long = "one\ntwo\nthree\nfour\nfive";
    for (id, text) in [("m1", lines.join("\n")), ("m2", long.to_owned())] {
        let before = composer.submitted().len();
        if id == "m1" {
            environment.tmux().run(&["send-keys", "-t", &composer.pane, "-l", lines[0]]);
            environment.tmux().run(&["send-keys", "-t", &composer.pane, "C-j"]);
            environment.tmux().run(&["send-keys", "-t", &composer.pane, "-l", lines[1]]);
            draws(&environment, &composer, lines[1]);
        } else {
            environment.tmux().run(&["set-buffer", "-b", "long", long]);
            environment.tmux().run(&["paste-buffer", "-pr", "-b", "long", "-t", &composer.pane]);
            draws(&environment, &composer, "[Pasted text #1 +4 lines]");
        }
        environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", id]).ok();
        confirmed(&environment, id);
        wait_for("nothing to be put aside", || {
            let kept = queue(&environment, &composer)["saved_user_input"].clone();
            if kept.is_null() { Ok(()) } else { Err(kept) }
        });
        // What is back is what was there, to the last key.
        wait_for("the text to be back", || {
            environment.tmux().keys(&composer.pane, &["Enter"]);
            let submitted = composer.submitted();
            if submitted.len() == before + 2 { Ok(()) } else { Err(format!("{submitted:#?}")) }
        });
        let submitted = composer.submitted();
        assert!(submitted[before].ends_with("hello"), "{submitted:#?}");
        assert_eq!(submitted[before + 1], text);
    }
}

/// What nobody can put back exactly waits no longer than it has to be the same: it is told of, with the command that makes room.
#[test]
fn a_draft_that_cannot_make_room_is_told_of_and_cleared_on_demand() {
    let environment = environment_without_stash(1);
    let composer = Composer::start(&environment, "tells=1");
    let text = "half a thought\nand another";
    environment.tmux().run(&["set-buffer", "-b", "two", text]);
    environment.tmux().run(&["paste-buffer", "-pr", "-b", "two", "-t", &composer.pane]);
    draws(&environment, &composer, "and another");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    environment
        .wait_for_pane(&composer.pane, "the person to be called", |pane| pane["attention"]["kind"] == "mail_waiting");
    let told = environment.agtmux(&["sm", "show", "m1"]).ok().stdout;
    assert!(told.contains("`sm clear-draft"), "{told}");
    assert!(composer.submitted().is_empty() && !composer.read().contains(&0x15));
    let cleared = environment.agtmux(&["sm", "clear-draft", &composer.pane, "--json"]).ok().json();
    assert_eq!((&cleared["text"], &cleared["exact"]), (&text.into(), &false.into()), "{cleared:#}");
    assert_eq!(fs::read_to_string(cleared["file"].as_str().unwrap()).unwrap(), text);
    confirmed(&environment, "m1");
    assert_eq!(composer.submitted().len(), 1);
    let nothing = environment.agtmux(&["sm", "clear-draft", &composer.pane, "--json"]);
    assert_eq!(nothing.error()["code"], "E_PRECONDITION_FAILED", "{nothing:#?}");
}

/// What the screen does not show exactly cannot be typed again as it was, so it is left alone.
#[test]
fn a_draft_of_two_lines_is_not_cleared() {
    let environment = environment_without_stash(1);
    let composer = Composer::start(&environment, "tells=1");
    environment.tmux().run(&["set-buffer", "-b", "two", "half a thought\nand another"]);
    environment.tmux().run(&["paste-buffer", "-pr", "-b", "two", "-t", &composer.pane]);
    shows(&environment, &composer, "half a thought");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    is_tried_in_vain(&environment, "m1");
    shows(&environment, &composer, "half a thought");
    assert_eq!(composer.submitted(), Vec::<String>::new());
    assert!(!composer.read().contains(&0x15), "nothing was cleared");
}

/// I3: whoever sends their text in the moment between the look at it and the keys that would clear it has sent it once, and does not
/// find it in the composer again.
#[test]
fn a_draft_that_is_sent_that_very_moment_is_not_put_back() {
    let environment = environment_without_stash(2);
    // It draws late, so that the screen tells nobody.
    let composer = Composer::start_by(&environment, "tells=1 lag=1500", |tmux, line| {
        Middleman::PressesEnter.start(&environment, tmux, line)
    });
    composer.wait_until_idle(&environment);
    leave(&environment, &composer, "half a thought");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    confirmed(&environment, "m1");
    let submitted = composer.submitted();
    assert_eq!((submitted.len(), submitted[0].as_str()), (2, "half a thought"), "{submitted:#?}");
    assert!(submitted[1].ends_with("hello"), "{submitted:#?}");
    assert_eq!(times_typed(&composer, "half a thought"), 1);
    assert_eq!(queue(&environment, &composer)["saved_user_input"], Value::Null);
}

/// The same without the wrapper: the text was kept and is about to be cleared, and its writer is back.
#[test]
fn without_the_wrapper_too_what_changes_that_very_moment_is_left_alone() {
    for keys in ["\r", " and more"] {
        let environment = environment_without_stash(600);
        let composer = Composer::start(&environment, "tells=1");
        environment.tmux().run(&["select-window", "-t", &composer.pane]);
        let line = format!("exec tmux -S {} attach-session -t =main", environment.tmux().path().display());
        let mut terminal = Terminal::start(&environment, &line);
        terminal.wait_for("❯");
        terminal.keys("half a thought");
        shows(&environment, &composer, "half a thought");
        // What is urgent does not wait until the text is old, only until no key was pressed for a moment. This one does not reach the pane.
        environment.tmux().run(&["bind-key", "-n", "C-g", "refresh-client"]);
        // Keys that a busy tmux reads together are not a paste.
        environment.tmux().run(&["set-option", "-g", "assume-paste-time", "0"]);
        let stays_awake = "\u{7}";
        terminal.keys(stays_awake);
        let send = ["sm", "send", &composer.pane, "stop", "--id", "m1", "--urgent"];
        let sending = Background::start(&mut environment.command(&send));
        wait_for("the text to be kept", || {
            terminal.keys(stays_awake);
            let kept = queue(&environment, &composer)["saved_user_input"].clone();
            if kept.is_null() { Err(kept) } else { Ok(()) }
        });
        terminal.keys(keys);
        sending.finish().ok();
        confirmed(&environment, "m1");
        wait_for("nothing to be put aside", || {
            let kept = queue(&environment, &composer)["saved_user_input"].clone();
            if kept.is_null() { Ok(()) } else { Err(kept) }
        });
        if keys == "\r" {
            assert_eq!(composer.submitted()[0], "half a thought");
            assert_eq!(times_typed(&composer, "half a thought"), 1);
        } else {
            // What is there now was put aside and came back, whole.
            shows(&environment, &composer, "half a thought and more");
            assert_apart(&composer, 1);
        }
    }
}

/// A wrapper lives as long as its agent, and may be older than the daemon: what it cannot mind is left alone, and all else goes on.
#[test]
fn an_older_wrapper_types_messages_and_clears_nothing() {
    let environment = environment_without_stash(1);
    let start = |tmux: &Tmux, line: &str| Middleman::IsOlder.start(&environment, tmux, line);
    let composer = Composer::start_by(&environment, "tells=1", start);
    composer.wait_until_idle(&environment);
    leave(&environment, &composer, "half a thought");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    is_tried_in_vain(&environment, "m1");
    assert_eq!(composer.read(), b"half a thought", "nothing was cleared");
    waits_for_a_draft(&environment, "m1");
    environment.tmux().keys(&composer.pane, &["Enter"]);
    confirmed(&environment, "m1");
    assert_eq!(composer.submitted()[0], "half a thought");
    assert_eq!(composer.submitted().len(), 2);
}

/// A stash of the agent's own needs nothing of a wrapper that an older one does not know.
#[test]
fn an_older_wrapper_still_uses_the_stash() {
    let environment = environment(2);
    environment.start_daemon();
    let start = |tmux: &Tmux, line: &str| Middleman::IsOlder.start(&environment, tmux, line);
    let composer = Composer::start_by(&environment, "tells=1 stash=1", start);
    composer.wait_until_idle(&environment);
    leave(&environment, &composer, "half a thought");
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    confirmed(&environment, "m1");
    shows(&environment, &composer, "half a thought");
    assert_apart(&composer, 1);
}
