//! Who is at the other end, as the kernel says.

use std::time::{Duration, Instant};

use agtmux_core::id::ProcessKey;
use agtmux_wire::error::ErrorCode;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

use crate::error::CommandError;
use crate::platform;

/// By how much the clock that a process's start is read from may be off.
const SLACK: Duration = Duration::from_millis(100);

/// The process that made a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its user; none when the kernel would not say.
    pub uid: Option<u32>,
    /// Its process, where the platform tells.
    pub pid: Option<u32>,
    /// When the connection was made.
    pub since: Instant,
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        let credentials = stream.io().peer_cred().ok();
        let pid = credentials.as_ref().and_then(|credentials| u32::try_from(credentials.pid()?).ok());
        Self {
            uid: credentials.as_ref().map(|credentials| credentials.uid()),
            // A process that has no number in this namespace is given as zero.
            pid: pid.filter(|pid| *pid != 0),
            since: Instant::now(),
        }
    }
}

impl Peer {
    /// Whether it is of the user that the daemon runs as: the directory keeps others out, and this holds where it does not.
    pub fn is_same_user(&self) -> bool {
        self.uid == Some(rustix::process::getuid().as_raw())
    }

    /// The process that made the connection and those that it runs below, itself first; none where the platform does not tell.
    ///
    /// A connection outlives the process that made it if that one left it to another. Nobody can say then who asks, and whoever
    /// nothing is known of would be taken for a person.
    ///
    /// # Errors
    /// Refused if that process is gone, or its number is another one's by now.
    pub fn lineage(&self) -> Result<Vec<ProcessKey>, CommandError> {
        let Some(pid) = self.pid else { return Ok(Vec::new()) };
        let lineage: Vec<_> =
            platform::ancestors(pid).into_iter().map(|(pid, start)| ProcessKey { pid, start }).collect();
        let is_it = |process: &ProcessKey| platform::age(process.start) + SLACK >= self.since.elapsed();
        // What has ended since it was read was there to be read.
        if lineage.first().is_some_and(is_it) && !platform::has_ended(pid) {
            return Ok(lineage);
        }
        Err(CommandError::new(ErrorCode::NotAllowed, "whoever asks is gone")
            .hint("the process that connects has to stay until it is answered, and its connection is not for others"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn only_the_process_that_connected_and_is_there_can_ask() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let peer = Peer { uid: Some(0), pid: Some(child.id()), since: Instant::now() };
        let lineage: Vec<_> = peer.lineage().unwrap().iter().map(|process| process.pid).collect();
        assert_eq!(lineage[..2], [child.id(), std::process::id()]);

        // The connection was made before this process was: another one had its number.
        if let Some(since) = peer.since.checked_sub(Duration::from_secs(60)) {
            let before = Peer { since, ..peer };
            assert_eq!(before.lineage().unwrap_err().code, ErrorCode::NotAllowed);
        }

        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(peer.lineage().unwrap_err().code, ErrorCode::NotAllowed);

        let untold = Peer { pid: None, ..peer };
        assert_eq!(untold.lineage().unwrap(), []);
    }
}
