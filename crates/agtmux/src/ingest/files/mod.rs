//! Reads the files by which agents say, or betray, what they do: status and events files, and the records that vendors'
//! programs keep.
//!
//! One thread reads ([`reader`]), with one instance of inotify for everything ([`watcher`]). What belongs to which runtime
//! is settled by the runtime's process: its environment, its directory, its open files ([`surroundings`]). Everything is
//! bounded, and a runtime that ends lets go of all that was watched for it.

mod claude;
mod events;
mod journal;
mod located;
mod order;
mod reader;
mod record;
mod status;
mod surroundings;
mod tail;
#[cfg(test)]
mod tests;
mod trace;
mod watcher;

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use agtmux_core::mail::Receipt;
use tokio::sync::mpsc;

use crate::daemon::Handle;
use crate::error::CommandError;
use crate::target::manifests::Manifests;
use reader::Reader;
use trace::Told;

/// How much may wait to be taken in. A reader that is ahead waits, and reads the latest when it goes on.
const WAITING: usize = 256;

/// Reads agents' files until the daemon ends.
pub async fn run(handle: Handle, manifests: Manifests) {
    if let Err(error) = follow(&handle, manifests).await {
        tracing::error!(%error, "agents' files are not read");
    }
}

async fn follow(handle: &Handle, manifests: Manifests) -> io::Result<()> {
    let (mut waker, wake) = UnixStream::pair()?;
    waker.set_nonblocking(true)?;
    wake.set_nonblocking(true)?;
    let (told, mut heard) = mpsc::channel(WAITING);
    let mut roster = handle.roster();
    let reader = Reader::new(handle.roster(), manifests, told);
    // It ends by itself when the waker is dropped. Nobody waits for that: it may hang on a slow disk.
    thread::Builder::new().name("files".to_owned()).spawn(move || reader.run(&wake))?;
    loop {
        let taken = tokio::select! {
            changed = roster.changed() => match changed {
                Ok(()) => {
                    // A full waker has woken the reader already.
                    waker.write_all(&[0]).ok();
                    Ok(())
                }
                Err(_ended) => return Ok(()),
            },
            Some(news) = heard.recv() => tell(handle, news).await,
            else => return Ok(()),
        };
        if taken.is_err() {
            return Ok(());
        }
    }
}

async fn tell(handle: &Handle, news: Told) -> Result<(), CommandError> {
    match news {
        Told::Said(said) => handle.said(*said).await,
        Told::Conversation(runtime, conversation) => handle.conversation(runtime, conversation).await,
        Told::Given(runtime, text) => handle.mail_read(runtime, text, Receipt::Transcript).await,
        Told::Trouble(trouble) => handle.trouble("files", trouble).await,
    }
}
