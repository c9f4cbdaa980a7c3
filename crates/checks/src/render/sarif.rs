//! SARIF 2.1.0, as code hosts read it. Source: docs.oasis-open.org/sarif/sarif/v2.1.0.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_protocol::finding::{CheckReply, CheckReport, Finding, Severity};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Returns a reply as one SARIF log with one run: rules with their weakness as a tag, results with fingerprints, accepted
/// findings as suppressions, skipped files and failures as notifications.
#[must_use]
pub fn sarif(reply: &CheckReply) -> String {
    let findings: Vec<&Finding> = reply.reports.iter().flat_map(|report| &report.findings).collect();
    let mut rules: BTreeMap<String, &Finding> = BTreeMap::new();
    for finding in &findings {
        rules.entry(rule_id(finding)).or_insert(finding);
    }
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "switchboard",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|(id, finding)| rule(id, finding)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": reply.failures.is_empty(),
                "toolExecutionNotifications": notifications(reply),
            }],
            "results": findings.iter().map(|finding| result(finding, &rules)).collect::<Vec<_>>(),
        }],
    });
    serde_json::to_string_pretty(&log).expect("a log holds only strings, numbers and lists")
}

fn rule_id(finding: &Finding) -> String {
    format!("{}/{}", finding.check, finding.rule)
}

fn rule(id: &str, finding: &Finding) -> Value {
    let mut tags = vec![finding.check.to_string()];
    if let Some(cwe) = finding.cwe {
        tags.push("security".into());
        tags.push(format!("external/cwe/cwe-{cwe:03}"));
    }
    let mut properties = json!({"tags": tags});
    if finding.cwe.is_some() {
        properties["security-severity"] = json!(score(finding.severity));
    }
    json!({
        "id": id,
        "name": finding.rule,
        "shortDescription": {"text": finding.message},
        "help": {"text": finding.remedy},
        "defaultConfiguration": {"level": level(finding.severity)},
        "properties": properties,
    })
}

fn result(finding: &Finding, rules: &BTreeMap<String, &Finding>) -> Value {
    let id = rule_id(finding);
    let mut result = json!({
        "ruleId": id,
        "ruleIndex": rules.keys().position(|rule| *rule == id),
        "level": level(finding.severity),
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&finding.path)},
            "region": {
                "startLine": finding.span.start_line,
                "startColumn": finding.span.start_column,
                "endLine": finding.span.end_line,
                "endColumn": finding.span.end_column,
            },
        }}],
        "partialFingerprints": {"switchboard/v1": finding.fingerprint},
        "baselineState": if finding.is_new { "new" } else { "unchanged" },
        "properties": {"blocks": finding.blocks},
    });
    if let Some(commit) = &finding.commit {
        result["properties"]["commit"] = json!(commit);
    }
    if let Some(reason) = &finding.allowed {
        let kind = if reason == "in the baseline" { "external" } else { "inSource" };
        result["suppressions"] = json!([{"kind": kind, "justification": reason}]);
    }
    result
}

fn notifications(reply: &CheckReply) -> Vec<Value> {
    let failures = reply.failures.iter().map(
        |failure| json!({"level": "error", "message": {"text": failure.what}, "descriptor": {"id": failure.code}}),
    );
    failures.chain(reply.reports.iter().flat_map(skipped)).collect()
}

fn skipped(report: &CheckReport) -> impl Iterator<Item = Value> {
    report.skipped.iter().map(|file| {
        json!({
            "level": "note",
            "message": {"text": format!("{} skipped: {}", report.check, file.why)},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(&file.path)}}}],
        })
    })
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// Returns the middle of the score range that code hosts assign to each severity.
const fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.5",
        Severity::Info => "0.0",
    }
}

/// Writes a path as a relative reference of RFC 3986.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'/') {
            uri.push(byte as char);
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}
