//! What is asked of the post by people and agents.

use agtmux_core::command::{Command, RefusalCode};
use agtmux_core::engine::Engine;
use agtmux_core::event::{Ending, Fact};
use agtmux_core::id::RuntimeId;
use agtmux_core::intent::Intent;
use agtmux_core::mail::{
    Category, DeliveryId, Ended, Hindrance, Letter, Limits, MailFact, MailId, MailPolicy, Mode, NewLetter, Opening,
    Party, Posted, Receipt, Stage, Wanted, rest_for,
};
use agtmux_core::policy::Policy;
use agtmux_core::queue::waiting;
use agtmux_core::signal::Signal;
use agtmux_core::time::{Span, Timestamp};

use crate::world::{World, signal};

/// Agents that have nothing to do.
pub(crate) fn idle_agents<const N: usize>(world: &mut World) -> [RuntimeId; N] {
    std::array::from_fn(|n| {
        let n = u32::try_from(n).unwrap();
        let pane = world.pane("local", "main", (n, "w"), n);
        world.agent(&pane, "claude", "idle")
    })
}

pub(crate) fn agent(runtime: &RuntimeId) -> Party {
    Party::Agent { runtime: runtime.clone(), name: "agent".to_owned() }
}

pub(crate) fn person() -> Party {
    Party::Person { uid: 1_000, name: "me".to_owned() }
}

pub(crate) fn letter(world: &World, id: &str, from: Party, to: &RuntimeId) -> Letter {
    Letter {
        id: MailId::parse(id).unwrap(),
        to: to.clone(),
        to_name: "api".to_owned(),
        from,
        mode: Mode::Sequential,
        category: Category::Mail,
        bytes: 5,
        digest: Letter::digest_of("hello"),
        preview: "hello".to_owned(),
        queued_at: world.engine.now(),
        timeout: None,
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

/// Posts a letter; says why not.
pub(crate) fn post(world: &mut World, letter: Letter, delay: Option<Span>) -> Result<(), String> {
    let new = NewLetter { letter, nonce: "k7f3".to_owned(), delay };
    match world.engine.post(Limits::default(), new).map_err(|refusal| refusal.message)? {
        Posted::New(facts) => facts.into_iter().for_each(|fact| world.apply_at(world.engine.now(), fact)),
        Posted::Known(_) => {}
    }
    Ok(())
}

fn step(world: &mut World, step: MailFact) -> bool {
    let fact = world.engine.mail_step(step);
    fact.map(|fact| world.apply_at(world.engine.now(), fact)).is_ok()
}

pub(crate) fn pass(world: &mut World, span: Span) {
    world.apply_at(world.engine.now() + span, Fact::Tick);
}

fn stage_of(world: &World, id: &str) -> &'static str {
    world.engine.state().mail.get(&MailId::parse(id).unwrap()).map_or("unknown", |entry| entry.stage.name())
}

fn due(world: &World) -> Vec<String> {
    world.engine.mail_due(10).into_iter().flat_map(|due| due.letters).map(|id| id.to_string()).collect()
}

fn busy(world: &mut World, runtime: &RuntimeId, within: Span) {
    let said = (world.engine.now(), within);
    let fact = world.engine.say_busy(runtime, "a build".to_owned(), said, "by itself".to_owned()).unwrap();
    world.apply_at(world.engine.now(), fact);
}

#[test]
fn who_is_busy_is_given_what_cannot_wait_and_its_own_reminders() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    busy(&mut world, &api, Span::minutes(5));
    let patient = letter(&world, "patient", person(), &api);
    post(&mut world, patient, None).unwrap();
    let important = Letter { mode: Mode::Important, ..letter(&world, "important", person(), &api) };
    post(&mut world, important, None).unwrap();
    let own = Letter { category: Category::Reminder, ..letter(&world, "own", agent(&api), &api) };
    post(&mut world, own, None).unwrap();
    let asked = Letter { category: Category::Reminder, ..letter(&world, "asked", person(), &api) };
    post(&mut world, asked, None).unwrap();
    assert_eq!(due(&world), ["important", "own"]);
    assert_eq!(world.engine.hindrance(&api, Mode::Sequential), Some(Hindrance::Busy));
    let ready = world.engine.say_ready(&api, "by itself".to_owned()).unwrap().unwrap();
    world.apply_at(world.engine.now(), ready);
    assert_eq!(due(&world), ["important", "patient", "own", "asked"]);
    assert_eq!(world.engine.say_ready(&api, String::new()), Ok(None), "it is ready already");
}

/// What is important does not wait for an agent to have nothing left to do, and does not say so.
#[test]
fn each_mode_says_what_it_waits_for() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "w"), 0);
    let api = world.agent(&pane, "claude", "running");
    let waits = |mode: Mode| world.engine.hindrance(&api, mode).map(Hindrance::name);
    assert_eq!(waits(Mode::Sequential), Some("waiting_for_idle"));
    assert_eq!(waits(Mode::Important), Some("waiting_for_the_turn_to_end"));
    assert_eq!(waits(Mode::Urgent), None);
}

#[test]
fn busy_ends_by_itself_and_with_the_agent() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    busy(&mut world, &api, Span::minutes(5));
    let waits = letter(&world, "waits", person(), &api);
    post(&mut world, waits, None).unwrap();
    let until = world.engine.now() + Span::minutes(5);
    assert!(world.engine.next_deadline().is_some_and(|deadline| deadline <= until));
    pass(&mut world, Span(5 * 60_000 - 1));
    assert_eq!(due(&world), Vec::<String>::new());
    pass(&mut world, Span(1));
    assert_eq!(due(&world), ["waits"]);
    busy(&mut world, &web, Span::hours(24));
    world.apply(Fact::RuntimeEnded { runtime: web.clone(), how: Ending::Exited });
    assert!(world.engine.state().mail.busy.is_empty());
    let said = (world.engine.now(), Span::minutes(1));
    assert!(world.engine.say_busy(&web, String::new(), said, String::new()).is_err(), "it is over");
    let said = (world.engine.now(), Span::hours(25));
    assert!(world.engine.say_busy(&api, String::new(), said, String::new()).is_err(), "too long to be forgotten");
}

/// Posts what comes next of what comes again, as the daemon does.
fn repeat(world: &mut World) -> usize {
    let next = world.engine.recurring();
    let count = next.len();
    next.into_iter().for_each(|(_, next)| post(world, next, None).unwrap());
    count
}

/// A reminder whose first one is where it says, and whose second one waits for its time.
fn recurring(world: &mut World, to: &RuntimeId) {
    let reminder =
        Letter { category: Category::Reminder, every: Some(Span::minutes(1)), ..letter(world, "r_note", person(), to) };
    post(world, reminder, Some(Span::minutes(1))).unwrap();
    pass(world, Span::minutes(1));
    assert_eq!(repeat(world), 0, "none follows one that waits");
    let delivery = DeliveryId::new("dl_0");
    let letters = vec![MailId::parse("r_note").unwrap()];
    assert!(step(world, MailFact::Leased { delivery: delivery.clone(), runtime: to.clone(), letters }));
    assert_eq!(repeat(world), 0, "nor one that is only chosen");
    assert!(step(world, MailFact::Started { delivery: delivery.clone() }));
    assert_eq!(repeat(world), 1);
    // It turns out that it was not typed.
    assert!(step(world, MailFact::Returned { delivery, why: "a draft".to_owned() }));
    assert_eq!((stage_of(world, "r_note"), stage_of(world, "r_note_n2")), ("queued", "queued"));
    assert_eq!(repeat(world), 0, "once");
}

/// Has an agent given a message, and say so.
fn deliver(world: &mut World, id: &str, to: &RuntimeId) {
    let (delivery, letters) = (DeliveryId::new(format!("dl_{id}")), vec![MailId::parse(id).unwrap()]);
    let leased = MailFact::Leased { delivery: delivery.clone(), runtime: to.clone(), letters: letters.clone() };
    let submitted = MailFact::Submitted { delivery: delivery.clone(), channel: String::new(), evidence: String::new() };
    for fact in [leased, MailFact::Started { delivery }, submitted, MailFact::Confirmed { letters, by: Receipt::Hook }]
    {
        assert!(step(world, fact), "{id}");
    }
}

fn reminder(world: &World, id: &str, from: Party, to: &RuntimeId, every: Option<Span>) -> Letter {
    Letter { category: Category::Reminder, every, ..letter(world, id, from, to) }
}

/// A reminder to somebody else is a message like any other, and its being late makes it no less of one.
#[test]
fn agents_do_not_get_round_the_limits_by_reminders() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    for n in 0..6 {
        let reminder = reminder(&world, &format!("m_{n}"), agent(&web), &api, None);
        post(&mut world, reminder, Some(Span(n))).unwrap();
    }
    for delay in [None, Some(Span(0)), Some(Span::hours(1))] {
        let more = reminder(&world, "more", agent(&web), &api, None);
        assert!(post(&mut world, more, delay).unwrap_err().contains("has written 6 messages"), "{delay:?}");
        let mail = letter(&world, "more", agent(&web), &api);
        assert!(post(&mut world, mail, delay).is_err(), "{delay:?}");
    }
    for n in 0..100 {
        let own = reminder(&world, &format!("own_{n}"), agent(&web), &web, None);
        post(&mut world, own, Some(Span(n))).unwrap();
        let asked = reminder(&world, &format!("asked_{n}"), person(), &api, None);
        post(&mut world, asked, Some(Span(n))).unwrap();
    }
}

#[test]
fn what_an_agent_wrote_does_not_come_again_too_soon() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let asked = [
        (agent(&web), &api, 59, false),
        (agent(&web), &api, 60, true),
        (agent(&web), &web, 9, false),
        (agent(&web), &web, 10, true),
        (person(), &api, 1, true),
    ];
    for (n, (from, to, every, may)) in asked.into_iter().enumerate() {
        let reminder = reminder(&world, &format!("m_{n}"), from, to, Some(Span::seconds(every)));
        assert_eq!(post(&mut world, reminder, Some(Span(1))).is_ok(), may, "{n}");
    }
}

/// However long an agent cannot be reminded, one reminder of a series waits for it.
#[test]
fn one_of_a_series_waits_at_a_time() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let first = reminder(&world, "m", person(), &api, Some(Span::minutes(1)));
    post(&mut world, first, Some(Span::minutes(1))).unwrap();
    for _ in 0..10 {
        pass(&mut world, Span::minutes(1));
        assert_eq!(repeat(&mut world), 0);
    }
    deliver(&mut world, "m", &api);
    assert_eq!(repeat(&mut world), 1);
    let next = world.engine.state().mail.get(&MailId::parse("m_n2").unwrap()).unwrap();
    assert!(
        next.waits_until.is_some_and(|at| at <= world.engine.now() + Span::minutes(1)),
        "what was missed is skipped"
    );
}

/// What an agent wanted to be said again and again ends with it; what a person wanted does not.
#[test]
fn a_series_ends_with_the_agent_that_wanted_it() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    for (id, from) in [("agents", agent(&web)), ("persons", person())] {
        let first = reminder(&world, id, from, &api, Some(Span::minutes(1)));
        post(&mut world, first, Some(Span(1))).unwrap();
    }
    pass(&mut world, Span(1));
    for id in ["agents", "persons"] {
        deliver(&mut world, id, &api);
    }
    let next =
        |world: &World| world.engine.recurring().into_iter().map(|(_, next)| next.id.to_string()).collect::<Vec<_>>();
    assert_eq!(next(&world), ["agents_n2", "persons_n2"]);
    world.apply(Fact::RuntimeEnded { runtime: web, how: Ending::Exited });
    assert_eq!(next(&world), ["persons_n2"]);
}

/// However much waits for an agent, a person is heard.
#[test]
fn a_full_queue_keeps_agents_out_and_no_person() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    for n in 0..1_000 {
        let letter = letter(&world, &format!("m_{n}"), person(), &api);
        post(&mut world, letter, None).unwrap();
    }
    let agents = letter(&world, "agents", agent(&web), &api);
    assert!(post(&mut world, agents, None).unwrap_err().contains("1000 messages wait"));
    let persons = letter(&world, "persons", person(), &api);
    post(&mut world, persons, None).unwrap();
}

/// Whichever of them is taken back, and wherever it is, none of them comes any more.
#[test]
fn taking_one_back_takes_back_those_that_follow() {
    let stages: [(&str, &[&str]); 4] = [
        ("queued", &[]),
        ("leased", &["leased"]),
        ("started", &["leased", "started"]),
        ("confirmed", &["leased", "started", "confirmed"]),
    ];
    for (stage, way) in stages {
        for taken_back in ["r_note", "r_note_n2"] {
            let mut world = World::default();
            let [api] = idle_agents(&mut world);
            recurring(&mut world, &api);
            let delivery = DeliveryId::new("dl_1");
            for to in way {
                let fact = match *to {
                    "leased" => MailFact::Leased {
                        delivery: delivery.clone(),
                        runtime: api.clone(),
                        letters: vec![MailId::parse("r_note").unwrap()],
                    },
                    "started" => MailFact::Started { delivery: delivery.clone() },
                    _ => MailFact::Confirmed { letters: vec![MailId::parse("r_note").unwrap()], by: Receipt::Hook },
                };
                assert!(step(&mut world, fact));
            }
            let cancelled = world.engine.cancel_mail(&MailId::parse(taken_back).unwrap(), "by me").unwrap();
            world.apply_at(world.engine.now(), cancelled);
            let first = if matches!(stage, "queued" | "leased") { "cancelled" } else { stage };
            assert_eq!(stage_of(&world, "r_note"), first, "{stage}, {taken_back}");
            assert_eq!(stage_of(&world, "r_note_n2"), "cancelled", "{stage}, {taken_back}");
            pass(&mut world, Span::hours(1));
            assert_eq!(repeat(&mut world), 0, "{stage}, {taken_back}");
            // What was handed out cannot be typed, and if it turns out that it was not, it does not wait again.
            assert!(!step(&mut world, MailFact::Started { delivery: delivery.clone() }), "{stage}, {taken_back}");
            let returned = MailFact::Returned { delivery, why: "a draft".to_owned() };
            let is_returned = step(&mut world, returned);
            assert_eq!(is_returned, matches!(stage, "started" | "confirmed"), "{stage}, {taken_back}");
            let end = if stage == "confirmed" { "confirmed" } else { "cancelled" };
            assert_eq!(stage_of(&world, "r_note"), end, "{stage}, {taken_back}");
        }
    }
}

/// Whoever delivers has read what it was given; what was taken back since is not typed with the rest.
#[test]
fn what_is_taken_back_from_a_delivery_ends_the_delivery() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    for id in ["one", "two", "three"] {
        let letter = letter(&world, id, person(), &api);
        post(&mut world, letter, None).unwrap();
    }
    let letters: Vec<_> = ["one", "two"].map(|id| MailId::parse(id).unwrap()).into();
    let delivery = DeliveryId::new("dl_1");
    assert!(step(&mut world, MailFact::Leased { delivery: delivery.clone(), runtime: api, letters }));
    let cancelled = world.engine.cancel_mail(&MailId::parse("two").unwrap(), "by me").unwrap();
    world.apply_at(world.engine.now(), cancelled);
    assert!(!step(&mut world, MailFact::Started { delivery }));
    assert_eq!(due(&world), ["one", "three"], "in their order, at once");
    assert_eq!(stage_of(&world, "two"), "cancelled");
}

/// What was typed as one text was given as one: a courier that thinks nothing was typed is wrong about all of it (I2).
#[test]
fn what_was_typed_with_a_confirmed_one_is_not_typed_again() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    for id in ["one", "two"] {
        let letter = letter(&world, id, person(), &api);
        post(&mut world, letter, None).unwrap();
    }
    let letters: Vec<_> = ["one", "two"].map(|id| MailId::parse(id).unwrap()).into();
    let delivery = DeliveryId::new("dl_1");
    assert!(step(&mut world, MailFact::Leased { delivery: delivery.clone(), runtime: api, letters: letters.clone() }));
    assert!(step(&mut world, MailFact::Started { delivery: delivery.clone() }));
    assert!(step(&mut world, MailFact::Confirmed { letters: vec![letters[0].clone()], by: Receipt::Hook }));
    assert!(step(&mut world, MailFact::Returned { delivery, why: "a draft".to_owned() }));
    assert_eq!((stage_of(&world, "one"), stage_of(&world, "two")), ("confirmed", "unconfirmed"));
    assert_eq!(due(&world), Vec::<String>::new());
}

/// What a long-lived series is followed by does not depend on what is remembered of it.
#[test]
fn a_series_that_was_taken_back_stays_so_when_it_is_forgotten() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    recurring(&mut world, &api);
    let first = MailId::parse("r_note").unwrap();
    let delivery = DeliveryId::new("dl_1");
    let leased = MailFact::Leased { delivery: delivery.clone(), runtime: api.clone(), letters: vec![first.clone()] };
    assert!(step(&mut world, leased) && step(&mut world, MailFact::Started { delivery }));
    let cancelled = world.engine.cancel_mail(&MailId::parse("r_note_n2").unwrap(), "by me").unwrap();
    world.apply_at(world.engine.now(), cancelled);
    for n in 0..600 {
        let other = Letter { timeout: Some(Span(1)), ..letter(&world, &format!("other_{n}"), person(), &api) };
        post(&mut world, other, None).unwrap();
        pass(&mut world, Span::seconds(2));
    }
    assert_eq!((stage_of(&world, "r_note"), stage_of(&world, "r_note_n2")), ("started", "unknown"));
    assert_eq!(repeat(&mut world), 0);
}

#[test]
fn ids_that_are_made_of_long_ones_are_told_apart() {
    let long = "x".repeat(64);
    let [a, b] = ["a", "b"].map(|end| MailId::made_of(&format!("done_{}{end}", &long[1..])));
    assert_ne!(a, b);
    for id in [&a, &b, &MailId::made_of("späte Grüße"), &MailId::made_of("")] {
        assert_eq!(MailId::parse(id.as_str()).as_ref(), Some(id));
    }
    assert_eq!(MailId::made_of("done_m_1").as_str(), "done_m_1");
    // A series of such a name has as many ids as it has messages.
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let mut next =
        Letter { every: Some(Span(1)), not_before: Some(Timestamp(1)), ..letter(&world, &long, person(), &api) };
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..100 {
        assert!(ids.insert(next.id.clone()), "{}", next.id);
        next = next.next(Timestamp(1), |_| false).unwrap();
        assert_eq!(next.first().as_str(), long);
    }
}

#[test]
fn ids_that_are_made_of_others_are_known() {
    for id in ["done_m_1", "late_", "look_x", "lost_m_1_r2", "m_1_n2", "m_1_r10", "_n0"] {
        assert!(MailId::parse(id).unwrap().is_reserved(), "{id}");
    }
    for id in ["m_1", "done", "lately_1", "done-1", "m_n", "m_r2d2", "m_n2-rt_x", "n2", "m_02", "step_x3"] {
        assert!(!MailId::parse(id).unwrap().is_reserved(), "{id}");
    }
}

/// A log of before may hold messages whose ids were chosen so. They are in the way of nothing.
#[test]
fn what_has_a_made_id_by_choice_is_passed_over() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    for id in ["m_n2", "m_n3", "done_asked"] {
        let chosen = letter(&world, id, person(), &api);
        post(&mut world, chosen, None).unwrap();
    }
    let first = reminder(&world, "m", person(), &api, Some(Span::minutes(1)));
    post(&mut world, first, Some(Span(1))).unwrap();
    pass(&mut world, Span(1));
    deliver(&mut world, "m", &api);
    assert_eq!(repeat(&mut world), 1);
    assert_eq!((stage_of(&world, "m_n4"), repeat(&mut world)), ("queued", 0));

    let wanted = Wanted { on_delivery: true, after: None };
    let asked = Letter { wanted, ..letter(&world, "asked", agent(&web), &api) };
    post(&mut world, asked, None).unwrap();
    deliver(&mut world, "asked", &api);
    let mut notices = world.engine.notices();
    assert_eq!(notices.len(), 1);
    let notice = notices.remove(0).letter;
    assert_eq!(notice.id.as_str(), "done_asked_2");
    post(&mut world, notice, None).unwrap();
    assert_eq!(world.engine.notices(), [], "once");
}

/// Two who choose the same id for the same words have written two messages: the second is told so, and not that it went.
#[test]
fn an_id_belongs_to_whoever_chose_it_first() {
    let mut world = World::default();
    let [api, web, job] = idle_agents(&mut world);
    for from in [agent(&web), agent(&web)] {
        let first = letter(&world, "fin", from, &api);
        post(&mut world, first, None).unwrap();
    }
    for from in [agent(&job), person()] {
        let second = letter(&world, "fin", from, &api);
        assert!(post(&mut world, second, None).unwrap_err().contains("another message"));
    }
}

/// The same message again is known by its id, however it was to be delivered; whatever else it says or is, it is another.
#[test]
fn an_id_belongs_to_one_message() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let first = letter(&world, "fin", person(), &api);
    post(&mut world, first.clone(), None).unwrap();
    let urgent = Letter { mode: Mode::Urgent, timeout: Some(Span::minutes(1)), ..first.clone() };
    post(&mut world, urgent, None).unwrap();
    assert_eq!(world.engine.state().mail.get(&first.id).unwrap().letter, first, "it stays as it was");
    for other in [
        Letter { digest: Letter::digest_of("other words"), ..first.clone() },
        Letter { to: web, ..first.clone() },
        Letter { category: Category::Reminder, ..first.clone() },
    ] {
        assert!(post(&mut world, other, None).unwrap_err().contains("another message"));
    }
}

#[test]
fn what_is_over_is_not_taken_back() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let late = Letter { timeout: Some(Span(1)), ..letter(&world, "late", person(), &api) };
    post(&mut world, late, None).unwrap();
    pass(&mut world, Span(1));
    let id = MailId::parse("late").unwrap();
    assert_eq!(world.engine.state().mail.get(&id).unwrap().stage, Stage::Ended { how: Ended::Expired });
    assert!(world.engine.cancel_mail(&id, "by me").is_err());
}

/// Whoever makes up what it answers begins no thread of its own by that. What was forgotten can be answered, within what an agent may
/// write to another.
#[test]
fn what_was_never_said_is_not_answered() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let answer = |world: &World, id: &str, to: &str| {
        let answer = Letter { reply_to: MailId::parse(to), ..letter(world, id, agent(&web), &api) };
        world.engine.post(Limits::default(), NewLetter { letter: answer, nonce: "k7f3".to_owned(), delay: None })
    };
    let first = letter(&world, "first", agent(&api), &web);
    post(&mut world, first, None).unwrap();
    assert!(answer(&world, "a", "first").is_ok());
    let refused = answer(&world, "b", "made-up").unwrap_err();
    assert_eq!((refused.code, refused.code.name()), (RefusalCode::MessageNotFound, "E_REF_NOT_FOUND"));
    // So many that are over are remembered. With the next one, nobody can say any more what there was.
    for n in 0..=500 {
        let over = letter(&world, &format!("over_{n}"), person(), &api);
        let id = over.id.clone();
        post(&mut world, over, None).unwrap();
        let known = answer(&world, "b", "over_0").is_ok();
        assert!(known, "{n}");
        assert_eq!(answer(&world, "b", "made-up").is_ok(), n >= 500, "{n}");
        let cancelled = world.engine.cancel_mail(&id, "by me").unwrap();
        world.apply_at(world.engine.now() + Span::minutes(11), cancelled);
    }
    assert!(world.engine.state().mail.get(&MailId::parse("over_0").unwrap()).is_none());
    for n in 0..6 {
        let made_up =
            Letter { reply_to: MailId::parse(&format!("made_up_{n}")), ..letter(&world, "a", agent(&web), &api) };
        let made_up = Letter { id: MailId::parse(&format!("a_{n}")).unwrap(), ..made_up };
        post(&mut world, made_up, None).unwrap();
    }
    assert_eq!(answer(&world, "a_6", "made-up").unwrap_err().code, RefusalCode::RateLimited);
}

/// Answers of many agents, none of whom writes to one other too often, come to an end; a person lets them go on.
#[test]
fn a_thread_of_agents_comes_to_an_end() {
    let mut world = World::default();
    let agents: [RuntimeId; 7] = idle_agents(&mut world);
    let first = letter(&world, "t_0", person(), &agents[0]);
    post(&mut world, first, None).unwrap();
    // Each answers the first message, to somebody else each time, so that neither pairs nor chains are long.
    let answer = |world: &mut World, n: usize| {
        let (from, to) = (n % 7, (n % 7 + 1 + n / 7) % 7);
        let reply_to = Some(MailId::parse("t_0").unwrap());
        let answer = Letter { reply_to, ..letter(world, &format!("a_{n}"), agent(&agents[from]), &agents[to]) };
        post(world, answer, None)
    };
    for n in 0..12 {
        answer(&mut world, n).unwrap();
    }
    let refused = answer(&mut world, 12).unwrap_err();
    assert!(refused.contains("in the thread of t_0"), "{refused}");
    pass(&mut world, Span(1));
    let word = Letter { reply_to: MailId::parse("a_3"), ..letter(&world, "word", person(), &agents[0]) };
    post(&mut world, word, None).unwrap();
    answer(&mut world, 13).unwrap();
    // Time lets it go on as well.
    for n in 14..25 {
        answer(&mut world, n).unwrap();
    }
    answer(&mut world, 25).unwrap_err();
    pass(&mut world, Span::minutes(10));
    answer(&mut world, 26).unwrap();
}

#[test]
fn people_may_write_to_whom_agents_may_not_and_agents_to_themselves() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    let policy = MailPolicy { all_may: false, ..MailPolicy::default() };
    let may = |world: &World, from: Party, to: &RuntimeId| {
        world.engine.may_correspond(&policy, &letter(world, "m", from, to)).map_err(|refusal| refusal.code)
    };
    assert_eq!(may(&world, person(), &api), Ok(()));
    assert_eq!(may(&world, agent(&api), &api), Ok(()));
    assert_eq!(may(&world, agent(&web), &api), Err(RefusalCode::NotAllowed));
    // One that is over is nobody of whom a rule speaks by name or kind.
    world.apply(Fact::RuntimeEnded { runtime: web.clone(), how: Ending::Exited });
    assert_eq!(may(&world, agent(&web), &api), Err(RefusalCode::NotAllowed));
}

/// The calls that went out, as the daemon sends them.
fn calls(world: &mut World) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for intent in world.engine.outbox() {
        let Intent::Notify { kind, .. } = &intent;
        kinds.push(kind.name());
        world.apply_at(world.engine.now(), Fact::IntentDone { intent: intent.id().clone() });
    }
    kinds
}

/// What waits for long is told of once, to who sent it and to the person, and no more when it was delivered.
#[test]
fn a_message_that_waits_for_long_is_told_of_once() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    world.say(&api, "running");
    let waits = letter(&world, "waits", agent(&web), &api);
    post(&mut world, waits, None).unwrap();
    let queued_at = world.engine.now();
    let nobody: Vec<&str> = Vec::new();
    pass(&mut world, Span(10 * 60_000 - 1));
    assert_eq!((calls(&mut world), world.engine.notices().len()), (nobody.clone(), 0));
    // Decided by a deadline, which nobody has to guess.
    assert_eq!(world.engine.next_deadline(), Some(queued_at + Span::minutes(10)));
    pass(&mut world, Span(1));
    assert_eq!(calls(&mut world), ["mail_waiting"]);
    let row = |world: &World| waiting(&world.engine).iter().map(|waits| waits.kind.name()).collect::<Vec<_>>();
    assert_eq!(row(&world), ["mail_waiting"]);
    let mut notices = world.engine.notices();
    assert_eq!(notices.len(), 1);
    let notice = notices.remove(0);
    assert_eq!((notice.letter.id.as_str(), &notice.letter.to), ("late_waits", &web));
    assert!(notice.text.starts_with("Message to api ("), "{}", notice.text);
    assert!(notice.text.contains("was not delivered in 10m: waiting for idle"), "{}", notice.text);
    // Not told yet: a daemon that is started anew has it still to say.
    world.engine =
        Engine::restore(serde_json::from_str(&serde_json::to_string(world.engine.state()).unwrap()).unwrap());
    assert_eq!(world.engine.notices().len(), 1);
    post(&mut world, notice.letter, None).unwrap();
    // Told: also when the notice itself is long forgotten, or waits for long.
    for n in 0..600 {
        let other = Letter { timeout: Some(Span(1)), ..letter(&world, &format!("other_{n}"), person(), &web) };
        post(&mut world, other, None).unwrap();
        pass(&mut world, Span::seconds(2));
    }
    pass(&mut world, Span::hours(10));
    assert_eq!((calls(&mut world), world.engine.notices().len()), (nobody.clone(), 0));
    // Another one that is late is the same call; once it was delivered, the next is a new one.
    let second = letter(&world, "second", person(), &api);
    post(&mut world, second, None).unwrap();
    pass(&mut world, Span::hours(1));
    assert_eq!(calls(&mut world), nobody);
    for id in ["waits", "second"] {
        let cancelled = world.engine.cancel_mail(&MailId::parse(id).unwrap(), "by me").unwrap();
        world.apply_at(world.engine.now(), cancelled);
    }
    assert_eq!(row(&world), nobody);
    let third = letter(&world, "third", person(), &api);
    post(&mut world, third, None).unwrap();
    pass(&mut world, Span::minutes(10));
    assert_eq!((calls(&mut world), row(&world)), (vec!["mail_waiting"], vec!["mail_waiting"]));
    // A person who knows is left alone.
    let facts = world.engine.decide(&Command::Acknowledge { runtime: api, nudge_seq: None }).unwrap();
    facts.into_iter().for_each(|fact| world.apply_at(world.engine.now(), fact));
    assert_eq!(row(&world), nobody);
}

/// A call that was acknowledged does not call again because messages wait, nor the other way round.
#[test]
fn what_waits_for_a_person_and_what_waits_for_the_agent_are_two_calls() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    world.say(&api, "waiting_approval");
    assert_eq!(calls(&mut world), ["approval"]);
    let acknowledge = |world: &mut World| {
        let facts = world.engine.decide(&Command::Acknowledge { runtime: api.clone(), nudge_seq: None }).unwrap();
        facts.into_iter().for_each(|fact| world.apply_at(world.engine.now(), fact));
    };
    acknowledge(&mut world);
    let waits = letter(&world, "waits", person(), &api);
    post(&mut world, waits, None).unwrap();
    pass(&mut world, Span::minutes(10));
    assert_eq!(calls(&mut world), ["mail_waiting"]);
    let kinds: Vec<_> = waiting(&world.engine).iter().map(|waits| waits.kind.name()).collect();
    assert_eq!(kinds, ["mail_waiting"]);
}

/// A delivery of the message that waits for somebody's text is tried and not made.
fn try_in_vain(world: &mut World, runtime: &RuntimeId, n: usize, in_between: impl Fn(&World)) {
    let (delivery, runtime) = (DeliveryId::new(format!("dl_{n}")), runtime.clone());
    let letters = vec![MailId::parse("waits").unwrap()];
    in_between(world);
    assert!(step(world, MailFact::Leased { delivery: delivery.clone(), runtime, letters }));
    in_between(world);
    assert!(step(world, MailFact::Started { delivery: delivery.clone() }));
    in_between(world);
    let (digest, again) = ("txt_1".to_owned(), Span::seconds(5));
    assert!(step(world, MailFact::InTheWay { delivery: delivery.clone(), digest, again, stuck: None }));
    assert!(step(world, MailFact::Returned { delivery, why: "somebody writes".to_owned() }));
    in_between(world);
    pass(world, Span::seconds(5));
}

/// Each try to deliver a message that is late is the same call, and who knows of it is left alone.
#[test]
fn a_message_that_is_late_is_so_while_its_delivery_is_tried() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let waits = letter(&world, "waits", person(), &api);
    post(&mut world, waits, None).unwrap();
    try_in_vain(&mut world, &api, 0, |_| ());
    pass(&mut world, Span::minutes(10));
    assert_eq!(calls(&mut world), ["mail_waiting"]);
    let nudges = |world: &World| world.engine.state().topology.live(&api).unwrap().attention.nudge_seq;
    let first = nudges(&world);
    for n in 1..4 {
        try_in_vain(&mut world, &api, n, |world| {
            let kinds: Vec<_> = waiting(&world.engine).iter().map(|waits| waits.kind.name()).collect();
            assert_eq!((kinds, nudges(world)), (vec!["mail_waiting"], first));
        });
        assert_eq!(calls(&mut world), Vec::<&str>::new());
    }
    let facts = world.engine.decide(&Command::Acknowledge { runtime: api.clone(), nudge_seq: None }).unwrap();
    facts.into_iter().for_each(|fact| world.apply_at(world.engine.now(), fact));
    try_in_vain(&mut world, &api, 4, |world| assert!(waiting(&world.engine).is_empty()));
    let cancelled = world.engine.cancel_mail(&MailId::parse("waits").unwrap(), "by me").unwrap();
    world.apply_at(world.engine.now(), cancelled);
    assert!(!world.engine.state().topology.live(&api).unwrap().attention.calls_for_mail());
}

/// What was not delivered is counted also while its delivery is tried, and the agent is as idle as before.
#[test]
fn a_message_waits_in_its_place_while_its_delivery_is_tried() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    for id in ["waits", "second"] {
        let letter = letter(&world, id, person(), &api);
        post(&mut world, letter, None).unwrap();
    }
    let look = |world: &World| {
        let entry = |id: &str| world.engine.state().mail.get(&MailId::parse(id).unwrap()).unwrap();
        let place = |id: &str| world.engine.mail_position(&api, &MailId::parse(id).unwrap());
        assert_eq!((place("waits"), place("second")), (Some(1), Some(2)));
        assert_eq!((world.engine.state().mail.undelivered(&api).len(), world.engine.is_idle(&api)), (2, true));
        assert_eq!(world.engine.state().mail.given_last(&api), None, "nobody can say that it was");
        world.engine.mail_hindrance(entry("waits"))
    };
    // Whoever is given it next does not wait for the delivery that is its own.
    try_in_vain(&mut world, &api, 1, |world| {
        let in_the_way = world.engine.state().mail.boxes[&api].draft.is_some();
        assert_eq!(look(world), in_the_way.then_some(Hindrance::Draft));
    });
    // The text that was in the way is what it waits for, also while that is looked at again.
    try_in_vain(&mut world, &api, 2, |world| {
        let is_tried = world.engine.state().mail.boxes[&api].retry_at.is_none();
        assert!(look(world) == Some(Hindrance::Draft) || is_tried);
    });
    let delivery = DeliveryId::new("dl_3");
    let letters = vec![MailId::parse("waits").unwrap()];
    step(&mut world, MailFact::Leased { delivery: delivery.clone(), runtime: api.clone(), letters });
    step(&mut world, MailFact::Started { delivery: delivery.clone() });
    assert_eq!(look(&world), Some(Hindrance::Draft));
    step(&mut world, MailFact::Submitted { delivery, channel: "tmux".to_owned(), evidence: "seen".to_owned() });
    let mail = &world.engine.state().mail;
    assert_eq!(
        (mail.undelivered(&api).len(), world.engine.mail_position(&api, &MailId::parse("waits").unwrap())),
        (1, None)
    );
    assert_eq!(mail.given_last(&api).unwrap().letter.id.as_str(), "waits");
    busy(&mut world, &api, Span::minutes(1));
    assert!(!world.engine.is_idle(&api));
}

/// Mail that does not reach an agent is worth more than that its turn is done, and less than what keeps it from going on.
#[test]
fn mail_that_waits_for_long_is_not_hidden_by_a_turn_that_is_done() {
    let mut world = World::default();
    let [api, web] = idle_agents(&mut world);
    world.say(&api, "running");
    world.say(&api, "completed");
    let waits = letter(&world, "waits", person(), &api);
    post(&mut world, waits, None).unwrap();
    try_in_vain(&mut world, &api, 0, |_| ());
    let shown = |world: &World| {
        let first = waiting(&world.engine).iter().map(|waits| waits.kind.name()).collect::<Vec<_>>();
        let attention = &world.engine.state().topology.live(&api).unwrap().attention;
        (first, attention.standing().map(|kind| kind.name()))
    };
    assert_eq!(shown(&world), (vec!["completion"], Some("completion")));
    pass(&mut world, Span::minutes(10));
    world.say(&api, "running");
    world.say(&api, "completed");
    assert_eq!(shown(&world), (vec!["mail_waiting"], Some("mail_waiting")));
    // Whoever else is only done comes after that, and who asks before.
    world.say(&web, "running");
    world.say(&web, "completed");
    assert_eq!(shown(&world).0, ["mail_waiting", "completion"]);
    world.say(&api, "waiting_approval");
    assert_eq!(shown(&world), (vec!["approval", "completion"], Some("approval")));
    // A turn that is done after a person knew of the mail is news of its own.
    let facts = world.engine.decide(&Command::Acknowledge { runtime: api.clone(), nudge_seq: None }).unwrap();
    facts.into_iter().for_each(|fact| world.apply_at(world.engine.now(), fact));
    world.say(&api, "running");
    world.say(&api, "completed");
    assert_eq!(shown(&world), (vec!["completion", "completion"], Some("completion")));
}

#[test]
fn nobody_is_told_where_nobody_wants_to_be() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    world.say(&api, "running");
    let policy = Policy { mail_alarm: Span(0), ..Policy::default() };
    world.apply(Fact::PolicySet { policy });
    let waits = letter(&world, "waits", person(), &api);
    post(&mut world, waits, None).unwrap();
    pass(&mut world, Span::hours(24));
    assert_eq!(calls(&mut world), Vec::<&str>::new());
}

/// Each step of each message is told once, in order, and can be asked for again by whoever was away.
#[test]
fn every_step_is_told() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let one = letter(&world, "one", person(), &api);
    let told = world.heard(|world| post(world, one, None).unwrap());
    assert_eq!(told, ["one queued"]);
    let since = world.engine.state().seq;
    let (delivery, letters) = (DeliveryId::new("dl_1"), vec![MailId::parse("one").unwrap()]);
    let told = world.heard(|world| {
        let leased = MailFact::Leased { delivery: delivery.clone(), runtime: api.clone(), letters: letters.clone() };
        assert!(step(world, leased));
        assert!(step(world, MailFact::Started { delivery: delivery.clone() }));
        assert!(step(world, MailFact::Unconfirmed { delivery, why: "nobody knows".to_owned() }));
        assert!(step(world, MailFact::Confirmed { letters, by: Receipt::Hook }));
    });
    assert_eq!(told, ["one leased", "one started", "one unconfirmed", "one confirmed"]);
    let missed: Vec<_> = world.engine.state().mail.steps_after(since).iter().map(|step| step.step.to.clone()).collect();
    assert_eq!(missed, ["leased", "started", "unconfirmed", "confirmed"]);
    // What time alone does is told too.
    let late = Letter { timeout: Some(Span(1)), ..letter(&world, "late", person(), &api) };
    let told = world.heard(|world| {
        post(world, late, None).unwrap();
        pass(world, Span(1));
    });
    assert_eq!(told, ["late queued", "late expired"]);
}

/// Leases and submits what is due, as whoever types it does. Gives what was typed together.
fn typed(world: &mut World, number: usize) -> Vec<String> {
    let Some(due) = world.engine.mail_due(10).into_iter().next() else { return Vec::new() };
    let (delivery, together) = (DeliveryId::new(format!("dl_{number}")), due.letters.iter().map(ToString::to_string));
    let together = together.collect();
    let (runtime, letters) = (due.runtime, due.letters);
    assert!(step(world, MailFact::Leased { delivery: delivery.clone(), runtime, letters }));
    assert!(step(world, MailFact::Started { delivery: delivery.clone() }));
    assert!(step(world, MailFact::Submitted { delivery, channel: "tmux".to_owned(), evidence: String::new() }));
    together
}

/// F61: what is queued with a command would make it a part of a prompt.
#[test]
fn a_command_is_typed_alone_and_in_its_turn() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    for id in ["m_1", "m_2", "compact", "clear", "m_3"] {
        let command = ["compact", "clear"].contains(&id);
        let letter = Letter { command, ..letter(&world, id, person(), &api) };
        post(&mut world, letter, None).unwrap();
    }
    let turns: Vec<_> = (0..5).map(|number| typed(&mut world, number)).collect();
    assert_eq!(turns, [vec!["m_1", "m_2"], vec!["compact"], vec!["clear"], vec!["m_3"], vec![]]);
    assert_eq!(stage_of(&world, "m_1"), "submitted", "it may be spoken of yet");
    assert_eq!(stage_of(&world, "compact"), "unconfirmed", "nobody will ever speak of it");
}

/// A hook gives words: a command and what is to come after it wait for the keys.
#[test]
fn a_hook_is_given_what_comes_before_a_command() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let opening = Opening::TurnEnd { background: 0, answered: 0 };
    for (id, command) in [("m_1", false), ("compact", true), ("m_2", false)] {
        let letter = Letter { command, ..letter(&world, id, person(), &api) };
        post(&mut world, letter, None).unwrap();
    }
    let at = |world: &World| world.engine.mail_due_at(&api, opening).map(|due| due.letters);
    assert_eq!(at(&world), Some(vec![MailId::parse("m_1").unwrap()]));
    let cancelled = world.engine.cancel_mail(&MailId::parse("m_1").unwrap(), "by me").unwrap();
    world.apply(cancelled);
    assert_eq!(at(&world), None);
}

/// What somebody wanted an agent to run then is not run by whoever goes on with its conversation.
#[test]
fn a_command_ends_with_its_agent() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let letter = Letter { command: true, ..letter(&world, "clear", person(), &api) };
    post(&mut world, letter, None).unwrap();
    world.apply(Fact::RuntimeEnded { runtime: api, how: Ending::Exited });
    let entry = world.engine.state().mail.get(&MailId::parse("clear").unwrap()).unwrap();
    assert_eq!((entry.stage.name(), &entry.stranded), ("dead", &None));
}

/// What works in the background keeps nothing back that is important, whether it is to be read or to be run; a turn keeps a command back.
#[test]
fn what_is_typed_asks_for_as_much_rest_as_it_waited_for() {
    let mut world = World::default();
    let [api] = idle_agents(&mut world);
    let target = world.engine.state().topology.runtimes[&api].target.clone();
    let event = signal(target, Some(api.clone()), 1_000, Signal::Background { count: 1 });
    world.apply(Fact::Signal(Box::new(event)));
    let patient = letter(&world, "patient", person(), &api);
    let important = Letter { mode: Mode::Important, ..patient.clone() };
    let (urgent, command) =
        (Letter { mode: Mode::Urgent, ..patient.clone() }, Letter { command: true, ..important.clone() });
    for (letters, rest) in [
        (vec![&important, &patient], Some(Mode::Sequential)),
        (vec![&important], None),
        (vec![&command], Some(Mode::Important)),
        (vec![&urgent, &patient], None),
    ] {
        assert_eq!(rest_for(letters.iter().copied()), rest, "{letters:#?}");
    }
    let rests = |world: &World| Mode::ALL.map(|mode| world.engine.is_at_rest(&api, mode));
    assert_eq!(rests(&world), [false, true, true]);
    world.say(&api, "running");
    assert_eq!(rests(&world), [false, false, true]);
}
