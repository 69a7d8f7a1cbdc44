//! The agents' manifests as they are at the moment: a person may correct one while agents run.

use std::sync::Arc;

use agtmux_agents::Registry;
use tokio::sync::watch;

/// A view of the manifests that is always up to date.
#[derive(Clone, Debug)]
pub struct Manifests(watch::Receiver<Arc<Registry>>);

impl Manifests {
    /// Manifests, and the way to replace them.
    pub fn new(registry: Registry) -> (watch::Sender<Arc<Registry>>, Self) {
        let (sender, receiver) = watch::channel(Arc::new(registry));
        (sender, Self(receiver))
    }

    /// The manifests.
    pub fn now(&self) -> Arc<Registry> {
        self.0.borrow().clone()
    }
}
