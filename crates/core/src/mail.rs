//! Mail: messages between people and agents, from the moment one is accepted to the one outcome it comes to.
//!
//! | stage | what it means | what can come next |
//! |---|---|---|
//! | queued | kept; nothing was done with it | leased, expired, cancelled, dead |
//! | leased | chosen for a delivery; nothing was typed | started, queued, cancelled, dead |
//! | started | it may have been typed; it is never typed again | submitted, confirmed, unconfirmed; queued if surely nothing was typed |
//! | submitted | the agent seems to have taken it | confirmed, unconfirmed |
//! | confirmed | its id was seen in what the agent itself says it was given | — |
//! | unconfirmed | it may have arrived; nobody can say | confirmed, should the agent say so later |
//! | expired, cancelled, dead | it was not delivered | — |
//!
//! Making room for a message, and waiting for whoever types, come before *started*: a crash then leaves it in the queue.
//! A letter never goes back over the line between *leased* and *started* unless it is certain that nothing was typed, so that none
//! is delivered twice; and every letter ends in exactly one of the last five, so that none is lost. The text itself is not
//! kept here: whoever delivers asks the store for it. What is sent to a runtime never goes to another one;
//! should one go on with its conversation, it is sent a message of its own ([`Again`]).

mod addressee;
mod again;
mod because;
mod busy;
mod command;
mod draft;
mod envelope;
mod fact;
mod given;
mod interrupted;
mod letter;
mod limits;
mod notice;
mod opening;
mod passing;
mod policy;
mod post;
mod receptive;
mod recovery;
mod repeat;
mod request;
mod sanitized;
mod series;
mod stage;
mod steps;

pub use again::{Again, Fate, Stranded, Stray};
pub use busy::Busy;
pub use draft::{Aside, Draft};
pub use envelope::{closed, envelope, may_hold_receipts, receipts};
pub use fact::{MailFact, Receipt};
pub use given::Given;
pub use letter::{Category, DeliveryId, Letter, MailId, Mode, Party, Series, Wanted};
pub use limits::Limits;
pub use notice::Notice;
pub use opening::Opening;
pub use passing::Late;
pub use policy::{Correspondent, MailPolicy, Pattern, Rule};
pub use post::{Delivery, Entry, Mailbox, Post, Step};
pub use receptive::{Due, Hindrance, rest_for};
pub use recovery::{Trace, recovered};
pub use request::{NewLetter, Posted};
pub use sanitized::{Objection, Sanitized, TEXT_LIMIT};
pub use stage::{Ended, Stage};
pub use steps::Transition;
