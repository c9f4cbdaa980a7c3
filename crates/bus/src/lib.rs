//! Addressed, durable, acknowledged messages between agents and people.
//!
//! Each verb is a file: it reads the projections, asks a pure rule of `pipeline`, makes events with guards that the
//! writer checks, and commits them once. [`Agents`], [`Teams`], [`Leases`] and [`Mail`] are the projections: the
//! roster, the members of teams, the holders of leases, and the position of every message in its recipient's queue
//! ([`switchboard_pipeline::delivery`]) with the state of its delivery (`accepted → offered → injected → acked → done`,
//! never back; only evidence moves it to `injected`). [`LeaseBook`] decides on leases.

mod ack_message;
mod addressee;
mod agents;
mod announce;
pub mod auth;
mod call;
mod check_inbox;
mod count_mail;
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
mod note;
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
pub use call::{Call, IsAlive, Limits};
pub use check_inbox::check_inbox;
pub use count_mail::{MailCount, count_mail};
pub use cursor::{cursor, place};
pub use dead_letters::{
    DeadLetter, DeadLetters, Unseen, dead, dead_letters, end_unseen, find_dead_letters, settle_dead_letter, unseen,
};
pub use deliver::{injected, is_known, message, offered, waiting};
pub use dismiss::{dismiss_terminals, dismiss_workers};
pub use error::Error;
pub use feed::read_inbox_events;
pub use lease::{LeaseBook, Uptime};
pub use leases::Leases;
pub use list_messages::list_messages;
pub use mail::Mail;
pub use note::{note, understood};
pub use queue::{Swept, sweep};
pub use receive_messages::receive_messages;
pub use register_agent::{departure, name_taken, register_agent, register_chat_agent, register_terminal, registration};
pub use resolve::resolve;
pub use retention::RETENTION;
pub use roster::{agent, held_by, holder, kind_of, roster, unread_total};
pub use search_messages::search_messages;
pub use send_message::{send_message, send_team_message};
pub use send_request::send_request;
pub use set_agent_status::set_agent_status;
pub use team::{members, remove_team, set_team, teams};
pub use teams::Teams;

use switchboard_store::Projection;

/// Returns all projections of the bus, for opening a store.
#[must_use]
pub fn projections() -> Vec<Box<dyn Projection>> {
    vec![Box::new(Agents), Box::new(DeadLetters), Box::new(Leases), Box::new(Mail), Box::new(Teams)]
}
