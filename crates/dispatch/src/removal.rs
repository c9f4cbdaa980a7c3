//! Removes what ended runs left: records the intent, removes, records the outcome.

mod archive;

use std::path::Path;

use switchboard_process::git::Oid;
use switchboard_protocol::event::NewEvent;
use switchboard_protocol::id::RunId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::verb::run::LeftOver;
use switchboard_store::{Batch, Query, Store};

use crate::error::shape;
use crate::port::Git;
use crate::work::{RUNS, run_id};
use crate::world::World;
use crate::{Error, history};

/// Actor of the events with which the daemon records the outcome of a removal after a crash.
const DAEMON: &str = "daemon";

/// Remains of an ended run, as the record names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Removal {
    pub(crate) run: RunId,
    pub(crate) task: Option<TaskId>,
    pub(crate) worktree: String,
    pub(crate) branch: String,
    /// Tip of the branch.
    pub(crate) commit: String,
    pub(crate) bytes: u64,
    /// True if the branch holds work that is merged nowhere.
    pub(crate) is_unmerged: bool,
}

// === impl Removal ===

impl Removal {
    pub(crate) fn of(left: &LeftOver, commit: String) -> Self {
        let LeftOver { run, task, worktree, branch, bytes, unmerged, .. } = left.clone();
        Self { run, task: TaskId::new(task).ok(), worktree, branch, commit, bytes, is_unmerged: !unmerged.is_empty() }
    }

    fn intended(self) -> RunEvent {
        let Self { run, task, worktree, branch, commit, bytes, is_unmerged: _ } = self;
        RunEvent::RunCleanIntended { run, task, worktree, branch, commit, bytes }
    }

    fn done(self) -> RunEvent {
        let Self { run, task, worktree, branch, commit, bytes, is_unmerged: _ } = self;
        RunEvent::RunCleaned { run, task, worktree, branch, commit, bytes }
    }

    fn abandoned(self, why: &str) -> RunEvent {
        RunEvent::RunCleanAbandoned { run: self.run, task: self.task, why: why.to_owned() }
    }

    /// Removes tree and branch, or neither if the branch has moved since it was examined.
    fn remove(&self, git: &dyn Git, base: &Path) -> Result<(), Error> {
        if self.branch.is_empty() {
            if self.is_unmerged {
                self.archive(git)?;
            }
            return self.remove_tree(git, base);
        }
        let mut tip = Oid::parse(&self.commit)?;
        if let Some(found) = git.branch(&self.branch)?.filter(|found| *found != tip) {
            let (name, found) = (self.branch.clone(), found.to_string());
            return Err(switchboard_process::Error::Moved { name, found }.into());
        }
        if self.is_unmerged {
            tip = self.archive(git)?.unwrap_or(tip);
        }
        self.remove_tree(git, base)?;
        git.delete_branch(&self.branch, &tip)
    }

    fn remove_tree(&self, git: &dyn Git, base: &Path) -> Result<(), Error> {
        if self.worktree.is_empty() { Ok(()) } else { git.worktree_remove(Path::new(&self.worktree), base) }
    }

    fn is_there(&self, git: &dyn Git) -> Result<bool, Error> {
        let has_tree = !self.worktree.is_empty() && git.worktree_tip(Path::new(&self.worktree))?.is_some();
        let has_branch = !self.branch.is_empty() && git.branch(&self.branch)?.is_some();
        Ok(has_tree || has_branch)
    }
}

/// Records the intended removals.
pub(crate) async fn intend(world: &World, removals: &[Removal], by: &str) -> Result<(), Error> {
    let mut batch = Batch::synced();
    for removal in removals {
        batch = batch.event(event(&removal.run, removal.clone().intended(), by)?);
    }
    world.commit(batch).await?;
    Ok(())
}

/// Carries out intended removals and adds the outcome of each to `batch`; returns the first failure as well.
pub(crate) async fn carry_out(
    world: &World,
    removals: Vec<(Removal, std::path::PathBuf)>,
    by: &str,
    mut batch: Batch,
) -> Result<(Batch, Option<Error>), Error> {
    let (done, failure) = world.git(move |git| Ok(remove_all(git, removals))).await?;
    for (run, fact) in done {
        batch = batch.event(event(&run, fact, by)?);
    }
    Ok((batch, failure))
}

/// Removes in order; returns the outcomes, and the first failure. Removals after a failure are skipped.
fn remove_all(git: &dyn Git, removals: Vec<(Removal, std::path::PathBuf)>) -> (Vec<(RunId, RunEvent)>, Option<Error>) {
    let mut failure = None;
    let mut one = |(removal, base): (Removal, std::path::PathBuf)| {
        let run = removal.run.clone();
        let fact = match &failure {
            Some(_) => removal.abandoned("another removal of the same call failed"),
            None => match removal.remove(git, &base) {
                Ok(()) => removal.done(),
                Err(error) => {
                    let fact = removal.abandoned(&error.to_string());
                    failure = Some(error);
                    fact
                }
            },
        };
        (run, fact)
    };
    let done = removals.into_iter().map(&mut one).collect();
    (done, failure)
}

/// At boot: records the outcomes of removals that the last daemon had begun. Nothing more is removed.
pub(crate) async fn resolve_begun(world: &World) -> Result<(), Error> {
    for row in world.store.read(&Query::table(RUNS).gt("cleaning", 0_i64).asc("seq"))? {
        let run = run_id(&row)?;
        let begun = begun(&world.store, &run)?;
        let looked = world.git(move |git| {
            let look = |removal: Removal| Ok((removal.is_there(git)?, removal));
            begun.into_iter().map(look).collect::<Result<Vec<_>, Error>>()
        });
        let mut batch = Batch::synced();
        for (is_there, removal) in looked.await? {
            let fact = if is_there { removal.abandoned("the daemon ended before it") } else { removal.done() };
            batch = batch.event(event(&run, fact, DAEMON)?);
        }
        world.commit_patiently(&batch).await?;
    }
    Ok(())
}

/// Returns the removals of a run whose outcome is not recorded.
fn begun(store: &Store, run: &RunId) -> Result<Vec<Removal>, Error> {
    let mut open: Vec<Removal> = Vec::new();
    history::events(store, run, |event| {
        let fact = event.fact();
        if let Some(RunEvent::RunCleanIntended { run, task, worktree, branch, commit, bytes }) = fact {
            open.push(Removal { run, task, worktree, branch, commit, bytes, is_unmerged: false });
        } else if let Some(RunEvent::RunCleaned { task, .. } | RunEvent::RunCleanAbandoned { task, .. }) = fact {
            open.retain(|removal| removal.task != task);
        }
        true
    })?;
    Ok(open)
}

fn event(run: &RunId, fact: RunEvent, by: &str) -> Result<NewEvent, Error> {
    NewEvent::of(&fact.fitted(), history::subject(run), by).map_err(shape("a removal"))
}

#[cfg(test)]
mod tests {
    use switchboard_store::Clock;

    use super::*;
    use crate::tests::Repository;

    /// Returns the removal of a task's tree and of its branch at this commit.
    fn removal(tree: &Path, (branch, commit): (&str, &str), is_unmerged: bool) -> Removal {
        Removal {
            run: RunId::from_bits(1),
            task: TaskId::new("1.1").ok(),
            worktree: tree.display().to_string(),
            branch: branch.to_owned(),
            commit: commit.to_owned(),
            bytes: 0,
            is_unmerged,
        }
    }

    #[test]
    fn a_branch_that_has_moved_since_it_was_looked_at_stays_and_so_does_its_tree() {
        let repository = Repository::new();
        let looked_at = repository.commit("looked at");
        let after = repository.commit("came after");
        let git: &dyn Git = &repository.repo;
        let base = repository.folder.path().canonicalize().unwrap().join("trees");
        let tree = base.join("1");
        git.worktree_add(&tree, "switchboard/task", &after, &[]).unwrap();
        let removal = |commit: &Oid| removal(&tree, ("switchboard/task", commit.as_str()), false);

        let refused = removal(&looked_at).remove(git, &base);

        assert!(matches!(&refused, Err(Error::Process(switchboard_process::Error::Moved { .. }))), "{refused:?}");
        assert!(removal(&looked_at).is_there(git).unwrap() && tree.exists());
        removal(&after).remove(git, &base).unwrap();
        assert!(!removal(&after).is_there(git).unwrap() && !tree.exists());
    }

    #[tokio::test]
    async fn a_removal_is_begun_until_its_outcome_is_recorded() {
        let store = Store::in_memory(Vec::new(), Clock::system());
        let run = RunId::from_bits(1);
        let removal = |task: Option<&str>| Removal {
            run: run.clone(),
            task: task.map(|task| TaskId::new(task).unwrap()),
            worktree: "/trees/1".to_owned(),
            branch: "switchboard/1".to_owned(),
            commit: "0".repeat(40),
            bytes: 7,
            is_unmerged: false,
        };
        let begun_facts = [None, Some("1.1"), Some("1.2"), Some("1.3")].map(|task| removal(task).intended());
        let ended = [removal(Some("1.1")).done(), removal(Some("1.2")).abandoned("its branch has moved")];
        for fact in begun_facts.into_iter().chain(ended) {
            store.commit(Batch::written().event(event(&run, fact, "ann").unwrap())).await.unwrap();
        }

        let open: Vec<_> = begun(&store, &run).unwrap().into_iter().map(|removal| removal.task).collect();

        assert_eq!(open, [None, TaskId::new("1.3").ok()]);
        assert!(begun(&store, &RunId::from_bits(2)).unwrap().is_empty());
    }

    #[test]
    fn work_that_is_merged_nowhere_is_archived_with_the_files_in_its_tree_before_it_is_removed() {
        let repository = Repository::new();
        let first = repository.commit("first");
        let git: &dyn Git = &repository.repo;
        let base = repository.folder.path().canonicalize().unwrap().join("trees");
        let tree = base.join("1.1");
        git.worktree_add(&tree, "switchboard-task/run/1.1", &first, &[]).unwrap();
        std::fs::write(tree.join("left.txt"), "not committed").unwrap();
        std::fs::write(repository.repo.common_dir().join("info/exclude"), "*.log\nbuilt/\n").unwrap();
        std::fs::write(tree.join("notes.log"), "small").unwrap();
        std::fs::create_dir(tree.join("built")).unwrap();
        std::fs::write(tree.join("built/large"), vec![1; 1 << 20]).unwrap();
        let removal = removal(&tree, ("switchboard-task/run/1.1", first.as_str()), true);

        removal.remove(git, &base).unwrap();

        assert!(!removal.is_there(git).unwrap() && !tree.exists());
        let [(name, kept)] = git.archived().unwrap().try_into().unwrap();
        assert_eq!(name, format!("{}/1.1", removal.run));
        let files = git.changed_files(&first, &kept).unwrap();
        let paths: Vec<_> = files.iter().map(|change| change.path.as_path()).collect();
        assert_eq!(paths, [Path::new("left.txt"), Path::new("notes.log")]);
        let log = repository.log(&kept);
        assert!(log.contains("Left out, because git ignores them and they are large: built"), "{log}");
    }

    #[test]
    fn the_tree_of_a_branch_that_is_gone_is_archived_only_with_unmerged_work_and_leaves_no_branch() {
        for is_unmerged in [true, false] {
            let repository = Repository::new();
            let first = repository.commit("first");
            let git: &dyn Git = &repository.repo;
            let base = repository.folder.path().canonicalize().unwrap().join("trees");
            let tree = base.join("1.1");
            git.worktree_add(&tree, "switchboard-task/run/1.1", &first, &[]).unwrap();
            repository.detach(&tree);
            git.delete_branch("switchboard-task/run/1.1", &first).unwrap();
            std::fs::write(tree.join("left.txt"), "not committed").unwrap();
            let removal = removal(&tree, ("", ""), is_unmerged);

            removal.remove(git, &base).unwrap();

            assert!(!tree.exists());
            let archived = git.archived().unwrap();
            assert_eq!(archived.len(), usize::from(is_unmerged), "{archived:?}");
            for (name, kept) in archived {
                assert_eq!(name, removal.archive_name());
                let files = git.changed_files(&first, &kept).unwrap();
                let paths: Vec<_> = files.iter().map(|change| change.path.as_path()).collect();
                assert_eq!(paths, [Path::new("left.txt")]);
                assert_eq!(git.branch(&format!("switchboard-task/{name}")).unwrap(), None, "it was for the capture");
            }
        }
    }

    #[test]
    fn what_an_agent_committed_beside_its_branch_is_archived() {
        let repository = Repository::new();
        let first = repository.commit("first");
        let git: &dyn Git = &repository.repo;
        let base = repository.folder.path().canonicalize().unwrap().join("trees");
        let tree = base.join("1.1");
        git.worktree_add(&tree, "switchboard-task/run/1.1", &first, &[]).unwrap();
        repository.detach(&tree);
        std::fs::write(tree.join("beside.txt"), "committed").unwrap();
        repository.commit_in(&tree, "beside");
        let removal = removal(&tree, ("switchboard-task/run/1.1", first.as_str()), true);

        removal.remove(git, &base).unwrap();

        assert!(!removal.is_there(git).unwrap() && !tree.exists());
        let [(_, kept)] = git.archived().unwrap().try_into().unwrap();
        let files = git.changed_files(&first, &kept).unwrap();
        let paths: Vec<_> = files.iter().map(|change| change.path.as_path()).collect();
        assert_eq!(paths, [Path::new("beside.txt")]);
    }

    #[test]
    fn a_branch_whose_tree_is_gone_is_removed_alone() {
        let repository = Repository::new();
        let tip = repository.commit("one");
        let git: &dyn Git = &repository.repo;
        git.update_branch("switchboard/task", &tip, None).unwrap();
        let removal = removal(Path::new(""), ("switchboard/task", tip.as_str()), false);
        assert!(removal.is_there(git).unwrap());

        removal.remove(git, &repository.folder.path().join("trees")).unwrap();

        assert!(!removal.is_there(git).unwrap());
        assert_eq!(git.branch("switchboard/task").unwrap(), None);
    }
}
