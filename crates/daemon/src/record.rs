//! What can be done with the record without a daemon: an export is checked, and the store of a root checked, copied and
//! put back. Each takes the store for itself, so a daemon that runs is never disturbed.

use std::io::Read;
use std::path::Path;

use switchboard_dispatch::Work;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::Digest;
use switchboard_protocol::verb::backup::BackupStoreReply;
use switchboard_protocol::verb::system::VerifyLogReply;
use switchboard_store::{Config, Projection, Report};

use crate::{Owner, RootPaths};

/// What a check of an export found.
#[derive(Debug)]
pub struct Checked {
    /// The chain that the record belongs to.
    pub chain_id: String,
    /// The outcome, in the words of `verify_log`.
    pub reply: VerifyLogReply,
}

/// A store that was put back.
#[derive(Debug, serde::Serialize)]
pub struct RestoredStore {
    /// Events of the backup; one more is there now, which records the restoring.
    pub events: u64,
    /// Hash of the last event now.
    pub head: Digest,
    /// The folder that holds what was replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<std::path::PathBuf>,
}

/// The parts whose tables the store keeps.
pub(crate) fn parts() -> Vec<Box<dyn Projection>> {
    let mut parts = switchboard_bus::projections();
    parts.push(Box::new(switchboard_files::Files));
    parts.push(Box::new(switchboard_needs::Needs));
    parts.push(Box::new(Work));
    parts
}

/// Checks an export: its form, the hash chain, the bodies, its end. `visit` is given every event's hash in order, for a
/// signed head to be held against.
///
/// # Errors
/// `io.denied` when it can't be read. Damage is no error but in the reply.
pub fn verify_export(export: impl Read, mut visit: impl FnMut(&Digest)) -> Result<Checked, Failure> {
    let report =
        switchboard_store::verify_export_with(export, |_, hash| visit(&hash)).map_err(|error| error.failure())?;
    Ok(Checked { chain_id: report.chain_id.clone(), reply: reply(&report) })
}

/// Checks the store of a root that no daemon has open, without changing it; also one that no daemon can open. Nothing when
/// there is none.
///
/// # Errors
/// `store.locked` names the owner. Damage is no error but in the reply.
pub fn verify_store(place: &RootPaths) -> Result<Option<VerifyLogReply>, Failure> {
    if !place.store().exists() {
        return Ok(None);
    }
    let report =
        switchboard_store::verify_file(&Config::new(place.store()), parts()).map_err(|error| error.failure())?;
    Ok(Some(reply(&report)))
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

/// Puts a backup in place of the store of a root and keeps what it replaces.
///
/// # Errors
/// `daemon.running` while a daemon runs; `store.corrupt` when the backup does not verify: nothing has changed then.
pub fn restore_store(place: &RootPaths, from: &Path) -> Result<RestoredStore, Failure> {
    if let Some(owner) = Owner::of(place)? {
        let what = format!("a daemon (process {}) has the store open", owner.pid);
        return Err(Failure::new("daemon.running", what).hint("switchboard down"));
    }
    let restored =
        switchboard_store::restore(from, &Config::new(place.store()), parts).map_err(|error| error.failure())?;
    Ok(RestoredStore { events: restored.from.lsn, head: restored.head.hash, replaced: restored.replaced })
}

/// A report in the words of `verify_log`.
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

/// What is said of a backup that was made.
pub(crate) fn backup_reply(path: &Path, report: &Report) -> Result<BackupStoreReply, Failure> {
    let size = path.metadata().map_err(|error| {
        Failure::new("io.denied", "the backup is gone").at(path.display().to_string()).because(&error)
    })?;
    let (events, head) = (report.events(), report.hash());
    Ok(BackupStoreReply { path: path.display().to_string(), events, head, bytes: size.len() })
}
