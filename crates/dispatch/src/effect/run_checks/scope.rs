//! The gate that holds a change to the files that its task declares.

use switchboard_pipeline::dataflow::{self, Files};
use switchboard_pipeline::gate::SCOPE;
use switchboard_pipeline::settings::ScopeVerdict;
use switchboard_process::git::Oid;
use switchboard_protocol::evidence::{Detail, Verdict as Evidenced};
use switchboard_protocol::finding::Base;
use switchboard_protocol::run::Verdict;
use switchboard_protocol::text::cut;

use super::{REASONS, Said};
use crate::Error;
use crate::effect::context::Ctx;
use crate::evidence::Found;

/// Longest path in a reason, in bytes.
const PATH_BYTES: usize = 200;

/// What the gate says, and what follows from it.
pub(super) struct Judged {
    pub(super) said: Said,
    pub(super) asks: bool,
    pub(super) halts: bool,
}

/// Compares the files in which the change differs from its base with what the task declares.
pub(super) async fn judge(ctx: &Ctx, change: super::Judged<'_>, base: &Base) -> Result<Judged, Error> {
    let (_, settings) = ctx.plan.settings(change.task)?;
    let Base::Rev(base) = base else {
        let said = (Verdict::Error, vec!["the change has no base to compare it with".to_owned()]);
        return Ok(Judged { said, asks: false, halts: false });
    };
    let (base, commit) = (Oid::parse(base)?, Oid::parse(change.commit)?);
    let new = commit.clone();
    let changes = ctx.world.git(move |git| git.changed_files(&base, &new)).await?;
    let files: Vec<_> = changes.iter().map(|change| crate::plan::text(&change.path)).collect();
    let outside = settings.outside(files.iter().map(String::as_str));
    let missing = not_made(ctx, &settings.outputs, &commit).await?;
    let ScopeVerdict { verdict, asks, halts } = settings.judge_scope(&outside, missing.is_empty());
    let all = missing.len() + outside.len();
    let more = (all > REASONS).then(|| format!("{} more files", all - REASONS));
    let outside = outside.iter().map(|one| format!("{} is not in the task's {}", cut(one.file, PATH_BYTES), one.of));
    let missing = missing.iter().map(|path| format!("{} is an output, and was not made", cut(path, PATH_BYTES)));
    let stops = halts.then(|| "the run stops, as its plan says (`on_violation`) [gate.refused]".to_owned());
    let reasons = missing.chain(outside).take(REASONS).chain(more).chain(stops).collect();
    Ok(Judged { said: (verdict, reasons), asks, halts })
}

/// What the gate says, in the form of evidence.
pub(super) fn evidence(judged: &Judged) -> Found {
    let (verdict, reasons) = &judged.said;
    let found = match verdict {
        Verdict::Pass => Evidenced::Pass,
        Verdict::Warn => Evidenced::Warn,
        Verdict::Skipped | Verdict::NotConfigured => Evidenced::Skip,
        Verdict::Fail | Verdict::Error | Verdict::NoReply => Evidenced::Fail,
    };
    let summary = if reasons.is_empty() { "all files are declared".to_owned() } else { reasons.join("; ") };
    Found { gate: SCOPE.to_owned(), verdict: found, summary, detail: Detail::Note }
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
