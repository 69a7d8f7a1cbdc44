//! Screens of the real agents: a recording in, what is read from it out.

mod blank;
mod colourless;
mod edits;
mod recordings;

mod safety;
mod snapshots;
