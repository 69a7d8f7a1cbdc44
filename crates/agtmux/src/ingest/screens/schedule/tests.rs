//! When screens are looked at, by a clock that the test turns.

use std::collections::BTreeSet;
use std::path::PathBuf;

use agtmux_agents::Reading;
use agtmux_core::id::{AgentId, PaneId, ProcessKey, RuntimeId, ServerId};
use agtmux_core::signal::Signal;
use agtmux_core::time::Timestamp;

use super::*;
use crate::daemon::roster::unknown;

/// A schedule, the time in milliseconds, and who lives where.
struct Stage {
    schedule: Schedule,
    begun: Instant,
    now: u64,
    roster: Roster,
    /// The panes that nobody wants to have looked at.
    unwanted: BTreeSet<PaneKey>,
    /// The panes of which somebody else knows the state.
    known: BTreeSet<PaneKey>,
}

impl Stage {
    fn new() -> Self {
        let (schedule, roster, unwanted, known) =
            (Schedule::default(), Roster::default(), BTreeSet::new(), BTreeSet::new());
        Self { schedule, begun: Instant::now(), now: 0, roster, unwanted, known }
    }

    /// A stage with an agent that was looked at, is heard and rests.
    fn at_rest() -> (Self, Paint) {
        let mut stage = Self::new();
        stage.live(0, "rt0");
        let paint = paint(0);
        stage.schedule.painted(paint.clone(), stage.time());
        assert_eq!(stage.look_after(REST, Outcome::News), [(0, Look::Capture)]);
        (stage, paint)
    }

    fn time(&self) -> Instant {
        self.begun + Duration::from_millis(self.now)
    }

    fn live(&mut self, number: u32, runtime: &str) {
        self.roster.retain(|_, member| member.pane != pane(number));
        self.roster.insert(RuntimeId::new(runtime), Arc::new(member(number, runtime)));
        self.meet();
    }

    fn meet(&mut self) {
        let purpose = |member: &Member| {
            let purpose = if self.known.contains(&member.pane) { Purpose::Details } else { Purpose::State };
            (!self.unwanted.contains(&member.pane)).then_some(purpose)
        };
        self.schedule.meet(&self.roster, purpose, self.time());
    }

    /// The pane is painted, and that is told if nobody has been told yet.
    fn paint(&mut self, paint: &Paint) {
        if paint.put() {
            self.schedule.painted(paint.clone(), self.time());
        }
    }

    /// How long nothing is to be done.
    fn pause(&self) -> Option<Duration> {
        self.schedule.next().map(|next| next.saturating_duration_since(self.time()))
    }

    /// Lets time pass and gives what is due then.
    fn after(&mut self, pause: Duration) -> Vec<Due> {
        self.now += u64::try_from(pause.as_millis()).unwrap();
        self.schedule.due(self.time())
    }

    /// Lets time pass, looks at what is due then, and comes to that outcome.
    #[track_caller]
    fn look_after(&mut self, pause: Duration, outcome: Outcome) -> Vec<(u32, Look)> {
        let due = self.after(pause);
        let looks = due.iter().map(|due| (due.member.pane.pane.0, due.look)).collect();
        for due in due {
            self.looked(due, outcome);
        }
        looks
    }

    fn looked(&mut self, due: Due, outcome: Outcome) {
        let Due { member, glance, look, at_rest, .. } = due;
        self.schedule.looked(Looked { member, glance, look, at_rest, outcome }, self.time());
    }
}

fn pane(number: u32) -> PaneKey {
    PaneKey { server: ServerId::new("s"), pane: PaneId(number) }
}

fn paint(number: u32) -> Paint {
    Paint { pane: pane(number), fresh: Arc::default() }
}

fn member(number: u32, runtime: &str) -> Member {
    Member {
        runtime: RuntimeId::new(runtime),
        agent: AgentId::new("claude"),
        pane: pane(number),
        socket: PathBuf::new(),
        process: ProcessKey { pid: 1, start: 1 },
        started_at: Timestamp(0),
        verdict: unknown(),
        conversation: None,
    }
}

#[test]
fn a_new_agent_is_given_time_to_paint() {
    let mut stage = Stage::new();
    stage.live(0, "rt0");
    assert_eq!(stage.pause(), Some(FIRST_LOOK));
    let due = stage.after(FIRST_LOOK);
    assert!(due.len() == 1 && due[0].look == Look::Capture);
    assert_eq!(stage.pause(), None, "it is being looked at");
}

#[test]
fn who_cannot_be_heard_is_looked_at_every_now_and_then() {
    let mut stage = Stage::new();
    stage.live(0, "rt0");
    assert_eq!(stage.look_after(FIRST_LOOK, Outcome::News), [(0, Look::Capture)]);
    for outcome in [Outcome::Same, Outcome::News, Outcome::Same] {
        assert_eq!(stage.pause(), Some(DEAF));
        assert_eq!(stage.look_after(DEAF, outcome), [(0, Look::Capture)]);
    }
}

#[test]
fn a_pane_is_looked_at_when_it_has_come_to_rest() {
    let (mut stage, paint) = Stage::at_rest();
    assert_eq!(stage.pause(), Some(RENEW));
    stage.paint(&paint);
    assert_eq!(stage.pause(), Some(REST));
    stage.now += 60;
    stage.paint(&paint);
    assert_eq!(stage.look_after(Duration::from_millis(40), Outcome::News), [], "it was painted a moment ago");
    assert_eq!(stage.look_after(REST, Outcome::News), [(0, Look::Capture)]);
    assert_eq!(stage.pause(), Some(RENEW));
}

#[test]
fn what_is_painted_during_a_look_is_looked_at_again() {
    let (mut stage, paint) = Stage::at_rest();
    stage.paint(&paint);
    stage.look_after(REST, Outcome::News);
    let due = stage.after(REST).remove(0);
    stage.paint(&paint);
    assert!(stage.after(REST).is_empty(), "it is being looked at");
    stage.looked(due, Outcome::News);
    assert_eq!(stage.pause(), Some(REST));
    assert_eq!(stage.look_after(REST, Outcome::News), [(0, Look::Capture)]);
}

#[test]
fn who_never_rests_is_looked_at_all_the_same_and_less_often_for_nothing() {
    let (mut stage, paint) = Stage::at_rest();
    let mut looks = Vec::new();
    for _ in 0..600 {
        stage.paint(&paint);
        if !stage.look_after(REST, Outcome::Same).is_empty() {
            looks.push(stage.now / 1_000);
        }
    }
    let pauses: Vec<_> = looks.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(pauses[..5], [2, 4, 8, 16, 16], "{looks:?}");
    // News are worth the next look.
    while stage.look_after(REST, Outcome::News).is_empty() {
        stage.paint(&paint);
    }
    let seen = stage.now;
    stage.paint(&paint);
    while stage.look_after(REST, Outcome::Same).is_empty() {
        stage.paint(&paint);
    }
    assert_eq!((stage.now - seen) / 1_000, 1);
}

#[test]
fn who_writes_line_by_line_and_shows_nothing_new_is_given_longer_rests() {
    let (mut stage, paint) = Stage::at_rest();
    let mut waited = Vec::new();
    for _ in 0..5 {
        stage.paint(&paint);
        let painted = stage.now;
        while stage.look_after(stage.pause().unwrap(), Outcome::Same).is_empty() {}
        waited.push(stage.now - painted);
    }
    assert_eq!(waited, [200, 400, 800, 1_600, 1_600]);
}

#[test]
fn what_was_not_painted_is_renewed_without_a_look() {
    let (mut stage, _paint) = Stage::at_rest();
    for _ in 0..3 {
        assert_eq!(stage.look_after(RENEW, Outcome::News), [(0, Look::Renew)]);
    }
}

/// What is said to be as before has to have been seen.
#[test]
fn a_look_that_failed_is_made_again_and_renews_nothing() {
    let (mut stage, paint) = Stage::at_rest();
    stage.paint(&paint);
    stage.look_after(REST, Outcome::Failed);
    assert_eq!(stage.look_after(REST, Outcome::Failed), [(0, Look::Capture)]);
    assert_eq!(stage.look_after(DEAF, Outcome::Failed), [(0, Look::Capture)]);
    assert_eq!(stage.look_after(DEAF, Outcome::Same), [(0, Look::Capture)]);
    assert_eq!(stage.pause(), Some(RENEW));
}

#[test]
fn nobody_looks_where_others_tell_better() {
    let (mut stage, paint) = Stage::at_rest();
    stage.unwanted.insert(pane(0));
    stage.meet();
    stage.paint(&paint);
    assert_eq!(stage.pause(), None);
    stage.unwanted.clear();
    stage.meet();
    assert_eq!(stage.pause(), Some(REST));
    stage.look_after(REST, Outcome::News);
    assert_eq!(stage.look_after(REST, Outcome::News), [(0, Look::Capture)], "it was painted meanwhile");
}

/// What was seen of one agent must not make the same look old news of the next.
#[test]
fn the_next_agent_in_a_pane_is_another() {
    let (mut stage, paint) = Stage::at_rest();
    stage.paint(&paint);
    stage.look_after(REST, Outcome::News);
    let mut late = stage.after(REST).remove(0);
    late.glance.news(vec![Reading::new(Signal::Idle)]);
    stage.live(0, "rt1");
    stage.looked(late, Outcome::News);
    let mut due = stage.after(FIRST_LOOK).remove(0);
    assert!(due.member.runtime == RuntimeId::new("rt1"));
    assert_eq!(due.glance.news(vec![Reading::new(Signal::Idle)]).len(), 1, "nobody has said so of this one");
    // The stream of the pane goes on, and is heard.
    stage.looked(due, Outcome::News);
    stage.paint(&paint);
    assert_eq!(stage.pause(), Some(REST));
}

#[test]
fn paint_of_nobody_is_told_again_when_somebody_is_there() {
    let mut stage = Stage::new();
    let paint = paint(0);
    stage.paint(&paint);
    stage.live(0, "rt0");
    stage.look_after(FIRST_LOOK, Outcome::News);
    stage.paint(&paint);
    assert_eq!(stage.pause(), Some(REST), "it is not deaf");
}

/// A pane whose stream is read and silent must not be captured every two seconds.
#[test]
fn a_silent_pane_whose_stream_came_before_its_agent_is_not_polled() {
    let mut stage = Stage::new();
    let paint = paint(0);
    stage.paint(&paint);
    stage.live(0, "rt0");
    assert_eq!(stage.look_after(FIRST_LOOK, Outcome::News), [(0, Look::Capture)]);
    assert_eq!(stage.look_after(RENEW, Outcome::Same), [(0, Look::Renew)]);
    stage.live(0, "rt1");
    assert_eq!(stage.look_after(FIRST_LOOK, Outcome::News), [(0, Look::Capture)]);
    assert_eq!(stage.pause(), Some(RENEW));
}

#[test]
fn a_pane_whose_stream_ended_is_looked_at_every_now_and_then() {
    let (mut stage, paint) = Stage::at_rest();
    drop(paint);
    stage.look_after(RENEW, Outcome::Same);
    assert_eq!(stage.look_after(DEAF, Outcome::Same), [(0, Look::Capture)]);
}

#[test]
fn each_pane_has_its_own_time() {
    let mut stage = Stage::new();
    stage.live(0, "rt0");
    stage.now += 300;
    stage.live(1, "rt1");
    assert_eq!(stage.look_after(Duration::from_millis(200), Outcome::News), [(0, Look::Capture)]);
    assert_eq!(stage.look_after(Duration::from_millis(300), Outcome::News), [(1, Look::Capture)]);
    stage.roster.clear();
    stage.meet();
    assert_eq!(stage.pause(), None);
}

/// Where somebody else tells every edge, a screen is looked at when it was painted, seldom, and never just so.
#[test]
fn details_are_looked_at_seldom() {
    let mut stage = Stage::new();
    stage.known.insert(pane(0));
    stage.live(0, "rt0");
    assert_eq!(stage.look_after(FIRST_LOOK, Outcome::Same), [(0, Look::Capture)]);
    assert_eq!(stage.pause(), None, "an agent at rest costs nothing");
    let paint = paint(0);
    stage.paint(&paint);
    assert_eq!(stage.pause(), Some(DETAILS_PAUSE));
    stage.after(DETAILS_PAUSE / 2);
    stage.paint(&paint);
    assert_eq!(stage.look_after(DETAILS_PAUSE / 2, Outcome::Same), [(0, Look::Capture)]);
    assert_eq!(stage.pause(), None);
    // Nobody tells the state any more: then it is looked at as any other.
    stage.known.clear();
    stage.meet();
    assert_eq!(stage.look_after(REST, Outcome::News), [(0, Look::Renew)]);
    assert_eq!(stage.pause(), Some(RENEW));
}
