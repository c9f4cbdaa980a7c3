//! Leases on files, units and terminals: the verbs, and the book that they ask.

mod book;
mod clock;
mod refusal;
mod release;
mod renew;
mod reserve;

use switchboard_pipeline::lease::{MAX_SPAN, MIN_SPAN};
use switchboard_protocol::error::Failure;
use switchboard_protocol::verb::lease::{ListLeasesReply, ListLeasesRequest};

pub use book::LeaseBook;
pub use clock::Uptime;

use crate::Error;
use crate::error::refuse;

/// Leases in an answer unless asked otherwise, and at most.
const LISTED: (u32, u32) = (100, 1_000);

// === impl LeaseBook ===

impl LeaseBook {
    /// Lists the live leases, oldest first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn list_leases(&self, request: &ListLeasesRequest) -> Result<ListLeasesReply, Error> {
        let folded = self.lock().await?;
        let now = self.now();
        let limit = request.limit.unwrap_or(LISTED.0).clamp(1, LISTED.1) as usize;
        let live: Vec<_> = match &request.agent {
            Some(agent) => folded.book.of(&agent.folded()).filter(|claim| claim.deadline > now).collect(),
            None => folded.book.live(now).collect(),
        };
        let leases = live.iter().take(limit).map(|claim| claim.lease(now)).collect();
        Ok(ListLeasesReply { leases, total: live.len() as u64 })
    }
}

fn span(seconds: u64) -> Result<u64, Error> {
    let span = seconds.saturating_mul(1_000);
    if (MIN_SPAN..=MAX_SPAN).contains(&span) {
        return Ok(span);
    }
    let what = format!("ttl_seconds is from {} to {}, not {seconds}", MIN_SPAN / 1_000, MAX_SPAN / 1_000);
    refuse(Failure::new("request.bad-args", what))
}
