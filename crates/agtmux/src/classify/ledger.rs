//! What has been asked, what was answered, and what may still be asked.
//!
//! Pure bookkeeping: the time is a parameter, and nothing here waits. What must survive a restart is not here but in the
//! engine's state ([`Silence`]); what is lost with the process costs a request at most.

use std::collections::{BTreeMap, VecDeque};

use agtmux_agents::Reading;
use agtmux_agents::guess::Guess;
use agtmux_core::id::RuntimeId;
use agtmux_core::signal::Signal;
use agtmux_core::silence::Silence;
use agtmux_core::time::{Span, Timestamp};

use super::screen::ScreenHash;

/// How often a silent agent's screen is looked at and a guess renewed while the screen stays as it is. A guess holds for
/// five minutes.
const RENEW_EVERY: Span = Span::minutes(2);

/// How many answers are remembered.
const ANSWERS: usize = 256;

/// How long a provider is left alone after a failure; twice as long after the next one, and so on.
const FIRST_PAUSE: Span = Span::seconds(30);
const LONGEST_PAUSE: Span = Span::hours(1);

/// The books.
#[derive(Debug)]
pub struct Ledger {
    after: Span,
    per_hour: usize,
    /// When requests were made in the last hour, oldest first.
    requests: VecDeque<Timestamp>,
    answers: BTreeMap<ScreenHash, Answer>,
    watches: BTreeMap<RuntimeId, Watch>,
    failing: Option<Failing>,
}

/// What to do about a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing, for now.
    Nothing,
    /// Say this; it is known without asking.
    Say(Reading),
    /// Ask. The request is in the books already.
    Ask,
}

#[derive(Debug)]
struct Answer {
    /// None: what the provider said was of no use.
    guess: Option<Guess>,
    used_at: Timestamp,
}

/// What is remembered of a runtime.
#[derive(Debug, Default)]
struct Watch {
    looked_at: Option<Timestamp>,
    asked_at: Option<Timestamp>,
    /// The screen that the last guess was made from, and when that was last said.
    said: Option<(ScreenHash, Timestamp)>,
}

#[derive(Debug)]
struct Failing {
    why: String,
    times: u32,
    until: Timestamp,
}

impl Ledger {
    /// Empty books. `guessed` are the times of guesses made before a restart, so that it does not refill the budget.
    pub fn new(after: Span, per_hour: u32, guessed: impl IntoIterator<Item = Timestamp>) -> Self {
        let mut requests: Vec<_> = guessed.into_iter().collect();
        requests.sort_unstable();
        Self {
            after,
            per_hour: usize::try_from(per_hour).unwrap_or(usize::MAX),
            requests: requests.into(),
            answers: BTreeMap::new(),
            watches: BTreeMap::new(),
            failing: None,
        }
    }

    /// Whether the screen of a silent runtime is to be looked at. Saying so counts as a look.
    pub fn is_due(&mut self, runtime: &RuntimeId, silence: &Silence, now: Timestamp) -> bool {
        if !silence.lasts(self.after, now) {
            return false;
        }
        let watch = self.watches.entry(runtime.clone()).or_default();
        let pause = RENEW_EVERY.min(self.after);
        let is_due = watch.looked_at.is_none_or(|at| at + pause <= now);
        if is_due {
            watch.looked_at = Some(now);
        }
        is_due
    }

    /// What to do about a screen that was looked at.
    pub fn consider(&mut self, runtime: &RuntimeId, silence: &Silence, screen: ScreenHash, now: Timestamp) -> Step {
        if let Some(answer) = self.answers.get_mut(&screen) {
            answer.used_at = now;
            let guess = answer.guess.clone();
            return self.known(runtime, silence, screen, guess, now);
        }
        let is_paused = self.failing.as_ref().is_some_and(|failing| now < failing.until);
        let has_budget = self.has_budget(now);
        let watch = self.watches.entry(runtime.clone()).or_default();
        let last_asked = watch.asked_at.max(silence.guessed_at.filter(|_| silence.has_been_guessed()));
        let is_rested = last_asked.is_none_or(|at| at + self.after <= now);
        if !is_rested || is_paused || !has_budget {
            return Step::Nothing;
        }
        watch.asked_at = Some(now);
        self.requests.push_back(now);
        Step::Ask
    }

    /// Takes in an answer, and gives what to say of the runtime, if anything. `silence` is that of the moment.
    pub fn answered(
        &mut self,
        runtime: &RuntimeId,
        silence: Option<&Silence>,
        screen: ScreenHash,
        guess: Guess,
        now: Timestamp,
    ) -> Option<Reading> {
        self.failing = None;
        self.remember(screen, Some(guess.clone()), now);
        // Somebody who knows has spoken meanwhile, or the agent is gone.
        let silence = silence?;
        match self.known(runtime, silence, screen, Some(guess), now) {
            Step::Say(reading) => Some(reading),
            Step::Nothing | Step::Ask => None,
        }
    }

    /// Notes that a provider failed. An answer that is of no use is remembered too: the same question would get it again.
    pub fn failed(&mut self, why: String, useless_for: Option<ScreenHash>, now: Timestamp) {
        let times = self.failing.as_ref().map_or(0, |failing| failing.times);
        let pause = Span(FIRST_PAUSE.0.saturating_mul(1 << times.min(16))).min(LONGEST_PAUSE);
        self.failing = Some(Failing { why, times: times + 1, until: now + pause });
        if let Some(screen) = useless_for {
            self.remember(screen, None, now);
        }
    }

    /// Forgets runtimes that are not silent any more, or over.
    pub fn retain(&mut self, is_silent: impl Fn(&RuntimeId) -> bool) {
        self.watches.retain(|runtime, _| is_silent(runtime));
    }

    /// What is not as it should be, for people.
    pub fn problem(&mut self, now: Timestamp) -> Option<String> {
        if let Some(failing) = &self.failing {
            return Some(format!("{} (failed {} times in a row)", failing.why, failing.times));
        }
        let per_hour = self.per_hour;
        (!self.has_budget(now)).then(|| format!("the {per_hour} requests of this hour (classify.per_hour) are used up"))
    }

    /// What an answer that is known means for a runtime that stands where it stands.
    fn known(
        &mut self,
        runtime: &RuntimeId,
        silence: &Silence,
        screen: ScreenHash,
        guess: Option<Guess>,
        now: Timestamp,
    ) -> Step {
        let watch = self.watches.entry(runtime.clone()).or_default();
        let said = watch.said.filter(|(about, _)| *about == screen && silence.has_been_guessed());
        match (guess, said) {
            // It agrees with what is known, or calls away what a person is to do: it shows nowhere, and need not be renewed.
            (Some(Guess::State(_)), Some(_)) if silence.is_known => Step::Nothing,
            // Said anew it would look like news: a second question, a second completion.
            (Some(Guess::State(_)), Some((_, at))) if now < at + RENEW_EVERY => Step::Nothing,
            (Some(Guess::State(reading)), said) => {
                watch.said = Some((screen, now));
                Step::Say(if said.is_some() { Reading::new(Signal::StillSo) } else { reading })
            }
            // The last guess was about another screen, and this one does not bear it out.
            (Some(Guess::CannotTell), _) if silence.is_guessed => Step::Say(Reading::new(Signal::Withdrawn)),
            (Some(Guess::CannotTell) | None, _) => Step::Nothing,
        }
    }

    fn remember(&mut self, screen: ScreenHash, guess: Option<Guess>, now: Timestamp) {
        let oldest = self.answers.iter().min_by_key(|(_, answer)| answer.used_at).map(|(screen, _)| *screen);
        if let Some(oldest) = oldest.filter(|_| self.answers.len() >= ANSWERS) {
            self.answers.remove(&oldest);
        }
        self.answers.insert(screen, Answer { guess, used_at: now });
    }

    fn has_budget(&mut self, now: Timestamp) -> bool {
        while self.requests.front().is_some_and(|at| *at + Span::hours(1) <= now) {
            self.requests.pop_front();
        }
        self.requests.len() < self.per_hour
    }
}

#[cfg(test)]
mod tests {
    use agtmux_core::signal::from_state_name;

    use super::super::Screen;
    use super::*;

    const AFTER: Span = Span::minutes(5);

    fn at(seconds: i64) -> Timestamp {
        Timestamp(seconds * 1_000)
    }

    fn runtime(name: &str) -> RuntimeId {
        RuntimeId::new(name)
    }

    fn screen(text: &str) -> ScreenHash {
        Screen::new("claude", text).unwrap().hash()
    }

    fn guess(state: &str) -> Guess {
        Guess::State(Reading::new(from_state_name(state).unwrap()))
    }

    fn said(state: &str) -> Step {
        Step::Say(Reading::new(from_state_name(state).unwrap()))
    }

    fn still_so() -> Step {
        Step::Say(Reading::new(Signal::StillSo))
    }

    /// Silent since the beginning, and guessed then.
    fn silence(guessed_at: Option<i64>) -> Silence {
        Silence { since: at(0), guessed_at: guessed_at.map(at), is_guessed: guessed_at.is_some(), is_known: false }
    }

    /// Books of one runtime `a`.
    struct Books(Ledger);

    impl Books {
        fn new(per_hour: u32) -> Self {
            Self(Ledger::new(AFTER, per_hour, []))
        }

        fn is_due(&mut self, seconds: i64) -> bool {
            self.0.is_due(&runtime("a"), &silence(None), at(seconds))
        }

        fn consider(&mut self, guessed_at: Option<i64>, text: &str, seconds: i64) -> Step {
            self.0.consider(&runtime("a"), &silence(guessed_at), screen(text), at(seconds))
        }

        fn answered(&mut self, guessed_at: Option<i64>, text: &str, guess: Guess, seconds: i64) -> Option<Reading> {
            self.0.answered(&runtime("a"), Some(&silence(guessed_at)), screen(text), guess, at(seconds))
        }
    }

    #[test]
    fn a_screen_is_looked_at_when_the_silence_has_lasted_and_then_every_two_minutes() {
        let mut books = Books::new(10);
        assert!(!books.is_due(299));
        assert!(books.is_due(300));
        assert!(!books.is_due(419));
        assert!(books.is_due(420));
    }

    #[test]
    fn one_question_a_screen_and_its_answer_is_renewed_while_it_stays() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        assert!(books.answered(None, "one", guess("completed"), 301).is_some());
        assert_eq!(books.consider(Some(301), "one", 330), Step::Nothing, "what was just said need not be renewed");
        assert_eq!(books.consider(Some(301), "one", 421), still_so());
        assert_eq!(books.consider(Some(301), "one", 5_000), still_so());
        assert_eq!(books.0.requests.len(), 1);
    }

    #[test]
    fn a_changed_screen_is_asked_about_but_not_at_once() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        books.answered(None, "one", guess("running"), 301);
        assert_eq!(books.consider(Some(301), "two", 420), Step::Nothing);
        assert_eq!(books.consider(Some(301), "two", 601), Step::Ask);
        books.answered(Some(301), "two", guess("idle"), 602);
        // Back to a screen that is known: said anew, without a question.
        assert_eq!(books.consider(Some(602), "one", 650), said("running"));
        assert_eq!(books.0.requests.len(), 2);
    }

    #[test]
    fn the_same_screen_of_another_agent_needs_no_question() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        books.answered(None, "one", guess("idle"), 301);
        let other = books.0.consider(&runtime("b"), &silence(None), screen("one"), at(302));
        assert_eq!(other, said("idle"));
    }

    #[test]
    fn after_a_signal_a_known_answer_is_said_anew_and_not_renewed() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        books.answered(None, "one", guess("idle"), 301);
        let later = Silence { since: at(400), guessed_at: Some(at(301)), is_guessed: false, is_known: false };
        assert_eq!(books.0.consider(&runtime("a"), &later, screen("one"), at(700)), said("idle"));
    }

    #[test]
    fn an_answer_that_comes_too_late_is_kept_and_not_said() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        assert_eq!(books.0.answered(&runtime("a"), None, screen("one"), guess("idle"), at(310)), None);
        assert_eq!(books.consider(None, "one", 900), said("idle"));
    }

    #[test]
    fn a_model_that_cannot_tell_takes_back_what_it_said_of_another_screen() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        assert_eq!(books.answered(None, "one", Guess::CannotTell, 301), None, "there is nothing to take back");
        assert_eq!(books.consider(None, "one", 900), Step::Nothing, "and it is not asked again");
        assert_eq!(books.consider(Some(310), "one", 900), Step::Say(Reading::new(Signal::Withdrawn)));
    }

    #[test]
    fn the_budget_is_one_for_all_and_refills_by_the_hour() {
        let mut books = Books::new(2);
        let mut ask = |name: &str, seconds| {
            books.0.consider(&runtime(name), &silence(None), screen(&format!("{name}{seconds}")), at(seconds))
        };
        assert_eq!(ask("a", 300), Step::Ask);
        assert_eq!(ask("b", 400), Step::Ask);
        assert_eq!(ask("c", 500), Step::Nothing);
        assert_eq!(ask("c", 3_899), Step::Nothing);
        assert_eq!(ask("c", 3_900), Step::Ask);
        assert_eq!(ask("d", 3_901), Step::Nothing);
        let problem = books.0.problem(at(3_902)).unwrap();
        assert_eq!(problem, "the 2 requests of this hour (classify.per_hour) are used up");
        assert_eq!(books.0.problem(at(4_001)), None);
    }

    #[test]
    fn a_restart_neither_refills_the_budget_nor_asks_sooner() {
        let mut books = Books(Ledger::new(AFTER, 2, [at(900), at(800)]));
        assert_eq!(books.consider(None, "one", 1_000), Step::Nothing, "both requests were made before");
        let mut books = Books(Ledger::new(AFTER, 3, [at(900), at(800)]));
        assert_eq!(books.consider(Some(900), "one", 1_000), Step::Nothing, "it was asked about 100 s ago");
        assert_eq!(books.consider(Some(900), "one", 1_200), Step::Ask);
    }

    #[test]
    fn who_fails_is_left_alone_for_longer_each_time() {
        let mut books = Books::new(1_000);
        let mut pauses = Vec::new();
        let mut now = 300;
        for attempt in 0..10 {
            books.0.failed("answered 500".to_owned(), None, at(now));
            let failed_at = now;
            let asks = |books: &mut Books, now: i64| {
                let name = runtime(&format!("{attempt}-{now}"));
                books.0.consider(&name, &silence(None), screen(&now.to_string()), at(now)) == Step::Ask
            };
            while !asks(&mut books, now) {
                now += 10;
            }
            pauses.push(now - failed_at);
        }
        assert_eq!(pauses, [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
        assert_eq!(books.0.problem(at(now)).unwrap(), "answered 500 (failed 10 times in a row)");
        books.answered(None, "x", guess("idle"), now);
        assert_eq!(books.0.problem(at(now)), None);
    }

    #[test]
    fn a_useless_answer_is_not_asked_for_twice() {
        let mut books = Books::new(10);
        assert_eq!(books.consider(None, "one", 300), Step::Ask);
        books.0.failed("no JSON".to_owned(), Some(screen("one")), at(301));
        assert_eq!(books.consider(None, "one", 9_000), Step::Nothing);
        assert_eq!(books.consider(None, "two", 9_000), Step::Ask);
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut books = Books::new(10);
        for number in 0..ANSWERS + 10 {
            books.0.remember(screen(&number.to_string()), None, at(i64::try_from(number).unwrap()));
        }
        assert_eq!(books.0.answers.len(), ANSWERS);
        assert!(!books.0.answers.contains_key(&screen("0")));
        books.consider(None, "one", 300);
        books.0.retain(|_| false);
        assert!(books.0.watches.is_empty());
    }
}
