//! Messages whose agent ended, and who is sent them anew.

use agtmux_core::event::{Ending, Fact};
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{
    Category, DeliveryId, Ended, Fate, Letter, MailFact, MailId, Receipt, Sanitized, envelope, receipts,
};
use agtmux_core::time::Span;

use crate::mailing::{agent, idle_agents, letter, pass, person, post};
use crate::world::World;

const TALK: &str = "c0ffee";

fn id(text: &str) -> MailId {
    MailId::parse(text).unwrap()
}

fn talks(world: &mut World, runtime: &RuntimeId, conversation: &str) {
    let fact = Fact::Conversation { runtime: runtime.clone(), conversation: conversation.to_owned(), cwd: None };
    world.apply(fact);
}

fn ends(world: &mut World, runtime: &RuntimeId) {
    world.apply(Fact::RuntimeEnded { runtime: runtime.clone(), how: Ending::Exited });
}

fn send(world: &mut World, name: &str, to: &RuntimeId) {
    let letter = letter(world, name, person(), to);
    post(world, letter, None).unwrap();
}

/// A message that may have been typed.
fn type_it(world: &mut World, name: &str, to: &RuntimeId) {
    let delivery = DeliveryId::new(format!("dl_{name}"));
    for step in [
        MailFact::Leased { delivery: delivery.clone(), runtime: to.clone(), letters: vec![id(name)] },
        MailFact::Started { delivery },
    ] {
        let fact = world.engine.mail_step(step).unwrap();
        world.apply(fact);
    }
}

fn again(world: &mut World, name: &str, to: &RuntimeId) -> Option<Letter> {
    let (new, facts) = world.engine.send_again(&id(name), to, "n3w".to_owned()).ok()?;
    facts.into_iter().for_each(|fact| world.apply(fact));
    world.engine.state().mail.get(&new).map(|entry| entry.letter.clone())
}

fn strays(world: &World, runtime: &RuntimeId) -> Vec<(String, bool)> {
    let strays = world.engine.mail_strays(runtime);
    strays.into_iter().map(|stray| (stray.id.to_string(), stray.stranded.typed)).collect()
}

/// An agent in a conversation that ended with one message typed and one waiting, and one that has not begun to talk.
fn ended() -> (World, RuntimeId) {
    let mut world = World::default();
    let [api, heir] = idle_agents(&mut world);
    talks(&mut world, &api, TALK);
    send(&mut world, "typed", &api);
    type_it(&mut world, "typed", &api);
    send(&mut world, "waits", &api);
    ends(&mut world, &api);
    (world, heir)
}

#[test]
fn who_goes_on_with_a_conversation_is_sent_each_message_once() {
    let (mut world, heir) = ended();
    assert_eq!(world.engine.mail_heirs(), Vec::<RuntimeId>::new());
    assert_eq!(again(&mut world, "waits", &heir), None, "it is in no conversation");
    talks(&mut world, &heir, "another");
    assert_eq!(strays(&world, &heir), []);
    talks(&mut world, &heir, TALK);
    assert_eq!(world.engine.mail_heirs(), std::slice::from_ref(&heir));
    assert_eq!(strays(&world, &heir), [("typed".to_owned(), true), ("waits".to_owned(), false)]);
    let mail = &world.engine.state().mail;
    assert!(mail.needs_text(&id("typed")) && mail.needs_text(&id("waits")));

    let typed = again(&mut world, "typed", &heir).unwrap();
    assert_eq!((typed.id.as_str(), &typed.to), ("typed_r2", &heir));
    let marks = |letter: &Letter| letter.again.as_ref().map(|again| again.redelivered);
    assert_eq!(marks(&typed), Some(true));
    let waits = again(&mut world, "waits", &heir).unwrap();
    assert_eq!(marks(&waits), Some(false));
    assert_eq!((again(&mut world, "typed", &heir), again(&mut world, "waits", &heir)), (None, None));
    let mail = &world.engine.state().mail;
    assert!(!mail.needs_text(&id("typed")) && mail.needs_text(&id("typed_r2")));
    assert_eq!(mail.sent_again_as(&id("typed")), Some(&id("typed_r2")));

    // It ends as well before it was given anything, and what may have been typed once still may.
    ends(&mut world, &heir);
    let pane = world.pane("local", "main", (7, "w"), 7);
    let third = world.agent(&pane, "claude", "idle");
    talks(&mut world, &third, TALK);
    let typed = again(&mut world, "typed_r2", &third).unwrap();
    assert_eq!((typed.id.as_str(), marks(&typed)), ("typed_r3", Some(true)));
}

/// A message whose id somebody chose to look like one that is sent anew keeps none from being so.
#[test]
fn another_message_of_such_an_id_is_passed_over() {
    let (mut world, heir) = ended();
    talks(&mut world, &heir, TALK);
    send(&mut world, "typed_r2", &heir);
    let typed = again(&mut world, "typed", &heir).unwrap();
    assert_eq!(typed.id, id("typed_r3"));
    let mail = &world.engine.state().mail;
    assert_eq!(mail.sent_again_as(&id("typed")), Some(&id("typed_r3")));
    assert_eq!(mail.sent_again_as(&id("typed_r3")), None);
    assert_eq!(again(&mut world, "typed", &heir), None, "once");
}

/// I2: what may have been typed is sent again only if the agent's record was read and does not show it.
#[test]
fn the_record_says_what_becomes_of_a_message() {
    let (mut world, heir) = ended();
    talks(&mut world, &heir, TALK);
    let fates = |given: Option<&[&str]>| {
        let given = given.map(|given| given.iter().map(|name| id(name)).collect());
        world.engine.mail_strays(&heir).iter().map(|stray| stray.fate(given.as_ref())).collect::<Vec<_>>()
    };
    assert_eq!(fates(None), [Fate::Unknown, Fate::Again]);
    assert_eq!(fates(Some(&[])), [Fate::Again, Fate::Again]);
    assert_eq!(fates(Some(&["typed"])), [Fate::Arrived, Fate::Again]);
}

/// However much else comes to its end meanwhile, it is not forgotten within the day.
#[test]
fn what_may_be_sent_anew_outlives_what_is_over() {
    let (mut world, heir) = ended();
    let remembered = |world: &World, name: &str| world.engine.state().mail.get(&id(name)).is_some();
    for n in 0..700 {
        let other = Letter { timeout: Some(Span(1)), ..letter(&world, &format!("other_{n}"), person(), &heir) };
        post(&mut world, other, None).unwrap();
        pass(&mut world, Span::seconds(2));
    }
    assert!(!remembered(&world, "other_0") && remembered(&world, "other_699"));
    talks(&mut world, &heir, TALK);
    assert_eq!(strays(&world, &heir), [("typed".to_owned(), true), ("waits".to_owned(), false)]);
    assert!(world.engine.state().mail.needs_text(&id("waits")));
    pass(&mut world, Span::hours(24));
    let last = Letter { timeout: Some(Span(1)), ..letter(&world, "last", person(), &heir) };
    post(&mut world, last, None).unwrap();
    pass(&mut world, Span::seconds(2));
    assert!(!remembered(&world, "waits"), "it lapsed, and is like any other");
}

#[test]
fn another_agent_is_not_sent_anything() {
    let (mut world, _) = ended();
    let pane = world.pane("local", "main", (7, "w"), 7);
    let codex = world.agent(&pane, "codex", "idle");
    talks(&mut world, &codex, TALK);
    assert_eq!(strays(&world, &codex), []);
}

#[test]
fn what_the_agent_was_given_is_not_sent_again() {
    let (mut world, heir) = ended();
    talks(&mut world, &heir, TALK);
    let confirmed = MailFact::Confirmed { letters: vec![id("typed")], by: Receipt::Transcript };
    let fact = world.engine.mail_step(confirmed).unwrap();
    world.apply(fact);
    assert_eq!(strays(&world, &heir), [("waits".to_owned(), false)]);
    assert!(!world.engine.state().mail.needs_text(&id("typed")));
}

#[test]
fn what_nobody_waits_for_any_more_is_forgotten() {
    let (mut world, heir) = ended();
    talks(&mut world, &heir, TALK);
    let fact = world.engine.cancel_mail(&id("waits"), "by uid 1000").unwrap();
    world.apply(fact);
    assert_eq!(strays(&world, &heir), [("typed".to_owned(), true)]);
    let entry = world.engine.state().mail.get(&id("waits")).unwrap();
    assert_eq!(entry.stage.ended(), Some(Ended::Dead), "it was not delivered, whoever took it back afterwards");
    assert!(world.engine.cancel_mail(&id("waits"), "by uid 1000").is_err());
    pass(&mut world, Span::hours(24));
    assert_eq!(strays(&world, &heir), []);
    assert!(!world.engine.state().mail.needs_text(&id("typed")));
}

/// A message gets no more time by being sent again, and its agent's own notices are not sent to the next.
#[test]
fn time_and_notices_do_not_come_back() {
    let mut world = World::default();
    let [api, heir] = idle_agents(&mut world);
    talks(&mut world, &api, TALK);
    let short = Letter { timeout: Some(Span::minutes(5)), ..letter(&world, "short", agent(&heir), &api) };
    let expires = short.expires_at();
    post(&mut world, short, None).unwrap();
    let notice = Letter { category: Category::Notice, ..letter(&world, "notice", person(), &api) };
    post(&mut world, notice, None).unwrap();
    ends(&mut world, &api);
    pass(&mut world, Span::minutes(2));
    talks(&mut world, &heir, TALK);
    assert_eq!(strays(&world, &heir), [("short".to_owned(), false)]);
    assert_eq!(again(&mut world, "short", &heir).unwrap().expires_at(), expires);
}

/// Who goes on with a conversation is reminded by itself, and goes on to be.
#[test]
fn what_an_agent_wrote_to_itself_is_its_own_still() {
    let mut world = World::default();
    let [api, heir] = idle_agents(&mut world);
    talks(&mut world, &api, TALK);
    let own = Letter { category: Category::Reminder, ..letter(&world, "own", agent(&api), &api) };
    post(&mut world, own, None).unwrap();
    ends(&mut world, &api);
    talks(&mut world, &heir, TALK);
    let anew = again(&mut world, "own", &heir).unwrap();
    assert_eq!((anew.from.runtime(), &anew.to), (Some(&heir), &heir));
}

#[test]
fn an_agent_whose_conversation_is_not_known_leaves_nothing() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    send(&mut world, "waits", &api);
    ends(&mut world, &api);
    assert!(!world.engine.state().mail.needs_text(&id("waits")));
}

#[test]
fn what_is_sent_again_says_so_and_is_found_again() {
    let (mut world, heir) = ended();
    talks(&mut world, &heir, TALK);
    let typed = again(&mut world, "typed", &heir).unwrap();
    let reminder = Letter { category: Category::Reminder, ..typed.clone() };
    let body = Sanitized::new("hello").unwrap();
    for (letter, head) in [
        (&typed, "[Input from: me (uid 1000) via sm send id=typed_r2.n3w redelivered=1]"),
        (&reminder, "[sm] Scheduled reminder from me (uid 1000): id=typed_r2.n3w redelivered=1"),
    ] {
        let text = envelope("n3w", [(letter, &body)]);
        assert_eq!(text, format!("{head}\nhello"));
        assert_eq!(receipts("n3w", &text), [id("typed_r2")]);
    }
}
