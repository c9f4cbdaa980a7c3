//! The file protocol: messages as JSON files in `.switchboard/`, for agents without another way to communicate.
//!
//! Files are a face like any other: an incoming file is sent by the verb `send_message`, an outgoing one is a copy of
//! what the log holds. Start at [`serve`], the loop; [`Host`] is its interface to the daemon. Below it are the formats
//! ([`MessageFile`], [`ResultFile`], [`Receipt`]), the access to the folders ([`Folder`], which follows no link), and
//! the record of files taken, held, written and picked up ([`Files`]).
//!
//! ```text
//!  dropped ─▶ taken ─▶ send_message ─▶ archived          message ─▶ staged ─▶ written ─▶ gone (picked up)
//!       ├───▶ held  ─▶ a person's yes ─▶ taken               (temporary file)  (renamed)
//!       └───▶ refused ─▶ set aside, with a reason
//! ```

mod archive;
mod deliver;
mod error;
mod folder;
mod gathered;
mod host;
mod housekeeping;
mod intake;
mod look;
mod message;
mod mirror;
mod names;
mod receipt;
mod receipts;
mod record;
mod serve;
mod service;
mod watch;
mod writes;

pub use error::Error;
pub use folder::{Entry, Folder, Look, Unusable, temporary};
pub use host::{Answer, Host, Ruling, Sender};
pub use housekeeping::policy_problem;
pub use message::{MAX_FILE_BYTES, MessageFile, Origin, is_unfinished};
pub use names::{canonical, folder_for};
pub use receipt::{Receipt, ResultFile, Status};
pub use record::held::{Held, due, find_held, held, held_message, list_held, settle_held};
pub use record::incoming::{Known, Taking, forget_nonces, hold, known, refuse, take};
pub use record::outgoing::{
    News, Out, cursor, is_reached, mark_gone, mark_written, news, outstanding, render, stage, waiting_without_file,
    was_written,
};
pub use record::{Files, Sent, sent_in};
pub use serve::serve;
