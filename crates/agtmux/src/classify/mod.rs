//! The last resort: a language model that looks at the screens of agents nobody speaks for.
//!
//! Whether an agent is one of those is `core::silence`'s question, what to ask and what an answer means is
//! `agents::guess`'s. Here is what lies between: [`Ledger`] decides by pure bookkeeping whether a screen is worth a
//! request, [`Client`] makes the request, and [`Screen`] is what may leave the process. The daemon moves things between
//! the three; this module knows neither it nor the API.

mod client;
mod command;
mod http;
mod ledger;
mod screen;
#[cfg(test)]
mod tests;

pub use client::{AskError, Client, SetupError};
pub use ledger::{Ledger, Step};
pub use screen::{Screen, ScreenHash};
