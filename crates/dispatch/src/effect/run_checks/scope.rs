//! Gate that restricts a change to the files that its task declares.

use std::collections::BTreeSet;

use switchboard_pipeline::dataflow::{self, Files};
use switchboard_pipeline::gate::SCOPE;
use switchboard_pipeline::roles::{Denied, Why, may_write, way_zone_of};
use switchboard_pipeline::settings::{ScopeVerdict, Settings};
use switchboard_process::git::Oid;
use switchboard_protocol::evidence::{Detail, Verdict as Evidenced};
use switchboard_protocol::finding::Base;
use switchboard_protocol::role::RoleName;
use switchboard_protocol::run::Verdict;
use switchboard_protocol::run::way::Zone;
use switchboard_protocol::text::cut;

use super::{GateResult, REASONS};
use crate::effect::context::Ctx;
use crate::evidence::Found;
use crate::history::Turn;
use crate::{Error, history};

/// Maximum length of a path in a reason, in bytes.
const PATH_BYTES: usize = 200;

/// Verdict of the gate and its consequences.
pub(super) struct Judged {
    pub(super) said: GateResult,
    pub(super) asks: bool,
    pub(super) halts: bool,
}

/// Compares the files in which the change differs from its base with those that the task declares and those that its
/// coder may write.
pub(super) async fn judge(ctx: &Ctx, change: super::Judged<'_>, base: &Base) -> Result<Judged, Error> {
    let (_, mut settings) = ctx.plan.settings(change.task)?;
    if !change.declared.is_empty() {
        settings.files_touched = change.declared.to_vec();
    }
    let Base::Rev(base) = base else {
        let said = (Verdict::Error, vec!["the change has no base to compare it with".to_owned()]);
        return Ok(Judged { said, asks: false, halts: false });
    };
    let (base, commit) = (Oid::parse(base)?, Oid::parse(change.commit)?);
    let new = commit.clone();
    let changes = ctx.world.git(move |git| git.changed_files(&base, &new)).await?;
    let files: Vec<_> = changes.iter().map(|change| crate::plan::text(&change.path)).collect();
    let paths = || files.iter().map(String::as_str);
    let mut outside = settings.outside(paths(), &files.iter().cloned().collect());
    if settings.team && outside.iter().any(|one| way_zone_of(one.file) == Zone::Tests) {
        outside = settings.outside(paths(), &by_maker(ctx, change).await?);
    }
    let missing = missing_outputs(ctx, &settings.outputs, &commit).await?;
    let denied = denied(ctx, change, &settings, &files).await?;
    let is_whole = missing.is_empty() && denied.is_empty();
    let ScopeVerdict { verdict, asks, halts } = settings.judge_scope(&outside, is_whole);
    let all = missing.len() + denied.len() + outside.len();
    let more = (all > REASONS).then(|| format!("{} more files", all - REASONS));
    let outside = outside.iter().map(|one| format!("{} is not in the task's {}", cut(one.file, PATH_BYTES), one.of));
    let missing = missing.iter().map(|path| format!("{} is an output, and was not made", cut(path, PATH_BYTES)));
    let stops = halts.then(|| "the run stops, as its plan says (`on_violation`) [gate.refused]".to_owned());
    let denied = denied.iter().map(|denied| cut(&format!("the {denied}"), 2 * PATH_BYTES));
    let reasons = missing.chain(denied).chain(outside).take(REASONS).chain(more).chain(stops).collect();
    Ok(Judged { said: (verdict, reasons), asks, halts })
}

/// Returns the files that a team's coder wrote without permission. A file in a forbidden zone is permitted if the task
/// declares it by name: the plan wants it changed.
async fn denied(
    ctx: &Ctx,
    change: super::Judged<'_>,
    settings: &Settings,
    files: &[String],
) -> Result<Vec<Denied>, Error> {
    if !settings.team {
        return Ok(Vec::new());
    }
    let (coder, names) = (RoleName::Coder.id(), &settings.files_touched);
    let rights = ctx.plan.rights(&coder);
    let is_wanted = |denied: &Denied| matches!(denied.why, Why::Zone(_)) && names.contains(&denied.path);
    let denied = files.iter().filter_map(|file| may_write(&coder, &rights, file).err());
    let mut denied: Vec<_> = denied.filter(|denied| !is_wanted(denied)).collect();
    if !denied.is_empty() {
        let own = by_maker(ctx, change).await?;
        denied.retain(|denied| own.contains(&denied.path));
    }
    Ok(denied)
}

/// Returns the verdict of the gate as evidence.
pub(super) fn evidence(judged: &Judged) -> Found {
    let (verdict, reasons) = &judged.said;
    let found = match verdict {
        Verdict::Pass => Evidenced::Pass,
        Verdict::Warn => Evidenced::Warn,
        Verdict::Skipped | Verdict::NotConfigured => Evidenced::Skip,
        Verdict::Fail | Verdict::Error | Verdict::NoReply => Evidenced::Fail,
    };
    let summary = if reasons.is_empty() { "all files are the task's own".to_owned() } else { reasons.join("; ") };
    Found { gate: SCOPE.to_owned(), verdict: found, summary, detail: Detail::Note, contracts: None }
}

/// Returns the files of the change that the task's own agent wrote, in any of the attempts that it is based on.
async fn by_maker(ctx: &Ctx, change: super::Judged<'_>) -> Result<BTreeSet<String>, Error> {
    let turns = history::turns(&ctx.world, &ctx.plan.run, change.task)?;
    let wrote = wrote(&turns, change.commit);
    let files = ctx.world.git(move |git| {
        let files = |from: &str, to: &str| {
            let changes = git.changed_files(&Oid::parse(from)?, &Oid::parse(to)?)?;
            Ok::<_, Error>(changes.iter().map(|change| crate::plan::text(&change.path)).collect::<BTreeSet<_>>())
        };
        let mut all = BTreeSet::new();
        for Wrote { base, from, to } in &wrote {
            let left = files(base, to)?;
            match from == base {
                true => all.extend(left.iter().cloned()),
                false => all.extend(files(from, to)?),
            }
            // A file that the agent removed again does not count as its own if another worker writes it later.
            all.retain(|file| left.contains(file));
        }
        Ok(all)
    });
    files.await
}

/// Turn of a task's own agent: the commits between which it worked.
#[derive(Debug, PartialEq, Eq)]
struct Wrote {
    /// Base commit of the turn.
    base: String,
    from: String,
    to: String,
}

/// Selects the turns of a task's own agent from those of all its workers, oldest first. There is none if another
/// agent's change was chosen.
fn wrote(turns: &[Turn], judged: &str) -> Vec<Wrote> {
    let ends = turns.iter().skip(1).map(|next| next.start.as_str()).chain([judged]);
    let own = turns.iter().zip(ends).filter(|(turn, _)| turn.makes);
    let one = |(at, (turn, end)): (usize, (&Turn, &str))| {
        // The tree of the first turn may begin with the change of another task.
        let from = if at == 0 { &turn.base } else { &turn.start };
        Wrote { base: turn.base.clone(), from: from.clone(), to: end.to_owned() }
    };
    own.enumerate().map(one).collect()
}

/// Returns the outputs that are missing in the commit.
async fn missing_outputs(ctx: &Ctx, outputs: &[String], commit: &Oid) -> Result<Vec<String>, Error> {
    if outputs.is_empty() {
        return Ok(Vec::new());
    }
    let commit = commit.clone();
    let files = ctx.world.git(move |git| git.files_of(&commit)).await?;
    let files = Files::new(files.iter().map(|path| crate::plan::text(path)).collect());
    Ok(dataflow::missing_outputs(outputs, &files).into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(makes: bool, start: &str) -> Turn {
        Turn { makes, base: "base".to_owned(), start: start.to_owned() }
    }

    #[test]
    fn the_turns_of_who_makes_a_change_are_told_from_those_of_a_test_engineer() {
        let span = |from: &str, to: &str| Wrote { base: "base".to_owned(), from: from.to_owned(), to: to.to_owned() };

        assert_eq!(wrote(&[turn(false, "chosen")], "judged"), []);
        assert_eq!(wrote(&[turn(true, "draft")], "judged"), [span("base", "judged")]);
        let again = [turn(true, "base"), turn(false, "code"), turn(true, "code with tests"), turn(false, "mended")];
        assert_eq!(wrote(&again, "judged"), [span("base", "code"), span("code with tests", "mended")]);
    }
}
