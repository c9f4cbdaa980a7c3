//! Calls that were made before.

use switchboard_protocol::error::Failure;
use switchboard_store::{Batch, Committed, Durability, Guard, Idempotency, Query, Store};

use crate::Error;
use crate::agents::AGENTS;

/// The first answer to a call that was made before under its key; else the refusal. A call whose effect is in the way of its
/// own repetition (it released what it would release) is answered by this.
pub(crate) async fn or_refuse(store: &Store, key: Option<&Idempotency>, refusal: Failure) -> Result<Committed, Error> {
    let Some(key) = key else { return Err(Error::Refused(refusal)) };
    // A guard that never holds is looked at after the key and before anything is written.
    let never = Guard::Fewer { query: Query::table(AGENTS), than: 0, refusal };
    Ok(store.commit(Batch::new(Durability::Written).idempotent(key.clone()).guard(never)).await?)
}
