//! The lab: real agents in real tmux, against a scripted model, checked against what agtmux says of them.
//!
//! `README.md` says how to run it and how to write a story.

pub mod agent;
pub mod alike;
pub mod cross;
mod follower;
mod home;
pub mod install;
pub mod mail;
pub mod model;
mod place;
pub mod play;
pub mod record;
pub mod report;
pub mod ring;
mod stage;
pub mod stories;
pub mod story;
mod terminal;
pub mod typing;
