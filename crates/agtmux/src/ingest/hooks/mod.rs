//! The hooks of agents, on their way from the socket or the spool into the log.
//!
//! [`socket`] reads them and who sent them, [`spooled`] those that found no daemon; [`taking`] asks
//! [`agtmux_agents::translate`] what they mean and [`owner`] whose they are, and answers only when they are in the log.
//! [`held`] keeps the one kind waiting whose agent takes an answer, [`mailing`] gives messages to those that read them there.

mod held;
mod mailing;
mod owner;
mod recent;
mod socket;
mod spooled;
mod taking;
mod turns;
mod unowned;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agtmux_agents::translate::Translator;
use agtmux_core::id::RuntimeId;
use tokio::net::UnixListener;

use crate::daemon::Handle;
use crate::spool::Spool;
use crate::target::manifests::Manifests;
use recent::Recent;
use turns::Turns;
use unowned::Unowned;

/// What takes hooks in.
pub struct Hooks {
    handle: Handle,
    manifests: Manifests,
    spool: Spool,
    translator: Mutex<Translator>,
    recent: Mutex<Recent>,
    unowned: Mutex<Unowned>,
    turns: Mutex<Turns>,
    /// How often in a row an agent went on at the end of its turn because a hook wanted that.
    answered: Mutex<BTreeMap<RuntimeId, u32>>,
    /// How long a hook waits with a question.
    patience: Duration,
}

impl Hooks {
    /// Takes hooks in for a daemon. One with a question waits for `patience`.
    pub fn new(handle: Handle, manifests: Manifests, spool: Spool, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            handle,
            manifests,
            spool,
            translator: Mutex::default(),
            recent: Mutex::default(),
            unowned: Mutex::default(),
            turns: Mutex::default(),
            answered: Mutex::default(),
            patience,
        })
    }

    /// Serves until the task is dropped. What waits in the spool comes before what waits at the door.
    pub async fn serve(self: Arc<Self>, listener: UnixListener) {
        self.drain().await;
        tokio::join!(socket::serve(&self, listener), self.drain_whenever_something_waits(), self.find_owners());
    }
}
