//! Checks an exported record without a daemon, for those who have nothing but the file.

use std::io::Read;

use protocol::error::Failure;
use protocol::id::Digest;
use protocol::verb::system::VerifyLogReply;

/// What a check of an export found.
#[derive(Debug)]
pub struct Checked {
    /// The chain that the record belongs to.
    pub chain_id: String,
    /// The outcome, in the words of `verify_log`.
    pub reply: VerifyLogReply,
}

/// Checks an export: its form, the hash chain, the bodies, its end. `visit` is given every event's hash in order, for a
/// signed head to be held against.
///
/// # Errors
/// `io.denied` when it can't be read. Damage is no error but in the reply.
pub fn verify_export(export: impl Read, mut visit: impl FnMut(&Digest)) -> Result<Checked, Failure> {
    let report = store::verify_export_with(export, |_, hash| visit(&hash)).map_err(|error| error.failure())?;
    let summary = report.first().map_or_else(|| report.verdict().to_owned(), ToString::to_string);
    let reply = VerifyLogReply {
        is_intact: report.is_clean(),
        summary,
        events: report.events(),
        head: report.hash(),
        faults: report.findings.iter().map(ToString::to_string).collect(),
    };
    Ok(Checked { chain_id: report.chain_id, reply })
}
