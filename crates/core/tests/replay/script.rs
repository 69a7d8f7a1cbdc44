//! The language of the replay files: one JSON object per line, times in seconds.
//!
//! Every line has `at` and one verb: `server`, `server_gone`, `add_target`, `remove_target`, `health`, `pane`,
//! `pane_gone`, `start`, `process`, `end`, `name`, `signal`, `again`, `seen`, `ack`, `notified`, `policy`, `tick`,
//! `checkpoint`, `refused`, `newer`. The pane is `%1` unless given. A signal names the runtime in its pane unless
//! `ancestors` (pids that the kernel shows) or `remote` (nothing but the pane) says otherwise.

use agtmux_core::engine::Engine;
use agtmux_core::event::{Ending, Event, FORMAT, Fact, Health, Place, ProcessState, TargetKind};
use agtmux_core::id::{
    AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId,
};
use agtmux_core::policy::Policy;
use agtmux_core::signal::{
    self, Blocking, Cause, Claim, Composer, InputKind, Outcome, Signal, SignalEvent, Source, Work,
};
use agtmux_core::time::{Span, Stamp, Timestamp};
use serde_json::Value;

/// Reads lines into events. The first pane brings its server along.
#[derive(Default)]
pub(crate) struct Script {
    seq: u64,
    server: Option<ServerId>,
    last: Option<Fact>,
}

impl Script {
    pub(crate) fn events(&mut self, line: &str, engine: &Engine) -> Vec<Event> {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let line = Line(&line);
        let mut facts = Vec::new();
        if line.has("server") || (self.server.is_none() && line.has("pane")) {
            facts.push(self.server_seen(&line));
        }
        if !line.has("server") {
            facts.push(self.fact(&line, engine));
        }
        self.last = facts.last().cloned();
        facts.into_iter().map(|fact| self.event(&line, fact)).collect()
    }

    fn event(&mut self, line: &Line<'_>, fact: Fact) -> Event {
        self.seq += 1;
        let v = if line.has("newer") { FORMAT + 1 } else { FORMAT };
        Event { v, seq: self.seq, at: line.time("at").unwrap(), fact }
    }

    fn server_seen(&mut self, line: &Line<'_>) -> Fact {
        let target = line.target();
        let pid = line.number("server").unwrap_or(1) as u32;
        let server = ServerId::derive(&target, "/tmp/tmux", pid, 0);
        self.server = Some(server.clone());
        Fact::ServerSeen { server, target, socket: "/tmp/tmux".to_owned(), pid, start_time: 0 }
    }

    fn fact(&self, line: &Line<'_>, engine: &Engine) -> Fact {
        let pane = self.pane(line);
        let runtime = || self.runtime(line, engine);
        if line.has("again") {
            return self.last.clone().unwrap();
        }
        if line.has("signal") {
            return Fact::Signal(Box::new(self.signal(line, engine)));
        }
        if let Some(agent) = line.text("start") {
            let agent = AgentId::new(agent);
            let boot = BootId::new("boot");
            let process = process(line.number("pid").unwrap_or(100));
            let runtime = RuntimeId::derive(&pane, &boot, process, &agent);
            let why = format!("comm is {agent}");
            return Fact::RuntimeStarted { runtime, pane, agent, boot, process, why };
        }
        if let Some(how) = line.text("end") {
            assert_eq!(how, "exited");
            return Fact::RuntimeEnded { runtime: runtime(), how: Ending::Exited };
        }
        if let Some(state) = line.text("process") {
            let process = if state == "stopped" { ProcessState::Stopped } else { ProcessState::Alive };
            return Fact::ProcessChanged { runtime: runtime(), process };
        }
        if let Some(name) = line.text("name") {
            return Fact::Named { runtime: runtime(), name: Some(name.to_owned()) };
        }
        if let Some(health) = line.text("health") {
            let health = match health {
                "ok" => Health::Ok,
                "degraded" => Health::Degraded,
                "down" => Health::Down,
                other => panic!("no health {other}"),
            };
            return Fact::TargetHealth { target: line.target(), health, detail: None };
        }
        if let Some(target) = line.text("add_target") {
            let connection = Some(target.to_owned());
            return Fact::TargetAdded { target: TargetName::new(target), kind: TargetKind::Ssh, connection };
        }
        if let Some(target) = line.text("remove_target") {
            return Fact::TargetRemoved { target: TargetName::new(target) };
        }
        if let Some(policy) = line.0.get("policy") {
            let span = |name| policy.get(name).and_then(Value::as_i64).map(Span::seconds);
            let default = Policy::default();
            return Fact::PolicySet {
                policy: Policy {
                    completed_for: span("completed_for").unwrap_or(default.completed_for),
                    bind_within: span("bind_within").unwrap_or(default.bind_within),
                    ..default
                },
            };
        }
        if line.has("server_gone") {
            return Fact::ServerGone { server: self.server.clone().unwrap() };
        }
        if line.has("pane_gone") {
            return Fact::PaneGone { pane };
        }
        if line.has("seen") {
            return Fact::Seen { runtime: runtime() };
        }
        if let Some(nudge_seq) = line.number("ack") {
            return Fact::Acknowledged { runtime: runtime(), nudge_seq };
        }
        if line.has("notified") {
            return Fact::IntentDone { intent: engine.outbox()[0].id().clone() };
        }
        if line.has("checkpoint") {
            return Fact::Checkpoint { state: Box::new(engine.state().clone()) };
        }
        if let Some(what) = line.text("refused") {
            let code = "E_RUNTIME_STALE".to_owned();
            return Fact::Refused { what: what.to_owned(), code, detail: String::new() };
        }
        if line.has("tick") || line.has("newer") {
            return Fact::Tick;
        }
        Fact::PanePlaced { place: place(line, pane.pane), pane }
    }

    fn signal(&self, line: &Line<'_>, engine: &Engine) -> SignalEvent {
        let source = line.text("source").unwrap_or("hook");
        let remote = line.has("remote");
        let ancestors = line.0.get("ancestors").and_then(Value::as_array);
        let ancestors: Option<Vec<_>> =
            ancestors.map(|pids| pids.iter().map(|pid| process(pid.as_u64().unwrap())).collect());
        let next = self.seq + 1;
        SignalEvent {
            event_id: EventId::new(format!("ev_{next}")),
            source: Source::from_name(source).unwrap_or_else(|| panic!("no source {source}")),
            source_event_id: None,
            dedupe_key: line.text("key").map_or_else(|| format!("key {next}"), str::to_owned),
            source_seq: line.number("seq"),
            emitted: Stamp {
                boot: BootId::new(line.text("boot").unwrap_or("boot")),
                ns: line.time("emitted").or(line.time("at")).unwrap().0 as u64 * 1_000_000,
            },
            event_time: line.time("event_time"),
            claim: Claim {
                target: line.target(),
                runtime: (!remote && ancestors.is_none()).then(|| self.runtime(line, engine)),
                pane: Some(self.pane(line)),
                process: line.number("claims_pid").map(process),
                ancestors,
            },
            signal: signal(line.text("signal").unwrap()),
            message: line.text("message").map(str::to_owned),
            payload: None,
        }
    }

    /// The runtime with the `pid` given, else the one in the pane.
    fn runtime(&self, line: &Line<'_>, engine: &Engine) -> RuntimeId {
        let topology = &engine.state().topology;
        let by_pid = line.number("pid").map(|pid| {
            let mut all = topology.runtimes.values();
            all.find(|runtime| runtime.process == process(pid)).map(|runtime| runtime.id.clone())
        });
        let pane = self.pane(line);
        by_pid
            .unwrap_or_else(|| topology.living_in(&pane).map(|runtime| runtime.id.clone()))
            .unwrap_or_else(|| RuntimeId::new("rt_nobody"))
    }

    fn pane(&self, line: &Line<'_>) -> PaneKey {
        PaneKey {
            server: self.server.clone().unwrap_or_else(|| ServerId::new("srv_none")),
            pane: line.text("pane").unwrap_or("%1").parse().unwrap(),
        }
    }
}

struct Line<'a>(&'a Value);

impl<'a> Line<'a> {
    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.0.get(name).and_then(Value::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    fn time(&self, name: &str) -> Option<Timestamp> {
        let seconds = self.0.get(name).and_then(Value::as_f64)?;
        Some(Timestamp((seconds * 1_000.0).round() as i64))
    }

    fn target(&self) -> TargetName {
        self.text("target").map_or_else(TargetName::local, TargetName::new)
    }
}

fn process(pid: u64) -> ProcessKey {
    ProcessKey { pid: pid as u32, start: pid * 10 }
}

fn place(line: &Line<'_>, pane: PaneId) -> Place {
    Place {
        session: SessionId(0),
        session_name: line.text("session").unwrap_or("main").to_owned(),
        window: WindowId(0),
        window_index: 0,
        window_name: "work".to_owned(),
        pane_index: pane.0,
    }
}

/// A signal by a short name, `name` or `name:detail`; the state names of the command line work too.
fn signal(text: &str) -> Signal {
    let (name, detail) = text.split_once(':').unwrap_or((text, ""));
    let cause = || match detail {
        "rate_limit" => Cause::RateLimit,
        "auth" => Cause::Auth,
        "network" => Cause::Network,
        _ => Cause::Other,
    };
    let some = || (!detail.is_empty()).then(|| detail.to_owned());
    match name {
        "turn_started" => Signal::TurnStarted,
        "done" => Signal::TurnEnded { outcome: Outcome::Done },
        "interrupted" => Signal::TurnEnded { outcome: Outcome::Interrupted },
        "settled" => Signal::TurnEnded { outcome: Outcome::Settled },
        "idle" => Signal::Idle,
        "failed" => Signal::TurnEnded { outcome: Outcome::Failed { cause: cause() } },
        "approval" => Signal::Blocked { on: Blocking::Approval { subject: some(), prompt_hash: None } },
        "question" => Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } },
        "dialog" => Signal::Blocked { on: Blocking::Dialog { name: some() } },
        "unblocked" => Signal::Unblocked,
        "thinking" => Signal::Working { with: Work::Thinking },
        "tool" => Signal::Working { with: Work::Tool { name: detail.to_owned() } },
        "compacting" => Signal::Working { with: Work::Compacting },
        "retrying" => Signal::Working { with: Work::Retrying { cause: cause() } },
        "work_ended" => Signal::WorkEnded,
        "background" => Signal::Background { count: detail.parse().unwrap() },
        "draft" => Signal::Composer { is: Composer::Draft },
        "still_so" => Signal::StillSo,
        "withdrawn" => Signal::Withdrawn,
        "garbage" => Signal::Unsupported { what: detail.to_owned() },
        state => signal::from_state_name(state).unwrap(),
    }
}
