//! `pre_check_batch` as a gate. Its lint command comes from the plan, if the plan names one: commands of a repository
//! run only if a trusted plan asks for them.

use std::time::Duration;

use serde_json::json;
use switchboard_protocol::evidence::{Detail, Verdict};
use switchboard_protocol::finding::{Base, CheckReport, CheckRequest, CheckVerdict};
use switchboard_protocol::run::Verdict as GateVerdict;
use switchboard_protocol::verb::Verb;
use switchboard_protocol::verb::check::{CheckCall, Part, PreCheckBatch, PreCheckBatchReply, SecretscanReply};

use super::REASONS;
use crate::effect::Ctx;
use crate::error::shape;
use crate::evidence::Found;
use crate::{Error, event};

pub(super) async fn run(ctx: &Ctx, request: &CheckRequest, limit: Duration) -> Result<PreCheckBatchReply, Error> {
    let base = if let Base::Rev(rev) = &request.base { Some(rev.clone()) } else { None };
    let call = CheckCall {
        id: request.id.clone(),
        verb: PreCheckBatch::NAME.to_owned(),
        root: request.root.clone(),
        args: json!({ "base": base, "may_run_commands": false }),
    };
    let reply = ctx.world.ports.checks.call(&call, false, limit).await.map_err(Error::from)?;
    serde_json::from_value(reply).map_err(shape("the answer of pre_check_batch"))
}

/// Judges a batch. If some parts did not look, the change passes with a note.
pub(super) fn judge(reply: &PreCheckBatchReply, lint: Option<&CheckReport>) -> (GateVerdict, Vec<String>) {
    let looked = match reply.status.as_str() {
        "pass" => GateVerdict::Pass,
        "nothing_to_check" => GateVerdict::Skipped,
        "incomplete" => GateVerdict::Warn,
        _ => GateVerdict::Fail,
    };
    let mut reasons = vec![reply.message.clone()];
    if looked == GateVerdict::Fail {
        reasons.extend(findings(reply).into_iter().take(REASONS));
    }
    let is_refused = |report: &&CheckReport| match report.verdict {
        CheckVerdict::Fail | CheckVerdict::Incomplete | CheckVerdict::Error => true,
        CheckVerdict::Pass | CheckVerdict::Warn | CheckVerdict::Skip => false,
    };
    let Some(lint) = lint.filter(is_refused) else { return (looked, reasons) };
    reasons.extend(super::reasons(lint));
    (GateVerdict::Fail, reasons)
}

fn findings(reply: &PreCheckBatchReply) -> Vec<String> {
    let errors = parts(reply).filter(|part| part.state.refuses()).filter_map(|part| part.error.clone());
    let secrets = secrets(reply).into_iter().flat_map(|reply| reply.findings);
    let secrets = secrets.filter(|finding| finding.is_new && finding.allowed.is_none());
    errors
        .map(|error| event::cut(&error, 400))
        .chain(secrets.map(|finding| format!("{}:{} a secret: {}", finding.path, finding.line, finding.kind)))
        .collect()
}

fn parts(reply: &PreCheckBatchReply) -> impl Iterator<Item = &Part> {
    [&reply.lint, &reply.secretscan, &reply.sast_scan, &reply.quality_budget].into_iter()
}

fn secrets(reply: &PreCheckBatchReply) -> Option<SecretscanReply> {
    serde_json::from_value(reply.secretscan.result.clone()?).ok()
}

/// Returns the batch as evidence: the findings of its only part that looks for secrets.
pub(super) fn evidence(reply: &PreCheckBatchReply, lint: Option<&CheckReport>) -> Found {
    let secrets = secrets(reply);
    let verdict = match judge(reply, lint).0 {
        GateVerdict::Skipped => Verdict::Skip,
        GateVerdict::Pass => Verdict::Pass,
        GateVerdict::Warn | GateVerdict::NotConfigured => Verdict::Warn,
        GateVerdict::Fail | GateVerdict::Error | GateVerdict::NoReply => Verdict::Fail,
    };
    Found {
        gate: PreCheckBatch::NAME.to_owned(),
        verdict,
        summary: reply.message.clone(),
        detail: Detail::Secretscan {
            findings_count: secrets.as_ref().map_or(0, |reply| reply.count),
            scan_directory: None,
            files_scanned: secrets.as_ref().map_or(0, |reply| reply.files_scanned),
            skipped_files: secrets.as_ref().map_or(0, |reply| reply.skipped_files),
        },
        contracts: None,
    }
}

#[cfg(test)]
mod tests {
    use switchboard_protocol::finding::CheckName;
    use switchboard_protocol::verb::check::PartState;

    use super::*;

    fn reply(status: &str, secretscan: Part) -> PreCheckBatchReply {
        let part = || Part {
            ran: false,
            state: PartState::NotConfigured,
            passed: false,
            result: None,
            error: Some("this version does not have it".to_owned()),
            duration_ms: 0,
        };
        PreCheckBatchReply {
            gates_passed: false,
            status: status.to_owned(),
            message: "in short".to_owned(),
            lint: part(),
            secretscan,
            sast_scan: part(),
            quality_budget: part(),
            not_available: Vec::new(),
            total_duration_ms: 0,
            sast_preexisting_findings: None,
        }
    }

    fn secrets(state: PartState, result: Option<serde_json::Value>, error: Option<&str>) -> Part {
        Part { ran: true, state, passed: !state.refuses(), result, error: error.map(str::to_owned), duration_ms: 1 }
    }

    #[test]
    fn a_batch_passes_if_all_looked_and_with_a_note_if_some_did_not() {
        let none = || secrets(PartState::Skipped, None, None);
        let judged = |status: &str, lint: Option<&CheckReport>| judge(&reply(status, none()), lint).0;

        for (status, expected) in [
            ("pass", GateVerdict::Pass),
            ("nothing_to_check", GateVerdict::Skipped),
            ("incomplete", GateVerdict::Warn),
            ("fail", GateVerdict::Fail),
            ("a state of a later version", GateVerdict::Fail),
        ] {
            assert_eq!(judged(status, None), expected, "{status}");
            for (verdict, refuses) in [
                (CheckVerdict::Pass, false),
                (CheckVerdict::Warn, false),
                (CheckVerdict::Skip, false),
                (CheckVerdict::Fail, true),
                (CheckVerdict::Incomplete, true),
                (CheckVerdict::Error, true),
            ] {
                let lint = CheckReport::new(CheckName::Lint, verdict, "lint".to_owned());
                let expected = if refuses { GateVerdict::Fail } else { expected };
                assert_eq!(judged(status, Some(&lint)), expected, "{status} and lint {verdict:?}");
            }
        }
    }

    #[test]
    fn a_batch_names_what_its_lint_command_and_its_search_for_secrets_have_found() {
        let mut lint = CheckReport::new(CheckName::Lint, CheckVerdict::Fail, "lint failed".to_owned());
        let passed = reply("pass", secrets(PartState::Skipped, None, None));
        assert_eq!(judge(&passed, Some(&lint)).1, ["in short", "lint failed"]);
        lint.verdict = CheckVerdict::Warn;
        assert_eq!(judge(&passed, Some(&lint)).1, ["in short"]);

        let secret = |path: &str, is_new: bool, allowed: Option<&str>| {
            serde_json::json!({ "path": path, "line": 3, "type": "key", "confidence": "high", "severity": "high",
                "redacted": "k…", "context": "c", "is_new": is_new, "allowed": allowed })
        };
        let found = [secret("new", true, None), secret("old", false, None), secret("fine", true, Some("a test"))];
        let result = serde_json::json!({ "scan_dir": ".", "findings": found, "count": 1, "files_scanned": 7, "skipped_files": 2,
            "skipped": [], "verdict": "fail", "failures": [] });
        let part = secrets(PartState::Passed, Some(result.clone()), None);
        let read = super::secrets(&reply("fail", part.clone()));
        let Some(read) = read else { panic!("{:?}", serde_json::from_value::<SecretscanReply>(result)) };
        assert_eq!(read.findings.len(), 3);
        assert_eq!(judge(&reply("fail", part.clone()), None).1, ["in short", "new:3 a secret: key"]);
        let Detail::Secretscan { findings_count, files_scanned, skipped_files, .. } =
            evidence(&reply("fail", part), None).detail
        else {
            panic!("a batch is evidence for secrets")
        };
        assert_eq!((findings_count, files_scanned, skipped_files), (1, 7, 2));
    }

    #[test]
    fn a_refused_batch_names_the_parts_that_refuse_and_what_it_found() {
        let failed = reply("fail", secrets(PartState::Error, None, Some("no memory left")));
        assert_eq!(judge(&failed, None).1, ["in short", "no memory left"]);
        assert_eq!(judge(&reply("pass", secrets(PartState::Error, None, Some("e"))), None).1, ["in short"]);

        let Detail::Secretscan { findings_count, files_scanned, skipped_files, .. } = evidence(&failed, None).detail
        else {
            panic!("a batch is evidence for secrets");
        };
        assert_eq!((findings_count, files_scanned, skipped_files), (0, 0, 0), "nothing is counted that did not look");
        assert_eq!(evidence(&failed, None).verdict, Verdict::Fail);
        assert_eq!(
            evidence(&reply("nothing_to_check", secrets(PartState::Skipped, None, None)), None).verdict,
            Verdict::Skip
        );
    }
}
