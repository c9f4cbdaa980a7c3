//! `renew_lease`: sets a new deadline for a lease of the caller.

use serde_json::json;
use switchboard_protocol::lease::{Lease, LeaseEvent};
use switchboard_protocol::verb::lease::{RenewLeaseReply, RenewLeaseRequest};

use super::book::{ATTEMPTS, LeaseBook};
use super::{refusal, span};
use crate::{Call, Error, repeated};

// === impl LeaseBook ===

impl LeaseBook {
    /// Sets a new deadline for a lease.
    ///
    /// # Errors
    /// `lease.lost` if it is over or the token belongs to another grant, `lease.not-yours`, `request.bad-args`; a
    /// failure of the store.
    pub async fn renew_lease(&self, call: &Call, request: RenewLeaseRequest) -> Result<RenewLeaseReply, Error> {
        let asked = request.ttl_seconds.map(span).transpose()?;
        let mut folded = self.lock().await?;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let now = self.now();
            let held =
                folded.book.held(&request.lease, &call.caller.name, request.token, now).map(|claim| claim.lease(now));
            let committed = match held {
                Err(unusable) => {
                    let refusal = refusal::unusable(unusable, &request.lease);
                    repeated::or_refuse(&self.store, call.idempotency.as_ref(), refusal).await
                }
                Ok(lease) => {
                    let span = asked.unwrap_or(lease.ttl_ms);
                    let lease = Lease { ttl_ms: span, left_ms: span, ..lease };
                    let event = LeaseEvent::LeaseRenewed { id: lease.id.clone(), at: now, span };
                    self.commit(&mut folded, call.batch().reply(json!(lease)), call.caller.name.as_str(), &[event])
                        .await
                }
            };
            match committed {
                Ok(committed) => return Ok(RenewLeaseReply { lease: serde_json::from_value(committed.reply)? }),
                Err(Error::Store(switchboard_store::Error::Conflict { .. })) if attempt < ATTEMPTS => {
                    self.catch_up(&mut folded)?
                }
                Err(error) => return Err(error),
            }
        }
    }
}
