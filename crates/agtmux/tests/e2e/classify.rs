//! The last resort: a model that is asked about agents that say nothing. Here it is a shell script.

use std::fs;
use std::path::PathBuf;

use crate::common::{FakeAgent, TestEnvironment, is_alive, wait_for};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// A model that writes down what it is asked, one file a question, and says what the test wants.
struct Model {
    dir: PathBuf,
}

impl Model {
    /// Configures it, with further lines for `[classify]`.
    fn configured(environment: &TestEnvironment, settings: &str) -> Self {
        let dir = environment.path("model");
        fs::create_dir_all(&dir).unwrap();
        let path = dir.display();
        let program = environment.program(
            "model",
            &format!("#!/bin/sh\ncat >{path}/$$.new; mv {path}/$$.new {path}/$$.asked\nexec cat {path}/answer\n"),
        );
        let command = program.display();
        environment.configure(&format!(
            "[classify]\nprovider = \"command\"\ncommand = [\"{command}\"]\nafter_seconds = 1\n{settings}\n"
        ));
        let model = Self { dir };
        model.says("needs_input", "asks where to deploy to");
        model
    }

    fn says(&self, state: &str, summary: &str) {
        fs::write(self.dir.join("answer.new"), format!(r#"{{"state": "{state}", "summary": "{summary}"}}"#)).unwrap();
        fs::rename(self.dir.join("answer.new"), self.dir.join("answer")).unwrap();
    }

    /// Everything it was asked so far.
    fn asked(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).unwrap().map(|entry| entry.unwrap().path());
        let questions = entries.filter(|path| path.extension().is_some_and(|extension| extension == "asked"));
        questions.map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}

/// Puts a line on an agent's screen, and waits until it is there.
fn show(environment: &TestEnvironment, agent: &FakeAgent, line: &str) {
    agent.tell(&format!("echo '{line}'"));
    wait_for("the line to be on the screen", || {
        let screen = environment.tmux().run(&["capture-pane", "-p", "-t", &agent.pane]);
        if screen.contains(line) { Ok(()) } else { Err(screen) }
    });
}

#[test]
fn a_silent_agent_is_guessed_at_until_it_speaks() {
    let environment = TestEnvironment::with_tmux();
    let model = Model::configured(&environment, "");
    let agent = environment.unseen_agent("claude");
    show(&environment, &agent, &format!("TOKEN={SECRET} where shall this go"));
    environment.start_daemon();

    let pane = environment.wait_for_pane(&agent.pane, "a guess", |pane| pane["state"] == "waiting_input");
    assert_eq!(pane["source"], "llm", "{pane:#}");
    assert_eq!(pane["confidence"], "low", "{pane:#}");
    assert_eq!(pane["evidence"], "guessed", "{pane:#}");
    assert_eq!(pane["attention"]["message"], "asks where to deploy to", "{pane:#}");
    let explained = environment.agtmux(&["explain", &agent.pane]).ok().stdout;
    assert!(explained.contains("llm") && explained.contains("guessed"), "{explained}");

    let asked = model.asked();
    assert_eq!(asked.len(), 1, "one screen, one question: {asked:#?}");
    assert!(asked[0].contains("where shall this go") && asked[0].contains("[redacted:"), "{}", asked[0]);
    assert!(!asked[0].contains(SECRET), "{}", asked[0]);

    // What the agent says itself counts while it is fresh.
    let says_itself = || {
        agent.signal("running 'deploying'").ok();
        let pane = environment.pane(&agent.pane).unwrap();
        let is_own = (&pane["state"], &pane["source"], &pane["confidence"])
            == (&"running".into(), &"signal".into(), &"high".into());
        if is_own { Ok(()) } else { Err(pane.to_string()) }
    };
    wait_for("its own word", says_itself);
    // When it has said nothing for a while it is looked at again, though its state is known.
    model.says("completed", "deployed it");
    show(&environment, &agent, "another screen");
    let pane = environment.wait_for_pane(&agent.pane, "a later guess", |pane| pane["state"] == "completed");
    assert_eq!((&pane["source"], &pane["confidence"]), (&"llm".into(), &"low".into()), "{pane:#}");
    wait_for("its next word", says_itself);
}

#[test]
fn another_screen_is_another_question() {
    let environment = TestEnvironment::with_tmux();
    let model = Model::configured(&environment, "");
    environment.start_daemon();
    let agent = environment.agent("claude");
    show(&environment, &agent, "the first screen");
    environment.wait_for_pane(&agent.pane, "a guess", |pane| pane["state"] == "waiting_input");
    model.says("completed", "deployed");
    show(&environment, &agent, "the second screen");
    let pane = environment.wait_for_pane(&agent.pane, "another guess", |pane| pane["state"] == "completed");
    assert_eq!((&pane["source"], &pane["confidence"]), (&"llm".into(), &"low".into()), "{pane:#}");
}

#[test]
fn a_restart_does_not_refill_the_budget() {
    let environment = TestEnvironment::with_tmux();
    let model = Model::configured(&environment, "per_hour = 1");
    environment.start_daemon();
    let agent = environment.agent("claude");
    show(&environment, &agent, "the first screen");
    environment.wait_for_pane(&agent.pane, "a guess", |pane| pane["source"] == "llm");
    wait_for_problem(&environment, "the 1 requests of this hour (classify.per_hour) are used up");
    let asked = model.asked().len();
    assert_eq!(asked, 1);

    environment.kill_daemon();
    show(&environment, &agent, "the second screen");
    environment.start_daemon();
    wait_for_problem(&environment, "the 1 requests of this hour (classify.per_hour) are used up");
    assert_eq!(model.asked().len(), asked, "{:#?}", model.asked());
}

#[test]
fn a_provider_that_fails_is_seen_by_the_doctor() {
    let environment = TestEnvironment::with_tmux();
    environment.configure(
        "[classify]\nprovider = \"command\"\ncommand = [\"sh\", \"-c\", \"echo not logged in >&2; exit 3\"]\nafter_seconds = 1\n",
    );
    environment.start_daemon();
    let agent = environment.agent("claude");
    show(&environment, &agent, "something");
    wait_for_problem(&environment, "classify: sh failed (exit status: 3): not logged in");
    let doctor = environment.agtmux(&["doctor", "--json"]).ok().stdout;
    assert!(doctor.contains("not logged in"), "{doctor}");
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "unknown");
}

#[test]
fn a_key_that_is_not_there_does_not_keep_the_daemon_from_starting() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[classify]\nprovider = \"anthropic\"\nmodel = \"m\"\n");
    environment.start_daemon();
    wait_for_problem(&environment, "classify: the environment variable ANTHROPIC_API_KEY");
}

#[test]
fn a_daemon_that_stops_takes_its_questions_with_it() {
    let environment = TestEnvironment::with_tmux();
    let pid_file = environment.path("asked.pid");
    let script = format!("echo $$ >{0}.new; mv {0}.new {0}; sleep 1000", pid_file.display());
    environment.configure(&format!(
        "[classify]\nprovider = \"command\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\nafter_seconds = 1\ntimeout_seconds = 120\n"
    ));
    environment.start_daemon();
    let agent = environment.agent("claude");
    show(&environment, &agent, "something");
    let pid = wait_for("the program to be asked", || fs::read_to_string(&pid_file));
    let pid = pid.trim().parse().unwrap();
    environment.agtmux(&["daemon", "stop"]).ok();
    wait_for("the program to be gone", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
}

#[track_caller]
fn wait_for_problem(environment: &TestEnvironment, problem: &str) {
    wait_for("the problem to be shown", || {
        let status = environment.get("/v1/daemon");
        let problems = status["problems"].as_array().unwrap();
        let is_shown = problems.iter().any(|shown| shown.as_str().is_some_and(|shown| shown.contains(problem)));
        if is_shown { Ok(()) } else { Err(format!("{problems:?}")) }
    });
}
