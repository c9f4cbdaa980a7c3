//! `pre_check_batch`

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use switchboard_protocol::error::Failure;
use switchboard_protocol::finding::{Base, CheckName, CheckReport, CheckVerdict};
use switchboard_protocol::verb::check::{
    LintReply, LintRequest, Part, PartState, PreCheckBatchReply, PreCheckBatchRequest,
};

use super::arguments::{base, folder, report, request};
use super::{lint, secretscan};
use crate::engine::Engine;
use crate::limits::Limits;
use crate::limits::millis;

/// Time limit of one part.
const PART_TIME: Duration = Duration::from_secs(60);
/// Maximum size of the reply, in bytes.
const ANSWER: usize = 500_000;
/// Parts, as the reply names them.
const PARTS: [&str; 4] = ["lint", "secretscan", "sast_scan", "quality_budget"];

pub(super) fn run(engine: &Engine, root: &Path, args: &PreCheckBatchRequest) -> Result<PreCheckBatchReply, Failure> {
    let started = Instant::now();
    let required = required(args)?;
    let folder = folder(root, args.directory.as_deref())?;
    let paths = args.files.paths();
    let (secrets, linted) = thread::scope(|scope| {
        let linting = scope.spawn(|| lint_part(engine, &folder, args));
        let secrets = secrets_part(engine, &folder, base(args.base.as_ref()), paths.clone());
        (secrets, linting.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let (secretscan, changed) = secrets;
    let lint = judge_lint(linted, &changed);
    let absent = |name: &str| not_run(PartState::NotConfigured, format!("not available: this version has no {name}"));
    let mut parts = [lint, secretscan, absent("sast_scan"), absent("quality_budget")];
    for (part, name) in parts.iter_mut().zip(PARTS) {
        if !part.ran && required.iter().any(|required| required == name) {
            part.state = PartState::Error;
        }
    }
    fit(&mut parts);
    Ok(reply(parts, changed.is_empty(), millis(started)))
}

fn required(args: &PreCheckBatchRequest) -> Result<Vec<String>, Failure> {
    let required = args.required_parts.list();
    let unknown = required.iter().find(|name| !PARTS.contains(&name.as_str()));
    let is_policy = matches!(args.quality_policy.as_deref(), None | Some("enforce" | "warn"));
    let is_severity =
        matches!(args.sast_threshold.as_deref(), None | Some("critical" | "high" | "medium" | "low" | "info"));
    match (unknown, is_policy, is_severity) {
        (None, true, true) => Ok(required),
        (Some(name), _, _) => Err(bad(format!("the batch has no part `{name}`"), &PARTS)),
        (None, false, _) => Err(bad("quality_policy can't be that".into(), &["enforce", "warn"])),
        (None, true, false) => Err(bad("sast_threshold can't be that".into(), &["critical", "high", "medium", "low"])),
    }
}

fn bad(what: String, known: &[&str]) -> Failure {
    Failure::new("request.bad-args", what).hint(format!("it may be {}", known.join(", ")))
}

/// Makes a part that did not run, with the reason.
fn not_run(state: PartState, why: String) -> Part {
    Part { ran: false, state, passed: false, result: None, error: Some(why), duration_ms: 0 }
}

/// Makes a part that should have run and could not: it refuses the change.
fn broken(why: String, started: Instant) -> Part {
    let state = PartState::Error;
    Part { ran: false, state, passed: false, result: None, error: Some(why), duration_ms: millis(started) }
}

fn finished_part(passed: bool, result: &impl Serialize, error: Option<String>, started: Instant) -> Part {
    let result = serde_json::to_value(result).ok();
    let state = match (passed, error.is_some()) {
        (true, _) => PartState::Passed,
        (false, true) => PartState::Error,
        (false, false) => PartState::Failed,
    };
    Part { ran: true, state, passed, result, error, duration_ms: millis(started) }
}

/// Scans the change for secrets; also returns the files of the change.
fn secrets_part(engine: &Engine, folder: &Path, base: Base, paths: Vec<String>) -> (Part, Vec<String>) {
    let started = Instant::now();
    let limited = Limits { files_time: PART_TIME.min(engine.limits.files_time), ..engine.limits.clone() };
    let outcome = engine.within(&limited, &request(folder, CheckName::Secretscan, base, paths));
    let mut changed: Vec<String> = outcome.looked_at.into_values().flatten().collect();
    match report(outcome.reply) {
        Err(failure) => (broken(failure.to_string(), started), changed),
        Ok((report, failures)) => {
            changed.extend(report.skipped.iter().map(|file| file.path.clone()));
            let error = failures.first().map(|failure| format!("{} [{}]", failure.what, failure.code));
            (secrets_of(engine, folder, report, error, started), changed)
        }
    }
}

fn secrets_of(engine: &Engine, folder: &Path, report: CheckReport, error: Option<String>, started: Instant) -> Part {
    if report.verdict == CheckVerdict::Skip && report.skipped.is_empty() {
        return not_run(PartState::Skipped, "nothing to check".into());
    }
    let is_refused = match report.verdict {
        CheckVerdict::Fail | CheckVerdict::Incomplete => true,
        CheckVerdict::Pass | CheckVerdict::Warn | CheckVerdict::Skip | CheckVerdict::Error => false,
    };
    let passed = !is_refused && error.is_none();
    match secretscan::reply_of(engine, folder, report, &[]) {
        Ok(reply) => finished_part(passed, &reply, error, started),
        Err(failure) => broken(failure.to_string(), started),
    }
}

/// Result of the linter, or the reason that it did not run.
enum Linted {
    Said(LintReply, Instant),
    NotAsked(String),
    Broken(String, Instant),
}

fn lint_part(engine: &Engine, folder: &Path, args: &PreCheckBatchRequest) -> Linted {
    if args.may_run_commands == Some(false) {
        return Linted::NotAsked("not available: the repository's own commands may not run here".into());
    }
    let started = Instant::now();
    let timeout_ms = Some(PART_TIME.as_millis().try_into().unwrap_or(u64::MAX));
    match lint::run(engine, folder, &LintRequest { timeout_ms, ..LintRequest::default() }) {
        Ok(reply) if reply.command.is_empty() => Linted::NotAsked(format!("not available: {}", reply.message)),
        Ok(reply) => Linted::Said(reply, started),
        Err(failure) => Linted::Broken(failure.to_string(), started),
    }
}

/// Judges the linter's result. If all findings are in files that the change leaves alone, the part refuses nothing.
fn judge_lint(linted: Linted, changed: &[String]) -> Part {
    match linted {
        Linted::NotAsked(why) => not_run(PartState::NotConfigured, why),
        Linted::Broken(why, started) => broken(why, started),
        Linted::Said(reply, started) => {
            let is_old = reply.exit_code.is_some()
                && !reply.findings.is_empty()
                && !reply.findings.iter().any(|finding| changed.contains(&finding.path));
            let error = (reply.exit_code.is_none()).then(|| reply.message.clone());
            finished_part(reply.success || is_old, &reply, error, started)
        }
    }
}

fn reply(parts: [Part; 4], is_empty: bool, total_duration_ms: u64) -> PreCheckBatchReply {
    let refusing: Vec<&str> = named(&parts, |part| part.state.refuses());
    let absent: Vec<String> = named(&parts, |part| !part.ran).into_iter().map(str::to_owned).collect();
    let gaps = if absent.is_empty() { String::new() } else { format!("; did not look: {}", absent.join(", ")) };
    let (status, message) = match (refusing.is_empty(), is_empty, absent.is_empty()) {
        (false, _, _) => ("fail", format!("refused by {}{gaps}", refusing.join(", "))),
        (true, true, _) => ("nothing_to_check", "nothing differs from the base: nothing was checked".to_owned()),
        (true, false, true) => ("pass", "all four parts passed".to_owned()),
        (true, false, false) if absent.len() == PARTS.len() => ("fail", format!("no part looked{gaps}")),
        (true, false, false) => ("incomplete", format!("nothing refuses{gaps}")),
    };
    let [lint, secretscan, sast_scan, quality_budget] = parts;
    PreCheckBatchReply {
        gates_passed: matches!(status, "pass" | "incomplete"),
        status: status.to_owned(),
        message,
        lint,
        secretscan,
        sast_scan,
        quality_budget,
        not_available: absent,
        total_duration_ms,
        sast_preexisting_findings: None,
    }
}

fn named(parts: &[Part; 4], is_it: impl Fn(&Part) -> bool) -> Vec<&'static str> {
    parts.iter().zip(PARTS).filter(|(part, _)| is_it(part)).map(|(_, name)| name).collect()
}

/// Shortens the longest lists until the reply is small enough, and records in each how much was left out.
fn fit(parts: &mut [Part; 4]) {
    let size = |part: &Part| part.result.as_ref().map_or(0, |result| result.to_string().len());
    while parts.iter().map(size).sum::<usize>() > ANSWER {
        let Some(largest) = parts.iter_mut().max_by_key(|part| size(part)) else { return };
        let halved = largest.result.as_mut().is_some_and(halve);
        if !halved {
            largest.result = Some(json!({ "left_out": true }));
        }
    }
}

/// Halves the longest list of an object.
fn halve(result: &mut Value) -> bool {
    let Some(object) = result.as_object_mut() else { return false };
    let longest = object
        .iter()
        .filter_map(|(key, value)| Some((value.as_array()?.len(), key.clone())))
        .max()
        .filter(|(length, _)| *length > 0);
    let Some((length, key)) = longest else { return false };
    if let Some(list) = object.get_mut(&key).and_then(Value::as_array_mut) {
        list.truncate(length / 2);
    }
    let left_out = format!("{key}_left_out");
    let before = object.get(&left_out).and_then(Value::as_u64).unwrap_or(0);
    object.insert(left_out, json!(before + (length - length / 2) as u64));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(passed: bool, result: Value) -> Part {
        let state = if passed { PartState::Passed } else { PartState::Failed };
        Part { ran: true, state, passed, result: Some(result), error: None, duration_ms: 0 }
    }

    fn absent(why: &str) -> Part {
        not_run(PartState::NotConfigured, why.to_owned())
    }

    #[test]
    fn a_part_that_did_not_look_has_not_passed() {
        let parts = [absent("a"), part(true, json!({})), absent("c"), absent("d")];

        let reply = reply(parts, false, 0);

        assert!(!reply.lint.passed && reply.lint.state == PartState::NotConfigured && reply.secretscan.passed);
        assert_eq!((reply.gates_passed, reply.status.as_str()), (true, "incomplete"));
    }

    #[test]
    fn a_large_answer_is_shortened_and_says_so() {
        let long: Vec<String> =
            (0..20_000).map(|at| format!("finding number {at} of a very long list of them")).collect();
        let mut parts =
            [part(true, json!({ "findings": long })), part(true, json!({ "findings": [] })), absent("x"), absent("y")];

        fit(&mut parts);

        let result = parts[0].result.as_ref().unwrap();
        assert!(result.to_string().len() <= ANSWER);
        let kept = result["findings"].as_array().unwrap().len() as u64;
        assert_eq!(kept + result["findings_left_out"].as_u64().unwrap(), 20_000);
    }

    #[test]
    fn no_part_that_looked_is_no_pass() {
        let nobody = || ["a", "b", "c", "d"].map(absent);

        assert!(!reply(nobody(), false, 0).gates_passed);
        assert_eq!(reply(nobody(), true, 0).status, "nothing_to_check");
    }
}
