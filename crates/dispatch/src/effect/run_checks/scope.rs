//! The gate that holds a change to the files that its task declares.

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
    let changes = ctx.world.git(move |git| git.changed_files(&base, &commit)).await?;
    let files: Vec<_> = changes.iter().map(|change| crate::plan::text(&change.path)).collect();
    let outside = settings.outside(files.iter().map(String::as_str));
    if outside.is_empty() {
        return Ok((Verdict::Pass, Vec::new()));
    }
    let left = outside.len().saturating_sub(REASONS);
    let more = (left > 0).then(|| format!("{left} more files"));
    let reasons = outside.iter().take(REASONS);
    let reasons = reasons.map(|one| format!("{} is not in the task's {}", cut(one.file, PATH_BYTES), one.of));
    Ok((Verdict::Fail, reasons.chain(more).collect()))
}
