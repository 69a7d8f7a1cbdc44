//! A model that does what the prompt says: `say:hello`, `tool:bash:touch x`, `error:429`.
//!
//! It speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini, on one ephemeral loopback port. Each
//! dialect only translates; what is said is decided in [`script`], so that one story plays the same with every agent.

mod anthropic;
mod chat;
mod conversation;
mod dialect;
mod gemini;
mod responses;
pub mod script;
mod server;
mod tools;

pub use server::{Asked, Server, Turn};
