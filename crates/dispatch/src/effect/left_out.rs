//! Decides whether a change makes a step of a team unnecessary: by the files it touches, and by what the plan says of
//! it.

use switchboard_pipeline::team::steps::IMPACT;
use switchboard_pipeline::team::tier::{Assessment, left_out};
use switchboard_process::git::Oid;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::{RunEvent, StartFrom};

use super::context::Ctx;
use super::contracts::{self, Contracts};
use super::start_worker::Start;
use crate::Error;

/// Number of bytes of a change that are searched for words.
const SEARCHED: usize = 1 << 20;

/// Returns the event that skips the step, if nothing requires it.
pub(super) async fn skipped(ctx: &Ctx, id: &TaskId, start: &Start) -> Result<Option<RunEvent>, Error> {
    let StartFrom::Change { commit, base } = &start.from else { return Ok(None) };
    let reason = match of_tier(ctx, id, start.step.as_str(), (base, commit)).await? {
        Some(reason) => Some(reason),
        None if start.step.as_str() == IMPACT => match contracts::of_change(ctx, id).await? {
            Contracts::Kept(reason) => Some(reason),
            Contracts::Altered(_) => None,
        },
        None => None,
    };
    let (step, attempt, input) = (start.step.clone(), start.attempt, start.work.input);
    Ok(reason.map(|reason| RunEvent::StepSkipped { task: id.clone(), step, attempt, input, reason }))
}

/// Returns why the tier of the change leaves the step out. The plan's list of files is not sufficient: the change
/// itself is examined, which can only raise the tier.
async fn of_tier(ctx: &Ctx, id: &TaskId, step: &str, (base, commit): (&str, &str)) -> Result<Option<String>, Error> {
    let (task, settings) = ctx.plan.settings(id)?;
    let of_plan = Assessment::of(&settings.files_touched, &task.description);
    if left_out(step, &of_plan, settings.wishes()).is_none() {
        return Ok(None);
    }
    let (old, new) = (Oid::parse(base)?, Oid::parse(commit)?);
    let looked_at =
        ctx.world.git(move |git| Ok((git.changed_files(&old, &new)?, git.diff_text(&old, &new, SEARCHED)?)));
    let (files, diff) = looked_at.await?;
    // A change too long to be searched is always judged.
    if diff.len() >= SEARCHED {
        return Ok(None);
    }
    let files: Vec<_> = files.iter().map(|file| crate::plan::text(&file.path)).collect();
    // Removed lines count as well: a removed line may have been a check.
    let changed = diff.lines().filter(|line| line.starts_with(['+', '-']));
    let changed: String = changed.flat_map(|line| [line, "\n"]).collect();
    let found = of_plan.raise(Assessment::of(&files, &changed));
    Ok(left_out(step, &found, settings.wishes()))
}
