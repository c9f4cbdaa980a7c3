//! Runs a test engineer's tests without the change: each must fail there, or add a case for existing code.

use switchboard_protocol::finding::{
    Base, CheckCommand, CheckName, CheckReport, CheckRequest, CheckVerdict, CommandKind,
};
use switchboard_protocol::worker::PortRange;

use super::{AnswerContext, Places};
use crate::Error;
use crate::effect::context::Ctx;
use crate::effect::gate_tree::GateTree;
use crate::effect::judged::Judged;

/// Maximum number of tests named in a refusal.
const MAX_NAMED: usize = 5;

/// Returns notes about the new tests for people, or why the tests can't be taken.
pub(super) async fn judge(
    ctx: &Ctx,
    given: AnswerContext<'_>,
    places: &Places,
    commit: &str,
) -> Result<Result<Option<String>, String>, Error> {
    let (_, settings) = ctx.plan.settings(given.task)?;
    let Some(line) = settings.command_of(CommandKind::Test) else { return Ok(Ok(None)) };
    let base = places.base.to_string();
    let (task, attempt) = (given.task, given.attempt);
    let judged = Judged { task, attempt, commit, base: &base, tree_of: task, declared: &[] };
    let tree = GateTree::check_out(ctx, judged).await?;
    let limit = ctx.world.config.gate_limit;
    let ports = ctx.world.tree_ports.of(&ctx.plan.run, given.task);
    let command = CheckCommand {
        kind: CommandKind::Test,
        argv: line.argv(),
        cwd: None,
        time_limit_s: Some(limit.as_secs() / 2),
        env: ports.into_iter().flat_map(PortRange::env).collect(),
    };
    let request = CheckRequest {
        id: Some(format!("{}@{commit}", given.task)),
        root: crate::plan::text(&tree.path),
        base: Base::Rev(places.start.to_string()),
        commit: Some(commit.to_owned()),
        without: Some(base.clone()),
        only: vec![CheckName::NewTests],
        commands: vec![command],
        ..CheckRequest::default()
    };
    let reports = ctx.world.ports.checks.check(&request, limit).await?;
    let Some(report) = reports.into_iter().find(|report| report.check == CheckName::NewTests) else {
        return Ok(Ok(Some("new_tests: incomplete: the check did not report".to_owned())));
    };
    if report.verdict == CheckVerdict::Fail {
        return Ok(Err(refusal(&report)));
    }
    // Only the tests have run in the tree, and it is at the commit again.
    tree.passed(ctx).await?;
    Ok(Ok((report.verdict != CheckVerdict::Skip).then(|| format!("new_tests: {}", report.summary))))
}

fn refusal(report: &CheckReport) -> String {
    let named = report.findings.iter().take(MAX_NAMED).map(|finding| format!("{}: {}", finding.path, finding.message));
    let remedy = report.findings.first().map_or("", |finding| finding.remedy.as_str());
    format!("new_tests: {}. {remedy} ({})", named.collect::<Vec<_>>().join("; "), report.summary)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::finding;

    #[test]
    fn a_refusal_names_the_first_tests_the_remedy_and_the_summary() {
        let mut report = CheckReport::new(CheckName::NewTests, CheckVerdict::Fail, "6 tests".to_owned());
        report.findings = (1..=6).map(|number| finding(1, json!({ "path": format!("t{number}.py") }))).collect();

        assert_eq!(
            refusal(&report),
            "new_tests: t1.py: bad; t2.py: bad; t3.py: bad; t4.py: bad; t5.py: bad. mend it (6 tests)"
        );
    }
}
