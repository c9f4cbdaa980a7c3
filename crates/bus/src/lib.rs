//! Addressed, durable, acknowledged messages between agents and people.
//!
//! Each verb is a file: it looks at the projections, makes events with the guards that the writer checks, and commits
//! them once. [`Mail`] is the projection: the roster and every message's delivery state. A message moves
//! `accepted → offered → injected → acked`, never back; only evidence moves it to `injected`.

mod ack_message;
mod check_inbox;
mod deliver;
mod error;
mod list_messages;
mod mail;
mod register_agent;
mod retention;
mod roster;
mod search_messages;
mod send_message;
mod set_agent_status;

pub use ack_message::ack_message;
pub use check_inbox::check_inbox;
pub use deliver::{injected, waiting};
pub use error::Error;
pub use list_messages::list_messages;
pub use mail::Mail;
pub use register_agent::{announce, register_agent};
pub use retention::RETENTION;
pub use roster::{agent, roster, unread_total};
pub use search_messages::search_messages;
pub use send_message::send_message;
pub use set_agent_status::set_agent_status;

use protocol::id::AgentName;
use store::Idempotency;

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
