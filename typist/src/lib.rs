//! People who type into agents while messages are put into the same input, and an oracle that says what came of it.
//!
//! A fake agent writes down everything that is submitted to it. Scripted typists sit at real tmux clients. Injectors put
//! messages into the panes, each in its own way. Every line and every message carries an id and a checksum, so that the log of
//! submissions tells what happened to each.

pub mod body;
pub mod client;
pub mod composer;
pub mod deaths;
pub mod inject;
pub mod journal;
pub mod mischief;
pub mod oracle;
pub mod person;
pub mod prove;
pub mod report;
pub mod run;
pub mod script;
pub mod sender;
pub mod stage;
pub mod tui;
