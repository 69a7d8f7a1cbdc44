//! Ways in for what agents leave behind, besides the API: each turns traces into readings and hands them to the daemon.

pub mod backlog;
pub mod files;
pub mod hooks;
pub mod plugin;
pub mod screens;
pub mod servers;
pub mod sessions;
