//! Addressed, durable, acknowledged messages between agents and people.
//!
//! Each verb is a file: it looks at the projections, asks a pure rule of `pipeline`, makes events with the guards that the writer checks, and commits them
//! once. [`Agents`], [`Teams`], [`Leases`] and [`Mail`] are the projections: the roster, who is in which team, who holds what; and where every
//! message stands in its recipient's queue ([`switchboard_pipeline::delivery`]) and before its recipient's eyes (`accepted → offered → injected → acked → done`,
//! never back; only evidence moves it to `injected`). [`LeaseBook`] decides who may hold what.

mod ack_message;
mod addressee;
mod agents;
mod announce;
pub mod auth;
mod check_inbox;
mod cursor;
mod dead_letters;
mod deliver;
mod dismiss;
mod error;
mod feed;
mod lease;
mod leases;
mod list_messages;
mod mail;
mod message;
mod outgoing;
mod queue;
mod receive_messages;
mod register_agent;
mod repeated;
mod resolve;
mod retention;
mod roster;
mod search_messages;
mod send_message;
mod send_request;
mod set_agent_status;
mod team;
mod teams;

pub use ack_message::{ack_message, cancel_message, extend_message, nak_message, revive_message};
pub use agents::Agents;
pub use announce::{Announcements, announcements};
pub use check_inbox::check_inbox;
pub use cursor::{cursor, place};
pub use dead_letters::{
    DeadLetter, DeadLetters, Unseen, bury, dead, dead_letters, find_dead_letters, settle_dead_letter, unseen,
};
pub use deliver::{injected, is_known, message, offered, waiting};
pub use dismiss::{dismiss_terminals, dismiss_workers};
pub use error::Error;
pub use feed::read_inbox_events;
pub use lease::{LeaseBook, Uptime};
pub use leases::Leases;
pub use list_messages::list_messages;
pub use mail::Mail;
pub use queue::{Swept, sweep};
pub use receive_messages::receive_messages;
pub use register_agent::{departure, register_agent, register_chat_agent, register_terminal, registration};
pub use resolve::resolve;
pub use retention::RETENTION;
pub use roster::{agent, kind_of, roster, unread_total};
pub use search_messages::search_messages;
pub use send_message::{send_message, send_team_message};
pub use send_request::send_request;
pub use set_agent_status::set_agent_status;
pub use team::{members, remove_team, set_team, teams};
pub use teams::Teams;

use std::path::PathBuf;

use switchboard_protocol::caller::Caller;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::message::{INBOX_BYTES, INBOX_LIMIT};
use switchboard_store::{Batch, Durability, Idempotency, Projection};

/// Every projection of the bus, for whoever opens the store.
#[must_use]
pub fn projections() -> Vec<Box<dyn Projection>> {
    vec![Box::new(Agents), Box::new(DeadLetters), Box::new(Leases), Box::new(Mail), Box::new(Teams)]
}

/// A call as the bus gets it: who makes it, under which key, when it is answered, and the limits that hold.
#[derive(Debug, Clone)]
pub struct Call {
    /// Who calls.
    pub caller: Caller,
    /// Names the call; `None` for one that is never repeated.
    pub idempotency: Option<Idempotency>,
    /// When it is answered, from the verb's row.
    pub durability: Durability,
    /// The folder to which relative paths in a message belong.
    pub root: Option<PathBuf>,
    /// How much an inbox holds.
    pub limits: Limits,
}

/// How much one inbox holds that is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Messages.
    pub messages: i64,
    /// Bytes of their payloads.
    pub bytes: i64,
}

// === impl Call ===

impl Call {
    /// An agent whose name is proven, with no key, no folder and the usual limits; a caller says what else holds.
    #[must_use]
    pub fn of(name: AgentName) -> Self {
        Self {
            caller: Caller::agent(name),
            idempotency: None,
            durability: Durability::Synced,
            root: None,
            limits: Limits::default(),
        }
    }

    /// An empty batch with the call's key and durability.
    #[must_use]
    pub fn batch(&self) -> Batch {
        Batch { idempotency: self.idempotency.clone(), ..Batch::new(self.durability) }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { messages: INBOX_LIMIT, bytes: INBOX_BYTES }
    }
}
