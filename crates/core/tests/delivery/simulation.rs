//! Random days in the life of the post, under a clock that is made up (I1, I2, I5, I12, I25).
//!
//! `AGTMUX_SEEDS` sets how many (150 unless given), `AGTMUX_SEED` runs one of them alone. What fails is told with its seed and the
//! fewest deeds that still make it fail.

use std::collections::{BTreeMap, BTreeSet};

use agtmux_core::engine::{Engine, EngineState};
use agtmux_core::event::Fact;
use agtmux_core::mail::{Category, Ended, Entry, Letter, MailId, Mode, Party, Receipt, Stage, Wanted};
use agtmux_core::time::{Span, Timestamp};
use fastrand::Rng;

use crate::agent::{COMMAND, Hook, Point};
use crate::courier::Courier;
use crate::server::Server;
use crate::world::{Act, World};

/// Which agents are in the wrapper, which of them read what their hooks print, and which have a server of their own.
const AGENTS: [bool; 6] = [true, true, true, false, false, true];
const READS: [bool; 6] = [false, false, true, true, false, true];
const SERVES: [bool; 6] = [false, false, false, false, true, true];

/// What somebody does, or what befalls them.
#[derive(Clone, Debug)]
enum Deed {
    Post {
        pane: usize,
        from: Option<usize>,
        mode: Mode,
        timeout: Option<i64>,
        delay: Option<i64>,
        every: bool,
        command: bool,
    },
    Again(usize),
    Cancel(usize),
    /// Whatever is possible, by number.
    Usual(usize),
    Refuse(usize),
    Leave(usize),
    Lose(usize),
    /// A person gives an agent something to do, leaves a text in its composer, or sends it.
    Work(usize),
    Write(usize),
    Send(usize),
    /// An agent has used a tool.
    Tool(usize),
    /// The hook that an agent waits for fails, in one of three ways.
    Fail {
        pane: usize,
        how: u8,
    },
    /// An agent's server fails, in one of five ways.
    FailServer {
        pane: usize,
        how: u8,
    },
    /// An agent is given a text that only looks like a message.
    Forge {
        pane: usize,
        message: usize,
    },
    KillDaemon,
    KillAgent(usize),
    Respawn(usize),
    Wait(i64),
    /// The machine sleeps: nobody looks at the clock meanwhile.
    Suspend(i64),
    /// The machine's clock is set while no daemon runs.
    SetClock(i64),
    /// What is not synced is gone, and so are all agents.
    PowerCut,
}

fn deed(dice: &mut Rng) -> Deed {
    let pane = dice.usize(0..AGENTS.len());
    match dice.u32(0..1_000) {
        0..120 => Deed::Post {
            pane,
            from: dice.bool().then(|| dice.usize(0..AGENTS.len())),
            mode: match dice.u8(0..6) {
                0 => Mode::Urgent,
                1 | 2 => Mode::Important,
                _ => Mode::Sequential,
            },
            timeout: (dice.u8(0..4) == 0).then(|| dice.i64(1..60_000)),
            delay: (dice.u8(0..4) == 0).then(|| dice.i64(0..120_000)),
            every: dice.u8(0..4) == 0,
            command: dice.u8(0..6) == 0,
        },
        120..135 => Deed::Again(dice.usize(0..50)),
        135..160 => Deed::Cancel(dice.usize(0..50)),
        160..180 => Deed::Refuse(pane),
        180..190 => Deed::Leave(pane),
        190..200 => Deed::Lose(pane),
        200..220 => Deed::Forge { pane, message: dice.usize(0..50) },
        220..245 => Deed::KillDaemon,
        245..255 => Deed::KillAgent(pane),
        255..285 => Deed::Respawn(pane),
        285..345 => Deed::Wait(dice.i64(0..90_000)),
        345..355 => Deed::Suspend(dice.i64(0..3_600_000)),
        355..370 => Deed::SetClock(dice.i64(-3_600_000..600_000)),
        370..371 => Deed::PowerCut,
        371..390 | 445..465 | 490..510 => Deed::Work(pane),
        390..400 => Deed::Write(pane),
        400..405 => Deed::Send(pane),
        405..430 => Deed::Tool(pane),
        430..445 => Deed::Fail { pane, how: dice.u8(0..3) },
        465..490 => Deed::FailServer { pane, how: dice.u8(0..5) },
        _ => Deed::Usual(dice.usize(0..1_000)),
    }
}

/// The world, and what is known of it that the world does not know.
struct Day {
    world: World,
    /// The state as of the last event that is on the disk for sure, on days on which that matters.
    synced: Option<EngineState>,
    /// Since when the daemon could have looked at the clock.
    awake_since: i64,
    released: BTreeSet<MailId>,
    untimely: Vec<String>,
    ends: BTreeMap<MailId, Ended>,
}

impl Day {
    fn new(has_power_cuts: bool) -> Self {
        let mut world = World::new(&AGENTS);
        for (agent, (reads, serves)) in world.agents.iter_mut().zip(READS.into_iter().zip(SERVES)) {
            (agent.reads, agent.server) = (reads, serves.then(Server::default));
        }
        let (synced, awake_since) = (has_power_cuts.then(|| world.engine.state().clone()), world.now);
        Self { world, synced, awake_since, released: BTreeSet::new(), untimely: Vec::new(), ends: BTreeMap::new() }
    }

    fn play(&mut self, deed: &Deed) -> Result<(), String> {
        let world = &mut self.world;
        let alive = |world: &World, pane: usize| world.agents[pane].is_alive;
        match deed {
            Deed::Post { pane, from, mode, timeout, delay, every, command } if world.is_up => {
                let letter = world.letter(&format!("m_{}", world.seq), *pane);
                let agent = from.filter(|from| from != pane).map(|from| world.agents[from].runtime());
                let from = agent.map(|runtime| Party::Agent { runtime, name: "agent".to_owned() });
                let command = *command && from.is_none();
                // What is run again and again could not be told apart.
                let every = delay.filter(|_| *every && !command).map(|delay| Span(delay.max(1_000)));
                let wanted = Wanted { on_delivery: from.is_some(), after: from.as_ref().map(|_| Span::seconds(20)) };
                let category = if delay.is_some() { Category::Reminder } else { Category::Mail };
                let from = from.unwrap_or_else(|| letter.from.clone());
                let timeout = timeout.map(Span);
                let mode = *mode;
                let preview = if command { format!("{COMMAND}{}", letter.id) } else { letter.preview };
                let letter = Letter { from, wanted, every, timeout, category, mode, command, preview, ..letter };
                world.post(letter, delay.map(Span));
                self.sync();
            }
            Deed::Again(which) if world.is_up => {
                let letter = world.accepted.get(*which).cloned();
                // One that nobody remembers any more would be another message.
                if let Some(letter) = letter.filter(|letter| world.engine.state().mail.get(&letter.id).is_some()) {
                    let before = world.accepted.len();
                    world.post(letter, None);
                    if world.accepted.len() != before {
                        return Err("accepted twice".to_owned());
                    }
                }
            }
            Deed::Cancel(which) if world.is_up => {
                let letter = world.accepted.get(*which).map(|letter| letter.id.clone());
                if let Some(Ok(fact)) = letter.map(|id| world.engine.cancel_mail(&id, "me")) {
                    world.log(fact);
                }
            }
            Deed::Usual(number) => {
                let acts = world.acts();
                if let Some(act) = acts.get(number % acts.len().max(1)) {
                    world.act(act);
                    self.after(act);
                }
            }
            Deed::Refuse(pane) if alive(world, *pane) && !world.agents[*pane].socket.is_empty() => {
                world.act(&Act::Refuse(*pane));
            }
            Deed::Leave(pane) if alive(world, *pane) && world.agents[*pane].is_wrapped => world.act(&Act::Leave(*pane)),
            Deed::Lose(pane)
                if matches!(world.agents[*pane].hooks.front(), Some(Hook::Prompt { .. } | Hook::Record { .. })) =>
            {
                world.act(&Act::LoseHook(*pane));
            }
            Deed::Work(pane) if alive(world, *pane) && world.agents[*pane].waiting.is_none() => {
                world.agents[*pane].work("go".to_owned());
            }
            Deed::Write(pane) | Deed::Send(pane) if alive(world, *pane) => {
                let text = format!("half a thought {}", world.seq);
                let runtime = world.agents[*pane].runtime();
                // Who sends a text in the moment in which it is put aside has sent it, and finds it in the composer again.
                let is_aside = world.engine.state().mail.put_aside().any(|(of, _)| *of == runtime);
                let agent = &mut world.agents[*pane];
                match (deed, agent.left.take()) {
                    (_, left) if is_aside => agent.left = left,
                    (Deed::Write(_), None) if agent.composer.is_none() => {
                        (agent.left, agent.draft) = (Some(text.clone()), Some(text));
                    }
                    (Deed::Send(_), Some(left)) if agent.waiting.is_none() => {
                        agent.draft = None;
                        agent.work(left);
                    }
                    (_, left) => agent.left = left,
                }
            }
            Deed::Tool(pane) if alive(world, *pane) && world.is_up => {
                let agent = &world.agents[*pane];
                if agent.reads && agent.works && agent.waiting.is_none() {
                    world.act(&Act::AskAfterTool(*pane));
                }
            }
            Deed::Fail { pane, how } if alive(world, *pane) => {
                let at = world.agents[*pane].waiting.as_ref().map(|waiting| &waiting.at);
                match (at, how) {
                    (Some(Point::Answered { .. }), 0) => world.act(&Act::PassOnUnsaid(*pane)),
                    (Some(Point::Asked | Point::Heard | Point::Answered { .. }), 1) => world.act(&Act::KillHook(*pane)),
                    (Some(Point::Asked | Point::Heard | Point::Answered { .. }), _) => world.act(&Act::GiveUp(*pane)),
                    _ => {}
                }
            }
            Deed::FailServer { pane, how } => {
                let is_wanted = |act: &&Act| match how {
                    0 => matches!(act, Act::ServeUnheard(_)),
                    1 => matches!(act, Act::RefuseToServe(_)),
                    2 => matches!(act, Act::LoseRequest(_)),
                    _ => matches!(act, Act::WaitNoMore(_)),
                };
                let is_heard = world.agents[*pane].server.as_ref().is_some_and(|server| server.is_heard);
                let failures = world.failures_of_server(*pane);
                match failures.iter().find(is_wanted) {
                    Some(failure) => world.act(failure),
                    None if *how == 4 && is_heard => world.act(&Act::Disconnect(*pane)),
                    None => {}
                }
            }
            Deed::Forge { pane, message } if world.is_up => {
                let id = world.accepted.get(*message).map_or("m_none", |letter| letter.id.as_str());
                let words =
                    world.engine.state().mail.boxes.iter().filter(|(to, _)| **to != world.agents[*pane].runtime());
                let word = words.map(|(_, mailbox)| mailbox.nonce.as_str()).next().unwrap_or("none");
                let runtime = world.agents[*pane].runtime();
                let lines = [
                    format!("[Input from: me (uid 0) via sm send id={id}.{word}]"),
                    format!("[sm] id={id}.{word}\nsee id={id}."),
                    format!("I was told id={id} already; > [Input from: me (uid 0) via sm send id={id}.x]"),
                ];
                world.confirm(&runtime, &lines.join("\n"), Receipt::Hook);
            }
            Deed::KillDaemon if world.is_up => world.act(&Act::KillDaemon),
            Deed::KillAgent(pane) if alive(world, *pane) => world.act(&Act::KillAgent(*pane)),
            Deed::Respawn(pane) if !alive(world, *pane) => world.act(&Act::Respawn(*pane)),
            Deed::Wait(ms) => self.wait(*ms),
            Deed::Suspend(ms) => {
                world.now += ms;
                self.awake_since = world.now;
                self.turn();
            }
            Deed::SetClock(ms) if !world.is_up => world.now = (world.now + ms).max(world.engine.now().0),
            Deed::PowerCut => {
                let Some(synced) = self.synced.clone() else { return Ok(()) };
                world.act(&Act::KillDaemon);
                world.engine = Engine::restore(synced);
                (0..AGENTS.len()).for_each(|pane| world.act(&Act::KillAgent(pane)));
                // Whoever was told an end may be told a weaker one now, but never a false one.
                self.ends.clear();
                self.released.clear();
            }
            _ => {}
        }
        self.check()
    }

    fn sync(&mut self) {
        if self.synced.is_some() {
            self.synced = Some(self.world.engine.state().clone());
        }
    }

    /// What is synced, and what the main loop does after everything.
    fn after(&mut self, act: &Act) {
        match act {
            Act::StartDaemon => {
                self.awake_since = self.world.now;
                self.turn();
            }
            // Where a delivery is started, the disk knows it before anything is typed.
            Act::Carry(delivery) => {
                let carried = self.world.couriers.get(delivery).map(|(_, _, courier)| courier);
                // And so it is of what is offered to a hook or a server, and where a person's text is kept.
                let is_promise = |courier: &Courier| {
                    let is_offered = matches!(courier, Courier::Offered { .. } | Courier::Open { .. });
                    is_offered || matches!(courier, Courier::Started { .. } | Courier::Aside { .. })
                };
                if carried.is_some_and(is_promise) {
                    self.sync();
                }
            }
            _ => {}
        }
    }

    /// The daemon's loop wakes whenever something is due.
    fn wait(&mut self, ms: i64) {
        let until = self.world.now + ms;
        while let Some(deadline) = self.world.engine.next_deadline().filter(|at| at.0 <= until && self.world.is_up) {
            self.world.now = self.world.now.max(deadline.0);
            self.turn();
        }
        self.world.now = until;
        self.turn();
    }

    /// A turn of the main loop: time passes, own messages are written, what is due is leased.
    fn turn(&mut self) {
        let world = &mut self.world;
        if !world.is_up {
            return;
        }
        world.log(Fact::Tick);
        let (now, before) = (Timestamp(world.now), world.accepted.len());
        for notice in world.engine.notices() {
            world.post(Letter { queued_at: now, ..notice.letter }, None);
        }
        for (_, next) in world.engine.recurring() {
            world.post(Letter { queued_at: now, ..next }, None);
        }
        // Whatever is accepted is synced, and all before it.
        if world.accepted.len() > before {
            self.sync();
        }
        self.world.act(&Act::Lease);
        self.note_times();
        let letters = self.world.engine.state().mail.letters.iter();
        let over = letters.filter(|(_, entry)| entry.stage.ended().is_some()).map(|(id, _)| id.clone());
        self.world.over.extend(over.collect::<Vec<_>>());
    }

    /// Notes whose time has come, and how late that was seen by a daemon that could have seen it.
    fn note_times(&mut self) {
        let world = &self.world;
        for entry in world.engine.state().mail.letters.values() {
            let Some(at) = entry.letter.not_before.filter(|_| entry.waits_until.is_none()) else { continue };
            if self.released.insert(entry.letter.id.clone()) && entry.stage.ended().is_none() {
                let late = world.now - at.0.max(self.awake_since).max(entry.letter.queued_at.0);
                if world.now < at.0 || late > 1_000 {
                    self.untimely.push(format!("its time came at {}, {late} ms late: {entry:?}", world.now));
                }
            }
        }
    }

    fn check(&mut self) -> Result<(), String> {
        if self.world.is_up {
            self.note_times();
        }
        if let Some(untimely) = self.untimely.pop() {
            return Err(untimely);
        }
        let world = &self.world;
        if let Some(objection) = world.objection() {
            return Err(objection);
        }
        for (id, entry) in &world.engine.state().mail.letters {
            if let (Stage::Queued, Some(at)) = (&entry.stage, entry.waits_until)
                && world.engine.next_deadline().is_none_or(|deadline| deadline > at)
            {
                return Err(format!("nobody wakes for {entry:?}"));
            }
            if let Some(end) = entry.stage.ended() {
                let before = self.ends.insert(id.clone(), end);
                let is_kept = before.is_none_or(|before| before == end || before == Ended::Unconfirmed);
                if !is_kept {
                    return Err(format!("it was {before:?}: {entry:?}"));
                }
            }
        }
        let of_a_time = |entry: &&Entry| entry.letter.every.is_some();
        let mut times = BTreeMap::new();
        for entry in world.engine.state().mail.letters.values().filter(of_a_time) {
            let base = entry.letter.id.as_str().rsplit_once("_n").map_or(entry.letter.id.as_str(), |(base, _)| base);
            if let Some(other) = times.insert((base, entry.letter.not_before), &entry.letter.id) {
                return Err(format!("{other} and {} come at the same time", entry.letter.id));
            }
        }
        Ok(())
    }

    /// Nothing goes wrong any more: everything comes to its end.
    fn settle(&mut self, dice: &mut Rng) -> Result<(), String> {
        for step in 0..20_000 {
            let every: Vec<_> = self.world.accepted.iter().filter(|letter| letter.every.is_some()).collect();
            let every: Vec<_> =
                every.into_iter().filter_map(|letter| self.world.engine.cancel_mail(&letter.id, "me").ok()).collect();
            if self.world.is_up {
                every.into_iter().for_each(|fact| self.world.log(fact));
            }
            let acts = self.world.acts();
            let Some(act) = dice.choice(&acts) else { break };
            if *act == Act::Pass {
                let until = self.world.engine.next_deadline().map_or(self.world.now, |at| at.0);
                self.wait((until - self.world.now).max(0));
            } else {
                self.world.act(act);
                self.after(act);
                self.turn();
            }
            if step % 8 == 0 {
                self.check()?;
            }
        }
        self.check()?;
        let open = self.world.accepted.iter().filter_map(|letter| self.world.engine.state().mail.get(&letter.id));
        let open: Vec<_> = open.filter(|entry| entry.stage.ended().is_none()).collect();
        match open.as_slice() {
            [] if self.world.is_over() => Ok(()),
            [] => Err(format!("a person's text is not back, or a receipt not read: {:#?}", self.world.agents)),
            open => {
                let to = open.iter().map(|entry| &entry.letter.to);
                let verdicts: Vec<_> =
                    to.map(|to| self.world.engine.state().topology.live(to).map(|to| &to.verdict)).collect();
                Err(format!("these came to no end: {open:#?}\n{verdicts:#?}\n{:#?}", self.world.agents))
            }
        }
    }
}

/// What happened on a day, in numbers.
#[derive(Debug, Default)]
struct Count {
    messages: usize,
    given: usize,
    by_hook: usize,
    by_server: usize,
    interrupted: usize,
    put_aside: usize,
    commands: usize,
}

/// Lives through some deeds. Gives what happened, or what went wrong.
fn live(deeds: &[Deed], seed: u64) -> Result<Count, String> {
    let mut day = Day::new(deeds.iter().any(|deed| matches!(deed, Deed::PowerCut)));
    for deed in deeds {
        day.play(deed)?;
    }
    day.settle(&mut Rng::with_seed(seed))?;
    let world = &day.world;
    let went_by = |way: &str| {
        let letters = world.engine.state().mail.letters.values();
        letters.filter(|entry| entry.channel.as_deref() == Some(way)).count()
    };
    Ok(Count {
        messages: world.accepted.len(),
        given: world.agents.iter().chain(&world.dead).map(|agent| agent.given.len()).sum(),
        by_hook: went_by("hook"),
        by_server: went_by("server"),
        interrupted: world.interrupted.len(),
        commands: world
            .accepted
            .iter()
            .filter(|letter| letter.command && world.pasted.contains_key(&letter.id))
            .count(),
        put_aside: world.texts.keys().filter(|id| id.as_str().starts_with("draft_")).count(),
    })
}

/// Leaves out whatever is not needed for it to fail.
fn shrunk(mut deeds: Vec<Deed>, seed: u64) -> Vec<Deed> {
    let mut size = deeds.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at + size <= deeds.len() {
            let fewer = [&deeds[..at], &deeds[at + size..]].concat();
            if live(&fewer, seed).is_err() {
                deeds = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    deeds
}

#[test]
fn no_day_loses_a_message_or_types_it_twice() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = number("AGTMUX_SEED").map_or(0..number("AGTMUX_SEEDS").unwrap_or(150), |seed| seed..seed + 1);
    let (mut all, count) = (Count::default(), seeds.end - seeds.start);
    for seed in seeds {
        let mut dice = Rng::with_seed(seed);
        let deeds: Vec<_> = (0..dice.usize(30..250)).map(|_| deed(&mut dice)).collect();
        match live(&deeds, seed) {
            Ok(day) => {
                all.messages += day.messages;
                all.given += day.given;
                all.by_hook += day.by_hook;
                all.by_server += day.by_server;
                all.interrupted += day.interrupted;
                all.put_aside += day.put_aside;
                all.commands += day.commands;
            }
            Err(_) => {
                let deeds = shrunk(deeds, seed);
                panic!("AGTMUX_SEED={seed}: {}\n{deeds:#?}", live(&deeds, seed).unwrap_err());
            }
        }
    }
    let Count { messages, given, by_hook, by_server, interrupted, put_aside, commands } = all;
    println!(
        "{count} days, {messages} messages, {given} given, {by_hook} of them by a hook and {by_server} by a server, {interrupted} after a turn was interrupted, {commands} commands, {put_aside} texts put \
         aside: none lost, none typed twice, none too early or late"
    );
    let is_loud =
        messages > given && [given, by_hook, by_server, interrupted, put_aside, commands].iter().all(|n| *n > 0);
    assert!(is_loud || count < 100, "the days are too quiet");
}
