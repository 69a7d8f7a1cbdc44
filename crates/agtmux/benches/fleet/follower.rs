//! A client of `WS /v1/stream` that notes when each frame arrived.

use std::time::Instant;

use agtmux::client::Client;
use agtmux_wire::list::PaneItem;
use agtmux_wire::stream::Frame;
use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::daemon::DEADLINE;

pub(crate) struct Follower {
    frames: mpsc::UnboundedReceiver<(Instant, Frame)>,
}

impl Follower {
    /// Follows from now on.
    pub(crate) async fn open(client: &Client) -> Result<Self> {
        let mut stream = client.stream(None).await?;
        let (seen, mut frames) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = stream.next().await {
                let at = Instant::now();
                let frame = message.to_text().ok().and_then(|text| serde_json::from_str(text).ok());
                if frame.is_some_and(|frame| seen.send((at, frame)).is_err()) {
                    return;
                }
            }
        });
        // The snapshot comes first; with it, nothing after it is missed.
        timeout(DEADLINE, frames.recv()).await?.context("the stream ended at its beginning")?;
        Ok(Self { frames })
    }

    /// The panes that a frame tells of.
    pub(crate) fn panes(frame: &Frame) -> &[PaneItem] {
        let (Frame::Snapshot { panes, .. } | Frame::Change { panes, .. }) = frame;
        panes
    }

    /// Waits for a frame and gives the moment it arrived.
    pub(crate) async fn wait_for(&mut self, wanted: impl Fn(&Frame) -> bool) -> Result<Instant> {
        let (at, ()) = self.find(|frame| wanted(frame).then_some(())).await?;
        Ok(at)
    }

    /// Waits for a frame that shows something; gives the moment it arrived and what it shows.
    pub(crate) async fn find<T>(&mut self, look: impl Fn(&Frame) -> Option<T>) -> Result<(Instant, T)> {
        let search = async {
            while let Some((at, frame)) = self.frames.recv().await {
                if let Some(found) = look(&frame) {
                    return Ok((at, found));
                }
            }
            bail!("the stream ended")
        };
        timeout(DEADLINE, search).await.context("a change was not seen")?
    }
}
