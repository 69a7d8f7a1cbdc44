//! What each coding agent's traces mean.
//!
//! An agent is data first: a TOML [`Manifest`] says how its process is recognised and how long each of its
//! facts may be believed. The [`Registry`] holds the built-in manifests and those of the user;
//! [`identify`] finds the agent in a pane by the process tree below it.
//!
//! This crate is pure. It reads no clock, no file, no environment and no process table: a caller brings the
//! bytes, and the same bytes always give the same answer. It knows nothing of tmux either; titles, working
//! directories and screen text never decide *which* agent runs in a pane.

pub mod answer;
pub mod approve;
pub mod aside;
mod capabilities;
mod command_line;
pub mod detector;
mod discover;
mod extension;
pub mod following;
pub mod glance;
pub mod guess;
pub mod instructions;
pub mod interrupt;
pub mod key;
pub mod launch;
mod manifest;
mod matching;
pub mod printed;
mod reading;
mod registry;
pub mod release;
pub mod schmux;
pub mod screen;
pub mod send;
pub mod setup;
pub mod transcript;
pub mod translate;
mod ttl;

pub use capabilities::{Capabilities, HooksTell};
pub use detector::{Sighting, SignalDetector};
pub use discover::{Found, Look, Process, explain, identify, is_helper, own_processes};
pub use manifest::{CONTRACT, Manifest, ManifestError, ProcessRules};
pub use reading::Reading;
pub use registry::{Entry, ManifestProblem, Origin, Registry};
