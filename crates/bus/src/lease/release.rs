//! `release_files`: one lease, or all of the caller's.

use serde_json::json;
use switchboard_pipeline::lease::Unusable;
use switchboard_protocol::error::Failure;
use switchboard_protocol::lease::{Ending, LeaseEvent, LeaseId};
use switchboard_protocol::verb::lease::{ReleaseFilesReply, ReleaseFilesRequest};
use switchboard_store::Batch;

use super::book::{ATTEMPTS, Folded, LeaseBook, ended};
use super::refusal;
use crate::error::refuse;
use crate::{Call, Error};

/// Maximum number of leases released by one commit.
const RELEASED_AT_ONCE: usize = 1_000;

// === impl LeaseBook ===

impl LeaseBook {
    /// Releases one lease, or all of the caller's. Releasing a lease that has already ended succeeds.
    ///
    /// # Errors
    /// `lease.not-yours` (a person may release any), `lease.lost` if the given token belongs to another grant; a
    /// failure of the store.
    pub async fn release_files(&self, call: &Call, request: ReleaseFilesRequest) -> Result<ReleaseFilesReply, Error> {
        let mut folded = self.lock().await?;
        let mut released: Vec<LeaseId> = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let now = self.now();
            let mut ends = endings(&folded, call, &request, now)?;
            let is_last = ends.len() <= RELEASED_AT_ONCE;
            ends.truncate(RELEASED_AT_ONCE);
            let ids = ends.iter().filter_map(|event| match event {
                LeaseEvent::LeaseEnded { id, .. } => Some(id.clone()),
                LeaseEvent::LeaseGranted { .. }
                | LeaseEvent::LeaseGlobsAdded { .. }
                | LeaseEvent::LeaseRenewed { .. }
                | LeaseEvent::LeasesResumed { .. } => None,
            });
            let so_far: Vec<_> = released.iter().cloned().chain(ids).collect();
            // The last of several commits is the call's own and carries its key, even if no lease is left to end.
            let batch = if is_last { call.batch().reply(json!(so_far)) } else { Batch::synced() };
            match self.commit(&mut folded, batch, call.caller.name.as_str(), &ends).await {
                Ok(committed) if is_last => {
                    return Ok(ReleaseFilesReply { released: serde_json::from_value(committed.reply)? });
                }
                Ok(_) => {
                    released = so_far;
                    attempt = 0;
                }
                Err(Error::Store(switchboard_store::Error::Conflict { .. })) if attempt < ATTEMPTS => {
                    self.catch_up(&mut folded)?
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns the events that end the leases of a call.
fn endings(folded: &Folded, call: &Call, request: &ReleaseFilesRequest, at: u64) -> Result<Vec<LeaseEvent>, Error> {
    let end = |claim| ended(claim, Ending::Released, at);
    let Some(id) = &request.lease else {
        if request.token.is_some() {
            return refuse(Failure::new("request.bad-args", "a token belongs to a lease; say which"));
        }
        return Ok(folded.book.of(&call.caller.name.folded()).map(end).collect());
    };
    let Some(claim) = folded.book.find(id) else { return Ok(Vec::new()) };
    if claim.holder.folded() != call.caller.name.folded() && !call.caller.is_person() {
        return refuse(refusal::unusable(Unusable::Foreign, id));
    }
    if request.token.is_some_and(|token| token != claim.token) {
        return refuse(refusal::lost(id));
    }
    Ok(vec![end(claim)])
}
