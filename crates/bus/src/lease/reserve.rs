//! `reserve_files`: reserves a set of files completely or not at all. `reserve_agent`: reserves an agent, so that
//! others can't dispatch to it.

use serde_json::json;
use switchboard_pipeline::lease::{Ask, Verdict};
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::MAX_FACTS_BYTES;
use switchboard_protocol::lease::{DEFAULT_TTL_S, Lease, LeaseEvent, LeaseId, Mode, Resource};
use switchboard_protocol::verb::lease::{
    ReserveAgentReply, ReserveAgentRequest, ReserveFilesReply, ReserveFilesRequest,
};
use switchboard_store::Guard;

use super::book::{ATTEMPTS, Folded, LeaseBook};
use super::{refusal, span};
use crate::agents::AGENTS;
use crate::error::refuse;
use crate::leases::LEASES;
use crate::{Call, Error, addressee, repeated};

/// Maximum length of a reason, in bytes.
const MAX_REASON_BYTES: usize = 200;
/// Size of an event of globs without the globs, in bytes.
const PART_OVERHEAD: usize = 128;

// === impl LeaseBook ===

impl LeaseBook {
    /// Reserves a set of files completely or not at all. Requesting exactly the caller's present set renews its lease.
    /// `fresh` is the id of a new lease.
    ///
    /// # Errors
    /// `lease.conflict` with the holders, their files and the remaining time, `lease.unsafe-glob`, `lease.limit`,
    /// `bus.not-registered`, `request.bad-args`; a failure of the store.
    pub async fn reserve_files(
        &self,
        call: &Call,
        request: ReserveFilesRequest,
        fresh: LeaseId,
    ) -> Result<ReserveFilesReply, Error> {
        let span = span(request.ttl_seconds.unwrap_or(DEFAULT_TTL_S))?;
        check_reason(&request.reason)?;
        let ask = Ask::new(call.caller.name.clone(), Resource::Files(request.globs), request.mode, span)
            .map_err(refusal::unfit)?;
        Ok(ReserveFilesReply { lease: self.reserve(call, &ask, &request.reason, fresh).await? })
    }

    /// Reserves an agent: others' `execute` and `delegate_task` are refused with `bus.recipient-locked` until the lease is over.
    ///
    /// # Errors
    /// Those of [`reserve_files`](Self::reserve_files); `bus.unknown-recipient` or `bus.recipient-closed` for an agent
    /// that is not present.
    pub async fn reserve_agent(
        &self,
        call: &Call,
        request: ReserveAgentRequest,
        fresh: LeaseId,
    ) -> Result<ReserveAgentReply, Error> {
        let span = span(request.ttl_seconds.unwrap_or(DEFAULT_TTL_S))?;
        check_reason(&request.reason)?;
        let agent = addressee::recipient(&self.store, &request.agent)?;
        let ask = Ask::new(call.caller.name.clone(), Resource::Terminal(agent), Mode::Exclusive, span);
        let ask = ask.map_err(refusal::unfit)?;
        Ok(ReserveAgentReply { lease: self.reserve(call, &ask, &request.reason, fresh).await? })
    }

    /// Reserves anything: files, a unit, a terminal.
    ///
    /// # Errors
    /// Those of [`reserve_files`](Self::reserve_files).
    pub async fn reserve(&self, call: &Call, ask: &Ask, reason: &str, fresh: LeaseId) -> Result<Lease, Error> {
        let mut folded = self.lock().await?;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let now = self.now();
            self.swept(&mut folded, now).await?;
            let committed = match folded.book.decide(ask, now) {
                Err(refused) => repeated::or_refuse(&self.store, call.idempotency.as_ref(), refusal::of(refused)).await,
                Ok(verdict) => {
                    let wanted = requested_lease(&folded, verdict, ask, reason, &fresh, now);
                    let events = grant(&wanted, verdict, now)?;
                    let batch = call.batch().guard(unused(&wanted, verdict)).reply(json!(wanted));
                    let batch = if call.caller.is_person() { batch } else { batch.guard(on_roster(call)) };
                    self.commit(&mut folded, batch, call.caller.name.as_str(), &events).await
                }
            };
            match committed {
                Ok(committed) => {
                    let lease: Lease = serde_json::from_value(committed.reply)?;
                    // The token of a new lease is the position of its grant, which is only known after the commit.
                    let token = if lease.token == 0 { committed.first } else { lease.token };
                    return Ok(Lease { token, ..lease });
                }
                Err(Error::Store(switchboard_store::Error::Conflict { .. })) if attempt < ATTEMPTS => {
                    self.catch_up(&mut folded)?
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn check_reason(reason: &str) -> Result<(), Error> {
    if reason.len() > MAX_REASON_BYTES || reason.chars().any(char::is_control) {
        let what = format!("a reason is one line of at most {MAX_REASON_BYTES} bytes");
        return refuse(Failure::new("request.bad-args", what));
    }
    Ok(())
}

/// Returns the lease as it will be; a new one has no token yet.
fn requested_lease(folded: &Folded, verdict: Verdict, ask: &Ask, reason: &str, fresh: &LeaseId, now: u64) -> Lease {
    let before = match verdict {
        Verdict::Renew(token) => folded.book.under(token).map(|claim| claim.lease(now)),
        Verdict::Grant => None,
    };
    let lease = before.unwrap_or_else(|| Lease {
        id: fresh.clone(),
        holder: ask.holder().clone(),
        resource: ask.resource().clone(),
        mode: ask.mode(),
        token: 0,
        left_ms: 0,
        ttl_ms: 0,
        reason: reason.to_owned(),
    });
    Lease { left_ms: ask.span(), ttl_ms: ask.span(), ..lease }
}

fn grant(lease: &Lease, verdict: Verdict, at: u64) -> Result<Vec<LeaseEvent>, Error> {
    if matches!(verdict, Verdict::Renew(_)) {
        return Ok(vec![LeaseEvent::LeaseRenewed { id: lease.id.clone(), at, span: lease.ttl_ms }]);
    }
    let granted = |resource| LeaseEvent::LeaseGranted {
        id: lease.id.clone(),
        holder: lease.holder.clone(),
        resource,
        mode: lease.mode,
        at,
        span: lease.ttl_ms,
        reason: lease.reason.clone(),
    };
    let Resource::Files(globs) = &lease.resource else { return Ok(vec![granted(lease.resource.clone())]) };
    let empty = serde_json::to_string(&granted(Resource::Files(Vec::new())))?.len();
    let mut parts = parts(globs, MAX_FACTS_BYTES.saturating_sub(empty), MAX_FACTS_BYTES - PART_OVERHEAD)?;
    let first = granted(Resource::Files(parts.remove(0)));
    let rest = (1..).zip(parts).map(|(part, globs)| LeaseEvent::LeaseGlobsAdded { id: lease.id.clone(), part, globs });
    Ok(std::iter::once(first).chain(rest).collect())
}

/// Splits globs into parts that each fit into an event; the first one may be empty.
fn parts(globs: &[String], first: usize, room: usize) -> Result<Vec<Vec<String>>, Error> {
    let mut parts = vec![Vec::new()];
    let mut left = first;
    for glob in globs {
        let bytes = serde_json::to_string(glob)?.len() + 1;
        if bytes > left {
            parts.push(Vec::new());
            left = room;
        }
        left = left.saturating_sub(bytes);
        if let Some(part) = parts.last_mut() {
            part.push(glob.clone());
        }
    }
    Ok(parts)
}

/// Returns the guard that no live lease has the id of a new one.
fn unused(lease: &Lease, verdict: Verdict) -> Guard {
    let refusal = Failure::new("request.conflict", format!("the id {} is another lease's", lease.id));
    let key = [lease.id.as_str().into()];
    match verdict {
        Verdict::Grant => Guard::absent(LEASES, key, refusal),
        Verdict::Renew(token) => Guard::equals(LEASES, key, "token", token, refusal),
    }
}

fn on_roster(call: &Call) -> Guard {
    let refusal = addressee::unregistered(&call.caller.name);
    Guard::equals(AGENTS, [call.caller.name.folded().into()], "gone", 0_i64, refusal)
}
