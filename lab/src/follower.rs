//! What agtmux says of a pane, followed on its stream, each word with the moment it became visible.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agtmux_wire::TMUX_SOCKET_HEADER;
use agtmux_wire::list::PaneItem;
use agtmux_wire::stream::Frame;
use anyhow::{Context as _, Result};
use futures_util::StreamExt;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// Something agtmux said.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// When it was visible.
    pub(crate) at: Instant,
    /// The state; none if there is no agent in the pane.
    pub(crate) state: Option<String>,
    /// The reason.
    pub(crate) reason: Option<String>,
    /// The source that decided.
    pub(crate) source: Option<String>,
    /// The agent's process.
    pub(crate) pid: Option<u32>,
}

/// Follows one pane. Dropped, it stops.
#[derive(Debug)]
pub(crate) struct Follower {
    heard: Arc<Heard>,
    task: JoinHandle<Result<()>>,
}

#[derive(Debug, Default)]
struct Heard {
    words: Mutex<Vec<Word>>,
    news: Notify,
}

impl Follower {
    /// Follows a pane from now on.
    pub(crate) async fn start(daemon: &Path, tmux: &Path, pane: &str) -> Result<Self> {
        let mut request = "ws://localhost/v1/stream".into_client_request()?;
        request.headers_mut().insert(TMUX_SOCKET_HEADER, tmux.to_string_lossy().parse()?);
        let connection = UnixStream::connect(daemon).await.context("the daemon does not listen")?;
        let (mut stream, _) = tokio_tungstenite::client_async(request, connection).await?;
        let heard = Arc::<Heard>::default();
        let (listener, pane) = (Arc::clone(&heard), pane.to_owned());
        let task = tokio::spawn(async move {
            while let Some(message) = stream.next().await {
                let at = Instant::now();
                let message = message?;
                if message.is_text() {
                    listener.take(at, &pane, serde_json::from_str(message.to_text()?)?);
                }
            }
            Ok(())
        });
        Ok(Self { heard, task })
    }

    /// How much was said so far.
    pub(crate) fn position(&self) -> usize {
        lock(&self.heard.words).len()
    }

    /// How much was said by a moment.
    pub(crate) fn position_at(&self, moment: Instant) -> usize {
        lock(&self.heard.words).iter().take_while(|word| word.at <= moment).count()
    }

    /// What was said last.
    pub(crate) fn last(&self) -> Option<Word> {
        lock(&self.heard.words).last().cloned()
    }

    /// Everything that was said from a position on.
    pub(crate) fn since(&self, position: usize) -> Vec<Word> {
        lock(&self.heard.words)[position..].to_vec()
    }

    /// Waits for the first word from a position on that is as wanted, the one before it included, because it still
    /// stands there. Gives the position after it.
    pub(crate) async fn wait(
        &self,
        position: usize,
        within: Duration,
        wanted: impl Fn(&Word) -> bool,
    ) -> Option<(usize, Word)> {
        let standing = position.saturating_sub(1);
        let found = async {
            loop {
                let news = self.heard.news.notified();
                let found = self.since(standing).into_iter().enumerate().find(|(_, word)| wanted(word));
                match found {
                    Some((index, word)) => return (standing + index + 1, word),
                    None => news.await,
                }
            }
        };
        tokio::time::timeout(within, found).await.ok()
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Heard {
    fn take(&self, at: Instant, pane: &str, frame: Frame) {
        let (Frame::Snapshot { panes, .. } | Frame::Change { panes, .. }) = frame;
        let mut words = lock(&self.words);
        for item in panes.iter().filter(|item| item.identity.pane_id == pane) {
            let word = word(at, item);
            let said = words
                .last()
                .is_some_and(|last| (&last.state, &last.reason, last.pid) == (&word.state, &word.reason, word.pid));
            if !said {
                words.push(word);
            }
        }
        drop(words);
        self.news.notify_waiters();
    }
}

fn word(at: Instant, item: &PaneItem) -> Word {
    Word {
        at,
        state: item.runtime_id.as_ref().and(item.state.clone()),
        reason: item.reason_code.clone(),
        source: item.source.clone(),
        pid: item.pid,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
