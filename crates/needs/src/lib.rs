//! Questions to a person, in one table.
//!
//! A part that needs a person records an event in its own commit: [`ask_event`] for a worker's permission and a held call.
//! A dead letter and a held message file become questions by the events that their parts record anyway. [`Needs`] makes
//! rows of them, [`resolve`] answers, and [`expire`] expires those without an answer in time. The log reports the
//! outcome to the part that asked.

mod error;
mod expire;
mod read;
mod resolve;
mod table;
mod task;

pub use error::Error;
pub use expire::expire;
pub use read::{
    ask_of, count_open, denied_to, find, get, list, open_calls, open_merges, open_of, option_of, outcomes_of,
    refused_to,
};
pub use resolve::{Decision, ask_event, choose, note_of, resolve, resolved};
pub use table::{NEEDS, Needs};
pub use task::{Ended, allowed_since, answer_about_task, ask_about_change, ask_about_denied, notes};
