//! The paste buffers of this daemon: each holds one text at a time, on its way into a pane.

use agtmux_tmux::buffer::{Buffer, SLOTS};
use agtmux_tmux::{PaneId, Plain, Transport};
use tokio::sync::{Mutex, MutexGuard};

use super::aim::STEP_DEADLINE;

/// All of them.
pub struct Buffers(Vec<Mutex<()>>);

/// A buffer that is nobody else's until it is dropped.
pub struct Slot<'a> {
    buffer: Buffer,
    _turn: MutexGuard<'a, ()>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self((0..SLOTS).map(|_| Mutex::default()).collect())
    }
}

impl Buffers {
    /// Waits for the buffer of a pane, which others share.
    pub async fn take(&self, pane: PaneId) -> Slot<'_> {
        let slot = pane.0 % SLOTS;
        let turn = self.0[slot as usize].lock().await;
        Slot { buffer: Buffer::of_this_process(slot), _turn: turn }
    }
}

impl Slot<'_> {
    /// The buffer.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Deletes what was laid into it and not pasted.
    pub async fn clear(&self, plain: &Plain) {
        plain.run_script(&self.buffer.clear(), STEP_DEADLINE).await.ok();
    }
}
