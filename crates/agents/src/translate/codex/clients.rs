//! Which client of Codex's app server shows which thread.
//!
//! The server does not tell. But it tells which threads are open, and lets go of one a minute after its last client
//! left: so whose a thread is follows where it can be nobody else's. Where it does not follow, nothing is said; the
//! program status in a pane's own stream still tells its state.

use std::collections::{BTreeMap, BTreeSet};

use agtmux_core::id::RuntimeId;

/// What is known of the clients of one server.
#[derive(Clone, Debug, Default)]
pub struct CodexClients {
    /// The thread of a client, also of one that is gone: nobody else has it, until the server lets go of it.
    shown: BTreeMap<RuntimeId, String>,
}

/// Those who are connected to a server.
#[derive(Clone, Debug, Default)]
pub struct Connected {
    /// Those that are agents in panes, each with the conversation that it is known to have.
    pub clients: BTreeMap<RuntimeId, Option<String>>,
    /// How many there are in all, if it can be counted.
    pub count: Option<usize>,
}

impl CodexClients {
    /// Takes who is connected and which threads are open, with whether a turn is under way in each. Gives the threads
    /// that are surely shown by the clients.
    pub fn update(&mut self, connected: &Connected, threads: &BTreeMap<String, bool>) -> BTreeMap<RuntimeId, String> {
        self.shown.retain(|_, thread| threads.contains_key(thread));
        for (client, conversation) in &connected.clients {
            let known = conversation.as_ref().filter(|thread| self.unclaimed(threads).contains(thread.as_str()));
            if let Some(thread) = known.filter(|_| !self.shown.contains_key(client)) {
                self.shown.insert(client.clone(), thread.clone());
            }
        }
        let are_all_known = connected.count == Some(connected.clients.len());
        let sole = sole(&self.without(connected)).zip(sole(&self.unclaimed(threads)));
        if let Some((client, thread)) = sole.filter(|_| are_all_known) {
            let (client, thread) = ((*client).clone(), (*thread).to_owned());
            self.shown.insert(client, thread);
        }
        let others = connected.count.unwrap_or(0).saturating_sub(connected.clients.len());
        // Then a client went on to another thread. Who is in the midst of a turn did not.
        let somebody_moved = self.unclaimed(threads).len() > self.without(connected).len() + others;
        let is_sure = |thread: &String| !somebody_moved || threads.get(thread) == Some(&true);
        let shown = self.shown.iter().filter(|(client, _)| connected.clients.contains_key(client));
        shown.filter(|(_, thread)| is_sure(thread)).map(|(client, thread)| (client.clone(), thread.clone())).collect()
    }

    /// The clients of which no thread is known.
    fn without<'a>(&self, connected: &'a Connected) -> BTreeSet<&'a RuntimeId> {
        connected.clients.keys().filter(|client| !self.shown.contains_key(client)).collect()
    }

    /// The threads of which no client is known.
    fn unclaimed<'a>(&self, threads: &'a BTreeMap<String, bool>) -> BTreeSet<&'a str> {
        let claimed: BTreeSet<&String> = self.shown.values().collect();
        threads.keys().filter(|thread| !claimed.contains(thread)).map(String::as_str).collect()
    }
}

/// The only one of a set.
fn sole<T: Copy>(set: &BTreeSet<T>) -> Option<T> {
    set.iter().copied().next().filter(|_| set.len() == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clients `a`, `b`, … of which so many in all are connected, and threads; those in capitals are in a turn.
    fn shown(clients: &mut CodexClients, names: &str, count: usize, threads: &str) -> String {
        let runtime = |name: char| RuntimeId::new(name.to_string());
        let connected =
            Connected { clients: names.chars().map(|name| (runtime(name), None)).collect(), count: Some(count) };
        let threads = threads.chars().map(|name| (name.to_lowercase().to_string(), name.is_uppercase())).collect();
        let shown = clients.update(&connected, &threads);
        shown.iter().map(|(client, thread)| format!("{client}{thread} ")).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn the_only_thread_is_that_of_the_only_client() {
        let mut clients = CodexClients::default();
        assert_eq!(shown(&mut clients, "a", 1, ""), "", "it has not begun one");
        assert_eq!(shown(&mut clients, "a", 1, "x"), "ax");
        assert_eq!(shown(&mut CodexClients::default(), "a", 2, "x"), "", "somebody else is there whom nobody knows");
        assert_eq!(shown(&mut CodexClients::default(), "a", 0, "x"), "", "it is not even connected");
        assert_eq!(shown(&mut CodexClients::default(), "a", 1, "xy"), "");
    }

    #[test]
    fn who_comes_later_has_what_is_left() {
        let mut clients = CodexClients::default();
        shown(&mut clients, "a", 1, "x");
        assert_eq!(shown(&mut clients, "a", 2, "xy"), "ax", "the second has not been found yet");
        assert_eq!(shown(&mut clients, "ab", 2, "xy"), "ax by");
        assert_eq!(shown(&mut clients, "b", 1, "xy"), "by", "the first left, and its thread is still there");
        assert_eq!(shown(&mut clients, "bc", 2, "xyz"), "by cz");
    }

    #[test]
    fn two_at_once_are_not_told_apart() {
        let mut clients = CodexClients::default();
        assert_eq!(shown(&mut clients, "ab", 2, "xy"), "");
        assert_eq!(shown(&mut clients, "b", 1, "y"), "by", "until there is only one");
    }

    #[test]
    fn who_went_on_to_another_thread_is_known_when_the_old_one_is_let_go() {
        let mut clients = CodexClients::default();
        shown(&mut clients, "a", 1, "x");
        shown(&mut clients, "ab", 2, "xy");
        assert_eq!(shown(&mut clients, "ab", 2, "xYz"), "by", "not the one in the midst of a turn");
        assert_eq!(shown(&mut clients, "ab", 2, "xyz"), "", "one of the two");
        assert_eq!(shown(&mut clients, "ab", 2, "yz"), "az by");
    }

    #[test]
    fn a_conversation_that_is_known_decides() {
        let runtime = |name: &str| RuntimeId::new(name);
        let clients = [(runtime("a"), Some("y".to_owned())), (runtime("b"), None)].into_iter().collect();
        let threads = [("x".to_owned(), false), ("y".to_owned(), false)].into_iter().collect();
        let shown = CodexClients::default().update(&Connected { clients, count: Some(2) }, &threads);
        assert_eq!(shown, [(runtime("a"), "y".to_owned()), (runtime("b"), "x".to_owned())].into_iter().collect());
    }
}
