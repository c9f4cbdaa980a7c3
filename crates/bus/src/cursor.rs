//! Cursors of the log. The hash in a cursor detects a different record, and one that was restored to an earlier state.

use switchboard_protocol::error::Failure;
use switchboard_protocol::event::Lsn;
use switchboard_protocol::text::cut;
use switchboard_store::Store;

use crate::Error;
use crate::error::refuse;

/// Number of digits of the hash in a cursor.
const HASH_DIGITS: usize = 16;

/// Returns the cursor of a position in the log: `LSN-HASH`, with the beginning of that event's hash.
///
/// # Errors
/// When the store can't be read.
pub fn cursor(store: &Store, lsn: Lsn) -> Result<String, Error> {
    Ok(format!("{lsn}-{}", hash_at(store, lsn)?.unwrap_or_default()))
}

fn hash_at(store: &Store, lsn: Lsn) -> Result<Option<String>, Error> {
    let text = match store.event(lsn)? {
        Some(event) => event.hash.to_string(),
        // The chain's id takes the place of a hash before the first event.
        None if lsn == 0 => store.chain_id().to_owned(),
        None => return Ok(None),
    };
    let digits: String = text.chars().rev().filter(char::is_ascii_alphanumeric).take(HASH_DIGITS).collect();
    Ok(Some(digits))
}

/// Returns the position of a cursor: one from an answer, `start` or `now`.
///
/// # Errors
/// `bus.cursor-ahead` and `bus.cursor-expired` for a cursor of another record, or of this one before it was restored to
/// an earlier state; `request.bad-args` for a text that is not a cursor.
pub fn place(store: &Store, cursor: &str) -> Result<Lsn, Error> {
    let head = store.head().lsn;
    let given = match cursor {
        "now" => return Ok(head),
        "start" => return Ok(0),
        given => given,
    };
    let parsed = given.split_once('-').and_then(|(lsn, hash)| Some((lsn.parse::<Lsn>().ok()?, hash)));
    let Some((lsn, hash)) = parsed else {
        let what = format!("{:?} is no cursor", cut(given, 40));
        return refuse(Failure::new("request.bad-args", what).hint("use the cursor of the last answer, start or now"));
    };
    if lsn > head {
        let what = format!("the cursor stands at {lsn}, the feed ends at {head}");
        return refuse(Failure::new("bus.cursor-ahead", what).hint("begin again with start or now"));
    }
    if hash_at(store, lsn)?.as_deref() != Some(hash) {
        let what = format!("at {lsn} this record is not the one that the cursor was made for");
        return refuse(Failure::new("bus.cursor-expired", what).hint("begin again with start or now"));
    }
    Ok(lsn)
}
