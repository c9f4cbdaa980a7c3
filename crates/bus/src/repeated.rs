//! Detects repeated calls.

use switchboard_protocol::error::Failure;
use switchboard_store::{Batch, Committed, Durability, Guard, Idempotency, Query, Store};

use crate::Error;
use crate::agents::AGENTS;

/// Returns the first answer to an earlier call with the same idempotency key; else the refusal. This answers a repeated
/// call that its own effect would make fail (it released what it would release).
pub(crate) async fn or_refuse(store: &Store, key: Option<&Idempotency>, refusal: Failure) -> Result<Committed, Error> {
    let Some(key) = key else { return Err(Error::Refused(refusal)) };
    // A guard that always fails is checked after the key and before anything is written.
    let never = Guard::Fewer { query: Query::table(AGENTS), than: 0, refusal };
    Ok(store.commit(Batch::new(Durability::Written).idempotent(key.clone()).guard(never)).await?)
}
