//! Finding a repository, reading it, merging in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use switchboard_process::Error;
use switchboard_process::env::Env;
use switchboard_process::git::{Git, Head, Merged, Oid, Repo, Side};

use crate::fixture::{Fixture, author};

#[test]
fn a_folder_that_is_no_repository_bare_or_empty_is_refused_by_name() {
    let fixture = Fixture::empty();
    let git = fixture.git();
    let outside = fixture.folder.path().join("home");
    fixture.run_in(&outside, &["init", "-q", "--bare", "bare"]);

    assert!(matches!(git.discover(&outside), Err(Error::NotARepository { .. })));
    assert!(matches!(git.discover(Path::new("/nowhere")), Err(Error::NotARepository { .. })));
    assert!(matches!(git.discover(&fixture.root.join(".git")), Err(Error::NotARepository { .. })));
    assert!(matches!(git.discover(&outside.join("bare")), Err(Error::Bare { .. })));
    assert!(matches!(fixture.repo().head_commit(), Err(Error::NoCommits { .. })));
    assert_eq!(fixture.repo().head().unwrap(), Head::Unborn { name: "main".to_owned() });
}

/// Returns the result of `head`, or the code and first line of its failure.
fn head_of(repo: &Repo) -> Result<Head, (&'static str, String)> {
    repo.head().map_err(|error| (error.code(), error.to_string()))
}

#[test]
fn a_head_whose_commit_is_gone_is_damage_wherever_the_commit_was() {
    let fixture = Fixture::new();
    let repo = fixture.repo();
    let at = repo.head_commit().unwrap();
    let objects = fixture.root.join(".git/objects");
    let loose = objects.join(&at.as_str()[..2]).join(&at.as_str()[2..]);
    let content = fs::read(&loose).unwrap();
    let on_main = Head::Branch { name: "main".to_owned(), commit: at.clone() };

    fs::set_permissions(&loose, Permissions::from_mode(0o600)).unwrap();
    fs::write(&loose, "").unwrap();
    let emptied = head_of(&repo);
    fs::remove_file(&loose).unwrap();
    let removed = head_of(&repo);
    fixture.run(&["symbolic-ref", "HEAD", "refs/heads/none"]);
    let unborn = head_of(&repo);
    fs::write(fixture.root.join(".git/HEAD"), format!("{at}\n")).unwrap();
    let detached = head_of(&repo);
    fixture.run(&["symbolic-ref", "HEAD", "refs/heads/main"]);
    fs::write(&loose, content).unwrap();

    let damaged = |head: Result<Head, (&'static str, String)>| {
        let (code, what) = head.unwrap_err();
        assert!(code == "git.damaged" && what.contains(at.as_str()), "{code} {what}");
    };
    damaged(emptied);
    damaged(removed);
    damaged(detached);
    assert_eq!(unborn, Ok(Head::Unborn { name: "none".to_owned() }));
    assert_eq!(head_of(&repo), Ok(on_main.clone()));
    // Packed: with its file, without the pack, without its index.
    fixture.run(&["gc", "-q"]);
    fixture.run(&["update-ref", "refs/heads/main", at.as_str()]);
    assert!(!loose.exists());
    assert_eq!(head_of(&repo), Ok(on_main));
    for entry in fs::read_dir(objects.join("pack")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    damaged(head_of(&repo));
}

#[test]
fn a_missing_git_is_told_apart() {
    let fixture = Fixture::empty();

    let error = Git::find(Env::empty().set("PATH", fixture.root.to_str().unwrap())).unwrap_err();

    assert_eq!(error.code(), "git.missing");
}

#[test]
fn a_repository_is_found_from_a_sub_folder_and_from_a_work_tree() {
    let fixture = Fixture::new();
    let (repo, worktree, at) = fixture.worktree("t1");

    let below = fixture.git().discover(&fixture.root.join("dir")).unwrap();
    let linked = fixture.git().discover(worktree.path()).unwrap();

    assert_eq!(below.root(), fixture.root);
    assert_eq!(linked.root(), worktree.path());
    assert_eq!(linked.common_dir(), repo.common_dir());
    assert_eq!(repo.head().unwrap(), Head::Branch { name: "main".to_owned(), commit: at.clone() });
    fixture.run(&["checkout", "-q", "--detach"]);
    assert_eq!(repo.head().unwrap(), Head::Detached(at));
}

#[test]
fn any_text_is_a_safe_revision() {
    let fixture = Fixture::new();
    let repo = fixture.repo();

    assert_eq!(repo.rev_parse("main").unwrap(), Some(repo.head_commit().unwrap()));
    for text in ["", "--all", "-h", "no such", "HEAD~5", "a\nb", "a\0b", "@{-1}", "main^{tree}", ":/nothing", "ü"] {
        assert_eq!(repo.rev_parse(text).unwrap(), None, "{text:?}");
    }
}

#[test]
fn a_branch_moves_only_from_where_it_is_believed_to_be() {
    let fixture = Fixture::new();
    let repo = fixture.repo();
    let one = repo.head_commit().unwrap();
    fixture.write("a.txt", "two");
    let two = fixture.commit("two");

    repo.update_branch("x/y", &one, None).unwrap();
    assert!(matches!(repo.update_branch("x/y", &two, None), Err(Error::Moved { .. })));
    repo.update_branch("x/y", &two, Some(&one)).unwrap();
    repo.update_branch("x/y", &two, Some(&one)).expect("repeating it is fine");
    let Err(Error::Moved { found, .. }) = repo.update_branch("x/y", &one, Some(&one)) else { panic!() };
    assert_eq!(found, two.to_string());
    assert_eq!(repo.branches("x").unwrap(), [("x/y".to_owned(), two.clone())]);
    assert!(matches!(repo.delete_branch("x/y", &one), Err(Error::Moved { .. })));
    repo.delete_branch("x/y", &two).unwrap();
    repo.delete_branch("x/y", &two).expect("repeating it is fine");
    assert!(repo.is_ancestor(&one, &two).unwrap());
    assert!(!repo.is_ancestor(&two, &one).unwrap());
}

#[test]
fn merges_are_clean_or_name_the_files_in_conflict() {
    let fixture = Fixture::new();
    let repo = fixture.repo();
    let base = repo.head_commit().unwrap();
    let odd = "sp ace\nü \"q\".txt";
    let left = fixture.commit_on(&base, &[("a.txt", Some("left\n")), (odd, Some("left"))]);
    let right = fixture.commit_on(&base, &[("dir/b.txt", Some("right\n"))]);
    let clash = fixture.commit_on(&base, &[("a.txt", Some("clash\n")), (odd, Some("clash"))]);
    let before = fixture.snapshot();

    let Merged::Clean { tree } = repo.merge_tree(&left, &right).unwrap() else { panic!("it is clean") };
    let merged = repo.commit_tree(&tree, &[&left, &right], &author(), "merge\n\nö").unwrap();
    let again = repo.commit_tree(&tree, &[&left, &right], &author(), "merge\n\nö").unwrap();
    let conflict = repo.merge_tree(&left, &clash).unwrap();

    assert_eq!(merged, again, "the same merge makes the same commit");
    assert_eq!(repo.file_at(&merged, Path::new("dir/b.txt"), 99).unwrap(), Side::Content(b"right\n".to_vec()));
    assert_eq!(repo.file_at(&merged, Path::new("a.txt"), 2).unwrap(), Side::TooLong(5));
    assert_eq!(repo.file_at(&merged, Path::new("none"), 99).unwrap(), Side::Absent);
    assert_eq!(conflict, Merged::Conflict { files: vec![PathBuf::from("a.txt"), PathBuf::from(odd)] });
    let who = fixture.run(&["log", "-1", "--format=%an|%ae|%cn|%ce|%at", merged.as_str()]);
    assert_eq!(who, "Coder 1|coder@switchboard|Switchboard|switchboard@localhost|1772359200");
    assert_eq!(fixture.snapshot(), before, "nothing of the user's was touched");
}

#[test]
fn diffs_are_listed_and_shown_within_a_bound() {
    let fixture = Fixture::new();
    let repo = fixture.repo();
    let base = repo.head_commit().unwrap();
    let big = "line\n".repeat(10_000);
    let next = fixture.commit_on(&base, &[("big.txt", Some(&big)), ("dir/b.txt", None)]);

    let changes = repo.changed_files(&base, &next).unwrap();
    let shown = repo.diff_text(&base, &next, 500).unwrap();

    let kinds: Vec<_> =
        changes.iter().map(|c| (c.path.to_str().unwrap(), c.before.is_some(), c.after.is_some())).collect();
    assert_eq!(kinds, [("big.txt", false, true), ("dir/b.txt", true, false)]);
    assert!(shown.dropped > 0 && shown.text.len() < 1200, "{}", shown.text.len());
    assert!(shown.text.contains("+line"));
    assert!(repo.changed_files(&base, &Oid::parse(&"1".repeat(40)).unwrap()).is_err());
}

#[test]
fn status_lists_every_kind_of_change_and_leaves_the_index_alone() {
    let fixture = Fixture::new();
    fixture.write(".gitignore", "ignored\n");
    fixture.commit("ignore");
    fixture.write("a.txt", "changed\n");
    fixture.write("-new file\n.txt", "x");
    fixture.write("ignored", "x");
    fixture.write(".switchboard/inbox/m.json", "{}");
    fixture.write("dir/staged", "x");
    fixture.run(&["add", "dir/staged"]);
    let before = fixture.snapshot();

    let dirty = fixture.repo().status().unwrap();

    let mut seen: Vec<_> = dirty.iter().map(|d| (d.path.to_str().unwrap(), d.staged, d.unstaged)).collect();
    seen.sort_unstable();
    assert_eq!(seen, [("-new file\n.txt", '?', '?'), ("a.txt", ' ', 'M'), ("dir/staged", 'A', ' ')]);
    assert_eq!(fixture.snapshot(), before);
}

#[test]
fn the_head_is_told_alike_whether_git_has_packed_its_branch_or_not() {
    let fixture = Fixture::new();
    let (repo, first) = (fixture.repo(), fixture.repo().head_commit().unwrap());
    let on = |name: &str, commit: &Oid| Head::Branch { name: name.to_owned(), commit: commit.clone() };
    assert_eq!(repo.head().unwrap(), on("main", &first));

    fixture.run(&["pack-refs", "--all"]);
    assert_eq!(repo.head().unwrap(), on("main", &first));
    fixture.write("a.txt", "next");
    let next = fixture.commit("next");
    assert_eq!(repo.head().unwrap(), on("main", &next), "what is packed is past");

    fixture.run(&["switch", "-q", "-c", "a/b"]);
    assert_eq!(repo.head().unwrap(), on("a/b", &next));
    fixture.run(&["symbolic-ref", "refs/heads/other", "refs/heads/a/b"]);
    fixture.run(&["symbolic-ref", "HEAD", "refs/heads/other"]);
    assert_eq!(repo.head_commit().unwrap(), next);
    fixture.run(&["switch", "-q", "--detach", "main"]);
    assert_eq!(repo.head().unwrap(), Head::Detached(next));
    fixture.run(&["switch", "-q", "--orphan", "none"]);
    assert_eq!(repo.head().unwrap(), Head::Unborn { name: "none".to_owned() });
}

#[test]
fn what_git_tracks_is_told_anew_after_every_change_of_the_index() {
    let fixture = Fixture::new();
    let repo = fixture.repo();
    let tracked = |names: &[&str]| repo.tracked_named(names.iter().copied()).unwrap();
    assert!(tracked(&["a.lock"]).is_empty());

    for folder in ["x", "y"] {
        fixture.write(&format!("{folder}/a.lock"), "same");
        assert_eq!(tracked(&["a.lock"]).len(), usize::from(folder == "y"), "it is not in the index");
        fixture.run(&["add", "-A"]);
        assert_eq!(tracked(&["a.lock"]).len(), 1 + usize::from(folder == "y"));
    }
    assert_eq!(tracked(&["b.txt"]), [Path::new("dir/b.txt")], "another question");
    fixture.run(&["mv", "x/a.lock", "z.lock"]);
    assert_eq!(tracked(&["a.lock"]), [Path::new("y/a.lock")]);

    // An index without a checksum is not cached.
    fixture.run(&["config", "index.skipHash", "true"]);
    for (from, to) in [("a.lock", "c.lock"), ("c.lock", "a.lock")] {
        fixture.run(&["mv", &format!("y/{from}"), &format!("y/{to}")]);
        assert_eq!(tracked(&["a.lock"]).len(), usize::from(to == "a.lock"));
    }
}
