//! Runs the gates on a captured change: the checks in a limited child process, including the plan's build and test
//! commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_pipeline::gate::{self, GateKind};
use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, Finding, Severity,
};
use switchboard_protocol::run::way::{Need, When};
use switchboard_protocol::run::{CheckAsked, RunEvent, Verdict};
use switchboard_protocol::text::cut;
use switchboard_protocol::worker::PortRange;

use super::context::Ctx;
use super::gate_tree::GateTree;
use super::judged::Judged;
use crate::{Error, evidence};

mod batch;
mod handed;
mod scope;
mod test_count;
mod weakened_tests;

/// Maximum number of reasons given by a gate; they go into the next prompt and into the log.
const REASONS: usize = 8;

/// Checks whose findings are shown even if they pass.
const SHOWN_WHEN_PASSED: [CheckName; 3] = [CheckName::TestIntegrity, CheckName::Diff, CheckName::Imports];

/// Verdict of a gate and its reasons.
type GateResult = (Verdict, Vec<String>);

/// Returns whether a person should look at a gate's findings, and whether the run stops because of them. Gates that ask
/// do so for medium severity.
fn follows(gate: &str, verdict: Verdict, scope: Option<&scope::Judged>) -> (bool, bool) {
    match (is_of(gate, GateKind::Scope), scope) {
        (true, Some(scope)) => (scope.asks, scope.halts),
        (true, None) => (false, false),
        (false, _) => (verdict == Verdict::Warn && gate::find(gate).is_some_and(|gate| gate.asks), false),
    }
}

pub(super) async fn run_checks(ctx: &Ctx, change: Judged<'_>, checks: &[CheckAsked]) -> Result<Vec<RunEvent>, Error> {
    let tree = GateTree::check_out(ctx, change).await?;
    let asked: Vec<_> = checks.iter().filter(|check| check.when.is_always()).map(|check| check.gate.as_str()).collect();
    let mut request = request(ctx, change, &tree, &asked)?;
    request.handed = handed::of(ctx, change).await?;
    let limit = ctx.world.config.gate_limit;
    let mut reports = Vec::new();
    for part in in_turn(&request) {
        reports.extend(ctx.world.ports.checks.check(&part, limit).await?);
    }
    let (_, settings) = ctx.plan.settings(change.task)?;
    test_count::add_finding(&mut reports);
    if settings.asks_nobody && !settings.team {
        weakened_tests::refuse(&mut reports);
    }
    let batch = match asked.iter().any(|gate| is_of(gate, GateKind::Batch)) {
        true => Some(batch::run(ctx, &request, limit).await?),
        false => None,
    };
    let scope = match asked.iter().any(|gate| is_of(gate, GateKind::Scope)) {
        true => Some(scope::judge(ctx, change, &request.base).await?),
        false => None,
    };
    ctx.world.crash("gates-judged");
    let by_name: BTreeMap<_, _> = reports.iter().map(|report| (report.check.as_str(), report)).collect();
    let lint = by_name.get(CheckName::Lint.as_str()).copied();
    let say = |check: &CheckAsked| match (&check.when, &batch, &scope) {
        (When::Never { reason }, _, _) => (Verdict::Skipped, vec![reason.clone()]),
        (When::NotConfigured { reason }, _, _) => (Verdict::NotConfigured, vec![reason.clone()]),
        (When::Always, Some(batch), _) if is_of(&check.gate, GateKind::Batch) => batch::judge(batch, lint),
        (When::Always, _, Some(scope)) if is_of(&check.gate, GateKind::Scope) => scope.said.clone(),
        (When::Always, _, _) => judge(&request, &check.gate, &by_name),
    };
    let judged: Vec<(&CheckAsked, GateResult)> = checks.iter().map(|check| (check, say(check))).collect();
    if judged.iter().any(|(_, (verdict, _))| matches!(verdict, Verdict::Fail | Verdict::Error)) {
        ctx.has_room(&tree.path)?;
    }
    let verdicts: Vec<_> = judged.iter().map(|(check, (verdict, _))| (check.gate.clone(), *verdict)).collect();
    let found = reports
        .iter()
        .map(evidence::of_report)
        .chain(batch.as_ref().map(|batch| batch::evidence(batch, lint)))
        .chain(scope.as_ref().map(scope::evidence))
        .collect();
    let (world, run, task) = (Arc::clone(&ctx.world), ctx.plan.run.clone(), change.task.clone());
    let attempt = change.attempt;
    let kept = ctx.world.blocking(move || evidence::keep(&world, &run, &task, attempt, found, &verdicts));
    kept.await?;
    if judged.iter().all(|(_, (verdict, _))| Need::Required.accepts(*verdict) || *verdict == Verdict::NotConfigured) {
        tree.passed(ctx).await?;
    }
    let event = |(check, (verdict, reasons)): (&CheckAsked, GateResult)| {
        let (asks, halts) = follows(&check.gate, verdict, scope.as_ref());
        let (task, gate, input) = (change.task.clone(), check.gate.clone(), Some(check.input));
        RunEvent::GateReported { task, attempt, gate, input, verdict, asks, halts, reasons }
    };
    Ok(judged.into_iter().map(event).collect())
}

/// Splits a request into parts that run one after the other. `test_integrity` and `new_tests` change the tree
/// temporarily if they have a command to run, so checks that read the tree come after them.
fn in_turn(request: &CheckRequest) -> Vec<CheckRequest> {
    let changes_tree = |check: &CheckName| [CheckName::TestIntegrity, CheckName::NewTests].contains(check);
    let runs = |check: &CheckName| changes_tree(check) && !request.commands.is_empty();
    let (first, rest): (Vec<_>, Vec<_>) = request.only.iter().copied().partition(runs);
    let part = |only: Vec<CheckName>| (!only.is_empty()).then(|| CheckRequest { only, ..request.clone() });
    [part(first), part(rest)].into_iter().flatten().collect()
}

fn request(ctx: &Ctx, change: Judged<'_>, tree: &GateTree, gates: &[&str]) -> Result<CheckRequest, Error> {
    let Judged { task: id, commit, base, tree_of, .. } = change;
    let (_, settings) = ctx.plan.settings(id)?;
    let base = match (base, &ctx.last) {
        ("", Some(last)) => last.base.clone(),
        ("", None) => return Err(Error::Missing(format!("the worker of task {id}"))),
        (base, _) => base.to_owned(),
    };
    let mut request = CheckRequest {
        id: Some(format!("{id}@{commit}")),
        root: crate::plan::text(&tree.path),
        base: Base::Rev(base),
        commit: Some(commit.to_owned()),
        ..CheckRequest::default()
    };
    let env: Vec<_> = ctx.world.tree_ports.of(&ctx.plan.run, tree_of).into_iter().flat_map(PortRange::env).collect();
    let lint = CheckName::Lint.as_str();
    let in_batch = (gates.iter().any(|gate| is_of(gate, GateKind::Batch)) && !gates.contains(&lint)).then_some(lint);
    for gate in gates.iter().copied().chain(in_batch) {
        match gate::find(gate).map(|gate| gate.kind) {
            Some(GateKind::Check(name)) => request.only.push(name),
            Some(GateKind::Command(kind)) => {
                let Some(line) = settings.command_of(kind) else { continue };
                request.only.push(kind.check());
                request.commands.push(CheckCommand {
                    kind,
                    argv: line.argv(),
                    cwd: None,
                    time_limit_s: Some(ctx.world.config.gate_limit.as_secs() / 2),
                    env: env.clone(),
                });
            }
            Some(GateKind::Batch | GateKind::Scope | GateKind::NotBuilt) | None => {}
        }
    }
    Ok(request)
}

fn is_of(name: &str, kind: GateKind) -> bool {
    gate::find(name).is_some_and(|gate| gate.kind == kind)
}

fn judge(request: &CheckRequest, name: &str, reports: &BTreeMap<&str, &CheckReport>) -> GateResult {
    let check = match gate::find(name).map(|gate| gate.kind) {
        Some(GateKind::Check(check)) => check,
        Some(GateKind::Command(kind)) => kind.check(),
        Some(GateKind::Batch | GateKind::Scope | GateKind::NotBuilt) => {
            return (Verdict::NotConfigured, vec!["this version does not have it yet".to_owned()]);
        }
        // Only in runs that were recorded before ways: such a plan is refused now.
        None => return (Verdict::NotConfigured, vec![format!("no check is called {name}")]),
    };
    if !request.only.contains(&check) {
        return (Verdict::NotConfigured, vec!["the plan names no command for it".to_owned()]);
    }
    let Some(report) = reports.get(check.as_str()) else {
        return (Verdict::Error, vec!["the check did not report".to_owned()]);
    };
    match report.verdict {
        // What was left out is named, so that the pass is not taken for more than it is.
        CheckVerdict::Pass if SHOWN_WHEN_PASSED.contains(&check) => (Verdict::Pass, finding_lines(report)),
        CheckVerdict::Pass if report.excluded > 0 => (Verdict::Pass, vec![report.summary.clone()]),
        CheckVerdict::Pass => (Verdict::Pass, Vec::new()),
        CheckVerdict::Warn => (Verdict::Warn, warnings(report)),
        // A command that did nothing, such as a test command without tests, has not judged the change.
        CheckVerdict::Skip if !report.runs.is_empty() => (Verdict::Error, reasons(report)),
        // The change has no file that the check can judge.
        CheckVerdict::Skip => (Verdict::Skipped, vec![report.summary.clone()]),
        CheckVerdict::Fail => (Verdict::Fail, reasons(report)),
        CheckVerdict::Incomplete | CheckVerdict::Error => (Verdict::Error, reasons(report)),
    }
}

/// Returns the changes made to tests and their configuration that need no question.
fn finding_lines(report: &CheckReport) -> Vec<String> {
    report.findings.iter().take(REASONS).map(shown).collect()
}

/// Returns what a person should see of a report that refuses nothing.
fn warnings(report: &CheckReport) -> Vec<String> {
    let seen = |finding: &&Finding| finding.is_new && finding.severity == Severity::Medium;
    let mut warnings: Vec<_> = report.findings.iter().filter(seen).take(REASONS).map(shown).collect();
    if warnings.is_empty() {
        warnings.push(report.summary.clone());
    }
    warnings
}

fn shown(finding: &Finding) -> String {
    format!("{}:{} {} ({})", finding.path, finding.span.start_line, finding.message, finding.rule)
}

/// Formats the findings, with a shared remedy only after the last of them: reasons have little room in an event.
fn with_remedies(findings: &[&Finding]) -> Vec<String> {
    let reason = |(at, finding): (usize, &&Finding)| match findings.get(at + 1) {
        Some(next) if next.remedy == finding.remedy => shown(finding),
        Some(_) | None => format!("{}; {}", shown(finding), finding.remedy),
    };
    findings.iter().enumerate().map(reason).collect()
}

fn reasons(report: &CheckReport) -> Vec<String> {
    let findings = report.findings.iter().filter(|finding| finding.blocks && finding.is_new);
    if report.check == CheckName::TestIntegrity {
        return with_remedies(&findings.take(REASONS).collect::<Vec<_>>());
    }
    let mut reasons: Vec<_> = findings.take(REASONS).map(shown).collect();
    if report.verdict == CheckVerdict::Fail && report.runs.iter().all(|run| run.exit_code == Some(0)) {
        reasons.push(report.summary.clone());
    }
    for run in &report.runs {
        let end = |text: &str| {
            let text = text.trim_end();
            cut(&text[text.ceil_char_boundary(text.len().saturating_sub(400))..], 400)
        };
        reasons.push(format!("`{}` {}: {} {}", run.argv.join(" "), run.ending, end(&run.stdout), end(&run.stderr)));
    }
    if reasons.is_empty() {
        reasons.push(report.summary.clone());
    }
    reasons
}

#[cfg(test)]
mod tests;
