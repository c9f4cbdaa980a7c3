//! The gates judge a captured change: the checks in a limited child, the plan's build and test commands with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind,
};
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{GateVerdict, RunEvent};

use switchboard_protocol::verb::Verb;
use switchboard_protocol::verb::check::PreCheckBatch;

use super::Ctx;
use crate::{Error, evidence};

mod batch;

/// Reasons that a gate gives at most: they go into the next prompt and into the log.
const REASONS: usize = 8;

pub(super) async fn run_checks(
    ctx: &Ctx,
    id: &TaskId,
    attempt: u32,
    commit: &str,
    gates: &[String],
) -> Result<Vec<RunEvent>, Error> {
    let request = request(ctx, id, commit, gates)?;
    let limit = ctx.world.config.gate_limit;
    let asked = !request.only.is_empty();
    let reports = if asked { ctx.world.ports.checks.check(&request, limit).await? } else { Vec::new() };
    let batch = match gates.iter().any(|gate| gate == PreCheckBatch::NAME) {
        true => Some(batch::run(ctx, &request, limit).await?),
        false => None,
    };
    ctx.world.crash("gates-judged");
    let by_name: BTreeMap<_, _> = reports.iter().map(|report| (report.check.as_str(), report)).collect();
    let lint = by_name.get(CheckName::Lint.as_str()).copied();
    let judged: Vec<_> = gates
        .iter()
        .map(|gate| match &batch {
            Some(batch) if gate == PreCheckBatch::NAME => (gate.clone(), batch::judge(batch, lint)),
            Some(_) | None => (gate.clone(), judge(&request, gate, by_name.get(gate.as_str()).copied())),
        })
        .collect();
    let verdicts: Vec<_> = judged.iter().map(|(gate, (verdict, _))| (gate.clone(), *verdict)).collect();
    let found = reports
        .iter()
        .map(evidence::of_report)
        .chain(batch.as_ref().map(|batch| batch::evidence(batch, lint)))
        .collect();
    let (world, run, task) = (Arc::clone(&ctx.world), ctx.plan.run.clone(), id.clone());
    let kept = ctx.world.blocking(move || evidence::keep(&world, &run, &task, attempt, found, &verdicts));
    kept.await?;
    let event =
        |(gate, (verdict, reasons))| RunEvent::GateReported { task: id.clone(), attempt, gate, verdict, reasons };
    Ok(judged.into_iter().map(event).collect())
}

fn request(ctx: &Ctx, id: &TaskId, commit: &str, gates: &[String]) -> Result<CheckRequest, Error> {
    let (_, settings) = ctx.plan.settings(id)?;
    let last = ctx.last.as_ref().ok_or_else(|| Error::Missing(format!("the worker of task {id}")))?;
    let mut request = CheckRequest {
        id: Some(format!("{id}@{commit}")),
        root: crate::plan::text(&ctx.plan.worktree(id)),
        base: Base::Rev(last.base.clone()),
        ..CheckRequest::default()
    };
    let is_batch = gates.iter().any(|gate| gate == PreCheckBatch::NAME);
    let lint = CheckName::Lint.as_str().to_owned();
    let in_batch = (is_batch && !gates.contains(&lint)).then_some(&lint);
    for gate in gates.iter().chain(in_batch) {
        let Ok(name) = gate.parse::<CheckName>() else { continue };
        match kind(name) {
            None => request.only.push(name),
            Some(kind) => {
                let Some(argv) = crate::plan::command(&settings, gate) else { continue };
                request.only.push(name);
                request.commands.push(CheckCommand {
                    kind,
                    argv,
                    cwd: None,
                    time_limit_s: Some(ctx.world.config.gate_limit.as_secs() / 2),
                });
            }
        }
    }
    Ok(request)
}

/// Checks that are a command of the plan's.
const fn kind(name: CheckName) -> Option<CommandKind> {
    match name {
        CheckName::BuildCheck => Some(CommandKind::Build),
        CheckName::TestRunner => Some(CommandKind::Test),
        CheckName::Lint => Some(CommandKind::Lint),
        CheckName::SyntaxCheck
        | CheckName::Secretscan
        | CheckName::PlaceholderScan
        | CheckName::TodoExtract
        | CheckName::SastScan
        | CheckName::QualityBudget => None,
    }
}

fn judge(request: &CheckRequest, gate: &str, report: Option<&CheckReport>) -> (GateVerdict, Vec<String>) {
    let Ok(name) = gate.parse::<CheckName>() else {
        return (GateVerdict::NotConfigured, vec![format!("no check is called {gate}")]);
    };
    if !request.only.contains(&name) {
        return (GateVerdict::NotConfigured, vec!["the plan names no command for it".to_owned()]);
    }
    let Some(report) = report else {
        return (GateVerdict::Error, vec!["the check did not report".to_owned()]);
    };
    match report.verdict {
        CheckVerdict::Pass => (GateVerdict::Pass, Vec::new()),
        CheckVerdict::Warn => (GateVerdict::Warn, vec![report.summary.clone()]),
        // Nothing that the check can judge was changed: it has looked and says so.
        CheckVerdict::Skip => (GateVerdict::Pass, vec![report.summary.clone()]),
        CheckVerdict::Fail => (GateVerdict::Fail, reasons(report)),
        CheckVerdict::Incomplete | CheckVerdict::Error => (GateVerdict::Error, reasons(report)),
    }
}

fn reasons(report: &CheckReport) -> Vec<String> {
    let findings = report.findings.iter().filter(|finding| finding.blocks && finding.is_new);
    let mut reasons: Vec<_> = findings
        .take(REASONS)
        .map(|finding| format!("{}:{} {} ({})", finding.path, finding.span.start_line, finding.message, finding.rule))
        .collect();
    for run in &report.runs {
        let end = |text: &str| {
            crate::event::cut(text.trim_end().get(text.trim_end().len().saturating_sub(400)..).unwrap_or(""), 400)
        };
        reasons.push(format!("`{}` {}: {} {}", run.argv.join(" "), run.ending, end(&run.stdout), end(&run.stderr)));
    }
    if reasons.is_empty() {
        reasons.push(report.summary.clone());
    }
    reasons
}
