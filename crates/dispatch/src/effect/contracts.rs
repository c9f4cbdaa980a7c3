//! Contracts (what others may call) that a change alters: as found by the gate `diff`, and as analysed by an explorer.

use std::fmt::Write as _;
use std::sync::Arc;

use switchboard_pipeline::team::steps::IMPACT;
use switchboard_pipeline::team::verdict;
use switchboard_process::git::Oid;
use switchboard_protocol::answer::{Answer, AnswerKind};
use switchboard_protocol::finding::CheckName;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{TaskView, Verdict};
use switchboard_protocol::text::cut_lines;
use switchboard_store::Query;

use super::context::Ctx;
use crate::work::{JUDGES, WORKERS};
use crate::{Error, evidence};

/// Number of bytes of an analysis shown to a reviewer. A report has fewer than 2,000 characters, and the list repeats
/// its content once.
const MAX_SHOWN_BYTES: usize = 6 << 10;

/// Findings of the gate `diff` about the change of a task's present attempt.
pub(super) enum Contracts {
    /// No contract is altered, for this reason.
    Kept(String),
    /// Altered contracts, one per line; empty if the list can't be read any more.
    Altered(Vec<String>),
}

/// Looks up what the change alters. If that is no longer recorded, contracts count as altered.
pub(super) async fn of_change(ctx: &Ctx, id: &TaskId) -> Result<Contracts, Error> {
    let Some(view) = view(ctx, id).await? else { return Ok(Contracts::Altered(Vec::new())) };
    let diff = view.gates.iter().find(|report| report.gate == CheckName::Diff.as_str());
    if !diff.is_some_and(|report| evidence::has_passed(report.verdict)) {
        return Ok(Contracts::Kept("the gate `diff`, which finds changes of contracts, did not look at it".to_owned()));
    }
    let (world, run) = (Arc::clone(&ctx.world), ctx.plan.run.clone());
    let found = ctx.world.blocking(move || evidence::contracts_of(&world, &run, &view)).await?;
    Ok(match found {
        Some(found) if found.is_empty() => {
            Contracts::Kept("the change alters nothing that others may call (gate `diff`)".to_owned())
        }
        Some(found) => Contracts::Altered(found),
        None => Contracts::Altered(Vec::new()),
    })
}

/// Returns an explorer's analysis of the change that begins at `start`; `None` if no explorer was asked.
pub(super) async fn analysis(ctx: &Ctx, id: &TaskId, start: &Oid) -> Result<Option<String>, Error> {
    let has_passed =
        |view: TaskView| view.steps.iter().any(|said| said.step.as_str() == IMPACT && said.verdict == Verdict::Pass);
    if !view(ctx, id).await?.is_some_and(has_passed) {
        return Ok(None);
    }
    let asked = Query::table(WORKERS).eq("run", ctx.plan.run.as_str()).eq("task", id.as_str()).eq(JUDGES, IMPACT);
    let rows = ctx.world.store.read(&asked.desc("seq").limit(1))?;
    // An analysis of another change does not apply to this one.
    let Some(row) = rows.first().filter(|row| row.get_text("start") == Some(start.to_string().as_str())) else {
        return Ok(None);
    };
    let Some(worker) = row.get_text("id").and_then(|id| WorkerId::new(id).ok()) else { return Ok(None) };
    let given = crate::answer::read_answer(&ctx.world, &ctx.plan.run, &worker, AnswerKind::Impact).await?;
    Ok(given.ok().map(|answer| shown(&answer)))
}

async fn view(ctx: &Ctx, id: &TaskId) -> Result<Option<TaskView>, Error> {
    Ok(ctx.engine.view().await?.into_iter().find(|view| view.task == *id))
}

/// Returns the list of changes before the report, so that a cut removes the end of the report.
fn shown(answer: &Answer) -> String {
    let (_, changes) = verdict::of(answer);
    let mut text = changes.iter().fold(String::new(), |mut text, change| {
        let _ = writeln!(text, "- {change}");
        text
    });
    if let Answer::Impact(impact) = answer {
        let _ = write!(text, "\n{}", impact.report.trim_end());
    }
    cut_lines(&text, MAX_SHOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_analysis_is_bounded_and_its_list_of_changes_comes_first() {
        let change = json!({ "change": "load(path, strict)", "file": "src/list.rs", "class": "BREAKING", "consumers": ["src/main.rs:14"] });
        let answer = json!({ "report": "x".repeat(8_000), "changes": [change] });

        let text = shown(&Answer::read(AnswerKind::Impact, &answer).unwrap());

        assert!(
            text.starts_with("- BREAKING: src/list.rs: load(path, strict); consumers: src/main.rs:14\n\nxxx"),
            "{text}"
        );
        assert!(text.len() <= MAX_SHOWN_BYTES + "…".len(), "{}", text.len());
    }
}
