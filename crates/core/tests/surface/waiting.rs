//! What messages wait for, and what their senders are told of it.

use agtmux_core::command::RefusalCode;
use agtmux_core::event::Fact;
use agtmux_core::id::{RuntimeId, TargetName};
use agtmux_core::mail::{DeliveryId, Entry, Hindrance, Letter, Limits, MailFact, MailId, Mode, NewLetter, Party};
use agtmux_core::policy::Policy;
use agtmux_core::signal::{Outcome, Signal};
use agtmux_core::time::Span;

use crate::mailing::{agent, idle_agents, letter, pass, person, post};
use crate::world::{World, signal};

fn hear(world: &mut World, runtime: &RuntimeId, n: u64, said: Signal) {
    let event = signal(TargetName::local(), Some(runtime.clone()), 1_000 + n, said);
    world.apply_at(world.engine.now() + Span(1), Fact::Signal(Box::new(event)));
}

fn step(world: &mut World, step: MailFact) {
    let fact = world.engine.mail_step(step).unwrap();
    world.apply_at(world.engine.now(), fact);
}

fn due(world: &World) -> Vec<String> {
    world.engine.mail_due(10).into_iter().flat_map(|due| due.letters).map(|id| id.to_string()).collect()
}

fn entry<'a>(world: &'a World, id: &str) -> &'a Entry {
    world.engine.state().mail.get(&MailId::parse(id).unwrap()).unwrap()
}

fn because(world: &World, id: &str) -> Option<String> {
    world.engine.mail_because(entry(world, id))
}

/// Messages of each mode, for an agent.
fn of_each_mode(world: &mut World, to: &RuntimeId) {
    for mode in Mode::ALL {
        let one = Letter { mode, ..letter(world, mode.name(), person(), to) };
        post(world, one, None).unwrap();
    }
}

/// S4: who interrupts an agent is about to say what they want instead.
#[test]
fn after_an_interrupt_mail_waits_for_the_next_prompt() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    hear(&mut world, &api, 0, Signal::TurnStarted);
    hear(&mut world, &api, 1, Signal::TurnEnded { outcome: Outcome::Interrupted });
    of_each_mode(&mut world, &api);
    assert_eq!(due(&world), ["urgent"]);
    assert_eq!(world.engine.hindrance(&api, Mode::Important), Some(Hindrance::Interrupted));
    assert_eq!(world.engine.hindrance(&api, Mode::Urgent), None);
    let why = because(&world, "sequential").unwrap();
    assert_eq!(why, "a person has interrupted its turn; it waits 10m more for their next prompt");
    // The person's prompt comes, and the turn after it ends.
    hear(&mut world, &api, 2, Signal::TurnStarted);
    assert_eq!(world.engine.hindrance(&api, Mode::Sequential), Some(Hindrance::Turn));
    hear(&mut world, &api, 3, Signal::TurnEnded { outcome: Outcome::Done });
    assert_eq!(due(&world), ["urgent", "important", "sequential"]);
}

#[test]
fn after_an_interrupt_mail_waits_no_longer_than_it_should() {
    let mut world = World::default();
    let policy = Policy { after_interrupt: Span::minutes(3), ..Policy::default() };
    world.apply(Fact::PolicySet { policy });
    let [api] = idle_agents(&mut world);
    hear(&mut world, &api, 0, Signal::TurnStarted);
    hear(&mut world, &api, 1, Signal::TurnEnded { outcome: Outcome::Interrupted });
    let until = world.engine.now() + Span::minutes(3);
    let one = letter(&world, "one", person(), &api);
    post(&mut world, one, None).unwrap();
    assert_eq!((due(&world), world.engine.interrupted_until(&api)), (Vec::new(), Some(until)));
    // The daemon wakes for it by itself.
    while let Some(deadline) = world.engine.next_deadline().filter(|deadline| *deadline <= until) {
        world.apply_at(deadline, Fact::Tick);
    }
    assert_eq!((world.engine.now(), due(&world)), (until, vec!["one".to_owned()]));
    // Whoever does not want that is not made to wait.
    let policy = Policy { after_interrupt: Span(0), ..Policy::default() };
    world.apply_at(until, Fact::PolicySet { policy });
    hear(&mut world, &api, 2, Signal::TurnStarted);
    hear(&mut world, &api, 3, Signal::TurnEnded { outcome: Outcome::Interrupted });
    assert_eq!(due(&world), ["one"]);
}

/// What agtmux itself interrupts a turn for keeps nothing else waiting; the person who interrupts the turn after it does.
#[test]
fn an_interrupt_for_an_urgent_message_is_nobodys() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    hear(&mut world, &api, 0, Signal::TurnStarted);
    of_each_mode(&mut world, &api);
    let (delivery, letters) = (DeliveryId::new("dl_1"), vec![MailId::parse("urgent").unwrap()]);
    step(&mut world, MailFact::Leased { delivery: delivery.clone(), runtime: api.clone(), letters });
    hear(&mut world, &api, 1, Signal::TurnEnded { outcome: Outcome::Interrupted });
    step(&mut world, MailFact::Interrupted { delivery: delivery.clone() });
    // Nothing was typed after all.
    step(&mut world, MailFact::Returned { delivery, why: "a dialog came up".to_owned() });
    assert_eq!(world.engine.interrupted_until(&api), None);
    assert_eq!(because(&world, "sequential").as_deref(), Some("a dialog came up"));
    pass(&mut world, Span::seconds(1));
    assert_eq!(due(&world), ["urgent", "important", "sequential"]);
    hear(&mut world, &api, 2, Signal::TurnStarted);
    hear(&mut world, &api, 3, Signal::TurnEnded { outcome: Outcome::Interrupted });
    assert!(world.engine.interrupted_until(&api).is_some());
    assert_eq!(due(&world), ["urgent"]);
}

/// A message that comes after one that could not be delivered waits for the same.
#[test]
fn what_was_wrong_at_the_last_try_is_why_messages_wait() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let first = letter(&world, "first", agent(&web), &api);
    post(&mut world, first, None).unwrap();
    let (delivery, letters) = (DeliveryId::new("dl_1"), vec![MailId::parse("first").unwrap()]);
    step(&mut world, MailFact::Leased { delivery: delivery.clone(), runtime: api.clone(), letters });
    let why = "the composer of api cannot be read".to_owned();
    step(&mut world, MailFact::Returned { delivery, why: why.clone() });
    let second = letter(&world, "second", person(), &api);
    post(&mut world, second, None).unwrap();
    assert_eq!(world.engine.hindrance(&api, Mode::Sequential), Some(Hindrance::Retry));
    assert_eq!([because(&world, "first"), because(&world, "second")], [Some(why.clone()), Some(why.clone())]);
    // Its sender is told that after a while, and why.
    pass(&mut world, Span::minutes(10));
    let notices = world.engine.notices();
    assert!(notices.iter().any(|notice| notice.text.contains(&format!("in 10m: {why}"))), "{notices:#?}");
}

/// A person's text that cannot make room keeps mail waiting until somebody does something: they are told at once.
#[test]
fn a_draft_that_cannot_make_room_is_told_of_at_once() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let first = letter(&world, "first", agent(&web), &api);
    post(&mut world, first, None).unwrap();
    let tried = |world: &mut World, n: u32, stuck: Option<&str>| {
        let (delivery, letters) = (DeliveryId::new(format!("dl_{n}")), vec![MailId::parse("first").unwrap()]);
        step(world, MailFact::Leased { delivery: delivery.clone(), runtime: api.clone(), letters });
        let (digest, stuck) = ("d".to_owned(), stuck.map(str::to_owned));
        step(world, MailFact::InTheWay { delivery: delivery.clone(), digest, again: Span::seconds(5), stuck });
        step(world, MailFact::Returned { delivery, why: "somebody's text is in the composer".to_owned() });
    };
    tried(&mut world, 1, None);
    assert_eq!(world.engine.notices(), Vec::new(), "it may make room yet");
    pass(&mut world, Span::seconds(5));
    tried(&mut world, 2, Some("it has two lines"));
    let notices = world.engine.notices();
    let expected =
        "somebody's text is in the composer and cannot be put aside, since it has two lines: `sm clear-draft";
    assert!(notices.len() == 1 && notices[0].text.contains(expected), "{notices:#?}");
    assert!(world.engine.state().topology.runtimes[&api].attention.calls_for_mail());
}

/// What an agent may write is limited; it is told who has written what, and when it may go on.
#[test]
fn whoever_writes_too_much_is_told_how_long_to_wait() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let from = Party::Agent { runtime: web.clone(), name: "web".to_owned() };
    let limits = Limits { pair: 2, ..Limits::default() };
    let write = |world: &mut World, n: usize| {
        let letter = letter(world, &format!("m_{n}"), from.clone(), &api);
        let posted =
            world.engine.post(limits, NewLetter { letter: letter.clone(), nonce: "k7f3".to_owned(), delay: None });
        posted.map(|_| post(world, letter, None).unwrap())
    };
    write(&mut world, 0).unwrap();
    pass(&mut world, Span::minutes(4));
    write(&mut world, 1).unwrap();
    let refused = write(&mut world, 2).unwrap_err();
    assert_eq!((refused.code, refused.code.name()), (RefusalCode::RateLimited, "E_RATE_LIMITED"));
    let expected = format!("web ({web}) has written 2 messages to api in 10 minutes; the next one may be sent in 6m");
    assert_eq!(refused.message, expected);
    pass(&mut world, Span::minutes(6));
    write(&mut world, 3).unwrap();
}
