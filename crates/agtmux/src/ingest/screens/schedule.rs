//! Which screens are to be looked at, and when. Times are given, so that nothing here waits.
//!
//! A screen is captured when its pane was painted and has come to rest for a moment, or has been painted for long. A pane
//! whose output cannot be heard is looked at every now and then instead.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::glance::{Glance, Purpose};
use agtmux_core::id::PaneKey;
use tokio::time::Instant;

use crate::daemon::roster::{Member, Roster};
use crate::target::observation::Paint;

/// A pane that was not painted for so long has come to rest. Longer, for one that rests often and shows nothing new: it
/// writes line by line.
const REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_millis(800);

/// A pane that never rests is looked at this often. Less often, if that shows nothing new.
const RESTLESS: Duration = Duration::from_secs(1);
const LONGEST_RESTLESS: Duration = Duration::from_secs(16);

/// A pane whose output cannot be heard, or that could not be seen, is looked at this often.
const DEAF: Duration = Duration::from_secs(2);

/// What a screen says is renewed this often, well within the time it holds. A pane that was not painted need not be
/// looked at for that.
const RENEW: Duration = Duration::from_secs(60);

/// A screen that is looked at for details alone is looked at no more often than this.
const DETAILS_PAUSE: Duration = Duration::from_secs(4);

/// A new agent is given so long to paint its first screen.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// What is to be done about a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is captured and read.
    Capture,
    /// What was read is still so, since it was not painted.
    Renew,
}

/// A screen whose time has come.
pub(super) struct Due {
    /// Whose.
    pub(super) member: Arc<Member>,
    /// What was seen before.
    pub(super) glance: Glance,
    /// What is to be done.
    pub(super) look: Look,
    /// It has come to rest, rather than being painted for long.
    pub(super) at_rest: bool,
    /// What it is looked at for.
    pub(super) purpose: Purpose,
}

/// A screen that was looked at.
pub(super) struct Looked {
    /// Whose.
    pub(super) member: Arc<Member>,
    /// What was seen up to now.
    pub(super) glance: Glance,
    /// What was done.
    pub(super) look: Look,
    /// As it was due.
    pub(super) at_rest: bool,
    /// What came of it.
    pub(super) outcome: Outcome,
}

/// What came of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Something new.
    News,
    /// The same as before.
    Same,
    /// Nothing could be seen.
    Failed,
}

/// Which screens are to be looked at, and when.
#[derive(Default)]
pub(super) struct Schedule {
    panes: BTreeMap<PaneKey, Watched>,
    /// Panes whose output is read although no agent is known there yet. Their next agent starts with this, so that a
    /// silent one is not taken for one whose output cannot be read.
    vacant: BTreeMap<PaneKey, Paint>,
}

struct Watched {
    member: Arc<Member>,
    /// What it is looked at for; none if it is not to be looked at.
    purpose: Option<Purpose>,
    /// It is not looked at before.
    not_before: Option<Instant>,
    /// Tells of new paint; none before the pane's output was first heard.
    paint: Option<Paint>,
    /// Since when it was painted without having been looked at.
    unseen_since: Option<Instant>,
    due: Option<Instant>,
    /// How long it must not be painted to be at rest.
    rest: Duration,
    /// How long it may be painted before it is looked at all the same.
    patience: Duration,
    /// What was last seen; out of the house while it is being looked at.
    glance: Option<Glance>,
}

impl Schedule {
    /// A pane was painted.
    pub(super) fn painted(&mut self, paint: Paint, now: Instant) {
        let Some(watched) = self.panes.get_mut(&paint.pane) else {
            self.vacate(paint);
            return;
        };
        watched.paint = Some(paint);
        watched.unseen_since.get_or_insert(now);
        watched.look_soon(now + watched.rest);
    }

    /// These are the agents now, and some are to be looked at.
    pub(super) fn meet(&mut self, members: &Roster, purpose: impl Fn(&Member) -> Option<Purpose>, now: Instant) {
        let mut known = std::mem::take(&mut self.panes);
        for member in members.values() {
            let before = known.remove(&member.pane);
            let is_new = before.as_ref().is_none_or(|watched| watched.member.runtime != member.runtime);
            let mut watched = match before {
                Some(watched) if !is_new => watched,
                before => {
                    let paint = before.and_then(|watched| watched.paint);
                    Watched::new(member.clone(), paint.or_else(|| self.vacant.remove(&member.pane)), now)
                }
            };
            let before = std::mem::replace(&mut watched.purpose, purpose(member));
            watched.member = member.clone();
            match (watched.purpose, before) {
                (is, was) if is == was => {}
                (None, _) => watched.due = None,
                (Some(_), _) if is_new => watched.look_soon(now + FIRST_LOOK),
                (Some(Purpose::State), _) => {
                    watched.not_before = None;
                    watched.look_soon(now + REST);
                }
                (Some(Purpose::Details), _) => watched.due = watched.unseen_since.map(|_| now + DETAILS_PAUSE),
            }
            self.panes.insert(member.pane.clone(), watched);
        }
        self.vacant.retain(|_, paint| paint.is_read());
        for paint in known.into_values().filter_map(|watched| watched.paint) {
            self.vacate(paint);
        }
    }

    /// Keeps the paint of a pane without an agent; the next one there is told of the next paint.
    fn vacate(&mut self, paint: Paint) {
        paint.take();
        self.vacant.insert(paint.pane.clone(), paint);
    }

    /// When there is something to do next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.panes.values().filter_map(|watched| watched.due).min()
    }

    /// What is to be done now. A pane that is being painted is given time to come to rest.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Due> {
        let mut looks = Vec::new();
        for watched in self.panes.values_mut().filter(|watched| watched.due.is_some_and(|due| due <= now)) {
            watched.due = None;
            let is_being_painted = watched.paint.as_ref().is_some_and(Paint::take);
            if is_being_painted && watched.unseen_since.is_none_or(|since| now - since < watched.patience) {
                watched.unseen_since.get_or_insert(now);
                watched.look_soon(now + watched.rest);
                continue;
            }
            let (Some(glance), Some(purpose)) = (watched.glance.take(), watched.purpose) else {
                continue;
            };
            let is_unseen = watched.unseen_since.take().is_some() || watched.paint.is_none();
            let look = if is_unseen { Look::Capture } else { Look::Renew };
            looks.push(Due { member: watched.member.clone(), glance, look, at_rest: !is_being_painted, purpose });
        }
        looks
    }

    /// A screen was looked at, which says when to look again.
    pub(super) fn looked(&mut self, looked: Looked, now: Instant) {
        let watched = self.panes.get_mut(&looked.member.pane);
        // What was seen of an agent that has made room for another is not the other's.
        let Some(watched) = watched.filter(|watched| watched.member.runtime == looked.member.runtime) else {
            return;
        };
        watched.glance = Some(looked.glance);
        watched.paint.take_if(|paint| !paint.is_read());
        match (looked.look, looked.outcome, looked.at_rest) {
            (Look::Renew, _, _) => {}
            (Look::Capture, Outcome::News, _) => (watched.rest, watched.patience) = (REST, RESTLESS),
            (Look::Capture, Outcome::Same, true) => watched.rest = (watched.rest * 2).min(LONGEST_REST),
            (Look::Capture, Outcome::Same, false) => watched.patience = (watched.patience * 2).min(LONGEST_RESTLESS),
            (Look::Capture, Outcome::Failed, _) => {
                // What is there now nobody has seen, and so nobody may say that it is as before.
                watched.unseen_since.get_or_insert(now);
            }
        }
        watched.not_before = (watched.purpose == Some(Purpose::Details)).then(|| now + DETAILS_PAUSE);
        let is_unseen = watched.unseen_since.is_some();
        let has_details = watched.glance.as_ref().is_some_and(|glance| !glance.renewal(Purpose::Details).is_empty());
        let again = match (watched.purpose, &watched.paint) {
            // Where nothing is shown that has to be renewed, the next paint tells.
            (Some(Purpose::Details), _) if !is_unseen => has_details.then_some(RENEW),
            (Some(Purpose::Details), None) => None,
            _ if looked.outcome == Outcome::Failed => Some(DEAF),
            (_, None) => Some(DEAF),
            (_, Some(_)) if is_unseen => Some(watched.rest),
            (_, Some(_)) => Some(RENEW),
        };
        if let Some(again) = again {
            watched.look_soon(now + again);
        }
    }
}

impl Watched {
    fn new(member: Arc<Member>, paint: Option<Paint>, now: Instant) -> Self {
        Self {
            member,
            purpose: None,
            not_before: None,
            paint,
            unseen_since: Some(now),
            due: None,
            rest: REST,
            patience: RESTLESS,
            glance: Some(Glance::default()),
        }
    }

    /// Looks at it no later than then, if at all.
    fn look_soon(&mut self, then: Instant) {
        if self.purpose.is_some() {
            let then = self.not_before.map_or(then, |not_before| then.max(not_before));
            self.due = Some(self.due.map_or(then, |due| due.min(then)));
        }
    }
}
