//! Reads the events of the hooks.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::client::{Client, ClientError, Replies};
use crate::command::Script;
use crate::plain::{Following, Plain};
use crate::transport::Transport;

use super::HookBatch;
use super::names::Names;

/// The pause before the next ordinary client that waits is started. It doubles while events keep coming, since a title
/// that spins in every pane must not cost a process per turn; what comes meanwhile is read together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);

/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// A client that waited this long for an event ends a run of them.
const QUIET: Duration = Duration::from_millis(200);

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
    Plain { plain: Plain, following: Option<Box<Following>>, pace: Pace },
}

/// When clients that wait are started.
#[derive(Debug)]
struct Pace {
    started: Instant,
    ended: Option<Instant>,
    pause: Duration,
}

impl Pace {
    fn new() -> Self {
        Self { started: Instant::now(), ended: None, pause: SHORTEST_PAUSE }
    }

    fn next_start(&self) -> Instant {
        self.ended.map_or(self.started, |ended| ended + self.pause)
    }

    fn start(&mut self) {
        self.started = Instant::now();
        self.ended = None;
    }

    fn end(&mut self) {
        let now = Instant::now();
        let waited = now - self.started;
        self.pause = if waited > QUIET { SHORTEST_PAUSE } else { (self.pause * 2).min(LONGEST_PAUSE) };
        self.ended = Some(now);
    }
}

impl HookReader {
    pub(super) fn on_control(client: Client, names: Names) -> Self {
        Self { names, waiter: Waiter::Control { client, replies: None } }
    }

    pub(super) fn on_plain(plain: Plain, names: Names) -> Self {
        Self { names, waiter: Waiter::Plain { plain, following: None, pace: Pace::new() } }
    }

    /// Waits for events. Safe to cancel. Ends only with the connection.
    pub async fn next_batch(&mut self) -> Result<HookBatch, ClientError> {
        match &mut self.waiter {
            Waiter::Control { client, replies } => control_batch(&self.names, client, replies).await,
            Waiter::Plain { plain, following, pace } => plain_batch(&self.names, plain, following, pace).await,
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
    pace: &mut Pace,
) -> Result<HookBatch, ClientError> {
    loop {
        let following = match &mut *under_way {
            Some(following) => following,
            none => {
                sleep_until(pace.next_start()).await;
                pace.start();
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
                pace.end();
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
