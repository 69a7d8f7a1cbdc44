//! `agtmux attach` and `next`: the person's own terminal is brought to the agent, and nobody else's anywhere else.

use std::process::Command;

use serde_json::json;

use crate::common::{AGTMUX, Terminal, TestEnvironment, Tmux, wait_for};

/// The clients of a server: name, session, pane, read-only.
fn clients(tmux: &Tmux) -> Vec<[String; 4]> {
    let format = "#{client_name} #{session_name} #{pane_id} #{client_readonly}";
    let list = tmux.try_run(&["list-clients", "-F", format]).stdout;
    list.lines().filter_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().ok()).collect()
}

/// Attaches a terminal to a session and gives it with its name.
fn attached(environment: &TestEnvironment, session: &str) -> (Terminal, String) {
    let tmux = environment.tmux();
    let before = clients(&tmux);
    let line = format!("exec tmux -S {} attach-session -t ={session}", tmux.socket.display());
    let terminal = Terminal::start(environment, &line);
    let name = wait_for("the terminal to be attached", || {
        let now = clients(&tmux);
        now.into_iter().find(|client| !before.contains(client)).map(|client| client[0].clone()).ok_or("nobody is new")
    });
    (terminal, name)
}

#[track_caller]
fn shows(tmux: &Tmux, client: &str, session: &str, pane: &str) {
    wait_for(&format!("{client} to show {pane}"), || {
        let now = clients(tmux);
        let is_it = |row: &[String; 4]| row[0] == client && row[1] == session && row[2] == pane;
        if now.iter().any(is_it) { Ok(()) } else { Err(format!("{now:?}")) }
    });
}

#[test]
fn a_terminal_outside_of_tmux_is_attached() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("completed 'all done'").ok();
    environment.wait_for_pane(&agent.pane, "nobody looked", |pane| pane["attention"]["unseen"] == true);
    for (flag, read_only) in [("", "0"), ("--read-only", "1")] {
        let terminal = Terminal::start(&environment, &format!("exec {AGTMUX} attach {} {flag}", agent.pane));
        wait_for("the terminal to be attached", || {
            let now = clients(&tmux);
            let is_it = |row: &[String; 4]| row[1] == "main" && row[2] == agent.pane && row[3] == read_only;
            if now.iter().any(is_it) { Ok(()) } else { Err(format!("{now:?}\n{}", terminal.shown())) }
        });
        environment.wait_for_pane(&agent.pane, "somebody looked", |pane| pane["attention"]["unseen"] == false);
        tmux.run(&["detach-client", "-s", "=main"]);
        assert_eq!(terminal.finish(), 0);
    }
    let no_terminal = environment.agtmux(&["attach", &agent.pane]);
    assert_eq!(no_terminal.code, 2, "{no_terminal:#?}");
    assert!(no_terminal.stderr.contains("no terminal"), "{}", no_terminal.stderr);
}

/// F112: two people look at the same pane, and one goes to an agent. The other stays.
#[test]
fn only_the_terminal_that_asked_is_switched() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    tmux.run(&["new-session", "-d", "-s", "desk", "-x", "100", "-y", "30", "exec sh -i"]);
    let desk = tmux.format("=desk:", "#{pane_id}");
    environment.start_daemon();
    let agent = environment.agent("claude");
    let (mut other, other_name) = attached(&environment, "desk");
    let (mut mine, my_name) = attached(&environment, "desk");
    let (_third, third_name) = attached(&environment, "main");
    let base = tmux.format("=main:", "#{pane_id}");
    // Who typed last is known to the second.
    let typed =
        |name: &str| -> i64 { tmux.run(&["display-message", "-p", "-c", name, "#{client_activity}"]).parse().unwrap() };
    other.keys("\r");
    wait_for("the clock to go on", || {
        let now = jiff::Timestamp::now().as_second();
        if now > typed(&other_name) { Ok(()) } else { Err(now.to_string()) }
    });
    mine.keys(&format!("{AGTMUX} attach {}\r", agent.pane));
    shows(&tmux, &my_name, "main", &agent.pane);
    shows(&tmux, &other_name, "desk", &desk);
    // Who looked at the agent's session already sees it turn to the agent, but stays in it.
    shows(&tmux, &third_name, "main", &agent.pane);
    assert_ne!(base, agent.pane);
}

#[test]
fn inside_another_server_it_says_what_to_do() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let mut command: Command = environment.command(&["attach", &agent.pane]);
    command.env("TMUX", format!("{},1,0", environment.path("elsewhere").display()));
    let refused = crate::common::Run::of(&mut command);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("attach-session") && refused.stderr.contains("--nested"), "{}", refused.stderr);
    let stale = environment.agtmux(&["attach", &agent.pane, "--if-state", "error"]);
    assert_eq!(stale.code, 4, "{stale:#?}");
}

#[test]
fn next_goes_to_the_one_that_needs_you_most() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    environment.start_daemon();
    let nobody = environment.agtmux(&["next", "--json"]);
    assert_eq!((nobody.code, &nobody.error()["code"]), (1, &json!("E_NOBODY_WAITS")), "{nobody:#?}");
    let asks = environment.agent("claude");
    let wants = environment.agent("codex");
    asks.signal("waiting_input 'which one?'").ok();
    wants.signal("waiting_approval 'run it?'").ok();
    let queue = environment.agtmux(&["next", "--json"]).ok().json();
    let order: Vec<_> = queue["items"].as_array().unwrap().iter().map(|item| &item["kind"]).collect();
    assert_eq!(order, ["approval", "input"], "{queue:#}");
    let list = environment.agtmux(&["next", "--list"]).ok().stdout;
    assert!(list.contains("WAITS FOR") && list.contains("run it?"), "{list}");
    let (_terminal, name) = attached(&environment, "main");
    let next = || environment.agtmux(&["next", "--client", &name]);
    assert!(next().ok().stderr.contains("run it?"));
    shows(&tmux, &name, "main", &wants.pane);
    // To go there is not to have dealt with it; to say so is.
    assert_eq!(environment.agtmux(&["ack", &wants.pane, "--json"]).ok().json()["items"][0]["agent"], "codex");
    next().ok();
    shows(&tmux, &name, "main", &asks.pane);
    environment.agtmux(&["ack", "--all"]).ok();
    assert_eq!(next().code, 1);
    wants.signal("running").ok();
    wants.signal("waiting_approval 'and this?'").ok();
    next().ok();
    shows(&tmux, &name, "main", &wants.pane);
    assert_eq!(environment.agtmux(&["ack", "--json"]).code, 2, "somebody has to be meant");
}
