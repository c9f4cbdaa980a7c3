//! Rebases the tree of a running worker onto the present head of the branch that its change goes into, while the worker
//! waits between two tools.
//!
//! The content of the tree becomes a commit first, which the task's branch keeps, so that nothing can be lost.
//! Repeating it after a crash has the same result: both sides then contain what was merged meanwhile.

use switchboard_process::git::{Author, Merged, Oid};
use switchboard_protocol::frame::ShimCommand;
use switchboard_protocol::id::WorkerId;
use switchboard_protocol::plan::TaskId;
use switchboard_protocol::run::RunEvent;
use switchboard_protocol::worker::PauseState;
use switchboard_store::{Interest, Row};

use super::author::of_worker;
use super::context::Ctx;
use crate::authorship::message;
use crate::handle::{LastWorker, Outcome};
use crate::port::Git;
use crate::port::git::Commit;
use crate::work::WORKERS;
use crate::{Error, prompt};

/// Result of rebasing a tree.
enum Rebased {
    /// The tree is on the head: its new base, and the commit that the attempt now starts from.
    Onto { onto: Oid, start: Oid },
    /// The tree was on the head already.
    Already { onto: Oid },
    /// The tree is unchanged: these files conflict.
    Conflict { onto: Oid, files: Vec<String> },
}

/// Rebases the tree of a worker once it waits; returns without a step if the worker ends first.
pub(super) async fn rebase_tree(ctx: &Ctx, id: &TaskId, worker: &WorkerId) -> Outcome {
    match try_rebase(ctx, id, worker).await {
        Ok(Some(outcome)) => outcome,
        Ok(None) => Outcome::default(),
        Err(Error::Stopping) => Outcome::default(),
        Err(error) if error.is_disk_full() => {
            tracing::error!(task = %id, %worker, %error, "the disk is full; the run is paused");
            Outcome::disk_full()
        }
        Err(error) => {
            tracing::error!(task = %id, %worker, %error, "the tree of a worker can't be rebased");
            let files = vec![error.to_failure().to_string()];
            let (task, worker) = (id.clone(), worker.clone());
            Outcome::step(RunEvent::TreeNotRebased { task, worker, onto: String::new(), files })
        }
    }
}

async fn try_rebase(ctx: &Ctx, id: &TaskId, worker: &WorkerId) -> Result<Option<Outcome>, Error> {
    let Some(row) = held(ctx, worker).await? else { return Ok(None) };
    let tree = Tree::of(ctx, id, &row)?;
    let rebased = ctx.world.git(move |git| tree.rebase(git)).await?;
    ctx.world.crash("tree-rebased");
    let is_interrupted = row.get_text("stop") != Some("end_turn");
    if let Some(text) = worker_notice(&rebased).filter(|_| is_interrupted)
        && let Some(link) = ctx.world.link(worker)
        && link.tell(ShimCommand::Prompt { text, mail: Vec::new() }).await.is_err()
    {
        tracing::debug!(%worker, "the worker has ended meanwhile");
    }
    let (task, worker) = (id.clone(), worker.clone());
    let (step, last) = match rebased {
        Rebased::Onto { onto, start } => {
            let (onto, start) = (onto.to_string(), start.to_string());
            let last = LastWorker { base: onto.clone(), start: start.clone() };
            (RunEvent::TreeRebased { task: task.clone(), worker, onto, start }, Some((task, last)))
        }
        Rebased::Already { onto } => {
            let (onto, start) = (onto.to_string(), row.try_text("start")?.to_owned());
            (RunEvent::TreeRebased { task, worker, onto, start }, None)
        }
        Rebased::Conflict { onto, files } => {
            (RunEvent::TreeNotRebased { task, worker, onto: onto.to_string(), files }, None)
        }
    };
    Ok(Some(Outcome { steps: vec![step], last, ..Outcome::default() }))
}

/// Waits until a worker waits between two tools; `None` if it ends first.
async fn held(ctx: &Ctx, worker: &WorkerId) -> Result<Option<Row>, Error> {
    let mut changes = ctx.world.store.subscribe([Interest::rows(WORKERS, "id", worker.as_str())]);
    loop {
        let row = ctx.world.store.get(WORKERS, &[worker.as_str().into()])?;
        let row = row.ok_or_else(|| Error::Missing(format!("the worker {worker}")))?;
        if row.get_bool("exited") {
            return Ok(None);
        }
        if row.get_text("pause").and_then(PauseState::of) == Some(PauseState::Held) {
            return Ok(Some(row));
        }
        tokio::select! {
            biased;
            // The next daemon waits again.
            () = ctx.world.stop.cancelled() => return Err(Error::Stopping),
            changed = changes.changed() => {
                changed?;
            }
        }
    }
}

/// Returns the message for the worker; `None` if its tree is unchanged.
fn worker_notice(rebased: &Rebased) -> Option<String> {
    match rebased {
        Rebased::Onto { onto, .. } => Some(prompt::rebased(onto.as_str())),
        Rebased::Already { .. } => None,
        Rebased::Conflict { onto, files } => Some(prompt::not_rebased(onto.as_str(), files)),
    }
}

/// Tree of a running worker.
struct Tree {
    path: std::path::PathBuf,
    /// Branch of the task.
    branch: String,
    /// Branch that its change goes into.
    into: String,
    base: Oid,
    start: Oid,
    author: Author,
    message: String,
}

// === impl Tree ===

impl Tree {
    fn of(ctx: &Ctx, id: &TaskId, row: &Row) -> Result<Self, Error> {
        let (task, settings) = ctx.plan.settings(id)?;
        let attempt = u32::try_from(row.try_int("attempt")?).unwrap_or(1);
        Ok(Self {
            path: ctx.plan.worktree(id),
            branch: ctx.plan.task_branch(id),
            into: ctx.plan.branch_into(id),
            base: Oid::parse(row.try_text("base")?)?,
            start: Oid::parse(row.try_text("start")?)?,
            author: of_worker(ctx, id, &settings)?,
            message: message(&ctx.plan.run, &task, attempt),
        })
    }

    fn rebase(self, git: &dyn Git) -> Result<Rebased, Error> {
        let head = git.branch(&self.into)?.ok_or_else(|| Error::Missing(format!("the branch {}", self.into)))?;
        if head == self.base {
            return Ok(Rebased::Already { onto: head });
        }
        let commit = Commit { branch: &self.branch, parent: &self.base, author: &self.author, message: &self.message };
        let work = git.capture(&self.path, &commit)?.map_or_else(|| self.base.clone(), |captured| captured.commit);
        let tree = match git.merge_tree(&head, &work)? {
            Merged::Clean { tree } => tree,
            Merged::Conflict { files } => {
                let files = files.iter().map(|file| crate::plan::text(file)).collect();
                return Ok(Rebased::Conflict { onto: head, files });
            }
        };
        let content = match tree == git.tree_of(&head)? {
            true => head.clone(),
            false => git.commit_tree(&tree, &[&head], &self.author, &self.message)?,
        };
        git.worktree_reset(&self.path, &self.branch, &content)?;
        Ok(Rebased::Onto { start: self.start_on(git, &head)?, onto: head })
    }

    /// Returns the attempt's start commit on the new head: a worker that amends a refused change must change more than
    /// that.
    fn start_on(&self, git: &dyn Git, head: &Oid) -> Result<Oid, Error> {
        if self.start == self.base {
            return Ok(head.clone());
        }
        Ok(match git.merge_tree(head, &self.start)? {
            Merged::Clean { tree } => git.commit_tree(&tree, &[head], &self.author, &self.message)?,
            Merged::Conflict { .. } => head.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use switchboard_protocol::time::Millis;

    use super::*;
    use crate::tests::Repository;

    /// Repository with the branch `run`, which others move, and the tree of a worker.
    struct Fixture {
        git: Arc<dyn Git>,
        base: Oid,
        trees: PathBuf,
        _repository: Repository,
        _folder: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            let repository = Repository::new();
            let base = repository.commit("the run begins here");
            let git: Arc<dyn Git> = Arc::new(repository.repo.clone());
            let folder = tempfile::tempdir().unwrap();
            let trees = folder.path().canonicalize().unwrap();
            git.worktree_add(&trees.join("mine"), "task", &base, &[]).unwrap();
            git.worktree_add(&trees.join("theirs"), "run", &base, &[]).unwrap();
            Self { git, base, trees, _repository: repository, _folder: folder }
        }

        fn write(&self, tree: &str, file: &str, text: &str) {
            std::fs::write(self.trees.join(tree).join(file), text).unwrap();
        }

        fn read(&self, file: &str) -> Option<String> {
            std::fs::read_to_string(self.trees.join("mine").join(file)).ok()
        }

        /// Merges the content of the others' tree.
        fn merge(&self) -> Oid {
            let author = author();
            let commit = Commit { branch: "run", parent: &self.base, author: &author, message: "theirs" };
            self.git.capture(&self.trees.join("theirs"), &commit).unwrap().unwrap().commit
        }

        fn rebase(&self, start: &Oid) -> Rebased {
            let (path, base, start) = (self.trees.join("mine"), self.base.clone(), start.clone());
            let (branch, into, message) = ("task".to_owned(), "run".to_owned(), "mine".to_owned());
            Tree { path, branch, into, base, start, author: author(), message }.rebase(&*self.git).unwrap()
        }
    }

    fn author() -> Author {
        Author { name: "ann".to_owned(), email: "a@example.com".to_owned(), at: Millis(5_000) }
    }

    #[test]
    fn what_a_worker_wrote_stands_on_what_was_merged_meanwhile_also_when_it_is_done_again() {
        let it = Fixture::new();
        assert!(matches!(it.rebase(&it.base), Rebased::Already { .. }));
        it.write("mine", "mine.txt", "mine\n");
        it.write("theirs", "theirs.txt", "theirs\n");
        let head = it.merge();

        // The second round is as after a crash before the record.
        for _ in 0..2 {
            let Rebased::Onto { onto, start } = it.rebase(&it.base) else { panic!("not rebased") };

            assert_eq!((&onto, &start), (&head, &head), "what it wrote is its change still");
            assert_eq!(it.read("mine.txt").as_deref(), Some("mine\n"));
            assert_eq!(it.read("theirs.txt").as_deref(), Some("theirs\n"));
            let tip = it.git.worktree_tip(&it.trees.join("mine")).unwrap().unwrap();
            let changed = it.git.changed_files(&head, &tip).unwrap();
            assert_eq!(
                changed.iter().map(|change| change.path.clone()).collect::<Vec<_>>(),
                [PathBuf::from("mine.txt")]
            );
        }
    }

    #[test]
    fn a_conflict_is_named_and_leaves_the_tree_as_it_was() {
        let it = Fixture::new();
        it.write("mine", "both.txt", "mine\n");
        it.write("mine", "mine.txt", "mine\n");
        it.write("theirs", "both.txt", "theirs\n");
        let head = it.merge();

        let Rebased::Conflict { onto, files } = it.rebase(&it.base) else { panic!("rebased") };

        assert_eq!((onto, files), (head.clone(), vec!["both.txt".to_owned()]));
        assert_eq!([it.read("both.txt"), it.read("mine.txt")], [(); 2].map(|()| Some("mine\n".to_owned())));
        assert!(prompt::not_rebased(head.as_str(), &["both.txt".to_owned()]).contains("both.txt"));
    }

    #[test]
    fn a_worker_that_amends_a_refused_change_must_still_change_more_than_that() {
        let it = Fixture::new();
        it.write("mine", "mine.txt", "refused\n");
        let author = author();
        let commit = Commit { branch: "task", parent: &it.base, author: &author, message: "refused" };
        let refused = it.git.capture(&it.trees.join("mine"), &commit).unwrap().unwrap().commit;
        it.write("theirs", "theirs.txt", "theirs\n");
        let head = it.merge();

        let Rebased::Onto { onto, start } = it.rebase(&refused) else { panic!("not rebased") };

        assert_eq!(onto, head);
        let tip = it.git.worktree_tip(&it.trees.join("mine")).unwrap().unwrap();
        assert_eq!(it.git.tree_of(&start).unwrap(), it.git.tree_of(&tip).unwrap(), "its tree is what it began with");
        assert_ne!(start, head);
    }
}
