//! Agents that answer everything they are told, to everybody they know: they come to an end, and never write more than the limits say
//! (P3), whoever knows whom.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agtmux_core::event::Fact;
use agtmux_core::mail::{DeliveryId, Letter, MailFact, MailId, Party, Receipt};
use fastrand::Rng;

use crate::world::World;

/// What one agent may write to another in ten minutes, and to all in one.
const PAIR: (usize, i64) = (6, 10 * 60_000);
const ALL: (usize, i64) = (60, 60_000);

/// Who writes to whom.
type Pairs = BTreeSet<(usize, usize)>;

/// Who knows whom, with a name and the number of agents.
fn topologies() -> Vec<(String, usize, Pairs)> {
    let both = |pairs: Vec<(usize, usize)>| pairs.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]).collect::<Pairs>();
    let mut all = Vec::new();
    for n in [2, 3, 4, 5, 6, 8, 10, 12] {
        all.push((format!("ring of {n}"), n, (0..n).map(|a| (a, (a + 1) % n)).collect()));
        all.push((format!("star of {n}"), n, both((1..n).map(|a| (0, a)).collect())));
        all.push((format!("clique of {n}"), n, both((0..n).flat_map(|a| (0..a).map(move |b| (a, b))).collect())));
        all.push((format!("tree of {n}"), n, both((1..n).map(|a| (a, (a - 1) / 2)).collect())));
        let mut dice = Rng::with_seed(n as u64);
        let any = (0..3 * n).map(|_| (dice.usize(0..n), dice.usize(0..n))).filter(|(a, b)| a != b).collect();
        all.push((format!("{n} at random"), n, any));
    }
    all
}

struct Storm {
    world: World,
    knows: Pairs,
    /// When who wrote to whom.
    written: BTreeMap<(usize, usize), Vec<i64>>,
    given: VecDeque<(usize, MailId)>,
}

impl Storm {
    /// One agent writes to another, and the message is given to it at once.
    fn write(&mut self, from: Option<usize>, to: usize, reply_to: Option<MailId>) {
        let world = &mut self.world;
        let letter = world.letter(&format!("m_{}", world.seq), to);
        let (id, runtime) = (letter.id.clone(), letter.to.clone());
        let agent = from.map(|from| Party::Agent { runtime: world.agents[from].runtime(), name: "agent".to_owned() });
        let from_whom = agent.unwrap_or_else(|| letter.from.clone());
        if !world.post(Letter { from: from_whom, reply_to, ..letter }, None) {
            return;
        }
        let delivery = DeliveryId::new(format!("dl_{}", world.seq));
        for step in [
            MailFact::Leased { delivery: delivery.clone(), runtime, letters: vec![id.clone()] },
            MailFact::Started { delivery: delivery.clone() },
            MailFact::Confirmed { letters: vec![id.clone()], by: Receipt::Hook },
            MailFact::Unconfirmed { delivery, why: String::new() },
        ] {
            world.log(Fact::Mail(Box::new(step)));
        }
        if let Some(from) = from {
            self.written.entry((from, to)).or_default().push(world.now);
        }
        self.given.push_back((to, id));
    }

    /// Lets it rage, as long as it is not worse than it may be. Gives how many messages agents wrote.
    fn rage(&mut self, has_threads: bool, until: i64, most: usize) -> usize {
        self.write(None, 0, None);
        while let Some((agent, id)) = self.given.pop_front() {
            self.world.now += 200;
            if self.world.now > until || self.written.values().map(Vec::len).sum::<usize>() > most {
                break;
            }
            let known: Vec<_> = self.knows.iter().filter(|(from, _)| *from == agent).map(|(_, to)| *to).collect();
            for to in known {
                self.write(Some(agent), to, has_threads.then(|| id.clone()));
            }
        }
        self.written.values().map(Vec::len).sum()
    }

    fn check(&self, name: &str) {
        let most = |times: &[i64], within: i64| {
            (0..times.len())
                .map(|n| times[..=n].iter().filter(|at| **at + within > times[n]).count())
                .max()
                .unwrap_or(0)
        };
        let mut by_agent: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        for ((from, to), times) in &self.written {
            let count = most(times, PAIR.1);
            assert!(count <= PAIR.0, "{name}: {from} wrote {count} messages to {to} in ten minutes");
            by_agent.entry(*from).or_default().extend(times);
        }
        for (from, mut times) in by_agent {
            times.sort_unstable();
            let count = most(&times, ALL.1);
            assert!(count <= ALL.0, "{name}: {from} wrote {count} messages in a minute");
        }
    }
}

#[test]
fn agents_that_answer_everything_come_to_an_end() {
    let topologies = topologies();
    let (mut written, mut bound) = (0, 0);
    for (name, agents, knows) in &topologies {
        for has_threads in [true, false] {
            let mut storm = Storm {
                world: World::new(&vec![true; *agents]),
                knows: knows.clone(),
                written: BTreeMap::new(),
                given: VecDeque::new(),
            };
            let minutes = if has_threads { 24 * 60 } else { 30 };
            let until = storm.world.now + minutes * 60_000;
            let most = knows.len() * PAIR.0 * if has_threads { 1 + 1 } else { 4 };
            let count = storm.rage(has_threads, until, most);
            storm.check(name);
            assert!(count <= most, "{name}: {count} messages, and {most} at most");
            // An answer names what it answers, and no chain of answers is longer than eight.
            assert!(!has_threads || storm.given.is_empty(), "{name}: it does not end");
            (written, bound) = (written + count, bound + most);
        }
    }
    println!("{} topologies, twice: {written} messages of at most {bound}", topologies.len());
}
