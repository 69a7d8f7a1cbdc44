//! What is read from an engine: references, lists and their sums.

use crate::world::{World, signal};
use agtmux_core::engine::Engine;
use agtmux_core::event::{Ending, Fact};
use agtmux_core::id::{AgentId, TargetName};
use agtmux_core::query::{self, Grouping, PaneFilter, Sort, StateCounts};
use agtmux_core::reference::pane_ref;
use agtmux_core::signal::{Cause, Composer, Signal, Source, Work};
use agtmux_core::state::State;

fn world() -> World {
    let mut world = World::default();
    world.target("vm1");
    let claude = world.pane("local", "main", (1, "api"), 1);
    let codex = world.pane("local", "main", (0, "docs"), 2);
    world.pane("local", "main", (2, "shell"), 3);
    let odd = world.pane("local", "a/b %2F c:d", (0, "öl/2"), 4);
    world.pane("local", "a/b / c:d", (0, "zsh"), 5);
    let remote = world.pane("vm1", "main", (0, "api"), 1);
    world.agent(&claude, "claude", "waiting_approval");
    world.agent(&codex, "codex", "running");
    world.agent(&odd, "claude", "completed");
    world.agent(&remote, "claude", "error");
    let name = Some("builder".to_owned());
    let runtime = world.engine.resolve_ref("pane:local/main/docs/0").unwrap().runtime.unwrap();
    world.apply(Fact::Named { runtime, name });
    world
}

/// What a reference means: target, pane and agent, or the code and the message.
fn meaning(engine: &Engine, text: &str) -> String {
    match engine.resolve_ref(text) {
        Ok(found) => {
            let row = query::pane(engine, &found.pane).unwrap();
            assert_eq!(row.runtime.as_ref().map(|runtime| &runtime.id), found.runtime.as_ref());
            let agent = row.runtime.map_or("-".to_owned(), |runtime| runtime.agent.to_string());
            format!("{} {} {agent}", row.target, found.pane.pane)
        }
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn references_by_place() {
    let world = world();
    let engine = &world.engine;
    for (text, expected) in [
        ("pane:local/main/1/0", "local %1 claude"),
        ("pane:local/main/api/0", "local %1 claude"),
        ("pane:local/main/@1/%1", "local %1 claude"),
        ("pane:local/main/@3/%3", "local %3 -"),
        ("pane:vm1/main/api/%1", "vm1 %1 claude"),
        ("pane:local/a/b %2F c:d/0/%4", "local %4 claude"),
        ("pane:local/a%2Fb / c:d/0/0", "local %5 -"),
        ("pane:local/a%2Fb %252F c:d/@4/0", "local %4 claude"),
        ("pane:local/a/b %2F c:d/%C3%B6l%2F2/0", "local %4 claude"),
        ("pane:local/main/1/%2", "E_REF_NOT_FOUND"),
        ("pane:local/nowhere/1/0", "E_REF_NOT_FOUND"),
        ("pane:vm2/main/1/0", "E_REF_NOT_FOUND"),
        ("pane:local/main/0", "E_REF_MALFORMED"),
        ("pane:local/main/0/x", "E_REF_MALFORMED"),
        ("pane:Local/main/0/0", "E_REF_MALFORMED"),
        ("pane:", "E_REF_MALFORMED"),
    ] {
        assert_eq!(meaning(engine, text), expected, "{text}");
    }
}

#[test]
fn every_pane_has_a_reference_that_means_it() {
    let world = world();
    for row in query::panes(&world.engine, &PaneFilter { all: true, ..PaneFilter::default() }) {
        let text = pane_ref(&row.target, &row.place, row.pane.pane);
        assert_eq!(world.engine.resolve_ref(&text).unwrap().pane, row.pane, "{text}");
    }
}

#[test]
fn references_by_runtime_and_name() {
    let mut world = world();
    let runtime = world.engine.resolve_ref("builder").unwrap().runtime.unwrap();
    for text in [format!("runtime:{runtime}"), runtime.to_string(), format!("runtime:{}", &runtime.as_str()[..12])] {
        assert_eq!(meaning(&world.engine, &text), "local %2 codex", "{text}");
    }
    assert_eq!(meaning(&world.engine, "%4"), "local %4 claude");
    assert_eq!(meaning(&world.engine, "%1"), "E_REF_AMBIGUOUS", "one on each target");
    assert_eq!(meaning(&world.engine, "runtime:rt_"), "E_REF_AMBIGUOUS");
    assert_eq!(meaning(&world.engine, "nobody"), "E_REF_NOT_FOUND");
    assert_eq!(meaning(&world.engine, "runtime:"), "E_REF_MALFORMED");
    assert_eq!(meaning(&world.engine, ""), "E_REF_MALFORMED");

    let error = world.engine.resolve_ref("%1").unwrap_err();
    assert_eq!(error.hint().unwrap().matches("runtime:rt_").count(), 2, "the candidates are listed");

    world.apply(Fact::RuntimeEnded { runtime: runtime.clone(), how: Ending::Exited });
    assert_eq!(meaning(&world.engine, "builder"), "E_REF_NOT_FOUND", "a name dies with its runtime");
    let error = world.engine.resolve_ref(runtime.as_str()).unwrap_err();
    assert_eq!(error.hint().unwrap(), format!("runtime {runtime} is over: exited"));
}

#[test]
fn lists_are_sorted_and_summed() {
    let world = world();
    let all = PaneFilter { all: true, ..PaneFilter::default() };
    let mut text = String::new();
    for row in query::panes(&world.engine, &all) {
        let state = row.runtime.map_or("-".to_owned(), |r| format!("{} {}", r.agent, r.verdict.state.name()));
        text.push_str(&format!(
            "pane     {}/{}/{} {} {state}\n",
            row.target, row.place.session_name, row.place.window_index, row.pane.pane
        ));
    }
    for row in query::windows(&world.engine, &all) {
        let top = row.top_state.map_or("-", State::name);
        let counts = format!("waiting {} running {} of {}", row.waiting, row.running, row.panes.len());
        text.push_str(&format!("window   {}/{}/{} {top} {counts}\n", row.target, row.session_name, row.window_name));
    }
    for grouping in [Grouping::TargetSession, Grouping::SessionName] {
        for row in query::sessions(&world.engine, &all, grouping) {
            let target = row.target.as_ref().map_or("*", TargetName::as_str);
            let top = row.top_state.map_or("-", State::name);
            let on: Vec<_> = row.by_target.iter().map(|(target, sum)| format!("{target} {}", sum.total)).collect();
            text.push_str(&format!(
                "session  {target}/{} {top} {} panes, {}\n",
                row.session_name,
                row.panes,
                on.join(", ")
            ));
        }
    }
    let sum = query::summary(&query::panes(&world.engine, &all));
    text.push_str(&format!("summary  {} agents: {}\n", sum.total, counts(&sum.by_state)));
    text.push_str(&format!("         {:?}\n", sum.by_agent));
    for row in query::targets(&world.engine) {
        let counts = format!("{} server, {} panes, {} agents", row.servers, row.panes, row.runtimes);
        text.push_str(&format!("target   {} {} {}: {counts}\n", row.target, row.kind.name(), row.health.name()));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn filters_narrow() {
    let world = world();
    let count = |filter: PaneFilter| query::panes(&world.engine, &filter).len();
    let none = PaneFilter::default;
    let local = TargetName::local();
    assert_eq!(count(none()), 4, "panes without an agent are left out");
    assert_eq!(count(PaneFilter { all: true, ..none() }), 6);
    assert_eq!(count(PaneFilter { target: Some(local.clone()), ..none() }), 3);
    assert_eq!(count(PaneFilter { session: Some("main".to_owned()), ..none() }), 3);
    assert_eq!(count(PaneFilter { target_session: Some((local, "main".to_owned())), ..none() }), 2);
    assert_eq!(count(PaneFilter { states: [State::Running].into(), all: true, ..none() }), 1);
    let waiting_or_running = [State::WaitingInput, State::WaitingApproval, State::Running];
    let several: usize =
        waiting_or_running.iter().map(|state| count(PaneFilter { states: [*state].into(), ..none() })).sum();
    assert_eq!(count(PaneFilter { states: waiting_or_running.into(), ..none() }), several);
    assert_eq!(count(PaneFilter { agent: Some(AgentId::new("claude")), ..none() }), 3);
    assert_eq!(count(PaneFilter { needs_action: Some(true), ..none() }), 2);
    assert_eq!(count(PaneFilter { needs_action: Some(false), ..none() }), 2);
}

/// Whoever needs a person comes first, and panes without an agent last; the order of places breaks ties.
#[test]
fn rows_are_sorted() {
    let world = world();
    let all = PaneFilter { all: true, ..PaneFilter::default() };
    let sorted = |sort: Sort| {
        let mut rows = query::panes(&world.engine, &all);
        rows.sort_by(|one, other| sort.compare(one, other));
        rows
    };
    let places = query::panes(&world.engine, &all);
    assert_eq!(sorted(Sort::Place), places);
    for sort in Sort::ALL.into_iter().skip(1) {
        let rows = sorted(sort);
        assert_eq!(rows.len(), places.len());
        assert!(rows.iter().is_sorted_by_key(|row| row.runtime.is_none()), "{sort:?}");
    }
    let calls: Vec<_> =
        sorted(Sort::Urgency).iter().filter_map(|row| Some(row.runtime.as_ref()?.attention.needs_action)).collect();
    assert!(calls.is_sorted_by_key(|needs_action| !needs_action), "{calls:?}");
    assert!(calls.contains(&true) && calls.contains(&false), "{calls:?}");
}

#[test]
fn a_summary_names_every_state() {
    assert_eq!(query::summary(&[]).by_state.iter().count(), State::ALL.len());
}

fn counts(counts: &StateCounts) -> String {
    counts.iter().map(|(state, count)| format!("{} {count}", state.name())).collect::<Vec<_>>().join(", ")
}

/// What is shown beside a state comes from whoever spoke last of it, and goes with it.
#[test]
fn details_are_shown_as_long_as_they_hold() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "running");
    let mut n = 1_000;
    let mut shown = |said: Option<(Signal, &str)>| {
        if let Some((said, message)) = said {
            n += 1;
            let mut event = signal(TargetName::local(), Some(runtime.clone()), n, said);
            event.source = Source::Screen;
            event.message = (!message.is_empty()).then(|| message.to_owned());
            world.apply(Fact::Signal(Box::new(event)));
        }
        let row = query::pane(&world.engine, &pane).unwrap().runtime.unwrap();
        (row.verdict.reason, row.details.draft, row.details.doing.unwrap_or_default())
    };
    let composer = |is| Some((Signal::Composer { is }, ""));
    let retrying = |message| Some((Signal::Working { with: Work::Retrying { cause: Cause::Network } }, message));
    let is = |reason: &str, draft, doing: &str| (reason.to_owned(), draft, doing.to_owned());
    assert_eq!(shown(None), is("turn_active", false, ""));
    assert_eq!(shown(composer(Composer::Draft)), is("turn_active", true, ""));
    assert_eq!(shown(retrying("529 · Retrying · attempt 4/10")), is("retrying", true, "529 · Retrying · attempt 4/10"));
    assert_eq!(shown(retrying("")), is("retrying", true, "retrying: network"));
    assert_eq!(shown(composer(Composer::Ghost)), is("retrying", false, "retrying: network"));
    assert_eq!(shown(Some((Signal::Working { with: Work::Compacting }, ""))), is("compacting", false, "compacting"));
    assert_eq!(shown(Some((Signal::WorkEnded, ""))), is("turn_active", false, ""));
    assert_eq!(shown(Some((Signal::Background { count: 2 }, ""))), is("turn_active", false, "2 background tasks"));
    assert_eq!(shown(Some((Signal::Background { count: 0 }, ""))), is("turn_active", false, ""));
}
