//! Reads the events of the hooks.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::client::{Client, ClientError, Replies};
use crate::command::Script;
use crate::plain::{Following, Plain};
use crate::transport::Transport;

use super::HookBatch;
use super::names::Names;

/// Ordinary clients that wait are started no more often than this: a title that spins in every pane must not cost a
/// process per turn. What comes meanwhile is read together.
const START_PAUSE: Duration = Duration::from_millis(100);

/// How long it may take to put the queue back.
const DEADLINE: Duration = Duration::from_secs(5);

/// Reads the events of the hooks.
#[derive(Debug)]
pub struct HookReader {
    names: Names,
    waiter: Waiter,
}

/// Who waits.
#[derive(Debug)]
enum Waiter {
    /// A control client, and the replies of the cycle under way, kept so that a cancelled wait loses nothing.
    Control { client: Client, replies: Option<Replies> },
    /// Ordinary clients, one after the other.
    Plain { plain: Plain, following: Option<Box<Following>>, start_at: Instant },
}

impl HookReader {
    pub(super) fn on_control(client: Client, names: Names) -> Self {
        Self { names, waiter: Waiter::Control { client, replies: None } }
    }

    pub(super) fn on_plain(plain: Plain, names: Names) -> Self {
        Self { names, waiter: Waiter::Plain { plain, following: None, start_at: Instant::now() } }
    }

    /// Waits for events. Safe to cancel. Ends only with the connection.
    pub async fn next_batch(&mut self) -> Result<HookBatch, ClientError> {
        match &mut self.waiter {
            Waiter::Control { client, replies } => control_batch(&self.names, client, replies).await,
            Waiter::Plain { plain, following, start_at } => plain_batch(&self.names, plain, following, start_at).await,
        }
    }
}

/// Somebody removed the variable: what it held is lost.
fn lost() -> HookBatch {
    HookBatch { events: Vec::new(), missed: true }
}

async fn control_batch(
    names: &Names,
    client: &Client,
    under_way: &mut Option<Replies>,
) -> Result<HookBatch, ClientError> {
    loop {
        let replies = match &mut *under_way {
            Some(replies) => replies,
            none => none.insert(client.stream(&names.cycle())?),
        };
        let Some(reply) = replies.next().await? else {
            *under_way = None;
            continue;
        };
        if !reply.ok {
            // The variable is put back by the next line.
            *under_way = Some(client.stream(&Script::from(&names.put_back()))?);
            return Ok(lost());
        }
        if let Some(batch) = names.read(&reply.text()) {
            return Ok(batch);
        }
    }
}

async fn plain_batch(
    names: &Names,
    plain: &Plain,
    under_way: &mut Option<Box<Following>>,
    start_at: &mut Instant,
) -> Result<HookBatch, ClientError> {
    loop {
        let following = match &mut *under_way {
            Some(following) => following,
            none => {
                sleep_until(*start_at).await;
                *start_at = Instant::now() + START_PAUSE;
                none.insert(Box::new(plain.follow(&names.cycle())?))
            }
        };
        match following.next_line().await? {
            Some(line) => {
                if let Some(batch) = names.read(line.as_bytes()) {
                    return Ok(batch);
                }
            }
            None => {
                let ended = match under_way.take() {
                    Some(following) => following.finish(plain).await,
                    None => Ok(()),
                };
                match ended {
                    Ok(()) => {}
                    Err(ClientError::Refused(_)) => {
                        plain.run(&names.put_back(), DEADLINE).await?;
                        return Ok(lost());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
