//! Renders the file of accepted findings.

use serde_json::{Value, json};
use switchboard_protocol::finding::CheckReply;

/// Returns a baseline that accepts every finding of a reply: `fingerprints` are compared, `findings` are for the
/// reader. It holds no text of the files.
#[must_use]
pub fn baseline(reply: &CheckReply) -> String {
    let findings = || reply.reports.iter().flat_map(|report| &report.findings);
    let mut fingerprints: Vec<&str> = findings().map(|finding| finding.fingerprint.as_str()).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let shown: Vec<Value> = findings()
        .map(|finding| {
            json!({
                "check": finding.check,
                "rule": finding.rule,
                "path": finding.path,
                "fingerprint": finding.fingerprint,
            })
        })
        .collect();
    let file = json!({ "schema_version": "1.0.0", "fingerprints": fingerprints, "findings": shown });
    serde_json::to_string_pretty(&file).expect("a baseline holds only strings and lists") + "\n"
}
