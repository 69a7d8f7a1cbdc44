//! Whether a screen is worth a look, and what of it is news.
//!
//! A look at a screen costs a process, and what it shows can mislead: it lags, it scrolls, and the agent quotes what it
//! likes. So a screen is read only where nobody tells better, and what was read is said once and taken back when it is
//! no longer there.

use agtmux_core::signal::{Composer, Evidence, Signal, Work};
use agtmux_core::state::{Confidence, Verdict};

use crate::manifest::Manifest;
use crate::reading::Reading;

/// Whether the screen may know better than what the verdict rests on: nothing, a guess, the screen itself, a source that
/// does not tell every edge, or one that another contradicts.
pub fn is_wanted(manifest: &Manifest, verdict: &Verdict) -> bool {
    let Some(source) = verdict.source else {
        return true;
    };
    let usual = match source.evidence() {
        Evidence::Reported | Evidence::Recorded => Confidence::High,
        Evidence::Observed => Confidence::Medium,
        Evidence::Guessed => Confidence::Low,
    };
    !manifest.complete.contains(&source) || verdict.confidence < usual
}

/// What a screen is looked at for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It may know better than anybody how the agent stands.
    State,
    /// Somebody else tells every edge, and nothing of this: whether there is a draft, and why the agent does not move.
    Details,
}

/// What the screen of an agent with that verdict is looked at for.
pub fn purpose(manifest: &Manifest, verdict: &Verdict) -> Purpose {
    if is_wanted(manifest, verdict) { Purpose::State } else { Purpose::Details }
}

/// What one runtime's screen said last.
#[derive(Clone, Debug, Default)]
pub struct Glance {
    last: Vec<Reading>,
}

impl Glance {
    /// What a look adds to the one before. The same again is no news.
    pub fn news(&mut self, seen: Vec<Reading>) -> Vec<Reading> {
        if seen == self.last {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.last, seen.clone());
        let is_gone = |reading: &Reading| !seen.contains(reading);
        if before.iter().any(is_gone) && !seen.iter().any(|reading| is_boundary(&reading.signal)) {
            // Without a new boundary nothing would retire what is no longer shown.
            return std::iter::once(Reading::new(Signal::Withdrawn)).chain(seen).collect();
        }
        let is_work = |reading: &Reading| matches!(reading.signal, Signal::Working { .. });
        let worked = before.iter().any(is_work) && !seen.iter().any(is_work);
        let mut news: Vec<_> = seen.into_iter().filter(|reading| !before.contains(reading)).collect();
        if worked && !news.iter().any(|reading| is_boundary(&reading.signal)) {
            // The turn that goes on without the work is no news that would retire it.
            news.push(Reading::new(Signal::WorkEnded));
        }
        news
    }

    /// What a look adds that was not for the state. No state is told, and none is taken back.
    pub fn details(&mut self, seen: Vec<Reading>) -> Vec<Reading> {
        let seen = |kind: fn(&Signal) -> bool| seen.iter().find(|reading| kind(&reading.signal)).cloned();
        let known = |kind: fn(&Signal) -> bool| self.last.iter().any(|reading| kind(&reading.signal));
        let work = seen(is_standstill);
        let composer = seen(|signal| matches!(signal, Signal::Composer { .. }));
        let draft = composer.clone().filter(|reading| is_draft(&reading.signal));
        let is_news = |reading: &Reading| !self.last.contains(reading);
        let work_news = match &work {
            Some(work) => Some(work.clone()).filter(is_news),
            None => known(is_standstill).then(|| Reading::new(Signal::WorkEnded)),
        };
        let draft_news = match (&draft, known(is_draft)) {
            (Some(draft), false) => Some(draft.clone()),
            (None, true) => composer.or(Some(Reading::new(Signal::Composer { is: Composer::Hidden }))),
            _ => None,
        };
        self.last = work.into_iter().chain(draft).collect();
        work_news.into_iter().chain(draft_news).collect()
    }

    /// Whether a look shows that the person's text was sent: it was in the composer at the look before, and is gone.
    pub fn was_sent(&self, seen: &[Reading]) -> bool {
        let shows = |readings: &[Reading], wanted: &[Composer]| {
            readings.iter().any(|reading| matches!(&reading.signal, Signal::Composer { is } if wanted.contains(is)))
        };
        shows(&self.last, &[Composer::Draft]) && shows(seen, &[Composer::Ready, Composer::Ghost])
    }

    /// That what was last seen still holds, if anything does.
    pub fn renewal(&self, purpose: Purpose) -> Vec<Reading> {
        match purpose {
            // What the screen said of the state before somebody told better must not be renewed with it.
            Purpose::Details => {
                let is_detail = |signal: &Signal| is_standstill(signal) || is_draft(signal);
                self.last.iter().filter(|reading| is_detail(&reading.signal)).cloned().collect()
            }
            Purpose::State if self.last.is_empty() => Vec::new(),
            Purpose::State => vec![Reading::new(Signal::StillSo)],
        }
    }
}

/// Work in which an agent stands still.
fn is_standstill(signal: &Signal) -> bool {
    matches!(signal, Signal::Working { with: Work::Retrying { .. } | Work::Compacting })
}

fn is_draft(signal: &Signal) -> bool {
    matches!(signal, Signal::Composer { is: Composer::Draft })
}

fn is_boundary(signal: &Signal) -> bool {
    matches!(signal, Signal::TurnStarted | Signal::TurnEnded { .. } | Signal::Idle)
}

#[cfg(test)]
mod tests {
    use agtmux_core::signal::{Blocking, Source};
    use agtmux_core::state::State;
    use agtmux_core::time::Timestamp;

    use super::*;
    use crate::registry::Registry;

    fn verdict(source: Option<Source>, confidence: Confidence) -> Verdict {
        Verdict {
            state: State::Running,
            reason: "turn_active".to_owned(),
            confidence,
            evidence: source.map(Source::evidence),
            source,
            since: Timestamp(0),
            message: None,
        }
    }

    #[test]
    fn a_screen_is_read_where_nobody_tells_better() {
        let registry = Registry::builtin();
        let claude = registry.get("claude").expect("built in");
        let wanted = |source, confidence| is_wanted(claude, &verdict(source, confidence));
        assert!(wanted(None, Confidence::Low));
        assert!(wanted(Some(Source::Hook), Confidence::High), "no hook tells of Escape");
        assert!(wanted(Some(Source::Screen), Confidence::Medium));
        assert!(!wanted(Some(Source::VendorFile), Confidence::High), "the session file tells every edge");
        assert!(wanted(Some(Source::VendorFile), Confidence::Medium), "somebody contradicts it");
    }

    #[test]
    fn what_is_seen_is_said_once_and_taken_back() {
        let running = Reading::new(Signal::TurnStarted);
        let idle = Reading::new(Signal::Idle);
        let ready = Reading::new(Signal::Composer { is: Composer::Ready });
        let dialog = Reading::new(Signal::Blocked { on: Blocking::Dialog { name: None } });
        let compacting = Reading::new(Signal::Working { with: Work::Compacting });
        let withdrawn = Reading::new(Signal::Withdrawn);
        let mut glance = Glance::default();
        let mut look = |seen: &[&Reading]| glance.news(seen.iter().map(|reading| (*reading).clone()).collect());
        assert_eq!(look(&[]), []);
        assert_eq!(look(&[&running, &ready]), [running.clone(), ready.clone()]);
        assert_eq!(look(&[&running, &ready]), []);
        assert_eq!(look(&[&running, &dialog]), std::slice::from_ref(&dialog));
        assert_eq!(look(&[&ready]), [withdrawn.clone(), ready.clone()], "neither is shown any more");
        assert_eq!(look(&[]), [withdrawn]);
        assert_eq!(look(&[&running, &compacting]), [running.clone(), compacting.clone()]);
        assert_eq!(look(&[&running]), [Reading::new(Signal::WorkEnded)], "the turn goes on, compacted");
        assert_eq!(look(&[&running, &compacting]), std::slice::from_ref(&compacting));
        assert_eq!(look(&[&idle]), std::slice::from_ref(&idle));
        assert_eq!(look(&[]), [Reading::new(Signal::Withdrawn)]);
        assert_eq!(glance.renewal(Purpose::State), []);
        glance.news(vec![dialog]);
        assert_eq!(glance.renewal(Purpose::State), [Reading::new(Signal::StillSo)]);
        assert_eq!(glance.renewal(Purpose::Details), [], "the question is not told again");
    }

    #[test]
    fn details_tell_no_state() {
        let running = Reading::new(Signal::TurnStarted);
        let idle = Reading::new(Signal::Idle);
        let composer = |is| Reading::new(Signal::Composer { is });
        let retrying = |attempt: &str| {
            let with = Work::Retrying { cause: agtmux_core::signal::Cause::Network };
            Reading::new(Signal::Working { with }).with_message(attempt)
        };
        let mut glance = Glance::default();
        let mut look = |seen: &[Reading]| glance.details(seen.to_vec());
        assert_eq!(look(&[running.clone(), composer(Composer::Ready)]), []);
        assert_eq!(
            look(&[running.clone(), retrying("1/10"), composer(Composer::Draft)]),
            [retrying("1/10"), composer(Composer::Draft)]
        );
        assert_eq!(look(&[running.clone(), retrying("1/10"), composer(Composer::Draft)]), []);
        assert_eq!(look(&[running.clone(), retrying("2/10"), composer(Composer::Draft)]), [retrying("2/10")]);
        assert_eq!(look(&[running, composer(Composer::Draft)]), [Reading::new(Signal::WorkEnded)]);
        assert_eq!(look(&[idle.clone(), composer(Composer::Ghost)]), [composer(Composer::Ghost)], "the draft is gone");
        assert_eq!(look(&[idle]), []);
        assert_eq!(glance.renewal(Purpose::Details), []);
        glance.details(vec![composer(Composer::Draft)]);
        assert_eq!(glance.renewal(Purpose::Details), [composer(Composer::Draft)]);
        assert_eq!(glance.details(Vec::new()), [composer(Composer::Hidden)]);
    }

    #[test]
    fn a_text_that_has_left_the_composer_was_sent() {
        let composer = |is| vec![Reading::new(Signal::Composer { is })];
        let mut glance = Glance::default();
        assert!(!glance.was_sent(&composer(Composer::Ready)));
        glance.news(composer(Composer::Draft));
        assert!(!glance.was_sent(&composer(Composer::Draft)));
        assert!(!glance.was_sent(&composer(Composer::Hidden)), "something covers it");
        assert!(glance.was_sent(&composer(Composer::Ready)));
        assert!(glance.was_sent(&composer(Composer::Ghost)));
    }
}
