//! Messages that are typed: at the right moment, once, and whatever they end with.

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{Composer, Terminal, TestEnvironment, kill, wait_for};

fn environment() -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment
}

/// An agent in a turn.
fn at_work(environment: &TestEnvironment, is_wrapped: bool) -> Composer {
    let start = if is_wrapped { Composer::start_wrapped } else { Composer::start };
    let composer = start(environment, "tells=1");
    composer.tell("busy");
    environment.wait_for_pane(&composer.pane, "the agent to be busy", |pane| pane["state"] == "running");
    composer
}

fn show(environment: &TestEnvironment, id: &str) -> Value {
    environment.agtmux(&["sm", "show", id, "--json"]).ok().json()
}

#[track_caller]
fn confirmed(environment: &TestEnvironment, id: &str) -> Value {
    wait_for(&format!("{id} to be confirmed"), || {
        let message = show(environment, id);
        if message["status"] == "confirmed" { Ok(message) } else { Err(format!("{message:#}")) }
    })
}

/// Waits until a delivery of a message came to nothing, and gives the reason.
#[track_caller]
fn returned(environment: &TestEnvironment, id: &str) -> String {
    wait_for(&format!("{id} to be tried in vain"), || {
        let message = show(environment, id);
        let steps = message["steps"].as_array().unwrap();
        let mut whys = steps.iter().filter(|step| step["to"] == "queued").filter_map(|step| step["why"].as_str());
        whys.rfind(|why| !why.is_empty()).map(str::to_owned).ok_or_else(|| format!("{message:#}"))
    })
}

/// What the last text ends with would open a menu or continue the line: neither it nor those before it wait for ever.
#[test]
fn a_text_may_end_with_a_sign_that_means_something() {
    for is_wrapped in [false, true] {
        let environment = environment();
        let composer = at_work(&environment, is_wrapped);
        for (id, text) in [("m1", "an innocent one"), ("m2", r"the folder is C:\tmp\")] {
            environment.agtmux(&["sm", "send", &composer.pane, text, "--id", id]).ok();
        }
        composer.tell("idle");
        confirmed(&environment, "m1");
        confirmed(&environment, "m2");
        environment.agtmux(&["sm", "send", &composer.pane, "look at @src/main.rs", "--id", "m3"]).ok();
        confirmed(&environment, "m3");
        let submitted = composer.submitted();
        assert_eq!(submitted.len(), 2, "{submitted:#?}");
        assert!(submitted[0].contains("an innocent one\n\n") && submitted[0].ends_with("\\tmp\\\n[sm] end"));
        assert!(submitted[1].ends_with("look at @src/main.rs"), "{submitted:#?}");
    }
}

/// A tmux that does not answer has typed nothing: the message waits on, and comes once.
#[test]
fn what_could_not_be_typed_is_typed_later() {
    let environment = environment();
    let composer = Composer::start(&environment, "tells=1");
    environment.wait_for_pane(&composer.pane, "the agent to be at rest", |pane| pane["state"] == "idle");
    let tmux = environment.tmux().pid();
    kill(tmux, Signal::STOP);
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok();
    returned(&environment, "m1");
    kill(tmux, Signal::CONT);
    confirmed(&environment, "m1");
    assert_eq!(composer.submitted().len(), 1);
}

/// Somebody at the pane of an agent. Ctrl-G is a key that does not reach the agent and keeps deliveries waiting.
#[track_caller]
fn typist(environment: &TestEnvironment, composer: &Composer) -> Terminal {
    environment.tmux().run(&["select-window", "-t", &composer.pane]);
    environment.tmux().run(&["bind-key", "-n", "C-g", "refresh-client"]);
    environment.tmux().run(&["set-option", "-g", "assume-paste-time", "0"]);
    let line = format!("exec tmux -S {} attach-session -t =main", environment.tmux().path().display());
    let terminal = Terminal::start(environment, &line);
    terminal.wait_for("❯");
    terminal
}

/// A daemon that is killed while it waits for somebody who types has typed nothing: the message is not given up.
#[test]
fn a_kill_while_somebody_types_strands_nothing() {
    let environment = environment();
    let composer = Composer::start(&environment, "tells=1");
    let mut terminal = typist(&environment, &composer);
    for id in ["m1", "m2", "m3"] {
        terminal.keys("\u{7}");
        let sending = environment.agtmux_in_background(&["sm", "send", &composer.pane, "hello", "--id", id]);
        // Longer than it takes to find the agent ready, and shorter than somebody is waited for.
        let until = std::time::Instant::now() + std::time::Duration::from_secs(2);
        while std::time::Instant::now() < until {
            terminal.keys("\u{7}");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let waiting = show(&environment, id);
        assert!(["leased", "queued"].contains(&waiting["status"].as_str().unwrap()), "{waiting:#}");
        terminal.keys("\u{7}");
        environment.kill_daemon();
        sending.finish().ok();
        confirmed(&environment, id);
    }
    assert_eq!(composer.submitted().len(), 3);
}

/// The agent was at rest when a delivery began, and a turn has begun since: the message is for after it.
#[test]
fn what_is_for_after_the_turn_is_not_typed_into_one() {
    let environment = environment();
    let composer = Composer::start(&environment, "tells=1");
    let mut terminal = typist(&environment, &composer);
    // Where the turn is noticed too late, it was waited long enough for whoever types, and another one is tried.
    let mut whys = Vec::new();
    while !whys.last().is_some_and(|why: &String| why.contains("in a turn")) {
        assert!(whys.len() < 5 && whys.iter().all(|why| why.contains("typing")), "{whys:#?}");
        let id = format!("m{}", whys.len());
        terminal.keys("\u{7}");
        let sending = environment.agtmux_in_background(&["sm", "send", &composer.pane, "hello", "--id", &id]);
        wait_for("the delivery to begin", || {
            terminal.keys("\u{7}");
            let message = environment.agtmux(&["sm", "show", &id, "--json"]);
            let is_leased = message.code == 0 && message.json()["status"] == "leased";
            if is_leased { Ok(()) } else { Err(format!("{message:#?}")) }
        });
        composer.tell("busy");
        wait_for("the agent to be busy", || {
            terminal.keys("\u{7}");
            let pane = environment.pane(&composer.pane).unwrap();
            if pane["state"] == "running" { Ok(()) } else { Err(format!("{pane:#}")) }
        });
        assert_eq!(composer.submitted().len(), whys.len());
        whys.push(returned(&environment, &id));
        sending.finish().ok();
        composer.tell("idle");
        confirmed(&environment, &id);
        assert_eq!(composer.submitted().len(), whys.len());
    }
}

/// What keeps a message is said where it is asked for: by `sm send` at once, and in the queue.
#[test]
fn a_message_says_what_really_keeps_it() {
    let environment = environment();
    let composer = Composer::start(&environment, "tells=1");
    // Its hooks say from now on that it is idle, whatever its screen shows.
    environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m0"]).ok();
    confirmed(&environment, "m0");
    composer.tell("strange");
    let why = "cannot be read";
    let sent = environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok().stdout;
    assert!(sent.contains(why), "{sent}");
    let next = environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m2"]).ok().stdout;
    assert!(next.contains(why), "{next}");
    wait_for("the queue to say so", || {
        let queue = environment.agtmux(&["sm", "queue", &composer.pane]).ok().stdout;
        let message = show(&environment, "m2");
        let is_said = queue.matches(why).count() == 2 && message["waits_because"].to_string().contains(why);
        if is_said { Ok(()) } else { Err(format!("{queue}\n{message:#}")) }
    });
    composer.tell("idle");
    confirmed(&environment, "m2");
}

/// S4: who has just interrupted an agent is about to say something else. `--urgent` does not wait for that.
#[test]
fn mail_waits_for_whoever_interrupted_the_agent() {
    let environment = environment();
    let composer = Composer::start(&environment, "reads=1");
    composer.tell("turn");
    environment.wait_for_pane(&composer.pane, "a turn", |pane| pane["state"] == "running");
    composer.tell("escape");
    environment.wait_for_pane(&composer.pane, "the interrupt", |pane| pane["reason_code"] == "interrupted");
    let sent = environment.agtmux(&["sm", "send", &composer.pane, "hello", "--id", "m1"]).ok().stdout;
    assert!(sent.contains("a person has interrupted its turn"), "{sent}");
    let told = environment.agtmux(&["sm", "show", "m1"]).ok().stdout;
    assert!(told.contains("a person has interrupted its turn"), "{told}");
    assert_eq!(show(&environment, "m1")["estimated_delivery"], "waiting_for_the_next_prompt");
    assert_eq!(composer.submitted(), Vec::<String>::new());
    // The person's prompt, and its turn.
    composer.tell("turn");
    composer.tell("idle");
    confirmed(&environment, "m1");
}

/// F61: a command is typed as it is and alone, between what was sent before it and after it.
#[test]
fn a_command_is_run_and_no_part_of_a_prompt() {
    for is_wrapped in [false, true] {
        let environment = environment();
        let composer = at_work(&environment, is_wrapped);
        let send = |id: &str, arguments: &[&str]| {
            let command = ["sm", "send", &composer.pane, "--id", id].into_iter().chain(arguments.iter().copied());
            environment.agtmux(&command.collect::<Vec<_>>()).ok()
        };
        send("m1", &["before it"]);
        let said = send("m2", &["/compact keep the plan"]).stdout;
        assert!(said.contains("to run"), "{said}");
        send("m3", &["/tmp is full", "--words"]);
        composer.tell("idle");
        confirmed(&environment, "m1");
        confirmed(&environment, "m3");
        let command = show(&environment, "m2");
        assert_eq!((&command["status"], &command["command"]), (&"unconfirmed".into(), &true.into()), "{command:#}");
        let submitted = composer.submitted();
        assert_eq!(submitted.len(), 3, "{submitted:#?}");
        assert!(submitted[0].ends_with("before it"), "{submitted:#?}");
        assert_eq!(submitted[1].trim_end(), "/compact keep the plan");
        assert!(submitted[2].ends_with("\n/tmp is full"), "{submitted:#?}");
    }
}
