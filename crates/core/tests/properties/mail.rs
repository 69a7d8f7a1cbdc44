//! Whatever is asked of the post, in whatever order: no message is lost, none is typed twice, none at anybody else, none too early
//! (I1, I2, I5, I12).

use std::collections::{BTreeMap, BTreeSet};

use agtmux_core::engine::{Engine, EngineState};
use agtmux_core::event::{Ending, Event, Fact};
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{
    Category, DeliveryId, Ended, Letter, Limits, MailFact, MailId, Mode, NewLetter, Opening, Party, Posted, Receipt,
    Sanitized, Stage, Wanted, envelope, receipts,
};
use agtmux_core::time::{Span, Timestamp};
use proptest::prelude::*;

use crate::config;
use crate::world::{pane, placed, runtime_id, server_seen, stage, started};

/// What can happen. The numbers choose among what there is.
#[derive(Clone, Debug)]
enum Happening {
    Post { to: usize, mode: Mode, timeout: bool, delay: Option<i64>, again: bool },
    Again(usize),
    Cancel(usize),
    Lease(usize),
    Start(usize),
    Return(usize),
    Submit(usize),
    Lose(usize),
    Confirm(usize),
    Repeat,
    Busy(usize, i64),
    Ready(usize),
    Wait(i64),
    End(usize),
    Restart,
}

fn happening() -> impl Strategy<Value = Happening> {
    let mode = prop_oneof![Just(Mode::Sequential), Just(Mode::Important)];
    prop_oneof![
        6 => (0usize..3, mode, any::<bool>(), prop::option::of(0i64..60_000), any::<bool>())
            .prop_map(|(to, mode, timeout, delay, again)| Happening::Post { to, mode, timeout, delay, again }),
        1 => (0usize..9).prop_map(Happening::Again),
        1 => (0usize..9).prop_map(Happening::Cancel),
        6 => (0usize..3).prop_map(Happening::Lease),
        6 => (0usize..3).prop_map(Happening::Start),
        2 => (0usize..3).prop_map(Happening::Return),
        4 => (0usize..3).prop_map(Happening::Submit),
        1 => (0usize..3).prop_map(Happening::Lose),
        4 => (0usize..9).prop_map(Happening::Confirm),
        2 => Just(Happening::Repeat),
        1 => (0usize..3, 1i64..70_000).prop_map(|(n, ms)| Happening::Busy(n, ms)),
        1 => (0usize..3).prop_map(Happening::Ready),
        2 => (0i64..70_000).prop_map(Happening::Wait),
        1 => (0usize..3).prop_map(Happening::End),
        1 => Just(Happening::Restart),
    ]
}

/// Three agents, the post, and a ledger of what was really done.
struct Town {
    engine: Engine,
    seq: u64,
    now: i64,
    accepted: Vec<Letter>,
    /// How often each message was typed.
    typed: BTreeMap<MailId, u32>,
    ended: BTreeMap<MailId, Ended>,
    /// What each delivery was given to deliver, which is what it types.
    given: BTreeMap<DeliveryId, Vec<MailId>>,
    /// Those that nobody wants to follow any more, by the first of them.
    unwanted: BTreeSet<MailId>,
}

impl Town {
    fn new() -> Self {
        let mut town = Self {
            engine: Engine::new(),
            seq: 0,
            now: 1_000,
            accepted: Vec::new(),
            typed: BTreeMap::new(),
            ended: BTreeMap::new(),
            given: BTreeMap::new(),
            unwanted: BTreeSet::new(),
        };
        town.happen(server_seen(0));
        for (n, pid) in (0..3).zip(100..) {
            town.happen(placed(&pane(n)));
            town.happen(started(&pane(n), pid, "claude"));
        }
        town
    }

    fn agent(n: usize) -> RuntimeId {
        runtime_id(&pane(u32::try_from(n).unwrap()), 100 + u32::try_from(n).unwrap(), "claude")
    }

    fn happen(&mut self, fact: Fact) {
        self.seq += 1;
        let event: Event = stage(self.seq, Timestamp(self.now), fact);
        self.engine.apply(&event);
    }

    fn step(&mut self, step: MailFact) -> bool {
        let fact = self.engine.mail_step(step);
        fact.map(|fact| self.happen(fact)).is_ok()
    }

    /// The delivery under way to an agent.
    fn delivery(&self, n: usize) -> Option<DeliveryId> {
        let mailbox = self.engine.state().mail.boxes.get(&Self::agent(n))?;
        mailbox.under_way.as_ref().map(|delivery| delivery.id.clone())
    }

    fn letters_of(&self, delivery: &DeliveryId) -> Vec<MailId> {
        self.engine.state().mail.under_way(delivery).map(|(_, delivery)| delivery.letters.clone()).unwrap_or_default()
    }

    fn post(&mut self, letter: Letter, delay: Option<i64>) {
        let id = letter.id.clone();
        let known = self.accepted.iter().any(|known| known.id == id);
        match self.engine.post(
            Limits::default(),
            NewLetter { letter: letter.clone(), nonce: "k7f3".to_owned(), delay: delay.map(Span) },
        ) {
            Ok(Posted::New(facts)) => {
                assert!(!known, "accepted twice");
                facts.into_iter().for_each(|fact| self.happen(fact));
                self.accepted.push(letter);
            }
            Ok(Posted::Known(_)) => assert!(known),
            Err(_) => {}
        }
    }

    fn letter(&self, to: usize, mode: Mode, timeout: bool) -> Letter {
        let text = format!("message {}", self.accepted.len());
        Letter {
            id: MailId::parse(&format!("m_{}", self.accepted.len())).unwrap(),
            to: Self::agent(to),
            to_name: "api".to_owned(),
            from: Party::Person { uid: 1_000, name: "me".to_owned() },
            mode,
            category: Category::Mail,
            bytes: text.len() as u64,
            digest: Letter::digest_of(&text),
            preview: text,
            queued_at: Timestamp(self.now),
            timeout: timeout.then_some(Span::seconds(30)),
            reply_to: None,
            hops: 0,
            not_before: None,
            every: None,
            wanted: Wanted::default(),
            series: None,
            again: None,
            command: false,
        }
    }

    fn play(&mut self, happening: &Happening) {
        match happening {
            Happening::Post { to, mode, timeout, delay, again } => {
                let every = again.then_some(Span(30_000)).filter(|_| delay.is_some());
                self.post(Letter { every, ..self.letter(*to, *mode, *timeout) }, *delay);
            }
            Happening::Again(which) => {
                if let Some(letter) = self.accepted.get(*which).cloned() {
                    self.post(letter, None);
                }
            }
            Happening::Cancel(which) => {
                let Some(letter) = self.accepted.get(*which).cloned() else { return };
                if let Ok(fact) = self.engine.cancel_mail(&letter.id, "me") {
                    self.happen(fact);
                    self.unwanted.extend(letter.every.map(|_| letter.first().clone()));
                }
            }
            Happening::Lease(n) => {
                self.check_openings();
                let runtime = Self::agent(*n);
                let waiting = self.engine.state().mail.waiting_for(&runtime);
                let letters: Vec<_> = waiting.into_iter().take(3).map(|entry| entry.letter.id.clone()).collect();
                let delivery = DeliveryId::new(format!("dl_{}", self.seq));
                let given = letters.clone();
                if self.step(MailFact::Leased { delivery: delivery.clone(), runtime, letters }) {
                    self.given.insert(delivery, given);
                }
            }
            Happening::Start(n) => {
                // Whoever delivers knows what it was given, not what became of it since.
                let Some(delivery) = self.delivery(*n) else { return };
                let letters = self.given[&delivery].clone();
                // By keys, or by a hook: it is given once.
                let step = match self.seq % 2 {
                    0 => MailFact::Started { delivery },
                    _ => MailFact::Offered { delivery },
                };
                if self.step(step) {
                    letters.into_iter().for_each(|id| *self.typed.entry(id).or_default() += 1);
                }
            }
            Happening::Return(n) => {
                let Some(delivery) = self.delivery(*n) else { return };
                let started = self.engine.state().mail.under_way(&delivery).is_some_and(|(_, d)| d.started);
                let letters = self.letters_of(&delivery);
                let was_given = letters.iter().any(|id| self.engine.state().mail.is_over(id));
                if self.step(MailFact::Returned { delivery, why: "a draft".to_owned() }) && started && !was_given {
                    letters.into_iter().for_each(|id| *self.typed.entry(id).or_default() -= 1);
                }
            }
            Happening::Submit(n) => {
                let Some(delivery) = self.delivery(*n) else { return };
                self.step(MailFact::Submitted { delivery, channel: String::new(), evidence: String::new() });
            }
            Happening::Lose(n) => {
                let Some(delivery) = self.delivery(*n) else { return };
                self.step(MailFact::Unconfirmed { delivery, why: "nobody knows".to_owned() });
            }
            Happening::Confirm(which) => {
                let Some(letter) = self.accepted.get(*which) else { return };
                self.step(MailFact::Confirmed { letters: vec![letter.id.clone()], by: Receipt::Hook });
            }
            Happening::Repeat => {
                for (_, next) in self.engine.recurring() {
                    assert!(!self.unwanted.contains(next.first()), "nobody wants {next:?}");
                    self.post(next, None);
                }
            }
            Happening::Busy(n, ms) => {
                let said = (Timestamp(self.now), Span(*ms));
                if let Ok(fact) = self.engine.say_busy(&Self::agent(*n), "a build".to_owned(), said, "me".to_owned()) {
                    self.happen(fact);
                }
            }
            Happening::Ready(n) => {
                if let Ok(Some(fact)) = self.engine.say_ready(&Self::agent(*n), "me".to_owned()) {
                    self.happen(fact);
                }
            }
            Happening::Wait(ms) => {
                self.now += ms;
                self.happen(Fact::Tick);
            }
            Happening::End(n) => self.happen(Fact::RuntimeEnded { runtime: Self::agent(*n), how: Ending::Exited }),
            Happening::Restart => {
                let stored = serde_json::to_string(self.engine.state()).unwrap();
                let restored: EngineState = serde_json::from_str(&stored).unwrap();
                assert_eq!(&restored, self.engine.state());
                self.engine = Engine::restore(restored);
            }
        }
    }

    /// A hook that waits is given what waits and nothing else, and what is patient only where the agent is done.
    fn check_openings(&self) {
        let post = &self.engine.state().mail;
        for (n, background, answered) in (0..3).flat_map(|n| [(n, 0, 0), (n, 1, 4), (n, 0, 5)]) {
            let waiting: Vec<_> = post.waiting_for(&Self::agent(n)).into_iter().map(|entry| &entry.letter).collect();
            let is_free = post.boxes.get(&Self::agent(n)).is_some_and(|mailbox| mailbox.under_way.is_none());
            for opening in [Opening::TurnEnd { background, answered }, Opening::ToolEnd] {
                let is_done = opening == Opening::TurnEnd { background: 0, answered: 0 };
                let is_patient = is_done && !post.busy.contains_key(&Self::agent(n));
                let is_over = matches!(opening, Opening::TurnEnd { answered: 5.., .. });
                let wanted = waiting.iter().filter(|letter| is_patient || letter.mode != Mode::Sequential);
                let wanted: Vec<_> = wanted.filter(|_| is_free && !is_over).map(|letter| letter.id.clone()).collect();
                let due = self.engine.mail_due_at(&Self::agent(n), opening);
                assert!(due.as_ref().is_none_or(|due| due.runtime == Self::agent(n)));
                let letters = due.map(|due| due.letters);
                let fitting = wanted.len().min(10);
                assert_eq!(letters, (fitting > 0).then(|| wanted[..fitting].to_vec()), "{opening:?}");
            }
        }
    }

    fn check(&mut self) {
        let post = &self.engine.state().mail;
        for letter in &self.accepted {
            let entry = post.get(&letter.id).expect("no message is lost");
            let mailbox = post.boxes.get(&letter.to);
            let queued = mailbox.map_or(0, |mailbox| mailbox.queue.iter().filter(|id| **id == letter.id).count());
            let elsewhere = post.boxes.iter().filter(|(runtime, _)| **runtime != letter.to);
            let elsewhere = elsewhere.filter(|(_, mailbox)| mailbox.queue.contains(&letter.id)).count();
            let under_way = mailbox.and_then(|mailbox| mailbox.under_way.as_ref());
            let carried = under_way.is_some_and(|delivery| delivery.letters.contains(&letter.id));
            let is_started = under_way.is_some_and(|delivery| delivery.started);
            assert_eq!(elsewhere, 0, "{entry:?}");
            match &entry.stage {
                Stage::Queued => assert_eq!((queued, carried), (1, false), "{entry:?}"),
                Stage::Leased => assert_eq!((queued, carried, is_started), (0, true, false), "{entry:?}"),
                Stage::Started => assert_eq!((queued, carried, is_started), (0, true, true), "{entry:?}"),
                Stage::Submitted => assert_eq!((queued, carried), (0, false), "{entry:?}"),
                Stage::Ended { how } => {
                    assert_eq!(queued, 0, "{entry:?}");
                    let before = self.ended.insert(letter.id.clone(), *how);
                    let is_news = before.is_none_or(|before| before == *how || before == Ended::Unconfirmed);
                    assert!(is_news, "{before:?}: {entry:?}");
                }
            }
            let is_early = entry.letter.not_before.is_some_and(|at| self.now < at.0);
            let waits = matches!(entry.stage, Stage::Queued)
                || matches!(entry.stage.ended(), Some(Ended::Cancelled | Ended::Dead));
            assert!(!is_early || waits, "too early: {entry:?}");
            let typed = self.typed.get(&letter.id).copied().unwrap_or(0);
            assert!(typed <= 1, "typed {typed} times: {entry:?}");
            let untyped = matches!(entry.stage.ended(), Some(Ended::Expired | Ended::Cancelled | Ended::Dead));
            assert!(typed == 0 || !untyped, "typed, and said not to be delivered: {entry:?}");
            assert!(typed == 1 || entry.stage.ended() != Some(Ended::Confirmed), "confirmed, and never typed");
            let is_unwanted = self.unwanted.contains(letter.first());
            let waits = matches!(entry.stage, Stage::Queued | Stage::Leased);
            assert!(!is_unwanted || !waits, "taken back with its series, and waits: {entry:?}");
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_message_is_lost_or_typed_twice(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut town = Town::new();
        for happening in &happenings {
            town.play(happening);
            town.check();
        }
        // In the end each has come to exactly one end.
        for n in 0..3 {
            town.play(&Happening::End(n));
        }
        town.play(&Happening::Wait(240_000));
        town.check();
        for letter in &town.accepted {
            let entry = town.engine.state().mail.get(&letter.id).unwrap();
            prop_assert!(entry.stage.ended().is_some(), "{entry:?}");
        }
        prop_assert_eq!(town.engine.next_deadline(), None);
    }

    /// A text is found again in what was made of it, and nothing that a text holds is taken for another message.
    #[test]
    fn no_text_forges_a_receipt(texts in prop::collection::vec("(\\PC|\n|\\[Input from: a \\(b\\) via sm send id=m_0\\.k7f3\\]){0,30}", 1..4)) {
        let town = Town::new();
        let bodies: Vec<_> = texts.iter().filter_map(|text| Sanitized::new(text).ok()).collect();
        let letters: Vec<_> = (0..bodies.len())
            .map(|n| Letter { id: MailId::parse(&format!("m_{}", n + 1)).unwrap(), ..town.letter(0, Mode::Sequential, false) })
            .collect();
        let typed = envelope("k7f3", letters.iter().zip(&bodies));
        let ids: Vec<_> = letters.iter().map(|letter| letter.id.clone()).collect();
        prop_assert_eq!(receipts("k7f3", &typed), ids);
        prop_assert_eq!(receipts("other", &typed), Vec::new());
        for body in &bodies {
            prop_assert_eq!(Sanitized::new(body.as_str()).unwrap(), body.clone());
            prop_assert!(!body.as_str().chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}

/// Two agents that answer whatever they are told come to an end, whoever began (P3).
#[test]
fn agents_that_answer_each_other_come_to_an_end() {
    let mut town = Town::new();
    let mut written = 0;
    for round in 0..1_000 {
        let (from, to) = (round % 2, (round + 1) % 2);
        let party = Party::Agent { runtime: Town::agent(from), name: "agent".to_owned() };
        let letter = Letter { from: party, queued_at: Timestamp(town.now), ..town.letter(to, Mode::Sequential, false) };
        let before = town.accepted.len();
        town.post(letter, None);
        written += town.accepted.len() - before;
        town.now += 500;
        town.happen(Fact::Tick);
    }
    assert_eq!(written, 12, "six each way in ten minutes");
    // Whoever is reminded by the minute goes on.
    for _ in 0..20 {
        let party = Party::Agent { runtime: Town::agent(0), name: "agent".to_owned() };
        let reminder = town.letter(0, Mode::Sequential, false);
        let before = town.accepted.len();
        town.post(Letter { from: party, category: Category::Reminder, ..reminder }, Some(1));
        assert_eq!(town.accepted.len(), before + 1);
    }
}

/// What a hook would be given only a piece of is left to the keys, and nothing overtakes it on that way.
#[test]
fn what_is_too_long_for_a_hook_keeps_its_place() {
    let mut town = Town::new();
    for bytes in [5_000, 1_000, 2_000, 10] {
        let letter = Letter { bytes, ..town.letter(0, Mode::Sequential, false) };
        town.post(letter, None);
    }
    let opening = Opening::TurnEnd { background: 0, answered: 0 };
    let due = |town: &Town| town.engine.mail_due_at(&Town::agent(0), opening).map_or(0, |due| due.letters.len());
    assert_eq!(due(&town), 2);
    let letter = Letter { bytes: 7_000, ..town.letter(0, Mode::Important, false) };
    town.post(letter, None);
    assert_eq!(due(&town), 0);
}

/// I2: what an agent was given before is known again, word for word; the same prompt told twice within moments is one, and what a
/// person adds a word to is theirs.
#[test]
fn a_prompt_of_known_messages_is_known_again() {
    let mut town = Town::new();
    for text in ["first\n\nline", "second"] {
        let letter = Letter { digest: Letter::digest_of(text), ..town.letter(0, Mode::Sequential, false) };
        town.post(letter, None);
    }
    let letters = town.accepted.clone();
    let bodies = ["first\n\nline", "second"].map(|text| Sanitized::new(text).unwrap());
    let prompt = envelope("k7f3", letters.iter().zip(&bodies));
    let repeated = |town: &Town, prompt: &str| town.engine.repeated_mail(&Town::agent(0), prompt).len();
    town.play(&Happening::Lease(0));
    town.play(&Happening::Start(0));
    assert_eq!(repeated(&town, &prompt), 0);
    town.step(MailFact::Confirmed { letters: vec![letters[0].id.clone()], by: Receipt::Hook });
    town.play(&Happening::Wait(20_000));
    assert_eq!(repeated(&town, &prompt), 0, "one of them is new");
    town.step(MailFact::Confirmed { letters: vec![letters[1].id.clone()], by: Receipt::Transcript });
    assert_eq!(repeated(&town, &prompt), 0, "the same prompt, told by hook and record");
    town.play(&Happening::Wait(20_000));
    assert_eq!(repeated(&town, &prompt), 2);
    for theirs in [format!("{prompt} please"), format!("again:\n{prompt}"), "first".to_owned(), String::new()] {
        assert_eq!(repeated(&town, &theirs), 0, "{theirs}");
    }
    assert_eq!(town.engine.repeated_mail(&Town::agent(1), &prompt), []);
}
