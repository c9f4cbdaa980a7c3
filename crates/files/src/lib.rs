//! The file protocol: messages as JSON files in `.switchboard/`, for agents that have no other way to talk.
//!
//! A file is a face like any other: what comes in enters as the verb `send_message`, what goes out is a copy of what the
//! log holds. This module has the formats ([`MessageFile`], [`ResultFile`], [`Receipt`]), the only code that touches the
//! folders ([`Folder`], which follows no link), and the record of what was taken, held, written and picked up ([`Files`]).
//! The daemon's loop puts them together.
//!
//! ```text
//!  dropped ─▶ taken ─▶ send_message ─▶ archived          message ─▶ staged ─▶ written ─▶ gone (picked up)
//!       ├───▶ held  ─▶ a person's yes ─▶ taken               (temporary file)  (renamed)
//!       └───▶ refused ─▶ set aside, with a reason
//! ```

mod folder;
mod held;
mod intake;
mod message;
mod names;
mod outgoing;
mod receipt;
mod record;

pub use folder::{Entry, Folder, Look, Unusable, temporary};
pub use held::{Held, due, find_held, held, held_message, list_held, settle_held};
pub use intake::{Known, Taking, forget_nonces, hold, known, refuse, take};
pub use message::{MAX_FILE_BYTES, MessageFile, Origin, is_unfinished};
pub use names::{canonical, folder_for};
pub use outgoing::{
    News, Out, cursor, is_reached, mark_gone, mark_written, news, outstanding, render, stage, waiting_without_file,
    was_written,
};
pub use receipt::{Receipt, ResultFile, Status};
pub use record::{FileEvent, Files, Gone, Sent, sent_in};
