//! Every order of steps in a small world: two messages, two crashes, one respawn (I1, I2, I5, I25); by keys, by a hook that waits, with
//! a turn that is interrupted, with a person's text in the way, and by the agent's own server.
//!
//! Two states are the same when everything that can make a difference later is the same: where each message is and for how long, what
//! couriers, wrappers and agents are about, and what is left of the faults. Times count from now, and numbers of the log do not count.

use std::hash::{DefaultHasher, Hash, Hasher};

use agtmux_core::mail::{Ended, Letter, Mode, Stage};
use agtmux_core::time::Span;
use stateright::{Checker, Model, Property};

use crate::agent::{Hook, Point};
use crate::server::Server;
use crate::world::{Act, World};

/// The world and what may still go wrong in it.
#[derive(Clone, Debug)]
struct State {
    world: World,
    posted: usize,
    crashes: u8,
    respawns: u8,
    refusals: u8,
    losses: u8,
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl State {
    fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let world = &self.world;
        let engine = world.engine.state();
        for (id, entry) in &engine.mail.letters {
            (id, entry.stage.name(), world.now - entry.since.0, &entry.letter.to, entry.interrupted).hash(state);
        }
        for (runtime, mailbox) in &engine.mail.boxes {
            let under_way = mailbox.under_way.as_ref().map(|d| (&d.id, &d.letters, d.started, d.by_hook, d.in_the_way));
            let retry = mailbox.retry_at.map(|at| at.0 - world.now);
            (runtime, &mailbox.nonce, &mailbox.queue, under_way, retry, mailbox.failures).hash(state);
            let draft = mailbox.draft.as_ref().map(|draft| (&draft.digest, world.now - draft.since.0));
            (draft, &mailbox.put_aside).hash(state);
        }
        for runtime in engine.topology.runtimes.values() {
            let verdict = &runtime.verdict;
            let is_live = engine.topology.live(&runtime.id).is_some();
            (&runtime.id, is_live, verdict.state.name(), &verdict.reason, world.now - verdict.since.0).hash(state);
        }
        (world.is_up, &world.couriers, &world.agents, &world.dead, &world.pasted, world.deliveries).hash(state);
        (&world.interrupted, &world.answered).hash(state);
        (self.posted, self.crashes, self.respawns, self.refusals, self.losses).hash(state);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Step {
    Post,
    Cancel(usize),
    Usual(Act),
    Refuse(usize),
    Leave(usize),
    Lose(usize),
    /// Something befalls the hook that the agent waits for, or what its server is asked.
    Fail(Act),
    /// Nobody hears the agent's server any more, until they listen again.
    Disconnect(usize),
    Crash(Act),
    Respawn(usize),
}

/// How things are at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scene {
    /// The agent has nothing to do.
    Rest,
    /// It is at work, and reads what its hooks print.
    Hook,
    /// It is at work, and the last message is urgent.
    Urgent,
    /// A person has left a text in its composer.
    Draft,
    /// It has a server of its own, and nothing to do; or it is at work, and the last message is urgent.
    Server,
    UrgentServer,
}

struct Small {
    scene: Scene,
    is_wrapped: bool,
    messages: usize,
    crashes: u8,
    /// Faults beside crashes: refusals of the wrapper, failures of a hook that waits or of a server; lost hooks and connections.
    refusals: u8,
    losses: u8,
}

impl Model for Small {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let mut world = World::new(&[self.is_wrapped]);
        if matches!(self.scene, Scene::Server | Scene::UrgentServer) {
            world.agents[0].server = Some(Server::default());
            world.act(&Act::Connect(0));
        }
        match self.scene {
            Scene::Rest | Scene::Server => {}
            Scene::Hook | Scene::Urgent | Scene::UrgentServer => {
                world.agents[0].reads = self.scene == Scene::Hook;
                world.agents[0].work("go".to_owned());
                world.act(&Act::Hook(0));
            }
            Scene::Draft => {
                let draft = Some("half a thought".to_owned());
                (world.agents[0].draft, world.agents[0].left) = (draft.clone(), draft);
                world.stale = Span(0);
            }
        }
        vec![State {
            world,
            posted: 0,
            crashes: self.crashes,
            respawns: 1,
            refusals: self.refusals,
            losses: self.losses,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Step>) {
        let world = &state.world;
        actions.extend(world.acts().into_iter().map(Step::Usual));
        if world.is_up && state.posted < self.messages {
            actions.push(Step::Post);
        }
        let is_queued = |n: &usize| {
            let entry = world.accepted.get(*n).and_then(|letter| world.engine.state().mail.get(&letter.id));
            entry.is_some_and(|entry| matches!(entry.stage, Stage::Queued | Stage::Leased))
        };
        // Only the last one is taken back: it is in the same places as any other.
        actions.extend(Some(self.messages - 1).filter(|n| world.is_up && is_queued(n)).map(Step::Cancel));
        if state.crashes > 0 {
            actions.extend(world.is_up.then_some(Step::Crash(Act::KillDaemon)));
            actions.extend(world.agents[0].is_alive.then_some(Step::Crash(Act::KillAgent(0))));
        }
        let agent = &world.agents[0];
        if state.respawns > 0 && !agent.is_alive {
            actions.push(Step::Respawn(0));
        }
        if state.refusals > 0 && agent.is_alive && !agent.socket.is_empty() {
            actions.push(Step::Refuse(0));
        }
        if state.refusals > 0 && agent.is_alive && agent.is_wrapped && agent.composer.is_some() {
            actions.push(Step::Leave(0));
        }
        if state.losses > 0 && matches!(agent.hooks.front(), Some(Hook::Prompt { .. } | Hook::Record { .. })) {
            actions.push(Step::Lose(0));
        }
        if state.refusals > 0 && agent.is_alive {
            let failures: &[_] = match agent.waiting.as_ref().map(|waiting| &waiting.at) {
                Some(Point::Asked | Point::Heard) => &[Act::GiveUp(0), Act::KillHook(0)],
                Some(Point::Answered { .. }) => &[Act::GiveUp(0), Act::KillHook(0), Act::PassOnUnsaid(0)],
                Some(Point::Alone | Point::Gone | Point::Over { .. }) | None => &[],
            };
            actions.extend(failures.iter().cloned().map(Step::Fail));
            actions.extend(world.failures_of_server(0).into_iter().map(Step::Fail));
        }
        if state.losses > 0 && world.is_missed(0) {
            actions.push(Step::Disconnect(0));
        }
    }

    fn next_state(&self, last: &State, step: Step) -> Option<State> {
        let mut state = last.clone();
        let world = &mut state.world;
        match step {
            Step::Post => {
                let letter = world.letter(&format!("m_{}", state.posted), 0);
                let has_urgent = matches!(self.scene, Scene::Urgent | Scene::UrgentServer);
                let is_urgent = has_urgent && state.posted + 1 == self.messages;
                let mode = if is_urgent { Mode::Urgent } else { letter.mode };
                world.post(Letter { mode, ..letter }, None);
                state.posted += 1;
            }
            Step::Cancel(n) => {
                let fact = world.engine.cancel_mail(&world.accepted[n].id, "me").ok()?;
                world.log(fact);
            }
            Step::Usual(act) => world.act(&act),
            Step::Refuse(pane) => {
                world.act(&Act::Refuse(pane));
                state.refusals -= 1;
            }
            Step::Fail(act) => {
                world.act(&act);
                state.refusals -= 1;
            }
            Step::Leave(pane) => {
                world.act(&Act::Leave(pane));
                state.refusals -= 1;
            }
            Step::Lose(pane) => {
                world.act(&Act::LoseHook(pane));
                state.losses -= 1;
            }
            Step::Disconnect(pane) => {
                world.act(&Act::Disconnect(pane));
                state.losses -= 1;
            }
            Step::Crash(act) => {
                world.act(&act);
                state.crashes -= 1;
            }
            Step::Respawn(pane) => {
                world.act(&Act::Respawn(pane));
                state.respawns -= 1;
            }
        }
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(
                "nothing is lost, typed twice, given to another or falsely confirmed",
                |_, state: &State| state.world.objection().is_none(),
            ),
            Property::always(
                "where nothing can happen any more, everything has come to its end",
                |_, state: &State| !state.world.acts().is_empty() || state.world.is_over(),
            ),
            // That the search comes to where it matters.
            Property::sometimes("confirmed", |_, state| ended(state, Ended::Confirmed)),
            Property::sometimes("unconfirmed", |_, state| ended(state, Ended::Unconfirmed)),
            Property::sometimes("dead", |_, state| ended(state, Ended::Dead)),
            Property::sometimes("cancelled", |_, state| ended(state, Ended::Cancelled)),
            Property::sometimes(
                "a message came back before it was typed, and was delivered after all",
                |_, state: &State| {
                    state.world.deliveries > 1 && state.world.accepted.len() == 1 && state.world.pasted.len() == 1
                },
            ),
        ];
        properties.extend(match self.scene {
            Scene::Rest => None,
            Scene::Hook => Some(Property::sometimes("given by a hook", |_, state: &State| {
                state.world.agents[0].hooks.iter().any(|hook| matches!(hook, Hook::Record { .. }))
            })),
            Scene::Server => Some(Property::sometimes("given by the server", |_, state: &State| {
                went_by(state, "server") && ended(state, Ended::Confirmed)
            })),
            Scene::Urgent | Scene::UrgentServer => {
                Some(Property::sometimes("interrupted and confirmed", |_, state: &State| {
                    state.world.interrupted.len() == 1 && ended(state, Ended::Confirmed)
                }))
            }
            Scene::Draft => Some(Property::sometimes("put aside, and back", |_, state: &State| {
                let was_aside = state.world.texts.keys().any(|id| id.as_str().starts_with("draft_"));
                was_aside && state.world.agents[0].draft.is_some() && ended(state, Ended::Confirmed)
            })),
        });
        if self.scene == Scene::Server && self.refusals > 0 {
            properties.push(Property::sometimes("refused by the server, and typed", |_, state: &State| {
                let is_shut = |server: &Server| server.is_heard && !server.is_open;
                state.world.agents[0].server.as_ref().is_some_and(is_shut) && went_by(state, "keys")
            }));
            properties.push(Property::sometimes("taken when nobody could say so any more", |_, state: &State| {
                let letters = state.world.engine.state().mail.letters.values();
                letters
                    .into_iter()
                    .any(|entry| entry.channel.is_none() && entry.stage.ended() == Some(Ended::Confirmed))
            }));
        }
        properties
    }
}

/// Whether a message went by this way.
fn went_by(state: &State, way: &str) -> bool {
    state.world.engine.state().mail.letters.values().any(|entry| entry.channel.as_deref() == Some(way))
}

/// Whether a message has come to this end.
fn ended(state: &State, how: Ended) -> bool {
    state.world.engine.state().mail.letters.values().any(|entry| entry.stage.ended() == Some(how))
}

fn search(small: Small) -> usize {
    let checker = small.checker().threads(2).spawn_bfs().join();
    for (name, path) in checker.discoveries() {
        let is_expected = checker
            .model()
            .properties()
            .iter()
            .any(|property| property.name == name && property.expectation == stateright::Expectation::Sometimes);
        assert!(is_expected, "{name}\n{:#?}\n{:?}", path.clone().into_actions(), path.last_state().world.objection());
    }
    checker.assert_properties();
    checker.unique_state_count()
}

/// The sizes that are searched: scene, whether in the wrapper, messages, crashes, refusals, lost hooks.
type Size = (Scene, bool, usize, u8, u8, u8);

/// One message with every fault, and two with crashes alone; what takes most of the time only for who has it.
const SHORT: [Size; 11] = [
    (Scene::Rest, true, 1, 2, 1, 1),
    (Scene::Rest, false, 1, 2, 1, 1),
    (Scene::Rest, false, 2, 2, 0, 0),
    (Scene::Hook, true, 1, 1, 1, 0),
    (Scene::Hook, false, 1, 1, 1, 1),
    (Scene::Urgent, true, 1, 1, 1, 0),
    (Scene::Urgent, false, 1, 2, 1, 1),
    (Scene::Draft, true, 1, 1, 1, 0),
    (Scene::Draft, false, 1, 2, 1, 1),
    (Scene::Server, false, 1, 1, 1, 1),
    (Scene::UrgentServer, false, 1, 1, 0, 0),
];

/// What is searched of servers, beside the other scenes, where there is time: an urgent message has many more ways to go.
const SERVERS: [Size; 9] = [
    (Scene::Server, false, 1, 2, 1, 1),
    (Scene::Server, true, 1, 2, 1, 1),
    (Scene::Server, false, 2, 1, 1, 0),
    (Scene::Server, true, 2, 1, 0, 0),
    (Scene::UrgentServer, false, 1, 1, 1, 1),
    (Scene::UrgentServer, false, 1, 2, 1, 0),
    (Scene::UrgentServer, true, 1, 1, 1, 0),
    (Scene::UrgentServer, false, 2, 1, 0, 0),
    (Scene::UrgentServer, true, 2, 1, 0, 0),
];

/// `AGTMUX_MODEL=long` searches all scenes for one message with every fault; and for two, with every fault where the agent has nothing to
/// do, else with one crash; of servers what [`SERVERS`] says.
#[test]
fn no_order_of_steps_loses_a_message_or_types_it_twice() {
    let is_long = std::env::var("AGTMUX_MODEL").is_ok_and(|size| size == "long");
    let mut sizes = SHORT.to_vec();
    if is_long {
        let scenes = [Scene::Rest, Scene::Hook, Scene::Urgent, Scene::Draft];
        let places = scenes.into_iter().flat_map(|scene| [(scene, false), (scene, true)]);
        let places: Vec<_> = places.collect();
        let one = places.iter().map(|(scene, is_wrapped)| (*scene, *is_wrapped, 1, 2, 1, 1));
        let two = places.iter().map(|(scene, is_wrapped)| match scene {
            Scene::Rest => (*scene, *is_wrapped, 2, 2, 1, 1),
            _ => (*scene, *is_wrapped, 2, 1, 0, 0),
        });
        sizes = one.chain(two).chain(SERVERS).collect();
    }
    let mut states = 0;
    for (scene, is_wrapped, messages, crashes, refusals, losses) in sizes {
        let found = search(Small { scene, is_wrapped, messages, crashes, refusals, losses });
        let place = if is_wrapped { "in the wrapper" } else { "without it" };
        println!(
            "{scene:?}: {messages} messages {place}, {crashes} crashes, 1 respawn, {refusals} refusals, {losses} lost hooks: {found} states"
        );
        states += found;
    }
    println!("{states} states, and each is as it should be");
}
