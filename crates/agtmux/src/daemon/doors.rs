//! The servers of agents that take a prompt without a key: whoever listens to one opens a door here, and whoever delivers messages
//! finds it. A door is shut when nobody listens to the server any more, or when it is not known for sure any more which conversation
//! the agent's pane shows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agtmux_core::id::RuntimeId;
pub use agtmux_core::mail::Given;
use futures_util::future::BoxFuture;

/// Why a turn that asks something is not interrupted.
pub const WAITS: &str = "it waits for an answer";

/// A server that takes prompts for one agent.
pub trait Door: Send + Sync {
    /// What the server is called, for people.
    fn name(&self) -> &'static str;

    /// What the agent is at right now, by its server's own word. The title is that of the agent's pane.
    ///
    /// Says why not where it is not known for sure which conversation the pane shows.
    fn look<'a>(&'a self, title: &'a str) -> BoxFuture<'a, Result<Sight, String>>;

    /// Ends the turn under way in a conversation. Says whether there still was one, or why that could not be done: a turn that asks
    /// something by now is left alone ([`WAITS`]), since its question would be gone with it.
    fn interrupt<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<bool, String>>;

    /// Gives the agent a text as a prompt, in a conversation, as the delivery of that name. Called once for each.
    fn give<'a>(&'a self, conversation: &'a str, delivery: &'a str, text: &'a str) -> BoxFuture<'a, Given>;

    /// Whether what the server says of a conversation, by its hooks too, is certain to be this agent's and no other's. May read
    /// from the kernel.
    fn hears(&self, _conversation: &str) -> bool {
        false
    }
}

/// What a server says of its agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The conversation that the agent's pane shows.
    pub conversation: String,
    /// What it is at there.
    pub at: At,
}

/// What an agent is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Nothing.
    Rest,
    /// A turn.
    Turn,
    /// It waits for somebody's answer.
    Question,
}

/// All doors that are open, by runtime.
#[derive(Default)]
pub struct Doors(Mutex<BTreeMap<RuntimeId, Arc<dyn Door>>>);

/// A door, for as long as this is kept.
pub struct Opened {
    doors: Arc<Doors>,
    runtime: RuntimeId,
    door: Arc<dyn Door>,
}

impl Doors {
    /// Opens a door, in the place of any other to that runtime.
    pub fn open(self: &Arc<Self>, runtime: RuntimeId, door: Arc<dyn Door>) -> Opened {
        self.locked().insert(runtime.clone(), Arc::clone(&door));
        Opened { doors: Arc::clone(self), runtime, door }
    }

    /// The door to a runtime.
    pub fn to(&self, runtime: &RuntimeId) -> Option<Arc<dyn Door>> {
        self.locked().get(runtime).cloned()
    }

    /// Whether this is still the door to a runtime.
    pub fn is_open(&self, runtime: &RuntimeId, door: &Arc<dyn Door>) -> bool {
        self.locked().get(runtime).is_some_and(|open| Arc::ptr_eq(open, door))
    }

    /// Shuts a door, until whoever opened it has another.
    pub fn shut(&self, runtime: &RuntimeId, door: &Arc<dyn Door>) {
        let mut doors = self.locked();
        if doors.get(runtime).is_some_and(|open| Arc::ptr_eq(open, door)) {
            doors.remove(runtime);
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<RuntimeId, Arc<dyn Door>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.doors.shut(&self.runtime, &self.door);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agtmux_core::id::RuntimeId;
    use futures_util::FutureExt;
    use futures_util::future::{BoxFuture, ready};

    use super::{Door, Doors, Given, Sight};

    struct Wall;

    impl Door for Wall {
        fn name(&self) -> &'static str {
            "a wall"
        }

        fn look<'a>(&'a self, _title: &'a str) -> BoxFuture<'a, Result<Sight, String>> {
            ready(Err("nothing is seen".to_owned())).boxed()
        }

        fn interrupt<'a>(&'a self, _conversation: &'a str) -> BoxFuture<'a, Result<bool, String>> {
            ready(Ok(false)).boxed()
        }

        fn give<'a>(&'a self, _conversation: &'a str, _delivery: &'a str, _text: &'a str) -> BoxFuture<'a, Given> {
            ready(Given::Refused("it is a wall".to_owned())).boxed()
        }
    }

    #[test]
    fn a_door_is_open_for_as_long_as_whoever_opened_it_is_there() {
        let (doors, runtime) = (Arc::new(Doors::default()), RuntimeId::new("rt_1"));
        let first = doors.open(runtime.clone(), Arc::new(Wall));
        let found = doors.to(&runtime).expect("a door");
        let second = doors.open(runtime.clone(), Arc::new(Wall));
        assert!(!doors.is_open(&runtime, &found), "another one is in its place");
        drop(first);
        let found = doors.to(&runtime).expect("the other one");
        assert!(doors.is_open(&runtime, &found));
        doors.shut(&runtime, &found);
        assert!(doors.to(&runtime).is_none());
        drop(second);
    }
}
