//! Makes the work tree of an attempt, or takes over what an earlier one left.

use std::path::PathBuf;

use switchboard_process::git::Oid;

use crate::Error;
use crate::effect::set_up::MadeTree;
use crate::port::{Files, Git};

/// Work tree to be made.
pub(super) struct Tree {
    pub(super) path: PathBuf,
    pub(super) branch: String,
    pub(super) base: Oid,
    pub(super) content: Option<Oid>,
    /// Name and commit of the run's branch, if it is to be made.
    pub(super) of_run: Option<(String, Oid)>,
}

// === impl Tree ===

impl Tree {
    pub(super) fn make(self, git: &dyn Git, files: &dyn Files) -> Result<MadeTree, Error> {
        if let Some(parent) = self.path.parent() {
            files.make_folder(parent)?;
        }
        // A tree that git lists without its folder is made anew, so nothing is set up in it.
        let is_new = !files.is_folder(&self.path) || git.worktree_tip(&self.path)?.is_none();
        // A fresh checkout needs no reset, which takes three more processes. An existing tree that git lists without a
        // commit does.
        let is_made = is_new && files.read(&self.path.join(".git")).is_ok_and(|link| link.is_none());
        let at = self.add(git)?;
        if let Some(commit) = &self.content
            && !(is_made && *commit == at)
        {
            git.worktree_reset(&self.path, &self.branch, commit)?;
        }
        Ok(MadeTree { path: self.path, is_new, is_clean: is_new || self.content.is_some() })
    }

    /// Adds the work tree; returns the head of its branch: the base, unless an earlier attempt left it elsewhere.
    fn add(&self, git: &dyn Git) -> Result<Oid, Error> {
        let beside: Vec<_> = self.of_run.iter().map(|(name, first)| (name.as_str(), first)).collect();
        match git.worktree_add(&self.path, &self.branch, &self.base, &beside) {
            Ok(()) => Ok(self.base.clone()),
            Err(Error::Process(switchboard_process::Error::Moved { .. })) => {
                let at = git.branch(&self.branch)?.unwrap_or_else(|| self.base.clone());
                git.worktree_add(&self.path, &self.branch, &at, &beside)?;
                Ok(at)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::files::Disk;
    use crate::tests::Repository;

    const BRANCH: &str = "switchboard-task/run/1.1";

    /// Repository with three commits of a file that holds their number.
    struct At {
        repository: Repository,
        commits: [Oid; 3],
        path: PathBuf,
    }

    impl At {
        fn new() -> Self {
            let repository = Repository::new();
            let folder = repository.folder.path().canonicalize().unwrap();
            std::fs::write(repository.repo.common_dir().join("info/exclude"), "trees\n").unwrap();
            let commits = ["0", "1", "2"].map(|number| {
                std::fs::write(folder.join("number"), number).unwrap();
                repository.commit_in(&folder, number)
            });
            Self { repository, commits, path: folder.join("trees/1.1") }
        }

        fn git(&self) -> &dyn Git {
            &self.repository.repo
        }

        /// Makes the tree on the first commit, with the content of another one.
        fn makes(&self, content: Option<usize>) -> MadeTree {
            let tree = Tree {
                path: self.path.clone(),
                branch: BRANCH.to_owned(),
                base: self.commits[0].clone(),
                content: content.map(|at| self.commits[at].clone()),
                of_run: Some(("switchboard/run".to_owned(), self.commits[0].clone())),
            };
            tree.make(self.git(), &Disk).unwrap()
        }

        /// Returns the number of the branch's commit, and what the file holds.
        fn found(&self) -> (Option<usize>, String) {
            let tip = self.git().branch(BRANCH).unwrap().unwrap();
            let at = self.commits.iter().position(|commit| *commit == tip);
            (at, std::fs::read_to_string(self.path.join("number")).unwrap())
        }
    }

    #[test]
    fn a_first_attempt_begins_on_its_base_and_a_later_one_where_the_branch_was_left() {
        for (left, content, expected) in
            [(None, None, 0), (None, Some(0), 0), (None, Some(2), 2), (Some(1), None, 1), (Some(1), Some(2), 2)]
        {
            let at = At::new();
            if let Some(left) = left {
                at.git().update_branch(BRANCH, &at.commits[left], None).unwrap();
            }

            let made = at.makes(content);

            assert_eq!(at.found(), (Some(expected), expected.to_string()), "{left:?} {content:?}");
            assert_eq!((made.is_new, made.is_clean), (true, true), "{left:?} {content:?}");
            assert_eq!(at.git().branch("switchboard/run").unwrap().as_ref(), Some(&at.commits[0]));
        }
    }

    #[test]
    fn a_tree_that_is_there_is_as_it_was_left_unless_it_gets_other_content() {
        for (content, expected, is_kept) in [(None, 0, true), (Some(0), 0, false), (Some(1), 1, false)] {
            let at = At::new();
            at.makes(None);
            std::fs::write(at.path.join("number"), "changed").unwrap();
            std::fs::write(at.path.join("new"), "").unwrap();

            let made = at.makes(content);

            let text = if is_kept { "changed".to_owned() } else { expected.to_string() };
            assert_eq!(at.found(), (Some(expected), text), "{content:?}");
            assert_eq!((made.is_new, made.is_clean), (false, !is_kept), "{content:?}");
            assert_eq!(at.path.join("new").exists(), is_kept, "{content:?}");
        }
    }

    #[test]
    fn a_tree_whose_folder_is_gone_is_made_anew_and_one_that_has_lost_its_link_is_mended() {
        for is_folder_left in [false, true] {
            let at = At::new();
            at.makes(Some(1));
            if is_folder_left {
                std::fs::remove_file(at.path.join(".git")).unwrap();
            } else {
                std::fs::remove_dir_all(&at.path).unwrap();
            }

            let made = at.makes(Some(2));

            assert_eq!(at.found(), (Some(2), "2".to_owned()), "{is_folder_left}");
            assert_eq!((made.is_new, made.is_clean), (!is_folder_left, true));
        }
    }
}
