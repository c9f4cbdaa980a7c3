//! `clean_runs`: lists or removes work trees and branches left by runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::Oid;
use switchboard_protocol::error::Failure;
use switchboard_protocol::id::{AgentName, RunId};
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::text::cut;
use switchboard_protocol::verb::run::{Archived, CleanRunsReply, CleanRunsRequest, LeftOver, Restored};
use switchboard_store::{Batch, Idempotency, Query, Row};

use super::{find_run, reply, reply_value};
use crate::port::Git;
use crate::removal::{self, Removal};
use crate::work::{RUNS, run_id};
use crate::{Dispatch, Error, history, plan};

/// Maximum number of removals recorded in one commit.
const PORTION: usize = 500;

/// Prefix of a branch restored from the archive: it belongs to the user, not to a run.
const RESTORED: &str = "restored";

/// Branches and folders of one ended run.
struct Ended {
    run: RunId,
    /// Branch of the run.
    branch: String,
    /// The user's branches from which the run was started, and into which it was merged.
    targets: Vec<String>,
    /// Folder of all work trees.
    base: PathBuf,
    /// Folders of the gate trees, and of the trees of workers that only read.
    shared: [PathBuf; 2],
    /// Tasks of the run, each with its work tree and branch.
    tasks: Vec<(String, PathBuf, String)>,
}

impl Dispatch {
    /// Lists or removes what ended runs have left. Unmerged work is removed only on explicit request. A removal repeated
    /// under its idempotency key gets the first answer.
    ///
    /// # Errors
    /// An unknown or live run, a failure of the store or of git.
    pub async fn clean_runs(
        &self,
        request: &CleanRunsRequest,
        by: &AgentName,
        call: Option<Idempotency>,
    ) -> Result<CleanRunsReply, Error> {
        if let Some(answered) = self.world.answered(call.as_ref()).await? {
            return reply(answered);
        }
        if let Some(named) = &request.restore {
            return self.restore(named.clone(), call).await;
        }
        // No merge may examine a branch while it is removed.
        let _one_at_a_time = self.world.merging.lock().await;
        let mut ended = Vec::new();
        for row in self.with_remains(self.ended_rows(request.run.as_deref())?).await? {
            ended.push(self.ended(&row)?);
        }
        let removes = request.remove;
        let found = self.world.git(move |git| {
            if removes {
                remove_shared(git, &ended)?;
            }
            found_of(git, &ended)
        });
        let found = found.await?;
        if !removes {
            let archived = self.archived().await?;
            let left = found.into_iter().map(|found| found.left).collect();
            return Ok(CleanRunsReply { left, archived, restored: None });
        }
        self.remove(found, request.unmerged, by.as_str(), call).await
    }

    /// Removes in portions, so that no commit gets too large; the last one records the answer.
    async fn remove(
        &self,
        found: Vec<Found>,
        unmerged: bool,
        by: &str,
        call: Option<Idempotency>,
    ) -> Result<CleanRunsReply, Error> {
        let goes = |found: &Found| unmerged || found.left.unmerged.is_empty();
        let removals: Vec<_> = found.iter().filter(|found| goes(found)).map(Found::removal).collect();
        let archived = |found: &Found| match goes(found) && !found.left.unmerged.is_empty() {
            true => found.removal().0.archive_name(),
            false => String::new(),
        };
        let left = found.iter().map(|found| LeftOver {
            removed: goes(found),
            archived: archived(found),
            ..found.left.clone()
        });
        let answer = CleanRunsReply { left: left.collect(), archived: Vec::new(), restored: None };
        let mut portions = removals.chunks(PORTION).peekable();
        let mut last = Batch::synced();
        while let Some(portion) = portions.next() {
            let intents: Vec<_> = portion.iter().map(|(removal, _)| removal.clone()).collect();
            removal::intend(&self.world, &intents, by).await?;
            self.world.crash("clean-intended");
            let (batch, failure) = removal::carry_out(&self.world, portion.to_vec(), by, Batch::synced()).await?;
            if failure.is_some() || portions.peek().is_some() {
                self.world.commit_patiently(&batch).await?;
            } else {
                last = batch;
            }
            failure.map_or(Ok(()), Err)?;
        }
        last.idempotency = call;
        last.reply = reply_value(&answer)?;
        if !last.events.is_empty() || last.idempotency.is_some() {
            self.world.commit_patiently(&last).await?;
        }
        Ok(answer)
    }

    async fn archived(&self) -> Result<Vec<Archived>, Error> {
        let archived = self.world.git(|git| git.archived()).await?;
        Ok(archived.into_iter().map(|(name, commit)| Archived { name, commit: commit.to_string() }).collect())
    }

    /// Creates a branch from an archived commit, which stays in the archive.
    async fn restore(&self, named: String, call: Option<Idempotency>) -> Result<CleanRunsReply, Error> {
        let archived = self.archived().await?;
        let found = archived.iter().find(|one| one.name == named);
        let found = found.or_else(|| {
            let mut fits = archived.iter().filter(|one| !named.is_empty() && one.name.starts_with(&named));
            fits.next().filter(|_| fits.next().is_none())
        });
        let Some(Archived { name, commit }) = found.cloned() else {
            let what = format!("nothing, or more than one thing, is archived as {}", cut(&named, 80));
            let failure = Failure::new("request.bad-args", what).at("restore");
            return Err(failure.hint("switchboard clean --archived lists all of it").into());
        };
        let branch = format!("{RESTORED}/{name}");
        let (to, at) = (branch.clone(), Oid::parse(&commit)?);
        self.world.git(move |git| git.update_branch(&to, &at, None)).await?;
        let answer = CleanRunsReply { left: Vec::new(), archived, restored: Some(Restored { name, branch, commit }) };
        if let Some(call) = call {
            self.world.commit(Batch::synced().idempotent(call).reply(reply_value(&answer)?)).await?;
        }
        Ok(answer)
    }

    fn ended_rows(&self, named: Option<&str>) -> Result<Vec<Row>, Error> {
        let is_live = |row: &Row| row.get_text("state") == Some("running");
        let Some(named) = named else {
            return Ok(self.world.store.read(&Query::table(RUNS).ne("state", "running").desc("seq"))?);
        };
        let row = find_run(&self.world, Some(named))?;
        if is_live(&row) {
            let what = format!("{} is still at work", run_id(&row)?);
            return Err(Failure::new("dispatch.not-finished", what).hint("stop it first: switchboard stop RUN").into());
        }
        Ok(vec![row])
    }

    /// Leaves out the runs that have neither a branch nor a folder of work trees, whose plans need not be read.
    async fn with_remains(&self, rows: Vec<Row>) -> Result<Vec<Row>, Error> {
        let files = Arc::clone(&self.world.ports.files);
        let remains = self.world.git(move |git| {
            let names = Names::of(git.names()?);
            let mut remains = Vec::new();
            for row in rows {
                let (run, branch) = (run_id(&row)?, row.try_text("branch")?);
                let folder = Path::new(row.try_text("worktrees")?).join(run.as_str());
                if names.has_any(&run, branch) || files.is_folder(&folder) {
                    remains.push(row);
                }
            }
            Ok(remains)
        });
        remains.await
    }

    fn ended(&self, row: &Row) -> Result<Ended, Error> {
        let run = run_id(row)?;
        if row.get_text("mode").is_some() {
            return self.ended_led(row, run);
        }
        let fixed = history::plan(&self.world, &run)?;
        let tasks = fixed.plan.tasks();
        let tasks = tasks.map(|task| (task.id.to_string(), fixed.worktree(&task.id), fixed.task_branch(&task.id)));
        Ok(Ended {
            branch: row.try_text("branch")?.to_owned(),
            targets: self.targets(&run, row.try_text("target")?)?,
            base: fixed.worktrees.clone(),
            shared: [fixed.gate_trees(), fixed.reader_trees()],
            tasks: tasks.collect(),
            run,
        })
    }

    /// Returns the remains of a run that a team leads: only a branch; the others belong to its parts.
    fn ended_led(&self, row: &Row, run: RunId) -> Result<Ended, Error> {
        let base = PathBuf::from(row.try_text("worktrees")?);
        let folder = base.join(run.as_str());
        Ok(Ended {
            branch: row.try_text("branch")?.to_owned(),
            targets: self.targets(&run, row.try_text("target")?)?,
            shared: [folder.join(".gates"), folder.join(".readers")],
            tasks: Vec::new(),
            base,
            run,
        })
    }

    /// Returns the branch from which a run was started, and others into which it was merged.
    fn targets(&self, run: &RunId, first: &str) -> Result<Vec<String>, Error> {
        let mut targets = vec![first.to_owned()];
        history::events(&self.world.store, run, |event| {
            if let Some(RunEvent::RunMerged { target, .. }) = event.fact()
                && !targets.contains(&target)
            {
                targets.push(target);
            }
            true
        })?;
        Ok(targets)
    }
}

/// Names of a repository's branches and tags.
struct Names(BTreeSet<String>);

// === impl Names ===

impl Names {
    fn of(names: Vec<String>) -> Self {
        // A branch that has its name in common with a tag is listed as `heads/NAME`.
        let plain = |name: String| name.strip_prefix("heads/").map_or_else(|| name.clone(), str::to_owned);
        Self(names.into_iter().map(plain).collect())
    }

    /// Returns true if the branch of a run, or one of its tasks, is among them.
    fn has_any(&self, run: &RunId, branch: &str) -> bool {
        let of_tasks = plan::task_branches(run);
        let first = self.0.range(of_tasks.clone()..).next();
        self.0.contains(branch) || first.is_some_and(|name| name.starts_with(&of_tasks))
    }
}

/// Remains of a run, as recorded.
struct Found {
    left: LeftOver,
    /// Tip of the branch; empty if there is none.
    commit: String,
    /// Folder of all work trees of the run.
    base: PathBuf,
}

/// Removes the trees that hold no work. The end of a run removes them, unless the daemon died before.
fn remove_shared(git: &dyn Git, ended: &[Ended]) -> Result<(), Error> {
    for run in ended {
        for folder in &run.shared {
            git.worktrees_remove(folder, &run.base)?;
        }
    }
    Ok(())
}

// === impl Found ===

impl Found {
    fn removal(&self) -> (Removal, PathBuf) {
        (Removal::of(&self.left, self.commit.clone()), self.base.clone())
    }
}

fn found_of(git: &dyn Git, ended: &[Ended]) -> Result<Vec<Found>, Error> {
    let mut all = Vec::new();
    for run in ended {
        all.extend(found(git, run)?);
    }
    Ok(all)
}

/// Returns the existing remains of a run: trees and branches of its tasks, then its own branch.
fn found(git: &dyn Git, ended: &Ended) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    let head = git.branch(&ended.branch)?;
    for task in &ended.tasks {
        found.extend(of_task(git, ended, head.as_ref(), task)?);
    }
    if let Some(head) = head {
        let is_merged = is_in(git, &head, &ended.targets)?;
        let left = LeftOver {
            run: ended.run.clone(),
            task: String::new(),
            worktree: String::new(),
            branch: ended.branch.clone(),
            unmerged: if is_merged { String::new() } else { format!("not merged into {}", ended.targets.join(" or ")) },
            bytes: 0,
            removed: false,
            archived: String::new(),
        };
        found.push(Found { left, commit: head.to_string(), base: ended.base.clone() });
    }
    Ok(found)
}

/// Returns the existing remains of a task; `head` is the tip of the run's branch.
fn of_task(
    git: &dyn Git,
    ended: &Ended,
    head: Option<&Oid>,
    (task, path, branch): &(String, PathBuf, String),
) -> Result<Option<Found>, Error> {
    let (tip, tree) = (git.branch(branch)?, git.worktree_tip(path)?);
    if tip.is_none() && tree.is_none() {
        return Ok(None);
    }
    let mut unmerged = Vec::new();
    // An agent may have left the branch and committed beside it.
    let beside = tree.as_ref().filter(|at| Some(*at) != tip.as_ref());
    for (commit, what) in tip.iter().map(|tip| (tip, "change")).chain(beside.map(|at| (at, "commit"))) {
        let is_merged = head.is_some_and(|head| git.is_ancestor(commit, head).unwrap_or(false));
        if !is_merged && !is_in(git, commit, &ended.targets)? {
            unmerged.push(format!("the {what} {}", commit.short()));
        }
    }
    let changes = tree.as_ref().map(|_| git.worktree_changes(path)).transpose()?.unwrap_or_default();
    if !changes.is_empty() {
        unmerged.push(format!("{} files that are no commit", changes.len()));
    }
    let left = LeftOver {
        run: ended.run.clone(),
        task: task.clone(),
        bytes: tree.as_ref().map(|_| git.worktree_bytes(path)).transpose()?.flatten().unwrap_or_default(),
        worktree: tree.map(|_| plan::text(path)).unwrap_or_default(),
        branch: tip.as_ref().map(|_| branch.clone()).unwrap_or_default(),
        unmerged: unmerged.join(", "),
        removed: false,
        archived: String::new(),
    };
    Ok(Some(Found { left, commit: tip.map(|tip| tip.to_string()).unwrap_or_default(), base: ended.base.clone() }))
}

/// Returns true if one of the user's branches contains a commit.
fn is_in(git: &dyn Git, commit: &Oid, branches: &[String]) -> Result<bool, Error> {
    for branch in branches {
        if let Some(tip) = git.branch(branch)?
            && git.is_ancestor(commit, &tip)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Repository;

    #[test]
    fn a_run_has_remains_as_long_as_its_branch_or_that_of_a_task_is_there_also_beside_a_tag_of_its_name() {
        let run = RunId::from_bits(1);
        let branch = format!("switchboard/{run}");
        let has = |names: &[String]| Names::of(names.to_vec()).has_any(&run, &branch);

        assert!(has(&["main".to_owned(), branch.clone()]));
        assert!(has(&[format!("heads/{branch}"), format!("tags/{branch}")]));
        assert!(has(&["a".to_owned(), format!("switchboard-task/{run}/1.1"), "z".to_owned()]));
        assert!(!has(&["main".to_owned(), format!("switchboard-task/{run}0/1.1"), format!("tags/{branch}")]));
    }

    #[test]
    fn a_commit_that_an_agent_made_beside_its_branch_is_unmerged_work() {
        let repository = Repository::new();
        let first = repository.commit("first");
        let git: &dyn Git = &repository.repo;
        let base = repository.folder.path().canonicalize().unwrap().join("trees");
        let (tree, branch) = (base.join("1.1"), "switchboard-task/run/1.1".to_owned());
        git.worktree_add(&tree, &branch, &first, &[]).unwrap();
        let ended = Ended {
            run: RunId::from_bits(1),
            branch: "switchboard/run".to_owned(),
            targets: vec!["main".to_owned()],
            shared: [base.join(".gates"), base.join(".readers")],
            tasks: vec![("1.1".to_owned(), tree.clone(), branch)],
            base,
        };
        let unmerged = || found(git, &ended).unwrap()[0].left.unmerged.clone();
        repository.detach(&tree);
        assert_eq!(unmerged(), "", "it is at the commit of its branch");

        let commit = repository.commit_in(&tree, "beside");

        assert_eq!(unmerged(), format!("the commit {}", commit.short()));
    }
}
