//! Capturing what an agent left as a commit.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::fixture::{Fixture, author, write};

const BRANCH: &str = "switchboard/t1";

#[test]
fn every_kind_of_change_and_every_odd_name_is_in_the_commit() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.log\n");
    fixture.write("was-file", "x");
    fixture.commit("more");
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    let odd = ["sp ace", "new\nline", "ünïcode", "-dash", "quo\"te", "*star", ":(top)magic", "dir/#hash", "tab\t"];
    for name in odd {
        write(path, name, name);
    }
    write(path, "x.log", "ignored");
    write(path, ".switchboard/state.json", "{}");
    write(path, "a.txt", "changed\n");
    fs::remove_file(path.join("dir/b.txt")).unwrap();
    fs::remove_file(path.join("was-file")).unwrap();
    write(path, "was-file/now-folder", "x");
    symlink("/etc/passwd", path.join("link")).unwrap();
    write(path, "tool.sh", "#!/bin/sh\n");
    fs::set_permissions(path.join("tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = fixture.snapshot();

    let captured = worktree.capture(BRANCH, &at, &author(), "task T1").unwrap().unwrap();

    let mut changed: Vec<_> = repo.changed_files(&at, &captured.commit).unwrap().into_iter().map(|c| c.path).collect();
    let mut expected: Vec<PathBuf> = odd.iter().map(PathBuf::from).collect();
    expected.extend(["a.txt", "dir/b.txt", "was-file", "was-file/now-folder", "link", "tool.sh"].map(PathBuf::from));
    changed.sort();
    expected.sort();
    assert_eq!(changed, expected);
    let entries = fixture.run(&["ls-tree", "-r", captured.commit.as_str()]);
    assert!(entries.contains("120000 blob") && entries.contains("100755 blob"), "{entries}");
    assert_eq!(repo.branch(BRANCH).unwrap().as_ref(), Some(&captured.commit));
    assert_eq!(fixture.run(&["log", "-1", "--format=%P", captured.commit.as_str()]), at.to_string());
    assert_eq!(fixture.run_in(path, &["status", "--porcelain", "--", ":(exclude).switchboard"]), "");
    assert_eq!(fixture.snapshot(), before, "the user's tree is as it was");
}

#[test]
fn nothing_changed_is_nothing_even_after_commits_that_cancel_out() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");

    assert_eq!(worktree.capture(BRANCH, &at, &author(), "m").unwrap(), None);
    assert_eq!(worktree.files_unlike(&at).unwrap(), Vec::<PathBuf>::new());
    fixture.run_in(worktree.path(), &["commit", "-q", "--allow-empty", "-m", "busy work"]);
    fs::set_permissions(worktree.path().join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();

    assert_eq!(worktree.capture(BRANCH, &at, &author(), "m").unwrap(), None);
    assert_eq!(repo.branch(BRANCH).unwrap(), Some(at));
}

#[test]
fn an_agents_own_commits_branches_and_index_flags_change_nothing() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    fixture.run_in(path, &["update-index", "--skip-worktree", "a.txt"]);
    fixture.run_in(path, &["update-index", "--assume-unchanged", "dir/b.txt"]);
    write(path, "a.txt", "hidden");
    write(path, "dir/b.txt", "hidden");
    write(path, "own", "x");
    fixture.run_in(path, &["add", "own"]);
    fixture.run_in(path, &["commit", "-qm", "agent's own"]);
    fixture.run_in(path, &["checkout", "-q", "--detach"]);

    assert_eq!(worktree.files_unlike(&at).unwrap(), ["a.txt", "dir/b.txt", "own"].map(PathBuf::from));

    let captured = worktree.capture(BRANCH, &at, &author(), "task").unwrap().unwrap();

    let changed: Vec<_> = repo.changed_files(&at, &captured.commit).unwrap().into_iter().map(|c| c.path).collect();
    assert_eq!(changed, ["a.txt", "dir/b.txt", "own"].map(PathBuf::from));
    assert_eq!(fixture.run(&["rev-list", "--count", &format!("{at}..{}", captured.commit)]), "1");
    assert_eq!(fixture.run_in(path, &["symbolic-ref", "HEAD"]), format!("refs/heads/{BRANCH}"));
}

#[test]
fn files_that_flags_of_the_index_hide_are_found_and_a_reset_brings_them_back() {
    let fixture = Fixture::new();
    let (_repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    fixture.run_in(path, &["update-index", "--skip-worktree", "a.txt"]);
    fixture.run_in(path, &["update-index", "--assume-unchanged", "dir/b.txt"]);
    write(path, "a.txt", "hidden");
    write(path, "dir/b.txt", "hidden");

    let found = worktree.files_unlike(&at).unwrap();
    worktree.reset(BRANCH, &at, false).unwrap();

    assert_eq!(found, ["a.txt", "dir/b.txt"].map(PathBuf::from));
    assert_eq!(worktree.files_unlike(&at).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn repeating_a_capture_gives_the_same_commit() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    write(worktree.path(), "a.txt", "changed");
    let first = worktree.capture(BRANCH, &at, &author(), "task").unwrap().unwrap();

    repo.update_branch(BRANCH, &at, Some(&first.commit)).unwrap();
    let second = worktree.capture(BRANCH, &at, &author(), "task").unwrap().unwrap();
    let third = worktree.capture(BRANCH, &at, &author(), "task").unwrap().unwrap();

    assert_eq!(first, second);
    assert_eq!(first, third);
}

#[test]
fn repositories_inside_the_work_tree_are_left_out_and_named() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    for nested in ["empty repo", "full"] {
        fs::create_dir(path.join(nested)).unwrap();
        fixture.run_in(&path.join(nested), &["init", "-q"]);
        write(path, &format!("{nested}/file"), "x");
    }
    fixture.run_in(&path.join("full"), &["add", "-A"]);
    fixture.run_in(&path.join("full"), &["commit", "-qm", "inner"]);
    write(path, "a.txt", "changed");

    let captured = worktree.capture(BRANCH, &at, &author(), "task").unwrap().unwrap();

    assert_eq!(captured.left_out, ["empty repo", "full"].map(PathBuf::from));
    let changed = repo.changed_files(&at, &captured.commit).unwrap();
    assert_eq!(changed.iter().map(|c| c.path.as_path()).collect::<Vec<_>>(), [Path::new("a.txt")]);
}

#[test]
fn a_submodule_stays_at_its_commit() {
    let fixture = Fixture::new();
    let inner = fixture.folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    fixture.run_in(&inner, &["init", "-q", "-b", "main"]);
    write(&inner, "file", "x");
    fixture.run_in(&inner, &["add", "-A"]);
    fixture.run_in(&inner, &["commit", "-qm", "inner"]);
    let allow = "protocol.file.allow=always";
    fixture.run(&["-c", allow, "submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]);
    fixture.commit("submodule");
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    assert_eq!(worktree.capture(BRANCH, &at, &author(), "m").unwrap(), None, "an empty submodule folder is no change");
    write(path, "sub/new", "x");
    write(path, "a.txt", "changed first");
    let captured = worktree.capture(BRANCH, &at, &author(), "m").unwrap().unwrap();
    assert_eq!(captured.left_out, [PathBuf::from("sub")], "nobody has checked it out, and there is a file");
    fs::remove_file(path.join("sub/new")).unwrap();

    fixture.run_in(path, &["-c", allow, "submodule", "--quiet", "update", "--init"]);
    write(path, "sub/file", "agent");
    fixture.run_in(&path.join("sub"), &["commit", "-qam", "agent's own"]);
    write(path, "a.txt", "changed");
    let captured = worktree.capture(BRANCH, &at, &author(), "m").unwrap().unwrap();

    assert_eq!(captured.left_out, [PathBuf::from("sub")]);
    assert_eq!(repo.changed_files(&at, &captured.commit).unwrap().len(), 1);
    repo.worktree_remove(path, &fixture.base()).unwrap();
    assert_eq!(fixture.run(&["status", "--porcelain"]), "");
}

#[test]
fn a_forged_git_file_leads_nowhere() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    let trap = fixture.folder.path().join("trap");
    let sprung = fixture.folder.path().join("sprung");
    fs::create_dir(&trap).unwrap();
    fixture.run_in(&trap, &["init", "-q"]);
    fixture.run_in(&trap, &["config", "core.fsmonitor", &format!("touch {}", sprung.display())]);
    fs::write(path.join(".git"), format!("gitdir: {}/.git\n", trap.display())).unwrap();
    write(path, "a.txt", "changed");

    let captured = worktree.capture(BRANCH, &at, &author(), "task").unwrap().unwrap();

    assert_eq!(repo.branch(BRANCH).unwrap(), Some(captured.commit));
    assert!(!sprung.exists());
    let common = fixture.run_in(path, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    assert_eq!(Path::new(common.trim()), repo.common_dir(), "what looks at the tree next is not led astray either");
    fs::remove_file(path.join(".git")).unwrap();
    fixture.run_in(path, &["init", "-q"]);
    worktree.capture(BRANCH, &at, &author(), "task").unwrap();
    assert!(path.join(".git").is_file(), "what an agent made in its own tree is undone when its work is taken");
}

#[test]
fn a_repository_in_the_place_of_a_registered_work_tree_is_refused_and_kept() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    fs::remove_dir_all(path).unwrap();
    fs::create_dir(path).unwrap();
    fixture.run_in(path, &["init", "-q"]);
    write(path, "not-committed.txt", "the user's");

    let refused = repo.worktree_add(path, BRANCH, &at, &[]).unwrap_err();

    assert!(refused.to_string().contains("another repository lies there"), "{refused}");
    assert!(path.join(".git").is_dir());
    assert_eq!(fs::read_to_string(path.join("not-committed.txt")).unwrap(), "the user's");
}

#[test]
fn small_files_that_git_ignores_are_told_from_large_ones_and_from_copies_of_the_users() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "*.log\nbuilt/\nlib/\n.env\n");
    fixture.commit("ignore");
    let (_, worktree, at) = fixture.worktree("t1");
    let path = worktree.path();
    fixture.write(".env", "KEY=user's\n");
    for (name, text) in [("a.log", "small"), (".env", "KEY=user's\n"), ("built/out/result", "r"), ("seen", "x")] {
        write(path, name, text);
    }
    write(path, "lib/package", &"x".repeat(1 << 20));

    let ignored = worktree.ignored(&fixture.root).unwrap();
    let captured = worktree.capture_with("switchboard/t1", &at, &author(), "all", &ignored.kept).unwrap().unwrap();

    assert_eq!(ignored.left_out, [std::path::PathBuf::from("lib")]);
    assert!(ignored.left_out_notice().unwrap().contains("lib"));
    let listed = fixture.run(&["ls-tree", "-r", "--name-only", captured.commit.as_str()]);
    for (name, is_there) in
        [("a.log", true), ("built/out/result", true), ("seen", true), (".env", false), ("lib", false)]
    {
        assert_eq!(listed.lines().any(|line| line.starts_with(name)), is_there, "{name}: {listed}");
    }
}
