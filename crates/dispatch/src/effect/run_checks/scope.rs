//! The gate that holds a change to the files that its task declares.

use switchboard_pipeline::dataflow::{self, Files};
use switchboard_process::git::Oid;
use switchboard_protocol::finding::Base;
use switchboard_protocol::run::Verdict;
use switchboard_protocol::text::cut;

use super::{Judged, REASONS, Said};
use crate::Error;
use crate::effect::context::Ctx;

/// Longest path in a reason, in bytes.
const PATH_BYTES: usize = 200;

/// Compares the files in which the change differs from its base with what the task declares.
pub(super) async fn judge(ctx: &Ctx, change: Judged<'_>, base: &Base) -> Result<Said, Error> {
    let (_, settings) = ctx.plan.settings(change.task)?;
    let Base::Rev(base) = base else {
        return Ok((Verdict::Error, vec!["the change has no base to compare it with".to_owned()]));
    };
    let (base, commit) = (Oid::parse(base)?, Oid::parse(change.commit)?);
    let new = commit.clone();
    let changes = ctx.world.git(move |git| git.changed_files(&base, &new)).await?;
    let files: Vec<_> = changes.iter().map(|change| crate::plan::text(&change.path)).collect();
    let outside = settings.outside(files.iter().map(String::as_str));
    let missing = not_made(ctx, &settings.outputs, &commit).await?;
    if outside.is_empty() && missing.is_empty() {
        return Ok((Verdict::Pass, Vec::new()));
    }
    let all = missing.len() + outside.len();
    let more = (all > REASONS).then(|| format!("{} more files", all - REASONS));
    let outside = outside.iter().map(|one| format!("{} is not in the task's {}", cut(one.file, PATH_BYTES), one.of));
    let missing = missing.iter().map(|path| format!("{} is an output, and was not made", cut(path, PATH_BYTES)));
    Ok((Verdict::Fail, missing.chain(outside).take(REASONS).chain(more).collect()))
}

/// The outputs that the commit does not have.
async fn not_made(ctx: &Ctx, outputs: &[String], commit: &Oid) -> Result<Vec<String>, Error> {
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let commit = commit.clone();
    let files = ctx.world.git(move |git| git.files_of(&commit)).await?;
    let files = Files::new(files.iter().map(|path| crate::plan::text(path)).collect());
    Ok(dataflow::not_made(outputs, &files).into_iter().map(str::to_owned).collect())
}
