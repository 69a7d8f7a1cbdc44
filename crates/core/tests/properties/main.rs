//! Laws that hold for every log, searched for counterexamples.
//!
//! `AGTMUX_CASES` sets the number of cases per law (2,000 unless given).
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may fail, and is told from outside how long to search"
)]

mod mail;
mod world;

use agtmux_core::engine::{Disposition, Engine};
use agtmux_core::event::{Event, Fact, Health};
use agtmux_core::explain::{Status, explain};
use agtmux_core::query::{self, PaneFilter, PaneRow};
use agtmux_core::signal::{Evidence, Signal};
use agtmux_core::state::{Confidence, State};
use agtmux_core::time::{Span, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use world::{Said, log_of, said, settled_world, signal_event, stage};

fn config() -> ProptestConfig {
    let cases = std::env::var("AGTMUX_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2_000);
    ProptestConfig {
        cases,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    /// I6: sources that race each other within a burst give the same state, whoever is heard first.
    ///
    /// All that a person sees is compared, and every fact with its standing. Left out are the counters of the path
    /// taken: `state_version`, `updated_at` and `nudge_seq` count what was shown in between, and a question that
    /// arrives before its answer was shown for a moment while one that arrives after was not. Log positions are left
    /// out because they are the order of arrival itself.
    #[test]
    fn sources_may_interleave(bursts in prop::collection::vec(world::burst(), 1..6)) {
        let mut one = settled_world();
        let mut other = settled_world();
        for (n, burst) in bursts.iter().enumerate() {
            let at = Timestamp(10_000 + n as i64 * 40_000);
            play(&mut one, at, burst.statements.iter());
            play(&mut other, at, burst.shuffled().into_iter());
            prop_assert_eq!(seen_by_people(&one), seen_by_people(&other));
            prop_assert_eq!(one.next_deadline(), other.next_deadline());
        }
        let late = one.now() + Span::hours(13);
        for engine in [&mut one, &mut other] {
            engine.apply(&stage(engine.state().seq + 1, late, Fact::Tick));
        }
        prop_assert_eq!(seen_by_people(&one), seen_by_people(&other));
    }

    /// I7: each signal heard one to five times, at once and much later, is heard once.
    #[test]
    fn duplicates_change_nothing(
        log in log_of(said(), 1..20),
        times in prop::collection::vec((1..5usize, 0..20usize), 20),
    ) {
        let mut once = settled_world();
        let mut often = settled_world();
        for (n, event) in log.iter().enumerate() {
            once.apply(event);
            often.apply(event);
            for (repeats, back) in &times[n..=n] {
                for _ in 1..*repeats {
                    let again = Event { seq: event.seq, at: event.at, ..log[n - back.min(&n)].clone() };
                    let applied = often.apply(&again);
                    let is_duplicate = matches!(applied.disposition, Some(Disposition::Duplicate { .. }));
                    prop_assert!(is_duplicate);
                    prop_assert!(applied.changed.is_empty());
                }
            }
            prop_assert_eq!(rows(&once), rows(&often));
        }
        prop_assert_eq!(once.outbox(), often.outbox());
        prop_assert_eq!(once.next_deadline(), often.next_deadline());
    }

    /// I8: nothing stale is shown as known, whatever the clocks do, and nothing at all on a target that is down.
    #[test]
    fn stale_is_unknown(log in world::log(60)) {
        let mut engine = Engine::new();
        let mut heard = Vec::new();
        for event in &log {
            engine.apply(event);
            if let Fact::Signal(signal) = &event.fact {
                heard.push((engine.now(), signal.clone()));
            }
            for row in rows(&engine) {
                let Some(runtime) = &row.runtime else { continue };
                let verdict = &runtime.verdict;
                if engine.state().topology.health(&row.target).0 == Health::Down {
                    prop_assert_eq!(verdict.reason.as_str(), "target_unreachable");
                }
                if verdict.state == State::Unknown {
                    prop_assert_eq!(verdict.confidence, Confidence::Low);
                    continue;
                }
                // Told by a source of that evidence, within the longest lifetime that such evidence has.
                let within = match (verdict.evidence.unwrap(), verdict.state) {
                    (Evidence::Guessed, _) => Span::minutes(5),
                    (Evidence::Observed, State::Running) => Span::minutes(2),
                    (Evidence::Observed, _) => Span::minutes(30),
                    (Evidence::Recorded | Evidence::Reported, State::Running) => Span::minutes(30),
                    (Evidence::Recorded | Evidence::Reported, _) => Span::hours(12),
                };
                let recent = heard.iter().any(|(at, signal)| {
                    Some(signal.source) == verdict.source
                        && *at + within > engine.now()
                        && !matches!(signal.signal, Signal::Unsupported { .. } | Signal::Withdrawn)
                });
                prop_assert!(recent, "{verdict:?} at {:?}", engine.now());
                let explained = explain(&engine, &runtime.id).unwrap();
                let deciding = explained.chain.iter().find(|step| step.status == Status::Deciding).unwrap();
                prop_assert!(deciding.expires_at > engine.now());
            }
        }
    }

    /// I10: what no rule understands never makes a state.
    #[test]
    fn garbage_makes_no_state(log in log_of(world::meaningless(), 1..30)) {
        let mut engine = settled_world();
        for event in &log {
            engine.apply(event);
            for row in rows(&engine) {
                prop_assert_eq!(row.runtime.unwrap().verdict.state, State::Unknown);
            }
        }
    }

    /// I10: nor does it move one.
    #[test]
    fn garbage_moves_no_state(log in log_of(said(), 1..20), garbage in prop::collection::vec(world::garbage(), 20)) {
        let mut clean = settled_world();
        let mut littered = settled_world();
        for (event, garbage) in log.iter().zip(&garbage) {
            littered.apply(&Event { fact: signal_event(garbage, 1_000_000 + event.seq), ..event.clone() });
            littered.apply(event);
            clean.apply(event);
            let [one, other] = [&clean, &littered].map(|engine| rows(engine).remove(0).runtime.unwrap());
            prop_assert_eq!(one.attention, other.attention);
            // That it was there may be the reason why nothing is known.
            let nothing = one.verdict.state == State::Unknown && other.verdict.reason == "unsupported_signal";
            prop_assert!(nothing || one.verdict == other.verdict);
        }
    }

    /// I11: a source's wall clock decides nothing.
    #[test]
    fn event_time_decides_nothing(
        log in log_of(said(), 1..30),
        times in prop::collection::vec(prop::option::of(-4_000_000..4_000_000i64), 30),
    ) {
        let mut without = settled_world();
        let mut with = settled_world();
        for (event, time) in log.iter().zip(&times) {
            let mut timed = event.clone();
            if let Fact::Signal(signal) = &mut timed.fact {
                signal.event_time = time.map(Timestamp);
            }
            prop_assert_eq!(without.apply(event), with.apply(&timed));
        }
        prop_assert_eq!(without.state(), with.state());
    }

    /// The state is a function of the log: live, replayed, from a stored snapshot at any point, and as JSON.
    #[test]
    fn state_is_a_function_of_the_log(log in world::log(60), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(log.len());
        let mut live = Engine::new();
        let mut stored = String::new();
        for (n, event) in log.iter().enumerate() {
            if n == cut {
                stored = serde_json::to_string(live.state()).unwrap();
            }
            live.apply(event);
        }
        let mut tail = Engine::restore(serde_json::from_str(&stored).unwrap());
        let mut replayed = Engine::new();
        for event in &log[..cut] {
            replayed.apply(event);
        }
        prop_assert_eq!(replayed.state(), tail.state());
        for event in &log[cut..] {
            let line = serde_json::to_string(event).unwrap();
            let read: Event = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(&read, event);
            prop_assert_eq!(replayed.apply(&read), tail.apply(event));
        }
        for engine in [&replayed, &tail] {
            prop_assert_eq!(engine.state(), live.state());
            prop_assert_eq!(engine.outbox(), live.outbox());
            prop_assert_eq!(engine.next_deadline(), live.next_deadline());
        }
    }

    /// Between events nothing changes before the deadline, and at the deadline it is answered.
    #[test]
    fn deadlines_are_exact(log in world::log(40)) {
        let mut engine = Engine::new();
        for event in &log {
            engine.apply(event);
            let mut waiting = engine.clone();
            for _ in 0..4 {
                let Some(deadline) = waiting.next_deadline() else { break };
                prop_assert!(deadline > waiting.now());
                let before = Timestamp(deadline.0 - 1);
                let applied = waiting.apply(&stage(event.seq, before, Fact::Tick));
                prop_assert!(applied.changed.is_empty());
                prop_assert_eq!(waiting.next_deadline(), Some(deadline));
                waiting.apply(&stage(event.seq, deadline, Fact::Tick));
                prop_assert_ne!(waiting.next_deadline(), Some(deadline));
            }
        }
    }

    /// Every pane whose row is another is named as changed; every state has a reason of the closed list and, but for
    /// `unknown`, a fact that decided it.
    #[test]
    fn changes_are_told(log in world::log(60)) {
        let mut engine = Engine::new();
        let all = PaneFilter { all: true, ..PaneFilter::default() };
        for event in &log {
            let before = query::panes(&engine, &all);
            let applied = engine.apply(event);
            let after = query::panes(&engine, &all);
            let gone = before.iter().filter(|row| !after.contains(row));
            for row in gone.chain(after.iter().filter(|row| !before.contains(row))) {
                prop_assert!(applied.changed.contains(&row.pane), "{:?} changed {:?} untold", event, row);
            }
            for runtime in engine.state().topology.runtimes.values().filter(|runtime| runtime.is_live()) {
                let explained = explain(&engine, &runtime.id).unwrap();
                prop_assert!(runtime.verdict.state.reasons().contains(&runtime.verdict.reason.as_str()));
                let decides = explained.chain.iter().any(|step| step.status == Status::Deciding);
                prop_assert!(decides || runtime.verdict.state == State::Unknown);
            }
        }
    }

    /// A signal moves the runtime it is bound to and no other; that of an ended runtime moves none.
    #[test]
    fn signals_move_their_own_runtime(log in world::log(60)) {
        let mut engine = Engine::new();
        for event in &log {
            engine.apply(&Event { fact: Fact::Tick, ..event.clone() });
            let applied = engine.apply(event);
            let allowed = match &applied.disposition {
                None => continue,
                Some(Disposition::Bound { runtime }) => {
                    let runtime = engine.state().topology.live(runtime).unwrap();
                    if let Fact::Signal(signal) = &event.fact {
                        prop_assert!(signal.claim.runtime.as_ref().is_none_or(|claimed| *claimed == runtime.id));
                        let unproven = |ancestors: &Vec<_>| !ancestors.contains(&runtime.process);
                        let believed = signal.claim.runtime.is_none() && signal.claim.ancestors.as_ref().is_some_and(unproven);
                        prop_assert!(!believed, "bound by hearsay");
                    }
                    Some(runtime.pane.clone())
                }
                Some(_) => None,
            };
            prop_assert!(applied.changed.iter().all(|pane| Some(pane) == allowed.as_ref()));
        }
    }
}

fn play<'a>(engine: &mut Engine, at: Timestamp, statements: impl Iterator<Item = &'a Said>) {
    for statement in statements {
        let seq = engine.state().seq + 1;
        engine.apply(&stage(seq, at, signal_event(statement, 0)));
    }
}

fn rows(engine: &Engine) -> Vec<PaneRow> {
    query::panes(engine, &PaneFilter::default())
}

/// Everything but the counters of the path taken.
fn seen_by_people(engine: &Engine) -> Vec<String> {
    let mut seen = Vec::new();
    for row in rows(engine) {
        let runtime = row.runtime.unwrap();
        let attention = &runtime.attention;
        let explained = explain(engine, &runtime.id).unwrap();
        let mut chain: Vec<_> = explained
            .chain
            .iter()
            .map(|s| {
                format!(
                    "{:?} {:?} {} {:?} {:?} {:?} {}",
                    s.fact, s.source, s.value, s.message, s.at, s.expires_at, s.status
                )
            })
            .collect();
        chain.sort();
        seen.push(format!("{:?} {:?} {} {}", row.pane, runtime.verdict, attention.needs_action, attention.unseen));
        seen.push(format!("{:?} {:?}", attention.kind, explained.would_change));
        seen.extend(chain);
    }
    seen
}
