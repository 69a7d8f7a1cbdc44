//! Three real agents hold a conversation over `sm`: each hands the word on to the next, by a command that its model asks for. Meanwhile
//! somebody types into two of them, and the daemon is killed again and again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agtmux_typist::person::Person;
use agtmux_typist::stage::Tmux;
use anyhow::{Context as _, Result, anyhow};
use fastrand::Rng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::agent::Agent;
use crate::install::Packages;
use crate::stage::Stage;

/// Who talks, what they are called, and how they are started so that they ask nobody before they run the command. The last one is left
/// alone by the person.
const RING: [(Agent, &str, &[&str]); 3] = [
    (Agent::Claude, "a", &["--allowedTools", "Bash(./pass:*)"]),
    (Agent::Codex, "b", &["--no-daemon", "-a", "never", "-s", "danger-full-access"]),
    (Agent::Gemini, "c", &["--allowed-tools", "run_shell_command"]),
];

/// How long the whole may take, and the word may stay with one of them before somebody asks where it is.
const WHOLE: Duration = Duration::from_secs(420);
const STALLED: Duration = Duration::from_secs(45);

/// How long the models may wait for what was typed last.
const LAST: Duration = Duration::from_secs(40);

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Talk {
    /// Of each message, its verdict.
    pub verdicts: BTreeMap<String, String>,
    /// How often the person had to say where the word is: a line of theirs came to the model in the same turn, after it.
    pub reminders: usize,
    /// How many lines were typed.
    pub lines: usize,
    /// Those that did not come to a model as they were typed.
    pub broken: Vec<String>,
    /// Messages that a model was not told, or more often than once.
    pub untold: Vec<String>,
    /// How often the daemon was killed.
    pub kills: usize,
}

impl Talk {
    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.verdicts.values().all(|verdict| verdict == "confirmed") && self.broken.is_empty() && self.untold.is_empty()
    }
}

impl fmt::Display for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let confirmed = self.verdicts.values().filter(|verdict| *verdict == "confirmed").count();
        let (messages, broken, untold) = (self.verdicts.len(), self.broken.len(), self.untold.len());
        writeln!(
            f,
            "{messages} messages: {confirmed} confirmed, {untold} not told once; asked after {} times",
            self.reminders
        )?;
        writeln!(f, "{} lines typed: {broken} not intact; the daemon was killed {} times", self.lines, self.kills)?;
        for (id, verdict) in self.verdicts.iter().filter(|(_, verdict)| *verdict != "confirmed") {
            writeln!(f, "  {id} is {verdict}")?;
        }
        self.broken.iter().chain(&self.untold).try_for_each(|what| writeln!(f, "  {what:?}"))
    }
}

/// Lets them talk: so many messages, and a kill of the daemon about every `killed` on average, if any.
///
/// # Errors
/// Fails when an agent does not start; what is not as it should be is an outcome.
pub async fn talk(packages: &Packages, agtmux: &Path, messages: usize, killed: Option<Duration>) -> Result<Talk> {
    let stage = Stage::set(&RING.map(|(agent, ..)| agent), packages, agtmux, "").await?;
    hand_out(stage.workspace(), agtmux)?;
    let mut panes = Vec::new();
    for (agent, name, arguments) in RING {
        let words = [&["spawn", agent.name(), "--name", name, "--session", name, "--json", "--"], arguments].concat();
        let spawned: Value = serde_json::from_str(&stage.agtmux(&words).await?)?;
        panes.push(spawned["pane_id"].as_str().context("it has no pane")?.to_owned());
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let tmux = Tmux::at(stage.root());
    tmux.run(&["set", "-s", "escape-time", "2000"])?;
    let people: Vec<_> = RING
        .into_iter()
        .zip(&panes)
        .take(2)
        .map(|((agent, name, _), pane)| {
            let (tmux, pane, is_over) = (tmux.clone(), pane.clone(), Arc::clone(&is_over));
            let none = stage.root().join("none");
            let typing = tokio::task::spawn_blocking(move || -> Result<Vec<String>> {
                let mut person = Person::sit_down(&tmux, name, &pane, none, Rng::new(), 1.0, 1)?;
                while !is_over.load(Ordering::Relaxed) {
                    person.type_line()?;
                }
                Ok(person.lines().to_vec())
            });
            (agent, typing)
        })
        .collect();
    let mut talk = Talk::default();
    let done = pass_on(&stage, messages, killed, &mut talk).await;
    is_over.store(true, Ordering::Relaxed);
    let mut typed = Vec::new();
    for (agent, typing) in people {
        typed.push((agent, typing.await??));
    }
    done?;
    for (agent, lines) in typed {
        talk.lines += lines.len();
        let said = stage.model_of(agent).said();
        for line in unheard(&stage, agent, &lines).await {
            let near: Vec<_> =
                said.iter().filter(|text| line.split(' ').next().is_some_and(|id| text.contains(id))).collect();
            talk.broken.push(format!("{agent}: {line}, in {near:?}"));
        }
    }
    for number in 1..=messages {
        let (agent, _, _) = RING[(messages - number) % RING.len()];
        let told = format!("id=ring-{number}.");
        let said = stage.model_of(agent).said();
        let times: usize = said.iter().map(|text| text.matches(&told).count()).sum();
        let is_known = stage.model_of(agent).asked().iter().any(|asked| asked.body.contains(&told));
        if times > 1 || !is_known {
            talk.untold.push(format!("ring-{number}: {times} times"));
        }
    }
    stage.strike().await?;
    Ok(talk)
}

/// The command by which an agent hands the word on: to whom, and how many times it is still to be handed on.
fn hand_out(workspace: &Path, agtmux: &Path) -> Result<()> {
    let script = format!(
        "#!/bin/sh\ncase $1 in a) next=b;; b) next=c;; *) next=a;; esac\n[ \"$2\" -gt 0 ] || exit 0\n\
         until {} sm send \"$1\" \"tool:bash:./pass $next $(($2 - 1)) ;; say:ok\" --id \"ring-$2\"; do sleep 1; done\n",
        agtmux.display()
    );
    let path = workspace.join("pass");
    fs::write(&path, script)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Sets the word going, kills the daemon now and then, and waits until it has been everywhere.
async fn pass_on(stage: &Stage, messages: usize, killed: Option<Duration>, talk: &mut Talk) -> Result<()> {
    let mut random = Rng::new();
    let order = |number: usize| RING[(messages - number) % RING.len()].1;
    let text = |number: usize| {
        let next = RING[(messages - number + 1) % RING.len()].1;
        format!("tool:bash:./pass {next} {} ;; say:ok", number - 1)
    };
    stage.agtmux(&["sm", "send", "a", &text(messages), "--id", &format!("ring-{messages}")]).await?;
    let (began, mut moved, mut next_kill) = (Instant::now(), Instant::now(), Instant::now());
    let mut number = messages;
    while number > 0 {
        if began.elapsed() > WHOLE {
            talk.verdicts.insert(format!("ring-{number}"), "not sent in time".to_owned());
            return Ok(());
        }
        if let Some(every) = killed
            && next_kill.elapsed() > Duration::ZERO
        {
            talk.kills += usize::from(kill(stage).await.is_ok());
            next_kill = Instant::now() + every.mul_f64(0.5 + random.f64());
        }
        let id = format!("ring-{number}");
        let shown = match stage.ask_agtmux(&["sm", "show", &id, "--json"]).await {
            Ok(told) => serde_json::from_str::<Value>(&told.answer).ok(),
            Err(_) => None,
        };
        match shown.as_ref().and_then(|message| message["verdict"].as_str()) {
            Some(verdict) => {
                talk.verdicts.insert(id, verdict.to_owned());
                (number, moved) = (number - 1, Instant::now());
            }
            None if shown.as_ref().is_none_or(|message| message["id"].is_null()) && moved.elapsed() > STALLED => {
                talk.reminders += 1;
                moved = Instant::now();
                stage.ask_agtmux(&["sm", "send", order(number), &text(number), "--id", &id]).await?;
            }
            None => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
    Ok(())
}

async fn kill(stage: &Stage) -> Result<()> {
    let status: Value = serde_json::from_str(&stage.agtmux(&["daemon", "status", "--json"]).await?)?;
    let pid = status["pid"].as_i64().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    kill_process(pid.ok_or_else(|| anyhow!("no daemon runs"))?, Signal::KILL)?;
    Ok(())
}

/// The lines that the model was not told as they were typed, each by itself: what stands before and after it are other lines.
async fn unheard(stage: &Stage, agent: Agent, lines: &[String]) -> Vec<String> {
    let since = Instant::now();
    loop {
        let said = stage.model_of(agent).said();
        let stands = |text: &str, line: &str| {
            text.match_indices(line).any(|(at, _)| {
                let (before, after) = (&text[..at], &text[at + line.len()..]);
                (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
            })
        };
        let is_told = |line: &&String| said.iter().any(|text| stands(text.trim(), line.trim()));
        let missing: Vec<_> = lines.iter().filter(|line| !is_told(line)).cloned().collect();
        if missing.is_empty() || since.elapsed() > LAST {
            return missing;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
