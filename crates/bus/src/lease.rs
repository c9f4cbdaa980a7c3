//! Leases on files, units and terminals: the verbs, and the lease book that decides.

mod book;
mod clock;
mod refusal;
mod release;
mod renew;
mod reserve;

use std::collections::BTreeSet;
use std::time::Duration;

use switchboard_pipeline::lease::{MAX_SPAN, MIN_SPAN};
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::lease::SUBJECT;
use switchboard_protocol::run::HeldBy;
use switchboard_protocol::verb::lease::{ListLeasesReply, ListLeasesRequest};
use switchboard_store::Interest;

pub use book::LeaseBook;
pub use clock::Uptime;

use crate::Error;
use crate::error::refuse;

/// Default and maximum number of leases in an answer.
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

/// Maximum difference between two readings of the same lease's end, in milliseconds: they are computed from two clocks.
const SAME_MS: u64 = 1_000;

// === impl LeaseBook, for merges ===

impl LeaseBook {
    /// Returns the lease of another agent on files that an agent is about to change; of several, the one that ends
    /// last.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn held_by_others(&self, own: Option<&AgentName>, files: &[String]) -> Result<Option<HeldBy>, Error> {
        let folded = self.lock().await?;
        let conflicts = folded.book.reserved(&own.map(AgentName::folded).unwrap_or_default(), files, self.now());
        let Some(longest) = conflicts.iter().max_by_key(|conflict| conflict.lease.left_ms) else { return Ok(None) };
        let of_holder = conflicts.iter().filter(|conflict| conflict.lease.holder == longest.lease.holder);
        let left = i64::try_from(longest.lease.left_ms).unwrap_or(i64::MAX);
        Ok(Some(HeldBy {
            holder: longest.lease.holder.clone(),
            files: of_holder.map(|conflict| conflict.wanted.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
            until: self.store.now().plus(left),
        }))
    }

    /// Waits until no other agent has reserved the files, or until the lease is not the known one.
    ///
    /// # Errors
    /// When the store can't be read or is closed.
    pub async fn held_by_another(
        &self,
        own: Option<&AgentName>,
        files: &[String],
        known: &HeldBy,
    ) -> Result<Option<HeldBy>, Error> {
        let interests = [Interest::Subject(SUBJECT.to_owned()), Interest::Kind("agent_left".to_owned())];
        let mut changes = self.store.subscribe(interests);
        loop {
            let held = self.held_by_others(own, files).await?;
            let is_known = |held: &HeldBy| {
                (&held.holder, &held.files) == (&known.holder, &known.files)
                    && held.until.since(known.until).unsigned_abs() < SAME_MS
            };
            let Some(same) = held.clone().filter(is_known) else { return Ok(held) };
            let left = u64::try_from(same.until.since(self.store.now())).unwrap_or(0);
            tokio::select! {
                changed = changes.changed() => drop(changed?),
                () = tokio::time::sleep(Duration::from_millis(left.max(10))) => {}
            }
        }
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
