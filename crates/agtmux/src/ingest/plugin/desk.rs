//! Where a plugin gets its orders, and where it brings what came of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agtmux_wire::plugin::{Order, Reply, Task};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;

/// Orders that a plugin has not got yet, and those that it has not answered.
#[derive(Default)]
pub(super) struct Desk {
    orders: Mutex<Orders>,
    woken: Notify,
    present: watch::Sender<usize>,
}

#[derive(Default)]
struct Orders {
    last: u64,
    waiting: VecDeque<Order>,
    unanswered: BTreeMap<u64, oneshot::Sender<Reply>>,
}

/// Why an order has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The plugin has not got it, and never will.
    NotSent,
    /// It may have.
    Unknown,
}

/// Somebody waits for orders, for as long as this is kept.
pub(super) struct Present(Arc<Desk>);

impl Desk {
    /// Gives an order and waits for what comes of it.
    pub(super) async fn ask(&self, task: Task, patience: Duration) -> Result<Reply, Failure> {
        let (sender, reply) = oneshot::channel();
        let number = {
            let mut orders = self.locked();
            orders.last += 1;
            let number = orders.last;
            orders.waiting.push_back(Order { number, task });
            orders.unanswered.insert(number, sender);
            number
        };
        self.woken.notify_one();
        if let Ok(Ok(reply)) = timeout(patience, reply).await {
            return Ok(reply);
        }
        let mut orders = self.locked();
        orders.unanswered.remove(&number);
        let before = orders.waiting.len();
        orders.waiting.retain(|order| order.number != number);
        Err(if orders.waiting.len() < before { Failure::NotSent } else { Failure::Unknown })
    }

    /// Waits for the next order. Whoever gets it must pass it on.
    pub(super) async fn next(&self) -> Order {
        loop {
            let woken = self.woken.notified();
            if let Some(order) = self.locked().waiting.pop_front() {
                return order;
            }
            woken.await;
        }
    }

    /// Takes what came of an order, if anybody still wants to know.
    pub(super) fn settle(&self, number: u64, reply: Reply) {
        if let Some(sender) = self.locked().unanswered.remove(&number) {
            sender.send(reply).ok();
        }
    }

    /// Says that somebody waits here.
    pub(super) fn attend(self: &Arc<Self>) -> Present {
        self.present.send_modify(|present| *present += 1);
        Present(Arc::clone(self))
    }

    /// How many wait here.
    pub(super) fn present(&self) -> watch::Receiver<usize> {
        self.present.subscribe()
    }

    fn locked(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.present.send_modify(|present| *present = present.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use agtmux_wire::plugin::{Reply, Task};

    use super::{Desk, Failure};

    const PATIENCE: Duration = Duration::from_secs(5);

    #[tokio::test(start_paused = true)]
    async fn an_order_is_answered_by_its_number() {
        let desk = Arc::new(Desk::default());
        let plugin = async {
            let order = desk.next().await;
            desk.settle(order.number + 1, Reply::Waiting);
            desk.settle(order.number, Reply::Refused { why: "no".to_owned() });
        };
        let (reply, ()) = tokio::join!(desk.ask(Task::Look, PATIENCE), plugin);
        assert_eq!(reply, Ok(Reply::Refused { why: "no".to_owned() }));
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_nobody_fetched_was_surely_not_sent() {
        let desk = Arc::new(Desk::default());
        assert_eq!(desk.ask(Task::Look, PATIENCE).await, Err(Failure::NotSent));
        let (reply, order) = tokio::join!(desk.ask(Task::Look, PATIENCE), desk.next());
        assert_eq!((reply, order.number), (Err(Failure::Unknown), 2), "the first was taken back");
        desk.settle(order.number, Reply::Waiting);
    }
}
