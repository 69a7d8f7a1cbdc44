//! The lab: real agents in real tmux, against a scripted model, checked against what agtmux says of them.
//!
//! `README.md` says how to run it and how to write a story.

pub mod model;
