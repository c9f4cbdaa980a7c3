//! Addressed, durable, acknowledged messages between agents and people.
//!
//! Each verb is a file: it looks at the projections, makes events with the guards that the writer checks, and commits
//! them once. [`Agents`], [`Leases`], [`Mail`] and [`Teams`] are projections: the roster, who holds
//! what, every message's delivery state, and who is in which team. [`LeaseBook`] decides who may hold what. A message moves
//! `accepted → offered → injected → acked`, never back; only evidence moves it to `injected`.

mod ack_message;
mod agents;
mod check_inbox;
mod deliver;
mod dismiss_terminals;
mod error;
mod lease;
mod leases;
mod list_messages;
mod mail;
mod register_agent;
mod repeated;
mod resolve;
mod roster;
mod send_message;
mod set_agent_status;
mod team;
mod teams;

pub use ack_message::ack_message;
pub use agents::Agents;
pub use check_inbox::check_inbox;
pub use deliver::{injected, waiting};
pub use dismiss_terminals::dismiss_terminals;
pub use error::Error;
pub use lease::{LeaseBook, Uptime};
pub use leases::Leases;
pub use list_messages::list_messages;
pub use mail::Mail;
pub use register_agent::{announce, departure, register_agent, register_chat_agent, register_terminal};
pub use resolve::resolve;
pub use roster::{agent, roster, unread_total};
pub use send_message::send_message;
pub use set_agent_status::set_agent_status;
pub use team::{members, remove_team, set_team, teams};
pub use teams::Teams;

use protocol::id::AgentName;
use store::{Idempotency, Projection};

/// Every projection of the bus, for whoever opens the store.
#[must_use]
pub fn projections() -> Vec<Box<dyn Projection>> {
    vec![Box::new(Agents), Box::new(Leases), Box::new(Mail), Box::new(Teams)]
}

/// Who asks, as the face and the policy found it.
#[derive(Debug, Clone)]
pub struct Asker {
    /// The name.
    pub name: AgentName,
    /// Whether the name is proven by a token.
    pub is_verified: bool,
    /// Whether this is the person who owns the repository; people may look into every inbox.
    pub is_person: bool,
    /// The key of a mutating call.
    pub idempotency: Option<Idempotency>,
}
