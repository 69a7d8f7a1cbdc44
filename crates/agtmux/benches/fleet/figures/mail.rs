//! How soon a message is kept, how soon an agent that is ready has it, and how long many of them take.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agtmux_wire::list::PaneItem;
use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::task::JoinSet;

use super::hook;
use crate::composer::{Composers, now};
use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::follower::Follower;
use crate::http::Connection;
use crate::probe::Probe;
use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, millis, ratio};

/// Says that this program is to run a hook and time it: an agent runs it, so that the hook has that agent among its ancestors.
pub(crate) const TIMER: &str = "--time-mail";

/// How many connections send at once.
const CONNECTIONS: usize = 64;

/// How many messages each agent is sent.
const EACH: usize = 10;

/// How often the design that this is compared with looks whether somebody still types.
const POLL: Duration = Duration::from_secs(5);

const BY_HOOK: Duration = Duration::from_millis(50);
const BY_SCREEN: Duration = Duration::from_millis(300);

/// What is sent.
const TEXT: &str = "the tests are green; please look at the diff and say what you think of it";

pub(crate) async fn measure(recipients: usize, runs: usize, report: &mut Report) -> Result<()> {
    by_hook(runs, report).await?;
    let composers = Composers::start(recipients)?;
    let daemon = Daemon::settled(&composers.fleet).await?;
    let (items, _) = daemon.wait_for_agents(recipients).await?;
    by_screen(&composers, &daemon, &items, runs.div_ceil(2), report).await?;
    let mut follower = Follower::open(&daemon.client).await?;
    composers.tell_all("busy")?;
    for pane in &composers.fleet.panes {
        is_in(&daemon, &mut follower, &pane.id, "running").await?;
    }
    enqueue(&composers.fleet, &daemon, &items, runs * 5, report).await?;
    drain(&composers, daemon, &items, runs * 5, report).await
}

/// From the end of a turn to the message in the hands of the agent, by the hook that asks for it.
async fn by_hook(runs: usize, report: &mut Report) -> Result<()> {
    let fleet = Fleet::of_agents(1)?;
    let daemon = Daemon::settled(&fleet).await?;
    for (order, event) in [("prompt", "UserPromptSubmit"), ("stop", "Stop")] {
        let payload = json!({ "session_id": "s", "transcript_path": "/t", "cwd": "/", "prompt": "go",
            "hook_event_name": event, "stop_hook_active": false, "background_tasks": [] });
        fs::write(fleet.root().join(order), payload.to_string())?;
    }
    let (timer, root) = (std::env::current_exe()?, fleet.root().display().to_string());
    let mut probe = Probe::start(&fleet, &daemon, &format!("{} {TIMER} {root} \"$order\"", timer.display())).await?;
    let (items, _) = daemon.wait_for_agents(2).await?;
    let probed = items.iter().find(|item| Probe::is_it(item)).and_then(|item| item.runtime_id.clone());
    let probed = probed.context("the agent that is told what to do is not listed")?;
    let mut connection = Connection::open(daemon.client.socket()).await?;
    let (mut ours, mut nothing) = (Samples::default(), Samples::default());
    for run in 0..runs * 2 {
        let has_mail = run % 2 == 1;
        probe.order("prompt")?;
        probe.done()?;
        if has_mail {
            connection.post("/v1/messages", &json!({ "to": probed, "text": TEXT })).await?;
        }
        probe.order("stop")?;
        probe.done()?;
        let (took, answer) = read_time(&fleet)?;
        ensure!(answer.contains(TEXT) == has_mail, "the hook answered {answer:?}");
        if has_mail { &mut ours } else { &mut nothing }.push(took);
    }
    report.add(Figure {
        name: "end of a turn → message in the agent's hands, by its hook".to_owned(),
        measured: ours.text(),
        baseline: format!("the same hook with no mail: {}", nothing.text()),
        ratio: Some(ratio(ours.p50(), nothing.p50())),
        goal: Goal::new("p50 ≤ 50 ms", ours.p50() <= BY_HOOK),
    });
    Ok(())
}

/// Runs a hook, and writes down how long it took and what it answered.
pub(crate) fn time(arguments: &[String]) -> Result<()> {
    let [root, order] = arguments else { anyhow::bail!("{TIMER} ROOT ORDER") };
    let event = if order == "stop" { "Stop" } else { "UserPromptSubmit" };
    let mut command = Command::new(hook::program());
    command.args(["hook", "claude", event]).stdin(File::open(format!("{root}/{order}"))?).stderr(Stdio::null());
    let since = Instant::now();
    let output = command.output()?;
    let took = since.elapsed();
    ensure!(output.status.success(), "{command:?} failed");
    Ok(fs::write(format!("{root}/time"), format!("{} {}", took.as_nanos(), String::from_utf8_lossy(&output.stdout)))?)
}

fn read_time(fleet: &Fleet) -> Result<(Duration, String)> {
    let text = fs::read_to_string(fleet.root().join("time"))?;
    let (took, answer) = text.split_once(' ').context("a time without an answer")?;
    Ok((Duration::from_nanos(took.parse()?), answer.to_owned()))
}

/// From the moment an agent looks idle to the first byte of the message at its terminal.
async fn by_screen(
    composers: &Composers,
    daemon: &Daemon,
    items: &[PaneItem],
    runs: usize,
    report: &mut Report,
) -> Result<()> {
    let mut follower = Follower::open(&daemon.client).await?;
    let mut connection = Connection::open(daemon.client.socket()).await?;
    let (mut typed, mut submitted) = (Samples::default(), Samples::default());
    for run in 0..runs {
        let item = &items[run % items.len()];
        let pane = &item.identity.pane_id;
        composers.tell(pane, "busy")?;
        composers.hear(|note| note.pane == *pane && note.what == "busy")?;
        is_in(daemon, &mut follower, pane, "running").await?;
        connection.post("/v1/messages", &json!({ "to": item.runtime_id, "text": TEXT })).await?;
        composers.tell(pane, "idle")?;
        let idle = composers.hear(|note| note.pane == *pane && note.what == "idle")?;
        typed.push(composers.hear(|note| note.pane == *pane && note.what == "typed")?.at - idle.at);
        submitted.push(composers.hear(|note| note.pane == *pane && note.what == "submitted")?.at - idle.at);
    }
    report.add(Figure {
        name: format!("idle on the screen → message typed, {} agents", items.len()),
        measured: format!("{}, submitted {}", typed.text(), submitted.text()),
        baseline: format!("a look every {} s: {}", POLL.as_secs(), millis(POLL / 2)),
        ratio: Some(ratio(typed.p50(), POLL / 2)),
        goal: Goal::new("p50 ≤ 300 ms", typed.p50() <= BY_SCREEN),
    });
    Ok(())
}

/// Waits until an agent is shown in a state.
async fn is_in(daemon: &Daemon, follower: &mut Follower, pane: &str, state: &str) -> Result<()> {
    let is_it = |item: &PaneItem| item.identity.pane_id == pane && item.state.as_deref() == Some(state);
    let list: agtmux_wire::list::PaneList = daemon.client.get("/v1/panes").await?;
    if list.items.iter().any(is_it) {
        return Ok(());
    }
    follower.wait_for(|frame| Follower::panes(frame).iter().any(is_it)).await.map(drop)
}

/// One after another: how long the answer takes, which means that the message is on the disk.
async fn enqueue(
    fleet: &Fleet,
    daemon: &Daemon,
    items: &[PaneItem],
    messages: usize,
    report: &mut Report,
) -> Result<()> {
    let mut connection = Connection::open(daemon.client.socket()).await?;
    let mut file = File::create(fleet.root().join("baseline"))?;
    let (mut ours, mut synced) = (Samples::default(), Samples::default());
    for (item, _) in items.iter().cycle().zip(0..messages) {
        let since = Instant::now();
        connection.post("/v1/messages", &json!({ "to": item.runtime_id, "text": TEXT })).await?;
        ours.push(since.elapsed());
        let since = Instant::now();
        file.write_all(TEXT.as_bytes())?;
        file.sync_data()?;
        synced.push(since.elapsed());
    }
    report.add(Figure {
        name: format!("message accepted and on the disk, {} agents", items.len()),
        measured: ours.text(),
        baseline: format!("its text appended to a file, fdatasync: {}", synced.text()),
        ratio: Some(ratio(ours.p50(), synced.p50())),
        goal: None,
    });
    Ok(())
}

/// Many messages at once, to agents that are busy and then are not. `waiting` of them wait already.
async fn drain(
    composers: &Composers,
    daemon: Daemon,
    items: &[PaneItem],
    waiting: usize,
    report: &mut Report,
) -> Result<()> {
    let count = items.len() * EACH;
    let since = Instant::now();
    let mut senders = JoinSet::new();
    for sender in 0..CONNECTIONS {
        let mut connection = Connection::open(daemon.client.socket()).await?;
        let wanted = items.iter().cycle().take(count).skip(sender).step_by(CONNECTIONS);
        let to: Vec<_> = wanted.map(|item| item.runtime_id.clone()).collect();
        senders.spawn(async move {
            for to in to {
                connection.post("/v1/messages", &json!({ "to": to, "text": TEXT })).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(sent) = senders.join_next().await {
        sent??;
    }
    let rate = count as f64 / since.elapsed().as_secs_f64();
    report.add(Figure {
        name: format!("messages accepted and on the disk, {CONNECTIONS} connections, {} agents", items.len()),
        measured: format!("{rate:.0}/s"),
        baseline: "–".to_owned(),
        ratio: None,
        goal: None,
    });
    let begin = now();
    composers.tell_all("idle")?;
    let (last, texts) = composers.hear_messages(count + waiting)?;
    let ours = last - begin;
    daemon.stop()?;
    let theirs = by_forks(composers)?;
    report.add(Figure {
        name: format!(
            "{} messages that wait for {} agents, all idle at once → the last submitted",
            count + waiting,
            items.len()
        ),
        measured: format!("{} by {texts} texts", millis(ours)),
        baseline: format!(
            "two `capture-pane` and two `send-keys` forked for each agent, unguarded: {}",
            millis(theirs)
        ),
        ratio: Some(ratio(ours, theirs)),
        goal: None,
    });
    Ok(())
}

/// What looking at each pane twice and typing into it costs, with nothing that is kept, checked or confirmed.
fn by_forks(composers: &Composers) -> Result<Duration> {
    let fleet = &composers.fleet;
    let messages: Vec<_> = (0..EACH).map(|n| format!("[Input from: me (uid 0) via sm send id=m{n}] {TEXT}")).collect();
    let text = messages.join(" ");
    let begin = now();
    for pane in &fleet.panes {
        fleet.ask(&["capture-pane", "-p", "-t", &pane.id])?;
        fleet.ask(&["capture-pane", "-p", "-t", &pane.id])?;
        fleet.ask(&["send-keys", "-t", &pane.id, "-l", "--", &text])?;
        fleet.ask(&["send-keys", "-t", &pane.id, "Enter"])?;
    }
    let (last, _) = composers.hear_messages(fleet.panes.len() * EACH)?;
    Ok(last - begin)
}
