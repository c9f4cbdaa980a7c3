//! Leases: who may hold a resource, and until when. The same rules apply to files, units and terminals.
//!
//! [`Book`] is folded from the log of lease events and decides on that state. The caller commits its decision with the
//! expected revision of that log ([`switchboard_protocol::lease::SUBJECT`]), so that an outdated book never grants.
//! Time is the leases' own clock in milliseconds, passed to every call. An expired lease blocks no other; it stays in
//! the book until its end is in the log.

mod ask;
mod index;

use std::collections::{BTreeMap, BTreeSet};

use switchboard_protocol::event::Lsn;
use switchboard_protocol::id::AgentName;
use switchboard_protocol::lease::{Ending, Lease, LeaseEvent, LeaseId, Mode, Resource};

use crate::paths::Pattern;

pub use ask::{Ask, BadGlob, MAX_SPAN, MIN_SPAN};

use ask::parse;
use index::GlobIndex;

/// Maximum number of globs, units and terminals that one holder may hold at a time.
pub const MAX_OF_HOLDER: usize = 12_000;
/// Maximum number of globs, units and terminals held at a time.
pub const MAX_HELD: usize = 40_000;
/// Maximum number of leases that a refusal names.
const MAX_CONFLICTS: usize = 5;

/// A lease in the book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Id of the lease.
    pub id: LeaseId,
    /// Name of the holder.
    pub holder: AgentName,
    /// The leased resource.
    pub resource: Resource,
    /// Whether the lease is shared or exclusive.
    pub mode: Mode,
    /// Time at which the lease expires.
    pub deadline: u64,
    /// Length of the lease as granted.
    pub span: u64,
    /// Lsn of the grant, which is the fencing token.
    pub token: Lsn,
    /// Why the holder needs it.
    pub reason: String,
    /// Number of further events that carried its globs, after the first.
    pub parts: u32,
    /// Cause of the end if the holder doesn't release it.
    pub ending: Ending,
}

/// Positive answer of a book to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The resource is free.
    Grant,
    /// The holder already has exactly this lease, so its deadline is extended.
    Renew(Lsn),
}

/// Why a book refuses a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Others hold part of the resource; the first few of these leases.
    Overlap(Vec<Conflict>),
    /// The holder would exceed [`MAX_OF_HOLDER`].
    HolderLimit,
    /// The book would exceed [`MAX_HELD`].
    BookLimit,
}

/// A lease that conflicts with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The conflicting lease.
    pub lease: Lease,
    /// The part of the request that conflicts.
    pub wanted: String,
}

/// Why a lease can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unusable {
    /// The lease ended or never existed, or the token belongs to another grant.
    Lost,
    /// Another agent holds the lease.
    Foreign,
}

/// The current leases and their indexes.
#[derive(Debug, Clone, Default)]
pub struct Book {
    claims: BTreeMap<Lsn, Claim>,
    ids: BTreeMap<LeaseId, Lsn>,
    due: BTreeSet<(u64, Lsn)>,
    held: BTreeMap<String, Held>,
    total: usize,
    exclusive: GlobIndex,
    shared: GlobIndex,
    named: BTreeMap<String, BTreeSet<Lsn>>,
}

/// Leases of one holder.
#[derive(Debug, Clone, Default)]
struct Held {
    tokens: BTreeSet<Lsn>,
    weight: usize,
}

// === impl Claim ===

impl Claim {
    /// Returns the lease as shown to users.
    #[must_use]
    pub fn lease(&self, now: u64) -> Lease {
        Lease {
            id: self.id.clone(),
            holder: self.holder.clone(),
            resource: self.resource.clone(),
            mode: self.mode,
            token: self.token,
            left_ms: self.deadline.saturating_sub(now),
            ttl_ms: self.span,
            reason: self.reason.clone(),
        }
    }

    fn weight(&self) -> usize {
        match &self.resource {
            Resource::Files(globs) => globs.len(),
            Resource::Unit(_) | Resource::Terminal(_) => 1,
        }
    }
}

// === impl Book ===

impl Book {
    /// Applies an event. An event of an unknown lease changes nothing.
    ///
    /// # Errors
    /// When a glob is invalid: no grant could have recorded it.
    pub fn fold(&mut self, lsn: Lsn, event: &LeaseEvent) -> Result<(), BadGlob> {
        match event {
            LeaseEvent::LeaseGranted { id, holder, resource, mode, at, span, reason } => self.insert(Claim {
                id: id.clone(),
                holder: holder.clone(),
                resource: resource.clone(),
                mode: *mode,
                deadline: at.saturating_add(*span),
                span: *span,
                token: lsn,
                reason: reason.clone(),
                parts: 0,
                ending: Ending::Lapsed,
            }),
            LeaseEvent::LeaseGlobsAdded { id, part, globs } => {
                let Some(mut claim) = self.take(id) else { return Ok(()) };
                claim.parts = claim.parts.max(*part);
                if let Resource::Files(all) = &mut claim.resource {
                    all.extend(globs.iter().cloned());
                }
                self.insert(claim)
            }
            LeaseEvent::LeaseRenewed { id, at, span } => {
                if let Some(token) = self.ids.get(id).copied() {
                    self.reset(token, at.saturating_add(*span), |claim| claim.span = *span);
                }
                Ok(())
            }
            LeaseEvent::LeaseEnded { id, .. } => {
                self.take(id);
                Ok(())
            }
            LeaseEvent::LeasesResumed { .. } => Ok(()),
        }
    }

    /// Inserts a lease that an earlier fold produced.
    ///
    /// # Errors
    /// When a glob is invalid: no grant could have recorded it.
    pub fn insert(&mut self, claim: Claim) -> Result<(), BadGlob> {
        for pattern in patterns(&claim.resource)? {
            self.index(claim.mode).insert(pattern, claim.token);
        }
        if let Some(name) = name(&claim.resource) {
            self.named.entry(name).or_default().insert(claim.token);
        }
        let held = self.held.entry(claim.holder.folded()).or_default();
        held.tokens.insert(claim.token);
        held.weight += claim.weight();
        self.total += claim.weight();
        self.due.insert((claim.deadline, claim.token));
        self.ids.insert(claim.id.clone(), claim.token);
        self.claims.insert(claim.token, claim);
        Ok(())
    }

    /// Ends the leases that were granted to a holder before the event of its leaving.
    pub fn holder_left(&mut self, holder: &str, lsn: Lsn) {
        let Some(held) = self.held.get(holder) else { return };
        for token in held.tokens.range(..lsn).copied().collect::<Vec<_>>() {
            self.reset(token, 0, |claim| claim.ending = Ending::HolderLeft);
        }
    }

    /// Decides on a request for a lease.
    ///
    /// # Errors
    /// When others hold part of it, or it would exceed a limit.
    pub fn decide(&self, ask: &Ask, now: u64) -> Result<Verdict, Refused> {
        let holder = ask.holder().folded();
        let own = self.held.get(&holder);
        let conflicts = self.conflicts(ask, &holder, now);
        if !conflicts.is_empty() {
            return Err(Refused::Overlap(conflicts));
        }
        if let Some(token) = self.same(ask, &holder, now) {
            return Ok(Verdict::Renew(token));
        }
        if own.map_or(0, |held| held.weight) + ask.weight() > MAX_OF_HOLDER {
            return Err(Refused::HolderLimit);
        }
        if self.total + ask.weight() > MAX_HELD {
            return Err(Refused::BookLimit);
        }
        Ok(Verdict::Grant)
    }

    /// Returns the live lease with this id if the holder and the token match.
    ///
    /// # Errors
    /// When the lease is over, the token differs, or another agent holds it.
    pub fn held(&self, id: &LeaseId, holder: &AgentName, token: Lsn, now: u64) -> Result<&Claim, Unusable> {
        let claim = self.find(id).filter(|claim| claim.deadline > now).ok_or(Unusable::Lost)?;
        if claim.holder.folded() != holder.folded() {
            return Err(Unusable::Foreign);
        }
        if claim.token == token { Ok(claim) } else { Err(Unusable::Lost) }
    }

    /// Returns the lease with this id, even if it expired and its end is not in the log yet.
    #[must_use]
    pub fn find(&self, id: &LeaseId) -> Option<&Claim> {
        self.claims.get(self.ids.get(id)?)
    }

    /// Returns the lease with this token, even if it expired and its end is not in the log yet.
    #[must_use]
    pub fn under(&self, token: Lsn) -> Option<&Claim> {
        self.claims.get(&token)
    }

    /// Returns all leases of a holder (by its folded name), oldest first, expired ones included.
    pub fn of(&self, holder: &str) -> impl Iterator<Item = &Claim> {
        let tokens = self.held.get(holder).map(|held| &held.tokens);
        tokens.into_iter().flatten().filter_map(|token| self.claims.get(token))
    }

    /// Returns the live leases, oldest first.
    pub fn live(&self, now: u64) -> impl Iterator<Item = &Claim> {
        self.claims.values().filter(move |claim| claim.deadline > now)
    }

    /// Returns the expired leases, earliest deadline first.
    pub fn lapsed(&self, now: u64) -> impl Iterator<Item = &Claim> {
        self.due.range(..=(now, Lsn::MAX)).filter_map(|(_, token)| self.claims.get(token))
    }

    /// Returns the number of leases in the book.
    #[must_use]
    pub fn len(&self) -> usize {
        self.claims.len()
    }

    /// Returns true if the book is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// Finds the live lease by which the holder already has exactly what it requests, by the first glob.
    fn same(&self, ask: &Ask, holder: &str, now: u64) -> Option<Lsn> {
        let globs = match ask.mode() {
            Mode::Exclusive => &self.exclusive,
            Mode::Shared => &self.shared,
        };
        let by_glob = ask.patterns().first().into_iter().flat_map(|first| globs.at(first));
        let by_name = name(ask.resource()).and_then(|name| self.named.get(&name)).into_iter().flatten().copied();
        let is_same = |claim: &&Claim| {
            claim.deadline > now
                && claim.holder.folded() == holder
                && claim.resource == *ask.resource()
                && claim.mode == ask.mode()
        };
        let claims = by_glob.chain(by_name).filter_map(|token| self.claims.get(&token));
        claims.filter(is_same).map(|claim| claim.token).min()
    }

    /// Returns the first few live leases of others, shared ones included, on files that are about to change, oldest
    /// first. `holder` is the folded name of the agent that changes them.
    #[must_use]
    pub fn reserved(&self, holder: &str, files: &[String], now: u64) -> Vec<Conflict> {
        // A file that is no valid path can't be leased either.
        let files: Vec<_> = files.iter().filter_map(|file| Pattern::parse(file).ok()).collect();
        self.shown(&self.rivals(&files, Mode::Exclusive, holder, now), now)
    }

    /// Returns the first few live leases of others that conflict with a request, oldest first.
    fn conflicts(&self, ask: &Ask, holder: &str, now: u64) -> Vec<Conflict> {
        let mut found = self.rivals(ask.patterns(), ask.mode(), holder, now);
        if let Some(name) = name(ask.resource()) {
            let named = self.named.get(&name).into_iter().flatten().copied();
            let rivals = named.filter(|token| self.is_rival(*token, ask.mode(), holder, now));
            found.extend(rivals.take(MAX_CONFLICTS).map(|token| (token, name.clone())));
        }
        self.shown(&found, now)
    }

    fn is_rival(&self, token: Lsn, mode: Mode, holder: &str, now: u64) -> bool {
        self.claims
            .get(&token)
            .is_some_and(|claim| claim.deadline > now && claim.mode.excludes(mode) && claim.holder.folded() != holder)
    }

    /// Returns the tokens of live leases of others on the wanted paths, each with the first path that conflicts.
    fn rivals(&self, wanted: &[Pattern], mode: Mode, holder: &str, now: u64) -> BTreeMap<Lsn, String> {
        let mut found: BTreeMap<Lsn, String> = BTreeMap::new();
        for wanted in wanted {
            for index in self.indexes(mode) {
                for (pattern, token) in index.near(wanted) {
                    let has_room = found.len() < MAX_CONFLICTS;
                    if has_room && pattern.overlaps(wanted) && self.is_rival(*token, mode, holder, now) {
                        found.entry(*token).or_insert_with(|| ask::shown(wanted).to_owned());
                    }
                }
            }
        }
        found
    }

    fn shown(&self, found: &BTreeMap<Lsn, String>, now: u64) -> Vec<Conflict> {
        let lease = |token| self.claims.get(token).map(|claim: &Claim| claim.lease(now));
        found
            .iter()
            .filter_map(|(token, wanted)| Some(Conflict { lease: lease(token)?, wanted: wanted.clone() }))
            .collect()
    }

    /// Returns the indexes that can hold a conflict for this mode: shared leases don't conflict with each other.
    fn indexes(&self, mode: Mode) -> impl Iterator<Item = &GlobIndex> {
        let shared = (mode == Mode::Exclusive).then_some(&self.shared);
        std::iter::once(&self.exclusive).chain(shared)
    }

    fn index(&mut self, mode: Mode) -> &mut GlobIndex {
        match mode {
            Mode::Exclusive => &mut self.exclusive,
            Mode::Shared => &mut self.shared,
        }
    }

    fn reset(&mut self, token: Lsn, deadline: u64, change: impl FnOnce(&mut Claim)) {
        let Some(claim) = self.claims.get_mut(&token) else { return };
        self.due.remove(&(claim.deadline, token));
        claim.deadline = deadline;
        self.due.insert((deadline, token));
        change(claim);
    }

    /// Removes a lease from the book.
    fn take(&mut self, id: &LeaseId) -> Option<Claim> {
        let token = self.ids.remove(id)?;
        let claim = self.claims.remove(&token)?;
        for pattern in patterns(&claim.resource).into_iter().flatten() {
            self.index(claim.mode).remove(&pattern, token);
        }
        if let Some(name) = name(&claim.resource)
            && let Some(tokens) = self.named.get_mut(&name)
        {
            tokens.remove(&token);
            if tokens.is_empty() {
                self.named.remove(&name);
            }
        }
        self.due.remove(&(claim.deadline, token));
        self.total -= claim.weight();
        let holder = claim.holder.folded();
        if let Some(held) = self.held.get_mut(&holder) {
            held.tokens.remove(&token);
            held.weight -= claim.weight();
            if held.tokens.is_empty() {
                self.held.remove(&holder);
            }
        }
        Some(claim)
    }
}

fn patterns(resource: &Resource) -> Result<Vec<Pattern>, BadGlob> {
    match resource {
        Resource::Files(globs) => globs.iter().map(|glob| parse(glob)).collect(),
        Resource::Unit(_) | Resource::Terminal(_) => Ok(Vec::new()),
    }
}

/// Returns the canonical name of a resource that is not files.
fn name(resource: &Resource) -> Option<String> {
    match resource {
        Resource::Files(_) => None,
        Resource::Unit(unit) => Some(format!("unit {unit}")),
        Resource::Terminal(agent) => Some(format!("terminal {}", agent.folded())),
    }
}

#[cfg(test)]
mod tests;
