//! The reader on real files, with real processes as agents and the kernel's own notices.

mod claude;
mod corpus;
mod desk;
mod events;
mod record;
mod status;
