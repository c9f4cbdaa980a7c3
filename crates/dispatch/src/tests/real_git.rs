//! Tests the port of git on a real repository: each call does what its name says. The simulation only has a repository
//! in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use switchboard_process::git::{Author, Head, Merged};
use switchboard_protocol::time::Millis;

use super::Repository;
use crate::port::Git;
use crate::port::git::Commit;

/// Repository with one commit, and a work tree of ours on the branch `task`.
struct Fixture {
    repository: Repository,
    git: Arc<dyn Git>,
    base: switchboard_process::git::Oid,
    trees: PathBuf,
    _folder: tempfile::TempDir,
}

// === impl Fixture ===

impl Fixture {
    fn new() -> Self {
        let repository = Repository::new();
        let base = repository.commit("first");
        let git: Arc<dyn Git> = Arc::new(repository.repo.clone());
        let folder = tempfile::tempdir().unwrap();
        let trees = folder.path().canonicalize().unwrap();
        git.worktree_add(&trees.join("a"), "task", &base, &[("run", &base)]).unwrap();
        Self { repository, git, base, trees, _folder: folder }
    }

    fn tree(&self) -> PathBuf {
        self.trees.join("a")
    }

    fn capture(&self) -> switchboard_process::git::Oid {
        let author = Author { name: "ann".to_owned(), email: "a@example.com".to_owned(), at: Millis(5_000) };
        let commit = Commit { branch: "task", parent: &self.base, author: &author, message: "what it did" };
        self.git.capture(&self.tree(), &commit).unwrap().unwrap().commit
    }
}

fn paths(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|path| path.to_str().unwrap()).collect()
}

#[test]
fn a_change_is_captured_compared_and_merged() {
    let it = Fixture::new();
    assert_eq!(it.git.branch("run").unwrap(), Some(it.base.clone()), "the branch beside it was made");
    assert_eq!(it.git.worktree_tip(&it.tree()).unwrap(), Some(it.base.clone()));
    assert_eq!(it.git.worktree_tip(Path::new("/nowhere")).unwrap(), None);
    assert!(it.git.worktree_changes(&it.tree()).unwrap().is_empty());
    std::fs::write(it.tree().join("new.txt"), "one\ntwo\n").unwrap();

    let changes = it.git.worktree_changes(&it.tree()).unwrap();
    let commit = it.capture();

    assert_eq!(paths(&changes), ["new.txt"]);
    assert!(it.git.worktree_bytes(&it.tree()).unwrap() >= Some(8));
    assert_eq!(it.git.worktree_bytes(Path::new("/nowhere")).unwrap(), None);
    assert_eq!(it.git.branch("task").unwrap(), Some(commit.clone()));
    let changed = it.git.changed_files(&it.base, &commit).unwrap();
    assert_eq!(changed.iter().map(|change| change.path.to_str().unwrap()).collect::<Vec<_>>(), ["new.txt"]);
    assert_eq!(paths(&it.git.files_of(&commit).unwrap()), ["new.txt"]);
    assert_eq!(it.git.changed_lines(&it.base, &commit).unwrap(), 2);
    assert!(it.git.diff_text(&it.base, &commit, 10_000).unwrap().contains("+two"));
    assert!(it.git.is_ancestor(&it.base, &commit).unwrap() && !it.git.is_ancestor(&commit, &it.base).unwrap());
    let author = it.git.author_of(&commit, Millis(9_000)).unwrap();
    assert_eq!((&*author.name, author.at), ("ann", Millis(9_000)));
    let Merged::Clean { tree } = it.git.merge_tree(&it.base, &commit).unwrap() else { panic!("a conflict") };
    assert_eq!(it.git.tree_of(&commit).unwrap(), tree);
    let merge = it.git.commit_tree(&tree, &[&it.base, &commit], &author, "merged").unwrap();
    assert_eq!(it.git.rev_parse(&format!("{merge}^2")).unwrap(), Some(commit.clone()));
    assert_eq!(it.git.rev_parse("no-such-branch").unwrap(), None);
}

#[test]
fn a_change_that_is_none_is_not_captured() {
    let it = Fixture::new();
    let author = Author { name: "ann".to_owned(), email: String::new(), at: Millis(0) };
    let commit = Commit { branch: "task", parent: &it.base, author: &author, message: "nothing" };

    assert!(it.git.capture(&it.tree(), &commit).unwrap().is_none());
    let missing = it.git.capture(Path::new("/nowhere"), &commit).err().unwrap();
    assert!(missing.to_string().contains("the work tree /nowhere"), "{missing}");
}

#[test]
fn branches_move_only_from_where_they_are() {
    let it = Fixture::new();
    let second = it.repository.commit("second");

    it.git.update_branch("run", &second, Some(&it.base)).unwrap();
    it.git.update_branch("run", &it.base, Some(&it.base)).unwrap_err();
    assert_eq!(it.git.branch("run").unwrap(), Some(second.clone()));
    it.git.delete_branch("run", &it.base).unwrap_err();
    it.git.delete_branch("run", &second).unwrap();
    assert_eq!(it.git.branch("run").unwrap(), None);
    it.git.update_branch("made", &it.base, None).unwrap();
    assert_eq!(it.git.branch("made").unwrap(), Some(it.base.clone()));
}

#[test]
fn a_checked_out_branch_moves_with_its_files() {
    let it = Fixture::new();
    std::fs::write(it.tree().join("new.txt"), "one\n").unwrap();
    let commit = it.capture();

    it.git.advance_checkout("main", &it.base, &commit).unwrap();

    assert_eq!(std::fs::read_to_string(it.git.root().join("new.txt")).unwrap(), "one\n");
    let Head::Branch { name, commit: at } = it.git.head().unwrap() else { panic!("no branch") };
    assert_eq!((&*name, at), ("main", commit));
    assert!(it.git.dirty().unwrap().is_empty());
    std::fs::write(it.git.root().join("new.txt"), "two\n").unwrap();
    assert_eq!(paths(&it.git.dirty().unwrap()), ["new.txt"]);
    assert_eq!(paths(&it.git.tracked_named(&["new.txt"]).unwrap()), ["new.txt"]);
    assert!(it.git.tracked_named(&["old.txt"]).unwrap().is_empty());
}

#[test]
fn trees_are_reset_detached_found_and_removed() {
    let it = Fixture::new();
    std::fs::write(it.tree().join("new.txt"), "one\n").unwrap();
    let commit = it.capture();

    it.git.worktree_reset(&it.tree(), "task", &it.base).unwrap();
    assert!(!it.tree().join("new.txt").exists());
    assert_eq!(it.git.branch("task").unwrap(), Some(it.base.clone()));
    it.git.worktree_reset(Path::new("/nowhere"), "task", &it.base).unwrap_err();
    let judged = it.trees.join("judged");
    it.git.worktree_detached(&judged, &commit).unwrap();
    assert_eq!(std::fs::read_to_string(judged.join("new.txt")).unwrap(), "one\n");

    let (own, main) = (it.git.tree_at(&it.tree()).unwrap(), it.git.tree_on("main").unwrap().unwrap());
    assert_eq!((own.root(), main.root()), (it.tree().as_path(), it.git.root()));
    assert!(it.git.tree_on("no-such-branch").unwrap().is_none());
    assert_eq!((it.git.tree_name(), own.tree_name().is_empty()), (String::new(), false));
    assert_eq!(it.git.tree_named(&own.tree_name()).unwrap().root(), it.tree());
    it.git.worktree_remove(&judged, &it.trees).unwrap();
    assert!(!judged.exists());
    it.git.worktrees_remove(&it.trees, it.trees.parent().unwrap()).unwrap();
    assert!(!it.tree().exists());
}

#[test]
fn ignored_files_are_listed_by_the_patterns_of_a_file_and_odd_changes_told() {
    let it = Fixture::new();
    let root = it.git.root().to_owned();
    for (path, content) in [(".gitignore", "*.env\n"), ("a.env", "x"), ("b.env", "x"), ("wanted", "a.env\n")] {
        std::fs::write(root.join(path), content).unwrap();
    }
    std::os::unix::fs::symlink("/etc/passwd", it.tree().join("link")).unwrap();
    let commit = it.capture();

    assert_eq!(paths(&it.git.ignored_and_listed(&root.join("wanted")).unwrap()), ["a.env"]);
    assert!(it.git.unusual(&it.base, &commit).unwrap().concat().contains("link"));
    assert!(it.git.unusual(&it.base, &it.base).unwrap().is_empty());
    assert!(it.git.left_out().unwrap().is_empty());
}
