//! Which client of Codex's app server shows which thread.
//!
//! The server does not tell, and a client may go to another thread without a word to anybody (`/resume`). A thread is known to be a
//! client's only where no other could show it: one client is connected, one thread is open, and that thread was begun while nobody
//! else was connected, or has been open for longer than the server keeps a thread that no client shows. Everything else is left
//! open; the program status in a pane's own stream still tells its state.

use std::collections::BTreeMap;

use agtmux_core::id::RuntimeId;

/// The server closes a thread a minute after its last client left it and its last turn ended.
const KEPT_MS: u64 = 90_000;

/// A client found so soon after its start is taken to have been alone since then, if it is alone now.
const JUST_STARTED_MS: u64 = 20_000;

/// What was known of clients holds for so long while nobody looks.
const UNSEEN_MS: u64 = 15_000;

/// More clients than one server has.
const CLIENTS: usize = 256;

/// What is known of the clients of one server.
#[derive(Clone, Debug, Default)]
pub struct CodexClients {
    /// Since when it is known who is connected, in milliseconds since 1970.
    watched_since: Option<u64>,
    /// When it was last looked, on the boot clock.
    looked_at: u64,
    /// When each client was last seen to be connected; strangers count as one.
    seen: BTreeMap<Option<RuntimeId>, u64>,
    /// The only client, and since when it has been that, on the boot clock.
    sole: Option<(RuntimeId, u64)>,
    /// Since when no turn has been under way in each thread, on the boot clock.
    resting: BTreeMap<String, u64>,
}

/// The clients that are connected to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connected {
    /// Agents in panes, with the start of each in milliseconds since 1970.
    pub clients: BTreeMap<RuntimeId, u64>,
    /// How many connections belong to none of these.
    pub strangers: usize,
}

/// One moment on two clocks, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Since 1970; threads carry the time of their beginning in their ids.
    pub unix_ms: u64,
    /// On the boot clock, which nobody sets.
    pub boot_ms: u64,
}

impl Connected {
    /// The client that is connected, if it is the only one and an agent in a pane.
    pub fn sole(&self) -> Option<(&RuntimeId, u64)> {
        let (client, started) = self.clients.first_key_value()?;
        (self.clients.len() == 1 && self.strangers == 0).then_some((client, *started))
    }
}

impl CodexClients {
    /// Takes who is connected, if that can be known, and which threads are open, with whether a turn is under way in each. Gives the
    /// client whose thread is certain, with that.
    pub fn update(
        &mut self,
        now: Moment,
        connected: Option<&Connected>,
        threads: &BTreeMap<String, bool>,
    ) -> Option<(RuntimeId, String)> {
        let Some(connected) = connected else {
            *self = Self::default();
            return None;
        };
        if now.boot_ms > self.looked_at + UNSEEN_MS {
            *self = Self::default();
        }
        self.looked_at = now.boot_ms;
        self.note(now, connected, threads);
        let (client, started) = connected.sole()?;
        let thread = threads.keys().next().filter(|_| threads.len() == 1)?;
        let others = self.seen.iter().filter(|(seen, _)| seen.as_ref() != Some(client)).map(|(_, at)| *at);
        let alone_since = others.chain(self.watched_since).fold(started, u64::max);
        let is_begun_alone = begun_ms(thread).is_some_and(|begun| (alone_since..=now.unix_ms).contains(&begun));
        let sole_since = self.sole.as_ref().map_or(now.boot_ms, |(_, since)| *since);
        let rests_since = self.resting.get(thread).map_or(now.boot_ms, |since| *since);
        let is_kept_open = now.boot_ms >= sole_since.max(rests_since) + KEPT_MS;
        (is_begun_alone || is_kept_open).then(|| (client.clone(), thread.clone()))
    }

    fn note(&mut self, now: Moment, connected: &Connected, threads: &BTreeMap<String, bool>) {
        let sole = connected.sole();
        self.watched_since.get_or_insert_with(|| {
            let just_started = sole.map(|(_, started)| started).filter(|at| now.unix_ms <= at + JUST_STARTED_MS);
            just_started.unwrap_or(now.unix_ms)
        });
        let strangers = (connected.strangers > 0).then_some(None);
        for client in connected.clients.keys().cloned().map(Some).chain(strangers) {
            self.seen.insert(client, now.unix_ms);
        }
        if self.seen.len() > CLIENTS {
            let oldest = self.seen.iter().min_by_key(|(_, at)| **at).map(|(client, _)| client.clone());
            oldest.and_then(|oldest| self.seen.remove(&oldest));
        }
        self.sole = sole.map(|(client, _)| match self.sole.take() {
            Some((known, since)) if known == *client => (known, since),
            _ => (client.clone(), now.boot_ms),
        });
        self.resting.retain(|thread, _| threads.contains_key(thread));
        for (thread, is_active) in threads {
            let since = self.resting.entry(thread.clone()).or_insert(now.boot_ms);
            if *is_active {
                *since = now.boot_ms;
            }
        }
    }
}

/// When a thread was begun, in milliseconds since 1970: its id is a UUID of version 7, which starts with that.
fn begun_ms(thread: &str) -> Option<u64> {
    let hex: String = thread.split('-').collect();
    let is_version_7 = hex.len() == 32 && hex.as_bytes()[12] == b'7';
    is_version_7.then(|| u64::from_str_radix(hex.get(..12)?, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clocks say the same here, in seconds.
    fn at(second: u64) -> Moment {
        Moment { unix_ms: second * 1_000, boot_ms: second * 1_000 }
    }

    /// A thread that was begun at this second.
    fn thread(second: u64) -> String {
        let hex = format!("{:012x}", second * 1_000);
        format!("{}-{}-7000-8000-000000000000", &hex[..8], &hex[8..])
    }

    /// Clients, each a letter and the second of its start; `?` is a stranger.
    fn connected(clients: &[(char, u64)]) -> Connected {
        let known = clients.iter().filter(|(name, _)| *name != '?');
        Connected {
            clients: known.map(|(name, second)| (RuntimeId::new(name.to_string()), second * 1_000)).collect(),
            strangers: clients.iter().filter(|(name, _)| *name == '?').count(),
        }
    }

    /// Who is shown to have which thread, by its second; the threads in `busy` are in a turn.
    fn shown(
        clients: &mut CodexClients,
        now: u64,
        who: &[(char, u64)],
        open: &[u64],
        busy: &[u64],
    ) -> Option<(char, u64)> {
        let threads = open.iter().map(|second| (thread(*second), busy.contains(second))).collect();
        let shown = clients.update(at(now), Some(&connected(who)), &threads)?;
        let which = open.iter().find(|second| thread(**second) == shown.1)?;
        Some((shown.0.as_str().chars().next()?, *which))
    }

    #[test]
    fn the_only_thread_is_that_of_the_only_client_if_it_was_begun_under_it() {
        let mut clients = CodexClients::default();
        assert_eq!(shown(&mut clients, 1_001, &[('a', 1_000)], &[], &[]), None, "it has not begun one");
        assert_eq!(shown(&mut clients, 1_002, &[('a', 1_000)], &[1_001], &[]), Some(('a', 1_001)));
        assert_eq!(shown(&mut clients, 1_003, &[('a', 1_000)], &[1_001], &[1_001]), Some(('a', 1_001)));
        for who in [&[][..], &[('?', 0)], &[('a', 1_000), ('?', 0)], &[('a', 1_000), ('b', 1_000)]] {
            assert_eq!(shown(&mut CodexClients::default(), 1_002, who, &[1_001], &[]), None, "{who:?}");
        }
        assert_eq!(CodexClients::default().update(at(9), None, &BTreeMap::new()), None);
    }

    #[test]
    fn nobody_is_bound_while_two_are_connected() {
        let mut clients = CodexClients::default();
        let (a, b) = (('a', 1_000), ('b', 1_010));
        shown(&mut clients, 1_002, &[a], &[1_001], &[]);
        assert_eq!(shown(&mut clients, 1_011, &[a, b], &[1_001], &[]), None, "it may show the thread of the other");
        assert_eq!(shown(&mut clients, 1_012, &[a, b], &[1_001, 1_011], &[1_011]), None);
        for now in (1_020..1_080).step_by(5) {
            assert_eq!(shown(&mut clients, now, &[b], &[1_001, 1_011], &[]), None, "the first left");
        }
        for now in (1_080..1_110).step_by(5) {
            assert_eq!(shown(&mut clients, now, &[b], &[1_011], &[]), None, "begun while both were there");
        }
        assert_eq!(
            shown(&mut clients, 1_111, &[b], &[1_011], &[]),
            Some(('b', 1_011)),
            "the server keeps it for somebody"
        );
        assert_eq!(shown(&mut clients, 1_112, &[b], &[1_011, 1_112], &[]), None, "it began another");
        assert_eq!(shown(&mut clients, 1_113, &[b], &[1_112], &[]), Some(('b', 1_112)));
    }

    /// A killed client leaves a thread behind, and its turn may go on for as long as it likes.
    #[test]
    fn a_thread_that_another_client_left_is_nobodys() {
        let mut clients = CodexClients::default();
        shown(&mut clients, 1_002, &[('a', 1_000)], &[1_001], &[1_001]);
        for now in (1_003..1_300).step_by(10) {
            assert_eq!(shown(&mut clients, now, &[('b', 1_003)], &[1_001], &[1_001]), None);
        }
        assert_eq!(shown(&mut clients, 1_310, &[('b', 1_003)], &[1_001], &[]), None, "its turn has just ended");
    }

    #[test]
    fn who_was_there_before_the_daemon_is_known_when_the_server_would_have_closed_anothers_thread() {
        let mut clients = CodexClients::default();
        assert_eq!(shown(&mut clients, 5_000, &[('a', 1_000)], &[1_001], &[]), None);
        for now in (5_005..5_090).step_by(5) {
            assert_eq!(shown(&mut clients, now, &[('a', 1_000)], &[1_001], &[]), None);
        }
        assert_eq!(shown(&mut clients, 5_090, &[('a', 1_000)], &[1_001], &[]), Some(('a', 1_001)));
        assert_eq!(shown(&mut clients, 5_110, &[('a', 1_000)], &[1_001], &[]), None, "nobody looked meanwhile");
    }

    #[test]
    fn an_id_without_a_time_is_known_later() {
        assert_eq!(begun_ms("01a1f045-9a8b-76a2-9c6a-e89f9bb1c4ef"), Some(1_795_032_455_819));
        for id in ["", "x", "01a1f045-9a8b-46a2-9c6a-e89f9bb1c4ef", "zza1f045-9a8b-76a2-9c6a-e89f9bb1c4ef"] {
            assert_eq!(begun_ms(id), None, "{id}");
        }
    }
}
