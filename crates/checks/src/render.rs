//! Renders a reply for a person, a program or a code host.

mod answer;
mod baseline;
mod sarif;
mod text;

use switchboard_protocol::finding::CheckReply;

pub use answer::answer;
pub use baseline::baseline;
pub use sarif::sarif;
pub use text::text;

/// Returns a reply as indented JSON, with the keys of [`CheckReply`].
#[must_use]
pub fn json(reply: &CheckReply) -> String {
    serde_json::to_string_pretty(reply).expect("a reply holds only strings, numbers and lists")
}
