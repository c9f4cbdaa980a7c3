//! Operations on the record without a daemon: checks an export, and checks, copies and restores the store of a root. Each
//! locks the store, so a running daemon is never disturbed.

use std::io::Read;
use std::path::Path;

use switchboard_dispatch::Work;
use switchboard_protocol::error::Failure;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::Digest;
use switchboard_protocol::verb::backup::BackupStoreReply;
use switchboard_protocol::verb::system::{SignHeadReply, VerifyLogReply};
use switchboard_store::{Batch, Checkpoint, Clock, Config, Projection, Report, Store};

use crate::head_notes::{self, NotedHead};
use crate::{Owner, RootPaths};

/// Result of checking an export.
#[derive(Debug)]
pub struct Checked {
    /// Id of the record's chain.
    pub chain_id: String,
    /// Outcome, in the form of `verify_log`.
    pub reply: VerifyLogReply,
}

/// A restored store.
#[derive(Debug, serde::Serialize)]
pub struct RestoredStore {
    /// Number of events of the backup; the store has one more, which records the restoring.
    pub events: u64,
    /// Hash of the store's last event.
    pub head: Digest,
    /// Folder that holds the replaced store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<std::path::PathBuf>,
}

/// Returns the parts whose tables the store keeps.
pub(crate) fn parts() -> Vec<Box<dyn Projection>> {
    let mut parts = switchboard_bus::projections();
    parts.push(Box::new(switchboard_files::Files));
    parts.push(Box::new(switchboard_needs::Needs));
    parts.push(Box::new(Work));
    parts
}

/// Checks an export: its form, the hash chain, the bodies, its end. `visit` receives the hash of every event in order, to
/// compare them with a signed head.
///
/// # Errors
/// `io.denied` when it can't be read. Damage is reported in the reply, not as an error.
pub fn verify_export(export: &mut dyn Read, visit: &mut dyn FnMut(&Digest)) -> Result<Checked, Failure> {
    let report =
        switchboard_store::verify_export_with(export, &mut |_, hash| visit(&hash)).map_err(|error| error.failure())?;
    Ok(Checked { chain_id: report.chain_id.clone(), reply: reply(&report) })
}

/// Checks the store of a root that no daemon has open, without changing it; also one that no daemon can open. `None` if there is none and
/// no note says that there was one.
///
/// # Errors
/// `store.locked` names the owner. Damage is reported in the reply, not as an error.
pub fn verify_store(place: &RootPaths) -> Result<Option<VerifyLogReply>, Failure> {
    if !place.store().exists() {
        let nothing = VerifyLogReply {
            is_intact: true,
            summary: String::new(),
            events: 0,
            head: Digest::ZERO,
            faults: Vec::new(),
        };
        let held = against_notes(nothing, head_notes::findings(place, None, |_| None));
        return Ok(Some(held).filter(|reply| !reply.is_intact));
    }
    let report =
        switchboard_store::verify_file(&Config::new(place.store()), parts()).map_err(|error| error.failure())?;
    let hash_of = |lsn| (lsn == report.events()).then(|| report.hash());
    let record = Some((report.chain_id.as_str(), report.events())).filter(|(chain, _)| !chain.is_empty());
    Ok(Some(against_notes(reply(&report), head_notes::findings(place, record, hash_of))))
}

/// Checks the record that this daemon has open.
pub(crate) fn verify_open(place: &RootPaths, store: &Store) -> Result<VerifyLogReply, Failure> {
    let report = store.verify(switchboard_store::Scope::All).map_err(|error| error.failure())?;
    let hash_of = |lsn| store.event(lsn).ok().flatten().map(|event| event.hash);
    let found = head_notes::findings(place, Some((store.chain_id(), report.events())), hash_of);
    let held = against_notes(reply(&report), found);
    if held.is_intact {
        note_head(place, store, false);
    }
    Ok(held)
}

/// Returns what the notes say is missing in a record that a daemon has open.
pub(crate) fn lost(place: &RootPaths, store: &Store) -> Vec<String> {
    head_notes::findings(place, Some((store.chain_id(), store.head().lsn)), |_| None)
}

/// Adds the findings from the notes of earlier heads to a reply.
fn against_notes(mut reply: VerifyLogReply, found: Vec<String>) -> VerifyLogReply {
    if let Some(first) = found.first() {
        if reply.is_intact {
            reply.summary.clone_from(first);
        }
        reply.is_intact = false;
    }
    reply.faults.extend(found);
    reply
}

/// Makes the record durable and notes its head outside the store.
pub(crate) fn note_head(place: &RootPaths, store: &Store, is_signed: bool) {
    let head = store.head();
    if head.lsn == 0 {
        return;
    }
    let noted =
        NotedHead { chain_id: store.chain_id().to_owned(), lsn: head.lsn, hash: head.hash, at: store.now(), is_signed };
    match store.checkpoint(Checkpoint::Passive) {
        Ok(_) => head_notes::note(place, &noted),
        Err(error) => tracing::warn!(%error, "the record's head is not noted: it could not be written out"),
    }
}

/// Accepts the record as complete: earlier losses are no longer reported.
///
/// # Errors
/// `store.locked` while a daemon runs; an unreadable record.
pub fn accept_loss(place: &RootPaths) -> Result<(), Failure> {
    let store = open(place)?;
    head_notes::forget(place);
    note_head(place, &store, false);
    store.close();
    Ok(())
}

/// Signs the head of a record that no daemon has open, and records that, as `sign_head` does.
///
/// # Errors
/// `store.locked` while a daemon runs; an unreadable record, or a key that can't be used.
pub fn sign_store(place: &RootPaths, by: &str) -> Result<SignHeadReply, Failure> {
    let store = open(place)?;
    let (fact, reply) = crate::head::sign(&store, &place.keys())?;
    let event =
        NewEvent::of(&fact, "record/head", by).map_err(|error| Failure::new("internal.bug", error.to_string()))?;
    store.commit_blocking(Batch::synced().event(event)).map_err(|error| error.failure())?;
    note_head(place, &store, true);
    store.close();
    Ok(reply)
}

fn open(place: &RootPaths) -> Result<Store, Failure> {
    if !place.store().exists() {
        let none = Failure::new("request.bad-args", "there is no record yet");
        return Err(none.at(place.store().display().to_string()));
    }
    let config = Config { clock: Clock::system(), ..Config::new(place.store()) };
    Store::open(config, parts()).map_err(|error| error.failure())
}

/// Copies the store of a root that no daemon has open.
///
/// # Errors
/// `store.locked`; `store.corrupt` when the copy does not verify; `io.denied` when the file exists or can't be made.
pub fn backup_store(place: &RootPaths, to: &Path) -> Result<BackupStoreReply, Failure> {
    let report =
        switchboard_store::backup_file(&Config::new(place.store()), parts(), to).map_err(|error| error.failure())?;
    backup_reply(to, &report)
}

/// Restores a backup as the store of a root and keeps what it replaces.
///
/// # Errors
/// `daemon.running` while a daemon runs; `store.corrupt` when the backup does not verify: then nothing has changed.
pub fn restore_store(place: &RootPaths, from: &Path) -> Result<RestoredStore, Failure> {
    if let Some(owner) = Owner::of(place)? {
        let what = format!("a daemon (process {}) has the store open", owner.pid);
        return Err(Failure::new("daemon.running", what).hint("switchboard down"));
    }
    let restored =
        switchboard_store::restore(from, &Config::new(place.store()), parts).map_err(|error| error.failure())?;
    // A person has restored an older record: later heads of it are not missing.
    accept_loss(place)?;
    Ok(RestoredStore { events: restored.from.lsn, head: restored.head.hash, replaced: restored.replaced })
}

/// Converts a report to the reply of `verify_log`.
pub(crate) fn reply(report: &Report) -> VerifyLogReply {
    let summary = report.first().map_or_else(
        || report.verdict().to_owned(),
        |first| if report.chain_id.is_empty() { first.to_string() } else { format!("{}: {first}", report.verdict()) },
    );
    VerifyLogReply {
        is_intact: report.is_clean(),
        summary,
        events: report.events(),
        head: report.hash(),
        faults: report.findings.iter().map(ToString::to_string).collect(),
    }
}

/// Builds the reply about a backup.
pub(crate) fn backup_reply(path: &Path, report: &Report) -> Result<BackupStoreReply, Failure> {
    let size = path.metadata().map_err(|error| {
        Failure::new("io.denied", "the backup is gone").at(path.display().to_string()).because(&error)
    })?;
    let (events, head) = (report.events(), report.hash());
    Ok(BackupStoreReply { path: path.display().to_string(), events, head, bytes: size.len() })
}
