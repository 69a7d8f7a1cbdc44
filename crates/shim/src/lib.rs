//! The wrapper around an agent: a terminal in the middle, between the pane and the agent.
//!
//! It passes every byte on as it is, both ways, and gives the agent what a terminal gives: size, signals, job control, an exit
//! status. Because every key goes through it, it can do what nobody outside can: hold the keys of a person for the moment in
//! which a message is typed, and hand them on afterwards ([`arbiter`]). Requests for that come over a socket ([`socket`],
//! [`protocol`]), each with an id that is done once for the life of the agent.
//!
//! The agent's terminal is worth more than any message. Whatever goes wrong here (no socket, no memory, a request that is
//! nonsense), the bytes go on.
//!
//! Three processes: the shim on the pane's terminal, the [`keeper`] that leads the session of the agent's own terminal, and the
//! agent. Nothing of agtmux is used here, no thread is started and nothing is allocated for a byte that passes.

pub mod arbiter;
pub mod buffer;
pub mod farewell;
mod inbox;
mod keeper;
pub mod keyboard;
pub mod modes;
pub mod protocol;
mod pty;
mod relay;
mod script;
mod seen;
mod signals;
mod socket;
mod standing;
mod start;
mod terminal;
mod typed;

use std::io;
use std::path::PathBuf;

pub use inbox::{Arrived, Inbox, Malformed};
pub use start::{NAME_VARIABLE, SOCKETS_VARIABLE, main};

/// The name of the program.
const PROGRAM: &str = "agtmux-shim";

/// Finds the program, which is beside the one that asks.
///
/// # Errors
/// When it is not there.
pub fn program() -> io::Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name(PROGRAM);
    match beside.metadata() {
        Ok(_) => Ok(beside),
        Err(error) => Err(io::Error::new(error.kind(), format!("{PROGRAM} is not beside agtmux: {error}"))),
    }
}
