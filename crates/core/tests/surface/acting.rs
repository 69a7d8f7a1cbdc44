//! Actions are prepared, checked and refused by what is known, with codes and hints that people and programs rely on.

use crate::world::{World, signal};
use agtmux_core::action::{Conditions, Snapshot, Verb, Wish};
use agtmux_core::event::{Ending, Fact, Health, ProcessState};
use agtmux_core::id::{ActionId, PaneKey, RuntimeId, TargetName};
use agtmux_core::signal::{Blocking, Cause, Composer, InputKind, Outcome, Signal, Source, Work};
use agtmux_core::state::State;
use agtmux_core::time::{Span, Timestamp};

struct Stage {
    world: World,
    pane: PaneKey,
    runtime: RuntimeId,
    said: u64,
}

fn stage(state: &str) -> Stage {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", state);
    Stage { world, pane, runtime, said: 100 }
}

impl Stage {
    fn hear(&mut self, source: Source, said: Signal) {
        self.said += 1;
        let mut event = signal(TargetName::local(), Some(self.runtime.clone()), self.said, said);
        event.source = source;
        self.world.apply(Fact::Signal(Box::new(event)));
    }

    fn asks(&mut self, what: &str) {
        let on = Blocking::Approval { subject: Some(what.to_owned()), prompt_hash: Some(format!("prompt_{what}")) };
        self.hear(Source::Hook, Signal::Blocked { on });
    }

    fn prepare(&self, verb: Verb, conditions: Conditions) -> Result<Snapshot, String> {
        let reference = format!("runtime:{}", self.runtime);
        let at = self.world.engine.now();
        let wish = Wish { action: ActionId::new("act"), verb, reference, conditions, at };
        self.world.engine.prepare(&wish).map_err(|why| self.shown(&why.to_string()))
    }

    fn recheck(&self, snapshot: &Snapshot) -> String {
        let checked = self.world.engine.recheck(snapshot, self.world.engine.now());
        checked.map_or_else(|why| self.shown(&format!("{}: {}", why.code.name(), why.message)), |()| "ok".to_owned())
    }

    fn shown(&self, text: &str) -> String {
        text.replace(self.runtime.as_str(), "RT")
    }
}

fn only(conditions: impl FnOnce(&mut Conditions)) -> Conditions {
    let mut made = Conditions::default();
    conditions(&mut made);
    made
}

/// Text typed at a dialog answers it. Text typed at a draft joins it, but what is known of a draft is old: whoever types looks.
#[test]
fn text_is_only_for_an_agent_that_takes_it_as_a_prompt() {
    let mut stage = stage("idle");
    let send = |stage: &Stage| stage.prepare(Verb::Send, Conditions::default()).map(|_| "ok");
    assert_eq!(send(&stage), Ok("ok"));
    stage.hear(Source::Screen, Signal::Composer { is: Composer::Draft });
    assert_eq!(send(&stage), Ok("ok"), "the draft may be gone by now");
    stage.hear(Source::Hook, Signal::TurnStarted);
    assert_eq!(send(&stage), Ok("ok"), "agents queue what comes during a turn");
    stage.hear(Source::Hook, Signal::Working { with: Work::Compacting });
    insta::assert_snapshot!(send(&stage).unwrap_err(), @"RT is compacting its conversation; text typed now can get lost");
    stage.asks("rm");
    insta::assert_snapshot!(send(&stage).unwrap_err(), @"RT asks for permission; text typed now would answer that");
    let forced = only(|conditions| conditions.force_stale = true);
    assert!(stage.prepare(Verb::Send, forced).is_ok());
    stage.hear(Source::Hook, Signal::TurnStarted);
    stage.hear(Source::Hook, Signal::Blocked { on: Blocking::Dialog { name: None } });
    insta::assert_snapshot!(send(&stage).unwrap_err(), @"RT shows a dialog; text typed now would answer that");
    stage.hear(Source::Hook, Signal::TurnStarted);
    stage.world.apply(Fact::ProcessChanged { runtime: stage.runtime.clone(), process: ProcessState::Stopped });
    insta::assert_snapshot!(send(&stage).unwrap_err(), @"RT is suspended and reads nothing");
}

/// An agent that declares that it needs an answer sits at its composer, and text is how it gets one.
#[test]
fn what_an_agent_declares_blocks_nothing() {
    let mut stage = stage("idle");
    stage.hear(Source::StatusFile, Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } });
    assert!(stage.prepare(Verb::Send, only(|c| c.state = Some(State::WaitingInput))).is_ok());
    assert!(stage.prepare(Verb::Approve, Conditions::default()).is_err());
}

#[test]
fn conditions_are_met_or_nothing_is_prepared() {
    let stage = stage("idle");
    let kill = |conditions| stage.prepare(Verb::Kill, conditions).map(|_| "ok");
    assert_eq!(kill(only(|c| c.state = Some(State::Idle))), Ok("ok"));
    insta::assert_snapshot!(kill(only(|c| c.state = Some(State::Running))).unwrap_err(), @"RT is idle, not running");
    insta::assert_snapshot!(kill(only(|c| c.runtime = Some("rt_other".to_owned()))).unwrap_err(), @"RT lives in pane %1, not rt_other");
    let forced = only(|c| (c.runtime, c.force_stale) = (Some("rt_other".to_owned()), true));
    assert!(kill(forced).is_err(), "force never sets aside whom it is aimed at");
    let id = stage.runtime.to_string();
    assert_eq!(kill(only(|c| c.runtime = Some(id[..6].to_owned()))), Ok("ok"));
    assert_eq!(kill(only(|c| c.updated_within = Some(Span::seconds(5)))), Ok("ok"));
    let late = Timestamp(stage.world.engine.now().0 + 60_000);
    let conditions = only(|c| c.updated_within = Some(Span::seconds(5)));
    let wish = Wish { action: ActionId::new("act"), verb: Verb::Kill, reference: id, conditions, at: late };
    insta::assert_snapshot!(stage.shown(&stage.world.engine.prepare(&wish).unwrap_err().to_string()), @"the state of RT last changed 60 s ago");
}

#[test]
fn a_snapshot_holds_only_while_nothing_it_rests_on_changes() {
    let mut stage = stage("completed");
    let send = stage.prepare(Verb::Send, Conditions::default()).unwrap();
    let look = stage.prepare(Verb::ViewOutput, Conditions::default()).unwrap();
    assert_eq!(stage.recheck(&send), "ok");
    stage.world.apply_at(stage.world.engine.now() + Span::seconds(59), Fact::Tick);
    assert_eq!(stage.recheck(&send), "ok", "completed may have become idle");
    stage.world.apply_at(stage.world.engine.now() + Span::seconds(1), Fact::Tick);
    stage.hear(Source::Hook, Signal::TurnStarted);
    insta::assert_snapshot!(stage.recheck(&send), @"E_SNAPSHOT_EXPIRED: what this was decided on is too old to act on");
    let kill = stage.prepare(Verb::Kill, Conditions::default()).unwrap();
    stage.hear(Source::Hook, Signal::Idle);
    insta::assert_snapshot!(stage.recheck(&kill), @"E_PRECONDITION_FAILED: RT was running when this was decided and is idle now");
    let forced = stage.prepare(Verb::Kill, only(|c| c.force_stale = true)).unwrap();
    stage.hear(Source::Hook, Signal::TurnStarted);
    assert_eq!(stage.recheck(&forced), "ok");
    assert!(stage.recheck(&look).starts_with("E_SNAPSHOT_EXPIRED"));
}

/// F53: of two texts that are sent at once the first makes the agent run, and the second is for afterwards.
#[test]
fn a_state_that_moved_keeps_no_text_back() {
    let mut stage = stage("idle");
    let send = stage.prepare(Verb::Send, Conditions::default()).unwrap();
    let only_idle = stage.prepare(Verb::Send, only(|c| c.state = Some(State::Idle))).unwrap();
    let kill = stage.prepare(Verb::Kill, Conditions::default()).unwrap();
    stage.hear(Source::Hook, Signal::TurnStarted);
    assert_eq!(stage.recheck(&send), "ok");
    insta::assert_snapshot!(stage.recheck(&only_idle), @"E_PRECONDITION_FAILED: RT is running, not idle");
    insta::assert_snapshot!(stage.recheck(&kill), @"E_PRECONDITION_FAILED: RT was idle when this was decided and is running now");
    stage.hear(Source::Hook, Signal::TurnEnded { outcome: Outcome::Failed { cause: Cause::Auth } });
    assert_eq!(stage.recheck(&send), "ok", "it sits at its composer");
    stage.hear(Source::Hook, Signal::TurnStarted);
    stage.hear(Source::Hook, Signal::Working { with: Work::Compacting });
    insta::assert_snapshot!(stage.recheck(&send), @"E_BLOCKED: RT is compacting its conversation; text typed now can get lost");
    stage.asks("rm");
    insta::assert_snapshot!(stage.recheck(&send), @"E_BLOCKED: RT asks for permission; text typed now would answer that");
    stage.world.apply(Fact::TargetHealth { target: TargetName::local(), health: Health::Down, detail: None });
    insta::assert_snapshot!(stage.recheck(&send), @"E_TARGET_UNREACHABLE: target local cannot be reached");
}

/// I5: what lives in the pane afterwards is never acted on, forced or not.
#[test]
fn another_runtime_in_the_pane_is_another_one() {
    for force_stale in [false, true] {
        let mut stage = stage("idle");
        let kill = stage.prepare(Verb::Kill, only(|c| c.force_stale = force_stale)).unwrap();
        stage.world.apply(Fact::RuntimeEnded { runtime: stage.runtime.clone(), how: Ending::Exited });
        insta::allow_duplicates! {
            insta::assert_snapshot!(stage.recheck(&kill), @"E_RUNTIME_STALE: RT is not in pane %1 any more");
        }
        let pane = stage.pane.clone();
        stage.world.agent(&pane, "codex", "idle");
        assert!(stage.recheck(&kill).starts_with("E_RUNTIME_STALE"));
        stage.world.apply(Fact::PaneGone { pane });
        assert!(stage.recheck(&kill).starts_with("E_RUNTIME_STALE"));
    }
}

#[test]
fn an_answer_is_for_the_prompt_that_was_read() {
    let mut stage = stage("running");
    insta::assert_snapshot!(stage.prepare(Verb::Approve, Conditions::default()).unwrap_err(), @"RT does not ask for permission; it is running");
    stage.asks("ls");
    let yes = stage.prepare(Verb::Approve, only(|c| c.prompt = Some("prompt_l".to_owned()))).unwrap();
    assert_eq!(stage.recheck(&yes), "ok");
    let forced = stage.prepare(Verb::Approve, only(|c| c.force_stale = true)).unwrap();
    stage.asks("rm");
    insta::assert_snapshot!(stage.recheck(&yes), @"E_PRECONDITION_FAILED: RT asks about another prompt now: rm");
    assert!(stage.recheck(&forced).starts_with("E_PRECONDITION_FAILED"), "nobody has read the new one");
    insta::assert_snapshot!(stage.prepare(Verb::Deny, only(|c| c.prompt = Some("prompt_l".to_owned()))).unwrap_err(), @"RT asks about another prompt: prompt_rm rm");
}

/// The same question told by several sources, in any order, is one question; and what only counts that something is asked
/// never makes one question of two.
#[test]
fn one_question_told_by_several_sources_is_one() {
    let shown = |hash: &str| Signal::Blocked {
        on: Blocking::Approval { subject: Some("ls".to_owned()), prompt_hash: Some(hash.to_owned()) },
    };
    let bare = || Signal::Blocked { on: Blocking::Approval { subject: None, prompt_hash: None } };
    let told = [(Source::VendorFile, bare()), (Source::Hook, shown("hook-1")), (Source::Screen, shown("screen-1"))];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut stage = stage("running");
        let mut looks: Vec<(Snapshot, String)> = Vec::new();
        for place in order {
            stage.hear(told[place].0, told[place].1.clone());
            let look = stage.prepare(Verb::Approve, Conditions::default()).unwrap();
            let hash = look.runtime.as_ref().unwrap().prompt.as_ref().unwrap().hash.clone();
            looks.push((look, hash));
            for (look, hash) in &looks {
                assert_eq!(stage.recheck(look), "ok", "{order:?}");
                assert!(stage.prepare(Verb::Deny, only(|c| c.prompt = Some(hash.clone()))).is_ok(), "{order:?} {hash}");
            }
        }
        // The next question; the file has not changed meanwhile.
        stage.hear(Source::Hook, shown("hook-2"));
        for (look, hash) in looks.iter().filter(|(_, hash)| hash.starts_with("hook")) {
            assert!(stage.recheck(look).starts_with("E_PRECONDITION_FAILED"), "{order:?} {hash}");
            assert!(stage.prepare(Verb::Deny, only(|c| c.prompt = Some(hash.clone()))).is_err(), "{order:?} {hash}");
        }
    }
}

/// Where nothing is shown of what is asked, being asked again is another question.
#[test]
fn a_question_without_content_is_known_by_when_it_was_asked() {
    let mut stage = stage("running");
    let bare = || Signal::Blocked { on: Blocking::Approval { subject: None, prompt_hash: None } };
    stage.hear(Source::Osc, bare());
    let yes = stage.prepare(Verb::Approve, Conditions::default()).unwrap();
    stage.hear(Source::Osc, Signal::StillSo);
    assert_eq!(stage.recheck(&yes), "ok");
    stage.hear(Source::Osc, bare());
    assert!(stage.recheck(&yes).starts_with("E_PRECONDITION_FAILED"));
    insta::assert_snapshot!(stage.prepare(Verb::Approve, only(|c| c.prompt = Some("zzz".to_owned()))).unwrap_err(), @r#""zzz" is too short to name a prompt"#);
}

#[test]
fn a_pane_without_an_agent_can_be_looked_at() {
    let mut world = World::default();
    world.pane("local", "main", (0, "work"), 1);
    let wish = |verb| Wish {
        action: ActionId::new("act"),
        verb,
        reference: "%1".to_owned(),
        conditions: Conditions::default(),
        at: world.engine.now(),
    };
    assert!(world.engine.prepare(&wish(Verb::Attach)).is_ok());
    assert!(world.engine.prepare(&wish(Verb::ViewOutput)).is_ok());
    for verb in [Verb::Send, Verb::Kill, Verb::Approve, Verb::Deny] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.engine.prepare(&wish(verb)).unwrap_err().to_string(), @"no agent lives in pane %1");
        }
    }
}

#[test]
fn a_target_that_is_down_is_not_acted_on() {
    let mut world = World::default();
    world.target("vm1");
    let pane = world.pane("vm1", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "idle");
    world.apply(Fact::TargetHealth { target: TargetName::new("vm1"), health: Health::Down, detail: None });
    let wish = Wish {
        action: ActionId::new("act"),
        verb: Verb::Send,
        reference: runtime.to_string(),
        conditions: Conditions::default(),
        at: world.engine.now(),
    };
    insta::assert_snapshot!(world.engine.prepare(&wish).unwrap_err().to_string(), @"target vm1 cannot be reached");
}
